/* listing_node.c: a node in a listing: what it computes, from what, how. Small constants stand in
 * place of their names. */
#include "text/listing.h"

#include "ir/edit.h"

void onx_line_typed_name(onx_listing *l, onx_style style, onx_str name, const onx_type *type) {
    onx_line_name(l, style, name);
    if (!type || onx_type_kind_of(type) == ONX_TYPE_NONE) return;
    onx_line_puts(l, ONX_STYLE_PLAIN, ": ");
    onx_line_type(l, type);
}

/* The tensor that a value always is: an initializer that callers cannot override, or a Constant. */
static const onx_tensor *constant_of(const onx_value *value) {
    if (value->init) return value->input || value->sparse ? NULL : value->init;
    if (!value->def || !onx_str_is(value->def->op_type, "Constant")) return NULL;
    const onx_attr *attr = onx_node_attr_first(value->def); /* its only one */
    return attr && onx_str_is(attr->name, "value") ? attr->t : NULL;
}

/* Constants that are short enough to be shown where they are used: one element, or a few integers,
 * as shapes and axes are. */
static bool is_short(const onx_listing *l, const onx_tensor *tensor) {
    uint64_t count;
    onx_dtype dtype = onx_tensor_dtype(tensor);
    bool few = dtype == ONX_DTYPE_I64 || dtype == ONX_DTYPE_I32;
    size_t limit = few && l->max_elements < 8 ? l->max_elements : few ? 8 : 1;
    if (onx_tensor_count(tensor, &count, NULL) || count > limit) return false;
    /* A broken tensor may have any payload, and this is asked at each use. */
    if (tensor->int32_data.size + tensor->int64_data.size + tensor->uint64_data.size > 256)
        return false;
    bool absent = onx_tensor_is_external(tensor) && !tensor->external.data;
    return !absent && onx_tensor_check(tensor, NULL) == ONX_OK;
}

static void put_constant(onx_listing *l, const onx_value *value) {
    const onx_tensor *tensor = constant_of(value);
    if (!tensor || !is_short(l, tensor)) return;
    onx_line_puts(l, ONX_STYLE_FAINT, "=");
    onx_line_values(l, tensor, SIZE_MAX, false);
}

static void put_inputs(onx_listing *l, const onx_node *n) {
    onx_line_puts(l, ONX_STYLE_PLAIN, "(");
    for (size_t i = 0; i < n->input.n; i++) {
        const onx_value *value = n->ins[i] ? n->ins[i]->value : NULL;
        bool undefined = value && !onx_value_is_defined(value);
        if (i > 0) onx_line_puts(l, ONX_STYLE_PLAIN, ","), onx_line_space(l);
        if (value)
            onx_line_name(l, undefined ? ONX_STYLE_BAD : ONX_STYLE_PLAIN, n->input.v[i]);
        else
            onx_line_puts(l, ONX_STYLE_FAINT, "_");
        if (undefined) onx_line_puts(l, ONX_STYLE_BAD, "?");
        if (value) put_constant(l, value);
    }
    onx_line_puts(l, ONX_STYLE_PLAIN, ")");
}

static void put_outputs(onx_listing *l, const onx_node *n) {
    for (size_t i = 0; i < n->output.n; i++) {
        const onx_value *value = n->outs[i] ? n->outs[i]->value : NULL;
        if (i > 0) onx_line_puts(l, ONX_STYLE_PLAIN, ","), onx_line_space(l);
        if (value)
            onx_line_typed_name(l, ONX_STYLE_PLAIN, n->output.v[i], onx_value_type(value));
        else
            onx_line_puts(l, ONX_STYLE_FAINT, "_");
    }
    if (n->output.n) onx_line_space(l);
    onx_line_puts(l, ONX_STYLE_PLAIN, "= ");
}

static bool holds_graphs(const onx_attr *attr) {
    return attr->g || attr->graphs.count > 0;
}

static void put_attrs(onx_listing *l, const onx_list *attrs) {
    bool any = false;
    ONX_EACH (const onx_attr, attr, *attrs) {
        if (holds_graphs(attr)) continue;
        if (any) onx_line_puts(l, ONX_STYLE_PLAIN, ",");
        onx_line_space(l);
        if (!any) onx_line_puts(l, ONX_STYLE_PLAIN, "{");
        any = true;
        onx_line_attr(l, attr);
    }
    if (any) onx_line_puts(l, ONX_STYLE_PLAIN, "}");
}

/* Exporters often name a value by its node, or a node by its value; the name is then no news. */
static bool name_is_news(const onx_node *n) {
    onx_str out = n->output.n ? n->output.v[0] : (onx_str){NULL, 0};
    if (n->name.size == 0) return false;
    if (out.size == 0) return true;
    return out.size < n->name.size ? !onx_str_ends(n->name, out)
                                   : memcmp(out.data, n->name.data, n->name.size) != 0;
}

void onx_line_node(onx_listing *l, const onx_node *n, size_t index, size_t indent) {
    onx_line_begin(l, indent, indent + 10);
    onx_line_printf(l, ONX_STYLE_FAINT, "%4zu", index);
    onx_line_pad(l, indent + 6);
    put_outputs(l, n);
    if (n->domain.size && !onx_str_is(n->domain, "ai.onnx")) {
        onx_line_name(l, ONX_STYLE_FAINT, n->domain);
        onx_line_puts(l, ONX_STYLE_FAINT, "::");
    }
    onx_line_name(l, ONX_STYLE_OP, n->op_type);
    if (n->overload.size) {
        onx_line_puts(l, ONX_STYLE_FAINT, ":");
        onx_line_name(l, ONX_STYLE_FAINT, n->overload);
    }
    put_inputs(l, n);
    put_attrs(l, &n->attribute);
    if (name_is_news(n)) {
        onx_line_space(l);
        onx_line_puts(l, ONX_STYLE_FAINT, "# ");
        onx_line_put(l, ONX_STYLE_FAINT, n->name);
    }
    onx_line_end(l);
}
