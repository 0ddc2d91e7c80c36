/* merge.c: several models become one.
 *
 *     parts     copies of the models, of one version, with prefixes before their names
 *     joins     in a part, a joined input takes the name of the output that goes into it
 *     names     no other name may be in two parts
 *     build     merge_build.c: all messages in one model, linked by their names
 */
#include "pass/merge.h"

#include "base/options.h"
#include "ir/edit.h"
#include "ops/op.h"

#include <stdio.h>

static const onx_str no_name = {NULL, 0};

bool onx_merge_has(const onx_map *set, const void *object) {
    return onx_map_get(set, object, no_name) != NULL;
}

static onx_status mark(onx_merge *m, onx_map *set, void *object) {
    return onx_map_put(set, object, no_name, object) ? ONX_OK : onx_fail_nomem(m->diag);
}

static bool is_about(const onx_ref *r) {
    return r->kind == ONX_REF_OTHER && r->owner->desc == &onx_desc_annotation;
}

/* The input makes way for another value, and its annotation for that of the other. */
static onx_status leave(onx_merge *m, onx_value *in, const onx_value *other) {
    bool annotated = false;
    for (const onx_ref *r = other->first; r; r = r->next) annotated = annotated || is_about(r);
    for (const onx_ref *r = in->first; r && annotated; r = r->next)
        if (is_about(r)) ONX_TRY(mark(m, &m->gone, r->owner));
    return mark(m, &m->gone, in);
}

/* ─ Parts ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status check_model(onx_merge *m, size_t i, const onx_model *model) {
    onx_status status = ONX_OK;
    if (!model)
        status = onx_fail(m->diag, ONX_USAGE, "there is no model");
    else if (!model->graph)
        status = onx_fail(m->diag, ONX_INVALID, "the model has no graph");
    else if (model->training_info.count) {
        status = onx_fail(m->diag, ONX_UNSUPPORTED, "training information cannot be merged");
        onx_diag_hint(m->diag, "remove it first: onx_model_strip, onx strip --training");
    }
    if (status) onx_diag_place(m->diag, "model %zu", i + 1);
    return status;
}

/* The highest version of each domain, when older ones are to be brought to it. */
static onx_status find_newest(onx_merge *m, const onx_model *const *models) {
    for (size_t i = 0; m->options->convert && i < m->n; i++)
        ONX_EACH (onx_opset, o, models[i]->opset_import) {
            onx_str domain = onx_domain_plain(o->domain);
            const onx_opset *there = onx_map_get(&m->newest, NULL, domain);
            if ((!there || there->version < o->version) &&
                !onx_map_put(&m->newest, NULL, domain, o))
                return onx_fail_nomem(m->diag);
        }
    return ONX_OK;
}

static onx_status convert(onx_merge *m, onx_merge_part *part) {
    const onx_list *opsets = &part->model->opset_import;
    onx_convert_options how = ONX_INIT(onx_convert_options);
    onx_opset_target *targets = onx_arena_array(&m->arena, opsets->count + 1, sizeof *targets);
    if (!targets) return onx_fail_nomem(m->diag);
    ONX_EACH (onx_opset, o, *opsets) {
        const onx_opset *newest = onx_map_get(&m->newest, NULL, onx_domain_plain(o->domain));
        if (newest && newest->version > o->version)
            targets[how.n_targets++] = (onx_opset_target){onx_opset_domain(o), newest->version};
    }
    how.targets = targets;
    if (how.n_targets) ONX_TRY(onx_model_convert(part->model, &how, &part->own, m->diag));
    return ONX_OK;
}

/* The first model is copied anyway; of the others, and of what gets a prefix, a copy is changed. */
static onx_status take_part(onx_merge *m, size_t i, const onx_model *model) {
    const char *const *prefixes = m->options->prefixes;
    onx_merge_part *part = &m->parts[i];
    *part = (onx_merge_part){.model = model, .prefix = prefixes && prefixes[i] ? prefixes[i] : ""};
    ONX_TRY(convert(m, part));
    if (!part->own && (i || *part->prefix)) ONX_TRY(onx_model_clone(model, &part->own, m->diag));
    if (part->own) part->model = part->own;
    if (!*part->prefix) return ONX_OK;
    onx_rename_options how = ONX_INIT(onx_rename_options);
    how.what = ONX_NAMES_ALL;
    how.prefix = part->prefix;
    return onx_model_rename(part->own, &how, m->diag);
}

/* ─ Types ────────────────────────────────────────────────────────────────────────────────────── */

static bool dims_agree(const onx_type *a, const onx_type *b) {
    if (!onx_type_has_shape(a) || !onx_type_has_shape(b)) return true;
    if (onx_type_rank(a) != onx_type_rank(b)) return false;
    for (size_t i = 0; i < onx_type_rank(a); i++) {
        int64_t x = onx_type_dim(a, i), y = onx_type_dim(b, i);
        if (x >= 0 && y >= 0 && x != y) return false;
    }
    return true;
}

/* Can a value of the one type be one of the other? What is not declared agrees with all. */
static bool types_agree(const onx_type *a, const onx_type *b) {
    for (; a && b; a = onx_type_elem(a), b = onx_type_elem(b)) {
        onx_type_kind x = onx_type_kind_of(a), y = onx_type_kind_of(b);
        if (!x || !y) return true;
        if (x != y || !dims_agree(a, b)) return false;
        if (onx_type_dtype(a) && onx_type_dtype(b) && onx_type_dtype(a) != onx_type_dtype(b))
            return false;
    }
    return true;
}

static onx_status fail_types(onx_merge *m, const onx_value *out, const onx_value *in) {
    char a[100], b[100];
    onx_type_format(onx_value_type(out), a, sizeof a);
    onx_type_format(onx_value_type(in), b, sizeof b);
    return onx_fail(m->diag, ONX_INVALID, "'%.100s' is %s, and cannot be '%.100s', which is %s",
                    onx_value_name(out), a, onx_value_name(in), b);
}

/* ─ Joins ────────────────────────────────────────────────────────────────────────────────────── */

/* The value of a part that its model calls `name`. */
static onx_status find(onx_merge *m, size_t i, const char *name, bool output, onx_value **out) {
    onx_buf text;
    onx_buf_init(&text, m->parts[i].model->msg.doc->ctx);
    onx_buf_puts(&text, m->parts[i].prefix);
    onx_buf_puts(&text, name ? name : "");
    onx_value *value =
        text.failed ? NULL
                    : onx_value_find(m->parts[i].model->graph, (onx_str){text.data, text.size});
    bool failed = text.failed;
    onx_buf_fini(&text);
    if (failed) return onx_fail_nomem(m->diag);
    *out = value;
    if (value && (output ? onx_value_is_output(value) : onx_value_is_input(value))) return ONX_OK;
    return onx_fail(m->diag, ONX_NOT_FOUND, "model %zu has no %s '%.200s'", i + 1,
                    output ? "output" : "input", name ? name : "");
}

/* An input that is also an output keeps its name as output: Identity gives it. */
static onx_status keep_output(onx_merge *m, onx_value *in) {
    onx_graph *graph = in->graph;
    onx_node *node = onx_graph_add_node(graph, "Identity", 1, &in, 1, NULL);
    onx_value *copy = node ? onx_node_output(node, 0) : NULL;
    if (!copy) return onx_fail_nomem(m->diag);
    onx_str fresh = copy->name;
    for (size_t i = 0; i < graph->outs.n; i++) {
        onx_ref *ref = graph->outs.v[i];
        if (ref->value != in) continue;
        onx_ref_detach(ref);
        onx_ref_attach(ref, copy);
    }
    copy->output = in->output;
    in->output = NULL;
    if (!onx_value_swap_name(in, copy, fresh)) return onx_fail_nomem(m->diag);
    onx_value_write_name(copy);
    return ONX_OK;
}

/* The input has the name of the output from now on; that it is the same name in two parts is what
 * joins them. The part's own table of names is not looked at for it any more. */
static onx_status join(onx_merge *m, size_t from, onx_value *out, size_t to, onx_value *in) {
    onx_str name;
    if (from >= to) {
        onx_fail(m->diag, ONX_USAGE, "output '%.100s' of model %zu cannot go into model %zu",
                 onx_value_name(out), from + 1, to + 1);
        onx_diag_hint(m->diag, "a model comes after those whose outputs it takes");
        return ONX_USAGE;
    }
    if (onx_merge_has(&m->gone, in))
        return onx_fail(m->diag, ONX_USAGE, "input '%.100s' of model %zu is joined twice",
                        onx_value_name(in), to + 1);
    if (!types_agree(onx_value_type(out), onx_value_type(in))) return fail_types(m, out, in);
    if (onx_value_is_output(in)) ONX_TRY(keep_output(m, in));
    ONX_TRY(leave(m, in, out));
    ONX_TRY(mark(m, &m->given, out));
    if (!onx_doc_str(in->graph->model->msg.doc, out->name, &name)) return onx_fail_nomem(m->diag);
    in->name = name;
    onx_value_write_name(in);
    return ONX_OK;
}

static onx_status join_given(onx_merge *m, const onx_join *j) {
    onx_value *out, *in;
    if (j->from >= m->n || j->to >= m->n)
        return onx_fail(m->diag, ONX_USAGE, "there are only %zu models to join", m->n);
    ONX_TRY(find(m, j->from, j->output, true, &out));
    ONX_TRY(find(m, j->to, j->input, false, &in));
    return join(m, j->from, out, j->to, in);
}

/* A name without the prefix of its part. */
static onx_str plain_name(const onx_merge_part *part, const onx_value *value) {
    size_t n = value->name.size ? strlen(part->prefix) : 0;
    return (onx_str){value->name.data + n, value->name.size - n};
}

typedef struct source {
    size_t part;
    onx_value *value;
} source;

/* Inputs that have the name of an output: the latest before them. */
static onx_status join_by_name(onx_merge *m, onx_map *outputs, size_t i) {
    const onx_merge_part *part = &m->parts[i];
    const onx_graph *graph = part->model->graph;
    for (size_t k = 0; i && k < graph->ins.n; k++) {
        onx_value *in = graph->ins.v[k]->value;
        if (onx_merge_has(&m->gone, in)) continue;
        const source *from = onx_map_get(outputs, NULL, plain_name(part, in));
        if (from) ONX_TRY(join(m, from->part, from->value, i, in));
    }
    for (size_t k = 0; k < graph->outs.n; k++) {
        source *s = onx_arena_alloc(&m->arena, sizeof *s);
        onx_value *value = graph->outs.v[k]->value;
        if (!s) return onx_fail_nomem(m->diag);
        *s = (source){i, value};
        if (!onx_map_put(outputs, NULL, plain_name(part, value), s)) return onx_fail_nomem(m->diag);
    }
    return ONX_OK;
}

static onx_status join_all(onx_merge *m) {
    onx_status status = ONX_OK;
    onx_map outputs;
    for (size_t i = 0; i < m->options->n_joins; i++) ONX_TRY(join_given(m, &m->options->joins[i]));
    if (!m->options->by_name) return ONX_OK;
    onx_map_init(&outputs, m->parts[0].model->msg.doc->ctx);
    for (size_t i = 0; i < m->n && !status; i++) status = join_by_name(m, &outputs, i);
    onx_map_fini(&outputs);
    return status;
}

/* ─ Names ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status fail_name(onx_merge *m, const onx_value *value, const onx_merge_part *other,
                            const onx_merge_part *part) {
    onx_fail(m->diag, ONX_CONFLICT, "models %zu and %zu both have a value '%.*s'",
             (size_t)(other - m->parts) + 1, (size_t)(part - m->parts) + 1, ONX_FMT(value->name));
    onx_diag_place(m->diag, "graph '%.100s'", onx_graph_name(value->graph));
    onx_diag_hint(m->diag, "give one of the models a prefix, rename it, or join the values");
    return ONX_CONFLICT;
}

/* The input of an earlier model that is this one, too, when that is wanted: of one name and
 * type. */
static const onx_value *shared(const onx_merge *m, const onx_merge_part *other,
                               const onx_value *value) {
    const onx_value *first = onx_value_find(other->model->graph, value->name);
    bool plain = first && first->input && !first->init && value->input && !value->init;
    bool same = m->options->share_inputs && plain && !onx_value_is_output(value) &&
                types_agree(onx_value_type(first), onx_value_type(value));
    return same ? first : NULL;
}

/* Values of a graph are seen in all subgraphs, so they meet the names of these, too. */
static onx_status enter_value(onx_merge *m, onx_merge_part *part, onx_value *value, bool inner) {
    onx_merge_part *graphs = onx_map_get(&m->names, NULL, value->name);
    onx_merge_part *subgraphs = onx_map_get(&m->names, m, value->name);
    if (!value->name.size || value->dead || onx_merge_has(&m->gone, value)) return ONX_OK;
    if (graphs && graphs != part) {
        const onx_value *first = inner ? NULL : shared(m, graphs, value);
        return first ? leave(m, value, first) : fail_name(m, value, graphs, part);
    }
    if (!inner && subgraphs && subgraphs != part) return fail_name(m, value, subgraphs, part);
    bool there = inner ? subgraphs != NULL : graphs != NULL;
    if (there || onx_map_put(&m->names, inner ? m : NULL, value->name, part)) return ONX_OK;
    return onx_fail_nomem(m->diag);
}

static onx_status enter_names(onx_merge *m, onx_merge_part *part) {
    const onx_model *model = part->model;
    for (onx_graph *g = NULL; (g = onx_model_graph_next(model, g)) && !g->function;)
        for (onx_value *v = g->values; v; v = v->next)
            ONX_TRY(enter_value(m, part, v, g != model->graph));
    return ONX_OK;
}

/* ─ Names of nodes ───────────────────────────────────────────────────────────────────────────── */

static onx_status enter_nodes(onx_merge *m, onx_merge_part *part) {
    ONX_EACH (onx_node, n, part->model->graph->node)
        if (n->name.size && !onx_map_get(&m->names, m->parts, n->name) &&
            !onx_map_put(&m->names, m->parts, n->name, part))
            return onx_fail_nomem(m->diag);
    return ONX_OK;
}

static onx_status rename_node(onx_merge *m, onx_merge_part *part, onx_node *node) {
    char name[256];
    int n = node->name.size <= 200 ? (int)node->name.size : 0;
    do snprintf(name, sizeof name, "%.*s_%zu", n, onx_node_name(node), ++m->n_renamed);
    while (onx_map_get(&m->names, m->parts, onx_str_of(name)));
    if (onx_node_set_name(node, name) || !onx_map_put(&m->names, m->parts, node->name, part))
        return onx_fail_nomem(m->diag);
    return ONX_OK;
}

/* Nothing refers to nodes by name, but people: one that an earlier model has gets a number. */
static onx_status rename_nodes(onx_merge *m) {
    for (size_t i = 0; i < m->n; i++) ONX_TRY(enter_nodes(m, &m->parts[i]));
    for (onx_merge_part *part = m->parts + 1; part < m->parts + m->n; part++)
        ONX_EACH (onx_node, n, part->own->graph->node)
            if (n->name.size && onx_map_get(&m->names, m->parts, n->name) != part)
                ONX_TRY(rename_node(m, part, n));
    return ONX_OK;
}

/* ─ All of it ────────────────────────────────────────────────────────────────────────────────── */

/* Only what was asked for. */
static onx_status cut(onx_merge *m) {
    const onx_merge_options *o = m->options;
    onx_extract_options what = ONX_INIT(onx_extract_options);
    onx_model *part;
    if (!o->n_inputs && !o->n_outputs) return ONX_OK;
    what.n_inputs = o->n_inputs;
    what.inputs = o->inputs;
    what.n_outputs = o->n_outputs;
    what.outputs = o->outputs;
    ONX_TRY(onx_model_extract(m->out, &what, &part, m->diag));
    onx_model_free(m->out);
    m->out = part;
    return ONX_OK;
}

static onx_status merge(onx_merge *m, const onx_model *const *models) {
    m->parts = onx_arena_array(&m->arena, m->n, sizeof *m->parts);
    if (!m->parts) return onx_fail_nomem(m->diag);
    for (size_t i = 0; i < m->n; i++) ONX_TRY(check_model(m, i, models[i]));
    ONX_TRY(find_newest(m, models));
    for (size_t i = 0; i < m->n; i++) ONX_TRY(take_part(m, i, models[i]));
    ONX_TRY(join_all(m));
    for (size_t i = 0; i < m->n; i++) ONX_TRY(enter_names(m, &m->parts[i]));
    ONX_TRY(rename_nodes(m));
    ONX_TRY(onx_merge_build(m));
    ONX_TRY(onx_model_link(m->out, m->diag));
    return cut(m);
}

onx_status onx_model_merge(size_t n_models, const onx_model *const *models,
                           const onx_merge_options *options, onx_model **out, onx_diag *diag) {
    onx_merge_options o;
    ONX_TRY(ONX_OPTIONS(&o, options, diag));
    if (!n_models || !models || !out || !models[0])
        return onx_fail(diag, ONX_USAGE, "onx_model_merge needs models");
    onx_context *ctx = models[0]->msg.doc->ctx;
    onx_merge m = {.options = &o, .n = n_models, .diag = diag};
    onx_arena_init(&m.arena, ctx);
    onx_map_init(&m.gone, ctx);
    onx_map_init(&m.given, ctx);
    onx_map_init(&m.names, ctx);
    onx_map_init(&m.newest, ctx);
    onx_status status = merge(&m, models);
    for (size_t i = 0; m.parts && i < n_models; i++) onx_model_free(m.parts[i].own);
    onx_map_fini(&m.newest);
    onx_map_fini(&m.names);
    onx_map_fini(&m.given);
    onx_map_fini(&m.gone);
    onx_arena_fini(&m.arena);
    if (status)
        onx_model_free(m.out);
    else
        *out = m.out;
    return status;
}
