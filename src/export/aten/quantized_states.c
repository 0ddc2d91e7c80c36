/* quantized_states.c: recurrent layers and tables whose weights are integers.
 *
 * PyTorch quantizes what goes into each step of a recurrent layer by its own numbers; here only
 * weights are integers, and steps are computed with floats: nearer to the model before it was
 * quantized, and said in a note. */
#include "export/aten/qtensor.h"

/* ─ Recurrent layers ─────────────────────────────────────────────────────────────────────────── */

/* Of a cell: (kind, tensors, numbers, numbers, packed weights), as PyTorch writes it. */
enum { CELL_WEIGHTS = 4, CELL_PARTS = 5 };

/* Of a packed linear layer, weight or bias. */
static onx_xv part(onx_export *x, const onx_xv *packed, size_t which) {
    onx_xv none = {.kind = ONX_X_NONE};
    if (onx_xv_is_list(packed) && packed->list->n == 2) return packed->list->v[which];
    onx_x_fail(x, ONX_UNSUPPORTED, "a recurrent layer whose weights are packed in another form");
    onx_x_hint(x, "quantize the model anew: torch.ao.quantization.quantize_dynamic(model)");
    return none;
}

/* The packed weights of a cell: of the input, then of the state. */
static const onx_xv *weights_of(onx_export *x, const onx_xv *cell) {
    const onx_xlist *parts = onx_xv_is_list(cell) ? cell->list : NULL;
    const onx_xv *packed = parts && parts->n == CELL_PARTS ? &parts->v[CELL_WEIGHTS] : NULL;
    if (packed && onx_xv_is_list(packed) && packed->list->n == 2) return packed->list->v;
    (void)part(x, cell, 2);
    return NULL;
}

/* Weights of cells as lstm and its like take them. */
static onx_xv unpack(onx_export *x, const onx_xv *cells) {
    onx_xv all = onx_xv_list(x, ONX_X_LIST, 0, NULL);
    for (size_t i = 0; i < cells->list->n && onx_x_ok(x); i++) {
        const onx_xv *w = weights_of(x, &cells->list->v[i]);
        for (size_t k = 0; k < 4 && w; k++) onx_xlist_add(x, all.list, part(x, &w[k % 2], k / 2));
    }
    return all;
}

static void note(onx_export *x) {
    onx_x_note(x, "recurrent layers compute with floats; PyTorch quantizes what goes into them");
}

static void run(onx_export *x, const char *op, const onx_xv *a, size_t n, size_t cells,
                onx_xv *out) {
    onx_xarg args[10];
    size_t n_out;
    for (size_t i = 0; i < n; i++) args[i] = (onx_xarg){.v = i == cells ? unpack(x, &a[i]) : a[i]};
    note(x);
    if (onx_x_ok(x)) onx_aten_call(x, onx_str_of(op), (onx_str){NULL, 0}, n, args, out, &n_out);
}
static void lower_lstm(onx_export *x, const onx_xv *a, onx_xv *out) {
    run(x, "lstm", a, 9, 2, out);
}
static void lower_lstm_packed(onx_export *x, const onx_xv *a, onx_xv *out) {
    run(x, "lstm", a, 9, 3, out);
}
static void lower_gru(onx_export *x, const onx_xv *a, onx_xv *out) {
    run(x, "gru", a, 9, 2, out);
}
static void lower_gru_packed(onx_export *x, const onx_xv *a, onx_xv *out) {
    run(x, "gru", a, 9, 3, out);
}

/* (input, hx, w_ih, w_hh, b_ih, b_hh): the biases that count are packed with the weights. */
static void lower_cell(onx_export *x, const char *op, const onx_xv *a, onx_xv *out) {
    size_t n_out;
    const onx_xarg args[] = {{.v = a[0]},
                             {.v = a[1]},
                             {.v = part(x, &a[2], 0)},
                             {.v = part(x, &a[3], 0)},
                             {.v = part(x, &a[2], 1)},
                             {.v = part(x, &a[3], 1)}};
    note(x);
    if (onx_x_ok(x))
        onx_aten_call(x, onx_str_of(op), (onx_str){NULL, 0}, ONX_COUNT(args), args, out, &n_out);
}
static void lower_lstm_cell(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_cell(x, "lstm_cell", a, out);
}
static void lower_gru_cell(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_cell(x, "gru_cell", a, out);
}
static void lower_relu_cell(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_cell(x, "rnn_relu_cell", a, out);
}
static void lower_tanh_cell(onx_export *x, const onx_xv *a, onx_xv *out) {
    lower_cell(x, "rnn_tanh_cell", a, out);
}

/* (w_ih, w_hh, …) */
static void lower_make_cell(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv none = {.kind = ONX_X_NONE};
    onx_xv parts[] = {none, none, none, none, onx_xv_list(x, ONX_X_LIST, 2, a)};
    *out = onx_xv_list(x, ONX_X_TUPLE, CELL_PARTS, parts);
}

/* ─ Tables ───────────────────────────────────────────────────────────────────────────────────── */

/* Rows of 4 bits have their scale, and what is added, in half precision. */
static onx_value *rounded(onx_export *x, onx_value *v) {
    onx_str op = onx_x_op(x);
    if (op.size < 4 || memcmp(op.data + op.size - 4, "4bit", 4)) return v;
    return onx_x_cast(x, onx_x_cast(x, v, ONX_DTYPE_F16), ONX_DTYPE_F32);
}

/* Rows of a table: integers, times the scale of the row, minus what 0 is then. */
static onx_value *rows_of(onx_export *x, const onx_xv *packed, onx_value *indices) {
    const onx_xv *table = packed->list->n == 1 ? packed->list->v : NULL;
    const onx_xquant *q = table ? onx_xv_quant(table) : NULL;
    if (!q || q->axis != 0) return onx_x_fail(x, ONX_UNSUPPORTED, "a table of another form");
    onx_value *zero = onx_emit(x, "Mul", onx_x_cast(x, q->zero, ONX_DTYPE_F32), q->scale);
    onx_value *scale = onx_emit(x, "Gather", rounded(x, q->scale), indices);
    zero = onx_emit(x, "Gather", rounded(x, zero), indices);
    onx_value *v = onx_emit(x, "Gather", onx_nn_tensor(x, table), indices);
    v = onx_emit(x, "Mul", onx_x_cast(x, v, ONX_DTYPE_F32), onx_x_unsqueeze(x, scale, -1));
    return onx_emit(x, "Sub", v, onx_x_unsqueeze(x, zero, -1));
}

/* (weight, indices, pruned_weights) */
static void lower_embedding(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_x_give(x, out, rows_of(x, &a[0], onx_nn_tensor(x, &a[1])));
}

/* (weight, indices, offsets, scale_grad_by_freq, mode, pruned_weights, per_sample_weights,
 * compressed_indices_mapping, include_last_offset): the rows of all indices are the table. */
static void lower_bag(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_xv all = onx_xv_int(x, -1);
    onx_value *indices = onx_nn_tensor(x, &a[1]), *flat = onx_x_reshape(x, indices, 1, &all);
    if (!onx_xv_is(&a[7], ONX_X_NONE))
        onx_x_fail(x, ONX_UNSUPPORTED, "a table whose rows were left out in part");
    onx_xv rows = onx_xv_tensor(x, rows_of(x, &a[0], flat)), length = onx_x_size_of(x, flat, 0);
    onx_value *numbers = onx_x_reshape_like(x, onx_x_count(x, &length), indices);
    onx_xv args[] = {rows, onx_xv_tensor(x, numbers), a[2], a[3],
                     a[4], onx_xv_bool(x, false),     a[6], a[8]};
    if (onx_x_ok(x)) *out = onx_aten_do(x, "embedding_bag", ONX_COUNT(args), args);
}

static void lower_table_prepack(onx_export *x, const onx_xv *a, onx_xv *out) {
    *out = onx_xv_list(x, ONX_X_TUPLE, 1, a);
}

#define Q "quantized::"
#define CELL "_dynamic(Tensor input, Tensor hx, Packed w_ih, Packed w_hh, Tensor b_ih, Tensor b_hh)"
#define REST                                                                                       \
    "Packed[] params, bool has_biases, int num_layers, float dropout, bool train, "                \
    "bool bidirectional"
#define MORE "*, ScalarType? dtype=None, bool use_dynamic=False) -> (Tensor, Tensor, Tensor)"
#define BAG                                                                                        \
    "(Packed weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, "        \
    "int mode=0, bool pruned_weights=False, Tensor? per_sample_weights=None, "                     \
    "Tensor? compressed_indices_mapping=None, bool include_last_offset=False)"
#define TABLE "(Packed weight, Tensor indices, bool pruned_weights=False)"

const onx_aten onx_aten_quantized_states[] = {
    {"quantized_lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, " REST ", " MORE,
     lower_lstm_packed, NULL},
    {"quantized_lstm.input(Tensor input, Tensor[] hx, " REST ", bool batch_first, " MORE,
     lower_lstm, NULL},
    {"quantized_gru.data(Tensor data, Tensor batch_sizes, Tensor hx, " REST ") -> (Tensor, Tensor)",
     lower_gru_packed, NULL},
    {"quantized_gru.input(Tensor input, Tensor hx, " REST ", bool batch_first) -> (Tensor, Tensor)",
     lower_gru, NULL},
    {Q "quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, Packed w_ih, Packed w_hh, "
       "Tensor bias_ih, Tensor bias_hh) -> (Tensor, Tensor)",
     lower_lstm_cell, NULL},
    {Q "quantized_gru_cell" CELL, lower_gru_cell, NULL},
    {Q "quantized_rnn_relu_cell" CELL, lower_relu_cell, NULL},
    {Q "quantized_rnn_tanh_cell" CELL, lower_tanh_cell, NULL},
    {Q "make_quantized_cell_params_dynamic(Packed w_ih, Packed w_hh, Tensor bias_ih, "
       "Tensor bias_hh, bool reduce_range=False)",
     lower_make_cell, NULL},
    {Q "make_quantized_cell_params_fp16(Packed w_ih, Packed w_hh)", lower_make_cell, NULL},
    {Q "embedding_byte" TABLE, lower_embedding, NULL},
    {Q "embedding_4bit" TABLE, lower_embedding, NULL},
    {Q "embedding_bag_byte" BAG, lower_bag, NULL},
    {Q "embedding_bag_4bit" BAG, lower_bag, NULL},
    {Q "embedding_bag_prepack(Tensor weight)", lower_table_prepack, NULL},
    {.schema = NULL},
};
