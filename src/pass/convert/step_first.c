/* step_first.c: operators below their first version, in terms of older ones.
 *
 * What is exact is here: Round, IsInf and IsNaN to the bit (but for the sign of zero), integers as
 * integers. Operators that are functions need no entry: their bodies take their places. */
#include "pass/convert/steps.h"

/* ─ Numbers ──────────────────────────────────────────────────────────────────────────────────── */

/* NaN is the one number that is neither less than 0 nor greater than -1. */
static onx_status isnan_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    if (!onx_convert_is_float(dtype)) return onx_convert_refuse(c, "the type of 'X' is not known");
    onx_buf text = onx_convert_text(c);
    onx_convert_put_number(&text, "zero", "0", dtype);
    onx_convert_put_number(&text, "minus", "-1", dtype);
    onx_buf_puts(&text, "less = Less (X, zero)\n"
                        "more = Greater (X, minus)\n"
                        "number = Or (less, more)\n"
                        "Y = Not (number)\n");
    return onx_convert_expand_buf(c, node, &text);
}

static onx_status isinf_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    ONX_TRY(onx_convert_plain(c, node, "detect_positive"));
    ONX_TRY(onx_convert_plain(c, node, "detect_negative"));
    bool more = onx_convert_int(c, node, "detect_positive") != 0;
    bool less = onx_convert_int(c, node, "detect_negative") != 0;
    if (dtype != ONX_DTYPE_F32 && dtype != ONX_DTYPE_F64)
        return onx_convert_refuse(c, "the type of 'X' is not known");
    const char *most = dtype == ONX_DTYPE_F32 ? "3.4028234663852886e38" : "1.7976931348623157e308";
    const char *type = onx_dtype_name(dtype);
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text,
                   "most = Constant <value: tensor = %s {%s}> ()\n"
                   "least = Constant <value: tensor = %s {-%s}> ()\n"
                   "more = Greater (X, most)\n"
                   "less = Less (X, least)\n"
                   "Y = %s\n",
                   type, most, type, most,
                   more && less ? "Or (more, less)"
                   : more       ? "Identity (more)"
                   : less       ? "Identity (less)"
                                : "And (more, less)");
    return onx_convert_expand_buf(c, node, &text);
}

/* Up from its floor where it is past the middle, or on it, and the floor is odd. */
void onx_convert_put_round(onx_buf *text, const char *out, const char *in, onx_dtype dtype) {
    onx_convert_put_number(text, "half", "0.5", dtype);
    onx_buf_printf(text,
                   "floor = Floor (%s)\n"
                   "rest = Sub (%s, floor)\n"
                   "past = Greater (rest, half)\n"
                   "before = Less (rest, half)\n"
                   "off = Or (past, before)\n"
                   "middle = Not (off)\n"
                   "halved = Mul (floor, half)\n"
                   "halved_floor = Floor (halved)\n"
                   "odd = Less (halved_floor, halved)\n"
                   "to_even = And (middle, odd)\n"
                   "is_up = Or (past, to_even)\n"
                   "up = Cast <to: int = %d> (is_up)\n"
                   "%s = Add (floor, up)\n",
                   in, in, (int)dtype, out);
}

static onx_status round_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    if (!onx_convert_is_float(dtype)) return onx_convert_refuse(c, "the type of 'X' is not known");
    onx_buf text = onx_convert_text(c);
    onx_convert_put_round(&text, "Y", "X", dtype);
    return onx_convert_expand_buf(c, node, &text);
}

/* Of integers: what division leaves, moved to the sign of the divisor unless fmod is set. */
static onx_status mod_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    ONX_TRY(onx_convert_plain(c, node, "fmod"));
    if (!dtype || onx_convert_is_float(dtype))
        return onx_convert_refuse(c, "there is no remainder of floats before version 10");
    bool fmod = onx_convert_int(c, node, "fmod") != 0;
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text,
                   "quotient = Div (A, B)\n"
                   "product = Mul (quotient, B)\n"
                   "%s = Sub (A, product)\n",
                   fmod ? "C" : "rest");
    if (!fmod) {
        onx_convert_put_number(&text, "zero", "0", dtype);
        onx_buf_printf(&text,
                       "rest_below = Less (rest, zero)\n"
                       "rest_above = Greater (rest, zero)\n"
                       "some = Or (rest_below, rest_above)\n"
                       "below = Less (B, zero)\n"
                       "other = Xor (below, rest_below)\n"
                       "is_moved = And (some, other)\n"
                       "moved = Cast <to: int = %d> (is_moved)\n"
                       "move = Mul (moved, B)\n"
                       "C = Add (rest, move)\n",
                       (int)dtype);
    }
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Shapes ───────────────────────────────────────────────────────────────────────────────────── */

/* It is repeated: as often as the shape says where a size is 1, else once. */
static onx_status expand_computed(onx_convert *c, onx_node *node) {
    int64_t ones[ONX_RANK_MAX];
    size_t rank;
    int64_t n;
    if (!onx_convert_rank(c, node, 0, &rank) || !onx_convert_dim(c, node, 1, 0, &n) ||
        rank > ONX_RANK_MAX || n < 0 || n > ONX_RANK_MAX)
        return onx_convert_refuse(c, "Tile takes its place there, and the ranks are not known");
    for (size_t i = 0; i < ONX_RANK_MAX; i++) ones[i] = 1;
    size_t want = (size_t)n, most = want > rank ? want : rank;
    onx_buf text = onx_convert_text(c);
    onx_convert_put_list(&text, "before", most - rank, ones);
    onx_convert_put_list(&text, "before_shape", most - want, ones);
    onx_buf_puts(&text, "one = Constant <value = int64 {1}> ()\n"
                        "own = Shape (input)\n"
                        "sizes = Concat <axis = 0> (before, own)\n"
                        "wanted = Concat <axis = 0> (before_shape, shape)\n"
                        "deep = Reshape (input, sizes)\n"
                        "is_one = Equal (sizes, one)\n"
                        "grows = Cast <to = 7> (is_one)\n"
                        "more = Sub (wanted, one)\n"
                        "most = Mul (grows, more)\n"
                        "times = Add (most, one)\n"
                        "output = Tile (deep, times)\n");
    return onx_convert_expand_buf(c, node, &text);
}

/* The same where both shapes are known. */
static onx_status expand_down(onx_convert *c, onx_node *node) {
    size_t n, rank;
    int64_t *shape, dim;
    bool known = onx_convert_ints(c, node, 1, &n, &shape) && onx_convert_rank(c, node, 0, &rank) &&
                 n <= ONX_RANK_MAX && rank <= ONX_RANK_MAX;
    for (size_t i = 0; known && i < rank; i++) known = onx_convert_dim(c, node, 0, i, &dim);
    if (!known) return expand_computed(c, node);
    size_t most = n > rank ? n : rank;
    int64_t dims[ONX_RANK_MAX], times[ONX_RANK_MAX];
    for (size_t i = 0; i < most; i++) {
        dims[i] = times[i] = 1;
        if (i + rank >= most) (void)onx_convert_dim(c, node, 0, i + rank - most, &dims[i]);
        if (i + n >= most && dims[i] == 1) times[i] = shape[i + n - most];
    }
    onx_value *from[2] = {onx_node_input(node, 0), NULL}, *repeats;
    onx_node *wide;
    if (most > rank) {
        ONX_TRY(onx_convert_list(c, "shape", most, dims, &from[1]));
        ONX_TRY(onx_convert_add(c, "Reshape", 2, from, &wide));
        ONX_TRY(onx_convert_set_input(c, node, 0, onx_node_output(wide, 0)));
    }
    ONX_TRY(onx_convert_list(c, "repeats", most, times, &repeats));
    ONX_TRY(onx_convert_set_input(c, node, 1, repeats));
    return onx_node_set_op(node, "Tile") ? onx_fail_nomem(&c->diag) : ONX_OK;
}

static onx_status trilu_down(onx_convert *c, onx_node *node) {
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    ONX_TRY(onx_convert_plain(c, node, "upper"));
    if (!dtype || dtype == ONX_DTYPE_STRING)
        return onx_convert_refuse(c, "what is 0 in the type of 'input' is not known");
    bool upper = onx_convert_int(c, node, "upper") != 0;
    onx_buf text = onx_convert_text(c);
    onx_convert_put_number(&text, "nothing", "0", dtype);
    onx_buf_printf(&text,
                   "zero = Constant <value: tensor = int64 {0}> ()\n"
                   "one = Constant <value: tensor = int64 {1}> ()\n"
                   "last = Constant <value: tensor = int64 {-1}> ()\n"
                   "second_last = Constant <value: tensor = int64 {-2}> ()\n"
                   "axes = Constant <value: tensor = int64[1] {1}> ()\n"
                   "shape = Shape (input)\n"
                   "height = Gather (shape, second_last)\n"
                   "width = Gather (shape, last)\n"
                   "row = Range (zero, height, one)\n"
                   "column = Range (zero, width, one)\n"
                   "rows = Unsqueeze (row, axes)\n"
                   "diagonal = Sub (column, rows)\n"
                   "gone = %s (diagonal, %s)\n"
                   "output = Where (gone, nothing, input)\n",
                   upper ? "Less" : "Greater", onx_convert_has(node, 1) ? "k" : "zero");
    return onx_convert_expand_buf(c, node, &text);
}

const onx_convert_step onx_step_isnan = {NULL, isnan_down, NULL};
const onx_convert_step onx_step_isinf = {NULL, isinf_down, NULL};
const onx_convert_step onx_step_round = {NULL, round_down, NULL};
const onx_convert_step onx_step_mod_integer = {NULL, mod_down, NULL};
const onx_convert_step onx_step_expand = {NULL, expand_down, NULL};
const onx_convert_step onx_step_trilu = {NULL, trilu_down, NULL};
