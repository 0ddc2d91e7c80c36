/* zip.c: the structure of a zip archive, checked; zip.h says what is refused.
 *
 * Offsets and lengths come from the archive: each is compared with what encloses it before use. */
#include "base/zip.h"

#define LOCAL_MARK 0x04034b50u
#define CENTRAL_MARK 0x02014b50u
#define DESCRIPTOR_MARK 0x08074b50u
#define END_MARK 0x06054b50u
#define END64_MARK 0x06064b50u
#define LOCATOR_MARK 0x07064b50u

enum {
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR_SIZE = 20,
    COMMENT_MAX = 0xffff,
    EXTRA_ZIP64 = 1,
    DEFLATE_RATIO = 1032, /* the most that deflate can do */
};

enum {
    FLAG_ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13,
    FLAG_LEVEL = 1 << 1 | 1 << 2, /* how hard the compressor tried */
    FLAG_DESCRIPTOR = 1 << 3,     /* checksum and sizes follow the data */
    FLAG_UTF8 = 1 << 11,
    FLAG_KNOWN = FLAG_LEVEL | FLAG_DESCRIPTOR | FLAG_UTF8,
};

/* What a local and a central header both say. */
typedef struct header {
    uint16_t flags, method;
    uint32_t crc;
    uint64_t packed, size; /* bytes in the archive; bytes of the content */
    uint64_t offset;       /* central: of the local header */
    onx_str name;
    uint64_t end; /* of the header itself */
} header;

typedef struct span {
    uint64_t start, end;
} span;

typedef struct directory {
    span span;
    uint64_t count;
} directory;

static uint16_t u16(const char *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static onx_status malformed(onx_diag *diag, uint64_t offset, const char *sentence) {
    onx_fail(diag, ONX_MALFORMED, "%s", sentence);
    if (diag) diag->offset = (int64_t)offset;
    return ONX_MALFORMED;
}

/* ── The end records ─────────────────────────────────────────────────────────────────────────── */

/* The end record is where the comment behind it reaches to the end of the file. */
static onx_status find_end(onx_str bytes, size_t *out, onx_diag *diag) {
    size_t found = 0, room = bytes.size < END_SIZE ? 0 : bytes.size - END_SIZE + 1;
    for (size_t comment = 0; comment < room && comment <= COMMENT_MAX; comment++) {
        size_t pos = bytes.size - END_SIZE - comment;
        const char *p = bytes.data + pos;
        if (onx_load_u32(p) != END_MARK || u16(p + 20) != comment) continue;
        if (found++) return malformed(diag, pos, "the zip archive has two possible end records");
        *out = pos;
    }
    if (found) return ONX_OK;
    return onx_fail(diag, ONX_MALFORMED, "no end record: not a zip archive, or one cut off");
}

/* The records of large archives. A field of the plain record is the same, or all ones. */
static onx_status read_end64(onx_str bytes, size_t end, directory *dir, onx_diag *diag) {
    static const char damaged[] = "the zip64 end record is damaged, or not where its locator says";
    const char *plain = bytes.data + end, *locator = plain - LOCATOR_SIZE;
    uint64_t pos = onx_load_u64(locator + 8), last = end - LOCATOR_SIZE;
    if (last < END64_SIZE || pos > last - END64_SIZE) return malformed(diag, last, damaged);
    const char *p = bytes.data + pos;
    uint64_t count = onx_load_u64(p + 32), size = onx_load_u64(p + 40);
    if (onx_load_u32(p) != END64_MARK || onx_load_u64(p + 4) != last - pos - 12 ||
        onx_load_u32(locator + 4) != 0 || onx_load_u32(locator + 16) != 1 ||
        onx_load_u64(p + 16) != 0 || onx_load_u64(p + 24) != count)
        return malformed(diag, pos, damaged);
    const struct {
        uint64_t plain, ones, large;
    } fields[] = {
        {u16(plain + 4), UINT16_MAX, 0}, /* volumes */
        {u16(plain + 6), UINT16_MAX, 0},
        {u16(plain + 8), UINT16_MAX, count},
        {u16(plain + 10), UINT16_MAX, count},
        {onx_load_u32(plain + 12), UINT32_MAX, size},
        {onx_load_u32(plain + 16), UINT32_MAX, onx_load_u64(p + 48)},
    };
    for (size_t i = 0; i < ONX_COUNT(fields); i++)
        if (fields[i].plain != fields[i].large && fields[i].plain != fields[i].ones)
            return malformed(diag, end, "the zip end record and the zip64 end record differ");
    if (size > pos || onx_load_u64(p + 48) != pos - size)
        return malformed(diag, pos, "the zip directory does not end where the end record begins");
    *dir = (directory){{pos - size, pos}, count};
    return ONX_OK;
}

static onx_status read_end(onx_str bytes, directory *dir, onx_diag *diag) {
    size_t end = 0;
    ONX_TRY(find_end(bytes, &end, diag));
    const char *p = bytes.data + end;
    if (end >= LOCATOR_SIZE && onx_load_u32(p - LOCATOR_SIZE) == LOCATOR_MARK)
        return read_end64(bytes, end, dir, diag);
    uint32_t size = onx_load_u32(p + 12);
    if (onx_load_u32(p + 4) != 0 || u16(p + 8) != u16(p + 10))
        return onx_fail(diag, ONX_UNSUPPORTED, "the zip archive has several volumes");
    if (size > end || onx_load_u32(p + 16) != end - size)
        return malformed(diag, end, "the zip directory does not end where the end record begins");
    *dir = (directory){{end - size, end}, u16(p + 10)};
    return ONX_OK;
}

/* ── Headers ─────────────────────────────────────────────────────────────────────────────────── */

/* Values of 0xffffffff are in the extra field instead, in this order. */
static bool read_extra(onx_str extra, header *h) {
    uint64_t *fields[] = {&h->size, &h->packed, &h->offset}, *wanted[3];
    size_t n = 0, seen = 0;
    for (size_t i = 0; i < ONX_COUNT(fields); i++)
        if (*fields[i] == UINT32_MAX) wanted[n++] = fields[i];
    while (extra.size >= 4) {
        size_t id = u16(extra.data), size = u16(extra.data + 2);
        const char *p = extra.data + 4;
        if (size > extra.size - 4) return false;
        extra = (onx_str){p + size, extra.size - 4 - size};
        if (id != EXTRA_ZIP64) continue;
        if (seen++ || size < 8 * n) return false;
        for (size_t i = 0; i < n; i++) *wanted[i] = onx_load_u64(p + 8 * i);
    }
    return n == 0 || seen > 0;
}

/* The header at `pos`, which must end before `limit`. A central one has 2 bytes more in front. */
static onx_status read_header(onx_str bytes, uint64_t pos, uint64_t limit, bool central, header *h,
                              onx_diag *diag) {
    uint32_t mark = central ? CENTRAL_MARK : LOCAL_MARK;
    size_t fixed = central ? CENTRAL_SIZE : LOCAL_SIZE;
    if (pos > limit || limit - pos < fixed || onx_load_u32(bytes.data + pos) != mark)
        return malformed(diag, pos,
                         central ? "a zip directory entry is expected here"
                                 : "a zip local header is expected here");
    const char *start = bytes.data + pos, *p = central ? start + 2 : start;
    size_t name = u16(p + 26), extra = u16(p + 28), comment = central ? u16(start + 32) : 0;
    if (limit - pos - fixed < name + extra + comment)
        return malformed(diag, pos, "a zip header reaches past its end");
    *h = (header){
        .flags = u16(p + 6),
        .method = u16(p + 8),
        .crc = onx_load_u32(p + 14),
        .packed = onx_load_u32(p + 18),
        .size = onx_load_u32(p + 22),
        .offset = central ? onx_load_u32(start + 42) : 0,
        .name = {start + fixed, name},
        .end = pos + fixed + name + extra + comment,
    };
    if (!read_extra((onx_str){start + fixed + name, extra}, h))
        return malformed(diag, pos, "the extra field of a zip header is damaged");
    if (central && u16(start + 34) != 0)
        return onx_fail(diag, ONX_UNSUPPORTED, "the zip archive has several volumes");
    return ONX_OK;
}

static onx_status check_header(const header *h, uint64_t pos, onx_diag *diag) {
    if (h->name.size == 0 || memchr(h->name.data, 0, h->name.size))
        return malformed(diag, pos, "a zip entry's name is empty or holds a NUL");
    if (h->flags & FLAG_ENCRYPTED)
        return onx_fail(diag, ONX_UNSUPPORTED, "the zip entry is encrypted");
    if (h->flags & ~FLAG_KNOWN)
        return onx_fail(diag, ONX_UNSUPPORTED, "the zip entry has unknown flags (%#x)", h->flags);
    if (h->method != ONX_ZIP_STORED && h->method != ONX_ZIP_DEFLATED)
        return onx_fail(diag, ONX_UNSUPPORTED,
                        "the zip entry uses compression method %d; only stored "
                        "and deflated ones are supported",
                        h->method);
    if (h->method == ONX_ZIP_STORED ? h->packed != h->size : h->size / DEFLATE_RATIO > h->packed)
        return malformed(diag, pos, "the sizes of the zip entry contradict each other");
    return ONX_OK;
}

/* With a descriptor, the local header may leave checksum and sizes at 0. */
static bool headers_agree(const header *central, const header *local) {
    bool later = central->flags & FLAG_DESCRIPTOR;
    return local->flags == central->flags && local->method == central->method &&
           onx_str_eq(local->name, central->name) &&
           (local->crc == central->crc || (later && local->crc == 0)) &&
           (local->packed == central->packed || (later && local->packed == 0)) &&
           (local->size == central->size || (later && local->size == 0));
}

/* A mark, which may be missing, the checksum, and the sizes, of 8 or 4 bytes. Returns the bytes of
 * the one form that agrees with the header; 0: none does. */
static size_t descriptor_size(const char *p, uint64_t room, const header *h) {
    static const struct { uint8_t mark, width; } forms[] = {{4, 8}, {4, 4}, {0, 8}, {0, 4}};
    for (size_t i = 0; i < ONX_COUNT(forms); i++) {
        size_t mark = forms[i].mark, width = forms[i].width, size = mark + 4 + 2 * width;
        if (room < size || (mark && onx_load_u32(p) != DESCRIPTOR_MARK)) continue;
        uint64_t packed = 0, content = 0;
        memcpy(&packed, p + mark + 4, width);
        memcpy(&content, p + mark + 4 + width, width);
        if (onx_load_u32(p + mark) == h->crc && packed == h->packed && content == h->size)
            return size;
    }
    return 0;
}

/* One entry: what the directory says, and what lies at the place it says. */
static onx_status read_entry(onx_str bytes, uint64_t dir_start, const header *h, uint64_t pos,
                             onx_zip_entry *entry, span *place, onx_diag *diag) {
    header local;
    ONX_TRY(check_header(h, pos, diag));
    ONX_TRY(read_header(bytes, h->offset, dir_start, false, &local, diag));
    if (!headers_agree(h, &local))
        return malformed(diag, h->offset, "the zip entry's local header and the directory differ");
    if (h->packed > dir_start - local.end)
        return malformed(diag, h->offset, "the zip entry's data reaches into the directory");
    uint64_t end = local.end + h->packed;
    if (h->flags & FLAG_DESCRIPTOR) {
        size_t size = descriptor_size(bytes.data + end, dir_start - end, h);
        if (!size)
            return malformed(diag, end, "the zip entry's data descriptor and the directory differ");
        end += size;
    }
    *place = (span){h->offset, end};
    *entry = (onx_zip_entry){.name = h->name,
                             .data = {bytes.data + local.end, (size_t)h->packed},
                             .size = h->size,
                             .offset = h->offset,
                             .crc = h->crc,
                             .method = (onx_zip_method)h->method};
    return ONX_OK;
}

/* ── Layout ──────────────────────────────────────────────────────────────────────────────────── */

static void sift_down(span *v, size_t root, size_t n) {
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && v[child].start < v[child + 1].start) child++;
        if (v[root].start >= v[child].start) return;
        span t = v[root];
        v[root] = v[child];
        v[child] = t;
    }
}

/* A heap sort: in place, and n log n whatever the input. */
static void sort_spans(span *v, size_t n) {
    for (size_t i = n / 2; i-- > 0;) sift_down(v, i, n);
    for (size_t i = n; i-- > 1;) {
        span t = v[0];
        v[0] = v[i];
        v[i] = t;
        sift_down(v, 0, i);
    }
}

/* From the first byte to the directory, entry follows entry. */
static onx_status check_layout(span *v, size_t n, uint64_t dir_start, onx_diag *diag) {
    uint64_t pos = 0;
    sort_spans(v, n);
    for (size_t i = 0; i < n; i++) {
        if (v[i].start < pos) return malformed(diag, v[i].start, "two zip entries overlap");
        if (v[i].start > pos) return malformed(diag, pos, "bytes that belong to no zip entry");
        pos = v[i].end;
    }
    if (pos < dir_start) return malformed(diag, pos, "bytes that belong to no zip entry");
    return ONX_OK;
}

static onx_status read_entries(onx_zip *zip, onx_str bytes, const directory *dir, uint64_t inflated,
                               span *places, onx_diag *diag) {
    uint64_t pos = dir->span.start;
    for (zip->count = 0; zip->count < dir->count; zip->count++) {
        onx_zip_entry *entry = &zip->entries[zip->count];
        header h;
        ONX_TRY(read_header(bytes, pos, dir->span.end, true, &h, diag));
        onx_status status =
            read_entry(bytes, dir->span.start, &h, pos, entry, &places[zip->count], diag);
        if (status == ONX_OK && onx_map_get(&zip->names, NULL, h.name))
            status = malformed(diag, pos, "two zip entries have the same name");
        if (status == ONX_OK && h.method == ONX_ZIP_DEFLATED && h.size > inflated)
            status = onx_fail(diag, ONX_LIMIT, "the zip archive inflates to too many bytes");
        if (status) onx_diag_place(diag, "entry '%.*s'", ONX_FMT(h.name));
        if (status) return status;
        if (h.method == ONX_ZIP_DEFLATED) inflated -= h.size;
        if (!onx_map_put(&zip->names, NULL, h.name, entry)) return onx_fail_nomem(diag);
        pos = h.end;
    }
    if (pos != dir->span.end) return malformed(diag, pos, "the zip directory holds more entries");
    return check_layout(places, zip->count, dir->span.start, diag);
}

onx_status onx_zip_open(onx_context *ctx, onx_str bytes, const onx_zip_limits *limits, onx_zip *out,
                        onx_diag *diag) {
    directory dir = {0};
    ONX_TRY(read_end(bytes, &dir, diag));
    if (dir.count > limits->entries)
        return onx_fail(diag, ONX_LIMIT, "the zip archive has %llu entries, more than %zu",
                        (unsigned long long)dir.count, limits->entries);
    if (dir.count > (dir.span.end - dir.span.start) / CENTRAL_SIZE)
        return malformed(diag, dir.span.start, "the zip directory is too small for its entries");
    size_t count = (size_t)dir.count;
    onx_zip zip = {.ctx = ctx};
    onx_map_init(&zip.names, ctx);
    onx_crc32_init(&zip.crc);
    zip.capacity = count;
    zip.entries = onx_mem_alloc(ctx, count * sizeof *zip.entries);
    span *places = onx_mem_alloc(ctx, count * sizeof *places);
    onx_status status = zip.entries && places
                            ? read_entries(&zip, bytes, &dir, limits->inflated, places, diag)
                            : onx_fail_nomem(diag);
    onx_mem_free(ctx, places, count * sizeof *places);
    if (status)
        onx_zip_close(&zip);
    else
        *out = zip;
    return status;
}

void onx_zip_close(onx_zip *zip) {
    onx_map_fini(&zip->names);
    onx_mem_free(zip->ctx, zip->entries, zip->capacity * sizeof *zip->entries);
    zip->entries = NULL;
}

const onx_zip_entry *onx_zip_find(const onx_zip *zip, onx_str name) {
    return onx_map_get(&zip->names, NULL, name);
}
