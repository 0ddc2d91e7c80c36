/* train_ref.c: optimizers: Adagrad, Adam, Momentum: plain kernels.
 *
 * Each element is updated on its own, in double precision; each result is rounded once. The inputs
 * are a learning rate, the number of updates so far, and, for n tensors, n of each of: the tensor,
 * its gradient, and one or two states. Out come the new tensors, and the new states:
 *
 *     R, T, X1 … Xn, G1 … Gn, V1 … Vn [, H1 … Hn]   ──▶   X1 … Xn, V1 … Vn [, H1 … Hn]
 */
#include "rt/kernel.h"

#include <math.h>

enum { SPAN = 256, TASK = 32 * SPAN };

/* What stays the same for all elements. */
typedef struct numbers {
    double rate, alpha, beta, epsilon, norm, norm_post, decay;
    bool nesterov;
} numbers;

/* One element: x is updated, v and h are its states. */
typedef void update(const numbers *k, double *x, double g, double *v, double *h);

static void adagrad(const numbers *k, double *x, double g, double *h, double *none) {
    (void)none;
    g += k->norm * *x;
    *h += g * g;
    *x -= k->rate * g / (sqrt(*h) + k->epsilon);
}

static void adam(const numbers *k, double *x, double g, double *v, double *h) {
    g += k->norm * *x;
    *v = k->alpha * *v + (1 - k->alpha) * g;
    *h = k->beta * *h + (1 - k->beta) * g * g;
    *x -= k->rate * *v / (sqrt(*h) + k->epsilon);
    *x *= 1 - k->norm_post;
}

static void momentum(const numbers *k, double *x, double g, double *v, double *none) {
    (void)none;
    g += k->norm * *x;
    *v = k->alpha * *v + k->beta * g;
    *x -= k->rate * (k->nesterov ? g + k->alpha * *v : *v);
}

/* What becomes of rate and coefficients after t updates. */
static void start_adagrad(numbers *k, double t) {
    k->rate /= 1 + t * k->decay;
}
static void start_adam(numbers *k, double t) {
    if (t > 0) k->rate *= sqrt(1 - pow(k->beta, t)) / (1 - pow(k->alpha, t));
}
static void start_momentum(numbers *k, double t) {
    if (!(t > 0)) k->beta = 1;
}

static const struct optimizer {
    const char *name;
    size_t states;
    update *update;
    void (*start)(numbers *k, double t);
} optimizers[] = {
    {"Adagrad", 1, adagrad, start_adagrad},
    {"Adam", 2, adam, start_adam},
    {"Momentum", 1, momentum, start_momentum},
};

typedef struct state {
    const struct optimizer *is;
    numbers k;
} state;

/* ─ init ─────────────────────────────────────────────────────────────────────────────────────── */

static onx_status init_mode(onx_call *call, bool *nesterov) {
    onx_str mode = onx_call_string(call, "mode");
    *nesterov = onx_str_is(mode, "nesterov");
    if (*nesterov || onx_str_is(mode, "standard")) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "mode is '%.*s'; it must be standard or nesterov",
                         ONX_FMT(mode));
}

static onx_status init(onx_call *call) {
    state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->is = optimizers;
    while (strcmp(st->is->name, call->op->name) != 0) st->is++;
    st->k = (numbers){.alpha = (double)onx_call_float(call, "alpha"),
                      .beta = (double)onx_call_float(call, "beta"),
                      .epsilon = (double)onx_call_float(call, "epsilon"),
                      .norm = (double)onx_call_float(call, "norm_coefficient"),
                      .norm_post = (double)onx_call_float(call, "norm_coefficient_post"),
                      .decay = (double)onx_call_float(call, "decay_factor")};
    return st->is->update == momentum ? init_mode(call, &st->k.nesterov) : ONX_OK;
}

/* ─ bind ─────────────────────────────────────────────────────────────────────────────────────── */

static onx_status bind_scalar(const onx_call *call, size_t index, const char *what) {
    if (call->in[index]->count == 1) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "the %s has %lld elements; it must have one", what,
                         (long long)call->in[index]->count);
}

/* Are the tensor, its gradient and its states, which lie `n` inputs apart, alike? */
static onx_status bind_tensor(const onx_call *call, size_t first, size_t n, size_t parts) {
    const onx_operand *x = onx_call_in(call, first);
    for (size_t p = 0; p < parts; p++) {
        const onx_operand *part = onx_call_in(call, first + p * n);
        if (!x || !part)
            return onx_call_fail(call, ONX_INVALID, "input %zu is missing", first + p * n);
        if (part->dtype != x->dtype || part->rank != x->rank ||
            (x->rank && memcmp(part->dims, x->dims, x->rank * sizeof *x->dims) != 0))
            return onx_call_fail(call, ONX_INVALID, "inputs %zu and %zu differ in type or shape",
                                 first, first + p * n);
    }
    return ONX_OK;
}

static onx_status bind(onx_call *call) {
    const state *st = call->state;
    size_t parts = 2 + st->is->states, all = call->n_in - 2, n = all / parts;
    ONX_TRY(bind_scalar(call, 0, "learning rate"));
    ONX_TRY(bind_scalar(call, 1, "update count"));
    if (all % parts || call->n_out > n * (parts - 1))
        return onx_call_fail(call, ONX_INVALID,
                             "%zu inputs after R and T, and %zu outputs: each tensor takes %zu and "
                             "gives %zu",
                             all, call->n_out, parts, parts - 1);
    for (size_t i = 0; i < n; i++) ONX_TRY(bind_tensor(call, 2 + i, n, parts));
    for (size_t i = 0; i < call->n_out; i++) {
        const onx_operand *like = call->in[2 + i % n];
        ONX_TRY(onx_call_shape(call, i, (onx_dtype)like->dtype, like->rank, like->dims));
    }
    return ONX_OK;
}

/* ─ run ──────────────────────────────────────────────────────────────────────────────────────── */

typedef struct job { /* one of the tensors */
    const numbers *k;
    update *update;
    const onx_operand *x, *g, *states[2];
    const onx_operand *new_x, *new_states[2];
} job;

static void fetch(const onx_operand *from, size_t at, size_t n, double *to) {
    if (from) onx_operand_get(from, at, n, to);
}
static void store(const onx_operand *to, size_t at, size_t n, const double *from) {
    if (to) onx_operand_put(to, at, n, from);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)call, (void)scratch;
    const job *j = user;
    double x[SPAN], g[SPAN], v[SPAN] = {0}, h[SPAN] = {0};
    size_t end = (size_t)j->x->count;
    if (end > (index + 1) * TASK) end = (index + 1) * TASK;
    for (size_t i = index * TASK; i < end; i += SPAN) {
        size_t n = end - i < SPAN ? end - i : SPAN;
        fetch(j->x, i, n, x);
        fetch(j->g, i, n, g);
        fetch(j->states[0], i, n, v);
        fetch(j->states[1], i, n, h);
        for (size_t e = 0; e < n; e++) j->update(j->k, &x[e], g[e], &v[e], &h[e]);
        store(j->new_x, i, n, x);
        store(j->new_states[0], i, n, v);
        store(j->new_states[1], i, n, h);
    }
    return ONX_OK;
}

static const onx_operand *out(const onx_call *call, size_t index) {
    return index < call->n_out ? call->out[index] : NULL;
}

static onx_status run(onx_call *call) {
    const state *st = call->state;
    size_t n = (call->n_in - 2) / (2 + st->is->states);
    numbers k = st->k;
    fetch(call->in[0], 0, 1, &k.rate);
    st->is->start(&k, (double)onx_operand_int(call->in[1], 0));
    for (size_t i = 0; i < n; i++) {
        job j = {&k, st->is->update, call->in[2 + i], call->in[2 + n + i], {0}, out(call, i), {0}};
        for (size_t s = 0; s < st->is->states; s++) {
            j.states[s] = call->in[2 + (2 + s) * n + i];
            j.new_states[s] = out(call, (1 + s) * n + i);
        }
        ONX_TRY(onx_call_parallel(call, ((size_t)j.x->count + TASK - 1) / TASK, task, &j));
    }
    return ONX_OK;
}

#define ROW(op_, name_)                                                                            \
    {                                                                                              \
        .op = op_, .first = 1, .types = {REAL, ONX_T(I64), REAL}, .name = name_,                   \
        .domain = "ai.onnx.preview.training", .init = init, .bind = bind, .run = run               \
    }
#define REAL (ONX_T(F32) | ONX_T(F64))

extern onx_kernel_rows onx_kernels_train_ref;
onx_kernel_rows onx_kernels_train_ref = {
    ROW("Adagrad", "adagrad"),
    ROW("Adam", "adam"),
    ROW("Momentum", "momentum"),
    {0},
};
