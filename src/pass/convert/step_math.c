/* step_math.c: functions of numbers below their first version: signs, Erf, the hyperbolic ones,
 * comparisons of large integers. */
#include "pass/convert/steps.h"

#define PUT_ZERO "zero_f32 = Constant <value = float {0}> () zero = CastLike (zero_f32, input) "
#define PUT_ONE "one_f32 = Constant <value = float {1}> () one = CastLike (one_f32, input) "
#define PUT_HALF "half_f32 = Constant <value = float {0.5}> () half = CastLike (half_f32, input) "

static const char sign[] = "<18> " PUT_ZERO "is_more = Greater (input, zero) "
                           "is_less = Less (input, zero) "
                           "more = CastLike (is_more, input) "
                           "less = CastLike (is_less, input) "
                           "output = Sub (more, less)";
static const char sinh_text[] = "<18> " PUT_HALF "minus = Neg (input) "
                                "up = Exp (input) down = Exp (minus) "
                                "both = Sub (up, down) output = Mul (both, half)";
static const char cosh_text[] = "<18> " PUT_HALF "minus = Neg (input) "
                                "up = Exp (input) down = Exp (minus) "
                                "both = Add (up, down) output = Mul (both, half)";
/* Of the amount, so that nothing cancels. */
static const char asinh_text[] = "<18> " PUT_ONE "size = Abs (input) square = Mul (size, size) "
                                 "more = Add (square, one) root = Sqrt (more) "
                                 "sum = Add (size, root) amount = Log (sum) "
                                 "signs = Sign (input) output = Mul (amount, signs)";
static const char acosh_text[] = "<18> " PUT_ONE "square = Mul (input, input) "
                                 "less = Sub (square, one) root = Sqrt (less) "
                                 "sum = Add (input, root) output = Log (sum)";
static const char atanh_text[] = "<18> " PUT_ONE PUT_HALF "more = Add (one, input) "
                                 "less = Sub (one, input) ratio = Div (more, less) "
                                 "log = Log (ratio) output = Mul (log, half)";

/* ─ Erf: x P(x²) / Q(x²), to what float holds ────────────────────────────────────────────────── */

static const char *const above[] = {"-2.72614225801306e-10", "2.77068142495902e-08",
                                    "-2.10102402082508e-06", "-5.69250639462346e-05",
                                    "-7.34990630326855e-04", "-2.95459980854025e-03",
                                    "-1.60960333262415e-02"};
static const char *const below[] = {"-1.45660718464996e-05", "-2.13374055278905e-04",
                                    "-1.68282697438203e-03", "-7.37332916720468e-03",
                                    "-1.42647390514189e-02"};

static void put_polynomial(onx_buf *text, const char *name, const char *const *terms, size_t n) {
    for (size_t i = 0; i < n; i++) {
        onx_buf_printf(text, "%s_c%zu = Constant <value = float {%s}> ()\n", name, i, terms[i]);
        if (i == 0) onx_buf_printf(text, "%s0 = Identity (%s_c0)\n", name, name);
        if (i == 0) continue;
        onx_buf_printf(text, "%s_x%zu = Mul (%s%zu, square)\n", name, i, name, i - 1);
        onx_buf_printf(text, "%s%zu = Add (%s_x%zu, %s_c%zu)\n", name, i, name, i, name, i);
    }
}

static onx_status erf_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    if (!onx_convert_is_float(dtype) || dtype == ONX_DTYPE_F64)
        return onx_convert_refuse(c, "it is computed in float there, and 'input' is %s",
                                  dtype ? onx_dtype_name(dtype) : "of a type not known");
    onx_buf text = onx_convert_text(c);
    onx_buf_puts(&text, "<18>\n"
                        "least = Constant <value = float {-4}> ()\n"
                        "most = Constant <value = float {4}> ()\n"
                        "wide = Cast <to = 1> (input)\n"
                        "x = Clip (wide, least, most)\n"
                        "square = Mul (x, x)\n");
    put_polynomial(&text, "p", above, ONX_COUNT(above));
    put_polynomial(&text, "q", below, ONX_COUNT(below));
    onx_buf_printf(&text,
                   "px = Mul (p%zu, x)\n"
                   "erf = Div (px, q%zu)\n"
                   "output = CastLike (erf, input)\n",
                   ONX_COUNT(above) - 1, ONX_COUNT(below) - 1);
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Integers of 64 bits, where only floats are compared: the upper half, then the lower ──────── */

static onx_status compare_down(onx_convert *c, onx_node *node) {
    static const char *const names[] = {"A", "B"};
    onx_buf text;
    if (onx_convert_in(c, node, 0)->dtype != ONX_DTYPE_I64) return ONX_OK;
    text = onx_convert_text(c);
    onx_buf_puts(&text, "<18>\nhalf = Constant <value = int64 {2147483648}> ()\n");
    for (size_t i = 0; i < 2; i++)
        onx_convert_put(&text,
                        "$_quotient = Div ($, half)\n"
                        "$_whole = Mul ($_quotient, half)\n"
                        "$_rest = Sub ($, $_whole)\n"
                        "$_upper = Cast <to = 11> ($_quotient)\n"
                        "$_lower = Cast <to = 11> ($_rest)\n",
                        names[i]);
    onx_convert_put(&text,
                    "upper = $ (A_upper, B_upper)\n"
                    "even = Equal (A_quotient, B_quotient)\n"
                    "lower = $ (A_lower, B_lower)\n"
                    "both = And (even, lower)\n"
                    "C = Or (upper, both)\n",
                    c->at.before->name);
    return onx_convert_expand_buf(c, node, &text);
}

const onx_convert_step onx_step_sign = {NULL, onx_convert_expand_data, sign};
const onx_convert_step onx_step_sinh = {NULL, onx_convert_expand_data, sinh_text};
const onx_convert_step onx_step_cosh = {NULL, onx_convert_expand_data, cosh_text};
const onx_convert_step onx_step_asinh = {NULL, onx_convert_expand_data, asinh_text};
const onx_convert_step onx_step_acosh = {NULL, onx_convert_expand_data, acosh_text};
const onx_convert_step onx_step_atanh = {NULL, onx_convert_expand_data, atanh_text};
const onx_convert_step onx_step_erf = {NULL, erf_down, NULL};
const onx_convert_step onx_step_compare = {NULL, compare_down, NULL};
