/* conform.h: cases of conformance tests: found in folders, and run. */
#ifndef CLI_CONFORM_H
#define CLI_CONFORM_H

#include "cli.h"

/* ── Finding them (conform_find.c) ───────────────────────────────────────────────────────────── */

typedef struct conform_case {
    char *name;  /* "node/test_abs": its path in the folder that was given */
    char *model; /* path of the model */
    char *base;  /* of the folders of data: BASE/test_data_set_0 …; of a `light` model NAME.onnx,
                    whose input is made up: NAME, and NAME_output_0.pb … are its outputs */
    bool light;
} conform_case;

typedef struct conform_cases {
    size_t count, room;
    conform_case *list;
} conform_cases;

/* Add the cases in a folder and all below it, in the order of their names. CLI_OK, or an exit
 * status, after saying why. */
int conform_find(const cli_command *command, const char *folder, conform_cases *cases);
void conform_cases_free(conform_cases *cases);

/* ── Running one (conform_case.c) ────────────────────────────────────────────────────────────── */

typedef struct conform_how {
    onx_session_options session;
    onx_format through;        /* AUTO: the model as it was read; else written so and read back */
    const double *rtol, *atol; /* NULL: those of the case, or 1e-3 and 1e-7 */
} conform_how;

typedef enum conform_outcome { CONFORM_PASSED, CONFORM_FAILED, CONFORM_SKIPPED } conform_outcome;

/* `out` gets why it failed or was skipped, in lines. `*random` is set when outputs are random by
 * specification, so that only type, shape and range could be checked. */
conform_outcome conform_run(const conform_case *c, const conform_how *how, FILE *out, bool *random);

#endif
