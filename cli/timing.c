/* timing.c: see timing.h. */
#include "timing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An event, and what it took itself. */
typedef struct span {
    const onx_profile_event *event;
    int64_t ns;
} span;

static int compare_int(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

/* In the order in which they began, what is around first. */
static int by_start(const void *a, const void *b) {
    const onx_profile_event *x = ((const span *)a)->event, *y = ((const span *)b)->event;
    int order = compare_int(x->thread, y->thread);
    if (!order) order = compare_int(x->start_ns, y->start_ns);
    return order ? order : compare_int(x->depth, y->depth);
}

static int by_kernel(const void *a, const void *b) {
    const onx_profile_event *x = ((const span *)a)->event, *y = ((const span *)b)->event;
    int order = strcmp(x->op, y->op);
    return order ? order : strcmp(x->kernel, y->kernel);
}

static int by_time(const void *a, const void *b) {
    double x = ((const timing_row *)a)->ms, y = ((const timing_row *)b)->ms;
    return (x < y) - (x > y);
}

/* Take the time of each span from the one around it. */
static bool subtract(span *spans, size_t count) {
    size_t depth = 0;
    for (size_t i = 0; i < count; i++)
        if (spans[i].event->depth > depth) depth = spans[i].event->depth;
    span **open = calloc(depth + 1, sizeof *open); /* the last one of each depth */
    if (!open) return false;
    qsort(spans, count, sizeof *spans, by_start);
    for (size_t i = 0; i < count; i++) {
        const onx_profile_event *event = spans[i].event;
        span *outer = event->depth ? open[event->depth - 1] : NULL;
        open[event->depth] = &spans[i];
        if (outer && outer->event->thread == event->thread) outer->ns -= event->ns;
    }
    free(open);
    return true;
}

static size_t group(span *spans, size_t count, timing_row *rows) {
    size_t n = 0;
    qsort(spans, count, sizeof *spans, by_kernel);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || by_kernel(&spans[i - 1], &spans[i]) != 0)
            rows[n++] = (timing_row){spans[i].event->op, spans[i].event->kernel, 0, 0};
        rows[n - 1].calls++;
        rows[n - 1].ms += (double)spans[i].ns / 1e6;
    }
    qsort(rows, n, sizeof *rows, by_time);
    return n;
}

bool timing_open(const onx_profile *profile, size_t runs, timing *out) {
    size_t count = onx_profile_count(profile);
    span *spans = calloc(count + 1, sizeof *spans);
    *out = (timing){.runs = runs, .rows = calloc(count + 1, sizeof *out->rows)};
    for (size_t i = 0; spans && i < count; i++) {
        spans[i].event = onx_profile_event_at(profile, i);
        spans[i].ns = spans[i].event->ns;
    }
    bool ok = spans && out->rows && subtract(spans, count);
    if (ok) out->count = group(spans, count, out->rows);
    for (size_t i = 0; i < out->count; i++) out->ms += out->rows[i].ms;
    free(spans);
    if (!ok) timing_close(out);
    return ok;
}

void timing_close(timing *t) {
    free(t->rows);
    *t = (timing){.rows = NULL};
}

static double share(const timing *t, double ms) {
    return t->ms > 0 ? 100 * ms / t->ms : 0;
}

void timing_print(const timing *t, FILE *out) {
    double runs = (double)t->runs;
    size_t calls = 0, width = 16;
    for (size_t i = 0; i < t->count; i++)
        if (strlen(t->rows[i].op) > width) width = strlen(t->rows[i].op);
    fprintf(out, "%10s %7s %7s  %-*s  kernel\n", "ms", "share", "calls", (int)width, "operator");
    for (size_t i = 0; i < t->count; i++) {
        const timing_row *r = &t->rows[i];
        calls += r->calls;
        fprintf(out, "%10.3f %6.1f%% %7zu  %-*s  %s\n", r->ms / runs, share(t, r->ms),
                r->calls / t->runs, (int)width, r->op, r->kernel);
    }
    fprintf(out, "%10.3f %6.1f%% %7zu  all\n", t->ms / runs, share(t, t->ms), calls / t->runs);
}

void timing_json(const timing *t, json *j, const char *key) {
    json_open(j, key, '[');
    for (size_t i = 0; i < t->count; i++) {
        const timing_row *r = &t->rows[i];
        json_open(j, NULL, '{');
        json_string(j, "op", r->op);
        json_string(j, "kernel", r->kernel);
        json_size(j, "calls", r->calls / t->runs);
        json_real(j, "ms", r->ms / (double)t->runs);
        json_real(j, "share", share(t, r->ms) / 100);
        json_close(j);
    }
    json_close(j);
}

static int write_file(void *user, const void *data, size_t size) {
    return fwrite(data, 1, size, user) == size ? 0 : -1;
}

int timing_save(const cli_command *command, const onx_profile *profile, const char *path) {
    FILE *out = cli_is_stdio(path) ? stdout : fopen(path, "w");
    bool ok = out != NULL;
    if (ok) {
        onx_writer writer = {out, write_file};
        ok = !onx_profile_write(profile, ONX_PROFILE_TRACE, &writer, NULL);
        if (out != stdout) ok = fclose(out) == 0 && ok;
    }
    if (!ok) cli_note(command, "%s: cannot be written: %s", path, strerror(errno));
    return ok ? CLI_OK : CLI_BAD;
}
