/* fuzz_regex.c: a pattern, a line break, a text. What compiles gives the same answer for the text
 * as a whole and in two pieces, and from a matcher that has seen it before. */
#include "base/regex.h"
#include "fuzz.h"

static bool matched(onx_matcher *m, const char *text, size_t first, size_t rest) {
    onx_matcher_begin(m);
    if (onx_matcher_feed(m, text, first)) (void)onx_matcher_feed(m, text + first, rest);
    return onx_matcher_end(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    onx_str pattern = {(const char *)data, line ? (size_t)(line - data) : size};
    const char *text = line ? (const char *)line + 1 : "";
    size_t n = line ? size - pattern.size - 1 : 0;
    onx_context *ctx = fuzz_context();
    onx_diag diag = ONX_INIT(onx_diag);
    const onx_regex *regex = NULL;
    onx_arena arena;
    onx_arena_init(&arena, ctx);
    onx_status status = onx_regex_compile(&arena, pattern, &regex, &diag);
    if (status) {
        fuzz_refused(status, &diag);
    } else {
        void *memory = malloc(onx_matcher_bytes(regex));
        FUZZ_CHECK(memory);
        onx_matcher *m = onx_matcher_init(regex, memory);
        bool whole = matched(m, text, n, 0);
        FUZZ_CHECK(matched(m, text, n / 2, n - n / 2) == whole);
        free(memory);
    }
    onx_arena_fini(&arena);
    fuzz_context_free(ctx);
    return 0;
}
