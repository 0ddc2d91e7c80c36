/* aten_families.c: the tables of operators, listed in aten_families.def. */
#include "export/aten.h"

#define X(name, keeping) extern const onx_aten onx_aten_##name[];
#include "export/aten/aten_families.def"
#undef X

const onx_aten_family onx_aten_families[] = {
#define X(name, keeping) {onx_aten_##name, ONX_LAY_##keeping},
#include "export/aten/aten_families.def"
#undef X
    {NULL, ONX_LAY_ANEW}};

/* Operators that differ from their families. */
const onx_aten_exception onx_aten_exceptions[] = {{"masked_fill", ONX_LAY_ANEW},
                                                  {"rrelu", ONX_LAY_ANEW},
                                                  {"log_sigmoid", ONX_LAY_ANEW},
                                                  {"einsum", ONX_LAY_OWN},
                                                  {"rot90", ONX_LAY_OWN},
                                                  {"meshgrid", ONX_LAY_OWN},
                                                  {"broadcast_tensors", ONX_LAY_OWN},
                                                  {"dropout", ONX_LAY_KEEP},
                                                  {NULL, ONX_LAY_ANEW}};
