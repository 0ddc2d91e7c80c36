/* qgemm.h: products of bytes for each instruction set; what they promise is in
 * ops/quant/bytes_ref.h. */
#ifndef ONX_QGEMM_H
#define ONX_QGEMM_H

#include "ops/quant/bytes_ref.h"

typedef void onx_qgemm_end_fn(const onx_qend *end, const int32_t *sums, size_t m, size_t col,
                              size_t n, char *y, size_t stride);

#define ONX_QGEMM_TIER(isa)                                                                        \
    extern const onx_qgemm onx_qgemm_##isa;                                                        \
    extern const onx_qdepth onx_qdepth_##isa;                                                      \
    extern const onx_qwinograd onx_qwinograd_##isa[ONX_QWINOGRADS];                                \
    extern const onx_dynamic_fns onx_dynamic_##isa;                                                \
    extern onx_qgemm_end_fn onx_qgemm_end_##isa;
#include "cpu/isa.def"
ONX_ISAS(ONX_QGEMM_TIER)
#if defined(__x86_64__)
extern const onx_qgemm onx_qgemm_vnni, onx_qgemm_amx;
extern const onx_qdepth onx_qdepth_vnni;
#endif

#endif
