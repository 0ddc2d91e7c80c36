/* emit.c: nodes and constants of the model that is being made.
 *
 * A node is inferred when it is made, so that type, rank and sizes of every value are known to
 * whoever uses it next. Nodes of small constants are computed at once and never seen, unless a
 * weight goes in: what is done to weights is a matter of passes, and can be switched off. */
#include "export/export.h"
#include "ir/edit.h"
#include "ir/ir.h"
#include "rt/lower/lower.h"
#include "rt/provider.h"

enum { SMALL = 4096 }; /* bytes of a constant that is computed with, and made once */

static const onx_str no_name = {NULL, 0};

/* ─ Names ────────────────────────────────────────────────────────────────────────────────────── */

/* `hint`, or `hint_1` …; in the model's memory. Counts, for thousands of nodes have one hint. */
static const char *fresh_name(onx_export *x, onx_str hint) {
    uint32_t *count = onx_map_get(&x->names, NULL, hint);
    if (!count) {
        count = onx_x_alloc(x, sizeof *count);
        if (!count || !onx_arena_str(&x->arena, hint, &hint) ||
            !onx_map_put(&x->names, NULL, hint, count))
            return onx_x_nomem(x);
    }
    onx_buf text;
    onx_buf_init(&text, x->ctx);
    onx_buf_put(&text, hint.data, hint.size);
    if ((*count)++) onx_buf_printf(&text, "_%u", *count - 1);
    onx_buf_putc(&text, '\0');
    const char *name = text.failed ? NULL : onx_graph_new_name(x->graph, text.data);
    onx_buf_fini(&text);
    return name ? name : onx_x_nomem(x);
}

/* "layer1.0.conv1/Conv". */
static const char *node_name(onx_export *x, const char *op) {
    onx_buf text;
    const char *plain = strstr(op, "::");
    onx_buf_init(&text, x->ctx);
    onx_buf_put(&text, x->path.data, x->path.size);
    if (x->path.size) onx_buf_putc(&text, '/');
    onx_buf_puts(&text, plain ? plain + 2 : op);
    const char *name = text.failed ? NULL : fresh_name(x, (onx_str){text.data, text.size});
    onx_buf_fini(&text);
    return name ? name : onx_x_nomem(x);
}

/* ─ Nodes ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status set_attr(onx_node *node, const onx_xattr *attr) {
    switch (attr->type) {
    case ONX_ATTR_INT: return onx_node_set_int(node, attr->name, attr->i);
    case ONX_ATTR_FLOAT: return onx_node_set_float(node, attr->name, attr->f);
    case ONX_ATTR_STRING: return onx_node_set_string(node, attr->name, attr->s);
    case ONX_ATTR_INTS: return onx_node_set_ints(node, attr->name, attr->n, attr->ints);
    case ONX_ATTR_FLOATS: return onx_node_set_floats(node, attr->name, attr->n, attr->floats);
    case ONX_ATTR_STRINGS: return onx_node_set_strings(node, attr->name, attr->n, attr->strings);
    case ONX_ATTR_TENSOR: return onx_node_set_tensor(node, attr->name, attr->t);
    default: return ONX_USAGE;
    }
}

static onx_node *add_node(onx_export *x, const char *op, const onx_xattr *attrs, size_t n_in,
                          onx_value *const *in, size_t n_out) {
    const char **names = onx_x_array(x, n_out + 1, sizeof *names);
    for (size_t i = 0; names && i < n_out; i++)
        if (!(names[i] = node_name(x, op))) return NULL;
    if (!names) return NULL;
    while (n_in && !in[n_in - 1]) n_in--;
    onx_node *node = onx_graph_add_node(x->graph, op, n_in, in, n_out, names);
    onx_status status = node && n_out ? onx_node_set_name(node, names[0]) : ONX_OK;
    for (; node && attrs && attrs->name && !status; attrs++) status = set_attr(node, attrs);
    if (node && !status) return node;
    const onx_diag *error = onx_model_error(x->model);
    return onx_x_fail(x, error && error->status ? error->status : ONX_NO_MEMORY, "%s: %s", op,
                      error ? error->message : "it could not be made");
}

/* Every size that is a name can be had from the first value that has it as a dimension. */
static bool own_sizes(onx_export *x, onx_value *value) {
    const onx_fact *fact = onx_x_fact(x, value);
    for (size_t i = 0; fact->ranked && i < fact->rank; i++)
        if (!onx_x_own(x, fact->dims[i], value, i)) return false;
    return true;
}

/* ─ Computing at once ────────────────────────────────────────────────────────────────────────── */

static bool is_small(onx_export *x, const onx_value *value) {
    if (!value) return true;
    const onx_fact *fact = onx_x_fact(x, value);
    size_t bytes;
    return fact->constant && !onx_map_get(&x->params, value, no_name) &&
           !onx_tensor_bytes(fact->constant, &bytes, NULL) && bytes <= SMALL;
}

static bool fits(onx_export *x, const onx_value *value) {
    const onx_fact *fact = onx_x_fact(x, value);
    int64_t count = 1, dim;
    if (fact->kind != ONX_TYPE_TENSOR || !fact->ranked) return false;
    for (size_t i = 0; i < fact->rank; i++) {
        if (!onx_sym_is_int(fact->dims[i], &dim) || dim > SMALL) return false;
        count *= dim;
        if (count > SMALL) return false;
    }
    return true;
}

static bool is_foldable(onx_export *x, const onx_node *node) {
    const onx_op *op = onx_op_of(node);
    if (!op || op->varies || !node->output.n) return false;
    if (!strcmp(op->name, "Identity")) return false; /* it is there for another name */
    ONX_EACH (onx_attr, attr, node->attribute)
        if (attr->g || attr->graphs.count) return false;
    for (size_t i = 0; i < node->input.n; i++)
        if (!is_small(x, onx_node_input(node, i))) return false;
    for (size_t i = 0; i < node->output.n; i++)
        if (!fits(x, onx_node_output(node, i))) return false;
    return true;
}

static onx_value *constant_of(onx_export *x, const onx_tensor *tensor) {
    size_t bytes;
    if (onx_tensor_bytes(tensor, &bytes, &x->diag)) return onx_x_nomem(x);
    void *data = onx_x_alloc(x, bytes + 1);
    if (!data || onx_tensor_read(tensor, data, bytes, &x->diag)) return onx_x_nomem(x);
    return onx_x_constant(x, onx_tensor_dtype(tensor), onx_tensor_rank(tensor),
                          onx_tensor_dims(tensor), data, bytes);
}

/* False: it was not computed, and stays. */
static bool fold(onx_export *x, onx_node *node, size_t n_out, onx_value **out) {
    size_t n_in = node->input.n;
    const onx_tensor **in = onx_x_array(x, n_in + 1, sizeof *in);
    onx_tensor **results = onx_x_array(x, n_out + 1, sizeof *results);
    if (!in || !results) return false;
    for (size_t i = 0; i < n_in; i++)
        in[i] = onx_node_input(node, i) ? onx_x_fact(x, onx_node_input(node, i))->constant : NULL;
    if (onx_lower_eval(x->ctx, &x->cpu->provider, node, n_in, in, n_out, results)) return false;
    for (size_t i = 0; i < n_out; i++) {
        out[i] = results[i] ? constant_of(x, results[i]) : NULL;
        onx_tensor_free(results[i]);
    }
    if (onx_node_remove(node, &x->diag)) x->status = x->diag.status;
    return true;
}

static bool infer(onx_export *x, const onx_node *node) {
    onx_diag diag = ONX_INIT(onx_diag);
    if (!onx_facts_update(x->facts, node, &diag)) return true;
    onx_x_fail(x, diag.status, "%s cannot be made: %s", onx_node_op(node), diag.message);
    if (diag.hint[0]) onx_x_hint(x, "%s", diag.hint);
    return false;
}

bool onx_emit_node(onx_export *x, const char *op, const onx_xattr *attrs, size_t n_in,
                   onx_value *const *in, size_t n_out, onx_value **out) {
    memset(out, 0, n_out * sizeof *out);
    if (!onx_x_ok(x)) return false;
    onx_node *node = add_node(x, op, attrs, n_in, in, n_out);
    if (!node) return false;
    if (!infer(x, node)) return false;
    if (is_foldable(x, node) && fold(x, node, n_out, out)) return onx_x_ok(x);
    for (size_t i = 0; i < n_out; i++)
        if (!own_sizes(x, out[i] = onx_node_output(node, i))) return false;
    return onx_x_ok(x);
}

onx_value *onx_emit_array(onx_export *x, const char *op, const onx_xattr *attrs, size_t n_in,
                          onx_value *const *in) {
    onx_value *out;
    return onx_emit_node(x, op, attrs, n_in, in, 1, &out) ? out : NULL;
}

onx_node *onx_emit_open(onx_export *x, const char *op, size_t n_in, onx_value *const *in) {
    return onx_x_ok(x) ? add_node(x, op, NULL, n_in, in, 0) : NULL;
}

bool onx_emit_close(onx_export *x, onx_node *node, size_t n_out, onx_value **out) {
    for (size_t i = 0; i < n_out && onx_x_ok(x); i++) {
        const char *name = node_name(x, onx_node_op(node));
        if (!name || !onx_node_add_output(node, name)) return onx_x_nomem(x);
        if (i == 0 && onx_node_set_name(node, name)) return onx_x_nomem(x);
    }
    if (!onx_x_ok(x) || !infer(x, node)) return false;
    for (size_t i = 0; i < n_out; i++)
        if (!own_sizes(x, out[i] = onx_node_output(node, i))) return false;
    return onx_x_ok(x);
}

bool onx_emit_added(onx_export *x, onx_node *first) {
    for (onx_node *node = first; node && onx_x_ok(x); node = onx_node_next(node)) {
        if (!infer(x, node)) return false;
        for (size_t i = 0; i < node->output.n; i++)
            if (onx_node_output(node, i) && !own_sizes(x, onx_node_output(node, i))) return false;
    }
    return onx_x_ok(x);
}

/* ─ Constants ────────────────────────────────────────────────────────────────────────────────── */

/* What makes a constant equal to another: type, sizes and bytes, in one string of the arena. */
static bool constant_key(onx_export *x, onx_dtype dtype, size_t rank, const int64_t *dims,
                         const void *data, size_t bytes, onx_str *key) {
    size_t size = sizeof dtype + sizeof rank + rank * sizeof *dims + bytes;
    char *at = onx_x_alloc(x, size);
    if (!at) return false;
    *key = (onx_str){at, size};
    memcpy(at, &dtype, sizeof dtype);
    memcpy(at + sizeof dtype, &rank, sizeof rank);
    at += sizeof dtype + sizeof rank;
    if (rank) memcpy(at, dims, rank * sizeof *dims);
    if (bytes) memcpy(at + rank * sizeof *dims, data, bytes);
    return true;
}

onx_value *onx_x_added(onx_export *x, onx_value *value) {
    if (!value) return onx_x_nomem(x);
    if (onx_facts_add(x->facts, value, NULL, &x->diag)) return onx_x_nomem(x);
    return value;
}

onx_value *onx_x_constant(onx_export *x, onx_dtype dtype, size_t rank, const int64_t *dims,
                          const void *data, size_t bytes) {
    onx_str key = no_name;
    if (!onx_x_ok(x)) return NULL;
    if (bytes <= SMALL) {
        if (!constant_key(x, dtype, rank, dims, data, bytes, &key)) return NULL;
        onx_value *known = onx_map_get(&x->constants, NULL, key);
        if (known) return known;
    }
    const char *name = fresh_name(x, onx_str_of("const"));
    if (!name) return NULL;
    onx_value *value = onx_x_added(
        x, onx_graph_add_initializer(x->model->graph, name, dtype, rank, dims, data, bytes));
    if (value && key.data && !onx_map_put(&x->constants, NULL, key, value)) return onx_x_nomem(x);
    return value;
}

onx_value *onx_x_ints(onx_export *x, size_t n, const int64_t *v) {
    int64_t dim = (int64_t)n;
    return onx_x_constant(x, ONX_DTYPE_I64, 1, &dim, v, n * sizeof *v);
}

onx_value *onx_x_int(onx_export *x, int64_t v) {
    return onx_x_constant(x, ONX_DTYPE_I64, 0, NULL, &v, sizeof v);
}

/* Whole numbers keep their low bits, as in PyTorch: -1 is 255 in uint8. */
onx_value *onx_x_number(onx_export *x, onx_dtype dtype, double v) {
    char data[16] = {0};
    size_t bytes;
    int64_t whole = v > -0x1p53 && v < 0x1p53 ? (int64_t)v : 0;
    bool is_whole = onx_dtype_is_int(dtype) && (double)whole == v;
    if (!onx_x_ok(x)) return NULL;
    if (dtype == ONX_DTYPE_BOOL) v = v != 0;
    if (!onx_dtype_bytes(dtype, 1, &bytes) || bytes > sizeof data ||
        onx_dtype_convert(is_whole ? ONX_DTYPE_I64 : ONX_DTYPE_F64,
                          is_whole ? (const void *)&whole : &v, dtype, data, 1, false))
        return onx_x_fail(x, ONX_UNSUPPORTED, "the number %g as %s", v, onx_dtype_name(dtype));
    return onx_x_constant(x, dtype, 0, NULL, data, bytes);
}

/* ─ Facts ────────────────────────────────────────────────────────────────────────────────────── */

const onx_fact *onx_x_fact(const onx_export *x, const onx_value *value) {
    return onx_facts_of(x->facts, value);
}

onx_dtype onx_x_dtype(const onx_export *x, const onx_value *value) {
    return onx_x_fact(x, value)->dtype;
}

size_t onx_x_rank(onx_export *x, const onx_value *value) {
    const onx_fact *fact = onx_x_fact(x, value);
    if (value && fact->ranked) return fact->rank;
    if (value)
        onx_x_fail(x, ONX_UNSUPPORTED, "the number of dimensions of '%s' is not known",
                   onx_value_name(value));
    return SIZE_MAX;
}

const onx_sym *onx_x_dim(onx_export *x, const onx_value *value, size_t axis) {
    const onx_fact *fact = onx_x_fact(x, value);
    return fact->ranked && axis < fact->rank ? fact->dims[axis] : NULL;
}

bool onx_x_known_dim(onx_export *x, const onx_value *value, size_t axis, int64_t *out) {
    const onx_sym *dim = onx_x_dim(x, value, axis);
    return dim && onx_sym_is_int(dim, out);
}

bool onx_x_axis(onx_export *x, int64_t dim, size_t rank, size_t *out) {
    *out = 0;
    if (!onx_x_ok(x)) return false;
    if (onx_axis(dim, rank ? rank : 1, out)) return true;
    onx_x_fail(x, ONX_INVALID, "dimension %lld of a tensor of rank %zu", (long long)dim, rank);
    return false;
}

/* ─ Common shapes of nodes ───────────────────────────────────────────────────────────────────── */

onx_value *onx_x_cast(onx_export *x, onx_value *value, onx_dtype dtype) {
    if (onx_dtype_is_complex(dtype)) /* of a value it is the type of the parts */
        dtype = dtype == ONX_DTYPE_C128 ? ONX_DTYPE_F64 : ONX_DTYPE_F32;
    if (!value || onx_x_dtype(x, value) == dtype) return value;
    if (x->opset < 19 && dtype >= ONX_DTYPE_F8E4M3FN && dtype <= ONX_DTYPE_F8E5M2FNUZ) {
        onx_x_fail(x, ONX_UNSUPPORTED, "%s before opset 19", onx_dtype_name(dtype));
        onx_x_hint(x, "export with --opset 19");
        return NULL;
    }
    return onx_emit_with(x, "Cast", ONX_ATTRS(ONX_AI("to", dtype)), value);
}

onx_value *onx_x_unsqueeze(onx_export *x, onx_value *value, int64_t axis) {
    return value ? onx_emit(x, "Unsqueeze", value, onx_x_ints(x, 1, &axis)) : NULL;
}

onx_value *onx_x_squeeze(onx_export *x, onx_value *value, int64_t axis) {
    return value ? onx_emit(x, "Squeeze", value, onx_x_ints(x, 1, &axis)) : NULL;
}

onx_value *onx_x_transpose(onx_export *x, onx_value *value, size_t n, const int64_t *perm) {
    bool same = true;
    for (size_t i = 0; i < n; i++) same &= perm[i] == (int64_t)i;
    if (same || !value) return value;
    return onx_emit_with(x, "Transpose", ONX_ATTRS(ONX_AL("perm", n, perm)), value);
}

onx_value *onx_x_swap(onx_export *x, onx_value *value, int64_t a, int64_t b) {
    int64_t perm[ONX_RANK_MAX];
    size_t rank = onx_x_rank(x, value), i, j;
    if (rank == SIZE_MAX || !onx_x_axis(x, a, rank, &i) || !onx_x_axis(x, b, rank, &j)) return NULL;
    for (size_t k = 0; k < rank; k++) perm[k] = (int64_t)k;
    if (rank) perm[i] = (int64_t)j, perm[j] = (int64_t)i;
    return onx_x_transpose(x, value, rank, perm);
}

onx_value *onx_x_slice(onx_export *x, onx_value *value, int64_t axis, onx_xv start, onx_xv end,
                       int64_t step) {
    if (!value) return NULL;
    return onx_emit(x, "Slice", value, onx_x_shape(x, 1, &start), onx_x_shape(x, 1, &end),
                    onx_x_ints(x, 1, &axis), step == 1 ? NULL : onx_x_ints(x, 1, &step));
}

onx_value *onx_x_concat(onx_export *x, size_t n, onx_value *const *values, int64_t axis) {
    if (n == 1) return values[0];
    return onx_emit_array(x, "Concat", ONX_ATTRS(ONX_AI("axis", axis)), n, values);
}

onx_value *onx_x_reduce(onx_export *x, const char *op, onx_value *value, size_t n,
                        const int64_t *axes, bool keep) {
    if (!value) return NULL;
    return onx_emit_with(x, op, ONX_ATTRS(ONX_AI("keepdims", keep)), value,
                         n ? onx_x_ints(x, n, axes) : NULL);
}
