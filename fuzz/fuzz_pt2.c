/* fuzz_pt2.c: programs of torch.export. The text is read and, where that goes well, exported; what
 * comes out is a model that can be written. */
#include "fuzz.h"

#include "export/pt2_walk.h"

static void walk(onx_context *ctx, onx_pt2 *program) {
    onx_export x;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = onx_export_begin(&x, ctx, ONX_X_BASE, &diag);
    if (!status) {
        status = onx_pt2_export(&x, program, NULL);
        if (status) fuzz_refused(status, &x.diag);
    }
    onx_export_end(&x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    onx_context *ctx = fuzz_context();
    onx_diag diag = ONX_INIT(onx_diag);
    onx_pt2 program;
    onx_status status =
        onx_pt2_read_text(ctx, (onx_str){(const char *)data, size}, &program, &diag);
    if (status) {
        fuzz_refused(status, &diag);
    } else {
        walk(ctx, &program);
        onx_pt2_fini(&program);
    }
    fuzz_context_free(ctx);
    return 0;
}
