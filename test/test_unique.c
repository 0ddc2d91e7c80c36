/* test_unique.c: Unique, ScatterElements, TensorScatter and Det: every type, odd shapes, NaN, and
 * refusals. */
#include "test.h"

#include "kernel_text.h"

#include <math.h>

#define ALL "y, i, v, n = Unique"

TEST(unique) {
    static const kernel_line lines[] = {
        {11, "float[6] x = {2,1,1,3,4,3}", ALL "<sorted=0>(x)",
         "[4] 2 1 3 4; [4] 0 1 3 4; [6] 0 1 1 2 3 2; [4] 1 2 2 1"},
        {11, "float[6] x = {2,1,1,3,4,3}", ALL "(x)",
         "[4] 1 2 3 4; [4] 1 0 3 4; [6] 1 0 0 2 3 2; [4] 2 1 2 1"},
        {11, "int64[3,3] x = {1,0,0,1,0,0,2,3,4}", ALL "<axis=0>(x)",
         "[2,3] 1 0 0 2 3 4; [2] 0 2; [3] 0 0 1; [2] 2 1"},
        {11, "int8[2,4,2] x = {1,1,0,1,2,1,0,1, 1,1,0,1,2,1,0,1}", ALL "<axis=-2>(x)",
         "[2,3,2] 0 1 1 1 2 1 0 1 1 1 2 1; [3] 1 0 2; [4] 1 0 2 0; [3] 2 1 1"},
        {11, "int8[1,3] x = {3,-1,3}", ALL "<axis=1, sorted=0>(x)",
         "[1,2] 3 -1; [2] 0 1; [3] 0 1 0; [2] 2 1"},
        {11, "uint64[3] x = {18446744073709551615,0,9223372036854775808}", "y, i = Unique(x)",
         "[3] 0 -9223372036854775808 -1; [3] 1 2 0"},
        {11, "bool[3] x = {1,0,1}", ALL "(x)", "[2] 0 1; [2] 1 0; [3] 1 0 1; [2] 1 2"},
        {11, "string[5] x = {\"b\", \"\", \"ab\", \"b\", \"a\"}", ALL "(x)",
         "[4] |a|ab|b; [4] 1 4 2 0; [5] 3 0 2 3 1; [4] 1 1 1 2"},
        {11, "string[2,2] x = {\"b\", \"a\", \"b\", \"a\"}", "y = Unique<axis=0>(x)", "[1,2] b|a"},
        {11, "string[2,2] x = {\"b\", \"a\", \"b\", \"a\"}", "y, i = Unique<axis=1>(x)",
         "[2,2] a|b|a|b; [2] 1 0"},
        {11, "float x = {7}", ALL "(x)", "[1] 7; [1] 0; [1] 0; [1] 1"},
        {11, "float[0] x = {}", ALL "(x)", "[0]; [0]; [0]; [0]"},
        {11, "float[3,0] x = {}", ALL "<axis=0>(x)", "[1,0]; [1] 0; [3] 0 0 0; [1] 3"},
        {11, "float[0,3] x = {}", ALL "<axis=0>(x)", "[0,3]; [0]; [0]; [0]"},
        {11, "float[2] x = {1,2}", "y = Unique<axis=1>(x)", "!"},
        {11, "float x = {1}", "y = Unique<axis=0>(x)", "!"},
    };
    CHECK_EQ(kernel_lines_fail(lines, ONX_COUNT(lines)), 0);
}

/* -0 is 0, all NaN are one and come last; in each float, and in complex numbers. */
TEST(unique_floats) {
    static const onx_dtype dtypes[] = {ONX_DTYPE_F32, ONX_DTYPE_F64, ONX_DTYPE_F16, ONX_DTYPE_BF16};
    double x[] = {NAN, 1, -INFINITY, -0.0, -NAN, 0.0, INFINITY, -1}, y[8];
    double want[] = {-INFINITY, -1, -0.0, 1, INFINITY, NAN};
    for (size_t d = 0; d < ONX_COUNT(dtypes); d++) {
        char data[64];
        (void)onx_dtype_convert(ONX_DTYPE_F64, x, dtypes[d], data, 8, false);
        onx_operand in = kernel_operand(dtypes[d], "8", data);
        kernel_result r = kernel_run("ref", 28, "y = Unique(x)", 1, (onx_operand *[]){&in}, 0);
        REQUIRE(r.status == ONX_OK);
        REQUIRE(r.out[0].count == 6);
        (void)onx_dtype_convert(dtypes[d], r.out[0].data, ONX_DTYPE_F64, y, 6, false);
        for (size_t i = 0; i < 6; i++) CHECK(y[i] == want[i] || (i == 5 && y[i] != y[i]));
        CHECK(signbit(y[2]));
        kernel_free(&r);
    }
    float pairs[] = {1, 2, 1, 1, 0, 5, 1, 2};
    onx_operand in = kernel_operand(ONX_DTYPE_C64, "4", pairs);
    kernel_result r = kernel_run("ref", 28, "y = Unique(x)", 1, (onx_operand *[]){&in}, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == 3);
    CHECK(memcmp(r.out[0].data, (float[]){0, 5, 1, 1, 1, 2}, 24) == 0);
    kernel_free(&r);
}

/* Against counting, in an order that is the hardest for bad sorts: all rising, then all falling. */
TEST(unique_large) {
    enum { N = 100000, VALUES = 1000 };
    static int32_t x[N];
    static int64_t counts[VALUES];
    for (int i = 0; i < N; i++) x[i] = (i < N / 2 ? i : N - i) * 7 % VALUES;
    for (int i = 0; i < N; i++) counts[x[i]]++;
    onx_operand in = kernel_operand(ONX_DTYPE_I32, "100000", x);
    kernel_result r = kernel_run("ref", 28, ALL "(x)", 1, (onx_operand *[]){&in}, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].count == VALUES);
    const int32_t *y = r.out[0].data;
    const int64_t *first = r.out[1].data, *inverse = r.out[2].data;
    for (int i = 0; i < N; i++) CHECK(y[inverse[i]] == x[i] && first[inverse[i]] <= i);
    for (int i = 0; i < VALUES; i++) CHECK(y[i] == i && x[first[i]] == i);
    CHECK(memcmp(r.out[3].data, counts, sizeof counts) == 0);
    kernel_free(&r);
}

#define CACHE                                                                                      \
    "float[2,3,2] c = {1,2,3,4,5,6,7,8,9,10,11,12}, float[2,2,2] u = {-1,-2,-3,-4,-5,-6,-7,-8}"
#define AT(a, b) CACHE ", int64[2] w = {" a "," b "}"

/* What is combined is of any type: strings are joined, complex numbers ordered by their parts. */
#define TEXTS                                                                                      \
    "string[3] x = {\"b\", \"\", \"c\"}, int64[4] i = {0,1,0,1}, "                                 \
    "string[4] u = {\"a\", \"d\", \"b\", \"e\"}"
#define ELEMENTS(how) "y = ScatterElements<reduction=\"" how "\">(x, i, u)"

TEST(scatter_combines) {
    static const kernel_line lines[] = {
        {16, TEXTS, ELEMENTS("add"), "[3] bab|de|c"},
        {18, TEXTS, ELEMENTS("max"), "[3] b|e|c"},
        {18, TEXTS, ELEMENTS("min"), "[3] a||c"},
        {18, TEXTS, ELEMENTS("mul"), "!"},
        {18, "string[2] x = {\"b\", \"c\"}, int64[2,1] i = {-1,1}, string[2] u = {\"d\", \"\"}",
         "y = ScatterND<reduction=\"add\">(x, i, u)", "[2] b|cd"},
        {18, "bool[2] x = {1,0}, int64[2] i = {0,1}, bool[2] u = {0,1}", ELEMENTS("add"),
         "[2] 1 1"},
        {18, "bool[2] x = {1,0}, int64[2] i = {0,1}, bool[2] u = {0,1}", ELEMENTS("min"),
         "[2] 0 0"},
    };
    CHECK_EQ(kernel_lines_fail(lines, ONX_COUNT(lines)), 0);
}

TEST(scatter_complex) {
    static const struct {
        const char *how;
        float want[4];
    } rows[] = {{"add", {4, 1, 1, 6}},
                {"mul", {5, 5, -5, 1}},
                {"max", {3, -1, 1, 5}},
                {"min", {1, 2, 0, 1}}};
    float x[] = {1, 2, 1, 5}, u[] = {3, -1, 0, 1};
    double wide[2][4];
    int64_t at[] = {0, 1};
    for (size_t i = 0; i < 4; i++) wide[0][i] = x[i], wide[1][i] = u[i];
    onx_operand index = kernel_operand(ONX_DTYPE_I64, "2", at);
    for (size_t k = 0; k < 2 * ONX_COUNT(rows); k++) {
        onx_dtype dtype = k % 2 ? ONX_DTYPE_C128 : ONX_DTYPE_C64;
        onx_operand a = kernel_operand(dtype, "2", k % 2 ? (void *)wide[0] : x);
        onx_operand b = kernel_operand(dtype, "2", k % 2 ? (void *)wide[1] : u);
        char node[80];
        (void)snprintf(node, sizeof node, "y = ScatterElements<reduction=\"%s\">(x, i, u)",
                       rows[k / 2].how);
        kernel_result r = kernel_run("ref", 18, node, 3, (onx_operand *[]){&a, &index, &b}, 0);
        if (!CHECK(r.status == ONX_OK)) return;
        for (size_t i = 0; i < 4; i++)
            CHECK_EQ(k % 2 ? ((double *)r.out[0].data)[i] : ((float *)r.out[0].data)[i],
                     rows[k / 2].want[i]);
        kernel_free(&r);
    }
}

TEST(tensor_scatter) {
    static const kernel_line lines[] = {
        {24, CACHE, "y = TensorScatter(c, u)", "[2,3,2] -1 -2 -3 -4 5 6 -5 -6 -7 -8 11 12"},
        {24, AT("1", "0"), "y = TensorScatter(c, u, w)",
         "[2,3,2] 1 2 -1 -2 -3 -4 -5 -6 -7 -8 11 12"},
        {24, AT("2", "-1"), "y = TensorScatter<mode=\"circular\">(c, u, w)",
         "[2,3,2] -3 -4 3 4 -1 -2 -7 -8 9 10 -5 -6"},
        {24, AT("9223372036854775807", "-9223372036854775808"),
         "y = TensorScatter<mode=\"circular\">(c, u, w)",
         "[2,3,2] 1 2 -1 -2 -3 -4 7 8 -5 -6 -7 -8"},
        {24, "string[1,2,1] c = {\"a\", \"b\"}, string[1,1,1] u = {\"x\"}, int64[1] w = {1}",
         "y = TensorScatter(c, u, w)", "[1,2,1] a|x"},
        {24, "float[0,3,2] c = {}, float[0,1,2] u = {}", "y = TensorScatter(c, u)", "[0,3,2]"},
        {24, "float[1,0,2] c = {}, float[1,0,2] u = {}",
         "y = TensorScatter<mode=\"circular\">(c, u)", "[1,0,2]"},
        {24, "float[1,2] c = {1,2}, float[1,1] u = {3}", "y = TensorScatter<axis=-1>(c, u)",
         "[1,2] 3 2"},
        {24, AT("2", "0"), "y = TensorScatter(c, u, w)", "!2 entries at 2 of a cache of 3"},
        {24, AT("-1", "0"), "y = TensorScatter(c, u, w)", "!2 entries at -1"},
        {24, AT("9223372036854775807", "0"), "y = TensorScatter(c, u, w)", "!of a cache of 3"},
        {24, CACHE, "y = TensorScatter<axis=0>(c, u)", "!axis 0 is the batch"},
        {24, CACHE, "y = TensorScatter<axis=3>(c, u)", "!"},
        {24, CACHE, "y = TensorScatter<mode=\"round\">(c, u)", "!it must be linear"},
        {24, CACHE ", int64[1] w = {0}", "y = TensorScatter(c, u, w)", "!write_indices"},
        {24, "float[1,1,2] c = {1,2}, float[1,2,2] u = {1,2,3,4}", "y = TensorScatter(c, u)",
         "!does not fit"},
    };
    CHECK_EQ(kernel_lines_fail(lines, ONX_COUNT(lines)), 0);
}

TEST(det) {
    static const kernel_line lines[] = {
        {22, "float[2,2] x = {0,1,2,3}", "y = Det(x)", "[] -2"},
        {22, "double[2,2,2] x = {1,2,3,4,0,1,1,0}", "y = Det(x)", "[2] -2 -1"},
        {22, "float16[3,3] x = {16384,0,0,0,16896,0,0,0,17408}", "y = Det(x)", "[] 24"},
        {22, "bfloat16[1,1] x = {16544}", "y = Det(x)", "[] 5"},
        {22, "float[2,2] x = {2,4,1,2}", "y = Det(x)", "[] 0"},
        {22, "double[2,2] x = {1e200,0,0,1e-200}", "y = Det(x)", "[] 1"},
        {22, "float[0,0] x = {}", "y = Det(x)", "[] 1"},
        {22, "float[2,0,0] x = {}", "y = Det(x)", "[2] 1 1"},
        {22, "float[0,2,2] x = {}", "y = Det(x)", "[0]"},
        {22, "float[2,3] x = {1,2,3,4,5,6}", "y = Det(x)", "!square"},
        {22, "float[2] x = {1,2}", "y = Det(x)", "!square"},
    };
    CHECK_EQ(kernel_lines_fail(lines, ONX_COUNT(lines)), 0);
    float x[] = {NAN, 1, 2, 3};
    onx_operand in = kernel_operand(ONX_DTYPE_F32, "2,2", x);
    kernel_result r = kernel_run("ref", 22, "y = Det(x)", 1, (onx_operand *[]){&in}, 0);
    REQUIRE(r.status == ONX_OK);
    CHECK(isnan(*(float *)r.out[0].data));
    kernel_free(&r);
}

TEST(backend) {
    if (!getenv("ONX_DATA")) SKIP("ONX_DATA is not set");
    size_t failed = 0;
    CHECK_EQ(kernel_backend("unique_", "", &failed), 7);
    CHECK_EQ(kernel_backend("tensorscatter", "", &failed), 3);
    CHECK_EQ(kernel_backend("det_", "", &failed), 2);
    CHECK_EQ(failed, 0);
}

TEST_MAIN(E(unique) E(unique_floats) E(unique_large) E(scatter_combines) E(scatter_complex)
              E(tensor_scatter) E(det) E(backend))
