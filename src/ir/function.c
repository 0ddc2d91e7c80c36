/* function.c: functions of a model. Their bodies are graphs: see graph.c. */
#include "ir/edit.h"

onx_function *onx_model_function_first(const onx_model *model) {
    return (onx_function *)model->functions.first;
}

onx_function *onx_function_next(const onx_function *function) {
    return (onx_function *)function->msg.next;
}

static onx_str plain_domain(onx_str domain) {
    return onx_str_is(domain, "ai.onnx") ? ONX_LIT("") : domain;
}

onx_function *onx_model_function_find(const onx_model *model, const char *domain, const char *name,
                                      const char *overload) {
    ONX_EACH (onx_function, f, model->functions)
        if (onx_str_eq(plain_domain(f->domain), plain_domain(onx_str_of(domain))) &&
            onx_str_is(f->name, name) && onx_str_is(f->overload, overload ? overload : ""))
            return f;
    return NULL;
}

static onx_status function_fill(onx_model *model, onx_function *f, const char *domain,
                                const char *name) {
    ONX_TRY(onx_str_set(f, ONX_ROW(function, name), name));
    ONX_TRY(onx_str_set(f, ONX_ROW(function, domain), domain));
    if (!onx_function_link(model, f)) return ONX_NO_MEMORY;
    ONX_TRY(onx_function_set_opset(f, "", onx_model_opset(model, "")));
    return onx_model_opset(model, domain) ? ONX_OK : onx_model_set_opset(model, domain, 1);
}

onx_function *onx_model_add_function(onx_model *model, const char *domain, const char *name) {
    onx_diag diag;
    onx_status status = ONX_NO_MEMORY;
    if (!model) return NULL;
    onx_function *f = NULL;
    if (!domain || !name || !*name)
        status = ONX_USAGE;
    else if ((f = onx_msg_new(model->msg.doc, &onx_desc_function)))
        status = function_fill(model, f, domain, name);
    if (status) {
        onx_fail(&diag, status, "a function cannot be added: %s", onx_status_text(status));
        onx_doc_error(model->msg.doc, &diag);
        return NULL;
    }
    onx_msg_append(model, ONX_ROW(model, functions), f);
    return f;
}

const char *onx_function_name(const onx_function *function) {
    return onx_str_z(function->name);
}

const char *onx_function_domain(const onx_function *function) {
    return onx_str_z(function->domain);
}

const char *onx_function_overload(const onx_function *function) {
    return onx_str_z(function->overload);
}

onx_graph *onx_function_body(const onx_function *function) {
    return &((onx_function *)(uintptr_t)function)->body;
}

/* Attributes without a default, then those with one. */
size_t onx_function_attr_count(const onx_function *function) {
    return function->attribute.n + function->attribute_proto.count;
}

const char *onx_function_attr(const onx_function *function, size_t index) {
    size_t plain = function->attribute.n;
    if (index < plain) return onx_str_z(function->attribute.v[index]);
    const onx_attr *attr = onx_list_at(&function->attribute_proto, index - plain);
    return attr ? onx_str_z(attr->name) : NULL;
}

onx_status onx_function_add_attr(onx_function *function, const char *name) {
    onx_str copy;
    if (!name || !*name) return ONX_USAGE;
    for (size_t i = 0; i < onx_function_attr_count(function); i++)
        if (!strcmp(onx_function_attr(function, i), name)) return ONX_CONFLICT;
    if (!onx_doc_str(function->msg.doc, onx_str_of(name), &copy) ||
        !onx_strs_push(function->msg.doc, &function->attribute, copy))
        return ONX_NO_MEMORY;
    onx_msg_touch(function);
    return ONX_OK;
}

onx_attr *onx_function_default_first(const onx_function *function) {
    return (onx_attr *)function->attribute_proto.first;
}

static onx_attr *find_default(const onx_function *f, onx_str name) {
    ONX_EACH (onx_attr, a, f->attribute_proto)
        if (onx_str_eq(a->name, name)) return a;
    return NULL;
}

/* A parameter with a default is no longer listed among those without. */
static void forget_attr(onx_strs *names, onx_str name) {
    size_t n = 0;
    for (size_t i = 0; i < names->n; i++)
        if (!onx_str_eq(names->v[i], name)) names->v[n++] = names->v[i];
    names->n = n;
}

onx_status onx_function_set_default(onx_function *function, const onx_attr *attr, onx_diag *diag) {
    onx_attr *copy;
    if (!attr || !attr->name.size || function->msg.dead)
        return onx_fail(diag, ONX_USAGE, "there is no such function or attribute");
    ONX_TRY(onx_attr_copy(&function->body, function, attr, &copy, diag));
    onx_attr *old = find_default(function, copy->name);
    onx_msg_insert(function, ONX_ROW(function, attribute_proto), old, copy);
    if (old) onx_attr_leave(old);
    forget_attr(&function->attribute, copy->name);
    return ONX_OK;
}

onx_status onx_function_set_overload(onx_function *function, const char *overload) {
    return onx_str_set(function, ONX_ROW(function, overload), overload);
}

onx_status onx_function_remove(onx_function *function) {
    if (function->msg.dead) return ONX_USAGE;
    onx_msg_unlink_names(function);
    onx_msg_remove(function);
    return ONX_OK;
}
