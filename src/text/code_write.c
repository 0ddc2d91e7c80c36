/* code_write.c: text of programs: literals, comments, failures. */
#include "base/utf8.h"
#include "text/code.h"
#include "text/text.h"

#include <stdio.h>

void onx_code_puts(onx_code *code, const char *text) {
    onx_buf_puts(code->to, text);
}

void onx_code_printf(onx_code *code, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n > 0) onx_buf_put(code->to, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void onx_code_fail(onx_code *code, onx_status status, const onx_msg *where, const char *what) {
    char path[200] = "";
    if (code->status) return;
    code->status = status;
    if (where) onx_msg_path(where, path, sizeof path);
    onx_fail(code->diag, status, "%s", what);
    if (path[0]) onx_diag_place(code->diag, "%s", path);
}

void onx_code_no_memory(onx_code *code) {
    if (!code->status) code->status = onx_fail_nomem(code->diag);
}

bool onx_code_is_plain(onx_str text) {
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!word && (!c || !strchr(" _.,[]()+-?", c))) return false;
    }
    return text.size > 0 && text.size <= 100;
}

/* ── Literals ────────────────────────────────────────────────────────────────────────────────── */

enum { LINE = 90 }; /* characters of a literal on one line */

static uint32_t code_point(const char *p, size_t n) {
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = (unsigned char)p[0] & masks[n];
    for (size_t i = 1; i < n; i++) c = c << 6 | ((unsigned char)p[i] & 0x3f);
    return c;
}

/* One character, or what is no character, of `text`; how many bytes it was. A question mark might
 * be part of a trigraph. */
static size_t put_char(onx_code *code, const char *p, const char *end, onx_code_quote quote) {
    unsigned char c = (unsigned char)*p;
    size_t n = onx_utf8_size(p, end);
    if (c == '"' || c == '\\' || (c == '?' && quote == ONX_QUOTE_C))
        onx_code_printf(code, "\\%c", c);
    else if (c == '\n')
        onx_code_puts(code, "\\n");
    else if (c >= 0x20 && c < 0x7f)
        onx_buf_putc(code->to, (char)c);
    else if (quote == ONX_QUOTE_TEXT && n > 1)
        onx_code_printf(code, n < 4 ? "\\u%04x" : "\\U%08x", (unsigned)code_point(p, n));
    else
        onx_code_printf(code, "\\%03o", c);
    return quote == ONX_QUOTE_TEXT && n ? n : 1;
}

void onx_code_quote_str(onx_code *code, onx_str text, onx_code_quote quote) {
    const char *open = quote == ONX_QUOTE_BYTES ? "b\"" : "\"";
    const char *p = text.size ? text.data : "", *end = p + text.size;
    size_t line = code->to->size;
    onx_code_puts(code, open);
    while (p < end && !code->to->failed) {
        p += put_char(code, p, end, quote);
        bool full = code->to->size - line > LINE, broken = p > text.data && p[-1] == '\n';
        if (p == end || (!full && !broken)) continue;
        onx_code_puts(code, "\"\n        ");
        line = code->to->size;
        onx_code_puts(code, open);
    }
    onx_code_puts(code, "\"");
}

/* ── Messages as text ────────────────────────────────────────────────────────────────────────── */

void onx_code_quote_msg(onx_code *code, const onx_msg *msg, bool as_field, onx_code_quote quote) {
    onx_buf *text = &code->scratch;
    onx_writer writer = onx_buf_writer(text);
    text->size = 0;
    if (as_field) onx_buf_printf(text, "%s {\n", msg->parent->desc->fields[msg->field].name);
    onx_status status = onx_textproto_print(msg, &writer, code->diag);
    if (as_field) onx_buf_puts(text, "}");
    while (text->size && text->data[text->size - 1] == '\n') text->size--;
    if (status || text->failed)
        onx_code_no_memory(code);
    else
        onx_code_quote_str(code, (onx_str){text->data, text->size}, quote);
}
