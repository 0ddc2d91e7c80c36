/* typed_simd.c: see typed_simd.h: loops over vectors of each type, and a table of them. */
#include "ops/eltwise/typed_simd.h"
#include "cpu/vec_double.h"

typedef onx_typed_arg arg;
typedef int64_t vl __attribute__((vector_size(VF_BYTES)));
typedef uint32_t vu32 __attribute__((vector_size(VF_BYTES)));
typedef uint64_t vu64 __attribute__((vector_size(VF_BYTES)));

/* ─ Bools and lanes ──────────────────────────────────────────────────────────────────────────── */

/* Lanes of `size` bytes, 0 or -1, to bools. */
static inline __attribute__((always_inline)) void put_bools(char *y, vl lanes, size_t size) {
    if (size == 1) {
        lanes &= 0x0101010101010101;
        memcpy(y, &lanes, sizeof lanes);
        return;
    }
    const size_t n = size == 8 ? VF_BYTES / 8 : VF_BYTES / 4;
#if defined(__AVX512F__)
    __m512i x = (__m512i)lanes;
    __m128i bools = size == 8 ? _mm512_cvtepi64_epi8(x) : _mm512_cvtepi32_epi8(x);
    bools = _mm_and_si128(bools, _mm_set1_epi8(1));
    memcpy(y, &bools, n);
#elif defined(__AVX2__)
    int mask = size == 8 ? _mm256_movemask_pd((__m256d)lanes) : _mm256_movemask_ps((__m256)lanes);
    uint64_t bools = _pdep_u64((uint64_t)mask, 0x0101010101010101);
    memcpy(y, &bools, n);
#else
    for (size_t i = 0; i < n; i++) y[i] = ((const char *)&lanes)[i * size] & 1;
#endif
}

/* Bools to lanes of `size` bytes, 0 or not; those of one byte as they are. */
static inline __attribute__((always_inline)) vl get_bools(const char *from, size_t size) {
    vl lanes = {0};
#if defined(__AVX2__)
    __m256i bools = _mm256_setzero_si256();
    memcpy(&bools, from, VF_BYTES / size < sizeof bools ? VF_BYTES / size : sizeof bools);
#endif
    if (size == 1) memcpy(&lanes, from, sizeof lanes);
#if defined(__AVX512F__)
    else if (size == 2)
        lanes = (vl)_mm512_cvtepu8_epi16(bools);
    else if (size == 4)
        lanes = (vl)_mm512_cvtepu8_epi32(_mm256_castsi256_si128(bools));
    else
        lanes = (vl)_mm512_cvtepu8_epi64(_mm256_castsi256_si128(bools));
#elif defined(__AVX2__)
    else if (size == 2)
        lanes = (vl)_mm256_cvtepu8_epi16(_mm256_castsi256_si128(bools));
    else if (size == 4)
        lanes = (vl)_mm256_cvtepu8_epi32(_mm256_castsi256_si128(bools));
    else
        lanes = (vl)_mm256_cvtepu8_epi64(_mm256_castsi256_si128(bools));
#else
    else
        for (size_t i = 0; i < VF_BYTES / size; i++) ((char *)&lanes)[i * size] = from[i];
#endif
    return lanes;
}

/* ─ The operators ────────────────────────────────────────────────────────────────────────────── */

/* One loop, over vectors of a type. */
#define LOOP(T, expression)                                                                        \
    {                                                                                              \
        typedef T V __attribute__((vector_size(VF_BYTES)));                                        \
        for (; n; n--, x0.data += x0.step, x1.data += x1.step, x2.data += x2.step) {               \
            V a, b, c;                                                                             \
            memcpy(&a, x0.data, sizeof a);                                                         \
            memcpy(&b, x1.data, sizeof b);                                                         \
            memcpy(&c, x2.data, sizeof c);                                                         \
            (void)b, (void)c;                                                                      \
            vl r = (vl)(expression);                                                               \
            if (IS_BOOL)                                                                           \
                put_bools(y, r, sizeof(T));                                                        \
            else                                                                                   \
                memcpy(y, &r, sizeof r);                                                           \
            y += IS_BOOL ? VF_BYTES / sizeof(T) : VF_BYTES;                                        \
        }                                                                                          \
        return;                                                                                    \
    }

#define BITS_OF(x) ((vl)(x))
#define SELECT(m, a, b) ((V)((BITS_OF(m) & BITS_OF(a)) | (~BITS_OF(m) & BITS_OF(b))))
#define GREATER(a, b) SELECT(a > b, a, b)
#define LESSER(a, b) SELECT(a < b, a, b)

/* a / b, rounded to zero, of integers whose quotient exists. As doubles: the exact quotient of
 * int32, if it is no integer, is at least 2^-31 of itself away from the next one, so that rounding
 * does not get there; and the same for int64, if these are at most 2^52. */
static __attribute__((noinline)) vi quotient_i32(vi a, vi b) {
    int32_t x[VF], y[VF];
    memcpy(x, &a, sizeof a);
    memcpy(y, &b, sizeof b);
    for (int i = 0; i < VF; i += VD) vd_store_i32(x + i, vd_load_i32(x + i) / vd_load_i32(y + i));
    memcpy(&a, x, sizeof a);
    return a;
}
static __attribute__((noinline)) vl quotient_i64(vl a, vl b) {
    const uint64_t end = (uint64_t)1 << 52;
    if (!vf_any((vi)((((vu64)a + end) | ((vu64)b + end)) >> 53 != 0)))
        return __builtin_convertvector(
            __builtin_convertvector(a, vd) / __builtin_convertvector(b, vd), vl);
    for (int i = 0; i < VD; i++) a[i] /= b[i];
    return a;
}
/* Those that do not exist: x / 0 is 0 here, and x / -1 wraps around. */
#define QUOTIENT(type, U)                                                                          \
    (SELECT(b == -1, -(U)a, quotient_##type(a, SELECT((b == -1) | (b == 0), (V){0} + 1, b))) &     \
     (b != 0))
#define REMAINDER(type, U) ((V)((U)a - (U)QUOTIENT(type, U) * (U)b) & (b != 0))
#define MODULO(type, U) turned_##type(REMAINDER(type, U), b)
/* The remainder with the sign of the divisor. */
static inline vi turned_i32(vi r, vi b) {
    return r + (b & (r != 0) & ((r < 0) ^ (b < 0)));
}
static inline vl turned_i64(vl r, vl b) {
    return r + (b & (r != 0) & ((r < 0) ^ (b < 0)));
}

#define FUNCTION(name, is_bool, ...)                                                               \
    static void name(onx_dtype dtype, char *y, arg x0, arg x1, arg x2, size_t n) {                 \
        enum { IS_BOOL = is_bool };                                                                \
        switch ((int)dtype) { __VA_ARGS__ }                                                        \
    }
#define OP(name, ...) FUNCTION(name, 0, __VA_ARGS__)
#define TEST(name, ...) FUNCTION(name, 1, __VA_ARGS__)
#define CASE(dtype) case ONX_DTYPE_##dtype:
#define W8(x) CASE(U8) CASE(I8) LOOP(uint8_t, x)
#define W32(x) CASE(U32) CASE(I32) LOOP(uint32_t, x)
#define W64(x) CASE(U64) CASE(I64) LOOP(uint64_t, x)
#define U8(x) CASE(U8) LOOP(uint8_t, x)
#define U32(x) CASE(U32) LOOP(uint32_t, x)
#define U64(x) CASE(U64) LOOP(uint64_t, x)
#define I32(x) CASE(I32) LOOP(int32_t, x)
#define I64(x) CASE(I64) LOOP(int64_t, x)
#define F64(x) CASE(F64) LOOP(double, x)
#define BOOL(x) CASE(BOOL) LOOP(uint8_t, x)
#include "ops/eltwise/typed_ops.def"

/* By the size of elements alone; a is a condition, of bools. */
#define CHOICE(bytes, T)                                                                           \
    if (size == (bytes)) {                                                                         \
        typedef T V __attribute__((vector_size(VF_BYTES)));                                        \
        for (; n; n--, y += VF_BYTES, x0.data += x0.step) {                                        \
            vl b, c;                                                                               \
            V m = (V)get_bools(x0.data, bytes) != 0;                                               \
            memcpy(&b, x1.data, sizeof b), x1.data += x1.step;                                     \
            memcpy(&c, x2.data, sizeof c), x2.data += x2.step;                                     \
            b = ((vl)m & b) | (~(vl)m & c);                                                        \
            memcpy(y, &b, sizeof b);                                                               \
        }                                                                                          \
    }
static void where(onx_dtype dtype, char *y, arg x0, arg x1, arg x2, size_t n) {
    unsigned size = onx_dtype_bits(dtype) / 8;
    CHOICE(1, int8_t)
    CHOICE(2, int16_t)
    CHOICE(4, int32_t)
    CHOICE(8, int64_t)
}

/* ─ The table ────────────────────────────────────────────────────────────────────────────────── */

static bool is_fmod(const onx_call *call) {
    return onx_call_int(call, "fmod") != 0;
}
static bool is_left(const onx_call *call) {
    return onx_str_is(onx_call_string(call, "direction"), "LEFT");
}

#define T_BYTES (ONX_T(U8) | ONX_T(I8))
#define T_WORDS (ONX_T(U32) | ONX_T(I32) | ONX_T(U64) | ONX_T(I64))
#define T_SIGNED (ONX_T(I32) | ONX_T(I64))
#define T_ORDER (ONX_T(U8) | T_SIGNED | ONX_T(F64))
#define T_UNSIGNED (ONX_T(U32) | ONX_T(U64))
static const onx_typed_rule rules[] = {
    {"Abs", absolute, T_SIGNED | ONX_T(F64), 0, NULL},
    {"Add", add, T_BYTES | T_WORDS | ONX_T(F64), 0, NULL},
    {"And", logic_and, ONX_T(BOOL), ONX_TYPED_BOOL, NULL},
    {"BitShift", shift_left, T_BYTES | T_WORDS, 0, is_left},
    {"BitShift", shift_right, ONX_T(U8) | T_UNSIGNED, 0, NULL},
    {"BitwiseAnd", bit_and, T_BYTES | T_WORDS, 0, NULL},
    {"BitwiseNot", bit_not, T_BYTES | T_WORDS, 0, NULL},
    {"BitwiseOr", bit_or, T_BYTES | T_WORDS, 0, NULL},
    {"BitwiseXor", bit_xor, T_BYTES | T_WORDS, 0, NULL},
    {"Ceil", up, ONX_T(F64), 0, NULL},
    {"Clip", clip, T_ORDER, ONX_TYPED_BOUNDS, NULL},
    {"Div", divide, T_SIGNED | ONX_T(F64), 0, NULL},
    {"Equal", equal, ONX_T(BOOL) | T_BYTES | T_WORDS | ONX_T(F64), ONX_TYPED_BOOL, NULL},
    {"Floor", down, ONX_T(F64), 0, NULL},
    {"Greater", less, T_ORDER, ONX_TYPED_BOOL | ONX_TYPED_SWAPS, NULL},
    {"GreaterOrEqual", less_equal, T_ORDER, ONX_TYPED_BOOL | ONX_TYPED_SWAPS, NULL},
    {"IsNaN", is_nan, ONX_T(F64), ONX_TYPED_BOOL, NULL},
    {"Less", less, T_ORDER, ONX_TYPED_BOOL, NULL},
    {"LessOrEqual", less_equal, T_ORDER, ONX_TYPED_BOOL, NULL},
    {"Max", max, T_ORDER, ONX_TYPED_FOLDS, NULL},
    {"Min", min, T_ORDER, ONX_TYPED_FOLDS, NULL},
    {"Mod", remain, T_SIGNED, 0, is_fmod},
    {"Mod", modulo, T_SIGNED, 0, NULL},
    {"Mul", mul, T_BYTES | T_WORDS | ONX_T(F64), 0, NULL},
    {"Neg", negate, T_SIGNED | ONX_T(F64), 0, NULL},
    {"Not", logic_not, ONX_T(BOOL), ONX_TYPED_BOOL, NULL},
    {"Or", logic_or, ONX_T(BOOL), ONX_TYPED_BOOL, NULL},
    {"Reciprocal", reciprocal, ONX_T(F64), 0, NULL},
    {"Relu", relu, T_SIGNED | ONX_T(F64), 0, NULL},
    {"Round", nearest, ONX_T(F64), 0, NULL},
    {"Sign", sign, T_SIGNED | ONX_T(F64), 0, NULL},
    {"Sqrt", root, ONX_T(F64), 0, NULL},
    {"Sub", sub, T_BYTES | T_WORDS | ONX_T(F64), 0, NULL},
    {"Sum", add, ONX_T(F64), ONX_TYPED_FOLDS, NULL},
    {"Where", where, ONX_T_WHOLE & ~(ONX_T(F32) | ONX_T(C64) | ONX_T(C128)), ONX_TYPED_CHOICE,
     NULL},
    {"Xor", logic_xor, ONX_T(BOOL), ONX_TYPED_BOOL, NULL},
};

onx_status ONX_TIER(onx_typed_init)(onx_call *call) {
    return onx_typed_new(call, rules, ONX_COUNT(rules), VF_BYTES);
}
