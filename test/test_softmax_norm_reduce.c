/* Softmax, normalization, reduction: every tier against recorded outputs and against the plain
 * kernels, at odd sizes, in place, empty. */
#include "test.h"

#include "kernel.h"

#include <math.h>

TEST(backend) {
    static const char *const prefixes[] = {"layer_normalization",
                                           "rms_normalization",
                                           "batchnorm",
                                           "instancenorm",
                                           "group_normalization",
                                           "softmax",
                                           "logsoftmax",
                                           "hardmax",
                                           "reduce_",
                                           "argmax",
                                           "argmin"};
    size_t failed = 0, ran = 0;
    for (size_t i = 0; i < ONX_COUNT(prefixes); i++)
        ran += kernel_backend(prefixes[i], "expanded", &failed);
    if (!ran) SKIP("ONX_DATA is not set");
    printf("%zu backend tests\n", ran);
    CHECK_EQ(failed, 0);
}

TEST_MAIN(E(backend))
