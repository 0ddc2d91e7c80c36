/* rnn_simd.c: LSTM, GRU, RNN in float32: vectors.
 *
 * The products of all inputs with W come first; then, step by step, the products of the states with
 * R, and the gates. The hidden units are cut into slices, whose columns of W and R, one panel for
 * each gate, lie side by side:
 *
 *     columns:   slice 0: gate 0, gate 1, … | slice 1: gate 0, …       each SLICE units wide
 *
 * so that a task has all it needs for a few slices of a direction: it multiplies, and goes through
 * the gates. Where GRU resets the state before its product with R, that makes two rounds of tasks.
 * Sequences that have ended are skipped by the gates, not by the products. */
#include "cpu/gemm.h"
#include "ops/rnn/rnn_gates_simd.h"

#define GEMM ONX_TIER(onx_gemm)

/* Of a task, about; of many sequences more, since each task packs their states. */
enum { TASK_PRODUCTS = 1 << 16, BATCH_PRODUCTS = 1 << 20 };

/* The matrices of a direction, packed one after the other: W, and R in two parts (of no gates:
 * there is no second). */
enum { MATRIX_W, MATRIX_R, MATRIX_R2, N_MATRICES };
typedef struct matrix {
    size_t k;     /* rows */
    size_t gates; /* a panel for each, in each slice */
    size_t first; /* of W's or R's gates */
    size_t start; /* where it lies, in floats */
} matrix;

typedef struct plan {
    onx_rnn_plan rnn; /* first: onx_rnn_bind fills it */
    matrix matrices[N_MATRICES];
    size_t slices;
    size_t packed;     /* floats of a direction */
    size_t each;       /* floats of a direction in scratch, after the packed weights: */
    size_t start;      /* where those of the first are */
    size_t x;          /* where X is, packed for all tiles */
    bool shares_x;     /* should it be? */
    size_t xw, r, r2;  /* in them: [X's rows or B][slices][gates][SLICE] */
    size_t h, next, c; /* [B, H] */
    size_t bias;       /* [slices][G][SLICE] */
    size_t scratch;    /* of a task */
    onx_gemm_tiling tiles;
    size_t task; /* slices of a task */
} plan;

/* One direction of a run. */
typedef struct pass {
    const float *weights; /* packed */
    gates gates;
    float *xw, *r, *r2, *h, *next, *c, *bias;
} pass;

typedef struct work {
    onx_call *call;
    const onx_rnn_state *state;
    const plan *plan;
    pass passes[2];
    int64_t step;
    size_t matrix;    /* of the round of tasks that runs now, */
    row_gates *gates; /* its gates, */
    bool last;        /* and do they end the step? */
    float *x;         /* room for X, packed */
} work;

static size_t columns(const plan *p, const matrix *m) {
    return p->slices * m->gates * SLICE;
}

/* ─ Steps ────────────────────────────────────────────────────────────────────────────────────── */

/* A slice of one sequence at this step; one that has ended stays as it is. */
static void advance(const work *k, size_t dir, int64_t b, size_t slice) {
    const pass *t = &k->passes[dir];
    const onx_rnn_plan *s = &k->plan->rnn;
    size_t all = k->state->gates, some = k->plan->matrices[MATRIX_R].gates;
    size_t unit = slice * SLICE, left = t->gates.hidden - unit,
           state = (size_t)b * t->gates.hidden + unit;
    size_t bytes = (left < SLICE ? left : SLICE) * sizeof(float),
           at = (size_t)b * k->plan->slices + slice;
    int64_t length = onx_rnn_length(k->call, b);
    if (k->step >= length) {
        if (k->last) memcpy(t->next + state, t->h + state, bytes);
        return;
    }
    int64_t time = k->state->backward[dir] ? length - 1 - k->step : k->step;
    size_t x = (size_t)(k->state->batch_first ? b * s->time + time : time * s->batch + b);
    row v = {.unit = unit,
             .x = t->xw + (x * k->plan->slices + slice) * all * SLICE,
             .r = t->r + at * some * SLICE,
             .h = t->h + state,
             .next = t->next + state,
             .c = t->c + state};
    v.inner = all == some ? v.r + (all - 1) * SLICE : t->r2 + at * SLICE;
    k->gates(&t->gates, &v);
    const onx_operand *y = onx_rnn_out(k->call, 0);
    int64_t to = time * s->y_time + (int64_t)dir * s->y_dir + b * s->y_batch;
    if (y && k->last) memcpy((float *)y->data + to + unit, v.next, bytes);
}

static onx_status slices_task(void *user, onx_call *call, size_t index, void *scratch) {
    const work *k = user;
    const plan *p = k->plan;
    const matrix *m = &p->matrices[k->matrix];
    size_t tasks = (p->slices - 1) / p->task + 1, dir = index / tasks;
    size_t first = index % tasks * p->task, end = first + p->task;
    const pass *t = &k->passes[dir];
    if (end > p->slices) end = p->slices;
    (void)call;
    onx_gemm_args args = {.m = (size_t)p->rnn.batch, .n = columns(p, m), .k = m->k, .alpha = 1};
    args.a = k->matrix == MATRIX_R ? t->h : t->c;
    args.a_row = m->k;
    args.a_col = 1;
    args.b = t->weights + m->start;
    args.c = k->matrix == MATRIX_R ? t->r : t->r2;
    args.ldc = args.n;
    GEMM.run(&args, (onx_gemm_part){0, args.m, first * m->gates, end * m->gates}, scratch);
    for (int64_t b = 0; b < p->rnn.batch; b++)
        for (size_t slice = first; slice < end; slice++) advance(k, dir, b, slice);
    return ONX_OK;
}

static onx_status run_round(work *k, size_t which, row_gates *rows, bool last) {
    size_t tasks = (k->plan->slices - 1) / k->plan->task + 1;
    k->matrix = which;
    k->gates = rows;
    k->last = last;
    return onx_call_parallel(k->call, k->state->directions * tasks, slices_task, k);
}

static onx_status one_step(work *k) {
    row_gates *rows = row_gates_of[k->state->kind];
    ONX_TRY(onx_call_check(k->call));
    if (k->plan->matrices[MATRIX_R2].gates) {
        ONX_TRY(run_round(k, MATRIX_R, reset_row, false));
        ONX_TRY(run_round(k, MATRIX_R2, rows, true));
    } else {
        ONX_TRY(run_round(k, MATRIX_R, rows, true));
    }
    for (size_t d = 0; d < k->state->directions; d++) {
        float *h = k->passes[d].h;
        k->passes[d].h = k->passes[d].next;
        k->passes[d].next = h;
    }
    return ONX_OK;
}

/* ─ Weights ──────────────────────────────────────────────────────────────────────────────────── */

/* Which matrices there are, and how large they are packed; false: too large. */
static bool lay_out(const onx_call *call, plan *p) {
    const onx_rnn_state *state = call->state;
    const onx_operand *w = call->in[ONX_RNN_W], *r = call->in[ONX_RNN_R];
    size_t all = state->gates, hidden = (size_t)r->dims[2], total = 0;
    size_t second = state->kind == ONX_RNN_GRU && !state->linear_before_reset;
    p->slices = hidden / SLICE + (hidden % SLICE != 0);
    p->matrices[MATRIX_W] = (matrix){.k = (size_t)w->dims[2], .gates = all};
    p->matrices[MATRIX_R] = (matrix){.k = hidden, .gates = all - second};
    p->matrices[MATRIX_R2] = (matrix){.k = hidden, .gates = second, .first = all - second};
    for (size_t i = 0; i < N_MATRICES; i++) {
        matrix *m = &p->matrices[i];
        size_t floats;
        m->start = total;
        if (!onx_mul_size(p->slices, m->gates * SLICE, &floats) ||
            !onx_mul_size(floats, m->k, &floats) || !onx_add_size(total, floats, &total))
            return false;
    }
    p->packed = total;
    return onx_mul_size(total, state->directions * sizeof(float), &total);
}

/* One slice of all matrices of a direction, into their places. */
static void pack_slice(const onx_call *call, const plan *p, size_t index, float *out) {
    const onx_rnn_state *state = call->state;
    size_t d = index / p->slices, slice = index % p->slices;
    size_t hidden = p->matrices[MATRIX_R].k;
    for (size_t i = 0; i < N_MATRICES; i++)
        for (size_t g = 0; g < p->matrices[i].gates; g++) {
            const matrix *m = &p->matrices[i];
            const float *b = call->in[i == MATRIX_W ? ONX_RNN_W : ONX_RNN_R]->data;
            if (!m->k) continue;
            GEMM.pack_b(m->k, hidden, b + (d * state->gates + m->first + g) * hidden * m->k, 1,
                        m->k, slice, 1,
                        out + d * p->packed + m->start + (slice * m->gates + g) * m->k * SLICE);
        }
}

typedef struct packing {
    const plan *plan;
    float *out;
} packing;
static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    const packing *k = user;
    (void)scratch;
    pack_slice(call, k->plan, index, k->out);
    return ONX_OK;
}
static onx_status pack_all(onx_call *call, const plan *p, float *out) {
    const onx_rnn_state *state = call->state;
    return onx_call_parallel(call, state->directions * p->slices, pack_task, &(packing){p, out});
}

/* Only when both are constant, and fit each other. */
static size_t pack_bytes(const onx_call *call) {
    const onx_rnn_state *state = call->state;
    const onx_operand *w = call->in[ONX_RNN_W], *r = call->in[ONX_RNN_R];
    plan p;
    if (!w->constant || !r->constant || w->rank != 3 || r->rank != 3) return 0;
    if (w->dims[0] != (int64_t)state->directions || r->dims[0] != w->dims[0] ||
        r->dims[1] != w->dims[1] || r->dims[1] / (int64_t)state->gates != r->dims[2] ||
        r->dims[1] % (int64_t)state->gates || !lay_out(call, &p))
        return 0;
    return p.packed * state->directions * sizeof(float);
}

static onx_status pack(onx_call *call, void *out) {
    plan p;
    if (!lay_out(call, &p)) return ONX_LIMIT;
    return pack_all(call, &p, out);
}

/* ─ Before and after the steps ───────────────────────────────────────────────────────────────── */

/* The biases that can be added to X*W once: all, but that of R inside GRU's reset. */
static void add_biases(const work *k, size_t dir) {
    const onx_operand *b = onx_rnn_in(k->call, ONX_RNN_B);
    pass *t = (pass *)&k->passes[dir];
    size_t all = k->state->gates, hidden = t->gates.hidden, both = all;
    memset(t->bias, 0, columns(k->plan, &k->plan->matrices[MATRIX_W]) * sizeof *t->bias);
    if (!b) return;
    const float *wb = (const float *)b->data + dir * 2 * all * hidden, *rb = wb + all * hidden;
    if (k->state->kind == ONX_RNN_GRU && k->state->linear_before_reset) {
        both = 2;
        t->gates.rb = rb + both * hidden;
    }
    for (size_t g = 0; g < all; g++)
        for (size_t i = 0; i < hidden; i += VF) { /* inputs need not be aligned, even as floats */
            size_t left = hidden - i < VF ? hidden - i : VF;
            vf sum = load(wb + g * hidden + i, left);
            if (g < both) sum += load(rb + g * hidden + i, left);
            store(t->bias + (i / SLICE * all + g) * SLICE + i % SLICE, sum, left);
        }
}

/* The product of all inputs with W. */
static onx_gemm_args inputs_product(const work *k, size_t dir) {
    const plan *p = k->plan;
    const matrix *w = &p->matrices[MATRIX_W];
    const pass *t = &k->passes[dir];
    return (onx_gemm_args){.m = (size_t)p->rnn.time * (size_t)p->rnn.batch,
                           .n = columns(p, w),
                           .k = w->k,
                           .a = k->call->in[ONX_RNN_X]->data,
                           .a_row = w->k,
                           .a_col = 1,
                           .b = t->weights + w->start,
                           .c = t->xw,
                           .ldc = columns(p, w),
                           .alpha = 1,
                           .d = t->bias};
}

static onx_status pack_x_task(void *user, onx_call *call, size_t index, void *scratch) {
    const work *k = user;
    const onx_gemm_tiling *tiles = &k->plan->tiles;
    const onx_gemm_args args = inputs_product(k, 0);
    const onx_gemm_part part =
        onx_gemm_tile_at(&GEMM, tiles, args.m, args.n, index * tiles->n_across);
    (void)call, (void)scratch;
    GEMM.pack_a(&args, part.row, part.row_end, k->x + part.row * args.k);
    return ONX_OK;
}

/* Tiles are counted down the columns: who makes some of them needs these in all steps. */
static onx_status tile_task(void *user, onx_call *call, size_t index, void *scratch) {
    const work *k = user;
    const onx_gemm_tiling *tiles = &k->plan->tiles;
    size_t all = tiles->n_down * tiles->n_across, at = index % all;
    size_t tile = at % tiles->n_down * tiles->n_across + at / tiles->n_down;
    onx_gemm_args args = inputs_product(k, index / all);
    (void)call;
    if (k->plan->shares_x) {
        args.a = k->x;
        args.a_packed = true;
    }
    GEMM.run(&args, onx_gemm_tile_at(&GEMM, tiles, args.m, args.n, tile), scratch);
    return ONX_OK;
}

static onx_status multiply_inputs(work *k) {
    const onx_gemm_tiling *tiles = &k->plan->tiles;
    size_t tasks = k->state->directions * tiles->n_down * tiles->n_across;
    if (k->plan->shares_x) ONX_TRY(onx_call_parallel(k->call, tiles->n_down, pack_x_task, k));
    return onx_call_parallel(k->call, tasks, tile_task, k);
}

/* Between [B, H] and where a state lies in the operand: to it or from it. */
static void states(const work *k, size_t dir, float *state, const onx_operand *operand, bool out) {
    const onx_rnn_plan *s = &k->plan->rnn;
    size_t bytes = (size_t)s->hidden * sizeof(float);
    if (!operand && !out) memset(state, 0, (size_t)s->batch * bytes);
    for (int64_t b = 0; operand && b < s->batch; b++) {
        float *there = (float *)operand->data + (int64_t)dir * s->h_dir + b * s->h_batch;
        float *here = state + b * s->hidden;
        memcpy(out ? there : here, out ? here : there, bytes);
    }
}

/* Y is zero beyond the end of a sequence. How long the longest is. */
static int64_t zero_ends(const work *k) {
    const onx_rnn_plan *s = &k->plan->rnn;
    const onx_operand *y = onx_rnn_out(k->call, 0);
    size_t bytes = (size_t)s->hidden * sizeof(float);
    int64_t longest = 0;
    for (int64_t b = 0; b < s->batch; b++) {
        int64_t length = onx_rnn_length(k->call, b);
        if (length > longest) longest = length;
        for (int64_t i = length; y && i < s->time; i++)
            for (int64_t d = 0; d < (int64_t)k->state->directions; d++)
                memset((float *)y->data + i * s->y_time + d * s->y_dir + b * s->y_batch, 0, bytes);
    }
    return longest;
}

static onx_status run_all(work *k) {
    for (size_t d = 0; d < k->state->directions; d++) {
        add_biases(k, d);
        states(k, d, k->passes[d].h, onx_rnn_in(k->call, ONX_RNN_H), false);
        states(k, d, k->passes[d].c, onx_rnn_in(k->call, ONX_RNN_C), false);
    }
    ONX_TRY(multiply_inputs(k));
    int64_t longest = zero_ends(k);
    for (k->step = 0; k->step < longest; k->step++) {
        k->call->back = k->step % 2; /* to and fro: most of the weights may be in the cache */
        ONX_TRY(one_step(k));
    }
    k->call->back = false;
    for (size_t d = 0; d < k->state->directions; d++) {
        states(k, d, k->passes[d].h, onx_rnn_out(k->call, 1), true);
        states(k, d, k->passes[d].c, onx_rnn_out(k->call, 2), true);
    }
    return ONX_OK;
}

/* ─ The rows ─────────────────────────────────────────────────────────────────────────────────── */

/* Room for `rows * n_columns` more floats; `*at` is where, in floats. */
static bool reserve(size_t *total, size_t rows, size_t n_columns, size_t *at) {
    size_t n;
    *at = *total;
    return onx_mul_size(rows, n_columns, &n) && onx_add_size(n, ONX_ALIGN, &n) &&
           onx_add_size(*total, n / 16 * 16, total);
}

/* Where everything lies in scratch; false: too large. */
static bool place(onx_call *call, plan *p, size_t rows) {
    const onx_rnn_state *state = call->state;
    size_t batch = (size_t)p->rnn.batch, hidden = (size_t)p->rnn.hidden, weights, total = 0, all;
    const matrix *m = p->matrices;
    return reserve(&total, rows, columns(p, m + MATRIX_W), &p->xw) &&
           reserve(&total, batch, columns(p, m + MATRIX_R), &p->r) &&
           reserve(&total, batch, columns(p, m + MATRIX_R2), &p->r2) &&
           reserve(&total, batch, hidden, &p->h) && reserve(&total, batch, hidden, &p->next) &&
           reserve(&total, batch, hidden, &p->c) &&
           reserve(&total, 1, columns(p, m + MATRIX_W), &p->bias) &&
           reserve(&p->start, call->packed ? 0 : state->directions, p->packed, &weights) &&
           reserve(&p->start, p->shares_x ? rows : 0, m[MATRIX_W].k, &p->x) &&
           onx_mul_size(p->each = total, state->directions, &all) &&
           onx_add_size(all, p->start, &all) &&
           onx_mul_size(all, sizeof(float), &call->scratch_bytes);
}

static onx_status bind(onx_call *call) {
    const onx_rnn_state *state = call->state;
    plan *p = call->plan;
    size_t rows = 0;
    ONX_TRY(onx_rnn_bind(call));
    size_t batch = (size_t)p->rnn.batch, hidden = (size_t)p->rnn.hidden;
    const matrix *w = &p->matrices[MATRIX_W];
    bool fits = lay_out(call, p) && onx_mul_size((size_t)p->rnn.time, batch, &rows);
    if (fits) p->tiles = onx_gemm_tile(&GEMM, rows, columns(p, w), w->k, 1);
    onx_gemm_args args = {.m = rows, .a_row = w->k, .a_col = 1};
    p->shares_x = fits && onx_gemm_shares_a(&GEMM, &p->tiles, &args);
    if (!fits || !place(call, p, rows))
        return onx_call_fail(call, ONX_LIMIT, "the sequences are too large for this machine");
    size_t inputs = onx_gemm_scratch(&GEMM, &(onx_gemm_args){.k = w->k}, p->tiles.rows);
    size_t step = onx_gemm_scratch(&GEMM, &(onx_gemm_args){.k = hidden}, batch);
    call->scratch_each = inputs > step ? inputs : step;
    double products = (double)batch * (double)hidden * (double)(state->gates * SLICE) + 1;
    double least = batch > 1 ? BATCH_PRODUCTS : TASK_PRODUCTS;
    p->task = products < least ? (size_t)(least / products) : 1;
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    const onx_rnn_state *state = call->state;
    const plan *p = call->plan;
    float *scratch = call->scratch;
    const float *packed = call->packed ? call->packed : scratch;
    const onx_operand *peepholes = onx_rnn_in(call, ONX_RNN_P);
    ONX_TRY(onx_rnn_lengths(call));
    if (p->rnn.hidden == 0 || p->rnn.batch == 0) return ONX_OK;
    if (!call->packed) ONX_TRY(pack_all(call, p, scratch));
    work k = {.call = call, .state = state, .plan = p, .x = scratch + p->x};
    for (size_t d = 0; d < state->directions; d++) {
        float *own = scratch + p->start + d * p->each;
        pass *t = &k.passes[d];
        *t = (pass){.weights = packed + d * p->packed,
                    .gates = {state, state->functions[d], (size_t)p->rnn.hidden, NULL, NULL},
                    .xw = own + p->xw,
                    .r = own + p->r,
                    .r2 = own + p->r2,
                    .h = own + p->h,
                    .next = own + p->next,
                    .c = own + p->c,
                    .bias = own + p->bias};
        if (peepholes) t->gates.p = (const float *)peepholes->data + d * 3 * t->gates.hidden;
    }
    return run_all(&k);
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
