/* inline_size.c: about how much memory copies of messages take, before they are made. */
#include "ir/ir.h"

static size_t message_bytes(const onx_msg *msg) {
    const size_t per_name = 400; /* a value or a use of one, and its name */
    size_t names = 0, elements = 0;
    if (msg->desc == &onx_desc_node)
        names = ((const onx_node *)msg)->input.n + ((const onx_node *)msg)->output.n;
    if (msg->desc == &onx_desc_attr) {
        const onx_attr *attr = (const onx_attr *)msg;
        elements = attr->ints.n + attr->floats.n + 2 * attr->strings.n;
    }
    if (msg->desc == &onx_desc_tensor)
        elements = ((const onx_tensor *)msg)->dims.n + 2 * ((const onx_tensor *)msg)->string_data.n;
    return msg->desc->size + names * per_name + elements * sizeof(int64_t);
}

size_t onx_copy_bytes(const void *root) {
    const onx_msg *msg;
    size_t bytes = 0;
    for (onx_walk w = onx_walk_begin(root); (msg = onx_walk_next(&w));) bytes += message_bytes(msg);
    return bytes;
}

static size_t count_refs(const onx_function *f, onx_str name) {
    const onx_msg *msg;
    size_t n = 0;
    for (onx_walk w = onx_walk_begin(f); (msg = onx_walk_next(&w));)
        n +=
            msg->desc == &onx_desc_attr && onx_str_eq(((const onx_attr *)msg)->ref_attr_name, name);
    return n;
}

/* What a call gives may go to several places. */
size_t onx_node_inline_bytes(const onx_node *call, const onx_function *f) {
    size_t bytes = onx_copy_bytes(f), given;
    ONX_EACH (onx_attr, attr, call->attribute) {
        bool large = attr->g || attr->graphs.count || attr->ints.n + attr->floats.n > 64;
        if (!large) continue;
        if (!onx_mul_size(onx_copy_bytes(attr), count_refs(f, attr->name), &given) ||
            !onx_add_size(bytes, given, &bytes))
            return SIZE_MAX;
    }
    return bytes;
}
