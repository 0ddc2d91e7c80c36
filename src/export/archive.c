/* archive.c: what a file is, by its bytes, and the records of those that are zip archives. */
#include "export/archive.h"

#include "base/zip.h"
#include "ir/external.h"

/* A record and what is known of it. */
enum { LARGE = 64 << 10 }; /* bytes of a record whose pages are given back */

typedef struct record {
    const onx_zip_entry *entry;
    onx_str name; /* without the common folder */
    onx_str content;
    bool is_read;
} record;

struct onx_archive {
    onx_doc *doc; /* keeps the file, and what was inflated */
    onx_str bytes;
    onx_archive_kind kind;
    onx_zip zip; /* entries NULL: no zip archive */
    record *records;
    onx_map names; /* to records */
    onx_map storages;
    bool is_big_endian;
    uint64_t version;
    uint64_t budget; /* of bytes that may still be inflated or copied */
};

/* ── What it is ──────────────────────────────────────────────────────────────────────────────── */

typedef struct magic {
    size_t offset;
    onx_str bytes;
    onx_archive_kind kind;
} magic;

#define MAGIC(offset, text, kind)                                                                  \
    { offset, {text, sizeof(text) - 1}, ONX_ARCHIVE_##kind }
static const magic magics[] = {
    MAGIC(0, "PK\3\4", ZIP),
    MAGIC(0, "PK\5\6", ZIP), /* an empty one */
    MAGIC(0, "\x80\2\x8a\12\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", SAVED_OLD),
    MAGIC(0, "PYTORCH1", PYTORCH1),
    MAGIC(4, "TFL3", TFLITE),
    MAGIC(4, "ET12", EXECUTORCH),
    MAGIC(0, "\x89HDF\r\n\x1a\n", HDF5),
    MAGIC(0, "GGUF", GGUF),
    MAGIC(257, "ustar", SAVED_TAR),
    MAGIC(0, "\x80\2", PICKLE),
    MAGIC(0, "\x80\3", PICKLE),
    MAGIC(0, "\x80\4", PICKLE),
    MAGIC(0, "\x80\5", PICKLE),
};
#undef MAGIC

static bool contains(onx_str text, onx_str part) {
    for (size_t at = 0; at + part.size <= text.size; at++)
        if (memcmp(text.data + at, part.data, part.size) == 0) return true;
    return false;
}

static onx_archive_kind kind_of_bytes(onx_str bytes) {
    for (const magic *m = magics; m < magics + ONX_COUNT(magics); m++)
        if (bytes.size >= m->offset + m->bytes.size &&
            memcmp(bytes.data + m->offset, m->bytes.data, m->bytes.size) == 0)
            return m->kind;
    if (bytes.size > 8 && onx_load_u64(bytes.data) <= bytes.size - 8 && bytes.data[8] == '{')
        return ONX_ARCHIVE_SAFETENSORS;
    onx_str start = {bytes.data, bytes.size < 64 << 10 ? bytes.size : 64 << 10};
    if (start.size && start.data[0] == '{' && contains(start, ONX_LIT("\"weight_map\"")))
        return ONX_ARCHIVE_SAFETENSORS_INDEX;
    return ONX_ARCHIVE_UNKNOWN;
}

/* What a zip archive is, by records that it must have: the first row that holds. A '*' stands for
 * anything. */
static const struct rule {
    onx_archive_kind kind;
    const char *records[3];
} rules[] = {
    {ONX_ARCHIVE_PT2, {"archive_format", "models/*.json"}},
    {ONX_ARCHIVE_AOTI, {"data/aotinductor/*"}},
    {ONX_ARCHIVE_PT2_FLAT, {"serialized_exported_program.json"}},
    {ONX_ARCHIVE_SCRIPT, {"data.pkl", "constants.pkl", "code/*"}},
    {ONX_ARCHIVE_LITE, {"bytecode.pkl"}},
    {ONX_ARCHIVE_SCRIPT_OLD, {"model.json", "tensors/*"}},
    {ONX_ARCHIVE_PACKAGE, {".data/extern_modules"}},
    {ONX_ARCHIVE_SERVE, {"MAR-INF/MANIFEST.json"}},
    {ONX_ARCHIVE_SAVED, {"data.pkl"}},
    {ONX_ARCHIVE_ZIP, {NULL}},
};

static bool starts(onx_str s, onx_str with) {
    return s.size >= with.size && memcmp(s.data, with.data, with.size) == 0;
}

static bool has_match(const onx_archive *archive, const char *pattern) {
    const char *star = strchr(pattern, '*');
    if (!star) return onx_archive_has(archive, onx_str_of(pattern));
    onx_str head = {pattern, (size_t)(star - pattern)}, tail = onx_str_of(star + 1);
    for (size_t i = 0; i < archive->zip.count; i++) {
        onx_str name = archive->records[i].name;
        if (name.size > head.size + tail.size && starts(name, head) && onx_str_ends(name, tail))
            return true;
    }
    return false;
}

static bool holds(const onx_archive *archive, const struct rule *rule) {
    for (size_t i = 0; i < ONX_COUNT(rule->records) && rule->records[i]; i++)
        if (!has_match(archive, rule->records[i])) return false;
    return true;
}

static onx_archive_kind kind_of_records(const onx_archive *archive) {
    const struct rule *rule = rules;
    while (!holds(archive, rule)) rule++; /* the last one does */
    return rule->kind;
}

/* ── Opening ─────────────────────────────────────────────────────────────────────────────────── */

/* The bytes of the folder that all entries lie in, with its '/'; 0: there is none. */
static size_t common_folder(const onx_zip *zip) {
    onx_str first = zip->count ? zip->entries[0].name : (onx_str){"", 0};
    const char *slash = memchr(first.data, '/', first.size);
    if (!slash) return 0;
    onx_str folder = {first.data, (size_t)(slash - first.data) + 1};
    for (size_t i = 1; i < zip->count; i++)
        if (!starts(zip->entries[i].name, folder)) return 0;
    return folder.size;
}

static onx_status list_records(onx_archive *archive, onx_diag *diag) {
    const onx_zip *zip = &archive->zip;
    size_t folder = common_folder(zip);
    archive->records = onx_arena_array(&archive->doc->arena, zip->count, sizeof(record));
    if (!archive->records) return onx_fail_nomem(diag);
    for (size_t i = 0; i < zip->count; i++) {
        record *r = &archive->records[i];
        onx_str full = zip->entries[i].name;
        *r = (record){&zip->entries[i], {full.data + folder, full.size - folder}, {NULL, 0}, false};
        if (!onx_map_put(&archive->names, NULL, r->name, r)) return onx_fail_nomem(diag);
    }
    return ONX_OK;
}

static onx_status read_byte_order(onx_archive *archive, onx_diag *diag) {
    onx_str order, name = ONX_LIT("byteorder");
    if (!onx_archive_has(archive, name)) return ONX_OK;
    ONX_TRY(onx_archive_read(archive, name, &order, diag));
    archive->is_big_endian = onx_str_is(order, "big");
    if (archive->is_big_endian || onx_str_is(order, "little")) return ONX_OK;
    onx_fail(diag, ONX_MALFORMED, "the byte order is neither 'little' nor 'big'");
    onx_diag_place(diag, "record 'byteorder'");
    return ONX_MALFORMED;
}

static onx_status read_version(onx_archive *archive, onx_diag *diag) {
    onx_str text, name = ONX_LIT("version");
    if (!onx_archive_has(archive, name)) name = ONX_LIT(".data/version");
    if (!onx_archive_has(archive, name)) return ONX_OK;
    ONX_TRY(onx_archive_read(archive, name, &text, diag));
    for (size_t i = 0; i < text.size && i < 9 && text.data[i] >= '0' && text.data[i] <= '9'; i++)
        archive->version = archive->version * 10 + (uint64_t)(text.data[i] - '0');
    return ONX_OK;
}

static onx_status open_zip(onx_archive *archive, onx_diag *diag) {
    onx_zip_limits limits = {ONX_ZIP_ENTRIES, archive->budget};
    ONX_TRY(onx_zip_open(archive->doc->ctx, archive->bytes, &limits, &archive->zip, diag));
    ONX_TRY(list_records(archive, diag));
    archive->kind = kind_of_records(archive);
    ONX_TRY(read_byte_order(archive, diag));
    return read_version(archive, diag);
}

static onx_status archive_new(onx_context *ctx, onx_archive **out, onx_diag *diag) {
    onx_doc *doc;
    ONX_TRY(onx_doc_new(ctx, &doc, diag));
    onx_archive *archive = onx_arena_alloc(&doc->arena, sizeof *archive);
    if (!archive) {
        onx_doc_free(doc);
        return onx_fail_nomem(diag);
    }
    archive->doc = doc;
    onx_map_init(&archive->names, doc->ctx);
    onx_map_init(&archive->storages, doc->ctx);
    *out = archive;
    return ONX_OK;
}

/* The bytes are there, and kept: find out what they are. */
static onx_status finish(onx_archive *archive, onx_str bytes, onx_archive **out, onx_diag *diag) {
    archive->bytes = bytes;
    /* Code deflates well, weights do not and are stored: more than this is a bomb. */
    archive->budget = ((uint64_t)32 << 20) + 4 * (uint64_t)bytes.size;
    archive->kind = kind_of_bytes(bytes);
    onx_status status = archive->kind == ONX_ARCHIVE_ZIP ? open_zip(archive, diag) : ONX_OK;
    if (status)
        onx_archive_close(archive);
    else
        *out = archive;
    return status;
}

static onx_status open_blob(onx_context *ctx, onx_blob *blob, onx_archive **out, onx_diag *diag) {
    onx_archive *archive = NULL;
    onx_status status = archive_new(ctx, &archive, diag);
    if (status) {
        onx_blob_release(blob);
        return status;
    }
    status = onx_doc_keep(archive->doc, blob, diag);
    if (!status) return finish(archive, blob->bytes, out, diag);
    onx_archive_close(archive);
    return status;
}

onx_status onx_archive_open(onx_context *ctx, const char *path, onx_archive **out, onx_diag *diag) {
    onx_blob *blob;
    ctx = onx_context_or_default(ctx);
    ONX_TRY(onx_blob_open(ctx, path, ONX_MAP_THRESHOLD, &blob, diag));
    onx_status status = open_blob(ctx, blob, out, diag);
    if (status) onx_diag_file(diag, path);
    return status;
}

onx_status onx_archive_open_memory(onx_context *ctx, onx_str bytes, onx_archive **out,
                                   onx_diag *diag) {
    onx_blob *blob;
    ctx = onx_context_or_default(ctx);
    ONX_TRY(onx_blob_borrow(ctx, bytes, &blob, diag));
    return open_blob(ctx, blob, out, diag);
}

onx_status onx_archive_open_beside(onx_context *ctx, const char *path, onx_str name,
                                   onx_archive **out, onx_diag *diag) {
    onx_archive *archive = NULL;
    onx_str bytes;
    ONX_TRY(archive_new(ctx, &archive, diag));
    onx_status status =
        onx_external_open(archive->doc, path, name, ONX_MAP_THRESHOLD, &bytes, diag);
    if (!status) return finish(archive, bytes, out, diag);
    onx_archive_close(archive);
    return status;
}

onx_status onx_archive_open_record(onx_archive *outer, onx_str name, onx_archive **out,
                                   onx_diag *diag) {
    onx_archive *archive = NULL;
    onx_str bytes;
    ONX_TRY(onx_archive_read(outer, name, &bytes, diag));
    ONX_TRY(archive_new(outer->doc->ctx, &archive, diag));
    if (!onx_doc_share(archive->doc, outer->doc, bytes, &bytes)) {
        onx_archive_close(archive);
        return onx_fail_nomem(diag);
    }
    onx_status status = finish(archive, bytes, out, diag);
    if (status) onx_diag_place(diag, "the archive in record '%.*s'", ONX_FMT(name));
    return status;
}

void onx_archive_close(onx_archive *archive) {
    if (!archive) return;
    if (archive->zip.ctx) onx_zip_close(&archive->zip);
    onx_map_fini(&archive->names);
    onx_map_fini(&archive->storages);
    onx_doc_free(archive->doc);
}

/* ── What it holds ───────────────────────────────────────────────────────────────────────────── */

onx_archive_kind onx_archive_kind_of(const onx_archive *archive) {
    return archive->kind;
}

onx_doc *onx_archive_doc(const onx_archive *archive) {
    return archive->doc;
}

onx_str onx_archive_bytes(const onx_archive *archive) {
    return archive->bytes;
}

onx_map *onx_archive_storages(onx_archive *archive) {
    return &archive->storages;
}

bool onx_archive_spend(onx_archive *archive, size_t bytes) {
    if (bytes > archive->budget) return false;
    archive->budget -= bytes;
    return true;
}

bool onx_archive_is_big_endian(const onx_archive *archive) {
    return archive->is_big_endian;
}

uint64_t onx_archive_version(const onx_archive *archive) {
    return archive->version;
}

size_t onx_archive_record_count(const onx_archive *archive) {
    return archive->zip.count;
}

onx_str onx_archive_record_name(const onx_archive *archive, size_t i) {
    return archive->records[i].name;
}

bool onx_archive_has(const onx_archive *archive, onx_str name) {
    return onx_map_get(&archive->names, NULL, name) != NULL;
}

uint64_t onx_archive_record_size(const onx_archive *archive, onx_str name) {
    const record *r = onx_map_get(&archive->names, NULL, name);
    return r ? r->entry->size : UINT64_MAX;
}

static onx_status read_record(onx_archive *archive, record *r, onx_diag *diag) {
    onx_str content;
    onx_blob *owner;
    ONX_TRY(onx_zip_read(&archive->zip, r->entry, &content, &owner, diag));
    if (content.size >= LARGE) onx_doc_drop(archive->doc, content); /* only its checksum was made */
    if (owner) ONX_TRY(onx_doc_keep(archive->doc, owner, diag));
    r->content = content;
    r->is_read = true;
    return ONX_OK;
}

onx_status onx_archive_read(onx_archive *archive, onx_str name, onx_str *out, onx_diag *diag) {
    record *r = onx_map_get(&archive->names, NULL, name);
    if (!r) return onx_fail(diag, ONX_NOT_FOUND, "the archive has no record '%.*s'", ONX_FMT(name));
    onx_status status = r->is_read ? ONX_OK : read_record(archive, r, diag);
    if (status)
        onx_diag_place(diag, "record '%.*s'", ONX_FMT(name));
    else
        *out = r->content;
    return status;
}
