/* payload.c: the data of tensors, in every form TensorProto has: checking, reading, changing the
 * form.
 *
 *     raw_data        dense little-endian bytes; sub-byte types packed
 *     typed lists     float_data, int32_data, … : which one, by element type, in `storage` below
 *     external data   dense bytes in another file; `external` once it has been found (external.c)
 */
#include "ir/edit.h"

/* The list that holds elements of each type, and how many elements one entry of it holds. */
static const struct {
    enum onx_row row;
    uint8_t per_entry; /* elements; 0: an element is two entries (complex) */
} storage[ONX_DTYPE_COUNT] = {[ONX_DTYPE_F32] = {ONX_ROW_tensor_float_data, 1},
                              [ONX_DTYPE_C64] = {ONX_ROW_tensor_float_data, 0},
                              [ONX_DTYPE_F64] = {ONX_ROW_tensor_double_data, 1},
                              [ONX_DTYPE_C128] = {ONX_ROW_tensor_double_data, 0},
                              [ONX_DTYPE_I64] = {ONX_ROW_tensor_int64_data, 1},
                              [ONX_DTYPE_U32] = {ONX_ROW_tensor_uint64_data, 1},
                              [ONX_DTYPE_U64] = {ONX_ROW_tensor_uint64_data, 1},
                              [ONX_DTYPE_STRING] = {ONX_ROW_tensor_string_data, 1},
#define IN_INT32(type, n) [ONX_DTYPE_##type] = {ONX_ROW_tensor_int32_data, n}
                              IN_INT32(U8, 1),
                              IN_INT32(I8, 1),
                              IN_INT32(U16, 1),
                              IN_INT32(I16, 1),
                              IN_INT32(I32, 1),
                              IN_INT32(BOOL, 1),
                              IN_INT32(F16, 1),
                              IN_INT32(BF16, 1),
                              IN_INT32(F8E4M3FN, 1),
                              IN_INT32(F8E4M3FNUZ, 1),
                              IN_INT32(F8E5M2, 1),
                              IN_INT32(F8E5M2FNUZ, 1),
                              IN_INT32(F8E8M0, 1),
                              IN_INT32(F6E2M3, 1),
                              IN_INT32(F6E3M2, 1),
                              IN_INT32(U4, 2),
                              IN_INT32(I4, 2),
                              IN_INT32(F4E2M1, 2),
                              IN_INT32(U2, 4),
                              IN_INT32(I2, 4)
#undef IN_INT32
};

static const onx_field *row_of(enum onx_row row) {
    return &onx_desc_tensor.fields[row - ONX_ROW_tensor_before - 1];
}

static const onx_field *storage_row(const onx_tensor *tensor) {
    return row_of(storage[tensor->data_type].row);
}

static bool is_known(const onx_tensor *tensor) {
    return tensor->data_type > 0 && tensor->data_type < ONX_DTYPE_COUNT;
}

static onx_status fail_tensor(const onx_tensor *tensor, onx_status status, onx_diag *diag) {
    char path[160];
    if (!diag) return status; /* finding the place takes time */
    onx_msg_path(tensor, path, sizeof path);
    onx_diag_place(diag, "%s%stensor '%.*s'", path, path[0] ? ", " : "", ONX_FMT(tensor->name));
    return status;
}
#define FAIL(tensor, diag, status, ...)                                                            \
    fail_tensor(tensor, onx_fail(diag, status, __VA_ARGS__), diag)

onx_status onx_tensor_count(const onx_tensor *tensor, uint64_t *count, onx_diag *diag) {
    int64_t n = 1;
    bool empty = false;
    for (size_t i = 0; i < tensor->dims.n; i++) {
        int64_t d = tensor->dims.v[i];
        if (d < 0)
            return FAIL(tensor, diag, ONX_INVALID, "dimension %zu is negative: %lld", i,
                        (long long)d);
        if (d == 0)
            empty = true; /* must not hide an overflow of the others */
        else if (!onx_mul_i64(n, d, &n))
            return FAIL(tensor, diag, ONX_INVALID, "the product of the dimensions overflows");
    }
    *count = empty ? 0 : (uint64_t)n;
    return ONX_OK;
}

onx_status onx_tensor_bytes(const onx_tensor *tensor, size_t *bytes, onx_diag *diag) {
    uint64_t count;
    if (!is_known(tensor))
        return FAIL(tensor, diag, ONX_INVALID, "element type %d is not known",
                    (int)tensor->data_type);
    if (tensor->data_type == ONX_DTYPE_STRING)
        return FAIL(tensor, diag, ONX_USAGE, "strings have no dense form");
    ONX_TRY(onx_tensor_count(tensor, &count, diag));
    if (!onx_dtype_bytes((onx_dtype)tensor->data_type, count, bytes))
        return FAIL(tensor, diag, ONX_INVALID, "the size of the tensor overflows");
    return ONX_OK;
}

/* Entries of the typed list for `count` elements. */
static uint64_t entries_for(const onx_tensor *tensor, uint64_t count) {
    unsigned per = storage[tensor->data_type].per_entry;
    return per ? count / per + (count % per != 0) : count * 2;
}

static uint64_t entries_in(const onx_tensor *tensor, const onx_field *row) {
    const void *p = onx_field_ptr(tensor, row);
    if (row->kind == ONX_FIELD_BYTESS) return ((const onx_strs *)p)->n;
    return onx_packed_count((onx_field_kind)row->kind, *(const onx_str *)p);
}

static const enum onx_row payload_rows[] = {ONX_ROW_tensor_raw_data,    ONX_ROW_tensor_float_data,
                                            ONX_ROW_tensor_int32_data,  ONX_ROW_tensor_int64_data,
                                            ONX_ROW_tensor_double_data, ONX_ROW_tensor_uint64_data,
                                            ONX_ROW_tensor_string_data};

/* The one payload field that is set: NULL when there is none, or when the data are external. */
static onx_status find_payload(const onx_tensor *tensor, const onx_field **out, onx_diag *diag) {
    const onx_field *found = NULL;
    for (size_t i = 0; i < ONX_COUNT(payload_rows); i++) {
        const onx_field *row = row_of(payload_rows[i]);
        if (!onx_msg_has(tensor, row)) continue;
        if (found)
            return FAIL(tensor, diag, ONX_INVALID, "both '%s' and '%s' hold data", found->name,
                        row->name);
        found = row;
    }
    if (found && onx_tensor_is_external(tensor) &&
        found->number != ONX_ROW(tensor, raw_data)->number)
        return FAIL(tensor, diag, ONX_INVALID, "data are external, yet '%s' is set", found->name);
    *out = found;
    return ONX_OK;
}

static onx_status check_payload(const onx_tensor *tensor, const onx_field *row, uint64_t count,
                                onx_diag *diag) {
    const char *type = onx_dtype_name((onx_dtype)tensor->data_type);
    if (row == ONX_ROW(tensor, raw_data)) {
        size_t bytes;
        ONX_TRY(onx_tensor_bytes(tensor, &bytes, diag));
        if (tensor->raw_data.size == bytes) return ONX_OK;
        return FAIL(tensor, diag, ONX_INVALID,
                    "raw_data has %zu bytes, but %llu elements of %s need %zu",
                    tensor->raw_data.size, (unsigned long long)count, type, bytes);
    }
    if (row != storage_row(tensor))
        return FAIL(tensor, diag, ONX_INVALID, "elements of type %s belong in '%s', not in '%s'",
                    type, storage_row(tensor)->name, row->name);
    if (entries_in(tensor, row) == entries_for(tensor, count)) return ONX_OK;
    return FAIL(tensor, diag, ONX_INVALID,
                "'%s' has %llu entries, but %llu elements of %s need %llu", row->name,
                (unsigned long long)entries_in(tensor, row), (unsigned long long)count, type,
                (unsigned long long)entries_for(tensor, count));
}

static onx_status check_segment(const onx_tensor *tensor, uint64_t *count, onx_diag *diag) {
    const onx_segment *s = tensor->segment;
    if (s->begin < 0 || s->end < s->begin || (uint64_t)s->end > *count)
        return FAIL(tensor, diag, ONX_INVALID, "the segment lies outside the tensor");
    *count = (uint64_t)(s->end - s->begin);
    return ONX_OK;
}

onx_status onx_tensor_check(const onx_tensor *tensor, onx_diag *diag) {
    uint64_t count;
    const onx_field *row;
    if (!is_known(tensor))
        return FAIL(tensor, diag, ONX_INVALID, "element type %d is not known",
                    (int)tensor->data_type);
    ONX_TRY(onx_tensor_count(tensor, &count, diag));
    if (tensor->segment) ONX_TRY(check_segment(tensor, &count, diag));
    ONX_TRY(find_payload(tensor, &row, diag));
    bool is_string = tensor->data_type == ONX_DTYPE_STRING;
    if (is_string && (row == ONX_ROW(tensor, raw_data) || onx_tensor_is_external(tensor)))
        return FAIL(tensor, diag, ONX_INVALID, "strings are stored in string_data only");
    if (onx_tensor_is_external(tensor)) {
        size_t bytes;
        ONX_TRY(onx_tensor_bytes(tensor, &bytes, diag));
        if (!tensor->external.data || tensor->segment || tensor->external.size == bytes)
            return ONX_OK;
        return FAIL(tensor, diag, ONX_INVALID,
                    "the external data have %zu bytes, but the tensor needs %zu",
                    tensor->external.size, bytes);
    }
    if (row)
        return tensor->segment && row == ONX_ROW(tensor, raw_data)
                   ? ONX_OK
                   : check_payload(tensor, row, count, diag);
    if (count == 0) return ONX_OK;
    return FAIL(tensor, diag, ONX_INVALID, "the tensor has %llu elements, but no data",
                (unsigned long long)count);
}

/* Checked, whole and at hand: what reading needs. */
static onx_status check_readable(const onx_tensor *tensor, onx_diag *diag) {
    ONX_TRY(onx_tensor_check(tensor, diag));
    if (tensor->segment) return FAIL(tensor, diag, ONX_UNSUPPORTED, "the tensor is only a segment");
    if (!onx_tensor_is_external(tensor) || tensor->external.data) return ONX_OK;
    FAIL(tensor, diag, ONX_NOT_FOUND, "the external data in '%.200s' were not loaded",
         onx_tensor_location(tensor));
    onx_diag_hint(diag, "load the model from its file, or set onx_load_options.folder");
    return ONX_NOT_FOUND;
}

onx_str onx_tensor_view(const onx_tensor *tensor) {
    const onx_field *row;
    if (check_readable(tensor, NULL) || find_payload(tensor, &row, NULL)) return (onx_str){NULL, 0};
    if (onx_tensor_is_external(tensor)) return tensor->external;
    if (!row) return (onx_str){"", 0};
    bool dense = row == ONX_ROW(tensor, raw_data) || row->kind == ONX_FIELD_PACKED_F32 ||
                 row->kind == ONX_FIELD_PACKED_F64;
    return dense ? *(const onx_str *)onx_field_ptr(tensor, row) : (onx_str){NULL, 0};
}

/* One entry of an integer list, to its place among the dense bytes. */
static void put_entry(unsigned bits, uint64_t index, uint64_t v, unsigned char *out) {
    switch (bits) {
    case 16: memcpy(out + 2 * index, &v, 2); break;
    case 32: memcpy(out + 4 * index, &v, 4); break;
    case 64: memcpy(out + 8 * index, &v, 8); break;
    case 6: {
        uint64_t bit = index * 6;
        unsigned wide = (unsigned)(v & 63) << (bit % 8);
        out[bit / 8] |= (unsigned char)wide;
        if (wide > 0xff) out[bit / 8 + 1] |= (unsigned char)(wide >> 8);
        break;
    }
    default:
        out[index] = (unsigned char)v;
        break; /* 8 bits, and packed bytes of 4- and 2-bit types */
    }
}

static void unpack(const onx_tensor *tensor, onx_str packed, unsigned char *out, size_t bytes) {
    const char *p = packed.data, *end = p + packed.size;
    unsigned bits = onx_dtype_bits((onx_dtype)tensor->data_type);
    if (bits == 6) memset(out, 0, bytes);
    for (uint64_t i = 0, v = 0; p < end; i++) {
        p += onx_varint_get(p, end, &v);
        put_entry(bits, i, v, out);
    }
}

onx_status onx_tensor_read(const onx_tensor *tensor, void *out, size_t bytes, onx_diag *diag) {
    size_t needed;
    ONX_TRY(check_readable(tensor, diag));
    ONX_TRY(onx_tensor_bytes(tensor, &needed, diag));
    if (bytes != needed)
        return FAIL(tensor, diag, ONX_USAGE, "the buffer has %zu bytes, the tensor %zu", bytes,
                    needed);
    if (needed == 0) return ONX_OK;
    onx_str view = onx_tensor_view(tensor);
    if (view.data)
        memcpy(out, view.data, bytes);
    else
        unpack(tensor, *(onx_str *)onx_field_ptr(tensor, storage_row(tensor)), out, bytes);
    unsigned char *flags = out;
    for (size_t i = 0; tensor->data_type == ONX_DTYPE_BOOL && i < bytes; i++)
        flags[i] = flags[i] != 0;
    return ONX_OK;
}

onx_status onx_tensor_read_as(const onx_tensor *tensor, onx_dtype dtype, void *out, size_t bytes,
                              onx_diag *diag) {
    size_t own, needed;
    uint64_t count;
    ONX_TRY(check_readable(tensor, diag));
    ONX_TRY(onx_tensor_bytes(tensor, &own, diag));
    ONX_TRY(onx_tensor_count(tensor, &count, diag));
    if (!onx_dtype_bytes(dtype, count, &needed) || needed != bytes)
        return FAIL(tensor, diag, ONX_USAGE, "%zu bytes do not hold %llu elements of %s", bytes,
                    (unsigned long long)count, onx_dtype_name(dtype));
    onx_context *ctx = tensor->msg.doc->ctx;
    char few[256], *dense = own <= sizeof few ? few : onx_mem_alloc(ctx, own);
    if (!dense) return onx_fail_nomem(diag);
    onx_status status = onx_tensor_read(tensor, dense, own, diag);
    if (!status) {
        status = onx_dtype_convert((onx_dtype)tensor->data_type, dense, dtype, out, count, true);
        if (status) FAIL(tensor, diag, status, "the elements cannot be converted");
    }
    if (dense != few) onx_mem_free(ctx, dense, own);
    return status;
}

onx_status onx_tensor_string_at(const onx_tensor *tensor, uint64_t index, onx_str *out,
                                onx_diag *diag) {
    if (tensor->data_type != ONX_DTYPE_STRING || index >= tensor->string_data.n)
        return FAIL(tensor, diag, ONX_USAGE, "there is no string %llu", (unsigned long long)index);
    *out = tensor->string_data.v[index];
    return ONX_OK;
}

/* Changing the form. */

void onx_tensor_clear(onx_tensor *tensor) {
    for (size_t i = 0; i < ONX_COUNT(payload_rows); i++)
        onx_msg_clear(tensor, row_of(payload_rows[i]));
    onx_msg_clear(tensor, ONX_ROW(tensor, external_data));
    onx_msg_clear(tensor, ONX_ROW(tensor, data_location));
    onx_msg_clear(tensor, ONX_ROW(tensor, segment));
    tensor->external = (onx_str){NULL, 0};
}

void onx_tensor_set_raw(onx_tensor *tensor, onx_str bytes) {
    onx_tensor_clear(tensor);
    tensor->raw_data = bytes;
    onx_msg_set_has(tensor, ONX_ROW(tensor, raw_data));
    onx_msg_touch(tensor);
}

onx_status onx_tensor_store_raw(onx_tensor *tensor, onx_diag *diag) {
    size_t bytes;
    onx_blob *blob;
    if (tensor->data_type == ONX_DTYPE_STRING)
        return FAIL(tensor, diag, ONX_USAGE, "strings cannot be stored as raw data");
    ONX_TRY(check_readable(tensor, diag));
    if (onx_msg_has(tensor, ONX_ROW(tensor, raw_data)) && !onx_tensor_is_external(tensor))
        return ONX_OK;
    onx_str view = onx_tensor_view(tensor);
    if (!view.data) {
        ONX_TRY(onx_tensor_bytes(tensor, &bytes, diag));
        ONX_TRY(onx_blob_new(tensor->msg.doc->ctx, bytes, &blob, diag));
        onx_status status =
            onx_tensor_read(tensor, (char *)(uintptr_t)blob->bytes.data, bytes, diag);
        if (status) {
            onx_blob_release(blob);
            return status;
        }
        ONX_TRY(onx_doc_keep(tensor->msg.doc, blob, diag));
        view = blob->bytes;
    }
    onx_tensor_set_raw(tensor, view);
    return ONX_OK;
}

/* Dense bytes to one entry of the typed list, as the varint that protobuf writes for it. */
static uint64_t get_entry(onx_dtype dtype, uint64_t index, const unsigned char *in, size_t bytes) {
    unsigned bits = onx_dtype_bits(dtype);
    uint64_t v = 0;
    if (bits == 6) {
        size_t bit = (size_t)index * 6;
        unsigned wide = in[bit / 8] | (bit / 8 + 1 < bytes ? (unsigned)in[bit / 8 + 1] << 8 : 0);
        return wide >> (bit % 8) & 63;
    }
    size_t width = bits < 8 ? 1 : bits / 8;
    memcpy(&v, in + index * width, width);
    if (dtype == ONX_DTYPE_I8) v = (uint64_t)(int64_t)(int8_t)v;
    if (dtype == ONX_DTYPE_I16) v = (uint64_t)(int64_t)(int16_t)v;
    if (dtype == ONX_DTYPE_I32) v = (uint64_t)(int64_t)(int32_t)v;
    return v;
}

static onx_status pack(onx_tensor *tensor, onx_str dense, onx_str *out, onx_diag *diag) {
    onx_dtype dtype = (onx_dtype)tensor->data_type;
    const unsigned char *in = (const unsigned char *)dense.data;
    onx_doc *doc = tensor->msg.doc;
    uint64_t count, size = 0;
    onx_blob *blob;
    ONX_TRY(onx_tensor_count(tensor, &count, diag));
    uint64_t entries = entries_for(tensor, count);
    for (uint64_t i = 0; i < entries; i++)
        size += onx_varint_size(get_entry(dtype, i, in, dense.size));
    ONX_TRY(onx_blob_new(doc->ctx, (size_t)size, &blob, diag));
    char *p = (char *)(uintptr_t)blob->bytes.data;
    for (uint64_t i = 0; i < entries; i++)
        p += onx_varint_put(get_entry(dtype, i, in, dense.size), p);
    *out = blob->bytes;
    return onx_doc_keep(doc, blob, diag);
}

onx_status onx_tensor_store_typed(onx_tensor *tensor, onx_diag *diag) {
    ONX_TRY(check_readable(tensor, diag));
    if (tensor->data_type == ONX_DTYPE_STRING) return ONX_OK;
    onx_str dense = onx_tensor_view(tensor), packed;
    if (!dense.data) return ONX_OK; /* it is stored that way */
    const onx_field *row = storage_row(tensor);
    if (row->kind == ONX_FIELD_PACKED_F32 || row->kind == ONX_FIELD_PACKED_F64)
        packed = dense;
    else
        ONX_TRY(pack(tensor, dense, &packed, diag));
    onx_tensor_clear(tensor);
    *(onx_str *)onx_field_ptr(tensor, row) = packed;
    onx_msg_touch(tensor);
    return ONX_OK;
}
