/* onnx_print_node.c: nodes and attributes as ONNX text: "[name] y = domain.Op <axis: int = 1> (x)".
 *
 * What has no syntax is written as something else, with a note that says what it is: an attribute
 * as "int = 0", and an operator as "_". */
#include "base/number.h"
#include "text/onnx_print.h"
#include "text/tree.h"

/* ── Nodes ───────────────────────────────────────────────────────────────────────────────────── */

/* Part of an operator's path: words, and pairs of colons. */
static bool is_path(onx_str s) {
    for (size_t i = 0; i < s.size; i++) {
        bool pair = s.data[i] == ':' && i + 1 < s.size && s.data[i + 1] == ':';
        if (pair)
            i++;
        else if (!onx_is_word((onx_str){s.data + i, 1}) && (unsigned char)s.data[i] < 0x80)
            return false;
    }
    return s.size > 0 && onx_is_text(s);
}

static bool is_operator(onx_str s) {
    return is_path(s) && !memchr(s.data, '.', s.size);
}

onx_note onx_node_note(const onx_node *n) {
    uint32_t plain = ONX_BIT(node, input) | ONX_BIT(node, output) | ONX_BIT(node, name) |
                     ONX_BIT(node, attribute);
    if (n->op_type.size == 0 || is_operator(n->op_type)) plain |= ONX_BIT(node, op_type);
    if (n->op_type.size && is_path(n->domain)) plain |= ONX_BIT(node, domain);
    if (n->op_type.size && onx_is_word(n->overload)) plain |= ONX_BIT(node, overload);
    return onx_note_of(n, plain, ONX_BIT(node, op_type));
}

static bool has_subgraphs(const onx_node *n) {
    ONX_EACH (const onx_attr, attr, n->attribute)
        if (attr->g || attr->graphs.count > 0) return true;
    return false;
}

static void put_operator(onx_printer *pr, const onx_node *n) {
    onx_out *out = &pr->out;
    if (n->op_type.size == 0) return;
    if (is_path(n->domain)) {
        onx_out_put(out, n->domain.data, n->domain.size);
        onx_out_putc(out, '.');
    }
    if (is_operator(n->op_type))
        onx_out_put(out, n->op_type.data, n->op_type.size);
    else
        onx_out_putc(out, '_');
    if (onx_is_word(n->overload)) {
        onx_out_putc(out, ':');
        onx_out_put(out, n->overload.data, n->overload.size);
    }
}

static void put_inputs(onx_printer *pr, const onx_node *n) {
    onx_out_puts(&pr->out, " (");
    onx_print_names(pr, &n->input);
    onx_out_putc(&pr->out, ')');
}

/* Attributes stand before the inputs, but graphs behind them. */
void onx_print_node(onx_printer *pr, const onx_node *n) {
    onx_newline(pr);
    onx_note_print(pr, n, onx_node_note(n), NULL);
    if (onx_msg_has(n, ONX_ROW(node, name))) {
        onx_out_putc(&pr->out, '[');
        onx_print_name(pr, n->name);
        onx_out_puts(&pr->out, "] ");
    }
    onx_print_names(pr, &n->output);
    onx_out_puts(&pr->out, n->output.n ? " = " : "= ");
    put_operator(pr, n);
    if (has_subgraphs(n)) put_inputs(pr, n);
    if (n->attribute.count > 0) onx_out_puts(&pr->out, " <");
    pr->indent++;
}

void onx_print_node_end(onx_printer *pr, const onx_node *n) {
    pr->indent--;
    if (n->attribute.count > 0) onx_out_putc(&pr->out, '>');
    if (!has_subgraphs(n)) put_inputs(pr, n);
}

/* ── Attributes ──────────────────────────────────────────────────────────────────────────────── */

/* How an attribute is written. */
typedef struct attr_text {
    unsigned type; /* after the colon; 0: none */
    bool is_ref, is_list;
    bool is_standin; /* "int = 0" stands for what has no syntax; all of it is in the note */
    onx_note note;
} attr_text;

static const onx_field *value_row(unsigned type) {
    return &onx_desc_attr.fields[onx_attr_forms[type].row];
}

static bool types_are_plain(const onx_attr *attr) {
    if (attr->tp && !onx_type_is_plain(attr->tp)) return false;
    ONX_EACH (const onx_type, type, attr->type_protos)
        if (!onx_type_is_plain(type)) return false;
    return true;
}

/* Is there a syntax for such a value? */
static bool has_syntax(const onx_attr *attr, unsigned type) {
    if (type == 0 || onx_attr_forms[type].elem == ONX_ATTR_SPARSE_TENSOR) return false;
    if (type == ONX_ATTR_TYPE) return onx_type_kind_of(attr->tp) != ONX_TYPE_NONE;
    if (type == ONX_ATTR_TYPES) {
        ONX_EACH (const onx_type, value, attr->type_protos)
            if (onx_type_kind_of(value) == ONX_TYPE_NONE) return false;
    }
    return value_row(type)->kind != ONX_FIELD_MSG || onx_msg_has(attr, value_row(type));
}

/* The declared type or, for lack of one, that of the first value there is. */
static unsigned attr_type(const onx_attr *attr) {
    if (attr->type > 0 && attr->type < ONX_ATTR_FORMS) return (unsigned)attr->type;
    for (unsigned type = 1; type < ONX_ATTR_FORMS; type++)
        if (onx_msg_has(attr, value_row(type))) return type;
    return 0;
}

static attr_text attr_text_of(const onx_attr *attr) {
    uint32_t name = ONX_BIT(attr, name), type_bit = ONX_BIT(attr, type);
    unsigned type = attr_type(attr);
    bool declared = type > 0 && attr->type == (int32_t)type;
    if (onx_msg_has(attr, ONX_ROW(attr, ref_attr_name))) {
        uint32_t bits = name | ONX_BIT(attr, ref_attr_name) | (declared ? type_bit : 0);
        return (attr_text){
            .type = declared ? type : 0, .is_ref = true, .note = onx_note_of(attr, bits, bits)};
    }
    if (!has_syntax(attr, type))
        return (attr_text){.type = ONX_ATTR_INT,
                           .is_standin = true,
                           .note = onx_note_of(attr, name, name | type_bit | ONX_BIT(attr, i))};
    uint32_t value = 1u << onx_attr_forms[type].row;
    bool is_list = onx_attr_forms[type].elem != type;
    bool plain = onx_attr_forms[type].elem != ONX_ATTR_TYPE || types_are_plain(attr);
    onx_note note = onx_note_of(attr, name | (declared ? type_bit : 0) | (plain ? value : 0),
                                name | type_bit | (is_list ? 0 : value));
    return (attr_text){.type = type, .is_list = is_list, .note = note};
}

/* Numbers and strings. */
static void put_scalars(onx_printer *pr, const onx_attr *attr, const onx_field *row) {
    onx_elems elems = {attr, row, 0};
    onx_elem elem;
    char text[ONX_NUMBER_MAX];
    bool is_list = onx_field_repeated(row);
    for (size_t i = 0; onx_elems_next(&elems, &elem); i++) {
        onx_out_puts(&pr->out, i > 0 ? ", " : is_list ? "" : " ");
        onx_elem_kind kind = onx_field_elem(row);
        if (kind == ONX_ELEM_F32)
            onx_out_put(&pr->out, text, onx_print_f32(elem.f, text));
        else if (kind == ONX_ELEM_I64)
            onx_print_number(pr, elem.i);
        else
            onx_print_string(pr, elem.s);
    }
}

/* Tensors and types; graphs are the walk's. */
static void put_messages(onx_printer *pr, const onx_attr *attr, unsigned type) {
    const void *slot = onx_field_ptr(attr, value_row(type));
    bool is_list = onx_attr_forms[type].elem != type;
    if (onx_attr_forms[type].elem == ONX_ATTR_GRAPH) return;
    const onx_msg *msg = is_list ? ((const onx_list *)slot)->first : *(onx_msg *const *)slot;
    for (; msg; msg = is_list ? msg->next : NULL) {
        if (msg->prev) onx_out_putc(&pr->out, ',');
        const char *lead = msg->prev || !is_list ? " " : "";
        if (msg->desc == &onx_desc_tensor) {
            onx_print_tensor(pr, (const onx_tensor *)msg, true, lead);
        } else if (msg->desc == &onx_desc_type) {
            onx_out_puts(&pr->out, lead);
            onx_print_type(pr, (const onx_type *)msg);
        }
    }
}

static void put_attr_head(onx_printer *pr, const onx_attr *attr, const attr_text *text) {
    const onx_msg *parent = attr->msg.parent;
    bool first = !attr->msg.prev;
    if (first && parent->desc == &onx_desc_function)
        first = ((const onx_function *)parent)->attribute.n == 0;
    if (!first) onx_out_putc(&pr->out, ',');
    onx_note_print(pr, attr, text->note, first ? "" : " ");
    if (onx_is_identifier(attr->name))
        onx_out_put(&pr->out, attr->name.data, attr->name.size);
    else
        onx_print_string(pr, attr->name);
    if (text->type) {
        onx_out_puts(&pr->out, ": ");
        onx_out_puts(&pr->out, onx_attr_forms[text->type].word);
    }
    onx_out_puts(&pr->out, " =");
}

void onx_print_attr(onx_printer *pr, const onx_attr *attr) {
    attr_text text = attr_text_of(attr);
    put_attr_head(pr, attr, &text);
    if (text.is_ref) {
        onx_out_puts(&pr->out, " @");
        onx_print_name(pr, attr->ref_attr_name);
    } else if (text.is_standin) {
        onx_out_puts(&pr->out, " 0");
    } else {
        if (text.is_list) onx_out_puts(&pr->out, " [");
        if (value_row(text.type)->child)
            put_messages(pr, attr, text.type);
        else
            put_scalars(pr, attr, value_row(text.type));
    }
}

const onx_msg *onx_attr_first_graph(const onx_attr *attr) {
    attr_text text = attr_text_of(attr);
    if (text.is_ref || text.is_standin) return NULL;
    return text.type == ONX_ATTR_GRAPH    ? &attr->g->msg
           : text.type == ONX_ATTR_GRAPHS ? attr->graphs.first
                                          : NULL;
}

void onx_print_attr_end(onx_printer *pr, const onx_attr *attr) {
    if (attr_text_of(attr).is_list) onx_out_putc(&pr->out, ']');
}
