/* test_random.c: random numbers as NumPy draws them; what a seed promises, and what none does;
 * Dropout, Bernoulli, Multinomial; and the optimizers. */
#include "kernel.h"
#include "rt/session.h"
#include "support.h"
#include "test.h"

#include <math.h>

static onx_session *open_text(const char *text, size_t threads) {
    onx_model *model = NULL;
    onx_session *session = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_load_options load = ONX_INIT(onx_load_options);
    onx_session_options options = ONX_INIT(onx_session_options);
    load.format = ONX_FORMAT_TEXT;
    load.copy = true;
    options.threads = threads;
    if (onx_model_load_memory(NULL, text, strlen(text), &load, &model, &diag) != ONX_OK ||
        onx_session_new(model, &options, &session, &diag) != ONX_OK)
        fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    onx_model_free(model);
    return session;
}

/* The output of a node without inputs, as doubles. */
static size_t draw(int opset, const char *node, double *out, size_t cap, onx_status *status,
                   char *message) {
    kernel_result r = kernel_run("ref", opset, node, 0, NULL, 0);
    size_t n = r.status == ONX_OK ? (size_t)r.out[0].count : 0;
    *status = r.status;
    if (message) strcpy(message, r.diag.message);
    if (n && n <= cap)
        CHECK_EQ(onx_dtype_convert((onx_dtype)r.out[0].dtype, r.out[0].data, ONX_DTYPE_F64, out, n,
                                   false),
                 ONX_OK);
    kernel_free(&r);
    return n;
}

/* np.random.RandomState(seed).rand(…) and .randn(…), NumPy 2.3. */
TEST(as_numpy) {
    double x[1000],
        want_u[] = {0.3745401188473625, 0.9507143064099162, 0.7319939418114051, 0.5986584841970366,
                    0.44600577295795574},
        want_n[] = {0.4967141530112327, -0.13826430117118466, 0.6476885381006925,
                    1.5230298564080254, 0.5725827813561586};
    onx_status status;
    CHECK_EQ(draw(22, "y = RandomUniform<dtype = 11, shape = [1000], seed = 42.0>()", x, 1000,
                  &status, NULL),
             1000);
    for (size_t i = 0; i < 4; i++) CHECK(x[i] == want_u[i]);
    CHECK(x[999] == want_u[4]);
    CHECK_EQ(draw(22, "y = RandomNormal<dtype = 11, shape = [25, 40], seed = 42.0>()", x, 1000,
                  &status, NULL),
             1000);
    for (size_t i = 0; i < 4; i++) CHECK(fabs(x[i] - want_n[i]) <= 4e-16 * fabs(want_n[i]));
    CHECK(fabs(x[999] - want_n[4]) <= 4e-16 * fabs(want_n[4]));
}

/* Seeds are taken as whole numbers of 32 bits; scale and mean, low and high, one rounding. */
TEST(ranges_and_types) {
    static const struct {
        const char *name;
        int type;
        double unit;
    } types[] = {{"float", 1, 6e-8}, {"float16", 10, 5e-4}, {"bfloat16", 16, 4e-3}};
    double a[100], b[100];
    char node[200];
    onx_status status;
    CHECK_EQ(draw(22, "y = RandomUniform<dtype = 11, shape = [2], seed = 4294967295.0>()", a, 2,
                  &status, NULL),
             2);
    CHECK_EQ(
        draw(22, "y = RandomUniform<dtype = 11, shape = [2], seed = -1.0>()", b, 2, &status, NULL),
        2);
    CHECK(b[0] == 0.0976320289940138 && b[1] == 0.9123828453026218);
    CHECK_EQ(draw(22,
                  "y = RandomNormal<dtype = 11, mean = 3.0, scale = 0.5, shape = [100], seed = "
                  "1.7>()",
                  a, 100, &status, NULL),
             100);
    for (size_t t = 0; t < ONX_COUNT(types); t++) {
        snprintf(
            node, sizeof node,
            "y = RandomNormal<dtype = %d, mean = 3.0, scale = 0.5, shape = [100], seed = 1.0>()",
            types[t].type);
        CHECK_EQ(draw(22, node, b, 100, &status, NULL), 100);
        for (size_t i = 0; i < 100; i++) CHECK(fabs(a[i] - b[i]) <= types[t].unit * fabs(a[i]));
    }
    CHECK_EQ(draw(22, "y = RandomUniform<low = -4.0, high = -2.0, shape = [100]>()", b, 100,
                  &status, NULL),
             100);
    for (size_t i = 0; i < 100; i++) CHECK(b[i] >= -4 && b[i] <= -2);
    CHECK_EQ(draw(22, "y = RandomUniform<shape = [3, 0, 5]>()", b, 100, &status, NULL), 0);
    CHECK_EQ(status, ONX_OK);
    CHECK_EQ(draw(1, "y = RandomUniform<shape: ints = []>()", b, 100, &status, NULL), 1);
}

TEST(like_another) {
    float data[6] = {0};
    double want[6], got[6];
    onx_status status;
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "2,3", data);
    CHECK_EQ(
        draw(22, "y = RandomNormal<dtype = 11, shape = [6], seed = 5.0>()", want, 6, &status, NULL),
        6);
    kernel_result r = kernel_run("ref", 22, "y = RandomNormalLike<seed = 5.0, dtype = 11>(x)", 1,
                                 (onx_operand *[]){&x}, 0);
    REQUIRE(r.status == ONX_OK);
    CHECK(r.out[0].rank == 2 && r.out[0].dims[1] == 3 && r.out[0].dtype == ONX_DTYPE_F64);
    memcpy(got, r.out[0].data, sizeof got);
    CHECK(memcmp(got, want, sizeof got) == 0);
    kernel_free(&r);
    r = kernel_run("ref", 1, "y = RandomUniformLike(x)", 1, (onx_operand *[]){&x}, 0);
    CHECK(r.status == ONX_OK && r.out[0].dtype == ONX_DTYPE_F32);
    kernel_free(&r);
    onx_session *s =
        open_text("<ir_version: 10, opset_import: [\"\" : 22]>\n"
                  "g () => (float[2] y) { x = Constant<value = string[2] {\"a\", \"\"}>() "
                  "y = RandomUniformLike<dtype = 1>(x) }",
                  1);
    onx_arg out = {.data = data, .bytes = 8};
    CHECK(s && onx_session_run(s, 0, NULL, 1, &out, NULL, NULL) == ONX_OK);
    onx_session_free(s);
}

TEST(refusals) {
    static const struct {
        const char *node, *words;
    } wrong[] = {
        {"y = RandomNormal<shape = [2, -1]>()", "-1"},
        {"y = RandomNormal<shape = [4611686018427387904, 16]>()", ""},
        {"y = RandomNormal<shape = [2], dtype = 7>()", "dtype is 7"},
        {"y = RandomNormal<shape = [2], dtype = -3>()", "dtype is -3"},
        {"y = RandomUniform<dtype = 1>()", "shape is missing"},
    };
    double x[4];
    char message[2000];
    for (size_t i = 0; i < ONX_COUNT(wrong); i++) {
        onx_status status;
        CHECK_EQ(draw(22, wrong[i].node, x, 4, &status, message), 0);
        CHECK(status != ONX_OK);
        if (!CHECK(strstr(message, wrong[i].words))) fprintf(stderr, "    %s\n", message);
    }
    int64_t whole[2] = {1, 2};
    onx_operand w = kernel_operand(ONX_DTYPE_I64, "2", whole);
    kernel_result r = kernel_run("ref", 22, "y = RandomNormalLike(x)", 1, (onx_operand *[]){&w}, 0);
    CHECK(r.status != ONX_OK && strstr(r.diag.message, "float"));
    kernel_free(&r);
}

/* ─ Runs ─────────────────────────────────────────────────────────────────────────────────────── */

enum { MANY = 1000 };

static bool run_into(onx_session *s, float *a, float *b) {
    onx_arg out[2] = {{.data = a, .bytes = MANY * 4}, {.data = b, .bytes = MANY * 4}};
    return onx_session_run(s, 0, NULL, 2, out, NULL, NULL) == ONX_OK;
}

/* Two nodes that differ in nothing. */
#define TWO(attrs)                                                                                 \
    "<ir_version: 10, opset_import: [\"\" : 22]>\n"                                                \
    "g () => (float[1000] a, float[1000] b) {\n a = RandomUniform<shape = [1000]" attrs ">()\n"    \
    " b = RandomUniform<shape = [1000]" attrs ">()\n}"

TEST(with_a_seed_all_runs_are_the_same) {
    static float a[4][MANY], b[4][MANY];
    for (size_t threads = 1; threads <= 2; threads++) {
        onx_session *s = open_text(TWO(", seed = 3.0"), threads);
        REQUIRE(s);
        for (size_t i = 0; i < 2; i++) {
            size_t k = (threads - 1) * 2 + i;
            CHECK(run_into(s, a[k], b[k]));
            CHECK(memcmp(a[k], a[0], sizeof a[0]) == 0 && memcmp(b[k], a[0], sizeof a[0]) == 0);
        }
        onx_session_free(s);
    }
}

static bool all_differ(const float *a, const float *b) {
    size_t same = 0;
    for (size_t i = 0; i < MANY; i++) same += a[i] == b[i];
    return same < 10;
}

TEST(without_a_seed_none_are) {
    static float x[8][MANY];
    for (size_t k = 0; k < 2; k++) {
        onx_session *s = open_text(TWO(""), 1);
        REQUIRE(s);
        for (size_t i = 0; i < 2; i++) CHECK(run_into(s, x[k * 4 + i * 2], x[k * 4 + i * 2 + 1]));
        onx_session_free(s);
    }
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < i; j++) CHECK(all_differ(x[i], x[j]));
}

/* ─ Dropout ──────────────────────────────────────────────────────────────────────────────────── */

TEST(dropout) {
    /* np.random.RandomState(3).uniform(0, 1, 12) >= 0.3 */
    static const bool stays[12] = {1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1};
    static const int types[] = {ONX_DTYPE_F32,    ONX_DTYPE_F64,       ONX_DTYPE_F16,
                                ONX_DTYPE_BF16,   ONX_DTYPE_F8E4M3FN,  ONX_DTYPE_F8E4M3FNUZ,
                                ONX_DTYPE_F8E5M2, ONX_DTYPE_F8E5M2FNUZ};
    double values[12], want, ratio = 0.3;
    char data[12 * 8];
    bool on = true;
    for (size_t i = 0; i < 12; i++) values[i] = (double)i - 4;
    onx_operand r = kernel_operand(ONX_DTYPE_F64, "", &ratio);
    onx_operand mode = kernel_operand(ONX_DTYPE_BOOL, "", &on);
    for (size_t t = 0; t < ONX_COUNT(types); t++) {
        onx_dtype dtype = (onx_dtype)types[t];
        CHECK_EQ(onx_dtype_convert(ONX_DTYPE_F64, values, dtype, data, 12, true), ONX_OK);
        onx_operand x = kernel_operand(dtype, "3,4", data);
        kernel_result k = kernel_run("ref", 22, "y, m = Dropout<seed = 3>(x, r, t)", 3,
                                     (onx_operand *[]){&x, &r, &mode}, 0);
        REQUIRE(k.status == ONX_OK);
        CHECK(k.out[0].dtype == dtype && k.out[1].dtype == ONX_DTYPE_BOOL);
        for (size_t i = 0; i < 12; i++) {
            double in, got, rounded;
            size_t size = onx_dtype_bits(dtype) / 8;
            char one[8];
            (void)onx_dtype_convert(dtype, data + i * size, ONX_DTYPE_F64, &in, 1, false);
            want = stays[i] ? in / 0.7 : 0;
            (void)onx_dtype_convert(ONX_DTYPE_F64, &want, dtype, one, 1, true);
            (void)onx_dtype_convert(dtype, one, ONX_DTYPE_F64, &rounded, 1, false);
            (void)onx_dtype_convert(dtype, (char *)k.out[0].data + i * size, ONX_DTYPE_F64, &got, 1,
                                    false);
            CHECK(fabs(got - rounded) <= 1e-15 * fabs(rounded));
            CHECK(((bool *)k.out[1].data)[i] == stays[i]);
        }
        kernel_free(&k);
    }
}

static kernel_result drop(int opset, const char *node, double ratio, bool on) {
    static float x[1000];
    for (size_t i = 0; i < 1000; i++) x[i] = (float)i + 1;
    onx_operand data = kernel_operand(ONX_DTYPE_F32, "1000", x);
    onx_operand r = kernel_operand(ONX_DTYPE_F64, "1", &ratio);
    onx_operand mode = kernel_operand(ONX_DTYPE_BOOL, "1", &on);
    return kernel_run("ref", opset, node, opset < 12 ? 1 : 3,
                      (onx_operand *[]){&data, strstr(node, ", ,") ? NULL : &r, &mode}, 0);
}

static size_t zeros(const kernel_result *r, size_t which) {
    size_t n = 0;
    for (size_t i = 0; i < 1000; i++)
        n += r->out[which].dtype == ONX_DTYPE_BOOL ? !((bool *)r->out[which].data)[i]
                                                   : ((float *)r->out[which].data)[i] == 0;
    return n;
}

TEST(dropout_versions) {
    static const struct {
        int opset;
        const char *node;
        double ratio;
        bool on;
        size_t least, most; /* that are dropped */
    } each[] = {
        {1, "y, m = Dropout<ratio = 0.25>(x)", 0, 0, 150, 350},
        {1, "y, m = Dropout<ratio = 0.25, is_test = 1>(x)", 0, 0, 0, 0},
        {6, "y, m = Dropout(x)", 0, 0, 400, 600},
        {7, "y, m = Dropout(x)", 0, 0, 0, 0},
        {10, "y, m = Dropout(x)", 0, 0, 0, 0},
        {12, "y, m = Dropout(x, r, t)", 0.1, true, 50, 150},
        {12, "y, m = Dropout(x, r, t)", 0.1, false, 0, 0},
        {13, "y, m = Dropout(x, , t)", 0.1, true, 400, 600},
        {22, "y, m = Dropout(x, r, t)", 0, true, 0, 0},
        {22, "y, m = Dropout(x, r, t)", 7, false, 0, 0},
    };
    for (size_t i = 0; i < ONX_COUNT(each); i++) {
        kernel_result r = drop(each[i].opset, each[i].node, each[i].ratio, each[i].on);
        REQUIRE(r.status == ONX_OK);
        CHECK_EQ(r.out[1].dtype, each[i].opset < 10 ? ONX_DTYPE_F32 : ONX_DTYPE_BOOL);
        CHECK(zeros(&r, 0) >= each[i].least && zeros(&r, 0) <= each[i].most);
        CHECK_EQ(zeros(&r, 0), zeros(&r, 1));
        kernel_free(&r);
    }
    static const double ratios[] = {1, -0.5, 2, NAN, INFINITY};
    for (size_t i = 0; i < ONX_COUNT(ratios); i++) {
        kernel_result r = drop(13, "y, m = Dropout(x, r, t)", ratios[i], true);
        CHECK(r.status == ONX_INVALID && strstr(r.diag.message, "ratio"));
        kernel_free(&r);
    }
}

/* ─ Bernoulli and Multinomial ────────────────────────────────────────────────────────────────── */

/* np.random.RandomState(9).binomial(1, p), in each type that it can be given. */
TEST(bernoulli) {
    static const int types[] = {
        0, ONX_DTYPE_F64, ONX_DTYPE_F16, ONX_DTYPE_U8, ONX_DTYPE_I64, ONX_DTYPE_BOOL};
    static float p[MANY];
    static double y[MANY];
    char node[100];
    for (size_t i = 0; i < MANY; i++) p[i] = (float)((double)(i * 7919 % 1000) / 1000);
    p[1] = 1;
    for (size_t t = 0; t < ONX_COUNT(types); t++) {
        onx_operand x = kernel_operand(ONX_DTYPE_F32, "10,100", p);
        snprintf(node, sizeof node,
                 types[t] ? "y = Bernoulli<seed = 9.0, dtype = %d>(p)"
                          : "y = Bernoulli<seed = 9.0>(p)",
                 types[t]);
        kernel_result r = kernel_run("ref", 22, node, 1, (onx_operand *[]){&x}, 0);
        REQUIRE(r.status == ONX_OK && r.out[0].rank == 2);
        CHECK_EQ(r.out[0].dtype, types[t] ? types[t] : ONX_DTYPE_F32);
        CHECK_EQ(onx_dtype_convert((onx_dtype)r.out[0].dtype, r.out[0].data, ONX_DTYPE_F64, y, MANY,
                                   false),
                 ONX_OK);
        double ones = 0, places = 0;
        for (size_t i = 0; i < MANY; i++) ones += y[i], places += y[i] * (double)i;
        CHECK(ones == 507 && places == 254403);
        kernel_free(&r);
    }
    float odd[5] = {NAN, -1, 2, INFINITY, -INFINITY};
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "5", odd);
    kernel_result r =
        kernel_run("ref", 15, "y = Bernoulli<dtype = 6>(p)", 1, (onx_operand *[]){&x}, 0);
    REQUIRE(r.status == ONX_OK);
    CHECK(memcmp(r.out[0].data, (int32_t[]){0, 0, 1, 1, 0}, 20) == 0);
    kernel_free(&r);
    r = kernel_run("ref", 15, "y = Bernoulli<dtype = 8>(p)", 1, (onx_operand *[]){&x}, 0);
    CHECK(r.status == ONX_INVALID && strstr(r.diag.message, "dtype is 8"));
    kernel_free(&r);
}

TEST(multinomial) {
    float logs[6] = {logf(1), logf(2), logf(5), -INFINITY, 0, -INFINITY};
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "2,3", logs);
    kernel_result r =
        kernel_run("ref", 22, "y = Multinomial<dtype = 7, sample_size = 8000, seed = 1.0>(x)", 1,
                   (onx_operand *[]){&x}, 0);
    REQUIRE(r.status == ONX_OK && r.out[0].dims[1] == 8000 && r.out[0].dtype == ONX_DTYPE_I64);
    const int64_t *y = r.out[0].data;
    size_t n[3] = {0}, other = 0;
    for (size_t i = 0; i < 8000; i++) n[y[i]]++, other += y[8000 + i] != 1;
    CHECK(n[0] > 850 && n[0] < 1150 && n[1] > 1800 && n[1] < 2200 && other == 0);
    kernel_free(&r);
    static const struct {
        const char *node, *dims;
        float first;
        const char *words;
    } wrong[] = {
        {"y = Multinomial(x)", "2,3", NAN, "row 0"},
        {"y = Multinomial(x)", "2,3", INFINITY, "row 0"},
        {"y = Multinomial(x)", "6", 0, "dimensions"},
        {"y = Multinomial(x)", "2,0", 0, "no classes"},
        {"y = Multinomial<sample_size = -1>(x)", "2,3", 0, "sample_size"},
        {"y = Multinomial<dtype = 1>(x)", "2,3", 0, "dtype"},
    };
    for (size_t i = 0; i < ONX_COUNT(wrong); i++) {
        logs[0] = wrong[i].first;
        x = kernel_operand(ONX_DTYPE_F32, wrong[i].dims, logs);
        r = kernel_run("ref", 22, wrong[i].node, 1, (onx_operand *[]){&x}, 0);
        CHECK(r.status != ONX_OK && strstr(r.diag.message, wrong[i].words));
        kernel_free(&r);
    }
    x = kernel_operand(ONX_DTYPE_F32, "0,3", logs);
    r = kernel_run("ref", 7, "y = Multinomial(x)", 1, (onx_operand *[]){&x}, 0);
    CHECK(r.status == ONX_OK && r.out[0].count == 0 && r.out[0].dtype == ONX_DTYPE_I32);
    kernel_free(&r);
}

/* ─ Optimizers ───────────────────────────────────────────────────────────────────────────────── */

/* By the formulas of ONNX, for one element of x, g and the states. */
static void by_hand(int which, double r, double t, double x, double g, double v, double h,
                    double *out) {
    double norm = 0.25, alpha = 0.5, beta = 0.75, epsilon = 0.125;
    g += norm * x;
    if (which == 0) { /* Adagrad */
        out[1] = v + g * g;
        out[0] = x - r / (1 + t * 0.5) * g / (sqrt(out[1]) + epsilon);
    } else if (which == 1) { /* Adam */
        out[1] = alpha * v + (1 - alpha) * g;
        out[2] = beta * h + (1 - beta) * g * g;
        double rate = t > 0 ? r * sqrt(1 - pow(beta, t)) / (1 - pow(alpha, t)) : r;
        out[0] = (1 - 0.5) * (x - rate * out[1] / (sqrt(out[2]) + epsilon));
    } else {
        out[1] = alpha * v + (t > 0 ? beta : 1) * g;
        out[0] = x - r * (which == 2 ? out[1] : g + alpha * out[1]);
    }
}

static const char *const optimizers[] = {
    "y, z, p, q = ai.onnx.preview.training.Adagrad<norm_coefficient = 0.25, epsilon = 0.125, "
    "decay_factor = 0.5>(r, t, a, b, c, d, e, f)",
    "y, z, p, q, u, v = ai.onnx.preview.training.Adam<alpha = 0.5, beta = 0.75, epsilon = 0.125, "
    "norm_coefficient = 0.25, norm_coefficient_post = 0.5>(r, t, a, b, c, d, e, f, g, h)",
    "y, z, p, q = ai.onnx.preview.training.Momentum<alpha = 0.5, beta = 0.75, norm_coefficient = "
    "0.25, mode = \"standard\">(r, t, a, b, c, d, e, f)",
    "y, z, p, q = ai.onnx.preview.training.Momentum<alpha = 0.5, beta = 0.75, norm_coefficient = "
    "0.25, mode = \"nesterov\">(r, t, a, b, c, d, e, f)",
};

/* Two tensors, one of double and one of float, of sizes beyond a task. */
TEST(optimizers_by_hand) {
    enum { N = 9000 };
    static double wide[4][N];
    static float narrow[4][N];
    for (int t = 0; t < 3; t++)
        for (int which = 0; which < 4; which++) {
            float rate = 0.5f;
            int64_t count = t;
            size_t parts = which == 1 ? 4 : 3;
            onx_operand ops[10] = {kernel_operand(ONX_DTYPE_F32, "", &rate),
                                   kernel_operand(ONX_DTYPE_I64, "1", &count)},
                        *in[10];
            for (size_t p = 0; p < parts; p++) {
                kernel_fill(narrow[p], N, p + 1, p < 2 ? -1 : 0, 1);
                for (size_t i = 0; i < N; i++) wide[p][i] = (double)narrow[p][N - 1 - i];
                ops[2 + 2 * p] = kernel_operand(ONX_DTYPE_F64, "90,100", wide[p]);
                ops[3 + 2 * p] = kernel_operand(ONX_DTYPE_F32, "9000", narrow[p]);
            }
            for (size_t i = 0; i < 10; i++) in[i] = &ops[i];
            kernel_result r = kernel_run("ref", 15, optimizers[which], 2 + 2 * parts, in, 0);
            if (!CHECK(r.status == ONX_OK)) fprintf(stderr, "    %s\n", r.diag.message);
            size_t wrong = 0;
            for (size_t i = 0; i < N && r.status == ONX_OK; i++)
                for (size_t p = 0; p < parts - 1; p++) {
                    double a[3], b[3];
                    by_hand(which, 0.5, t, wide[0][i], wide[1][i], wide[2][i], wide[3][i], a);
                    by_hand(which, 0.5, t, (double)narrow[0][i], (double)narrow[1][i],
                            (double)narrow[2][i], (double)narrow[3][i], b);
                    double y = ((double *)r.out[2 * p].data)[i];
                    double z = (double)((float *)r.out[2 * p + 1].data)[i];
                    wrong += fabs(y - a[p]) > 1e-14 * (1 + fabs(a[p]));
                    wrong += fabs(z - b[p]) > 6e-8 * (fabs(b[p]) + 1e-30);
                }
            CHECK_EQ(wrong, 0);
            kernel_free(&r);
        }
}

TEST(optimizers_refuse) {
    float one[4] = {1, 1, 1, 1};
    int64_t t = 1;
    onx_operand r = kernel_operand(ONX_DTYPE_F32, "", one),
                c = kernel_operand(ONX_DTYPE_I64, "", &t);
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "2", one),
                w = kernel_operand(ONX_DTYPE_F32, "3", one);
    static const char momentum[] =
        "y, z = ai.onnx.preview.training.Momentum<alpha = 0.5, beta = 0.5, "
        "norm_coefficient = 0.5, mode = \"standard\">(r, t, x, g, v)";
    static const char other[] = "y, z = ai.onnx.preview.training.Momentum<alpha = 0.5, beta = 0.5, "
                                "norm_coefficient = 0.5, mode = \"other\">(r, t, x, g, v)";
    const struct {
        const char *node;
        onx_operand *in[5];
        size_t n;
        const char *words;
    } wrong[] = {
        {momentum, {&r, &c, &x, &w, &x}, 5, "differ in type or shape"},
        {momentum, {&r, &c, &x, &x, &w}, 5, "differ in type or shape"},
        {momentum, {&w, &c, &x, &x, &x}, 5, "learning rate has 3"},
        {momentum, {&r, &c, &x, NULL, &x}, 5, ""},
        {momentum, {&r, &c, &x, &x}, 4, "each tensor takes 3"},
        {other, {&r, &c, &x, &x, &x}, 5, "standard or nesterov"},
    };
    for (size_t i = 0; i < ONX_COUNT(wrong); i++) {
        kernel_result k = kernel_run("ref", 15, wrong[i].node, wrong[i].n, wrong[i].in, 0);
        CHECK(k.status == ONX_INVALID);
        if (!CHECK(strstr(k.diag.message, wrong[i].words)))
            fprintf(stderr, "    %s\n", k.diag.message);
        kernel_free(&k);
    }
}

TEST(backend) {
    static const char *const prefixes[] = {"dropout_", "training_dropout", "adam",
                                           "adagrad",  "momentum",         "nesterov"};
    size_t ran = 0, failed = 0;
    for (size_t i = 0; i < ONX_COUNT(prefixes); i++)
        ran += kernel_backend(prefixes[i], "", &failed);
    if (!ran) SKIP("ONX_DATA is not set");
    CHECK_EQ(failed, 0);
    CHECK(ran >= 19);
}

TEST_MAIN(E(as_numpy) E(ranges_and_types) E(like_another) E(refusals)
              E(with_a_seed_all_runs_are_the_same) E(without_a_seed_none_are) E(dropout)
                  E(dropout_versions) E(bernoulli) E(multinomial) E(optimizers_by_hand)
                      E(optimizers_refuse) E(backend))
