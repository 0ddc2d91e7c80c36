/* step_eltwise.c: element by element: comparisons, minima and maxima, sums, powers, remainders. */
#include "pass/convert/steps.h"

#include <stdio.h>

/* ─ Equal of floats, before 11; NaN is what is neither less than 0 nor greater than -1 ───────── */

static onx_status equal_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    if (dtype == ONX_DTYPE_U64) /* keeps what is equal apart from what is not */
        return onx_convert_expand(c, node,
                                  "a = Cast <to: int = 7> (A)\n"
                                  "b = Cast <to: int = 7> (B)\n"
                                  "C = Equal (a, b)\n");
    if (!onx_convert_is_float(dtype)) return ONX_OK;
    onx_buf text = onx_convert_text(c);
    onx_convert_put_number(&text, "zero", "0", dtype);
    onx_convert_put_number(&text, "minus", "-1", dtype);
    onx_buf_puts(&text, "less = Less (A, B)\n"
                        "more = Greater (A, B)\n"
                        "differ = Or (less, more)\n"
                        "same = Not (differ)\n"
                        "a_less = Less (A, zero)\n"
                        "a_more = Greater (A, minus)\n"
                        "a = Or (a_less, a_more)\n"
                        "b_less = Less (B, zero)\n"
                        "b_more = Greater (B, minus)\n"
                        "b = Or (b_less, b_more)\n"
                        "ab = And (a, b)\n"
                        "C = And (same, ab)\n");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Minima, maxima and limits of integers, before 12 ─────────────────────────────────────────── */

static bool is_integer(onx_dtype dtype) {
    return (dtype >= ONX_DTYPE_U8 && dtype <= ONX_DTYPE_I64) || dtype == ONX_DTYPE_U32 ||
           dtype == ONX_DTYPE_U64;
}

/* The first input, and each result so far, up to the last one, which is the output. */
static void chain_name(char name[32], size_t i, size_t last, const char *output) {
    if (i == 0)
        (void)snprintf(name, 32, "data_00");
    else if (i == last)
        (void)snprintf(name, 32, "%s", output);
    else
        (void)snprintf(name, 32, "so_far%zu", i);
}

static onx_status extreme_down(onx_convert *c, onx_node *node) {
    bool max = onx_str_is(node->op_type, "Max");
    size_t last = node->input.n - 1;
    if (!is_integer(onx_convert_in(c, node, 0)->dtype) || last < 1) return ONX_OK;
    onx_buf text = onx_convert_text(c);
    for (size_t i = 1; i <= last; i++) {
        char from[32], to[32];
        chain_name(from, i - 1, last, "");
        chain_name(to, i, last, max ? "max" : "min");
        onx_buf_printf(&text,
                       "is%zu = %s (data_0%zu, %s)\n"
                       "%s = Where (is%zu, data_0%zu, %s)\n",
                       i, max ? "Greater" : "Less", i, from, to, i, i, from);
    }
    return onx_convert_expand_buf(c, node, &text);
}

static onx_status clip_down(onx_convert *c, onx_node *node) {
    bool low = onx_convert_has(node, 1), high = onx_convert_has(node, 2);
    if (!is_integer(onx_convert_in(c, node, 0)->dtype) || (!low && !high)) return ONX_OK;
    onx_buf text = onx_convert_text(c);
    if (low)
        onx_buf_printf(&text,
                       "below = Less (input, min)\n"
                       "%s = Where (below, min, input)\n",
                       high ? "low" : "output");
    if (high)
        onx_buf_printf(&text,
                       "above = Greater (%s, max)\n"
                       "output = Where (above, max, %s)\n",
                       low ? "low" : "input", low ? "low" : "input");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Sums and their kin broadcast since 8 ─────────────────────────────────────────────────────── */

static bool same_shapes(const onx_convert *c, const onx_node *node) {
    const onx_fact *first = onx_convert_in(c, node, 0);
    if (node->input.n < 2) return true;
    for (size_t i = 1; i < node->input.n; i++) {
        const onx_fact *fact = onx_convert_in(c, node, i);
        if (!first->ranked || !fact->ranked || first->rank != fact->rank) return false;
        for (size_t d = 0; d < fact->rank; d++)
            if (!fact->dims[d] || fact->dims[d] != first->dims[d]) return false;
    }
    return true;
}

static onx_status shapes_down(onx_convert *c, onx_node *node) {
    if (same_shapes(c, node)) return ONX_OK;
    return onx_convert_refuse(c, "there its inputs must be of one shape, and these may not be");
}

static onx_status sum_down(onx_convert *c, onx_node *node) {
    bool mean = onx_str_is(node->op_type, "Mean");
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    char count[24];
    size_t last = node->input.n - 1;
    if (same_shapes(c, node)) return ONX_OK;
    if (mean && !onx_convert_is_float(dtype))
        return onx_convert_refuse(c, "the type of its inputs is not known");
    onx_buf text = onx_convert_text(c);
    for (size_t i = 1; i <= last; i++) {
        char from[32], to[32];
        chain_name(from, i - 1, last, "");
        chain_name(to, i, last, mean ? "total" : "sum");
        onx_buf_printf(&text, "%s = Add (%s, data_0%zu)\n", to, from, i);
    }
    (void)snprintf(count, sizeof count, "%zu", node->input.n);
    if (mean) onx_convert_put_number(&text, "count", count, dtype);
    if (mean) onx_buf_puts(&text, "mean = Div (total, count)\n");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Pow: an exponent of another type ─────────────────────────────────────────────────────────── */

/* An integer to the power of a constant is multiplied as often; powers of 2 are exact in double. */
static onx_status pow_integer(onx_convert *c, onx_node *node, onx_dtype dtype) {
    size_t n;
    int64_t *power, *base;
    if (onx_convert_ints(c, node, 0, &n, &base) && n == 1 && *base == 2) {
        onx_buf text = onx_convert_text(c);
        onx_buf_printf(&text,
                       "x = Cast <to = 11> (X)\n"
                       "y = Cast <to = 11> (Y)\n"
                       "z = Pow (x, y)\n"
                       "Z = Cast <to = %d> (z)\n",
                       (int)dtype);
        return onx_convert_expand_buf(c, node, &text);
    }
    if (!onx_convert_ints(c, node, 1, &n, &power) || n != 1 || *power < 0 || *power > 64)
        return onx_convert_refuse(
            c, "integers have no powers there, and the exponent is no constant from 0 to 64");
    onx_buf text = onx_convert_text(c);
    onx_convert_put_number(&text, "one", "1", dtype);
    onx_buf_puts(&text, *power ? "so_far1 = Identity (X)\n"
                               : "none = Sub (X, X)\nso_far0 = Add (none, one)\n");
    for (int64_t i = 2; i <= *power; i++)
        onx_buf_printf(&text, "so_far%d = Mul (so_far%d, X)\n", (int)i, (int)i - 1);
    onx_buf_printf(&text, "Z = Identity (so_far%d)\n", (int)*power);
    return onx_convert_expand_buf(c, node, &text);
}

static onx_status pow_down(onx_convert *c, onx_node *node) {
    onx_dtype x = onx_convert_in(c, node, 0)->dtype, y = onx_convert_in(c, node, 1)->dtype;
    if (is_integer(x)) return pow_integer(c, node, x);
    if (x == y || !y || !onx_convert_is_float(x)) return ONX_OK;
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text, "y = Cast <to: int = %d> (Y)\nZ = Pow (X, y)\n", (int)x);
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Mod: of floats with the sign of the divisor, since 28 ────────────────────────────────────── */

static onx_status mod_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    ONX_TRY(onx_convert_plain(c, node, "fmod"));
    if (onx_convert_int(c, node, "fmod") || !onx_convert_is_float(dtype)) return ONX_OK;
    onx_buf text = onx_convert_text(c);
    onx_convert_put_number(&text, "zero", "0", dtype);
    onx_convert_put_number(&text, "minus_zero", "-0.0", dtype);
    onx_buf_puts(&text, "rest = Mod <fmod: int = 1> (A, B)\n"
                        "none = Equal (rest, zero)\n"
                        "some = Not (none)\n"
                        "below = Less (B, zero)\n"
                        "rest_below = Less (rest, zero)\n"
                        "other = Xor (below, rest_below)\n"
                        "add = And (some, other)\n"
                        "more = Add (rest, B)\n"
                        "moved = Where (add, more, rest)\n"
                        "signed = Where (below, minus_zero, zero)\n"
                        "C = Where (none, signed, moved)\n");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ BitShift of signed integers, since 28 ────────────────────────────────────────────────────── */

/* Shifted without a sign. To the right, a negative x is -1 - (-1 - x), of which the inner part has
 * none. A shift by too much leaves nothing, or the sign. */
static onx_status shift_down(onx_convert *c, onx_node *node) {
    static const struct {
        onx_dtype from, to;
        const char *bits;
    } types[] = {{ONX_DTYPE_I8, ONX_DTYPE_U8, "8"},
                 {ONX_DTYPE_I16, ONX_DTYPE_U16, "16"},
                 {ONX_DTYPE_I32, ONX_DTYPE_U32, "32"},
                 {ONX_DTYPE_I64, ONX_DTYPE_U64, "64"}};
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    size_t t = 0;
    while (t < ONX_COUNT(types) && types[t].from != dtype) t++;
    if (t == ONX_COUNT(types)) return ONX_OK;
    ONX_TRY(onx_convert_plain(c, node, "direction"));
    bool right = onx_str_is(onx_convert_string(c, node, "direction"), "RIGHT");
    onx_buf text = onx_convert_text(c);
    onx_convert_put_number(&text, "zero", "0", dtype);
    onx_convert_put_number(&text, "minus", "-1", dtype);
    onx_convert_put_number(&text, "bits", types[t].bits, dtype);
    onx_buf_printf(&text,
                   "negative = Less (X, zero)\n"
                   "mirrored = Sub (minus, X)\n"
                   "turned = Where (negative, mirrored, X)\n"
                   "x = Cast <to: int = %d> (%s)\n"
                   "y_less = Less (Y, zero)\n"
                   "y_fits = Less (Y, bits)\n"
                   "y_much = Not (y_fits)\n"
                   "y_off = Or (y_less, y_much)\n"
                   "y_kept = Where (y_off, zero, Y)\n"
                   "y = Cast <to: int = %d> (y_kept)\n"
                   "z = BitShift <direction: string = @direction> (x, y)\n"
                   "shifted = Cast <to: int = %d> (z)\n"
                   "back = Sub (minus, shifted)\n"
                   "result = Where (negative, back, shifted)\n"
                   "sign = Where (negative, minus, zero)\n"
                   "Z = Where (y_off, %s, %s)\n",
                   (int)types[t].to, right ? "turned" : "X", (int)types[t].to, (int)dtype,
                   right ? "sign" : "zero", right ? "result" : "shifted");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Gemm without C ───────────────────────────────────────────────────────────────────────────── */

static onx_status gemm_down(onx_convert *c, onx_node *node) {
    onx_value *zero;
    if (onx_convert_has(node, 2)) return ONX_OK;
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    if (!dtype) return onx_convert_refuse(c, "'C' must be there, and its type is not known");
    ONX_TRY(onx_convert_scalar(c, "C", dtype, 0, &zero));
    return onx_convert_set_input(c, node, 2, zero);
}

/* ─ Casts: attributes for types that are not there ───────────────────────────────────────────── */

static onx_status cast_down(onx_convert *c, onx_node *node) {
    return onx_convert_drop_attr(c, node, c->at.step->data);
}

const onx_convert_step onx_step_equal = {NULL, equal_down, NULL};
const onx_convert_step onx_step_extreme = {NULL, extreme_down, NULL};
const onx_convert_step onx_step_clip_integer = {NULL, clip_down, NULL};
const onx_convert_step onx_step_shapes = {NULL, shapes_down, NULL};
const onx_convert_step onx_step_sum = {NULL, sum_down, NULL};
const onx_convert_step onx_step_pow = {NULL, pow_down, NULL};
const onx_convert_step onx_step_mod = {NULL, mod_down, NULL};
const onx_convert_step onx_step_shift = {NULL, shift_down, NULL};
const onx_convert_step onx_step_gemm_c = {NULL, gemm_down, NULL};
const onx_convert_step onx_step_saturate = {NULL, cast_down, "saturate"};
const onx_convert_step onx_step_round_mode = {NULL, cast_down, "round_mode"};
