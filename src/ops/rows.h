/* rows.h: short forms for tables with many rows; the others write their rows out. */
#ifndef ONX_ROWS_H
#define ONX_ROWS_H

#include "ops/op.h"

#define OP(name, since, signature, infer_)                                                         \
    { name, since, signature, .infer = infer_ }
/* An operator that is a function: by the text of its body, or by what writes it. */
#define FN(name, since, signature, infer_, function_)                                              \
    { name, since, signature, .infer = infer_, .function = function_ }
#define BY(name, since, signature, infer_, body_)                                                  \
    { name, since, signature, .infer = infer_, .body = body_ }

#endif
