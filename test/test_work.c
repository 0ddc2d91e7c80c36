/* test_work.c: how much arithmetic the steps of a run are, and what the machine can do. */
#include "test.h"

#include <onx.h>
#include <stdlib.h>
#include <string.h>

typedef struct work_case {
    const char *node, *inputs; /* ONNX text; the inputs of the graph */
    double flops;
    const char *op; /* of the step that has them */
} work_case;

static const work_case works[] = {
    {"y = MatMul(a, b)", "float[2,3,4] a, float[4,5] b", 2.0 * 2 * 3 * 4 * 5, "MatMul"},
    {"y = Gemm<transA=1, transB=1>(a, b)", "float[4,3] a, float[5,4] b", 2.0 * 3 * 4 * 5, "Gemm"},
    {"y = Conv<group=2, pads=[1,1,1,1]>(a, b)", "float[1,4,8,8] a, float[6,2,3,3] b",
     2.0 * 6 * 64 * 18, "Conv"},
    {"y = ConvTranspose<strides=[2,2]>(a, b)", "float[1,4,8,8] a, float[4,6,2,2] b",
     2.0 * 4 * 64 * 24, "ConvTranspose"},
    {"y, h = GRU<hidden_size=5>(a, b, c)", "float[7,2,3] a, float[1,15,3] b, float[1,15,5] c",
     2.0 * 7 * 2 * (45 + 75), "GRU"},
    {"y = QLinearConv(a, s, z, b, s, z, s, z)",
     "uint8[1,2,4,4] a, float s, uint8 z, uint8[3,2,1,1] b", 2.0 * 3 * 16 * 2, "QLinearConv"},
    {"y = Attention(a, b, b)", "float[1,2,3,4] a, float[1,2,5,4] b", 2 * 2.0 * 2 * 3 * 5 * 4,
     "Attention"},
    {"y = Relu(a)", "float[1000] a", 0, "Relu"},
    {"y = Reshape(a, b)", "float[6] a, int64[2] b", 0, "Reshape"},
};

/* The level is NONE: nodes are steps. Inputs are zeros, but for the shape of Reshape. */
static double run_case(const work_case *c, size_t *bytes) {
    char text[512];
    static char zeros[1 << 16];
    static const int64_t shape[2] = {2, 3};
    (void)snprintf(text, sizeof text,
                   "<ir_version: 10, opset_import: [\"\" : 23]>\ng (%s) => (y) {\n%s\n}\n",
                   c->inputs, c->node);
    onx_load_options load = ONX_INIT(onx_load_options);
    load.format = ONX_FORMAT_TEXT;
    onx_session_options how = ONX_INIT(onx_session_options);
    how.level = ONX_LEVEL_NONE;
    onx_run_options run = ONX_INIT(onx_run_options);
    onx_model *model = NULL;
    onx_session *session = NULL;
    onx_arg in[4] = {{.name = NULL}}, out = {.name = NULL};
    double flops = -1;
    onx_diag diag = ONX_INIT(onx_diag);
    bool ok = !onx_model_load_memory(NULL, text, strlen(text), &load, &model, &diag) &&
              !onx_session_new(model, &how, &session, &diag) &&
              !onx_profile_new(NULL, &run.profile);
    size_t n = ok ? onx_graph_input_count(onx_model_graph(model)) : 0;
    for (size_t i = 0; i < n && i < 4; i++) {
        const onx_type *type = onx_value_type(onx_graph_input(onx_model_graph(model), i));
        in[i].dtype = onx_type_dtype(type);
        in[i].rank = onx_type_rank(type);
        size_t count = 1;
        for (size_t d = 0; d < in[i].rank; d++) {
            in[i].dims[d] = onx_type_dim(type, d);
            count *= (size_t)in[i].dims[d];
        }
        in[i].bytes = count * onx_dtype_bits(in[i].dtype) / 8;
        in[i].data = in[i].dtype == ONX_DTYPE_I64 ? (void *)shape : zeros;
    }
    ok = ok && !onx_session_run(session, n, in, 1, &out, &run, &diag);
    for (size_t i = 0; ok && i < onx_profile_count(run.profile); i++) {
        const onx_profile_event *event = onx_profile_event_at(run.profile, i);
        if (strcmp(event->op, c->op) == 0) flops = event->flops, *bytes = event->bytes;
    }
    if (!ok) printf("%s: %s\n", c->node, diag.message);
    onx_arg_clear(&out);
    onx_profile_free(run.profile);
    onx_session_free(session);
    onx_model_free(model);
    return flops;
}

TEST(flops) {
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        size_t bytes = 0;
        double got = run_case(&works[i], &bytes);
        if (!CHECK(got == works[i].flops)) printf("%s: %g\n", works[i].node, got);
        CHECK((bytes == 0) == (strcmp(works[i].op, "Reshape") == 0)); /* a view moves nothing */
    }
}

TEST(peak) {
    double flops = 0, bytes = 0;
    onx_model *model = NULL;
    onx_session *session = NULL;
    const char *text = "<ir_version: 10, opset_import: [\"\" : 23]>\n"
                       "g (float[2] x) => (float[2] y) {\ny = Abs(x)\n}\n";
    onx_load_options load = ONX_INIT(onx_load_options);
    load.format = ONX_FORMAT_TEXT;
    REQUIRE(!onx_model_load_memory(NULL, text, strlen(text), &load, &model, NULL));
    const char *const isas[] = {NULL, "ref", "base"};
    for (size_t i = 0; i < 3; i++) {
        onx_session_options how = ONX_INIT(onx_session_options);
        how.cpu = isas[i];
        how.threads = i + 1;
        if (onx_session_new(model, &how, &session, NULL)) continue; /* no such set here */
        CHECK(!onx_session_peak(session, &flops, &bytes, NULL));
        CHECK(flops > 1e7 && bytes > 1e7);
        onx_session_free(session);
    }
    CHECK(onx_session_peak(NULL, &flops, &bytes, NULL) == ONX_USAGE);
    onx_model_free(model);
}

TEST_MAIN(E(flops) E(peak))
