/* index.c: indexing with tensors, as NumPy has it: x[mask], x[:, i, j], x[i] = v.
 *
 * The tensors of an index are broadcast together and stand, as one, where the first of them stood
 * or, where others are between them, in front. All forms but the simplest go through GatherND and
 * ScatterND with the indexed dimensions first. */
#include "export/aten/parts.h"

/* What is indexed, and how. */
typedef struct index_plan {
    onx_value *base;
    size_t rank;                 /* of base */
    size_t n;                    /* tensors */
    onx_value *at[ONX_RANK_MAX]; /* integers, of dimension axes[i] */
    size_t axes[ONX_RANK_MAX];
    bool adjacent;   /* no other dimension between them */
    onx_value *mask; /* the one bool tensor, if that is all there is; over [axes[0], …) */
    size_t mask_rank;
} index_plan;

/* A mask stands for the places where it is true: a tensor of integers for each dimension. */
static bool add_mask(onx_export *x, index_plan *p, onx_value *mask, size_t axis) {
    size_t rank = onx_x_rank(x, mask);
    if (rank == SIZE_MAX || rank == 0)
        return onx_x_fail(x, ONX_UNSUPPORTED, "an index that is a bool without dimensions");
    onx_value *places = onx_emit(x, "NonZero", mask);
    for (size_t i = 0; i < rank; i++) {
        p->at[p->n] = onx_x_pick(x, places, 0, (int64_t)i);
        p->axes[p->n++] = axis + i;
    }
    return onx_x_ok(x);
}

static bool is_mask(onx_dtype dtype) {
    return dtype == ONX_DTYPE_BOOL || dtype == ONX_DTYPE_U8;
}

/* Is the only index a mask? */
static const onx_xv *only_mask(const onx_xlist *indices, size_t *at) {
    const onx_xv *found = NULL;
    for (size_t i = 0; i < indices->n; i++) {
        if (indices->v[i].kind != ONX_X_TENSOR) continue;
        if (found || !is_mask(indices->v[i].tensor->dtype)) return NULL;
        found = &indices->v[i];
        *at = i;
    }
    return found;
}

static bool plan_index(onx_export *x, const onx_xv *self, const onx_xlist *indices, bool masks,
                       index_plan *p) {
    *p = (index_plan){.base = onx_xv_value(x, self), .adjacent = true};
    p->rank = onx_x_rank(x, p->base);
    size_t axis = 0;
    const onx_xv *mask = masks ? only_mask(indices, &axis) : NULL;
    if (p->rank == SIZE_MAX) return false;
    if (mask) {
        p->mask = onx_x_cast(x, onx_xv_value(x, mask), ONX_DTYPE_BOOL);
        p->mask_rank = onx_x_rank(x, p->mask);
        p->axes[0] = axis;
        return onx_x_ok(x);
    }
    for (size_t i = 0; i < indices->n && axis < p->rank; i++) {
        const onx_xv *v = &indices->v[i];
        size_t before = axis;
        if (v->kind != ONX_X_TENSOR) {
            axis++;
        } else if (is_mask(v->tensor->dtype)) {
            onx_value *m = onx_x_cast(x, onx_xv_value(x, v), ONX_DTYPE_BOOL);
            axis += onx_x_rank(x, m);
            if (axis > p->rank || !add_mask(x, p, m, before))
                return onx_x_fail(x, ONX_INVALID, "an index has more dimensions than the tensor");
        } else {
            p->at[p->n] = onx_x_cast(x, onx_xv_value(x, v), ONX_DTYPE_I64);
            p->axes[p->n++] = axis++;
        }
    }
    for (size_t i = 1; i < p->n; i++) p->adjacent &= p->axes[i] == p->axes[i - 1] + 1;
    return onx_x_ok(x);
}

/* The indexed dimensions first, the others behind them in order. */
static void front_perm(const index_plan *p, int64_t *perm) {
    size_t k = 0;
    bool used[ONX_RANK_MAX] = {false};
    for (size_t i = 0; i < p->n; i++) perm[k++] = (int64_t)p->axes[i], used[p->axes[i]] = true;
    for (size_t i = 0; i < p->rank; i++)
        if (!used[i]) perm[k++] = (int64_t)i;
}

/* All index tensors as one, the dimension that they index in the last axis. */
static onx_value *stack_indices(onx_export *x, index_plan *p) {
    onx_value *columns[ONX_RANK_MAX];
    if (!onx_lower_broadcast(x, p->n, p->at)) return NULL;
    for (size_t i = 0; i < p->n; i++) columns[i] = onx_x_unsqueeze(x, p->at[i], -1);
    return onx_x_ok(x) ? onx_x_concat(x, p->n, columns, -1) : NULL;
}

/* From [indexed dimensions, others] to where they belong, and back: `b` of them at place `at`. */
static onx_value *place(onx_export *x, onx_value *value, size_t b, size_t at, bool back) {
    int64_t perm[ONX_RANK_MAX];
    size_t rank = onx_x_rank(x, value), k = 0;
    if (rank == SIZE_MAX || !at) return value;
    size_t first = back ? at : b, second = back ? b : at;
    for (size_t i = 0; i < second; i++) perm[k++] = (int64_t)(first + i);
    for (size_t i = 0; i < first; i++) perm[k++] = (int64_t)i;
    for (; k < rank; k++) perm[k] = (int64_t)k;
    return onx_x_transpose(x, value, rank, perm);
}

static onx_value *gather_many(onx_export *x, index_plan *p) {
    int64_t perm[ONX_RANK_MAX];
    front_perm(p, perm);
    onx_value *front = onx_x_transpose(x, p->base, p->rank, perm);
    onx_value *places = stack_indices(x, p);
    size_t b = onx_x_rank(x, p->at[0]);
    if (!front || !places || b == SIZE_MAX) return NULL;
    return place(x, onx_emit(x, "GatherND", front, places), b, p->adjacent ? p->axes[0] : 0, false);
}

/* The mask's dimensions as one: where it is true along it. */
static onx_value *take_mask(onx_export *x, const index_plan *p) {
    size_t axis = p->axes[0], r = p->mask_rank, k = 0;
    onx_value *base = p->base, *mask = p->mask;
    if (r != 1) {
        onx_xv *sizes = onx_x_array(x, p->rank + 1, sizeof *sizes), all = onx_xv_int(x, -1);
        if (!sizes) return NULL;
        for (size_t i = 0; i < axis; i++) sizes[k++] = onx_x_size_of(x, base, i);
        sizes[k++] = all;
        for (size_t i = axis + r; i < p->rank; i++) sizes[k++] = onx_x_size_of(x, base, i);
        base = onx_x_reshape(x, base, k, sizes);
        mask = onx_x_reshape(x, mask, 1, &all);
    }
    if (!base || !mask) return NULL;
    return onx_emit_with(x, "Compress", ONX_ATTRS(ONX_AI("axis", (int64_t)axis)), base, mask);
}

static void lower_index(onx_export *x, const onx_xv *a, onx_xv *out) {
    index_plan p;
    if (!plan_index(x, &a[0], a[1].list, true, &p)) return;
    if (p.mask)
        out[0] = onx_xv_tensor(x, take_mask(x, &p));
    else if (p.n == 1)
        out[0] = onx_xv_tensor(x, onx_emit_with(x, "Gather",
                                                ONX_ATTRS(ONX_AI("axis", (int64_t)p.axes[0])),
                                                p.base, p.at[0]));
    else
        out[0] = p.n ? onx_xv_tensor(x, gather_many(x, &p)) : a[0];
    if (out->kind == ONX_X_TENSOR && p.n + (p.mask != NULL))
        out->tensor->dtype = a[0].tensor->dtype;
}

/* ─ Writing ──────────────────────────────────────────────────────────────────────────────────── */

/* One number everywhere that the mask is true. */
static onx_value *put_masked(onx_export *x, const index_plan *p, onx_value *value) {
    onx_value *mask = p->mask;
    for (size_t i = p->axes[0] + p->mask_rank; i < p->rank; i++)
        mask = onx_x_unsqueeze(x, mask, -1);
    return mask ? onx_emit(x, "Where", mask, value, p->base) : NULL;
}

static onx_value *scatter_many(onx_export *x, index_plan *p, onx_value *values, bool add) {
    int64_t perm[ONX_RANK_MAX], back[ONX_RANK_MAX];
    front_perm(p, perm);
    for (size_t i = 0; i < p->rank; i++) back[perm[i]] = (int64_t)i;
    onx_value *front = onx_x_transpose(x, p->base, p->rank, perm);
    onx_value *places = stack_indices(x, p);
    size_t b = onx_x_rank(x, p->at[0]);
    if (!front || !places || b == SIZE_MAX) return NULL;
    /* The values have, or broadcast to, the shape that reading would give. */
    onx_value *like = onx_emit(x, "GatherND", front, places);
    size_t at = p->adjacent ? p->axes[0] : 0;
    if (at) like = place(x, like, b, at, false);
    values = place(x, onx_lower_expand_like(x, values, like), b, at, true);
    if (!values) return NULL;
    onx_value *done = onx_emit_with(
        x, "ScatterND", add ? ONX_ATTRS(ONX_AS("reduction", "add")) : NULL, front, places, values);
    return onx_x_transpose(x, done, p->rank, back);
}

static bool is_one(onx_export *x, const onx_value *value) {
    const onx_fact *fact = onx_x_fact(x, value);
    int64_t size;
    for (size_t i = 0; i < fact->rank; i++)
        if (!onx_sym_is_int(fact->dims[i], &size) || size != 1) return false;
    return fact->ranked;
}

static void lower_index_put(onx_export *x, const onx_xv *a, onx_xv *out) {
    index_plan p;
    bool add = false;
    onx_xv_known_bool(&a[3], &add);
    onx_value *values = onx_x_as(x, &a[2], onx_x_dtype(x, onx_xv_value(x, &a[0])));
    if (!plan_index(x, &a[0], a[1].list, !add && is_one(x, values), &p) || !values) return;
    if (p.mask)
        out[0] = onx_xv_tensor(x, put_masked(x, &p, values));
    else if (p.n)
        out[0] = onx_xv_tensor(x, scatter_many(x, &p, values, add));
    else
        out[0] = onx_xv_tensor(x, onx_lower_expand_like(x, values, p.base));
}

/* ─ Masks and places ─────────────────────────────────────────────────────────────────────────── */

static void lower_masked_select(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv all = onx_xv_int(x, -1);
    onx_value *both[] = {onx_xv_value(x, &a[0]), onx_xv_value(x, &a[1])};
    if (!onx_lower_broadcast(x, 2, both)) return;
    both[0] = onx_x_reshape(x, both[0], 1, &all);
    both[1] = onx_x_reshape(x, both[1], 1, &all);
    if (both[0] && both[1])
        out[0] = onx_xv_tensor(
            x, onx_emit_with(x, "Compress", ONX_ATTRS(ONX_AI("axis", 0)), both[0], both[1]));
}

/* self where the mask is false, else elements of source in turn. */
static void lower_masked_scatter(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv all = onx_xv_int(x, -1), n;
    onx_value *both[] = {onx_xv_value(x, &a[0]), onx_xv_value(x, &a[1])};
    onx_value *source = onx_x_reshape(x, onx_xv_value(x, &a[2]), 1, &all);
    if (!onx_lower_broadcast(x, 2, both) || !source) return;
    onx_value *places = onx_x_swap(x, onx_emit(x, "NonZero", both[1]), 0, 1);
    n = onx_x_size_of(x, places, 0);
    out[0] = onx_xv_tensor(x, onx_emit(x, "ScatterND", both[0], places,
                                       onx_lower_slice(x, source, 0, onx_xv_int(x, 0), n, 1)));
}

static onx_value *places_of(onx_export *x, const onx_xv *v) {
    onx_value *value = onx_xv_value(x, v);
    return value ? onx_emit(x, "NonZero", value) : NULL;
}

static void lower_nonzero(onx_export *x, const onx_xv *a, onx_xv *out) {
    out[0] = onx_xv_tensor(x, onx_x_swap(x, places_of(x, &a[0]), 0, 1));
}

static void lower_nonzero_list(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t rank = onx_lower_rank(x, &a[0]);
    onx_value *places = places_of(x, &a[0]);
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < rank && onx_x_ok(x); i++)
        onx_xlist_add(x, out->list, onx_xv_tensor(x, onx_x_pick(x, places, 0, (int64_t)i)));
}

const onx_aten onx_aten_index[] = {
    {"index.Tensor(Tensor self, Tensor?[] indices)", lower_index, NULL},
    {"_unsafe_index.Tensor(Tensor self, Tensor?[] indices)", lower_index, NULL},
    {"index_put(Tensor self, Tensor?[] indices, Any values, bool accumulate=False)",
     lower_index_put, NULL},
    {"_unsafe_index_put(Tensor self, Tensor?[] indices, Any values, bool accumulate=False)",
     lower_index_put, NULL},
    {"_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, "
     "bool unsafe=False)",
     lower_index_put, NULL},
    {"masked_select(Tensor self, Tensor mask)", lower_masked_select, NULL},
    {"masked_scatter(Tensor self, Tensor mask, Tensor source)", lower_masked_scatter, NULL},
    {"nonzero(Tensor self)", lower_nonzero, NULL},
    {"argwhere(Tensor self)", lower_nonzero, NULL},
    {"nonzero_numpy(Tensor self)", lower_nonzero_list, NULL},
    {"where(Tensor condition)", lower_nonzero_list, NULL},
    {NULL, NULL, NULL},
};
