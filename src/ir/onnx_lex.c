/* onnx_lex.c: see onnx_lex.h. */
#include "ir/onnx_lex.h"

#include "base/number.h"
#include "base/utf8.h"

#include <stdio.h>

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c) {
    return (unsigned char)c > ' ' && c != 0x7f && !strchr("\"#(),:<=>@[]{}", c);
}

void onx_lex_init(onx_lex *lex, onx_doc *doc, onx_str text, onx_diag *diag) {
    const char *base = text.data ? text.data : "";
    *lex = (onx_lex){doc, diag, base, base, base + text.size, false};
}

/* ── Errors ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status place(const onx_lex *lex, onx_status status) {
    onx_diag_text(lex->diag, (onx_str){lex->base, (size_t)(lex->end - lex->base)},
                  (size_t)(lex->at - lex->base));
    return status;
}

onx_status onx_lex_fail(const onx_lex *lex, onx_status status, const char *fmt, ...) {
    char sentence[sizeof lex->diag->message];
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    return place(lex, onx_fail(lex->diag, status, "%s", sentence));
}

onx_status onx_lex_nomem(const onx_lex *lex) {
    return place(lex, onx_doc_fail(lex->doc, lex->diag));
}

onx_status onx_lex_depth(const onx_lex *lex, size_t depth) {
    uint32_t limit = lex->doc->ctx->limits.depth;
    if (depth <= limit) return ONX_OK;
    onx_lex_fail(lex, ONX_LIMIT, "messages are nested more than %u deep", limit);
    onx_diag_hint(lex->diag, "raise onx_limits.depth if the text is to be trusted");
    return ONX_LIMIT;
}

static bool at_note(const onx_lex *lex) {
    const char *p = lex->at;
    return lex->end - p >= 2 && p[0] == '#' && p[1] == '@' && (lex->end - p == 2 || is_blank(p[2]));
}

onx_status onx_lex_expected(onx_lex *lex, const char *what) {
    char c = onx_lex_peek(lex);
    const char *from = lex->at, *to = from;
    if (lex->in_note && c == 0)
        return onx_lex_fail(lex, ONX_MALFORMED, "expected %s, found the end of the note", what);
    if (from == lex->end)
        return onx_lex_fail(lex, ONX_MALFORMED, "expected %s, found the end of the text", what);
    if (at_note(lex))
        return onx_lex_fail(lex, ONX_MALFORMED, "expected %s, found a note (#@)", what);
    while (to < lex->end && to - from < 40 && is_word(*to)) to++;
    if (to == from) to++;
    return onx_lex_fail(lex, ONX_MALFORMED, "expected %s, found '%.*s'", what, (int)(to - from),
                        from);
}

/* ── Blanks, comments, notes ─────────────────────────────────────────────────────────────────── */

static void skip_line(onx_lex *lex) {
    const char *newline = memchr(lex->at, '\n', (size_t)(lex->end - lex->at));
    lex->at = newline ? newline : lex->end;
}

static void skip(onx_lex *lex) {
    for (;;) {
        while (lex->at < lex->end && is_blank(*lex->at)) lex->at++;
        if (lex->at == lex->end || *lex->at != '#' || at_note(lex)) return;
        skip_line(lex);
    }
}

/* A note goes on in the next line if that is one too. */
static void skip_in_note(onx_lex *lex) {
    for (;;) {
        while (lex->at < lex->end && *lex->at != '\n' && is_blank(*lex->at)) lex->at++;
        if (lex->at == lex->end || *lex->at != '\n') return;
        const char *line_end = lex->at;
        skip(lex);
        if (!at_note(lex)) {
            lex->at = line_end;
            return;
        }
        lex->at += 2;
    }
}

const char *onx_lex_note(onx_lex *lex) {
    skip(lex);
    if (!at_note(lex)) return NULL;
    const char *note = lex->at + 2;
    while (at_note(lex)) {
        skip_line(lex);
        skip(lex);
    }
    return note;
}

char onx_lex_peek(onx_lex *lex) {
    if (lex->in_note)
        skip_in_note(lex);
    else
        skip(lex);
    return lex->at == lex->end || (lex->in_note && *lex->at == '\n') ? 0 : *lex->at;
}

/* ── Tokens ──────────────────────────────────────────────────────────────────────────────────── */

bool onx_lex_take(onx_lex *lex, char c) {
    if (onx_lex_peek(lex) != c) return false;
    lex->at++;
    return true;
}

onx_status onx_lex_expect(onx_lex *lex, char c, const char *where) {
    char what[80];
    if (onx_lex_take(lex, c)) return ONX_OK;
    snprintf(what, sizeof what, "'%c' %s", c, where);
    return onx_lex_expected(lex, what);
}

onx_str onx_lex_identifier(onx_lex *lex) {
    onx_str id = onx_lex_peek_identifier(lex);
    lex->at += id.size;
    return id;
}

onx_str onx_lex_peek_identifier(onx_lex *lex) {
    onx_lex_peek(lex);
    const char *p = lex->at;
    if (p < lex->end && is_letter(*p))
        while (p < lex->end && (is_letter(*p) || is_digit(*p))) p++;
    return (onx_str){lex->at, (size_t)(p - lex->at)};
}

onx_str onx_lex_word(onx_lex *lex) {
    onx_lex_peek(lex);
    const char *from = lex->at;
    while (lex->at < lex->end && is_word(*lex->at)) lex->at++;
    return (onx_str){from, (size_t)(lex->at - from)};
}

onx_str onx_lex_number(onx_lex *lex) {
    char c = onx_lex_peek(lex);
    const char *from = lex->at, *p = from, *end = lex->end;
    if (!is_digit(c) && c != '-' && !is_letter(c)) return (onx_str){from, 0};
    while (p < end && (is_digit(*p) || is_letter(*p) || *p == '.' || *p == '+' || *p == '-')) p++;
    if (p < end && *p == '(' && p - from >= 3 && (p[-1] | 0x20) == 'n') {
        while (p < end && *p != ')' && p - from < ONX_NUMBER_MAX) p++;
        if (p < end && *p == ')') p++;
    }
    lex->at = p;
    return (onx_str){from, (size_t)(p - from)};
}

onx_status onx_lex_i64(onx_lex *lex, const char *what, int64_t *out) {
    onx_lex_peek(lex);
    const char *from = lex->at;
    onx_str number = onx_lex_number(lex);
    if (onx_parse_i64(number, out)) return ONX_OK;
    lex->at = from;
    return onx_lex_expected(lex, what);
}

/* The bytes between the quotes, escapes included; `at` ends behind the closing quote. */
static onx_status scan_string(onx_lex *lex, const char *what, onx_str *out, size_t *escapes) {
    if (onx_lex_peek(lex) != '"') return onx_lex_expected(lex, what);
    const char *from = lex->at, *p = from + 1;
    *escapes = 0;
    while (p < lex->end && *p != '"') {
        bool escape = *p == '\\' && p + 1 < lex->end;
        *escapes += escape;
        p += escape ? 2 : 1;
    }
    if (p >= lex->end)
        return onx_lex_fail(lex, ONX_MALFORMED, "the string that begins here has no end");
    *out = (onx_str){from + 1, (size_t)(p - from - 1)};
    lex->at = p + 1;
    return ONX_OK;
}

static onx_status check_length(const onx_lex *lex, size_t size, size_t limit) {
    if (size <= limit) return ONX_OK;
    return onx_lex_fail(lex, ONX_LIMIT, "a string of %zu bytes is over the limit of %zu", size,
                        limit);
}

onx_status onx_lex_string(onx_lex *lex, size_t limit, const char *what, onx_str *out) {
    onx_str text = {NULL, 0};
    size_t escapes = 0;
    ONX_TRY(scan_string(lex, what, &text, &escapes));
    ONX_TRY(check_length(lex, text.size - escapes, limit));
    if (escapes == 0) return onx_doc_str(lex->doc, text, out) ? ONX_OK : onx_lex_nomem(lex);
    char *to = onx_arena_alloc(&lex->doc->arena, text.size - escapes + 1);
    if (!to) return onx_lex_nomem(lex);
    *out = (onx_str){to, text.size - escapes};
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\\') i++;
        *to++ = text.data[i];
    }
    return ONX_OK;
}

static onx_status read_name(onx_lex *lex, const char *what, onx_str (*bare)(onx_lex *),
                            onx_str *out) {
    size_t limit = lex->doc->ctx->limits.name_bytes;
    if (onx_lex_peek(lex) == '"') return onx_lex_string(lex, limit, what, out);
    onx_str name = bare(lex);
    if (name.size == 0) return onx_lex_expected(lex, what);
    ONX_TRY(check_length(lex, name.size, limit));
    return onx_doc_str(lex->doc, name, out) ? ONX_OK : onx_lex_nomem(lex);
}

onx_status onx_lex_name(onx_lex *lex, const char *what, onx_str *out) {
    return read_name(lex, what, onx_lex_identifier, out);
}

onx_status onx_lex_loose_name(onx_lex *lex, const char *what, onx_str *out) {
    return read_name(lex, what, onx_lex_word, out);
}

/* ── For printing ────────────────────────────────────────────────────────────────────────────── */

bool onx_is_identifier(onx_str s) {
    for (size_t i = 0; i < s.size; i++)
        if (!is_letter(s.data[i]) && (i == 0 || !is_digit(s.data[i]))) return false;
    return s.size > 0;
}

bool onx_is_word(onx_str s) {
    for (size_t i = 0; i < s.size; i++)
        if (!is_word(s.data[i])) return false;
    return s.size > 0 && onx_is_text(s);
}

bool onx_is_text(onx_str s) {
    for (size_t i = 0, n; i < s.size; i += n) {
        n = onx_utf8_size(s.data + i, s.data + s.size);
        if (n == 0 || s.data[i] == 0) return false;
    }
    return true;
}
