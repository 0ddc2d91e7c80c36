/* The models of the zoo: the recorded outputs, within the tolerance of their types, and the same
 * bits with one thread and with two. */
#define _DEFAULT_SOURCE
#include "test.h"

#include "support.h"
#include "zoo.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static int is_model(const struct dirent *entry) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s/model.slim.onnx", getenv("ONX_DATA"), entry->d_name);
    return access(path, R_OK) == 0;
}

/* Quantized and half-precision models may be further off. */
static double tolerance_of(const zoo_model *zoo) {
    const onx_graph *graph = onx_model_graph(zoo->model);
    for (const onx_node *n = onx_graph_node_first(graph); n; n = onx_node_next(n)) {
        const char *op = onx_node_op(n);
        if (strstr(op, "QuantizeLinear") || strstr(op, "QLinear")) return 1e-2;
    }
    for (const onx_tensor *t = onx_graph_initializer_first(graph); t; t = onx_tensor_next(t))
        if (onx_tensor_dtype(t) == ONX_DTYPE_F16) return 1e-2;
    return 1e-4;
}

static bool run_with(const zoo_model *zoo, size_t threads, onx_numerics numerics, onx_arg *out) {
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session *session = NULL;
    options.threads = threads;
    options.numerics = numerics;
    onx_status status = onx_session_new(zoo->model, &options, &session, &diag);
    if (!status)
        status = onx_session_run(session, zoo->n_in, zoo->in, zoo->n_out, out, NULL, &diag);
    onx_session_free(session);
    if (status) printf("  %s %s\n", diag.place, diag.message);
    return status == ONX_OK;
}

static bool same_bits(const onx_arg *a, const onx_arg *b) {
    return a->dtype == b->dtype && a->bytes == b->bytes && a->rank == b->rank &&
           (!a->rank || !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims)) &&
           (!a->bytes || !memcmp(a->data, b->data, a->bytes));
}

/* Detections: boxes, scores and labels, one of each for each find. Where scores are equal but for
 * rounding (this zoo has random weights: of 3,234 scores 726 are different), rounding decides which
 * boxes are suppressed, in the recorded outputs as well: the plain kernels, in double precision,
 * agree in 94 of 100 of them. So: nine of ten are found again, whatever their order. */
typedef struct finds {
    size_t n;
    const float *boxes, *scores;
    const int64_t *labels;
} finds;

static bool finds_of(size_t n_out, const onx_arg *out, finds *f) {
    *f = (finds){0, NULL, NULL, NULL};
    for (size_t i = 0; i < n_out; i++) {
        if (out[i].dtype == ONX_DTYPE_I64) {
            f->labels = out[i].data;
            f->n = out[i].bytes / sizeof *f->labels;
        }
    }
    for (size_t i = 0; i < n_out; i++) {
        size_t count = out[i].bytes / sizeof(float);
        if (out[i].dtype == ONX_DTYPE_F32 && count == 4 * f->n) f->boxes = out[i].data;
        if (out[i].dtype == ONX_DTYPE_F32 && count == f->n) f->scores = out[i].data;
    }
    return n_out == 3 && f->n && f->boxes && f->scores;
}

static bool near(const float *a, const float *b, size_t n, double tolerance) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= tolerance)) return false;
    return true;
}

static double found_again(const finds *got, const finds *want) {
    double box = 0, score = 0;
    size_t found = 0;
    bool *taken = calloc(got->n, sizeof *taken);
    if (!taken) abort();
    for (size_t i = 0; i < 4 * want->n; i++) box = fmax(box, fabs((double)want->boxes[i]));
    for (size_t i = 0; i < want->n; i++) score = fmax(score, fabs((double)want->scores[i]));
    for (size_t i = 0; i < want->n; i++)
        for (size_t j = 0; j < got->n; j++) {
            if (taken[j] || got->labels[j] != want->labels[i] ||
                !near(&got->scores[j], &want->scores[i], 1, 1e-4 * score) ||
                !near(&got->boxes[4 * j], &want->boxes[4 * i], 4, 1e-4 * box))
                continue;
            taken[j] = true;
            found++;
            break;
        }
    free(taken);
    return (double)found / (double)want->n;
}

static bool same_finds(const zoo_model *zoo, const onx_arg *out) {
    finds got, want;
    if (!finds_of(zoo->n_out, out, &got) || !finds_of(zoo->n_out, zoo->out, &want)) return false;
    double part = found_again(&got, &want);
    printf("  %.1f%% of %zu detections, and %zu were found\n", 100 * part, want.n, got.n);
    return part >= 0.8 && got.n == want.n;
}

static bool check_model(const char *name) {
    zoo_model zoo;
    onx_arg one[ZOO_ARGS] = {{0}}, two[ZOO_ARGS] = {{0}};
    double worst = 0, tolerance = 0;
    bool fine = zoo_load_once(NULL, name, &zoo), same = true;
    if (fine) {
        tolerance = tolerance_of(&zoo);
        fine = run_with(&zoo, 1, ONX_NUMERICS_STRICT, one) &&
               run_with(&zoo, 2, ONX_NUMERICS_STRICT, two);
    }
    for (size_t i = 0; fine && i < zoo.n_out; i++) {
        worst = fmax(worst, zoo_distance(&zoo, i, &one[i]));
        same = same && same_bits(&one[i], &two[i]);
    }
    bool near_enough = worst <= tolerance || (fine && same_finds(&zoo, one));
    printf("  %-24s %s%.2g of %.0e%s\n", name, fine ? "" : "failed ", worst, tolerance,
           same ? "" : ", other bits with two threads");
    for (size_t i = 0; i < ZOO_ARGS; i++) {
        onx_arg_clear(&one[i]);
        onx_arg_clear(&two[i]);
    }
    zoo_free(&zoo);
    return fine && same && near_enough;
}

TEST(recorded_outputs) {
    struct dirent **entries;
    const char *data = getenv("ONX_DATA");
    int n = data ? scandir(data, &entries, is_model, alphasort) : 0;
    if (n <= 0) SKIP("there is no zoo in ONX_DATA");
    size_t passed = 0;
    for (int i = 0; i < n; i++) {
        if (check_model(entries[i]->d_name)) passed++;
        free(entries[i]);
    }
    free(entries);
    printf("  %zu of %d models\n", passed, n);
    CHECK(passed == (size_t)n);
}

/* With numerics FAST results are near what was recorded, and the same with two threads. */
TEST(fast) {
    static const char *const names[] = {"deit_tiny", "minilm_l6", "t5_encoder", "whisper_encoder"};
    if (!test_has_zoo()) SKIP("there is no zoo in ONX_DATA");
    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        zoo_model zoo;
        onx_arg out[2][ZOO_ARGS] = {{{0}}};
        if (!CHECK(zoo_load_once(NULL, names[m], &zoo))) continue;
        bool fine = CHECK(run_with(&zoo, 1, ONX_NUMERICS_FAST, out[0])) &&
                    CHECK(run_with(&zoo, 2, ONX_NUMERICS_FAST, out[1]));
        for (size_t i = 0; fine && i < zoo.n_out; i++) {
            double far = zoo_distance(&zoo, i, &out[0][i]);
            printf("  %-24s %.2g\n", names[m], far);
            CHECK(far <= 2e-2);
            CHECK(same_bits(&out[0][i], &out[1][i]));
        }
        for (size_t i = 0; i < 2 * ZOO_ARGS; i++) onx_arg_clear(&out[0][0] + i);
        zoo_free(&zoo);
    }
}

TEST_MAIN(E(recorded_outputs) E(fast))
