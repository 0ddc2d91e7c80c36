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

/* "{} of {}".format(a, b) */
static bool format(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                   onx_xv *out) {
    onx_buf buf;
    size_t next = 1;
    (void)row;
    if (a[0].v.kind != ONX_X_STR) return false;
    onx_str text = a[0].v.str;
    onx_buf_init(&buf, in->x->ctx);
    for (size_t i = 0; i < text.size; i++) {
        const char *close = text.data[i] == '{' ? memchr(text.data + i, '}', text.size - i) : NULL;
        if (!close || next >= n) {
            onx_buf_putc(&buf, text.data[i]);
            continue;
        }
        put_value(in, &buf, &a[next++].v);
        i = (size_t)(close - text.data);
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

const onx_py_row onx_py_strings[] = {
    {"format", 1, 99, format, ""},
    {"add", 2, 2, concat, ""},
    {"len", 1, 1, length, ""},
    {"upper", 1, 1, change_case, "upper"},
    {"lower", 1, 1, change_case, "lower"},
    {"startswith", 2, 2, has, "start"},
    {"endswith", 2, 2, has, "end"},
    {"__contains__", 2, 2, has, "in"},
    {"join", 2, 2, join, ""},
    {NULL, 0, 0, NULL, NULL},
};
