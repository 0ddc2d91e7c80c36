/* Functions of several tensors, element by element: every tier against recorded outputs and against
 * the plain kernels; shapes, types, and integers at their limits. */
#include "test.h"

#include "kernel.h"

#include <math.h>

TEST(backend) {
    static const char *const prefixes[] = {"add",         "cast",        "and",
                                           "bitshift",    "bitwise_and", "bitwise_or",
                                           "bitwise_xor", "div",         "equal",
                                           "greater",     "less",        "max_",
                                           "mean_",       "min_",        "mod",
                                           "mul",         "or",          "pow",
                                           "prelu",       "sub",         "sum",
                                           "where",       "xor",         "abs",
                                           "acos",        "asin",        "atan",
                                           "bitwise_not", "ceil",        "celu",
                                           "clip",        "cos",         "elu",
                                           "erf",         "exp_",        "exp",
                                           "floor",       "gelu",        "hardsigmoid",
                                           "hardswish",   "isinf",       "isnan",
                                           "leakyrelu",   "log_",        "log",
                                           "mish",        "neg_",        "neg",
                                           "not_",        "reciprocal",  "relu",
                                           "round",       "selu",        "shrink",
                                           "sigmoid",     "sign",        "sin",
                                           "softplus",    "softsign",    "sqrt",
                                           "swish",       "tan",         "thresholdedrelu"};
    size_t failed = 0, ran = 0;
    for (size_t i = 0; i < ONX_COUNT(prefixes); i++)
        ran += kernel_backend(prefixes[i], "expanded|expand_|logsoftmax|log_softmax|negative_log",
                              &failed);
    if (!ran) SKIP("ONX_DATA is not set");
    printf("%zu backend tests\n", ran);
    CHECK_EQ(failed, 0);
}

TEST_MAIN(E(backend))
