/* concat.c: tensors joined, taken apart and repeated: Concat, Split, Expand, Tile: meaning. */
#include "ops/op.h"

static const onx_sym **new_dims(onx_infer *in, size_t n) {
    return onx_arena_array(onx_infer_arena(in), n + 1, sizeof(const onx_sym *));
}

static onx_status axis_fails(onx_infer *in, int64_t axis, size_t rank) {
    return onx_infer_fail(in, "axis %lld is out of range for rank %zu", (long long)axis, rank);
}

/* ── Concat ──────────────────────────────────────────────────────────────────────────────────── */

/* In opset 1, axis could be left out, and was 1. */
static int64_t concat_axis(const onx_infer *in) {
    bool written = onx_op_has(onx_infer_node(in), "axis");
    return written || onx_infer_op(in)->since > 1 ? onx_infer_int(in, "axis") : 1;
}

/* One more input: sizes along the axis add up, the others are equal. */
static onx_status append(onx_infer *in, size_t index, size_t axis, size_t rank,
                         const onx_sym **dims) {
    const onx_fact *next = onx_infer_in(in, index);
    if (!next->ranked) {
        dims[axis] = NULL;
        return ONX_OK;
    }
    if (next->rank != rank)
        return onx_infer_fail(in, "input %zu has rank %zu, those before it rank %zu", index,
                              next->rank, rank);
    for (size_t i = 0; i < rank; i++) {
        int64_t a, b;
        if (i == axis) continue;
        if (onx_sym_is_int(dims[i], &a) && onx_sym_is_int(next->dims[i], &b) && a != b)
            return onx_infer_fail(in, "dimension %zu of input %zu is %lld, of those before it %lld",
                                  i, index, (long long)b, (long long)a);
        onx_extent size = {"size beside the axis", dims[i]};
        ONX_TRY(onx_infer_meet(in, &size, next->dims[i]));
        dims[i] = size.size;
    }
    const onx_sym *sum = onx_sym_add(onx_infer_syms(in), dims[axis], next->dims[axis]);
    if (!sum && dims[axis] && next->dims[axis])
        onx_infer_lost(in, 0, axis, "the sizes of the inputs add up to too long an expression");
    dims[axis] = sum;
    return ONX_OK;
}

/* The elements of all inputs, as far as they are known: input after input within each of the steps
 * before the axis. */
static onx_status concat_elems(onx_infer *in, size_t axis) {
    const onx_fact *out = onx_infer_out(in, 0);
    int64_t all[ONX_RANK_MAX], dims[ONX_RANK_MAX];
    size_t n, count, outer = 1, at = 0;
    if (!onx_fact_counts(out, &n, all)) return ONX_OK;
    const onx_sym **elems = new_dims(in, n);
    if (!elems) return ONX_NO_MEMORY;
    for (size_t d = 0; d < axis; d++) outer *= (size_t)all[d];
    for (size_t step = 0; step < outer; step++)
        for (size_t i = 0; i < onx_infer_n_in(in); i++) {
            const onx_fact *fact = onx_infer_in(in, i);
            if (!onx_fact_counts(fact, &count, dims) || count % outer || n - at < count / outer)
                return ONX_OK;
            bool known = fact->elems && fact->n_elems == count;
            for (size_t k = 0; k < count / outer; k++)
                elems[at++] = known ? fact->elems[step * (count / outer) + k] : NULL;
        }
    return onx_infer_elems(in, 0, n, elems);
}

static onx_status infer_concat(onx_infer *in) {
    const onx_fact *first = onx_infer_in(in, 0);
    size_t known = 0, rank, axis, n_in = onx_infer_n_in(in);
    ONX_TRY(onx_infer_unranked(in, 0, first->dtype));
    while (known < n_in && !onx_infer_in(in, known)->ranked) known++;
    if (known == n_in) return ONX_OK;
    rank = onx_infer_in(in, known)->rank;
    if (!onx_axis(concat_axis(in), rank, &axis)) return axis_fails(in, concat_axis(in), rank);
    const onx_sym **dims = new_dims(in, rank);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < rank; i++) dims[i] = onx_infer_in(in, known)->dims[i];
    dims[axis] = onx_sym_int(onx_infer_syms(in), 0);
    for (size_t i = 0; i < n_in; i++) ONX_TRY(append(in, i, axis, rank, dims));
    ONX_TRY(onx_infer_tensor(in, 0, first->dtype, rank, dims));
    for (size_t i = 0; i < n_in; i++)
        if (onx_fact_has_elems(onx_infer_in(in, i))) return concat_elems(in, axis);
    return ONX_OK;
}

/* ── Split ───────────────────────────────────────────────────────────────────────────────────── */

/* Sizes of the parts: as listed, or even ones; NULL where not known. */
static onx_status part_sizes(onx_infer *in, const onx_sym *whole, const onx_sym **parts) {
    onx_syms *syms = onx_infer_syms(in);
    size_t n_out = onx_infer_n_out(in), n;
    const int64_t *sizes;
    int64_t size, sum = 0;
    if (onx_infer_list(in, "split", 1, &n, &sizes)) {
        if (n != n_out) return onx_infer_fail(in, "%zu sizes are listed for %zu outputs", n, n_out);
        for (size_t i = 0; i < n; i++) {
            if (sizes[i] < 0 || !onx_add_i64(sum, sizes[i], &sum))
                return onx_infer_fail(in, "size %zu of 'split' is out of range", i);
            parts[i] = onx_sym_int(syms, sizes[i]);
        }
        if (!onx_sym_is_int(whole, &size) || size == sum) return ONX_OK;
        return onx_infer_fail(in, "the sizes in 'split' add up to %lld, but the dimension is %lld",
                              (long long)sum, (long long)size);
    }
    if (onx_infer_has_in(in, 1)) {
        const onx_fact *list = onx_infer_in(in, 1);
        bool listed = onx_fact_has_elems(list) && list->n_elems == n_out;
        for (size_t i = 0; listed && i < n_out; i++) parts[i] = list->elems[i];
        return ONX_OK;
    }
    if (!n_out) return ONX_OK;
    bool counted = onx_op_has(onx_infer_node(in), "num_outputs");
    if (counted && onx_infer_int(in, "num_outputs") != (int64_t)n_out)
        return onx_infer_fail(in, "num_outputs is %lld; the node has %zu outputs",
                              (long long)onx_infer_int(in, "num_outputs"), n_out);
    const onx_sym *count = onx_sym_int(syms, (int64_t)n_out);
    const onx_sym *even = onx_sym_ceildiv(syms, whole, count), *left = whole;
    bool whole_known = onx_sym_is_int(whole, &size);
    if (onx_infer_op(in)->since < 18 && whole_known && size % (int64_t)n_out)
        return onx_infer_fail(in, "a dimension of %lld cannot be split into %zu equal parts",
                              (long long)size, n_out);
    if (onx_infer_op(in)->since < 18) even = onx_sym_floordiv(syms, whole, count);
    for (size_t i = 0; i < n_out; i++) { /* the last parts are smaller, or empty */
        bool exact = whole_known || onx_infer_op(in)->since < 18;
        parts[i] = exact ? onx_sym_min(syms, even, left) : i + 1 < n_out ? even : left;
        left = onx_sym_sub(syms, left, parts[i]);
    }
    return ONX_OK;
}

static onx_status infer_split(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    size_t n_out = onx_infer_n_out(in), axis, from = 0;
    bool given = onx_infer_has_in(in, 1), counted = onx_op_has(onx_infer_node(in), "num_outputs");
    if (onx_infer_op(in)->since >= 18 && given == counted)
        return onx_infer_fail(in,
                              "Split needs either the input split or the attribute num_outputs");
    for (size_t i = 0; i < n_out; i++) ONX_TRY(onx_infer_unranked(in, i, data->dtype));
    if (!data->ranked) return ONX_OK;
    if (!onx_axis(onx_infer_int(in, "axis"), data->rank, &axis))
        return axis_fails(in, onx_infer_int(in, "axis"), data->rank);
    const onx_sym **parts = new_dims(in, n_out), **dims = new_dims(in, data->rank);
    if (!parts || !dims) return ONX_NO_MEMORY;
    ONX_TRY(part_sizes(in, data->dims[axis], parts));
    for (size_t i = 0; i < data->rank; i++) dims[i] = data->dims[i];
    for (size_t i = 0; i < n_out; i++) {
        int64_t size;
        dims[axis] = parts[i];
        ONX_TRY(onx_infer_tensor(in, i, data->dtype, data->rank, dims));
        if (from == SIZE_MAX || !data->elems || data->rank != 1) continue;
        bool inside = onx_sym_is_int(parts[i], &size) && (size_t)size <= data->n_elems - from;
        if (inside) ONX_TRY(onx_infer_elems(in, i, (size_t)size, data->elems + from));
        from = inside ? from + (size_t)size : SIZE_MAX;
    }
    return ONX_OK;
}

/* ── Expand, Tile ────────────────────────────────────────────────────────────────────────────── */

static onx_status infer_expand(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0), *shape = onx_infer_in(in, 1);
    int64_t n = 0;
    ONX_TRY(onx_infer_check_rank(in, 1, 1, 1));
    ONX_TRY(onx_infer_unranked(in, 0, data->dtype));
    if (!data->ranked) return ONX_OK;
    const onx_sym *open[ONX_RANK_MAX] = {NULL};
    bool counted = shape->ranked && onx_sym_is_int(shape->dims[0], &n) && n >= 0;
    if (!shape->elems && (!counted || n > ONX_RANK_MAX)) return ONX_OK;
    onx_fact target = {.rank = shape->n_elems, .dims = shape->elems};
    if (!shape->elems) target = (onx_fact){.rank = (size_t)n, .dims = open};
    size_t rank;
    const onx_sym *const *dims;
    if (!onx_infer_broadcast_dims(in, data, &target, &rank, &dims))
        return onx_infer_fail(in, "the tensor does not broadcast to the shape it is to have");
    if (!dims) return ONX_NO_MEMORY;
    ONX_TRY(onx_infer_tensor(in, 0, data->dtype, rank, dims));
    return onx_infer_expanded_elems(in);
}

/* In opset 1: `tiles` and `axis`, numbers of the type of the data. Only the rank is known then. */
static onx_status infer_tile(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0), *repeats = onx_infer_in(in, 1);
    if (onx_infer_op(in)->since > 1) ONX_TRY(onx_infer_check_rank(in, 1, 1, 1));
    ONX_TRY(onx_infer_unranked(in, 0, data->dtype));
    if (!data->ranked) return ONX_OK;
    bool known = onx_infer_op(in)->since > 1 && repeats->elems;
    if (known && repeats->n_elems != data->rank)
        return onx_infer_fail(in, "%zu repeats are listed for rank %zu", repeats->n_elems,
                              data->rank);
    const onx_sym **dims = new_dims(in, data->rank);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < data->rank; i++)
        dims[i] = known ? onx_sym_mul(onx_infer_syms(in), data->dims[i], repeats->elems[i]) : NULL;
    ONX_TRY(onx_infer_tensor(in, 0, data->dtype, data->rank, dims));
    return onx_infer_expanded_elems(in);
}

/* Sizes as those of X0, but for the channels, of which there are as many as `from` lists. */
static onx_status infer_channels(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    size_t n = 0;
    (void)onx_op_ints(onx_infer_node(in), "from", &n);
    if (!x->ranked || x->rank != 4) return onx_infer_unranked(in, 0, x->dtype);
    const onx_sym *dims[4] = {x->dims[0], onx_sym_int(onx_infer_syms(in), (int64_t)n), x->dims[2],
                              x->dims[3]};
    return onx_infer_tensor(in, 0, x->dtype, 4, dims);
}

#define CONCAT_4 "(inputs*:T) -> (concat_result:T) {axis:int} "
#define SPLIT_2 "(input:T) -> (outputs*:T) {axis:int=0, split?:ints} "
#define EXPAND_8 "(input:T, shape:int64) -> (output:T) "
#define TILE_6 "(input:T, repeats:T1) -> (output:T) "

extern onx_op_rows onx_ops_concat;
onx_op_rows onx_ops_concat = {
    {"Concat", 1, "(inputs*:T) -> (concat_result:T) {axis?:int} [T:f0]", .infer = infer_concat},
    {"Concat", 4, CONCAT_4 "[T:all1]", .infer = infer_concat},
    {"Concat", 11, CONCAT_4 "[T:all1]", .infer = infer_concat},
    {"Concat", 13, CONCAT_4 "[T:all13]", .infer = infer_concat},
    {"Split", 1, "(input:T, split?:T) -> (outputs...*:T) {axis?:int, split?:ints} [T:f0]",
     .infer = infer_split},
    {"Split", 2, SPLIT_2 "[T:all1]", .infer = infer_split},
    {"Split", 11, SPLIT_2 "[T:all1]", .infer = infer_split},
    {"Split", 13, "(input:T, split?:int64) -> (outputs*:T) {axis:int=0} [T:all13]",
     .infer = infer_split},
    {"Split", 18,
     "(input:T, split?:int64) -> (outputs*:T) {axis:int=0, num_outputs?:int} [T:all13]",
     .infer = infer_split},
    {"Expand", 8, EXPAND_8 "[T:all1]", .infer = infer_expand},
    {"Expand", 13, EXPAND_8 "[T:all13]", .infer = infer_expand},
    {"Tile", 1, "(input:T, tiles:T, axis:T) -> (output:T) [T:f0, T1:int64]", .infer = infer_tile},
    {"Tile", 6, TILE_6 "[T:all1, T1:int64]", .infer = infer_tile},
    {"Tile", 13, TILE_6 "[T:all13, T1:int64]", .infer = infer_tile},
    {"Channels", 1, "(X*:float) -> (Y:float) {sizes:ints, from:ints, code?:ints, consts?:floats}",
     .infer = infer_channels, .domain = "onx.internal"},
    {0},
};
