/* rnn_simd.c: LSTM, GRU, RNN in float32: vectors.
 *
 * For each direction: the products of all inputs with W at once, then step by step the products of
 * the states with R, and the gates. Where GRU resets the state before its product with R, that is
 * two products and two rounds of gates. Sequences that have ended are skipped by the gates, not by
 * the products. */
#include "cpu/gemm.h"
#include "ops/rnn/rnn_gates_simd.h"

#define GEMM ONX_TIER(onx_gemm)

/* The matrices of a direction, packed one after the other: W, and R in two parts (of no columns:
 * there is no second). */
enum { MATRIX_W, MATRIX_R, MATRIX_R2, N_MATRICES };
typedef struct matrix {
    size_t k, n;  /* [k, n] */
    size_t first; /* row of W or R that is its first column */
    size_t start; /* where it lies, in floats */
} matrix;

typedef struct plan {
    onx_rnn_plan rnn; /* first: onx_rnn_bind fills it */
    size_t gates;     /* G*H */
    matrix matrices[N_MATRICES];
    size_t packed;             /* floats of a direction */
    size_t xw, hr, h, c, bias; /* where they lie in scratch, after the packed weights */
    onx_gemm_tiling tiles[N_MATRICES];
    size_t rows; /* of the batch, in one task of gates */
} plan;

/* One direction of a run. */
typedef struct pass {
    onx_call *call;
    const onx_rnn_state *state;
    const plan *plan;
    size_t dir;
    const float *weights; /* packed */
    gates gates;
    float *xw;    /* [X's rows, G*H], with the biases */
    float *hr;    /* [B, G*H] */
    float *h, *c; /* [B, H] */
    float *bias;  /* [G*H] */
    int64_t step;
    row_gates *row;     /* of the tasks that run now */
    bool last;          /* do they end the step? */
    onx_gemm_args args; /* of the product that runs now */
    const onx_gemm_tiling *tiles;
} pass;

/* ─ Gates ────────────────────────────────────────────────────────────────────────────────────── */

/* One sequence at this step, if it has not ended. */
static void advance(const pass *t, int64_t b) {
    const onx_rnn_plan *s = &t->plan->rnn;
    int64_t length = onx_rnn_length(t->call, b);
    if (t->step >= length) return;
    int64_t time = t->state->backward[t->dir] ? length - 1 - t->step : t->step;
    int64_t at = t->state->batch_first ? b * s->time + time : time * s->batch + b;
    row v = {.x = t->xw + (size_t)at * t->plan->gates,
             .r = t->hr + (size_t)b * t->plan->gates,
             .h = t->h + b * s->hidden,
             .c = t->c + b * s->hidden};
    t->row(&t->gates, &v);
    const onx_operand *y = onx_rnn_out(t->call, 0);
    if (y && t->last)
        memcpy((float *)y->data + time * s->y_time + (int64_t)t->dir * s->y_dir + b * s->y_batch,
               v.h, (size_t)s->hidden * sizeof(float));
}

static onx_status gates_task(void *user, onx_call *call, size_t index, void *scratch) {
    const pass *t = user;
    int64_t rows = (int64_t)t->plan->rows, first = (int64_t)index * rows;
    int64_t end = first + rows < t->plan->rnn.batch ? first + rows : t->plan->rnn.batch;
    (void)call, (void)scratch;
    for (int64_t b = first; b < end; b++) advance(t, b);
    return ONX_OK;
}

static onx_status run_gates(pass *t, row_gates *rows, bool last) {
    size_t batch = (size_t)t->plan->rnn.batch, each_task = t->plan->rows;
    t->row = rows;
    t->last = last;
    return onx_call_parallel(t->call, batch / each_task + (batch % each_task != 0), gates_task, t);
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

static onx_status tile_task(void *user, onx_call *call, size_t index, void *scratch) {
    const pass *t = user;
    (void)call;
    GEMM.run(&t->args, onx_gemm_tile_at(&GEMM, t->tiles, t->args.m, t->args.n, index), scratch);
    return ONX_OK;
}

/* c[m, n of the matrix] = a[m, k] times a matrix, plus a bias; rows of c are G*H apart. */
static onx_status multiply(pass *t, size_t which, size_t m, const float *a, float *c,
                           const float *bias) {
    const matrix *b = &t->plan->matrices[which];
    t->args = (onx_gemm_args){.m = m,
                              .n = b->n,
                              .k = b->k,
                              .a = a,
                              .a_row = b->k,
                              .a_col = 1,
                              .b = t->weights + b->start,
                              .c = c,
                              .ldc = t->plan->gates,
                              .alpha = 1,
                              .d = bias};
    t->tiles = &t->plan->tiles[which];
    return onx_call_parallel(t->call, t->tiles->n_down * t->tiles->n_across, tile_task, t);
}

/* Which matrices there are, and how large they are packed; false: too large. */
static bool lay_out(const onx_call *call, plan *p) {
    const onx_rnn_state *state = call->state;
    const onx_operand *w = call->in[ONX_RNN_W], *r = call->in[ONX_RNN_R];
    size_t all = (size_t)w->dims[1], total = 0;
    size_t second = state->kind == ONX_RNN_GRU && !state->linear_before_reset ? all / 3 : 0;
    p->gates = all;
    p->matrices[MATRIX_W] = (matrix){.k = (size_t)w->dims[2], .n = all};
    p->matrices[MATRIX_R] = (matrix){.k = (size_t)r->dims[2], .n = all - second};
    p->matrices[MATRIX_R2] = (matrix){.k = (size_t)r->dims[2], .n = second, .first = all - second};
    for (size_t i = 0; i < N_MATRICES; i++) {
        matrix *m = &p->matrices[i];
        size_t floats;
        m->start = total;
        if (!onx_gemm_packed_size(&GEMM, m->k, m->n, &floats) ||
            !onx_add_size(total, floats, &total))
            return false;
    }
    p->packed = total;
    return onx_mul_size(total, state->directions * sizeof(float), &total);
}

/* Matrix `index` of all directions, into its place. */
static void pack_matrix(const onx_call *call, const plan *p, size_t index, float *out) {
    size_t d = index / N_MATRICES, which = index % N_MATRICES;
    const matrix *m = &p->matrices[which];
    const float *b = call->in[which == MATRIX_W ? ONX_RNN_W : ONX_RNN_R]->data;
    GEMM.pack_b(m->k, m->n, b + (d * p->gates + m->first) * m->k, 1, m->k, 0,
                onx_gemm_panels(&GEMM, m->n), out + d * p->packed + m->start);
}

static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)scratch;
    pack_matrix(call, call->plan, index, user);
    return ONX_OK;
}

/* ─ A direction ──────────────────────────────────────────────────────────────────────────────── */

/* The biases that can be added to X*W once: all, but that of R inside GRU's reset. */
static void add_biases(pass *t) {
    const onx_operand *b = onx_rnn_in(t->call, ONX_RNN_B);
    size_t n = t->plan->gates, both = n;
    if (!b) {
        memset(t->bias, 0, n * sizeof *t->bias);
        return;
    }
    const float *wb = (const float *)b->data + t->dir * 2 * n, *rb = wb + n;
    if (t->state->kind == ONX_RNN_GRU && t->state->linear_before_reset) {
        both = 2 * t->gates.hidden;
        t->gates.rb = rb + both;
    }
    for (size_t i = 0; i < n; i += VF) { /* inputs need not be aligned, not even as floats */
        size_t left = n - i < VF ? n - i : VF, sums = i < both ? both - i : 0;
        store(t->bias + i, load(wb + i, left) + vf_load_n(rb + i, sums < left ? sums : left), left);
    }
}

/* Between [B, H] and where a state lies in the operand: to it or from it. */
static void states(const pass *t, float *state, const onx_operand *operand, bool out) {
    const onx_rnn_plan *s = &t->plan->rnn;
    size_t bytes = (size_t)s->hidden * sizeof(float);
    if (!operand && !out) memset(state, 0, (size_t)s->batch * bytes);
    for (int64_t b = 0; operand && b < s->batch; b++) {
        float *there = (float *)operand->data + (int64_t)t->dir * s->h_dir + b * s->h_batch;
        float *here = state + b * s->hidden;
        memcpy(out ? there : here, out ? here : there, bytes);
    }
}

/* Y is zero beyond the end of a sequence. */
static int64_t zero_ends(const pass *t) {
    const onx_rnn_plan *s = &t->plan->rnn;
    const onx_operand *y = onx_rnn_out(t->call, 0);
    int64_t longest = 0;
    for (int64_t b = 0; b < s->batch; b++) {
        int64_t length = onx_rnn_length(t->call, b);
        if (length > longest) longest = length;
        for (int64_t i = length; y && i < s->time; i++)
            memset((float *)y->data + i * s->y_time + (int64_t)t->dir * s->y_dir + b * s->y_batch,
                   0, (size_t)s->hidden * sizeof(float));
    }
    return longest;
}

static onx_status one_step(pass *t) {
    size_t batch = (size_t)t->plan->rnn.batch, inner = t->plan->matrices[MATRIX_R2].first;
    ONX_TRY(onx_call_check(t->call));
    ONX_TRY(multiply(t, MATRIX_R, batch, t->h, t->hr, NULL));
    if (t->plan->matrices[MATRIX_R2].n) {
        ONX_TRY(run_gates(t, reset_row, false));
        ONX_TRY(multiply(t, MATRIX_R2, batch, t->c, t->hr + inner, NULL));
    }
    return run_gates(t, row_gates_of[t->state->kind], true);
}

static onx_status direction(pass *t) {
    const onx_rnn_plan *s = &t->plan->rnn;
    size_t rows = (size_t)s->time * (size_t)s->batch;
    add_biases(t);
    states(t, t->h, onx_rnn_in(t->call, ONX_RNN_H), false);
    states(t, t->c, onx_rnn_in(t->call, ONX_RNN_C), false);
    ONX_TRY(multiply(t, MATRIX_W, rows, t->call->in[ONX_RNN_X]->data, t->xw, t->bias));
    int64_t longest = zero_ends(t);
    for (t->step = 0; t->step < longest; t->step++) ONX_TRY(one_step(t));
    states(t, t->h, onx_rnn_out(t->call, 1), true);
    states(t, t->c, onx_rnn_out(t->call, 2), true);
    return ONX_OK;
}

/* ─ The rows ─────────────────────────────────────────────────────────────────────────────────── */

/* Only when both are constant, and fit each other. */
static size_t pack_bytes(const onx_call *call) {
    const onx_rnn_state *state = call->state;
    const onx_operand *w = call->in[ONX_RNN_W], *r = call->in[ONX_RNN_R];
    plan p;
    if (!w->constant || !r->constant || w->rank != 3 || r->rank != 3) return 0;
    if (w->dims[0] != (int64_t)state->directions || r->dims[0] != w->dims[0] ||
        r->dims[1] != w->dims[1] || !lay_out(call, &p))
        return 0;
    return p.packed * state->directions * sizeof(float);
}

static onx_status pack(onx_call *call, void *out) {
    const onx_rnn_state *state = call->state;
    plan p;
    if (!lay_out(call, &p)) return ONX_LIMIT;
    for (size_t i = 0; i < N_MATRICES * state->directions; i++) pack_matrix(call, &p, i, out);
    return ONX_OK;
}

/* Room for `rows * columns` more floats; `*at` is where, in floats. */
static bool reserve(size_t *total, size_t rows, size_t columns, size_t *at) {
    size_t n;
    *at = *total;
    return onx_mul_size(rows, columns, &n) && onx_add_size(n, ONX_ALIGN, &n) &&
           onx_add_size(*total, n / 16 * 16, total);
}

static onx_status bind(onx_call *call) {
    const onx_rnn_state *state = call->state;
    plan *p = call->plan;
    size_t total = 0, weights, rows = 0;
    ONX_TRY(onx_rnn_bind(call));
    size_t batch = (size_t)p->rnn.batch, hidden = (size_t)p->rnn.hidden;
    bool fits = lay_out(call, p) &&
                reserve(&total, call->packed ? 0 : state->directions, p->packed, &weights) &&
                onx_mul_size((size_t)p->rnn.time, batch, &rows) &&
                reserve(&total, rows, p->gates, &p->xw) &&
                reserve(&total, batch, p->gates, &p->hr) && reserve(&total, batch, hidden, &p->h) &&
                reserve(&total, batch, hidden, &p->c) && reserve(&total, 1, p->gates, &p->bias) &&
                onx_mul_size(total, sizeof(float), &call->scratch_bytes);
    if (!fits)
        return onx_call_fail(call, ONX_LIMIT, "the sequences are too large for this machine");
    for (size_t i = 0; i < N_MATRICES; i++) {
        const matrix *b = &p->matrices[i];
        onx_gemm_args args = {.m = i == MATRIX_W ? rows : batch, .k = b->k};
        p->tiles[i] = onx_gemm_tile(&GEMM, args.m, b->n, b->k, 1);
        size_t bytes = onx_gemm_scratch(&GEMM, &args, p->tiles[i].rows);
        if (bytes > call->scratch_each) call->scratch_each = bytes;
    }
    p->rows = hidden && hidden < 4096 ? 4096 / hidden : 1;
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    const onx_rnn_state *state = call->state;
    const plan *p = call->plan;
    float *scratch = call->scratch;
    const onx_operand *peepholes = onx_rnn_in(call, ONX_RNN_P);
    ONX_TRY(onx_rnn_lengths(call));
    if (p->rnn.hidden == 0 || p->rnn.batch == 0) return ONX_OK;
    if (!call->packed)
        ONX_TRY(onx_call_parallel(call, N_MATRICES * state->directions, pack_task, scratch));
    for (size_t d = 0; d < state->directions; d++) {
        const float *packed = call->packed ? call->packed : scratch;
        pass t = {.call = call,
                  .state = state,
                  .plan = p,
                  .dir = d,
                  .weights = packed + d * p->packed,
                  .gates = {state, state->functions[d], (size_t)p->rnn.hidden, NULL, NULL},
                  .xw = scratch + p->xw,
                  .hr = scratch + p->hr,
                  .h = scratch + p->h,
                  .c = scratch + p->c,
                  .bias = scratch + p->bias};
        if (peepholes) t.gates.p = (const float *)peepholes->data + d * 3 * t.gates.hidden;
        ONX_TRY(direction(&t));
    }
    return ONX_OK;
}

#define F32 ONX_T(F32)
#define ROW(op, name)                                                                              \
    {                                                                                              \
        op, 1, 0, {F32, F32, F32, F32, ONX_T(I32), F32}, name,                                     \
            .packs = 1 << ONX_RNN_W | 1 << ONX_RNN_R, .plan_bytes = sizeof(plan),                  \
            .init = onx_rnn_init, .pack_bytes = pack_bytes, .pack = pack, .bind = bind, .run = run \
    }

extern onx_kernel_rows ONX_TIER(onx_kernels_rnn);
onx_kernel_rows ONX_TIER(onx_kernels_rnn) = {
    ROW("LSTM", "lstm_f32"),
    ROW("GRU", "gru_f32"),
    ROW("RNN", "rnn_f32"),
    {0},
};
