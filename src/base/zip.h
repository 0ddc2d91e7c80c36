/* zip.h: zip archives, read from memory and written to a stream, for .npz and PyTorch files.
 *
 *     local header │ data │ descriptor │ local header │ …      entries, from the first byte on
 *     central header │ central header │ …                      the directory
 *     zip64 end record │ zip64 locator                         only of large archives
 *     end record │ comment
 *
 * An archive says most things twice, and readers that believe different halves disagree about what
 * is in it. This one believes neither: it refuses an archive whose parts do not agree, overlap,
 * leave holes, or are ambiguous. Entries are stored or deflated, never encrypted; names differ from
 * each other and hold no NUL, but are otherwise just names: whoever makes files of them must check
 * them first.
 *
 * Not done: archives in several volumes, with a prefix (self-extracting ones) or a signature. */
#ifndef ONX_ZIP_H
#define ONX_ZIP_H

#include "base/io.h"

typedef enum onx_zip_method { ONX_ZIP_STORED = 0, ONX_ZIP_DEFLATED = 8 } onx_zip_method;

/* CRC-32 as in zip: the tables, filled by onx_crc32_init. */
typedef struct onx_crc32 {
    uint32_t table[8][256];
} onx_crc32;
void onx_crc32_init(onx_crc32 *crc);
/* The sum of what was summed before (0 at first) and `bytes`. */
uint32_t onx_crc32_add(const onx_crc32 *crc, uint32_t sum, onx_str bytes);

/* ── Reading ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct onx_zip_entry {
    onx_str name;
    onx_str data;    /* in place: the content itself, or deflated */
    uint64_t size;   /* of the content */
    uint64_t offset; /* of the local header */
    uint32_t crc;
    onx_zip_method method;
} onx_zip_entry;

#define ONX_ZIP_ENTRIES 100000 /* a good limit */

typedef struct onx_zip_limits {
    size_t entries;
    uint64_t inflated; /* bytes that all deflated entries may have together */
} onx_zip_limits;

typedef struct onx_zip {
    onx_context *ctx;
    onx_zip_entry *entries; /* in the order of the directory */
    size_t count, capacity;
    onx_map names;
    onx_crc32 crc;
} onx_zip;

/* Check and list the archive; `bytes` must stay. Data, and so checksums, are not looked at. */
onx_status onx_zip_open(onx_context *ctx, onx_str bytes, const onx_zip_limits *limits, onx_zip *out,
                        onx_diag *diag) ONX_MUST_CHECK;
void onx_zip_close(onx_zip *zip);
const onx_zip_entry *onx_zip_find(const onx_zip *zip, onx_str name); /* NULL: none */
/* The content, its checksum verified. Of a stored entry it lies in the archive and `owner` becomes
 * NULL; else `owner` is a buffer that the caller releases. The caller also names the entry in
 * `diag`. */
onx_status onx_zip_read(const onx_zip *zip, const onx_zip_entry *entry, onx_str *out,
                        onx_blob **owner, onx_diag *diag) ONX_MUST_CHECK;

/* For a z_stream whose `opaque` is the context: zlib's memory is the context's. Only with zlib. */
void *onx_zlib_alloc(void *ctx, unsigned count, unsigned size);
void onx_zlib_free(void *ctx, void *ptr);

/* ── Writing ─────────────────────────────────────────────────────────────────────────────────── */

/* Entries are stored, their data aligned; no times are, so the same entries give the same bytes. */
#define ONX_ZIP_ALIGN 64

typedef struct onx_zip_writer {
    const onx_writer *out;
    uint64_t offset; /* bytes written */
    uint64_t count;  /* entries */
    onx_buf directory;
    onx_arena arena; /* the names */
    onx_map names;
    onx_crc32 crc;
} onx_zip_writer;

void onx_zip_writer_init(onx_zip_writer *zip, onx_context *ctx, const onx_writer *out);
void onx_zip_writer_fini(onx_zip_writer *zip);
/* An entry whose content is the `n` parts in turn. A name used before is a CONFLICT. */
onx_status onx_zip_writer_add(onx_zip_writer *zip, onx_str name, const onx_str *parts, size_t n,
                              onx_diag *diag) ONX_MUST_CHECK;
/* Write the directory; nothing may be added afterwards. */
onx_status onx_zip_writer_finish(onx_zip_writer *zip, onx_diag *diag) ONX_MUST_CHECK;

#endif
