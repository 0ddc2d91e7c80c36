/* constant.c: tensors from nothing, or from a shape: Constant, ConstantOfShape, Range, EyeLike:
 * meaning. */
#include "ops/constant/constant.h"
#include "ir/edit.h"
#include "ops/rows.h"

/* ── Constant ────────────────────────────────────────────────────────────────────────────────── */

typedef struct source { /* an attribute that can hold the value */
    const char *name;
    onx_attr_type type;
    onx_dtype dtype;
    size_t rank;
} source;

static const source sources[] = {
    {"value", ONX_ATTR_TENSOR, ONX_DTYPE_NONE, 0},
    {"sparse_value", ONX_ATTR_SPARSE_TENSOR, ONX_DTYPE_NONE, 0},
    {"value_int", ONX_ATTR_INT, ONX_DTYPE_I64, 0},
    {"value_ints", ONX_ATTR_INTS, ONX_DTYPE_I64, 1},
    {"value_float", ONX_ATTR_FLOAT, ONX_DTYPE_F32, 0},
    {"value_floats", ONX_ATTR_FLOATS, ONX_DTYPE_F32, 1},
    {"value_string", ONX_ATTR_STRING, ONX_DTYPE_STRING, 0},
    {"value_strings", ONX_ATTR_STRINGS, ONX_DTYPE_STRING, 1},
};

/* The bytes or strings of an attribute, in place, as the payload of a tensor. */
static size_t borrow(onx_tensor *tensor, onx_attr *attr, onx_attr_type type) {
    switch (type) {
    case ONX_ATTR_INT: tensor->raw_data = (onx_str){(const char *)&attr->i, sizeof attr->i}; break;
    case ONX_ATTR_FLOAT:
        tensor->raw_data = (onx_str){(const char *)&attr->f, sizeof attr->f};
        break;
    case ONX_ATTR_INTS:
        tensor->raw_data = (onx_str){(const char *)attr->ints.v, attr->ints.n * sizeof(int64_t)};
        return attr->ints.n;
    case ONX_ATTR_FLOATS:
        tensor->raw_data = (onx_str){(const char *)attr->floats.v, attr->floats.n * sizeof(float)};
        return attr->floats.n;
    case ONX_ATTR_STRING: tensor->string_data = (onx_strs){&attr->s, 1, 1}; break;
    default: tensor->string_data = attr->strings; return attr->strings.n;
    }
    return 1;
}

static onx_status make_tensor(const onx_node *node, onx_attr *attr, const source *from,
                              onx_arena *arena, const onx_tensor **out, onx_diag *diag) {
    onx_tensor *tensor = onx_arena_alloc(arena, sizeof *tensor);
    int64_t *dims = onx_arena_alloc(arena, sizeof *dims);
    if (!tensor || !dims) return onx_fail_nomem(diag);
    tensor->msg.desc = &onx_desc_tensor;
    tensor->msg.doc = node->msg.doc;
    tensor->msg.has = ONX_BIT(tensor, data_type);
    tensor->data_type = (int32_t)from->dtype;
    dims[0] = (int64_t)borrow(tensor, attr, from->type);
    tensor->dims = (onx_i64s){dims, from->rank, 1};
    if (from->dtype != ONX_DTYPE_STRING) tensor->msg.has |= ONX_BIT(tensor, raw_data);
    if (!tensor->raw_data.data) tensor->raw_data.data = "";
    *out = tensor;
    return ONX_OK;
}

onx_status onx_constant_tensor(const onx_node *node, onx_arena *arena, const onx_tensor **out,
                               onx_diag *diag) {
    const source *from = NULL;
    onx_attr *attr = NULL;
    for (size_t i = 0; i < ONX_COUNT(sources); i++) {
        onx_attr *found = onx_node_attr(node, sources[i].name);
        if (!found || onx_attr_type_of(found) != sources[i].type) continue;
        if (from)
            return onx_fail(diag, ONX_INVALID, "both '%s' and '%s' are given", from->name,
                            sources[i].name);
        from = &sources[i];
        attr = found;
    }
    if (from && from->dtype) return make_tensor(node, attr, from, arena, out, diag);
    if (from && from->type == ONX_ATTR_SPARSE_TENSOR)
        return onx_fail(diag, ONX_UNSUPPORTED, "sparse constants are not supported");
    if (!from || !attr->t) return onx_fail(diag, ONX_INVALID, "a constant without a value");
    *out = attr->t;
    return ONX_OK;
}

/* Written out, it is a tensor of these sizes. */
static onx_status infer_sparse(onx_infer *in, const onx_sparse *sparse) {
    onx_diag diag = ONX_INIT(onx_diag);
    if (onx_sparse_check(sparse, &diag)) return onx_infer_fail(in, "%s", diag.message);
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), sparse->dims.n + 1, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < sparse->dims.n; i++)
        dims[i] = onx_sym_int(onx_infer_syms(in), sparse->dims.v[i]);
    return onx_infer_tensor(in, 0, onx_tensor_dtype(sparse->values), sparse->dims.n, dims);
}

/* The engine reads type, shape and elements off the tensor. */
static onx_status infer_constant(onx_infer *in) {
    onx_diag diag = ONX_INIT(onx_diag);
    const onx_tensor *tensor = NULL;
    const onx_attr *attr = onx_node_attr(onx_infer_node(in), "sparse_value");
    onx_status status =
        onx_constant_tensor(onx_infer_node(in), onx_infer_arena(in), &tensor, &diag);
    if (status == ONX_UNSUPPORTED && attr && attr->sparse_tensor)
        return infer_sparse(in, attr->sparse_tensor);
    if (!status) status = onx_tensor_check(tensor, &diag);
    if (status == ONX_INVALID) return onx_infer_fail(in, "%s", diag.message);
    if (status == ONX_NO_MEMORY) return status;
    if (!status) *onx_infer_out(in, 0) = (onx_fact){.kind = ONX_TYPE_TENSOR, .constant = tensor};
    return ONX_OK;
}

/* ── ConstantOfShape ─────────────────────────────────────────────────────────────────────────── */

static onx_status infer_constantofshape(onx_infer *in) {
    const onx_fact *shape = onx_infer_in(in, 0);
    const onx_attr *attr = onx_node_attr(onx_infer_node(in), "value");
    const onx_tensor *value = attr ? attr->t : NULL;
    onx_dtype dtype = value ? onx_tensor_dtype(value) : ONX_DTYPE_F32;
    int64_t rank;
    ONX_TRY(onx_infer_check_rank(in, 0, 1, 1));
    if (!shape->elems) {
        const onx_sym *unknown[ONX_RANK_MAX] = {NULL};
        bool ranked = shape->ranked && onx_sym_is_int(shape->dims[0], &rank) && rank >= 0 &&
                      rank <= ONX_RANK_MAX;
        return ranked ? onx_infer_tensor(in, 0, dtype, (size_t)rank, unknown)
                      : onx_infer_unranked(in, 0, dtype);
    }
    ONX_TRY(onx_infer_tensor(in, 0, dtype, shape->n_elems, shape->elems));
    int64_t dims[ONX_RANK_MAX];
    size_t n;
    double fill = 0;
    if (!onx_fact_counts(onx_infer_out(in, 0), &n, dims) || dtype == ONX_DTYPE_STRING ||
        (value && onx_tensor_read_as(value, ONX_DTYPE_F64, &fill, sizeof fill, NULL)))
        return ONX_OK;
    if (!(fill > -0x1p24 && fill < 0x1p24) || fill != (double)(int64_t)fill) return ONX_OK;
    const onx_sym **elems = onx_arena_array(onx_infer_arena(in), n + 1, sizeof *elems);
    if (!elems) return ONX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) elems[i] = onx_sym_int(onx_infer_syms(in), (int64_t)fill);
    return onx_infer_elems(in, 0, n, elems);
}

/* ── Range ───────────────────────────────────────────────────────────────────────────────────── */

static onx_status range_elems(onx_infer *in, int64_t n, const onx_sym *start,
                              const onx_sym *delta) {
    onx_syms *syms = onx_infer_syms(in);
    if (n > 1024) return ONX_OK;
    const onx_sym **elems = onx_arena_array(onx_infer_arena(in), (size_t)n + 1, sizeof *elems);
    if (!elems) return ONX_NO_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        elems[i] = start;
        start = onx_sym_add(syms, start, delta);
    }
    return onx_infer_elems(in, 0, (size_t)n, elems);
}

static onx_status infer_range(onx_infer *in) {
    onx_syms *syms = onx_infer_syms(in);
    const onx_sym *part[3] = {NULL, NULL, NULL}, *size = NULL, *zero = onx_sym_int(syms, 0);
    int64_t step, n;
    for (size_t i = 0; i < 3; i++) {
        const onx_fact *fact = onx_infer_in(in, i);
        if (fact->elems && fact->n_elems == 1) part[i] = fact->elems[0];
    }
    bool stepped = onx_sym_is_int(part[2], &step);
    if (stepped && step == 0) return onx_infer_fail(in, "delta is 0");
    const onx_sym *distance = onx_sym_sub(syms, part[1], part[0]);
    if (stepped && distance && onx_sym_is_binary(distance))
        size = onx_sym_max(syms, onx_sym_ceil(syms, onx_sym_ratio(syms, distance, part[2])), zero);
    ONX_TRY(onx_infer_tensor(in, 0, onx_infer_in(in, 0)->dtype, 1, &size));
    return onx_sym_is_int(size, &n) ? range_elems(in, n, part[0], part[2]) : ONX_OK;
}

/* ── EyeLike ─────────────────────────────────────────────────────────────────────────────────── */

static onx_status infer_eyelike(onx_infer *in) {
    int64_t dtype = onx_infer_int(in, "dtype");
    ONX_TRY(onx_infer_check_rank(in, 0, 2, 2));
    if (!onx_op_has(onx_infer_node(in), "dtype")) return onx_infer_same(in);
    if (dtype <= 0 || dtype >= ONX_DTYPE_COUNT)
        return onx_infer_fail(in, "there is no element type %lld", (long long)dtype);
    ONX_TRY(onx_infer_same(in));
    onx_infer_out(in, 0)->kind = ONX_TYPE_TENSOR;
    onx_infer_out(in, 0)->dtype = (onx_dtype)dtype;
    return ONX_OK;
}

/* ── Bodies ──────────────────────────────────────────────────────────────────────────────────── */

static const char range_body[] =
    "sub_result = Sub (limit, start)"
    " sub_result_casted = Cast <to = 1> (sub_result)"
    " delta_casted = Cast <to = 1> (delta)"
    " div_result = Div (sub_result_casted, delta_casted)"
    " ceil_result = Ceil (div_result)"
    " ceil_result_relu = Relu (ceil_result)"
    " ceil_result_relu_int = Cast <to = 7> (ceil_result_relu)"
    " ceil_result_relu_bool = Cast <to = 9> (ceil_result_relu)"
    " variadic_output, output = Loop (ceil_result_relu_int, ceil_result_relu_bool, start)"
    " <body = loop_body_attribute (int64 i, bool cond, prev) => (cond_out, current, range) {"
    " cond_out = Identity (cond) current = Add (prev, delta) range = Identity (prev) }>";

/* Small floats are counted in a larger type. */
static const char stashed_range_body[] =
    "start_s = Cast <to: int = @stash_type> (start)"
    " limit_s = Cast <to: int = @stash_type> (limit)"
    " delta_s = Cast <to: int = @stash_type> (delta)"
    " sub_result = Sub (limit_s, start_s)"
    " div_result = Div (sub_result, delta_s)"
    " ceil_result = Ceil (div_result)"
    " ceil_relu = Relu (ceil_result)"
    " n = Cast <to = 7> (ceil_relu)"
    " loop_cond = Cast <to = 9> (ceil_relu)"
    " variadic_output, output_s = Loop (n, loop_cond, start_s)"
    " <body = loop_body (int64 i, bool cond_in, prev) => (cond_out, current, range) {"
    " cond_out = Identity (cond_in) current = Add (prev, delta_s) range = Identity (prev) }>"
    " output = CastLike (output_s, start)";

static onx_status write_range(const onx_op *op, const onx_node *node, size_t n_in,
                              const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    onx_dtype type = ONX_DTYPE_NONE;
    (void)op, (void)node;
    for (size_t i = 0; i < n_in && !type; i++) type = ins[i]->dtype;
    if (!type) return onx_fail(diag, ONX_NOT_FOUND, "the type of the inputs of Range is not known");
    bool small = type == ONX_DTYPE_F16 || type == ONX_DTYPE_BF16;
    onx_buf_puts(out, small ? stashed_range_body : range_body);
    return ONX_OK;
}

#define CONSTANT_1 "() -> (output:T) {value:tensor} "
#define CONSTANT_12                                                                                \
    "() -> (output:T) {sparse_value?:sparse_tensor, value?:tensor, value_float?:float, "           \
    "value_floats?:floats, value_int?:int, value_ints?:ints, value_string?:string, "               \
    "value_strings?:strings} "
#define CONSTANT_OF_SHAPE_9 "(input:T1) -> (output:T2) {value?:tensor} "
#define EYE_LIKE_9 "(input:T1) -> (output:T2) {dtype?:int, k:int=0} "

extern onx_op_rows onx_ops_constant;
onx_op_rows onx_ops_constant = {
    {"Constant", 1, CONSTANT_1 "[T:f0]", .infer = infer_constant},
    {"Constant", 9, CONSTANT_1 "[T:all1]", .infer = infer_constant},
    {"Constant", 11, "() -> (output:T) {sparse_value?:sparse_tensor, value?:tensor} [T:all1]",
     .infer = infer_constant},
    {"Constant", 12, CONSTANT_12 "[T:all1]", .infer = infer_constant},
    {"Constant", 13, CONSTANT_12 "[T:all13]", .infer = infer_constant},
    {"Constant", 19, CONSTANT_12 "[T:all19]", .infer = infer_constant},
    {"Constant", 21, CONSTANT_12 "[T:all21]", .infer = infer_constant},
    {"Constant", 23, CONSTANT_12 "[T:all23]", .infer = infer_constant},
    {"Constant", 24, CONSTANT_12 "[T:all24]", .infer = infer_constant},
    {"Constant", 25, CONSTANT_12 "[T:all25]", .infer = infer_constant},
    {"ConstantOfShape", 9, CONSTANT_OF_SHAPE_9 "[T1:int64, T2:n0|bool]",
     .infer = infer_constantofshape},
    {"ConstantOfShape", 20, CONSTANT_OF_SHAPE_9 "[T1:int64, T2:n|f8|bool]",
     .infer = infer_constantofshape},
    {"ConstantOfShape", 21, CONSTANT_OF_SHAPE_9 "[T1:int64, T2:n|f8|i4|bool]",
     .infer = infer_constantofshape},
    {"ConstantOfShape", 23, CONSTANT_OF_SHAPE_9 "[T1:int64, T2:n|f8|i4|bool|float4e2m1]",
     .infer = infer_constantofshape},
    {"ConstantOfShape", 24, CONSTANT_OF_SHAPE_9 "[T1:int64, T2:n|f8|i4|bool|float4e2m1|float8e8m0]",
     .infer = infer_constantofshape},
    {"ConstantOfShape", 25,
     CONSTANT_OF_SHAPE_9 "[T1:int64, T2:n|f8|i4|i2|bool|float4e2m1|float8e8m0]",
     .infer = infer_constantofshape},
    FN("Range", 11, "(start:T, limit:T, delta:T) -> (output:T) [T:double|float|int16|int32|int64]",
       infer_range, range_body),
    BY("Range", 27,
       "(start:T, limit:T, delta:T) -> (output:T) {stash_type:int=1} [T:f|int16|int32|int64]",
       infer_range, write_range),
    {"EyeLike", 9, EYE_LIKE_9 "[T1:n0|bool, T2:n0|bool]", .infer = infer_eyelike},
    {"EyeLike", 22, EYE_LIKE_9 "[T1:n|bool, T2:n|bool]", .infer = infer_eyelike},
    {0},
};
