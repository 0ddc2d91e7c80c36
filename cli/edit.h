/* edit.h: what the commands that read models and write a changed one share: their first options,
 * files in and out, lists and pairs on the command line. */
#ifndef CLI_EDIT_H
#define CLI_EDIT_H

#include "cli.h"

/* The options that such a command begins with, and the place of its first own one. Commands that
 * read something else than models leave out the last of them: EDIT_WRITE_OPTIONS. */
enum { EDIT_OUT, EDIT_TO, EDIT_EXTERNAL, EDIT_FROM, EDIT_OWN };
#define EDIT_WRITE_OPTIONS                                                                         \
    {"output", 'o', "FILE", "where to write the model; - for standard output, with --to"},         \
        {"to", 0, "FORMAT", "format of the model written, if its name does not tell"}, {           \
        "external", 0, "[FILE]", "move tensor data into one file beside the model written"         \
    }
#define EDIT_OPTIONS                                                                               \
    EDIT_WRITE_OPTIONS, {                                                                          \
        "from", 0, "FORMAT", "format of the model read, if its name does not tell"                 \
    }

/* Is it told where to write, and how? CLI_USAGE, after saying so, if not. edit_check also looks at
 * EDIT_FROM. */
int edit_check_out(const cli_args *args);
int edit_check(const cli_args *args);
int edit_load(const cli_args *args, const char *path, onx_model **out);
int edit_save(const cli_args *args, onx_model *model);

/* The parts of all values of an option, which commas separate; freed with edit_list_free. */
typedef struct edit_list {
    const char **v;
    size_t n;
    char *text;
} edit_list;
/* False, after saying so, when memory ran out. */
bool edit_list_get(const cli_args *args, size_t option, edit_list *out);
void edit_list_free(edit_list *list);

/* "a=b" in place: the part behind the last '=', or NULL. */
char *edit_split(char *text, char at);

#endif
