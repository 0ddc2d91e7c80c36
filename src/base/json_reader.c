/* json_reader.c: the reader of json.h.
 *
 * What may come next, and what it leads to; objects and arrays that are open are on the stack:
 *
 *     VALUE ──▶ AFTER ──,──▶ KEY or VALUE          '{' ──▶ FIRST_KEY      '[' ──▶ FIRST_VALUE
 *     KEY ──"…" :──▶ VALUE                         '}', ']' ──▶ AFTER, or DONE when nothing is open
 */
#include "base/json.h"
#include "base/number.h"
#include "base/utf8.h"

enum { VALUE, FIRST_VALUE, KEY, FIRST_KEY, AFTER, DONE };

void onx_json_reader_init(onx_json_reader *r, onx_context *ctx, onx_str text, uint32_t depth,
                          onx_diag *diag) {
    if (!text.data) text = ONX_LIT("");
    *r = (onx_json_reader){.text = text, .diag = diag, .depth = depth, .expect = VALUE};
    onx_buf_init(&r->open, ctx);
}

void onx_json_reader_fini(onx_json_reader *r) {
    onx_buf_fini(&r->open);
}

const char *onx_json_token_name(onx_json_token token) {
    static const char *const names[] = {
        [ONX_JSON_END] = "the end",     [ONX_JSON_OBJECT] = "an object",
        [ONX_JSON_OBJECT_END] = "'}'",  [ONX_JSON_ARRAY] = "an array",
        [ONX_JSON_ARRAY_END] = "']'",   [ONX_JSON_KEY] = "a key",
        [ONX_JSON_STRING] = "a string", [ONX_JSON_NUMBER] = "a number",
        [ONX_JSON_TRUE] = "true",       [ONX_JSON_FALSE] = "false",
        [ONX_JSON_NULL] = "null",
    };
    return names[token];
}

static onx_status fail_at(onx_json_reader *r, size_t at, onx_status status, const char *message) {
    onx_fail(r->diag, status, "%s", message);
    onx_diag_text(r->diag, r->text, at);
    r->start = at;
    return status;
}

static onx_status fail(onx_json_reader *r, size_t at, const char *message) {
    return fail_at(r, at, ONX_MALFORMED,
                   at < r->text.size ? message : "the JSON text ends too early");
}

static bool at_end(const onx_json_reader *r) {
    return r->at >= r->text.size;
}

/* The next byte; NUL, which no JSON text has, at the end. */
static char peek(const onx_json_reader *r) {
    return at_end(r) ? '\0' : r->text.data[r->at];
}

static void skip_space(onx_json_reader *r) {
    for (; !at_end(r); r->at++) {
        char c = r->text.data[r->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
    }
}

/* ── Strings ─────────────────────────────────────────────────────────────────────────────────── */

/* The value of 4 hexadecimal digits; -1 if they are not. */
static int32_t hex4(const char *p, const char *end) {
    int32_t v = 0;
    if (end - p < 4) return -1;
    for (int i = 0; i < 4; i++) {
        unsigned digit = onx_digit(p[i]);
        if (digit >= 16) return -1;
        v = v * 16 + (int32_t)digit;
    }
    return v;
}

/* The code point of the \u escape at `p`, two of them for a surrogate pair; its length, 0 if it is
 * none. */
static size_t unicode_escape(const char *p, const char *end, uint32_t *code) {
    int32_t high = end - p > 2 ? hex4(p + 2, end) : -1;
    if (high < 0 || (high >= 0xdc00 && high < 0xe000)) return 0;
    *code = (uint32_t)high;
    if (high < 0xd800 || high >= 0xe000) return 6;
    int32_t low = end - p > 8 && p[6] == '\\' && p[7] == 'u' ? hex4(p + 8, end) : -1;
    if (low < 0xdc00 || low >= 0xe000) return 0;
    *code = 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
    return 12;
}

static const char escapes[] = "\"\\/bfnrt", escaped[] = "\"\\/\b\f\n\r\t";

/* One escape, to UTF-8 in `out`; its length, 0 if it is none. */
static size_t scan_escape(const char *p, const char *end, char out[4], size_t *size) {
    if (end - p < 2 || p[1] == '\0') return 0;
    const char *simple = strchr(escapes, p[1]);
    uint32_t code = 0;
    size_t n = simple ? 2 : p[1] == 'u' ? unicode_escape(p, end, &code) : 0;
    *size = onx_utf8_put(simple ? (uint32_t)escaped[simple - escapes] : code, out);
    return n;
}

size_t onx_json_unescape(onx_str span, char *out) {
    const char *p = span.data, *end = p + span.size;
    char code[4];
    size_t total = 0;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t n = (size_t)((slash ? slash : end) - p);
        if (out) memcpy(out + total, p, n);
        total += n;
        p += n;
        if (!slash) break;
        p += scan_escape(p, end, code, &n);
        if (out) memcpy(out + total, code, n);
        total += n;
    }
    return total;
}

/* From the opening quote to behind the closing one. */
static onx_status scan_string(onx_json_reader *r) {
    const char *text = r->text.data, *end = text + r->text.size, *p = text + r->at + 1;
    char out[4];
    size_t size;
    r->escaped = false;
    while (p < end && *p != '"') {
        if ((unsigned char)*p < 0x20)
            return fail(r, (size_t)(p - text), "a control character in a string must be escaped");
        size_t n = 1;
        if (*p == '\\') {
            r->escaped = true;
            n = scan_escape(p, end, out, &size);
            if (n == 0) return fail(r, (size_t)(p - text), "this escape is not allowed in JSON");
        } else if ((unsigned char)*p >= 0x80) {
            n = onx_utf8_size(p, end);
            if (n == 0) return fail(r, (size_t)(p - text), "the string is not valid UTF-8");
        }
        p += n;
    }
    if (p == end) return fail(r, r->text.size, "");
    r->span = (onx_str){text + r->at + 1, (size_t)(p - text) - r->at - 1};
    r->at = (size_t)(p - text) + 1;
    return ONX_OK;
}

/* ── Other tokens ────────────────────────────────────────────────────────────────────────────── */

static bool scan_digits(onx_json_reader *r) {
    size_t from = r->at;
    while (peek(r) >= '0' && peek(r) <= '9') r->at++;
    return r->at > from;
}

static onx_status scan_number(onx_json_reader *r) {
    r->at += peek(r) == '-';
    bool zero = peek(r) == '0', ok = scan_digits(r);
    if (ok && zero && r->at - r->start > (r->text.data[r->start] == '-' ? 2u : 1u))
        return fail(r, r->start, "a number must not begin with a zero");
    if (ok && peek(r) == '.') {
        r->at++;
        ok = scan_digits(r);
    }
    if (ok && (peek(r) == 'e' || peek(r) == 'E')) {
        r->at++;
        r->at += peek(r) == '+' || peek(r) == '-';
        ok = scan_digits(r);
    }
    if (!ok) return fail(r, r->at, "a digit is missing in a number");
    r->span = (onx_str){r->text.data + r->start, r->at - r->start};
    r->token = ONX_JSON_NUMBER;
    return ONX_OK;
}

static bool scan_text(onx_json_reader *r, onx_str word) {
    if (r->text.size - r->at < word.size) return false;
    if (!onx_str_eq((onx_str){r->text.data + r->at, word.size}, word)) return false;
    r->at += word.size;
    return true;
}

static bool scan_python(onx_json_reader *r) {
    if (!r->python) return false;
    if (!scan_text(r, ONX_LIT("NaN")) && !scan_text(r, ONX_LIT("Infinity")) &&
        !scan_text(r, ONX_LIT("-Infinity")))
        return false;
    r->span = (onx_str){r->text.data + r->start, r->at - r->start};
    r->token = ONX_JSON_NUMBER;
    return true;
}

static onx_status scan_word(onx_json_reader *r) {
    for (r->token = ONX_JSON_TRUE; r->token <= ONX_JSON_NULL; r->token++)
        if (scan_text(r, onx_str_of(onx_json_token_name(r->token)))) return ONX_OK;
    return fail(r, r->at, "a value is expected here");
}

static onx_status open_container(onx_json_reader *r, char c) {
    if (r->open.size >= r->depth) {
        fail_at(r, r->at, ONX_LIMIT, "objects and arrays are nested too deep");
        onx_diag_hint(r->diag, "raise onx_limits.depth if the file is to be trusted");
        return ONX_LIMIT;
    }
    onx_buf_putc(&r->open, c);
    if (r->open.failed) return onx_fail_nomem(r->diag);
    r->at++;
    r->token = c == '{' ? ONX_JSON_OBJECT : ONX_JSON_ARRAY;
    r->expect = c == '{' ? FIRST_KEY : FIRST_VALUE;
    return ONX_OK;
}

static void after_value(onx_json_reader *r) {
    r->expect = r->open.size ? AFTER : DONE;
}

static onx_status close_container(onx_json_reader *r) {
    r->token = r->open.data[--r->open.size] == '{' ? ONX_JSON_OBJECT_END : ONX_JSON_ARRAY_END;
    r->at++;
    after_value(r);
    return ONX_OK;
}

static onx_status scan_value(onx_json_reader *r) {
    char c = peek(r);
    if (c == '{' || c == '[') return open_container(r, c);
    if (c == '"') {
        r->token = ONX_JSON_STRING;
        ONX_TRY(scan_string(r));
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        if (!scan_python(r)) ONX_TRY(scan_number(r));
    } else if (!scan_python(r)) {
        ONX_TRY(scan_word(r));
    }
    after_value(r);
    return ONX_OK;
}

static onx_status scan_key(onx_json_reader *r) {
    if (peek(r) != '"') return fail(r, r->at, "a key in double quotes is expected here");
    r->token = ONX_JSON_KEY;
    ONX_TRY(scan_string(r));
    skip_space(r);
    if (peek(r) != ':') return fail(r, r->at, "':' is expected after a key");
    r->at++;
    r->expect = VALUE;
    return ONX_OK;
}

onx_status onx_json_next(onx_json_reader *r) {
    skip_space(r);
    if (r->expect == DONE) {
        r->start = r->at;
        r->token = ONX_JSON_END;
        return at_end(r) ? ONX_OK : fail(r, r->at, "nothing may follow the value");
    }
    bool in_object = r->open.size && r->open.data[r->open.size - 1] == '{';
    bool may_close = r->expect != VALUE && r->expect != KEY;
    if (may_close && peek(r) == (in_object ? '}' : ']')) {
        r->start = r->at;
        return close_container(r);
    }
    if (r->expect == AFTER) {
        if (peek(r) != ',')
            return fail(r, r->at, in_object ? "',' or '}' is expected" : "',' or ']' is expected");
        r->at++;
        skip_space(r);
        r->expect = in_object ? KEY : VALUE;
    }
    r->start = r->at;
    return r->expect == KEY || r->expect == FIRST_KEY ? scan_key(r) : scan_value(r);
}
