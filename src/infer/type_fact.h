/* type_fact.h: types in ONNX text as facts. */
#ifndef ONX_TYPE_FACT_H
#define ONX_TYPE_FACT_H

#include "infer/infer_internal.h"

/* The fact that a type tells. Sizes are expressions; `?` is one that is not known. A word alone is
 * a scalar if `scalars`, else a tensor of any rank. `*readable` is false when it is no type. */
onx_status onx_type_fact(onx_facts *facts, onx_str text, bool scalars, onx_fact *out,
                         bool *readable) ONX_MUST_CHECK;

#endif
