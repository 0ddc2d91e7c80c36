/* cmd_bench.c: onx bench: how long a model takes to load and to run, and how much memory. */
#include "feed.h"
#include "timing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    BENCH_SECONDS = RUNNER_OPTIONS,
    BENCH_OPS,
    BENCH_PROFILE,
    BENCH_JSON,
};
static const cli_option options[] = {
    RUNNER_ROWS,
    {"seconds", 0, "S", "run it over and over for so long (3)"},
    {"ops", 0, NULL, "also where the time goes, by operator and kernel, and how near the peak"},
    {"profile", 0, "FILE", "as --ops, and write a trace of a few runs for Chrome or Perfetto"},
    {"json", 0, NULL, "as a JSON document"},
    {NULL, 0, NULL, NULL},
};

/* ── Memory ──────────────────────────────────────────────────────────────────────────────────── */

/* Peak resident bytes. /proc knows that of this program; the peak of getrusage may be that of the
 * one that started it. */
static double peak_bytes(void) {
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && !kilobytes && fgets(line, sizeof line, file))
        if (!strncmp(line, "VmHWM:", 6)) kilobytes = strtoull(line + 6, NULL, 10);
    if (file) fclose(file);
    struct rusage usage;
    if (!kilobytes && getrusage(RUSAGE_SELF, &usage) == 0)
        kilobytes = (unsigned long long)usage.ru_maxrss;
    return (double)kilobytes * 1024;
}

/* ── Runs ────────────────────────────────────────────────────────────────────────────────────── */

typedef struct bench {
    runner r;
    feed in;
    size_t n_out;
    onx_arg *out;
    void **buffers; /* that outputs are written to after the first run; NULL: they are no tensors */
    double first_ms, *times;
    size_t runs;
} bench;

static int run_once(bench *b, onx_profile *profile, double *ms) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_run_options how = ONX_INIT(onx_run_options);
    how.profile = profile;
    for (size_t i = 0; i < b->n_out; i++)
        if (!b->buffers[i]) onx_arg_clear(&b->out[i]);
    double start = runner_now();
    onx_status status =
        onx_session_run(b->r.session, b->in.count, b->in.args, b->n_out, b->out, &how, &diag);
    *ms = runner_now() - start;
    return status ? runner_fail(&b->r, &diag) : CLI_OK;
}

/* The first run tells how large the outputs are; from then on they are written in place. */
static int run_first(bench *b) {
    b->n_out = onx_session_output_count(b->r.session);
    b->out = calloc(b->n_out + 1, sizeof *b->out);
    b->buffers = calloc(b->n_out + 1, sizeof *b->buffers);
    if (!b->out || !b->buffers) return cli_no_memory(b->r.args->command);
    int status = run_once(b, NULL, &b->first_ms);
    for (size_t i = 0; i < b->n_out && status == CLI_OK; i++) {
        size_t bytes = b->out[i].bytes;
        if (b->out[i].value || b->out[i].dtype == ONX_DTYPE_NONE) continue;
        if (!(b->buffers[i] = malloc(bytes + 1))) return cli_no_memory(b->r.args->command);
        onx_arg_clear(&b->out[i]);
        b->out[i].data = b->buffers[i];
        b->out[i].bytes = bytes;
    }
    return status;
}

static int compare_times(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int run_many(bench *b, double seconds) {
    enum { MOST = 100000 };
    double start = runner_now(), now = start;
    cli_progress progress = {.start = 0};
    int status = CLI_OK;
    if (!(b->times = calloc(MOST, sizeof *b->times))) return cli_no_memory(b->r.args->command);
    do {
        cli_progress_show(&progress, (size_t)((now - start) / 1e3), (size_t)seconds, "seconds");
        status = run_once(b, NULL, &b->times[b->runs++]);
        now = runner_now();
    } while (status == CLI_OK && b->runs < MOST && now < start + 1e3 * seconds);
    cli_progress_hide(&progress);
    qsort(b->times, b->runs, sizeof *b->times, compare_times);
    return status;
}

/* The smallest of the times that at least this part of them does not exceed. */
static double quantile(const bench *b, double part) {
    size_t rank = (size_t)(part * (double)b->runs);
    if ((double)rank < part * (double)b->runs) rank++;
    return b->times[rank ? rank - 1 : 0];
}

/* ── Report ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct figure {
    const char *key, *text;
    int digits; /* behind the point */
    double value;
} figure;

enum { FIGURES = 7 };
static void list_figures(const bench *b, double rss, figure out[FIGURES]) {
    const figure figures[FIGURES] = {
        {"load_ms", "to load the model and prepare it", 3, b->r.load_ms},
        {"first_ms", "first run", 3, b->first_ms},
        {"min_ms", "fastest run", 3, quantile(b, 0)},
        {"median_ms", "median", 3, quantile(b, 0.5)},
        {"p99_ms", "99% of runs are not slower", 3, quantile(b, 0.99)},
        {"runs", "runs", 0, (double)b->runs},
        {"peak_rss_mb", "MB of memory at the peak, beyond those of the bare program", 1, rss},
    };
    memcpy(out, figures, sizeof figures);
}

static void put_text(const bench *b, const figure *figures, const timing *t) {
    const onx_session *s = b->r.session;
    cli_puts(stdout, b->r.args->files[0]);
    printf(": %s, %zu thread%s\n", onx_session_cpu(s), onx_session_threads(s),
           cli_plural(onx_session_threads(s)));
    for (size_t i = 0; i < FIGURES; i++)
        printf("  %-11s %12.*f  %s\n", figures[i].key, figures[i].digits, figures[i].value,
               figures[i].text);
    if (t) timing_print(t, stdout);
}

static void put_json(const bench *b, const figure *figures, const timing *t) {
    json j;
    json_begin(&j, stdout);
    json_open(&j, NULL, '{');
    json_string(&j, "model", b->r.args->files[0]);
    json_string(&j, "cpu", onx_session_cpu(b->r.session));
    json_size(&j, "threads", onx_session_threads(b->r.session));
    for (size_t i = 0; i < FIGURES; i++) json_real(&j, figures[i].key, figures[i].value);
    if (t) {
        json_real(&j, "flops", t->flops / (double)t->runs);
        json_real(&j, "peak_flops", t->peak_flops);
        json_real(&j, "peak_bytes", t->peak_bytes);
        timing_json(t, &j, "ops");
    }
    json_close(&j);
}

static void put(const bench *b, double rss, const timing *t) {
    figure figures[FIGURES];
    list_figures(b, rss, figures);
    (b->r.args->values[BENCH_JSON] ? put_json : put_text)(b, figures, t);
}

/* A few runs with a profile, after those that count. */
static int put_with_ops(bench *b, double rss) {
    enum { RUNS = 5 };
    onx_profile *profile;
    timing t;
    double ms;
    int status = CLI_OK;
    if (onx_profile_new(NULL, &profile)) return cli_no_memory(b->r.args->command);
    for (size_t i = 0; i < RUNS && status == CLI_OK; i++) status = run_once(b, profile, &ms);
    if (status == CLI_OK && !timing_open(profile, RUNS, &t)) {
        status = cli_no_memory(b->r.args->command);
    } else if (status == CLI_OK) {
        if (onx_session_peak(b->r.session, &t.peak_flops, &t.peak_bytes, NULL))
            status = cli_no_memory(b->r.args->command);
        if (status == CLI_OK) put(b, rss, &t);
        timing_close(&t);
    }
    const char *path = b->r.args->values[BENCH_PROFILE];
    if (status == CLI_OK && path) status = timing_save(b->r.args->command, profile, path);
    onx_profile_free(profile);
    return status;
}

static void bench_close(bench *b) {
    for (size_t i = 0; b->buffers && i < b->n_out; i++) {
        if (!b->buffers[i]) onx_arg_clear(&b->out[i]);
        free(b->buffers[i]);
    }
    free(b->out);
    free(b->buffers);
    free(b->times);
    feed_close(&b->in);
    runner_close(&b->r);
}

static int run(const cli_args *args) {
    bench b = {.n_out = 0};
    double seconds = 3, before = peak_bytes();
    if (!cli_get_real(args, BENCH_SECONDS, &seconds)) return CLI_USAGE;
    int status = runner_open(args, false, &b.r);
    if (status == CLI_OK) status = feed_open(&b.r, FEED_RANDOM, &b.in);
    if (status == CLI_OK) status = run_first(&b);
    if (status == CLI_OK) status = run_many(&b, seconds);
    double rss = (peak_bytes() - before) / 1e6;
    if (status == CLI_OK && (args->values[BENCH_OPS] || args->values[BENCH_PROFILE]))
        status = put_with_ops(&b, rss);
    else if (status == CLI_OK)
        put(&b, rss, NULL);
    bench_close(&b);
    return status;
}

const cli_command cli_bench = {
    "bench",
    "[OPTIONS] MODEL",
    "a model, measured: time to load it, time of a run, memory",
    "Loads a model, runs it over and over with the same inputs, and tells how long that took. "
    "Inputs come\n"
    "from files, as for 'onx run'; those that are not given are random.\n\n"
    "With --ops, the peak is that of this machine, measured: of float arithmetic for operators "
    "that "
    "multiply\nand add, else of copying memory. More than 100% means less arithmetic than the "
    "operator's definition\nhas (Winograd, matrix tiles), or data that were still in the caches.",
    options,
    1,
    1,
    run,
};
