/* test_zip.c: zip archives: what is written reads back; what lies or is damaged is refused. */
#include "base/zip.h"
#include "support.h"
#include "test.h"

#define STR ONX_LIT
#define INIT(literal)                                                                              \
    { (literal), sizeof(literal) - 1 } /* of a static one */

static const onx_zip_limits limits = {ONX_ZIP_ENTRIES, 1 << 20};

static onx_status open_bytes(onx_context *ctx, onx_str bytes, onx_zip *zip, onx_diag *diag) {
    return onx_zip_open(ctx, bytes, &limits, zip, diag);
}

/* ── Archives by hand ────────────────────────────────────────────────────────────────────────── */

typedef struct maker {
    char data[4096];
    size_t size;
} maker;

static void put(maker *m, const void *data, size_t size) {
    if (size > sizeof m->data - m->size) abort();
    if (size) memcpy(m->data + m->size, data, size);
    m->size += size;
}

static void put_number(maker *m, uint64_t v, size_t width) {
    put(m, &v, width);
}

static void set(maker *m, size_t at, uint64_t v, size_t width) {
    memcpy(m->data + at, &v, width);
}

/* What an entry is made of; zeros make an empty stored one. */
typedef struct recipe {
    onx_str name, data;
    uint16_t flags, method;
    uint32_t size, crc;  /* 0: of the data */
    onx_str extra, tail; /* of the local header; after the data */
    onx_str central_extra;
} recipe;

typedef struct archive {
    maker bytes;
    size_t local[4], central[4], end; /* where the headers are */
} archive;

static uint32_t sum(onx_str s) {
    onx_crc32 crc;
    onx_crc32_init(&crc);
    return onx_crc32_add(&crc, 0, s);
}

static void put_common(maker *m, const recipe *r, size_t extra, bool central) {
    bool later = !central && (r->flags & 8);
    put_number(m, 20, 2);
    put_number(m, r->flags, 2);
    put_number(m, r->method, 2);
    put_number(m, 0, 4);
    put_number(m, later ? 0 : r->crc ? r->crc : sum(r->data), 4);
    put_number(m, later ? 0 : r->data.size, 4);
    put_number(m, later ? 0 : r->size ? r->size : r->data.size, 4);
    put_number(m, r->name.size, 2);
    put_number(m, extra, 2);
}

static archive make(const recipe *r, size_t n) {
    archive a = {0};
    maker *m = &a.bytes;
    for (size_t i = 0; i < n; i++) {
        a.local[i] = m->size;
        put(m, "PK\3\4", 4);
        put_common(m, &r[i], r[i].extra.size, false);
        put(m, r[i].name.data, r[i].name.size);
        put(m, r[i].extra.data, r[i].extra.size);
        put(m, r[i].data.data, r[i].data.size);
        put(m, r[i].tail.data, r[i].tail.size);
    }
    size_t start = m->size;
    for (size_t i = 0; i < n; i++) {
        a.central[i] = m->size;
        put(m, "PK\1\2", 4);
        put_number(m, 20, 2);
        put_common(m, &r[i], r[i].central_extra.size, true);
        put_number(m, 0, 8);
        put_number(m, 0, 2);
        put_number(m, a.local[i], 4);
        put(m, r[i].name.data, r[i].name.size);
        put(m, r[i].central_extra.data, r[i].central_extra.size);
    }
    a.end = m->size;
    put(m, "PK\5\6\0\0\0\0", 8);
    put_number(m, n, 2);
    put_number(m, n, 2);
    put_number(m, a.end - start, 4);
    put_number(m, start, 4);
    put_number(m, 0, 2);
    return a;
}

static const recipe pair[] = {{.name = INIT("one"), .data = INIT("first")},
                              {.name = INIT("two"), .data = INIT("second one")}};

static onx_str bytes_of(const archive *a) {
    return (onx_str){a->bytes.data, a->bytes.size};
}

/* Opens, reads everything, closes. */
static onx_status read_all(onx_context *ctx, onx_str bytes, onx_diag *diag) {
    onx_zip zip;
    ONX_TRY(open_bytes(ctx, bytes, &zip, diag));
    onx_status status = ONX_OK;
    for (size_t i = 0; status == ONX_OK && i < zip.count; i++) {
        onx_str content;
        onx_blob *owner;
        status = onx_zip_read(&zip, &zip.entries[i], &content, &owner, diag);
        if (status == ONX_OK && content.size != zip.entries[i].size) status = ONX_USAGE;
        if (status == ONX_OK) onx_blob_release(owner);
    }
    onx_zip_close(&zip);
    return status;
}

static onx_status read_archive(const archive *a, onx_diag *diag) {
    test_heap heap = {0};
    onx_context *ctx = test_context(&heap, NULL);
    /* An exact copy, so that the sanitizer sees reads past the end. */
    char *copy = malloc(a->bytes.size + !a->bytes.size);
    memcpy(copy, a->bytes.data, a->bytes.size);
    onx_status status = read_all(ctx, (onx_str){copy, a->bytes.size}, diag);
    free(copy);
    CHECK_EQ(onx_context_memory_used(ctx), 0);
    onx_context_free(ctx);
    return status;
}

static void refuses(const archive *a, onx_status want, const char *word) {
    onx_diag diag = ONX_INIT(onx_diag);
    CHECK_EQ(read_archive(a, &diag), want);
    if (!CHECK(strstr(diag.message, word) != NULL))
        fprintf(stderr, "    \"%s\" is not in \"%s\"\n", word, diag.message);
    CHECK_EQ(diag.status, want);
    CHECK_EQ(read_archive(a, NULL), want);
}

/* ── Reading ─────────────────────────────────────────────────────────────────────────────────── */

/* By definition: a division of polynomials, bit by bit. */
static uint32_t sum_by_bits(onx_str s) {
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < s.size; i++) {
        sum ^= (unsigned char)s.data[i];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return ~sum;
}

TEST(crc) {
    CHECK_EQ(sum(STR("123456789")), 0xcbf43926u);
    CHECK_EQ(sum(STR("")), 0);
    CHECK_EQ(sum(STR("abcdefghabcdefgh!")), 0x39b4d885u);
    onx_crc32 crc;
    onx_crc32_init(&crc);
    char text[400];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i * 37);
    uint32_t whole = onx_crc32_add(&crc, 0, (onx_str){text, sizeof text});
    for (size_t cut = 0; cut <= sizeof text; cut++) {
        uint32_t part = onx_crc32_add(&crc, 0, (onx_str){text, cut});
        CHECK_EQ(part, sum_by_bits((onx_str){text, cut}));
        CHECK_EQ(onx_crc32_add(&crc, part, (onx_str){text + cut, sizeof text - cut}), whole);
    }
}

TEST(reads) {
    archive a = make(pair, 2);
    onx_context *ctx = onx_context_or_default(NULL);
    onx_zip zip;
    REQUIRE(open_bytes(ctx, bytes_of(&a), &zip, NULL) == ONX_OK);
    CHECK_EQ(zip.count, 2);
    const onx_zip_entry *two = onx_zip_find(&zip, STR("two"));
    CHECK(two == &zip.entries[1] && !onx_zip_find(&zip, STR("three")));
    onx_str content;
    onx_blob *owner;
    REQUIRE(onx_zip_read(&zip, two, &content, &owner, NULL) == ONX_OK);
    CHECK(onx_str_eq(content, STR("second one")) && !owner);
    CHECK(content.data == a.bytes.data + a.local[1] + 33); /* in place */
    onx_zip_close(&zip);

    archive empty = make(NULL, 0);
    REQUIRE(open_bytes(ctx, bytes_of(&empty), &zip, NULL) == ONX_OK);
    CHECK_EQ(zip.count, 0);
    onx_zip_close(&zip);
    CHECK_EQ(read_archive(&empty, NULL), ONX_OK);
}

TEST(comment) {
    archive a = make(pair, 2);
    set(&a.bytes, a.end + 20, 5, 2);
    put(&a.bytes, "PK\5\6!", 5);
    CHECK_EQ(read_archive(&a, NULL), ONX_OK);
    put(&a.bytes, "", 1); /* one byte more than the comment */
    refuses(&a, ONX_MALFORMED, "no end record");
    /* A comment that is itself the end of an (empty) archive. */
    archive b = make(pair, 2), inner = make(NULL, 0);
    set(&b.bytes, b.end + 20, inner.bytes.size, 2);
    put(&b.bytes, inner.bytes.data, inner.bytes.size);
    refuses(&b, ONX_MALFORMED, "two possible end records");
}

/* The four forms of a data descriptor; the zeros of an empty entry's could be read in two ways. */
TEST(descriptor) {
    static const recipe base = {.name = INIT("d"), .data = INIT("xyz"), .flags = 8};
    for (int form = 0; form < 4; form++)
        for (int empty = 0; empty < 2; empty++) {
            recipe r[2] = {base, pair[0]};
            if (empty) r[0].data = STR("");
            maker tail = {0};
            if (form & 1) put(&tail, "PK\7\10", 4);
            put_number(&tail, sum(r[0].data), 4);
            put_number(&tail, r[0].data.size, form & 2 ? 8 : 4);
            put_number(&tail, r[0].data.size, form & 2 ? 8 : 4);
            r[0].tail = (onx_str){tail.data, tail.size};
            archive a = make(r, 2);
            CHECK_EQ(read_archive(&a, NULL), ONX_OK);
            if (empty) continue;
            a.bytes.data[a.local[0] + 31 + 3 + (form & 1 ? 4 : 0)] ^= 1;
            refuses(&a, ONX_MALFORMED, "data descriptor");
        }
    archive none = make(&base, 1);
    refuses(&none, ONX_MALFORMED, "data descriptor");
}

/* As numpy writes it: sizes in the extra field of the local header although they are small. */
TEST(zip64) {
    maker local = {0}, central = {0};
    put(&local, "\1\0\20\0", 4);
    put_number(&local, 5, 8);
    put_number(&local, 5, 8);
    put(&central, "\x99\x99\1\0?\1\0\30\0", 9);
    put_number(&central, 5, 8);
    put_number(&central, 5, 8);
    put_number(&central, 0, 8);
    recipe r = pair[0];
    r.extra = (onx_str){local.data, local.size};
    r.central_extra = (onx_str){central.data, central.size};
    archive a = make(&r, 1);
    set(&a.bytes, a.local[0] + 18, UINT64_MAX, 8);
    CHECK_EQ(read_archive(&a, NULL), ONX_OK);
    set(&a.bytes, a.central[0] + 20, UINT64_MAX, 8);
    set(&a.bytes, a.central[0] + 42, UINT32_MAX, 4);
    CHECK_EQ(read_archive(&a, NULL), ONX_OK);
    archive b = a;
    set(&b.bytes, b.central[0] + 46 + 3 + 9, 6, 8); /* the size in the directory's extra field */
    refuses(&b, ONX_MALFORMED, "contradict");
    b = a;
    set(&b.bytes, b.central[0] + 46 + 3 + 9 + 16, 1, 8); /* the offset in it */
    refuses(&b, ONX_MALFORMED, "local header is expected");
    b = a;
    set(&b.bytes, b.central[0] + 46 + 3 + 9 + 16, UINT64_MAX - 10, 8);
    refuses(&b, ONX_MALFORMED, "local header is expected");
    b = a;
    set(&b.bytes, b.local[0] + 30 + 3, 2, 2); /* no zip64 field any more */
    refuses(&b, ONX_MALFORMED, "extra field");
    b = a;
    set(&b.bytes, b.local[0] + 30 + 3 + 2, 200, 2); /* it is longer than the extra field */
    refuses(&b, ONX_MALFORMED, "extra field");
    put(&local, local.data, local.size); /* twice */
    r.extra = (onx_str){local.data, local.size};
    b = make(&r, 1);
    set(&b.bytes, b.local[0] + 18, UINT64_MAX, 8);
    refuses(&b, ONX_MALFORMED, "extra field");
    b = a;
    set(&b.bytes, b.local[0] + 30 + 3 + 2, 15, 2); /* it is too short for what it must hold */
    refuses(&b, ONX_MALFORMED, "extra field");
}

/* The same archive with zip64 end records, which must agree with the plain one. */
static archive make_end64(void) {
    archive a = make(pair, 2);
    archive b = a;
    size_t start = (size_t)onx_load_u32(a.bytes.data + a.end + 16);
    b.bytes.size = a.end;
    put(&b.bytes, "PK\6\6", 4);
    put_number(&b.bytes, 44, 8);
    put_number(&b.bytes, 45 | 45 << 16, 4);
    put_number(&b.bytes, 0, 8);
    put_number(&b.bytes, 2, 8);
    put_number(&b.bytes, 2, 8);
    put_number(&b.bytes, a.end - start, 8);
    put_number(&b.bytes, start, 8);
    put(&b.bytes, "PK\6\7\0\0\0\0", 8);
    put_number(&b.bytes, a.end, 8);
    put_number(&b.bytes, 1, 4);
    b.end = b.bytes.size;
    put(&b.bytes, a.bytes.data + a.end, 22);
    return b;
}

TEST(end64) {
    archive good = make_end64(), a = good;
    CHECK_EQ(read_archive(&a, NULL), ONX_OK);
    size_t record = good.end - 20 - 56, locator = good.end - 20;
    set(&a.bytes, a.end + 8, UINT32_MAX, 4);
    set(&a.bytes, a.end + 12, UINT64_MAX, 8);
    CHECK_EQ(read_archive(&a, NULL), ONX_OK);
    static const struct {
        size_t at; /* from the record on */
        uint64_t value;
        size_t width;
        onx_status status;
        const char *word;
    } lies[] = {
        {0, 0, 4, ONX_MALFORMED, "damaged"},
        {4, 45, 8, ONX_MALFORMED, "damaged"},
        {16, 1, 4, ONX_MALFORMED, "damaged"},
        {20, 1, 4, ONX_MALFORMED, "damaged"},
        {24, 3, 8, ONX_MALFORMED, "damaged"},
        {40, 20, 8, ONX_MALFORMED, "differ"},
        {48, 1, 8, ONX_MALFORMED, "differ"},
        {56 + 4, 1, 4, ONX_MALFORMED, "damaged"},
        {56 + 8, 0, 8, ONX_MALFORMED, "damaged"},
        {56 + 16, 2, 4, ONX_MALFORMED, "damaged"},
        {56 + 8, UINT64_MAX, 8, ONX_MALFORMED, "damaged"},
    };
    for (size_t i = 0; i < ONX_COUNT(lies); i++) {
        a = good;
        set(&a.bytes, record + lies[i].at, lies[i].value, lies[i].width);
        refuses(&a, lies[i].status, lies[i].word);
    }
    /* 2^32 - 1 entries, said consistently; and a directory that begins before the file. */
    a = good;
    set(&a.bytes, a.end + 8, UINT32_MAX, 4);
    set(&a.bytes, record + 24, UINT32_MAX, 8);
    set(&a.bytes, record + 32, UINT32_MAX, 8);
    refuses(&a, ONX_LIMIT, "4294967295 entries");
    set(&a.bytes, record + 24, 99999, 8);
    set(&a.bytes, record + 32, 99999, 8);
    refuses(&a, ONX_MALFORMED, "too small");
    a = good;
    set(&a.bytes, a.end + 12, UINT64_MAX, 8);
    set(&a.bytes, record + 40, UINT64_MAX, 8);
    refuses(&a, ONX_MALFORMED, "does not end where");
    set(&a.bytes, a.end + 16, UINT32_MAX, 4);
    set(&a.bytes, record + 48, record + 1, 8); /* so that it "ends" there by overflow */
    refuses(&a, ONX_MALFORMED, "does not end where");
    a = good;
    set(&a.bytes, locator + 8, locator, 8); /* the record would be in the locator, past the end */
    memcpy(a.bytes.data + locator, "PK\6\7", 4);
    refuses(&a, ONX_MALFORMED, "damaged");
    archive tiny = make(NULL, 0);
    memmove(tiny.bytes.data + 20, tiny.bytes.data, 22);
    memcpy(tiny.bytes.data, a.bytes.data + locator, 20);
    set(&tiny.bytes, 8, 0, 8);
    tiny.bytes.size = 42; /* a locator, and no room for what it locates */
    refuses(&tiny, ONX_MALFORMED, "damaged");
}

/* Each case changes one thing of a good archive. */
TEST(lies) {
    enum where { LOCAL, CENTRAL, END };
    static const struct {
        enum where where;
        size_t at;
        uint64_t value;
        size_t width;
        onx_status status;
        const char *word;
    } cases[] = {
        {LOCAL, 0, 0, 4, ONX_MALFORMED, "local header is expected"},
        {LOCAL, 6, 2, 2, ONX_MALFORMED, "differ"},  /* flags */
        {LOCAL, 8, 8, 2, ONX_MALFORMED, "differ"},  /* method */
        {LOCAL, 14, 1, 4, ONX_MALFORMED, "differ"}, /* checksum */
        {LOCAL, 14, 0, 4, ONX_MALFORMED, "differ"}, /* 0 only with a descriptor */
        {LOCAL, 18, 4, 4, ONX_MALFORMED, "differ"}, /* sizes */
        {LOCAL, 22, 6, 4, ONX_MALFORMED, "differ"},
        {LOCAL, 26, 2, 2, ONX_MALFORMED, "differ"}, /* length of the name */
        {LOCAL, 26, 0xffff, 2, ONX_MALFORMED, "past its end"},
        {LOCAL, 28, 0xffff, 2, ONX_MALFORMED, "past its end"}, /* of the extra field */
        {LOCAL, 30, 'O', 1, ONX_MALFORMED, "differ"},          /* the name */
        {LOCAL, 33, '!', 1, ONX_CHANGED, "checksum"},          /* the data */
        {CENTRAL, 0, 0, 4, ONX_MALFORMED, "directory entry is expected"},
        {CENTRAL, 8, 1, 2, ONX_UNSUPPORTED, "encrypted"},
        {CENTRAL, 8, 1 << 6, 2, ONX_UNSUPPORTED, "encrypted"},
        {CENTRAL, 8, 1 << 13, 2, ONX_UNSUPPORTED, "encrypted"},
        {CENTRAL, 8, 1 << 5, 2, ONX_UNSUPPORTED, "unknown flags"},
        {CENTRAL, 8, 1 << 15, 2, ONX_UNSUPPORTED, "unknown flags"},
        {CENTRAL, 8, 1 << 11, 2, ONX_MALFORMED, "differ"},
        {CENTRAL, 10, 14, 2, ONX_UNSUPPORTED, "method 14"},
        {CENTRAL, 10, 8, 2, ONX_MALFORMED, "differ"},
        {CENTRAL, 16, 1, 4, ONX_MALFORMED, "differ"},
        {CENTRAL, 20, 4, 4, ONX_MALFORMED, "contradict"},
        {CENTRAL, 24, 1u << 30, 4, ONX_MALFORMED, "contradict"},
        {CENTRAL, 20, 0x4000000040000000, 8, ONX_MALFORMED, "differ"},
        {CENTRAL, 20, UINT64_MAX, 8, ONX_MALFORMED, "extra field"},
        {CENTRAL, 28, 0, 2, ONX_MALFORMED, "empty"},
        {CENTRAL, 28, 0xffff, 2, ONX_MALFORMED, "past its end"},
        {CENTRAL, 30, 0xffff, 2, ONX_MALFORMED, "past its end"},
        {CENTRAL, 32, 0xffff, 2, ONX_MALFORMED, "past its end"},
        {CENTRAL, 34, 1, 2, ONX_UNSUPPORTED, "volumes"},
        {CENTRAL, 42, 1, 4, ONX_MALFORMED, "local header is expected"},
        {CENTRAL, 42, 0xfffffff0, 4, ONX_MALFORMED, "local header is expected"},
        {CENTRAL, 42, UINT32_MAX, 4, ONX_MALFORMED, "extra field"},
        {CENTRAL, 46, 0, 1, ONX_MALFORMED, "NUL"},
        {CENTRAL, 46, '/', 1, ONX_MALFORMED, "differ"},
        {END, 4, 1, 2, ONX_UNSUPPORTED, "volumes"},
        {END, 6, 1, 2, ONX_UNSUPPORTED, "volumes"},
        {END, 8, 1, 2, ONX_UNSUPPORTED, "volumes"},
        {END, 8, 0x00010001, 4, ONX_MALFORMED, "more entries"},
        {END, 8, 0x00030003, 4, ONX_MALFORMED, "too small"},
        {END, 8, UINT32_MAX, 4, ONX_MALFORMED, "too small"},
        {END, 12, 1, 4, ONX_MALFORMED, "does not end where"},
        {END, 12, UINT32_MAX, 4, ONX_MALFORMED, "does not end where"},
        {END, 16, 0, 4, ONX_MALFORMED, "does not end where"},
        {END, 16, UINT32_MAX, 4, ONX_MALFORMED, "does not end where"},
        {END, 20, 1, 2, ONX_MALFORMED, "no end record"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        archive a = make(pair, 2);
        size_t base[] = {a.local[0], a.central[0], a.end};
        set(&a.bytes, base[cases[i].where] + cases[i].at, cases[i].value, cases[i].width);
        size_t before = test_failures;
        refuses(&a, cases[i].status, cases[i].word);
        if (test_failures > before) fprintf(stderr, "    case %zu\n", i);
    }
}

/* Names are only names; two that are the same are not. */
TEST(names) {
    const recipe odd[] = {{.name = STR("../up")}, {.name = STR("/root")}, {.name = STR("a\\b")}};
    archive a = make(odd, 3);
    CHECK_EQ(read_archive(&a, NULL), ONX_OK);
    const recipe same[] = {pair[0], pair[1], {.name = STR("one"), .data = STR("other")}};
    a = make(same, 3);
    refuses(&a, ONX_MALFORMED, "same name");
}

TEST(layout) {
    /* The directory in another order than the entries. */
    archive a = make(pair, 2), b = a;
    memcpy(b.bytes.data + b.central[0], a.bytes.data + a.central[1], 49);
    memcpy(b.bytes.data + b.central[0] + 49, a.bytes.data + a.central[0], 49);
    CHECK_EQ(read_archive(&b, NULL), ONX_OK);
    /* Two directory entries for one local header, as in an overlapping bomb. */
    b = a;
    set(&b.bytes, b.central[1] + 42, 0, 4);
    memcpy(b.bytes.data + b.central[1] + 16, b.bytes.data + b.central[0] + 16, 12);
    memcpy(b.bytes.data + b.central[1] + 46, "one", 3);
    refuses(&b, ONX_MALFORMED, "same name");
    /* An entry inside the data of another. */
    const archive inner = make(pair, 1);
    recipe outer[2] = {{.name = STR("outer"), .data = {inner.bytes.data, 38}}, pair[0]};
    a = make(outer, 2);
    set(&a.bytes, a.central[1] + 42, 35, 4);
    refuses(&a, ONX_MALFORMED, "overlap");
    /* Data that goes on past the directory, as both headers say; a header that would do so. */
    a = make(pair, 1);
    for (size_t i = 0; i < 2; i++) {
        size_t sizes = i ? a.central[0] + 20 : a.local[0] + 18;
        set(&a.bytes, sizes, 6, 4), set(&a.bytes, sizes + 4, 6, 4);
    }
    refuses(&a, ONX_MALFORMED, "reaches into the directory");
    recipe mark = {.name = STR("m"), .data = STR("PK\3\4")};
    a = make(&mark, 1);
    set(&a.bytes, a.central[0] + 42, 31, 4);
    refuses(&a, ONX_MALFORMED, "local header is expected");
    /* Junk before, between and after entries. */
    recipe gap[2] = {pair[0], pair[1]};
    gap[0].tail = STR("?");
    a = make(gap, 2);
    refuses(&a, ONX_MALFORMED, "belong to no");
    gap[0].tail = STR(""), gap[1].tail = STR("?");
    a = make(gap, 2);
    refuses(&a, ONX_MALFORMED, "belong to no");
    a = make(pair, 2);
    memmove(a.bytes.data + 7, a.bytes.data, a.bytes.size);
    a.bytes.size += 7;
    refuses(&a, ONX_MALFORMED, "does not end where");
    set(&a.bytes, a.end + 7 + 16, onx_load_u32(a.bytes.data + a.end + 7 + 16) + 7, 4);
    set(&a.bytes, a.central[0] + 7 + 42, 7, 4);
    set(&a.bytes, a.central[1] + 7 + 42, a.local[1] + 7, 4);
    refuses(&a, ONX_MALFORMED, "belong to no"); /* a prefix with all offsets put right */
    maker nothing = {{0}, 0};
    archive none = {.bytes = nothing};
    refuses(&none, ONX_MALFORMED, "no end record");
}

#define ABC "\x4b\x4c\x4a\x4e\x1c\x45\xc4\x21" /* "abc" a hundred times, without the last byte */

TEST(deflated) {
    recipe r = {
        .name = STR("abc"), .data = STR(ABC "\0"), .method = 8, .size = 300, .crc = 0xd0c4b884};
    archive a = make(&r, 1);
    onx_context *ctx = onx_context_or_default(NULL);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_zip zip;
    REQUIRE(open_bytes(ctx, bytes_of(&a), &zip, NULL) == ONX_OK);
    onx_str content;
    onx_blob *owner;
    onx_status status = onx_zip_read(&zip, &zip.entries[0], &content, &owner, &diag);
    onx_zip_close(&zip);
    if (status == ONX_UNSUPPORTED) {
        CHECK(strstr(diag.message, "zlib") != NULL);
        SKIP("built without zlib");
    }
    REQUIRE(status == ONX_OK);
    CHECK(content.size == 300 && owner && memcmp(content.data + 297, "abc", 3) == 0);
    onx_blob_release(owner);

    recipe empty = {.name = STR("e"), .data = STR("\3\0"), .method = 8, .crc = 0};
    archive e = make(&empty, 1);
    set(&e.bytes, e.local[0] + 14, 0, 4), set(&e.bytes, e.local[0] + 22, 0, 4);
    set(&e.bytes, e.central[0] + 16, 0, 4), set(&e.bytes, e.central[0] + 24, 0, 4);
    CHECK_EQ(read_archive(&e, NULL), ONX_OK);

    static const struct {
        onx_str data;
        uint32_t size, crc;
        onx_status status;
        const char *word;
    } cases[] = {
        {INIT(ABC "\0"), 299, 0xd0c4b884, ONX_MALFORMED, "damaged"},
        {INIT(ABC "\0"), 301, 0xd0c4b884, ONX_MALFORMED, "damaged"},
        {INIT(ABC "\0"), 300, 1, ONX_CHANGED, "checksum"},
        {INIT(ABC "\0?"), 300, 0xd0c4b884, ONX_MALFORMED, "damaged"},
        {INIT(ABC), 300, 0xd0c4b884, ONX_MALFORMED, "damaged"},
        {INIT("\xff\xff\xff"), 300, 0xd0c4b884, ONX_MALFORMED, "damaged"},
        {INIT(""), 1, 1, ONX_MALFORMED, "damaged"},
        {INIT(ABC "\0"), 9 * 1032 + 1032, 1, ONX_MALFORMED, "contradict"},
        {INIT(ABC "\0"), 9 * 1032, 1, ONX_MALFORMED, "damaged"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        r.data = cases[i].data, r.size = cases[i].size, r.crc = cases[i].crc;
        a = make(&r, 1);
        refuses(&a, cases[i].status, cases[i].word);
    }
    /* The limit counts all entries together. */
    r = (recipe){
        .name = STR("x"), .data = STR(ABC "\0"), .method = 8, .size = 300, .crc = 0xd0c4b884};
    recipe both[] = {r, r};
    both[1].name = STR("y");
    a = make(both, 2);
    const onx_zip_limits enough = {2, 600}, less = {2, 599}, one = {1, 600};
    REQUIRE(onx_zip_open(ctx, bytes_of(&a), &enough, &zip, NULL) == ONX_OK);
    onx_zip_close(&zip);
    CHECK_EQ(onx_zip_open(ctx, bytes_of(&a), &less, &zip, &diag), ONX_LIMIT);
    CHECK_STR(diag.place, "entry 'y'");
    CHECK_EQ(onx_zip_open(ctx, bytes_of(&a), &one, &zip, NULL), ONX_LIMIT);
}

/* ── Writing ─────────────────────────────────────────────────────────────────────────────────── */

static onx_status write_pair(onx_context *ctx, const onx_writer *out) {
    onx_zip_writer zip;
    onx_zip_writer_init(&zip, ctx, out);
    onx_status status =
        onx_zip_writer_add(&zip, STR("one"), (onx_str[]){STR("fi"), STR("rst")}, 2, NULL);
    if (!status) status = onx_zip_writer_add(&zip, STR("tw\xc3\xb6"), NULL, 0, NULL);
    if (!status) status = onx_zip_writer_finish(&zip, NULL);
    onx_zip_writer_fini(&zip);
    return status;
}

TEST(writes) {
    onx_context *ctx = onx_context_or_default(NULL);
    onx_buf first, second;
    onx_buf_init(&first, ctx), onx_buf_init(&second, ctx);
    onx_writer out = onx_buf_writer(&first), out2 = onx_buf_writer(&second);
    CHECK_EQ(write_pair(ctx, &out), ONX_OK);
    CHECK_EQ(write_pair(ctx, &out2), ONX_OK);
    CHECK(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    onx_zip zip;
    REQUIRE(open_bytes(ctx, (onx_str){first.data, first.size}, &zip, NULL) == ONX_OK);
    CHECK_EQ(zip.count, 2);
    CHECK(onx_str_is(zip.entries[0].name, "one") && onx_str_eq(zip.entries[0].data, STR("first")));
    CHECK_EQ((zip.entries[0].data.data - first.data) % ONX_ZIP_ALIGN, 0);
    CHECK(onx_str_is(zip.entries[1].name, "tw\xc3\xb6"));
    CHECK_EQ((zip.entries[1].data.data - first.data) % ONX_ZIP_ALIGN, 0);
    CHECK_EQ(first.data[zip.entries[0].offset + 7], 0);
    CHECK_EQ(first.data[zip.entries[1].offset + 7], 8); /* UTF-8 */
    onx_zip_close(&zip);
    onx_buf_fini(&first), onx_buf_fini(&second);
}

/* Every length of a name, and so every amount of padding. */
TEST(padding) {
    onx_context *ctx = onx_context_or_default(NULL);
    char name[140];
    memset(name, 'n', sizeof name);
    onx_buf buf;
    onx_buf_init(&buf, ctx);
    onx_writer out = onx_buf_writer(&buf);
    onx_zip_writer w;
    onx_zip_writer_init(&w, ctx, &out);
    for (size_t i = 1; i <= sizeof name; i++)
        CHECK_EQ(onx_zip_writer_add(&w, (onx_str){name, i}, &(onx_str){name, i}, 1, NULL), ONX_OK);
    CHECK_EQ(onx_zip_writer_finish(&w, NULL), ONX_OK);
    onx_zip_writer_fini(&w);
    onx_zip zip;
    REQUIRE(open_bytes(ctx, (onx_str){buf.data, buf.size}, &zip, NULL) == ONX_OK);
    for (size_t i = 0; i < zip.count; i++) {
        CHECK_EQ(zip.entries[i].name.size, i + 1);
        CHECK_EQ((zip.entries[i].data.data - buf.data) % ONX_ZIP_ALIGN, 0);
    }
    onx_zip_close(&zip);
    onx_buf_fini(&buf);
}

TEST(writer_refuses) {
    onx_context *ctx = onx_context_or_default(NULL);
    onx_buf buf;
    onx_buf_init(&buf, ctx);
    onx_writer out = onx_buf_writer(&buf);
    onx_zip_writer zip;
    onx_zip_writer_init(&zip, ctx, &out);
    static char name[65536];
    memset(name, 'x', sizeof name);
    onx_diag diag = ONX_INIT(onx_diag);
    CHECK_EQ(onx_zip_writer_add(&zip, STR("a"), NULL, 0, &diag), ONX_OK);
    CHECK_EQ(onx_zip_writer_add(&zip, STR("a"), NULL, 0, &diag), ONX_CONFLICT);
    CHECK_EQ(onx_zip_writer_add(&zip, STR(""), NULL, 0, &diag), ONX_INVALID);
    CHECK_EQ(onx_zip_writer_add(&zip, STR("a\0b"), NULL, 0, &diag), ONX_INVALID);
    CHECK_EQ(onx_zip_writer_add(&zip, (onx_str){name, 65536}, NULL, 0, &diag), ONX_LIMIT);
    CHECK_EQ(onx_zip_writer_add(&zip, (onx_str){name, 65535}, NULL, 0, &diag), ONX_OK);
    CHECK_EQ(onx_zip_writer_finish(&zip, NULL), ONX_OK);
    onx_zip_writer_fini(&zip);
    CHECK_EQ(read_all(ctx, (onx_str){buf.data, buf.size}, &diag), ONX_OK);
    onx_buf_fini(&buf);
}

/* More entries than 16 bits count: zip64 end records. */
TEST(many_entries) {
    onx_context *ctx = onx_context_or_default(NULL);
    for (size_t n = 65534; n <= 65536; n++) {
        onx_buf buf;
        onx_buf_init(&buf, ctx);
        onx_writer out = onx_buf_writer(&buf);
        onx_zip_writer w;
        onx_zip_writer_init(&w, ctx, &out);
        onx_status status = ONX_OK;
        for (size_t i = 0; i < n && !status; i++) {
            char name[16];
            int size = snprintf(name, sizeof name, "%zu", i);
            status = onx_zip_writer_add(&w, (onx_str){name, (size_t)size}, NULL, 0, NULL);
        }
        CHECK_EQ(status, ONX_OK);
        CHECK_EQ(onx_zip_writer_finish(&w, NULL), ONX_OK);
        onx_zip_writer_fini(&w);
        CHECK_EQ(memcmp(buf.data + buf.size - 42, "PK\6\7", 4) == 0, n >= 65535);
        onx_zip zip;
        REQUIRE(open_bytes(ctx, (onx_str){buf.data, buf.size}, &zip, NULL) == ONX_OK);
        CHECK_EQ(zip.count, n);
        CHECK(onx_zip_find(&zip, STR("65533")) == &zip.entries[65533]);
        onx_zip_close(&zip);
        onx_buf_fini(&buf);
    }
}

/* Past 4 GiB, as if that much had been written before: the offset moves to the extra field. */
TEST(far_entries) {
    for (uint64_t start = UINT32_MAX - 1; start <= UINT32_MAX; start++) {
        bool far = start == UINT32_MAX;
        onx_buf buf;
        onx_buf_init(&buf, onx_context_or_default(NULL));
        onx_writer out = onx_buf_writer(&buf);
        onx_zip_writer w;
        onx_zip_writer_init(&w, buf.ctx, &out);
        w.offset = start;
        REQUIRE(onx_zip_writer_add(&w, STR("f"), &STR("data"), 1, NULL) == ONX_OK);
        const char *central = w.directory.data;
        CHECK_EQ(w.directory.size, far ? 46 + 1 + 12 : 46 + 1);
        CHECK_EQ(onx_load_u32(central + 42), far ? UINT32_MAX : start);
        if (far) CHECK(memcmp(central + 47, "\1\0\10\0\xff\xff\xff\xff\0\0\0", 12) == 0);
        uint64_t directory = w.offset;
        REQUIRE(onx_zip_writer_finish(&w, NULL) == ONX_OK);
        const char *end64 = buf.data + buf.size - 22 - 20 - 56;
        CHECK(memcmp(end64, "PK\6\6", 4) == 0 && onx_load_u64(end64 + 48) == directory);
        onx_zip_writer_fini(&w);
        onx_buf_fini(&buf);
    }
}

/* ── Trouble ─────────────────────────────────────────────────────────────────────────────────── */

/* Cut at every byte, and every byte changed: an error, or the very same entries. */
TEST(damage) {
    archive good = make_end64();
    for (size_t size = 0; size < good.bytes.size; size++) {
        archive a = good;
        a.bytes.size = size;
        CHECK(read_archive(&a, NULL) != ONX_OK);
    }
    static const unsigned char masks[] = {0x01, 0x80, 0xff};
    size_t accepted = 0;
    for (size_t i = 0; i < good.bytes.size * ONX_COUNT(masks); i++) {
        archive a = good;
        a.bytes.data[i / ONX_COUNT(masks)] ^= (char)masks[i % ONX_COUNT(masks)];
        onx_status status = read_archive(&a, NULL);
        CHECK(status != ONX_USAGE && status != ONX_NO_MEMORY);
        accepted += status == ONX_OK;
    }
    /* Versions and times in local headers; these and attributes in central ones; versions last. */
    CHECK_EQ(accepted, (2 * (2 + 4) + 2 * (4 + 4 + 6) + 4) * ONX_COUNT(masks));
}

static onx_status use_everything(onx_context *ctx, onx_str deflated) {
    onx_buf buf;
    onx_buf_init(&buf, ctx);
    onx_writer out = onx_buf_writer(&buf);
    onx_status status = write_pair(ctx, &out);
    /* A buffer that cannot grow is a stream that cannot be written. */
    if (status == ONX_IO && buf.failed) status = ONX_NO_MEMORY;
    if (!status) status = read_all(ctx, (onx_str){buf.data, buf.size}, NULL);
    onx_buf_fini(&buf);
    return status ? status : read_all(ctx, deflated, NULL);
}

TEST(no_memory) {
    recipe r = {
        .name = STR("abc"), .data = STR(ABC "\0"), .method = 8, .size = 300, .crc = 0xd0c4b884};
    archive a = make(&r, 1);
    test_heap heap = {0};
    for (size_t fail_at = 2;; fail_at++) { /* 1 is the context itself */
        heap = (test_heap){.fail_at = fail_at, .fail_count = 1};
        onx_context *ctx = test_context(&heap, NULL);
        onx_status status = use_everything(ctx, bytes_of(&a));
        CHECK_EQ(onx_context_memory_used(ctx), 0);
        onx_context_free(ctx);
        if (!heap.failed) {
            CHECK(status == ONX_OK || status == ONX_UNSUPPORTED); /* without zlib */
            break;
        }
        CHECK_EQ(status, ONX_NO_MEMORY);
    }
    CHECK(heap.calls > 10);
}

static int write_some(void *user, const void *data, size_t size) {
    size_t *left = user;
    (void)data, (void)size;
    return (*left)-- > 0 ? 0 : -1;
}

TEST(failing_stream) {
    onx_context *ctx = onx_context_or_default(NULL);
    for (size_t calls = 0; calls < 5; calls++) {
        size_t left = calls;
        onx_writer out = {&left, write_some};
        CHECK_EQ(write_pair(ctx, &out), ONX_IO);
    }
    size_t left = 5;
    CHECK_EQ(write_pair(ctx, &(onx_writer){&left, write_some}), ONX_OK);
}

TEST_MAIN(E(crc) E(reads) E(comment) E(descriptor) E(zip64) E(end64) E(lies) E(names) E(layout)
              E(deflated) E(writes) E(padding) E(writer_refuses) E(many_entries) E(far_entries)
                  E(damage) E(no_memory) E(failing_stream))
