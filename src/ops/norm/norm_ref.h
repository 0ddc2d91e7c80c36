/* norm_ref.h: normalization of rows: n elements that lie together become (x - mean) / deviation,
 * and then get a scale and a bias each. */
#ifndef ONX_NORM_REF_H
#define ONX_NORM_REF_H

#include "ops/reduce/reduce_ref.h"

typedef struct onx_norm_state {
    int64_t axis, groups;
    float epsilon, momentum;
    onx_dtype stash; /* of the outputs Mean and InvStdDev */
    bool centred;    /* the mean is taken away */
    bool simplified; /* output 1 is InvStdDev */
    bool spatial;    /* BatchNormalization: one number for each channel, not each place */
    bool training;
} onx_norm_state;

/* Number i of the input, in the order of memory, has scale and bias number i / divisor % modulus;
 * or, if `spread`, those that broadcasting gives it. */
typedef struct onx_norm_plan {
    int64_t rows, n; /* the input is [rows][n] */
    int64_t divisor, modulus;
    bool spread;
} onx_norm_plan;

onx_status onx_norm_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_norm_bind_layer(onx_call *call) ONX_MUST_CHECK; /* and RMSNormalization */
onx_status onx_norm_bind_instance(onx_call *call) ONX_MUST_CHECK;
onx_status onx_norm_bind_group(onx_call *call) ONX_MUST_CHECK;
onx_status onx_norm_bind_batch(onx_call *call) ONX_MUST_CHECK;
onx_status onx_norm_run(onx_call *call) ONX_MUST_CHECK; /* all but BatchNormalization */
onx_status onx_norm_run_batch(onx_call *call) ONX_MUST_CHECK;

/* The others (norm_along_ref.c): along any axes, and across channels. */
typedef struct onx_along_state {
    onx_reduce_state axes;
    bool lp;   /* LpNormalization: divide by the norm; else take the mean away, divide by the
                  deviation */
    int64_t p; /* 1 or 2 */
} onx_along_state;
onx_status onx_norm_init_along(onx_call *call) ONX_MUST_CHECK; /* LpNormalization */
onx_status onx_norm_bind_along(onx_call *call) ONX_MUST_CHECK; /* and MeanVarianceNormalization */
onx_status onx_norm_run_along(onx_call *call) ONX_MUST_CHECK;
typedef struct onx_lrn_state {
    double alpha, beta, bias;
    int64_t size; /* of the window, in channels */
} onx_lrn_state;
/* The channels that channel c is divided by. */
static inline void onx_lrn_window(const onx_lrn_state *st, int64_t c, int64_t channels,
                                  int64_t *first, int64_t *last) {
    int64_t before = (st->size - 1) / 2, after = st->size - 1 - before;
    *first = c > before ? c - before : 0;
    *last = channels - 1 - c > after ? c + after : channels - 1;
}
onx_status onx_norm_init_lrn(onx_call *call) ONX_MUST_CHECK;
onx_status onx_norm_bind_lrn(onx_call *call) ONX_MUST_CHECK;
onx_status onx_norm_run_lrn(onx_call *call) ONX_MUST_CHECK;

/* How many of `rows` of n elements make a task. */
static inline int64_t onx_norm_grain(int64_t n) {
    return 1 + 8192 / (n > 0 ? n : 1);
}

#endif
