/* onnx_parse_node.c: nodes and attributes from ONNX text: "[name] y = domain.Op <axis: int = 1>
 * (x)".
 *
 * An attribute's type may be left out where the value shows it. Beyond identifiers, operators and
 * attributes may have the names that the onnx package prints but does not read: "pkg.torch.2.1.f",
 * "aten::add". */
#include "base/number.h"
#include "text/onnx_parse.h"

/* ── Nodes ───────────────────────────────────────────────────────────────────────────────────── */

/* Names of inputs or outputs of a node. A missing one is "", or nothing before a comma. */
static onx_status read_names(onx_parser *p, const onx_field *field) {
    for (;;) {
        char c = onx_lex_peek(&p->lex);
        bool named = c == '"' || onx_lex_peek_identifier(&p->lex).size > 0;
        onx_elem none = {.s = {"", 0}};
        if (named)
            ONX_TRY(onx_parse_name(p, field, "a name"));
        else if (c == ',')
            ONX_TRY(onx_builder_add(&p->b, field, none));
        if (!onx_lex_take(&p->lex, ',')) return ONX_OK;
    }
}

/* "domain.with.dots.Operator", blanks around the dots removed, into the scratch buffer. A pair of
 * colons belongs to it; a single one begins the overload. */
static onx_status read_path(onx_parser *p) {
    onx_lex *lex = &p->lex;
    p->scratch.size = 0;
    for (;;) {
        onx_str word = onx_lex_word(lex);
        onx_buf_put(&p->scratch, word.data, word.size);
        bool colons = lex->end - lex->at >= 2 && lex->at[0] == ':' && lex->at[1] == ':';
        bool dot = onx_lex_peek(lex) == '.';
        dot = dot || (p->scratch.size && p->scratch.data[p->scratch.size - 1] == '.' && word.size);
        if (!colons && !dot) break;
        if (colons) onx_buf_puts(&p->scratch, "::");
        if (colons) lex->at += 2;
    }
    return p->scratch.failed ? onx_fail_nomem(lex->diag) : ONX_OK;
}

static onx_status add_path_part(onx_parser *p, const onx_field *field, onx_str part) {
    onx_elem elem;
    if (part.size > p->b.doc->ctx->limits.name_bytes)
        return onx_lex_fail(&p->lex, ONX_LIMIT, "a name of %zu bytes is over the limit", part.size);
    if (!onx_doc_str(p->b.doc, part, &elem.s)) return onx_lex_nomem(&p->lex);
    return onx_builder_add(&p->b, field, elem);
}

static onx_status read_operator(onx_parser *p) {
    ONX_TRY(read_path(p));
    onx_str path = {p->scratch.data, p->scratch.size};
    size_t dot = path.size;
    while (dot > 0 && path.data[dot - 1] != '.') dot--;
    onx_str op = {path.size ? path.data + dot : "", path.size - dot};
    if (dot > 0 && op.size == 0) return onx_lex_expected(&p->lex, "an operator after the domain");
    if (dot > 0) ONX_TRY(add_path_part(p, ONX_ROW(node, domain), (onx_str){path.data, dot - 1}));
    ONX_TRY(add_path_part(p, ONX_ROW(node, op_type), op));
    if (!onx_lex_take(&p->lex, ':')) return ONX_OK;
    onx_elem overload;
    ONX_TRY(onx_lex_loose_name(&p->lex, "the operator's overload", &overload.s));
    return onx_builder_add(&p->b, ONX_ROW(node, overload), overload);
}

onx_status onx_parse_node_end(onx_parser *p, const char *note) {
    ONX_TRY(onx_parse_note(p, note ? note : p->each_node, NULL));
    onx_builder_leave(&p->b);
    return ONX_OK;
}

/* Attributes may also stand here. */
onx_status onx_parse_inputs(onx_parser *p, const char *note) {
    ONX_TRY(onx_lex_expect(&p->lex, '(', "before the node's inputs"));
    ONX_TRY(read_names(p, ONX_ROW(node, input)));
    ONX_TRY(onx_lex_expect(&p->lex, ')', "after the node's inputs"));
    if (((const onx_node *)p->b.at)->attribute.count > 0 || !onx_lex_take(&p->lex, '<'))
        return onx_parse_node_end(p, note);
    return onx_frame_push(p, (onx_frame){.list = ONX_IN_ATTRS, .is_after = true, .note = note});
}

onx_status onx_parse_node(onx_parser *p, const char *note) {
    bool in_graph = p->b.at->desc == &onx_desc_graph;
    ONX_TRY(
        onx_builder_enter(&p->b, in_graph ? ONX_ROW(graph, node) : ONX_ROW(function, node), NULL));
    if (onx_lex_take(&p->lex, '[')) {
        onx_elem none = {.s = {"", 0}};
        if (onx_lex_peek(&p->lex) == ']')
            ONX_TRY(onx_builder_add(&p->b, ONX_ROW(node, name), none));
        else
            ONX_TRY(onx_parse_name(p, ONX_ROW(node, name), "the node's name"));
        ONX_TRY(onx_lex_expect(&p->lex, ']', "after the node's name"));
    }
    ONX_TRY(read_names(p, ONX_ROW(node, output)));
    const onx_node *node = (const onx_node *)p->b.at;
    bool begun = node->output.n > 0 || node->msg.has;
    ONX_TRY(onx_lex_expect(&p->lex, '=', begun ? "after the node's outputs" : "of a node, or '}'"));
    ONX_TRY(read_operator(p));
    if (!onx_lex_take(&p->lex, '<')) return onx_parse_inputs(p, note);
    return onx_frame_push(p, (onx_frame){.list = ONX_IN_ATTRS, .note = note});
}

static onx_status set_type(onx_parser *p, unsigned type) {
    return onx_builder_add(&p->b, ONX_ROW(attr, type), (onx_elem){.i = (int64_t)type});
}

static unsigned list_of(unsigned elem) {
    for (unsigned type = 1; type < ONX_ATTR_FORMS; type++)
        if (onx_attr_forms[type].elem == elem && type != elem) return type;
    return ONX_ATTR_UNDEFINED;
}

/* ── Values ──────────────────────────────────────────────────────────────────────────────────── */

static onx_str peek_number(onx_parser *p) {
    onx_lex ahead = p->lex;
    return onx_lex_number(&ahead);
}

static bool is_integer(onx_str number) {
    for (size_t i = 0; i < number.size; i++)
        if ((number.data[i] < '0' || number.data[i] > '9') && (i > 0 || number.data[i] != '-'))
            return false;
    return number.size > 0;
}

/* What an undeclared value is, by its looks; for a type it may turn out to be a tensor. */
static unsigned guess(onx_parser *p) {
    char c = onx_lex_peek(&p->lex);
    float f;
    if (c == '"') return ONX_ATTR_STRING;
    if (onx_type_is_next(&p->lex, false)) return ONX_ATTR_TYPE;
    onx_str number = peek_number(p);
    if (is_integer(number)) return ONX_ATTR_INT;
    if (onx_parse_f32(number, &f)) return ONX_ATTR_FLOAT;
    return onx_lex_peek_identifier(&p->lex).size ? ONX_ATTR_GRAPH : ONX_ATTR_UNDEFINED;
}

static onx_status read_scalar(onx_parser *p, const onx_field *row) {
    onx_elem elem = {0};
    onx_elem_kind kind = onx_field_elem(row);
    if (kind == ONX_ELEM_BYTES) {
        size_t limit = p->b.doc->ctx->limits.string_bytes;
        ONX_TRY(onx_lex_string(&p->lex, limit, "a string, as the attribute's type says", &elem.s));
    } else if (kind == ONX_ELEM_I64) {
        ONX_TRY(onx_lex_i64(&p->lex, "an integer, as the attribute's type says", &elem.i));
    } else {
        uint64_t bits = 0;
        if (!onx_parse_number(peek_number(p), onx_payload_of(ONX_DTYPE_F32)->list, &bits))
            return onx_lex_expected(&p->lex, "a number, as the attribute's type says");
        memcpy(&elem.f, &bits, sizeof elem.f);
        onx_lex_number(&p->lex);
    }
    return onx_builder_add(&p->b, row, elem);
}

static onx_status read_tensor(onx_parser *p, const onx_field *row, const onx_type *type,
                              const char *note) {
    ONX_TRY(onx_builder_enter(&p->b, row, NULL));
    bool named = onx_lex_peek(&p->lex) == '"' || onx_lex_peek_identifier(&p->lex).size > 0;
    if (named) ONX_TRY(onx_parse_name(p, ONX_ROW(tensor, name), "the tensor's name"));
    onx_lex_take(&p->lex, '=');
    ONX_TRY(onx_parse_tensor(p, type, note));
    onx_builder_leave(&p->b);
    return ONX_OK;
}

/* Does a tensor follow, of which the type has been read? */
static bool tensor_follows(onx_parser *p) {
    char c = onx_lex_peek(&p->lex);
    return c == '{' || c == '=' || c == '"' || c == '.' ||
           onx_lex_peek_identifier(&p->lex).size > 0;
}

static onx_status read_type_or_tensor(onx_parser *p, unsigned type, bool declared, bool in_list,
                                      const char *note) {
    onx_type *value;
    ONX_TRY(onx_type_read(&p->lex, &value));
    if (!declared && tensor_follows(p)) type = ONX_ATTR_TENSOR;
    if (in_list) onx_frame_top(p)->type = (uint8_t)type;
    unsigned whole = in_list ? list_of(type) : type;
    const onx_field *row = &onx_desc_attr.fields[onx_attr_forms[whole].row];
    ONX_TRY(set_type(p, whole));
    if (type == ONX_ATTR_TENSOR) return read_tensor(p, row, value, note);
    if (note) return onx_lex_fail(&p->lex, ONX_MALFORMED, "a type has no note of its own");
    return onx_parser_add_type(p, row, value);
}

onx_status onx_parse_value(onx_parser *p, unsigned type, bool in_list) {
    bool declared = type != ONX_ATTR_UNDEFINED;
    const char *note = onx_lex_note(&p->lex);
    if (!declared) type = guess(p);
    if (type == ONX_ATTR_UNDEFINED) return onx_lex_expected(&p->lex, "the attribute's value");
    if (in_list) onx_frame_top(p)->type = (uint8_t)type;
    if (type == ONX_ATTR_TENSOR || type == ONX_ATTR_TYPE)
        return read_type_or_tensor(p, type, declared, in_list, note);
    if (type == ONX_ATTR_SPARSE_TENSOR) {
        onx_lex_fail(&p->lex, ONX_MALFORMED, "sparse tensors have no syntax of their own");
        onx_diag_hint(p->lex.diag,
                      "give them in a note before the attribute: #@ sparse_tensor { … }");
        return ONX_MALFORMED;
    }
    unsigned whole = in_list ? list_of(type) : type;
    const onx_field *row = &onx_desc_attr.fields[onx_attr_forms[whole].row];
    ONX_TRY(set_type(p, whole));
    if (type == ONX_ATTR_GRAPH) {
        ONX_TRY(onx_builder_enter(&p->b, row, NULL));
        return onx_parse_graph(p, note);
    }
    if (note) return onx_lex_fail(&p->lex, ONX_MALFORMED, "numbers and strings have no note");
    return read_scalar(p, row);
}

/* ── Attributes ──────────────────────────────────────────────────────────────────────────────── */

/* ": type"; ONX_ATTR_UNDEFINED for "undefined", as the onnx package writes where there is none. */
static onx_status read_type(onx_parser *p, unsigned *out) {
    onx_str word = onx_lex_peek_identifier(&p->lex);
    unsigned type = 0;
    for (unsigned i = 1; i < ONX_ATTR_FORMS; i++)
        if (onx_str_is(word, onx_attr_forms[i].word)) type = i;
    if (!type && !onx_str_is(word, "undefined"))
        return onx_lex_expected(&p->lex, "the attribute's type: float, int, string, tensor, graph, "
                                         "type_proto, or one of these with an s");
    onx_lex_identifier(&p->lex);
    *out = type;
    return ONX_OK;
}

static onx_status read_list(onx_parser *p, unsigned type) {
    unsigned elem = onx_attr_forms[type].elem;
    if (type && elem == type)
        return onx_lex_fail(&p->lex, ONX_MALFORMED,
                            "the attribute's type is '%s', but this is a list",
                            onx_attr_forms[type].word);
    if (!onx_lex_take(&p->lex, ']'))
        return onx_frame_push(p, (onx_frame){.list = ONX_IN_VALUES, .type = (uint8_t)elem});
    if (type) return set_type(p, type);
    onx_lex_fail(&p->lex, ONX_MALFORMED, "an empty list does not show its type");
    onx_diag_hint(p->lex.diag, "write the type behind the name: axes: ints = []");
    return ONX_MALFORMED;
}

/* The onnx package writes nothing for values it has no notation for, and forgets the bracket before
 * no strings. */
static bool take_nothing(onx_parser *p, unsigned type, bool declared) {
    char c = onx_lex_peek(&p->lex);
    bool mute = declared &&
                (type == ONX_ATTR_UNDEFINED || onx_attr_forms[type].elem == ONX_ATTR_SPARSE_TENSOR);
    if (type == ONX_ATTR_STRINGS && onx_lex_take(&p->lex, ']')) return true;
    return mute && (c == ',' || c == '>');
}

/* What follows the name. */
static onx_status read_rest(onx_parser *p) {
    unsigned type = ONX_ATTR_UNDEFINED;
    bool declared = onx_lex_take(&p->lex, ':');
    if (declared) ONX_TRY(read_type(p, &type));
    ONX_TRY(onx_lex_expect(&p->lex, '=', "before the attribute's value"));
    if (onx_lex_take(&p->lex, '@')) {
        if (type) ONX_TRY(set_type(p, type));
        return onx_parse_name(p, ONX_ROW(attr, ref_attr_name),
                              "the name of the function's attribute");
    }
    if (take_nothing(p, type, declared)) return type ? set_type(p, type) : ONX_OK;
    if (onx_lex_take(&p->lex, '[')) return read_list(p, type);
    if (type && onx_attr_forms[type].elem != type)
        return onx_lex_expected(&p->lex, "'[': the attribute's type says that it is a list");
    return onx_parse_value(p, type, false);
}

onx_status onx_parse_attr(onx_parser *p) {
    const char *note = onx_lex_note(&p->lex);
    bool in_function = p->b.at->desc == &onx_desc_function;
    onx_elem name;
    ONX_TRY(onx_lex_loose_name(&p->lex, "the attribute's name", &name.s));
    char c = onx_lex_peek(&p->lex);
    if (in_function && c != ':' && c != '=') {
        if (note) return onx_lex_fail(&p->lex, ONX_MALFORMED, "a name alone has no note");
        return onx_builder_add(&p->b, ONX_ROW(function, attribute), name);
    }
    onx_frame_top(p)->open = true;
    onx_frame_top(p)->attr_note = note;
    ONX_TRY(onx_builder_enter(
        &p->b, in_function ? ONX_ROW(function, attribute_proto) : ONX_ROW(node, attribute), NULL));
    ONX_TRY(onx_builder_add(&p->b, ONX_ROW(attr, name), name));
    return read_rest(p);
}
