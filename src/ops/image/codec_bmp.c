/* codec_bmp.c: Windows bitmaps: 1 to 32 bits, palettes, bit fields, run lengths. What a file does
 * not say of its pixels stays black. */
#include "ops/image/codec.h"

typedef struct bmp {
    onx_picture *picture;
    uint32_t bits, method, colors, masks[3];
    bool upside;                         /* the first row is the top one */
    size_t pixels_at, palette_at, entry; /* places in the file; bytes of a color */
} bmp;

enum { RGB = 0, RLE8 = 1, RLE4 = 2, FIELDS = 3, ALPHA_FIELDS = 6 };

static uint32_t u16(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8;
}

/* ── Pixels ──────────────────────────────────────────────────────────────────────────────────── */

static uint8_t *row_of(const bmp *b, size_t row) {
    const onx_picture *p = b->picture;
    return p->pixels + (b->upside ? row : p->height - 1 - row) * p->width * 3;
}

static void put_color(const bmp *b, uint32_t index, uint8_t *to) {
    const uint8_t *c = b->picture->data + b->palette_at + index * b->entry;
    if (index >= b->colors) return;
    to[0] = c[2], to[1] = c[1], to[2] = c[0];
}

static uint8_t field(uint32_t value, uint32_t mask) {
    if (!mask) return 0;
    unsigned shift = (unsigned)__builtin_ctz(mask);
    uint32_t max = mask >> shift, v = (value & mask) >> shift;
    for (; max > 0xffff; max >>= 1) v >>= 1; /* more than can matter */
    return onx_codec_scale(v, max);
}

static void put_pixel(const bmp *b, const uint8_t *row, size_t x, uint8_t *to) {
    unsigned per = 8 / (b->bits < 8 ? b->bits : 8);
    if (b->bits <= 8) {
        unsigned shift = (unsigned)(per - 1 - x % per) * b->bits;
        put_color(b, row[x / per] >> shift & ((1u << b->bits) - 1), to);
    } else if (b->bits == 24) {
        to[0] = row[3 * x + 2], to[1] = row[3 * x + 1], to[2] = row[3 * x];
    } else {
        uint32_t v = b->bits == 16 ? u16(row + 2 * x) : onx_load_u32(row + 4 * x);
        for (size_t i = 0; i < 3; i++) to[i] = field(v, b->masks[i]);
    }
}

static onx_status plain(const bmp *b) {
    onx_picture *p = b->picture;
    uint64_t stride = ((uint64_t)p->width * b->bits + 31) / 32 * 4;
    if (p->size < b->pixels_at || (p->size - b->pixels_at) / stride < p->height)
        return onx_picture_wrong(p, "it ends too early");
    for (size_t y = 0; y < p->height; y++)
        for (size_t x = 0; x < p->width; x++)
            put_pixel(b, p->data + b->pixels_at + y * stride, x, row_of(b, y) + 3 * x);
    return ONX_OK;
}

/* Pairs of bytes: a length and a color; or 0 and: 0 end of row, 1 end, 2 a step, n pixels. */
static onx_status run_lengths(const bmp *b) {
    const onx_picture *p = b->picture;
    const uint8_t *at = p->data + b->pixels_at, *end = p->data + p->size;
    size_t x = 0, y = 0;
    unsigned per = 8 / b->bits;
    while (end - at >= 2 && y < p->height) {
        unsigned n = *at++, value = *at++;
        if (n == 0 && value == 0) {
            x = 0, y++;
        } else if (n == 0 && value == 1) {
            return ONX_OK;
        } else if (n == 0 && value == 2) {
            if (end - at < 2) break;
            x += *at++, y += *at++;
        } else {
            bool literal = n == 0;
            size_t bytes = literal ? ((size_t)value + per - 1) / per : 0;
            if ((size_t)(end - at) < bytes) break;
            n = literal ? value : n;
            for (unsigned i = 0; i < n; i++, x++) {
                unsigned from = literal ? at[i / per] : value,
                         shift = (per - 1 - i % per) * b->bits;
                if (x < p->width && y < p->height)
                    put_color(b, from >> shift & ((1u << b->bits) - 1), row_of(b, y) + 3 * x);
            }
            at += bytes + (bytes & 1 && end - at > (ptrdiff_t)bytes);
        }
    }
    return ONX_OK; /* rows that are missing stay black */
}

/* ── Headers ─────────────────────────────────────────────────────────────────────────────────── */

static bool known(const bmp *b) {
    bool rle = (b->method == RLE8 && b->bits == 8) || (b->method == RLE4 && b->bits == 4);
    bool fields =
        (b->method == FIELDS || b->method == ALPHA_FIELDS) && (b->bits == 16 || b->bits == 32);
    bool bits = b->bits == 1 || b->bits == 2 || b->bits == 4 || b->bits == 8 || b->bits == 16 ||
                b->bits == 24 || b->bits == 32;
    return (rle && !b->upside) || fields || (b->method == RGB && bits);
}

/* Behind a header of 40 bytes they come before the palette; larger ones contain them. */
static void read_masks(bmp *b, size_t header) {
    static const uint32_t of16[] = {0x7c00, 0x3e0, 0x1f}, of32[] = {0xff0000, 0xff00, 0xff};
    bool given = b->method == FIELDS || b->method == ALPHA_FIELDS;
    for (size_t i = 0; i < 3; i++) {
        b->masks[i] = b->bits == 16 ? of16[i] : of32[i];
        if (given && b->picture->size >= 66)
            b->masks[i] = onx_load_u32(b->picture->data + 54 + 4 * i);
    }
    if (given && header == 40) b->palette_at += b->method == FIELDS ? 12 : 16;
}

static onx_status decode(onx_picture *picture) {
    const uint8_t *data = picture->data;
    bmp b = {.picture = picture};
    if (picture->size < 26) return onx_picture_wrong(picture, "it ends too early");
    uint32_t header = onx_load_u32(data + 14);
    bool core = header == 12;
    if (!core && (header < 40 || picture->size < 54))
        return onx_picture_wrong(picture, "a header of %u bytes", header);
    int32_t width = core ? (int32_t)u16(data + 18) : (int32_t)onx_load_u32(data + 18);
    int32_t height = core ? (int32_t)u16(data + 20) : (int32_t)onx_load_u32(data + 22);
    b.upside = height < 0;
    b.bits = u16(data + (core ? 24 : 28));
    b.method = core ? RGB : onx_load_u32(data + 30);
    b.pixels_at = onx_load_u32(data + 10);
    b.palette_at = 14 + (size_t)header;
    b.entry = core ? 3 : 4;
    if (!known(&b) || width <= 0 || height == INT32_MIN)
        return onx_picture_wrong(picture, "%u bits by method %u", b.bits, b.method);
    read_masks(&b, header);
    uint32_t colors = core ? 0 : onx_load_u32(data + 46), most = b.bits <= 8 ? 1u << b.bits : 0;
    b.colors = colors && colors < most ? colors : most;
    if (b.palette_at > picture->size || (picture->size - b.palette_at) / b.entry < b.colors ||
        b.pixels_at > picture->size)
        return onx_picture_wrong(picture, "it ends too early");
    ONX_TRY(onx_picture_size(picture, (uint64_t)width, (uint64_t)(b.upside ? -height : height)));
    onx_picture_clear(picture);
    return b.method == RLE8 || b.method == RLE4 ? run_lengths(&b) : plain(&b);
}

const onx_codec onx_codec_bmp = {"bmp", "BM", 2, decode};
