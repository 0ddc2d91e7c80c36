/* gemm_half_amx.c: see gemm_half.h.
 *
 *     for each GROUP of panels of B           and in the end the epilogue
 *       for each panel
 *         for each strip of SPLIT steps       its part of B was split: the next is, meanwhile
 *           for each 32 rows of A             sums in scratch; after the last strip, C */
#include "cpu/gemm_half_end.h"
#include "cpu/half_amx.h"

#define LARGEST 0x1p127f /* what is below stays finite */

enum {
    FEW = 4, /* rows for which tiles do not pay: B is read once, and that takes the time */
};

static size_t steps_of(size_t k) {
    return k / ONX_HALF_DEPTH + (k % ONX_HALF_DEPTH != 0);
}
static size_t block_bytes(size_t k) {
    return steps_of(k) * SIDE * PIXEL;
}
static size_t panel_bytes(size_t k) {
    return steps_of(k) * PACKED * sizeof(uint16_t);
}
static size_t scratch_bytes(size_t rows) {
    return 2 * SPLIT * STEP + (rows + ROWS) * COLS * sizeof(float);
}

/* ─ Packing ──────────────────────────────────────────────────────────────────────────────────── */

/* Row l of B, from column j on; zeros where there is nothing. */
static __m256i fetch_row(size_t k, size_t n, const uint16_t *b, size_t b_row, size_t b_col,
                         size_t l, size_t j) {
    uint16_t all[VF] = {0};
    if (b_col == 1 && l < k && n - j >= VF && j < n)
        return _mm256_loadu_si256((const void *)((const char *)b + (l * b_row + j) * sizeof *b));
    for (size_t i = 0; i < VF && l < k && j + i < n; i++)
        memcpy(all + i, (const char *)b + (l * b_row + (j + i) * b_col) * sizeof *b, sizeof *b);
    return _mm256_loadu_si256((const __m256i *)all);
}

static bool pack_b(size_t k, size_t n, const uint16_t *b, size_t b_row, size_t b_col, size_t index,
                   char *packed) {
    const __m256i exponent = _mm256_set1_epi16(0x7c00);
    uint16_t *to = (uint16_t *)(void *)(packed + index * panel_bytes(k));
    __mmask16 odd = 0;
    for (size_t step = 0; step < steps_of(k); step++)
        for (size_t i = 0; i < 4 * SIDE; i++, to += VF) {
            size_t l = step * ONX_HALF_DEPTH + i / 2 % SIDE + i % 2 * SIDE;
            size_t j = index * COLS + i / (2 * SIDE) * VF;
            __m256i row = fetch_row(k, n, b, b_row, b_col, l, j);
            _mm256_storeu_si256((__m256i *)(void *)to, row);
            odd |= _mm256_cmpeq_epi16_mask(_mm256_and_si256(row, exponent), exponent);
        }
    return !odd;
}

static void pack_a(const onx_half_args *g, size_t index) {
    char *block = g->packed_a + index * block_bytes(g->k);
    for (size_t i = 0; i < SIDE && index * SIDE + i < g->m; i++) {
        const float *from = g->a + (index * SIDE + i) * g->a_row;
        char *to = block + i * PIXEL;
        __mmask16 fit = 0xffff;
        for (size_t l = 0; l < g->k; l += ONX_HALF_DEPTH, to += SIDE * PIXEL) {
            size_t n = least(g->k - l, ONX_HALF_DEPTH), first = least(n, VF);
            vf x = vf_load_n(from + l, first), y = vf_load_n(from + l + first, n - first);
            fit &= _mm512_cmp_ps_mask((__m512)vf_abs(x), _mm512_set1_ps(LARGEST), _CMP_LT_OQ);
            fit &= _mm512_cmp_ps_mask((__m512)vf_abs(y), _mm512_set1_ps(LARGEST), _CMP_LT_OQ);
            store_pairs((__m512)x, (__m512)y, to, to + LINE);
        }
        g->odd[index * SIDE + i] = fit != 0xffff;
    }
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

static const uint16_t *panel_of(const onx_half_args *g, size_t panel) {
    return (const uint16_t *)(const void *)(g->b + panel * panel_bytes(g->k));
}

/* Is it one row after the other? */
static bool is_alone(const onx_half_args *g) {
    return g->b_odd || g->m <= FEW;
}

/* The sums of one row of A and a panel, one product after the other. */
static void multiply_alone(const onx_half_args *g, size_t row, const uint16_t *panel,
                           float *sums[2]) {
    vf sum[2] = {vf_zero(), vf_zero()};
    for (size_t l = 0; l < g->k; l++) {
        const uint16_t *w = panel + l / ONX_HALF_DEPTH * PACKED;
        w += (l % SIDE * 2 + l % ONX_HALF_DEPTH / SIDE) * VF;
        vf x = load_one(g->a + row * g->a_row + l);
        for (size_t j = 0; j < 2; j++) sum[j] = vf_fma(x, vf_load_f16(w + j * PACKED / 2), sum[j]);
    }
    for (size_t j = 0; j < 2; j++) vf_store(sums[j], sum[j]);
}

/* Rows row … row + rows - 1 of a panel of C are summed up. */
static void finish_rows(const onx_half_args *g, size_t row, size_t rows, size_t panel,
                        float *const sums[2]) {
    size_t col = panel * COLS, n = least(COLS, g->n - col);
    for (size_t i = 0; i < rows; i++) {
        float *own[2] = {sums[0] + i * VF, sums[1] + i * VF};
        if (is_alone(g) || g->odd[row + i]) multiply_alone(g, row + i, panel_of(g, panel), own);
        for (size_t j = 0; j < n; j += VF)
            half_finish(g, row + i, col + j, least(VF, n - j), own[j / VF]);
    }
}

/* Strip t, from step k on, of a panel. */
static void run_strip(const onx_half_args *g, onx_gemm_part part, size_t panel, size_t k,
                      float *sums, strip *t) {
    t->more = k;
    for (size_t row = part.row; row < part.row_end; row += ROWS) {
        const char *a = g->packed_a + row / SIDE * block_bytes(g->k) + k * SIDE * PIXEL;
        for (size_t i = 0; i < t->n; i++) t->a[i] = a + i * SIDE * PIXEL;
        t->sums[0] = sums + (row - part.row) * COLS;
        t->sums[1] = t->sums[0] + ROWS * VF;
        multiply(t);
        if (k + t->n == steps_of(g->k))
            finish_rows(g, row, least(ROWS, part.row_end - row), panel, t->sums);
    }
}

/* The panels of a part, one after the other; a strip is split while that before is used. */
static void run_panels(const onx_half_args *g, onx_gemm_part part, char *scratch) {
    const size_t steps = steps_of(g->k), all = (part.row_end - part.row + ROWS - 1) / ROWS;
    char *split[2] = {scratch, scratch + SPLIT * STEP};
    float *sums = (float *)(void *)(scratch + 2 * SPLIT * STEP);
    strip t = {
        .a_next = block_bytes(g->k),
        .split = {.from = panel_of(g, part.panel), .end = panel_of(g, (g->n + COLS - 1) / COLS)}};
    split_now(&t.split, strip_steps(SPLIT, steps, 0), split[0]);
    for (size_t turn = 0, panel = part.panel; panel < part.panel_end; panel++)
        for (size_t k = 0; k < steps; k += t.n, turn = !turn) {
            t.n = strip_steps(SPLIT, steps - k, 0);
            t.b = split[turn];
            size_t next =
                strip_steps(SPLIT, steps - k - t.n, panel + 1 < part.panel_end ? steps : 0);
            split_next(&t.split, next, split[!turn], t.n * all);
            run_strip(g, part, panel, k, sums, &t);
        }
}

static void run(const onx_half_args *g, onx_gemm_part part, void *scratch) {
    float *sums = scratch;
    onx_gemm_part some = part;
    onx_amx_begin();
    for (; some.panel < part.panel_end; some.panel = some.panel_end) {
        some.panel_end = least(some.panel + HALF_GROUP, part.panel_end);
        if (!is_alone(g)) run_panels(g, some, scratch);
        for (size_t panel = some.panel; panel < some.panel_end && is_alone(g); panel++)
            for (size_t row = part.row; row < part.row_end; row++)
                finish_rows(g, row, 1, panel, (float *[2]){sums, sums + VF});
        half_end_rows(g, some);
    }
    onx_amx_end();
}

const onx_half_gemm onx_half_gemm_amx = {
    false, block_bytes, panel_bytes, pack_b, pack_a, scratch_bytes, run,
};
