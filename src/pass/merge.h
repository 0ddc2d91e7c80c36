/* merge.h: models that become one; for merge.c, which finds out what goes with what, and
 * merge_build.c, which puts it together. */
#ifndef ONX_MERGE_H
#define ONX_MERGE_H

#include "pass/surgery.h"

typedef struct onx_merge_part {
    const onx_model *model; /* as it goes in: `own`, or the caller's */
    onx_model *own;         /* a copy with other names; NULL: there is none */
    const char *prefix;     /* "" if there is none */
} onx_merge_part;

typedef struct onx_merge {
    const onx_merge_options *options;
    size_t n;
    onx_merge_part *parts;
    onx_diag *diag;
    onx_arena arena;
    onx_map gone;     /* inputs of the parts that are those of others, or their outputs; and what is
                       annotated about them */
    onx_map given;    /* outputs that became inputs */
    onx_map names;    /* of values in graphs (owner NULL) and subgraphs (owner: the merge), and of
                         nodes (owner: the parts), to the part that has them first */
    size_t n_renamed; /* nodes */
    onx_map newest;   /* domain to the onx_opset of the highest version */
    onx_model *out;
} onx_merge;

bool onx_merge_has(const onx_map *set, const void *object);
/* All parts in one model, `out`, which is not linked yet. */
onx_status onx_merge_build(onx_merge *merge) ONX_MUST_CHECK;

#endif
