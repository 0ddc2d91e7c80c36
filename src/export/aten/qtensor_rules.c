/* qtensor_rules.c: operators of plain tensors, given quantized ones.
 *
 * What moves or chooses elements does so with the integers. What computes is given the numbers, and
 * what comes out is quantized in the way of the input, or in the one way that PyTorch has for the
 * function. Others do not take quantized tensors, in PyTorch either. */
#include "export/aten.h"
#include "export/aten/qtensor.h"

typedef enum rule {
    NONE,
    OWN,       /* the lowering knows of quantized tensors */
    MOVES,     /* integers as they are, coded alike in the end */
    SAME,      /* numbers, quantized again as the first argument is */
    UNIT,      /* numbers in 0 … 1 */
    SYMMETRIC, /* numbers in -1 … 1 */
    PLAIN,     /* numbers, and no quantized result */
} rule;

static const struct {
    rule rule;
    const char *names; /* each between spaces */
} rules[] = {
    {OWN, " dequantize int_repr q_scale q_zero_point q_per_channel_scales q_per_channel_axis lstm "
          "gru lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell "},
    {MOVES,
     " alias as_strided chunk clone contiguous cpu detach detach_ expand expand_as flatten flip "
     "index index_select max_pool1d max_pool2d max_pool3d movedim narrow permute pixel_shuffle "
     "pixel_unshuffle quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d "
     "channel_shuffle native_channel_shuffle reflection_pad1d reflection_pad2d "
     "replication_pad1d replication_pad2d repeat reshape reshape_as roll select size slice split "
     "split_with_sizes squeeze stack swapaxes t tensor_split to transpose unbind unflatten "
     "unsafe_chunk unsafe_split unsqueeze upsample_nearest1d upsample_nearest2d "
     "upsample_nearest3d view view_as dim numel len dropout dropout_ feature_dropout max min sort "
     "topk argmax "},
    {SAME,
     " adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d avg_pool1d avg_pool2d "
     "avg_pool3d cat clamp clamp_max clamp_min constant_pad_nd elu gelu hardtanh leaky_relu mean "
     "masked_fill pad relu relu6 std threshold upsample_bilinear2d upsample_trilinear3d "
     "upsample_linear1d _adaptive_avg_pool2d _adaptive_avg_pool3d "},
    {UNIT, " sigmoid hardsigmoid "},
    {SYMMETRIC, " tanh "},
    {PLAIN, " eq ne lt le gt ge equal "},
};

static rule rule_of(onx_str name) {
    static const char space[] = "quantized::";
    if (name.size > sizeof space && !memcmp(name.data, space, sizeof space - 1)) return OWN;
    for (size_t i = 0; i < ONX_COUNT(rules); i++)
        if (onx_aten_among(rules[i].names, name)) return rules[i].rule;
    return NONE;
}

bool onx_quant_among(size_t n, const onx_xv *args) {
    for (size_t i = 0; i < n; i++) {
        if (onx_xv_quant(&args[i])) return true;
        for (size_t k = 0; onx_xv_is_list(&args[i]) && k < args[i].list->n; k++)
            if (onx_xv_quant(&args[i].list->v[k])) return true;
    }
    return false;
}

/* The first argument's, or that of the first of the list that it is. */
static const onx_xquant *leader(const onx_xv *args) {
    const onx_xv *v = args;
    if (onx_xv_is_list(v) && v->list->n) v = v->list->v;
    return onx_xv_quant(v);
}

/* Are all tensors of a list coded alike? Constants are made once. */
static bool is_uniform(const onx_xv *list, const onx_xquant *q) {
    for (size_t i = 0; i < list->list->n; i++) {
        const onx_xquant *other = onx_xv_quant(&list->list->v[i]);
        if (!other || other->scale != q->scale || other->zero != q->zero || other->axis >= 0)
            return false;
    }
    return true;
}

/* ─ In and out ───────────────────────────────────────────────────────────────────────────────── */

static onx_xv plain_list(onx_export *x, const onx_xv *v) {
    onx_xv all = onx_xv_list(x, v->kind, 0, NULL);
    for (size_t i = 0; i < v->list->n && onx_x_ok(x); i++)
        onx_xlist_add(x, all.list, onx_quant_plain(x, &v->list->v[i]));
    return all;
}

/* New arguments: who called may yet write to the first. */
static onx_xv *dequantize_all(onx_export *x, size_t n, const onx_xv *args) {
    onx_xv *plain = onx_x_array(x, n + 1, sizeof *plain);
    for (size_t i = 0; plain && i < n && onx_x_ok(x); i++) {
        bool list = onx_xv_is_list(&args[i]);
        plain[i] = list ? plain_list(x, &args[i]) : onx_quant_plain(x, &args[i]);
    }
    return onx_x_ok(x) ? plain : NULL;
}

/* Results that are integers of the type are coded by q; positions that a sort gives are not. */
static void mark(onx_export *x, const onx_xquant *q, const onx_xv *out) {
    if (out->kind == ONX_X_TENSOR && onx_x_dtype(x, out->tensor->value) == q->dtype)
        out->tensor->quant = q;
    for (size_t i = 0; onx_xv_is_list(out) && i < out->list->n; i++) mark(x, q, &out->list->v[i]);
}

/* Along an axis, what moves elements moves scales with them: only a copy does not. */
static bool keeps_axes(onx_str name) {
    return onx_aten_among(" alias clone contiguous cpu detach size dim numel to ", name);
}

static void move(onx_export *x, const onx_xschema *s, const onx_xv *args, onx_xv *out) {
    const onx_xquant *q = leader(args);
    if (!q || (q->axis >= 0 && !keeps_axes(s->name))) {
        onx_x_fail(x, ONX_UNSUPPORTED, "a tensor that is quantized along an axis is moved");
        onx_x_hint(x, "dequantize it first");
        return;
    }
    s->row->lower(x, args, out);
    for (size_t i = 0; i < s->n_outs && onx_x_ok(x); i++) mark(x, q, &out[i]);
}

static void compute(onx_export *x, const onx_xschema *s, const onx_xquant *q, const onx_xv *args,
                    onx_xv *out) {
    const onx_xv *plain = dequantize_all(x, s->n_params, args);
    if (plain) s->row->lower(x, plain, out);
    if (!q || out->kind != ONX_X_TENSOR || !onx_x_ok(x)) return;
    *out = onx_xv_quantized(x, q, onx_quantize(x, q, onx_xv_value(x, out)));
}

/* Numbers in low … low + span, in 256 steps. */
static void compute_span(onx_export *x, const onx_xschema *s, double low, double span,
                         const onx_xv *args, onx_xv *out) {
    const onx_xquant *from = leader(args);
    onx_xquant q;
    if (!from) return;
    int64_t least = from->dtype == ONX_DTYPE_I8 ? -128 : 0;
    onx_xv scale = onx_xv_float(span / 256);
    onx_xv zero = onx_xv_int(x, least - (int64_t)(low * 256 / span));
    if (onx_quant_read(x, &q, &scale, &zero, -1, from->dtype)) compute(x, s, &q, args, out);
}

void onx_quant_lower(onx_export *x, const onx_xschema *s, const onx_xv *args, onx_xv *out) {
    rule r = rule_of(s->name);
    bool joins = r == SAME && onx_str_is(s->name, "cat") && leader(args);
    if (joins && is_uniform(&args[0], leader(args))) r = MOVES;
    switch (r) {
    case OWN: s->row->lower(x, args, out); break;
    case MOVES: move(x, s, args, out); break;
    case SAME: compute(x, s, leader(args), args, out); break;
    case UNIT: compute_span(x, s, 0, 1, args, out); break;
    case SYMMETRIC: compute_span(x, s, -1, 2, args, out); break;
    case PLAIN: compute(x, s, NULL, args, out); break;
    default:
        onx_x_fail(x, ONX_UNSUPPORTED, "'%.*s' of a quantized tensor", ONX_FMT(s->name));
        onx_x_hint(x, "dequantize it first, or put a DeQuantStub before and a QuantStub after it");
    }
}
