/* test_session_poison.c: the backend tests of ONNX with fresh memory filled with one byte, and with
 * another: a result that depends on memory which nobody wrote would differ. */
#include "backend_case.h"
#include "test.h"

typedef struct result {
    onx_status status;
    size_t n;
    onx_arg out[BACKEND_ARGS];
} result;

static result run_with(const onx_model *model, const char *folder, uint8_t poison) {
    result r = {0};
    onx_session *s = NULL;
    backend_inputs in;
    onx_session_options options = ONX_INIT(onx_session_options);
    options.poison = poison;
    options.threads = 1;
    r.status = onx_session_new(model, &options, &s, NULL);
    if (r.status) return r;
    backend_inputs_load(folder, s, &in);
    r.n = onx_session_output_count(s);
    if (r.n > BACKEND_ARGS) r.n = BACKEND_ARGS;
    r.status = onx_session_run(s, in.n, in.args, r.n, r.out, NULL, NULL);
    backend_inputs_free(&in);
    onx_session_free(s);
    return r;
}

TEST(two_poisons) {
    char folder[1000];
    if (!test_data()) SKIP("no test data");
    snprintf(folder, sizeof folder, "%s/node", test_data());
    test_files files = test_files_find(folder, "model.onnx");
    size_t ran = 0;
    for (size_t i = 0; i < files.count; i++) {
        onx_model *model = NULL;
        snprintf(folder, sizeof folder, "%s", files.paths[i]);
        *strrchr(folder, '/') = 0;
        if (backend_is_random(folder) || onx_model_load(NULL, files.paths[i], NULL, &model, NULL))
            continue;
        result a = run_with(model, folder, 0xA5), b = run_with(model, folder, 0x5A);
        bool equal = a.status == b.status && a.n == b.n;
        ran += a.status == ONX_OK;
        for (size_t k = 0; k < a.n || k < b.n; k++) {
            if (!a.status && !b.status && equal) equal = backend_same(&a.out[k], &b.out[k]);
            onx_arg_clear(&a.out[k]);
            onx_arg_clear(&b.out[k]);
        }
        if (!CHECK(equal)) fprintf(stderr, "    %s\n", folder);
        onx_model_free(model);
    }
    CHECK(ran > 1500);
    test_files_free(&files);
}

/* And a kernel that does read such memory is found. */
static onx_status leak(onx_call *call, void *user) {
    (void)call, (void)user;
    return ONX_OK;
}

TEST(found) {
    float got[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        onx_context *ctx = NULL;
        onx_model *model = NULL;
        onx_session *s = NULL;
        onx_kernel_def kernel = ONX_INIT(onx_kernel_def);
        onx_op_def def = ONX_INIT(onx_op_def);
        onx_load_options load = ONX_INIT(onx_load_options);
        onx_session_options options = ONX_INIT(onx_session_options);
        static const char text[] =
            "<ir_version: 10, opset_import: [\"\" : 18, \"my.ops\" : 1]>\n"
            "g (float[4] x) => (float y) { a = my.ops.Leak(x)\n y = ReduceMax<keepdims = 0>(a) }\n";
        load.format = ONX_FORMAT_TEXT;
        kernel.run = leak;
        def.domain = "my.ops";
        def.name = "Leak";
        def.signature = "(X:float) -> (Y:float)";
        def.n_kernels = 1;
        def.kernels = &kernel;
        options.poison = i ? 0x01 : 0x02;
        CHECK_EQ(onx_context_new(NULL, &ctx), ONX_OK);
        CHECK_EQ(onx_context_add_ops(ctx, 1, &def, NULL), ONX_OK);
        CHECK_EQ(onx_model_load_memory(ctx, text, strlen(text), &load, &model, NULL), ONX_OK);
        CHECK_EQ(onx_session_new(model, &options, &s, NULL), ONX_OK);
        float x[4] = {0};
        onx_arg in = {.dtype = 1, .rank = 1, .dims = {4}, .data = x, .bytes = sizeof x};
        onx_arg out = {.data = &got[i], .bytes = 4};
        if (s) CHECK_EQ(onx_session_run(s, 1, &in, 1, &out, NULL, NULL), ONX_OK);
        onx_session_free(s);
        onx_model_free(model);
        onx_context_free(ctx);
    }
    CHECK(got[0] != got[1]);
}

TEST_MAIN(E(two_poisons) E(found))
