/* slice.c: parts of a tensor, a tensor with a border, one with parts turned around: Slice, Trilu,
 * Pad, ReverseSequence: meaning. */
#include "ops/slice/slice.h"
#include "ops/op.h"

static const onx_sym **new_dims(onx_infer *in, size_t n) {
    return onx_arena_array(onx_infer_arena(in), n + 1, sizeof(const onx_sym *));
}

/* A list that old versions have as attribute and new ones as input, element by element: an element
 * that is not known is NULL. False: not even their number is known. The lowest integer has no
 * symbol: the next one means the same here, "before everything". */
static bool list_of(onx_infer *in, const char *attribute, size_t index, size_t *n,
                    const onx_sym *const **out) {
    const int64_t *ints = NULL;
    const onx_fact *fact = onx_infer_in(in, index);
    if (!onx_infer_list(in, attribute, index, n, &ints)) {
        *n = fact->n_elems;
        *out = fact->elems;
        return fact->elems != NULL;
    }
    const onx_sym **elems = new_dims(in, *n);
    for (size_t i = 0; elems && i < *n; i++)
        elems[i] = onx_sym_int(onx_infer_syms(in), ints[i] == INT64_MIN ? INT64_MIN + 1 : ints[i]);
    *out = elems;
    return elems != NULL;
}

/* The axes meant by a list of n entries: those written, or the first n. *out NULL: not known. */
static onx_status axes_of(onx_infer *in, size_t index, size_t n, size_t rank, const size_t **out) {
    size_t n_axes = 0;
    const int64_t *list = NULL;
    bool written = onx_infer_list(in, "axes", index, &n_axes, &list);
    *out = NULL;
    if (!written && onx_infer_has_in(in, index)) return ONX_OK;
    if (written ? n_axes != n : n > rank)
        return onx_infer_fail(in, "there are %zu entries for %zu axes", n, written ? n_axes : rank);
    size_t *axes = onx_arena_array(onx_infer_arena(in), n + 1, sizeof *axes);
    bool *seen = onx_arena_array(onx_infer_arena(in), rank + 1, sizeof *seen);
    if (!axes || !seen) return ONX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        axes[i] = i;
        if (written && !onx_axis(list[i], rank, &axes[i]))
            return onx_infer_fail(in, "axis %lld is out of range for rank %zu", (long long)list[i],
                                  rank);
        if (seen[axes[i]]) return onx_infer_fail(in, "axis %zu is listed twice", axes[i]);
        seen[axes[i]] = true;
    }
    *out = axes;
    return ONX_OK;
}

/* The shape of input 0, to be changed; without it, or without axes, only the type is known. */
static onx_status start_from(onx_infer *in, const onx_sym ***dims) {
    const onx_fact *data = onx_infer_in(in, 0);
    *dims = new_dims(in, data->rank);
    if (!*dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < data->rank; i++) (*dims)[i] = data->dims[i];
    return ONX_OK;
}

/* Without the entries: the shape of input 0, with the sizes of the axes open, or all. */
static onx_status open_shape(onx_infer *in, size_t axes_index) {
    const onx_fact *data = onx_infer_in(in, 0);
    size_t n;
    const int64_t *list;
    const size_t *axes;
    const onx_sym **dims;
    ONX_TRY(onx_infer_check_rank(in, axes_index, 1, 1));
    ONX_TRY(start_from(in, &dims));
    if (!onx_infer_list(in, "axes", axes_index, &n, &list)) {
        memset(dims, 0, data->rank * sizeof *dims);
    } else {
        ONX_TRY(axes_of(in, axes_index, n, data->rank, &axes));
        for (size_t i = 0; i < n; i++) dims[axes[i]] = NULL;
    }
    return onx_infer_tensor(in, 0, data->dtype, data->rank, dims);
}

/* ── Slice ───────────────────────────────────────────────────────────────────────────────────── */

/* A position in a dimension of symbolic size, moved inside; NULL: cannot be told. Numbers beyond
 * 32 bits are how exporters write "to the end". */
static const onx_sym *position(onx_syms *syms, const onx_sym *size, const onx_sym *at) {
    const onx_sym *zero = onx_sym_int(syms, 0);
    int64_t value;
    if (!onx_sym_is_int(at, &value))
        return at && onx_sym_max(syms, at, zero) == at ? onx_sym_min(syms, at, size) : NULL;
    if (value >= INT32_MAX) return size;
    if (value <= -INT32_MAX) return zero;
    if (value >= 0) return value ? onx_sym_min(syms, at, size) : zero;
    return onx_sym_max(syms, onx_sym_add(syms, size, at), zero);
}

static const onx_sym *sliced(onx_syms *syms, const onx_sym *size, const onx_sym *start,
                             const onx_sym *end, int64_t step) {
    const onx_sym *zero = onx_sym_int(syms, 0);
    int64_t n, from = 0, to, first;
    bool from_known = onx_sym_is_int(start, &from), known = from_known && onx_sym_is_int(end, &to);
    if (known && onx_sym_is_int(size, &n))
        return onx_sym_int(syms, onx_slice_range(n, from, to, step, &first));
    if (known && step == -1 && (from == -1 || from >= INT32_MAX) && to <= -INT32_MAX) return size;
    if (step < 0) return NULL;
    /* A start beyond the end need not be moved: the distance is negative either way. */
    end = position(syms, size, end);
    start = from_known && from >= 0 ? start : position(syms, size, start);
    const onx_sym *distance =
        start == zero ? end : onx_sym_max(syms, onx_sym_sub(syms, end, start), zero);
    if (end == size && from < 0 && from > -INT32_MAX)
        distance = onx_sym_min(syms, size, onx_sym_int(syms, -from));
    return step == 1 ? distance : onx_sym_ceildiv(syms, distance, onx_sym_int(syms, step));
}

/* Known elements, sliced at known places. */
static onx_status slice_elems(onx_infer *in, size_t n, const size_t *axes,
                              const onx_sym *const *starts, const onx_sym *const *ends,
                              const int64_t *steps) {
    const onx_fact *data = onx_infer_in(in, 0);
    int64_t dims[ONX_RANK_MAX], out[ONX_RANK_MAX], first[ONX_RANK_MAX], step[ONX_RANK_MAX];
    size_t count, n_out = 1;
    if (!onx_fact_has_elems(data) || !onx_fact_counts(data, &count, dims)) return ONX_OK;
    for (size_t d = 0; d < data->rank; d++) out[d] = dims[d], first[d] = 0, step[d] = 1;
    for (size_t i = 0; i < n; i++) {
        int64_t start, end;
        size_t d = axes[i];
        if (!onx_sym_is_int(starts[i], &start) || !onx_sym_is_int(ends[i], &end)) return ONX_OK;
        step[d] = steps ? steps[i] : 1;
        out[d] = onx_slice_range(dims[d], start, end, step[d], &first[d]);
    }
    for (size_t d = 0; d < data->rank; d++) n_out *= (size_t)out[d];
    const onx_sym **elems = new_dims(in, n_out);
    if (!elems) return ONX_NO_MEMORY;
    for (size_t e = 0; e < n_out; e++) {
        size_t rest = e, stride = 1, at = 0;
        for (size_t d = data->rank; d-- > 0; rest /= (size_t)out[d]) {
            at += (size_t)(first[d] + (int64_t)(rest % (size_t)out[d]) * step[d]) * stride;
            stride *= (size_t)dims[d];
        }
        elems[e] = at < data->n_elems ? data->elems[at] : NULL;
    }
    return onx_infer_elems(in, 0, n_out, elems);
}

static onx_status infer_slice(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    const onx_sym *const *starts, *const *ends, **dims;
    size_t n = 0, n_ends = 0, n_steps = 0;
    const size_t *axes;
    const int64_t *steps = NULL;
    ONX_TRY(onx_infer_unranked(in, 0, data->dtype));
    onx_extent count = {"number of starts, ends, axes and steps", NULL};
    for (size_t i = 1; i < 5; i++) ONX_TRY(onx_infer_unify(in, i, 1, (onx_extent *[]){&count}));
    if (!data->ranked) return ONX_OK;
    if (!list_of(in, "starts", 1, &n, &starts) || !list_of(in, "ends", 2, &n_ends, &ends))
        return open_shape(in, 3);
    bool paced = onx_infer_has_in(in, 4);
    if (paced && !onx_infer_ints(in, 4, &n_steps, &steps)) return open_shape(in, 3);
    if (n_ends != n || (paced && n_steps != n))
        return onx_infer_fail(in, "starts, ends and steps differ in length");
    ONX_TRY(axes_of(in, 3, n, data->rank, &axes));
    if (!axes) return open_shape(in, 3);
    ONX_TRY(start_from(in, &dims));
    for (size_t i = 0; i < n; i++) {
        int64_t step = paced ? steps[i] : 1;
        if (step == 0) return onx_infer_fail(in, "step %zu is 0", i);
        dims[axes[i]] = sliced(onx_infer_syms(in), dims[axes[i]], starts[i], ends[i], step);
    }
    ONX_TRY(onx_infer_tensor(in, 0, data->dtype, data->rank, dims));
    return slice_elems(in, n, axes, starts, ends, paced ? steps : NULL);
}

/* ── Pad ─────────────────────────────────────────────────────────────────────────────────────── */

static onx_status infer_pad(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0);
    onx_syms *syms = onx_infer_syms(in);
    const onx_sym *const *pads, **dims;
    const size_t *axes;
    size_t n = 0;
    ONX_TRY(onx_infer_unranked(in, 0, data->dtype));
    if (!data->ranked) return ONX_OK;
    const char *attribute = onx_infer_op(in)->since == 1 ? "paddings" : "pads";
    ONX_TRY(onx_infer_check_rank(in, 1, 1, 1));
    if (!list_of(in, attribute, 1, &n, &pads)) return open_shape(in, 3);
    if (n % 2) return onx_infer_fail(in, "%zu is no even number of pads", n);
    ONX_TRY(axes_of(in, 3, n / 2, data->rank, &axes));
    if (!axes) return open_shape(in, 3);
    if (!onx_infer_has_in(in, 3) && n != 2 * data->rank)
        return onx_infer_fail(in, "%zu pads are listed for rank %zu", n, data->rank);
    ONX_TRY(start_from(in, &dims));
    for (size_t i = 0; i < n / 2; i++) {
        const onx_sym *both = onx_sym_add(syms, pads[i], pads[i + n / 2]);
        dims[axes[i]] = onx_sym_add(syms, dims[axes[i]], both);
    }
    return onx_infer_tensor(in, 0, data->dtype, data->rank, dims);
}

/* ── ReverseSequence ─────────────────────────────────────────────────────────────────────────── */

static onx_status infer_reverse(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0), *lens = onx_infer_in(in, 1);
    int64_t batch = onx_infer_int(in, "batch_axis"), time = onx_infer_int(in, "time_axis"), n, m;
    if (!(batch == 0 && time == 1) && !(batch == 1 && time == 0))
        return onx_infer_fail(in,
                              "batch_axis is %lld and time_axis %lld: one must be 0, the other 1",
                              (long long)batch, (long long)time);
    if (data->ranked && data->rank < 2)
        return onx_infer_fail(in, "the input has rank %zu: it needs time and batch", data->rank);
    if (lens->ranked && lens->rank != 1)
        return onx_infer_fail(in, "sequence_lens has rank %zu, not 1", lens->rank);
    if (data->ranked && lens->ranked && onx_sym_is_int(data->dims[batch], &n) &&
        onx_sym_is_int(lens->dims[0], &m) && n != m)
        return onx_infer_fail(in, "sequence_lens has %lld elements for a batch of %lld",
                              (long long)m, (long long)n);
    return onx_infer_same(in);
}

static onx_status infer_trilu(onx_infer *in) {
    ONX_TRY(onx_infer_check_rank(in, 0, 2, SIZE_MAX));
    return onx_infer_same(in);
}

#define REVERSE "(input:T, sequence_lens:int64) -> (Y:T) {batch_axis:int=1, time_axis:int=0} "
#define SLICE_10 "(data:T, starts:Tind, ends:Tind, axes?:Tind, steps?:Tind) -> (output:T) "
#define PAD_11 "(data:T, pads:int64, constant_value?:T) -> (output:T) {mode:string=\"constant\"} "
#define PAD_18                                                                                     \
    "(data:T, pads:int64, constant_value?:T, axes?:Tind) -> (output:T) "                           \
    "{mode:string=\"constant\"} "

extern onx_op_rows onx_ops_slice;
onx_op_rows onx_ops_slice = {
    {"Slice", 1, "(data:T) -> (output:T) {axes?:ints, ends:ints, starts:ints} [T:all1]",
     .infer = infer_slice},
    {"Slice", 10, SLICE_10 "[T:all1, Tind:int32|int64]", .infer = infer_slice},
    {"Slice", 11, SLICE_10 "[T:all1, Tind:int32|int64]", .infer = infer_slice},
    {"Slice", 13, SLICE_10 "[T:all13, Tind:int32|int64]", .infer = infer_slice},
    {"Pad", 1,
     "(data:T) -> (output:T) {mode:string=\"constant\", paddings:ints, value:float=0.0} [T:f0]",
     .infer = infer_pad},
    {"Pad", 2,
     "(data:T) -> (output:T) {mode:string=\"constant\", pads:ints, value:float=0.0} [T:f0]",
     .infer = infer_pad},
    {"Pad", 11, PAD_11 "[T:n0]", .infer = infer_pad},
    {"Pad", 13, PAD_11 "[T:all13]", .infer = infer_pad},
    {"Pad", 18, PAD_18 "[T:all13, Tind:int32|int64]", .infer = infer_pad},
    {"Pad", 19, PAD_18 "[T:all13, Tind:int32|int64]", .infer = infer_pad},
    {"Pad", 21, PAD_18 "[T:all21, Tind:int32|int64]", .infer = infer_pad},
    {"Pad", 23, PAD_18 "[T:all23, Tind:int32|int64]", .infer = infer_pad},
    {"Pad", 24, PAD_18 "[T:all24, Tind:int32|int64]", .infer = infer_pad},
    {"Pad", 25, PAD_18 "[T:all25, Tind:int32|int64]", .infer = infer_pad},
    {"ReverseSequence", 10, REVERSE "[T:all1]", .infer = infer_reverse},
    {"ReverseSequence", 28, REVERSE "[T:all13]", .infer = infer_reverse},
    {"Trilu", 14, "(input:T, k?:int64) -> (output:T) {upper:int=1} [T:all13]",
     .infer = infer_trilu},
    {0},
};
