/* dtype_convert.c: from any element type to any other; dtype.h says what that yields.
 *
 * A block of elements passes four stages, plain loops; only the middle two know what bits mean:
 *
 *     bytes ──load──▶ codes ──decode──▶ numbers ──encode──▶ codes ──store──▶ bytes
 *
 * A code is the element's bits in a uint64_t. A number is a double, which holds every real type
 * exactly, or an integer sign-extended to 64 bits. Frequent pairs have a loop of their own, with
 * the same result. Assumes the default rounding mode. Nothing here allocates. */
#include "ir/dtype.h"

#include <math.h>

typedef enum kind {
    KIND_NONE = '-',
    KIND_BOOL = 'b',
    KIND_UINT = 'u',
    KIND_INT = 'i',
    KIND_REAL = 'f',
    KIND_COMPLEX = 'c',
} kind;

/* By the types' numbers. */
static kind kind_of(onx_dtype dtype) {
    static const char kinds[] = "-fuiuiii-bffuuccfffffuiffuiff";
    _Static_assert(sizeof kinds - 1 == ONX_DTYPE_COUNT, "one letter a type");
    return (kind)kinds[dtype];
}

/* A float of at most 16 bits, by the codes of its magnitudes. */
typedef struct format {
    uint8_t mantissa; /* bits */
    uint8_t bias;
    uint16_t sign;      /* mask; 0: there are no negative numbers */
    uint16_t max;       /* largest finite value */
    uint16_t over;      /* past it: infinity, NaN, or max */
    uint16_t saturated; /* past it, with `saturate` */
    uint16_t nan;       /* in a format without NaN: what NaN becomes */
    bool fnuz;          /* "finite, unsigned zero": the code of -0 is the only NaN */
} format;

static const format formats[ONX_DTYPE_COUNT] = {
    [ONX_DTYPE_F16] = {10, 15, 0x8000, 0x7bff, 0x7c00, 0x7c00, 0x7e00, false},
    [ONX_DTYPE_BF16] = {7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7f80, 0x7fc0, false},
    [ONX_DTYPE_F8E4M3FN] = {3, 7, 0x80, 0x7e, 0x7f, 0x7e, 0x7f, false},
    [ONX_DTYPE_F8E4M3FNUZ] = {3, 8, 0x80, 0x7f, 0x80, 0x7f, 0x80, true},
    [ONX_DTYPE_F8E5M2] = {2, 15, 0x80, 0x7b, 0x7c, 0x7b, 0x7e, false},
    [ONX_DTYPE_F8E5M2FNUZ] = {2, 16, 0x80, 0x7f, 0x80, 0x7f, 0x80, true},
    [ONX_DTYPE_F8E8M0] = {0, 127, 0, 0xfe, 0xff, 0xfe, 0xff, false},
    [ONX_DTYPE_F6E2M3] = {3, 1, 0x20, 0x1f, 0x1f, 0x1f, 0x20, false},
    [ONX_DTYPE_F6E3M2] = {2, 3, 0x20, 0x1f, 0x1f, 0x1f, 0x20, false},
    [ONX_DTYPE_F4E2M1] = {1, 1, 0x8, 0x7, 0x7, 0x7, 0x8, false},
};

/* ── One number ──────────────────────────────────────────────────────────────────────────────── */

static uint64_t f64_code(double x) {
    uint64_t code;
    memcpy(&code, &x, sizeof code);
    return code;
}

static double f64_of(uint64_t code) {
    double x;
    memcpy(&x, &code, sizeof x);
    return x;
}

static uint32_t f32_code(float x) {
    uint32_t code;
    memcpy(&code, &x, sizeof code);
    return code;
}

static float f32_of(uint32_t code) {
    float x;
    memcpy(&x, &code, sizeof x);
    return x;
}

/* 2^e of a normal double. */
static double power(int e) {
    return f64_of((uint64_t)(e + 1023) << 52);
}

static double decode_small(const format *f, unsigned code) {
    if (!f->sign) return code == f->nan ? (double)NAN : power((int)code - f->bias);
    unsigned magnitude = code & (f->sign - 1u);
    double x;
    if (magnitude > f->max || (f->fnuz && code == f->nan))
        x = magnitude == f->over && f->over != f->nan ? (double)INFINITY : (double)NAN;
    else if (magnitude >> f->mantissa == 0)
        x = magnitude * power(1 - f->bias - f->mantissa);
    else
        x = f64_of(((uint64_t)magnitude << (52 - f->mantissa)) + ((1023ull - f->bias) << 52));
    return code & f->sign ? -x : x;
}

/* The code of a magnitude: rounded at the lowest bit that the format has there. A carry moves on
 * into the exponent by itself. */
static uint64_t round_even(const format *f, uint64_t magnitude) {
    int exponent = (int)(magnitude >> 52) - 1023, least = 1 - f->bias;
    uint64_t significand = (magnitude & ((1ull << 52) - 1)) | 1ull << 52;
    int below = exponent < least ? least - exponent : 0;
    int shift = 52 - f->mantissa + below;
    if (shift > 54) return 0;
    uint64_t odd = significand >> shift & 1;
    uint64_t rounded = (significand + (1ull << (shift - 1)) - 1 + odd) >> shift;
    return rounded + ((uint64_t)(exponent + below - least) << f->mantissa);
}

/* float8e8m0: the exponent, rounded up. */
static uint64_t encode_scale(const format *f, double x, bool saturate) {
    if (isnan(x) || x < 0) return f->nan;
    if (x < power(-f->bias)) return saturate ? 0 : f->nan;
    uint64_t b = f64_code(x), fraction = b & ((1ull << 52) - 1);
    uint64_t code = (b >> 52) + f->bias - 1023 + (fraction != 0);
    return code <= f->max ? code : saturate ? f->saturated : f->over;
}

static uint64_t encode_small(const format *f, double x, bool saturate) {
    if (!f->sign) return encode_scale(f, x, saturate);
    unsigned sign = signbit(x) ? f->sign : 0;
    if (isnan(x)) return f->fnuz ? f->nan : f->nan ^ sign;
    uint64_t code = round_even(f, f64_code(x) & INT64_MAX);
    if (code > f->max) code = saturate ? f->saturated : f->over;
    if (f->fnuz && (code == 0 || code == f->nan)) return code;
    return code | sign;
}

static uint64_t encode_int(double x, kind k, unsigned bits) {
    if (bits < 8) k = KIND_INT, bits = 64;
    uint64_t half = 1ull << (bits - 1);
    if (k == KIND_UINT) {
        if (!(x > 0)) return 0;
        return x >= 2.0 * (double)half ? half - 1 + half : (uint64_t)x;
    }
    if (isnan(x)) return 0;
    if (x >= (double)half) return half - 1;
    return x < -(double)half ? -half : (uint64_t)(int64_t)x;
}

/* The integer as a double to be rounded again: bits that do not fit are kept as one odd bit, so
 * that the second rounding, to far fewer bits, goes where it would have gone from the integer. */
static double round_odd(uint64_t magnitude) {
    if (magnitude >> 53 == 0) return (double)magnitude;
    return (double)(magnitude >> 11 | ((magnitude & 0x7ff) != 0)) * 2048.0;
}

static double int_to_real(uint64_t v, kind k, bool exact) {
    bool negative = k == KIND_INT && v >> 63;
    uint64_t magnitude = negative ? -v : v;
    double x = exact ? (double)magnitude : round_odd(magnitude);
    return negative ? -x : x;
}

/* ── Blocks ──────────────────────────────────────────────────────────────────────────────────── */

enum { BLOCK = 256 }; /* a multiple of 8, so that blocks of packed types begin at a byte */

typedef struct block {
    uint64_t codes[BLOCK];
    double reals[BLOCK]; /* of reals; integers stay in `codes`, sign-extended */
} block;

/* One side of a conversion: real numbers, `stride` bytes apart. */
typedef struct side {
    onx_dtype dtype;
    kind kind;
    unsigned bits;
    size_t stride; /* 0: packed */
    size_t block_bytes;
} side;

/* The real type of the parts of a complex one; any other type itself. */
static onx_dtype part_of(onx_dtype dtype) {
    return dtype == ONX_DTYPE_C64 ? ONX_DTYPE_F32 : dtype == ONX_DTYPE_C128 ? ONX_DTYPE_F64 : dtype;
}

static side side_of(onx_dtype dtype) {
    unsigned bits = onx_dtype_bits(dtype);
    onx_dtype part = part_of(dtype);
    return (side){part, kind_of(part), onx_dtype_bits(part), bits / 8, BLOCK * bits / 8};
}

#define LOAD(type)                                                                                 \
    for (size_t i = 0; i < n; i++) {                                                               \
        type v;                                                                                    \
        memcpy(&v, src + i * s->stride, sizeof v);                                                 \
        codes[i] = v;                                                                              \
    }

static void load(const side *s, const char *src, size_t n, uint64_t *codes) {
    if (s->stride == 0) {
        uint8_t bytes[BLOCK];
        onx_dtype_unpack(s->bits, src, bytes, n);
        for (size_t i = 0; i < n; i++) codes[i] = bytes[i];
    } else if (s->bits == 8) {
        LOAD(uint8_t)
    } else if (s->bits == 16) {
        LOAD(uint16_t)
    } else if (s->bits == 32) {
        LOAD(uint32_t)
    } else {
        LOAD(uint64_t)
    }
}

/* What lies between the elements (imaginary parts) becomes 0. */
#define STORE(type)                                                                                \
    for (size_t i = 0; i < n; i++) {                                                               \
        type v = (type)codes[i];                                                                   \
        memcpy(dst + i * s->stride, &v, sizeof v);                                                 \
    }

static void store(const side *s, const uint64_t *codes, size_t n, char *dst) {
    if (s->stride > s->bits / 8) memset(dst, 0, n * s->stride);
    if (s->stride == 0) {
        uint8_t bytes[BLOCK];
        for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)codes[i];
        onx_dtype_pack(s->bits, bytes, dst, n);
    } else if (s->bits == 8) {
        STORE(uint8_t)
    } else if (s->bits == 16) {
        STORE(uint16_t)
    } else if (s->bits == 32) {
        STORE(uint32_t)
    } else {
        STORE(uint64_t)
    }
}

static void decode(const side *s, size_t n, block *b) {
    const format *f = &formats[s->dtype];
    if (s->kind == KIND_BOOL) {
        for (size_t i = 0; i < n; i++) b->codes[i] = b->codes[i] != 0;
    } else if (s->kind == KIND_INT) {
        uint64_t sign = 1ull << (s->bits - 1);
        for (size_t i = 0; i < n; i++) b->codes[i] = (b->codes[i] ^ sign) - sign;
    } else if (s->dtype == ONX_DTYPE_F64) {
        memcpy(b->reals, b->codes, n * sizeof(double));
    } else if (s->dtype == ONX_DTYPE_F32) {
        for (size_t i = 0; i < n; i++) b->reals[i] = f32_of((uint32_t)b->codes[i]);
    } else if (s->kind == KIND_REAL) {
        for (size_t i = 0; i < n; i++) b->reals[i] = decode_small(f, (unsigned)b->codes[i]);
    }
}

static void encode_reals(const side *s, size_t n, block *b, bool saturate) {
    const format *f = &formats[s->dtype];
    if (s->dtype == ONX_DTYPE_F64) {
        memcpy(b->codes, b->reals, n * sizeof(double));
    } else if (s->dtype == ONX_DTYPE_F32) {
        for (size_t i = 0; i < n; i++) b->codes[i] = f32_code((float)b->reals[i]);
    } else {
        for (size_t i = 0; i < n; i++) b->codes[i] = encode_small(f, b->reals[i], saturate);
    }
}

static void encode(const side *from, const side *to, size_t n, block *b, bool saturate) {
    bool real = from->kind == KIND_REAL;
    if (to->kind == KIND_BOOL) {
        for (size_t i = 0; i < n; i++) b->codes[i] = real ? b->reals[i] != 0 : b->codes[i] != 0;
    } else if (to->kind == KIND_REAL) {
        bool exact = to->dtype == ONX_DTYPE_F64;
        for (size_t i = 0; i < n && !real; i++)
            b->reals[i] = int_to_real(b->codes[i], from->kind, exact);
        encode_reals(to, n, b, saturate);
    } else if (real) {
        for (size_t i = 0; i < n; i++) b->codes[i] = encode_int(b->reals[i], to->kind, to->bits);
    }
}

static void convert(onx_dtype from, const char *src, onx_dtype to, char *dst, uint64_t count,
                    bool saturate) {
    side in = side_of(from), out = side_of(to);
    block b;
    for (uint64_t at = 0; at < count; at += BLOCK, src += in.block_bytes, dst += out.block_bytes) {
        size_t n = count - at < BLOCK ? (size_t)(count - at) : BLOCK;
        load(&in, src, n, b.codes);
        decode(&in, n, &b);
        encode(&in, &out, n, &b, saturate);
        store(&out, b.codes, n, dst);
    }
}

/* True when either part is. */
static void complex_to_bool(onx_dtype part, const char *src, char *dst, uint64_t count) {
    for (uint64_t at = 0; at < count; at += BLOCK) {
        char parts[2 * BLOCK];
        size_t n = count - at < BLOCK ? (size_t)(count - at) : BLOCK;
        convert(part, src, ONX_DTYPE_BOOL, parts, 2 * n, true);
        for (size_t i = 0; i < n; i++) dst[at + i] = parts[2 * i] | parts[2 * i + 1];
        src += 2 * n * (onx_dtype_bits(part) / 8);
    }
}

/* ── Frequent pairs ──────────────────────────────────────────────────────────────────────────── */

/* All cases are computed and the right one selected, so that the loops become vector code. */
static float f16_to_f32(uint16_t code) {
    uint32_t magnitude = (code & 0x7fffu) << 13, sign = (code & 0x8000u) << 16;
    uint32_t normal = magnitude + ((127u - 15u) << 23);
    uint32_t special = magnitude + ((255u - 31u) << 23);
    uint32_t tiny = f32_code(f32_of(magnitude + (113u << 23)) - f32_of(113u << 23));
    uint32_t x = magnitude >= 0x0f800000u ? special : magnitude < 0x00800000u ? tiny : normal;
    return f32_of(x | sign);
}

static uint16_t f32_to_f16(float x) {
    uint32_t code = f32_code(x), magnitude = code & 0x7fffffffu, sign = code >> 16 & 0x8000u;
    uint32_t normal = (magnitude - ((127u - 15u) << 23) + 0xfffu + (magnitude >> 13 & 1)) >> 13;
    /* Adding 0.5 leaves the multiple of 2^-24, the least float16, in the low bits, rounded. */
    uint32_t tiny = f32_code(f32_of(magnitude) + 0.5f) - f32_code(0.5f);
    uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t y = magnitude < (113u << 23) ? tiny : normal;
    return (uint16_t)((magnitude >= (143u << 23) ? special : y) | sign);
}

static float bf16_to_f32(uint16_t code) {
    return f32_of((uint32_t)code << 16);
}

static uint16_t f32_to_bf16(float x) {
    uint32_t code = f32_code(x);
    uint32_t rounded = (code + 0x7fffu + (code >> 16 & 1)) >> 16;
    uint32_t nan = (code >> 16 & 0x8000u) | 0x7fc0u;
    return (uint16_t)((code & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

/* X(from, its C type, to, its C type, expression) */
#define PAIRS(X)                                                                                   \
    X(F16, uint16_t, F32, float, f16_to_f32(x))                                                    \
    X(F32, float, F16, uint16_t, f32_to_f16(x))                                                    \
    X(BF16, uint16_t, F32, float, bf16_to_f32(x))                                                  \
    X(F32, float, BF16, uint16_t, f32_to_bf16(x))                                                  \
    X(F32, float, F64, double, (double)x)                                                          \
    X(F64, double, F32, float, (float)x)                                                           \
    X(I64, int64_t, I32, int32_t, (int32_t)x)                                                      \
    X(I32, int32_t, I64, int64_t, x)                                                               \
    X(U8, uint8_t, I32, int32_t, x)                                                                \
    X(I8, int8_t, I32, int32_t, x)                                                                 \
    X(U8, uint8_t, F32, float, (float)x)                                                           \
    X(I8, int8_t, F32, float, (float)x)                                                            \
    X(I32, int32_t, F32, float, (float)x)                                                          \
    X(I64, int64_t, F32, float, (float)x)

#define PAIR_LOOP(FROM, in_type, TO, out_type, expression)                                         \
    static void FROM##_to_##TO(const char *src, char *dst, size_t n) {                             \
        for (size_t i = 0; i < n; i++) {                                                           \
            in_type x;                                                                             \
            memcpy(&x, src + i * sizeof x, sizeof x);                                              \
            out_type y = expression;                                                               \
            memcpy(dst + i * sizeof y, &y, sizeof y);                                              \
        }                                                                                          \
    }
PAIRS(PAIR_LOOP)

static const struct pair {
    uint8_t from, to;
    void (*loop)(const char *src, char *dst, size_t n);
} pairs[] = {
#define PAIR_ROW(FROM, in_type, TO, out_type, expression)                                          \
    {ONX_DTYPE_##FROM, ONX_DTYPE_##TO, FROM##_to_##TO},
    PAIRS(PAIR_ROW)};

static bool convert_pair(onx_dtype from, const void *src, onx_dtype to, void *dst, uint64_t count) {
    for (size_t i = 0; i < ONX_COUNT(pairs); i++) {
        if (pairs[i].from != from || pairs[i].to != to) continue;
        pairs[i].loop(src, dst, (size_t)count);
        return true;
    }
    return false;
}

/* The bits left over in the last byte become 0, as in any packed result. */
static void copy(unsigned bits, const char *src, char *dst, uint64_t count, size_t bytes) {
    if (bytes > 0) memcpy(dst, src, bytes);
    unsigned used = (unsigned)(count % 8) * bits % 8;
    if (used > 0) dst[bytes - 1] = (char)(dst[bytes - 1] & ((1 << used) - 1));
}

onx_status onx_dtype_convert(onx_dtype from, const void *src, onx_dtype to, void *dst,
                             uint64_t count, bool saturate) {
    size_t in_bytes, out_bytes;
    if (!onx_dtype_bytes(from, count, &in_bytes) || !onx_dtype_bytes(to, count, &out_bytes))
        return ONX_USAGE;
    bool complex = kind_of(from) == KIND_COMPLEX;
    if (count == 0 || from == to)
        copy(onx_dtype_bits(from), src, dst, count, in_bytes);
    else if (complex && kind_of(to) == KIND_COMPLEX)
        return onx_dtype_convert(part_of(from), src, part_of(to), dst, 2 * count, saturate);
    else if (complex && to == ONX_DTYPE_BOOL)
        complex_to_bool(part_of(from), src, dst, count);
    else if (!convert_pair(from, src, to, dst, count))
        convert(from, src, to, dst, count, saturate);
    return ONX_OK;
}

void onx_dtype_round(onx_dtype dtype, double *x, size_t n) {
    enum { SPAN = 128 };
    double narrow[SPAN];
    if (dtype == ONX_DTYPE_F64) return;
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < SPAN ? n - at : SPAN;
        (void)onx_dtype_convert(ONX_DTYPE_F64, x + at, dtype, narrow, some, false);
        (void)onx_dtype_convert(dtype, narrow, ONX_DTYPE_F64, x + at, some, false);
    }
}
