/* test_session.c: sessions: arguments, plans, memory, values by name, cancelling, threads,
 * failures. */
#include "fake_device.h"
#include "rt/session.h"
#include "support.h"
#include "test.h"

#include "base/thread.h"

#define HEADER "<ir_version: 10, opset_import: [\"\" : 18]>\n"

static onx_session *open_session(onx_context *ctx, const char *text, const onx_session_options *o) {
    onx_session *session = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = test_parse(ctx, text);
    if (model && onx_session_new(model, o, &session, &diag) != ONX_OK)
        fprintf(stderr, "%s: %s\n", diag.place, diag.message);
    onx_model_free(model);
    return session;
}

static const char add_abs[] = HEADER "g (float[N] x, float[N] y) => (float[N] w) {\n"
                                     "  z = Add(x, y)\n  a = Abs(z)\n  w = Neg(a)\n}\n";

TEST(runs) {
    onx_session *s = open_session(NULL, add_abs, NULL);
    REQUIRE(s);
    float x[3] = {1, -2, 3}, y[3] = {1, 1, 1}, w[3];
    onx_arg in[2] = {test_floats(3, x), test_floats(3, y)}, out = {.data = w, .bytes = sizeof w};
    CHECK_EQ(onx_session_run(s, 2, in, 1, &out, NULL, NULL), ONX_OK);
    CHECK(w[0] == -2 && w[1] == -1 && w[2] == -4);
    CHECK(out.dtype == ONX_DTYPE_F32 && out.rank == 1 && out.dims[0] == 3);
    /* by name, in any order; onx allocates */
    in[0].name = "y";
    in[0].data = y;
    in[1].name = "x";
    in[1].data = x;
    onx_arg mine = {.name = "w"};
    CHECK_EQ(onx_session_run(s, 2, in, 1, &mine, NULL, NULL), ONX_OK);
    CHECK(mine.data && memcmp(mine.data, w, sizeof w) == 0);
    onx_arg_clear(&mine);
    onx_session_free(s);
}

/* What a plan for two inputs of 1,000 elements says; at level 0, with kernels without scratch. */
static onx_plan *plan_of(const char *text, onx_session **session) {
    onx_session_options options = ONX_INIT(onx_session_options);
    options.level = ONX_LEVEL_NONE;
    options.cpu = "ref";
    *session = open_session(NULL, text, &options);
    onx_arg in[2] = {test_floats(1000, NULL), test_floats(1000, NULL)};
    onx_plan *plan = NULL;
    if (*session) CHECK_EQ(onx_plan_new(*session, 2, in, &plan, NULL), ONX_OK);
    return plan;
}

TEST(in_place) { /* Add(x, y) → z; Abs(z) → w: one buffer, that of w */
    onx_session *s = NULL;
    onx_plan *plan = plan_of(HEADER "g (float[N] x, float[N] y) => (float[N] w) {\n"
                                    "  z = Add(x, y)\n  w = Abs(z)\n}\n",
                             &s);
    REQUIRE(plan);
    CHECK_EQ(onx_plan_step_at(plan, 1)->overwrites, 0);
    CHECK_EQ(strcmp(onx_plan_value_at(plan, 2)->where, "share"), 0);
    CHECK_EQ(strcmp(onx_plan_value_at(plan, 3)->where, "output"), 0);
    CHECK_EQ(onx_plan_slab(plan), 0);
    onx_plan_free(plan);
    onx_session_free(s);
    /* and where none of them is an output: 4,000 bytes, aligned */
    plan = plan_of(HEADER "g (float[N] x, float[N] y) => (float w) {\n"
                          "  z = Add(x, y)\n  a = Abs(z)\n  w = ReduceSum<keepdims = 0>(a)\n}\n",
                   &s);
    REQUIRE(plan);
    CHECK_EQ(onx_plan_step_at(plan, 1)->overwrites, 0);
    CHECK_EQ(onx_plan_value_at(plan, 3)->offset, onx_plan_value_at(plan, 2)->offset);
    CHECK_EQ(onx_plan_slab(plan), 4032);
    CHECK_EQ(onx_plan_bound(plan), 4032);
    onx_plan_free(plan);
    onx_session_free(s);
}

/* Values that lodge in an output, next to others that must not: views that live on, two at once, a
 * value that is needed again, an output that is read and shown after it is there. */
TEST(lodging) {
    static const char text[] = HEADER
        "g (float[N] x, float[N] y) => (float[N] w, float[N] u, float[M,2] v, float[N] t) {\n"
        "  half = Constant<value_ints = [-1, 2]>()\n  flat = Constant<value_ints = [-1]>()\n"
        "  z = Add(x, y)\n  view = Reshape(z, half)\n  w = Abs(z)\n"
        "  n = Neg(view)\n  v = Relu(n)\n"
        "  p = Sub(x, y)\n  q = Mul(x, y)\n  r = Add(p, q)\n  u = Neg(r)\n"
        "  shown = Reshape(u, half)\n  m = Relu(shown)\n  l = Reshape(m, flat)\n"
        "  a = Add(l, u)\n  b = Add(a, w)\n  t = Sub(b, a)\n}\n";
    enum { N = 6 };
    float x[N] = {1, -2, 3, -4, 5, -6}, y[N] = {2, 2, -9, 2, -2, 1};
    for (int way = 0; way < 8; way++) {
        onx_session_options options = ONX_INIT(onx_session_options);
        options.level = way & 1 ? ONX_LEVEL_NONE : ONX_LEVEL_ALL;
        options.cpu = way & 2 ? "ref" : NULL;
        options.dynamic = way & 4;
        onx_session *s = open_session(NULL, text, &options);
        REQUIRE(s);
        onx_arg in[2] = {test_floats(N, x), test_floats(N, y)}, out[4] = {{0}};
        CHECK_EQ(onx_session_run(s, 2, in, 4, out, NULL, NULL), ONX_OK);
        for (int i = 0; i < N; i++) {
            float z = x[i] + y[i], w = z < 0 ? -z : z, u = -(x[i] - y[i] + x[i] * y[i]);
            float a = (u > 0 ? u : 0) + u;
            CHECK(((float *)out[0].data)[i] == w);
            CHECK(((float *)out[1].data)[i] == u);
            CHECK(((float *)out[2].data)[i] == (z < 0 ? -z : 0));
            CHECK(((float *)out[3].data)[i] == a + w - a);
        }
        for (int i = 0; i < 4; i++) onx_arg_clear(&out[i]);
        onx_session_free(s);
    }
}

/* A value that is shown as an output in another shape is computed there, also where others show it
 * before, or read it after that. */
TEST(shown_outputs) {
    static const char text[] =
        HEADER "g (float[N] x, float[N] y) => (float[M,2] v, float[M,2] w, float[N] t) {\n"
               "  half = Constant<value_ints = [-1, 2]>()\n  flat = Constant<value_ints = [-1]>()\n"
               "  k = Mul(x, y)\n  side = Reshape(k, flat)\n  v = Reshape(k, half)\n"
               "  m = Relu(side)\n  w = Reshape(k, half)\n  t = Sub(side, m)\n}\n";
    enum { N = 6 };
    float x[N] = {1, -2, 3, -4, 5, -6}, y[N] = {2, 2, -9, 2, -2, 1};
    for (int way = 0; way < 4; way++) {
        onx_session_options options = ONX_INIT(onx_session_options);
        options.level = way & 1 ? ONX_LEVEL_NONE : ONX_LEVEL_ALL;
        options.dynamic = way & 2;
        onx_session *s = open_session(NULL, text, &options);
        REQUIRE(s);
        onx_arg in[2] = {test_floats(N, x), test_floats(N, y)}, out[3] = {{0}};
        CHECK_EQ(onx_session_run(s, 2, in, 3, out, NULL, NULL), ONX_OK);
        for (int i = 0; i < N; i++) {
            float k = x[i] * y[i];
            CHECK(((float *)out[0].data)[i] == k && ((float *)out[1].data)[i] == k);
            CHECK(((float *)out[2].data)[i] == (k < 0 ? k : 0));
        }
        for (int i = 0; i < 3; i++) onx_arg_clear(&out[i]);
        onx_session_free(s);
    }
    onx_session *s = NULL;
    onx_plan *plan = plan_of(HEADER "g (float[N] x, float[N] y) => (float[M,2] v) {\n"
                                    "  half = Constant<value_ints = [-1, 2]>()\n"
                                    "  k = Mul(x, y)\n  v = Reshape(k, half)\n}\n",
                             &s);
    REQUIRE(plan);
    CHECK_EQ(onx_plan_slab(plan), 0);
    onx_plan_free(plan);
    onx_session_free(s);
}

/* Graphs inside nodes have plans of their own, with sizes where those of all that comes in are
 * known. */
TEST(inner_plans) {
    onx_session *s = NULL;
    onx_plan *plan =
        plan_of(HEADER "g (float[N] x, float[N] y) => (float[N] w) {\n"
                       "  n = Constant<value_int = 3>()\n  yes = Constant<value = bool {1}>()\n"
                       "  one = Size(x)\n  c = Cast<to = 9>(one)\n"
                       "  k = If (c) <then_branch = t () => (float[N] e) {\n"
                       "      f = Mul(x, y)\n  g = Cos(f)\n  h = Add(g, f)\n  e = Sub(g, h) },\n"
                       "    else_branch = e () => (float[N] x1) { x1 = Identity(x) }>\n"
                       "  w = Loop (n, yes, k) <body = b (int64 i, bool q, float[N] a) => (bool d, "
                       "float[N] o)\n    { d = Identity(q)\n  o = Mul(a, y) }>\n}\n",
                &s);
    REQUIRE(plan);
    size_t n = onx_plan_step_count(plan);
    const onx_plan_step *branch = onx_plan_step_at(plan, n - 2),
                        *loop = onx_plan_step_at(plan, n - 1);
    REQUIRE(branch->n_children == 2 && loop->n_children == 1);
    const onx_plan *then = branch->children[0], *body = loop->children[0];
    CHECK_EQ(strcmp(onx_plan_name(then), "then_branch"), 0);
    CHECK_EQ(strcmp(onx_plan_name(body), "body"), 0);
    CHECK_EQ(onx_plan_step_count(then), 4);
    CHECK_EQ(strcmp(onx_plan_step_at(then, 1)->op, "Cos"), 0);
    CHECK_EQ(onx_plan_slab(then), 4032); /* g or f; the other lodges in e */
    CHECK_EQ(onx_plan_slab(body), 0);    /* what comes in depends on the run */
    CHECK_EQ(strcmp(onx_plan_step_at(body, 1)->op, "Mul"), 0);
    onx_plan_free(plan);
    onx_session_free(s);
}

TEST(wrong_arguments) {
    onx_session *s =
        open_session(NULL, HEADER "g (float[2,N] x) => (float[2,N] y) {\n  y = Relu(x)\n}\n", NULL);
    REQUIRE(s);
    float x[6] = {0}, y[6];
    onx_diag diag = ONX_INIT(onx_diag);
    onx_arg in = {.dtype = ONX_DTYPE_F32, .rank = 2, .dims = {2, 3}, .data = x, .bytes = sizeof x};
    onx_arg out = {.data = y, .bytes = sizeof y};
    CHECK_EQ(onx_session_run(s, 1, &in, 1, &out, NULL, &diag), ONX_OK);
    onx_arg bad = in;
    bad.dims[0] = 3;
    CHECK_EQ(onx_session_run(s, 1, &bad, 1, &out, NULL, &diag), ONX_USAGE); /* too few bytes */
    bad.dims[0] = 1;
    CHECK_EQ(onx_session_run(s, 1, &bad, 1, &out, NULL, &diag), ONX_INVALID);
    CHECK(strstr(diag.message, "float[2,N]") && strstr(diag.message, "[1,3]"));
    bad = in;
    bad.dtype = ONX_DTYPE_I32;
    CHECK_EQ(onx_session_run(s, 1, &bad, 1, &out, NULL, &diag), ONX_INVALID);
    bad = in;
    bad.rank = 1;
    CHECK_EQ(onx_session_run(s, 1, &bad, 1, &out, NULL, &diag), ONX_INVALID);
    bad = in;
    bad.name = "nobody";
    CHECK_EQ(onx_session_run(s, 1, &bad, 1, &out, NULL, &diag), ONX_NOT_FOUND);
    CHECK_EQ(onx_session_run(s, 0, NULL, 1, &out, NULL, &diag), ONX_USAGE);
    CHECK(strstr(diag.message, "'x'"));
    onx_arg small = {.data = y, .bytes = 4};
    CHECK_EQ(onx_session_run(s, 1, &in, 1, &small, NULL, &diag), ONX_USAGE);
    CHECK(small.data == y && small.bytes == 4);
    onx_arg unknown = {.name = "nothing"};
    CHECK_EQ(onx_session_run(s, 1, &in, 1, &unknown, NULL, &diag), ONX_NOT_FOUND);
    onx_session_free(s);
}

/* Outputs that are no step's own: an input, a constant, the same value twice, a view. */
TEST(odd_outputs) {
    static const char text[] =
        HEADER "g (float[2,3] x) => (float[2,3] x, float[3] c, float[2,3] y, float[6] v)\n"
               "<float[3] c = {1, 2, 3}, int64[1] shape = {6}>\n"
               "{\n  y = Relu(x)\n  v = Reshape(y, shape)\n}\n";
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        onx_session_options options = ONX_INIT(onx_session_options);
        options.dynamic = dynamic;
        onx_session *s = open_session(NULL, text, &options);
        REQUIRE(s);
        float x[6] = {-1, 2, -3, 4, -5, 6};
        onx_arg in = {.dtype = 1, .rank = 2, .dims = {2, 3}, .data = x, .bytes = sizeof x};
        onx_arg out[5] = {{0}, {0}, {0}, {0}, {.name = "y"}};
        CHECK_EQ(onx_session_run(s, 1, &in, 5, out, NULL, NULL), ONX_OK);
        const float relu[6] = {0, 2, 0, 4, 0, 6}, c[3] = {1, 2, 3};
        CHECK(out[0].data && memcmp(out[0].data, x, sizeof x) == 0);
        CHECK(out[1].data && memcmp(out[1].data, c, sizeof c) == 0);
        for (int i = 2; i < 5; i++)
            CHECK(out[i].data && memcmp(out[i].data, relu, sizeof relu) == 0);
        CHECK(out[3].rank == 1 && out[3].dims[0] == 6);
        for (int i = 0; i < 5; i++) onx_arg_clear(&out[i]);
        onx_session_free(s);
    }
}

static const char branches[] =
    HEADER "g (bool c, float[N] x) => (float[N] y) {\n"
           "  t = Abs(x)\n"
           "  y0 = If (c) <\n"
           "    then_branch = a () => (float[N] ty) { inner = Neg(t)\n ty = Add(inner, x) },\n"
           "    else_branch = b () => (float[N] ey) { ey = Identity(t) }>\n"
           "  y = Relu(y0)\n}\n";

TEST(values_by_name) { /* also in subgraphs */
    onx_session *s = open_session(NULL, branches, NULL);
    REQUIRE(s);
    float x[2] = {-1, 2};
    bool yes = true, no = false;
    onx_arg in[2] = {{.dtype = ONX_DTYPE_BOOL, .data = &yes, .bytes = 1}, test_floats(2, x)};
    onx_arg out[3] = {{.name = "y"}, {.name = "t"}, {.name = "inner"}};
    CHECK_EQ(onx_session_run(s, 2, in, 3, out, NULL, NULL), ONX_OK);
    CHECK(out[0].data && ((float *)out[0].data)[1] == 0);
    CHECK(out[1].data && ((float *)out[1].data)[0] == 1);
    CHECK(out[2].data && ((float *)out[2].data)[0] == -1 && ((float *)out[2].data)[1] == -2);
    for (int i = 0; i < 3; i++) onx_arg_clear(&out[i]);
    in[0].data = &no;
    onx_arg again[3] = {{.name = "y"}, {.name = "t"}, {.name = "inner"}};
    CHECK_EQ(onx_session_run(s, 2, in, 3, again, NULL, NULL), ONX_OK);
    CHECK_EQ(again[2].dtype, ONX_DTYPE_NONE); /* its branch did not run */
    CHECK(again[0].data && ((float *)again[0].data)[0] == 1);
    for (int i = 0; i < 3; i++) onx_arg_clear(&again[i]);
    onx_session_free(s);
}

TEST(objects) {
    static const char text[] =
        "<ir_version: 10, opset_import: [\"\" : 20]>\n"
        "g (string[N] a, string[1] b, float[2] x) => (string[N] c, float[2] at, seq(float[]) q) {\n"
        "  c = StringConcat(a, b)\n"
        "  e = SequenceEmpty()\n"
        "  i = Identity(e)\n"
        "  one = SequenceInsert(i, x)\n"
        "  n = Neg(x)\n"
        "  q = SequenceInsert(one, n)\n"
        "  zero = Constant<value_int = 0>()\n"
        "  at = SequenceAt(q, zero)\n}\n";
    onx_session *s = open_session(NULL, text, NULL);
    REQUIRE(s);
    const int64_t two = 2, single = 1;
    onx_tensor *a = NULL, *b = NULL;
    CHECK_EQ(onx_tensor_new_strings(NULL, "", 1, &two, (const char *[]){"ab", "c"}, &a, NULL), 0);
    CHECK_EQ(onx_tensor_new_strings(NULL, "", 1, &single, (const char *[]){"!"}, &b, NULL), 0);
    float x[2] = {1, 2};
    onx_arg in[3] = {{0}, {0}, test_floats(2, x)}, out[3] = {{0}};
    CHECK_EQ(onx_arg_from_data(onx_tensor_data(a), &in[0], NULL), ONX_OK);
    CHECK_EQ(onx_arg_from_data(onx_tensor_data(b), &in[1], NULL), ONX_OK);
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(onx_session_run(s, 3, in, 3, out, NULL, NULL), ONX_OK);
        onx_str text0 = {NULL, 0};
        REQUIRE(out[0].value && out[2].value);
        CHECK_EQ(onx_tensor_string_at(onx_data_tensor(out[0].value), 0, &text0, NULL), ONX_OK);
        CHECK(onx_str_is(text0, "ab!"));
        CHECK(out[1].data && ((float *)out[1].data)[1] == 2);
        CHECK_EQ(onx_data_count(out[2].value), 2);
        for (int i = 0; i < 3; i++) onx_arg_clear(&out[i]);
    }
    onx_tensor_free(a);
    onx_tensor_free(b);
    onx_session_free(s);
}

static const char endless[] =
    HEADER "g (int64 n, float[64,64] x) => (float[64,64] y) {\n"
           "  yes = Constant<value = bool {1}>()\n"
           "  y = Loop (n, yes, x) <body = b (int64 i, bool c, float[64,64] a) => (bool d, "
           "float[64,64] e)\n"
           "    { d = Identity(c)\n m = MatMul(a, a)\n e = Tanh(m) }>\n}\n";

/* What a run may take to end. Of a few tries the best counts: machines are noisy. */
#ifdef ONX_SANITIZED
enum { PROMPTLY = 1000000000 };
#else
enum { PROMPTLY = 100000000 };
#endif

typedef struct stopper {
    onx_cancel *cancel;
    int64_t at;
} stopper;
static void stop_soon(void *user) {
    stopper *s = user;
    int64_t start = onx_clock_ns();
    while (onx_clock_ns() - start < 50000000) onx_thread_yield();
    s->at = onx_clock_ns();
    onx_cancel_set(s->cancel, true);
}

TEST(cancelling) {
    onx_session *s = open_session(NULL, endless, NULL);
    REQUIRE(s);
    float x[64 * 64] = {0};
    int64_t n = INT64_MAX;
    onx_arg in[2] = {{.dtype = ONX_DTYPE_I64, .data = &n, .bytes = 8},
                     {.dtype = 1, .rank = 2, .dims = {64, 64}, .data = x, .bytes = sizeof x}};
    onx_arg out = {0};
    stopper stop = {0};
    onx_thread thread;
    onx_run_options options = ONX_INIT(onx_run_options);
    CHECK_EQ(onx_cancel_new(NULL, &stop.cancel), ONX_OK);
    options.cancel = stop.cancel;
    int64_t best = INT64_MAX;
    for (int round = 0; round < 3; round++) {
        REQUIRE(onx_thread_start(&thread, stop_soon, &stop));
        CHECK_EQ(onx_session_run(s, 2, in, 1, &out, &options, NULL), ONX_CANCELLED);
        int64_t end = onx_clock_ns();
        onx_thread_join(&thread);
        if (end - stop.at < best) best = end - stop.at;
        onx_cancel_set(stop.cancel, false);
    }
    CHECK(best < PROMPTLY);
    CHECK(!out.data);
    options.timeout = 0.02;
    CHECK_EQ(onx_session_run(s, 2, in, 1, &out, &options, NULL), ONX_CANCELLED);
    n = 3; /* and the session still works */
    options.timeout = 0;
    CHECK_EQ(onx_session_run(s, 2, in, 1, &out, &options, NULL), ONX_OK);
    onx_arg_clear(&out);
    onx_cancel_free(stop.cancel);
    onx_session_free(s);
}

/* Inside kernels that take long, plain or not. */
TEST(cancelling_kernels) {
    enum { SIDE = 2048 };
    static float x[SIDE * SIDE], y[SIDE * SIDE];
    const char *tiers[] = {NULL, "ref"};
    for (size_t t = 0; t < 2; t++) {
        onx_session_options options = ONX_INIT(onx_session_options);
        onx_run_options limits = ONX_INIT(onx_run_options);
        options.cpu = tiers[t];
        onx_session *s =
            open_session(NULL,
                         HEADER "g (float[N,N] x) => (float[N,N] y) {\n  a = MatMul(x, x)\n"
                                "  b = MatMul(a, a)\n  y = MatMul(b, b)\n}\n",
                         &options);
        REQUIRE(s);
        onx_arg in = {.dtype = 1, .rank = 2, .dims = {SIDE, SIDE}, .data = x, .bytes = sizeof x};
        onx_arg out = {.data = y, .bytes = sizeof y};
        limits.timeout = 0.05;
        int64_t best = INT64_MAX;
        for (int round = 0; round < 3; round++) {
            int64_t start = onx_clock_ns();
            CHECK_EQ(onx_session_run(s, 1, &in, 1, &out, &limits, NULL), ONX_CANCELLED);
            int64_t late = onx_clock_ns() - start - 50000000;
            if (late < best) best = late;
        }
        CHECK(best < PROMPTLY);
        onx_session_free(s);
    }
}

/* A model with most of what the engine has: weights, views, shapes at bind, a branch, a loop. */
static const char medley[] = HEADER
    "g (float[N,8] x, bool c) => (float[M,4] y, float[N,8] s)\n"
    "<float[8,8] w = {1,0,0,0,0,0,0,0, 0,2,0,0,0,0,0,0, 0,0,3,0,0,0,0,0, 0,0,0,4,0,0,0,0,\n"
    "                 0,0,0,0,5,0,0,0, 0,0,0,0,0,6,0,0, 0,0,0,0,0,0,7,0, 0,0,0,0,0,0,0,8},\n"
    " float[8] bias = {1,1,1,1,1,1,1,1}, int64[1] minus = {-1}, int64[1] four = {4}, int64 two = "
    "{2}>\n"
    "{\n"
    "  m = MatMul(x, w)\n  p = Add(m, bias)\n  r = Relu(p)\n  s = Softmax(r)\n"
    "  shape = Concat<axis=0>(minus, four)\n  v = Reshape(s, shape)\n"
    "  b = If (c) <then_branch = t () => (float[K,4] t0) { t0 = Neg(v) },\n"
    "              else_branch = e () => (float[K,4] e0) { e0 = Identity(v) }>\n"
    "  yes = Constant<value = bool {1}>()\n"
    "  y = Loop (two, yes, b) <body = l (int64 i, bool k, float[K,4] a) => (bool d, float[K,4] o)\n"
    "    { d = Identity(k)\n o = Add(a, v) }>\n}\n";

static onx_status run_medley(onx_session *s, size_t rows, float *x, bool *c, float *y, float *soft,
                             onx_diag *diag) {
    onx_arg in[2] = {
        {.dtype = 1, .rank = 2, .dims = {(int64_t)rows, 8}, .data = x, .bytes = rows * 32},
        {.dtype = ONX_DTYPE_BOOL, .data = c, .bytes = 1}};
    onx_arg out[2] = {{.data = y, .bytes = rows * 32}, {.data = soft, .bytes = rows * 32}};
    return onx_session_run(s, 2, in, 2, out, NULL, diag);
}

TEST(no_allocation) {
    test_heap heap = {0};
    onx_context *ctx = test_context(&heap, NULL);
    onx_session *s = open_session(ctx, medley, NULL);
    REQUIRE(s);
    float x[40], y[40], soft[40];
    bool c = true;
    for (int i = 0; i < 40; i++) x[i] = (float)i / 7;
    for (int round = 0; round < 2; round++) {
        CHECK_EQ(run_medley(s, 5, x, &c, y, soft, NULL), ONX_OK);
        c = !c;
    }
    size_t calls = heap.calls;
    for (int round = 0; round < 10; round++) {
        CHECK_EQ(run_medley(s, 5, x, &c, y, soft, NULL), ONX_OK);
        c = !c;
    }
    CHECK_EQ(heap.calls, calls);
    onx_session_free(s);
    onx_context_free(ctx);
    CHECK_EQ(heap.bytes, 0);
}

/* Every allocation fails, in turn; the errors are clean, and nothing is lost. */
TEST(allocation_failures) {
    bool c = true;
    float x[40] = {1, 2, 3}, y[40], soft[40];
    size_t n = 1, failed = 1;
    for (; failed; n++) {
        test_heap heap = {.fail_count = 1};
        onx_context *ctx = test_context(&heap, NULL);
        heap.calls = 0; /* of the context itself */
        heap.fail_at = n;
        onx_model *model = test_parse(ctx, medley);
        onx_session *s = NULL;
        onx_session_options options = ONX_INIT(onx_session_options);
        options.threads = 1;
        if (model && onx_session_new(model, &options, &s, NULL) == ONX_OK) {
            onx_status status = run_medley(s, 5, x, &c, y, soft, NULL);
            CHECK(status == ONX_OK || status == ONX_NO_MEMORY);
            if (status != ONX_OK) CHECK_EQ(run_medley(s, 5, x, &c, y, soft, NULL), ONX_OK);
        }
        failed = heap.failed;
        onx_session_free(s);
        onx_model_free(model);
        onx_context_free(ctx);
        if (!CHECK(heap.bytes == 0)) fprintf(stderr, "    allocation %zu\n", n);
    }
    CHECK(n > 100);
}

TEST(memory_limit) {
    onx_session_options options = ONX_INIT(onx_session_options);
    options.memory_limit = 1 << 20;
    onx_session *s = open_session(NULL, add_abs, &options);
    REQUIRE(s);
    static float x[1 << 20], w[1 << 20];
    onx_arg in[2] = {test_floats(1 << 20, x), test_floats(1 << 20, x)},
            out = {.data = w, .bytes = sizeof w};
    onx_arg few[2] = {test_floats(8, x), test_floats(8, x)};
    onx_arg pinned[2] = {out, {.name = "z"}};
    CHECK_EQ(onx_session_run(s, 2, few, 1, &out, NULL, NULL), ONX_OK);
    (void)onx_session_run(s, 2, in, 2, pinned, NULL, NULL);
    onx_arg_clear(&pinned[1]);
    CHECK_EQ(onx_session_run(s, 2, few, 1, &out, NULL, NULL), ONX_OK);
    onx_session_free(s);
}

TEST(internal_is_refused) {
    onx_model *model =
        test_parse(NULL, "<ir_version: 10, opset_import: [\"\" : 18, \"onx.internal\" : 1]>\n"
                         "g (float[N] x) => (float[N] y) { y = onx.internal.Copy(x) }\n");
    onx_session *s = NULL;
    REQUIRE(model);
    CHECK_EQ(onx_session_new(model, NULL, &s, NULL), ONX_INVALID);
    onx_model_free(model);
}

/* With two attributes of a name, optimized and plain runs took different ones. */
TEST(two_of_a_name_are_refused) {
    for (size_t n = 0; n <= 40; n += 20) {
        char text[1024] = HEADER "g (float[N] x) => (float[N] y) { y = LeakyRelu<", word[32];
        for (size_t i = 0; i < n; i++) {
            (void)snprintf(word, sizeof word, "a%zu = 1, ", i);
            strcat(text, word);
        }
        strcat(text, "alpha = 0.5, alpha = 0.25>(x) }\n");
        onx_diag diag = ONX_INIT(onx_diag);
        onx_model *model = test_parse(NULL, text);
        onx_session *s = NULL;
        REQUIRE(model);
        CHECK_EQ(onx_session_new(model, NULL, &s, &diag), ONX_INVALID);
        CHECK(strstr(diag.message, "two attributes 'alpha'"));
        onx_model_free(model);
    }
}

typedef struct runner {
    onx_session *session;
    size_t rounds, bad;
} runner;
static void run_many(void *user) {
    runner *r = user;
    float x[40], y[40], soft[40], first[40];
    bool c = true;
    for (int i = 0; i < 40; i++) x[i] = (float)i / 3;
    for (size_t i = 0; i < r->rounds; i++) {
        size_t rows = 1 + i % 5;
        if (run_medley(r->session, rows, x, &c, y, soft, NULL) != ONX_OK) r->bad++;
        if (i == 0)
            memcpy(first, y, sizeof(float) * 8);
        else if (memcmp(first, y, sizeof(float) * 8) != 0)
            r->bad++;
    }
}

TEST(many_threads) {
    enum { THREADS = 16 };
    onx_session_options options = ONX_INIT(onx_session_options);
    options.threads = 2;
    onx_session *s = open_session(NULL, medley, &options);
    REQUIRE(s);
    onx_thread threads[THREADS];
    runner runners[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        runners[i] = (runner){s, 200, 0};
        REQUIRE(onx_thread_start(&threads[i], run_many, &runners[i]));
    }
    for (size_t i = 0; i < THREADS; i++) {
        onx_thread_join(&threads[i]);
        CHECK_EQ(runners[i].bad, 0);
    }
    onx_session_free(s);
}

/* Half of the nodes on a device whose memory the host cannot touch. */
TEST(second_device) {
    float x[40], want[40], want_soft[40], y[40], soft[40];
    bool c = true;
    for (int i = 0; i < 40; i++) x[i] = (float)i / 7;
    onx_session *plain = open_session(NULL, medley, NULL);
    REQUIRE(plain);
    CHECK_EQ(run_medley(plain, 5, x, &c, want, want_soft, NULL), ONX_OK);
    onx_session_free(plain);
    for (size_t every = 1; every < 4; every++) {
        fake_device device;
        onx_session *s = NULL;
        onx_diag diag = ONX_INIT(onx_diag);
        fake_device_init(&device, every);
        const onx_provider *providers[] = {&device.provider};
        onx_model *model = test_parse(NULL, medley);
        if (!CHECK(onx_session_make(model, NULL, providers, 1, &s, &diag) == ONX_OK))
            fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
        onx_model_free(model);
        REQUIRE(s);
        for (int round = 0; round < 2; round++) {
            if (!CHECK(run_medley(s, 5, x, &c, y, soft, &diag) == ONX_OK))
                fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
            for (int i = 0; i < 40; i++) CHECK(y[i] - want[i] < 1e-5 && want[i] - y[i] < 1e-5);
        }
        CHECK(device.launched > 0 && device.copied > 0);
        CHECK_EQ(device.faults, 0);
        onx_session_free(s);
        CHECK_EQ(device.bytes, 0);
    }
}

/* A past that is longer at every run: memory is linear in it, whatever was there before. */
TEST(growing_past) {
    enum { STEPS = 400, WIDTH = 64 };
    static const char text[] = HEADER "g (float[P,64] past, float[1,64] x) => (float[Q,64] now) {\n"
                                      "  y = Concat<axis=0>(past, x)\n  z = Tanh(y)\n"
                                      "  s = ReduceSum<keepdims=1>(z)\n  now = Mul(y, s)\n}\n";
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        onx_session_options options = ONX_INIT(onx_session_options);
        options.dynamic = dynamic;
        options.threads = 1;
        options.cpu = "ref";
        onx_session *s = open_session(ctx, text, &options);
        REQUIRE(s);
        static float past[STEPS * WIDTH], now[STEPS * WIDTH], x[WIDTH];
        size_t before = heap.bytes;
        for (int64_t n = 0; n < STEPS; n++) {
            onx_arg in[2] = {{.dtype = 1, .rank = 2, .dims = {n, WIDTH}, .data = past},
                             {.dtype = 1, .rank = 2, .dims = {1, WIDTH}, .data = x}};
            in[0].bytes = sizeof past, in[1].bytes = sizeof x;
            onx_arg out = {.data = now, .bytes = sizeof now};
            if (!CHECK(onx_session_run(s, 2, in, 1, &out, NULL, NULL) == ONX_OK)) break;
        }
        CHECK(heap.bytes - before < 6 * sizeof past); /* at most two values live at once */
        onx_session_free(s);
        onx_context_free(ctx);
        CHECK_EQ(heap.bytes, 0);
    }
}

TEST(weights_are_shared) {
    test_heap heap = {0};
    onx_context *ctx = test_context(&heap, NULL);
    enum { K = 256 };
    onx_model *model = onx_model_new(ctx, "m", 18);
    onx_graph *g = onx_model_graph(model);
    static float w[K * K];
    const int64_t dims[2] = {K, K};
    onx_value *x = onx_graph_add_input(g, "x", "float[N,256]");
    onx_value *v = onx_graph_add_initializer(g, "w", ONX_DTYPE_F32, 2, dims, w, sizeof w);
    onx_graph_add_output(g, onx_graph_add_op(g, "MatMul", "y", x, v), "float[N,256]");
    onx_session *one = NULL, *two = NULL;
    CHECK_EQ(onx_session_new(model, NULL, &one, NULL), ONX_OK);
    size_t before = heap.bytes;
    CHECK_EQ(onx_session_new(model, NULL, &two, NULL), ONX_OK);
    if (!CHECK(heap.bytes - before < sizeof w)) /* not packed again */
        fprintf(stderr, "    %zu bytes\n", heap.bytes - before);
    onx_model_free(model);
    onx_session_free(one);
    onx_session_free(two);
    onx_context_free(ctx);
    CHECK_EQ(heap.bytes, 0);
}

TEST_MAIN(E(runs) E(in_place) E(lodging) E(shown_outputs) E(inner_plans) E(wrong_arguments)
              E(odd_outputs) E(values_by_name) E(objects) E(cancelling) E(cancelling_kernels)
                  E(no_allocation) E(allocation_failures) E(memory_limit) E(internal_is_refused)
                      E(two_of_a_name_are_refused) E(many_threads) E(second_device) E(growing_past)
                          E(weights_are_shared))
