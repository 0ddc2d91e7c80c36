/* fact_type.c: declared types from what inference knows. Expressions become dim_param texts; sizes
 * that stand for "not known" stay open. */
#include "ir/edit.h"
#include "pass/surgery.h"

static const onx_type *innermost(const onx_type *type) {
    while (onx_type_elem(type)) type = onx_type_elem(type);
    return type;
}

bool onx_type_has_dtype(const onx_type *type) {
    type = innermost(type);
    return onx_type_kind_of(type) == ONX_TYPE_OPAQUE || onx_type_dtype(type);
}

bool onx_type_is_complete(const onx_type *type) {
    type = innermost(type);
    if (onx_type_kind_of(type) == ONX_TYPE_OPAQUE) return true;
    return onx_type_dtype(type) && onx_type_has_shape(type);
}

onx_status onx_facts_try(const onx_model *model, onx_facts **out, onx_diag *diag) {
    const onx_facts_options options = {.report = onx_facts_ignore};
    return onx_facts_new(model, &options, out, diag);
}

static onx_status set_dim(onx_dim *dim, const onx_sym *size) {
    int64_t value;
    if (onx_sym_is_int(size, &value)) {
        if (value >= 0) onx_i64_set(dim, ONX_ROW(dim, dim_value), value);
        return ONX_OK;
    }
    onx_buf text;
    onx_buf_init(&text, dim->msg.doc->ctx);
    onx_sym_print(size, &text);
    onx_buf_putc(&text, '\0');
    onx_status status = text.failed ? ONX_NO_MEMORY
                        : strchr(text.data, '?')
                            ? ONX_OK
                            : onx_str_set(dim, ONX_ROW(dim, dim_param), text.data);
    onx_buf_fini(&text);
    return status;
}

static onx_status add_shape(onx_tensor_type *tensor, const onx_field *row, const onx_fact *fact) {
    onx_shape *shape = onx_msg_new(tensor->msg.doc, &onx_desc_shape);
    if (!shape) return ONX_NO_MEMORY;
    onx_msg_append(tensor, row, shape);
    for (size_t i = 0; i < fact->rank; i++) {
        onx_dim *dim = onx_msg_new(tensor->msg.doc, &onx_desc_dim);
        if (!dim) return ONX_NO_MEMORY;
        onx_msg_append(shape, ONX_ROW(shape, dim), dim);
        if (fact->dims[i]) ONX_TRY(set_dim(dim, fact->dims[i]));
    }
    return ONX_OK;
}

static onx_status add_tensor(onx_type *type, const onx_fact *fact) {
    bool sparse = fact->kind == ONX_TYPE_SPARSE_TENSOR;
    onx_tensor_type *tensor =
        onx_msg_new(type->msg.doc, sparse ? &onx_desc_sparse_tensor_type : &onx_desc_tensor_type);
    if (!tensor) return ONX_NO_MEMORY;
    onx_msg_append(type, sparse ? ONX_ROW(type, sparse_tensor_type) : ONX_ROW(type, tensor_type),
                   tensor);
    onx_i32_set(tensor,
                sparse ? ONX_ROW(sparse_tensor_type, elem_type) : ONX_ROW(tensor_type, elem_type),
                (int32_t)fact->dtype);
    const onx_field *row =
        sparse ? ONX_ROW(sparse_tensor_type, shape) : ONX_ROW(tensor_type, shape);
    return fact->ranked ? add_shape(tensor, row, fact) : ONX_OK;
}

/* One level: a type that holds another, which is returned; NULL when memory ran out. */
static onx_type *add_level(onx_type *type, const onx_fact *fact) {
    onx_doc *doc = type->msg.doc;
    const onx_field *in, *row;
    if (fact->kind == ONX_TYPE_MAP)
        in = ONX_ROW(type, map_type), row = ONX_ROW(map_type, value_type);
    else if (fact->kind == ONX_TYPE_SEQUENCE)
        in = ONX_ROW(type, sequence_type), row = ONX_ROW(sequence_type, elem_type);
    else
        in = ONX_ROW(type, optional_type), row = ONX_ROW(optional_type, elem_type);
    onx_msg *level = onx_msg_new(doc, in->child);
    onx_type *elem = onx_msg_new(doc, &onx_desc_type);
    if (!level || !elem) return NULL;
    onx_msg_append(type, in, level);
    if (fact->kind == ONX_TYPE_MAP)
        onx_i32_set(level, ONX_ROW(map_type, key_type), (int32_t)fact->dtype);
    onx_msg_append(level, row, elem);
    return elem;
}

onx_status onx_fact_type(onx_doc *doc, const onx_fact *fact, onx_type **out, onx_diag *diag) {
    onx_type *type = onx_msg_new(doc, &onx_desc_type), *at = type;
    for (; at && fact->elem; fact = fact->elem) at = add_level(at, fact);
    if (!at) return onx_fail_nomem(diag);
    bool tensor = fact->kind == ONX_TYPE_TENSOR || fact->kind == ONX_TYPE_SPARSE_TENSOR;
    bool known = tensor && fact->dtype;
    if (known && add_tensor(at, fact)) return onx_fail_nomem(diag);
    *out = known ? type : NULL;
    return ONX_OK;
}
