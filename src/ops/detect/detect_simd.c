/* detect_simd.c: NonMaxSuppression and RoiAlign of floats with vectors. A box is compared with VF
 * of those kept at a time, by the arithmetic of the plain kernel: the results are the same. */
#include "cpu/vec.h"
#include "ops/detect/roi_align_simd.h"
#include "ops/detect/suppress_ref.h"

/* Boxes without an area, NaN among them, overlap none: so do the lanes beyond the last box. */
static bool overlaps(const float *const part[ONX_SUPPRESS_PARTS], size_t at, size_t n,
                     const onx_suppress_box *b, float threshold) {
    vf p[ONX_SUPPRESS_PARTS];
    for (size_t i = 0; i < ONX_SUPPRESS_PARTS; i++)
        p[i] = n < VF ? vf_load_n(part[i] + at, n) : vf_load(part[i] + at);
    vf w = vf_min(p[2], vf_set(b->x1)) - vf_max(p[0], vf_set(b->x0));
    vf h = vf_min(p[3], vf_set(b->y1)) - vf_max(p[1], vf_set(b->y0));
    vi m = (w > 0) & (h > 0) & (p[4] > 0);
    if (!vf_any(m)) return false;
    vf both = w * h, all = p[4] + b->area - both;
    return vf_any(m & (both > 0) & (all > 0) & (both / all > threshold));
}

static bool overlaps_any(const onx_suppress_kept *kept, const onx_suppress_box *b,
                         float threshold) {
    const float *const part[] = {kept->part[0], kept->part[1], kept->part[2], kept->part[3],
                                 kept->part[4]};
    bool found = !(b->area > 0);
    if (found) return false;
    for (size_t i = 0; i < kept->n && !found; i += VF)
        found = overlaps(part, i, kept->n - i, b, threshold);
    return found;
}

static onx_status suppress(onx_call *call) {
    return onx_suppress_run_by(call, overlaps_any);
}

extern onx_kernel_rows ONX_TIER(onx_kernels_detect);
onx_kernel_rows ONX_TIER(onx_kernels_detect) = {
    {.op = "NonMaxSuppression",
     .first = 10,
     .types = {ONX_T(F32), ONX_T(F32), ONX_T(I64), ONX_T(F32), ONX_T(F32)},
     .name = "non_max_suppression",
     .flags = ONX_KERNEL_LATE,
     .init = onx_suppress_init,
     .run = suppress},
    {.op = "RoiAlign",
     .first = 10,
     .types = {ONX_T(F32), ONX_T(F32), ONX_T(I64)},
     .name = "roi_align_f32",
     .init = roi_align_init,
     .bind = roi_align_bind,
     .run = roi_align_run},
    {0},
};
