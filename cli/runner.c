/* runner.c: see runner.h. */
#define _POSIX_C_SOURCE 200809L
#include "runner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double runner_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int runner_fail(const runner *r, onx_diag *diag) {
    if (!diag->file[0]) snprintf(diag->file, sizeof diag->file, "%s", r->args->files[0]);
    return cli_fail(r->args->command, diag);
}

/* ── Sizes ───────────────────────────────────────────────────────────────────────────────────── */

/* "N=4". Names may hold '=' themselves. */
static int parse_size(const cli_args *args, const char *text, onx_size *out) {
    const char *equals = strrchr(text, '=');
    char *end = NULL;
    errno = 0;
    long long n = equals ? strtoll(equals + 1, &end, 10) : 0;
    if (!equals || equals == text || !equals[1] || *end || errno || n < 0)
        return cli_usage(args->command,
                         "--set needs the name of a dimension and its size, such as "
                         "batch=4, not '%s'",
                         text);
    char *name = strndup(text, (size_t)(equals - text));
    if (!name) return cli_no_memory(args->command);
    *out = (onx_size){name, n};
    return CLI_OK;
}

/* The symbolic dimensions of the inputs of a graph; `list` NULL only counts. */
static size_t list_dims(const onx_graph *graph, const char **list) {
    size_t n = 0;
    for (size_t i = 0; graph && i < onx_graph_input_count(graph); i++) {
        const onx_value *input = onx_graph_input(graph, i);
        const onx_type *type = input ? onx_value_type(input) : NULL;
        while (type && onx_type_elem(type)) type = onx_type_elem(type);
        for (size_t d = 0; type && d < onx_type_rank(type); d++) {
            const char *name = onx_type_dim_param(type, d);
            if (!*name) continue;
            if (list) list[n] = name;
            n++;
        }
    }
    return n;
}

static const char *dim_at(const void *list, size_t index) {
    return ((const char *const *)list)[index];
}

static int check_size(const cli_args *args, const char *const *dims, const char *name) {
    for (size_t i = 0; dims[i]; i++)
        if (!strcmp(dims[i], name)) return CLI_OK;
    const char *near = cli_nearest(name, dim_at, dims);
    return cli_usage(args->command, "no input has a dimension '%s'%s%s%s", name,
                     near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static int read_sizes(runner *r) {
    const cli_args *args = r->args;
    const onx_graph *graph = onx_model_graph(r->model);
    const char *text;
    size_t at = 0;
    int status = CLI_OK;
    const char **dims = calloc(list_dims(graph, NULL) + 1, sizeof *dims);
    r->sizes = calloc(args->n_given + 1, sizeof *r->sizes);
    if (!dims || !r->sizes) status = cli_no_memory(args->command);
    if (dims) list_dims(graph, dims);
    while (status == CLI_OK && (text = cli_next_value(args, RUNNER_SET, &at))) {
        status = parse_size(args, text, &r->sizes[r->n_sizes]);
        if (status == CLI_OK) status = check_size(args, dims, r->sizes[r->n_sizes++].name);
    }
    free(dims);
    return status;
}

int64_t runner_size(const runner *r, const char *dim) {
    int64_t size = -1;
    for (size_t i = 0; i < r->n_sizes; i++)
        if (!strcmp(r->sizes[i].name, dim)) size = r->sizes[i].value;
    return size;
}

/* ── The session ─────────────────────────────────────────────────────────────────────────────── */

static bool read_options(const runner *r, onx_session_options *out) {
    static const char *const levels[] = {"0", "1", "2", NULL};
    size_t level = 2;
    uint64_t threads = 0;
    if (!cli_get_number(r->args, RUNNER_THREADS, &threads) ||
        !cli_get_choice(r->args, RUNNER_LEVEL, levels, &level))
        return false;
    out->threads = (size_t)threads;
    out->level = (onx_level)(ONX_LEVEL_NONE + level);
    out->cpu = r->args->values[RUNNER_CPU];
    out->n_sizes = r->n_sizes;
    out->sizes = r->sizes;
    return true;
}

int runner_open(const cli_args *args, bool pin_all, runner *out) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session_options options = ONX_INIT(onx_session_options);
    *out = (runner){.args = args};
    double start = runner_now();
    int status = cli_load(args->command, args->files[0], ONX_FORMAT_AUTO, NULL, &out->model);
    if (status == CLI_OK) status = read_sizes(out);
    if (status != CLI_OK) return status;
    if (!read_options(out, &options)) return CLI_USAGE;
    options.pin_all = pin_all;
    if (onx_session_new(out->model, &options, &out->session, &diag)) return runner_fail(out, &diag);
    out->load_ms = runner_now() - start;
    return CLI_OK;
}

void runner_close(runner *r) {
    onx_session_free(r->session);
    onx_model_free(r->model);
    for (size_t i = 0; i < r->n_sizes; i++) free((void *)(uintptr_t)r->sizes[i].name);
    free(r->sizes);
}
