/* cast.c: Cast, CastLike, BitCast: meaning. */
#include "ops/cast/cast.h"
#include "ops/rows.h"

/* Cast 1 has the name of the type in TensorProto: "FLOAT". */
static onx_dtype named(onx_str name) {
    char text[32];
    size_t i = 0;
    for (; i < name.size && i + 1 < sizeof text; i++) {
        char c = name.data[i];
        text[i] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
    text[i] = 0;
    return i == name.size ? onx_dtype_from_name(text) : ONX_DTYPE_NONE;
}

onx_dtype onx_cast_to(const onx_op *op, const onx_node *node) {
    if (op->since < 6) return named(onx_op_string(op, node, "to"));
    int64_t to = onx_op_int(op, node, "to");
    return to > 0 && to < ONX_DTYPE_COUNT ? (onx_dtype)to : ONX_DTYPE_NONE;
}

/* Rounded to zero; NULL: its sign is not known. */
static const onx_sym *truncated(onx_syms *syms, const onx_sym *elem) {
    const onx_sym *zero = onx_sym_int(syms, 0);
    if (!elem || onx_sym_is_whole(elem)) return elem;
    if (onx_sym_at_least(syms, elem, zero)) return onx_sym_floor(syms, elem);
    return onx_sym_at_least(syms, zero, elem) ? onx_sym_ceil(syms, elem) : NULL;
}

/* The least and the greatest number of a type that elements are followed in; false: of no such. */
static bool limits_of(onx_dtype to, int64_t *least, int64_t *most) {
    static const struct {
        onx_dtype dtype;
        int64_t least, most;
    } rows[] = {
        {ONX_DTYPE_I64, -INT64_MAX, INT64_MAX}, {ONX_DTYPE_I32, INT32_MIN, INT32_MAX},
        {ONX_DTYPE_I16, INT16_MIN, INT16_MAX},  {ONX_DTYPE_I8, INT8_MIN, INT8_MAX},
        {ONX_DTYPE_U8, 0, UINT8_MAX},           {ONX_DTYPE_U16, 0, UINT16_MAX},
        {ONX_DTYPE_U32, 0, UINT32_MAX},         {ONX_DTYPE_F32, -(1 << 24), 1 << 24},
        {ONX_DTYPE_F64, -(1 << 24), 1 << 24},
    };
    for (size_t i = 0; i < ONX_COUNT(rows); i++) {
        if (rows[i].dtype != to) continue;
        *least = rows[i].least;
        *most = rows[i].most;
        return true;
    }
    return false;
}

/* A known number survives where it fits. A size that is not known yet fits in int32 and float, for
 * dimensions that large cannot be computed with anyway. */
static const onx_sym *cast_elem(onx_infer *in, const onx_sym *elem, onx_dtype to) {
    onx_syms *syms = onx_infer_syms(in);
    int64_t value, least, most;
    bool large = to == ONX_DTYPE_I64 || to == ONX_DTYPE_I32;
    bool real = to == ONX_DTYPE_F32 || to == ONX_DTYPE_F64;
    if (to == ONX_DTYPE_BOOL)
        return onx_sym_is_int(elem, &value) ? onx_sym_int(syms, value != 0) : NULL;
    if (!elem || !limits_of(to, &least, &most)) return NULL;
    if (!real) elem = truncated(syms, elem);
    if (!onx_sym_is_int(elem, &value)) return large || real ? elem : NULL;
    return value >= least && value <= most ? elem : NULL;
}

static onx_status cast_to(onx_infer *in, onx_dtype to) {
    const onx_fact *x = onx_infer_in(in, 0);
    ONX_TRY(onx_infer_same(in));
    onx_infer_out(in, 0)->dtype = to;
    if (!onx_fact_has_elems(x)) return ONX_OK;
    const onx_sym **elems = onx_arena_array(onx_infer_arena(in), x->n_elems, sizeof *elems);
    if (!elems) return ONX_NO_MEMORY;
    for (size_t i = 0; i < x->n_elems; i++) elems[i] = cast_elem(in, x->elems[i], to);
    return onx_infer_elems(in, 0, x->n_elems, elems);
}

static onx_status infer_cast(onx_infer *in) {
    onx_dtype to = onx_cast_to(onx_infer_op(in), onx_infer_node(in));
    if (to == ONX_DTYPE_NONE) return onx_infer_fail(in, "the attribute 'to' names no type");
    return cast_to(in, to);
}
static onx_status infer_bit_cast(onx_infer *in) {
    onx_dtype to = onx_cast_to(onx_infer_op(in), onx_infer_node(in));
    onx_dtype from = onx_infer_in(in, 0)->dtype;
    if (to == ONX_DTYPE_NONE) return onx_infer_fail(in, "the attribute 'to' names no type");
    if (from && onx_dtype_bits(from) != onx_dtype_bits(to))
        return onx_infer_fail(in, "%s has %u bits, %s has %u: they must be as many",
                              onx_dtype_name(from), onx_dtype_bits(from), onx_dtype_name(to),
                              onx_dtype_bits(to));
    ONX_TRY(onx_infer_same(in));
    onx_infer_out(in, 0)->dtype = to;
    return ONX_OK;
}
static onx_status infer_cast_like(onx_infer *in) {
    return cast_to(in, onx_infer_in(in, 1)->dtype);
}

/* ── Bodies ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status write_cast_like(const onx_op *op, const onx_node *node, size_t n_in,
                                  const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    onx_dtype to = n_in > 1 ? ins[1]->dtype : ONX_DTYPE_NONE;
    (void)node;
    if (!to) return onx_fail(diag, ONX_NOT_FOUND, "the type that CastLike casts to is not known");
    onx_buf_printf(out, "output = Cast <to = %d%s%s> (input)", (int)to,
                   op->since >= 19 ? ", saturate: int = @saturate" : "",
                   op->since >= 24 ? ", round_mode: string = @round_mode" : "");
    return ONX_OK;
}

extern onx_op_rows onx_ops_cast;
onx_op_rows onx_ops_cast = {
    OP("BitCast", 26,
       "(input:T1) -> (output:T2) {to:int} [T1:n|f8|c|i4|i2|bool|float4e2m1|float8e8m0, "
       "T2:n|f8|c|i4|i2|bool|float4e2m1|float8e8m0]",
       infer_bit_cast),
    OP("Cast", 1, "(input:T1) -> (output:T2) {to:string} [T1:n0|bool, T2:n0|bool]", infer_cast),
    OP("Cast", 6, "(input:T1) -> (output:T2) {to:int} [T1:n0|bool, T2:n0|bool]", infer_cast),
    OP("Cast", 9, "(input:T1) -> (output:T2) {to:int} [T1:n0|bool|string, T2:n0|bool|string]",
       infer_cast),
    OP("Cast", 13, "(input:T1) -> (output:T2) {to:int} [T1:n|bool|string, T2:n|bool|string]",
       infer_cast),
    OP("Cast", 19,
       "(input:T1) -> (output:T2) {saturate:int=1, to:int} [T1:n|f8|bool|string, "
       "T2:n|f8|bool|string]",
       infer_cast),
    OP("Cast", 21,
       "(input:T1) -> (output:T2) {saturate:int=1, to:int} [T1:n|f8|i4|bool|string, "
       "T2:n|f8|i4|bool|string]",
       infer_cast),
    OP("Cast", 23,
       "(input:T1) -> (output:T2) {saturate:int=1, to:int} [T1:n|f8|i4|string|bool|float4e2m1, "
       "T2:n|f8|i4|string|bool|float4e2m1]",
       infer_cast),
    OP("Cast", 24,
       "(input:T1) -> (output:T2) {round_mode:string=\"up\", saturate:int=1, to:int} "
       "[T1:n|f8|i4|string|bool|float4e2m1|float8e8m0, "
       "T2:n|f8|i4|string|bool|float4e2m1|float8e8m0]",
       infer_cast),
    OP("Cast", 25,
       "(input:T1) -> (output:T2) {round_mode:string=\"up\", saturate:int=1, to:int} "
       "[T1:n|f8|i4|i2|string|bool|float4e2m1|float8e8m0, "
       "T2:n|f8|i4|i2|string|bool|float4e2m1|float8e8m0]",
       infer_cast),
    OP("Cast", 28,
       "(input:T1) -> (output:T2) {round_mode:string=\"up\", saturate:int=1, to:int} "
       "[T1:n|f8|i4|i2|f6|string|bool|float4e2m1|float8e8m0, "
       "T2:n|f8|i4|i2|f6|string|bool|float4e2m1|float8e8m0]",
       infer_cast),
    BY("CastLike", 15,
       "(input:T1, target_type:T2) -> (output:T2) [T1:n|bool|string, T2:n|bool|string]",
       infer_cast_like, write_cast_like),
    BY("CastLike", 19,
       "(input:T1, target_type:T2) -> (output:T2) {saturate:int=1} [T1:n|f8|bool|string, "
       "T2:n|f8|bool|string]",
       infer_cast_like, write_cast_like),
    BY("CastLike", 21,
       "(input:T1, target_type:T2) -> (output:T2) {saturate:int=1} [T1:n|f8|i4|string|bool, "
       "T2:n|f8|i4|string|bool]",
       infer_cast_like, write_cast_like),
    BY("CastLike", 23,
       "(input:T1, target_type:T2) -> (output:T2) {saturate:int=1} "
       "[T1:n|f8|i4|string|bool|float4e2m1, T2:n|f8|i4|string|bool|float4e2m1]",
       infer_cast_like, write_cast_like),
    BY("CastLike", 24,
       "(input:T1, target_type:T2) -> (output:T2) {round_mode:string=\"up\", saturate:int=1} "
       "[T1:n|f8|i4|string|bool|float4e2m1|float8e8m0, "
       "T2:n|f8|i4|string|bool|float4e2m1|float8e8m0]",
       infer_cast_like, write_cast_like),
    BY("CastLike", 25,
       "(input:T1, target_type:T2) -> (output:T2) {round_mode:string=\"up\", saturate:int=1} "
       "[T1:n|f8|i4|i2|string|bool|float4e2m1|float8e8m0, "
       "T2:n|f8|i4|i2|string|bool|float4e2m1|float8e8m0]",
       infer_cast_like, write_cast_like),
    {0},
};
