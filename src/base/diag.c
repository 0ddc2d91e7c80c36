/* diag.c: statuses and diagnostics. Nothing here allocates or fails. */
#include "base/base.h"
#include "base/utf8.h"

#include <stdio.h>

static const struct {
    const char *name, *text;
} statuses[] = {
#define STATUS_ROW(name, value, text) [value] = {#name, text},
    ONX_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
};

const char *onx_status_name(onx_status status) {
    return (size_t)status < ONX_COUNT(statuses) ? statuses[status].name : "UNKNOWN";
}

const char *onx_status_text(onx_status status) {
    return (size_t)status < ONX_COUNT(statuses) ? statuses[status].text : "unknown status";
}

/* Control characters, of both sets, and those that turn the direction of writing. */
static bool is_control(const char *p, size_t n) {
    const unsigned char *u = (const unsigned char *)p;
    if (n == 1) return u[0] < 0x20 || u[0] == 0x7f;
    if (n == 2) return u[0] == 0xc2 && u[1] < 0xa0;
    if (n != 3 || u[0] != 0xe2) return false;
    return (u[1] == 0x80 && u[2] >= 0xaa && u[2] <= 0xae) ||
           (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9);
}

/* Messages quote names from files: what is not text, or could confuse a terminal, becomes '?'. */
static void clean(char *s) {
    const char *end = s + strlen(s);
    char *to = s;
    for (const char *p = s; p < end;) {
        size_t n = onx_utf8_size(p, end), used = n ? n : 1;
        if (n && !is_control(p, n))
            memmove(to, p, n), to += n;
        else
            *to++ = '?';
        p += used;
    }
    *to = '\0';
}

static void put(char *out, size_t size, const char *fmt, va_list args) {
    vsnprintf(out, size, fmt, args);
    clean(out);
}

onx_status onx_fail(onx_diag *diag, onx_status status, const char *fmt, ...) {
    if (!diag) return status;
    *diag = (onx_diag){.size = sizeof *diag, .status = status, .offset = -1};
    va_list args;
    va_start(args, fmt);
    put(diag->message, sizeof diag->message, fmt, args);
    va_end(args);
    return status;
}

onx_status onx_fail_nomem(onx_diag *diag) {
    return onx_fail(diag, ONX_NO_MEMORY, "out of memory");
}

void onx_diag_place(onx_diag *diag, const char *fmt, ...) {
    if (!diag) return;
    va_list args;
    va_start(args, fmt);
    put(diag->place, sizeof diag->place, fmt, args);
    va_end(args);
}

void onx_diag_hint(onx_diag *diag, const char *fmt, ...) {
    if (!diag) return;
    va_list args;
    va_start(args, fmt);
    put(diag->hint, sizeof diag->hint, fmt, args);
    va_end(args);
}

void onx_diag_file(onx_diag *diag, const char *path) {
    if (!diag || diag->file[0]) return;
    snprintf(diag->file, sizeof diag->file, "%s", path);
    clean(diag->file);
}

size_t onx_diag_format(const onx_diag *diag, char *out, size_t size) {
    char offset[40] = "";
    if (diag->offset >= 0) snprintf(offset, sizeof offset, "byte %lld", (long long)diag->offset);
    const char *place = diag->place;
    int n = snprintf(out, size, "%s%s%s%s%s%s%s%s%s%s", diag->file, diag->file[0] ? ": " : "",
                     place, place[0] && offset[0] ? " (" : "", offset,
                     place[0] && offset[0] ? ")" : "", place[0] || offset[0] ? ": " : "",
                     diag->message[0] ? diag->message : onx_status_text(diag->status),
                     diag->hint[0] ? "\n  " : "", diag->hint);
    return n < 0 ? 0 : (size_t)n;
}

const char *onx_version(void) {
    return ONX_VERSION;
}
