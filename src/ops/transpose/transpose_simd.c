/* transpose_simd.c: Transpose of 4-byte elements, in squares held in registers. */
#include "cpu/vec.h"
#include "ops/transpose/transpose_ref.h"

#if defined(__AVX2__)
enum { SIDE = 8 };
typedef int32_t row __attribute__((vector_size(32)));

/* Pairs, then pairs of pairs, then halves change places. */
static inline void square(row r[SIDE]) {
    row a[SIDE];
    for (int i = 0; i < SIDE; i += 2) {
        a[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        a[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < SIDE; i += 4) {
        r[i] = __builtin_shufflevector(a[i], a[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        r[i + 1] = __builtin_shufflevector(a[i], a[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        r[i + 2] = __builtin_shufflevector(a[i + 1], a[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        r[i + 3] = __builtin_shufflevector(a[i + 1], a[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 4; i++) a[i] = r[i], a[i + 4] = r[i + 4];
    for (int i = 0; i < 4; i++) {
        r[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}
#else
enum { SIDE = 4 };
typedef int32_t row __attribute__((vector_size(16)));

static inline void square(row r[SIDE]) {
    row a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
    row b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    row c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
    row d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}
#endif

/* One square: columns of `from` become rows of `to`; strides in bytes. */
static inline void move_square(const char *from, int64_t from_col, char *to, int64_t to_row) {
    row r[SIDE];
    for (int i = 0; i < SIDE; i++) memcpy(&r[i], from + i * from_col, sizeof r[i]);
    square(r);
    for (int i = 0; i < SIDE; i++) memcpy(to + i * to_row, &r[i], sizeof r[i]);
}

static void move_rest(const char *from, int64_t from_col, char *to, int64_t to_row, int64_t rows,
                      int64_t cols) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            memcpy(to + r * to_row + c * 4, from + r * 4 + c * from_col, 4);
}

/* Bands of a cache line's worth of rows, so that every line of `from` is read once. */
static void tile(const char *from, int64_t from_col, char *to, int64_t to_row, int64_t rows,
                 int64_t cols) {
    enum { BAND = 16 };
    int64_t whole = cols / SIDE * SIDE;
    from_col *= 4;
    to_row *= 4;
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
    {0},
};
