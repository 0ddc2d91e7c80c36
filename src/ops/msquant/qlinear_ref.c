/* qlinear_ref.c: quantized tensors, element by element: QLinearAdd, QLinearMul, QLinearConcat and
 * QLinearSigmoid, as ONNX Runtime has them: plain kernels.
 *
 * All are of bytes with one scale and one zero point. What has one operand is a table of 256. */
#include "ops/eltwise/wide_ref.h"
#include "ops/msquant/msquant_ref.h"
#include "ops/view/move_ref.h"

#include <math.h>

enum { SPAN = 1024, TASK = 64 * SPAN };

static size_t tasks_of(int64_t count) {
    return (size_t)count / TASK + ((size_t)count % TASK != 0);
}

static onx_status check_single(const onx_call *call, const size_t *inputs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const onx_operand *param = onx_call_in(call, inputs[i]);
        if (param && !onx_param_single(param))
            return onx_call_fail(call, ONX_INVALID, "input %zu must be a scalar", inputs[i]);
    }
    return ONX_OK;
}

/* How bytes stand for numbers. */
typedef struct coding {
    double scale, zero;
} coding;
static coding coding_of(const onx_call *call, size_t scale) { /* its zero point comes after it */
    return (coding){onx_param_one(call->in[scale], 1),
                    onx_param_one(onx_call_in(call, scale + 1), 0)};
}

static double byte_value(onx_dtype dtype, uint8_t byte) {
    return dtype == ONX_DTYPE_I8 ? (double)((byte ^ 128) - 128) : (double)byte;
}

/* ── Two operands ────────────────────────────────────────────────────────────────────────────── */

onx_status onx_qbinary_bind(onx_call *call) {
    static const size_t params[] = {1, 2, 4, 5, 6, 7};
    onx_call view = *call;
    onx_operand *in[] = {call->in[0], call->in[3]};
    ONX_TRY(check_single(call, params, ONX_COUNT(params)));
    if (in[0]->dtype != in[1]->dtype)
        return onx_call_fail(call, ONX_INVALID, "A and B must have one type");
    view.in = in;
    view.n_in = 2;
    return onx_bind_broadcast(&view, (onx_dtype)in[0]->dtype);
}

/* Are all elements of y those of x again and again, each `times` times? */
static bool is_periodic(const onx_operand *x, const onx_operand *y, size_t *times) {
    size_t first = 0, end = x->rank, more = y->rank - (size_t)x->rank;
    while (first < end && x->dims[first] == 1) first++;
    for (*times = 1; end > first && x->dims[end - 1] == 1; end--)
        *times *= (size_t)y->dims[more + end - 1];
    for (size_t d = first; d < end; d++)
        if (x->dims[d] != y->dims[more + d]) return false;
    return true;
}

/* n bytes: those of `data`, a list of `period`, from number `at` on. */
static void repeat(const uint8_t *data, size_t period, size_t at, size_t n, uint8_t *to) {
    size_t left = period - at, done = left < n ? left : n;
    memcpy(to, data + at, done);
    for (; done < n && done < period; done++) to[done] = data[done - left];
    for (size_t more; done < n; done += more) {
        more = done / period * period;
        more = more < n - done ? more : n - done;
        memcpy(to + done, to + done % period, more);
    }
}

static void stretch(const uint8_t *data, size_t period, size_t times, size_t at, size_t n,
                    uint8_t *to) {
    for (size_t done = 0, more; done < n; done += more) {
        more = times - (at + done) % times;
        more = more < n - done ? more : n - done;
        memset(to + done, data[(at + done) / times % period], more);
    }
}

/* At most *n elements from `at` on, in place, or gathered in `room`; *n becomes as many as follow
 * one another. */
static const uint8_t *elements(const onx_operand *x, const onx_operand *y, int64_t at, size_t *n,
                               uint8_t room[SPAN]) {
    const uint8_t *data = x->data;
    size_t period = (size_t)x->count, times;
    if (!is_periodic(x, y, &times))
        onx_wide_gather(y, x, 0, at, *n, room);
    else if (times > 1)
        stretch(data, period, times, (size_t)at, *n, room);
    else if (period < SPAN)
        repeat(data, period, (size_t)at % period, *n, room);
    else {
        size_t left = period - (size_t)at % period;
        *n = *n < left ? *n : left;
        return data + (size_t)at % period;
    }
    return room;
}

static onx_status binary_task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_qbinary *j = user;
    const onx_operand *y = call->out[0], *a = call->in[0], *b = call->in[3];
    int64_t at = (int64_t)index * TASK, end = y->count - at < TASK ? y->count : at + TASK;
    uint8_t x[2][SPAN];
    (void)scratch;
    while (at < end) {
        size_t n = (size_t)(end - at < SPAN ? end - at : SPAN);
        const uint8_t *p = elements(a, y, at, &n, x[0]), *q = elements(b, y, at, &n, x[1]);
        j->span(j, n, p, q, (uint8_t *)y->data + at);
        at += (int64_t)n;
    }
    return ONX_OK;
}

/* Products and sums of floats, each rounded: the same bits from vectors. The zero point is added
 * before the sum is rounded to an integer, as ONNX Runtime does it. */
static void binary_span(const onx_qbinary *j, size_t n, const uint8_t *a, const uint8_t *b,
                        uint8_t *to) {
    const onx_range range = {(double)j->lo, (double)j->lo + 255, false};
    for (size_t i = 0; i < n; i++) {
        float p = (float)((a[i] ^ j->flip) - j->flip - j->a_zero);
        float q = (float)((b[i] ^ j->flip) - j->flip - j->b_zero);
        float sum = j->product ? p * q * j->by_a : p * j->by_a + q * j->by_b;
        to[i] = (uint8_t)(int)onx_range_round((double)(sum + (float)j->c_zero), 0, &range);
    }
}

onx_status onx_qbinary_run(onx_call *call, bool product, onx_qspan_fn *span) {
    coding a = coding_of(call, 1), b = coding_of(call, 4), c = coding_of(call, 6);
    bool is_signed = call->out[0]->dtype == ONX_DTYPE_I8;
    onx_qbinary j = {.span = span,
                     .product = product,
                     .a_zero = (int32_t)a.zero,
                     .b_zero = (int32_t)b.zero,
                     .c_zero = (int32_t)c.zero,
                     .flip = is_signed ? 128 : 0,
                     .lo = is_signed ? -128 : 0,
                     .by_a = (float)a.scale / (float)c.scale,
                     .by_b = (float)b.scale / (float)c.scale};
    if (product) j.by_a = (float)a.scale * (float)b.scale / (float)c.scale;
    return onx_call_parallel(call, tasks_of(call->out[0]->count), binary_task, &j);
}
onx_status onx_qadd_run(onx_call *call) {
    return onx_qbinary_run(call, false, binary_span);
}
onx_status onx_qmul_run(onx_call *call) {
    return onx_qbinary_run(call, true, binary_span);
}

/* ── Tables ──────────────────────────────────────────────────────────────────────────────────── */

static float same(float x) {
    return x;
}
static float sigmoid(float x) {
    return (float)(1 / (1 + exp(-(double)x)));
}

static void make_table(onx_dtype dtype, coding from, coding to, float (*f)(float),
                       uint8_t table[256]) {
    const onx_range range = onx_range_of(dtype);
    for (int i = 0; i < 256; i++) {
        float x = (float)(from.scale * (byte_value(dtype, (uint8_t)i) - from.zero));
        float y = f(x) / (float)to.scale;
        table[i] = (uint8_t)(int)onx_range_round((double)y, to.zero, &range);
    }
}

/* Bytes through a table, in rows of `row`, which are `to_row` apart in the result. A task is some
 * rows, or a part of one. */
typedef struct lookup {
    onx_look_fn *look;
    const uint8_t *from;
    uint8_t *to;
    size_t n_rows, row, to_row;
    size_t rows, parts;
    uint8_t table[256];
} lookup;

static onx_status look_task(void *user, onx_call *call, size_t index, void *scratch) {
    const lookup *j = user;
    size_t first = index / j->parts * j->rows, at = index % j->parts * TASK;
    size_t rows = j->n_rows - first < j->rows ? j->n_rows - first : j->rows;
    (void)call, (void)scratch;
    j->look(j->table, rows, j->row - at < TASK ? j->row - at : TASK, j->from + first * j->row + at,
            j->to + first * j->to_row + at, j->to_row);
    return ONX_OK;
}

static onx_status look_up(onx_call *call, lookup *j) {
    j->parts = (j->row - 1) / TASK + 1;
    j->rows = j->parts > 1 ? 1 : TASK / j->row;
    return onx_call_parallel(call, ((j->n_rows - 1) / j->rows + 1) * j->parts, look_task, j);
}

onx_status onx_qsigmoid_bind(onx_call *call) {
    static const size_t params[] = {1, 2, 3, 4};
    ONX_TRY(check_single(call, params, ONX_COUNT(params)));
    return onx_bind_same(call);
}

onx_status onx_qsigmoid_run_with(onx_call *call, onx_look_fn *look) {
    const onx_operand *x = call->in[0];
    lookup j = {.look = look, .from = x->data, .to = call->out[0]->data, .n_rows = 1};
    if (!x->count) return ONX_OK;
    j.row = (size_t)x->count;
    make_table((onx_dtype)x->dtype, coding_of(call, 1), coding_of(call, 3), sigmoid, j.table);
    return look_up(call, &j);
}
onx_status onx_qsigmoid_run(onx_call *call) {
    return onx_qsigmoid_run_with(call, onx_look);
}

/* ── QLinearConcat ───────────────────────────────────────────────────────────────────────────── */

enum { FIRST = 2, EACH = 3 }; /* inputs of the result, then those of each tensor */

onx_status onx_qconcat_init(onx_call *call) {
    int64_t *axis = onx_call_state(call, sizeof *axis);
    if (!axis) return onx_fail_nomem(call->diag);
    *axis = onx_call_int(call, "axis");
    if (call->n_in < FIRST + EACH || (call->n_in - FIRST) % EACH)
        return onx_call_fail(call, ONX_INVALID,
                             "%zu inputs are not 2 for the result and 3 for each tensor",
                             call->n_in);
    return ONX_OK;
}

/* A tensor of the type of the result, its scale and its zero point. */
static onx_status check_part(const onx_call *call, size_t index) {
    const onx_operand *x = call->in[index], *scale = call->in[index + 1];
    const onx_operand *zero = call->in[index + 2], *first = call->in[FIRST];
    uint8_t dtype = call->in[1]->dtype;
    if (!x || !scale || x->dtype != dtype || (zero && zero->dtype != dtype) ||
        scale->dtype != ONX_DTYPE_F32)
        return onx_call_fail(call, ONX_INVALID,
                             "inputs %zu to %zu must be a tensor of %s, a scale and a zero point",
                             index, index + 2, onx_dtype_name((onx_dtype)dtype));
    if (x->rank != first->rank)
        return onx_call_fail(call, ONX_INVALID, "input %zu has %u dimensions, input %d has %u",
                             index, (unsigned)x->rank, FIRST, (unsigned)first->rank);
    return check_single(call, (size_t[]){index + 1, index + 2}, 2);
}

onx_status onx_qconcat_bind(onx_call *call) {
    const onx_operand *first = call->in[FIRST];
    int64_t dims[ONX_RANK_MAX];
    size_t axis;
    ONX_TRY(check_single(call, (size_t[]){0, 1}, 2));
    for (size_t i = FIRST; i < call->n_in; i += EACH) ONX_TRY(check_part(call, i));
    ONX_TRY(onx_axis_of(call, *(const int64_t *)call->state, first->rank, &axis));
    memcpy(dims, first->dims, sizeof dims);
    dims[axis] = 0;
    for (size_t i = FIRST; i < call->n_in; i += EACH) {
        const onx_operand *x = call->in[i];
        for (size_t d = 0; d < x->rank; d++)
            if (d != axis && x->dims[d] != dims[d])
                return onx_call_fail(call, ONX_INVALID,
                                     "dimension %zu of input %zu is %lld, not %lld", d, i,
                                     (long long)x->dims[d], (long long)dims[d]);
        if (!onx_add_i64(dims[axis], x->dims[axis], &dims[axis]))
            return onx_call_fail(call, ONX_INVALID, "the result is too large");
    }
    return onx_call_shape(call, 0, (onx_dtype)call->in[1]->dtype, first->rank, dims);
}

onx_status onx_qconcat_run_with(onx_call *call, onx_look_fn *look) {
    const onx_operand *y = call->out[0];
    const coding to = coding_of(call, 0);
    size_t axis = 0;
    if (!y->count) return ONX_OK;
    (void)onx_axis(*(const int64_t *)call->state, y->rank, &axis);
    lookup j = {.look = look, .to = y->data, .to_row = (size_t)onx_inner_count(y, axis)};
    for (size_t i = FIRST; i < call->n_in; i += EACH) {
        const onx_operand *x = call->in[i];
        if (!x->count) continue;
        j.from = x->data;
        j.row = (size_t)onx_inner_count(x, axis);
        j.n_rows = (size_t)x->count / j.row;
        make_table((onx_dtype)x->dtype, coding_of(call, i + 1), to, same, j.table);
        ONX_TRY(look_up(call, &j));
        j.to += j.row;
    }
    return ONX_OK;
}
onx_status onx_qconcat_run(onx_call *call) {
    return onx_qconcat_run_with(call, onx_look);
}
