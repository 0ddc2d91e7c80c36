/* inline_node.c: a call of a function becomes a copy of the function's nodes.
 *
 *     F <a> (p) => (q) { t = Elu <alpha = @a> (p)  q = Add (t, p) }
 *
 *     y = F <a = 2.0> (x)    ──▶    y_t = Elu <alpha = 2.0> (x)    y = Add (y_t, x)
 *
 * What a name in the body means is taken from its links, so that names in graphs inside it may hide
 * others. A parameter becomes what the call gives, or stays missing; a result gets the name that it
 * has at the call; all else gets a new name: that of the call, or of its first output, and its own.
 * Everything that can fail is done before the graph is touched, except for lack of memory, which is
 * undone: a call is replaced whole, or not at all.
 *
 * Not done: whether function and caller import the same opsets is up to whoever calls this. */
#include "ir/edit.h"

#include <stdio.h>

static const onx_str no_name = {"", 0};

typedef struct splice {
    onx_node *call;
    onx_graph *graph; /* the one it stands in */
    const onx_function *f;
    onx_doc *doc;
    onx_arena arena;
    onx_map names;  /* value of the body to onx_str: its new name */
    onx_map params; /* (NULL, name of an attribute) to what the call or the function has for it */
    onx_value **claimed; /* that keep new names free until they are used */
    onx_msg **parts;     /* copies that take the place of the call: nodes, declarations */
    onx_attr **wanted;   /* attributes in them that are to be replaced */
    size_t n_claimed, cap_claimed, n_parts, cap_parts, n_wanted, cap_wanted;
    onx_diag *diag;
} splice;

static onx_status fail(splice *s, const char *rule, onx_str name) {
    return onx_fail(s->diag, ONX_INVALID, "the function '%.*s' %s '%.*s'", ONX_FMT(s->f->name),
                    rule, ONX_FMT(name));
}

static onx_status push(splice *s, void *array, size_t *n, size_t *cap, void *element) {
    void **v;
    if (!onx_arena_grow(&s->arena, array, cap, *n, sizeof *v)) return onx_fail_nomem(s->diag);
    memcpy(&v, array, sizeof v);
    v[(*n)++] = element;
    return ONX_OK;
}

/* ── Names ───────────────────────────────────────────────────────────────────────────────────── */

static const onx_str *named(const splice *s, const onx_value *value) {
    return onx_map_get(&s->names, value, (onx_str){NULL, 0});
}

static onx_str name_of(const splice *s, const onx_ref *ref) {
    const onx_str *name = ref ? named(s, ref->value) : NULL;
    return name ? *name : no_name;
}

static onx_status set_name(splice *s, const onx_value *value, onx_str name) {
    onx_str *slot = onx_arena_alloc(&s->arena, sizeof *slot);
    if (!slot || !onx_map_put(&s->names, value, (onx_str){NULL, 0}, slot))
        return onx_fail_nomem(s->diag);
    *slot = name;
    return ONX_OK;
}

/* At most `most` bytes of a string, cut where a character begins. */
static int cut(onx_str text, size_t most) {
    size_t n = text.size < most ? text.size : most;
    while (n && n < text.size && ((unsigned char)text.data[n] & 0xc0) == 0x80) n--;
    return (int)n;
}

/* "call_name", in `out`. */
static void prefixed(const splice *s, onx_str name, char *out, size_t size) {
    const onx_node *call = s->call;
    onx_str prefix = call->name.size ? call->name : s->f->name;
    for (size_t i = 0; i < call->output.n && !call->name.size; i++) {
        prefix = call->output.v[i];
        if (prefix.size) break;
    }
    snprintf(out, size, "%.*s_%.*s", cut(prefix, 99), onx_str_z(prefix), cut(name, 99),
             onx_str_z(name));
}

/* A name that is free, and stays so until the copies are linked. */
static onx_status fresh_name(splice *s, const onx_value *value) {
    char hint[256];
    prefixed(s, value->name, hint, sizeof hint);
    onx_str name = onx_str_of(onx_graph_new_name(s->graph, hint));
    onx_value *claim = name.data ? onx_value_new(s->graph, name) : NULL;
    if (!claim) return onx_fail_nomem(s->diag);
    ONX_TRY(push(s, &s->claimed, &s->n_claimed, &s->cap_claimed, claim));
    return set_name(s, value, name);
}

static onx_status name_parameters(splice *s) {
    const onx_refs *ins = &s->f->body.ins;
    if (s->call->input.n > ins->n)
        return onx_fail(s->diag, ONX_INVALID, "the function '%.*s' takes %zu inputs, not %zu",
                        ONX_FMT(s->f->name), ins->n, s->call->input.n);
    for (size_t i = 0; i < ins->n; i++) {
        onx_str given = i < s->call->input.n ? s->call->input.v[i] : no_name;
        if (!named(s, ins->v[i]->value)) ONX_TRY(set_name(s, ins->v[i]->value, given));
    }
    return ONX_OK;
}

/* y = Identity (x), for a result that is also another result, or a parameter. */
static onx_status add_identity(splice *s, onx_str from, onx_str to) {
    onx_node *node = onx_msg_new(s->doc, &onx_desc_node);
    if (!node || onx_str_set(node, ONX_ROW(node, op_type), "Identity") ||
        !onx_strs_push(s->doc, &node->input, from) || !onx_strs_push(s->doc, &node->output, to))
        return onx_fail_nomem(s->diag);
    return push(s, &s->parts, &s->n_parts, &s->cap_parts, node);
}

static onx_status name_results(splice *s) {
    const onx_refs *outs = &s->f->body.outs;
    if (s->call->output.n > outs->n)
        return onx_fail(s->diag, ONX_INVALID, "the function '%.*s' has %zu outputs, not %zu",
                        ONX_FMT(s->f->name), outs->n, s->call->output.n);
    for (size_t i = 0; i < s->call->output.n; i++) {
        const onx_value *value = outs->v[i]->value, *wanted = onx_node_output(s->call, i);
        if (!wanted) continue;
        if (onx_value_find(s->graph, wanted->name) != wanted)
            return onx_fail(s->diag, ONX_INVALID, "'%.*s' is defined more than once",
                            ONX_FMT(wanted->name));
        if (!onx_value_is_defined(value)) return fail(s, "does not compute", value->name);
        if (!named(s, value)) ONX_TRY(set_name(s, value, wanted->name));
    }
    return ONX_OK;
}

/* After the nodes: results that could not just take the name at the call. */
static onx_status add_identities(splice *s) {
    const onx_refs *outs = &s->f->body.outs;
    for (size_t i = 0; i < s->call->output.n; i++) {
        onx_str wanted = s->call->output.v[i], has = name_of(s, outs->v[i]);
        if (!wanted.size || onx_str_eq(wanted, has)) continue;
        if (!has.size)
            return fail(
                s, "gives back an input that the call does not have:", outs->v[i]->value->name);
        ONX_TRY(add_identity(s, has, wanted));
    }
    return ONX_OK;
}

/* Is it needed by more than the function's list of outputs? */
static bool is_used(const onx_value *value) {
    for (const onx_ref *r = value->first; r; r = r->next)
        if (onx_ref_is_use(r) && r->kind != ONX_REF_FUNCTION_OUT) return true;
    return false;
}

static onx_status name_the_rest(splice *s) {
    const onx_graph *body = &s->f->body;
    for (const onx_graph *g = body; g; g = onx_graph_inner(body, g)) {
        for (const onx_value *v = g->values; v; v = v->next) {
            if (v->dead || !v->name.size || named(s, v)) continue;
            if (!onx_value_is_defined(v) && is_used(v))
                return fail(s, "uses what nothing in it defines:", v->name);
            ONX_TRY(fresh_name(s, v));
        }
    }
    return ONX_OK;
}

/* ── Copies ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status rename_node(splice *s, const onx_node *from, onx_node *to) {
    char name[256];
    size_t n = 0; /* without those at the end that are missing */
    for (size_t i = 0; i < to->input.n; i++) {
        to->input.v[i] = name_of(s, from->ins[i]);
        if (to->input.v[i].size || !from->input.v[i].size) n = i + 1;
    }
    to->input.n = n;
    for (size_t i = 0; i < to->output.n; i++) to->output.v[i] = name_of(s, from->outs[i]);
    if (!from->name.size) return ONX_OK;
    prefixed(s, from->name, name, sizeof name);
    return onx_str_set(to, ONX_ROW(node, name), name) ? onx_fail_nomem(s->diag) : ONX_OK;
}

static onx_status rename_info(splice *s, const onx_value_info *from, onx_value_info *to) {
    if (!from->name.size) return ONX_OK;
    to->name = name_of(s, from->ref);
    return to->name.size ? ONX_OK : fail(s, "gives back an input that is missing:", from->name);
}

static onx_status rename_tensor(splice *s, const onx_tensor *from, onx_tensor *to) {
    if (from->ref) to->name = name_of(s, from->ref);
    bool shared = onx_doc_share(s->doc, from->msg.doc, from->external, &to->external);
    return shared ? ONX_OK : onx_fail_nomem(s->diag);
}

typedef struct note {
    const splice *s;
    const onx_graph *scope;
} note;

static bool rename_note(onx_msg *msg, onx_str *slot, void *user) {
    const note *n = user;
    const onx_value *value = slot->size ? onx_value_lookup(n->scope, *slot) : NULL;
    const onx_str *name = value ? named(n->s, value) : NULL;
    (void)msg;
    if (name) *slot = *name;
    return true;
}

/* The names in one message of a copy, and the attributes that refer to those of the function. */
static onx_status rename_in(splice *s, const onx_msg *from, onx_msg *to) {
    onx_msg_touch(to);
    if (from->desc == &onx_desc_node) return rename_node(s, (const onx_node *)from, (onx_node *)to);
    if (from->desc == &onx_desc_value_info)
        return rename_info(s, (const onx_value_info *)from, (onx_value_info *)to);
    if (from->desc == &onx_desc_tensor)
        return rename_tensor(s, (const onx_tensor *)from, (onx_tensor *)to);
    note n = {s, onx_msg_graph(from)};
    onx_notes_each(to, rename_note, &n);
    if (from->desc == &onx_desc_attr && ((onx_attr *)to)->ref_attr_name.size)
        return push(s, &s->wanted, &s->n_wanted, &s->cap_wanted, to);
    return ONX_OK;
}

/* A copy of a message of the function, or of one of its defaults, with the new names. */
static onx_status copy_renamed(splice *s, const void *msg, void *out) {
    const onx_msg *a;
    onx_msg *copy, *b;
    ONX_TRY(onx_msg_clone(s->doc, msg, &copy, s->diag));
    onx_walk u = onx_walk_begin(msg), v = onx_walk_begin(copy);
    while ((a = onx_walk_next(&u)) && (b = onx_walk_next(&v))) ONX_TRY(rename_in(s, a, b));
    memcpy(out, &copy, sizeof copy);
    return ONX_OK;
}

static onx_status copy_nodes(splice *s) {
    ONX_EACH (onx_node, node, s->f->body.node) {
        onx_msg *copy;
        ONX_TRY(copy_renamed(s, node, &copy));
        ONX_TRY(push(s, &s->parts, &s->n_parts, &s->cap_parts, copy));
    }
    return ONX_OK;
}

/* Declared types of what is computed inside. Names of sizes mean something in the function only. */
static onx_status copy_infos(splice *s) {
    ONX_EACH (onx_value_info, info, s->f->body.value_info) {
        const onx_value *value = info->ref->value;
        onx_msg *copy, *m;
        bool inside = value->info == info && value->def && !onx_value_is_output(value);
        if (!inside) continue;
        ONX_TRY(copy_renamed(s, info, &copy));
        for (onx_walk w = onx_walk_begin(copy); (m = onx_walk_next(&w));)
            if (m->desc == &onx_desc_dim) onx_msg_clear(m, ONX_ROW(dim, dim_param));
        ONX_TRY(push(s, &s->parts, &s->n_parts, &s->cap_parts, copy));
    }
    return ONX_OK;
}

/* ── Attributes ──────────────────────────────────────────────────────────────────────────────── */

static onx_status list_params(splice *s) {
    const onx_list *lists[] = {&s->f->attribute_proto,
                               &s->call->attribute}; /* calls go last: first */
    for (size_t i = 0; i < ONX_COUNT(lists); i++)
        ONX_EACH (onx_attr, attr, *lists[i])
            if (!onx_map_put(&s->params, NULL, attr->name, attr)) return onx_fail_nomem(s->diag);
    return ONX_OK;
}

/* In place of an attribute that refers to one of the function: that of the call, which means names
 * of the caller; else the default of the function; else nothing. */
static onx_status bind_attr(splice *s, onx_attr *attr) {
    const onx_attr *given = onx_map_get(&s->params, NULL, attr->ref_attr_name);
    onx_msg *node = attr->msg.parent;
    onx_attr *copy;
    if (given && given->msg.parent == &s->call->msg)
        ONX_TRY(onx_msg_clone(s->doc, given, &copy, s->diag));
    else if (given)
        ONX_TRY(copy_renamed(s, given, &copy));
    if (given) {
        copy->name = attr->name;
        onx_msg_set_has(copy, ONX_ROW(attr, name));
        onx_msg_touch(copy);
        onx_msg_insert(node, ONX_ROW(node, attribute), attr, copy);
    }
    onx_msg_remove(attr);
    return ONX_OK;
}

static onx_status bind_attrs(splice *s) {
    size_t n = s->n_wanted; /* defaults refer to nothing: what they add is left alone */
    if (n) ONX_TRY(list_params(s));
    for (size_t i = 0; i < n; i++) ONX_TRY(bind_attr(s, s->wanted[i]));
    return ONX_OK;
}

/* ── The graph ───────────────────────────────────────────────────────────────────────────────── */

static void define_outputs(onx_node *node, bool defined) {
    for (size_t i = 0; i < node->output.n; i++) {
        onx_ref *ref = node->outs ? node->outs[i] : NULL;
        if (ref) ref->value->def = defined ? node : NULL;
    }
}

/* Out of the graph again, as if it had never been there. */
static void withdraw(onx_msg *part) {
    onx_node *node = part->desc == &onx_desc_node ? (onx_node *)part : NULL;
    onx_ref *info = node ? NULL : ((onx_value_info *)part)->ref;
    if (info && info->value && info->value->info == (onx_value_info *)part)
        info->value->info = NULL;
    if (node) define_outputs(node, false);
    for (size_t i = 0; node && node->outs && i < node->output.n; i++)
        if (node->outs[i]) onx_ref_detach(node->outs[i]);
    onx_msg_unlink_names(part);
    onx_msg_remove(part);
}

static onx_status insert(splice *s, onx_msg *part) {
    if (part->desc == &onx_desc_node)
        onx_node_insert(s->graph, (onx_node *)part, s->call);
    else
        onx_info_insert(s->graph, (onx_value_info *)part);
    return onx_msg_link_names(s->graph->model, part, s->diag);
}

/* The values that the call computes are computed by the copies from now on. */
static onx_status replace(splice *s) {
    onx_status status = ONX_OK;
    size_t i = 0;
    define_outputs(s->call, false);
    for (; i < s->n_parts && !status; i++) status = insert(s, s->parts[i]);
    if (!status) return ONX_OK;
    while (i--) withdraw(s->parts[i]);
    for (i = 0; i < s->call->output.n; i++) {
        onx_value *value = onx_node_output(s->call, i);
        if (value) value->def_index = (uint32_t)i;
    }
    define_outputs(s->call, true);
    return status;
}

/* The call is gone, and what it alone used may go. */
static void remove_call(splice *s) {
    onx_node *call = s->call;
    for (size_t i = 0; i < call->output.n; i++) {
        if (call->outs[i]) onx_ref_detach(call->outs[i]);
        call->outs[i] = NULL;
    }
    onx_msg_unlink_names(call);
    onx_msg_remove(call);
}

static onx_status prepare(splice *s) {
    ONX_TRY(name_parameters(s));
    ONX_TRY(name_results(s));
    ONX_TRY(name_the_rest(s));
    ONX_TRY(copy_nodes(s));
    ONX_TRY(add_identities(s));
    ONX_TRY(copy_infos(s));
    return bind_attrs(s);
}

onx_status onx_node_inline(onx_node *node, const onx_function *function, onx_node **first,
                           onx_diag *diag) {
    if (!node || node->msg.dead || !function)
        return onx_fail(diag, ONX_USAGE, "there is no such node or function");
    splice s = {.call = node, .graph = node->graph, .f = function, .diag = diag};
    s.doc = node->msg.doc;
    onx_arena_init(&s.arena, s.doc->ctx);
    onx_map_init(&s.names, s.doc->ctx);
    onx_map_init(&s.params, s.doc->ctx);
    onx_status status = prepare(&s);
    if (!status) status = replace(&s);
    if (!status) {
        onx_msg *after = node->msg.next;
        remove_call(&s);
        if (first)
            *first =
                (onx_node *)(s.n_parts && s.parts[0]->desc == &onx_desc_node ? s.parts[0] : after);
    }
    for (size_t i = 0; i < s.n_claimed; i++) onx_value_unclaim(s.claimed[i]);
    onx_map_fini(&s.params);
    onx_map_fini(&s.names);
    onx_arena_fini(&s.arena);
    return status;
}
