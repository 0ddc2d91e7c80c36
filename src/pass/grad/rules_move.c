/* rules_move.c: derivatives of operators that only move elements.
 *
 * For most of them one rule does: the operator is applied to the places of the elements, 0, 1, 2 …,
 * which tells for each element of the output where it comes from; there its gradient is added. */
#include "pass/grad/gradient.h"

/* places = 0, 1, 2 … in the shape of x0. */
static void put_places(onx_grad *g) {
    onx_grad_put(g, "size = Size (x0) from = Constant <value: tensor = int64 {0}> () "
                    "step = Constant <value: tensor = int64 {1}> () "
                    "row = Range (from, size, step)");
    onx_grad_put_like(g, "places", "row", "x0");
}

static onx_status write_move(onx_grad *g) {
    put_places(g);
    onx_buf_printf(&g->text, "moved = %s", g->op->name);
    ONX_TRY(onx_grad_put_attrs(g));
    onx_buf_puts(&g->text, " (places");
    for (size_t i = 1; i < g->node->input.n; i++) onx_buf_printf(&g->text, ", x%zu", i);
    onx_grad_put(g, ") dx0 = onx.internal.AddAt (dy0, moved, x0)");
    return ONX_OK;
}

/* Resize only moves elements where it takes the nearest. */
static onx_status write_resize(onx_grad *g) {
    onx_str mode = onx_op_string(g->op, g->node, "mode");
    onx_str how = onx_op_string(g->op, g->node, "coordinate_transformation_mode");
    if (!onx_str_is(mode, "nearest") || onx_str_is(how, "tf_crop_and_resize"))
        return onx_fail(g->diag, ONX_UNSUPPORTED,
                        "there is no derivative of %s but where it takes the nearest element",
                        g->op->name);
    return write_move(g);
}

/* What is added around comes from place -1, which is none. */
static onx_status write_pad(onx_grad *g) {
    if (onx_grad_wants(g, 2) || g->op->since < 11)
        return onx_fail(g->diag, ONX_UNSUPPORTED,
                        "there is no derivative of Pad by its value, or before opset 11");
    put_places(g);
    onx_grad_put(g,
                 "nowhere = Constant <value: tensor = int64 {-1}> () "
                 "moved = Pad <mode: string = @mode> (places, x1, nowhere%s) "
                 "dx0 = onx.internal.AddAt (dy0, moved, x0)",
                 onx_node_input(g->node, 3) ? ", x3" : "");
    return ONX_OK;
}

static onx_status write_top(onx_grad *g) {
    put_places(g);
    onx_grad_put(g, "moved = GatherElements <axis: int = @axis> (places, y1) "
                    "dx0 = onx.internal.AddAt (dy0, moved, x0)");
    return ONX_OK;
}

static onx_status write_view(onx_grad *g) {
    onx_grad_put_like(g, "dx0", "dy0", "x0");
    return ONX_OK;
}

static onx_status write_transpose(onx_grad *g) {
    size_t n;
    const int64_t *perm = onx_op_ints(g->node, "perm", &n);
    onx_buf_puts(&g->text, "dx0 = Transpose");
    for (size_t i = 0; i < n; i++) { /* where output i comes from becomes where it goes */
        size_t at = 0;
        while (at < n && perm[at] != (int64_t)i) at++;
        onx_buf_printf(&g->text, "%s%zu", i ? ", " : " <perm: ints = [", at);
    }
    onx_grad_put(g, "%s (dy0)", n ? "]>" : "");
    return ONX_OK;
}

/* Slices of the gradient, one after the other along the axis. */
static onx_status write_concat(onx_grad *g) {
    onx_grad_put(g,
                 "axis = Constant <value: tensor = int64[1] {%lld}> () "
                 "end0 = Constant <value: tensor = int64[1] {0}> ()",
                 (long long)onx_op_int(g->op, g->node, "axis"));
    for (size_t i = 0; i < g->node->input.n; i++) {
        onx_grad_put(g,
                     "shape%zu = Shape (x%zu) size%zu = Gather (shape%zu, axis) "
                     "end%zu = Add (end%zu, size%zu)",
                     i, i, i, i, i + 1, i, i);
        if (onx_grad_wants(g, i))
            onx_grad_put(g, "dx%zu = Slice (dy0, end%zu, end%zu, axis)", i, i, i + 1);
    }
    return ONX_OK;
}

static onx_status write_split(onx_grad *g) {
    size_t n = g->node->output.n;
    for (size_t i = 0; i < n; i++) {
        if (!onx_node_output(g->node, i))
            return onx_fail(g->diag, ONX_UNSUPPORTED,
                            "there is no derivative of a Split whose output %zu has no name", i);
        if (!g->dys[i])
            onx_grad_put(g, "shape%zu = Shape (y%zu) g%zu = Expand ($0, shape%zu)", i, i, i, i);
    }
    onx_buf_puts(&g->text, "dx0 = Concat <axis: int = @axis> (");
    for (size_t i = 0; i < n; i++)
        onx_buf_printf(&g->text, "%s%s%zu", i ? ", " : "", g->dys[i] ? "dy" : "g", i);
    onx_grad_put(g, ")");
    return ONX_OK;
}

/* ScatterElements and ScatterND: what was overwritten has no gradient. */
static onx_status write_scatter(onx_grad *g) {
    bool nd = strcmp(g->op->name, "ScatterND") == 0;
    const char *axis = nd ? "" : " <axis: int = @axis>";
    onx_str reduction = onx_op_string(g->op, g->node, "reduction");
    bool adds = onx_str_is(reduction, "add");
    if (reduction.size && !adds && !onx_str_is(reduction, "none"))
        return onx_fail(g->diag, ONX_UNSUPPORTED,
                        "there is no derivative of %s with reduction "
                        "%.*s",
                        g->op->name, ONX_FMT(reduction));
    if (onx_grad_wants(g, 0) && adds) onx_grad_put(g, "dx0 = Identity (dy0)");
    if (onx_grad_wants(g, 0) && !adds)
        onx_grad_put(g, "shape = Shape (x2) nil = Expand ($0, shape) dx0 = %s%s (dy0, x1, nil)",
                     g->op->name, axis);
    if (onx_grad_wants(g, 2))
        onx_grad_put(g, "dx2 = %s%s (dy0, x1)", nd ? "GatherND" : "GatherElements", axis);
    return ONX_OK;
}

/* The sum of what comes after, in place of what comes before. */
static onx_status write_cumsum(onx_grad *g) {
    onx_grad_put(g, "dx0 = CumSum <exclusive: int = @exclusive, reverse: int = %d> (dy0, x1)",
                 onx_op_int(g->op, g->node, "reverse") == 0);
    return ONX_OK;
}

#define MOVE(op_)                                                                                  \
    { .op = op_, .write = write_move }
#define VIEW(op_)                                                                                  \
    { .op = op_, .write = write_view }

const onx_grad_rule onx_grad_move[] = {
    {"AddAt", .domain = "onx.internal",
     .by = {"whole = Constant <value: tensor = int64[1] {-1}> () flat = Reshape (dy0, whole) "
            "nowhere = Constant <value: tensor = int64 {0}> () out = Less (x1, nowhere) "
            "some = Where (out, nowhere, x1) taken = Gather <axis: int = 0> (flat, some) "
            "dx0 = Where (out, $0, taken)"},
     .ignores = 1 << 2},
    MOVE("Compress"),
    {"Concat", .write = write_concat},
    {"CumSum", .write = write_cumsum},
    MOVE("DepthToSpace"),
    {"Expand", .by = {"dx0 = onx.internal.SumTo (dy0, x0)"}},
    VIEW("Flatten"),
    MOVE("Gather"),
    MOVE("GatherElements"),
    MOVE("GatherND"),
    {"MaxUnpool",
     .by = {"whole = Constant <value: tensor = int64[1] {-1}> () flat = Reshape (dy0, whole) "
            "dx0 = Gather <axis: int = 0> (flat, x1)"}},
    {"Pad", .write = write_pad},
    VIEW("Reshape"),
    {"Resize", .write = write_resize, .ignores = 1 << 1 | 1 << 2},
    MOVE("ReverseSequence"),
    {"Scatter", .write = write_scatter},
    {"ScatterElements", .write = write_scatter},
    {"ScatterND", .write = write_scatter},
    MOVE("Slice"),
    MOVE("SpaceToDepth"),
    {"Split", .write = write_split, .outputs = SIZE_MAX},
    VIEW("Squeeze"),
    {"SumTo", .domain = "onx.internal", .by = {"shape = Shape (x0) dx0 = Expand (dy0, shape)"},
     .ignores = 1 << 1},
    MOVE("Tile"),
    {"TopK", .write = write_top, .needs = 2},
    {"Transpose", .write = write_transpose},
    {"Trilu", .by = {"dx0 = Trilu <upper: int = @upper> (dy0, x1)"}},
    VIEW("Unsqueeze"),
    {.op = NULL},
};
