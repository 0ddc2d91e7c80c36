/* textproto_parse.c: messages from protobuf text, as google.protobuf.text_format reads it.
 *
 *     text     = { field }
 *     field    = name ( [":"] messages | ":" scalars ) [ "," | ";" ]
 *     messages = message | "[" [ message { "," message } ] "]"      a list where the field repeats
 *     message  = "{" text "}" | "<" text ">"
 *     scalars  = scalar | "[" [ scalar { "," scalar } ] "]"
 *     scalar   = string { string } | ["-"] number | name
 *
 * Comments run from '#' to the end of the line. Extensions, Any and field numbers are refused; the
 * one name in brackets is [onx.unknown], see textproto_print.c.
 */
#include "base/number.h"
#include "base/utf8.h"
#include "text/text.h"
#include "text/tree.h"

typedef struct parser {
    onx_str text;
    size_t at;    /* the next byte */
    size_t start; /* of what is being read, for the place of errors */
    onx_diag *diag;
    onx_builder build;
} parser;

/* The mark of an open message is its closing bracket, and LIST if it is an element of a list. */
enum { LIST = 0x100 };

/* ── Tokens ──────────────────────────────────────────────────────────────────────────────────── */

static bool at_end(const parser *p) {
    return p->at >= p->text.size;
}

static char peek(const parser *p) {
    return at_end(p) ? '\0' : p->text.data[p->at];
}

/* What is skipped is behind us: errors are about the token that follows. */
static void skip_space(parser *p) {
    bool comment = false;
    for (; !at_end(p); p->at++) {
        char c = p->text.data[p->at];
        comment = c == '#' || (comment && c != '\n');
        if (!comment && c != ' ' && !(c >= '\t' && c <= '\r')) break;
    }
    p->start = p->at;
}

static bool take(parser *p, char c) {
    skip_space(p);
    bool found = !at_end(p) && p->text.data[p->at] == c;
    p->at += found;
    return found;
}

static onx_status fail_expected(parser *p, const char *wanted) {
    if (at_end(p))
        return onx_fail(p->diag, ONX_MALFORMED, "the text ends where %s is expected", wanted);
    return onx_fail(p->diag, ONX_MALFORMED, "%s is expected here", wanted);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static onx_str take_name(parser *p) {
    size_t from = p->at;
    while (is_letter(peek(p)) || (p->at > from && is_digit(peek(p)))) p->at++;
    return (onx_str){p->text.data + from, p->at - from};
}

/* A number without its sign, or a name, which may be "nan(0x12)". */
static onx_str take_word(parser *p) {
    skip_space(p);
    size_t from = p->at;
    bool number = is_digit(peek(p)) || peek(p) == '.';
    for (char c, last = '\0'; !at_end(p); last = c, p->at++) {
        c = peek(p);
        bool exponent = number && (last == 'e' || last == 'E') && (c == '-' || c == '+');
        if (!is_letter(c) && !is_digit(c) && !(number && c == '.') && !exponent) break;
    }
    if (p->at > from && peek(p) == '(') {
        do p->at++;
        while (is_letter(peek(p)) || is_digit(peek(p)));
        p->at += peek(p) == ')';
    }
    return (onx_str){p->text.data + from, p->at - from};
}

/* ── Strings ─────────────────────────────────────────────────────────────────────────────────── */

/* The value of at most `most` digits of `base`; how many there are. */
static size_t scan_code(onx_str text, unsigned base, size_t most, uint32_t *code) {
    size_t n = 0;
    for (*code = 0; n < most && n < text.size && onx_digit(text.data[n]) < base; n++)
        *code = *code * base + onx_digit(text.data[n]);
    return n;
}

/* \u and \U, with 4 and 8 digits; two of the former may be a surrogate pair. */
static size_t scan_unicode(onx_str text, size_t digits, uint32_t *code) {
    uint32_t low;
    if (scan_code(text, 16, digits, code) != digits) return 0;
    if (*code < 0xd800 || *code > 0xdbff || digits != 4) return digits;
    onx_str rest = {text.data + 4, text.size - 4};
    if (rest.size < 6 || rest.data[0] != '\\' || rest.data[1] != 'u') return 0;
    if (scan_code((onx_str){rest.data + 2, 4}, 16, 4, &low) != 4) return 0;
    if (low < 0xdc00 || low > 0xdfff) return 0;
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return 10;
}

/* What follows a backslash, to `out`; its length, 0 if it is no escape. */
static size_t scan_escape(onx_str text, char out[4], size_t *size) {
    static const char names[] = "abfnrtv?'\"\\", named[] = "\a\b\f\n\r\t\v?'\"\\";
    uint32_t code;
    size_t n = scan_code(text, 8, 3, &code);
    if (text.size == 0) return 0;
    char c = text.data[0];
    onx_str rest = {text.data + 1, text.size - 1};
    const char *name = n == 0 && c ? strchr(names, c) : NULL;
    if (c == 'u' || c == 'U') {
        n = scan_unicode(rest, c == 'u' ? 4 : 8, &code);
        *size = n ? onx_utf8_put(code, out) : 0;
        return *size ? n + 1 : 0;
    }
    if (c == 'x' || c == 'X') {
        n = scan_code(rest, 16, 2, &code);
        n += n > 0;
    } else if (name) {
        code = (unsigned char)named[name - names];
        n = 1;
    }
    *size = 1;
    out[0] = (char)code;
    return code > 0xff ? 0 : n;
}

/* One literal, from quote to quote: its bytes are added to `size` and, if given, put in `out`. */
static onx_status take_literal(parser *p, char *out, size_t *size) {
    char quote = p->text.data[p->at++], code[4];
    for (;;) {
        const char *from = p->text.data + p->at;
        while (!at_end(p) && peek(p) != quote && peek(p) != '\\' && peek(p) != '\n') p->at++;
        size_t n = (size_t)(p->text.data + p->at - from);
        if (out) memcpy(out + *size, from, n);
        *size += n;
        if (!at_end(p) && p->text.data[p->at] == quote) break;
        if (peek(p) != '\\')
            return onx_fail(p->diag, ONX_MALFORMED, "the string has no closing quote");
        onx_str rest = {p->text.data + p->at + 1, p->text.size - p->at - 1};
        size_t used = scan_escape(rest, code, &n);
        if (used == 0) {
            p->start = p->at;
            return onx_fail(p->diag, ONX_MALFORMED, "this escape is not allowed");
        }
        if (out) memcpy(out + *size, code, n);
        *size += n;
        p->at += 1 + used;
    }
    p->at++;
    return ONX_OK;
}

/* Adjacent literals are one string. */
static onx_status take_literals(parser *p, char *out, size_t *size) {
    *size = 0;
    do {
        ONX_TRY(take_literal(p, out, size));
        skip_space(p);
    } while (peek(p) == '"' || peek(p) == '\'');
    return ONX_OK;
}

static onx_status parse_string(parser *p, const onx_field *field, onx_str *out) {
    skip_space(p);
    size_t from = p->at, size;
    if (peek(p) != '"' && peek(p) != '\'') return fail_expected(p, "a string in quotes");
    ONX_TRY(take_literals(p, NULL, &size)); /* measure, then copy */
    char *data;
    p->at = p->start = from;
    ONX_TRY(onx_builder_room(&p->build, field, size, &data));
    ONX_TRY(take_literals(p, data, &size));
    p->start = from;
    *out = (onx_str){data, size};
    return ONX_OK;
}

/* ── Numbers ─────────────────────────────────────────────────────────────────────────────────── */

static bool parse_magnitude(onx_str word, uint64_t *out) {
    if (word.size > 2 && word.data[0] == '0' && (word.data[1] | 0x20) == 'x')
        return onx_parse_digits((onx_str){word.data + 2, word.size - 2}, 16, out);
    return onx_parse_digits(word, word.size > 1 && word.data[0] == '0' ? 8 : 10, out);
}

static onx_status parse_int(parser *p, const onx_field *field, onx_elem *out) {
    bool negative = take(p, '-'), is_u64 = onx_field_elem(field) == ONX_ELEM_U64;
    size_t from = p->start;
    onx_str word = take_word(p);
    p->start = from;
    if (word.size == 0)
        return fail_expected(p, field->enums ? "a name or a number" : "a whole number");
    if (!negative && onx_enum_value(field->enums, word, &out->i)) return ONX_OK;
    uint64_t most = is_u64 ? (negative ? 0 : UINT64_MAX) : (uint64_t)INT64_MAX + negative, v;
    if (!parse_magnitude(word, &v) || v > most)
        return onx_fail(
            p->diag, ONX_MALFORMED, "'%s%.*s' is no %s", negative ? "-" : "", ONX_FMT(word),
            field->enums ? "value of this enum" : "whole number in the range of the field");
    out->u = negative ? 0 - v : v;
    return ONX_OK;
}

static bool parse_number(onx_str word, bool wide, onx_elem *out) {
    return wide ? onx_parse_f64(word, &out->d) : onx_parse_f32(word, &out->f);
}

static onx_status parse_float(parser *p, const onx_field *field, onx_elem *out) {
    bool negative = take(p, '-'), wide = onx_field_elem(field) == ONX_ELEM_F64;
    size_t from = p->start;
    onx_str word = take_word(p);
    p->start = from;
    if (word.size == 0) return fail_expected(p, "a number");
    onx_str bare = {word.data, word.size - 1}; /* "1.5f" */
    bool octal = word.size > 1 && word.data[0] == '0' && is_digit(word.data[1]);
    bool suffix = (word.data[bare.size] | 0x20) == 'f';
    if (octal || (!parse_number(word, wide, out) && !(suffix && parse_number(bare, wide, out))))
        return onx_fail(p->diag, ONX_MALFORMED, "'%.*s' is no number", ONX_FMT(word));
    if (negative && wide) out->d = -out->d;
    if (negative && !wide) out->f = -out->f;
    return ONX_OK;
}

/* ── Fields ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status parse_scalar(parser *p, const onx_field *field) {
    onx_elem v = {0};
    switch (onx_field_elem(field)) {
    case ONX_ELEM_F32:
    case ONX_ELEM_F64: ONX_TRY(parse_float(p, field, &v)); break;
    case ONX_ELEM_STR:
    case ONX_ELEM_BYTES: ONX_TRY(parse_string(p, field, &v.s)); break;
    default: ONX_TRY(parse_int(p, field, &v)); break;
    }
    return onx_builder_add(&p->build, field, v);
}

static void take_separator(parser *p) {
    if (!take(p, ',')) take(p, ';');
}

static onx_status parse_scalars(parser *p, const onx_field *field) {
    if (!take(p, ':')) return fail_expected(p, "':'");
    if (!onx_field_repeated(field) || !take(p, '[')) {
        ONX_TRY(parse_scalar(p, field));
    } else if (!take(p, ']')) {
        do ONX_TRY(parse_scalar(p, field));
        while (take(p, ','));
        if (!take(p, ']')) return fail_expected(p, "',' or ']'");
    }
    take_separator(p);
    return ONX_OK;
}

/* A message begins; the main loop goes on inside it. */
static onx_status open_message(parser *p, const onx_field *field, uint32_t list) {
    char close = take(p, '<') ? '>' : '}';
    if (close == '}' && !take(p, '{')) return fail_expected(p, "'{'");
    ONX_TRY(onx_builder_enter(&p->build, field, NULL));
    *onx_builder_mark(&p->build) = (uint32_t)close | list;
    return ONX_OK;
}

static onx_status parse_messages(parser *p, const onx_field *field) {
    take(p, ':');
    if (!onx_field_repeated(field) || !take(p, '[')) return open_message(p, field, 0);
    if (!take(p, ']')) return open_message(p, field, LIST);
    take_separator(p);
    return ONX_OK;
}

static onx_status close_message(parser *p) {
    uint32_t list = *onx_builder_mark(&p->build) & LIST;
    const onx_msg *msg = p->build.at;
    onx_builder_leave(&p->build);
    const onx_field *field = p->build.field = &p->build.at->desc->fields[msg->field];
    if (list && take(p, ',')) return open_message(p, field, LIST);
    if (list && !take(p, ']')) return fail_expected(p, "',' or ']'");
    take_separator(p);
    return ONX_OK;
}

static onx_status parse_unknown(parser *p) {
    onx_str name = ONX_LIT(ONX_TREE_UNKNOWN), bytes;
    onx_str rest = {p->text.data + p->at, p->text.size - p->at};
    if (rest.size < name.size || !onx_str_eq((onx_str){rest.data, name.size}, name))
        return onx_fail(p->diag, ONX_MALFORMED, "ONNX messages have no extensions");
    p->at += name.size;
    if (!take(p, ':')) return fail_expected(p, "':'");
    ONX_TRY(parse_string(p, NULL, &bytes));
    ONX_TRY(onx_builder_unknown(&p->build, bytes));
    take_separator(p);
    return ONX_OK;
}

static onx_status parse_field(parser *p) {
    const onx_desc *desc = p->build.at->desc;
    p->build.field = NULL;
    if (peek(p) == '[') return parse_unknown(p);
    onx_str name = take_name(p);
    if (name.size == 0) return fail_expected(p, "the name of a field");
    const onx_field *field = onx_desc_field(desc, name);
    if (!field)
        return onx_fail(p->diag, ONX_MALFORMED, "%s has no field '%.*s'", desc->name,
                        ONX_FMT(name));
    p->build.field = field;
    ONX_TRY(onx_builder_check(&p->build, field));
    return field->child ? parse_messages(p, field) : parse_scalars(p, field);
}

static onx_status parse(parser *p, const onx_desc *desc, onx_msg **out) {
    ONX_TRY(onx_builder_enter(&p->build, NULL, desc));
    for (;;) {
        char close = (char)*onx_builder_mark(&p->build); /* the root has none */
        skip_space(p);
        if (!close && at_end(p)) break;
        if (close && at_end(p))
            return onx_fail(p->diag, ONX_MALFORMED, "the text ends before '%c' closes a message",
                            close);
        if (close && peek(p) == close) {
            p->at++;
            ONX_TRY(close_message(p));
        } else {
            ONX_TRY(parse_field(p));
        }
    }
    onx_builder_leave(&p->build);
    return onx_builder_finish(&p->build, out);
}

onx_status onx_textproto_parse(onx_doc *doc, const onx_desc *desc, onx_str text, onx_msg **out,
                               onx_diag *diag) {
    if (!text.data) text = ONX_LIT("");
    parser p = {.text = text, .diag = diag};
    onx_builder_init(&p.build, doc, text.size, diag);
    onx_status status = parse(&p, desc, out);
    if (status) onx_builder_place(&p.build, text, p.start);
    onx_builder_fini(&p.build);
    return status;
}
