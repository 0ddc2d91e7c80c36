/* loss.c: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss: meaning. */
#include "ops/op.h"

#define LOSS_ATTRS "{ignore_index?:int, reduction:string=\"mean\"} "
#define LIKELIHOOD "(input:T, target:Tind, weight?:T) -> (loss:T) " LOSS_ATTRS
#define ENTROPY "(scores:T, labels:Tind, weights?:T) -> (output:T, log_prob?:T) " LOSS_ATTRS

extern onx_op_rows onx_ops_loss;
onx_op_rows onx_ops_loss = {
    {"NegativeLogLikelihoodLoss", 12, LIKELIHOOD "[T:f0, Tind:int32|int64]", .infer = NULL},
    {"NegativeLogLikelihoodLoss", 13, LIKELIHOOD "[T:f0, Tind:int32|int64]", .infer = NULL},
    {"NegativeLogLikelihoodLoss", 22, LIKELIHOOD "[T:f, Tind:int32|int64]", .infer = NULL},
    {"SoftmaxCrossEntropyLoss", 12, ENTROPY "[T:f0, Tind:int32|int64]", .infer = NULL},
    {"SoftmaxCrossEntropyLoss", 13, ENTROPY "[T:f, Tind:int32|int64]", .infer = NULL},
    {0},
};
