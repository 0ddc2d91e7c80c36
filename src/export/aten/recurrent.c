/* recurrent.c: recurrent layers of PyTorch: LSTM, GRU and RNN, of several layers and directions,
 * over padded and over packed sequences, and their single steps.
 *
 *     weights       PyTorch i f g o -> ONNX i o f c;  r z n -> z r h
 *     sequence      [time, batch, width], or batch first
 *     states        [layers * directions, batch, width]
 *
 * An LSTM whose states are projected, r = P h, is one with the matrix R P in the place of R, whose
 * results are projected; states that it begins with are a further input at the first step. */
#include "export/aten/packed.h"
#include "export/aten/qtensor.h"

enum { DIRECTIONS = 2, MOST_LAYERS = 64 };

typedef struct cell {
    const char *op; /* of ONNX */
    int64_t gates;
    int64_t order[4];       /* where the gates of ONNX are in PyTorch's */
    const char *activation; /* NULL: the usual */
    bool remembers;         /* has a second state */
} cell;

static const cell lstm = {"LSTM", 4, {0, 3, 1, 2}, NULL, true};
static const cell gru = {"GRU", 3, {1, 0, 2}, NULL, false};
static const cell rnn_tanh = {"RNN", 1, {0}, NULL, false};
static const cell rnn_relu = {"RNN", 1, {0}, "Relu", false};

typedef struct network {
    const cell *cell;
    onx_value *input;    /* [time, batch, width], or batch first */
    onx_value *lengths;  /* of sequences: int64[batch]; NULL: all are whole */
    onx_value *state[2]; /* initial; NULL: 0 */
    const onx_xlist *params;
    bool biased, bidirectional, batch_first, projected;
    int64_t layers;
} network;

/* ─ Weights ──────────────────────────────────────────────────────────────────────────────────── */

/* Rows of gates in the order of ONNX. */
static onx_value *reorder(onx_export *x, const cell *c, onx_value *w) {
    size_t rank = onx_x_rank(x, w);
    if (rank == SIZE_MAX || c->gates == 1) return w;
    onx_xv apart[3] = {onx_xv_int(x, c->gates), onx_xv_int(x, -1)}, joined[2] = {onx_xv_int(x, -1)};
    if (rank == 2) apart[2] = joined[1] = onx_x_size_of(x, w, 1);
    onx_value *gates = onx_x_reshape(x, w, rank + 1, apart);
    gates = onx_emit(x, "Gather", gates, onx_x_ints(x, (size_t)c->gates, c->order));
    return onx_x_reshape(x, gates, rank, joined);
}

static size_t directions_of(const network *n) {
    return n->bidirectional ? 2 : 1;
}
static size_t weights_of(const network *n) { /* of a direction of a layer */
    return (n->biased ? 4 : 2) + n->projected;
}

enum { INPUT_WEIGHT, STATE_WEIGHT, INPUT_BIAS, STATE_BIAS, PROJECTION };

static const onx_xv *given(const network *n, size_t layer, size_t d, size_t which) {
    size_t at = which == PROJECTION ? weights_of(n) - 1 : which;
    return &n->params->v[(layer * directions_of(n) + d) * weights_of(n) + at];
}
static onx_value *param(onx_export *x, const network *n, size_t layer, size_t d, size_t which) {
    return onx_quant_numbers(x, given(n, layer, d, which));
}

/* A weight as ONNX has it, with an axis for the direction. Integers are moved as such. */
static onx_value *part_of(onx_export *x, const network *n, size_t layer, size_t d, size_t which) {
    const onx_xv *v = given(n, layer, d, which);
    const onx_xquant *q = onx_xv_quant(v);
    bool coded = q && q->axis < 0;
    onx_value *w = reorder(x, n->cell, coded ? onx_nn_tensor(x, v) : onx_quant_numbers(x, v));
    if (n->projected && which == STATE_WEIGHT)
        w = onx_emit(x, "MatMul", w, param(x, n, layer, d, PROJECTION));
    w = onx_x_unsqueeze(x, w, 0);
    return coded ? onx_dequantize(x, q, w, ONX_DTYPE_F32) : w;
}

/* One weight of all directions of a layer: [directions, rows …]. */
static onx_value *weight_of(onx_export *x, const network *n, size_t layer, size_t which) {
    onx_value *parts[DIRECTIONS];
    for (size_t d = 0; d < directions_of(n); d++) parts[d] = part_of(x, n, layer, d, which);
    return onx_x_concat(x, directions_of(n), parts, 0);
}

static onx_value *biases_of(onx_export *x, const network *n, size_t layer) {
    if (!n->biased) return NULL;
    onx_value *parts[] = {weight_of(x, n, layer, INPUT_BIAS), weight_of(x, n, layer, STATE_BIAS)};
    return onx_x_concat(x, 2, parts, 1);
}

/* ─ Layers ───────────────────────────────────────────────────────────────────────────────────── */

/* The states of one layer; NULL where they are 0. */
static onx_value *state_of(onx_export *x, const network *n, size_t which, size_t layer) {
    int64_t directions = n->bidirectional ? 2 : 1, first = (int64_t)layer * directions;
    onx_value *state = n->state[which];
    if (!state || onx_nn_is_zero(x, state)) return NULL;
    if (n->layers == 1) return state;
    return onx_x_slice(x, state, 0, onx_xv_int(x, first), onx_xv_int(x, first + directions), 1);
}

/* What a layer is given: its input, what that is multiplied by, its first states. */
typedef struct start {
    onx_value *input, *weight, *states, *memory;
} start;

/* States r as an input at the first step of direction d, and 0 at all others. */
static onx_value *first_step(onx_export *x, onx_value *states, size_t d, const onx_xv *time) {
    onx_xv none = onx_xv_int(x, 0), rest = onx_x_arith(x, "sub", *time, onx_xv_int(x, 1));
    onx_xv pads[] = {d ? rest : none, none, none, d ? none : rest, none, none};
    onx_xv from = onx_xv_int(x, (int64_t)d), to = onx_xv_int(x, (int64_t)d + 1);
    return onx_emit(x, "Pad", onx_x_slice(x, states, 0, from, to, 1), onx_x_shape(x, 6, pads));
}

/* Of states that are projected, there is no h that they come from: they go in with the input. */
static void start_projected(onx_export *x, const network *n, size_t layer, start *s) {
    onx_value *in[1 + DIRECTIONS] = {s->input}, *weights[DIRECTIONS];
    onx_xv time = onx_x_size_of(x, s->input, 0);
    if (n->lengths && n->bidirectional)
        onx_x_fail(x, ONX_UNSUPPORTED, "packed sequences, projected, that begin with a state");
    for (size_t d = 0; d < directions_of(n) && onx_x_ok(x); d++) {
        onx_value *r = reorder(x, n->cell, param(x, n, layer, d, STATE_WEIGHT));
        onx_value *parts[1 + DIRECTIONS];
        parts[0] = reorder(x, n->cell, param(x, n, layer, d, INPUT_WEIGHT));
        for (size_t k = 0; k < directions_of(n); k++)
            parts[1 + k] = k == d ? r : onx_nn_times(x, r, 0);
        weights[d] = onx_x_concat(x, 1 + directions_of(n), parts, 1);
        weights[d] = onx_x_unsqueeze(x, weights[d], 0);
        in[1 + d] = first_step(x, s->states, d, &time);
    }
    if (!onx_x_ok(x)) return;
    s->input = onx_x_concat(x, 1 + directions_of(n), in, 2);
    s->weight = onx_x_concat(x, directions_of(n), weights, 0);
    s->states = NULL;
}

/* Results and states of all directions, [… directions, batch, width], by their projections. */
static onx_value *project(onx_export *x, const network *n, size_t layer, onx_value *y) {
    onx_value *parts[DIRECTIONS];
    for (size_t d = 0; d < directions_of(n); d++)
        parts[d] = onx_x_unsqueeze(x, onx_x_swap(x, param(x, n, layer, d, PROJECTION), 0, 1), 0);
    return onx_emit(x, "MatMul", y, onx_x_concat(x, directions_of(n), parts, 0));
}

/* y[0]: [time, directions, batch, width]; then the last states. */
static bool run_layer(onx_export *x, const network *n, size_t layer, onx_value *input,
                      onx_value *y[3]) {
    onx_xattr attrs[5] = {{.name = NULL}}, *at = attrs;
    const char *activations[] = {n->cell->activation, n->cell->activation};
    int64_t hidden;
    start s = {input, weight_of(x, n, layer, INPUT_WEIGHT), state_of(x, n, 0, layer),
               n->cell->remembers ? state_of(x, n, 1, layer) : NULL};
    onx_value *r = weight_of(x, n, layer, STATE_WEIGHT);
    if (!r || !onx_x_known_dim(x, r, 2, &hidden)) return false;
    if (n->projected && s.states) start_projected(x, n, layer, &s);
    if (n->cell->activation) *at++ = ONX_ASL("activations", directions_of(n), activations);
    if (n->bidirectional) *at++ = ONX_AS("direction", "bidirectional");
    *at++ = ONX_AI("hidden_size", hidden);
    if (n->cell == &gru) *at = ONX_AI("linear_before_reset", 1);
    onx_value *in[] = {
        s.input,  s.weight, r, biases_of(x, n, layer), onx_x_cast(x, n->lengths, ONX_DTYPE_I32),
        s.states, s.memory};
    if (!onx_emit_wide_node(x, n->cell->op, attrs, ONX_COUNT(in), in, n->cell->remembers ? 3 : 2,
                            y))
        return false;
    for (size_t i = 1; i < (n->cell->remembers ? 3 : 2); i++) /* where it is computed wider */
        y[i] = onx_x_cast(x, y[i], onx_x_dtype(x, y[0]));
    for (size_t i = 0; i < 2 && n->projected; i++) y[i] = project(x, n, layer, y[i]);
    return onx_x_ok(x);
}

/* [time, batch, all directions], or with the batch first. */
static onx_value *join_directions(onx_export *x, const network *n, onx_value *y, bool batch_first) {
    static const int64_t time_perm[] = {0, 2, 1, 3}, batch_perm[] = {2, 0, 1, 3};
    if (!n->bidirectional) {
        y = onx_x_squeeze(x, y, 1);
        return batch_first ? onx_x_swap(x, y, 0, 1) : y;
    }
    y = onx_x_transpose(x, y, 4, batch_first ? batch_perm : time_perm);
    if (!y) return NULL;
    onx_xv shape[] = {onx_x_size_of(x, y, 0), onx_x_size_of(x, y, 1), onx_xv_int(x, -1)};
    return onx_x_reshape(x, y, 3, shape);
}

/* Do the weights fit? Those of an LSTM may have a projection with them. */
static bool check(onx_export *x, network *n) {
    size_t cells = (size_t)n->layers * directions_of(n);
    if (!n->input || !onx_x_ok(x)) return false;
    if (n->layers < 1 || n->layers > MOST_LAYERS)
        onx_x_fail(x, ONX_UNSUPPORTED, "%lld layers", (long long)n->layers);
    n->projected = n->cell == &lstm && n->params->n == cells * (weights_of(n) + 1);
    if (onx_x_ok(x) && n->params->n != cells * weights_of(n))
        onx_x_fail(x, ONX_INVALID, "%zu weights", n->params->n);
    return onx_x_ok(x);
}

static void run_network(onx_export *x, network *n, onx_xv *out) {
    onx_value *last[2][MOST_LAYERS], *y[3];
    size_t layers = (size_t)n->layers;
    if (!check(x, n)) return;
    onx_value *v = n->batch_first ? onx_x_swap(x, n->input, 0, 1) : n->input;
    for (size_t i = 0; i < layers; i++) {
        if (!run_layer(x, n, i, v, y)) return;
        v = join_directions(x, n, y[0], n->batch_first && i + 1 == layers);
        last[0][i] = y[1];
        last[1][i] = n->cell->remembers ? y[2] : NULL;
    }
    onx_x_give(x, &out[0], v);
    for (size_t s = 0; s < (n->cell->remembers ? 2 : 1); s++)
        onx_x_give(x, &out[s + 1], onx_x_concat(x, layers, last[s], 0));
}

static void read_states(onx_export *x, network *n, const onx_xv *hx) {
    if (!onx_xv_is_list(hx)) {
        n->state[0] = onx_nn_tensor(x, hx);
        return;
    }
    for (size_t i = 0; i < 2 && i < hx->list->n; i++)
        n->state[i] = onx_nn_tensor(x, &hx->list->v[i]);
}

/* (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first) */
static void lower_input(onx_export *x, const cell *c, const onx_xv *a, onx_xv *out) {
    network n = {.cell = c,
                 .input = onx_nn_tensor(x, &a[0]),
                 .params = a[2].list,
                 .biased = onx_xv_true(&a[3]),
                 .layers = onx_xv_whole(x, &a[4], 1),
                 .bidirectional = onx_xv_true(&a[7]),
                 .batch_first = onx_xv_true(&a[8])};
    if (onx_xv_true(&a[6]) && !onx_xv_is_one(x, &a[5], 0))
        onx_x_note(x, "dropout between layers of an %s is left out", c->op);
    read_states(x, &n, &a[1]);
    run_network(x, &n, out);
}

/* (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional) */
static void lower_data(onx_export *x, const cell *c, const onx_xv *a, onx_xv *out) {
    onx_packed p;
    network n = {.cell = c,
                 .params = a[3].list,
                 .biased = onx_xv_true(&a[4]),
                 .layers = onx_xv_whole(x, &a[5], 1),
                 .bidirectional = onx_xv_true(&a[8])};
    if (!onx_packed_open(x, onx_nn_tensor(x, &a[0]), onx_nn_tensor(x, &a[1]), &p)) return;
    n.input = p.padded;
    n.lengths = p.lengths;
    read_states(x, &n, &a[2]);
    run_network(x, &n, out);
    p.padded = onx_nn_tensor(x, &out[0]);
    p.zeros = true;
    onx_x_give(x, &out[0], onx_packed_close(x, &p));
}

#define FORMS(name)                                                                                \
    static void lower_##name##_input(onx_export *x, const onx_xv *a, onx_xv *out) {                \
        lower_input(x, &name, a, out);                                                             \
    }                                                                                              \
    static void lower_##name##_data(onx_export *x, const onx_xv *a, onx_xv *out) {                 \
        lower_data(x, &name, a, out);                                                              \
    }
FORMS(lstm)
FORMS(gru)
FORMS(rnn_tanh)
FORMS(rnn_relu)

/* ─ One step ─────────────────────────────────────────────────────────────────────────────────── */

/* (input, hx, w_ih, w_hh, b_ih, b_hh): a sequence of length 1. */
static void lower_cell(onx_export *x, const cell *c, const onx_xv *a, onx_xv *out) {
    onx_xlist params = {(onx_xv[]){a[2], a[3], a[4], a[5]}, 4, 4};
    network n = {
        .cell = c, .params = &params, .layers = 1, .biased = !onx_xv_is(&a[4], ONX_X_NONE)};
    onx_value *y[3], *input = onx_nn_tensor(x, &a[0]);
    bool alone = input && onx_x_rank(x, input) == 1;
    if (!n.biased) params.n = 2;
    read_states(x, &n, &a[1]);
    if (alone) input = onx_x_unsqueeze(x, input, 0);
    n.input = onx_x_unsqueeze(x, input, 0);
    for (size_t i = 0; i < 2; i++) {
        if (alone) n.state[i] = onx_x_unsqueeze(x, n.state[i], 0);
        n.state[i] = onx_x_unsqueeze(x, n.state[i], 0);
    }
    if (!check(x, &n) || !run_layer(x, &n, 0, n.input, y)) return;
    for (size_t s = 0; s < (c->remembers ? 2 : 1); s++) {
        onx_value *state = onx_x_squeeze(x, y[s + 1], 0);
        onx_x_give(x, &out[s], alone ? onx_x_squeeze(x, state, 0) : state);
    }
}
static void lower_lstm_cell(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_cell(x, &lstm, a, out);
}
static void lower_gru_cell(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_cell(x, &gru, a, out);
}
static void lower_tanh_cell(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_cell(x, &rnn_tanh, a, out);
}
static void lower_relu_cell(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_cell(x, &rnn_relu, a, out);
}

#define REST                                                                                       \
    "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "                \
    "bool bidirectional"
#define INPUT(hx) ".input(Tensor input, Tensor" hx " hx, " REST ", bool batch_first)"
#define DATA(hx) ".data(Tensor data, Tensor batch_sizes, Tensor" hx " hx, " REST ")"
#define CELL(hx)                                                                                   \
    "(Tensor input, Tensor" hx " hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "                \
    "Tensor? b_hh=None)"
#define TWO " -> (Tensor, Tensor)"
#define THREE " -> (Tensor, Tensor, Tensor)"

const onx_aten onx_aten_recurrent[] = {
    {"lstm" DATA("[]") THREE, lower_lstm_data, NULL},
    {"lstm" INPUT("[]") THREE, lower_lstm_input, NULL},
    {"gru" DATA("") TWO, lower_gru_data, NULL},
    {"gru" INPUT("") TWO, lower_gru_input, NULL},
    {"rnn_tanh" DATA("") TWO, lower_rnn_tanh_data, NULL},
    {"rnn_tanh" INPUT("") TWO, lower_rnn_tanh_input, NULL},
    {"rnn_relu" DATA("") TWO, lower_rnn_relu_data, NULL},
    {"rnn_relu" INPUT("") TWO, lower_rnn_relu_input, NULL},
    {"lstm_cell" CELL("[]") TWO, lower_lstm_cell, NULL},
    {"gru_cell" CELL(""), lower_gru_cell, NULL},
    {"rnn_tanh_cell" CELL(""), lower_tanh_cell, NULL},
    {"rnn_relu_cell" CELL(""), lower_relu_cell, NULL},
    {.schema = NULL},
};
