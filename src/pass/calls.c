/* calls.c: the functions of a model: which calls which, that none calls itself, and what inlining
 * them takes. One walk over the model; time and memory are in proportion to it. */
#include "pass/inline.h"

enum { NEW, OPEN, DONE };

static size_t add(size_t a, size_t b) {
    size_t sum;
    return onx_add_size(a, b, &sum) ? sum : SIZE_MAX;
}

/* ── Finding ─────────────────────────────────────────────────────────────────────────────────── */

static bool make_key(onx_calls *calls, onx_str domain, onx_str name, onx_str overload,
                     onx_str *out) {
    onx_str parts[] = {onx_domain_plain(domain), name, overload};
    calls->key.size = 0;
    for (size_t i = 0; i < ONX_COUNT(parts); i++) {
        onx_buf_put(&calls->key, &parts[i].size, sizeof parts[i].size);
        onx_buf_put(&calls->key, parts[i].data, parts[i].size);
    }
    *out = (onx_str){calls->key.data, calls->key.size};
    return !calls->key.failed;
}

onx_callee *onx_calls_find(onx_calls *calls, const onx_node *node) {
    onx_str key;
    if (!onx_map_get(&calls->index, NULL, node->op_type) ||
        !make_key(calls, node->domain, node->op_type, node->overload, &key))
        return NULL;
    return onx_map_get(&calls->index, calls, key);
}

/* The first function of its name counts, as everywhere. */
static onx_status enter(onx_calls *calls, onx_callee *callee, onx_diag *diag) {
    const onx_function *f = callee->function;
    onx_str key;
    if (!make_key(calls, f->domain, f->name, f->overload, &key)) return onx_fail_nomem(diag);
    if (onx_map_get(&calls->index, calls, key)) return ONX_OK;
    if (!onx_arena_str(&calls->arena, key, &key) ||
        !onx_map_put(&calls->index, calls, key, callee) ||
        !onx_map_put(&calls->index, NULL, f->name, callee))
        return onx_fail_nomem(diag);
    return ONX_OK;
}

/* ── Counting ────────────────────────────────────────────────────────────────────────────────── */

static onx_status list_calls(onx_calls *calls, onx_callee *caller, onx_diag *diag) {
    const onx_msg *msg;
    caller->own = onx_copy_bytes(caller->function);
    for (onx_walk w = onx_walk_begin(caller->function); (msg = onx_walk_next(&w));) {
        onx_callee *callee =
            msg->desc == &onx_desc_node ? onx_calls_find(calls, (const onx_node *)msg) : NULL;
        if (!callee) continue;
        if (!onx_arena_grow(&calls->arena, &caller->calls, &caller->cap, caller->n_calls,
                            sizeof *caller->calls))
            return onx_fail_nomem(diag);
        caller->calls[caller->n_calls++] = callee;
    }
    return calls->key.failed ? onx_fail_nomem(diag) : ONX_OK;
}

static onx_status fail_cycle(onx_callee *const *path, size_t n, const onx_callee *again,
                             onx_diag *diag) {
    char way[300];
    size_t at = 0, i = n;
    while (path[i - 1] != again) i--;
    for (i--; i < n && at < sizeof way - 64; i++) {
        onx_str name = path[i]->function->name;
        for (size_t j = 0; j < name.size && j < 40; j++) way[at++] = name.data[j];
        memcpy(way + at, " calls ", 7);
        at += 7;
    }
    onx_fail(diag, ONX_INVALID, "a function must not call itself: %.*s%.*s", (int)at, way,
             ONX_FMT(again->function->name));
    onx_diag_place(diag, "function '%.*s'", ONX_FMT(again->function->name));
    return ONX_INVALID;
}

/* Functions after those they call; `path` has room for all of them. */
static onx_status sum_up(onx_callee *top, onx_callee **path, size_t *at, onx_diag *diag) {
    size_t n = 0;
    path[n++] = top;
    while (n) {
        onx_callee *c = path[n - 1];
        size_t *next = &at[n - 1];
        if (c->state == NEW) {
            c->state = OPEN;
            c->total = c->own;
            *next = 0;
        }
        if (*next == c->n_calls) {
            c->state = DONE;
            n--;
            continue;
        }
        onx_callee *callee = c->calls[*next];
        if (callee->state == OPEN) return fail_cycle(path, n, callee, diag);
        if (callee->state == NEW) {
            path[n++] = callee;
            continue;
        }
        if (callee->wanted) c->total = add(c->total, callee->total);
        ++*next;
    }
    return ONX_OK;
}

static onx_status order(onx_calls *calls, onx_diag *diag) {
    onx_callee **path = onx_arena_array(&calls->arena, calls->n + 1, sizeof(onx_callee *));
    size_t *at = onx_arena_array(&calls->arena, calls->n + 1, sizeof *at);
    if (!path || !at) return onx_fail_nomem(diag);
    for (size_t i = 0; i < calls->n; i++)
        if (calls->callees[i].state == NEW) ONX_TRY(sum_up(&calls->callees[i], path, at, diag));
    return ONX_OK;
}

/* What stays in the model grows: graphs, and functions that are not inlined. */
static void count_growth(onx_calls *calls, const onx_model *model) {
    const onx_msg *msg;
    for (onx_walk w = onx_walk_begin(model); (msg = onx_walk_next(&w));) {
        if (msg->desc == &onx_desc_function) onx_walk_skip(&w);
        if (msg->desc != &onx_desc_node) continue;
        const onx_callee *callee = onx_calls_find(calls, (const onx_node *)msg);
        if (callee && callee->wanted) calls->growth = add(calls->growth, callee->total);
    }
    for (size_t i = 0; i < calls->n; i++)
        if (!calls->callees[i].wanted)
            calls->growth = add(calls->growth, calls->callees[i].total - calls->callees[i].own);
}

static onx_status fill(onx_calls *calls, const onx_model *model, const onx_inline *how,
                       onx_diag *diag) {
    size_t n = 0;
    calls->callees =
        onx_arena_array(&calls->arena, model->functions.count + 1, sizeof *calls->callees);
    if (!calls->callees) return onx_fail_nomem(diag);
    ONX_EACH (onx_function, f, model->functions) {
        onx_callee *callee = &calls->callees[n++];
        callee->function = f;
        callee->wanted = !how->wants || how->wants(how->user, f);
        ONX_TRY(enter(calls, callee, diag));
    }
    calls->n = n;
    for (size_t i = 0; i < n; i++) ONX_TRY(list_calls(calls, &calls->callees[i], diag));
    ONX_TRY(order(calls, diag));
    if (n) count_growth(calls, model);
    return ONX_OK;
}

onx_status onx_calls_init(onx_calls *calls, const onx_model *model, const onx_inline *how,
                          onx_diag *diag) {
    onx_context *ctx = model->msg.doc->ctx;
    *calls = (onx_calls){.n = 0};
    onx_arena_init(&calls->arena, ctx);
    onx_buf_init(&calls->key, ctx);
    onx_map_init(&calls->index, ctx);
    onx_status status = fill(calls, model, how, diag);
    if (status) onx_calls_fini(calls);
    return status;
}

void onx_calls_fini(onx_calls *calls) {
    onx_map_fini(&calls->index);
    onx_buf_fini(&calls->key);
    onx_arena_fini(&calls->arena);
}
