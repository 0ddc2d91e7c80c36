/* pair_values.c: see pairs.h. */
#include "rt/lower/pairs.h"

#include <math.h>

static bool is_bytes(onx_dtype dtype) {
    return dtype == ONX_DTYPE_U8 || dtype == ONX_DTYPE_I8;
}

static size_t count_of(const onx_tensor *t) {
    uint64_t count;
    return t && onx_tensor_count(t, &count, NULL) == ONX_OK ? (size_t)count : 0;
}

static onx_dtype dtype_of(const onx_pass_ctx *ctx, const onx_value *value) {
    const onx_tensor *constant = onx_pass_constant(ctx, value);
    const onx_fact *fact = onx_pass_fact(ctx, value);
    if (constant) return onx_tensor_dtype(constant);
    return fact->kind == ONX_TYPE_TENSOR ? fact->dtype : ONX_DTYPE_NONE;
}

/* Parameters of QuantizeLinear and DequantizeLinear that are constant. */
static bool read_params(const onx_pass_ctx *ctx, onx_node *node, const onx_op *op, onx_coded *out) {
    *out = (onx_coded){.node = node,
                       .x = onx_node_input(node, 0),
                       .scale = onx_node_input(node, 1),
                       .zero = onx_node_input(node, 2),
                       .axis = op->since < 13 ? 1 : onx_op_int(op, node, "axis")};
    const onx_tensor *scale = onx_pass_constant(ctx, out->scale);
    const onx_tensor *zero = onx_pass_constant(ctx, out->zero);
    size_t n = count_of(scale);
    if (!n || onx_tensor_dtype(scale) != ONX_DTYPE_F32 || (out->zero && count_of(zero) != n))
        return false;
    if (op->since >= 21 && onx_op_int(op, node, "block_size")) return false;
    out->single = n == 1;
    return onx_node_output(node, 0) && out->x;
}

bool onx_coded_of(const onx_pass_ctx *ctx, const onx_value *value, onx_coded *out) {
    onx_node *node = value ? value->def : NULL;
    const onx_op *op = node ? onx_pass_op(ctx, node) : NULL;
    if (!onx_pass_is(op, "DequantizeLinear") || !read_params(ctx, node, op, out)) return false;
    out->dtype = dtype_of(ctx, out->x);
    return (is_bytes(out->dtype) || out->dtype == ONX_DTYPE_I32) &&
           dtype_of(ctx, value) == ONX_DTYPE_F32;
}

bool onx_coded_by(const onx_pass_ctx *ctx, onx_node *node, onx_coded *out) {
    const onx_op *op = onx_pass_op(ctx, node);
    if (!onx_pass_is(op, "QuantizeLinear") || !read_params(ctx, node, op, out)) return false;
    if (op->since >= 23 && onx_op_int(op, node, "precision")) return false;
    out->dtype = dtype_of(ctx, onx_node_output(node, 0));
    return out->single && is_bytes(out->dtype) && dtype_of(ctx, out->x) == ONX_DTYPE_F32;
}

bool onx_coded_numbers(const onx_pass_ctx *ctx, const onx_coded *c, float *scale, int *zero) {
    size_t rank;
    float z = 0;
    if (!c->single || !onx_lower_scalar(ctx, c->scale, scale, &rank)) return false;
    if (c->zero && !onx_lower_scalar(ctx, c->zero, &z, &rank)) return false;
    *zero = (int)z;
    return *scale > 0 && isfinite(*scale);
}

bool onx_coded_same(const onx_pass_ctx *ctx, const onx_coded *a, const onx_coded *b) {
    float s, t;
    int y, z;
    return a->dtype == b->dtype && onx_coded_numbers(ctx, a, &s, &y) &&
           onx_coded_numbers(ctx, b, &t, &z) && s == t && y == z;
}

static onx_status add_constant(onx_pass_ctx *ctx, onx_graph *graph, const char *hint,
                               onx_dtype dtype, size_t rank, int64_t n, const void *data,
                               size_t bytes, onx_value **out) {
    const char *name = onx_graph_new_name(graph, hint);
    *out = name ? onx_graph_add_initializer(graph, name, dtype, rank, &n, data, bytes) : NULL;
    return *out ? ONX_OK : onx_fail_nomem(ctx->diag);
}

onx_status onx_coded_zero(onx_pass_ctx *ctx, onx_coded *c) {
    static const uint8_t zero = 0;
    if (c->zero) return ONX_OK;
    return add_constant(ctx, c->node->graph, "zero_point", c->dtype, 0, 1, &zero, 1, &c->zero);
}

/* Constants as floats, in memory of the context; a single one for all n. NULL: they are not so. */
static float *read_floats(onx_pass_ctx *ctx, const onx_value *value, int64_t n) {
    const onx_tensor *t = onx_pass_constant(ctx, value);
    size_t count = count_of(t), all = (size_t)n;
    float *out = onx_arena_array(&ctx->arena, all ? all : 1, sizeof *out);
    if (!out || !count || (count != 1 && count != all)) return NULL;
    if (onx_tensor_read_as(t, ONX_DTYPE_F32, out, count * sizeof *out, NULL)) return NULL;
    for (size_t i = 1; count == 1 && i < all; i++) out[i] = out[0];
    return out;
}

static bool fill_bias(onx_pass_ctx *ctx, const onx_value *bias, const onx_coded *a,
                      const onx_coded *b, int64_t n, int32_t *out) {
    onx_coded c = {0};
    bool is_coded = onx_coded_of(ctx, bias, &c);
    const onx_tensor *t = onx_pass_constant(ctx, is_coded ? c.x : bias);
    const float *a_scale = read_floats(ctx, a->scale, 1), *b_scale = read_floats(ctx, b->scale, n);
    const float *scale = is_coded ? read_floats(ctx, c.scale, n) : NULL;
    const float *zero = is_coded && c.zero ? read_floats(ctx, c.zero, n) : NULL;
    double *x = onx_arena_array(&ctx->arena, n ? (size_t)n : 1, sizeof *x);
    if (!t || !a_scale || !b_scale || !x || (is_coded && !scale) || (c.zero && !zero)) return false;
    if (onx_tensor_rank(t) != 1 || onx_tensor_dim(t, 0) != n ||
        onx_tensor_read_as(t, ONX_DTYPE_F64, x, (size_t)n * sizeof *x, NULL))
        return false;
    for (int64_t i = 0; i < n; i++) {
        double unit = (double)(a_scale[0] * b_scale[i]);
        double by = scale ? (double)scale[i] : 1, y = (x[i] - (zero ? (double)zero[i] : 0)) * by;
        y = scale && fabs(by - unit) <= 1e-5 * unit ? y / by : y / unit;
        if (!(fabs(y) < 0x1p31 - 1)) return false;
        out[i] = (int32_t)nearbyint(y);
    }
    return true;
}

onx_status onx_coded_bias(onx_pass_ctx *ctx, const onx_value *bias, const onx_coded *a,
                          const onx_coded *b, int64_t n, onx_value **out) {
    *out = NULL;
    if (n < 1 || n > INT32_MAX || !onx_pass_afford(ctx, (size_t)n * sizeof(int32_t))) return ONX_OK;
    int32_t *data = onx_arena_array(&ctx->arena, (size_t)n, sizeof *data);
    if (!data) return onx_fail_nomem(ctx->diag);
    if (!fill_bias(ctx, bias, a, b, n, data)) return ONX_OK;
    return add_constant(ctx, a->node->graph, onx_value_name(bias), ONX_DTYPE_I32, 1, n, data,
                        (size_t)n * sizeof *data, out);
}
