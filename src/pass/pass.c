/* pass.c: running passes: rounds over the list, each pass over the graphs of the model. */
#include "pass/pass.h"

#include "pass/passes.def"

enum { MAX_ROUNDS = 8 }; /* each takes linear time; real models need two or three */

#define ONX_PASS_EXTERN(name) extern onx_pass_fn onx_pass_##name;
ONX_PASSES(ONX_PASS_EXTERN, ONX_PASS_EXTERN)

static const onx_pass passes[] = {
#define ONX_PASS_OUTER(name) {#name, onx_pass_##name, false},
#define ONX_PASS_INNER(name) {#name, onx_pass_##name, true},
    ONX_PASSES(ONX_PASS_OUTER, ONX_PASS_INNER)};

/* The graph after `graph` in the tree below `top`: graphs before those inside them. */
static onx_graph *graph_next(const onx_graph *top, const onx_graph *graph) {
    if (graph->first_sub) return graph->first_sub;
    while (graph != top && !graph->next_sub) graph = graph->outer;
    return graph == top ? NULL : graph->next_sub;
}

/* Twice the weights, and some more. */
static size_t growth_of(const onx_pass_ctx *ctx) {
    const onx_graph *top = ctx->model->graph;
    size_t total = 64 * ctx->fold_bytes, bytes;
    for (const onx_graph *g = top; g; g = graph_next(top, g))
        ONX_EACH (onx_tensor, t, g->initializer)
            if (!onx_tensor_bytes(t, &bytes, NULL) && bytes < SIZE_MAX / 4 - total / 2)
                total += 2 * bytes;
    return total;
}

onx_status onx_pass_begin(onx_pass_ctx *ctx) {
    onx_context *memory = ctx->model->msg.doc->ctx;
    onx_arena_init(&ctx->arena, memory);
    onx_map_init(&ctx->inherits, memory);
    ctx->changes = 0;
    if (!ctx->fold_bytes) ctx->fold_bytes = (size_t)1 << 20;
    ctx->growth = growth_of(ctx);
    onx_graph *top = ctx->model->graph;
    for (onx_graph *g = top; g; g = graph_next(top, g)) ONX_TRY(onx_graph_sort(g, ctx->diag));
    return ONX_OK;
}

void onx_pass_end(onx_pass_ctx *ctx) {
    onx_map_fini(&ctx->inherits);
    onx_arena_fini(&ctx->arena);
}

/* A pass may remove graphs, with the nodes that hold them: so they are listed first, and those that
 * have left the tree are passed over. */
onx_status onx_pass_apply(onx_pass_ctx *ctx, const onx_pass *pass) {
    onx_graph *top = ctx->model->graph, **graphs;
    size_t n = 0, i = 0;
    for (const onx_graph *g = top; g; g = graph_next(top, g)) n++;
    graphs = onx_arena_array(&ctx->arena, n, sizeof(onx_graph *));
    if (!graphs) return onx_fail_nomem(ctx->diag);
    for (onx_graph *g = top; g; g = graph_next(top, g)) graphs[i++] = g;
    for (i = 0; i < n; i++) {
        onx_graph *graph = graphs[pass->inner_first ? n - 1 - i : i];
        if (graph == top || graph->outer) ONX_TRY(pass->run(ctx, graph));
    }
    return ONX_OK;
}

static onx_status refresh(onx_pass_ctx *ctx) {
    onx_facts *facts;
    if (!ctx->facts) return ONX_OK;
    ONX_TRY(onx_facts_new(ctx->model, ctx->infer, &facts, ctx->diag));
    onx_facts_free(ctx->facts);
    ctx->facts = facts;
    return ONX_OK;
}

static onx_status run_rounds(onx_pass_ctx *ctx) {
    for (int round = 0; round < MAX_ROUNDS; round++) {
        size_t before = ctx->changes;
        for (size_t i = 0; i < ONX_COUNT(passes); i++) ONX_TRY(onx_pass_apply(ctx, &passes[i]));
        if (ctx->changes == before) break;
        ONX_TRY(refresh(ctx));
    }
    return ONX_OK;
}

static onx_status run_one(onx_pass_ctx *ctx, const onx_pass *pass) {
    onx_status status = onx_pass_begin(ctx);
    if (!status) status = pass ? onx_pass_apply(ctx, pass) : run_rounds(ctx);
    onx_pass_end(ctx);
    return status;
}

/* Is it a model that may be rewritten? Training refers to more than the graph shows. */
static bool is_open(const onx_pass_ctx *ctx) {
    return ctx->model->graph && ctx->model->training_info.count == 0;
}

onx_status onx_passes_run(onx_pass_ctx *ctx, onx_level level) {
    return level == ONX_LEVEL_NONE || !is_open(ctx) ? ONX_OK : run_one(ctx, NULL);
}

onx_status onx_passes_run_one(onx_pass_ctx *ctx, const char *name) {
    for (size_t i = 0; i < ONX_COUNT(passes); i++)
        if (strcmp(passes[i].name, name) == 0)
            return is_open(ctx) ? run_one(ctx, &passes[i]) : ONX_OK;
    return onx_fail(ctx->diag, ONX_NOT_FOUND, "there is no pass '%.100s'", name);
}
