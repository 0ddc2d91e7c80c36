/* fuzz_tools.c: everything that reads or rewrites models without running them.
 *
 *     a byte that chooses the tool, a byte that nobody reads, the model
 *
 * What each must hold to is in test/every_tool.h; and all memory is given back. */
#include "every_tool.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    onx_context *ctx = fuzz_context();
    onx_model *model = NULL;
    if (onx_model_load_memory(ctx, data + 2, size - 2, NULL, &model, NULL) == ONX_OK)
        FUZZ_CHECK(every_tool_one(data[0] % every_tool_count(), model, "input"));
    onx_model_free(model);
    fuzz_context_free(ctx);
    return 0;
}
