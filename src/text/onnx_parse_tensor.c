/* onnx_parse_tensor.c: tensors from ONNX text: numbers in braces, or where external data lies, in
 * brackets. */
#include "base/number.h"
#include "text/onnx_parse.h"

#include <stdio.h>

static onx_status set_shape(onx_parser *p, const onx_type *type) {
    const onx_tensor_type *tensor = type->tensor_type;
    if (!tensor || !tensor->shape) {
        onx_lex_fail(&p->lex, ONX_MALFORMED, "a tensor needs an element type and a shape");
        onx_diag_hint(p->lex.diag, "write float[2,3], or float for a scalar");
        return ONX_MALFORMED;
    }
    ONX_TRY(onx_builder_add(&p->b, ONX_ROW(tensor, data_type), (onx_elem){.i = tensor->elem_type}));
    ONX_EACH (const onx_dim, dim, tensor->shape->dim) {
        if (!onx_msg_has(dim, ONX_ROW(dim, dim_value)))
            return onx_lex_fail(&p->lex, ONX_MALFORMED, "the dimensions of a tensor are numbers");
        ONX_TRY(onx_builder_add(&p->b, ONX_ROW(tensor, dims), (onx_elem){.i = dim->dim_value}));
    }
    return ONX_OK;
}

static onx_status fail_number(onx_parser *p, const char *from, const onx_form *form) {
    char what[80] = "a number";
    p->lex.at = from;
    if (form->kind == ONX_FORM_INT || form->kind == ONX_FORM_UINT)
        snprintf(what, sizeof what, "an integer from %lld to %llu", (long long)form->least,
                 (unsigned long long)form->most);
    onx_lex_expected(&p->lex, what);
    onx_dtype dtype = (onx_dtype)((const onx_tensor *)p->b.at)->data_type;
    if (form->kind < ONX_FORM_F32 && strstr(onx_dtype_word(dtype), "float"))
        onx_diag_hint(p->lex.diag, "%s is written as its bits, as an integer",
                      onx_dtype_word(dtype));
    return ONX_MALFORMED;
}

static bool is_infinite(double v) {
    return v - v != 0 && v == v;
}

bool onx_parse_number(onx_str text, const onx_form *form, uint64_t *bits) {
    int64_t i = 0;
    float f = 0;
    double d = 0;
    bool word = text.size > 0 && (text.data[text.size - 1] | 0x20) >= 'a';
    switch (form->kind) {
    case ONX_FORM_INT:
        if (!onx_parse_i64(text, &i) || i < form->least || i > (int64_t)form->most) return false;
        *bits = (uint64_t)i;
        return true;
    case ONX_FORM_UINT: return onx_parse_u64(text, bits) && *bits <= form->most;
    case ONX_FORM_F32:
        if (!onx_parse_f32(text, &f) || (is_infinite((double)f) && !word)) return false;
        memcpy(bits, &f, sizeof f);
        return true;
    case ONX_FORM_F64:
        if (!onx_parse_f64(text, &d) || (is_infinite(d) && !word)) return false;
        memcpy(bits, &d, sizeof d);
        return true;
    default: return false;
    }
}

/* Numbers up to the closing brace, into the scratch buffer. */
static onx_status read_numbers(onx_parser *p, const onx_form *form) {
    p->scratch.size = 0;
    do {
        onx_lex_peek(&p->lex);
        const char *from = p->lex.at;
        uint64_t bits = 0;
        char varint[10];
        if (!onx_parse_number(onx_lex_number(&p->lex), form, &bits))
            return fail_number(p, from, form);
        if (form->width)
            onx_buf_put(&p->scratch, &bits, form->width);
        else
            onx_buf_put(&p->scratch, varint, onx_varint_put(bits, varint));
    } while (onx_lex_take(&p->lex, ','));
    if (p->scratch.failed) return onx_fail_nomem(p->lex.diag);
    return onx_lex_expect(&p->lex, '}', "at the end of the tensor's values");
}

static onx_status read_strings(onx_parser *p) {
    onx_elem elem;
    do {
        ONX_TRY(onx_lex_string(&p->lex, SIZE_MAX, "a string", &elem.s));
        ONX_TRY(onx_builder_add(&p->b, ONX_ROW(tensor, string_data), elem));
    } while (onx_lex_take(&p->lex, ','));
    return onx_lex_expect(&p->lex, '}', "at the end of the tensor's values");
}

/* The scratch buffer into a field. */
static onx_status keep(onx_parser *p, const onx_field *field) {
    char *data;
    size_t size = p->scratch.size;
    ONX_TRY(onx_builder_room(&p->b, field, size, &data));
    if (size > 0) memcpy(data, p->scratch.data, size);
    if (field->kind == ONX_FIELD_BYTES) onx_msg_set_has(p->b.at, field);
    *(onx_str *)onx_field_ptr(p->b.at, field) = (onx_str){data, size};
    return ONX_OK;
}

static onx_status read_values(onx_parser *p, bool raw) {
    const onx_payload *payload = onx_payload_of(((const onx_tensor *)p->b.at)->data_type);
    const onx_form *form = !payload ? NULL : raw ? payload->raw : payload->list;
    bool empty = onx_lex_take(&p->lex, '}');
    if (!form && (raw || !empty))
        return onx_lex_fail(&p->lex, ONX_MALFORMED, "values of this type cannot be written%s",
                            raw ? " as raw" : "");
    if (empty && !raw) return ONX_OK;
    if (form->kind == ONX_FORM_STRING) return read_strings(p);
    p->scratch.size = 0;
    if (!empty) ONX_TRY(read_numbers(p, form));
    return keep(p, raw ? ONX_ROW(tensor, raw_data) : &onx_desc_tensor.fields[payload->row]);
}

/* The onnx package writes "..." where it has no notation, and forgets the brace before no
 * strings. */
static bool take_nothing(onx_parser *p) {
    onx_lex *lex = &p->lex;
    bool strings = ((const onx_tensor *)p->b.at)->data_type == ONX_DTYPE_STRING;
    if (onx_lex_peek(lex) == '}') return strings && onx_lex_take(lex, '}');
    if (lex->end - lex->at < 3 || memcmp(lex->at, "...", 3)) return false;
    lex->at += 3;
    return true;
}

onx_status onx_parse_tensor(onx_parser *p, const onx_type *type, const char *note) {
    if (!note) note = p->each_tensor;
    ONX_TRY(set_shape(p, type));
    if (onx_lex_take(&p->lex, '{')) {
        ONX_TRY(read_values(p, onx_note_is_raw(p, note)));
    } else if (onx_lex_take(&p->lex, '[')) {
        ONX_TRY(onx_builder_add(&p->b, ONX_ROW(tensor, data_location), (onx_elem){.i = 1}));
        ONX_TRY(onx_parse_entries(p, ONX_ROW(tensor, external_data)));
    } else {
        take_nothing(p);
    }
    return onx_parse_note(p, note, NULL);
}
