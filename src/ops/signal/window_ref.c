/* window_ref.c: BlackmanWindow, HammingWindow, HannWindow, MelWeightMatrix: computed in double,
 * rounded once. */
#include "ops/signal/dft_ref.h"

#include <math.h>

typedef struct window_state {
    onx_dtype dtype;
    bool periodic;
    double a[3]; /* a[0] - a[1] cos(t) + a[2] cos(2t) */
} window_state;

static const struct {
    const char *op;
    double a[3];
} windows[] = {
    {"BlackmanWindow", {0.42, 0.5, 0.08}},
    {"HammingWindow", {25.0 / 46, 21.0 / 46, 0}},
    {"HannWindow", {0.5, 0.5, 0}},
};

static onx_status read_dtype(const onx_call *call, onx_dtype *out) {
    int64_t dtype = onx_call_int(call, "output_datatype");
    *out = dtype > 0 && dtype < ONX_DTYPE_COUNT ? (onx_dtype)dtype : ONX_DTYPE_NONE;
    if (dtype < 32 && dtype > 0 && (ONX_T_NUMBERS >> dtype & 1)) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "output_datatype %lld is not a type of numbers",
                         (long long)dtype);
}

onx_status onx_window_init(onx_call *call) {
    window_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    state->periodic = onx_call_int(call, "periodic") != 0;
    for (size_t i = 0; i < ONX_COUNT(windows); i++)
        if (strcmp(call->op->name, windows[i].op) == 0)
            memcpy(state->a, windows[i].a, sizeof state->a);
    return read_dtype(call, &state->dtype);
}

onx_status onx_window_bind(onx_call *call) {
    int64_t size = 0;
    ONX_TRY(onx_signal_number(call, 0, "size", &size));
    if (size < 0) return onx_call_fail(call, ONX_INVALID, "size is %lld", (long long)size);
    return onx_call_shape(call, 0, ((const window_state *)call->state)->dtype, 1, &size);
}

enum { BLOCK = 512, TASK = 16384 };

static onx_status window_task(void *user, onx_call *call, size_t task, void *scratch) {
    const window_state *state = call->state;
    const double circle = 6.283185307179586476925286766559;
    onx_operand *y = call->out[0];
    int64_t n = y->count, around = state->periodic ? n : n - 1, end = ((int64_t)task + 1) * TASK;
    double block[BLOCK];
    (void)user, (void)scratch;
    for (int64_t at = (int64_t)task * TASK; at < n && at < end; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        for (int64_t i = 0; i < count; i++) {
            double t = circle * (double)(at + i) / (double)around;
            block[i] = state->a[0] - state->a[1] * cos(t) + state->a[2] * cos(2 * t);
        }
        onx_operand_put(y, (size_t)at, (size_t)count, block);
    }
    return ONX_OK;
}

onx_status onx_window_run(onx_call *call) {
    return onx_call_parallel(call, (size_t)((call->out[0]->count + TASK - 1) / TASK), window_task,
                             NULL);
}

/* ── MelWeightMatrix ─────────────────────────────────────────────────────────────────────────── */

typedef struct mel_plan {
    int64_t bins, rows, length, rate;
} mel_plan;

onx_status onx_mel_init(onx_call *call) {
    onx_dtype *dtype = onx_call_state(call, sizeof *dtype);
    return dtype ? read_dtype(call, dtype) : onx_fail_nomem(call->diag);
}

onx_status onx_mel_bind(onx_call *call) {
    mel_plan *plan = call->plan;
    ONX_TRY(onx_signal_number(call, 0, "num_mel_bins", &plan->bins));
    ONX_TRY(onx_signal_number(call, 1, "dft_length", &plan->length));
    ONX_TRY(onx_signal_number(call, 2, "sample_rate", &plan->rate));
    if (plan->bins < 0 || plan->length < 1 || plan->rate < 1)
        return onx_call_fail(call, ONX_INVALID,
                             "%lld mel bins of a transform of %lld at a rate of %lld make no sense",
                             (long long)plan->bins, (long long)plan->length, (long long)plan->rate);
    plan->rows = plan->length / 2 + 1;
    return onx_call_shape(call, 0, *(const onx_dtype *)call->state, 2,
                          (int64_t[]){plan->rows, plan->bins});
}

static double mel_of(double hertz) {
    return 2595 * log10(1 + hertz / 700);
}

/* An edge in mel. */
static onx_status edge(const onx_call *call, size_t index, double *out) {
    const onx_operand *in = call->in[index];
    double hertz;
    if (in->count != 1)
        return onx_call_fail(call, ONX_INVALID, "input %zu is not one number", index);
    onx_operand_get(in, 0, 1, &hertz);
    if (!(hertz >= 0) || !isfinite(hertz))
        return onx_call_fail(call, ONX_INVALID, "an edge is at %g hertz", hertz);
    *out = mel_of(hertz);
    return ONX_OK;
}

typedef struct mel_scale {
    const mel_plan *plan;
    double low, step;
} mel_scale;

/* The row of the spectrum where band `i` begins. */
static double row_of(const mel_scale *s, int64_t i) {
    double hertz = 700 * (pow(10, (s->low + (double)i * s->step) / 2595) - 1);
    return floor((double)(s->plan->length + 1) * hertz / (double)s->plan->rate);
}

static void put(onx_operand *y, int64_t at, double value) {
    onx_operand_put(y, (size_t)at, 1, &value);
}

/* A triangle: up from row `left` to 1 at `peak`, down again to 0 at `right`. */
static void band(onx_operand *y, int64_t bins, int64_t i, int64_t left, int64_t peak,
                 int64_t right) {
    for (int64_t row = left; row < peak; row++)
        put(y, row * bins + i, (double)(row - left) / (double)(peak - left));
    put(y, peak * bins + i, 1);
    for (int64_t row = peak; row < right; row++)
        put(y, row * bins + i, (double)(right - row) / (double)(right - peak));
}

onx_status onx_mel_run(onx_call *call) {
    const mel_plan *plan = call->plan;
    onx_operand *y = call->out[0];
    mel_scale scale = {.plan = plan};
    double high = 0;
    ONX_TRY(edge(call, 3, &scale.low));
    ONX_TRY(edge(call, 4, &high));
    scale.step = (high - scale.low) / (double)(plan->bins + 2);
    if (y->bytes) memset(y->data, 0, y->bytes);
    for (int64_t i = 0; i < plan->bins; i++) {
        double left = row_of(&scale, i), peak = row_of(&scale, i + 1),
               right = row_of(&scale, i + 2);
        if (i % 1024 == 0) ONX_TRY(onx_call_check(call));
        if (!(left >= 0 && left <= peak && peak <= right) || peak >= (double)plan->rows ||
            right > (double)plan->rows)
            return onx_call_fail(call, ONX_INVALID,
                                 "mel bin %lld lies outside of a spectrum of %lld rows",
                                 (long long)i, (long long)plan->rows);
        band(y, plan->bins, i, (int64_t)left, (int64_t)peak, (int64_t)right);
    }
    return ONX_OK;
}
