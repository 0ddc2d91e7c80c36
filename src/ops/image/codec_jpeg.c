/* codec_jpeg.c: JPEG, by libjpeg. Chroma is upsampled smoothly, which is the library's default. */
#include "ops/image/codec.h"

#ifdef ONX_HAVE_JPEG
#include <setjmp.h>
#include <stdio.h> /* before jpeglib.h, which needs it */

#include <jerror.h>
#include <jpeglib.h>

#define FUNCTIONS(F)                                                                               \
    F(jpeg_std_error)                                                                              \
    F(jpeg_CreateDecompress)                                                                       \
    F(jpeg_mem_src)                                                                                \
    F(jpeg_read_header)                                                                            \
    F(jpeg_start_decompress)                                                                       \
    F(jpeg_read_scanlines)                                                                         \
    F(jpeg_destroy_decompress)

ONX_CODEC_API(FUNCTIONS);

typedef struct decoder {
    struct jpeg_error_mgr errors; /* first: the library hands it to `fail` as its own */
    jmp_buf way_out;
    struct jpeg_decompress_struct jpeg;
    struct jpeg_progress_mgr progress;
    uint8_t *row; /* of CMYK */
    size_t row_bytes;
} decoder;

static void fail(j_common_ptr jpeg) {
    longjmp(((decoder *)(void *)jpeg->err)->way_out, 1);
}

static void silent(j_common_ptr jpeg) {
    (void)jpeg;
}

/* Progressive files make the library go through the whole picture for each scan: there is an end
 * to how many it may have. */
static void warn(j_common_ptr jpeg, int level) {
    if (level < 0 && ++jpeg->err->num_warnings > 1000) fail(jpeg);
}
static void check_scans(j_common_ptr jpeg) {
    if (((j_decompress_ptr)jpeg)->input_scan_number > 500) fail(jpeg);
}

static void cmyk_to_rgb(const decoder *d, uint8_t *to, size_t width) {
    bool inverted = d->jpeg.saw_Adobe_marker;
    for (size_t x = 0; x < width; x++) {
        const uint8_t *from = d->row + 4 * x;
        unsigned k = inverted ? from[3] : 255u - from[3];
        for (size_t i = 0; i < 3; i++) {
            unsigned c = inverted ? from[i] : 255u - from[i];
            to[3 * x + i] = (uint8_t)((c * k + 127) / 255);
        }
    }
}

/* All that may leave by the way out: what it changes and needs afterwards is in `d`. */
static onx_status read_picture(const api *a, decoder *d, onx_picture *picture) {
    struct jpeg_decompress_struct *jpeg = &d->jpeg;
    d->progress.progress_monitor = check_scans;
    jpeg->progress = &d->progress;
    a->jpeg_mem_src(jpeg, (unsigned char *)(uintptr_t)picture->data, (unsigned long)picture->size);
    (void)a->jpeg_read_header(jpeg, TRUE);
    bool cmyk = jpeg->num_components == 4;
    uint64_t count = (uint64_t)jpeg->image_width * jpeg->image_height;
    if (count / 1024 > picture->size + 64) /* not a bit for each block of 8 x 8 */
        return onx_picture_wrong(picture, "it is too short for %llu pixels",
                                 (unsigned long long)count);
    jpeg->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    ONX_TRY(onx_picture_size(picture, jpeg->image_width, jpeg->image_height));
    if (cmyk) {
        d->row_bytes = 4 * picture->width;
        d->row = onx_mem_alloc(picture->ctx, d->row_bytes);
        if (!d->row) return onx_fail_nomem(picture->diag);
    }
    (void)a->jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *to = picture->pixels + jpeg->output_scanline * picture->width * 3;
        JSAMPROW row = cmyk ? d->row : to;
        if (a->jpeg_read_scanlines(jpeg, &row, 1) != 1)
            return onx_picture_wrong(picture, "it ends too early");
        if (cmyk) cmyk_to_rgb(d, to, picture->width);
    }
    return ONX_OK;
}

static onx_status guarded(const api *a, decoder *d, onx_picture *picture) {
    if (setjmp(d->way_out))
        return d->errors.msg_code == JERR_OUT_OF_MEMORY
                   ? onx_fail_nomem(picture->diag)
                   : onx_picture_wrong(picture, "libjpeg: error %d", d->errors.msg_code);
    a->jpeg_CreateDecompress(&d->jpeg, JPEG_LIB_VERSION, sizeof d->jpeg);
    return read_picture(a, d, picture);
}

static onx_status decode(onx_picture *picture) {
    api a;
    ONX_TRY(onx_codec_library(picture, ONX_HAVE_JPEG, ONX_COUNT(names), names, &a));
    decoder *d = onx_mem_alloc(picture->ctx, sizeof *d);
    if (!d) return onx_fail_nomem(picture->diag);
    memset(d, 0, sizeof *d);
    d->jpeg.err = a.jpeg_std_error(&d->errors);
    d->errors.error_exit = fail;
    d->errors.emit_message = warn;
    d->errors.output_message = silent;
    onx_status status = guarded(&a, d, picture);
    a.jpeg_destroy_decompress(&d->jpeg);
    if (d->row) onx_mem_free(picture->ctx, d->row, d->row_bytes);
    onx_mem_free(picture->ctx, d, sizeof *d);
    return status;
}
#else
static onx_status decode(onx_picture *picture) {
    return onx_codec_left_out(picture, "libjpeg");
}
#endif

const onx_codec onx_codec_jpeg = {"jpeg", "\xff\xd8\xff", 3, decode};
