/* step_move.c: what was an attribute and became an input: axes, shapes, scales, limits.
 *
 *     up      y = Squeeze <axes = [0]> (x)     ──▶   axes = Constant …, y = Squeeze (x, axes)
 *     down    the other way, where the input is a constant */
#include "pass/convert/steps.h"

enum { MAX_MOVES = 3 };
typedef enum move_form {
    MOVE_INTS,   /* a list: int64[n] */
    MOVE_INT,    /* a number: int64; also where it is not written, for the default changes */
    MOVE_INT1,   /* a number: int64[1] */
    MOVE_FLOATS, /* a list: float[n] */
    MOVE_FLOAT,  /* a number: of the type of input 0, without dimensions */
} move_form;

typedef struct move {
    const char *attr;
    size_t input;
    move_form form;
} move;

/* ─ Up ───────────────────────────────────────────────────────────────────────────────────────── */

static onx_status add_constant(onx_convert *c, const onx_node *node, const move *m,
                               onx_value **out) {
    const onx_attr *attr = onx_node_attr(node, m->attr);
    int64_t number = onx_convert_int(c, node, m->attr), n;
    switch (m->form) {
    case MOVE_INTS: return onx_convert_list(c, m->attr, attr->ints.n, attr->ints.v, out);
    case MOVE_INT:
        return onx_convert_tensor(c, m->attr, ONX_DTYPE_I64, 0, NULL, &number, sizeof number, out);
    case MOVE_INT1: return onx_convert_list(c, m->attr, 1, &number, out);
    case MOVE_FLOATS:
        n = (int64_t)attr->floats.n;
        return onx_convert_tensor(c, m->attr, ONX_DTYPE_F32, 1, &n, attr->floats.v,
                                  attr->floats.n * sizeof *attr->floats.v, out);
    default:
        return onx_convert_scalar(c, m->attr, onx_convert_in(c, node, 0)->dtype,
                                  (double)onx_op_float(c->at.before, node, m->attr), out);
    }
}

static bool has_form(const onx_attr *attr, move_form form) {
    static const onx_attr_type types[] = {[MOVE_INTS] = ONX_ATTR_INTS,
                                          [MOVE_INT] = ONX_ATTR_INT,
                                          [MOVE_INT1] = ONX_ATTR_INT,
                                          [MOVE_FLOATS] = ONX_ATTR_FLOATS,
                                          [MOVE_FLOAT] = ONX_ATTR_FLOAT};
    return onx_attr_type_of(attr) == types[form];
}

/* Is it known what to write? */
static onx_status check_up(onx_convert *c, const onx_node *node, const move *m) {
    const onx_attr *attr = onx_node_attr(node, m->attr);
    if (!attr) return ONX_OK;
    ONX_TRY(onx_convert_plain(c, node, m->attr));
    if (!has_form(attr, m->form))
        return onx_convert_refuse(c, "attribute '%s' is of the wrong type", m->attr);
    if (m->form == MOVE_FLOAT && !onx_convert_in(c, node, 0)->dtype)
        return onx_convert_refuse(c, "'%s' becomes an input of a type that is not known", m->attr);
    return ONX_OK;
}

static onx_status move_up(onx_convert *c, onx_node *node) {
    const move *moves = c->at.step->data;
    for (const move *m = moves; m < moves + MAX_MOVES && m->attr; m++)
        ONX_TRY(check_up(c, node, m));
    for (const move *m = moves; m < moves + MAX_MOVES && m->attr; m++) {
        onx_value *value;
        if (!onx_node_attr(node, m->attr) && m->form != MOVE_INT) continue;
        ONX_TRY(add_constant(c, node, m, &value));
        ONX_TRY(onx_convert_set_input(c, node, m->input, value));
        ONX_TRY(onx_convert_drop_attr(c, node, m->attr));
    }
    return ONX_OK;
}

/* ─ Down ─────────────────────────────────────────────────────────────────────────────────────── */

typedef struct found { /* the value of an input */
    size_t n;
    int64_t *ints;
    float *floats;
} found;

/* A float attribute holds it only if it is a float. */
static bool is_float(onx_convert *c, const onx_node *node, size_t index, float number) {
    const onx_tensor *tensor = onx_convert_constant(c, node, index);
    double exact;
    if (!tensor || onx_tensor_read_as(tensor, ONX_DTYPE_F64, &exact, sizeof exact, NULL))
        return false;
    return exact == (double)number || exact != exact;
}

static onx_status find(onx_convert *c, const onx_node *node, const move *m, found *out) {
    bool is_real = m->form == MOVE_FLOATS || m->form == MOVE_FLOAT;
    bool is_one = m->form == MOVE_INT || m->form == MOVE_INT1 || m->form == MOVE_FLOAT;
    if (!onx_convert_has(node, m->input)) return ONX_OK;
    bool known = is_real ? onx_convert_floats(c, node, m->input, &out->n, &out->floats)
                         : onx_convert_ints(c, node, m->input, &out->n, &out->ints);
    if (known && is_one && out->n != 1)
        return onx_convert_refuse(c, "'%s' has %zu elements, and must have one", m->attr, out->n);
    if (known && m->form == MOVE_FLOAT && !is_float(c, node, m->input, out->floats[0]))
        return onx_convert_refuse(c, "'%s' is an attribute there, which does not hold its value",
                                  m->attr);
    if (known) return ONX_OK;
    onx_convert_refuse(c, "'%s' is an attribute there, and here it is computed", m->attr);
    onx_diag_hint(&c->diag, "make it a constant, or fold constants first");
    return ONX_UNSUPPORTED;
}

static onx_status set_attr(onx_node *node, const move *m, const found *f) {
    switch (m->form) {
    case MOVE_INTS: return onx_node_set_ints(node, m->attr, f->n, f->ints);
    case MOVE_FLOATS: return onx_node_set_floats(node, m->attr, f->n, f->floats);
    case MOVE_FLOAT: return onx_node_set_float(node, m->attr, f->floats[0]);
    default: return onx_node_set_int(node, m->attr, f->ints[0]);
    }
}

static onx_status move_down(onx_convert *c, onx_node *node) {
    const move *moves = c->at.step->data;
    found all[MAX_MOVES] = {0};
    for (size_t i = 0; i < MAX_MOVES && moves[i].attr; i++)
        ONX_TRY(find(c, node, &moves[i], &all[i]));
    for (size_t i = 0; i < MAX_MOVES && moves[i].attr; i++) {
        if (!all[i].ints && !all[i].floats) continue;
        if (set_attr(node, &moves[i], &all[i])) return onx_fail_nomem(&c->diag);
        ONX_TRY(onx_convert_set_input(c, node, moves[i].input, NULL));
    }
    return ONX_OK;
}

/* ─ Reductions: no axes means all of them, or none ───────────────────────────────────────────── */

static const struct {
    const char *op, *text; /* what it does to each element alone */
} alone[] = {
    {"ReduceL1", "reduced = Abs (data)"},
    {"ReduceL2", "reduced = Abs (data)"},
    {"ReduceLogSum", "reduced = Log (data)"},
    {"ReduceSumSquare", "reduced = Mul (data, data)"},
    {"ReduceLogSumExp", "reduced = Identity (data)"},
};

static onx_status reduce_down(onx_convert *c, onx_node *node) {
    size_t n = 0;
    int64_t *axes;
    bool has = onx_convert_has(node, 1), none = !has;
    ONX_TRY(onx_convert_plain(c, node, "noop_with_empty_axes"));
    if (has && onx_convert_ints(c, node, 1, &n, &axes)) none = n == 0;
    if (none && onx_convert_int(c, node, "noop_with_empty_axes")) {
        for (size_t i = 0; i < ONX_COUNT(alone); i++)
            if (onx_str_is(node->op_type, alone[i].op))
                return onx_convert_expand(c, node, alone[i].text);
        return onx_convert_expand(c, node, "reduced = Identity (data)");
    }
    ONX_TRY(none && has ? onx_convert_set_input(c, node, 1, NULL) : move_down(c, node));
    return onx_convert_drop_attr(c, node, "noop_with_empty_axes");
}

/* ─ Others ───────────────────────────────────────────────────────────────────────────────────── */

/* Only floats are padded before 11: others have the elements put beside them, axis by axis. */
static void put_padding(onx_buf *text, size_t axis, int64_t before, int64_t after) {
    const struct {
        const char *word;
        int64_t n;
    } ends[] = {{"before", before}, {"after", after}};
    onx_buf_printf(text,
                   "lead%zu = Shape <start = 0, end = %zu> (padded%zu)\n"
                   "tail%zu = Shape <start = %zu> (padded%zu)\n",
                   axis, axis, axis, axis, axis + 1, axis);
    for (size_t i = 0; i < 2; i++)
        onx_buf_printf(text,
                       "%s_n%zu = Constant <value = int64[1] {%lld}> ()\n"
                       "%s_shape%zu = Concat <axis = 0> (lead%zu, %s_n%zu, tail%zu)\n"
                       "%s%zu = Expand (fill, %s_shape%zu)\n",
                       ends[i].word, axis, (long long)ends[i].n, ends[i].word, axis, axis,
                       ends[i].word, axis, axis, ends[i].word, axis, ends[i].word, axis);
    onx_buf_printf(text, "padded%zu = Concat <axis = %zu> (before%zu, padded%zu, after%zu)\n",
                   axis + 1, axis, axis, axis, axis);
}

static onx_status pads_down(onx_convert *c, onx_node *node) {
    size_t rank, n;
    int64_t *pads;
    onx_dtype dtype = onx_convert_in(c, node, 0)->dtype;
    ONX_TRY(onx_convert_plain(c, node, "mode"));
    bool whole = onx_convert_ints(c, node, 1, &n, &pads) && onx_convert_rank(c, node, 0, &rank) &&
                 n == 2 * rank && onx_str_is(onx_convert_string(c, node, "mode"), "constant");
    for (size_t i = 0; whole && i < n; i++) whole = pads[i] >= 0;
    if (!whole || !dtype || onx_convert_is_float(dtype) || dtype == ONX_DTYPE_STRING)
        return move_down(c, node);
    onx_buf text = onx_convert_text(c);
    onx_buf_puts(&text, "<18>\nnone = Constant <value = int64[0] {}> ()\n");
    onx_convert_put_number(&text, "nothing", "0", dtype);
    onx_buf_puts(&text, onx_convert_has(node, 2) ? "fill = Reshape (constant_value, none)\n"
                                                 : "fill = Identity (nothing)\n");
    onx_buf_puts(&text, "padded0 = Identity (data)\n");
    for (size_t i = 0; i < rank; i++) {
        if (pads[i] || pads[rank + i])
            put_padding(&text, i, pads[i], pads[rank + i]);
        else
            onx_buf_printf(&text, "padded%zu = Identity (padded%zu)\n", i + 1, i);
    }
    onx_buf_printf(&text, "output = Identity (padded%zu)\n", rank);
    return onx_convert_expand_buf(c, node, &text);
}

/* As attributes, where all of it is known; else elements are gathered. */
static onx_status slice_down(onx_convert *c, onx_node *node) {
    size_t n = 0;
    int64_t *steps = NULL, *known;
    bool plain = !onx_convert_has(node, 4) || onx_convert_ints(c, node, 4, &n, &steps);
    for (size_t i = 0; i < n && plain; i++) plain = steps[i] == 1;
    for (size_t i = 1; i < 4 && plain; i++)
        plain = !onx_convert_has(node, i) || onx_convert_ints(c, node, i, &n, &known);
    if (!plain) return onx_convert_gather_slice(c, node);
    ONX_TRY(move_down(c, node));
    return onx_convert_set_input(c, node, 4, NULL);
}

/* Parts of computed sizes: a slice for each. */
static onx_status split_down(onx_convert *c, onx_node *node) {
    enum { PARTS = 256 };
    size_t n;
    int64_t *sizes;
    ONX_TRY(onx_convert_plain(c, node, "axis"));
    if (!onx_convert_has(node, 1) || onx_convert_ints(c, node, 1, &n, &sizes))
        return move_down(c, node);
    if (node->output.n > PARTS)
        return onx_convert_refuse(c, "%zu parts of computed sizes, more than %d", node->output.n,
                                  PARTS);
    onx_buf text = onx_convert_text(c);
    onx_buf_printf(&text,
                   "axes = Constant <value = int64[1] {%lld}> ()\n"
                   "from0 = Constant <value = int64[1] {0}> ()\n",
                   (long long)onx_convert_int(c, node, "axis"));
    for (size_t i = 0; i < node->output.n; i++)
        onx_buf_printf(&text,
                       "part%zu = Constant <value = int64[1] {%zu}> ()\n"
                       "size%zu = Gather (split, part%zu)\n"
                       "from%zu = Add (from%zu, size%zu)\n"
                       "outputs%zu = Slice (input, from%zu, from%zu, axes)\n",
                       i, i, i, i, i + 1, i, i, i, i, i + 1);
    return onx_convert_expand_buf(c, node, &text);
}

/* Limits that are computed: with Max and Min, which also keep NaN. */
static onx_status clip_down(onx_convert *c, onx_node *node) {
    bool low = onx_convert_has(node, 1), high = onx_convert_has(node, 2);
    bool known =
        (!low || onx_convert_constant(c, node, 1)) && (!high || onx_convert_constant(c, node, 2));
    if (known) return move_down(c, node);
    return onx_convert_expand(c, node,
                              low && high ? "low = Max (input, min)\noutput = Min (low, max)"
                              : low       ? "output = Max (input, min)"
                                          : "output = Min (input, max)");
}

#define MOVES(...) ((const move[MAX_MOVES]){__VA_ARGS__})
const onx_convert_step onx_step_axes = {move_up, move_down, MOVES({"axes", 1, MOVE_INTS})};
const onx_convert_step onx_step_reduce = {move_up, reduce_down, MOVES({"axes", 1, MOVE_INTS})};
const onx_convert_step onx_step_split = {move_up, split_down, MOVES({"split", 1, MOVE_INTS})};
const onx_convert_step onx_step_shape = {move_up, move_down, MOVES({"shape", 1, MOVE_INTS})};
const onx_convert_step onx_step_k = {move_up, move_down, MOVES({"k", 1, MOVE_INT1})};
const onx_convert_step onx_step_scales = {move_up, move_down, MOVES({"scales", 1, MOVE_FLOATS})};
const onx_convert_step onx_step_dft_axis = {move_up, move_down, MOVES({"axis", 2, MOVE_INT})};
const onx_convert_step onx_step_pads = {move_up, pads_down,
                                        MOVES({"pads", 1, MOVE_INTS}, {"value", 2, MOVE_FLOAT})};
const onx_convert_step onx_step_clip = {move_up, clip_down,
                                        MOVES({"min", 1, MOVE_FLOAT}, {"max", 2, MOVE_FLOAT})};
const onx_convert_step onx_step_slice = {
    move_up, slice_down,
    MOVES({"starts", 1, MOVE_INTS}, {"ends", 2, MOVE_INTS}, {"axes", 3, MOVE_INTS})};
