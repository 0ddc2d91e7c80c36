/* fused_simd.h: Attend on the vectors of a tier (attend_simd.c), and how another tier puts its own
 * products in the place of those. */
#ifndef ONX_FUSED_SIMD_H
#define ONX_FUSED_SIMD_H

#include "cpu/isa.def"
#include "ops/attention/fused_ref.h"

typedef struct onx_attend_plan {
    onx_fused_plan p;
    size_t bias_at[ONX_ATTEND_BIASES];    /* in the shared scratch, in floats */
    size_t bias_lanes[ONX_ATTEND_BIASES]; /* of a key: 1, or all rows in whole units */
    int64_t blocks;                       /* units of a head; so many of each head come first: */
    int64_t ahead;                        /* tasks are in the order of rows; 0: of heads */
    size_t units;                         /* of a task */
    size_t other_at, other_each;          /* in the scratches: of the other tier; bytes */
} onx_attend_plan;

/* A unit at work: rows of one head, one in each lane. */
typedef struct onx_attend_unit {
    const onx_fused_plan *p;
    int64_t batch, head;
    const float *q;   /* Qᵀ [head][lanes], scaled; zeros in lanes without a row */
    float *s;         /* [keys][lanes] */
    float *y;         /* Yᵀ [v_head][lanes], to be divided by */
    float *sum, *max; /* [lanes], of the powers; of the scores */
    const void *shared;
    void *own;
} onx_attend_unit;

/* Products of another tier, for units of 32 lanes and some keys at a time. */
enum { ONX_ATTEND_OTHER_KEYS = 256 };
typedef struct onx_attend_other {
    /* bind: bytes that all units share, and of each worker; false: too many. */
    bool (*bind)(const onx_fused_plan *p, size_t *shared, size_t *each);
    /* Are the first rows of all heads to be made by one thread, rather than the first heads? */
    bool (*by_rows)(const onx_fused_plan *p);
    /* run: K and V for all units. */
    onx_status (*pack)(onx_call *call, const onx_fused_plan *p, void *shared);
    void (*begin)(const onx_attend_unit *u);
    /* Scores of keys key … key + n - 1, to s. */
    void (*scores)(const onx_attend_unit *u, int64_t key, size_t n);
    /* The same keys, with biases in their scores: changes y, sum and max. */
    void (*values)(const onx_attend_unit *u, int64_t key, size_t n);
    void (*end)(void);
} onx_attend_other;

/* bind and run of a row whose plan is an onx_attend_plan; `other` may be NULL. */
#define ONX_ATTEND_DECLARE(isa)                                                                    \
    onx_status onx_attend_bind_##isa(onx_call *call, const onx_attend_other *other)                \
        ONX_MUST_CHECK;                                                                            \
    onx_status onx_attend_run_##isa(onx_call *call, const onx_attend_other *other) ONX_MUST_CHECK;
ONX_ISAS(ONX_ATTEND_DECLARE)
#undef ONX_ATTEND_DECLARE

#endif
