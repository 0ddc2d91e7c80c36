/* test_signal.c: DFT and STFT against their definitions, windows, mel weights, refusals. */
#include "test.h"

#include "kernel_text.h"

#include <math.h>

static const double circle = 6.283185307179586476925286766559;

/* ─ Transforms ───────────────────────────────────────────────────────────────────────────────── */

/* One number of a transform of length n over x[count][parts], by the definition. */
static void defined(const double *x, size_t count, size_t parts, size_t n, size_t k, bool inverse,
                    double out[2]) {
    out[0] = out[1] = 0;
    for (size_t i = 0; i < n && i < count; i++) {
        double angle = (inverse ? 1 : -1) * circle * (double)(i * k % n) / (double)n;
        double re = x[i * parts], im = parts == 2 ? x[i * parts + 1] : 0;
        out[0] += re * cos(angle) - im * sin(angle);
        out[1] += re * sin(angle) + im * cos(angle);
    }
    out[0] /= inverse ? (double)n : 1;
    out[1] /= inverse ? (double)n : 1;
}

static void fill(double *x, size_t n) {
    float values[4096];
    kernel_fill(values, n, n, -1, 1);
    for (size_t i = 0; i < n; i++) x[i] = values[i];
}

/* The largest error of y = DFT of `count` numbers, made `length` long (0: as they are). */
static double error_of(onx_dtype dtype, size_t count, size_t parts, int64_t length, bool inverse,
                       bool onesided) {
    static double x[4096], y[8192];
    static char data[32768];
    char dims[64], node[100];
    int64_t axis = 1;
    fill(x, count * parts);
    (void)onx_dtype_convert(ONX_DTYPE_F64, x, dtype, data, count * parts, false);
    (void)onx_dtype_convert(dtype, data, ONX_DTYPE_F64, x, count * parts, false);
    (void)snprintf(dims, sizeof dims, "1,%zu,%zu", count, parts);
    (void)snprintf(node, sizeof node, "y = DFT<inverse=%d, onesided=%d>(x, n, a)", inverse,
                   onesided);
    onx_operand in = kernel_operand(dtype, dims, data);
    onx_operand n = kernel_operand(ONX_DTYPE_I64, "", &length);
    onx_operand a = kernel_operand(ONX_DTYPE_I64, "", &axis);
    kernel_result r =
        kernel_run("ref", 20, node, 3, (onx_operand *[]){&in, length ? &n : NULL, &a}, 0);
    size_t size = length ? (size_t)length : count, bins = onesided ? size / 2 + 1 : size;
    if (r.status != ONX_OK || r.out[0].dims[1] != (int64_t)bins) return HUGE_VAL;
    (void)onx_dtype_convert(dtype, r.out[0].data, ONX_DTYPE_F64, y, 2 * bins, false);
    kernel_free(&r);
    double worst = 0, want[2];
    for (size_t k = 0; k < bins; k++) {
        defined(x, count, parts, size, k, inverse, want);
        worst = fmax(worst, fmax(fabs(want[0] - y[2 * k]), fabs(want[1] - y[2 * k + 1])));
    }
    return worst;
}

/* Powers of two, small factors, primes, and products of large ones. */
TEST(every_length) {
    static const size_t sizes[] = {13,  17,  23,  27,  31,  64,  77,  97,  100, 121,  128,
                                   169, 221, 243, 256, 289, 343, 360, 509, 512, 1000, 1021};
    for (size_t n = 1; n <= 12; n++)
        for (int way = 0; way < 4; way++)
            CHECK(error_of(ONX_DTYPE_F64, n, 1 + (size_t)way / 2, 0, way & 1, false) < 1e-13);
    for (size_t i = 0; i < ONX_COUNT(sizes); i++) {
        CHECK(error_of(ONX_DTYPE_F64, sizes[i], 1, 0, false, false) < 1e-12);
        CHECK(error_of(ONX_DTYPE_F64, sizes[i], 2, 0, true, false) < 1e-12);
        CHECK(error_of(ONX_DTYPE_F64, sizes[i], 1, 0, false, true) < 1e-12);
        CHECK(error_of(ONX_DTYPE_F32, sizes[i], 2, 0, false, false) < 2e-4);
    }
}

TEST(other_lengths_and_types) {
    CHECK(error_of(ONX_DTYPE_F64, 10, 2, 7, false, false) < 1e-13);
    CHECK(error_of(ONX_DTYPE_F64, 10, 2, 23, true, false) < 1e-13);
    CHECK(error_of(ONX_DTYPE_F64, 10, 1, 16, false, true) < 1e-13);
    CHECK(error_of(ONX_DTYPE_F64, 10, 1, 1, false, true) < 1e-13);
    CHECK(error_of(ONX_DTYPE_F32, 12, 1, 0, false, false) < 1e-6);
    CHECK(error_of(ONX_DTYPE_F16, 12, 1, 0, false, false) < 1e-2);
    CHECK(error_of(ONX_DTYPE_BF16, 12, 2, 0, true, false) < 1e-2);
}

/* Every instruction set against the plain kernel: several lines at once, also along inner axes.
 * Complex numbers have the same bits. */
static void compare(const char *node, size_t n, onx_operand *const *in, bool exact) {
    kernel_result want = kernel_run("ref", 20, node, n, in, 0);
    REQUIRE(want.status == ONX_OK);
    for (const char *const *t = kernel_tiers_fast(); *t; t++) {
        kernel_result got = kernel_run(*t, 20, node, n, in, 0);
        REQUIRE(got.status == ONX_OK && got.out[0].bytes == want.out[0].bytes);
        bool same = memcmp(got.out[0].data, want.out[0].data, want.out[0].bytes) == 0;
        if (!CHECK(exact ? same : kernel_distance(&got.out[0], &want.out[0]) < 2e-6))
            fprintf(stderr, "    %s on %s of %lld\n", node, *t, (long long)in[0]->dims[1]);
        kernel_free(&got);
    }
    kernel_free(&want);
}
TEST(many_lines) {
    static const int64_t sizes[] = {1,  2,  3,  4,  5,  6,   7,   8,   9,   11,  12, 13,
                                    16, 20, 26, 33, 64, 100, 121, 128, 200, 360, 512};
    static float data[3 * 512 * 5 * 2], window[512];
    static char odd[sizeof data + 1];
    kernel_fill(data, ONX_COUNT(data), 1, -1, 1);
    kernel_fill(window, 512, 2, 0, 1);
    memcpy(odd + 1, data, sizeof data);
    for (size_t i = 0; i < ONX_COUNT(sizes) * 4; i++) {
        int64_t n = sizes[i / 4], parts = 1 + (int64_t)i % 2, axis = 1, step = 1 + n / 3;
        char dims[64], node[100], length[20];
        (void)snprintf(dims, sizeof dims, "3,%d,5,%d", (int)n, (int)parts);
        (void)snprintf(length, sizeof length, "%d", (int)n);
        onx_operand x = kernel_operand(ONX_DTYPE_F32, dims, odd + 1);
        onx_operand a = kernel_operand(ONX_DTYPE_I64, "", &axis);
        bool inverse = i / 2 % 2, onesided = inverse == (parts == 2);
        (void)snprintf(node, sizeof node, "y = DFT<inverse=%d, onesided=%d>(x, , a)", inverse,
                       onesided && n > 1);
        compare(node, 3, (onx_operand *[]){&x, NULL, &a}, parts == 2 && n != 13 && n != 26);
        if (parts == 2) continue;
        onx_operand signal = kernel_operand(ONX_DTYPE_F32, "2,1500,1", data);
        onx_operand s = kernel_operand(ONX_DTYPE_I64, "", &step);
        onx_operand w = kernel_operand(ONX_DTYPE_F32, length, window);
        compare(inverse ? "y = STFT<onesided=0>(x, s, w)" : "y = STFT(x, s, w)", 3,
                (onx_operand *[]){&signal, &s, &w}, false);
    }
}

/* Spectrum and back is the signal, for even and odd lengths: what onesided leaves out is known. */
TEST(there_and_back) {
    for (int64_t n = 1; n < 40; n++) {
        double x[40];
        char dims[32];
        fill(x, (size_t)n);
        (void)snprintf(dims, sizeof dims, "1,%d,1", (int)n);
        onx_operand in = kernel_operand(ONX_DTYPE_F64, dims, x);
        onx_operand length = kernel_operand(ONX_DTYPE_I64, "", &n);
        kernel_result r =
            kernel_run("ref", 17, "y = DFT<onesided=1, axis=-2>(x)", 1, (onx_operand *[]){&in}, 0);
        REQUIRE(r.status == ONX_OK && r.out[0].dims[1] == n / 2 + 1);
        kernel_result b = kernel_run("ref", 17, "y = DFT<onesided=1, inverse=1>(x, n)", 2,
                                     (onx_operand *[]){&r.out[0], &length}, 0);
        REQUIRE(b.status == ONX_OK && b.out[0].dims[1] == n && b.out[0].dims[2] == 1);
        for (int64_t i = 0; i < n; i++) CHECK(fabs(((double *)b.out[0].data)[i] - x[i]) < 1e-14);
        kernel_free(&r);
        kernel_free(&b);
    }
}

TEST(axes_and_frames) {
    static const kernel_line lines[] = {
        {20, "double[1,2,2,1] x = {1,2,3,4}, int64 a = {1}", "y = DFT(x, , a)",
         "[1,2,2,2] 4 0 6 0 -2 0 -2 0"},
        {20, "double[1,2,2,1] x = {1,2,3,4}", "y = DFT(x)", "[1,2,2,2] 3 0 -1 0 7 0 -1 0"},
        {20, "double[2,2,1] x = {1,2,3,4}, int32 n = {1}, int64 a = {-3}", "y = DFT(x, n, a)",
         "[1,2,2] 1 0 2 0"},
        {17, "double[0,2,1] x = {}", "y = DFT(x)", "[0,2,2]"},
        {17, "double[1,0,1] x = {}", "y = DFT(x)", "[1,0,2]"},
        {17, "double[1,0,1] x = {}, int64 n = {2}", "y = DFT(x, n)", "[1,2,2] 0 0 0 0"},
        {17, "double[1,4,1] x = {1,2,3,4}, int64 s = {1}, double[2] w = {1,10}",
         "y = STFT(x, s, w)", "[1,3,2,2] 21 0 -19 0 32 0 -28 0 43 0 -37 0"},
        {17, "double[1,4,1] x = {1,2,3,4}, int32 s = {3}, int32 f = {2}",
         "y = STFT<onesided=0>(x, s, , f)", "[1,1,2,2] 3 0 -1 0"},
        {17, "double[1,2,2] x = {0,1,0,2}, int64 s = {5}", "y = STFT<onesided=0>(x, s)",
         "[1,1,2,2] 0 3 0 -1"},
        {17, "double[1,2] x = {1,2}, int64 s = {1}", "y = STFT(x, s)", "[1,1,2,2] 3 0 -1 0"},
        {17, "double[0,2,1] x = {}, int64 s = {1}", "y = STFT(x, s)", "[0,1,2,2]"},
    };
    CHECK_EQ(kernel_lines_fail(lines, ONX_COUNT(lines)), 0);
}

#define SIGNAL "double[1,4,1] x = {1,2,3,4}"
#define MEL "y = MelWeightMatrix(b, n, r, l, h)"
#define MEL_IN(b, n, r, l, h)                                                                      \
    "int32 b = {" b "}, int32 n = {" n "}, int32 r = {" r "}, float l = {" l "}, float h = {" h "}"

TEST(windows_and_weights) {
    static const kernel_line lines[] = {
        {17, "int64 n = {4}", "y = HannWindow(n)", "[4] 0 0.5 1 0.5"},
        {17, "int64 n = {3}", "y = HannWindow<periodic=0>(n)", "[3] 0 1 0"},
        {17, "int32 n = {4}", "y = HammingWindow<output_datatype=11>(n)",
         "[4] 0.0869565 0.543478 1 0.543478"},
        {17, "int32[1] n = {2}", "y = BlackmanWindow<output_datatype=11>(n)", "[2] -1.38778e-17 1"},
        {17, "int64 n = {3}", "y = HannWindow<periodic=0, output_datatype=2>(n)", "[3] 0 1 0"},
        {17, "int64 n = {1}", "y = HannWindow<periodic=0>(n)", "[1] nan"},
        {17, "int64 n = {0}", "y = HannWindow(n)", "[0]"},
        {17, "int64 n = {-1}", "y = HannWindow(n)", "!size is -1"},
        {17, "int64[2] n = {1,2}", "y = HannWindow(n)", "!not one number"},
        {17, "int64 n = {1}", "y = HannWindow<output_datatype=8>(n)", "!output_datatype 8"},
        {17, "int64 n = {1}", "y = HannWindow<output_datatype=-5>(n)", "!output_datatype -5"},
        {17, MEL_IN("2", "8", "16", "0", "8"), MEL, "[5,2] 0 0 1 0 0 1 0 0 0 0"},
        {17, MEL_IN("0", "8", "16", "0", "8"), MEL, "[5,0]"},
        {17, MEL_IN("2", "8", "16", "0", "80"), MEL, "!lies outside"},
        {17, MEL_IN("2", "8", "16", "-1", "8"), MEL, "!an edge is at -1"},
        {17, MEL_IN("2", "8", "16", "8", "0"), MEL, "!lies outside"},
        {17, MEL_IN("2", "8", "0", "0", "8"), MEL, "!make no sense"},
        {17, MEL_IN("-2", "8", "16", "0", "8"), MEL, "!make no sense"},
        {17, MEL_IN("2", "-8", "16", "0", "8"), MEL, "!make no sense"},
    };
    CHECK_EQ(kernel_lines_fail(lines, ONX_COUNT(lines)), 0);
}

TEST(refusals) {
    static const kernel_line lines[] = {
        {20, SIGNAL ", int64 n = {0}", "y = DFT(x, n)", "!length of the transform is 0"},
        {20, SIGNAL ", int64 n = {-9223372036854775808}", "y = DFT(x, n)", "!transform is -9"},
        {20, SIGNAL ", int64 n = {9223372036854775807}", "y = DFT(x, n)", "!"},
        {20, SIGNAL ", int64[2] n = {1,1}", "y = DFT(x, n)", "!not one number"},
        {20, SIGNAL ", int64 a = {2}", "y = DFT(x, , a)", "!axis 2"},
        {20, SIGNAL ", int64 a = {-1}", "y = DFT(x, , a)", "!axis -1"},
        {20, SIGNAL ", int64 a = {9223372036854775807}", "y = DFT(x, , a)", "!axis 9"},
        {17, SIGNAL, "y = DFT<axis=2>(x)", "!axis 2"},
        {17, "double[3] x = {1,2,3}", "y = DFT(x)", "!1 dimensions"},
        {17, "double[1,1,3] x = {1,2,3}", "y = DFT(x)", "!3 parts"},
        {17, "double[1,1,2] x = {1,2}", "y = DFT<onesided=1>(x)", "!2 parts"},
        {17, "double[1,1,2] x = {1,2}", "y = DFT<onesided=1, inverse=1>(x)", "!transform is 0"},
        {17, SIGNAL ", int64 s = {0}", "y = STFT(x, s)", "!frame_step is 0"},
        {17, SIGNAL ", int64 s = {1}, int64 f = {5}", "y = STFT(x, s, , f)", "!frames of 5"},
        {17, SIGNAL ", int64 s = {1}, int64 f = {0}", "y = STFT(x, s, , f)", "!frames of 0"},
        {17, SIGNAL ", int64 s = {1}, double[3] w = {1,1,1}, int64 f = {2}", "y = STFT(x, s, w, f)",
         "!window is 3 long"},
        {17, SIGNAL ", int64 s = {1}, double[1,2] w = {1,1}", "y = STFT(x, s, w)", "!needs 1"},
        {17, "double[4] x = {1,2,3,4}, int64 s = {1}", "y = STFT(x, s)", "!it needs 3"},
        {17, "double[1,1,3] x = {1,2,3}, int64 s = {1}", "y = STFT(x, s)", "!neither real"},
    };
    CHECK_EQ(kernel_lines_fail(lines, ONX_COUNT(lines)), 0);
}

TEST(backend) {
    if (!getenv("ONX_DATA")) SKIP("ONX_DATA is not set");
    static const char *const prefixes[] = {"dft",           "stft",           "hannwindow",
                                           "hammingwindow", "blackmanwindow", "melweightmatrix"};
    size_t failed = 0, ran = 0;
    for (size_t i = 0; i < ONX_COUNT(prefixes); i++)
        ran += kernel_backend(prefixes[i], "expanded", &failed);
    CHECK_EQ(ran, 19);
    CHECK_EQ(failed, 0);
}

TEST_MAIN(E(every_length) E(other_lengths_and_types) E(many_lines) E(there_and_back)
              E(axes_and_frames) E(windows_and_weights) E(refusals) E(backend))
