/* enlarge.c: a picture made twice as large by a model, and by bicubic interpolation beside it.
 *
 *     enlarge MODEL PICTURE.ppm OUT.png BICUBIC.png
 *
 * The picture is first halved (each 2 x 2 pixels become their mean), so that there is a truth to
 * compare with: PSNR, in decibels, is how near to it the two enlarged pictures are. Pictures are
 * read as PPM (P6, 8 bits) and written as PNG, without compression. */
#include <onx.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct picture {
    int64_t width, height;
    float *rgb; /* three planes, 0 to 1 */
} picture;

static int fail(const char *what, const onx_diag *diag) {
    char text[1024];
    if (diag) onx_diag_format(diag, text, sizeof text);
    fprintf(stderr, "enlarge: %s%s%s\n", what, diag ? ": " : "", diag ? text : "");
    return 1;
}

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ── Pictures ────────────────────────────────────────────────────────────────────────────────── */

static bool new_picture(int64_t width, int64_t height, picture *out) {
    *out = (picture){width, height, malloc((size_t)(3 * width * height) * sizeof(float))};
    return out->rgb != NULL;
}

static bool read_ppm(const char *path, picture *out) {
    int width, height;
    FILE *file = fopen(path, "rb");
    bool good = file && fscanf(file, "P6 %d %d 255", &width, &height) == 2 && fgetc(file) != EOF &&
                width > 1 && height > 1 && width <= 16384 && height <= 16384 &&
                new_picture(width / 2 * 2, height / 2 * 2, out);
    for (int y = 0; good && y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 3; c++) {
                int byte = fgetc(file);
                if (byte == EOF) good = false;
                if (x < out->width && y < out->height)
                    out->rgb[(c * out->height + y) * out->width + x] = (float)byte / 255;
            }
    if (file) fclose(file);
    return good;
}

static bool halve(const picture *in, picture *out) {
    if (!new_picture(in->width / 2, in->height / 2, out)) return false;
    for (int64_t c = 0; c < 3; c++)
        for (int64_t y = 0; y < out->height; y++)
            for (int64_t x = 0; x < out->width; x++) {
                const float *p = in->rgb + (c * in->height + 2 * y) * in->width + 2 * x;
                out->rgb[(c * out->height + y) * out->width + x] =
                    (p[0] + p[1] + p[in->width] + p[in->width + 1]) / 4;
            }
    return true;
}

static int level(float value) { /* 0 to 255 */
    return (int)lrintf(fminf(fmaxf(value, 0), 1) * 255);
}

static double psnr(const picture *a, const picture *truth) {
    double sum = 0;
    int64_t n = 3 * truth->width * truth->height;
    for (int64_t i = 0; i < n; i++) {
        double d = level(a->rgb[i]) - level(truth->rgb[i]);
        sum += d * d;
    }
    return 10 * log10(255.0 * 255.0 * (double)n / sum);
}

/* ── PNG: chunks with a checksum, pixels in blocks that are not compressed ───────────────────── */

typedef struct png {
    FILE *file;
    uint32_t crc, a, b; /* sums: CRC-32 of a chunk, Adler-32 of the pixels */
} png;

static void put(png *p, const unsigned char *bytes, size_t n) {
    fwrite(bytes, 1, n, p->file);
    for (size_t i = 0; i < n; i++) {
        p->crc ^= bytes[i];
        for (int k = 0; k < 8; k++) p->crc = p->crc >> 1 ^ (p->crc & 1 ? 0xEDB88320u : 0);
    }
}

static void put32(png *p, uint32_t v) {
    put(p,
        (unsigned char[]){(unsigned char)(v >> 24), (unsigned char)(v >> 16),
                          (unsigned char)(v >> 8), (unsigned char)v},
        4);
}

static void begin(png *p, const char *type, size_t size) {
    put32(p, (uint32_t)size);
    p->crc = 0xFFFFFFFFu;
    put(p, (const unsigned char *)type, 4);
}

static void end(png *p) {
    put32(p, ~p->crc);
}

/* One row is one block: a filter byte, then three bytes a pixel. */
static void put_row(png *p, const picture *picture, int64_t y, unsigned char *row) {
    size_t n = 1 + 3 * (size_t)picture->width;
    bool last = y == picture->height - 1;
    row[0] = 0;
    for (int64_t x = 0; x < picture->width; x++)
        for (int64_t c = 0; c < 3; c++)
            row[1 + 3 * x + c] =
                (unsigned char)level(picture->rgb[(c * picture->height + y) * picture->width + x]);
    for (size_t i = 0; i < n; i++) {
        p->a = (p->a + row[i]) % 65521;
        p->b = (p->b + p->a) % 65521;
    }
    put(p,
        (unsigned char[]){last, (unsigned char)n, (unsigned char)(n >> 8), (unsigned char)~n,
                          (unsigned char)(~n >> 8)},
        5);
    put(p, row, n);
}

static bool write_png(const char *path, const picture *picture) {
    static const unsigned char head[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    size_t row_bytes = 1 + 3 * (size_t)picture->width;
    unsigned char *row = row_bytes < 65536 ? malloc(row_bytes) : NULL;
    png p = {.file = row ? fopen(path, "wb") : NULL, .a = 1};
    if (!p.file) {
        free(row);
        return false;
    }
    put(&p, head, sizeof head);
    begin(&p, "IHDR", 13);
    put32(&p, (uint32_t)picture->width);
    put32(&p, (uint32_t)picture->height);
    put(&p, (const unsigned char[]){8, 2, 0, 0, 0}, 5);
    end(&p);
    begin(&p, "IDAT", 6 + (size_t)picture->height * (row_bytes + 5));
    put(&p, (const unsigned char[]){0x78, 0x01}, 2);
    for (int64_t y = 0; y < picture->height; y++) put_row(&p, picture, y, row);
    put32(&p, p.b << 16 | p.a);
    end(&p);
    begin(&p, "IEND", 0);
    end(&p);
    free(row);
    bool good = !ferror(p.file);
    return !fclose(p.file) && good;
}

/* ── Models ──────────────────────────────────────────────────────────────────────────────────── */

/* One run: the picture in, one of twice its size out. */
static onx_status enlarge(onx_session *session, const picture *in, picture *out, onx_diag *diag) {
    size_t bytes = (size_t)(3 * in->height * in->width) * sizeof(float);
    onx_arg x = {.dtype = ONX_DTYPE_F32,
                 .rank = 4,
                 .dims = {1, 3, in->height, in->width},
                 .data = in->rgb,
                 .bytes = bytes};
    onx_arg y = {.dtype = ONX_DTYPE_F32,
                 .rank = 4,
                 .dims = {1, 3, out->height, out->width},
                 .data = out->rgb,
                 .bytes = 4 * bytes};
    return onx_session_run(session, 1, &x, 1, &y, NULL, diag);
}

/* Bicubic interpolation is one node. */
static onx_model *bicubic_model(void) {
    static const float scales[] = {1, 1, 2, 2};
    onx_model *model = onx_model_new(NULL, "bicubic", 18);
    onx_graph *graph = onx_model_graph(model);
    onx_value *x = onx_graph_add_input(graph, "x", "float[1,3,h,w]");
    onx_value *s = onx_graph_add_initializer(graph, "scales", ONX_DTYPE_F32, 1, (int64_t[]){4},
                                             scales, sizeof scales);
    onx_value *y = onx_graph_add_op(graph, "Resize", "y", x, NULL, s);
    onx_node_set_string(onx_value_node(y), "mode", "cubic");
    onx_graph_add_output(graph, y, "float[1,3,H,W]");
    return model;
}

/* Load or take a model, run it, show the time of a run. */
static int apply(onx_model *model, const picture *in, picture *out, double *ms) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session *session;
    if (onx_session_new(model, NULL, &session, &diag)) return fail("session", &diag);
    onx_status status = enlarge(session, in, out, &diag);
    double start = now();
    for (int i = 0; i < 5 && !status; i++) status = enlarge(session, in, out, &diag);
    *ms = (now() - start) / 5;
    onx_session_free(session);
    return status ? fail("run", &diag) : 0;
}

int main(int argc, char **argv) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL, *plain = NULL;
    picture truth = {0}, small = {0}, sharp = {0}, smooth = {0};
    double sharp_ms = 0, smooth_ms = 0;
    if (argc != 5) return fail("give a model, a picture (PPM), and two names for PNG files", NULL);
    if (!read_ppm(argv[2], &truth))
        return fail("the picture cannot be read: PPM, P6, 8 bits", NULL);
    if (!halve(&truth, &small) || !new_picture(truth.width, truth.height, &sharp) ||
        !new_picture(truth.width, truth.height, &smooth))
        return fail("no memory", NULL);
    if (onx_model_load(NULL, argv[1], NULL, &model, &diag)) return fail("load", &diag);
    plain = bicubic_model();
    int status = apply(plain, &small, &smooth, &smooth_ms);
    if (!status) status = apply(model, &small, &sharp, &sharp_ms);
    if (!status && (!write_png(argv[3], &sharp) || !write_png(argv[4], &smooth)))
        status = fail("the pictures cannot be written", NULL);
    if (!status) {
        printf("%lld x %lld pixels to %lld x %lld\n", (long long)small.width,
               (long long)small.height, (long long)sharp.width, (long long)sharp.height);
        printf("  bicubic  %6.2f dB  %7.2f ms  %s\n", psnr(&smooth, &truth), smooth_ms, argv[4]);
        printf("  network  %6.2f dB  %7.2f ms  %s\n", psnr(&sharp, &truth), sharp_ms, argv[3]);
        printf("memory of the library at its peak: %.1f MB\n",
               (double)onx_context_memory_peak(NULL) / 1e6);
    }
    onx_model_free(model);
    onx_model_free(plain);
    free(truth.rgb);
    free(small.rgb);
    free(sharp.rgb);
    free(smooth.rgb);
    return status;
}
