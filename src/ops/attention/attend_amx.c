/* attend_amx.c: onx.internal::Attend on tiles of AMX: attend_bf16.h with their kernel. */
#include "cpu/amx.h"
#include "ops/attention/attend_bf16.h"

static void begin(const onx_attend_unit *u) {
    onx_amx_begin();
    onx_attend_begin_bf16(u);
}
static void scores(const onx_attend_unit *u, int64_t key, size_t n) {
    onx_attend_scores_bf16(u, key, n, onx_bf16_kernel_amx);
}
static void values(const onx_attend_unit *u, int64_t key, size_t n) {
    onx_attend_values_bf16(u, key, n, onx_bf16_kernel_amx);
}
static const onx_attend_other products = {
    onx_attend_bind_bf16, onx_attend_by_rows_bf16, onx_attend_pack_bf16, begin, scores, values,
    onx_amx_end};

static onx_status bind(onx_call *call) {
    return onx_attend_bind_avx512(call, &products);
}
static onx_status run(onx_call *call) {
    return onx_attend_run_avx512(call, &products);
}

extern onx_kernel_rows onx_kernels_attention_amx;
onx_kernel_rows onx_kernels_attention_amx = ONX_ATTEND_ROWS_BF16(bind, run);
