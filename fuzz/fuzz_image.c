/* fuzz_image.c: a file that may be a picture. What decodes has as many pixels as it says. */
#include "fuzz.h"
#include "ops/image/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    onx_context *ctx = fuzz_context();
    onx_diag diag = ONX_INIT(onx_diag);
    onx_picture picture = {.ctx = ctx, .diag = &diag, .data = data, .size = size};
    onx_status status = onx_picture_decode(&picture);
    if (status) {
        fuzz_refused(status, &diag);
    } else {
        size_t bytes = picture.width * picture.height * 3;
        uint8_t *copy = malloc(bytes); /* all of them are there */
        FUZZ_CHECK(picture.width && picture.height && copy);
        memcpy(copy, picture.pixels, bytes);
        free(copy);
    }
    onx_picture_free(&picture);
    fuzz_context_free(ctx);
    return 0;
}
