/* json_map.c: messages as JSON, by the protobuf JSON mapping, as google.protobuf.json_format does.
 *
 *     names        lowerCamelCase; reading also takes the names of the .proto
 *     int64        "12": a string, as many JSON readers end at 2^53; reading takes numbers too
 *     bytes        base64; reading also takes the URL-safe alphabet and missing padding
 *     float        the shortest number that reads back the same, or "NaN", "Infinity", "-Infinity"
 *     enum         its name, or its number where there is no name
 *     absent       not there; null when reading. What is set is printed, whatever its value.
 *
 * Beyond the mapping, so that nothing is lost: unknown fields are an array of base64 strings under
 * the key "[onx.unknown]", and a NaN other than the usual one is "-NaN" or "NaN(0x12)" with the
 * bits of its mantissa. Text that is not UTF-8 is refused: JSON cannot express it.
 */
#include "base/base64.h"
#include "base/json.h"
#include "base/number.h"
#include "text/text.h"
#include "text/tree.h"

#include <math.h>

/* ── Printing ────────────────────────────────────────────────────────────────────────────────── */

/* The next character of the JSON name of a field: "ir_version" is "irVersion". */
static char name_char(const char **name) {
    bool join = **name == '_';
    *name += join;
    char c = *(*name)++;
    return join && c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static void print_key(onx_json_writer *w, const onx_field *field) {
    char key[64];
    size_t n = 0;
    for (const char *p = field->name; *p && n < sizeof key;) key[n++] = name_char(&p);
    onx_json_key(w, (onx_str){key, n});
}

/* What number.h writes as nan and inf are strings here, spelled as JavaScript does. */
static void print_float(onx_json_writer *w, onx_str text) {
    char word[2 * ONX_NUMBER_MAX];
    size_t sign = text.data[0] == '-', n = sign;
    const char *name = text.data[sign] == 'i' ? "Infinity" : text.data[sign] == 'n' ? "NaN" : NULL;
    if (!name) {
        onx_json_literal(w, text);
        return;
    }
    word[0] = '-';
    while (*name) word[n++] = *name++;
    for (size_t i = sign + 3; i < text.size; i++) word[n++] = text.data[i];
    onx_json_string(w, (onx_str){word, n});
}

static void print_int(onx_json_writer *w, const onx_field *field, int64_t v) {
    char text[ONX_NUMBER_MAX];
    const char *name = onx_enum_find(field->enums, v);
    if (name)
        onx_json_string(w, onx_str_of(name));
    else
        onx_json_literal(w, (onx_str){text, onx_print_i64(v, text)});
}

static void print_elem(onx_json_writer *w, const onx_field *field, onx_elem v) {
    char text[ONX_NUMBER_MAX];
    switch (onx_field_elem(field)) {
    case ONX_ELEM_I32: print_int(w, field, v.i); break;
    case ONX_ELEM_I64: onx_json_string(w, (onx_str){text, onx_print_i64(v.i, text)}); break;
    case ONX_ELEM_U64: onx_json_string(w, (onx_str){text, onx_print_u64(v.u, text)}); break;
    case ONX_ELEM_F32: print_float(w, (onx_str){text, onx_print_f32(v.f, text)}); break;
    case ONX_ELEM_F64: print_float(w, (onx_str){text, onx_print_f64(v.d, text)}); break;
    case ONX_ELEM_STR: onx_json_string(w, v.s); break;
    case ONX_ELEM_BYTES: onx_json_base64(w, v.s); break;
    case ONX_ELEM_MSG: break;
    }
}

static void print_field(onx_json_writer *w, const onx_msg *msg, const onx_field *field) {
    onx_elems elems = {msg, field, 0};
    onx_elem v;
    print_key(w, field);
    if (onx_field_repeated(field)) onx_json_array(w);
    while (!w->out.status && onx_elems_next(&elems, &v)) print_elem(w, field, v);
    if (onx_field_repeated(field)) onx_json_array_end(w);
}

static void print_enter(onx_json_writer *w, const onx_msg *msg, const onx_field *holder) {
    if (holder && !msg->prev) {
        print_key(w, holder);
        if (onx_field_repeated(holder)) onx_json_array(w);
    }
    onx_json_object(w);
}

static void print_unknown(onx_json_writer *w, const onx_unknown *unknown) {
    if (!unknown) return;
    onx_json_key(w, ONX_LIT(ONX_TREE_UNKNOWN));
    onx_json_array(w);
    for (; unknown; unknown = unknown->next) onx_json_base64(w, unknown->bytes);
    onx_json_array_end(w);
}

static void print_leave(onx_json_writer *w, const onx_msg *msg, const onx_field *holder) {
    print_unknown(w, msg->unknown);
    onx_json_object_end(w);
    if (holder && onx_field_repeated(holder) && !msg->next) onx_json_array_end(w);
}

static void place_invalid(onx_diag *diag, const onx_msg *msg, const onx_field *field) {
    char path[200];
    onx_msg_path(msg, path, sizeof path);
    onx_diag_place(diag, "%s%s%s", path, path[0] ? "." : "", field->name);
    onx_diag_hint(diag, "save it as .onnx or .textproto, or replace the text");
}

onx_status onx_json_print(const void *msg, const onx_writer *writer, onx_diag *diag) {
    onx_json_writer w;
    onx_json_writer_init(&w, writer, diag);
    onx_tree tree = onx_tree_begin(msg);
    while (!w.out.status && onx_tree_next(&tree)) {
        const onx_field *holder = onx_tree_holder(&tree);
        if (tree.event == ONX_TREE_ENTER) print_enter(&w, tree.msg, holder);
        if (tree.event == ONX_TREE_FIELD) print_field(&w, tree.msg, tree.field);
        if (tree.event == ONX_TREE_LEAVE) print_leave(&w, tree.msg, holder);
        if (w.out.status == ONX_INVALID) place_invalid(diag, tree.msg, tree.field);
    }
    return onx_json_writer_finish(&w);
}

/* ── Parsing ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct parser {
    onx_json_reader json;
    onx_builder build;
    onx_diag *diag;
    char plain[128];
} parser;

/* A key, a name or a number, without the escapes it may be written with. All we know are short. */
static onx_str short_text(parser *p) {
    onx_str span = p->json.span;
    if (!p->json.escaped || onx_json_unescape(span, NULL) > sizeof p->plain) return span;
    return (onx_str){p->plain, onx_json_unescape(span, p->plain)};
}

static onx_status fail_token(parser *p, const char *wanted) {
    return onx_fail(p->diag, ONX_MALFORMED, "%s is expected here, not %s", wanted,
                    onx_json_token_name(p->json.token));
}

static bool is_json_name(onx_str key, const char *name) {
    size_t i = 0;
    while (*name && i < key.size)
        if (name_char(&name) != key.data[i++]) return false;
    return *name == '\0' && i == key.size;
}

/* The row for a key in either spelling. */
static const onx_field *find_field(const onx_desc *desc, onx_str key) {
    for (unsigned i = 0; i < desc->n_fields; i++)
        if (is_json_name(key, desc->fields[i].name)) return &desc->fields[i];
    return onx_desc_field(desc, key);
}

/* Integers as digits, as a string of digits, and as a number without fraction ("1e3"). */
static bool parse_i64(onx_str text, int64_t *out) {
    const double exact = 9007199254740992.0;
    double d;
    if (onx_parse_i64(text, out)) return true;
    if (!onx_parse_f64(text, &d) || !(d >= -exact && d <= exact)) return false;
    *out = (int64_t)d;
    return (double)*out == d;
}

static onx_status parse_int(parser *p, const onx_field *field, onx_elem *out) {
    bool is_string = p->json.token == ONX_JSON_STRING,
         is_u64 = onx_field_elem(field) == ONX_ELEM_U64;
    if (!is_string && p->json.token != ONX_JSON_NUMBER) return fail_token(p, "a whole number");
    onx_str text = short_text(p);
    if (is_string && onx_enum_value(field->enums, text, &out->i)) return ONX_OK;
    if (is_u64 && onx_parse_u64(text, &out->u)) return ONX_OK;
    if (parse_i64(text, &out->i) && (!is_u64 || out->i >= 0)) return ONX_OK;
    return onx_fail(p->diag, ONX_MALFORMED, "'%.*s' is no %s", ONX_FMT(text),
                    field->enums ? "value of this enum" : "whole number in the range of the field");
}

/* Infinity must be asked for by name: a number that is too large is a mistake. */
static onx_status parse_float(parser *p, const onx_field *field, onx_elem *out) {
    if (p->json.token != ONX_JSON_STRING && p->json.token != ONX_JSON_NUMBER)
        return fail_token(p, "a number");
    onx_str text = short_text(p);
    bool wide = onx_field_elem(field) == ONX_ELEM_F64;
    if (!(wide ? onx_parse_f64(text, &out->d) : onx_parse_f32(text, &out->f)))
        return onx_fail(p->diag, ONX_MALFORMED, "'%.*s' is no number", ONX_FMT(text));
    bool named = text.data[text.size - 1] > '9'; /* "Infinity"; "NaN(0x1)" is not infinite */
    if (named || !isinf(wide ? out->d : (double)out->f)) return ONX_OK;
    onx_fail(p->diag, ONX_MALFORMED, "'%.*s' is too large for the field", ONX_FMT(text));
    onx_diag_hint(p->diag, "write \"Infinity\" or \"-Infinity\" if that is meant");
    return ONX_MALFORMED;
}

static onx_status parse_string(parser *p, const onx_field *field, onx_str *out) {
    onx_str span = p->json.span;
    if (p->json.token != ONX_JSON_STRING) return fail_token(p, "a string");
    size_t size = p->json.escaped ? onx_json_unescape(span, NULL) : span.size;
    char *data;
    ONX_TRY(onx_builder_room(&p->build, field, size, &data));
    if (p->json.escaped)
        onx_json_unescape(span, data);
    else
        memcpy(data, span.data, size);
    *out = (onx_str){data, size};
    return ONX_OK;
}

static onx_status decode_base64(parser *p, onx_str text, onx_str *out) {
    size_t size = onx_base64_decoded_size(text), bad;
    char *data;
    ONX_TRY(onx_builder_room(&p->build, NULL, size, &data));
    if (!onx_base64_decode(text, data, &bad)) {
        if (!p->json.escaped) p->json.start += 1 + bad;
        return onx_fail(p->diag, ONX_MALFORMED, "the string is not base64");
    }
    *out = (onx_str){data, size};
    return ONX_OK;
}

static onx_status parse_bytes(parser *p, onx_str *out) {
    if (p->json.token != ONX_JSON_STRING) return fail_token(p, "a base64 string");
    if (!p->json.escaped) return decode_base64(p, p->json.span, out);
    size_t size = onx_json_unescape(p->json.span, NULL); /* some writers put "\/" for "/" */
    char *plain = onx_mem_alloc(p->build.doc->ctx, size);
    if (!plain) return onx_fail_nomem(p->diag);
    onx_json_unescape(p->json.span, plain);
    onx_status status = decode_base64(p, (onx_str){plain, size}, out);
    onx_mem_free(p->build.doc->ctx, plain, size);
    return status;
}

static onx_status parse_scalar(parser *p, const onx_field *field) {
    onx_elem v = {0};
    switch (onx_field_elem(field)) {
    case ONX_ELEM_F32:
    case ONX_ELEM_F64: ONX_TRY(parse_float(p, field, &v)); break;
    case ONX_ELEM_STR: ONX_TRY(parse_string(p, field, &v.s)); break;
    case ONX_ELEM_BYTES: ONX_TRY(parse_bytes(p, &v.s)); break;
    default: ONX_TRY(parse_int(p, field, &v)); break;
    }
    return onx_builder_add(&p->build, field, v);
}

static onx_status parse_unknown(parser *p) {
    onx_str bytes;
    if (p->build.at->unknown)
        return onx_fail(p->diag, ONX_MALFORMED, "the key '" ONX_TREE_UNKNOWN "' is given twice");
    ONX_TRY(onx_json_next(&p->json));
    if (p->json.token != ONX_JSON_ARRAY) return fail_token(p, "an array");
    for (;;) {
        ONX_TRY(onx_json_next(&p->json));
        if (p->json.token == ONX_JSON_ARRAY_END) return ONX_OK;
        ONX_TRY(parse_bytes(p, &bytes));
        ONX_TRY(onx_builder_unknown(&p->build, bytes));
    }
}

/* An element of `field`, or its one value: a message is entered and left to the main loop. */
static onx_status parse_value(parser *p, const onx_field *field) {
    if (onx_field_elem(field) != ONX_ELEM_MSG) return parse_scalar(p, field);
    if (p->json.token != ONX_JSON_OBJECT) return fail_token(p, "an object");
    return onx_builder_enter(&p->build, field, NULL);
}

/* The elements of an array, up to its end or to the first message. */
static onx_status parse_elements(parser *p, const onx_field *field) {
    const onx_msg *holder = p->build.at;
    while (p->build.at == holder) {
        ONX_TRY(onx_json_next(&p->json));
        if (p->json.token == ONX_JSON_ARRAY_END) return ONX_OK;
        ONX_TRY(parse_value(p, field));
    }
    return ONX_OK;
}

static onx_status parse_key(parser *p) {
    onx_str key = short_text(p);
    const onx_desc *desc = p->build.at->desc;
    if (onx_str_is(key, ONX_TREE_UNKNOWN)) return parse_unknown(p);
    const onx_field *field = find_field(desc, key);
    if (!field)
        return onx_fail(p->diag, ONX_MALFORMED, "%s has no field '%.*s'", desc->name, ONX_FMT(key));
    uint32_t bit = 1u << onx_field_index(desc, field), *seen = onx_builder_mark(&p->build);
    p->build.field = field;
    if (*seen & bit)
        return onx_fail(p->diag, ONX_MALFORMED, "the key '%.*s' is given twice", ONX_FMT(key));
    *seen |= bit;
    ONX_TRY(onx_json_next(&p->json));
    if (p->json.token == ONX_JSON_NULL) return ONX_OK;
    ONX_TRY(onx_builder_check(&p->build, field));
    if (!onx_field_repeated(field)) return parse_value(p, field);
    if (p->json.token != ONX_JSON_ARRAY) return fail_token(p, "an array");
    return parse_elements(p, field);
}

/* A message ends; if it is an element of an array, that goes on. */
static onx_status parse_leave(parser *p) {
    const onx_msg *msg = p->build.at;
    onx_builder_leave(&p->build);
    if (!p->build.at) return ONX_OK;
    const onx_field *field = &p->build.at->desc->fields[msg->field];
    p->build.field = field;
    return onx_field_repeated(field) ? parse_elements(p, field) : ONX_OK;
}

static onx_status parse(parser *p, const onx_desc *desc, onx_msg **out) {
    ONX_TRY(onx_json_next(&p->json));
    if (p->json.token != ONX_JSON_OBJECT) return fail_token(p, "an object");
    ONX_TRY(onx_builder_enter(&p->build, NULL, desc));
    while (p->build.at) {
        ONX_TRY(onx_json_next(&p->json));
        ONX_TRY(p->json.token == ONX_JSON_KEY ? parse_key(p) : parse_leave(p));
    }
    ONX_TRY(onx_json_next(&p->json));
    return onx_builder_finish(&p->build, out);
}

onx_status onx_json_parse(onx_doc *doc, const onx_desc *desc, onx_str text, onx_msg **out,
                          onx_diag *diag) {
    parser p = {.diag = diag};
    uint32_t depth = doc->ctx->limits.depth; /* of messages; each may lie in an array */
    onx_json_reader_init(&p.json, doc->ctx, text, depth < UINT32_MAX / 4 ? 2 * depth + 2 : depth,
                         diag);
    onx_builder_init(&p.build, doc, text.size, diag);
    onx_status status = parse(&p, desc, out);
    if (status) onx_builder_place(&p.build, text, p.json.start);
    onx_builder_fini(&p.build);
    onx_json_reader_fini(&p.json);
    return status;
}
