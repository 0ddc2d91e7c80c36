/* test_gemm.c: products of matrices (cpu/gemm.h) against sums in double, within the bound that the
 * header states, on every instruction set that this processor has. */
#include "numbers.h"
#include "test.h"

#include "cpu/cpu.h"
#include "cpu/gemm.h"

#include <math.h>

static const struct {
    const char *name;
    const onx_gemm *gemm;
} tiers[] = {
#define TIER(isa) {#isa, &onx_gemm_##isa},
    ONX_ISAS(TIER)};

/* The tiers of this machine: from the best one on; all, where it has more than they need. */
static size_t first_tier(void) {
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++)
        if (strcmp(tiers[i].name, onx_cpu_best()) == 0) return i;
    return 0;
}
#define EACH_TIER(t) for (size_t t = first_tier(); t < sizeof tiers / sizeof *tiers; t++)

typedef enum d_kind { D_NONE, D_BIAS, D_MATRIX, D_IS_C, D_KINDS } d_kind;
typedef struct product {
    size_t m, k, n;
    bool a_turned, b_turned, in_place, a_packed;
    d_kind d;
    float alpha;
    size_t pad; /* floats between the rows of C */
} product;

typedef struct operands {
    float *a, *b, *packed, *c, *d, *start, *a_packed; /* start: C before the run */
    void *scratch;
    onx_gemm_args args;
    onx_gemm_tiling tiling;
} operands;

static void operands_init(operands *o, const onx_gemm *gemm, const product *p) {
    size_t floats = 0, m = p->m, k = p->k, n = p->n, ldc = n + p->pad;
    CHECK(onx_gemm_packed_size(gemm, k, n, &floats));
    *o = (operands){.a = make(m * k),
                    .b = make(k * n),
                    .packed = make(floats),
                    .c = make(m * ldc),
                    .d = make(p->d == D_MATRIX ? m * n : n),
                    .start = make(m * ldc)};
    memcpy(o->start, o->c, m * ldc * sizeof(float));
    onx_gemm_args args = {.m = m, .n = n, .k = k, .a = o->a, .c = o->c, .ldc = ldc};
    args.a_row = p->a_turned ? 1 : k;
    args.a_col = p->a_turned ? m : 1;
    args.b = p->in_place ? o->b : o->packed;
    args.ldb = p->in_place ? n : 0;
    args.alpha = p->alpha;
    args.d = p->d == D_NONE ? NULL : p->d == D_IS_C ? o->c : o->d;
    args.ldd = p->d == D_BIAS ? 0 : p->d == D_IS_C ? ldc : n;
    o->tiling = onx_gemm_tile(gemm, m, n, k, 1);
    args.a_packed = p->a_packed;
    size_t bytes = onx_gemm_scratch(gemm, &args, m);
    o->scratch = make(bytes / sizeof(float));
    memset(o->scratch, 0xff, bytes); /* NaN */
    if (p->a_packed) {
        float *packed = make(m * k);
        size_t groups = onx_gemm_groups(gemm, m);
        size_t row = onx_gemm_group_at(gemm, m, groups / 2);
        gemm->pack_a(&args, row, m, packed + row * k);
        gemm->pack_a(&args, 0, row, packed);
        o->a_packed = packed;
        args.a = packed;
    }
    o->args = args;
    if (p->in_place) return;
    size_t b_row = p->b_turned ? 1 : n, b_col = p->b_turned ? k : 1, half;
    size_t panels = onx_gemm_panels(gemm, n);
    half = panels / 2;
    gemm->pack_b(k, n, o->b, b_row, b_col, half, panels - half, o->packed + half * k * gemm->nr);
    gemm->pack_b(k, n, o->b, b_row, b_col, 0, half, o->packed);
}
static void operands_fini(operands *o) {
    free(o->a), free(o->b), free(o->packed), free(o->c), free(o->d), free(o->start);
    free(o->scratch), free(o->a_packed);
}
static void run_tiles(operands *o, const onx_gemm *gemm) {
    for (size_t t = o->tiling.n_down * o->tiling.n_across; t-- > 0;)
        gemm->run(&o->args, onx_gemm_tile_at(gemm, &o->tiling, o->args.m, o->args.n, t),
                  o->scratch);
}

static bool close_enough(const operands *o, const product *p, size_t i, size_t j) {
    const onx_gemm_args *g = &o->args;
    const float *d = p->d == D_IS_C ? o->start : g->d;
    double sum = 0, size = 0, added = d ? d[i * g->ldd + j] : 0;
    for (size_t l = 0; l < p->k; l++) {
        double x = o->a[i * g->a_row + l * g->a_col];
        double y = o->b[p->b_turned ? j * p->k + l : l * p->n + j];
        sum += x * y;
        size += fabs(x * y);
    }
    double want = (double)p->alpha * sum + added, got = g->c[i * g->ldc + j];
    size = fabs((double)p->alpha) * size + fabs(added);
    return fabs(got - want) <= onx_gemm_bound(p->k) * 0x1p-24 * size + 1e-300;
}

static void check_product(const onx_gemm *gemm, const char *tier, const product *p) {
    operands o;
    operands_init(&o, gemm, p);
    run_tiles(&o, gemm);
    size_t wrong = 0, ldc = o.args.ldc;
    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->n; j++) wrong += !close_enough(&o, p, i, j);
        for (size_t j = p->n; j < ldc; j++) /* between the rows nothing is written */
            wrong += memcmp(&o.c[i * ldc + j], &o.start[i * ldc + j], sizeof(float)) != 0;
    }
    if (!CHECK(wrong == 0))
        fprintf(stderr, "    %s %zux%zux%zu turned %d %d in place %d packed %d d %d: %zu wrong\n",
                tier, p->m, p->k, p->n, p->a_turned, p->b_turned, p->in_place, p->a_packed,
                (int)p->d, wrong);
    operands_fini(&o);
}

/* Sizes around 0, 1, the kernels' and the blocks', in every combination of options by and by. */
TEST(sizes) {
    static const size_t sizes[] = {0, 1, 2, 3, 5, 7, 13, 14, 15, 16, 17, 31, 32, 33, 47, 64, 65};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    static const float alphas[] = {1, 0.5f, -3, 0};
    EACH_TIER(t) for (size_t i = 0; i < (size_t)SIZES * SIZES * SIZES; i++) {
        product p = {
            .m = sizes[i % SIZES], .k = sizes[i / SIZES % SIZES], .n = sizes[i / SIZES / SIZES]};
        p.a_turned = below(3) == 0;
        p.in_place = below(3) == 0;
        p.a_packed = below(2) == 0;
        p.b_turned = !p.in_place && below(2) == 0;
        p.d = (d_kind)below(D_KINDS);
        p.alpha = alphas[below(4)];
        p.pad = below(3);
        check_product(tiers[t].gemm, tiers[t].name, &p);
    }
}

TEST(blocks) { /* more than one block of depth and of rows */
    static const product products[] = {
        {230, 520, 70, false, false, false, true, D_BIAS, 1, 0},
        {230, 520, 70, false, false, false, false, D_BIAS, 1, 2},
        {29, 1024, 48, false, false, false, false, D_MATRIX, 1, 0},
        {30, 20, 1100, false, false, false, false, D_NONE, 1, 0},
        {1, 1500, 200, false, false, false, false, D_MATRIX, 1, 3},
        {1, 1500, 71, false, false, true, true, D_NONE, 2, 0},
        {1, 1030, 71, true, true, false, false, D_IS_C, 2, 0},
        {451, 33, 129, true, true, false, true, D_IS_C, 0.25f, 1},
        {29, 1025, 33, true, false, true, false, D_NONE, 1, 0},
        {3, 512, 700, false, true, false, true, D_BIAS, 1, 0},
        {0, 600, 40, false, false, false, false, D_NONE, 1, 0},
        {40, 600, 0, false, false, false, true, D_NONE, 1, 0},
    };
    EACH_TIER(t)
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        check_product(tiers[t].gemm, tiers[t].name, &products[i]);
}

/* The same bits however C is cut. */
TEST(cuts) {
    product p = {.m = 101, .k = 1100, .n = 333, .d = D_BIAS, .alpha = 1.5f};
    EACH_TIER(t) {
        const onx_gemm *gemm = tiers[t].gemm;
        operands o;
        operands_init(&o, gemm, &p);
        size_t panels = onx_gemm_panels(gemm, p.n), bytes = p.m * p.n * sizeof(float);
        gemm->run(&o.args, (onx_gemm_part){0, p.m, 0, panels}, o.scratch);
        memcpy(o.start, o.c, bytes);
        size_t groups = onx_gemm_groups(gemm, p.m);
        for (size_t high = 1; high <= groups; high += 3)
            for (size_t width = 1; width <= panels; width += 2) {
                memset(o.c, 0xff, bytes);
                o.tiling = (onx_gemm_tiling){.groups = high,
                                             .panels = width,
                                             .n_down = (groups + high - 1) / high,
                                             .n_across = (panels + width - 1) / width};
                run_tiles(&o, gemm);
                CHECK(memcmp(o.c, o.start, bytes) == 0);
            }
        operands_fini(&o);
    }
}

/* Negates and counts; C is complete when it is called. */
static void negate(void *user, float *c, size_t row, size_t n_rows, size_t col, size_t n_cols,
                   size_t ldc) {
    const operands *o = user;
    CHECK(c == o->args.c + row * ldc + col && ldc == o->args.ldc);
    CHECK(row + n_rows <= o->args.m && col + n_cols <= o->args.n);
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_cols; j++) c[i * ldc + j] = -c[i * ldc + j];
}

TEST(epilogue) {
    static const size_t heights[] = {1, 5, 250};
    EACH_TIER(t) for (size_t h = 0; h < 3; h++) {
        product p = {.m = heights[h], .k = 1100, .n = 333, .alpha = 1};
        operands o;
        operands_init(&o, tiers[t].gemm, &p);
        size_t count = p.m * p.n, wrong = 0;
        run_tiles(&o, tiers[t].gemm);
        memcpy(o.start, o.c, count * sizeof(float));
        o.args.epilogue = negate;
        o.args.user = &o;
        run_tiles(&o, tiers[t].gemm);
        for (size_t i = 0; i < count; i++) wrong += o.c[i] != -o.start[i];
        CHECK_EQ(wrong, 0);
        operands_fini(&o);
    }
}

/* Halves: A packed by the run or before, B packed as floats or as it is, C a part of its own. */
TEST(halves) {
    static const onx_gemm_type types[] = {ONX_GEMM_F16, ONX_GEMM_BF16};
    static const size_t shapes[][3] = {{1, 70, 200}, {5, 1, 33}, {37, 600, 71}, {100, 129, 64}};
    EACH_TIER(t) for (size_t i = 0; i < 64; i++) {
        const onx_gemm *gemm = tiers[t].gemm;
        onx_gemm_type type = types[i / 4 % 2];
        const size_t *shape = shapes[i % 4];
        product p = {.m = shape[0], .k = shape[1], .n = shape[2], .alpha = 1};
        p.a_turned = i / 8 % 2, p.b_turned = i / 16 % 2;
        bool keep = i / 32 % 2;
        operands o;
        operands_init(&o, gemm, &p);
        uint16_t *a = malloc(p.m * p.k * 2 + 1), *b = malloc(p.k * p.n * 2);
        void *a_odd = (char *)a + 1; /* unaligned */
        gemm->narrow(type, o.a, p.m * p.k, a_odd), gemm->widen(type, a_odd, p.m * p.k, o.a);
        gemm->narrow(type, o.b, p.k * p.n, b), gemm->widen(type, b, p.k * p.n, o.b);
        gemm->pack_half(type, keep, p.k, p.n, b, p.b_turned ? 1 : p.n, p.b_turned ? p.k : 1, 0,
                        onx_gemm_panels(gemm, p.n), o.packed);
        o.args.a = a_odd;
        o.args.a_type = type;
        o.args.b_type = keep ? type : ONX_GEMM_F32;
        free(o.scratch);
        o.scratch = malloc(onx_gemm_scratch(gemm, &o.args, p.m) + 1);
        run_tiles(&o, gemm);
        size_t wrong = 0;
        for (size_t j = 0; j < p.m * p.n; j++) wrong += !close_enough(&o, &p, j / p.n, j % p.n);
        CHECK_EQ(wrong, 0);
        free(a), free(b);
        operands_fini(&o);
    }
}

/* A zero in A or B does not hide a NaN or an infinity in the other. */
TEST(specials) {
    EACH_TIER(t) {
        product p = {.m = 20, .k = 30, .n = 40, .alpha = 1};
        operands o;
        operands_init(&o, tiers[t].gemm, &p);
        memset(o.a, 0, p.m * p.k * sizeof(float));
        o.b[7 * p.n + 3] = INFINITY;
        o.b[8 * p.n + 39] = NAN;
        tiers[t].gemm->pack_b(p.k, p.n, o.b, p.n, 1, 0, onx_gemm_panels(tiers[t].gemm, p.n),
                              o.packed);
        run_tiles(&o, tiers[t].gemm);
        for (size_t i = 0; i < p.m; i++)
            for (size_t j = 0; j < p.n; j++)
                CHECK(j == 3 || j == 39 ? isnan(o.c[i * p.n + j]) : o.c[i * p.n + j] == 0);
        operands_fini(&o);
    }
}

TEST(too_large) {
    size_t floats;
    CHECK(!onx_gemm_packed_size(tiers[0].gemm, SIZE_MAX / 2, 33, &floats));
    CHECK(!onx_gemm_packed_size(tiers[0].gemm, 2, SIZE_MAX, &floats));
    CHECK(!onx_gemm_packed_size(tiers[0].gemm, (size_t)1 << 32, (size_t)1 << 30, &floats));
}

TEST_MAIN(E(sizes) E(blocks) E(cuts) E(epilogue) E(halves) E(specials) E(too_large))
