/* test_attend.c: onx.internal::Attend: every tier against the plain kernel and against the
 * operators it stands for, in the layouts that models have; views that do not fit; its
 * inference. */
#include "kernel.h"
#include "test.h"

#include "ops/attention/attend_view.h"

#include <math.h>

#define EACH_TIER(t) for (const char *const *t = kernel_tiers_fast(); *t; t++)

/* Views: [batch, head, row, col]; [batch, row, head, col]; [batch, head, col, row]; [n, row, col];
 * a third of [batch, row, 3 * 2 * 5]; key heads that two query heads share. */
#define BHSD "[0, 1,0,0,1,-1, 1,1,1,1,-1, 1,2,2,1,-1, 1,3,3,1,-1]"
#define BSHD "[0, 1,0,0,1,-1, 1,2,2,1,-1, 1,1,1,1,-1, 1,3,3,1,-1]"
#define BHDS "[0, 1,0,0,1,-1, 1,1,1,1,-1, 1,3,3,1,-1, 1,2,2,1,-1]"
#define NSD "[0, 1,0,0,1,-1, 0, 1,1,1,1,-1, 1,2,2,1,-1]"
#define PACKED(start) "[3, 0, 0, " start ", 1,0,0,1,-1, 1,2,2,5,2, 1,1,1,1,-1, 1,2,2,1,5]"
#define SHARED "[0, 1,0,0,1,-1, 2,1,1,1,-1,0,0,0,2, 1,2,2,1,-1, 1,3,3,1,-1]"
#define BEHIND "[2, 0, 5, 1,0,0,1,-1, 0, 1,1,1,1,0, 1,2,2,1,-1]" /* no rows, from the end on */
#define VIEWS(q, k, v, y) "q = " q ", k = " k ", v = " v ", y = " y

static const struct {
    const char *attrs;
    const char *shapes[5]; /* Q, K, V, the biases; NULL: absent */
    bool bools[2];
} examples[] = {
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]"), {"1,1,1,1", "1,1,1,1", "1,1,1,1"}, {0}},
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]") ", scale = 0.5",
     {"2,3,5,7", "2,3,9,7", "2,3,9,4"},
     {0}},
    {VIEWS(BSHD, BSHD, BSHD, "[0, 2, 1, 3]") ", scale = 0.125",
     {"1,197,2,64", "1,197,2,64", "1,197,2,64"},
     {0}},
    {VIEWS(BHSD, BHDS, BHSD, "[0, 1, 2, 3]"), {"1,2,33,16", "1,2,16,300", "1,2,300,20"}, {0}},
    {VIEWS(BHDS, BHDS, BHDS, "[0, 1, 3, 2]"), {"2,2,16,49", "2,2,16,49", "2,2,16,49"}, {0}},
    {VIEWS(NSD, NSD, NSD, "[0, 2, 3]"), {"6,17,8", "6,40,8", "6,40,8"}, {0}},
    {VIEWS(PACKED("0"), PACKED("10"), PACKED("20"), "[0, 2, 1, 3]"),
     {"2,20,30", "2,20,30", "2,20,30"},
     {0}},
    {VIEWS(BHSD, SHARED, SHARED, "[0, 2, 1, 3]"), {"2,4,40,8", "2,2,150,8", "2,2,150,8"}, {0}},
    {VIEWS(BHSD, SHARED, SHARED, "[0, 2, 1, 3]"), {"2,4,1,40", "2,2,150,40", "2,2,150,24"}, {0}},
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]"), {"1,2,1,64", "1,2,700,64", "1,2,700,150"}, {0}},
    {VIEWS(BHSD, BHDS, BHSD, "[0, 1, 2, 3]"), {"1,2,1,64", "1,2,64,30", "1,2,30,64"}, {0}},
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]") ", modes = [0], fills = [0.0]",
     {"2,3,40,7", "2,3,50,7", "2,3,50,4", "40,50"},
     {0}},
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]") ", modes = [0, 0], fills = [0.0, 0.0]",
     {"2,3,40,7", "2,3,50,7", "2,3,50,4", "1,3,40,50", "2,1,1,50"},
     {0}},
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]") ", modes = [1, 0], fills = [-1e30, 0.0]",
     {"4,3,49,7", "4,3,49,7", "4,3,49,4", "1,1,49,49", "1,2,1,49,49"},
     {true, false}},
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]") ", modes = [2], fills = [-1000.0]",
     {"2,3,1,8", "2,3,90,8", "2,3,90,4", "2,1,1,90"},
     {true, false}},
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]") ", modes = [0], fills = [0.0]",
     {"2,3,20,8", "2,3,90,8", "2,3,90,4", "20,1"},
     {0}},
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]") ", causal = 1",
     {"1,2,200,8", "1,2,200,8", "1,2,200,8"},
     {0}},
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]") ", causal = 2",
     {"1,2,37,8", "1,2,200,8", "1,2,200,8"},
     {0}},
    {VIEWS(BHSD, SHARED, SHARED, "[0, 2, 1, 3]") ", scale = 0.25, modes = [0], fills = [0.0]",
     {"1,4,130,40", "1,2,130,40", "1,2,130,24", "1,1,130,130"},
     {0}},
    {VIEWS(BHDS, BHDS, BHDS, "[0, 1, 3, 2]"), {"1,2,16,97", "1,2,16,97", "1,2,33,97"}, {0}},
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]") ", causal = 2, guard = 1",
     {"1,2,37,8", "1,2,9,8", "1,2,9,8"},
     {0}},
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]"), {"1,2,3,8", "1,2,0,8", "1,2,0,8"}, {0}},
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]"), {"1,2,0,8", "1,2,3,8", "1,2,3,8"}, {0}},
    {VIEWS(BHSD, BHSD, BHSD, "[0, 1, 2, 3]"), {"2,3,9,8", "1,3,20,8", "2,1,20,8"}, {0}},
    {VIEWS(BEHIND, NSD, NSD, "[0, 2, 3]"), {"2,5,8", "2,7,8", "2,7,8"}, {0}},
};

static void *operand_of(onx_operand *x, const char *shape, bool bools, uint64_t seed) {
    *x = kernel_operand(bools ? ONX_DTYPE_BOOL : ONX_DTYPE_F32, shape, NULL);
    size_t n = (size_t)x->count;
    float *numbers = malloc((n + 1) * sizeof *numbers);
    char *odd = malloc(n * sizeof *numbers + 1); /* unaligned, as constants in a file may be */
    if (!numbers || !odd) exit(1);
    kernel_fill(numbers, n, seed, -2, 2);
    for (size_t i = 0; i < n && bools; i++) odd[1 + i] = numbers[i] > 0;
    if (!bools) memcpy(odd + 1, numbers, n * sizeof *numbers);
    free(numbers);
    x->data = n ? odd + 1 : NULL;
    return odd;
}

TEST(tiers) {
    for (size_t c = 0; c < sizeof examples / sizeof *examples; c++) {
        onx_operand x[5], *in[5];
        void *memory[5] = {NULL};
        size_t n = 0;
        char node[700];
        for (; n < 5 && examples[c].shapes[n]; n++) {
            memory[n] =
                operand_of(&x[n], examples[c].shapes[n], n > 2 && examples[c].bools[n - 3], n + 1);
            in[n] = &x[n];
        }
        (void)snprintf(node, sizeof node, "y = onx.internal.Attend<%s>(q, k, v%s%s)",
                       examples[c].attrs, n > 3 ? ", a" : "", n > 4 ? ", b" : "");
        kernel_result want = kernel_run("ref", 18, node, n, in, 0);
        if (!CHECK(want.status == ONX_OK)) fprintf(stderr, "%zu: %s\n", c, want.diag.message);
        EACH_TIER(t) {
            kernel_result got = kernel_run(*t, 18, node, n, in, 0);
            double far = got.status ? HUGE_VAL : kernel_distance(&got.out[0], &want.out[0]);
            if (!CHECK(far <= (kernel_is_fast(*t) ? 6e-2 : 3e-6)))
                fprintf(stderr, "    case %zu on %s: %g\n", c, *t, far);
            kernel_free(&got);
        }
        kernel_free(&want);
        for (size_t i = 0; i < n; i++) free(memory[i]);
    }
}

/* Views that see what is not there. */
TEST(misfits) {
    static const struct {
        const char *view, *shape;
    } misfits[] = {
        {PACKED("25"), "2,20,30"},                                      /* behind the end */
        {PACKED("0"), "2,20,8"},                                        /* too many heads */
        {"[0, 1,0,0,1,2, 1,1,1,1,2, 1,2,2,1,3, 1,3,3,1,4]", "2,2,0,4"}, /* of nothing */
    };
    for (size_t c = 0; c < sizeof misfits / sizeof *misfits; c++) {
        onx_operand x;
        char node[700];
        void *memory = operand_of(&x, misfits[c].shape, false, 1);
        (void)snprintf(
            node, sizeof node,
            "y = onx.internal.Attend<" VIEWS("%s", "%s", "%s", "[0, 1, 2, 3]") ">(q, k, v)",
            misfits[c].view, misfits[c].view, misfits[c].view);
        kernel_result got = kernel_run("ref", 18, node, 3, (onx_operand *[]){&x, &x, &x}, 0);
        CHECK(got.status == ONX_INVALID);
        kernel_free(&got);
        free(memory);
    }
}

/* Positions that turn: every tier against the plain kernel, and that against the definition. */
TEST(rotate) {
    static const struct {
        const char *view, *x, *cos, *sin;
    } turns[] = {
        {BHSD, "2,3,5,8", "2,1,5,8", "5,8"},     {BSHD, "1,7,2,64", "1,1,7,64", "1,1,7,64"},
        {BHDS, "1,2,6,9", "9,6", "1,2,9,6"},     {BHSD, "1,1,3,70", "2,1,3,70", "1,4,1,70"},
        {BHSD, "1,2,0,8", "1,1,0,8", "1,1,0,8"},
    };
    for (size_t c = 0; c < sizeof turns / sizeof *turns; c++) {
        onx_operand x[3];
        const char *shapes[] = {turns[c].x, turns[c].cos, turns[c].sin};
        void *memory[3];
        char node[200];
        for (size_t i = 0; i < 3; i++) memory[i] = operand_of(&x[i], shapes[i], false, i + 1);
        (void)snprintf(node, sizeof node, "y = onx.internal.Rotate<x = %s>(x, c, s)",
                       turns[c].view);
        onx_operand *in[] = {&x[0], &x[1], &x[2]};
        kernel_result want = kernel_run("ref", 18, node, 3, in, 0);
        if (!CHECK(want.status == ONX_OK)) fprintf(stderr, "%zu: %s\n", c, want.diag.message);
        EACH_TIER(t) {
            kernel_result got = kernel_run(*t, 18, node, 3, in, 0);
            double far = got.status ? HUGE_VAL : kernel_distance(&got.out[0], &want.out[0]);
            if (!CHECK(far <= 1e-6)) fprintf(stderr, "    case %zu on %s: %g\n", c, *t, far);
            kernel_free(&got);
        }
        kernel_free(&want);
        for (size_t i = 0; i < 3; i++) free(memory[i]);
    }
    float numbers[] = {1, 2, 3, 4}, cos[] = {1, 10, 100, 1000}, sin[] = {5, 6, 7, 8};
    onx_operand a = kernel_operand(ONX_DTYPE_F32, "1,1,1,4", numbers);
    onx_operand b = kernel_operand(ONX_DTYPE_F32, "4", cos);
    onx_operand d = kernel_operand(ONX_DTYPE_F32, "4", sin);
    kernel_result r = kernel_run("ref", 18, "y = onx.internal.Rotate<x = " BHSD ">(x, c, s)", 3,
                                 (onx_operand *[]){&a, &b, &d}, 0);
    REQUIRE(r.status == ONX_OK);
    CHECK(memcmp(r.out[0].data, (float[]){-14, -4, 307, 4016}, 16) == 0);
    kernel_free(&r);
}

TEST_MAIN(E(tiers) E(misfits) E(rotate))
