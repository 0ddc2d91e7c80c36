/* codec.c: which decoder a file is for, and what all decoders share. */
#include "ops/image/codec.h"
#include "base/library.h"

#include <stdio.h>

enum { MOST = 1 << 28 }; /* pixels */

static const onx_codec *const codecs[] = {
    &onx_codec_bmp,        &onx_codec_jp2,  &onx_codec_j2k,        &onx_codec_jpeg,
    &onx_codec_png,        &onx_codec_pnm,  &onx_codec_tiff_le,    &onx_codec_tiff_be,
    &onx_codec_bigtiff_le, &onx_codec_webp, &onx_codec_bigtiff_be,
};

static bool is_for(const onx_codec *codec, const onx_picture *picture) {
    if (picture->size < codec->magic_size) return false;
    for (size_t i = 0; i < codec->magic_size; i++)
        if (codec->magic[i] != '?' && (uint8_t)codec->magic[i] != picture->data[i]) return false;
    return true;
}

onx_status onx_picture_decode(onx_picture *picture) {
    for (size_t i = 0; i < ONX_COUNT(codecs); i++) {
        if (!is_for(codecs[i], picture)) continue;
        onx_status status = codecs[i]->decode(picture);
        if (status != ONX_OK) onx_picture_free(picture);
        return status;
    }
    return onx_picture_wrong(picture, "it begins like no picture that is known");
}

static size_t bytes_of(const onx_picture *picture) {
    return picture->width * picture->height * 3;
}

onx_status onx_picture_size(onx_picture *picture, uint64_t width, uint64_t height) {
    if (!width || !height) return onx_picture_wrong(picture, "it has no pixels");
    if (width > MOST || height > MOST || width * height > MOST)
        return onx_fail(picture->diag, ONX_LIMIT,
                        "a picture of %llu x %llu pixels: more than %d are not decoded",
                        (unsigned long long)width, (unsigned long long)height, MOST);
    picture->width = (size_t)width;
    picture->height = (size_t)height;
    picture->pixels = onx_mem_alloc(picture->ctx, bytes_of(picture));
    return picture->pixels ? ONX_OK : onx_fail_nomem(picture->diag);
}

void onx_picture_clear(onx_picture *picture) {
    memset(picture->pixels, 0, bytes_of(picture));
}

void onx_picture_free(onx_picture *picture) {
    if (picture->pixels) onx_mem_free(picture->ctx, picture->pixels, bytes_of(picture));
    picture->pixels = NULL;
}

onx_status onx_picture_wrong(const onx_picture *picture, const char *fmt, ...) {
    char sentence[200];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    return onx_fail(picture->diag, ONX_INVALID, "the picture cannot be decoded: %s", sentence);
}

/* A library stays loaded: opening it again only counts. */
onx_status onx_codec_library(const onx_picture *picture, const char *library, size_t n,
                             const char *const *names, void *table) {
    const char *why;
    void *handle = onx_library_open(library, &why);
    if (!handle)
        return onx_fail(picture->diag, ONX_UNSUPPORTED,
                        "the picture needs the library %s, which cannot be loaded: %s", library,
                        why);
    for (size_t i = 0; i < n; i++) {
        void *symbol = onx_library_symbol(handle, names[i]);
        if (!symbol)
            return onx_fail(picture->diag, ONX_UNSUPPORTED, "the library %s has no %s", library,
                            names[i]);
        memcpy((char *)table + i * sizeof symbol, &symbol, sizeof symbol);
    }
    return ONX_OK;
}

onx_status onx_codec_left_out(const onx_picture *picture, const char *library) {
    return onx_fail(picture->diag, ONX_UNSUPPORTED,
                    "the picture needs %s, which this onx was built without", library);
}
