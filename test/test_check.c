/* test_check.c: the checker on models that are wrong in known ways: files of cases in test/check/.
 *
 *     == name of the case
 *     - input-count graph.node[0] (Add)    what is told: rule and place, in this order
 *     full                                    also what inference finds
 *     <model in ONNX text>                    or as protobuf text
 *
 * A case that tells nothing is a model that is right. Each is also run with every allocation
 * failing in turn. */
#include "case_file.h"
#include "check/checker.h"
#include "test.h"

typedef struct check_case {
    const char *name, *model;
    const char *wanted[32];
    size_t n_wanted;
    bool full;
} check_case;

typedef struct told {
    test_bytes text; /* "rule place" lines */
    bool *seen;      /* by rule; NULL: nobody counts */
} told;

static void hear(void *user, const onx_problem *p) {
    told *t = user;
    char line[700];
    int n = snprintf(line, sizeof line, "%s %s\n", p->rule->id, p->place);
    test_put(&t->text, line, (size_t)n);
    for (size_t i = 0; t->seen && onx_rule_at(i); i++)
        if (onx_rule_at(i) == p->rule) t->seen[i] = true;
}

static onx_status parse(onx_context *ctx, const check_case *c, onx_model **out, onx_diag *diag) {
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = c->model[0] == '<' ? ONX_FORMAT_TEXT : ONX_FORMAT_TEXTPROTO;
    options.copy = true;
    return onx_model_load_memory(ctx, c->model, strlen(c->model), &options, out, diag);
}

static onx_status check(const check_case *c, const onx_model *model, told *t, onx_diag *first) {
    onx_check_options options = ONX_INIT(onx_check_options);
    options.full = c->full;
    options.report = hear;
    options.user = t;
    return onx_model_check(model, &options, first);
}

/* What is told, beside what should be. */
static bool compare(const check_case *c, bool *seen) {
    told t = {.seen = seen};
    test_bytes wanted = {0};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model;
    if (parse(NULL, c, &model, &diag)) {
        fprintf(stderr, "case '%s': %s: %s\n", c->name, diag.place, diag.message);
        return false;
    }
    onx_status status = check(c, model, &t, &diag);
    bool ok = status == ONX_OK || status == ONX_INVALID;
    for (size_t i = 0; i < c->n_wanted; i++) {
        test_put(&wanted, c->wanted[i], strlen(c->wanted[i]));
        test_put_byte(&wanted, '\n');
    }
    test_put_byte(&wanted, 0);
    test_put_byte(&t.text, 0);
    ok = ok && strcmp(t.text.data, wanted.data) == 0;
    if (!ok) fprintf(stderr, "case '%s': wanted\n%sgot\n%s", c->name, wanted.data, t.text.data);
    onx_model_free(model);
    test_bytes_free(&t.text);
    test_bytes_free(&wanted);
    return ok;
}

static bool survives(const check_case *c, size_t fail_at, bool *more) {
    test_heap heap = {0};
    told t = {0};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_context *ctx = test_context(&heap, NULL);
    onx_model *model;
    if (parse(ctx, c, &model, &diag)) return false;
    heap.fail_at = heap.calls + fail_at;
    heap.fail_count = 1;
    onx_status status = check(c, model, &t, &diag);
    *more = heap.failed > 0;
    onx_model_free(model);
    onx_context_free(ctx);
    test_bytes_free(&t.text);
    bool ok = (status == ONX_OK || status == ONX_INVALID || status == ONX_NO_MEMORY) && !heap.bytes;
    if (!ok) fprintf(stderr, "case '%s': allocation %zu fails\n", c->name, fail_at);
    return ok;
}

static void read_case(char *p, check_case *c) {
    *c = (check_case){.name = case_line(&p)};
    while (strncmp(p, "- ", 2) == 0 || strncmp(p, "full\n", 5) == 0) {
        const char *line = case_line(&p);
        if (*line == 'f')
            c->full = true;
        else if (c->n_wanted < ONX_COUNT(c->wanted))
            c->wanted[c->n_wanted++] = line + 2;
    }
    c->model = p;
}

static size_t run_file(const char *file, bool *seen) {
    char path[256];
    case_file cases;
    size_t n = 0;
    (void)snprintf(path, sizeof path, "check/%s", file);
    CHECK(case_file_open(&cases, path));
    for (char *text; (text = case_file_next(&cases)); n++) {
        check_case c;
        bool more = true;
        read_case(text, &c);
        bool ok = CHECK(compare(&c, seen));
        for (size_t i = 1; ok && more; i++) ok = CHECK(survives(&c, i, &more));
    }
    case_file_close(&cases);
    return n;
}

/* Every case, and for every rule at least one; those that need a folder or a huge model are tested
 * below. */
TEST(cases) {
    static const char *const files[] = {"model.txt",  "graph.txt",    "node.txt",
                                        "tensor.txt", "function.txt", "full.txt"};
    bool seen[ONX_RULE_COUNT] = {false};
    size_t n = 0;
    for (size_t i = 0; i < ONX_COUNT(files); i++) n += run_file(files[i], seen);
    CHECK(n >= 120);
    for (size_t i = 0; i < ONX_RULE_COUNT; i++)
        if (i != ONX_RULE_INFER_LIMIT && !CHECK(seen[i]))
            fprintf(stderr, "    no case breaks %s\n", onx_rule_at(i)->id);
}

TEST(rules) {
    CHECK(onx_rule_at(ONX_RULE_COUNT) == NULL);
    for (size_t i = 0; i < ONX_RULE_COUNT; i++)
        for (size_t j = 0; j < i; j++) CHECK(strcmp(onx_rule_at(i)->id, onx_rule_at(j)->id) != 0);
}

/* doc/check-rules.md lists the rules, all of them, in order. */
TEST(rules_are_documented) {
    const char *root = getenv("ROOT");
    char path[1024], line[512];
    (void)snprintf(path, sizeof path, "%s/doc/check-rules.md", root ? root : ".");
    test_bytes bytes = test_file_read(path);
    REQUIRE(bytes.data != NULL);
    test_put_byte(&bytes, 0);
    const char *p = bytes.data;
    for (size_t i = 0; i < ONX_RULE_COUNT; i++) {
        const onx_rule *rule = onx_rule_at(i);
        (void)snprintf(line, sizeof line, "\n| `%s` | %s | %s |", rule->id,
                       rule->severity == ONX_SEVERITY_ERROR ? "error" : "warning", rule->title);
        const char *found = p ? strstr(p, line) : NULL;
        if (!CHECK(found != NULL)) fprintf(stderr, "    missing:%s\n", line);
        if (found) p = found + 1;
    }
    test_bytes_free(&bytes);
}

static void count(void *user, const onx_problem *p) {
    ++*(size_t *)user;
    CHECK(p->message[0] && p->place[0]);
}

static onx_model *parse_text(const char *text) {
    check_case c = {.model = text};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    if (!CHECK(!parse(NULL, &c, &model, &diag))) fprintf(stderr, "    %s\n", diag.message);
    return model;
}

TEST(arguments) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_check_options bad = {.size = 0};
    onx_model *model = parse_text("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                  "g (float[2] x) => (float[2] y) { y = Relu(x, z, w) }");
    CHECK_EQ(onx_model_check(NULL, NULL, &diag), ONX_USAGE);
    CHECK_EQ(onx_model_check(model, &bad, &diag), ONX_USAGE);
    CHECK_EQ(onx_model_check(model, NULL, NULL), ONX_INVALID);
    CHECK_EQ(onx_model_check(model, NULL, &diag), ONX_INVALID);
    CHECK_STR(diag.place, "graph.node[0] (Relu)");
    CHECK_STR(diag.message, "input 1, 'z', is not defined anywhere");
    size_t n = 0;
    onx_check_options options = ONX_INIT(onx_check_options);
    options.report = count;
    options.user = &n;
    CHECK_EQ(onx_model_check(model, &options, NULL), ONX_INVALID);
    CHECK_EQ(n, 3);
    n = 0;
    options.max_problems = 2;
    CHECK_EQ(onx_model_check(model, &options, NULL), ONX_INVALID);
    CHECK_EQ(n, 2);
    onx_model_free(model);
}

/* Beyond the limit, an error still makes the model invalid. */
TEST(errors_beyond_the_limit) {
    onx_model *model = parse_text("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                  "g (float[2] x) => (float[2] y, float[2] y) <float[2] q>"
                                  " { y = Relu(x, x) }");
    onx_check_options options = ONX_INIT(onx_check_options);
    options.max_problems = 1;
    CHECK_EQ(onx_model_check(model, &options, NULL), ONX_INVALID);
    onx_model_free(model);
}

/* Graphs inside each other, deeper than inference goes: checked without it. */
TEST(too_deep_for_inference) {
    enum { DEPTH = 80 };
    onx_model *model = onx_model_new(NULL, "deep", 17);
    onx_graph *g = onx_model_graph(model);
    onx_value *c = onx_graph_add_input(g, "c", "bool");
    for (int i = 0; i < DEPTH; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "y%d", i);
        const char *out = name;
        onx_node *node = onx_graph_add_node(g, "If", 1, &c, 1, &out);
        onx_graph_add_output(g, onx_node_output(node, 0), i ? NULL : "bool");
        onx_graph *other = onx_node_add_graph(node, "else_branch", "e");
        (void)snprintf(name, sizeof name, "e%d", i);
        onx_graph_add_output(other, onx_graph_add_op(other, "Not", name, c), NULL);
        g = onx_node_add_graph(node, "then_branch", "t");
    }
    onx_graph_add_output(g, onx_graph_add_op(g, "Not", "last", c), NULL);
    REQUIRE(onx_model_error(model) == NULL);
    told t = {0};
    onx_check_options options = ONX_INIT(onx_check_options);
    options.report = hear;
    options.user = &t;
    CHECK_EQ(onx_model_check(model, &options, NULL), ONX_OK);
    test_put_byte(&t.text, 0);
    CHECK_STR(t.text.data, "infer-limit model\n");
    test_bytes_free(&t.text);
    onx_model_free(model);
}

/* Data that the model was loaded without: the folder is looked into. */
TEST(external_files) {
    static const char text[] =
        "ir_version: 8 opset_import { version: 17 } graph { name: \"g\""
        " initializer { name: \"a\" data_type: 1 dims: 1 data_location: EXTERNAL"
        "  external_data { key: \"location\" value: \"a.bin\" } }"
        " initializer { name: \"b\" data_type: 1 dims: 1 data_location: EXTERNAL"
        "  external_data { key: \"location\" value: \"a.bin\" }"
        "  external_data { key: \"offset\" value: \"4\" } }"
        " initializer { name: \"c\" data_type: 1 dims: 1 data_location: EXTERNAL"
        "  external_data { key: \"location\" value: \"b.bin\" } }"
        " output { name: \"a\" type { tensor_type { elem_type: 1 shape { dim { } } } } } }";
    char folder[256];
    test_folder_new(folder);
    test_file_write(test_path(folder, "a.bin"), "1234", 4);
    test_file_write(test_path(folder, "m.textproto"), text, strlen(text));
    onx_load_options load = ONX_INIT(onx_load_options);
    load.no_external = true;
    onx_model *model = NULL;
    REQUIRE(!onx_model_load(NULL, test_path(folder, "m.textproto"), &load, &model, NULL));
    told t = {0};
    onx_check_options options = ONX_INIT(onx_check_options);
    options.report = hear;
    options.user = &t;
    CHECK_EQ(onx_model_check(model, &options, NULL), ONX_INVALID);
    test_put_byte(&t.text, 0);
    CHECK_STR(t.text.data, "external-data graph, initializer 'b'\n"
                           "external-data graph, initializer 'c'\n");
    test_bytes_free(&t.text);
    onx_model_free(model);
    test_folder_remove(folder);
}

/* Operators that a program added are checked like those of ONNX. */
TEST(added_operators) {
    onx_op_def twice = {.size = sizeof twice,
                        .domain = "my.ops",
                        .name = "Twice",
                        .since = 1,
                        .signature = "(X:T) -> (Y:T) {times:int=2} [T:float|double]"};
    check_case c = {.model = "<ir_version: 8, opset_import: [\"\" : 17, \"my.ops\" : 1]>\n"
                             "g (float[2] x, int64[2] i) => (float[2] y) {\n"
                             "y = my.ops.Twice <times = 3> (x) a = my.ops.Twice(x, x)\n"
                             "b = my.ops.Twice(i) c = my.ops.Twice <time = 3> (x) }"};
    onx_context *ctx = NULL;
    onx_model *model = NULL;
    told t = {0};
    REQUIRE(!onx_context_new(NULL, &ctx) && !onx_context_add_ops(ctx, 1, &twice, NULL));
    REQUIRE(!parse(ctx, &c, &model, NULL));
    CHECK_EQ(check(&c, model, &t, NULL), ONX_INVALID);
    test_put_byte(&t.text, 0);
    CHECK_STR(t.text.data, "input-count graph.node[1] (Twice)\n"
                           "attr-unknown graph.node[3] (Twice), attribute 'time'\n"
                           "edge-type graph.node[2] (Twice)\n");
    test_bytes_free(&t.text);
    onx_model_free(model);
    onx_context_free(ctx);
}

/* A model with something of everything survives. */
TEST(everything) {
    onx_model *model = test_model_rich(NULL);
    onx_check_options options = ONX_INIT(onx_check_options);
    options.full = true;
    onx_status status = onx_model_check(model, &options, NULL);
    CHECK(status == ONX_OK || status == ONX_INVALID);
    onx_model_free(model);
}

TEST_MAIN(E(cases) E(rules) E(rules_are_documented) E(arguments) E(errors_beyond_the_limit)
              E(too_deep_for_inference) E(external_files) E(added_operators) E(everything))
