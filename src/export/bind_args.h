/* bind_args.h: arguments in the order of a schema; for aten.c. */
#ifndef ONX_BIND_ARGS_H
#define ONX_BIND_ARGS_H

#include "export/aten.h"

/* Into out[0 … n_params). False: they do not fit, or x failed. */
bool onx_xargs_bind(onx_export *x, const onx_xschema *s, size_t n, const onx_xarg *args,
                    onx_xv *out);

#endif
