/* test_image.c: ImageDecoder: own decoders by files that are written out, all codecs by ONNX's
 * cases, and files that are wrong. With ONX_REQUIRE_CODECS in the environment a codec that is
 * missing is a failure, else it is skipped. */
#include "test.h"

#include "kernel_case.h"
#include "kernel_text.h"
#include "ops/image/codec.h"

#include <stdlib.h>

/* ─ Codecs that are there ────────────────────────────────────────────────────────────────────── */

static bool built_in(const char *codec) {
    const char *feature;
    for (size_t i = 0; (feature = onx_version_feature(i)); i++)
        if (strstr(feature, codec)) return true;
    return false;
}

TEST(codecs) {
    static const char *const all[] = {"png)", "(jpeg)", "(tiff)", "(webp)", "(jpeg2000)"};
    for (size_t i = 0; i < ONX_COUNT(all); i++) {
        if (built_in(all[i])) continue;
        fprintf(stderr, "    there is no codec %s\n", all[i]);
        if (getenv("ONX_REQUIRE_CODECS"))
            CHECK(built_in(all[i]));
        else
            SKIP("a library was missing when onx was built");
    }
}

/* ─ Files ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status decode(const uint8_t *data, size_t size, onx_picture *out) {
    *out = (onx_picture){.ctx = onx_context_or_default(NULL), .data = data, .size = size};
    return onx_picture_decode(out);
}

static size_t from_hex(const char *hex, uint8_t *out) {
    size_t n = 0;
    for (; hex[0] && hex[1]; hex += 2) {
        char pair[] = {hex[0], hex[1], 0};
        out[n++] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return n;
}

/* Colors in the pictures below: one letter each. */
static char letter(const uint8_t *p) {
    static const struct {
        char name;
        uint8_t rgb[3];
    } colors[] = {{'k', {0, 0, 0}},      {'w', {255, 255, 255}}, {'r', {255, 0, 0}},
                  {'g', {0, 255, 0}},    {'b', {0, 0, 255}},     {'y', {255, 255, 0}},
                  {'h', {128, 128, 128}}};
    for (size_t i = 0; i < ONX_COUNT(colors); i++)
        if (memcmp(colors[i].rgb, p, 3) == 0) return colors[i].name;
    return '?';
}

/* Rows between bars. */
static bool shows(const uint8_t *data, size_t size, const char *want) {
    onx_picture p;
    char got[256] = "";
    size_t n = 0;
    if (decode(data, size, &p) != ONX_OK) return strcmp(want, "!") == 0;
    for (size_t y = 0; y < p.height; y++) {
        if (y) got[n++] = '|';
        for (size_t x = 0; x < p.width; x++) got[n++] = letter(p.pixels + (y * p.width + x) * 3);
    }
    got[n] = 0;
    onx_picture_free(&p);
    if (strcmp(got, want) != 0) fprintf(stderr, "    %s, not %s\n", got, want);
    return strcmp(got, want) == 0;
}

#define HEAD(size, at) "424d" size "00000000" at
#define INFO(w, h, bits, method, colors)                                                           \
    "28000000" w h "0100" bits method "00000000"                                                   \
    "00000000"                                                                                     \
    "00000000" colors "00000000"
#define FOUR "000000000000ff0000ff0000ff000000" /* black, red, green, blue */

TEST(bmp) {
    static const char *const cases[][2] = {
        /* 24 bits, from below; then from above */
        {HEAD("4e000000", "36000000")
             INFO("02000000", "02000000", "1800", "00000000", "00000000") "0000ff00ff000000"
                                                                          "ff0000ffffff0000",
         "bw|rg"},
        {HEAD("4e000000", "36000000")
             INFO("02000000", "feffffff", "1800", "00000000", "00000000") "0000ff00ff000000"
                                                                          "ff0000ffffff0000",
         "rg|bw"},
        /* a palette of 4 colors: 4 bits, 8 bits, 1 bit, 2 bits */
        {HEAD("4e000000", "46000000") INFO("03000000", "01000000", "0400", "00000000", "04000000")
             FOUR "12300000",
         "rgb"},
        {HEAD("4e000000", "46000000") INFO("03000000", "01000000", "0800", "00000000", "04000000")
             FOUR "01020300",
         "rgb"},
        {HEAD("4e000000", "3e000000")
             INFO("03000000", "01000000", "0100", "00000000", "00000000") "0000ff0000ff0000"
                                                                          "40000000",
         "rgr"},
        {HEAD("4e000000", "46000000") INFO("04000000", "01000000", "0200", "00000000", "04000000")
             FOUR "1b000000",
         "krgb"},
        /* a color that the palette does not have */
        {HEAD("4e000000", "46000000") INFO("02000000", "01000000", "0800", "00000000", "04000000")
             FOUR "01ff0000",
         "rk"},
        /* 16 bits of 5; with fields of 5, 6, 5; 32 bits */
        {HEAD("4e000000", "36000000")
             INFO("02000000", "01000000", "1000", "00000000", "00000000") "007ce003",
         "rg"},
        {HEAD("4e000000", "42000000")
             INFO("02000000", "01000000", "1000", "03000000", "00000000") "00f80000e00700001f000000"
                                                                          "00f8e007",
         "rg"},
        {HEAD("4e000000", "36000000")
             INFO("02000000", "01000000", "2000", "00000000", "00000000") "0000ff00ff0000ff",
         "rb"},
        /* run lengths: 2 red, end of row, literal 3, step, end */
        {HEAD("4e000000", "46000000") INFO("04000000", "02000000", "0800", "01000000", "04000000")
             FOUR "0201"
                  "0000"
                  "0003010203"
                  "00"
                  "0001",
         "rgbk|rrkk"},
        {HEAD("4e000000", "46000000") INFO("04000000", "02000000", "0800", "01000000", "04000000")
             FOUR "0101"
                  "00020201"
                  "0103"
                  "0001",
         "kkkb|rkkk"},
        {HEAD("4e000000", "46000000") INFO("04000000", "01000000", "0400", "02000000", "04000000")
             FOUR "0312"
                  "0101"
                  "0001",
         "rgrk"},
        /* an old header */
        {"424d200000000000000020000000"
         "0c000000"
         "0200"
         "0100"
         "0100"
         "0100"
         "0000ff"
         "ff0000"
         "40000000",
         "rb"},
        /* wrong: no pixels, a method, bits, too short, a palette that is not there */
        {HEAD("4e000000", "36000000") INFO("00000000", "02000000", "1800", "00000000", "00000000"),
         "!"},
        {HEAD("4e000000", "36000000")
             INFO("01000000", "01000000", "1800", "09000000", "00000000") "00000000",
         "!"},
        {HEAD("4e000000", "36000000")
             INFO("01000000", "01000000", "0700", "00000000", "00000000") "00000000",
         "!"},
        {HEAD("4e000000", "36000000")
             INFO("02000000", "02000000", "1800", "00000000", "00000000") "0000ff00ff000000",
         "!"},
        {HEAD("4e000000", "36000000")
             INFO("01000000", "00000080", "1800", "00000000", "00000000") "00000000",
         "!"},
        {HEAD("4e000000", "36000000")
             INFO("01000000", "01000000", "0800", "00000000", "00000000") "00000000",
         "!"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        uint8_t data[256];
        if (!CHECK(shows(data, from_hex(cases[i][0], data), cases[i][1])))
            fprintf(stderr, "    case %zu\n", i);
    }
}

TEST(pnm) {
    static const struct {
        const char *file;
        size_t size;
        const char *want;
    } cases[] = {
        {"P1 3 2 010 1 1 1", 16, "wkw|kkk"},
        {"P1\n#a\n2 1\n#b\n1#c\n0", 20, "kw"},
        {"P2 3 1 2 0 2 1", 14, "kwh"},
        {"P3 2 1 255 255 0 0 0 0 255", 26, "rb"},
        {"P4 10 2\n\x80\x40\xff\xff", 12, "kwwwwwwwwk|kkkkkkkkkk"},
        {"P5 3 1 255\n\x00\xff\x80", 14, "kwh"},
        {"P5 2 1 65535\n\x00\x00\xff\xff", 17, "kw"},
        {"P6 2 1 255\n\xff\x00\x00\x00\xff\x00", 17, "rg"},
        {"P2 1 1 2 9", 10, "w"},
        {"P6 2 1 255\n\xff\x00\x00\x00\xff", 16, "!"},
        {"P2 2 1 255 1", 12, "!"},
        {"P2 2 1 0 1 1", 12, "!"},
        {"P2 2 1 65536 1 1", 16, "!"},
        {"P5 99999999 99999999 255\n", 25, "!"},
        {"P5 -1 1 255\n", 12, "!"},
        {"P5 0 1 255\n", 11, "!"},
        {"P7 1 1", 6, "!"},
        {"P5", 2, "!"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++)
        if (!CHECK(shows((const uint8_t *)cases[i].file, cases[i].size, cases[i].want)))
            fprintf(stderr, "    %s\n", cases[i].file);
}

/* Interlaced; all filters, in two chunks; a palette of 2 bits. */
static const char *const png_files[] = {
    "89504e470d0a1a0a0000000d4948445200000005000000030802000001a3536239000000174944415478da0dc84101"
    "000008c240e2188210c6218e71164b1ef713b3f09a0000001849444154d824a1ab2d850d1734221d13d29219b326e6"
    "cc03d78313ede5988ca90000000049454e44ae426082",
    "89504e470d0a1a0a0000000d49484452000000050000000608020000008499c31c0000001c4944415478da63646038"
    "a1c1c000474c0cc83c0d0666069b141111063862010977fc485b0000001c49444154a380052734169c085870a262c1"
    "89050b4e30329c40310f00eb830e6c917267630000000049454e44ae426082",
    "89504e470d0a1a0a0000000d4948445200000005000000020203000000ed04fece0000000c504c5445000000ff0000"
    "00ff000000ff9bc013dc000000074944415478da639066607831dfb3230000000749444154720000031501c0b88627"
    "a20000000049454e44ae426082"};

TEST(png) {
    if (!built_in("png)")) SKIP("built without zlib");
    uint8_t data[256];
    onx_picture p;
    for (size_t i = 0; i < 2; i++) {
        REQUIRE(decode(data, from_hex(png_files[i], data), &p) == ONX_OK);
        CHECK(p.width == 5 && p.height == (i ? 6 : 3));
        for (size_t y = 0; y < p.height; y++)
            for (size_t x = 0; x < 5; x++) {
                const uint8_t *rgb = p.pixels + (y * 5 + x) * 3;
                CHECK(rgb[0] == x * 40 && rgb[1] == y * (i ? 40 : 60) && rgb[2] == 200);
            }
        onx_picture_free(&p);
    }
    CHECK(shows(data, from_hex(png_files[2], data), "krgbk|bgrkb"));
    size_t size = from_hex(png_files[2], data);
    data[size - 20] ^= 1; /* a check sum */
    CHECK(shows(data, size, "!"));
}

/* ─ Wrong files ──────────────────────────────────────────────────────────────────────────────── */

/* Bytes changed, and files cut: a picture, or a status; the allocator is as it was. */
static void damage(const uint8_t *file, size_t size, uint64_t seed) {
    onx_context *ctx = onx_context_or_default(NULL);
    size_t used = atomic_load(&ctx->memory_used);
    uint8_t *data = malloc(size ? size : 1);
    for (size_t i = 0; i < 60 && data; i++) {
        size_t n = size;
        onx_picture p;
        memcpy(data, file, size);
        for (size_t k = 0; k < 1 + i % 4; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size_t reach = seed >> 62 ? size : size < 64 ? size : 64;
            data[(seed >> 20) % reach] = (uint8_t)(seed >> 50);
        }
        if (i % 3 == 0) n = (size_t)(seed >> 33) % size;
        onx_status status = decode(data, n, &p);
        CHECK(status == ONX_OK || status == ONX_INVALID || status == ONX_LIMIT ||
              status == ONX_UNSUPPORTED || status == ONX_NO_MEMORY);
        onx_picture_free(&p);
        CHECK_EQ(atomic_load(&ctx->memory_used), used);
    }
    free(data);
}

TEST(hostile) {
    uint8_t data[256];
    for (size_t i = 0; i < ONX_COUNT(png_files); i++) damage(data, from_hex(png_files[i], data), i);
    static const char *const kinds[] = {"bmp", "jpeg2k", "jpeg", "png", "pnm", "tiff", "webp"};
    const char *folder = getenv("ONX_DATA");
    if (!folder) SKIP("ONX_DATA is not set");
    for (size_t i = 0; i < ONX_COUNT(kinds); i++) {
        char path[1024];
        kernel_case c;
        (void)snprintf(path, sizeof path, "%s/node/test_image_decoder_decode_%s_rgb", folder,
                       kinds[i]);
        REQUIRE(kernel_case_load(path, &c));
        damage(c.in[0]->data, (size_t)c.in[0]->count, i);
        kernel_case_free(&c);
    }
}

/* What cannot be decoded has no pixels; too many pixels are a failure. */
TEST(node) {
    static const kernel_line lines[] = {
        {20, "uint8[3] x = {1,2,3}", "y = ImageDecoder(x)", "[0,0,3]"},
        {20, "uint8[0] x = {}", "y = ImageDecoder<pixel_format=\"Grayscale\">(x)", "[0,0,1]"},
        {20, "uint8[14] x = {80,54,32,49,32,49,32,50,53,53,10,1,2,3}",
         "y = ImageDecoder<pixel_format=\"BGR\">(x)", "[1,1,3] 3 2 1"},
        {20, "uint8[14] x = {80,54,32,49,32,49,32,50,53,53,10,255,0,100}",
         "y = ImageDecoder<pixel_format=\"Grayscale\">(x)", "[1,1,1] 88"},
        {20, "uint8[1] x = {1}", "y = ImageDecoder<pixel_format=\"rgb\">(x)", "!one of RGB"},
        {20, "uint8[1,1] x = {1}", "y = ImageDecoder(x)", "!it needs 1"},
    };
    CHECK_EQ(kernel_lines_fail(lines, ONX_COUNT(lines)), 0);
}

TEST(backend) {
    if (!getenv("ONX_DATA")) SKIP("ONX_DATA is not set");
    if (!getenv("ONX_REQUIRE_CODECS") &&
        !(built_in("png)") && built_in("(jpeg)") && built_in("(tiff)") && built_in("(webp)") &&
          built_in("(jpeg2000)")))
        SKIP("a library was missing when onx was built");
    size_t failed = 0;
    CHECK_EQ(kernel_backend("image_decoder_", "", &failed), 9);
    CHECK_EQ(failed, 0);
}

TEST_MAIN(E(codecs) E(bmp) E(pnm) E(png) E(hostile) E(node) E(backend))
