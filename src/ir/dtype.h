/* dtype.h: element types: what onx_dtype_convert does, and the packed types.
 *
 * Conversion is ONNX's Cast, with what Cast leaves open decided:
 *
 *   float to float      The nearest value, ties to even, in one rounding from the exact value. Too
 *                       large becomes infinity; in the 8-bit floats, by Cast's tables, the largest
 *                       finite value with `saturate`, infinity or NaN without; in the 4- and 6-bit
 *                       ones always the largest finite value. NaN stays NaN and keeps its sign,
 *                       but not its payload; that of a fnuz type is negative, as its code is. Types
 *                       without NaN take it as -0, and -NaN as 0, like the onnx package.
 *   to float8e8m0       The next power of two up (Cast's default round_mode). With `saturate`, what
 *                       is below 2^-127, 0 too, becomes 2^-127, and what is above 2^127 becomes
 *                       2^127; without, NaN. Negative numbers and NaN become NaN.
 *   float to integer    The fraction is dropped; out of range gives the nearest end of the range,
 *                       NaN gives 0. But 2- and 4-bit integers take the low bits of the int64, as
 *                       ONNX's test data do.
 *   integer to float    The nearest value, as above, from the exact integer.
 *   integer to integer  The low bits: 200 becomes -56 in int8.
 *   to bool             Whether it is not zero; NaN is true.
 *   from bool           0 or 1; any byte that is not zero is 1.
 *   complex             To real: the real part. To bool: whether either part is not zero. From
 *                       real: the imaginary part is 0.
 *
 * Packed types lie in the bits from the lowest up, without gaps; drawn with the highest bit first:
 *
 *   4 bits   bbbbaaaa
 *   2 bits   ddccbbaa
 *   6 bits   bbaaaaaa ccccbbbb ddddddcc
 *
 * Bits left over in the last byte are written as 0 and ignored on reading. */
#ifndef ONX_DTYPE_H
#define ONX_DTYPE_H

#include "base/base.h"

/* Each becomes the nearest value of that type, as a conversion there and back has it. Not for
 * packed types. */
void onx_dtype_round(onx_dtype dtype, double *x, size_t n);

/* Packed elements of 2, 4 or 6 bits to one byte each, zeros above; and back, dropping the rest. */
void onx_dtype_unpack(unsigned bits, const void *src, uint8_t *dst, size_t count);
void onx_dtype_pack(unsigned bits, const uint8_t *src, void *dst, size_t count);
/* Copy part of a packed list into another one: all in bits, and even, as the packed types are. The
 * bits around stay as they are. */
void onx_dtype_copy_bits(const void *src, uint64_t from, void *dst, uint64_t to, uint64_t count);

#endif
