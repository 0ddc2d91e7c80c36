/* codec_pnm.c: portable bitmaps, graymaps and pixmaps: P1 … P6, in digits or bytes. */
#include "ops/image/codec.h"

typedef struct reader {
    const onx_picture *picture;
    size_t at;
} reader;

static bool is_space(uint8_t c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Over white space and comments. */
static void skip(reader *r) {
    const onx_picture *p = r->picture;
    while (r->at < p->size && (is_space(p->data[r->at]) || p->data[r->at] == '#')) {
        if (p->data[r->at] == '#')
            while (r->at < p->size && p->data[r->at] != '\n') r->at++;
        else
            r->at++;
    }
}

/* A number in digits; of bitmaps, one digit is one. */
static bool number(reader *r, bool single, uint32_t *out) {
    const onx_picture *p = r->picture;
    skip(r);
    size_t first = r->at;
    *out = 0;
    while (r->at < p->size && p->data[r->at] >= '0' && p->data[r->at] <= '9') {
        *out = *out * 10 + (uint32_t)(p->data[r->at++] - '0');
        if (single) break;
        if (*out > 100000000) return false;
    }
    return r->at > first;
}

/* A sample in bytes: of bitmaps, a bit, of which each row begins with a new byte. */
static bool sample(reader *r, size_t x, bool bitmap, uint32_t max, uint32_t *out) {
    const onx_picture *p = r->picture;
    size_t wide = max > 255 ? 2 : 1;
    if (bitmap) {
        if (r->at + x / 8 >= p->size) return false;
        *out = p->data[r->at + x / 8] >> (7 - x % 8) & 1;
        return true;
    }
    if (p->size - r->at < wide) return false;
    *out = wide == 2 ? (uint32_t)p->data[r->at] << 8 | p->data[r->at + 1] : p->data[r->at];
    r->at += wide;
    return true;
}

static onx_status decode(onx_picture *picture) {
    unsigned kind = picture->data[1] - '0';
    bool bytes = kind > 3, bitmap = kind == 1 || kind == 4;
    size_t channels = kind == 3 || kind == 6 ? 3 : 1;
    reader r = {picture, 2};
    uint32_t width, height, max = 1, value = 0;
    if (kind < 1 || kind > 6) return onx_picture_wrong(picture, "there is no such kind");
    if (!number(&r, false, &width) || !number(&r, false, &height) ||
        (!bitmap && !number(&r, false, &max)) || max < 1 || max > 65535)
        return onx_picture_wrong(picture, "its sizes cannot be read");
    r.at += bytes && r.at < picture->size; /* one byte of white space */
    uint64_t least = bitmap && bytes ? ((uint64_t)width + 7) / 8 * height
                                     : (uint64_t)width * height * (bytes ? channels : 1);
    if (picture->size - r.at < least) return onx_picture_wrong(picture, "it ends too early");
    ONX_TRY(onx_picture_size(picture, width, height));
    uint8_t *to = picture->pixels;
    for (size_t y = 0; y < height; y++, r.at += bitmap && bytes ? (width + 7) / 8 : 0) {
        for (size_t i = 0; i < width * channels; i++) {
            if (bytes ? !sample(&r, i, bitmap, max, &value) : !number(&r, bitmap, &value))
                return onx_picture_wrong(picture, "it ends too early");
            if (value > max) value = max;
            uint8_t v = onx_codec_scale(bitmap ? 1 - value : value, max);
            for (size_t k = 0; k < 3 / channels; k++) *to++ = v; /* gray is all three */
        }
    }
    return ONX_OK;
}

const onx_codec onx_codec_pnm = {"pnm", "P?", 2, decode};
