/* loss.c: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss: meaning. */
#include "ops/op.h"

/* scores[n,c,d1,…,dk], target[n,d1,…,dk], weight[c]: what a loss without reduction is. */
static onx_status loss_dims(onx_infer *in, size_t *rank, const onx_sym ***out) {
    const onx_fact *scores = onx_infer_in(in, 0), *target = onx_infer_in(in, 1);
    onx_extent classes = {"number of classes", NULL};
    size_t n = *rank = scores->ranked ? scores->rank - 1 : target->rank;
    if (scores->ranked && scores->rank < 2)
        return onx_infer_fail(in, "the scores have %zu dimensions; they need batch and classes",
                              scores->rank);
    if (target->ranked && target->rank != n)
        return onx_infer_fail(in,
                              "the target has %zu dimensions; it needs those of the scores "
                              "without the classes, %zu",
                              target->rank, n);
    const onx_sym **dims = *out = onx_arena_array(onx_infer_arena(in), n + 1, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        onx_extent size = {"size of scores and target",
                           scores->ranked ? scores->dims[i ? i + 1 : 0] : NULL};
        if (target->ranked) ONX_TRY(onx_infer_meet(in, &size, target->dims[i]));
        dims[i] = size.size;
    }
    if (scores->ranked) classes.size = scores->dims[1];
    return onx_infer_unify(in, 2, 1, (onx_extent *[]){&classes});
}

static onx_status infer_loss(onx_infer *in) {
    const onx_fact *scores = onx_infer_in(in, 0);
    const onx_sym **dims = NULL;
    size_t rank = 0;
    bool ranked = scores->ranked || onx_infer_in(in, 1)->ranked;
    ONX_TRY(onx_infer_choice(in, "reduction", "none mean sum"));
    ONX_TRY(onx_infer_like(in, 1, scores->dtype, scores));
    if (ranked) ONX_TRY(loss_dims(in, &rank, &dims));
    if (!onx_str_is(onx_infer_string(in, "reduction"), "none"))
        return onx_infer_tensor(in, 0, scores->dtype, 0, NULL);
    return ranked ? onx_infer_tensor(in, 0, scores->dtype, rank, dims)
                  : onx_infer_unranked(in, 0, scores->dtype);
}

/* ─ Bodies ───────────────────────────────────────────────────────────────────────────────────── */

/* Before opset 13, Squeeze and Unsqueeze have their axes as attribute. */
static void put_squeeze(onx_buf *out, const onx_op *op, const char *to, const char *name,
                        const char *from) {
    bool old = op->since < 13;
    onx_buf_printf(out, " %s = %s%s (%s%s)", to, name, old ? " <axes = [1]>" : "", from,
                   old ? "" : ", One");
}

/* Targets to be ignored become class 0, with score and weight 0. */
static void put_ignored(onx_buf *out, const onx_op *op, long long index, onx_dtype type,
                        bool weighted) {
    onx_buf_printf(out,
                   " Ignored = Constant <value_ints = [%lld]> ()"
                   " NoClass = Sub (Target, Target)"
                   " Target64 = Cast <to = 7> (Target)"
                   " Mask = Equal (Target64, Ignored)"
                   " Class = Where (Mask, NoClass, Target)"
                   " Picked = GatherElements <axis = 1> (input, Class)"
                   " Zero32 = Constant <value = float[1] {0}> ()"
                   " Zero = Cast <to = %d> (Zero32)"
                   " Score = Where (Mask, Zero, Picked)",
                   index, (int)type);
    if (weighted) {
        onx_buf_puts(out, " AnyWeight = Gather (weight, Class)"
                          " Weight1 = Where (Mask, Zero, AnyWeight)");
        put_squeeze(out, op, "Weight", "Squeeze", "Weight1");
        return;
    }
    put_squeeze(out, op, "Mask1", "Squeeze", "Mask");
    onx_buf_printf(out,
                   " One32 = Constant <value = float[1] {1}> ()"
                   " OneT = Cast <to = %d> (One32)"
                   " Weight = Where (Mask1, Zero, OneT)",
                   (int)type);
}

/* From the losses L, and the weights, the loss. */
static void put_reduction(onx_buf *out, onx_str reduction, bool weighted) {
    if (onx_str_is(reduction, "none"))
        onx_buf_puts(out, " loss = Identity (L)");
    else if (onx_str_is(reduction, "sum"))
        onx_buf_puts(out, " loss = ReduceSum <keepdims = 0> (L)");
    else if (!weighted)
        onx_buf_puts(out, " loss = ReduceMean <keepdims = 0> (L)");
    else
        onx_buf_puts(out, " Sum = ReduceSum <keepdims = 0> (L)"
                          " Weights = ReduceSum <keepdims = 0> (Weight)"
                          " loss = Div (Sum, Weights)");
}

static onx_status write_likelihood(const onx_op *op, const onx_node *node, size_t n_in,
                                   const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    onx_dtype type = n_in ? ins[0]->dtype : ONX_DTYPE_NONE;
    bool weighted = onx_node_input(node, 2) != NULL, ignores = onx_op_has(node, "ignore_index");
    if (!type) return onx_fail(diag, ONX_NOT_FOUND, "the type of the input is not known");
    onx_buf_printf(out, "%sOne = Constant <value_ints = [1]> ()",
                   onx_op_opset(node) < 18 ? "" : "<18> ");
    put_squeeze(out, op, "Target", "Unsqueeze", "target");
    if (ignores)
        put_ignored(out, op, (long long)onx_op_int(op, node, "ignore_index"), type, weighted);
    else
        onx_buf_puts(out, " Score = GatherElements <axis = 1> (input, Target)");
    if (weighted && !ignores) onx_buf_puts(out, " Weight = Gather (weight, target)");
    onx_buf_puts(out, " Negated = Neg (Score)");
    put_squeeze(out, op, weighted || ignores ? "Plain" : "L", "Squeeze", "Negated");
    if (weighted || ignores) onx_buf_puts(out, " L = Mul (Plain, Weight)");
    put_reduction(out, onx_op_string(op, node, "reduction"), weighted || ignores);
    return ONX_OK;
}

/* The logarithm of Softmax over the classes, whose likelihood is the loss. */
static onx_status write_entropy(const onx_op *op, const onx_node *node, size_t n_in,
                                const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    (void)op, (void)n_in, (void)ins, (void)diag;
    onx_buf_puts(out, "Shape3D = Constant <value_ints = [0, 0, -1]> ()"
                      " NCD = Reshape (scores, Shape3D)"
                      " NDC = Transpose <perm = [0, 2, 1]> (NCD)"
                      " LogNDC = LogSoftmax <axis = 2> (NDC)"
                      " LogNCD = Transpose <perm = [0, 2, 1]> (LogNDC)"
                      " Shape = Shape (scores)"
                      " Log = Reshape (LogNCD, Shape)");
    if (onx_node_output(node, 1)) onx_buf_puts(out, " log_prob = Identity (Log)");
    onx_buf_printf(out,
                   " output = NegativeLogLikelihoodLoss <reduction: string = @reduction, "
                   "ignore_index: int = @ignore_index> (Log, labels%s)",
                   onx_node_input(node, 2) ? ", weights" : "");
    return ONX_OK;
}

/* ─ Signatures ───────────────────────────────────────────────────────────────────────────────── */

#define LOSS_ATTRS "{ignore_index?:int, reduction:string=\"mean\"} "
#define LIKELIHOOD "(input:T, target:Tind, weight?:T) -> (loss:T) " LOSS_ATTRS
#define ENTROPY "(scores:T, labels:Tind, weights?:T) -> (output:T, log_prob?:T) " LOSS_ATTRS

extern onx_op_rows onx_ops_loss;
onx_op_rows onx_ops_loss = {
    {"NegativeLogLikelihoodLoss", 12, LIKELIHOOD "[T:f0, Tind:int32|int64]", .infer = infer_loss,
     .body = write_likelihood},
    {"NegativeLogLikelihoodLoss", 13, LIKELIHOOD "[T:f0, Tind:int32|int64]", .infer = infer_loss,
     .body = write_likelihood},
    {"NegativeLogLikelihoodLoss", 22, LIKELIHOOD "[T:f, Tind:int32|int64]", .infer = infer_loss,
     .body = write_likelihood},
    {"SoftmaxCrossEntropyLoss", 12, ENTROPY "[T:f0, Tind:int32|int64]", .infer = infer_loss,
     .body = write_entropy},
    {"SoftmaxCrossEntropyLoss", 13, ENTROPY "[T:f, Tind:int32|int64]", .infer = infer_loss,
     .body = write_entropy},
    {0},
};
