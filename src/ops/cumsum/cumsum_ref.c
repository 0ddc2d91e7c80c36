/* cumsum_ref.c: running sums and products: CumSum, CumProd: plain loops. float16 and bfloat16 are
 * computed as float and rounded once for each element. */
#include "rt/kernel.h"

typedef struct cumsum {
    bool product, exclusive, reverse;
} cumsum;

static onx_status cumsum_init(onx_call *call) {
    cumsum *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    *state = (cumsum){strcmp(call->op->name, "CumProd") == 0, onx_call_int(call, "exclusive") != 0,
                      onx_call_int(call, "reverse") != 0};
    return ONX_OK;
}

static onx_status cumsum_bind(onx_call *call) {
    const onx_operand *axis = call->in[1];
    if (axis->count != 1 || !axis->data ||
        !onx_axis(onx_operand_int(axis, 0), call->in[0]->rank, call->plan))
        return onx_call_fail(call, ONX_INVALID, "axis is not one number within the rank of x");
    return onx_bind_same(call);
}

/* One line of n elements, `step` apart, from the end that it begins at. */
typedef void line_fn(const cumsum *how, const char *in, char *out, int64_t n, int64_t step);

/* T: elements; S: what they come to. Unsigned numbers wrap around, as ONNX's integers do. */
#define LINE(name, T, S)                                                                           \
    static void name(const cumsum *how, const char *in, char *out, int64_t n, int64_t step) {      \
        S total = how->product;                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T x, y;                                                                                \
            memcpy(&x, in + i * step * (int64_t)sizeof x, sizeof x);                               \
            S next = how->product ? total * (S)x : total + (S)x;                                   \
            y = (T)(how->exclusive ? total : next);                                                \
            total = next;                                                                          \
            memcpy(out + i * step * (int64_t)sizeof y, &y, sizeof y);                              \
        }                                                                                          \
    }
LINE(line_f32, float, float)
LINE(line_f64, double, double)
LINE(line_32, uint32_t, uint32_t)
LINE(line_64, uint64_t, uint64_t)

static void line_half(onx_dtype dtype, const cumsum *how, const char *in, char *out, int64_t n,
                      int64_t step) {
    float total = how->product;
    for (int64_t i = 0; i < n; i++) {
        float x = 0, y;
        (void)onx_dtype_convert(dtype, in + i * step * 2, ONX_DTYPE_F32, &x, 1, true);
        float next = how->product ? total * x : total + x;
        y = how->exclusive ? total : next;
        total = next;
        (void)onx_dtype_convert(ONX_DTYPE_F32, &y, dtype, out + i * step * 2, 1, true);
    }
}
static void line_f16(const cumsum *how, const char *in, char *out, int64_t n, int64_t step) {
    line_half(ONX_DTYPE_F16, how, in, out, n, step);
}
static void line_bf16(const cumsum *how, const char *in, char *out, int64_t n, int64_t step) {
    line_half(ONX_DTYPE_BF16, how, in, out, n, step);
}

static line_fn *const lines[ONX_DTYPE_COUNT] = {
    [ONX_DTYPE_F32] = line_f32, [ONX_DTYPE_F64] = line_f64,   [ONX_DTYPE_I32] = line_32,
    [ONX_DTYPE_U32] = line_32,  [ONX_DTYPE_I64] = line_64,    [ONX_DTYPE_U64] = line_64,
    [ONX_DTYPE_F16] = line_f16, [ONX_DTYPE_BF16] = line_bf16,
};

typedef struct work {
    int64_t n, inner, lines, per_task;
} work;

/* x, y: [outer][n][inner]; some of their lines */
static onx_status cumsum_task(void *user, onx_call *call, size_t index, void *scratch) {
    const work *w = user;
    const cumsum *state = call->state;
    const onx_operand *x = call->in[0];
    int64_t size = onx_dtype_bits((onx_dtype)x->dtype) / 8, first = (int64_t)index * w->per_task;
    (void)scratch;
    for (int64_t i = first; i < first + w->per_task && i < w->lines; i++) {
        int64_t at = i / w->inner * w->n * w->inner + i % w->inner;
        if (state->reverse) at += (w->n - 1) * w->inner;
        lines[x->dtype](state, (const char *)x->data + at * size,
                        (char *)call->out[0]->data + at * size, w->n,
                        state->reverse ? -w->inner : w->inner);
    }
    return ONX_OK;
}

static onx_status cumsum_run(onx_call *call) {
    const onx_operand *x = call->in[0];
    size_t axis = *(const size_t *)call->plan;
    if (!x->count) return ONX_OK;
    work w = {.n = x->dims[axis], .inner = 1};
    for (size_t i = axis + 1; i < x->rank; i++) w.inner *= x->dims[i];
    w.lines = x->count / w.n;
    w.per_task = 1 + 16384 / w.n;
    return onx_call_parallel(call, (size_t)((w.lines + w.per_task - 1) / w.per_task), cumsum_task,
                             &w);
}

#define WIDE (ONX_T(I32) | ONX_T(I64) | ONX_T(U32) | ONX_T(U64))

#define ROW(op_, first_, name_)                                                                    \
    {                                                                                              \
        .op = op_, .first = first_, .types = {ONX_T_FLOATS | WIDE, ONX_T_INDEX}, .name = name_,    \
        .overwrite = 1, .host = 2, .plan_bytes = sizeof(size_t), .init = cumsum_init,              \
        .bind = cumsum_bind, .run = cumsum_run                                                     \
    }

extern onx_kernel_rows onx_kernels_cumsum_ref;
onx_kernel_rows onx_kernels_cumsum_ref = {
    ROW("CumSum", 11, "cumsum"),
    ROW("CumProd", 26, "cumprod"),
    {0},
};
