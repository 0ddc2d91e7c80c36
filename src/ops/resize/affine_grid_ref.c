/* affine_grid_ref.c: AffineGrid: theta applied to the positions of images or volumes, in double.
 * Along an axis of one element, the position is -1 with align_corners, and 0 without. */
#include "ops/eltwise/widen_ref.h"
#include "ops/resize/sample_ref.h"
#include "ops/view/move_ref.h"

typedef struct affine_state {
    bool corners;
} affine_state;

typedef struct affine_plan {
    size_t axes;
    size_t dims[3], points; /* of one grid */
} affine_plan;

typedef struct job {
    const affine_plan *plan;
    bool corners;
    onx_wide theta;
    size_t points; /* of all grids */
} job;

enum { TASK = 4096, SPAN = 256 }; /* positions: of a task, and at a time */

onx_status onx_affine_grid_init(onx_call *call) {
    affine_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    call->plan_bytes = sizeof(affine_plan);
    state->corners = onx_call_int(call, "align_corners") != 0;
    return ONX_OK;
}

onx_status onx_affine_grid_bind(onx_call *call) {
    const onx_operand *theta = call->in[0];
    affine_plan *plan = call->plan;
    int64_t dims[5];
    onx_ints size;
    ONX_TRY(onx_ints_input(call, 1, &size));
    if (size.n != 4 && size.n != 5)
        return onx_call_fail(call, ONX_INVALID,
                             "size has %zu elements; it needs 4 for images, 5 for volumes", size.n);
    *plan = (affine_plan){.axes = size.n - 2, .points = 1};
    if (theta->rank != 3 || theta->dims[0] != size.v[0] || theta->dims[1] != (int64_t)plan->axes ||
        theta->dims[2] != (int64_t)plan->axes + 1)
        return onx_call_fail(call, ONX_INVALID, "theta must be [%lld,%zu,%zu], as size says",
                             (long long)size.v[0], plan->axes, plan->axes + 1);
    dims[0] = size.v[0];
    for (size_t i = 0; i < plan->axes; i++) dims[i + 1] = size.v[i + 2];
    dims[plan->axes + 1] = (int64_t)plan->axes;
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)theta->dtype, plan->axes + 2, dims));
    for (size_t i = 0; i < plan->axes; i++) plan->dims[i] = (size_t)size.v[i + 2];
    if (call->out[0] && call->out[0]->count)
        plan->points = (size_t)(call->out[0]->count / theta->dims[0]) / plan->axes;
    if (onx_wide_bytes(theta, &call->scratch_bytes)) return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

static double along(size_t at, size_t size, bool corners) {
    if (!corners) return (double)(2 * at + 1) / (double)size - 1;
    return size > 1 ? 2 * (double)at / (double)(size - 1) - 1 : -1;
}

/* n positions that follow one another in a line: their coordinates, innermost axis first. */
static void apply(const job *j, size_t point, size_t n, double *out) {
    size_t axes = j->plan->axes, rest = point % j->plan->points, width = j->plan->dims[axes - 1];
    size_t theta = point / j->plan->points * axes * (axes + 1), x = rest % width;
    double start[3], step[3], at;
    for (size_t r = 0; r < axes; r++) {
        start[r] = onx_wide_at(j->theta, theta + r * (axes + 1) + axes);
        step[r] = onx_wide_at(j->theta, theta + r * (axes + 1));
    }
    rest /= width;
    for (size_t i = axes - 1; i-- > 0; rest /= j->plan->dims[i]) {
        at = along(rest % j->plan->dims[i], j->plan->dims[i], j->corners);
        for (size_t r = 0; r < axes; r++)
            start[r] += onx_wide_at(j->theta, theta + r * (axes + 1) + axes - 1 - i) * at;
    }
    for (size_t i = 0; i < n; i++) {
        at = along(x + i, width, j->corners);
        for (size_t r = 0; r < axes; r++) *out++ = start[r] + step[r] * at;
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    onx_operand *y = call->out[0];
    size_t axes = j->plan->axes, first = index * TASK;
    size_t last = j->points - first < TASK ? j->points : first + TASK;
    size_t width = j->plan->dims[axes - 1];
    double at[3 * SPAN];
    (void)scratch;
    for (size_t i = first, n; i < last; i += n) {
        n = width - i % width < last - i ? width - i % width : last - i;
        if (n > SPAN) n = SPAN;
        apply(j, i, n, at);
        onx_operand_put(y, i * axes, n * axes, at);
    }
    return ONX_OK;
}

onx_status onx_affine_grid_run(onx_call *call) {
    const affine_plan *plan = call->plan;
    char *scratch = call->scratch;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    job j = {.plan = plan, .corners = ((const affine_state *)call->state)->corners};
    j.theta = onx_wide_of(call->in[0], &scratch);
    j.points = (size_t)call->out[0]->count / plan->axes;
    return onx_call_parallel(call, (j.points + TASK - 1) / TASK, task, &j);
}
