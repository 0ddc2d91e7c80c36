/* surgery.h: what the functions that cut, join and change whole models share.
 *
 *     operators.c    functions, found by what they are called
 *     reach.c        which parts of a model a set of values needs
 *     names.c        many new names at once
 *     dim_edits.c    many new sizes at once
 */
#ifndef ONX_SURGERY_H
#define ONX_SURGERY_H

#include "infer/infer.h"

/* ─ Operators ────────────────────────────────────────────────────────────────────────────────── */

/* Operators or functions, by domain, name and overload. */
typedef struct onx_operators {
    onx_arena arena;
    onx_map map; /* domain, then name, then overload: each leads to the owner of the next */
} onx_operators;

void onx_operators_init(onx_operators *operators, onx_context *ctx);
void onx_operators_fini(onx_operators *operators);
bool onx_operators_put(onx_operators *operators, onx_str domain, onx_str name, onx_str overload,
                       const void *what) ONX_MUST_CHECK; /* no memory: false */
/* All functions of a model. */
bool onx_operators_add(onx_operators *operators, const onx_model *model) ONX_MUST_CHECK;
void *onx_operators_get(const onx_operators *operators, onx_str domain, onx_str name,
                        onx_str overload);
void *onx_operators_of(const onx_operators *operators, const onx_node *node);

/* ─ Reach ────────────────────────────────────────────────────────────────────────────────────── */

/* From values to the nodes that compute them, and on to what these need: their inputs, what graphs
 * inside them take from around them, what Gradient names, the quantization parameters of
 * annotations, and the functions that are called. */
typedef struct onx_reach {
    const onx_model *model;
    bool whole; /* graphs inside nodes stay whole; else only what their outputs need counts */
    onx_arena arena;
    onx_map because; /* value to the value that needs it (a root: itself); node, function: itself */
    onx_map stops;   /* values that are not gone beyond */
    onx_map domains; /* of the nodes, under no owner */
    onx_operators functions;
    onx_value **stack;
    size_t n, cap;
} onx_reach;

/* On failure, too, it is ended with onx_reach_fini. */
onx_status onx_reach_init(onx_reach *reach, const onx_model *model, bool whole, onx_diag *diag)
    ONX_MUST_CHECK;
void onx_reach_fini(onx_reach *reach);
bool onx_reach_stop(onx_reach *reach, const onx_value *value) ONX_MUST_CHECK; /* no memory: false */
/* Everything that `root` needs, unless it was gone into before. */
onx_status onx_reach_add(onx_reach *reach, onx_value *root, onx_diag *diag) ONX_MUST_CHECK;
/* Is the value, node or function needed? */
bool onx_reach_has(const onx_reach *reach, const void *object);
bool onx_reach_is_stop(const onx_reach *reach, const onx_value *value);
bool onx_reach_has_domain(const onx_reach *reach, onx_str domain);

/* ─ Names ────────────────────────────────────────────────────────────────────────────────────── */

/* The graphs of the model, those of training steps and functions too: outer ones first; NULL in the
 * end, and to begin with. Functions come last. */
onx_graph *onx_model_graph_next(const onx_model *model, const onx_graph *graph);

typedef struct onx_new_name {
    onx_value *value;
    onx_str name; /* in memory of the model */
} onx_new_name;
/* All of them at once: names may change places. CONFLICT, and nothing changes, when a name would
 * mean two values in one place. */
onx_status onx_names_apply(onx_model *model, size_t n, const onx_new_name *changes, onx_diag *diag)
    ONX_MUST_CHECK;

/* ─ Sizes ────────────────────────────────────────────────────────────────────────────────────── */

typedef struct onx_dim_edit {
    onx_msg *msg; /* Dimension, or SimpleShardedDimProto */
    uint32_t has;
    int64_t value;
    onx_str param;
} onx_dim_edit;
typedef struct onx_dim_edits {
    onx_doc *doc;
    onx_arena arena;
    onx_syms *syms;
    onx_dim_edit *v;
    size_t n, cap;
} onx_dim_edits;

onx_status onx_dim_edits_init(onx_dim_edits *edits, onx_model *model, onx_diag *diag)
    ONX_MUST_CHECK;
void onx_dim_edits_fini(onx_dim_edits *edits);
/* The size becomes `size`; NULL: not known. Expressions over names that begin with '?' are not. */
onx_status onx_dim_edits_set(onx_dim_edits *edits, void *dim, const onx_sym *size, onx_diag *diag)
    ONX_MUST_CHECK;
/* In every declared size of the model, what `fn` makes of a name in the place of that name. A size
 * that would be negative is INVALID. */
onx_status onx_dim_edits_replace(onx_dim_edits *edits, onx_model *model, onx_sym_replacer *fn,
                                 void *user, onx_diag *diag) ONX_MUST_CHECK;
void onx_dim_edits_swap(onx_dim_edits *edits); /* make the changes; again: take them back */

#endif
