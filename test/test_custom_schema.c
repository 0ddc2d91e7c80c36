/* test_custom_schema.c: operators that a program adds to a context: what is refused, and that what
 * is accepted counts as much as an operator of the tables. */
#include "test.h"

#include "infer/infer.h"
#include "support.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 20, \"my.ops\" : 3]>\n"

static onx_context *context_of(size_t n, const onx_op_def *defs) {
    onx_context *ctx = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    if (onx_context_new(NULL, &ctx)) return NULL;
    if (onx_context_add_ops(ctx, n, defs, &diag) == ONX_OK) return ctx;
    fprintf(stderr, "    %s\n", diag.message);
    onx_context_free(ctx);
    return NULL;
}

static onx_model *load(onx_context *ctx, const char *text) {
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    options.format = ONX_FORMAT_TEXT;
    options.copy = true;
    if (onx_model_load_memory(ctx, text, strlen(text), &options, &model, &diag) &&
        diag.status != ONX_NO_MEMORY)
        fprintf(stderr, "    %s: %s\n%s\n", diag.place, diag.message, text);
    return model;
}

/* What is known of `name` in a model, "!" and the sentence when it cannot be right. */
static void facts_of(onx_context *ctx, const char *model_text, const char *name, char out[600]) {
    onx_model *model = load(ctx, model_text);
    onx_facts *facts = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    snprintf(out, 600, "nothing");
    if (model && onx_facts_new(model, NULL, &facts, &diag) == ONX_OK) {
        onx_buf text;
        onx_buf_init(&text, onx_context_or_default(NULL));
        onx_fact_print(onx_facts_of(facts, onx_graph_find(onx_model_graph(model), name)), &text);
        snprintf(out, 600, "%.*s", (int)text.size, text.data);
        onx_buf_fini(&text);
    } else if (model) {
        snprintf(out, 600, "!%s", diag.message);
    }
    onx_facts_free(facts);
    onx_model_free(model);
}

#define DEF(name_, signature_)                                                                     \
    { .size = sizeof(onx_op_def), .domain = "my.ops", .name = name_, .signature = signature_ }

TEST(refused) {
    static const struct {
        onx_op_def def;
        onx_status status;
        const char *words;
    } cases[] = {
        {DEF(NULL, "(X:float) -> ()"), ONX_USAGE, "name"},
        {DEF("", "(X:float) -> ()"), ONX_USAGE, "name"},
        {DEF("a b", "(X:float) -> ()"), ONX_USAGE, "'a b'"},
        {DEF("3a", "(X:float) -> ()"), ONX_USAGE, "'3a'"},
        {DEF("Op", NULL), ONX_USAGE, "signature"},
        {DEF("Op", "(X:float)"), ONX_INVALID, "signature"},
        {DEF("Op", "(X:Q) -> (Y:float)"), ONX_INVALID, "(X:Q)"},
        {DEF("Op", "() -> () {a:integer}"), ONX_INVALID, "integer"},
        {{.name = "Op"}, ONX_USAGE, "size"},
        {{.size = sizeof(onx_op_def),
          .domain = "d",
          .name = "Op",
          .signature = "() -> ()",
          .function = "<18> Y = "},
         ONX_MALFORMED,
         ""},
        {{.size = sizeof(onx_op_def), .name = "Relu", .signature = "() -> ()"},
         ONX_CONFLICT,
         "'Relu'"},
        {{.size = sizeof(onx_op_def), .name = "Relu", .domain = "ai.onnx", .signature = "() -> ()"},
         ONX_CONFLICT,
         "'Relu'"},
        {{.size = sizeof(onx_op_def), .name = "A", .domain = "a b", .signature = "() -> ()"},
         ONX_USAGE,
         "domain"},
        {{.size = sizeof(onx_op_def), .name = "A", .since = -1, .signature = "() -> ()"},
         ONX_USAGE,
         "version"},
        {{.size = sizeof(onx_op_def), .name = "A", .since = INT64_MAX, .signature = "() -> ()"},
         ONX_USAGE,
         "version"},
        {{.size = sizeof(onx_op_def),
          .name = "A",
          .domain = "onx.internal",
          .signature = "() -> ()"},
         ONX_USAGE,
         "domain"},
    };
    onx_context *ctx = NULL;
    REQUIRE(onx_context_new(NULL, &ctx) == ONX_OK);
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        onx_diag diag = ONX_INIT(onx_diag);
        CHECK_EQ(onx_context_add_ops(ctx, 1, &cases[i].def, &diag), cases[i].status);
        if (!CHECK(strstr(diag.message, cases[i].words)))
            fprintf(stderr, "    %zu: %s\n", i, diag.message);
    }
    CHECK(!onx_op_custom_at(ctx, 0));
    onx_op_def good = DEF("Good", "() -> ()");
    onx_diag diag = ONX_INIT(onx_diag);
    CHECK_EQ(onx_context_add_ops(NULL, 1, &good, &diag), ONX_USAGE);
    CHECK_EQ(onx_context_add_ops(ctx, 1, NULL, &diag), ONX_USAGE);
    CHECK_EQ(onx_context_add_ops(ctx, 0, NULL, &diag), ONX_OK);
    onx_context_free(ctx);
}

TEST(all_or_none) {
    onx_op_def defs[] = {DEF("B", "() -> ()"), DEF("A", "() -> ()"), DEF("B", "(X:float) -> ()")};
    onx_context *ctx = context_of(2, defs);
    onx_diag diag = ONX_INIT(onx_diag);
    REQUIRE(ctx);
    CHECK_EQ(onx_context_add_ops(ctx, 1, &defs[2], &diag), ONX_CONFLICT);
    CHECK(strstr(diag.message, "'B'"));
    CHECK_STR(onx_op_custom_at(ctx, 0)->name, "A");
    CHECK_STR(onx_op_custom_at(ctx, 1)->signature, "() -> ()");
    CHECK(!onx_op_custom_at(ctx, 2));
    defs[0].domain = defs[1].domain = defs[2].domain = "other";
    CHECK_EQ(onx_context_add_ops(ctx, 3, defs, &diag), ONX_CONFLICT);
    CHECK(!onx_op_custom_at(ctx, 2));
    onx_context_free(ctx);
}

TEST(versions) {
    onx_op_def defs[3] = {DEF("Op", "() -> (Y:float)"), DEF("Op", "() -> (Y:int8)"),
                          DEF("Op", "() -> (Y:bool)")};
    defs[0].since = 5, defs[1].since = 2, defs[2].since = 9;
    onx_context *ctx = context_of(3, defs);
    REQUIRE(ctx);
    static const int since[] = {0, 0, 2, 2, 2, 5, 5, 5, 5, 9, 9};
    for (int v = 0; v < 11; v++) {
        const onx_op *op = onx_op_lookup(ctx, ONX_LIT("my.ops"), ONX_LIT("Op"), v);
        CHECK_EQ(op ? op->since : 0, since[v]);
    }
    CHECK(!onx_op_lookup(ctx, ONX_LIT("my.op"), ONX_LIT("Op"), 9));
    CHECK(!onx_op_lookup(ctx, ONX_LIT("my.ops"), ONX_LIT("Opq"), 9));
    CHECK(!onx_op_lookup(ctx, ONX_LIT("my.ops"), ONX_LIT("O"), 9));
    CHECK(!onx_op_lookup(NULL, ONX_LIT("my.ops"), ONX_LIT("Op"), 9));
    CHECK(onx_op_lookup(ctx, ONX_LIT("ai.onnx"), ONX_LIT("Relu"), 20) != NULL);
    onx_context_free(ctx);
}

/* A caller built against a header whose struct ended with the signature. */
TEST(shorter_struct) {
    struct {
        size_t size;
        const char *domain, *name;
        int64_t since;
        const char *signature;
    } old[2] = {{sizeof old[0], NULL, "OldA", 7, "() -> (Y:float)"},
                {sizeof old[0], "", "OldB", 0, "() -> (Y:float)"}};
    onx_context *ctx = context_of(2, (const onx_op_def *)(const void *)old);
    REQUIRE(ctx);
    CHECK(onx_op_lookup(ctx, ONX_LIT(""), ONX_LIT("OldA"), 7) != NULL);
    CHECK(onx_op_lookup(ctx, ONX_LIT("ai.onnx"), ONX_LIT("OldB"), 1) != NULL);
    onx_context_free(ctx);
}

/* ── Inference ── */

TEST(types_from_the_signature) {
    onx_op_def defs[] = {
        DEF("Same", "(X:T, U:V) -> (Y:T, Z:V, F:float, S:seq(int64), A:W, M*:V) [T:all1|seq(all1),"
                    " V:f, W:f]"),
        DEF("One", "() -> (Y:T) [T:int8]"),
        DEF("Any", "(X**:T) -> (Y:T) [T:all1]"),
    };
    static const char *const expected[][2] = {
        {"y", "double[]"}, {"z", "float16[]"},     {"f", "float[]"},    {"s", "seq(int64[])"},
        {"a", "?"},        {"m0", "float16[]"},    {"m1", "float16[]"}, {"o", "int8[]"},
        {"n", "?"},        {"q", "seq(float[2])"},
    };
    onx_context *ctx = context_of(3, defs);
    REQUIRE(ctx);
    for (size_t i = 0; i < ONX_COUNT(expected); i++) {
        char text[600];
        facts_of(ctx,
                 HEAD "g (double[2] x, float16 u, seq(float[2]) p) => (y) {\n"
                      " y, z, f, s, a, m0, m1 = my.ops.Same (x, u)\n"
                      " o = my.ops.One ()\n n = my.ops.Any (x)\n q = my.ops.Same (p, u)\n}",
                 expected[i][0], text);
        CHECK_STR(text, expected[i][1]);
    }
    onx_context_free(ctx);
}

/* Y has twice as many rows as X, and as many columns as `n` says; `times` by default 2. */
static onx_status infer_grow(onx_infer *in, void *user) {
    char rows[100], type[300];
    size_t n;
    const int64_t *values;
    ++*(size_t *)user;
    if (onx_infer_rank(in, 0) < 0) return ONX_OK;
    if (onx_infer_rank(in, 0) != 2)
        return onx_infer_fail(in, "Grow needs a matrix, not rank %d", (int)onx_infer_rank(in, 0));
    if (onx_infer_dim(in, 0, 0) == 13) return ONX_UNSUPPORTED;
    onx_infer_dim_text(in, 0, 0, rows, sizeof rows);
    if (!onx_infer_ints(in, 1, &n, &values) || n != 1) return ONX_OK;
    snprintf(type, sizeof type, "%s[%d*(%s), %lld]", onx_dtype_name(onx_infer_dtype(in, 0)),
             (int)onx_infer_int(in, "times"), rows, (long long)values[0]);
    return onx_infer_set_type(in, 0, type);
}

TEST(inference_of_its_own) {
    size_t calls = 0;
    onx_op_def def = DEF("Grow", "(X:T, n:int64) -> (Y:T) {times:int=2} [T:f]");
    def.infer = infer_grow;
    def.user = &calls;
    onx_context *ctx = context_of(1, &def);
    REQUIRE(ctx);
    static const struct {
        const char *inputs, *node, *fact;
    } cases[] = {
        {"float[N,M] x", "y = my.ops.Grow (x, seven)", "float[2*N,7]"},
        {"float[4,M] x", "y = my.ops.Grow <times = 3> (x, seven)", "float[12,7]"},
        {"float[?,M] x", "y = my.ops.Grow (x, seven)", "float[2*?0,7]"},
        {"float[N,M] x", "b = my.ops.Grow (x, seven) y = my.ops.Grow (b, seven)", "float[4*N,7]"},
        {"float[N,M] x, int64[1] n", "y = my.ops.Grow (x, n)", "float[]"},
        {"float[] x", "y = my.ops.Grow (x, seven)", "float[]"},
        {"float[3] x", "y = my.ops.Grow (x, seven)", "!Grow needs a matrix, not rank 1"},
        {"float[13,2] x", "y = my.ops.Grow (x, seven)",
         "!the inference of Grow refuses the node (UNSUPPORTED)"},
        {"float[5,2] x", "y = my.ops.Grow <times = -1> (x, seven)",
         "!dimension 0 of output 0 would have the size -5"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        char text[1000], fact[600];
        size_t before = calls;
        snprintf(text, sizeof text, HEAD "g (%s) => (y) <int64[1] seven = {7}> {\n %s\n}",
                 cases[i].inputs, cases[i].node);
        facts_of(ctx, text, "y", fact);
        CHECK_STR(fact, cases[i].fact);
        CHECK(calls > before);
    }
    onx_context_free(ctx);
}

static onx_status infer_text(onx_infer *in, void *user) {
    char type[64];
    CHECK_EQ(onx_infer_type(in, 0, type, sizeof type), strlen(type));
    CHECK_EQ(onx_infer_type(in, 0, type, 4), onx_infer_type(in, 0, NULL, 0));
    CHECK_EQ(strlen(type), 3);
    CHECK_EQ(onx_infer_dim(in, 0, 99), -1);
    CHECK_EQ(onx_infer_rank(in, 7), -1);
    CHECK_EQ(onx_infer_dtype(in, 7), ONX_DTYPE_NONE);
    CHECK_STR(onx_node_op(onx_infer_node(in)), "Text");
    CHECK_EQ(onx_infer_set_type(in, 9, "float"), ONX_OK); /* nobody has that output */
    return onx_infer_set_type(in, 0, user);
}

TEST(types_as_text) {
    static const char *const cases[][2] = {
        {"float", "float"},
        {"float[]", "float[]"},
        {" int64 [ 2 , ? , \"a b\" ] ", "int64[2,?1,a b]"},
        {"bool[min(N, 3), floor(N/2)]", "bool[min(N, 3),floor(N/2)]"},
        {"seq(float[N])", "seq(float[N])"},
        {"optional(seq(string))", "optional(seq(string))"},
        {"map(int64, seq(float[2]))", "map(int64, seq(float[2]))"},
        {"sparse_tensor(float[3,N])", "sparse_tensor(float[3,N])"},
        {"", "!'' is not a type"},
        {"floaty", "!'floaty' is not a type"},
        {"float[2", "!'float[2' is not a type"},
        {"float[2,,3]", "!'float[2,,3]' is not a type"},
        {"seq(", "!'seq(' is not a type"},
        {"seq()", "!'seq()' is not a type"},
        {"[", "!'[' is not a type"},
        {NULL, "!the type of output 0 is NULL"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        char fact[600];
        onx_op_def def = DEF("Text", "(X:float) -> (Y:T) [T:all1]");
        def.infer = infer_text;
        def.user = (void *)(uintptr_t)cases[i][0];
        onx_context *ctx = context_of(1, &def);
        REQUIRE(ctx);
        facts_of(ctx, HEAD "g (float[N,?] x) => (y) { y = my.ops.Text (x) }", "y", fact);
        CHECK_STR(fact, cases[i][1]);
        onx_context_free(ctx);
    }
}

/* An operator that is a function is inferred and run through its body. */
TEST(functions) {
    onx_op_def defs[] = {
        DEF("Twice", "(X:T) -> (Y:T) {times:int=2} [T:f]"),
        DEF("Both", "(X:T, W?:T) -> (Y:T, S:int64) [T:f]"),
        DEF("All", "(X*:T) -> (Y:T) [T:f]"),
    };
    defs[0].function = "<20> Y = Add (X, X)";
    defs[1].function = "<20> T = my.ops.Twice (X) Y = Concat <axis = 0> (T, X) S = Shape (Y)";
    defs[2].function = "<20> Y = Concat <axis = 0> (X0, X1)";
    static const char text[] = HEAD "g (float[N,3] x) => (float[M,3] y, int64[2] s) {\n"
                                    " y, s = my.ops.Both (x)\n z = my.ops.All (x, y)\n}";
    onx_context *ctx = context_of(ONX_COUNT(defs), defs);
    char fact[600];
    REQUIRE(ctx);
    facts_of(ctx, text, "y", fact);
    CHECK_STR(fact, "float[2*N,3]");
    facts_of(ctx, text, "z", fact);
    CHECK_STR(fact, "float[3*N,3]");
    onx_model *model = load(ctx, text);
    onx_session *session = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    REQUIRE(model);
    CHECK_EQ(onx_session_new(model, NULL, &session, &diag), ONX_OK);
    float x[3] = {1, 2, 3}, y[6] = {0};
    int64_t s[2] = {0};
    onx_arg in = {.dtype = ONX_DTYPE_F32, .rank = 2, .dims = {1, 3}, .data = x, .bytes = sizeof x};
    onx_arg out[2] = {{.data = y, .bytes = sizeof y}, {.data = s, .bytes = sizeof s}};
    if (session) CHECK_EQ(onx_session_run(session, 1, &in, 2, out, NULL, &diag), ONX_OK);
    CHECK(y[0] == 2 && y[2] == 6 && y[3] == 1 && s[0] == 2 && s[1] == 3);
    if (diag.message[0]) fprintf(stderr, "    %s\n", diag.message);
    onx_session_free(session);
    onx_model_free(model);
    onx_context_free(ctx);
}

/* ── Schemas ── */

static void check_schema(const onx_schema *s) {
    CHECK_STR(s->domain, "my.ops");
    CHECK_STR(s->name, "Op");
    REQUIRE(s->n_versions == 2 && s->n_inputs == 3 && s->n_outputs == 2);
    REQUIRE(s->n_attrs == 3 && s->n_types == 2);
    CHECK(s->versions[0] == 3 && s->versions[1] == 5 && s->since == 5);
    CHECK_STR(s->inputs[0].type, "T");
    CHECK_STR(s->inputs[1].type, "tensor(int64)");
    CHECK(s->inputs[1].optional && !s->inputs[0].optional && !s->inputs[1].variadic);
    CHECK(s->inputs[2].variadic && s->inputs[2].heterogeneous && s->inputs[2].optional);
    CHECK_STR(s->outputs[1].type, "seq(tensor(float))");
    CHECK_STR(s->attrs[0].value, "[0, 2]");
    CHECK_STR(s->attrs[1].value, "\"a, b\"");
    CHECK(s->attrs[2].required && !s->attrs[2].value && !s->attrs[0].required);
    REQUIRE(s->types[0].n == 5 && s->types[1].n == 3);
    CHECK_STR(s->types[0].name, "T");
    CHECK_STR(s->types[0].allowed[0], "tensor(float)");
    CHECK_STR(s->types[0].allowed[4], "tensor(int8)");
    CHECK_STR(s->types[1].allowed[0], "map(int64, float)");
    CHECK_STR(s->types[1].allowed[1], "optional(seq(tensor(bool)))");
    CHECK_STR(s->types[1].allowed[2], "sparse_tensor(double)");
    CHECK_STR(s->function, "Y = Add (X, X)");
    CHECK(s->is_function && !s->deprecated && !onx_schema_runs(s, NULL));
}

TEST(schema) {
    onx_op_def defs[2] = {
        DEF("Op", "(X:T, n?:int64, more?**:V) -> (Y:T, Z?:seq(float)) {axes:ints=[0, 2],"
                  " mode:string=\"a, b\", body:graph} [T:f|int8,"
                  " V:map(int64, float)|optional(seq(bool))|sparse_tensor(double)]"),
        DEF("Op", "() -> ()")};
    defs[0].since = 5, defs[1].since = 3;
    defs[0].function = "Y = Add (X, X)";
    onx_context *ctx = context_of(2, defs);
    const onx_schema *s = NULL, *old = NULL, *none = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    REQUIRE(ctx && onx_schema_find(ctx, "my.ops", "Op", 0, &s, &diag) == ONX_OK);
    CHECK_EQ(onx_schema_find(ctx, "my.ops", "Op", 4, &old, &diag), ONX_OK);
    CHECK_EQ(onx_schema_find(ctx, "my.ops", "Op", 2, &none, &diag), ONX_NOT_FOUND);
    CHECK(strstr(diag.message, "opset 2"));
    CHECK_EQ(onx_schema_find(ctx, "my.ops", "Opp", 0, &none, &diag), ONX_NOT_FOUND);
    CHECK(strstr(diag.hint, "'my.ops::Op'"));
    CHECK_EQ(onx_schema_find(NULL, "my.ops", "Op", 0, &none, &diag), ONX_NOT_FOUND);
    CHECK_EQ(onx_schema_find(ctx, NULL, "qqqqqqqqqq", 0, &none, &diag), ONX_NOT_FOUND);
    CHECK_STR(diag.hint, "");
    CHECK_EQ(onx_schema_find(ctx, NULL, NULL, 0, &none, &diag), ONX_USAGE);
    CHECK(!none);
    onx_context_free(ctx);
    check_schema(s);
    CHECK(old && old->since == 3 && old->n_inputs == 0);
    onx_schema_free(s);
    onx_schema_free(old);
    onx_schema_free(NULL);
}

TEST(schemas_of_the_tables) {
    onx_op_info op;
    uint32_t types = 0;
    size_t n = 0, runs = 0;
    for (; onx_op_info_at(n, &op); n++) {
        const onx_schema *s = NULL;
        if (!CHECK(onx_schema_find(NULL, op.domain, op.name, op.since, &s, NULL) == ONX_OK))
            continue;
        CHECK(s->since == op.since && strcmp(s->name, op.name) == 0);
        runs += onx_schema_runs(s, &types);
        onx_schema_free(s);
    }
    CHECK(n >= 659 && runs > 300 && runs < n);
}

/* ── Life ── */

TEST(outlived_by_models) {
    onx_op_def def = DEF("Same", "(X:T) -> (Y:T) [T:f]");
    onx_context *ctx = NULL;
    REQUIRE(onx_context_new(NULL, &ctx) == ONX_OK);
    onx_model *model = load(ctx, HEAD "g (float[2] x) => (y) { y = my.ops.Same (x) }");
    REQUIRE(model);
    const onx_node *node = onx_graph_node_first(onx_model_graph(model));
    CHECK(!onx_op_of(node));
    CHECK_EQ(onx_context_add_ops(ctx, 1, &def, NULL), ONX_OK);
    onx_context_free(ctx);
    const onx_op *op = onx_op_of(node);
    REQUIRE(op != NULL);
    CHECK_STR(op->signature, def.signature);
    onx_session *session = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    CHECK_EQ(onx_session_new(model, NULL, &session, &diag), ONX_UNSUPPORTED);
    CHECK(strstr(diag.message, "Same"));
    onx_session_free(session);
    onx_model_free(model);
}

TEST(not_imported) {
    onx_op_def def = DEF("Same", "(X:T) -> (Y:T) [T:f]");
    onx_context *ctx = context_of(1, &def);
    onx_model *model = load(ctx, "<ir_version: 10, opset_import: [\"\" : 20]>\n"
                                 "g (float[2] x) => (y) { y = my.ops.Same (x) }");
    REQUIRE(model);
    CHECK(!onx_op_of(onx_graph_node_first(onx_model_graph(model))));
    onx_model_free(model);
    onx_context_free(ctx);
}

TEST(no_memory) {
    size_t calls = 0, done = 0;
    onx_op_def defs[] = {DEF("Grow", "(X:T, n:int64) -> (Y:T) {times:int=2} [T:f]"),
                         DEF("Same", "(X:T) -> (Y:T, Z:seq(float)) [T:f]")};
    defs[0].infer = infer_grow;
    defs[0].user = &calls;
    for (size_t at = 1; !done && at < 2000; at++) {
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        heap.fail_at = heap.calls + at;
        onx_status status = onx_context_add_ops(ctx, 2, defs, NULL);
        CHECK(status == ONX_OK ? onx_op_custom_at(ctx, 1) != NULL : !onx_op_custom_at(ctx, 0));
        onx_model *model = NULL;
        onx_facts *facts = NULL;
        if (!status)
            model = load(ctx, HEAD "g (float[N,M] x) => (y) <int64[1] n = {7}>"
                                   " { a = my.ops.Same (x) y = my.ops.Grow (x, n) }");
        if (model) status = onx_facts_new(model, NULL, &facts, NULL);
        const onx_schema *schema = NULL;
        if (!status) status = onx_schema_find(ctx, "my.ops", "Grow", 0, &schema, NULL);
        onx_schema_free(schema);
        CHECK(status == ONX_OK || status == ONX_NO_MEMORY);
        done = !heap.failed;
        onx_facts_free(facts);
        onx_model_free(model);
        onx_context_free(ctx);
        CHECK_EQ(heap.blocks, 0);
    }
    CHECK(done);
}

TEST_MAIN(E(refused) E(all_or_none) E(versions) E(shorter_struct) E(types_from_the_signature)
              E(inference_of_its_own) E(types_as_text) E(functions) E(schema)
                  E(schemas_of_the_tables) E(outlived_by_models) E(not_imported) E(no_memory))
