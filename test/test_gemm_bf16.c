/* test_gemm_bf16.c: products of matrices in bfloat16 (cpu/gemm_bf16.h) against sums in double,
 * within the bound that the header states, on the tiers bf16 and amx if this processor has them. */
#include "numbers.h"
#include "test.h"

#if !defined(__x86_64__)
TEST(sizes) {
    SKIP("there is no tier bf16");
}
TEST_MAIN(E(sizes))
#else
#include "kernel.h"

#include "cpu/gemm_bf16.h"

#include <math.h>

static const struct {
    const char *name;
    onx_bf16_run *run;
} all[] = {{"amx", onx_gemm_run_amx}, {"bf16", onx_gemm_run_bf16}};

static bool has(size_t i) {
    for (const char *const *t = kernel_tiers(); *t; t++)
        if (strcmp(*t, all[i].name) == 0) return true;
    return false;
}
#define EACH_TIER(t)                                                                               \
    for (size_t t = 0; t < 2; t++)                                                                 \
        if (has(t))

typedef enum d_kind { D_NONE, D_BIAS, D_MATRIX, D_COLUMN, D_KINDS } d_kind;
typedef struct product {
    size_t m, k, n;
    bool a_turned, b_turned, rounded; /* rounded: the operands are bfloat16 */
    d_kind d;
    float alpha;
    size_t pad; /* floats between the rows of C */
} product;

#define BETA 0.75f
typedef struct operands {
    float *a, *b, *c, *d, *start; /* start: C before the run */
    uint16_t *half[2], *packed[2];
    onx_bf16_args args;
    onx_gemm_tiling tiling;
} operands;

/* The same numbers as bfloat16; the floats become what they are rounded to. */
static uint16_t *rounded(float *from, size_t n) {
    uint16_t *half = malloc(n * sizeof *half + 1);
    if (!half || onx_dtype_convert(ONX_DTYPE_F32, from, ONX_DTYPE_BF16, half, n, false) ||
        onx_dtype_convert(ONX_DTYPE_BF16, half, ONX_DTYPE_F32, from, n, false))
        exit(1);
    return half;
}

static void pack(operands *o, const product *p) {
    size_t m = p->m, k = p->k, n = p->n;
    onx_bf16_source a = {o->a, m, k, p->a_turned ? 1 : k, p->a_turned ? m : 1, p->rounded};
    onx_bf16_source b = {o->b, k, n, p->b_turned ? 1 : n, p->b_turned ? k : 1, p->rounded};
    size_t blocks = onx_bf16_ceil(m, ONX_BF16_ROWS), panels = onx_bf16_ceil(n, ONX_BF16_COLS);
    size_t half = panels / 2;
    if (p->rounded) a.data = o->half[0], b.data = o->half[1];
    onx_bf16_pack_b(&b, half, panels - half, o->packed[1] + half * onx_bf16_panel_size(k));
    onx_bf16_pack_b(&b, 0, half, o->packed[1]);
    onx_bf16_pack_a(&a, blocks / 2, blocks - blocks / 2,
                    o->packed[0] + blocks / 2 * onx_bf16_block_size(k));
    onx_bf16_pack_a(&a, 0, blocks / 2, o->packed[0]);
}

static void operands_init(operands *o, const product *p) {
    size_t m = p->m, k = p->k, n = p->n, ldc = n + p->pad;
    size_t a_size = onx_bf16_ceil(m, ONX_BF16_ROWS) * onx_bf16_block_size(k);
    size_t b_size = onx_bf16_ceil(n, ONX_BF16_COLS) * onx_bf16_panel_size(k);
    *o = (operands){.a = make(m * k),
                    .b = make(k * n),
                    .c = make(m * ldc),
                    .d = make(p->d == D_MATRIX   ? m * n
                              : p->d == D_COLUMN ? m
                                                 : n),
                    .start = make(m * ldc)};
    o->packed[0] = (uint16_t *)make(a_size / 2);
    o->packed[1] = (uint16_t *)make(b_size / 2);
    if (p->rounded) o->half[0] = rounded(o->a, m * k), o->half[1] = rounded(o->b, k * n);
    pack(o, p);
    memcpy(o->start, o->c, m * ldc * sizeof(float));
    o->args = (onx_bf16_args){.m = m,
                              .n = n,
                              .k = k,
                              .a = o->packed[0],
                              .b = o->packed[1],
                              .c = o->c,
                              .ldc = ldc,
                              .alpha = p->alpha,
                              .beta = BETA};
    o->args.d = p->d == D_NONE ? NULL : o->d;
    o->args.ldd = p->d == D_BIAS ? 0 : p->d == D_COLUMN ? 1 : n;
    o->args.d_col = p->d != D_COLUMN;
    o->tiling = onx_bf16_tile(m, n, k);
}
static void operands_fini(operands *o) {
    free(o->a), free(o->b), free(o->c), free(o->d), free(o->start);
    for (size_t i = 0; i < 2; i++) free(o->half[i]), free(o->packed[i]);
}
static void run_tiles(operands *o, onx_bf16_run *run) {
    for (size_t t = o->tiling.n_down * o->tiling.n_across; t-- > 0;)
        run(&o->args, onx_bf16_tile_at(&o->tiling, o->args.m, o->args.n, o->args.k, t));
}

static bool close_enough(const operands *o, const product *p, size_t i, size_t j) {
    const onx_bf16_args *g = &o->args;
    const float *d = g->d;
    double sum = 0, size = 0, added = d ? BETA * (double)d[i * g->ldd + j * g->d_col] : 0;
    for (size_t l = 0; l < p->k; l++) {
        double x = o->a[p->a_turned ? l * p->m + i : i * p->k + l];
        double y = o->b[p->b_turned ? j * p->k + l : l * p->n + j];
        sum += x * y;
        size += fabs(x * y);
    }
    double want = (double)p->alpha * sum + added, got = o->c[i * g->ldc + j];
    double bound = p->rounded ? 2 * (double)p->k + 8 : onx_bf16_bound(p->k);
    size = fabs((double)p->alpha) * size + fabs(added);
    return fabs(got - want) <= bound * 0x1p-24 * size + 1e-30;
}

static void check_product(size_t tier, const product *p) {
    operands o;
    operands_init(&o, p);
    run_tiles(&o, all[tier].run);
    size_t wrong = 0, ldc = o.args.ldc;
    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->n; j++) wrong += !close_enough(&o, p, i, j);
        for (size_t j = p->n; j < ldc; j++) /* between the rows nothing is written */
            wrong += memcmp(&o.c[i * ldc + j], &o.start[i * ldc + j], sizeof(float)) != 0;
    }
    if (!CHECK(wrong == 0))
        fprintf(stderr, "    %s %zux%zux%zu turned %d %d rounded %d d %d: %zu wrong\n",
                all[tier].name, p->m, p->k, p->n, p->a_turned, p->b_turned, p->rounded, (int)p->d,
                wrong);
    operands_fini(&o);
}

/* Sizes around 0, 1 and the blocks', in every combination of options by and by. */
TEST(sizes) {
    static const size_t sizes[] = {0, 1, 2, 3, 8, 9, 15, 16, 17, 31, 32, 33, 47, 64, 65};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    static const float alphas[] = {1, 0.5f, -3, 0};
    if (!has(1)) SKIP("there is no tier bf16");
    EACH_TIER(t) for (size_t i = 0; i < (size_t)SIZES * SIZES * SIZES; i++) {
        product p = {
            .m = sizes[i % SIZES], .k = sizes[i / SIZES % SIZES], .n = sizes[i / SIZES / SIZES]};
        p.a_turned = below(3) == 0;
        p.b_turned = below(2) == 0;
        p.rounded = below(2) == 0;
        p.d = (d_kind)below(D_KINDS);
        p.alpha = alphas[below(4)];
        p.pad = below(3);
        check_product(t, &p);
    }
}

TEST(blocks) { /* several tiles, down and across */
    static const product products[] = {
        {230, 520, 170, false, false, false, D_BIAS, 1, 0},
        {1, 1500, 2000, false, false, false, D_MATRIX, 1, 3},
        {520, 1030, 71, true, true, true, D_COLUMN, 2, 0},
        {451, 33, 1290, true, true, false, D_COLUMN, 0.25f, 1},
        {64, 3100, 64, false, false, true, D_NONE, 1, 0},
    };
    EACH_TIER(t)
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) check_product(t, &products[i]);
}

/* The same bits however C is cut. */
TEST(cuts) {
    product p = {.m = 101, .k = 1100, .n = 333, .d = D_BIAS, .alpha = 1.5f};
    EACH_TIER(t) {
        operands o;
        operands_init(&o, &p);
        size_t panels = onx_bf16_ceil(p.n, ONX_BF16_COLS), bytes = p.m * p.n * sizeof(float);
        all[t].run(&o.args, (onx_gemm_part){0, p.m, 0, panels});
        memcpy(o.start, o.c, bytes);
        for (size_t rows = ONX_BF16_PART; rows <= p.m; rows += ONX_BF16_PART)
            for (size_t width = 1; width <= panels; width += 2) {
                memset(o.c, 0xff, bytes);
                o.tiling = (onx_gemm_tiling){.rows = rows, .panels = width};
                o.tiling.n_down = onx_bf16_ceil(p.m, rows);
                o.tiling.n_across = onx_bf16_ceil(panels, width);
                run_tiles(&o, all[t].run);
                CHECK(memcmp(o.c, o.start, bytes) == 0);
            }
        operands_fini(&o);
    }
}

/* Negates; C is complete when it is called. */
static void negate(void *user, float *c, size_t row, size_t n_rows, size_t col, size_t n_cols,
                   size_t ldc) {
    const operands *o = user;
    CHECK(c == o->c + row * ldc + col && ldc == o->args.ldc);
    CHECK(row + n_rows <= o->args.m && col + n_cols <= o->args.n);
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_cols; j++) c[i * ldc + j] = -c[i * ldc + j];
}

TEST(epilogue) {
    static const size_t heights[] = {1, 5, 250};
    EACH_TIER(t) for (size_t h = 0; h < 3; h++) {
        product p = {.m = heights[h], .k = 1100, .n = 333, .alpha = 1};
        operands o;
        operands_init(&o, &p);
        size_t count = p.m * p.n, wrong = 0;
        run_tiles(&o, all[t].run);
        memcpy(o.start, o.c, count * sizeof(float));
        o.args.epilogue = negate;
        o.args.user = &o;
        run_tiles(&o, all[t].run);
        for (size_t i = 0; i < count; i++) wrong += o.c[i] != -o.start[i];
        CHECK_EQ(wrong, 0);
        operands_fini(&o);
    }
}

/* A zero in A or B does not hide a NaN or an infinity in the other. */
TEST(specials) {
    EACH_TIER(t) {
        product p = {.m = 20, .k = 30, .n = 40, .alpha = 1};
        operands o;
        operands_init(&o, &p);
        memset(o.a, 0, p.m * p.k * sizeof(float));
        o.b[7 * p.n + 3] = INFINITY;
        o.b[8 * p.n + 39] = NAN;
        pack(&o, &p);
        run_tiles(&o, all[t].run);
        for (size_t i = 0; i < p.m; i++)
            for (size_t j = 0; j < p.n; j++)
                CHECK(j == 3 || j == 39 ? isnan(o.c[i * p.n + j]) : o.c[i * p.n + j] == 0);
        operands_fini(&o);
    }
}

TEST_MAIN(E(sizes) E(blocks) E(cuts) E(epilogue) E(specials))
#endif
