/* fused_ref.h: what the kernels of onx.internal::Attend (attend_view.h) share. */
#ifndef ONX_FUSED_REF_H
#define ONX_FUSED_REF_H

#include "ops/attention/attend_view.h"
#include "rt/kernel.h"

typedef struct onx_fused_state {
    onx_view in[3]; /* Q, K, V */
    size_t rank;
    int64_t order[ONX_VIEW_DIMS]; /* the dimensions of Y */
    float scale;
    int64_t mode[ONX_ATTEND_BIASES]; /* onx_attend_mode */
    float fill[ONX_ATTEND_BIASES];
    int64_t causal; /* 1: row i sees the keys up to i; 2: the last row sees all, each one before it
                       one less */
    int64_t guard;  /* 1: a row whose chances are NaN gives 0; 2: only one that sees no key */
} onx_fused_state;

/* A view of a tensor whose sizes are known, in elements. Index i of a dimension is at
 * i / inner * slow + i % inner * fast. */
typedef struct onx_strides {
    size_t start;
    struct {
        int64_t n, inner;
        size_t slow, fast;
    } dims[ONX_VIEW_DIMS];
} onx_strides;
static inline size_t onx_strides_at(const onx_strides *s, size_t dim, int64_t i) {
    return (size_t)(i / s->dims[dim].inner) * s->dims[dim].slow +
           (size_t)(i % s->dims[dim].inner) * s->dims[dim].fast;
}
/* Where the matrix of a head begins. */
static inline size_t onx_strides_head(const onx_strides *s, int64_t batch, int64_t head) {
    return s->start + onx_strides_at(s, ONX_VIEW_BATCH, batch) +
           onx_strides_at(s, ONX_VIEW_HEAD, head);
}

/* The view of that tensor; false: it leads out of it. */
bool onx_view_bind(const onx_view *view, const onx_operand *x, onx_strides *out);

/* Sizes of a bias over batch, head, row and key: 1, or that of the scores; of the batch, any that
 * it repeats after. */
typedef struct onx_fused_bias {
    const onx_operand *operand; /* set in run; NULL: none */
    int64_t n[4];
    int64_t mode;
    float fill;
} onx_fused_bias;

typedef struct onx_fused_plan {
    onx_strides q, k, v, y;
    int64_t batch, heads, rows, keys, head, v_head;
    onx_fused_bias bias[ONX_ATTEND_BIASES];
} onx_fused_plan;

onx_status onx_fused_init(onx_call *call) ONX_MUST_CHECK;
onx_status onx_fused_bind(onx_call *call) ONX_MUST_CHECK; /* the plan is an onx_fused_plan */
/* The plain kernel: the same, with its scratch; and its run. */
onx_status onx_fused_bind_plain(onx_call *call) ONX_MUST_CHECK;
onx_status onx_fused_run(onx_call *call) ONX_MUST_CHECK;
/* run: the biases, with their operands. */
void onx_fused_biases(const onx_call *call, onx_fused_bias out[ONX_ATTEND_BIASES]);
/* The element of a bias as a float: what is added, or, with a mode that fills, the number that
 * takes the place of the score, or 0 where it stays. */
float onx_fused_bias_at(const onx_fused_bias *bias, int64_t batch, int64_t head, int64_t row,
                        int64_t key);
/* Is a row with that sum of chances to be 0? */
static inline bool onx_fused_guards(const onx_fused_state *st, double sum) {
    return st->guard == 1 ? !(sum > 0) : st->guard == 2 && sum == 0;
}
/* How many keys the row sees. */
static inline int64_t onx_fused_seen(const onx_fused_plan *p, const onx_fused_state *st,
                                     int64_t row) {
    int64_t end = row + 1 + (st->causal == 2 ? p->keys - p->rows : 0);
    return !st->causal || end > p->keys ? p->keys : end < 0 ? 0 : end;
}

#endif
