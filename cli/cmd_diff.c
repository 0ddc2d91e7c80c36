/* cmd_diff.c: onx diff: a model run in two ways, and the first node where they part.
 *
 * First with every value pinned, so that each node is computed as it was written, and compared node
 * by node. If that shows nothing, the outputs are compared as the two ways compute them when nobody
 * looks inside; if they differ, it is a rewrite that makes the difference, and bisection over the
 * values in their order finds where: one value more is looked at in each run. Then each pass is
 * left out in turn: those without which the outputs are equal have to do with it. */
#include "diff.h"

#include <stdlib.h>
#include <string.h>

enum { DIFF_RTOL = RUNNER_OPTIONS, DIFF_ATOL };
static const cli_option options[] = {
    RUNNER_ROWS,
    {"rtol", 0, "R", "relative to a value's largest magnitude (1e-4; of 16 bits and less 1e-2)"},
    {"atol", 0, "A", "absolute tolerance (0)"},
    {NULL, 0, NULL, NULL},
};

typedef struct diff {
    runner r;
    feed in;
    diff_way ways[2];
    diff_tolerance tolerance;
    size_t n; /* values that nodes compute, in their order */
    const char **names;
    const onx_node **nodes;
    size_t n_out;
    const char **outputs;
    cli_progress progress;
} diff;

/* What was found: the value, and how far apart it is. */
typedef struct finding {
    const char *name; /* NULL: none */
    size_t index;     /* in `names` */
    diff_distance distance;
    size_t compared, different;
    const char *worst; /* of those that do not differ: the one with the largest error */
    double worst_error;
} finding;

/* ── Lists ───────────────────────────────────────────────────────────────────────────────────── */

static size_t list_values(const onx_graph *graph, const char **names, const onx_node **nodes) {
    cli_computed each = {.graph = graph};
    const onx_value *value;
    size_t n = 0;
    for (; (value = cli_computed_next(&each)); n++)
        if (names) names[n] = onx_value_name(value), nodes[n] = each.node;
    return n;
}

static bool list_all(diff *d) {
    const onx_graph *graph = onx_model_graph(d->r.model);
    d->n = list_values(graph, NULL, NULL);
    d->n_out = onx_graph_output_count(graph);
    d->names = calloc(d->n + 1, sizeof *d->names);
    d->nodes = calloc(d->n + 1, sizeof *d->nodes);
    d->outputs = calloc(d->n_out + 1, sizeof *d->outputs);
    if (!d->names || !d->nodes || !d->outputs) return false;
    list_values(graph, d->names, d->nodes);
    for (size_t i = 0; i < d->n_out; i++)
        d->outputs[i] = onx_value_name(onx_graph_output(graph, i));
    return true;
}

/* ── Comparing ───────────────────────────────────────────────────────────────────────────────── */

static void note(finding *f, const diff_distance *distance, const char *name, size_t index) {
    double error = distance->scale > 0 ? distance->error / distance->scale : distance->error;
    f->compared++;
    if (distance->different) {
        if (!f->different++) f->name = name, f->index = index, f->distance = *distance;
    } else if (error > f->worst_error) {
        f->worst = name, f->worst_error = error;
    }
}

static int compare_all(diff *d, size_t n, const char *const *names, onx_data **const data[2],
                       finding *out) {
    diff_distance distance;
    for (size_t i = 0; i < n; i++) {
        if (!data[0][i] || !data[1][i]) continue;
        if (!diff_measure(&d->tolerance, data[0][i], data[1][i], &distance))
            return cli_no_memory(d->r.args->command);
        note(out, &distance, names[i], i);
    }
    return CLI_OK;
}

/* Both ways, and the values of these names compared. */
static int compare_names(diff *d, bool pin_all, size_t n, const char *const *names, finding *out) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_data **data[2] = {calloc(n + 1, sizeof **data), calloc(n + 1, sizeof **data)};
    int status = data[0] && data[1] ? CLI_OK : cli_no_memory(d->r.args->command);
    *out = (finding){.name = NULL};
    for (size_t w = 0; w < 2 && status == CLI_OK; w++) {
        cli_progress_show(&d->progress, w + 1, 2, d->ways[w].text);
        if (diff_way_values(&d->ways[w], d->r.model, &d->in, pin_all, n, names, data[w], &diag)) {
            cli_note(d->r.args->command, "run with %s:", d->ways[w].text);
            status = runner_fail(&d->r, &diag);
        }
    }
    if (status == CLI_OK) status = compare_all(d, n, names, data, out);
    for (size_t w = 0; w < 2; w++) {
        for (size_t i = 0; data[w] && i < n; i++) onx_data_free(data[w][i]);
        free(data[w]);
    }
    return status;
}

/* The first value that differs when it alone is looked at, beside the outputs: all before `low` are
 * equal, and `high` differs, or all of them are equal. */
static int bisect(diff *d, finding *out) {
    size_t low = 0, high = d->n;
    int status = CLI_OK;
    while (low < high && status == CLI_OK) {
        size_t middle = low + (high - low) / 2;
        finding one;
        status = compare_names(d, false, 1, &d->names[middle], &one);
        if (status == CLI_OK && one.name) {
            *out = one;
            out->index = high = middle;
        } else {
            low = middle + 1;
        }
    }
    return status;
}

/* ── Reporting ───────────────────────────────────────────────────────────────────────────────── */

static void put_distance(const diff_distance *distance) {
    if (distance->scale > 0)
        printf("  largest error %.6g, %.3g of the largest magnitude\n", distance->error,
               distance->error / distance->scale);
    fputs("  ", stdout);
    cli_puts(stdout, distance->first.s);
    putchar('\n');
}

static void put_node(const onx_node *node) {
    const char *name = onx_node_name(node);
    cli_puts(stdout, onx_node_op(node));
    if (!*name) return;
    fputs(" '", stdout);
    cli_puts(stdout, name);
    putchar('\'');
}

static void put_equal(const finding *f, const char *what) {
    printf("equal: %s %s%s compared", cli_count(f->compared).s, what, cli_plural(f->compared));
    if (f->worst) {
        printf("; the largest error, %.3g of the largest magnitude, is in ", f->worst_error);
        cli_puts(stdout, f->worst);
    }
    putchar('\n');
}

/* Every value pinned: true when the difference was found, or the comparison failed. */
static bool put_pinned(diff *d, int *status) {
    finding f;
    *status = compare_names(d, true, d->n, d->names, &f);
    cli_progress_hide(&d->progress);
    if (*status != CLI_OK) return true;
    if (!f.name) {
        put_equal(&f, "value");
        return false;
    }
    printf("different: %s of %s values; the first is ", cli_count(f.different).s,
           cli_count(f.compared).s);
    cli_puts(stdout, f.name);
    fputs(", of node ", stdout);
    put_node(d->nodes[f.index]);
    putchar('\n');
    put_distance(&f.distance);
    *status = CLI_BAD;
    return true;
}

/* Both ways without the pass: are the outputs equal then? */
static int try_without(diff *d, const char *pass, bool *equal) {
    const diff_way was[2] = {d->ways[0], d->ways[1]};
    char lists[2][sizeof was[0].disable + 64];
    finding outputs;
    for (size_t w = 0; w < 2; w++) {
        const char *list = was[w].session.disable;
        snprintf(lists[w], sizeof lists[w], "%s,%s", list ? list : "", pass);
        d->ways[w].session.disable = lists[w];
    }
    int status = compare_names(d, false, d->n_out, d->outputs, &outputs);
    *equal = status == CLI_OK && !outputs.name;
    memcpy(d->ways, was, sizeof was);
    return status;
}

static int put_passes(diff *d) {
    onx_pass_info pass;
    int status = CLI_OK;
    for (size_t i = 0; onx_pass_at(i, &pass) && status == CLI_OK; i++) {
        bool equal;
        status = try_without(d, pass.name, &equal);
        cli_progress_hide(&d->progress);
        if (equal) printf("without the pass %s the outputs are equal\n", pass.name);
    }
    return status;
}

static int put_rewritten(diff *d) {
    finding outputs, first = {.name = NULL};
    int status = compare_names(d, false, d->n_out, d->outputs, &outputs);
    cli_progress_hide(&d->progress);
    if (status != CLI_OK) return status;
    if (!outputs.name) {
        put_equal(&outputs, "output");
        return CLI_OK;
    }
    fputs("different: output ", stdout);
    cli_puts(stdout, outputs.name);
    puts(", though not when every value is looked at: a rewrite makes the difference");
    put_distance(&outputs.distance);
    status = bisect(d, &first);
    cli_progress_hide(&d->progress);
    if (status == CLI_OK && first.name) {
        fputs("the first value that differs when it is looked at is ", stdout);
        cli_puts(stdout, first.name);
        fputs(", of node ", stdout);
        put_node(d->nodes[first.index]);
        putchar('\n');
        put_distance(&first.distance);
    }
    if (status == CLI_OK) status = put_passes(d);
    return status == CLI_OK ? CLI_BAD : status;
}

static int compare_ways(diff *d) {
    int status;
    if (!list_all(d)) return cli_no_memory(d->r.args->command);
    return put_pinned(d, &status) ? status : put_rewritten(d);
}

static int read_ways(diff *d) {
    const cli_args *args = d->r.args;
    onx_session_options base;
    d->tolerance.rtol = -1;
    if (!runner_session_options(args, RUNNER_THREADS, &d->r.passes, &base) ||
        !cli_get_real(args, DIFF_RTOL, &d->tolerance.rtol) ||
        !cli_get_real(args, DIFF_ATOL, &d->tolerance.atol))
        return CLI_USAGE;
    base.n_sizes = d->r.sizes.n;
    base.sizes = d->r.sizes.sizes;
    int status = diff_way_read(args->command, args->files[1], &base, &d->ways[0]);
    if (status == CLI_OK) status = diff_way_read(args->command, args->files[2], &base, &d->ways[1]);
    return status;
}

static int run(const cli_args *args) {
    diff d = {.n = 0};
    int status = runner_open(args, false, &d.r);
    if (status == CLI_OK) status = read_ways(&d);
    if (status == CLI_OK) status = feed_open(&d.r, FEED_RANDOM, &d.in);
    if (status == CLI_OK) status = compare_ways(&d);
    free(d.names);
    free(d.nodes);
    free(d.outputs);
    feed_close(&d.in);
    runner_close(&d.r);
    return status;
}

const cli_command cli_diff = {
    "diff",
    "[OPTIONS] MODEL A B",
    "a model run in two ways: the first node where they differ, and by how much",
    "Runs a model in two ways, A and B, with the same inputs, and compares what the nodes compute, "
    "one by\n"
    "one. Each of A and B is a list of settings, or a folder of recorded values:\n"
    "  level=0              optimization, 0 to 3\n"
    "  disable=fold+cse     without these passes, 'onx optimize --list'; or enable=\n"
    "  cpu=base             at most this instruction set\n"
    "  threads=1            as many threads\n"
    "  provider=cpu         run there\n"
    "  dynamic              bind every step in the run, as if no shape were known before\n"
    "  level=0,cpu=avx2     several settings\n"
    "  DIR                  NAME.pb, as 'onx run --all-values -o DIR' writes them, and "
    "output_0.pb …\n"
    "Inputs that are not given are random. When no node differs, but outputs do as soon as nobody "
    "looks at\n"
    "what is between, it is a rewrite of the optimizer that makes the difference: then the first "
    "value\n"
    "that shows it is searched for, and passes without which outputs are equal are named.\n"
    "Numbers are compared with a tolerance, all else must be equal.\n"
    "Exit status: 0 equal, 1 different.",
    options,
    3,
    3,
    run,
};
