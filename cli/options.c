/* options.c: command lines, by the table of a command: --name VALUE, --name=VALUE, -n VALUE,
 * -nVALUE, and "--", after which everything is a file. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool takes_value(const cli_option *option) {
    return option->value && option->value[0] != '[';
}

static const char *option_name(const void *table, size_t index) {
    return ((const cli_option *)table)[index].name;
}

static int unknown(const cli_command *command, const char *arg, size_t name_size) {
    char name[64];
    const char *near = NULL;
    snprintf(name, sizeof name, "%.*s", (int)(name_size < 60 ? name_size : 60), arg);
    if (!strncmp(name, "--", 2)) near = cli_nearest(name + 2, option_name, command->options);
    if (near) return cli_usage(command, "unknown option %s (did you mean --%s?)", name, near);
    return cli_usage(command, "unknown option %s", name);
}

/* The option that `arg` names, and the value that is part of it, or NULL. */
static const cli_option *match(const cli_command *command, const char *arg, const char **value) {
    const char *equals = strchr(arg, '=');
    size_t size = arg[1] != '-' ? 2 : equals ? (size_t)(equals - arg) : strlen(arg);
    for (const cli_option *o = command->options; o->name; o++) {
        bool is_long =
            arg[1] == '-' && strlen(o->name) == size - 2 && !memcmp(arg + 2, o->name, size - 2);
        bool is_short = arg[1] != '-' && o->letter && arg[1] == o->letter;
        if (is_long) *value = equals ? equals + 1 : NULL;
        if (is_short) *value = arg[2] ? arg + 2 : NULL;
        if (is_long || is_short) return o;
    }
    unknown(command, arg, size);
    return NULL;
}

/* One option, which begins at argv[*at]; moves past a value that is an argument of its own. */
static int parse_option(cli_args *args, int argc, char **argv, int *at) {
    const char *value = NULL;
    const cli_option *o = match(args->command, argv[*at], &value);
    if (!o) return CLI_USAGE;
    if (value && !o->value) return cli_usage(args->command, "--%s takes no value", o->name);
    if (!value && takes_value(o)) {
        if (*at + 1 == argc)
            return cli_usage(args->command, "--%s needs a value: --%s %s", o->name, o->name,
                             o->value);
        value = argv[++*at];
    }
    size_t option = (size_t)(o - args->command->options);
    args->values[option] = value ? value : "";
    args->given[args->n_given++] = (cli_given){option, args->values[option]};
    return CLI_OK;
}

static bool asks_for_help(const char *arg) {
    return !strcmp(arg, "--help") || !strcmp(arg, "-h");
}

/* What every command has, beyond its own options. */
static const cli_option common[] = {
    {"library", 0, "FILE", "operators from a shared library; may be given many times"},
    {"help", 'h', NULL, "show this help"},
};

static bool asks_for_library(const char *arg) {
    return !strncmp(arg, "--library", 9) && (!arg[9] || arg[9] == '=');
}

static int load_library(const cli_command *command, int argc, char **argv, int *at) {
    if (argv[*at][9]) return cli_load_ops(command, argv[*at] + 10);
    if (*at + 1 == argc) return cli_usage(command, "--library needs a value: --library FILE");
    return cli_load_ops(command, argv[++*at]);
}

int cli_parse(const cli_command *command, int argc, char **argv, cli_args *args, bool *help) {
    bool options = true;
    int status = CLI_OK;
    *args = (cli_args){.command = command, .files = argv};
    *help = false;
    args->given = calloc((size_t)argc + 1, sizeof *args->given);
    if (!args->given) return cli_no_memory(command);
    for (int i = 0; i < argc; i++) {
        if (options && !strcmp(argv[i], "--"))
            options = false;
        else if (options && asks_for_help(argv[i]))
            *help = true;
        else if (options && asks_for_library(argv[i]))
            status = load_library(command, argc, argv, &i);
        else if (!options || argv[i][0] != '-' || !argv[i][1])
            args->files[args->n_files++] = argv[i];
        else
            status = parse_option(args, argc, argv, &i);
        if (status != CLI_OK) return status;
    }
    if (*help) return CLI_OK;
    if (args->n_files < command->min_files)
        return cli_usage(command, "too few arguments: onx %s %s", command->name, command->synopsis);
    if (args->n_files > command->max_files)
        return cli_usage(command, "too many arguments: '%s'", args->files[command->max_files]);
    return CLI_OK;
}

void cli_args_free(cli_args *args) {
    free(args->given);
    args->given = NULL;
}

/* ── Values ──────────────────────────────────────────────────────────────────────────────────── */

static bool wrong(const cli_args *args, size_t option, const char *wanted) {
    cli_usage(args->command, "--%s needs %s, not '%s'", args->command->options[option].name, wanted,
              args->values[option]);
    return false;
}

const char *cli_next_value(const cli_args *args, size_t option, size_t *at) {
    while (*at < args->n_given) {
        const cli_given *g = &args->given[(*at)++];
        if (g->option == option) return g->value;
    }
    return NULL;
}

bool cli_get_number(const cli_args *args, size_t option, uint64_t *out) {
    static const char units[] = "kMG";
    const char *text = args->values[option], *unit;
    char *end;
    if (!text) return true;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    unsigned shift = 0;
    if (*end && (unit = strchr(units, *end == 'K' ? 'k' : *end)))
        shift = 10 * (unsigned)(unit - units + 1), end++;
    bool digits = text[0] >= '0' && text[0] <= '9';
    if (!digits || *end || errno || n > UINT64_MAX >> shift) return wrong(args, option, "a number");
    *out = (uint64_t)n << shift;
    return true;
}

bool cli_get_real(const cli_args *args, size_t option, double *out) {
    const char *text = args->values[option];
    char *end;
    if (!text) return true;
    double v = strtod(text, &end);
    if (end == text || *end || !(v >= 0))
        return wrong(args, option, "a number that is not negative");
    *out = v;
    return true;
}

/* A name ("json"), or an ending (".json", "json"). */
bool cli_get_format(const cli_args *args, size_t option, onx_format *out) {
    const char *text = args->values[option];
    char ending[32];
    if (!text) return true;
    snprintf(ending, sizeof ending, "%s%s", text[0] == '.' ? "" : ".", text);
    onx_format format = onx_format_from_path(ending);
    for (int i = ONX_FORMAT_PROTOBUF; i <= ONX_FORMAT_TEXTPROTO; i++)
        if (!strcmp(text, onx_format_name((onx_format)i))) format = (onx_format)i;
    if (format == ONX_FORMAT_AUTO)
        return wrong(args, option, "protobuf, onnxtxt, json or textproto");
    *out = format;
    return true;
}

bool cli_get_list(const cli_args *args, size_t option, char *out, size_t size) {
    size_t at = 0, used = 0;
    *out = '\0';
    for (const char *value; (value = cli_next_value(args, option, &at)) && used < size;)
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "," : "", value);
    if (used < size) return true;
    cli_usage(args->command, "--%s: too many names", args->command->options[option].name);
    return false;
}

bool cli_get_choice(const cli_args *args, size_t option, const char *const *names, size_t *out) {
    const char *text = args->values[option];
    char list[256] = "one of";
    if (!text) return true;
    for (size_t i = 0; names[i]; i++) {
        size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s %s", i ? "," : "", names[i]);
        if (!strcmp(text, names[i])) {
            *out = i;
            return true;
        }
    }
    return wrong(args, option, list);
}

/* ── Help ────────────────────────────────────────────────────────────────────────────────────── */

static void print_option(const cli_option *o, FILE *out) {
    char left[64], letter[8] = "";
    bool optional = o->value && o->value[0] == '[';
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    if (optional)
        snprintf(left, sizeof left, "%s--%s[=%s", letter, o->name, o->value + 1);
    else
        snprintf(left, sizeof left, "%s--%s %s", letter, o->name, o->value ? o->value : "");
    fprintf(out, "  %-22s  %s\n", left, o->help);
}

void cli_print_help(const cli_command *command, FILE *out) {
    fprintf(out, "usage: onx %s%s%s\n\n%s\n", command->name, *command->synopsis ? " " : "",
            command->synopsis, command->help);
    fprintf(out, "\noptions:\n");
    for (const cli_option *o = command->options; o->name; o++) print_option(o, out);
    for (size_t i = 0; i < CLI_COUNT(common); i++) print_option(&common[i], out);
}

/* ── Near misses ─────────────────────────────────────────────────────────────────────────────── */

/* Letters to insert, remove, replace or swap with their neighbour; both texts are short. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb) {
    size_t row[3][32];
    for (size_t j = 0; j <= nb; j++) row[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *older = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && older[j - 2] + 1 < best) best = older[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[na % 3][nb];
}

const char *cli_nearest(const char *typed, const char *(*name_at)(const void *, size_t),
                        const void *names) {
    size_t n = strlen(typed), least = n < 4 ? 2 : 3; /* this many or more are too many */
    const char *near = NULL, *name;
    if (n > 30) return NULL;
    for (size_t i = 0; (name = name_at(names, i)); i++) {
        size_t d = distance(typed, n, name, strlen(name));
        if (d < least) near = name, least = d;
    }
    return near;
}
