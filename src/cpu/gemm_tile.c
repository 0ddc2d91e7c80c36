/* gemm_tile.c: how a product is cut into tiles for threads; the same for every instruction set.
 *
 * A tile packs its rows of A anew, which many panels must pay for; reading its panels of B anew
 * costs little from a handful of rows on. So rows are cut first. Nothing here knows how many
 * threads there are. */
#include "cpu/gemm.h"

/* Work is counted in products of numbers. */
enum {
    TILE_ROWS = 168,  /* at first, or more: as many as make LEAST_WORK */
    TILE_PANELS = 32, /* at first */
    LEAST_WORK = 1 << 20,
    TILE_WORK = 8 << 20, /* cut what has more, until there are PLENTY of tiles, */
    PLENTY = 48,
    MOST_WORK = 128 << 20, /* and what has more than this in any case; */
    FEW_PANELS = 6,        /* but leave so many panels where there are rows to pack */
    STREAM_ROWS = 8,       /* reading B costs as much as computing so many rows */
};

static size_t ceil_div(size_t a, size_t b) {
    return a / b + (a % b != 0);
}
/* The even share when `count` is cut into parts of at most `most`. */
static size_t share(size_t count, size_t most) {
    return count ? ceil_div(count, ceil_div(count, most)) : 1;
}

onx_gemm_tiling onx_gemm_tile(const onx_gemm *gemm, size_t m, size_t n, size_t k) {
    size_t n_panels = onx_gemm_panels(gemm, n), few = m > 1 ? FEW_PANELS : 1;
    onx_gemm_tiling t = {.panels = share(n_panels, TILE_PANELS)};
    double depth = (double)k * (double)gemm->nr;
    double rows = LEAST_WORK / ((depth + (double)gemm->nr) * (double)t.panels);
    t.rows = share(m, rows > TILE_ROWS ? (size_t)rows : TILE_ROWS);
    for (;;) {
        double work = depth * (double)t.panels * (double)(t.rows + STREAM_ROWS);
        t.n_down = ceil_div(m, t.rows);
        t.n_across = ceil_div(n_panels, t.panels);
        bool plenty = (double)t.n_down * (double)t.n_across >= PLENTY;
        if (work <= (plenty ? MOST_WORK : TILE_WORK)) return t;
        if (t.rows >= 4 * gemm->mr)
            t.rows = share(m, ceil_div(t.rows, 2));
        else if (t.panels >= 2 * few)
            t.panels = share(n_panels, ceil_div(t.panels, 2));
        else
            return t;
    }
}

onx_gemm_part onx_gemm_tile_at(const onx_gemm *gemm, const onx_gemm_tiling *t, size_t m, size_t n,
                               size_t index) {
    size_t row = index % t->n_down * t->rows, panel = index / t->n_down * t->panels;
    size_t n_panels = onx_gemm_panels(gemm, n);
    return (onx_gemm_part){
        .row = row,
        .row_end = m - row < t->rows ? m : row + t->rows,
        .panel = panel,
        .panel_end = n_panels - panel < t->panels ? n_panels : panel + t->panels,
    };
}
