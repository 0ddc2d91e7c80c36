/* Tile programs: every instruction on every tier against the plain kernel; fused against unfused,
 * bit for bit; shapes; blocks of a matrix; programs that are wrong. */
#include "test.h"

#include "kernel_place.h"

#if defined(__aarch64__)
#define ONX_ISA neon
#else
#define ONX_ISA base
#endif
#include "ops/tile/tile_simd.h"

#include <math.h>

enum { MANY = 4000 };

static const float special[] = {0.0f,  -0.0f,    1.0f,      -1.0f,   0.5f,   -0.5f,  2.5f,
                                3.5f,  INFINITY, -INFINITY, NAN,     1e-40f, 1e30f,  -1e30f,
                                88.0f, -88.0f,   100.0f,    -100.0f, 1e-8f,  -1e-8f, 0.625f};

/* A program of one instruction over up to three inputs. */
static kernel_result run_op(const char *tier, int op, size_t arity, onx_operand *const *in) {
    char text[200];
    (void)snprintf(text, sizeof text, "y = onx.internal.Tile<code=[%d,0,%d,%d]>(%s)", op, arity > 1,
                   arity > 2 ? 2 : 0,
                   arity == 1   ? "a"
                   : arity == 2 ? "a, b"
                                : "a, b, c");
    return kernel_run(tier, 20, text, arity, in, 0);
}

static const char *const op_names[] = {
#define NAME(name, arity, is_bool, expression) #name,
    ONX_TILE_OPS(NAME)
#undef NAME
};

static void compare_op(const char *tier, int op, onx_operand *const *in) {
    size_t arity = onx_tile_arity((onx_tile_op)op);
    kernel_result r = run_op(tier, op, arity, in), ref = run_op("ref", op, arity, in);
    CHECK_EQ(r.status, ONX_OK);
    CHECK_EQ(ref.status, ONX_OK);
    double d = r.status || ref.status ? 0 : kernel_distance(&r.out[0], &ref.out[0]);
    if (!CHECK(d <= 4e-6)) fprintf(stderr, "    %s on %s: %g\n", op_names[op], tier, d);
    kernel_free(&r);
    kernel_free(&ref);
}

TEST(instructions) {
    static float a[MANY], b[MANY], c[MANY];
    static const char *const sizes[] = {"1", "7", "17", "512", "1000"};
    kernel_fill(a, MANY, 1, -6, 6);
    kernel_fill(b, MANY, 2, -3, 3);
    kernel_fill(c, MANY, 3, -1, 5);
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (int op = 0; op < ONX_TILE_OP_COUNT; op++)
            for (size_t s = 0; s < ONX_COUNT(sizes); s++) {
                onx_operand x = kernel_operand(ONX_DTYPE_F32, sizes[s], a),
                            y = kernel_operand(ONX_DTYPE_F32, sizes[s], b),
                            z = kernel_operand(ONX_DTYPE_F32, sizes[s], c);
                compare_op(*tier, op, (onx_operand *[]){&x, &y, &z});
            }
}

/* All pairs of special values, with the third operand fixed. SWIGLU is a product of three, whose
 * first two can be too small for a float, but not for a double, before the third is infinite. */
TEST(special_values) {
    enum { N = ONX_COUNT(special) };
    static float a[N * N], b[N * N], c[N * N];
    char dims[16];
    (void)snprintf(dims, sizeof dims, "%d", N * N);
    for (size_t i = 0; i < N * N; i++) {
        a[i] = special[i / N];
        b[i] = special[i % N];
        c[i] = 2.0f;
    }
    onx_operand x = kernel_operand(ONX_DTYPE_F32, dims, a),
                y = kernel_operand(ONX_DTYPE_F32, dims, b),
                z = kernel_operand(ONX_DTYPE_F32, dims, c);
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (int op = 0; op < ONX_TILE_OP_COUNT; op++)
            if (op != ONX_TILE_SWIGLU) compare_op(*tier, op, (onx_operand *[]){&x, &y, &z});
}

/* ─ Shapes ───────────────────────────────────────────────────────────────────────────────────── */

/* (a + b) * c, on operands that broadcast to the shape of the result, at odd addresses. */
static void broadcast_case(const char *tier, const char *const *dims) {
    static char memory[3][MANY * 4 + 16];
    onx_operand x[3], *in[3];
    for (size_t i = 0; i < 3; i++) {
        static float values[MANY];
        kernel_fill(values, MANY, i + 1, -2, 2);
        memcpy(memory[i] + 1, values, sizeof values);
        x[i] = kernel_operand(ONX_DTYPE_F32, dims[i], memory[i] + 1);
        in[i] = &x[i];
    }
    const char *text = "y = onx.internal.Tile<code=[22,0,1,0, 24,128,2,0]>(a, b, c)";
    kernel_result r = kernel_run(tier, 20, text, 3, in, 0),
                  ref = kernel_run("ref", 20, text, 3, in, 0);
    CHECK_EQ(r.status, ONX_OK);
    CHECK(r.status == ONX_OK && kernel_distance(&r.out[0], &ref.out[0]) == 0);
    kernel_free(&r);
    kernel_free(&ref);
}

TEST(broadcast) {
    CHECK_EQ(ONX_TILE_ADD, 22);
    CHECK_EQ(ONX_TILE_MUL, 24);
    static const char *const cases[][3] = {
        {"", "", ""},
        {"3,5", "5", "3,1"},
        {"7,300", "300", "7,1"},
        {"2,3,4,5", "3,1,1", "1,1,4,1"},
        {"1,6,5,5", "1,6,1,1", ""},
        {"5,1,7", "1,6,1", "5,6,7"},
        {"600,1", "1,6", "1"},
        {"2,1,3,1,2,3", "1,2,1,3,1,3", "2,1,1,3,2,1"},
        {"0,4", "1,4", "4"},
        {"3,0", "1", "3,1"},
        {"1,1,1", "1", ""},
        {"2,700", "1", "2,1"},
        {"3,513", "3,513", "513"},
    };
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < ONX_COUNT(cases); i++) broadcast_case(*tier, cases[i]);
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "2,3", (float[6]){0}),
                b = kernel_operand(ONX_DTYPE_F32, "2", (float[2]){0});
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r = kernel_run(*tier, 20, "y = Add(a, b)", 2, (onx_operand *[]){&a, &b}, 0);
        CHECK_EQ(r.status, ONX_INVALID);
        CHECK(strstr(r.diag.message, "broadcast") != NULL);
        kernel_free(&r);
    }
}

TEST(bools) {
    uint8_t mask[150], other[150];
    float x[150];
    for (size_t i = 0; i < 150; i++) {
        mask[i] = (uint8_t)(i % 3 ? i : 0);
        other[i] = i % 2;
    }
    kernel_fill(x, 150, 5, -1, 1);
    onx_operand m = kernel_operand(ONX_DTYPE_BOOL, "3,50", mask),
                o = kernel_operand(ONX_DTYPE_BOOL, "50", other),
                v = kernel_operand(ONX_DTYPE_F32, "3,50", x),
                s = kernel_operand(ONX_DTYPE_F32, "", (float[]){-7});
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r = kernel_run(*tier, 20, "y = And(m, o)", 2, (onx_operand *[]){&m, &o}, 0);
        REQUIRE(r.status == ONX_OK && r.out[0].dtype == ONX_DTYPE_BOOL);
        for (size_t i = 0; i < 150; i++)
            CHECK_EQ(((uint8_t *)r.out[0].data)[i], i % 3 != 0 && mask[i] && other[i % 50]);
        kernel_free(&r);
        r = kernel_run(*tier, 20, "y = Where(m, v, s)", 3, (onx_operand *[]){&m, &v, &s}, 0);
        REQUIRE(r.status == ONX_OK);
        for (size_t i = 0; i < 150; i++)
            CHECK(((float *)r.out[0].data)[i] == (mask[i] ? x[i] : -7));
        kernel_free(&r);
    }
}

/* [N][C/8][H][W][8] against one number per channel, and per image and channel. */
TEST(blocked) {
    enum { N = 2, C = 16, H = 3, W = 5 };
    float x[N * C * H * W], blocked[N * C * H * W], p[N * C];
    kernel_fill(x, N * C * H * W, 1, -2, 2);
    kernel_fill(p, N * C, 2, -2, 2);
    for (size_t n = 0; n < N; n++)
        for (size_t c = 0; c < C; c++)
            for (size_t i = 0; i < H * W; i++)
                blocked[((n * (C / 8) + c / 8) * H * W + i) * 8 + c % 8] =
                    x[(n * C + c) * H * W + i];
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "2,16,3,5", blocked);
    a.layout = ONX_LAYOUT_C8;
    static const char *const shapes[] = {"16,1,1", "2,16,1,1", "1,1,1,1", "2,1,1,1"};
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t s = 0; s < ONX_COUNT(shapes); s++) {
            onx_operand b = kernel_operand(ONX_DTYPE_F32, shapes[s], p);
            kernel_result r = kernel_run(*tier, 20, "y = onx.internal.Tile<code=[22,0,1,0]>(a, b)",
                                         2, (onx_operand *[]){&a, &b}, 0);
            REQUIRE(r.status == ONX_OK && r.out[0].layout == ONX_LAYOUT_C8);
            for (size_t i = 0; i < N * C * H * W; i++) {
                size_t n = i / (C * H * W), c = i / (H * W) % C;
                size_t q = s == 0 ? c : s == 1 ? n * C + c : s == 2 ? 0 : n;
                float y = ((float *)r.out[0]
                               .data)[((n * (C / 8) + c / 8) * H * W + i % (H * W)) * 8 + c % 8];
                CHECK(y == x[i] + p[q]);
            }
            kernel_free(&r);
        }
    onx_operand wide = kernel_operand(ONX_DTYPE_F32, "3,5", x);
    kernel_result r = kernel_run("ref", 20, "y = onx.internal.Tile<code=[22,0,1,0]>(a, b)", 2,
                                 (onx_operand *[]){&a, &wide}, 0);
    CHECK_EQ(r.status, ONX_UNSUPPORTED);
    kernel_free(&r);
}

/* ─ Fused and unfused ────────────────────────────────────────────────────────────────────────── */

/* Gelu as exported: 0.5 * x * (1 + erf(x / 1.4142135)), with a bias before and a residual after. */
TEST(same_bits_as_unfused) {
    static float x[37 * 129], r0[37 * 129], bias[129];
    kernel_fill(x, 37 * 129, 1, -4, 4);
    kernel_fill(r0, 37 * 129, 2, -4, 4);
    kernel_fill(bias, 129, 3, -1, 1);
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "37,129", x),
                b = kernel_operand(ONX_DTYPE_F32, "129", bias),
                c = kernel_operand(ONX_DTYPE_F32, "37,129", r0),
                root = kernel_operand(ONX_DTYPE_F32, "", (float[]){1.4142135f}),
                one = kernel_operand(ONX_DTYPE_F32, "", (float[]){1}),
                half = kernel_operand(ONX_DTYPE_F32, "", (float[]){0.5f});
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result s[8];
        s[0] = kernel_run(*tier, 20, "y = Add(a, b)", 2, (onx_operand *[]){&a, &b}, 0);
        s[1] = kernel_run(*tier, 20, "y = Div(a, b)", 2, (onx_operand *[]){&s[0].out[0], &root}, 0);
        s[2] = kernel_run(*tier, 20, "y = Erf(a)", 1, (onx_operand *[]){&s[1].out[0]}, 0);
        s[3] = kernel_run(*tier, 20, "y = Add(a, b)", 2, (onx_operand *[]){&s[2].out[0], &one}, 0);
        s[4] = kernel_run(*tier, 20, "y = Mul(a, b)", 2,
                          (onx_operand *[]){&s[0].out[0], &s[3].out[0]}, 0);
        s[5] = kernel_run(*tier, 20, "y = Mul(a, b)", 2, (onx_operand *[]){&s[4].out[0], &half}, 0);
        s[6] = kernel_run(*tier, 20, "y = Add(a, b)", 2, (onx_operand *[]){&s[5].out[0], &c}, 0);
        s[7] = kernel_run(*tier, 20,
                          "y = onx.internal.Tile<consts=[1.4142135, 1.0, 0.5], code=[22,0,1,0, "
                          "25,128,64,0, 11,129,0,0, 22,130,65,0, 24,128,131,0, 24,132,66,0, "
                          "22,133,2,0]>(a, b, c)",
                          3, (onx_operand *[]){&a, &b, &c}, 0);
        CHECK_EQ(s[7].status, ONX_OK);
        CHECK(s[7].status == ONX_OK &&
              memcmp(s[6].out[0].data, s[7].out[0].data, s[7].out[0].bytes) == 0);
        for (size_t i = 0; i < 8; i++) kernel_free(&s[i]);
    }
    CHECK_EQ(ONX_TILE_DIV, 25);
    CHECK_EQ(ONX_TILE_ERF, 11);
}

/* A lane's power is the same whatever stands beside it, and wherever it stands. */
TEST(powers) {
    float x[64], y[64], one[64];
    static const float exponents[] = {2, 3, 0.5f, -1, 2.5f, 0};
    kernel_fill(x, 64, 4, 0.01f, 9);
    for (size_t i = 0; i < 64; i++) y[i] = exponents[i % ONX_COUNT(exponents)];
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "64", x),
                b = kernel_operand(ONX_DTYPE_F32, "64", y);
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result all = kernel_run(*tier, 20, "y = Pow(a, b)", 2, (onx_operand *[]){&a, &b}, 0);
        REQUIRE(all.status == ONX_OK);
        for (size_t e = 0; e < ONX_COUNT(exponents); e++) {
            onx_operand c = kernel_operand(ONX_DTYPE_F32, "", (float[]){exponents[e]});
            kernel_result r =
                kernel_run(*tier, 20, "y = Pow(a, c)", 2, (onx_operand *[]){&a, &c}, 0);
            REQUIRE(r.status == ONX_OK);
            memcpy(one, r.out[0].data, sizeof one);
            for (size_t i = e; i < 64; i += ONX_COUNT(exponents))
                CHECK(one[i] == ((float *)all.out[0].data)[i]);
            kernel_free(&r);
        }
        kernel_free(&all);
    }
}

TEST(in_place) {
    static float x[1500], y[1500], keep[1500];
    char bias[16];
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t which = 0; which < 2; which++) {
            kernel_fill(x, 1500, 1, -4, 4);
            kernel_fill(y, 1500, 2, -4, 4);
            (void)snprintf(bias, sizeof bias, "%d", 1500);
            onx_operand a = kernel_operand(ONX_DTYPE_F32, "3,500", x),
                        b = kernel_operand(ONX_DTYPE_F32, "3,500", y);
            const char *text =
                "y = onx.internal.Tile<code=[11,0,0,0, 22,128,1,0, 24,129,0,0]>(a, b)";
            kernel_result r = kernel_run(*tier, 20, text, 2, (onx_operand *[]){&a, &b}, 0);
            REQUIRE(r.status == ONX_OK);
            memcpy(keep, r.out[0].data, sizeof keep);
            kernel_free(&r);
            CHECK(kernel_in_place(*tier, 20, text, 2, (onx_operand *[]){&a, &b}, which));
            CHECK(memcmp(keep, which ? y : x, sizeof keep) == 0);
        }
}

/* ─ Blocks of a kernel's own output ──────────────────────────────────────────────────────────── */

/* relu(block + bias) + residual on a [9][37] matrix, block by block. */
TEST(rows) {
    enum { M = 9, N = 37 };
    float matrix[M * N], want[M * N], bias[N], residual[M * N];
    kernel_fill(matrix, M * N, 1, -2, 2);
    kernel_fill(bias, N, 2, -2, 2);
    kernel_fill(residual, M * N, 3, -2, 2);
    for (size_t i = 0; i < M * N; i++) {
        float sum = matrix[i] + bias[i % N];
        want[i] = (sum > 0 ? sum : 0) + residual[i];
    }
    onx_tile_program p = {.n_in = 3};
    uint8_t v = onx_tile_emit(&p, ONX_TILE_ADD, 0, 1, 0);
    v = onx_tile_emit(&p, ONX_TILE_RELU, v, 0, 0);
    (void)onx_tile_emit(&p, ONX_TILE_ADD, v, 2, 0);
    onx_arena arena;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_arena_init(&arena, onx_context_or_default(NULL));
    onx_call call = {.ctx = onx_context_or_default(NULL), .arena = &arena, .diag = &diag};
    onx_operand b = kernel_operand(ONX_DTYPE_F32, "37", bias),
                r = kernel_operand(ONX_DTYPE_F32, "9,37", residual),
                result = kernel_operand(ONX_DTYPE_F32, "9,37", NULL);
    onx_operand *operands[] = {NULL, &b, &r};
    const onx_tile *tile = NULL;
    onx_tile_plan plan;
    onx_tile_work work;
    REQUIRE(onx_tile_new(&call, &p, &tile) == ONX_OK);
    REQUIRE(onx_tile_bind(&call, tile, &result, operands, &plan) == ONX_OK);
    void *scratch = aligned_alloc(ONX_ALIGN, (tile->scratch + 63) & ~(size_t)63);
    REQUIRE(scratch != NULL);
    ONX_TIER(onx_tile_begin)(&work, &plan, operands, scratch);
    for (int64_t row = 0; row < M; row += 4)
        for (int64_t column = 0; column < N; column += 10) ONX_TIER(onx_tile_rows)
    (&work, matrix + row * N + column, N, N, row, (size_t)(M - row < 4 ? M - row : 4), column,
     (size_t)(N - column < 10 ? N - column : 10));
    CHECK(memcmp(matrix, want, sizeof want) == 0);
    free(scratch);
    onx_arena_fini(&arena);
}

/* ─ Programs ─────────────────────────────────────────────────────────────────────────────────── */

TEST(wrong_programs) {
    static const char *const wrong[] = {
        "y = onx.internal.Tile<code=[0,0,0]>(a)",
        "y = onx.internal.Tile<code=[-1,0,0,0]>(a)",
        "y = onx.internal.Tile<code=[200,0,0,0]>(a)",
        "y = onx.internal.Tile<code=[9223372036854775807,0,0,0]>(a)",
        "y = onx.internal.Tile<code=[22,0,1,0]>(a)",
        "y = onx.internal.Tile<code=[22,0,-1,0]>(a)",
        "y = onx.internal.Tile<code=[22,0,64,0]>(a)",
        "y = onx.internal.Tile<code=[22,0,128,0]>(a)",
        "y = onx.internal.Tile<code=[22,0,0,0, 22,128,129,0]>(a)",
        "y = onx.internal.Tile(a)",
        "y = onx.internal.Tile<code=[0,0,0,0]>(a,a,a,a,a,a,a,a,a)",
    };
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "2", (float[2]){0});
    onx_operand *in[9] = {&a, &a, &a, &a, &a, &a, &a, &a, &a};
    for (size_t i = 0; i < ONX_COUNT(wrong); i++) {
        bool many = strstr(wrong[i], "a,a") != NULL;
        kernel_result r = kernel_run(kernel_tiers()[0], 20, wrong[i], many ? 9 : 1, in, 0);
        if (!CHECK(r.status == ONX_INVALID && r.diag.message[0]))
            fprintf(stderr, "    %s: %s\n", wrong[i], onx_status_name(r.status));
        kernel_free(&r);
    }
    onx_operand whole = kernel_operand(ONX_DTYPE_I64, "1", (int64_t[]){1});
    kernel_result r = kernel_run(kernel_tiers()[0], 20, "y = onx.internal.Tile<code=[0,0,0,0]>(a)",
                                 1, (onx_operand *[]){&whole}, 0);
    CHECK_EQ(r.status, ONX_UNSUPPORTED);
    kernel_free(&r);
}

TEST(making) {
    onx_tile_program p = {.n_in = 1};
    CHECK_EQ(onx_tile_const(&p, 0.0f), ONX_TILE_CONST);
    CHECK_EQ(onx_tile_const(&p, -0.0f), ONX_TILE_CONST + 1);
    CHECK_EQ(onx_tile_const(&p, 0.0f), ONX_TILE_CONST);
    for (size_t i = 0; i < ONX_TILE_CODE; i++)
        CHECK_EQ(onx_tile_emit(&p, ONX_TILE_NEG, 0, 0, 0), ONX_TILE_VALUE + i);
    CHECK_EQ(onx_tile_emit(&p, ONX_TILE_NEG, 0, 0, 0), ONX_TILE_ABSENT);
    const onx_op *op = onx_op_find(ONX_LIT(""), ONX_LIT("Relu"), 20);
    REQUIRE(op != NULL);
    onx_model *model = onx_model_new(NULL, "m", 20);
    onx_graph *graph = onx_model_graph(model);
    onx_value *x = onx_graph_add_input(graph, "x", "float[2]");
    (void)onx_graph_add_op(graph, "Relu", "y", x);
    onx_node *node = onx_graph_node_first(graph);
    const onx_tile_form *form = onx_tile_form_of(op, node);
    REQUIRE(form != NULL);
    uint8_t value = 0;
    CHECK(!onx_tile_add(&p, form, op, node, 1, (uint8_t[]){0}, &value));
    CHECK_EQ(p.n_code, ONX_TILE_CODE);
    p = (onx_tile_program){.n_in = 1};
    CHECK(!onx_tile_add(&p, form, op, node, 2, (uint8_t[]){0, 0}, &value));
    CHECK(!onx_tile_add(&p, form, op, node, 1, (uint8_t[]){ONX_TILE_ABSENT}, &value));
    REQUIRE(onx_tile_add(&p, form, op, node, 1, (uint8_t[]){0}, &value));
    CHECK_EQ(value, ONX_TILE_VALUE);
    CHECK(onx_tile_form_takes(form, 0, ONX_DTYPE_F32) &&
          !onx_tile_form_takes(form, 0, ONX_DTYPE_BOOL));
    (void)onx_tile_const(&p, 2.5f);
    onx_tile_program back;
    REQUIRE(onx_tile_put(&p, node) == ONX_OK);
    REQUIRE(onx_tile_get(node, 1, &back, NULL) == ONX_OK);
    CHECK(memcmp(&p, &back, sizeof p) == 0);
    onx_model_free(model);
}

TEST_MAIN(E(instructions) E(special_values) E(broadcast) E(bools) E(blocked) E(same_bits_as_unfused)
              E(powers) E(in_place) E(rows) E(wrong_programs) E(making))
