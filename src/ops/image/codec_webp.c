/* codec_webp.c: WebP, lossy and lossless, by libwebp; of what moves, nothing. */
#include "ops/image/codec.h"

#ifdef ONX_HAVE_WEBP
#include <webp/decode.h>

#define FUNCTIONS(F) F(WebPGetInfo) F(WebPDecodeRGBInto)
ONX_CODEC_API(FUNCTIONS);

static onx_status decode(onx_picture *picture) {
    api a;
    int width, height;
    ONX_TRY(onx_codec_library(picture, ONX_HAVE_WEBP, ONX_COUNT(names), names, &a));
    if (!a.WebPGetInfo(picture->data, picture->size, &width, &height) || width < 1 || height < 1)
        return onx_picture_wrong(picture, "its header is wrong");
    ONX_TRY(onx_picture_size(picture, (uint64_t)width, (uint64_t)height));
    size_t stride = picture->width * 3;
    if (stride > INT32_MAX || !a.WebPDecodeRGBInto(picture->data, picture->size, picture->pixels,
                                                   stride * picture->height, (int)stride))
        return onx_picture_wrong(picture, "its data is wrong");
    return ONX_OK;
}
#else
static onx_status decode(onx_picture *picture) {
    return onx_codec_left_out(picture, "libwebp");
}
#endif

const onx_codec onx_codec_webp = {"webp", "RIFF????WEBP", 12, decode};
