/* code.c: a model as the program that builds it: the way through the model. See code.h. */
#include "text/code.h"

#include "base/options.h"

#include <stdio.h>

static const onx_str no_name = {NULL, 0};

static bool is_odd(const onx_code *code, const void *msg) {
    return onx_map_get(&code->odd, msg, no_name) != NULL;
}

/* ── Parts of a graph ────────────────────────────────────────────────────────────────────────── */

enum {
    PART_MOST = 64,  /* statements' worth of initializers or nodes in one function */
    PART_LEAST = 8,  /* nodes before a new module begins a new function */
    GRAPH_SMALL = 40 /* a graph with no more of them is not cut */
};

/* Statements go to a function of its own until part_end. */
static const char *part_begin(onx_code *code, const onx_graph *graph, onx_str hint) {
    char text[300];
    const char *name = onx_graph_name(graph);
    int n = snprintf(text, sizeof text, "%.100s %.*s", name, ONX_FMT(hint));
    const char *ident = onx_code_ident(code, (onx_str){text, n > 0 ? (size_t)n : 0});
    code->to = &code->functions;
    code->lang->begin(code, ident ? ident : "");
    return ident;
}

static void part_end(onx_code *code, const char *ident) {
    code->lang->end(code);
    code->to = &code->body;
    code->lang->call(code, ident ? ident : "");
}

static void put_initializers(onx_code *code, const onx_graph *graph) {
    bool cut = graph->initializer.count > PART_MOST;
    const char *part = NULL;
    size_t n = 0;
    ONX_EACH (onx_tensor, tensor, graph->initializer) {
        if (cut && n % PART_MOST == 0) part = part_begin(code, graph, ONX_LIT("weights"));
        code->lang->tensor(code, tensor);
        n++;
        if (cut && (n % PART_MOST == 0 || n == graph->initializer.count)) part_end(code, part);
        if (code->status) return;
    }
    ONX_EACH (onx_sparse, sparse, graph->sparse_initializer)
        code->lang->message(code, &sparse->msg);
}

/* The first module that is named from `node` on, in as many nodes as a part can have. */
static onx_str module_from(const onx_node *node) {
    onx_str module = {"", 0};
    for (size_t i = 0; node && !module.size && i < PART_MOST; i++) {
        module = onx_code_module(node);
        node = (const onx_node *)node->msg.next;
    }
    return module;
}

/* Nodes that do not tell their module stay with those before them. */
static bool is_other(const onx_node *node, onx_str module) {
    onx_str own = onx_code_module(node);
    return own.size && !onx_str_eq(own, module);
}

static void put_nodes(onx_code *code, const onx_graph *graph) {
    bool cut = graph->node.count > GRAPH_SMALL;
    const char *part = NULL;
    onx_str module = {"", 0};
    size_t n = 0; /* in this part */
    ONX_EACH (onx_node, node, graph->node) {
        const onx_node *next = (const onx_node *)node->msg.next;
        if (cut && !n) {
            module = module_from(node);
            part = part_begin(code, graph, module.size ? module : ONX_LIT("nodes"));
        }
        code->lang->node(code, node);
        n++;
        bool full = n == PART_MOST || !next || (n >= PART_LEAST && is_other(next, module));
        if (cut && full) part_end(code, part), n = 0;
        if (code->status) return;
    }
}

static void put_graph(onx_code *code, const onx_graph *graph) {
    const onx_list *entries =
        graph->function ? &graph->function->metadata_props : &graph->metadata_props;
    code->body.size = 0;
    code->to = &code->body;
    code->declared = false;
    code->lang->graph(code, graph);
    for (size_t i = 0; i < graph->ins.n; i++) code->lang->input(code, graph, i);
    put_initializers(code, graph);
    put_nodes(code, graph);
    code->lang->infos(code, graph);
    for (size_t i = 0; i < graph->outs.n; i++) code->lang->output(code, graph, i);
    ONX_EACH (onx_annotation, a, graph->quantization_annotation) code->lang->message(code, &a->msg);
    ONX_EACH (onx_entry, e, *entries) code->lang->entry(code, graph, e);
    if (!code->body.size) onx_code_puts(code, code->lang->nothing);
    code->to = &code->functions;
    code->lang->begin(code, onx_code_graph_ident(code, graph));
    onx_buf_put(&code->functions, code->body.data, code->body.size);
    code->lang->end(code);
    if (code->functions.failed || code->body.failed) onx_code_no_memory(code);
}

/* ── All graphs ──────────────────────────────────────────────────────────────────────────────── */

typedef struct graphs {
    const onx_graph **v;
    size_t n, cap;
} graphs;

/* A graph, after those around it; it gets a name for its function. */
static bool add_graph(onx_code *code, graphs *all, const onx_graph *graph) {
    onx_str hint = onx_str_of(onx_graph_name(graph));
    const onx_msg *holder = graph->msg.parent;
    if (!hint.size && holder && holder->desc == &onx_desc_attr)
        hint = ((const onx_attr *)holder)->name;
    const char *ident = onx_code_ident(code, hint);
    if (!ident || !onx_map_put(&code->idents, graph, no_name, (void *)(uintptr_t)ident) ||
        !onx_arena_grow(&code->arena, &all->v, &all->cap, all->n, sizeof *all->v))
        return false;
    all->v[all->n++] = graph;
    return true;
}

/* The graphs below a graph or function, but for those in messages that are written as text. */
static bool add_graphs(onx_code *code, graphs *all, const void *root) {
    const onx_msg *msg;
    for (onx_walk w = onx_walk_begin(root); (msg = onx_walk_next(&w));) {
        if (is_odd(code, msg) || msg->desc == &onx_desc_tensor || msg->desc == &onx_desc_type)
            onx_walk_skip(&w);
        else if (msg->desc == &onx_desc_graph && !add_graph(code, all, (const onx_graph *)msg))
            return false;
    }
    return true;
}

static bool find_graphs(onx_code *code, graphs *all) {
    if (!add_graphs(code, all, code->model->graph)) return false;
    ONX_EACH (onx_function, f, code->model->functions) {
        if (is_odd(code, f)) continue;
        if (!add_graph(code, all, &f->body) || !add_graphs(code, all, f)) return false;
    }
    return true;
}

/* Graphs inside come before those around them: that is the order of the program. */
static void put_all(onx_code *code) {
    graphs all = {0};
    onx_code_ident(code, ONX_LIT("model")); /* it is for the languages */
    if (!code->lang->plan(code) || !find_graphs(code, &all)) onx_code_no_memory(code);
    for (size_t i = all.n; i-- && !code->status;) put_graph(code, all.v[i]);
    if (code->status) return;
    code->body.size = 0;
    code->to = &code->body;
    code->lang->tail(code);
}

/* ── The whole ───────────────────────────────────────────────────────────────────────────────── */

static onx_status put_program(onx_code *code, const onx_writer *writer, onx_diag *diag) {
    onx_buf top;
    onx_buf_init(&top, code->ctx);
    put_all(code);
    code->to = &top;
    if (!code->status) code->lang->head(code);
    if (top.failed || code->functions.failed || code->body.failed || code->scratch.failed)
        onx_code_no_memory(code);
    onx_status status = code->status;
    const onx_buf *const parts[] = {&top, &code->functions, &code->body};
    for (size_t i = 0; i < ONX_COUNT(parts) && !status; i++)
        status = onx_write_all(writer, parts[i]->data, parts[i]->size, diag);
    onx_buf_fini(&top);
    return status;
}

onx_status onx_model_code(const onx_model *model, const onx_code_options *options,
                          const onx_writer *writer, const onx_writer *weights, onx_diag *diag) {
    static const onx_code_lang *const langs[] = {&onx_code_lang_c, &onx_code_lang_python};
    onx_code code = {.model = model, .weights = weights};
    onx_diag own = ONX_INIT(onx_diag);
    if (!model || !writer || !writer->write || (weights && !weights->write))
        return onx_fail(diag, ONX_USAGE, "a model and a writer are needed");
    ONX_TRY(ONX_OPTIONS(&code.options, options, diag));
    if ((size_t)code.options.language >= ONX_COUNT(langs))
        return onx_fail(diag, ONX_USAGE, "there is no such language");
    if (!model->graph) return onx_fail(diag, ONX_UNSUPPORTED, "the model has no graph");
    if (!code.options.weights) code.options.weights = "model.weights";
    code.ctx = model->msg.doc->ctx;
    code.lang = langs[code.options.language];
    code.diag = diag ? diag : &own;
    onx_arena_init(&code.arena, code.ctx);
    onx_buf *const bufs[] = {&code.functions, &code.body, &code.scratch};
    onx_map *const maps[] = {&code.idents, &code.odd, &code.names};
    for (size_t i = 0; i < ONX_COUNT(bufs); i++) onx_buf_init(bufs[i], code.ctx);
    for (size_t i = 0; i < ONX_COUNT(maps); i++) onx_map_init(maps[i], code.ctx);
    onx_status status = put_program(&code, writer, diag);
    for (size_t i = 0; i < ONX_COUNT(bufs); i++) onx_buf_fini(bufs[i]);
    for (size_t i = 0; i < ONX_COUNT(maps); i++) onx_map_fini(maps[i]);
    onx_arena_fini(&code.arena);
    return status;
}
