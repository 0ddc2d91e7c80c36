/* timing.c: see timing.h. */
#include "timing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_kernel(const void *a, const void *b) {
    const onx_profile_event *x = *(const onx_profile_event *const *)a;
    const onx_profile_event *y = *(const onx_profile_event *const *)b;
    int order = strcmp(x->op, y->op);
    return order ? order : strcmp(x->kernel, y->kernel);
}

static int by_time(const void *a, const void *b) {
    double x = ((const timing_row *)a)->ms, y = ((const timing_row *)b)->ms;
    return (x < y) - (x > y);
}

static size_t group(const onx_profile_event **events, size_t count, timing_row *rows) {
    size_t n = 0;
    qsort(events, count, sizeof *events, by_kernel);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || by_kernel(&events[i - 1], &events[i]) != 0)
            rows[n++] = (timing_row){.op = events[i]->op, .kernel = events[i]->kernel};
        rows[n - 1].calls++;
        rows[n - 1].ms += (double)events[i]->own_ns / 1e6;
        rows[n - 1].flops += events[i]->flops;
        rows[n - 1].bytes += (double)events[i]->bytes;
    }
    qsort(rows, n, sizeof *rows, by_time);
    return n;
}

bool timing_open(const onx_profile *profile, size_t runs, timing *out) {
    size_t count = onx_profile_count(profile);
    const onx_profile_event **events = calloc(count + 1, sizeof *events);
    *out = (timing){.runs = runs, .rows = calloc(count + 1, sizeof *out->rows)};
    bool ok = events && out->rows;
    for (size_t i = 0; ok && i < count; i++) events[i] = onx_profile_event_at(profile, i);
    if (ok) out->count = group(events, count, out->rows);
    for (size_t i = 0; i < out->count; i++) {
        out->ms += out->rows[i].ms;
        out->flops += out->rows[i].flops;
    }
    free(events);
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

/* Of the machine's peak: of its arithmetic, or of its memory where there is none. */
static double of_peak(const timing *t, const timing_row *r) {
    double most = r->flops > 0 ? t->peak_flops : t->peak_bytes;
    double done = r->flops > 0 ? r->flops : r->bytes;
    return r->ms > 0 && most > 0 ? done / (r->ms / 1e3) / most : 0;
}

static void print_peak(const timing *t, const timing_row *r, FILE *out) {
    double per_ns = r->ms > 0 ? (r->flops > 0 ? r->flops : r->bytes) / (r->ms * 1e6) : 0;
    fprintf(out, " %8.1f %-7s %5.0f%%", per_ns, r->flops > 0 ? "GFLOP/s" : "GB/s",
            100 * of_peak(t, r));
}

void timing_print(const timing *t, FILE *out) {
    bool peak = t->peak_flops > 0;
    double runs = (double)t->runs;
    size_t calls = 0, width = 16;
    for (size_t i = 0; i < t->count; i++)
        if (strlen(t->rows[i].op) > width) width = strlen(t->rows[i].op);
    fprintf(out, "%10s %7s %7s%s  %-*s  kernel\n", "ms", "share", "calls",
            peak ? "     rate            peak" : "", (int)width, "operator");
    for (size_t i = 0; i < t->count; i++) {
        const timing_row *r = &t->rows[i];
        calls += r->calls;
        fprintf(out, "%10.3f %6.1f%% %7zu", r->ms / runs, share(t, r->ms), r->calls / t->runs);
        if (peak) print_peak(t, r, out);
        fprintf(out, "  %-*s  %s\n", (int)width, r->op, r->kernel);
    }
    fprintf(out, "%10.3f %6.1f%% %7zu  all\n", t->ms / runs, share(t, t->ms), calls / t->runs);
    if (!peak) return;
    timing_row all = {.ms = t->ms, .flops = t->flops};
    fprintf(out,
            "%.3g GFLOP a run, %.0f%% of the %.1f GFLOP/s that these threads can do; memory is "
            "copied at %.1f GB/s\n",
            t->flops / runs / 1e9, 100 * of_peak(t, &all), t->peak_flops / 1e9,
            t->peak_bytes / 1e9);
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
        json_real(j, "flops", r->flops / (double)t->runs);
        json_real(j, "bytes", r->bytes / (double)t->runs);
        json_real(j, "of_peak", of_peak(t, r));
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
