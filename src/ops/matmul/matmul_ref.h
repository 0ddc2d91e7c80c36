/* matmul_ref.h: what the kernels of MatMul and Gemm share: attributes, and how their operands lie.
 *
 *     Y[i] = alpha A[a(i)] B[b(i)] + beta C        matrices i < batches; C only with one of them
 *
 * All of Y lies row after row, matrix after matrix. Strides count elements. */
#ifndef ONX_MATMUL_REF_H
#define ONX_MATMUL_REF_H

#include "ops/tile/tile_ref.h"

typedef struct onx_matmul_state {
    bool turn_a, turn_b; /* transA, transB */
    float alpha, beta;
    const onx_tile *tile; /* the program of MatMulTile; NULL: none */
    /* If the program begins by adding an operand to the product: which input of the node that is,
     * and the program without it; else 0. */
    size_t bias;
    const onx_tile *rest; /* NULL: nothing is left */
} onx_matmul_state;

typedef struct onx_matmul_plan {
    size_t m, k, n; /* A[m,k] B[k,n] */
    size_t batches;
    size_t rank;                                         /* of the batch */
    size_t dims[ONX_RANK_MAX];                           /* product: batches */
    size_t a_steps[ONX_RANK_MAX], b_steps[ONX_RANK_MAX]; /* in matrices; 0: the same */
    size_t a_row, a_col, b_row, b_col, c_row, c_col;
    bool has_c; /* and beta is not 0 */
} onx_matmul_plan;

/* init, for each of the three operators. */
onx_status onx_matmul_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_matmul_init_gemm(onx_call *call) ONX_MUST_CHECK;
onx_status onx_matmul_init_tile(onx_call *call) ONX_MUST_CHECK;
/* bind: fills the plan and sets the shape of the output. */
onx_status onx_matmul_bind(onx_call *call, onx_matmul_plan *plan) ONX_MUST_CHECK;
onx_status onx_matmul_bind_gemm(onx_call *call, onx_matmul_plan *plan) ONX_MUST_CHECK;

/* matmul_ref.c: the plain kernel of Gemm, for those that do more with its result. */
onx_status onx_matmul_bind_ref_gemm(onx_call *call) ONX_MUST_CHECK;
onx_status onx_matmul_run_ref(onx_call *call) ONX_MUST_CHECK;

/* The inputs of the program of MatMulTile: NULL for the product, then those of the node after A and
 * B. */
void onx_matmul_program_inputs(const onx_call *call, onx_operand *inputs[ONX_TILE_INPUTS]);
/* bind, after onx_matmul_bind: the program. */
onx_status onx_matmul_bind_program(onx_call *call, onx_tile_plan *program) ONX_MUST_CHECK;
/* Is operand `bias` one row, for all rows of the product? Then it may be C of a product. */
bool onx_matmul_adds_row(const onx_call *call, const onx_matmul_plan *plan);

/* Which matrices of A and B belong to matrix `batch` of Y. */
void onx_matmul_at(const onx_matmul_plan *plan, size_t batch, size_t *a, size_t *b);

#endif
