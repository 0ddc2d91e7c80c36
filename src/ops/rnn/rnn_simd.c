/* rnn_simd.c: LSTM, GRU, RNN in float32: vectors.
 *
 * For each direction: the products of all inputs with W at once, then step by step the products of
 * the states with R, and the gates. GRU only where one product is enough for a step
 * (linear_before_reset). Sequences that have ended are skipped by the gates, not by the product. */
#include "cpu/gemm.h"
#include "cpu/vec_math.h"
#include "ops/rnn/rnn_ref.h"

#define GEMM ONX_TIER(onx_gemm)

typedef struct plan {
    onx_rnn_plan rnn;          /* first: onx_rnn_bind fills it */
    size_t gates;              /* G*H */
    size_t w_floats, r_floats; /* of one direction, packed */
    size_t xw, hr, h, c, bias; /* where they lie in scratch, after the packed weights */
    onx_gemm_tiling x_tiles, h_tiles;
    size_t rows; /* of the batch, in one task of gates */
} plan;

/* One direction of a run. */
typedef struct pass {
    onx_call *call;
    const onx_rnn_state *state;
    const plan *plan;
    const onx_rnn_activation *f;
    size_t dir;
    bool backward;
    const float *w, *r; /* packed: [I, G*H], [H, G*H] */
    const float *p;     /* [3*H] or NULL */
    const float *rb;    /* [H]: bias of GRU's hidden gate, inside the reset; or NULL */
    float *xw;          /* [X's rows, G*H], with the biases */
    float *hr;          /* [B, G*H] */
    float *h, *c;       /* [B, H] */
    float *bias;        /* [G*H] */
    onx_gemm_args args;
    const onx_gemm_tiling *tiles;
    int64_t step;
} pass;

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

/* ─ Gates: n <= VF elements of one row of the batch ──────────────────────────────────────────── */

static inline vf load(const float *p, size_t n) {
    return n == VF ? vf_load(p) : vf_load_n(p, n);
}
static inline void store(float *p, vf v, size_t n) {
    if (n == VF)
        vf_store(p, v);
    else
        vf_store_n(p, v, n);
}

/* x and r point at the first gate, h and c at the states, p at the peepholes; gates are `hidden`
 * apart. */
static inline void lstm_gates(const pass *t, const float *x, const float *r, float *h, float *c,
                              const float *p, size_t n) {
    size_t hidden = (size_t)t->plan->rnn.hidden;
    const onx_rnn_state *state = t->state;
    vf a[4], old = load(c, n);
    for (size_t g = 0; g < 4; g++) a[g] = load(x + g * hidden, n) + load(r + g * hidden, n);
    if (p) {
        a[0] += load(p, n) * old;
        a[2] += load(p + 2 * hidden, n) * old;
    }
    vf in = activate(state, &t->f[0], a[0]);
    vf forget = state->coupled ? vf_set(1) - in : activate(state, &t->f[0], a[2]);
    vf cell = forget * old + in * activate(state, &t->f[1], a[3]);
    if (p) a[1] += load(p + hidden, n) * cell;
    vf out = activate(state, &t->f[0], a[1]);
    store(c, cell, n);
    store(h, out * activate(state, &t->f[2], cell), n);
}

/* rb: the bias of the hidden gate. */
static inline void gru_gates(const pass *t, const float *x, const float *r, float *h,
                             const float *rb, size_t n) {
    size_t hidden = (size_t)t->plan->rnn.hidden;
    vf z = activate(t->state, &t->f[0], load(x, n) + load(r, n));
    vf reset = activate(t->state, &t->f[0], load(x + hidden, n) + load(r + hidden, n));
    vf inner = load(r + 2 * hidden, n);
    if (rb) inner += load(rb, n);
    vf made = activate(t->state, &t->f[1], load(x + 2 * hidden, n) + reset * inner);
    store(h, (vf_set(1) - z) * made + z * load(h, n), n);
}

static inline void rnn_gates(const pass *t, const float *x, const float *r, float *h, size_t n) {
    store(h, activate(t->state, &t->f[0], load(x, n) + load(r, n)), n);
}

static inline void gates(const pass *t, const float *x, const float *r, float *h, float *c,
                         size_t j, size_t n) {
    switch (t->state->kind) {
    case ONX_RNN_LSTM: lstm_gates(t, x + j, r + j, h + j, c + j, t->p ? t->p + j : NULL, n); break;
    case ONX_RNN_GRU: gru_gates(t, x + j, r + j, h + j, t->rb ? t->rb + j : NULL, n); break;
    case ONX_RNN_RNN: rnn_gates(t, x + j, r + j, h + j, n); break;
    }
}

/* The gates of one sequence at this step, if it has not ended. */
static void advance(const pass *t, int64_t b) {
    const onx_rnn_plan *s = &t->plan->rnn;
    int64_t length = onx_rnn_length(t->call, b);
    if (t->step >= length) return;
    int64_t time = t->backward ? length - 1 - t->step : t->step;
    size_t hidden = (size_t)s->hidden, at = (size_t)b * hidden, j = 0;
    int64_t row = t->state->batch_first ? b * s->time + time : time * s->batch + b;
    const float *x = t->xw + (size_t)row * t->plan->gates;
    const float *r = t->hr + (size_t)b * t->plan->gates;
    float *h = t->h + at, *c = t->c + at;
    for (; j + VF <= hidden; j += VF) gates(t, x, r, h, c, j, VF);
    if (j < hidden) gates(t, x, r, h, c, j, hidden - j);
    const onx_operand *y = onx_rnn_out(t->call, 0);
    if (y)
        memcpy((float *)y->data + time * s->y_time + (int64_t)t->dir * s->y_dir + b * s->y_batch, h,
               hidden * sizeof *h);
}

static onx_status gates_task(void *user, onx_call *call, size_t index, void *scratch) {
    const pass *t = user;
    int64_t rows = (int64_t)t->plan->rows, first = (int64_t)index * rows;
    int64_t end = first + rows < t->plan->rnn.batch ? first + rows : t->plan->rnn.batch;
    (void)call, (void)scratch;
    for (int64_t b = first; b < end; b++) advance(t, b);
    return ONX_OK;
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

static onx_status tile_task(void *user, onx_call *call, size_t index, void *scratch) {
    const pass *t = user;
    (void)call;
    GEMM.run(&t->args, onx_gemm_tile_at(&GEMM, t->tiles, t->args.m, t->args.n, index), scratch);
    return ONX_OK;
}

static onx_status multiply(pass *t, const onx_gemm_tiling *tiles, onx_gemm_args args) {
    t->args = args;
    t->tiles = tiles;
    return onx_call_parallel(t->call, tiles->n_down * tiles->n_across, tile_task, t);
}

/* W or R of direction d, [G*H, k], as the packed matrix [k, G*H]. */
static void pack_one(const onx_operand *weights, size_t d, size_t k, size_t n, float *out) {
    GEMM.pack_b(k, n, (const float *)weights->data + d * n * k, 1, k, 0, onx_gemm_panels(&GEMM, n),
                out);
}

static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    float *out = user;
    const plan *p = call->plan;
    size_t d = index / 2, start = d * (p->w_floats + p->r_floats);
    (void)scratch;
    if (index % 2 == 0)
        pack_one(call->in[ONX_RNN_W], d, (size_t)p->rnn.input, p->gates, out + start);
    else
        pack_one(call->in[ONX_RNN_R], d, (size_t)p->rnn.hidden, p->gates,
                 out + start + p->w_floats);
    return ONX_OK;
}

/* ─ A direction ──────────────────────────────────────────────────────────────────────────────── */

/* The biases that can be added to X*W once: all, but that of R inside GRU's reset. */
static void add_biases(pass *t) {
    const onx_operand *b = onx_rnn_in(t->call, ONX_RNN_B);
    size_t n = t->plan->gates, both = n;
    t->rb = NULL;
    if (!b) {
        memset(t->bias, 0, n * sizeof *t->bias);
        return;
    }
    const float *wb = (const float *)b->data + t->dir * 2 * n, *rb = wb + n;
    if (t->state->kind == ONX_RNN_GRU) {
        both = 2 * (size_t)t->plan->rnn.hidden;
        t->rb = rb + both;
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

static onx_status direction(pass *t) {
    const onx_rnn_plan *s = &t->plan->rnn;
    size_t n = t->plan->gates, batch = (size_t)s->batch, hidden = (size_t)s->hidden;
    size_t n_tasks = batch / t->plan->rows + (batch % t->plan->rows != 0);
    onx_gemm_args x = {.m = (size_t)s->time * batch,
                       .n = n,
                       .k = (size_t)s->input,
                       .a = t->call->in[ONX_RNN_X]->data,
                       .a_row = (size_t)s->input,
                       .a_col = 1,
                       .b = t->w,
                       .c = t->xw,
                       .ldc = n,
                       .alpha = 1,
                       .d = t->bias};
    onx_gemm_args h = {.m = batch,
                       .n = n,
                       .k = hidden,
                       .a = t->h,
                       .a_row = hidden,
                       .a_col = 1,
                       .b = t->r,
                       .c = t->hr,
                       .ldc = n,
                       .alpha = 1};
    add_biases(t);
    states(t, t->h, onx_rnn_in(t->call, ONX_RNN_H), false);
    states(t, t->c, onx_rnn_in(t->call, ONX_RNN_C), false);
    ONX_TRY(multiply(t, &t->plan->x_tiles, x));
    int64_t longest = zero_ends(t);
    for (t->step = 0; t->step < longest; t->step++) {
        ONX_TRY(onx_call_check(t->call));
        ONX_TRY(multiply(t, &t->plan->h_tiles, h));
        ONX_TRY(onx_call_parallel(t->call, n_tasks, gates_task, t));
    }
    states(t, t->h, onx_rnn_out(t->call, 1), true);
    states(t, t->c, onx_rnn_out(t->call, 2), true);
    return ONX_OK;
}

/* ─ The row ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status init(onx_call *call) {
    ONX_TRY(onx_rnn_init(call));
    const onx_rnn_state *state = call->state;
    if (state->kind == ONX_RNN_GRU && !state->linear_before_reset) return ONX_UNSUPPORTED;
    return ONX_OK;
}

/* Floats of W and R of one direction; false: too many. */
static bool packed_sizes(const onx_call *call, size_t *w, size_t *r) {
    const onx_operand *wd = call->in[ONX_RNN_W], *rd = call->in[ONX_RNN_R];
    return onx_gemm_packed_size(&GEMM, (size_t)wd->dims[2], (size_t)wd->dims[1], w) &&
           onx_gemm_packed_size(&GEMM, (size_t)rd->dims[2], (size_t)rd->dims[1], r);
}

/* W and R as the plan will have them: only when both are constant, and fit each other. */
static bool pack_plan(const onx_call *call, plan *p) {
    const onx_rnn_state *state = call->state;
    const onx_operand *w = call->in[ONX_RNN_W], *r = call->in[ONX_RNN_R];
    if (!w->constant || !r->constant || w->rank != 3 || r->rank != 3) return false;
    if (w->dims[0] != (int64_t)state->directions || r->dims[0] != w->dims[0] ||
        r->dims[1] != w->dims[1])
        return false;
    p->gates = (size_t)r->dims[1];
    p->rnn.input = w->dims[2];
    p->rnn.hidden = r->dims[2];
    return packed_sizes(call, &p->w_floats, &p->r_floats);
}

static size_t pack_bytes(const onx_call *call) {
    const onx_rnn_state *state = call->state;
    plan p;
    size_t n;
    if (!pack_plan(call, &p) || !onx_add_size(p.w_floats, p.r_floats, &n) ||
        !onx_mul_size(n, state->directions * sizeof(float), &n))
        return 0;
    return n;
}

static onx_status pack(onx_call *call, void *out) {
    const onx_rnn_state *state = call->state;
    plan p;
    (void)pack_plan(call, &p);
    onx_call copy = *call;
    copy.plan = &p;
    for (size_t i = 0; i < 2 * state->directions; i++) ONX_TRY(pack_task(out, &copy, i, NULL));
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
    size_t total = 0, weights, rows;
    ONX_TRY(onx_rnn_bind(call));
    size_t batch = (size_t)p->rnn.batch, hidden = (size_t)p->rnn.hidden;
    p->gates = state->gates * hidden;
    bool fits = packed_sizes(call, &p->w_floats, &p->r_floats) &&
                onx_add_size(p->w_floats, p->r_floats, &weights) &&
                reserve(&total, call->packed ? 0 : state->directions, weights, &weights) &&
                onx_mul_size((size_t)p->rnn.time, batch, &rows) &&
                reserve(&total, rows, p->gates, &p->xw) &&
                reserve(&total, batch, p->gates, &p->hr) && reserve(&total, batch, hidden, &p->h) &&
                reserve(&total, batch, hidden, &p->c) && reserve(&total, 1, p->gates, &p->bias) &&
                onx_mul_size(total, sizeof(float), &call->scratch_bytes);
    if (!fits)
        return onx_call_fail(call, ONX_LIMIT, "the sequences are too large for this machine");
    call->scratch_each = GEMM.scratch_bytes;
    p->x_tiles = onx_gemm_tile(&GEMM, rows, p->gates, (size_t)p->rnn.input);
    p->h_tiles = onx_gemm_tile(&GEMM, batch, p->gates, hidden);
    p->rows = hidden && hidden < 4096 ? 4096 / hidden : 1;
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    const onx_rnn_state *state = call->state;
    const plan *p = call->plan;
    float *scratch = call->scratch;
    const float *weights = call->packed ? call->packed : scratch;
    const onx_operand *peepholes = onx_rnn_in(call, ONX_RNN_P);
    ONX_TRY(onx_rnn_lengths(call));
    if (p->rnn.hidden == 0 || p->rnn.batch == 0) return ONX_OK;
    if (!call->packed) ONX_TRY(onx_call_parallel(call, 2 * state->directions, pack_task, scratch));
    for (size_t d = 0; d < state->directions; d++) {
        const float *w = weights + d * (p->w_floats + p->r_floats);
        pass t = {.call = call,
                  .state = state,
                  .plan = p,
                  .f = state->functions[d],
                  .dir = d,
                  .backward = state->backward[d],
                  .w = w,
                  .r = w + p->w_floats,
                  .p = peepholes ? (const float *)peepholes->data + d * 3 * (size_t)p->rnn.hidden
                                 : NULL,
                  .xw = scratch + p->xw,
                  .hr = scratch + p->hr,
                  .h = scratch + p->h,
                  .c = scratch + p->c,
                  .bias = scratch + p->bias};
        ONX_TRY(direction(&t));
    }
    return ONX_OK;
}

#define F32 ONX_T(F32)
#define ROW(op, name)                                                                              \
    {                                                                                              \
        op, 1, 0, {F32, F32, F32, F32, ONX_T(I32), F32}, name,                                     \
            .packs = 1 << ONX_RNN_W | 1 << ONX_RNN_R, .plan_bytes = sizeof(plan), .init = init,    \
            .pack_bytes = pack_bytes, .pack = pack, .bind = bind, .run = run                       \
    }

extern onx_kernel_rows ONX_TIER(onx_kernels_rnn);
onx_kernel_rows ONX_TIER(onx_kernels_rnn) = {
    ROW("LSTM", "lstm_f32"),
    ROW("GRU", "gru_f32"),
    ROW("RNN", "rnn_f32"),
    {0},
};
