/* attend_simd.c: onx.internal::Attend of floats, without a matrix of scores.
 *
 * A unit is LANES rows of one head. Everything about a row is in one lane: scores lie as
 * [key][lane], chances over them and sums need no step across lanes, and are the second factor of
 * the product with the values.
 *
 *     Qᵀ [head][lane]                    packed once
 *     for each KEYS keys
 *       S [key][lane] = K Qᵀ             K is read where it lies, element by element
 *       S = exp(S + biases - largest)    what was summed up before shrinks when that grows
 *       Yᵀ [column][lane] += Vᵀ S        V, too
 *     Y = Yᵀ / sum
 *
 * One row alone, of which all lanes but one would be idle, goes along the columns instead. Sums go
 * over keys in order, so results do not depend on threads. Biases are brought into the order of the
 * scores first, once for all heads and batches that share them. */
#include "cpu/turn.h"
#include "cpu/vec_math.h"
#include "ops/attention/fused_simd.h"
#include "ops/attention/rotate_ref.h"

#define ROWS_6(X) X(1) X(2) X(3) X(4) X(5) X(6)
#if defined(__AVX512F__) || defined(__ARM_NEON)
#define MR 12
#define EACH_ROWS(X) ROWS_6(X) X(7) X(8) X(9) X(10) X(11) X(12)
#else
#define MR 6
#define EACH_ROWS(X) ROWS_6(X)
#endif
enum {
    NV = 2,
    LANES = NV * VF,
    KEYS = 128,
    SPAN = 64,               /* keys of a bias that are turned at once */
    GROUP = 3,               /* rows of a product that share a pointer */
    TASK_PRODUCTS = 1 << 20, /* of numbers; small units go together into one task */
    COLUMNS = 8,             /* vectors of columns at once, of one row alone */
    OTHER_ROWS = 16,         /* below, packing K and V for another tier costs too much */
};

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

typedef struct job {
    const onx_attend_plan *plan;
    const onx_fused_state *state;
    const float *q, *k, *v;
    float *y;
    onx_fused_bias bias[ONX_ATTEND_BIASES];
    float *turned[ONX_ATTEND_BIASES]; /* [batch][head][key][lanes] */
    const onx_attend_other *other;    /* NULL: the products are those of this file */
    const void *shared;               /* of the other */
} job;

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}
/* Operands may lie at any byte. */
static inline float load(const float *p) {
    float x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

/* c[rows][LANES] = a[rows][depth] b[depth][LANES], or added to it; a[i,l] is at i * row + l * col. */
typedef struct product {
    size_t rows, depth;
    const float *a;
    size_t row, col;
    const float *b;
    float *c;
    bool add;
} product;

static inline __attribute__((always_inline)) void kernel(const product *from, int rows, int nv) {
    const product p = *from;
    const float *a[(MR + GROUP - 1) / GROUP], *b = p.b;
    vf sum[MR][NV];
    UNROLL for (int i = 0; i < rows; i += GROUP) a[i / GROUP] = p.a + (size_t)i * p.row;
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < nv; j++) sum[i][j] =
        p.add ? vf_load(p.c + i * LANES + j * VF) : vf_zero();
    for (size_t l = 0; l < p.depth; l++, b += LANES) {
        vf x[NV];
        UNROLL for (int j = 0; j < nv; j++) x[j] = vf_load(b + j * VF);
        UNROLL for (int i = 0; i < rows; i++) {
            vf y = vf_set(load(a[i / GROUP] + (size_t)(i % GROUP) * p.row));
            UNROLL for (int j = 0; j < nv; j++) sum[i][j] = vf_fma(y, x[j], sum[i][j]);
        }
        UNROLL for (int i = 0; i < rows; i += GROUP) a[i / GROUP] += p.col;
    }
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < nv; j++)
        vf_store(p.c + i * LANES + j * VF, sum[i][j]);
}

#define KERNEL(rows)                                                                               \
    static void narrow_##rows(const product *p) {                                                  \
        kernel(p, rows, 1);                                                                        \
    }                                                                                              \
    static void wide_##rows(const product *p) {                                                    \
        kernel(p, rows, NV);                                                                       \
    }
#define NARROW(rows) narrow_##rows,
#define WIDE(rows) wide_##rows,
EACH_ROWS(KERNEL)
static void (*const kernels[NV][MR])(const product *) = {{EACH_ROWS(NARROW)}, {EACH_ROWS(WIDE)}};

/* All rows, shared out evenly over kernels. */
static void multiply(product p, int nv) {
    size_t parts = (p.rows + MR - 1) / MR, left = p.rows;
    for (; parts; parts--) {
        size_t rows = (left + parts - 1) / parts;
        kernels[nv - 1][rows - 1](&p);
        p.a += rows * p.row;
        p.c += rows * LANES;
        left -= rows;
    }
}

/* ─ Chances ──────────────────────────────────────────────────────────────────────────────────── */

/* exp(x) of an x that is not above 0; what is below 2^-124 becomes 0. NaN stays. */
static inline vf exp_below(vf x) {
    const float magic = 12582912.0f; /* as in vf_exp */
    vf shifted = vf_fma(x, vf_set(1.44269504f), vf_set(magic));
    vi n = vf_bits(shifted) - vf_bits(vf_set(magic));
    vf whole = shifted - magic;
    vf r = vf_fma(whole, vf_set(2.12194440e-4f), vf_fma(whole, vf_set(-0.693359375f), x));
    vf q = VF_POLY(r, 0.49999994f, 0.166665211f, 0.0416682884f, 0.00836870354f, 0.00138189388f);
    vf y = (vf_fma(r * r, q, r) + 1.0f) * vf_exp2i(n);
    return vf_select(x < -86.0f, vf_zero(), y);
}

/* A block of keys of a unit: where its biases are. */
typedef struct block {
    const job *j;
    const float *bias[ONX_ATTEND_BIASES]; /* of the first key; NULL: none */
    size_t lanes[ONX_ATTEND_BIASES];
} block;

static block bias_of(const job *j, int64_t b, int64_t h, int64_t key, int64_t row) {
    block out = {.j = j};
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

static void add_biases(const block *k, float *s, size_t n, int nv) {
    for (size_t i = 0; i < ONX_ATTEND_BIASES; i++) {
        const float *bias = k->bias[i];
        int64_t mode = k->j->bias[i].mode;
        for (size_t key = 0; bias && key < n; key++, bias += k->lanes[i])
            for (int v = 0; v < nv; v++) {
                float *at = s + key * LANES + v * VF;
                vf x = k->lanes[i] > 1 ? vf_load(bias + v * VF) : vf_set(*bias);
                vf_store(at, with_bias(vf_load(at), x, mode));
            }
    }
}

/* Keys that rows do not see: `seen` of the first row, each next one sees one more. */
static void hide(float *s, size_t n, int64_t seen, int nv) {
    float lane[LANES];
    for (int i = 0; i < LANES; i++) lane[i] = (float)i;
    for (size_t key = seen > 0 ? (size_t)seen : 0; key < n; key++)
        for (int v = 0; v < nv; v++) {
            float *at = s + key * LANES + v * VF;
            vi hidden = vf_load(lane + v * VF) <= (float)((int64_t)key - seen);
            vf_store(at, vf_select(hidden, vf_set(-INFINITY), vf_load(at)));
        }
}

/* The running numbers of a unit. */
typedef struct running {
    vf max[NV], sum[NV];
} running;

/* Scores to powers; what the sums so far are to be multiplied by. */
static inline __attribute__((always_inline)) void advance(float *s, size_t n, int nv, running *r,
                                                          vf *factor) {
    vf even[NV], odd[NV], base[NV], sum[NV];
    for (int v = 0; v < nv; v++) even[v] = odd[v] = r->max[v];
    for (size_t key = 0; key < n; key += 2) /* the last one twice, where their number is odd */
        for (int v = 0; v < nv; v++) {
            const float *at = s + key * LANES + v * VF;
            even[v] = vf_max(vf_load(at), even[v]);
            odd[v] = vf_max(vf_load(at + (key + 1 < n ? LANES : 0)), odd[v]);
        }
    for (int v = 0; v < nv; v++) {
        vf most = vf_max(even[v], odd[v]);
        base[v] = vf_select(most == -INFINITY, vf_zero(), most);
        factor[v] = exp_below(r->max[v] - base[v]);
        r->max[v] = most;
        sum[v] = vf_zero();
    }
    for (size_t key = 0; key < n; key++)
        for (int v = 0; v < nv; v++) {
            float *at = s + key * LANES + v * VF;
            vf x = exp_below(vf_load(at) - base[v]);
            sum[v] += x;
            vf_store(at, x);
        }
    for (int v = 0; v < nv; v++) r->sum[v] = vf_fma(r->sum[v], factor[v], sum[v]);
}

static void shrink(float *y, size_t n, int nv, const vf *factor) {
    bool any = false;
    for (int v = 0; v < nv; v++) any = any || vf_any(factor[v] != 1.0f);
    for (size_t i = 0; any && i < n; i++)
        for (int v = 0; v < nv; v++)
            vf_store(y + i * LANES + v * VF, vf_load(y + i * LANES + v * VF) * factor[v]);
}

/* ─ A unit ───────────────────────────────────────────────────────────────────────────────────── */

/* Qᵀ, scaled; lanes beyond the rows are 0. */
static void pack_q(const job *j, const float *q, size_t rows, size_t width, float *to) {
    const onx_strides *s = &j->plan->p.q;
    size_t row = s->dims[ONX_VIEW_ROW].fast, col = s->dims[ONX_VIEW_COL].fast;
    size_t head = (size_t)j->plan->p.head;
    if (col == 1 && rows == width)
        onx_turn(to, LANES, q, row, rows, head);
    else
        for (size_t l = 0; l < head; l++)
            for (size_t i = 0; i < width; i++)
                to[l * LANES + i] = i < rows ? load(q + i * row + l * col) : 0;
    for (size_t l = 0; l < head; l++)
        for (size_t i = 0; i < width; i += VF) {
            float *at = to + l * LANES + i;
            vf_store(at, vf_load(at) * j->state->scale);
        }
}

/* Y from Yᵀ and the sums. */
static void finish(const job *j, float *turned, const running *r, size_t rows, int nv, float *y) {
    const onx_strides *s = &j->plan->p.y;
    size_t row = s->dims[ONX_VIEW_ROW].fast, col = s->dims[ONX_VIEW_COL].fast;
    size_t n = (size_t)j->plan->p.v_head;
    for (int v = 0; v < nv; v++) {
        vf inverse = 1.0f / r->sum[v];
        vi good = j->state->guard == 1   ? r->sum[v] > 0.0f
                  : j->state->guard == 2 ? r->sum[v] != 0.0f
                                         : vi_set(-1);
        for (size_t i = 0; i < n; i++) {
            float *at = turned + i * LANES + v * VF;
            vf_store(at, vf_select(good, vf_load(at) * inverse, vf_zero()));
        }
    }
    if (col == 1)
        onx_turn(y, row, turned, LANES, n, rows);
    else
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < rows; k++)
                memcpy(y + k * row + i * col, turned + i * LANES + k, sizeof *y);
}

/* Scores of a block of keys, changed by the biases; `seen` by the first row. */
static void change_scores(const job *j, const onx_attend_unit *u, int64_t first, int64_t key,
                          size_t n, int64_t seen, int nv) {
    block at_key = bias_of(j, u->batch, u->head, key, first);
    add_biases(&at_key, u->s, n, nv);
    if (key + (int64_t)n > seen) hide(u->s, n, seen - key, nv);
}

static void run_keys(const job *j, const onx_attend_unit *u, int64_t first, int64_t end,
                     int64_t seen, int nv, running *r) {
    const onx_fused_plan *p = u->p;
    product scores = {.depth = (size_t)p->head, .b = u->q, .c = u->s};
    scores.row = p->k.dims[ONX_VIEW_ROW].fast;
    scores.col = p->k.dims[ONX_VIEW_COL].fast;
    product values = {.rows = (size_t)p->v_head, .b = u->s, .c = u->y, .add = true};
    values.row = p->v.dims[ONX_VIEW_COL].fast;
    values.col = p->v.dims[ONX_VIEW_ROW].fast;
    const float *k = j->k + onx_strides_head(&p->k, u->batch, u->head);
    const float *v = j->v + onx_strides_head(&p->v, u->batch, u->head);
    for (int64_t key = 0; key < end; key += KEYS) {
        size_t n = least(KEYS, (size_t)(end - key));
        vf factor[NV];
        scores.rows = values.depth = n;
        scores.a = k + (size_t)key * scores.row;
        values.a = v + (size_t)key * values.col;
        multiply(scores, nv);
        change_scores(j, u, first, key, n, seen, nv);
        if (nv == NV)
            advance(u->s, n, NV, r, factor);
        else
            advance(u->s, n, 1, r, factor);
        shrink(u->y, (size_t)p->v_head, nv, factor);
        multiply(values, nv);
    }
}

static void run_keys_other(const job *j, const onx_attend_unit *u, int64_t first, int64_t end,
                           int64_t seen) {
    j->other->begin(u);
    for (int64_t key = 0; key < end; key += KEYS) {
        size_t n = least(KEYS, (size_t)(end - key));
        j->other->scores(u, key, n);
        change_scores(j, u, first, key, n, seen, NV);
        j->other->values(u, key, n);
    }
    j->other->end();
}

static void run_unit(const job *j, int64_t b, int64_t h, int64_t first, float *scratch) {
    const onx_fused_plan *p = &j->plan->p;
    size_t rows = least(LANES, (size_t)(p->rows - first));
    int nv = rows > VF || j->other ? NV : 1;
    float *q = scratch, *y = q + p->head * LANES, *s = y + p->v_head * LANES;
    running r = {0};
    for (int v = 0; v < NV; v++) r.max[v] = vf_set(-INFINITY);
    size_t at = onx_strides_head(&p->q, b, h) + onx_strides_at(&p->q, ONX_VIEW_ROW, first);
    pack_q(j, j->q + at, rows, (size_t)nv * VF, q);
    int64_t past = j->state->causal == 2 ? p->keys - p->rows : 0;
    int64_t seen = j->state->causal ? first + 1 + past : p->keys; /* of the first row */
    int64_t end = onx_fused_seen(p, j->state, first + (int64_t)rows - 1);
    memset(y, 0, (size_t)p->v_head * LANES * sizeof *y);
    onx_attend_unit u = {p, b, h, q, s, y, (float *)r.sum, (float *)r.max, j->shared, NULL};
    u.own = (char *)scratch + j->plan->other_each;
    if (j->other)
        run_keys_other(j, &u, first, end, seen);
    else
        run_keys(j, &u, first, end, seen, nv, &r);
    at = onx_strides_head(&p->y, b, h) + onx_strides_at(&p->y, ONX_VIEW_ROW, first);
    finish(j, y, &r, rows, nv, j->y + at);
}

/* ─ One row ──────────────────────────────────────────────────────────────────────────────────── */

/* Scores of VF keys at most: products are summed up along the columns, then over the lanes. */
static vf score_keys(const float *q, size_t head, const float *k, size_t row, size_t n) {
    float sums[VF * VF] = {0}, turned[VF * VF];
    vf out = vf_zero();
    for (size_t key = 0; key < n; key++, k += row) {
        vf sum[2] = {vf_zero(), vf_zero()};
        size_t i = 0;
        for (; i + 2 * VF <= head; i += 2 * VF)
            for (size_t u = 0; u < 2; u++)
                sum[u] = vf_fma(vf_load(q + i + u * VF), vf_load(k + i + u * VF), sum[u]);
        for (; i < head; i += VF) {
            size_t some = least(VF, head - i);
            sum[0] = vf_fma(vf_load_n(q + i, some), vf_load_n(k + i, some), sum[0]);
        }
        vf_store(sums + key * VF, sum[0] + sum[1]);
    }
    onx_turn(turned, VF, sums, VF, VF, VF);
    for (size_t i = 0; i < VF; i++) out += vf_load(turned + i * VF);
    return out;
}

static float score_row(const block *k, const float *q, const float *from, size_t n, float *s) {
    const onx_fused_plan *p = &k->j->plan->p;
    size_t row = p->k.dims[ONX_VIEW_ROW].fast;
    vf max = vf_set(-INFINITY);
    for (size_t key = 0; key < n; key += VF) {
        size_t some = least(VF, n - key);
        vf x = score_keys(q, (size_t)p->head, from + key * row, row, some);
        for (size_t i = 0; i < ONX_ATTEND_BIASES; i++)
            if (k->bias[i]) x = with_bias(x, vf_load_n(k->bias[i] + key, some), k->j->bias[i].mode);
        vf_store(s + key, x);
        for (size_t i = some; i < VF; i++) s[key + i] = -INFINITY;
        max = vf_max(vf_load(s + key), max);
    }
    return vf_largest(max);
}

/* y = factor y + s V, a few vectors of columns at a time. */
static void add_values(const float *s, size_t n, const float *v, size_t row, float factor,
                       size_t columns, float *y) {
    for (size_t c = 0; c < columns; c += COLUMNS * VF) {
        size_t left = least(COLUMNS * VF, columns - c), whole = left / VF, rest = left % VF;
        vf sum[COLUMNS + 1];
        for (size_t i = 0; i < whole; i++) sum[i] = vf_load(y + c + i * VF) * factor;
        sum[whole] = vf_load_n(y + c + whole * VF, rest) * factor;
        for (size_t key = 0; key < n; key++) {
            const float *from = v + key * row + c;
            vf x = vf_set(s[key]);
            for (size_t i = 0; i < whole; i++) sum[i] = vf_fma(x, vf_load(from + i * VF), sum[i]);
            if (rest) sum[whole] = vf_fma(x, vf_load_n(from + whole * VF, rest), sum[whole]);
        }
        for (size_t i = 0; i < whole; i++) vf_store(y + c + i * VF, sum[i]);
        vf_store_n(y + c + whole * VF, sum[whole], rest);
    }
}

static void run_row(const job *j, int64_t b, int64_t h, float *scratch) {
    const onx_fused_plan *p = &j->plan->p;
    size_t v_head = (size_t)p->v_head, row = p->v.dims[ONX_VIEW_ROW].fast;
    float *q = scratch, *y = q + p->head * LANES, *s = y + p->v_head * LANES;
    const float *from = j->q + onx_strides_head(&p->q, b, h);
    const float *k = j->k + onx_strides_head(&p->k, b, h);
    const float *v = j->v + onx_strides_head(&p->v, b, h);
    float max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < p->head; i++)
        q[i] = load(from + (size_t)i * p->q.dims[ONX_VIEW_COL].fast) * j->state->scale;
    memset(y, 0, v_head * sizeof *y);
    int64_t end = onx_fused_seen(p, j->state, 0);
    for (int64_t key = 0; key < end; key += KEYS) {
        size_t n = least(KEYS, (size_t)(end - key));
        block at_key = bias_of(j, b, h, key, 0);
        float most = score_row(&at_key, q, k + (size_t)key * p->k.dims[ONX_VIEW_ROW].fast, n, s);
        most = most > max ? most : max;
        float base = most == -INFINITY ? 0 : most;
        vf powers = vf_zero();
        for (size_t i = 0; i < n; i += VF) {
            vf_store(s + i, exp_below(vf_load(s + i) - base));
            powers += vf_load(s + i);
        }
        float factor = max == -INFINITY ? 0 : expf(max - base);
        max = most;
        sum = sum * factor + vf_sum(powers);
        add_values(s, n, v + (size_t)key * row, row, factor, v_head, y);
    }
    float *to = j->y + onx_strides_head(&p->y, b, h);
    bool good = !onx_fused_guards(j->state, (double)sum);
    for (size_t i = 0; i < v_head; i++) {
        float x = good ? y[i] / sum : 0;
        memcpy(to + i * p->y.dims[ONX_VIEW_COL].fast, &x, sizeof x);
    }
}

/* ─ Biases ───────────────────────────────────────────────────────────────────────────────────── */

/* Keys first … first + n - 1 of a row of a bias, as floats. */
static void read_bias(const onx_fused_bias *bias, int64_t b, int64_t h, int64_t row, int64_t first,
                      size_t n, float *to) {
    int64_t at = ((b * bias->n[1] + h) * bias->n[2] + row) * bias->n[3];
    if (bias->n[3] == 1) {
        float x = onx_fused_bias_at(bias, b, h, row, 0);
        for (size_t i = 0; i < n; i++) to[i] = x;
    } else if (bias->mode == ONX_ATTEND_ADD) {
        memcpy(to, (const float *)bias->operand->data + at + first, n * sizeof *to);
    } else {
        const uint8_t *from = (const uint8_t *)bias->operand->data + at + first;
        bool keep = bias->mode != ONX_ATTEND_FILL_TRUE;
        for (size_t i = 0; i < n; i++) to[i] = (from[i] != 0) == keep ? 0 : bias->fill;
    }
}

typedef struct turning {
    const job *j;
    size_t which;
} turning;

/* LANES rows of the bias of one head, or its only one. */
static onx_status turn_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)call;
    const turning *t = user;
    const onx_fused_bias *bias = &t->j->bias[t->which];
    size_t keys = (size_t)t->j->plan->p.keys, lanes = t->j->plan->bias_lanes[t->which];
    size_t blocks = lanes > 1 ? lanes / LANES : 1;
    int64_t matrix = (int64_t)(index / blocks), first = (int64_t)(index % blocks) * LANES;
    size_t rows = least(LANES, (size_t)(bias->n[2] - first));
    float *to = t->j->turned[t->which] + (size_t)matrix * keys * lanes + first, *from = scratch;
    int64_t b = matrix / bias->n[1], h = matrix % bias->n[1];
    memset(from, 0, LANES * SPAN * sizeof *from);
    for (size_t key = 0; key < keys; key += SPAN) {
        size_t n = least(SPAN, keys - key);
        for (size_t i = 0; i < rows; i++)
            read_bias(bias, b, h, first + (int64_t)i, (int64_t)key, n, from + i * SPAN);
        if (lanes > 1)
            onx_turn(to + key * lanes, lanes, from, SPAN, LANES, n);
        else
            memcpy(to + key, from, n * sizeof *to);
    }
    return ONX_OK;
}

static onx_status turn_biases(onx_call *call, job *j) {
    const onx_attend_plan *plan = call->plan;
    for (size_t i = 0; i < ONX_ATTEND_BIASES; i++) {
        if (!j->bias[i].operand) continue;
        turning t = {j, i};
        j->turned[i] = (float *)call->scratch + plan->bias_at[i];
        size_t blocks = plan->bias_lanes[i] > 1 ? plan->bias_lanes[i] / LANES : 1;
        size_t n = (size_t)(j->bias[i].n[0] * j->bias[i].n[1]) * blocks;
        ONX_TRY(onx_call_parallel(call, n, turn_task, &t));
    }
    return ONX_OK;
}

/* ─ The rows ─────────────────────────────────────────────────────────────────────────────────── */

static bool place_bias(onx_call *call, onx_attend_plan *plan, size_t i) {
    const onx_fused_bias *bias = &plan->p.bias[i];
    size_t floats, end;
    plan->bias_lanes[i] = bias->n[2] > 1 ? (size_t)plan->blocks * LANES : 1;
    plan->bias_at[i] = call->scratch_bytes / sizeof(float);
    if (!onx_mul_size((size_t)(bias->n[0] * bias->n[1]), (size_t)plan->p.keys, &floats) ||
        !onx_mul_size(floats, plan->bias_lanes[i], &floats) || !onx_add_size(floats, VF, &floats) ||
        !onx_mul_size(floats, sizeof(float), &end))
        return false;
    return onx_add_size(call->scratch_bytes, end, &call->scratch_bytes);
}

/* What the other tier needs, after what is taken already. */
static bool place_other(onx_call *call, onx_attend_plan *plan, const onx_attend_other *other) {
    size_t shared, each;
    if (!onx_add_size(call->scratch_bytes, ONX_ALIGN, &plan->other_at) ||
        !onx_add_size(call->scratch_each, ONX_ALIGN, &plan->other_each))
        return false;
    plan->other_at -= plan->other_at % ONX_ALIGN;
    plan->other_each -= plan->other_each % ONX_ALIGN;
    return other->bind(&plan->p, &shared, &each) &&
           onx_add_size(plan->other_at, shared, &call->scratch_bytes) &&
           onx_add_size(plan->other_each, each, &call->scratch_each);
}

onx_status ONX_TIER(onx_attend_bind)(onx_call *call, const onx_attend_other *other) {
    onx_attend_plan *plan = call->plan;
    ONX_TRY(onx_fused_bind(call));
    const onx_fused_plan *p = &plan->p;
    size_t width, bytes;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    plan->blocks = (p->rows - 1) / LANES + 1;
    for (size_t i = 0; i < ONX_ATTEND_BIASES; i++)
        if (onx_call_in(call, 3 + i) && !place_bias(call, plan, i))
            return onx_fail_nomem(call->diag);
    if (!onx_add_size((size_t)p->head, (size_t)p->v_head, &width) ||
        !onx_add_size(width, KEYS, &width) || !onx_mul_size(width, LANES * sizeof(float), &bytes))
        return onx_fail_nomem(call->diag);
    call->scratch_each = bytes;
    double products = (double)(p->head + p->v_head) * (double)p->keys *
                      (p->rows == 1 ? 1 : (double)least(LANES, (size_t)p->rows));
    plan->units = 1 + (size_t)(TASK_PRODUCTS / (products + 1));
    if (other && p->rows >= OTHER_ROWS && !place_other(call, plan, other))
        return onx_fail_nomem(call->diag);
    return ONX_OK;
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_fused_plan *p = &j->plan->p;
    int64_t unit = (int64_t)(index * j->plan->units), blocks = j->plan->blocks;
    int64_t end = unit + (int64_t)j->plan->units, all = p->batch * p->heads * blocks;
    bool alone =
        p->rows == 1 && p->k.dims[ONX_VIEW_COL].fast <= 1 && p->v.dims[ONX_VIEW_COL].fast <= 1;
    for (; unit < end && unit < all; unit++) {
        int64_t h = unit / blocks % p->heads, b = unit / blocks / p->heads;
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        if (alone)
            run_row(j, b, h, scratch);
        else
            run_unit(j, b, h, unit % blocks * LANES, scratch);
    }
    return ONX_OK;
}

onx_status ONX_TIER(onx_attend_run)(onx_call *call, const onx_attend_other *other) {
    const onx_attend_plan *plan = call->plan;
    const onx_fused_plan *p = &plan->p;
    onx_operand *y = call->out[0];
    if (!y->count) return ONX_OK;
    if (!p->keys) {
        memset(y->data, 0, y->bytes);
        return ONX_OK;
    }
    job j = {.plan = plan, .state = call->state, .y = y->data};
    j.q = call->in[0]->data;
    j.k = call->in[1]->data;
    j.v = call->in[2]->data;
    onx_fused_biases(call, j.bias);
    ONX_TRY(turn_biases(call, &j));
    if (other && p->rows >= OTHER_ROWS) {
        char *shared = (char *)call->scratch + plan->other_at;
        ONX_TRY(other->pack(call, p, shared));
        j.other = other;
        j.shared = shared;
    }
    size_t units = (size_t)(p->batch * p->heads * plan->blocks);
    return onx_call_parallel(call, (units - 1) / plan->units + 1, task, &j);
}

static onx_status bind(onx_call *call) {
    return ONX_TIER(onx_attend_bind)(call, NULL);
}
static onx_status run(onx_call *call) {
    return ONX_TIER(onx_attend_run)(call, NULL);
}

extern onx_status ONX_TIER(onx_rotate_vectors)(onx_call *call); /* rotate_simd.c */
extern onx_kernel_rows ONX_TIER(onx_kernels_attention);
onx_kernel_rows ONX_TIER(onx_kernels_attention) = {
    {.op = "Attend",
     .first = 1,
     .types = {ONX_T(F32), ONX_T(F32), ONX_T(F32), ONX_T(F32) | ONX_T(BOOL)},
     .name = "attend_f32",
     .plan_bytes = sizeof(onx_attend_plan),
     .domain = "onx.internal",
     .init = onx_fused_init,
     .bind = bind,
     .run = run},
    {.op = "Rotate",
     .first = 1,
     .types = {ONX_T(F32), ONX_T(F32), ONX_T(F32)},
     .name = "rotate_f32",
     .plan_bytes = sizeof(onx_rotate_plan),
     .domain = "onx.internal",
     .init = onx_rotate_init,
     .bind = onx_rotate_bind,
     .run = ONX_TIER(onx_rotate_vectors)},
    {0},
};
