/* col2im_ref.c: Col2Im: blocks added to an image where they lie, for any number of dimensions, one
 * row of the image at a time. Floats are added in double, integers and bools in their low bits;
 * complex numbers are two floats each. The sum of strings is all of them in a row. */
#include "ops/spread/spread_ref.h"
#include "ops/view/move_ref.h"
#include "rt/object.h"

typedef struct col2im_state {
    onx_window window;
} col2im_state;

typedef struct col2im_plan {
    onx_spread spread;
    size_t channels, parts; /* parts: of an element */
} col2im_plan;

onx_status onx_col2im_init(onx_call *call) {
    col2im_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    call->plan_bytes = sizeof(col2im_plan);
    return onx_window_read(call->op, call->node, &state->window, call->diag);
}

/* ── Sizes ── */

static onx_status place(onx_call *call, const onx_ints *image, const onx_ints *block,
                        onx_spread *s) {
    onx_window w = ((const col2im_state *)call->state)->window;
    onx_span span;
    if (image->n != block->n)
        return onx_call_fail(call, ONX_INVALID,
                             "image_shape has %zu elements, block_shape %zu: they must be as many",
                             image->n, block->n);
    ONX_TRY(onx_window_fit(&w, image->n + 2, call->diag));
    s->axes = w.axes;
    for (size_t i = 0; i < w.axes; i++) {
        if (image->v[i] < 0)
            return onx_call_fail(call, ONX_INVALID, "image_shape has the element %lld",
                                 (long long)image->v[i]);
        ONX_TRY(onx_window_size(&w, i, block->v[i], call->diag));
        ONX_TRY(onx_window_span(&w, i, image->v[i], &span, call->diag));
        s->in[i] = (size_t)span.out;
        s->out[i] = (size_t)image->v[i];
        s->kernel[i] = (size_t)w.kernel[i];
        s->stride[i] = (size_t)w.stride[i];
        s->dilation[i] = (size_t)w.dilation[i];
        s->before[i] = span.before;
    }
    if (onx_spread_count(s)) return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "an image is too large to count its elements");
}

static size_t parts_of(onx_dtype dtype) {
    return dtype == ONX_DTYPE_C64 || dtype == ONX_DTYPE_C128 ? 2 : 1;
}

static onx_status check_input(const onx_call *call, const onx_spread *s) {
    const onx_operand *x = call->in[0];
    if (x->rank != 3)
        return onx_call_fail(call, ONX_INVALID, "the input has rank %u, not 3", (unsigned)x->rank);
    if ((uint64_t)x->dims[1] % s->taps)
        return onx_call_fail(call, ONX_INVALID,
                             "dimension 1 of the input, %lld, does not divide into blocks of %zu "
                             "elements",
                             (long long)x->dims[1], s->taps);
    if ((uint64_t)x->dims[2] != s->in_pixels)
        return onx_call_fail(call, ONX_INVALID, "the input has %lld blocks; the image takes %zu",
                             (long long)x->dims[2], s->in_pixels);
    return ONX_OK;
}

onx_status onx_col2im_bind(onx_call *call) {
    const onx_operand *x = call->in[0];
    col2im_plan *plan = call->plan;
    onx_ints image, block;
    int64_t dims[ONX_RANK_MAX];
    *plan = (col2im_plan){.parts = parts_of((onx_dtype)x->dtype)};
    ONX_TRY(onx_ints_input(call, 1, &image));
    ONX_TRY(onx_ints_input(call, 2, &block));
    ONX_TRY(place(call, &image, &block, &plan->spread));
    ONX_TRY(check_input(call, &plan->spread));
    plan->channels = (size_t)x->dims[1] / plan->spread.taps;
    dims[0] = x->dims[0];
    dims[1] = (int64_t)plan->channels;
    for (size_t i = 0; i < image.n; i++) dims[i + 2] = image.v[i];
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)x->dtype, image.n + 2, dims));
    size_t last = plan->spread.axes - 1, wide = 8 * plan->parts;
    if (onx_mul_size(plan->spread.out[last] + plan->spread.in[last], wide, &call->scratch_each))
        return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

/* ── One row ── */

typedef struct job {
    const col2im_plan *plan;
    onx_dtype dtype, wide; /* of the parts of elements; what they are added in */
    size_t size;           /* bytes of a part */
    size_t rows, per_task;
} job;

/* sum[i * stride] += x[i]; 8 bytes each. */
static void add_run(bool is_float, const void *x, size_t n, size_t parts, void *sum,
                    size_t stride) {
    const double *from = x;
    const uint64_t *bits = x;
    double *to = sum;
    uint64_t *to_bits = sum;
    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < parts; p++)
            if (is_float)
                to[i * stride * parts + p] += from[i * parts + p];
            else
                to_bits[i * stride * parts + p] += bits[i * parts + p];
}

/* The same from floats as they lie. */
static void add_floats(const char *x, size_t n, double *sum, size_t stride) {
    float v;
    for (size_t i = 0; i < n && stride == 1; i++) {
        memcpy(&v, x + i * sizeof v, sizeof v);
        sum[i] += (double)v;
    }
    for (size_t i = 0; i < n && stride > 1; i++) {
        memcpy(&v, x + i * sizeof v, sizeof v);
        sum[i * stride] += (double)v;
    }
}

/* The first element that tap k brings to a row, after `tap` of the axes before the last has named
 * row `at` of the elements. */
static size_t first_element(const onx_spread *s, size_t plane, size_t tap, size_t k, size_t at) {
    size_t last = s->axes - 1;
    return (plane * s->taps + tap * s->kernel[last] + k) * s->in_pixels + at * s->in[last];
}

static void make_row(const onx_call *call, const job *j, size_t plane, size_t row, char *sum) {
    const onx_spread *s = &j->plan->spread;
    size_t last = s->axes - 1, width = s->out[last], parts = j->plan->parts, at;
    char *run_of = sum + width * parts * 8;
    memset(sum, 0, width * parts * 8); /* 0 in either type */
    for (size_t tap = 0; tap < s->row_taps && s->in_pixels; tap++) {
        if (!onx_spread_row(s, row, tap, &at)) continue;
        for (size_t k = 0; k < s->kernel[last]; k++) {
            const onx_spread_run run = onx_spread_run_of(s, k);
            size_t from = first_element(s, plane, tap, k, at) + run.first;
            const char *x = (const char *)call->in[0]->data + from * parts * j->size;
            if (!run.n) continue;
            if (j->dtype == ONX_DTYPE_F32 && parts == 1) {
                add_floats(x, run.n, (double *)(void *)sum + run.to, s->stride[last]);
                continue;
            }
            (void)onx_dtype_convert(j->dtype, x, j->wide, run_of, run.n * parts, false);
            add_run(j->wide == ONX_DTYPE_F64, run_of, run.n, parts, sum + run.to * parts * 8,
                    s->stride[last]);
        }
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_spread *s = &j->plan->spread;
    size_t n = s->out[s->axes - 1] * j->plan->parts, first = index * j->per_task;
    size_t last = j->rows - first < j->per_task ? j->rows : first + j->per_task;
    for (size_t r = first; r < last; r++) {
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        make_row(call, j, r / s->rows, r % s->rows, scratch);
        (void)onx_dtype_convert(j->wide, scratch, j->dtype,
                                (char *)call->out[0]->data + r * n * j->size, n, false);
    }
    return ONX_OK;
}

onx_status onx_col2im_run(onx_call *call) {
    const col2im_plan *plan = call->plan;
    const onx_spread *s = &plan->spread;
    job j = {.plan = plan, .dtype = (onx_dtype)call->in[0]->dtype, .wide = ONX_DTYPE_F64};
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    if (plan->parts == 2) j.dtype = j.dtype == ONX_DTYPE_C64 ? ONX_DTYPE_F32 : ONX_DTYPE_F64;
    if ((ONX_T_INTS | ONX_T(BOOL)) >> j.dtype & 1) j.wide = ONX_DTYPE_I64;
    j.size = onx_dtype_bits(j.dtype) / 8;
    j.rows = (size_t)call->out[0]->count / s->out[s->axes - 1];
    j.per_task = ((size_t)1 << 14) / (s->row_taps + s->taps * s->in[s->axes - 1] + 1) + 1;
    return onx_call_parallel(call, (j.rows + j.per_task - 1) / j.per_task, task, &j);
}

/* ── Strings ── */

static onx_status append(onx_object *to, int64_t at, onx_str more, onx_diag *diag) {
    onx_buf both;
    if (!to->strings[at].size) return onx_object_set_string(to, at, more, diag);
    onx_buf_init(&both, to->ctx);
    onx_buf_put(&both, to->strings[at].data, to->strings[at].size);
    onx_buf_put(&both, more.data, more.size);
    onx_status status = both.failed
                            ? onx_fail_nomem(diag)
                            : onx_object_set_string(to, at, (onx_str){both.data, both.size}, diag);
    onx_buf_fini(&both);
    return status;
}

/* As make_row, into the row of `to` that begins at `first`. */
static onx_status join_row(const onx_call *call, size_t plane, size_t row, onx_object *to,
                           size_t first) {
    const onx_spread *s = &((const col2im_plan *)call->plan)->spread;
    const onx_str *strings = call->in[0]->object->strings;
    size_t last = s->axes - 1, at;
    for (size_t tap = 0; tap < s->row_taps && s->in_pixels; tap++) {
        if (!onx_spread_row(s, row, tap, &at)) continue;
        for (size_t k = 0; k < s->kernel[last]; k++) {
            const onx_spread_run run = onx_spread_run_of(s, k);
            size_t from = first_element(s, plane, tap, k, at) + run.first;
            for (size_t i = 0; i < run.n; i++)
                ONX_TRY(append(to, (int64_t)(first + run.to + i * s->stride[last]),
                               strings[from + i], call->diag));
        }
    }
    return ONX_OK;
}

onx_status onx_col2im_run_strings(onx_call *call) {
    const onx_spread *s = &((const col2im_plan *)call->plan)->spread;
    const onx_operand *out = call->out[0];
    onx_object *to = NULL;
    onx_status status = ONX_OK;
    ONX_TRY(onx_object_tensor(call->ctx, ONX_DTYPE_STRING, out->rank, out->dims, &to, call->diag));
    size_t width = s->out[s->axes - 1], rows = to->count ? (size_t)to->count / width : 0;
    for (size_t r = 0; r < rows && !status; r++) {
        status = onx_call_check(call);
        if (!status) status = join_row(call, r / s->rows, r % s->rows, to, r * width);
    }
    if (!status) return onx_call_object(call, 0, to);
    onx_object_release(to);
    return status;
}
