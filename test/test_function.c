/* test_function.c: functions: bodies of operators, calls inlined. */
#include "test.h"

#include "infer/infer.h"
#include "ir/edit.h"
#include "ops/op.h"
#include "support.h"

static onx_model *parse(const char *text) {
    onx_load_options options = {.size = sizeof options, .format = ONX_FORMAT_TEXT, .copy = true};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    onx_status status = onx_model_load_memory(NULL, text, strlen(text), &options, &model, &diag);
    if (status) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    return model;
}

static void print(onx_model *model) {
    onx_save_options options = {.size = sizeof options, .format = ONX_FORMAT_TEXT};
    void *bytes;
    size_t size;
    if (onx_model_save_memory(model, &options, &bytes, &size, NULL)) return;
    fwrite(bytes, 1, size, stderr);
    onx_buffer_free(NULL, bytes, size);
}

static void check_equal(onx_model *model, const char *expected) {
    onx_model *other = parse(expected);
    onx_diag diag = ONX_INIT(onx_diag);
    REQUIRE(other != NULL);
    CHECK(test_links(model));
    if (!CHECK(onx_model_equal(model, other, &diag))) {
        fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
        print(model);
    }
    onx_model_free(other);
}

/* ── One call ────────────────────────────────────────────────────────────────────────────────── */

#define HEAD "<ir_version: 10, opset_import: [\"\": 21, \"d\": 1]>\n"
#define FUNCTION "<domain: \"d\", opset_import: [\"\": 21]>\n"

/* All calls in the main graph, once; then functions go. */
static onx_status inline_calls(onx_model *model, onx_diag *diag) {
    for (onx_node *node = onx_graph_node_first(model->graph), *next; node; node = next) {
        onx_function *f = onx_model_function_find(model, onx_node_domain(node), onx_node_op(node),
                                                  onx_node_overload(node));
        next = onx_node_next(node);
        if (f) ONX_TRY(onx_node_inline(node, f, NULL, diag));
    }
    while (onx_model_function_first(model))
        ONX_TRY(onx_function_remove(onx_model_function_first(model)));
    return ONX_OK;
}

static void check_calls(const char *before, const char *after) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = parse(before);
    REQUIRE(model != NULL);
    if (!CHECK(inline_calls(model, &diag) == ONX_OK))
        fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    check_equal(model, after);
    onx_model_free(model);
}

TEST(call) {
    check_calls(HEAD "g (float[N] x) => (float[N] y) { y = d.F <a = 2.0> (x) }\n" FUNCTION
                     "F <a> (p) => (q) { t = Elu <alpha: float = @a> (p) q = Add (t, p) }",
                HEAD "g (float[N] x) => (float[N] y) { y_t = Elu <alpha = 2.0> (x)"
                     " y = Add (y_t, x) }");
}

/* An attribute is the call's, the default, or nothing; also in graphs inside. */
TEST(attributes) {
    const char *f = FUNCTION "F <a, b: float = 0.25, c> (p) => (q) {\n"
                             " t = HardSigmoid <alpha: float = @a, beta: float = @b> (p)\n"
                             " q = Shrink <bias: float = @c, lambd: float = @b> (t) }";
    char before[1024];
    snprintf(before, sizeof before, "%s%s",
             HEAD "g (float[N] x) => (float[N] y) { [n] y = d.F <a = 2.0, b = 1.0> (x) }\n", f);
    check_calls(before, HEAD "g (float[N] x) => (float[N] y) {\n"
                             " n_t = HardSigmoid <alpha = 2.0, beta = 1.0> (x)\n"
                             " y = Shrink <lambd = 1.0> (n_t) }");
    snprintf(before, sizeof before, "%s%s",
             HEAD "g (float[N] x) => (float[N] y) { [n] y = d.F <c = 3.0> (x) }\n", f);
    check_calls(before, HEAD "g (float[N] x) => (float[N] y) {\n"
                             " n_t = HardSigmoid <beta = 0.25> (x)\n"
                             " y = Shrink <bias = 3.0, lambd = 0.25> (n_t) }");
}

/* Graphs inside take names from around them, and have some of their own; a graph that the call
 * gives means the caller's names. */
TEST(graphs) {
    check_calls(
        HEAD "g (float[N] x, bool c, float[N] t) => (float[N] y) {\n"
             " y = d.F <a = 2.0, e = ge () => (float[N] s) { s = Neg (t) }> (x, c) }\n" FUNCTION
             "F <a, e> (p, c) => (q) {\n"
             " t = Abs (p)\n"
             " q = If (c) <then_branch = gt () => (s) { u = Elu <alpha: float = @a> (t)"
             " s = Add (u, p) }, else_branch: graph = @e> }",
        HEAD "g (float[N] x, bool c, float[N] t) => (float[N] y) {\n"
             " y_t = Abs (x)\n"
             " y = If (c) <then_branch = gt () => (y_s) { y_u = Elu <alpha = 2.0> (y_t)"
             " y_s = Add (y_u, x) }, else_branch = ge () => (float[N] s) { s = Neg (t) }> }");
}

/* A name inside that hides a parameter is another value. */
TEST(shadows) {
    check_calls(HEAD "g (float[N] x, bool c) => (float[N] y) { y = d.F (x, x, c) }\n" FUNCTION
                     "F (p, r, c) => (q) {\n"
                     " q = If (c) <then_branch = gt () => (s) { p = Neg (r) s = Add (p, r) },"
                     " else_branch = ge () => (p) { p = Abs (r) }> }",
                HEAD "g (float[N] x, bool c) => (float[N] y) {\n"
                     " y = If (c) <then_branch = gt () => (y_s)"
                     " { y_p = Neg (x) y_s = Add (y_p, x) },"
                     " else_branch = ge () => (y_p_1) { y_p_1 = Abs (x) }> }");
}

TEST(missing) {
    check_calls(HEAD "g (float[N] x, float[N] m) => (float[N] y) {\n"
                     " y = d.F (x, , m)\n z = d.F (x) }\n" FUNCTION
                     "F (p, lo, hi) => (q, r) { q = Clip (p, lo, hi) r = Neg (q) }",
                HEAD "g (float[N] x, float[N] m) => (float[N] y) {\n"
                     " y = Clip (x, , m)\n y_r = Neg (y)\n"
                     " z = Clip (x)\n z_r = Neg (z) }");
}

/* Results that are parameters, or one value twice; results that nobody wants. */
TEST(results) {
    check_calls(HEAD "g (float[N] x) => (float[N] a, float[N] b, float[N] c) {\n"
                     " a, b, c, = d.F (x) }\n" FUNCTION
                     "F (p) => (p, q, q, r) { q = Abs (p) r = Neg (q) }",
                HEAD "g (float[N] x) => (float[N] a, float[N] b, float[N] c) {\n"
                     " b = Abs (x)\n a_r = Neg (b)\n a = Identity (x)\n c = Identity (b) }");
}

/* Names that are taken already, here or inside. */
TEST(names) {
    check_calls(HEAD "g (float[N] x, bool c, float[N] y_t) => (float[N] y, float[N] z) {\n"
                     " y = d.F (x)\n z = If (c) <then_branch = gt () => (w) { y_u = Neg (y)"
                     " w = Abs (y_u) }, else_branch = ge () => (v) { v = Neg (y) }> }\n" FUNCTION
                     "F (p) => (q) { t = Abs (p) t_1 = Neg (t) u = Abs (t_1) q = Neg (u) }",
                HEAD "g (float[N] x, bool c, float[N] y_t) => (float[N] y, float[N] z) {\n"
                     " y_t_2 = Abs (x)\n y_t_1 = Neg (y_t_2)\n"
                     " y_u_1 = Abs (y_t_1)\n y = Neg (y_u_1)\n"
                     " z = If (c) <then_branch = gt () => (w) { y_u = Neg (y)"
                     " w = Abs (y_u) }, else_branch = ge () => (v) { v = Neg (y) }> }");
}

/* Types that a function declares; its names of sizes are its own. */
TEST(types) {
    check_calls(HEAD "g (float[N] x) => (float[N] y) { y = d.F (x) }\n" FUNCTION
                     "F (float[N] p) => (float[N] q) <float[N,3] t> { t = Abs (p) q = Neg (t) }",
                HEAD "g (float[N] x) => (float[N] y) <float[?,3] y_t>"
                     " { y_t = Abs (x)\n y = Neg (y_t) }");
}

static void check_refused(const char *text, const char *sentence) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = parse(text), *copy = NULL;
    REQUIRE(model != NULL && onx_model_clone(model, &copy, NULL) == ONX_OK);
    CHECK_EQ(inline_calls(model, &diag), ONX_INVALID);
    if (!CHECK(strstr(diag.message, sentence))) fprintf(stderr, "    %s\n", diag.message);
    CHECK(onx_model_equal(model, copy, NULL) && test_links(model));
    onx_model_free(copy);
    onx_model_free(model);
}

TEST(refused) {
    check_refused(HEAD "g (float[N] x) => (float[N] y) { y = d.F (x, x) }\n" FUNCTION
                       "F (p) => (q) { q = Abs (p) }",
                  "takes 1 inputs, not 2");
    check_refused(HEAD "g (float[N] x) => (float[N] y) { y, z = d.F (x) }\n" FUNCTION
                       "F (p) => (q) { q = Abs (p) }",
                  "has 1 outputs, not 2");
    check_refused(HEAD "g (float[N] x) => (float[N] y) { y = d.F (x) }\n" FUNCTION
                       "F (p) => (q) { q = Add (p, x) }",
                  "uses what nothing in it defines: 'x'");
    check_refused(HEAD "g (float[N] x) => (float[N] y) { y = d.F (x) }\n" FUNCTION
                       "F (p) => (q) { r = Abs (p) }",
                  "does not compute 'q'");
    check_refused(HEAD "g (float[N] x) => (float[N] y) { y = d.F () }\n" FUNCTION
                       "F (p) => (p) { r = Abs (p) }",
                  "gives back an input that the call does not have: 'p'");
    check_refused(HEAD "g (float[N] x) => (float[N] y) { y = Abs (x)\n y = d.F (x) }\n" FUNCTION
                       "F (p) => (q) { q = Abs (p) }",
                  "'y' is defined more than once");
}

/* Memory that runs out anywhere leaves the call as it was. */
TEST(no_memory) {
    static const char text[] =
        HEAD "g (float[N] x, bool c) => (float[N] y) {\n"
             " y = d.F <a = 2.0, e = ge () => (s) { s = Neg (x) }> (x, c) }\n" FUNCTION
             "F <a, e> (p, c) => (q) <float[3] t> { t = Abs (p)\n"
             " q = If (c) <then_branch = gt () => (s) { u = Elu <alpha: float = @a> (t)"
             " s = Add (u, p) }, else_branch: graph = @e> }";
    onx_load_options options = {.size = sizeof options, .format = ONX_FORMAT_TEXT};
    bool done = false;
    for (size_t at = 1; !done && at < 2000; at++) {
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        onx_model *model = NULL, *copy = NULL;
        REQUIRE(onx_model_load_memory(ctx, text, strlen(text), &options, &model, NULL) == ONX_OK);
        REQUIRE(onx_model_clone(model, &copy, NULL) == ONX_OK);
        onx_arena *arena = &model->msg.doc->arena; /* leave little room in it */
        while ((size_t)(arena->end - arena->next) > 64) REQUIRE(onx_arena_alloc(arena, 16) != NULL);
        heap.fail_at = heap.calls + at;
        onx_node *call = onx_graph_node_first(model->graph);
        onx_status status = onx_node_inline(call, onx_model_function_first(model), NULL, NULL);
        heap.fail_at = 0;
        done = status == ONX_OK;
        CHECK(done || status == ONX_NO_MEMORY);
        CHECK(test_links(model));
        if (!done) CHECK(onx_model_equal(model, copy, NULL));
        onx_model_free(copy);
        onx_model_free(model);
        onx_context_free(ctx);
        CHECK_EQ(heap.bytes, 0);
    }
    CHECK(done);
}

/* ── The whole model ─────────────────────────────────────────────────────────────────────────── */

static void check_inline(const char *before, const onx_inline_options *options, const char *after) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = parse(before), *out = NULL;
    REQUIRE(model != NULL);
    if (!CHECK(onx_model_inline(model, options, &out, &diag) == ONX_OK))
        fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    if (out) check_equal(out, after);
    onx_model_free(out);
    onx_model_free(model);
}

static void check_fails(const char *text, const onx_inline_options *options, onx_status expected,
                        const char *sentence) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = parse(text), *out = NULL;
    REQUIRE(model != NULL);
    CHECK_EQ(onx_model_inline(model, options, &out, &diag), expected);
    if (!CHECK(strstr(diag.message, sentence))) fprintf(stderr, "    %s\n", diag.message);
    CHECK(out == NULL && diag.status == expected);
    onx_model_free(model);
}

#define XY "g (float[N] x) => (float[N] y) "

/* Functions that call functions, in graphs inside, of several overloads. */
TEST(nested) {
    check_inline(HEAD XY "{ y = d.F (x) }\n" FUNCTION
                         "F (p) => (q) { t = d.G:a (p) q = d.G:b (t) }\n"
                         "<domain: \"d\", overload: \"a\", opset_import: [\"\": 21]>\n"
                         "G (p) => (q) { q = Abs (p) }\n"
                         "<domain: \"d\", overload: \"b\", opset_import: [\"\": 21]>\n"
                         "G (p) => (q) { q = Neg (p) }",
                 NULL, HEAD XY "{ y_t = Abs (x) y = Neg (y_t) }");
    check_inline(HEAD "g (float[N] x, bool c) => (float[N] y) {\n"
                      " y = If (c) <then_branch = t () => (a) { a = d.F (x) },"
                      " else_branch = e () => (b) { b = d.F (x) }> }\n" FUNCTION
                      "F (p) => (q) { t = d.G (p) q = Neg (t) }\n" FUNCTION
                      "G (p) => (q) { t = Abs (p) q = Exp (t) }",
                 NULL,
                 HEAD "g (float[N] x, bool c) => (float[N] y) {\n"
                      " y = If (c) <then_branch = t () => (a)"
                      " { a_t_t = Abs (x) a_t = Exp (a_t_t) a = Neg (a_t) },"
                      " else_branch = e () => (b)"
                      " { b_t_t = Abs (x) b_t = Exp (b_t_t) b = Neg (b_t) }> }");
}

/* A call in a function passes on an attribute of its own. */
TEST(passed_on) {
    check_inline(HEAD XY "{ y = d.F <a = 2.0> (x) }\n" FUNCTION
                         "F <a> (p) => (q) { q = d.G <b: float = @a> (p) }\n" FUNCTION
                         "G <b, c: float = 3.0> (p) => (q)"
                         " { q = HardSigmoid <alpha: float = @b, beta: float = @c> (p) }",
                 NULL, HEAD XY "{ y = HardSigmoid <alpha = 2.0, beta = 3.0> (x) }");
}

/* Names of nodes that differed still do. */
TEST(node_names) {
    check_inline(HEAD XY "{ [n_a] t = Abs (x) [n] u = d.F (t) [m] y = d.F (u) }\n" FUNCTION
                         "F (p) => (q) { [a] s = Neg (p) [a] q = Neg (s) }",
                 NULL,
                 HEAD XY "{ [n_a] t = Abs (x) [n_a_1] n_s = Neg (t) [n_a_2] u = Neg (n_s)"
                         " [m_a] m_s = Neg (u) [m_a_3] y = Neg (m_s) }");
}

TEST(selected) {
    static const char model[] =
        HEAD XY "{ t = d.F (x) y = d.G (t) }\n" FUNCTION "F (p) => (q) { q = d.H (p) }\n" FUNCTION
                "G (p) => (q) { q = d.H (p) }\n" FUNCTION "H (p) => (q) { q = Abs (p) }\n";
    const char *f[] = {"d::F"}, *h[] = {"d::H"}, *all[] = {"d::*"};
    onx_inline_options o = ONX_INIT(onx_inline_options);
    o.only = f, o.n_only = 1;
    check_inline(model, &o,
                 HEAD XY "{ t = d.H (x) y = d.G (t) }\n" FUNCTION
                         "G (p) => (q) { q = d.H (p) }\n" FUNCTION
                         "H (p) => (q) { q = Abs (p) }\n");
    o.only = h;
    check_inline(model, &o,
                 HEAD XY "{ t = d.F (x) y = d.G (t) }\n" FUNCTION
                         "F (p) => (q) { q = Abs (p) }\n" FUNCTION
                         "G (p) => (q) { q = Abs (p) }\n");
    o = ONX_INIT(onx_inline_options);
    o.except = h, o.n_except = 1;
    check_inline(model, &o,
                 HEAD XY "{ t = d.H (x) y = d.H (t) }\n" FUNCTION "H (p) => (q) { q = Abs (p) }\n");
    o.except = all;
    check_inline(model, &o, model);
    o = ONX_INIT(onx_inline_options);
    o.only = all, o.n_only = 1, o.except = f, o.n_except = 1, o.keep = true;
    check_inline(model, &o,
                 HEAD XY
                 "{ t = d.F (x) y = Abs (t) }\n" FUNCTION "F (p) => (q) { q = Abs (p) }\n" FUNCTION
                 "G (p) => (q) { q = d.H (p) }\n" FUNCTION "H (p) => (q) { q = Abs (p) }\n");
    const char *none[] = {"d::X"};
    o.only = none;
    check_fails(model, &o, ONX_NOT_FOUND, "no function 'd::X'");
}

/* What a function imports and the model does not is added; another version must mean the same. */
TEST(imports) {
    check_inline(HEAD XY "{ y = d.F (x) }\n"
                         "<domain: \"d\", opset_import: [\"\": 18, \"ai.onnx.ml\": 3, \"z\": 1]>\n"
                         "F (p) => (q) { t = ai.onnx.ml.Binarizer (p) q = Relu (t) }",
                 NULL,
                 "<ir_version: 10, opset_import: [\"\": 21, \"d\": 1, \"ai.onnx.ml\": 3]>\n" XY
                 "{ y_t = ai.onnx.ml.Binarizer (x) y = Relu (y_t) }");
    /* or the function is converted */
    check_inline(HEAD XY "{ y = d.F (x) }\n<domain: \"d\", opset_import: [\"\": 12]>\n"
                         "F (p) => (q) { q = Unsqueeze <axes = [0]> (p) }",
                 NULL,
                 "#@ each tensor { raw }\n" HEAD XY
                 "{ y_axes = Constant <value = int64[1] {0}> ()\n"
                 " y = Unsqueeze (x, y_axes) }");
    check_fails("<ir_version: 8, opset_import: [\"\": 12, \"d\": 1]>\n" XY
                "{ y = d.F (x) }\n" FUNCTION "F (p) => (q) { q = Gelu (p) }",
                NULL, ONX_UNSUPPORTED, "Gelu is not the same in both");
}

TEST(cycles) {
    check_fails(HEAD XY "{ y = d.F (x) }\n" FUNCTION "F (p) => (q) { q = d.F (p) }", NULL,
                ONX_INVALID, "F calls F");
    check_fails(HEAD "g (float[N] x, bool c) => (float[N] y) { y = d.F (x, c) }\n" FUNCTION
                     "F (p, c) => (q) { q = d.G (p, c) }\n" FUNCTION
                     "G (p, c) => (q) { q = If (c) <then_branch = t () => (a) { a = Abs (p) },"
                     " else_branch = e () => (b) { b = d.F (p, c) }> }",
                NULL, ONX_INVALID, "F calls G calls F");
    check_fails(HEAD XY "{ y = Relu (x) }\n<domain: \"ai.onnx\", opset_import: [\"\": 21]>\n"
                        "Relu (p) => (q) { q = Relu (p) }",
                NULL, ONX_INVALID, "Relu calls Relu");
}

/* Each calls the next twice. */
static char *doubling(size_t n) {
    static char text[16384];
    size_t at = (size_t)snprintf(text, sizeof text, HEAD XY "{ y = d.F0 (x) }\n");
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               FUNCTION "F%zu (p) => (q) { t = d.F%zu (p) q = d.F%zu (t) }\n", i,
                               i + 1, i + 1);
    snprintf(text + at, sizeof text - at, FUNCTION "F%zu (p) => (q) { q = Abs (p) }", n);
    return text;
}

TEST(doubling) {
    onx_inline_options o = ONX_INIT(onx_inline_options);
    check_fails(doubling(100), NULL, ONX_LIMIT, "far too large");
    o.max_bytes = 100000;
    check_fails(doubling(10), &o, ONX_LIMIT, "far too large");
    onx_model *model = parse(doubling(10)), *out = NULL;
    REQUIRE(model && onx_model_inline(model, NULL, &out, NULL) == ONX_OK);
    CHECK_EQ(onx_graph_node_count(out->graph), 1024);
    CHECK(test_links(out));
    onx_model_free(out);
    onx_model_free(model);
}

/* A graph that is given on, and used twice each time. */
TEST(doubling_graphs) {
    static char text[32768];
    size_t at = (size_t)snprintf(text, sizeof text,
                                 HEAD "g (float[N] x, bool c) => (float[N] y)"
                                      " { y = d.F0 <e = h () => (z) { z = Neg (x) }> (x, c) }\n");
    for (size_t i = 0; i < 100; i++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               FUNCTION "F%zu <e> (p, c) => (q) { q = d.F%zu <e = h%zu () => (s) {"
                                        " s = If (c) <then_branch: graph = @e,"
                                        " else_branch: graph = @e> }> (p, c) }\n",
                               i, i + 1, i);
    snprintf(text + at, sizeof text - at,
             FUNCTION "F100 <e> (p, c) => (q) { q = If (c) <then_branch: graph = @e,"
                      " else_branch: graph = @e> }");
    onx_inline_options o = ONX_INIT(onx_inline_options);
    o.max_bytes = (size_t)16 << 20;
    check_fails(text, &o, ONX_LIMIT, "far too large");
}

/* ── Facts ───────────────────────────────────────────────────────────────────────────────────── */

static size_t n_reports;
static void count_report(void *user, const onx_node *node, const onx_value *value,
                         const onx_diag *diag) {
    (void)node, (void)value;
    snprintf(user, 600, "%s", diag->message);
    n_reports++;
}

/* The fact of the graph's value `name`, as text. */
static void check_fact(const char *text, const char *name, const char *expected, size_t reports) {
    char message[600] = "", out[128] = "";
    onx_facts_options options = {.report = count_report, .user = message};
    onx_model *model = parse(text);
    onx_facts *facts = NULL;
    onx_buf buf;
    REQUIRE(model != NULL);
    n_reports = 0;
    REQUIRE(onx_facts_new(model, &options, &facts, NULL) == ONX_OK);
    onx_buf_init(&buf, onx_context_or_default(NULL));
    onx_fact_print(onx_facts_of(facts, onx_graph_find(model->graph, name)), &buf);
    snprintf(out, sizeof out, "%.*s", (int)buf.size, buf.data ? buf.data : "");
    CHECK_STR(out, expected);
    CHECK_EQ(n_reports, reports);
    if (n_reports != reports) fprintf(stderr, "    %s\n", message);
    onx_buf_fini(&buf);
    onx_facts_free(facts);
    onx_model_free(model);
}

#define X "g (float[N,3] x) => (y) "

TEST(facts) {
    check_fact(HEAD X "{ y = d.F <k = 1> (x) }\n" FUNCTION
                      "F <k, n: int = 2> (p) => (q) { t = Concat <axis: int = @k> (p, p)\n"
                      " u = Concat <axis: int = @n> (t, t)\n q = Concat <axis = 0> (u, t) }",
               "y", "?[?0,6]", 1); /* an axis that there is not */
    check_fact(HEAD X "{ y = d.F <k = 1, n = 0> (x) }\n" FUNCTION
                      "F <k, n: int = 2> (p) => (q) { t = Concat <axis: int = @k> (p, p)\n"
                      " q = Concat <axis: int = @n> (t, t) }",
               "y", "float[2*N,6]", 0);
    /* through calls in calls, graphs inside, and missing inputs */
    check_fact(HEAD X "{ y = d.F (x) }\n" FUNCTION "F (p, m) => (q) { t = d.G (p)\n"
                      " q = Clip (t, m) }\n" FUNCTION
                      "G (p) => (q) { c = Constant <value = bool {1}> ()\n"
                      " q = If (c) <then_branch = t () => (a) { a = Transpose (p) },"
                      " else_branch = e () => (b) { b = Transpose (p) }> }",
               "y", "float[3,N]", 0);
    /* recursion */
    check_fact(HEAD X "{ y = d.F (x) }\n" FUNCTION "F (p) => (q) { q = d.F (p) }", "y", "?", 1);
}

/* Values follow, too; and what comes out of data is not the same twice. */
TEST(facts_values) {
    check_fact(HEAD X "{ s = d.F (x)\n y = Reshape (x, s) }\n" FUNCTION
                      "F (p) => (q) { s = Shape (p)\n z = Constant <value_ints = [-1]> ()\n"
                      " n = Shape <start = 1> (p)\n q = Concat <axis = 0> (n, z) }",
               "y", "float[3,N]", 0);
    check_fact(HEAD "g (float[N] a, float[N] b) => (y) { s = d.F (a)\n t = d.F (b)\n"
                    " y = Add (s, t) }\n" FUNCTION
                    "F (p) => (q) { n = NonZero (p)\n q = Transpose (n) }",
               "s", "int64[?0,1]", 0);
    check_fact(HEAD "g (float[N] a, float[N] b) => (y) { s = d.F (a)\n t = d.F (b)\n"
                    " y = Concat <axis = 0> (s, t) }\n" FUNCTION
                    "F (p) => (q) { n = NonZero (p)\n q = Transpose (n) }",
               "y", "int64[?0 + ?1,1]", 0);
}

TEST(facts_doubling) {
    check_fact(doubling(100), "y", "float[N]", 0);
    /* Sizes that depend on data: nothing can be remembered. */
    static char text[16384];
    size_t at = (size_t)snprintf(text, sizeof text, HEAD XY "{ y = d.F0 (x) }\n");
    for (size_t i = 0; i < 100; i++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               FUNCTION "F%zu (p) => (q) { t = d.F%zu (p) q = d.F%zu (t) }\n", i,
                               i + 1, i + 1);
    snprintf(text + at, sizeof text - at,
             FUNCTION "F100 (p) => (q) { n = NonZero (p) z = Constant <value_ints = [-1]> ()"
                      " f = Reshape (n, z) q = Cast <to = 1> (f) }");
    check_fact(text, "y", "float[N]", 1);
}

/* Deeper than is followed; and the same function many times. */
TEST(facts_deep) {
    static char text[200000];
    size_t at = (size_t)snprintf(text, sizeof text, HEAD XY "{ y = d.F0 (x) }\n");
    for (size_t i = 0; i < 1000; i++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               FUNCTION "F%zu (p) => (q) { q = d.F%zu (p) }\n", i, i + 1);
    snprintf(text + at, sizeof text - at, FUNCTION "F1000 (p) => (q) { q = Abs (p) }");
    check_fact(text, "y", "float[N]", 1);
    at = (size_t)snprintf(text, sizeof text, HEAD "g (float[N,1] x0, bool c) => (y) {\n");
    for (size_t i = 0; i < 1000; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "x%zu = d.F (x%zu, c)\n", i + 1, i);
    snprintf(text + at, sizeof text - at,
             "y = Identity (x1000) }\n" FUNCTION
             "F (p, c) => (q) { q = If (c) <then_branch = t () => (a) { a = Abs (p) },"
             " else_branch = e () => (b) { n = NonZero (p) b = Neg (p) }> }");
    check_fact(text, "y", "float[N,1]", 0);
}

/* ── Bodies of operators ─────────────────────────────────────────────────────────────────────── */

/* Every body that is text can be read, and computes every output. */
TEST(bodies) {
    size_t n = 0;
    for (const onx_family *family = onx_op_table; family->name; family++)
        for (const onx_op *op = family->ops; op->name; op++) {
            onx_node node = {.graph = NULL};
            onx_model *model = NULL;
            onx_diag diag = ONX_INIT(onx_diag);
            if (!op->function) continue;
            n++;
            onx_status status = onx_op_body(op, &node, 0, NULL, NULL, &model, &diag);
            if (!CHECK(status == ONX_OK)) {
                fprintf(stderr, "    %s %d: %s\n", op->name, (int)op->since, diag.message);
                continue;
            }
            const onx_function *f = onx_model_function_first(model);
            CHECK_STR(onx_function_name(f), op->name);
            CHECK(f->output.n > 0);
            for (size_t i = 0; i < f->output.n; i++) CHECK(f->body.outs.v[i]->value->def != NULL);
            onx_model_free(model);
        }
    CHECK(n >= 37);
}

/* ── Sessions ────────────────────────────────────────────────────────────────────────────────── */

static void check_run(const char *text, const float x[3], const float expected[3]) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = parse(text);
    onx_session *session = NULL;
    float in[3] = {x[0], x[1], x[2]}, got[3] = {0};
    onx_arg arg = {.dtype = ONX_DTYPE_F32, .rank = 1, .dims = {3}, .data = in, .bytes = sizeof in};
    onx_arg out = {.data = got, .bytes = sizeof got};
    REQUIRE(model != NULL);
    bool ok = onx_session_new(model, NULL, &session, &diag) == ONX_OK &&
              onx_session_run(session, 1, &arg, 1, &out, NULL, &diag) == ONX_OK;
    if (!CHECK(ok)) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    for (size_t i = 0; i < 3; i++)
        CHECK(got[i] > expected[i] - 1e-5f && got[i] < expected[i] + 1e-5f);
    onx_session_free(session);
    onx_model_free(model);
}

/* Functions that call functions; one that hides an operator; an operator without a kernel. */
TEST(sessions) {
    const float x[] = {-1, 0.5f, 2};
    check_run(HEAD XY "{ y = d.F <a = 3.0> (x) }\n" FUNCTION
                      "F <a> (p) => (q) { t = d.G <a: float = @a> (p) q = Add (t, p) }\n" FUNCTION
                      "G <a> (p) => (q) { c = Constant <value_float: float = @a> ()\n"
                      " q = Mul (p, c) }",
              x, (float[]){-4, 2, 8});
    check_run(HEAD XY "{ y = Relu (x) }\n<domain: \"\", opset_import: [\"\": 21]>\n"
                      "Relu (p) => (q) { q = Neg (p) }",
              x, (float[]){1, -0.5f, -2});
    check_run("<ir_version: 10, opset_import: [\"\": 17]>\n" XY
              "{ n = Constant <value_int = 3> ()\n w = HannWindow <periodic = 0> (n)\n"
              " y = Mul (x, w) }",
              x, (float[]){0, 0.5f, 0});
}

/* A model from before imports means the first version of everything, and goes on to do so. */
TEST(old_models) {
    static const char old[] = "<ir_version: 2>\n" XY "{ t = Softplus (x) y = Softsign (t) }";
    onx_inline_options o = ONX_INIT(onx_inline_options);
    o.all_operators = true;
    check_inline(old, &o, old);
}

/* ── Failing memory, all the way ─────────────────────────────────────────────────────────────── */

static const char everything[] =
    HEAD "g (float[N,4] x, bool c) => (y) {\n"
         " t = d.F <a = 2.0, e = ge () => (s) { s = Neg (x) }> (x, c)\n"
         " u = d.F <e = ge () => (s) { s = Neg (x) }> (t, c)\n"
         " v = LayerNormalization (u, w)\n y = Celu (v) }\n" FUNCTION
         "F <a: float = 1.0, e> (p, c) => (q) <float[3] t> { t = d.G (p)\n"
         " q = If (c) <then_branch = gt () => (s) { u = Elu <alpha: float = @a> (t)"
         " s = Add (u, p) }, else_branch: graph = @e> }\n"
         "<domain: \"d\", opset_import: [\"\": 12]>\n"
         "G (p) => (q) { q = Squeeze <axes = [0]> (p) }";

static onx_status use_all(onx_context *ctx) {
    onx_load_options load = {.size = sizeof load, .format = ONX_FORMAT_TEXT};
    onx_inline_options how = ONX_INIT(onx_inline_options);
    onx_facts_options infer = {.report = onx_facts_ignore};
    onx_model *model = NULL, *out = NULL;
    onx_facts *facts = NULL;
    how.all_operators = true;
    onx_status status =
        onx_model_load_memory(ctx, everything, strlen(everything), &load, &model, NULL);
    if (!status) status = onx_facts_new(model, &infer, &facts, NULL);
    if (!status) status = onx_model_inline(model, &how, &out, NULL);
    CHECK(!out || test_links(out));
    onx_facts_free(facts);
    onx_model_free(out);
    onx_model_free(model);
    return status;
}

TEST(no_memory_at_all) {
    bool done = false;
    for (size_t at = 1; !done && at < 20000; at++) {
        test_heap heap = {.fail_count = 1};
        onx_context *ctx = test_context(&heap, NULL);
        heap.fail_at = heap.calls + at;
        onx_status status = use_all(ctx);
        CHECK(status == ONX_OK || status == ONX_NO_MEMORY);
        done = status == ONX_OK && !heap.failed;
        onx_context_free(ctx);
        CHECK_EQ(heap.bytes, 0);
    }
    CHECK(done);
}

TEST_MAIN(E(sessions) E(old_models) E(no_memory_at_all) E(nested) E(passed_on) E(node_names)
              E(selected) E(imports) E(cycles) E(doubling) E(doubling_graphs) E(facts)
                  E(facts_values) E(facts_doubling) E(facts_deep) E(bodies) E(call) E(attributes)
                      E(graphs) E(shadows) E(missing) E(results) E(names) E(types) E(refused)
                          E(no_memory))
