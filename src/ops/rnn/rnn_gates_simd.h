/* rnn_gates_simd.h: the gates of LSTM, GRU and RNN, one sequence of the batch and one slice of the
 * hidden units at a time, in vectors. For rnn_simd.c. */
#ifndef ONX_RNN_GATES_SIMD_H
#define ONX_RNN_GATES_SIMD_H

#include "cpu/vec_math.h"
#include "ops/rnn/rnn_ref.h"

enum { SLICE = 2 * VF }; /* units: a panel of the products for each gate */

/* What all steps of a direction have in common. */
typedef struct gates {
    const onx_rnn_state *state;
    const onx_rnn_activation *f; /* f, g, h */
    size_t hidden;
    const float *p;  /* [3*H]: LSTM's peepholes; NULL: none */
    const float *rb; /* [H]: bias of GRU's hidden gate, inside the reset; NULL: none */
} gates;

/* A slice of one sequence at one step. */
typedef struct row {
    size_t unit;        /* the first */
    const float *x, *r; /* [G][SLICE]: what W gives, with the biases; what R gives */
    const float *inner; /* [SLICE]: what R gives for GRU's hidden gate */
    const float *h;     /* the units of the state before, */
    float *next;        /* after; */
    float *c;           /* LSTM's cell, GRU's state after the reset */
} row;

/* ─ Activations ──────────────────────────────────────────────────────────────────────────────── */

static inline vf clip(const onx_rnn_state *state, vf x) {
    if (!state->has_clip) return x;
    vf limit = vf_set(state->clip);
    x = vf_select(x > limit, limit, x);
    return vf_select(x < -limit, -limit, x);
}

static inline vf softplus(vf x) {
    vf tail = vf_log(vf_set(1) + vf_exp(-vf_abs(x)));
    return vf_select(x > vf_zero(), x, vf_zero()) + tail;
}

static vf rare(const onx_rnn_activation *f, vf x) {
    vf a = vf_set(f->alpha), b = vf_set(f->beta), one = vf_set(1);
    switch (f->function) {
    case ONX_RNN_RELU: return vf_select(x < vf_zero(), vf_zero(), x);
    case ONX_RNN_AFFINE: return a * x + b;
    case ONX_RNN_LEAKY_RELU: return vf_select(x < vf_zero(), a * x, x);
    case ONX_RNN_THRESHOLDED_RELU: return vf_select(x < a, vf_zero(), x);
    case ONX_RNN_SCALED_TANH: return a * vf_tanh(b * x);
    case ONX_RNN_HARD_SIGMOID: return vf_max(vf_min(a * x + b, one), vf_zero());
    case ONX_RNN_ELU: return vf_select(x < vf_zero(), a * (vf_exp(x) - one), x);
    case ONX_RNN_SOFTSIGN: return x / (one + vf_abs(x));
    case ONX_RNN_SOFTPLUS: return softplus(x);
    default: return x;
    }
}

static inline vf activate(const onx_rnn_state *state, const onx_rnn_activation *f, vf x) {
    x = clip(state, x);
    if (f->function == ONX_RNN_SIGMOID) return vf_sigmoid(x);
    if (f->function == ONX_RNN_TANH) return vf_tanh(x);
    return rare(f, x);
}

/* ─ Cells: elements j … j + n - 1 of a row, n <= VF ──────────────────────────────────────────── */

static inline vf load(const float *p, size_t n) {
    return n == VF ? vf_load(p) : vf_load_n(p, n);
}
static inline void store(float *p, vf v, size_t n) {
    if (n == VF)
        vf_store(p, v);
    else
        vf_store_n(p, v, n);
}

typedef void cell(const gates *g, const row *v, size_t j, size_t n);

static inline void lstm_cell(const gates *g, const row *v, size_t j, size_t n) {
    const onx_rnn_state *state = g->state;
    const float *p = g->p ? g->p + v->unit + j : NULL;
    vf a[4], old = load(v->c + j, n);
    for (size_t i = 0; i < 4; i++)
        a[i] = vf_load(v->x + i * SLICE + j) + vf_load(v->r + i * SLICE + j);
    if (p) {
        a[0] += load(p, n) * old;
        a[2] += load(p + 2 * g->hidden, n) * old;
    }
    vf in = activate(state, &g->f[0], a[0]);
    vf forget = state->coupled ? vf_set(1) - in : activate(state, &g->f[0], a[2]);
    vf made = forget * old + in * activate(state, &g->f[1], a[3]);
    if (p) a[1] += load(p + g->hidden, n) * made;
    vf out = activate(state, &g->f[0], a[1]);
    store(v->c + j, made, n);
    store(v->next + j, out * activate(state, &g->f[2], made), n);
}

static inline vf gru_reset(const gates *g, const row *v, size_t j) {
    return activate(g->state, &g->f[0], vf_load(v->x + SLICE + j) + vf_load(v->r + SLICE + j));
}

/* The state that is multiplied with R for the hidden gate, when the reset comes before that. */
static inline void reset_cell(const gates *g, const row *v, size_t j, size_t n) {
    store(v->c + j, gru_reset(g, v, j) * load(v->h + j, n), n);
}

static inline void gru_cell(const gates *g, const row *v, size_t j, size_t n) {
    vf z = activate(g->state, &g->f[0], vf_load(v->x + j) + vf_load(v->r + j));
    vf inner = vf_load(v->inner + j);
    if (g->rb) inner += load(g->rb + v->unit + j, n);
    if (g->state->linear_before_reset) inner *= gru_reset(g, v, j);
    vf made = activate(g->state, &g->f[1], vf_load(v->x + 2 * SLICE + j) + inner);
    store(v->next + j, (vf_set(1) - z) * made + z * load(v->h + j, n), n);
}

static inline void rnn_cell(const gates *g, const row *v, size_t j, size_t n) {
    store(v->next + j, activate(g->state, &g->f[0], vf_load(v->x + j) + vf_load(v->r + j)), n);
}

/* ─ Slices ───────────────────────────────────────────────────────────────────────────────────── */

static inline __attribute__((always_inline)) void each(cell *c, const gates *g, const row *v) {
    size_t left = g->hidden - v->unit, n = left < SLICE ? left : SLICE, j = 0;
    for (; j + VF <= n; j += VF) c(g, v, j, VF);
    if (j < n) c(g, v, j, n - j);
}

typedef void row_gates(const gates *g, const row *v);
static void lstm_row(const gates *g, const row *v) {
    each(lstm_cell, g, v);
}
static void reset_row(const gates *g, const row *v) {
    each(reset_cell, g, v);
}
static void gru_row(const gates *g, const row *v) {
    each(gru_cell, g, v);
}
static void rnn_row(const gates *g, const row *v) {
    each(rnn_cell, g, v);
}
static row_gates *const row_gates_of[] = {
    [ONX_RNN_LSTM] = lstm_row,
    [ONX_RNN_GRU] = gru_row,
    [ONX_RNN_RNN] = rnn_row,
};

#endif
