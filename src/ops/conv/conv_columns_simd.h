/* conv_columns_simd.h: Conv as products with gathered columns; see conv_columns_simd.c. */
#ifndef ONX_CONV_COLUMNS_SIMD_H
#define ONX_CONV_COLUMNS_SIMD_H

#include "cpu/vec.h"
#include "ops/conv/conv_ref.h"

/* Products on another tier: y[oc][ONX_COLUMNS] of a panel of columns, which is gathered in chunks
 * of ONX_GEMM_DEPTH and brought into its form. Weights are those of a group, [oc,k]; its `unit` of
 * rows is made at a time. */
enum { ONX_COLUMNS = 2 * VF };
typedef struct onx_conv_columns_other {
    size_t unit;
    size_t (*weights_bytes)(size_t oc, size_t k);
    void (*pack)(const float *w, size_t oc, size_t k, size_t row, size_t end, void *to);
    size_t (*panel_bytes)(size_t k);
    void (*put)(const float *columns, size_t first, size_t depth, void *panel);
    void (*begin)(void);
    void (*multiply)(const void *weights, const void *panel, size_t k, size_t row, size_t end,
                     float *sums);
    void (*end)(void);
} onx_conv_columns_other;

onx_status ONX_TIER(onx_conv_columns_init)(onx_call *call) ONX_MUST_CHECK;
/* UNSUPPORTED: weights are constant, and too few for it. */
onx_status ONX_TIER(onx_conv_columns_init_other)(onx_call *call,
                                                 const onx_conv_columns_other *other)
    ONX_MUST_CHECK;
size_t ONX_TIER(onx_conv_columns_pack_bytes)(const onx_call *call);
onx_status ONX_TIER(onx_conv_columns_pack)(onx_call *call, void *out) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_conv_columns_bind)(onx_call *call) ONX_MUST_CHECK;
onx_status ONX_TIER(onx_conv_columns_run)(onx_call *call) ONX_MUST_CHECK;

#endif
