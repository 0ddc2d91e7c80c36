/* check_type.c: types as they are written: of values, in attributes. */
#include "check/checker.h"
#include "ir/edit.h"

/* The IR version that each element type came with, those of the first version left out. */
static const uint8_t ir_of[ONX_DTYPE_COUNT] = {
    [ONX_DTYPE_BF16] = 4,    [ONX_DTYPE_F8E4M3FN] = 9,   [ONX_DTYPE_F8E4M3FNUZ] = 9,
    [ONX_DTYPE_F8E5M2] = 9,  [ONX_DTYPE_F8E5M2FNUZ] = 9, [ONX_DTYPE_U4] = 10,
    [ONX_DTYPE_I4] = 10,     [ONX_DTYPE_F4E2M1] = 11,    [ONX_DTYPE_F8E8M0] = 12,
    [ONX_DTYPE_U2] = 13,     [ONX_DTYPE_I2] = 13,        [ONX_DTYPE_F6E2M3] = 14,
    [ONX_DTYPE_F6E3M2] = 14,
};

void onx_check_dtype(onx_checker *c, onx_rule_id rule, const void *msg, int32_t dtype) {
    if (dtype <= 0 || dtype >= ONX_DTYPE_COUNT)
        onx_check_tell(c, rule, msg, "use one of the types of TensorProto.DataType",
                       dtype ? "the element type %d is not known" : "there is no element type",
                       (int)dtype);
    else if (ir_of[dtype])
        onx_check_ir(c, ONX_RULE_IR_TYPE, msg, ir_of[dtype], onx_dtype_name((onx_dtype)dtype));
}

static void check_dims(onx_checker *c, const onx_type *type, const onx_shape *shape) {
    size_t i = 0;
    ONX_EACH (onx_dim, dim, shape->dim) {
        if (dim->dim_value < 0)
            onx_check_tell(c, ONX_RULE_TYPE_DIM, type,
                           "give a size that is not known a name, or nothing",
                           "dimension %zu has the size %lld", i, (long long)dim->dim_value);
        i++;
    }
}

static bool is_key(int32_t dtype) {
    return dtype == ONX_DTYPE_STRING || (dtype >= ONX_DTYPE_U8 && dtype <= ONX_DTYPE_I64) ||
           dtype == ONX_DTYPE_U32 || dtype == ONX_DTYPE_U64;
}

static void check_level(onx_checker *c, const onx_type *type) {
    const onx_tensor_type *tensor =
        type->tensor_type ? type->tensor_type : type->sparse_tensor_type;
    if (tensor) onx_check_dtype(c, ONX_RULE_TYPE_ELEM, type, tensor->elem_type);
    if (tensor && tensor->shape) check_dims(c, type, tensor->shape);
    if (type->map_type && !is_key(type->map_type->key_type))
        onx_check_tell(c, ONX_RULE_TYPE_MAP_KEY, type, "use an integer type or string",
                       "the keys of a map cannot be of type %s",
                       onx_dtype_name((onx_dtype)type->map_type->key_type));
    bool holds = type->sequence_type || type->map_type || type->optional_type;
    if (holds && onx_type_kind_of(onx_type_elem(type)) == ONX_TYPE_NONE)
        onx_check_tell(c, ONX_RULE_TYPE_MISSING, type, "say what it holds",
                       "a sequence, map or optional says nothing of its elements");
    if (type->optional_type) onx_check_ir(c, ONX_RULE_IR_TYPE, type, 8, "optional types");
    if (type->sparse_tensor_type) onx_check_ir(c, ONX_RULE_IR_TYPE, type, 8, "sparse tensor types");
}

void onx_check_type(onx_checker *c, const onx_type *type) {
    for (; type; type = onx_type_elem(type)) check_level(c, type);
}

/* Inputs and outputs of the main graph say what they are. */
static void check_interface(onx_checker *c, const onx_value_info *info, const char *what) {
    const onx_type *type = info->type;
    onx_type_kind kind = onx_type_kind_of(type);
    if (kind == ONX_TYPE_NONE)
        onx_check_tell(c, ONX_RULE_TYPE_MISSING, info, "declare its type",
                       "the %s '%.*s' of the model has no type", what, ONX_FMT(info->name));
    else if ((kind == ONX_TYPE_TENSOR || kind == ONX_TYPE_SPARSE_TENSOR) &&
             !onx_type_has_shape(type))
        onx_check_tell(c, ONX_RULE_TYPE_SHAPE, info,
                       "declare its shape; sizes that are not known may be left open",
                       "the %s '%.*s' of the model has no shape", what, ONX_FMT(info->name));
}

void onx_check_value_info(onx_checker *c, const onx_value_info *info) {
    const onx_msg *parent = info->msg.parent;
    const onx_field *list = &parent->desc->fields[info->msg.field];
    onx_check_metadata(c, &info->msg, &info->metadata_props);
    if (!c->model->graph || parent != &c->model->graph->msg) return;
    if (list == ONX_ROW(graph, input)) check_interface(c, info, "input");
    if (list == ONX_ROW(graph, output)) check_interface(c, info, "output");
}
