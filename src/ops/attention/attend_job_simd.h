/* attend_job_simd.h: what the files of Attend on vectors share: a run at work, where its biases
 * are, and the powers of scores. */
#ifndef ONX_ATTEND_JOB_SIMD_H
#define ONX_ATTEND_JOB_SIMD_H

#include "cpu/vec_math.h"
#include "ops/attention/fused_simd.h"

enum {
    NV = 2, /* vectors of rows in a unit */
    LANES = NV * VF,
    KEYS = 128, /* of a unit at once */
};

typedef struct onx_attend_job {
    const onx_attend_plan *plan;
    const onx_fused_state *state;
    const float *q, *k, *v;
    float *y;
    onx_fused_bias bias[ONX_ATTEND_BIASES];
    float *turned[ONX_ATTEND_BIASES]; /* [batch][head][key][lanes] */
    const onx_attend_other *other;    /* NULL: the products are those of this file */
    const void *shared;               /* of the other */
} onx_attend_job;

static inline size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}
/* Operands may lie at any byte. */
static inline float load(const float *p) {
    float x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* exp(x) of an x that is not above 0; what is below 2^-124 becomes 0. NaN stays. */
static inline vf exp_below(vf x) {
    return vf_select(x < -86.0f, vf_zero(), vf_exp_near(x));
}

/* A block of keys of a unit: where its biases are. */
typedef struct onx_attend_block {
    const onx_attend_job *j;
    const float *bias[ONX_ATTEND_BIASES]; /* of the first key; NULL: none */
    size_t lanes[ONX_ATTEND_BIASES];
} onx_attend_block;

static inline onx_attend_block bias_of(const onx_attend_job *j, int64_t b, int64_t h, int64_t key,
                                       int64_t row) {
    onx_attend_block out = {.j = j};
    const onx_fused_plan *p = &j->plan->p;
    for (size_t i = 0; i < ONX_ATTEND_BIASES; i++) {
        const onx_fused_bias *bias = &j->bias[i];
        if (!bias->operand) continue;
        int64_t matrix = b % bias->n[0] * bias->n[1] + h % bias->n[1];
        out.lanes[i] = j->plan->bias_lanes[i];
        out.bias[i] = j->turned[i] + (size_t)(matrix * p->keys + key) * out.lanes[i] +
                      (out.lanes[i] > 1 ? (size_t)row : 0);
    }
    return out;
}

static inline vf with_bias(vf x, vf bias, int64_t mode) {
    return mode == ONX_ATTEND_ADD ? x + bias : vf_select(bias == 0.0f, x, bias);
}

/* attend_row_simd.c: the only row of a head. */
void ONX_TIER(onx_attend_row)(const onx_attend_job *j, int64_t b, int64_t h, float *scratch);
/* attend_bias_simd.c: biases in the order of scores, to the shared scratch. */
onx_status ONX_TIER(onx_attend_turn)(onx_call *call, onx_attend_job *j) ONX_MUST_CHECK;

#endif
