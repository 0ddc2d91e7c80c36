/* recurrent.c: recurrent layers of PyTorch: LSTM, GRU and RNN, of several layers and directions,
 * over padded and over packed sequences, and their single steps.
 *
 *     weights       PyTorch i f g o -> ONNX i o f c;  r z n -> z r h
 *     sequence      [time, batch, width], or batch first
 *     states        [layers * directions, batch, width]
 *
 * A packed sequence is kept as it was before it was packed, time first; the numbers of sequences at
 * each time are kept as the lengths. */
#include "export/aten/nn_args.h"

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
    bool biased, bidirectional, batch_first;
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

/* One weight of all directions of a layer: [directions, rows …]. */
static onx_value *weight_of(onx_export *x, const network *n, size_t layer, size_t which) {
    size_t each = n->biased ? 4 : 2, directions = n->bidirectional ? 2 : 1;
    onx_value *parts[DIRECTIONS];
    for (size_t d = 0; d < directions; d++) {
        const onx_xv *v = &n->params->v[(layer * directions + d) * each + which];
        parts[d] = onx_x_unsqueeze(x, reorder(x, n->cell, onx_nn_tensor(x, v)), 0);
    }
    return onx_x_concat(x, directions, parts, 0);
}

static onx_value *biases_of(onx_export *x, const network *n, size_t layer) {
    if (!n->biased) return NULL;
    onx_value *parts[] = {weight_of(x, n, layer, 2), weight_of(x, n, layer, 3)};
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

/* y[0]: [time, directions, batch, width]; then the last states. */
static bool run_layer(onx_export *x, const network *n, size_t layer, onx_value *input,
                      onx_value *y[3]) {
    onx_xattr attrs[5] = {{.name = NULL}}, *at = attrs;
    const char *activations[] = {n->cell->activation, n->cell->activation};
    size_t directions = n->bidirectional ? 2 : 1;
    int64_t hidden;
    onx_value *r = weight_of(x, n, layer, 1);
    if (!r || !onx_x_known_dim(x, r, 2, &hidden)) return false;
    if (n->cell->activation) *at++ = ONX_ASL("activations", directions, activations);
    if (n->bidirectional) *at++ = ONX_AS("direction", "bidirectional");
    *at++ = ONX_AI("hidden_size", hidden);
    if (n->cell == &gru) *at = ONX_AI("linear_before_reset", 1);
    onx_value *in[] = {input,
                       weight_of(x, n, layer, 0),
                       r,
                       biases_of(x, n, layer),
                       onx_x_cast(x, n->lengths, ONX_DTYPE_I32),
                       state_of(x, n, 0, layer),
                       n->cell->remembers ? state_of(x, n, 1, layer) : NULL};
    return onx_emit_node(x, n->cell->op, attrs, ONX_COUNT(in), in, n->cell->remembers ? 3 : 2, y);
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

static bool check(onx_export *x, const network *n) {
    size_t each = n->biased ? 4 : 2, directions = n->bidirectional ? 2 : 1;
    if (!n->input || !onx_x_ok(x)) return false;
    if (n->layers < 1 || n->layers > MOST_LAYERS) {
        onx_x_fail(x, ONX_UNSUPPORTED, "%lld layers", (long long)n->layers);
    } else if (n->params->n != (size_t)n->layers * directions * each) {
        onx_x_fail(x, ONX_UNSUPPORTED, "a projection of the states (proj_size)");
        onx_x_hint(x, "ONNX's LSTM has none: write the cell out as a loop in Python");
    }
    return onx_x_ok(x);
}

static void run_network(onx_export *x, const network *n, onx_xv *out) {
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
    network n = {.cell = c,
                 .input = onx_nn_tensor(x, &a[0]),
                 .lengths = onx_nn_tensor(x, &a[1]),
                 .params = a[3].list,
                 .biased = onx_xv_true(&a[4]),
                 .layers = onx_xv_whole(x, &a[5], 1),
                 .bidirectional = onx_xv_true(&a[8])};
    if (n.input && onx_x_rank(x, n.input) != 3) {
        onx_x_fail(x, ONX_UNSUPPORTED, "a packed sequence that was not made here");
        onx_x_hint(x, "pack it with pack_padded_sequence in the model");
        return;
    }
    read_states(x, &n, &a[2]);
    run_network(x, &n, out);
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

/* ─ Packed sequences ─────────────────────────────────────────────────────────────────────────── */

/* (input, lengths, batch_first) */
static void lower_pack(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_nn_tensor(x, &a[0]);
    onx_x_note(x, "packed sequences stay padded; their lengths go with them");
    onx_x_give(x, &out[0], v && onx_xv_true(&a[2]) ? onx_x_swap(x, v, 0, 1) : v);
    onx_x_give(x, &out[1], onx_x_as(x, &a[1], ONX_DTYPE_I64));
}

/* What comes after the end of each sequence is that number. */
static onx_value *refill(onx_export *x, onx_value *v, onx_value *lengths, const onx_xv *number) {
    static const int64_t axes[] = {1, 2};
    onx_xv time = onx_x_size_of(x, v, 0);
    onx_value *at = onx_emit(x, "Unsqueeze", onx_x_count(x, &time), onx_x_ints(x, 2, axes));
    onx_value *inside = onx_emit(x, "Less", at, onx_x_unsqueeze(x, lengths, 1));
    return onx_emit(x, "Where", inside, v, onx_x_scalar(x, number, onx_x_dtype(x, v)));
}

/* (data, batch_sizes, batch_first, padding_value, total_length): up to the end of the longest, or
 * as long as that. */
static void lower_pad_packed(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *v = onx_nn_tensor(x, &a[0]), *lengths = onx_nn_tensor(x, &a[1]);
    int64_t total = onx_xv_whole(x, &a[4], -1);
    if (!v || !lengths || onx_x_rank(x, v) != 3) return;
    if (!onx_xv_is_one(x, &a[3], 0)) v = refill(x, v, lengths, &a[3]);
    if (total <= 0) {
        onx_value *longest = onx_x_reduce(x, "ReduceMax", lengths, 0, NULL, false);
        v = onx_x_slice(x, v, 0, onx_xv_int(x, 0), onx_xv_run(ONX_X_INT, longest), 1);
    } else {
        onx_xv none = onx_xv_int(x, 0), time = onx_x_size_of(x, v, 0);
        onx_xv more = onx_x_arith(x, "sub", onx_xv_int(x, total), time);
        onx_xv pads[] = {none, none, none, more, none, none};
        if (!onx_xv_is_one(x, &more, 0))
            v = onx_emit(x, "Pad", v, onx_x_shape(x, 6, pads),
                         onx_x_scalar(x, &a[3], onx_x_dtype(x, v)));
    }
    onx_x_give(x, &out[0], v && onx_xv_true(&a[2]) ? onx_x_swap(x, v, 0, 1) : v);
    onx_x_give(x, &out[1], lengths);
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
    {"_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first)" TWO, lower_pack, NULL},
    {"_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, "
     "Scalar padding_value, int total_length)" TWO,
     lower_pad_packed, NULL},
    {.schema = NULL},
};
