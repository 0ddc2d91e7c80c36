/* runner.h: what the commands that run models share: their first options, the model, its session.
 *
 *     static const cli_option options[] = {RUNNER_ROWS, {"mine", …}, {NULL, 0, NULL, NULL}}; */
#ifndef CLI_RUNNER_H
#define CLI_RUNNER_H

#include "sizes.h"

enum {
    RUNNER_INPUTS,
    RUNNER_INPUT,
    RUNNER_SET,
    RUNNER_SEED,
    RUNNER_THREADS,
    RUNNER_CPU,
    RUNNER_LEVEL,
    RUNNER_MEMORY,
    RUNNER_PROVIDER,
    RUNNER_DISABLE,
    RUNNER_ENABLE,
    RUNNER_FAST,
    RUNNER_OPTIONS, /* a command's own ones begin here */
};
#define RUNNER_ROWS                                                                                \
    {"inputs", 0, "DIR", "inputs are the files input_0.pb (or .npy) … of a folder, in order"},     \
        {"input", 0, "NAME=FILE", "one input; may be given many times"},                           \
        {"set", 0, "DIM=N", "size of a symbolic dimension; may be given many times"},              \
        {"seed", 0, "N", "of random inputs (1)"}, RUNNER_SESSION_ROWS
/* What sessions are made with. */
#define RUNNER_SESSION_ROWS                                                                        \
    {"threads", 0, "N", "as many threads (as many as the process may use)"},                       \
        {"cpu", 0, "ISA",                                                                          \
         "at most this instruction set: base, avx2, avx512, vnni, bf16, amx, neon"},               \
        {"level", 0, "N", "optimization: 0 none, 1 exact, 2 extended, 3 all (3)"},                 \
        {"memory", 0, "BYTES", "all that the session may allocate, as 512M; else it fails"},       \
        {"provider", 0, "NAME", "run there, or on the next of a list: cpu"},                       \
        {"disable", 0, "PASS", "without this pass ('onx optimize --list'); may be repeated"},      \
        {"enable", 0, "PASS", "with this pass, whatever the level; may be repeated"}, {            \
        "fast", 0, NULL, "products of floats may be made in bfloat16, where the machine can"       \
    }

typedef struct runner_passes { /* lists of names that the options of a session refer to */
    char disable[512], enable[512];
} runner_passes;

typedef struct runner {
    const cli_args *args;
    onx_model *model;
    onx_session *session;
    cli_sizes sizes; /* of --set */
    runner_passes passes;
    double load_ms; /* to load the model and to make the session */
} runner;

/* The model of the first file, and a session for it. CLI_OK, or an exit status, after saying why;
 * close in any case. */
int runner_open(const cli_args *args, bool pin_all, runner *out);
void runner_close(runner *r);
/* Options for a session, from those of RUNNER_SESSION_ROWS, which begin at place `first` of the
 * command's table. `passes` must live as long as they. False, after saying so, when they make no
 * sense. */
bool runner_session_options(const cli_args *args, size_t first, runner_passes *passes,
                            onx_session_options *out);
/* Of --set; -1: not given. */
int64_t runner_size(const runner *r, const char *dim);
double runner_now(void); /* milliseconds */
/* Says what went wrong, and in which file. */
int runner_fail(const runner *r, onx_diag *diag);

#endif
