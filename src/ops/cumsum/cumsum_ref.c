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

/* Lines of n elements, `step` apart, from the end that they begin at: one, or as many as a vector
 * has, side by side. */
enum { SIDE_BY_SIDE = 16 };
typedef void line_fn(const onx_call *call, const char *in, char *out, int64_t n, int64_t step);

/* E: elements; V: one of them, or a vector. Unsigned numbers wrap around, as ONNX's integers do. */
#define LINE(name, E, V)                                                                           \
    static void name(const onx_call *call, const char *in, char *out, int64_t n, int64_t step) {   \
        const cumsum how = *(const cumsum *)call->state;                                           \
        V total = (V){0} + (E)how.product, x;                                                      \
        for (int64_t i = 0; i < n && goes_on(call, i); i++) {                                      \
            memcpy(&x, in + i * step * (int64_t)sizeof(E), sizeof x);                              \
            V next = how.product ? total * x : total + x;                                          \
            x = how.exclusive ? total : next;                                                      \
            total = next;                                                                          \
            memcpy(out + i * step * (int64_t)sizeof(E), &x, sizeof x);                             \
        }                                                                                          \
    }
#define LINES(name, E)                                                                             \
    typedef E name##_vector __attribute__((vector_size(SIDE_BY_SIDE * sizeof(E))));                \
    LINE(line_##name, E, E)                                                                        \
    LINE(lines_##name, E, name##_vector)
LINES(f32, float)
LINES(f64, double)
LINES(u32, uint32_t)
LINES(u64, uint64_t)

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
static void line_f16(const onx_call *call, const char *in, char *out, int64_t n, int64_t step) {
    line_half(ONX_DTYPE_F16, call, in, out, n, step);
}
static void line_bf16(const onx_call *call, const char *in, char *out, int64_t n, int64_t step) {
    line_half(ONX_DTYPE_BF16, call, in, out, n, step);
}

/* One line; SIDE_BY_SIDE of them, if that has a function of its own. */
static const struct {
    line_fn *one, *many;
} lines[ONX_DTYPE_COUNT] = {
    [ONX_DTYPE_F32] = {line_f32, lines_f32}, [ONX_DTYPE_F64] = {line_f64, lines_f64},
    [ONX_DTYPE_I32] = {line_u32, lines_u32}, [ONX_DTYPE_U32] = {line_u32, lines_u32},
    [ONX_DTYPE_I64] = {line_u64, lines_u64}, [ONX_DTYPE_U64] = {line_u64, lines_u64},
    [ONX_DTYPE_F16] = {line_f16, NULL},      [ONX_DTYPE_BF16] = {line_bf16, NULL},
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
        bool many = w->inner - i % w->inner >= SIDE_BY_SIDE && end - i >= SIDE_BY_SIDE;
        line_fn *line = many && lines[x->dtype].many ? lines[x->dtype].many : lines[x->dtype].one;
        count = line == lines[x->dtype].one ? 1 : SIDE_BY_SIDE;
        if (state->reverse) at += (w->n - 1) * w->inner;
        line(call, (const char *)x->data + at * size, (char *)call->out[0]->data + at * size, w->n,
             state->reverse ? -w->inner : w->inner);
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
