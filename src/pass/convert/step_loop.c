/* step_loop.c: what is done element after element, or slice after slice, below the versions that
 * have an operator for it: scattering with a reduction, counting, sums so far. The order is that of
 * the operator, so that sums of floats are the same. */
#include "pass/convert/steps.h"

/* ─ Scattering with a reduction: add, mul before 16, max, min before 18 ──────────────────────── */

static const struct reduction {
    const char *name, *op;
    int64_t since;
} reductions[] = {{"add", "Add", 16}, {"mul", "Mul", 16}, {"max", "Max", 18}, {"min", "Min", 18}};

/* Of one slice along the axis, no two elements go to the same place. */
static void put_slices(onx_buf *text, const char *op, long long axis) {
    onx_buf_printf(text,
                   "shape = Shape (indices)\n"
                   "own = Constant <value = int64 {%lld}> ()\n"
                   "n = Gather (shape, own)\n"
                   "output = Loop (n, always, data)\n"
                   "<body = each (int64 i, bool go, before) => (go_on, after) {\n"
                   "    at = Reshape (i, one_list)\n"
                   "    places = Gather <axis = %lld> (indices, at)\n"
                   "    news = Gather <axis = %lld> (updates, at)\n"
                   "    olds = GatherElements <axis = %lld> (before, places)\n"
                   "    reduced = %s (olds, news)\n"
                   "    after = ScatterElements <axis = %lld> (before, places, reduced)\n"
                   "    go_on = Identity (go)\n"
                   "}>\n",
                   axis, axis, axis, axis, op, axis);
}

static void put_rows(onx_buf *text, const char *op) {
    onx_convert_put(text,
                    "shape = Shape (indices)\n"
                    "sizes = Shape (data)\n"
                    "rest = Constant <value = int64[1] {-1}> ()\n"
                    "zero = Constant <value = int64 {0}> ()\n"
                    "far = Constant <value = int64[1] {9223372036854775807}> ()\n"
                    "width = Slice (shape, rest, far)\n"
                    "tail = Slice (sizes, width, far)\n"
                    "tuples_shape = Concat <axis = 0> (rest, width)\n"
                    "rows_shape = Concat <axis = 0> (rest, tail)\n"
                    "tuples = Reshape (indices, tuples_shape)\n"
                    "rows = Reshape (updates, rows_shape)\n"
                    "counts = Shape (tuples)\n"
                    "n = Gather (counts, zero)\n"
                    "output = Loop (n, always, data)\n"
                    "<body = each (int64 i, bool go, before) => (go_on, after) {\n"
                    "    at = Reshape (i, one_list)\n"
                    "    places = Gather (tuples, at)\n"
                    "    news = Gather (rows, at)\n"
                    "    olds = GatherND (before, places)\n"
                    "    reduced = $ (olds, news)\n"
                    "    after = ScatterND (before, places, reduced)\n"
                    "    go_on = Identity (go)\n"
                    "}>\n",
                    op);
}

static onx_status reduction_down(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "reduction"));
    onx_str name = onx_convert_string(c, node, "reduction");
    const struct reduction *r = reductions, *end = reductions + ONX_COUNT(reductions);
    while (r < end && !onx_str_is(name, r->name)) r++;
    if (r == end || c->at.version >= r->since) return ONX_OK;
    bool elements = onx_str_is(node->op_type, "ScatterElements");
    if (elements) ONX_TRY(onx_convert_plain(c, node, "axis"));
    onx_buf text = onx_convert_text(c);
    onx_buf_puts(&text, "one_list = Constant <value = int64[1] {1}> ()\n"
                        "always = Constant <value = bool {1}> ()\n");
    if (elements)
        put_slices(&text, r->op, (long long)onx_convert_int(c, node, "axis"));
    else
        put_rows(&text, r->op);
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Range of integers in steps of 1, before 11: the places of as many ones, or a loop ────────── */

static onx_status range_down(onx_convert *c, onx_node *node) {
    size_t n;
    int64_t *delta;
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    bool by_one = onx_convert_ints(c, node, 2, &n, &delta) && n == 1 && delta[0] == 1;
    if (!by_one || dtype != ONX_DTYPE_I64) return onx_convert_expand_body(c, node);
    onx_buf text = onx_convert_text(c);
    onx_buf_puts(&text, "<12> zero = Constant <value = int64 {0}> ()\n"
                        "span = Sub (limit, start)\n"
                        "n = Max (span, zero)\n");
    onx_buf_puts(&text, c->to >= 9 ? "list = Constant <value = int64[1] {1}> ()\n"
                                     "n_list = Reshape (n, list)\n"
                                     "ones = ConstantOfShape <value = int64[1] {1}> (n_list)\n"
                                     "places = NonZero (ones)\n"
                                     "counted = Squeeze <axes = [0]> (places)\n"
                                     "output = Add (counted, start)\n"
                                   : "always = Constant <value = bool {1}> ()\n"
                                     "end, output = Loop (n, always, start)\n"
                                     "<body = count (int64 i, bool go, int64 at) =>\n"
                                     "        (bool go_on, int64 next, int64 place) {\n"
                                     "    go_on = Identity (go)\n"
                                     "    place = Identity (at)\n"
                                     "    next = Add (at, delta)\n"
                                     "}>\n");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ CumSum, before 11 ────────────────────────────────────────────────────────────────────────── */

static onx_status cumsum_down(onx_convert *c, onx_node *node) {
    size_t rank, axis, n;
    int64_t *given, others[ONX_RANK_MAX];
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    ONX_TRY(onx_convert_plain(c, node, "exclusive"));
    ONX_TRY(onx_convert_plain(c, node, "reverse"));
    if (!dtype || !onx_convert_rank(c, node, 0, &rank) || rank > ONX_RANK_MAX ||
        !onx_convert_ints(c, node, 1, &n, &given) || n != 1 || !onx_axis(given[0], rank, &axis))
        return onx_convert_refuse(c, "Scan takes its place there, and its axis is not known");
    for (size_t i = 0, at = 0; i < rank; i++)
        if (i != axis) others[at++] = (int64_t)i;
    bool reverse = onx_convert_int(c, node, "reverse") != 0;
    onx_buf text = onx_convert_text(c);
    onx_buf_puts(&text, "<18>\n"
                        "zero = Constant <value = int64 {0}> ()\n"
                        "one = Constant <value = int64 {1}> ()\n");
    onx_convert_put_number(&text, "nothing", "0", dtype);
    onx_convert_put_list(&text, "others", rank - 1, others);
    onx_buf_printf(&text,
                   "always = Constant <value = bool {1}> ()\n"
                   "own = Constant <value = int64 {%zu}> ()\n"
                   "shape = Shape (x)\n"
                   "n = Gather (shape, own)\n"
                   "last = Sub (n, one)\n"
                   "slice_shape = Gather (shape, others)\n"
                   "start = Expand (nothing, slice_shape)\n"
                   "end, slices = Loop (n, always, start)\n"
                   "<body = sum (int64 i, bool go, before) => (bool go_on, after, %s[] so_far) {\n"
                   "    at = %s\n"
                   "    slice = Gather <axis = %zu> (x, at)\n"
                   "    after = Add (before, slice)\n"
                   "    so_far = Identity (%s)\n"
                   "    go_on = Identity (go)\n"
                   "}>\n",
                   axis, onx_dtype_name(dtype), reverse ? "Sub (last, i)" : "Identity (i)", axis,
                   onx_convert_int(c, node, "exclusive") ? "before" : "after");
    onx_buf_puts(&text, reverse ? "counted = Range (zero, n, one)\n"
                                  "back = Sub (last, counted)\n"
                                  "sums = Gather (slices, back)\n"
                                : "sums = Identity (slices)\n");
    onx_buf_puts(&text, "y = Transpose <perm = [");
    for (size_t i = 0; i < rank; i++)
        onx_buf_printf(&text, "%s%zu", i ? ", " : "", i == axis ? 0 : i < axis ? i + 1 : i);
    onx_buf_puts(&text, "]> (sums)\n");
    return onx_convert_expand_buf(c, node, &text);
}

const onx_convert_step onx_step_reduction = {NULL, reduction_down, NULL};
const onx_convert_step onx_step_range = {NULL, range_down, NULL};
const onx_convert_step onx_step_cumsum = {NULL, cumsum_down, NULL};
