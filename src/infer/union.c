/* union.c: what is known of a value that comes from one of two places: what both facts say. */
#include "ops/op.h"

/* The sizes or elements that are the same in both; NULL elsewhere. */
static bool common(onx_arena *arena, size_t n, const onx_sym *const *a, const onx_sym *const *b,
                   const onx_sym *const **out, size_t *known) {
    const onx_sym **both = onx_arena_array(arena, n ? n : 1, sizeof *both);
    if (!both) return false;
    *known = 0;
    for (size_t i = 0; i < n; i++) {
        both[i] = a[i] == b[i] ? a[i] : NULL;
        *known += both[i] != NULL;
    }
    *out = both;
    return true;
}

/* One level: without what elements of sequences and optionals are. */
static bool unite(onx_arena *arena, onx_fact *into, const onx_fact *other) {
    if (into->kind != other->kind || into->dtype != other->dtype) {
        *into = (onx_fact){0};
        return true;
    }
    size_t known = 0;
    if (into->constant != other->constant) into->constant = NULL;
    into->ranked = into->ranked && other->ranked && into->rank == other->rank;
    if (!into->ranked)
        into->rank = 0, into->dims = NULL;
    else if (!common(arena, into->rank, into->dims, other->dims, &into->dims, &known))
        return false;
    bool elems = into->elems && other->elems && into->n_elems == other->n_elems;
    if (elems && !common(arena, into->n_elems, into->elems, other->elems, &into->elems, &known))
        return false;
    if (!elems || !known) into->n_elems = 0, into->elems = NULL;
    return true;
}

onx_status onx_infer_union(onx_infer *in, onx_fact *into, const onx_fact *other) {
    onx_arena *arena = onx_infer_arena(in);
    for (;;) {
        bool has_elem = into->elem && other->elem;
        if (!unite(arena, into, other)) return ONX_NO_MEMORY;
        if (into->kind == ONX_TYPE_NONE || !has_elem) break;
        onx_fact *elem = onx_arena_alloc(arena, sizeof *elem);
        if (!elem) return ONX_NO_MEMORY;
        *elem = *into->elem;
        into->elem = elem;
        into = elem;
        other = other->elem;
    }
    into->elem = NULL;
    return ONX_OK;
}
