/* custom_lower.c: operators that the user lowers, as a function of ONNX or by a callback.
 *
 * A function is put in the place of its call at once, so that its nodes are inferred like all
 * others, and the model knows nothing of it in the end. Functions may call each other. */
#include "export/aten.h"
#include "export/told.h"
#include "ir/edit.h"

#include <stdio.h>

enum { NODES_MAX = 100000 }; /* that one call may become */

/* ─ Arguments ────────────────────────────────────────────────────────────────────────────────── */

static const char *text_of(onx_export *x, onx_str s) {
    onx_str copy = {NULL, 0};
    if (!onx_arena_str(&x->arena, s, &copy)) return onx_x_nomem(x);
    return copy.data;
}

static bool is_known(onx_export *x, const onx_xv *v) {
    double number;
    return onx_xv_is_number(v) && onx_xv_known_float(x, v, &number);
}

/* What the elements of a list are as attributes: the widest of INTS, FLOATS, or STRINGS; NONE: they
 * are no attributes. */
static onx_attr_type list_type(onx_export *x, const onx_xlist *list) {
    onx_attr_type type = ONX_ATTR_INTS;
    for (size_t i = 0; i < list->n; i++) {
        const onx_xv *v = &list->v[i];
        if (v->kind != ONX_X_STR && !is_known(x, v)) return ONX_ATTR_UNDEFINED;
        if (v->kind == ONX_X_FLOAT) type = ONX_ATTR_FLOATS;
        if (v->kind == ONX_X_STR) return ONX_ATTR_STRINGS;
    }
    return type;
}

static void read_list(onx_export *x, const onx_xlist *list, onx_export_arg *out) {
    int64_t *ints = onx_x_array(x, list->n + 1, sizeof *ints);
    float *floats = onx_x_array(x, list->n + 1, sizeof *floats);
    const char **strings = onx_x_array(x, list->n + 1, sizeof *strings);
    onx_value **values = onx_x_array(x, list->n + 1, sizeof *values);
    if (!onx_x_ok(x)) return;
    out->type = list_type(x, list);
    out->n = list->n;
    for (size_t i = 0; i < list->n; i++) {
        const onx_xv *v = &list->v[i];
        double number = 0;
        if (out->type == ONX_ATTR_STRINGS && v->kind == ONX_X_STR)
            strings[i] = text_of(x, v->str);
        else if (out->type == ONX_ATTR_UNDEFINED)
            values[i] = v->kind == ONX_X_NONE ? NULL : onx_xv_value(x, v);
        else if (onx_xv_known_float(x, v, &number) && !onx_xv_known_int(v, &ints[i]))
            floats[i] = (float)number;
        else
            floats[i] = (float)ints[i];
    }
    out->ints = ints;
    out->floats = floats;
    out->strings = strings;
    out->values = values;
}

static void read_value(onx_export *x, const onx_xv *v, onx_export_arg *out) {
    onx_value **values = onx_x_alloc(x, sizeof *values);
    if (!values) return;
    *values = onx_xv_value(x, v);
    out->values = values;
    out->n = 1;
}

static void read_arg(onx_export *x, const onx_xarg *arg, onx_export_arg *out) {
    const onx_xv *v = &arg->v;
    *out = (onx_export_arg){.name = arg->name.data ? text_of(x, arg->name) : NULL};
    if (onx_xv_is_list(v)) {
        read_list(x, v->list, out);
    } else if (v->kind == ONX_X_STR) {
        out->type = ONX_ATTR_STRING;
        out->s = text_of(x, v->str);
    } else if (v->kind == ONX_X_FLOAT && is_known(x, v)) {
        out->type = ONX_ATTR_FLOAT;
        onx_xv_known_float(x, v, &out->f);
    } else if (is_known(x, v)) {
        out->type = ONX_ATTR_INT;
        onx_xv_known_int(v, &out->i);
    } else if (v->kind == ONX_X_TENSOR || onx_xv_is_number(v)) {
        read_value(x, v, out);
    } else if (v->kind != ONX_X_NONE && v->kind != ONX_X_DEVICE) {
        onx_x_fail(x, ONX_UNSUPPORTED, "an argument is neither tensor, number, string nor list");
    }
}

static onx_export_arg *read_args(onx_export *x, size_t n, const onx_xarg *args) {
    onx_export_arg *out = onx_x_array(x, n + 1, sizeof *out);
    for (size_t i = 0; out && i < n && onx_x_ok(x); i++) read_arg(x, &args[i], &out[i]);
    return onx_x_ok(x) ? out : NULL;
}

/* ─ Functions ────────────────────────────────────────────────────────────────────────────────── */

/* "my::op" is the function op of the domain my. */
static const onx_function *find_function(const onx_export *x, onx_str name) {
    size_t space = 0;
    if (!x->lowerings) return NULL;
    while (space + 1 < name.size && memcmp(name.data + space, "::", 2) != 0) space++;
    bool plain = space + 1 >= name.size;
    onx_str domain = plain ? ONX_LIT("aten") : (onx_str){name.data, space};
    onx_str own = plain ? name : (onx_str){name.data + space + 2, name.size - space - 2};
    ONX_EACH (onx_function, f, x->lowerings->functions)
        if (onx_str_eq(f->domain, domain) && onx_str_eq(f->name, own)) return f;
    return NULL;
}

size_t onx_custom_outs(const onx_export *x, onx_str name) {
    const onx_function *f = find_function(x, name);
    return f ? f->output.n : 0;
}

/* A call being made: its inputs by place, and attributes, which are arguments. */
typedef struct binding {
    onx_export *x;
    const onx_function *f;
    onx_value **in;
    const onx_export_arg **attrs;
    size_t n_in, n_attrs; /* that were given by place */
} binding;

static size_t attr_count(const onx_function *f) {
    return f->attribute.n + f->attribute_proto.count;
}

/* The names of attributes: those that must be given, then those with defaults. */
static onx_str attr_name(const onx_function *f, size_t i) {
    if (i < f->attribute.n) return f->attribute.v[i];
    i -= f->attribute.n;
    ONX_EACH (onx_attr, attr, f->attribute_proto)
        if (i-- == 0) return attr->name;
    return (onx_str){NULL, 0};
}

static void put_inputs(binding *b, size_t at, const onx_export_arg *a, const onx_xv *v) {
    bool known = a->type != ONX_ATTR_UNDEFINED;
    size_t n = known ? 1 : a->n;
    if (at + n > b->f->input.n) {
        onx_x_fail(b->x, ONX_INVALID, "the function '%.*s' has %zu inputs, which are too few",
                   ONX_FMT(b->f->name), b->f->input.n);
        return;
    }
    for (size_t i = 0; i < n; i++) b->in[at + i] = known ? onx_xv_value(b->x, v) : a->values[i];
}

/* By its name, else by its place: tensors are inputs, what is known are attributes while there are
 * some. */
static void bind_arg(binding *b, const onx_export_arg *a, const onx_xv *v) {
    size_t input = 0, attr = 0, attrs = attr_count(b->f);
    bool known = a->type != ONX_ATTR_UNDEFINED, none = !known && !a->n;
    if (!a->name && known && b->n_attrs < attrs) {
        b->attrs[b->n_attrs++] = a;
        return;
    }
    if (!a->name) {
        put_inputs(b, b->n_in, a, v);
        b->n_in += known || none ? 1 : a->n;
        return;
    }
    while (input < b->f->input.n && !onx_str_is(b->f->input.v[input], a->name)) input++;
    while (attr < attrs && !onx_str_is(attr_name(b->f, attr), a->name)) attr++;
    if (input < b->f->input.n)
        put_inputs(b, input, a, v);
    else if (attr < attrs && known)
        b->attrs[attr] = a;
    else if (!none)
        onx_x_fail(b->x, ONX_INVALID, "the function '%.*s' has no input or attribute '%s'",
                   ONX_FMT(b->f->name), a->name);
}

static onx_status set_attr(onx_node *node, const char *name, const onx_export_arg *a) {
    switch (a->type) {
    case ONX_ATTR_INT: return onx_node_set_int(node, name, a->i);
    case ONX_ATTR_FLOAT: return onx_node_set_float(node, name, (float)a->f);
    case ONX_ATTR_STRING: return onx_node_set_string(node, name, a->s);
    case ONX_ATTR_INTS: return onx_node_set_ints(node, name, a->n, a->ints);
    case ONX_ATTR_FLOATS: return onx_node_set_floats(node, name, a->n, a->floats);
    case ONX_ATTR_STRINGS: return onx_node_set_strings(node, name, a->n, a->strings);
    default: return ONX_USAGE;
    }
}

/* "layer1.0/op": what comes of the call is named after it. */
static const char *call_name(onx_export *x, onx_str op) {
    onx_buf text;
    onx_buf_init(&text, x->ctx);
    if (x->path.size) onx_buf_printf(&text, "%.*s/", ONX_FMT(x->path));
    onx_buf_printf(&text, "%.*s", ONX_FMT(op));
    onx_buf_putc(&text, '\0');
    const char *name = text.failed ? NULL : onx_graph_new_name(x->graph, text.data);
    onx_buf_fini(&text);
    return name;
}

/* The node that calls the function, at the end of the graph. */
static onx_node *add_call(binding *b) {
    onx_export *x = b->x;
    const char **names = onx_x_array(x, b->f->output.n + 1, sizeof *names);
    char op[512];
    snprintf(op, sizeof op, "%.*s::%.*s", ONX_FMT(b->f->domain), ONX_FMT(b->f->name));
    for (size_t i = 0; names && i < b->f->output.n; i++)
        if (!(names[i] = call_name(x, b->f->name))) return onx_x_nomem(x);
    if (!names) return NULL;
    onx_node *node = onx_graph_add_node(x->graph, op, b->f->input.n, b->in, b->f->output.n, names);
    onx_status status = node ? onx_node_set_name(node, names[0]) : ONX_NO_MEMORY;
    for (size_t i = 0; i < attr_count(b->f) && !status; i++)
        if (b->attrs[i]) status = set_attr(node, attr_name(b->f, i).data, b->attrs[i]);
    if (status) return onx_x_fail(x, status, "the call of '%s' cannot be made", op);
    return node;
}

/* The domains that the function imports, unless the model does already. */
static bool import_opsets(onx_export *x, const onx_function *f) {
    ONX_EACH (onx_opset, o, f->opset_import)
        if (!onx_model_opset(x->model, o->domain.data) &&
            onx_model_set_opset(x->model, o->domain.data, o->version))
            return onx_x_nomem(x);
    return true;
}

static const onx_function *callee(const onx_export *x, const onx_node *node) {
    ONX_EACH (onx_function, f, x->lowerings->functions)
        if (onx_str_eq(f->domain, node->domain) && onx_str_eq(f->name, node->op_type)) return f;
    return NULL;
}

/* Functions that call functions: until no call is left. */
static onx_node *put_in_place(onx_export *x, onx_node *call) {
    onx_node *start = onx_node_prev(call);
    size_t nodes = 0;
    for (onx_node *n = call; n && onx_x_ok(x);) {
        const onx_function *f = callee(x, n);
        if (++nodes > NODES_MAX)
            return onx_x_fail(x, ONX_LIMIT, "functions call each other without end");
        if (!f) {
            n = onx_node_next(n);
            continue;
        }
        if (!import_opsets(x, f)) return NULL;
        onx_status status = onx_node_inline(n, f, &n, &x->diag);
        if (status) x->status = status;
    }
    return start ? onx_node_next(start) : onx_graph_node_first(x->graph);
}

static void give(onx_export *x, size_t n, onx_value *const *values, onx_xv *out) {
    for (size_t i = 0; i < n; i++) out[i] = onx_xv_tensor(x, values[i]);
}

static void call_function(onx_export *x, const onx_function *f, size_t n, const onx_xarg *args,
                          onx_xv *out) {
    onx_export_arg *read = read_args(x, n, args);
    binding b = {.x = x, .f = f};
    b.in = onx_x_array(x, f->input.n + 1, sizeof(onx_value *));
    b.attrs = onx_x_array(x, attr_count(f) + 1, sizeof(onx_export_arg *));
    for (size_t i = 0; i < n && onx_x_ok(x); i++) bind_arg(&b, &read[i], &args[i].v);
    onx_node *call = onx_x_ok(x) ? add_call(&b) : NULL;
    onx_value *results[ONX_X_OUTS];
    if (!call) return;
    for (size_t i = 0; i < f->output.n; i++) results[i] = onx_node_output(call, i);
    onx_node *first = put_in_place(x, call);
    if (onx_x_ok(x) && onx_emit_added(x, first)) give(x, f->output.n, results, out);
}

/* ─ The callback ─────────────────────────────────────────────────────────────────────────────── */

/* False: it does not know the operator. */
static bool call_back(onx_export *x, onx_str name, size_t n, const onx_xarg *args, onx_xv *out,
                      size_t *n_out) {
    onx_export_call call = {
        .op = text_of(x, name), .graph = x->graph, .n_args = n, .args = read_args(x, n, args)};
    onx_node *before = onx_graph_node_last(x->graph);
    onx_diag diag = ONX_INIT(onx_diag);
    if (!onx_x_ok(x)) return true;
    onx_status status = x->lower(x->user, &call, &diag);
    if (status == ONX_NOT_FOUND) return false;
    const onx_diag *error = onx_model_error(x->model);
    if (!status && error && error->status) status = error->status, diag = *error;
    if (!status && call.n_results > ONX_EXPORT_RESULTS) status = ONX_USAGE;
    if (status) {
        onx_x_fail(x, status, "the lowering of '%s' failed: %s", call.op,
                   diag.message[0] ? diag.message : onx_status_text(status));
        return true;
    }
    onx_node *first = before ? onx_node_next(before) : onx_graph_node_first(x->graph);
    *n_out = call.n_results;
    if (onx_emit_added(x, first)) give(x, call.n_results, call.results, out);
    return true;
}

bool onx_custom_call(onx_export *x, onx_str name, size_t n, const onx_xarg *args,
                     onx_xv out[ONX_X_OUTS], size_t *n_out) {
    const onx_function *f = find_function(x, name);
    if (!f) return x->lower && call_back(x, name, n, args, out, n_out);
    if (f->output.n > ONX_X_OUTS) {
        onx_x_fail(x, ONX_UNSUPPORTED, "the function '%.*s' has more than %d outputs",
                   ONX_FMT(f->name), ONX_X_OUTS);
        return true;
    }
    *n_out = f->output.n;
    call_function(x, f, n, args, out);
    return true;
}
