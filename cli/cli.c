/* cli.c: messages, files, and text for people; see cli.h. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ── Messages ────────────────────────────────────────────────────────────────────────────────── */

/* "onx info: ", and, on a terminal, in colour. */
static void put_prefix(const cli_command *command) {
    bool colour = cli_wants_colour(stderr);
    fflush(stdout);
    fprintf(stderr, "%sonx %s:%s ", colour ? "\033[1;31m" : "", command->name,
            colour ? "\033[0m" : "");
}

int cli_usage(const cli_command *command, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put_prefix(command);
    cli_puts(stderr, text);
    fprintf(stderr, "; see 'onx help %s'\n", command->name);
    return CLI_USAGE;
}

void cli_warn(const cli_command *command, const char *what, const onx_diag *diag) {
    char text[2048];
    onx_diag_format(diag, text, sizeof text);
    put_prefix(command);
    fprintf(stderr, "%s%s\n", what, text);
}

void cli_note(const cli_command *command, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fflush(stdout);
    fprintf(stderr, "onx %s: ", command->name);
    cli_puts(stderr, text);
    fputc('\n', stderr);
}

int cli_fail(const cli_command *command, const onx_diag *diag) {
    cli_warn(command, "", diag);
    return diag->status == ONX_USAGE ? CLI_USAGE : CLI_BAD;
}

int cli_no_memory(const cli_command *command) {
    put_prefix(command);
    fprintf(stderr, "%s\n", onx_status_text(ONX_NO_MEMORY));
    return CLI_BAD;
}

/* ── Files ───────────────────────────────────────────────────────────────────────────────────── */

bool cli_is_stdio(const char *path) {
    return !strcmp(path, "-");
}

static ptrdiff_t read_file(void *user, void *data, size_t size) {
    size_t n = fread(data, 1, size, user);
    return n == 0 && ferror((FILE *)user) ? -1 : (ptrdiff_t)n;
}

static int write_file(void *user, const void *data, size_t size) {
    return fwrite(data, 1, size, user) == size ? 0 : -1;
}

onx_reader cli_stdin(void) {
    return (onx_reader){stdin, read_file};
}

onx_writer cli_stdout(void) {
    return (onx_writer){stdout, write_file};
}

int cli_finish(void) {
    struct stat info;
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed = fflush(stdout) != 0 || failed;
    int error = errno;
    bool pipe =
        fstat(fileno(stdout), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISCHR(info.st_mode);
    if (failed && !pipe) /* who closes a pipe knows */
        fprintf(stderr, "onx: cannot write to standard output%s%s\n", error ? ": " : "",
                error ? strerror(error) : "");
    return failed ? CLI_BAD : CLI_OK;
}

static onx_status load(const char *path, const onx_load_options *options, onx_model **out,
                       onx_diag *diag) {
    if (!cli_is_stdio(path)) return onx_model_load(cli_context(), path, options, out, diag);
    onx_reader reader = cli_stdin();
    onx_status status = onx_model_load_stream(cli_context(), &reader, options, out, diag);
    if (status && !diag->file[0]) snprintf(diag->file, sizeof diag->file, "standard input");
    return status;
}

int cli_load(const cli_command *command, const char *path, onx_format format, onx_diag *lenient,
             onx_model **out) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = format;
    options.no_external = cli_is_stdio(path) && lenient;
    onx_status status = load(path, &options, out, &diag);
    if (status && lenient && !options.no_external) {
        onx_diag without = ONX_INIT(onx_diag);
        options.no_external = true;
        status = load(path, &options, out, &without);
        *lenient = status ? without : diag;
        diag = without;
    }
    return status ? cli_fail(command, &diag) : CLI_OK;
}

onx_graph *cli_graph_next(const onx_graph *root, const onx_graph *at) {
    if (!at) return (onx_graph *)(uintptr_t)root;
    onx_graph *next = onx_graph_sub_first(at);
    while (!next && at != root) {
        next = onx_graph_sub_next(at);
        at = onx_graph_outer(at);
    }
    return next;
}

const onx_value *cli_computed_next(cli_computed *c) {
    if (!c->node) c->node = onx_graph_node_first(c->graph);
    for (; c->node; c->node = onx_node_next(c->node), c->at = 0)
        while (c->at < onx_node_output_count(c->node)) {
            const onx_value *value = onx_node_output(c->node, c->at++);
            if (value) return value;
        }
    return NULL;
}

/* ── Text for people ─────────────────────────────────────────────────────────────────────────── */

bool cli_is_terminal(FILE *file) {
    return isatty(fileno(file));
}

bool cli_wants_colour(FILE *file) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return cli_is_terminal(file) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

size_t cli_width(void) {
    struct winsize size;
    if (!cli_is_terminal(stdout) || ioctl(fileno(stdout), TIOCGWINSZ, &size)) return 0;
    return size.ws_col;
}

size_t cli_character(const char *text, size_t size) {
    const unsigned char *p = (const unsigned char *)text;
    size_t n = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    if (n == 1) return 1;
    if (*p < 0xc2 || *p > 0xf4 || n > size) return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    bool too_long = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xf0 && p[1] < 0x90);
    bool no_unicode = (*p == 0xed && p[1] >= 0xa0) || (*p == 0xf4 && p[1] >= 0x90);
    return too_long || no_unicode ? 0 : n;
}

/* Controls, and marks that turn the direction of the text around them. */
static bool is_control(const char *text, size_t size) {
    const unsigned char *p = (const unsigned char *)text;
    if (size == 1) return *p < 0x20 || *p == 0x7f;
    if (size == 2) return *p == 0xc2 && p[1] < 0xa0;
    return size == 3 && *p == 0xe2 &&
           ((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) ||
            (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
}

void cli_put(FILE *out, onx_str text) {
    for (size_t i = 0, n; i < text.size; i += n ? n : 1) {
        const char *p = text.data + i;
        n = cli_character(p, text.size - i);
        if (n && !is_control(p, n))
            fwrite(p, 1, n, out);
        else
            fputc('?', out);
    }
}

void cli_puts(FILE *out, const char *text) {
    cli_put(out, (onx_str){text, strlen(text)});
}

char *cli_type(const onx_type *type) {
    size_t size = (type ? onx_type_format(type, NULL, 0) : 0) + 1;
    char *text = calloc(size, 1);
    if (text && type) onx_type_format(type, text, size);
    return text;
}

const char *cli_plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

cli_text cli_bytes(uint64_t n) {
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    cli_text text;
    size_t unit = 0;
    if (n < 1000) {
        snprintf(text.s, sizeof text.s, "%u B", (unsigned)n);
        return text;
    }
    while (n >= 999950) n /= 1000, unit++;
    snprintf(text.s, sizeof text.s, "%.1f %s", (double)n / 1000, units[unit]);
    return text;
}

cli_text cli_count(uint64_t n) {
    cli_text text;
    char digits[24], *p = text.s;
    int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) *p++ = ',';
        *p++ = digits[i];
    }
    *p = '\0';
    return text;
}

cli_text cli_dims(onx_dtype dtype, size_t rank, const int64_t *dims) {
    cli_text text;
    const size_t size = sizeof text.s, room = size - 32; /* for the last one and the end */
    size_t n = (size_t)snprintf(text.s, size, "%s%s", onx_dtype_name(dtype), rank ? "[" : "");
    size_t i = 0;
    for (; i < rank && n < room; i++)
        n += (size_t)snprintf(text.s + n, size - n, i ? ",%lld" : "%lld", (long long)dims[i]);
    snprintf(text.s + n, size - n, "%s", rank == 0 ? "" : i < rank ? ",…]" : "]");
    return text;
}

/* ── Progress ────────────────────────────────────────────────────────────────────────────────── */

void cli_progress_show(cli_progress *p, size_t at, size_t n, const char *name) {
    enum { WIDTH = 60 };
    struct timespec t;
    if (!cli_is_terminal(stderr)) return;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double now = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
    if (p->start == 0) p->start = now;
    if (now - p->start < 1 || now - p->shown < 0.1) return;
    p->shown = now;
    p->visible = true;
    fprintf(stderr, "\r\033[K%s of %s ", cli_count(at).s, cli_count(n).s);
    cli_put(stderr, (onx_str){name, strnlen(name, WIDTH)});
    fflush(stderr);
}

void cli_progress_step(void *progress, size_t step, size_t steps, const char *node) {
    cli_progress_show(progress, step, steps, node);
}

void cli_progress_hide(cli_progress *p) {
    if (p->visible) fputs("\r\033[K", stderr);
    p->visible = false;
}
