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

/* The deadline is looked at once in a while. */
static inline bool goes_on(const onx_call *call, int64_t i) {
    return i % (1 << 14) || !onx_call_stopped(call);
}

/* `count` lines that lie side by side, of n elements, `step` apart, from the end that they begin
 * at. */
enum { SIDE_BY_SIDE = 64 };
typedef void line_fn(const onx_call *call, const char *in, char *out, int64_t n, int64_t step,
                     int64_t count);

/* T: elements; S: what they come to. Unsigned numbers wrap around, as ONNX's integers do. */
#define LINE(name, T, S)                                                                           \
    static inline __attribute__((always_inline)) void name##_of(                                   \
        const onx_call *call, const char *in, char *out, int64_t n, int64_t step, int64_t count,   \
        bool product, bool exclusive) {                                                            \
        S total[SIDE_BY_SIDE];                                                                     \
        for (int64_t l = 0; l < count; l++) total[l] = product;                                    \
        for (int64_t i = 0; i < n && goes_on(call, i); i++)                                        \
            for (int64_t l = 0; l < count; l++) {                                                  \
                T x, y;                                                                            \
                memcpy(&x, in + (i * step + l) * (int64_t)sizeof x, sizeof x);                     \
                S next = product ? total[l] * (S)x : total[l] + (S)x;                              \
                y = (T)(exclusive ? total[l] : next);                                              \
                total[l] = next;                                                                   \
                memcpy(out + (i * step + l) * (int64_t)sizeof y, &y, sizeof y);                    \
            }                                                                                      \
    }                                                                                              \
    static void name(const onx_call *call, const char *in, char *out, int64_t n, int64_t step,     \
                     int64_t count) {                                                              \
        const cumsum how = *(const cumsum *)call->state;                                           \
        if (count == 1)                                                                            \
            name##_of(call, in, out, n, step, 1, how.product, how.exclusive);                      \
        else if (how.product || how.exclusive)                                                     \
            name##_of(call, in, out, n, step, count, how.product, how.exclusive);                  \
        else                                                                                       \
            name##_of(call, in, out, n, step, count, false, false);                                \
    }
LINE(line_f32, float, float)
LINE(line_f64, double, double)
LINE(line_32, uint32_t, uint32_t)
LINE(line_64, uint64_t, uint64_t)

static void line_half(onx_dtype dtype, const onx_call *call, const char *in, char *out, int64_t n,
                      int64_t step) {
    const cumsum *how = call->state;
    float total = how->product;
    for (int64_t i = 0; i < n && goes_on(call, i); i++) {
        float x = 0, y;
        (void)onx_dtype_convert(dtype, in + i * step * 2, ONX_DTYPE_F32, &x, 1, true);
        float next = how->product ? total * x : total + x;
        y = how->exclusive ? total : next;
        total = next;
        (void)onx_dtype_convert(ONX_DTYPE_F32, &y, dtype, out + i * step * 2, 1, true);
    }
}
static void line_f16(const onx_call *call, const char *in, char *out, int64_t n, int64_t step,
                     int64_t count) {
    for (int64_t l = 0; l < count; l++)
        line_half(ONX_DTYPE_F16, call, in + l * 2, out + l * 2, n, step);
}
static void line_bf16(const onx_call *call, const char *in, char *out, int64_t n, int64_t step,
                      int64_t count) {
    for (int64_t l = 0; l < count; l++)
        line_half(ONX_DTYPE_BF16, call, in + l * 2, out + l * 2, n, step);
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
    int64_t end = w->lines - first < w->per_task ? w->lines : first + w->per_task;
    for (int64_t i = first, count; i < end; i += count) {
        int64_t at = i / w->inner * w->n * w->inner + i % w->inner;
        count = w->inner - i % w->inner < end - i ? w->inner - i % w->inner : end - i;
        if (count > SIDE_BY_SIDE) count = SIDE_BY_SIDE;
        if (state->reverse) at += (w->n - 1) * w->inner;
        lines[x->dtype](call, (const char *)x->data + at * size,
                        (char *)call->out[0]->data + at * size, w->n,
                        state->reverse ? -w->inner : w->inner, count);
    }
    return onx_call_stopped(call) ? ONX_CANCELLED : ONX_OK;
}

static onx_status cumsum_run(onx_call *call) {
    const onx_operand *x = call->in[0];
    size_t axis = *(const size_t *)call->plan;
    if (!x->count) return ONX_OK;
    work w = {.n = x->dims[axis], .inner = 1};
    for (size_t i = axis + 1; i < x->rank; i++) w.inner *= x->dims[i];
    w.lines = x->count / w.n;
    w.per_task = SIDE_BY_SIDE * (1 + 16384 / SIDE_BY_SIDE / w.n);
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
