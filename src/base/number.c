/* number.c: see number.h.
 *
 * The digits of a float are taken apart and put together here, so that the C library only ever sees
 * "12345e-2": without a decimal point there is nothing a locale could change. */
#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>

/* ── Integers ────────────────────────────────────────────────────────────────────────────────── */

bool onx_parse_digits(onx_str text, unsigned base, uint64_t *out) {
    uint64_t v = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = onx_digit(text.data[i]);
        if (digit >= base || __builtin_mul_overflow(v, base, &v) ||
            __builtin_add_overflow(v, digit, &v))
            return false;
    }
    if (text.size == 0) return false;
    *out = v;
    return true;
}

/* Takes the sign off `text`; true if it is a minus. */
static bool take_sign(onx_str *text) {
    if (text->size == 0 || (text->data[0] != '-' && text->data[0] != '+')) return false;
    bool negative = text->data[0] == '-';
    *text = (onx_str){text->data + 1, text->size - 1};
    return negative;
}

bool onx_parse_u64(onx_str text, uint64_t *out) {
    uint64_t v;
    bool negative = take_sign(&text);
    if (!onx_parse_digits(text, 10, &v) || (negative && v != 0)) return false;
    *out = v;
    return true;
}

bool onx_parse_i64(onx_str text, int64_t *out) {
    uint64_t v;
    bool negative = take_sign(&text);
    if (!onx_parse_digits(text, 10, &v) || v > (uint64_t)INT64_MAX + negative) return false;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

static size_t put_digits(uint64_t v, char *out) {
    char reversed[20];
    size_t n = 0;
    do reversed[n++] = (char)('0' + v % 10);
    while (v /= 10);
    for (size_t i = 0; i < n; i++) out[i] = reversed[n - 1 - i];
    out[n] = 0;
    return n;
}

static size_t put_integer(int64_t v, char *out) {
    if (v >= 0) return put_digits((uint64_t)v, out);
    out[0] = '-';
    return 1 + put_digits(0 - (uint64_t)v, out + 1);
}

size_t onx_print_u64(uint64_t v, char out[ONX_NUMBER_MAX]) {
    return put_digits(v, out);
}

size_t onx_print_i64(int64_t v, char out[ONX_NUMBER_MAX]) {
    return put_integer(v, out);
}

/* ── Text to float ───────────────────────────────────────────────────────────────────────────── */

/* A decimal number taken apart: digits × 10^exp, without leading and trailing zeros. No double, and
 * no midpoint of two, has more than 767 digits; of what follows it only matters whether it is zero,
 * and one more digit says so. */
enum { KEEP = 768, EXP_MAX = 100000 };
typedef struct decimal {
    char digits[KEEP + 1];
    size_t n;
    int64_t exp;
} decimal;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Digits, at most one point among them; the number of bytes, 0 when there is no digit. */
static size_t scan_digits(onx_str text, decimal *d) {
    bool point = false, any = false, rest = false;
    size_t i = 0;
    for (; i < text.size; i++) {
        char c = text.data[i];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(c)) break;
        any = true;
        d->exp -= point;
        if (d->n == 0 && c == '0') continue;
        if (d->n < KEEP) {
            d->digits[d->n++] = c;
        } else {
            rest = rest || c != '0';
            d->exp++;
        }
    }
    if (rest) {
        d->digits[d->n++] = '1';
        d->exp--;
    }
    for (; d->n > 0 && d->digits[d->n - 1] == '0'; d->n--) d->exp++;
    return any ? i : 0;
}

static bool scan_exponent(onx_str text, decimal *d) {
    int64_t exp = 0;
    bool negative = take_sign(&text);
    for (size_t i = 0; i < text.size; i++) {
        if (!is_digit(text.data[i])) return false;
        if (exp < INT64_MAX / 100) exp = exp * 10 + (text.data[i] - '0');
    }
    d->exp += negative ? -exp : exp;
    return text.size > 0;
}

static bool scan_decimal(onx_str text, decimal *d) {
    d->n = 0;
    d->exp = 0;
    size_t used = scan_digits(text, d);
    if (used == 0) return false;
    if (used < text.size) {
        if (text.data[used] != 'e' && text.data[used] != 'E') return false;
        if (!scan_exponent((onx_str){text.data + used + 1, text.size - used - 1}, d)) return false;
    }
    if (d->exp > EXP_MAX) d->exp = EXP_MAX;
    if (d->exp < -EXP_MAX) d->exp = -EXP_MAX;
    return true;
}

/* Both factors are exact, so the one operation rounds correctly. */
static bool small_value(const decimal *d, double *out) {
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d->n > 15 || d->exp < -22 || d->exp > 22) return false;
    int64_t digits = 0;
    for (size_t i = 0; i < d->n; i++) digits = digits * 10 + (d->digits[i] - '0');
    *out = d->exp < 0 ? (double)digits / ten[-d->exp] : (double)digits * ten[d->exp];
    return true;
}

/* What strtod and strtof are to read: digits and an exponent. */
static const char *plain_text(const decimal *d, char out[KEEP + 32]) {
    char *p = out;
    if (d->n == 0) *p++ = '0';
    for (size_t i = 0; i < d->n; i++) *p++ = d->digits[i];
    *p++ = 'e';
    put_integer(d->exp, p);
    return out;
}

static bool is_word(onx_str text, const char *lower) {
    if (text.size != strlen(lower)) return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
        if (c != lower[i]) return false;
    }
    return true;
}

/* The bits of "inf", "nan" and their like in a format with `mantissa` bits of mantissa, below
 * `infinity`. */
static bool scan_word(onx_str text, uint64_t infinity, unsigned mantissa, uint64_t *bits) {
    uint64_t payload = (uint64_t)1 << (mantissa - 1);
    if (is_word(text, "inf") || is_word(text, "infinity")) {
        *bits = infinity;
        return true;
    }
    if (text.size > 7 && text.data[text.size - 1] == ')') {
        onx_str digits = {text.data + 6, text.size - 7};
        if (!is_word((onx_str){text.data + 3, 3}, "(0x") || !onx_parse_digits(digits, 16, &payload))
            return false;
        if (payload == 0 || payload >> mantissa != 0) return false;
        text.size = 3;
    }
    *bits = infinity | payload;
    return is_word(text, "nan");
}

bool onx_parse_f64(onx_str text, double *out) {
    decimal d;
    double v;
    uint64_t bits;
    char plain[KEEP + 32];
    bool negative = take_sign(&text);
    if (scan_decimal(text, &d)) {
        if (!small_value(&d, &v)) v = strtod(plain_text(&d, plain), NULL);
        memcpy(&bits, &v, sizeof bits);
    } else if (!scan_word(text, 0x7ff0000000000000u, 52, &bits)) {
        return false;
    }
    bits |= (uint64_t)negative << 63;
    memcpy(out, &bits, sizeof bits);
    return true;
}

/* Rounding to double and then to float goes wrong only from a midpoint between two floats. */
static bool small_value_f32(const decimal *d, float *out) {
    double v;
    if (!small_value(d, &v) || (onx_load_u64(&v) & 0x1fffffff) == 0x10000000) return false;
    *out = (float)v;
    return true;
}

bool onx_parse_f32(onx_str text, float *out) {
    decimal d;
    float v;
    uint64_t word;
    uint32_t bits;
    char plain[KEEP + 32];
    bool negative = take_sign(&text);
    if (scan_decimal(text, &d)) {
        if (!small_value_f32(&d, &v)) v = strtof(plain_text(&d, plain), NULL);
        memcpy(&bits, &v, sizeof bits);
    } else if (scan_word(text, 0x7f800000u, 23, &word)) {
        bits = (uint32_t)word;
    } else {
        return false;
    }
    bits |= (uint32_t)negative << 31;
    memcpy(out, &bits, sizeof bits);
    return true;
}

/* ── Float to text ───────────────────────────────────────────────────────────────────────────── */

/* What is not a number in bits without sign; `infinity` and `mantissa` as above. */
static size_t print_word(uint64_t bits, uint64_t infinity, unsigned mantissa, char *out) {
    uint64_t payload = bits - infinity;
    if (payload == 0) return (size_t)snprintf(out, 4, "inf");
    if (payload == (uint64_t)1 << (mantissa - 1)) return (size_t)snprintf(out, 4, "nan");
    return (size_t)snprintf(out, ONX_NUMBER_MAX - 1, "nan(0x%llx)", (unsigned long long)payload);
}

/* digits × 10^exp, as "1.0", "0.015" or "1.5e-07". */
static size_t print_digits(uint64_t digits, int exp, char *out) {
    char s[ONX_NUMBER_MAX];
    for (; digits % 10 == 0; digits /= 10) exp++;
    int n = (int)put_digits(digits, s), point = n + exp;
    char *p = out;
    bool scientific = point < -3 || point > 16;
    int lead = scientific ? 1 : point; /* digits before the point */
    if (lead <= 0) *p++ = '0';
    for (int i = 0; i < lead; i++) *p++ = i < n ? s[i] : '0';
    if (n > lead || !scientific) *p++ = '.';
    for (int i = lead; i < 0; i++) *p++ = '0';
    for (int i = lead > 0 ? lead : 0; i < n; i++) *p++ = s[i];
    if (n <= lead && !scientific) *p++ = '0';
    if (scientific) p += snprintf(p, 8, "e%+03d", point - 1);
    *p = 0;
    return (size_t)(p - out);
}

/* The first `n` digits of v > 0, rounded, and the power of ten that belongs to the last one. */
static uint64_t first_digits(double v, int n, int *exp) {
    char s[64];
    snprintf(s, sizeof s, "%.*e", n - 1, v);
    const char *e = strchr(s, 'e');
    uint64_t digits = (uint64_t)(s[0] - '0'); /* the locale's point follows, then n - 1 digits */
    for (const char *p = e - (n - 1); p < e; p++) digits = digits * 10 + (uint64_t)(*p - '0');
    *exp = atoi(e + 1) - (n - 1);
    return digits;
}

static bool reads_back(uint64_t digits, int exp, double v, bool is_f32) {
    char s[ONX_NUMBER_MAX];
    size_t n = put_digits(digits, s);
    s[n++] = 'e';
    onx_str text = {s, n + put_integer(exp, s + n)};
    float f = 0;
    double d = 0;
    return is_f32 ? onx_parse_f32(text, &f) && f == (float)v : onx_parse_f64(text, &d) && d == v;
}

/* v > 0: as many digits as any number of the format needs, and then as few of them as do. Where all
 * of them end in a 5, it may have been rounded up already: then the number itself is asked. Below a
 * power of two numbers lie closer: the nearest digits may be too low there, and the next ones
 * do. */
static size_t print_positive(double v, bool is_f32, bool subnormal, char *out) {
    int most = is_f32 ? 9 : 17, last;
    uint64_t all = first_digits(v, most, &last), step = 1, digits;
    int n = subnormal ? 1 : most - 3, exp;
    bool power = onx_load_u64(&v) << 12 == 0;
    for (int i = n; i < most; i++) step *= 10;
    for (;; n++, step /= 10) {
        exp = last + most - n;
        digits = (all + step / 2) / step;
        if (step > 1 && all % step == step / 2) digits = first_digits(v, n, &exp);
        if (step == 1 || reads_back(digits, exp, v, is_f32)) break;
        if (power && reads_back(digits + 1, exp, v, is_f32)) {
            digits++;
            break;
        }
    }
    return print_digits(digits, exp, out);
}

size_t onx_print_f64(double v, char out[ONX_NUMBER_MAX]) {
    uint64_t bits = onx_load_u64(&v) & INT64_MAX;
    size_t sign = onx_load_u64(&v) != bits;
    out[0] = '-';
    if (bits >= 0x7ff0000000000000u)
        return sign + print_word(bits, 0x7ff0000000000000u, 52, out + sign);
    if (bits == 0) return sign + (size_t)snprintf(out + sign, 4, "0.0");
    return sign + print_positive(sign ? -v : v, false, bits >> 52 == 0, out + sign);
}

size_t onx_print_f32(float v, char out[ONX_NUMBER_MAX]) {
    uint32_t bits = onx_load_u32(&v) & INT32_MAX;
    size_t sign = onx_load_u32(&v) != bits;
    out[0] = '-';
    if (bits >= 0x7f800000u) return sign + print_word(bits, 0x7f800000u, 23, out + sign);
    if (bits == 0) return sign + (size_t)snprintf(out + sign, 4, "0.0");
    return sign + print_positive(sign ? -v : v, true, bits >> 23 == 0, out + sign);
}
