/* test_decoder.c: a decoder that is run token by token, its past growing with every run, and one
 * that is a Loop: both against plain arithmetic. */
#include "decoder.h"
#include "test.h"
#include "ways.h"

#include <math.h>

enum { STEPS = 12, LAYERS = 2, VOCAB = 24, FIRST = 3, CACHES = 2 * LAYERS };
static const decoder tiny = {
    .d_model = 16, .heads = 2, .layers = LAYERS, .vocab = VOCAB, .positions = STEPS};

typedef struct truth {
    int64_t tokens[STEPS];
    double logits[STEPS][VOCAB];
} truth;

static double largest_error(const float *got, const double *wanted, size_t n) {
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double error = fabs((double)got[i] - wanted[i]);
        if (!(error <= largest)) largest = error; /* NaN too */
    }
    return largest;
}

static bool failed(onx_status status, const onx_diag *diag) {
    char text[1024];
    if (!status) return false;
    onx_diag_format(diag, text, sizeof text);
    fprintf(stderr, "%s\n", text);
    return true;
}

/* What is run, and how. */
typedef struct trial {
    const way *how;
    const char *tier;
    size_t threads;
    fake_device device;
} trial;

static onx_session *open_session(onx_model *model, trial *t) {
    onx_session *session = way_open(model, t->how, t->tier, t->threads, &t->device);
    CHECK(session);
    onx_model_free(model); /* a session needs it no longer */
    return session;
}
static void close_session(onx_session *session, const trial *t) {
    onx_session_free(session);
    CHECK_EQ(t->device.faults, 0);
    CHECK_EQ(t->device.bytes, 0);
}

/* ── Token by token ──────────────────────────────────────────────────────────────────────────── */

/* One run: past and present are swapped, so that the present is the past of the next one. */
static bool step(onx_session *session, int64_t *token, int64_t position, float logits[VOCAB],
                 onx_arg past[CACHES]) {
    onx_diag diag = ONX_INIT(onx_diag);
    int64_t next = -1;
    onx_arg in[2 + CACHES] = {
        {.dtype = ONX_DTYPE_I64, .rank = 2, .dims = {1, 1}, .data = token, .bytes = 8},
        {.dtype = ONX_DTYPE_I64, .rank = 1, .dims = {1}, .data = &position, .bytes = 8}};
    onx_arg out[2 + CACHES] = {{.data = logits, .bytes = VOCAB * sizeof *logits},
                               {.data = &next, .bytes = sizeof next}};
    memcpy(in + 2, past, CACHES * sizeof *past);
    if (!CHECK(
            !failed(onx_session_run(session, 2 + CACHES, in, 2 + CACHES, out, NULL, &diag), &diag)))
        return false;
    for (size_t i = 0; i < CACHES; i++) {
        CHECK_EQ(out[2 + i].rank, 4);
        CHECK_EQ(out[2 + i].dims[2], position + 1);
        onx_arg_clear(&past[i]);
        past[i] = out[2 + i];
    }
    *token = next;
    return true;
}

static void run_steps(trial *how, float all[STEPS][VOCAB]) {
    truth wanted;
    onx_arg past[CACHES];
    float logits[VOCAB];
    int64_t token = FIRST;
    REQUIRE(decoder_compute(&tiny, FIRST, STEPS, wanted.tokens, wanted.logits[0]));
    onx_session *session = open_session(decoder_step_model(&tiny), how);
    if (!session) return;
    for (size_t i = 0; i < CACHES; i++)
        past[i] = (onx_arg){.dtype = ONX_DTYPE_F32, .rank = 4, .dims = {1, 2, 0, 8}};
    for (size_t t = 0; t < STEPS && step(session, &token, (int64_t)t, logits, past); t++) {
        CHECK_EQ(token, wanted.tokens[t]);
        CHECK(largest_error(logits, wanted.logits[t], VOCAB) < 2e-5);
        memcpy(all[t], logits, sizeof logits);
    }
    for (size_t i = 0; i < CACHES; i++) onx_arg_clear(&past[i]);
    close_session(session, how);
}

/* ── A Loop ──────────────────────────────────────────────────────────────────────────────────── */

static void run_loop(trial *how, int64_t steps, float all[STEPS][VOCAB]) {
    truth wanted;
    onx_diag diag = ONX_INIT(onx_diag);
    int64_t token = FIRST;
    onx_arg in[2] = {{.name = "steps", .dtype = ONX_DTYPE_I64, .data = &steps, .bytes = 8},
                     {.name = "token",
                      .dtype = ONX_DTYPE_I64,
                      .rank = 2,
                      .dims = {1, 1},
                      .data = &token,
                      .bytes = 8}};
    onx_arg out[2] = {{.name = "tokens"}, {.name = "all_logits"}};
    REQUIRE(decoder_compute(&tiny, FIRST, (size_t)steps, wanted.tokens, wanted.logits[0]));
    onx_session *session = open_session(decoder_loop_model(&tiny), how);
    if (!session) return;
    if (CHECK(!failed(onx_session_run(session, 2, in, 2, out, NULL, &diag), &diag))) {
        CHECK_EQ(out[0].rank, 3);
        CHECK_EQ(out[0].dims[0], steps);
        CHECK_EQ(out[1].rank, 4);
        CHECK_EQ(out[1].dims[0], steps);
        CHECK_EQ(out[1].dims[3], VOCAB);
        size_t n = (size_t)steps;
        if (CHECK(out[0].bytes == n * 8) && CHECK(out[1].bytes == n * VOCAB * 4)) {
            CHECK(!memcmp(out[0].data, wanted.tokens, n * 8));
            CHECK(largest_error(out[1].data, wanted.logits[0], n * VOCAB) < 2e-5);
            memcpy(all, out[1].data, n * VOCAB * 4);
        }
    }
    for (size_t i = 0; i < 2; i++) onx_arg_clear(&out[i]);
    close_session(session, how);
}

/* ── Cases ───────────────────────────────────────────────────────────────────────────────────── */

/* Both models, with one thread and with two: the same bits. */
static void try_way(const way *how, const char *tier) {
    static float logits[4][STEPS][VOCAB];
    memset(logits, 0, sizeof logits);
    for (size_t threads = 1; threads <= 2; threads++) {
        trial t = {.how = how, .tier = tier, .threads = threads};
        run_steps(&t, logits[threads - 1]);
        run_loop(&t, STEPS, logits[threads + 1]);
    }
    CHECK(memcmp(logits[0], logits[1], sizeof logits[0]) == 0);
    CHECK(memcmp(logits[2], logits[3], sizeof logits[0]) == 0);
}

TEST(every_way) {
    for (size_t w = 0; w < ONX_COUNT(ways); w++)
        for (const char *const *tier = kernel_tiers(); *tier; tier++) try_way(&ways[w], *tier);
}

TEST(short_loop) {
    static float logits[STEPS][VOCAB];
    trial t = {.how = &ways[0], .tier = "ref", .threads = 1};
    run_loop(&t, 1, logits);
}

TEST_MAIN(E(every_way) E(short_loop))
