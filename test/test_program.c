/* test_program.c: fields added as protobuf text, and models as programs: what is refused, what is
 * kept whole, and memory that runs out. What programs build is checked in test_code.sh. */
#include "test.h"

#include "base/io.h"
#include "support.h"

static onx_model *load(onx_context *ctx, const char *text) {
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    options.format = ONX_FORMAT_TEXTPROTO;
    options.copy = true;
    if (onx_model_load_memory(ctx, text, strlen(text), &options, &model, &diag) &&
        diag.status != ONX_NO_MEMORY)
        fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    return model;
}

#define BEFORE                                                                                     \
    "ir_version: 10 opset_import { domain: \"\" version: 21 } producer_name: \"p\" graph {"        \
    " name: \"g\" input { name: \"x\" } node { input: \"x\" output: \"y\" op_type: \"Relu\" }"
#define FUNCTION                                                                                   \
    " functions { name: \"F\" domain: \"d\" input: \"p\" output: \"q\""                            \
    " node { input: \"p\" output: \"q\" op_type: \"Relu\" }"

/* What is added to which object, and the model that this makes. */
static const struct {
    char object; /* m, g, n, f: the body of the function */
    const char *fields, *after;
} additions[] = {
    {'m',
     "doc_string: \"d\" metadata_props { key: \"k\" value: \"v\" } [onx.unknown]: \"\\300>\\001\"",
     BEFORE "}" FUNCTION "} doc_string: \"d\" metadata_props { key: \"k\" value: \"v\" }"
            " [onx.unknown]: \"\\300>\\001\""},
    {'m',
     "training_info { algorithm { name: \"a\" node { input: \"x\" output: \"x2\" op_type: \"T\" }"
     " output { name: \"x2\" } } update_binding { key: \"x\" value: \"x2\" } }",
     BEFORE
     "}" FUNCTION "} training_info { algorithm { name: \"a\" node { input: \"x\" output: \"x2\""
     " op_type: \"T\" } output { name: \"x2\" } } update_binding { key: \"x\" value: \"x2\" } }"},
    {'m', "functions { name: \"H\" domain: \"d\" input: \"a\" output: \"a\" }",
     BEFORE "}" FUNCTION "} functions { name: \"H\" domain: \"d\" input: \"a\" output: \"a\" }"},
    {'g',
     "node { input: \"late\" output: \"z\" op_type: \"Neg\" } output { name: \"z\" }"
     " initializer { dims: [1] data_type: 1 float_data: [2.0] name: \"x\" }"
     " value_info { name: \"y\" } quantization_annotation { tensor_name: \"y\" } name: \"other\"",
     "ir_version: 10 opset_import { domain: \"\" version: 21 } producer_name: \"p\" graph {"
     " name: \"other\" input { name: \"x\" } node { input: \"x\" output: \"y\" op_type: \"Relu\" }"
     " node { input: \"late\" output: \"z\" op_type: \"Neg\" } output { name: \"z\" }"
     " initializer { dims: [1] data_type: 1 float_data: [2.0] name: \"x\" } value_info { name: "
     "\"y\" }"
     " quantization_annotation { tensor_name: \"y\" } }" FUNCTION "}"},
    {'n',
     "attribute { name: \"g\" g { node { input: \"x\" output: \"i\" op_type: \"Abs\" } } }"
     " doc_string: \"d\" device_configurations { sharding_spec { tensor_name: \"x\" } }",
     "ir_version: 10 opset_import { domain: \"\" version: 21 } producer_name: \"p\" graph {"
     " name: \"g\" input { name: \"x\" } node { input: \"x\" output: \"y\" op_type: \"Relu\""
     " attribute { name: \"g\" g { node { input: \"x\" output: \"i\" op_type: \"Abs\" } } }"
     " doc_string: \"d\" device_configurations { sharding_spec { tensor_name: \"x\" } } } "
     "}" FUNCTION "}"},
    {'f',
     "attribute: \"a\" attribute_proto { name: \"b\" i: 1 } opset_import { version: 3 }"
     " value_info { name: \"q\" } overload: \"o\"",
     BEFORE "}" FUNCTION " attribute: \"a\" attribute_proto { name: \"b\" i: 1 }"
            " opset_import { version: 3 } value_info { name: \"q\" } overload: \"o\" }"},
};

static onx_status add(onx_model *model, char object, const char *fields, onx_diag *diag) {
    onx_graph *graph = onx_model_graph(model);
    switch (object) {
    case 'm': return onx_model_add_fields(model, fields, diag);
    case 'g': return onx_graph_add_fields(graph, fields, diag);
    case 'n': return onx_node_add_fields(onx_graph_node_first(graph), fields, diag);
    default:
        return onx_graph_add_fields(onx_function_body(onx_model_function_first(model)), fields,
                                    diag);
    }
}

TEST(fields_are_added) {
    for (size_t i = 0; i < ONX_COUNT(additions); i++) {
        onx_model *model = load(NULL, BEFORE "}" FUNCTION "}"),
                  *after = load(NULL, additions[i].after);
        onx_diag diag = ONX_INIT(onx_diag);
        REQUIRE(model && after);
        CHECK(!onx_model_equal(model, after, NULL));
        if (!CHECK(add(model, additions[i].object, additions[i].fields, &diag) == ONX_OK) ||
            !CHECK(onx_model_equal(model, after, &diag)) ||
            !CHECK(onx_model_verify(model, &diag) == ONX_OK))
            fprintf(stderr, "    %zu: %s: %s\n", i, diag.place, diag.message);
        onx_model_free(model);
        onx_model_free(after);
    }
}

/* Names in what was added are linked: renaming reaches them. */
TEST(added_names_are_linked) {
    onx_model *model = load(NULL, BEFORE "}");
    REQUIRE(model);
    onx_graph *graph = onx_model_graph(model);
    REQUIRE(onx_graph_add_fields(graph,
                                 "node { input: \"y\" output: \"z\" op_type: \"Neg\" }"
                                 " quantization_annotation { tensor_name: \"y\" }",
                                 NULL) == ONX_OK);
    CHECK(onx_value_rename(onx_graph_find(graph, "y"), "renamed", NULL) == ONX_OK);
    onx_node *added = onx_graph_node_last(graph);
    CHECK_STR(onx_value_name(onx_node_input(added, 0)), "renamed");
    CHECK(onx_value_node(onx_graph_find(graph, "z")) == added);
    onx_annotation *note = (onx_annotation *)graph->quantization_annotation.first;
    CHECK(onx_str_is(note->tensor_name, "renamed"));
    onx_model_free(model);
}

TEST(fields_are_refused) {
    static const struct {
        char object;
        const char *fields;
        onx_status status;
    } cases[] = {
        {'m', "graph {}", ONX_USAGE},
        {'n', "input: \"x\"", ONX_USAGE},
        {'n', "output: \"x\"", ONX_USAGE},
        {'n', "op_type: \"x\"", ONX_USAGE},
        {'n', "domain: \"x\"", ONX_USAGE},
        {'f', "input: \"x\"", ONX_USAGE},
        {'f', "output: \"x\"", ONX_USAGE},
        {'f', "name: \"x\"", ONX_USAGE},
        {'f', "domain: \"x\"", ONX_USAGE},
        {'g', "nothing: 1", ONX_MALFORMED},
        {'g', "name: \"x", ONX_MALFORMED},
        {'g', "node { node {} }", ONX_MALFORMED},
        {'g', NULL, ONX_USAGE},
        {'m', NULL, ONX_USAGE},
    };
    onx_diag diag = ONX_INIT(onx_diag);
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        onx_model *model = load(NULL, BEFORE "}" FUNCTION "}"), *same = NULL;
        REQUIRE(model && onx_model_clone(model, &same, NULL) == ONX_OK);
        CHECK_EQ(add(model, cases[i].object, cases[i].fields, &diag), cases[i].status);
        CHECK(diag.message[0] && onx_model_equal(model, same, NULL));
        CHECK(onx_model_error(model) && onx_model_error(model)->status == cases[i].status);
        onx_model_free(model);
        onx_model_free(same);
    }
    CHECK_EQ(onx_model_add_fields(NULL, "", NULL), ONX_USAGE);
    CHECK_EQ(onx_graph_add_fields(NULL, "", NULL), ONX_USAGE);
    CHECK_EQ(onx_node_add_fields(NULL, "", NULL), ONX_USAGE);
}

TEST(no_memory_for_fields) {
    size_t done = 0, failed = 0;
    for (size_t at = 1; done < ONX_COUNT(additions) && at < 4000; at++) {
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        onx_model *model = load(ctx, BEFORE "}" FUNCTION "}"), *same = NULL;
        REQUIRE(model && onx_model_clone(model, &same, NULL) == ONX_OK);
        heap.fail_at = heap.calls + at;
        heap.fail_count = 1;
        onx_status status = add(model, additions[done].object, additions[done].fields, NULL);
        CHECK(status == ONX_OK || (heap.failed && status == ONX_NO_MEMORY));
        if (status) CHECK(onx_model_equal(model, same, NULL));
        CHECK(onx_model_verify(model, NULL) == ONX_OK);
        failed += heap.failed;
        if (!heap.failed) done++, at = 0;
        onx_model_free(model);
        onx_model_free(same);
        onx_context_free(ctx);
        CHECK_EQ(heap.blocks, 0);
    }
    CHECK(done == ONX_COUNT(additions) && failed > 20);
}

/* ── Programs ── */

static int count(void *user, const void *data, size_t size) {
    (void)data;
    *(size_t *)user += size;
    return 0;
}

static int refuse(void *user, const void *data, size_t size) {
    (void)user, (void)data, (void)size;
    return -1;
}

static char *read_case(const char *name) {
    char path[600];
    const char *root = getenv("ROOT");
    snprintf(path, sizeof path, "%s/test/code/%s", root ? root : ".", name);
    FILE *file = fopen(path, "rb");
    char *text = file ? calloc(1, 200000) : NULL;
    if (text && !fread(text, 1, 199999, file)) text[0] = '\0';
    if (file) fclose(file);
    return text;
}

static onx_model *load_case(onx_context *ctx, const char *name) {
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_model *model = NULL;
    char *text = read_case(name);
    options.format = ONX_FORMAT_TEXTPROTO;
    options.copy = options.no_external = true;
    if (text) onx_model_load_memory(ctx, text, strlen(text), &options, &model, NULL);
    free(text);
    return model;
}

TEST(misuse) {
    onx_model *model = load(NULL, BEFORE "}"), *none = load(NULL, "ir_version: 3");
    onx_code_options options = ONX_INIT(onx_code_options);
    onx_diag diag = ONX_INIT(onx_diag);
    size_t n = 0;
    onx_writer writer = {&n, count}, bad = {NULL, refuse}, empty = {NULL, NULL};
    REQUIRE(model && none);
    CHECK_EQ(onx_model_code(NULL, NULL, &writer, NULL, &diag), ONX_USAGE);
    CHECK_EQ(onx_model_code(model, NULL, NULL, NULL, &diag), ONX_USAGE);
    CHECK_EQ(onx_model_code(model, NULL, &empty, NULL, &diag), ONX_USAGE);
    CHECK_EQ(onx_model_code(model, NULL, &writer, &empty, &diag), ONX_USAGE);
    options.language = (onx_language)7;
    CHECK_EQ(onx_model_code(model, &options, &writer, NULL, &diag), ONX_USAGE);
    CHECK_EQ(onx_model_code(none, NULL, &writer, NULL, &diag), ONX_UNSUPPORTED);
    CHECK_EQ(n, 0);
    CHECK_EQ(onx_model_code(model, NULL, &bad, NULL, &diag), ONX_IO);
    CHECK_EQ(onx_model_code(model, NULL, &writer, NULL, NULL), ONX_OK);
    CHECK(n > 100);
    onx_model_free(model);
    onx_model_free(none);
}

TEST(weights_that_cannot_be_written) {
    onx_model *model = load_case(NULL, "everything.textproto");
    if (!model) SKIP("ROOT is not set");
    size_t n = 0;
    onx_writer writer = {&n, count}, bad = {NULL, refuse};
    onx_diag diag = ONX_INIT(onx_diag);
    CHECK_EQ(onx_model_code(model, NULL, &writer, &bad, &diag), ONX_IO);
    CHECK(strstr(diag.message, "weights"));
    CHECK_EQ(n, 0);
    onx_model_free(model);
}

TEST(no_memory_for_programs) {
    for (int language = 0; language < 2; language++) {
        onx_code_options options = ONX_INIT(onx_code_options);
        options.language = (onx_language)language;
        size_t failed = 0, n = 0;
        for (size_t at = 1, step = 1; at < 100000; at += step, step = 1 + at / 40) {
            test_heap heap = {0};
            onx_context *ctx = test_context(&heap, NULL);
            onx_model *model = load_case(ctx, "everything.textproto");
            if (!model) {
                onx_context_free(ctx);
                SKIP("ROOT is not set");
            }
            onx_writer writer = {&n, count};
            heap.fail_at = heap.calls + at;
            heap.fail_count = 1;
            onx_status status = onx_model_code(model, &options, &writer, NULL, NULL);
            CHECK(heap.failed ? status == ONX_OK || status == ONX_NO_MEMORY : status == ONX_OK);
            failed += status != ONX_OK;
            bool done = !heap.failed;
            onx_model_free(model);
            onx_context_free(ctx);
            CHECK_EQ(heap.blocks, 0);
            if (done) break;
        }
        CHECK(failed > 20);
    }
}

TEST_MAIN(E(fields_are_added) E(added_names_are_linked) E(fields_are_refused)
              E(no_memory_for_fields) E(misuse) E(weights_that_cannot_be_written)
                  E(no_memory_for_programs))
