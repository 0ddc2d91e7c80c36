/* number.h: numbers to text and back, the same in every locale.
 *
 * Parsing takes the whole of `text` or fails; it rounds correctly, straight to the type asked for,
 * and does not allocate. Printing writes as few digits as read back as the very same number. */
#ifndef ONX_NUMBER_H
#define ONX_NUMBER_H

#include "base/base.h"

#define ONX_NUMBER_MAX 32 /* bytes that any number takes as text, with the NUL */

/* The value of a digit, up to 'f'; 99 for any other character. */
static inline unsigned onx_digit(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return (unsigned)(c - 'A') + 10;
    return 99;
}

/* An optional sign and decimal digits. False for anything else, and out of range. */
bool onx_parse_i64(onx_str text, int64_t *out);
bool onx_parse_u64(onx_str text, uint64_t *out);
/* Digits of `base` (8, 10 or 16) alone: no sign, no prefix. */
bool onx_parse_digits(onx_str text, unsigned base, uint64_t *out);

/* An optional sign and a decimal number ("12", "1.5", ".5", "2.", "1e-5"), or, in any case of
 * letters, "inf", "infinity", "nan" or "nan(0x12)", where 0x12 are the mantissa's bits. Too large
 * is infinity, too small zero. */
bool onx_parse_f32(onx_str text, float *out);
bool onx_parse_f64(onx_str text, double *out);

/* All return the length, without the NUL. Floats have a '.' or an 'e' ("1.0", "1.5", "1e-05"), or
 * are "inf", "-inf", "nan", "-nan", or, where the mantissa is not the usual one, "nan(0x1)". */
size_t onx_print_i64(int64_t v, char out[ONX_NUMBER_MAX]);
size_t onx_print_u64(uint64_t v, char out[ONX_NUMBER_MAX]);
size_t onx_print_f32(float v, char out[ONX_NUMBER_MAX]);
size_t onx_print_f64(double v, char out[ONX_NUMBER_MAX]);

#endif
