/* dft_ref.c: DFT and STFT: spectra of lines, computed in double and rounded once (complex signals
 * of narrower types: see fft_ref.h).
 *
 *     input    [outer][room][inner][parts]      STFT: [batch][room][parts], and inner is 1
 *     output   [outer][bins][inner][out_parts]  STFT: [batch][frames][bins][2]
 *
 * Scratch: what the transforms share, a line to prepare that, then the elements of inputs that have
 * to be widened. */
#include "ops/signal/dft_ref.h"

onx_status onx_dft_init(onx_call *call) {
    onx_dft_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    *state = (onx_dft_state){onx_call_int(call, "axis"), onx_call_int(call, "inverse") != 0,
                             onx_call_int(call, "onesided") != 0};
    return ONX_OK;
}

onx_status onx_signal_number(const onx_call *call, size_t index, const char *name, int64_t *out) {
    const onx_operand *in = onx_call_in(call, index);
    if (!in || in->count != 1 || in->rank > 1)
        return onx_call_fail(call, ONX_INVALID, "%s is not one number", name);
    *out = onx_operand_int(in, 0);
    return ONX_OK;
}

const onx_operand *onx_dft_window(const onx_call *call) {
    return strcmp(call->op->name, "STFT") == 0 ? onx_call_in(call, 2) : NULL;
}

/* Scratch for lines of plan->n, and for inputs that are widened. */
static onx_status bind_scratch(onx_call *call, const onx_dft_plan *plan) {
    const onx_operand *window = onx_dft_window(call);
    size_t shared = 0, each = 0;
    bool fits = plan->n == 0 || onx_fft_bytes((size_t)plan->n, &shared, &each);
    fits = fits && onx_add_size(shared, each, &shared) && onx_wide_bytes(call->in[0], &shared);
    if (!fits || (window && !onx_wide_bytes(window, &shared)))
        return onx_call_fail(call, ONX_LIMIT, "a transform of %lld numbers is too large",
                             (long long)plan->n);
    call->scratch_bytes = shared;
    call->scratch_each = each;
    return ONX_OK;
}

/* ── DFT ─────────────────────────────────────────────────────────────────────────────────────── */

static onx_status dft_axis(const onx_call *call, size_t rank, size_t *axis) {
    int64_t at = call->op->since < 20 ? ((const onx_dft_state *)call->state)->axis : -2;
    if (call->op->since >= 20 && onx_call_in(call, 2))
        ONX_TRY(onx_signal_number(call, 2, "axis", &at));
    if (!onx_axis(at, rank, axis) || *axis == rank - 1)
        return onx_call_fail(call, ONX_INVALID,
                             "axis %lld is not a dimension of the signal, of rank %zu with the "
                             "parts of its numbers",
                             (long long)at, rank);
    return ONX_OK;
}

/* The length of the transform: as given, or that of the signal. */
static onx_status dft_length(const onx_call *call, int64_t room, int64_t *n) {
    const onx_dft_state *state = call->state;
    *n = state->onesided && state->inverse ? 2 * (room - 1) : room;
    if (onx_call_in(call, 1)) ONX_TRY(onx_signal_number(call, 1, "dft_length", n));
    if (*n < 1 && (onx_call_in(call, 1) || *n < 0 || room))
        return onx_call_fail(call, ONX_INVALID, "the length of the transform is %lld",
                             (long long)*n);
    return ONX_OK;
}

onx_status onx_dft_bind(onx_call *call) {
    const onx_dft_state *state = call->state;
    const onx_operand *x = call->in[0];
    onx_dft_plan *plan = call->plan;
    int64_t dims[ONX_RANK_MAX];
    size_t axis = 0;
    if (x->rank < 2)
        return onx_call_fail(call, ONX_INVALID,
                             "the input has %u dimensions; it needs a signal and the parts of its "
                             "numbers",
                             (unsigned)x->rank);
    *plan = (onx_dft_plan){.parts = x->dims[x->rank - 1], .inner = 1, .frames = 1};
    bool real = !state->onesided || !state->inverse, complex = !state->onesided || state->inverse;
    if (!(plan->parts == 1 && real) && !(plan->parts == 2 && complex))
        return onx_call_fail(call, ONX_INVALID, "numbers of %lld parts cannot be transformed so",
                             (long long)plan->parts);
    ONX_TRY(dft_axis(call, x->rank, &axis));
    plan->room = x->dims[axis];
    ONX_TRY(dft_length(call, plan->room, &plan->n));
    plan->bins = state->onesided && !state->inverse ? plan->n / 2 + 1 : plan->n;
    plan->out_parts = state->onesided && state->inverse ? 1 : 2;
    int64_t taken = state->onesided && state->inverse ? plan->n / 2 + 1 : plan->n;
    plan->taken = taken < plan->room ? taken : plan->room;
    for (size_t i = 0; i < x->rank; i++) dims[i] = x->dims[i];
    dims[axis] = plan->bins;
    dims[x->rank - 1u] = plan->out_parts;
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)x->dtype, x->rank, dims));
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    for (size_t i = axis + 1; i + 1 < x->rank; i++) plan->inner *= x->dims[i];
    plan->lines = call->out[0]->count / plan->bins / plan->out_parts;
    return bind_scratch(call, plan);
}

/* ── STFT ────────────────────────────────────────────────────────────────────────────────────── */

/* The length of a frame: as given, that of the window, or that of the signal. */
static onx_status stft_length(const onx_call *call, onx_dft_plan *plan) {
    const onx_operand *window = onx_call_in(call, 2);
    plan->n = plan->room;
    if (window && window->rank != 1)
        return onx_call_fail(call, ONX_INVALID, "the window has %u dimensions; it needs 1",
                             (unsigned)window->rank);
    if (window) plan->n = window->dims[0];
    if (onx_call_in(call, 3)) ONX_TRY(onx_signal_number(call, 3, "frame_length", &plan->n));
    if (window && window->dims[0] != plan->n)
        return onx_call_fail(call, ONX_INVALID, "the window is %lld long, frames are %lld",
                             (long long)window->dims[0], (long long)plan->n);
    if (plan->n < 1 || plan->n > plan->room)
        return onx_call_fail(call, ONX_INVALID, "frames of %lld in a signal of %lld",
                             (long long)plan->n, (long long)plan->room);
    return ONX_OK;
}

onx_status onx_stft_bind(onx_call *call) {
    const onx_operand *x = call->in[0];
    onx_dft_plan *plan = call->plan;
    if (x->rank != 2 && x->rank != 3)
        return onx_call_fail(call, ONX_INVALID, "the signal has %u dimensions; it needs 3",
                             (unsigned)x->rank);
    *plan = (onx_dft_plan){
        .parts = x->rank == 3 ? x->dims[2] : 1, .out_parts = 2, .inner = 1, .room = x->dims[1]};
    if (plan->parts != 1 && plan->parts != 2)
        return onx_call_fail(call, ONX_INVALID,
                             "numbers of %lld parts are neither real nor "
                             "complex",
                             (long long)plan->parts);
    ONX_TRY(onx_signal_number(call, 1, "frame_step", &plan->step));
    if (plan->step < 1)
        return onx_call_fail(call, ONX_INVALID, "frame_step is %lld", (long long)plan->step);
    ONX_TRY(stft_length(call, plan));
    plan->taken = plan->n;
    plan->frames = (plan->room - plan->n) / plan->step + 1;
    plan->bins = ((const onx_dft_state *)call->state)->onesided ? plan->n / 2 + 1 : plan->n;
    int64_t dims[] = {x->dims[0], plan->frames, plan->bins, 2};
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)x->dtype, 4, dims));
    plan->lines = x->dims[0] * plan->frames;
    return bind_scratch(call, plan);
}

/* ── Running ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct job {
    onx_fft fft;
    onx_wide x, window;
    bool windowed;
    int64_t per_task;
} job;

/* The line of one transform: its numbers, weighted, and zeros behind. */
static void read_line(const onx_dft_plan *plan, const job *j, int64_t index, onx_cplx *line) {
    int64_t frame = index % plan->frames, signal = index / plan->frames;
    int64_t outer = signal / plan->inner, at = signal % plan->inner;
    int64_t first = outer * plan->room + frame * plan->step;
    for (int64_t i = 0; i < plan->taken; i++) {
        size_t from = (size_t)(((first + i) * plan->inner + at) * plan->parts);
        double weight = j->windowed ? onx_wide_at(j->window, (size_t)i) : 1;
        line[i].re = onx_wide_at(j->x, from) * weight;
        line[i].im = plan->parts == 2 ? onx_wide_at(j->x, from + 1) * weight : 0;
    }
    memset(line + plan->taken, 0, (size_t)(plan->n - plan->taken) * sizeof *line);
}

/* The second half of the spectrum of a real signal mirrors the first. */
static void mirror(onx_cplx *line, int64_t n) {
    line[0].im = 0;
    if (n % 2 == 0) line[n / 2].im = 0;
    for (int64_t i = 1; 2 * i < n; i++) line[n - i] = (onx_cplx){line[i].re, -line[i].im};
}

static void write_line(const onx_dft_plan *plan, onx_operand *y, int64_t index, double scale,
                       const onx_cplx *line) {
    int64_t outer = index / plan->inner, at = index % plan->inner;
    for (int64_t i = 0; i < plan->bins; i++) {
        int64_t to = ((outer * plan->bins + i) * plan->inner + at) * plan->out_parts;
        double parts[] = {line[i].re * scale, line[i].im * scale};
        onx_operand_put(y, (size_t)to, (size_t)plan->out_parts, parts);
    }
}

static onx_status line_task(void *user, onx_call *call, size_t task, void *scratch) {
    const onx_dft_plan *plan = call->plan;
    const onx_dft_state *state = call->state;
    const job *j = user;
    int64_t first = (int64_t)task * j->per_task;
    for (int64_t i = first; i < first + j->per_task && i < plan->lines; i++) {
        read_line(plan, j, i, scratch);
        if (state->inverse && state->onesided) mirror(scratch, plan->n);
        onx_fft_run(&j->fft, state->inverse, scratch);
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        write_line(plan, call->out[0], i, state->inverse ? 1 / (double)plan->n : 1, scratch);
    }
    return ONX_OK;
}

/* A transform of nothing has sums without terms. */
onx_status onx_dft_run(onx_call *call) {
    const onx_dft_plan *plan = call->plan;
    const onx_operand *window = onx_dft_window(call);
    size_t shared = 0, each = 0;
    job j = {.windowed = window != NULL, .per_task = 1 + 4096 / (plan->n + 1)};
    if (!call->out[0]->count) return ONX_OK;
    if (plan->n == 0) return memset(call->out[0]->data, 0, call->out[0]->bytes), ONX_OK;
    if (!onx_fft_bytes((size_t)plan->n, &shared, &each)) return ONX_LIMIT;
    char *rest = (char *)call->scratch + shared;
    bool single = call->in[0]->dtype != ONX_DTYPE_F64 && plan->parts == 2;
    j.fft = onx_fft_init(call, (size_t)plan->n, single, call->scratch, (onx_cplx *)(void *)rest);
    ONX_TRY(onx_call_check(call)); /* before what may not be ready is used */
    rest += each;
    j.x = onx_wide_of(call->in[0], &rest);
    if (window) j.window = onx_wide_of(window, &rest);
    return onx_call_parallel(call, (size_t)((plan->lines + j.per_task - 1) / j.per_task), line_task,
                             &j);
}
