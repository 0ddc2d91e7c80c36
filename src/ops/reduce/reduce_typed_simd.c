/* reduce_typed_simd.c: see reduce_typed_simd.h: for each operator and type a loop along elements
 * that lie together, and one down columns that do, whose sums are the results themselves. */
#include "ops/reduce/reduce_typed_simd.h"
#include "cpu/vec_double.h"

enum { WIDE = 4 }; /* vectors side by side */

/* One element more: of vectors a and x, or of numbers. Integers that wrap around are unsigned. */
#define BOTH(m, x, y) ((V)(((vd_lanes)(m) & (vd_lanes)(x)) | (~(vd_lanes)(m) & (vd_lanes)(y))))
#define ADD(a, x) ((a) + (x))
#define MUL(a, x) ((a) * (x))
#define ADD_SQUARE(a, x) ((a) + (x) * (x))
#define LARGER(a, x) BOTH(((a) > (x)) | ((a) != (a)), a, x)
#define LARGER_ONE(a, x) ((a) > (x) || (a) != (a) ? (a) : (x))
#define SMALLER(a, x) BOTH(((a) < (x)) | ((a) != (a)), a, x)
#define SMALLER_ONE(a, x) ((a) < (x) || (a) != (a) ? (a) : (x))
#define NEGATIVE(x) (-((x) >> (8 * sizeof(T) - 1)))
#define ADD_ABS(a, x) ((a) + (((x) ^ NEGATIVE(x)) - NEGATIVE(x)))
#define ADD_FABS(a, x) ((a) + (V)((vd_lanes)(x)&INT64_MAX))
#define ADD_FABS_ONE(a, x) ((a) + fabs(x))

/* Two functions: n elements of a row into *sum, where nothing adds up to *start; and n rows,
 * `stride` elements apart, into the `width` sums of their columns. */
#define LOAD(p) (memcpy(&x, p, sizeof x), x)
#define LOOPS(name, type, STEP, JOIN, ONE, JOIN_ONE)                                               \
    static void name##_row(const void *from, int64_t n, const void *start, void *sum) {            \
        typedef type T;                                                                            \
        typedef T V __attribute__((vector_size(VF_BYTES)));                                        \
        const int64_t lanes = VF_BYTES / sizeof(T);                                                \
        const T *p = from;                                                                         \
        T one, all, each[VF_BYTES / sizeof(T)];                                                    \
        memcpy(&all, sum, sizeof all);                                                             \
        if (n >= lanes) {                                                                          \
            V x, s[WIDE];                                                                          \
            memcpy(&one, start, sizeof one);                                                       \
            for (int64_t i = 0; i < lanes; i++) each[i] = one;                                     \
            for (int v = 0; v < WIDE; v++) memcpy(&s[v], each, sizeof x);                          \
            for (; n >= WIDE * lanes; n -= WIDE * lanes, p += WIDE * lanes)                        \
                VF_UNROLL for (int v = 0; v < WIDE; v++) s[v] = STEP(s[v], LOAD(p + v * lanes));   \
            for (; n >= lanes; n -= lanes, p += lanes) s[0] = STEP(s[0], LOAD(p));                 \
            s[0] = JOIN(s[0], s[1]), s[2] = JOIN(s[2], s[3]), s[0] = JOIN(s[0], s[2]);             \
            memcpy(each, &s[0], sizeof each);                                                      \
            for (int64_t i = 0; i < lanes; i++) all = (T)JOIN_ONE(all, each[i]);                   \
        }                                                                                          \
        for (; n > 0; n--, p++) memcpy(&one, p, sizeof one), all = (T)ONE(all, one);               \
        memcpy(sum, &all, sizeof all);                                                             \
    }                                                                                              \
    static void name##_columns(const void *from, int64_t n, int64_t stride, void *sums,            \
                               int64_t width) {                                                    \
        typedef type T;                                                                            \
        typedef T V __attribute__((vector_size(VF_BYTES)));                                        \
        const int64_t lanes = VF_BYTES / sizeof(T);                                                \
        const T *p = from;                                                                         \
        T *to = sums, one, all;                                                                    \
        V x, s[WIDE];                                                                              \
        for (; width >= WIDE * lanes; width -= WIDE * lanes, p += WIDE * lanes) {                  \
            VF_UNROLL for (int v = 0; v < WIDE; v++) memcpy(&s[v], to + v * lanes, sizeof x);      \
            for (int64_t i = 0; i < n; i++)                                                        \
                VF_UNROLL for (int v = 0; v < WIDE; v++) s[v] =                                    \
                    STEP(s[v], LOAD(p + i * stride + v * lanes));                                  \
            VF_UNROLL for (int v = 0; v < WIDE; v++) memcpy(to + v * lanes, &s[v], sizeof x);      \
            to += WIDE * lanes;                                                                    \
        }                                                                                          \
        for (; width >= lanes; width -= lanes, p += lanes, to += lanes) {                          \
            memcpy(&s[0], to, sizeof x);                                                           \
            for (int64_t i = 0; i < n; i++) s[0] = STEP(s[0], LOAD(p + i * stride));               \
            memcpy(to, &s[0], sizeof x);                                                           \
        }                                                                                          \
        for (; width > 0; width--, p++, to++) {                                                    \
            memcpy(&all, to, sizeof all);                                                          \
            for (int64_t i = 0; i < n; i++)                                                        \
                memcpy(&one, p + i * stride, sizeof one), all = (T)ONE(all, one);                  \
            memcpy(to, &all, sizeof all);                                                          \
        }                                                                                          \
    }

#define SUMS(name, type)                                                                           \
    LOOPS(add_##name, type, ADD, ADD, ADD, ADD)                                                    \
    LOOPS(mul_##name, type, MUL, MUL, MUL, MUL)                                                    \
    LOOPS(square_##name, type, ADD_SQUARE, ADD, ADD_SQUARE, ADD)
#define EXTREMES(name, type)                                                                       \
    LOOPS(max_##name, type, LARGER, LARGER, LARGER_ONE, LARGER_ONE)                                \
    LOOPS(min_##name, type, SMALLER, SMALLER, SMALLER_ONE, SMALLER_ONE)
SUMS(i32, uint32_t)
SUMS(i64, uint64_t)
SUMS(f64, double)
LOOPS(mul_f32, float, MUL, MUL, MUL, MUL)
LOOPS(abs_i32, uint32_t, ADD_ABS, ADD, ADD_ABS, ADD)
LOOPS(abs_i64, uint64_t, ADD_ABS, ADD, ADD_ABS, ADD)
LOOPS(abs_f64, double, ADD_FABS, ADD, ADD_FABS_ONE, ADD)
EXTREMES(u8, uint8_t)
EXTREMES(i8, int8_t)
EXTREMES(i32, int32_t)
EXTREMES(i64, int64_t)
EXTREMES(f64, double)

typedef struct rule {
    const char *op;
    uint8_t dtype;
    double start; /* what nothing adds up to */
    void (*row)(const void *from, int64_t n, const void *start, void *sum);
    void (*columns)(const void *from, int64_t n, int64_t stride, void *sums, int64_t width);
} rule;
#define RULE(op, dtype, start, name)                                                               \
    { op, ONX_DTYPE_##dtype, start, name##_row, name##_columns }
#define RULES(op, start, name)                                                                     \
    RULE(op, I32, start, name##_i32), RULE(op, I64, start, name##_i64),                            \
        RULE(op, F64, start, name##_f64)
static const rule rules[] = {
    RULES("ReduceL1", 0, abs),
    RULE("ReduceL2", F64, 0, square_f64),
    RULES("ReduceMax", -INFINITY, max),
    RULE("ReduceMax", U8, -INFINITY, max_u8),
    RULE("ReduceMax", I8, -INFINITY, max_i8),
    RULE("ReduceMean", F64, 0, add_f64),
    RULES("ReduceMin", INFINITY, min),
    RULE("ReduceMin", U8, INFINITY, min_u8),
    RULE("ReduceMin", I8, INFINITY, min_i8),
    RULES("ReduceProd", 1, mul),
    RULE("ReduceProd", F32, 1, mul_f32),
    RULES("ReduceSum", 0, add),
    RULES("ReduceSumSquare", 0, square),
};

onx_status ONX_TIER(onx_reduce_typed_init)(onx_call *call) {
    onx_dtype dtype = (onx_dtype)call->in[0]->dtype;
    const rule *found = NULL;
    for (size_t i = 0; i < ONX_COUNT(rules); i++)
        if (rules[i].dtype == dtype && strcmp(rules[i].op, call->op->name) == 0) found = &rules[i];
    if (!found)
        return onx_call_fail(call, ONX_UNSUPPORTED, "%s of %s is not on vectors", call->op->name,
                             onx_dtype_name(dtype));
    ONX_TRY(onx_reduce_init(call));
    ((onx_reduce_state *)call->state)->rule = found;
    return ONX_OK;
}

/* Doubles only. */
static void finish(const onx_call *call, char *to, int64_t n) {
    bool mean = strcmp(call->op->name, "ReduceMean") == 0;
    double count = (double)((const onx_reduce_plan *)call->plan)->reduced.count, x;
    if (!mean && strcmp(call->op->name, "ReduceL2") != 0) return;
    for (; n > 0; n--, to += sizeof x) {
        memcpy(&x, to, sizeof x);
        x = mean ? x / count : sqrt(x);
        memcpy(to, &x, sizeof x);
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_reduce_plan *plan = call->plan;
    const rule *r = ((const onx_reduce_state *)call->state)->rule;
    onx_reduce_axes outer = plan->reduced;
    int64_t n = 1, stride = 1, size = (int64_t)onx_dtype_bits((onx_dtype)r->dtype) / 8;
    if (outer.n) n = outer.dims[--outer.n], stride = outer.strides[outer.n];
    int64_t count = n ? plan->reduced.count / n : 0, grain = onx_reduce_grain(plan, VF_BYTES);
    int64_t at = (int64_t)index * grain, end = at + grain;
    if (end > plan->kept.count) end = plan->kept.count;
    int64_t inner = plan->kept.n && stride != 1 ? plan->kept.dims[plan->kept.n - 1] : 1;
    char *out = call->out[0]->data, start[8];
    (void)onx_dtype_convert(ONX_DTYPE_F64, &r->start, (onx_dtype)r->dtype, start, 1, true);
    for (int64_t width, i = at; i < end; i += width) {
        const char *from = (const char *)call->in[0]->data;
        int64_t base = onx_reduce_offset(&plan->kept, i);
        width = inner - i % inner < end - i ? inner - i % inner : end - i;
        for (int64_t k = 0; k < width; k++) memcpy(out + (i + k) * size, start, (size_t)size);
        for (int64_t k = 0; k < count; k++) {
            const char *p = from + (base + onx_reduce_offset(&outer, k)) * size;
            if (inner > 1)
                r->columns(p, n, stride, out + i * size, width);
            else
                r->row(p, n, start, out + i * size);
        }
    }
    finish(call, out + at * size, end - at);
    return ONX_OK;
}

onx_status ONX_TIER(onx_reduce_typed_run)(onx_call *call) {
    const onx_reduce_plan *plan = call->plan;
    int64_t grain = onx_reduce_grain(plan, VF_BYTES);
    if (call->out[0]->count == 0) return ONX_OK;
    return onx_call_parallel(call, (size_t)((plan->kept.count + grain - 1) / grain), task, NULL);
}
