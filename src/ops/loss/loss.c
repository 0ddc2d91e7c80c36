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

#define LOSS_ATTRS "{ignore_index?:int, reduction:string=\"mean\"} "
#define LIKELIHOOD "(input:T, target:Tind, weight?:T) -> (loss:T) " LOSS_ATTRS
#define ENTROPY "(scores:T, labels:Tind, weights?:T) -> (output:T, log_prob?:T) " LOSS_ATTRS

extern onx_op_rows onx_ops_loss;
onx_op_rows onx_ops_loss = {
    {"NegativeLogLikelihoodLoss", 12, LIKELIHOOD "[T:f0, Tind:int32|int64]", .infer = infer_loss},
    {"NegativeLogLikelihoodLoss", 13, LIKELIHOOD "[T:f0, Tind:int32|int64]", .infer = infer_loss},
    {"NegativeLogLikelihoodLoss", 22, LIKELIHOOD "[T:f, Tind:int32|int64]", .infer = infer_loss},
    {"SoftmaxCrossEntropyLoss", 12, ENTROPY "[T:f0, Tind:int32|int64]", .infer = infer_loss},
    {"SoftmaxCrossEntropyLoss", 13, ENTROPY "[T:f, Tind:int32|int64]", .infer = infer_loss},
    {0},
};
