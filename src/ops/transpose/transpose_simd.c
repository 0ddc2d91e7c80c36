/* transpose_simd.c: Transpose of elements of 4 bytes and of 1, in squares held in registers. */
#include "cpu/vec.h"
#include "ops/transpose/transpose_ref.h"

#define MIX __builtin_shufflevector

#if defined(__AVX2__)
enum { SIDE = 8 };
typedef int32_t row __attribute__((vector_size(32)));

/* The lower and upper halves of two rows of four, twice; and of rows of eight. */
#define SINGLES_LOW(a, b) MIX(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define SINGLES_HIGH(a, b) MIX(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define PAIRS_LOW(a, b) MIX(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define PAIRS_HIGH(a, b) MIX(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define FOURS_LOW(a, b) MIX(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define FOURS_HIGH(a, b) MIX(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#else
enum { SIDE = 4 };
typedef int32_t row __attribute__((vector_size(16)));

#define SINGLES_LOW(a, b) MIX(a, b, 0, 4, 1, 5)
#define SINGLES_HIGH(a, b) MIX(a, b, 2, 6, 3, 7)
#define PAIRS_LOW(a, b) MIX(a, b, 0, 1, 4, 5)
#define PAIRS_HIGH(a, b) MIX(a, b, 2, 3, 6, 7)
#endif

static inline row load(const char *p) {
    row r;
    memcpy(&r, p, sizeof r);
    return r;
}

static inline void store(char *p, row r) {
    memcpy(p, &r, sizeof r);
}

/* Four columns of `from`, transposed (AVX2: each half by itself). */
static inline void move_four(const char *from, int64_t from_col, row out[4]) {
    row a = load(from), b = load(from + from_col), c = load(from + 2 * from_col),
        d = load(from + 3 * from_col);
    row ab = SINGLES_LOW(a, b), ba = SINGLES_HIGH(a, b), cd = SINGLES_LOW(c, d),
        dc = SINGLES_HIGH(c, d);
    out[0] = PAIRS_LOW(ab, cd);
    out[1] = PAIRS_HIGH(ab, cd);
    out[2] = PAIRS_LOW(ba, dc);
    out[3] = PAIRS_HIGH(ba, dc);
}

/* One square: columns of `from` become rows of `to`; strides in bytes. Written out rather than in
 * loops, so that it stays in registers. */
static inline void move_square(const char *from, int64_t from_col, char *to, int64_t to_row) {
    row a[4];
    move_four(from, from_col, a);
#if defined(__AVX2__)
    row b[4];
    move_four(from + 4 * from_col, from_col, b);
    store(to, FOURS_LOW(a[0], b[0]));
    store(to + to_row, FOURS_LOW(a[1], b[1]));
    store(to + 2 * to_row, FOURS_LOW(a[2], b[2]));
    store(to + 3 * to_row, FOURS_LOW(a[3], b[3]));
    store(to + 4 * to_row, FOURS_HIGH(a[0], b[0]));
    store(to + 5 * to_row, FOURS_HIGH(a[1], b[1]));
    store(to + 6 * to_row, FOURS_HIGH(a[2], b[2]));
    store(to + 7 * to_row, FOURS_HIGH(a[3], b[3]));
#else
    store(to, a[0]);
    store(to + to_row, a[1]);
    store(to + 2 * to_row, a[2]);
    store(to + 3 * to_row, a[3]);
#endif
}

/* Of three vectors a, b, c of n lanes one after the other, each third lane from lane r on; and the
 * lanes of three in turn, those from m on. */
#define TWO(f, i, m, n) f(i, m, n), f((i) + 1, m, n)
#define FOUR(f, i, m, n) TWO(f, i, m, n), TWO(f, (i) + 2, m, n)
#define EIGHT(f, i, m, n) FOUR(f, i, m, n), FOUR(f, (i) + 4, m, n)
#define LANES_4(f, m) FOUR(f, 0, m, 4)
#define LANES_8(f, m) EIGHT(f, 0, m, 8)
#define LANES_16(f, m) EIGHT(f, 0, m, 16), EIGHT(f, 8, m, 16)
#define THIRD_AB(i, r, n) (3 * (i) + (r) < 2 * (n) ? 3 * (i) + (r) : 0)
#define THIRD_C(i, r, n) (3 * (i) + (r) < 2 * (n) ? (i) : 3 * (i) + (r) - (n))
#define TURN_AB(i, m, n) (((m) + (i)) % 3 == 1 ? (n) + ((m) + (i)) / 3 : ((m) + (i)) / 3)
#define TURN_C(i, m, n) (((m) + (i)) % 3 == 2 ? (n) + ((m) + (i)) / 3 : (i))
#define PICK(lanes, a, b, c, r) MIX(MIX(a, b, lanes(THIRD_AB, r)), c, lanes(THIRD_C, r))
#define DEAL(lanes, a, b, c, m) MIX(MIX(a, b, lanes(TURN_AB, m)), c, lanes(TURN_C, m))

static void move_rest(const char *from, int64_t from_col, char *to, int64_t to_row, int64_t rows,
                      int64_t cols) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            memcpy(to + r * to_row + c * 4, from + r * 4 + c * from_col, 4);
}

#if defined(__AVX2__)
#define SIDE_LANES LANES_8
#else
#define SIDE_LANES LANES_4
#endif
enum { ROW_BYTES = SIDE * 4 };

/* Pixels of three to planes, and back. */
static void planes_of(const char *from, char *to, int64_t to_row, int64_t cols) {
    int64_t c = 0;
    for (; c + SIDE <= cols; c += SIDE) {
        const char *p = from + 12 * c;
        row x = load(p), y = load(p + ROW_BYTES), z = load(p + 2 * ROW_BYTES);
        store(to + 4 * c, PICK(SIDE_LANES, x, y, z, 0));
        store(to + 4 * c + to_row, PICK(SIDE_LANES, x, y, z, 1));
        store(to + 4 * c + 2 * to_row, PICK(SIDE_LANES, x, y, z, 2));
    }
    move_rest(from + 12 * c, 12, to + 4 * c, to_row, 3, cols - c);
}
static void pixels_of(const char *from, int64_t from_col, char *to, int64_t rows) {
    int64_t r = 0;
    for (; r + SIDE <= rows; r += SIDE) {
        const char *p = from + 4 * r;
        row a = load(p), b = load(p + from_col), c = load(p + 2 * from_col);
        store(to + 12 * r, DEAL(SIDE_LANES, a, b, c, 0));
        store(to + 12 * r + ROW_BYTES, DEAL(SIDE_LANES, a, b, c, SIDE));
        store(to + 12 * r + 2 * ROW_BYTES, DEAL(SIDE_LANES, a, b, c, 2 * SIDE));
    }
    move_rest(from + 4 * r, from_col, to + 12 * r, 12, rows - r, 3);
}

/* Bands of a cache line's worth of rows, so that every line of `from` is read once. */
static void tile(const char *from, int64_t from_col, char *to, int64_t to_row, int64_t rows,
                 int64_t cols) {
    enum { BAND = 16 };
    int64_t whole = cols / SIDE * SIDE;
    from_col *= 4;
    to_row *= 4;
    if (rows == 3 && from_col == 12) {
        planes_of(from, to, to_row, cols);
        return;
    }
    if (cols == 3 && to_row == 12) {
        pixels_of(from, from_col, to, rows);
        return;
    }
    for (int64_t band = 0; band < rows; band += BAND) {
        int64_t n = rows - band < BAND ? rows - band : BAND, even = n / SIDE * SIDE;
        const char *f = from + band * 4;
        char *t = to + band * to_row;
        for (int64_t c = 0; c < whole; c += SIDE)
            for (int64_t r = 0; r < even; r += SIDE)
                move_square(f + r * 4 + c * from_col, from_col, t + r * to_row + c * 4, to_row);
        move_rest(f + even * 4, from_col, t + even * to_row, to_row, n - even, cols);
        move_rest(f + whole * from_col, from_col, t + whole * 4, to_row, even, cols - whole);
    }
}

static onx_status run(onx_call *call) {
    return onx_transpose_run(call, tile);
}

/* ── Bytes ───────────────────────────────────────────────────────────────────────────────────── */

enum { BYTES = 16 };
typedef uint8_t bytes __attribute__((vector_size(BYTES)));

static inline bytes load_bytes(const char *p) {
    bytes b;
    memcpy(&b, p, sizeof b);
    return b;
}
static inline void store_bytes(char *p, bytes b) {
    memcpy(p, &b, sizeof b);
}

/* Dealing rows i and i + 8 together, four times, brings row to column. */
static inline void move_bytes(const char *from, int64_t from_col, char *to, int64_t to_row) {
    bytes v[BYTES], t[BYTES];
    VF_UNROLL for (int i = 0; i < BYTES; i++) v[i] = load_bytes(from + i * from_col);
    VF_UNROLL for (int n = 1; n < BYTES; n *= 2) {
        VF_UNROLL for (int i = 0; i < BYTES / 2; i++) {
            bytes a = v[i], b = v[i + BYTES / 2];
            t[2 * i] = MIX(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            t[2 * i + 1] = MIX(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
        VF_UNROLL for (int i = 0; i < BYTES; i++) v[i] = t[i];
    }
    VF_UNROLL for (int i = 0; i < BYTES; i++) store_bytes(to + i * to_row, v[i]);
}

static void rest_bytes(const char *from, int64_t from_col, char *to, int64_t to_row, int64_t rows,
                       int64_t cols) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) to[r * to_row + c] = from[r + c * from_col];
}

/* Three planes of an image, pixel by pixel. */
static void deal_three(const char *from, int64_t from_col, char *to, int64_t rows) {
    int64_t r = 0;
    for (; r + BYTES <= rows; r += BYTES) {
        bytes a = load_bytes(from + r), b = load_bytes(from + r + from_col),
              c = load_bytes(from + r + 2 * from_col);
        store_bytes(to + 3 * r, DEAL(LANES_16, a, b, c, 0));
        store_bytes(to + 3 * r + BYTES, DEAL(LANES_16, a, b, c, BYTES));
        store_bytes(to + 3 * r + 2 * BYTES, DEAL(LANES_16, a, b, c, 2 * BYTES));
    }
    rest_bytes(from + r, from_col, to + 3 * r, 3, rows - r, 3);
}

/* Pixels of three to planes. */
static void pick_three(const char *from, char *to, int64_t to_row, int64_t cols) {
    int64_t c = 0;
    for (; c + BYTES <= cols; c += BYTES) {
        const char *p = from + 3 * c;
        bytes x = load_bytes(p), y = load_bytes(p + BYTES), z = load_bytes(p + 2 * BYTES);
        store_bytes(to + c, PICK(LANES_16, x, y, z, 0));
        store_bytes(to + c + to_row, PICK(LANES_16, x, y, z, 1));
        store_bytes(to + c + 2 * to_row, PICK(LANES_16, x, y, z, 2));
    }
    rest_bytes(from + 3 * c, 3, to + c, to_row, 3, cols - c);
}

static void tile_bytes(const char *from, int64_t from_col, char *to, int64_t to_row, int64_t rows,
                       int64_t cols) {
    int64_t whole = cols / BYTES * BYTES, even = rows / BYTES * BYTES;
    if (cols == 3 && to_row == 3) {
        deal_three(from, from_col, to, rows);
        return;
    }
    if (rows == 3 && from_col == 3) {
        pick_three(from, to, to_row, cols);
        return;
    }
    for (int64_t r = 0; r < even; r += BYTES)
        for (int64_t c = 0; c < whole; c += BYTES)
            move_bytes(from + r + c * from_col, from_col, to + r * to_row + c, to_row);
    rest_bytes(from + even, from_col, to + even * to_row, to_row, rows - even, cols);
    rest_bytes(from + whole * from_col, from_col, to + whole, to_row, even, cols - whole);
}

static onx_status run_bytes(onx_call *call) {
    return onx_transpose_run(call, tile_bytes);
}

#define FOUR_BYTES (ONX_T(F32) | ONX_T(I32) | ONX_T(U32))

extern onx_kernel_rows ONX_TIER(onx_kernels_transpose);
onx_kernel_rows ONX_TIER(onx_kernels_transpose) = {
    {.op = "Transpose",
     .first = 1,
     .types = {FOUR_BYTES},
     .name = "transpose_4",
     .init = onx_transpose_init,
     .bind = onx_transpose_bind,
     .run = run},
    {.op = "Transpose",
     .first = 1,
     .types = {ONX_T(U8) | ONX_T(I8) | ONX_T(BOOL)},
     .name = "transpose_1",
     .init = onx_transpose_init,
     .bind = onx_transpose_bind,
     .run = run_bytes},
    {0},
};
