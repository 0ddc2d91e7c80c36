/* interp_str.c: Python's strings, which programs use for options and messages. */
#include "export/interp_builtin.h"

#include "base/number.h"

static onx_xv keep(onx_interp *in, onx_buf *buf) {
    onx_str copy = {0};
    onx_py_spend(in, buf->size);
    if (buf->failed || !onx_arena_str(&in->x->arena, (onx_str){buf->data, buf->size}, &copy))
        onx_x_nomem(in->x);
    onx_buf_fini(buf);
    return onx_xv_str(copy);
}

static void put_value(onx_interp *in, onx_buf *buf, const onx_xv *v) {
    char text[ONX_NUMBER_MAX];
    int64_t i;
    double f;
    if (v->kind == ONX_X_STR) {
        onx_buf_put(buf, v->str.data, v->str.size);
    } else if (v->kind == ONX_X_BOOL && onx_xv_known_int(v, &i)) {
        onx_buf_puts(buf, i ? "True" : "False");
    } else if (onx_xv_known_int(v, &i)) {
        onx_buf_put(buf, text, onx_print_i64(i, text));
    } else if (onx_xv_known_float(in->x, v, &f)) {
        onx_buf_put(buf, text, onx_print_f64(f, text));
    } else if (onx_xv_is_number(v) && v->sym) {
        onx_sym_print(v->sym, buf);
    } else {
        onx_buf_puts(buf, onx_py_kind(v));
    }
}

/* Where the place for a value that begins at `i` ends: {} and {:d}, or %d and %.2f. 0: there is
 * none. */
static size_t place_end(onx_str text, size_t i, bool percent) {
    if (text.data[i] != (percent ? '%' : '{')) return 0;
    size_t at = i + 1;
    if (percent) {
        while (at < text.size && memchr("0123456789.+- #", text.data[at], 15)) at++;
        return at < text.size && memchr("diouxXeEfFgGcrs", text.data[at], 15) ? at + 1 : 0;
    }
    const char *close = memchr(text.data + i, '}', text.size - i);
    return close ? (size_t)(close - text.data) + 1 : 0;
}

/* "{} of {}".format(a, b), "%d of %d" % (a, b) */
static bool format(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    onx_buf buf;
    size_t next = 1;
    if (a[0].v.kind != ONX_X_STR) return false;
    onx_str text = a[0].v.str;
    onx_buf_init(&buf, in->x->ctx);
    for (size_t i = 0, end; i < text.size; i = end) {
        end = next < n ? place_end(text, i, row->word[0] == '%') : 0;
        bool twice = row->word[0] == '%' && i + 1 < text.size && text.data[i] == '%' &&
                     text.data[i + 1] == '%';
        if (end && !twice)
            put_value(in, &buf, &a[next++].v);
        else
            onx_buf_putc(&buf, text.data[i]);
        end = twice ? i + 2 : end ? end : i + 1;
    }
    *out = keep(in, &buf);
    return true;
}

static bool concat(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    onx_buf buf;
    (void)row, (void)n;
    if (a[0].v.kind != ONX_X_STR || a[1].v.kind != ONX_X_STR) return false;
    onx_buf_init(&buf, in->x->ctx);
    for (size_t i = 0; i < 2; i++) onx_buf_put(&buf, a[i].v.str.data, a[i].v.str.size);
    *out = keep(in, &buf);
    return true;
}

static bool length(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    (void)row, (void)n;
    if (a[0].v.kind != ONX_X_STR) return false;
    *out = onx_xv_int(in->x, (int64_t)a[0].v.str.size);
    return true;
}

static bool change_case(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                        onx_xv *out) {
    onx_buf buf;
    (void)n;
    if (a[0].v.kind != ONX_X_STR) return false;
    char from = row->word[0] == 'u' ? 'a' : 'A';
    onx_buf_init(&buf, in->x->ctx);
    for (size_t i = 0; i < a[0].v.str.size; i++) {
        char c = a[0].v.str.data[i];
        onx_buf_putc(&buf, c >= from && c < from + 26 ? (char)(c ^ ' ') : c);
    }
    *out = keep(in, &buf);
    return true;
}

/* startswith, endswith, in */
static bool has(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    (void)n;
    if (a[0].v.kind != ONX_X_STR || a[1].v.kind != ONX_X_STR) return false;
    onx_str text = a[0].v.str, part = a[1].v.str;
    size_t most = text.size >= part.size ? text.size - part.size : 0;
    size_t from = row->word[0] == 'e' ? most : 0, to = row->word[0] == 's' ? 0 : most;
    bool found = false;
    for (size_t i = from; i <= to && text.size >= part.size && !found; i++)
        found = onx_str_eq((onx_str){text.data + i, part.size}, part);
    *out = onx_xv_bool(in->x, found);
    return true;
}

static bool join(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    onx_buf buf;
    (void)row, (void)n;
    if (a[0].v.kind != ONX_X_STR || !onx_xv_is_list(&a[1].v)) return false;
    onx_buf_init(&buf, in->x->ctx);
    for (size_t i = 0; i < a[1].v.list->n && onx_py_spend(in, a[0].v.str.size + 1); i++) {
        if (i) onx_buf_put(&buf, a[0].v.str.data, a[0].v.str.size);
        put_value(in, &buf, &a[1].v.list->v[i]);
    }
    *out = keep(in, &buf);
    return true;
}

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* strip, lstrip, rstrip of blanks */
static bool strip(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    (void)in, (void)n;
    if (a[0].v.kind != ONX_X_STR) return false;
    onx_str s = a[0].v.str;
    while (row->word[0] != 'r' && s.size && is_blank(s.data[0])) s.data++, s.size--;
    while (row->word[0] != 'l' && s.size && is_blank(s.data[s.size - 1])) s.size--;
    *out = onx_xv_str(s);
    return true;
}

/* The parts between places where `mark` stands. */
static bool split(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    (void)row, (void)n;
    if (a[0].v.kind != ONX_X_STR || a[1].v.kind != ONX_X_STR || !a[1].v.str.size) return false;
    onx_str text = a[0].v.str, mark = a[1].v.str;
    size_t from = 0, i = 0;
    *out = onx_py_fresh(in, onx_xv_list(in->x, ONX_X_LIST, 0, NULL));
    while (i + mark.size <= text.size && onx_py_spend(in, 1)) {
        bool here = onx_str_eq((onx_str){text.data + i, mark.size}, mark);
        if (here)
            onx_xlist_add(in->x, out->list, onx_xv_str((onx_str){text.data + from, i - from}));
        i += here ? mark.size : 1;
        if (here) from = i;
    }
    onx_str rest = {text.data + from, text.size - from};
    if (onx_x_ok(in->x)) onx_xlist_add(in->x, out->list, onx_xv_str(rest));
    return true;
}

/* An index of a string as Python counts it; what is not given is `otherwise`. */
static size_t place_in(onx_str text, size_t n, const onx_xarg *a, size_t which, size_t otherwise) {
    int64_t at, size = (int64_t)text.size;
    if (which >= n || !onx_xv_known_int(&a[which].v, &at)) return otherwise;
    if (at < 0) at = at + size < 0 ? 0 : at + size;
    return (size_t)(at > size ? size : at);
}

/* find, rfind: where `part` is, or -1; count: how often it is there. Between start and end. */
static bool seek(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    if (a[0].v.kind != ONX_X_STR || a[1].v.kind != ONX_X_STR) return false;
    onx_str text = a[0].v.str, part = a[1].v.str;
    size_t from = place_in(text, n, a, 2, 0), to = place_in(text, n, a, 3, text.size);
    bool counts = row->word[0] == 'c';
    int64_t found = counts ? 0 : -1;
    for (size_t i = from; i + part.size <= to && onx_py_spend(in, 1); i++) {
        if (!onx_str_eq((onx_str){text.data + i, part.size}, part)) continue;
        found = counts ? found + 1 : (int64_t)i;
        if (row->word[0] == 'f') break;
        if (counts && part.size) i += part.size - 1;
    }
    *out = onx_xv_int(in->x, found);
    return true;
}

/* (text, old, new[, most]) */
static bool replace(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                    onx_xv *out) {
    onx_buf buf;
    int64_t most = -1;
    (void)row;
    for (size_t i = 0; i < 3; i++)
        if (a[i].v.kind != ONX_X_STR) return false;
    if (n > 3) onx_xv_known_int(&a[3].v, &most);
    onx_str text = a[0].v.str, old = a[1].v.str, by = a[2].v.str;
    if (!old.size) return false;
    onx_buf_init(&buf, in->x->ctx);
    for (size_t i = 0; i < text.size && onx_py_spend(in, 1 + by.size);) {
        bool here = most != 0 && i + old.size <= text.size &&
                    onx_str_eq((onx_str){text.data + i, old.size}, old);
        onx_buf_put(&buf, here ? by.data : text.data + i, here ? by.size : 1);
        i += here ? old.size : 1;
        most -= here && most > 0;
    }
    *out = keep(in, &buf);
    return true;
}

/* (text, start, end, step), of which the last must be 1 */
static bool cut(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a, onx_xv *out) {
    int64_t step = 1;
    (void)in, (void)row;
    if (a[0].v.kind != ONX_X_STR || (n > 3 && !onx_xv_known_int(&a[3].v, &step)) || step != 1)
        return false;
    onx_str text = a[0].v.str;
    size_t from = place_in(text, n, a, 1, 0), to = place_in(text, n, a, 2, text.size);
    *out = onx_xv_str((onx_str){text.data + from, to > from ? to - from : 0});
    return true;
}

const onx_py_row onx_py_strings[] = {
    {"format", 1, 99, format, "{"},
    {"percentFormat", 1, 99, format, "%"},
    {"add", 2, 2, concat, ""},
    {"len", 1, 1, length, ""},
    {"upper", 1, 1, change_case, "upper"},
    {"lower", 1, 1, change_case, "lower"},
    {"startswith", 2, 2, has, "start"},
    {"endswith", 2, 2, has, "end"},
    {"__contains__", 2, 2, has, "in"},
    {"slice", 1, 4, cut, ""},
    {"find", 2, 4, seek, "find"},
    {"rfind", 2, 4, seek, "rfind"},
    {"count", 2, 4, seek, "count"},
    {"replace", 3, 4, replace, ""},
    {"join", 2, 2, join, ""},
    {"split", 2, 2, split, ""},
    {"strip", 1, 1, strip, "both"},
    {"lstrip", 1, 1, strip, "left"},
    {"rstrip", 1, 1, strip, "right"},
    {NULL, 0, 0, NULL, NULL},
};
