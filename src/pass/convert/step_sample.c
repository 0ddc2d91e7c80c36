/* step_sample.c: GridSample below version 16, for images of any number of axes.
 *
 * All axes are computed at once, along the last dimension of the grid; the elements that a
 * position is made of (2 or 4 along each axis) stand along one before it:
 *
 *     place [N, …, axes] ──▶ taps [N, …, taps, axes] ──▶ elements [N, …, taps, C], weights, sum
 */
#include "pass/convert/steps.h"

typedef struct sampling {
    bool nearest, cubic, zeros, border, corners;
    size_t axes;
    onx_dtype dtype; /* that it is computed in */
} sampling;

static void put_floats(onx_buf *text, onx_dtype dtype) {
    static const char *const names[][2] = {
        {"zero", "0"}, {"one", "1"}, {"two", "2"}, {"half", "0.5"}, {"low", "-0.5"}};
    for (size_t i = 0; i < ONX_COUNT(names); i++)
        onx_convert_put_number(text, names[i][0], names[i][1], dtype);
}

/* Where the elements of the grid lie in the image: as place, over its axes in their order. */
static void put_positions(onx_buf *text, const sampling *s) {
    onx_buf_puts(text, "order = Constant <value = int64[");
    onx_buf_printf(text, "%zu] {", s->axes);
    for (size_t i = s->axes; i-- > 0;) onx_buf_printf(text, "%zu%s", i, i ? ", " : "}> ()\n");
    onx_buf_printf(text,
                   "turned = Gather <axis = -1> (grid, order)\n"
                   "from = Cast <to = %d> (turned)\n"
                   "shape = Shape <start = 2> (X)\n"
                   "size = Cast <to = %d> (shape)\n"
                   "size_less = Sub (size, one)\n"
                   "shifted = Add (from, one)\n",
                   (int)s->dtype, (int)s->dtype);
    onx_buf_puts(text, s->corners ? "part = Div (shifted, two)\n"
                                    "found = Mul (part, size_less)\n"
                                  : "part = Mul (shifted, size)\n"
                                    "less = Sub (part, one)\n"
                                    "found = Div (less, two)\n");
}

/* Back and forth between the ends of the image. */
static void put_reflected(onx_buf *text, const sampling *s, const char *out, const char *in) {
    onx_convert_put(text,
                    s->corners ? "$_span = Max (size_less, one)\n$_beyond = Abs ($)\n"
                               : "$_span = Identity (size)\n"
                                 "$_off = Sub ($, low)\n$_beyond = Abs ($_off)\n",
                    in);
    onx_convert_put(text,
                    "$_period = Mul ($_span, two)\n"
                    "$_ratio = Div ($_beyond, $_period)\n"
                    "$_times = Floor ($_ratio)\n"
                    "$_whole = Mul ($_times, $_period)\n"
                    "$_there = Sub ($_beyond, $_whole)\n"
                    "$_back = Sub ($_period, $_there)\n"
                    "$_least = Min ($_there, $_back)\n",
                    in);
    onx_buf_printf(text, s->corners ? "%s = Identity (%s_least)\n" : "%s = Add (%s_least, low)\n",
                   out, in);
}

/* What lies outside comes to the border, or is reflected, or stays where it is. */
static void put_padded(onx_buf *text, const sampling *s) {
    onx_buf_puts(text, s->nearest ? "at = Round (found)\n" : "at = Identity (found)\n");
    if (s->zeros) onx_buf_puts(text, "place = Identity (at)\n");
    if (!s->zeros && !s->border) put_reflected(text, s, "place", "at");
    if (!s->border) return;
    onx_buf_puts(text, "above = Max (at, zero)\n"
                       "clipped = Min (above, size_less)\n");
    onx_buf_puts(text, !s->cubic || s->corners ? "place = Identity (clipped)\n"
                                               : "highest = Sub (size, half)\n"
                                                 "is_below = Less (at, low)\n"
                                                 "is_above = Greater (at, highest)\n"
                                                 "is_out = Or (is_below, is_above)\n"
                                                 "place = Where (is_out, clipped, at)\n");
}

/* taps: the elements around each place; weights: of each. */
static void put_taps(onx_buf *text, const sampling *s) {
    size_t each = s->cubic ? 4 : 2, n = 1;
    for (size_t i = 0; i < s->axes; i++) n *= each;
    onx_buf_printf(text, "offsets = Constant <value = %s[%zu, %zu] {", onx_dtype_name(s->dtype), n,
                   s->axes);
    for (size_t i = 0; i < n * s->axes; i++) {
        size_t digit = i / s->axes;
        for (size_t k = 0; k < i % s->axes; k++) digit /= each;
        onx_buf_printf(text, "%s%d", i ? ", " : "", (int)(digit % each) - (s->cubic ? 1 : 0));
    }
    onx_buf_puts(text, "}> ()\n"
                       "before_last = Constant <value = int64[1] {-2}> ()\n"
                       "last = Constant <value = int64[1] {-1}> ()\n"
                       "floor = Floor (place)\n"
                       "floors = Unsqueeze (floor, before_last)\n"
                       "places = Unsqueeze (place, before_last)\n"
                       "taps = Add (floors, offsets)\n"
                       "apart = Sub (places, taps)\n"
                       "distance = Abs (apart)\n");
    if (!s->cubic) onx_buf_puts(text, "weight = Sub (one, distance)\n");
    if (s->cubic) {
        static const char *const names[][2] = {{"c125", "1.25"},  {"c225", "2.25"},
                                               {"c075", "-0.75"}, {"c375", "3.75"},
                                               {"c6", "-6"},      {"c3", "3"}};
        for (size_t i = 0; i < ONX_COUNT(names); i++)
            onx_convert_put_number(text, names[i][0], names[i][1], s->dtype);
        onx_buf_puts(text, "near3 = Mul (distance, c125)\n"
                           "near2 = Sub (near3, c225)\n"
                           "square = Mul (distance, distance)\n"
                           "near1 = Mul (near2, square)\n"
                           "near = Add (near1, one)\n"
                           "far3 = Mul (distance, c075)\n"
                           "far2 = Add (far3, c375)\n"
                           "far1 = Mul (far2, distance)\n"
                           "far0 = Add (far1, c6)\n"
                           "far_x = Mul (far0, distance)\n"
                           "far = Add (far_x, c3)\n"
                           "is_far = Greater (distance, one)\n"
                           "weight = Where (is_far, far, near)\n");
    }
    onx_buf_puts(text, "weights = ReduceProd (weight, last)\n");
}

/* elements: those at `taps`, with the channels last; inside: which of them there are. */
static void put_elements(onx_buf *text, const sampling *s) {
    bool again = s->cubic && !s->zeros && !s->border;
    if (again) put_reflected(text, s, "tap", "taps");
    onx_buf_printf(text,
                   "wanted = Cast <to = 7> (%s)\n"
                   "first = Constant <value = int64 {0}> ()\n"
                   "one_int = Constant <value = int64 {1}> ()\n"
                   "ends = Sub (shape, one_int)\n"
                   "from_first = Max (wanted, first)\n"
                   "index = Min (from_first, ends)\n"
                   "pixels = Transpose <perm = [0",
                   again ? "tap" : "taps");
    for (size_t i = 0; i < s->axes; i++) onx_buf_printf(text, ", %zu", i + 2);
    onx_buf_puts(text, ", 1]> (X)\nelements = GatherND <batch_dims = 1> (pixels, index)\n");
    if (s->zeros)
        onx_buf_puts(text, "end = Constant <value = int64[1] {-1}> ()\n"
                           "is_there = Equal (wanted, index)\n"
                           "there = Cast <to = 1> (is_there)\n"
                           "all_there = ReduceMin (there, end)\n"
                           "inside = Cast <to = 9> (all_there)\n");
}

static void put_result(onx_buf *text, const sampling *s, onx_dtype own) {
    onx_convert_put_number(text, "nothing", "0", own);
    if (s->nearest)
        onx_buf_puts(text, s->zeros ? "sum = Where (inside, elements, nothing)\n"
                                    : "sum = Identity (elements)\n");
    else
        onx_buf_printf(text,
                       "numbers = Cast <to = %d> (elements)\n"
                       "parts = Mul (numbers, weights)\n"
                       "%s\n"
                       "total = ReduceSum <keepdims = 0> (kept, before_last)\n"
                       "sum = Cast <to = %d> (total)\n",
                       (int)s->dtype,
                       s->zeros ? "kept = Where (inside, parts, zero)" : "kept = Identity (parts)",
                       (int)own);
    onx_buf_printf(text, "Y = Transpose <perm = [0, %zu", s->axes + 1);
    for (size_t i = 0; i < s->axes; i++) onx_buf_printf(text, ", %zu", i + 1);
    onx_buf_puts(text, "]> (sum)\n");
}

static onx_status read_sampling(onx_convert *c, const onx_node *node, sampling *s) {
    static const char *const names[] = {"mode", "padding_mode", "align_corners"};
    size_t rank;
    for (size_t i = 0; i < ONX_COUNT(names); i++) ONX_TRY(onx_convert_plain(c, node, names[i]));
    onx_str mode = onx_convert_string(c, node, "mode");
    onx_str padding = onx_convert_string(c, node, "padding_mode");
    onx_dtype x = onx_convert_in(c, node, 0)->dtype, grid = onx_convert_in(c, node, 1)->dtype;
    s->nearest = onx_str_is(mode, "nearest");
    s->cubic = onx_str_is(mode, "bicubic") || onx_str_is(mode, "cubic");
    s->zeros = onx_str_is(padding, "zeros");
    s->border = onx_str_is(padding, "border");
    s->corners = onx_convert_int(c, node, "align_corners") != 0;
    if (!x || !grid || !onx_convert_rank(c, node, 0, &rank) || rank < 3 || rank > 6)
        return onx_convert_refuse(c, "the type or the rank of 'X' is not known");
    if (!s->nearest && !onx_convert_is_float(x))
        return onx_convert_refuse(c, "only floats are interpolated there");
    s->axes = rank - 2;
    s->dtype = x == ONX_DTYPE_F64 || grid == ONX_DTYPE_F64 ? ONX_DTYPE_F64 : ONX_DTYPE_F32;
    return ONX_OK;
}

static onx_status grid_down(onx_convert *c, onx_node *node) {
    sampling s = {0};
    ONX_TRY(read_sampling(c, node, &s));
    onx_buf text = onx_convert_text(c);
    onx_buf_puts(&text, "<18>\n");
    put_floats(&text, s.dtype);
    put_positions(&text, &s);
    put_padded(&text, &s);
    if (s.nearest)
        onx_buf_puts(&text, "taps = Identity (place)\n");
    else
        put_taps(&text, &s);
    put_elements(&text, &s);
    put_result(&text, &s, onx_convert_in(c, node, 0)->dtype);
    return onx_convert_expand_buf(c, node, &text);
}

/* 20: other names for the modes, images of other ranks. */
static onx_status grid_mode(onx_convert *c, onx_node *node) {
    static const char *const modes[][2] = {{"bilinear", "linear"}, {"bicubic", "cubic"}};
    size_t rank;
    ONX_TRY(onx_convert_plain(c, node, "mode"));
    if (!c->at.up && onx_convert_rank(c, node, 0, &rank) && rank != 4) return grid_down(c, node);
    onx_str mode = onx_convert_string(c, node, "mode");
    for (size_t i = 0; i < ONX_COUNT(modes) && onx_op_has(node, "mode"); i++)
        if (onx_str_is(mode, modes[i][!c->at.up]))
            return onx_node_set_string(node, "mode", modes[i][c->at.up]) ? onx_fail_nomem(&c->diag)
                                                                         : ONX_OK;
    return ONX_OK;
}

const onx_convert_step onx_step_grid_mode = {grid_mode, grid_mode, NULL};
const onx_convert_step onx_step_grid = {NULL, grid_down, NULL};
