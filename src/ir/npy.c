/* npy.c: reading .npy files; npy.h says which.
 *
 *     magic │ version │ length │ {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} │ data
 *
 * The header is a Python expression. Only what numpy.save writes, and the ways in which Python
 * could also write the same, are understood; nothing is evaluated. */
#include "ir/npy.h"

#include "base/number.h"
#include "base/utf8.h"
#include "ir/dtype.h"
#include "ir/edit.h"

const onx_npy_type onx_npy_types[] = {
    {ONX_DTYPE_BOOL, "|b1", NULL, NULL},
    {ONX_DTYPE_U8, "|u1", NULL, NULL},
    {ONX_DTYPE_I8, "|i1", NULL, NULL},
    {ONX_DTYPE_U16, "<u2", NULL, NULL},
    {ONX_DTYPE_I16, "<i2", NULL, NULL},
    {ONX_DTYPE_U32, "<u4", NULL, NULL},
    {ONX_DTYPE_I32, "<i4", NULL, NULL},
    {ONX_DTYPE_U64, "<u8", NULL, NULL},
    {ONX_DTYPE_I64, "<i8", NULL, NULL},
    {ONX_DTYPE_F16, "<f2", NULL, NULL},
    {ONX_DTYPE_F32, "<f4", NULL, NULL},
    {ONX_DTYPE_F64, "<f8", NULL, NULL},
    {ONX_DTYPE_C64, "<c8", NULL, NULL},
    {ONX_DTYPE_C128, "<c16", NULL, NULL},
    {ONX_DTYPE_BF16, "<u2", "bfloat16", NULL},
    {ONX_DTYPE_F8E4M3FN, "|u1", "float8_e4m3fn", "e4m3fn"},
    {ONX_DTYPE_F8E4M3FNUZ, "|u1", "float8_e4m3fnuz", "e4m3fnuz"},
    {ONX_DTYPE_F8E5M2, "|u1", "float8_e5m2", "e5m2"},
    {ONX_DTYPE_F8E5M2FNUZ, "|u1", "float8_e5m2fnuz", "e5m2fnuz"},
    {ONX_DTYPE_F8E8M0, "|u1", "float8_e8m0fnu", NULL},
    {ONX_DTYPE_F6E2M3, "|u1", "float6_e2m3fn", NULL},
    {ONX_DTYPE_F6E3M2, "|u1", "float6_e3m2fn", NULL},
    {ONX_DTYPE_F4E2M1, "|u1", "float4_e2m1fn", NULL},
    {ONX_DTYPE_U4, "|u1", "uint4", NULL},
    {ONX_DTYPE_I4, "|i1", "int4", NULL},
    {ONX_DTYPE_U2, "|u1", "uint2", NULL},
    {ONX_DTYPE_I2, "|i1", "int2", NULL},
    {ONX_DTYPE_BF16, "<V2", NULL, NULL}, /* only read */
    {ONX_DTYPE_F8E5M2, "<f1", NULL, NULL},
    {ONX_DTYPE_NONE, NULL, NULL, NULL},
};

/* The header being read, and what it says. */
typedef struct reader {
    onx_doc *doc;
    onx_diag *diag;
    const char *start, *p, *end; /* of the file; the next byte; of the header */
    onx_tensor *tensor;
    onx_dtype dtype;
    size_t item; /* bytes of an element */
    size_t unit; /* bytes that turn round with the byte order */
    bool swap, fortran;
} reader;

static onx_status at(const reader *r, onx_status status) {
    if (r->diag) r->diag->offset = r->p - r->start;
    return status;
}
#define FAIL(r, status, ...) at(r, onx_fail((r)->diag, status, __VA_ARGS__))
#define DAMAGED(r, what) FAIL(r, ONX_MALFORMED, "the array header is damaged: %s", what)

/* ── The words of the header ─────────────────────────────────────────────────────────────────── */

static void skip_spaces(reader *r) {
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n')) r->p++;
}

static bool accept(reader *r, const char *word) {
    size_t size = strlen(word);
    skip_spaces(r);
    if ((size_t)(r->end - r->p) < size || memcmp(r->p, word, size) != 0) return false;
    r->p += size;
    return true;
}

static onx_status expect(reader *r, const char *word) {
    if (accept(r, word)) return ONX_OK;
    return FAIL(r, ONX_MALFORMED, "the array header is damaged: '%s' is expected", word);
}

/* Without escapes: nothing that is understood needs one. */
static onx_status read_string(reader *r, onx_str *out) {
    bool single = accept(r, "'");
    if (!single && !accept(r, "\"")) return DAMAGED(r, "a string is expected");
    const char *start = r->p, *end = memchr(start, single ? '\'' : '"', (size_t)(r->end - start));
    if (!end) return DAMAGED(r, "a string does not end");
    *out = (onx_str){start, (size_t)(end - start)};
    r->p = end + 1;
    return ONX_OK;
}

static onx_status read_dim(reader *r, int64_t *out) {
    skip_spaces(r);
    const char *start = r->p;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9') r->p++;
    if (!onx_parse_i64((onx_str){start, (size_t)(r->p - start)}, out))
        return DAMAGED(r, "a dimension is no number of 64 bits");
    accept(r, "L"); /* Python 2 wrote it behind large numbers */
    return ONX_OK;
}

/* ── Its three values ────────────────────────────────────────────────────────────────────────── */

static onx_status read_shape(reader *r) {
    onx_i64s dims = {NULL, 0, 0};
    bool comma = true;
    ONX_TRY(expect(r, "("));
    while (!accept(r, ")")) {
        int64_t dim = 0;
        if (!comma) return expect(r, ",");
        ONX_TRY(read_dim(r, &dim));
        comma = accept(r, ",");
        if (dims.n == r->doc->ctx->limits.rank)
            return FAIL(r, ONX_LIMIT, "the array has more than %zu dimensions", dims.n);
        if (!onx_i64s_push(r->doc, &dims, dim)) return onx_doc_fail(r->doc, r->diag);
    }
    if (dims.n == 1 && !comma) return DAMAGED(r, "the shape is a number, not a tuple");
    r->tensor->dims = dims;
    return ONX_OK;
}

static onx_status read_order(reader *r) {
    r->fortran = accept(r, "True");
    return r->fortran ? ONX_OK : expect(r, "False");
}

/* The kind and size of "<f4", and the byte order from it. */
static onx_str without_order(reader *r, onx_str code) {
    if (code.size == 0 || !memchr("<>=|", code.data[0], 4)) return code;
    r->swap = code.data[0] == '>';
    return (onx_str){code.data + 1, code.size - 1};
}

static onx_status set_type(reader *r, onx_dtype dtype) {
    unsigned bits = onx_dtype_bits(dtype);
    r->dtype = dtype;
    r->item = bits < 8 ? 1 : bits / 8;
    r->unit = dtype == ONX_DTYPE_C64 || dtype == ONX_DTYPE_C128 ? r->item / 2 : r->item;
    return ONX_OK;
}

/* "U7" or "S7": strings of fixed width. */
static onx_status set_strings(reader *r, onx_str code) {
    uint64_t width = 0;
    if (!onx_parse_digits((onx_str){code.data + 1, code.size - 1}, 10, &width) ||
        width > SIZE_MAX / 4)
        return DAMAGED(r, "the width of the strings is no number");
    r->dtype = ONX_DTYPE_STRING;
    r->unit = code.data[0] == 'U' ? 4 : 1;
    r->item = (size_t)width * r->unit;
    return ONX_OK;
}

static const onx_npy_type *find_name(onx_str name) {
    for (const onx_npy_type *t = onx_npy_types; t->code; t++)
        if (t->name && (onx_str_is(name, t->name) || onx_str_is(name, onx_dtype_name(t->dtype)) ||
                        (t->old && onx_str_is(name, t->old))))
            return t;
    return NULL;
}

static onx_status read_code(reader *r) {
    onx_str text = {NULL, 0};
    ONX_TRY(read_string(r, &text));
    onx_str code = without_order(r, text);
    for (const onx_npy_type *t = onx_npy_types; t->code; t++)
        if (!t->name && onx_str_is(code, t->code + 1)) return set_type(r, t->dtype);
    const onx_npy_type *named = find_name(text);
    if (named) return set_type(r, named->dtype);
    if (code.size > 1 && (code.data[0] == 'U' || code.data[0] == 'S')) return set_strings(r, code);
    if (onx_str_is(code, "O")) {
        FAIL(r, ONX_UNSUPPORTED, "the array holds pickled Python objects, which are never loaded");
        onx_diag_hint(r->diag, "save it with a type of its own, such as a.astype(str)");
        return ONX_UNSUPPORTED;
    }
    FAIL(r, ONX_UNSUPPORTED, "ONNX has no element type for numpy's '%.*s'", ONX_FMT(text));
    if (onx_str_is(code, "V1"))
        onx_diag_hint(r->diag,
                      "numpy does not say which 8-bit type it is; save a.view([(name, 'u1')])");
    return ONX_UNSUPPORTED;
}

/* A record of one field, which says the type. */
static onx_status read_record(reader *r) {
    onx_str name = {NULL, 0}, code = {NULL, 0};
    ONX_TRY(expect(r, "("));
    ONX_TRY(read_string(r, &name));
    ONX_TRY(expect(r, ","));
    ONX_TRY(read_string(r, &code));
    accept(r, ",");
    const onx_npy_type *type = accept(r, ")") ? find_name(name) : NULL;
    accept(r, ",");
    if (!type || !accept(r, "]"))
        return FAIL(r, ONX_UNSUPPORTED, "the array is one of records, which ONNX does not have");
    code = without_order(r, code);
    if (code.size != 2 || !memchr("uiV", code.data[0], 3) || code.data[1] != type->code[2])
        return DAMAGED(r, "the field's size is not that of its type");
    return set_type(r, type->dtype);
}

static onx_status read_descr(reader *r) {
    return accept(r, "[") ? read_record(r) : read_code(r);
}

static onx_status read_header(reader *r) {
    static const struct {
        const char *key;
        onx_status (*read)(reader *r);
    } values[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};
    bool seen[ONX_COUNT(values)] = {false};
    bool comma = true;
    ONX_TRY(expect(r, "{"));
    while (!accept(r, "}")) {
        onx_str key = {NULL, 0};
        size_t i = 0;
        if (!comma) return expect(r, ",");
        ONX_TRY(read_string(r, &key));
        while (i < ONX_COUNT(values) && !onx_str_is(key, values[i].key)) i++;
        if (i == ONX_COUNT(values) || seen[i]) return DAMAGED(r, "a key is unknown or repeated");
        seen[i] = true;
        ONX_TRY(expect(r, ":"));
        ONX_TRY(values[i].read(r));
        comma = accept(r, ",");
    }
    skip_spaces(r);
    if (r->p < r->end) return DAMAGED(r, "something follows it");
    return seen[0] && seen[1] && seen[2] ? ONX_OK : DAMAGED(r, "a key is missing");
}

static onx_status read_prefix(reader *r, onx_str bytes) {
    size_t size = bytes.size >= 8 && bytes.data[6] == 1 ? 10 : 12;
    if (bytes.size < size || memcmp(bytes.data, "\x93NUMPY", 6) != 0)
        return FAIL(r, ONX_MALFORMED, "not a .npy file, or one cut off");
    if (bytes.data[6] < 1 || bytes.data[6] > 3 || bytes.data[7] != 0)
        return FAIL(r, ONX_UNSUPPORTED, "version %d.%d of the .npy format is not known",
                    (uint8_t)bytes.data[6], (uint8_t)bytes.data[7]);
    uint32_t length = 0;
    memcpy(&length, bytes.data + 8, size - 8);
    if (length > bytes.size - size) return FAIL(r, ONX_MALFORMED, "the array header is cut off");
    r->p = bytes.data + size;
    r->end = r->p + length;
    return ONX_OK;
}

/* ── The data ────────────────────────────────────────────────────────────────────────────────── */

/* Dimensions of 1 do not matter to the order of elements; there are less than 64 others, since an
 * array that exists has less than 2^64 elements. */
static size_t true_dims(const onx_i64s *dims, uint64_t out[64]) {
    size_t n = 0;
    for (size_t i = 0; i < dims->n; i++)
        if (dims->v[i] > 1) out[n++] = (uint64_t)dims->v[i];
    return n;
}

/* Elements in which the first index runs fastest to such in which the last does. */
static void transpose(const reader *r, const char *src, char *dst, uint64_t count) {
    uint64_t dims[64], strides[64], index[64] = {0}, from = 0;
    size_t rank = true_dims(&r->tensor->dims, dims);
    for (size_t j = 0; j < rank; j++) strides[j] = j ? strides[j - 1] * dims[j - 1] : 1;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(dst + i * r->item, src + from * r->item, r->item);
        for (size_t j = rank; j-- > 0;) {
            from += strides[j];
            if (++index[j] < dims[j]) break;
            from -= strides[j] * dims[j];
            index[j] = 0;
        }
    }
}

static void swap_units(char *data, size_t size, size_t unit) {
    for (char *p = data; p < data + size; p += unit)
        for (size_t a = 0, b = unit - 1; a < b; a++, b--) {
            char t = p[a];
            p[a] = p[b];
            p[b] = t;
        }
}

static onx_status take_packed(reader *r, onx_str data) {
    size_t bytes = 0;
    onx_blob *blob = NULL;
    if (!onx_dtype_bytes(r->dtype, data.size, &bytes)) return onx_fail_nomem(r->diag);
    ONX_TRY(onx_blob_new(r->doc->ctx, bytes, &blob, r->diag));
    char *out = (char *)(uintptr_t)blob->bytes.data;
    onx_dtype_pack(onx_dtype_bits(r->dtype), (const uint8_t *)data.data, out, data.size);
    ONX_TRY(onx_doc_keep(r->doc, blob, r->diag));
    onx_tensor_set_raw(r->tensor, (onx_str){out, bytes});
    return ONX_OK;
}

/* One string of UCS-4 in UTF-8; `out` has room for as many bytes. */
static bool to_utf8(onx_str in, char *out, size_t *size) {
    *size = 0;
    for (size_t i = 0; i < in.size; i += 4) {
        size_t n = onx_utf8_put(onx_load_u32(in.data + i), out + *size);
        if (n == 0) return false;
        *size += n;
    }
    return true;
}

static onx_status take_string(reader *r, onx_str in, char *scratch, onx_str *out) {
    static const char zeros[4] = {0};
    while (in.size && memcmp(in.data + in.size - r->unit, zeros, r->unit) == 0) in.size -= r->unit;
    if (r->unit == 4) {
        size_t size;
        if (!to_utf8(in, scratch, &size))
            return onx_fail(r->diag, ONX_MALFORMED, "a string of the array is not valid Unicode");
        in = (onx_str){scratch, size};
    }
    return onx_doc_str(r->doc, in, out) ? ONX_OK : onx_doc_fail(r->doc, r->diag);
}

static onx_status take_strings(reader *r, onx_str data, uint64_t count) {
    onx_context *ctx = r->doc->ctx;
    char *scratch = onx_mem_alloc(ctx, r->item);
    onx_strs strings = {onx_arena_array(&r->doc->arena, (size_t)count, sizeof(onx_str)), 0, 0};
    onx_status status = !scratch     ? onx_fail_nomem(r->diag)
                        : !strings.v ? onx_doc_fail(r->doc, r->diag)
                                     : ONX_OK;
    for (; !status && strings.n < count; strings.n++)
        status = take_string(r, (onx_str){data.data + strings.n * r->item, r->item}, scratch,
                             &strings.v[strings.n]);
    onx_mem_free(ctx, scratch, r->item);
    if (status) return status;
    strings.cap = strings.n;
    r->tensor->string_data = strings;
    onx_msg_touch(r->tensor);
    return ONX_OK;
}

/* In the order of ONNX: `data` itself, or a copy that the caller releases. */
static onx_status arrange(reader *r, onx_str *data, uint64_t count, onx_blob **out) {
    uint64_t dims[64];
    bool turn = r->fortran && count > 0 && true_dims(&r->tensor->dims, dims) > 1;
    bool swap = r->swap && r->unit > 1;
    *out = NULL;
    if (!turn && !swap) return ONX_OK;
    ONX_TRY(onx_blob_new(r->doc->ctx, data->size, out, r->diag));
    char *copy = (char *)(uintptr_t)(*out)->bytes.data;
    if (turn)
        transpose(r, data->data, copy, count);
    else if (data->size)
        memcpy(copy, data->data, data->size);
    if (swap) swap_units(copy, data->size, r->unit);
    *data = (*out)->bytes;
    return ONX_OK;
}

static onx_status take_data(reader *r, onx_str data, uint64_t count) {
    onx_blob *copy = NULL;
    ONX_TRY(arrange(r, &data, count, &copy));
    bool raw = onx_dtype_bits(r->dtype) >= 8;
    if (raw && copy) ONX_TRY(onx_doc_keep(r->doc, copy, r->diag));
    if (raw) {
        onx_tensor_set_raw(r->tensor, data);
        return ONX_OK;
    }
    onx_status status =
        r->dtype == ONX_DTYPE_STRING ? take_strings(r, data, count) : take_packed(r, data);
    onx_blob_release(copy);
    return status;
}

onx_status onx_npy_read(onx_doc *doc, onx_str bytes, onx_tensor **out, onx_diag *diag) {
    reader r = {.doc = doc, .diag = diag, .start = bytes.data, .p = bytes.data};
    uint64_t count = 0;
    size_t needed;
    ONX_TRY(read_prefix(&r, bytes));
    r.tensor = onx_msg_new(doc, &onx_desc_tensor);
    if (!r.tensor) return onx_doc_fail(doc, diag);
    ONX_TRY(read_header(&r));
    ONX_TRY(onx_tensor_count(r.tensor, &count, diag));
    onx_str data = {r.end, (size_t)(bytes.data + bytes.size - r.end)};
    if (count > SIZE_MAX || !onx_mul_size((size_t)count, r.item, &needed) || needed != data.size)
        return FAIL(&r, ONX_MALFORMED,
                    "%zu bytes follow the array header, not %zu for each of %llu elements",
                    data.size, r.item, (unsigned long long)count);
    if (r.item == 0 && count > 0)
        return FAIL(&r, ONX_UNSUPPORTED, "the array holds strings of no width");
    ONX_TRY(take_data(&r, data, count));
    onx_i32_set(r.tensor, ONX_ROW(tensor, data_type), (int32_t)r.dtype);
    *out = r.tensor;
    return ONX_OK;
}
