/* test_custom_kernel.c: kernels that a program adds with its operators: what they are given, what
 * they can do, and what happens when they break their contract. */
#include "rt/session.h"
#include "support.h"
#include "test.h"

#define HEADER "<ir_version: 10, opset_import: [\"\" : 18, \"my.ops\" : 1]>\n"

/* ── Doing it ────────────────────────────────────────────────────────────────────────────────── */

typedef struct bench {
    test_heap heap;
    onx_context *ctx;
    onx_model *model;
    onx_session *session;
    onx_diag diag;
} bench;

static bench open_bench(void) {
    bench b = {.diag = ONX_INIT(onx_diag)};
    return b;
}

static onx_status add_op(bench *b, const char *name, const char *signature, onx_kernel_def kernel) {
    onx_op_def def = ONX_INIT(onx_op_def);
    if (!b->ctx) b->ctx = test_context(&b->heap, NULL);
    kernel.size = sizeof kernel;
    def.domain = "my.ops";
    def.name = name;
    def.signature = signature;
    def.n_kernels = 1;
    def.kernels = &kernel;
    return onx_context_add_ops(b->ctx, 1, &def, &b->diag);
}

static onx_status open_model(bench *b, const char *text, const onx_session_options *options) {
    onx_load_options load = ONX_INIT(onx_load_options);
    load.format = ONX_FORMAT_TEXT;
    onx_status status =
        onx_model_load_memory(b->ctx, text, strlen(text), &load, &b->model, &b->diag);
    if (status == ONX_OK) status = onx_session_new(b->model, options, &b->session, &b->diag);
    return status;
}

static void close_bench(bench *b) {
    onx_session_free(b->session);
    onx_model_free(b->model);
    onx_context_free(b->ctx);
    CHECK_EQ(b->heap.bytes, 0);
}

static bool says(const bench *b, const char *words) {
    if (strstr(b->diag.message, words)) return true;
    fprintf(stderr, "    '%s', not '%s'\n", b->diag.message, words);
    return false;
}

/* ── A kernel with everything ────────────────────────────────────────────────────────────────── */

typedef struct gain { /* a state that holds memory of its own */
    float factor, *table;
} gain;
static int states; /* that live */

static onx_status gain_init(onx_call *call, void *user) {
    gain *g = onx_kernel_new_state(call, sizeof *g);
    size_t n = 0;
    CHECK(user == &states);
    if (!g) return ONX_NO_MEMORY;
    CHECK(!onx_kernel_new_state(call, 1));
    CHECK_EQ(onx_kernel_input_count(call), 1);
    CHECK_EQ(onx_kernel_dtype(call, 0), ONX_DTYPE_F32);
    CHECK_EQ(onx_kernel_dtype(call, 7), ONX_DTYPE_NONE);
    CHECK_EQ(onx_kernel_rank(call, 7), -1);
    CHECK_EQ(onx_kernel_rank(call, 0), 1);
    CHECK_EQ(onx_kernel_dims(call, 0)[0], -1);
    CHECK_EQ(onx_kernel_count(call, 0), -1);
    CHECK(!onx_kernel_input(call, 0) && !onx_kernel_output(call, 0));
    CHECK(onx_str_is(onx_kernel_string(call, "mode"), "plain"));
    CHECK_EQ(onx_kernel_int(call, "plus"), 3);
    const int64_t *list = onx_kernel_ints(call, "list", &n);
    CHECK(n == 2 && list && list[1] == 5);
    CHECK(!onx_kernel_floats(call, "none", &n) && n == 0);
    CHECK(strcmp(onx_node_op(onx_kernel_node(call)), "Gain") == 0);
    g->factor = onx_kernel_float(call, "factor");
    if (g->factor < 0) return onx_kernel_fail(call, ONX_INVALID, "factor is %g", g->factor);
    g->table = calloc(4, sizeof *g->table);
    states++;
    return ONX_OK;
}

static void gain_fini(void *state, void *user) {
    CHECK(user == &states);
    free(((gain *)state)->table);
    states--;
}

enum { GRAIN = 1000 };

static onx_status gain_bind(onx_call *call, void *user) {
    int64_t count = onx_kernel_count(call, 0);
    (void)user;
    CHECK(!onx_kernel_input(call, 0)); /* not known yet */
    CHECK_EQ(onx_kernel_set_scratch(call, 64, 4), ONX_OK);
    return onx_kernel_set_shape(call, 0, ONX_DTYPE_F32, 1, &count);
}

static onx_status gain_task(void *user, onx_call *call, size_t index, void *scratch) {
    const gain *g = onx_kernel_state(call);
    const float *x = onx_kernel_input(call, 0);
    float *y = onx_kernel_output(call, 0);
    int64_t end = onx_kernel_count(call, 0), from = (int64_t)index * GRAIN;
    memset(scratch, 1, 4);
    if (user && index == 3) return ONX_INVALID;
    for (int64_t i = from; i < end && i < from + GRAIN; i++) y[i] = x[i] * g->factor;
    return ONX_OK;
}

static onx_status gain_run(onx_call *call, void *user) {
    size_t tasks = (size_t)(onx_kernel_count(call, 0) + GRAIN - 1) / GRAIN;
    (void)user;
    CHECK(onx_kernel_scratch(call) != NULL);
    memset(onx_kernel_scratch(call), 2, 64);
    CHECK(!onx_kernel_stopped(call));
    CHECK(!onx_kernel_new_state(call, 8));
    return onx_kernel_parallel(call, tasks, gain_task, NULL);
}

static const onx_kernel_def gain_kernel = {.name = "gain_f32",
                                           .types = "float",
                                           .init = gain_init,
                                           .bind = gain_bind,
                                           .run = gain_run,
                                           .fini = gain_fini,
                                           .user = &states,
                                           .overwrite = 1};
#define GAIN                                                                                       \
    "(X:T) -> (Y:T) {factor:float=2, plus:int=3, mode:string=\"plain\", list?:ints, none?:floats}" \
    " [T:float|double]"
static const char gain_text[] =
    HEADER "g (float[N] x) => (float[N] y) {\n  a = Abs(x)\n"
           "  b = my.ops.Gain <factor = 3.0, list = [4, 5]> (a)\n  y = Neg(b)\n}\n";

TEST(everything) {
    enum { N = 5500 };
    static float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = (float)(i - 50);
    for (size_t way = 0; way < 8; way++) {
        bench b = open_bench();
        onx_session_options options = ONX_INIT(onx_session_options);
        options.threads = 1 + way % 2;
        options.dynamic = way & 2;
        options.memory_limit = way & 4 ? 4 << 20 : 0;
        CHECK_EQ(add_op(&b, "Gain", GAIN, gain_kernel), ONX_OK);
        CHECK_EQ(open_model(&b, gain_text, &options), ONX_OK);
        REQUIRE(b.session);
        CHECK_EQ(states, 1);
        onx_arg in = test_floats(N, x), out = {.data = y, .bytes = sizeof y};
        for (int round = 0; round < 2; round++) {
            CHECK_EQ(onx_session_run(b.session, 1, &in, 1, &out, NULL, NULL), ONX_OK);
            CHECK(y[0] == -150 && y[49] == -3 && y[N - 1] == -3 * (N - 51));
        }
        close_bench(&b);
        CHECK_EQ(states, 0);
    }
}

/* Plans and profiles name it; its output lies on its input. */
TEST(named) {
    bench b = open_bench();
    onx_session_options options = ONX_INIT(onx_session_options);
    options.level = ONX_LEVEL_NONE;
    CHECK_EQ(add_op(&b, "Gain", GAIN, gain_kernel), ONX_OK);
    CHECK_EQ(open_model(&b, gain_text, &options), ONX_OK);
    REQUIRE(b.session);
    float x[4] = {1, 2, 3, 4};
    onx_arg in = test_floats(4, x), out = {0};
    onx_plan *plan = NULL;
    CHECK_EQ(onx_plan_new(b.session, 1, &in, &plan, NULL), ONX_OK);
    REQUIRE(plan);
    CHECK_EQ(strcmp(onx_plan_step_at(plan, 1)->kernel, "gain_f32 custom"), 0);
    CHECK_EQ(strcmp(onx_plan_step_at(plan, 1)->op, "my.ops::Gain"), 0);
    CHECK_EQ(onx_plan_step_at(plan, 1)->overwrites, 0);
    onx_plan_free(plan);
    onx_run_options how = ONX_INIT(onx_run_options);
    CHECK_EQ(onx_profile_new(b.ctx, &how.profile), ONX_OK);
    CHECK_EQ(onx_session_run(b.session, 1, &in, 1, &out, &how, NULL), ONX_OK);
    CHECK_EQ(strcmp(onx_profile_event_at(how.profile, 1)->kernel, "gain_f32 custom"), 0);
    onx_profile_free(how.profile);
    onx_arg_clear(&out);
    close_bench(&b);
}

/* ── Types ───────────────────────────────────────────────────────────────────────────────────── */

static onx_status which_run(onx_call *call, void *user) {
    *(float *)onx_kernel_output(call, 0) = *(const float *)user;
    return ONX_OK;
}
static onx_status scalar_bind(onx_call *call, void *user) {
    (void)user;
    return onx_kernel_set_shape(call, 0, ONX_DTYPE_F32, 0, NULL);
}
static onx_status not_mine(onx_call *call, void *user) {
    (void)user;
    return onx_kernel_int(call, "n") == 1 ? ONX_UNSUPPORTED : ONX_OK;
}

/* The first kernel that takes a node runs it; what the signature does not allow reaches none. */
TEST(rows) {
    static float one = 1, two = 2, three = 3;
    onx_kernel_def kernels[3] = {
        {.types = "float, int64|int32",
         .init = not_mine,
         .bind = scalar_bind,
         .run = which_run,
         .user = &one},
        {.types = "float", .bind = scalar_bind, .run = which_run, .user = &two},
        {.bind = scalar_bind, .run = which_run, .user = &three}};
    for (int i = 0; i < 3; i++) kernels[i].size = sizeof kernels[i];
    onx_op_def def = {.size = sizeof def,
                      .domain = "my.ops",
                      .name = "Which",
                      .signature = "(x:T, y?:A) -> (z:float) {n:int=0} [T:float|double, A:i]",
                      .n_kernels = 3,
                      .kernels = kernels};
    static const struct {
        const char *x, *y, *call;
        float wanted; /* 0: there is none */
    } cases[] = {{"float", "int64", "(x, y)", 1}, {"float", "int32", "(x, y)", 1},
                 {"float", "int8", "(x, y)", 2},  {"double", "int64", "(x, y)", 3},
                 {"float", "int64", "(x)", 1},    {"float", "int64", "<n = 1> (x, y)", 2},
                 {"int32", "int64", "(x, y)", 0}, {"float", "float", "(x, y)", 0},
                 {"string", "int64", "(x, y)", 0}};
    def.signature = "(x:T, y?:A) -> (z:float) {n:int=0} [T:float|double, A:int8|int32|int64]";
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        bench b = open_bench();
        char text[400];
        b.ctx = test_context(&b.heap, NULL);
        CHECK_EQ(onx_context_add_ops(b.ctx, 1, &def, &b.diag), ONX_OK);
        snprintf(text, sizeof text, HEADER "g (%s x, %s y) => (float z) { z = my.ops.Which %s }\n",
                 cases[i].x, cases[i].y, cases[i].call);
        onx_status status = open_model(&b, text, NULL);
        CHECK_EQ(status, cases[i].wanted != 0 ? ONX_OK : ONX_UNSUPPORTED);
        if (status == ONX_OK) {
            double memory[2] = {0};
            onx_arg in[2] = {
                {.dtype = onx_dtype_from_name(cases[i].x), .data = memory, .bytes = 8},
                {.dtype = onx_dtype_from_name(cases[i].y), .data = memory, .bytes = 8}};
            onx_arg out = {0};
            CHECK_EQ(onx_session_run(b.session, 2, in, 1, &out, NULL, &b.diag), ONX_OK);
            CHECK(out.data && *(float *)out.data == cases[i].wanted);
            onx_arg_clear(&out);
        }
        close_bench(&b);
    }
}

/* ── Late, strings, constants ────────────────────────────────────────────────────────────────── */

/* The positive elements, and a text for each; how many there are is known only in the run. */
static onx_status positive_run(onx_call *call, void *user) {
    const float *x = onx_kernel_input(call, 0);
    int64_t n = 0, at = 0;
    void *data = NULL;
    (void)user;
    for (int64_t i = 0; i < onx_kernel_count(call, 0); i++) n += x[i] > 0;
    onx_status status = onx_kernel_make_output(call, 0, ONX_DTYPE_F32, 1, &n, &data);
    if (status == ONX_OK) status = onx_kernel_make_output(call, 1, ONX_DTYPE_STRING, 1, &n, NULL);
    for (int64_t i = 0; status == ONX_OK && i < onx_kernel_count(call, 0); i++) {
        char text[32];
        if (!(x[i] > 0)) continue;
        if (data) ((float *)data)[at] = x[i];
        snprintf(text, sizeof text, "%g", x[i]);
        status = onx_kernel_set_text(call, 1, at++, (onx_str){text, strlen(text)});
    }
    CHECK_EQ(onx_kernel_set_text(call, 1, n, (onx_str){"", 0}),
             onx_kernel_has_output(call, 1) ? ONX_USAGE : ONX_OK);
    return status;
}

static onx_status shout_run(onx_call *call, void *user) { /* strings to strings, not late */
    (void)user;
    CHECK(!onx_kernel_input(call, 0) && !onx_kernel_output(call, 0));
    CHECK(!onx_kernel_text(call, 0, -1).data);
    for (int64_t i = 0; i < onx_kernel_count(call, 0); i++) {
        char text[40];
        onx_str from = onx_kernel_text(call, 0, i);
        snprintf(text, sizeof text, "%.*s!", (int)from.size, from.data);
        onx_status status = onx_kernel_set_text(call, 0, i, (onx_str){text, strlen(text)});
        if (status != ONX_OK) return status;
    }
    return ONX_OK;
}

TEST(late_and_strings) {
    onx_kernel_def late = {.run = positive_run, .late = true}, shout = {.run = shout_run};
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        bench b = open_bench();
        onx_session_options options = ONX_INIT(onx_session_options);
        options.dynamic = dynamic;
        CHECK_EQ(add_op(&b, "Positive", "(X:float) -> (Y:float, Z?:string)", late), ONX_OK);
        CHECK_EQ(add_op(&b, "Shout", "(X:string) -> (Y:string)", shout), ONX_OK);
        CHECK_EQ(open_model(&b,
                            HEADER "g (float[N] x) => (float[M] y, string[M] z) {\n"
                                   "  p, q = my.ops.Positive(x)\n  y = Neg(p)\n"
                                   "  z = my.ops.Shout(q)\n  r = my.ops.Positive(y)\n}\n",
                            &options),
                 ONX_OK);
        REQUIRE(b.session);
        float x[5] = {-1, 2, 0, 3, -4};
        for (size_t n = 0; n <= 5; n += 5) {
            onx_arg in = test_floats(n, x), out[3] = {{0}, {0}, {.name = "r"}};
            CHECK_EQ(onx_session_run(b.session, 1, &in, 3, out, NULL, NULL), ONX_OK);
            CHECK_EQ(out[0].dims[0], n ? 2 : 0);
            REQUIRE(out[1].value);
            if (n) {
                onx_str text = {NULL, 0};
                CHECK(((float *)out[0].data)[1] == -3);
                CHECK_EQ(onx_tensor_string_at(onx_data_tensor(out[1].value), 1, &text, NULL), 0);
                CHECK(onx_str_is(text, "3!"));
            }
            CHECK_EQ(out[2].dims[0], 0);
            for (int i = 0; i < 3; i++) onx_arg_clear(&out[i]);
        }
        close_bench(&b);
    }
}

/* `host`: bind reads the sizes. Constant, or computed in the run. */
static onx_status fill_bind(onx_call *call, void *user) {
    const int64_t *shape = onx_kernel_input(call, 0);
    (void)user;
    CHECK(!onx_kernel_input(call, 1));
    if (!CHECK(shape)) return ONX_INVALID;
    return onx_kernel_set_shape(call, 0, ONX_DTYPE_F32, (size_t)onx_kernel_count(call, 0), shape);
}
static onx_status fill_run(onx_call *call, void *user) {
    const int64_t *shape = onx_kernel_input(call, 0);
    (void)user;
    for (int64_t i = 0; i < shape[0]; i++)
        ((float *)onx_kernel_output(call, 0))[i] = *(const float *)onx_kernel_input(call, 1);
    return ONX_OK;
}

TEST(host_inputs) {
    onx_kernel_def fill = {.bind = fill_bind, .run = fill_run, .host = 1};
    bench b = open_bench();
    CHECK_EQ(add_op(&b, "Fill", "(S:int64, V:float) -> (Y:float)", fill), ONX_OK);
    CHECK_EQ(open_model(&b,
                        HEADER "g (int64[1] s, float v) => (float[N] y, float[3] c)\n"
                               "<int64[1] three = {3}> {\n"
                               "  y = my.ops.Fill(s, v)\n  c = my.ops.Fill(three, v)\n}\n",
                        NULL),
             ONX_OK);
    REQUIRE(b.session);
    int64_t size = 5;
    float v = 1.5f;
    onx_arg in[2] = {{.dtype = ONX_DTYPE_I64, .rank = 1, .dims = {1}, .data = &size, .bytes = 8},
                     {.dtype = 1, .data = &v, .bytes = 4}};
    onx_arg out[2] = {{0}};
    CHECK_EQ(onx_session_run(b.session, 2, in, 2, out, NULL, &b.diag), ONX_OK);
    CHECK(out[0].dims[0] == 5 && ((float *)out[0].data)[4] == 1.5f);
    CHECK(out[1].dims[0] == 3 && ((float *)out[1].data)[2] == 1.5f);
    for (int i = 0; i < 2; i++) onx_arg_clear(&out[i]);
    size = -1; /* what a kernel says is checked */
    CHECK_EQ(onx_session_run(b.session, 2, in, 2, out, NULL, &b.diag), ONX_INVALID);
    CHECK(says(&b, "would be -1"));
    size = INT64_MAX;
    CHECK_EQ(onx_session_run(b.session, 2, in, 2, out, NULL, &b.diag), ONX_LIMIT);
    close_bench(&b);
}

/* ── Broken contracts ────────────────────────────────────────────────────────────────────────── */

static onx_status nothing(onx_call *call, void *user) {
    (void)call, (void)user;
    return ONX_OK;
}
static onx_status fails(onx_call *call, void *user) {
    (void)call, (void)user;
    return ONX_LIMIT;
}
static onx_status explains(onx_call *call, void *user) {
    (void)user;
    return onx_kernel_fail(call, ONX_INVALID, "the moon is in the wrong house");
}
static onx_status wrong_type(onx_call *call, void *user) {
    (void)user;
    return onx_kernel_set_shape(call, 0, ONX_DTYPE_F64, 1, onx_kernel_dims(call, 0));
}
static onx_status no_type(onx_call *call, void *user) {
    (void)user;
    return onx_kernel_set_shape(call, 0, (onx_dtype)99, 1, onx_kernel_dims(call, 0));
}
static onx_status shapes_in_run(onx_call *call, void *user) {
    int64_t many = 1 << 20;
    (void)user;
    return onx_kernel_set_shape(call, 0, ONX_DTYPE_F32, 1, &many);
}
static onx_status makes_early(onx_call *call, void *user) {
    int64_t many = 1 << 20;
    (void)user;
    return onx_kernel_make_output(call, 0, ONX_DTYPE_F32, 1, &many, NULL);
}
static onx_status tasks_in_bind(onx_call *call, void *user) {
    (void)user;
    return onx_kernel_parallel(call, 2, gain_task, NULL);
}
static onx_status makes_double(onx_call *call, void *user) {
    (void)user;
    return onx_kernel_make_output(call, 0, ONX_DTYPE_F64, 1, onx_kernel_dims(call, 0), NULL);
}
static onx_status cancels(onx_call *call, void *user) {
    (void)call, (void)user;
    return ONX_CANCELLED;
}
static onx_status task_fails(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)call, (void)scratch;
    return index == 2 ? ONX_INVALID : ONX_OK;
}
static onx_status has_bad_task(onx_call *call, void *user) {
    (void)user;
    return onx_kernel_parallel(call, 8, task_fails, NULL);
}

TEST(broken) {
    static const struct {
        onx_kernel_def kernel;
        onx_status status;
        const char *words;
    } cases[] = {
        {{.init = fails, .run = nothing}, ONX_LIMIT, "the kernel 'Op' failed"},
        {{.init = explains, .run = nothing}, ONX_INVALID, "the moon"},
        {{.bind = nothing, .run = nothing}, ONX_INVALID, "does not say what output 0 is"},
        {{.bind = explains, .run = nothing}, ONX_INVALID, "the moon"},
        {{.bind = wrong_type, .run = nothing},
         ONX_INVALID,
         "is declared as float, but it is double"},
        {{.bind = no_type, .run = nothing}, ONX_USAGE, "no element type"},
        {{.bind = tasks_in_bind, .run = nothing}, ONX_USAGE, "for the run of a kernel"},
        {{.run = explains}, ONX_INVALID, "the moon"},
        {{.run = fails, .name = "mine"}, ONX_LIMIT, "the kernel 'mine' failed"},
        {{.run = shapes_in_run}, ONX_USAGE, "for the bind of a kernel"},
        {{.run = makes_early}, ONX_USAGE, "run of a late one"},
        {{.run = cancels}, ONX_CANCELLED, "the kernel 'Op' failed"},
        {{.run = has_bad_task}, ONX_INVALID, "the kernel 'Op' failed"},
        {{.run = nothing, .late = true}, ONX_INVALID, "does not say what output 0 is"},
        {{.run = makes_double, .late = true}, ONX_INVALID, "is declared as float"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        bench b = open_bench();
        float x[3] = {1, 2, 3};
        onx_arg in = test_floats(3, x), out = {0};
        CHECK_EQ(add_op(&b, "Op", "(X:float) -> (Y:float)", cases[i].kernel), ONX_OK);
        onx_status status =
            open_model(&b, HEADER "g (float[3] x) => (float[3] y) { y = my.ops.Op(x) }\n", NULL);
        if (status == ONX_OK) status = onx_session_run(b.session, 1, &in, 1, &out, NULL, &b.diag);
        if (!CHECK(status == cases[i].status && says(&b, cases[i].words)))
            fprintf(stderr, "    case %zu: %s\n", i, onx_status_name(status));
        CHECK(status == ONX_CANCELLED || strstr(b.diag.place, "(Op)"));
        CHECK(!out.data);
        close_bench(&b);
    }
}

TEST(refused) {
    static const struct {
        onx_kernel_def kernel;
        const char *words;
    } cases[] = {{{.bind = nothing}, "no run"},
                 {{.run = nothing, .bind = nothing, .late = true}, "late"},
                 {{.run = nothing, .types = "float, apples"}, "apples"},
                 {{.run = nothing, .types = ""}, "no types"}};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        bench b = open_bench();
        CHECK_EQ(add_op(&b, "Op", "(X:float) -> (Y:float)", cases[i].kernel), ONX_USAGE);
        CHECK(says(&b, cases[i].words));
        close_bench(&b);
    }
}

/* ── Libraries ───────────────────────────────────────────────────────────────────────────────── */

TEST(libraries) { /* test_examples.sh loads one that is right */
    bench b = open_bench();
    b.ctx = test_context(&b.heap, NULL);
    CHECK_EQ(onx_context_load_ops(NULL, "x.so", &b.diag), ONX_USAGE);
    CHECK_EQ(onx_context_load_ops(b.ctx, "/nowhere/x.so", &b.diag), ONX_IO);
    CHECK(says(&b, "cannot be loaded") && strcmp(b.diag.file, "/nowhere/x.so") == 0);
    CHECK_EQ(onx_context_load_ops(b.ctx, "libm.so.6", &b.diag), ONX_UNSUPPORTED);
    CHECK(says(&b, "not a library of operators"));
    close_bench(&b);
}

/* Every allocation fails, in turn: nothing leaks, no state is left, the session stays usable. */
TEST(allocation_failures) {
    size_t n = 1, failed = 1;
    onx_kernel_def late = {.run = positive_run, .late = true};
    float x[4] = {1, -2, 3, 4};
    for (; failed; n++) {
        bench b = open_bench();
        b.ctx = test_context(&b.heap, NULL);
        b.heap.fail_count = 1;
        b.heap.calls = 0;
        b.heap.fail_at = n;
        onx_session_options options = ONX_INIT(onx_session_options);
        options.threads = 1;
        onx_status status = add_op(&b, "Gain", GAIN, gain_kernel);
        if (status == ONX_OK)
            status = add_op(&b, "Positive", "(X:float) -> (Y:float, Z?:string)", late);
        if (status == ONX_OK)
            status = open_model(&b,
                                HEADER "g (float[N] x) => (float[M] y, string[M] z) {\n"
                                       "  b = my.ops.Gain <list = [4, 5]> (x)\n"
                                       "  y, z = my.ops.Positive(b)\n}\n",
                                &options);
        CHECK(status == ONX_OK || status == ONX_NO_MEMORY);
        for (int round = 0; round < 3 && status == ONX_OK; round++) {
            onx_arg in = test_floats(4, x), out[2] = {{0}};
            if (round == 2) b.heap.fail_at = 0;
            onx_status run = onx_session_run(b.session, 1, &in, 2, out, NULL, NULL);
            CHECK(run == ONX_OK || (round < 2 && run == ONX_NO_MEMORY));
            if (run == ONX_OK) CHECK(out[0].dims[0] == 3 && ((float *)out[0].data)[2] == 8);
            for (int i = 0; i < 2; i++) onx_arg_clear(&out[i]);
        }
        failed = b.heap.failed;
        close_bench(&b);
        CHECK_EQ(states, 0);
    }
    CHECK(n > 70);
}

TEST_MAIN(E(everything) E(named) E(rows) E(late_and_strings) E(host_inputs) E(broken) E(refused)
              E(libraries) E(allocation_failures))
