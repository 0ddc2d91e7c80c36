/* step_resample.c: Resize below version 11 where Upsample and the first Resize cannot say it: each
 * axis by itself, with elements that are gathered and, unless the nearest is taken, weighted.
 *
 *     i of the output ──coordinates──▶ x in the input ──▶ elements around x, weights by distance
 *
 * Sizes may be computed. What is outside is the element at the border. */
#include "pass/convert/steps.h"

#include <stdio.h>

enum { NAME = 80 };

typedef struct form {
    const char *name, *text; /* $: the axis */
} form;

/* From $_i to $_x: n elements become $_length, $_s times as many. */
static const form coordinates[] = {
    {"half_pixel",
     "$_mid = Add ($_i, half)\n$_wide = Div ($_mid, $_s)\n$_x = Sub ($_wide, half)\n"},
    {"pytorch_half_pixel",
     "$_mid = Add ($_i, half)\n$_wide = Div ($_mid, $_s)\n$_at = Sub ($_wide, half)\n"
     "$_many = Greater ($_length, one_float)\n$_x = Where ($_many, $_at, zero_float)\n"},
    {"align_corners",
     "$_m_less = Sub ($_length, one_float)\n$_n_less = Sub ($_n_float, one_float)\n"
     "$_gaps = Max ($_m_less, one_float)\n$_far = Mul ($_i, $_n_less)\n$_x = Div ($_far, "
     "$_gaps)\n"},
    {"asymmetric", "$_x = Div ($_i, $_s)\n"},
    {"tf_half_pixel_for_nn", "$_mid = Add ($_i, half)\n$_x = Div ($_mid, $_s)\n"},
};

static const form roundings[] = {
    {"round_prefer_floor", "$_less = Sub ($_x, half)\n$_tap0 = Ceil ($_less)\n"},
    {"round_prefer_ceil", "$_more = Add ($_x, half)\n$_tap0 = Floor ($_more)\n"},
    {"floor", "$_tap0 = Floor ($_x)\n"},
    {"ceil", "$_tap0 = Ceil ($_x)\n"},
};

static const char *find_form(const form *forms, size_t n, onx_str name) {
    for (size_t i = 0; i < n; i++)
        if (onx_str_is(name, forms[i].name)) return forms[i].text;
    return NULL;
}

/* $_index: the whole number between 0 and $_end. */
#define CLIPPED(name)                                                                              \
    "$_low = Relu (" name ")\n"                                                                    \
    "$_over = Sub ($_end, $_low)\n"                                                                \
    "$_left = Relu ($_over)\n"                                                                     \
    "$_in = Sub ($_end, $_left)\n"                                                                 \
    "$_index = Cast <to = 7> ($_in)\n"

typedef struct resampling {
    const char *coordinates, *rounding;
    size_t rank, taps; /* elements that one is made of, along an axis */
    bool sized;        /* sizes are given, not scales */
    bool outside;      /* elements outside do not count */
    float a;           /* of cubic curves */
    onx_dtype dtype;   /* that it is computed in; NONE: elements are only moved */
} resampling;

static onx_status read_form(onx_convert *c, const onx_node *node, resampling *r) {
    static const char *const names[] = {"mode", "coordinate_transformation_mode", "nearest_mode",
                                        "cubic_coeff_a", "exclude_outside"};
    for (size_t i = 0; i < ONX_COUNT(names); i++) ONX_TRY(onx_convert_plain(c, node, names[i]));
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    onx_str mode = onx_convert_string(c, node, "mode");
    onx_str places = onx_convert_string(c, node, "coordinate_transformation_mode");
    r->coordinates = find_form(coordinates, ONX_COUNT(coordinates), places);
    r->rounding =
        find_form(roundings, ONX_COUNT(roundings), onx_convert_string(c, node, "nearest_mode"));
    r->taps = onx_str_is(mode, "nearest") ? 1 : onx_str_is(mode, "linear") ? 2 : 4;
    r->sized = onx_convert_has(node, 3);
    r->outside = r->taps == 4 && onx_convert_int(c, node, "exclude_outside");
    r->a = onx_op_float(c->at.before, node, "cubic_coeff_a");
    if (!r->coordinates || !r->rounding)
        return onx_convert_refuse(c, "there are no coordinates '%.*s' there", ONX_FMT(places));
    if (!onx_convert_rank(c, node, 0, &r->rank) || r->rank > ONX_RANK_MAX)
        return onx_convert_refuse(c, "how many dimensions 'X' has is not known");
    if (r->taps > 1 && !onx_convert_is_float(dtype))
        return onx_convert_refuse(c, "only floats are interpolated there");
    if (r->taps > 1) r->dtype = dtype == ONX_DTYPE_F64 ? ONX_DTYPE_F64 : ONX_DTYPE_F32;
    return ONX_OK;
}

/* Does the axis stay as it is, for all that is known? */
static bool stays(onx_convert *c, const onx_node *node, const resampling *r, size_t axis) {
    const onx_fact *x = onx_convert_in(c, node, 0), *sizes = onx_convert_in(c, node, 3);
    size_t n;
    float *scales;
    if (r->sized)
        return sizes->elems && axis < sizes->n_elems && sizes->elems[axis] &&
               sizes->elems[axis] == x->dims[axis];
    return onx_convert_floats(c, node, 2, &n, &scales) && axis < n && scales[axis] == 1;
}

/* ─ One axis ─────────────────────────────────────────────────────────────────────────────────── */

static void put_sizes(onx_buf *text, const resampling *r, const char *axis) {
    onx_convert_put(text,
                    "$_n = Gather (in_sizes, $_axis)\n"
                    "$_n_float = Cast <to = 1> ($_n)\n",
                    axis);
    onx_convert_put(text,
                    r->sized ? "$_m = Gather (sizes, $_axis)\n"
                               "$_length = Cast <to = 1> ($_m)\n"
                               "$_s = Div ($_length, $_n_float)\n"
                             : "$_s = Gather (scales, $_axis)\n"
                               "$_length = Mul ($_n_float, $_s)\n"
                               "$_whole = Floor ($_length)\n"
                               "$_m = Cast <to = 7> ($_whole)\n",
                    axis);
    onx_convert_put(text,
                    "$_range = Range (zero, $_m, one)\n"
                    "$_i = Cast <to = 1> ($_range)\n"
                    "$_end = Sub ($_n_float, one_float)\n",
                    axis);
}

/* Weights of the elements below, at and above x: 1 - distance, or a cubic curve of it. */
static void put_weight(onx_buf *text, const resampling *r, const char *tap) {
    onx_convert_put(text, "$_apart = Sub ($_of, $)\n$_far = Abs ($_apart)\n", tap);
    if (r->taps == 2) onx_convert_put(text, "$_plain = Sub (one_float, $_far)\n", tap);
    if (r->taps == 4)
        onx_convert_put(text,
                        "$_n3 = Mul ($_far, c_near3)\n"
                        "$_n2 = Sub ($_n3, c_near2)\n"
                        "$_square = Mul ($_far, $_far)\n"
                        "$_n1 = Mul ($_n2, $_square)\n"
                        "$_near = Add ($_n1, one_float)\n"
                        "$_f3 = Mul ($_far, c_a)\n"
                        "$_f2 = Sub ($_f3, c_5a)\n"
                        "$_f1 = Mul ($_f2, $_far)\n"
                        "$_f0 = Add ($_f1, c_8a)\n"
                        "$_fx = Mul ($_f0, $_far)\n"
                        "$_away = Sub ($_fx, c_4a)\n"
                        "$_is_away = Greater ($_far, one_float)\n"
                        "$_plain = Where ($_is_away, $_away, $_near)\n",
                        tap);
    onx_convert_put(text,
                    r->outside ? "$_less = Less ($, zero_float)\n"
                                 "$_more = Greater ($, $_end)\n"
                                 "$_out = Or ($_less, $_more)\n"
                                 "$_w = Where ($_out, zero_float, $_plain)\n"
                               : "$_w = Identity ($_plain)\n",
                    tap);
}

static void name_tap(char tap[NAME], const char *axis, size_t k) {
    (void)snprintf(tap, NAME, "%.40s_tap%zu", axis, k);
}

/* Tap `k` of an axis: the elements there, and their weights. */
static void put_tap(onx_buf *text, const resampling *r, const char *axis, size_t number, size_t k) {
    char tap[NAME];
    name_tap(tap, axis, k);
    onx_buf_printf(text, "%s_by = Constant <value = float {%d}> ()\n", tap,
                   (int)k - (r->taps == 4));
    onx_buf_printf(text,
                   "%s = Add (%s_floor, %s_by)\n"
                   "%s_of = Identity (%s_x)\n"
                   "%s_end = Identity (%s_end)\n",
                   tap, axis, tap, tap, axis, tap, axis);
    put_weight(text, r, tap);
    onx_convert_put(text, CLIPPED("$"), tap);
    onx_buf_printf(text, "%s_elements = Gather <axis = %zu> (%s_from, %s_index)\n", tap, number,
                   axis, tap);
}

/* name: the sum of one value of each tap. */
static void put_sum(onx_buf *text, const resampling *r, const char *axis, const char *name) {
    onx_buf_printf(text, "%s_%s0 = Identity (%s_tap0_%s)\n", axis, name, axis, name);
    for (size_t k = 1; k < r->taps; k++)
        onx_buf_printf(text, "%s_%s%zu = Add (%s_%s%zu, %s_tap%zu_%s)\n", axis, name, k, axis, name,
                       k - 1, axis, k, name);
}

static void put_taps(onx_buf *text, const resampling *r, const char *axis, size_t number) {
    char tap[NAME];
    onx_convert_put(text, "$_floor = Floor ($_x)\n", axis);
    for (size_t k = 0; k < r->taps; k++) put_tap(text, r, axis, number, k);
    put_sum(text, r, axis, "w");
    for (size_t k = 0; k < r->taps; k++) {
        name_tap(tap, axis, k);
        if (r->outside)
            onx_buf_printf(text, "%s_share = Div (%s_w, %s_w3)\n", tap, tap, axis);
        else
            onx_convert_put(text, "$_share = Identity ($_w)\n", tap);
        onx_buf_printf(text, "%s_typed = Cast <to = %d> (%s_share)\n", tap, (int)r->dtype, tap);
        onx_buf_printf(text, "%s_column = Reshape (%s_typed, %s_behind)\n", tap, tap, axis);
        onx_convert_put(text, "$_part = Mul ($_elements, $_column)\n", tap);
    }
    put_sum(text, r, axis, "part");
    onx_buf_printf(text, "%s_to = Identity (%s_part%zu)\n", axis, axis, r->taps - 1);
}

static void put_axis(onx_buf *text, const resampling *r, size_t number, const char *from) {
    int64_t behind[ONX_RANK_MAX];
    char axis[NAME], name[NAME];
    (void)snprintf(axis, sizeof axis, "axis%zu", number);
    (void)snprintf(name, sizeof name, "axis%zu_behind", number);
    for (size_t i = 0; i < r->rank; i++) behind[i] = i ? 1 : -1;
    onx_convert_put_list(text, name, r->rank - number, behind);
    onx_buf_printf(text, "%s_axis = Constant <value = int64 {%zu}> ()\n", axis, number);
    onx_buf_printf(text, "%s_from = Identity (%s)\n", axis, from);
    put_sizes(text, r, axis);
    onx_convert_put(text, r->coordinates, axis);
    if (r->taps > 1) {
        put_taps(text, r, axis, number);
        return;
    }
    onx_convert_put(text, r->rounding, axis);
    onx_convert_put(text, CLIPPED("$_tap0"), axis);
    onx_buf_printf(text, "%s_to = Gather <axis = %zu> (%s_from, %s_index)\n", axis, number, axis,
                   axis);
}

/* ─ All of them ──────────────────────────────────────────────────────────────────────────────── */

static void put_numbers(onx_buf *text, const resampling *r) {
    const struct {
        const char *name;
        float value;
    } numbers[] = {{"zero_float", 0},     {"one_float", 1},      {"half", 0.5F},
                   {"c_near3", r->a + 2}, {"c_near2", r->a + 3}, {"c_a", r->a},
                   {"c_5a", 5 * r->a},    {"c_8a", 8 * r->a},    {"c_4a", 4 * r->a}};
    onx_buf_puts(text, "<12>\n"
                       "zero = Constant <value = int64 {0}> ()\n"
                       "one = Constant <value = int64 {1}> ()\n"
                       "in_sizes = Shape (X)\n");
    for (size_t i = 0; i < ONX_COUNT(numbers); i++)
        onx_buf_printf(text, "%s = Constant <value = float {%.9g}> ()\n", numbers[i].name,
                       (double)numbers[i].value);
}

onx_status onx_convert_resample(onx_convert *c, onx_node *node) {
    resampling r = {0};
    char from[NAME] = "start";
    ONX_TRY(read_form(c, node, &r));
    onx_dtype own = onx_convert_in(c, node, 0)->dtype;
    onx_buf text = onx_convert_text(c);
    put_numbers(&text, &r);
    bool cast = r.dtype && r.dtype != own;
    onx_buf_printf(&text, cast ? "start = Cast <to = %d> (X)\n" : "start = Identity (X)\n",
                   (int)r.dtype);
    for (size_t i = 0; i < r.rank; i++) {
        if (stays(c, node, &r, i)) continue;
        put_axis(&text, &r, i, from);
        (void)snprintf(from, sizeof from, "axis%zu_to", i);
    }
    if (cast)
        onx_buf_printf(&text, "Y = Cast <to = %d> (%s)\n", (int)own, from);
    else
        onx_buf_printf(&text, "Y = Identity (%s)\n", from);
    return onx_convert_expand_buf(c, node, &text);
}
