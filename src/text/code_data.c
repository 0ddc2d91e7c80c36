/* code_data.c: tensor data in programs: to the weights beside it, or as numbers in it. */
#include "base/number.h"
#include "text/code.h"

#include <math.h>

static int count_bytes(void *user, const void *data, size_t size) {
    onx_code *code = user;
    code->offset += size;
    return code->weights->write(code->weights->user, data, size);
}

static void weights_failed(onx_code *code) {
    onx_code_fail(code, ONX_IO, NULL, "the weights could not be written");
}

uint64_t onx_code_weights(onx_code *code, onx_str bytes) {
    uint64_t at = code->offset;
    if (!code->status && bytes.size && count_bytes(code, bytes.data, bytes.size) != 0)
        weights_failed(code);
    return at;
}

uint64_t onx_code_weights_msg(onx_code *code, const onx_msg *msg, uint64_t *size) {
    uint64_t at = code->offset;
    onx_writer writer = {code, count_bytes};
    if (!code->status && onx_wire_encode(msg, &writer, NULL) != ONX_OK) weights_failed(code);
    *size = code->offset - at;
    return at;
}

/* ── Numbers ─────────────────────────────────────────────────────────────────────────────────── */

/* How the elements of a dense tensor are read, and what C calls that. */
typedef enum kind { SIGNED, UNSIGNED, BITS, F32, F64 } kind;
typedef struct form {
    const char *c_type;
    uint8_t size;
    kind kind;
} form;

static const form forms[ONX_DTYPE_COUNT] = {
    [ONX_DTYPE_F32] = {"float", 4, F32},         [ONX_DTYPE_F64] = {"double", 8, F64},
    [ONX_DTYPE_C64] = {"float", 4, F32},         [ONX_DTYPE_C128] = {"double", 8, F64},
    [ONX_DTYPE_I8] = {"int8_t", 1, SIGNED},      [ONX_DTYPE_I16] = {"int16_t", 2, SIGNED},
    [ONX_DTYPE_I32] = {"int32_t", 4, SIGNED},    [ONX_DTYPE_I64] = {"int64_t", 8, SIGNED},
    [ONX_DTYPE_U8] = {"uint8_t", 1, UNSIGNED},   [ONX_DTYPE_U16] = {"uint16_t", 2, UNSIGNED},
    [ONX_DTYPE_U32] = {"uint32_t", 4, UNSIGNED}, [ONX_DTYPE_U64] = {"uint64_t", 8, UNSIGNED},
    [ONX_DTYPE_BOOL] = {"uint8_t", 1, UNSIGNED}, [ONX_DTYPE_F16] = {"uint16_t", 2, BITS},
    [ONX_DTYPE_BF16] = {"uint16_t", 2, BITS},
};

static bool all_finite(onx_str dense, kind type) {
    for (size_t i = 0; i < dense.size; i += type == F32 ? 4 : 8) {
        float f = 0;
        double d = 0;
        memcpy(type == F32 ? (void *)&f : (void *)&d, dense.data + i, type == F32 ? 4 : 8);
        if (!isfinite(f) || !isfinite(d)) return false;
    }
    return true;
}

/* Packed types, and those that C has not, are bytes; numbers that are none are bits. */
static form form_of(onx_dtype dtype, onx_str dense) {
    form f = forms[dtype].c_type ? forms[dtype] : (form){"uint8_t", 1, BITS};
    if ((f.kind == F32 || f.kind == F64) && !all_finite(dense, f.kind))
        f = f.kind == F32 ? (form){"uint32_t", 4, BITS} : (form){"uint64_t", 8, BITS};
    return f;
}

/* In C a number has the type that it says; in Python all are doubles at first, so that what is
 * written must round to the same number from there, too. */
void onx_code_float(onx_code *code, float v, bool c) {
    char text[ONX_NUMBER_MAX];
    double wide = 0;
    size_t n = onx_print_f32(v, text);
    if (!c && (!onx_parse_f64((onx_str){text, n}, &wide) || (float)wide != v))
        onx_print_f64((double)v, text);
    onx_code_printf(code, c ? "%sf" : "%s", text);
}

void onx_code_int(onx_code *code, int64_t v, bool c) {
    if (c && v == INT64_MIN)
        onx_code_puts(code, "INT64_MIN");
    else
        onx_code_printf(code, "%lld", (long long)v);
}

static int64_t sign_extended(uint64_t bits, size_t size) {
    return size == 1   ? (int8_t)bits
           : size == 2 ? (int16_t)bits
           : size == 4 ? (int32_t)bits
                       : (int64_t)bits;
}

static void put_element(onx_code *code, const char *at, form f, bool c) {
    char text[ONX_NUMBER_MAX];
    uint64_t bits = 0;
    float single = 0;
    double wide = 0;
    memcpy(&bits, at, f.size);
    memcpy(&single, at, f.kind == F32 ? 4 : 0);
    memcpy(&wide, at, f.kind == F64 ? 8 : 0);
    switch (f.kind) {
    case SIGNED: onx_code_int(code, sign_extended(bits, f.size), c); break;
    case UNSIGNED:
        onx_code_printf(code, bits > INT64_MAX && c ? "%lluu" : "%llu", (unsigned long long)bits);
        break;
    case BITS: onx_code_printf(code, "0x%0*llx", 2 * f.size, (unsigned long long)bits); break;
    case F32: onx_code_float(code, single, c); break;
    case F64:
        onx_print_f64(wide, text);
        onx_code_puts(code, text);
        break;
    }
}

const char *onx_code_c_type(onx_dtype dtype, onx_str dense) {
    return form_of(dtype, dense).c_type;
}

void onx_code_elements(onx_code *code, onx_dtype dtype, onx_str dense, bool c) {
    form f = form_of(dtype, dense);
    size_t line = code->to->size;
    for (size_t i = 0; i < dense.size && !code->to->failed; i += f.size) {
        bool full = code->to->size - line > 80;
        if (i) onx_code_puts(code, full ? ",\n        " : ", ");
        if (full) line = code->to->size;
        put_element(code, dense.data + i, f, c);
    }
}

/* ── Attributes ──────────────────────────────────────────────────────────────────────────────── */

/* What the type calls for: the bit of a single field, or a number of messages or elements. */
static bool content_of(const onx_attr *a, uint32_t *field, size_t *n) {
    *field = 0;
    *n = 0;
    switch ((onx_attr_type)a->type) {
    case ONX_ATTR_FLOAT: *field = ONX_BIT(attr, f); return true;
    case ONX_ATTR_INT: *field = ONX_BIT(attr, i); return true;
    case ONX_ATTR_STRING: *field = ONX_BIT(attr, s); return true;
    case ONX_ATTR_TENSOR: *n = a->t != NULL; return *n;
    case ONX_ATTR_GRAPH: *n = a->g != NULL; return *n;
    case ONX_ATTR_TYPE: *n = a->tp != NULL; return *n;
    case ONX_ATTR_GRAPHS: *n = a->graphs.count; return *n;
    case ONX_ATTR_FLOATS: *n = a->floats.n; return true;
    case ONX_ATTR_INTS: *n = a->ints.n; return true;
    case ONX_ATTR_STRINGS: *n = a->strings.n; return true;
    default: return false;
    }
}

static bool is_one_of(onx_attr_type type) {
    return (type >= ONX_ATTR_FLOAT && type <= ONX_ATTR_STRINGS) || type == ONX_ATTR_GRAPHS ||
           type == ONX_ATTR_TYPE;
}

bool onx_code_attr_fits(const onx_attr *a) {
    size_t n, all = a->floats.n + a->ints.n + a->strings.n + a->tensors.count + a->graphs.count +
                    a->type_protos.count + a->sparse_tensors.count + (a->t != NULL) +
                    (a->g != NULL) + (a->tp != NULL) + (a->sparse_tensor != NULL);
    uint32_t field, plain = ONX_BIT(attr, name) | ONX_BIT(attr, type);
    if (a->msg.unknown) return false;
    if (onx_msg_has(a, ONX_ROW(attr, ref_attr_name)))
        return !all && is_one_of((onx_attr_type)a->type) &&
               a->msg.has == (plain | ONX_BIT(attr, ref_attr_name));
    return content_of(a, &field, &n) && all == n && a->msg.has == (plain | field);
}
