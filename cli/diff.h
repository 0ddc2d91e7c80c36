/* diff.h: the ways of running a model that onx diff compares, and the distance of their values. */
#ifndef CLI_DIFF_H
#define CLI_DIFF_H

#include "feed.h"

/* ── One way (diff_way.c) ────────────────────────────────────────────────────────────────────── */

typedef struct diff_way {
    const char *text;            /* "level=0,cpu=base", or the path of a folder */
    bool folder;                 /* of recorded values */
    onx_session_options session; /* else */
    char cpu[16], providers[64], disable[200], enable[200];
} diff_way;

/* Read what was typed: a folder that is there, or settings that change those of `base`. CLI_OK, or
 * an exit status, after saying why. */
int diff_way_read(const cli_command *command, const char *text, const onx_session_options *base,
                  diff_way *out);

/* The values with the given names, in one run; NULL where there is none: not recorded, or not
 * computed. `pin_all`: every value has memory of its own, so that each node is as it was written.
 * data[i] is to be freed by the caller. */
onx_status diff_way_values(const diff_way *way, const onx_model *model, const feed *in,
                           bool pin_all, size_t n, const char *const *names, onx_data **data,
                           onx_diag *diag);

/* ── Distance (diff_distance.c) ──────────────────────────────────────────────────────────────── */

typedef struct diff_tolerance {
    double rtol; /* of the largest magnitude; negative: by type: 1e-4, 1e-2 for 16 bits and less */
    double atol;
} diff_tolerance;

typedef struct diff_distance {
    bool different;
    double error, scale; /* the largest error, and the largest magnitude in `b` */
    cli_text first;      /* where the first difference is, and what it is; or what else differs */
} diff_distance;

/* False: no memory, or the data are bad. */
bool diff_measure(const diff_tolerance *t, const onx_data *a, const onx_data *b,
                  diff_distance *out);

#endif
