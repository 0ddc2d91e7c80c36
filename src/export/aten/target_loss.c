/* target_loss.c: losses of lists of targets: CTC, by a loop over time, and margins of labels. */
#include "export/aten/lowering.h"
#include "export/aten/parts.h"

#include <math.h>

#define F(op, v) onx_emit(x, op, v)
#define G(op, a, b) onx_emit(x, op, a, b)
#define N(op, v, b) onx_emit_number(x, op, v, b)
#define WHERE(is, a, b) onx_emit(x, "Where", is, a, b)

/* ─ Connectionist temporal classification ────────────────────────────────────────────────────── */

static const double never = -1e30; /* the logarithm of 0 */

typedef struct ctc {
    onx_value *scores; /* float64[time, batch, classes] */
    onx_value *labels; /* int64[batch, 2 targets + 1]: a blank before, between and behind them */
    onx_value *times;  /* int64[batch, 1]: how long each is */
    onx_value *skips;  /* bool[batch, labels]: may the blank before it be left out? */
} ctc;

static onx_value *number(onx_export *x, double v) {
    return onx_x_number(x, ONX_DTYPE_F64, v);
}

/* Moved to the right by n places. */
static onx_value *shifted(onx_export *x, onx_value *v, int64_t n, onx_value *fill) {
    int64_t pads[] = {0, n, 0, -n};
    return onx_emit(x, "Pad", v, onx_x_ints(x, 4, pads), fill);
}

static onx_value *scores_at(onx_export *x, const ctc *c, onx_value *time) {
    return onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", 1)),
                         G("Gather", c->scores, time), c->labels);
}

/* (log of the chance to be at each label): it comes from there, from the label before, or from the
 * one before that. */
static onx_value *ctc_turn(onx_export *x, const void *user, onx_value *turn, onx_value **v) {
    const ctc *c = user;
    onx_value *time = N("Add", turn, 1), *fill = number(x, never);
    onx_value *ways[] = {v[0], shifted(x, v[0], 1, fill),
                         WHERE(c->skips, shifted(x, v[0], 2, fill), fill)};
    int64_t first = 0;
    for (size_t i = 0; i < 3; i++) ways[i] = onx_x_unsqueeze(x, ways[i], 0);
    if (!onx_x_ok(x)) return NULL;
    onx_value *sum =
        onx_x_reduce(x, "ReduceLogSumExp", onx_x_concat(x, 3, ways, 0), 1, &first, false);
    sum = N("Max", G("Add", sum, scores_at(x, c, time)), never);
    v[0] = WHERE(G("Less", time, c->times), sum, v[0]);
    return NULL;
}

/* A list of numbers or a tensor, as int64[batch, 1]. */
static onx_value *lengths_of(onx_export *x, const onx_xv *v) {
    onx_xv column[] = {onx_xv_int(x, -1), onx_xv_int(x, 1)};
    onx_value *n =
        onx_xv_is_list(v) ? onx_x_shape(x, v->list->n, v->list->v) : onx_x_as(x, v, ONX_DTYPE_I64);
    return onx_x_reshape(x, n, 2, column);
}

/* [batch, most targets], of targets one after another. */
static onx_value *in_rows(onx_export *x, onx_value *targets, onx_value *counts) {
    onx_xv all = onx_x_size_of(x, targets, 0);
    onx_value *most = onx_x_reduce(x, "ReduceMax", counts, 0, NULL, false);
    onx_value *starts = G("Sub", G("CumSum", counts, onx_x_int(x, 0)), counts);
    onx_value *at = onx_emit(x, "Range", onx_x_int(x, 0), most, onx_x_int(x, 1));
    onx_value *end = N("Sub", onx_x_scalar(x, &all, ONX_DTYPE_I64), 1);
    return G("Gather", targets, G("Min", G("Add", starts, at), end));
}

/* Blanks between the targets. */
static onx_value *with_blanks(onx_export *x, onx_value *targets, const onx_xv *blank) {
    int64_t pads[] = {0, 0, 1, 0, 0, 0}, cut[] = {0, 0, 0, 1};
    onx_xv flat[] = {onx_x_size_of(x, targets, 0), onx_xv_int(x, -1)};
    onx_value *fill = onx_x_scalar(x, blank, ONX_DTYPE_I64);
    onx_value *pairs =
        onx_emit(x, "Pad", onx_x_unsqueeze(x, targets, -1), onx_x_ints(x, 6, pads), fill);
    return onx_emit(x, "Pad", onx_x_reshape(x, pairs, 2, flat), onx_x_ints(x, 4, cut), fill);
}

/* [batch, 1]: what the chance is to end at the last label, or at the blank behind it. */
static onx_value *at_end(onx_export *x, onx_value *chances, onx_value *counts) {
    int64_t last = -1;
    onx_value *end = N("Mul", counts, 2), *before = N("Sub", end, 1);
    onx_value *both[] = {end, N("Max", before, 0)};
    onx_value *v = onx_x_ok(x) ? onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", 1)),
                                               chances, onx_x_concat(x, 2, both, 1))
                               : NULL;
    onx_value *sum = onx_x_reduce(x, "ReduceLogSumExp", v, 1, &last, true);
    onx_value *first = onx_x_slice(x, v, 1, onx_xv_int(x, 0), onx_xv_int(x, 1), 1);
    return WHERE(N("Equal", counts, 0), first, sum);
}

/* (log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity) */
static void lower_ctc_loss(onx_export *x, const onx_xv *a, onx_xv *out) {
    onx_value *scores = onx_x_floating(x, &a[0]), *targets = onx_x_as(x, &a[1], ONX_DTYPE_I64);
    size_t rank = onx_x_rank(x, scores), of_targets = onx_x_rank(x, targets);
    onx_value *counts = lengths_of(x, &a[3]);
    if (rank == SIZE_MAX || of_targets == SIZE_MAX || !counts) return;
    onx_dtype dtype = onx_x_dtype(x, scores);
    if (rank == 2) scores = onx_x_unsqueeze(x, scores, 1);
    ctc c = {.scores = onx_x_cast(x, scores, ONX_DTYPE_F64), .times = lengths_of(x, &a[2])};
    c.labels = with_blanks(x, of_targets == 1 ? in_rows(x, targets, counts) : targets, &a[4]);
    onx_value *blank = onx_x_scalar(x, &a[4], ONX_DTYPE_I64);
    onx_value *same = G("Equal", c.labels, shifted(x, c.labels, 2, blank));
    c.skips = F("Not", G("Or", same, G("Equal", c.labels, blank)));
    onx_xv time = onx_x_size_of(x, scores, 0);
    onx_value *chances = scores_at(x, &c, onx_x_int(x, 0));
    if (!onx_x_ok(x)) return;
    onx_xv n = onx_x_size_of(x, c.labels, 1);
    chances = WHERE(N("Less", onx_x_count(x, &n), 2), chances, number(x, never));
    onx_xv turns = onx_x_arith(x, "sub", time, onx_xv_int(x, 1));
    if (!onx_x_ok(x) || !onx_x_repeat(x, turns, ctc_turn, &c, 1, &chances)) return;
    onx_value *loss = F("Neg", at_end(x, chances, counts));
    double impossible = onx_xv_true(&a[6]) ? 0 : (double)INFINITY;
    loss = WHERE(N("Greater", loss, -never / 2), number(x, impossible), loss);
    int64_t how = onx_xv_whole(x, &a[5], 1);
    if (how == 1) loss = G("Div", loss, onx_x_cast(x, N("Max", counts, 1), ONX_DTYPE_F64));
    if (how == 0)
        loss = rank == 2 ? onx_x_reshape(x, loss, 0, NULL) : onx_x_squeeze(x, loss, 1);
    else
        loss = onx_x_reduce(x, how == 1 ? "ReduceMean" : "ReduceSum", loss, 0, NULL, false);
    onx_x_give(x, out, onx_x_cast(x, loss, dtype));
}

/* ─ Margins ──────────────────────────────────────────────────────────────────────────────────── */

/* (self, target, reduction): the targets of a row end at the first that is below 0. Each of them is
 * to be larger by 1 than each class that is none. */
static void lower_multilabel_margin(onx_export *x, const onx_xv *a, onx_xv *out) {
    static const int64_t both[] = {-2, -1};
    onx_value *v = onx_x_floating(x, &a[0]), *target = onx_x_as(x, &a[1], ONX_DTYPE_I64);
    size_t rank = onx_x_rank(x, v);
    int64_t second = -2, how = onx_xv_whole(x, &a[2], 1);
    if (rank == SIZE_MAX || rank < 1 || !target) return;
    onx_dtype dtype = onx_x_dtype(x, v);
    onx_value *ends = onx_x_cast(x, N("Less", target, 0), ONX_DTYPE_I64);
    ends = G("CumSum", ends, onx_x_int(x, (int64_t)rank - 1));
    onx_value *valid = onx_x_cast(x, N("Equal", ends, 0), dtype);
    onx_value *at = N("Max", target, 0);
    onx_xv classes = onx_x_size_of(x, v, rank - 1);
    onx_value *is = G("Equal", onx_x_unsqueeze(x, at, -1), onx_x_count(x, &classes));
    is = G("Mul", onx_x_cast(x, is, dtype), onx_x_unsqueeze(x, valid, -1));
    is = onx_x_reduce(x, "ReduceMax", is, 1, &second, true);
    onx_value *wanted =
        onx_emit_with(x, "GatherElements", ONX_ATTRS(ONX_AI("axis", (int64_t)rank - 1)), v, at);
    onx_value *gap = G("Sub", onx_x_unsqueeze(x, v, -2), onx_x_unsqueeze(x, wanted, -1));
    gap = G("Mul", F("Relu", N("Add", gap, 1)), onx_x_unsqueeze(x, valid, -1));
    gap = G("Mul", gap, G("Sub", onx_x_number(x, dtype, 1), is));
    onx_value *loss = onx_x_reduce(x, "ReduceSum", gap, 2, both, false);
    loss = G("Div", loss, onx_x_as(x, &classes, dtype));
    if (how != 0 && rank > 1)
        loss = onx_x_reduce(x, how == 1 ? "ReduceMean" : "ReduceSum", loss, 0, NULL, false);
    onx_x_give(x, &out[0], loss);
    if (is && onx_str_is(onx_x_op(x), "multilabel_margin_loss_forward"))
        onx_x_give(x, &out[1], onx_x_squeeze(x, is, -2));
}

#define CTC(type)                                                                                  \
    "(Tensor log_probs, Tensor targets, " type " input_lengths, " type " target_lengths, "         \
    "int blank=0, int reduction=1, bool zero_infinity=False)"
const onx_aten onx_aten_target_loss[] = {
    {"ctc_loss.IntList" CTC("int[]"), lower_ctc_loss, NULL},
    {"ctc_loss.Tensor" CTC("Tensor"), lower_ctc_loss, NULL},
    {"multilabel_margin_loss(Tensor self, Tensor target, int reduction=1)", lower_multilabel_margin,
     NULL},
    {"multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) "
     "-> (Tensor, Tensor)",
     lower_multilabel_margin, NULL},
    {NULL, NULL, NULL},
};
