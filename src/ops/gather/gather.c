/* gather.c: elements chosen by index: Gather, GatherElements, GatherND, ScatterElements, ScatterND,
 * TensorScatter, OneHot, Compress, NonZero, TopK, Unique: meaning. */
#include "ops/op.h"

static const onx_sym **new_dims(onx_infer *in, size_t n) {
    return onx_arena_array(onx_infer_arena(in), n + 1, sizeof(const onx_sym *));
}

static size_t put_dims(const onx_sym **to, size_t at, const onx_sym *const *from, size_t n) {
    for (size_t i = 0; i < n; i++) to[at + i] = from[i];
    return at + n;
}

static onx_status axis_of(onx_infer *in, size_t rank, size_t *out) {
    int64_t axis = onx_infer_int(in, "axis");
    if (onx_axis(axis, rank, out)) return ONX_OK;
    return onx_infer_fail(in, "axis %lld is out of range for rank %zu", (long long)axis, rank);
}

/* Known elements at known indices. */
static onx_status gather_elems(onx_infer *in, size_t axis) {
    const onx_fact *data = onx_infer_in(in, 0);
    int64_t dims[ONX_RANK_MAX], ignored[ONX_RANK_MAX];
    size_t n, count, n_out, inner = 1, at = 0;
    const int64_t *indices;
    if (!onx_fact_has_elems(data) || !onx_fact_counts(data, &count, dims) ||
        count != data->n_elems || !onx_fact_counts(onx_infer_out(in, 0), &n_out, ignored) ||
        !onx_infer_ints(in, 1, &n, &indices) || data->dtype == ONX_DTYPE_F32 ||
        data->dtype == ONX_DTYPE_F64)
        return ONX_OK;
    const onx_sym **elems = new_dims(in, n_out);
    if (!elems) return ONX_NO_MEMORY;
    for (size_t d = axis + 1; d < data->rank; d++) inner *= (size_t)dims[d];
    size_t block = inner * (size_t)dims[axis];
    for (size_t from = 0; block && from < count; from += block)
        for (size_t i = 0; i < n; i++) {
            size_t index;
            if (!onx_axis(indices[i], (size_t)dims[axis], &index))
                return onx_infer_fail(in, "index %lld is out of range for %lld elements",
                                      (long long)indices[i], (long long)dims[axis]);
            for (size_t k = 0; k < inner && at < n_out; k++)
                elems[at++] = data->elems[from + index * inner + k];
        }
    return onx_infer_elems(in, 0, at, elems);
}

/* Known indices, into a dimension of this size. */
static onx_status check_indices(onx_infer *in, const onx_sym *size) {
    size_t n, ignored;
    int64_t most;
    const int64_t *indices;
    if (!onx_sym_is_int(size, &most) || !onx_infer_ints(in, 1, &n, &indices)) return ONX_OK;
    for (size_t i = 0; i < n; i++)
        if (!onx_axis(indices[i], (size_t)most, &ignored))
            return onx_infer_fail(in, "index %lld is out of range for %lld elements",
                                  (long long)indices[i], (long long)most);
    return ONX_OK;
}

static onx_status infer_gather(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0), *indices = onx_infer_in(in, 1);
    size_t axis, n;
    ONX_TRY(onx_infer_unranked(in, 0, data->dtype));
    if (!data->ranked) return ONX_OK;
    ONX_TRY(axis_of(in, data->rank, &axis));
    if (!indices->ranked) return ONX_OK;
    const onx_sym **dims = new_dims(in, data->rank + indices->rank);
    if (!dims) return ONX_NO_MEMORY;
    n = put_dims(dims, 0, data->dims, axis);
    n = put_dims(dims, n, indices->dims, indices->rank);
    n = put_dims(dims, n, data->dims + axis + 1, data->rank - axis - 1);
    ONX_TRY(onx_infer_tensor(in, 0, data->dtype, n, dims));
    ONX_TRY(check_indices(in, data->dims[axis]));
    return gather_elems(in, axis);
}

static onx_status infer_gatherelements(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0), *indices = onx_infer_in(in, 1);
    size_t axis;
    if (!indices->ranked) return onx_infer_unranked(in, 0, data->dtype);
    if (data->ranked) ONX_TRY(axis_of(in, data->rank, &axis));
    if (data->ranked && data->rank != indices->rank)
        return onx_infer_fail(in, "data has rank %zu, indices rank %zu", data->rank, indices->rank);
    ONX_TRY(onx_infer_tensor(in, 0, data->dtype, indices->rank, indices->dims));
    return data->ranked && data->rank == 1 ? gather_elems(in, 0) : ONX_OK;
}

static onx_status infer_gathernd(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0), *indices = onx_infer_in(in, 1);
    int64_t batch = onx_infer_int(in, "batch_dims"), depth;
    ONX_TRY(onx_infer_unranked(in, 0, data->dtype));
    if (!data->ranked || !indices->ranked) return ONX_OK;
    if (!indices->rank || !data->rank) return onx_infer_fail(in, "a scalar has no indices");
    if (batch < 0 || (uint64_t)batch >= indices->rank || (uint64_t)batch >= data->rank)
        return onx_infer_fail(in, "batch_dims %lld is out of range", (long long)batch);
    for (size_t i = 0; i < (size_t)batch; i++)
        ONX_TRY(onx_infer_meet(in, &(onx_extent){"batch size", data->dims[i]}, indices->dims[i]));
    if (!onx_sym_is_int(indices->dims[indices->rank - 1], &depth)) return ONX_OK;
    if (depth < 1 || (uint64_t)depth > data->rank - (uint64_t)batch)
        return onx_infer_fail(in, "indices of length %lld do not fit data of rank %zu",
                              (long long)depth, data->rank);
    const onx_sym **dims = new_dims(in, data->rank + indices->rank);
    if (!dims) return ONX_NO_MEMORY;
    size_t n = put_dims(dims, 0, indices->dims, indices->rank - 1);
    size_t used = (size_t)(batch + depth);
    n = put_dims(dims, n, data->dims + used, data->rank - used);
    ONX_TRY(onx_infer_tensor(in, 0, data->dtype, n, dims));
    return data->rank == 1 && !batch ? gather_elems(in, 0) : ONX_OK;
}

static onx_status infer_onehot(onx_infer *in) {
    const onx_fact *indices = onx_infer_in(in, 0);
    onx_dtype dtype = onx_infer_in(in, 2)->dtype;
    onx_extent one = {"number of depths", onx_sym_int(onx_infer_syms(in), 1)};
    onx_extent two = {"number of values, off and on", onx_sym_int(onx_infer_syms(in), 2)};
    size_t axis;
    ONX_TRY(onx_infer_check_rank(in, 1, 0, 1));
    if (onx_infer_in(in, 1)->rank) ONX_TRY(onx_infer_unify(in, 1, 1, (onx_extent *[]){&one}));
    ONX_TRY(onx_infer_unify(in, 2, 1, (onx_extent *[]){&two}));
    ONX_TRY(onx_infer_check_rank(in, 0, 1, SIZE_MAX));
    if (!indices->ranked) return onx_infer_unranked(in, 0, dtype);
    ONX_TRY(axis_of(in, indices->rank + 1, &axis));
    const onx_sym **dims = new_dims(in, indices->rank + 1);
    if (!dims) return ONX_NO_MEMORY;
    put_dims(dims, 0, indices->dims, axis);
    put_dims(dims, axis + 1, indices->dims + axis, indices->rank - axis);
    const onx_fact *depth = onx_infer_in(in, 1);
    if (onx_fact_has_elems(depth) && depth->n_elems == 1)
        dims[axis] = onx_sym_floor(onx_infer_syms(in), depth->elems[0]);
    return onx_infer_tensor(in, 0, dtype, indices->rank + 1, dims);
}

/* As many as there are ones among the elements of an input; NULL: not known. */
static const onx_sym *count_ones(onx_infer *in, size_t index) {
    size_t n;
    int64_t ones = 0;
    const int64_t *values;
    if (!onx_infer_ints(in, index, &n, &values)) return NULL;
    for (size_t i = 0; i < n; i++) ones += values[i] != 0;
    return onx_sym_int(onx_infer_syms(in), ones);
}

static onx_status infer_compress(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    const onx_sym *chosen = count_ones(in, 1);
    size_t axis = 0;
    ONX_TRY(onx_infer_check_rank(in, 0, 1, SIZE_MAX));
    ONX_TRY(onx_infer_check_rank(in, 1, 1, 1));
    onx_infer_lost(in, 0, ONX_LOST_SHAPE, "it is as many as '%s' chooses",
                   onx_infer_in_name(in, 1));
    if (!onx_op_has(onx_infer_node(in), "axis"))
        return onx_infer_tensor(in, 0, data->dtype, 1, &chosen);
    if (!data->ranked) return onx_infer_unranked(in, 0, data->dtype);
    ONX_TRY(axis_of(in, data->rank, &axis));
    const onx_sym **dims = new_dims(in, data->rank);
    if (!dims) return ONX_NO_MEMORY;
    put_dims(dims, 0, data->dims, data->rank);
    dims[axis] = chosen;
    return onx_infer_tensor(in, 0, data->dtype, data->rank, dims);
}

/* The places of what is not 0, one column each; all elements are known. */
static onx_status nonzero_elems(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    int64_t dims[ONX_RANK_MAX], n_out;
    size_t count, n, column = 0;
    const int64_t *values;
    if (!onx_sym_is_int(count_ones(in, 0), &n_out) || !onx_infer_ints(in, 0, &n, &values) ||
        !onx_fact_counts(data, &count, dims) || n != count)
        return ONX_OK;
    const onx_sym **elems = new_dims(in, data->rank * (size_t)n_out);
    if (!elems) return ONX_NO_MEMORY;
    for (size_t e = 0; e < n; e++) {
        if (values[e] == 0) continue;
        for (size_t d = data->rank, rest = e; d-- > 0; rest /= (size_t)dims[d])
            elems[d * (size_t)n_out + column] =
                onx_sym_int(onx_infer_syms(in), (int64_t)(rest % (size_t)dims[d]));
        column++;
    }
    return onx_infer_elems(in, 0, data->rank * (size_t)n_out, elems);
}

static onx_status infer_nonzero(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    const onx_sym *dims[2] = {NULL, count_ones(in, 0)};
    if (data->ranked) dims[0] = onx_sym_int(onx_infer_syms(in), (int64_t)data->rank);
    onx_infer_lost(in, 0, 1, "it is as many as there are elements of '%s' that are not 0",
                   onx_infer_in_name(in, 0));
    ONX_TRY(onx_infer_tensor(in, 0, ONX_DTYPE_I64, 2, dims));
    return dims[1] && data->ranked ? nonzero_elems(in) : ONX_OK;
}

static onx_status updates_meet(onx_infer *in, size_t index, const onx_sym *size) {
    return onx_infer_meet(in, &(onx_extent){"size of the updates", size},
                          onx_infer_in(in, 2)->dims[index]);
}

/* Updates of ScatterND are [places…, what is at each place…]. */
static onx_status check_scatternd(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0), *indices = onx_infer_in(in, 1);
    const onx_fact *updates = onx_infer_in(in, 2);
    int64_t depth;
    ONX_TRY(onx_infer_check_rank(in, 0, 1, SIZE_MAX));
    ONX_TRY(onx_infer_check_rank(in, 1, 1, SIZE_MAX));
    if (!data->ranked || !indices->ranked) return ONX_OK;
    size_t outer = indices->rank - 1;
    if (!onx_sym_is_int(indices->dims[outer], &depth)) return ONX_OK;
    if (depth < 0 || (uint64_t)depth > data->rank)
        return onx_infer_fail(in, "an index has %lld parts for rank %zu", (long long)depth,
                              data->rank);
    size_t inner = data->rank - (size_t)depth;
    ONX_TRY(onx_infer_check_rank(in, 2, outer + inner, outer + inner));
    if (!updates->ranked) return ONX_OK;
    for (size_t i = 0; i < outer; i++) ONX_TRY(updates_meet(in, i, indices->dims[i]));
    for (size_t i = 0; i < inner; i++)
        ONX_TRY(updates_meet(in, outer + i, data->dims[(size_t)depth + i]));
    return ONX_OK;
}

/* Those of ScatterElements have the shape of the indices. */
static onx_status check_scatterelements(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0), *indices = onx_infer_in(in, 1);
    int64_t axis = onx_infer_int(in, "axis");
    size_t ignored;
    if (data->ranked && !onx_axis(axis, data->rank, &ignored))
        return onx_infer_fail(in, "axis %lld is out of range for rank %zu", (long long)axis,
                              data->rank);
    if (data->ranked) ONX_TRY(onx_infer_check_rank(in, 1, data->rank, data->rank));
    if (!indices->ranked) return ONX_OK;
    ONX_TRY(onx_infer_check_rank(in, 2, indices->rank, indices->rank));
    for (size_t i = 0; onx_infer_in(in, 2)->ranked && i < indices->rank; i++)
        ONX_TRY(updates_meet(in, i, indices->dims[i]));
    return ONX_OK;
}

/* A list with some elements replaced, at known places. */
static onx_status infer_scatter(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0), *updates = onx_infer_in(in, 2);
    size_t n;
    const int64_t *indices;
    bool plain = onx_op_has(onx_infer_node(in), "reduction")
                     ? onx_str_is(onx_infer_string(in, "reduction"), "none")
                     : true;
    bool nd = strcmp(onx_infer_op(in)->name, "ScatterND") == 0;
    ONX_TRY(nd ? check_scatternd(in) : check_scatterelements(in));
    ONX_TRY(onx_infer_same(in));
    if (!plain || !onx_fact_has_elems(data) || data->rank != 1 ||
        !onx_infer_ints(in, 1, &n, &indices))
        return ONX_OK;
    const onx_sym **elems = new_dims(in, data->n_elems);
    if (!elems) return ONX_NO_MEMORY;
    put_dims(elems, 0, data->elems, data->n_elems);
    for (size_t i = 0; i < n; i++) {
        size_t at;
        if (!onx_axis(indices[i], data->n_elems, &at))
            return onx_infer_fail(in, "index %lld is out of range for %zu elements",
                                  (long long)indices[i], data->n_elems);
        bool known = onx_fact_has_elems(updates) && updates->n_elems == n;
        elems[at] = known ? updates->elems[i] : NULL;
    }
    return onx_infer_elems(in, 0, data->n_elems, elems);
}

static onx_status infer_topk(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    const onx_sym *k = NULL;
    onx_extent one = {"number of elements of K", onx_sym_int(onx_infer_syms(in), 1)};
    int64_t size, wanted;
    size_t axis;
    ONX_TRY(onx_infer_unranked(in, 0, data->dtype));
    ONX_TRY(onx_infer_unranked(in, 1, ONX_DTYPE_I64));
    ONX_TRY(onx_infer_unify(in, 1, 1, (onx_extent *[]){&one}));
    if (!data->ranked) return ONX_OK;
    ONX_TRY(axis_of(in, data->rank, &axis));
    const onx_sym **dims = new_dims(in, data->rank);
    if (!dims) return ONX_NO_MEMORY;
    const onx_fact *count = onx_infer_in(in, 1);
    if (onx_infer_op(in)->since == 1)
        k = onx_sym_int(onx_infer_syms(in), onx_infer_int(in, "k"));
    else if (count->elems && count->n_elems == 1)
        k = count->elems[0];
    put_dims(dims, 0, data->dims, data->rank);
    if (onx_infer_op(in)->since == 1 && onx_infer_int(in, "k") < 1)
        return onx_infer_fail(in, "k is %lld", (long long)onx_infer_int(in, "k"));
    if (onx_sym_is_int(dims[axis], &size) && onx_sym_is_int(k, &wanted) && wanted > size)
        return onx_infer_fail(in, "the %lld greatest of %lld are asked for", (long long)wanted,
                              (long long)size);
    dims[axis] = k;
    ONX_TRY(onx_infer_tensor(in, 0, data->dtype, data->rank, dims));
    return onx_infer_tensor(in, 1, ONX_DTYPE_I64, data->rank, dims);
}

/* Cache and update differ only in the size of the axis. */
static onx_status infer_tensorscatter(onx_infer *in) {
    const onx_fact *cache = onx_infer_in(in, 0), *update = onx_infer_in(in, 1);
    onx_extent size = {"size of cache and update beside the axis", NULL};
    onx_extent batch = {"batch size", cache->ranked && cache->rank ? cache->dims[0] : NULL};
    size_t axis = 0;
    ONX_TRY(onx_infer_choice(in, "mode", "linear circular"));
    ONX_TRY(onx_infer_same(in));
    ONX_TRY(onx_infer_unify(in, 2, 1, (onx_extent *[]){&batch}));
    if (!cache->ranked) return ONX_OK;
    ONX_TRY(axis_of(in, cache->rank, &axis));
    if (axis == 0) return onx_infer_fail(in, "axis 0 is the batch; sequences are along another");
    if (!update->ranked) return ONX_OK;
    if (update->rank != cache->rank)
        return onx_infer_fail(in, "the cache has %zu dimensions, the update %zu", cache->rank,
                              update->rank);
    for (size_t i = 0; i < cache->rank; i++) {
        size.size = cache->dims[i];
        if (i != axis) ONX_TRY(onx_infer_meet(in, &size, update->dims[i]));
    }
    int64_t room, length;
    if (onx_sym_is_int(cache->dims[axis], &room) && onx_sym_is_int(update->dims[axis], &length) &&
        length > room)
        return onx_infer_fail(in, "the update is %lld long, the cache only %lld", (long long)length,
                              (long long)room);
    return ONX_OK;
}

/* As many values, first positions and counts as there are different slices; for each slice of X,
 * which of them it is. */
static onx_status infer_unique(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    bool along = onx_op_has(onx_infer_node(in), "axis");
    const onx_sym *n = onx_infer_fresh(in), *all = NULL, **dims = new_dims(in, x->rank + 1);
    size_t axis = 0, rank = along ? x->rank : 1;
    if (!dims) return ONX_NO_MEMORY;
    if (along && x->ranked) ONX_TRY(axis_of(in, x->rank, &axis));
    if (along && x->ranked) put_dims(dims, 0, x->dims, x->rank);
    if (x->ranked) all = along ? x->dims[axis] : onx_infer_product(in, x->rank, x->dims);
    dims[axis] = n;
    if (along && !x->ranked)
        ONX_TRY(onx_infer_unranked(in, 0, x->dtype));
    else
        ONX_TRY(onx_infer_tensor(in, 0, x->dtype, rank, dims));
    ONX_TRY(onx_infer_tensor(in, 1, ONX_DTYPE_I64, 1, &n));
    ONX_TRY(onx_infer_tensor(in, 2, ONX_DTYPE_I64, 1, &all));
    ONX_TRY(onx_infer_tensor(in, 3, ONX_DTYPE_I64, 1, &n));
    for (size_t i = 0; i < 4; i++)
        if (i != 2)
            onx_infer_lost(in, i, i ? 0 : axis,
                           "it is as many as there are different values in '%s'",
                           onx_infer_in_name(in, 0));
    return ONX_OK;
}

#define GATHER_1 "(data:T, indices:Tind) -> (output:T) {axis:int=0} "
#define GATHER_ELEMENTS_11 "(data:T, indices:Tind) -> (output:T) {axis:int=0} "
#define GATHER_ND_12 "(data:T, indices:int64) -> (output:T) {batch_dims:int=0} "
#define SCATTER_9 "(data:T, indices:Tind, updates:T) -> (output:T) {axis:int=0} "
#define TOP_K_11                                                                                   \
    "(X:T, K:int64) -> (Values:T, Indices:I) {axis:int=-1, largest:int=1, sorted:int=1} "
#define SCATTER_ELEMENTS_11 "(data:T, indices:Tind, updates:T) -> (output:T) {axis:int=0} "
#define SCATTER_ELEMENTS_16                                                                        \
    "(data:T, indices:Tind, updates:T) -> (output:T) {axis:int=0, reduction:string=\"none\"} "
#define SCATTER_ND_11 "(data:T, indices:int64, updates:T) -> (output:T) "
#define SCATTER_ND_16                                                                              \
    "(data:T, indices:int64, updates:T) -> (output:T) {reduction:string=\"none\"} "
#define ONE_HOT_9 "(indices:T1, depth:T2, values:T3) -> (output:T3) {axis:int=-1} "
#define COMPRESS_9 "(input:T, condition:T1) -> (output:T) {axis?:int} "
#define TENSOR_SCATTER                                                                             \
    "(past_cache:T, update:T, write_indices?:int64) -> (present_cache:T) {axis:int=-2, "           \
    "mode:string=\"linear\"} "
#define UNIQUE                                                                                     \
    "(X:T) -> (Y:T, indices?:int64, inverse_indices?:int64, counts?:int64) {axis?:int, "           \
    "sorted:int=1} "
#define NON_ZERO_9 "(X:T) -> (Y:int64) "

extern onx_op_rows onx_ops_gather;
onx_op_rows onx_ops_gather = {
    {"Gather", 1, GATHER_1 "[T:all1, Tind:int32|int64]", .infer = infer_gather},
    {"Gather", 11, GATHER_1 "[T:all1, Tind:int32|int64]", .infer = infer_gather},
    {"Gather", 13, GATHER_1 "[T:all13, Tind:int32|int64]", .infer = infer_gather},
    {"GatherElements", 11, GATHER_ELEMENTS_11 "[T:all1, Tind:int32|int64]",
     .infer = infer_gatherelements},
    {"GatherElements", 13, GATHER_ELEMENTS_11 "[T:all13, Tind:int32|int64]",
     .infer = infer_gatherelements},
    {"GatherND", 11, "(data:T, indices:int64) -> (output:T) [T:all1]", .infer = infer_gathernd},
    {"GatherND", 12, GATHER_ND_12 "[T:all1]", .infer = infer_gathernd},
    {"GatherND", 13, GATHER_ND_12 "[T:all13]", .infer = infer_gathernd},
    {"ScatterElements", 11, SCATTER_ELEMENTS_11 "[T:all1, Tind:int32|int64]",
     .infer = infer_scatter},
    {"ScatterElements", 13, SCATTER_ELEMENTS_11 "[T:all13, Tind:int32|int64]",
     .infer = infer_scatter},
    {"ScatterElements", 16, SCATTER_ELEMENTS_16 "[T:all13, Tind:int32|int64]",
     .infer = infer_scatter},
    {"ScatterElements", 18, SCATTER_ELEMENTS_16 "[T:all13, Tind:int32|int64]",
     .infer = infer_scatter},
    {"ScatterND", 11, SCATTER_ND_11 "[T:all1]", .infer = infer_scatter},
    {"ScatterND", 13, SCATTER_ND_11 "[T:all13]", .infer = infer_scatter},
    {"ScatterND", 16, SCATTER_ND_16 "[T:all13]", .infer = infer_scatter},
    {"ScatterND", 18, SCATTER_ND_16 "[T:all13]", .infer = infer_scatter},
    {"OneHot", 9, ONE_HOT_9 "[T1:n0, T2:n0, T3:all1]", .infer = infer_onehot},
    {"OneHot", 11, ONE_HOT_9 "[T1:n0, T2:n0, T3:all1]", .infer = infer_onehot},
    {"OneHot", 28, ONE_HOT_9 "[T1:n0, T2:n0, T3:all13]", .infer = infer_onehot},
    {"Compress", 9, COMPRESS_9 "[T:all1, T1:bool]", .infer = infer_compress},
    {"Compress", 11, COMPRESS_9 "[T:all1, T1:bool]", .infer = infer_compress},
    {"Compress", 28, COMPRESS_9 "[T:all13, T1:bool]", .infer = infer_compress},
    {"NonZero", 9, NON_ZERO_9 "[T:all1]", .infer = infer_nonzero},
    {"NonZero", 13, NON_ZERO_9 "[T:all13]", .infer = infer_nonzero},
    {"Scatter", 9, SCATTER_9 "[T:all1, Tind:int32|int64]", .infer = infer_scatter},
    {"Scatter", 11, SCATTER_9 "[T:all1, Tind:int32|int64]", .infer = infer_scatter,
     .deprecated = true},
    {"TensorScatter", 24, TENSOR_SCATTER "[T:all24]", .infer = infer_tensorscatter},
    {"Unique", 11, UNIQUE "[T:all1]", .infer = infer_unique},
    {"Unique", 28, UNIQUE "[T:all13]", .infer = infer_unique},
    {"TopK", 1, "(X:T) -> (Values:T, Indices:I) {axis:int=-1, k:int} [T:f0, I:int64]",
     .infer = infer_topk},
    {"TopK", 10, "(X:T, K:int64) -> (Values:T, Indices:I) {axis:int=-1} [T:f0, I:int64]",
     .infer = infer_topk},
    {"TopK", 11, TOP_K_11 "[T:n0, I:int64]", .infer = infer_topk},
    {"TopK", 24, TOP_K_11 "[T:n, I:int64]", .infer = infer_topk},
    {0},
};
