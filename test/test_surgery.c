/* test_surgery.c: models cut, joined, renamed and stripped: cases as text (test/surgery/), a model
 * with something of everything, the zoo cut in two and joined again, and sizes. */
#include "support.h"
#include "surgery_case.h"
#include "test.h"
#include "zoo.h"

#include <time.h>

#define CHECK_OK(status) CHECK((status) == ONX_OK)

static void run_file(const char *file, size_t least) {
    size_t count = 0;
    CHECK_EQ(surgery_case_file(file, &count), 0);
    CHECK(count >= least);
}

TEST(extracting) {
    run_file("extract.txt", 14);
}
TEST(merging) {
    run_file("merge.txt", 22);
}
TEST(renaming) {
    run_file("rename.txt", 15);
}
TEST(stripping) {
    run_file("strip.txt", 7);
}
TEST(moving_constants) {
    run_file("constants.txt", 6);
}
TEST(sizing) {
    run_file("dims.txt", 11);
}

/* ── Something of everything ── */

static const char *const deeds[] = {
    "extract",
    "rename what=ALL,DIMS,GRAPHS prefix=p/",
    "strip DOCS METADATA NAMES",
    "strip TYPES",
    "strip UNUSED",
    "strip INPUTS TRAINING",
    "strip ALL",
    "constants INITIALIZERS",
    "constants NODES",
    "constants INPUTS",
    "constants FIXED",
};

/* Sound links, and the same after it was written and read. */
static bool is_sound(onx_model *model) {
    void *bytes = NULL;
    size_t size = 0;
    onx_model *again = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    bool ok = CHECK_OK(onx_model_verify(model, &diag)) && CHECK(test_links(model)) &&
              CHECK_OK(onx_model_save_memory(model, NULL, &bytes, &size, &diag)) &&
              CHECK_OK(onx_model_load_memory(NULL, bytes, size, NULL, &again, &diag)) &&
              CHECK(onx_model_equal(model, again, &diag));
    if (!ok) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    onx_model_free(again);
    onx_buffer_free(NULL, bytes, size);
    return ok;
}

TEST(everything) {
    for (size_t i = 0; i < ONX_COUNT(deeds); i++) {
        onx_model *model = test_model_rich(NULL), *out = NULL;
        onx_diag diag = ONX_INIT(onx_diag);
        onx_status status = surgery_do(deeds[i], 1, &model, &out, &diag);
        if (!CHECK_OK(status) || !is_sound(out ? out : model))
            fprintf(stderr, "    %s: %s\n", deeds[i], diag.message);
        onx_model_free(out);
        onx_model_free(model);
    }
}

/* Every value of the graph as the only output. */
TEST(every_value) {
    onx_model *model = test_model_rich(NULL);
    size_t done = 0;
    for (onx_value *v = onx_graph_value_first(onx_model_graph(model)); v; v = onx_value_next(v)) {
        onx_extract_options o = ONX_INIT(onx_extract_options);
        onx_diag diag = ONX_INIT(onx_diag);
        const char *name = onx_value_name(v);
        onx_model *out = NULL;
        if (!*name) continue;
        o.n_outputs = 1;
        o.outputs = &name;
        onx_status status = onx_model_extract(model, &o, &out, &diag);
        if (status == ONX_OK) done += is_sound(out);
        CHECK(status == ONX_OK || diag.message[0]);
        onx_model_free(out);
    }
    CHECK(done > 5);
    onx_model_free(model);
}

/* There and back again: notes, bindings, attributes of Gradient follow the names. */
TEST(renamed_and_back) {
    onx_model *model = test_model_rich(NULL), *before = test_model_rich(NULL), *none = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    const char *ways[] = {"rename what=ALL,DIMS,GRAPHS prefix=p/",
                          "rename what=ALL,DIMS,GRAPHS p/*=*"};
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(surgery_do(ways[i], 1, &model, &none, &diag));
        CHECK(onx_model_equal(before, model, NULL) == (i == 1));
        CHECK_OK(onx_model_verify(model, &diag));
    }
    if (!CHECK(onx_model_equal(before, model, &diag)))
        fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    onx_model_free(model);
    onx_model_free(before);
}

/* Every allocation fails in turn. */
static bool meet_failure(const char *what, size_t at) {
    test_heap heap = {.fail_count = 1};
    onx_context *ctx = test_context(&heap, NULL);
    onx_model *model = test_model_rich(ctx), *before = test_model_rich(NULL), *out = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    heap.fail_at = heap.calls + at;
    onx_status status = surgery_do(what, 1, &model, &out, &diag);
    heap.fail_at = 0;
    CHECK(status == ONX_OK || (status == ONX_NO_MEMORY && onx_model_equal(before, model, NULL)));
    CHECK_OK(onx_model_verify(model, NULL));
    onx_model_free(out);
    onx_model_free(before);
    onx_model_free(model);
    onx_context_free(ctx);
    if (!CHECK(heap.bytes == 0)) fprintf(stderr, "    %s, allocation %zu\n", what, at);
    return heap.failed;
}

TEST(memory_runs_out) {
    for (size_t i = 0; i < ONX_COUNT(deeds); i++)
        for (size_t at = 1; meet_failure(deeds[i], at); at++)
            ;
}

TEST(wrong_arguments) {
    onx_model *model = test_model_rich(NULL), *out = NULL;
    const onx_model *none[] = {NULL};
    onx_extract_options unset = {0};
    CHECK_EQ(onx_model_extract(NULL, NULL, &out, NULL), ONX_USAGE);
    CHECK_EQ(onx_model_extract(model, NULL, NULL, NULL), ONX_USAGE);
    CHECK_EQ(onx_model_extract(model, &unset, &out, NULL), ONX_USAGE);
    CHECK_EQ(onx_model_merge(0, NULL, NULL, &out, NULL), ONX_USAGE);
    CHECK_EQ(onx_model_merge(1, none, NULL, &out, NULL), ONX_USAGE);
    CHECK_EQ(onx_model_rename(NULL, NULL, NULL), ONX_USAGE);
    CHECK_EQ(onx_model_strip(NULL, ONX_STRIP_ALL, NULL, NULL), ONX_USAGE);
    CHECK_EQ(onx_model_move_constants(NULL, ONX_CONSTANTS_NODES, NULL, NULL), ONX_USAGE);
    CHECK_EQ(onx_model_set_dims(NULL, NULL, NULL), ONX_USAGE);
    CHECK(out == NULL);
    CHECK_EQ(onx_model_merge(1, (const onx_model *const *)&model, NULL, &out, NULL),
             ONX_UNSUPPORTED); /* it has training steps */
    onx_model_free(model);
}

/* ── The zoo ── */

/* The node of the main graph that something lies in; SIZE_MAX: none. */
static size_t place_of(const onx_graph *graph, const onx_msg *m) {
    for (; m; m = m->parent)
        if (m->desc == &onx_desc_node && ((const onx_node *)m)->graph == graph)
            return ((const onx_node *)m)->order;
    return SIZE_MAX;
}

typedef struct cut {
    const char *crossing[4096], *outputs[64], *rest[64];
    size_t n_crossing, n_outputs, n_rest;
} cut;

/* Values that nodes before `at` compute and others use, or that are results. */
static void find_cut(onx_graph *graph, size_t at, cut *c) {
    size_t i = 0;
    *c = (cut){.n_crossing = 0};
    ONX_EACH (onx_node, n, graph->node) n->order = i++;
    for (onx_value *v = onx_graph_value_first(graph); v; v = onx_value_next(v)) {
        bool crosses = onx_value_is_output(v);
        for (const onx_ref *r = v->first; r && !crosses; r = r->next) {
            size_t place = r->kind == ONX_REF_OUTPUT ? SIZE_MAX : place_of(graph, r->owner);
            crosses = place != SIZE_MAX && place >= at;
        }
        bool early = v->def && v->def->graph == graph && v->def->order < at;
        if (early && crosses && c->n_crossing < 4000)
            c->crossing[c->n_crossing++] = onx_value_name(v);
    }
    for (i = 0; i < graph->outs.n; i++) {
        const onx_value *v = graph->outs.v[i]->value;
        c->outputs[c->n_outputs++] = onx_value_name(v);
        if (v->def && v->def->order >= at) c->rest[c->n_rest++] = onx_value_name(v);
    }
}

/* Both parts, with other names for the weights of the second, as one again. */
static onx_model *cut_and_join(onx_model *model, cut *c, onx_diag *diag) {
    onx_graph *graph = onx_model_graph(model);
    onx_model *parts[2] = {NULL, NULL}, *whole = NULL;
    onx_extract_options first = ONX_INIT(onx_extract_options), second = first;
    onx_rename_options weights = ONX_INIT(onx_rename_options);
    onx_merge_options how = ONX_INIT(onx_merge_options);
    first.n_outputs = c->n_crossing;
    first.outputs = c->crossing;
    second.n_outputs = c->n_rest;
    second.outputs = c->rest;
    for (size_t i = 0; i < graph->ins.n; i++)
        c->crossing[c->n_crossing + i] = onx_value_name(onx_graph_input(graph, i));
    second.n_inputs = c->n_crossing + graph->ins.n;
    second.inputs = c->crossing;
    weights.what = ONX_NAMES_INITIALIZERS;
    weights.prefix = "second.";
    how.by_name = how.share_inputs = true;
    how.n_outputs = c->n_outputs;
    how.outputs = c->outputs;
    if (CHECK_OK(onx_model_extract(model, &first, &parts[0], diag)) &&
        CHECK_OK(onx_model_extract(model, &second, &parts[1], diag)) &&
        CHECK_OK(onx_model_rename(parts[1], &weights, diag)))
        CHECK_OK(onx_model_merge(2, (const onx_model *const *)parts, &how, &whole, diag));
    onx_model_free(parts[0]);
    onx_model_free(parts[1]);
    return whole;
}

static bool same_name(const onx_value *a, const onx_value *b) {
    if (!a || !b) return a == b;
    const char *name = onx_value_name(b);
    if (strncmp(name, "second.", 7) == 0 && b->init) name += 7;
    return strcmp(onx_value_name(a), name) == 0;
}

static bool same_node(const onx_node *a, const onx_node *b) {
    if (!onx_str_eq(a->op_type, b->op_type) || !onx_str_eq(a->name, b->name) ||
        a->input.n != b->input.n || a->output.n != b->output.n)
        return false;
    for (size_t i = 0; i < a->input.n; i++)
        if (!same_name(onx_node_input(a, i), onx_node_input(b, i))) return false;
    for (size_t i = 0; i < a->output.n; i++)
        if (!same_name(onx_node_output(a, i), onx_node_output(b, i))) return false;
    return a->attribute.count == b->attribute.count;
}

static bool same_graph(const onx_graph *a, const onx_graph *b) {
    const onx_node *x = onx_graph_node_first(a), *y = onx_graph_node_first(b);
    for (; x && y; x = onx_node_next(x), y = onx_node_next(y))
        if (!CHECK(same_node(x, y))) return false;
    for (size_t i = 0; i < a->outs.n; i++)
        CHECK(same_name(onx_graph_output(a, i), onx_graph_output(b, i)));
    return CHECK(!x && !y) && CHECK(a->ins.n == b->ins.n) && CHECK(a->outs.n == b->outs.n);
}

static size_t joined;

static void cut_file(const char *path, test_random *random) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    static cut c;
    if (!CHECK_OK(onx_model_load(NULL, path, NULL, &model, &diag))) return;
    CHECK_OK(onx_model_strip(model, ONX_STRIP_UNUSED | ONX_STRIP_INPUTS, NULL, &diag));
    size_t n = onx_graph_node_count(onx_model_graph(model));
    for (int i = 0; i < 3 && n > 1; i++) {
        diag = ONX_INIT(onx_diag);
        find_cut(onx_model_graph(model), 1 + test_random_below(random, n - 1), &c);
        onx_model *whole = c.n_rest && c.n_crossing ? cut_and_join(model, &c, &diag) : NULL;
        if (whole) {
            joined++;
            CHECK(same_graph(onx_model_graph(model), onx_model_graph(whole)));
            CHECK(test_links(whole));
        }
        if (diag.status) fprintf(stderr, "    %s: %s %s\n", path, diag.place, diag.message);
        onx_model_free(whole);
    }
    onx_model_free(model);
}

TEST(zoo_in_halves) {
    if (!test_has_zoo()) SKIP("there is no zoo in ONX_DATA");
    test_random random = {2};
    test_files files = test_files_find(test_data(), "/model.slim.onnx");
    for (size_t i = 0; i < files.count; i++) cut_file(files.paths[i], &random);
    CHECK(files.count > 30 && joined > 2 * files.count);
    test_files_free(&files);
}

static bool run_model(const onx_model *model, const zoo_model *zoo, onx_arg *out) {
    onx_session *session = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    bool ok = CHECK_OK(onx_session_new(model, NULL, &session, &diag)) &&
              CHECK_OK(onx_session_run(session, zoo->n_in, zoo->in, zoo->n_out, out, NULL, &diag));
    if (!ok) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    onx_session_free(session);
    return ok;
}

/* What was cut and joined computes the same, to the bit. */
TEST(zoo_runs) {
    static const char *const names[] = {"squeezenet1_1", "note_if", "lstm", "minilm_l6"};
    static cut c;
    if (!test_has_zoo()) SKIP("there is no zoo in ONX_DATA");
    for (size_t i = 0; i < ONX_COUNT(names); i++) {
        zoo_model zoo;
        onx_diag diag = ONX_INIT(onx_diag);
        onx_arg a[ZOO_ARGS] = {{0}}, b[ZOO_ARGS] = {{0}};
        if (!CHECK(zoo_load(NULL, names[i], &zoo))) continue;
        CHECK_OK(onx_model_strip(zoo.model, ONX_STRIP_UNUSED, NULL, &diag));
        find_cut(onx_model_graph(zoo.model), onx_graph_node_count(zoo.model->graph) / 2, &c);
        onx_model *whole = cut_and_join(zoo.model, &c, &diag);
        if (whole && run_model(zoo.model, &zoo, a) && run_model(whole, &zoo, b))
            for (size_t k = 0; k < zoo.n_out; k++)
                CHECK(a[k].bytes == b[k].bytes && memcmp(a[k].data, b[k].data, a[k].bytes) == 0);
        for (size_t k = 0; k < ZOO_ARGS; k++) onx_arg_clear(&a[k]), onx_arg_clear(&b[k]);
        onx_model_free(whole);
        zoo_free(&zoo);
    }
}

/* ── Sizes ── */

static onx_model *long_chain(size_t n) {
    onx_model *model = onx_model_new(NULL, "chain", 18);
    onx_graph *graph = onx_model_graph(model);
    onx_value *v = onx_graph_add_input(graph, "x", "float[N,4]");
    for (size_t i = 0; i < n; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "v%zu", i);
        v = onx_graph_add_op(graph, "Relu", name, v);
    }
    onx_graph_add_output(graph, v, "float[N,4]");
    return model;
}

static double seconds_for(const char *what, size_t n) {
    onx_model *models[] = {long_chain(n), NULL}, *out = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    bool merge = strncmp(what, "merge", 5) == 0;
    models[1] = merge ? long_chain(n) : NULL;
    clock_t start = clock();
    CHECK_OK(surgery_do(what, merge ? 2 : 1, models, &out, &diag));
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    onx_model_free(out);
    onx_model_free(models[0]);
    onx_model_free(models[1]);
    return seconds;
}

/* Ten times the nodes take no more than about ten times as long: a hundred times would show. */
TEST(linear) {
    static const char *const large[] = {
        "extract outputs=v10", "extract inputs=v9",    "rename what=ALL prefix=p/",
        "strip ALL",           "constants NODES",      "dims set:N=3",
        "dims free:x:1=M",     "merge prefixes=a/,b/",
    };
    for (size_t i = 0; i < ONX_COUNT(large); i++) {
        double small = seconds_for(large[i], 5000), big = seconds_for(large[i], 50000);
        if (!CHECK(big < 40 * small + 0.2))
            fprintf(stderr, "    %s: %.3f s, then %.3f s\n", large[i], small, big);
    }
}

TEST_MAIN(E(extracting) E(merging) E(renaming) E(stripping) E(moving_constants) E(sizing)
              E(everything) E(every_value) E(renamed_and_back) E(memory_runs_out) E(wrong_arguments)
                  E(zoo_in_halves) E(zoo_runs) E(linear))
