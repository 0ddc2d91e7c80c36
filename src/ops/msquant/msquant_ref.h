/* msquant_ref.h: kernels of the quantized operators of com.microsoft; the table is in
 * msquant_ref.c, the products are in ops/quant. */
#ifndef ONX_MSQUANT_REF_H
#define ONX_MSQUANT_REF_H

#include "ops/quant/grid_ref.h"
#include "ops/quant/quant_ref.h"

/* qlinear_ref.c: QLinearAdd and QLinearMul, QLinearConcat, QLinearSigmoid. */
onx_status onx_qbinary_bind(onx_call *call) ONX_MUST_CHECK;
/* n elements: a*by_a + b*by_b + c_zero, or a*b*by_a + c_zero, a and b less their zero points; to
 * may be a or b. */
typedef struct onx_qbinary onx_qbinary;
typedef void onx_qspan_fn(const onx_qbinary *j, size_t n, const uint8_t *a, const uint8_t *b,
                          uint8_t *to);
struct onx_qbinary {
    onx_qspan_fn *span;
    bool product;
    int32_t a_zero, b_zero, c_zero, flip, lo; /* flip: turned for int8; lo: the least byte */
    float by_a, by_b;                         /* with the scale of the result */
};
onx_status onx_qbinary_run(onx_call *call, bool product, onx_qspan_fn *span) ONX_MUST_CHECK;
onx_status onx_qadd_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qmul_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qconcat_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qconcat_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qconcat_run_with(onx_call *call, onx_look_fn *look) ONX_MUST_CHECK;
onx_status onx_qconcat_run(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qsigmoid_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_qsigmoid_run_with(onx_call *call, onx_look_fn *look) ONX_MUST_CHECK;
onx_status onx_qsigmoid_run(onx_call *call) ONX_MUST_CHECK;

/* nbits_ref.c: MatMulNBits, and its inputs. */
enum {
    ONX_NBITS_A,
    ONX_NBITS_B,
    ONX_NBITS_SCALES,
    ONX_NBITS_ZEROS,
    ONX_NBITS_GROUPS,
    ONX_NBITS_BIAS,
};
typedef struct onx_nbits_state {
    int64_t k, n, block, blocks; /* block: elements; blocks: of a column */
    unsigned bits;
} onx_nbits_state;
onx_status onx_nbits_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_nbits_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_nbits_run(onx_call *call) ONX_MUST_CHECK;

/* gather_block_ref.c: GatherBlockQuantized. */
typedef struct onx_gather_blocks {
    onx_grid grid; /* of the scales, over the elements of data */
    int64_t size;  /* of data along the axis that is gathered */
    int64_t inner; /* elements behind that axis */
    unsigned bits;
} onx_gather_blocks;
onx_status onx_gather_blocks_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_gather_blocks_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_gather_blocks_run(onx_call *call) ONX_MUST_CHECK;

#endif
