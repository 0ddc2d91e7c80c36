/* compare.c: see compare.h. Both files are walked in step; names do not matter. NaN equals NaN. */
#include "compare.h"

#include <math.h>
#include <string.h>

typedef struct comparison {
    const compare_how *how;
    FILE *out;
    char place[128];                  /* of the part: "[2]", or "" */
    uint64_t total, different, parts; /* over all parts */
    double max_abs, max_rel;
    bool differs, failed;
} comparison;

static bool differ(comparison *c, const char *what, const char *a, const char *b) {
    fprintf(c->out, "different%s: %s ", c->place, what);
    cli_puts(c->out, a);
    fputs(" and ", c->out);
    cli_puts(c->out, b);
    fputc('\n', c->out);
    c->differs = true;
    return false;
}

static bool differ_count(comparison *c, const char *what, uint64_t a, uint64_t b) {
    return a == b || differ(c, what, cli_count(a).s, cli_count(b).s);
}

/* ── Elements ────────────────────────────────────────────────────────────────────────────────── */

typedef struct element_errors {
    uint64_t different, first;
    double max_abs, max_rel;
} element_errors;

static void see(const comparison *c, element_errors *e, uint64_t index, double error, double size) {
    double relative = error == 0 || isinf(error) ? error : error / size;
    bool fine = error == 0 || error <= c->how->atol + c->how->rtol * size;
    if (!(error <= e->max_abs)) e->max_abs = error;
    if (!(relative <= e->max_rel)) e->max_rel = relative;
    if (!fine && e->different++ == 0) e->first = index;
}

double compare_distance(double a, double b) {
    if (a == b || (isnan(a) && isnan(b))) return 0;
    return isnan(a) || isnan(b) ? (double)INFINITY : fabs(a - b);
}

static void compare_reals(const comparison *c, const values *v, uint64_t at, size_t n,
                          element_errors *e) {
    double a[256], b[256];
    values_read(&v[0], at, n, ONX_DTYPE_F64, a);
    values_read(&v[1], at, n, ONX_DTYPE_F64, b);
    for (size_t i = 0; i < n; i++) see(c, e, at + i, compare_distance(a[i], b[i]), fabs(b[i]));
}

static void compare_complex(const comparison *c, const values *v, uint64_t at, size_t n,
                            element_errors *e) {
    double a[512], b[512];
    values_read(&v[0], at, n, ONX_DTYPE_C128, a);
    values_read(&v[1], at, n, ONX_DTYPE_C128, b);
    for (size_t i = 0; i < n; i++)
        see(c, e, at + i,
            hypot(compare_distance(a[2 * i], b[2 * i]),
                  compare_distance(a[2 * i + 1], b[2 * i + 1])),
            hypot(b[2 * i], b[2 * i + 1]));
}

/* Exact, also where a double is not: the difference is that of unsigned numbers. */
static void compare_integers(const comparison *c, const values *v, uint64_t at, size_t n,
                             element_errors *e) {
    uint64_t a[256], b[256];
    bool is_signed = values_kind_of(v->dtype) == VALUES_INT;
    onx_dtype as = is_signed ? ONX_DTYPE_I64 : ONX_DTYPE_U64;
    values_read(&v[0], at, n, as, a);
    values_read(&v[1], at, n, as, b);
    for (size_t i = 0; i < n; i++) {
        bool less = is_signed ? (int64_t)a[i] < (int64_t)b[i] : a[i] < b[i];
        double size = is_signed ? fabs((double)(int64_t)b[i]) : (double)b[i];
        see(c, e, at + i, (double)(less ? b[i] - a[i] : a[i] - b[i]), size);
    }
}

static void compare_strings(const values *v, element_errors *e) {
    for (uint64_t i = 0; i < v->count; i++) {
        onx_str a, b;
        if (onx_tensor_string_at(v[0].tensor, i, &a, NULL) ||
            onx_tensor_string_at(v[1].tensor, i, &b, NULL))
            return;
        bool same = a.size == b.size && (a.size == 0 || !memcmp(a.data, b.data, a.size));
        if (!same && e->different++ == 0) e->first = i;
    }
}

static void compare_numbers(const comparison *c, const values *v, element_errors *e) {
    enum { BLOCK = 256 };
    values_kind kind = values_kind_of(v->dtype);
    for (uint64_t at = 0; at < v->count; at += BLOCK) {
        size_t n = v->count - at < BLOCK ? (size_t)(v->count - at) : BLOCK;
        if (kind == VALUES_REAL)
            compare_reals(c, v, at, n, e);
        else if (kind == VALUES_COMPLEX)
            compare_complex(c, v, at, n, e);
        else
            compare_integers(c, v, at, n, e);
    }
}

static void report(comparison *c, const values *v, const element_errors *e) {
    fprintf(c->out, "different%s: %s of %s element%s", c->place, cli_count(e->different).s,
            cli_count(v->count).s, cli_plural(v->count));
    if (v->dtype != ONX_DTYPE_STRING)
        fprintf(c->out, ", largest error %.6g, relative %.6g", e->max_abs, e->max_rel);
    fprintf(c->out, "\n  first at %s: ", values_place(v, e->first).s);
    cli_puts(c->out, values_text(&v[0], e->first).s);
    fputs(" and ", c->out);
    cli_puts(c->out, values_text(&v[1], e->first).s);
    fputc('\n', c->out);
    c->differs = true;
}

static void compare_elements(comparison *c, const values *v) {
    element_errors e = {0, 0, 0, 0};
    if (v->dtype == ONX_DTYPE_STRING)
        compare_strings(v, &e);
    else if (v->bytes && memcmp(v[0].dense, v[1].dense, v->bytes))
        compare_numbers(c, v, &e);
    c->total += v->count;
    c->different += e.different;
    if (e.max_abs > c->max_abs) c->max_abs = e.max_abs;
    if (e.max_rel > c->max_rel) c->max_rel = e.max_rel;
    if (e.different) report(c, v, &e);
}

/* ── Tensors and what holds them ─────────────────────────────────────────────────────────────── */

static bool compare_types(comparison *c, const onx_tensor *a, const onx_tensor *b) {
    const onx_tensor *t[2] = {a, b};
    cli_text text[2];
    bool same =
        onx_tensor_dtype(a) == onx_tensor_dtype(b) && onx_tensor_rank(a) == onx_tensor_rank(b);
    for (size_t i = 0; same && i < onx_tensor_rank(a); i++)
        same = onx_tensor_dim(a, i) == onx_tensor_dim(b, i);
    for (int i = 0; i < 2; i++)
        text[i] = cli_dims(onx_tensor_dtype(t[i]), onx_tensor_rank(t[i]), onx_tensor_dims(t[i]));
    return same || differ(c, "types", text[0].s, text[1].s);
}

static bool open_values(comparison *c, const onx_tensor *const t[2], values v[2]) {
    onx_diag diag = ONX_INIT(onx_diag);
    for (int i = 0; i < 2; i++) {
        if (values_open(&v[i], t[i], &diag) == ONX_OK) continue;
        if (!diag.file[0]) snprintf(diag.file, sizeof diag.file, "%s", c->how->names[i]);
        if (c->how->command)
            cli_fail(c->how->command, &diag);
        else
            fprintf(c->out, "%s: %s\n", diag.file, diag.message);
        if (i) values_close(&v[0]);
        c->failed = true;
        return false;
    }
    return true;
}

static void compare_tensors(comparison *c, const onx_tensor *a, const onx_tensor *b) {
    const onx_tensor *t[2] = {a, b};
    values v[2];
    if (!a != !b) differ(c, "tensors", a ? "present" : "absent", b ? "present" : "absent");
    if (!a || !b || !compare_types(c, a, b) || !open_values(c, t, v)) return;
    compare_elements(c, v);
    values_close(&v[0]);
    values_close(&v[1]);
}

static cli_text key_text(const onx_data *map, size_t index) {
    cli_text text;
    onx_str s = onx_data_key_str(map, index);
    if (onx_data_key_dtype(map) == ONX_DTYPE_STRING)
        snprintf(text.s, sizeof text.s, "\"%.*s\"", (int)(s.size < 100 ? s.size : 100),
                 s.data ? s.data : "");
    else
        snprintf(text.s, sizeof text.s, "%lld", (long long)onx_data_key_int(map, index));
    return text;
}

static bool compare_keys(comparison *c, const onx_data *a, const onx_data *b) {
    onx_dtype key = onx_data_key_dtype(a);
    if (key != onx_data_key_dtype(b))
        return differ(c, "key types", onx_dtype_name(key), onx_dtype_name(onx_data_key_dtype(b)));
    for (size_t i = 0; i < onx_data_count(a); i++) {
        onx_str s = onx_data_key_str(a, i), t = onx_data_key_str(b, i);
        bool same = onx_data_key_int(a, i) == onx_data_key_int(b, i) && s.size == t.size &&
                    (s.size == 0 || !memcmp(s.data, t.data, s.size));
        if (!same) return differ(c, "keys", key_text(a, i).s, key_text(b, i).s);
    }
    return true;
}

static bool compare_shapes(comparison *c, const onx_data *a, const onx_data *b) {
    if (!differ_count(c, "ranks", onx_data_rank(a), onx_data_rank(b))) return false;
    for (size_t i = 0; i < onx_data_rank(a); i++)
        if (!differ_count(c, "dimensions", (uint64_t)onx_data_dim(a, i),
                          (uint64_t)onx_data_dim(b, i)))
            return false;
    return true;
}

/* One part of each; false when what is in them cannot be compared. */
static bool compare_parts(comparison *c, const onx_data *a, const onx_data *b) {
    static const char *const kinds[] = {"nothing",    "a tensor", "a sparse tensor",
                                        "a sequence", "a map",    "an optional"};
    onx_data_kind kind = onx_data_kind_of(a);
    if (kind != onx_data_kind_of(b))
        return differ(c, "kinds", kinds[kind], kinds[onx_data_kind_of(b)]);
    if (kind == ONX_DATA_SPARSE_TENSOR) {
        if (!compare_shapes(c, a, b)) return true;
        compare_tensors(c, onx_data_indices(a), onx_data_indices(b));
    }
    if (kind == ONX_DATA_TENSOR || kind == ONX_DATA_SPARSE_TENSOR)
        compare_tensors(c, onx_data_tensor(a), onx_data_tensor(b));
    else if (!differ_count(c, "sizes", onx_data_count(a), onx_data_count(b)))
        return false;
    return kind != ONX_DATA_MAP || compare_keys(c, a, b);
}

static void set_place(comparison *c, const parts *p) {
    size_t used = 0;
    c->place[0] = '\0';
    for (size_t i = 0; i + 1 < p->depth && used < sizeof c->place - 32; i++)
        used += (size_t)snprintf(c->place + used, sizeof c->place - used, i ? "[%zu]" : " at [%zu]",
                                 p->stack[i].at - 1);
}

int compare_data(const compare_how *how, const onx_data *a, const onx_data *b) {
    comparison c = {.how = how, .out = how->out};
    parts p[2] = {{.root = a}, {.root = b}};
    while ((a = parts_next(&p[0])) && (b = parts_next(&p[1]))) {
        set_place(&c, &p[0]);
        if (!compare_parts(&c, a, b)) break;
    }
    if (c.differs || c.failed) return CLI_BAD;
    if (how->quiet) return CLI_OK;
    fprintf(c.out, "equal: %s element%s", cli_count(c.total).s, cli_plural(c.total));
    if (c.max_abs > 0)
        fprintf(c.out, " within the tolerance, largest error %.6g, relative %.6g", c.max_abs,
                c.max_rel);
    fputc('\n', c.out);
    return CLI_OK;
}
