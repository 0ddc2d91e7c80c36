/* test_dtype.c: element types against a second, slow and simple description of them: each small
 * float as the list of its values, by ldexp, in which the nearest one is searched. The program
 * tool/dtype-peer.py compares the same functions with ml_dtypes. */
#include "ir/dtype.h"
#include "test.h"

#include <math.h>

typedef enum family { IEEE, FN, FNUZ, FINITE, SCALE } family;

static const struct spec {
    onx_dtype dtype;
    int exponent, mantissa, bias;
    family family;
} specs[] = {
    {ONX_DTYPE_F16, 5, 10, 15, IEEE},     {ONX_DTYPE_BF16, 8, 7, 127, IEEE},
    {ONX_DTYPE_F8E4M3FN, 4, 3, 7, FN},    {ONX_DTYPE_F8E4M3FNUZ, 4, 3, 8, FNUZ},
    {ONX_DTYPE_F8E5M2, 5, 2, 15, IEEE},   {ONX_DTYPE_F8E5M2FNUZ, 5, 2, 16, FNUZ},
    {ONX_DTYPE_F8E8M0, 8, 0, 127, SCALE}, {ONX_DTYPE_F6E2M3, 2, 3, 1, FINITE},
    {ONX_DTYPE_F6E3M2, 3, 2, 3, FINITE},  {ONX_DTYPE_F4E2M1, 2, 1, 1, FINITE},
};

static unsigned spec_sign(const struct spec *s) {
    return s->family == SCALE ? 0 : 1u << (s->exponent + s->mantissa);
}

/* By the definition of the format. */
static double spec_decode(const struct spec *s, unsigned code) {
    unsigned sign = spec_sign(s);
    double factor = code & sign ? -1 : 1;
    int e = (int)((code >> s->mantissa) & ((1u << s->exponent) - 1));
    int m = (int)(code & ((1u << s->mantissa) - 1));
    int top = (1 << s->exponent) - 1, full = (1 << s->mantissa) - 1;
    if (s->family == SCALE) return code == 0xff ? NAN : ldexp(1, e - s->bias);
    if (s->family == FNUZ && code == sign) return -NAN;
    if (s->family == IEEE && e == top) return m ? copysign(NAN, factor) : factor * INFINITY;
    if (s->family == FN && e == top && m == full) return copysign(NAN, factor);
    if (e == 0) return factor * ldexp(m, 1 - s->bias - s->mantissa);
    return factor * ldexp((1 << s->mantissa) + m, e - s->bias - s->mantissa);
}

/* The codes of the finite magnitudes are 0 … max, in the order of their values. */
static unsigned spec_max(const struct spec *s) {
    if (s->family == IEEE) return (((1u << s->exponent) - 1) << s->mantissa) - 1;
    return s->family == SCALE ? 0xfe : s->family == FN ? spec_sign(s) - 2 : spec_sign(s) - 1;
}

/* Also of the code past the largest value, as if the format went on with the same step. */
static long double spec_value(const struct spec *s, unsigned code, unsigned max) {
    if (code <= max) return spec_decode(s, code);
    return 2 * (long double)spec_decode(s, max) - spec_decode(s, max - 1);
}

static unsigned spec_overflow(const struct spec *s, bool negative, bool saturate) {
    unsigned sign = negative ? spec_sign(s) : 0, max = spec_max(s);
    if (s->dtype == ONX_DTYPE_F16 || s->dtype == ONX_DTYPE_BF16) return (max + 1) | sign;
    if (saturate || s->family == FINITE) return max | sign;
    return s->family == FNUZ ? spec_sign(s) : s->family == SCALE ? 0xff : (max + 1) | sign;
}

static unsigned spec_nan(const struct spec *s, bool negative) {
    unsigned sign = spec_sign(s), minus = negative ? sign : 0, max = spec_max(s);
    if (s->family == IEEE) return (max + 1) | 1u << (s->mantissa - 1) | minus;
    if (s->family == FN) return (max + 1) | minus;
    if (s->family == FINITE) return negative ? 0 : sign;
    return s->family == FNUZ ? sign : 0xff;
}

static unsigned spec_encode(const struct spec *s, long double x, bool saturate) {
    bool negative = signbit(x) != 0;
    unsigned max = spec_max(s), lo = 0, hi = max + 1;
    if (isnan(x)) return spec_nan(s, negative);
    long double a = fabsl(x);
    if (s->family == SCALE && x < 0) return 0xff;
    if (s->family == SCALE && x < ldexpl(1, -127)) return saturate ? 0 : 0xff;
    if (a >= spec_value(s, hi, max)) return spec_overflow(s, negative, saturate);
    while (hi - lo > 1) {
        unsigned mid = (lo + hi) / 2;
        if (spec_value(s, mid, max) <= a)
            lo = mid;
        else
            hi = mid;
    }
    long double below = a - spec_value(s, lo, max), above = spec_value(s, hi, max) - a;
    bool up = s->family == SCALE ? below > 0 : above < below || (above == below && lo % 2 == 1);
    unsigned code = up ? hi : lo;
    if (code > max) return spec_overflow(s, negative, saturate);
    return code == 0 && s->family == FNUZ ? 0 : code | (negative ? spec_sign(s) : 0);
}

/* One element, through the library. */
static uint64_t code_of(onx_dtype from, const void *x, onx_dtype to, bool saturate) {
    uint64_t out[2] = {0, 0};
    CHECK_EQ(onx_dtype_convert(from, x, to, out, 1, saturate), ONX_OK);
    return out[0];
}

static bool same(double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) && signbit(a) == signbit(b);
    return a == b && signbit(a) == signbit(b);
}

TEST(names) {
    for (int i = 1; i < ONX_DTYPE_COUNT; i++)
        CHECK_EQ(onx_dtype_from_name(onx_dtype_name((onx_dtype)i)), i);
    CHECK_STR(onx_dtype_name(ONX_DTYPE_F32), "float");
    CHECK_STR(onx_dtype_name(ONX_DTYPE_F6E3M2), "float6e3m2");
    CHECK_STR(onx_dtype_name(ONX_DTYPE_COUNT), "?");
    CHECK_STR(onx_dtype_name((onx_dtype)-1), "?");
    CHECK_EQ(onx_dtype_from_name("float32"), ONX_DTYPE_NONE);
    CHECK_EQ(onx_dtype_from_name(""), ONX_DTYPE_NONE);
    CHECK_EQ(onx_dtype_from_name(NULL), ONX_DTYPE_NONE);
    CHECK_EQ(onx_dtype_bits(ONX_DTYPE_C128), 128);
    CHECK_EQ(onx_dtype_bits(ONX_DTYPE_I2), 2);
    CHECK_EQ(onx_dtype_bits(ONX_DTYPE_STRING), 0);
    CHECK_EQ(onx_dtype_bits((onx_dtype)99), 0);
}

TEST(bytes) {
    static const struct {
        onx_dtype dtype;
        uint64_t count;
        size_t bytes;
    } cases[] = {
        {ONX_DTYPE_F32, 3, 12},
        {ONX_DTYPE_F32, 0, 0},
        {ONX_DTYPE_U4, 3, 2},
        {ONX_DTYPE_U4, 4, 2},
        {ONX_DTYPE_I2, 5, 2},
        {ONX_DTYPE_F6E2M3, 4, 3},
        {ONX_DTYPE_BOOL, 7, 7},
        {ONX_DTYPE_F6E2M3, 5, 4},
        {ONX_DTYPE_F6E2M3, 3, 3},
        {ONX_DTYPE_U8, SIZE_MAX, SIZE_MAX},
        {ONX_DTYPE_U4, SIZE_MAX, SIZE_MAX / 2 + 1},
        {ONX_DTYPE_C128, SIZE_MAX / 16, SIZE_MAX - 15},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        size_t bytes = 1;
        CHECK(onx_dtype_bytes(cases[i].dtype, cases[i].count, &bytes));
        CHECK(bytes == cases[i].bytes);
    }
    size_t bytes = 17;
    CHECK(!onx_dtype_bytes(ONX_DTYPE_C128, SIZE_MAX / 16 + 1, &bytes));
    CHECK(!onx_dtype_bytes(ONX_DTYPE_U16, SIZE_MAX, &bytes));
    CHECK(!onx_dtype_bytes(ONX_DTYPE_STRING, 1, &bytes));
    CHECK(!onx_dtype_bytes(ONX_DTYPE_NONE, 0, &bytes));
    CHECK(!onx_dtype_bytes(ONX_DTYPE_COUNT, 1, &bytes));
}

TEST(usage) {
    char x[16] = {0};
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_STRING, x, ONX_DTYPE_F32, x + 8, 1, true), ONX_USAGE);
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_F32, x, ONX_DTYPE_NONE, x + 8, 1, true), ONX_USAGE);
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_COUNT, x, ONX_DTYPE_F32, x + 8, 1, true), ONX_USAGE);
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_F32, x, (onx_dtype)-1, x + 8, 1, true), ONX_USAGE);
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_U8, x, ONX_DTYPE_U16, x, SIZE_MAX, true), ONX_USAGE);
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_F32, NULL, ONX_DTYPE_F16, NULL, 0, true), ONX_OK);
}

/* Every code of every small float to double and to float. */
TEST(decode) {
    for (size_t i = 0; i < ONX_COUNT(specs); i++) {
        const struct spec *s = &specs[i];
        unsigned end = s->family == SCALE ? 256 : spec_sign(s) * 2;
        for (unsigned code = 0; code < end; code++) {
            double want = spec_decode(s, code), got;
            float got32;
            CHECK_EQ(onx_dtype_convert(s->dtype, &code, ONX_DTYPE_F64, &got, 1, true), ONX_OK);
            CHECK_EQ(onx_dtype_convert(s->dtype, &code, ONX_DTYPE_F32, &got32, 1, true), ONX_OK);
            if (!CHECK(same(got, want) && same((double)got32, want)))
                fprintf(stderr, "    %s %#x: %g\n", onx_dtype_name(s->dtype), code, got);
        }
    }
}

static void check_encode(const struct spec *s, double x) {
    for (int saturate = 0; saturate < 2; saturate++) {
        unsigned want = spec_encode(s, x, saturate);
        uint64_t got = code_of(ONX_DTYPE_F64, &x, s->dtype, saturate), got32 = got;
        float x32 = (float)x;
        if (same((double)x32, x)) got32 = code_of(ONX_DTYPE_F32, &x32, s->dtype, saturate);
        if (!CHECK(got == want && got32 == want))
            fprintf(stderr, "    %a to %s: %#x %#x, not %#x\n", x, onx_dtype_name(s->dtype),
                    (unsigned)got, (unsigned)got32, want);
    }
}

/* Every value, every midpoint, and their neighbours; past the ends; what is not finite. */
TEST(encode) {
    static const double more[] = {0,     1e-310, 1e-45, 1e-40, 1e30, 1e38,     3.5e38,
                                  1e300, 1,      3,     1.1,   0.3,  HUGE_VAL, NAN};
    for (size_t i = 0; i < ONX_COUNT(specs); i++) {
        const struct spec *s = &specs[i];
        unsigned max = spec_max(s);
        for (unsigned code = 0; code <= max; code++) {
            double value = spec_decode(s, code);
            double middle = (double)((value + spec_value(s, code + 1, max)) / 2);
            double around[] = {value,
                               nextafter(value, 1e300),
                               nextafter(value, -1),
                               middle,
                               nextafter(middle, 1e300),
                               nextafter(middle, -1),
                               nextafterf((float)middle, 1e38f),
                               nextafterf((float)middle, -1.0f)};
            for (size_t j = 0; j < ONX_COUNT(around); j++) {
                check_encode(s, around[j]);
                check_encode(s, -around[j]);
            }
        }
        double next = (double)spec_value(s, max + 1, max);
        check_encode(s, next), check_encode(s, -next);
        for (size_t j = 0; j < ONX_COUNT(more); j++)
            check_encode(s, more[j]), check_encode(s, -more[j]);
    }
}

/* Any small float to any other: there may be no rounding by way of a third type. */
TEST(between_small_floats) {
    for (size_t i = 0; i < ONX_COUNT(specs); i++)
        for (size_t j = 0; j < ONX_COUNT(specs); j++) {
            if (i == j) continue;
            unsigned end = specs[i].family == SCALE ? 256 : spec_sign(&specs[i]) * 2, wrong = 0;
            for (unsigned code = 0; code < end; code++) {
                unsigned want = spec_encode(&specs[j], spec_decode(&specs[i], code), false);
                wrong += code_of(specs[i].dtype, &code, specs[j].dtype, false) != want;
            }
            CHECK_EQ(wrong, 0);
        }
}

/* The loops of their own agree with the stages, over a sample of all floats. */
TEST(frequent_pairs) {
    enum { N = 1 << 22 };
    static float x[1024];
    static double wide[1024];
    static uint16_t direct[1024], staged[1024];
    static const onx_dtype to[] = {ONX_DTYPE_F16, ONX_DTYPE_BF16};
    uint32_t differ = 0;
    for (uint32_t at = 0; at < N; at += 1024) {
        for (uint32_t i = 0; i < 1024; i++) {
            uint32_t code = (at + i) * 1021u;
            memcpy(&x[i], &code, sizeof code);
            wide[i] = x[i];
        }
        for (size_t t = 0; t < 2; t++) {
            onx_dtype_convert(ONX_DTYPE_F32, x, to[t], direct, 1024, true);
            onx_dtype_convert(ONX_DTYPE_F64, wide, to[t], staged, 1024, true);
            differ += memcmp(direct, staged, sizeof direct) != 0;
        }
    }
    CHECK_EQ(differ, 0);
}

static void check_from_integer(onx_dtype from, uint64_t code, long double value) {
    for (size_t i = 0; i < ONX_COUNT(specs); i++)
        for (int saturate = 0; saturate < 2; saturate++) {
            unsigned want = spec_encode(&specs[i], value, saturate);
            uint64_t got = code_of(from, &code, specs[i].dtype, saturate);
            if (!CHECK(got == want))
                fprintf(stderr, "    %Lg to %s: %#x, not %#x\n", value,
                        onx_dtype_name(specs[i].dtype), (unsigned)got, want);
        }
    uint64_t code32 = code_of(from, &code, ONX_DTYPE_F32, true);
    uint64_t code64 = code_of(from, &code, ONX_DTYPE_F64, true);
    float got32;
    double got64;
    memcpy(&got32, &code32, sizeof got32);
    memcpy(&got64, &code64, sizeof got64);
    CHECK(got32 == (float)value && got64 == (double)value);
}

/* Long doubles hold 64-bit integers exactly on every machine that has more than 64-bit ones. */
TEST(integer_to_float) {
    if (sizeof(long double) == sizeof(double)) SKIP("long double is no wider than double");
    for (int power = 0; power < 64; power++)
        for (int below = 0; below <= power; below++)
            for (int d = -2; d <= 2; d++) {
                /* A power of two, and a half of a last place more: near the ties of every type. */
                uint64_t v = (1ull << power) + (below ? 1ull << (below - 1) : 0) + (uint64_t)d;
                check_from_integer(ONX_DTYPE_U64, v, (long double)v);
                check_from_integer(ONX_DTYPE_I64, v, (long double)(int64_t)v);
                check_from_integer(ONX_DTYPE_I64, -v, (long double)(int64_t)-v);
                if (d == 0 && power < 32) {
                    check_from_integer(ONX_DTYPE_U32, v, (long double)(uint32_t)v);
                    check_from_integer(ONX_DTYPE_I32, v, (long double)(int32_t)v);
                }
            }
    for (unsigned v = 0; v < 256; v++) {
        check_from_integer(ONX_DTYPE_U8, v, v);
        check_from_integer(ONX_DTYPE_I8, v, (int8_t)v);
    }
    for (unsigned v = 0; v < 16; v++) {
        check_from_integer(ONX_DTYPE_U4, v, v);
        check_from_integer(ONX_DTYPE_I4, v, v < 8 ? (int)v : (int)v - 16);
        check_from_integer(ONX_DTYPE_U2, v & 3, v & 3);
        check_from_integer(ONX_DTYPE_I2, v & 3, (v & 3) < 2 ? (int)(v & 3) : (int)(v & 3) - 4);
    }
}

static const struct integer {
    onx_dtype dtype;
    bool is_signed;
} integers[] = {
    {ONX_DTYPE_U8, false},  {ONX_DTYPE_I8, true},  {ONX_DTYPE_U16, false}, {ONX_DTYPE_I16, true},
    {ONX_DTYPE_U32, false}, {ONX_DTYPE_I32, true}, {ONX_DTYPE_U64, false}, {ONX_DTYPE_I64, true},
    {ONX_DTYPE_U4, false},  {ONX_DTYPE_I4, true},  {ONX_DTYPE_U2, false},  {ONX_DTYPE_I2, true},
};

static uint64_t low(uint64_t v, unsigned bits) {
    return bits == 64 ? v : v & ((1ull << bits) - 1);
}

TEST(float_to_integer) {
    for (size_t i = 0; i < 8; i++) {
        onx_dtype to = integers[i].dtype;
        unsigned bits = onx_dtype_bits(to), magnitude = bits - integers[i].is_signed;
        double end = ldexp(1, (int)magnitude), start = integers[i].is_signed ? -end : 0;
        uint64_t max = low(~0ull, bits) >> integers[i].is_signed;
        uint64_t min = integers[i].is_signed ? max + 1 : 0;
        const struct {
            double x;
            uint64_t want;
        } cases[] = {
            {0.9, 0},
            {-0.9, 0},
            {1.9, 1},
            {100.5, 100},
            {NAN, 0},
            {INFINITY, max},
            {-INFINITY, min},
            {end, max},
            {end * 2, max},
            {start, min},
            {start - 0.5, min},
            {start - 1, min},
            {-1e300, min},
            {1e300, max},
            {-1.9, integers[i].is_signed ? low(~0ull, bits) : 0},
            {end / 2, max / 2 + 1},
            {bits < 64 ? end - 0.5 : end - 2048, bits < 64 ? max : max - 2047},
        };
        for (size_t j = 0; j < ONX_COUNT(cases); j++) {
            uint64_t got = code_of(ONX_DTYPE_F64, &cases[j].x, to, true);
            if (!CHECK(got == cases[j].want))
                fprintf(stderr, "    %g to %s\n", cases[j].x, onx_dtype_name(to));
        }
    }
}

/* The numbers of ONNX's node tests cast_FLOAT_to_INT4, _UINT4, _INT2, _UINT2: the low bits. */
TEST(float_to_packed_integer) {
    for (int v = -9; v < 16; v++) {
        float x = (float)v;
        for (size_t i = 8; i < 12; i++)
            CHECK_EQ(code_of(ONX_DTYPE_F32, &x, integers[i].dtype, true),
                     low((uint64_t)v, onx_dtype_bits(integers[i].dtype)));
    }
    float x[] = {NAN, -1.9f, 2.9f};
    CHECK_EQ(code_of(ONX_DTYPE_F32, &x[0], ONX_DTYPE_I4, true), 0);
    CHECK_EQ(code_of(ONX_DTYPE_F32, &x[1], ONX_DTYPE_I4, true), 15);
    CHECK_EQ(code_of(ONX_DTYPE_F32, &x[2], ONX_DTYPE_U4, true), 2);
}

TEST(integer_to_integer) {
    static const uint64_t values[] = {
        0,           1,         2,          3,          7,
        8,           15,        16,         127,        128,
        200,         255,       256,        32767,      32768,
        65535,       65536,     0x7fffffff, 0x80000000, 0xffffffff,
        0x123456789, INT64_MAX, 1ull << 63, UINT64_MAX, UINT64_MAX - 1,
        -8ull,       -9ull,     -129ull};
    for (size_t i = 0; i < ONX_COUNT(integers); i++)
        for (size_t j = 0; j < ONX_COUNT(integers); j++)
            for (size_t k = 0; k < ONX_COUNT(values); k++) {
                unsigned bits = onx_dtype_bits(integers[i].dtype);
                uint64_t code = low(values[k], bits), value = code;
                if (integers[i].is_signed && code >> (bits - 1)) value |= ~low(~0ull, bits);
                uint64_t got = code_of(integers[i].dtype, &code, integers[j].dtype, true);
                CHECK(got == low(value, onx_dtype_bits(integers[j].dtype)));
            }
}

TEST(bool_) {
    static const double x[] = {0, -0.0, 1, 0.25, -3, NAN, INFINITY, 1e-310};
    static const unsigned char want[] = {0, 0, 1, 1, 1, 1, 1, 1};
    unsigned char got[8];
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_F64, x, ONX_DTYPE_BOOL, got, 8, true), ONX_OK);
    CHECK(memcmp(got, want, 8) == 0);
    static const uint64_t n[] = {0, 1, 256, 1ull << 63};
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_U64, n, ONX_DTYPE_BOOL, got, 4, true), ONX_OK);
    CHECK(memcmp(got, "\0\1\1\1", 4) == 0);
    float f[4];
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_BOOL, "\0\1\2\377", ONX_DTYPE_F32, f, 4, true), ONX_OK);
    CHECK(f[0] == 0 && f[1] == 1 && f[2] == 1 && f[3] == 1);
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_BOOL, "\1\0\3", ONX_DTYPE_U4, got, 3, true), ONX_OK);
    CHECK(got[0] == 0x01 && got[1] == 0x01);
}

TEST(complex_) {
    static const float x[] = {1.5f, 2, 0, 0, 0, -1, NAN, 0, -2.5f, 0};
    double wide[10];
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_C64, x, ONX_DTYPE_C128, wide, 5, true), ONX_OK);
    for (int i = 0; i < 10; i++) CHECK(same(wide[i], (double)x[i]));
    unsigned char truth[5];
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_C64, x, ONX_DTYPE_BOOL, truth, 5, true), ONX_OK);
    CHECK(memcmp(truth, "\1\0\1\1\1", 5) == 0);
    int32_t real[5];
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_C128, wide, ONX_DTYPE_I32, real, 5, true), ONX_OK);
    CHECK(real[0] == 1 && real[1] == 0 && real[2] == 0 && real[3] == 0 && real[4] == -2);
    static const int16_t n[] = {-7, 9};
    double pair[4] = {9, 9, 9, 9};
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_I16, n, ONX_DTYPE_C128, pair, 2, true), ONX_OK);
    CHECK(pair[0] == -7 && pair[1] == 0 && pair[2] == 9 && pair[3] == 0);
    static float many[2 * 600];
    static unsigned char any[600];
    for (size_t i = 0; i < 600; i++) many[2 * i + 1] = i % 3 == 0;
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_C64, many, ONX_DTYPE_BOOL, any, 600, true), ONX_OK);
    for (size_t i = 0; i < 600; i++) CHECK_EQ(any[i], i % 3 == 0);
}

/* The layouts, byte by byte; the bits left over are zero. */
TEST(packed_layout) {
    static const uint8_t v[] = {1, 2, 3, 4, 5};
    unsigned char out[8];
    memset(out, 0xff, sizeof out);
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_U8, v, ONX_DTYPE_U4, out, 5, true), ONX_OK);
    CHECK(memcmp(out, "\x21\x43\x05\xff", 4) == 0);
    memset(out, 0xff, sizeof out);
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_U8, v, ONX_DTYPE_U2, out, 5, true), ONX_OK);
    CHECK(memcmp(out, "\x39\x01\xff", 3) == 0);
    memset(out, 0xff, sizeof out);
    onx_dtype_pack(6, v, out, 5);
    CHECK(memcmp(out, "\x81\x30\x10\x05\xff", 5) == 0);
    uint8_t back[5];
    onx_dtype_unpack(6, out, back, 5);
    CHECK(memcmp(back, v, 5) == 0);
    /* Copying clears what is left over, too. */
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_F6E2M3, "\xff\xff\xff", ONX_DTYPE_F6E2M3, out, 3, true),
             0);
    CHECK(memcmp(out, "\xff\xff\x03", 3) == 0);
    CHECK_EQ(onx_dtype_convert(ONX_DTYPE_I4, "\xff", ONX_DTYPE_I4, out, 1, true), ONX_OK);
    CHECK_EQ(out[0], 0x0f);
}

/* Every pair, for counts around the block size, unaligned: the same as element by element, and not
 * a byte more written. */
TEST(every_pair) {
    static const size_t counts[] = {1, 2, 3, 5, 8, 255, 256, 257, 521};
    enum { MAX = 521 * 16 + 8 };
    static unsigned char src[MAX], all[MAX], one[16], value[16];
    for (size_t i = 0; i < MAX; i++) src[i] = (unsigned char)(i * 151 + (i >> 5) * 7);
    for (int from = 1; from < ONX_DTYPE_COUNT; from++)
        for (int to = 1; to < ONX_DTYPE_COUNT; to++) {
            unsigned in = onx_dtype_bits((onx_dtype)from), out = onx_dtype_bits((onx_dtype)to);
            if (!in || !out) continue;
            for (size_t k = 0; k < ONX_COUNT(counts); k++) {
                size_t n = counts[k], bytes, wrong = 0;
                onx_dtype_bytes((onx_dtype)to, n, &bytes);
                memset(all, 0xa5, sizeof all);
                onx_dtype_convert((onx_dtype)from, src + 1, (onx_dtype)to, all + 3, n, false);
                CHECK(all[2] == 0xa5 && all[3 + bytes] == 0xa5);
                for (size_t i = 0; i < n; i++) {
                    memset(value, 0, sizeof value);
                    for (size_t b = 0; b < in; b++)
                        value[b / 8] |=
                            (unsigned char)((src[1 + (i * in + b) / 8] >> (i * in + b) % 8 & 1)
                                            << b % 8);
                    onx_dtype_convert((onx_dtype)from, value, (onx_dtype)to, one, 1, false);
                    for (size_t b = 0; b < out; b++)
                        wrong += (all[3 + (i * out + b) / 8] >> (i * out + b) % 8 & 1) !=
                                 (one[b / 8] >> b % 8 & 1);
                }
                for (size_t b = n * out; b < bytes * 8; b++) wrong += all[3 + b / 8] >> b % 8 & 1;
                CHECK_EQ(wrong, 0);
            }
        }
}

/* The tables in the description of Cast, as codes. */
TEST(cast_tables) {
    static const double x[] = {0, -0.0, NAN, INFINITY, -INFINITY, 1e6, -1e6};
    static const struct {
        onx_dtype dtype;
        uint8_t saturated[7], plain[7];
    } rows[] = {
        {ONX_DTYPE_F8E4M3FN,
         {0, 0x80, 0x7f, 0x7e, 0xfe, 0x7e, 0xfe},
         {0, 0x80, 0x7f, 0x7f, 0xff, 0x7f, 0xff}},
        {ONX_DTYPE_F8E4M3FNUZ,
         {0, 0, 0x80, 0x7f, 0xff, 0x7f, 0xff},
         {0, 0, 0x80, 0x80, 0x80, 0x80, 0x80}},
        {ONX_DTYPE_F8E5M2,
         {0, 0x80, 0x7e, 0x7b, 0xfb, 0x7b, 0xfb},
         {0, 0x80, 0x7e, 0x7c, 0xfc, 0x7c, 0xfc}},
        {ONX_DTYPE_F8E5M2FNUZ,
         {0, 0, 0x80, 0x7f, 0xff, 0x7f, 0xff},
         {0, 0, 0x80, 0x80, 0x80, 0x80, 0x80}},
        {ONX_DTYPE_F8E8M0,
         {0, 0, 0xff, 0xfe, 0xff, 147, 0xff},
         {0xff, 0xff, 0xff, 0xff, 0xff, 147, 0xff}},
    };
    for (size_t i = 0; i < ONX_COUNT(rows); i++)
        for (size_t j = 0; j < 7; j++) {
            CHECK_EQ(code_of(ONX_DTYPE_F64, &x[j], rows[i].dtype, true), rows[i].saturated[j]);
            CHECK_EQ(code_of(ONX_DTYPE_F64, &x[j], rows[i].dtype, false), rows[i].plain[j]);
        }
}

TEST_MAIN(E(names) E(bytes) E(usage) E(decode) E(encode) E(between_small_floats) E(frequent_pairs)
              E(integer_to_float) E(float_to_integer) E(float_to_packed_integer)
                  E(integer_to_integer) E(bool_) E(complex_) E(packed_layout) E(every_pair)
                      E(cast_tables))
