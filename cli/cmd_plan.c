/* cmd_plan.c: onx plan: how a model would be run: its steps, their kernels, where values lie. */
#include "feed.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLAN_ALL = RUNNER_OPTIONS,
    PLAN_JSON,
};
static const cli_option options[] = {
    RUNNER_ROWS,
    {"all", 0, NULL, "every step and every value"},
    {"json", 0, NULL, "as a JSON document, with every step and every value"},
    {NULL, 0, NULL, NULL},
};

/* A plan, and the columns of the widest texts in it. */
typedef struct layout {
    const onx_plan *plan;
    int op, kernel, depth;
} layout;

static int wider(int width, const char *text) {
    return strlen(text) > (size_t)width ? (int)strlen(text) : width;
}

static layout layout_of(const onx_plan *plan, int depth) {
    layout l = {.plan = plan, .depth = depth};
    for (size_t i = 0; i < onx_plan_step_count(plan); i++) {
        const onx_plan_step *s = onx_plan_step_at(plan, i);
        l.op = wider(l.op, s->op);
        l.kernel = wider(l.kernel, s->kernel);
    }
    return l;
}

static bool is(const char *a, const char *b) {
    return !strcmp(a, b);
}

/* ── Counts ──────────────────────────────────────────────────────────────────────────────────── */

/* Things of one kind: how many there are, and their bytes. */
typedef struct tally {
    const char *a, *b;
    size_t count, bytes;
} tally;

static int by_text(const void *x, const void *y) {
    const tally *p = x, *q = y;
    int order = strcmp(p->a, q->a);
    return order ? order : strcmp(p->b, q->b);
}

static int by_count(const void *x, const void *y) {
    const tally *p = x, *q = y;
    if (p->count != q->count) return p->count < q->count ? 1 : -1;
    return by_text(x, y);
}

/* Puts those of the same texts together, the most frequent first; returns how many are left. */
static size_t merge(tally *rows, size_t count) {
    size_t n = 0;
    qsort(rows, count, sizeof *rows, by_text);
    for (size_t i = 0; i < count; i++) {
        if (n && by_text(&rows[n - 1], &rows[i]) == 0) {
            rows[n - 1].count += rows[i].count;
            rows[n - 1].bytes += rows[i].bytes;
        } else {
            rows[n++] = rows[i];
        }
    }
    qsort(rows, n, sizeof *rows, by_count);
    return n;
}

/* ── Summary ─────────────────────────────────────────────────────────────────────────────────── */

static bool in_slab(const onx_plan_value *v) {
    return is(v->where, "slab");
}

static void put_places(const onx_plan *plan, tally *rows) {
    size_t n = onx_plan_value_count(plan);
    for (size_t i = 0; i < n; i++) {
        const onx_plan_value *v = onx_plan_value_at(plan, i);
        rows[i] = (tally){v->where, "", 1, v->bytes};
    }
    printf("  values   %s\n", cli_count(n).s);
    n = merge(rows, n);
    for (size_t i = 0; i < n; i++)
        printf("           %6s %-9s %10s\n", cli_count(rows[i].count).s, rows[i].a,
               cli_bytes(rows[i].bytes).s);
}

static void put_kernels(const layout *l, tally *rows) {
    size_t n = onx_plan_step_count(l->plan);
    for (size_t i = 0; i < n; i++) {
        const onx_plan_step *s = onx_plan_step_at(l->plan, i);
        rows[i] = (tally){s->op, s->kernel, 1, 0};
    }
    printf("  steps    %s\n", cli_count(n).s);
    n = merge(rows, n);
    for (size_t i = 0; i < n; i++)
        printf("           %6s %-*s  %s\n", cli_count(rows[i].count).s, l->op, rows[i].a,
               rows[i].b);
}

static void put_memory(const onx_plan *plan) {
    size_t slab = onx_plan_slab(plan), bound = onx_plan_bound(plan);
    printf("  slab     %s", cli_bytes(slab).s);
    if (bound)
        printf(", %.2f times the %s that no plan can do without", (double)slab / (double)bound,
               cli_bytes(bound).s);
    printf("\n  packed   %s of weights\n", cli_bytes(onx_plan_packed(plan)).s);
}

/* ── Rows ────────────────────────────────────────────────────────────────────────────────────── */

static void put_names(const onx_plan *plan, size_t n, const uint32_t *values) {
    for (size_t i = 0; i < n; i++) {
        if (i) fputs(", ", stdout);
        cli_puts(stdout, values[i] == UINT32_MAX ? "_" : onx_plan_value_at(plan, values[i])->name);
    }
}

static void put_step(const layout *l, size_t index) {
    const onx_plan_step *s = onx_plan_step_at(l->plan, index);
    printf("%*s%5zu  %-*s  %-*s  ", 2 * l->depth, "", index, l->op, s->op, l->kernel, s->kernel);
    put_names(l->plan, s->n_out, s->out);
    fputs(" = ", stdout);
    put_names(l->plan, s->n_in, s->in);
    if (s->overwrites >= 0) printf("; over input %d", (int)s->overwrites);
    if (s->scratch) printf("; scratch %s", cli_bytes(s->scratch).s);
    if (!is(s->when, "run")) printf("; %s", s->when);
    putchar('\n');
}

static void put_value(const onx_plan_value *v) {
    char life[48] = "";
    if (in_slab(v)) snprintf(life, sizeof life, "%zu..%zu", v->first, v->last);
    printf("  %-8s %12zu %10s  %-11s %-28s ", v->where, v->offset, cli_bytes(v->bytes).s, life,
           v->type);
    cli_puts(stdout, v->name);
    putchar('\n');
}

static void put_value_heading(void) {
    printf("  %-8s %12s %10s  %-11s %-28s %s\n", "where", "offset", "bytes", "steps", "type",
           "name");
}

static int by_bytes(const void *a, const void *b) {
    const onx_plan_value *x = *(const onx_plan_value *const *)a,
                         *y = *(const onx_plan_value *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x > y) - (x < y);
}

/* What fills the slab: its largest values; false: no memory. */
static bool put_largest(const onx_plan *plan) {
    enum { MOST = 10 };
    size_t n = 0;
    const onx_plan_value **list = calloc(onx_plan_value_count(plan) + 1, sizeof *list);
    if (!list) return false;
    for (size_t i = 0; i < onx_plan_value_count(plan); i++) {
        const onx_plan_value *v = onx_plan_value_at(plan, i);
        if (in_slab(v)) list[n++] = v;
    }
    qsort(list, n, sizeof *list, by_bytes);
    if (n) printf("\nlargest values in the slab\n"), put_value_heading();
    for (size_t i = 0; i < n && i < MOST; i++) put_value(list[i]);
    free(list);
    return true;
}

/* The step that needs most memory for itself. */
static void put_scratch(const layout *l) {
    const onx_plan *plan = l->plan;
    size_t most = 0, at = 0;
    for (size_t i = 0; i < onx_plan_step_count(plan); i++)
        if (onx_plan_step_at(plan, i)->scratch > most)
            most = onx_plan_step_at(plan, at = i)->scratch;
    if (!most) return;
    printf("\nmost scratch\n");
    put_step(l, at);
}

/* The steps, and below each those of the graphs inside it: as deep as onx runs. */
static void put_steps(const layout *l) {
    for (size_t i = 0; i < onx_plan_step_count(l->plan); i++) {
        const onx_plan_step *s = onx_plan_step_at(l->plan, i);
        put_step(l, i);
        for (size_t c = 0; c < s->n_children; c++) {
            layout inner = layout_of(s->children[c], l->depth + 1);
            printf("%*s       %s", 2 * l->depth, "", onx_plan_name(s->children[c]));
            if (onx_plan_slab(s->children[c]))
                printf(", slab %s", cli_bytes(onx_plan_slab(s->children[c])).s);
            putchar('\n');
            put_steps(&inner);
        }
    }
}

static void put_all(const layout *l) {
    const onx_plan *plan = l->plan;
    printf("\nsteps\n");
    put_steps(l);
    printf("\nvalues\n");
    put_value_heading();
    for (size_t i = 0; i < onx_plan_value_count(plan); i++) put_value(onx_plan_value_at(plan, i));
}

static int put_text(const runner *r, const onx_plan *plan) {
    size_t steps = onx_plan_step_count(plan), values = onx_plan_value_count(plan);
    tally *rows = calloc((steps > values ? steps : values) + 1, sizeof *rows);
    layout l = layout_of(plan, 0);
    if (!rows) return cli_no_memory(r->args->command);
    cli_puts(stdout, r->args->files[0]);
    printf(": %s, %zu thread%s\n", onx_session_cpu(r->session), onx_session_threads(r->session),
           cli_plural(onx_session_threads(r->session)));
    put_memory(plan);
    put_places(plan, rows);
    put_kernels(&l, rows);
    bool ok = put_largest(plan);
    put_scratch(&l);
    if (r->args->values[PLAN_ALL]) put_all(&l);
    free(rows);
    return ok ? CLI_OK : cli_no_memory(r->args->command);
}

/* ── JSON ────────────────────────────────────────────────────────────────────────────────────── */

static void put_list(json *j, const char *key, size_t n, const uint32_t *values) {
    json_open(j, key, '[');
    for (size_t i = 0; i < n; i++)
        if (values[i] == UINT32_MAX)
            json_null(j, NULL);
        else
            json_size(j, NULL, values[i]);
    json_close(j);
}

static void put_body_json(json *j, const onx_plan *plan);

static void put_children_json(json *j, const onx_plan_step *s) {
    if (!s->n_children) return;
    json_open(j, "graphs", '[');
    for (size_t i = 0; i < s->n_children; i++) {
        json_open(j, NULL, '{');
        json_string(j, "name", onx_plan_name(s->children[i]));
        put_body_json(j, s->children[i]);
        json_close(j);
    }
    json_close(j);
}

static void put_step_json(json *j, const onx_plan_step *s) {
    json_open(j, NULL, '{');
    json_string(j, "node", s->node);
    json_string(j, "op", s->op);
    json_string(j, "kernel", s->kernel);
    json_string(j, "when", s->when);
    put_list(j, "in", s->n_in, s->in);
    put_list(j, "out", s->n_out, s->out);
    json_number(j, "overwrites", s->overwrites);
    json_size(j, "scratch", s->scratch);
    put_children_json(j, s);
    json_close(j);
}

static void put_value_json(json *j, const onx_plan_value *v) {
    json_open(j, NULL, '{');
    json_string(j, "name", v->name);
    json_string(j, "type", v->type);
    json_string(j, "where", v->where);
    json_size(j, "offset", v->offset);
    json_size(j, "bytes", v->bytes);
    json_size(j, "first", v->first);
    json_size(j, "last", v->last);
    json_close(j);
}

static void put_body_json(json *j, const onx_plan *plan) {
    json_size(j, "slab", onx_plan_slab(plan));
    json_size(j, "bound", onx_plan_bound(plan));
    json_size(j, "packed", onx_plan_packed(plan));
    json_open(j, "steps", '[');
    for (size_t i = 0; i < onx_plan_step_count(plan); i++)
        put_step_json(j, onx_plan_step_at(plan, i));
    json_close(j);
    json_open(j, "values", '[');
    for (size_t i = 0; i < onx_plan_value_count(plan); i++)
        put_value_json(j, onx_plan_value_at(plan, i));
    json_close(j);
}

static int put_json(const runner *r, const onx_plan *plan) {
    json j;
    json_begin(&j, stdout);
    json_open(&j, NULL, '{');
    json_string(&j, "model", r->args->files[0]);
    json_string(&j, "cpu", onx_session_cpu(r->session));
    json_size(&j, "threads", onx_session_threads(r->session));
    put_body_json(&j, plan);
    json_close(&j);
    return CLI_OK;
}

/* ── The command ─────────────────────────────────────────────────────────────────────────────── */

static int plan_of(const runner *r, const feed *in) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_plan *plan;
    if (onx_plan_new(r->session, in->count, in->args, &plan, &diag)) return runner_fail(r, &diag);
    int status = (r->args->values[PLAN_JSON] ? put_json : put_text)(r, plan);
    onx_plan_free(plan);
    return status;
}

static int run(const cli_args *args) {
    runner r;
    feed in = {.count = 0};
    int status = runner_open(args, false, &r);
    if (status == CLI_OK) status = feed_open(&r, FEED_SHAPES, &in);
    if (status == CLI_OK) status = plan_of(&r, &in);
    feed_close(&in);
    runner_close(&r);
    return status;
}

const cli_command cli_plan = {
    "plan",
    "[OPTIONS] MODEL",
    "how a model would be run: its steps and kernels, and where values lie in memory",
    "Shows the plan for inputs of certain shapes: those of files, as for 'onx run', else those of "
    "the\n"
    "model, where dimensions without a size are what --set says, or 1.\n"
    "Values lie in the slab, a single block of memory, as long as they are needed, or share the "
    "place of\n"
    "another; or they are inputs, outputs or constants; or known when shapes are (bind), or only "
    "in "
    "the\n"
    "run.",
    options,
    1,
    1,
    run,
};
