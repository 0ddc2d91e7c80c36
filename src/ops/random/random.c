/* random.c: numbers drawn at random, and Dropout: meaning. */
#include "ops/op.h"

#define NORMAL                                                                                     \
    "() -> (output:T) {dtype:int=1, mean:float=0.0, scale:float=1.0, seed?:float, shape:ints} "
#define UNIFORM                                                                                    \
    "() -> (output:T) {dtype:int=1, high:float=1.0, low:float=0.0, seed?:float, shape:ints} "
#define NORMAL_LIKE                                                                                \
    "(input:T1) -> (output:T2) {dtype?:int, mean:float=0.0, scale:float=1.0, seed?:float} "
#define UNIFORM_LIKE                                                                               \
    "(input:T1) -> (output:T2) {dtype?:int, high:float=1.0, low:float=0.0, seed?:float} "
#define BERNOULLI "(input:T1) -> (output:T2) {dtype?:int, seed?:float} "
#define MULTINOMIAL "(input:T1) -> (output:T2) {dtype:int=6, sample_size:int=1, seed?:float} "
#define DROPOUT1                                                                                   \
    "(data:T) -> (output:T, mask?:T) {consumed_inputs?:ints, is_test:int=0, ratio:float=0.5} "
#define DROPOUT6 "(data:T) -> (output:T, mask?:T) {is_test:int=0, ratio:float=0.5} "
#define DROPOUT7 "(data:T) -> (output:T, mask?:T) {ratio:float=0.5} "
#define DROPOUT10 "(data:T) -> (output:T, mask?:T1) {ratio:float=0.5} "
#define DROPOUT12 "(data:T, ratio?:T1, training_mode?:T2) -> (output:T, mask?:T2) {seed?:int} "

extern onx_op_rows onx_ops_random;
onx_op_rows onx_ops_random = {
    {"RandomNormal", 1, NORMAL "[T:f0]", .infer = NULL},
    {"RandomNormal", 22, NORMAL "[T:f]", .infer = NULL},
    {"RandomNormalLike", 1, NORMAL_LIKE "[T1:all1, T2:f0]", .infer = NULL},
    {"RandomNormalLike", 22, NORMAL_LIKE "[T1:all13, T2:f]", .infer = NULL},
    {"RandomUniform", 1, UNIFORM "[T:f0]", .infer = NULL},
    {"RandomUniform", 22, UNIFORM "[T:f]", .infer = NULL},
    {"RandomUniformLike", 1, UNIFORM_LIKE "[T1:all1, T2:f0]", .infer = NULL},
    {"RandomUniformLike", 22, UNIFORM_LIKE "[T1:all13, T2:f]", .infer = NULL},
    {"Bernoulli", 15, BERNOULLI "[T1:f0, T2:n|bool]", .infer = NULL},
    {"Bernoulli", 22, BERNOULLI "[T1:f, T2:n|bool]", .infer = NULL},
    {"Multinomial", 7, MULTINOMIAL "[T1:f0, T2:int32|int64]", .infer = NULL},
    {"Multinomial", 22, MULTINOMIAL "[T1:f, T2:int32|int64]", .infer = NULL},
    {"Dropout", 1, DROPOUT1 "[T:f0]", .infer = NULL},
    {"Dropout", 6, DROPOUT6 "[T:f0]", .infer = NULL},
    {"Dropout", 7, DROPOUT7 "[T:f0]", .infer = NULL},
    {"Dropout", 10, DROPOUT10 "[T:f0, T1:bool]", .infer = NULL},
    {"Dropout", 12, DROPOUT12 "[T:f0, T1:f0, T2:bool]", .infer = NULL},
    {"Dropout", 13, DROPOUT12 "[T:f, T1:f0, T2:bool]", .infer = NULL},
    {"Dropout", 22, DROPOUT12 "[T:f|f8, T1:f|f8, T2:bool]", .infer = NULL},
    {0},
};
