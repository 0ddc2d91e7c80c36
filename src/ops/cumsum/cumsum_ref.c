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
    return i % (1 << 12) || !onx_call_stopped(call);
}

/* `width` neighbouring lines of n elements, `step` apart, from the end that they begin at. */
typedef void line_fn(const onx_call *call, const char *in, char *out, int64_t n, int64_t step,
                     int64_t width);
enum { WIDTH = 64 }; /* at most */

/* T: elements; S: what they come to. Unsigned numbers wrap around, as ONNX's integers do. */
#define LINE(name, T, S)                                                                           \
    static inline __attribute__((always_inline)) void name##_of(                                   \
        const onx_call *call, const char *in, char *out, int64_t n, int64_t step, int64_t width) { \
        typedef T element __attribute__((aligned(1)));                                             \
        const cumsum how = *(const cumsum *)call->state;                                           \
        S total[WIDTH];                                                                            \
        for (int64_t k = 0; k < width; k++) total[k] = how.product;                                \
        for (int64_t i = 0; i < n && goes_on(call, i); i++) {                                      \
            const element *x = (const element *)(const void *)in + i * step;                       \
            element *y = (element *)(void *)out + i * step;                                        \
            for (int64_t k = 0; k < width; k++) {                                                  \
                S next = how.product ? total[k] * (S)x[k] : total[k] + (S)x[k];                    \
                y[k] = (T)(how.exclusive ? total[k] : next);                                       \
                total[k] = next;                                                                   \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void name(const onx_call *call, const char *in, char *out, int64_t n, int64_t step,     \
                     int64_t width) {                                                              \
        if (width == 1)                                                                            \
            name##_of(call, in, out, n, step, 1);                                                  \
        else                                                                                       \
            name##_of(call, in, out, n, step, width);                                              \
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
                     int64_t width) {
    for (int64_t k = 0; k < width; k++)
        line_half(ONX_DTYPE_F16, call, in + k * 2, out + k * 2, n, step);
}
static void line_bf16(const onx_call *call, const char *in, char *out, int64_t n, int64_t step,
                      int64_t width) {
    for (int64_t k = 0; k < width; k++)
        line_half(ONX_DTYPE_BF16, call, in + k * 2, out + k * 2, n, step);
}

static line_fn *const lines[ONX_DTYPE_COUNT] = {
    [ONX_DTYPE_F32] = line_f32, [ONX_DTYPE_F64] = line_f64,   [ONX_DTYPE_I32] = line_32,
    [ONX_DTYPE_U32] = line_32,  [ONX_DTYPE_I64] = line_64,    [ONX_DTYPE_U64] = line_64,
    [ONX_DTYPE_F16] = line_f16, [ONX_DTYPE_BF16] = line_bf16,
};

typedef struct work {
    int64_t n, inner, strips, per_task; /* strips: of the lines that lie side by side */
} work;

/* x, y: [outer][n][inner]; some strips of lines */
static onx_status cumsum_task(void *user, onx_call *call, size_t index, void *scratch) {
    const work *w = user;
    const cumsum *state = call->state;
    const onx_operand *x = call->in[0];
    int64_t size = onx_dtype_bits((onx_dtype)x->dtype) / 8, first = (int64_t)index * w->per_task;
    int64_t across = (w->inner + WIDTH - 1) / WIDTH;
    (void)scratch;
    for (int64_t i = first; i < first + w->per_task && i < w->strips; i++) {
        int64_t column = i % across * WIDTH, at = i / across * w->n * w->inner + column;
        int64_t width = w->inner - column < WIDTH ? w->inner - column : WIDTH;
        if (state->reverse) at += (w->n - 1) * w->inner;
        lines[x->dtype](call, (const char *)x->data + at * size,
                        (char *)call->out[0]->data + at * size, w->n,
                        state->reverse ? -w->inner : w->inner, width);
    }
    return onx_call_stopped(call) ? ONX_CANCELLED : ONX_OK;
}

static onx_status cumsum_run(onx_call *call) {
    const onx_operand *x = call->in[0];
    size_t axis = *(const size_t *)call->plan;
    if (!x->count) return ONX_OK;
    work w = {.n = x->dims[axis], .inner = 1};
    for (size_t i = axis + 1; i < x->rank; i++) w.inner *= x->dims[i];
    int64_t width = w.inner < WIDTH ? w.inner : WIDTH;
    w.strips = x->count / (w.n * w.inner) * ((w.inner + WIDTH - 1) / WIDTH);
    w.per_task = 1 + 16384 / width / w.n;
    return onx_call_parallel(call, (size_t)((w.strips + w.per_task - 1) / w.per_task), cumsum_task,
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
