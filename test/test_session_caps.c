/* test_session_caps.c: models of the backend tests with less memory than they need, or just enough:
 * never more than the cap is allocated, the failure is clean, and what does run after it is right.
 *
 * ONX_CAPS=N: so many models (200). */
#include "backend_case.h"
#include "test.h"

#include <stdlib.h>

enum { CAPS = 12 };

typedef struct tally {
    size_t models, refused, failed, ran;
} tally;

typedef struct subject {
    const onx_model *model;
    const char *folder;
    test_heap *heap;
    size_t n_out;
    onx_arg wanted[BACKEND_ARGS];
} subject;

/* Into memory of the session, or into that of the caller, for which it needs less of its own. */
static onx_status run(onx_session *s, const backend_inputs *in, const subject *what, bool mine) {
    onx_arg out[BACKEND_ARGS] = {{0}};
    void *memory[BACKEND_ARGS] = {NULL};
    for (size_t i = 0; i < what->n_out && mine; i++)
        if (!what->wanted[i].value) {
            out[i].bytes = what->wanted[i].bytes;
            out[i].data = memory[i] = malloc(out[i].bytes + 1);
        }
    onx_status status = onx_session_run(s, in->n, in->args, what->n_out, out, NULL, NULL);
    for (size_t i = 0; i < what->n_out; i++) {
        if (status == ONX_OK && !CHECK(backend_same(&out[i], &what->wanted[i])))
            fprintf(stderr, "    %s, output %zu\n", what->folder, i);
        onx_arg_clear(&out[i]);
        free(memory[i]);
    }
    return status;
}

static void try_cap(const subject *what, size_t cap, tally *t) {
    onx_session *s = NULL;
    onx_session_options options = ONX_INIT(onx_session_options);
    options.threads = 1;
    options.memory_limit = cap;
    size_t before = what->heap->bytes;
    what->heap->peak = before;
    onx_status status = onx_session_new(what->model, &options, &s, NULL);
    CHECK(status == ONX_OK || status == ONX_NO_MEMORY);
    t->refused += status != ONX_OK;
    if (s) {
        backend_inputs in;
        backend_inputs_load(what->folder, s, &in);
        for (int round = 0; round < 4; round++) {
            status = run(s, &in, what, round % 2);
            CHECK(status == ONX_OK || status == ONX_NO_MEMORY);
            status ? t->failed++ : t->ran++;
        }
        backend_inputs_free(&in);
    }
    if (!CHECK(what->heap->peak - before <= cap))
        fprintf(stderr, "    %s: %zu bytes, cap %zu\n", what->folder, what->heap->peak - before,
                cap);
    onx_session_free(s);
    CHECK_EQ(what->heap->bytes, before);
}

/* What it gives without a cap, and how much memory that takes; 0: it does not run. */
static size_t run_free(subject *what) {
    onx_session *s = NULL;
    backend_inputs in;
    onx_session_options options = ONX_INIT(onx_session_options);
    options.threads = 1;
    size_t before = what->heap->peak = what->heap->bytes;
    if (onx_session_new(what->model, &options, &s, NULL)) return 0;
    what->n_out = onx_session_output_count(s);
    if (what->n_out > BACKEND_ARGS) what->n_out = BACKEND_ARGS;
    backend_inputs_load(what->folder, s, &in);
    onx_status status = onx_session_run(s, in.n, in.args, what->n_out, what->wanted, NULL, NULL);
    backend_inputs_free(&in);
    onx_session_free(s);
    return status ? 0 : what->heap->peak - before;
}

static void try_model(const char *path, test_random *random, tally *t) {
    char folder[1000];
    test_heap heap = {0};
    onx_context *ctx = test_context(&heap, NULL);
    onx_model *model = NULL;
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    CHECK_EQ(onx_model_load(ctx, path, NULL, &model, NULL), ONX_OK);
    subject what = {.model = model, .folder = folder, .heap = &heap};
    size_t needed = run_free(&what);
    t->models += needed != 0;
    for (size_t i = 0; i < CAPS && needed; i++)
        try_cap(&what, needed / 2 + test_random_below(random, needed * 5 / 8), t);
    for (size_t i = 0; i < BACKEND_ARGS; i++) onx_arg_clear(&what.wanted[i]);
    onx_model_free(model);
    onx_context_free(ctx);
    CHECK_EQ(heap.bytes, 0);
}

TEST(random_caps) {
    char folder[1000];
    const char *wish = getenv("ONX_CAPS");
    size_t models = wish ? (size_t)strtoul(wish, NULL, 10) : 200;
    test_random random = {11};
    tally t = {0};
    if (!test_data()) SKIP("no test data");
    snprintf(folder, sizeof folder, "%s/node", test_data());
    test_files files = test_files_find(folder, "model.onnx");
    if (models > files.count) models = files.count;
    for (size_t i = 0; i < models; i++) {
        size_t k = models < files.count ? test_random_below(&random, files.count) : i;
        if (!backend_is_random(files.paths[k])) try_model(files.paths[k], &random, &t);
    }
    fprintf(stderr, "  %zu models: %zu sessions refused, %zu runs failed, %zu right\n", t.models,
            t.refused, t.failed, t.ran);
    CHECK(t.models * 4 > models * 3 && t.refused > models && t.failed > models && t.ran > models);
    test_files_free(&files);
}

TEST_MAIN(E(random_caps))
