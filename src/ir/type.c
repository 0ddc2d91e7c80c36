/* type.c: reading types: the accessors of onx.h. A NULL type is a type of no kind. */
#include "ir/type_text.h"

#include <stdio.h>

static const onx_tensor_type *tensor_of(const onx_type *type) {
    if (!type) return NULL;
    return type->tensor_type ? type->tensor_type : type->sparse_tensor_type;
}

onx_type_kind onx_type_kind_of(const onx_type *type) {
    if (!type) return ONX_TYPE_NONE;
    return type->tensor_type          ? ONX_TYPE_TENSOR
           : type->sparse_tensor_type ? ONX_TYPE_SPARSE_TENSOR
           : type->sequence_type      ? ONX_TYPE_SEQUENCE
           : type->map_type           ? ONX_TYPE_MAP
           : type->optional_type      ? ONX_TYPE_OPTIONAL
           : type->opaque_type        ? ONX_TYPE_OPAQUE
                                      : ONX_TYPE_NONE;
}

onx_dtype onx_type_dtype(const onx_type *type) {
    const onx_tensor_type *tensor = tensor_of(type);
    int32_t dtype = tensor                   ? tensor->elem_type
                    : type && type->map_type ? type->map_type->key_type
                                             : 0;
    return dtype > 0 && dtype < ONX_DTYPE_COUNT ? (onx_dtype)dtype : ONX_DTYPE_NONE;
}

const onx_type *onx_type_elem(const onx_type *type) {
    if (!type) return NULL;
    if (type->sequence_type) return type->sequence_type->elem_type;
    if (type->optional_type) return type->optional_type->elem_type;
    return type->map_type ? type->map_type->value_type : NULL;
}

const char *onx_type_denotation(const onx_type *type) {
    return type && type->denotation.data ? type->denotation.data : "";
}

bool onx_type_has_shape(const onx_type *type) {
    const onx_tensor_type *tensor = tensor_of(type);
    return tensor && tensor->shape;
}

size_t onx_type_rank(const onx_type *type) {
    return onx_type_has_shape(type) ? tensor_of(type)->shape->dim.count : 0;
}

static const onx_dim *dim_at(const onx_type *type, size_t index) {
    if (index >= onx_type_rank(type)) return NULL;
    const onx_msg *dim = tensor_of(type)->shape->dim.first;
    while (index-- > 0) dim = dim->next;
    return (const onx_dim *)dim;
}

int64_t onx_type_dim(const onx_type *type, size_t index) {
    const onx_dim *dim = dim_at(type, index);
    return dim && onx_msg_has(dim, ONX_ROW(dim, dim_value)) ? dim->dim_value : -1;
}

const char *onx_type_dim_param(const onx_type *type, size_t index) {
    const onx_dim *dim = dim_at(type, index);
    return dim && dim->dim_param.data ? dim->dim_param.data : "";
}

size_t onx_type_format(const onx_type *type, char *out, size_t size) {
    if (size > 0) out[0] = '\0';
    if (!type) return 0;
    onx_buf text;
    onx_buf_init(&text, type->msg.doc->ctx);
    onx_type_print(type, &text);
    return onx_buf_give(&text, out, size);
}
