/* rnn.c: LSTM, GRU, RNN: meaning. */
#include "ops/op.h"

/* Gates of an operator: how often the hidden size is in a row of its weights. */
static int64_t n_gates(const onx_op *op) {
    return strcmp(op->name, "LSTM") == 0 ? 4 : strcmp(op->name, "GRU") == 0 ? 3 : 1;
}

static const onx_sym *dim_of(const onx_fact *fact, size_t index) {
    return fact->ranked && index < fact->rank ? fact->dims[index] : NULL;
}

/* By the attribute, or by the weights: W is [directions, gates * hidden, input]. */
static const onx_sym *hidden_size(onx_infer *in) {
    onx_syms *syms = onx_infer_syms(in);
    int64_t size = onx_infer_int(in, "hidden_size");
    if (size > 0) return onx_sym_int(syms, size);
    const onx_sym *last = dim_of(onx_infer_in(in, 2), 2);
    if (last) return last;
    return onx_sym_floordiv(syms, dim_of(onx_infer_in(in, 1), 1),
                            onx_sym_int(syms, n_gates(onx_infer_op(in))));
}

/* The weights and states fit X, the hidden size and each other. */
static onx_status check_inputs(onx_infer *in, const onx_sym *n_dirs, const onx_sym *n_batch,
                               const onx_sym *n_hidden, bool batch_first) {
    onx_syms *syms = onx_infer_syms(in);
    const onx_sym *n_rows =
        onx_sym_mul(syms, n_hidden, onx_sym_int(syms, n_gates(onx_infer_op(in))));
    onx_extent dirs = {"number of directions", n_dirs}, batch = {"batch size", n_batch};
    onx_extent hidden = {"hidden size", n_hidden};
    onx_extent input = {"size of an input", dim_of(onx_infer_in(in, 0), 2)};
    onx_extent rows = {"number of rows of the weights", n_rows};
    onx_extent biases = {"number of biases", onx_sym_mul(syms, n_rows, onx_sym_int(syms, 2))};
    onx_extent holes = {"number of peepholes", onx_sym_mul(syms, n_hidden, onx_sym_int(syms, 3))};
    onx_extent *first = batch_first ? &batch : &dirs, *second = batch_first ? &dirs : &batch;
    ONX_TRY(onx_infer_unify(in, 1, 3, (onx_extent *[]){&dirs, &rows, &input}));
    ONX_TRY(onx_infer_unify(in, 2, 3, (onx_extent *[]){&dirs, &rows, &hidden}));
    ONX_TRY(onx_infer_unify(in, 3, 2, (onx_extent *[]){&dirs, &biases}));
    ONX_TRY(onx_infer_unify(in, 4, 1, (onx_extent *[]){&batch}));
    for (size_t i = 5; i < 7; i++)
        ONX_TRY(onx_infer_unify(in, i, 3, (onx_extent *[]){first, second, &hidden}));
    return onx_infer_unify(in, 7, 2, (onx_extent *[]){&dirs, &holes});
}

static onx_status infer_rnn(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    if (x->ranked && x->rank != 3)
        return onx_infer_fail(in, "X has rank %zu; it must have 3", x->rank);
    onx_syms *syms = onx_infer_syms(in);
    bool batch_first = onx_infer_int(in, "layout") != 0;
    bool both = onx_str_is(onx_infer_string(in, "direction"), "bidirectional");
    const onx_sym *length = dim_of(x, batch_first), *batch = dim_of(x, !batch_first);
    const onx_sym *dirs = onx_sym_int(syms, both ? 2 : 1), *hidden = hidden_size(in);
    const onx_sym *y0[] = {length, dirs, batch, hidden}, *last0[] = {dirs, batch, hidden};
    const onx_sym *y1[] = {batch, length, dirs, hidden}, *last1[] = {batch, dirs, hidden};
    ONX_TRY(check_inputs(in, dirs, batch, hidden, batch_first));
    ONX_TRY(onx_infer_tensor(in, 0, x->dtype, 4, batch_first ? y1 : y0));
    for (size_t i = 1; i < onx_infer_n_out(in); i++)
        ONX_TRY(onx_infer_tensor(in, i, x->dtype, 3, batch_first ? last1 : last0));
    return ONX_OK;
}

#define IN "(X:T, W:T, R:T, B?:T, sequence_lens?:T1, initial_h?:T"
#define OUT ") -> (Y?:T, Y_h?:T"
#define ATTRS                                                                                      \
    "{clip?:float, activation_beta?:floats, activation_alpha?:floats, hidden_size?:int, "          \
    "direction:string=\"forward\", "
#define LSTM                                                                                       \
    IN ", initial_c?:T, P?:T" OUT ", Y_c?:T) " ATTRS "activations?:strings, input_forget:int=0"
#define GRU IN OUT ") " ATTRS "activations?:strings, linear_before_reset:int=0"
#define RNN IN OUT ") " ATTRS "activations:strings=[\"Tanh\", \"Tanh\"]"
#define OLD ", output_sequence:int=0} [T:f0, T1:int32]"
#define PLAIN "} [T:f0, T1:int32]"
#define LAYOUT ", layout:int=0} [T:f0, T1:int32]"
#define LAYOUT_ALL ", layout:int=0} [T:f, T1:int32]"

extern onx_op_rows onx_ops_rnn;
onx_op_rows onx_ops_rnn = {
    {"LSTM", 1, LSTM OLD, .infer = infer_rnn},
    {"LSTM", 7, LSTM PLAIN, .infer = infer_rnn},
    {"LSTM", 14, LSTM LAYOUT, .infer = infer_rnn},
    {"LSTM", 22, LSTM LAYOUT_ALL, .infer = infer_rnn},
    {"GRU", 1,
     IN ") -> (Y?:T, Y_h:T) {clip?:float, activation_beta?:floats, activation_alpha?:floats, "
        "hidden_size?:int, direction:string=\"foward\", activations?:strings" OLD,
     .infer = infer_rnn},
    {"GRU", 3, GRU OLD, .infer = infer_rnn},
    {"GRU", 7, GRU PLAIN, .infer = infer_rnn},
    {"GRU", 14, GRU LAYOUT, .infer = infer_rnn},
    {"GRU", 22, GRU LAYOUT_ALL, .infer = infer_rnn},
    {"RNN", 1, RNN OLD, .infer = infer_rnn},
    {"RNN", 7, RNN PLAIN, .infer = infer_rnn},
    {"RNN", 14, RNN LAYOUT, .infer = infer_rnn},
    {"RNN", 22, RNN LAYOUT_ALL, .infer = infer_rnn},
    {0},
};
