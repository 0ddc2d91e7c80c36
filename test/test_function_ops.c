/* test_function_ops.c: every operator that is a function: its nodes in the backend tests, replaced
 * by their bodies, give what is recorded; one level deep, and down to what is no function. */
#include "test.h"

#include "kernel_case.h"
#include "support.h"

#include <math.h>

/* Their outputs are random. */
static const char *const random_ops[] = {"Bernoulli"};

typedef struct tally {
    size_t ran, left, missing; /* equal or not; without a body; without a kernel for the body */
} tally;

/* The elements as doubles; NULL: they are none. */
static double *numbers(onx_dtype dtype, const void *data, uint64_t count) {
    double *out = malloc((size_t)(count + 1) * sizeof *out);
    if (out && onx_dtype_convert(dtype, data, ONX_DTYPE_F64, out, count, false) == ONX_OK)
        return out;
    free(out);
    return NULL;
}

static double tolerance(onx_dtype dtype) {
    return dtype == ONX_DTYPE_BF16 ? 5e-2 : dtype == ONX_DTYPE_F16 ? 1e-2 : 1e-4;
}

static bool same_shape(const onx_arg *got, const onx_operand *want) {
    bool same = got->dtype == want->dtype && got->rank == want->rank;
    for (size_t i = 0; same && i < got->rank; i++) same = got->dims[i] == want->dims[i];
    return same;
}

static bool is_near(const onx_arg *got, const onx_operand *want) {
    if (want->dtype == ONX_DTYPE_STRING) return true;
    if (!same_shape(got, want)) return false;
    uint64_t count = 1;
    for (size_t i = 0; i < got->rank; i++) count *= (uint64_t)got->dims[i];
    double *a = numbers(got->dtype, got->data, count), *b = numbers(want->dtype, want->data, count);
    bool near = a && b;
    double most = tolerance(got->dtype);
    for (uint64_t i = 0; near && i < count; i++) {
        bool equal = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
        near = equal || fabs(a[i] - b[i]) <= most + 10 * most * fabs(b[i]);
    }
    free(a);
    free(b);
    return near;
}

/* UNSUPPORTED: there is no kernel for something in it. */
static onx_status run(const onx_model *model, const kernel_case *c, bool *near, onx_diag *diag) {
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_session *session = NULL;
    onx_arg in[KERNEL_INS] = {0}, out[KERNEL_INS] = {0};
    options.threads = 1;
    size_t n_in = onx_graph_input_count(onx_model_graph(model)), n_out = c->outputs.n;
    onx_status status = onx_session_new(model, &options, &session, diag);
    for (size_t i = 0; i < n_in && !status; i++)
        status = onx_arg_from_data(c->inputs.data[i], &in[i], diag);
    if (!status) status = onx_session_run(session, n_in, in, n_out, out, NULL, diag);
    *near = true;
    for (size_t i = 0; i < n_out && !status; i++)
        *near = *near && is_near(&out[i], &c->outputs.operand[i]);
    for (size_t i = 0; i < KERNEL_INS; i++) onx_arg_clear(&in[i]), onx_arg_clear(&out[i]);
    onx_session_free(session);
    return status;
}

static void check_case(const char *folder, const kernel_case *c, bool deep, tally *t) {
    onx_inline_options options = ONX_INIT(onx_inline_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *inlined = NULL;
    const char *name = onx_node_op(c->node);
    char full[128];
    bool near = false;
    snprintf(full, sizeof full, "%s::%s", onx_node_domain(c->node), name);
    const char *names[] = {full};
    options.n_operators = deep ? 0 : 1, options.operators = names, options.all_operators = deep;
    onx_status status = onx_model_inline(c->model, &options, &inlined, &diag);
    if (status == ONX_UNSUPPORTED) {
        t->left++;
        return;
    }
    if (!status && !CHECK(test_links(inlined))) status = ONX_INVALID;
    if (!status) status = run(inlined, c, &near, &diag);
    if (status == ONX_UNSUPPORTED)
        t->missing++;
    else if (!CHECK(status == ONX_OK && near))
        fprintf(stderr, "    %s%s: %s %s\n", folder, deep ? ", deep" : "", diag.place,
                diag.message);
    t->ran += status == ONX_OK;
    onx_model_free(inlined);
}

static bool is_random(const onx_op *op) {
    for (size_t i = 0; i < ONX_COUNT(random_ops); i++)
        if (strcmp(op->name, random_ops[i]) == 0) return true;
    return false;
}

TEST(operators) {
    const char *data = test_data();
    if (!data) SKIP("$ONX_DATA is not set");
    test_files models = test_files_find(test_path(data, "node"), "/model.onnx");
    tally t = {0};
    for (size_t i = 0; i < models.count; i++) {
        kernel_case c;
        *strrchr(models.paths[i], '/') = '\0';
        if (!kernel_case_load(models.paths[i], &c)) continue;
        const onx_op *op = onx_op_of(c.node);
        if (onx_op_has_body(op) && !is_random(op) &&
            c.inputs.n >= onx_graph_input_count(c.model->graph)) {
            check_case(models.paths[i], &c, false, &t);
            check_case(models.paths[i], &c, true, &t);
        }
        kernel_case_free(&c);
    }
    test_files_free(&models);
    printf("bodies: %zu ran, %zu have none, %zu lack a kernel\n", t.ran, t.left, t.missing);
    CHECK(t.ran > 500);
}

TEST_MAIN(E(operators))
