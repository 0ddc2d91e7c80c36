/* msquant_infer.c: quantized tensors in com.microsoft, added, joined and gathered: inference. */
#include "ops/msquant/msquant.h"

/* QLinearAdd and QLinearMul: A is input 0, B input 3. */
onx_status onx_infer_ms_binary(onx_infer *in) {
    const onx_fact *a = onx_infer_in(in, 0), *b = onx_infer_in(in, 3);
    const onx_sym *const *dims;
    size_t rank;
    if (!a->ranked || !b->ranked) return onx_infer_unranked(in, 0, a->dtype);
    if (!onx_infer_broadcast_dims(in, a, b, &rank, &dims))
        return onx_infer_fail(in, "A and B do not broadcast: sizes must be equal, or one of them"
                                  " 1");
    if (!dims) return ONX_NO_MEMORY;
    return onx_infer_tensor(in, 0, a->dtype, rank, dims);
}

/* Add the sizes of one more tensor to those of the tensors before it. */
static onx_status join(onx_infer *in, size_t index, size_t rank, size_t axis,
                       const onx_sym **dims) {
    const onx_fact *x = onx_infer_in(in, index);
    if (x->rank != rank)
        return onx_infer_fail(in, "input %zu has %zu dimensions, those before it %zu", index,
                              x->rank, rank);
    for (size_t i = 0; i < rank; i++) {
        onx_extent size = {"size of a dimension that is not joined", dims[i]};
        if (i == axis) {
            dims[i] = onx_sym_add(onx_infer_syms(in), dims[i], x->dims[i]);
            continue;
        }
        ONX_TRY(onx_infer_meet(in, &size, x->dims[i]));
        dims[i] = size.size;
    }
    return ONX_OK;
}

/* Scale and zero point of the result, then a tensor, its scale and its zero point, again and
 * again. */
onx_status onx_infer_ms_concat(onx_infer *in) {
    size_t n = onx_infer_n_in(in), axis;
    const onx_fact *first = onx_infer_in(in, 2);
    onx_dtype dtype = onx_infer_in(in, 1)->dtype;
    if (n < 5 || (n - 2) % 3)
        return onx_infer_fail(in, "%zu inputs are not 2 for the result and 3 for each tensor", n);
    ONX_TRY(onx_infer_unranked(in, 0, dtype ? dtype : first->dtype));
    if (!first->ranked) return ONX_OK;
    if (!onx_axis(onx_infer_int(in, "axis"), first->rank, &axis))
        return onx_infer_fail(in, "axis %lld is out of range for rank %zu",
                              (long long)onx_infer_int(in, "axis"), first->rank);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), first->rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < first->rank; i++) dims[i] = first->dims[i];
    for (size_t i = 5; i < n; i += 3) {
        if (!onx_infer_in(in, i)->ranked) return ONX_OK;
        ONX_TRY(join(in, i, first->rank, axis, dims));
    }
    return onx_infer_tensor(in, 0, dtype ? dtype : first->dtype, first->rank, dims);
}

/* ── GatherBlockQuantized ────────────────────────────────────────────────────────────────────── */

typedef struct blocks {
    size_t gather, quantize; /* axes */
    int64_t size, packed;    /* elements with one scale; elements in one of the data */
} blocks;

static onx_status read_blocks(onx_infer *in, const onx_fact *data, blocks *out) {
    int64_t gather = onx_infer_int(in, "gather_axis"), bits = onx_infer_int(in, "bits");
    int64_t quantize = onx_infer_int(in, "quantize_axis");
    bool bytes = data->dtype == ONX_DTYPE_U8;
    *out = (blocks){.size = onx_infer_int(in, "block_size"), .packed = 1};
    if (bits != 2 && bits != 4 && bits != 8)
        return onx_infer_fail(in, "bits is %lld; it can be 2, 4 or 8", (long long)bits);
    if (out->size < 16 || (out->size & (out->size - 1)))
        return onx_infer_fail(in, "block_size is %lld; it must be a power of two, at least 16",
                              (long long)out->size);
    if (bytes) out->packed = 8 / bits;
    if (!data->ranked) return ONX_OK;
    if (data->rank < 2) return onx_infer_fail(in, "data needs at least 2 dimensions");
    if (!onx_axis(gather, data->rank, &out->gather) ||
        !onx_axis(quantize, data->rank, &out->quantize))
        return onx_infer_fail(in, "gather_axis is %lld and quantize_axis %lld, for rank %zu",
                              (long long)gather, (long long)quantize, data->rank);
    if (bytes && out->gather)
        return onx_infer_fail(in, "gather_axis is %lld; of bytes it must be 0", (long long)gather);
    return ONX_OK;
}

/* A scale for each block. */
static onx_status check_scales(onx_infer *in, const onx_fact *data, const blocks *b) {
    const onx_fact *scales = onx_infer_in(in, 2);
    if (!scales->ranked || !data->ranked) return ONX_OK;
    if (scales->rank != data->rank)
        return onx_infer_fail(in, "scales has %zu dimensions, data %zu", scales->rank, data->rank);
    for (size_t i = 0; i < data->rank; i++) {
        int64_t n, size, wanted;
        if (!onx_sym_is_int(data->dims[i], &n) || !onx_sym_is_int(scales->dims[i], &size)) continue;
        bool fits = onx_mul_i64(n, i == b->quantize ? b->packed : 1, &wanted);
        if (i == b->quantize) wanted = wanted / b->size + (wanted % b->size != 0);
        if (!fits || wanted != size)
            return onx_infer_fail(in,
                                  "dimension %zu of scales is %lld; for these data it must be"
                                  " %lld",
                                  i, (long long)size, (long long)wanted);
    }
    return ONX_OK;
}

onx_status onx_infer_ms_gather(onx_infer *in) {
    const onx_fact *data = onx_infer_in(in, 0), *indices = onx_infer_in(in, 1);
    onx_syms *syms = onx_infer_syms(in);
    onx_dtype dtype = onx_infer_in(in, 2)->dtype;
    blocks b;
    size_t n = 0;
    ONX_TRY(read_blocks(in, data, &b));
    ONX_TRY(check_scales(in, data, &b));
    if (!data->ranked || !indices->ranked) return onx_infer_unranked(in, 0, dtype);
    size_t rank = data->rank - 1 + indices->rank;
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), rank, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < data->rank; i++) {
        for (size_t j = 0; i == b.gather && j < indices->rank; j++) dims[n++] = indices->dims[j];
        if (i == b.gather) continue;
        const onx_sym *packed = onx_sym_int(syms, i == b.quantize ? b.packed : 1);
        dims[n++] = onx_sym_mul(syms, data->dims[i], packed);
    }
    return onx_infer_tensor(in, 0, dtype, rank, dims);
}
