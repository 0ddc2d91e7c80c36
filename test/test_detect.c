/* test_detect.c: NonMaxSuppression, RoiAlign and MaxRoiPool: against their definitions written out,
 * with boxes and regions that are no boxes; and whole detectors against their recorded outputs. */
#include "test.h"

#include <math.h>

#include "kernel.h"
#include "support.h"
#include "zoo.h"

/* ── NonMaxSuppression ── */

enum { BOXES = 40, CLASSES = 3, BATCHES = 2, MANY = 3000 };

typedef struct limits {
    int64_t most;
    float iou, score;
    bool scored, centered;
} limits;

static float overlap(const float *a, const float *b, bool centered) {
    float lo[2][2], hi[2][2], side[2], area[2] = {1, 1};
    const float *boxes[] = {a, b};
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < 2; d++) {
            float p = boxes[i][d], q = boxes[i][d + 2];
            lo[i][d] = centered ? p - q / 2 : fminf(p, q);
            hi[i][d] = centered ? p + q / 2 : fmaxf(p, q);
            area[i] *= hi[i][d] - lo[i][d];
        }
    for (int d = 0; d < 2; d++) side[d] = fminf(hi[0][d], hi[1][d]) - fmaxf(lo[0][d], lo[1][d]);
    if (side[0] <= 0 || side[1] <= 0) return 0;
    return side[0] * side[1] / (area[0] + area[1] - side[0] * side[1]);
}

/* Again and again the best box that is left, and no more of those it covers. */
static size_t choose(const float *boxes, const float *scores, int count, const limits *l,
                     int64_t *out) {
    bool gone[MANY] = {false};
    size_t n = 0;
    while ((int64_t)n < l->most) {
        int best = -1;
        for (int i = 0; i < count; i++)
            if (!gone[i] && (!l->scored || scores[i] > l->score) &&
                (best < 0 || scores[i] > scores[best]))
                best = i;
        if (best < 0) break;
        out[n++] = best;
        gone[best] = true;
        for (int i = 0; i < count; i++)
            if (overlap(boxes + 4 * best, boxes + 4 * i, l->centered) > l->iou) gone[i] = true;
    }
    return n;
}

static bool suppresses(const limits *l, uint64_t seed, bool coarse) {
    static float boxes[BATCHES][BOXES][4], scores[BATCHES][CLASSES][BOXES];
    int64_t most = l->most, want[BATCHES * CLASSES * BOXES][3], one[BOXES];
    float iou = l->iou, score = l->score;
    size_t n = 0;
    kernel_fill(&boxes[0][0][0], BATCHES * BOXES * 4, seed, 0, 1);
    kernel_fill(&scores[0][0][0], BATCHES * CLASSES * BOXES, seed + 1, 0, 1);
    for (float *f = &boxes[0][0][0]; coarse && f < &boxes[0][0][0] + BATCHES * BOXES * 4; f++)
        *f = roundf(*f * 4) / 4;
    for (float *f = &scores[0][0][0]; coarse && f < &scores[0][0][0] + BATCHES * CLASSES * BOXES;
         f++)
        *f = roundf(*f * 6) / 6;
    for (int64_t b = 0; b < BATCHES; b++)
        for (int64_t c = 0; c < CLASSES; c++)
            for (size_t i = 0, count = choose(&boxes[b][0][0], scores[b][c], BOXES, l, one);
                 i < count; i++, n++)
                want[n][0] = b, want[n][1] = c, want[n][2] = one[i];
    onx_operand in[] = {
        kernel_operand(ONX_DTYPE_F32, "2,40,4", boxes),
        kernel_operand(ONX_DTYPE_F32, "2,3,40", scores), kernel_operand(ONX_DTYPE_I64, "1", &most),
        kernel_operand(ONX_DTYPE_F32, "", &iou), kernel_operand(ONX_DTYPE_F32, "1", &score)};
    onx_operand *ins[] = {&in[0], &in[1], &in[2], &in[3], l->scored ? &in[4] : NULL};
    kernel_result r =
        kernel_run("ref", 11,
                   l->centered ? "y = NonMaxSuppression<center_point_box=1>(b,s,m,t,u)"
                               : "y = NonMaxSuppression(b,s,m,t,u)",
                   l->scored ? 5 : 4, ins, 0);
    bool same = r.status == ONX_OK && r.out[0].dims[0] == (int64_t)n && r.out[0].dims[1] == 3 &&
                (!n || memcmp(r.out[0].data, want, n * sizeof *want) == 0);
    if (r.status != ONX_OK) fprintf(stderr, "    %s\n", r.diag.message);
    if (r.status == ONX_OK) kernel_free(&r);
    return same;
}

TEST(suppression) {
    static const limits cases[] = {
        {INT64_MAX, 0.5f, 0, false, false}, {3, 0.1f, 0.5f, true, false},
        {5, 0, 0.2f, true, true},           {INT64_MAX, 0.3f, -1, true, true},
        {0, 0.5f, 0, false, false},         {INT64_MIN, 0.5f, 0, false, false},
        {100, 1, 0.9f, true, false},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++)
        for (uint64_t seed = 1; seed < 9; seed++)
            if (!CHECK(suppresses(&cases[i], seed, seed % 2)))
                fprintf(stderr, "    case %zu, seed %d\n", i, (int)seed);
}

/* So many that they are looked for where they lie: in rows and columns, as classes that were moved
 * apart are; on a grid, so that many touch; some as long as all the others together. */
TEST(many_boxes) {
    static float boxes[MANY][4], scores[MANY];
    static int64_t want[MANY];
    for (uint64_t run = 0; run < 12; run++) {
        const limits l = {MANY, run % 3 ? 0.25f * (float)(run % 3) : 0, 0, false, false};
        test_random r = {run + 1};
        for (size_t i = 0; i < MANY; i++) {
            float apart = run % 2 ? (float)test_random_below(&r, 40) * 30 : 0, at[2], size[2];
            for (size_t d = 0; d < 2; d++) {
                at[d] = (float)test_random_below(&r, run < 6 ? 100 : 20) / (run < 4 ? 4 : 1);
                size[d] = 1 + (float)test_random_below(&r, 4);
            }
            if (i % 500 == 7) size[i % 2] = 5000;
            boxes[i][0] = at[0] + (run % 4 < 2 ? apart : 0);
            boxes[i][1] = at[1] + (run % 4 < 2 ? 0 : apart);
            boxes[i][2] = boxes[i][0] + size[0];
            boxes[i][3] = boxes[i][1] + size[1];
            scores[i] = (float)test_random_below(&r, 100000);
        }
        size_t n = choose(boxes[0], scores, MANY, &l, want), wrong = 0;
        int64_t most = l.most;
        float iou = l.iou;
        onx_operand in[] = {kernel_operand(ONX_DTYPE_F32, "1,3000,4", boxes),
                            kernel_operand(ONX_DTYPE_F32, "1,1,3000", scores),
                            kernel_operand(ONX_DTYPE_I64, "1", &most),
                            kernel_operand(ONX_DTYPE_F32, "", &iou)};
        for (const char *const *tier = kernel_tiers(); *tier; tier++) {
            kernel_result k = kernel_run(*tier, 11, "y = NonMaxSuppression(b,s,m,t)", 4,
                                         (onx_operand *[]){&in[0], &in[1], &in[2], &in[3]}, 0);
            REQUIRE(k.status == ONX_OK);
            CHECK_EQ(k.out[0].dims[0], n);
            for (size_t i = 0; i < n && i < (size_t)k.out[0].dims[0]; i++)
                wrong += ((int64_t *)k.out[0].data)[3 * i + 2] != want[i];
            kernel_free(&k);
        }
        CHECK_EQ(wrong, 0);
    }
}

static int64_t chosen(const char *node, size_t n, float *boxes, float *scores, const char *box_dims,
                      const char *score_dims, float iou, int64_t *first) {
    int64_t most = INT64_MAX;
    onx_operand b = kernel_operand(ONX_DTYPE_F32, box_dims, boxes);
    onx_operand s = kernel_operand(ONX_DTYPE_F32, score_dims, scores);
    onx_operand m = kernel_operand(ONX_DTYPE_I64, "", &most),
                t = kernel_operand(ONX_DTYPE_F32, "", &iou);
    kernel_result r = kernel_run("ref", 11, node, n, (onx_operand *[]){&b, &s, &m, &t}, 0);
    int64_t count = r.status == ONX_OK ? r.out[0].dims[0] : -(int64_t)r.status;
    if (count > 0) *first = ((int64_t *)r.out[0].data)[2];
    if (r.status == ONX_OK) kernel_free(&r);
    return count;
}

/* Scores and boxes that are no numbers, many boxes, none. */
TEST(odd_boxes) {
    const char *node = "y = NonMaxSuppression(b,s,m,t)";
    float boxes[] = {0, 0, 1, 1, 0, 0, 1, 1, NAN, 0, INFINITY, 1},
          scores[] = {NAN, 0.5f, -INFINITY};
    static float many[4 * 100000], points[100000];
    int64_t first = -1;
    CHECK_EQ(chosen(node, 4, boxes, scores, "1,3,4", "1,1,3", 0.5f, &first), 2);
    CHECK_EQ(first, 1);
    CHECK_EQ(chosen(node, 4, NULL, NULL, "1,0,4", "1,2,0", 0.5f, &first), 0);
    CHECK_EQ(chosen(node, 4, NULL, NULL, "0,5,4", "0,2,5", 0.5f, &first), 0);
    CHECK_EQ(chosen(node, 2, boxes, scores, "1,3,4", "1,1,3", 0.5f, &first), 0);
    for (size_t i = 0; i < 100000; i++) many[4 * i + 2] = many[4 * i + 3] = 1;
    CHECK_EQ(chosen(node, 4, many, points, "1,100000,4", "1,1,100000", 0.5f, &first), 1);
    CHECK_EQ(chosen(node, 4, boxes, scores, "1,3,4", "1,1,3", NAN, &first), -ONX_INVALID);
    CHECK_EQ(chosen(node, 4, boxes, scores, "1,3,4", "1,1,3", 1.5f, &first), -ONX_INVALID);
    CHECK_EQ(chosen(node, 4, boxes, scores, "1,4,3", "1,1,4", 0.5f, &first), -ONX_INVALID);
    CHECK_EQ(chosen(node, 4, boxes, scores, "1,3,4", "1,3,1", 0.5f, &first), -ONX_INVALID);
    CHECK_EQ(chosen(node, 4, boxes, scores, "3,4", "1,1,3", 0.5f, &first), -ONX_INVALID);
    CHECK_EQ(chosen("y = NonMaxSuppression<center_point_box=2>(b,s,m,t)", 4, boxes, scores, "1,3,4",
                    "1,1,3", 0.5f, &first),
             -ONX_INVALID);
}

/* ── Regions ── */

static onx_status region(const char *node, onx_dtype dtype, void *x, const char *dims, void *rois,
                         const char *roi_dims, int64_t image, size_t n, double *out) {
    onx_operand in = kernel_operand(dtype, dims, x), r = kernel_operand(dtype, roi_dims, rois);
    onx_operand b = kernel_operand(ONX_DTYPE_I64, "1", &image);
    kernel_result y = kernel_run("ref", 22, node, n, (onx_operand *[]){&in, &r, &b}, 0);
    if (y.status == ONX_OK && out)
        (void)onx_dtype_convert(dtype, y.out[0].data, ONX_DTYPE_F64, out, (uint64_t)y.out[0].count,
                                false);
    if (y.status == ONX_OK) kernel_free(&y);
    return y.status;
}

/* A plane x + 10 y is the same between its pixels: averages are known. */
TEST(planes) {
    double x[64], y[4], roi[] = {1, 2, 5, 4};
    const char *node = "y = RoiAlign<output_height=2, output_width=2, sampling_ratio=3>(x, r, b)";
    for (int i = 0; i < 64; i++) x[i] = i % 8 + 10 * (i / 8);
    REQUIRE(region(node, ONX_DTYPE_F64, x, "1,1,8,8", roi, "1,4", 0, 3, y) == ONX_OK);
    CHECK(fabs(y[0] - (1.5 + 10 * 2)) < 1e-12 && fabs(y[1] - (3.5 + 10 * 2)) < 1e-12);
    CHECK(fabs(y[2] - (1.5 + 10 * 3)) < 1e-12 && fabs(y[3] - (3.5 + 10 * 3)) < 1e-12);
    node = "y = RoiAlign<output_height=2, output_width=2, sampling_ratio=3, "
           "coordinate_transformation_mode=\"output_half_pixel\", spatial_scale=0.5>(x, r, b)";
    REQUIRE(region(node, ONX_DTYPE_F64, x, "1,1,8,8", (double[]){2, 4, 10, 8}, "1,4", 0, 3, y) ==
            ONX_OK);
    CHECK(fabs(y[0] - (2 + 10 * 2.5)) < 1e-12 && fabs(y[3] - (4 + 10 * 3.5)) < 1e-12);
}

TEST(odd_regions) {
    const char *align = "y = RoiAlign(x, r, b)", *most = "y = RoiAlign<mode=\"max\">(x, r, b)";
    const char *pool = "y = MaxRoiPool<pooled_shape=[1,1]>(x, r)";
    float x[16], far[] = {-1e30f, -1e30f, 1e30f, 1e30f}, none[] = {NAN, NAN, NAN, NAN};
    float back[] = {3, 3, 1, 1}, beside[] = {100, 100, 110, 110},
          all[] = {0, -1e30f, -1e30f, 1e30f, 1e30f};
    double y = -1;
    for (int i = 0; i < 16; i++) x[i] = (float)i + 1;
    float *const zero[] = {far, none, back, beside};
    for (size_t i = 0; i < ONX_COUNT(zero); i++)
        CHECK(region(align, ONX_DTYPE_F32, x, "1,1,4,4", zero[i], "1,4", 0, 3, &y) == ONX_OK &&
              y == 0);
    CHECK(region(most, ONX_DTYPE_F32, x, "1,1,4,4", none, "1,4", 0, 3, &y) == ONX_OK && y == 0);
    CHECK(region(pool, ONX_DTYPE_F32, x, "1,1,4,4", all, "1,5", 0, 2, &y) == ONX_OK && y == 16);
    CHECK(region(pool, ONX_DTYPE_F32, x, "1,1,4,4", (float[]){0, 9, 9, 12, 12}, "1,5", 0, 2, &y) ==
              ONX_OK &&
          y == 0);
    CHECK(region(pool, ONX_DTYPE_F32, x, "1,1,4,4", (float[]){0, 1, 2, 0, 0}, "1,5", 0, 2, &y) ==
              ONX_OK &&
          y == 10);
}

TEST(regions_refused) {
    static const struct {
        const char *node, *dims, *rois;
        size_t n;
        int64_t image;
    } cases[] = {
        {"y = RoiAlign(x, r, b)", "1,1,4,4", "1,4", 3, 1},
        {"y = RoiAlign(x, r, b)", "1,1,4,4", "1,4", 3, -1},
        {"y = RoiAlign(x, r, b)", "1,1,4,4", "1,4", 3, INT64_MIN},
        {"y = RoiAlign(x, r, b)", "1,1,4,4", "1,5", 3, 0},
        {"y = RoiAlign(x, r, b)", "1,1,4,4", "2,4", 3, 0},
        {"y = RoiAlign(x, r, b)", "1,4,4", "1,4", 3, 0},
        {"y = RoiAlign(x, r, b)", "1,1,0,4", "1,4", 3, 0},
        {"y = RoiAlign<output_height=0>(x, r, b)", "1,1,4,4", "1,4", 3, 0},
        {"y = RoiAlign<output_width=-9223372036854775808>(x, r, b)", "1,1,4,4", "1,4", 3, 0},
        {"y = RoiAlign<sampling_ratio=-1>(x, r, b)", "1,1,4,4", "1,4", 3, 0},
        {"y = RoiAlign<sampling_ratio=9223372036854775807>(x, r, b)", "1,1,4,4", "1,4", 3, 0},
        {"y = RoiAlign<mode=\"min\">(x, r, b)", "1,1,4,4", "1,4", 3, 0},
        {"y = RoiAlign<coordinate_transformation_mode=\"x\">(x, r, b)", "1,1,4,4", "1,4", 3, 0},
        {"y = MaxRoiPool<pooled_shape=[1]>(x, r)", "1,1,4,4", "1,5", 2, 0},
        {"y = MaxRoiPool<pooled_shape=[1,0]>(x, r)", "1,1,4,4", "1,5", 2, 0},
        {"y = MaxRoiPool<pooled_shape=[1,1]>(x, r)", "1,1,4,4", "1,4", 2, 0},
        {"y = MaxRoiPool<pooled_shape=[1,1]>(x, r)", "0,1,4,4", "1,5", 2, 0},
        {"y = MaxRoiPool<pooled_shape=[1,1]>(x, r)", "1,4,4", "1,5", 2, 0},
    };
    float x[16] = {0}, rois[8] = {0};
    for (size_t i = 0; i < ONX_COUNT(cases); i++)
        if (!CHECK(region(cases[i].node, ONX_DTYPE_F32, x, cases[i].dims, rois, cases[i].rois,
                          cases[i].image, cases[i].n, NULL) == ONX_INVALID))
            fprintf(stderr, "    %s\n", cases[i].node);
    rois[0] = NAN; /* the image */
    CHECK(region("y = MaxRoiPool<pooled_shape=[1,1]>(x, r)", ONX_DTYPE_F32, x, "1,1,4,4", rois,
                 "1,5", 0, 2, NULL) == ONX_INVALID);
}

TEST(backend) {
    size_t failed = 0, ran = kernel_backend("nonmaxsuppression_", "", &failed);
    ran += kernel_backend("roialign_", "", &failed);
    if (!ran) SKIP("ONX_DATA is not set");
    CHECK_EQ(failed, 0);
    CHECK(ran >= 13);
}

/* ── Whole detectors ── */

static bool run_zoo(const char *name, zoo_model *zoo, onx_arg *out) {
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session *session = NULL;
    onx_status status = onx_session_new(zoo->model, &options, &session, &diag);
    if (!status)
        status = onx_session_run(session, zoo->n_in, zoo->in, zoo->n_out, out, NULL, &diag);
    onx_session_free(session);
    if (status) fprintf(stderr, "    %s: %s\n", name, diag.message);
    return status == ONX_OK;
}

/* Labels are integers, recorded in full. */
static bool agrees(const zoo_model *zoo, size_t o, const onx_arg *got) {
    if (got->dtype == ONX_DTYPE_F32) return zoo_distance(zoo, o, got) <= 1e-4;
    return got->bytes == zoo->out[o].bytes && memcmp(got->data, zoo->out[o].data, got->bytes) == 0;
}

TEST(models) {
    static const char *const names[] = {"deeplabv3_mobilenet", "fasterrcnn_mobilenet"};
    if (!test_has_zoo()) SKIP("there is no zoo in ONX_DATA");
    for (size_t i = 0; i < ONX_COUNT(names); i++) {
        onx_arg out[ZOO_ARGS] = {{0}};
        zoo_model zoo;
        REQUIRE(zoo_load(NULL, names[i], &zoo));
        if (CHECK(run_zoo(names[i], &zoo, out)))
            for (size_t o = 0; o < zoo.n_out; o++) CHECK(agrees(&zoo, o, &out[o]));
        for (size_t o = 0; o < zoo.n_out; o++) onx_arg_clear(&out[o]);
        zoo_free(&zoo);
    }
}

/* One of the boxes of a detector, with its score and label. Recorded data may be unaligned. */
typedef struct detection {
    float box[4], score;
    int64_t label;
} detection;

static detection detection_at(const onx_arg *all, size_t i) {
    detection d;
    memcpy(d.box, (const char *)all[0].data + i * sizeof d.box, sizeof d.box);
    memcpy(&d.score, (const char *)all[1].data + i * sizeof d.score, sizeof d.score);
    memcpy(&d.label, (const char *)all[2].data + i * sizeof d.label, sizeof d.label);
    return d;
}

static bool is_among(const detection *d, const onx_arg *all, size_t n) {
    for (size_t i = 0; i < n; i++) {
        detection other = detection_at(all, i);
        bool near = other.label == d->label && fabsf(other.score - d->score) < 2e-6f;
        for (size_t k = 0; near && k < 4; k++) near = fabsf(other.box[k] - d->box[k]) < 0.03f;
        if (near) return true;
    }
    return false;
}

/* Its scores are so close together that the last bits decide which of many boxes that cover each
 * other stay: most are the recorded ones, in another order. ONNX Runtime itself finds 274 of them
 * again on another processor. */
TEST(ssdlite) {
    onx_arg out[ZOO_ARGS] = {{0}};
    zoo_model zoo;
    size_t found = 0, n = 300;
    if (!test_has_zoo()) SKIP("there is no zoo in ONX_DATA");
    REQUIRE(zoo_load(NULL, "ssdlite320_mobilenet", &zoo));
    if (CHECK(run_zoo("ssdlite320_mobilenet", &zoo, out)) &&
        CHECK(out[1].bytes == n * sizeof(float)) && CHECK(out[0].bytes == n * 16))
        for (size_t i = 0; i < n; i++) {
            detection d = detection_at(out, i);
            found += is_among(&d, zoo.out, n);
        }
    if (!CHECK(found >= 240)) fprintf(stderr, "    %zu of %zu\n", found, n);
    for (size_t o = 0; o < zoo.n_out; o++) onx_arg_clear(&out[o]);
    zoo_free(&zoo);
}

TEST_MAIN(E(suppression) E(many_boxes) E(odd_boxes) E(planes) E(odd_regions) E(regions_refused)
              E(backend) E(models) E(ssdlite))
