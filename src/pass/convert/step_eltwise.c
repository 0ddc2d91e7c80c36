/* step_eltwise.c: element by element: comparisons, minima and maxima, sums, powers, remainders. */
#include "pass/convert/steps.h"

#include <stdio.h>

static onx_buf text_begin(const onx_convert *c) {
    onx_buf text;
    onx_buf_init(&text, c->model->msg.doc->ctx);
    return text;
}

static bool is_float(onx_dtype dtype) {
    return dtype == ONX_DTYPE_F32 || dtype == ONX_DTYPE_F16 || dtype == ONX_DTYPE_F64 ||
           dtype == ONX_DTYPE_BF16;
}

/* A number of a float type that has no text of its own. */
static void put_number(onx_buf *text, const char *name, const char *number, onx_dtype dtype) {
    onx_buf_printf(text,
                   "%s_f32 = Constant <value: tensor = float {%s}> ()\n"
                   "%s = Cast <to: int = %d> (%s_f32)\n",
                   name, number, name, (int)dtype, name);
}

/* ─ NaN is the one number that is neither less than 0 nor greater than -1 ────────────────────── */

static onx_status equal_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    if (dtype == ONX_DTYPE_U64) /* keeps what is equal apart from what is not */
        return onx_convert_expand(c, node,
                                  "a = Cast <to: int = 7> (A)\n"
                                  "b = Cast <to: int = 7> (B)\n"
                                  "C = Equal (a, b)\n");
    if (!is_float(dtype)) return ONX_OK;
    onx_buf text = text_begin(c);
    put_number(&text, "zero", "0", dtype);
    put_number(&text, "minus", "-1", dtype);
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

static onx_status isnan_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    if (!is_float(dtype)) return onx_convert_refuse(c, "the type of 'X' is not known");
    onx_buf text = text_begin(c);
    put_number(&text, "zero", "0", dtype);
    put_number(&text, "minus", "-1", dtype);
    onx_buf_puts(&text, "less = Less (X, zero)\n"
                        "more = Greater (X, minus)\n"
                        "number = Or (less, more)\n"
                        "Y = Not (number)\n");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Minima, maxima and limits of integers, before 12 ─────────────────────────────────────────── */

static bool is_integer(onx_dtype dtype) {
    return (dtype >= ONX_DTYPE_U8 && dtype <= ONX_DTYPE_I64) || dtype == ONX_DTYPE_U32 ||
           dtype == ONX_DTYPE_U64;
}

static onx_status extreme_down(onx_convert *c, onx_node *node) {
    bool max = onx_str_is(node->op_type, "Max");
    if (!is_integer(onx_convert_in(c, node, 0)->dtype)) return ONX_OK;
    onx_buf text = text_begin(c);
    onx_buf_puts(&text, "best0 = Identity (data_00)\n");
    for (size_t i = 1; i < node->input.n; i++)
        onx_buf_printf(&text,
                       "is%zu = %s (data_0%zu, best%zu)\n"
                       "best%zu = Where (is%zu, data_0%zu, best%zu)\n",
                       i, max ? "Greater" : "Less", i, i - 1, i, i, i, i - 1);
    onx_buf_printf(&text, "%s = Identity (best%zu)\n", max ? "max" : "min", node->input.n - 1);
    return onx_convert_expand_buf(c, node, &text);
}

static onx_status clip_down(onx_convert *c, onx_node *node) {
    bool low = onx_convert_has(node, 1), high = onx_convert_has(node, 2);
    if (!is_integer(onx_convert_in(c, node, 0)->dtype)) return ONX_OK;
    onx_buf text = text_begin(c);
    onx_buf_puts(&text, low ? "below = Less (input, min)\nlow = Where (below, min, input)\n"
                            : "low = Identity (input)\n");
    onx_buf_puts(&text, high ? "above = Greater (low, max)\noutput = Where (above, max, low)\n"
                             : "output = Identity (low)\n");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Sums and their kin broadcast since 8 ─────────────────────────────────────────────────────── */

static bool same_shapes(const onx_convert *c, const onx_node *node) {
    const onx_fact *first = onx_convert_in(c, node, 0);
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
    if (same_shapes(c, node)) return ONX_OK;
    if (mean && !is_float(dtype))
        return onx_convert_refuse(c, "the type of its inputs is not known");
    onx_buf text = text_begin(c);
    onx_buf_puts(&text, "sum0 = Identity (data_00)\n");
    for (size_t i = 1; i < node->input.n; i++)
        onx_buf_printf(&text, "sum%zu = Add (sum%zu, data_0%zu)\n", i, i - 1, i);
    char count[24];
    (void)snprintf(count, sizeof count, "%zu", node->input.n);
    if (mean) put_number(&text, "count", count, dtype);
    onx_buf_printf(&text, mean ? "mean = Div (sum%zu, count)\n" : "sum = Identity (sum%zu)\n",
                   node->input.n - 1);
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Pow: an exponent of another type ─────────────────────────────────────────────────────────── */

static onx_status pow_down(onx_convert *c, onx_node *node) {
    onx_dtype x = onx_convert_in(c, node, 0)->dtype, y = onx_convert_in(c, node, 1)->dtype;
    if (x == y || !y || !is_float(x)) return ONX_OK;
    onx_buf text = text_begin(c);
    onx_buf_printf(&text, "y = Cast <to: int = %d> (Y)\nZ = Pow (X, y)\n", (int)x);
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Mod: of floats with the sign of the divisor, since 28 ────────────────────────────────────── */

static onx_status mod_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    ONX_TRY(onx_convert_plain(c, node, "fmod"));
    if (onx_convert_int(c, node, "fmod") || !is_float(dtype)) return ONX_OK;
    onx_buf text = text_begin(c);
    put_number(&text, "zero", "0", dtype);
    put_number(&text, "minus_zero", "-0.0", dtype);
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

const onx_step onx_step_equal = {NULL, equal_down, NULL};
const onx_step onx_step_isnan = {NULL, isnan_down, NULL};
const onx_step onx_step_extreme = {NULL, extreme_down, NULL};
const onx_step onx_step_clip_integer = {NULL, clip_down, NULL};
const onx_step onx_step_shapes = {NULL, shapes_down, NULL};
const onx_step onx_step_sum = {NULL, sum_down, NULL};
const onx_step onx_step_pow = {NULL, pow_down, NULL};
const onx_step onx_step_mod = {NULL, mod_down, NULL};
const onx_step onx_step_gemm_c = {NULL, gemm_down, NULL};
const onx_step onx_step_saturate = {NULL, cast_down, "saturate"};
const onx_step onx_step_round_mode = {NULL, cast_down, "round_mode"};
