/* timing.h: where the time of a run went: a profile by operator and kernel, and as a trace. */
#ifndef CLI_TIMING_H
#define CLI_TIMING_H

#include "json.h"

typedef struct timing_row {
    const char *op, *kernel; /* of the profile */
    size_t calls;
    double ms; /* without the steps inside: those of a Loop have rows of their own */
    double flops, bytes;
} timing_row;

typedef struct timing {
    size_t runs, count;
    timing_row *rows; /* the longest first */
    double ms, flops;
    double peak_flops, peak_bytes; /* in a second, of the machine; 0: not measured */
} timing;

bool timing_open(const onx_profile *profile, size_t runs, timing *out); /* false: no memory */
void timing_close(timing *t);
/* A table, or a list of objects, with the figures of one run. */
void timing_print(const timing *t, FILE *out);
void timing_json(const timing *t, json *j, const char *key);

/* The events in the format of Chrome's about:tracing, which Perfetto reads too. */
int timing_save(const cli_command *command, const onx_profile *profile, const char *path);

#endif
