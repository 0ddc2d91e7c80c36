/* casting.c: tensors of another type, and tensors as numbers. A cast to the type that a tensor has
 * is the tensor itself, unless a copy is asked for. */
#include "export/aten/lowering.h"
#include "export/aten/parts.h"

/* ─ Types ────────────────────────────────────────────────────────────────────────────────────── */

/* The real part of a complex number; a real number and 0. */
static onx_xv convert(onx_export *x, const onx_xv *v, onx_dtype dtype) {
    onx_value *value = onx_xv_value(x, v);
    bool is = onx_xv_is_complex(v), will_be = onx_dtype_is_complex(dtype);
    onx_dtype part = will_be ? onx_complex_part(dtype) : dtype;
    if (is && !will_be) value = onx_complex_re(x, value);
    value = onx_x_cast(x, value, part);
    if (!is && will_be) {
        onx_value *zero = onx_lower_expand_like(x, onx_x_number(x, part, 0), value);
        value = onx_complex_pair(x, value, zero);
    }
    return will_be ? onx_xv_complex(x, value) : onx_xv_tensor(x, value);
}

static void give_cast(onx_export *x, const onx_xv *v, onx_dtype dtype, bool copy, onx_xv *out) {
    onx_dtype own = v->tensor->dtype;
    *out = copy || (dtype && dtype != own) ? convert(x, v, dtype ? dtype : own) : *v;
}

static void lower_to_dtype(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_cast(x, a, onx_xv_dtype(x, &a[1]), onx_xv_true(&a[3]), out);
}
static void lower_to_options(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_cast(x, a, onx_xv_dtype(x, &a[1]), onx_xv_true(&a[6]), out);
}
static void lower_to_device(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_cast(x, a, onx_xv_dtype(x, &a[2]), onx_xv_true(&a[4]), out);
}
static void lower_to_other(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_cast(x, a, a[1].tensor->dtype, onx_xv_true(&a[3]), out);
}
static void lower_to_same(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_cast(x, a, ONX_DTYPE_NONE, onx_xv_true(&a[2]), out);
}
static void lower_to_copy(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_cast(x, a, onx_xv_dtype(x, &a[1]), true, out);
}
static void lower_type_as(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_cast(x, a, a[1].tensor->dtype, false, out);
}
static void lower_convert(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_cast(x, a, onx_xv_dtype(x, &a[1]), false, out);
}
static void lower_same(onx_export *x, const onx_xv *a, onx_xv *out) {
    give_cast(x, a, ONX_DTYPE_NONE, false, out);
}

static const struct {
    const char *aten;
    onx_dtype dtype;
} casts[] = {
    {"_cast_Byte", ONX_DTYPE_U8},   {"_cast_Char", ONX_DTYPE_I8},    {"_cast_Short", ONX_DTYPE_I16},
    {"_cast_Int", ONX_DTYPE_I32},   {"_cast_Long", ONX_DTYPE_I64},   {"_cast_Half", ONX_DTYPE_F16},
    {"_cast_Float", ONX_DTYPE_F32}, {"_cast_Double", ONX_DTYPE_F64},
};

static void lower_named_cast(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t i = 0;
    while (i + 1 < ONX_COUNT(casts) && !onx_str_is(onx_x_op(x), casts[i].aten)) i++;
    give_cast(x, a, casts[i].dtype, false, out);
}

/* ─ Numbers ──────────────────────────────────────────────────────────────────────────────────── */

static onx_xv number_of(onx_export *x, const onx_xv *v) {
    return v->kind == ONX_X_TENSOR ? onx_x_item(x, v->tensor) : *v;
}

static void lower_item(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = number_of(x, a);
}
static void lower_int(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_x_to_int(x, number_of(x, a));
}
static void lower_float(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_x_to_float(x, number_of(x, a));
}

static void lower_bool(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv v = number_of(x, a);
    *out = v.kind == ONX_X_BOOL ? v : onx_x_arith(x, "ne", v, onx_xv_int(x, 0));
}

/* A number as a tensor: of a float, float64, as PyTorch has it. */
static void lower_num_to_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype dtype = a->kind == ONX_X_FLOAT ? ONX_DTYPE_F64 : ONX_DTYPE_NONE;
    onx_x_give(x, out, onx_x_scalar(x, a, dtype));
}

/* The elements, as nested lists: as many as the shape says, which must be known. */
static onx_xv listed(onx_export *x, onx_value *v, size_t rank) {
    int64_t n;
    onx_xv list = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    if (!onx_x_ok(x)) return list;
    if (!rank) {
        onx_xv t = onx_xv_tensor(x, v);
        return t.kind == ONX_X_TENSOR ? onx_x_item(x, t.tensor) : t;
    }
    if (!onx_x_known_dim(x, v, 0, &n) || n > 65536) {
        onx_x_fail(x, ONX_UNSUPPORTED, "a list of as many numbers as the model finds when it runs");
        onx_x_hint(x, "keep the tensor: what depends on the length of the list cannot be exported");
        return list;
    }
    for (int64_t i = 0; i < n && onx_x_ok(x); i++)
        onx_xlist_add(x, list.list, listed(x, onx_x_pick(x, v, 0, i), rank - 1));
    return list;
}

static void lower_tolist(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    size_t rank = onx_x_rank(x, v);
    if (rank != SIZE_MAX) *out = listed(x, v, rank);
}

#define COPY "bool non_blocking=False, bool copy=False"
#define OPTIONS "Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define CAST(name)                                                                                 \
    { name "(Tensor self, bool non_blocking=False)", lower_named_cast, NULL }
#define NUMBER(name, lower)                                                                        \
    { name "(Any a)", lower, NULL }
const onx_aten onx_aten_casting[] = {
    {"to.dtype(Tensor self, ScalarType dtype, " COPY ", MemoryFormat? memory_format=None)",
     lower_to_dtype, NULL},
    {"to.dtype_layout(Tensor self, *, ScalarType? dtype=None, " OPTIONS ", " COPY
     ", MemoryFormat? memory_format=None)",
     lower_to_options, NULL},
    {"to.device(Tensor self, Device? device, ScalarType? dtype=None, " COPY
     ", MemoryFormat? memory_format=None)",
     lower_to_device, NULL},
    {"to.other(Tensor self, Tensor other, " COPY ", MemoryFormat? memory_format=None)",
     lower_to_other, NULL},
    {"to.prim_dtype(Tensor self, ScalarType? dtype=None, " COPY ")", lower_to_dtype, NULL},
    {"to.prim_other(Tensor self, " COPY ")", lower_to_same, NULL},
    {"_to_copy(Tensor self, *, ScalarType? dtype=None, " OPTIONS
     ", bool non_blocking=False, MemoryFormat? memory_format=None)",
     lower_to_copy, NULL},
    {"type_as(Tensor self, Tensor other)", lower_type_as, NULL},
    {"prims::convert_element_type(Tensor a, ScalarType dtype)", lower_convert, NULL},
    {"_autocast_to_reduced_precision(Tensor self, bool cuda_enabled, bool cpu_enabled, "
     "ScalarType cuda_dtype, ScalarType cpu_dtype)",
     lower_same, NULL},
    {"_autocast_to_full_precision(Tensor self, bool cuda_enabled, bool cpu_enabled)", lower_same,
     NULL},
    CAST("_cast_Byte"),
    CAST("_cast_Char"),
    CAST("_cast_Short"),
    CAST("_cast_Int"),
    CAST("_cast_Long"),
    CAST("_cast_Half"),
    CAST("_cast_Float"),
    CAST("_cast_Double"),
    {"item(Tensor self) -> Scalar", lower_item, NULL},
    {"_local_scalar_dense(Tensor self) -> Scalar", lower_item, NULL},
    NUMBER("ScalarImplicit", lower_item),
    NUMBER("Int", lower_int),
    NUMBER("IntImplicit", lower_int),
    NUMBER("Float", lower_float),
    NUMBER("FloatImplicit", lower_float),
    NUMBER("Bool", lower_bool),
    {"is_nonzero(Tensor self) -> bool", lower_bool, NULL},
    {"prim::NumToTensor(Scalar a)", lower_num_to_tensor, NULL},
    {"prim::tolist(Tensor a) -> t[]", lower_tolist, NULL},
    {"tolist(Tensor a) -> t[]", lower_tolist, NULL},
    {NULL, NULL, NULL},
};
