/* onnx_print_note.c: notes of ONNX text going out: any field of any message, by the tables. See
 * onnx_text.h. */
#include "base/number.h"
#include "text/onnx_print.h"
#include "text/tree.h"

static bool fits_text(const void *msg, const onx_field *field) {
    onx_elem_kind kind = onx_field_elem(field);
    if (kind != ONX_ELEM_STR && kind != ONX_ELEM_BYTES) return true;
    onx_elems elems = {msg, field, 0};
    onx_elem elem;
    while (onx_elems_next(&elems, &elem))
        if (!onx_is_text(elem.s)) return false;
    return true;
}

onx_note onx_note_of(const void *msg, uint32_t plain, uint32_t always) {
    const onx_desc *desc = ((const onx_msg *)msg)->desc;
    onx_note note = {0, 0, false};
    for (unsigned i = 0; i < desc->n_fields; i++) {
        uint32_t bit = 1u << i;
        bool has = onx_msg_has(msg, &desc->fields[i]);
        if (has && (!(plain & bit) || !fits_text(msg, &desc->fields[i]))) note.left |= bit;
        if (!has) note.gone |= always & bit;
    }
    return note;
}

bool onx_entries_are_plain(const onx_list *entries) {
    const uint32_t both = ONX_BIT(entry, key) | ONX_BIT(entry, value);
    ONX_EACH (const onx_entry, entry, *entries) {
        onx_note note = onx_note_of(entry, both, both);
        if (note.left || note.gone || entry->msg.unknown) return false;
    }
    return true;
}

/* ── Values ──────────────────────────────────────────────────────────────────────────────────── */

/* Unlike the strings of plain text these stay on their line, and can hold any byte. */
static void put_escaped(onx_out *out, onx_str s) {
    static const char hex[] = "0123456789abcdef";
    bool is_text = onx_is_text(s);
    for (size_t i = 0; i < s.size; i++) {
        unsigned char c = (unsigned char)s.data[i];
        char escape[] = {'\\', 'x', hex[c >> 4], hex[c & 15]};
        if (c == '"' || c == '\\')
            onx_out_put(out, (char[]){'\\', (char)c}, 2);
        else if (c == '\n')
            onx_out_puts(out, "\\n");
        else if (c < 0x20 || c == 0x7f || (c >= 0x80 && !is_text))
            onx_out_put(out, escape, 4);
        else
            onx_out_putc(out, (char)c);
    }
}

static void put_string(onx_out *out, onx_str s) {
    onx_out_putc(out, '"');
    put_escaped(out, s);
    onx_out_putc(out, '"');
}

static void put_elem(onx_out *out, const onx_field *field, onx_elem elem) {
    char number[ONX_NUMBER_MAX];
    const char *name = field->enums ? onx_enum_find(field->enums, elem.i) : NULL;
    switch (onx_field_elem(field)) {
    case ONX_ELEM_STR:
    case ONX_ELEM_BYTES: put_string(out, elem.s); return;
    case ONX_ELEM_F32: onx_out_put(out, number, onx_print_f32(elem.f, number)); return;
    default:
        if (name)
            onx_out_puts(out, name);
        else
            onx_out_put(out, number, onx_print_i64(elem.i, number));
    }
}

/* " name: value" or " name: [value, value]"; a packed payload is one string of its bytes. */
static void put_field(onx_out *out, const void *msg, const onx_field *field) {
    onx_out_putc(out, ' ');
    onx_out_puts(out, field->name);
    onx_out_puts(out, ": ");
    if (field->kind >= ONX_FIELD_PACKED_F32) {
        put_string(out, *(const onx_str *)onx_field_ptr(msg, field));
        return;
    }
    onx_elems elems = {msg, field, 0};
    onx_elem elem;
    bool many = onx_field_repeated(field);
    if (many) onx_out_putc(out, '[');
    for (size_t i = 0; onx_elems_next(&elems, &elem); i++) {
        if (i > 0) onx_out_puts(out, ", ");
        put_elem(out, field, elem);
    }
    if (many) onx_out_putc(out, ']');
}

static void put_unknown(onx_out *out, const onx_msg *msg) {
    if (!msg->unknown) return;
    onx_out_puts(out, " unknown: \"");
    for (const onx_unknown *u = msg->unknown; u; u = u->next) put_escaped(out, u->bytes);
    onx_out_putc(out, '"');
}

/* " name { … }" and all that is in it. */
static void put_message(onx_out *out, const onx_msg *msg, const onx_field *field) {
    for (onx_tree tree = onx_tree_begin(msg); onx_tree_next(&tree);) {
        if (tree.event == ONX_TREE_FIELD) {
            put_field(out, tree.msg, tree.field);
        } else if (tree.event == ONX_TREE_ENTER) {
            const onx_field *holder = onx_tree_holder(&tree);
            onx_out_putc(out, ' ');
            onx_out_puts(out, (holder ? holder : field)->name);
            onx_out_puts(out, " {");
        } else {
            put_unknown(out, tree.msg);
            onx_out_puts(out, " }");
        }
    }
}

/* ── Notes ───────────────────────────────────────────────────────────────────────────────────── */

static bool is_empty(const void *msg, onx_note note) {
    return !note.left && !note.gone && !note.raw && !((const onx_msg *)msg)->unknown;
}

/* The note of those that have none: there, all fields that are left are empty strings. */
static bool is_each(const void *msg, onx_note note, onx_note each) {
    const onx_msg *m = msg;
    if (note.left != each.left || note.gone || note.raw != each.raw || m->unknown) return false;
    for (unsigned i = 0; i < m->desc->n_fields; i++)
        if (note.left >> i & 1 &&
            ((const onx_str *)onx_field_ptr(m, &m->desc->fields[i]))->size > 0)
            return false;
    return true;
}

static void put_words(onx_out *out, const onx_desc *desc, onx_note note) {
    if (note.raw) onx_out_puts(out, " raw");
    for (unsigned i = 0; i < desc->n_fields; i++) {
        if (!(note.gone >> i & 1)) continue;
        onx_out_puts(out, " !");
        onx_out_puts(out, desc->fields[i].name);
    }
}

/* One field to a line, and of repeated messages one message. */
static void put_lines(onx_printer *pr, const onx_msg *msg, const onx_field *field) {
    const onx_msg *child = NULL;
    if (field->kind == ONX_FIELD_MSG) child = *(onx_msg *const *)onx_field_ptr(msg, field);
    if (field->kind == ONX_FIELD_MSGS) child = ((const onx_list *)onx_field_ptr(msg, field))->first;
    do {
        onx_out_puts(&pr->out, "#@");
        if (child)
            put_message(&pr->out, child, field);
        else
            put_field(&pr->out, msg, field);
        onx_newline(pr);
        if (child) child = child->next;
    } while (child);
}

void onx_note_print(onx_printer *pr, const void *msg, onx_note note, const char *lead) {
    const onx_desc *desc = ((const onx_msg *)msg)->desc;
    onx_note each = desc == &onx_desc_node     ? pr->each_node
                    : desc == &onx_desc_tensor ? pr->each_tensor
                                               : (onx_note){0, 0, false};
    if (is_each(msg, note, each)) {
        onx_out_puts(&pr->out, lead ? lead : "");
        return;
    }
    if (lead) onx_newline(pr);
    if (note.raw || note.gone || is_empty(msg, note)) {
        onx_out_puts(&pr->out, "#@");
        put_words(&pr->out, desc, note);
        onx_newline(pr);
    }
    for (unsigned i = 0; i < desc->n_fields; i++)
        if (note.left >> i & 1) put_lines(pr, msg, &desc->fields[i]);
    if (((const onx_msg *)msg)->unknown) {
        onx_out_puts(&pr->out, "#@");
        put_unknown(&pr->out, msg);
        onx_newline(pr);
    }
}

void onx_note_print_each(onx_printer *pr) {
    bool name = pr->each_tensor.left != 0;
    if (pr->each_node.left) onx_out_puts(&pr->out, "#@ each node { domain: \"\" }\n");
    if (!pr->each_tensor.raw && !name) return;
    onx_out_puts(&pr->out, "#@ each tensor {");
    if (pr->each_tensor.raw) onx_out_puts(&pr->out, " raw");
    if (name) onx_out_puts(&pr->out, " name: \"\"");
    onx_out_puts(&pr->out, " }\n");
}
