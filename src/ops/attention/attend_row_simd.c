/* attend_row_simd.c: attention of one row alone, of which all lanes but one would be idle in a
 * unit: along the columns of keys and values instead. */
#include "cpu/turn.h"
#include "ops/attention/attend_job_simd.h"

enum { COLUMNS = 8 }; /* vectors of columns at once */

/* Scores of VF keys at most: products are summed up along the columns, then over the lanes. */
static vf score_keys(const float *q, size_t head, const float *k, size_t row, size_t n) {
    float sums[VF * VF] = {0}, turned[VF * VF];
    vf out = vf_zero();
    for (size_t key = 0; key < n; key++, k += row) {
        vf even = vf_zero(), odd = vf_zero();
        size_t i = 0;
        for (; i + 2 * VF <= head; i += 2 * VF) {
            even = vf_fma(vf_load(q + i), vf_load(k + i), even);
            odd = vf_fma(vf_load(q + i + VF), vf_load(k + i + VF), odd);
        }
        for (; i < head; i += VF) {
            size_t some = least(VF, head - i);
            even = vf_fma(vf_load_n(q + i, some), vf_load_n(k + i, some), even);
        }
        vf_store(sums + key * VF, even + odd);
    }
    onx_turn(turned, VF, sums, VF, VF, VF);
    for (size_t i = 0; i < VF; i++) out += vf_load(turned + i * VF);
    return out;
}

static float score_row(const onx_attend_block *k, const float *q, const float *from, size_t n,
                       float *s) {
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

/* y = factor y + s V, for a few vectors of columns; of the last one `some`. */
static inline __attribute__((always_inline)) void add_columns(const float *s, size_t n,
                                                              const float *v, size_t row,
                                                              float factor, size_t vectors,
                                                              size_t some, float *y) {
    vf sum[COLUMNS];
    VF_UNROLL for (size_t i = 0; i < vectors; i++) {
        vf before = some == VF ? vf_load(y + i * VF) : vf_load_n(y + i * VF, some);
        sum[i] = before * factor;
    }
    for (size_t key = 0; key < n; key++, v += row) {
        vf x = vf_set(s[key]);
        VF_UNROLL for (size_t i = 0; i < vectors; i++) {
            vf value = some == VF ? vf_load(v + i * VF) : vf_load_n(v + i * VF, some);
            sum[i] = vf_fma(x, value, sum[i]);
        }
    }
    VF_UNROLL for (size_t i = 0; i < vectors; i++) {
        if (some == VF)
            vf_store(y + i * VF, sum[i]);
        else
            vf_store_n(y + i * VF, sum[i], some);
    }
}

static void add_values(const float *s, size_t n, const float *v, size_t row, float factor,
                       size_t columns, float *y) {
    size_t c = 0;
    for (; c + COLUMNS * VF <= columns; c += COLUMNS * VF)
        add_columns(s, n, v + c, row, factor, COLUMNS, VF, y + c);
    for (; c + 2 * VF <= columns; c += 2 * VF) add_columns(s, n, v + c, row, factor, 2, VF, y + c);
    for (; c < columns; c += VF)
        add_columns(s, n, v + c, row, factor, 1, least(VF, columns - c), y + c);
}

void ONX_TIER(onx_attend_row)(const onx_attend_job *j, int64_t b, int64_t h, float *scratch) {
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
        onx_attend_block at_key = bias_of(j, b, h, key, 0);
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
