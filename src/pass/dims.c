/* dims.c: symbolic dimensions fixed, dimensions of inputs freed or changed.
 *
 *     fix N = 4            N in every declared size, also in expressions
 *     change x:0           the size of that input; then, of all values that depend on the input,
 *                          what is declared is opened and inferred anew
 *
 * Changes are made in place and taken back when inference finds that a node, which was fine before,
 * cannot be right with them. */
#include "base/options.h"
#include "ir/edit.h"
#include "pass/surgery.h"

typedef struct resizer {
    onx_model *model;
    const onx_dims_options *options;
    onx_diag *diag;
    onx_arena arena;
    onx_dim_edits fixed;   /* names that get a size */
    onx_dim_edits changed; /* dimensions of inputs, and what was declared of values behind them */
    onx_dim_edits learned; /* what inference knows of these */
    onx_size *sizes;       /* of names, those from changes too */
    size_t n_sizes;
    bool *used;              /* beside the sizes */
    onx_map behind;          /* nodes of the graph that depend on inputs that are changed */
    onx_value_info **opened; /* declarations of what they compute, and of what is inside them */
    size_t n_opened, opened_cap;
    onx_map faulty; /* nodes and values that were wrong before */
    bool listening; /* to mistakes that are new */
    onx_status heard;
} resizer;

static const onx_str no_name = {NULL, 0};

/* ─ Mistakes ─────────────────────────────────────────────────────────────────────────────────── */

/* Inference tells of the mistakes that it finds, before and after. */
static void hear(void *user, const onx_node *node, const onx_value *value, const onx_diag *diag) {
    resizer *r = user;
    const void *where = value ? (const void *)value : node;
    if (r->heard || diag->status != ONX_INVALID) return;
    if (!r->listening) {
        if (!onx_map_put(&r->faulty, where, no_name, r)) r->heard = onx_fail_nomem(r->diag);
    } else if (!onx_map_get(&r->faulty, where, no_name)) {
        r->heard = ONX_INVALID;
        if (r->diag) *r->diag = *diag;
    }
}

/* A model that inference cannot go through is changed unchecked: `*out` is NULL then. */
static onx_status infer(resizer *r, bool listening, onx_facts **out) {
    const onx_facts_options options = {.report = hear, .user = r};
    onx_facts *facts = NULL;
    r->listening = listening;
    onx_status status = onx_facts_new(r->model, &options, &facts, r->diag);
    if (status == ONX_NO_MEMORY || r->heard) {
        onx_facts_free(facts);
        return r->heard ? r->heard : status;
    }
    *out = facts;
    return ONX_OK;
}

/* ─ Names that get a size ────────────────────────────────────────────────────────────────────── */

static const onx_sym *size_of(void *user, onx_syms *syms, onx_str name) {
    resizer *r = user;
    for (size_t i = 0; i < r->n_sizes; i++) {
        if (!onx_str_is(name, r->sizes[i].name)) continue;
        r->used[i] = true;
        return onx_sym_int(syms, r->sizes[i].value);
    }
    return NULL;
}

static onx_status check_sizes(const resizer *r) {
    for (size_t i = 0; i < r->n_sizes; i++) {
        const onx_size *s = &r->sizes[i];
        if (!s->name || !*s->name || s->value < 0)
            return onx_fail(r->diag, ONX_USAGE, "'%.100s' cannot have the size %lld",
                            s->name ? s->name : "", (long long)s->value);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(s->name, r->sizes[k].name) && s->value != r->sizes[k].value)
                return onx_fail(r->diag, ONX_USAGE, "'%.100s' cannot be both %lld and %lld",
                                s->name, (long long)r->sizes[k].value, (long long)s->value);
    }
    return ONX_OK;
}

static onx_status fix_names(resizer *r) {
    ONX_TRY(check_sizes(r));
    if (!r->n_sizes) return ONX_OK;
    ONX_TRY(onx_dim_edits_replace(&r->fixed, r->model, size_of, r, r->diag));
    for (size_t i = 0; i < r->n_sizes; i++)
        if (!r->used[i]) {
            onx_fail(r->diag, ONX_NOT_FOUND, "no dimension is called '%.200s'", r->sizes[i].name);
            onx_diag_hint(r->diag, "'onx dims MODEL' lists those that there are");
            return ONX_NOT_FOUND;
        }
    return ONX_OK;
}

/* ─ Dimensions of inputs ─────────────────────────────────────────────────────────────────────── */

static onx_status find_dim(const resizer *r, const onx_dim_change *c, onx_value **value,
                           onx_dim **out) {
    onx_value *v = c->input ? onx_graph_find(r->model->graph, c->input) : NULL;
    const onx_type *type = v && v->input ? v->input->type : NULL;
    if (!v || !v->input)
        return onx_fail(r->diag, ONX_NOT_FOUND, "the model has no input '%.200s'",
                        c->input ? c->input : "");
    onx_shape *shape = type && type->tensor_type ? type->tensor_type->shape : NULL;
    *value = v;
    *out = shape ? onx_list_at(&shape->dim, c->axis) : NULL;
    if (*out) return ONX_OK;
    return onx_fail(r->diag, ONX_NOT_FOUND, "input '%.100s' has no dimension %zu (it has %zu)",
                    c->input, c->axis, onx_type_rank(type));
}

static bool is_symbol(const onx_dim *dim) {
    return dim->dim_param.size && dim->dim_param.data[0] != '?';
}

/* To fix a dimension that has a name is to fix the name; that is found out before all else. */
static onx_status read_changes(resizer *r) {
    const onx_dims_options *o = r->options;
    size_t most = o->n_sizes + o->n_changes;
    r->sizes = onx_arena_array(&r->arena, most + 1, sizeof *r->sizes);
    r->used = onx_arena_array(&r->arena, most + 1, sizeof *r->used);
    if (!r->sizes || !r->used) return onx_fail_nomem(r->diag);
    for (size_t i = 0; i < o->n_sizes; i++) r->sizes[r->n_sizes++] = o->sizes[i];
    for (size_t i = 0; i < o->n_changes; i++) {
        onx_value *value;
        onx_dim *dim;
        ONX_TRY(find_dim(r, &o->changes[i], &value, &dim));
        if (!o->changes[i].name && is_symbol(dim))
            r->sizes[r->n_sizes++] = (onx_size){dim->dim_param.data, o->changes[i].size};
    }
    return ONX_OK;
}

/* ─ What depends on them ─────────────────────────────────────────────────────────────────────── */

static onx_status open_info(resizer *r, onx_value_info *info) {
    onx_msg *m;
    bool any = false;
    for (onx_walk w = onx_walk_begin(info); (m = onx_walk_next(&w));) {
        if (m->desc != &onx_desc_dim) continue;
        ONX_TRY(onx_dim_edits_set(&r->changed, m, NULL, r->diag));
        any = true;
    }
    if (!any) return ONX_OK;
    if (!onx_arena_grow(&r->arena, &r->opened, &r->opened_cap, r->n_opened, sizeof *r->opened))
        return onx_fail_nomem(r->diag);
    r->opened[r->n_opened++] = info;
    return ONX_OK;
}

/* Everything that is declared of a value of the graph, and in the graphs inside a node. */
static onx_status open_value(resizer *r, const onx_value *value) {
    for (const onx_ref *ref = value->first; ref; ref = ref->next)
        if (ref->kind == ONX_REF_INFO) ONX_TRY(open_info(r, (onx_value_info *)ref->owner));
    return ONX_OK;
}

static onx_status open_inside(resizer *r, onx_node *node) {
    onx_msg *m;
    for (onx_walk w = onx_walk_begin(node); (m = onx_walk_next(&w));) {
        if (m->desc == &onx_desc_tensor || m->desc == &onx_desc_type) onx_walk_skip(&w);
        if (m->desc != &onx_desc_value_info) continue;
        onx_walk_skip(&w);
        const onx_value *value = ((onx_value_info *)m)->ref->value;
        if (value->graph != r->model->graph) ONX_TRY(open_info(r, (onx_value_info *)m));
    }
    return ONX_OK;
}

/* The node of the graph that a message is, or lies in. */
static onx_node *node_around(const onx_graph *graph, onx_msg *m) {
    for (; m; m = m->parent)
        if (m->desc == &onx_desc_node && ((onx_node *)m)->graph == graph) return (onx_node *)m;
    return NULL;
}

/* Nodes that use the value; what they compute goes on the stack. */
static onx_status follow_value(resizer *r, const onx_value *value, onx_refs *stack) {
    for (const onx_ref *ref = value->first; ref; ref = ref->next) {
        onx_node *node = onx_ref_is_use(ref) ? node_around(r->model->graph, ref->owner) : NULL;
        if (!node || onx_map_get(&r->behind, node, no_name)) continue;
        if (!onx_map_put(&r->behind, node, no_name, node)) return onx_fail_nomem(r->diag);
        ONX_TRY(open_inside(r, node));
        for (size_t i = 0; i < node->output.n; i++) {
            if (!node->outs[i]) continue;
            ONX_TRY(open_value(r, node->outs[i]->value));
            if (!onx_arena_grow(&r->arena, &stack->v, &stack->cap, stack->n, sizeof *stack->v))
                return onx_fail_nomem(r->diag);
            stack->v[stack->n++] = node->outs[i];
        }
    }
    return ONX_OK;
}

static onx_status follow(resizer *r, const onx_value *input) {
    onx_refs stack = {NULL, 0, 0};
    ONX_TRY(follow_value(r, input, &stack));
    while (stack.n) ONX_TRY(follow_value(r, stack.v[--stack.n]->value, &stack));
    return ONX_OK;
}

static onx_status change_input(resizer *r, const onx_dim_change *c) {
    onx_value *value;
    onx_dim *dim;
    ONX_TRY(find_dim(r, c, &value, &dim));
    if (!c->name && is_symbol(dim)) return ONX_OK; /* the name is fixed */
    if (!c->name && c->size < 0)
        return onx_fail(r->diag, ONX_USAGE, "a dimension cannot have the size %lld",
                        (long long)c->size);
    const onx_sym *size = c->name ? onx_sym_name(r->changed.syms, onx_str_of(c->name))
                                  : onx_sym_int(r->changed.syms, c->size);
    if (!size) return onx_fail_nomem(r->diag);
    ONX_TRY(onx_dim_edits_set(&r->changed, dim, size, r->diag));
    return follow(r, value);
}

/* ─ What is known of it now ──────────────────────────────────────────────────────────────────── */

static onx_status learn_type(resizer *r, const onx_type *type, const onx_fact *fact) {
    for (; type && fact; type = onx_type_elem(type), fact = fact->elem) {
        const onx_tensor_type *tensor =
            type->tensor_type ? type->tensor_type : type->sparse_tensor_type;
        onx_shape *shape = tensor ? tensor->shape : NULL;
        if (!shape || !fact->ranked || fact->rank != shape->dim.count) continue;
        size_t i = 0;
        ONX_EACH (onx_dim, dim, shape->dim)
            ONX_TRY(onx_dim_edits_set(&r->learned, dim, fact->dims[i++], r->diag));
    }
    return ONX_OK;
}

static onx_status learn(resizer *r, const onx_facts *facts) {
    for (size_t i = 0; i < r->n_opened; i++)
        ONX_TRY(learn_type(r, r->opened[i]->type, onx_facts_of(facts, r->opened[i]->ref->value)));
    return ONX_OK;
}

/* ─ Constants that hold an old size ──────────────────────────────────────────────────────────── */

static const onx_sym *product(onx_syms *syms, const onx_fact *fact) {
    const onx_sym *all = fact->ranked ? onx_sym_int(syms, 1) : NULL;
    for (size_t i = 0; all && i < fact->rank; i++) all = onx_sym_mul(syms, all, fact->dims[i]);
    return all;
}

/* Is it the size of a dimension that was freed? */
static bool is_freed(const resizer *r, const onx_facts *facts, const onx_sym *size) {
    for (size_t i = 0; i < r->options->n_changes; i++) {
        const char *name = r->options->changes[i].name;
        if (!name) continue;
        if (name[0] == '?' ? onx_facts_unknown(facts, size)
                           : size == onx_sym_name(onx_facts_syms(facts), onx_str_of(name)))
            return true;
    }
    return false;
}

/* A shape that has a number where the input has a size that was freed gives the old one; and one
 * without -1 gives as many elements as there were, not as there are. */
static bool is_stale(const resizer *r, const onx_facts *facts, const onx_node *node) {
    const onx_fact *in = onx_facts_of(facts, onx_node_input(node, 0));
    const onx_fact *shape = onx_facts_of(facts, onx_node_input(node, 1));
    const onx_fact *out = onx_facts_of(facts, onx_node_output(node, 0));
    onx_syms *syms = onx_facts_syms(facts);
    bool open = false;
    for (size_t i = 0; i < shape->n_elems; i++) {
        int64_t value;
        if (!onx_sym_is_int(shape->elems[i], &value)) return false;
        if (value > 0 && in->ranked && i < in->rank && is_freed(r, facts, in->dims[i])) return true;
        open = open || value < 0;
    }
    const onx_sym *before = product(syms, in), *after = product(syms, out);
    return shape->n_elems && !open && before && after && before != after;
}

static void report_reshape(const resizer *r, const onx_node *node) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_str name = node->name.size ? node->name : node->output.n ? node->output.v[0] : node->name;
    onx_fail(&diag, ONX_CHANGED, "its constant shape may hold a size that is no longer fixed");
    onx_diag_place(&diag, "graph '%.60s', node '%.*s' (Reshape)", onx_graph_name(node->graph),
                   ONX_FMT(name));
    onx_diag_hint(&diag, "put -1 or 0 where the size was");
    r->options->report(r->options->user, &diag);
}

static void report_stale(const resizer *r, const onx_facts *facts) {
    if (!r->options->report || !r->n_opened) return;
    for (onx_node *n = onx_graph_node_first(r->model->graph); n; n = onx_node_next(n)) {
        if (!onx_str_is(n->op_type, "Reshape") || *onx_node_domain(n) ||
            !onx_map_get(&r->behind, n, no_name))
            continue;
        if (is_stale(r, facts, n)) report_reshape(r, n);
    }
}

/* ─ All of it ────────────────────────────────────────────────────────────────────────────────── */

static onx_status plan(resizer *r) {
    ONX_TRY(onx_dim_edits_init(&r->fixed, r->model, r->diag));
    ONX_TRY(onx_dim_edits_init(&r->changed, r->model, r->diag));
    ONX_TRY(onx_dim_edits_init(&r->learned, r->model, r->diag));
    ONX_TRY(read_changes(r));
    ONX_TRY(fix_names(r));
    for (size_t i = 0; i < r->options->n_changes; i++)
        ONX_TRY(change_input(r, &r->options->changes[i]));
    return ONX_OK;
}

/* With the changes made: they stay if nothing speaks against them. */
static onx_status check(resizer *r) {
    onx_facts *facts = NULL;
    ONX_TRY(infer(r, true, &facts));
    if (!facts) return ONX_OK;
    onx_status status = learn(r, facts);
    if (!status) {
        onx_dim_edits_swap(&r->learned);
        report_stale(r, facts);
    }
    onx_facts_free(facts);
    return status;
}

static onx_status resize(resizer *r) {
    onx_facts *before = NULL;
    ONX_TRY(plan(r));
    ONX_TRY(infer(r, false, &before));
    bool checked = before != NULL;
    onx_facts_free(before);
    onx_dim_edits_swap(&r->fixed);
    onx_dim_edits_swap(&r->changed);
    onx_status status = checked ? check(r) : ONX_OK;
    if (status) {
        onx_dim_edits_swap(&r->changed);
        onx_dim_edits_swap(&r->fixed);
    }
    return status;
}

onx_status onx_model_set_dims(onx_model *model, const onx_dims_options *options, onx_diag *diag) {
    onx_dims_options o;
    ONX_TRY(ONX_OPTIONS(&o, options, diag));
    if (!model || !model->graph) return onx_fail(diag, ONX_USAGE, "there is no model with a graph");
    resizer r = {.model = model, .options = &o, .diag = diag};
    onx_arena_init(&r.arena, model->msg.doc->ctx);
    onx_map_init(&r.behind, model->msg.doc->ctx);
    onx_map_init(&r.faulty, model->msg.doc->ctx);
    onx_status status = resize(&r);
    onx_map_fini(&r.faulty);
    onx_map_fini(&r.behind);
    onx_dim_edits_fini(&r.learned);
    onx_dim_edits_fini(&r.changed);
    onx_dim_edits_fini(&r.fixed);
    onx_arena_fini(&r.arena);
    return status;
}
