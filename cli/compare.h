/* compare.h: are two data files the same, value by value? */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "values.h"

typedef struct compare_how {
    const cli_command *command; /* for what cannot be read; NULL: that is said in `out`, too */
    const char *names[2];       /* of the files */
    double rtol, atol;
    FILE *out;  /* gets how they differ, or how near they are */
    bool quiet; /* nothing when they do not differ */
} compare_how;

/* The distance of two numbers; a NaN is far from everything but a NaN. */
double compare_distance(double a, double b);
/* CLI_OK: for all elements |a - b| <= atol + rtol * |b|, and types, shapes and all else are equal;
 * CLI_BAD: not so, or the data are bad. */
int compare_data(const compare_how *how, const onx_data *a, const onx_data *b);

#endif
