/* every_tool.c: see every_tool.h. */
#include "every_tool.h"

#include "infer/infer.h"

#include <time.h>

typedef onx_status tool_fn(onx_model *model, onx_diag *diag); /* of a copy, or only read */

/* What a tool answers when it does not hold to its promises. */
#define BROKEN ((onx_status)-1)

typedef struct heard {
    size_t problems, unsaid;
} heard;
static void hear(void *user, const onx_node *node, const onx_value *value, const onx_diag *diag) {
    (void)node, (void)value;
    heard *h = user;
    h->problems++;
    h->unsaid += !diag->status || !diag->message[0];
}

static void hear_problem(void *user, const onx_problem *problem) {
    heard *h = user;
    h->problems++;
    h->unsaid += !problem->rule || !problem->place || !problem->message[0] || !problem->hint;
}

static onx_status infer(onx_model *model, onx_diag *diag) {
    heard h = {0};
    onx_facts_options options = {.report = hear, .user = &h};
    onx_facts *facts = NULL;
    onx_status status = onx_facts_new(model, &options, &facts, diag);
    onx_facts_free(facts);
    return h.unsaid ? BROKEN : status;
}

static onx_status infer_strictly(onx_model *model, onx_diag *diag) {
    onx_facts *facts = NULL;
    onx_status status = onx_facts_new(model, NULL, &facts, diag);
    onx_facts_free(facts);
    return status;
}

static onx_status write_types(onx_model *model, onx_diag *diag) {
    return onx_model_infer(model, NULL, diag);
}

static onx_status check_as(const onx_model *model, bool full, onx_diag *diag) {
    heard h = {0};
    onx_check_options options = ONX_INIT(onx_check_options);
    options.full = full;
    options.report = hear_problem;
    options.user = &h;
    onx_status status = onx_model_check(model, &options, diag);
    bool agree = status == ONX_OK || status == ONX_NO_MEMORY || h.problems;
    return h.unsaid || !agree ? BROKEN : status;
}

static onx_status check(onx_model *model, onx_diag *diag) {
    return check_as(model, false, diag);
}

static onx_status check_fully(onx_model *model, onx_diag *diag) {
    return check_as(model, true, diag);
}

/* What a tool made of a model is sound, too. */
static onx_status made(onx_status status, onx_model *model) {
    bool sound = status || test_links(model);
    onx_model_free(model);
    return sound ? status : BROKEN;
}

static onx_status convert_to(const onx_model *model, int64_t version, int64_t ml, onx_diag *diag) {
    onx_model *out = NULL;
    onx_convert_options options = ONX_INIT(onx_convert_options);
    const onx_opset_target targets[] = {{NULL, version}, {"ai.onnx.ml", ml}};
    options.targets = targets;
    options.n_targets = onx_model_opset(model, "ai.onnx.ml") ? 2 : 1;
    onx_status status = onx_model_convert(model, &options, &out, diag);
    return made(status, out);
}

static onx_status convert_up(onx_model *model, onx_diag *diag) {
    return convert_to(model, ONX_OPSET_VERSION, 5, diag);
}

static onx_status convert_down(onx_model *model, onx_diag *diag) {
    return convert_to(model, 7, 1, diag);
}

static onx_status convert_some(onx_model *model, onx_diag *diag) {
    return convert_to(model, 13, 3, diag);
}

static onx_status inline_functions(onx_model *model, onx_diag *diag) {
    onx_model *out = NULL;
    onx_status status = onx_model_inline(model, NULL, &out, diag);
    return made(status, out);
}

/* Makes much of a model: not of large ones. */
static onx_status inline_all(onx_model *model, onx_diag *diag) {
    onx_model *out = NULL;
    onx_inline_options options = ONX_INIT(onx_inline_options);
    const onx_graph *graph = onx_model_graph(model);
    options.all_operators = graph && onx_graph_node_count(graph) < 10000;
    onx_status status = onx_model_inline(model, &options, &out, diag);
    return made(status, out);
}

static onx_status extract(onx_model *model, onx_diag *diag) {
    onx_model *out = NULL;
    onx_status status = onx_model_extract(model, NULL, &out, diag);
    return made(status, out);
}

static onx_status rename_all(onx_model *model, onx_diag *diag) {
    onx_rename_options options = ONX_INIT(onx_rename_options);
    options.what = ONX_NAMES_ALL | ONX_NAMES_DIMS | ONX_NAMES_GRAPHS;
    options.prefix = "p_";
    return onx_model_rename(model, &options, diag);
}

static onx_status merge_two(onx_model *model, onx_diag *diag) {
    onx_model *out = NULL;
    onx_merge_options options = ONX_INIT(onx_merge_options);
    const char *const prefixes[] = {"a_", NULL};
    const onx_model *const models[] = {model, model};
    options.prefixes = prefixes;
    onx_status status = onx_model_merge(2, models, &options, &out, diag);
    return made(status, out);
}

static onx_status prepare(onx_model *model, onx_diag *diag) {
    onx_session *session = NULL;
    onx_session_options options = ONX_INIT(onx_session_options);
    options.memory_limit = (size_t)256 << 20;
    options.threads = 1;
    onx_status status = onx_session_new(model, &options, &session, diag);
    onx_session_free(session);
    return status;
}

static onx_status optimize(onx_model *model, onx_diag *diag) {
    onx_model *out = NULL;
    onx_status status = onx_model_optimize(model, NULL, &out, NULL, diag);
    return made(status, out);
}

static onx_status strip(onx_model *model, onx_diag *diag) {
    return onx_model_strip(model, ONX_STRIP_ALL | ONX_STRIP_INPUTS | ONX_STRIP_TRAINING, NULL,
                           diag);
}

/* All the ways there are, one after the other. */
static onx_status move_constants(onx_model *model, onx_diag *diag) {
    static const onx_constants ways[] = {ONX_CONSTANTS_INPUTS, ONX_CONSTANTS_FIXED,
                                         ONX_CONSTANTS_NODES, ONX_CONSTANTS_INITIALIZERS};
    onx_status status = ONX_OK;
    for (size_t i = 0; i < ONX_COUNT(ways) && !status; i++)
        status = onx_model_move_constants(model, ways[i], NULL, diag);
    return status;
}

/* Every dimension of the first inputs is another one. */
static onx_status free_dims(onx_model *model, onx_diag *diag) {
    const onx_graph *graph = onx_model_graph(model);
    onx_dim_change changes[16];
    onx_dims_options options = ONX_INIT(onx_dims_options);
    for (size_t i = 0; graph && i < onx_graph_input_count(graph) && i < 16; i++) {
        const onx_value *value = onx_graph_input(graph, i);
        const onx_type *type = onx_value_type(value);
        bool found = onx_type_kind_of(type) == ONX_TYPE_TENSOR &&
                     onx_graph_find(graph, onx_value_name(value)) == value;
        for (size_t k = 0; found && k < onx_type_rank(type) && options.n_changes < 16; k++)
            changes[options.n_changes++] = (onx_dim_change){onx_value_name(value), k, "other", 0};
    }
    options.changes = changes;
    return onx_model_set_dims(model, &options, diag);
}

static const struct {
    const char *name;
    tool_fn *run;
    bool edits;
} tools[] = {
    {"infer", infer, false},
    {"infer strictly", infer_strictly, false},
    {"write types", write_types, true},
    {"check", check, false},
    {"check fully", check_fully, false},
    {"convert up", convert_up, false},
    {"convert down", convert_down, false},
    {"convert", convert_some, false},
    {"inline", inline_functions, false},
    {"inline operators", inline_all, false},
    {"extract", extract, false},
    {"rename", rename_all, true},
    {"merge", merge_two, false},
    {"optimize", optimize, false},
    {"strip", strip, true},
    {"constants", move_constants, true},
    {"dims", free_dims, true},
    {"session", prepare, false},
};

#ifdef ONX_SANITIZED
enum { SECONDS = 10 };
#else
enum { SECONDS = 1 };
#endif

static double seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

static bool says_what(onx_status status, const onx_diag *diag) {
    return !status || (diag->status == status && diag->message[0] && status != BROKEN);
}

static bool try_tool(size_t i, onx_model *model, const char *what) {
    onx_diag diag = ONX_INIT(onx_diag);
    double start = seconds();
    onx_status status = tools[i].run(model, &diag);
    double took = seconds() - start;
    if (says_what(status, &diag) && took < SECONDS && test_links(model)) return true;
    fprintf(stderr, "    %s, %s: %s, %.2f s: %s\n", what, tools[i].name, onx_status_name(status),
            took, diag.message);
    return false;
}

size_t every_tool_count(void) {
    return ONX_COUNT(tools);
}

bool every_tool_one(size_t index, onx_model *model, const char *what) {
    onx_model *copy = NULL;
    if (tools[index].edits && onx_model_clone(model, &copy, NULL) != ONX_OK) return false;
    bool ok = try_tool(index, copy ? copy : model, what);
    onx_model_free(copy);
    return ok;
}

bool every_tool(onx_model *model, const char *what) {
    bool ok = true;
    for (size_t i = 0; i < ONX_COUNT(tools); i++) ok &= every_tool_one(i, model, what);
    return ok;
}
