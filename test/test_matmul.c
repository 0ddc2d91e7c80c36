/* test_matmul.c: MatMul and Gemm: every tier against the plain kernels and the recorded tests, all
 * types, broadcasting, bad shapes, inference. */
#include "kernel.h"
#include "test.h"

#include "infer/infer.h"
#include "ops/tile/tile.h"

#include <math.h>

#define EACH_TIER(t) for (const char *const *t = kernel_tiers_fast(); *t; t++)

TEST(backend) {
    size_t failed = 0, ran = kernel_backend("matmul_", "", &failed);
    ran += kernel_backend("gemm_", "", &failed);
    if (!ran) SKIP("ONX_DATA is not set");
    CHECK_EQ(failed, 0);
    CHECK(ran >= 18);
}

/* So many random numbers at an odd address, as constants in a file may lie. */
static void *odd_numbers(onx_operand *x, uint64_t seed) {
    size_t n = (size_t)x->count;
    float *even = malloc((n + 1) * sizeof *even);
    char *odd = malloc(x->bytes + 1), *rounded = malloc(x->bytes + 1);
    if (!even || !odd || !rounded) exit(1);
    kernel_fill(even, n, seed, -1, 1);
    CHECK(onx_dtype_convert(ONX_DTYPE_F32, even, (onx_dtype)x->dtype, rounded, n, false) == ONX_OK);
    memcpy(odd + 1, rounded, x->bytes);
    free(even);
    free(rounded);
    x->data = n ? odd + 1 : NULL;
    return odd;
}

/* For sums of up to 700 products of factors up to 1; test_gemm_bf16 has the bound. */
#define FAST_TOLERANCE 0x1p-4

static void compare_as(onx_dtype dtype, double tolerance, const char *node, const char *a,
                       const char *b, const char *c) {
    const char *shapes[3] = {a, b, c};
    onx_operand x[3], *in[3];
    void *memory[3];
    size_t n = c ? 3 : 2;
    for (size_t i = 0; i < n; i++) {
        x[i] = kernel_operand(dtype, shapes[i], NULL);
        memory[i] = odd_numbers(&x[i], i + 1);
        in[i] = &x[i];
    }
    kernel_result want = kernel_run("ref", 13, node, n, in, 0);
    CHECK(want.status == ONX_OK);
    EACH_TIER(t) for (uint32_t constant = 0; constant < 8; constant += 2) {
        kernel_result got = kernel_run(*t, 13, node, n, in, constant);
        double far = got.status == ONX_OK ? kernel_distance(&got.out[0], &want.out[0]) : HUGE_VAL;
        bool simd = strcmp(*t, "ref") != 0;
        if (!CHECK(far <= (kernel_is_fast(*t) ? FAST_TOLERANCE : tolerance)))
            fprintf(stderr, "    %s %s, %s, %s of %s on %s: %g %s\n", node, a, b, c ? c : "-",
                    onx_dtype_name(dtype), *t, far, got.diag.message);
        CHECK(got.status != ONX_OK || simd == (strchr(got.kernel->name, '_') != NULL));
        kernel_free(&got);
    }
    kernel_free(&want);
    for (size_t i = 0; i < n; i++) free(memory[i]);
}

/* A node on random operands (c NULL: absent): every tier near the plain one, B constant or not.
 * The small floats may be rounded differently, by one place. */
static void compare(const char *node, const char *a, const char *b, const char *c) {
    compare_as(ONX_DTYPE_F32, 2e-5, node, a, b, c);
    compare_as(ONX_DTYPE_F64, 1e-12, node, a, b, c);
    compare_as(ONX_DTYPE_F16, 0x1p-10, node, a, b, c);
    compare_as(ONX_DTYPE_BF16, 0x1p-7, node, a, b, c);
}

TEST(matmul) {
    static const char *const shapes[][2] = {
        {"1", "1"},
        {"7", "7"},
        {"3,7", "7"},
        {"7", "7,5"},
        {"4,3,7", "7"},
        {"7", "4,7,5"},
        {"1,1", "1,1"},
        {"33,17", "17,65"},
        {"1,700", "700,70"},
        {"9,5", "5,1"},
        {"14,700", "700,300"},
        {"200,33", "33,31"},
        {"2,3,5,7", "7,11"},
        {"2,1,5,7", "3,7,4"},
        {"1,3,5,7", "2,1,7,40"},
        {"5,7", "2,3,7,4"},
        {"3,20,9", "3,9,130"},
        {"2,200,40", "2,40,300"},
        {"197,64", "3,64,96"},
        {"3,130,64", "3,64,200"},
        {"190,96", "96,600"},
        {"2,1,33", "2,33,50"},
        {"6,8,16", "6,16,33"},
        {"0,5", "5,3"},
        {"3,0", "0,4"},
        {"3,5", "5,0"},
        {"0,2,3", "3,4"},
        {"2,2,3", "0,3,4"},
        {"2,0,3", "2,3,4"},
        {"0", "0"},
        {"2,4,0", "2,0,3"},
        {"1,40,0", "0,33"},
        {"3,1,1,2,2", "2,2"},
        {"3000,4,3", "3000,3,5"},
        {"2000,1,1,3", "2,3,2"},
        {"4000,9", "9,3"},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (strcmp(shapes[i][0], "2,2,3") == 0) continue; /* 2 and 0 do not broadcast: below */
        compare("y = MatMul(a, b)", shapes[i][0], shapes[i][1], NULL);
    }
}

TEST(gemm) {
    static const char *const attrs[] = {"alpha = 0.5, beta = 2.0", "beta = 0.0", "alpha = 1.0",
                                        "alpha = -1.5, beta = 1.0"};
    static const char *const c[] = {"", "1", "33", "1,33", "20,1", "20,33", "1,1"};
    char node[200];
    for (size_t i = 0; i < 4 * 4 * 8; i++) {
        bool turn_a = i & 1, turn_b = i >> 1 & 1;
        size_t kind = i >> 4;
        (void)snprintf(node, sizeof node, "y = Gemm<%s, transA = %d, transB = %d>(a, b%s)",
                       attrs[i >> 2 & 3], turn_a, turn_b, kind < 7 ? ", c" : "");
        compare(node, turn_a ? "70,20" : "20,70", turn_b ? "33,70" : "70,33",
                kind < 7 ? c[kind] : NULL);
    }
    compare("y = Gemm(a, b, c)", "5,0", "0,3", "3");
    compare("y = Gemm(a, b, c)", "0,5", "5,3", "1,3");
    compare("y = Gemm(a, b, c)", "4,5", "5,0", "");
    compare("y = Gemm(a, b, c)", "4,5", "5,1", "4,1");
    compare("y = Gemm<transB = 1>(a, b, c)", "1,600", "300,600", "300");
}

/* beta 0 means that C is not read: its NaN does not come through. */
TEST(beta_zero) {
    float one[1] = {1}, nan[1] = {NAN};
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "1,1", one);
    onx_operand c = kernel_operand(ONX_DTYPE_F32, "1,1", nan);
    EACH_TIER(t) {
        kernel_result r = kernel_run(*t, 13, "y = Gemm<beta = 0.0>(a, b, c)", 3,
                                     (onx_operand *[]){&a, &a, &c}, 0);
        CHECK(r.status == ONX_OK && *(float *)r.out[0].data == 1);
        kernel_free(&r);
    }
}

static void check_type(onx_dtype dtype, const char *node, const double *a, const double *b,
                       const double *want) {
    uint64_t x[8], y[8];
    double got[4];
    CHECK(onx_dtype_convert(ONX_DTYPE_F64, a, dtype, x, 4, false) == ONX_OK);
    CHECK(onx_dtype_convert(ONX_DTYPE_F64, b, dtype, y, 4, false) == ONX_OK);
    onx_operand left = kernel_operand(dtype, "2,2", x), right = kernel_operand(dtype, "2,2", y);
    EACH_TIER(t) {
        kernel_result r = kernel_run(*t, 13, node, 2, (onx_operand *[]){&left, &right}, 0);
        if (!CHECK(r.status == ONX_OK)) fprintf(stderr, "    %s\n", r.diag.message);
        if (r.status != ONX_OK) continue;
        CHECK(r.out[0].dtype == dtype);
        CHECK(onx_dtype_convert(dtype, r.out[0].data, ONX_DTYPE_F64, got, 4, false) == ONX_OK);
        for (size_t i = 0; i < 4; i++)
            if (!CHECK(got[i] == want[i]))
                fprintf(stderr, "    %s: %g, not %g\n", onx_dtype_name(dtype), got[i], want[i]);
        kernel_free(&r);
    }
}

TEST(types) {
    static const onx_dtype all[] = {ONX_DTYPE_F16, ONX_DTYPE_BF16, ONX_DTYPE_F32, ONX_DTYPE_F64,
                                    ONX_DTYPE_I32, ONX_DTYPE_I64,  ONX_DTYPE_U32, ONX_DTYPE_U64};
    static const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, ab[] = {19, 22, 43, 50};
    static const double half[] = {9, 11, 21, 25}, half_float[] = {9.5, 11, 21.5, 25};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_type(all[i], "y = MatMul(a, b)", a, b, ab);
        check_type(all[i], "y = Gemm(a, b)", a, b, ab);
        check_type(all[i], "y = Gemm<alpha = 0.5>(a, b)", a, b, i < 4 ? half_float : half);
    }
    /* Integers wrap around. */
    static const double big[] = {65536, 0, -65536, 0}, factor[] = {65537, 2, 0, 0};
    static const double wrapped[] = {65536, 131072, -65536, -131072};
    check_type(ONX_DTYPE_I32, "y = MatMul(a, b)", big, factor, wrapped);
    /* Half sums are not made in half: 2049 is not one. */
    static const double f16_a[] = {2048, 1, 2048, 1}, f16_b[] = {1, 1, 1, 3};
    static const double f16_ab[] = {2048, 2052, 2048, 2052};
    check_type(ONX_DTYPE_F16, "y = MatMul(a, b)", f16_a, f16_b, f16_ab);
}

TEST(refused) {
    static const struct {
        const char *node, *a, *b, *c, *why;
    } cases[] = {
        {"y = MatMul(a, b)", "2,3", "4,2", NULL, "columns in A"},
        {"y = MatMul(a, b)", "3", "4", NULL, "columns in A"},
        {"y = MatMul(a, b)", "", "4", NULL, "one dimension"},
        {"y = MatMul(a, b)", "2,2,3", "0,3,4", NULL, "broadcast"},
        {"y = MatMul(a, b)", "2,2,3", "3,3,4", NULL, "broadcast"},
        {"y = MatMul(a, b)", "4611686018427387904,4,0", "0,4", NULL, "large"},
        {"y = MatMul(a, b)", "3037000500,0", "0,3037000500", NULL, "large"},
        {"y = Gemm(a, b, c)", "2,3", "4,2", "1", "columns in A"},
        {"y = Gemm(a, b, c)", "2,3,1", "4,2", "1", "matrices"},
        {"y = Gemm(a, b, c)", "2,3", "3", "1", "matrices"},
        {"y = Gemm(a, b, c)", "2,3", "3,2", "3", "broadcasts to [2,2]"},
        {"y = Gemm(a, b, c)", "2,3", "3,2", "3,1", "broadcasts to [2,2]"},
        {"y = Gemm(a, b, c)", "2,3", "3,2", "1,1,1", "broadcasts to [2,2]"},
    };
    float data[64] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) EACH_TIER(t) {
            onx_operand a = kernel_operand(ONX_DTYPE_F32, cases[i].a, data);
            onx_operand b = kernel_operand(ONX_DTYPE_F32, cases[i].b, data), c = a;
            if (cases[i].c) c = kernel_operand(ONX_DTYPE_F32, cases[i].c, data);
            for (uint32_t constant = 0; constant < 4; constant += 2) {
                kernel_result r = kernel_run(*t, 13, cases[i].node, cases[i].c ? 3 : 2,
                                             (onx_operand *[]){&a, &b, &c}, constant);
                bool said = strstr(r.diag.message, cases[i].why) != NULL;
                if (!CHECK(r.status != ONX_OK && said))
                    fprintf(stderr, "    %s %s %s: %d %s\n", cases[i].node, cases[i].a, cases[i].b,
                            r.status, r.diag.message);
                kernel_free(&r);
            }
        }
    /* So large that sizes multiplied with each other overflow: no memory, but no crash. */
    onx_operand wide = kernel_operand(ONX_DTYPE_F32, "1,1152921504606846975", data);
    EACH_TIER(t) {
        if (strcmp(*t, "ref") == 0) continue; /* needs no more memory: it would run */
        kernel_result huge =
            kernel_run(*t, 13, "y = Gemm<transB = 1>(a, b)", 2, (onx_operand *[]){&wide, &wide}, 0);
        CHECK(huge.status != ONX_OK);
    }
    onx_operand f = kernel_operand(ONX_DTYPE_F64, "2,2", data);
    onx_operand i = kernel_operand(ONX_DTYPE_I32, "2,2", data);
    kernel_result r = kernel_run("ref", 13, "y = MatMul(a, b)", 2, (onx_operand *[]){&f, &i}, 0);
    CHECK(r.status == ONX_INVALID && strstr(r.diag.message, "one type"));
    r = kernel_run("ref", 13, "y = MatMul(a)", 1, (onx_operand *[]){&f}, 0);
    CHECK(r.status == ONX_INVALID && strstr(r.diag.message, "is missing"));
}

/* Programs over a product, a bias for each column and a scale for each row: what they give. */
enum { BATCH = 2, ROWS = 37, TILE_PROGRAMS = 4 };
static float tile_value(int program, float product, float bias, float scale) {
    switch (program) {
    case 0: return fmaxf(product + bias, 0) * scale;
    case 1: return bias + product;
    case 2: return (product + bias) * product;
    default: return (product + scale) * bias;
    }
}
static void tile_node(int program, size_t size, char *node) {
    const int add = ONX_TILE_ADD, mul = ONX_TILE_MUL;
    char codes[TILE_PROGRAMS][60];
    (void)snprintf(codes[0], 60, "%d,0,1,0, %d,128,64,0, %d,129,2,0", add, ONX_TILE_MAX, mul);
    (void)snprintf(codes[1], 60, "%d,1,0,0", add);
    (void)snprintf(codes[2], 60, "%d,0,1,0, %d,128,0,0", add, mul);
    (void)snprintf(codes[3], 60, "%d,0,2,0, %d,128,1,0", add, mul);
    (void)snprintf(node, size,
                   "y = onx.internal.MatMulTile<code = [%s], consts = [0.0]>(a, b, bias, scale)",
                   codes[program]);
}
static void check_tile(int program, int k, int n, onx_operand x2, onx_operand x3) {
    static float a[BATCH * ROWS * 600], b[BATCH * 600 * 301];
    char node[300], shapes[3][40];
    const float *bias = x2.data, *scale = x3.data;
    kernel_fill(a, ONX_COUNT(a), 1, -1, 1);
    kernel_fill(b, ONX_COUNT(b), 2, -1, 1);
    tile_node(program, sizeof node, node);
    (void)snprintf(shapes[0], 40, "%d,%d,%d", BATCH, ROWS, k);
    (void)snprintf(shapes[1], 40, "%d,%d,%d", BATCH, k, n);
    (void)snprintf(shapes[2], 40, "%d,%d", k, n); /* the same for the batch */
    onx_operand left = kernel_operand(ONX_DTYPE_F32, shapes[0], a);
    onx_operand right = kernel_operand(ONX_DTYPE_F32, shapes[1], b);
    onx_operand one = kernel_operand(ONX_DTYPE_F32, shapes[2], b);
    EACH_TIER(t) for (uint32_t i = 0; i < 4; i++) {
        onx_operand *in[] = {&left, i & 1 ? &one : &right, &x2, &x3};
        kernel_result r = kernel_run(*t, 13, node, 4, in, i & 2);
        kernel_result plain = kernel_run(*t, 13, "y = MatMul(a, b)", 2, in, i & 2);
        if (!CHECK(r.status == ONX_OK)) fprintf(stderr, "    %s: %s\n", *t, r.diag.message);
        REQUIRE(r.status == ONX_OK && plain.status == ONX_OK);
        const float *got = r.out[0].data, *product = plain.out[0].data;
        size_t wrong = 0;
        for (int e = 0; e < BATCH * ROWS * n; e++)
            wrong += got[e] != tile_value(program, product[e], bias[e % n], scale[e / n % ROWS]);
        if (!CHECK(wrong == 0)) fprintf(stderr, "    %s: %s k %d n %d\n", *t, node, k, n);
        kernel_free(&r);
        kernel_free(&plain);
    }
}

TEST(tile) {
    static const int sizes[][2] = {{600, 301}, {70, 301}, {33, 24}, {5, 1}, {16, 16}, {48, 130}};
    static float bias[301], scale[ROWS];
    kernel_fill(bias, 301, 3, -1, 1);
    kernel_fill(scale, ROWS, 4, -1, 1);
    onx_operand x3 = kernel_operand(ONX_DTYPE_F32, "37,1", scale);
    for (size_t i = 0; i < ONX_COUNT(sizes) * TILE_PROGRAMS; i++) {
        const int *size = sizes[i / TILE_PROGRAMS];
        char shape[20];
        (void)snprintf(shape, sizeof shape, "%d", size[1]);
        check_tile((int)(i % TILE_PROGRAMS), size[0], size[1],
                   kernel_operand(ONX_DTYPE_F32, shape, bias), x3);
    }
    char node[300];
    tile_node(0, sizeof node, node);
    onx_operand left = kernel_operand(ONX_DTYPE_F32, "37,1", scale);
    onx_operand right = kernel_operand(ONX_DTYPE_F32, "1,301", bias);
    onx_operand x2 = kernel_operand(ONX_DTYPE_F32, "300", bias);
    kernel_result r =
        kernel_run(onx_cpu_best(), 13, node, 4, (onx_operand *[]){&left, &right, &x2, &x3}, 0);
    CHECK(r.status == ONX_INVALID);
}

/* A B of half precision against the same numbers as floats. */
TEST(by_half) {
    enum { M = 37, K = 600, N = 301 };
    static float a[M * K], b[K * N], c[N];
    static uint16_t half[K * N];
    kernel_fill(c, N, 3, -1, 1);
    static const struct {
        const char *wide, *by_half;
        bool turned;
    } nodes[] = {
        {"y = MatMul(a, b)", "y = onx.internal.MatMul(a, b)", false},
        {"y = Gemm<transB = 1, alpha = 2.0, beta = 0.5>(a, b, c)",
         "y = onx.internal.Gemm<transB = 1, alpha = 2.0, beta = 0.5>(a, b, c)", true},
        {"y = onx.internal.MatMulTile<code = [3,0,1,0]>(a, b, c)",
         "y = onx.internal.MatMulTile<code = [3,0,1,0]>(a, b, c)", false},
    };
    for (size_t i = 0; i < 2 * ONX_COUNT(nodes); i++) {
        onx_dtype dtype = i % 2 ? ONX_DTYPE_F16 : ONX_DTYPE_BF16;
        bool turned = nodes[i / 2].turned, more = i > 1;
        kernel_fill(a, M * K, 1, -1, 1);
        kernel_fill(b, K * N, 2, -1, 1);
        if (dtype == ONX_DTYPE_BF16) { /* A may be rounded to that */
            (void)onx_dtype_convert(ONX_DTYPE_F32, a, dtype, half, M * K, false);
            (void)onx_dtype_convert(dtype, half, ONX_DTYPE_F32, a, M * K, false);
        }
        (void)onx_dtype_convert(ONX_DTYPE_F32, b, dtype, half, K * N, false);
        (void)onx_dtype_convert(dtype, half, ONX_DTYPE_F32, b, K * N, false);
        onx_operand wide = kernel_operand(ONX_DTYPE_F32, turned ? "301,600" : "600,301", b);
        onx_operand narrow = kernel_operand(dtype, turned ? "301,600" : "600,301", half);
        onx_operand bias = kernel_operand(ONX_DTYPE_F32, "301", c);
        for (uint32_t k = 0; k < 4; k++) {
            onx_operand left = kernel_operand(ONX_DTYPE_F32, k & 1 ? "37,600" : "1,600", a);
            onx_operand *in[] = {&left, &wide, more ? &bias : NULL};
            kernel_result want = kernel_run("ref", 13, nodes[i / 2].wide, 2 + more, in, 0);
            in[1] = &narrow;
            EACH_TIER(t) {
                kernel_result got = kernel_run(*t, 13, nodes[i / 2].by_half, 2 + more, in, k & 2);
                double bound = dtype == ONX_DTYPE_F16 ? 5e-3 : 2e-4; /* integers: gemm_half.h */
                if (!CHECK(!got.status && kernel_distance(&got.out[0], &want.out[0]) < bound))
                    fprintf(stderr, "    %s: %s\n", *t, nodes[i / 2].by_half);
                kernel_free(&got);
            }
            kernel_free(&want);
        }
    }
}

/* The type of y in a model of one node. */
static void check_infer(const char *inputs, const char *node, const char *want) {
    char text[1000];
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    onx_facts *facts = NULL;
    (void)snprintf(text, sizeof text,
                   "<ir_version: 10, opset_import: [\"\" : 13]>\ng (%s) => (y) {\n%s\n}\n", inputs,
                   node);
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_TEXT;
    REQUIRE(onx_model_load_memory(NULL, text, strlen(text), &options, &model, &diag) == ONX_OK);
    onx_buf out;
    onx_buf_init(&out, onx_context_or_default(NULL));
    if (onx_facts_new(model, NULL, &facts, &diag) == ONX_OK) {
        const onx_node *made = onx_graph_node_first(onx_model_graph(model));
        onx_fact_print(onx_facts_of(facts, onx_node_output(made, 0)), &out);
    } else {
        onx_buf_puts(&out, diag.message);
    }
    onx_buf_putc(&out, 0);
    if (!CHECK(strstr(out.data, want))) fprintf(stderr, "    %s: %s\n", node, out.data);
    onx_buf_fini(&out);
    onx_facts_free(facts);
    onx_model_free(model);
}

TEST(inference) {
    static const char matmul[] = "y = MatMul(a, b)", gemm[] = "y = Gemm(a, b, c)";
    check_infer("float[N,3] a, float[3,4] b", matmul, "float[N,4]");
    check_infer("float[N,S,768] a, float[768,M] b", matmul, "float[N,S,M]");
    check_infer("float[B,1,S,D] a, float[12,D,T] b", matmul, "float[B,12,S,T]");
    check_infer("float[3] a, float[B,3,4] b", matmul, "float[B,4]");
    check_infer("float[B,2,3] a, float[3] b", matmul, "float[B,2]");
    check_infer("float[3] a, float[3] b", matmul, "float");
    check_infer("float[2,3] a, float[4,5] b", matmul, "columns in A");
    check_infer("float[2,2,3] a, float[3,3,5] b", matmul, "broadcast");
    check_infer("float a, float[3] b", matmul, "one dimension");
    check_infer("float[M,K] a, float[K,N] b, float[N] c", gemm, "float[M,N]");
    check_infer("float[K,M] a, float[N,K] b, float c", "y = Gemm<transA = 1, transB = 1>(a, b, c)",
                "float[M,N]");
    check_infer("float16[M,8] a, float16[8,N] b, float16[1,5] c", gemm, "float16[M,5]");
    check_infer("float[2,3] a, float[4,5] b, float c", gemm, "columns in A");
    check_infer("float[2,3,4] a, float[4,5] b, float c", gemm, "matrices");
    check_infer("float[2,3] a, float[3,5] b, float[4] c", gemm, "broadcasts to the product");
}

TEST_MAIN(E(backend) E(matmul) E(gemm) E(beta_zero) E(types) E(refused) E(tile) E(by_half)
              E(inference))
