/* gemm.h: products of float matrices, C[m,n] = alpha A[m,k] B[k,n] + D, in cache-sized blocks.
 *
 * B is packed first, into panels of `nr` columns, and A, unless it is read where it lies, into
 * groups of at most `mr` rows; then any number of tiles (groups × panels) of C are computed, by any
 * thread and in any order:
 *
 *     B[k,n] ──pack_b──▶ panel 0: [k][nr] | panel 1: [k][nr] | …   the last one padded with zeros
 *     A[m,k] ──pack_a──▶ group 0: [k][rows] | group 1: …           as even as can be
 *     run ─────────────▶ C[groups, panels], block by block, each followed by the epilogue
 *
 * Every element of C is the sum over even blocks of at most ONX_GEMM_DEPTH products, each block
 * added up in order: it does not depend on m, n, the tiles or the threads. With eps = 2^-24,
 *     |C - exact| <= onx_gemm_bound(k) eps (|alpha| |A||B| + |D|)
 * Operands need no alignment and may have any size, zero too. Nothing is allocated. C overlaps
 * nothing but, if it is the same matrix, D.
 */
#ifndef ONX_GEMM_H
#define ONX_GEMM_H

#include "base/base.h"
#include "cpu/isa.def"

enum {
    ONX_GEMM_DEPTH = 512, /* products in a partial sum */
};

/* How the elements of A and B lie in memory; sums and C are float. */
typedef enum onx_gemm_type { ONX_GEMM_F32, ONX_GEMM_F16, ONX_GEMM_BF16 } onx_gemm_type;

/* Called once for each block of C when it is complete: `c` points at C[row, col]. */
typedef void onx_gemm_epilogue(void *user, float *c, size_t row, size_t n_rows, size_t col,
                               size_t n_cols, size_t ldc);

typedef struct onx_gemm_args {
    size_t m, n, k;
    const void *a; /* [m,k]: A[i,l] is a[i * a_row + l * a_col]; or all of it from pack_a */
    size_t a_row, a_col;
    onx_gemm_type a_type;
    bool a_packed;
    const void *b; /* packed; or, with ldb, floats [k,n], rows ldb >= n apart, for few rows of A */
    size_t ldb;    /* 0: packed */
    onx_gemm_type b_type; /* of a packed b */
    size_t b_first;       /* the panel that a packed b begins with */
    const void *ahead;    /* fetched with the part's last panel: what is read next; NULL: unknown */
    float *c;             /* [m,n], rows ldc >= n apart, */
    size_t c_row, c_col;  /* from this element on */
    size_t ldc;
    float alpha;
    const float *d; /* [m,n], rows ldd apart; ldd 0: one row, a bias; NULL: zeros; may be c */
    size_t ldd;
    onx_gemm_epilogue *epilogue; /* may be NULL */
    void *user;
} onx_gemm_args;

/* A part of C: rows row … row_end - 1, whole groups, and panels in the same way. */
typedef struct onx_gemm_part {
    size_t row, row_end, panel, panel_end;
} onx_gemm_part;

typedef struct onx_gemm {
    size_t nr; /* columns of a panel */
    size_t mr; /* rows of a group, at most */
    /* Rows row … row_end - 1 of A, whole groups, to `packed`, where k floats are for each. */
    void (*pack_a)(const onx_gemm_args *args, size_t row, size_t row_end, float *packed);
    /* `count` panels of B, where B[l,j] is b[l * b_row + j * b_col], from the one called `first`
     * on; each takes k * nr floats. */
    void (*pack_b)(size_t k, size_t n, const float *b, size_t b_row, size_t b_col, size_t first,
                   size_t count, float *packed);
    /* The same from halves, to floats; or, to keep them halves, for b_type. */
    void (*pack_half)(onx_gemm_type type, bool keep, size_t k, size_t n, const void *b,
                      size_t b_row, size_t b_col, size_t first, size_t count, void *packed);
    void (*run)(const onx_gemm_args *args, onx_gemm_part part, void *scratch);
    /* Rows of floats as halves, each rounded once, and back. */
    void (*narrow)(onx_gemm_type type, const float *from, size_t count, void *to);
    void (*widen)(onx_gemm_type type, const void *from, size_t count, float *to);
    bool reads_a; /* it can take the rows of A from where they lie */
} onx_gemm;

#define ONX_GEMM_DECLARE(isa) extern const onx_gemm onx_gemm_##isa;
ONX_ISAS(ONX_GEMM_DECLARE)
#undef ONX_GEMM_DECLARE

static inline size_t onx_gemm_panels(const onx_gemm *gemm, size_t n) {
    return n / gemm->nr + (n % gemm->nr != 0);
}
/* Floats in a packed B[k,n]; false when there are too many to count in bytes. */
static inline bool onx_gemm_packed_size(const onx_gemm *gemm, size_t k, size_t n, size_t *floats) {
    size_t bytes;
    return onx_mul_size(onx_gemm_panels(gemm, n), gemm->nr, floats) &&
           onx_mul_size(*floats, k, floats) && onx_mul_size(*floats, sizeof(float), &bytes);
}
static inline double onx_gemm_bound(size_t k) {
    return (k < ONX_GEMM_DEPTH ? (double)k : ONX_GEMM_DEPTH) + (double)(k / ONX_GEMM_DEPTH) + 4;
}

/* Groups that m rows are cut into, and where group i begins. */
static inline size_t onx_gemm_groups(const onx_gemm *gemm, size_t m) {
    return m / gemm->mr + (m % gemm->mr != 0);
}
static inline size_t onx_gemm_group_at(const onx_gemm *gemm, size_t m, size_t i) {
    return m ? onx_part_at(m, onx_gemm_groups(gemm, m), i) : 0;
}

/* How to cut C into tiles that run in parallel: by shape alone; those at the end may be smaller.
 * Tiles are counted along the rows, so that a thread, which as a rule gets neighbours, finds rows
 * that it made itself in its cache. */
typedef struct onx_gemm_tiling {
    size_t rows, groups, panels; /* of a tile, at most; not 0 */
    size_t n_down, n_across;     /* tiles along m and n */
} onx_gemm_tiling;
/* Of each of `count` products alike. */
onx_gemm_tiling onx_gemm_tile(const onx_gemm *gemm, size_t m, size_t n, size_t k, size_t count);
/* Is A read where it lies? args only for m, a_row, a_col and a_type. */
bool onx_gemm_reads_a(const onx_gemm *gemm, const onx_gemm_args *args);
/* Else: should A be packed before, rather than by every tile for itself? */
bool onx_gemm_shares_a(const onx_gemm *gemm, const onx_gemm_tiling *tiling,
                       const onx_gemm_args *args);
/* Bytes that run needs for each thread: args only for k, a_packed, b_type and ldb. */
size_t onx_gemm_scratch(const onx_gemm *gemm, const onx_gemm_args *args, size_t rows);
/* Tile `index` < n_down * n_across of C[m,n]. */
onx_gemm_part onx_gemm_tile_at(const onx_gemm *gemm, const onx_gemm_tiling *tiling, size_t m,
                               size_t n, size_t index);

#endif
