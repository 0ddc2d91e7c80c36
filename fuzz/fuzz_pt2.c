/* fuzz_pt2.c: programs of torch.export. The text is the program of an archive without weights;
 * where it is exported, what comes out is a model that checks. */
#include "fuzz.h"

#include "torch_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    onx_context *ctx = fuzz_context();
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    const torch_record records[] = {{"m/archive_format", ONX_LIT("pt2")},
                                    {"m/archive_version", ONX_LIT("0")},
                                    {"m/models/model.json", {(const char *)data, size}},
                                    {NULL, {NULL, 0}}};
    onx_buf zip;
    onx_str bytes = torch_zip(ctx, records, &zip);
    onx_status status = onx_model_export_memory(ctx, bytes.data, bytes.size, NULL, &model, &diag);
    if (status)
        fuzz_refused(status, &diag);
    else
        FUZZ_OK(onx_model_check(model, NULL, &diag), &diag);
    onx_model_free(model);
    onx_buf_fini(&zip);
    fuzz_context_free(ctx);
    return 0;
}
