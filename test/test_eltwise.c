/* Functions of elements, and Cast: every tier against recorded outputs and against the plain
 * kernels; shapes, types, integers at their limits, strings, what is known before a run. */
#include "test.h"

#include "infer/infer.h"
#include "kernel_place.h"

#include <math.h>

TEST(backend) {
    static const char *const prefixes[] = {
        "abs",      "acos",    "add",     "and",    "asin",       "atan",     "bitcast",
        "bitshift", "bitwise", "cast",    "ceil",   "celu",       "clip",     "cos",
        "div",      "elu",     "equal",   "erf",    "exp",        "floor",    "gelu",
        "greater",  "hards",   "isinf",   "isnan",  "leakyrelu",  "less",     "log",
        "max_",     "mean_",   "min_",    "mish",   "mod",        "mul",      "neg",
        "not_",     "or",      "pow",     "prelu",  "reciprocal", "relu",     "round",
        "selu",     "shrink",  "sigmoid", "sign",   "sin",        "softplus", "softsign",
        "sqrt",     "sub",     "sum",     "swiglu", "swish",      "tan",      "thresholdedrelu",
        "where",    "xor"};
    size_t failed = 0, ran = 0;
    for (size_t i = 0; i < ONX_COUNT(prefixes); i++)
        ran += kernel_backend(prefixes[i], "expand|softmax|negative_log|multinomial", &failed);
    if (!ran) SKIP("ONX_DATA is not set");
    printf("%zu backend tests\n", ran);
    CHECK_EQ(failed, 0);
}

/* ─ Vectors against plain loops ──────────────────────────────────────────────────────────────── */

enum { MANY = 3 * 700 };

static void compare(const char *tier, const char *text, size_t n, const char *const *dims) {
    static char memory[3][MANY * 4 + 4];
    onx_operand x[3], *in[3];
    for (size_t i = 0; i < n; i++) {
        static float values[MANY];
        kernel_fill(values, MANY, i + 7, -3, 3);
        memcpy(memory[i] + 3, values, sizeof values);
        x[i] = kernel_operand(ONX_DTYPE_F32, dims[i], memory[i] + 3);
        in[i] = &x[i];
    }
    kernel_result r = kernel_run(tier, 20, text, n, in, 0),
                  ref = kernel_run("ref", 20, text, n, in, 0);
    double d = r.status || ref.status ? HUGE_VAL : kernel_distance(&r.out[0], &ref.out[0]);
    if (!CHECK(d <= 4e-6)) fprintf(stderr, "    %s on %s: %g %s\n", text, tier, d, r.diag.message);
    if (r.status == ONX_OK && strcmp(tier, "ref") != 0)
        CHECK(strstr(r.kernel->name, "_f32") != NULL);
    kernel_free(&r);
    kernel_free(&ref);
}

TEST(vectors) {
    static const char *const shapes[][2] = {
        {"", ""},         {"1", "1"},          {"13", "13"},     {"3,700", "3,700"},
        {"3,700", "700"}, {"3,700", ""},       {"3,1", "1,700"}, {"5,7,11", "7,1"},
        {"0,3", "3"},     {"1,4,9,9", "4,1,1"}};
    static const char *const two[] = {
        "Add",  "Sub",         "Mul",   "Div", "Max", "Min", "Equal", "Greater", "GreaterOrEqual",
        "Less", "LessOrEqual", "PRelu", "Sum", "Mean"};
    static const char *const one[] = {"Abs(a)",
                                      "Ceil(a)",
                                      "Celu<alpha=0.5>(a)",
                                      "Elu(a)",
                                      "Erf(a)",
                                      "Exp(a)",
                                      "Floor(a)",
                                      "Gelu(a)",
                                      "HardSigmoid(a)",
                                      "HardSwish(a)",
                                      "IsNaN(a)",
                                      "Log(a)",
                                      "LeakyRelu(a)",
                                      "Mish(a)",
                                      "Neg(a)",
                                      "Reciprocal(a)",
                                      "Relu(a)",
                                      "Round(a)",
                                      "Selu(a)",
                                      "Sign(a)",
                                      "Sigmoid(a)",
                                      "Softplus(a)",
                                      "Softsign(a)",
                                      "Sqrt(a)",
                                      "Tanh(a)",
                                      "Clip(a)",
                                      "ThresholdedRelu(a)",
                                      "Gelu<approximate=\"tanh\">(a)"};
    char text[64];
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t s = 0; s < ONX_COUNT(shapes); s++) {
            for (size_t i = 0; i < ONX_COUNT(two); i++) {
                (void)snprintf(text, sizeof text, "y = %s(a, b)", two[i]);
                compare(*tier, text, 2, shapes[s]);
            }
            for (size_t i = 0; i < ONX_COUNT(one); i++) {
                (void)snprintf(text, sizeof text, "y = %s", one[i]);
                compare(*tier, text, 1, shapes[s]);
            }
        }
}

TEST(in_place) {
    float x[77], y[77], keep[77];
    static const char *const nodes[] = {"y = Add(a, b)", "y = Sub(a, b)", "y = Max(a, b)",
                                        "y = Where(c, a, b)"};
    uint8_t c[77];
    for (size_t i = 0; i < 77; i++) c[i] = i % 3 == 0;
    onx_operand condition = kernel_operand(ONX_DTYPE_BOOL, "7,11", c);
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t i = 0; i < ONX_COUNT(nodes); i++)
            for (size_t which = 0; which < 2; which++) {
                kernel_fill(x, 77, 1, -3, 3);
                kernel_fill(y, 77, 2, -3, 3);
                onx_operand a = kernel_operand(ONX_DTYPE_F32, "7,11", x),
                            b = kernel_operand(ONX_DTYPE_F32, "7,11", y);
                bool where = i == 3;
                onx_operand *in[] = {&condition, &a, &b}, **from = where ? in : in + 1;
                size_t n = where ? 3 : 2;
                kernel_result r = kernel_run(*tier, 20, nodes[i], n, from, 0);
                REQUIRE(r.status == ONX_OK);
                memcpy(keep, r.out[0].data, sizeof keep);
                kernel_free(&r);
                CHECK(kernel_in_place(*tier, 20, nodes[i], n, from, which + where));
                CHECK(memcmp(keep, which ? y : x, sizeof keep) == 0);
            }
}

TEST(many_inputs) {
    float x[12][3];
    onx_operand o[12], *in[12];
    for (size_t i = 0; i < 12; i++) {
        for (size_t k = 0; k < 3; k++) x[i][k] = (float)((i * 7 + k * 5) % 12);
        o[i] = kernel_operand(ONX_DTYPE_F32, i % 2 ? "3" : "1", x[i]);
        in[i] = &o[i];
    }
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r = kernel_run(*tier, 20, "y = Max(a,b,c,d,e,f,g,h,i,j,k,l)", 12, in, 0);
        REQUIRE(r.status == ONX_OK && r.out[0].count == 3);
        for (size_t k = 0; k < 3; k++) {
            float max = 0;
            for (size_t i = 0; i < 12; i++) max = fmaxf(max, x[i][i % 2 ? k : 0]);
            CHECK(((float *)r.out[0].data)[k] == max);
        }
        kernel_free(&r);
    }
}

/* ─ Types ────────────────────────────────────────────────────────────────────────────────────── */

static const onx_dtype numbers[] = {ONX_DTYPE_F32, ONX_DTYPE_F64, ONX_DTYPE_F16, ONX_DTYPE_BF16,
                                    ONX_DTYPE_I8,  ONX_DTYPE_I16, ONX_DTYPE_I32, ONX_DTYPE_I64,
                                    ONX_DTYPE_U8,  ONX_DTYPE_U16, ONX_DTYPE_U32, ONX_DTYPE_U64};

static double add(double a, double b) {
    return a + b;
}
static double mul(double a, double b) {
    return a * b;
}
static double divide(double a, double b) {
    return trunc(a / b);
}

/* Small whole numbers, which every type holds. */
static void every_type_on(const char *tier) {
    static const struct {
        const char *text;
        double (*f)(double, double);
    } cases[] = {{"y = Add(a, b)", add},    {"y = Mul(a, b)", mul},
                 {"y = Max(a, b)", fmax},   {"y = Min(a, b)", fmin},
                 {"y = Div(a, b)", divide}, {"y = Mod<fmod=1>(a, b)", fmod}};
    double a[6] = {0, 1, 2, 12, 8, 6}, b[3] = {1, 2, 4};
    for (size_t t = 0; t < ONX_COUNT(numbers); t++) {
        char x[64], z[64];
        double y[6];
        (void)onx_dtype_convert(ONX_DTYPE_F64, a, numbers[t], x, 6, false);
        (void)onx_dtype_convert(ONX_DTYPE_F64, b, numbers[t], z, 3, false);
        onx_operand p = kernel_operand(numbers[t], "2,3", x),
                    q = kernel_operand(numbers[t], "3", z);
        for (size_t i = 0; i < ONX_COUNT(cases); i++) {
            bool whole = numbers[t] != ONX_DTYPE_F32 && numbers[t] != ONX_DTYPE_F64 &&
                         numbers[t] != ONX_DTYPE_F16 && numbers[t] != ONX_DTYPE_BF16;
            kernel_result r = kernel_run(tier, 20, cases[i].text, 2, (onx_operand *[]){&p, &q}, 0);
            REQUIRE(r.status == ONX_OK && r.out[0].dtype == numbers[t]);
            (void)onx_dtype_convert(numbers[t], r.out[0].data, ONX_DTYPE_F64, y, 6, false);
            for (size_t k = 0; k < 6; k++) {
                double want =
                    cases[i].f == divide && !whole ? a[k] / b[k % 3] : cases[i].f(a[k], b[k % 3]);
                CHECK(y[k] == want);
            }
            kernel_free(&r);
        }
    }
}

TEST(every_type) {
    for (const char *const *tier = kernel_tiers(); *tier; tier++) every_type_on(*tier);
}

/* Floats of 16 bits: what is computed in float and in double may round apart once. */
static void halves_on(const char *tier, onx_dtype dtype, const char *text,
                      const char *const *dims) {
    static char memory[2][MANY * 2 + 1];
    static float values[MANY];
    onx_operand x[2], *in[2];
    double step = dtype == ONX_DTYPE_F16 ? 0x1p-10 : 0x1p-7;
    for (size_t i = 0; i < 2; i++) {
        kernel_fill(values, MANY, i + 7, -3, 3);
        (void)onx_dtype_convert(ONX_DTYPE_F32, values, dtype, memory[i] + 1, MANY, false);
        x[i] = kernel_operand(dtype, dims[i], memory[i] + 1);
        in[i] = &x[i];
    }
    size_t n = strchr(text, ',') ? 2 : 1;
    kernel_result r = kernel_run(tier, 20, text, n, in, 0),
                  ref = kernel_run("ref", 20, text, n, in, 0);
    double d = r.status || ref.status ? HUGE_VAL : kernel_distance(&r.out[0], &ref.out[0]);
    if (!CHECK(d <= step)) fprintf(stderr, "    %s on %s: %g\n", text, tier, d);
    if (r.status == ONX_OK && strcmp(tier, "ref") != 0)
        CHECK(strstr(r.kernel->name, "_half") != NULL);
    kernel_free(&r);
    kernel_free(&ref);
}

TEST(halves) {
    static const char *const shapes[][2] = {
        {"", ""}, {"13", "13"}, {"3,700", "700"}, {"3,1", "1,700"}, {"0", "1"}};
    static const char *const nodes[] = {"y = Add(a, b)",  "y = Div(a, b)", "y = Max(a, b)",
                                        "y = Less(a, b)", "y = Relu(a)",   "y = Sigmoid(a)",
                                        "y = Gelu(a)"};
    for (const char *const *tier = kernel_tiers(); *tier; tier++)
        for (size_t s = 0; s < ONX_COUNT(shapes); s++)
            for (size_t i = 0; i < ONX_COUNT(nodes); i++) {
                halves_on(*tier, ONX_DTYPE_F16, nodes[i], shapes[s]);
                halves_on(*tier, ONX_DTYPE_BF16, nodes[i], shapes[s]);
            }
}

/* a op b on integers of 64, 32 and 8 bits. */
static int64_t on_ints(const char *op, onx_dtype dtype, int64_t a, int64_t b) {
    char text[64], x[8], y[8];
    int64_t result = -77;
    (void)onx_dtype_convert(ONX_DTYPE_I64, &a, dtype, x, 1, false);
    (void)onx_dtype_convert(ONX_DTYPE_I64, &b, dtype, y, 1, false);
    onx_operand p = kernel_operand(dtype, "1", x), q = kernel_operand(dtype, "1", y);
    (void)snprintf(text, sizeof text, "y = %s(a, b)", op);
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        int64_t before = result;
        kernel_result r = kernel_run(*tier, 28, text, 2, (onx_operand *[]){&p, &q}, 0);
        CHECK_EQ(r.status, ONX_OK);
        if (r.status == ONX_OK)
            (void)onx_dtype_convert((onx_dtype)r.out[0].dtype, r.out[0].data, ONX_DTYPE_I64,
                                    &result, 1, false);
        if (tier != kernel_tiers()) CHECK_EQ(result, before);
        kernel_free(&r);
    }
    return result;
}

TEST(integer_limits) {
    CHECK_EQ(on_ints("Div", ONX_DTYPE_I64, 7, 0), 0);
    CHECK_EQ(on_ints("Div", ONX_DTYPE_I64, INT64_MIN, -1), INT64_MIN);
    CHECK_EQ(on_ints("Div", ONX_DTYPE_I32, INT32_MIN, -1), INT32_MIN);
    CHECK_EQ(on_ints("Div", ONX_DTYPE_I8, -7, 2), -3);
    CHECK_EQ(on_ints("Div", ONX_DTYPE_U64, -1, 2), INT64_MAX);
    CHECK_EQ(on_ints("Mod", ONX_DTYPE_I64, INT64_MIN, -1), 0);
    CHECK_EQ(on_ints("Mod", ONX_DTYPE_I64, 5, 0), 0);
    CHECK_EQ(on_ints("Mod", ONX_DTYPE_I64, -7, 3), 2);
    CHECK_EQ(on_ints("Mod<fmod=1>", ONX_DTYPE_I64, -7, 3), -1);
    CHECK_EQ(on_ints("Add", ONX_DTYPE_I64, INT64_MAX, 1), INT64_MIN);
    CHECK_EQ(on_ints("Add", ONX_DTYPE_I8, 127, 1), -128);
    CHECK_EQ(on_ints("Sub", ONX_DTYPE_U8, 0, 1), 255);
    CHECK_EQ(on_ints("Mul", ONX_DTYPE_I32, 65536, 65536), 0);
    CHECK_EQ(on_ints("Mul", ONX_DTYPE_I64, INT64_MIN, -1), INT64_MIN);
    CHECK_EQ(on_ints("Pow", ONX_DTYPE_I64, 3, 4), 81);
    CHECK_EQ(on_ints("Pow", ONX_DTYPE_I64, 2, -1), 0);
    CHECK_EQ(on_ints("Pow", ONX_DTYPE_I64, -1, -3), -1);
    CHECK_EQ(on_ints("Pow", ONX_DTYPE_I64, -1, INT64_MIN), 1);
    CHECK_EQ(on_ints("Greater", ONX_DTYPE_U64, -1, 1), 1);
    CHECK_EQ(on_ints("Greater", ONX_DTYPE_I64, -1, 1), 0);
    CHECK_EQ(on_ints("Max", ONX_DTYPE_U64, INT64_MIN, 1), INT64_MIN);
    CHECK_EQ(on_ints("BitShift<direction=\"LEFT\">", ONX_DTYPE_U8, 3, 9), 0);
    CHECK_EQ(on_ints("BitShift<direction=\"RIGHT\">", ONX_DTYPE_I32, -8, 100), -1);
}

/* Elements of any bits, small ones, and those at the limits of a type. */
static void fill_typed(char *to, onx_dtype dtype, size_t n, uint64_t seed) {
    static const int64_t whole[] = {0,         -1,        1,         2,         -7,  3,
                                    INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, 255, 0};
    static const double real[] = {0, -0.0, 1, -1, 0.5, -2.5, 1e300, INFINITY, -INFINITY, NAN, 3, 7};
    size_t size = onx_dtype_bits(dtype) / 8;
    uint8_t bytes[8];
    for (size_t i = 0; i < n; i++) {
        size_t kind = (i * 7 + seed * 5) % 17;
        kernel_fill_bytes(bytes, 8, seed * 1000003 + i);
        if (dtype == ONX_DTYPE_F64 && kind >= ONX_COUNT(real)) {
            double x = ((double)bytes[0] - 128) / 16;
            memcpy(to + i * size, &x, size);
        } else if (kind >= ONX_COUNT(whole))
            memcpy(to + i * size, bytes, size);
        else if (dtype == ONX_DTYPE_F64)
            memcpy(to + i * size, &real[kind], size);
        else
            (void)onx_dtype_convert(ONX_DTYPE_I64, &whole[kind], dtype, to + i * size, 1, false);
    }
}

/* The same as the plain kernel; true: by a kernel for vectors. */
static bool typed_on(const char *tier, onx_dtype dtype, const char *text, const char *const *dims) {
    static char memory[3][MANY * 8 + 8];
    onx_operand x[3], *in[3];
    bool where = strstr(text, "Where") != NULL;
    size_t n = strstr(text, ", c") ? 3 : strchr(text, ',') ? 2 : 1;
    for (size_t i = 0; i < n; i++) {
        onx_dtype type = where && i == 0 ? ONX_DTYPE_BOOL : dtype;
        fill_typed(memory[i] + i, type, MANY, i + 1);
        x[i] = kernel_operand(type, dims[i % 2], memory[i] + i);
        in[i] = &x[i];
    }
    kernel_result r = kernel_run(tier, 28, text, n, in, 0),
                  ref = kernel_run("ref", 28, text, n, in, 0);
    bool same = r.status == ref.status,
         typed = same && r.kernel && strstr(r.kernel->name, "_typed");
    if (same && r.status == ONX_OK)
        same = kernel_distance(&r.out[0], &ref.out[0]) == 0 &&
               (r.out[0].dtype == ONX_DTYPE_F64 || !r.out[0].bytes ||
                memcmp(r.out[0].data, ref.out[0].data, r.out[0].bytes) == 0);
    if (!CHECK(same))
        fprintf(stderr, "    %s of %s on %s: %s\n", text, onx_dtype_name(dtype), tier,
                r.diag.message);
    kernel_free(&r);
    kernel_free(&ref);
    return typed;
}

TEST(typed) {
    static const char *const shapes[][2] = {{"", ""},           {"1", "1"},        {"13", "13"},
                                            {"3,700", "3,700"}, {"3,700", "700"},  {"3,700", ""},
                                            {"3,1", "1,700"},   {"5,7,11", "7,1"}, {"0,3", "3"},
                                            {"2100", "2100"},   {"700,3", "700,1"}};
    static const char *const nodes[] = {"Abs(a)",
                                        "Add(a, b)",
                                        "And(a, b)",
                                        "BitwiseAnd(a, b)",
                                        "BitwiseNot(a)",
                                        "BitwiseOr(a, b)",
                                        "BitwiseXor(a, b)",
                                        "BitShift<direction=\"LEFT\">(a, b)",
                                        "Ceil(a)",
                                        "Div(a, b)",
                                        "Equal(a, b)",
                                        "BitShift<direction=\"RIGHT\">(a, b)",
                                        "Floor(a)",
                                        "Greater(a, b)",
                                        "GreaterOrEqual(a, b)",
                                        "IsNaN(a)",
                                        "Less(a, b)",
                                        "LessOrEqual(a, b)",
                                        "Max(a, b, c)",
                                        "Min(a, b)",
                                        "Mod(a, b)",
                                        "Mod<fmod=1>(a, b)",
                                        "Mul(a, b)",
                                        "Neg(a)",
                                        "Not(a)",
                                        "Or(a, b)",
                                        "Reciprocal(a)",
                                        "Relu(a)",
                                        "Round(a)",
                                        "Sign(a)",
                                        "Sqrt(a)",
                                        "Sub(a, b)",
                                        "Sum(a, b, c)",
                                        "Where(a, b, c)",
                                        "Xor(a, b)"};
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        size_t typed = 0;
        for (size_t i = 0; i < ONX_COUNT(nodes); i++)
            for (int t = 1; t <= ONX_DTYPE_BF16; t++) {
                char text[64];
                if (t == ONX_DTYPE_STRING || t == ONX_DTYPE_C64 || t == ONX_DTYPE_C128) continue;
                if (t == ONX_DTYPE_F32 || t == ONX_DTYPE_F16 || t == ONX_DTYPE_BF16) continue;
                (void)snprintf(text, sizeof text, "y = %s", nodes[i]);
                for (size_t s = 0; s < ONX_COUNT(shapes); s++)
                    typed += typed_on(*tier, (onx_dtype)t, text, shapes[s]);
            }
        CHECK(strcmp(*tier, "ref") == 0 ? typed == 0 : typed > 100 * ONX_COUNT(shapes));
    }
}

/* Shapes met at an axis, before opset 7. */
TEST(old_axis) {
    float a[2 * 3 * 2] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, b[3] = {10, 20, 30};
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "2,3,2", a),
                y = kernel_operand(ONX_DTYPE_F32, "3", b);
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r = kernel_run(*tier, 6, "y = Add<axis=1, broadcast=1>(a, b)", 2,
                                     (onx_operand *[]){&x, &y}, 0);
        REQUIRE(r.status == ONX_OK);
        for (size_t i = 0; i < 12; i++) CHECK(((float *)r.out[0].data)[i] == a[i] + b[i / 2 % 3]);
        kernel_free(&r);
        static const char *const wrong[] = {"y = Add<axis=2, broadcast=1>(a, b)",
                                            "y = Add<axis=3, broadcast=1>(a, b)",
                                            "y = Add<axis=9223372036854775807, broadcast=1>(a, b)"};
        for (size_t i = 0; i < ONX_COUNT(wrong); i++) {
            r = kernel_run(*tier, 6, wrong[i], 2, (onx_operand *[]){&x, &y}, 0);
            CHECK_EQ(r.status, ONX_INVALID);
            kernel_free(&r);
        }
    }
}

TEST(clip) {
    int8_t v[4] = {-100, 0, 50, 100};
    onx_operand x = kernel_operand(ONX_DTYPE_I8, "4", v),
                low = kernel_operand(ONX_DTYPE_I8, "", (int8_t[]){-5}),
                two = kernel_operand(ONX_DTYPE_I8, "2", (int8_t[]){1, 2});
    kernel_result r = kernel_run("ref", 13, "y = Clip(x, low)", 2, (onx_operand *[]){&x, &low}, 0);
    REQUIRE(r.status == ONX_OK);
    CHECK_EQ(((int8_t *)r.out[0].data)[0], -5);
    CHECK_EQ(((int8_t *)r.out[0].data)[3], 100);
    kernel_free(&r);
    r = kernel_run("ref", 13, "y = Clip(x, , high)", 3, (onx_operand *[]){&x, NULL, &low}, 0);
    REQUIRE(r.status == ONX_OK);
    CHECK_EQ(((int8_t *)r.out[0].data)[0], -100);
    CHECK_EQ(((int8_t *)r.out[0].data)[3], -5);
    kernel_free(&r);
    r = kernel_run("ref", 13, "y = Clip(x, low)", 2, (onx_operand *[]){&x, &two}, 0);
    CHECK_EQ(r.status, ONX_INVALID);
    kernel_free(&r);
    onx_operand f = kernel_operand(ONX_DTYPE_F32, "3", (float[]){-INFINITY, 0, INFINITY}),
                pair = kernel_operand(ONX_DTYPE_F32, "2", (float[]){1, 2});
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        r = kernel_run(*tier, 1, "y = Clip<max=2.0>(f)", 1, (onx_operand *[]){&f}, 0);
        REQUIRE(r.status == ONX_OK);
        CHECK(((float *)r.out[0].data)[0] == -INFINITY && ((float *)r.out[0].data)[2] == 2);
        kernel_free(&r);
        r = kernel_run(*tier, 13, "y = Clip(f, p)", 2, (onx_operand *[]){&f, &pair}, 0);
        CHECK_EQ(r.status, ONX_INVALID);
        kernel_free(&r);
    }
}

/* ─ Casts ────────────────────────────────────────────────────────────────────────────────────── */

/* Every pair of types, at odd addresses too, against the conversion itself. */
static void casts_on(const char *tier) {
    enum { N = 101 };
    static const double ends[] = {
        NAN,           INFINITY, -1e30, 0x1p31, 2147483520, 2147483647.5, -0x1p31, -0x1p33, 0x1p63,
        0x1.fffffep62, -0x1p63,  -1e19, 255.9,  256,        -0.9,         -128.5,  127.5,   5e9};
    double values[N];
    for (int i = 0; i < N; i++) values[i] = (i - 50) * 1.5;
    memcpy(values + 3, ends, sizeof ends);
    memcpy(values + N - ONX_COUNT(ends), ends, sizeof ends);
    for (int from = 1; from < ONX_DTYPE_COUNT; from++)
        for (int to = 1; to < ONX_DTYPE_COUNT; to++) {
            char memory[N * 16 + 8], want[N * 16], text[64];
            size_t bytes = 0;
            if (from == ONX_DTYPE_STRING || to == ONX_DTYPE_STRING) continue;
            for (size_t shift = 0; shift < 2; shift++) {
                char *x = memory + shift;
                (void)onx_dtype_convert(ONX_DTYPE_F64, values, (onx_dtype)from, x, N, true);
                memset(want, 0, sizeof want);
                (void)onx_dtype_convert((onx_dtype)from, x, (onx_dtype)to, want, N, true);
                (void)snprintf(text, sizeof text, "y = Cast<to=%d>(a)", to);
                onx_operand a = kernel_operand((onx_dtype)from, "101", x);
                kernel_result r = kernel_run(tier, 28, text, 1, (onx_operand *[]){&a}, 0);
                REQUIRE(r.status == ONX_OK && onx_dtype_bytes((onx_dtype)to, N, &bytes));
                CHECK(r.out[0].bytes == bytes && r.out[0].dtype == to);
                if (!CHECK(memcmp(r.out[0].data, want, bytes) == 0))
                    fprintf(stderr, "    %s to %s\n", onx_dtype_name((onx_dtype)from),
                            onx_dtype_name((onx_dtype)to));
                kernel_free(&r);
            }
        }
}

TEST(casts) {
    for (const char *const *tier = kernel_tiers(); *tier; tier++) casts_on(*tier);
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "", (float[]){1});
    kernel_result r = kernel_run("ref", 20, "y = Cast<to=99>(a)", 1, (onx_operand *[]){&a}, 0);
    CHECK_EQ(r.status, ONX_INVALID);
    kernel_free(&r);
    r = kernel_run("ref", 1, "y = Cast<to=\"DOUBLE\">(a)", 1, (onx_operand *[]){&a}, 0);
    CHECK(r.status == ONX_OK && r.out[0].dtype == ONX_DTYPE_F64);
    kernel_free(&r);
}

TEST(round_modes) {
    float v[4] = {1.25f, 1.5f, 1.75f, 4};
    static const struct {
        const char *mode;
        float want[4];
    } cases[] = {{"up", {2, 2, 2, 4}}, {"down", {1, 1, 1, 4}}, {"nearest", {1, 2, 2, 4}}};
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "4", v);
    for (size_t i = 0; i < 3; i++) {
        char text[80];
        float y[4];
        (void)snprintf(text, sizeof text, "y = Cast<to=24, round_mode=\"%s\">(a)", cases[i].mode);
        kernel_result r = kernel_run("ref", 25, text, 1, (onx_operand *[]){&a}, 0);
        REQUIRE(r.status == ONX_OK);
        (void)onx_dtype_convert(ONX_DTYPE_F8E8M0, r.out[0].data, ONX_DTYPE_F32, y, 4, false);
        CHECK(memcmp(y, cases[i].want, sizeof y) == 0);
        kernel_free(&r);
    }
}

/* ─ Strings ──────────────────────────────────────────────────────────────────────────────────── */

static onx_operand strings_of(size_t n, const char *const *texts) {
    onx_object *object = NULL;
    onx_operand operand = {0};
    if (onx_object_tensor(onx_context_or_default(NULL), ONX_DTYPE_STRING, 1,
                          (int64_t[]){(int64_t)n}, &object, NULL))
        abort();
    for (size_t i = 0; i < n; i++)
        if (onx_object_set_string(object, (int64_t)i, onx_str_of(texts[i]), NULL)) abort();
    onx_operand_show(&operand, object);
    return operand;
}

TEST(strings) {
    onx_operand a = strings_of(3, (const char *[]){"x", "", "z"}),
                b = strings_of(1, (const char *[]){"x"});
    onx_operand c = kernel_operand(ONX_DTYPE_BOOL, "3", (uint8_t[]){1, 1, 0});
    kernel_result r = kernel_run("ref", 20, "y = Equal(a, b)", 2, (onx_operand *[]){&a, &b}, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].bytes == 3);
    CHECK(memcmp(r.out[0].data, "\1\0\0", 3) == 0);
    kernel_free(&r);
    r = kernel_run("ref", 20, "y = Where(c, a, b)", 3, (onx_operand *[]){&c, &a, &b}, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].object && r.out[0].object->count == 3);
    CHECK_STR(r.out[0].object->strings[0].data, "x");
    CHECK_STR(r.out[0].object->strings[1].data, "");
    CHECK_STR(r.out[0].object->strings[2].data, "x");
    kernel_free(&r);
    onx_object_release(a.object);
    onx_object_release(b.object);
}

TEST(strings_and_numbers) {
    onx_operand a = strings_of(5, (const char *[]){"1.5", "-2e3", "INF", "NaN", "7"});
    kernel_result r = kernel_run("ref", 20, "y = Cast<to=1>(a)", 1, (onx_operand *[]){&a}, 0);
    REQUIRE(r.status == ONX_OK);
    float *y = r.out[0].data;
    CHECK(y[0] == 1.5f && y[1] == -2000 && y[2] == INFINITY && isnan(y[3]) && y[4] == 7);
    kernel_result back =
        kernel_run("ref", 20, "y = Cast<to=8>(a)", 1, (onx_operand *[]){&r.out[0]}, 0);
    REQUIRE(back.status == ONX_OK && back.out[0].object);
    static const char *const want[] = {"1.5", "-2000.0", "INF", "NaN", "7.0"};
    for (size_t i = 0; i < 5; i++) CHECK_STR(back.out[0].object->strings[i].data, want[i]);
    kernel_free(&back);
    kernel_free(&r);
    onx_object_release(a.object);
    a = strings_of(3, (const char *[]){"9223372036854775807", "-9223372036854775808", "12.9"});
    r = kernel_run("ref", 20, "y = Cast<to=7>(a)", 1, (onx_operand *[]){&a}, 0);
    REQUIRE(r.status == ONX_OK);
    int64_t *whole = r.out[0].data;
    CHECK(whole[0] == INT64_MAX && whole[1] == INT64_MIN && whole[2] == 12);
    kernel_free(&r);
    onx_object_release(a.object);
    a = strings_of(1, (const char *[]){"twelve"});
    r = kernel_run("ref", 20, "y = Cast<to=7>(a)", 1, (onx_operand *[]){&a}, 0);
    CHECK_EQ(r.status, ONX_INVALID);
    CHECK(strstr(r.diag.message, "twelve") != NULL);
    kernel_free(&r);
    onx_object_release(a.object);
}

/* ─ Nodes that are wrong ─────────────────────────────────────────────────────────────────────── */

TEST(wrong_nodes) {
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "2", (float[2]){0}),
                i = kernel_operand(ONX_DTYPE_I64, "2", (int64_t[2]){0});
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r = kernel_run(*tier, 20, "y = Add(a)", 1, (onx_operand *[]){&a}, 0);
        CHECK_EQ(r.status, ONX_INVALID);
        r = kernel_run(*tier, 20, "y = Add(a, b)", 2, (onx_operand *[]){&a, &i}, 0);
        CHECK_EQ(r.status, ONX_INVALID);
        r = kernel_run(*tier, 20, "y = Where(a, a, a)", 3, (onx_operand *[]){&a, &a, &a}, 0);
        CHECK(r.status == ONX_INVALID || r.status == ONX_UNSUPPORTED);
        r = kernel_run(*tier, 20, " = Add(a, b)", 2, (onx_operand *[]){&a, &a}, 0);
        CHECK(r.status != ONX_OK);
    }
}

/* ─ What is known before a run ───────────────────────────────────────────────────────────────── */

/* The elements of value `name` as text: "N + 1, 2". */
static void elems_text(onx_facts *facts, const onx_graph *graph, const char *name, char *out,
                       size_t size) {
    const onx_fact *f = onx_facts_of(facts, onx_value_lookup(graph, onx_str_of(name)));
    onx_buf buf;
    onx_buf_init(&buf, onx_context_or_default(NULL));
    for (size_t i = 0; i < f->n_elems; i++) {
        if (i) onx_buf_puts(&buf, ", ");
        if (f->elems[i])
            onx_sym_print(f->elems[i], &buf);
        else
            onx_buf_puts(&buf, "?");
    }
    (void)snprintf(out, size, "%.*s", (int)buf.size, buf.data ? buf.data : "");
    onx_buf_fini(&buf);
}

TEST(values_before_a_run) {
    static const char text[] =
        "<ir_version: 10, opset_import: [\"\" : 20]>\n"
        "g (float[N,M] x) => (int64[2] r) <int64[1] two = {2}, int64[2] p = {7, -7}, bool[2] c = "
        "{1, 0}> {\n"
        "s = Shape(x)\n"
        "a = Add(s, two)\nb = Mul(a, two)\nd = Div(s, two)\ne = Div(p, two)\n"
        "f = Equal(s, s)\ng1 = Where(c, s, two)\nh = Neg(s)\nk = Mod(s, two)\n"
        "l = Cast<to=6>(s)\nm = ReduceProd<keepdims=0>(s)\nn = Greater(a, s)\nr = Sub(b, s)\n}\n";
    static const char *const want[][2] = {{"a", "N + 2, M + 2"}, {"d", "floor(N/2), floor(M/2)"},
                                          {"e", "3, -3"},        {"f", "1, 1"},
                                          {"g1", "N, 2"},        {"h", "-N, -M"},
                                          {"l", "N, M"},         {"m", "N*M"},
                                          {"n", "1, 1"},         {"r", "N + 4, M + 4"}};
    onx_model *model = NULL;
    onx_facts *facts = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_TEXT;
    if (!CHECK(onx_model_load_memory(NULL, text, sizeof text - 1, &options, &model, &diag) ==
               ONX_OK)) {
        fprintf(stderr, "    %s\n", diag.message);
        return;
    }
    REQUIRE(onx_facts_new(model, NULL, &facts, &diag) == ONX_OK);
    for (size_t i = 0; i < ONX_COUNT(want); i++) {
        char got[128];
        elems_text(facts, onx_model_graph(model), want[i][0], got, sizeof got);
        CHECK_STR(got, want[i][1]);
    }
    onx_facts_free(facts);
    onx_model_free(model);
}

TEST_MAIN(E(backend) E(vectors) E(in_place) E(many_inputs) E(every_type) E(halves) E(integer_limits)
              E(typed) E(old_axis) E(clip) E(casts) E(round_modes) E(strings) E(strings_and_numbers)
                  E(wrong_nodes) E(values_before_a_run))
