/* test_attention.c: the operators of attention: all their backend tests give what was recorded,
 * also when nothing is known ahead of the sizes; what hides keys; what must be refused; what has no
 * elements. */
#include "test.h"

#include "kernel.h"
#include "ops/op.h"
#include "support.h"

#include <math.h>

enum { INS = 8, OUTS = 4, ELEMS = 1 << 16 };

static bool is_ours(const onx_node *node) {
    const onx_op *op = node ? onx_op_of(node) : NULL;
    for (const onx_family *f = onx_op_table; op && f->name; f++)
        for (const onx_op *row = f->ops; row->name && strcmp(f->name, "attention") == 0; row++)
            if (row == op) return true;
    return false;
}

static double tolerance(onx_dtype dtype) {
    return dtype == ONX_DTYPE_BF16 ? 2e-2 : dtype == ONX_DTYPE_F16 ? 2e-3 : 2e-5;
}

static bool same(const onx_tensor *a, const onx_tensor *b) {
    static double x[ELEMS], y[ELEMS];
    uint64_t n = 0;
    size_t rank = onx_tensor_rank(a);
    if (onx_tensor_dtype(a) != onx_tensor_dtype(b) || rank != onx_tensor_rank(b)) return false;
    for (size_t i = 0; i < rank; i++)
        if (onx_tensor_dim(a, i) != onx_tensor_dim(b, i)) return false;
    if (onx_tensor_count(a, &n, NULL) || n > ELEMS) return false;
    if (onx_tensor_read_as(a, ONX_DTYPE_F64, x, n * sizeof *x, NULL) ||
        onx_tensor_read_as(b, ONX_DTYPE_F64, y, n * sizeof *y, NULL))
        return false;
    double most = tolerance(onx_tensor_dtype(a));
    for (uint64_t i = 0; i < n; i++)
        if (!(x[i] == y[i] || fabs(x[i] - y[i]) <= most * (1 + fabs(y[i])))) return false;
    return true;
}

/* A tensor recorded for the model at `path`. */
static onx_data *load(const char *path, const char *what, size_t index) {
    char file[1024];
    onx_data *data = NULL;
    (void)snprintf(file, sizeof file, "%.*stest_data_set_0/%s_%zu.pb",
                   (int)(strlen(path) - strlen("model.onnx")), path, what, index);
    (void)onx_data_load(NULL, file, ONX_DATA_TENSOR, &data, NULL);
    return data;
}

/* Sizes of the inputs become names, and outputs lose theirs. */
static bool forget_sizes(onx_graph *graph) {
    for (size_t i = 0; i < onx_graph_input_count(graph); i++) {
        onx_value *value = onx_graph_input(graph, i);
        char text[128];
        int n = snprintf(text, sizeof text, "%s",
                         onx_dtype_name(onx_type_dtype(onx_value_type(value))));
        for (size_t d = 0; d < onx_type_rank(onx_value_type(value)); d++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%ci%zu_%zu", d ? ',' : '[', i, d);
        if (onx_type_rank(onx_value_type(value)))
            (void)snprintf(text + n, sizeof text - (size_t)n, "]");
        if (onx_value_set_type(value, text, NULL)) return false;
    }
    for (size_t i = 0; i < onx_graph_output_count(graph); i++)
        if (onx_value_set_type(onx_graph_output(graph, i), NULL, NULL)) return false;
    return true;
}

static bool check_outputs(const char *path, size_t n, const onx_arg *out) {
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        onx_data *wanted = load(path, "output", i), *got = NULL;
        good = good && wanted && !onx_arg_to_data(NULL, &out[i], &got, NULL) &&
               same(onx_data_tensor(got), onx_data_tensor(wanted));
        onx_data_free(got);
        onx_data_free(wanted);
    }
    return good;
}

static bool runs(const onx_model *model, const char *path) {
    const onx_graph *graph = onx_model_graph(model);
    size_t n_in = onx_graph_input_count(graph), n_out = onx_graph_output_count(graph);
    onx_data *data[INS] = {NULL};
    onx_arg in[INS] = {{0}}, out[OUTS] = {{0}};
    onx_session *session = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    bool good = n_in <= INS && n_out <= OUTS && !onx_session_new(model, NULL, &session, &diag);
    for (size_t i = 0; i < n_in && good; i++) {
        data[i] = load(path, "input", i);
        good = data[i] && !onx_arg_from_data(data[i], &in[i], &diag);
    }
    good = good && !onx_session_run(session, n_in, in, n_out, out, NULL, &diag);
    if (!good) fprintf(stderr, "    %s: %s: %s\n", path, diag.place, diag.message);
    if (good && !check_outputs(path, n_out, out)) {
        fprintf(stderr, "    %s: the outputs differ\n", path);
        good = false;
    }
    for (size_t i = 0; i < n_out; i++) onx_arg_clear(&out[i]);
    for (size_t i = 0; i < n_in && i < INS; i++) {
        onx_arg_clear(&in[i]);
        onx_data_free(data[i]);
    }
    onx_session_free(session);
    return good;
}

/* Both ways, if it is one of our operators alone. */
static void try_model(const char *path, size_t *n) {
    onx_model *model = NULL;
    if (onx_model_load(NULL, path, NULL, &model, NULL)) return;
    onx_graph *graph = onx_model_graph(model);
    const onx_node *node = onx_graph_node_first(graph);
    if (is_ours(node) && !onx_node_next(node)) {
        *n += 1;
        CHECK(runs(model, path));
        if (CHECK(forget_sizes(graph))) CHECK(runs(model, path));
    }
    onx_model_free(model);
}

TEST(recorded) {
    char node[512];
    size_t n = 0;
    if (!test_data()) SKIP("ONX_DATA is not set");
    (void)snprintf(node, sizeof node, "%s/node", test_data());
    test_files files = test_files_find(node, "/model.onnx");
    for (size_t i = 0; i < files.count; i++) try_model(files.paths[i], &n);
    test_files_free(&files);
    CHECK(n >= 100);
}

/* ─ What is hidden ───────────────────────────────────────────────────────────────────────────── */

/* Queries are 0, so that all keys that are seen count alike; values are 1, 2, 4 … so that a sum
 * tells which those are. */
typedef struct hiding {
    const char *attributes;
    int64_t past, keys, valid; /* valid -1: not given */
    const char *mask;          /* a digit for each key, or NULL */
    uint32_t seen[3];          /* by each query: bits */
} hiding;

static const hiding hidings[] = {
    {"", 0, 4, -1, NULL, {15, 15, 15}},
    {"is_causal=1", 0, 4, -1, NULL, {1, 3, 7}},
    {"is_causal=1", 2, 3, -1, NULL, {7, 15, 31}},
    {"is_causal=1", 0, 5, 4, NULL, {3, 7, 15}},
    {"is_causal=1", 0, 5, 2, NULL, {0, 1, 3}}, /* the first query sees nothing */
    {"is_causal=1", 0, 5, 0, NULL, {0, 0, 0}},
    {"is_causal=1", 0, 5, INT64_MIN, NULL, {0, 0, 0}},
    {"", 0, 5, 3, NULL, {7, 7, 7}},
    {"", 0, 5, INT64_MAX, NULL, {31, 31, 31}},
    {"", 0, 4, -1, "0110", {6, 6, 6}},
    {"", 0, 4, -1, "0000", {0, 0, 0}},
    {"", 0, 4, -1, "01", {2, 2, 2}}, /* what a mask does not reach is hidden */
    {"is_causal=1", 0, 4, -1, "0111", {0, 2, 6}},
    {"left_window_size=1", 0, 4, -1, NULL, {15, 15, 14}},
    {"left_window_size=1, is_causal=1", 1, 3, -1, NULL, {3, 6, 12}},
    {"left_window_size=0, right_window_size=0", 0, 4, -1, NULL, {1, 2, 4}},
    {"right_window_size=1", 0, 4, -1, NULL, {3, 7, 15}},
    {"left_window_size=9223372036854775807, right_window_size=9223372036854775807",
     0,
     4,
     INT64_MAX,
     NULL,
     {15, 15, 15}},
    {"left_window_size=0", 0, 4, INT64_MAX, NULL, {0, 0, 0}},
};

static bool hides(const hiding *h) {
    float q[3] = {0}, v[16], *y;
    uint8_t mask[16];
    char dims[2][32], node[256], masked[32];
    int64_t valid = h->valid, n = h->past + h->keys;
    for (int64_t j = 0; j < n; j++) v[j] = (float)(1 << j);
    for (size_t j = 0; h->mask && h->mask[j]; j++) mask[j] = h->mask[j] == '1';
    (void)snprintf(dims[0], 32, "1,1,%d,1", (int)h->past);
    (void)snprintf(dims[1], 32, "1,1,%d,1", (int)h->keys);
    (void)snprintf(masked, sizeof masked, "%zu", h->mask ? strlen(h->mask) : 0);
    onx_operand in[7] = {kernel_operand(ONX_DTYPE_F32, "1,1,3,1", q),
                         kernel_operand(ONX_DTYPE_F32, dims[1], v + h->past),
                         kernel_operand(ONX_DTYPE_F32, dims[1], v + h->past),
                         kernel_operand(ONX_DTYPE_BOOL, masked, mask),
                         kernel_operand(ONX_DTYPE_F32, dims[0], v),
                         kernel_operand(ONX_DTYPE_F32, dims[0], v),
                         kernel_operand(ONX_DTYPE_I64, "1", &valid)};
    onx_operand *all[7] = {&in[0],
                           &in[1],
                           &in[2],
                           h->mask ? &in[3] : NULL,
                           h->past ? &in[4] : NULL,
                           h->past ? &in[5] : NULL,
                           valid != -1 ? &in[6] : NULL};
    (void)snprintf(node, sizeof node, "y = Attention<scale=1.0%s%s>(q, k, v, %s, %s, %s, %s)",
                   h->attributes[0] ? ", " : "", h->attributes, all[3] ? "m" : "",
                   all[4] ? "a" : "", all[5] ? "b" : "", all[6] ? "n" : "");
    size_t count = all[6] ? 7 : all[5] ? 6 : all[3] ? 4 : 3;
    kernel_result r = kernel_run("ref", 25, node, count, all, 0);
    bool good = r.status == ONX_OK && (y = r.out[0].data);
    for (size_t s = 0; s < 3 && good; s++) {
        int seen = __builtin_popcount(h->seen[s]);
        float want = seen ? (float)h->seen[s] / (float)seen : 0;
        good = fabsf(y[s] - want) <= 1e-5f * (1 + want);
    }
    if (!good) fprintf(stderr, "    %s: %s\n", node, r.diag.message);
    kernel_free(&r);
    return good;
}

TEST(hidden_keys) {
    for (size_t i = 0; i < ONX_COUNT(hidings); i++) CHECK(hides(&hidings[i]));
}

/* A sum of chances beyond what float16 holds; and keys for several blocks. */
TEST(long_row) {
    enum { KEYS = 70000 };
    static uint16_t zeros[KEYS], ones[KEYS];
    float y = 0;
    for (size_t i = 0; i < KEYS; i++) ones[i] = 0x3c00;
    onx_operand q = kernel_operand(ONX_DTYPE_F16, "1,1,1,1", zeros);
    onx_operand k = kernel_operand(ONX_DTYPE_F16, "1,1,70000,1", zeros);
    onx_operand v = kernel_operand(ONX_DTYPE_F16, "1,1,70000,1", ones);
    kernel_result r =
        kernel_run("ref", 24, "y = Attention(q, k, v)", 3, (onx_operand *[]){&q, &k, &v}, 0);
    REQUIRE(r.status == ONX_OK);
    (void)onx_dtype_convert(ONX_DTYPE_F16, r.out[0].data, ONX_DTYPE_F32, &y, 1, false);
    CHECK(fabsf(y - 1) < 0.01f); /* each chance rounds */
    kernel_free(&r);
}

/* ─ Refused ──────────────────────────────────────────────────────────────────────────────────── */

enum { ARGS = 8 };

typedef struct refusal {
    const char *node;     /* up to its inputs */
    const char *in[ARGS]; /* sizes of floats; "i…": of int64, "b…" of bools; "": absent */
    const char *words;    /* NULL: it runs */
} refusal;

#define ATT "y = Attention"
#define TURN "y = RotaryEmbedding"
#define LIN "y, s = LinearAttention<q_num_heads=2, kv_num_heads=1, update_rule="
#define CONV "y, s = CausalConvWithState"
#define HUGE_SIZE "4611686018427387904"

static const refusal refusals[] = {
    {ATT, {"1,2", "1,2", "1,2"}, "3 or 4"},
    {ATT, {"1,2,4", "1,1,2,4", "1,2,4"}, "3 or 4"},
    {ATT, {"1,2,4", "1,2,4", "1,2,4"}, "at least 1"},
    {ATT "<q_num_heads=-1, kv_num_heads=1>", {"1,2,4", "1,2,4", "1,2,4"}, "at least 1"},
    {ATT "<q_num_heads=3, kv_num_heads=1>", {"1,2,4", "1,2,4", "1,2,4"}, "multiples"},
    {ATT "<q_num_heads=2, kv_num_heads=1>", {"1,2,4", "1,2,4", "1,2,4"}, "disagree"},
    {ATT, {"1,2,3,4", "1,1,3,5", "1,1,3,4"}, "disagree"},
    {ATT, {"1,2,3,4", "2,1,3,4", "1,1,3,4"}, "disagree"},
    {ATT, {"1,2,3,4", "1,1,3,4", "1,1,2,4"}, "disagree"},
    {ATT, {"1,3,3,4", "1,2,3,4", "1,2,3,4"}, "evenly"},
    {ATT, {"1,3,3,4", "1,0,3,4", "1,0,3,4"}, "evenly"},
    {ATT, {"1,1,3,4", "1,1,3,4", "1,1,3,4", "3,4"}, "attn_mask"},
    {ATT, {"1,1,3,4", "1,1,3,4", "1,1,3,4", "2,3"}, "attn_mask"},
    {ATT, {"1,1,3,4", "1,1,3,4", "1,1,3,4", "1,1,1,3,3"}, "attn_mask"},
    {ATT, {"1,1,3,4", "1,1,3,4", "1,1,3,4", "", "1,1,2,4"}, "go together"},
    {ATT, {"1,1,3,4", "1,1,3,4", "1,1,3,4", "", "1,1,2,4", "1,1,3,4"}, "past"},
    {ATT, {"1,1,3,4", "1,1,3,4", "1,1,3,4", "", "1,1,2,4", "1,1,2,4", "i1"}, "no past"},
    {ATT, {"1,1,3,4", "1,1,3,4", "1,1,3,4", "", "", "", "i2"}, "nonpad_kv_seqlen"},
    {ATT "<left_window_size=-2>", {"1,1,3,4", "1,1,3,4", "1,1,3,4"}, "window"},
    {ATT "<softmax_precision=7>", {"1,1,3,4", "1,1,3,4", "1,1,3,4"}, "softmax_precision"},
    {ATT "<softmax_precision=-1>", {"1,1,3,4", "1,1,3,4", "1,1,3,4"}, "softmax_precision"},
    {ATT "<softmax_precision=99>", {"1,1,3,4", "1,1,3,4", "1,1,3,4"}, "softmax_precision"},
    {ATT "<qk_matmul_output_mode=77>", {"1,1,3,4", "1,1,3,4", "1,1,3,4"}, NULL},
    {ATT, {"0,1,3,4", "0,1,3,4", "0,1,3,4"}, NULL},
    {ATT, {"1,1,0,4", "1,1,3,4", "1,1,3,4"}, NULL},
    {ATT, {"1,1,3,4", "1,1,0,4", "1,1,0,4"}, NULL},
    {ATT, {"1,1,3,4", "1,1,3,4", "1,1,3,0"}, NULL},
    {ATT, {"1,0,3,4", "1,0,3,4", "1,0,3,4"}, NULL},
    {ATT, {"0," HUGE_SIZE ",3,4", "0," HUGE_SIZE ",3,4", "0," HUGE_SIZE ",3,4"}, NULL},
    {ATT, {"1,1," HUGE_SIZE ",0", "1,1," HUGE_SIZE ",0", "1,1," HUGE_SIZE ",0"}, NULL},
    {ATT "<q_num_heads=" HUGE_SIZE ", kv_num_heads=1>", {"1,2,0", "1,2,0", "1,2,4"}, "too large"},
    {TURN, {"2,4", "3,2", "3,2", "i1,2"}, "3 or 4"},
    {TURN, {"1,2,4", "3,2", "3,2", "i1,2"}, "num_heads"},
    {TURN "<num_heads=3>", {"1,2,4", "3,2", "3,2", "i1,2"}, "num_heads"},
    {TURN, {"1,1,2,4", "3,2", "3,1", "i1,2"}, "sizes"},
    {TURN, {"1,1,2,4", "3,1", "3,1", "i1,2"}, "need 2"},
    {TURN, {"1,1,2,3", "3,1", "3,1", "i1,2"}, "in pairs"},
    {TURN "<rotary_embedding_dim=6>", {"1,1,2,4", "3,3", "3,3", "i1,2"}, "in pairs"},
    {TURN "<rotary_embedding_dim=-2>", {"1,1,2,4", "3,3", "3,3", "i1,2"}, "in pairs"},
    {TURN, {"1,1,2,4", "3,2", "3,2", "i2,2"}, "position_ids"},
    {TURN, {"1,1,2,4", "0,2", "0,2", "i1,2"}, "no position 0"},
    {TURN, {"1,1,2,4", "1,3,2", "1,3,2"}, "sizes"},
    {TURN, {"1,0,2,4", "3,2", "3,2", "i1,2"}, NULL},
    {TURN, {"0," HUGE_SIZE "," HUGE_SIZE ",4", "3,2", "3,2", "i1,2"}, NULL},
    {LIN "\"other\">", {"1,2,4", "1,2,2", "1,2,2"}, "update rule"},
    {LIN "\"gated\">", {"1,2,4", "1,2,2", "1,2,2"}, "decay"},
    {LIN "\"linear\">", {"1,2,4", "1,2,2", "1,2,2", "", "1,2,1"}, "decay"},
    {LIN "\"delta\">", {"1,2,4", "1,2,2", "1,2,2", "", "", "1,2,2"}, "beta"},
    {LIN "\"gated\">", {"1,2,4", "1,2,2", "1,2,2", "", "1,2,3"}, "decay"},
    {LIN "\"gated\">", {"1,2,4", "1,2,2", "1,2,2", "", "1,3,1"}, "decay"},
    {LIN "\"linear\">", {"1,2,4", "1,2,2", "1,2,2", "1,1,2,3"}, "past_state"},
    {LIN "\"linear\">", {"1,2,4", "1,3,2", "1,2,2"}, "in common"},
    {LIN "\"linear\">", {"1,2,3", "1,2,2", "1,2,2"}, "heads"},
    {LIN "\"linear\">", {"1,0,4", "1,0,2", "1,0,2"}, NULL},
    {LIN "\"linear\">", {"1,2,0", "1,2,0", "1,2,2"}, NULL},
    {LIN "\"linear\">", {"0," HUGE_SIZE ",4", "0," HUGE_SIZE ",2", "0," HUGE_SIZE ",2"}, NULL},
    {"y, s = LinearAttention<q_num_heads=3, kv_num_heads=2>", {"1,2,3", "1,2,2", "1,2,2"}, "decay"},
    {"y, s = LinearAttention<q_num_heads=0, kv_num_heads=0, update_rule=\"linear\">",
     {"1,2,3", "1,2,2", "1,2,2"},
     "evenly"},
    {CONV "<activation=\"relu\">", {"1,2,4", "2,1,3"}, "activation"},
    {CONV, {"1,2,4", "3,1,3"}, "sizes"},
    {CONV, {"1,2,4", "2,1,0"}, "sizes"},
    {CONV, {"1,2,4", "2,2,3"}, "sizes"},
    {CONV, {"1,2,4", "2,1,3", "3"}, "bias"},
    {CONV, {"1,2,4", "2,1,3", "", "1,2,3"}, "past_state"},
    {CONV, {"1,2,0", "2,1,3"}, NULL},
    {CONV, {"0,2,4", "2,1,3"}, NULL},
    {CONV, {"1,0," HUGE_SIZE, "0,1," HUGE_SIZE}, NULL},
};

TEST(refused) {
    for (size_t i = 0; i < ONX_COUNT(refusals); i++) {
        static float zeros[256];
        onx_operand operand[ARGS], *in[ARGS];
        char node[512];
        size_t n = 0;
        int at = snprintf(node, sizeof node, "%s(", refusals[i].node);
        for (; n < ARGS && refusals[i].in[n]; n++) {
            const char *dims = refusals[i].in[n];
            bool ints = *dims == 'i';
            operand[n] = kernel_operand(ints ? ONX_DTYPE_I64 : ONX_DTYPE_F32, dims + ints, zeros);
            in[n] = *dims ? &operand[n] : NULL;
            at += snprintf(node + at, sizeof node - (size_t)at, "%s%s", n ? ", " : "",
                           in[n] ? (char[]){(char)('a' + n), 0} : "");
        }
        (void)snprintf(node + at, sizeof node - (size_t)at, ")");
        kernel_result r = kernel_run("ref", 27, node, n, in, 0);
        const char *words = refusals[i].words;
        bool good = words ? r.status != ONX_OK && strstr(r.diag.message, words) != NULL
                          : r.status == ONX_OK;
        if (!CHECK(good)) fprintf(stderr, "    %zu: %s: %s\n", i, node, r.diag.message);
        kernel_free(&r);
    }
}

TEST_MAIN(E(recorded) E(hidden_keys) E(long_row) E(refused))
