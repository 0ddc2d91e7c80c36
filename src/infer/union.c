/* union.c: what is known of a value that comes from one of two places: what both facts say. */
#include "ops/op.h"

/* The sizes or elements that are the same in both, NULL elsewhere: `lost` counts the ones that
 * became that, `left` those that are still known. */
static bool common(onx_arena *arena, size_t n, const onx_sym *const **into,
                   const onx_sym *const *other, size_t *lost, size_t *left) {
    const onx_sym **both = onx_arena_array(arena, n ? n : 1, sizeof *both);
    if (!both) return false;
    for (size_t i = 0; i < n; i++) {
        both[i] = (*into)[i] == other[i] ? other[i] : NULL;
        *lost += both[i] != (*into)[i];
        *left += both[i] != NULL;
    }
    *into = both;
    return true;
}

/* One level: without what elements of sequences and optionals are. */
static bool unite(onx_arena *arena, onx_fact *into, const onx_fact *other, size_t *lost) {
    size_t left = 0;
    if (into->kind != other->kind || into->dtype != other->dtype) {
        *lost += into->kind != ONX_TYPE_NONE;
        *into = (onx_fact){0};
        return true;
    }
    if (into->constant && into->constant != other->constant) {
        into->constant = NULL;
        ++*lost;
    }
    if (into->ranked && (!other->ranked || into->rank != other->rank)) {
        into->ranked = false;
        into->rank = 0;
        into->dims = NULL;
        ++*lost;
    }
    if (into->ranked && !common(arena, into->rank, &into->dims, other->dims, lost, &left))
        return false;
    left = 0;
    bool elems = into->elems && other->elems && into->n_elems == other->n_elems;
    if (elems && !common(arena, into->n_elems, &into->elems, other->elems, lost, &left))
        return false;
    if (left) return true;
    *lost += into->elems != NULL;
    into->n_elems = 0;
    into->elems = NULL;
    return true;
}

onx_status onx_infer_union(onx_infer *in, onx_fact *into, const onx_fact *other, bool *changed) {
    onx_arena *arena = onx_infer_arena(in);
    size_t lost = 0;
    for (;;) {
        bool has_elem = into->elem && other->elem;
        if (!unite(arena, into, other, &lost)) return ONX_NO_MEMORY;
        if (into->kind == ONX_TYPE_NONE || !has_elem) break;
        onx_fact *elem = onx_arena_alloc(arena, sizeof *elem);
        if (!elem) return ONX_NO_MEMORY;
        *elem = *into->elem;
        into->elem = elem;
        into = elem;
        other = other->elem;
    }
    lost += into->elem != NULL;
    into->elem = NULL;
    if (changed && lost) *changed = true;
    return ONX_OK;
}
