/* attend_ref.h: what the kernels of attention share, in every domain: for each row of each query
 * head
 *
 *     scores  = scale (root q) (root K)'    one for each key
 *     scores  = cap tanh (scores / cap)     where there is a cap
 *     scores += bias                        masks, places: each operator has its own
 *     chances = softmax (scores)
 *     y       = chances V
 *
 * Blocks of rows of one head are tasks; scores of such a block are all that is kept. Keys and
 * values come in two parts that stay where they are: those of the past, and the new ones. */
#ifndef ONX_ATTEND_REF_H
#define ONX_ATTEND_REF_H

#include "ir/dtype.h"
#include "rt/kernel.h"

/* Rows of heads in memory. Strides count elements; those of a row lie together. */
typedef struct onx_rows {
    char *data;
    onx_dtype dtype;
    size_t batch, head, row;
    /* Of a cache of integers: they are of 8 bits, or two of 4 in each byte, from -8 up, the low
     * ones first; and are multiples of a scale, or of one for each element of each head. 0: no
     * such. */
    unsigned bits;
    const onx_operand *scales;
} onx_rows;

/* The rows of a tensor [batch, heads, length, size], or [batch, length, heads * size]. */
onx_rows onx_rows_of(const onx_operand *operand, int64_t heads);
/* Rows that lie in the order [batch, heads, length, size]. */
onx_rows onx_rows_in(void *data, onx_dtype dtype, int64_t heads, int64_t length, int64_t size);

typedef struct onx_attend onx_attend;
/* The keys that a row sees: first … end-1. */
typedef struct onx_seen {
    int64_t first, end;
} onx_seen;
/* Adds to the scores of row `s` of query head `h` in batch `b`, and says which keys it sees;
 * without scores, which it may see. */
typedef onx_seen onx_attend_bias(const onx_attend *attend, int64_t b, int64_t h, int64_t s,
                                 int64_t keys, double *scores);
/* How many keys batch `b` has, and how many of them are of the past. */
typedef int64_t onx_attend_keys(const onx_attend *attend, int64_t b, int64_t *past);

/* What a tier may make of a block of rows whose numbers are all floats. */
typedef struct onx_attend_dots { /* scores of n keys, which are `step` apart */
    const float *q, *k;          /* q: [rows][head] */
    size_t rows, head, step, n, stride;
    float scale, *scores; /* [rows][stride] */
} onx_attend_dots;
typedef struct onx_attend_add { /* y += chances V, for values that are `step` apart */
    float *y;                   /* [rows][n] */
    const float *v, *chances;   /* chances: [rows][stride] */
    size_t rows, n, step, stride, values;
} onx_attend_add;
typedef struct onx_attend_vectors {
    void (*dots)(const onx_attend_dots *d);
    void (*bend)(float *x, size_t n, float cap); /* cap tanh (x / cap) */
    float (*largest)(const float *x, size_t n);
    double (*powers)(float *x, size_t n, float max); /* exp (x - max); their sum */
    void (*add)(const onx_attend_add *a);
} onx_attend_vectors;

struct onx_attend {
    const onx_call *call;
    const onx_attend_vectors *vectors; /* used where all are floats; NULL: none */
    int64_t batch, q_heads, kv_heads, q_len, head, v_head;
    int64_t past, keys;    /* in all batches, unless `count` says it */
    onx_dtype stage, soft; /* scores are rounded to the first, and to the second for the softmax */
    double root, scale, cap;   /* cap 0: none */
    onx_rows q, y, k[2], v[2]; /* [0]: of the past */
    onx_attend_keys *count;
    onx_attend_bias *bias;   /* NULL: none, and all keys are seen */
    bool hides;              /* it adds nothing */
    const onx_operand *sink; /* a score for each head that takes part in the sum; NULL: none */
    bool smooth;             /* without a sink: as if it were 0 */
    onx_operand *shown;      /* what the scores are at a stage, as an output; NULL: nobody asks */
    int64_t show;            /* 0: scaled, 1: capped, 2: with bias, 3: chances */
    bool bare;               /* shown: 0 where a row does not see */
    const void *more;        /* for `count` and `bias` */
};

/* init: inputs from number 5 on are of these types, where they are given; a row can say it only of
 * those before. UNSUPPORTED: they are not. */
onx_status onx_attend_types(const onx_call *call, size_t n, const uint32_t *types) ONX_MUST_CHECK;
/* bind: scratch for each worker, added to what the call has. `keys`: the most in any batch. Output
 * 3, if there is one, is what shows scores. */
onx_status onx_attend_scratch(onx_call *call, int64_t q_len, int64_t keys, int64_t head,
                              int64_t v_head) ONX_MUST_CHECK;
/* run: `keys` is what onx_attend_scratch was told. */
onx_status onx_attend_run(onx_call *call, const onx_attend *attend, int64_t keys) ONX_MUST_CHECK;

/* attention_ref.c: Attention, with the vectors of a tier, or NULL; how large its plan may be. */
enum { ONX_ATTENTION_PLAN = 128 };
onx_status onx_attention_init(onx_call *call, const onx_attend_vectors *vectors) ONX_MUST_CHECK;
onx_status onx_attention_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_attention_run(onx_call *call) ONX_MUST_CHECK;

/* run: rows 0 … length-1 of each head to row `at` … of another place. */
onx_status onx_rows_copy(onx_call *call, const onx_rows *from, const onx_rows *to, int64_t at,
                         int64_t batch, int64_t heads, int64_t length, int64_t size) ONX_MUST_CHECK;

/* Elements as doubles, and back. */
void onx_rows_get(const onx_rows *rows, size_t at, int64_t n, double *out);
void onx_rows_put(const onx_rows *rows, size_t at, int64_t n, const double *x);

/* The first element of a row. */
static inline size_t onx_rows_at(const onx_rows *rows, int64_t b, int64_t h, int64_t s) {
    return (size_t)b * rows->batch + (size_t)h * rows->head + (size_t)s * rows->row;
}

#endif
