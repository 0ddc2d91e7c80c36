/* pickle_machine.h: the machine that a pickle is a program for; inside pickle*.c only.
 *
 *     bytes ─▶ opcode ─▶ stack of values, with marks ─▶ the one value left at the end
 *                         │ ▲
 *                         ▼ │
 *                         memo: values by number, so that they can be used again */
#ifndef ONX_PICKLE_MACHINE_H
#define ONX_PICKLE_MACHINE_H

#include "export/pickle.h"

typedef struct onx_pk_machine {
    onx_pickle *out;
    onx_diag *diag;
    onx_str bytes;
    size_t at;            /* the next byte */
    size_t start;         /* of the opcode being run */
    onx_archive *archive; /* of the storages; NULL: none */
    onx_str prefix;       /* of their records */
    onx_arena scratch;    /* the arrays below */
    onx_pk **stack;
    size_t depth, stack_cap;
    size_t *marks; /* depths of the stack */
    size_t mark_count, mark_cap;
    onx_pk **memo; /* NULL: nothing under that number */
    size_t memo_count, memo_cap;
    size_t keys; /* in all dicts */
} onx_pk_machine;

/* A failure at the opcode being run. */
#define ONX_PK_FAIL(m, status, ...) onx_fail((m)->diag, ONX_##status, __VA_ARGS__)

/* A new value of the arena; NULL: no memory (onx_pk_nomem says which). */
onx_pk *onx_pk_new(onx_pk_machine *m, onx_pk_kind kind);
onx_status onx_pk_nomem(onx_pk_machine *m);
/* Count `part` as a part of `whole`, and seal it: the limits of pickle.h are kept here. */
onx_status onx_pk_join(onx_pk_machine *m, onx_pk *whole, onx_pk *part);
/* Append to a list, a tuple being made or, key and value in turn, a dict. */
onx_status onx_pk_append(onx_pk_machine *m, onx_pk *whole, onx_pk *part);
onx_status onx_pk_set(onx_pk_machine *m, onx_pk *dict, onx_pk *key, onx_pk *value);

/* pickle_ops.c: to the end of the program, which sets out->root. */
onx_status onx_pk_run(onx_pk_machine *m) ONX_MUST_CHECK;

/* pickle_reduce.c: what a call of a global gives, and what a persistent id stands for. */
onx_status onx_pk_call(onx_pk_machine *m, const onx_pk *callee, onx_pk *args, onx_pk **out);
onx_status onx_pk_persistent(onx_pk_machine *m, onx_pk *id, onx_pk **out);

#endif
