/* fuzz_wire.c: protobuf. The first byte chooses the message type, the rest is its encoding.
 *
 * What decodes is written back as the same bytes; written anew, it decodes to an equal message, in
 * the one spelling that an independent reader of the format gives it. */
#include "fuzz.h"

static void encode(onx_msg *msg, onx_buf *out) {
    onx_diag diag = ONX_INIT(onx_diag);
    uint64_t size = 0;
    onx_buf_init(out, msg->doc->ctx);
    onx_writer writer = onx_buf_writer(out);
    FUZZ_OK(onx_wire_encode(msg, &writer, &diag), &diag);
    FUZZ_OK(onx_wire_size(msg, &size, &diag), &diag);
    FUZZ_CHECK(size == out->size);
}

static void check_spelling(const onx_desc *desc, onx_str a, onx_str b) {
    test_bytes x = {NULL, 0, 0}, y = {NULL, 0, 0};
    test_canon(desc, a, &x);
    test_canon(desc, b, &y);
    FUZZ_CHECK(x.size == y.size && !memcmp(x.data, y.data, x.size));
    test_bytes_free(&x);
    test_bytes_free(&y);
}

static void check_again(onx_msg *msg, onx_str in) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf same, anew;
    onx_msg *back = NULL, *copy = NULL;
    encode(msg, &same);
    FUZZ_CHECK(same.size == in.size && (!in.size || !memcmp(same.data, in.data, in.size)));
    onx_msg_touch_all(msg);
    encode(msg, &anew);
    onx_doc *doc = fuzz_doc(msg->doc->ctx, 0);
    FUZZ_OK(onx_wire_decode(doc, msg->desc, (onx_str){anew.data, anew.size}, &back, &diag), &diag);
    FUZZ_CHECK(onx_msg_equal(msg, back, &diag));
    FUZZ_OK(onx_msg_clone(doc, msg, &copy, &diag), &diag);
    FUZZ_CHECK(onx_msg_equal(msg, copy, &diag));
    check_spelling(msg->desc, in, (onx_str){anew.data, anew.size});
    onx_doc_free(doc);
    onx_buf_fini(&same);
    onx_buf_fini(&anew);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    onx_context *ctx = fuzz_context();
    const onx_desc *desc = fuzz_table(data[0]);
    onx_str in = {(const char *)data + 1, size - 1};
    onx_doc *doc = fuzz_doc(ctx, in.size);
    onx_msg *msg = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = onx_wire_decode(doc, desc, in, &msg, &diag);
    if (status) {
        fuzz_refused(status, &diag);
        FUZZ_CHECK(diag.offset >= -1 && diag.offset <= (int64_t)in.size);
    } else {
        onx_doc_limit(doc, SIZE_MAX);
        check_again(msg, in);
    }
    onx_doc_free(doc);
    fuzz_context_free(ctx);
    return 0;
}
