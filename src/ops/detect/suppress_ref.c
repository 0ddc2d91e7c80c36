/* suppress_ref.c: NonMaxSuppression: of boxes that overlap, those with the highest scores. Equal
 * scores go by index; NaN is lower than all. Overlap is computed in float, as the boxes are.
 * Candidates come from a heap, so time is n log n for those looked at, times those kept that are
 * near. To find these, boxes that are kept are listed by where they begin, in strips across the
 * axis along which boxes are spread out most; no box reaches further than the longest so far. How a
 * box is compared with those of a list is the caller's: detect_simd.c does it with vectors. */
#include "ops/detect/suppress_ref.h"

#include <math.h>

typedef onx_suppress_box box;

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
    onx_suppress_any *any;
    int64_t *chosen;         /* [batch][class][most] */
    int64_t *counts;         /* [batch][class] */
    uint64_t *heaps;         /* [batch][class][n] */
    size_t strips, lists;    /* of a class; lists: boxes of a strip, LIST at a time */
    uint32_t *firsts;        /* [batch][class][strips] */
    struct boxes_list *room; /* [batch][class][lists] */
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

static bool overlap(const onx_suppress_kept *kept, size_t i, const box *b, float threshold) {
    float w = fminf(kept->part[2][i], b->x1) - fmaxf(kept->part[0][i], b->x0);
    float h = fminf(kept->part[3][i], b->y1) - fmaxf(kept->part[1][i], b->y0);
    float area = kept->part[4][i];
    if (!(w > 0) || !(h > 0) || !(area > 0) || !(b->area > 0)) return false;
    float both = w * h, all = area + b->area - both;
    return both > 0 && all > 0 && both / all > threshold;
}

static bool overlaps_any(const onx_suppress_kept *kept, const box *b, float threshold) {
    size_t i = 0;
    while (i < kept->n && !overlap(kept, i, b, threshold)) i++;
    return i < kept->n;
}

/* ── Those that were kept ── */

enum { LIST = 32, STRIP = 64, MOST_STRIPS = 256 }; /* boxes of a list; of a strip, at least */

typedef struct boxes_list {
    float part[ONX_SUPPRESS_PARTS][LIST];
    uint32_t n, next; /* number of the next list of the strip, from 1 on; 0: none */
} boxes_list;

typedef struct strips {
    size_t n;
    bool down; /* across y; else x */
    double start, scale;
    double reach;     /* length of the longest box that is kept */
    uint32_t *firsts; /* list of each strip, as `next` */
    boxes_list *lists;
    uint32_t n_lists;
} strips;

/* Boxes without a finite area overlap none. */
static bool takes_part(const box *b) {
    return b->area > 0 && b->area < INFINITY;
}
static double begin_of(const strips *s, const box *b) {
    return (double)(s->down ? b->y0 : b->x0);
}
static double end_of(const strips *s, const box *b) {
    return (double)(s->down ? b->y1 : b->x1);
}
static size_t strip_at(const strips *s, double x) {
    double at = (x - s->start) * s->scale;
    return !(at > 0) ? 0 : at >= (double)s->n ? s->n - 1 : (size_t)at;
}

/* Where boxes begin along an axis, and how long they are, all together. */
typedef struct spread {
    double least, most, length;
} spread;
static void spread_add(spread *to, double begin, double end) {
    to->least = begin < to->least ? begin : to->least;
    to->most = begin > to->most ? begin : to->most;
    to->length += end - begin;
}

static void strips_init(strips *s, const box *boxes, const uint64_t *heap, size_t n) {
    spread x = {INFINITY, -INFINITY, 0}, y = x;
    for (size_t i = 0; i < n; i++) {
        const box *b = &boxes[(uint32_t)heap[i]];
        if (!takes_part(b)) continue;
        spread_add(&x, (double)b->x0, (double)b->x1);
        spread_add(&y, (double)b->y0, (double)b->y1);
    }
    s->down = (y.most - y.least) * x.length > (x.most - x.least) * y.length;
    const spread *along = s->down ? &y : &x;
    s->start = along->least;
    s->scale = along->most > along->least ? (double)s->n / (along->most - along->least) : 0;
    memset(s->firsts, 0, s->n * sizeof *s->firsts);
}

static void keep(strips *s, const box *b) {
    const float parts[ONX_SUPPRESS_PARTS] = {b->x0, b->y0, b->x1, b->y1, b->area};
    if (!takes_part(b)) return;
    uint32_t *first = &s->firsts[strip_at(s, begin_of(s, b))];
    if (!*first || s->lists[*first - 1].n == LIST) {
        s->lists[s->n_lists].n = 0;
        s->lists[s->n_lists].next = *first;
        *first = ++s->n_lists;
    }
    boxes_list *list = &s->lists[*first - 1];
    for (size_t p = 0; p < ONX_SUPPRESS_PARTS; p++) list->part[p][list->n] = parts[p];
    list->n++;
    double length = end_of(s, b) - begin_of(s, b);
    if (length > s->reach) s->reach = length;
}

/* Does it overlap one of those kept? What begins before `from` ends before the box begins; a little
 * is added for what is rounded. */
static bool is_suppressed(const job *j, const strips *s, const box *b) {
    if (!takes_part(b)) return false;
    double begin = begin_of(s, b), from = begin - s->reach - (s->reach + fabs(begin)) * 1e-12;
    for (size_t i = strip_at(s, from); i <= strip_at(s, end_of(s, b)); i++)
        for (uint32_t at = s->firsts[i]; at; at = s->lists[at - 1].next) {
            boxes_list *list = &s->lists[at - 1];
            onx_suppress_kept kept = {.n = list->n};
            for (size_t p = 0; p < ONX_SUPPRESS_PARTS; p++) kept.part[p] = list->part[p];
            if (j->any(&kept, b, j->iou)) return true;
        }
    return false;
}

/* ── One class ── */

static float score_at(const char *scores, int64_t i) {
    float f;
    memcpy(&f, scores + (size_t)i * sizeof f, sizeof f);
    return f;
}

/* What sorts a candidate: the score, highest first and NaN last, and its index. */
static uint64_t key_of(const char *scores, size_t i) {
    float score = score_at(scores, (int64_t)i) + 0.0f; /* no -0 */
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    bits = isnan(score) ? UINT32_MAX : bits >> 31 ? bits : ~bits & 0x7fffffff;
    return (uint64_t)bits << 32 | i;
}

static void sink(uint64_t *heap, size_t n, size_t at) {
    uint64_t key = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heap[child + 1] < heap[child]) child++;
        if (key < heap[child]) break;
        heap[at] = heap[child];
    }
    heap[at] = key;
}

static onx_status class_task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const box *boxes = j->boxes + index / j->classes * j->n;
    const char *scores = j->scores + index * j->n * sizeof(float);
    int64_t *chosen = j->chosen + index * j->most;
    uint64_t *heap = j->heaps + index * j->n;
    strips kept = {j->strips, .firsts = j->firsts + index * j->strips,
                   .lists = j->room + index * j->lists};
    size_t n = 0, n_kept = 0;
    (void)scratch;
    for (size_t i = 0; i < j->n; i++)
        if (!j->scored || score_at(scores, (int64_t)i) > j->score) heap[n++] = key_of(scores, i);
    strips_init(&kept, boxes, heap, n);
    for (size_t i = n / 2; i-- > 0;) sink(heap, n, i);
    for (; n && n_kept < j->most; sink(heap, n, 0)) {
        const box *next = &boxes[(uint32_t)heap[0]];
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        if (!is_suppressed(j, &kept, next)) {
            chosen[n_kept++] = (uint32_t)heap[0];
            keep(&kept, next);
        }
        heap[0] = heap[--n];
    }
    j->counts[index] = (int64_t)n_kept;
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
    j->strips = j->most < 2 * STRIP ? 1 : j->most / STRIP;
    if (j->strips > MOST_STRIPS) j->strips = MOST_STRIPS;
    j->lists = j->most / LIST + j->strips; /* one of each strip may not be full */
    j->firsts = onx_arena_array(arena, classes * j->strips, sizeof *j->firsts);
    j->room = onx_arena_array(arena, classes * j->lists, sizeof *j->room);
    if (!all || !j->chosen || !j->counts || !j->heaps || !j->firsts || !j->room)
        return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < boxes; i++)
        all[i] = read_box((const char *)call->in[0]->data + i * 4 * sizeof(float),
                          ((const suppress_state *)call->state)->centered);
    j->boxes = all;
    ONX_TRY(onx_call_parallel(call, classes, class_task, j));
    return give(call, j);
}

onx_status onx_suppress_run_by(onx_call *call, onx_suppress_any *any) {
    const onx_operand *scores = call->in[1];
    job j = {.scores = scores->data, .any = any};
    ONX_TRY(check_shapes(call));
    j.n = (size_t)scores->dims[2];
    if (j.n > UINT32_MAX) return onx_call_fail(call, ONX_LIMIT, "there are too many boxes");
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

onx_status onx_suppress_run(onx_call *call) {
    return onx_suppress_run_by(call, overlaps_any);
}
