/* bytes_ref.h: products of bytes with packed weights: what an instruction set brings
 * (cpu/qgemm_*.c, cpu/qdepth_*.c), and what drives it: matrix products (bytes_matmul_ref.c) and
 * convolutions whose images have their channels last (bytes_conv_ref.c).
 *
 *     y = sum of (a - a_zero) * (b - b_zero) = sum of a*b + offset - b_zero * (sum of a)
 *
 * The offset of a column, which holds a_zero and the bias, is made once a run. All sums are modulo
 * 2^32, the same bits as those of the plain kernels. Rows of a are read as unsigned bytes: int8
 * with the highest bit turned, and 128 more in the zero point; weights as signed ones. */
#ifndef ONX_BYTES_REF_H
#define ONX_BYTES_REF_H

#include "ops/quant/product_ref.h"

/* Some rows times a panel. Rows lie anywhere, a piece of k bytes for each tap: a convolution needs
 * no copy of what its windows see. */
typedef struct onx_qtile {
    const uint8_t *const *rows; /* [taps][m]; of uint16_t, where there is `widen` */
    size_t m, taps, k;          /* k is a multiple of 4 */
    size_t stride;              /* dense: from row to row; then there is one tap */
    uint32_t flip;              /* turned in each four bytes */
    bool is_signed;             /* native: rows are int8 */
    const void *panel;          /* [taps][k / 4][columns][4], int8; or as `arrange` makes it */
    size_t n;                   /* columns that are wanted */
    int32_t *sums;              /* [m][columns] */
} onx_qtile;

/* What becomes of sums. Lists are of all columns, and longer by a panel. */
typedef struct onx_qend {
    const int32_t *offsets;
    const int32_t *zeros;    /* of b; NULL: all are 0 */
    const int32_t *row_sums; /* of a, where there are zeros */
    const float *factors;    /* NULL: sums are the result */
    const float *bias;       /* added to products that are floats; NULL: none */
    onx_dtype dtype;         /* U8, I8, F32 or I32 */
    int32_t zero;            /* of bytes */
    float lo, hi;            /* of bytes, less the zero */
} onx_qend;

/* Depthwise convolution of some outputs that follow one another in a line: n * channels; and of
 * those of the next lines, whose windows are lower by one row of the input each. */
typedef struct onx_qdepth_row {
    const uint8_t *const *rows; /* [kh + lines - 1]: input rows; NULL: in the padding */
    size_t lines, y_line;       /* bytes from line to line */
    size_t channels, kh, kw, iw, stride, dilation;
    ptrdiff_t first; /* where the window of the first output begins, in pixels */
    size_t n;
    uint8_t flip, zero; /* zero: of the padding, flipped */
    const void *weights;
    const onx_qend *end;
    void *scratch;
    uint8_t *y;
} onx_qdepth_row;

/* Weights are [channels][kh][kw]. Lists of `end` are in the order of `channel_at`, which tells what
 * stands at a place. */
typedef struct onx_qdepth {
    size_t block; /* places are a multiple of this */
    size_t (*bytes)(size_t channels, size_t kh, size_t kw);
    void (*pack)(const int16_t *w, size_t channels, size_t kh, size_t kw, void *packed);
    size_t (*lines)(size_t kh);                   /* so many at once, at most */
    size_t (*scratch)(const onx_qdepth_row *row); /* for n outputs */
    void (*run)(const onx_qdepth_row *row);
    size_t (*channel_at)(size_t place);
    bool (*fits)(int low, int high); /* can it compute with weights in this range? */
} onx_qdepth;

/* Windows of 3 x 3 by Winograd's algorithm: bytes_winograd_ref.c. */
typedef struct onx_qwinograd {
    size_t outs;  /* outputs along a side of a square of outs + 2 pixels: 2 or 4 */
    size_t least; /* channels, at least */
    /* The numbers of a square of pixels for each channel, `next` apart. */
    void (*in)(const uint8_t *const *pixels, size_t channels, uint8_t flip, int16_t *to,
               size_t next);
    /* The results of its outputs from as many sums [columns], `next` apart; NULL: not wanted. */
    void (*out)(const int32_t *sums, size_t next, const onx_qend *end, size_t col, size_t n,
                uint8_t *const *y);
} onx_qwinograd;
enum { ONX_QWINOGRADS = 2 };

typedef struct onx_qgemm {
    const onx_dynamic_fns *dynamic;
    size_t rows;    /* of a tile, at most ONX_QROWS */
    size_t columns; /* of a panel, at most ONX_QCOLUMNS */
    size_t k;       /* tiles have k as a multiple of this */
    size_t work;    /* products of a task, about 10 µs of them */
    size_t dense;   /* 0: rows lie anywhere. Else equally far from one another, in one piece, and
                       memory is read as if m were a multiple of this */
    bool native;    /* rows of int8 are read as they are */
    /* NULL, or: rows are 16 bits wide, and flipped already, when tiles get them; */
    void (*widen)(const uint8_t *from, size_t n, uint8_t flip, uint16_t *to);
    void (*arrange)(int8_t *panel, size_t bytes); /* the order of weights within fours; or NULL */
    void (*enter)(void), (*leave)(void);          /* around tiles, in each task; or NULL */
    void (*tile)(const onx_qtile *tile);
    void (*wide)(const onx_qtile *tile); /* rows and panel are int16_t, [k / 2][columns][2] */
    const onx_qwinograd *winograd;       /* those there are; NULL: none, nor `wide` */
    size_t winograd_outs;                /* those with fewer are not worth it */
    /* Sums [m][columns] of columns col … col+n-1, to rows `stride` bytes apart. */
    void (*end)(const onx_qend *end, const int32_t *sums, size_t m, size_t col, size_t n, char *y,
                size_t stride);
    /* Both, where results are bytes and there are factors and no zeros; or NULL. */
    void (*bytes)(const onx_qtile *tile, const onx_qend *end, size_t col, uint8_t *y,
                  size_t stride);
    const onx_qdepth *depth;
} onx_qgemm;

enum { ONX_QROWS = 32, ONX_QCOLUMNS = 32, ONX_QPIXELS = 32 /* outputs of onx_qdepth_row */ };

/* Bytes of an element of rows. */
static inline size_t onx_qgemm_size(const onx_qgemm *gemm) {
    return gemm->widen ? sizeof(uint16_t) : 1;
}
static inline void onx_qgemm_enter(const onx_qgemm *gemm) {
    if (gemm->enter) gemm->enter();
}
static inline void onx_qgemm_leave(const onx_qgemm *gemm) {
    if (gemm->leave) gemm->leave();
}
/* The results of a tile, whose columns are col … of the lists, to rows `stride` bytes apart. */
static inline void onx_qgemm_results(const onx_qgemm *gemm, const onx_qtile *tile,
                                     const onx_qend *end, size_t col, char *y, size_t stride) {
    bool bytes = end->dtype == ONX_DTYPE_U8 || end->dtype == ONX_DTYPE_I8;
    if (gemm->bytes && bytes && end->factors && !end->zeros) {
        gemm->bytes(tile, end, col, (uint8_t *)y, stride);
        return;
    }
    gemm->tile(tile);
    gemm->end(end, tile->sums, tile->m, col, tile->n, y, stride);
}
/* The first of `all` rows that belongs to tile `tile` of `tiles`. */
static inline size_t onx_qgemm_start(const onx_qgemm *gemm, size_t tile, size_t tiles, size_t all) {
    if (!gemm->dense) return tile * all / tiles;
    return tile * gemm->rows < all ? tile * gemm->rows : all;
}
/* Tiles of a task, at most: about 96 rows. */
static inline size_t onx_qgemm_tiles(const onx_qgemm *gemm) {
    return 96 / gemm->rows;
}
enum { ONX_QTILES = 24 };
/* Panels of a task, which multiplies each with so many rows of k, where there are `all` in all
 * blocks of rows: several tasks, if they are not too small for that. Tasks are counted along the
 * panels: who makes some rows of an image will, as a rule, read them in the next step. */
static inline size_t onx_qgemm_chunk(const onx_qgemm *gemm, size_t rows, size_t k, size_t all) {
    enum {
        SEVERAL = 8,
        SMALL = 1 << 19,
        FETCH = 8 /* rows that take as long as reading a panel */
    };
    size_t products = (rows + FETCH) * gemm->columns * (k + 16);
    size_t most = products < gemm->work ? gemm->work / products : 1;
    size_t few = products < SMALL ? SMALL / products : 1, even = (all - 1) / SEVERAL + 1;
    return even > most ? most : even < few ? few : even;
}

/* ── Weights ─────────────────────────────────────────────────────────────────────────────────── */

/* Where element (column, tap, k) is: strides in bytes. */
typedef struct onx_qweights {
    const uint8_t *data;
    size_t n, taps, k;
    size_t column, tap, step;
    size_t joined; /* so many taps follow one another without a gap to a multiple: 1, or all, or
                      some that divide them */
    uint8_t flip;
    size_t multiple; /* of the bytes of a row, as onx_qgemm.k */
} onx_qweights;

/* The bytes of a row at each tap, and taps, as tiles have them. */
static inline size_t onx_qweights_k(const onx_qweights *w) {
    return (w->joined * w->k + w->multiple - 1) / w->multiple * w->multiple;
}
static inline size_t onx_qweights_taps(const onx_qweights *w) {
    return w->taps / w->joined;
}
size_t onx_qweights_panel(const onx_qweights *w, const onx_qgemm *gemm); /* bytes of a panel */
/* Columns col … in a panel, and their sums. */
void onx_qweights_pack(const onx_qweights *w, const onx_qgemm *gemm, size_t col, int8_t *panel,
                       int32_t *sums);

/* The sum of n bytes with these bits turned; `is_signed`: of int8; `size` 2: each in 16 bits. */
uint32_t onx_bytes_sum(const uint8_t *bytes, size_t n, uint8_t flip, bool is_signed, size_t size);

/* ── Parameters ──────────────────────────────────────────────────────────────────────────────── */

/* init: can these drivers do it? Weights and their parameters are constant and have the types and
 * sizes for n columns (not positive: not known), other parameters are single. Sets `steady`.
 * ONX_UNSUPPORTED. */
onx_status onx_bytes_fit(onx_call *call, int64_t n) ONX_MUST_CHECK;

/* How columns lie in the lists of onx_qend: groups of n, each in `places`; or as `at` says. */
typedef struct onx_qplaces {
    size_t groups, n, places;
    bool repeats; /* parameters of all groups are the same */
    size_t (*at)(size_t place);
} onx_qplaces;
/* bind: bytes of the lists, to be added to *bytes; false: they cannot be counted. */
bool onx_qend_bytes(const onx_qplaces *places, size_t *bytes) ONX_MUST_CHECK;
/* run: the lists, in *memory, which is moved on. `b_sums`: of the columns of b as they were packed,
 * by place. depth: elements of a row; 0: b was packed less its zero points. */
typedef struct onx_qsums {
    const int32_t *b_sums;
    size_t depth;
    const onx_dynamic
        *a; /* what a was quantized with in the run; NULL: its parameters are inputs */
} onx_qsums;
void onx_qend_make(const onx_call *call, const onx_qplaces *places, const onx_qsums *sums,
                   char **memory, onx_qend *out);
int32_t onx_byte_zero(const onx_operand *zero, size_t at); /* 0 where it is absent */

/* ── Kernels: `init` of rows names the instruction set ───────────────────────────────────────── */

onx_status onx_bytes_conv_init(onx_call *call, const onx_qgemm *gemm) ONX_MUST_CHECK;
size_t onx_bytes_conv_pack_bytes(const onx_call *call);
onx_status onx_bytes_conv_pack(onx_call *call, void *out) ONX_MUST_CHECK;
onx_status onx_bytes_conv_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_bytes_conv_run(onx_call *call) ONX_MUST_CHECK;
/* The row's functions: zero points of depthwise weights are packed with them. */
#define ONX_BYTES_CONV(init_) .packs = 1 << 3 | 1 << 5, ONX_BYTES_CONV_FNS(init_)
#define ONX_BYTES_CONV_INTEGER(init_) .packs = 1 << 1 | 1 << 3, ONX_BYTES_CONV_FNS(init_)
#define ONX_BYTES_CONV_FNS(init_)                                                                  \
    .init = init_, .pack_bytes = onx_bytes_conv_pack_bytes, .pack = onx_bytes_conv_pack,           \
    .bind = onx_bytes_conv_bind, .run = onx_bytes_conv_run

onx_status onx_bytes_matmul_init(onx_call *call, const onx_qgemm *tier) ONX_MUST_CHECK;
size_t onx_bytes_matmul_pack_bytes(const onx_call *call);
onx_status onx_bytes_matmul_pack(onx_call *call, void *out) ONX_MUST_CHECK;
onx_status onx_bytes_matmul_bind(onx_call *call) ONX_MUST_CHECK;
onx_status onx_bytes_matmul_run(onx_call *call) ONX_MUST_CHECK;
#define ONX_BYTES_MATMUL(init_, b_)                                                                \
    .packs = 1 << (b_), .init = init_, .pack_bytes = onx_bytes_matmul_pack_bytes,                  \
    .pack = onx_bytes_matmul_pack, .bind = onx_bytes_matmul_bind, .run = onx_bytes_matmul_run

#endif
