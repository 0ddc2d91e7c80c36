/* promote.c: which type PyTorch computes in.
 *
 * Types have categories: bool, integer, float, complex. Tensors with dimensions decide; those
 * without only where their category is higher; numbers likewise after them, with the default type
 * of their category. Within a category the promoted type is that of the table. */
#include "export/export.h"

typedef enum category { C_NONE, C_BOOL, C_INT, C_FLOAT, C_COMPLEX } category;

static category category_of(onx_dtype dtype) {
    switch (dtype) {
    case ONX_DTYPE_NONE: return C_NONE;
    case ONX_DTYPE_BOOL: return C_BOOL;
    case ONX_DTYPE_C64:
    case ONX_DTYPE_C128: return C_COMPLEX;
    case ONX_DTYPE_U8:
    case ONX_DTYPE_I8:
    case ONX_DTYPE_U16:
    case ONX_DTYPE_I16:
    case ONX_DTYPE_U32:
    case ONX_DTYPE_I32:
    case ONX_DTYPE_U64:
    case ONX_DTYPE_I64: return C_INT;
    default: return C_FLOAT;
    }
}

bool onx_dtype_is_float(onx_dtype dtype) {
    return category_of(dtype) == C_FLOAT;
}
bool onx_dtype_is_complex(onx_dtype dtype) {
    return category_of(dtype) == C_COMPLEX;
}
bool onx_dtype_is_int(onx_dtype dtype) {
    return category_of(dtype) == C_INT;
}

/* Signed integers and floats by width; the unsigned byte beside them. */
static int rank_of(onx_dtype dtype) {
    static const onx_dtype order[] = {ONX_DTYPE_I8,  ONX_DTYPE_I16, ONX_DTYPE_I32,
                                      ONX_DTYPE_I64, ONX_DTYPE_F16, ONX_DTYPE_F32,
                                      ONX_DTYPE_F64, ONX_DTYPE_C64, ONX_DTYPE_C128};
    for (size_t i = 0; i < ONX_COUNT(order); i++)
        if (order[i] == dtype) return (int)i;
    return -1;
}

static onx_dtype promote_bytes(onx_dtype other) { /* u8 with another integer */
    return other == ONX_DTYPE_I8 ? ONX_DTYPE_I16 : other;
}

onx_dtype onx_x_promote2(onx_dtype a, onx_dtype b) {
    category ca = category_of(a), cb = category_of(b);
    if (a == b || !cb) return a;
    if (!ca) return b;
    if (ca == C_COMPLEX || cb == C_COMPLEX)
        return a == ONX_DTYPE_C128 || b == ONX_DTYPE_C128 || a == ONX_DTYPE_F64 ||
                       b == ONX_DTYPE_F64
                   ? ONX_DTYPE_C128
                   : ONX_DTYPE_C64;
    if (ca != cb) return ca > cb ? a : b;
    if (a == ONX_DTYPE_U8) return promote_bytes(b);
    if (b == ONX_DTYPE_U8) return promote_bytes(a);
    int ra = rank_of(a), rb = rank_of(b);
    if (ra < 0 || rb < 0) { /* bfloat16 and other small floats */
        if (ra > rank_of(ONX_DTYPE_F16) || rb > rank_of(ONX_DTYPE_F16)) return ra > rb ? a : b;
        return ONX_DTYPE_F32;
    }
    return ra > rb ? a : b;
}

/* Types so far, by how much they count. */
typedef struct tally {
    onx_dtype dims, zero, number;
} tally;

/* The default type of its category. */
static onx_dtype usual(onx_dtype dtype) {
    if (category_of(dtype) == C_COMPLEX) return ONX_DTYPE_C64;
    return category_of(dtype) == C_FLOAT ? ONX_DTYPE_F32 : dtype;
}

static void count(onx_export *x, tally *t, const onx_xv *v) {
    static const onx_dtype of_number[] = {[ONX_X_INT] = ONX_DTYPE_I64,
                                          [ONX_X_FLOAT] = ONX_DTYPE_F32,
                                          [ONX_X_BOOL] = ONX_DTYPE_BOOL,
                                          [ONX_X_COMPLEX] = ONX_DTYPE_C64};
    if (v->kind != ONX_X_TENSOR) {
        if (v->kind < ONX_COUNT(of_number))
            t->number = onx_x_promote2(t->number, of_number[v->kind]);
        return;
    }
    onx_dtype dtype = v->tensor->dtype;
    size_t rank = onx_x_rank(x, v->tensor->value);
    if (onx_dtype_is_complex(dtype) && rank) rank--;
    if (v->tensor->wrapped)
        t->number = onx_x_promote2(t->number, usual(dtype));
    else if (rank == 0)
        t->zero = onx_x_promote2(t->zero, dtype);
    else
        t->dims = onx_x_promote2(t->dims, dtype);
}

/* `low` counts only where its category is higher. */
static onx_dtype combine(onx_dtype high, onx_dtype low) {
    if (category_of(low) <= category_of(high)) return high;
    if (category_of(low) == C_COMPLEX && category_of(high) == C_FLOAT)
        return high == ONX_DTYPE_F64 ? ONX_DTYPE_C128 : ONX_DTYPE_C64;
    return low;
}

onx_dtype onx_x_promote(onx_export *x, size_t n, const onx_xv *v) {
    tally t = {ONX_DTYPE_NONE, ONX_DTYPE_NONE, ONX_DTYPE_NONE};
    for (size_t i = 0; i < n; i++) count(x, &t, &v[i]);
    return combine(combine(t.dims, t.zero), t.number);
}

bool onx_x_pair(onx_export *x, const onx_xv *a, const onx_xv *b, onx_value **va, onx_value **vb) {
    onx_xv both[] = {*a, *b};
    onx_dtype dtype = onx_x_promote(x, 2, both);
    *va = onx_x_as(x, a, dtype);
    *vb = onx_x_as(x, b, dtype);
    return *va && *vb;
}

onx_value *onx_x_as(onx_export *x, const onx_xv *v, onx_dtype dtype) {
    if (v->kind == ONX_X_TENSOR) return onx_x_cast(x, onx_xt_value(x, v->tensor), dtype);
    return onx_x_scalar(x, v, dtype);
}

onx_value *onx_x_floating(onx_export *x, const onx_xv *v) {
    onx_value *value = onx_xv_value(x, v);
    return value && !onx_dtype_is_float(onx_x_dtype(x, value)) ? onx_x_cast(x, value, ONX_DTYPE_F32)
                                                               : value;
}

onx_dtype onx_xv_dtype(onx_export *x, const onx_xv *v) {
    int64_t c10;
    if (v->kind == ONX_X_NONE || !onx_xv_known_int(v, &c10)) return ONX_DTYPE_NONE;
    onx_dtype dtype = onx_dtype_of_c10(c10);
    if (!dtype) onx_x_fail(x, ONX_UNSUPPORTED, "PyTorch's type number %lld", (long long)c10);
    return dtype;
}
