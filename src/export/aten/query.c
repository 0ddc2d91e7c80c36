/* query.c: questions about tensors whose answers are numbers: sizes, types, where they live.
 *
 * Sizes are symbolic where a dimension is. What a model in ONNX has no notion of has the answer of
 * a plain tensor on the CPU. */
#include "export/aten/lowering.h"
#include "export/strides.h"
#include "export/torch_tensor.h"

/* ─ Sizes ────────────────────────────────────────────────────────────────────────────────────── */

static void lower_size(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, a);
    size_t rank = onx_xv_rank(x, a);
    if (rank == SIZE_MAX) return;
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < rank && onx_x_ok(x); i++)
        onx_xlist_add(x, out->list, onx_x_size_of(x, v, i));
}

static void lower_size_dim(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t rank = onx_xv_rank(x, a), axis;
    if (rank == SIZE_MAX || !onx_x_axis(x, onx_xv_whole(x, &a[1], 0), rank, &axis)) return;
    *out = onx_x_size_of(x, onx_xv_value(x, a), axis);
}

static void lower_numel(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t rank = onx_xv_rank(x, a);
    onx_value *v = onx_xv_value(x, a);
    *out = onx_xv_int(x, 1);
    for (size_t i = 0; rank != SIZE_MAX && i < rank; i++)
        *out = onx_x_arith(x, "mul", *out, onx_x_size_of(x, v, i));
}

static void lower_len(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_x_size_of(x, onx_xv_value(x, a), 0);
}

static void lower_dim(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_xv_int(x, (int64_t)onx_xv_rank(x, a));
}

static onx_xv known(onx_export *x, const onx_sym *number, const char *what) {
    if (number) return onx_xv_sym(ONX_X_INT, number);
    onx_x_fail(x, ONX_UNSUPPORTED, "the %s of this tensor is only known in a run", what);
    onx_x_hint(x, "call contiguous() first in Python");
    return (onx_xv){.kind = ONX_X_NONE};
}

/* Of a tensor whose elements lie in order, of any sizes. */
static onx_xv stride_in_order(onx_export *x, const onx_xv *v, size_t rank, size_t axis) {
    onx_xv product = onx_xv_int(x, 1);
    for (size_t i = axis + 1; i < rank; i++)
        product = onx_x_arith(x, "mul", product, onx_x_size_of(x, onx_xv_value(x, v), i));
    return product;
}

static onx_xv stride_of(onx_export *x, const onx_xv *v, size_t rank, size_t axis) {
    if (onx_xt_is_contiguous(x, v->tensor) == ONX_X_YES) return stride_in_order(x, v, rank, axis);
    const onx_xlayout *l = onx_xt_layout(x, v->tensor, 0);
    return known(x, l ? l->strides[axis] : NULL, "stride");
}

/* One that is not known is a number of its own, which can be compared, as assertions do, but not
 * computed with. */
static void lower_storage_offset(onx_export *x, const onx_xv *a, onx_xv *out) {
    const onx_xlayout *l = onx_xt_layout(x, a->tensor, 0);
    onx_buf name;
    onx_buf_init(&name, x->ctx);
    onx_buf_printf(&name, "storage_offset(%s)", onx_value_name(onx_xv_value(x, a)));
    const onx_sym *own = onx_sym_name(x->syms, (onx_str){name.data, name.size});
    *out = known(x, l && l->offset ? l->offset : name.failed ? NULL : own, "storage_offset");
    onx_buf_fini(&name);
}

static void lower_stride(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t rank = onx_xv_rank(x, a);
    if (rank == SIZE_MAX) return;
    *out = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < rank && onx_x_ok(x); i++)
        onx_xlist_add(x, out->list, stride_of(x, a, rank, i));
}

static void lower_stride_dim(onx_export *x, const onx_xv *a, onx_xv *out) {
    size_t rank = onx_xv_rank(x, a), axis;
    if (rank == SIZE_MAX || !onx_x_axis(x, onx_xv_whole(x, &a[1], 0), rank, &axis)) return;
    *out = stride_of(x, a, rank, axis);
}

static void lower_shape_as_tensor(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, onx_x_shape_of(x, onx_xv_value(x, a)));
}

/* Known where it can be told whatever the sizes are. */
static void lower_is_same_size(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_xv_value(x, &a[0]), *w = onx_xv_value(x, &a[1]);
    size_t rank = onx_x_rank(x, v);
    *out = onx_xv_bool(x, rank == onx_x_rank(x, w));
    for (size_t i = 0; i < rank && onx_xv_true(out); i++)
        *out = onx_x_arith(x, "eq", onx_x_size_of(x, v, i), onx_x_size_of(x, w, i));
}

/* ─ Types ────────────────────────────────────────────────────────────────────────────────────── */

static onx_xv number_of(onx_export *x, onx_dtype dtype) {
    const onx_torch_dtype_info *info = onx_torch_dtype_of_onx(dtype);
    if (!info) onx_x_fail(x, ONX_UNSUPPORTED, "PyTorch has no type %s", onx_dtype_name(dtype));
    return onx_xv_int(x, info ? (int64_t)info->dtype : 0);
}

static void lower_dtype(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = number_of(x, a->tensor->dtype);
}

static void lower_result_type(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = number_of(x, onx_x_promote(x, 2, a));
}

static void lower_promote_types(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = number_of(x, onx_x_promote2(onx_xv_dtype(x, &a[0]), onx_xv_dtype(x, &a[1])));
}

static void lower_is_floating_point(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_xv_bool(x, onx_dtype_is_float(a->tensor->dtype));
}

static void lower_is_complex(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_xv_bool(x, onx_xv_is_complex(a));
}

static void lower_is_signed(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_dtype d = a->tensor->dtype;
    bool unsigned_ = d == ONX_DTYPE_BOOL || d == ONX_DTYPE_U8 || d == ONX_DTYPE_U16 ||
                     d == ONX_DTYPE_U32 || d == ONX_DTYPE_U64;
    *out = onx_xv_bool(x, !unsigned_);
}

static void lower_element_size(onx_export *x, const onx_xv *a, onx_xv *out) {
    const onx_torch_dtype_info *info = onx_torch_dtype_of_onx(a->tensor->dtype);
    *out = onx_xv_int(x, info ? info->bytes : 0);
}

/* ─ The rest ─────────────────────────────────────────────────────────────────────────────────── */

static void lower_device(onx_export *x, const onx_xv *a, onx_xv *out) {
    (void)x, (void)a;
    *out = (onx_xv){.kind = ONX_X_DEVICE, .str = onx_str_of("cpu")};
}
static void lower_no(onx_export *x, const onx_xv *a, onx_xv *out) {
    (void)a;
    *out = onx_xv_bool(x, false);
}
static void lower_yes(onx_export *x, const onx_xv *a, onx_xv *out) {
    (void)a;
    *out = onx_xv_bool(x, true);
}
static void lower_zero_number(onx_export *x, const onx_xv *a, onx_xv *out) {
    (void)a;
    *out = onx_xv_int(x, 0);
}
static void lower_is_contiguous(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xanswer is = onx_lay_has_format(x, a->tensor, &a[1]);
    if (is == ONX_X_UNSURE) onx_x_note(x, "is_contiguous: taken to be so");
    *out = onx_xv_bool(x, is != ONX_X_NO);
}

static void lower_is_nested(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_xv_bool(x, a->tensor->inside != NULL);
}

#define NO(name)                                                                                   \
    { name "(Tensor a) -> bool", lower_no, NULL }
const onx_aten onx_aten_query[] = {
    {"size(Tensor self) -> int[]", lower_size, NULL},
    {"size.int(Tensor self, int dim) -> int", lower_size_dim, NULL},
    {"sym_size(Tensor self) -> int[]", lower_size, NULL},
    {"sym_size.int(Tensor self, int dim) -> int", lower_size_dim, NULL},
    {"prim::shape(Tensor self) -> int[]", lower_size, NULL},
    {"numel(Tensor self) -> int", lower_numel, NULL},
    {"sym_numel(Tensor self) -> int", lower_numel, NULL},
    {"len(Tensor t) -> int", lower_len, NULL},
    {"dim(Tensor self) -> int", lower_dim, NULL},
    {"ndimension(Tensor self) -> int", lower_dim, NULL},
    {"stride(Tensor self) -> int[]", lower_stride, NULL},
    {"stride.int(Tensor self, int dim) -> int", lower_stride_dim, NULL},
    {"sym_stride(Tensor self) -> int[]", lower_stride, NULL},
    {"sym_stride.int(Tensor self, int dim) -> int", lower_stride_dim, NULL},
    {"storage_offset(Tensor self) -> int", lower_storage_offset, NULL},
    {"sym_storage_offset(Tensor self) -> int", lower_storage_offset, NULL},
    {"_shape_as_tensor(Tensor self)", lower_shape_as_tensor, NULL},
    {"is_same_size(Tensor self, Tensor other) -> bool", lower_is_same_size, NULL},
    {"prim::dtype(Tensor a) -> int", lower_dtype, NULL},
    {"result_type(Any tensor, Any other) -> ScalarType", lower_result_type, NULL},
    {"promote_types(ScalarType type1, ScalarType type2) -> ScalarType", lower_promote_types, NULL},
    {"is_floating_point(Tensor self) -> bool", lower_is_floating_point, NULL},
    {"is_complex(Tensor self) -> bool", lower_is_complex, NULL},
    {"is_signed(Tensor self) -> bool", lower_is_signed, NULL},
    {"element_size(Tensor self) -> int", lower_element_size, NULL},
    {"prim::itemsize(Tensor a) -> int", lower_element_size, NULL},
    {"prim::device(Tensor a) -> Device", lower_device, NULL},
    {"prim::layout(Tensor a) -> Layout", lower_zero_number, NULL},
    {"is_contiguous(Tensor self, MemoryFormat? memory_format=None) -> bool", lower_is_contiguous,
     NULL},
    {"is_leaf(Tensor self) -> bool", lower_yes, NULL},
    {"is_pinned(Tensor self, Device? device=None) -> bool", lower_no, NULL},
    NO("prim::requires_grad"),
    NO("prim::is_cuda"),
    NO("prim::is_ipu"),
    NO("prim::is_maia"),
    NO("prim::is_meta"),
    NO("prim::is_mkldnn"),
    NO("prim::is_mps"),
    NO("prim::is_mtia"),
    {"prim::is_nested(Tensor self) -> bool", lower_is_nested, NULL},
    NO("prim::is_sparse"),
    NO("prim::is_vulkan"),
    NO("prim::is_xla"),
    NO("prim::is_xpu"),
    NO("is_conj"),
    NO("is_neg"),
    NO("is_inference"),
    NO("is_distributed"),
    NO("_is_zerotensor"),
    {NULL, NULL, NULL},
};
