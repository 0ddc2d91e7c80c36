/* msquant.h: inference of the quantized operators of com.microsoft; the rows are in msquant.c. */
#ifndef ONX_MSQUANT_H
#define ONX_MSQUANT_H

#include "ops/op.h"

/* msquant_matmul.c */
onx_infer_fn onx_infer_ms_n_bits, onx_infer_ms_dynamic, onx_infer_ms_integer_to_float,
    onx_infer_ms_qgemm;
/* msquant_infer.c */
onx_infer_fn onx_infer_ms_binary, onx_infer_ms_concat, onx_infer_ms_gather;

#endif
