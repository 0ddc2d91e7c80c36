/* rename.c: new names for values, nodes, graphs, functions and dimensions, by rules.
 *
 * All changes are prepared and checked, then made: a failure leaves the model as it was. Bodies of
 * functions keep the names of their values and nodes: these are seen by nobody else. */
#include "base/options.h"
#include "ir/edit.h"
#include "ops/op.h"
#include "pass/surgery.h"

typedef struct text_edit {
    onx_msg *msg;
    const onx_field *row;
    onx_str text;
} text_edit;

typedef struct renamer {
    onx_model *model;
    const onx_rename_options *options;
    unsigned what;
    onx_diag *diag; /* never NULL */
    onx_arena arena;
    onx_map pairs; /* what a pair names, if it is no pattern, to that pair */
    bool *used;    /* beside the pairs */
    onx_new_name *values;
    size_t n_values, values_cap;
    text_edit *texts;
    size_t n_texts, texts_cap;
    onx_dim_edits dims;
    onx_map taken;               /* new names of dimensions to the old ones */
    onx_operators before, after; /* functions, by their old and new names */
    bool failed;                 /* memory ran out where nobody could be told */
} renamer;

/* ─ Rules ────────────────────────────────────────────────────────────────────────────────────── */

/* "encoder.*": what stands before and after the star. */
static bool split_star(const char *pattern, onx_str *head, onx_str *tail) {
    const char *star = strchr(pattern, '*');
    if (!star || strchr(star + 1, '*')) return false;
    *head = (onx_str){pattern, (size_t)(star - pattern)};
    *tail = onx_str_of(star + 1);
    return true;
}

static bool starts(onx_str name, onx_str head) {
    return name.size >= head.size && memcmp(name.data, head.data, head.size) == 0;
}

static onx_status join(renamer *r, onx_str a, onx_str b, onx_str c, onx_str *out) {
    onx_buf text;
    onx_buf_init(&text, r->model->msg.doc->ctx);
    onx_buf_put(&text, a.data, a.size);
    onx_buf_put(&text, b.data, b.size);
    onx_buf_put(&text, c.data, c.size);
    onx_str joined = {text.data, text.size};
    bool ok = !text.failed && onx_doc_str(r->model->msg.doc, joined, out);
    onx_buf_fini(&text);
    return ok ? ONX_OK : onx_fail_nomem(r->diag);
}

static onx_status by_pattern(renamer *r, onx_str name, onx_str *out, bool *done) {
    for (size_t i = 0; i < r->options->n_pairs; i++) {
        const onx_name_pair *pair = &r->options->pairs[i];
        onx_str head, tail, before, after;
        if (!split_star(pair->from, &head, &tail) || name.size < head.size + tail.size ||
            !starts(name, head) || !onx_str_ends(name, tail))
            continue;
        onx_str middle = {name.data + head.size, name.size - head.size - tail.size};
        r->used[i] = *done = true;
        if (!split_star(pair->to, &before, &after))
            before = onx_str_of(pair->to), middle = after = (onx_str){"", 0};
        return join(r, before, middle, after, out);
    }
    return ONX_OK;
}

/* The name that the rules give; `*out` is `name` when they say nothing. */
static onx_status new_name(renamer *r, onx_str name, onx_str *out) {
    const onx_name_pair *pair = name.size ? onx_map_get(&r->pairs, NULL, name) : NULL;
    const char *prefix = r->options->prefix;
    bool done = false;
    *out = name;
    if (!name.size) return ONX_OK;
    if (pair) {
        r->used[pair - r->options->pairs] = true;
        return join(r, onx_str_of(pair->to), (onx_str){"", 0}, (onx_str){"", 0}, out);
    }
    ONX_TRY(by_pattern(r, name, out, &done));
    if (done || !prefix || !*prefix) return ONX_OK;
    return join(r, onx_str_of(prefix), name, (onx_str){"", 0}, out);
}

static onx_status read_rules(renamer *r) {
    const onx_rename_options *o = r->options;
    r->used = onx_arena_array(&r->arena, o->n_pairs + 1, sizeof *r->used);
    if (!r->used) return onx_fail_nomem(r->diag);
    for (size_t i = 0; i < o->n_pairs; i++) {
        const onx_name_pair *pair = &o->pairs[i];
        if (!pair->from || !*pair->from || !pair->to || !*pair->to)
            return onx_fail(r->diag, ONX_USAGE, "a name that is changed, or becomes one, is empty");
        if (onx_map_get(&r->pairs, NULL, onx_str_of(pair->from)))
            return onx_fail(r->diag, ONX_USAGE, "there are two new names for '%.200s'", pair->from);
        if (!onx_map_put(&r->pairs, NULL, onx_str_of(pair->from), (void *)(uintptr_t)pair))
            return onx_fail_nomem(r->diag);
    }
    return ONX_OK;
}

static onx_status check_used(const renamer *r) {
    for (size_t i = 0; i < r->options->n_pairs; i++)
        if (!r->used[i])
            return onx_fail(r->diag, ONX_NOT_FOUND, "nothing is called '%.200s'",
                            r->options->pairs[i].from);
    return ONX_OK;
}

/* ─ Values ───────────────────────────────────────────────────────────────────────────────────── */

static unsigned kinds_of(const onx_value *value) {
    bool top = value->graph == value->graph->model->graph;
    unsigned kinds = value->init ? ONX_NAMES_INITIALIZERS : 0;
    if (top && onx_value_is_input(value)) kinds |= ONX_NAMES_INPUTS;
    if (top && onx_value_is_output(value)) kinds |= ONX_NAMES_OUTPUTS;
    return kinds ? kinds : ONX_NAMES_VALUES;
}

static onx_status change_value(renamer *r, onx_value *value) {
    onx_str name;
    if (value->dead || !(kinds_of(value) & r->what) ||
        onx_value_find(value->graph, value->name) != value)
        return ONX_OK;
    ONX_TRY(new_name(r, value->name, &name));
    if (onx_str_eq(name, value->name)) return ONX_OK;
    if (!onx_arena_grow(&r->arena, &r->values, &r->values_cap, r->n_values, sizeof *r->values))
        return onx_fail_nomem(r->diag);
    r->values[r->n_values++] = (onx_new_name){value, name};
    return ONX_OK;
}

/* ─ Nodes, graphs, functions ─────────────────────────────────────────────────────────────────── */

static onx_status change_text(renamer *r, void *msg, const onx_field *row, onx_str text) {
    if (onx_str_eq(text, *(const onx_str *)onx_field_ptr(msg, row))) return ONX_OK;
    if (!onx_arena_grow(&r->arena, &r->texts, &r->texts_cap, r->n_texts, sizeof *r->texts))
        return onx_fail_nomem(r->diag);
    r->texts[r->n_texts++] = (text_edit){msg, row, text};
    return ONX_OK;
}

static onx_status rename_text(renamer *r, void *msg, const onx_field *row) {
    onx_str text;
    ONX_TRY(new_name(r, *(const onx_str *)onx_field_ptr(msg, row), &text));
    return change_text(r, msg, row, text);
}

static onx_status change_graph(renamer *r, onx_graph *graph) {
    for (onx_value *v = graph->values; v; v = v->next) ONX_TRY(change_value(r, v));
    if (r->what & ONX_NAMES_GRAPHS) ONX_TRY(rename_text(r, graph, ONX_ROW(graph, name)));
    if (r->what & ONX_NAMES_NODES)
        ONX_EACH (onx_node, node, graph->node) ONX_TRY(rename_text(r, node, ONX_ROW(node, name)));
    return ONX_OK;
}

static onx_status fail_operator(renamer *r, onx_str name, const char *who) {
    onx_fail(r->diag, ONX_CONFLICT, "a function cannot be called '%.*s': %s has that name",
             ONX_FMT(name), who);
    onx_diag_hint(r->diag, "choose another name");
    return ONX_CONFLICT;
}

/* New names of functions, each of which is only one's. */
static onx_status change_functions(renamer *r) {
    ONX_EACH (onx_function, f, r->model->functions) {
        onx_str name;
        ONX_TRY(new_name(r, f->name, &name));
        const onx_function *there = onx_operators_get(&r->after, f->domain, name, f->overload);
        if (there && !onx_str_eq(there->name, f->name))
            return fail_operator(r, name, "another function");
        if (!onx_operators_put(&r->after, f->domain, name, f->overload, f))
            return onx_fail_nomem(r->diag);
        ONX_TRY(change_text(r, f, ONX_ROW(function, name), name));
    }
    return ONX_OK;
}

/* A node that calls a function calls it by its new name; an operator must not become one. */
static onx_status change_call(renamer *r, onx_node *node) {
    const onx_function *f = onx_operators_of(&r->before, node);
    onx_str name;
    if (f) {
        ONX_TRY(new_name(r, f->name, &name));
        return change_text(r, node, ONX_ROW(node, op_type), name);
    }
    return onx_operators_of(&r->after, node) ? fail_operator(r, node->op_type, "an operator in use")
                                             : ONX_OK;
}

static onx_status change_calls(renamer *r) {
    if (!onx_operators_add(&r->before, r->model)) return onx_fail_nomem(r->diag);
    ONX_TRY(change_functions(r));
    for (onx_graph *g = NULL; (g = onx_model_graph_next(r->model, g));)
        for (onx_node *n = onx_graph_node_first(g); n; n = onx_node_next(n))
            ONX_TRY(change_call(r, n));
    return ONX_OK;
}

/* ─ Dimensions ───────────────────────────────────────────────────────────────────────────────── */

/* Two names must not become one. */
static const onx_sym *new_size(void *user, onx_syms *syms, onx_str name) {
    renamer *r = user;
    onx_str text;
    if (r->failed || new_name(r, name, &text)) {
        r->failed = true;
        return NULL;
    }
    const char *old = onx_map_get(&r->taken, NULL, text);
    onx_str copy;
    if (!old) {
        if (!onx_doc_str(r->model->msg.doc, name, &copy) ||
            !onx_map_put(&r->taken, NULL, text, (void *)(uintptr_t)copy.data))
            r->failed = true;
    } else if (!onx_str_is(name, old)) {
        onx_fail(r->diag, ONX_CONFLICT, "the dimensions '%.100s' and '%.*s' would both be '%.*s'",
                 old, ONX_FMT(name), ONX_FMT(text));
        onx_diag_hint(r->diag, "choose a name that no other dimension has");
        r->failed = true;
    }
    return onx_sym_name(syms, text);
}

static onx_status change_dims(renamer *r) {
    r->diag->status = ONX_OK; /* it tells a conflict from a lack of memory */
    ONX_TRY(onx_dim_edits_replace(&r->dims, r->model, new_size, r, r->diag));
    if (!r->failed) return ONX_OK;
    return r->diag->status ? r->diag->status : onx_fail_nomem(r->diag);
}

/* ─ All of it ────────────────────────────────────────────────────────────────────────────────── */

static onx_status prepare(renamer *r) {
    ONX_TRY(onx_dim_edits_init(&r->dims, r->model, r->diag));
    ONX_TRY(read_rules(r));
    for (onx_graph *g = NULL; (g = onx_model_graph_next(r->model, g)) && !g->function;)
        ONX_TRY(change_graph(r, g));
    if (r->what & ONX_NAMES_FUNCTIONS) ONX_TRY(change_calls(r));
    if (r->what & ONX_NAMES_DIMS) ONX_TRY(change_dims(r));
    return check_used(r);
}

static void write_texts(renamer *r) {
    for (size_t i = 0; i < r->n_texts; i++) {
        const text_edit *t = &r->texts[i];
        *(onx_str *)onx_field_ptr(t->msg, t->row) = t->text;
        onx_msg_set_has(t->msg, t->row);
        onx_msg_touch(t->msg);
    }
}

static onx_status apply(renamer *r) {
    ONX_TRY(prepare(r));
    ONX_TRY(onx_names_apply(r->model, r->n_values, r->values, r->diag));
    write_texts(r);
    onx_dim_edits_swap(&r->dims);
    return ONX_OK;
}

onx_status onx_model_rename(onx_model *model, const onx_rename_options *options, onx_diag *diag) {
    onx_rename_options o;
    ONX_TRY(ONX_OPTIONS(&o, options, diag));
    if (!model) return onx_fail(diag, ONX_USAGE, "onx_model_rename needs a model");
    if (o.n_pairs && !o.pairs) return onx_fail(diag, ONX_USAGE, "the names are missing");
    onx_diag own = ONX_INIT(onx_diag);
    renamer r = {.model = model, .options = &o, .diag = diag ? diag : &own};
    r.what = o.what ? o.what : ONX_NAMES_ALL_VALUES;
    onx_context *ctx = model->msg.doc->ctx;
    onx_arena_init(&r.arena, ctx);
    onx_map_init(&r.pairs, ctx);
    onx_map_init(&r.taken, ctx);
    onx_operators_init(&r.before, ctx);
    onx_operators_init(&r.after, ctx);
    onx_status status = apply(&r);
    onx_dim_edits_fini(&r.dims);
    onx_operators_fini(&r.after);
    onx_operators_fini(&r.before);
    onx_map_fini(&r.taken);
    onx_map_fini(&r.pairs);
    onx_arena_fini(&r.arena);
    return status;
}
