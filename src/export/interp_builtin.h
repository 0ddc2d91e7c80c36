/* interp_builtin.h: operators that Python has itself, as rows of tables. */
#ifndef ONX_INTERP_BUILTIN_H
#define ONX_INTERP_BUILTIN_H

#include "export/interp_internal.h"

typedef struct onx_py_row onx_py_row;
/* False: not with these arguments; another row, or an operator of tensors, may take them. */
typedef bool onx_py_fn(onx_interp *in, const onx_py_row *row, size_t n, const onx_xarg *a,
                       onx_xv *out);
struct onx_py_row {
    const char *name;
    size_t least, most; /* how many arguments */
    onx_py_fn *fn;
    const char *word; /* for `fn`: which of those that are alike */
};

/* They end with a row without a name. A name may stand in several tables: they are asked in this
 * order. */
extern const onx_py_row onx_py_lists[], onx_py_strings[], onx_py_numbers[];

bool onx_py_has_unknown(size_t n, const onx_xarg *a);

#endif
