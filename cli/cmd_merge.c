/* cmd_merge.c: onx merge: models that become one, outputs of the ones as inputs of the others. */
#include "edit.h"

#include <stdlib.h>
#include <string.h>

enum {
    MERGE_MAP = EDIT_OWN,
    MERGE_BY_NAME,
    MERGE_PREFIX1,
    MERGE_PREFIX2,
    MERGE_PREFIXES,
    MERGE_SHARE,
    MERGE_FIRST_META,
    MERGE_CONVERT,
    MERGE_INPUTS,
    MERGE_OUTPUTS,
    MERGE_NAME,
};
static const cli_option options[] = {
    EDIT_OPTIONS,
    {"map", 0, "OUT=IN,...", "outputs of models that are inputs of later ones"},
    {"by-name", 0, NULL, "join outputs with inputs of later models that have their names"},
    {"prefix1", 0, "TEXT", "put TEXT before the names of the first model"},
    {"prefix2", 0, "TEXT", "put TEXT before the names of the second model"},
    {"prefixes", 0, "TEXTS", "the same for all models, with commas between them"},
    {"share-inputs", 0, NULL, "inputs of one name that are left are one input"},
    {"first-metadata", 0, NULL, "where metadata differ, keep those of the first model"},
    {"convert", 0, NULL, "bring older opsets to the newest of any model"},
    {"inputs", 0, "NAMES", "keep only what computes from these inputs, with commas"},
    {"outputs", 0, "NAMES", "keep only what these outputs need"},
    {"name", 0, "TEXT", "name of the new graph"},
    {NULL, 0, NULL, NULL},
};

typedef struct merger {
    const cli_args *args;
    size_t n; /* models */
    onx_model **models;
    const char **prefixes;
    edit_list map, inputs, outputs;
    onx_join *joins;
    char *prefix_text;
} merger;

/* ── Joins ───────────────────────────────────────────────────────────────────────────────────── */

static bool has(const onx_model *model, const char *name, bool output) {
    const onx_graph *graph = onx_model_graph(model);
    const onx_value *value = graph ? onx_graph_find(graph, name) : NULL;
    return value && (output ? onx_value_is_output(value) : onx_value_is_input(value));
}

/* "2:name": the second model. Without a number, or where a name begins like this: any. */
static size_t model_of(const merger *m, const char **name, bool output) {
    char *end;
    for (size_t i = 0; i < m->n; i++)
        if (has(m->models[i], *name, output)) return SIZE_MAX;
    unsigned long number = strtoul(*name, &end, 10);
    if (end == *name || *end != ':' || !number || number > m->n) return SIZE_MAX;
    *name = end + 1;
    return number - 1;
}

static bool find_join(const merger *m, onx_join *j) {
    size_t from = model_of(m, &j->output, true), to = model_of(m, &j->input, false), found = 0;
    const char *out = j->output, *in = j->input;
    for (size_t a = 0; a < m->n; a++)
        for (size_t b = a + 1; b < m->n; b++) {
            if ((from != SIZE_MAX && from != a) || (to != SIZE_MAX && to != b)) continue;
            if (!has(m->models[a], out, true) || !has(m->models[b], in, false)) continue;
            *j = (onx_join){a, out, b, in};
            found++;
        }
    if (found == 1) return true;
    if (found)
        cli_usage(m->args->command,
                  "more than one way to join '%s' and '%s': say which models, as "
                  "in 1:%s=2:%s",
                  out, in, out, in);
    else
        cli_usage(m->args->command, "no model has an output '%s' before one with an input '%s'",
                  out, in);
    return false;
}

static int find_joins(merger *m) {
    m->joins = calloc(m->map.n + 1, sizeof *m->joins);
    if (!m->joins) return cli_no_memory(m->args->command);
    for (size_t i = 0; i < m->map.n; i++) {
        char *text = (char *)(uintptr_t)m->map.v[i], *in = edit_split(text, '=');
        if (!in) return cli_usage(m->args->command, "'%s' is no OUT=IN", text);
        m->joins[i] = (onx_join){0, text, 0, in};
        if (!find_join(m, &m->joins[i])) return CLI_USAGE;
    }
    return CLI_OK;
}

/* ── Prefixes ────────────────────────────────────────────────────────────────────────────────── */

static int read_prefixes(merger *m) {
    const char *all = m->args->values[MERGE_PREFIXES];
    m->prefixes = calloc(m->n, sizeof *m->prefixes);
    m->prefix_text = all ? malloc(strlen(all) + 1) : NULL;
    if (!m->prefixes || (all && !m->prefix_text)) return cli_no_memory(m->args->command);
    char *at = m->prefix_text ? strcpy(m->prefix_text, all) : NULL;
    for (size_t i = 0; at; i++) {
        char *comma = strchr(at, ',');
        if (comma) *comma++ = '\0';
        if (i == m->n) return cli_usage(m->args->command, "more prefixes than models");
        m->prefixes[i] = at;
        at = comma;
    }
    for (size_t i = 0; i < 2 && i < m->n; i++)
        if (m->args->values[MERGE_PREFIX1 + i]) m->prefixes[i] = m->args->values[MERGE_PREFIX1 + i];
    return CLI_OK;
}

/* ── All of it ───────────────────────────────────────────────────────────────────────────────── */

static int merge(merger *m) {
    const cli_args *args = m->args;
    onx_merge_options how = ONX_INIT(onx_merge_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *merged;
    how.n_joins = m->map.n;
    how.joins = m->joins;
    how.by_name = args->values[MERGE_BY_NAME] != NULL;
    how.share_inputs = args->values[MERGE_SHARE] != NULL;
    how.first_meta = args->values[MERGE_FIRST_META] != NULL;
    how.convert = args->values[MERGE_CONVERT] != NULL;
    how.prefixes = m->prefixes;
    how.name = args->values[MERGE_NAME];
    how.n_inputs = m->inputs.n;
    how.inputs = m->inputs.v;
    how.n_outputs = m->outputs.n;
    how.outputs = m->outputs.v;
    if (onx_model_merge(m->n, (const onx_model *const *)m->models, &how, &merged, &diag))
        return cli_fail(args->command, &diag);
    int status = edit_save(args, merged);
    onx_model_free(merged);
    return status;
}

static int prepare(merger *m) {
    const cli_args *args = m->args;
    int status = edit_check(args);
    if (status != CLI_OK) return status;
    if (!edit_list_get(args, MERGE_MAP, &m->map) ||
        !edit_list_get(args, MERGE_INPUTS, &m->inputs) ||
        !edit_list_get(args, MERGE_OUTPUTS, &m->outputs))
        return CLI_BAD;
    m->models = calloc(m->n, sizeof(onx_model *));
    if (!m->models) return cli_no_memory(args->command);
    status = read_prefixes(m);
    for (size_t i = 0; i < m->n && status == CLI_OK; i++)
        status = edit_load(args, args->files[i], &m->models[i]);
    return status == CLI_OK ? find_joins(m) : status;
}

static int run(const cli_args *args) {
    merger m = {.args = args, .n = args->n_files};
    int status = prepare(&m);
    if (status == CLI_OK) status = merge(&m);
    for (size_t i = 0; m.models && i < m.n; i++) onx_model_free(m.models[i]);
    free(m.models);
    free(m.prefixes);
    free(m.prefix_text);
    free(m.joins);
    edit_list_free(&m.map);
    edit_list_free(&m.inputs);
    edit_list_free(&m.outputs);
    return status;
}

const cli_command cli_merge = {
    "merge",
    "[OPTIONS] MODEL MODEL... -o OUT",
    "models that become one, outputs of the ones as inputs of the others",
    "A model comes after those whose outputs it takes. With more than two models a name may be in\n"
    "several: 1:OUT=3:IN tells which. Inputs and outputs that are not joined are those of OUT. "
    "Names\n"
    "that are in several models need a prefix, or --share-inputs. All must import the same "
    "opsets,\nor --convert makes it so.\n"
    "--inputs and --outputs are names in OUT, and cut it as 'onx extract' does.",
    options,
    2,
    SIZE_MAX,
    run,
};
