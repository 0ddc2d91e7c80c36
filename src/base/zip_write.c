/* zip_write.c: zip archives of stored entries, written front to back; zip64 only where needed. */
#include "base/zip.h"

enum {
    VERSION_PLAIN = 20,
    VERSION_ZIP64 = 45,
    FLAG_UTF8 = 1 << 11,
    DATE = 1 << 5 | 1, /* 1 January 1980, the earliest there is */
    EXTRA_ALIGN =
        0xd935, /* padding, as Android's zipalign writes it: 2 bytes of alignment, zeros */
    EXTRA_ALIGN_MIN = 6,
    LOCAL_SIZE = 30,
};

static void put16(onx_buf *buf, uint64_t v) {
    onx_buf_put(buf, &(uint16_t){(uint16_t)v}, 2);
}

/* What does not fit is all ones, and then in the zip64 extra field or record. */
static void put32(onx_buf *buf, uint64_t v) {
    onx_buf_put(buf, &(uint32_t){v < UINT32_MAX ? (uint32_t)v : UINT32_MAX}, 4);
}

static void put64(onx_buf *buf, uint64_t v) {
    onx_buf_put(buf, &v, 8);
}

typedef struct entry {
    onx_str name;
    uint64_t size, offset;
    uint32_t crc;
} entry;

/* The part that local and central headers share. */
static void put_header(onx_buf *buf, const entry *e, bool zip64, size_t extra) {
    bool ascii = true;
    for (size_t i = 0; i < e->name.size; i++) ascii = ascii && !(e->name.data[i] & 0x80);
    put16(buf, zip64 ? VERSION_ZIP64 : VERSION_PLAIN);
    put16(buf, ascii ? 0 : FLAG_UTF8);
    put16(buf, ONX_ZIP_STORED);
    put16(buf, 0); /* time */
    put16(buf, DATE);
    onx_buf_put(buf, &e->crc, 4);
    put32(buf, e->size);
    put32(buf, e->size);
    put16(buf, e->name.size);
    put16(buf, extra);
}

static void put_local(onx_buf *buf, const entry *e) {
    bool zip64 = e->size >= UINT32_MAX;
    size_t extra = zip64 ? 20 : 0;
    uint64_t start = e->offset + LOCAL_SIZE + e->name.size + extra;
    size_t pad = (size_t)(-start % ONX_ZIP_ALIGN);
    if (pad > 0 && pad < EXTRA_ALIGN_MIN) pad += ONX_ZIP_ALIGN;
    onx_buf_put(buf, "PK\3\4", 4);
    put_header(buf, e, zip64, extra + pad);
    onx_buf_put(buf, e->name.data, e->name.size);
    if (zip64) {
        put16(buf, 1);
        put16(buf, 16);
        put64(buf, e->size);
        put64(buf, e->size);
    }
    if (pad) {
        put16(buf, EXTRA_ALIGN);
        put16(buf, pad - 4);
        put16(buf, ONX_ZIP_ALIGN);
        onx_buf_put(buf, (char[ONX_ZIP_ALIGN]){0}, pad - EXTRA_ALIGN_MIN);
    }
}

static void put_central(onx_buf *buf, const entry *e) {
    bool large = e->size >= UINT32_MAX, far = e->offset >= UINT32_MAX;
    size_t zip64 = (large ? 16u : 0u) + (far ? 8u : 0u);
    onx_buf_put(buf, "PK\1\2", 4);
    put16(buf, VERSION_ZIP64); /* made by */
    put_header(buf, e, zip64 > 0, zip64 ? zip64 + 4 : 0);
    onx_buf_put(buf, (char[10]){0}, 10); /* comment, volume, attributes */
    put32(buf, e->offset);
    onx_buf_put(buf, e->name.data, e->name.size);
    if (zip64) {
        put16(buf, 1);
        put16(buf, zip64);
        if (large) put64(buf, e->size), put64(buf, e->size);
        if (far) put64(buf, e->offset);
    }
}

static void put_end(onx_buf *buf, uint64_t count, uint64_t size, uint64_t offset) {
    if (count >= UINT16_MAX || size >= UINT32_MAX || offset >= UINT32_MAX) {
        onx_buf_put(buf, "PK\6\6", 4);
        put64(buf, 44); /* bytes that follow */
        put16(buf, VERSION_ZIP64);
        put16(buf, VERSION_ZIP64);
        put64(buf, 0); /* volumes */
        put64(buf, count);
        put64(buf, count);
        put64(buf, size);
        put64(buf, offset);
        onx_buf_put(buf, "PK\6\7\0\0\0\0", 8);
        put64(buf, offset + size);
        put32(buf, 1);
    }
    uint64_t shown = count < UINT16_MAX ? count : UINT16_MAX;
    onx_buf_put(buf, "PK\5\6\0\0\0\0", 8);
    put16(buf, shown);
    put16(buf, shown);
    put32(buf, size);
    put32(buf, offset);
    put16(buf, 0); /* comment */
}

void onx_zip_writer_init(onx_zip_writer *zip, onx_context *ctx, const onx_writer *out) {
    *zip = (onx_zip_writer){.out = out};
    onx_buf_init(&zip->directory, ctx);
    onx_arena_init(&zip->arena, ctx);
    onx_map_init(&zip->names, ctx);
    onx_crc32_init(&zip->crc);
}

void onx_zip_writer_fini(onx_zip_writer *zip) {
    onx_buf_fini(&zip->directory);
    onx_map_fini(&zip->names);
    onx_arena_fini(&zip->arena);
}

/* Takes the name, or says why it cannot be used. */
static onx_status claim_name(onx_zip_writer *zip, onx_str *name, onx_diag *diag) {
    if (name->size == 0 || memchr(name->data, 0, name->size))
        return onx_fail(diag, ONX_INVALID, "a zip entry needs a name without NUL");
    if (name->size > UINT16_MAX)
        return onx_fail(diag, ONX_LIMIT, "the name '%.*s…' is too long for a zip entry", 40,
                        name->data);
    if (onx_map_get(&zip->names, NULL, *name))
        return onx_fail(diag, ONX_CONFLICT, "two zip entries would be called '%.*s'",
                        ONX_FMT(*name));
    if (!onx_arena_str(&zip->arena, *name, name) || !onx_map_put(&zip->names, NULL, *name, zip))
        return onx_fail_nomem(diag);
    return ONX_OK;
}

static onx_status write_local(onx_zip_writer *zip, const entry *e, onx_diag *diag) {
    onx_buf head;
    onx_buf_init(&head, zip->directory.ctx);
    put_local(&head, e);
    onx_status status =
        head.failed ? onx_fail_nomem(diag) : onx_write_all(zip->out, head.data, head.size, diag);
    zip->offset += head.size;
    onx_buf_fini(&head);
    return status;
}

onx_status onx_zip_writer_add(onx_zip_writer *zip, onx_str name, const onx_str *parts, size_t n,
                              onx_diag *diag) {
    ONX_TRY(claim_name(zip, &name, diag));
    entry e = {.name = name, .offset = zip->offset};
    for (size_t i = 0; i < n; i++) {
        e.size += parts[i].size;
        e.crc = onx_crc32_add(&zip->crc, e.crc, parts[i]);
    }
    ONX_TRY(write_local(zip, &e, diag));
    for (size_t i = 0; i < n; i++)
        ONX_TRY(onx_write_all(zip->out, parts[i].data, parts[i].size, diag));
    zip->offset += e.size;
    zip->count++;
    put_central(&zip->directory, &e);
    return zip->directory.failed ? onx_fail_nomem(diag) : ONX_OK;
}

onx_status onx_zip_writer_finish(onx_zip_writer *zip, onx_diag *diag) {
    uint64_t size = zip->directory.size;
    put_end(&zip->directory, zip->count, size, zip->offset);
    if (zip->directory.failed) return onx_fail_nomem(diag);
    return onx_write_all(zip->out, zip->directory.data, zip->directory.size, diag);
}
