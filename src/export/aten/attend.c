/* attend.c: attention of PyTorch: scaled_dot_product_attention and what it is made of, and whole
 * layers of transformers as one operator. */
#include "export/aten/nn_args.h"

#include <math.h>

/* ─ Attention ────────────────────────────────────────────────────────────────────────────────── */

typedef struct attention {
    onx_value *q, *k, *v; /* [batch …, places, width] */
    onx_value *mask;      /* NULL: none; bools: what is true counts; else it is added */
    bool causal, grouped; /* grouped: several heads of q have one of k and v */
    const onx_xv *scale;  /* None: 1 / sqrt(width) */
    onx_value *chances;   /* of all places; made with the result */
} attention;

static onx_value *scaled(onx_export *x, onx_value *scores, const attention *a) {
    onx_dtype dtype = onx_x_dtype(x, scores);
    size_t last = onx_x_rank(x, a->q) - 1;
    int64_t width;
    double given;
    if (!onx_xv_is(a->scale, ONX_X_NONE)) {
        if (onx_xv_known_float(x, a->scale, &given)) return onx_nn_times(x, scores, given);
        return onx_emit(x, "Mul", scores, onx_x_scalar(x, a->scale, dtype));
    }
    if (onx_x_known_dim(x, a->q, last, &width))
        return onx_nn_times(x, scores, 1 / sqrt((double)width));
    onx_xv size = onx_x_size_of(x, a->q, last);
    return onx_emit(x, "Div", scores, onx_emit(x, "Sqrt", onx_x_scalar(x, &size, dtype)));
}

/* What comes later is out of sight: -inf above the diagonal, 0 elsewhere. */
static onx_value *causal_bias(onx_export *x, const attention *a) {
    onx_xv shape[] = {onx_x_size_of(x, a->q, onx_x_rank(x, a->q) - 2),
                      onx_x_size_of(x, a->k, onx_x_rank(x, a->k) - 2)};
    onx_dtype dtype = onx_x_dtype(x, a->q);
    onx_value *low = onx_x_number(x, dtype, -INFINITY);
    if (x->opset >= 14)
        return onx_emit_wide(x, "Trilu", onx_x_fill(x, low, 2, shape), onx_x_int(x, 1));
    onx_value *row = onx_x_unsqueeze(x, onx_x_count(x, &shape[0]), 1);
    onx_value *later = onx_emit(x, "Greater", onx_x_count(x, &shape[1]), row);
    return onx_emit(x, "Where", later, low, onx_x_number(x, dtype, 0));
}

/* [batch, n, places, width] with every head as often as q has heads for it. */
static onx_value *repeat_heads(onx_export *x, onx_value *v, onx_value *q) {
    size_t rank = onx_x_rank(x, v);
    const onx_sym *dims[ONX_RANK_MAX + 1], *to[ONX_RANK_MAX];
    if (rank == SIZE_MAX || rank < 3 || rank >= ONX_RANK_MAX) return v;
    size_t head = rank - 3;
    const onx_sym *heads = onx_x_dim(x, q, head), *few = onx_x_dim(x, v, head);
    if (heads == few) return v;
    for (size_t i = 0; i < rank; i++) to[i] = dims[i + (i > head)] = onx_x_dim(x, v, i);
    dims[head + 1] = onx_sym_floordiv(x->syms, heads, few);
    to[head] = heads;
    v = onx_x_unsqueeze(x, v, (int64_t)head + 1);
    return onx_x_reshape_to(x, onx_x_expand(x, v, rank + 1, dims), rank, to);
}

/* Chances of a row of which nothing counts are 0. */
static onx_value *chances_of(onx_export *x, onx_value *scores, bool masked) {
    onx_value *p = onx_emit_with(x, "Softmax", ONX_ATTRS(ONX_AI("axis", -1)), scores);
    if (!masked || !p) return p;
    return onx_emit(x, "Where", onx_emit(x, "IsNaN", p), onx_x_number(x, onx_x_dtype(x, p), 0), p);
}

static onx_value *attend_by_parts(onx_export *x, attention *a) {
    onx_dtype dtype = onx_x_dtype(x, a->q);
    bool bools = a->mask && onx_x_dtype(x, a->mask) == ONX_DTYPE_BOOL;
    onx_value *k = a->grouped ? repeat_heads(x, a->k, a->q) : a->k;
    onx_value *v = a->grouped ? repeat_heads(x, a->v, a->q) : a->v;
    onx_value *scores = onx_emit(x, "MatMul", a->q, onx_x_swap(x, k, -2, -1));
    scores = scaled(x, scores, a);
    if (a->causal) scores = onx_emit(x, "Add", scores, causal_bias(x, a));
    if (bools)
        scores = onx_emit(x, "Where", a->mask, scores, onx_x_number(x, dtype, -INFINITY));
    else if (a->mask)
        scores = onx_emit(x, "Add", scores, onx_x_cast(x, a->mask, dtype));
    a->chances = chances_of(x, scores, bools);
    return onx_emit(x, "MatMul", a->chances, v);
}

static onx_value *attend(onx_export *x, attention *a) {
    double scale = 0;
    if (!a->q || !a->k || !a->v || !onx_x_ok(x)) return NULL;
    bool given = !onx_xv_is(a->scale, ONX_X_NONE);
    if (x->opset < 23 || onx_x_rank(x, a->q) != 4 ||
        (given && !onx_xv_known_float(x, a->scale, &scale)))
        return attend_by_parts(x, a);
    onx_xattr attrs[3] = {{.name = NULL}}, *at = attrs;
    if (a->causal) *at++ = ONX_AI("is_causal", 1);
    if (given) *at = ONX_AF("scale", scale);
    onx_value *mask = a->mask;
    if (mask && onx_x_dtype(x, mask) != ONX_DTYPE_BOOL)
        mask = onx_x_cast(x, mask, onx_x_dtype(x, a->q));
    return onx_emit_with(x, "Attention", attrs, a->q, a->k, a->v, mask);
}

/* ─ scaled_dot_product_attention, in all forms ───────────────────────────────────────────────── */

static const onx_xv none = {.kind = ONX_X_NONE};

/* `grouped` may be NULL. */
static void lower_attention(onx_export *x, const onx_xv *a, const onx_xv *mask,
                            const onx_xv *causal, const onx_xv *scale, const onx_xv *grouped,
                            bool many, onx_xv *out) {
    attention at = {.q = onx_nn_tensor(x, &a[0]),
                    .k = onx_nn_tensor(x, &a[1]),
                    .v = onx_nn_tensor(x, &a[2]),
                    .mask = onx_nn_tensor(x, mask),
                    .causal = onx_xv_true(causal),
                    .grouped = grouped && onx_xv_true(grouped),
                    .scale = scale};
    onx_x_give(x, &out[0], attend(x, &at));
    if (many) onx_nn_give_nothing(x, ONX_DTYPE_F32, &out[1]); /* what training needs; no more */
}

static void lower_sdpa(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_attention(x, a, &a[3], &a[5], &a[6], &a[7], false, out);
}
static void lower_sdpa_math(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_attention(x, a, &a[3], &a[5], &a[7], &a[8], true, out);
}
static void lower_flash_cpu(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_attention(x, a, &a[5], &a[4], &a[6], NULL, true, out);
}
static void lower_flash(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_attention(x, a, &none, &a[4], &a[6], NULL, true, out);
}
static void lower_efficient(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_attention(x, a, &a[3], &a[6], &a[7], NULL, true, out);
}
static void lower_cudnn(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_attention(x, a, &a[3], &a[6], &a[8], NULL, true, out);
}
static void lower_overrideable(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_attention(x, a, &a[3], &a[5], &a[7], NULL, true, out);
}

/* ─ Several heads, with their projections ────────────────────────────────────────────────────── */

typedef struct heads {
    onx_xv in[3];        /* query, key, value: [batch, places, width] */
    onx_xv weight, bias; /* of all three, one after the other */
    onx_xv out_weight, out_bias;
    int64_t n;
    onx_xv mask, mask_type; /* what is true does not count */
    onx_value *inside;      /* of a nested tensor: what is true counts */
    onx_value *chances;
} heads;

static onx_xv linear(onx_export *x, onx_xv v, onx_xv weight, onx_xv bias) {
    onx_xv args[] = {v, weight, bias};
    return onx_aten_do(x, "linear", 3, args);
}

/* One of the three, as [batch, heads, places, width of a head]. */
static onx_value *split_heads(onx_export *x, onx_value *v, int64_t n) {
    static const int64_t perm[] = {0, 2, 1, 3};
    if (!v || onx_x_rank(x, v) != 3) return NULL;
    onx_xv shape[] = {onx_x_size_of(x, v, 0), onx_x_size_of(x, v, 1), onx_xv_int(x, n),
                      onx_xv_int(x, -1)};
    return onx_x_transpose(x, onx_x_reshape(x, v, 4, shape), 4, perm);
}

/* Where all three are of one tensor they are one product. */
static void project_one(onx_export *x, const heads *h, onx_value *qkv[3]) {
    static const int64_t perm[] = {2, 0, 3, 1, 4};
    onx_xv all = linear(x, h->in[0], h->weight, h->bias);
    onx_value *v = onx_nn_tensor(x, &all);
    if (!v || onx_x_rank(x, v) != 3) return;
    onx_xv shape[] = {onx_x_size_of(x, v, 0), onx_x_size_of(x, v, 1), onx_xv_int(x, 3),
                      onx_xv_int(x, h->n), onx_xv_int(x, -1)};
    v = onx_x_transpose(x, onx_x_reshape(x, v, 5, shape), 5, perm);
    for (size_t i = 0; i < 3; i++) qkv[i] = onx_x_pick(x, v, 0, (int64_t)i);
}

static void project_three(onx_export *x, const heads *h, onx_value *qkv[3]) {
    onx_value *weight = onx_nn_tensor(x, &h->weight), *bias = onx_nn_tensor(x, &h->bias);
    const onx_xattr *attrs = ONX_ATTRS(ONX_AI("axis", 0), ONX_AI("num_outputs", 3));
    onx_value *w[3], *b[3] = {NULL, NULL, NULL};
    if (!onx_emit_node(x, "Split", attrs, 1, &weight, 3, w)) return;
    if (bias && !onx_emit_node(x, "Split", attrs, 1, &bias, 3, b)) return;
    for (size_t i = 0; i < 3; i++) {
        onx_xv v = linear(x, h->in[i], onx_xv_tensor(x, w[i]), onx_xv_tensor(x, b[i]));
        qkv[i] = split_heads(x, onx_nn_tensor(x, &v), h->n);
    }
}

/* Bools, true where a place counts; over all heads. */
static onx_value *head_mask(onx_export *x, const heads *h) {
    static const int64_t axes[] = {1, 2};
    if (h->inside) return onx_emit(x, "Unsqueeze", h->inside, onx_x_ints(x, 2, axes));
    onx_value *mask = onx_x_cast(x, onx_nn_tensor(x, &h->mask), ONX_DTYPE_BOOL);
    if (!mask) return NULL;
    if (onx_xv_is_one(x, &h->mask_type, 1) && onx_x_rank(x, mask) == 2)
        mask = onx_emit(x, "Unsqueeze", mask, onx_x_ints(x, 2, axes));
    return onx_emit(x, "Not", mask);
}

static onx_value *attend_heads(onx_export *x, heads *h) {
    static const int64_t perm[] = {0, 2, 1, 3};
    onx_value *qkv[3] = {NULL, NULL, NULL}, *in[3];
    for (size_t i = 0; i < 3; i++) in[i] = onx_nn_tensor(x, &h->in[i]);
    if (in[0] == in[1] && in[1] == in[2])
        project_one(x, h, qkv);
    else
        project_three(x, h, qkv);
    attention a = {qkv[0], qkv[1], qkv[2], head_mask(x, h), .scale = &none};
    if (!a.q || !a.k || !a.v) return NULL;
    onx_value *y = attend_by_parts(x, &a);
    h->chances = a.chances;
    onx_xv shape[] = {onx_x_size_of(x, y, 0), onx_x_size_of(x, y, 2), onx_xv_int(x, -1)};
    y = onx_x_reshape(x, onx_x_transpose(x, y, 4, perm), 3, shape);
    onx_xv result = linear(x, onx_xv_tensor(x, y), h->out_weight, h->out_bias);
    return onx_nn_tensor(x, &result);
}

/* (query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
 * need_weights, average_attn_weights, mask_type) */
static void lower_multi_head(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const int64_t head = 1;
    heads h = {.in = {a[0], a[1], a[2]},
               .weight = a[5],
               .bias = a[6],
               .out_weight = a[7],
               .out_bias = a[8],
               .n = onx_xv_whole(x, &a[4], 1),
               .mask = a[9],
               .mask_type = a[12]};
    onx_x_give(x, &out[0], attend_heads(x, &h));
    if (!onx_xv_true(&a[10]))
        onx_nn_give_nothing(x, ONX_DTYPE_F32, &out[1]);
    else if (onx_xv_true(&a[11]))
        onx_x_give(x, &out[1], onx_x_reduce(x, "ReduceMean", h.chances, 1, &head, false));
    else
        onx_x_give(x, &out[1], h.chances);
}

/* ─ A layer of an encoder ────────────────────────────────────────────────────────────────────── */

static onx_xv layer_norm(onx_export *x, onx_xv v, const onx_xv *weight, onx_xv width, onx_xv eps) {
    onx_xv args[] = {v, onx_xv_list(x, ONX_X_LIST, 1, &width), weight[0], weight[1], eps};
    return onx_aten_do(x, "layer_norm", 5, args);
}

static onx_xv add(onx_export *x, onx_xv a, onx_xv b) {
    return onx_xv_tensor(x, onx_emit(x, "Add", onx_nn_tensor(x, &a), onx_nn_tensor(x, &b)));
}

/* (src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first,
 * eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1,
 * ffn_weight_2, ffn_bias_2, mask, mask_type) */
static void lower_encoder_layer(onx_export *x, const onx_xv *a, onx_xv *out) {
    bool first = onx_xv_true(&a[8]);
    onx_xv src = onx_xv_tensor(x, onx_nn_tensor(x, &a[0]));
    onx_xv v = first ? layer_norm(x, src, &a[10], a[1], a[9]) : src;
    heads h = {.in = {v, v, v},
               .weight = a[3],
               .bias = a[4],
               .out_weight = a[5],
               .out_bias = a[6],
               .n = onx_xv_whole(x, &a[2], 1),
               .mask = a[18],
               .mask_type = a[19],
               .inside = a[0].tensor->inside};
    onx_value *y = attend_heads(x, &h);
    if (!y) return;
    onx_xv mid = add(x, onx_xv_tensor(x, y), src);
    if (!first) mid = layer_norm(x, mid, &a[10], a[1], a[9]);
    v = linear(x, first ? layer_norm(x, mid, &a[12], a[1], a[9]) : mid, a[14], a[15]);
    v = onx_aten_do(x, onx_xv_true(&a[7]) ? "gelu" : "relu", 1, &v);
    v = add(x, linear(x, v, a[16], a[17]), mid);
    *out = first ? v : layer_norm(x, v, &a[12], a[1], a[9]);
    if (out->kind == ONX_X_TENSOR) out->tensor->inside = h.inside;
}

/* ─ Nested tensors, which encoders make of what is padded ────────────────────────────────────── */

/* (t, mask, mask_check): the mask is true where t has elements. */
static void lower_nested(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *inside = onx_x_as(x, &a[1], ONX_DTYPE_BOOL);
    onx_x_give(x, out, onx_nn_tensor(x, &a[0]));
    if (out->kind == ONX_X_TENSOR) out->tensor->inside = inside;
}

static void lower_left_aligned(onx_export *x, const onx_xv *a, onx_xv *out) {
    (void)a;
    onx_x_note(x, "padding is taken to be behind the elements of every sequence");
    *out = onx_xv_bool(x, true);
}

/* (self, padding, output_size) */
static void lower_to_padded(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_nn_tensor(x, &a[0]), *inside = a[0].tensor->inside;
    bool same = inside && onx_xv_is_list(&a[2]) && a[2].list->n == onx_x_rank(x, v);
    for (size_t i = 0; same && i < a[2].list->n; i++)
        same = a[2].list->v[i].kind == ONX_X_INT && a[2].list->v[i].sym == onx_x_dim(x, v, i);
    if (!same) {
        onx_x_fail(x, ONX_UNSUPPORTED, "a nested tensor padded to another size than it had");
        return;
    }
    for (size_t i = onx_x_rank(x, inside); i < a[2].list->n; i++)
        inside = onx_x_unsqueeze(x, inside, (int64_t)i);
    onx_x_give(x, out, onx_emit(x, "Where", inside, v, onx_x_scalar(x, &a[1], onx_x_dtype(x, v))));
}

#define QKV "(Tensor query, Tensor key, Tensor value, "
#define TWO " -> (Tensor, Tensor)"
#define FOUR " -> (Tensor, Tensor, Tensor, Tensor)"
#define NINE " -> (Tensor, Tensor, Tensor, Tensor, int, int, Tensor, Tensor, Tensor)"

const onx_aten onx_aten_attend[] = {
    {"scaled_dot_product_attention" QKV "Tensor? attn_mask=None, float dropout_p=0., "
     "bool is_causal=False, *, float? scale=None, bool enable_gqa=False)",
     lower_sdpa, NULL},
    {"_scaled_dot_product_attention_math" QKV "Tensor? attn_mask=None, float dropout_p=0., "
     "bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, "
     "bool enable_gqa=False)" TWO,
     lower_sdpa_math, NULL},
    {"_scaled_dot_product_flash_attention_for_cpu" QKV "float dropout_p=0., "
     "bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None)" TWO,
     lower_flash_cpu, NULL},
    {"_scaled_dot_product_flash_attention" QKV "float dropout_p=0., bool is_causal=False, "
     "bool return_debug_mask=False, *, float? scale=None)" NINE,
     lower_flash, NULL},
    {"_scaled_dot_product_efficient_attention" QKV "Tensor? attn_bias, "
     "bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, "
     "float? scale=None)" FOUR,
     lower_efficient, NULL},
    {"_scaled_dot_product_cudnn_attention" QKV "Tensor? attn_bias, bool compute_log_sumexp, "
     "float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, "
     "float? scale=None)" NINE,
     lower_cudnn, NULL},
    {"_scaled_dot_product_fused_attention_overrideable" QKV "Tensor? attn_bias=None, "
     "float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, "
     "float? scale=None)" NINE,
     lower_overrideable, NULL},
    {"_native_multi_head_attention" QKV "int embed_dim, int num_head, Tensor qkv_weight, "
     "Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, "
     "bool need_weights=True, bool average_attn_weights=True, int? mask_type=None)" TWO,
     lower_multi_head, NULL},
    {"_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, "
     "Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, "
     "bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, "
     "Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, "
     "Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None)",
     lower_encoder_layer, NULL},
    {"_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True)", lower_nested, NULL},
    {"_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool", lower_left_aligned,
     NULL},
    {"to_padded_tensor(Tensor self, float padding, int[]? output_size=None)", lower_to_padded,
     NULL},
    {.schema = NULL},
};
