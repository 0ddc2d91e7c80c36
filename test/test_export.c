/* test_export.c: onx_model_export: options, operators of the user's own, errors, hostile files. */
#include "test.h"
#include "torch_files.h"

#include <time.h>

/* ── Programs ────────────────────────────────────────────────────────────────────────────────── */

/* A TorchScript archive of one module with a weight of six floats, 0 to 5, and this method. */
#define PROGRAM(body)                                                                              \
    "class M(Module):\n  __parameters__ = [\"w\", ]\n  __buffers__ = []\n  w : Tensor\n"           \
    "  training : bool\n  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n" body

static const char module[] = "\200\2c__torch__\nM\n)\201}(X\1\0\0\0wctorch._utils\n"
                             "_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n"
                             "X\1\0\0\0"
                             "0X\3\0\0\0cpuK\6tQK\0K\2K\3\206K\3K\1\206\210"
                             "ccollections\nOrderedDict\n)RtRX\10\0\0\0training\211ub.";
static const float weights[6] = {0, 1, 2, 3, 4, 5};

static onx_str archive_of(onx_context *ctx, const char *code, onx_buf *buf) {
    torch_record records[] = {{"m/data.pkl", {module, sizeof module - 1}},
                              {"m/data/0", {(const char *)weights, sizeof weights}},
                              {"m/code/__torch__.py", onx_str_of(code)},
                              {"m/constants.pkl", {"\200\2).", 4}},
                              {"m/version", {"3\n", 2}},
                              {NULL, {NULL, 0}}};
    return torch_zip(ctx, records, buf);
}

static const onx_export_input input = {"x", "float[2,3]"};

/* An export: the model is NULL where it failed, and `diag` says why. */
typedef struct result {
    onx_model *model;
    onx_status status;
    onx_diag diag;
    onx_buf archive; /* that the weights lie in */
} result;

static result export(const char *code, onx_export_options *how) {
    result r = {.diag = ONX_INIT(onx_diag)};
    onx_str bytes = archive_of(onx_context_or_default(NULL), code, &r.archive);
    if (!how->n_inputs) how->n_inputs = 1, how->inputs = &input;
    r.status = onx_model_export_memory(NULL, bytes.data, bytes.size, how, &r.model, &r.diag);
    CHECK(!r.status == !!r.model);
    if (r.model) CHECK_EQ(onx_model_check(r.model, NULL, &r.diag), ONX_OK);
    return r;
}

static void result_free(result *r) {
    onx_model_free(r->model);
    onx_buf_fini(&r->archive);
}

/* The operators of the model, "Mul Add "; in a buffer used again. */
static const char *operators(const onx_model *model) {
    static char text[400];
    size_t n = 0;
    text[0] = '\0';
    onx_node *node = model ? onx_graph_node_first(onx_model_graph(model)) : NULL;
    for (; node; node = onx_node_next(node))
        n += (size_t)snprintf(text + n, sizeof text - n, "%s ", onx_node_op(node));
    return text;
}

/* Run with x = 1, 1 …: the first element of the result. */
static float first_of(onx_model *model) {
    float x[6] = {1, 1, 1, 1, 1, 1}, y[64] = {0};
    onx_arg in = {.dtype = ONX_DTYPE_F32, .rank = 2, .dims = {2, 3}, .data = x, .bytes = sizeof x};
    onx_arg out = {.data = y, .bytes = sizeof y};
    onx_session *session = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    if (!CHECK(!onx_session_new(model, NULL, &session, &diag)) ||
        !CHECK(!onx_session_run(session, 1, &in, 1, &out, NULL, &diag)))
        fprintf(stderr, "    %s\n", diag.message);
    onx_session_free(session);
    return y[0];
}

#define ADD PROGRAM("    w = self.w\n    return torch.add(torch.mul(x, 3.), w)\n")

/* ── Options ─────────────────────────────────────────────────────────────────────────────────── */

TEST(plain) {
    onx_export_options how = ONX_INIT(onx_export_options);
    result r = export(ADD, &how);
    REQUIRE(r.model);
    CHECK_STR(operators(r.model), "Mul Add ");
    CHECK_EQ(onx_model_opset(r.model, ""), 18);
    CHECK_EQ(onx_graph_input_count(onx_model_graph(r.model)), 1);
    CHECK(onx_graph_find(onx_model_graph(r.model), "w"));
    CHECK(first_of(r.model) == 3);
    result_free(&r);
}

TEST(opsets) {
    static const int64_t opsets[] = {7, 9, 10, 13, 17, 18, 21, 28};
    for (size_t i = 0; i < ONX_COUNT(opsets); i++) {
        onx_export_options how = ONX_INIT(onx_export_options);
        how.opset = opsets[i];
        result r = export(ADD, &how);
        CHECK(r.model && onx_model_opset(r.model, "") == opsets[i]);
        result_free(&r);
    }
    onx_export_options how = ONX_INIT(onx_export_options);
    how.opset = 6;
    result r = export(ADD, &how);
    CHECK_EQ(r.status, ONX_USAGE);
    result_free(&r);
}

TEST(names_and_axes) {
    static const char *const ins[] = {"image"}, *const outs[] = {"logits"};
    static const onx_export_axis axis = {"image", 0, "batch"};
    onx_export_options how = ONX_INIT(onx_export_options);
    how.n_input_names = how.n_output_names = how.n_axes = 1;
    how.input_names = ins;
    how.output_names = outs;
    how.axes = &axis;
    result r = export(PROGRAM("    return torch.mul(x, 3.)\n"), &how);
    REQUIRE(r.model);
    onx_graph *graph = onx_model_graph(r.model);
    CHECK_STR(onx_value_name(onx_graph_input(graph, 0)), "image");
    CHECK_STR(onx_value_name(onx_graph_output(graph, 0)), "logits");
    char type[100];
    onx_type_format(onx_value_type(onx_graph_output(graph, 0)), type, sizeof type);
    CHECK_STR(type, "float[batch,3]");
    result_free(&r);
}

/* Weights as inputs: without their data, and with it. */
TEST(weights_as_inputs) {
    onx_export_options how = ONX_INIT(onx_export_options);
    how.no_params = true;
    result r = export(ADD, &how);
    REQUIRE(r.model);
    onx_graph *graph = onx_model_graph(r.model);
    CHECK_EQ(onx_graph_input_count(graph), 2);
    CHECK(!onx_value_initializer(onx_graph_find(graph, "w")));
    result_free(&r);
    how.no_params = false;
    how.initializers_as_inputs = true;
    r = export(ADD, &how);
    REQUIRE(r.model);
    graph = onx_model_graph(r.model);
    CHECK_EQ(onx_graph_input_count(graph), 1 + onx_graph_initializer_count(graph));
    CHECK(onx_value_initializer(onx_graph_find(graph, "w")));
    result_free(&r);
}

TEST(folding) {
    static const char code[] = PROGRAM("    w = torch.t(self.w)\n    return torch.matmul(x, w)\n");
    onx_export_options how = ONX_INIT(onx_export_options);
    result r = export(code, &how);
    CHECK_STR(operators(r.model), "MatMul ");
    result_free(&r);
    how.no_folding = true;
    r = export(code, &how);
    CHECK_STR(operators(r.model), "Transpose MatMul ");
    result_free(&r);
}

/* Equal modules are calls of one function, weights are inputs, and nothing is lost. */
TEST(modules_as_functions) {
    if (!torch_folder()) SKIP("neither ONX_TORCH nor ONX_DATA has PyTorch's files");
    static const char *const files[] = {"mlp/export.pt2", "mlp/traced.pt", "mlp/scripted.pt"};
    for (size_t i = 0; i < ONX_COUNT(files); i++) {
        const onx_export_input type = {"x", "float[2,16]"};
        onx_export_options how = ONX_INIT(onx_export_options);
        onx_diag diag = ONX_INIT(onx_diag);
        onx_model *model = NULL;
        how.functions = true;
        if (strstr(files[i], "scripted")) how.n_inputs = 1, how.inputs = &type;
        REQUIRE(!onx_model_export(NULL, test_path(torch_folder(), files[i]), &how, &model, &diag));
        CHECK_EQ(onx_model_check(model, NULL, &diag), ONX_OK);
        CHECK_STR(operators(model), "Sequential ");
        const onx_function *f =
            onx_model_function_find(model, "torch.nn.modules.linear", "Linear", NULL);
        REQUIRE(f);
        const onx_graph *body = onx_function_body(f);
        CHECK_EQ(onx_graph_input_count(body), 3);
        CHECK(onx_graph_find(body, "weight") && onx_graph_find(body, "bias"));
        CHECK(!onx_model_function_find(model, "torch.nn.modules.linear", "Linear_1", NULL));
        onx_model_free(model);
    }
}

typedef struct heard {
    size_t notes[4], steps, total;
} heard;

static void hear(void *user, onx_export_note kind, const char *text, size_t count) {
    heard *h = user;
    CHECK(text[0] && count > 0);
    h->notes[kind] += count;
}

static void hear_step(void *user, size_t done, size_t total, const char *what) {
    heard *h = user;
    CHECK(done < total && what[0]);
    h->steps++;
    h->total = total;
}

TEST(report) {
    heard h = {{0}, 0, 0};
    onx_export_options how = ONX_INIT(onx_export_options);
    how.report = hear;
    how.progress = hear_step;
    how.user = &h;
    result r = export(ADD, &how);
    CHECK(h.steps > 1 && h.total >= h.steps);
    CHECK_EQ(h.notes[ONX_EXPORT_OPERATOR], 2);
    CHECK_EQ(h.notes[ONX_EXPORT_DIMENSION], 1);
    CHECK_EQ(h.notes[ONX_EXPORT_MISSING], 0);
    result_free(&r);
}

/* ── Operators of one's own ──────────────────────────────────────────────────────────────────── */

#define SCALE PROGRAM("    return ops.my.scale(x, self.w, 4.)\n")

static onx_model *functions(const char *text) {
    onx_model *model = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    if (onx_model_load_memory(NULL, text, strlen(text), NULL, &model, &diag))
        fprintf(stderr, "%s\n", diag.message);
    return model;
}

/* The function of an operator; one that calls another; of an older opset. */
TEST(lowerings) {
    static const char *const texts[] = {
        "<ir_version: 8, opset_import: [\"\" : 18, \"my\" : 1]> g (float[1] a) => (float[1] b) "
        "{ b = Identity (a) }\n"
        "<domain: \"my\", opset_import: [\"\" : 18]> scale <factor> (x, w) => (y) "
        "{ f = Constant <value_float: float = @factor> ()  t = Mul (x, f)  y = Add (t, w) }\n",
        "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]> g (float[1] a) => (float[1] b) "
        "{ b = Identity (a) }\n"
        "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> scale <factor> (x, w) => (y) "
        "{ t = my.times <by: float = @factor> (x)  y = Add (t, w) }\n"
        "<domain: \"my\", opset_import: [\"\" : 17]> times <by> (x) => (y) "
        "{ f = Constant <value_float: float = @by> ()  y = Mul (x, f) }\n"};
    for (size_t i = 0; i < ONX_COUNT(texts); i++) {
        onx_export_options how = ONX_INIT(onx_export_options);
        onx_model *model = functions(texts[i]);
        REQUIRE(model);
        how.lowerings = model;
        result r = export(SCALE, &how);
        if (!CHECK(r.model)) fprintf(stderr, "    %s\n", r.diag.message);
        CHECK_STR(operators(r.model), "Mul Add ");
        if (r.model) CHECK(first_of(r.model) == 4);
        if (r.model) CHECK(!onx_model_function_first(r.model));
        result_free(&r);
        onx_model_free(model);
    }
}

TEST(lowerings_that_do_not_fit) {
    onx_export_options how = ONX_INIT(onx_export_options);
    onx_model *model = functions(
        "<ir_version: 8, opset_import: [\"\" : 18, \"my\" : 1]> g (float[1] a) => (float[1] b) "
        "{ b = Identity (a) }\n"
        "<domain: \"my\", opset_import: [\"\" : 18, \"my\" : 1]> scale (x) => (y) "
        "{ y = my.scale (x) }\n");
    REQUIRE(model);
    how.lowerings = model;
    result r = export(SCALE, &how); /* too few inputs */
    CHECK_EQ(r.status, ONX_INVALID);
    result_free(&r);
    r = export(PROGRAM("    return ops.my.scale(x)\n"), &how); /* it calls itself */
    CHECK_EQ(r.status, ONX_LIMIT);
    result_free(&r);
    onx_model_free(model);
}

static onx_status lower_scale(void *user, onx_export_call *call, onx_diag *diag) {
    (void)diag;
    ++*(size_t *)user;
    if (strcmp(call->op, "my::scale") != 0) return ONX_NOT_FOUND;
    if (call->n_args != 3 || call->args[2].type != ONX_ATTR_FLOAT) return ONX_USAGE;
    float f = (float)call->args[2].f;
    onx_graph *main_graph = call->graph;
    onx_value *factor = onx_graph_add_initializer(main_graph, onx_graph_new_name(main_graph, "f"),
                                                  ONX_DTYPE_F32, 0, NULL, &f, sizeof f);
    onx_value *in[] = {call->args[0].values[0], factor};
    onx_node *mul = onx_graph_add_node(call->graph, "Mul", 2, in, 1, (const char *[]){NULL});
    in[0] = onx_node_output(mul, 0);
    in[1] = call->args[1].values[0];
    onx_node *add = onx_graph_add_node(call->graph, "Add", 2, in, 1, (const char *[]){NULL});
    call->n_results = 1;
    call->results[0] = onx_node_output(add, 0);
    return ONX_OK;
}

TEST(lowering_by_callback) {
    size_t calls = 0;
    onx_export_options how = ONX_INIT(onx_export_options);
    how.lower = lower_scale;
    how.user = &calls;
    result r = export(SCALE, &how);
    if (!CHECK(r.model)) fprintf(stderr, "    %s\n", r.diag.message);
    CHECK_STR(operators(r.model), "Mul Add ");
    if (r.model) CHECK(first_of(r.model) == 4);
    CHECK_EQ(calls, 1);
    result_free(&r);
    r = export(PROGRAM("    return ops.my.other(torch.relu(x))\n"), &how);
    CHECK_EQ(r.status, ONX_UNSUPPORTED);
    result_free(&r);
}

/* ── Errors ──────────────────────────────────────────────────────────────────────────────────── */

static void check_error(const char *code, onx_status status, const char *message) {
    onx_export_options how = ONX_INIT(onx_export_options);
    result r = export(code, &how);
    CHECK_EQ(r.status, status);
    if (!CHECK(strstr(r.diag.message, message))) fprintf(stderr, "    %s\n", r.diag.message);
    result_free(&r);
}

/* All operators that are missing, at once. */
TEST(missing_operators) {
    check_error(PROGRAM("    y = ops.my.one(x)\n    z = ops.my.two(y, 1)\n"
                        "    return torch.add(ops.my.one(z), y)\n"),
                ONX_UNSUPPORTED, "2 operators cannot be exported: my::one(Tensor)");
    check_error(PROGRAM("    return self.nothing\n"), ONX_MALFORMED, "nothing");
}

TEST(files_without_a_program) {
    static const torch_record records[] = {{"a/data.pkl", {"\200\2}.", 4}}, {NULL, {NULL, 0}}};
    onx_export_options how = ONX_INIT(onx_export_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    onx_buf buf;
    onx_str bytes = torch_zip(onx_context_or_default(NULL), records, &buf);
    CHECK_EQ(onx_model_export_memory(NULL, bytes.data, bytes.size, &how, &model, &diag),
             ONX_UNSUPPORTED);
    CHECK(strstr(diag.message, "no graph") && strstr(diag.hint, "torch.export.save"));
    CHECK_EQ(onx_model_export_memory(NULL, "x", 1, &how, &model, &diag), ONX_UNSUPPORTED);
    CHECK_EQ(onx_model_export(NULL, "/nonexistent/m.pt", &how, &model, &diag), ONX_NOT_FOUND);
    onx_buf_fini(&buf);
}

/* ── Hostile ─────────────────────────────────────────────────────────────────────────────────── */

static double seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

/* A model or a clean error, soon, in little memory, and nothing left behind. */
static onx_status export_bytes(onx_str bytes) {
    test_heap heap = {0};
    onx_context *ctx = test_context(&heap, NULL);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    onx_export_options how = ONX_INIT(onx_export_options);
    double start = seconds();
    onx_status status = onx_model_export_memory(ctx, bytes.data, bytes.size, &how, &model, &diag);
    CHECK(!status == !!model && (!status || diag.message[0]));
    onx_model_free(model);
    onx_context_free(ctx);
    CHECK(heap.blocks == 0 && heap.peak < (size_t)256 << 20 && seconds() - start < 1);
    return status;
}

static const char *const small[] = {"while_loop/scripted.pt", "mlp/traced.pt", "mlp/export.pt2"};

TEST(cut_off) {
    if (!torch_folder()) SKIP("neither ONX_TORCH nor ONX_DATA has PyTorch's files");
    for (size_t k = 0; k < ONX_COUNT(small); k++) {
        test_bytes b = test_file_read(test_path(torch_folder(), small[k]));
        REQUIRE(b.data);
        for (size_t n = 0; n < b.size; n += k ? 7 : 1) CHECK(export_bytes((onx_str){b.data, n}));
        test_bytes_free(&b);
    }
}

/* The records of a real archive with bytes changed, under checksums that are right. */
static void export_damaged(onx_context *ctx, onx_archive *archive, test_random *random) {
    torch_record records[200] = {{NULL, {NULL, 0}}};
    char names[200][160];
    size_t n = onx_archive_record_count(archive), at = test_random_below(random, n);
    test_bytes copy = {0};
    if (n >= ONX_COUNT(records)) return;
    for (size_t i = 0; i < n; i++) {
        onx_str name = onx_archive_record_name(archive, i), content = {"", 0};
        CHECK(!onx_archive_read(archive, name, &content, NULL));
        snprintf(names[i], sizeof names[i], "m/%.*s", ONX_FMT(name));
        if (i == at) test_put(&copy, content.data, content.size);
        records[i] = (torch_record){names[i], i == at ? (onx_str){copy.data, copy.size} : content};
    }
    for (size_t k = 0; k < 3 && copy.size; k++)
        copy.data[test_random_below(random, copy.size)] ^=
            (char)(1 << test_random_below(random, 8));
    onx_buf buf;
    onx_str bytes = torch_zip(ctx, records, &buf);
    (void)export_bytes(bytes);
    onx_buf_fini(&buf);
    test_bytes_free(&copy);
}

TEST(damaged) {
    test_random random = {7};
    onx_context *ctx = onx_context_or_default(NULL);
    if (!torch_folder()) SKIP("neither ONX_TORCH nor ONX_DATA has PyTorch's files");
    for (size_t k = 0; k < ONX_COUNT(small); k++) {
        onx_archive *archive = NULL;
        const char *path = test_path(torch_folder(), small[k]);
        REQUIRE(!onx_archive_open(ctx, path, &archive, NULL));
        for (size_t i = 0; i < 300; i++) export_damaged(ctx, archive, &random);
        onx_archive_close(archive);
    }
}

TEST_MAIN(E(plain) E(opsets) E(names_and_axes) E(weights_as_inputs) E(folding)
              E(modules_as_functions) E(report) E(lowerings) E(lowerings_that_do_not_fit)
                  E(lowering_by_callback) E(missing_operators) E(files_without_a_program) E(cut_off)
                      E(damaged))
