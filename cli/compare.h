/* compare.h: are two data files the same, value by value? */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "values.h"

/* Says on standard output how they differ, or how near they are. CLI_OK: for all elements
 * |a - b| <= atol + rtol * |b|, and types, shapes and all else are equal; CLI_BAD: not so, or the
 * data are bad. */
int compare_data(const cli_command *command, const char *const names[2],
                 const onx_data *const data[2], double rtol, double atol);

#endif
