/* listing_attr.c: attributes in a listing. Graphs are not among them: they stand below their
 * node. */
#include "text/listing.h"

#include "ir/edit.h"

void onx_line_sparse_type(onx_listing *l, const onx_sparse *sparse) {
    const onx_tensor *values = sparse->values;
    onx_line_puts(l, ONX_STYLE_TYPE, "sparse ");
    onx_line_dims(l, values ? onx_tensor_dtype(values) : ONX_DTYPE_NONE, &sparse->dims);
    if (values && values->dims.n == 1)
        onx_line_printf(l, ONX_STYLE_PLAIN, " with %lld values", (long long)values->dims.v[0]);
}

/* One element of a list, or a single value. */
static void put_message(onx_listing *l, const onx_msg *msg) {
    if (msg->desc == &onx_desc_tensor) {
        const onx_tensor *tensor = (const onx_tensor *)msg;
        onx_line_tensor_type(l, tensor);
        onx_line_space(l);
        onx_line_values(l, tensor, l->max_elements, false);
    } else if (msg->desc == &onx_desc_sparse) {
        onx_line_sparse_type(l, (const onx_sparse *)msg);
    } else if (msg->desc == &onx_desc_type) {
        onx_line_type(l, (const onx_type *)msg);
    }
}

/* What stands before element `index`; false when enough have been shown. */
static bool next_element(onx_listing *l, size_t index, size_t count) {
    size_t limit = l->max_elements > SIZE_MAX / 2 ? SIZE_MAX : 2 * l->max_elements;
    if (index == count) return false;
    if (index > 0) onx_line_puts(l, ONX_STYLE_PLAIN, ",");
    if (index > 0 && count > 8) onx_line_fold(l);
    if (index < limit) return true;
    onx_line_printf(l, ONX_STYLE_FAINT, " … %zu more", count - index);
    return false;
}

static void put_messages(onx_listing *l, const onx_list *list) {
    const onx_msg *msg = list->first;
    for (size_t i = 0; next_element(l, i, list->count); i++, msg = msg->next) put_message(l, msg);
}

static void put_list(onx_listing *l, const onx_attr *attr, onx_attr_type type) {
    onx_line_puts(l, ONX_STYLE_PLAIN, "[");
    if (type == ONX_ATTR_INTS)
        for (size_t i = 0; next_element(l, i, attr->ints.n); i++)
            onx_line_printf(l, ONX_STYLE_PLAIN, "%lld", (long long)attr->ints.v[i]);
    else if (type == ONX_ATTR_FLOATS)
        for (size_t i = 0; next_element(l, i, attr->floats.n); i++)
            onx_line_float(l, attr->floats.v[i]);
    else if (type == ONX_ATTR_STRINGS)
        for (size_t i = 0; next_element(l, i, attr->strings.n); i++)
            onx_line_string(l, attr->strings.v[i]);
    else
        put_messages(l, type == ONX_ATTR_TENSORS          ? &attr->tensors
                        : type == ONX_ATTR_SPARSE_TENSORS ? &attr->sparse_tensors
                                                          : &attr->type_protos);
    onx_line_puts(l, ONX_STYLE_PLAIN, "]");
}

static void put_single(onx_listing *l, const void *msg) {
    if (msg)
        put_message(l, msg);
    else
        onx_line_puts(l, ONX_STYLE_BAD, "nothing");
}

/* Integers that stand for element types, by the names that ONNX gives such attributes. */
static void put_int(onx_listing *l, const onx_attr *attr) {
    static const char *const names[] = {"to", "dtype", "output_dtype", "stash_type"};
    bool is_dtype = false;
    for (size_t i = 0; i < ONX_COUNT(names); i++)
        is_dtype = is_dtype || onx_str_is(attr->name, names[i]);
    if (is_dtype && attr->i > 0 && attr->i < ONX_DTYPE_COUNT)
        onx_line_puts(l, ONX_STYLE_TYPE, onx_dtype_name((onx_dtype)attr->i));
    else
        onx_line_printf(l, ONX_STYLE_PLAIN, "%lld", (long long)attr->i);
}

void onx_line_attr(onx_listing *l, const onx_attr *attr) {
    onx_attr_type type = onx_attr_type_of(attr);
    onx_line_name(l, ONX_STYLE_FAINT, attr->name);
    onx_line_puts(l, ONX_STYLE_FAINT, "=");
    if (attr->ref_attr_name.size) {
        onx_line_puts(l, ONX_STYLE_PLAIN, "@");
        onx_line_name(l, ONX_STYLE_PLAIN, attr->ref_attr_name);
        return;
    }
    switch (type) {
    case ONX_ATTR_INT: put_int(l, attr); break;
    case ONX_ATTR_FLOAT: onx_line_float(l, attr->f); break;
    case ONX_ATTR_STRING: onx_line_string(l, attr->s); break;
    case ONX_ATTR_TENSOR: put_single(l, attr->t); break;
    case ONX_ATTR_SPARSE_TENSOR: put_single(l, attr->sparse_tensor); break;
    case ONX_ATTR_TYPE: put_single(l, attr->tp); break;
    case ONX_ATTR_UNDEFINED: put_single(l, NULL); break;
    default: put_list(l, attr, type); break;
    }
}
