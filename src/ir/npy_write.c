/* npy_write.c: a tensor as the bytes of a .npy file; npy.h says which. */
#include "base/number.h"
#include "base/utf8.h"
#include "ir/dtype.h"
#include "ir/npy.h"

#include <stdio.h>

enum {
    ALIGN = 64,
    PREFIX = 8,  /* magic and version, before the length */
    GROWTH = 21, /* digits that numpy leaves for the first dimension to grow */
    SLACK = 64 << 20,
};

/* ── The header ──────────────────────────────────────────────────────────────────────────────── */

static void put_spaces(onx_buf *buf, size_t count) {
    while (count-- > 0) onx_buf_putc(buf, ' ');
}

static void put_shape(onx_buf *buf, const onx_tensor *tensor) {
    size_t rank = tensor->dims.n, room = 0;
    onx_buf_puts(buf, "'shape': (");
    for (size_t i = 0; i < rank; i++) {
        char digits[ONX_NUMBER_MAX];
        size_t n = onx_print_i64(tensor->dims.v[i], digits);
        if (i == 0) room = GROWTH - n;
        onx_buf_put(buf, digits, n);
        onx_buf_puts(buf, i + 1 < rank ? ", " : rank == 1 ? "," : "");
    }
    onx_buf_puts(buf, "), }");
    put_spaces(buf, room);
}

/* The dictionary, then spaces and a newline, so that the data begin at a multiple of ALIGN. */
static onx_status put_header(onx_buf *buf, const onx_tensor *tensor, const char *descr,
                             onx_diag *diag) {
    onx_buf text;
    onx_buf_init(&text, buf->ctx);
    onx_buf_printf(&text, "{'descr': %s, 'fortran_order': False, ", descr);
    put_shape(&text, tensor);
    size_t width = 2, pad, length; /* of the length itself: 4 bytes from version 2 on */
    for (;; width = 4) {
        pad = ALIGN - (PREFIX + width + text.size + 1) % ALIGN;
        length = text.size + pad + 1;
        if (width == 4 || length <= UINT16_MAX) break;
    }
    onx_buf_put(buf, width == 2 ? "\x93NUMPY\1\0" : "\x93NUMPY\2\0", PREFIX);
    onx_buf_put(buf, &length, width);
    onx_buf_put(buf, text.data, text.size);
    put_spaces(buf, pad);
    onx_buf_putc(buf, '\n');
    bool failed = text.failed || buf->failed;
    onx_buf_fini(&text);
    return failed ? onx_fail_nomem(diag) : ONX_OK;
}

static const onx_npy_type *type_of(onx_dtype dtype) {
    const onx_npy_type *type = onx_npy_types;
    while (type->dtype != dtype) type++;
    return type;
}

/* ── Numbers ─────────────────────────────────────────────────────────────────────────────────── */

static void sign_extend(char *data, size_t size, unsigned bits) {
    int sign = 1 << (bits - 1);
    for (size_t i = 0; i < size; i++) data[i] = (char)((data[i] ^ sign) - sign);
}

/* The dense bytes in a buffer; one byte each for elements of less. */
static onx_status read_numbers(onx_npy_image *image, const onx_tensor *tensor, onx_diag *diag) {
    onx_context *ctx = tensor->msg.doc->ctx;
    unsigned bits = onx_dtype_bits(onx_tensor_dtype(tensor));
    size_t dense = 0;
    uint64_t count = 0;
    ONX_TRY(onx_tensor_bytes(tensor, &dense, diag));
    ONX_TRY(onx_tensor_count(tensor, &count, diag));
    if (count > SIZE_MAX) return onx_fail_nomem(diag);
    ONX_TRY(onx_blob_new(ctx, bits < 8 ? (size_t)count : dense, &image->owned, diag));
    char *out = (char *)(uintptr_t)image->owned->bytes.data;
    image->data = image->owned->bytes;
    if (bits >= 8) return onx_tensor_read(tensor, out, dense, diag);
    char *packed = onx_mem_alloc(ctx, dense);
    if (!packed) return onx_fail_nomem(diag);
    onx_status status = onx_tensor_read(tensor, packed, dense, diag);
    if (!status) onx_dtype_unpack(bits, packed, (uint8_t *)out, (size_t)count);
    onx_mem_free(ctx, packed, dense);
    if (type_of(onx_tensor_dtype(tensor))->code[1] == 'i') sign_extend(out, (size_t)count, bits);
    return status;
}

static onx_status image_numbers(onx_npy_image *image, const onx_tensor *tensor, onx_diag *diag) {
    const onx_npy_type *type = type_of(onx_tensor_dtype(tensor));
    bool as_is = onx_dtype_bits(type->dtype) >= 8 && type->dtype != ONX_DTYPE_BOOL;
    char descr[64];
    if (as_is) image->data = onx_tensor_view(tensor);
    if (!image->data.data) ONX_TRY(read_numbers(image, tensor, diag));
    if (type->name)
        snprintf(descr, sizeof descr, "[('%s', '%s')]", type->name, type->code);
    else
        snprintf(descr, sizeof descr, "'%s'", type->code);
    return put_header(&image->header, tensor, descr, diag);
}

/* ── Strings ─────────────────────────────────────────────────────────────────────────────────── */

/* How wide the strings of a tensor are. */
typedef struct widths {
    size_t bytes, points; /* of the longest; in code points */
    size_t total;         /* bytes of all */
    bool utf8;
} widths;

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static widths measure(const onx_strs *strings) {
    widths w = {.bytes = 1, .points = 1, .utf8 = true};
    for (size_t i = 0; i < strings->n; i++) {
        const char *p = strings->v[i].data, *end = p + strings->v[i].size;
        size_t points = 0;
        while (w.utf8 && p < end) {
            size_t n = onx_utf8_size(p, end);
            w.utf8 = n > 0;
            p += n;
            points++;
        }
        w.points = larger(w.points, points);
        w.bytes = larger(w.bytes, strings->v[i].size);
        w.total += strings->v[i].size;
    }
    return w;
}

/* The code point of a valid character of `size` bytes. */
static uint32_t code_point(const char *p, size_t size) {
    uint32_t code = (unsigned char)*p & (size == 1 ? 0x7f : 0x7fu >> size);
    for (size_t i = 1; i < size; i++) code = code << 6 | (p[i] & 0x3f);
    return code;
}

static void put_ucs4(onx_str in, char *out) {
    for (const char *p = in.data, *end = p + in.size; p < end; out += 4) {
        size_t size = onx_utf8_size(p, end);
        uint32_t code = code_point(p, size);
        memcpy(out, &code, 4);
        p += size;
    }
}

/* Padding may take the factor that structure may, and always SLACK bytes. */
static bool padded_size(const onx_context *ctx, size_t count, size_t item, size_t total,
                        size_t *out) {
    size_t most;
    if (!onx_mul_size(count, item, out)) return false;
    return *out <= SLACK || !onx_mul_size(total, ctx->limits.memory_factor, &most) || *out <= most;
}

static onx_status image_strings(onx_npy_image *image, const onx_tensor *tensor, onx_diag *diag) {
    onx_context *ctx = tensor->msg.doc->ctx;
    const onx_strs *strings = &tensor->string_data;
    for (size_t i = 0; i < strings->n; i++)
        if (strings->v[i].size && !strings->v[i].data[strings->v[i].size - 1])
            return onx_fail(diag, ONX_UNSUPPORTED,
                            "string %zu ends with a NUL, which numpy would take for padding", i);
    widths w = measure(strings);
    size_t item = w.utf8 ? w.points * 4 : w.bytes, size;
    if (!padded_size(ctx, strings->n, item, w.total, &size))
        return onx_fail(diag, ONX_LIMIT,
                        "numpy makes all strings as wide as the longest: %zu times %zu bytes",
                        strings->n, item);
    ONX_TRY(onx_blob_new(ctx, size, &image->owned, diag));
    image->data = image->owned->bytes;
    char *out = (char *)(uintptr_t)image->data.data, descr[64];
    memset(out, 0, size);
    for (size_t i = 0; i < strings->n; i++, out += item) {
        if (w.utf8)
            put_ucs4(strings->v[i], out);
        else if (strings->v[i].size)
            memcpy(out, strings->v[i].data, strings->v[i].size);
    }
    snprintf(descr, sizeof descr, w.utf8 ? "'<U%zu'" : "'|S%zu'", w.utf8 ? w.points : w.bytes);
    return put_header(&image->header, tensor, descr, diag);
}

onx_status onx_npy_image_init(onx_npy_image *image, const onx_tensor *tensor, onx_diag *diag) {
    onx_dtype dtype = onx_tensor_dtype(tensor);
    *image = (onx_npy_image){.data = {NULL, 0}};
    onx_buf_init(&image->header, tensor->msg.doc->ctx);
    ONX_TRY(onx_tensor_check(tensor, diag));
    if (onx_tensor_is_external(tensor) && !tensor->external.data)
        return onx_tensor_read(tensor, NULL, 0, diag); /* says why it cannot be read */
    onx_status status = dtype == ONX_DTYPE_STRING ? image_strings(image, tensor, diag)
                                                  : image_numbers(image, tensor, diag);
    if (status) onx_npy_image_fini(image);
    return status;
}

void onx_npy_image_fini(onx_npy_image *image) {
    onx_buf_fini(&image->header);
    onx_blob_release(image->owned);
    image->owned = NULL;
}

onx_status onx_npy_write(const onx_tensor *tensor, const onx_writer *writer, onx_diag *diag) {
    onx_npy_image image;
    ONX_TRY(onx_npy_image_init(&image, tensor, diag));
    onx_status status = onx_write_all(writer, image.header.data, image.header.size, diag);
    if (!status) status = onx_doc_write(tensor->msg.doc, writer, image.data, diag);
    onx_npy_image_fini(&image);
    return status;
}
