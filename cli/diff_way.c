/* diff_way.c: see diff.h. */
#define _POSIX_C_SOURCE 200809L
#include "diff.h"
#include "folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ── What was typed ──────────────────────────────────────────────────────────────────────────── */

static bool set_text(char *to, size_t size, const char *value, const char **out) {
    if (!*value || strlen(value) >= size) return false;
    memcpy(to, value, strlen(value) + 1);
    *out = to;
    return true;
}

static bool set_cpu(diff_way *way, const char *value) {
    return set_text(way->cpu, sizeof way->cpu, value, &way->session.cpu);
}

static bool set_provider(diff_way *way, const char *value) {
    return set_text(way->providers, sizeof way->providers, value, &way->session.providers);
}

static bool set_level(diff_way *way, const char *value) {
    if (strlen(value) != 1 || *value < '0' || *value > '3') return false;
    way->session.level = (onx_level)(ONX_LEVEL_NONE + (*value - '0'));
    return true;
}

static bool set_threads(diff_way *way, const char *value) {
    char *end;
    unsigned long n = strtoul(value, &end, 10);
    way->session.threads = n;
    return *value >= '0' && *value <= '9' && !*end && n < 10000;
}

/* "fold+cse", for a comma ends a setting. */
static bool set_names(char *to, size_t size, const char *value, const char **out) {
    if (!set_text(to, size, value, out)) return false;
    for (char *plus; (plus = strchr(to, '+'));) *plus = ',';
    return true;
}

static bool set_disable(diff_way *way, const char *value) {
    return set_names(way->disable, sizeof way->disable, value, &way->session.disable);
}

static bool set_enable(diff_way *way, const char *value) {
    return set_names(way->enable, sizeof way->enable, value, &way->session.enable);
}

static bool set_dynamic(diff_way *way, const char *value) {
    way->session.dynamic = true;
    return !*value;
}

static bool set_fast(diff_way *way, const char *value) {
    way->session.numerics = ONX_NUMERICS_FAST;
    return !*value;
}

static const struct {
    const char *name;
    bool (*set)(diff_way *way, const char *value);
} settings[] = {{"cpu", set_cpu},           {"level", set_level},     {"threads", set_threads},
                {"provider", set_provider}, {"disable", set_disable}, {"enable", set_enable},
                {"dynamic", set_dynamic},   {"fast", set_fast}};

/* One "name=value", or a name alone. */
static bool apply(diff_way *way, char *text) {
    char *value = strchr(text, '=');
    if (value) *value++ = '\0';
    for (size_t i = 0; i < CLI_COUNT(settings); i++)
        if (!strcmp(settings[i].name, text)) return settings[i].set(way, value ? value : "");
    return false;
}

int diff_way_read(const cli_command *command, const char *text, const onx_session_options *base,
                  diff_way *out) {
    struct stat info;
    char copy[256], *rest = copy, *part;
    *out = (diff_way){.text = text, .session = *base};
    out->folder = stat(text, &info) == 0 && S_ISDIR(info.st_mode);
    if (out->folder) return CLI_OK;
    bool fine = strlen(text) < sizeof copy;
    if (fine) memcpy(copy, text, strlen(text) + 1);
    while (fine && (part = strtok_r(rest, ",", &rest))) fine = apply(out, part);
    if (fine) return CLI_OK;
    return cli_usage(
        command,
        "'%s' is neither a folder nor a list of settings such as level=0,cpu=base (cpu=ISA "
        "level=0..3 threads=N provider=NAME disable=PASS enable=PASS dynamic fast)",
        text);
}

/* ── Values ──────────────────────────────────────────────────────────────────────────────────── */

/* NAME.pb, as onx run --all-values writes it; of an output also output_I.pb. */
static onx_status read_value(const diff_way *way, const onx_model *model, const char *name,
                             onx_data **out, onx_diag *diag) {
    const onx_graph *graph = onx_model_graph(model);
    char path[4096], file[2048];
    folder_plain_name(name, file, sizeof file);
    snprintf(path, sizeof path, "%s/%s.pb", way->text, file);
    for (size_t i = 0; access(path, F_OK) != 0; i++) {
        if (i == onx_graph_output_count(graph)) return ONX_OK;
        if (strcmp(onx_value_name(onx_graph_output(graph, i)), name)) continue;
        snprintf(path, sizeof path, "%s/output_%zu.pb", way->text, i);
        if (access(path, F_OK) != 0) return ONX_OK;
        break;
    }
    const onx_value *value = onx_graph_find(graph, name);
    onx_data_kind kind = value ? feed_kind(onx_value_type(value)) : ONX_DATA_NONE;
    return onx_data_load(NULL, path, kind, out, diag);
}

static onx_status run_values(onx_session *session, const feed *in, size_t n,
                             const char *const *names, onx_data **data, onx_diag *diag) {
    onx_arg *outs = calloc(n + 1, sizeof *outs);
    if (!outs) return ONX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) outs[i].name = names[i];
    onx_status status = onx_session_run(session, in->count, in->args, n, outs, NULL, diag);
    for (size_t i = 0; i < n; i++) {
        bool there = outs[i].dtype != ONX_DTYPE_NONE || outs[i].value;
        if (!status && there) status = onx_arg_to_data(NULL, &outs[i], &data[i], diag);
        onx_arg_clear(&outs[i]);
    }
    free(outs);
    return status;
}

onx_status diff_way_values(const diff_way *way, const onx_model *model, const feed *in,
                           bool pin_all, size_t n, const char *const *names, onx_data **data,
                           onx_diag *diag) {
    onx_session_options options = way->session;
    onx_session *session = NULL;
    onx_status status = ONX_OK;
    for (size_t i = 0; way->folder && i < n && !status; i++)
        status = read_value(way, model, names[i], &data[i], diag);
    if (way->folder) return status;
    options.pin_all = pin_all;
    options.n_pins = pin_all ? 0 : n;
    options.pins = names;
    status = onx_session_new(model, &options, &session, diag);
    if (!status) status = run_values(session, in, n, names, data, diag);
    onx_session_free(session);
    return status;
}
