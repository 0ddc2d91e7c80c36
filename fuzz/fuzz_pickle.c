/* fuzz_pickle.c: pickles, beside a storage with data and one without. */
#include "fuzz_torch.h"
#include "torch_files.h"

/* Made once. */
static onx_str storages(void) {
    static const torch_record records[] = {
        {"m/data/0", {"0123456789abcdef0123456789abcdef", 32}},
        {"m/data/1", {"", 0}},
        {NULL, {NULL, 0}},
    };
    static onx_buf zip;
    if (!zip.data) torch_zip(onx_context_or_default(NULL), records, &zip);
    return (onx_str){zip.data, zip.size};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    onx_context *ctx = fuzz_context();
    onx_diag diag = ONX_INIT(onx_diag);
    onx_archive *archive = NULL;
    onx_pickle pickle;
    size_t used = 0;
    FUZZ_OK(onx_archive_open_memory(ctx, storages(), &archive, &diag), &diag);
    onx_status status = onx_pickle_read_bytes(ctx, (onx_str){size ? (const char *)data : "", size},
                                              archive, ONX_LIT("data/"), &pickle, &used, &diag);
    if (status) {
        fuzz_refused(status, &diag);
    } else {
        FUZZ_CHECK(used <= size);
        fuzz_pickle(&pickle);
        onx_pickle_fini(&pickle);
    }
    onx_archive_close(archive);
    fuzz_context_free(ctx);
    return 0;
}
