/* inline.h: calls of functions replaced by what they call: functions of the model, and operators
 * that are functions themselves.
 *
 * Functions must not call themselves, however far around: INVALID, with the way. What copies will
 * take is counted before the first one is made: doubling a hundred times is a LIMIT, at once. */
#ifndef ONX_INLINE_H
#define ONX_INLINE_H

#include "infer/infer.h"

typedef struct onx_inline {
    void *user; /* of the functions below */
    /* Which functions of the model; NULL: all. */
    bool (*wants)(void *user, const onx_function *function);
    /* Which nodes of operators that are functions; NULL: none. Where there is no body for a node,
     * or its operators mean something else in this opset, it stays. */
    bool (*expands)(void *user, const onx_node *node, const onx_op *op);
    /* Must they be expanded? Then a node that cannot be is a failure: UNSUPPORTED. */
    bool must_expand;
    bool keep;                      /* functions that were inlined stay in the model */
    size_t max_bytes;               /* that copies may take together; 0: see inline.c */
    const onx_facts_options *infer; /* for bodies that depend on types; NULL: no sizes are known */
} onx_inline;

/* In the model itself. After a failure it means what it meant before, with some calls inlined. */
onx_status onx_inline_run(onx_model *model, const onx_inline *how, onx_diag *diag) ONX_MUST_CHECK;

/* ─ calls.c: who calls whom, and how much that is ────────────────────────────────────────────── */

typedef struct onx_callee {
    onx_function *function;
    bool wanted;
    size_t own, total; /* bytes of a copy: of its nodes, and with all that is inlined in it */
    size_t n_calls, cap;
    struct onx_callee **calls; /* one for each call in it */
    int state;                 /* of the search for cycles */
    const void *agrees;        /* the model or function whose opsets were found to agree */
} onx_callee;

typedef struct onx_calls {
    onx_arena arena;
    onx_buf key;
    onx_map index; /* (NULL, name), and (this, domain and name and overload) */
    onx_callee *callees;
    size_t n, growth; /* how many, and bytes that inlining all of the wanted takes */
} onx_calls;

onx_status onx_calls_init(onx_calls *calls, const onx_model *model, const onx_inline *how,
                          onx_diag *diag) ONX_MUST_CHECK;
void onx_calls_fini(onx_calls *calls);
/* What the node calls; NULL: no function of the model, or memory ran out. */
onx_callee *onx_calls_find(onx_calls *calls, const onx_node *node);

#endif
