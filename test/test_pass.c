/* test_pass.c: the portable passes, by models before and after (test/pass). */
#include "test.h"

#include "pass_case.h"

static onx_status run(onx_pass_ctx *ctx, const char *name) {
    return strcmp(name, "all") == 0 ? onx_passes_run(ctx, ONX_LEVEL_ALL)
                                    : onx_passes_run_one(ctx, name);
}

static void check_file(const char *file, size_t least) {
    size_t count = 0;
    CHECK_EQ(pass_case_file(file, run, &count), 0);
    CHECK(count >= least);
}

TEST(identity) {
    check_file("identity.txt", 12);
}
TEST(fold) {
    check_file("fold.txt", 9);
}
TEST(absorb) {
    check_file("absorb.txt", 7);
}
TEST(neutral) {
    check_file("neutral.txt", 3);
}
TEST(tied) {
    check_file("tied.txt", 3);
}
TEST(transpose) {
    check_file("transpose.txt", 8);
}
TEST(pad) {
    check_file("pad.txt", 2);
}
TEST(dedupe) {
    check_file("dedupe.txt", 2);
}
TEST(branch) {
    check_file("branch.txt", 3);
}
TEST(requantize) {
    check_file("requantize.txt", 3);
}
TEST(einsum) {
    check_file("einsum.txt", 5);
}
TEST(skip_norms) {
    check_file("skips.txt", 2);
}
TEST(heads) {
    check_file("heads.txt", 2);
}

TEST(unexpand) {
    check_file("unexpand.txt", 2);
}
TEST(gemm) {
    check_file("gemm.txt", 1);
}
TEST(casts) {
    check_file("cast.txt", 3);
}
TEST(views) {
    check_file("views.txt", 5);
}
TEST(gelu) {
    check_file("gelu.txt", 4);
}
TEST(norms) {
    check_file("norms.txt", 6);
}
TEST(shape) {
    check_file("shape.txt", 4);
}
TEST(cse_dce) {
    check_file("cse_dce.txt", 8);
}

TEST(unknown_pass) {
    onx_model *model = onx_model_new(NULL, "g", 13);
    onx_pass_ctx ctx = {.model = model};
    CHECK_EQ(onx_passes_run_one(&ctx, "nothing"), ONX_NOT_FOUND);
    CHECK_EQ(onx_passes_run(&ctx, ONX_LEVEL_ALL), ONX_OK); /* an empty graph */
    onx_model_free(model);
}

/* A model with training information stays as it is. */
TEST(training) {
    onx_model *model = onx_model_new(NULL, "g", 13);
    onx_graph *graph = onx_model_graph(model);
    onx_value *x = onx_graph_add_input(graph, "x", "float[4]");
    onx_value *y =
        onx_graph_add_op(graph, "Relu", "y", onx_graph_add_op(graph, "Identity", "a", x));
    onx_graph_add_output(graph, y, "float[4]");
    REQUIRE(onx_model_add_training(model) != NULL);
    onx_pass_ctx ctx = {.model = model};
    CHECK_EQ(onx_passes_run(&ctx, ONX_LEVEL_ALL), ONX_OK);
    CHECK_EQ(onx_graph_node_count(graph), 2);
    CHECK_EQ(onx_training_remove(onx_model_training_first(model)), ONX_OK);
    CHECK_EQ(onx_passes_run(&ctx, ONX_LEVEL_ALL), ONX_OK);
    CHECK_EQ(onx_graph_node_count(graph), 1);
    onx_model_free(model);
}

static onx_status make_zeros(void *user, const onx_node *node, size_t n_in,
                             const onx_tensor *const *in, size_t n_out, onx_tensor **out) {
    (void)node, (void)n_in, (void)in, (void)n_out;
    static const char zeros[1 << 20];
    int64_t dim = 1 << 18;
    ++*(size_t *)user;
    return onx_tensor_new(NULL, NULL, ONX_DTYPE_F32, 1, &dim, zeros, sizeof zeros, &out[0], NULL);
}

/* Many small requests do not make a large model. */
TEST(growth) {
    onx_model *model = onx_model_new(NULL, "g", 13);
    onx_graph *graph = onx_model_graph(model);
    int64_t size = 1 << 18, one = 1;
    onx_value *shape =
        onx_graph_add_initializer(graph, "s", ONX_DTYPE_I64, 1, &one, &size, sizeof size);
    for (int i = 0; i < 100; i++)
        onx_graph_add_output(
            graph,
            onx_graph_add_op(graph, "Neg", NULL,
                             onx_graph_add_op(graph, "ConstantOfShape", NULL, shape)),
            NULL);
    size_t calls = 0;
    onx_pass_ctx ctx = {.model = model, .eval = make_zeros, .user = &calls};
    REQUIRE(!onx_facts_new(model, NULL, &ctx.facts, NULL));
    CHECK_EQ(onx_passes_run_one(&ctx, "fold"), ONX_OK);
    CHECK_EQ(calls, 64);
    onx_facts_free(ctx.facts);
    onx_model_free(model);
}

static void hear(void *user, const onx_pass_info *pass, size_t changed) {
    size_t *sum = user;
    CHECK(pass->portable && *pass->summary);
    *sum += changed;
}

/* A copy is rewritten; what is kept stays; what there is not is NOT_FOUND. */
TEST(optimize) {
    static const char text[] =
        "<ir_version: 8, opset_import: [\"\" : 13]>\n"
        "g (float[2] x) => (float[2] y) { a = Identity(x) b = Identity(a) y = Neg(b) }";
    onx_load_options load = ONX_INIT(onx_load_options);
    onx_optimize_options options = ONX_INIT(onx_optimize_options);
    onx_optimized counts = ONX_INIT(onx_optimized);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model, *better = NULL;
    size_t sum = 0;
    const char *keep[] = {"a"};
    load.format = ONX_FORMAT_TEXT;
    REQUIRE(!onx_model_load_memory(NULL, text, strlen(text), &load, &model, &diag));
    options.n_keep = 1;
    options.keep = keep;
    options.report = hear;
    options.user = &sum;
    CHECK_EQ(onx_model_optimize(model, &options, &better, &counts, &diag), ONX_OK);
    CHECK_EQ(counts.nodes_before, 3);
    CHECK_EQ(counts.nodes_after, 2);
    CHECK_EQ(sum, 1);
    CHECK_EQ(onx_graph_node_count(onx_model_graph(model)), 3);
    onx_model_free(better);
    options.disable = "dce, identities";
    CHECK_EQ(onx_model_optimize(model, &options, &better, NULL, &diag), ONX_NOT_FOUND);
    options.disable = "blocked"; /* of sessions */
    CHECK_EQ(onx_model_optimize(model, &options, &better, NULL, &diag), ONX_NOT_FOUND);
    CHECK_EQ(onx_model_optimize(NULL, NULL, &better, NULL, &diag), ONX_USAGE);
    CHECK_EQ(onx_model_optimize(model, NULL, NULL, NULL, &diag), ONX_USAGE);
    onx_model_free(model);
}

/* A cycle is no graph. */
TEST(cycle) {
    static const char text[] = "<ir_version: 8, opset_import: [\"\" : 13]>\n"
                               "g (float x) => (float y) { y = Add(x, z) z = Neg(y) }";
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_pass_ctx ctx = {.diag = &diag};
    options.format = ONX_FORMAT_TEXT;
    REQUIRE(!onx_model_load_memory(NULL, text, strlen(text), &options, &ctx.model, &diag));
    CHECK_EQ(onx_passes_run(&ctx, ONX_LEVEL_BASIC), ONX_INVALID);
    onx_model_free(ctx.model);
}

TEST_MAIN(E(identity) E(fold) E(gelu) E(norms) E(absorb) E(neutral) E(tied) E(transpose) E(pad)
              E(dedupe) E(branch) E(requantize) E(unexpand) E(einsum) E(heads) E(skip_norms) E(gemm)
                  E(casts) E(views) E(shape) E(cse_dce) E(unknown_pass) E(training) E(growth)
                      E(cycle) E(optimize))
