/* cast_simd.c: Cast: vectors. Between the floats of 16 and 32 bits and bool, a cast is the tile
 * program that does nothing, or asks whether a number is zero; only the types at its ends differ.
 * Other casts that models are full of are loops. Both give what the plain kernel gives. */
#include "cpu/vec_bytes.h"
#include "cpu/vec_double.h"
#include "ops/cast/cast.h"
#include "ops/tile/tile_simd.h"

enum { BLOCK = 64, TASK = 1 << 15 }; /* elements: of the innermost loops, and of a task */

/* ─ Floats to integers ───────────────────────────────────────────────────────────────────────── */

/* The fraction is dropped; what is beyond the range becomes its end, NaN 0. */
static inline vf clamped(vf x, float least, float most) {
    x = vf_select(x == x, x, vf_zero());
    return vf_min(vf_set(most), vf_max(vf_set(least), x));
}
static inline vi to_i32(vf x) {
    vi inside = __builtin_convertvector(clamped(x, -0x1p31f, 0x1.fffffep30f), vi);
    vi beyond = x >= 0x1p31f;
    return (beyond & INT32_MAX) | (~beyond & inside);
}
static inline vd clamped_f64(vd x, double least, double most) {
    vd number = (vd)((vd_lanes)x & (x == x)), low = vd_set(least), high = vd_set(most);
    vd_lanes below = number<least, above = number> most;
    return (vd)((below & (vd_lanes)low) | (above & (vd_lanes)high) |
                (~below & ~above & (vd_lanes)number));
}

static void F32_to_I32(const char *from, char *to, size_t n) {
    for (; n; n -= VF, from += VF * 4, to += VF * 4) {
        vi y = to_i32(vf_load((const float *)(const void *)from));
        memcpy(to, &y, sizeof y);
    }
}
/* What int32 holds goes through it. */
typedef int32_t half __attribute__((vector_size(VF_BYTES / 2)));
static void F32_to_I64(const char *from, char *to, size_t n) {
    for (; n; n -= VF, from += VF * 4, to += VF * 8) {
        vf x = vf_load((const float *)(const void *)from);
        if (vf_any(vf_abs(x) >= 0x1p31f)) {
            (void)onx_dtype_convert(ONX_DTYPE_F32, from, ONX_DTYPE_I64, to, VF, true);
            continue;
        }
        vi y = to_i32(x);
        half halves[2];
        memcpy(halves, &y, sizeof y);
        for (int i = 0; i < 2; i++) {
            vd_lanes wide = __builtin_convertvector(halves[i], vd_lanes);
            memcpy(to + i * VF_BYTES, &wide, sizeof wide);
        }
    }
}
static inline void to_bytes(const char *from, char *to, size_t n, float least, float most) {
    for (; n; n -= VF, from += VF * 4, to += VF) {
        vf x = clamped(vf_load((const float *)(const void *)from), least, most);
        vb y = vi_to_bytes(__builtin_convertvector(x, vi));
        memcpy(to, &y, sizeof y);
    }
}
static void F32_to_U8(const char *from, char *to, size_t n) {
    to_bytes(from, to, n, 0, UINT8_MAX);
}
static void F32_to_I8(const char *from, char *to, size_t n) {
    to_bytes(from, to, n, INT8_MIN, INT8_MAX);
}
static void F64_to_I32(const char *from, char *to, size_t n) {
    for (; n; n -= VD, from += VF_BYTES, to += VF_BYTES / 2)
        vd_store_i32(to, clamped_f64(vd_load(from), INT32_MIN, INT32_MAX));
}
static void F64_to_I64(const char *from, char *to, size_t n) {
    for (; n; n -= VD, from += VF_BYTES, to += VF_BYTES) {
        vd x = vd_load(from);
        vd_lanes beyond = x >= 0x1p63;
        vd_lanes y =
            __builtin_convertvector(clamped_f64(x, -0x1p63, 0x1.fffffffffffffp62), vd_lanes);
        y = (beyond & INT64_MAX) | (~beyond & y);
        memcpy(to, &y, sizeof y);
    }
}

/* ─ The others: C's conversions, in loops of a constant length, which become short code ──────── */

#define LOOPS(X)                                                                                   \
    X(BOOL, uint8_t, U8, uint8_t, x != 0)                                                          \
    X(BOOL, uint8_t, I8, int8_t, x != 0)                                                           \
    X(BOOL, uint8_t, I32, int32_t, x != 0)                                                         \
    X(BOOL, uint8_t, I64, int64_t, x != 0)                                                         \
    X(BOOL, uint8_t, F64, double, x != 0)                                                          \
    X(U8, uint8_t, BOOL, uint8_t, x != 0)                                                          \
    X(U8, uint8_t, I8, int8_t, x)                                                                  \
    X(U8, uint8_t, F32, float, x)                                                                  \
    X(U8, uint8_t, F64, double, x)                                                                 \
    X(U8, uint8_t, I32, int32_t, x)                                                                \
    X(U8, uint8_t, I64, int64_t, x)                                                                \
    X(I8, int8_t, BOOL, uint8_t, x != 0)                                                           \
    X(I8, int8_t, U8, uint8_t, x)                                                                  \
    X(I8, int8_t, F32, float, x)                                                                   \
    X(I8, int8_t, F64, double, x)                                                                  \
    X(I8, int8_t, I32, int32_t, x)                                                                 \
    X(I8, int8_t, I64, int64_t, x)                                                                 \
    X(I32, int32_t, BOOL, uint8_t, x != 0)                                                         \
    X(I32, int32_t, U8, uint8_t, x)                                                                \
    X(I32, int32_t, I8, int8_t, x)                                                                 \
    X(I32, int32_t, I64, int64_t, x)                                                               \
    X(I32, int32_t, F32, float, x)                                                                 \
    X(I32, int32_t, F64, double, x)                                                                \
    X(I64, int64_t, BOOL, uint8_t, x != 0)                                                         \
    X(I64, int64_t, U8, uint8_t, x)                                                                \
    X(I64, int64_t, I8, int8_t, x)                                                                 \
    X(I64, int64_t, I32, int32_t, x)                                                               \
    X(I64, int64_t, F32, float, x)                                                                 \
    X(I64, int64_t, F64, double, x)                                                                \
    X(F32, float, F64, double, x)                                                                  \
    X(F64, double, BOOL, uint8_t, x != 0)                                                          \
    X(F64, double, F32, float, x)

#define LOOP(from_, source, to_, target, expression)                                               \
    static void from_##_to_##to_(const char *restrict from, char *restrict to, size_t n) {         \
        typedef source S __attribute__((aligned(1)));                                              \
        typedef target T __attribute__((aligned(1)));                                              \
        for (; n; n -= BLOCK, from += BLOCK * sizeof(S), to += BLOCK * sizeof(T))                  \
            for (int i = 0; i < BLOCK; i++) {                                                      \
                source x = ((const S *)(const void *)from)[i];                                     \
                ((T *)(void *)to)[i] = (target)(expression);                                       \
            }                                                                                      \
    }
LOOPS(LOOP)

#if defined(__AVX2__) && !defined(__AVX512F__)
/* What int32 holds goes through it. */
static void narrow_I64_to_F32(const char *from, char *to, size_t n) {
    const __m256i most = _mm256_set1_epi64x(INT64_C(1) << 31);
    for (; n; n -= VF, from += VF * 8, to += VF * 4) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)from);
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)from + 1);
        __m256i beyond = _mm256_or_si256(_mm256_add_epi64(a, most), _mm256_add_epi64(b, most));
        if (!_mm256_testz_si256(beyond, _mm256_slli_epi64(_mm256_set1_epi64x(-1), 32))) {
            (void)onx_dtype_convert(ONX_DTYPE_I64, from, ONX_DTYPE_F32, to, VF, true);
            continue;
        }
        __m256i low = (__m256i)_mm256_shuffle_ps((__m256)a, (__m256)b, 0x88);
        vf_store((float *)(void *)to, vf_float((vi)_mm256_permute4x64_epi64(low, 0xd8)));
    }
}
#else
#define narrow_I64_to_F32 I64_to_F32
#endif

static inline void F64_to_bytes(const char *from, char *to, size_t n, double least, double most) {
    int32_t some[BLOCK];
    for (; n; n -= BLOCK, from += BLOCK * 8, to += BLOCK) {
        for (int i = 0; i < BLOCK; i += VD)
            vd_store_i32(some + i, clamped_f64(vd_load(from + i * 8), least, most));
        I32_to_U8((const char *)some, to, BLOCK); /* the low bits, of either sign */
    }
}

/* Through another type that holds all there is. */
#define THROUGH(from_, from_bytes, middle, middle_bytes, to_, to_bytes)                            \
    static void from_##_to_##to_(const char *from, char *to, size_t n) {                           \
        char some[BLOCK * (middle_bytes)];                                                         \
        for (; n; n -= BLOCK, from += BLOCK * (from_bytes), to += BLOCK * (to_bytes)) {            \
            from_##_to_##middle(from, some, BLOCK);                                                \
            middle##_to_##to_(some, to, BLOCK);                                                    \
        }                                                                                          \
    }
static void F16_to_F32(const char *from, char *to, size_t n) {
    for (; n; n -= VF, from += VF * 2, to += VF * 4)
        vf_store((float *)(void *)to, vf_load_f16((const uint16_t *)(const void *)from));
}
static void F32_to_F16(const char *from, char *to, size_t n) {
    for (; n; n -= VF, from += VF * 4, to += VF * 2)
        vf_store_f16((uint16_t *)(void *)to, vf_load((const float *)(const void *)from));
}
THROUGH(F16, 2, F32, 4, U8, 1)
THROUGH(F16, 2, F32, 4, I8, 1)
THROUGH(F16, 2, F32, 4, I32, 4)
THROUGH(F16, 2, F32, 4, I64, 8)
THROUGH(F16, 2, F32, 4, F64, 8)
THROUGH(U8, 1, F32, 4, F16, 2)
THROUGH(I8, 1, F32, 4, F16, 2)
THROUGH(I32, 4, F32, 4, F16, 2)
THROUGH(I64, 8, F32, 4, F16, 2)

static void F64_to_U8(const char *from, char *to, size_t n) {
    F64_to_bytes(from, to, n, 0, UINT8_MAX);
}
static void F64_to_I8(const char *from, char *to, size_t n) {
    F64_to_bytes(from, to, n, INT8_MIN, INT8_MAX);
}

/* n elements, whole blocks. */
typedef void loop(const char *from, char *to, size_t n);
static const struct {
    uint8_t from, to;
    loop *run;
} loops[] = {
#define ENTRY(from, source, to, target, expression)                                                \
    {ONX_DTYPE_##from, ONX_DTYPE_##to, from##_to_##to},
    {ONX_DTYPE_I64, ONX_DTYPE_F32, narrow_I64_to_F32},
    LOOPS(ENTRY) /* and those above */
    {ONX_DTYPE_F32, ONX_DTYPE_I32, F32_to_I32},
    {ONX_DTYPE_F32, ONX_DTYPE_I64, F32_to_I64},
    {ONX_DTYPE_F32, ONX_DTYPE_U8, F32_to_U8},
    {ONX_DTYPE_F32, ONX_DTYPE_I8, F32_to_I8},
    {ONX_DTYPE_F64, ONX_DTYPE_I32, F64_to_I32},
    {ONX_DTYPE_F64, ONX_DTYPE_I64, F64_to_I64},
    {ONX_DTYPE_F64, ONX_DTYPE_U8, F64_to_U8},
    {ONX_DTYPE_F64, ONX_DTYPE_I8, F64_to_I8},
    {ONX_DTYPE_F16, ONX_DTYPE_U8, F16_to_U8},
    {ONX_DTYPE_F16, ONX_DTYPE_I8, F16_to_I8},
    {ONX_DTYPE_F16, ONX_DTYPE_I32, F16_to_I32},
    {ONX_DTYPE_F16, ONX_DTYPE_I64, F16_to_I64},
    {ONX_DTYPE_F16, ONX_DTYPE_F64, F16_to_F64},
    {ONX_DTYPE_U8, ONX_DTYPE_F16, U8_to_F16},
    {ONX_DTYPE_I8, ONX_DTYPE_F16, I8_to_F16},
    {ONX_DTYPE_I32, ONX_DTYPE_F16, I32_to_F16},
    {ONX_DTYPE_I64, ONX_DTYPE_F16, I64_to_F16},
};

/* ─ Rows ─────────────────────────────────────────────────────────────────────────────────────── */

typedef struct state {
    onx_dtype to;
    loop *run;
} state;

static onx_status init(onx_call *call) {
    onx_dtype from = (onx_dtype)call->in[0]->dtype;
    onx_dtype to =
        call->n_in > 1 ? (onx_dtype)call->in[1]->dtype : onx_cast_to(call->op, call->node);
    state *st = NULL;
    for (size_t i = 0; i < ONX_COUNT(loops) && !st; i++) {
        if (loops[i].from != from || loops[i].to != to) continue;
        st = onx_call_state(call, sizeof *st);
        if (!st) return onx_fail_nomem(call->diag);
        *st = (state){to, loops[i].run};
    }
    if (st) return ONX_OK;
    return onx_call_fail(call, ONX_UNSUPPORTED, "casts of %s to %s are not on vectors",
                         onx_dtype_name(from), onx_dtype_name(to));
}

static onx_status bind(onx_call *call) {
    const state *st = call->state;
    return onx_call_shape(call, 0, st->to, call->in[0]->rank, call->in[0]->dims);
}

/* What is less than a block goes through one. */
static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    const onx_operand *in = call->in[0], *out = call->out[0];
    const state *st = call->state;
    size_t from_size = onx_dtype_bits((onx_dtype)in->dtype) / 8;
    size_t to_size = onx_dtype_bits((onx_dtype)out->dtype) / 8;
    size_t at = index * TASK, n = (size_t)in->count - at;
    if (n > TASK) n = TASK;
    size_t rest = n % BLOCK;
    const char *from = (const char *)in->data + at * from_size;
    char *to = (char *)out->data + at * to_size, some[2][BLOCK * sizeof(double)] = {{0}};
    st->run(from, to, n - rest);
    if (!rest) return ONX_OK;
    memcpy(some[0], from + (n - rest) * from_size, rest * from_size);
    st->run(some[0], some[1], BLOCK);
    memcpy(to + (n - rest) * to_size, some[1], rest * to_size);
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    return onx_call_parallel(call, ((size_t)call->in[0]->count + TASK - 1) / TASK, task, NULL);
}

#define TILE_TYPES (ONX_T(F32) | ONX_T(F16) | ONX_T(BF16) | ONX_T(BOOL))

static onx_status init_tile(onx_call *call) {
    onx_dtype to = onx_cast_to(call->op, call->node);
    onx_tile_program program = {.n_in = 1};
    const onx_tile *tile;
    if (!(TILE_TYPES >> to & 1))
        return onx_call_fail(call, ONX_UNSUPPORTED, "casts to %s are no tile programs",
                             onx_dtype_name(to));
    (void)onx_tile_emit(&program, to == ONX_DTYPE_BOOL ? ONX_TILE_BOOL : ONX_TILE_IDENTITY, 0, 0,
                        0);
    ONX_TRY(onx_tile_new(call, &program, &tile));
    ((onx_tile *)call->state)->to = (uint8_t)to;
    return ONX_OK;
}

#define TYPES                                                                                      \
    (ONX_T(BOOL) | ONX_T(U8) | ONX_T(I8) | ONX_T(I32) | ONX_T(I64) | ONX_T(F16) | ONX_T(F32) |     \
     ONX_T(F64))
#define ROW(op_)                                                                                   \
    {                                                                                              \
        .op = op_, .first = 1, .types = {TYPES}, .name = "cast_typed", .init = init, .bind = bind, \
        .run = run                                                                                 \
    }

extern onx_kernel_rows ONX_TIER(onx_kernels_cast);
onx_kernel_rows ONX_TIER(onx_kernels_cast) = {
    {.op = "Cast",
     .first = 1,
     .types = {TILE_TYPES},
     .name = "cast_f32",
     .flags = ONX_KERNEL_LAYOUTS,
     .plan_bytes = sizeof(onx_tile_plan),
     .init = init_tile,
     .bind = onx_tile_bind_call,
     .run = ONX_TIER(onx_tile_run)},
    ROW("Cast"),
    ROW("CastLike"),
    {0},
};
