/* codec_tiff.c: TIFF, by libtiff from 4.5 on, which can be told per file what to do with messages.
 * Only the first picture of a file. */
#include "ops/image/codec.h"

#ifdef ONX_HAVE_TIFF
#include <tiffio.h>
#endif

#if defined(ONX_HAVE_TIFF) && TIFFLIB_VERSION >= 20221213

#define FUNCTIONS(F)                                                                               \
    F(TIFFOpenOptionsAlloc)                                                                        \
    F(TIFFOpenOptionsFree)                                                                         \
    F(TIFFOpenOptionsSetMaxSingleMemAlloc)                                                         \
    F(TIFFOpenOptionsSetErrorHandlerExtR)                                                          \
    F(TIFFOpenOptionsSetWarningHandlerExtR)                                                        \
    F(TIFFClientOpenExt)                                                                           \
    F(TIFFGetField)                                                                                \
    F(TIFFReadRGBAImageOriented)                                                                   \
    F(TIFFClose)

ONX_CODEC_API(FUNCTIONS);

/* ── A file in memory ────────────────────────────────────────────────────────────────────────── */

typedef struct file {
    const onx_picture *picture;
    uint64_t at;
} file;

static tmsize_t read_file(thandle_t handle, void *to, tmsize_t n) {
    file *f = handle;
    uint64_t left = f->at < f->picture->size ? f->picture->size - f->at : 0;
    size_t count = n < 0 ? 0 : (uint64_t)n < left ? (size_t)n : (size_t)left;
    if (count) memcpy(to, f->picture->data + f->at, count);
    f->at += count;
    return (tmsize_t)count;
}
static tmsize_t write_file(thandle_t handle, void *from, tmsize_t n) {
    (void)handle, (void)from, (void)n;
    return 0;
}
static toff_t seek_file(thandle_t handle, toff_t offset, int whence) {
    file *f = handle;
    uint64_t from = whence == SEEK_CUR ? f->at : whence == SEEK_END ? f->picture->size : 0;
    return f->at = from + offset;
}
static int close_file(thandle_t handle) {
    (void)handle;
    return 0;
}
static toff_t size_file(thandle_t handle) {
    return ((file *)handle)->picture->size;
}
static int map_file(thandle_t handle, void **base, toff_t *size) {
    (void)handle, (void)base, (void)size;
    return 0;
}
static void unmap_file(thandle_t handle, void *base, toff_t size) {
    (void)handle, (void)base, (void)size;
}
static int silent(TIFF *tiff, void *user, const char *module, const char *fmt, va_list args) {
    (void)tiff, (void)user, (void)module, (void)fmt, (void)args;
    return 1;
}

/* ── Pixels ──────────────────────────────────────────────────────────────────────────────────── */

/* The library makes a raster of 32 bits a pixel of it, whatever it is. */
static onx_status read_picture(const api *a, TIFF *tiff, onx_picture *picture) {
    uint32_t width = 0, height = 0;
    if (!a->TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width) ||
        !a->TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height))
        return onx_picture_wrong(picture, "it does not say how large it is");
    ONX_TRY(onx_picture_size(picture, width, height));
    size_t count = picture->width * picture->height, bytes = count * sizeof(uint32_t);
    uint32_t *raster = onx_mem_alloc(picture->ctx, bytes);
    if (!raster) return onx_fail_nomem(picture->diag);
    memset(raster, 0, bytes);
    int ok = a->TIFFReadRGBAImageOriented(tiff, width, height, raster, ORIENTATION_TOPLEFT, 1);
    for (size_t i = 0; i < count && ok; i++) {
        picture->pixels[3 * i] = (uint8_t)TIFFGetR(raster[i]);
        picture->pixels[3 * i + 1] = (uint8_t)TIFFGetG(raster[i]);
        picture->pixels[3 * i + 2] = (uint8_t)TIFFGetB(raster[i]);
    }
    onx_mem_free(picture->ctx, raster, bytes);
    return ok ? ONX_OK : onx_picture_wrong(picture, "libtiff cannot read it");
}

static onx_status decode(onx_picture *picture) {
    enum { LARGEST = 1 << 30 }; /* allocation by the library */
    api a;
    file f = {picture, 0};
    ONX_TRY(onx_codec_library(picture, ONX_HAVE_TIFF, ONX_COUNT(names), names, &a));
    TIFFOpenOptions *options = a.TIFFOpenOptionsAlloc();
    if (!options) return onx_fail_nomem(picture->diag);
    a.TIFFOpenOptionsSetMaxSingleMemAlloc(options, LARGEST);
    a.TIFFOpenOptionsSetErrorHandlerExtR(options, silent, NULL);
    a.TIFFOpenOptionsSetWarningHandlerExtR(options, silent, NULL);
    TIFF *tiff = a.TIFFClientOpenExt("picture", "rm", &f, read_file, write_file, seek_file,
                                     close_file, size_file, map_file, unmap_file, options);
    a.TIFFOpenOptionsFree(options);
    if (!tiff) return onx_picture_wrong(picture, "libtiff cannot open it");
    onx_status status = read_picture(&a, tiff, picture);
    a.TIFFClose(tiff);
    return status;
}
#else
static onx_status decode(onx_picture *picture) {
    return onx_codec_left_out(picture, "libtiff 4.5 or newer");
}
#endif

const onx_codec onx_codec_tiff_le = {"tiff", "II*\0", 4, decode};
const onx_codec onx_codec_tiff_be = {"tiff", "MM\0*", 4, decode};
const onx_codec onx_codec_bigtiff_le = {"tiff", "II+\0", 4, decode};
const onx_codec onx_codec_bigtiff_be = {"tiff", "MM\0+", 4, decode};
