/* test_engine.c: whole models: recorded outputs, in every way there is to run them, and the same
 * bits with any number of threads. */
#include "support.h"
#include "test.h"
#include "ways.h"
#include "zoo.h"

static bool run_once(const char *name, const zoo_model *zoo, const way *how, const char *tier,
                     size_t threads, onx_arg *out) {
    fake_device device;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session *session = way_open(zoo->model, how, tier, threads, &device);
    onx_status status = ONX_INVALID;
    if (session)
        status = onx_session_run(session, zoo->n_in, zoo->in, zoo->n_out, out, NULL, &diag);
    onx_session_free(session);
    if (!CHECK(status == ONX_OK))
        fprintf(stderr, "    %s, %s, %s: %s: %s\n", name, how->name, tier, diag.place,
                diag.message);
    for (size_t i = 0; i < zoo->n_out && status == ONX_OK; i++) {
        double d = zoo_distance(zoo, i, &out[i]);
        if (!CHECK(d <= 1e-4))
            fprintf(stderr, "    %s, %s, %s: output %zu differs by %g\n", name, how->name, tier, i,
                    d);
    }
    CHECK_EQ(device.faults, 0);
    CHECK_EQ(device.bytes, 0);
    CHECK(!how->fake || device.launched > 0);
    return status == ONX_OK;
}

static void try_way(const char *name, const zoo_model *zoo, const way *how, const char *tier) {
    onx_arg one[ZOO_ARGS] = {{0}}, two[ZOO_ARGS] = {{0}};
    if (run_once(name, zoo, how, tier, 1, one) && run_once(name, zoo, how, tier, 2, two))
        for (size_t i = 0; i < zoo->n_out; i++)
            CHECK(one[i].bytes == two[i].bytes &&
                  memcmp(one[i].data, two[i].data, one[i].bytes) == 0);
    for (size_t i = 0; i < zoo->n_out; i++) {
        onx_arg_clear(&one[i]);
        onx_arg_clear(&two[i]);
    }
}

/* Sanitizers make everything slower: then models that are not light run in one way, on one tier. */
#ifdef ONX_SANITIZED
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

/* Plain kernels are slow: `light` models go through them in every way, others in one. So do the
 * kernels of the second device. */
static void try_model(const char *name, bool light) {
    zoo_model zoo;
    if (!test_has_zoo()) SKIP("there is no zoo in ONX_DATA");
    REQUIRE(zoo_load(NULL, name, &zoo));
    for (size_t w = 0; w < ONX_COUNT(ways); w++)
        for (const char *const *tier = kernel_tiers(); *tier; tier++) {
            bool best = tier == kernel_tiers(), plain = strcmp(*tier, "ref") == 0;
            if (!light && sanitized && (w || !best)) continue;
            if (light || (ways[w].fake ? best && !ways[w].dynamic : !plain || w == 0))
                try_way(name, &zoo, &ways[w], *tier);
        }
    zoo_free(&zoo);
}

TEST(note_if) {
    try_model("note_if", true);
}
TEST(lstm) {
    try_model("lstm", true);
}
TEST(resnet18) {
    try_model("resnet18", false);
}
TEST(bert) { /* or a small one of its kind */
    try_model(sanitized ? "minilm_l6" : "bert_base", false);
}

TEST_MAIN(E(note_if) E(lstm) E(resnet18) E(bert))
