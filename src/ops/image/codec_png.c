/* codec_png.c: PNG: all color types and depths, interlaced too. Needs zlib. Transparency is left
 * out, and so are color spaces: samples are as they stand, the high byte of those with two.
 *
 *     chunk:  length, name, data, check sum;   IHDR  PLTE?  IDAT…  IEND
 *     IDAT:   one stream of rows, each behind the number of its filter */
#include "base/zip.h"
#include "ops/image/codec.h"

#ifdef ONX_HAVE_ZLIB
#include <zlib.h>

typedef struct png {
    onx_picture *picture;
    uint32_t width, height, bits, channels;
    bool palette, interlaced;
    const uint8_t *colors;
    size_t n_colors;
    size_t at; /* of the next chunk */
    z_stream zip;
    uint8_t *rows; /* two, each behind its filter */
    size_t rows_bytes;
} png;

static uint32_t u32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The next chunk, whose check sum is right; NULL: there is none. */
static const uint8_t *next_chunk(png *g, size_t *size) {
    const onx_picture *p = g->picture;
    if (p->size - g->at < 12) return NULL;
    const uint8_t *chunk = p->data + g->at;
    *size = u32(chunk);
    if (*size > p->size - g->at - 12) return NULL;
    if (crc32(0, chunk + 4, (uInt)(*size + 4)) != u32(chunk + 8 + *size)) return NULL;
    g->at += *size + 12;
    return chunk + 4;
}

static bool is(const uint8_t *chunk, const char *name) {
    return memcmp(chunk, name, 4) == 0;
}

/* ── Rows ────────────────────────────────────────────────────────────────────────────────────── */

/* `n` bytes of the stream. */
static onx_status inflate_row(png *g, uint8_t *to, size_t n) {
    g->zip.next_out = to;
    g->zip.avail_out = (uInt)n;
    while (g->zip.avail_out) {
        size_t size;
        if (!g->zip.avail_in) {
            const uint8_t *chunk = next_chunk(g, &size);
            if (!chunk || !is(chunk, "IDAT"))
                return onx_picture_wrong(g->picture, "it ends too early");
            g->zip.next_in = (z_const Bytef *)(uintptr_t)(chunk + 4);
            g->zip.avail_in = (uInt)size;
        }
        int status = inflate(&g->zip, Z_NO_FLUSH);
        if (status == Z_MEM_ERROR) return onx_fail_nomem(g->picture->diag);
        bool done = status == Z_STREAM_END && g->zip.avail_out;
        if (done || (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR))
            return onx_picture_wrong(g->picture, "its compressed data is wrong");
    }
    return ONX_OK;
}

static uint8_t paeth(int a, int b, int c) {
    int p = a + b - c, da = p > a ? p - a : a - p, db = p > b ? p - b : b - p;
    int dc = p > c ? p - c : c - p;
    return (uint8_t)(da <= db && da <= dc ? a : db <= dc ? b : c);
}

/* row[-1] is its filter; `above` the row before; a pixel is `step` bytes. */
static bool unfilter(uint8_t *row, const uint8_t *above, size_t n, size_t step) {
    for (size_t i = 0; i < n; i++) {
        unsigned a = i >= step ? row[i - step] : 0, b = above[i];
        unsigned c = i >= step ? above[i - step] : 0;
        switch (row[-1]) {
        case 0: break;
        case 1: row[i] = (uint8_t)(row[i] + a); break;
        case 2: row[i] = (uint8_t)(row[i] + b); break;
        case 3: row[i] = (uint8_t)(row[i] + (a + b) / 2); break;
        case 4: row[i] = (uint8_t)(row[i] + paeth((int)a, (int)b, (int)c)); break;
        default: return false;
        }
    }
    return true;
}

static uint32_t sample(const png *g, const uint8_t *row, size_t i) {
    if (g->bits >= 8) return row[i * (g->bits / 8)];
    unsigned per = 8 / g->bits;
    return row[i / per] >> ((per - 1 - i % per) * g->bits) & ((1u << g->bits) - 1);
}

static void put_pixel(const png *g, const uint8_t *row, size_t x, uint8_t *to) {
    uint32_t max = g->bits >= 8 ? 255 : (1u << g->bits) - 1, v = sample(g, row, x * g->channels);
    if (g->palette) {
        if (v < g->n_colors) memcpy(to, g->colors + 3 * v, 3);
    } else {
        bool gray = g->channels < 3;
        for (size_t k = 0; k < 3; k++)
            to[k] = onx_codec_scale(gray ? v : sample(g, row, x * g->channels + k), max);
    }
}

typedef struct lattice { /* the pixels of one pass: where they begin, how far apart they are */
    uint32_t x, y, dx, dy;
} lattice;

static onx_status read_pass(png *g, lattice l) {
    size_t width = l.x < g->width ? (g->width - l.x + l.dx - 1) / l.dx : 0;
    size_t bits = (size_t)g->bits * g->channels, n = (width * bits + 7) / 8;
    uint8_t *now = g->rows, *above = g->rows + g->rows_bytes / 2;
    if (!width) return ONX_OK;
    memset(above, 0, n + 1);
    for (size_t y = l.y; y < g->height; y += l.dy) {
        ONX_TRY(inflate_row(g, now, n + 1));
        if (!unfilter(now + 1, above + 1, n, bits < 8 ? 1 : bits / 8))
            return onx_picture_wrong(g->picture, "a row has an unknown filter");
        uint8_t *to = g->picture->pixels + y * g->width * 3;
        for (size_t x = 0; x < width; x++) put_pixel(g, now + 1, x, to + (l.x + x * l.dx) * 3);
        uint8_t *t = now;
        now = above;
        above = t;
    }
    return ONX_OK;
}

static onx_status read_passes(png *g) {
    static const lattice adam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                    {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    if (!g->interlaced) return read_pass(g, (lattice){0, 0, 1, 1});
    for (size_t i = 0; i < ONX_COUNT(adam7); i++) ONX_TRY(read_pass(g, adam7[i]));
    return ONX_OK;
}

/* ── Headers ─────────────────────────────────────────────────────────────────────────────────── */

static onx_status read_header(png *g) {
    static const struct {
        uint8_t type, channels, depths; /* depths: 1 | 2 | 4 | 8 | 16 */
    } types[] = {{0, 1, 31}, {2, 3, 24}, {3, 1, 15}, {4, 2, 24}, {6, 4, 24}};
    size_t size = 0, i = 0;
    const uint8_t *chunk = next_chunk(g, &size);
    if (!chunk || !is(chunk, "IHDR") || size != 13)
        return onx_picture_wrong(g->picture, "it has no header");
    const uint8_t *data = chunk + 4;
    g->width = u32(data);
    g->height = u32(data + 4);
    g->bits = data[8];
    while (i < ONX_COUNT(types) && types[i].type != data[9]) i++;
    bool power = g->bits && (g->bits & (g->bits - 1)) == 0 && g->bits <= 16;
    if (i == ONX_COUNT(types) || !power || !(types[i].depths & g->bits) || data[12] > 1)
        return onx_picture_wrong(g->picture, "color type %d of %d bits", data[9], data[8]);
    g->channels = types[i].channels;
    g->palette = data[9] == 3;
    g->interlaced = data[12];
    return ONX_OK;
}

/* Up to the first IDAT, which is left to be read. */
static onx_status read_colors(png *g) {
    for (;;) {
        size_t size = 0, at = g->at;
        const uint8_t *chunk = next_chunk(g, &size);
        if (!chunk) return onx_picture_wrong(g->picture, "it ends too early");
        if (is(chunk, "PLTE")) g->colors = chunk + 4, g->n_colors = size / 3;
        if (!is(chunk, "IDAT")) continue;
        g->at = at;
        break;
    }
    return g->palette && !g->colors ? onx_picture_wrong(g->picture, "it has no palette") : ONX_OK;
}

static onx_status decode(onx_picture *picture) {
    png g = {.picture = picture, .at = 8};
    g.zip = (z_stream){.zalloc = onx_zlib_alloc, .zfree = onx_zlib_free, .opaque = picture->ctx};
    ONX_TRY(read_header(&g));
    ONX_TRY(read_colors(&g));
    double bytes = (double)g.width * g.height * g.bits * g.channels / 8;
    if (bytes > 1100 * (double)picture->size) /* more than deflate can have made of it */
        return onx_picture_wrong(picture, "it is too short for %u x %u pixels", g.width, g.height);
    ONX_TRY(onx_picture_size(picture, g.width, g.height));
    onx_picture_clear(picture);
    g.rows_bytes = 2 * (((size_t)g.width * g.bits * g.channels + 7) / 8 + 1);
    g.rows = onx_mem_alloc(picture->ctx, g.rows_bytes);
    onx_status status = g.rows ? ONX_OK : onx_fail_nomem(picture->diag);
    if (status == ONX_OK && inflateInit(&g.zip) != Z_OK) status = onx_fail_nomem(picture->diag);
    if (status == ONX_OK) {
        status = read_passes(&g);
        (void)inflateEnd(&g.zip);
    }
    onx_mem_free(picture->ctx, g.rows, g.rows_bytes);
    return status;
}
#else
static onx_status decode(onx_picture *picture) {
    return onx_codec_left_out(picture, "zlib");
}
#endif

const onx_codec onx_codec_png = {"png", "\x89PNG\r\n\x1a\n", 8, decode};
