/* block_simd.c: between the plain and the blocked layout, by transposing squares of VF by VF. */
#include "cpu/conv_tile.h"
#include "cpu/pool.h"
#include "cpu/vec_transpose.h"

static void to_block(const float *plain, size_t channels, size_t pixels, float *blocked) {
    for (size_t p = 0; p < pixels; p += VF, blocked += VF * VF) {
        size_t n = pixels - p < VF ? pixels - p : VF;
        vf v[VF];
        VF_UNROLL for (size_t c = 0; c < VF; c++) v[c] =
            c < channels ? vf_load_n(plain + c * pixels + p, n) : vf_zero();
        vf_transpose(v);
        for (size_t i = 0; i < n; i++) vf_store(blocked + i * VF, v[i]);
    }
}

static void from_block(const float *blocked, size_t channels, size_t pixels, float *plain) {
    for (size_t p = 0; p < pixels; p += VF, blocked += VF * VF) {
        size_t n = pixels - p < VF ? pixels - p : VF;
        vf v[VF];
        VF_UNROLL for (size_t i = 0; i < VF; i++) v[i] =
            i < n ? vf_load(blocked + i * VF) : vf_zero();
        vf_transpose(v);
        for (size_t c = 0; c < channels; c++) vf_store_n(plain + c * pixels + p, v[c], n);
    }
}

const onx_block_algorithm ONX_TIER(onx_block) = {VF, to_block, from_block};
