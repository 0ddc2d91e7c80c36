/* conform_case.c: see conform.h. A case passes when the model loads, makes a session, and gives the
 * recorded outputs for the recorded inputs, in all of its sets of data. */
#define _POSIX_C_SOURCE 200809L
#include "compare.h"
#include "conform.h"
#include "feed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct running {
    const conform_case *c;
    FILE *out;
    double rtol, atol;
    bool random;
    onx_model *model;
    onx_session *session;
} running;

static bool failed(const running *r, const onx_diag *diag) {
    char text[2048];
    onx_diag_format(diag, text, sizeof text);
    cli_puts(r->out, text);
    fputc('\n', r->out);
    return false;
}

/* ── Tolerances ──────────────────────────────────────────────────────────────────────────────── */

/* The number behind "key": in a small JSON file that has such a key once. */
static void read_number(const char *text, const char *key, double *out) {
    const char *at = strstr(text, key), *colon = at ? strchr(at, ':') : NULL;
    char *end;
    double value = colon ? strtod(colon + 1, &end) : 0;
    if (colon && end != colon + 1) *out = value;
}

static void read_tolerances(running *r, const conform_how *how) {
    char path[4096], text[4096] = "";
    r->rtol = 1e-3, r->atol = 1e-7;
    snprintf(path, sizeof path, "%s/data.json", r->c->base);
    FILE *file = r->c->light ? NULL : fopen(path, "r");
    if (file) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    read_number(text, "\"rtol\"", &r->rtol);
    read_number(text, "\"atol\"", &r->atol);
    if (how->rtol) r->rtol = *how->rtol;
    if (how->atol) r->atol = *how->atol;
}

/* ── Randomness ──────────────────────────────────────────────────────────────────────────────── */

/* ONNX does not say which random numbers these give. (It does not either for Dropout, but there the
 * recorded ones are those of NumPy, which onx gives too.) */
static bool is_random(const char *op) {
    static const char *const ops[] = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                      "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
    for (size_t i = 0; i < CLI_COUNT(ops); i++)
        if (!strcmp(op, ops[i])) return true;
    return false;
}

static bool has_random_node(const onx_graph *root) {
    for (const onx_graph *g = root; g; g = cli_graph_next(root, g))
        for (const onx_node *n = onx_graph_node_first(g); n; n = onx_node_next(n))
            if (is_random(onx_node_op(n))) return true;
    return false;
}

static bool is_zero_or_one(double x) {
    return x == 0 || x == 1;
}

/* Are all elements 0 or 1, as far as a double can tell? */
static bool all_zero_or_one(const onx_data *data) {
    onx_diag diag = ONX_INIT(onx_diag);
    values v;
    bool all = true;
    if (onx_data_kind_of(data) != ONX_DATA_TENSOR) return false;
    if (values_open(&v, onx_data_tensor(data), &diag)) return false;
    all = v.dtype != ONX_DTYPE_STRING && values_kind_of(v.dtype) != VALUES_COMPLEX;
    for (uint64_t at = 0; all && at < v.count; at += 256) {
        double block[256];
        size_t n = v.count - at < 256 ? (size_t)(v.count - at) : 256;
        values_read(&v, at, n, ONX_DTYPE_F64, block);
        for (size_t i = 0; i < n; i++) all = all && is_zero_or_one(block[i]);
    }
    values_close(&v);
    return all;
}

/* ── One set of data ─────────────────────────────────────────────────────────────────────────── */

static bool compare_output(const running *r, const onx_arg *arg, size_t index, const char *path) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_data *got = NULL, *wanted = NULL;
    onx_data_kind kind = feed_kind(onx_session_output_type(r->session, index));
    const char *name = onx_session_output_name(r->session, index);
    compare_how how = {.names = {name, path},
                       .rtol = r->random ? 0 : r->rtol,
                       .atol = r->random ? (double)INFINITY : r->atol,
                       .out = r->out,
                       .quiet = true};
    bool fine = true;
    if (onx_data_load(NULL, path, kind, &wanted, &diag) ||
        onx_arg_to_data(NULL, arg, &got, &diag)) {
        fine = failed(r, &diag);
    } else if (compare_data(&how, got, wanted) != CLI_OK) {
        fine = false;
    } else if (r->random && all_zero_or_one(wanted) && !all_zero_or_one(got)) {
        fputs("random, and not all elements are 0 or 1\n", r->out);
        fine = false;
    }
    onx_data_free(got);
    onx_data_free(wanted);
    return fine;
}

/* `prefix` and a number: the files of the outputs. */
static bool compare_outputs(const running *r, size_t n, const onx_arg *outs, const char *prefix) {
    char path[4096];
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s%zu.pb", prefix, i);
        if (compare_output(r, &outs[i], i, path)) continue;
        fprintf(r->out, "in output %zu, ", i);
        cli_puts(r->out, onx_session_output_name(r->session, i));
        fputc('\n', r->out);
        return false;
    }
    snprintf(path, sizeof path, "%s%zu.pb", prefix, n);
    if (access(path, F_OK) != 0) return true;
    fprintf(r->out, "the model has %zu outputs, but there is a file %s\n", n, path);
    return false;
}

static bool run_feed(const running *r, const feed *in, const char *prefix) {
    onx_diag diag = ONX_INIT(onx_diag);
    size_t n = onx_session_output_count(r->session);
    onx_arg *outs = calloc(n + 1, sizeof *outs);
    if (!outs) return false;
    bool fine = onx_session_run(r->session, in->count, in->args, n, outs, NULL, &diag) == ONX_OK;
    fine = fine ? compare_outputs(r, n, outs, prefix) : failed(r, &diag);
    for (size_t i = 0; i < n; i++) onx_arg_clear(&outs[i]);
    free(outs);
    return fine;
}

static bool run_set(const running *r, const char *folder) {
    onx_diag diag = ONX_INIT(onx_diag);
    char prefix[4096 + 16];
    feed in;
    snprintf(prefix, sizeof prefix, "%s/output_", folder);
    bool fine = feed_new(r->session, &in);
    if (fine && feed_folder(r->session, folder, &in, &diag)) fine = failed(r, &diag);
    if (fine) {
        feed_compact(&in);
        fine = run_feed(r, &in, prefix);
    }
    feed_close(&in);
    if (!fine) fprintf(r->out, "in %s\n", folder);
    return fine;
}

/* ── Light models: their input is 0/n, 1/n … (n-1)/n ─────────────────────────────────────────── */

static bool make_light(const running *r, feed *in, size_t index, float **memory) {
    const onx_type *type = onx_session_input_type(r->session, index);
    onx_arg *arg = &in->args[index];
    size_t count = 1, most = SIZE_MAX / sizeof **memory;
    if (!type || onx_type_dtype(type) != ONX_DTYPE_F32 || onx_type_rank(type) > ONX_RANK_MAX)
        return false;
    arg->name = onx_session_input_name(r->session, index);
    arg->dtype = ONX_DTYPE_F32;
    arg->rank = onx_type_rank(type);
    for (size_t i = 0; i < arg->rank; i++) {
        int64_t dim = onx_type_dim(type, i);
        arg->dims[i] = dim < 0 ? 1 : dim;
        if (arg->dims[i] && count > most / (size_t)arg->dims[i]) return false;
        count *= (size_t)arg->dims[i];
    }
    arg->bytes = count * sizeof **memory;
    if (!(*memory = malloc(arg->bytes + 1))) return false;
    for (size_t i = 0; i < count; i++) (*memory)[i] = (float)((double)i / (double)count);
    arg->data = *memory;
    return true;
}

static bool run_light(const running *r) {
    size_t n = 0, index = 0;
    float *memory = NULL;
    feed in;
    char prefix[4096];
    snprintf(prefix, sizeof prefix, "%s_output_", r->c->base);
    bool fine = feed_new(r->session, &in);
    for (size_t i = 0; fine && i < in.count; i++)
        if (!onx_session_input_optional(r->session, i)) n++, index = i;
    if (fine && (n != 1 || !make_light(r, &in, index, &memory))) {
        fputs("a model without a folder of data must have one input, of float\n", r->out);
        fine = false;
    }
    if (fine) {
        feed_compact(&in);
        fine = run_feed(r, &in, prefix);
    }
    feed_close(&in);
    free(memory);
    return fine;
}

/* ── The case ────────────────────────────────────────────────────────────────────────────────── */

/* The model, written and read back. */
static onx_status pass_through(onx_model **model, onx_format format, onx_diag *diag) {
    onx_save_options save = ONX_INIT(onx_save_options);
    onx_load_options load = ONX_INIT(onx_load_options);
    onx_model *back = NULL;
    void *bytes = NULL;
    size_t size = 0;
    save.format = load.format = format;
    save.external = ONX_EXTERNAL_INLINE;
    load.copy = true;
    onx_status status = onx_model_save_memory(*model, &save, &bytes, &size, diag);
    if (!status) status = onx_model_load_memory(cli_context(), bytes, size, &load, &back, diag);
    onx_buffer_free(NULL, bytes, size);
    if (status) return status;
    onx_model_free(*model);
    *model = back;
    return ONX_OK;
}

static bool open_session(running *r, const conform_how *how) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = onx_model_load(cli_context(), r->c->model, NULL, &r->model, &diag);
    if (!status && how->through) status = pass_through(&r->model, how->through, &diag);
    if (!status) status = onx_session_new(r->model, &how->session, &r->session, &diag);
    if (status) return failed(r, &diag);
    r->random = has_random_node(onx_model_graph(r->model));
    return true;
}

static conform_outcome run_sets(const running *r) {
    char folder[4096];
    for (size_t k = 0;; k++) {
        snprintf(folder, sizeof folder, "%s/test_data_set_%zu", r->c->base, k);
        if (access(folder, F_OK) == 0) {
            if (!run_set(r, folder)) return CONFORM_FAILED;
        } else if (k == 0) {
            fprintf(r->out, "there is no folder %s\n", folder);
            return CONFORM_SKIPPED;
        } else {
            return CONFORM_PASSED;
        }
    }
}

conform_outcome conform_run(const conform_case *c, const conform_how *how, FILE *out,
                            bool *random) {
    running r = {.c = c, .out = out};
    conform_outcome outcome = CONFORM_FAILED;
    read_tolerances(&r, how);
    if (open_session(&r, how))
        outcome = !c->light ? run_sets(&r) : run_light(&r) ? CONFORM_PASSED : CONFORM_FAILED;
    *random = r.random;
    onx_session_free(r.session);
    onx_model_free(r.model);
    return outcome;
}
