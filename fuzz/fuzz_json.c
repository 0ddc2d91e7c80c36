/* fuzz_json.c: JSON. The first byte chooses the message type, the rest is text.
 *
 * What is parsed prints, and that text parses to an equal message. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    onx_context *ctx = fuzz_context();
    onx_doc *doc = fuzz_doc(ctx, size);
    onx_msg *msg = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_str text = {(const char *)data + 1, size - 1};
    onx_status status = onx_json_parse(doc, fuzz_table(data[0]), text, &msg, &diag);
    if (status) {
        fuzz_refused(status, &diag);
    } else {
        onx_doc_limit(doc, SIZE_MAX);
        FUZZ_CHECK(fuzz_print_parse(msg, onx_json_print, onx_json_parse));
    }
    onx_doc_free(doc);
    fuzz_context_free(ctx);
    return 0;
}
