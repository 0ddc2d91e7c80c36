/* show.h: data for people: names, types, range of the elements, and the elements, part by part. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "cli.h"

typedef struct show_options {
    const cli_command *command;
    const char *file; /* for messages */
    bool full;        /* all elements */
    bool brief;       /* few of them */
    bool stats;       /* none of them */
} show_options;

/* To stdout; lines after the first are indented. CLI_BAD, after saying why, when some of it cannot
 * be read. */
int show_data(const show_options *how, const onx_data *data);

#endif
