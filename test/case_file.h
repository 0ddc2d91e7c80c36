/* case_file.h: files of cases: a line "== name" begins each; what follows is up to who reads it.
 *
 * What goes wrong here is said on stderr; a test that cannot go on ends the program. */
#ifndef ONX_TEST_CASE_FILE_H
#define ONX_TEST_CASE_FILE_H

#include "support.h"

typedef struct case_file {
    test_bytes bytes;
    char *next; /* the name of the next case; NULL: there is none */
} case_file;

/* `path` is below test/. False: it cannot be read, or has no cases. */
bool case_file_open(case_file *file, const char *path);
/* The text of the next case, from its name on; NULL: that was the last one. */
char *case_file_next(case_file *file);
void case_file_close(case_file *file);

/* The line that `*p` begins with, which then goes on behind it. */
char *case_line(char **p);
/* End the text before `mark`; what follows it, or NULL: there is no such mark. */
char *case_cut(char *text, const char *mark);

/* A model from ONNX text, and its text, to be freed with free(): NULL on failure. How numbers are
 * stored is not what cases are about: they are all written as lists. */
onx_status case_parse(onx_context *ctx, const char *text, onx_model **out, onx_diag *diag);
char *case_text(onx_model *model, onx_diag *diag);

#endif
