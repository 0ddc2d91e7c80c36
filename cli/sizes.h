/* sizes.h: sizes of symbolic dimensions, from --set NAME=N. */
#ifndef CLI_SIZES_H
#define CLI_SIZES_H

#include "cli.h"

typedef struct cli_sizes {
    size_t n;
    onx_size *sizes;
} cli_sizes;

/* All of `option`. They must be dimensions of inputs of the graph. CLI_OK, or an exit status, after
 * saying why; free in any case. */
int cli_sizes_read(const cli_args *args, size_t option, const onx_graph *graph, cli_sizes *out);
void cli_sizes_free(cli_sizes *sizes);

#endif
