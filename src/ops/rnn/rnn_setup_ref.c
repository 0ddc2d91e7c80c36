/* rnn_setup_ref.c: LSTM, GRU, RNN: attributes and shapes, for all their kernels. */
#include "ops/rnn/rnn_ref.h"

/* ─ Attributes ───────────────────────────────────────────────────────────────────────────────── */

static const struct cell {
    const char *op;
    size_t gates, functions;
    onx_rnn_function defaults[3];
} cells[] = {
    [ONX_RNN_LSTM] = {"LSTM", 4, 3, {ONX_RNN_SIGMOID, ONX_RNN_TANH, ONX_RNN_TANH}},
    [ONX_RNN_GRU] = {"GRU", 3, 2, {ONX_RNN_SIGMOID, ONX_RNN_TANH}},
    [ONX_RNN_RNN] = {"RNN", 1, 1, {ONX_RNN_TANH}},
};

static const struct function {
    const char *name;
    bool has_alpha, has_beta;
    float alpha, beta;
} functions[] = {
    [ONX_RNN_SIGMOID] = {"Sigmoid", false, false, 0, 0},
    [ONX_RNN_TANH] = {"Tanh", false, false, 0, 0},
    [ONX_RNN_RELU] = {"Relu", false, false, 0, 0},
    [ONX_RNN_AFFINE] = {"Affine", true, true, 1, 0},
    [ONX_RNN_LEAKY_RELU] = {"LeakyRelu", true, false, 0.01f, 0},
    [ONX_RNN_THRESHOLDED_RELU] = {"ThresholdedRelu", true, false, 1, 0},
    [ONX_RNN_SCALED_TANH] = {"ScaledTanh", true, true, 1, 1},
    [ONX_RNN_HARD_SIGMOID] = {"HardSigmoid", true, true, 0.2f, 0.5f},
    [ONX_RNN_ELU] = {"Elu", true, false, 1, 0},
    [ONX_RNN_SOFTSIGN] = {"Softsign", false, false, 0, 0},
    [ONX_RNN_SOFTPLUS] = {"Softplus", false, false, 0, 0},
};

static bool find_function(onx_str name, onx_rnn_function *out) {
    for (size_t i = 0; i < ONX_COUNT(functions); i++)
        if (onx_str_is(name, functions[i].name)) return *out = (onx_rnn_function)i, true;
    return false;
}

/* The functions of all directions; alphas and betas go to those that take one, in order. */
static onx_status read_functions(onx_call *call, onx_rnn_state *state) {
    const struct cell *cell = &cells[state->kind];
    const onx_attr *names = onx_node_attr(call->node, "activations");
    size_t n_names = names ? onx_attr_count(names) : 0, n_alphas, n_betas;
    size_t needed = cell->functions * state->directions;
    const float *alphas = onx_op_floats(call->node, "activation_alpha", &n_alphas);
    const float *betas = onx_op_floats(call->node, "activation_beta", &n_betas);
    if (n_names && n_names < needed)
        return onx_call_fail(call, ONX_INVALID, "activations has %zu names; it must have %zu",
                             n_names, needed);
    for (size_t i = 0, a = 0, b = 0; i < needed; i++) {
        size_t which = i % cell->functions;
        onx_rnn_function f = cell->defaults[which];
        if (n_names && !find_function(onx_attr_string_at(names, i), &f))
            return onx_call_fail(call, ONX_INVALID, "'%.*s' is not an activation function",
                                 ONX_FMT(onx_attr_string_at(names, i)));
        onx_rnn_activation *to = &state->functions[i / cell->functions][which];
        *to = (onx_rnn_activation){f, functions[f].alpha, functions[f].beta};
        if (functions[f].has_alpha && a < n_alphas) to->alpha = alphas[a++];
        if (functions[f].has_beta && b < n_betas) to->beta = betas[b++];
    }
    return ONX_OK;
}

static onx_status read_direction(onx_call *call, onx_rnn_state *state) {
    onx_str direction = onx_call_string(call, "direction");
    state->directions = 1;
    if (onx_str_is(direction, "bidirectional"))
        state->directions = 2, state->backward[1] = true;
    else if (onx_str_is(direction, "reverse"))
        state->backward[0] = true;
    else if (!onx_str_is(direction, "forward") &&
             !onx_str_is(direction, "foward")) /* the default of GRU 1 is written so */
        return onx_call_fail(call, ONX_INVALID,
                             "direction is '%.*s'; it must be forward, reverse or bidirectional",
                             ONX_FMT(direction));
    return ONX_OK;
}

onx_status onx_rnn_init(onx_call *call) {
    onx_rnn_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    while (strcmp(cells[state->kind].op, call->op->name) != 0) state->kind++;
    state->gates = cells[state->kind].gates;
    state->batch_first = onx_call_int(call, "layout") != 0;
    state->coupled = onx_call_int(call, "input_forget") != 0;
    state->linear_before_reset = onx_call_int(call, "linear_before_reset") != 0;
    state->hidden_size = onx_call_int(call, "hidden_size");
    state->has_clip = onx_op_has(call->node, "clip");
    state->clip = onx_call_float(call, "clip");
    if (state->has_clip && !(state->clip >= 0))
        return onx_call_fail(call, ONX_INVALID, "clip is %g; it must not be negative",
                             (double)state->clip);
    ONX_TRY(read_direction(call, state));
    return read_functions(call, state);
}

/* ─ Shapes ───────────────────────────────────────────────────────────────────────────────────── */

const onx_operand *onx_rnn_in(const onx_call *call, size_t index) {
    return index < call->n_in ? call->in[index] : NULL;
}
onx_operand *onx_rnn_out(const onx_call *call, size_t index) {
    return index < call->n_out ? call->out[index] : NULL;
}

static onx_status check_shape(const onx_call *call, size_t index, size_t rank,
                              const int64_t *dims) {
    static const char *const names[] = {"X",         "W",         "R", "B", "sequence_lens",
                                        "initial_h", "initial_c", "P"};
    const onx_operand *in = onx_rnn_in(call, index);
    if (!in) return ONX_OK;
    if (in->rank != rank)
        return onx_call_fail(call, ONX_INVALID, "%s has rank %d; it must have %zu", names[index],
                             in->rank, rank);
    for (size_t i = 0; i < rank; i++)
        if (in->dims[i] != dims[i])
            return onx_call_fail(call, ONX_INVALID, "dimension %zu of %s is %lld; it must be %lld",
                                 i, names[index], (long long)in->dims[i], (long long)dims[i]);
    return ONX_OK;
}

/* From X and R come the sizes that everything else has to agree with. */
static onx_status read_sizes(const onx_call *call, onx_rnn_plan *p) {
    const onx_rnn_state *state = call->state;
    const onx_operand *x = call->in[ONX_RNN_X], *r = call->in[ONX_RNN_R];
    if (x->rank != 3 || r->rank != 3)
        return onx_call_fail(call, ONX_INVALID, "X and R have rank %d and %d; they must have 3",
                             x->rank, r->rank);
    p->time = x->dims[state->batch_first];
    p->batch = x->dims[!state->batch_first];
    p->input = x->dims[2];
    p->hidden = r->dims[2];
    if (state->hidden_size && state->hidden_size != p->hidden)
        return onx_call_fail(call, ONX_INVALID, "hidden_size is %lld, but R has %lld",
                             (long long)state->hidden_size, (long long)p->hidden);
    int64_t most;
    if (!onx_mul_i64(p->hidden, 16, &most))
        return onx_call_fail(call, ONX_INVALID, "the hidden size %lld is too large",
                             (long long)p->hidden);
    return ONX_OK;
}

static onx_status check_shapes(const onx_call *call, const onx_rnn_plan *p) {
    const onx_rnn_state *state = call->state;
    int64_t dirs = (int64_t)state->directions, rows = (int64_t)state->gates * p->hidden;
    int64_t first = state->batch_first ? p->batch : dirs;
    int64_t second = state->batch_first ? dirs : p->batch;
    ONX_TRY(check_shape(call, ONX_RNN_W, 3, (int64_t[]){dirs, rows, p->input}));
    ONX_TRY(check_shape(call, ONX_RNN_R, 3, (int64_t[]){dirs, rows, p->hidden}));
    ONX_TRY(check_shape(call, ONX_RNN_B, 2, (int64_t[]){dirs, 2 * rows}));
    ONX_TRY(check_shape(call, ONX_RNN_LENS, 1, (int64_t[]){p->batch}));
    ONX_TRY(check_shape(call, ONX_RNN_H, 3, (int64_t[]){first, second, p->hidden}));
    ONX_TRY(check_shape(call, ONX_RNN_C, 3, (int64_t[]){first, second, p->hidden}));
    return check_shape(call, ONX_RNN_P, 2, (int64_t[]){dirs, 3 * p->hidden});
}

/* Distances, in tensors that are not empty: they cannot overflow there, and elsewhere nobody uses
 * them. */
static void find_strides(const onx_rnn_state *state, onx_rnn_plan *p) {
    uint64_t time = (uint64_t)p->time, batch = (uint64_t)p->batch, hidden = (uint64_t)p->hidden;
    uint64_t input = (uint64_t)p->input, dirs = state->directions;
    bool first = state->batch_first;
    p->x_time = (int64_t)(first ? input : batch * input);
    p->x_batch = (int64_t)(first ? time * input : input);
    p->y_time = (int64_t)(dirs * hidden * (first ? 1 : batch));
    p->y_batch = (int64_t)(first ? time * dirs * hidden : hidden);
    p->y_dir = (int64_t)(first ? hidden : batch * hidden);
    p->h_batch = (int64_t)(first ? dirs * hidden : hidden);
    p->h_dir = p->y_dir;
}

onx_status onx_rnn_bind(onx_call *call) {
    const onx_rnn_state *state = call->state;
    onx_rnn_plan *p = call->plan;
    onx_dtype dtype = (onx_dtype)call->in[ONX_RNN_X]->dtype;
    int64_t dirs = (int64_t)state->directions;
    ONX_TRY(read_sizes(call, p));
    ONX_TRY(check_shapes(call, p));
    find_strides(state, p);
    bool first = state->batch_first;
    int64_t y[] = {first ? p->batch : p->time, first ? p->time : dirs, first ? dirs : p->batch,
                   p->hidden};
    int64_t last[] = {first ? p->batch : dirs, first ? dirs : p->batch, p->hidden};
    ONX_TRY(onx_call_shape(call, 0, dtype, 4, y));
    for (size_t i = 1; i < call->n_out; i++) ONX_TRY(onx_call_shape(call, i, dtype, 3, last));
    return ONX_OK;
}

int64_t onx_rnn_length(const onx_call *call, int64_t b) {
    const onx_operand *lengths = onx_rnn_in(call, ONX_RNN_LENS);
    const onx_rnn_plan *p = call->plan;
    return lengths ? onx_operand_int(lengths, b) : p->time;
}

onx_status onx_rnn_lengths(const onx_call *call) {
    const onx_rnn_plan *p = call->plan;
    for (int64_t b = 0; onx_rnn_in(call, ONX_RNN_LENS) && b < p->batch; b++) {
        int64_t n = onx_rnn_length(call, b);
        if (n < 0 || n > p->time)
            return onx_call_fail(call, ONX_INVALID,
                                 "sequence_lens[%lld] is %lld; it must be 0 to %lld", (long long)b,
                                 (long long)n, (long long)p->time);
    }
    return ONX_OK;
}
