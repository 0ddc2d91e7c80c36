/* qconv_ref.c: convolutions of quantized tensors: ConvInteger and QLinearConv, and QConvInteger and
 * QConv, whose images have their channels last: plain kernels, for any number of dimensions.
 *
 * Terms of the weights are made first, channel after channel. Then each task takes some pixels of
 * one image: what their windows see becomes rows of terms, zero in the padding, and each output is
 * a product of two rows that lie together in memory. */
#include "ops/quant/product_ref.h"

enum {
    PIXELS = 16, /* of a task */
    OUTSIDE = -1,
};

onx_status onx_qconv_init(onx_call *call) {
    onx_qstate *st = onx_qstate_new(call);
    onx_qview view;
    if (!st) return onx_fail_nomem(call->diag);
    st->channels_last = strncmp(call->op->name, "QConv", 5) == 0;
    onx_qview_of(call, &view);
    view.call.state = NULL;
    ONX_TRY(onx_conv_init(&view.call));
    st->conv = view.call.state;
    return ONX_OK;
}

/* Scales and zero points of the weights may be one for each output channel. */
static onx_status check_params(const onx_call *call, const onx_qins *in) {
    const onx_operand *params[] = {in->b_scale, in->b_zero};
    if ((in->a_scale && !onx_param_single(in->a_scale)) ||
        (in->a_zero && !onx_param_single(in->a_zero)))
        return onx_call_fail(call, ONX_INVALID, "scale and zero point of x must be scalars");
    for (size_t i = 0; i < ONX_COUNT(params); i++)
        if (params[i] && !onx_param_single(params[i]) &&
            (params[i]->rank != 1 || params[i]->dims[0] != in->b->dims[0]))
            return onx_call_fail(call, ONX_INVALID,
                                 "scale and zero point of w must be scalars, or lists of %lld, one "
                                 "for each output channel",
                                 (long long)in->b->dims[0]);
    return onx_qins_check(call, in);
}

/* Factors of the channels. For each worker: where the taps of its pixels are, and rows of terms. */
static onx_status bind_scratch(onx_call *call, const onx_images *m, const onx_operand *w) {
    size_t factors, taps, terms;
    ONX_TRY(onx_product_scratch(call, (size_t)w->count));
    if (onx_mul_size((size_t)w->dims[0], sizeof(double), &factors) &&
        onx_add_size(call->scratch_bytes, factors, &call->scratch_bytes) &&
        onx_mul_size(m->taps, PIXELS * sizeof(int64_t), &taps) &&
        onx_mul_size(m->taps, PIXELS * sizeof(int16_t), &terms) &&
        onx_mul_size(terms, m->ic, &terms) && onx_add_size(taps, terms, &call->scratch_each))
        return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

/* Channels that are last go before the pixels, and the other way round. */
static void move_channels(onx_operand *x, bool back) {
    int64_t *dims = x->dims, channels = dims[back ? 1 : x->rank - 1];
    size_t n = (x->rank - 2u) * sizeof *dims;
    memmove(dims + (back ? 1 : 2), dims + (back ? 2 : 1), n);
    dims[back ? x->rank - 1 : 1] = channels;
}

onx_status onx_qconv_bind(onx_call *call) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    bool moves = st->channels_last && in.a->rank > 2;
    onx_operand x = *in.a, y = *call->out[0], *out = &y;
    onx_qview view;
    onx_qview_of(call, &view);
    view.in[0] = &x;
    view.call.out = &out;
    view.call.n_out = 1;
    view.call.state = st->conv;
    if (moves) move_channels(&x, false);
    ONX_TRY(onx_conv_bind(&view.call, call->plan));
    if (moves) move_channels(&y, true);
    ONX_TRY(check_params(call, &in));
    ONX_TRY(bind_scratch(call, call->plan, in.b));
    onx_dtype dtype = in.y_zero ? (onx_dtype)in.y_zero->dtype : ONX_DTYPE_I32;
    return onx_call_shape(call, 0, dtype, y.rank, y.dims);
}

/* ── Products ────────────────────────────────────────────────────────────────────────────────── */

typedef struct job {
    onx_product product;
    const onx_images *images;
    size_t depth;              /* elements of a row: ic * taps */
    size_t channels;           /* of the output */
    size_t tiles;              /* of one image */
    size_t each;               /* channels of weights in a task */
    size_t x_channel, x_pixel; /* from one to the next */
    bool last;                 /* channels are last */
    double *factors;           /* of the channels */
    int16_t *weights;
} job;

static onx_status task_weights(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_product *q = &j->product;
    size_t first = index * j->each;
    size_t end = j->channels - first < j->each ? j->channels : first + j->each;
    (void)call, (void)scratch;
    for (size_t c = first; j->depth && c < end; c++)
        onx_product_terms(q, 1, (const uint8_t *)q->in.b->data + c * j->depth, 1, j->depth,
                          q->b_zero ? q->b_zero[c % q->n_b_zero] : 0, j->weights + c * j->depth);
    return ONX_OK;
}

/* Where each tap of n pixels is: [tap][n]. */
static void place_taps(const onx_images *m, size_t first, size_t n, int64_t *at) {
    for (size_t tap = 0; tap < m->taps; tap++)
        for (size_t i = 0; i < n; i++) {
            size_t in;
            at[tap * n + i] = onx_images_at(m, first + i, tap, &in) ? (int64_t)in : OUTSIDE;
        }
}

/* Rows of terms, one for each of n pixels, from the channels of one group. */
static void make_rows(const job *j, const uint8_t *x, size_t n, const int64_t *at, int16_t *rows) {
    const onx_images *m = j->images;
    bool is_signed = j->product.in.a->dtype == ONX_DTYPE_I8;
    int flip = is_signed ? 128 : 0, zero = j->product.a_zero ? (int)j->product.a_zero[0] : 0;
    for (size_t c = 0; c < m->ic; c++, x += j->x_channel)
        for (size_t tap = 0; tap < m->taps; tap++) {
            const int64_t *from = at + tap * n;
            int16_t *to = rows + c * m->taps + tap;
            for (size_t i = 0; i < n; i++)
                to[i * j->depth] =
                    from[i] == OUTSIDE
                        ? 0
                        : (int16_t)((x[(size_t)from[i] * j->x_pixel] ^ flip) - flip - zero);
        }
}

static uint32_t bias_at(const onx_operand *bias, size_t channel) {
    uint32_t value = 0;
    if (bias) memcpy(&value, (const char *)bias->data + channel * sizeof value, sizeof value);
    return value;
}

/* n pixels of one output channel. */
static void make_channel(const job *j, size_t channel, size_t n, const int16_t *rows, char *to) {
    const onx_product *q = &j->product;
    double sums[PIXELS];
    uint32_t bias = bias_at(q->in.bias, channel);
    onx_product_dots(q, j->weights + channel * j->depth, rows, n, j->depth, sums);
    for (size_t i = 0; bias && i < n; i++)
        sums[i] = (double)(int32_t)((uint32_t)(int32_t)sums[i] + bias);
    onx_product_end(q, n, sums, j->factors + channel, 0, NULL, to);
}

static onx_status task_pixels(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_images *m = j->images;
    size_t image = index / j->tiles, first = index % j->tiles * PIXELS;
    size_t n = m->out_pixels - first < PIXELS ? m->out_pixels - first : PIXELS;
    size_t bytes = onx_dtype_bits(j->product.dtype) / 8;
    int64_t *at = scratch;
    int16_t *rows = (int16_t *)(at + PIXELS * m->taps);
    static const uint8_t nothing[1];
    const uint8_t *x = j->product.in.a->count ? j->product.in.a->data : nothing;
    char *y = call->out[0]->data;
    place_taps(m, first, n, at);
    for (size_t g = 0; g < m->groups; g++) {
        make_rows(j, x + image * m->groups * m->ic * m->in_pixels + g * m->ic * j->x_channel, n, at,
                  rows);
        for (size_t c = g * m->oc; c < (g + 1) * m->oc; c++) {
            if (onx_call_stopped(call)) return ONX_CANCELLED;
            char *to = y + ((image * j->channels + c) * m->out_pixels + first) * bytes;
            char few[PIXELS * sizeof(int32_t)];
            make_channel(j, c, n, rows, j->last ? few : to);
            for (size_t i = 0; j->last && i < n; i++)
                memcpy(y + ((image * m->out_pixels + first + i) * j->channels + c) * bytes,
                       few + i * bytes, bytes);
        }
    }
    return ONX_OK;
}

onx_status onx_qconv_run_with(onx_call *call, onx_dots_fn *dots) {
    const onx_images *m = call->plan;
    char *scratch = call->scratch;
    job j = {.images = m, .depth = m->ic * m->taps, .channels = m->groups * m->oc};
    j.last = ((const onx_qstate *)call->state)->channels_last;
    j.x_channel = j.last ? 1 : m->in_pixels;
    j.x_pixel = j.last ? m->groups * m->ic : 1;
    if (!call->out[0]->count) return ONX_OK;
    onx_product_begin(call, dots, &j.product, &scratch);
    j.factors = (double *)(void *)scratch;
    j.weights = (int16_t *)(void *)(j.factors + j.channels);
    onx_product_factors(&j.product, 0, 0, j.channels, j.factors);
    j.each = ((size_t)1 << 17) / (j.depth + 1) + 1;
    j.tiles = (m->out_pixels - 1) / PIXELS + 1;
    ONX_TRY(onx_call_parallel(call, (j.channels - 1) / j.each + 1, task_weights, &j));
    return onx_call_parallel(call, m->batch * j.tiles, task_pixels, &j);
}

onx_status onx_qconv_run(onx_call *call) {
    return onx_qconv_run_with(call, onx_dots_plain);
}
