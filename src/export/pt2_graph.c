/* pt2_graph.c: the nodes of a torch.export graph, one call of an operator each.
 *
 * What a node gives is compared with what the program notes about it. Assertions are left out: they
 * guard what torch.export has decided. */
#include "export/aten.h"
#include "export/modules.h"
#include "export/pt2_walk.h"
#include "export/told.h"

enum { DEPTH = 16 };

static bool begins(onx_str text, const char *prefix) {
    size_t n = strlen(prefix);
    return text.size >= n && memcmp(text.data, prefix, n) == 0;
}

static onx_str without(onx_str text, size_t n) {
    return (onx_str){text.data + n, text.size - n};
}

/* ─ Values ───────────────────────────────────────────────────────────────────────────────────── */

/* Is a value that is used of the type and rank that the program notes? Another type is a mistake of
 * the lowering. So is another rank. But PyTorch errs, too: of the states of an LSTM it notes rank
 * 4, of the places and counts of unique() the type of its elements. A complex tensor has one more
 * dimension. */
static void compare(onx_pt2_walk *w, const onx_pt2_graph *graph, onx_str name, const onx_xv *v) {
    const onx_pt2_tensor *noted = onx_map_get(&w->program->tensors, graph, name);
    if (!noted || v->kind != ONX_X_TENSOR) return;
    if (v->tensor->dtype == ONX_DTYPE_I64 && onx_dtype_is_float(noted->dtype->onx)) {
        onx_x_note(w->x, "'%.*s' is int64, but torch.export noted %s: compare the results",
                   ONX_FMT(name), noted->dtype->name.data);
    } else if (v->tensor->dtype != noted->dtype->onx) {
        onx_x_fail(w->x, ONX_CHANGED, "'%.*s' is %s here, but %s in PyTorch", ONX_FMT(name),
                   onx_dtype_name(v->tensor->dtype), noted->dtype->name.data);
        onx_x_hint(w->x, "this is a mistake of onx: please report the operator that made it");
    }
    onx_value *value = w->told ? NULL : onx_xt_value(w->x, v->tensor);
    size_t rank = value ? onx_x_rank(w->x, value) : 0;
    if (!value || rank == noted->rank + onx_dtype_is_complex(v->tensor->dtype)) return;
    onx_x_note(w->x, "'%.*s' is of rank %zu, but torch.export noted %zu: compare the results",
               ONX_FMT(name), rank, noted->rank);
    w->told = true;
}

static onx_xv list_value(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_arg *arg,
                         unsigned depth);

static onx_xv value_of(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_arg *arg,
                       unsigned depth) {
    const onx_xv none = {.kind = ONX_X_NONE};
    const onx_xv *known;
    switch (arg->kind) {
    case ONX_PT2_NONE: return none;
    case ONX_PT2_INT: return onx_xv_int(w->x, arg->i);
    case ONX_PT2_BOOL: return onx_xv_bool(w->x, arg->i != 0);
    case ONX_PT2_FLOAT: return onx_xv_float(arg->f);
    case ONX_PT2_COMPLEX: return (onx_xv){.kind = ONX_X_COMPLEX, .f = arg->f, .im = arg->im};
    case ONX_PT2_STR: return onx_xv_str(arg->str);
    case ONX_PT2_DEVICE: return (onx_xv){.kind = ONX_X_DEVICE, .str = arg->str};
    case ONX_PT2_NAME:
        known = onx_map_get(&w->values, graph, arg->str);
        if (known) compare(w, graph, arg->str, known);
        if (known) return *known;
        onx_x_fail(w->x, ONX_MALFORMED, "the value '%.*s' is used before it is computed",
                   ONX_FMT(arg->str));
        return none;
    case ONX_PT2_LIST:
    case ONX_PT2_DICT: return list_value(w, graph, arg, depth);
    default: return (onx_xv){.kind = ONX_X_OTHER, .object = (void *)(uintptr_t)arg->graph};
    }
}

static onx_xv list_value(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_arg *arg,
                         unsigned depth) {
    onx_xv *v = onx_x_array(w->x, arg->n + 1, sizeof *v);
    if (depth == DEPTH) onx_x_fail(w->x, ONX_LIMIT, "lists within more than %d lists", DEPTH);
    if (!v || !onx_x_ok(w->x)) return (onx_xv){.kind = ONX_X_NONE};
    for (size_t i = 0; i < arg->n; i++) v[i] = value_of(w, graph, &arg->list[i], depth + 1);
    if (arg->kind == ONX_PT2_LIST) return onx_xv_list(w->x, ONX_X_LIST, arg->n, v);
    onx_xv dict = onx_xv_dict(w->x);
    for (size_t i = 0; i < arg->n && onx_x_ok(w->x); i++) {
        (void)onx_xlist_add(w->x, &dict.dict->keys, onx_xv_str(arg->keys[i]));
        (void)onx_xlist_add(w->x, &dict.dict->values, v[i]);
    }
    return dict;
}

onx_xv onx_pt2_value(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_arg *arg) {
    return value_of(w, graph, arg, 0);
}

bool onx_pt2_bind(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_arg *arg, onx_xv v) {
    if (arg->kind == ONX_PT2_LIST) {
        bool spread = onx_xv_is_list(&v) && v.list->n >= arg->n;
        if (!spread && v.kind != ONX_X_UNKNOWN)
            return onx_x_fail(w->x, ONX_MALFORMED, "an operator gives %zu values, but %zu are used",
                              onx_xv_is_list(&v) ? v.list->n : 1, arg->n);
        for (size_t i = 0; i < arg->n; i++)
            if (!onx_pt2_bind(w, graph, &arg->list[i], spread ? v.list->v[i] : v)) return false;
        return true;
    }
    if (arg->kind != ONX_PT2_NAME) return true;
    onx_xv *slot = onx_x_alloc(w->x, sizeof *slot);
    if (!slot) return false;
    *slot = v;
    return onx_map_put(&w->values, graph, arg->str, slot) || onx_x_nomem(w->x);
}

/* ─ Places ───────────────────────────────────────────────────────────────────────────────────── */

/* The path of the innermost module: of "key,path,class;key,path,class" the last one's. The key ends
 * with the path; both may have commas in them: "layers.slice(None, 2, None).0". */
static onx_str module_of(onx_str stack) {
    size_t from = stack.size, to = stack.size;
    while (from && stack.data[from - 1] != ';') from--;
    while (to > from && stack.data[to - 1] != ',') to--;
    if (to == from) return ONX_LIT("");
    onx_str both = {stack.data + from, to - 1 - from};
    for (size_t i = 0; i < both.size; i++) {
        onx_str key = {both.data, i}, path = without(both, i + (i < both.size));
        if (both.data[i] != ',' || !onx_str_ends(key, path)) continue;
        return begins(path, "_empty_nn_module_stack") ? ONX_LIT("") : path;
    }
    return ONX_LIT("");
}

/* Every module of the stack, and its class. */
static void keep_modules(onx_export *x, onx_str stack) {
    for (size_t end = 1; x->functions && end <= stack.size; end++) {
        if (end < stack.size && stack.data[end] != ';') continue;
        onx_str part = {stack.data, end}, path = module_of(part);
        size_t comma = end;
        while (comma && stack.data[comma - 1] != ',') comma--;
        onx_x_module(x, path, (onx_str){stack.data + comma, end - comma});
    }
}

/* "model.py:12": of lines `File "…/model.py", line 12, in forward`, the last that is not in
 * PyTorch itself. */
static onx_str line_of(onx_export *x, onx_str stack) {
    onx_str file = {NULL, 0}, line = {NULL, 0}, out = {NULL, 0};
    const char *at = stack.data, *end = stack.data + stack.size;
    while (at && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        onx_str text = {at, (size_t)((stop ? stop : end) - at)};
        at = stop ? stop + 1 : end;
        while (text.size && text.data[0] == ' ') text = without(text, 1);
        const char *quote =
            begins(text, "File \"") ? memchr(text.data + 6, '"', text.size - 6) : NULL;
        if (!quote || !begins(without(text, (size_t)(quote - text.data)), "\", line ")) continue;
        onx_str path = {text.data + 6, (size_t)(quote - text.data) - 6};
        onx_str rest = without(text, (size_t)(quote - text.data) + 8);
        bool torch = begins(path, "torch/");
        for (size_t i = 0; i < path.size && !torch; i++)
            torch = begins(without(path, i), "/torch/");
        if (torch && file.size) continue;
        size_t digits = 0;
        while (digits < rest.size && rest.data[digits] >= '0' && rest.data[digits] <= '9') digits++;
        line = (onx_str){rest.data, digits};
        for (file = path; memchr(file.data, '/', file.size);) file = without(file, 1);
    }
    onx_buf text;
    if (!file.size) return out;
    onx_buf_init(&text, x->ctx);
    onx_buf_printf(&text, "%.*s:%.*s", ONX_FMT(file), ONX_FMT(line));
    if (text.failed || !onx_arena_str(&x->arena, (onx_str){text.data, text.size}, &out))
        onx_x_nomem(x);
    onx_buf_fini(&text);
    return out;
}

/* ─ Calls ────────────────────────────────────────────────────────────────────────────────────── */

/* Operators that check, or that say something to a profiler: they give nothing. */
static bool is_idle(onx_str name) {
    static const char *const prefixes[] = {"aten._assert",
                                           "aten._functional_assert",
                                           "aten.sym_constrain_range",
                                           "aten._functional_sym_constrain_range",
                                           "profiler.",
                                           "aten._make_dep_token",
                                           "aten._check",
                                           "export._check"};
    for (size_t i = 0; i < ONX_COUNT(prefixes); i++)
        if (begins(name, prefixes[i])) return true;
    return false;
}

static bool bind_results(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_node *node,
                         size_t n, const onx_xv *out) {
    bool spread = n == 1 && node->n_out > 1 && onx_xv_is_list(&out[0]);
    if (spread) n = out[0].list->n, out = out[0].list->v;
    for (size_t i = 0; i < node->n_out; i++) {
        onx_xv v = i < n ? out[i] : (onx_xv){.kind = ONX_X_UNKNOWN};
        if (i >= n && !w->x->survey && node->out[i].kind == ONX_PT2_NAME)
            return onx_x_fail(w->x, ONX_MALFORMED, "'%.*s' gives %zu values, but %zu are used",
                              ONX_FMT(node->target), n, node->n_out);
        if (!onx_pt2_bind(w, graph, &node->out[i], v)) return false;
    }
    return true;
}

static onx_xv cast(onx_export *x, onx_xv v, onx_dtype dtype) {
    if (v.kind == ONX_X_TENSOR && onx_dtype_is_float(v.tensor->dtype) && v.tensor->dtype != dtype)
        return onx_xv_tensor(x, onx_x_cast(x, onx_xt_value(x, v.tensor), dtype));
    if (!onx_xv_is_list(&v)) return v;
    onx_xv *parts = onx_x_array(x, v.list->n + 1, sizeof *parts);
    for (size_t i = 0; parts && i < v.list->n; i++)
        parts[i] = onx_xv_is_list(&v.list->v[i]) ? v.list->v[i] : cast(x, v.list->v[i], dtype);
    return parts ? onx_xv_list(x, v.kind, v.list->n, parts) : v;
}

/* torch.autocast gives operators their arguments in another type. Which one shows in what they are
 * noted to give. */
static void autocast(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_node *node,
                     onx_str name, onx_xarg *args) {
    bool writes = name.size && name.data[name.size - 1] == '_';
    if (!w->autocast || writes || !node->n_out || node->out[0].kind != ONX_PT2_NAME) return;
    const onx_pt2_tensor *noted = onx_map_get(&w->program->tensors, graph, node->out[0].str);
    if (!noted || !onx_dtype_is_float(noted->dtype->onx)) return;
    for (size_t i = 0; i < node->n_in && onx_x_ok(w->x); i++)
        args[i].v = cast(w->x, args[i].v, noted->dtype->onx);
}

/* "aten.add.Tensor": namespace, name, overload. */
static bool call_operator(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_node *node,
                          onx_str target) {
    onx_xv out[ONX_X_OUTS];
    size_t n_out, at = target.size, dot = 0;
    while (at && target.data[at - 1] != '.') at--;
    while (dot < target.size && target.data[dot] != '.') dot++;
    if (at < dot + 3)
        return onx_x_fail(w->x, ONX_MALFORMED, "the operator '%.*s' has no name", ONX_FMT(target));
    onx_str overload = without(target, at), name = {target.data + dot + 1, at - dot - 2};
    if (onx_str_is(overload, "default")) overload = ONX_LIT("");
    onx_buf full;
    onx_buf_init(&full, w->x->ctx);
    if (!begins(target, "aten.")) {
        onx_buf_printf(&full, "%.*s::%.*s", (int)dot, target.data, ONX_FMT(name));
        name = (onx_str){full.data, full.size};
    }
    onx_xarg *args = onx_x_array(w->x, node->n_in + 1, sizeof *args);
    bool ok = args && !full.failed;
    for (size_t i = 0; i < node->n_in && ok; i++) {
        args[i] = (onx_xarg){node->in[i].name, onx_pt2_value(w, graph, &node->in[i])};
        if (!args[i].name.size) args[i].name.data = NULL;
        ok = onx_x_ok(w->x);
    }
    if (ok) autocast(w, graph, node, name, args);
    bool list = node->n_out == 1 && node->out[0].kind == ONX_PT2_LIST;
    w->x->parts = list ? node->out[0].n : 0;
    ok = ok && onx_aten_call(w->x, name, overload, node->n_in, args, out, &n_out);
    w->x->parts = 0;
    onx_buf_fini(&full);
    return ok && bind_results(w, graph, node, n_out, out);
}

static bool call_python(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_node *node) {
    onx_xv *args = onx_x_array(w->x, node->n_in + 1, sizeof *args), out;
    if (!args) return false;
    for (size_t i = 0; i < node->n_in; i++) args[i] = onx_pt2_value(w, graph, &node->in[i]);
    if (!onx_x_ok(w->x)) return false;
    if (!onx_pt2_python(w->x, node->target, node->n_in, args, &out)) {
        onx_x_missing(w->x, node->target, ONX_LIT(""));
        out = (onx_xv){.kind = ONX_X_UNKNOWN};
    }
    return onx_x_ok(w->x) && bind_results(w, graph, node, 1, &out);
}

static bool run_node(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_node *node) {
    onx_str target = node->target;
    w->x->path = module_of(node->modules);
    keep_modules(w->x, node->modules);
    w->x->where = line_of(w->x, node->stack);
    if (!begins(target, "torch.ops.")) return call_python(w, graph, node);
    target = without(target, 10);
    if (begins(target, "higher_order.")) return onx_pt2_higher(w, graph, node, without(target, 13));
    if (!is_idle(target)) return call_operator(w, graph, node, target);
    onx_xv none = {.kind = ONX_X_NONE};
    for (size_t i = 0; i < node->n_out; i++)
        if (!onx_pt2_bind(w, graph, &node->out[i], none)) return false;
    return true;
}

bool onx_pt2_run(onx_pt2_walk *w, const onx_pt2_graph *graph) {
    for (size_t i = 0; i < graph->n_nodes; i++)
        if (!run_node(w, graph, &graph->nodes[i])) return false;
    return onx_x_ok(w->x);
}
