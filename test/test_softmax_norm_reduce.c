/* Softmax, normalization, reduction: every tier against recorded outputs and against the plain
 * kernels, at odd sizes and addresses, in place, empty; axes that are wrong. */
#include "test.h"

#include "kernel.h"
#include "kernel_place.h"

#include <math.h>

TEST(backend) {
    static const char *const prefixes[] = {"layer_normalization",
                                           "rms_normalization",
                                           "batchnorm",
                                           "instancenorm",
                                           "group_normalization",
                                           "l1normalization",
                                           "l2normalization",
                                           "lpnormalization",
                                           "lrn",
                                           "mvn",
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

/* ─ Vectors against plain loops ──────────────────────────────────────────────────────────────── */

enum { MANY = 20000 };

/* Inputs 1 … are parameters with the sizes given, all at odd addresses. */
static void compare(const char *tier, const char *text, size_t n, const char *const *dims) {
    static char memory[5][MANY * 4 + 4];
    static float values[MANY];
    onx_operand x[5], *in[5];
    for (size_t i = 0; i < n; i++) {
        kernel_fill(values, MANY, i + 3, i == 4 ? 0.5f : -3, 3); /* input 4: variances */
        memcpy(memory[i] + 1, values, sizeof values);
        x[i] = kernel_operand(ONX_DTYPE_F32, dims[i], memory[i] + 1);
        in[i] = &x[i];
    }
    kernel_result r = kernel_run(tier, 23, text, n, in, 0);
    kernel_result ref = kernel_run("ref", 23, text, n, in, 0);
    double worst = r.status || ref.status ? HUGE_VAL : 0;
    for (size_t o = 0; o < r.n_out && worst < HUGE_VAL; o++)
        worst = fmax(worst, kernel_distance(&r.out[o], &ref.out[o]));
    if (!CHECK(worst <= 2e-5))
        fprintf(stderr, "    %s of %s on %s: %g %s\n", text, dims[0], tier, worst, r.diag.message);
    if (r.status == ONX_OK && strcmp(tier, "ref") != 0)
        CHECK(strstr(r.kernel->name, "_f32") != NULL);
    kernel_free(&r);
    kernel_free(&ref);
}

typedef struct example {
    const char *text;
    const char *dims[5];
} example;

static void compare_all(const example *examples, size_t n) {
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < n; i++) {
            size_t n_in = 0;
            while (n_in < 5 && examples[i].dims[n_in]) n_in++;
            compare(*tier, examples[i].text, n_in, examples[i].dims);
        }
}

TEST(softmax) {
    static const example examples[] = {
        {"y = Softmax(x)", {"1"}},
        {"y = Softmax(x)", {"5,7"}},
        {"y = Softmax(x)", {"3,16"}},
        {"y = Softmax(x)", {"3,33"}},
        {"y = Softmax(x)", {"2,3000"}},
        {"y = Softmax(x)", {"2,2049"}},
        {"y = Softmax<axis=1>(x)", {"2,5,19"}},
        {"y = Softmax<axis=0>(x)", {"70,3,2"}},
        {"y = Softmax<axis=1>(x)", {"1,21,900"}},
        {"y = Softmax<axis=1>(x)", {"3,1,4"}},
        {"y = Softmax<axis=1>(x)", {"5,37,4"}},
        {"y = Softmax<axis=1>(x)", {"2,196,2"}},
        {"y = Softmax<axis=1>(x)", {"2,19,3"}},
        {"y = Softmax<axis=1>(x)", {"3,50,7"}},
        {"y = Softmax<axis=1>(x)", {"3,33,15"}},
        {"y = LogSoftmax<axis=1>(x)", {"3,33,5"}},
        {"y = LogSoftmax<axis=1>(x)", {"4,64,6"}},
        {"y = Softmax<axis=1>(x)", {"0,3"}},
        {"y = Softmax<axis=1>(x)", {"3,0"}},
        {"y = LogSoftmax(x)", {"5,7"}},
        {"y = LogSoftmax(x)", {"2,2049"}},
        {"y = LogSoftmax<axis=1>(x)", {"2,5,19"}},
    };
    compare_all(examples, ONX_COUNT(examples));
}

TEST(softmax_flat) {
    float x[24];
    kernel_fill(x, 24, 1, -2, 2);
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "2,3,4", x);
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r =
            kernel_run(*tier, 11, "y = Softmax<axis=1>(x)", 1, (onx_operand *[]){&a}, 0);
        REQUIRE(r.status == ONX_OK);
        for (size_t i = 0; i < 2; i++) {
            float sum = 0;
            for (size_t k = 0; k < 12; k++) sum += ((float *)r.out[0].data)[i * 12 + k];
            CHECK(fabsf(sum - 1) < 1e-6f);
        }
        kernel_free(&r);
        r = kernel_run(*tier, 11, "y = Softmax<axis=4>(x)", 1, (onx_operand *[]){&a}, 0);
        CHECK_EQ(r.status, ONX_INVALID);
        kernel_free(&r);
    }
}

/* Large elements, and rows of -inf but for one. */
TEST(softmax_range) {
    float x[2][20];
    for (size_t i = 0; i < 20; i++) {
        x[0][i] = i == 3 ? 3e38f : -3e38f;
        x[1][i] = i == 17 ? -5.0f : -INFINITY;
    }
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "2,20", x);
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r = kernel_run(*tier, 20, "y = Softmax(x)", 1, (onx_operand *[]){&a}, 0);
        REQUIRE(r.status == ONX_OK);
        float *y = r.out[0].data;
        for (size_t i = 0; i < 40; i++) CHECK(y[i] == (i == 3 || i == 37 ? 1.0f : 0.0f));
        kernel_free(&r);
    }
}

TEST(normalization) {
    static const example examples[] = {
        {"y, m, d = LayerNormalization(x, s, b)", {"3,33", "33", "33"}},
        {"y, m, d = LayerNormalization<axis=1>(x, s)", {"2,3,5", "3,5"}},
        {"y = LayerNormalization<axis=0>(x, s)", {"2,3,5", "2,3,5"}},
        {"y = LayerNormalization(x, s, b)", {"7,768", "768", "768"}},
        {"y = LayerNormalization(x, s, b)", {"4,4", "4,1", ""}},
        {"y = LayerNormalization(x, s, b)", {"4,4", "4,4", "1"}},
        {"y = LayerNormalization(x, s)", {"1", "1"}},
        {"y, m, d = LayerNormalization(x, s)", {"0,3", "3"}},
        {"y, m, d = LayerNormalization(x, s)", {"3,0", "0"}},
        {"y = RMSNormalization(x, s)", {"5,100", "100"}},
        {"y = RMSNormalization(x, s)", {"5,100", "1"}},
        {"y = InstanceNormalization(x, s, b)", {"2,3,5,5", "3", "3"}},
        {"y = InstanceNormalization(x, s, b)", {"2,3", "3", "3"}},
        {"y = InstanceNormalization(x, s, b)", {"2,3,0", "3", "3"}},
        {"y = GroupNormalization<num_groups=2>(x, s, b)", {"2,6,5,5", "6", "6"}},
        {"y = BatchNormalization(x, s, b, m, v)", {"2,3,5,7", "3", "3", "3", "3"}},
        {"y = BatchNormalization(x, s, b, m, v)", {"5,3", "3", "3", "3", "3"}},
        {"y = BatchNormalization(x, s, b, m, v)", {"0,3,2", "3", "3", "3", "3"}},
        {"y, m2, v2 = BatchNormalization<training_mode=1>(x, s, b, m, v)",
         {"2,3,5", "3", "3", "3", "3"}},
    };
    compare_all(examples, ONX_COUNT(examples));
}

TEST(reduction) {
    static const char *const ops[] = {"ReduceSum",       "ReduceMean",     "ReduceMax",
                                      "ReduceMin",       "ReduceL1",       "ReduceL2",
                                      "ReduceSumSquare", "ReduceLogSumExp"};
    static const struct {
        const char *dims;
        size_t n;
        int64_t axes[4];
    } cases[] = {
        {"", 0, {0}},
        {"7", 1, {0}},
        {"5,37", 1, {1}},
        {"5,37", 1, {0}},
        {"300,37", 1, {-2}},
        {"2,3,7,7", 2, {2, 3}},
        {"2,3,7,7", 2, {1, -1}},
        {"2,3,4,5,6", 3, {0, 2, 4}},
        {"4,5", 0, {0}},
        {"1,1,1", 1, {1}},
        {"3,0,2", 1, {0}},
        {"3,1,1000", 2, {0, 1}},
        {"2,5000", 1, {1}},
        {"3,4", 2, {1, 1}},
    };
    static float x[MANY];
    kernel_fill(x, MANY, 9, -1, 1);
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < ONX_COUNT(cases); i++)
            for (size_t o = 0; o < ONX_COUNT(ops); o++) {
                char text[64], n[4];
                int64_t axes[4];
                memcpy(axes, cases[i].axes, sizeof axes);
                (void)snprintf(n, sizeof n, "%zu", cases[i].n);
                (void)snprintf(text, sizeof text, "y = %s<keepdims=%d>(x, axes)", ops[o],
                               (int)(o % 2));
                onx_operand a = kernel_operand(ONX_DTYPE_F32, cases[i].dims, x + 1),
                            b = kernel_operand(ONX_DTYPE_I64, n, axes);
                onx_operand *in[] = {&a, &b};
                kernel_result r = kernel_run(*tier, 20, text, 2, in, 0);
                kernel_result ref = kernel_run("ref", 20, text, 2, in, 0);
                double d =
                    r.status || ref.status ? HUGE_VAL : kernel_distance(&r.out[0], &ref.out[0]);
                if (!CHECK(d <= 1e-5))
                    fprintf(stderr, "    %s of %s on %s: %g\n", text, cases[i].dims, *tier, d);
                kernel_free(&r);
                kernel_free(&ref);
            }
}

/* A NaN is not lost; sums of many floats stay near. */
TEST(reduction_of_floats) {
    static float x[100000];
    for (size_t i = 0; i < 100000; i++) x[i] = 0.1f;
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "100000", x),
                b = kernel_operand(ONX_DTYPE_F32, "40", x);
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r = kernel_run(*tier, 20, "y = ReduceSum(x)", 1, (onx_operand *[]){&a}, 0);
        REQUIRE(r.status == ONX_OK);
        CHECK(fabs((double)*(float *)r.out[0].data - 100000 * (double)0.1f) < 0.01);
        kernel_free(&r);
        for (size_t at = 0; at < 40; at++) {
            x[at] = NAN;
            static const char *const nodes[] = {"y = ReduceMax(x)", "y = ReduceMin(x)",
                                                "y = Softmax(x)", "y = ReduceLogSumExp(x)"};
            for (size_t i = 0; i < ONX_COUNT(nodes); i++) {
                r = kernel_run(*tier, 20, nodes[i], 1, (onx_operand *[]){&b}, 0);
                REQUIRE(r.status == ONX_OK);
                CHECK(isnan(*(float *)r.out[0].data));
                kernel_free(&r);
            }
            x[at] = 0.1f;
        }
    }
}

/* Along rows and down columns, of numbers whose powers overflow or vanish. */
TEST(log_sum_exp) {
    static const float values[] = {1000, -1000, INFINITY, -INFINITY};
    static float x[2 * 40];
    int64_t axes[] = {0, 1};
    for (size_t i = 0; i < 2 * ONX_COUNT(values); i++)
        for (const char *const *tier = kernel_tiers(); *tier; tier++) {
            float value = values[i / 2];
            for (size_t k = 0; k < ONX_COUNT(x); k++) x[k] = value;
            if (value == INFINITY) x[17] = -value;
            onx_operand a = kernel_operand(ONX_DTYPE_F32, "2,40", x),
                        axis = kernel_operand(ONX_DTYPE_I64, "1", &axes[i % 2]);
            kernel_result r = kernel_run(*tier, 20, "y = ReduceLogSumExp(x, axes)", 2,
                                         (onx_operand *[]){&a, &axis}, 0);
            REQUIRE(r.status == ONX_OK && r.out[0].count == (i % 2 ? 2 : 40));
            double want = (double)value + log(i % 2 ? 40 : 2);
            for (int64_t k = 0; k < r.out[0].count; k++) {
                double got = (double)((float *)r.out[0].data)[k];
                CHECK(got == want || fabs(got - want) < 1e-3);
            }
            kernel_free(&r);
        }
}

TEST(reduction_of_integers) {
    static const struct {
        const char *op;
        onx_dtype dtype;
        int64_t x[3], want;
    } cases[] = {
        {"ReduceSum", ONX_DTYPE_I32, {INT32_MAX, 1, 0}, INT32_MIN},
        {"ReduceSum", ONX_DTYPE_I64, {INT64_MAX, 1, 0}, INT64_MIN},
        {"ReduceMean", ONX_DTYPE_I32, {-1, -1, -6}, -2},
        {"ReduceMax", ONX_DTYPE_U64, {-1, 5, 0}, -1},
        {"ReduceMax", ONX_DTYPE_I8, {-1, -5, -9}, -1},
        {"ReduceMin", ONX_DTYPE_U8, {200, 5, 100}, 5},
        {"ReduceProd", ONX_DTYPE_I64, {INT64_MIN, -1, 1}, INT64_MIN},
        {"ReduceL1", ONX_DTYPE_I64, {INT64_MIN, 0, 0}, INT64_MIN},
        {"ReduceL2", ONX_DTYPE_I32, {3, 4, 0}, 5},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        char x[24], text[64];
        int64_t got = 0;
        (void)onx_dtype_convert(ONX_DTYPE_I64, cases[i].x, cases[i].dtype, x, 3, false);
        onx_operand a = kernel_operand(cases[i].dtype, "3", x);
        (void)snprintf(text, sizeof text, "y = %s(x)", cases[i].op);
        kernel_result r = kernel_run("ref", 20, text, 1, (onx_operand *[]){&a}, 0);
        REQUIRE(r.status == ONX_OK && r.out[0].dtype == cases[i].dtype);
        (void)onx_dtype_convert(cases[i].dtype, r.out[0].data, ONX_DTYPE_I64, &got, 1, false);
        CHECK_EQ(got, cases[i].want);
        kernel_free(&r);
    }
    onx_operand none = kernel_operand(ONX_DTYPE_I8, "0", NULL);
    kernel_result r = kernel_run("ref", 20, "y = ReduceMax(x)", 1, (onx_operand *[]){&none}, 0);
    REQUIRE(r.status == ONX_OK);
    CHECK_EQ(*(int8_t *)r.out[0].data, INT8_MIN);
    kernel_free(&r);
}

static void extremes_on(const char *tier) {
    float x[6] = {1, 5, 5, NAN, 9, NAN};
    uint64_t u[3] = {1, UINT64_MAX, 2};
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "2,3", x),
                b = kernel_operand(ONX_DTYPE_U64, "3", u);
    static const struct {
        const char *text;
        int64_t want[2];
    } cases[] = {{"y = ArgMax<axis=1>(x)", {1, 0}},
                 {"y = ArgMax<axis=1, select_last_index=1>(x)", {2, 2}},
                 {"y = ArgMin<axis=-1, keepdims=0>(x)", {0, 0}}};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        kernel_result r = kernel_run(tier, 13, cases[i].text, 1, (onx_operand *[]){&a}, 0);
        REQUIRE(r.status == ONX_OK && r.out[0].dtype == ONX_DTYPE_I64 && r.out[0].count == 2);
        CHECK(memcmp(r.out[0].data, cases[i].want, 16) == 0);
        kernel_free(&r);
    }
    kernel_result r = kernel_run(tier, 13, "y = ArgMax(x)", 1, (onx_operand *[]){&b}, 0);
    CHECK(r.status == ONX_OK && *(int64_t *)r.out[0].data == 1);
    kernel_free(&r);
    static const char *const wrong[] = {"y = ArgMax<axis=2>(x)", "y = ArgMin<axis=-3>(x)",
                                        "y = ArgMin<axis=-9223372036854775808>(x)"};
    for (size_t i = 0; i < ONX_COUNT(wrong); i++) {
        r = kernel_run(tier, 13, wrong[i], 1, (onx_operand *[]){&a}, 0);
        CHECK_EQ(r.status, ONX_INVALID);
        kernel_free(&r);
    }
    onx_operand none = kernel_operand(ONX_DTYPE_F32, "2,0", NULL);
    r = kernel_run(tier, 13, "y = ArgMax<axis=1>(x)", 1, (onx_operand *[]){&none}, 0);
    CHECK_EQ(r.status, ONX_INVALID);
    kernel_free(&r);
}

/* Rows longer than vectors, with equal elements and, in the second, a NaN. */
static void long_rows_on(const char *tier) {
    static float x[2 * 75];
    for (size_t i = 0; i < 150; i++) x[i] = (float)(i * 7 % 30);
    x[75 + 40] = NAN;
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "2,75", x);
    static const char *const nodes[] = {"y = ArgMax<axis=1>(x)", "y = ArgMin<axis=1>(x)",
                                        "y = ArgMax<axis=1, select_last_index=1>(x)",
                                        "y = ArgMin<axis=1, select_last_index=1>(x)",
                                        "y = ArgMax<axis=0>(x)"};
    for (size_t i = 0; i < ONX_COUNT(nodes); i++) {
        kernel_result r = kernel_run(tier, 13, nodes[i], 1, (onx_operand *[]){&a}, 0);
        kernel_result ref = kernel_run("ref", 13, nodes[i], 1, (onx_operand *[]){&a}, 0);
        REQUIRE(r.status == ONX_OK && ref.status == ONX_OK);
        CHECK(memcmp(r.out[0].data, ref.out[0].data, ref.out[0].bytes) == 0);
        if (i < 4) CHECK_EQ(((int64_t *)r.out[0].data)[1], 40);
        kernel_free(&r);
        kernel_free(&ref);
    }
}

TEST(where_the_extreme_is) {
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        extremes_on(*tier);
        long_rows_on(*tier);
    }
}

TEST(in_place) {
    float x[2 * 3 * 40], keep[2 * 3 * 40], s[40], b[40];
    static const char *const nodes[] = {"y = Softmax(x)", "y = Softmax<axis=1>(x)",
                                        "y = LogSoftmax(x)", "y = LayerNormalization(x, s, b)",
                                        "y = RMSNormalization(x, s)"};
    kernel_fill(s, 40, 2, -2, 2);
    kernel_fill(b, 40, 3, -2, 2);
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < ONX_COUNT(nodes); i++) {
            kernel_fill(x, 240, 1, -3, 3);
            onx_operand a = kernel_operand(ONX_DTYPE_F32, "2,3,40", x),
                        p = kernel_operand(ONX_DTYPE_F32, "40", s),
                        q = kernel_operand(ONX_DTYPE_F32, "40", b);
            onx_operand *in[] = {&a, &p, &q};
            size_t n = i < 3 ? 1 : i == 3 ? 3 : 2;
            kernel_result r = kernel_run(*tier, 23, nodes[i], n, in, 0);
            REQUIRE(r.status == ONX_OK);
            memcpy(keep, r.out[0].data, sizeof keep);
            kernel_free(&r);
            CHECK(kernel_in_place(*tier, 23, nodes[i], n, in, 0));
            CHECK(memcmp(keep, x, sizeof keep) == 0);
        }
}

/* ─ What is wrong ────────────────────────────────────────────────────────────────────────────── */

TEST(wrong_shapes) {
    static float x[64];
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "2,3,4", x),
                three = kernel_operand(ONX_DTYPE_F32, "3", x),
                four = kernel_operand(ONX_DTYPE_F32, "4", x),
                one = kernel_operand(ONX_DTYPE_F32, "5", x);
    onx_operand far = kernel_operand(ONX_DTYPE_I64, "1", (int64_t[]){3}),
                least = kernel_operand(ONX_DTYPE_I64, "1", (int64_t[]){INT64_MIN});
    const struct {
        const char *text;
        size_t n;
        onx_operand *in[5];
    } wrong[] = {
        {"y = Softmax<axis=3>(x)", 1, {&a}},
        {"y = Softmax<axis=-9223372036854775808>(x)", 1, {&a}},
        {"y = ReduceSum(x, axes)", 2, {&a, &far}},
        {"y = ReduceMean(x, axes)", 2, {&a, &least}},
        {"y = LayerNormalization(x, s)", 2, {&a, &three}},
        {"y = LayerNormalization<axis=5>(x, s)", 2, {&a, &four}},
        {"y = LayerNormalization(x, s, b)", 3, {&a, &four, &one}},
        {"y = InstanceNormalization(x, s, b)", 3, {&a, &four, &three}},
        {"y = InstanceNormalization(x, s, b)", 3, {&three, &three, &three}},
        {"y = GroupNormalization<num_groups=2>(x, s, b)", 3, {&a, &three, &three}},
        {"y = GroupNormalization<num_groups=0>(x, s, b)", 3, {&a, &three, &three}},
        {"y = BatchNormalization(x, s, b, m, v)", 5, {&a, &three, &three, &three, &four}},
    };
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < ONX_COUNT(wrong); i++) {
            kernel_result r = kernel_run(*tier, 23, wrong[i].text, wrong[i].n, wrong[i].in, 0);
            if (!CHECK(r.status == ONX_INVALID && r.diag.message[0]))
                fprintf(stderr, "    %s: %s\n", wrong[i].text, onx_status_name(r.status));
            kernel_free(&r);
        }
    onx_operand huge = kernel_operand(ONX_DTYPE_F32, "1099511627776,0,1099511627776", NULL);
    static const char *const empty[] = {"y = Softmax<axis=0>(x)",
                                        "y = ReduceSum<keepdims=0>(x, axes)", "y = Add(x, x)",
                                        "y = Relu(x)"};
    onx_operand first = kernel_operand(ONX_DTYPE_I64, "1", (int64_t[]){0});
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < ONX_COUNT(empty); i++) {
            size_t n = i == 1 || i == 2 ? 2 : 1;
            kernel_result r = kernel_run(*tier, 20, empty[i], n,
                                         (onx_operand *[]){&huge, i == 1 ? &first : &huge}, 0);
            CHECK(r.status == ONX_OK && r.out[0].count == 0);
            kernel_free(&r);
        }
    onx_operand middle = kernel_operand(ONX_DTYPE_I64, "1", (int64_t[]){1});
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r = kernel_run(*tier, 20, "y = ReduceSum(x, axes)", 2,
                                     (onx_operand *[]){&huge, &middle}, 0);
        CHECK_EQ(r.status, ONX_LIMIT);
        kernel_free(&r);
    }
}

/* The operators of ai.onnx, for models whose opset does not have them. */
TEST(internal_norms) {
    static const char *const nodes[][2] = {
        {"y = LayerNormalization<epsilon = 0.01>(x, s, b)",
         "y = onx.internal.LayerNormalization<epsilon = 0.01>(x, s, b)"},
        {"y = RMSNormalization<epsilon = 0.01>(x, s)",
         "y = onx.internal.RMSNormalization<epsilon = 0.01>(x, s)"},
    };
    float numbers[5 * 37], scale[37], bias[37];
    kernel_fill(numbers, 5 * 37, 1, -2, 2);
    kernel_fill(scale, 37, 2, -2, 2);
    kernel_fill(bias, 37, 3, -2, 2);
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "5,37", numbers);
    onx_operand s = kernel_operand(ONX_DTYPE_F32, "37", scale);
    onx_operand b = kernel_operand(ONX_DTYPE_F32, "37", bias);
    for (const char *const *t = kernel_tiers(); *t; t++)
        for (size_t i = 0; i < 2; i++) {
            kernel_result want =
                kernel_run(*t, 23, nodes[i][0], 3 - i, (onx_operand *[]){&x, &s, &b}, 0);
            kernel_result got =
                kernel_run(*t, 13, nodes[i][1], 3 - i, (onx_operand *[]){&x, &s, &b}, 0);
            CHECK(want.status == ONX_OK && got.status == ONX_OK);
            CHECK(got.status == ONX_OK && kernel_distance(&got.out[0], &want.out[0]) == 0);
            kernel_free(&got);
            kernel_free(&want);
        }
}

TEST_MAIN(E(backend) E(softmax) E(softmax_flat) E(softmax_range) E(normalization) E(reduction)
              E(reduction_of_floats) E(log_sum_exp) E(reduction_of_integers) E(where_the_extreme_is)
                  E(in_place) E(wrong_shapes) E(internal_norms))
