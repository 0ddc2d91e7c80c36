/* test_types.c: every version of every operator, in every type that it allows.
 *
 * The cases are in test/types, a file for each operator; tool/types has made them with an oracle
 * that is not onx. Which types a case covers is not what it says, but what inference finds at the
 * inputs and outputs of its node. Where an older version means the same, the case is run in that
 * one too. A type without a case, and a case whose results are not those recorded, are failures,
 * and are named. */
#include "test.h"

#include "case_file.h"
#include "type_case.h"
#include "type_table.h"

enum { VERSIONS = 32 };

/* An operator: a table for each of its versions, rising, but for those at the end that must not be
 * used. */
typedef struct subject {
    const char *name;
    size_t n;
    type_table versions[VERSIONS];
    size_t cases, failed;
} subject;

static struct { size_t operators, versions, types, covered, newest, newest_covered, cases; } total;

static bool failed(subject *s, const char *label, const char *why) {
    fprintf(stderr, "%s %s: %s\n", s->name, label, why);
    s->failed++;
    return false;
}

/* The version that the case is of, of one of its nodes. */
static const onx_node *node_of(const subject *s, const onx_model *model, size_t *version) {
    const onx_node *node = onx_graph_node_first(onx_model_graph(model));
    for (; node; node = onx_node_next(node))
        for (size_t i = 0; i < s->n; i++)
            if (onx_op_of(node) == s->versions[i].op) {
                *version = i;
                return node;
            }
    return NULL;
}

/* Parse and run, on the best and on the plain kernels. */
static onx_model *run(subject *s, const char *label, const char *text, double ulps) {
    static const char *const tiers[] = {NULL, "ref"};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    char why[512];
    bool ok = case_parse(NULL, text, &model, &diag) == ONX_OK;
    if (!ok) (void)onx_diag_format(&diag, why, sizeof why);
    for (size_t i = 0; i < 2 && ok; i++) ok = type_case_run(model, tiers[i], ulps, why);
    s->cases++;
    if (ok || failed(s, label, why)) return model;
    onx_model_free(model);
    return NULL;
}

/* Mark the types of all nodes of this operator; false: they are not all allowed. */
static bool cover(type_table *t, const onx_model *model) {
    onx_inference *inference = NULL;
    bool ok = true;
    if (onx_inference_new(model, NULL, &inference, NULL)) abort();
    const onx_node *node = onx_graph_node_first(onx_model_graph(model));
    for (; node; node = onx_node_next(node))
        if (strcmp(onx_node_op(node), t->op->name) == 0)
            ok = type_table_cover(t, inference, node) && ok;
    onx_inference_free(inference);
    return ok;
}

/* Are there operators for all nodes, in this version of the opset? */
static bool is_known(onx_model *model) {
    onx_walk walk = onx_walk_begin(model);
    bool known = true;
    for (onx_msg *m; (m = onx_walk_next(&walk));)
        if (m->desc == &onx_desc_node) known = known && onx_op_of((onx_node *)m);
    return known;
}

/* The text with another version of the operator's domain; NULL: it does not say which. */
static char *with_version(const char *text, const char *domain, int version) {
    char import[64], *out = malloc(strlen(text) + 16);
    (void)snprintf(import, sizeof import, "\"%s\" : ", domain ? domain : "");
    const char *at = strstr(text, import), *from = at ? at + strlen(import) : NULL;
    if (!out) abort();
    if (!from) return free(out), NULL;
    (void)sprintf(out, "%.*s%d%s", (int)(from - text), text, version,
                  from + strspn(from, "0123456789"));
    return out;
}

/* The case again, in an older version that means the same by it. */
static void run_older(subject *s, const char *label, const char *text, onx_model *model,
                      type_table *t, double ulps) {
    static type_table tried;
    char name[128], *again = with_version(text, t->op->domain, (int)t->op->since);
    onx_model *old = NULL;
    tried = *t;
    if (again && cover(&tried, model) && case_parse(NULL, again, &old, NULL) == ONX_OK &&
        is_known(old)) {
        (void)snprintf(name, sizeof name, "%.90s, version %d", label, (int)t->op->since);
        onx_model *same = run(s, name, again, ulps);
        if (same) *t = tried;
        onx_model_free(same);
    }
    onx_model_free(old);
    free(again);
}

static void check_case(subject *s, char *text) {
    char *label = case_line(&text);
    double ulps = 0;
    size_t version = 0;
    if (strncmp(text, "ulps:", 5) == 0) ulps = strtod(case_line(&text) + 5, NULL);
    onx_model *model = run(s, label, text, ulps);
    if (!model) return;
    const onx_node *node = node_of(s, model, &version);
    if (!node)
        (void)failed(s, label, "there is no node of this operator");
    else if (!cover(&s->versions[version], model))
        (void)failed(s, label, "a type that is not allowed");
    else if (onx_graph_node_count(onx_model_graph(model)) == 1)
        for (size_t i = 0; i < version; i++)
            if (type_table_keeps(s->versions[i].op, s->versions[version].op, node))
                run_older(s, label, text, model, &s->versions[i], ulps);
    onx_model_free(model);
}

/* Its oracle does not have all types of those. */
static bool is_microsoft(const onx_op *op) {
    return op->domain && strcmp(op->domain, "com.microsoft") == 0;
}

/* The newest version, then what is missing in any. */
static void print_line(const subject *s) {
    const type_table *newest = &s->versions[s->n - 1];
    size_t types = 0, covered = 0;
    for (size_t i = 0; i < s->n; i++) {
        types += s->versions[i].n;
        covered += type_table_covered(&s->versions[i]);
    }
    printf("%-32s %3zu of %3zu types; %4zu of %4zu in %2zu versions, %4zu cases", s->name,
           type_table_covered(newest), newest->n, covered, types, s->n, s->cases);
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->versions[i].n; k++)
            if (!s->versions[i].covered[k])
                printf(", not %d %s", (int)s->versions[i].op->since, s->versions[i].names[k]);
    printf("\n");
    CHECK(s->cases > 0 && s->failed == 0);
    CHECK(types == covered || is_microsoft(newest->op));
    total.operators++;
    total.versions += s->n;
    total.types += types;
    total.covered += covered;
    total.newest += newest->n;
    total.newest_covered += type_table_covered(newest);
    total.cases += s->cases;
}

static void check_op(const onx_op *rows, size_t n) {
    static subject s;
    char path[128];
    case_file file;
    if (n > VERSIONS) abort();
    s = (subject){.name = rows->name, .n = n};
    for (size_t i = 0; i < n; i++) type_table_init(&s.versions[i], &rows[i]);
    (void)snprintf(path, sizeof path, "types/%s%s.txt", is_microsoft(rows) ? "com.microsoft." : "",
                   rows->name);
    if (case_file_open(&file, path))
        for (char *text; (text = case_file_next(&file));) check_case(&s, text);
    case_file_close(&file);
    print_line(&s);
}

static bool is_internal(const onx_op *op) {
    return op->domain && strcmp(op->domain, "onx.internal") == 0;
}

static bool is_same(const onx_op *a, const onx_op *b) {
    return strcmp(a->name, b->name) == 0 && is_internal(a) == is_internal(b);
}

TEST(all) {
    for (const onx_family *family = onx_op_table; family->name; family++)
        for (const onx_op *op = family->ops; op->name;) {
            size_t n = 1, usable;
            while (op[n].name && is_same(&op[n], op)) n++;
            for (usable = n; usable > 1 && op[usable - 1].deprecated;) usable--;
            if (!is_internal(op)) check_op(op, usable);
            op += n;
        }
    printf("%zu operators: %zu of %zu types; %zu of %zu in %zu versions, %zu cases\n",
           total.operators, total.newest_covered, total.newest, total.covered, total.types,
           total.versions, total.cases);
}

TEST_MAIN(E(all))
