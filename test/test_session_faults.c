/* test_session_faults.c: memory that runs out under a session.
 *
 * A model is made into a session and run, once for every allocation on that way, with that one
 * failing, alone or with all that follow. Whatever happens: NO_MEMORY, or the right result where
 * the engine could do without; nothing leaked; and a session that stays usable. */
#include "decoder.h"
#include "support.h"
#include "test.h"

#include <math.h>

enum { ARGS = 8, FLOATS = 4096 };

typedef struct trial {
    test_bytes model; /* its file */
    size_t n_in, n_out;
    onx_arg in[ARGS];
    onx_arg wanted[ARGS]; /* what a run without faults gives */
    size_t threads;
    bool dynamic;
} trial;

static float numbers[FLOATS];
static int64_t token = 3, position = 2;

static void take_text(trial *t, const char *text) {
    test_put(&t->model, text, strlen(text));
}

static void take_model(trial *t, onx_model *model) {
    void *bytes = NULL;
    size_t size = 0;
    if (CHECK(model && onx_model_save_memory(model, NULL, &bytes, &size, NULL) == ONX_OK))
        test_put(&t->model, bytes, size);
    onx_buffer_free(NULL, bytes, size);
    onx_model_free(model);
}

static void add_input(trial *t, size_t rank, const int64_t *dims) {
    onx_arg *arg = &t->in[t->n_in++];
    size_t count = 1;
    *arg = (onx_arg){.dtype = ONX_DTYPE_F32, .rank = rank, .data = numbers};
    for (size_t i = 0; i < rank; i++) count *= (size_t)(arg->dims[i] = dims[i]);
    arg->bytes = count * sizeof(float);
}

static void add_integer(trial *t, size_t rank, int64_t *value) {
    t->in[t->n_in++] =
        (onx_arg){.dtype = ONX_DTYPE_I64, .rank = rank, .dims = {1, 1}, .data = value, .bytes = 8};
}

static onx_status open_session(const trial *t, onx_context *ctx, onx_session **out) {
    onx_model *model = NULL;
    onx_session_options options = ONX_INIT(onx_session_options);
    options.threads = t->threads;
    options.dynamic = t->dynamic;
    onx_status status =
        onx_model_load_memory(ctx, t->model.data, t->model.size, NULL, &model, NULL);
    if (status == ONX_OK) status = onx_session_new(model, &options, out, NULL);
    onx_model_free(model);
    return status;
}

/* An engine that knows less of the sizes fuses less, and rounds elsewhere. */
static bool same(const onx_arg *a, const onx_arg *b) {
    if (a->dtype != b->dtype || a->rank != b->rank || a->bytes != b->bytes ||
        memcmp(a->dims, b->dims, a->rank * sizeof *a->dims))
        return false;
    if (a->dtype != ONX_DTYPE_F32) return memcmp(a->data, b->data, a->bytes) == 0;
    const float *x = a->data, *y = b->data;
    for (size_t i = 0; i < a->bytes / sizeof *x; i++)
        if (!(fabsf(x[i] - y[i]) <= 1e-5f * (1 + fabsf(y[i])))) return false;
    return true;
}

/* Runs, and compares what comes of it; no outputs on failure. */
static onx_status run_once(const trial *t, onx_session *session) {
    onx_arg out[ARGS] = {{0}};
    onx_status status = onx_session_run(session, t->n_in, t->in, t->n_out, out, NULL, NULL);
    for (size_t i = 0; i < t->n_out; i++) {
        if (status == ONX_OK)
            CHECK(same(&out[i], &t->wanted[i]));
        else
            CHECK(!out[i].data && !out[i].owned);
        onx_arg_clear(&out[i]);
    }
    return status;
}

/* False when no allocation failed: the way has fewer than `at`. */
static bool meet_failure(const trial *t, size_t at, size_t count) {
    test_heap heap = {.fail_count = count};
    onx_context *ctx = test_context(&heap, NULL);
    heap.calls = 0; /* of the context itself */
    heap.fail_at = at;
    onx_session *session = NULL;
    onx_status status = open_session(t, ctx, &session);
    CHECK(status == ONX_OK || status == ONX_NO_MEMORY);
    if (status == ONX_OK) {
        status = run_once(t, session);
        CHECK(status == ONX_OK || (status == ONX_NO_MEMORY && heap.failed));
        bool failed = heap.failed;
        heap.fail_at = 0;
        if (failed) CHECK_EQ(run_once(t, session), ONX_OK);
    }
    onx_session_free(session);
    onx_context_free(ctx);
    if (!CHECK(heap.bytes == 0)) fprintf(stderr, "    allocation %zu\n", at);
    return heap.failed;
}

/* Takes the trial apart in the end. */
static void all_failures(trial *t) {
    onx_session *session = NULL;
    for (size_t i = 0; i < FLOATS; i++) numbers[i] = (float)(i * 37 % 101) / 50 - 1;
    if (CHECK(open_session(t, NULL, &session) == ONX_OK) &&
        CHECK(onx_session_run(session, t->n_in, t->in, t->n_out, t->wanted, NULL, NULL) == ONX_OK))
        for (size_t count = 0; count < 2; count++) { /* all from there on; only that one */
            size_t at = 1;
            while (meet_failure(t, at, count)) at++;
            CHECK(at > 50);
        }
    onx_session_free(session);
    for (size_t i = 0; i < t->n_out; i++) onx_arg_clear(&t->wanted[i]);
    test_bytes_free(&t->model);
}

#define HEADER "<ir_version: 10, opset_import: [\"\" : 18]>\n"

/* Weights that are packed (w), and that cannot be (v); a residual; the blocked layout. */
static const char conv_text[] =
    HEADER "g (float[N,16,H,W] x, float[16,16,1,1] v) => (float[N,16] y) {\n"
           "  shape = Constant<value_ints = [16, 16, 3, 3]>()\n"
           "  w = ConstantOfShape<value: tensor = float[1] {0.125}>(shape)\n"
           "  a = Conv<pads = [1, 1, 1, 1]>(x, w)\n  b = Relu(a)\n"
           "  c = Conv(b, v)\n  d = Add(c, x)\n  e = Relu(d)\n"
           "  p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(e)\n"
           "  q = GlobalAveragePool(p)\n  y = Flatten(q)\n}\n";

TEST(convolutions) {
    for (size_t threads = 1; threads < 3; threads++) {
        trial t = {.n_out = 1, .threads = threads};
        take_text(&t, conv_text);
        add_input(&t, 4, (int64_t[]){1, 16, 6, 6});
        add_input(&t, 4, (int64_t[]){16, 16, 1, 1});
        all_failures(&t);
    }
}

static const char lstm_text[] =
    HEADER "g (float[S,B,4] x, float[2,12,3] v) => (float[S,2,B,3] y, float[2,B,3] h, "
           "float[2,B,3] g) {\n"
           "  wide = Constant<value_ints = [2, 12, 4]>()\n"
           "  w = ConstantOfShape<value: tensor = float[1] {0.25}>(wide)\n"
           "  y, h, c = LSTM<hidden_size = 3, direction = \"bidirectional\">(x, w, v)\n"
           "  two, g = LSTM<hidden_size = 3, direction = \"bidirectional\">(x, w, v)\n}\n";

TEST(recurrences) {
    for (size_t i = 0; i < 2; i++) {
        trial t = {.n_out = 3, .threads = 1, .dynamic = i};
        take_text(&t, lstm_text);
        add_input(&t, 3, (int64_t[]){5, 2, 4});
        add_input(&t, 3, (int64_t[]){2, 12, 3});
        all_failures(&t);
    }
}

TEST(decoder_steps) {
    static const decoder small = {
        .d_model = 8, .heads = 2, .layers = 1, .vocab = 6, .positions = 4};
    trial t = {.n_out = 4, .threads = 1};
    take_model(&t, decoder_step_model(&small));
    add_integer(&t, 2, &token);
    add_integer(&t, 1, &position);
    add_input(&t, 4, (int64_t[]){1, 2, 2, 4});
    add_input(&t, 4, (int64_t[]){1, 2, 2, 4});
    all_failures(&t);
}

TEST(decoder_loops) {
    static const decoder small = {
        .d_model = 4, .heads = 1, .layers = 1, .vocab = 5, .positions = 4};
    trial t = {.n_out = 2, .threads = 1};
    take_model(&t, decoder_loop_model(&small));
    add_integer(&t, 0, &position);
    add_integer(&t, 2, &token);
    all_failures(&t);
}

/* Strings and sequences are objects, each an allocation of its own. */
static const char object_text[] =
    HEADER "g (float[N] x, float[N] z) => (int64 n, float[M] y) {\n"
           "  s = SequenceConstruct(x, z, x)\n  t = SequenceInsert(s, z)\n"
           "  u = SequenceErase(t)\n  n = SequenceLength(s)\n"
           "  c = Cast<to = 8>(x)\n  d = Cast<to = 1>(c)\n  v = SequenceInsert(u, d)\n"
           "  y = ConcatFromSequence<axis = 0>(v)\n}\n";

TEST(objects) {
    trial t = {.n_out = 2, .threads = 1};
    take_text(&t, object_text);
    add_input(&t, 1, (int64_t[]){7});
    add_input(&t, 1, (int64_t[]){7});
    all_failures(&t);
}

/* Functions of the model, one inside the other, and operators that are functions. */
static const char function_text[] =
    "<ir_version: 10, opset_import: [\"\" : 18, \"local\" : 1]>\n"
    "g (float[N] x) => (float[N] y) { a = local.twice (x)\n  b = local.twice (a)\n  y = Celu (b) "
    "}\n"
    "<domain: \"local\", opset_import: [\"\" : 18, \"local\" : 1]>\n"
    "twice (p) => (q) { r = local.once (p)\n  q = Add (r, p) }\n"
    "<domain: \"local\", opset_import: [\"\" : 18]>\n"
    "once (s) => (t) { t = Relu (s) }\n";

TEST(functions) {
    trial t = {.n_out = 1, .threads = 1};
    take_text(&t, function_text);
    add_input(&t, 1, (int64_t[]){7});
    all_failures(&t);
}

/* Sparse tensors are written out when the session is made. */
static onx_model *sparse_model(void) {
    const int64_t n = 2, size = 7, at[2] = {1, 5};
    const float v[2] = {3, 4};
    onx_tensor *values = NULL, *indices = NULL;
    onx_data *sparse = NULL;
    onx_model *model = onx_model_new(NULL, "m", 18);
    onx_graph *g = onx_model_graph(model);
    CHECK_EQ(onx_tensor_new(NULL, "s", ONX_DTYPE_F32, 1, &n, v, sizeof v, &values, NULL), ONX_OK);
    CHECK_EQ(onx_tensor_new(NULL, "", ONX_DTYPE_I64, 1, &n, at, sizeof at, &indices, NULL), ONX_OK);
    CHECK_EQ(onx_sparse_new(NULL, values, indices, 1, &size, &sparse, NULL), ONX_OK);
    onx_value *x = onx_graph_add_input(g, "x", "float[7]");
    onx_value *s = onx_graph_add_sparse(g, "s", sparse);
    onx_value *c = onx_graph_add_op_array(g, "Constant", "c", 0, NULL);
    CHECK_EQ(onx_node_set_sparse(onx_value_node(c), "sparse_value", sparse), ONX_OK);
    onx_value *sum = onx_graph_add_op(g, "Add", "a", x, s);
    onx_graph_add_output(g, onx_graph_add_op(g, "Mul", "y", sum, c), "float[7]");
    onx_data_free(sparse);
    onx_tensor_free(values);
    onx_tensor_free(indices);
    return model;
}

TEST(sparse) {
    trial t = {.n_out = 1, .threads = 1};
    take_model(&t, sparse_model());
    add_input(&t, 1, (int64_t[]){7});
    all_failures(&t);
}

TEST_MAIN(E(convolutions) E(recurrences) E(decoder_steps) E(decoder_loops) E(objects) E(functions)
              E(sparse))
