/* json.c: see json.h. Strings come out as valid JSON whatever bytes they hold. */
#include "json.h"

#include <math.h>
#include <string.h>

void json_begin(json *j, FILE *out) {
    *j = (json){.out = out, .first = true};
}

static void put_text(json *j, const char *text) {
    size_t left = strlen(text);
    fputc('"', j->out);
    for (size_t n; left > 0; text += n, left -= n) {
        n = cli_character(text, left);
        unsigned char c = (unsigned char)*text;
        if (n == 0)
            fputs("\\ufffd", j->out), n = 1;
        else if (c == '"' || c == '\\')
            fprintf(j->out, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", j->out);
        else if (c < 0x20 || c == 0x7f)
            fprintf(j->out, "\\u%04x", c);
        else
            fwrite(text, 1, n, j->out);
    }
    fputc('"', j->out);
}

/* The comma and the key before an item. */
static void item(json *j, const char *key) {
    if (!j->first) fputc(',', j->out);
    if (j->depth > 0) fprintf(j->out, "\n%*s", (int)(2 * j->depth), "");
    j->first = false;
    if (!key) return;
    put_text(j, key);
    fputs(": ", j->out);
}

void json_open(json *j, const char *key, char kind) {
    item(j, key);
    fputc(kind, j->out);
    j->ends[j->depth++] = kind == '{' ? '}' : ']';
    j->first = true;
}

void json_close(json *j) {
    char end = j->ends[--j->depth];
    if (!j->first) fprintf(j->out, "\n%*s", (int)(2 * j->depth), "");
    fputc(end, j->out);
    j->first = false;
    if (j->depth == 0) fputc('\n', j->out);
}

void json_string(json *j, const char *key, const char *text) {
    item(j, key);
    put_text(j, text);
}

void json_number(json *j, const char *key, int64_t n) {
    item(j, key);
    fprintf(j->out, "%lld", (long long)n);
}

void json_size(json *j, const char *key, uint64_t n) {
    item(j, key);
    fprintf(j->out, "%llu", (unsigned long long)n);
}

void json_real(json *j, const char *key, double x) {
    item(j, key);
    if (isfinite(x))
        fprintf(j->out, "%.9g", x);
    else
        fputs("null", j->out);
}

void json_bool(json *j, const char *key, bool b) {
    item(j, key);
    fputs(b ? "true" : "false", j->out);
}

void json_null(json *j, const char *key) {
    item(j, key);
    fputs("null", j->out);
}

void json_raw(json *j, const char *key, const char *text) {
    item(j, key);
    fputs(text, j->out);
}
