/* resize_simd.c: Resize of float32 along up to three axes that follow one another: a row of the
 * output is a sum of rows of the input, and then each of its elements a sum of elements of that;
 * elements are numbers, or, where other axes follow, as with channels last, so many of them.
 * ResizeBlocked does it in the blocked layout. Where a roi chooses what is seen, or other axes
 * change, Resize is left to the plain kernel. */
#include "ops/resize/grid_sample_simd.h"
#include "ops/resize/resize_ref.h"

enum { TASK_FLOATS = 1 << 16, AXES = 3, MANY = 16 };

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
    onx_resize_axis axes[AXES];
    size_t planes, lanes; /* [planes][depth][height][width][lanes] */
    size_t rows;          /* of the output, in a task */
    size_t table;         /* bytes of the largest table, as the plain kernel makes it */
} plan;

typedef struct job {
    axis z, y, x;
    bool nearest;
    const float *from;
    float *to;
} job;

static onx_status init(onx_call *call) {
    ONX_TRY(onx_resize_init(call));
    const onx_resize_state *s = call->state;
    const onx_operand *x = call->in[0];
    if (s->crops) return ONX_UNSUPPORTED;
    if (!call->op->domain) return ONX_OK;
    if (call->out[0]) call->out[0]->layout = VF;
    return x->layout == VF && x->rank == 4 ? ONX_OK : ONX_UNSUPPORTED;
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

/* Which axes are resized: up to three that end with the last one that changes (of blocks, with the
 * width); those of them that stay are planes, unless one before them changes. False: there are
 * more. */
static bool choose_axes(const onx_call *call, plan *p) {
    const onx_resize_plan *r = &p->sizes;
    const onx_operand *x = call->in[0];
    size_t last = x->layout ? 3 : r->last, first = 0;
    if (last >= r->rank) return false;
    while (first < last && r->axes[first].same) first++;
    if (x->layout && first > 2) first = 2;
    if (last - first >= AXES) return false;
    p->planes = p->lanes = 1;
    for (size_t i = 0; i < AXES; i++) {
        size_t at = first + i + last - first - (AXES - 1); /* the last one is the last */
        bool there = i + last - first >= AXES - 1;
        p->axes[i] = there ? r->axes[at] : (onx_resize_axis){1, 1, 1, 0, 1, SIZE_MAX, true, 1};
    }
    for (size_t i = 0; i < first; i++) p->planes *= (size_t)x->dims[i];
    for (size_t i = last + 1; i < r->rank; i++) p->lanes *= (size_t)x->dims[i];
    if (x->layout) p->planes = (size_t)x->dims[0] * (((size_t)x->dims[1] + VF - 1) / VF);
    if (x->layout) p->lanes = VF;
    return !x->layout || (r->axes[0].same && r->axes[1].same);
}

static onx_status bind(onx_call *call) {
    const onx_operand *x = call->in[0];
    plan *p = call->plan;
    size_t bytes = 0, row;
    ONX_TRY(onx_resize_bind(call, &p->sizes));
    p->other = !x->count || !choose_axes(call, p);
    if (p->other && x->layout && x->count)
        return onx_call_fail(call, ONX_UNSUPPORTED, "blocks are resized in height and width alone");
    if (p->other) return onx_resize_place(call);
    ONX_TRY(onx_call_layout(call, 0, x->layout));
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    p->rows = TASK_FLOATS / ((size_t)p->axes[2].out * p->lanes + 1) + 1;
    for (size_t i = 0; i < AXES; i++)
        if (!axis_bytes(call->state, &p->axes[i], &p->table, &bytes))
            return onx_fail_nomem(call->diag);
    if (!onx_add_size(bytes, p->table, &call->scratch_bytes) ||
        !onx_mul_size((size_t)p->axes[2].in, p->lanes, &row) || !onx_add_size(row, VF, &row) ||
        !onx_mul_size(row, sizeof(float), &call->scratch_each))
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

/* Rows of n floats, with weights; what out[0 … n-1] has of others. */
typedef struct rows {
    size_t count;
    bool more; /* out is a sum already */
    const float *row[MANY];
    float weight[MANY];
} rows;

static void add_some(rows *r, size_t n, float *out) {
    for (size_t i = 0; i < n; i += VF) {
        size_t lanes = n - i < VF ? n - i : VF;
        vf sum = r->more ? vf_load_n(out + i, lanes) : vf_zero();
        if (lanes == VF)
            for (size_t k = 0; k < r->count; k++)
                sum = vf_fma(vf_load(r->row[k] + i), vf_set(r->weight[k]), sum);
        else
            for (size_t k = 0; k < r->count; k++)
                sum = vf_fma(vf_load_n(r->row[k] + i, lanes), vf_set(r->weight[k]), sum);
        vf_store_n(out + i, sum, lanes);
    }
    r->more = true;
    r->count = 0;
}

/* The weighted sum of rows of n floats that row (oz, oy) of the output is made of. */
static void add_rows(const job *j, size_t oz, size_t oy, const float *from, size_t n, float *out) {
    const axis *z = &j->z, *y = &j->y;
    rows r;
    r.count = 0;
    r.more = false;
    for (size_t kz = 0; kz < z->width; kz++)
        for (size_t ky = 0; ky < y->width; ky++) {
            float weight = z->weight[kz * z->room + oz] * y->weight[ky * y->room + oy];
            if (weight == 0) continue;
            r.row[r.count] =
                from + (((size_t)z->first[oz] + kz) * y->in + (size_t)y->first[oy] + ky) * n;
            r.weight[r.count] = weight;
            if (++r.count == MANY) add_some(&r, n, out);
        }
    if (r.count || !r.more) add_some(&r, n, out);
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
/* Of elements that are `lanes` numbers; a vector more than the row can be read. */
static void add_columns_of_lanes(const axis *x, const float *row, size_t lanes, float *out) {
    for (size_t o = 0; o < x->out; o++, out += lanes) {
        const float *from = row + (size_t)x->first[o] * lanes, *w = x->weight + o;
        for (size_t i = 0; i < lanes; i += VF) {
            vf sum = vf_load(from + i) * w[0];
            for (size_t k = 1; k < x->width; k++)
                sum = vf_fma(vf_load(from + k * lanes + i), vf_set(w[k * x->room]), sum);
            vf_store_n(out + i, sum, lanes - i < VF ? lanes - i : VF);
        }
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
static void choose_lanes(const axis *x, const float *row, size_t lanes, float *out) {
    for (size_t o = 0; o < x->out; o++, out += lanes)
        memcpy(out, row + (size_t)x->first[o] * lanes, lanes * sizeof *out);
}

/* Row (oz, oy) of a plane that begins at `from`. */
static void make_row(const job *j, size_t lanes, size_t oz, size_t oy, const float *from,
                     float *row, float *to) {
    size_t n = j->x.in * lanes;
    if (j->nearest) {
        const float *near = from + ((size_t)j->z.first[oz] * j->y.in + (size_t)j->y.first[oy]) * n;
        lanes > 1 ? choose_lanes(&j->x, near, lanes, to) : choose_columns(&j->x, near, to);
        return;
    }
    add_rows(j, oz, oy, from, n, row);
    if (lanes > 1)
        add_columns_of_lanes(&j->x, row, lanes, to);
    else if (j->x.width == 2 && j->x.near)
        add_neighbours(&j->x, row, to);
    else
        add_columns(&j->x, row, to);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const plan *p = call->plan;
    size_t each = j->z.out * j->y.out, all = p->planes * each, first = index * p->rows;
    size_t last = all - first < p->rows ? all : first + p->rows;
    size_t n = j->x.out * p->lanes, plane = j->z.in * j->y.in * j->x.in * p->lanes;
    for (size_t i = first; i < last; i++) {
        size_t oy = i % j->y.out;
        float *to = j->to + i * n;
        if (j->nearest && i > first && oy && j->y.first[oy] == j->y.first[oy - 1])
            memcpy(to, to - n, n * sizeof *to);
        else
            make_row(j, p->lanes, i % each / j->y.out, oy, j->from + i / each * plane, scratch, to);
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
    j.z = axis_make(s, &p->axes[0], table, &memory);
    j.y = axis_make(s, &p->axes[1], table, &memory);
    j.x = axis_make(s, &p->axes[2], table, &memory);
    j.from = call->in[0]->data;
    j.to = call->out[0]->data;
    size_t all = p->planes * j.z.out * j.y.out;
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
    {.op = "GridSample",
     .first = 16,
     .types = {ONX_T(F32), ONX_T(F32)},
     .name = "grid_sample_f32",
     .init = ONX_TIER(onx_grid_sample_init),
     .bind = ONX_TIER(onx_grid_sample_bind),
     .run = ONX_TIER(onx_grid_sample_run)},
    {0},
};
