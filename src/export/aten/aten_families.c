/* aten_families.c: the tables of operators, listed in aten_families.def. */
#include "export/export.h"

#define X(name) extern const onx_aten onx_aten_##name[];
#include "export/aten/aten_families.def"
#undef X

const onx_aten *const onx_aten_families[] = {
#define X(name) onx_aten_##name,
#include "export/aten/aten_families.def"
#undef X
    NULL};
