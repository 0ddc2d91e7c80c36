/* torchao_blocks.c: quantization of torchao's exported programs: blocks of a tensor, of any sizes
 * that divide its own, have a scale and a zero point each. */
#include "export/aten/qtensor.h"

#include <float.h>

/* A tensor whose blocks are axes of their own: [4, 64] in blocks of [1, 32] as [4, 2, 32]. */
typedef struct blocks {
    onx_value *apart;
    size_t n, n_within, n_kept, rank;
    onx_xv shape[ONX_RANK_MAX];   /* with the axes within blocks as 1: that of the scales */
    int64_t within[ONX_RANK_MAX]; /* axes */
    onx_xv kept[ONX_RANK_MAX], reduced[ONX_RANK_MAX]; /* sizes without them; of the first rank */
} blocks;

static void add_axis(onx_export *x, blocks *b, onx_xv *apart, onx_xv size, bool within) {
    apart[b->n] = size;
    b->shape[b->n] = within ? onx_xv_int(x, 1) : size;
    if (within) b->within[b->n_within++] = (int64_t)b->n;
    if (!within) b->kept[b->n_kept++] = size;
    b->n++;
}

static bool read_blocks(onx_export *x, const onx_xv *tensor, const onx_xv *sizes, blocks *b) {
    onx_value *v = onx_nn_tensor(x, tensor);
    size_t rank = onx_x_rank(x, v);
    onx_xv apart[ONX_RANK_MAX], one = onx_xv_int(x, 1);
    *b = (blocks){.rank = rank};
    if (rank == SIZE_MAX || 2 * rank > ONX_RANK_MAX || sizes->list->n != rank)
        return onx_x_fail(x, ONX_UNSUPPORTED, "blocks of a tensor of %zu dimensions", rank);
    for (size_t i = 0; i < rank && onx_x_ok(x); i++) {
        onx_xv dim = onx_x_size_of(x, v, i), block = sizes->list->v[i];
        onx_xv all = onx_x_arith(x, "eq", dim, block);
        bool whole = false, single = onx_xv_is_one(x, &block, 1);
        onx_xv_known_bool(&all, &whole);
        b->reduced[i] = single ? dim : whole ? one : onx_x_arith(x, "floordiv", dim, block);
        if (!single && !whole) add_axis(x, b, apart, b->reduced[i], false);
        add_axis(x, b, apart, single || whole ? dim : block, !single);
    }
    if (onx_x_ok(x)) b->apart = onx_x_reshape(x, v, b->n, apart);
    return onx_x_ok(x);
}

/* Numbers, or the bounds of the type. */
static void read_bounds(onx_export *x, const onx_xv *bounds, onx_xquant *q) {
    bool bytes = q->dtype == ONX_DTYPE_U8;
    q->lo = onx_xv_whole(x, &bounds[0], bytes ? 0 : INT8_MIN);
    q->hi = onx_xv_whole(x, &bounds[1], bytes ? UINT8_MAX : INT8_MAX);
}

/* (input, block_size, scale, zero_point, dtype, quant_min, quant_max …) */
static bool read_affine(onx_export *x, const onx_xv *a, blocks *b, onx_xquant *q) {
    if (!read_blocks(x, &a[0], &a[1], b)) return false;
    onx_value *zero = onx_nn_tensor(x, &a[3]);
    *q = (onx_xquant){.axis = -1, .dtype = onx_quant_dtype(x, &a[4])};
    read_bounds(x, &a[5], q);
    q->scale = onx_x_reshape(x, onx_x_as(x, &a[2], ONX_DTYPE_F32), b->n, b->shape);
    q->zero = zero ? onx_x_reshape(x, zero, b->n, b->shape) : NULL;
    return onx_x_ok(x);
}
static void lower_quantize(onx_export *x, const onx_xv *a, onx_xv *out) {
    blocks b;
    onx_xquant q;
    if (!read_affine(x, a, &b, &q)) return;
    onx_value *v = onx_x_cast(x, onx_quantize_float(x, &q, b.apart), q.dtype);
    onx_x_give(x, out, onx_x_reshape_like(x, v, onx_nn_tensor(x, &a[0])));
}
/* (…, output_dtype) */
static void lower_dequantize(onx_export *x, const onx_xv *a, onx_xv *out) {
    blocks b;
    onx_xquant q;
    if (!read_affine(x, a, &b, &q)) return;
    onx_value *v = onx_dequantize_parts(x, &q, b.apart, onx_xv_dtype(x, &a[7]));
    onx_x_give(x, out, onx_x_reshape_like(x, v, onx_nn_tensor(x, &a[0])));
}

/* As far below 0 as above. */
static void choose_symmetric(onx_export *x, const blocks *b, const onx_xquant *q, double eps,
                             onx_value **scale, onx_value **zero) {
    onx_value *most =
        onx_x_reduce(x, "ReduceMax", onx_emit(x, "Abs", b->apart), b->n_within, b->within, true);
    most = onx_nn_times(x, most, 2 / (double)(q->hi - q->lo));
    *scale = onx_emit(x, "Max", most, onx_x_number(x, onx_x_dtype(x, most), eps));
    *zero = onx_x_fill(x, onx_x_int(x, (q->hi + q->lo + 1) / 2), b->n, b->shape);
}

/* (input, mapping_type, block_size, target_dtype, quant_min, quant_max, eps, scale_dtype,
 * zero_point_dtype, keepdim) */
static void lower_choose(onx_export *x, const onx_xv *a, onx_xv *out) {
    blocks b;
    onx_xquant q = {.dtype = onx_quant_dtype(x, &a[3])};
    onx_value *v[2];
    onx_dtype types[] = {onx_xv_dtype(x, &a[7]), onx_xv_dtype(x, &a[8])};
    double eps = onx_xv_real(x, &a[6], FLT_MIN);
    bool keep = onx_xv_true(&a[9]), symmetric = onx_str_is(a[1].str, "SYMMETRIC");
    read_bounds(x, &a[4], &q);
    if (!symmetric && !onx_str_is(a[1].str, "ASYMMETRIC"))
        onx_x_fail(x, ONX_UNSUPPORTED, "scales by '%.*s'", ONX_FMT(a[1].str));
    if (!onx_x_ok(x) || !read_blocks(x, &a[0], &a[2], &b)) return;
    if (symmetric) {
        choose_symmetric(x, &b, &q, eps, &v[0], &v[1]);
    } else {
        onx_value *low = onx_x_reduce(x, "ReduceMin", b.apart, b.n_within, b.within, true);
        onx_value *high = onx_x_reduce(x, "ReduceMax", b.apart, b.n_within, b.within, true);
        if (!low || !high) return;
        onx_quant_choose(x, low, high, (double)q.lo, (double)q.hi, eps, &v[0], &v[1]);
    }
    if (!types[0]) types[0] = onx_x_dtype(x, b.apart);
    if (!types[1]) types[1] = ONX_DTYPE_I32;
    for (size_t i = 0; i < 2 && onx_x_ok(x); i++) {
        onx_value *y = keep ? onx_x_reshape(x, v[i], b.rank, b.reduced)
                            : onx_x_reshape(x, v[i], b.n_kept, b.kept);
        onx_x_give(x, &out[i], onx_x_cast(x, y, types[i]));
    }
}

#define BLOCKS "(Tensor input, int[] block_size, Tensor scale, Tensor? zero_point, ScalarType "
#define BOUNDS "Scalar? quant_min=None, Scalar? quant_max=None"

const onx_aten onx_aten_torchao_blocks[] = {
    {"torchao::quantize_affine" BLOCKS "output_dtype, " BOUNDS ")", lower_quantize, NULL},
    {"torchao::dequantize_affine" BLOCKS "input_dtype, " BOUNDS ", ScalarType output_dtype=float)",
     lower_dequantize, NULL},
    {"torchao::choose_qparams_affine(Tensor input, str mapping_type, int[] block_size, "
     "ScalarType target_dtype, " BOUNDS ", float? eps=None, ScalarType? scale_dtype=None, "
     "ScalarType? zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)",
     lower_choose, NULL},
    {.schema = NULL},
};
