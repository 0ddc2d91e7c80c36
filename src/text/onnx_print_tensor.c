/* onnx_print_tensor.c: tensors as ONNX text: "float[2] w = {1.0, 2.5}". Numbers go out as they are
 * read: memory does not grow with the payload. */
#include "base/number.h"
#include "text/onnx_print.h"

enum { PER_LINE = 8 };

/* What stands behind the name. */
typedef struct carrier {
    bool external;
    bool raw;
    const onx_form *form; /* NULL: nothing that could be written as numbers */
    onx_str bytes;
    uint32_t bits; /* the fields it says */
} carrier;

static carrier carrier_of(const onx_tensor *t) {
    const onx_payload *payload = onx_payload_of(t->data_type);
    bool external = onx_msg_has(t, ONX_ROW(tensor, data_location)) && t->data_location == 1;
    if (external && t->external_data.count > 0 && onx_entries_are_plain(&t->external_data))
        return (carrier){.external = true,
                         .bits = ONX_BIT(tensor, data_location) | ONX_BIT(tensor, external_data)};
    if (!payload) return (carrier){0};
    const onx_field *list = &onx_desc_tensor.fields[payload->row];
    const onx_form *raw = payload->raw;
    if (onx_msg_has(t, list)) {
        onx_str bytes = {NULL, 0};
        if (payload->list->kind != ONX_FORM_STRING)
            bytes = *(const onx_str *)onx_field_ptr(t, list);
        return (carrier){.form = payload->list, .bytes = bytes, .bits = 1u << payload->row};
    }
    if (raw && onx_msg_has(t, ONX_ROW(tensor, raw_data)) && t->raw_data.size % raw->width == 0)
        return (carrier){
            .raw = true, .form = raw, .bytes = t->raw_data, .bits = ONX_BIT(tensor, raw_data)};
    return (carrier){0};
}

/* The number at `p`, and where the next one begins. */
static const char *load(const onx_form *form, const char *p, const char *end, uint64_t *out) {
    *out = 0;
    if (form->width == 0) {
        size_t n = onx_varint_get(p, end, out);
        return n ? p + n : end;
    }
    memcpy(out, p, form->width);
    unsigned spare = 64 - 8u * form->width;
    if (form->kind == ONX_FORM_INT) *out = (uint64_t)((int64_t)(*out << spare) >> spare);
    return p + form->width;
}

/* Varints can hold more than the field's type; then the note has the bytes. */
static bool fits_form(const carrier *c) {
    if (!c->form || c->form->width || c->form->kind != ONX_FORM_INT) return true;
    uint64_t v;
    for (const char *p = c->bytes.data, *end = p + c->bytes.size; p < end;) {
        p = load(c->form, p, end, &v);
        if ((int64_t)v < c->form->least || (int64_t)v > (int64_t)c->form->most) return false;
    }
    return true;
}

static onx_note note_of(const onx_tensor *t, bool in_attr, const carrier *c) {
    uint32_t name = ONX_BIT(tensor, name), type = ONX_BIT(tensor, data_type);
    uint32_t plain = ONX_BIT(tensor, dims) | type | (c->bits & ~ONX_BIT(tensor, raw_data));
    if (!in_attr || onx_is_identifier(t->name)) plain |= name;
    if (!fits_form(c)) plain &= ~c->bits;
    if (t->data_type < 0 || t->data_type >= ONX_DTYPE_COUNT) plain &= ~type;
    onx_note note = onx_note_of(t, plain, type | (in_attr ? 0 : name));
    note.raw = c->raw;
    if (c->raw) note.left &= ~ONX_BIT(tensor, raw_data);
    return note;
}

onx_note onx_tensor_note(const onx_tensor *tensor, bool in_attr) {
    carrier c = carrier_of(tensor);
    return note_of(tensor, in_attr, &c);
}

static void put_number(onx_out *out, const onx_form *form, uint64_t v) {
    char text[ONX_NUMBER_MAX];
    float f;
    double d;
    size_t n = 0;
    switch (form->kind) {
    case ONX_FORM_INT: n = onx_print_i64((int64_t)v, text); break;
    case ONX_FORM_UINT: n = onx_print_u64(v, text); break;
    case ONX_FORM_F32:
        memcpy(&f, &v, sizeof f);
        n = onx_print_f32(f, text);
        break;
    case ONX_FORM_F64:
        memcpy(&d, &v, sizeof d);
        n = onx_print_f64(d, text);
        break;
    case ONX_FORM_STRING: break;
    }
    onx_out_put(out, text, n);
}

static void put_separator(onx_printer *pr, size_t index) {
    if (index == 0) return;
    onx_out_putc(&pr->out, ',');
    if (index % PER_LINE == 0)
        onx_newline(pr);
    else
        onx_out_putc(&pr->out, ' ');
}

static void put_values(onx_printer *pr, const onx_tensor *t, const carrier *c) {
    onx_out_putc(&pr->out, '{');
    pr->indent++;
    if (c->form && c->form->kind == ONX_FORM_STRING) {
        for (size_t i = 0; i < t->string_data.n; i++) {
            put_separator(pr, i);
            onx_print_string(pr, t->string_data.v[i]);
        }
    } else if (c->bytes.size > 0) {
        uint64_t v;
        const char *p = c->bytes.data, *end = p + c->bytes.size;
        for (size_t i = 0; p < end; i++) {
            p = load(c->form, p, end, &v);
            put_separator(pr, i);
            put_number(&pr->out, c->form, c->form->most == INT32_MAX ? (uint64_t)(int32_t)v : v);
        }
    }
    pr->indent--;
    onx_out_putc(&pr->out, '}');
}

void onx_print_tensor(onx_printer *pr, const onx_tensor *t, bool in_attr, const char *lead) {
    carrier c = carrier_of(t);
    onx_note_print(pr, t, note_of(t, in_attr, &c), lead);
    onx_out_puts(&pr->out, onx_dtype_word(t->data_type));
    for (size_t i = 0; i < t->dims.n; i++) {
        onx_out_putc(&pr->out, i ? ',' : '[');
        onx_print_number(pr, t->dims.v[i]);
    }
    if (t->dims.n > 0) onx_out_putc(&pr->out, ']');
    onx_out_putc(&pr->out, ' ');
    bool named = !in_attr || onx_is_identifier(t->name);
    if (named) onx_print_name(pr, t->name);
    if (named) onx_out_putc(&pr->out, ' ');
    if (!in_attr || c.external) onx_out_puts(&pr->out, "= ");
    if (c.external)
        onx_print_entries(pr, &t->external_data);
    else
        put_values(pr, t, &c);
}
