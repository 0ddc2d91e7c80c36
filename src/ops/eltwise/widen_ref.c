/* widen_ref.c: see widen_ref.h. */
#include "ops/eltwise/widen_ref.h"

/* The types that need no widening; complex numbers are two floats each. */
static bool is_wide(onx_dtype dtype) {
    return (ONX_T(F32) | ONX_T(F64) | ONX_T(C64) | ONX_T(C128)) >> dtype & 1;
}

/* float or double: the smallest of them that has all values of the type (of 64 bits, most). */
static onx_dtype wide_as(onx_dtype dtype) {
    const uint32_t doubles =
        ONX_T(F64) | ONX_T(C128) | ONX_T(I32) | ONX_T(U32) | ONX_T(I64) | ONX_T(U64);
    return doubles >> dtype & 1 ? ONX_DTYPE_F64 : ONX_DTYPE_F32;
}

static size_t wide_size(onx_dtype dtype) {
    return wide_as(dtype) == ONX_DTYPE_F64 ? sizeof(double) : sizeof(float);
}

bool onx_wide_bytes(const onx_operand *operand, size_t *bytes) {
    size_t more;
    if (!operand || is_wide((onx_dtype)operand->dtype)) return true;
    return onx_mul_size((size_t)operand->count, wide_size((onx_dtype)operand->dtype), &more) &&
           onx_add_size(*bytes, more, bytes);
}

onx_wide onx_wide_of(const onx_operand *operand, char **scratch) {
    if (!operand || !operand->count) return (onx_wide){NULL, false};
    onx_dtype dtype = (onx_dtype)operand->dtype, as = wide_as(dtype);
    if (is_wide(dtype)) return (onx_wide){operand->data, as == ONX_DTYPE_F64};
    char *out = *scratch;
    *scratch += (size_t)operand->count * wide_size(dtype);
    (void)onx_dtype_convert(dtype, operand->data, as, out, (uint64_t)operand->count, false);
    return (onx_wide){out, as == ONX_DTYPE_F64};
}
