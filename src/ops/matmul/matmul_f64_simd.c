/* matmul_f64_simd.c: MatMul and Gemm of doubles: vectors.
 *
 *     for each tile of Y, ROWS × COLUMNS          a task
 *       for each DEPTH of k                       partial sums go through Y
 *         pack B: [panel][DEPTH][NR]
 *         for each MR rows: pack A: [DEPTH][MR]
 *           for each panel: kernel                MR × NR sums in registers
 *
 * Edges are padded with zeros. Every element of Y is a sum in an order that depends on k alone. Few
 * rows are left to the plain kernel: packing B would take longer than the product. */
#include "ops/matmul/matmul_f64_simd.h"
#include "cpu/vec_double.h"

enum {
    MR = VF_REGISTERS == 32 ? 12 : 6,
    NV = 2,
    NR = NV * VD,
    PANELS = 8, /* of a tile */
    COLUMNS = PANELS * NR,
    ROWS = MR * 16,
    DEPTH = 256,
    FEW_ROWS = 2,
};

/* ─ Packing ──────────────────────────────────────────────────────────────────────────────────── */

static double load(const char *from, size_t at) {
    double x;
    memcpy(&x, from + at * sizeof x, sizeof x);
    return x;
}

/* to[l * width + i] = from[i * row + l * col], i < n; 0 for n <= i < width. */
static __attribute__((noinline)) void pack(double *to, size_t width, const char *from, size_t row,
                                           size_t col, size_t n, size_t depth) {
    for (size_t i = n; i < width; i++)
        for (size_t l = 0; l < depth; l++) to[l * width + i] = 0;
    if (row == 1)
        for (size_t l = 0; l < depth; l++)
            memcpy(to + l * width, from + l * col * sizeof *to, n * sizeof *to);
    else
        for (size_t i = 0; i < n; i++)
            for (size_t l = 0; l < depth; l++) to[l * width + i] = load(from, i * row + l * col);
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

/* sums[MR][NR] = a[depth][MR]ᵀ b[depth][NR] */
static void kernel(const double *a, const double *b, size_t depth, double *sums) {
    vd sum[MR][NV];
    VF_UNROLL for (int i = 0; i < MR; i++) VF_UNROLL for (int j = 0; j < NV; j++) sum[i][j] =
        vd_set(0);
    for (size_t l = 0; l < depth; l++, a += MR, b += NR) {
        vd row[NV];
        VF_UNROLL for (int j = 0; j < NV; j++) row[j] = vd_load(b + j * VD);
        VF_UNROLL for (int i = 0; i < MR; i++) VF_UNROLL for (int j = 0; j < NV; j++) sum[i][j] =
            vd_fma(vd_set(a[i]), row[j], sum[i][j]);
    }
    VF_UNROLL for (int i = 0; i < MR; i++) VF_UNROLL for (int j = 0; j < NV; j++)
        vd_store(sums + i * NR + j * VD, sum[i][j]);
}

/* A tile at work: matrices A, B and Y of a product, C, and buffers. */
typedef struct tile {
    const onx_matmul_plan *plan;
    const onx_matmul_state *state;
    const char *a, *b, *c;
    char *y;
    size_t row, row_end, col, col_end;
    double *packed_a, *packed_b;
} tile;

/* What Gemm makes of a row of sums: row i of Y, from column j on. */
static void finish(const tile *t, double *row, size_t i, size_t j, size_t cols) {
    const onx_matmul_plan *p = t->plan;
    double alpha = (double)t->state->alpha, beta = (double)t->state->beta;
    for (size_t s = 0; s < NR; s++) row[s] *= alpha;
    for (size_t s = 0; s < cols && p->has_c; s++)
        row[s] += beta * load(t->c, i * p->c_row + (j + s) * p->c_col);
}

/* Sums go to Y, from row i and column j on. */
static __attribute__((noinline)) void add_sums(const tile *t, double *sums, size_t i, size_t j,
                                               bool first, bool last) {
    size_t rows = t->row_end - i < MR ? t->row_end - i : MR;
    size_t cols = t->col_end - j < NR ? t->col_end - j : NR, bytes = cols * sizeof *sums;
    char *to = t->y + (i * t->plan->n + j) * sizeof *sums;
    for (size_t r = 0; r < rows; r++, sums += NR, to += t->plan->n * sizeof *sums) {
        double before[NR] = {0};
        if (!first) memcpy(before, to, bytes);
        for (size_t s = 0; s < NR; s++) sums[s] += before[s];
        if (last) finish(t, sums, i + r, j, cols);
        memcpy(to, sums, bytes);
    }
}

/* Columns l … l + depth - 1 of A times as many rows of B. */
static void run_depth(const tile *t, size_t l, size_t depth) {
    const onx_matmul_plan *p = t->plan;
    double sums[MR * NR];
    for (size_t j = t->col; j < t->col_end; j += NR)
        pack(t->packed_b + (j - t->col) * depth, NR,
             t->b + (l * p->b_row + j * p->b_col) * sizeof(double), p->b_col, p->b_row,
             t->col_end - j < NR ? t->col_end - j : NR, depth);
    for (size_t i = t->row; i < t->row_end; i += MR) {
        pack(t->packed_a, MR, t->a + (i * p->a_row + l * p->a_col) * sizeof(double), p->a_row,
             p->a_col, t->row_end - i < MR ? t->row_end - i : MR, depth);
        for (size_t j = t->col; j < t->col_end; j += NR) {
            kernel(t->packed_a, t->packed_b + (j - t->col) * depth, depth, sums);
            add_sums(t, sums, i, j, l == 0, l + depth == p->k);
        }
    }
}

/* Tiles are counted along the columns of Y, then along its rows, then by products. */
static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user;
    const onx_matmul_plan *p = call->plan;
    size_t across = (p->n + COLUMNS - 1) / COLUMNS, down = (p->m + ROWS - 1) / ROWS;
    size_t col = index % across * COLUMNS, row = index / across % down * ROWS;
    size_t batch = index / across / down, a, b, depth = 0;
    const size_t size = sizeof(double);
    onx_matmul_at(p, batch, &a, &b);
    tile t = {.plan = p, .state = call->state, .row = row, .col = col};
    t.row_end = p->m - row < ROWS ? p->m : row + ROWS;
    t.col_end = p->n - col < COLUMNS ? p->n : col + COLUMNS;
    t.a = (const char *)call->in[0]->data + a * p->m * p->k * size;
    t.b = (const char *)call->in[1]->data + b * p->k * p->n * size;
    t.c = p->has_c ? call->in[2]->data : NULL;
    t.y = (char *)call->out[0]->data + batch * p->m * p->n * size;
    t.packed_b = scratch;
    t.packed_a = t.packed_b + COLUMNS * DEPTH;
    for (size_t l = 0; l < p->k; l += depth) {
        depth = p->k - l < DEPTH ? p->k - l : DEPTH;
        run_depth(&t, l, depth);
        if (onx_call_stopped(call)) return ONX_CANCELLED;
    }
    return ONX_OK;
}

onx_status ONX_TIER(onx_matmul_run_f64)(onx_call *call) {
    const onx_matmul_plan *p = call->plan;
    const onx_operand *out = call->n_out ? call->out[0] : NULL;
    if (!out || !out->count) return ONX_OK;
    if (p->m <= FEW_ROWS || p->k == 0) return onx_matmul_run_ref(call);
    size_t across = (p->n + COLUMNS - 1) / COLUMNS, down = (p->m + ROWS - 1) / ROWS;
    return onx_call_parallel(call, p->batches * down * across, task, NULL);
}

onx_status ONX_TIER(onx_matmul_bind_f64)(onx_call *call) {
    call->scratch_each = (COLUMNS + MR) * DEPTH * sizeof(double);
    return onx_matmul_bind(call, call->plan);
}
onx_status ONX_TIER(onx_gemm_bind_f64)(onx_call *call) {
    call->scratch_each = (COLUMNS + MR) * DEPTH * sizeof(double);
    return onx_matmul_bind_gemm(call, call->plan);
}
