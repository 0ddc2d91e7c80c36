/* test_rnn.c: LSTM, GRU, RNN: the vector kernels against the plain ones, with every option and at
 * odd sizes; the recorded tests; what must be refused. */
#include "kernel.h"
#include "test.h"

#include <math.h>

enum { MOST = 1 << 16 };

typedef struct shape {
    int time, batch, input, hidden;
} shape;

/* Inputs X W R B lens h c P for an operator with that many gates. */
typedef struct inputs {
    onx_operand operand[8], *in[8];
    float *data[8];
    int32_t lens[64];
} inputs;

static void make(inputs *m, shape s, int gates, int dirs, bool batch_first, unsigned present) {
    int rows = gates * s.hidden, first = batch_first ? s.batch : s.time;
    int second = batch_first ? s.time : s.batch;
    char dims[8][64];
    snprintf(dims[0], 64, "%d,%d,%d", first, second, s.input);
    snprintf(dims[1], 64, "%d,%d,%d", dirs, rows, s.input);
    snprintf(dims[2], 64, "%d,%d,%d", dirs, rows, s.hidden);
    snprintf(dims[3], 64, "%d,%d", dirs, 2 * rows);
    snprintf(dims[4], 64, "%d", s.batch);
    snprintf(dims[5], 64, "%d,%d,%d", batch_first ? s.batch : dirs, batch_first ? dirs : s.batch,
             s.hidden);
    memcpy(dims[6], dims[5], 64);
    snprintf(dims[7], 64, "%d,%d", dirs, 3 * s.hidden);
    for (int b = 0; b < s.batch; b++) m->lens[b] = (int32_t)(b * 7 % (s.time + 1));
    if (s.batch > 1) m->lens[1] = s.time;
    for (size_t i = 0; i < 8; i++) {
        m->in[i] = NULL;
        m->data[i] = malloc(MOST * sizeof(float));
        if (!m->data[i]) abort();
        bool lens = i == 4;
        m->operand[i] = kernel_operand(lens ? ONX_DTYPE_I32 : ONX_DTYPE_F32, dims[i],
                                       lens ? (void *)m->lens : (void *)m->data[i]);
        if (m->operand[i].count > MOST) abort();
        kernel_fill(m->data[i], (size_t)m->operand[i].count, 17 + i, -0.5f, 0.5f);
        if (i < 3 || present >> i & 1) m->in[i] = &m->operand[i];
    }
}
static void drop(inputs *m) {
    for (size_t i = 0; i < 8; i++) free(m->data[i]);
}

/* One node on every tier, weights constant or not, against the plain kernel. */
static void compare(const char *node, int gates, int n_in, shape s, unsigned present,
                    const char *name) {
    bool both = strstr(node, "bidirectional"), batch_first = strstr(node, "layout=1");
    inputs m;
    make(&m, s, gates, both ? 2 : 1, batch_first, present);
    kernel_result want = kernel_run("ref", 14, node, (size_t)n_in, m.in, 0);
    if (!CHECK(want.status == ONX_OK)) printf("%s: %s\n", node, want.diag.message);
    for (const char *const *tier = kernel_tiers(); **tier != 'r'; tier++)
        for (uint32_t constant = 0; constant < 16; constant += 6) {
            kernel_result got = kernel_run(*tier, 14, node, (size_t)n_in, m.in, constant);
            bool ok = CHECK(got.status == ONX_OK) && CHECK(want.status == ONX_OK);
            if (ok) CHECK_STR(got.kernel->name, name);
            for (size_t o = 0; ok && o < want.n_out; o++) {
                if (!want.out[o].rank && !got.out[o].rank) continue;
                double d = kernel_distance(&got.out[o], &want.out[o]);
                if (!CHECK(d < 3e-6)) printf("%s [%s] output %zu: %g\n", node, *tier, o, d);
            }
            if (!ok) printf("%s [%s]: %s\n", node, *tier, got.diag.message);
            kernel_free(&got);
        }
    kernel_free(&want);
    drop(&m);
}

static const shape shapes[] = {{5, 3, 7, 9},  {1, 1, 1, 1},   {4, 2, 16, 16}, {3, 5, 33, 31},
                               {2, 17, 3, 5}, {6, 1, 10, 40}, {0, 2, 3, 4},   {3, 0, 4, 5},
                               {3, 2, 0, 4},  {7, 3, 8, 64}};
enum { B = 1 << 3, LENS = 1 << 4, H = 1 << 5, C = 1 << 6, P = 1 << 7 };

#define LSTM_IN "(X, W, R, B, lens, h, c, P)"

TEST(lstm_shapes) {
    static const unsigned present[] = {0, B, B | H | C, B | LENS, B | LENS | H | C | P};
    for (size_t i = 0; i < ONX_COUNT(shapes); i++)
        for (size_t k = 0; k < ONX_COUNT(present); k++)
            compare("Y, Yh, Yc = LSTM" LSTM_IN, 4, 8, shapes[i], present[k], "lstm_f32");
}

TEST(lstm_options) {
    static const char *const nodes[] = {
        "Y, Yh, Yc = LSTM<direction=\"reverse\">" LSTM_IN,
        "Y, Yh, Yc = LSTM<direction=\"bidirectional\">" LSTM_IN,
        "Y, Yh, Yc = LSTM<direction=\"bidirectional\", layout=1>" LSTM_IN,
        "Y, Yh, Yc = LSTM<layout=1, direction=\"reverse\", clip=0.3>" LSTM_IN,
        "Y, Yh, Yc = LSTM<input_forget=1, clip=0.5>" LSTM_IN,
        "Y, Yh, Yc = LSTM<hidden_size=9>" LSTM_IN,
        "Y = LSTM" LSTM_IN,
        "\"\", Yh = LSTM" LSTM_IN,
        "\"\", \"\", Yc = LSTM<direction=\"bidirectional\">" LSTM_IN,
        "Y, Yh, Yc = LSTM<activations=[\"Sigmoid\", \"Relu\", \"Affine\"], "
        "activation_alpha=[0.5], activation_beta=[0.25]>" LSTM_IN,
        "Y, Yh, Yc = LSTM<activations=[\"HardSigmoid\", \"LeakyRelu\", \"ScaledTanh\"], "
        "activation_alpha=[0.3, 0.1, 0.9], activation_beta=[0.4, 1.2]>" LSTM_IN,
        "Y, Yh, Yc = LSTM<activations=[\"Elu\", \"Softsign\", \"Softplus\"]>" LSTM_IN,
        "Y, Yh, Yc = LSTM<direction=\"bidirectional\", activations=[\"Sigmoid\", "
        "\"ThresholdedRelu\", \"Tanh\", \"HardSigmoid\", \"Tanh\", \"Elu\"], "
        "activation_alpha=[0.2, 0.25, 0.7]>" LSTM_IN,
    };
    for (size_t i = 0; i < ONX_COUNT(nodes); i++)
        for (unsigned lens = 0; lens <= LENS; lens += LENS)
            compare(nodes[i], 4, 8, shapes[0], B | H | C | P | lens, "lstm_f32");
}

TEST(gru) {
    static const char *const nodes[] = {
        "Y, Yh = GRU<linear_before_reset=1>(X, W, R, B, lens, h)",
        "Y, Yh = GRU(X, W, R, B, lens, h)",
        "Y, Yh = GRU<direction=\"bidirectional\", clip=0.2>(X, W, R, B, lens, h)",
        "Y, Yh = GRU<linear_before_reset=1, direction=\"bidirectional\", layout=1>(X, W, R, B, "
        "lens, h)",
        "Y, Yh = GRU<linear_before_reset=1, clip=0.2, activations=[\"HardSigmoid\", \"Relu\"]>(X, "
        "W, R, B, lens, h)"};
    for (size_t i = 0; i < ONX_COUNT(nodes); i++)
        for (size_t k = 0; k < ONX_COUNT(shapes); k++) {
            compare(nodes[i], 3, 6, shapes[k], 0, "gru_f32");
            compare(nodes[i], 3, 6, shapes[k], B | H | LENS, "gru_f32");
        }
}

TEST(rnn) {
    for (size_t k = 0; k < ONX_COUNT(shapes); k++) {
        compare("Y, Yh = RNN(X, W, R, B, lens, h)", 1, 6, shapes[k], B, "rnn_f32");
        compare("Y, Yh = RNN<direction=\"bidirectional\">(X, W, R, B, lens, h)", 1, 6, shapes[k],
                B | H | LENS, "rnn_f32");
    }
}

/* The other types are the same computation: they differ by the rounding of inputs and outputs. */
TEST(types) {
    static const onx_dtype types[] = {ONX_DTYPE_F64, ONX_DTYPE_F16, ONX_DTYPE_BF16};
    static const double bounds[] = {1e-6, 2e-2, 1e-1};
    inputs m;
    make(&m, shapes[0], 4, 1, false, B | H | C);
    kernel_result want = kernel_run("ref", 22, "Y, Yh, Yc = LSTM" LSTM_IN, 8, m.in, 0);
    for (size_t i = 0; i < ONX_COUNT(types); i++) {
        onx_operand converted[8], *in[8] = {NULL};
        for (size_t k = 0; k < 8; k++) {
            if (!m.in[k]) continue;
            converted[k] = m.operand[k];
            converted[k].dtype = (uint8_t)types[i];
            converted[k].data = malloc(MOST * sizeof(double));
            REQUIRE(onx_dtype_convert(ONX_DTYPE_F32, m.data[k], types[i], converted[k].data,
                                      (uint64_t)converted[k].count, false) == ONX_OK);
            in[k] = &converted[k];
        }
        kernel_result got = kernel_run("ref", 22, "Y, Yh, Yc = LSTM" LSTM_IN, 8, in, 0);
        CHECK(got.status == ONX_OK);
        for (size_t o = 0; o < 3; o++) {
            CHECK_EQ(got.out[o].dtype, types[i]);
            float back[1000];
            (void)onx_dtype_convert(types[i], got.out[o].data, ONX_DTYPE_F32, back,
                                    (uint64_t)got.out[o].count, false);
            for (int64_t e = 0; e < want.out[o].count; e++)
                CHECK(fabs((double)back[e] - (double)((float *)want.out[o].data)[e]) < bounds[i]);
        }
        kernel_free(&got);
        for (size_t k = 0; k < 8; k++)
            if (in[k]) free(converted[k].data);
    }
    kernel_free(&want);
    drop(&m);
}

static void refused(const char *node, onx_operand *const *in, const char *part) {
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r = kernel_run(*tier, 14, node, 8, in, 0);
        if (!CHECK(r.status == ONX_INVALID && strstr(r.diag.message, part)))
            printf("%s [%s]: %d %s\n", node, *tier, r.status, r.diag.message);
        kernel_free(&r);
    }
}

TEST(refusals) {
    inputs m;
    const char *plain = "Y, Yh, Yc = LSTM" LSTM_IN;
    make(&m, shapes[0], 4, 1, false, B | LENS | H | C | P);
    m.lens[1] = 6;
    refused(plain, m.in, "sequence_lens");
    m.lens[1] = -1;
    refused(plain, m.in, "sequence_lens");
    m.lens[1] = 5;
    refused("Y = LSTM<direction=\"sideways\">" LSTM_IN, m.in, "direction");
    refused("Y = LSTM<direction=\"bidirectional\">" LSTM_IN, m.in, "dimension 0 of W");
    refused("Y = LSTM<hidden_size=8>" LSTM_IN, m.in, "hidden_size");
    refused("Y = LSTM<activations=[\"Sigmoid\"]>" LSTM_IN, m.in, "activations");
    refused("Y = LSTM<activations=[\"Sigmoid\", \"Tanh\", \"Sine\"]>" LSTM_IN, m.in, "Sine");
    refused("Y = LSTM<clip=-1.0>" LSTM_IN, m.in, "clip");
    for (size_t i = 0; i < 8; i++) {
        onx_operand saved = m.operand[i];
        m.operand[i].rank = 1;
        if (i != 4) refused(plain, m.in, "rank");
        m.operand[i] = saved;
        m.operand[i].dims[saved.rank - 1]--;
        if (i != 2 && i != 0) refused(plain, m.in, "must be");
        m.operand[i] = saved;
    }
    drop(&m);
}

TEST(backend) {
    static const char *const prefixes[] = {"lstm_", "gru_", "rnn_", "simple_rnn_"};
    size_t failed = 0, ran = 0;
    if (!getenv("ONX_DATA")) SKIP("ONX_DATA is not set");
    for (size_t i = 0; i < ONX_COUNT(prefixes); i++)
        ran += kernel_backend(prefixes[i], "", &failed);
    CHECK_EQ(ran, 18);
    CHECK_EQ(failed, 0);
}

TEST_MAIN(E(lstm_shapes) E(lstm_options) E(gru) E(rnn) E(types) E(refusals) E(backend))
