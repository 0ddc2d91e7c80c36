/* fuzz.h: what the fuzz targets share. A target takes any bytes, lets the library do its work on
 * them, and ends the program where a promise of the library does not hold. */
#ifndef ONX_FUZZ_H
#define ONX_FUZZ_H

#include "support.h"
#include "text/text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(cond)                                                                           \
    do {                                                                                           \
        if (!(cond)) fuzz_fail(#cond, __FILE__, __LINE__, NULL);                                   \
    } while (0)
/* The same for a status, which must be OK; says what the diagnostic says. */
#define FUZZ_OK(call, diag)                                                                        \
    do {                                                                                           \
        if ((call) != ONX_OK) fuzz_fail(#call, __FILE__, __LINE__, diag);                          \
    } while (0)

static inline void fuzz_fail(const char *what, const char *file, int line, const onx_diag *diag) {
    char text[1024] = "";
    if (diag) onx_diag_format(diag, text, sizeof text);
    fprintf(stderr, "%s:%d: does not hold: %s\n%s\n", file, line, what, text);
    abort();
}

/* A context whose memory must all be given back: make one at the start, free it at the end. */
static inline onx_context *fuzz_context(void) {
    onx_context_options options = ONX_INIT(onx_context_options);
    onx_context *ctx = NULL;
    options.memory_limit = (size_t)1 << 30;
    FUZZ_OK(onx_context_new(&options, &ctx), NULL);
    return ctx;
}
static inline void fuzz_context_free(onx_context *ctx) {
    FUZZ_CHECK(onx_context_memory_used(ctx) == 0);
    onx_context_free(ctx);
}

/* A failure says what it is. */
static inline void fuzz_refused(onx_status status, const onx_diag *diag) {
    FUZZ_CHECK(status > ONX_OK && status <= ONX_CANCELLED);
    FUZZ_CHECK(diag->status == status && diag->message[0]);
    FUZZ_CHECK(memchr(diag->place, 0, sizeof diag->place) &&
               memchr(diag->hint, 0, sizeof diag->hint));
    FUZZ_CHECK(memchr(diag->message, 0, sizeof diag->message));
}

typedef onx_status fuzz_print_fn(const void *msg, const onx_writer *writer, onx_diag *diag);
typedef onx_status fuzz_parse_fn(onx_doc *doc, const onx_desc *desc, onx_str text, onx_msg **out,
                                 onx_diag *diag);

static inline onx_doc *fuzz_doc(onx_context *ctx, size_t bytes) {
    onx_doc *doc = NULL;
    FUZZ_OK(onx_doc_new(ctx, &doc, NULL), NULL);
    if (bytes) onx_doc_limit(doc, bytes);
    return doc;
}

static inline void fuzz_parses_as(const onx_msg *msg, onx_str text, fuzz_parse_fn *parse,
                                  onx_msg **out, onx_doc **doc) {
    onx_diag diag = ONX_INIT(onx_diag);
    *doc = fuzz_doc(msg->doc->ctx, 0);
    FUZZ_OK(parse(*doc, msg->desc, text, out, &diag), &diag);
    if (!onx_msg_equal(msg, *out, &diag))
        fuzz_fail("parsed equals printed", __FILE__, __LINE__, &diag);
}

/* Print `msg`, parse that and compare; then the same with what was parsed. False when printing is
 * refused. */
static inline bool fuzz_print_parse(const onx_msg *msg, fuzz_print_fn *print,
                                    fuzz_parse_fn *parse) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf text[2];
    onx_doc *docs[2];
    onx_msg *back[2];
    for (int i = 0; i < 2; i++) onx_buf_init(&text[i], msg->doc->ctx);
    onx_writer writers[] = {onx_buf_writer(&text[0]), onx_buf_writer(&text[1])};
    onx_status status = print(msg, &writers[0], &diag);
    if (status) {
        fuzz_refused(status, &diag);
        FUZZ_CHECK(status == ONX_UNSUPPORTED || status == ONX_INVALID || status == ONX_MALFORMED);
    } else {
        fuzz_parses_as(msg, (onx_str){text[0].data, text[0].size}, parse, &back[0], &docs[0]);
        FUZZ_OK(print(back[0], &writers[1], &diag), &diag);
        fuzz_parses_as(msg, (onx_str){text[1].data, text[1].size}, parse, &back[1], &docs[1]);
        for (int i = 0; i < 2; i++) onx_doc_free(docs[i]);
    }
    for (int i = 0; i < 2; i++) onx_buf_fini(&text[i]);
    return status == ONX_OK;
}

static inline onx_status fuzz_text_print(const void *msg, const onx_writer *writer,
                                         onx_diag *diag) {
    return onx_text_print(msg, writer, diag);
}
static inline onx_status fuzz_text_parse(onx_doc *doc, const onx_desc *desc, onx_str text,
                                         onx_msg **out, onx_diag *diag) {
    onx_model *model;
    (void)desc;
    onx_status status = onx_text_parse(doc, text, &model, diag);
    if (!status) *out = &model->msg;
    return status;
}

/* The message types a first byte chooses from. */
static inline const onx_desc *fuzz_table(uint8_t byte) {
    static const onx_desc *const tables[] = {&onx_desc_model, /* 0 is the one that matters most */
#define FUZZ_TABLE(name, type, proto) &onx_desc_##name,
                                             ONX_MESSAGES(FUZZ_TABLE)
#undef FUZZ_TABLE
    };
    return tables[byte % ONX_COUNT(tables)];
}

#endif
