/* proto_text.h: what test_json.c and test_textproto.c share: a format under test, round trips,
 * hostile input. Define FORMAT_PRINT and FORMAT_PARSE before including it. */
#ifndef ONX_TEST_PROTO_TEXT_H
#define ONX_TEST_PROTO_TEXT_H

#define _XOPEN_SOURCE 700
#include "test.h"

#include "text/text.h"

#include <ftw.h>

/* An allocator that fails the call number `fail_at`, and counts what is not given back. */
typedef struct test_memory {
    size_t calls, fail_at, live;
} test_memory;

static inline void *test_resize(void *user, void *ptr, size_t old_size, size_t new_size) {
    test_memory *m = user;
    if (new_size == 0) {
        m->live -= old_size;
        free(ptr);
        return NULL;
    }
    if (++m->calls == m->fail_at) return NULL;
    void *p = realloc(ptr, new_size);
    if (p) m->live += new_size - old_size;
    return p;
}

static inline onx_context *test_context(test_memory *memory) {
    onx_context_options options = ONX_INIT(onx_context_options);
    options.allocator = (onx_allocator){memory, test_resize};
    onx_context *ctx = NULL;
    CHECK(onx_context_new(&options, &ctx) == ONX_OK);
    return ctx;
}

static inline onx_msg *parse(onx_doc **doc, const onx_desc *desc, onx_str text, onx_diag *diag) {
    onx_msg *msg = NULL;
    if (onx_doc_new(NULL, doc, diag)) return NULL;
    if (!FORMAT_PARSE(*doc, desc, text, &msg, diag)) return msg;
    onx_doc_free(*doc);
    *doc = NULL;
    return NULL;
}

/* Prints `msg`; the text ends with a NUL. */
static inline bool print(const void *msg, onx_buf *out) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf_init(out, onx_context_or_default(NULL));
    onx_writer writer = onx_buf_writer(out);
    if (FORMAT_PRINT(msg, &writer, &diag))
        fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    onx_buf_putc(out, '\0');
    out->size--;
    return diag.status == ONX_OK && !out->failed;
}

/* Is parse(print(msg)) equal to msg? */
static inline bool survives(const onx_msg *msg) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_doc *doc = NULL;
    onx_buf text;
    bool ok = print(msg, &text);
    onx_msg *again = ok ? parse(&doc, msg->desc, (onx_str){text.data, text.size}, &diag) : NULL;
    ok = again && onx_msg_equal(msg, again, &diag);
    if (!ok) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    onx_buf_fini(&text);
    onx_doc_free(doc);
    return ok;
}

/* Parses `text`, prints it again, and checks that the result is `expected` and parses to the
 * same. */
static inline void check_print(const onx_desc *desc, const char *text, const char *expected) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_doc *doc = NULL;
    onx_msg *msg = parse(&doc, desc, onx_str_of(text), &diag);
    if (!CHECK(msg)) {
        fprintf(stderr, "    %s: %s\n    %s: %s\n", text, onx_status_name(diag.status), diag.place,
                diag.message);
        return;
    }
    onx_buf out;
    CHECK(print(msg, &out));
    CHECK_STR(out.data, expected);
    CHECK(survives(msg));
    onx_buf_fini(&out);
    onx_doc_free(doc);
}

/* `text` must be refused at byte `offset`, with a message and a place that contain these words. */
static inline void check_error(const onx_desc *desc, const char *text, onx_status status,
                               int64_t offset, const char *place, const char *message) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_doc *doc = NULL;
    onx_msg *msg = parse(&doc, desc, onx_str_of(text), &diag);
    bool ok = !msg && diag.status == status && diag.offset == offset && strstr(diag.place, place) &&
              strstr(diag.message, message);
    if (!CHECK(ok))
        fprintf(stderr, "    %s\n    %s, byte %lld, %s: %s\n", text, onx_status_name(diag.status),
                (long long)diag.offset, diag.place, diag.message);
    onx_doc_free(doc);
}

/* Every prefix of `text`, and `text` with each byte replaced, is read or refused: the sanitizers
 * look on. */
static inline void check_hostile(const onx_desc *desc, const char *text) {
    static const char bytes[] = {0,   ' ', '"', '\\', '{', '}',  '[',
                                 ']', ':', '-', '0',  'e', '\n', '\xff'};
    size_t size = strlen(text), refused = 0;
    char *copy =
        malloc(size); /* exactly as long as the text, so that reading past its end is seen */
    onx_doc *doc = NULL;
    for (size_t n = 0; n < size; n++) {
        onx_diag diag = ONX_INIT(onx_diag);
        char *prefix = malloc(n ? n : 1);
        memcpy(prefix, text, n);
        refused += !parse(&doc, desc, (onx_str){prefix, n}, &diag);
        onx_doc_free(doc);
        free(prefix);
        for (size_t i = 0; i < sizeof bytes; i++) {
            memcpy(copy, text, size);
            copy[n] = bytes[i];
            refused += !parse(&doc, desc, (onx_str){copy, size}, NULL);
            onx_doc_free(doc);
        }
    }
    CHECK(refused > size);
    free(copy);
}

/* Each allocation of reading and printing fails once: NO_MEMORY, and nothing leaks. */
static inline void check_memory(const onx_desc *desc, const char *text) {
    for (size_t fail_at = 2;; fail_at++) { /* the first one is the context */
        test_memory memory = {.fail_at = fail_at};
        onx_context *ctx = test_context(&memory);
        onx_diag diag = ONX_INIT(onx_diag);
        onx_doc *doc = NULL;
        onx_msg *msg = NULL;
        onx_status status = onx_doc_new(ctx, &doc, &diag);
        if (!status) status = FORMAT_PARSE(doc, desc, onx_str_of(text), &msg, &diag);
        onx_doc_free(doc);
        onx_context_free(ctx);
        CHECK_EQ(memory.live, 0);
        if (!status) {
            CHECK(memory.calls < fail_at);
            break;
        }
        if (!CHECK(status == ONX_NO_MEMORY)) break;
    }
}

static size_t data_models, data_tensors;

static inline int data_file(const char *path, const struct stat *info, int kind, struct FTW *ftw) {
    (void)info, (void)ftw;
    bool model = onx_str_ends(onx_str_of(path), ONX_LIT(".onnx"));
    if (kind != FTW_F || (!model && !onx_str_ends(onx_str_of(path), ONX_LIT(".pb")))) return 0;
    onx_blob *blob = NULL;
    onx_doc *doc = NULL;
    onx_msg *msg = NULL;
    const onx_desc *descs[] = {&onx_desc_tensor, &onx_desc_sequence, &onx_desc_optional};
    if (!CHECK(!onx_blob_open(onx_context_or_default(NULL), path, SIZE_MAX, &blob, NULL))) return 1;
    for (size_t i = 0; !msg && i < (model ? 1 : ONX_COUNT(descs)); i++) {
        onx_doc_free(doc);
        if (!CHECK(!onx_doc_new(NULL, &doc, NULL))) return 1;
        if (onx_wire_decode(doc, model ? &onx_desc_model : descs[i], blob->bytes, &msg, NULL))
            msg = NULL;
    }
    bool ok = msg && survives(msg);
    if (!CHECK(ok)) fprintf(stderr, "    %s\n", path);
    *(model ? &data_models : &data_tensors) += 1;
    onx_doc_free(doc);
    onx_blob_release(blob);
    return 0;
}

/* Every model and tensor beneath $ONX_DATA. */
static inline void check_data(void) {
    const char *folder = getenv("ONX_DATA");
    if (!folder) SKIP("ONX_DATA is not set");
    CHECK(nftw(folder, data_file, 16, FTW_PHYS) == 0);
    CHECK(data_models > 1000 && data_tensors > 1000);
}

#endif
