/* check_graph.c: names in graphs: what is defined, once, before it is used.
 *
 * The walk enters a node before the graphs inside it and leaves it after them: only then are its
 * results there. Names that are there stand in a map, (graph, name) to what defines them:
 *
 *     enter graph    its inputs and initializers are there
 *     enter node     what it uses must be there, in its graph or one around it
 *     leave node     its results must not be there yet, and are from now on */
#include "check/checker.h"
#include "ir/edit.h"

/* How a name is defined: the address counts. */
static const char by_input, by_initializer, by_node;

static void define(onx_checker *c, const onx_graph *graph, onx_str name, const char *how) {
    if (!onx_map_put(&c->names, graph, name, (void *)(uintptr_t)how)) c->no_memory = true;
}

/* Is the name there, seen from inside a graph? In which graph? */
static const onx_graph *find(const onx_checker *c, const onx_graph *graph, onx_str name) {
    while (graph && !onx_map_get(&c->names, graph, name)) graph = graph->outer;
    return graph;
}

/* ── Graphs ──────────────────────────────────────────────────────────────────────────────────── */

static void check_hiding(onx_checker *c, const onx_graph *graph, const void *msg, onx_str name) {
    if (name.size && graph->outer && find(c, graph->outer, name))
        onx_check_tell(c, ONX_RULE_VALUE_HIDES, msg, "rename one of the two",
                       "'%.*s' is also the name of a value around the graph", ONX_FMT(name));
}

static void check_inputs(onx_checker *c, const onx_graph *graph) {
    ONX_EACH (onx_value_info, info, graph->input) {
        if (!info->name.size)
            onx_check_tell(c, ONX_RULE_VALUE_NAME, info, NULL, "an input has no name");
        else if (onx_map_get(&c->names, graph, info->name))
            onx_check_tell(c, ONX_RULE_DUPLICATE_INPUT, info, "rename one of the two",
                           "there are two inputs '%.*s'", ONX_FMT(info->name));
        check_hiding(c, graph, info, info->name);
        define(c, graph, info->name, &by_input);
    }
}

/* What is declared is true of the tensor. */
static bool fits(const onx_type *type, const onx_tensor *t) {
    onx_type_kind kind = onx_type_kind_of(type);
    if (kind == ONX_TYPE_NONE) return true;
    onx_dtype dtype = onx_type_dtype(type);
    bool agree = kind == ONX_TYPE_TENSOR && (!dtype || (int32_t)dtype == t->data_type);
    bool ranked = onx_type_has_shape(type);
    if (ranked && onx_type_rank(type) != t->dims.n) agree = false;
    for (size_t i = 0; agree && ranked && i < t->dims.n; i++)
        agree = onx_type_dim(type, i) < 0 || onx_type_dim(type, i) == t->dims.v[i];
    return agree;
}

/* Two declared types can both be true. */
static bool agree(const onx_type *a, const onx_type *b) {
    onx_type_kind kind = onx_type_kind_of(a);
    if (kind == ONX_TYPE_NONE || onx_type_kind_of(b) == ONX_TYPE_NONE) return true;
    if (kind != onx_type_kind_of(b)) return false;
    if (kind != ONX_TYPE_TENSOR) return true;
    onx_dtype x = onx_type_dtype(a), y = onx_type_dtype(b);
    if (x && y && x != y) return false;
    if (!onx_type_has_shape(a) || !onx_type_has_shape(b)) return true;
    if (onx_type_rank(a) != onx_type_rank(b)) return false;
    for (size_t i = 0; i < onx_type_rank(a); i++) {
        int64_t m = onx_type_dim(a, i), n = onx_type_dim(b, i);
        if (m >= 0 && n >= 0 && m != n) return false;
    }
    return true;
}

/* An input that has a default: what is declared about it is true of the default. */
static void check_default(onx_checker *c, const onx_tensor *t) {
    const onx_value *value = t->ref ? t->ref->value : NULL;
    if (value && value->input && !value->sparse && !fits(value->input->type, t))
        onx_check_tell(c, ONX_RULE_INITIALIZER_TYPE, t, "correct the type of the input",
                       "the initializer '%.*s' is not of the type that the input has",
                       ONX_FMT(t->name));
}

/* An output that no node computes is what the input or initializer is. */
static void check_passed(onx_checker *c, const onx_value *value, const onx_value_info *info) {
    bool wrong = value->input ? !agree(info->type, value->input->type)
                              : value->init && !value->sparse && !fits(info->type, value->init);
    if (c->options.full && wrong)
        onx_check_tell(c, ONX_RULE_INFER_TYPE, info, "declare the output as it is",
                       "the output '%.*s' is declared with another type than that of the %s",
                       ONX_FMT(info->name), value->input ? "input" : "initializer");
}

static void check_initializer(onx_checker *c, const onx_graph *graph, const onx_tensor *t) {
    const char *how = onx_map_get(&c->names, graph, t->name);
    if (!t->name.size)
        onx_check_tell(c, ONX_RULE_VALUE_NAME, t, NULL, "an initializer has no name");
    else if (how == &by_initializer)
        onx_check_tell(c, ONX_RULE_DUPLICATE_INITIALIZER, t, "rename one of the two",
                       "there are two initializers '%.*s'", ONX_FMT(t->name));
    else if (how && graph->outer && c->model->ir_version > 3)
        onx_check_tell(c, ONX_RULE_SUBGRAPH_DEFAULT, t, "rename the initializer",
                       "'%.*s' is an input of a nested graph, and an initializer of it",
                       ONX_FMT(t->name));
    else if (!how && c->model->ir_version >= 1 && c->model->ir_version < 4 &&
             t->msg.parent == &graph->msg)
        onx_check_tell(c, ONX_RULE_IR_FEATURE, t, "make it an input, or set ir_version to 4",
                       "the initializer '%.*s' is not an input: IR version 4 came with that",
                       ONX_FMT(t->name));
    if (!how) check_hiding(c, graph, t, t->name);
    if (how == &by_input) check_default(c, t);
    define(c, graph, t->name, &by_initializer);
}

static void check_initializers(onx_checker *c, const onx_graph *graph) {
    ONX_EACH (onx_tensor, t, graph->initializer) check_initializer(c, graph, t);
    ONX_EACH (onx_sparse, s, graph->sparse_initializer) {
        onx_check_ir(c, ONX_RULE_IR_FEATURE, s, 6, "sparse initializers");
        if (s->values) check_initializer(c, graph, s->values);
    }
}

/* Outputs are checked by the links: nodes that define them have not been met yet. */
static void check_outputs(onx_checker *c, const onx_graph *graph) {
    size_t i = 0;
    ONX_EACH (onx_value_info, info, graph->output) {
        const onx_value *value = graph->outs.v[i++]->value;
        if (!info->name.size)
            onx_check_tell(c, ONX_RULE_VALUE_NAME, info, NULL, "an output has no name");
        else if (!onx_check_once(c, &c->names, &graph->output, info->name))
            onx_check_tell(c, ONX_RULE_DUPLICATE_OUTPUT, info, NULL, "'%.*s' is an output twice",
                           ONX_FMT(info->name));
        else if (!onx_value_is_defined(value) || value->graph != graph)
            onx_check_tell(c, ONX_RULE_OUTPUT_UNDEFINED, info, "compute it, or remove the output",
                           "nothing defines the output '%.*s'", ONX_FMT(info->name));
        else
            check_passed(c, value, info);
    }
}

/* Of two declarations of a value that contradict each other one is wrong. */
static void check_repeated(onx_checker *c, const onx_value *value, const onx_value_info *info) {
    onx_check_tell(c, ONX_RULE_DUPLICATE_INFO, info, "keep one of the two",
                   "value_info declares '%.*s' twice", ONX_FMT(info->name));
    if (c->options.full && value->info && !agree(info->type, value->info->type))
        onx_check_tell(c, ONX_RULE_INFER_TYPE, info, "keep the one that is right",
                       "value_info declares '%.*s' with two different types", ONX_FMT(info->name));
}

static void check_infos(onx_checker *c, const onx_graph *graph) {
    ONX_EACH (onx_value_info, info, graph->value_info) {
        const onx_value *value = info->ref->value;
        if (!info->name.size)
            onx_check_tell(c, ONX_RULE_VALUE_NAME, info, NULL, "a value_info has no name");
        else if (!onx_check_once(c, &c->names, &graph->value_info, info->name))
            check_repeated(c, value, info);
        else if (!onx_value_is_defined(value) && !value->n_uses)
            onx_check_tell(c, ONX_RULE_INFO_UNKNOWN, info, "remove it",
                           "value_info declares '%.*s', which the graph does not have",
                           ONX_FMT(info->name));
    }
}

static void check_annotations(onx_checker *c, const onx_graph *graph) {
    ONX_EACH (onx_annotation, a, graph->quantization_annotation) {
        onx_check_ir(c, ONX_RULE_IR_TYPE, a, 5, "quantization annotations");
        if (!onx_value_lookup(graph, a->tensor_name))
            onx_check_tell(c, ONX_RULE_QUANT_TENSOR, a, "remove the annotation",
                           "a quantization annotation is about '%.*s', which does not exist",
                           ONX_FMT(a->tensor_name));
        ONX_EACH (onx_entry, e, a->quant_parameter_tensor_names) {
            if (!onx_value_lookup(graph, e->value))
                onx_check_tell(c, ONX_RULE_QUANT_TENSOR, a, "name a tensor of the graph",
                               "the %.*s of '%.*s' is '%.*s', which does not exist",
                               ONX_FMT(e->key), ONX_FMT(a->tensor_name), ONX_FMT(e->value));
            if (!onx_str_is(e->key, "SCALE_TENSOR") && !onx_str_is(e->key, "ZERO_POINT_TENSOR"))
                onx_check_tell(c, ONX_RULE_QUANT_KEY, a, NULL,
                               "the quantization parameter '%.*s' of '%.*s' is not known",
                               ONX_FMT(e->key), ONX_FMT(a->tensor_name));
        }
    }
}

void onx_check_graph(onx_checker *c, const onx_graph *graph) {
    if (!graph->name.size)
        onx_check_tell(c, ONX_RULE_GRAPH_NAME, graph, "give it a name", "the graph has no name");
    check_inputs(c, graph);
    check_initializers(c, graph);
    check_outputs(c, graph);
    check_infos(c, graph);
    check_annotations(c, graph);
    onx_check_metadata(c, &graph->msg, &graph->metadata_props);
}

/* ── Functions ───────────────────────────────────────────────────────────────────────────────── */

/* Names of parameters; inputs are there when the body begins. */
static void check_parameters(onx_checker *c, const onx_function *f, const onx_strs *names,
                             const char *what) {
    for (size_t i = 0; i < names->n; i++) {
        if (!names->v[i].size)
            onx_check_tell(c, ONX_RULE_VALUE_NAME, f, NULL, "%s %zu of the function has no name",
                           what, i);
        else if (!onx_check_once(c, &c->names, names, names->v[i]))
            onx_check_tell(c, ONX_RULE_FUNCTION_PARAMETER, f, "rename one of the two",
                           "the function has two %ss '%.*s'", what, ONX_FMT(names->v[i]));
    }
}

void onx_check_body(onx_checker *c, const onx_function *f) {
    const onx_graph *body = &f->body;
    check_parameters(c, f, &f->input, "input");
    check_parameters(c, f, &f->output, "output");
    for (size_t i = 0; i < f->input.n; i++) define(c, body, f->input.v[i], &by_input);
    for (size_t i = 0; i < f->output.n; i++)
        if (f->output.v[i].size && !onx_value_is_defined(body->outs.v[i]->value))
            onx_check_tell(c, ONX_RULE_OUTPUT_UNDEFINED, f, "compute it, or remove the output",
                           "nothing defines the output '%.*s' of the function",
                           ONX_FMT(f->output.v[i]));
    if (body->value_info.count) onx_check_ir(c, ONX_RULE_IR_TYPE, f, 10, "value_info of functions");
    check_infos(c, body);
}

/* ── Nodes ───────────────────────────────────────────────────────────────────────────────────── */

/* A name that is not there yet: it comes too late, or never. */
static void check_absent(onx_checker *c, const onx_node *node, size_t index) {
    const onx_value *value = onx_node_input(node, index);
    onx_str name = node->input.v[index];
    if (value && onx_value_is_defined(value)) {
        onx_check_tell(c, ONX_RULE_NODE_ORDER, node, "sort the nodes",
                       "input %zu, '%.*s', is the result of a node that comes later", index,
                       ONX_FMT(name));
        if (onx_check_once(c, &c->unsorted, value->graph, (onx_str){NULL, 0}))
            onx_check_cycle(c, value->graph);
    } else {
        onx_check_tell(c, ONX_RULE_VALUE_UNDEFINED, node, "define it, or correct the name",
                       "input %zu, '%.*s', is not defined anywhere", index, ONX_FMT(name));
    }
}

static void check_result(onx_checker *c, const onx_node *node, onx_str name) {
    const onx_graph *graph = find(c, node->graph, name);
    if (graph == node->graph)
        onx_check_tell(c, ONX_RULE_DUPLICATE_VALUE, node, "rename one of the two",
                       "the result '%.*s' is defined before, by %s", ONX_FMT(name),
                       onx_map_get(&c->names, graph, name) == &by_node ? "a node" : "the graph");
    else if (graph)
        onx_check_tell(c, ONX_RULE_VALUE_SHADOW, node, "rename one of the two",
                       "the result '%.*s' has the name of a value around the graph", ONX_FMT(name));
    define(c, node->graph, name, &by_node);
}

/* The node on top is done, and so are the graphs inside it. */
static void leave_node(onx_checker *c) {
    const onx_node *node = c->frames[c->depth - 1].node;
    for (size_t i = 0; node && !c->facts && i < node->output.n; i++)
        if (node->output.v[i].size) check_result(c, node, node->output.v[i]);
}

static void leave_until(onx_checker *c, const onx_graph *graph) {
    while (c->depth && c->frames[c->depth - 1].graph != graph) {
        leave_node(c);
        c->depth--;
    }
}

void onx_check_leave_all(onx_checker *c) {
    leave_until(c, NULL);
}

/* The frames are those of the graphs around the node, innermost last. */
static bool open_frame(onx_checker *c, const onx_node *node) {
    bool first = !node->msg.prev;
    const onx_graph *graph = node->graph;
    leave_until(c, first ? onx_msg_graph(graph->msg.parent) : graph);
    if (!first && c->depth) {
        leave_node(c);
        c->frames[c->depth - 1].node = node;
        c->frames[c->depth - 1].index++;
        return true;
    }
    if (!onx_arena_grow(&c->arena, &c->frames, &c->frames_cap, c->depth, sizeof *c->frames))
        return false;
    c->frames[c->depth++] = (onx_check_frame){graph, node, 0};
    return true;
}

void onx_check_enter_node(onx_checker *c, const onx_node *node) {
    if (!open_frame(c, node)) {
        c->no_memory = true;
        return;
    }
    if (c->facts) return;
    for (size_t i = 0; i < node->input.n; i++)
        if (node->input.v[i].size && !find(c, node->graph, node->input.v[i]))
            check_absent(c, node, i);
    if (node->name.size && !onx_check_once(c, &c->names, &node->graph->node, node->name))
        onx_check_tell(c, ONX_RULE_DUPLICATE_NODE, node, "rename one of the two",
                       "there are two nodes '%.*s' in the graph", ONX_FMT(node->name));
}
