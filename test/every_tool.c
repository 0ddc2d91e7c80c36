/* every_tool.c: see every_tool.h. */
#include "every_tool.h"

#include "infer/infer.h"

#include <time.h>

typedef onx_status tool_fn(onx_model *model, onx_diag *diag); /* of a copy, or only read */

typedef struct heard {
    size_t problems, unsaid;
} heard;
static void hear(void *user, const onx_node *node, const onx_value *value,
                   const onx_diag *diag) {
    (void)node, (void)value;
    heard *h = user;
    h->problems++;
    h->unsaid += !diag->status || !diag->message[0];
}

static onx_status infer(onx_model *model, onx_diag *diag) {
    heard h = {0};
    onx_facts_options options = {.report = hear, .user = &h};
    onx_facts *facts = NULL;
    onx_status status = onx_facts_new(model, &options, &facts, diag);
    onx_facts_free(facts);
    return h.unsaid ? ONX_USAGE : status;
}

static onx_status infer_strictly(onx_model *model, onx_diag *diag) {
    onx_facts *facts = NULL;
    onx_status status = onx_facts_new(model, NULL, &facts, diag);
    onx_facts_free(facts);
    return status;
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

static const struct {
    const char *name;
    tool_fn *run;
    bool edits;
} tools[] = {
    {"infer", infer, false},
    {"infer strictly", infer_strictly, false},
    {"session", prepare, false},
};

#if defined(__has_feature) && !defined(__SANITIZE_ADDRESS__) /* clang's way of saying it */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SECONDS = 10 };
#else
enum { SECONDS = 1 };
#endif

static double seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

static bool says_what(onx_status status, const onx_diag *diag) {
    return !status || (diag->status == status && diag->message[0] && status != ONX_USAGE);
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
