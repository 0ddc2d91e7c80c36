/* type_case.h: one case of test/types: a model with what goes in and what must come out.
 *
 * The values of input x, which is a tensor, are those of the initializer x; of a sequence, x_0,
 * x_1 …; of an optional, x_0 if there is one; of a map, the tensor x_keys, and x_0, x_1 … for its
 * values; and so on inside those. What output y must be is in want_y in the same way.
 *
 * Integers, bools and strings must be equal. Floats may differ by some units in the last place of
 * the largest finite element of the tensor (`ulps`; 0: 4 of float and double, 1 of all that is
 * shorter, which is rounded once); NaNs and infinities must be the same. */
#ifndef ONX_TEST_TYPE_CASE_H
#define ONX_TEST_TYPE_CASE_H

#include "ir/ir.h"

/* A value of this type and name, to be freed with onx_data_free. NULL: it is not there. */
onx_data *type_case_data(const onx_graph *graph, const onx_type *type, const char *name);
/* Is `got` what is wanted? Else the first difference is written to `why`. */
bool type_case_same(const onx_data *got, const onx_data *want, double ulps, char why[static 256]);
/* Run the model on one instruction set (NULL: the best) and compare all its outputs. */
bool type_case_run(const onx_model *model, const char *cpu, double ulps, char why[static 256]);

#endif
