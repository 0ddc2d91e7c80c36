/* told.h: what an export tells its user: assumptions, and operators that it lacks. */
#ifndef ONX_TOLD_H
#define ONX_TOLD_H

#include "export/export.h"

/* One sentence, or one operator, and how often; in the order in which they came up. */
typedef struct onx_xnote {
    struct onx_xnote *next;
    onx_str text;
    onx_str args;  /* of an operator: as it was called */
    onx_str path;  /* the module that it came up in first */
    onx_str where; /* the line there */
    size_t count;
} onx_xnote;

/* An operator is not supported, or not with these arguments. From now on nothing is lowered, but
 * the program is gone through, to find the others. */
void onx_x_missing(onx_export *x, onx_str name, onx_str args);
/* An operator was lowered. */
void onx_x_lowered(onx_export *x, onx_str name);
/* After the walk: UNSUPPORTED, with all operators that are missing; or OK. */
onx_status onx_x_check_missing(onx_export *x);

#endif
