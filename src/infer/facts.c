/* facts.c: the walk through the graphs of a model that finds the facts about its values.
 *
 * Linear in the size of the model, but for graphs inside loops, which are gone through
 * ONX_INFER_RUNS times at most. The depth of the C stack is that of graphs inside each other, at
 * most ONX_INFER_DEPTH. */
#include "infer/infer_internal.h"

static const onx_str no_name = {NULL, 0};

static onx_fact *find(const onx_facts *facts, const onx_value *value) {
    return value ? onx_map_get(&facts->facts, value, no_name) : NULL;
}

const onx_fact *onx_facts_of(const onx_facts *facts, const onx_value *value) {
    const onx_fact *fact = find(facts, value);
    return fact ? fact : &onx_fact_none;
}

onx_syms *onx_facts_syms(const onx_facts *facts) {
    return facts->syms;
}

static onx_status put(onx_facts *facts, const onx_value *value, const onx_fact *fact) {
    onx_fact *slot = find(facts, value);
    if (!slot) {
        slot = onx_arena_alloc(&facts->arena, sizeof *slot);
        if (!slot || !onx_map_put(&facts->facts, value, no_name, slot)) return ONX_NO_MEMORY;
    }
    *slot = *fact;
    return ONX_OK;
}

/* ── What is wrong ───────────────────────────────────────────────────────────────────────────── */

void onx_facts_ignore(void *user, const onx_node *node, const onx_value *value,
                      const onx_diag *diag) {
    (void)user, (void)node, (void)value, (void)diag;
}

static bool is_of_model(const onx_facts *facts, const onx_graph *graph) {
    return graph->model == facts->model;
}

static void tell(const onx_facts *facts, const onx_node *node, const onx_value *value,
                 const onx_diag *diag) {
    if (!is_of_model(facts, node ? node->graph : value->graph)) node = facts->at, value = NULL;
    facts->options.report(facts->options.user, node, value, diag);
}

/* ── Declared types ──────────────────────────────────────────────────────────────────────────── */

static onx_str place_of(const onx_value *value) {
    return value->def && value->def->name.size ? value->def->name : value->name;
}

static void report_type(const onx_facts *facts, const onx_value *value, const onx_fact *fact,
                        const onx_fact *declared) {
    if (!facts->options.report) return;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf a, b;
    onx_buf_init(&a, facts->ctx);
    onx_buf_init(&b, facts->ctx);
    onx_fact_print(declared, &a);
    onx_fact_print(fact, &b);
    onx_fail(&diag, ONX_INVALID, "'%.*s' is declared as %.*s, but is %.*s", ONX_FMT(value->name),
             ONX_FMT(((onx_str){a.data, a.size})), ONX_FMT(((onx_str){b.data, b.size})));
    onx_diag_place(&diag, "graph '%.100s', %s '%.*s'", onx_graph_name(value->graph),
                   value->def ? "node" : "input", ONX_FMT(place_of(value)));
    onx_diag_hint(&diag, "%s",
                  value->input    ? "declare what the node around the graph gives it"
                  : value->output ? "declare the output as it is, or change what computes it"
                                  : "drop the declared type, or write the inferred one");
    tell(facts, NULL, value, &diag);
    onx_buf_fini(&a);
    onx_buf_fini(&b);
}

/* What is declared about a value, as far as it is believed: of inputs of the model all, for those
 * are checked when it runs. */
static onx_status declared_of(onx_facts *facts, const onx_value *value, onx_fact *out) {
    ONX_TRY(onx_fact_of_type(facts, onx_value_type(value), out));
    if (!facts->options.sceptical || (value->input && !value->graph->outer)) return ONX_OK;
    for (onx_fact *level = out; level; level = (onx_fact *)(uintptr_t)level->elem)
        *level = (onx_fact){.kind = level->kind, .dtype = level->dtype, .elem = level->elem};
    return ONX_OK;
}

/* Keep `fact`, with what is declared about the value where it leaves something open. */
static onx_status keep(onx_facts *facts, const onx_infer *in, const onx_value *value,
                       onx_fact *fact) {
    onx_fact declared;
    bool agree;
    if (!value) return ONX_OK;
    if (fact->constant && !fact->ranked) ONX_TRY(onx_fact_of_tensor(facts, fact->constant, fact));
    ONX_TRY(declared_of(facts, value, &declared));
    ONX_TRY(onx_fact_merge(facts, fact, &declared, &agree));
    if (!agree) report_type(facts, value, fact, &declared);
    ONX_TRY(onx_fact_complete(facts, in, value, fact));
    return put(facts, value, fact);
}

/* ── Nodes ───────────────────────────────────────────────────────────────────────────────────── */

/* Say where a failure is, and with what inputs. */
static void describe(onx_infer *in) {
    const onx_node *node = in->node;
    onx_str name = node->name.size ? node->name : node->output.n ? node->output.v[0] : node->name;
    onx_diag_place(in->diag, "graph '%.60s', node '%.*s' (%.*s)", onx_graph_name(node->graph),
                   ONX_FMT(name), ONX_FMT(node->op_type));
    if (!in->diag || in->diag->hint[0]) return;
    onx_buf text;
    onx_buf_init(&text, in->facts->ctx);
    for (size_t i = 0; i < in->n_in && text.size < 200; i++) {
        if (i) onx_buf_puts(&text, ", ");
        onx_fact_print(in->ins[i], &text);
    }
    if (!text.failed && text.size)
        onx_diag_hint(in->diag, "its inputs are %.*s", ONX_FMT(((onx_str){text.data, text.size})));
    onx_buf_fini(&text);
}

/* Graphs in attributes that the operator's own inference did not go into. */
static onx_status visit_graphs(onx_infer *in) {
    ONX_EACH (onx_attr, attr, in->node->attribute) {
        if (attr->g && !onx_map_get(&in->facts->graphs, attr->g, no_name))
            ONX_TRY(onx_facts_graph(in->facts, attr->g, 0, NULL, in->diag));
        ONX_EACH (onx_graph, graph, attr->graphs)
            if (!onx_map_get(&in->facts->graphs, graph, no_name))
                ONX_TRY(onx_facts_graph(in->facts, graph, 0, NULL, in->diag));
    }
    return ONX_OK;
}

static bool is_call(const onx_node *node, const onx_function *f) {
    return f && onx_str_eq(onx_domain_plain(f->domain), onx_domain_plain(node->domain)) &&
           onx_str_eq(f->overload, node->overload);
}

/* The function that the node calls; NULL: none. Functions of one name differ by their overloads, or
 * else must be searched. */
static const onx_function *called(const onx_infer *in) {
    const onx_node *node = in->node;
    const onx_map *functions = &in->facts->functions;
    const onx_function *f = onx_map_get(functions, NULL, node->op_type);
    if (!f || is_call(node, f)) return f;
    const onx_function *other = onx_map_get(functions, f, node->overload);
    if (is_call(node, other)) return other;
    return onx_model_function_find(in->facts->model, onx_node_domain(node), onx_node_op(node),
                                   onx_node_overload(node));
}

/* A function of the model, which hides an operator; or the operator's inference, or its body. */
static onx_status ask_callee(onx_infer *in) {
    const onx_function *function = called(in);
    in->op = function ? NULL : onx_op_recall(&in->facts->rows, in->node);
    if (function) return onx_infer_call(in, function);
    if (in->op && in->op->infer) return in->op->infer(in);
    return onx_op_has_body(in->op) ? onx_infer_body(in) : ONX_OK;
}

static onx_status ask(onx_infer *in) {
    onx_status status = ask_callee(in);
    if (!status) return ONX_OK;
    memset(in->outs, 0, in->n_out * sizeof *in->outs);
    if (status == ONX_NO_MEMORY) return onx_fail_nomem(in->diag);
    if (in->diag && !in->diag->place[0]) describe(in);
    onx_str mistake =
        onx_str_of(in->diag && in->diag->message[0] ? in->diag->message : "it is wrong");
    if (!onx_arena_str(&in->facts->arena, mistake, &mistake)) return onx_fail_nomem(in->diag);
    in->mistake = mistake.data;
    if (!in->facts->options.report || status == ONX_LIMIT) return status;
    if (in->diag) tell(in->facts, in->node, NULL, in->diag);
    return ONX_OK;
}

static onx_status infer_node(onx_facts *facts, const onx_node *node, onx_diag *diag) {
    size_t n_in = node->input.n, n_out = node->output.n;
    onx_infer in = {.facts = facts, .node = node, .n_in = n_in, .n_out = n_out};
    in.diag = facts->options.report ? &facts->heard : diag; /* what is reported is no failure */
    facts->heard = ONX_INIT(onx_diag);
    in.ins = onx_arena_array(&facts->arena, n_in + 1, sizeof *in.ins);
    in.outs = onx_arena_array(&facts->arena, n_out + 1, sizeof *in.outs);
    if (!in.ins || !in.outs) return onx_fail_nomem(diag);
    if (is_of_model(facts, node->graph)) facts->at = node;
    for (size_t i = 0; i < n_in; i++) in.ins[i] = onx_facts_of(facts, onx_node_input(node, i));
    onx_status status = ask(&in);
    if (!status) status = visit_graphs(&in);
    if (status && diag && diag != in.diag) *diag = *in.diag;
    for (size_t i = 0; i < n_out && !status; i++)
        if (keep(facts, &in, onx_node_output(node, i), &in.outs[i])) status = onx_fail_nomem(diag);
    if (!status && facts->options.inside && !is_of_model(facts, node->graph))
        facts->options.inside(facts->options.user, facts, node, facts->at);
    return status;
}

onx_status onx_facts_update(onx_facts *facts, const onx_node *node, onx_diag *diag) {
    facts->depth = 0;
    ONX_TRY(infer_node(facts, node, diag));
    return (facts->failed || onx_syms_failed(facts->syms)) ? onx_fail_nomem(diag) : ONX_OK;
}

/* ── Graphs ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status set_inputs(onx_facts *facts, const onx_graph *graph, size_t n_in,
                             const onx_fact *const *ins) {
    for (size_t i = 0; i < graph->ins.n; i++) {
        onx_fact fact = i < n_in && ins[i] ? *ins[i] : onx_fact_none;
        ONX_TRY(keep(facts, NULL, graph->ins.v[i]->value, &fact));
    }
    return ONX_OK;
}

onx_status onx_facts_add(onx_facts *facts, const onx_value *value, const onx_fact *fact,
                         onx_diag *diag) {
    onx_fact known = fact ? *fact : onx_fact_none;
    onx_status status =
        value->init && !value->input ? onx_fact_of_tensor(facts, value->init, &known) : ONX_OK;
    return status || keep(facts, NULL, value, &known) ? onx_fail_nomem(diag) : ONX_OK;
}

/* Can nobody give it another value? Before IR version 4, all initializers had to be inputs. */
static bool is_constant(const onx_facts *facts, const onx_value *value) {
    return !value->input || facts->options.defaults ||
           (facts->model->ir_version < 4 && !value->graph->outer);
}

/* Written out, it is a tensor of these sizes. */
static onx_status fact_of_sparse(onx_facts *facts, const onx_sparse *sparse, onx_fact *out) {
    size_t rank = sparse->dims.n;
    const onx_sym **dims = onx_arena_array(&facts->arena, rank + 1, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < rank; i++)
        if (sparse->dims.v[i] >= 0) dims[i] = onx_sym_int(facts->syms, sparse->dims.v[i]);
    *out = (onx_fact){.kind = ONX_TYPE_TENSOR,
                      .dtype = onx_tensor_dtype(sparse->values),
                      .ranked = true,
                      .rank = rank,
                      .dims = dims};
    return ONX_OK;
}

static onx_status set_initializers(onx_facts *facts, const onx_graph *graph) {
    onx_fact fact;
    ONX_EACH (onx_tensor, tensor, graph->initializer) {
        const onx_value *value = tensor->ref ? tensor->ref->value : NULL;
        if (!value || value->init != tensor) continue;
        if (is_constant(facts, value))
            ONX_TRY(onx_fact_of_tensor(facts, tensor, &fact));
        else if (onx_facts_of(facts, value)->kind)
            continue;
        else
            fact = (onx_fact){.kind = ONX_TYPE_TENSOR, .dtype = onx_tensor_dtype(tensor)};
        ONX_TRY(put(facts, value, &fact));
    }
    ONX_EACH (onx_sparse, sparse, graph->sparse_initializer) {
        const onx_tensor *values = sparse->values;
        const onx_value *value = values && values->ref ? values->ref->value : NULL;
        if (!value || value->sparse != sparse) continue;
        ONX_TRY(fact_of_sparse(facts, sparse, &fact));
        ONX_TRY(keep(facts, NULL, value, &fact));
    }
    return ONX_OK;
}

/* Count one more walk through a graph. */
static onx_status enter(onx_facts *facts, const onx_graph *graph, onx_diag *diag) {
    size_t *runs = onx_map_get(&facts->graphs, graph, no_name);
    if (!runs) {
        runs = onx_arena_alloc(&facts->arena, sizeof *runs);
        if (!runs || !onx_map_put(&facts->graphs, graph, no_name, runs))
            return onx_fail_nomem(diag);
    }
    if (facts->depth >= ONX_INFER_DEPTH || *runs >= ONX_INFER_RUNS)
        return onx_fail(diag, ONX_LIMIT, "graphs are nested too deep: '%.200s' is %u deep",
                        onx_graph_name(graph), (unsigned)facts->depth);
    ++*runs;
    return ONX_OK;
}

onx_status onx_facts_graph(onx_facts *facts, const onx_graph *graph, size_t n_in,
                           const onx_fact *const *ins, onx_diag *diag) {
    ONX_TRY(enter(facts, graph, diag));
    if (set_inputs(facts, graph, n_in, ins) || set_initializers(facts, graph))
        return onx_fail_nomem(diag);
    onx_status status = ONX_OK;
    facts->depth++;
    ONX_EACH (onx_node, node, graph->node) {
        status = infer_node(facts, node, diag);
        if (status) break;
    }
    facts->depth--;
    return status;
}

/* ── The whole ───────────────────────────────────────────────────────────────────────────────── */

static bool copy_options(onx_facts *facts, const onx_facts_options *options) {
    if (!options) return true;
    facts->options = *options;
    onx_size *sizes = onx_arena_array(&facts->arena, options->n_sizes + 1, sizeof *sizes);
    facts->options.sizes = sizes;
    for (size_t i = 0; sizes && i < options->n_sizes; i++) {
        onx_str name;
        if (!onx_arena_str(&facts->arena, onx_str_of(options->sizes[i].name), &name)) return false;
        sizes[i] = (onx_size){name.data, options->sizes[i].value};
    }
    return sizes != NULL;
}

/* By its name or, if another has that, beside it by its overload; the first one counts. */
static bool list_function(onx_map *functions, onx_function *f) {
    const onx_function *first = onx_map_get(functions, NULL, f->name);
    onx_str key = first ? f->overload : f->name;
    return (first && onx_map_get(functions, first, key)) || onx_map_put(functions, first, key, f);
}

static bool prepare(onx_facts *facts, const onx_facts_options *options) {
    facts->syms = onx_syms_new(facts->ctx);
    if (!facts->syms || !copy_options(facts, options)) return false;
    ONX_EACH (onx_function, f, facts->model->functions)
        if (!list_function(&facts->functions, f)) return false;
    return true;
}

onx_status onx_facts_new(const onx_model *model, const onx_facts_options *options, onx_facts **out,
                         onx_diag *diag) {
    onx_context *ctx = model->msg.doc->ctx;
    onx_facts *facts = onx_mem_alloc(ctx, sizeof *facts);
    if (!facts) return onx_fail_nomem(diag);
    *facts = (onx_facts){.ctx = ctx, .model = model};
    onx_arena_init(&facts->arena, ctx);
    onx_map *maps[] = {&facts->facts, &facts->graphs,  &facts->functions,
                       &facts->rows,  &facts->unknown, &facts->losses};
    for (size_t i = 0; i < ONX_COUNT(maps); i++) onx_map_init(maps[i], ctx);
    onx_status status = prepare(facts, options) ? ONX_OK : onx_fail_nomem(diag);
    if (!status && model->graph) status = onx_facts_graph(facts, model->graph, 0, NULL, diag);
    if (!status && (facts->failed || onx_syms_failed(facts->syms))) status = onx_fail_nomem(diag);
    if (status)
        onx_facts_free(facts);
    else
        *out = facts;
    return status;
}

void onx_facts_free(onx_facts *facts) {
    if (!facts) return;
    onx_map *maps[] = {&facts->facts, &facts->graphs,  &facts->functions,
                       &facts->rows,  &facts->unknown, &facts->losses};
    for (size_t i = 0; i < ONX_COUNT(maps); i++) onx_map_fini(maps[i]);
    onx_callees_free(facts);
    onx_syms_free(facts->syms);
    onx_arena_fini(&facts->arena);
    onx_mem_free(facts->ctx, facts, sizeof *facts);
}
