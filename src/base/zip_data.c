/* zip_data.c: the content of zip entries: inflated by zlib, where it is built in, and summed. */
#include "base/zip.h"

#ifdef ONX_HAVE_ZLIB
#define ZLIB_CONST
#include <zlib.h>
#endif

#ifdef ONX_HAVE_ZLIB

/* zlib does not say how large the memory is that it frees: a block of 16 bytes before it does. */
enum { SIZE_BLOCK = 16 };

void *onx_zlib_alloc(void *ctx, unsigned count, unsigned size) {
    size_t bytes = (size_t)count * size + SIZE_BLOCK;
    char *p = onx_mem_alloc(ctx, bytes);
    if (!p) return NULL;
    memcpy(p, &bytes, sizeof bytes);
    return p + SIZE_BLOCK;
}

void onx_zlib_free(void *ctx, void *ptr) {
    char *p = (char *)ptr - SIZE_BLOCK;
    size_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    onx_mem_free(ctx, p, bytes);
}

/* zlib counts in 32 bits: large entries go in pieces. */
static unsigned piece(size_t size) {
    return size < 1u << 30 ? (unsigned)size : 1u << 30;
}

/* Exactly `size` bytes into `out`, from exactly the bytes of `in`. Z_OK or an error of zlib. */
static int inflate_all(onx_context *ctx, onx_str in, char *out, size_t size) {
    z_stream z = {.zalloc = onx_zlib_alloc, .zfree = onx_zlib_free, .opaque = ctx};
    int error = inflateInit2(&z, -MAX_WBITS);
    if (error != Z_OK) return error;
    const char *in_end = in.data + in.size;
    char *out_end = out + size;
    z.next_in = (const unsigned char *)in.data;
    z.next_out = (unsigned char *)out;
    do {
        z.avail_in = piece((size_t)(in_end - (const char *)z.next_in));
        z.avail_out = piece((size_t)(out_end - (char *)z.next_out));
        error = inflate(&z, Z_NO_FLUSH);
    } while (error == Z_OK);
    bool whole = (const char *)z.next_in == in_end && (char *)z.next_out == out_end;
    inflateEnd(&z);
    return error != Z_STREAM_END ? error : whole ? Z_OK : Z_DATA_ERROR;
}

static onx_status inflate_entry(onx_context *ctx, const onx_zip_entry *entry, onx_blob **out,
                                onx_diag *diag) {
    onx_blob *blob;
    if (entry->size > SIZE_MAX) return onx_fail_nomem(diag);
    ONX_TRY(onx_blob_new(ctx, (size_t)entry->size, &blob, diag));
    char *data = (char *)(uintptr_t)blob->bytes.data;
    int error = inflate_all(ctx, entry->data, data, blob->bytes.size);
    if (error == Z_OK) {
        *out = blob;
        return ONX_OK;
    }
    onx_blob_release(blob);
    if (error == Z_MEM_ERROR) return onx_fail_nomem(diag);
    return onx_fail(diag, ONX_MALFORMED,
                    "the deflated data is damaged, or not of the size declared");
}

#else

static onx_status inflate_entry(onx_context *ctx, const onx_zip_entry *entry, onx_blob **out,
                                onx_diag *diag) {
    (void)ctx, (void)entry, (void)out;
    onx_fail(diag, ONX_UNSUPPORTED, "the zip entry is compressed, and zlib is not built in");
    onx_diag_hint(diag, "build with zlib, or store the archive without compression (numpy.savez)");
    return ONX_UNSUPPORTED;
}

#endif

onx_status onx_zip_read(const onx_zip *zip, const onx_zip_entry *entry, onx_str *out,
                        onx_blob **owner, onx_diag *diag) {
    onx_blob *blob = NULL;
    onx_status status = ONX_OK;
    if (entry->method == ONX_ZIP_DEFLATED) status = inflate_entry(zip->ctx, entry, &blob, diag);
    onx_str content = blob ? blob->bytes : entry->data;
    if (status == ONX_OK && onx_crc32_add(&zip->crc, 0, content) != entry->crc)
        status = onx_fail(diag, ONX_CHANGED, "the checksum of the data is wrong: it was damaged");
    if (status) {
        if (diag) diag->offset = (int64_t)entry->offset;
        onx_blob_release(blob);
        return status;
    }
    *out = content;
    *owner = blob;
    return ONX_OK;
}
