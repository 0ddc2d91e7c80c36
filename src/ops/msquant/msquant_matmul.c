/* msquant_matmul.c: products of small integers in com.microsoft: inference. */
#include "ops/matmul/matmul.h"
#include "ops/msquant/msquant.h"

static onx_dtype dtype_of(const onx_infer *in, size_t index) {
    return onx_infer_in(in, index)->dtype;
}

onx_status onx_infer_ms_dynamic(onx_infer *in) {
    return onx_infer_matmul(in, onx_infer_in(in, 0), onx_infer_in(in, 1), dtype_of(in, 0));
}

onx_status onx_infer_ms_integer_to_float(onx_infer *in) {
    return onx_infer_matmul(in, onx_infer_in(in, 0), onx_infer_in(in, 1), dtype_of(in, 2));
}

/* With y_zero_point the result is quantized, of that type. */
onx_status onx_infer_ms_qgemm(onx_infer *in) {
    onx_dtype dtype = onx_infer_has_in(in, 8) ? dtype_of(in, 8) : ONX_DTYPE_F32;
    return onx_infer_gemm(in, 0, 3, 6, dtype);
}

/* A[…,K], and weights in blocks of bits, N rows of K. */
onx_status onx_infer_ms_n_bits(onx_infer *in) {
    onx_syms *syms = onx_infer_syms(in);
    const onx_fact *a = onx_infer_in(in, 0);
    int64_t k = onx_infer_int(in, "K"), n = onx_infer_int(in, "N"), size, blocks;
    int64_t block = onx_infer_int(in, "block_size"), bits = onx_infer_int(in, "bits");
    if (k < 1 || n < 1)
        return onx_infer_fail(in, "K is %lld and N %lld; they must be at least 1", (long long)k,
                              (long long)n);
    if (block < 16 || (block & (block - 1)))
        return onx_infer_fail(in, "block_size is %lld; it must be a power of two, at least 16",
                              (long long)block);
    if (bits < 2 || bits > 8)
        return onx_infer_fail(in, "bits is %lld; it can be 2 to 8", (long long)bits);
    blocks = k / block + (k % block != 0);
    const onx_fact *b = onx_infer_in(in, 1);
    bool packed = b->ranked && b->rank == 3 && !onx_infer_int(in, "weight_prepacked");
    if (packed && ((onx_sym_is_int(b->dims[0], &size) && size != n) ||
                   (onx_sym_is_int(b->dims[1], &size) && size != blocks)))
        return onx_infer_fail(in, "B must hold %lld rows of %lld blocks", (long long)n,
                              (long long)blocks);
    if (!a->ranked) return onx_infer_unranked(in, 0, a->dtype);
    if (!a->rank) return onx_infer_fail(in, "A is a scalar; it needs rows of %lld", (long long)k);
    if (onx_sym_is_int(a->dims[a->rank - 1], &size) && size != k)
        return onx_infer_fail(in, "A has rows of %lld, where K is %lld", (long long)size,
                              (long long)k);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), a->rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < a->rank; i++) dims[i] = a->dims[i];
    dims[a->rank - 1] = onx_sym_int(syms, n);
    return onx_infer_tensor(in, 0, a->dtype, a->rank, dims);
}
