/* report.c: how problems are told: where they are, once for each cause, and not too many. */
#include "check/checker.h"
#include "ir/edit.h"

#include <stdio.h>

static const onx_rule rules[] = {
#define RULE_ERROR(name, id, title) {id, title, ONX_SEVERITY_ERROR},
#define RULE_WARNING(name, id, title) {id, title, ONX_SEVERITY_WARNING},
    ONX_RULES(RULE_ERROR, RULE_WARNING)};

const onx_rule *onx_rule_at(size_t index) {
    return index < ONX_COUNT(rules) ? &rules[index] : NULL;
}

/* ── Places ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct place {
    const onx_node *node;
    const onx_attr *attr;
    const onx_msg *value; /* a declaration or initializer of the graph */
    size_t index;         /* of the node */
    char graph[256], text[512];
} place;

static size_t index_of(const onx_checker *c, const onx_node *node) {
    for (size_t i = c->depth; i-- > 0;)
        if (c->frames[i].node == node) return c->frames[i].index;
    return 0;
}

/* Text in front of a path, as long as there is room. */
static void put_before(char *path, size_t size, const char *part) {
    size_t n = strlen(part), old = strlen(path);
    if (n + old + 1 > size) return;
    memmove(path + n, path, old + 1);
    memcpy(path, part, n);
}

/* What the graph that holds a message is called, from its root on: "graph.node[3].body". */
static void graph_path(const onx_checker *c, const onx_msg *m, char *out, size_t size) {
    char part[160];
    for (*out = '\0'; m && m->parent; m = m->parent) {
        const onx_node *node = (const onx_node *)m;
        const char *field = m->parent->desc->fields[m->field].name;
        if (m->desc == &onx_desc_node)
            snprintf(part, sizeof part, ".node[%zu]", index_of(c, node));
        else if (m->desc == &onx_desc_attr)
            snprintf(part, sizeof part, ".%.100s", onx_attr_name((const onx_attr *)m));
        else if (m->desc == &onx_desc_function)
            snprintf(part, sizeof part, "functions.%.60s::%.80s",
                     onx_function_domain((const onx_function *)m),
                     onx_function_name((const onx_function *)m));
        else if (m->desc == &onx_desc_graph && m->parent->desc != &onx_desc_attr)
            snprintf(part, sizeof part, "%s%s", m->parent->parent ? "training_info." : "", field);
        else
            continue;
        put_before(out, size, part);
    }
}

static bool is_body(const onx_msg *m) {
    return m->desc == &onx_desc_graph || m->desc == &onx_desc_function;
}

/* The innermost graph, node and attribute around a message. */
static void find_place(const onx_checker *c, const onx_msg *m, place *out) {
    *out = (place){.node = NULL};
    for (; m && !is_body(m); m = m->parent) {
        if (m->desc == &onx_desc_attr) out->attr = (const onx_attr *)m;
        if (m->desc == &onx_desc_node) out->node = (const onx_node *)m;
        if (m->desc == &onx_desc_value_info || m->desc == &onx_desc_tensor) out->value = m;
    }
    graph_path(c, m, out->graph, sizeof out->graph);
    if (!out->graph[0]) snprintf(out->graph, sizeof out->graph, "model");
    if (out->node) out->index = index_of(c, out->node);
}

static const char *value_name(const onx_msg *m) {
    return m->desc == &onx_desc_tensor ? onx_tensor_name((const onx_tensor *)m)
                                       : onx_str_z(((const onx_value_info *)m)->name);
}

static void describe(place *p) {
    int n = snprintf(p->text, sizeof p->text, "%s", p->graph);
    const char *name = p->node ? onx_node_name(p->node) : "", *quote = name[0] ? "'" : "";
    if (p->node)
        n += snprintf(p->text + n, sizeof p->text - (size_t)n, ".node[%zu]%s%s%.60s%s (%.60s)",
                      p->index, name[0] ? " " : "", quote, name, quote, onx_node_op(p->node));
    else if (p->value)
        n += snprintf(p->text + n, sizeof p->text - (size_t)n, ", %s '%.60s'",
                      p->value->parent->desc->fields[p->value->field].name, value_name(p->value));
    if (p->attr)
        snprintf(p->text + n, sizeof p->text - (size_t)n, ", attribute '%.60s'",
                 onx_attr_name(p->attr));
}

/* ── Telling ─────────────────────────────────────────────────────────────────────────────────── */

/* Names in a place come from the file: onx_diag_place takes what could confuse a terminal out. */
static void tell(onx_checker *c, onx_rule_id rule, const void *msg, onx_diag *diag) {
    place p;
    find_place(c, msg, &p);
    describe(&p);
    onx_diag_place(diag, "%s", p.text);
    if (rules[rule].severity == ONX_SEVERITY_ERROR && c->n_errors++ == 0 && c->first)
        *c->first = *diag;
    if (rules[rule].severity == ONX_SEVERITY_ERROR && p.node)
        onx_check_once(c, &c->wrong, p.node, (onx_str){NULL, 0});
    onx_problem problem = {&rules[rule],  diag->place,
                           p.graph,       p.node ? onx_node_name(p.node) : NULL,
                           p.index,       p.attr ? onx_attr_name(p.attr) : NULL,
                           diag->message, diag->hint};
    c->n_told++;
    if (c->options.report) c->options.report(c->options.user, &problem);
}

/* Beyond the limit only errors count, and only if there was none. */
static bool is_wanted(const onx_checker *c, onx_rule_id rule) {
    return c->n_told < c->options.max_problems ||
           (!c->n_errors && rules[rule].severity == ONX_SEVERITY_ERROR);
}

void onx_check_tell(onx_checker *c, onx_rule_id rule, const void *msg, const char *hint,
                    const char *fmt, ...) {
    if (!is_wanted(c, rule)) return;
    char sentence[480];
    onx_diag diag = ONX_INIT(onx_diag);
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    onx_fail(&diag, ONX_INVALID, "%s", sentence);
    if (hint) onx_diag_hint(&diag, "%s", hint);
    tell(c, rule, msg, &diag);
}

void onx_check_pass_on(onx_checker *c, onx_rule_id rule, const void *msg, const onx_diag *diag) {
    onx_check_tell(c, rule, msg, diag->hint, "%s", diag->message);
}

bool onx_check_once(onx_checker *c, onx_map *map, const void *owner, onx_str key) {
    if (onx_map_get(map, owner, key)) return false;
    if (!onx_map_put(map, owner, key, c)) c->no_memory = true;
    return true;
}

bool onx_check_is_wrong(const onx_checker *c, const onx_node *node) {
    return onx_map_get(&c->wrong, node, (onx_str){NULL, 0}) != NULL;
}

/* ── Suggestions ─────────────────────────────────────────────────────────────────────────────── */

enum { NEAR_MOST = 100 }; /* names that a suggestion is looked for, of one model: it takes time */

bool onx_check_nearest(onx_checker *c, onx_str typed, onx_str (*next)(void *), void *names,
                       onx_str *out) {
    size_t least_far = typed.size / 3 + 2;
    bool found = false;
    if (!typed.size || c->n_nearest++ >= NEAR_MOST) return false;
    for (onx_str name; (name = next(names)).data;) {
        size_t far = onx_str_distance(typed, name, least_far);
        if (far >= least_far) continue;
        least_far = far;
        *out = name;
        found = true;
    }
    return found;
}
