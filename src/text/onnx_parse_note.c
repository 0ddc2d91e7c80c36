/* onnx_parse_note.c: notes of ONNX text coming in: any field of any message, by the tables. See
 * onnx_text.h. */
#include "base/number.h"
#include "text/onnx_parse.h"

/* ── Strings ─────────────────────────────────────────────────────────────────────────────────── */

static int hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character between quotes, before `end`; the bytes it takes, or 0 if it is no good. */
static size_t unescape(const char *s, const char *end, char *out) {
    *out = *s;
    if (*s != '\\') return *s == '\n' || *s == '"' ? 0 : 1;
    if (end - s < 2) return 0;
    *out = s[1] == 'n' ? '\n' : s[1];
    if (s[1] == 'n' || s[1] == '"' || s[1] == '\\') return 2;
    if (s[1] != 'x' || end - s < 4) return 0;
    int high = hex_digit(s[2]), low = hex_digit(s[3]);
    *out = (char)(high * 16 + low);
    return high < 0 || low < 0 ? 0 : 4;
}

static onx_status read_string(onx_parser *p, const onx_field *field, onx_str *out) {
    onx_lex *lex = &p->lex;
    ONX_TRY(onx_lex_expect(lex, '"', "before the bytes of a string"));
    size_t size = 0, n;
    char *to, c;
    const char *from = lex->at, *s = from;
    for (; s < lex->end && (n = unescape(s, lex->end, &c)); s += n) size++;
    if (s == lex->end || *s != '"') {
        lex->at = s;
        return onx_lex_fail(lex, ONX_MALFORMED,
                            "a string in a note ends on its line, and its escapes are "
                            "\\\", \\\\, \\n and \\x and two small hex digits");
    }
    ONX_TRY(onx_builder_room(&p->b, field, size, &to));
    *out = (onx_str){to, size};
    for (s = from; *s != '"'; s += n) n = unescape(s, lex->end, to++);
    lex->at = s + 1;
    return ONX_OK;
}

/* ── Values ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status read_enum(onx_parser *p, const onx_field *field, int64_t *out) {
    onx_str word = onx_lex_peek_identifier(&p->lex);
    if (word.size == 0) return onx_lex_i64(&p->lex, "a number", out);
    if (!onx_enum_value(field->enums, word, out)) return onx_lex_expected(&p->lex, "a number");
    onx_lex_identifier(&p->lex);
    return ONX_OK;
}

static onx_status read_float(onx_parser *p, float *out) {
    onx_lex_peek(&p->lex);
    const char *from = p->lex.at;
    if (onx_parse_f32(onx_lex_number(&p->lex), out)) return ONX_OK;
    p->lex.at = from;
    return onx_lex_expected(&p->lex, "a number");
}

static onx_status read_elem(onx_parser *p, const onx_field *field) {
    onx_elem elem = {0};
    onx_elem_kind kind = onx_field_elem(field);
    if (kind == ONX_ELEM_STR || kind == ONX_ELEM_BYTES)
        ONX_TRY(read_string(p, field, &elem.s));
    else if (kind == ONX_ELEM_F32)
        ONX_TRY(read_float(p, &elem.f));
    else
        ONX_TRY(read_enum(p, field, &elem.i));
    return onx_builder_add(&p->b, field, elem);
}

static bool packed_is_whole(const onx_field *field, onx_str bytes) {
    uint64_t v;
    if (field->kind == ONX_FIELD_PACKED_F32) return bytes.size % 4 == 0;
    if (field->kind == ONX_FIELD_PACKED_F64) return bytes.size % 8 == 0;
    for (size_t i = 0, n; i < bytes.size; i += n) {
        n = onx_varint_get(bytes.data + i, bytes.data + bytes.size, &v);
        if (n == 0) return false;
    }
    return true;
}

static onx_status read_packed(onx_parser *p, const onx_field *field) {
    onx_str bytes;
    ONX_TRY(read_string(p, field, &bytes));
    if (!packed_is_whole(field, bytes))
        return onx_lex_fail(&p->lex, ONX_MALFORMED, "these bytes are no packed numbers");
    *(onx_str *)onx_field_ptr(p->b.at, field) = bytes;
    return ONX_OK;
}

static onx_status read_field(onx_parser *p, const onx_field *field) {
    ONX_TRY(onx_lex_expect(&p->lex, ':', "after the name of a field"));
    if (field->kind >= ONX_FIELD_PACKED_F32) return read_packed(p, field);
    if (!onx_field_repeated(field)) return read_elem(p, field);
    ONX_TRY(onx_lex_expect(&p->lex, '[', "before the values of a repeated field"));
    if (onx_lex_take(&p->lex, ']')) return ONX_OK;
    do ONX_TRY(read_elem(p, field));
    while (onx_lex_take(&p->lex, ','));
    return onx_lex_expect(&p->lex, ']', "after the values of a repeated field");
}

static onx_status read_unknown(onx_parser *p) {
    onx_str bytes;
    ONX_TRY(onx_lex_expect(&p->lex, ':', "after 'unknown'"));
    ONX_TRY(read_string(p, NULL, &bytes));
    onx_status status = onx_builder_unknown(&p->b, bytes);
    if (status != ONX_MALFORMED) return status;
    return onx_lex_fail(&p->lex, status,
                        "these bytes are no fields, or fields that %s has a name for",
                        p->b.at->desc->name);
}

/* ── Notes ───────────────────────────────────────────────────────────────────────────────────── */

static onx_status find_field(onx_parser *p, const onx_field **out) {
    const char *from = p->lex.at;
    onx_str word = onx_lex_identifier(&p->lex);
    *out = onx_desc_field(p->b.at->desc, word);
    if (*out) return ONX_OK;
    p->lex.at = from;
    if (word.size == 0) return onx_lex_expected(&p->lex, "the name of a field");
    return onx_lex_fail(&p->lex, ONX_MALFORMED, "%s has no field '%.*s'", p->b.at->desc->name,
                        ONX_FMT(word));
}

static onx_status read_fields(onx_parser *p, uint32_t *gone);

enum { EACH_MAX = 256 }; /* it is read again for every node or tensor */

/* "each node { … }": keep where it stands, for those without a note. Read once here, so that what
 * is wrong with it is found where it is written. */
static onx_status read_each(onx_parser *p) {
    onx_str word = onx_lex_peek_identifier(&p->lex);
    bool node = onx_str_is(word, "node");
    if (!node && !onx_str_is(word, "tensor"))
        return onx_lex_expected(&p->lex, "'node' or 'tensor' after 'each'");
    onx_lex_identifier(&p->lex);
    ONX_TRY(onx_lex_expect(&p->lex, '{', "after 'each node' or 'each tensor'"));
    const char *note = p->lex.at;
    onx_msg *model = p->b.at;
    p->b.at = onx_msg_new(p->b.doc, node ? &onx_desc_node : &onx_desc_tensor);
    if (!p->b.at) return onx_lex_nomem(&p->lex);
    uint32_t gone = 0;
    ONX_TRY(read_fields(p, &gone));
    p->b.at = model;
    if (p->lex.at - note > EACH_MAX)
        return onx_lex_fail(&p->lex, ONX_MALFORMED, "'each' may take %d characters", EACH_MAX);
    *(node ? &p->each_node : &p->each_tensor) = note;
    return onx_lex_expect(&p->lex, '}', "at the end of 'each'");
}

/* What can only stand directly in a note, not in a message inside it. */
static onx_status read_word(onx_parser *p, bool first, uint32_t *gone, bool *done) {
    const onx_desc *desc = p->b.at->desc;
    onx_str word = onx_lex_peek_identifier(&p->lex);
    *done = true;
    if (onx_lex_take(&p->lex, '!')) {
        const onx_field *field;
        onx_lex_peek(&p->lex);
        ONX_TRY(find_field(p, &field));
        onx_msg_clear(p->b.at, field);
        *gone |= 1u << onx_field_index(desc, field);
    } else if (first && desc == &onx_desc_tensor && onx_str_is(word, "raw")) {
        onx_lex_identifier(&p->lex);
    } else if (desc == &onx_desc_model && onx_str_is(word, "each")) {
        onx_lex_identifier(&p->lex);
        return read_each(p);
    } else {
        *done = false;
    }
    return ONX_OK;
}

/* Fields of the open message, up to the end of the note or a brace that was not opened here. The
 * first mention of a field replaces what the plain text said. */
static onx_status read_fields(onx_parser *p, uint32_t *gone) {
    const onx_msg *top = p->b.at;
    uint32_t seen = 0;
    for (bool first = true, done;; first = false) {
        char c = onx_lex_peek(&p->lex);
        if (p->b.at == top) {
            if (c == 0 || c == '}') return ONX_OK;
            ONX_TRY(read_word(p, first, gone, &done));
            if (done) continue;
        } else if (onx_lex_take(&p->lex, '}')) {
            onx_builder_leave(&p->b);
            continue;
        }
        if (onx_str_is(onx_lex_peek_identifier(&p->lex), "unknown")) {
            onx_lex_identifier(&p->lex);
            ONX_TRY(read_unknown(p));
            continue;
        }
        const onx_field *field;
        ONX_TRY(find_field(p, &field));
        uint32_t bit = 1u << onx_field_index(p->b.at->desc, field);
        if (p->b.at == top && !(seen & bit)) onx_msg_clear(p->b.at, field);
        if (p->b.at == top) seen |= bit;
        ONX_TRY(onx_builder_check(&p->b, field));
        if (!field->child) {
            ONX_TRY(read_field(p, field));
            continue;
        }
        ONX_TRY(onx_lex_expect(&p->lex, '{', "before the fields of a message"));
        ONX_TRY(onx_builder_enter(&p->b, field, NULL));
    }
}

onx_status onx_parse_note(onx_parser *p, const char *note, uint32_t *gone) {
    if (!note) return ONX_OK;
    uint32_t ignored = 0;
    const char *resume = p->lex.at;
    p->lex.at = note;
    p->lex.in_note = true;
    ONX_TRY(read_fields(p, gone ? gone : &ignored));
    bool is_each = note == p->each_node || note == p->each_tensor;
    if (!is_each && onx_lex_peek(&p->lex) == '}')
        return onx_lex_expected(&p->lex, "the name of a field");
    p->lex.in_note = false;
    p->lex.at = resume;
    return ONX_OK;
}

bool onx_note_is_raw(const onx_parser *p, const char *note) {
    if (!note) return false;
    onx_lex lex = p->lex;
    lex.at = note;
    lex.in_note = true;
    return onx_str_is(onx_lex_peek_identifier(&lex), "raw");
}
