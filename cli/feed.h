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

/* The same step by step, for sessions without a command line. A place for each input, all empty;
 * false: no memory. */
bool feed_new(const onx_session *session, feed *out);
/* Fill the empty ones from input_0.pb (or .npy) …: first the inputs that have no default, in the
 * order of the graph, then the others. */
onx_status feed_folder(const onx_session *session, const char *folder, feed *f, onx_diag *diag);
/* Those that are still empty are left out. */
void feed_compact(feed *f);
/* What a file for a value of this type holds; NONE: anything. */
onx_data_kind feed_kind(const onx_type *type);

#endif
