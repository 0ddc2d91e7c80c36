/* grid_sample_ref.c: GridSample: images read at the positions of a grid, in any number of
 * dimensions. Nearest moves elements of any type (what is outside is 0, "" of strings); linear and
 * cubic make weighted sums in double, rounded once. A coordinate that is not a number counts as -1;
 * one that is reflected from infinity is the first element. */
#include "ops/eltwise/widen_ref.h"
#include "ops/resize/sample_ref.h"
#include "ops/view/move_ref.h"

#include <math.h>

enum { BLOCK = 64 }; /* positions, and channels, of a task */

onx_status onx_grid_sample_init(onx_call *call) {
    bool old = call->op->since < 20;
    onx_sample_state *state = onx_call_state(call, sizeof *state);
    int mode, pad;
    if (!state) return onx_fail_nomem(call->diag);
    call->plan_bytes = sizeof(onx_sample_plan);
    ONX_TRY(onx_call_choice(call, "mode",
                            old ? "bilinear, nearest, bicubic" : "linear, nearest, cubic", &mode));
    ONX_TRY(onx_call_choice(call, "padding_mode", "zeros, border, reflection", &pad));
    state->mode = (onx_sampling)mode;
    state->padding = (onx_sample_padding)pad;
    state->corners = onx_call_int(call, "align_corners") != 0;
    return ONX_OK;
}

/* ── Sizes ── */

static onx_status check_shapes(const onx_call *call) {
    const onx_operand *x = call->in[0], *grid = call->in[1];
    if (x->rank < 3 || (call->op->since < 20 && x->rank != 4))
        return onx_call_fail(call, ONX_INVALID, "X has rank %u; it needs batch, channels and %s",
                             (unsigned)x->rank,
                             call->op->since < 20 ? "two more" : "at least one more");
    if (grid->rank != x->rank || grid->dims[x->rank - 1] != (int64_t)x->rank - 2)
        return onx_call_fail(call, ONX_INVALID,
                             "the grid must have rank %u and %u coordinates for each position",
                             (unsigned)x->rank, (unsigned)x->rank - 2);
    if (grid->dims[0] != x->dims[0])
        return onx_call_fail(call, ONX_INVALID, "there are %lld images and %lld grids",
                             (long long)x->dims[0], (long long)grid->dims[0]);
    return ONX_OK;
}

static onx_status bind_scratch(onx_call *call) {
    const onx_sample_state *state = call->state;
    if (state->mode == ONX_SAMPLE_NEAREST) return onx_move_bind(call);
    if (call->in[0]->dtype == ONX_DTYPE_STRING)
        return onx_call_fail(call, ONX_INVALID, "strings cannot be interpolated");
    if (onx_wide_bytes(call->in[0], &call->scratch_bytes)) return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

onx_status onx_grid_sample_bind(onx_call *call) {
    const onx_sample_state *state = call->state;
    const onx_operand *x = call->in[0], *grid = call->in[1];
    onx_sample_plan *plan = call->plan;
    int64_t dims[ONX_RANK_MAX];
    ONX_TRY(check_shapes(call));
    *plan = (onx_sample_plan){.axes = (size_t)x->rank - 2, .parts = 1};
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    for (size_t i = 0; i < plan->axes; i++) {
        plan->dims[i] = x->dims[i + 2];
        dims[i + 2] = grid->dims[i + 1];
    }
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)x->dtype, x->rank, dims));
    ONX_TRY(bind_scratch(call));
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    if (!x->count && state->padding != ONX_SAMPLE_ZEROS)
        return onx_call_fail(call, ONX_INVALID, "there is nothing to sample in an empty image");
    plan->channels = (size_t)x->dims[1];
    plan->points = (size_t)(call->out[0]->count / (x->dims[0] * x->dims[1]));
    plan->pixels = (size_t)(x->count / (x->dims[0] * x->dims[1]));
    bool complex = x->dtype == ONX_DTYPE_C64 || x->dtype == ONX_DTYPE_C128;
    if (complex && state->mode != ONX_SAMPLE_NEAREST) plan->parts = 2;
    return ONX_OK;
}

/* ── One axis ── */

/* Elements along an axis, with weights; each element once. */
typedef struct taps {
    size_t n;
    int64_t at[4];
    double weight[4];
} taps;

/* From a coordinate of the grid to one of the image. Grids are computed with in their own
 * precision, so that halves are halves where others see them. */
static double unfold(double at, int64_t size, bool corners, bool is_double) {
    double n = (double)size;
    if (isnan(at)) at = -1;
    if (corners && size == 1) return 0;
    if (is_double) return corners ? (at + 1) / 2 * (n - 1) : ((at + 1) * n - 1) / 2;
    float a = (float)at, f = (float)n;
    return (double)(corners ? (a + 1) / 2 * (f - 1) : ((a + 1) * f - 1) / 2);
}

/* Back and forth between the ends, until it is between them. */
static double reflect(double x, int64_t size, bool corners) {
    double low = corners ? 0 : -0.5, range = (double)size - (corners ? 1 : 0);
    double beyond = fabs(x - low);
    if (range <= 0 || !isfinite(beyond)) return 0;
    beyond = fmod(beyond, 2 * range);
    return low + (beyond < range ? beyond : 2 * range - beyond);
}

/* Element x of an axis, or one that stands for it; -1: none does. */
static int64_t element_of(const onx_sample_state *state, double x, int64_t size) {
    if (state->padding == ONX_SAMPLE_REFLECTION && (x < 0 || x >= (double)size))
        x = trunc(reflect(x, size, state->corners));
    if (x >= 0 && x < (double)size) return (int64_t)x;
    return state->padding == ONX_SAMPLE_ZEROS ? -1 : x < 0 ? 0 : size - 1;
}

static void add_tap(taps *t, int64_t at, double weight) {
    size_t i = 0;
    while (i < t->n && t->at[i] != at) i++;
    if (at < 0 || weight == 0) return;
    if (i == t->n) {
        t->at[t->n] = at;
        t->weight[t->n++] = 0;
    }
    t->weight[i] += weight;
}

static double cubic_at(double t) {
    const double a = -0.75;
    t = fabs(t);
    return t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
}

static taps taps_of(const onx_sample_state *state, double x, int64_t size) {
    taps t = {0};
    double low = state->corners ? 0 : -0.5, high = (double)size - (state->corners ? 1 : 0.5);
    if (state->mode == ONX_SAMPLE_NEAREST) x = rint(x);
    if (x < low || x > high) {
        if (state->padding == ONX_SAMPLE_BORDER) x = x < 0 ? 0 : (double)(size - 1);
        if (state->padding == ONX_SAMPLE_REFLECTION) x = reflect(x, size, state->corners);
    }
    double first = floor(x);
    if (state->mode == ONX_SAMPLE_NEAREST) add_tap(&t, element_of(state, x, size), 1);
    if (state->mode == ONX_SAMPLE_LINEAR)
        for (int i = 0; i < 2; i++)
            add_tap(&t, element_of(state, first + i, size), i ? x - first : 1 - (x - first));
    if (state->mode == ONX_SAMPLE_CUBIC)
        for (int i = -1; i < 3; i++)
            add_tap(&t, element_of(state, first + i, size), cubic_at(x - first - i));
    return t;
}

/* ── Positions ── */

typedef struct job {
    const onx_sample_plan *plan;
    const onx_sample_state *state;
    onx_wide x;              /* linear and cubic */
    const char *from;        /* nearest */
    char *to;                /* the output */
    size_t size;             /* bytes of an element; of its parts, if it has several */
    onx_dtype dtype;         /* of those */
    size_t blocks, c_blocks; /* of positions in an image, of channels */
} job;

/* The taps of all axes at position `at` of all grids. */
static void locate(const onx_call *call, const job *j, size_t at, taps *out) {
    const onx_operand *grid = call->in[1];
    size_t axes = j->plan->axes;
    bool is_double = grid->dtype == ONX_DTYPE_F64;
    double coords[ONX_RANK_MAX];
    onx_operand_get(grid, at * axes, axes, coords);
    for (size_t i = 0; i < axes; i++) {
        int64_t n = j->plan->dims[i];
        double x = unfold(coords[axes - 1 - i], n, j->state->corners, is_double);
        out[i] = taps_of(j->state, x, n);
    }
}

/* Combination `index` of the taps; its weight, and where it is in the image. */
static double combine(const job *j, const taps *t, size_t index, size_t *at) {
    double weight = 1;
    size_t step = 1;
    *at = 0;
    for (size_t i = j->plan->axes; i-- > 0; index /= t[i].n) {
        weight *= t[i].weight[index % t[i].n];
        *at += (size_t)t[i].at[index % t[i].n] * step;
        step *= (size_t)j->plan->dims[i];
    }
    return weight;
}

static size_t combinations(const job *j, const taps *t) {
    size_t n = 1;
    for (size_t i = 0; i < j->plan->axes; i++) n *= t[i].n;
    return n;
}

/* What one task makes: positions and channels of one image. */
typedef struct part {
    size_t image, point, n_points, channel, n_channels;
} part;

static part part_of(const job *j, size_t index) {
    const onx_sample_plan *p = j->plan;
    part a = {.channel = index % j->c_blocks * BLOCK};
    index /= j->c_blocks;
    a.point = index % j->blocks * BLOCK;
    a.image = index / j->blocks;
    a.n_points = p->points - a.point < BLOCK ? p->points - a.point : BLOCK;
    a.n_channels = p->channels - a.channel < BLOCK ? p->channels - a.channel : BLOCK;
    return a;
}

static onx_status move_task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_sample_plan *p = j->plan;
    const part a = part_of(j, index);
    size_t at[BLOCK];
    taps t[ONX_RANK_MAX];
    (void)scratch;
    for (size_t i = 0; i < a.n_points; i++) {
        locate(call, j, a.image * p->points + a.point + i, t);
        at[i] = SIZE_MAX;
        if (combinations(j, t)) (void)combine(j, t, 0, &at[i]);
    }
    for (size_t c = 0; c < a.n_channels; c++) {
        size_t plane = a.image * p->channels + a.channel + c;
        char *to = j->to + (plane * p->points + a.point) * j->size;
        for (size_t i = 0; i < a.n_points; i++, to += j->size)
            if (at[i] != SIZE_MAX)
                memcpy(to, j->from + (plane * p->pixels + at[i]) * j->size, j->size);
            else
                memset(to, 0, j->size);
    }
    return ONX_OK;
}

/* One part of the elements (real or imaginary) of all positions. */
static onx_status sum_task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_sample_plan *p = j->plan;
    const part a = part_of(j, index);
    double sum[BLOCK][2 * BLOCK] = {{0}};
    taps t[ONX_RANK_MAX];
    (void)scratch;
    for (size_t i = 0; i < a.n_points; i++) {
        locate(call, j, a.image * p->points + a.point + i, t);
        for (size_t k = 0, n = combinations(j, t), at; k < n; k++) {
            double weight = combine(j, t, k, &at);
            size_t plane = a.image * p->channels + a.channel;
            for (size_t c = 0; c < a.n_channels; c++, plane++)
                for (size_t r = 0; r < p->parts; r++)
                    sum[c][i * p->parts + r] +=
                        weight * onx_wide_at(j->x, (plane * p->pixels + at) * p->parts + r);
        }
    }
    for (size_t c = 0; c < a.n_channels; c++) {
        size_t plane = a.image * p->channels + a.channel + c;
        (void)onx_dtype_convert(ONX_DTYPE_F64, sum[c], j->dtype,
                                j->to + (plane * p->points + a.point) * p->parts * j->size,
                                a.n_points * p->parts, false);
    }
    return ONX_OK;
}

static onx_status run_tasks(onx_call *call, job *j, onx_task *task) {
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    j->blocks = (j->plan->points + BLOCK - 1) / BLOCK;
    j->c_blocks = (j->plan->channels + BLOCK - 1) / BLOCK;
    return onx_call_parallel(call, (size_t)call->in[0]->dims[0] * j->blocks * j->c_blocks, task, j);
}

onx_status onx_grid_sample_run(onx_call *call) {
    const onx_operand *x = call->in[0];
    job j = {.plan = call->plan, .state = call->state, .dtype = (onx_dtype)x->dtype};
    if (j.state->mode == ONX_SAMPLE_NEAREST) {
        onx_mover mover = onx_move_begin(call);
        j.from = onx_move_in(&mover, 0);
        j.to = onx_move_out(&mover, 0);
        j.size = onx_move_size(j.dtype);
        ONX_TRY(run_tasks(call, &j, move_task));
        return onx_move_end(call, 0, j.to);
    }
    char *scratch = call->scratch;
    j.x = onx_wide_of(x, &scratch);
    j.to = call->out[0] ? call->out[0]->data : NULL;
    if (j.plan->parts == 2) j.dtype = j.dtype == ONX_DTYPE_C64 ? ONX_DTYPE_F32 : ONX_DTYPE_F64;
    j.size = onx_dtype_bits(j.dtype) / 8;
    return run_tasks(call, &j, sum_task);
}
