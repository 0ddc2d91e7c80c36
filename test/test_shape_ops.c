/* test_shape_ops.c: kernels that only move elements: against ONNX's backend tests, and odd cases. */
#include "test.h"

#include "kernel.h"

/* Every backend test of these operators that is one node. */
TEST(backend) {
    static const struct {
        const char *prefix, *except;
    } sets[] = {
        {"reshape_", NULL},     {"slice", NULL},    {"concat_", NULL},  {"split_", "sequence"},
        {"expand_", NULL},      {"tile", NULL},     {"constant", NULL}, {"edge_pad", NULL},
        {"reflect_pad", NULL},  {"wrap_pad", NULL}, {"gather", NULL},   {"transpose_", NULL},
        {"range_", "expanded"}, {"shape", NULL},    {"size", NULL},     {"squeeze", NULL},
        {"unsqueeze", NULL},    {"flatten", NULL},  {"identity", NULL}, {"onehot", NULL},
        {"compress", NULL},     {"nonzero", NULL},  {"scatter", NULL},  {"top_k", NULL},
        {"tril", NULL},         {"triu", NULL},     {"cumsum", NULL},   {"depthtospace", NULL},
        {"spacetodepth", NULL}, {"eyelike", NULL},
    };
    if (!getenv("ONX_DATA")) SKIP("ONX_DATA is not set");
    size_t total = 0;
    for (size_t i = 0; i < ONX_COUNT(sets); i++) {
        size_t failed = 0, ran = kernel_backend(sets[i].prefix, sets[i].except, &failed);
        if (!CHECK(ran > 0 && failed == 0))
            fprintf(stderr, "    %s: %zu ran, %zu failed\n", sets[i].prefix, ran, failed);
        total += ran;
    }
    CHECK(total > 100);
}

TEST_MAIN(E(backend))
