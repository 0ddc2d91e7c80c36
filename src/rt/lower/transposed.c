/* transposed.c: ConvTranspose as Conv.
 *
 * Along an axis, output s*i + a of a stride of s sees input i + q - m through tap k + s*m, where
 * q = (a + pad) / s and k = (a + pad) % s: for each a of 0 … s-1 that is a convolution of its own.
 * All s*s of them become channels of one, whose kernel spans what any of them sees, with zeros in
 * between, and are dealt out to their pixels:
 *
 *     y = ConvTranspose(x, W, B)      t = Conv(x, W', B')
 *                                     y = DepthToSpace(t) { CRD, s }     with Slice, where that is
 *                                                                        larger than y
 *
 * Of an image that is a single pixel, it is a product:
 *
 *     y = ConvTranspose(x, W, B)      t = Gemm(x, W, B')                 with Reshape on all sides
 *
 * Left alone: weights that are not constant floats, strides that differ, dilations, named sizes,
 * and small images, whose weights would cost more than the sums. */
#include "rt/lower/lower.h"

enum { STRIDE_MAX = 8, KERNEL_MAX = 32, PAD_MAX = 64, SMALL = 128 /* pixels */ };

/* One axis: what the ConvTranspose says, and what the Conv has. */
typedef struct axis {
    int64_t stride, kernel, before, after, more; /* more: output_padding */
    int64_t first;                               /* of the inputs that output 0 … stride-1 see */
    int64_t taps, pad_before, pad_after, surplus;
} axis;

typedef struct transposed {
    axis axis[2];
    int64_t groups, ic, oc; /* ic, oc: of a group */
} transposed;

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static void plan_axis(axis *x) {
    int64_t last = 0;
    for (int64_t a = 0; a < x->stride; a++) {
        int64_t q = (a + x->before) / x->stride, k = (a + x->before) % x->stride;
        if (k >= x->kernel) continue;
        int64_t lowest = q - (x->kernel - 1 - k) / x->stride;
        if (lowest < x->first) x->first = lowest;
        if (q > last) last = q;
    }
    /* The output is stride * input + rest long. */
    int64_t rest = x->kernel + x->more - x->before - x->after - x->stride;
    int64_t longer = -floor_div(-rest, x->stride);
    x->surplus = longer * x->stride - rest;
    x->taps = last - x->first + 1;
    x->pad_before = -x->first;
    x->pad_after = longer - x->pad_before + x->taps - 1;
    if (x->pad_after < 0) x->taps -= x->pad_after, x->pad_after = 0;
}

/* Element i of a list that has n, or `otherwise`; false: it is none of 0 … most. */
static bool get(const onx_node *node, const char *name, size_t n, size_t i, int64_t otherwise,
                int64_t most, int64_t *out) {
    size_t count;
    const int64_t *list = onx_op_ints(node, name, &count);
    *out = list && count == n ? list[i] : otherwise;
    return (!onx_op_has(node, name) || (list && count == n)) && *out >= 0 && *out <= most;
}

static bool read_axis(const onx_node *node, size_t i, int64_t kernel, axis *x) {
    int64_t named, dilation;
    *x = (axis){.kernel = kernel};
    return kernel >= 1 && kernel <= KERNEL_MAX &&
           get(node, "kernel_shape", 2, i, kernel, kernel, &named) && named == kernel &&
           get(node, "dilations", 2, i, 1, 1, &dilation) && dilation == 1 &&
           get(node, "strides", 2, i, 1, STRIDE_MAX, &x->stride) && x->stride >= 1 &&
           get(node, "pads", 4, i, 0, PAD_MAX, &x->before) &&
           get(node, "pads", 4, i + 2, 0, PAD_MAX, &x->after) &&
           get(node, "output_padding", 2, i, 0, x->stride - 1, &x->more);
}

static bool read_node(const onx_pass_ctx *ctx, const onx_node *node, const onx_op *op,
                      transposed *t) {
    const onx_tensor *w = onx_pass_constant(ctx, onx_node_input(node, 1));
    const onx_fact *x = onx_pass_fact(ctx, onx_node_input(node, 0));
    if (!onx_pass_is(op, "ConvTranspose") || !w || onx_tensor_dtype(w) != ONX_DTYPE_F32 ||
        onx_tensor_rank(w) != 4 || x->kind != ONX_TYPE_TENSOR || x->dtype != ONX_DTYPE_F32)
        return false;
    onx_str pad = onx_op_string(op, node, "auto_pad");
    if (onx_op_has(node, "output_shape") || !(onx_str_is(pad, "NOTSET") || !pad.size)) return false;
    t->groups = onx_op_int(op, node, "group");
    t->oc = onx_tensor_dim(w, 1);
    if (t->groups < 1 || t->oc < 1 || onx_tensor_dim(w, 0) < 1 || onx_tensor_dim(w, 0) % t->groups)
        return false;
    t->ic = onx_tensor_dim(w, 0) / t->groups;
    for (size_t i = 0; i < 2; i++)
        if (!read_axis(node, i, onx_tensor_dim(w, i + 2), &t->axis[i])) return false;
    return t->axis[0].stride == t->axis[1].stride;
}

/* Whether a Conv with so many zeros among its weights, and beside the image, is faster. */
static bool is_worth(const onx_fact *x, const transposed *t) {
    int64_t pixels = 1, own = 1, spread = 1;
    for (size_t i = 0; i < 2; i++) {
        const axis *a = &t->axis[i];
        int64_t in;
        if (!x->ranked || x->rank != 4 || !x->dims[i + 2] || !onx_sym_is_int(x->dims[i + 2], &in))
            return true;
        if (in >= SMALL || in < 1) return true;
        pixels *= in;
        own *= in * a->kernel;
        spread *= (in + a->pad_before + a->pad_after - a->taps + 1) * a->taps * a->stride;
    }
    return pixels >= SMALL || spread <= own + own / 2;
}

/* The tap of the ConvTranspose for `tap` of the Conv and outputs `a`; -1: none. */
static int64_t tap_of(const axis *x, int64_t a, int64_t tap) {
    int64_t m = (a + x->before) / x->stride - (tap + x->first);
    int64_t k = (a + x->before) % x->stride + m * x->stride;
    return m >= 0 && k < x->kernel ? k : -1;
}

/* to: [groups*oc][stride][stride][ic][taps][taps] of from: [groups*ic][oc][kernel][kernel]. */
static void spread_weights(const transposed *t, const float *from, float *to) {
    const axis *y = &t->axis[0], *x = &t->axis[1];
    int64_t s = y->stride, outputs = t->groups * t->oc * s * s;
    for (int64_t n = 0; n < outputs * t->ic; n++) {
        int64_t i = n % t->ic, b = n / t->ic % s, a = n / t->ic / s % s, oc = n / t->ic / s / s;
        int64_t row = (oc / t->oc * t->ic + i) * t->oc + oc % t->oc;
        for (int64_t ty = 0; ty < y->taps; ty++)
            for (int64_t tx = 0; tx < x->taps; tx++) {
                int64_t ky = tap_of(y, a, ty), kx = tap_of(x, b, tx);
                *to++ = ky < 0 || kx < 0 ? 0 : from[(row * y->kernel + ky) * x->kernel + kx];
            }
    }
}

/* The weights and the bias of the Conv; *fits: they are there. */
static onx_status add_constants(onx_pass_ctx *ctx, const onx_node *node, const transposed *t,
                                onx_value *out[2], bool *fits) {
    int64_t each = t->axis[0].stride * t->axis[0].stride, n = t->groups * t->oc * each;
    int64_t dims[4] = {n, t->ic, t->axis[0].taps, t->axis[1].taps}, old = t->groups * t->ic;
    size_t bytes = (size_t)(n * dims[1] * dims[2] * dims[3]) * sizeof(float);
    onx_value *b = onx_node_input(node, 2);
    float *from = onx_pass_floats(ctx, onx_node_input(node, 1), 4, old);
    float *bias = b ? onx_pass_floats(ctx, b, 1, t->groups * t->oc) : NULL;
    *fits = from && (bias || !b) && onx_pass_afford(ctx, bytes + (size_t)n * sizeof(float));
    if (!*fits) return ONX_OK;
    float *w = onx_arena_alloc(&ctx->arena, bytes);
    float *many = onx_arena_alloc(&ctx->arena, (size_t)n * sizeof(float));
    if (!w || !many) return onx_fail_nomem(ctx->diag);
    spread_weights(t, from, w);
    ONX_TRY(onx_pass_add_floats(ctx, node->graph, "spread", 4, dims, w, &out[0]));
    for (int64_t i = 0; i < n && b; i++) many[i] = bias[i / each];
    return b ? onx_pass_add_floats(ctx, node->graph, "spread", 1, dims, many, &out[1]) : ONX_OK;
}

static onx_status set_conv(onx_pass_ctx *ctx, onx_node *conv, const transposed *t) {
    const axis *y = &t->axis[0], *x = &t->axis[1];
    int64_t pads[4] = {y->pad_before, x->pad_before, y->pad_after, x->pad_after};
    onx_status status = onx_node_set_ints(conv, "pads", 4, pads);
    if (!status && t->groups > 1) status = onx_node_set_int(conv, "group", t->groups);
    return status ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

static onx_status set_deal(onx_pass_ctx *ctx, onx_node *deal, const transposed *t) {
    onx_status status = onx_node_set_int(deal, "blocksize", t->axis[0].stride);
    if (!status) status = onx_node_set_string(deal, "mode", "CRD");
    return status ? onx_fail_nomem(ctx->diag) : ONX_OK;
}

/* Slice: what is larger than it should be, at its end. */
static onx_status remake_slice(onx_pass_ctx *ctx, onx_node *node, const transposed *t,
                               onx_value *from) {
    int64_t starts[2] = {0, 0}, axes[2] = {2, 3}, ends[2];
    onx_value *in[4] = {from};
    for (size_t i = 0; i < 2; i++) ends[i] = t->axis[i].surplus ? -t->axis[i].surplus : INT64_MAX;
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "starts", 2, starts, &in[1]));
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "ends", 2, ends, &in[2]));
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "axes", 2, axes, &in[3]));
    return onx_pass_remake(ctx, node, "Slice", 4, in);
}

/* ─ A single pixel ───────────────────────────────────────────────────────────────────────────── */

static bool is_single(const onx_fact *x, const transposed *t) {
    int64_t size;
    if (t->groups != 1 || !x->ranked || x->rank != 4) return false;
    for (size_t i = 0; i < 2; i++) {
        const axis *a = &t->axis[i];
        if (!onx_sym_is_int(x->dims[i + 2], &size) || size != 1) return false;
        if (a->before || a->after || a->more) return false;
    }
    return onx_sym_is_int(x->dims[1], &size) && size == t->ic; /* Reshape would not ask for it */
}

static onx_status remake_product(onx_pass_ctx *ctx, onx_node *node, const transposed *t) {
    int64_t kernel = t->axis[0].kernel * t->axis[1].kernel, n = t->oc * kernel;
    int64_t flat[2] = {-1, t->ic}, wide[2] = {t->ic, n};
    int64_t image[4] = {-1, t->oc, t->axis[0].kernel, t->axis[1].kernel};
    onx_value *b = onx_node_input(node, 2), *x[2] = {onx_node_input(node, 0)}, *in[3], *y[2];
    float *w = onx_pass_floats(ctx, onx_node_input(node, 1), 4, t->ic), *many = NULL;
    float *bias = b ? onx_pass_floats(ctx, b, 1, t->oc) : NULL;
    size_t bytes = (size_t)n * sizeof(float);
    if (!w || (b && !bias) || !onx_pass_afford(ctx, (size_t)(t->ic + 1) * bytes)) return ONX_OK;
    if (b && !(many = onx_arena_alloc(&ctx->arena, bytes))) return onx_fail_nomem(ctx->diag);
    for (int64_t i = 0; i < n && b; i++) many[i] = bias[i / kernel];
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "shape", 2, flat, &x[1]));
    ONX_TRY(onx_pass_add_node(ctx, node, "Reshape", 2, x, &in[0]));
    ONX_TRY(onx_pass_add_floats(ctx, node->graph, "wide", 2, wide, w, &in[1]));
    if (b) ONX_TRY(onx_pass_add_floats(ctx, node->graph, "wide", 1, &n, many, &in[2]));
    ONX_TRY(onx_pass_add_node(ctx, node, "Gemm", b ? 3 : 2, in, &y[0]));
    ONX_TRY(onx_pass_add_ints(ctx, node->graph, "shape", 4, image, &y[1]));
    return onx_pass_remake(ctx, node, "Reshape", 2, y);
}

static onx_status visit(onx_pass_ctx *ctx, onx_node *node) {
    transposed t;
    bool fits;
    onx_value *in[3] = {onx_node_input(node, 0)}, *conv, *dealt;
    if (!read_node(ctx, node, onx_pass_op(ctx, node), &t)) return ONX_OK;
    if (is_single(onx_pass_fact(ctx, in[0]), &t)) return remake_product(ctx, node, &t);
    for (size_t i = 0; i < 2; i++) plan_axis(&t.axis[i]);
    if (!is_worth(onx_pass_fact(ctx, in[0]), &t)) return ONX_OK;
    ONX_TRY(add_constants(ctx, node, &t, in + 1, &fits));
    if (!fits) return ONX_OK;
    size_t n = in[2] ? 3 : 2;
    if (t.axis[0].stride == 1) {
        ONX_TRY(onx_pass_remake(ctx, node, "Conv", n, in));
        return set_conv(ctx, node, &t);
    }
    ONX_TRY(onx_pass_add_node(ctx, node, "Conv", n, in, &conv));
    ONX_TRY(set_conv(ctx, conv->def, &t));
    if (!t.axis[0].surplus && !t.axis[1].surplus) {
        ONX_TRY(onx_pass_remake(ctx, node, "DepthToSpace", 1, &conv));
        return set_deal(ctx, node, &t);
    }
    ONX_TRY(onx_pass_add_node(ctx, node, "DepthToSpace", 1, &conv, &dealt));
    ONX_TRY(set_deal(ctx, dealt->def, &t));
    return remake_slice(ctx, node, &t, dealt);
}

extern onx_pass_fn onx_lower_transposed;
onx_status onx_lower_transposed(onx_pass_ctx *ctx, onx_graph *graph) {
    size_t changes = ctx->changes;
    if (onx_model_opset(ctx->model, "") < 11 || !onx_pass_takes_constants(graph)) return ONX_OK;
    for (onx_node *node = onx_graph_node_first(graph), *next; node; node = next) {
        next = onx_node_next(node);
        ONX_TRY(visit(ctx, node));
    }
    return ctx->changes == changes ? ONX_OK : onx_pass_refresh(ctx); /* for the layouts */
}
