/* work.c: how much arithmetic a step is, by the definition of its operator: two for each product
 * that is added up. What a kernel really does may be less (Winograd) or more (padding). Operators
 * that are not in the table move data; their bytes tell more. */
#include "rt/work.h"

typedef double work_fn(const onx_call *call, size_t at);

static double count(const onx_call *call, size_t at) {
    const onx_operand *in = onx_call_in(call, at);
    return in && in->kind == ONX_TYPE_TENSOR ? (double)in->count : 0;
}

static double dim(const onx_call *call, size_t at, int64_t axis) { /* negative: from the end */
    const onx_operand *in = onx_call_in(call, at);
    if (!in || in->kind != ONX_TYPE_TENSOR || in->rank > ONX_RANK_MAX) return 0;
    if (axis < 0) axis += in->rank;
    return axis >= 0 && axis < in->rank ? (double)in->dims[axis] : 0;
}

static double results(const onx_call *call) {
    const onx_operand *out = call->n_out ? call->out[0] : NULL;
    return out && out->kind == ONX_TYPE_TENSOR ? (double)out->count : 0;
}

/* Each result is a row of input `at` times a column. */
static double product(const onx_call *call, size_t at) {
    (void)at;
    return 2 * results(call) * dim(call, 0, -1);
}

static double gemm(const onx_call *call, size_t at) {
    double rows =
        call->n_out && call->out[0] && call->out[0]->rank == 2 ? (double)call->out[0]->dims[0] : 0;
    (void)at;
    return rows > 0 ? 2 * results(call) * count(call, 0) / rows : 0;
}

/* Each result is the sum over the weights (input `at`) of its channel. */
static double convolution(const onx_call *call, size_t at) {
    double channels = dim(call, at, 0);
    return channels > 0 ? 2 * results(call) * count(call, at) / channels : 0;
}

/* Each element goes into a window of results. */
static double spread(const onx_call *call, size_t at) {
    double channels = dim(call, at, 0);
    return channels > 0 ? 2 * count(call, 0) * count(call, at) / channels : 0;
}

/* Two products for each step: X W and H R. */
static double recurrent(const onx_call *call, size_t at) {
    return 2 * dim(call, 0, 0) * dim(call, 0, 1) * (count(call, at) + count(call, at + 1));
}

/* Q K' and its product with V, of [batch, heads, length, size]. */
static double attention(const onx_call *call, size_t at) {
    (void)at;
    return 2 * count(call, 0) * dim(call, 1, 2) + 2 * results(call) * dim(call, 1, 2);
}

static const struct {
    const char *op;
    work_fn *work;
    size_t at;
} table[] = {
    {"Attention", attention, 0},     {"Conv", convolution, 1},
    {"ConvBlocked", convolution, 1}, {"ConvInteger", convolution, 1},
    {"ConvTranspose", spread, 1},    {"FusedConv", convolution, 1},
    {"FusedGemm", gemm, 0},          {"FusedMatMul", product, 0},
    {"GRU", recurrent, 1},           {"Gemm", gemm, 0},
    {"LSTM", recurrent, 1},          {"MatMul", product, 0},
    {"MatMulInteger", product, 0},   {"MatMulNBits", product, 0},
    {"MatMulTile", product, 0},      {"QLinearConv", convolution, 3},
    {"QLinearMatMul", product, 0},   {"RNN", recurrent, 1},
};

double onx_call_work(const onx_call *call) {
    for (size_t i = 0; i < ONX_COUNT(table); i++)
        if (strcmp(table[i].op, call->op->name) == 0) return table[i].work(call, table[i].at);
    return 0;
}
