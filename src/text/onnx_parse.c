/* onnx_parse.c: models from ONNX text, as the onnx package reads it, with notes (see onnx_text.h).
 *
 * Guarantees: takes all that the onnx package prints and all that onx_text_print writes; says line
 * and column of what it does not take; time and memory are in proportion to the text.
 *
 * Graphs hold nodes, which hold attributes, which hold graphs: what is open stands on a stack of
 * lists.
 *
 *     graph (…) => (…) {        NODES
 *         y = If (c) <          NODES ATTRS
 *             then = g () => {  NODES ATTRS NODES
 */
#include "text/onnx_parse.h"

#include "base/utf8.h"
#include "text/text.h"

/* ── The stack ───────────────────────────────────────────────────────────────────────────────── */

onx_status onx_frame_push(onx_parser *p, onx_frame frame) {
    onx_buf_put(&p->frames, &frame, sizeof frame);
    return p->frames.failed ? onx_fail_nomem(p->lex.diag) : ONX_OK;
}

onx_frame *onx_frame_top(onx_parser *p) {
    return (onx_frame *)(void *)(p->frames.data + p->frames.size) - 1;
}

onx_frame onx_frame_pop(onx_parser *p) {
    onx_frame frame = *onx_frame_top(p);
    p->frames.size -= sizeof frame;
    return frame;
}

onx_status onx_parser_add_type(onx_parser *p, const onx_field *field, onx_type *type) {
    size_t around = p->b.marks.size / sizeof(uint32_t);
    ONX_TRY(onx_lex_depth(&p->lex, around + onx_type_height(type)));
    onx_msg_link(p->b.at, field, type);
    return ONX_OK;
}

/* ── Names, strings, entries ─────────────────────────────────────────────────────────────────── */

onx_status onx_parse_name(onx_parser *p, const onx_field *field, const char *what) {
    onx_elem name;
    ONX_TRY(onx_lex_name(&p->lex, what, &name.s));
    return onx_builder_add(&p->b, field, name);
}

onx_status onx_parse_string(onx_parser *p, const onx_field *field, const char *what) {
    size_t limit = onx_string_limit(&p->b.doc->ctx->limits, field);
    onx_elem text;
    ONX_TRY(onx_lex_string(&p->lex, limit, what, &text.s));
    return onx_builder_add(&p->b, field, text);
}

static onx_status read_number(onx_parser *p, const onx_field *field) {
    onx_elem number;
    ONX_TRY(onx_lex_i64(&p->lex, "an integer", &number.i));
    return onx_builder_add(&p->b, field, number);
}

onx_status onx_parse_entries(onx_parser *p, const onx_field *field) {
    if (onx_lex_take(&p->lex, ']')) return ONX_OK;
    do {
        ONX_TRY(onx_builder_enter(&p->b, field, NULL));
        ONX_TRY(onx_parse_string(p, ONX_ROW(entry, key), "a key as a string"));
        ONX_TRY(onx_lex_expect(&p->lex, ':', "between key and value"));
        ONX_TRY(onx_parse_string(p, ONX_ROW(entry, value), "a value as a string"));
        onx_builder_leave(&p->b);
    } while (onx_lex_take(&p->lex, ','));
    return onx_lex_expect(&p->lex, ']', "at the end of the list");
}

/* ── Graphs ──────────────────────────────────────────────────────────────────────────────────── */

/* "type name", where the type may be missing: a value, or, before '=', a tensor. */
typedef struct declaration {
    const char *note;
    onx_type *type;
    onx_str name;
} declaration;

static onx_status read_declaration(onx_parser *p, declaration *d) {
    *d = (declaration){.note = onx_lex_note(&p->lex)};
    if (onx_type_is_next(&p->lex, true)) ONX_TRY(onx_type_read(&p->lex, &d->type));
    return onx_lex_name(&p->lex, "the name of a value", &d->name);
}

static onx_status add_value(onx_parser *p, const onx_field *field, const declaration *d) {
    ONX_TRY(onx_builder_enter(&p->b, field, NULL));
    ONX_TRY(onx_builder_add(&p->b, ONX_ROW(value_info, name), (onx_elem){.s = d->name}));
    if (d->type) ONX_TRY(onx_parser_add_type(p, ONX_ROW(value_info, type), d->type));
    ONX_TRY(onx_parse_note(p, d->note, NULL));
    onx_builder_leave(&p->b);
    return ONX_OK;
}

static onx_status add_initializer(onx_parser *p, const declaration *d) {
    if (!d->type)
        return onx_lex_fail(&p->lex, ONX_MALFORMED, "'%.*s' needs a type to have a value",
                            ONX_FMT(d->name));
    ONX_TRY(onx_builder_enter(&p->b, ONX_ROW(graph, initializer), NULL));
    ONX_TRY(onx_builder_add(&p->b, ONX_ROW(tensor, name), (onx_elem){.s = d->name}));
    ONX_TRY(onx_parse_tensor(p, d->type, d->note));
    onx_builder_leave(&p->b);
    return ONX_OK;
}

/* Inputs or outputs of a graph, behind the parenthesis. An input can have a default. */
static onx_status read_values(onx_parser *p, const onx_field *field) {
    declaration d;
    if (onx_lex_take(&p->lex, ')')) return ONX_OK;
    do {
        ONX_TRY(read_declaration(p, &d));
        ONX_TRY(add_value(p, field, &d));
        d.note = NULL;
        if (field == ONX_ROW(graph, input) && onx_lex_take(&p->lex, '='))
            ONX_TRY(add_initializer(p, &d));
    } while (onx_lex_take(&p->lex, ','));
    return onx_lex_expect(&p->lex, ')', "at the end of the inputs or outputs");
}

/* "<" initializers and types of inner values ">" of the open graph or function, if it has any. */
static onx_status read_inner_values(onx_parser *p) {
    declaration d;
    bool in_graph = p->b.at->desc == &onx_desc_graph;
    if (!onx_lex_take(&p->lex, '<') || onx_lex_take(&p->lex, '>')) return ONX_OK;
    do {
        ONX_TRY(read_declaration(p, &d));
        if (in_graph && onx_lex_take(&p->lex, '='))
            ONX_TRY(add_initializer(p, &d));
        else if (in_graph)
            ONX_TRY(add_value(p, ONX_ROW(graph, value_info), &d));
        else
            ONX_TRY(add_value(p, ONX_ROW(function, value_info), &d));
    } while (onx_lex_take(&p->lex, ','));
    return onx_lex_expect(&p->lex, '>', "at the end of the inner values");
}

static onx_status expect_arrow(onx_parser *p) {
    if (onx_lex_peek(&p->lex) != '=' || p->lex.end - p->lex.at < 2 || p->lex.at[1] != '>')
        return onx_lex_expected(&p->lex, "'=>' before the outputs");
    p->lex.at += 2;
    return onx_lex_expect(&p->lex, '(', "before the outputs");
}

static onx_status open_nodes(onx_parser *p, const char *note) {
    ONX_TRY(read_inner_values(p));
    ONX_TRY(onx_lex_expect(&p->lex, '{', "before the nodes"));
    return onx_frame_push(p, (onx_frame){.list = ONX_IN_NODES, .note = note});
}

onx_status onx_parse_graph(onx_parser *p, const char *note) {
    ONX_TRY(onx_parse_name(p, ONX_ROW(graph, name), "the name of a graph"));
    if (onx_lex_take(&p->lex, '(')) ONX_TRY(read_values(p, ONX_ROW(graph, input)));
    ONX_TRY(expect_arrow(p));
    ONX_TRY(read_values(p, ONX_ROW(graph, output)));
    return open_nodes(p, note);
}

/* ── Functions ───────────────────────────────────────────────────────────────────────────────── */

/* Names that may have types. */
static onx_status read_parameters(onx_parser *p, const onx_field *field) {
    declaration d;
    if (onx_lex_take(&p->lex, ')')) return ONX_OK;
    do {
        ONX_TRY(read_declaration(p, &d));
        ONX_TRY(onx_builder_add(&p->b, field, (onx_elem){.s = d.name}));
        if (d.type || d.note) ONX_TRY(add_value(p, ONX_ROW(function, value_info), &d));
    } while (onx_lex_take(&p->lex, ','));
    return onx_lex_expect(&p->lex, ')', "at the end of the function's inputs or outputs");
}

static onx_status read_signature(onx_parser *p, const char *note) {
    ONX_TRY(onx_lex_expect(&p->lex, '(', "before the function's inputs"));
    ONX_TRY(read_parameters(p, ONX_ROW(function, input)));
    ONX_TRY(expect_arrow(p));
    ONX_TRY(read_parameters(p, ONX_ROW(function, output)));
    return open_nodes(p, note);
}

/* ── The lists ───────────────────────────────────────────────────────────────────────────────── */

static onx_status close_attrs(onx_parser *p) {
    ONX_TRY(onx_lex_expect(&p->lex, '>', "or ',' after an attribute"));
    onx_frame frame = onx_frame_pop(p);
    if (p->b.at->desc == &onx_desc_function) return read_signature(p, frame.note);
    return frame.is_after ? onx_parse_node_end(p, frame.note) : onx_parse_inputs(p, frame.note);
}

/* One step in the innermost list. */
static onx_status step(onx_parser *p) {
    onx_frame *frame = onx_frame_top(p);
    bool started = frame->started;
    frame->started = true;
    if (frame->list == ONX_IN_NODES) {
        const char *note = onx_lex_note(&p->lex);
        if (note || !onx_lex_take(&p->lex, '}')) return onx_parse_node(p, note);
        ONX_TRY(onx_parse_note(p, onx_frame_pop(p).note, NULL));
        onx_builder_leave(&p->b);
        return ONX_OK;
    }
    if (frame->open) {
        ONX_TRY(onx_parse_note(p, frame->attr_note, NULL));
        onx_builder_leave(&p->b);
        frame->open = false;
    }
    bool more = !started || onx_lex_take(&p->lex, ',');
    if (frame->list == ONX_IN_ATTRS) return more ? onx_parse_attr(p) : close_attrs(p);
    if (more) return onx_parse_value(p, frame->type, true);
    onx_frame_pop(p);
    return onx_lex_expect(&p->lex, ']', "or ',' after a value");
}

static onx_status run(onx_parser *p) {
    while (p->frames.size > 0) ONX_TRY(step(p));
    return ONX_OK;
}

/* ── The model ───────────────────────────────────────────────────────────────────────────────── */

static onx_status read_opsets(onx_parser *p, const onx_field *field) {
    ONX_TRY(onx_lex_expect(&p->lex, '[', "before the opsets"));
    if (onx_lex_take(&p->lex, ']')) return ONX_OK;
    do {
        ONX_TRY(onx_builder_enter(&p->b, field, NULL));
        ONX_TRY(onx_parse_string(p, ONX_ROW(opset, domain), "a domain as a string"));
        ONX_TRY(onx_lex_expect(&p->lex, ':', "between domain and version"));
        ONX_TRY(read_number(p, ONX_ROW(opset, version)));
        onx_builder_leave(&p->b);
    } while (onx_lex_take(&p->lex, ','));
    return onx_lex_expect(&p->lex, ']', "at the end of the opsets");
}

/* Fields that can stand in the header of a model or function; those that are repeated have a syntax
 * of their own. */
static bool is_key(const onx_field *field) {
    static const char *const keys[] = {"ir_version",       "opset_import",   "producer_name",
                                       "producer_version", "domain",         "model_version",
                                       "doc_string",       "metadata_props", "overload"};
    for (size_t i = 0; field && i < ONX_COUNT(keys); i++)
        if (!strcmp(field->name, keys[i])) return true;
    return false;
}

/* "<" key ":" value, … ">" of the open model or function. */
static onx_status read_header(onx_parser *p) {
    do {
        onx_str key = onx_lex_peek_identifier(&p->lex);
        const onx_field *field = onx_desc_field(p->b.at->desc, key);
        if (!is_key(field))
            return onx_lex_expected(&p->lex,
                                    "a key such as ir_version, opset_import or doc_string");
        onx_lex_identifier(&p->lex);
        ONX_TRY(onx_lex_expect(&p->lex, ':', "after the key"));
        if (field->child == &onx_desc_opset) {
            ONX_TRY(read_opsets(p, field));
        } else if (field->child == &onx_desc_entry) {
            ONX_TRY(onx_lex_expect(&p->lex, '[', "before the metadata"));
            ONX_TRY(onx_parse_entries(p, field));
        } else if (field->kind == ONX_FIELD_I64) {
            ONX_TRY(read_number(p, field));
        } else {
            ONX_TRY(onx_parse_string(p, field, "a string"));
        }
    } while (onx_lex_take(&p->lex, ','));
    return onx_lex_expect(&p->lex, '>', "or ',' after a value of the header");
}

static onx_status read_function(onx_parser *p) {
    const char *note = onx_lex_note(&p->lex);
    ONX_TRY(onx_builder_enter(&p->b, ONX_ROW(model, functions), NULL));
    if (onx_lex_take(&p->lex, '<')) ONX_TRY(read_header(p));
    ONX_TRY(onx_parse_name(p, ONX_ROW(function, name), "the name of a function"));
    if (!onx_lex_take(&p->lex, '<'))
        ONX_TRY(read_signature(p, note));
    else
        ONX_TRY(onx_frame_push(p, (onx_frame){.list = ONX_IN_ATTRS, .note = note}));
    return run(p);
}

static onx_status read_model(onx_parser *p) {
    uint32_t gone = 0;
    ONX_TRY(onx_builder_enter(&p->b, NULL, &onx_desc_model));
    const char *note = onx_lex_note(&p->lex);
    if (onx_lex_take(&p->lex, '<')) {
        ONX_TRY(read_header(p));
        ONX_TRY(onx_parse_note(p, note, &gone));
        note = onx_lex_note(&p->lex);
    }
    ONX_TRY(onx_builder_enter(&p->b, ONX_ROW(model, graph), NULL));
    ONX_TRY(onx_parse_graph(p, note));
    ONX_TRY(run(p));
    while (onx_lex_peek(&p->lex) != 0 || p->lex.at < p->lex.end) ONX_TRY(read_function(p));
    if (gone & ONX_BIT(model, graph)) onx_msg_clear(p->b.at, ONX_ROW(model, graph));
    onx_builder_leave(&p->b);
    return ONX_OK;
}

onx_status onx_text_parse(onx_doc *doc, onx_str text, onx_model **out, onx_diag *diag) {
    onx_parser p = {.each_node = NULL};
    onx_msg *root = NULL;
    onx_diag local = ONX_INIT(onx_diag);
    if (!diag) diag = &local;
    onx_builder_init(&p.b, doc, text.size, diag);
    onx_lex_init(&p.lex, doc, text, diag);
    onx_buf_init(&p.scratch, doc->ctx);
    onx_buf_init(&p.frames, doc->ctx);
    diag->place[0] = '\0';
    onx_status status = read_model(&p);
    if (!status) status = onx_builder_finish(&p.b, &root);
    if (status && !diag->place[0]) onx_diag_text(diag, text, (size_t)(p.lex.at - p.lex.base));
    onx_buf_fini(&p.frames);
    onx_buf_fini(&p.scratch);
    onx_builder_fini(&p.b);
    if (status) return status;
    *out = (onx_model *)root;
    return ONX_OK;
}
