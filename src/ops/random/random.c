/* random.c: numbers drawn at random, and Dropout: meaning. */
#include "ops/op.h"

/* RandomNormal, RandomUniform: all in attributes. */
static onx_status infer_drawn(onx_infer *in) {
    size_t n;
    const int64_t *shape = onx_op_ints(onx_infer_node(in), "shape", &n);
    onx_dtype dtype = ONX_DTYPE_NONE;
    ONX_TRY(onx_infer_elem_type(in, "dtype", &dtype));
    if (!onx_op_has(onx_infer_node(in), "shape"))
        return onx_infer_fail(in, "attribute shape is missing");
    const onx_sym **dims = onx_arena_array(onx_infer_arena(in), n + 1, sizeof *dims);
    if (!dims) return ONX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) dims[i] = onx_sym_int(onx_infer_syms(in), shape[i]);
    return onx_infer_tensor(in, 0, dtype, n, dims);
}

/* The shape of the input; its type, too, unless dtype says another. */
static onx_status infer_drawn_like(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    onx_dtype dtype = x->dtype;
    if (onx_op_has(onx_infer_node(in), "dtype")) ONX_TRY(onx_infer_elem_type(in, "dtype", &dtype));
    return onx_infer_like(in, 0, dtype, x);
}

static onx_status infer_multinomial(onx_infer *in) {
    onx_extent batch = {"batch size", NULL};
    int64_t samples = onx_infer_int(in, "sample_size");
    onx_dtype dtype = ONX_DTYPE_NONE;
    ONX_TRY(onx_infer_elem_type(in, "dtype", &dtype));
    if (dtype != ONX_DTYPE_I32 && dtype != ONX_DTYPE_I64)
        return onx_infer_fail(in, "attribute dtype is %s; it must be int32 or int64",
                              onx_dtype_name(dtype));
    ONX_TRY(onx_infer_unify(in, 0, 2, (onx_extent *[]){&batch, NULL}));
    const onx_sym *dims[] = {batch.size, onx_sym_int(onx_infer_syms(in), samples)};
    return onx_infer_tensor(in, 0, dtype, 2, dims);
}

/* The mask has the type of the data before opset 10. */
static onx_status infer_dropout(onx_infer *in) {
    const onx_fact *x = onx_infer_in(in, 0);
    const onx_sym *ignored;
    ONX_TRY(onx_infer_scalar(in, 1, &ignored));
    ONX_TRY(onx_infer_scalar(in, 2, &ignored));
    ONX_TRY(onx_infer_like(in, 0, x->dtype, x));
    return onx_infer_like(in, 1, onx_infer_op(in)->since < 10 ? x->dtype : ONX_DTYPE_BOOL, x);
}

/* 1 where a number of 0 … 1 is below the probability. */
static onx_status write_bernoulli(const onx_op *op, const onx_node *node, size_t n_in,
                                  const onx_fact *const *ins, onx_buf *out, onx_diag *diag) {
    onx_dtype type = n_in ? ins[0]->dtype : ONX_DTYPE_NONE;
    bool other = onx_op_has(node, "dtype");
    if (!type) return onx_fail(diag, ONX_NOT_FOUND, "the type of the input is not known");
    onx_buf_printf(out,
                   "Random = RandomUniformLike <low = 0.0, high = 1.0, seed: float = @seed, "
                   "dtype = %d> (input)"
                   " Below = Greater (input, Random)"
                   " output = Cast <to = %lld> (Below)",
                   (int)type, other ? (long long)onx_op_int(op, node, "dtype") : type);
    return ONX_OK;
}

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
    {"RandomNormal", 1, NORMAL "[T:f0]", .infer = infer_drawn},
    {"RandomNormal", 22, NORMAL "[T:f]", .infer = infer_drawn},
    {"RandomNormalLike", 1, NORMAL_LIKE "[T1:all1, T2:f0]", .infer = infer_drawn_like},
    {"RandomNormalLike", 22, NORMAL_LIKE "[T1:all13, T2:f]", .infer = infer_drawn_like},
    {"RandomUniform", 1, UNIFORM "[T:f0]", .infer = infer_drawn},
    {"RandomUniform", 22, UNIFORM "[T:f]", .infer = infer_drawn},
    {"RandomUniformLike", 1, UNIFORM_LIKE "[T1:all1, T2:f0]", .infer = infer_drawn_like},
    {"RandomUniformLike", 22, UNIFORM_LIKE "[T1:all13, T2:f]", .infer = infer_drawn_like},
    {"Bernoulli", 15, BERNOULLI "[T1:f0, T2:n|bool]", .infer = infer_drawn_like,
     .body = write_bernoulli},
    {"Bernoulli", 22, BERNOULLI "[T1:f, T2:n|bool]", .infer = infer_drawn_like,
     .body = write_bernoulli},
    {"Multinomial", 7, MULTINOMIAL "[T1:f0, T2:int32|int64]", .infer = infer_multinomial},
    {"Multinomial", 22, MULTINOMIAL "[T1:f, T2:int32|int64]", .infer = infer_multinomial},
    {"Dropout", 1, DROPOUT1 "[T:f0]", .infer = infer_dropout},
    {"Dropout", 6, DROPOUT6 "[T:f0]", .infer = infer_dropout},
    {"Dropout", 7, DROPOUT7 "[T:f0]", .infer = infer_dropout},
    {"Dropout", 10, DROPOUT10 "[T:f0, T1:bool]", .infer = infer_dropout},
    {"Dropout", 12, DROPOUT12 "[T:f0, T1:f0, T2:bool]", .infer = infer_dropout},
    {"Dropout", 13, DROPOUT12 "[T:f, T1:f0, T2:bool]", .infer = infer_dropout},
    {"Dropout", 22, DROPOUT12 "[T:f|f8, T1:f|f8, T2:bool]", .infer = infer_dropout},
    {0},
};
