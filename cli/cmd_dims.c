/* cmd_dims.c: onx dims: the sizes of a model: which there are, fixed and freed. */
#include "edit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DIMS_SET = EDIT_OWN, DIMS_FIX, DIMS_FREE };
static const cli_option options[] = {
    EDIT_OPTIONS,
    {"set", 0, "NAME=SIZE", "fix the dimension NAME, wherever it stands"},
    {"fix", 0, "INPUT:AXIS=SIZE", "fix a dimension of an input"},
    {"free", 0, "INPUT:AXIS=NAME", "free a dimension of an input: it is NAME from now on, or ?"},
    {NULL, 0, NULL, NULL},
};

/* ── Listing ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct symbol {
    const char *name, *place; /* where it stands first */
    size_t axis, order, count;
} symbol;

typedef struct symbols {
    symbol *v;
    size_t n, cap;
    bool failed;
} symbols;

static void add_symbol(symbols *s, const char *name, const onx_value *value, size_t axis) {
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        symbol *v = realloc(s->v, cap * sizeof *v);
        if (!v) {
            s->failed = true;
            return;
        }
        s->v = v;
        s->cap = cap;
    }
    s->v[s->n] = (symbol){name, onx_value_name(value), axis, s->n, 1};
    s->n++;
}

static int by_order(const void *a, const void *b) {
    const symbol *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

static int by_name(const void *a, const void *b) {
    int order = strcmp(((const symbol *)a)->name, ((const symbol *)b)->name);
    return order ? order : by_order(a, b);
}

/* Each name once, in the order in which they came. */
static void gather(symbols *s) {
    size_t n = 0;
    if (s->n) qsort(s->v, s->n, sizeof *s->v, by_name);
    for (size_t i = 0; i < s->n; i++) {
        if (n && !strcmp(s->v[n - 1].name, s->v[i].name))
            s->v[n - 1].count++;
        else
            s->v[n++] = s->v[i];
    }
    s->n = n;
    if (n) qsort(s->v, n, sizeof *s->v, by_order);
}

static void add_symbols(symbols *s, const onx_value *value) {
    const onx_type *type = onx_value_type(value);
    for (; type; type = onx_type_elem(type))
        for (size_t i = 0; i < onx_type_rank(type); i++)
            if (*onx_type_dim_param(type, i)) add_symbol(s, onx_type_dim_param(type, i), value, i);
}

static void put_value(const char *what, const onx_value *value) {
    char *type = cli_type(onx_value_type(value));
    printf("%-8s", what);
    cli_puts(stdout, onx_value_name(value));
    fputs(type && *type ? ": " : "", stdout);
    if (type) cli_puts(stdout, type);
    putchar('\n');
    free(type);
}

static void put_symbols(const symbols *s) {
    for (size_t i = 0; i < s->n; i++) {
        fputs(i ? "        " : "dims    ", stdout);
        cli_puts(stdout, s->v[i].name);
        fputs(": ", stdout);
        cli_puts(stdout, s->v[i].place);
        printf(":%zu", s->v[i].axis);
        if (s->v[i].count > 1) printf(" and %s more", cli_count(s->v[i].count - 1).s);
        putchar('\n');
    }
}

static int list(const cli_args *args, const onx_model *model) {
    const onx_graph *graph = onx_model_graph(model);
    symbols s = {0};
    if (!graph) return CLI_OK;
    for (size_t i = 0; i < onx_graph_input_count(graph); i++) {
        const onx_value *value = onx_graph_input(graph, i);
        if (onx_value_initializer(value)) continue;
        put_value("input", value);
        add_symbols(&s, value);
    }
    for (size_t i = 0; i < onx_graph_output_count(graph); i++) {
        put_value("output", onx_graph_output(graph, i));
        add_symbols(&s, onx_graph_output(graph, i));
    }
    for (const onx_value *v = onx_graph_value_first(graph); v; v = onx_value_next(v))
        if (!onx_value_is_input(v) && !onx_value_is_output(v)) add_symbols(&s, v);
    gather(&s);
    put_symbols(&s);
    free(s.v);
    return s.failed ? cli_no_memory(args->command) : CLI_OK;
}

/* ── Changing ────────────────────────────────────────────────────────────────────────────────── */

typedef struct resizing {
    const cli_args *args;
    onx_size *sizes;
    onx_dim_change *changes;
    size_t n_sizes, n_changes;
    edit_list lists[3]; /* of the options from --set on */
} resizing;

static bool read_size(const resizing *r, const char *text, int64_t *out) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    *out = value;
    if (*text && !*end && !errno && value >= 0) return true;
    cli_usage(r->args->command, "'%s' is no size", text);
    return false;
}

static bool read_set(resizing *r, char *text) {
    char *size = edit_split(text, '=');
    onx_size *out = &r->sizes[r->n_sizes++];
    if (!size) cli_usage(r->args->command, "--set takes NAME=SIZE, not '%s'", text);
    out->name = text;
    return size && read_size(r, size, &out->value);
}

/* "x:0=batch"; an axis may be left out where it is the first. */
static bool read_change(resizing *r, char *text, bool fix) {
    char *to = edit_split(text, '='), *axis = to ? edit_split(text, ':') : NULL;
    onx_dim_change *out = &r->changes[r->n_changes++];
    int64_t number = 0;
    if (!to || !axis || !*to) {
        cli_usage(r->args->command, "--%s takes INPUT:AXIS=%s", fix ? "fix" : "free",
                  fix ? "SIZE" : "NAME");
        return false;
    }
    out->input = text;
    if (!read_size(r, axis, &number)) return false;
    out->axis = (size_t)number;
    if (fix) return read_size(r, to, &out->size);
    out->name = to;
    return true;
}

static int read_all(resizing *r) {
    size_t n = 0;
    for (size_t i = 0; i < CLI_COUNT(r->lists); i++) {
        if (!edit_list_get(r->args, DIMS_SET + i, &r->lists[i])) return CLI_BAD;
        n += r->lists[i].n;
    }
    r->sizes = calloc(n + 1, sizeof *r->sizes);
    r->changes = calloc(n + 1, sizeof *r->changes);
    if (!r->sizes || !r->changes) return cli_no_memory(r->args->command);
    for (size_t i = 0; i < CLI_COUNT(r->lists); i++)
        for (size_t k = 0; k < r->lists[i].n; k++) {
            char *text = (char *)(uintptr_t)r->lists[i].v[k];
            if (i == 0 ? !read_set(r, text) : !read_change(r, text, i == 1)) return CLI_USAGE;
        }
    return CLI_OK;
}

static void warn(void *user, const onx_diag *diag) {
    cli_warn(user, "warning: ", diag);
}

static int change(resizing *r, onx_model *model) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_dims_options how = ONX_INIT(onx_dims_options);
    how.n_sizes = r->n_sizes;
    how.sizes = r->sizes;
    how.n_changes = r->n_changes;
    how.changes = r->changes;
    how.report = warn;
    how.user = (void *)(uintptr_t)r->args->command;
    if (onx_model_set_dims(model, &how, &diag)) return cli_fail(r->args->command, &diag);
    return edit_save(r->args, model);
}

static int run(const cli_args *args) {
    resizing r = {.args = args};
    onx_model *model = NULL;
    int status = read_all(&r);
    bool listing = status == CLI_OK && !r.n_sizes && !r.n_changes;
    if (status == CLI_OK && !listing) status = edit_check(args);
    if (status == CLI_OK) status = edit_load(args, args->files[0], &model);
    if (status == CLI_OK) status = listing ? list(args, model) : change(&r, model);
    onx_model_free(model);
    free(r.sizes);
    free(r.changes);
    for (size_t i = 0; i < CLI_COUNT(r.lists); i++) edit_list_free(&r.lists[i]);
    return status;
}

const cli_command cli_dims_cmd = {
    "dims",
    "[--set NAME=SIZE] [--fix INPUT:AXIS=SIZE] [--free INPUT:AXIS=NAME] MODEL [-o OUT]",
    "the dimensions of a model: listed, fixed, freed",
    "Without these options it lists inputs, outputs and symbolic dimensions, and where each "
    "stands.\n"
    "--set also works out expressions. What is declared of values that depend on an input that "
    "was\n"
    "changed is inferred anew, or left open. A Reshape whose constant holds an old size is warned\n"
    "about; sizes that cannot be are refused.",
    options,
    1,
    1,
    run,
};
