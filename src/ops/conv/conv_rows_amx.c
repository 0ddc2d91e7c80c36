/* conv_rows_amx.c: ConvBlocked on matrix tiles: the kernel of conv_blocked_simd.c, with the algorithm
 * of cpu/conv_amx.c in place of Winograd's. */
#undef ONX_ISA
#define ONX_ISA avx512 /* all but that algorithm */
#include "ops/conv/conv_plan_simd.h"

enum { TILES = 1 << 30 }; /* in pack_format */

/* Images so large that Winograd's algorithm is faster. */
static bool is_large(const onx_operand *x) {
    return x->rank == 4 && x->dims[2] >= 24 && x->dims[3] >= 24;
}

static onx_status init(onx_call *call) {
    onx_conv c;
    ONX_TRY(ONX_TIER(onx_conv_blocked_init)(call));
    onx_conv_state *s = call->state;
    const onx_operand *w = call->in[1];
    if (!w->constant || !w->data || w->rank != 4 || !call->in[0]->layout || !call->out[0] ||
        !call->out[0]->layout || !ONX_TIER(onx_conv_of_weights)(call, &c) ||
        !onx_conv_tiles_amx.fits(&c))
        return ONX_UNSUPPORTED;
    if (s->staged && is_large(call->in[0])) return ONX_UNSUPPORTED;
    s->staged = &onx_conv_tiles_amx;
    call->pack_format |= TILES;
    return ONX_OK;
}

#define F32 ONX_T(F32)
extern onx_kernel_rows onx_kernels_conv_amx;
onx_kernel_rows onx_kernels_conv_amx = {
    {.op = "ConvBlocked",
     .first = 1,
     .types = {F32, F32, F32, F32},
     .name = "conv_blocked_f32",
     .overwrite = 1 << 3,
     .packs = 1 << 1,
     .plan_bytes = sizeof(onx_conv_plan),
     .pack_bytes = ONX_TIER(onx_conv_pack_bytes),
     .pack = ONX_TIER(onx_conv_pack),
     .domain = "onx.internal",
     .init = init,
     .bind = ONX_TIER(onx_conv_blocked_bind),
     .run = ONX_TIER(onx_conv_blocked_run)},
    {0},
};
