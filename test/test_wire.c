/* test_wire.c: the protobuf codec against the format: what must be accepted, what must be refused,
 * and what the refusal says. The matrices go over every field of every message; names of cases
 * follow protobuf's conformance suite where it has them. */
#include "support.h"
#include "test.h"

#include <pthread.h>

static const onx_desc *const tables[] = {
#define TABLE(name, type, proto) &onx_desc_##name,
    ONX_MESSAGES(TABLE)
#undef TABLE
};

typedef struct decoded {
    test_heap heap;
    onx_context *ctx;
    onx_doc *doc;
    onx_msg *msg;
    char *copy; /* of exactly the right size: reading past its end is caught */
    onx_status status;
    onx_diag diag;
} decoded;

static decoded *decode_as(const onx_desc *desc, const void *data, size_t size) {
    decoded *d = calloc(1, sizeof *d);
    d->ctx = test_context(&d->heap, NULL);
    d->copy = malloc(size ? size : 1);
    if (size) memcpy(d->copy, data, size);
    d->status = onx_doc_new(d->ctx, &d->doc, NULL);
    onx_doc_limit(d->doc, size);
    d->status = onx_wire_decode(d->doc, desc, (onx_str){d->copy, size}, &d->msg, &d->diag);
    return d;
}

static void decoded_free(decoded *d) {
    onx_doc_free(d->doc);
    onx_context_free(d->ctx);
    CHECK_EQ(d->heap.bytes, 0);
    free(d->copy);
    free(d);
}

static onx_status status_of(const onx_desc *desc, const test_bytes *b) {
    decoded *d = decode_as(desc, b->data, b->size);
    onx_status status = d->status;
    CHECK(status == ONX_OK || (d->diag.status == status && d->diag.message[0] &&
                               d->diag.offset >= 0 && d->diag.offset <= (int64_t)b->size));
    decoded_free(d);
    return status;
}

static onx_status status_of_bytes(const onx_desc *desc, const void *data, size_t size) {
    return status_of(desc, &(test_bytes){(char *)(uintptr_t)data, size, size});
}
#define MODEL(literal) status_of_bytes(&onx_desc_model, literal, sizeof(literal) - 1)

static test_bytes encoded(onx_msg *msg) {
    onx_buf buf;
    onx_buf_init(&buf, msg->doc->ctx);
    onx_writer writer = onx_buf_writer(&buf);
    test_bytes out = {NULL, 0, 0};
    uint64_t size = 0;
    onx_diag diag = ONX_INIT(onx_diag);
    if (CHECK(onx_wire_encode(msg, &writer, &diag) == ONX_OK)) test_put(&out, buf.data, buf.size);
    CHECK(onx_wire_size(msg, &size, &diag) == ONX_OK && size == buf.size);
    onx_buf_fini(&buf);
    return out;
}

static bool is_bytes(const test_bytes *b, const void *data, size_t size) {
    return b->size == size && memcmp(b->data, data, size) == 0;
}

/* The tables are what everything else stands on. */
TEST(tables_are_in_order) {
    for (size_t t = 0; t < ONX_COUNT(tables); t++) {
        const onx_desc *desc = tables[t];
        CHECK(desc->n_fields > 0 && desc->n_fields <= 32);
        for (unsigned i = 0; i < desc->n_fields; i++) {
            const onx_field *f = &desc->fields[i];
            bool message = f->kind == ONX_FIELD_MSG || f->kind == ONX_FIELD_MSGS;
            CHECK(i == 0 || desc->fields[i - 1].number < f->number);
            CHECK(message == (f->child != NULL));
            CHECK(onx_desc_field(desc, onx_str_of(f->name)) == f);
        }
    }
}

/* ── Varints ── */

TEST(varints) {
    static const uint64_t values[] = {0,
                                      1,
                                      127,
                                      128,
                                      300,
                                      16383,
                                      16384,
                                      UINT32_MAX,
                                      (uint64_t)1 << 32,
                                      INT64_MAX,
                                      (uint64_t)1 << 63,
                                      UINT64_MAX};
    for (size_t i = 0; i < ONX_COUNT(values); i++) {
        for (unsigned extra = 0; extra + onx_varint_size(values[i]) <= 10; extra++) {
            test_bytes b = {NULL, 0, 0};
            test_put_tag(&b, 1, TEST_VARINT);
            test_put_long_varint(&b, values[i], extra);
            decoded *d = decode_as(&onx_desc_model, b.data, b.size);
            CHECK_EQ(d->status, ONX_OK);
            CHECK_EQ(((onx_model *)d->msg)->ir_version, (int64_t)values[i]);
            decoded_free(d);
            for (size_t cut = 1; cut < b.size; cut++)
                CHECK_EQ(status_of_bytes(&onx_desc_model, b.data, cut), ONX_MALFORMED);
            test_bytes_free(&b);
        }
        char put[10];
        uint64_t got = 0;
        size_t n = onx_varint_put(values[i], put);
        CHECK_EQ(n, onx_varint_size(values[i]));
        CHECK_EQ(onx_varint_get(put, put + n, &got), n);
        CHECK(got == values[i]);
    }
}

TEST(varints_too_long) {
    CHECK_EQ(MODEL("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ONX_OK);
    CHECK_EQ(MODEL("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), ONX_MALFORMED); /* 65 bits */
    CHECK_EQ(MODEL("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), ONX_MALFORMED);
    CHECK_EQ(MODEL("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"),
             ONX_MALFORMED); /* 11 bytes */
    CHECK_EQ(MODEL("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ONX_MALFORMED);
    /* In a packed list too. */
    CHECK_EQ(
        status_of_bytes(&onx_desc_tensor, "\x3a\x0b\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\0", 13),
        ONX_MALFORMED);
    CHECK_EQ(
        status_of_bytes(&onx_desc_tensor, "\x0a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 12),
        ONX_MALFORMED);
}

/* ── Tags ── */

TEST(bad_tags) {
    CHECK_EQ(MODEL("\x00\x01"), ONX_MALFORMED); /* IllegalZeroFieldNum */
    CHECK_EQ(MODEL("\x01"
                   "DEADBEEF"),
             ONX_MALFORMED);
    CHECK_EQ(MODEL("\x02\x01\x01"), ONX_MALFORMED);
    CHECK_EQ(MODEL("\x03\x04"), ONX_MALFORMED);
    CHECK_EQ(MODEL("\x05"
                   "DEAD"),
             ONX_MALFORMED);
    CHECK_EQ(MODEL("\x88\x80\x80\x80\x80\x80\x0f\xd2\x09"), ONX_MALFORMED); /* FieldNumberTooHigh */
    CHECK_EQ(MODEL("\x88\x80\x80\x80\x40\xd2\x09"), ONX_MALFORMED);         /* …SlightlyTooHigh */
    CHECK_EQ(MODEL("\x88\x80\x80\x80\x80\x80\x80\x80\x00\xd2\x09"),
             ONX_MALFORMED); /* OverlongVarint */
    CHECK_EQ(MODEL("\x88\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00\xd2\x09"), ONX_MALFORMED);
    CHECK_EQ(MODEL("\x88\x80\x80\x80\x00\xd2\x09"), ONX_OK); /* five bytes are allowed */
    CHECK_EQ(MODEL("\xf8\xff\xff\xff\x0f\x01"), ONX_OK);     /* the highest field number */
    for (unsigned type = 6; type <= 7; type++)
        for (unsigned field = 0; field < 4; field++)
            for (unsigned value = 0; value < 4; value++) { /* UnknownWireType */
                char bytes[] = {(char)(field << 3 | type), (char)value};
                CHECK_EQ(status_of_bytes(&onx_desc_model, bytes, 2), ONX_MALFORMED);
            }
}

/* ── Groups ── */

TEST(groups_unmatched) {
    test_bytes b = {NULL, 0, 0};
    static const uint32_t numbers[] = {1, 2, 7, 201, 1234, 536870911};
    for (size_t i = 0; i < ONX_COUNT(numbers); i++) {
        b.size = 0;
        test_put_tag(&b, numbers[i], TEST_EGROUP); /* UnmatchedEndGroup */
        CHECK_EQ(status_of(&onx_desc_model, &b), ONX_MALFORMED);
        b.size = 0;
        test_put_tag(&b, numbers[i], TEST_SGROUP); /* never ends */
        CHECK_EQ(status_of(&onx_desc_model, &b), ONX_MALFORMED);
        test_put_tag(&b, numbers[i] ^ 8, TEST_EGROUP); /* ends with another number */
        CHECK_EQ(status_of(&onx_desc_model, &b), ONX_MALFORMED);
        b.size = 0;
        test_put_tag(&b, numbers[i], TEST_SGROUP);
        test_put_tag(&b, 9, TEST_LEN); /* UnmatchedEndGroupNestedLen: the end lies inside a span */
        test_put_varint(&b, 2);
        test_put_tag(&b, numbers[i], TEST_EGROUP);
        CHECK(status_of(&onx_desc_model, &b) == ONX_MALFORMED);
        b.size = 0;
        test_put_tag(&b, 7, TEST_LEN); /* the group opens in a message and would close outside it */
        test_bytes open = {NULL, 0, 0};
        test_put_tag(&open, numbers[i], TEST_SGROUP);
        test_put_varint(&b, open.size);
        test_put(&b, open.data, open.size);
        test_put_tag(&b, numbers[i], TEST_EGROUP);
        CHECK_EQ(status_of(&onx_desc_model, &b), ONX_MALFORMED);
        test_bytes_free(&open);
    }
    b.size = 0;
    test_put_tag(&b, 50, TEST_SGROUP);
    test_put_tag(&b, 51, TEST_SGROUP);
    test_put_tag(&b, 50, TEST_EGROUP); /* crossed */
    test_put_tag(&b, 51, TEST_EGROUP);
    CHECK_EQ(status_of(&onx_desc_model, &b), ONX_MALFORMED);
    test_bytes_free(&b);
}

TEST(groups_are_kept) {
    static const char bytes[] = "\x08\x05"                   /* ir_version 5 */
                                "\xb3\x06\x08\x01\x53\x0d"   /* group 102 { 1: 1 group 10 { 1: */
                                "abcd\x54\x12\x02hi\xb4\x06" /* "abcd" } 2: "hi" } */
                                "\x3b\x3c";                  /* field 7 (graph) as a group */
    decoded *d = decode_as(&onx_desc_model, bytes, sizeof bytes - 1);
    REQUIRE(d->status == ONX_OK);
    CHECK_EQ(((onx_model *)d->msg)->ir_version, 5);
    CHECK(((onx_model *)d->msg)->graph == NULL);
    test_bytes same = encoded(d->msg);
    CHECK(is_bytes(&same, bytes, sizeof bytes - 1));
    onx_msg_touch_all(d->msg);
    test_bytes again = encoded(d->msg);
    CHECK(is_bytes(&again, bytes, sizeof bytes - 1));
    test_bytes_free(&same);
    test_bytes_free(&again);
    decoded_free(d);
}

/* ── Ends that come too early ── */

static unsigned wire_of(const onx_field *f) {
    switch ((onx_field_kind)f->kind) {
    case ONX_FIELD_I32:
    case ONX_FIELD_I64:
    case ONX_FIELD_I64S:
    case ONX_FIELD_PACKED_I32:
    case ONX_FIELD_PACKED_I64:
    case ONX_FIELD_PACKED_U64: return TEST_VARINT;
    case ONX_FIELD_F32:
    case ONX_FIELD_F32S:
    case ONX_FIELD_PACKED_F32: return TEST_I32;
    case ONX_FIELD_PACKED_F64: return TEST_I64;
    default: return TEST_LEN;
    }
}

static void expect_cut(const onx_desc *desc, uint32_t number, unsigned type, const char *value,
                       size_t size) {
    for (size_t cut = 0; cut < size; cut++) { /* PrematureEofBefore…Value, …Inside…Value */
        test_bytes b = {NULL, 0, 0};
        test_put_tag(&b, number, type);
        test_put(&b, value, cut);
        CHECK_EQ(status_of(desc, &b), ONX_MALFORMED);
        test_bytes_free(&b);
    }
}

TEST(premature_end_of_every_field) {
    for (size_t t = 0; t < ONX_COUNT(tables); t++)
        for (unsigned i = 0; i <= tables[t]->n_fields; i++) {
            bool known = i < tables[t]->n_fields;
            uint32_t number = known ? tables[t]->fields[i].number : 666;
            expect_cut(tables[t], number, TEST_VARINT, "\x80\x80\x01", 3);
            expect_cut(tables[t], number, TEST_I64, "12345678", 8);
            expect_cut(tables[t], number, TEST_I32, "1234", 4);
            expect_cut(tables[t], number, TEST_LEN, "\x84\x00\x0a\x02\x08\x01", 6);
        }
}

TEST(premature_end_of_packed_lists) {
    for (size_t t = 0; t < ONX_COUNT(tables); t++)
        for (unsigned i = 0; i < tables[t]->n_fields; i++) {
            const onx_field *f = &tables[t]->fields[i];
            bool list = f->kind == ONX_FIELD_I64S || f->kind == ONX_FIELD_F32S ||
                        f->kind >= ONX_FIELD_PACKED_F32;
            if (!list) continue;
            unsigned type = wire_of(f);
            const char *part = type == TEST_VARINT ? "\x80\x80\x80" : "1234567";
            size_t most = type == TEST_I32 ? 3 : type == TEST_I64 ? 7 : 3;
            for (size_t n = 1; n <= most; n++) { /* PrematureEofInPackedFieldValue */
                test_bytes b = {NULL, 0, 0};
                test_put_bytes(&b, f->number, part, n);
                test_put_str(&b, 666, "what follows does not complete it");
                CHECK_EQ(status_of(tables[t], &b), ONX_MALFORMED);
                test_bytes_free(&b);
            }
        }
}

TEST(premature_end_inside_messages) {
    for (size_t t = 0; t < ONX_COUNT(tables); t++)
        for (unsigned i = 0; i < tables[t]->n_fields; i++) {
            const onx_field *f = &tables[t]->fields[i];
            if (!f->child) continue;
            /* PrematureEofInSubmessageValue: the outer length is right, the value inside is cut. */
            static const char *const cut[] = {
                "\x08", "\x08\x80", "\x0d\1\2\3", "\x09\1\2\3\4\5\6\7", "\x12\x05hell", "\x9a\x05"};
            for (size_t k = 0; k < ONX_COUNT(cut); k++) {
                test_bytes b = {NULL, 0, 0};
                test_put_str(&b, f->number, cut[k]);
                test_put_str(&b, 666, "there is more in the file, but not in the message");
                CHECK_EQ(status_of(tables[t], &b), ONX_MALFORMED);
                test_bytes_free(&b);
            }
        }
}

/* ── Lengths that overflow ── */

TEST(lengths_of_every_field) {
    static const uint64_t lengths[] = {1,
                                       2,
                                       INT32_MAX,
                                       (uint64_t)1 << 31,
                                       UINT32_MAX,
                                       UINT32_MAX - 4,
                                       (uint64_t)1 << 32,
                                       INT64_MAX,
                                       (uint64_t)1 << 63,
                                       UINT64_MAX - 9,
                                       UINT64_MAX};
    for (size_t t = 0; t < ONX_COUNT(tables); t++)
        for (unsigned i = 0; i <= tables[t]->n_fields; i++)
            for (size_t k = 0; k < ONX_COUNT(lengths); k++) {
                const onx_field *f = i < tables[t]->n_fields ? &tables[t]->fields[i] : NULL;
                test_bytes b = {NULL, 0, 0};
                test_put_tag(&b, f ? f->number : 666, TEST_LEN);
                size_t at = b.size;
                test_put_varint(&b, lengths[k]);
                decoded *d = decode_as(tables[t], b.data, b.size);
                CHECK_EQ(d->status, ONX_MALFORMED);
                CHECK_EQ(d->diag.offset, at);
                CHECK(strstr(d->diag.message, "declared") != NULL);
                CHECK_STR(d->diag.place, f ? f->name : tables[t]->name);
                decoded_free(d);
                /* The same where the length fits the file but not the message around it. */
                if (lengths[k] > 2) {
                    test_bytes_free(&b);
                    continue;
                }
                test_bytes outer = {NULL, 0, 0};
                test_put_message(&outer, 7, &b);
                test_put_str(&outer, 6, "some doc string");
                if (tables[t] == &onx_desc_graph)
                    CHECK_EQ(status_of(&onx_desc_model, &outer), ONX_MALFORMED);
                test_bytes_free(&outer);
            }
}

/* ── Nesting ── */

typedef struct chain { /* field numbers that lead from a message to another of its kind */
    const char *what;
    const onx_desc *root;
    uint32_t first, links[3];
} chain;

static const chain chains[] = {
    {"subgraphs", &onx_desc_model, 7, {1, 5, 6}},
    {"subgraphs in lists", &onx_desc_model, 7, {1, 5, 11}},
    {"sequences of types", &onx_desc_type, 0, {4, 1, 0}},
    {"optional types", &onx_desc_type, 0, {9, 1, 0}},
    {"maps of types", &onx_desc_type, 0, {5, 2, 0}},
    {"sequences", &onx_desc_sequence, 0, {5, 0, 0}},
    {"optionals", &onx_desc_optional, 0, {7, 0, 0}},
    {"maps", &onx_desc_map_data, 0, {5, 6, 0}},
};

/* `depth` messages inside the root. Built from the inside, so that each length is known. */
static test_bytes nest(const chain *c, size_t depth) {
    size_t n = 0, links = 0;
    uint32_t *numbers = malloc((depth + 1) * sizeof *numbers);
    while (links < 3 && c->links[links]) links++;
    if (c->first && n < depth) numbers[n++] = c->first;
    for (size_t i = 0; n < depth; i++) numbers[n++] = c->links[i % links];
    size_t room = depth * 12 + 16, at = room;
    char *back = malloc(room);
    while (n--) {
        char head[20];
        size_t k = onx_varint_put((uint64_t)numbers[n] << 3 | TEST_LEN, head);
        k += onx_varint_put(room - at, head + k);
        memcpy(back + (at -= k), head, k);
    }
    test_bytes out = {NULL, 0, 0};
    test_put(&out, back + at, room - at);
    free(back);
    free(numbers);
    return out;
}

static void *deep_messages(void *unused) {
    static const size_t depths[] = {1, 30, 99, 100, 101, 1000, 20000, 100000};
    (void)unused;
    for (size_t c = 0; c < ONX_COUNT(chains); c++)
        for (size_t k = 0; k < ONX_COUNT(depths); k++) {
            test_bytes b = nest(&chains[c], depths[k]);
            onx_status wanted = depths[k] <= 100 ? ONX_OK : ONX_LIMIT;
            CHECK_EQ(status_of(chains[c].root, &b), wanted);
            if (chains[c].root == &onx_desc_model) { /* through the whole of loading, and freeing */
                onx_model *model = NULL;
                onx_diag diag = ONX_INIT(onx_diag);
                CHECK_EQ(onx_model_load_memory(NULL, b.data, b.size, NULL, &model, &diag), wanted);
                if (model) CHECK(test_links(model));
                onx_model_free(model);
            }
            test_bytes_free(&b);
        }
    return NULL;
}

/* A limit that is raised is honoured, and nothing recurses: encode, clone, compare and link are as
 * deep. */
static void *deep_allowed(void *unused) {
    (void)unused;
    onx_context_options options = ONX_INIT(onx_context_options);
    options.limits.depth = 30000;
    onx_context *ctx = NULL;
    onx_model *model = NULL, *copy = NULL;
    if (!CHECK(onx_context_new(&options, &ctx) == ONX_OK)) return NULL;
    test_bytes b = nest(&chains[0], 20000);
    if (CHECK(onx_model_load_memory(ctx, b.data, b.size, NULL, &model, NULL) == ONX_OK)) {
        void *out = NULL;
        size_t size = 0;
        CHECK(onx_model_clone(model, &copy, NULL) == ONX_OK);
        CHECK(onx_model_equal(model, copy, NULL));
        onx_model_touch(copy);
        CHECK(onx_model_save_memory(copy, NULL, &out, &size, NULL) == ONX_OK);
        CHECK(size == b.size && !memcmp(out, b.data, size));
        onx_buffer_free(ctx, out, size);
    }
    onx_model_free(copy);
    onx_model_free(model);
    onx_context_free(ctx);
    test_bytes_free(&b);
    return NULL;
}

static void *deep_groups(void *unused) {
    static const size_t depths[] = {1, 50, 100, 101, 129, 20000, 1000000};
    (void)unused;
    for (size_t k = 0; k < ONX_COUNT(depths); k++)
        for (unsigned where = 0; where < 3; where++) {
            test_bytes g = {NULL, 0, 0}, b = {NULL, 0, 0};
            uint32_t number =
                where == 0 ? 7 : 99; /* a known number, an unknown one, inside a message */
            for (size_t i = 0; i < depths[k]; i++) test_put_tag(&g, number, TEST_SGROUP);
            for (size_t i = 0; i < depths[k]; i++) test_put_tag(&g, number, TEST_EGROUP);
            if (where == 2)
                test_put_message(&b, 7, &g);
            else
                test_put(&b, g.data, g.size);
            onx_status status = status_of(&onx_desc_model, &b);
            if (depths[k] <= 100)
                CHECK_EQ(status, ONX_OK);
            else
                CHECK(status == ONX_MALFORMED || status == ONX_LIMIT);
            test_bytes_free(&g);
            test_bytes_free(&b);
        }
    return NULL;
}

static void with_small_stack(void *(*run)(void *)) {
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    CHECK_EQ(pthread_attr_setstacksize(&attr, 256 << 10), 0);
    if (CHECK(pthread_create(&thread, &attr, run, NULL) == 0)) pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

TEST(nested_messages) {
    with_small_stack(deep_messages);
}
TEST(nested_messages_allowed) {
    with_small_stack(deep_allowed);
}
TEST(nested_groups) {
    with_small_stack(deep_groups);
}

/* ── Fields that come otherwise than expected ── */

TEST(wrong_wire_type_is_unknown) {
    static const unsigned types[] = {TEST_VARINT, TEST_I64, TEST_LEN, TEST_SGROUP, TEST_I32};
    for (size_t t = 0; t < ONX_COUNT(tables); t++)
        for (unsigned i = 0; i < tables[t]->n_fields; i++)
            for (size_t k = 0; k < ONX_COUNT(types); k++) {
                const onx_field *f = &tables[t]->fields[i];
                bool list = f->kind == ONX_FIELD_I64S || f->kind == ONX_FIELD_F32S ||
                            f->kind >= ONX_FIELD_PACKED_F32;
                if (types[k] == wire_of(f) || (list && types[k] == TEST_LEN)) continue;
                test_bytes b = {NULL, 0, 0};
                test_put_tag(&b, f->number, types[k]);
                if (types[k] == TEST_SGROUP)
                    test_put_tag(&b, f->number, TEST_EGROUP);
                else if (types[k] == TEST_LEN)
                    test_put(&b, "\3abc", 4);
                else
                    test_put(&b, "\1\2\3\4\5\6\7\x08",
                             types[k] == TEST_I64   ? 8
                             : types[k] == TEST_I32 ? 4
                                                    : 1);
                decoded *d = decode_as(tables[t], b.data, b.size);
                if (CHECK(d->status == ONX_OK)) {
                    CHECK(!onx_msg_has(d->msg, f));
                    CHECK(d->msg->unknown && d->msg->unknown->bytes.size == b.size);
                    onx_msg_touch(d->msg);
                    test_bytes again = encoded(d->msg);
                    CHECK(is_bytes(&again, b.data, b.size));
                    test_bytes_free(&again);
                }
                decoded_free(d);
                test_bytes_free(&b);
            }
}

TEST(last_value_wins) {
    test_bytes b = {NULL, 0, 0};
    test_put_int(&b, 1, 3);
    test_put_str(&b, 2, "first");
    test_put_int(&b, 1, 7);
    test_put_str(&b, 2, "");
    decoded *d = decode_as(&onx_desc_model, b.data, b.size);
    REQUIRE(d->status == ONX_OK);
    CHECK_EQ(((onx_model *)d->msg)->ir_version, 7);
    CHECK_EQ(((onx_model *)d->msg)->producer_name.size, 0);
    CHECK(onx_msg_has(d->msg, ONX_ROW(model, producer_name))); /* empty, but present */
    CHECK(!onx_msg_has(d->msg, ONX_ROW(model, domain)));
    decoded_free(d);
    test_bytes_free(&b);
}

TEST(messages_merge) {
    test_bytes b = {NULL, 0, 0}, g1 = {NULL, 0, 0}, g2 = {NULL, 0, 0}, n1 = {NULL, 0, 0},
               n2 = {NULL, 0, 0};
    test_put_str(&n1, 4, "Add");
    test_put_str(&n2, 4, "Mul");
    test_put_message(&g1, 1, &n1);
    test_put_str(&g1, 2, "one");
    test_put_int(&g1, 77, 1); /* unknown */
    test_put_message(&g2, 1, &n2);
    test_put_str(&g2, 2, "two");
    test_put_int(&g2, 77, 2);
    test_put_message(&b, 7, &g1);
    test_put_int(&b, 1, 8);
    test_put_message(&b, 7, &g2);
    decoded *d = decode_as(&onx_desc_model, b.data, b.size);
    REQUIRE(d->status == ONX_OK);
    onx_graph *g = ((onx_model *)d->msg)->graph;
    CHECK_EQ(g->node.count, 2);
    CHECK(onx_str_is(g->name, "two"));
    CHECK(onx_str_is(((onx_node *)g->node.last)->op_type, "Mul"));
    test_bytes same = encoded(d->msg);
    CHECK(is_bytes(&same, b.data, b.size));
    onx_msg_touch(d->msg); /* the graph itself is not edited, but it is no one span of the file */
    test_bytes again = encoded(d->msg), c1 = {NULL, 0, 0}, c2 = {NULL, 0, 0};
    test_canon(&onx_desc_model, (onx_str){b.data, b.size}, &c1);
    test_canon(&onx_desc_model, (onx_str){again.data, again.size}, &c2);
    CHECK(is_bytes(&c2, c1.data, c1.size));
    test_bytes_free(&c1);
    test_bytes_free(&c2);
    test_bytes_free(&same);
    test_bytes_free(&again);
    test_bytes_free(&b);
    decoded_free(d);
}

TEST(last_of_a_oneof_wins) {
    test_bytes b = {NULL, 0, 0};
    test_put_int(&b, 1, 5);
    test_put_str(&b, 2, "N");
    decoded *d = decode_as(&onx_desc_dim, b.data, b.size);
    REQUIRE(d->status == ONX_OK);
    CHECK(!onx_msg_has(d->msg, ONX_ROW(dim, dim_value)));
    CHECK(onx_str_is(((onx_dim *)d->msg)->dim_param, "N"));
    decoded_free(d);
    test_put_int(&b, 1, 6);
    d = decode_as(&onx_desc_dim, b.data, b.size);
    REQUIRE(d->status == ONX_OK);
    CHECK_EQ(((onx_dim *)d->msg)->dim_value, 6);
    CHECK(!onx_msg_has(d->msg, ONX_ROW(dim, dim_param)));
    decoded_free(d);
    test_bytes_free(&b);
    /* Messages: what comes back after another member is a new message, not the old one. */
    test_bytes t1 = {NULL, 0, 0}, t2 = {NULL, 0, 0}, s = {NULL, 0, 0};
    test_put_int(&t1, 1, 1);
    test_put_bytes(&t2, 2, "", 0);
    test_put_message(&b, 1, &t1);
    test_put_message(&b, 4, &s);
    test_put_message(&b, 1, &t2);
    d = decode_as(&onx_desc_type, b.data, b.size);
    REQUIRE(d->status == ONX_OK);
    onx_type *type = (onx_type *)d->msg;
    CHECK(type->sequence_type == NULL && type->tensor_type != NULL);
    CHECK_EQ(type->tensor_type->elem_type, 0);
    CHECK(type->tensor_type->shape != NULL);
    decoded_free(d);
    test_bytes_free(&b);
}

TEST(enums_out_of_range) {
    static const int32_t values[] = {-1, 0, ONX_DTYPE_COUNT, 1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < ONX_COUNT(values); i++) {
        test_bytes b = {NULL, 0, 0};
        test_put_int(&b, 1, 2);
        test_put_int(&b, 2, (uint64_t)(int64_t)values[i]);
        test_put_bytes(&b, 9, "12345678", 8);
        decoded *d = decode_as(&onx_desc_tensor, b.data, b.size);
        REQUIRE(d->status == ONX_OK);
        onx_tensor *t = (onx_tensor *)d->msg;
        char out[8];
        CHECK_EQ(t->data_type, values[i]);
        CHECK_EQ(onx_tensor_dtype(t), ONX_DTYPE_NONE);
        CHECK_EQ(onx_tensor_check(t, &d->diag), ONX_INVALID);
        CHECK(onx_tensor_view(t).data == NULL);
        CHECK(onx_tensor_read(t, out, sizeof out, NULL) != ONX_OK);
        CHECK(onx_tensor_store_raw(t, NULL) != ONX_OK);
        CHECK(onx_tensor_store_typed(t, NULL) != ONX_OK);
        onx_msg_touch(d->msg);
        test_bytes again = encoded(d->msg);
        CHECK(is_bytes(&again, b.data, b.size)); /* what we do not know, we keep */
        test_bytes_free(&again);
        decoded_free(d);
        b.size = 0;
        test_put_str(&b, 1, "a");
        test_put_int(&b, 20, (uint64_t)(int64_t)values[i]);
        d = decode_as(&onx_desc_attr, b.data, b.size);
        REQUIRE(d->status == ONX_OK);
        CHECK_EQ(onx_attr_type_of((onx_attr *)d->msg), values[i] ? ONX_ATTR_UNDEFINED : 0);
        CHECK_EQ(onx_attr_count((onx_attr *)d->msg), 0);
        decoded_free(d);
        test_bytes_free(&b);
        CHECK_STR(onx_dtype_name((onx_dtype)values[i]), values[i] ? "?" : "undefined");
        CHECK_STR(onx_attr_type_name((onx_attr_type)values[i]), values[i] ? "?" : "undefined");
        if (values[i]) CHECK_STR(onx_status_name((onx_status)values[i]), "UNKNOWN");
    }
}

/* A negative int32 has ten bytes on the wire; five were written by old encoders. Both mean the
 * same. */
TEST(negative_numbers) {
    test_bytes ten = {NULL, 0, 0}, five = {NULL, 0, 0};
    test_put_int(&ten, 2, UINT64_MAX);
    test_put_int(&five, 2, UINT32_MAX);
    CHECK_EQ(ten.size, 11);
    CHECK_EQ(five.size, 6);
    decoded *d = decode_as(&onx_desc_tensor, ten.data, ten.size);
    decoded *e = decode_as(&onx_desc_tensor, five.data, five.size);
    REQUIRE(d->status == ONX_OK && e->status == ONX_OK);
    CHECK_EQ(((onx_tensor *)d->msg)->data_type, -1);
    CHECK_EQ(((onx_tensor *)e->msg)->data_type, -1);
    CHECK(onx_msg_equal(d->msg, e->msg, NULL));
    decoded_free(d);
    decoded_free(e);
    /* The same in a packed list: dims of 2, int8, elements -1 and -128. */
    static const char long_form[] = "\x08\x02\x10\x03\x2a\x14"
                                    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                    "\x80\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    static const char short_form[] =
        "\x08\x02\x10\x03\x2a\x0a\xff\xff\xff\xff\x0f\x80\xff\xff\xff\x0f";
    d = decode_as(&onx_desc_tensor, long_form, sizeof long_form - 1);
    e = decode_as(&onx_desc_tensor, short_form, sizeof short_form - 1);
    REQUIRE(d->status == ONX_OK && e->status == ONX_OK);
    signed char a[2] = {0, 0}, b[2] = {0, 0};
    CHECK(onx_tensor_read((onx_tensor *)d->msg, a, 2, NULL) == ONX_OK && a[0] == -1 &&
          a[1] == -128);
    CHECK(onx_tensor_read((onx_tensor *)e->msg, b, 2, NULL) == ONX_OK && b[0] == -1 &&
          b[1] == -128);
    CHECK(onx_msg_equal(d->msg, e->msg, NULL));
    decoded_free(d);
    decoded_free(e);
    test_bytes_free(&ten);
    test_bytes_free(&five);
}

TEST(lists_in_pieces) {
    /* int64_data 1, 2 packed; 3 alone; nothing; 300, 4 packed; with other fields between them. */
    static const char bytes[] =
        "\x08\x05\x10\x07\x3a\x02\x01\x02\x42\x01n\x38\x03\x3a\x00\x7a\x01u\x3a\x03\xac\x02\x04";
    decoded *d = decode_as(&onx_desc_tensor, bytes, sizeof bytes - 1);
    REQUIRE(d->status == ONX_OK);
    int64_t out[5] = {0};
    CHECK(onx_tensor_read((onx_tensor *)d->msg, out, sizeof out, NULL) == ONX_OK);
    CHECK(out[0] == 1 && out[1] == 2 && out[2] == 3 && out[3] == 300 && out[4] == 4);
    onx_msg_touch(d->msg);
    test_bytes again = encoded(d->msg);
    static const char wanted[] =
        "\x08\x05\x10\x07\x3a\x06\x01\x02\x03\xac\x02\x04\x42\x01n\x7a\x01u";
    CHECK(is_bytes(&again, wanted, sizeof wanted - 1));
    test_bytes_free(&again);
    decoded_free(d);
    /* dims packed, as proto2 readers accept them; floats of an attribute too. */
    d = decode_as(&onx_desc_tensor, "\x0a\x03\x02\xac\x02\x08\x05", 7);
    REQUIRE(d->status == ONX_OK);
    onx_tensor *t = (onx_tensor *)d->msg;
    CHECK(t->dims.n == 3 && t->dims.v[0] == 2 && t->dims.v[1] == 300 && t->dims.v[2] == 5);
    decoded_free(d);
    d = decode_as(&onx_desc_attr, "\x3a\x08\0\0\x80\x3f\0\0\0\x40\x3d\0\0\x40\x40", 15);
    REQUIRE(d->status == ONX_OK);
    onx_attr *a = (onx_attr *)d->msg;
    CHECK(a->floats.n == 3 && a->floats.v[0] == 1.0f && a->floats.v[1] == 2.0f &&
          a->floats.v[2] == 3.0f);
    decoded_free(d);
}

/* ── What an error says ── */

TEST(errors_name_the_place) {
    test_bytes t = {NULL, 0, 0}, a = {NULL, 0, 0}, n = {NULL, 0, 0}, g = {NULL, 0, 0},
               m = {NULL, 0, 0};
    test_put_str(&t, 8, "weights");
    test_put_tag(&t, 9, TEST_LEN);
    test_put_varint(&t, 1000);
    test_put(&t, "short", 5);
    test_put_str(&a, 1, "value");
    test_put_message(&a, 5, &t);
    test_put_message(&n, 5, &a);
    test_bytes first = {NULL, 0, 0};
    test_put_str(&first, 4, "Relu");
    test_put_message(&g, 1, &first);
    test_put_message(&g, 1, &n);
    test_put_int(&m, 1, 8);
    test_put_message(&m, 7, &g);
    decoded *d = decode_as(&onx_desc_model, m.data, m.size);
    CHECK_EQ(d->status, ONX_MALFORMED);
    CHECK_STR(d->diag.place, "graph.node[1].attribute[0].t.raw_data");
    CHECK_STR(d->diag.message, "a value of 1000 bytes is declared, but only 5 are left");
    CHECK_EQ(d->diag.offset, m.size - 7); /* of the length, before the five bytes */
    char text[1024];
    onx_diag_format(&d->diag, text, sizeof text);
    CHECK(strstr(text, "graph.node[1].attribute[0].t.raw_data (byte ") != NULL);
    decoded_free(d);
    d = decode_as(&onx_desc_model, "\x08\x07\x3a\x02\x0f\x00", 6);
    CHECK_EQ(d->status, ONX_MALFORMED);
    CHECK_STR(d->diag.place, "graph");
    CHECK_EQ(d->diag.offset, 4);
    decoded_free(d);
    d = decode_as(&onx_desc_model, "\x08\x07\x07", 3);
    CHECK_EQ(d->status, ONX_MALFORMED);
    CHECK_STR(d->diag.place, "ModelProto");
    CHECK_EQ(d->diag.offset, 2);
    decoded_free(d);
    test_bytes_free(&m);
}

TEST(empty_input) {
    for (size_t t = 0; t < ONX_COUNT(tables); t++) {
        decoded *d = decode_as(tables[t], "", 0);
        CHECK_EQ(d->status, ONX_OK);
        test_bytes out = encoded(d->msg);
        CHECK_EQ(out.size, 0);
        onx_msg_touch(d->msg);
        test_bytes again = encoded(d->msg);
        CHECK_EQ(again.size, 0);
        test_bytes_free(&out);
        test_bytes_free(&again);
        decoded_free(d);
    }
}

TEST_MAIN(E(tables_are_in_order) E(varints) E(varints_too_long) E(bad_tags) E(groups_unmatched)
              E(groups_are_kept) E(premature_end_of_every_field) E(premature_end_of_packed_lists)
                  E(premature_end_inside_messages) E(lengths_of_every_field) E(nested_messages)
                      E(nested_messages_allowed) E(nested_groups) E(wrong_wire_type_is_unknown)
                          E(last_value_wins) E(messages_merge) E(last_of_a_oneof_wins)
                              E(enums_out_of_range) E(negative_numbers) E(lists_in_pieces)
                                  E(errors_name_the_place) E(empty_input))
