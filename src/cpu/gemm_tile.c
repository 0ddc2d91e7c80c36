/* gemm_tile.c: how a product is cut into tiles for threads; the same for every instruction set.
 *
 * The more rows a tile has, the less often B is read; the more panels, the less often A is. Rows
 * are kept together as long as they fit the second-level cache, and cut first when there are more;
 * then panels, with A packed once for all of them. Nothing here knows the number of threads. */
#include "cpu/gemm.h"

/* Work is counted in products of numbers. */
enum {
    TILE_GROUPS = 16,      /* rows of A that stay in the cache */
    FEW_GROUPS = 4,        /* what is cut leaves so many */
    PLENTY = 24,           /* tiles, of all products: enough for any crew */
    LEAST_WORK = 1 << 19,  /* a tile that is not worth cutting */
    MOST_WORK = 128 << 20, /* cut what has more in any case */
    STREAM_ROWS = 8,       /* reading B costs as much as computing so many rows */
    MANY_PANELS = 32,      /* of a tile: packing its rows costs nothing to speak of */
    ROWS_APART = 512,      /* floats: a power of 2 up to which rows spread over the cache */
};

static size_t ceil_div(size_t a, size_t b) {
    return a / b + (a % b != 0);
}
/* The even share when `count` is cut into parts of at most `most`. */
static size_t share(size_t count, size_t most) {
    return count ? ceil_div(count, ceil_div(count, most)) : 1;
}

onx_gemm_tiling onx_gemm_tile(const onx_gemm *gemm, size_t m, size_t n, size_t k, size_t count) {
    size_t n_groups = onx_gemm_groups(gemm, m), n_panels = onx_gemm_panels(gemm, n);
    onx_gemm_tiling t = {.groups = share(n_groups, TILE_GROUPS), .panels = n_panels + !n_panels};
    for (;;) {
        t.n_down = ceil_div(n_groups, t.groups);
        t.n_across = ceil_div(n_panels, t.panels);
        t.rows = t.groups * gemm->mr < m ? t.groups * gemm->mr : m + !m;
        double work =
            (double)t.panels * (double)gemm->nr * ((double)k + 1) * (double)(t.rows + STREAM_ROWS);
        bool plenty = (double)t.n_down * (double)t.n_across * (double)count >= PLENTY;
        if (work <= (plenty ? MOST_WORK : 2 * LEAST_WORK)) return t;
        if (t.groups >= 2 * FEW_GROUPS || (t.panels > 1 && t.groups > 2 * t.panels))
            t.groups = share(n_groups, ceil_div(t.groups, 2));
        else if (t.panels > 1)
            t.panels = share(n_panels, ceil_div(t.panels, 2));
        else
            return t;
    }
}

onx_gemm_part onx_gemm_tile_at(const onx_gemm *gemm, const onx_gemm_tiling *t, size_t m, size_t n,
                               size_t index) {
    size_t group = index / t->n_across * t->groups, panel = index % t->n_across * t->panels;
    size_t n_groups = onx_gemm_groups(gemm, m), n_panels = onx_gemm_panels(gemm, n);
    size_t group_end = n_groups - group < t->groups ? n_groups : group + t->groups;
    return (onx_gemm_part){
        .row = onx_gemm_group_at(gemm, m, group),
        .row_end = onx_gemm_group_at(gemm, m, group_end),
        .panel = panel,
        .panel_end = n_panels - panel < t->panels ? n_panels : panel + t->panels,
    };
}

/* Packing gives nothing unless rows, so many floats apart, want the same lines of the first
 * cache. */
bool onx_gemm_reads_a(const onx_gemm *gemm, const onx_gemm_args *g) {
    if (g->a_col != 1 || g->a_type) return false;
    return g->m == 1 || (gemm->reads_a && (g->a_row & (~g->a_row + 1)) <= ROWS_APART);
}

bool onx_gemm_shares_a(const onx_gemm *gemm, const onx_gemm_tiling *t, const onx_gemm_args *g) {
    return t->rows > 1 && t->n_across > 1 && t->panels < MANY_PANELS && !onx_gemm_reads_a(gemm, g);
}

size_t onx_gemm_scratch(const onx_gemm *gemm, const onx_gemm_args *g, size_t rows) {
    size_t depth = g->k < ONX_GEMM_DEPTH ? g->k : ONX_GEMM_DEPTH, floats = 0;
    if (!g->a_packed) floats += rows * depth;
    if (g->ldb || g->b_type) floats += depth * gemm->nr;
    return floats * sizeof(float);
}
