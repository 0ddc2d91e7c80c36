/* test_engine.c: whole models: recorded outputs, in every way there is to run them. */
#include "test.h"
#include "zoo.h"

#include "kernel.h"

typedef struct way {
    const char *name;
    onx_level level;
    bool pin_all, dynamic;
} way;
static const way ways[] = {
    {"optimized", ONX_LEVEL_ALL, false, false}, {"basic", ONX_LEVEL_BASIC, false, false},
    {"plain", ONX_LEVEL_NONE, false, false},    {"dynamic", ONX_LEVEL_ALL, false, true},
    {"pinned", ONX_LEVEL_ALL, true, false},     {"plain dynamic", ONX_LEVEL_NONE, false, true},
};

static void run_once(const char *name, const zoo_model *zoo, const way *how, const char *tier,
                     size_t threads, onx_arg *out) {
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_session *session = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    options.level = how->level;
    options.cpu = tier;
    options.threads = threads;
    options.pin_all = how->pin_all;
    options.dynamic = how->dynamic;
    if (onx_session_new(zoo->model, &options, &session, &diag) != ONX_OK ||
        onx_session_run(session, zoo->n_in, zoo->in, zoo->n_out, out, NULL, &diag) != ONX_OK) {
        char text[1200];
        (void)onx_diag_format(&diag, text, sizeof text);
        fprintf(stderr, "%s, %s, %s, %zu threads: %s\n", name, how->name, tier, threads, text);
        CHECK(!"runs");
    } else {
        for (size_t i = 0; i < zoo->n_out; i++) {
            double d = zoo_distance(zoo, i, &out[i]);
            if (!CHECK(d <= 1e-4))
                fprintf(stderr, "    %s, %s, %s: output %zu differs by %g\n", name, how->name,
                        tier, i, d);
        }
    }
    onx_session_free(session);
}

static void try_way(const char *name, const zoo_model *zoo, const way *how, const char *tier) {
    onx_arg one[ZOO_ARGS] = {{0}}, two[ZOO_ARGS] = {{0}};
    run_once(name, zoo, how, tier, 1, one);
    run_once(name, zoo, how, tier, 2, two);
    for (size_t i = 0; i < zoo->n_out; i++) {
        bool same = one[i].bytes == two[i].bytes && one[i].data && two[i].data &&
                    memcmp(one[i].data, two[i].data, one[i].bytes) == 0;
        CHECK(same);
        onx_arg_clear(&one[i]);
        onx_arg_clear(&two[i]);
    }
}

static void try_model(const char *name) {
    zoo_model zoo;
    if (!zoo_load(NULL, name, &zoo)) SKIP("no test data");
    for (size_t w = 0; w < ONX_COUNT(ways); w++)
        for (const char *const *tier = kernel_tiers(); *tier; tier++) {
            bool slow = strcmp(*tier, "ref") == 0 && w > 0; /* one plain run is enough of these */
            if (!slow) try_way(name, &zoo, &ways[w], *tier);
        }
    zoo_free(&zoo);
}

TEST(note_if) {
    try_model("note_if");
}
TEST(lstm) {
    try_model("lstm");
}
TEST(resnet18) {
    try_model("resnet18");
}
TEST(bert_base) {
    try_model("bert_base");
}

TEST_MAIN(E(note_if) E(lstm) E(resnet18) E(bert_base))
