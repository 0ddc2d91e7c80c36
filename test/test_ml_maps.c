/* test_ml_maps.c: maps and sequences of maps through sessions: ZipMap, CastMap, DictVectorizer, and
 * every failure of the allocator on the way. */
#include "support.h"
#include "test.h"

#include "onx.h"

#define HEADER "<ir_version: 10, opset_import: [\"\" : 17, \"ai.onnx.ml\" : 1]>\n"

static onx_status open_session(onx_context *ctx, const char *text, onx_session **out,
                               onx_diag *diag) {
    onx_model *model = NULL;
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_TEXT;
    options.copy = true;
    onx_status status = onx_model_load_memory(ctx, text, strlen(text), &options, &model, diag);
    if (status == ONX_OK) status = onx_session_new(model, NULL, out, diag);
    onx_model_free(model);
    return status;
}

/* One input, one output. */
static onx_status run_once(onx_context *ctx, const char *text, const onx_arg *in, onx_arg *out,
                           onx_diag *diag) {
    onx_session *session = NULL;
    onx_status status = open_session(ctx, text, &session, diag);
    if (status == ONX_OK) status = onx_session_run(session, 1, in, 1, out, NULL, diag);
    onx_session_free(session);
    return status;
}

/* ─ Maps to give ─────────────────────────────────────────────────────────────────────────────── */

typedef struct given {
    onx_dtype key, value;
    size_t n, rank; /* rank of each value */
    int64_t numbers[4];
    const char *names[4];
    float floats[4];
    double doubles[4];
    int64_t integers[4];
    const char *texts[4];
} given;

static onx_tensor *value_tensor(const given *g, size_t i) {
    onx_tensor *t = NULL;
    int64_t one = 1;
    const void *data = g->value == ONX_DTYPE_F32   ? (const void *)&g->floats[i]
                       : g->value == ONX_DTYPE_F64 ? (const void *)&g->doubles[i]
                                                   : (const void *)&g->integers[i];
    onx_status status =
        g->value == ONX_DTYPE_STRING
            ? onx_tensor_new_strings(NULL, "", g->rank, &one, &g->texts[i], &t, NULL)
            : onx_tensor_new(NULL, "", g->value, g->rank, &one, data,
                             g->value == ONX_DTYPE_F32 ? 4 : 8, &t, NULL);
    if (status != ONX_OK) abort();
    return t;
}

static onx_data *make_map(const given *g) {
    onx_tensor *keys = NULL;
    onx_data *values = NULL, *map = NULL;
    int64_t n = (int64_t)g->n;
    bool ok = (g->key == ONX_DTYPE_STRING
                   ? onx_tensor_new_strings(NULL, "", 1, &n, g->names, &keys, NULL)
                   : onx_tensor_new(NULL, "", g->key, 1, &n, g->numbers, g->n * 8, &keys, NULL)) ==
              ONX_OK;
    ok = ok && onx_sequence_new(NULL, &values, NULL) == ONX_OK;
    for (size_t i = 0; ok && i < g->n; i++) {
        onx_tensor *t = value_tensor(g, i);
        ok = onx_sequence_append(values, NULL, t, NULL) == ONX_OK;
        onx_data_free(onx_tensor_data(t));
    }
    ok = ok && onx_map_new(NULL, keys, values, &map, NULL) == ONX_OK;
    if (!ok) abort();
    onx_data_free(onx_tensor_data(keys));
    onx_data_free(values);
    return map;
}

/* ─ Results ──────────────────────────────────────────────────────────────────────────────────── */

static bool numbers_are(const onx_arg *out, onx_dtype dtype, size_t n, const double *want) {
    double got[8];
    if (out->dtype != dtype || out->rank != 2 || out->dims[0] != 1 || out->dims[1] != (int64_t)n ||
        onx_dtype_convert(dtype, out->data, ONX_DTYPE_F64, got, n, false) != ONX_OK)
        return false;
    return memcmp(got, want, n * sizeof *want) == 0;
}

static bool strings_are(const onx_arg *out, size_t n, const char *const *want) {
    const onx_tensor *t = out->value ? onx_data_tensor(out->value) : NULL;
    if (!t || onx_tensor_rank(t) != 2 || onx_tensor_dim(t, 0) != 1 ||
        onx_tensor_dim(t, 1) != (int64_t)n)
        return false;
    for (size_t i = 0; i < n; i++) {
        onx_str s;
        if (onx_tensor_string_at(t, i, &s, NULL) != ONX_OK || s.size != strlen(want[i]) ||
            memcmp(s.data, want[i], s.size) != 0)
            return false;
    }
    return true;
}

static const given prices = {.key = ONX_DTYPE_I64,
                             .value = ONX_DTYPE_F32,
                             .n = 3,
                             .numbers = {5, 1, 3},
                             .floats = {1.5f, 2.5f, 1e10f}};
static const given spelled = {.key = ONX_DTYPE_I64,
                              .value = ONX_DTYPE_STRING,
                              .n = 3,
                              .numbers = {5, 1, 3},
                              .texts = {"1.5", "-2.5", "7"}};
static const given named = {.key = ONX_DTYPE_STRING,
                            .value = ONX_DTYPE_F64,
                            .n = 3,
                            .names = {"a", "z", "not there"},
                            .doubles = {0.1, 3, 4}};
static const given counted = {.key = ONX_DTYPE_STRING,
                              .value = ONX_DTYPE_I64,
                              .n = 1,
                              .names = {"q"},
                              .integers = {9007199254740993}};
static const given listed = {.key = ONX_DTYPE_I64,
                             .value = ONX_DTYPE_F32,
                             .n = 2,
                             .rank = 1,
                             .numbers = {7, 2},
                             .floats = {4, 8}};
static const given nothing = {.key = ONX_DTYPE_I64, .value = ONX_DTYPE_F32};
static const given twice = {
    .key = ONX_DTYPE_I64, .value = ONX_DTYPE_F32, .n = 2, .numbers = {2, 2}, .floats = {4, 8}};
static const given below = {
    .key = ONX_DTYPE_I64, .value = ONX_DTYPE_F32, .n = 1, .numbers = {-1}, .floats = {4}};
static const given words = {
    .key = ONX_DTYPE_I64, .value = ONX_DTYPE_STRING, .n = 1, .texts = {"seven"}};

#define CAST(type, options)                                                                        \
    HEADER "g (map(int64, " type ") x) => (y) { y = ai.onnx.ml.CastMap<" options ">(x) }"
#define VECTOR(key, type, options)                                                                 \
    HEADER "g (map(" key ", " type ") x) => (y) { y = ai.onnx.ml.DictVectorizer<" options ">(x) }"

static const struct {
    const char *text;
    const given *map;
    onx_dtype dtype;
    size_t n;
    double numbers[6];
    const char *strings[6];
} examples[] = {
    {CAST("float", "max_map=1"), &prices, ONX_DTYPE_F32, 3, {2.5, 1e10, 1.5}, {0}},
    {CAST("float", "map_form=\"SPARSE\",max_map=6"),
     &prices,
     ONX_DTYPE_F32,
     6,
     {0, 2.5, 0, 1e10, 0, 1.5},
     {0}},
    {CAST("float", "cast_to=\"TO_INT64\""), &prices, ONX_DTYPE_I64, 3, {2, 1e10, 1}, {0}},
    {CAST("float", "cast_to=\"TO_STRING\",map_form=\"SPARSE\",max_map=6"),
     &prices,
     ONX_DTYPE_STRING,
     6,
     {0},
     {"0.f", "2.500000", "0.f", "10000000000.000000", "0.f", "1.500000"}},
    {CAST("string", "max_map=1"), &spelled, ONX_DTYPE_F32, 3, {-2.5, 7, 1.5}, {0}},
    {CAST("string", "cast_to=\"TO_INT64\""), &spelled, ONX_DTYPE_I64, 3, {-2, 7, 1}, {0}},
    {CAST("string", "cast_to=\"TO_STRING\""),
     &spelled,
     ONX_DTYPE_STRING,
     3,
     {0},
     {"-2.5", "7", "1.5"}},
    {CAST("float", "max_map=1"), &listed, ONX_DTYPE_F32, 2, {8, 4}, {0}},
    {CAST("float", "max_map=1"), &nothing, ONX_DTYPE_F32, 0, {0}, {0}},
    {VECTOR("string", "double", "string_vocabulary=[\"z\",\"q\",\"a\"]"),
     &named,
     ONX_DTYPE_F64,
     3,
     {3, 0, 0.1},
     {0}},
    {VECTOR("string", "int64", "string_vocabulary=[\"z\",\"q\"]"),
     &counted,
     ONX_DTYPE_I64,
     2,
     {0, 9007199254740992},
     {0}},
    {VECTOR("int64", "float", "int64_vocabulary=[2,7]"), &listed, ONX_DTYPE_F32, 2, {8, 4}, {0}},
    {VECTOR("int64", "string", "int64_vocabulary=[9,5,3]"),
     &spelled,
     ONX_DTYPE_STRING,
     3,
     {0},
     {"", "1.5", "7"}},
    {VECTOR("int64", "float", "int64_vocabulary=[9,5]"), &nothing, ONX_DTYPE_F32, 2, {0}, {0}},
};

TEST(maps_in) {
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        onx_data *map = make_map(examples[i].map);
        onx_diag diag = ONX_INIT(onx_diag);
        onx_arg in = {.value = map}, out = {0};
        onx_status status = run_once(NULL, examples[i].text, &in, &out, &diag);
        bool strings = examples[i].dtype == ONX_DTYPE_STRING;
        if (!CHECK(status == ONX_OK) ||
            !CHECK(strings
                       ? strings_are(&out, examples[i].n, examples[i].strings)
                       : numbers_are(&out, examples[i].dtype, examples[i].n, examples[i].numbers)))
            fprintf(stderr, "    case %zu: %s\n", i, diag.message);
        onx_arg_clear(&out);
        onx_data_free(map);
    }
}

static const struct {
    const char *text;
    const given *map;
    const char *words;
} refusals[] = {
    {CAST("float", "map_form=\"SPARSE\",max_map=5"), &prices, "key 5"},
    {CAST("float", "map_form=\"SPARSE\",max_map=5"), &below, "key -1"},
    {CAST("float", "map_form=\"SPARSE\",max_map=0"), &prices, "max_map"},
    {CAST("float", "map_form=\"DIAGONAL\""), &prices, "DIAGONAL"},
    {CAST("float", "max_map=1"), &twice, "twice"},
    {CAST("float", "max_map=1"), &counted, "input 'x'"},
    {CAST("string", "max_map=1"), &words, "'seven'"},
    {VECTOR("int64", "float", "string_vocabulary=[\"a\"]"), &prices, "keys"},
    {HEADER "g (map(int64, float) x) => (y) { y = ai.onnx.ml.DictVectorizer(x) }", &prices,
     "vocabulary"},
};

TEST(refusals) {
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        onx_data *map = make_map(refusals[i].map);
        onx_diag diag = ONX_INIT(onx_diag);
        onx_arg in = {.value = map}, out = {0};
        onx_status status = run_once(NULL, refusals[i].text, &in, &out, &diag);
        if (!CHECK(status != ONX_OK && strstr(diag.message, refusals[i].words)))
            fprintf(stderr, "    case %zu: %s\n", i, diag.message);
        onx_arg_clear(&out);
        onx_data_free(map);
    }
}

/* ─ Maps that come out ───────────────────────────────────────────────────────────────────────── */

static const char zip[] = HEADER "g (float[N,2] x) => (y) {\n"
                                 "  y = ai.onnx.ml.ZipMap<classlabels_strings=[\"b\",\"a\"]>(x) }";
static const char zip_numbers[] = HEADER "g (float[N,2] x) => (seq(map(int64, float)) y) {\n"
                                         "  y = ai.onnx.ml.ZipMap<classlabels_int64s=[5,-4]>(x) }";
static float table[4] = {1, 2, 3, 4};

static onx_arg rows_of(int64_t n) {
    return (onx_arg){
        .dtype = ONX_DTYPE_F32, .rank = 2, .dims = {n, 2}, .data = table, .bytes = (size_t)n * 8};
}

static float value_of(const onx_data *map, size_t i) {
    float f = 0;
    const onx_tensor *t = onx_data_tensor(onx_data_at(map, i));
    CHECK(t && onx_tensor_rank(t) == 0 && onx_tensor_read(t, &f, sizeof f, NULL) == ONX_OK);
    return f;
}

static void check_zip(const onx_arg *out, bool named_) {
    REQUIRE(out->value && onx_data_kind_of(out->value) == ONX_DATA_SEQUENCE);
    REQUIRE(onx_data_count(out->value) == 2);
    for (size_t i = 0; i < 2; i++) {
        const onx_data *map = onx_data_at(out->value, i);
        REQUIRE(onx_data_kind_of(map) == ONX_DATA_MAP && onx_data_count(map) == 2);
        CHECK(onx_data_key_dtype(map) == (named_ ? ONX_DTYPE_STRING : ONX_DTYPE_I64));
        CHECK(named_ ? onx_data_key_str(map, 0).data[0] == 'b' : onx_data_key_int(map, 1) == -4);
        CHECK(value_of(map, 0) == table[2 * i] && value_of(map, 1) == table[2 * i + 1]);
    }
}

TEST(maps_out) {
    onx_diag diag = ONX_INIT(onx_diag);
    for (int n = 0; n < 2; n++) {
        onx_arg in = rows_of(2), out = {0};
        if (!CHECK(run_once(NULL, n ? zip_numbers : zip, &in, &out, &diag) == ONX_OK))
            fprintf(stderr, "    %s\n", diag.message);
        check_zip(&out, !n);
        onx_arg_clear(&out);
    }
    onx_arg in = rows_of(0), out = {0};
    CHECK(run_once(NULL, zip, &in, &out, NULL) == ONX_OK);
    CHECK(out.value && onx_data_count(out.value) == 0);
    onx_arg_clear(&out);
}

/* What comes out is written to a file, read again, and goes into Identity and SequenceAt. */
TEST(files_and_sequences) {
    static const char pick[] =
        HEADER "g (seq(map(string, float)) x) => (y) <int64 i = {1}>\n"
               "{ m = SequenceAt(x, i)\n"
               "  y = ai.onnx.ml.DictVectorizer<string_vocabulary=[\"a\",\"b\"]>(m) }";
    onx_diag diag = ONX_INIT(onx_diag);
    onx_arg in = rows_of(2), zipped = {0}, again = {0}, out = {0};
    onx_data *data = NULL, *read = NULL;
    void *bytes = NULL;
    size_t size = 0;
    REQUIRE(run_once(NULL, zip, &in, &zipped, &diag) == ONX_OK);
    CHECK(onx_arg_to_data(NULL, &zipped, &data, NULL) == ONX_OK);
    CHECK(onx_data_save_memory(data, &bytes, &size, NULL) == ONX_OK);
    CHECK(onx_data_load_memory(NULL, bytes, size, ONX_DATA_NONE, &read, NULL) == ONX_OK);
    CHECK(read && onx_data_equal(data, read, NULL));
    CHECK(onx_arg_from_data(read, &again, NULL) == ONX_OK);
    if (!CHECK(run_once(NULL, pick, &again, &out, &diag) == ONX_OK))
        fprintf(stderr, "    %s\n", diag.message);
    else
        CHECK(numbers_are(&out, ONX_DTYPE_F32, 2, (double[]){4, 3}));
    onx_buffer_free(NULL, bytes, size);
    onx_arg_clear(&zipped);
    onx_arg_clear(&again);
    onx_arg_clear(&out);
    onx_data_free(data);
    onx_data_free(read);
}

/* ─ Memory that runs out ─────────────────────────────────────────────────────────────────────── */

static size_t fail_each(const char *text, const onx_arg *in) {
    size_t at = 1;
    for (;; at++) {
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        onx_arg out = {0};
        heap.fail_at = heap.calls + at;
        heap.fail_count = 1;
        onx_status status = run_once(ctx, text, in, &out, NULL);
        onx_arg_clear(&out);
        onx_context_free(ctx);
        if (!CHECK(status == ONX_OK || (heap.failed && status == ONX_NO_MEMORY))) break;
        CHECK_EQ(heap.blocks, 0);
        if (!heap.failed) break;
    }
    return at;
}

TEST(failing_memory) {
    onx_arg in = rows_of(2);
    CHECK(fail_each(zip, &in) > 10);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        onx_data *map = make_map(examples[i].map);
        CHECK(fail_each(examples[i].text, &(onx_arg){.value = map}) > 10);
        onx_data_free(map);
    }
}

TEST_MAIN(E(maps_in) E(refusals) E(maps_out) E(files_and_sequences) E(failing_memory))
