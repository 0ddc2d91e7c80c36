/* step_index.c: elements that are picked or put by their places, below the first versions of the
 * operators that do so. What stands at several coordinates stands at one place of the flat tensor:
 *
 *     place = ((at0 · n1 + at1) · n2 + at2) …     over the sizes n of the axes
 *
 * with coordinates that are numbers counted along an axis, or given. */
#include "pass/convert/steps.h"

#include <stdio.h>

enum { NAME = 32 };

static void put_numbers(onx_buf *text) {
    onx_buf_puts(text, "<18>\n"
                       "zero = Constant <value = int64 {0}> ()\n"
                       "one = Constant <value = int64 {1}> ()\n"
                       "rest = Constant <value = int64[1] {-1}> ()\n");
}

/* at<axis>: 0, 1, … along an axis of what has the shape `shape`, with `after` dimensions behind. */
static void put_counted(onx_buf *text, size_t axis, size_t after) {
    int64_t axes[ONX_RANK_MAX];
    char name[NAME];
    for (size_t i = 0; i < after; i++) axes[i] = (int64_t)i + 1;
    (void)snprintf(name, sizeof name, "at%zu", axis);
    onx_buf_printf(text, "%s_axis = Constant <value = int64 {%zu}> ()\n", name, axis);
    onx_convert_put(text,
                    "$_n = Gather (shape, $_axis)\n"
                    "$_all = Range (zero, $_n, one)\n",
                    name);
    (void)snprintf(name, sizeof name, "at%zu_axes", axis);
    onx_convert_put_list(text, name, after, axes);
    (void)snprintf(name, sizeof name, "at%zu", axis);
    onx_convert_put(text, after ? "$ = Unsqueeze ($_all, $_axes)\n" : "$ = Identity ($_all)\n",
                    name);
}

/* place: of the coordinates at0, at1, … of `n` axes, whose sizes are in `sizes`. */
static void put_place(onx_buf *text, size_t n) {
    onx_buf_puts(text, "place0 = Identity (at0)\n");
    for (size_t i = 1; i < n; i++)
        onx_buf_printf(text,
                       "axis%zu = Constant <value = int64 {%zu}> ()\n"
                       "size%zu = Gather (sizes, axis%zu)\n"
                       "row%zu = Mul (place%zu, size%zu)\n"
                       "place%zu = Add (row%zu, at%zu)\n",
                       i, i, i, i, i, i - 1, i, i, i, i);
    onx_buf_printf(text, "place = Identity (place%zu)\n", n - 1);
}

/* Places counted from the end of `size` elements are counted from the front. */
static void put_signs(onx_buf *text, const char *out, const char *in, const char *size) {
    onx_convert_put(text, "$_wide = Cast <to = 7> (", in);
    onx_convert_put(text, "$)\n", in);
    onx_convert_put(text,
                    "$_below = Less ($_wide, zero)\n"
                    "$_back = Cast <to = 7> ($_below)\n",
                    in);
    onx_buf_printf(text, "%s_move = Mul (%s_back, %s)\n", in, in, size);
    onx_buf_printf(text, "%s = Add (%s_wide, %s_move)\n", out, in, in);
}

/* ─ GatherElements, before 11 ────────────────────────────────────────────────────────────────── */

static onx_status gather_elements_down(onx_convert *c, onx_node *node) {
    size_t rank, axis;
    char name[NAME];
    ONX_TRY(onx_convert_plain(c, node, "axis"));
    if (!onx_convert_rank(c, node, 0, &rank) || rank > ONX_RANK_MAX ||
        !onx_axis(onx_convert_int(c, node, "axis"), rank, &axis))
        return onx_convert_refuse(c, "how many dimensions 'data' has is not known");
    onx_buf text = onx_convert_text(c);
    put_numbers(&text);
    onx_buf_printf(&text,
                   "shape = Shape (indices)\n"
                   "sizes = Shape (data)\n"
                   "own = Constant <value = int64 {%zu}> ()\n"
                   "own_size = Gather (sizes, own)\n",
                   axis);
    (void)snprintf(name, sizeof name, "at%zu", axis);
    put_signs(&text, name, "indices", "own_size");
    for (size_t i = 0; i < rank; i++)
        if (i != axis) put_counted(&text, i, rank - 1 - i);
    put_place(&text, rank);
    onx_buf_puts(&text, "flat = Reshape (data, rest)\noutput = Gather (flat, place)\n");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ GatherND and ScatterND, before 11 and with a batch before 12 ─────────────────────────────── */

typedef struct tuples {   /* of indices */
    size_t data, indices; /* ranks */
    size_t batch, n;      /* leading dimensions that are the same in both; indices in a tuple */
} tuples;

static onx_status read_tuples(onx_convert *c, const onx_node *node, tuples *t) {
    int64_t n;
    if (!onx_convert_rank(c, node, 0, &t->data) || !onx_convert_rank(c, node, 1, &t->indices) ||
        !t->indices || t->indices > ONX_RANK_MAX || t->data > ONX_RANK_MAX ||
        !onx_convert_dim(c, node, 1, t->indices - 1, &n) || n < 1)
        return onx_convert_refuse(c, "how many indices an element has is not known");
    if (t->batch >= t->indices || (uint64_t)n > t->data - t->batch)
        return onx_convert_refuse(c, "there are more indices than dimensions");
    t->n = (size_t)n;
    return ONX_OK;
}

/* place: of each tuple; tail: the sizes of what stands there. */
static void put_tuples(onx_buf *text, const tuples *t) {
    size_t all = t->batch + t->n;
    put_numbers(text);
    onx_buf_printf(text,
                   "sizes = Shape (data)\n"
                   "shape = Shape (indices)\n"
                   "own_sizes = Shape <start = %zu, end = %zu> (data)\n"
                   "tail = Shape <start = %zu> (data)\n",
                   t->batch, all, all);
    put_signs(text, "plain", "indices", "own_sizes");
    for (size_t i = 0; i < t->batch; i++) put_counted(text, i, t->indices - 2 - i);
    for (size_t i = 0; i < t->n; i++)
        onx_buf_printf(text,
                       "part%zu = Constant <value = int64 {%zu}> ()\n"
                       "at%zu = Gather <axis = -1> (plain, part%zu)\n",
                       i, i, t->batch + i, i);
    put_place(text, all);
}

static onx_status gather_nd_down(onx_convert *c, onx_node *node) {
    tuples t = {0};
    ONX_TRY(onx_convert_plain(c, node, "batch_dims"));
    int64_t batch = onx_op_has(node, "batch_dims") ? onx_convert_int(c, node, "batch_dims") : 0;
    if (c->at.version >= 11 && !batch) return ONX_OK;
    if (batch < 0 || batch > ONX_RANK_MAX) return onx_convert_refuse(c, "'batch_dims' is wrong");
    t.batch = (size_t)batch;
    ONX_TRY(read_tuples(c, node, &t));
    onx_buf text = onx_convert_text(c);
    put_tuples(&text, &t);
    onx_buf_puts(&text, "flat_shape = Concat <axis = 0> (rest, tail)\n"
                        "flat = Reshape (data, flat_shape)\n"
                        "output = Gather (flat, place)\n");
    return onx_convert_expand_buf(c, node, &text);
}

/* Rows of a matrix take the places of others. */
static onx_status scatter_nd_down(onx_convert *c, onx_node *node) {
    tuples t = {0};
    ONX_TRY(read_tuples(c, node, &t));
    onx_buf text = onx_convert_text(c);
    put_tuples(&text, &t);
    onx_buf_puts(&text, "width = ReduceProd (tail)\n"
                        "width_list = Reshape (width, rest)\n"
                        "matrix = Concat <axis = 0> (rest, width_list)\n"
                        "one_list = Constant <value = int64[1] {1}> ()\n"
                        "column = Concat <axis = 0> (rest, one_list)\n"
                        "rows = Reshape (data, matrix)\n"
                        "new_rows = Reshape (updates, matrix)\n"
                        "new_shape = Shape (new_rows)\n"
                        "row_places = Reshape (place, column)\n"
                        "places = Expand (row_places, new_shape)\n"
                        "put = ScatterElements <axis = 0> (rows, places, new_rows)\n"
                        "output = Reshape (put, sizes)\n");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ OneHot and EyeLike, before 9 ─────────────────────────────────────────────────────────────── */

static onx_status one_hot_down(onx_convert *c, onx_node *node) {
    size_t rank, axis;
    int64_t ones[ONX_RANK_MAX + 1];
    ONX_TRY(onx_convert_plain(c, node, "axis"));
    if (!onx_convert_rank(c, node, 0, &rank) || rank >= ONX_RANK_MAX ||
        !onx_axis(onx_convert_int(c, node, "axis"), rank + 1, &axis))
        return onx_convert_refuse(c, "how many dimensions 'indices' has is not known");
    for (size_t i = 0; i < ONX_COUNT(ones); i++) ones[i] = i ? 1 : -1;
    onx_buf text = onx_convert_text(c);
    put_numbers(&text);
    onx_convert_put_list(&text, "none", 0, NULL);
    onx_convert_put_list(&text, "along", rank + 1 - axis, ones);
    onx_convert_put_list(&text, "new", 1, &(int64_t){(int64_t)axis});
    onx_buf_puts(&text, "depth_wide = Cast <to = 7> (depth)\n"
                        "n = Reshape (depth_wide, none)\n"
                        "counted = Range (zero, n, one)\n"
                        "classes = Reshape (counted, along)\n");
    put_signs(&text, "plain", "indices", "n");
    onx_buf_puts(&text, "deep = Unsqueeze (plain, new)\n"
                        "is_on = Equal (deep, classes)\n"
                        "on = Cast <to = 7> (is_on)\n"
                        "output = Gather (values, on)\n");
    return onx_convert_expand_buf(c, node, &text);
}

static onx_status eye_down(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "k"));
    ONX_TRY(onx_convert_plain(c, node, "dtype"));
    onx_buf text = onx_convert_text(c);
    put_numbers(&text);
    onx_buf_puts(&text, "shape = Shape (input)\n");
    put_counted(&text, 0, 1);
    put_counted(&text, 1, 0);
    onx_buf_printf(&text,
                   "shift = Constant <value = int64 {%lld}> ()\n"
                   "diagonal = Sub (at1, at0)\n"
                   "eye = Equal (diagonal, shift)\n"
                   "output = %s (eye%s)\n",
                   (long long)onx_convert_int(c, node, "k"),
                   onx_op_has(node, "dtype") ? "Cast <to: int = @dtype>" : "CastLike",
                   onx_op_has(node, "dtype") ? "" : ", input");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Where, before 9: a choice of one of two, the flat Y and X after each other ───────────────── */

static onx_status where_down(onx_convert *c, onx_node *node) {
    size_t rank = 0;
    for (size_t i = 0; i < 3; i++) {
        size_t one;
        if (!onx_convert_rank(c, node, i, &one) || one > ONX_RANK_MAX)
            return onx_convert_refuse(c, "how many dimensions its inputs have is not known");
        if (i == 0 || one > rank) rank = one;
    }
    onx_buf text = onx_convert_text(c);
    put_numbers(&text);
    onx_buf_puts(&text, "chosen = Cast <to = 7> (condition)\n"
                        "x_shape = Shape (X)\n"
                        "y_shape = Shape (Y)\n"
                        "chosen_x = Expand (chosen, x_shape)\n"
                        "chosen_xy = Expand (chosen_x, y_shape)\n"
                        "shape = Shape (chosen_xy)\n"
                        "sizes = Identity (shape)\n"
                        "x = Expand (X, shape)\n"
                        "y = Expand (Y, shape)\n"
                        "x_flat = Reshape (x, rest)\n"
                        "y_flat = Reshape (y, rest)\n"
                        "both = Concat <axis = 0> (y_flat, x_flat)\n"
                        "count = Size (x)\n"
                        "move = Mul (chosen_xy, count)\n");
    for (size_t i = 0; i < rank; i++) put_counted(&text, i, rank - 1 - i);
    if (rank) put_place(&text, rank);
    onx_buf_printf(&text, "from = Add (%s, move)\noutput = Gather (both, from)\n",
                   rank ? "place" : "zero");
    return onx_convert_expand_buf(c, node, &text);
}

/* ─ Slice with starts and ends that are computed, or with steps, before 10 ───────────────────── */

/* One axis: the elements from one place to another are gathered. */
static void put_slice(onx_buf *text, size_t i, int64_t axis, int64_t step) {
    static const char *const words[] = {"starts", "ends"};
    onx_buf_printf(text,
                   "item%zu = Constant <value = int64 {%zu}> ()\n"
                   "step%zu = Constant <value = int64 {%lld}> ()\n"
                   "axis%zu = Constant <value = int64 {%lld}> ()\n"
                   "size%zu = Gather (sizes, axis%zu)\n",
                   i, i, i, (long long)step, i, (long long)axis, i, i);
    onx_buf_printf(
        text, step > 0 ? "most%zu = Identity (size%zu)\n" : "most%zu = Sub (size%zu, one)\n", i, i);
    for (size_t k = 0; k < 2; k++) {
        char given[NAME], name[NAME], size[NAME];
        (void)snprintf(given, sizeof given, "%s_given%zu", words[k], i);
        (void)snprintf(name, sizeof name, "%s%zu", words[k], i);
        (void)snprintf(size, sizeof size, "size%zu", i);
        onx_buf_printf(text, "%s = Gather (%s, item%zu)\n", given, words[k], i);
        put_signs(text, name, given, size);
        onx_buf_printf(text,
                       "%s_low = Max (%s, %s)\n"
                       "%s_at = Min (%s_low, most%zu)\n",
                       name, name, step > 0 ? "zero" : "minus", name, name, i);
    }
    onx_buf_printf(text,
                   "places%zu = Range (starts%zu_at, ends%zu_at, step%zu)\n"
                   "cut%zu = Gather <axis = %lld> (cut%zu, places%zu)\n",
                   i, i, i, i, i + 1, (long long)axis, i, i);
}

onx_status onx_convert_gather_slice(onx_convert *c, onx_node *node) {
    size_t rank, n_axes, n_steps, at;
    int64_t n, *axes, *steps;
    bool has_axes = onx_convert_has(node, 3), has_steps = onx_convert_has(node, 4);
    if (!onx_convert_rank(c, node, 0, &rank) || !onx_convert_dim(c, node, 1, 0, &n) || n < 1 ||
        (uint64_t)n > rank || (has_axes && !onx_convert_ints(c, node, 3, &n_axes, &axes)) ||
        (has_steps && !onx_convert_ints(c, node, 4, &n_steps, &steps)) ||
        (has_axes && n_axes != (size_t)n) || (has_steps && n_steps != (size_t)n))
        return onx_convert_refuse(c, "its axes or steps are computed");
    onx_buf text = onx_convert_text(c);
    put_numbers(&text);
    onx_buf_puts(&text, "minus = Constant <value = int64 {-1}> ()\n"
                        "sizes = Shape (data)\n"
                        "cut0 = Identity (data)\n");
    bool good = true;
    for (size_t i = 0; i < (size_t)n; i++) {
        good &= onx_axis(has_axes ? axes[i] : (int64_t)i, rank, &at);
        good &= !has_steps || steps[i] != 0;
        if (good) put_slice(&text, i, (int64_t)at, has_steps ? steps[i] : 1);
    }
    onx_buf_printf(&text, "output = Identity (cut%zu)\n", (size_t)n);
    if (good) return onx_convert_expand_buf(c, node, &text);
    onx_buf_fini(&text);
    return onx_convert_refuse(c, "an axis or step is out of range");
}

const onx_convert_step onx_step_gather_elements = {NULL, gather_elements_down, NULL};
const onx_convert_step onx_step_gather_nd = {NULL, gather_nd_down, NULL};
const onx_convert_step onx_step_scatter_nd = {NULL, scatter_nd_down, NULL};
const onx_convert_step onx_step_one_hot = {NULL, one_hot_down, NULL};
const onx_convert_step onx_step_eye = {NULL, eye_down, NULL};
const onx_convert_step onx_step_where = {NULL, where_down, NULL};
