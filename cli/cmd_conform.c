/* cmd_conform.c: onx conform: runs folders of conformance tests, and counts. */
#define _POSIX_C_SOURCE 200809L
#include "conform.h"
#include "json.h"
#include "runner.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONFORM_FILTER,
    CONFORM_JSON,
    CONFORM_RTOL,
    CONFORM_ATOL,
    CONFORM_THROUGH,
    CONFORM_DYNAMIC,
    CONFORM_LIST,
    CONFORM_VERBOSE,
    CONFORM_THREADS, /* and the others of RUNNER_SESSION_ROWS */
};
static const cli_option options[] = {
    {"filter", 0, "RE", "only cases whose names match this extended regular expression"},
    {"json", 0, "FILE", "write what became of each case to FILE; '-': standard output"},
    {"rtol", 0, "R", "relative tolerance (that of the case, or 1e-3)"},
    {"atol", 0, "A", "absolute tolerance (that of the case, or 1e-7)"},
    {"through", 0, "FORMAT",
     "write each model so and read it back first: protobuf, onnxtxt, "
     "json, textproto"},
    {"dynamic", 0, NULL, "bind every step in the run, as if no shape were known before"},
    {"list", 0, NULL, "only list the cases"},
    {"verbose", 'v', NULL, "also name the cases that pass"},
    RUNNER_SESSION_ROWS,
    {NULL, 0, NULL, NULL},
};

typedef struct conforming {
    const cli_args *args;
    conform_how how;
    runner_passes passes;
    double rtol, atol;
    regex_t filter;
    conform_cases cases;
    size_t counts[3]; /* by outcome */
    size_t random;    /* of those that passed */
    json *j;          /* NULL: none */
    cli_progress progress;
} conforming;

static const char *const outcomes[] = {"passed", "failed", "skipped"};

/* ── Options ─────────────────────────────────────────────────────────────────────────────────── */

static int read_filter(conforming *c) {
    const char *text = c->args->values[CONFORM_FILTER];
    char why[256];
    int bad = regcomp(&c->filter, text ? text : "", REG_EXTENDED | REG_NOSUB);
    if (!bad) return CLI_OK;
    regerror(bad, &c->filter, why, sizeof why);
    return cli_usage(c->args->command, "--filter: '%s' is no regular expression: %s", text, why);
}

static int read_options(conforming *c) {
    const cli_args *args = c->args;
    if (!runner_session_options(args, CONFORM_THREADS, &c->passes, &c->how.session) ||
        !cli_get_real(args, CONFORM_RTOL, &c->rtol) ||
        !cli_get_real(args, CONFORM_ATOL, &c->atol) ||
        !cli_get_format(args, CONFORM_THROUGH, &c->how.through))
        return CLI_USAGE;
    c->how.session.dynamic = args->values[CONFORM_DYNAMIC] != NULL;
    if (args->values[CONFORM_RTOL]) c->how.rtol = &c->rtol;
    if (args->values[CONFORM_ATOL]) c->how.atol = &c->atol;
    return CLI_OK;
}

/* ── Cases ───────────────────────────────────────────────────────────────────────────────────── */

static void put_case(const conforming *c, const char *name, conform_outcome outcome, bool random,
                     const char *why) {
    bool shown = outcome != CONFORM_PASSED || c->args->values[CONFORM_VERBOSE];
    FILE *out = c->j && c->j->out == stdout ? stderr : stdout;
    if (!shown) return;
    fprintf(out, "%s: ", outcomes[outcome]);
    cli_puts(out, name);
    fputs(outcome == CONFORM_PASSED && random ? " (random: type, shape and range checked)\n" : "\n",
          out);
    for (const char *line = why; *line;) {
        size_t size = strcspn(line, "\n");
        fprintf(out, "  %.*s\n", (int)size, line);
        line += size + (line[size] == '\n');
    }
}

static void put_json(json *j, const char *name, conform_outcome outcome, bool random, double ms,
                     const char *why) {
    json_open(j, NULL, '{');
    json_string(j, "name", name);
    json_string(j, "outcome", outcomes[outcome]);
    if (random) json_bool(j, "random", true);
    json_real(j, "ms", ms);
    if (*why) json_string(j, "why", why);
    json_close(j);
}

static int run_case(conforming *c, const conform_case *one) {
    char *why = NULL;
    size_t size = 0;
    bool random = false;
    FILE *text = open_memstream(&why, &size);
    if (!text) return cli_no_memory(c->args->command);
    double start = runner_now();
    conform_outcome outcome = conform_run(one, &c->how, text, &random);
    double ms = runner_now() - start;
    if (fclose(text) || !why) {
        free(why);
        return cli_no_memory(c->args->command);
    }
    c->counts[outcome]++;
    c->random += outcome == CONFORM_PASSED && random;
    cli_progress_hide(&c->progress);
    put_case(c, one->name, outcome, random, why);
    if (c->j) put_json(c->j, one->name, outcome, random, ms, why);
    free(why);
    return CLI_OK;
}

static int run_cases(conforming *c) {
    int status = CLI_OK;
    for (size_t i = 0; i < c->cases.count && status == CLI_OK; i++) {
        const conform_case *one = &c->cases.list[i];
        if (regexec(&c->filter, one->name, 0, NULL, 0)) continue;
        cli_progress_show(&c->progress, i, c->cases.count, one->name);
        if (c->args->values[CONFORM_LIST])
            puts(one->name);
        else
            status = run_case(c, one);
    }
    cli_progress_hide(&c->progress);
    return status;
}

/* ── Sums ────────────────────────────────────────────────────────────────────────────────────── */

static int put_sums(const conforming *c) {
    FILE *out = c->j && c->j->out == stdout ? stderr : stdout;
    size_t all = c->counts[0] + c->counts[1] + c->counts[2];
    if (c->args->values[CONFORM_LIST]) return CLI_OK;
    if (!all) {
        cli_note(c->args->command,
                 "there are no %scases: folders with model.onnx and "
                 "test_data_set_0, or NAME.onnx beside NAME_output_0.pb",
                 c->cases.count ? "such " : "");
        return CLI_BAD;
    }
    if (c->random)
        fprintf(out,
                "%zu of those that passed %s random by specification: types, shapes and ranges of "
                "outputs were checked\n",
                c->random, c->random == 1 ? "is" : "are");
    fprintf(out, "%zu passed, %zu failed, %zu skipped\n", c->counts[CONFORM_PASSED],
            c->counts[CONFORM_FAILED], c->counts[CONFORM_SKIPPED]);
    return c->counts[CONFORM_FAILED] ? CLI_BAD : CLI_OK;
}

static int run_with_json(conforming *c) {
    const char *path = c->args->values[CONFORM_JSON];
    FILE *file = cli_is_stdio(path) ? stdout : fopen(path, "w");
    json j;
    if (!file) {
        cli_note(c->args->command, "%s: cannot be written: %s", path, strerror(errno));
        return CLI_BAD;
    }
    json_begin(&j, file);
    c->j = &j;
    json_open(&j, NULL, '{');
    json_open(&j, "cases", '[');
    int status = run_cases(c);
    json_close(&j);
    for (size_t i = 0; i < CLI_COUNT(outcomes); i++) json_size(&j, outcomes[i], c->counts[i]);
    json_size(&j, "random", c->random);
    json_close(&j);
    if (status == CLI_OK) status = put_sums(c);
    c->j = NULL;
    if (file != stdout && (ferror(file) | fclose(file))) {
        cli_note(c->args->command, "%s: could not be written", path);
        status = CLI_BAD;
    }
    return status;
}

static int run(const cli_args *args) {
    conforming c = {.args = args};
    int status = read_options(&c);
    if (status == CLI_OK) status = read_filter(&c);
    if (status != CLI_OK) return status;
    for (size_t i = 0; i < args->n_files && status == CLI_OK; i++)
        status = conform_find(args->command, args->files[i], &c.cases);
    if (status == CLI_OK && args->values[CONFORM_JSON] && !args->values[CONFORM_LIST])
        status = run_with_json(&c);
    else if (status == CLI_OK && (status = run_cases(&c)) == CLI_OK)
        status = put_sums(&c);
    conform_cases_free(&c.cases);
    regfree(&c.filter);
    return status;
}

const cli_command cli_conform = {
    "conform",
    "[OPTIONS] DIR...",
    "conformance tests: models with recorded inputs and outputs",
    "Runs the tests in folders and all below them, says what is wrong with those that fail, and "
    "counts.\n"
    "A test is a folder with model.onnx and test_data_set_0, test_data_set_1 …, which hold "
    "input_0.pb "
    "…\n"
    "and output_0.pb …, as ONNX's backend tests do; its tolerances may be in data.json. Or it is a "
    "file\n"
    "NAME.onnx beside NAME_output_0.pb: its one input is 0/n, 1/n … (n-1)/n. Outputs that are "
    "random by\n"
    "specification (RandomUniform, Bernoulli and the like) are checked for type, shape and range, "
    "and counted.\n"
    "The exit status is 0 only if there are cases and none failed.",
    options,
    1,
    SIZE_MAX,
    run,
};
