/* sizes.c: see sizes.h. */
#define _POSIX_C_SOURCE 200809L
#include "sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

int cli_sizes_read(const cli_args *args, size_t option, const onx_graph *graph, cli_sizes *out) {
    const char *text;
    size_t at = 0;
    int status = CLI_OK;
    const char **dims = calloc(list_dims(graph, NULL) + 1, sizeof *dims);
    *out = (cli_sizes){0, calloc(args->n_given + 1, sizeof *out->sizes)};
    if (!dims || !out->sizes) status = cli_no_memory(args->command);
    if (dims) list_dims(graph, dims);
    while (status == CLI_OK && (text = cli_next_value(args, option, &at))) {
        status = parse_size(args, text, &out->sizes[out->n]);
        if (status == CLI_OK) status = check_size(args, dims, out->sizes[out->n++].name);
    }
    free(dims);
    return status;
}

void cli_sizes_free(cli_sizes *sizes) {
    for (size_t i = 0; i < sizes->n; i++) free((void *)(uintptr_t)sizes->sizes[i].name);
    free(sizes->sizes);
}
