/* attend_bf16.c: see attend_bf16.h; and the row of the tier bf16. */
#include "ops/attention/attend_bf16.h"

#include "cpu/shares.h"
#include "cpu/vec.h"

#include <math.h>

enum {
    LANES = ONX_BF16_COLS,
    NV = LANES / VF,
    KEYS = ONX_ATTEND_OTHER_KEYS,
    STEP = 32, /* keys, or columns of V, that the kernel takes at once */
    PACK_TASK = 1 << 15,
};

/* ─ K and V ──────────────────────────────────────────────────────────────────────────────────── */

/* How K or V lie: heads that share a matrix have it once. */
typedef struct side {
    const onx_strides *strides;
    int64_t inner, heads; /* heads that share one; how many there are */
    size_t lines, depth;  /* of a packed matrix */
    size_t size, count;   /* elements of it; how many there are */
} side;

static bool side_init(const onx_fused_plan *p, const onx_strides *s, int64_t lines, int64_t depth,
                      side *out) {
    size_t all;
    int64_t inner = s->dims[ONX_VIEW_HEAD].fast ? 1 : s->dims[ONX_VIEW_HEAD].inner;
    *out = (side){.strides = s, .inner = inner, .lines = (size_t)lines, .depth = (size_t)depth};
    out->heads = (p->heads - 1) / inner + 1;
    out->count = (size_t)(p->batch * out->heads);
    if (!onx_add_size(out->depth, ONX_BF16_DEPTH - 1, &all) ||
        !onx_mul_size(all - all % ONX_BF16_DEPTH,
                      onx_bf16_ceil(out->lines, ONX_BF16_ROWS) * ONX_BF16_ROWS, &out->size))
        return false;
    return onx_mul_size(out->size, out->count, &all) && onx_mul_size(all, sizeof(uint16_t), &all);
}

typedef struct sides {
    side k, v;
} sides;
static bool sides_init(const onx_fused_plan *p, sides *out) {
    return side_init(p, &p->k, p->keys, p->head, &out->k) &&
           side_init(p, &p->v, p->v_head, p->keys, &out->v);
}
static const uint16_t *matrix_of(const side *s, const uint16_t *packed, int64_t batch,
                                 int64_t head) {
    return packed + (size_t)(batch * s->heads + head / s->inner) * s->size;
}

/* What a worker has of its own: for its unit, and room for the numbers behind. */
typedef struct own {
    const uint16_t *k, *v; /* of the head */
    size_t k_next, v_next; /* from one block to the next */
    uint16_t *q, *s;       /* panels: [head], [KEYS] */
    float *y;              /* [v_head][LANES] */
} own;
enum { OWN_BYTES = (sizeof(own) + ONX_ALIGN - 1) / ONX_ALIGN * ONX_ALIGN };

static size_t columns_of(const onx_fused_plan *p) {
    return onx_bf16_ceil((size_t)p->v_head, STEP) * STEP;
}

bool onx_attend_bind_bf16(const onx_fused_plan *p, size_t *shared, size_t *each) {
    sides s;
    if (!sides_init(p, &s)) return false;
    size_t width = columns_of(p) * 2 + KEYS + (size_t)p->head + ONX_BF16_DEPTH;
    *shared = s.v.size * s.v.count * sizeof(uint16_t);
    return onx_add_size(*shared, s.k.size * s.k.count * sizeof(uint16_t), shared) &&
           onx_mul_size(width, LANES * sizeof(uint16_t), each) &&
           onx_add_size(*each, OWN_BYTES, each);
}

/* Where those who made Q, K and V shared out their rows, as products of that size do: then a thread
 * finds what it made. */
bool onx_attend_by_rows_bf16(const onx_fused_plan *p) {
    size_t width = (size_t)(p->heads * p->head);
    return p->batch == 1 && p->rows == p->keys &&
           onx_bf16_shares_rows((size_t)p->rows, width, width);
}

typedef struct packing {
    sides sides;
    const float *k, *v;
    uint16_t *to;              /* K, then V */
    size_t matrices;           /* of a task, of which `tasks` are for the first keys of all, */
    size_t keys, split, tasks; /* those before `split` */
} packing;

/* Keys from `key`, a multiple of STEP, to `end`. */
static void pack_matrix(const packing *k, size_t index, bool is_v, size_t key, size_t end) {
    const side *s = is_v ? &k->sides.v : &k->sides.k;
    int64_t head = (int64_t)index % s->heads * s->inner, batch = (int64_t)index / s->heads;
    size_t row = s->strides->dims[ONX_VIEW_ROW].fast, col = s->strides->dims[ONX_VIEW_COL].fast;
    size_t blocks = onx_bf16_ceil(s->lines, ONX_BF16_ROWS), next = onx_bf16_block_size(s->depth);
    const float *from =
        (is_v ? k->v : k->k) + onx_strides_head(s->strides, batch, head) + key * row;
    uint16_t *to = k->to + (is_v ? k->sides.k.size * k->sides.k.count : 0) + index * s->size;
    onx_bf16_source keys = {from, end - key, s->depth, row, col, false};
    onx_bf16_source turned = {from, s->lines, end - key, col, row, false};
    if (!is_v)
        onx_bf16_pack_a(&keys, 0, onx_bf16_ceil(end - key, ONX_BF16_ROWS),
                        to + key / ONX_BF16_ROWS * next);
    for (size_t i = 0; is_v && i < blocks; i++)
        onx_bf16_pack_a(&turned, i, 1, to + i * next + key * ONX_BF16_ROWS);
}

/* Head by head, K and V: a thread will find in its cache what it packed. */
static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)call, (void)scratch;
    const packing *k = user;
    bool pairs = k->sides.k.count == k->sides.v.count, first = index < k->tasks;
    const sides *s = &k->sides;
    size_t at = index % k->tasks * k->matrices, end = s->k.count + s->v.count;
    if (end - at > k->matrices) end = at + k->matrices;
    for (; at < end; at++) {
        bool is_v = pairs ? at % 2 : at >= s->k.count;
        pack_matrix(k,
                    pairs  ? at / 2
                    : is_v ? at - s->k.count
                           : at,
                    is_v, first ? 0 : k->split, first ? k->split : k->keys);
    }
    return ONX_OK;
}

onx_status onx_attend_pack_bf16(onx_call *call, const onx_fused_plan *p, void *shared) {
    packing k = {.k = call->in[1]->data, .v = call->in[2]->data, .to = shared};
    size_t parts = onx_attend_by_rows_bf16(p) ? 2 : 1;
    if (!sides_init(p, &k.sides)) return onx_fail_nomem(call->diag);
    k.keys = (size_t)p->keys;
    k.split = parts > 1 ? onx_share_at(k.keys / STEP, 2, 1) * STEP : k.keys;
    k.matrices = 1 + parts * PACK_TASK / (k.sides.k.size + k.sides.v.size + 1);
    k.tasks = onx_bf16_ceil(k.sides.k.count + k.sides.v.count, k.matrices);
    return onx_call_parallel(call, parts * k.tasks, pack_task, &k);
}

/* ─ Units ────────────────────────────────────────────────────────────────────────────────────── */

void onx_attend_begin_bf16(const onx_attend_unit *u) {
    const onx_fused_plan *p = u->p;
    sides s;
    own *o = u->own;
    (void)sides_init(p, &s); /* as in bind */
    o->k = matrix_of(&s.k, u->shared, u->batch, u->head);
    o->v = matrix_of(&s.v, (const uint16_t *)u->shared + s.k.size * s.k.count, u->batch, u->head);
    o->k_next = onx_bf16_block_size(s.k.depth);
    o->v_next = onx_bf16_block_size(s.v.depth);
    o->y = (float *)((char *)u->own + OWN_BYTES);
    o->s = (uint16_t *)(o->y + columns_of(p) * LANES);
    o->q = o->s + KEYS * LANES;
    onx_bf16_source q = {u->q, (size_t)p->head, LANES, LANES, 1, false};
    onx_bf16_pack_b(&q, 0, 1, o->q);
}

void onx_attend_scores_bf16(const onx_attend_unit *u, int64_t key, size_t n,
                            onx_bf16_kernel *kernel) {
    const own *o = u->own;
    onx_bf16_block b = {.depth = (size_t)u->p->head, .b = o->q, .a_next = o->k_next, .ldc = LANES};
    for (size_t i = 0; i < n; i += STEP) {
        b.rows = n - i < STEP ? n - i : STEP;
        b.a = o->k + ((size_t)key + i) / ONX_BF16_ROWS * b.a_next;
        b.c = u->s + i * LANES;
        kernel(&b);
    }
}

/* 2^x to four digits, of an x that is not above 0; what is below 2^-126 becomes 0. NaN stays. */
static inline __m512 power(__m512 x) {
    __mmask16 large = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-126), _CMP_NLT_UQ);
    __m512 f = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); /* x - floor(x) */
    __m512 y = _mm512_fmadd_ps(f, _mm512_set1_ps(0.07802452f), _mm512_set1_ps(0.22606716f));
    y = _mm512_fmadd_ps(f, y, _mm512_set1_ps(0.69583354f));
    y = _mm512_fmadd_ps(f, y, _mm512_set1_ps(0.99992522f));
    return _mm512_maskz_scalef_ps(large, y, x);
}

static __m512 largest(const float *s, size_t n, __m512 most) {
    __m512 odd = most;
    for (size_t key = 0; key < n; key += 2) { /* the last one twice, where their number is odd */
        most = _mm512_max_ps(_mm512_loadu_ps(s + key * LANES), most);
        odd = _mm512_max_ps(_mm512_loadu_ps(s + (key + 1 < n ? key + 1 : key) * LANES), odd);
    }
    return _mm512_max_ps(most, odd);
}

/* Scores of VF lanes to a panel of powers, with zeros up to a multiple of the depth; what the sums
 * so far are to be multiplied by. */
static __m512 advance(const float *s, size_t n, float *max, float *sum, uint16_t *to) {
    const __m512 log2e = _mm512_set1_ps(1.44269504f), zero = _mm512_setzero_ps();
    __m512 before = _mm512_loadu_ps(max), most = largest(s, n, before), even = zero, odd = zero;
    __mmask16 none = _mm512_cmp_ps_mask(most, _mm512_set1_ps(-INFINITY), _CMP_EQ_OQ);
    __m512 base = _mm512_mask_mul_ps(zero, (__mmask16)~none, most, log2e);
    __m512 factor = power(_mm512_fmsub_ps(before, log2e, base));
    size_t key = 0;
    for (; key + 2 <= n; key += 2) {
        __m512 x = power(_mm512_fmsub_ps(_mm512_loadu_ps(s + key * LANES), log2e, base));
        __m512 y = power(_mm512_fmsub_ps(_mm512_loadu_ps(s + (key + 1) * LANES), log2e, base));
        even = _mm512_add_ps(even, x);
        odd = _mm512_add_ps(odd, y);
        vf_store_bf16_pairs(to + key * LANES, (vf)x, (vf)y); /* of a NaN, the sum has it */
    }
    for (; key < onx_bf16_ceil(n, STEP) * STEP; key += 2) {
        __m512 x = zero;
        if (key < n) x = power(_mm512_fmsub_ps(_mm512_loadu_ps(s + key * LANES), log2e, base));
        even = _mm512_add_ps(even, x);
        vf_store_bf16_pairs(to + key * LANES, (vf)x, (vf)zero);
    }
    _mm512_storeu_ps(max, most);
    _mm512_storeu_ps(sum, _mm512_fmadd_ps(_mm512_loadu_ps(sum), factor, _mm512_add_ps(even, odd)));
    return factor;
}

void onx_attend_values_bf16(const onx_attend_unit *u, int64_t key, size_t n,
                            onx_bf16_kernel *kernel) {
    const own *o = u->own;
    __m512 factor[NV];
    size_t columns = (size_t)u->p->v_head;
    for (size_t v = 0; v < NV; v++)
        factor[v] = advance(u->s + v * VF, n, u->max + v * VF, u->sum + v * VF, o->s + v * LANES);
    onx_bf16_block b = {.depth = n, .b = o->s, .a_next = o->v_next, .ldc = LANES};
    for (size_t i = 0; i < columns; i += STEP) {
        b.rows = columns - i < STEP ? columns - i : STEP;
        b.a = o->v + i / ONX_BF16_ROWS * b.a_next + (size_t)key * ONX_BF16_ROWS;
        b.c = o->y + i * LANES;
        kernel(&b);
    }
    for (size_t i = 0; i < columns; i++)
        for (size_t v = 0; v < NV; v++) {
            float *y = u->y + i * LANES + v * VF;
            __m512 more = _mm512_loadu_ps(o->y + i * LANES + v * VF);
            _mm512_storeu_ps(y, _mm512_fmadd_ps(_mm512_loadu_ps(y), factor[v], more));
        }
}

/* ─ The row ──────────────────────────────────────────────────────────────────────────────────── */

static void scores(const onx_attend_unit *u, int64_t key, size_t n) {
    onx_attend_scores_bf16(u, key, n, onx_bf16_kernel_bf16);
}
static void values(const onx_attend_unit *u, int64_t key, size_t n) {
    onx_attend_values_bf16(u, key, n, onx_bf16_kernel_bf16);
}
static void end(void) {}
static const onx_attend_other products = {onx_attend_bind_bf16,
                                          onx_attend_by_rows_bf16,
                                          onx_attend_pack_bf16,
                                          onx_attend_begin_bf16,
                                          scores,
                                          values,
                                          end};

static onx_status bind(onx_call *call) {
    return onx_attend_bind_avx512(call, &products);
}
static onx_status run(onx_call *call) {
    return onx_attend_run_avx512(call, &products);
}

extern onx_kernel_rows onx_kernels_attention_bf16;
onx_kernel_rows onx_kernels_attention_bf16 = ONX_ATTEND_ROWS_BF16(bind, run);
