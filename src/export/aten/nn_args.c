/* nn_args.c: what the lowerings of network layers share. */
#include "export/aten/nn_args.h"

#include "ir/ir.h"

onx_value *onx_nn_tensor(onx_export *x, const onx_xv *v) {
    return onx_xv_is(v, ONX_X_NONE) ? NULL : onx_xv_value(x, v);
}

void onx_nn_give_nothing(onx_export *x, onx_dtype dtype, onx_xv *out) {
    onx_x_give(x, out, onx_nn_filled(x, dtype, 0, 0));
}

bool onx_nn_ints(onx_export *x, const onx_xv *v, const char *what, size_t n, int64_t *out) {
    memset(out, 0, n * sizeof *out);
    if (onx_xv_is_list(v) && (v->list->n == n || v->list->n == 1)) {
        size_t i = 0;
        while (i < n && onx_xv_known_int(&v->list->v[v->list->n == 1 ? 0 : i], &out[i])) i++;
        if (i == n) return true;
    }
    if (onx_x_ok(x))
        onx_x_fail(x, ONX_UNSUPPORTED, "'%s' is not %zu integers that are known", what, n);
    return false;
}

bool onx_nn_is_empty(const onx_xv *v) {
    return onx_xv_is(v, ONX_X_NONE) || (onx_xv_is_list(v) && !v->list->n);
}

size_t onx_nn_axes(const onx_export *x) {
    for (const char *at = x->op; *at; at++)
        if (*at >= '1' && *at <= '3' && at[1] == 'd') return (size_t)(*at - '0');
    return 2;
}

onx_xattr *onx_nn_attr(onx_xattr *at, const char *name, size_t n, const int64_t *v, int64_t usual) {
    bool said = false;
    for (size_t i = 0; i < n; i++) said |= v[i] != usual;
    if (!said) return at;
    *at = ONX_AL(name, n, v);
    return at + 1;
}

onx_value *onx_nn_batch(onx_export *x, onx_value *value, size_t axes, bool *added) {
    *added = value && onx_x_rank(x, value) == axes + 1;
    return *added ? onx_x_unsqueeze(x, value, 0) : value;
}

onx_value *onx_nn_unbatch(onx_export *x, onx_value *value, bool added) {
    return added ? onx_x_squeeze(x, value, 0) : value;
}

onx_value *onx_nn_floats(onx_export *x, onx_dtype dtype, size_t rank, const int64_t *dims,
                         const double *v) {
    size_t n = 1, bytes;
    for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
    void *data = onx_dtype_bytes(dtype, n, &bytes) ? onx_x_alloc(x, bytes + 1) : onx_x_nomem(x);
    if (!data) return NULL;
    if (onx_dtype_convert(ONX_DTYPE_F64, v, dtype, data, n, false))
        return onx_x_fail(x, ONX_UNSUPPORTED, "numbers as %s", onx_dtype_name(dtype));
    return onx_x_constant(x, dtype, rank, dims, data, bytes);
}

onx_value *onx_nn_filled(onx_export *x, onx_dtype dtype, int64_t n, double v) {
    double *all = onx_x_array(x, (size_t)n + 1, sizeof *all);
    for (int64_t i = 0; all && i < n; i++) all[i] = v;
    return all ? onx_nn_floats(x, dtype, 1, &n, all) : NULL;
}

onx_value *onx_nn_times(onx_export *x, onx_value *value, double number) {
    return number == 1 ? value : onx_emit_number(x, "Mul", value, number);
}

onx_value *onx_nn_plus(onx_export *x, onx_value *value, double number) {
    return number == 0 ? value : onx_emit_number(x, "Add", value, number);
}

/* ─ What a value was made from ───────────────────────────────────────────────────────────────── */

static bool is_zero_tensor(const onx_tensor *tensor) {
    size_t n;
    unsigned char data[4096];
    if (onx_tensor_bytes(tensor, &n, NULL) || n > sizeof data ||
        onx_tensor_read(tensor, data, n, NULL))
        return false;
    while (n && !data[n - 1]) n--;
    return n == 0;
}

static bool only_moves(const char *op) {
    static const char *const ops[] = {"Expand",    "Slice",   "Reshape",
                                      "Unsqueeze", "Squeeze", "Transpose"};
    for (size_t i = 0; i < ONX_COUNT(ops); i++)
        if (!strcmp(op, ops[i])) return true;
    return false;
}

bool onx_nn_is_zero(onx_export *x, const onx_value *value) {
    enum { STEPS = 8 };
    for (size_t i = 0; value && i < STEPS; i++) {
        const onx_tensor *constant = onx_x_fact(x, value)->constant;
        if (constant) return is_zero_tensor(constant);
        const onx_node *node = onx_value_node(value);
        if (node && !strcmp(onx_node_op(node), "ConstantOfShape")) {
            const onx_attr *filling = onx_node_attr(node, "value");
            return !filling || is_zero_tensor(onx_attr_tensor(filling));
        }
        value = node && only_moves(onx_node_op(node)) ? onx_node_input(node, 0) : NULL;
    }
    return false;
}
