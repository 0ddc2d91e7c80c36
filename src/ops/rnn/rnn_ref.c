/* rnn_ref.c: LSTM, GRU, RNN: plain loops, in double whatever the type is: what comes in is
 * converted first, what goes out last. */
#include "ops/rnn/rnn_ref.h"

#include <math.h>

/* All of the node in double; what is absent is zeros. */
typedef struct rnn {
    const onx_rnn_state *state;
    const onx_rnn_plan *plan;
    double *in[8];   /* by ONX_RNN_… but the lengths */
    double *out[3];  /* Y, h, c */
    double *ax, *ah; /* [G*H]: what W and R give, with their biases */
    double *reset;   /* [H]: GRU's reset gate times the state */
} rnn;

/* What one step works on. */
typedef struct step {
    const double *w, *r, *wb, *rb, *p; /* [G*H, I], [G*H, H], [G*H], [G*H], [3*H] */
    const double *x;                   /* [I] */
    double *h, *c;                     /* [H] */
    const onx_rnn_activation *functions;
} step;

static double activate(const rnn *n, const onx_rnn_activation *f, double x) {
    double a = (double)f->alpha, b = (double)f->beta, limit = (double)n->state->clip;
    if (n->state->has_clip) x = x > limit ? limit : x < -limit ? -limit : x;
    switch (f->function) {
    case ONX_RNN_SIGMOID: return 1 / (1 + exp(-x));
    case ONX_RNN_TANH: return tanh(x);
    case ONX_RNN_RELU: return x < 0 ? 0 : x;
    case ONX_RNN_AFFINE: return a * x + b;
    case ONX_RNN_LEAKY_RELU: return x < 0 ? a * x : x;
    case ONX_RNN_THRESHOLDED_RELU: return x < a ? 0 : x;
    case ONX_RNN_SCALED_TANH: return a * tanh(b * x);
    case ONX_RNN_HARD_SIGMOID: return fmin(fmax(a * x + b, 0), 1);
    case ONX_RNN_ELU: return x < 0 ? a * expm1(x) : x;
    case ONX_RNN_SOFTSIGN: return x / (1 + fabs(x));
    case ONX_RNN_SOFTPLUS: return fmax(x, 0) + log1p(exp(-fabs(x)));
    }
    return x;
}

/* y[rows] = M[rows, n] v[n] + b[rows] */
static void product(const double *m, const double *v, const double *b, int64_t rows, int64_t n,
                    double *y) {
    for (int64_t i = 0; i < rows; i++) {
        double sum = b[i];
        for (int64_t j = 0; j < n; j++) sum += m[i * n + j] * v[j];
        y[i] = sum;
    }
}

static void lstm_step(rnn *n, const step *s) {
    int64_t hidden = n->plan->hidden;
    const onx_rnn_activation *f = s->functions;
    product(s->r, s->h, s->rb, 4 * hidden, hidden, n->ah);
    for (int64_t j = 0; j < hidden; j++) {
        double a[4], *c = &s->c[j];
        for (int64_t g = 0; g < 4; g++) a[g] = n->ax[g * hidden + j] + n->ah[g * hidden + j];
        double i = activate(n, &f[0], a[0] + s->p[j] * *c);
        double forget =
            n->state->coupled ? 1 - i : activate(n, &f[0], a[2] + s->p[2 * hidden + j] * *c);
        *c = forget * *c + i * activate(n, &f[1], a[3]);
        double o = activate(n, &f[0], a[1] + s->p[hidden + j] * *c);
        s->h[j] = o * activate(n, &f[2], *c);
    }
}

static void gru_step(rnn *n, const step *s) {
    int64_t hidden = n->plan->hidden;
    const onx_rnn_activation *f = s->functions;
    bool linear = n->state->linear_before_reset;
    const double *r_hidden = s->r + 2 * hidden * hidden, *b_hidden = s->rb + 2 * hidden;
    double *ah_hidden = n->ah + 2 * hidden;
    product(s->r, s->h, s->rb, 2 * hidden, hidden, n->ah);
    for (int64_t j = 0; j < hidden; j++) {
        double reset = activate(n, &f[0], n->ax[hidden + j] + n->ah[hidden + j]);
        n->reset[j] = linear ? reset : reset * s->h[j];
    }
    product(r_hidden, linear ? s->h : n->reset, b_hidden, hidden, hidden, ah_hidden);
    for (int64_t j = 0; j < hidden; j++) {
        double z = activate(n, &f[0], n->ax[j] + n->ah[j]);
        double ah = linear ? n->reset[j] * ah_hidden[j] : ah_hidden[j];
        s->h[j] = (1 - z) * activate(n, &f[1], n->ax[2 * hidden + j] + ah) + z * s->h[j];
    }
}

static void rnn_step(rnn *n, const step *s) {
    int64_t hidden = n->plan->hidden;
    product(s->r, s->h, s->rb, hidden, hidden, n->ah);
    for (int64_t j = 0; j < hidden; j++)
        s->h[j] = activate(n, &s->functions[0], n->ax[j] + n->ah[j]);
}

static void (*const steps[])(rnn *n, const step *s) = {
    [ONX_RNN_LSTM] = lstm_step,
    [ONX_RNN_GRU] = gru_step,
    [ONX_RNN_RNN] = rnn_step,
};

/* One sequence in one direction. Y is zero beyond its end. */
static onx_status sequence(const onx_call *call, rnn *n, size_t d, int64_t b, int64_t length) {
    const onx_rnn_plan *p = n->plan;
    int64_t hidden = p->hidden, rows = (int64_t)n->state->gates * hidden, dir = (int64_t)d;
    int64_t at = dir * p->h_dir + b * p->h_batch;
    step s = {.w = n->in[ONX_RNN_W] + dir * rows * p->input,
              .r = n->in[ONX_RNN_R] + dir * rows * hidden,
              .wb = n->in[ONX_RNN_B] + dir * 2 * rows,
              .rb = n->in[ONX_RNN_B] + dir * 2 * rows + rows,
              .p = n->in[ONX_RNN_P] + dir * 3 * hidden,
              .h = n->out[1] + at,
              .c = n->out[2] + at,
              .functions = n->state->functions[d]};
    memcpy(s.h, n->in[ONX_RNN_H] + at, (size_t)hidden * sizeof *s.h);
    memcpy(s.c, n->in[ONX_RNN_C] + at, (size_t)hidden * sizeof *s.c);
    for (int64_t i = 0; i < length; i++) {
        ONX_TRY(onx_call_check(call));
        int64_t t = n->state->backward[d] ? length - 1 - i : i;
        s.x = n->in[ONX_RNN_X] + t * p->x_time + b * p->x_batch;
        product(s.w, s.x, s.wb, rows, p->input, n->ax);
        steps[n->state->kind](n, &s);
        memcpy(n->out[0] + t * p->y_time + dir * p->y_dir + b * p->y_batch, s.h,
               (size_t)hidden * sizeof *s.h);
    }
    return ONX_OK;
}

/* ─ Memory ───────────────────────────────────────────────────────────────────────────────────── */

/* How many doubles each part has, whether it is there or not. */
typedef struct counts {
    size_t in[8], out[3], gates, hidden;
} counts;

static bool count_all(const onx_call *call, counts *n, size_t *total) {
    const onx_rnn_state *state = call->state;
    const onx_rnn_plan *p = call->plan;
    size_t states, bias;
    *n = (counts){.hidden = (size_t)p->hidden, .gates = state->gates * (size_t)p->hidden};
    if (!onx_mul_size((size_t)p->batch, n->hidden, &states) ||
        !onx_mul_size(states, state->directions, &states) ||
        !onx_mul_size(states, (size_t)p->time, &n->out[0]) ||
        !onx_mul_size(n->gates, 2 * state->directions, &bias))
        return false;
    n->out[1] = n->out[2] = n->in[ONX_RNN_H] = n->in[ONX_RNN_C] = states;
    n->in[ONX_RNN_B] = bias;
    n->in[ONX_RNN_P] = 3 * n->hidden * state->directions;
    for (size_t i = ONX_RNN_X; i <= ONX_RNN_R; i++) n->in[i] = (size_t)call->in[i]->count;
    *total = 2 * n->gates + n->hidden + 1; /* never nothing */
    for (size_t i = 0; i < 8; i++)
        if (!onx_add_size(*total, n->in[i], total)) return false;
    for (size_t i = 0; i < 3; i++)
        if (!onx_add_size(*total, n->out[i], total)) return false;
    return onx_mul_size(*total, sizeof(double), total);
}

static onx_status ref_bind(onx_call *call) {
    counts n;
    ONX_TRY(onx_rnn_bind(call));
    if (!count_all(call, &n, &call->scratch_bytes))
        return onx_call_fail(call, ONX_LIMIT, "the sequences are too large for this machine");
    return ONX_OK;
}

static double *take(double **memory, size_t n) {
    double *part = *memory;
    *memory += n;
    return part;
}

static onx_status ref_run(onx_call *call) {
    rnn n = {.state = call->state, .plan = call->plan};
    double *memory = call->scratch;
    size_t total;
    counts size;
    (void)count_all(call, &size, &total);
    ONX_TRY(onx_rnn_lengths(call));
    for (size_t i = 0; i < 8; i++) {
        const onx_operand *in = i == ONX_RNN_LENS ? NULL : onx_rnn_in(call, i);
        n.in[i] = take(&memory, size.in[i]);
        if (in)
            ONX_TRY(onx_dtype_convert((onx_dtype)in->dtype, in->data, ONX_DTYPE_F64, n.in[i],
                                      size.in[i], false));
        else if (size.in[i])
            memset(n.in[i], 0, size.in[i] * sizeof(double));
    }
    for (size_t i = 0; i < 3; i++) n.out[i] = take(&memory, size.out[i]);
    if (size.out[0]) memset(n.out[0], 0, size.out[0] * sizeof(double));
    n.ax = take(&memory, size.gates);
    n.ah = take(&memory, size.gates);
    n.reset = take(&memory, size.hidden);
    for (size_t d = 0; d < n.state->directions; d++)
        for (int64_t b = 0; n.plan->hidden && b < n.plan->batch; b++)
            ONX_TRY(sequence(call, &n, d, b, onx_rnn_length(call, b)));
    for (size_t i = 0; i < 3; i++) {
        onx_operand *out = onx_rnn_out(call, i);
        if (out && out->count)
            ONX_TRY(onx_dtype_convert(ONX_DTYPE_F64, n.out[i], (onx_dtype)out->dtype, out->data,
                                      size.out[i], false));
    }
    return ONX_OK;
}

#define ROW(op, name)                                                                              \
    {                                                                                              \
        op, 1, 0,                                                                                  \
            {ONX_T_FLOATS, ONX_T_FLOATS, ONX_T_FLOATS, ONX_T_FLOATS, ONX_T(I32), ONX_T_FLOATS},    \
            name, .plan_bytes = sizeof(onx_rnn_plan), .init = onx_rnn_init, .bind = ref_bind,      \
                  .run = ref_run                                                                   \
    }

extern onx_kernel_rows onx_kernels_rnn_ref;
onx_kernel_rows onx_kernels_rnn_ref = {
    ROW("LSTM", "lstm"),
    ROW("GRU", "gru"),
    ROW("RNN", "rnn"),
    {0},
};
