/* resize_run_ref.c: Resize by tables, one for each axis, so that no coordinate is computed twice.
 *
 * Nearest only moves elements, of any type. Linear and cubic make a block of a row in two steps, in
 * double, so that nothing as large as a tensor lies in between:
 *
 *     rows of x that the other axes name, times their weights: a sum
 *     elements of the sum, times the weights of the last axis: y, rounded once (integers: to the
 *     nearest, halves to even)
 *
 * Complex numbers are two floats each. */
#include "ops/resize/resize_ref.h"

#include <math.h>

enum { BLOCK = 2048 }; /* elements of the output */

typedef struct job {
    const onx_resize_plan *plan;
    const onx_resize_state *state;
    onx_resize_table tables[ONX_RANK_MAX];
    size_t strides[ONX_RANK_MAX]; /* of x */
    const char *x;
    char *y;
    onx_dtype dtype; /* that is computed with; of complex numbers, that of a part */
    size_t size;     /* bytes of one of those */
    size_t parts;    /* of an element */
    size_t blocks;   /* of a row */
    size_t units, per_task;
    char outside[16]; /* the element that is not sampled */
} job;

/* ── Places ── */

static bool is_complex(onx_dtype dtype) {
    return dtype == ONX_DTYPE_C64 || dtype == ONX_DTYPE_C128;
}

/* Elements of complex numbers are the last, untouched dimension of two. */
static int64_t parts_of(const onx_resize_state *state, const onx_operand *x) {
    return state->mode != ONX_RESIZE_NEAREST && is_complex((onx_dtype)x->dtype) ? 2 : 1;
}

static onx_status check_type(const onx_call *call) {
    const onx_resize_state *state = call->state;
    if (call->in[0]->dtype != ONX_DTYPE_STRING) return ONX_OK;
    if (state->mode != ONX_RESIZE_NEAREST || state->crops)
        return onx_call_fail(call, ONX_INVALID, "strings cannot be interpolated");
    return ONX_OK;
}

static bool count_scratch(onx_call *call) {
    const onx_resize_state *state = call->state;
    const onx_resize_plan *plan = call->plan;
    size_t bytes, row = 0;
    for (size_t i = 0; i < plan->rank; i++)
        if (!onx_resize_table_bytes(state, &plan->axes[i], &bytes) ||
            !onx_add_size(call->scratch_bytes, bytes, &call->scratch_bytes))
            return false;
    if (state->mode == ONX_RESIZE_NEAREST || plan->last == plan->rank) return true;
    return onx_mul_size((size_t)plan->axes[plan->last].in, (size_t)plan->part, &row) &&
           onx_add_size(row, BLOCK, &row) && onx_mul_size(row, sizeof(double), &call->scratch_each);
}

onx_status onx_resize_place(onx_call *call) {
    const onx_resize_state *state = call->state;
    onx_resize_plan *plan = call->plan;
    ONX_TRY(check_type(call));
    ONX_TRY(onx_move_bind(call));
    plan->moved = call->scratch_bytes;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    if (!call->in[0]->count)
        return onx_call_fail(call, ONX_INVALID, "there is nothing to sample in an empty tensor");
    plan->rows = 1;
    plan->inner = parts_of(state, call->in[0]);
    for (size_t i = 0; i < plan->rank; i++) {
        onx_resize_width(state, &plan->axes[i]);
        if (i < plan->last) plan->rows *= plan->axes[i].out;
        if (i > plan->last) plan->inner *= plan->axes[i].in;
    }
    plan->part = plan->inner < BLOCK ? plan->inner : BLOCK;
    plan->cols = BLOCK / plan->part;
    if (count_scratch(call)) return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

/* ── Rows ── */

/* A block of a row: positions `from` … `to`-1 along the last axis, each `n` elements from `at`. */
typedef struct block {
    int64_t row, from, to, at, n;
} block;

static block block_of(const job *j, size_t unit) {
    const onx_resize_plan *plan = j->plan;
    int64_t parts = (plan->inner + plan->part - 1) / plan->part, out = plan->axes[plan->last].out;
    int64_t in_row = (int64_t)(unit % j->blocks);
    block b = {.row = (int64_t)(unit / j->blocks), .from = in_row / parts * plan->cols};
    b.to = out - b.from < plan->cols ? out : b.from + plan->cols;
    b.at = in_row % parts * plan->part;
    b.n = plan->inner - b.at < plan->part ? plan->inner - b.at : plan->part;
    return b;
}

/* The rows of the input that one of the output is made of: all combinations of the taps of axes
 * that have several. */
typedef struct source {
    bool outside;
    size_t at; /* of the first one */
    size_t n, count;
    const double *weight[ONX_RANK_MAX];
    size_t width[ONX_RANK_MAX], stride[ONX_RANK_MAX];
} source;

static source source_of(const job *j, int64_t row) {
    source s = {.count = 1};
    for (size_t d = j->plan->last; d-- > 0;) {
        const onx_resize_axis *axis = &j->plan->axes[d];
        int64_t o = row % axis->out, first = axis->same ? o : j->tables[d].first[o];
        row /= axis->out;
        s.outside |= first < 0;
        s.at += (size_t)first * j->strides[d];
        if (axis->same || j->state->mode == ONX_RESIZE_NEAREST) continue;
        s.weight[s.n] = j->tables[d].weight + (size_t)o * axis->width;
        s.width[s.n] = axis->width;
        s.stride[s.n++] = j->strides[d];
        s.count *= axis->width;
    }
    return s;
}

/* ── Linear and cubic ── */

enum { CHUNK = 256 };

/* sum += weight * x, for n elements. */
static void add_elements(const job *j, size_t at, size_t n, double weight, double *sum) {
    const char *from = j->x + at * j->size;
    double wide[CHUNK];
    float narrow;
    if (j->dtype == ONX_DTYPE_F32) {
        for (size_t i = 0; i < n; i++) {
            memcpy(&narrow, from + i * sizeof narrow, sizeof narrow);
            sum[i] += weight * (double)narrow;
        }
        return;
    }
    for (size_t done = 0; done < n; done += CHUNK) {
        size_t some = n - done < CHUNK ? n - done : CHUNK;
        (void)onx_dtype_convert(j->dtype, from + done * j->size, ONX_DTYPE_F64, wide, some, false);
        for (size_t i = 0; i < some; i++) sum[done + i] += weight * wide[i];
    }
}

/* Positions from … to-1 of the last axis, of all rows of the source. */
static void add_rows(const job *j, const source *s, const block *b, int64_t from, int64_t to,
                     double *sum) {
    size_t inner = (size_t)j->plan->inner, n = (size_t)b->n, width = (size_t)(to - from);
    for (size_t i = 0; i < width * n; i++) sum[i] = 0;
    for (size_t tap = 0; tap < s->count; tap++) {
        size_t rest = tap, at = s->at + (size_t)from * inner + (size_t)b->at;
        double weight = 1;
        for (size_t i = 0; i < s->n; rest /= s->width[i], i++) {
            weight *= s->weight[i][rest % s->width[i]];
            at += rest % s->width[i] * s->stride[i];
        }
        if (weight == 0) continue;
        if (n == inner)
            add_elements(j, at, width * n, weight, sum);
        else
            for (size_t p = 0; p < width; p++)
                add_elements(j, at + p * inner, n, weight, sum + p * n);
    }
}

/* One position: n elements, each of `width` that are n apart. */
static void blend(const double *sum, const double *weight, size_t width, size_t n, double *out) {
    for (size_t i = 0; i < n; i++) {
        double value = 0;
        for (size_t k = 0; k < width; k++) value += weight[k] * sum[k * n + i];
        out[i] = value;
    }
}

static bool is_integer(onx_dtype dtype) {
    return ONX_T_INTS >> dtype & 1;
}

static void weigh_block(const job *j, const block *b, double *scratch) {
    const onx_resize_axis *axis = &j->plan->axes[j->plan->last];
    const onx_resize_table *table = &j->tables[j->plan->last];
    const source s = source_of(j, b->row);
    size_t n = (size_t)b->n, count = (size_t)(b->to - b->from) * n;
    double *sum = scratch + BLOCK;
    int64_t low = INT64_MAX, high = 0, width = (int64_t)axis->width;
    for (int64_t o = b->from; o < b->to; o++) {
        int64_t first = table->first[o];
        if (first >= 0 && first < low) low = first;
        if (first + width > high && first >= 0) high = first + width;
    }
    if (!s.outside && low < high) add_rows(j, &s, b, low, high, sum);
    for (int64_t o = b->from; o < b->to; o++) {
        double *out = scratch + (size_t)(o - b->from) * n;
        if (!s.outside && table->first[o] >= 0)
            blend(sum + (size_t)(table->first[o] - low) * n,
                  table->weight + (size_t)o * axis->width, axis->width, n, out);
        else
            for (size_t i = 0; i < n; i++) out[i] = i % j->parts ? 0 : j->state->extrapolation;
    }
    if (is_integer(j->dtype))
        for (size_t i = 0; i < count; i++) scratch[i] = rint(scratch[i]);
    size_t at = (size_t)((b->row * axis->out + b->from) * j->plan->inner + b->at);
    (void)onx_dtype_convert(ONX_DTYPE_F64, scratch, j->dtype, j->y + at * j->size, count, false);
}

/* ── Nearest ── */

/* n positions of `size` bytes each; those that lie outside are left alone. */
static inline void move_each(const char *from, const int64_t *first, size_t n, size_t size,
                             char *to) {
    for (size_t i = 0; i < n; i++)
        if (first[i] >= 0) memcpy(to + i * size, from + (size_t)first[i] * size, size);
}

/* The same, so that the compiler knows the common sizes. */
static void move(const char *from, const int64_t *first, size_t n, size_t size, char *to) {
    switch (size) {
    case 1: move_each(from, first, n, 1, to); break;
    case 2: move_each(from, first, n, 2, to); break;
    case 4: move_each(from, first, n, 4, to); break;
    case 8: move_each(from, first, n, 8, to); break;
    default: move_each(from, first, n, size, to);
    }
}

static void fill_outside(const job *j, char *to, size_t n) {
    for (size_t i = 0; i < n; i++) memcpy(to + i * j->size, j->outside, j->size);
}

static void move_block(const job *j, const block *b) {
    const onx_resize_axis *axis = &j->plan->axes[j->plan->last];
    const int64_t *first = j->tables[j->plan->last].first;
    const source s = source_of(j, b->row);
    size_t inner = (size_t)j->plan->inner, n = (size_t)b->n;
    char *to = j->y + (size_t)((b->row * axis->out + b->from) * j->plan->inner + b->at) * j->size;
    if (s.outside) {
        fill_outside(j, to, (size_t)(b->to - b->from) * n);
        return;
    }
    const char *from = j->x + (s.at + (size_t)b->at) * j->size;
    if (n == inner)
        move(from, first + b->from, (size_t)(b->to - b->from), inner * j->size, to);
    else if (first[b->from] >= 0) /* the only position of the block */
        memcpy(to, from + (size_t)first[b->from] * inner * j->size, n * j->size);
    for (int64_t o = b->from; o < b->to && j->state->crops; o++)
        if (first[o] < 0) fill_outside(j, to + (size_t)(o - b->from) * n * j->size, n);
}

/* ── All of it ── */

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    size_t first = index * j->per_task;
    size_t last = j->units - first < j->per_task ? j->units : first + j->per_task;
    for (size_t unit = first; unit < last; unit++) {
        block b = block_of(j, unit);
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        if (j->state->mode == ONX_RESIZE_NEAREST)
            move_block(j, &b);
        else
            weigh_block(j, &b, scratch);
    }
    return ONX_OK;
}

/* The value that stands for what lies outside, in the type of the output. */
static void make_outside(job *j, onx_dtype dtype) {
    double value = j->state->extrapolation;
    if (dtype == ONX_DTYPE_STRING) return;
    if (is_integer(dtype)) value = rint(value);
    (void)onx_dtype_convert(ONX_DTYPE_F64, &value, dtype, j->outside, 1, false);
}

static void read_roi(const onx_call *call, onx_resize_axis *axis) {
    const onx_operand *roi = call->in[1];
    onx_operand_get(roi, axis->roi, 1, &axis->start);
    onx_operand_get(roi, (size_t)roi->count / 2 + axis->roi, 1, &axis->end);
}

static void make_tables(onx_call *call, job *j) {
    char *memory = (char *)call->scratch + j->plan->moved;
    size_t stride = (size_t)parts_of(j->state, call->in[0]), bytes = 0;
    for (size_t d = j->plan->rank; d-- > 0;) {
        onx_resize_axis axis = j->plan->axes[d];
        j->strides[d] = stride;
        stride *= (size_t)axis.in;
        if (axis.same) continue;
        if (j->state->crops && axis.roi != SIZE_MAX) read_roi(call, &axis);
        j->tables[d] = onx_resize_table_make(j->state, &axis, memory);
        if (onx_resize_table_bytes(j->state, &axis, &bytes)) memory += bytes;
    }
}

static onx_status copy(onx_call *call, const char *from, char *to) {
    onx_copy all = onx_copy_begin(onx_move_size((onx_dtype)call->in[0]->dtype));
    onx_copy_dim(&all, call->in[0]->count, 1, 1);
    return onx_copy_run(call, &all, from, to);
}

/* Blocks that are about a millisecond's work. */
static size_t per_task(const job *j) {
    const onx_resize_axis *last = &j->plan->axes[j->plan->last];
    double cols = (double)(last->out < j->plan->cols ? last->out : j->plan->cols);
    double rows = 1, part = (double)j->plan->part, work = cols * part * (double)last->width;
    for (size_t d = 0; d < j->plan->last; d++) rows *= (double)j->plan->axes[d].width;
    if (j->state->mode != ONX_RESIZE_NEAREST) work += rows * (double)last->in * part;
    return 1 + (size_t)(0x1p18 / work);
}

onx_status onx_resize_run(onx_call *call) {
    const onx_resize_plan *plan = call->plan;
    onx_dtype dtype = (onx_dtype)call->in[0]->dtype;
    onx_mover mover = onx_move_begin(call);
    job j = {.plan = plan, .state = call->state, .x = onx_move_in(&mover, 0), .dtype = dtype};
    j.y = onx_move_out(&mover, 0);
    j.size = onx_move_size(dtype);
    if (!j.y) return onx_move_end(call, 0, j.y);
    if (plan->last == plan->rank) {
        ONX_TRY(copy(call, j.x, j.y));
        return onx_move_end(call, 0, j.y);
    }
    make_outside(&j, dtype);
    make_tables(call, &j);
    j.parts = (size_t)parts_of(j.state, call->in[0]);
    if (j.parts == 2) {
        j.dtype = dtype == ONX_DTYPE_C64 ? ONX_DTYPE_F32 : ONX_DTYPE_F64;
        j.size /= 2;
    }
    int64_t out = plan->axes[plan->last].out;
    j.blocks = (size_t)((out + plan->cols - 1) / plan->cols) *
               (size_t)((plan->inner + plan->part - 1) / plan->part);
    j.units = (size_t)plan->rows * j.blocks;
    j.per_task = per_task(&j);
    ONX_TRY(onx_call_parallel(call, (j.units + j.per_task - 1) / j.per_task, task, &j));
    return onx_move_end(call, 0, j.y);
}
