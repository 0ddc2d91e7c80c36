/* test_hostile.c: files that are damaged, lie, or want too much.
 *
 * Cut at every byte, every bit turned over, payloads that do not fit their shapes, sizes that
 * overflow, names that attack whoever prints them, and files made to take memory or time out of
 * proportion. ONX_HOSTILE=all takes all small files of the test data instead of 200. */
#define _XOPEN_SOURCE 700
#include "support.h"
#include "test.h"

#include "base/utf8.h"

#include <math.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* ── Damaged files ── */

static int discard(void *user, const void *data, size_t size) {
    (void)user, (void)data, (void)size;
    return 0;
}

/* Work with whatever it is: nothing may go wrong that is not said. */
static void use(onx_model *model) {
    void *out = NULL;
    size_t size = 0;
    CHECK(test_links(model));
    CHECK(onx_model_save_memory(model, NULL, &out, &size, NULL) == ONX_OK);
    onx_buffer_free(NULL, out, size);
    const onx_msg *m;
    for (onx_walk w = onx_walk_begin(model); (m = onx_walk_next(&w));) {
        size_t bytes;
        const onx_tensor *t = (const onx_tensor *)m;
        if (m->desc != &onx_desc_tensor || onx_tensor_check(t, NULL) ||
            onx_tensor_bytes(t, &bytes, NULL))
            continue;
        onx_str view = onx_tensor_view(t);
        CHECK(!view.data || view.size == bytes);
    }
}

static onx_status load_bytes(const char *data, size_t size, bool and_use) {
    char *exact = malloc(size ? size : 1); /* reading past its end is caught */
    onx_model *model = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_PROTOBUF;
    if (size) memcpy(exact, data, size);
    onx_status status = onx_model_load_memory(NULL, exact, size, &options, &model, &diag);
    if (status && !(diag.status == status && diag.message[0]))
        test_check(false, "a failure says what it is", __FILE__, __LINE__);
    if (!status && and_use) use(model);
    onx_model_free(model);
    free(exact);
    return status;
}

/* Where fields of the root end: what is cut there cannot be known to be cut. */
static bool *field_ends(const test_bytes *file) {
    bool *ends = calloc(file->size + 1, 1);
    ends[0] = true;
    for (const char *p = file->data, *end = p + file->size; p < end;) {
        uint64_t tag = 0, n = 0;
        p += onx_varint_get(p, end, &tag);
        if ((tag & 7) == TEST_I64) n = 8;
        if ((tag & 7) == TEST_I32) n = 4;
        if ((tag & 7) == TEST_VARINT || (tag & 7) == TEST_LEN) {
            uint64_t v = 0;
            p += onx_varint_get(p, end, &v);
            if ((tag & 7) == TEST_LEN) n = v;
        }
        p += n;
        ends[p - file->data] = true;
    }
    return ends;
}

static size_t cuts, accepted_cuts, flips, accepted_flips;

static void cut_everywhere(const test_bytes *file) {
    bool *ends = field_ends(file);
    for (size_t n = 0; n <= file->size; n++) {
        onx_status status = load_bytes(file->data, n, ends[n]);
        if (!ends[n] && status != ONX_MALFORMED) {
            test_check(false, "a file that is cut is refused", __FILE__, __LINE__);
            fprintf(stderr, "    cut at %zu of %zu: %s\n", n, file->size, onx_status_name(status));
        }
        accepted_cuts += status == ONX_OK && n < file->size;
    }
    test_checks += file->size;
    cuts += file->size;
    free(ends);
}

static void flip_everything(const test_bytes *file) {
    for (size_t i = 0; i < file->size; i++)
        for (int bit = 0; bit < 8; bit++) {
            file->data[i] = (char)(file->data[i] ^ 1 << bit);
            accepted_flips += load_bytes(file->data, file->size, true) == ONX_OK;
            file->data[i] = (char)(file->data[i] ^ 1 << bit);
        }
    test_checks += file->size * 8;
    flips += file->size * 8;
}

/* 200 files of up to `few` bytes, spread over all there are; or all of up to `most`. */
static void each_small_file(void (*run)(const test_bytes *file), size_t few, size_t most) {
    const char *all = getenv("ONX_HOSTILE");
    if (!test_data()) SKIP("ONX_DATA is not set");
    test_files files = test_files_find(test_data(), ".onnx");
    size_t chosen = 0, wanted = all ? files.count : 200, step = all ? 1 : 5;
    for (size_t i = 0; i < files.count && chosen < wanted; i += step) {
        test_bytes file = test_file_read(files.paths[i]);
        if (file.size <= (all ? most : few)) {
            size_t before = test_failures;
            run(&file);
            if (test_failures > before) fprintf(stderr, "    %s\n", files.paths[i]);
            chosen++;
        }
        test_bytes_free(&file);
    }
    CHECK(all ? chosen > 1000 : chosen == 200);
    printf("    %s: %zu files\n", test_current, chosen);
    test_files_free(&files);
}

TEST(cut_at_every_byte) {
    each_small_file(cut_everywhere, 1500, 16 << 10);
    test_bytes rich = test_model_rich_bytes();
    cut_everywhere(&rich);
    test_bytes_free(&rich);
    printf("    cuts: %zu, %zu at the end of a field of the model, where it cannot be known\n",
           cuts, accepted_cuts);
}

TEST(every_bit_flipped) {
    each_small_file(flip_everything, 300, 4 << 10);
    printf("    flips: %zu, %zu give another model\n", flips, accepted_flips);
}

/* Text is read to its end: a cut is always seen, or what is missing was blank. */
TEST(cut_text) {
    static const onx_format formats[] = {ONX_FORMAT_TEXT, ONX_FORMAT_JSON, ONX_FORMAT_TEXTPROTO};
    onx_model *model = test_model_rich(NULL);
    for (size_t k = 0; k < ONX_COUNT(formats); k++) {
        onx_save_options save = ONX_INIT(onx_save_options);
        onx_load_options load = ONX_INIT(onx_load_options);
        void *text = NULL;
        size_t size = 0, accepted = 0;
        save.format = load.format = formats[k];
        REQUIRE(onx_model_save_memory(model, &save, &text, &size, NULL) == ONX_OK);
        size_t step = getenv("ONX_HOSTILE") ? 1 : 5;
        for (size_t n = 0; n < size; n += step) {
            onx_model *part = NULL;
            onx_diag diag = ONX_INIT(onx_diag);
            char *exact = malloc(n + 1);
            memcpy(exact, text, n);
            onx_status status = onx_model_load_memory(NULL, exact, n, &load, &part, &diag);
            accepted += status == ONX_OK;
            CHECK(status == ONX_OK || status == ONX_MALFORMED || status == ONX_INVALID);
            if (status) CHECK(diag.place[0] && diag.message[0]);
            onx_model_free(part);
            free(exact);
        }
        /* Protobuf text has no closing of its own: it may end after any field of the model. */
        CHECK(accepted < (formats[k] == ONX_FORMAT_TEXTPROTO ? 100 : 40));
        printf("    %s: %zu cuts, %zu give a model\n", onx_format_name(formats[k]), size, accepted);
        onx_buffer_free(NULL, text, size);
    }
    onx_model_free(model);
}

/* ── Shapes and payloads that do not agree ── */

/* Entries that `count` elements take in their typed list, and its number in TensorProto. */
static size_t typed_entries(onx_dtype dtype, size_t count, uint32_t *number, unsigned *width) {
    *width = 0; /* varints */
    switch (dtype) {
    case ONX_DTYPE_F32: return *number = 4, *width = 4, count;
    case ONX_DTYPE_C64: return *number = 4, *width = 4, 2 * count;
    case ONX_DTYPE_F64: return *number = 10, *width = 8, count;
    case ONX_DTYPE_C128: return *number = 10, *width = 8, 2 * count;
    case ONX_DTYPE_I64: return *number = 7, count;
    case ONX_DTYPE_U32:
    case ONX_DTYPE_U64: return *number = 11, count;
    case ONX_DTYPE_U4:
    case ONX_DTYPE_I4:
    case ONX_DTYPE_F4E2M1: return *number = 5, (count + 1) / 2;
    case ONX_DTYPE_U2:
    case ONX_DTYPE_I2: return *number = 5, (count + 3) / 4;
    default: return *number = 5, count;
    }
}

static test_bytes tensor_head(onx_dtype dtype, size_t rank, const int64_t *dims) {
    test_bytes t = {NULL, 0, 0};
    for (size_t i = 0; i < rank; i++) test_put_int(&t, 1, (uint64_t)dims[i]);
    test_put_int(&t, 2, (uint64_t)dtype);
    test_put_str(&t, 8, "T");
    return t;
}

/* Every way to ask for the data says the same; and nothing is read that is not there. */
static void check_tensor(const onx_tensor *t, bool right, size_t bytes) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = onx_tensor_check(t, &diag);
    if (!CHECK((status == ONX_OK) == right))
        fprintf(stderr, "    %s[%zu]: %s\n", onx_dtype_name(onx_tensor_dtype(t)), bytes,
                diag.message);
    if (status) CHECK(status == ONX_INVALID && strstr(diag.place, "'T'"));
    char *out = malloc(bytes + 1);
    out[bytes] = 'x';
    status = onx_tensor_read(t, out, bytes, &diag);
    CHECK((status == ONX_OK) == right && out[bytes] == 'x');
    CHECK(onx_tensor_read(t, out, bytes + 1, &diag) != ONX_OK);
    free(out);
    onx_str view = onx_tensor_view(t);
    CHECK(right ? !view.data || view.size == bytes : view.data == NULL);
    float *floats =
        malloc(sizeof *floats * (bytes * 8 + 1)); /* room for as many as there could be */
    uint64_t count = 0;
    if (onx_tensor_count(t, &count, NULL) == ONX_OK && count <= bytes * 8) {
        status = onx_tensor_read_as(t, ONX_DTYPE_F32, floats, (size_t)count * 4, &diag);
        CHECK(status == ONX_OK ? right : true);
    }
    free(floats);
}

static void with_tensor(const test_bytes *b, bool right, size_t bytes) {
    onx_data *data = NULL;
    char *exact = malloc(b->size + 1);
    memcpy(exact, b->data, b->size);
    if (CHECK(onx_data_load_memory(NULL, exact, b->size, ONX_DATA_TENSOR, &data, NULL) == ONX_OK)) {
        onx_tensor *t = onx_data_tensor(data);
        check_tensor(t, right, bytes);
        /* Changing the storage form works for the right ones, and keeps them right. */
        CHECK((onx_tensor_store_raw(t, NULL) == ONX_OK) == right);
        check_tensor(t, right, bytes);
        CHECK((onx_tensor_store_typed(t, NULL) == ONX_OK) == right);
        check_tensor(t, right, bytes);
        onx_data_free(data);
    }
    free(exact);
}

static const int64_t shapes[][3] = {{2, 3, 1}, {1, 1, 1}, {5, 1, 1},
                                    {7, 3, 1}, {0, 4, 1}, {3, 0, 0}};

TEST(payloads_of_every_type) {
    char zeros[4096] = {0};
    size_t cases = 0;
    for (int d = 1; d < ONX_DTYPE_COUNT; d++) {
        onx_dtype dtype = (onx_dtype)d;
        for (size_t s = 0; s < ONX_COUNT(shapes) && dtype != ONX_DTYPE_STRING; s++) {
            size_t count = (size_t)(shapes[s][0] * shapes[s][1] * shapes[s][2]), bytes = 0;
            uint32_t number;
            unsigned width;
            size_t entries = typed_entries(dtype, count, &number, &width);
            CHECK(onx_dtype_bytes(dtype, count, &bytes));
            size_t raw[] = {0, bytes - 1, bytes, bytes + 1, bytes * 2, bytes + 8};
            size_t typed[] = {0, entries - 1, entries, entries + 1, entries * 2, count};
            for (size_t k = 0; k < 6; k++) {
                if (raw[k] < sizeof zeros) {
                    test_bytes t = tensor_head(dtype, 3, shapes[s]);
                    test_put_bytes(&t, 9, zeros, raw[k]);
                    with_tensor(&t, raw[k] == bytes, bytes);
                    test_bytes_free(&t);
                }
                if (typed[k] < 500) {
                    test_bytes t = tensor_head(dtype, 3, shapes[s]);
                    test_put_bytes(&t, number, zeros, typed[k] * (width ? width : 1));
                    with_tensor(&t, typed[k] == entries, bytes);
                    test_bytes_free(&t);
                }
                cases += 2;
            }
        }
    }
    printf("    %zu cases\n", cases);
}

/* Lists of the wrong kind, two payloads at once, strings as raw bytes. */
TEST(payloads_in_the_wrong_place) {
    static const uint32_t lists[] = {4, 5, 6, 7, 9, 10, 11};
    const int64_t dims[] = {2};
    for (int d = 1; d < ONX_DTYPE_COUNT; d++)
        for (size_t k = 0; k < ONX_COUNT(lists); k++) {
            uint32_t number;
            unsigned width;
            size_t entries = typed_entries((onx_dtype)d, 2, &number, &width), bytes = 0;
            if (d == ONX_DTYPE_STRING) number = 6;
            onx_dtype_bytes((onx_dtype)d, 2, &bytes);
            if (lists[k] == number || lists[k] == 9) continue;
            test_bytes t = tensor_head((onx_dtype)d, 1, dims);
            test_put_bytes(&t, lists[k], "12345678ABCDEFGH",
                           lists[k] == 4    ? 8
                           : lists[k] == 10 ? 16
                                            : 2);
            with_tensor(&t, false, bytes);
            if (d != ONX_DTYPE_STRING) { /* the right one is there too: still two */
                test_put_bytes(&t, number, "12345678ABCDEFGH12345678ABCDEFGH",
                               entries * (width ? width : 1));
                with_tensor(&t, false, bytes);
            }
            test_bytes_free(&t);
        }
    test_bytes t = tensor_head(ONX_DTYPE_STRING, 1, dims);
    test_put_bytes(&t, 9, "16 bytes of text", 16); /* as pointers they would lead anywhere */
    onx_data *data = NULL;
    onx_str s;
    REQUIRE(onx_data_load_memory(NULL, t.data, t.size, ONX_DATA_TENSOR, &data, NULL) == ONX_OK);
    CHECK(onx_tensor_check(onx_data_tensor(data), NULL) == ONX_INVALID);
    CHECK(onx_tensor_view(onx_data_tensor(data)).data == NULL);
    CHECK(onx_tensor_string_at(onx_data_tensor(data), 0, &s, NULL) != ONX_OK);
    onx_data_free(data);
    test_bytes_free(&t);
}

TEST(dimensions_that_overflow) {
    static const struct {
        size_t rank;
        int64_t dims[4];
        bool right;
    } cases[] = {
        {3, {4194305, 4194305, 211106198978564}, false}, /* 4, modulo 2^64 */
        {2, {(int64_t)1 << 32, (int64_t)1 << 32}, false},
        {2, {INT64_MAX, 2}, false},
        {3, {(int64_t)1 << 62, 2, 2}, false},
        {2, {INT64_MIN, 2}, false},
        {1, {INT64_MIN}, false},
        {1, {INT64_MAX}, false},
        {2, {-1, -1}, false},
        {2, {-1, 1}, false},
        {3, {0, INT64_MAX, INT64_MAX}, false}, /* nothing, but the others overflow all the same */
        {3, {0, -1, 3}, false},
        {2, {0, INT64_MAX}, true},
        {4, {1, 1, 1, 0}, true},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++)
        for (int d = 1; d < ONX_DTYPE_COUNT; d++) {
            test_heap heap = {0};
            onx_context *ctx = test_context(&heap, NULL);
            test_bytes t = tensor_head((onx_dtype)d, cases[i].rank, cases[i].dims);
            onx_data *data = NULL;
            if (!cases[i].right) test_put_bytes(&t, 9, "12345678", 8);
            if (CHECK(onx_data_load_memory(ctx, t.data, t.size, ONX_DATA_TENSOR, &data, NULL) ==
                      ONX_OK)) {
                onx_tensor *tensor = onx_data_tensor(data);
                uint64_t count;
                size_t bytes;
                char out[8];
                bool fits = cases[i].right || (cases[i].rank == 1 && cases[i].dims[0] == INT64_MAX);
                CHECK((onx_tensor_check(tensor, NULL) == ONX_OK) == cases[i].right);
                CHECK((onx_tensor_count(tensor, &count, NULL) == ONX_OK) == fits);
                if (!cases[i].right) {
                    CHECK(onx_tensor_read(tensor, out, sizeof out, NULL) != ONX_OK);
                    CHECK(onx_tensor_read_as(tensor, ONX_DTYPE_F32, out, sizeof out, NULL) !=
                          ONX_OK);
                    CHECK(onx_tensor_store_raw(tensor, NULL) != ONX_OK);
                    CHECK(onx_tensor_store_typed(tensor, NULL) != ONX_OK);
                    CHECK(onx_dtype_bytes((onx_dtype)d, UINT64_MAX, &bytes) == false ||
                          onx_dtype_bits((onx_dtype)d) <= 8);
                }
                onx_data_free(data);
            }
            CHECK(heap.peak < 100000); /* nothing was made to the measure of the shape */
            onx_context_free(ctx);
            test_bytes_free(&t);
        }
}

TEST(ranks) {
    static const size_t ranks[] = {0, 1, 64, 1024, 1025, 100000, 1000000};
    for (size_t i = 0; i < ONX_COUNT(ranks); i++)
        for (int packed = 0; packed < 2; packed++) {
            test_bytes t = {NULL, 0, 0}, dims = {NULL, 0, 0};
            for (size_t k = 0; k < ranks[i]; k++) {
                if (packed)
                    test_put_varint(&dims, 1);
                else
                    test_put_int(&t, 1, 1);
            }
            if (packed) test_put_bytes(&t, 1, dims.data, dims.size);
            test_put_int(&t, 2, ONX_DTYPE_U8);
            test_put_bytes(&t, 9, "x", 1);
            onx_data *data = NULL;
            onx_diag diag = ONX_INIT(onx_diag);
            onx_status status =
                onx_data_load_memory(NULL, t.data, t.size, ONX_DATA_TENSOR, &data, &diag);
            CHECK_EQ(status, ranks[i] <= 1024 ? ONX_OK : ONX_LIMIT);
            if (!status) CHECK(onx_tensor_check(onx_data_tensor(data), NULL) == ONX_OK);
            onx_data_free(data);
            test_bytes_free(&t);
            test_bytes_free(&dims);
        }
}

/* Payloads start anywhere in a file: reading must not assume alignment. */
TEST(unaligned_payloads) {
    for (size_t shift = 0; shift < 16; shift++) {
        char doc[17] = "0123456789abcdef", *padded;
        const int64_t dims[] = {2};
        static const double numbers[] = {1.5, -2.5};
        test_bytes t = {NULL, 0, 0}, head = tensor_head(ONX_DTYPE_F64, 1, dims);
        test_put_bytes(&t, 12, doc, shift);
        test_put(&t, head.data, head.size);
        test_put_bytes(&t, shift % 2 ? 9 : 10, numbers, sizeof numbers);
        padded = malloc(t.size);
        memcpy(padded, t.data, t.size);
        onx_data *data = NULL;
        double out[2] = {0, 0};
        float as[2] = {0, 0};
        REQUIRE(onx_data_load_memory(NULL, padded, t.size, ONX_DATA_TENSOR, &data, NULL) == ONX_OK);
        CHECK(onx_tensor_read(onx_data_tensor(data), out, sizeof out, NULL) == ONX_OK);
        CHECK(out[0] == 1.5 && out[1] == -2.5);
        CHECK(onx_tensor_read_as(onx_data_tensor(data), ONX_DTYPE_F32, as, sizeof as, NULL) ==
              ONX_OK);
        CHECK(as[0] == 1.5f && as[1] == -2.5f);
        onx_data_free(data);
        free(padded);
        test_bytes_free(&t);
        test_bytes_free(&head);
    }
}

/* Bytes of booleans are 0 or 1 for whoever reads them. */
TEST(booleans) {
    const int64_t dims[] = {4};
    test_bytes t = tensor_head(ONX_DTYPE_BOOL, 1, dims);
    test_put_bytes(&t, 9, "\0\2\x80\xff", 4);
    onx_data *data = NULL;
    unsigned char out[4] = {9, 9, 9, 9};
    REQUIRE(onx_data_load_memory(NULL, t.data, t.size, ONX_DATA_TENSOR, &data, NULL) == ONX_OK);
    CHECK(onx_tensor_read(onx_data_tensor(data), out, 4, NULL) == ONX_OK);
    CHECK(out[0] == 0 && out[1] == 1 && out[2] == 1 && out[3] == 1);
    onx_data_free(data);
    test_bytes_free(&t);
}

/* ── Names ── */

/* What is printed is one line of text: no control characters, no half characters, no format that
 * was obeyed. */
static bool is_clean(const char *s, size_t size) {
    const char *end = memchr(s, '\0', size);
    if (!end) return false;
    for (const char *p = s; p < end;) {
        size_t n = onx_utf8_size(p, end);
        if (n == 0 || (unsigned char)*p < 0x20 || *p == 0x7f) return false;
        if (n == 2 && (unsigned char)p[0] == 0xc2 && (unsigned char)p[1] < 0xa0)
            return false;                                              /* C1 controls */
        if (n == 3 && memcmp(p, "\xe2\x80\xae", 3) == 0) return false; /* turns the line around */
        p += n;
    }
    return true;
}

static void check_diag(const onx_diag *diag, const char *what, size_t name) {
    bool clean = is_clean(diag->message, sizeof diag->message) &&
                 is_clean(diag->place, sizeof diag->place) &&
                 is_clean(diag->hint, sizeof diag->hint) && is_clean(diag->file, sizeof diag->file);
    char text[2048];
    if (!CHECK(clean && diag->message[0])) {
        fprintf(stderr, "    %s, name %zu\n", what, name);
    }
    CHECK(onx_diag_format(diag, text, sizeof text) < sizeof text);
    CHECK(onx_diag_format(diag, text, 10) >= 9 && strlen(text) == 9);
}

#define NAME(literal)                                                                              \
    { literal, sizeof(literal) - 1 }
static const onx_str bad_names[] = {
    NAME("%n%s%n%999999d%s"),
    NAME("nul\0inside"),
    NAME("\xff\xfe\x80 not UTF-8"),
    NAME("\x1b[2J\x1b]0;owned\x07\r\n"),
    NAME("\xc2\x9b"
         "31m, a C1 control"),
    NAME("\xed\xa0\x80 surrogate"),
    NAME("\xf0\x9f\x98"),
    NAME("\xe2\x80\xae right to left"),
    NAME("\\\"'`$(reboot)<script>"),
};

/* Long names are cut, perhaps in the middle of a character. */
static onx_str long_name(size_t shift) {
    static char name[60000];
    size_t n = 0;
    for (size_t i = 0; i < shift; i++) name[n++] = 'a';
    while (n + 3 < sizeof name) memcpy(name + n, "\xe2\x82\xac", 3), n += 3;
    return (onx_str){name, n};
}

static onx_str name_at(size_t i) {
    return i < ONX_COUNT(bad_names) ? bad_names[i] : long_name(i - ONX_COUNT(bad_names));
}
enum { NAMES = ONX_COUNT(bad_names) + 4 };

static test_bytes model_of_graph(test_bytes *graph) {
    test_bytes m = {NULL, 0, 0};
    test_put_int(&m, 1, 8);
    test_put_message(&m, 7, graph);
    return m;
}

static void put_name(test_bytes *b, uint32_t number, onx_str name) {
    test_put_bytes(b, number, name.data, name.size);
}

TEST(names_in_messages) {
    for (size_t i = 0; i < NAMES; i++) {
        onx_str name = name_at(i);
        onx_diag diag = ONX_INIT(onx_diag);
        onx_model *model = NULL;
        test_bytes g = {NULL, 0, 0}, t = {NULL, 0, 0}, n1 = {NULL, 0, 0}, n2 = {NULL, 0, 0},
                   a = {NULL, 0, 0};
        put_name(&t, 8, name); /* no payload, no type */
        test_put_int(&t, 1, 3);
        test_put_message(&g, 5, &t);
        put_name(&n1, 1, name); /* two nodes that need each other */
        test_put_str(&n1, 2, "other");
        put_name(&n1, 3, name);
        put_name(&n1, 4, name);
        put_name(&a, 1, name);
        test_put_message(&n1, 5, &a);
        test_put_str(&n2, 1, "other");
        test_put_str(&n2, 2, "third");
        put_name(&n2, 3, name);
        test_put_str(&n1, 1, "third");
        put_name(&n2, 4, name);
        test_put_message(&g, 1, &n1);
        test_put_message(&g, 1, &n2);
        put_name(&g, 2, name);
        test_bytes m = model_of_graph(&g);
        REQUIRE(onx_model_load_memory(NULL, m.data, m.size, NULL, &model, &diag) == ONX_OK);
        onx_graph *graph = onx_model_graph(model);
        onx_tensor *tensor = onx_graph_initializer_first(graph);
        CHECK(onx_tensor_check(tensor, &diag) == ONX_INVALID);
        check_diag(&diag, "tensor", i);
        CHECK(onx_graph_sort(graph, &diag) == ONX_INVALID);
        check_diag(&diag, "cycle", i);
        CHECK(onx_node_remove(onx_graph_node_first(graph), &diag) == ONX_CONFLICT);
        check_diag(&diag, "remove", i);
        CHECK(onx_graph_remove_initializer(graph, onx_graph_input(graph, 0), &diag) == ONX_USAGE);
        onx_value *v = onx_node_output(onx_graph_node_first(graph), 0);
        CHECK(onx_value_rename(v, "third", &diag) == ONX_CONFLICT);
        check_diag(&diag, "rename", i);
        onx_value *named = onx_node_input(onx_graph_node_first(graph), 0);
        CHECK(onx_value_rename(named, "third", &diag) == ONX_CONFLICT);
        check_diag(&diag, "rename", i);
        CHECK(onx_graph_remove_initializer(graph, named, &diag) == ONX_CONFLICT);
        check_diag(&diag, "initializer", i);
        onx_graph_add_op(graph, "Add", onx_value_name(named), v, v);
        if (onx_model_error(model)) check_diag(onx_model_error(model), "builder", i);
        CHECK(onx_model_print(model, &(onx_writer){NULL, discard}, NULL, &diag) == ONX_OK);
        onx_model *copy = NULL;
        CHECK(onx_model_clone(model, &copy, NULL) == ONX_OK);
        CHECK(onx_model_set_doc(copy, "x") == ONX_OK && !onx_model_equal(model, copy, &diag));
        check_diag(&diag, "differ", i);
        onx_model_free(copy);
        onx_model_free(model);
        test_bytes_free(&m);
    }
}

TEST(names_in_paths) {
    char folder[256];
    test_folder_new(folder);
    for (size_t i = 0; i < NAMES; i++) {
        onx_str name = name_at(i);
        onx_diag diag = ONX_INIT(onx_diag);
        onx_model *model = NULL;
        const int64_t dims[] = {2};
        test_bytes g = {NULL, 0, 0}, t = tensor_head(ONX_DTYPE_F32, 1, dims), e = {NULL, 0, 0};
        put_name(&t, 8, name);
        test_put_str(&e, 1, "location");
        put_name(&e, 2, name);
        test_put_message(&t, 13, &e);
        test_put_int(&t, 14, 1);
        test_put_message(&g, 5, &t);
        test_bytes m = model_of_graph(&g);
        test_file_write(test_path(folder, "m.onnx"), m.data, m.size);
        CHECK(onx_model_load(NULL, test_path(folder, "m.onnx"), NULL, &model, &diag) != ONX_OK);
        check_diag(&diag, "external", i);
        test_bytes_free(&m);
        if (memchr(name.data, 0, name.size)) continue;
        test_bytes whole = {NULL, 0, 0};
        test_put(&whole, folder, strlen(folder));
        test_put(&whole, "/missing/", 9);
        test_put(&whole, name.data, name.size);
        test_put(&whole, "", 1);
        const char *path = whole.data;
        CHECK(onx_model_load(NULL, path, NULL, &model, &diag) != ONX_OK);
        check_diag(&diag, "path", i);
        CHECK(onx_data_load(NULL, path, ONX_DATA_NONE, NULL, &diag) == ONX_USAGE);
        model = onx_model_new(NULL, "m", 20);
        CHECK(onx_model_save(model, path, NULL, &diag) != ONX_OK);
        check_diag(&diag, "save", i);
        onx_model_free(model);
        test_bytes_free(&whole);
    }
    test_folder_remove(folder);
}

/* Text with such names in it, whole and broken. */
TEST(names_in_text) {
    static const struct {
        onx_format format;
        const char *before, *after;
    } texts[] = {
        {ONX_FORMAT_JSON, "{\"graph\": {\"", "\": 5}}"},
        {ONX_FORMAT_JSON, "{\"irVersion\": \"", "\"}"},
        {ONX_FORMAT_TEXTPROTO, "graph { ", " }"},
        {ONX_FORMAT_TEXTPROTO, "ir_version: ", ""},
        {ONX_FORMAT_TEXTPROTO, "graph { node { op_type: \"", "\" input: 5 } }"},
        {ONX_FORMAT_TEXT, "<ir_version: 8, opset_import: [\"\" : 20]>\ng (float[N] ",
         ") => (float[N] y) { y = Relu(x) "},
        {ONX_FORMAT_TEXT, "<ir_version: 8, opset_import: [\"", "\" : x]>"},
        {ONX_FORMAT_TEXT, "<", ""},
    };
    for (size_t i = 0; i < NAMES; i++)
        for (size_t k = 0; k < ONX_COUNT(texts); k++) {
            onx_diag diag = ONX_INIT(onx_diag);
            onx_model *model = NULL;
            onx_load_options options = ONX_INIT(onx_load_options);
            test_bytes b = {NULL, 0, 0};
            test_put(&b, texts[k].before, strlen(texts[k].before));
            test_put(&b, name_at(i).data, name_at(i).size);
            test_put(&b, texts[k].after, strlen(texts[k].after));
            options.format = texts[k].format;
            if (onx_model_load_memory(NULL, b.data, b.size, &options, &model, &diag))
                check_diag(&diag, texts[k].before, i);
            onx_model_free(model);
            test_bytes_free(&b);
        }
}

TEST(long_names) {
    static const size_t sizes[] = {0, 1000, 65536, 65537, (size_t)16 << 20};
    char *name = malloc(sizes[4]);
    memset(name, 'n', sizes[4]);
    for (size_t i = 0; i < ONX_COUNT(sizes); i++) {
        test_bytes g = {NULL, 0, 0}, n = {NULL, 0, 0}, d = {NULL, 0, 0};
        test_put_bytes(&n, 2, name, sizes[i]);
        test_put_message(&g, 1, &n);
        test_bytes m = model_of_graph(&g);
        onx_model *model = NULL;
        onx_diag diag = ONX_INIT(onx_diag);
        CHECK_EQ(onx_model_load_memory(NULL, m.data, m.size, NULL, &model, &diag),
                 sizes[i] <= 65536 ? ONX_OK : ONX_LIMIT);
        if (!model) check_diag(&diag, "long", i);
        onx_model_free(model);
        model = NULL;
        test_put_bytes(&d, 6, name, sizes[i]); /* prose may be long */
        CHECK_EQ(onx_model_load_memory(NULL, d.data, d.size, NULL, &model, &diag), ONX_OK);
        onx_model_free(model);
        test_bytes_free(&m);
        test_bytes_free(&d);
    }
    free(name);
}

/* ── Proportion ── */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A file of about n small things. */
typedef test_bytes family_fn(size_t n);

static test_bytes repeat_in_graph(uint32_t number, const char *bytes, size_t size, size_t n) {
    test_bytes g = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) test_put_bytes(&g, number, bytes, size);
    return model_of_graph(&g);
}
static test_bytes empty_nodes(size_t n) {
    return repeat_in_graph(1, "", 0, n);
}
static test_bytes empty_initializers(size_t n) {
    return repeat_in_graph(5, "", 0, n);
}
static test_bytes empty_inputs(size_t n) {
    return repeat_in_graph(11, "", 0, n);
}
static test_bytes empty_outputs(size_t n) {
    return repeat_in_graph(12, "", 0, n);
}
static test_bytes empty_annotations(size_t n) {
    return repeat_in_graph(14, "", 0, n);
}
static test_bytes empty_sparse(size_t n) {
    return repeat_in_graph(15, "\x0a\0", 2, n);
}
static test_bytes empty_attributes(size_t n) {
    test_bytes node = {NULL, 0, 0}, g = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) test_put_bytes(&node, 5, "", 0);
    test_put_message(&g, 1, &node);
    return model_of_graph(&g);
}
static test_bytes empty_subgraphs(size_t n) {
    test_bytes attr = {NULL, 0, 0}, node = {NULL, 0, 0}, g = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) test_put_bytes(&attr, 11, "", 0);
    test_put_message(&node, 5, &attr);
    test_put_message(&g, 1, &node);
    return model_of_graph(&g);
}
static test_bytes empty_names(size_t n) {
    test_bytes node = {NULL, 0, 0}, g = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) test_put_bytes(&node, 1 + i % 2, "", 0);
    test_put_message(&g, 1, &node);
    return model_of_graph(&g);
}
static test_bytes short_names(size_t n) {
    test_bytes node = {NULL, 0, 0}, g = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) test_put_bytes(&node, 1 + i % 2, "x", 1);
    test_put_message(&g, 1, &node);
    return model_of_graph(&g);
}
static test_bytes empty_functions(size_t n) {
    test_bytes m = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) test_put_bytes(&m, 25, "", 0);
    return m;
}
static test_bytes empty_metadata(size_t n) {
    test_bytes m = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) test_put_bytes(&m, 14, "", 0);
    return m;
}
static test_bytes packed_ints(size_t n) {
    test_bytes attr = {NULL, 0, 0}, node = {NULL, 0, 0}, g = {NULL, 0, 0}, ints = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) test_put_byte(&ints, 1);
    test_put_message(&attr, 8, &ints);
    test_put_message(&node, 5, &attr);
    test_put_message(&g, 1, &node);
    return model_of_graph(&g);
}
static test_bytes unknown_between(size_t n) {
    test_bytes m = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) {
        test_put_int(&m, 99, 1);
        test_put_int(&m, 1, 8);
    }
    return m;
}
/* An attribute's tensor that comes in n parts, each with a field nobody knows. */
static test_bytes merged_unknown(size_t n) {
    test_bytes attr = {NULL, 0, 0}, node = {NULL, 0, 0}, g = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++)
        test_put_bytes(&attr, 5,
                       "\x7d"
                       "1234",
                       5);
    test_put_message(&node, 5, &attr);
    test_put_message(&g, 1, &node);
    return model_of_graph(&g);
}
/* The same with a piece of its payload in each part. */
static test_bytes merged_payload(size_t n) {
    test_bytes attr = {NULL, 0, 0}, node = {NULL, 0, 0}, g = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) test_put_bytes(&attr, 5, "\x38\1", 2);
    test_put_message(&node, 5, &attr);
    test_put_message(&g, 1, &node);
    return model_of_graph(&g);
}
static test_bytes unpacked_floats(size_t n) {
    test_bytes t = {NULL, 0, 0}, g = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) {
        test_put_tag(&t, 4, TEST_I32);
        test_put(&t, "1234", 4);
        test_put_int(&t, 5, i);
        test_put_int(&t, 2, 1);
    }
    test_put_message(&g, 5, &t);
    return model_of_graph(&g);
}
static test_bytes same_output(size_t n) {
    return repeat_in_graph(1, "\x0a\1x\x12\1x", 6, n);
}
static test_bytes same_initializer(size_t n) {
    return repeat_in_graph(5, "\x42\1x", 3, n);
}
static test_bytes same_value_info(size_t n) {
    return repeat_in_graph(13, "\x0a\1x", 3, n);
}
static test_bytes named(size_t n, uint32_t number, uint32_t name_number, const char *rest) {
    test_bytes g = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) {
        char name[32];
        test_bytes item = {NULL, 0, 0};
        snprintf(name, sizeof name, "name%zu", i);
        test_put_str(&item, name_number, name);
        test_put(&item, rest, strlen(rest));
        test_put_message(&g, number, &item);
    }
    return model_of_graph(&g);
}
static test_bytes initializers(size_t n) {
    return named(n, 5, 8, "\x08\x02\x10\x01"); /* float[2], but no data: each is wrong */
}
static test_bytes inputs(size_t n) {
    return named(n, 11, 1, "");
}
static test_bytes chain(size_t n) {
    test_bytes g = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) {
        char in[32], out[32];
        test_bytes node = {NULL, 0, 0};
        snprintf(in, sizeof in, "v%zu", i);
        snprintf(out, sizeof out, "v%zu", i + 1);
        test_put_str(&node, 1, in);
        test_put_str(&node, 2, out);
        test_put_str(&node, 4, "Relu");
        test_put_message(&g, 1, &node);
    }
    test_put_bytes(&g, 11, "\x0a\2v0", 4);
    return model_of_graph(&g);
}
static test_bytes backward_chain(size_t n) {
    test_bytes g = {NULL, 0, 0};
    for (size_t i = n; i--;) {
        char in[32], out[32];
        test_bytes node = {NULL, 0, 0};
        snprintf(in, sizeof in, "v%zu", i);
        snprintf(out, sizeof out, "v%zu", i + 1);
        test_put_str(&node, 1, in);
        test_put_str(&node, 2, out);
        test_put_message(&g, 1, &node);
    }
    return model_of_graph(&g);
}
static test_bytes star(size_t n) {
    test_bytes g = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) test_put_bytes(&g, 1, "\x0a\1x\x0a\1x\x22\3Neg", 11);
    test_put_bytes(&g, 11, "\x0a\1x", 3);
    return model_of_graph(&g);
}
/* 32 graphs inside each other, each with nodes that use names of the outermost one. */
static test_bytes nested_uses(size_t n) {
    test_bytes inner = {NULL, 0, 0};
    for (int depth = 0; depth < 32; depth++) {
        test_bytes g = {NULL, 0, 0}, node = {NULL, 0, 0}, attr = {NULL, 0, 0};
        for (size_t i = 0; i < n / 32; i++) test_put_bytes(&g, 1, "\x0a\1x\x0a\1y", 6);
        if (depth) {
            test_put_message(&attr, 6, &inner);
            test_put_message(&node, 5, &attr);
            test_put_message(&g, 1, &node);
        }
        inner = g;
    }
    return model_of_graph(&inner);
}
static test_bytes annotations(size_t n) {
    test_bytes m = named(n, 14, 1, "\x12\x08\x0a\1k\x12\3v10");
    return m;
}
static test_bytes external_entries(size_t n) {
    test_bytes t = {NULL, 0, 0}, g = {NULL, 0, 0};
    for (size_t i = 0; i < n; i++) test_put_bytes(&t, 13, "\x0a\1k\x12\1v", 6);
    test_put_message(&g, 5, &t);
    return model_of_graph(&g);
}

static const struct {
    const char *name;
    family_fn *make;
    size_t n;
    bool limited; /* what keeps it from being slow is the limit on memory */
} families[] = {
    {"empty nodes", empty_nodes, 400000, false},
    {"empty initializers", empty_initializers, 400000, false},
    {"empty inputs", empty_inputs, 400000, false},
    {"empty outputs", empty_outputs, 400000, false},
    {"empty annotations", empty_annotations, 400000, false},
    {"empty sparse initializers", empty_sparse, 400000, false},
    {"empty attributes", empty_attributes, 400000, false},
    {"empty subgraphs", empty_subgraphs, 400000, false},
    {"empty names", empty_names, 400000, false},
    {"short names", short_names, 400000, false},
    {"empty functions", empty_functions, 9000, false},
    {"empty metadata", empty_metadata, 400000, false},
    {"packed ints", packed_ints, 1000000, false},
    {"unknown between known", unknown_between, 400000, false},
    {"unknown, merged", merged_unknown, 200000, false},
    {"payload, merged", merged_payload, 100000, .limited = true},
    {"floats one by one", unpacked_floats, 400000, false},
    {"same output", same_output, 100000, false},
    {"same initializer", same_initializer, 100000, false},
    {"same value_info", same_value_info, 100000, false},
    {"initializers without data", initializers, 50000, false},
    {"inputs", inputs, 50000, false},
    {"chain", chain, 50000, false},
    {"backward chain", backward_chain, 50000, false},
    {"star", star, 50000, false},
    {"nested uses", nested_uses, 50000, false},
    {"annotations", annotations, 50000, false},
    {"external entries", external_entries, 100000, false},
};

/* The other limits: one more than allowed is refused. */
TEST(number_of_functions) {
    for (size_t n = 9999; n <= 10001; n++) {
        test_bytes b = empty_functions(n);
        onx_model *model = NULL;
        onx_diag diag = ONX_INIT(onx_diag);
        CHECK_EQ(onx_model_load_memory(NULL, b.data, b.size, NULL, &model, &diag),
                 n <= 10000 ? ONX_OK : ONX_LIMIT);
        onx_model_free(model);
        test_bytes_free(&b);
    }
}

TEST(number_of_opsets) {
    for (size_t n = 999; n <= 1001; n++) {
        test_bytes b = {NULL, 0, 0};
        onx_model *model = NULL;
        for (size_t i = 0; i < n; i++) test_put_bytes(&b, 8, "", 0);
        CHECK_EQ(onx_model_load_memory(NULL, b.data, b.size, NULL, &model, NULL),
                 n <= 1000 ? ONX_OK : ONX_LIMIT);
        onx_model_free(model);
        test_bytes_free(&b);
    }
}

/* The same in text, where a thing takes a few letters. */
static test_bytes repeat_text(const char *before, const char *item, const char *after, size_t n) {
    test_bytes b = {NULL, 0, 0};
    test_put(&b, before, strlen(before));
    for (size_t i = 0; i < n; i++) test_put(&b, item, strlen(item));
    test_put(&b, after, strlen(after));
    return b;
}

static const struct {
    onx_format format;
    const char *name, *before, *item, *after;
} texts[] = {
    {ONX_FORMAT_JSON, "JSON, nodes", "{\"graph\":{\"node\":[{}", ",{}", "]}}"},
    {ONX_FORMAT_JSON, "JSON, names", "{\"graph\":{\"node\":[{\"input\":[\"\"", ",\"\"", "]}]}}"},
    {ONX_FORMAT_JSON, "JSON, numbers", "{\"graph\":{\"initializer\":[{\"dims\":[1", ",1", "]}]}}"},
    {ONX_FORMAT_JSON, "JSON, unknown keys", "{", "\"\":1,", "\"irVersion\":1}"},
    {ONX_FORMAT_JSON, "JSON, brackets", "", "[", ""},
    {ONX_FORMAT_JSON, "JSON, braces", "{\"graph\":{", "\"node\":[{\"attribute\":[{\"g\":{", ""},
    {ONX_FORMAT_TEXTPROTO, "protobuf text, nodes", "graph{", "node{}", "}"},
    {ONX_FORMAT_TEXTPROTO, "protobuf text, names", "graph{node{", "input:''", "}}"},
    {ONX_FORMAT_TEXTPROTO, "protobuf text, numbers", "graph{initializer{int64_data:[1", ",1",
     "]}}"},
    {ONX_FORMAT_TEXTPROTO, "protobuf text, braces", "graph{", "node{attribute{g{", ""},
    {ONX_FORMAT_TEXTPROTO, "protobuf text, comments", "", "#\n", ""},
    {ONX_FORMAT_TEXTPROTO, "protobuf text, strings", "doc_string:", "''", ""},
    {ONX_FORMAT_TEXT, "ONNX text, nodes", "<ir_version:8>g()=>(){", "=A()", "}"},
    {ONX_FORMAT_TEXT, "ONNX text, inputs", "<ir_version:8>g(float a", ",float b", ")=>(){}"},
    {ONX_FORMAT_TEXT, "ONNX text, numbers", "<ir_version:8>g()=>()<float[9] w={1", ",1", "}>{}"},
    {ONX_FORMAT_TEXT, "ONNX text, types", "<ir_version:8>g(", "seq(", ""},
    {ONX_FORMAT_TEXT, "ONNX text, graphs", "<ir_version:8>g()=>(){", "=A<a=g()=>(){", ""},
    {ONX_FORMAT_TEXT, "ONNX text, brackets", "", "<", ""},
};

static void *load_texts(void *unused) {
    (void)unused;
    for (size_t i = 0; i < ONX_COUNT(texts); i++) {
        test_bytes b = repeat_text(texts[i].before, texts[i].item, texts[i].after, 100000);
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        onx_model *model = NULL;
        onx_diag diag = ONX_INIT(onx_diag);
        onx_load_options options = ONX_INIT(onx_load_options);
        options.format = texts[i].format;
        double start = now();
        onx_status status = onx_model_load_memory(ctx, b.data, b.size, &options, &model, &diag);
        double took = now() - start;
        CHECK(!status || (diag.status == status && diag.message[0]));
        size_t names = 48 * 5 * 100000;
        if (!CHECK(heap.peak <= 64 * b.size + ((size_t)18 << 20) + names))
            fprintf(stderr, "    %s: %zu bytes for %zu\n", texts[i].name, heap.peak, b.size);
        if (!CHECK(took < 5)) fprintf(stderr, "    %s: %.2f s\n", texts[i].name, took);
        printf("    %-28s %9zu bytes, memory %6.1f times that, %.3f s, %s\n", texts[i].name, b.size,
               (double)heap.peak / (double)b.size, took, onx_status_name(status));
        onx_model_free(model);
        onx_context_free(ctx);
        CHECK_EQ(heap.bytes, 0);
        test_bytes_free(&b);
    }
    return NULL;
}

/* On a stack of 256 KiB: what is nested 100,000 deep is refused, not followed. */
TEST(text_in_proportion) {
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    CHECK_EQ(pthread_attr_setstacksize(&attr, 256 << 10), 0);
    if (CHECK(pthread_create(&thread, &attr, load_texts, NULL) == 0)) pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

/* Memory that loading takes, against the size of the file. Past a limit it is refused. */
TEST(memory_in_proportion) {
    double worst = 0;
    for (size_t i = 0; i < ONX_COUNT(families); i++) {
        test_bytes b = families[i].make(families[i].n);
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        onx_model *model = NULL;
        onx_diag diag = ONX_INIT(onx_diag);
        onx_status status = onx_model_load_memory(ctx, b.data, b.size, NULL, &model, &diag);
        double ratio = (double)heap.peak / (double)b.size;
        double past = ((double)heap.peak - (double)(16 << 20)) / (double)b.size;
        CHECK(status == ONX_OK || status == ONX_LIMIT);
        if (status) CHECK(diag.hint[0] != '\0');
        /* Structure: 64 times the file and 16 MiB. The table of names comes on top: 48 bytes an
         * entry, three times while it grows. */
        size_t names = 48 * 5 * families[i].n;
        if (!CHECK(heap.peak <= 64 * b.size + ((size_t)17 << 20) + names))
            fprintf(stderr, "    %s: %zu bytes for %zu\n", families[i].name, heap.peak, b.size);
        if (past > worst) worst = past;
        printf("    %-28s %9zu bytes, memory %6.1f times that%s\n", families[i].name, b.size, ratio,
               status ? ", refused" : "");
        onx_model_free(model);
        onx_context_free(ctx);
        CHECK_EQ(heap.bytes, 0);
        test_bytes_free(&b);
    }
    printf("    worst memory past 16 MiB: %.1f times the file\n", worst);
}

/* ── Time ── */

static bool time_limited; /* keep the limit on memory */

/* Everything that walks a model: load, check, copy, compare, save anew and as text, sort, free. */
static void all_walks(const test_bytes *b) {
    onx_context_options options = ONX_INIT(onx_context_options);
    if (!time_limited) options.limits.memory_factor = 100000; /* time is what this is about */
    onx_context *ctx = NULL;
    onx_model *model = NULL, *copy = NULL;
    CHECK(onx_context_new(&options, &ctx) == ONX_OK);
    if (onx_model_load_memory(ctx, b->data, b->size, NULL, &model, NULL) == ONX_OK) {
        const onx_msg *m;
        CHECK(onx_model_clone(model, &copy, NULL) == ONX_OK);
        CHECK(onx_model_equal(model, copy, NULL));
        onx_model_touch(model);
        for (onx_format f = ONX_FORMAT_PROTOBUF; f <= ONX_FORMAT_TEXTPROTO; f++) {
            onx_save_options save = ONX_INIT(onx_save_options);
            save.format = f;
            CHECK(onx_model_save_stream(model, &(onx_writer){NULL, discard}, &save, NULL) ==
                  ONX_OK);
        }
        CHECK(onx_model_print(model, &(onx_writer){NULL, discard}, NULL, NULL) == ONX_OK);
        for (onx_walk w = onx_walk_begin(model); (m = onx_walk_next(&w));)
            if (m->desc == &onx_desc_tensor) onx_tensor_view((const onx_tensor *)m);
        if (onx_model_graph(model)) (void)!onx_graph_sort(onx_model_graph(model), NULL);
    }
    onx_model_free(copy);
    onx_model_free(model);
    onx_context_free(ctx);
}

/* The exponent of the growth from n to 8 n: 1 is linear, 2 quadratic. Time of the processor, the
 * best of a few runs: what else the machine does hardly counts. */
static double growth(family_fn *make, void (*run)(const test_bytes *), size_t n, double times[2]) {
    for (int k = 0; k < 2; k++) {
        test_bytes b = make(k ? 8 * n : n);
        times[k] = 1e9;
        for (int tries = 0; tries < 3; tries++) {
            double start = now();
            run(&b);
            double took = now() - start;
            if (took < times[k]) times[k] = took;
            if (took > 2) break;
        }
        test_bytes_free(&b);
    }
    return times[1] < 0.02 ? 1 : log(times[1] / times[0]) / log(8); /* too short to tell */
}

TEST(time_in_proportion) {
    double worst = 0;
    for (size_t i = 0; i < ONX_COUNT(families); i++) {
        double times[2];
        time_limited = families[i].limited;
        double exponent = growth(families[i].make, all_walks, families[i].n / 32, times);
        if (exponent > 1.8)
            exponent = growth(families[i].make, all_walks, families[i].n / 32, times); /* noise? */
        if (!CHECK(exponent < 1.8))
            fprintf(stderr, "    %s: %.4f s, then %.4f s for 8 times as much\n", families[i].name,
                    times[0], times[1]);
        if (exponent > worst) worst = exponent;
        printf("    %-28s %8.4f s %8.4f s, exponent %.2f\n", families[i].name, times[0], times[1],
               exponent);
    }
    printf("    worst exponent of time: %.2f\n", worst);
}

/* Editing: every node removed from the end, every value renamed, uses moved. */
static void edit_all(const test_bytes *b) {
    onx_model *model = NULL;
    if (onx_model_load_memory(NULL, b->data, b->size, NULL, &model, NULL)) return;
    onx_graph *g = onx_model_graph(model);
    size_t i = 0;
    for (onx_value *v = onx_graph_value_first(g); v; v = onx_value_next(v)) {
        char name[32];
        snprintf(name, sizeof name, "renamed%zu", i++);
        CHECK(onx_value_rename(v, name, NULL) == ONX_OK);
    }
    onx_value *in = onx_graph_input(g, 0);
    for (onx_node *n = onx_graph_node_last(g), *prev; n; n = prev) {
        prev = onx_node_prev(n);
        onx_value *out = onx_node_output(n, 0);
        if (out) CHECK(onx_value_replace(out, in, NULL) == ONX_OK);
        CHECK(onx_node_remove(n, NULL) == ONX_OK);
        onx_graph_add_op(g, "Neg", NULL, in);
    }
    for (onx_node *n = onx_graph_node_last(g), *prev; n; n = prev) {
        prev = onx_node_prev(n);
        CHECK(onx_node_remove(n, NULL) == ONX_OK);
    }
    onx_model_free(model);
}

TEST(time_of_editing) {
    static const struct {
        const char *name;
        family_fn *make;
    } cases[] = {{"edit a chain", chain}, {"edit a star", star}};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        double times[2], exponent = growth(cases[i].make, edit_all, 3000, times);
        CHECK(exponent < 1.8);
        printf("    %-28s %8.4f s %8.4f s, exponent %.2f\n", cases[i].name, times[0], times[1],
               exponent);
    }
}

TEST_MAIN(E(cut_at_every_byte) E(every_bit_flipped) E(cut_text) E(payloads_of_every_type)
              E(payloads_in_the_wrong_place) E(dimensions_that_overflow) E(ranks)
                  E(unaligned_payloads) E(booleans) E(names_in_messages) E(names_in_paths)
                      E(names_in_text) E(long_names) E(number_of_functions) E(number_of_opsets)
                          E(memory_in_proportion) E(text_in_proportion) E(time_in_proportion)
                              E(time_of_editing))
