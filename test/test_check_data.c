/* test_check_data.c: models that are right: those of the backend tests and of the zoo. */
#include "support.h"
#include "test.h"

/* The zoo's models come without their weights, which are numbers that a program can make again:
 * tensors with a note "prng …" in place of data. Nothing else may be wrong with them. */
typedef struct finding {
    size_t errors, without_data;
    char first[700];
} finding;

static void hear(void *user, const onx_problem *p) {
    finding *f = user;
    size_t n = strlen(p->message);
    const char *tail = ", but no data";
    if (p->rule->severity != ONX_SEVERITY_ERROR) return;
    if (strcmp(p->rule->id, "tensor-payload") == 0 && n > strlen(tail) &&
        strcmp(p->message + n - strlen(tail), tail) == 0)
        f->without_data++;
    else if (f->errors++ == 0)
        (void)snprintf(f->first, sizeof f->first, "%s: %s", p->place, p->message);
}

static size_t count_noted(const onx_model *model) {
    size_t n = 0;
    const onx_msg *m;
    for (onx_walk w = onx_walk_begin(model); (m = onx_walk_next(&w));)
        n += m->desc == &onx_desc_tensor &&
             strncmp(onx_tensor_doc((const onx_tensor *)m), "prng ", 5) == 0;
    return n;
}

static void check_file(const char *path) {
    onx_model *model;
    onx_diag diag = ONX_INIT(onx_diag);
    finding f = {0};
    onx_check_options options = ONX_INIT(onx_check_options);
    options.full = true;
    options.max_problems = 100000;
    options.report = hear;
    options.user = &f;
    onx_load_options load = ONX_INIT(onx_load_options);
    if (!CHECK(!onx_model_load(NULL, path, &load, &model, &diag))) {
        fprintf(stderr, "    %s: %s\n", path, diag.message);
        return;
    }
    onx_status status = onx_model_check(model, &options, &diag);
    CHECK(status == ONX_OK || (status == ONX_INVALID && f.without_data));
    if (!CHECK(f.errors == 0)) fprintf(stderr, "    %s: %s\n", path, f.first);
    CHECK_EQ(f.without_data, count_noted(model));
    onx_model_free(model);
}

static void check_folder(const char *name, const char *ending, size_t least) {
    test_files files = test_files_find(test_path(test_data(), name), ending);
    CHECK(files.count >= least);
    for (size_t i = 0; i < files.count; i++) check_file(files.paths[i]);
    test_files_free(&files);
}

TEST(backend_tests) {
    if (!test_data()) SKIP("ONX_DATA is not set");
    check_folder("node", "model.onnx", 1800);
    check_folder("simple", "model.onnx", 10);
    check_folder("pytorch-converted", "model.onnx", 50);
    check_folder("pytorch-operator", "model.onnx", 20);
    check_folder("light", ".onnx", 9);
}

TEST(zoo) {
    if (!test_has_zoo()) SKIP("there is no zoo in ONX_DATA");
    check_folder("", "model.slim.onnx", 40);
}

TEST_MAIN(E(backend_tests) E(zoo))
