/* codec_jp2.c: JPEG 2000, in a JP2 file or as it is, by OpenJPEG. */
#include "ops/image/codec.h"

#ifdef ONX_HAVE_JP2
#include <openjpeg.h>

#define FUNCTIONS(F)                                                                               \
    F(opj_create_decompress)                                                                       \
    F(opj_set_default_decoder_parameters)                                                          \
    F(opj_setup_decoder)                                                                           \
    F(opj_stream_create)                                                                           \
    F(opj_stream_set_read_function)                                                                \
    F(opj_stream_set_skip_function)                                                                \
    F(opj_stream_set_seek_function)                                                                \
    F(opj_stream_set_user_data)                                                                    \
    F(opj_stream_set_user_data_length)                                                             \
    F(opj_read_header)                                                                             \
    F(opj_decode)                                                                                  \
    F(opj_stream_destroy)                                                                          \
    F(opj_destroy_codec)                                                                           \
    F(opj_image_destroy)

ONX_CODEC_API(FUNCTIONS);

/* ── A file in memory ────────────────────────────────────────────────────────────────────────── */

typedef struct file {
    const onx_picture *picture;
    size_t at;
} file;

static OPJ_SIZE_T read_file(void *to, OPJ_SIZE_T n, void *user) {
    file *f = user;
    size_t left = f->picture->size - f->at;
    if (!left) return (OPJ_SIZE_T)-1;
    if (n > left) n = left;
    memcpy(to, f->picture->data + f->at, n);
    f->at += n;
    return n;
}
static OPJ_OFF_T skip_file(OPJ_OFF_T n, void *user) {
    file *f = user;
    if (n < 0 || (uint64_t)n > f->picture->size - f->at) return -1;
    f->at += (size_t)n;
    return n;
}
static OPJ_BOOL seek_file(OPJ_OFF_T at, void *user) {
    file *f = user;
    if (at < 0 || (uint64_t)at > f->picture->size) return OPJ_FALSE;
    f->at = (size_t)at;
    return OPJ_TRUE;
}

/* ── Pixels ──────────────────────────────────────────────────────────────────────────────────── */

/* A sample of a component, which may be coarser than the picture, as 0 … 255. */
static uint8_t sample(const opj_image_t *image, const opj_image_comp_t *c, size_t x, size_t y) {
    size_t column = x * c->w / (image->x1 - image->x0), row = y * c->h / (image->y1 - image->y0);
    int64_t value = c->data[row * c->w + column], max = ((int64_t)1 << c->prec) - 1;
    if (c->sgnd) value += (int64_t)1 << (c->prec - 1);
    value = value < 0 ? 0 : value > max ? max : value;
    return (uint8_t)((value * 255 + max / 2) / max);
}

static uint8_t clamp(double value) {
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5);
}

static void to_rgb(uint8_t *p) { /* from luma and two chromas */
    double y = p[0], b = p[1] - 128.0, r = p[2] - 128.0;
    p[0] = clamp(y + 1.402 * r);
    p[1] = clamp(y - 0.344136 * b - 0.714136 * r);
    p[2] = clamp(y + 1.772 * b);
}

static bool usable(const opj_image_t *image) {
    for (OPJ_UINT32 i = 0; i < image->numcomps && i < 3; i++) {
        const opj_image_comp_t *c = &image->comps[i];
        if (!c->data || !c->w || !c->h || !c->prec || c->prec > 31) return false;
    }
    return image->numcomps > 0;
}

static onx_status take_pixels(const opj_image_t *image, onx_picture *picture) {
    bool color = image->numcomps >= 3;
    if (!usable(image)) return onx_picture_wrong(picture, "it has no pixels");
    if (picture->width != image->x1 - image->x0 || picture->height != image->y1 - image->y0)
        return onx_picture_wrong(picture, "it is not as large as it says");
    for (size_t y = 0; y < picture->height; y++) {
        for (size_t x = 0; x < picture->width; x++) {
            uint8_t *to = picture->pixels + (y * picture->width + x) * 3;
            for (size_t i = 0; i < 3; i++)
                to[i] = sample(image, &image->comps[color ? i : 0], x, y);
            if (color && image->color_space == OPJ_CLRSPC_SYCC) to_rgb(to);
        }
    }
    return ONX_OK;
}

static onx_status read_picture(const api *a, opj_codec_t *codec, opj_stream_t *stream,
                               onx_picture *picture) {
    opj_dparameters_t parameters;
    opj_image_t *image = NULL;
    onx_status status;
    a->opj_set_default_decoder_parameters(&parameters);
    if (!a->opj_setup_decoder(codec, &parameters) || !a->opj_read_header(stream, codec, &image) ||
        image->x1 < image->x0 || image->y1 < image->y0)
        status = onx_picture_wrong(picture, "its header is wrong");
    else
        status = onx_picture_size(picture, image->x1 - image->x0, image->y1 - image->y0);
    if (status == ONX_OK && !a->opj_decode(codec, stream, image))
        status = onx_picture_wrong(picture, "its data is wrong");
    if (status == ONX_OK) status = take_pixels(image, picture);
    if (image) a->opj_image_destroy(image);
    return status;
}

static onx_status decode_as(onx_picture *picture, OPJ_CODEC_FORMAT format) {
    enum { BUFFER = 1 << 16 };
    api a;
    file f = {picture, 0};
    ONX_TRY(onx_codec_library(picture, ONX_HAVE_JP2, ONX_COUNT(names), names, &a));
    opj_codec_t *codec = a.opj_create_decompress(format);
    opj_stream_t *stream = a.opj_stream_create(BUFFER, OPJ_TRUE);
    onx_status status = ONX_NO_MEMORY;
    if (codec && stream) {
        a.opj_stream_set_user_data(stream, &f, NULL);
        a.opj_stream_set_user_data_length(stream, picture->size);
        a.opj_stream_set_read_function(stream, read_file);
        a.opj_stream_set_skip_function(stream, skip_file);
        a.opj_stream_set_seek_function(stream, seek_file);
        status = read_picture(&a, codec, stream, picture);
    } else
        status = onx_fail_nomem(picture->diag);
    if (stream) a.opj_stream_destroy(stream);
    if (codec) a.opj_destroy_codec(codec);
    return status;
}

static onx_status decode_jp2(onx_picture *picture) {
    return decode_as(picture, OPJ_CODEC_JP2);
}
static onx_status decode_j2k(onx_picture *picture) {
    return decode_as(picture, OPJ_CODEC_J2K);
}
#else
static onx_status decode_jp2(onx_picture *picture) {
    return onx_codec_left_out(picture, "OpenJPEG");
}
static onx_status decode_j2k(onx_picture *picture) {
    return onx_codec_left_out(picture, "OpenJPEG");
}
#endif

const onx_codec onx_codec_jp2 = {"jpeg2000", "\0\0\0\14jP  \r\n\x87\n", 12, decode_jp2};
const onx_codec onx_codec_j2k = {"jpeg2000", "\xff\x4f\xff\x51", 4, decode_j2k};
