/* profile_write.c: a profile as a table of nodes, and as a trace. */
#include "rt/profile.h"

#include "base/json.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

/* ─ The table ────────────────────────────────────────────────────────────────────────────────── */

/* A node, and what it took itself, in all its calls of one signature. */
typedef struct row {
    const onx_profile_event *event;
    int64_t ns;
    size_t calls;
} row;

static int compare_int(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int by_node(const void *a, const void *b) {
    const onx_profile_event *x = ((const row *)a)->event, *y = ((const row *)b)->event;
    int order = compare_int(x->depth, y->depth);
    if (!order) order = strcmp(x->node, y->node);
    if (!order) order = strcmp(x->op, y->op);
    return order ? order : strcmp(x->shapes, y->shapes);
}

static int by_time(const void *a, const void *b) {
    return compare_int(((const row *)b)->ns, ((const row *)a)->ns);
}

static size_t merge(row *rows, size_t count) {
    size_t n = 0;
    qsort(rows, count, sizeof *rows, by_node);
    for (size_t i = 0; i < count; i++)
        if (n && by_node(&rows[n - 1], &rows[i]) == 0) {
            rows[n - 1].ns += rows[i].ns;
            rows[n - 1].calls++;
        } else
            rows[n++] = rows[i];
    qsort(rows, n, sizeof *rows, by_time);
    return n;
}

static void put_row(onx_out *out, const row *r, int64_t all) {
    char head[160];
    const onx_profile_event *e = r->event;
    int64_t share = all > 0 ? r->ns * 1000 / all : 0;
    (void)snprintf(head, sizeof head, "%7lld.%03lld %4lld.%lld%% %7zu %12zu  ",
                   (long long)(r->ns / 1000000), (long long)(r->ns / 1000 % 1000),
                   (long long)(share / 10), (long long)(share % 10), r->calls, e->bytes);
    onx_out_puts(out, head);
    for (uint32_t i = 0; i < e->depth; i++) onx_out_puts(out, "  ");
    const char *const texts[] = {e->op, "  ", e->node, "  [", e->kernel, "]  ", e->shapes, "\n"};
    for (size_t i = 0; i < ONX_COUNT(texts); i++) onx_out_puts(out, texts[i]);
}

static onx_status write_table(const onx_profile *profile, const onx_writer *writer,
                              onx_diag *diag) {
    size_t n = onx_profile_count(profile), bytes = 0;
    row *rows = onx_mul_size(n, sizeof *rows, &bytes)
                    ? onx_mem_alloc(onx_profile_context(profile), bytes)
                    : NULL;
    int64_t all = 0;
    onx_out out;
    if (!rows) return onx_fail_nomem(diag);
    for (size_t i = 0; i < n; i++) {
        const onx_profile_event *event = onx_profile_event_at(profile, i);
        rows[i] = (row){event, event->own_ns, 1};
        if (event->depth == 0) all += event->ns;
    }
    n = merge(rows, n);
    onx_out_init(&out, writer, diag);
    onx_out_puts(&out, "         ms  share   calls        bytes  operator, node, kernel, shapes\n");
    for (size_t i = 0; i < n; i++) put_row(&out, &rows[i], all);
    onx_mem_free(onx_profile_context(profile), rows, bytes);
    return onx_out_flush(&out);
}

/* ─ The trace ────────────────────────────────────────────────────────────────────────────────── */

/* Names come from files: a byte that is no text becomes '?'. */
static void put_text(onx_json_writer *w, const char *key, const char *text) {
    char plain[512];
    size_t n = 0;
    const char *end = text + strlen(text);
    while (text < end && n + 4 <= sizeof plain) {
        size_t size = onx_utf8_size(text, end);
        if (size)
            memcpy(plain + n, text, size);
        else
            plain[n] = '?';
        text += size ? size : 1;
        n += size ? size : 1;
    }
    onx_json_key(w, onx_str_of(key));
    onx_json_string(w, (onx_str){plain, n});
}

static void put_number(onx_json_writer *w, const char *key, uint64_t value) {
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    onx_json_key(w, onx_str_of(key));
    onx_json_literal(w, onx_str_of(text));
}

/* Microseconds, whatever the locale. */
static void put_time(onx_json_writer *w, const char *key, int64_t ns) {
    char text[48];
    (void)snprintf(text, sizeof text, "%lld.%03lld", (long long)(ns / 1000),
                   (long long)(ns % 1000));
    onx_json_key(w, onx_str_of(key));
    onx_json_literal(w, onx_str_of(text));
}

static void put_event(onx_json_writer *w, const onx_profile_event *e, int64_t start) {
    onx_json_object(w);
    put_text(w, "name", e->node);
    put_text(w, "cat", e->op);
    put_text(w, "ph", "X"); /* begin and duration in one */
    put_time(w, "ts", e->start_ns - start);
    put_time(w, "dur", e->ns);
    put_number(w, "pid", 1);
    put_number(w, "tid", e->thread);
    onx_json_key(w, onx_str_of("args"));
    onx_json_object(w);
    put_text(w, "op", e->op);
    put_text(w, "kernel", e->kernel);
    put_text(w, "shapes", e->shapes);
    put_number(w, "bytes", e->bytes);
    onx_json_object_end(w);
    onx_json_object_end(w);
}

static onx_status write_trace(const onx_profile *profile, const onx_writer *writer,
                              onx_diag *diag) {
    onx_json_writer w;
    int64_t start = INT64_MAX;
    size_t n = onx_profile_count(profile);
    for (size_t i = 0; i < n; i++)
        if (onx_profile_event_at(profile, i)->start_ns < start)
            start = onx_profile_event_at(profile, i)->start_ns;
    onx_json_writer_init(&w, writer, diag);
    onx_json_object(&w);
    put_text(&w, "displayTimeUnit", "ms");
    onx_json_key(&w, onx_str_of("traceEvents"));
    onx_json_array(&w);
    for (size_t i = 0; i < n; i++) put_event(&w, onx_profile_event_at(profile, i), start);
    onx_json_array_end(&w);
    onx_json_object_end(&w);
    return onx_json_writer_finish(&w);
}

onx_status onx_profile_write(const onx_profile *profile, onx_profile_format format,
                             const onx_writer *writer, onx_diag *diag) {
    if (!profile || !writer) return onx_fail(diag, ONX_USAGE, "a profile and a writer are needed");
    return (format == ONX_PROFILE_TRACE ? write_trace : write_table)(profile, writer, diag);
}
