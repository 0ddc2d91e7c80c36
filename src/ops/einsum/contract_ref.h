/* contract_ref.h: sums of products of tensors whose dimensions have labels:
 *
 *     Y[b,i,n] = alpha sum over k of A[b,i,k] B[b,k,n] …
 *
 * Operands may be any in number, of any type of numbers, with any order of labels; one label twice
 * in an operand is its diagonal. Two of them at a time are multiplied, as matrices, in double, or,
 * if they are integers, modulo 2^64; which two is decided by how much work it is. The output is
 * rounded once. */
#ifndef ONX_CONTRACT_REF_H
#define ONX_CONTRACT_REF_H

#include "rt/kernel.h"

enum {
    ONX_LABELS = 52 + ONX_RANK_MAX, /* letters, and the dimensions of "..." */
    ONX_CONTRACT_MOST = 256,        /* operands */
};

/* A tensor: an operand, or what two of them gave. */
typedef struct onx_term {
    size_t n;                /* labels, each of them once, without those of size 1 */
    size_t step[ONX_LABELS]; /* in elements, for each of those */
    uint8_t label[ONX_LABELS];
    size_t at; /* of what two gave: where it lies in scratch, in elements */
} onx_term;

/* Terms `a` and `b` become the next one: [batch][m][k] by [batch][k][n]. */
typedef struct onx_pair {
    size_t a, b, n_batch, n_m, n_n, n_k;
    uint8_t k[ONX_LABELS]; /* the others are the labels of the result */
} onx_pair;

/* A plan. What follows in memory: 2n - 1 terms, then n - 1 pairs. */
typedef struct onx_contract {
    size_t n; /* operands: the first inputs of the call */
    size_t sizes[ONX_LABELS];
    size_t n_out;
    uint8_t out[ONX_RANK_MAX]; /* labels of the output, without those of size 1 */
    double alpha;              /* of floats */
    size_t stage[2];           /* where operands of a product lie in scratch, in elements */
} onx_contract;

/* init: bytes of a plan for n operands. LIMIT: they are too many. */
onx_status onx_contract_bytes(const onx_call *call, size_t n, size_t *out) ONX_MUST_CHECK;
/* bind, in this order. The plan of n operands is begun with no labels and all sizes 1. */
onx_contract *onx_contract_begin(onx_call *call, size_t n);
/* A dimension of operand `index` with that label. INVALID when it has another size already; 1 is as
 * good as any. */
onx_status onx_contract_size(const onx_call *call, onx_contract *plan, size_t index, size_t dim,
                             uint8_t label) ONX_MUST_CHECK;
/* When all sizes are known: the same again. */
void onx_contract_dim(const onx_call *call, onx_contract *plan, size_t index, size_t dim,
                      uint8_t label);
/* The labels of output 0; its shape is the sizes. Then pairs are chosen, and scratch is counted. */
onx_status onx_contract_end(onx_call *call, onx_contract *plan, size_t rank, const uint8_t *labels)
    ONX_MUST_CHECK;

onx_status onx_contract_run(onx_call *call) ONX_MUST_CHECK;

static inline onx_term *onx_contract_term(const onx_contract *plan, size_t index) {
    return (onx_term *)(uintptr_t)(plan + 1) + index;
}
static inline onx_pair *onx_contract_pair(const onx_contract *plan, size_t index) {
    return (onx_pair *)onx_contract_term(plan, 2 * plan->n - 1) + index;
}

#endif
