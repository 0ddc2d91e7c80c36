/* rotate_simd.c: onx.internal::Rotate of floats, by vectors. */
#include "cpu/vec.h"
#include "ops/attention/rotate_ref.h"

/* Vectors of both halves at once: each is read before the other is written. */
static void rotate(onx_rotate_row r, size_t half) {
    for (size_t i = 0; i < half; i += VF) {
        size_t n = half - i < VF ? half - i : VF;
        vf low = vf_load_n(r.x + i, n), high = vf_load_n(r.x + half + i, n);
        vf down = high * vf_load_n(r.sin + i, n), up = low * vf_load_n(r.sin + half + i, n);
        vf_store_n(r.y + i, vf_fma(low, vf_load_n(r.cos + i, n), -down), n);
        vf_store_n(r.y + half + i, vf_fma(high, vf_load_n(r.cos + half + i, n), up), n);
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_rotate_plan *p = call->plan;
    int64_t row = (int64_t)index * onx_rotate_grain(p), end = row + onx_rotate_grain(p);
    for (; row < end && row < p->rows; row++)
        rotate(onx_rotate_at(call, row), (size_t)p->dims[ONX_VIEW_COL] / 2);
    return ONX_OK;
}

extern onx_status ONX_TIER(onx_rotate_vectors)(onx_call *call);
onx_status ONX_TIER(onx_rotate_vectors)(onx_call *call) {
    const onx_rotate_plan *p = call->plan;
    if (p->x.dims[ONX_VIEW_COL].fast != 1) return onx_rotate_run(call);
    int64_t grain = p->rows ? onx_rotate_grain(p) : 1;
    return onx_call_parallel(call, (size_t)((p->rows + grain - 1) / grain), task, NULL);
}
