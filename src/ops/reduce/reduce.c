/* reduce.c: ReduceSum, ArgMax and others: meaning. */
#include "ops/rows.h"

/* The axes, by attribute or input; false: not known before the run. */
static bool axes_of(onx_infer *in, size_t *n, const int64_t **axes) {
    *n = 0;
    if (onx_infer_has_in(in, 1)) return onx_infer_ints(in, 1, n, axes);
    *axes = onx_op_ints(onx_infer_node(in), "axes", n);
    return true;
}

/* The shape without the dimensions in `gone`, or with 1 in their place. */
static onx_status infer_shape(onx_infer *in, onx_dtype dtype, const bool *gone, bool keepdims) {
    const onx_fact *x = onx_infer_in(in, 0);
    const onx_sym *one = onx_sym_int(onx_infer_syms(in), 1);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), x->rank + 1, sizeof *dims);
    size_t rank = 0;
    if (!dims) return ONX_NO_MEMORY;
    for (size_t d = 0; d < x->rank; d++)
        if (!gone[d] || keepdims) dims[rank++] = gone[d] ? one : x->dims[d];
    return onx_infer_tensor(in, 0, dtype, rank, dims);
}

typedef const onx_sym *combine(onx_syms *syms, const onx_sym *a, const onx_sym *b);

static combine *combine_of(const onx_infer *in) {
    static const struct {
        const char *op;
        combine *fn;
    } rows[] = {{"ReduceProd", onx_sym_mul},
                {"ReduceSum", onx_sym_add},
                {"ReduceMax", onx_sym_max},
                {"ReduceMin", onx_sym_min}};
    for (size_t i = 0; i < ONX_COUNT(rows); i++)
        if (strcmp(onx_infer_op(in)->name, rows[i].op) == 0) return rows[i].fn;
    return NULL;
}

/* Sizes of a shape are multiplied (and more) to make others. */
static onx_status infer_elems(onx_infer *in, const bool *gone) {
    const onx_fact *x = onx_infer_in(in, 0);
    combine *fn = combine_of(in);
    int64_t dims[ONX_RANK_MAX];
    size_t n, n_out = 1;
    bool whole = x->dtype == ONX_DTYPE_I64 || x->dtype == ONX_DTYPE_BOOL;
    if (fn == onx_sym_max || fn == onx_sym_min) whole |= x->dtype == ONX_DTYPE_F32;
    if (!fn || !whole || !onx_fact_has_elems(x) || !onx_fact_counts(x, &n, dims) || !n)
        return ONX_OK;
    for (size_t d = 0; d < x->rank; d++) n_out *= gone[d] ? 1 : (size_t)dims[d];
    const onx_sym **elems = onx_arena_array(onx_infer_arena(in), n_out, sizeof *elems);
    bool *begun = onx_arena_array(onx_infer_arena(in), n_out, sizeof *begun);
    if (!elems || !begun) return ONX_NO_MEMORY;
    for (size_t e = 0; e < n && e < x->n_elems; e++) {
        size_t rest = e, at = 0, stride = 1;
        for (size_t d = x->rank; d-- > 0; rest /= (size_t)dims[d]) {
            at += gone[d] ? 0 : rest % (size_t)dims[d] * stride;
            stride *= gone[d] ? 1 : (size_t)dims[d];
        }
        elems[at] = begun[at] ? fn(onx_infer_syms(in), elems[at], x->elems[e]) : x->elems[e];
        begun[at] = true;
    }
    return onx_infer_elems(in, 0, n_out, elems);
}

static onx_status infer_reduce(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    const int64_t *axes = NULL;
    size_t n;
    bool keepdims = onx_infer_int(in, "keepdims") != 0;
    ONX_TRY(onx_infer_unranked(in, 0, x->dtype));
    if (!x->ranked) return ONX_OK;
    bool *gone = onx_arena_array(onx_infer_arena(in), x->rank + 1, sizeof *gone);
    if (!gone) return ONX_NO_MEMORY;
    if (!axes_of(in, &n, &axes)) {
        const onx_sym **dims = onx_arena_array(onx_infer_arena(in), x->rank + 1, sizeof *dims);
        if (!dims) return ONX_NO_MEMORY;
        return keepdims ? onx_infer_tensor(in, 0, x->dtype, x->rank, dims) : ONX_OK;
    }
    bool all = n == 0 && onx_infer_int(in, "noop_with_empty_axes") == 0;
    for (size_t d = 0; d < x->rank; d++) gone[d] = all;
    for (size_t i = 0; i < n; i++) {
        size_t d;
        if (!onx_axis(axes[i], x->rank, &d))
            return onx_infer_fail(in, "axis %lld is not a dimension of rank %zu",
                                  (long long)axes[i], x->rank);
        gone[d] = true;
    }
    ONX_TRY(infer_shape(in, x->dtype, gone, keepdims));
    return infer_elems(in, gone);
}

static onx_status infer_arg(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    int64_t axis = onx_infer_int(in, "axis");
    size_t d;
    ONX_TRY(onx_infer_unranked(in, 0, ONX_DTYPE_I64));
    if (!x->ranked) return ONX_OK;
    if (x->rank == 0 && !onx_op_has(onx_infer_node(in), "axis"))
        return onx_infer_tensor(in, 0, ONX_DTYPE_I64, 0, NULL);
    if (!onx_axis(axis, x->rank, &d))
        return onx_infer_fail(in, "axis %lld is not a dimension of rank %zu", (long long)axis,
                              x->rank);
    bool *gone = onx_arena_array(onx_infer_arena(in), x->rank, sizeof *gone);
    if (!gone) return ONX_NO_MEMORY;
    gone[d] = true;
    return infer_shape(in, ONX_DTYPE_I64, gone, onx_infer_int(in, "keepdims") != 0);
}

/* ── Bodies ──────────────────────────────────────────────────────────────────────────────────── */

static const char reduce_l1_body[] =
    "data_abs = Abs (data)"
    " reduced = ReduceSum <keepdims: int = @keepdims, noop_with_empty_axes: int = "
    "@noop_with_empty_axes> (data_abs, axes)";

static const char reduce_l2_body[] =
    "data_square = Mul (data, data)"
    " sum_square = ReduceSum <keepdims: int = @keepdims, noop_with_empty_axes: int = "
    "@noop_with_empty_axes> (data_square, axes)"
    " sum_square_dbl = Cast <to: int = 1> (sum_square)"
    " sqrt = Sqrt (sum_square_dbl)"
    " reduced = CastLike (sqrt, data)";

static const char reduce_log_sum_body[] =
    "reduced_sum = ReduceSum <keepdims: int = @keepdims, noop_with_empty_axes: int = "
    "@noop_with_empty_axes> (data, axes)"
    " reduced = Log (reduced_sum)";

static const char reduce_log_sum_exp_body[] =
    "data_double = Cast <to: int = 11> (data)"
    " data_exp = Exp (data_double)"
    " reduced_sum = ReduceSum <keepdims: int = @keepdims, noop_with_empty_axes: int = "
    "@noop_with_empty_axes> (data_exp, axes)"
    " reduced_double = Log (reduced_sum)"
    " reduced = CastLike (reduced_double, data)";

static const char reduce_sum_square_body[] =
    "data_square = Mul (data, data)"
    " reduced = ReduceSum <keepdims: int = @keepdims, noop_with_empty_axes: int = "
    "@noop_with_empty_axes> (data_square, axes)";

extern onx_op_rows onx_ops_reduce;
onx_op_rows onx_ops_reduce = {
    OP("ArgMax", 1, "(data:T) -> (reduced:int64) {keepdims:int=1, axis:int=0} [T:n0]", infer_arg),
    OP("ArgMax", 11, "(data:T) -> (reduced:int64) {keepdims:int=1, axis:int=0} [T:n0]", infer_arg),
    OP("ArgMax", 12,
       "(data:T) -> (reduced:int64) {select_last_index:int=0, keepdims:int=1, axis:int=0} [T:n0]",
       infer_arg),
    OP("ArgMax", 13,
       "(data:T) -> (reduced:int64) {select_last_index:int=0, keepdims:int=1, axis:int=0} [T:n]",
       infer_arg),
    OP("ArgMin", 1, "(data:T) -> (reduced:int64) {keepdims:int=1, axis:int=0} [T:n0]", infer_arg),
    OP("ArgMin", 11, "(data:T) -> (reduced:int64) {keepdims:int=1, axis:int=0} [T:n0]", infer_arg),
    OP("ArgMin", 12,
       "(data:T) -> (reduced:int64) {select_last_index:int=0, keepdims:int=1, axis:int=0} [T:n0]",
       infer_arg),
    OP("ArgMin", 13,
       "(data:T) -> (reduced:int64) {select_last_index:int=0, keepdims:int=1, axis:int=0} [T:n]",
       infer_arg),
    OP("ReduceL1", 1, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceL1", 11, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceL1", 13, "(data:T) -> (reduced:T) {axes?:ints, keepdims:int=1} [T:f|w]",
       infer_reduce),
    FN("ReduceL1", 18,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} [T:f|w]",
       infer_reduce, reduce_l1_body),
    OP("ReduceL2", 1, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceL2", 11, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceL2", 13, "(data:T) -> (reduced:T) {axes?:ints, keepdims:int=1} [T:f|w]",
       infer_reduce),
    FN("ReduceL2", 18,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} [T:f|w]",
       infer_reduce, reduce_l2_body),
    OP("ReduceLogSum", 1, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceLogSum", 11, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceLogSum", 13, "(data:T) -> (reduced:T) {axes?:ints, keepdims:int=1} [T:f|w]",
       infer_reduce),
    FN("ReduceLogSum", 18,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} [T:f|w]",
       infer_reduce, reduce_log_sum_body),
    FN("ReduceLogSum", 28,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} [T:f]",
       infer_reduce, reduce_log_sum_body),
    OP("ReduceLogSumExp", 1, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceLogSumExp", 11, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceLogSumExp", 13, "(data:T) -> (reduced:T) {axes?:ints, keepdims:int=1} [T:f|w]",
       infer_reduce),
    FN("ReduceLogSumExp", 18,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} [T:f|w]",
       infer_reduce, reduce_log_sum_exp_body),
    FN("ReduceLogSumExp", 28,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} [T:f]",
       infer_reduce, reduce_log_sum_exp_body),
    OP("ReduceMax", 1, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceMax", 11, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceMax", 12, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w|uint8|int8]",
       infer_reduce),
    OP("ReduceMax", 13, "(data:T) -> (reduced:T) {axes?:ints, keepdims:int=1} [T:f|w|uint8|int8]",
       infer_reduce),
    OP("ReduceMax", 18,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} "
       "[T:f|w|uint8|int8]",
       infer_reduce),
    OP("ReduceMax", 20,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} "
       "[T:f|w|uint8|int8|bool]",
       infer_reduce),
    OP("ReduceMean", 1, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceMean", 11, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceMean", 13, "(data:T) -> (reduced:T) {axes?:ints, keepdims:int=1} [T:f|w]",
       infer_reduce),
    OP("ReduceMean", 18,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} [T:f|w]",
       infer_reduce),
    OP("ReduceMin", 1, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceMin", 11, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceMin", 12, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w|uint8|int8]",
       infer_reduce),
    OP("ReduceMin", 13, "(data:T) -> (reduced:T) {axes?:ints, keepdims:int=1} [T:f|w|uint8|int8]",
       infer_reduce),
    OP("ReduceMin", 18,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} "
       "[T:f|w|uint8|int8]",
       infer_reduce),
    OP("ReduceMin", 20,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} "
       "[T:f|w|uint8|int8|bool]",
       infer_reduce),
    OP("ReduceProd", 1, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceProd", 11, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceProd", 13, "(data:T) -> (reduced:T) {axes?:ints, keepdims:int=1} [T:f|w]",
       infer_reduce),
    OP("ReduceProd", 18,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} [T:f|w]",
       infer_reduce),
    OP("ReduceSum", 1, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceSum", 11, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceSum", 13,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} [T:f|w]",
       infer_reduce),
    OP("ReduceSumSquare", 1, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceSumSquare", 11, "(data:T) -> (reduced:T) {keepdims:int=1, axes?:ints} [T:f0|w]",
       infer_reduce),
    OP("ReduceSumSquare", 13, "(data:T) -> (reduced:T) {axes?:ints, keepdims:int=1} [T:f|w]",
       infer_reduce),
    FN("ReduceSumSquare", 18,
       "(data:T, axes?:int64) -> (reduced:T) {noop_with_empty_axes:int=0, keepdims:int=1} [T:f|w]",
       infer_reduce, reduce_sum_square_body),
    {0},
};
