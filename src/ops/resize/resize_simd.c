/* resize_simd.c: Resize of float32 images along height and width: a row of the output is a sum of
 * rows of the input, and then each of its elements a sum of elements of that. ResizeBlocked does it
 * in the blocked layout. Where a roi chooses what is seen, or other axes change, Resize is left to
 * the plain kernel. */
#include "cpu/vec.h"
#include "ops/resize/resize_ref.h"

enum { TASK_FLOATS = 1 << 16 };

/* Element o of the output is the sum of the elements from first[o] on, the k-th times
 * weight[k*room + o]. */
typedef struct axis {
    size_t in, out, width;
    size_t room; /* `out`, rounded up to whole vectors: past it there are zeros */
    int64_t *first;
    int32_t *lane; /* first[o], counted from that of the vector */
    bool near;     /* what two neighbours give for a vector of the output lies in one vector */
    float *weight;
} axis;

typedef struct plan {
    onx_resize_plan sizes; /* first: it is that of the plain kernel */
    bool other;            /* … which runs */
    size_t planes, lanes;  /* [planes][height][width][lanes] */
    size_t rows;           /* of the output, in a task */
    size_t table;          /* bytes of the largest table, as the plain kernel makes it */
} plan;

typedef struct job {
    axis y, x;
    bool nearest;
    const float *from;
    float *to;
} job;

static onx_status init(onx_call *call) {
    ONX_TRY(onx_resize_init(call));
    const onx_resize_state *s = call->state;
    const onx_operand *x = call->in[0];
    if (s->crops || x->rank != 4) return ONX_UNSUPPORTED;
    if (!call->op->domain) return ONX_OK;
    if (call->out[0]) call->out[0]->layout = VF;
    return x->layout == VF ? ONX_OK : ONX_UNSUPPORTED;
}

static size_t room_of(const onx_resize_axis *a) {
    return ((size_t)a->out + VF - 1) / VF * VF;
}

/* Floats and table of an axis, in scratch. */
static bool axis_bytes(const onx_resize_state *s, onx_resize_axis *a, size_t *table, size_t *all) {
    size_t bytes, each;
    onx_resize_width(s, a);
    if (!onx_resize_table_bytes(s, a, &bytes)) return false;
    if (bytes > *table) *table = bytes;
    return onx_mul_size(a->width, sizeof(float), &each) &&
           onx_add_size(each, sizeof(int64_t) + sizeof(int32_t), &each) &&
           onx_mul_size(room_of(a), each, &bytes) && onx_add_size(*all, bytes, all);
}

static onx_status bind(onx_call *call) {
    const onx_operand *x = call->in[0];
    plan *p = call->plan;
    onx_resize_axis *axes = p->sizes.axes;
    size_t bytes = 0;
    ONX_TRY(onx_resize_bind(call, &p->sizes));
    p->other = x->rank != 4 || !axes[0].same || !axes[1].same;
    if (p->other && x->layout)
        return onx_call_fail(call, ONX_UNSUPPORTED, "blocks are resized in height and width alone");
    if (p->other || !x->count) return onx_resize_place(call);
    ONX_TRY(onx_call_layout(call, 0, x->layout));
    p->lanes = x->layout ? VF : 1;
    p->planes = (size_t)x->dims[0] * (((size_t)x->dims[1] + p->lanes - 1) / p->lanes);
    p->rows = TASK_FLOATS / ((size_t)axes[3].out * p->lanes + 1) + 1;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    if (!axis_bytes(call->state, &axes[2], &p->table, &bytes) ||
        !axis_bytes(call->state, &axes[3], &p->table, &bytes) ||
        !onx_add_size(bytes, p->table, &call->scratch_bytes) ||
        !onx_mul_size((size_t)axes[3].in * p->lanes + VF, sizeof(float), &call->scratch_each))
        return onx_fail_nomem(call->diag);
    return ONX_OK;
}

/* `*memory` is for the axis; `table` for what it is made of. */
static axis axis_make(const onx_resize_state *s, const onx_resize_axis *a, char *table,
                      char **memory) {
    axis made = {.in = (size_t)a->in, .out = (size_t)a->out, .width = a->width, .near = true};
    onx_resize_table t = {0};
    bool one = a->same || s->mode == ONX_RESIZE_NEAREST;
    made.room = room_of(a);
    made.first = (int64_t *)(void *)*memory;
    made.weight = (float *)(made.first + made.room);
    made.lane = (int32_t *)(made.weight + made.room * made.width);
    memset(*memory, 0, (size_t)((char *)(made.lane + made.room) - *memory));
    *memory = (char *)(made.lane + made.room);
    if (!a->same) t = onx_resize_table_make(s, a, table);
    for (size_t o = 0; o < made.out; o++) {
        made.first[o] = a->same ? (int64_t)o : t.first[o];
        int64_t lane = made.first[o] - made.first[o / VF * VF];
        made.near &= lane >= 0 && lane + 1 < VF;
        made.lane[o] = made.near ? (int32_t)lane : 0;
        for (size_t k = 0; k < made.width; k++)
            made.weight[k * made.room + o] = one ? 1 : (float)t.weight[o * made.width + k];
    }
    return made;
}

/* out[0 … n-1]: the weighted sum of rows of n floats. */
static void add_rows(const axis *y, size_t o, const float *from, size_t n, float *out) {
    const float *rows = from + (size_t)y->first[o] * n;
    for (size_t i = 0; i < n; i += VF) {
        size_t lanes = n - i < VF ? n - i : VF;
        vf sum = vf_zero();
        for (size_t k = 0; k < y->width; k++)
            if (y->weight[k * y->room + o] != 0)
                sum = vf_fma(vf_load_n(rows + k * n + i, lanes), vf_set(y->weight[k * y->room + o]),
                             sum);
        vf_store_n(out + i, sum, lanes);
    }
}

static void add_columns(const axis *x, const float *row, float *out) {
    for (size_t o = 0; o < x->out; o++) {
        const float *from = row + x->first[o], *w = x->weight + o;
        float sum = from[0] * w[0];
        for (size_t k = 1; k < x->width; k++) sum += from[k] * w[k * x->room];
        memcpy(out + o, &sum, sizeof sum);
    }
}
/* Of two elements each, near each other; a vector more than the row can be read. */
static void add_neighbours(const axis *x, const float *row, float *out) {
    for (size_t o = 0; o < x->out; o += VF) {
        vf in = vf_load(row + x->first[o]);
        vi lane;
        memcpy(&lane, x->lane + o, sizeof lane);
        vf sum = vf_permute(in, lane) * vf_load(x->weight + o);
        sum = vf_fma(vf_permute(in, lane + 1), vf_load(x->weight + x->room + o), sum);
        vf_store_n(out + o, sum, x->out - o < VF ? x->out - o : VF);
    }
}
static void add_columns_of_blocks(const axis *x, const float *row, float *out) {
    for (size_t o = 0; o < x->out; o++) {
        const float *from = row + (size_t)x->first[o] * VF, *w = x->weight + o;
        vf sum = vf_load(from) * w[0];
        for (size_t k = 1; k < x->width; k++)
            sum = vf_fma(vf_load(from + k * VF), vf_set(w[k * x->room]), sum);
        vf_store(out + o * VF, sum);
    }
}

static void choose_columns(const axis *x, const float *row, float *out) {
    for (size_t o = 0; o < x->out && !x->near; o++) memcpy(out + o, row + x->first[o], sizeof *out);
    for (size_t o = 0; o < x->out && x->near; o += VF) {
        size_t first = (size_t)x->first[o], left = x->in - first;
        vf in = left < VF ? vf_load_n(row + first, left) : vf_load(row + first);
        vi lane;
        memcpy(&lane, x->lane + o, sizeof lane);
        vf_store_n(out + o, vf_permute(in, lane), x->out - o < VF ? x->out - o : VF);
    }
}
static void choose_blocks(const axis *x, const float *row, float *out) {
    for (size_t o = 0; o < x->out; o++)
        vf_store(out + o * VF, vf_load(row + (size_t)x->first[o] * VF));
}

static void make_row(const job *j, size_t lanes, size_t o, const float *from, float *row,
                     float *to) {
    size_t n = j->x.in * lanes;
    if (j->nearest) {
        const float *near = from + (size_t)j->y.first[o] * n;
        lanes > 1 ? choose_blocks(&j->x, near, to) : choose_columns(&j->x, near, to);
        return;
    }
    add_rows(&j->y, o, from, n, row);
    if (lanes > 1)
        add_columns_of_blocks(&j->x, row, to);
    else if (j->x.width == 2 && j->x.near)
        add_neighbours(&j->x, row, to);
    else
        add_columns(&j->x, row, to);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const plan *p = call->plan;
    size_t all = p->planes * j->y.out, first = index * p->rows;
    size_t last = all - first < p->rows ? all : first + p->rows;
    size_t n = j->x.out * p->lanes;
    for (size_t i = first; i < last; i++) {
        size_t o = i % j->y.out;
        float *to = j->to + i * n;
        if (j->nearest && i > first && o && j->y.first[o] == j->y.first[o - 1])
            memcpy(to, to - n, n * sizeof *to);
        else
            make_row(j, p->lanes, o, j->from + i / j->y.out * j->y.in * j->x.in * p->lanes, scratch,
                     to);
    }
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    const onx_resize_state *s = call->state;
    const plan *p = call->plan;
    if (p->other) return onx_resize_run(call);
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    char *table = call->scratch, *memory = table + p->table;
    job j = {.nearest = s->mode == ONX_RESIZE_NEAREST};
    j.y = axis_make(s, &p->sizes.axes[2], table, &memory);
    j.x = axis_make(s, &p->sizes.axes[3], table, &memory);
    j.from = call->in[0]->data;
    j.to = call->out[0]->data;
    size_t all = p->planes * j.y.out;
    return onx_call_parallel(call, all / p->rows + (all % p->rows != 0), task, &j);
}

#define ROW                                                                                        \
    .types = {ONX_T(F32), ONX_T_FLOATS, ONX_T(F32), ONX_T(I64)}, .host = 4 | 8,                    \
    .plan_bytes = sizeof(plan), .init = init, .bind = bind, .run = run

extern onx_kernel_rows ONX_TIER(onx_kernels_resize);
onx_kernel_rows ONX_TIER(onx_kernels_resize) = {
    {.op = "Resize", .first = 11, .name = "resize_f32", ROW},
    {.op = "ResizeBlocked",
     .first = 1,
     .name = "resize_blocked_f32",
     .domain = "onx.internal",
     ROW},
    {0},
};
