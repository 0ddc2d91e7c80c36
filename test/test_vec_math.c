/* test_vec_math.c: the functions of cpu/vec_math.h and vec_wide_math.h against C's, in double, on
 * every instruction set that this processor has. Walks the floats at a stride that is prime;
 * ONX_MATH_STRIDE=1 walks them all (an hour). */
#include "test.h"
#include "vec_math_simd.h"

#include "cpu/cpu.h"

#include <math.h>

enum { BLOCK = 4096 };

static double sigmoid(double x) {
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}
#define EXACT(name, bound) name,
#define NAME(name, bound) #name,
static double (*const exact[MATH_COUNT])(double) = {MATH(EXACT)};
static const char *const names[MATH_COUNT] = {MATH(NAME)};

#define TIER(isa) {#isa, math_table_##isa},
static const struct {
    const char *name;
    const math_row *table;
} tiers[] = {ONX_ISAS(TIER)};

/* The tiers of this machine: from the best one on. One that is not listed stands before all. */
static size_t first_tier(void) {
    for (size_t i = 0; i < ONX_COUNT(tiers); i++)
        if (strcmp(tiers[i].name, onx_cpu_best()) == 0) return i;
    return 0;
}

static float of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The distance of y to the exact value, in units of the exact value's last place. */
static double ulps(float y, double want) {
    float near = (float)want;
    if (isnan(want)) return isnan(y) ? 0 : INFINITY;
    if (isinf(near) || isinf(y)) { /* either may have overflowed alone, near the largest float */
        double limit = 0x1p128;
        double a = isinf(near) ? copysign(limit, near) : want,
               b = isinf(y) ? copysign(limit, y) : y;
        return fabs(a - b) / 0x1p104;
    }
    if (want == 0) return y == 0 && !signbit(y) == !signbit(want) ? 0 : INFINITY;
    int exponent = ilogb(want) < -126 ? -126 : ilogb(want);
    return fabs((double)y - want) / ldexp(1, exponent - 23);
}

static void walk(const math_row *table, const char *tier, int f, uint64_t stride) {
    float x[BLOCK], y[BLOCK];
    double worst = 0;
    float where = 0;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32;) {
        for (size_t i = 0; i < BLOCK; i++, bits += stride) x[i] = of_bits((uint32_t)bits);
        table[f].run(x, y, BLOCK);
        for (size_t i = 0; i < BLOCK; i++) {
            double off = ulps(y[i], exact[f](x[i]));
            if (off > worst) worst = off, where = x[i];
        }
    }
    printf("%-8s %-8s %.3f ulp at %.9g\n", tier, names[f], worst, (double)where);
    CHECK(worst <= table[f].ulp);
}

TEST(walks) {
    const char *given = getenv("ONX_MATH_STRIDE");
    uint64_t stride = given ? strtoull(given, NULL, 10) : 1009;
    for (size_t t = first_tier(); t < sizeof tiers / sizeof *tiers; t++)
        for (int f = 0; f < MATH_COUNT; f++)
            walk(tiers[t].table, tiers[t].name, f, stride ? stride : 1);
}

TEST(edges) {
    static const float points[16] = {
        0.0f,
        -0.0f,
        INFINITY,
        -INFINITY,
        NAN,
        -NAN,
        0x1p-149f,
        -0x1p-149f,
        0x1p-126f,
        0x1.fffffep127f,
        -0x1.fffffep127f,
        1.0f,
        -1.0f,
        88.72284f,
        -103.97f,
        0x1.fffffcp-127f,
    };
    for (size_t t = first_tier(); t < sizeof tiers / sizeof *tiers; t++)
        for (int f = 0; f < MATH_COUNT; f++) {
            float y[16];
            tiers[t].table[f].run(points, y, 16);
            for (size_t i = 0; i < 16; i++) {
                double want = exact[f](points[i]);
                if (!CHECK(ulps(y[i], want) <= tiers[t].table[f].ulp))
                    fprintf(stderr, "    %s %s(%g) = %g, not %g\n", tiers[t].name, names[f],
                            (double)points[i], (double)y[i], want);
                CHECK(isnan(want) || !signbit(y[i]) == !signbit(want));
            }
        }
}

TEST_MAIN(E(walks) E(edges))
