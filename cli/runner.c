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

int64_t runner_size(const runner *r, const char *dim) {
    int64_t size = -1;
    for (size_t i = 0; i < r->sizes.n; i++)
        if (!strcmp(r->sizes.sizes[i].name, dim)) size = r->sizes.sizes[i].value;
    return size;
}

/* ── The session ─────────────────────────────────────────────────────────────────────────────── */

bool runner_session_options(const cli_args *args, size_t first, runner_passes *passes,
                            onx_session_options *out) {
    static const char *const levels[] = {"0", "1", "2", "3", NULL};
    size_t level = 3;
    uint64_t threads = 0, memory = 0;
    if (!cli_get_number(args, first, &threads) ||
        !cli_get_choice(args, first + 2, levels, &level) ||
        !cli_get_number(args, first + 3, &memory) ||
        !cli_get_list(args, first + 5, passes->disable, sizeof passes->disable) ||
        !cli_get_list(args, first + 6, passes->enable, sizeof passes->enable))
        return false;
    *out = ONX_INIT(onx_session_options);
    out->threads = (size_t)threads;
    out->cpu = args->values[first + 1];
    out->level = (onx_level)(ONX_LEVEL_NONE + level);
    out->memory_limit = (size_t)memory;
    out->providers = args->values[first + 4];
    out->disable = passes->disable;
    out->enable = passes->enable;
    if (args->values[first + 7]) out->numerics = ONX_NUMERICS_FAST;
    return true;
}

int runner_open(const cli_args *args, bool pin_all, runner *out) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session_options options;
    *out = (runner){.args = args};
    double start = runner_now();
    int status = cli_load(args->command, args->files[0], ONX_FORMAT_AUTO, NULL, &out->model);
    if (status == CLI_OK)
        status = cli_sizes_read(args, RUNNER_SET, onx_model_graph(out->model), &out->sizes);
    if (status != CLI_OK) return status;
    if (!runner_session_options(args, RUNNER_THREADS, &out->passes, &options)) return CLI_USAGE;
    options.n_sizes = out->sizes.n;
    options.sizes = out->sizes.sizes;
    options.pin_all = pin_all;
    if (onx_session_new(out->model, &options, &out->session, &diag)) return runner_fail(out, &diag);
    out->load_ms = runner_now() - start;
    return CLI_OK;
}

void runner_close(runner *r) {
    onx_session_free(r->session);
    onx_model_free(r->model);
    cli_sizes_free(&r->sizes);
}
