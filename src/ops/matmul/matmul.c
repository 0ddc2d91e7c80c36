/* matmul.c: MatMul, Gemm and Det: meaning. Those of onx.internal multiply floats with a B of half
 * precision. MatMulTile is a MatMul whose result goes through a program of elementwise operations
 * (ops/tile/tile.h): input 0 of the program is the product, further inputs are those of the node
 * after A and B. */
#include "ops/matmul/matmul.h"

static bool differ(const onx_sym *a, const onx_sym *b) {
    int64_t x, y;
    return onx_sym_is_int(a, &x) && onx_sym_is_int(b, &y) && x != y;
}
/* One size that two operands share: the one that is known, a number if there is one. */
static const onx_sym *either(const onx_sym *a, const onx_sym *b) {
    int64_t ignored;
    return a && (!b || onx_sym_is_int(a, &ignored)) ? a : b;
}

onx_status onx_infer_matmul(onx_infer *in, const onx_fact *a, const onx_fact *b, onx_dtype dtype) {
    if (!a->ranked || !b->ranked) return onx_infer_unranked(in, 0, dtype);
    if (a->rank == 0 || b->rank == 0)
        return onx_infer_fail(in, "MatMul needs operands of at least one dimension");
    const onx_sym *a_k = a->dims[a->rank - 1], *b_k = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    if (differ(a_k, b_k))
        return onx_infer_fail(in, "MatMul needs as many columns in A as there are rows in B");
    onx_fact a_batch = *a, b_batch = *b;
    a_batch.rank = a->rank > 2 ? a->rank - 2 : 0;
    b_batch.rank = b->rank > 2 ? b->rank - 2 : 0;
    size_t rank;
    const onx_sym *const *batch;
    if (!onx_infer_broadcast_dims(in, &a_batch, &b_batch, &rank, &batch))
        return onx_infer_fail(in, "MatMul needs operands whose sizes before the last two"
                                  " broadcast: they must be equal, or one of them 1");
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), rank + 2, sizeof *dims);
    if (!batch || !dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < rank; i++) dims[i] = batch[i];
    if (a->rank > 1) dims[rank++] = a->dims[a->rank - 2];
    if (b->rank > 1) dims[rank++] = b->dims[b->rank - 1];
    return onx_infer_tensor(in, 0, dtype, rank, dims);
}

static onx_status infer_matmul(onx_infer *in) {
    const onx_fact *a = onx_infer_in(in, 0), *b = onx_infer_in(in, 1);
    return onx_infer_matmul(in, a, b, a->dtype ? a->dtype : b->dtype);
}

/* Sizes of a matrix, turned over if the attribute says so; not known if its rank is not. */
static onx_status matrix_dims(onx_infer *in, size_t index, const char *turned,
                              const onx_sym *dims[2]) {
    const onx_fact *fact = onx_infer_in(in, index);
    bool turn = onx_infer_int(in, turned) != 0;
    if (fact->ranked && fact->rank != 2)
        return onx_infer_fail(in, "Gemm needs matrices: input %zu has %zu dimensions", index,
                              fact->rank);
    dims[0] = fact->ranked ? fact->dims[turn] : NULL;
    dims[1] = fact->ranked ? fact->dims[!turn] : NULL;
    return ONX_OK;
}

onx_status onx_infer_gemm(onx_infer *in, size_t a_index, size_t b_index, size_t c_index,
                          onx_dtype dtype) {
    const onx_fact *c = onx_infer_in(in, c_index);
    const onx_sym *a[2] = {NULL}, *b[2] = {NULL}, *y[2];
    ONX_TRY(matrix_dims(in, a_index, "transA", a));
    ONX_TRY(matrix_dims(in, b_index, "transB", b));
    if (differ(a[1], b[0]))
        return onx_infer_fail(in, "Gemm needs as many columns in A as there are rows in B, after"
                                  " transA and transB");
    y[0] = a[0];
    y[1] = b[1];
    int64_t size;
    bool fits = !c->ranked || c->rank <= 2;
    for (size_t i = 0; i < (c->ranked ? c->rank : 0) && fits; i++) {
        const onx_sym **to = &y[2 - c->rank + i];
        bool one = onx_sym_is_int(c->dims[i], &size) && size == 1;
        fits = one || !differ(c->dims[i], *to);
        if (!one && onx_sym_is_int(c->dims[i], &size)) *to = either(*to, c->dims[i]);
    }
    if (!fits)
        return onx_infer_fail(in, "Gemm needs a C that broadcasts to the product of A and B");
    return onx_infer_tensor(in, 0, dtype, 2, y);
}

static onx_status infer_gemm(onx_infer *in) {
    onx_dtype dtype = onx_infer_in(in, 0)->dtype;
    return onx_infer_gemm(in, 0, 1, 2, dtype ? dtype : onx_infer_in(in, 1)->dtype);
}

static onx_status infer_det(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    if (!x->ranked) return onx_infer_unranked(in, 0, x->dtype);
    if (x->rank < 2) return onx_infer_fail(in, "Det needs matrices: X has %zu dimensions", x->rank);
    onx_extent side = {"side of the square matrices", x->dims[x->rank - 2]};
    ONX_TRY(onx_infer_meet(in, &side, x->dims[x->rank - 1]));
    return onx_infer_tensor(in, 0, x->dtype, x->rank - 2, x->dims);
}

#define GEMM_ATTRS "alpha:float=1.0, beta:float=1.0, transA:int=0, transB:int=0"
#define GEMM(c, attrs, types) "(A:T, B:T, " c ":T) -> (Y:T) {" GEMM_ATTRS attrs "} [T:" types "]"

extern onx_op_rows onx_ops_matmul;
onx_op_rows onx_ops_matmul = {
    {"MatMul", 1, "(A:T, B:T) -> (Y:T) [T:f0]", .infer = infer_matmul},
    {"MatMul", 9, "(A:T, B:T) -> (Y:T) [T:f0|w]", .infer = infer_matmul},
    {"MatMul", 13, "(A:T, B:T) -> (Y:T) [T:f|w]", .infer = infer_matmul},
    {"Gemm", 1, GEMM("C", ", broadcast:int=0", "f0"), .infer = infer_gemm},
    {"Gemm", 6, GEMM("C", ", broadcast:int=0", "f0"), .infer = infer_gemm},
    {"Gemm", 7, GEMM("C", "", "f0"), .infer = infer_gemm},
    {"Gemm", 9, GEMM("C", "", "f0|w"), .infer = infer_gemm},
    {"Gemm", 11, GEMM("C?", "", "f0|w"), .infer = infer_gemm},
    {"Gemm", 13, GEMM("C?", "", "f|w"), .infer = infer_gemm},
    {"Det", 11, "(X:T) -> (Y:T) [T:f0]", .infer = infer_det},
    {"Det", 22, "(X:T) -> (Y:T) [T:f]", .infer = infer_det},
    {"MatMul", 1, "(A:float, B:H) -> (Y:float) [H:float16|bfloat16]", .infer = infer_matmul,
     .domain = "onx.internal"},
    {"Gemm", 1, "(A:float, B:H, C?:float) -> (Y:float) {" GEMM_ATTRS "} [H:float16|bfloat16]",
     .infer = infer_gemm, .domain = "onx.internal"},
    {"MatMulTile", 1,
     "(A:float, B:H, more?**:T) -> (Y:float) {code:ints, consts?:floats}"
     " [H:float|float16|bfloat16, T:float|bool]",
     .infer = infer_matmul, .domain = "onx.internal"},
    {0},
};
