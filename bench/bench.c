/* bench.c: makes large models and measures, for bench/run.
 *
 *     bench make PATH BYTES inline|external     a model with so many bytes of weights
 *     bench load PATH ROUNDS                    onx_model_load and onx_model_free
 *     bench time ROUNDS COMMAND…                a command, with its output thrown away
 *
 * The last two print "milliseconds-of-the-fastest-round  peak-resident-kilobytes". */
#define _DEFAULT_SOURCE
#include "onx.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TENSOR_BYTES ((size_t)64 << 20)

static int fail(const char *what) {
    fprintf(stderr, "bench: %s\n", what);
    return 1;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* All tensors share one block, so that the model may be larger than memory. */
static int make(const char *path, size_t bytes, bool external) {
    onx_model *model = onx_model_new(NULL, "large", 22);
    onx_graph *graph = onx_model_graph(model);
    onx_value *x = onx_graph_add_input(graph, "x", "float[N,16777216]");
    uint32_t *block = malloc(TENSOR_BYTES), seed = 1;
    if (!model || !block) return fail("no memory");
    for (size_t i = 0; i < TENSOR_BYTES / 4; i++) block[i] = seed = seed * 1664525 + 1013904223;
    for (size_t i = 0; i * TENSOR_BYTES < bytes; i++) {
        char name[32];
        int64_t dims[2] = {1, (int64_t)(TENSOR_BYTES / 4)};
        snprintf(name, sizeof name, "weight%zu", i);
        onx_value *w = onx_graph_add_initializer(graph, name, ONX_DTYPE_F32, 2,
                                                 (int64_t[]){0, dims[1]}, "", 0);
        onx_tensor *tensor = w ? onx_value_initializer(w) : NULL;
        if (!tensor ||
            onx_tensor_set_borrowed(tensor, ONX_DTYPE_F32, 2, dims, block, TENSOR_BYTES, NULL))
            return fail("a tensor cannot be made");
        x = onx_graph_add_op(graph, "Add", NULL, x, w);
    }
    onx_graph_add_output(graph, x, NULL);
    onx_save_options options = ONX_INIT(onx_save_options);
    options.external = external ? ONX_EXTERNAL_ONE : ONX_EXTERNAL_KEEP;
    onx_diag diag;
    if (onx_model_save(model, path, &options, &diag)) return fail(diag.message);
    onx_model_free(model);
    free(block);
    return 0;
}

static int report(double best, long peak) {
    printf("%.3f %ld\n", best, peak);
    return 0;
}

static int load(const char *path, int rounds) {
    double best = 1e30;
    for (int i = 0; i < rounds; i++) {
        onx_model *model;
        double start = now();
        if (onx_model_load(NULL, path, NULL, &model, NULL))
            return fail("the model cannot be loaded");
        onx_model_free(model);
        double took = now() - start;
        if (took < best) best = took;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return report(best, usage.ru_maxrss);
}

static int run(int rounds, char **command) {
    double best = 1e30;
    struct rusage usage = {0};
    for (int i = 0; i < rounds; i++) {
        double start = now();
        int status;
        pid_t child = fork();
        if (child == 0) {
            if (dup2(open("/dev/null", O_WRONLY), 1) < 0) _exit(126);
            execvp(command[0], command);
            _exit(127);
        }
        if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status) return fail("it failed");
        double took = now() - start;
        if (took < best) best = took;
    }
    return report(best, usage.ru_maxrss);
}

int main(int argc, char **argv) {
    if (argc == 5 && !strcmp(argv[1], "make"))
        return make(argv[2], strtoull(argv[3], NULL, 10), !strcmp(argv[4], "external"));
    if (argc == 4 && !strcmp(argv[1], "load")) return load(argv[2], atoi(argv[3]));
    if (argc > 3 && !strcmp(argv[1], "time")) return run(atoi(argv[2]), argv + 3);
    return fail("usage: bench make|load|time …");
}
