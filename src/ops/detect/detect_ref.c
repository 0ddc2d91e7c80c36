/* detect_ref.c: boxes found in images: the kernels of the family. */
#include "ops/detect/detect_ref.h"

#define FLOAT ONX_T(F32)

extern onx_kernel_rows onx_kernels_detect_ref;
onx_kernel_rows onx_kernels_detect_ref = {
    {.op = "NonMaxSuppression",
     .first = 10,
     .types = {FLOAT, FLOAT, ONX_T(I64), FLOAT, FLOAT},
     .name = "non_max_suppression",
     .flags = ONX_KERNEL_LATE,
     .init = onx_suppress_init,
     .run = onx_suppress_run},
    {.op = "RoiAlign",
     .first = 10,
     .types = {ONX_T_FLOATS, ONX_T_FLOATS, ONX_T(I64)},
     .name = "roi_align",
     .init = onx_roi_align_init,
     .bind = onx_roi_align_bind,
     .run = onx_roi_align_run},
    {0},
};
