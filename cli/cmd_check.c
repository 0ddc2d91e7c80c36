/* cmd_check.c: onx check: does a model follow the rules of ONNX? */
#include "cli.h"
#include "json.h"

#include <string.h>

enum { CHECK_FULL, CHECK_JSON, CHECK_QUIET, CHECK_RULES, CHECK_FROM };
static const cli_option options[] = {
    {"full", 0, NULL, "also what inference finds: shapes that cannot be, axes out of range"},
    {"json", 0, NULL, "write a JSON document: an array with one object for each model"},
    {"quiet", 'q', NULL, "errors only, no warnings"},
    {"rules", 0, NULL, "list the rules"},
    {"from", 0, "FORMAT", "format of the models, if their names do not tell"},
    {NULL, 0, NULL, NULL},
};

enum {
    MOST_RULES = 256,      /* that are counted */
    SHOWN = 10,            /* problems of one rule that are shown; the rest is counted */
    MOST_PROBLEMS = 100000 /* of one model */
};

typedef struct checking {
    json *j;    /* NULL: text */
    bool quiet; /* no warnings */
    const char *path;
    size_t errors, warnings;
    size_t counts[MOST_RULES]; /* problems, by the place of their rule in the table */
} checking;

static const char *severity_name(onx_severity severity) {
    return severity == ONX_SEVERITY_ERROR ? "error" : "warning";
}

/* ── Problems ────────────────────────────────────────────────────────────────────────────────── */

static void put_json(json *j, const onx_problem *p) {
    json_open(j, NULL, '{');
    json_string(j, "rule", p->rule->id);
    json_string(j, "severity", severity_name(p->rule->severity));
    json_string(j, "place", p->place);
    json_string(j, "graph", p->graph);
    if (p->node) {
        json_size(j, "node", p->node_index);
        json_string(j, "name", p->node);
    }
    if (p->attribute) json_string(j, "attribute", p->attribute);
    json_string(j, "message", p->message);
    if (*p->hint) json_string(j, "hint", p->hint);
    json_close(j);
}

static void put_text(const checking *c, const onx_problem *p) {
    cli_puts(stdout, c->path);
    printf(": %s: ", severity_name(p->rule->severity));
    cli_puts(stdout, p->place);
    fputs(": ", stdout);
    cli_puts(stdout, p->message);
    printf(" [%s]\n", p->rule->id);
    if (!*p->hint) return;
    fputs("  ", stdout);
    cli_puts(stdout, p->hint);
    putchar('\n');
}

static size_t place_of(const onx_rule *rule) {
    size_t i = 0;
    while (onx_rule_at(i) != rule) i++;
    return i;
}

static void hear(void *user, const onx_problem *p) {
    checking *c = user;
    bool error = p->rule->severity == ONX_SEVERITY_ERROR;
    size_t rule = place_of(p->rule);
    *(error ? &c->errors : &c->warnings) += 1;
    if (!error && c->quiet) return;
    if (rule < MOST_RULES && c->counts[rule]++ >= SHOWN) return;
    if (c->j)
        put_json(c->j, p);
    else
        put_text(c, p);
}

/* Those that were not shown one by one. */
static void put_rest(const checking *c) {
    const onx_rule *rule;
    if (c->j) json_open(c->j, "more", '{');
    for (size_t i = 0; i < MOST_RULES && (rule = onx_rule_at(i)); i++) {
        if (c->counts[i] <= SHOWN) continue;
        size_t more = c->counts[i] - SHOWN;
        if (c->j) {
            json_size(c->j, rule->id, more);
            continue;
        }
        cli_puts(stdout, c->path);
        printf(": %s: and %zu more like that [%s]\n", severity_name(rule->severity), more,
               rule->id);
    }
    if (c->j) json_close(c->j);
}

/* ── Models ──────────────────────────────────────────────────────────────────────────────────── */

/* A file that is no model, or could not be checked. */
static int put_failure(checking *c, const onx_diag *diag) {
    char text[1400];
    onx_diag_format(diag, text, sizeof text);
    if (c->j) {
        json_bool(c->j, "valid", false);
        json_string(c->j, "status", onx_status_name(diag->status));
        json_string(c->j, "failure", text);
    } else {
        if (!diag->file[0]) printf("%s: ", c->path);
        for (const char *line = text; *line; line += *line == '\n') {
            size_t n = strcspn(line, "\n");
            cli_put(stdout, (onx_str){line, n});
            putchar('\n');
            line += n;
        }
    }
    return CLI_BAD;
}

static onx_status load(const char *path, onx_format format, onx_model **out, onx_diag *diag) {
    onx_load_options load = ONX_INIT(onx_load_options);
    load.format = format;
    if (cli_is_stdio(path)) {
        onx_reader in = cli_stdin();
        return onx_model_load_stream(cli_context(), &in, &load, out, diag);
    }
    if (!onx_model_load(cli_context(), path, &load, out, diag)) return ONX_OK;
    load.no_external = true; /* the checker says what is wrong with external data */
    return onx_model_load(cli_context(), path, &load, out, diag);
}

static int check(const cli_args *args, checking *c, const onx_model *model) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_check_options how = ONX_INIT(onx_check_options);
    how.full = args->values[CHECK_FULL] != NULL;
    how.max_problems = MOST_PROBLEMS;
    how.report = hear;
    how.user = c;
    if (c->j) json_open(c->j, "problems", '[');
    onx_status status = onx_model_check(model, &how, &diag);
    if (c->j) json_close(c->j);
    put_rest(c);
    if (status && status != ONX_INVALID) return put_failure(c, &diag);
    if (c->j) {
        json_bool(c->j, "valid", c->errors == 0);
        json_size(c->j, "errors", c->errors);
        json_size(c->j, "warnings", c->warnings);
    } else {
        cli_puts(stdout, c->path);
        if (c->errors || (c->warnings && !c->quiet))
            printf(": %s: %zu error%s, %zu warning%s\n", c->errors ? "invalid" : "valid", c->errors,
                   cli_plural(c->errors), c->warnings, cli_plural(c->warnings));
        else
            puts(": valid");
    }
    return c->errors ? CLI_BAD : CLI_OK;
}

static int check_file(const cli_args *args, const char *path, onx_format format, json *j) {
    checking c = {.j = j, .quiet = args->values[CHECK_QUIET] != NULL, .path = path};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model;
    if (j) json_open(j, NULL, '{');
    if (j) json_string(j, "file", path);
    onx_status loaded = load(path, format, &model, &diag);
    int status = loaded ? put_failure(&c, &diag) : check(args, &c, model);
    if (!loaded) onx_model_free(model);
    if (j) json_close(j);
    return status;
}

static int list_rules(void) {
    const onx_rule *rule;
    for (size_t i = 0; (rule = onx_rule_at(i)); i++)
        printf("%-8s %-22s %s\n", severity_name(rule->severity), rule->id, rule->title);
    return CLI_OK;
}

static int run(const cli_args *args) {
    onx_format format = ONX_FORMAT_AUTO;
    bool as_json = args->values[CHECK_JSON] != NULL;
    json j;
    cli_progress progress = {.start = 0};
    int status = CLI_OK;
    if (args->values[CHECK_RULES]) return list_rules();
    if (!args->n_files) return cli_usage(args->command, "needs a model");
    if (!cli_get_format(args, CHECK_FROM, &format)) return CLI_USAGE;
    json_begin(&j, stdout);
    if (as_json) json_open(&j, NULL, '[');
    for (size_t i = 0; i < args->n_files; i++) {
        if (!cli_is_terminal(stdout))
            cli_progress_show(&progress, i, args->n_files, args->files[i]);
        int one = check_file(args, args->files[i], format, as_json ? &j : NULL);
        if (one != CLI_OK) status = one;
    }
    cli_progress_hide(&progress);
    if (as_json) json_close(&j);
    return status;
}

const cli_command cli_check = {
    "check",
    "[OPTIONS] MODEL...",
    "whether models follow the rules of ONNX, and where they do not",
    "Reads models and says what is wrong with them: every problem, with its place, its rule and\n"
    "what to do about it. Structure, names, order, operators, attributes and their values, types "
    "of\n"
    "all values, tensors and their data, functions, training and devices are checked; with --full\n"
    "also shapes. Warnings are about what is allowed, but probably not meant. Of many problems of\n"
    "one rule the first 10 are shown. The exit status is 1 if any model is invalid.",
    options,
    0,
    SIZE_MAX,
    run,
};
