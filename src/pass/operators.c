/* operators.c: operators and functions, found by domain, name and overload, in constant time. */
#include "ops/op.h"
#include "pass/surgery.h"

void onx_operators_init(onx_operators *o, onx_context *ctx) {
    onx_arena_init(&o->arena, ctx);
    onx_map_init(&o->map, ctx);
}

void onx_operators_fini(onx_operators *o) {
    onx_map_fini(&o->map);
    onx_arena_fini(&o->arena);
}

/* What a name under `owner` leads to; where it leads nowhere yet, to something new. */
static void *level(onx_operators *o, const void *owner, onx_str name) {
    void *next = onx_map_get(&o->map, owner, name);
    if (next) return next;
    next = onx_arena_alloc(&o->arena, 1);
    return next && onx_map_put(&o->map, owner, name, next) ? next : NULL;
}

bool onx_operators_put(onx_operators *o, onx_str domain, onx_str name, onx_str overload,
                       const void *what) {
    void *in_domain = level(o, NULL, onx_domain_plain(domain));
    void *of_name = in_domain ? level(o, in_domain, name) : NULL;
    return of_name && onx_map_put(&o->map, of_name, overload, (void *)(uintptr_t)what);
}

/* Of two that are called the same, the first counts. */
bool onx_operators_add(onx_operators *o, const onx_model *model) {
    ONX_EACH (onx_function, f, model->functions)
        if (!onx_operators_get(o, f->domain, f->name, f->overload) &&
            !onx_operators_put(o, f->domain, f->name, f->overload, f))
            return false;
    return true;
}

void *onx_operators_get(const onx_operators *o, onx_str domain, onx_str name, onx_str overload) {
    const void *in_domain = onx_map_get(&o->map, NULL, onx_domain_plain(domain));
    const void *of_name = in_domain ? onx_map_get(&o->map, in_domain, name) : NULL;
    return of_name ? onx_map_get(&o->map, of_name, overload) : NULL;
}

void *onx_operators_of(const onx_operators *o, const onx_node *node) {
    return onx_operators_get(o, node->domain, node->op_type, node->overload);
}
