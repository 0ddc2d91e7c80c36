/* rnn_ref.h: what the kernels of LSTM, GRU and RNN share: attributes, sizes, where things lie.
 *
 *     X      [T, B, I]        W  [D, G*H, I]     B  [D, 2*G*H]: of W, then of R
 *     Y      [T, D, B, H]     R  [D, G*H, H]     P  [D, 3*H]
 *     h, c   [D, B, H]
 *
 * T: time, B: batch, I: input, H: hidden, D: directions, G: gates. With layout 1: X [B, T, I],
 * Y [B, T, D, H], h and c [B, D, H]. Gates of LSTM: input output forget cell; of GRU: update reset
 * hidden. */
#ifndef ONX_RNN_REF_H
#define ONX_RNN_REF_H

#include "rt/kernel.h"

typedef enum onx_rnn_kind { ONX_RNN_LSTM, ONX_RNN_GRU, ONX_RNN_RNN } onx_rnn_kind;

typedef enum onx_rnn_function {
    ONX_RNN_SIGMOID,
    ONX_RNN_TANH,
    ONX_RNN_RELU,
    ONX_RNN_AFFINE,
    ONX_RNN_LEAKY_RELU,
    ONX_RNN_THRESHOLDED_RELU,
    ONX_RNN_SCALED_TANH,
    ONX_RNN_HARD_SIGMOID,
    ONX_RNN_ELU,
    ONX_RNN_SOFTSIGN,
    ONX_RNN_SOFTPLUS,
} onx_rnn_function;

typedef struct onx_rnn_activation {
    onx_rnn_function function;
    float alpha, beta;
} onx_rnn_activation;

typedef struct onx_rnn_state {
    onx_rnn_kind kind;
    size_t gates, directions;
    bool backward[2]; /* of each direction */
    bool batch_first, coupled, linear_before_reset;
    bool has_clip;
    float clip;
    int64_t hidden_size;                /* 0: not given */
    onx_rnn_activation functions[2][3]; /* f, g, h of each direction */
} onx_rnn_state;

/* Sizes, and the distance between neighbours in elements. */
typedef struct onx_rnn_plan {
    int64_t time, batch, input, hidden;
    int64_t x_time, x_batch;
    int64_t y_time, y_batch, y_dir;
    int64_t h_batch, h_dir;
} onx_rnn_plan;

onx_status onx_rnn_init(onx_call *call) ONX_MUST_CHECK;
/* Checks all shapes, sets those of the outputs, and fills the plan. */
onx_status onx_rnn_bind(onx_call *call) ONX_MUST_CHECK;
/* Input `index`; NULL: absent. */
const onx_operand *onx_rnn_in(const onx_call *call, size_t index);
onx_operand *onx_rnn_out(const onx_call *call, size_t index);
/* How long sequence `b` is: INVALID when that is not in [0, T]. */
onx_status onx_rnn_lengths(const onx_call *call) ONX_MUST_CHECK; /* checks them all */
int64_t onx_rnn_length(const onx_call *call, int64_t b);

enum { ONX_RNN_X, ONX_RNN_W, ONX_RNN_R, ONX_RNN_B, ONX_RNN_LENS, ONX_RNN_H, ONX_RNN_C, ONX_RNN_P };

#endif
