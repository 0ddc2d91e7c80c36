/* feed.h: the inputs of a run: from files, as the command line says, or made up. */
#ifndef CLI_FEED_H
#define CLI_FEED_H

#include "runner.h"

/* What becomes of inputs that are needed, and that no file is given for. */
typedef enum feed_rest {
    FEED_NONE,   /* a wrong command line */
    FEED_RANDOM, /* pseudo-random elements, the same for the same --seed; says what was chosen */
    FEED_SHAPES, /* shapes, but no elements */
} feed_rest;

typedef struct feed {
    size_t count;
    onx_arg *args;
    onx_data **data; /* what the arguments are in; NULL: they are only shapes */
} feed;

/* CLI_OK, or an exit status, after saying why; close in any case. */
int feed_open(const runner *r, feed_rest rest, feed *out);
void feed_close(feed *f);

#endif
