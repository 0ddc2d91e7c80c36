/* absorb.c: a factor and an offset for each channel of a product go into its constants:
 *
 *     (x ∘ W + B) * f + o = x ∘ (W * f) + (B * f + o)
 *
 * where ∘ is a convolution, its transposition, Gemm or MatMul, and f and o are BatchNormalization,
 * or Mul, Div, Add and Sub with a constant. For float32. */
#include "pass/pass.h"

#include <math.h>

/* The product before a node. Element i of its weights belongs to channel
 * (i / inner) % width + (i / outer) * width. */
typedef struct product {
    onx_node *node;
    const onx_op *op;
    onx_value *weights;
    size_t rank, axis; /* of the result, and which of its dimensions are the channels */
    int64_t channels;
    uint64_t count, inner, width, outer;
    bool biased; /* input 2 is added */
} product;

/* ─ Factors and offsets ──────────────────────────────────────────────────────────────────────── */

/* A constant that is repeated along all dimensions but the channels', one element for each. */
static float *per_channel(onx_pass_ctx *ctx, const onx_value *value, const product *p) {
    const onx_tensor *t = onx_pass_constant(ctx, value);
    uint64_t count;
    if (!t || onx_tensor_dtype(t) != ONX_DTYPE_F32 || onx_tensor_count(t, &count, NULL))
        return NULL;
    size_t rank = onx_tensor_rank(t), channels = (size_t)p->channels;
    if (rank > p->rank || (count != 1 && count != channels)) return NULL;
    for (size_t i = 0; i < rank && count > 1; i++)
        if (onx_tensor_dim(t, i) != (p->rank - rank + i == p->axis ? p->channels : 1)) return NULL;
    float *out = onx_arena_array(&ctx->arena, channels, sizeof *out);
    if (!out || onx_tensor_read(t, out, (size_t)count * sizeof *out, NULL)) return NULL;
    for (size_t c = 1; c < channels && count == 1; c++) out[c] = out[0];
    return out;
}

static const struct {
    const char *op;
    size_t place;          /* of the product among the inputs */
    float by, plus, power; /* f = by * c^power, o = plus * c */
} rules[] = {
    {"Add", 0, 1, 1, 0}, {"Add", 1, 1, 1, 0}, {"Sub", 0, 1, -1, 0}, {"Sub", 1, -1, 1, 0},
    {"Mul", 0, 1, 0, 1}, {"Mul", 1, 1, 0, 1}, {"Div", 0, 1, 0, -1},
};

static bool are_finite(const float *values, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

/* What the node makes of its input `place`; false: it is something else. */
static bool linear_of(onx_pass_ctx *ctx, const onx_node *node, const product *p, size_t place,
                      float **factors, float **offsets) {
    const onx_op *op = onx_pass_op(ctx, node);
    if (!op || node->output.n < 1) return false;
    if (p->axis == 1 && place == 0 &&
        onx_pass_batchnorm_factors(ctx, node, op, p->channels, factors, offsets))
        return true;
    for (size_t r = 0; r < ONX_COUNT(rules); r++) {
        if (!onx_pass_is(op, rules[r].op) || rules[r].place != place || op->since < 7) continue;
        float *f = per_channel(ctx, onx_node_input(node, 1 - place), p);
        float *o = onx_arena_array(&ctx->arena, (size_t)p->channels, sizeof *o);
        if (!f || !o) return false;
        for (int64_t c = 0; c < p->channels; c++) {
            o[c] = rules[r].plus * f[c];
            f[c] = rules[r].by * (rules[r].power > 0 ? f[c] : rules[r].power < 0 ? 1 / f[c] : 1);
        }
        *factors = f;
        *offsets = o;
        return are_finite(f, p->channels) && are_finite(o, p->channels);
    }
    return false;
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

static bool read_conv(const onx_pass_ctx *ctx, product *p, const onx_tensor *w) {
    (void)ctx;
    p->rank = onx_tensor_rank(w);
    if (p->rank < 3) return false;
    p->channels = onx_tensor_dim(w, 0);
    p->width = (uint64_t)p->channels;
    p->inner = p->width ? p->count / p->width : 0;
    p->outer = p->count;
    return true;
}

static bool read_turned_conv(const onx_pass_ctx *ctx, product *p, const onx_tensor *w) {
    (void)ctx;
    int64_t groups = onx_op_int(p->op, p->node, "group");
    p->rank = onx_tensor_rank(w);
    if (p->rank < 3 || groups < 1 || groups > onx_tensor_dim(w, 0)) return false;
    p->width = (uint64_t)onx_tensor_dim(w, 1);
    if (!onx_mul_i64(onx_tensor_dim(w, 1), groups, &p->channels)) return false;
    uint64_t pairs = (uint64_t)onx_tensor_dim(w, 0) * p->width;
    p->inner = pairs ? p->count / pairs : 0;
    p->outer = p->count / (uint64_t)groups;
    return true;
}

static bool read_gemm(const onx_pass_ctx *ctx, product *p, const onx_tensor *w) {
    (void)ctx;
    bool turned = onx_op_int(p->op, p->node, "transB") != 0;
    p->rank = 2;
    if (onx_tensor_rank(w) != 2 || p->op->since < 7) return false;
    p->channels = onx_tensor_dim(w, turned ? 0 : 1);
    p->width = (uint64_t)p->channels;
    p->inner = turned ? (uint64_t)onx_tensor_dim(w, 1) : 1;
    p->outer = p->count;
    return true;
}

static bool read_matmul(const onx_pass_ctx *ctx, product *p, const onx_tensor *w) {
    const onx_fact *y = onx_pass_fact(ctx, onx_node_output(p->node, 0));
    if (onx_tensor_rank(w) != 2 || !y->ranked || y->rank < 2) return false;
    p->rank = y->rank;
    p->axis = y->rank - 1;
    p->channels = onx_tensor_dim(w, 1);
    p->width = (uint64_t)p->channels;
    p->inner = 1;
    p->outer = p->count;
    p->biased = false;
    return true;
}

static const struct {
    const char *op;
    bool (*read)(const onx_pass_ctx *ctx, product *p, const onx_tensor *w);
} products[] = {{"Conv", read_conv},
                {"ConvTranspose", read_turned_conv},
                {"Gemm", read_gemm},
                {"MatMul", read_matmul}};

/* The product whose result is input `place` of the node, if nobody else sees that. */
static bool product_before(const onx_pass_ctx *ctx, const onx_node *node, size_t place,
                           product *p) {
    size_t index;
    const onx_value *x = onx_node_input(node, place);
    if (!x || !x->def || x->graph != node->graph || x->def->graph != node->graph) return false;
    *p = (product){.node = x->def, .op = onx_pass_op(ctx, x->def), .axis = 1, .biased = true};
    size_t kind = 0;
    while (kind < ONX_COUNT(products) && !onx_pass_is(p->op, products[kind].op)) kind++;
    if (kind == ONX_COUNT(products) || p->node->input.n < 2) return false;
    if (onx_pass_only_use(ctx, x, &index) != node || index != place) return false;
    p->weights = onx_node_input(p->node, 1);
    const onx_tensor *w = onx_pass_constant(ctx, p->weights);
    return w && onx_tensor_dtype(w) == ONX_DTYPE_F32 && !onx_tensor_count(w, &p->count, NULL) &&
           p->count && products[kind].read(ctx, p, w) && p->channels > 0 && p->inner && p->width &&
           p->outer;
}

/* ─ Together ─────────────────────────────────────────────────────────────────────────────────── */

static bool are_all(const float *values, int64_t n, float number) {
    for (int64_t i = 0; i < n; i++)
        if (values[i] != number) return false;
    return true;
}

static void multiply(const product *p, const float *factors, float *weights) {
    for (uint64_t i = 0; i < p->count;) {
        const float *group = factors + i / p->outer * p->width;
        for (uint64_t c = 0; c < p->width; c++, i += p->inner)
            for (uint64_t j = 0; j < p->inner; j++) weights[i + j] *= group[c];
    }
}

/* The weights times the factors; `*out` stays NULL where that cannot be. */
static onx_status scale(onx_pass_ctx *ctx, const product *p, const float *factors,
                        onx_value **out) {
    const onx_tensor *w = onx_pass_constant(ctx, p->weights);
    onx_context *memory = ctx->arena.ctx;
    size_t bytes;
    if (onx_tensor_bytes(w, &bytes, NULL) || !onx_pass_afford(ctx, bytes)) return ONX_OK;
    float *weights = onx_mem_alloc(memory, bytes);
    if (!weights) return onx_fail_nomem(ctx->diag);
    onx_status status = ONX_OK;
    if (!onx_tensor_read(w, weights, bytes, NULL)) {
        onx_doc_drop(w->msg.doc, onx_tensor_view(w)); /* most likely nobody needs it any more */
        multiply(p, factors, weights);
        status = onx_pass_add_floats(ctx, p->node->graph, onx_value_name(p->weights),
                                     onx_tensor_rank(w), onx_tensor_dims(w), weights, out);
    }
    onx_mem_free(memory, weights, bytes);
    return status;
}

/* The bias of the product, as it adds it; all zeros where it has none. False: it is no constant. */
static bool read_bias(onx_pass_ctx *ctx, const product *p, float **out) {
    const onx_value *bias = p->biased ? onx_node_input(p->node, 2) : NULL;
    bool gemm = onx_pass_is(p->op, "Gemm");
    product vector = *p;
    if (!gemm) vector.rank = 1, vector.axis = 0;
    *out = bias ? per_channel(ctx, bias, &vector)
                : onx_arena_array(&ctx->arena, (size_t)p->channels, sizeof **out);
    float beta = gemm ? onx_op_float(p->op, p->node, "beta") : 1;
    for (int64_t c = 0; *out && c < p->channels; c++) (*out)[c] *= beta;
    return *out != NULL;
}

/* In a session a factor after a product of matrices is part of its kernel, and costs less than new
 * weights do. */
static bool is_fused(const onx_pass_ctx *ctx, const product *p) {
    return ctx->has_kernel && ctx->has_kernel(ctx->user, "MatMulTile") && !p->biased;
}

static onx_status absorb(onx_pass_ctx *ctx, onx_node *node, const product *p, const float *factors,
                         const float *offsets) {
    float *bias;
    onx_value *in[3] = {onx_node_input(p->node, 0), p->weights, NULL};
    const onx_value *was = p->biased ? onx_node_input(p->node, 2) : NULL;
    bool scaled = !are_all(factors, p->channels, 1);
    if (!p->biased && !are_all(offsets, p->channels, 0)) return ONX_OK;
    if (scaled && is_fused(ctx, p)) return ONX_OK;
    if (!read_bias(ctx, p, &bias)) return ONX_OK;
    for (int64_t c = 0; c < p->channels; c++) bias[c] = bias[c] * factors[c] + offsets[c];
    if (scaled) {
        in[1] = NULL;
        ONX_TRY(scale(ctx, p, factors, &in[1]));
        if (!in[1]) return ONX_OK;
    }
    bool adds = was || !are_all(offsets, p->channels, 0);
    if (adds)
        ONX_TRY(onx_pass_add_floats(ctx, node->graph, was ? onx_value_name(was) : "bias", 1,
                                    &p->channels, bias, &in[2]));
    ONX_TRY(onx_pass_remake(ctx, node, p->op->name, adds ? 3 : 2, in));
    ONX_TRY(onx_pass_copy_attrs(ctx, node, p->node));
    if (adds && onx_op_has(node, "beta") && onx_node_set_float(node, "beta", 1))
        return onx_fail_nomem(ctx->diag);
    return onx_pass_remove(ctx, p->node);
}

extern onx_pass_fn onx_pass_absorb;
onx_status onx_pass_absorb(onx_pass_ctx *ctx, onx_graph *graph) {
    if (!onx_pass_takes_constants(graph)) return ONX_OK;
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        product p;
        float *factors, *offsets;
        for (size_t place = 0; place < 2 && place < node->input.n; place++) {
            if (!product_before(ctx, node, place, &p) ||
                !linear_of(ctx, node, &p, place, &factors, &offsets))
                continue;
            ONX_TRY(absorb(ctx, node, &p, factors, offsets));
            break;
        }
    }
    return ONX_OK;
}
