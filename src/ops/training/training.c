/* training.c: ai.onnx.preview.training: gradients and optimizers: meaning. */
#include "ops/op.h"

#define DOMAIN "ai.onnx.preview.training"

extern onx_op_rows onx_ops_training;
onx_op_rows onx_ops_training = {
    {"Adagrad", 1,
     "(R:T1, T:T2, inputs**:T3) -> (outputs**:T3) {decay_factor:float=0.0, epsilon:float=1e-06, "
     "norm_coefficient:float=0.0} [T1:float|double, T2:int64, T3:float|double]",
     .domain = DOMAIN},
    {"Adam", 1,
     "(R:T1, T:T2, inputs**:T3) -> (outputs**:T3) {alpha:float=0.9, beta:float=0.999, "
     "epsilon:float=1e-06, norm_coefficient:float=0.0, norm_coefficient_post:float=0.0} "
     "[T1:float|double, T2:int64, T3:float|double]",
     .domain = DOMAIN},
    {"Gradient", 1,
     "(Inputs**:T1) -> (Outputs**:T2) {xs:strings, y:string, zs?:strings} [T1:all1, T2:f0]",
     .domain = DOMAIN},
    {"Momentum", 1,
     "(R:T1, T:T2, inputs**:T3) -> (outputs**:T3) {alpha:float, beta:float, mode:string, "
     "norm_coefficient:float} [T1:float|double, T2:int64, T3:float|double]",
     .domain = DOMAIN},
    {0},
};
