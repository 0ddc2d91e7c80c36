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

/* An optional may hold what is not one: those are not compared. */
onx_status onx_infer_one_type(onx_infer *in, const char *what, size_t index, const onx_fact *a,
                              const onx_fact *b) {
    bool sequence = false;
    for (; a && b && a->kind == ONX_TYPE_SEQUENCE && b->kind == ONX_TYPE_SEQUENCE;
         sequence = true) {
        a = a->elem;
        b = b->elem;
    }
    if (!a || !b || a->kind == ONX_TYPE_NONE || b->kind == ONX_TYPE_NONE) return ONX_OK;
    if (a->kind == ONX_TYPE_TENSOR && b->kind == ONX_TYPE_TENSOR) {
        if (!a->dtype || !b->dtype || a->dtype == b->dtype) return ONX_OK;
        return onx_infer_fail(in, "%s %zu is %s%s and %s: it must be of one type", what, index,
                              sequence ? "a sequence of " : "", onx_dtype_name(a->dtype),
                              onx_dtype_name(b->dtype));
    }
    bool mixed = (a->kind == ONX_TYPE_TENSOR && b->kind == ONX_TYPE_SEQUENCE) ||
                 (a->kind == ONX_TYPE_SEQUENCE && b->kind == ONX_TYPE_TENSOR);
    return mixed ? onx_infer_fail(in, "%s %zu is a tensor and a sequence: it must be one", what,
                                  index)
                 : ONX_OK;
}
