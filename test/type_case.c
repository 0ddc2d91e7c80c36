/* type_case.c: see type_case.h. */
#include "type_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARGS = 128 };

/* What cannot be read is not there. */
static onx_data *copy_of(const onx_tensor *tensor) {
    onx_tensor *copy = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    uint64_t n = 0;
    onx_status status = onx_tensor_count(tensor, &n, &diag);
    size_t rank = onx_tensor_rank(tensor), bits = onx_dtype_bits(onx_tensor_dtype(tensor));
    size_t size = (size_t)(n * bits + 7) / 8;
    const int64_t *dims = onx_tensor_dims(tensor);
    const char **strings = calloc(n + 1, sizeof *strings);
    void *bytes = malloc(size + 1);
    onx_str text;
    if (!bytes || !strings) abort();
    for (size_t i = 0; i < n && !bits && !status; i++) {
        status = onx_tensor_string_at(tensor, i, &text, &diag);
        strings[i] = text.data;
    }
    if (bits && !status) status = onx_tensor_read(tensor, bytes, size, &diag);
    if (bits && !status)
        status = onx_tensor_new(NULL, "", onx_tensor_dtype(tensor), rank, dims, bytes, size, &copy,
                                &diag);
    if (!bits && !status)
        status = onx_tensor_new_strings(NULL, "", rank, dims, strings, &copy, &diag);
    if (status) fprintf(stderr, "%s: %s\n", onx_tensor_name(tensor), diag.message);
    free(bytes), free(strings);
    return status ? NULL : onx_tensor_data(copy);
}

static const onx_tensor *tensor_at(const onx_graph *graph, const char *name) {
    onx_value *value = onx_graph_find(graph, name);
    return value ? onx_value_initializer(value) : NULL;
}

static onx_data *sequence_at(const onx_graph *graph, const onx_type *elem, const char *name) {
    onx_data *list = NULL, *item;
    if (onx_sequence_new(NULL, &list, NULL)) abort();
    for (size_t i = 0;; i++) {
        char part[128];
        (void)snprintf(part, sizeof part, "%s_%zu", name, i);
        item = type_case_data(graph, elem, part);
        if (!item) return list;
        if (onx_sequence_append_data(list, item, NULL)) abort();
        onx_data_free(item);
    }
}

static onx_data *map_at(const onx_graph *graph, const onx_type *type, const char *name) {
    char part[128];
    onx_data *map = NULL, *values;
    (void)snprintf(part, sizeof part, "%s_keys", name);
    const onx_tensor *keys = tensor_at(graph, part);
    if (!keys) return NULL;
    values = sequence_at(graph, onx_type_elem(type), name);
    if (onx_map_new(NULL, keys, values, &map, NULL)) abort();
    onx_data_free(values);
    return map;
}

static onx_data *optional_at(const onx_graph *graph, const onx_type *type, const char *name) {
    char part[128];
    onx_data *out = NULL, *content;
    (void)snprintf(part, sizeof part, "%s_0", name);
    bool is_list = onx_type_kind_of(onx_type_elem(type)) == ONX_TYPE_SEQUENCE;
    content = type_case_data(graph, onx_type_elem(type), is_list ? name : part);
    if (onx_optional_new(NULL, content, &out, NULL)) abort();
    onx_data_free(content);
    return out;
}

onx_data *type_case_data(const onx_graph *graph, const onx_type *type, const char *name) {
    const onx_tensor *tensor;
    switch (onx_type_kind_of(type)) {
    case ONX_TYPE_TENSOR: tensor = tensor_at(graph, name); return tensor ? copy_of(tensor) : NULL;
    case ONX_TYPE_SEQUENCE: return sequence_at(graph, onx_type_elem(type), name);
    case ONX_TYPE_MAP: return map_at(graph, type, name);
    case ONX_TYPE_OPTIONAL: return optional_at(graph, type, name);
    default: return NULL;
    }
}

/* ── Comparing ───────────────────────────────────────────────────────────────────────────────── */

/* The distance of 1 from the next number; 0: not a float. */
static double unit_of(onx_dtype dtype) {
    static const struct {
        onx_dtype dtype;
        int bits;
    } floats[] = {{ONX_DTYPE_F64, 52},      {ONX_DTYPE_C128, 52},      {ONX_DTYPE_F32, 23},
                  {ONX_DTYPE_C64, 23},      {ONX_DTYPE_F16, 10},       {ONX_DTYPE_BF16, 7},
                  {ONX_DTYPE_F8E4M3FN, 3},  {ONX_DTYPE_F8E4M3FNUZ, 3}, {ONX_DTYPE_F8E5M2, 2},
                  {ONX_DTYPE_F8E5M2FNUZ, 2}};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (floats[i].dtype == dtype) return ldexp(1, -floats[i].bits);
    return 0;
}

static size_t numbers_of(const onx_tensor *t, double **out) {
    uint64_t n;
    onx_dtype dtype = onx_tensor_dtype(t);
    bool pairs = dtype == ONX_DTYPE_C64 || dtype == ONX_DTYPE_C128;
    if (onx_tensor_count(t, &n, NULL)) abort();
    if (pairs) n *= 2;
    *out = calloc(n + 1, sizeof **out);
    if (!*out || onx_tensor_read_as(t, pairs ? ONX_DTYPE_C128 : ONX_DTYPE_F64, *out, n * 8, NULL))
        abort();
    return n;
}

static bool floats_same(const onx_tensor *got, const onx_tensor *want, double ulps, char *why) {
    double *a, *b, most = 0;
    size_t n = numbers_of(want, &b), at = 0;
    (void)numbers_of(got, &a);
    for (size_t i = 0; i < n; i++)
        if (isfinite(b[i])) most = fmax(most, fabs(b[i]));
    double unit = unit_of(onx_tensor_dtype(want)), near = unit * most;
    if (ulps > 0)
        near *= ulps;
    else if (unit < 1e-6)
        near *= 4;
    while (at < n &&
           (a[at] == b[at] || (isnan(a[at]) && isnan(b[at])) || fabs(a[at] - b[at]) <= near))
        at++;
    if (at < n)
        (void)snprintf(why, 256, "element %zu is %.17g, not %.17g (%.3g of %.3g allowed)", at,
                       a[at], b[at], fabs(a[at] - b[at]), near);
    free(a), free(b);
    return at == n;
}

static bool strings_same(const onx_tensor *got, const onx_tensor *want, uint64_t n, char *why) {
    onx_str a, b;
    for (uint64_t i = 0; i < n; i++) {
        if (onx_tensor_string_at(got, i, &a, NULL) || onx_tensor_string_at(want, i, &b, NULL))
            abort();
        if (a.size == b.size && memcmp(a.data, b.data, a.size) == 0) continue;
        (void)snprintf(why, 256, "string %zu is '%.*s', not '%.*s'", (size_t)i, (int)a.size, a.data,
                       (int)b.size, b.data);
        return false;
    }
    return true;
}

static bool bytes_same(const onx_tensor *got, const onx_tensor *want, uint64_t n, char *why) {
    size_t size = (size_t)(n * onx_dtype_bits(onx_tensor_dtype(want)) + 7) / 8, at = 0;
    uint8_t *a = calloc(2, size + 1), *b = a + size;
    if (!a || onx_tensor_read(got, a, size, NULL) || onx_tensor_read(want, b, size, NULL)) abort();
    while (at < size && a[at] == b[at]) at++;
    if (at < size) (void)snprintf(why, 256, "byte %zu is %u, not %u", at, a[at], b[at]);
    free(a);
    return at == size;
}

static bool tensors_same(const onx_tensor *got, const onx_tensor *want, double ulps, char *why) {
    onx_dtype dtype = onx_tensor_dtype(want);
    size_t rank = onx_tensor_rank(want);
    uint64_t n;
    if (onx_tensor_dtype(got) != dtype || onx_tensor_rank(got) != rank ||
        (rank &&
         memcmp(onx_tensor_dims(got), onx_tensor_dims(want), rank * sizeof(int64_t)) != 0)) {
        (void)snprintf(why, 256, "type or shape: %s of rank %zu, not %s of rank %zu",
                       onx_dtype_name(onx_tensor_dtype(got)), onx_tensor_rank(got),
                       onx_dtype_name(dtype), rank);
        return false;
    }
    if (onx_tensor_count(want, &n, NULL)) abort();
    if (dtype == ONX_DTYPE_STRING) return strings_same(got, want, n, why);
    return unit_of(dtype) > 0 ? floats_same(got, want, ulps, why) : bytes_same(got, want, n, why);
}

static bool keys_same(const onx_data *got, const onx_data *want, size_t i) {
    if (onx_data_key_dtype(got) != onx_data_key_dtype(want)) return false;
    onx_str a = onx_data_key_str(got, i), b = onx_data_key_str(want, i);
    return onx_data_key_int(got, i) == onx_data_key_int(want, i) && a.size == b.size &&
           (!a.size || memcmp(a.data, b.data, a.size) == 0);
}

bool type_case_same(const onx_data *got, const onx_data *want, double ulps, char why[static 256]) {
    onx_data_kind kind = onx_data_kind_of(want);
    size_t n = kind == ONX_DATA_TENSOR ? 0 : onx_data_count(want);
    (void)snprintf(why, 256, "of another kind");
    if (onx_data_kind_of(got) != kind) return false;
    if (kind == ONX_DATA_TENSOR)
        return tensors_same(onx_data_tensor(got), onx_data_tensor(want), ulps, why);
    (void)snprintf(why, 256, "%zu elements, not %zu", onx_data_count(got), n);
    if (onx_data_count(got) != n) return false;
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(why, 256, "key %zu", i);
        if (kind == ONX_DATA_MAP && !keys_same(got, want, i)) return false;
        if (!type_case_same(onx_data_at(got, i), onx_data_at(want, i), ulps, why)) return false;
    }
    return true;
}

/* ── Running ─────────────────────────────────────────────────────────────────────────────────── */

static bool compare(const onx_graph *graph, onx_value *value, const onx_arg *arg, double ulps,
                    char *why) {
    char name[128];
    onx_diag diag = ONX_INIT(onx_diag);
    onx_data *got = NULL;
    (void)snprintf(name, sizeof name, "want_%s", onx_value_name(value));
    onx_data *want = type_case_data(graph, onx_value_type(value), name);
    bool same = want && onx_arg_to_data(NULL, arg, &got, &diag) == ONX_OK;
    if (!same) (void)snprintf(why, 256, "%.200s", want ? diag.message : "nothing is wanted");
    same = same && type_case_same(got, want, ulps, why);
    onx_data_free(got);
    onx_data_free(want);
    return same;
}

bool type_case_run(const onx_model *model, const char *cpu, double ulps, char why[static 256]) {
    const onx_graph *graph = onx_model_graph(model);
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session *session = NULL;
    onx_arg in[ARGS] = {0}, out[ARGS] = {0};
    onx_data *data[ARGS] = {0};
    size_t n_in = onx_graph_input_count(graph), n_out = onx_graph_output_count(graph);
    options.cpu = cpu;
    options.threads = 1;
    if (n_in > ARGS || n_out > ARGS) abort();
    onx_status status = onx_session_new(model, &options, &session, &diag);
    for (size_t i = 0; i < n_in && !status; i++) {
        onx_value *value = onx_graph_input(graph, i);
        data[i] = type_case_data(graph, onx_value_type(value), onx_value_name(value));
        status = data[i] ? onx_arg_from_data(data[i], &in[i], &diag) : ONX_NOT_FOUND;
    }
    if (!status) status = onx_session_run(session, n_in, in, n_out, out, NULL, &diag);
    bool same = status == ONX_OK;
    if (!same) (void)snprintf(why, 256, "%s: %.200s", onx_status_name(status), diag.message);
    for (size_t i = 0; i < n_out && same; i++)
        same = compare(graph, onx_graph_output(graph, i), &out[i], ulps, why);
    for (size_t i = 0; i < n_in; i++) onx_arg_clear(&in[i]), onx_data_free(data[i]);
    for (size_t i = 0; i < n_out; i++) onx_arg_clear(&out[i]);
    onx_session_free(session);
    return same;
}
