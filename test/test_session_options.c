/* test_session_options.c: what a session can be told: providers, memory, initializers, who hears of
 * it; and arguments of runs that are wrong, each with its sentence. */
#include "rt/session.h"
#include "support.h"
#include "test.h"

#define HEADER "<ir_version: 10, opset_import: [\"\" : 18]>\n"

static bool says(const onx_diag *diag, const char *words) {
    if (strstr(diag->message, words) || strstr(diag->hint, words)) return true;
    fprintf(stderr, "    '%s' ('%s'), not '%s'\n", diag->message, diag->hint, words);
    return false;
}

/* ── Providers, log ──────────────────────────────────────────────────────────────────────────── */

typedef struct heard {
    size_t n[3];
    char text[4000];
} heard;

static void hear(void *user, onx_log_level level, const char *message) {
    heard *h = user;
    size_t at = strlen(h->text);
    h->n[level]++;
    snprintf(h->text + at, sizeof h->text - at, "%s\n", message);
}

static const char neg[] =
    HEADER "g (float[N] x) => (float[N] y) {\n  a = Abs(x)\n  y = Neg(a)\n}\n";

TEST(providers) {
    static const struct {
        const char *list;
        onx_status status;
        const char *words;
        size_t warnings;
    } cases[] = {
        {NULL, ONX_OK, "", 0},
        {"", ONX_OK, "", 0},
        {"cpu", ONX_OK, "", 0},
        {"CPUExecutionProvider", ONX_OK, "", 0},
        {"cuda,cpu", ONX_OK, "", 1},
        {" CUDAExecutionProvider , CPUExecutionProvider ", ONX_OK, "", 1},
        {"cpu,cuda", ONX_OK, "", 0},
        {"cuda", ONX_UNSUPPORTED, "not in this build", 0},
        {"CUDAExecutionProvider", ONX_UNSUPPORTED, "not in this build", 0},
        {"cuda,cuda", ONX_UNSUPPORTED, "not in this build", 1},
        {"tpu", ONX_USAGE, "no provider 'tpu'", 0},
        {"cpu,tpu", ONX_USAGE, "cpu and cuda are known", 0},
        {"cpu,", ONX_USAGE, "no provider ''", 0},
        {"CPU", ONX_USAGE, "no provider 'CPU'", 0},
    };
    onx_model *model = test_parse(NULL, neg);
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        heard h = {{0}, ""};
        onx_diag diag = ONX_INIT(onx_diag);
        onx_session *s = NULL;
        onx_session_options options = ONX_INIT(onx_session_options);
        options.providers = cases[i].list;
        options.log = hear;
        options.log_user = &h;
        CHECK_EQ(onx_session_new(model, &options, &s, &diag), cases[i].status);
        if (cases[i].status) CHECK(says(&diag, cases[i].words));
        CHECK_EQ(h.n[ONX_LOG_WARNING], cases[i].warnings);
        onx_session_free(s);
    }
    onx_model_free(model);
}

TEST(log) {
    onx_model *model = test_parse(NULL, "<ir_version: 10, opset_import: [\"\" : 18]>\n"
                                        "g (double[N,4] x) => (double[N,4] y) {\n  a = Celu(x)\n"
                                        "  y = Hardmax(a)\n}\n");
    heard h = {{0}, ""};
    onx_session *s = NULL;
    onx_session_options options = ONX_INIT(onx_session_options);
    options.log = hear;
    options.log_user = &h;
    options.numerics = ONX_NUMERICS_FAST;
    CHECK_EQ(onx_session_new(model, &options, &s, NULL), ONX_OK);
    CHECK(strstr(h.text, "runs on the cpu") && strstr(h.text, "a program was built"));
    CHECK(strstr(h.text, "plain kernel") && strstr(h.text, "memory in use"));
    size_t before = h.n[ONX_LOG_INFO];
    double x[4] = {0};
    onx_arg in = {.dtype = ONX_DTYPE_F64, .rank = 2, .dims = {1, 4}, .data = x, .bytes = sizeof x};
    onx_arg out = {.name = "a"};
    CHECK_EQ(onx_session_run(s, 1, &in, 1, &out, NULL, NULL), ONX_OK);
    CHECK(h.n[ONX_LOG_INFO] > before); /* a program that keeps `a` */
    onx_arg_clear(&out);
    onx_session_free(s);
    onx_model_free(model);
}

/* ── Memory ──────────────────────────────────────────────────────────────────────────────────── */

static const char *const fat[] = {
    HEADER "g (float[N] x, float[N] z) => (float[N] y) {\n  a = Add(x, z)\n  b = Exp(a)\n"
           "  c = Mul(a, b)\n  y = Neg(c)\n}\n",
    HEADER "g (float[N] x, float[N] z) => (float[M] y) {\n  s = SequenceConstruct(x, z, x)\n"
           "  t = SequenceInsert(s, z)\n  y = ConcatFromSequence<axis = 0>(t)\n}\n",
    HEADER
    "g (float[N] x, float[N] z) => (float[N] y) {\n"
    "  n = Constant<value_int = 5>()\n  yes = Constant<value = bool {1}>()\n"
    "  y = Loop (n, yes, x) <body = b (int64 i, bool c, float[N] a) => (bool d, float[N] e)\n"
    "    { d = Identity(c)\n e = Add(a, z) }>\n}\n",
    HEADER
    "g (float[N] x, float[N] z) => (float[64] y) {\n"
    "  shape = Constant<value_ints = [64, 300]>()\n"
    "  w = ConstantOfShape<value: tensor = float[1] {0.125}>(shape)\n"
    "  n = Constant<value_ints = [300, 1]>()\n"
    "  p = Concat<axis = 0>(x, z)\n  f = Constant<value_ints = [0]>()\n"
    "  l = Constant<value_ints = [300]>()\n  q = Slice(p, f, l)\n  r = Reshape(q, n)\n"
    "  m = MatMul(w, r)\n  flat = Constant<value_ints = [64]>()\n  y = Reshape(m, flat)\n}\n",
    HEADER "g (float[N] x, float[N] z) => (string[M] y) {\n  c = Cast<to = 8>(x)\n"
           "  nz = NonZero(z)\n  nt = Transpose(nz)\n  y = GatherND(c, nt)\n}\n",
};

/* Whatever the cap: never more is allocated, the failure is clean, and a session that was made
 * works for small inputs after it failed for large ones. */
TEST(never_above_the_cap) {
    enum { MOST = 20000 };
    static float x[MOST];
    test_random random = {7};
    size_t made = 0, refused = 0, ran = 0, failed = 0;
    for (size_t i = 0; i < MOST; i++) x[i] = (float)(i % 17) / 4 + 1;
    for (size_t round = 0; round < 400; round++) {
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        onx_model *model = test_parse(ctx, fat[round % ONX_COUNT(fat)]);
        onx_session *s = NULL;
        onx_session_options options = ONX_INIT(onx_session_options);
        options.memory_limit = 1000 + test_random_below(&random, (size_t)1000 << round % 10);
        options.threads = 1 + round % 2;
        size_t before = heap.bytes;
        heap.peak = before;
        onx_status status = onx_session_new(model, &options, &s, NULL);
        CHECK(status == ONX_OK || status == ONX_NO_MEMORY);
        status ? refused++ : made++;
        for (size_t run = 0; run < 6 && s; run++) {
            size_t n = run % 2 ? test_random_below(&random, MOST - 200) + 200 : 200;
            onx_arg in[2] = {test_floats(n, x), test_floats(n, x)}, out = {0};
            status = onx_session_run(s, 2, in, 1, &out, NULL, NULL);
            CHECK(status == ONX_OK || status == ONX_NO_MEMORY);
            status ? failed++ : ran++;
            onx_arg_clear(&out);
        }
        if (!CHECK(heap.peak - before <= options.memory_limit))
            fprintf(stderr, "    model %zu: %zu bytes, cap %zu\n", round % ONX_COUNT(fat),
                    heap.peak - before, options.memory_limit);
        onx_session_free(s);
        onx_model_free(model);
        onx_context_free(ctx);
        CHECK_EQ(heap.bytes, 0);
    }
    CHECK(made > 50 && refused > 50 && ran > 50 && failed > 50);
}

TEST(usable_after_the_cap) {
    static float x[1 << 18], y[1 << 18];
    onx_model *model = test_parse(NULL, fat[0]);
    onx_session *s = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session_options options = ONX_INIT(onx_session_options);
    options.memory_limit = 1 << 19;
    options.level = ONX_LEVEL_NONE;
    CHECK_EQ(onx_session_new(model, &options, &s, &diag), ONX_OK);
    REQUIRE(s);
    for (int round = 0; round < 3; round++) {
        onx_arg few[2] = {test_floats(100, x), test_floats(100, x)},
                out = {.data = y, .bytes = sizeof y};
        onx_arg many[2] = {test_floats(1 << 18, x), test_floats(1 << 18, x)};
        CHECK_EQ(onx_session_run(s, 2, few, 1, &out, NULL, &diag), ONX_OK);
        CHECK_EQ(onx_session_run(s, 2, many, 1, &out, NULL, &diag), ONX_NO_MEMORY);
        onx_arg mine = {0};
        CHECK_EQ(onx_session_run(s, 2, few, 1, &mine, NULL, &diag), ONX_OK);
        onx_arg_clear(&mine);
    }
    onx_session_free(s);
    onx_model_free(model);
}

/* ── Initializers of the caller ──────────────────────────────────────────────────────────────── */

TEST(initializers) {
    static const char text[] =
        HEADER "g (float[2] x, float[2] z) => (float[2] y) <float[2] w = {1, 2}> {\n"
               "  a = Mul(x, w)\n  b = Add(a, z)\n  y = Add(b, free)\n}\n";
    const int64_t two = 2;
    float ten[2] = {10, 20};
    onx_model *model = test_parse(NULL, text);
    onx_tensor *w = NULL, *z = NULL, *open = NULL, *a = NULL;
    REQUIRE(model);
    CHECK_EQ(onx_tensor_new(NULL, "w", 1, 1, &two, ten, 8, &w, NULL), ONX_OK);
    CHECK_EQ(onx_tensor_new(NULL, "z", 1, 1, &two, ten, 8, &z, NULL), ONX_OK);
    CHECK_EQ(onx_tensor_new(NULL, "free", 1, 1, &two, ten, 8, &open, NULL), ONX_OK);
    CHECK_EQ(onx_tensor_new(NULL, "a", 1, 1, &two, ten, 8, &a, NULL), ONX_OK);
    onx_session *s = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session_options options = ONX_INIT(onx_session_options);
    CHECK_EQ(onx_session_new(model, &options, &s, &diag), ONX_INVALID); /* `free` is not defined */
    const onx_tensor *all[3] = {w, z, open};
    options.n_initializers = 3;
    options.initializers = all;
    CHECK_EQ(onx_session_new(model, &options, &s, &diag), ONX_OK);
    REQUIRE(s);
    CHECK_EQ(onx_session_input_count(s), 1);
    float x[2] = {1, 2};
    onx_arg in = test_floats(2, x), out[2] = {{0}, {.name = "w"}};
    CHECK_EQ(onx_session_run(s, 1, &in, 2, out, NULL, &diag), ONX_OK);
    CHECK(out[0].data && ((float *)out[0].data)[1] == 2 * 20 + 20 + 20);
    CHECK(out[1].data && ((float *)out[1].data)[1] == 20);
    for (int i = 0; i < 2; i++) onx_arg_clear(&out[i]);
    onx_session_free(s);
    s = NULL;
    all[1] = a; /* a node computes it */
    CHECK_EQ(onx_session_new(model, &options, &s, &diag), ONX_NOT_FOUND);
    CHECK(says(&diag, "'a'"));
    onx_model_free(model);
    onx_tensor_free(w);
    onx_tensor_free(z);
    onx_tensor_free(open);
    onx_tensor_free(a);
}

/* An initializer whose file is not there: without it nothing, with it everything. */
TEST(missing_data) {
    onx_model *model = onx_model_new(NULL, "m", 18), *loaded = NULL;
    onx_graph *g = onx_model_graph(model);
    int64_t n = 4000;
    static float data[4000], x[4000];
    data[3999] = 7;
    onx_value *X = onx_graph_add_input(g, "x", "float[4000]");
    onx_value *W = onx_graph_add_initializer(g, "w", ONX_DTYPE_F32, 1, &n, data, sizeof data);
    onx_graph_add_output(g, onx_graph_add_op(g, "Add", "y", X, W), "float[4000]");
    char folder[256];
    test_folder_new(folder);
    onx_save_options save = ONX_INIT(onx_save_options);
    save.external = ONX_EXTERNAL_ONE;
    CHECK_EQ(onx_model_save(model, test_path(folder, "m.onnx"), &save, NULL), ONX_OK);
    CHECK_EQ(remove(test_path(folder, "m.onnx.data")), 0);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_load_options load = ONX_INIT(onx_load_options);
    load.no_external = true;
    CHECK_EQ(onx_model_load(NULL, test_path(folder, "m.onnx"), &load, &loaded, &diag), ONX_OK);
    onx_session *s = NULL;
    onx_session_options options = ONX_INIT(onx_session_options);
    CHECK(onx_session_new(loaded, &options, &s, &diag) != ONX_OK);
    CHECK(says(&diag, "external"));
    onx_tensor *w = NULL;
    CHECK_EQ(onx_tensor_new(NULL, "w", 1, 1, &n, data, sizeof data, &w, NULL), ONX_OK);
    options.n_initializers = 1;
    options.initializers = (const onx_tensor *[]){w};
    CHECK_EQ(onx_session_new(loaded, &options, &s, &diag), ONX_OK);
    onx_arg in = test_floats(4000, x), out = {0};
    if (s) CHECK_EQ(onx_session_run(s, 1, &in, 1, &out, NULL, &diag), ONX_OK);
    CHECK(out.data && ((float *)out.data)[3999] == 7);
    onx_arg_clear(&out);
    onx_session_free(s);
    onx_tensor_free(w);
    onx_model_free(loaded);
    onx_model_free(model);
    test_folder_remove(folder);
}

/* ── Wrong arguments ─────────────────────────────────────────────────────────────────────────── */

TEST(wrong_inputs) {
    static const char text[] =
        HEADER "g (float[2,N] image, int64[M] mask, seq(float[]) rest) => (float[2,N] y) {\n"
               "  k = SequenceLength(rest)\n  m = Cast<to = 1>(k)\n  y = Add(image, m)\n}\n";
    static const struct {
        const char *name;
        int dtype;
        size_t rank;
        int64_t dims[2];
        size_t bytes;
        onx_status status;
        const char *words;
    } cases[] = {
        {"image", 1, 2, {2, 3}, 24, ONX_USAGE, "input 'mask' (int64[M]) was not given"},
        {"imgae", 1, 2, {2, 3}, 24, ONX_NOT_FOUND, "no input 'imgae'"},
        {"imgae", 1, 2, {2, 3}, 24, ONX_NOT_FOUND, "did you mean 'image'?"},
        {"xyzzyx", 1, 2, {2, 3}, 24, ONX_NOT_FOUND, "it has the inputs 'image', 'mask', 'rest'"},
        {"image", 1, 2, {3, 3}, 36, ONX_INVALID, "is float[2,N], but what was given is float[3,3]"},
        {"image", 1, 1, {6}, 24, ONX_INVALID, "is float[2,N], but what was given is float[6]"},
        {"image", 1, 0, {0}, 4, ONX_INVALID, "but what was given is float"},
        {"image", 7, 2, {2, 3}, 48, ONX_INVALID, "but what was given is int64[2,3]"},
        {"image", 1, 2, {2, 3}, 20, ONX_USAGE, "float[2,3] and needs 24 bytes, but has 20"},
        {"image", 1, 2, {2, -3}, 24, ONX_USAGE, "given as float[2,-3], which cannot be"},
        {"image", 1, 2, {INT64_MAX, 3}, 24, ONX_USAGE, "which cannot be"},
        {"image", 0, 2, {2, 3}, 24, ONX_USAGE, "which cannot be"},
        {"image", 99, 2, {2, 3}, 24, ONX_USAGE, "which cannot be"},
        {"image", 8, 2, {2, 3}, 24, ONX_USAGE, "of strings: give it as `value`"},
        {"image", 1, 17, {2, 3}, 24, ONX_USAGE, "17 dimensions; 16 are possible"},
        {"rest", 1, 2, {2, 3}, 24, ONX_INVALID, "seq(float[]), but what was given is float[2,3]"},
    };
    onx_model *model = test_parse(NULL, text);
    onx_session *s = NULL;
    REQUIRE(model);
    CHECK_EQ(onx_session_new(model, NULL, &s, NULL), ONX_OK);
    REQUIRE(s);
    char memory[64] = {0};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        onx_diag diag = ONX_INIT(onx_diag);
        onx_arg out = {0}, in = {.name = cases[i].name,
                                 .dtype = (onx_dtype)cases[i].dtype,
                                 .rank = cases[i].rank,
                                 .dims = {cases[i].dims[0], cases[i].dims[1]},
                                 .data = memory,
                                 .bytes = cases[i].bytes};
        CHECK_EQ(onx_session_run(s, 1, &in, 1, &out, NULL, &diag), cases[i].status);
        CHECK(says(&diag, cases[i].words));
    }
    onx_diag diag = ONX_INIT(onx_diag);
    onx_arg good = {
        .name = "image", .dtype = 1, .rank = 2, .dims = {2, 3}, .data = memory, .bytes = 24};
    onx_arg twice[2] = {good, good}, four[4] = {good, good, good, good}, out = {0};
    CHECK_EQ(onx_session_run(s, 2, twice, 1, &out, NULL, &diag), ONX_USAGE);
    CHECK(says(&diag, "'image' was given twice"));
    onx_data *sequence = NULL;
    CHECK_EQ(onx_sequence_new(NULL, &sequence, NULL), ONX_OK);
    four[1] = (onx_arg){.name = "mask", .dtype = 7, .rank = 1, .dims = {0}};
    four[2] = (onx_arg){.name = "rest", .value = sequence};
    four[3].name = NULL;
    CHECK_EQ(onx_session_run(s, 4, four, 1, &out, NULL, &diag), ONX_USAGE);
    CHECK(says(&diag, "the model has 3 inputs, but 4 were given"));
    twice[1] = (onx_arg){.name = "mask", .value = sequence};
    CHECK_EQ(onx_session_run(s, 2, twice, 1, &out, NULL, &diag), ONX_INVALID);
    CHECK(says(&diag, "is int64[M], but what was given is sequence"));
    CHECK_EQ(onx_session_run(s, 3, four, 1, &out, NULL, &diag), ONX_OK); /* as it should be */
    onx_arg_clear(&out);
    /* and outputs */
    onx_arg outs[2] = {{0}, {0}}, small = {.data = memory, .bytes = 4}, typo = {.name = "yy"};
    CHECK_EQ(onx_session_run(s, 3, four, 2, outs, NULL, &diag), ONX_USAGE);
    CHECK(says(&diag, "the model has 1 output, but there are 2 arguments"));
    CHECK_EQ(onx_session_run(s, 3, four, 1, &small, NULL, &diag), ONX_USAGE);
    CHECK(says(&diag, "output 'y' needs 24 bytes, but has room for 4"));
    CHECK_EQ(onx_session_run(s, 3, four, 1, &typo, NULL, &diag), ONX_NOT_FOUND);
    CHECK(says(&diag, "did you mean 'y'?"));
    onx_data_free(sequence);
    onx_session_free(s);
    /* Sizes that options fix are part of what is expected. */
    s = NULL;
    onx_session_options options = ONX_INIT(onx_session_options);
    options.n_sizes = 1;
    options.sizes = &(onx_size){"N", 5};
    CHECK_EQ(onx_session_new(model, &options, &s, NULL), ONX_OK);
    if (s) CHECK_EQ(onx_session_run(s, 1, &good, 1, &out, NULL, &diag), ONX_INVALID);
    CHECK(says(&diag, "is float[2,5], but what was given is float[2,3]"));
    onx_session_free(s);
    onx_model_free(model);
}

/* Values by name that no node needs, too. */
TEST(unused_values) {
    onx_model *model = test_parse(NULL, HEADER "g (float[1] x, float[1] u) => (float[1] y)\n"
                                               "<float[1] w = {4}, float[1] v = {5}> {\n"
                                               "  y = Add(x, v)\n  d = Neg(x)\n}\n");
    onx_session *s = NULL;
    REQUIRE(model);
    CHECK_EQ(onx_session_new(model, NULL, &s, NULL), ONX_OK);
    REQUIRE(s);
    float x = 1, u = 2;
    onx_arg in[2] = {test_floats(1, &x), test_floats(1, &u)};
    onx_arg out[4] = {{.name = "w"}, {.name = "v"}, {.name = "u"}, {.name = "d"}};
    CHECK_EQ(onx_session_run(s, 2, in, 4, out, NULL, NULL), ONX_OK);
    const float wanted[4] = {4, 5, 2, -1};
    for (int i = 0; i < 4; i++) {
        CHECK(out[i].data && *(float *)out[i].data == wanted[i]);
        onx_arg_clear(&out[i]);
    }
    onx_session_free(s);
    onx_model_free(model);
}

/* ── Profiles ────────────────────────────────────────────────────────────────────────────────── */

TEST(own_time) {
    onx_model *model = test_parse(
        NULL, HEADER "g (int64 n, float[N] x) => (float[N] y) {\n"
                     "  t = Constant<value = bool {1}>()\n"
                     "  z = Loop(n, t, x) <body = b (int64 i, bool c, float[N] u) => (bool d, "
                     "float[N] w) { d = Identity(c) w = Cos(u) }>\n"
                     "  y = Sin(z)\n}\n");
    onx_session *session = NULL;
    onx_profile *profile = NULL;
    int64_t times = 3, within = 0, loops = 0;
    onx_arg in[] = {{.dtype = ONX_DTYPE_I64, .data = &times, .bytes = 8},
                    test_floats(2, (float[]){1, 2})};
    REQUIRE(model && onx_session_new(model, NULL, &session, NULL) == ONX_OK);
    REQUIRE(onx_profile_new(NULL, &profile) == ONX_OK);
    onx_run_options how = ONX_INIT(onx_run_options);
    how.profile = profile;
    for (size_t run = 0; run < 2; run++) {
        onx_arg out = {0};
        CHECK_EQ(onx_session_run(session, 2, in, 1, &out, &how, NULL), ONX_OK);
        onx_arg_clear(&out);
    }
    for (size_t i = 0; i < onx_profile_count(profile); i++) {
        const onx_profile_event *event = onx_profile_event_at(profile, i);
        bool is_loop = strcmp(event->op, "Loop") == 0;
        loops += is_loop;
        if (is_loop) CHECK_EQ(event->own_ns, event->ns - within);
        if (!is_loop) CHECK_EQ(event->own_ns, event->ns);
        within = event->depth ? within + event->ns : 0;
        CHECK(event->own_ns >= 0 && (!event->depth || within > 0));
    }
    CHECK_EQ(loops, 2);
    onx_profile_free(profile);
    onx_session_free(session);
    onx_model_free(model);
}

TEST_MAIN(E(providers) E(log) E(never_above_the_cap) E(usable_after_the_cap) E(initializers)
              E(missing_data) E(wrong_inputs) E(unused_values) E(own_time))
