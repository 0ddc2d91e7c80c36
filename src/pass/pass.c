/* pass.c: running passes: rounds over the list, each pass over the graphs of the model. */
#include "pass/pass.h"

#include "pass/passes.def"

enum { MAX_ROUNDS = 8 }; /* each takes linear time; real models need two or three */

#define ONX_PASS_EXTERN(name, level, summary) extern onx_pass_fn onx_pass_##name;
ONX_PASSES(ONX_PASS_EXTERN, ONX_PASS_EXTERN)

static const onx_pass passes[] = {
#define ONX_PASS_OUTER(name, level, summary)                                                       \
    {#name, onx_pass_##name, false, ONX_LEVEL_##level, summary},
#define ONX_PASS_INNER(name, level, summary)                                                       \
    {#name, onx_pass_##name, true, ONX_LEVEL_##level, summary},
    ONX_PASSES(ONX_PASS_OUTER, ONX_PASS_INNER)};

const onx_pass *onx_passes_at(size_t index) {
    return index < ONX_COUNT(passes) ? &passes[index] : NULL;
}

/* ─ Names ────────────────────────────────────────────────────────────────────────────────────── */

/* The next name of "fold, cse", after `*at`; an empty one in the end. */
static onx_str next_name(const char **at) {
    const char *p = *at + strspn(*at, ", ");
    size_t size = strcspn(p, ", ");
    *at = p + size;
    return (onx_str){p, size};
}

static bool is_listed(const char *list, const char *name) {
    for (onx_str word; list && (word = next_name(&list)).size;)
        if (onx_str_is(word, name)) return true;
    return false;
}

bool onx_passes_has(onx_str name) {
    for (size_t i = 0; i < ONX_COUNT(passes); i++)
        if (onx_str_is(name, passes[i].name)) return true;
    return false;
}

onx_status onx_pass_check_names(const char *list, bool (*is_name)(onx_str name), onx_diag *diag) {
    for (onx_str name; list && (name = next_name(&list)).size;)
        if (!is_name(name))
            return onx_fail(diag, ONX_NOT_FOUND, "there is no pass '%.*s'", ONX_FMT(name));
    return ONX_OK;
}

bool onx_pass_wanted(const onx_pass_ctx *ctx, const onx_pass *pass, onx_level level) {
    if (is_listed(ctx->disable, pass->name)) return false;
    return pass->level <= level || is_listed(ctx->enable, pass->name);
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

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
    onx_map_init(&ctx->rows, memory);
    ctx->changes = ctx->touched = 0;
    if (!ctx->fold_bytes) ctx->fold_bytes = (size_t)1 << 20;
    ctx->growth = growth_of(ctx);
    onx_graph *top = ctx->model->graph;
    for (onx_graph *g = top; g; g = graph_next(top, g)) ONX_TRY(onx_graph_sort(g, ctx->diag));
    return ONX_OK;
}

void onx_pass_end(onx_pass_ctx *ctx) {
    onx_map_fini(&ctx->rows);
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

onx_status onx_pass_refresh(onx_pass_ctx *ctx) {
    onx_facts *facts;
    if (!ctx->facts) return ONX_OK;
    ONX_TRY(onx_facts_new(ctx->model, ctx->infer, &facts, ctx->diag));
    onx_facts_free(ctx->facts);
    ctx->facts = facts;
    return ONX_OK;
}

static onx_status run_round(onx_pass_ctx *ctx, onx_level level, size_t round) {
    for (size_t i = 0; i < ONX_COUNT(passes); i++) {
        size_t before = ctx->touched;
        if (!onx_pass_wanted(ctx, &passes[i], level)) continue;
        if (ctx->progress) ctx->progress(ctx->user, round, passes[i].name);
        ONX_TRY(onx_pass_apply(ctx, &passes[i]));
        if (ctx->counts) ctx->counts[i] += ctx->touched - before;
    }
    return ONX_OK;
}

static onx_status run_rounds(onx_pass_ctx *ctx, onx_level level) {
    for (size_t round = 0; round < MAX_ROUNDS; round++) {
        size_t before = ctx->changes;
        ONX_TRY(run_round(ctx, level, round));
        if (ctx->changes == before) break;
        ONX_TRY(onx_pass_refresh(ctx));
    }
    return ONX_OK;
}

/* The one pass, or those of the level. */
static onx_status run_some(onx_pass_ctx *ctx, const onx_pass *pass, onx_level level) {
    onx_status status = onx_pass_begin(ctx);
    if (!status) status = pass ? onx_pass_apply(ctx, pass) : run_rounds(ctx, level);
    onx_pass_end(ctx);
    return status;
}

/* Is it a model that may be rewritten? Training refers to more than the graph shows. */
static bool is_open(const onx_pass_ctx *ctx) {
    return ctx->model->graph && ctx->model->training_info.count == 0;
}

onx_status onx_passes_run(onx_pass_ctx *ctx, onx_level level) {
    bool any = level > ONX_LEVEL_NONE || ctx->enable;
    return any && is_open(ctx) ? run_some(ctx, NULL, level) : ONX_OK;
}

onx_status onx_passes_run_one(onx_pass_ctx *ctx, const char *name) {
    for (size_t i = 0; i < ONX_COUNT(passes); i++)
        if (strcmp(passes[i].name, name) == 0)
            return is_open(ctx) ? run_some(ctx, &passes[i], ONX_LEVEL_ALL) : ONX_OK;
    return onx_fail(ctx->diag, ONX_NOT_FOUND, "there is no pass '%.100s'", name);
}
