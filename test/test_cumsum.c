/* test_cumsum.c: CumSum and CumProd: against sums made one by one, in every type, and odd cases. */
#include "test.h"

#include <math.h>

#include "kernel.h"
#include "kernel_place.h"
#include "support.h"

enum { LARGE = 4096 };

typedef struct example { /* a node on [outer][n][inner] */
    bool product, exclusive, reverse;
    size_t outer, n, inner;
} example;

static void expect(const example *e, const double *x, double *y) {
    for (size_t line = 0; line < e->outer * e->inner; line++) {
        const double *from = x + line / e->inner * e->n * e->inner + line % e->inner;
        double *to = y + (from - x);
        for (size_t i = 0; i < e->n; i++) {
            size_t first = e->reverse ? i + e->exclusive : 0;
            size_t end = e->reverse ? e->n : i + !e->exclusive;
            double all = e->product;
            for (size_t k = first; k < end; k++)
                all = e->product ? all * from[k * e->inner] : all + from[k * e->inner];
            to[i * e->inner] = all;
        }
    }
}

static const onx_dtype dtypes[] = {ONX_DTYPE_F32, ONX_DTYPE_F64, ONX_DTYPE_F16, ONX_DTYPE_BF16,
                                   ONX_DTYPE_I32, ONX_DTYPE_I64, ONX_DTYPE_U32, ONX_DTYPE_U64};

/* Elements are 1 and 2, few of them 2, so that all results are exact in every type. */
static bool matches(const example *e, onx_dtype dtype, const char *node, bool in_place) {
    static double x[LARGE], want[LARGE], got[LARGE];
    static char memory[LARGE * 8 + 1];
    int64_t dims[] = {(int64_t)e->outer, (int64_t)e->n, (int64_t)e->inner}, axis = -2;
    size_t count = e->outer * e->n * e->inner;
    for (size_t i = 0; i < count; i++) x[i] = 1 + (i % 7 == 3);
    expect(e, x, want);
    onx_operand in = {0}, a = kernel_operand(ONX_DTYPE_I64, "", &axis), *all[] = {&in, &a};
    if (!onx_operand_shape(&in, dtype, 3, dims)) abort();
    in.data = memory + 1; /* not aligned */
    (void)onx_dtype_convert(ONX_DTYPE_F64, x, dtype, in.data, count, false);
    kernel_result r = kernel_run("ref", 26, node, 2, all, 0);
    bool same = r.status == ONX_OK && r.out[0].count == in.count;
    if (same) (void)onx_dtype_convert(dtype, r.out[0].data, ONX_DTYPE_F64, got, count, false);
    same = same && memcmp(got, want, count * sizeof *got) == 0;
    if (same && in_place)
        same = kernel_in_place("ref", 26, node, 2, all, 0) &&
               memcmp(in.data, r.out[0].data, in.bytes) == 0;
    if (r.status == ONX_OK) kernel_free(&r);
    return same;
}

TEST(one_by_one) {
    static const size_t shapes[][3] = {{1, 1, 1}, {2, 5, 3}, {3, 17, 1}, {1, 9, 40}, {70, 8, 7}};
    for (size_t s = 0; s < ONX_COUNT(shapes); s++) {
        for (int way = 0; way < 8; way++) {
            example e = {way & 4, way & 2, way & 1, shapes[s][0], shapes[s][1], shapes[s][2]};
            char node[80];
            (void)snprintf(node, sizeof node, "y = %s<exclusive = %d, reverse = %d>(x, a)",
                           e.product ? "CumProd" : "CumSum", e.exclusive, e.reverse);
            for (size_t t = 0; t < ONX_COUNT(dtypes); t++)
                if (!CHECK(matches(&e, dtypes[t], node, true)))
                    fprintf(stderr, "    %s of %s, shape %zu\n", node, onx_dtype_name(dtypes[t]),
                            s);
        }
    }
}

/* Empty, and so large otherwise that the sizes cannot be multiplied. */
TEST(nothing) {
    int32_t axis = 1;
    onx_operand a = kernel_operand(ONX_DTYPE_I32, "1", &axis);
    for (const char *const *dims =
             (const char *const[]){"3,0", "0,4", "1099511627776,1099511627776,0", NULL};
         *dims; dims++) {
        onx_operand x = kernel_operand(ONX_DTYPE_F32, *dims, NULL);
        kernel_result r =
            kernel_run("ref", 26, "y = CumProd(x, a)", 2, (onx_operand *[]){&x, &a}, 0);
        CHECK(r.status == ONX_OK && r.out[0].count == 0 && r.out[0].rank == x.rank);
        kernel_free(&r);
    }
}

TEST(beyond_the_type) {
    int32_t big[] = {INT32_MIN, -1, 3};
    float far[] = {1e30f, 1e30f, 0, 1};
    onx_operand a = kernel_operand(ONX_DTYPE_I64, "", (int64_t[]){0});
    onx_operand x = kernel_operand(ONX_DTYPE_I32, "3", big);
    kernel_result r = kernel_run("ref", 26, "y = CumProd(x, a)", 2, (onx_operand *[]){&x, &a}, 0);
    REQUIRE(r.status == ONX_OK);
    CHECK(memcmp(r.out[0].data, (int32_t[]){INT32_MIN, INT32_MIN, INT32_MIN}, 12) == 0);
    kernel_free(&r);
    x = kernel_operand(ONX_DTYPE_F32, "4", far);
    r = kernel_run("ref", 26, "y = CumProd(x, a)", 2, (onx_operand *[]){&x, &a}, 0);
    REQUIRE(r.status == ONX_OK);
    const float *y = r.out[0].data;
    CHECK(y[0] == 1e30f && isinf(y[1]) && isnan(y[2]) && isnan(y[3]));
    kernel_free(&r);
}

TEST(refusals) {
    float data[6] = {0};
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "2,3", data),
                s = kernel_operand(ONX_DTYPE_F32, "", data);
    onx_operand small = kernel_operand(ONX_DTYPE_U8, "2,3", data);
    onx_operand two = kernel_operand(ONX_DTYPE_I64, "", (int64_t[]){2});
    onx_operand least = kernel_operand(ONX_DTYPE_I64, "", (int64_t[]){INT64_MIN});
    onx_operand zero = kernel_operand(ONX_DTYPE_I64, "", (int64_t[]){0});
    onx_operand pair = kernel_operand(ONX_DTYPE_I64, "2", (int64_t[]){0, 1});
    onx_operand none = kernel_operand(ONX_DTYPE_I64, "0", NULL);
    const struct {
        onx_operand *x, *axis;
        int opset;
        onx_status status;
        const char *words;
    } cases[] = {
        {&x, &two, 26, ONX_INVALID, "within the rank"},
        {&x, &least, 26, ONX_INVALID, "within the rank"},
        {&s, &zero, 26, ONX_INVALID, "within the rank"},
        {&x, &pair, 26, ONX_INVALID, "not one number"},
        {&x, &none, 26, ONX_INVALID, "not one number"},
        {&x, NULL, 26, ONX_INVALID, "'axis', of CumProd is missing"},
        {&x, &s, 26, ONX_UNSUPPORTED, "no kernel for CumProd"},
        {&small, &zero, 26, ONX_UNSUPPORTED, "no kernel for CumProd"},
        {&x, &zero, 25, ONX_UNSUPPORTED, "CumProd"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        kernel_result r = kernel_run("ref", cases[i].opset, "y = CumProd(x, a)", 2,
                                     (onx_operand *[]){cases[i].x, cases[i].axis}, 0);
        if (!CHECK(r.status == cases[i].status && strstr(r.diag.message, cases[i].words)))
            fprintf(stderr, "    %zu: %s, %s\n", i, onx_status_name(r.status), r.diag.message);
        if (r.status == ONX_OK) kernel_free(&r);
    }
}

TEST(backend) {
    if (!getenv("ONX_DATA")) SKIP("ONX_DATA is not set");
    size_t failed = 0;
    CHECK_EQ(kernel_backend("cumsum_", "", &failed), 9);
    CHECK_EQ(kernel_backend("cumprod_", "", &failed), 9);
    CHECK_EQ(failed, 0);
}

TEST_MAIN(E(one_by_one) E(nothing) E(beyond_the_type) E(refusals) E(backend))
