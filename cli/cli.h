/* cli.h: what the commands of the program share: the table of commands, options, files in and out,
 * text for people.
 *
 * A command returns its exit status: CLI_OK; CLI_BAD when the model or data is bad, or a file
 * cannot be read or written; CLI_USAGE when the command line is wrong. By then it has said why. */
#ifndef CLI_H
#define CLI_H

#include <onx.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CLI_OK = 0, CLI_BAD = 1, CLI_USAGE = 2 };
enum { CLI_OPTIONS = 24 }; /* of one command, at most */

#define CLI_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CLI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* ── Commands and options ────────────────────────────────────────────────────────────────────── */

typedef struct cli_option {
    const char *name; /* "external": --external */
    char letter;      /* 'o': -o; 0: none */
    const char
        *value; /* "FILE": takes a value; "[FILE]": may take one, after '='; NULL: takes none */
    const char *help;
} cli_option;

typedef struct cli_command cli_command;

typedef struct cli_given {
    size_t option; /* its place in the table */
    const char *value;
} cli_given;

typedef struct cli_args {
    const cli_command *command;
    const char
        *values[CLI_OPTIONS]; /* of the options, by their place in the table; NULL: not given */
    cli_given *given;         /* all of them, as they came */
    size_t n_given;
    char **files; /* what is not an option */
    size_t n_files;
} cli_args;

struct cli_command {
    const char *name;
    const char *synopsis;      /* after "onx name" */
    const char *summary;       /* one line */
    const char *help;          /* what else there is to say */
    const cli_option *options; /* the last one has no name */
    size_t min_files, max_files;
    int (*run)(const cli_args *args);
};

extern const cli_command cli_info, cli_print, cli_check, cli_infer, cli_convert, cli_extract,
    cli_merge, cli_inline, cli_export, cli_rename, cli_dims_cmd, cli_strip, cli_optimize,
    cli_constants, cli_code, cli_tensor, cli_run, cli_conform, cli_diff, cli_bench, cli_plan,
    cli_ops, cli_version, cli_help;
const cli_command *cli_command_at(size_t index); /* NULL after the last one */
const cli_command *cli_command_find(const char *name);

/* Sort a command line into options and files: CLI_OK, or CLI_USAGE and the reason on stderr.
 * `*help` is set when help was asked for. In any case free `args` in the end. */
int cli_parse(const cli_command *command, int argc, char **argv, cli_args *args, bool *help);
void cli_args_free(cli_args *args);
void cli_print_help(const cli_command *command, FILE *out);

/* The values of an option that may be given many times: start with 0 as `*at`; NULL after the
 * last one. */
const char *cli_next_value(const cli_args *args, size_t option, size_t *at);
/* Values of options. False, after saying so, when the value makes no sense; an option that was not
 * given leaves `out` as it is. Numbers may end in k, M or G, for powers of 1024. */
bool cli_get_number(const cli_args *args, size_t option, uint64_t *out);
bool cli_get_real(const cli_args *args, size_t option, double *out);
bool cli_get_format(const cli_args *args, size_t option, onx_format *out);
/* All values of an option, as one list with commas; false, after saying so, if it does not fit. */
bool cli_get_list(const cli_args *args, size_t option, char *out, size_t size);
/* The one of `names` that a value is, as its place; names end with NULL. */
bool cli_get_choice(const cli_args *args, size_t option, const char *const *names, size_t *out);

/* ── Messages ────────────────────────────────────────────────────────────────────────────────── */

int cli_usage(const cli_command *command, const char *fmt, ...) CLI_PRINTF(2, 3); /* CLI_USAGE */
/* Says what is wrong; CLI_USAGE for ONX_USAGE, CLI_BAD for all else. */
int cli_fail(const cli_command *command, const onx_diag *diag);
int cli_no_memory(const cli_command *command); /* CLI_BAD */
/* The same for what is no failure, after a few words that say so. */
void cli_warn(const cli_command *command, const char *what, const onx_diag *diag);
/* A line on stderr that is neither: what was chosen, what is going on. */
void cli_note(const cli_command *command, const char *fmt, ...) CLI_PRINTF(2, 3);
/* How far long work is, "12 of 2,033 NAME", on stderr: when that is a terminal, and from the second
 * second on. Start with zeros. */
typedef struct cli_progress {
    double start, shown; /* seconds */
    bool visible;        /* there is a line on the terminal */
} cli_progress;
void cli_progress_show(cli_progress *p, size_t at, size_t n, const char *name);
/* The same for onx_run_options.progress, with a cli_progress as its user. */
void cli_progress_step(void *progress, size_t step, size_t steps, const char *node);
void cli_progress_hide(cli_progress *p); /* before anything else is printed, and in the end */
/* The nearest of the names to what was typed; NULL when none is near. */
const char *cli_nearest(const char *typed, const char *(*name_at)(const void *, size_t),
                        const void *names);

/* ── Files ───────────────────────────────────────────────────────────────────────────────────── */

bool cli_is_stdio(const char *path); /* "-" */
onx_reader cli_stdin(void);
onx_writer cli_stdout(void);
/* Flush standard output: CLI_BAD if anything of it could not be written. */
int cli_finish(void);

/* What models are loaded into; NULL: the default context. With --library, which every command
 * has, it has the operators of the libraries. */
onx_context *cli_context(void);
int cli_load_ops(const cli_command *command, const char *path);
void cli_context_close(void);

/* Load a model from a file or, for "-", from standard input. With `lenient` (not NULL), missing
 * external data are no failure: the model then has none, and `lenient` says what is wrong. */
int cli_load(const cli_command *command, const char *path, onx_format format, onx_diag *lenient,
             onx_model **out);

/* The graph that follows `at` in the tree below `root`, root first; NULL after the last one. */
onx_graph *cli_graph_next(const onx_graph *root, const onx_graph *at);

/* What the nodes of a graph compute, one value after the other: start with zeros, and the graph. */
typedef struct cli_computed {
    const onx_graph *graph;
    const onx_node *node; /* of the value returned last */
    size_t at;            /* which of its outputs comes next */
} cli_computed;
const onx_value *cli_computed_next(cli_computed *c); /* NULL after the last one */

/* ── Text for people ─────────────────────────────────────────────────────────────────────────── */

bool cli_is_terminal(FILE *file);
bool cli_wants_colour(FILE *file);
size_t cli_width(void); /* of the terminal that stdout is; 0 if it is none */

/* The bytes of the UTF-8 character that `text` begins with; 0 if it begins with none. */
size_t cli_character(const char *text, size_t size);
/* Text from a file: what could confuse a terminal becomes '?'. */
void cli_put(FILE *out, onx_str text);
void cli_puts(FILE *out, const char *text);
/* "float[N,3]", to be freed; "" for NULL. NULL when memory ran out. */
char *cli_type(const onx_type *type);
/* A short text by value, for one printf: cli_bytes(n).s */
typedef struct cli_text {
    char s[256];
} cli_text;
const char *cli_plural(uint64_t n); /* the "s" that n things end in: "" for 1 */
cli_text cli_bytes(uint64_t n);     /* "46.8 MB" */
cli_text cli_count(uint64_t n);     /* "11,689,512" */
cli_text cli_dims(onx_dtype dtype, size_t rank, const int64_t *dims); /* "float[2,3]" */

#endif
