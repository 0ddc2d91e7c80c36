/* gemm_half_vnni.c: see gemm_half.h. Packed A is [steps][rows of all blocks][32] integers, then the
 * scales: [steps][rows]. A part is computed panel by panel, and each panel for 6 rows at a time. */
#include "cpu/gemm_half_end.h"
#include "cpu/half_vnni.h"

static size_t steps_of(size_t k) {
    return k / DEPTH + (k % DEPTH != 0);
}
static size_t block_bytes(size_t k) {
    return steps_of(k) * ONX_HALF_ROWS * (LINE + sizeof(float));
}
static size_t panel_bytes(size_t k) {
    return steps_of(k) * STEP;
}
static size_t scratch_bytes(size_t rows) {
    (void)rows;
    return 0;
}

/* ─ Packing ──────────────────────────────────────────────────────────────────────────────────── */

/* Rows of packed A, and its scales. */
static size_t rows_of(const onx_half_args *g) {
    return (g->m + ONX_HALF_PART - 1) / ONX_HALF_PART * ONX_HALF_PART;
}
static float *scales_of(const onx_half_args *g) {
    return (float *)(void *)(g->packed_a + steps_of(g->k) * rows_of(g) * LINE);
}

static void pack_a(const onx_half_args *g, size_t index) {
    size_t rows = rows_of(g), end = least(g->m, (index + 1) * ONX_HALF_ROWS);
    for (size_t row = index * ONX_HALF_ROWS; row < end; row++) {
        const float *from = g->a + row * g->a_row;
        int16_t *to = (int16_t *)(void *)g->packed_a + row * DEPTH;
        float *scale = scales_of(g) + row;
        bool fits = true;
        for (size_t l = 0; l < g->k; l += DEPTH, to += rows * DEPTH, scale += rows) {
            size_t n = least(g->k - l, DEPTH), first = least(n, VF);
            fits &=
                fix(vf_load_n(from + l, first), vf_load_n(from + l + first, n - first), to, scale);
        }
        g->odd[row] = !fits;
    }
}

/* Rows l … of B from column j on, `n` columns of them. */
static void fetch(size_t depth, size_t n, const uint16_t *b, size_t b_row, size_t b_col,
                  float to[DEPTH][VF]) {
    for (size_t k = 0; k < DEPTH; k++) {
        uint16_t all[VF] = {0};
        const char *from = (const char *)b + k * b_row * sizeof *b;
        if (k < depth && b_col == 1)
            memcpy(all, from, n * sizeof *b);
        else
            for (size_t i = 0; i < n && k < depth; i++)
                memcpy(all + i, from + i * b_col * sizeof *b, sizeof *b);
        vf_store(to[k], vf_load_f16(all));
    }
}

static bool pack_b(size_t k, size_t n, const uint16_t *b, size_t b_row, size_t b_col, size_t index,
                   char *packed) {
    char *to = packed + index * panel_bytes(k);
    bool fits = true;
    for (size_t l = 0; l < k; l += DEPTH, to += STEP)
        for (size_t half = 0; half < 2; half++) {
            float all[DEPTH][VF];
            size_t j = index * COLS + half * VF, some = j < n ? least(VF, n - j) : 0;
            fetch(some ? least(DEPTH, k - l) : 0, some, b + l * b_row + (some ? j : 0) * b_col,
                  b_row, b_col, all);
            fits &= fix_columns(all, half, to);
        }
    return fits;
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

/* The sums of one row of A that is not finite, or too large, one product after the other. */
static void multiply_alone(const onx_half_args *g, size_t row, const char *b,
                           float *const sums[2]) {
    vf sum[2] = {vf_zero(), vf_zero()};
    for (size_t l = 0; l < g->k; l++) {
        const char *step = b + l / DEPTH * STEP, *pair = step + l % DEPTH / 2 * 2 * LINE;
        vf x = load_one(g->a + row * g->a_row + l);
        for (size_t j = 0; j < 2; j++) {
            __m512i two = _mm512_loadu_si512(pair + j * LINE);
            if (l % 2 == 0) two = _mm512_slli_epi32(two, 16);
            vf w = (vf)_mm512_cvtepi32_ps(_mm512_srai_epi32(two, 16));
            w *= (vf)_mm512_loadu_ps(step + COLS * LINE + j * LINE);
            sum[j] = vf_fma(x, w, sum[j]);
        }
    }
    for (size_t j = 0; j < 2; j++) vf_store(sums[j], sum[j]);
}

static void run_panel(const onx_half_args *g, onx_gemm_part part, size_t panel) {
    float sums[2][ROWS * VF];
    size_t col = panel * COLS, n = least(COLS, g->n - col);
    tile t = {.a_step = rows_of(g),
              .steps = steps_of(g->k),
              .b = g->b + panel * panel_bytes(g->k),
              .sums = {sums[0], sums[1]}};
    for (size_t row = part.row, rows; row < part.row_end; row += rows) {
        rows = least(ROWS, part.row_end - row);
        t.a = (const int16_t *)(const void *)g->packed_a + row * DEPTH;
        t.scales = scales_of(g) + row;
        multiply(&t, rows);
        for (size_t i = 0; i < rows; i++) {
            float *const own[2] = {sums[0] + i * VF, sums[1] + i * VF};
            if (g->odd[row + i]) multiply_alone(g, row + i, t.b, own);
            for (size_t j = 0; j < n; j += VF)
                half_finish(g, row + i, col + j, least(VF, n - j), own[j / VF]);
        }
    }
}

static void run(const onx_half_args *g, onx_gemm_part part, void *scratch) {
    onx_gemm_part some = part;
    (void)scratch;
    for (; some.panel < part.panel_end; some.panel = some.panel_end) {
        some.panel_end = least(some.panel + HALF_GROUP, part.panel_end);
        for (size_t panel = some.panel; panel < some.panel_end; panel++) run_panel(g, part, panel);
        half_end_rows(g, some);
    }
}

const onx_half_gemm onx_half_gemm_vnni = {
    true, block_bytes, panel_bytes, pack_b, pack_a, scratch_bytes, run,
};
