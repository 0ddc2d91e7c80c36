/* test_convert.c: models for other versions of their opsets.
 *
 *   cases     test/convert/<name>.txt: models before and after, or what is in the way; each also
 *             with every allocation failing in turn
 *   table     every boundary between versions of an operator has a step; what has no way down is
 *             named
 *   sweeps    the backend tests up and down, results compared; the zoo to the newest and back
 * What makes no sense goes through the converter in test_every_op.c and test_hostile_models.c. */
#include "test.h"

#include "case_file.h"
#include "pass/convert/step.h"
#include "support.h"
#include "zoo.h"

#include <dirent.h>
#include <math.h>

/* ─ Cases ────────────────────────────────────────────────────────────────────────────────────── */

enum { MAX_TARGETS = 4 };

typedef struct convert_case {
    const char *name, *before, *after;
    onx_opset_target targets[MAX_TARGETS];
    size_t n_targets;
} convert_case;

/* What is in the way, a line each, as the cases have it. */
static void note(void *user, const onx_diag *diag) {
    test_bytes *out = user;
    test_put(out, "refused: ", 9);
    test_put(out, diag->place, strlen(diag->place));
    test_put(out, ": ", 2);
    test_put(out, diag->message, strlen(diag->message));
    test_put_byte(out, '\n');
}

static onx_status convert(const convert_case *c, const onx_model *model, onx_model **out,
                          test_bytes *refused, onx_diag *diag) {
    onx_convert_options options = ONX_INIT(onx_convert_options);
    options.n_targets = c->n_targets;
    options.targets = c->targets;
    options.report = refused ? note : NULL;
    options.user = refused;
    return onx_model_convert(model, &options, out, diag);
}

static bool fail(const convert_case *c, const char *what, const onx_diag *diag) {
    fprintf(stderr, "case '%s': %s: %s %s\n", c->name, what, diag->place, diag->message);
    return false;
}

static bool same_text(const convert_case *c, const char *want, const char *got) {
    if (want && got && strcmp(want, got) == 0) return true;
    fprintf(stderr, "case '%s': wanted\n%s\ngot\n%s\n", c->name, want ? want : "", got ? got : "");
    return false;
}

/* The model that went in stays as it was. */
static bool check_case(const convert_case *c) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model, *copy = NULL, *wanted = NULL, *got = NULL;
    test_bytes refused = {0};
    if (case_parse(NULL, c->before, &model, &diag)) return fail(c, "before", &diag);
    bool ok = !onx_model_clone(model, &copy, &diag), can = strncmp(c->after, "refused:", 8) != 0;
    onx_status status = convert(c, model, &got, &refused, &diag);
    test_put_byte(&refused, 0);
    ok = ok && onx_model_equal(model, copy, NULL);
    if (!can) {
        ok = ok && status == ONX_UNSUPPORTED && same_text(c, c->after, refused.data);
    } else if (status || case_parse(NULL, c->after, &wanted, &diag)) {
        ok = fail(c, status ? "converting" : "after", &diag);
    } else {
        ok = ok && (!onx_model_verify(got, &diag) || fail(c, "links", &diag)) && test_links(got);
        char *a = case_text(wanted, &diag), *b = case_text(got, &diag);
        ok = same_text(c, a, b) && ok;
        free(a);
        free(b);
    }
    test_bytes_free(&refused);
    onx_model_free(model);
    onx_model_free(copy);
    onx_model_free(wanted);
    onx_model_free(got);
    return ok;
}

/* One allocation fails: so does the conversion, and nothing is lost. */
static bool survives(const convert_case *c, size_t fail_at, bool *more) {
    test_heap heap = {0};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_context *ctx = test_context(&heap, NULL);
    onx_model *model = NULL, *got = NULL;
    if (case_parse(ctx, c->before, &model, &diag)) return fail(c, "before", &diag);
    heap.fail_at = heap.calls + fail_at;
    heap.fail_count = 1;
    onx_status status = convert(c, model, &got, NULL, &diag);
    *more = heap.failed > 0;
    onx_model_free(model);
    onx_model_free(got);
    onx_context_free(ctx);
    if (status && status != ONX_NO_MEMORY && status != ONX_UNSUPPORTED)
        return fail(c, "without memory", &diag);
    if (heap.bytes == 0) return true;
    fprintf(stderr, "case '%s': %zu bytes lost when allocation %zu fails\n", c->name, heap.bytes,
            fail_at);
    return false;
}

static bool run_case(const convert_case *c) {
    bool ok = check_case(c), more = true;
    for (size_t i = 1; ok && more; i++) ok = survives(c, i, &more);
    return ok;
}

/* "opset: 13 ai.onnx.ml=2" */
static void read_targets(char *p, convert_case *c) {
    for (p = strtok(p, " "); p && c->n_targets < MAX_TARGETS; p = strtok(NULL, " ")) {
        char *equals = strrchr(p, '=');
        if (equals) *equals = '\0';
        c->targets[c->n_targets++] =
            (onx_opset_target){equals ? p : "", atoi(equals ? equals + 1 : p)};
    }
}

static void read_case(char *p, convert_case *c) {
    *c = (convert_case){.name = case_line(&p), .after = ""};
    char *targets = case_line(&p), *after = case_cut(p, "-----\n");
    if (strncmp(targets, "opset: ", 7) == 0) read_targets(targets + 7, c);
    c->before = p;
    if (after) c->after = after;
}

static void check_file(const char *file, size_t least) {
    char path[256];
    case_file cases;
    size_t count = 0, failed = 0;
    (void)snprintf(path, sizeof path, "convert/%s.txt", file);
    CHECK(case_file_open(&cases, path));
    for (char *text; (text = case_file_next(&cases)); count++) {
        convert_case c;
        read_case(text, &c);
        failed += !run_case(&c);
    }
    case_file_close(&cases);
    CHECK_EQ(failed, 0);
    CHECK(count >= least);
}

#define CASES(name, least)                                                                         \
    TEST(name) {                                                                                   \
        check_file(#name, least);                                                                  \
    }
CASES(old, 17)
CASES(move, 20)
CASES(axis, 8)
CASES(eltwise, 14)
CASES(norm, 8)
CASES(shape, 15)
CASES(resize, 7)
CASES(quant, 5)
CASES(rnn, 4)
CASES(first, 8)
CASES(below, 13)
CASES(whole, 8)
CASES(ml, 4)

/* ─ The table ────────────────────────────────────────────────────────────────────────────────── */

/* Operators that came after version 7 (of other domains: 1), are no functions, and that nothing
 * older can do in all cases. */
static const char *const no_way[] = {
    "BitCast",
    "BitShift",
    "Compress",
    "ConcatFromSequence",
    "ConvInteger",
    "CumProd",
    "DeformConv",
    "Det",
    "ImageDecoder",
    "MaxUnpool",
    "MelWeightMatrix",
    "NonMaxSuppression",
    "NonZero",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "QLinearConv",
    "QLinearMatMul",
    "RegexFullMatch",
    "ReverseSequence",
    "RoiAlign",
    "Scan",
    "Scatter",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SplitToSequence",
    "StringConcat",
    "StringNormalizer",
    "StringSplit",
    "TensorScatter",
    "TfIdfVectorizer",

    "Unique",
};

static bool is_listed(const char *name) {
    for (size_t i = 0; i < ONX_COUNT(no_way); i++)
        if (strcmp(no_way[i], name) == 0) return true;
    return false;
}

static bool has_step(const onx_op *op) {
    const onx_convert_step *step =
        onx_step_find(onx_str_of(op->domain ? op->domain : ""), onx_str_of(op->name), op->since);
    return step != NULL;
}

TEST(table) {
    size_t boundaries = 0;
    for (const onx_family *family = onx_op_table; family->name; family++) {
        for (const onx_op *op = family->ops; op->name; op++) {
            onx_str domain = onx_str_of(op->domain ? op->domain : "");
            const onx_op *older = onx_op_find(domain, onx_str_of(op->name), op->since - 1);
            const onx_convert_step *step = onx_step_find(domain, onx_str_of(op->name), op->since);
            boundaries += older != NULL;
            if (!CHECK(has_step(op))) fprintf(stderr, "    %s %d\n", op->name, (int)op->since);
            bool first = !older && op->since > (domain.size ? 1 : 7);
            bool way = !step || step->down || op->function || op->body;
            if (first && !way && !CHECK(is_listed(op->name)))
                fprintf(stderr, "    %s %d has no way down\n", op->name, (int)op->since);
            if (first && way && !CHECK(!is_listed(op->name)))
                fprintf(stderr, "    %s %d has a way down\n", op->name, (int)op->since);
        }
    }
    CHECK(boundaries >= 300);
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

enum { MAX_ARGS = 64 };

typedef struct sample { /* a backend test: its model and inputs */
    onx_model *model;
    size_t n_in, n_out;
    onx_data *data[MAX_ARGS];
    onx_arg in[MAX_ARGS], out[MAX_ARGS];
    bool ran;
} sample;

static bool run_model(const onx_model *model, const sample *s, onx_arg *out, onx_diag *diag) {
    onx_session *session;
    onx_session_options options = ONX_INIT(onx_session_options);
    options.threads = 1;
    options.level = ONX_LEVEL_NONE;
    if (s->n_out > MAX_ARGS || onx_session_new(model, &options, &session, diag)) return false;
    memset(out, 0, MAX_ARGS * sizeof *out);
    onx_status status = onx_session_run(session, s->n_in, s->in, s->n_out, out, NULL, diag);
    onx_session_free(session);
    return status == ONX_OK;
}

static onx_data_kind kind_of(const onx_type *type) {
    onx_type_kind kind = onx_type_kind_of(type);
    return kind == ONX_TYPE_SEQUENCE   ? ONX_DATA_SEQUENCE
           : kind == ONX_TYPE_OPTIONAL ? ONX_DATA_OPTIONAL
                                       : ONX_DATA_TENSOR;
}

static bool sample_load(const char *folder, sample *s) {
    char path[1200];
    onx_diag diag = ONX_INIT(onx_diag);
    *s = (sample){0};
    (void)snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (onx_model_load(NULL, path, NULL, &s->model, &diag)) return false;
    onx_graph *graph = onx_model_graph(s->model);
    s->n_out = onx_graph_output_count(graph);
    size_t n = onx_graph_input_count(graph);
    for (; s->n_in < MAX_ARGS && s->n_in < n; s->n_in++) {
        const onx_type *type = onx_value_type(onx_graph_input(graph, s->n_in));
        (void)snprintf(path, sizeof path, "%s/test_data_set_0/input_%zu.pb", folder, s->n_in);
        if (onx_data_load(NULL, path, kind_of(type), &s->data[s->n_in], NULL)) break;
        if (onx_arg_from_data(s->data[s->n_in], &s->in[s->n_in], NULL)) break;
    }
    s->ran = run_model(s->model, s, s->out, &diag);
    return true;
}

static void sample_free(sample *s) {
    for (size_t i = 0; i < s->n_out && s->ran; i++) onx_arg_clear(&s->out[i]);
    for (size_t i = 0; i < MAX_ARGS; i++) {
        onx_arg_clear(&s->in[i]);
        onx_data_free(s->data[i]);
    }
    onx_model_free(s->model);
}

static bool same_numbers(const onx_arg *a, const onx_arg *b, size_t n) {
    bool half = a->dtype == ONX_DTYPE_F16 || a->dtype == ONX_DTYPE_BF16;
    double *x = malloc(n * 8 + 8), *y = malloc(n * 8 + 8), most = 0, worst = 0;
    if (!x || !y) abort();
    bool ok = !onx_dtype_convert(a->dtype, a->data, ONX_DTYPE_F64, x, n, true) &&
              !onx_dtype_convert(b->dtype, b->data, ONX_DTYPE_F64, y, n, true);
    for (size_t i = 0; ok && i < n; i++)
        if (isfinite(x[i]) && fabs(x[i]) > most) most = fabs(x[i]);
    for (size_t i = 0; ok && i < n; i++) {
        if (x[i] == y[i] || (isnan(x[i]) && isnan(y[i]))) continue;
        double off = fabs(x[i] - y[i]) / (most > 0 ? most : 1);
        ok = isfinite(off);
        if (off > worst) worst = off;
    }
    free(x);
    free(y);
    return ok && worst <= (half ? 1e-2 : 1e-5);
}

static bool same_values(const onx_arg *a, const onx_arg *b) {
    onx_data *x = NULL, *y = NULL;
    bool ok = !onx_arg_to_data(NULL, a, &x, NULL) && !onx_arg_to_data(NULL, b, &y, NULL) &&
              !onx_data_set_name(x, "") && !onx_data_set_name(y, "") && onx_data_equal(x, y, NULL);
    onx_data_free(x);
    onx_data_free(y);
    return ok;
}

static bool same_result(const onx_arg *a, const onx_arg *b) {
    size_t n = 1;
    if (a->value || b->value) return same_values(a, b);
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (size_t i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i]) return false;
        n *= (size_t)a->dims[i];
    }
    if (a->bytes == b->bytes && (!a->bytes || memcmp(a->data, b->data, a->bytes) == 0)) return true;
    return same_numbers(a, b, n);
}

/* ─ Sweeps ───────────────────────────────────────────────────────────────────────────────────── */

typedef struct tally {
    size_t models, converted, refused, same;
} tally;

static onx_status convert_to(const onx_model *model, int64_t version, onx_model **out,
                             onx_diag *diag) {
    onx_opset_target target = {"", version};
    onx_convert_options options = ONX_INIT(onx_convert_options);
    options.n_targets = 1;
    options.targets = &target;
    return onx_model_convert(model, &options, out, diag);
}

static bool compare(const char *name, const sample *s, const onx_model *model, int64_t version) {
    onx_arg out[MAX_ARGS];
    onx_diag diag = ONX_INIT(onx_diag);
    if (!run_model(model, s, out, &diag)) {
        fprintf(stderr, "%s for %d: %s %s\n", name, (int)version, diag.place, diag.message);
        return false;
    }
    bool same = true;
    for (size_t i = 0; i < s->n_out; i++) {
        same = same && same_result(&s->out[i], &out[i]);
        onx_arg_clear(&out[i]);
    }
    if (!same) fprintf(stderr, "%s for %d: another result\n", name, (int)version);
    return same;
}

/* A run of Flexattention needs its body, which older opsets cannot have; a loop that never runs
 * has results of no declared type; those of Bernoulli are random. */
static bool is_excepted(const char *name) {
    return strstr(name, "flexattention") || strstr(name, "tri") == name + 5 ||
           strstr(name, "bernoulli");
}

static void sweep_one(const char *name, const char *folder, const int *versions, size_t n,
                      tally *t) {
    sample s;
    if (!sample_load(folder, &s)) return;
    int64_t own = onx_model_opset(s.model, "");
    t->models++;
    for (size_t i = 0; i < n; i++) {
        onx_model *got;
        onx_diag diag = ONX_INIT(onx_diag);
        if (versions[i] == own || own == 0) continue;
        onx_status status = convert_to(s.model, versions[i], &got, &diag);
        if (status) {
            t->refused++;
            if (!CHECK(status == ONX_UNSUPPORTED) || versions[i] == ONX_OPSET_VERSION)
                fprintf(stderr, "%s for %d: %s\n", name, versions[i], diag.message);
            continue;
        }
        t->converted++;
        if (!CHECK(!onx_model_check(got, NULL, &diag)))
            fprintf(stderr, "%s for %d: %s %s\n", name, versions[i], diag.place, diag.message);
        if (s.ran && !is_excepted(name)) t->same += CHECK(compare(name, &s, got, versions[i]));
        onx_model_free(got);
    }
    sample_free(&s);
}

static tally sweep(const char *set, const int *versions, size_t n) {
    tally t = {0};
    char folder[512], path[1100];
    (void)snprintf(folder, sizeof folder, "%s/%s", test_data(), set);
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (strncmp(e->d_name, "test_", 5) == 0) sweep_one(e->d_name, path, versions, n, &t);
    }
    if (dir) (void)closedir(dir);
    printf("%s: %zu models, %zu converted, %zu refused, %zu with the same results\n", set, t.models,
           t.converted, t.refused, t.same);
    return t;
}

static const char *const sets[] = {"node", "simple", "pytorch-converted", "pytorch-operator"};

TEST(newest) {
    static const int newest[] = {ONX_OPSET_VERSION};
    size_t same = 0;
    if (!test_data()) SKIP("ONX_DATA is not set");
    for (size_t i = 0; i < ONX_COUNT(sets); i++) {
        tally t = sweep(sets[i], newest, 1);
        CHECK_EQ(t.refused, 0);
        CHECK(t.models > 0);
        same += t.same;
    }
    CHECK(same > 1000);
}

TEST(older) {
    static const int older[] = {24, 20, 17, 13, 11, 9, 7};
    if (!test_data()) SKIP("ONX_DATA is not set");
    tally t = sweep("node", older, ONX_COUNT(older));
    CHECK(t.converted > 8000);
    CHECK(t.same > 6000);
}

/* ─ The zoo ──────────────────────────────────────────────────────────────────────────────────── */

static void there_and_back(const char *name) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model, *newest, *back = NULL;
    char path[1100];
    (void)snprintf(path, sizeof path, "%s/%s/model.slim.onnx", test_data(), name);
    if (!test_file_exists(path) || onx_model_load(NULL, path, NULL, &model, &diag)) return;
    int64_t own = onx_model_opset(model, "");
    onx_status status = convert_to(model, ONX_OPSET_VERSION, &newest, &diag);
    if (!status) status = convert_to(newest, own, &back, &diag);
    if (!CHECK(!status)) fprintf(stderr, "%s: %s %s\n", name, diag.place, diag.message);
    if (!status) {
        CHECK_EQ(onx_graph_node_count(onx_model_graph(back)),
                 onx_graph_node_count(onx_model_graph(model)));
        CHECK_EQ(onx_model_opset(back, ""), own);
        CHECK(!onx_model_verify(back, &diag) && !onx_model_verify(newest, &diag));
        onx_model_free(newest);
    }
    onx_model_free(back);
    onx_model_free(model);
}

TEST(zoo) {
    size_t count = 0;
    if (!test_has_zoo()) SKIP("there is no zoo in ONX_DATA");
    DIR *dir = opendir(test_data());
    for (struct dirent *e; dir && (e = readdir(dir)); count++)
        if (e->d_name[0] != '.') there_and_back(e->d_name);
    if (dir) (void)closedir(dir);
    CHECK(count > 0);
}

/* As recorded, at the newest version and at the oldest that the model can have. */
static void zoo_results(const char *name, int64_t oldest) {
    zoo_model zoo;
    onx_diag diag = ONX_INIT(onx_diag);
    REQUIRE(zoo_load(NULL, name, &zoo));
    for (int down = 0; down < 2; down++) {
        onx_model *model;
        onx_session *session = NULL;
        onx_arg out[ZOO_ARGS] = {0};
        bool ok = !convert_to(zoo.model, down ? oldest : ONX_OPSET_VERSION, &model, &diag);
        if (!CHECK(ok)) continue;
        ok = !onx_session_new(model, NULL, &session, &diag) &&
             !onx_session_run(session, zoo.n_in, zoo.in, zoo.n_out, out, NULL, &diag);
        if (!CHECK(ok)) fprintf(stderr, "%s: %s %s\n", name, diag.place, diag.message);
        for (size_t i = 0; i < zoo.n_out; i++) {
            if (ok) CHECK(zoo_distance(&zoo, i, &out[i]) < 1e-3);
            onx_arg_clear(&out[i]);
        }
        onx_session_free(session);
        onx_model_free(model);
    }
    zoo_free(&zoo);
}

TEST(zoo_runs) {
    if (!test_has_zoo()) SKIP("there is no zoo in ONX_DATA");
    zoo_results("squeezenet1_1", 7);
    zoo_results("mobilenet_v3_large", 7);
    zoo_results("shufflenet_v2", 7);
    zoo_results("note_if", 7);
    zoo_results("lstm", 8);
}

/* ─ Arguments ────────────────────────────────────────────────────────────────────────────────── */

TEST(arguments) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = onx_model_new(NULL, "g", 13), *out = NULL;
    onx_opset_target target = {NULL, 13};
    onx_convert_options options = ONX_INIT(onx_convert_options);
    CHECK_EQ(onx_model_convert(NULL, &options, &out, &diag), ONX_USAGE);
    CHECK_EQ(onx_model_convert(model, &options, NULL, &diag), ONX_USAGE);
    options.n_targets = 1;
    CHECK_EQ(onx_model_convert(model, &options, &out, &diag), ONX_USAGE);
    options.targets = &target;
    REQUIRE(onx_model_convert(model, &options, &out, &diag) == ONX_OK);
    CHECK(onx_model_equal(model, out, NULL));
    onx_model_free(out);
    target.version = ONX_OPSET_VERSION + 1;
    CHECK_EQ(onx_model_convert(model, &options, &out, &diag), ONX_UNSUPPORTED);
    target.version = 6;
    CHECK_EQ(onx_model_convert(model, &options, &out, &diag), ONX_UNSUPPORTED);
    target.version = -1;
    CHECK_EQ(onx_model_convert(model, &options, &out, NULL), ONX_UNSUPPORTED);
    target = (onx_opset_target){"elsewhere", 1};
    CHECK_EQ(onx_model_convert(model, &options, &out, &diag), ONX_NOT_FOUND);
    REQUIRE(onx_model_convert(model, NULL, &out, &diag) == ONX_OK); /* a copy */
    onx_model_free(out);
    onx_model_free(model);
}

/* As many nodes, as much time: far from squared. */
TEST(large) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = onx_model_new(NULL, "g", 12), *out = NULL;
    onx_graph *graph = onx_model_graph(model);
    onx_value *x = onx_graph_add_input(graph, "x", "float[2,3]");
    for (size_t i = 0; i < 20000 && x; i++) {
        x = onx_graph_add_op(graph, i % 2 ? "Squeeze" : "Unsqueeze", NULL, x);
        if (x) CHECK(!onx_node_set_ints(onx_value_node(x), "axes", 1, (const int64_t[]){0}));
    }
    onx_graph_add_output(graph, x, "float[2,3]");
    REQUIRE(!onx_model_error(model) && !convert_to(model, ONX_OPSET_VERSION, &out, &diag));
    CHECK_EQ(onx_graph_node_count(onx_model_graph(out)), 40000);
    onx_model_free(out);
    onx_model_free(model);
}

TEST_MAIN(E(old) E(move) E(axis) E(eltwise) E(norm) E(shape) E(resize) E(quant) E(rnn) E(first)
              E(below) E(whole) E(ml) E(table) E(newest) E(older) E(zoo) E(zoo_runs) E(arguments)
                  E(large))
