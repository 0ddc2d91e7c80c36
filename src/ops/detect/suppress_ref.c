/* suppress_ref.c: NonMaxSuppression: of boxes that overlap, those with the highest scores. Equal
 * scores go by index; NaN is lower than all. Overlap is computed in float, as the boxes are.
 * Candidates come from a heap, so time is n log n for those looked at, times those kept. */
#include "ops/detect/detect_ref.h"

#include <math.h>

typedef struct box {
    float x0, y0, x1, y1, area;
} box;

typedef struct suppress_state {
    bool centered; /* center, width, height; else two corners */
} suppress_state;

typedef struct job {
    const box *boxes;   /* [batch][n] */
    const char *scores; /* may be unaligned */
    size_t batches, classes, n;
    size_t most; /* of a class */
    float iou, score;
    bool scored;
    int64_t *chosen; /* [batch][class][most] */
    int64_t *counts; /* [batch][class] */
    int64_t *heaps;  /* [batch][class][n] */
} job;

onx_status onx_suppress_init(onx_call *call) {
    suppress_state *state = onx_call_state(call, sizeof *state);
    int64_t format = onx_call_int(call, "center_point_box");
    if (!state) return onx_fail_nomem(call->diag);
    if (format != 0 && format != 1)
        return onx_call_fail(call, ONX_INVALID, "center_point_box is %lld: it must be 0 or 1",
                             (long long)format);
    state->centered = format == 1;
    return ONX_OK;
}

/* ── Boxes ── */

static box read_box(const char *data, bool centered) {
    float v[4];
    memcpy(v, data, sizeof v);
    box b;
    if (centered) {
        float w = v[2] / 2, h = v[3] / 2;
        b = (box){v[0] - w, v[1] - h, v[0] + w, v[1] + h, 0};
    } else {
        b = (box){fminf(v[1], v[3]), fminf(v[0], v[2]), fmaxf(v[1], v[3]), fmaxf(v[0], v[2]), 0};
    }
    b.area = (b.x1 - b.x0) * (b.y1 - b.y0);
    return b;
}

static bool overlap(const box *a, const box *b, float threshold) {
    float w = fminf(a->x1, b->x1) - fmaxf(a->x0, b->x0);
    float h = fminf(a->y1, b->y1) - fmaxf(a->y0, b->y0);
    if (!(w > 0) || !(h > 0) || !(a->area > 0) || !(b->area > 0)) return false;
    float both = w * h, all = a->area + b->area - both;
    return both > 0 && all > 0 && both / all > threshold;
}

/* ── One class ── */

static float score_at(const char *scores, int64_t i) {
    float f;
    memcpy(&f, scores + (size_t)i * sizeof f, sizeof f);
    return f;
}

static bool before(const char *scores, int64_t a, int64_t b) {
    float x = score_at(scores, a), y = score_at(scores, b);
    if (isnan(x) || isnan(y)) return isnan(x) == isnan(y) ? a < b : isnan(y);
    return x > y || (x == y && a < b);
}

static void sink(const char *scores, int64_t *heap, size_t n, size_t at) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(scores, heap[child + 1], heap[child])) child++;
        if (!before(scores, heap[child], heap[at])) return;
        int64_t swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

static onx_status class_task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const box *boxes = j->boxes + index / j->classes * j->n;
    const char *scores = j->scores + index * j->n * sizeof(float);
    int64_t *chosen = j->chosen + index * j->most, *heap = j->heaps + index * j->n;
    size_t n = 0, kept = 0;
    (void)scratch;
    for (size_t i = 0; i < j->n; i++)
        if (!j->scored || score_at(scores, (int64_t)i) > j->score) heap[n++] = (int64_t)i;
    for (size_t i = n / 2; i-- > 0;) sink(scores, heap, n, i);
    while (n && kept < j->most) {
        const box *next = &boxes[heap[0]];
        size_t i = 0;
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        while (i < kept && !overlap(next, &boxes[chosen[i]], j->iou)) i++;
        if (i == kept) chosen[kept++] = heap[0];
        heap[0] = heap[--n];
        sink(scores, heap, n, 0);
    }
    j->counts[index] = (int64_t)kept;
    return ONX_OK;
}

/* ── All of them ── */

static onx_status check_shapes(const onx_call *call) {
    const onx_operand *boxes = call->in[0], *scores = call->in[1];
    if (boxes->rank != 3 || boxes->dims[2] != 4)
        return onx_call_fail(call, ONX_INVALID, "boxes must be [batch, boxes, 4]");
    if (scores->rank != 3 || scores->dims[0] != boxes->dims[0] || scores->dims[2] != boxes->dims[1])
        return onx_call_fail(call, ONX_INVALID,
                             "scores must be [%lld, classes, %lld], as boxes are",
                             (long long)boxes->dims[0], (long long)boxes->dims[1]);
    for (size_t i = 2; i < call->n_in; i++)
        if (call->in[i] && call->in[i]->count > 1)
            return onx_call_fail(call, ONX_INVALID, "input %zu must be one number", i);
    return ONX_OK;
}

/* A threshold that is absent, or empty, is `fallback`; false: it was. */
static bool read_float(const onx_call *call, size_t index, float fallback, float *out) {
    const onx_operand *in = onx_call_in(call, index);
    *out = in && in->count ? score_at(in->data, 0) : fallback;
    return in && in->count;
}

static onx_status read_limits(const onx_call *call, job *j) {
    const onx_operand *most = onx_call_in(call, 2);
    int64_t limit = most && most->count ? onx_operand_int(most, 0) : 0;
    j->most = limit < 0 ? 0 : (uint64_t)limit < j->n ? (size_t)limit : j->n;
    (void)read_float(call, 3, 0, &j->iou);
    j->scored = read_float(call, 4, 0, &j->score);
    if (!(j->iou >= 0 && j->iou <= 1))
        return onx_call_fail(call, ONX_INVALID, "iou_threshold is %g: it must be from 0 to 1",
                             (double)j->iou);
    return ONX_OK;
}

static onx_status give(onx_call *call, const job *j) {
    int64_t dims[2] = {0, 3}, to = 0;
    for (size_t i = 0; i < j->batches * j->classes; i++) dims[0] += j->counts[i];
    ONX_TRY(onx_call_output(call, 0, ONX_DTYPE_I64, 2, dims));
    int64_t *out = call->out[0]->data;
    for (size_t i = 0; i < j->batches * j->classes; i++)
        for (int64_t k = 0; k < j->counts[i]; k++) {
            out[to++] = (int64_t)(i / j->classes);
            out[to++] = (int64_t)(i % j->classes);
            out[to++] = j->chosen[i * j->most + (size_t)k];
        }
    return ONX_OK;
}

static onx_status run_all(onx_call *call, job *j, onx_arena *arena) {
    size_t classes = j->batches * j->classes, boxes = j->batches * j->n;
    box *all = onx_arena_array(arena, boxes, sizeof *all);
    j->chosen = onx_arena_array(arena, classes * j->most, sizeof *j->chosen);
    j->counts = onx_arena_array(arena, classes, sizeof *j->counts);
    j->heaps = onx_arena_array(arena, classes * j->n, sizeof *j->heaps);
    if (!all || !j->chosen || !j->counts || !j->heaps) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < boxes; i++)
        all[i] = read_box((const char *)call->in[0]->data + i * 4 * sizeof(float),
                          ((const suppress_state *)call->state)->centered);
    j->boxes = all;
    ONX_TRY(onx_call_parallel(call, classes, class_task, j));
    return give(call, j);
}

onx_status onx_suppress_run(onx_call *call) {
    const onx_operand *scores = call->in[1];
    job j = {.scores = scores->data};
    ONX_TRY(check_shapes(call));
    j.n = (size_t)scores->dims[2];
    ONX_TRY(read_limits(call, &j));
    if (scores->count && j.most) {
        j.batches = (size_t)scores->dims[0];
        j.classes = (size_t)scores->dims[1];
    }
    if (!j.batches) return give(call, &j);
    onx_arena arena;
    onx_arena_init(&arena, call->ctx);
    onx_status status = run_all(call, &j, &arena);
    onx_arena_fini(&arena);
    return status;
}
