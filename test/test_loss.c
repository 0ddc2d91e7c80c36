/* test_loss.c: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss against the definition. */
#include "kernel.h"
#include "support.h"
#include "test.h"

#include <math.h>

enum { N = 37, C = 11, D = 90 };

typedef struct sample {
    float x[N * C * D], w[C];
    int64_t t[N * D];
} sample;

static void fill(sample *s) {
    kernel_fill(s->x, N * C * D, 1, -3, 3);
    kernel_fill(s->w, C, 2, 0.1f, 2);
    for (size_t i = 0; i < N * D; i++) s->t[i] = (int64_t)(i * 7 % C);
}

/* By coordinates: score [n][c][d] of `places` places; the loss of one target. */
static double loss_at(const double *x, size_t places, size_t n, size_t d, int64_t class,
                      bool softmax) {
    double sum = 0, score = x[(n * C + (size_t) class) * places + d];
    for (size_t c = 0; c < C; c++) sum += exp(x[(n * C + c) * places + d]);
    return softmax ? log(sum) - score : -score;
}

static void check(onx_dtype dtype, bool softmax, const char *reduction, bool weighted,
                  int64_t ignored, size_t places, double tolerance) {
    static sample s;
    static double x[N * C * D];
    static char raw[N * C * D * 8], weights[C * 8];
    double w[C], sum = 0, all = 0;
    char node[200], dims[60], target[60];
    fill(&s);
    (void)onx_dtype_convert(ONX_DTYPE_F32, s.x, dtype, raw, N * C * places, false);
    (void)onx_dtype_convert(dtype, raw, ONX_DTYPE_F64, x, N * C * places, false);
    (void)onx_dtype_convert(ONX_DTYPE_F32, s.w, dtype, weights, C, false);
    (void)onx_dtype_convert(dtype, weights, ONX_DTYPE_F64, w, C, false);
    snprintf(dims, sizeof dims, places == 1 ? "37,11" : "37,11,9,10");
    snprintf(target, sizeof target, places == 1 ? "37" : "37,9,10");
    snprintf(node, sizeof node, "y%s = %s<reduction = \"%s\"", softmax ? ", p" : "",
             softmax ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss", reduction);
    if (ignored >= 0) sprintf(node + strlen(node), ", ignore_index = %d", (int)ignored);
    strcat(node, ">(x, t, w)");
    onx_operand a = kernel_operand(dtype, dims, raw),
                t = kernel_operand(ONX_DTYPE_I64, target, s.t);
    onx_operand b = kernel_operand(dtype, "11", weights);
    kernel_result r =
        kernel_run("ref", 22, node, weighted ? 3 : 2, (onx_operand *[]){&a, &t, &b}, 0);
    REQUIRE(r.status == ONX_OK);
    size_t wrong = 0, size = onx_dtype_bits(dtype) / 8;
    for (size_t n = 0; n < N; n++)
        for (size_t d = 0; d < places; d++) {
            int64_t class = s.t[n * places + d];
            double weight = class == ignored ? 0 : weighted ? w[class] : 1, got = 0;
            double loss = weight * loss_at(x, places, n, d, class, softmax);
            sum += loss, all += weight;
            if (strcmp(reduction, "none") != 0) continue;
            (void)onx_dtype_convert(dtype, (char *)r.out[0].data + (n * places + d) * size,
                                    ONX_DTYPE_F64, &got, 1, false);
            wrong += fabs(got - loss) > tolerance * (1 + fabs(loss));
        }
    if (strcmp(reduction, "none") != 0) {
        double want = strcmp(reduction, "sum") == 0 ? sum : sum / all, got = 0;
        (void)onx_dtype_convert(dtype, r.out[0].data, ONX_DTYPE_F64, &got, 1, false);
        wrong += fabs(got - want) > tolerance * (1 + fabs(want));
    }
    for (size_t i = 0; softmax && i < N * C * places; i++) {
        double got,
            want = -loss_at(x, places, i / places / C, i % places, (int64_t)(i / places % C), true);
        (void)onx_dtype_convert(dtype, (char *)r.out[1].data + i * size, ONX_DTYPE_F64, &got, 1,
                                false);
        wrong += fabs(got - want) > tolerance * (1 + fabs(want));
    }
    if (!CHECK(wrong == 0)) fprintf(stderr, "    %s of %s\n", node, onx_dtype_name(dtype));
    kernel_free(&r);
}

TEST(definition) {
    static const struct {
        onx_dtype dtype;
        double tolerance;
    } types[] = {{ONX_DTYPE_F64, 1e-13},
                 {ONX_DTYPE_F32, 1e-7},
                 {ONX_DTYPE_F16, 1e-3},
                 {ONX_DTYPE_BF16, 8e-3}};
    static const char *const reductions[] = {"none", "mean", "sum"};
    for (size_t t = 0; t < ONX_COUNT(types); t++)
        for (size_t k = 0; k < 48; k++)
            check(types[t].dtype, k % 2, reductions[k / 2 % 3], k / 6 % 2, k / 12 % 2 ? 4 : -1,
                  k / 24 ? D : 1, types[t].tolerance);
}

TEST(far_from_zero) {
    double x[4] = {1e300, -1e300, 800, 801};
    int64_t t[2] = {0, 1};
    onx_operand a = kernel_operand(ONX_DTYPE_F64, "2,2", x),
                b = kernel_operand(ONX_DTYPE_I64, "2", t);
    kernel_result r =
        kernel_run("ref", 13, "y = SoftmaxCrossEntropyLoss<reduction = \"none\">(x, t)", 2,
                   (onx_operand *[]){&a, &b}, 0);
    REQUIRE(r.status == ONX_OK);
    const double *y = r.out[0].data;
    CHECK(y[0] == 0 && fabs(y[1] - log1p(exp(-1))) < 1e-12);
    kernel_free(&r);
}

TEST(refusals) {
    float x[12] = {0}, w[4] = {0};
    int64_t t[3] = {0, 3, 1}, bad[3] = {0, 4, 1}, negative[3] = {-1, 0, 0};
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "3,4", x),
                flat = kernel_operand(ONX_DTYPE_F32, "12", x);
    onx_operand ok = kernel_operand(ONX_DTYPE_I64, "3", t),
                high = kernel_operand(ONX_DTYPE_I64, "3", bad);
    onx_operand low = kernel_operand(ONX_DTYPE_I64, "3", negative);
    onx_operand few = kernel_operand(ONX_DTYPE_I64, "2", t),
                column = kernel_operand(ONX_DTYPE_I64, "3,1", t);
    onx_operand four = kernel_operand(ONX_DTYPE_F32, "4", w),
                three = kernel_operand(ONX_DTYPE_F32, "3", w);
    const struct {
        const char *attrs;
        onx_operand *in[3];
        const char *words; /* NULL: it runs */
    } each[] = {
        {"", {&a, &ok, &four}, NULL},
        {"", {&a, &high, &four}, "target 4 is none of 4"},
        {"", {&a, &low, &four}, "target -1"},
        {"<ignore_index = -1>", {&a, &low, &four}, NULL},
        {"<ignore_index = 4>", {&a, &high, &four}, NULL},
        {"", {&a, &few, &four}, "without the classes"},
        {"", {&a, &column, &four}, "without the classes"},
        {"", {&flat, &ok, &four}, "batch and classes"},
        {"", {&a, &ok, &three}, "weight for each of 4"},
        {"<reduction = \"max\">", {&a, &ok, &four}, "one of none, mean, sum"},
    };
    for (size_t i = 0; i < ONX_COUNT(each); i++)
        for (int s = 0; s < 2; s++) {
            char node[200];
            snprintf(node, sizeof node, "y = %s%s(x, t, w)",
                     s ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss", each[i].attrs);
            kernel_result r = kernel_run("ref", 13, node, 3, each[i].in, 0);
            CHECK_EQ(r.status, each[i].words ? ONX_INVALID : ONX_OK);
            if (each[i].words) CHECK(strstr(r.diag.message, each[i].words));
            kernel_free(&r);
        }
}

TEST(nothing) {
    float x[1] = {0};
    int64_t t[1] = {0};
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "0,4,4611686018427387904", x);
    onx_operand b = kernel_operand(ONX_DTYPE_I64, "0,4611686018427387904", t);
    kernel_result r = kernel_run("ref", 13, "y, p = SoftmaxCrossEntropyLoss(x, t)", 2,
                                 (onx_operand *[]){&a, &b}, 0);
    CHECK(r.status == ONX_OK && isnan(*(float *)r.out[0].data) && r.out[1].count == 0);
    kernel_free(&r);
    r = kernel_run("ref", 13, "y = SoftmaxCrossEntropyLoss<reduction = \"sum\">(x, t)", 2,
                   (onx_operand *[]){&a, &b}, 0);
    CHECK(r.status == ONX_OK && *(float *)r.out[0].data == 0);
    kernel_free(&r);
}

TEST(backend) {
    size_t failed = 0, ran = kernel_backend("nllloss", "expanded", &failed);
    ran += kernel_backend("sce", "expanded", &failed);
    if (!ran) SKIP("ONX_DATA is not set");
    CHECK_EQ(failed, 0);
    CHECK(ran >= 40);
}

TEST_MAIN(E(definition) E(far_from_zero) E(refusals) E(nothing) E(backend))
