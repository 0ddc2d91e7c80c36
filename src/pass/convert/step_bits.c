/* step_bits.c: BitwiseAnd and its kin below version 18, in the arithmetic of integers.
 *
 *     not a      -1 - a, without a sign: the largest number - a
 *     a and b    a mod 2^k, where b is the constant 2^k - 1; else the sum of the bits that both
 *                have, each of which is (a div 2^k) mod 2, along an axis of their own
 *     a or b     a + b - (a and b)
 *     a xor b    a + b - (a and b) - (a and b)
 *
 * All of it is exact: sums that overflow come round again. */
#include "pass/convert/steps.h"

/* How many bits below the sign; 0: it is no integer. */
static int bits_of(onx_dtype dtype, bool *is_signed) {
    static const struct {
        onx_dtype dtype;
        int bits;
        bool is_signed;
    } types[] = {{ONX_DTYPE_I8, 7, true},    {ONX_DTYPE_I16, 15, true}, {ONX_DTYPE_I32, 31, true},
                 {ONX_DTYPE_I64, 63, true},  {ONX_DTYPE_U64, 63, true}, {ONX_DTYPE_U8, 8, false},
                 {ONX_DTYPE_U16, 16, false}, {ONX_DTYPE_U32, 32, false}};
    for (size_t i = 0; i < ONX_COUNT(types); i++) {
        if (types[i].dtype != dtype) continue;
        *is_signed = types[i].is_signed;
        return types[i].bits;
    }
    return 0;
}

/* Is the input one constant 2^k - 1, with k from 1 to 62? */
static bool is_mask(onx_convert *c, const onx_node *node, size_t index, int64_t *most) {
    size_t n;
    int64_t *values;
    if (!onx_convert_ints(c, node, index, &n, &values) || n != 1) return false;
    *most = values[0];
    return *most > 0 && *most < INT64_MAX && (*most & (*most + 1)) == 0;
}

static void put_mask(onx_buf *text, const char *word, int64_t most) {
    onx_buf_printf(text, "span = Constant <value = int64 {%lld}> ()\n", (long long)most + 1);
    onx_convert_put(text, "both = Mod (wide_$, span)\n", word);
}

/* The bits of both along a new axis; the sign is apart, for 2^63 is no number. */
static void put_bits(onx_buf *text, int bits, bool is_signed) {
    static const char *const words[] = {"A", "B"};
    onx_buf_printf(text, "powers = Constant <value = int64[%d] {", bits);
    for (int i = 0; i < bits; i++)
        onx_buf_printf(text, "%s%lld", i ? ", " : "", (long long)((uint64_t)1 << i));
    onx_buf_puts(text, "}> ()\n"
                       "last = Constant <value = int64[1] {-1}> ()\n"
                       "two = Constant <value = int64 {2}> ()\n");
    for (size_t i = 0; i < ONX_COUNT(words); i++)
        onx_convert_put(text,
                        "deep_$ = Unsqueeze (wide_$, last)\n"
                        "rest_$ = Mod (deep_$, powers)\n"
                        "whole_$ = Sub (deep_$, rest_$)\n"
                        "quotient_$ = Div (whole_$, powers)\n"
                        "bits_$ = Mod (quotient_$, two)\n",
                        words[i]);
    onx_convert_put(text,
                    "bits = Mul (bits_A, bits_B)\n"
                    "parts = Mul (bits, powers)\n"
                    "$ = ReduceSum <keepdims = 0> (parts, last)\n",
                    is_signed ? "lower" : "both");
    if (is_signed)
        onx_buf_printf(text,
                       "zero = Constant <value = int64 {0}> ()\n"
                       "sign = Constant <value = int64 {%lld}> ()\n"
                       "below_A = Less (wide_A, zero)\n"
                       "below_B = Less (wide_B, zero)\n"
                       "below = And (below_A, below_B)\n"
                       "upper = Where (below, sign, zero)\n"
                       "both = Add (lower, upper)\n",
                       (long long)(bits == 63 ? INT64_MIN : -((int64_t)1 << bits)));
}

static onx_status bitwise_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    bool is_signed;
    int bits = bits_of(dtype, &is_signed);
    int64_t most;
    if (!bits) return onx_convert_refuse(c, "the type of its inputs is not known");
    onx_buf text = onx_convert_text(c);
    onx_buf_puts(&text, "<17>\nwide_A = Cast <to = 7> (A)\nwide_B = Cast <to = 7> (B)\n");
    if (is_mask(c, node, 1, &most))
        put_mask(&text, "A", most);
    else if (is_mask(c, node, 0, &most))
        put_mask(&text, "B", most);
    else
        put_bits(&text, bits, is_signed);
    onx_buf_puts(&text, c->at.step->data);
    onx_buf_printf(&text, "C = Cast <to = %d> (result)\n", (int)dtype);
    return onx_convert_expand_buf(c, node, &text);
}

static onx_status not_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    bool is_signed;
    int bits = bits_of(dtype, &is_signed);
    if (!bits) return onx_convert_refuse(c, "the type of 'X' is not known");
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text,
                   "all = Constant <value = int64 {%lld}> ()\n"
                   "wide = Cast <to = 7> (X)\n"
                   "result = Sub (all, wide)\n"
                   "Y = Cast <to = %d> (result)\n",
                   is_signed ? -1 : (long long)(((uint64_t)1 << bits) - 1), (int)dtype);
    return onx_convert_expand_buf(c, node, &text);
}

const onx_convert_step onx_step_bit_not = {NULL, not_down, NULL};
const onx_convert_step onx_step_bit_and = {NULL, bitwise_down, "result = Identity (both)\n"};
const onx_convert_step onx_step_bit_or = {NULL, bitwise_down,
                                          "sum = Add (wide_A, wide_B)\n"
                                          "result = Sub (sum, both)\n"};
const onx_convert_step onx_step_bit_xor = {NULL, bitwise_down,
                                           "sum = Add (wide_A, wide_B)\n"
                                           "either = Sub (sum, both)\n"
                                           "result = Sub (either, both)\n"};
