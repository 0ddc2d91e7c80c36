/* regex_escape.c: what a pattern says of single characters: escapes, and classes in brackets. What
 * is wrong is said in RE2's words. */
#include "base/regex_program.h"
#include "base/utf8.h"

onx_status onx_regex_wrong(const onx_regex_cursor *in, const char *what, const char *first,
                           const char *end) {
    onx_str text = {first, (size_t)(end - first)};
    return onx_fail(in->diag, ONX_INVALID, "%s%s%.*s", what, text.size ? ": " : "", ONX_FMT(text));
}

bool onx_regex_at(const onx_regex_cursor *in, const char *text) {
    size_t n = strlen(text);
    return (size_t)(in->end - in->p) >= n && memcmp(in->p, text, n) == 0;
}

onx_status onx_regex_take(onx_regex_cursor *in, uint32_t *code) {
    size_t n = in->p < in->end ? onx_utf8_get(in->p, in->end, code) : 0;
    if (!n) return onx_fail(in->diag, ONX_INVALID, "invalid UTF-8");
    in->p += n;
    return ONX_OK;
}

/* ── Escapes ─────────────────────────────────────────────────────────────────────────────────── */

static int digit(uint32_t c, int base) {
    int v = c >= '0' && c <= '9'   ? (int)c - '0'
            : c >= 'a' && c <= 'f' ? (int)c - 'a' + 10
            : c >= 'A' && c <= 'F' ? (int)c - 'A' + 10
                                   : 99;
    return v < base ? v : -1;
}

/* \x41 or \x{41}, behind the x; false: it is neither. */
static bool hexadecimal(onx_regex_cursor *in, uint32_t *out) {
    bool braced = in->p < in->end && *in->p == '{', right = true;
    int n = 0;
    *out = 0;
    for (in->p += braced; in->p < in->end && (braced ? right : n < 2); n++) {
        uint32_t c = 0;
        size_t size = onx_utf8_get(in->p, in->end, &c);
        in->p += size ? size : 1;
        if (braced && c == '}') return n > 0;
        int value = digit(c, 16);
        *out = *out * 16 + (uint32_t)(value < 0 ? 0 : value);
        right = right && value >= 0 && *out <= ONX_UNICODE_LAST;
    }
    return right && !braced && n == 2;
}

onx_status onx_regex_escape(onx_regex_cursor *in, uint32_t *out) {
    static const char letters[] = "afnrtv", means[] = "\a\f\n\r\t\v";
    const char *first = in->p++;
    uint32_t c = 0;
    bool ok = false;
    if (in->p == in->end) return onx_fail(in->diag, ONX_INVALID, "trailing \\");
    ONX_TRY(onx_regex_take(in, &c));
    const char *letter = c && c < 0x80 ? strchr(letters, (int)c) : NULL;
    bool octal = c == '0' || (digit(c, 8) > 0 && in->p < in->end && digit((uint8_t)*in->p, 8) >= 0);
    *out = c;
    if (octal) {
        *out = c - '0';
        for (int i = 0; i < 2 && in->p < in->end && digit((uint8_t)*in->p, 8) >= 0; i++)
            *out = *out * 8 + (uint32_t)digit((uint8_t)*in->p++, 8);
        ok = true;
    } else if (letter) {
        *out = (uint32_t)means[letter - letters];
        ok = true;
    } else if (c == 'x')
        ok = hexadecimal(in, out);
    else
        ok = c < 0x80 && !(digit(c, 10) >= 0 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
    return ok ? ONX_OK : onx_regex_wrong(in, "invalid escape sequence", first, in->p);
}

onx_status onx_regex_escaped_class(onx_regex_cursor *in, bool fold, onx_regex_class *set,
                                   bool *found) {
    const char *first = in->p;
    char c = in->end - in->p > 1 ? in->p[1] : 0, lower = (char)(c | 0x20);
    bool negated = c && c != lower, known = false, ok;
    *found = c && strchr("dswp", lower) && (c == lower || c == lower - 0x20);
    if (!*found) return ONX_OK;
    onx_str name = {&lower, 1};
    in->p += 2;
    if (lower == 'p') {
        uint32_t code = 0;
        name.data = in->p;
        if (in->p == in->end)
            return onx_regex_wrong(in, "invalid character class range", first, in->p);
        ONX_TRY(onx_regex_take(in, &code));
        const char *close = memchr(in->p, '}', (size_t)(in->end - in->p));
        name.size = (size_t)(in->p - name.data);
        if (code == '{' && !close)
            return onx_regex_wrong(in, "invalid character class range", first, in->end);
        if (code == '{') {
            name = (onx_str){in->p, (size_t)(close - in->p)};
            in->p = close + 1;
        }
        if (name.size && *name.data == '^') {
            name = (onx_str){name.data + 1, name.size - 1};
            negated = !negated;
        }
    }
    ok = onx_regex_add_named(in->arena, set, lower == 'p' ? NAME_UNICODE : NAME_PERL, name, negated,
                             fold, &known);
    if (!ok) return onx_fail_nomem(in->diag);
    return known ? ONX_OK : onx_regex_wrong(in, "invalid character class range", first, in->p);
}

/* ── Classes ─────────────────────────────────────────────────────────────────────────────────── */

/* [:alpha:] in a class, at its begin; *found: it has an end. Where it has none, no later one has:
 * that is looked for once. */
static onx_status posix_class(onx_regex_cursor *in, bool fold, onx_regex_class *set, bool *found) {
    const char *first = in->p, *name = in->p + 2, *end = name;
    while (end + 1 < in->end && !(end[0] == ':' && end[1] == ']')) end++;
    *found = end + 1 < in->end;
    in->unnamed = !*found;
    if (!*found) return ONX_OK;
    bool negated = *name == '^', known = false;
    onx_str text = {name + negated, (size_t)(end - name - negated)};
    in->p = end + 2;
    if (!onx_regex_add_named(in->arena, set, NAME_POSIX, text, negated, fold, &known))
        return onx_fail_nomem(in->diag);
    return known ? ONX_OK : onx_regex_wrong(in, "invalid character class range", first, in->p);
}

static onx_status class_char(onx_regex_cursor *in, const char *class, uint32_t *out) {
    if (in->p == in->end) return onx_regex_wrong(in, "missing ]", class, in->end);
    return *in->p == '\\' ? onx_regex_escape(in, out) : onx_regex_take(in, out);
}

static onx_status class_range(onx_regex_cursor *in, bool fold, const char *class,
                              onx_regex_class *set) {
    const char *first = in->p;
    uint32_t lo = 0, hi = 0;
    ONX_TRY(class_char(in, class, &lo));
    hi = lo;
    if (in->end - in->p >= 2 && in->p[0] == '-' && in->p[1] != ']') {
        in->p++;
        ONX_TRY(class_char(in, class, &hi));
        if (hi < lo) return onx_regex_wrong(in, "invalid character class range", first, in->p);
    }
    return onx_regex_add(in->arena, set, lo, hi, fold) ? ONX_OK : onx_fail_nomem(in->diag);
}

onx_status onx_regex_bracket(onx_regex_cursor *in, bool fold, onx_regex_class *set, bool *negated) {
    const char *class = in->p++;
    *negated = in->p < in->end && *in->p == '^';
    if (*negated) in->p++;
    for (bool first = true; in->p < in->end && (*in->p != ']' || first); first = false) {
        bool found = false;
        if (!in->unnamed && in->end - in->p > 2 && onx_regex_at(in, "[:"))
            ONX_TRY(posix_class(in, fold, set, &found));
        if (!found && *in->p == '\\') ONX_TRY(onx_regex_escaped_class(in, fold, set, &found));
        if (!found) ONX_TRY(class_range(in, fold, class, set));
    }
    if (in->p == in->end) return onx_regex_wrong(in, "missing ]", class, in->end);
    in->p++;
    return ONX_OK;
}
