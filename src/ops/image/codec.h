/* codec.h: pictures in files: what decoders are given, and what they give.
 *
 * A decoder knows its files by their first bytes, says how large the picture is with
 * onx_picture_size, which makes room for it, and fills `pixels`. A file may be anything: sizes are
 * checked before memory is taken, and what is wrong in it is INVALID, not a crash.
 *
 * Libraries of the system are loaded when a picture first needs one; UNSUPPORTED: it is not there.
 */
#ifndef ONX_CODEC_H
#define ONX_CODEC_H

#include "base/mem.h"

typedef struct onx_picture {
    onx_context *ctx;
    onx_diag *diag;
    const uint8_t *data; /* the file */
    size_t size;
    size_t width, height;
    uint8_t *pixels; /* [height][width][3]: red, green, blue */
} onx_picture;

typedef struct onx_codec {
    const char *name;
    const char *magic; /* what files begin with; '?': any byte */
    size_t magic_size;
    onx_status (*decode)(onx_picture *picture);
} onx_codec;

extern const onx_codec onx_codec_bmp, onx_codec_jp2, onx_codec_j2k, onx_codec_jpeg, onx_codec_png,
    onx_codec_pnm, onx_codec_tiff_le, onx_codec_tiff_be, onx_codec_bigtiff_le, onx_codec_bigtiff_be,
    onx_codec_webp;

/* Decode picture->data. On failure there are no pixels. */
onx_status onx_picture_decode(onx_picture *picture) ONX_MUST_CHECK;
void onx_picture_free(onx_picture *picture);

/* ── For decoders ────────────────────────────────────────────────────────────────────────────── */

/* Room for the pixels, uninitialised. LIMIT: it is too large. */
onx_status onx_picture_size(onx_picture *picture, uint64_t width, uint64_t height) ONX_MUST_CHECK;
void onx_picture_clear(onx_picture *picture); /* all black */
/* The file is wrong: INVALID. */
onx_status onx_picture_wrong(const onx_picture *picture, const char *fmt, ...) ONX_PRINTF(2, 3);
/* Functions of a shared library, `n` by their names, into a table of pointers. UNSUPPORTED: they
 * are not there, with a sentence that names the library. */
onx_status onx_codec_library(const onx_picture *picture, const char *library, size_t n,
                             const char *const *names, void *table) ONX_MUST_CHECK;
/* That table, a struct `api`, and the `names`, of the functions in a list F(name) …, which a header
 * declares. */
#define ONX_CODEC_API(FUNCTIONS)                                                                   \
    typedef struct api {                                                                           \
        FUNCTIONS(ONX_CODEC_POINTER)                                                               \
    } api;                                                                                         \
    static const char *const names[] = {FUNCTIONS(ONX_CODEC_NAME)}
#define ONX_CODEC_POINTER(name) __typeof__(name) *name;
#define ONX_CODEC_NAME(name) #name,
/* The codec was left out of this build: UNSUPPORTED, naming what it needs. */
onx_status onx_codec_left_out(const onx_picture *picture, const char *library);
/* A sample of `max` as 0 … 255. */
static inline uint8_t onx_codec_scale(uint32_t value, uint32_t max) {
    return (uint8_t)((value * 255 + max / 2) / max);
}

#endif
