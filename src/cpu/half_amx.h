/* half_amx.h: products of floats by float16, on tiles of AMX, for files *_amx.c.
 *
 * A number is the sum of two of bfloat16, its upper half and the rest: a float16 exactly, a float
 * but for 2^-16 of it. Of the four products of such sums the three larger ones are made; they are
 * exact, and added up in float. The fourth is at most 2^-15 of the first, with any sign: the upper
 * halves of A are rounded, those of B, which are split often, are cut off.
 *
 * 32 products of each sum are a step. Their factors in A lie as {first, second} sixteen, side by
 * side: a line of upper halves, a line of lower ones. Those in B are packed as float16, for 32
 * columns: [16 columns][16 products][first, second][16]. Those of a few steps are split, into the
 * form of A, while the products of the steps before are made: tiles leave the vectors free.
 */
#ifndef ONX_HALF_AMX_H
#define ONX_HALF_AMX_H

#include "cpu/amx.h"
#include "cpu/vec.h"

enum {
    SIDE = 16, /* of a tile */
    LINE = 64, /* bytes of a row of a tile */
    TILE = SIDE * LINE,
    PIXEL = 2 * LINE,         /* bytes of a row of A in a step */
    ROWS = 2 * SIDE,          /* of A, and */
    COLS = 2 * SIDE,          /* columns of B that are computed at a time */
    STRIP = 8,                /* steps at a time, at most; */
    SPLIT = 4,                /* those for which B is split: two of them are in the first cache */
    LINES = 2 * SIDE,         /* of B in a step, packed: each is split into two */
    STEP = LINES * PIXEL,     /* bytes of B in a step, split */
    PACKED = 2 * COLS * SIDE, /* elements of it, packed */
};

typedef struct halves {
    __m512i upper, lower;
} halves;

/* The upper and the lower half of each of 16 numbers, in the upper half of 32 bits. */
static inline halves halves_of(__m512 v) {
    const __m512i up = _mm512_set1_epi32(0x8000), mask = _mm512_set1_epi32(-0x10000);
    __m512i bits = _mm512_castps_si512(v);
    __m512i upper = _mm512_and_si512(_mm512_add_epi32(bits, up), mask);
    __m512i rest = _mm512_castps_si512(_mm512_sub_ps(v, _mm512_castsi512_ps(upper)));
    return (halves){upper, _mm512_and_si512(_mm512_add_epi32(rest, up), mask)};
}

/* 16 pairs of numbers, {a, b}: a row of the tile of upper halves, and of that of lower ones. */
static inline void store_pairs(__m512 a, __m512 b, char *upper, char *lower) {
    halves first = halves_of(a), second = halves_of(b);
    _mm512_storeu_si512(upper, _mm512_or_si512(_mm512_srli_epi32(first.upper, 16), second.upper));
    _mm512_storeu_si512(lower, _mm512_or_si512(_mm512_srli_epi32(first.lower, 16), second.lower));
}

/* The same of float16: what is left when the upper half is cut off has few bits. */
static inline void store_halves(__m512 a, __m512 b, char *upper, char *lower) {
    const __m512i mask = _mm512_set1_epi32(-0x10000);
    __m512i first = _mm512_and_si512(_mm512_castps_si512(a), mask);
    __m512i second = _mm512_and_si512(_mm512_castps_si512(b), mask);
    __m512i rest = _mm512_castps_si512(_mm512_sub_ps(a, _mm512_castsi512_ps(first)));
    __m512i other = _mm512_castps_si512(_mm512_sub_ps(b, _mm512_castsi512_ps(second)));
    _mm512_storeu_si512(upper, _mm512_or_si512(_mm512_srli_epi32(first, 16), second));
    _mm512_storeu_si512(lower, _mm512_or_si512(_mm512_srli_epi32(rest, 16), other));
}

/* Packed lines of B on their way to split ones. What is a strip further on is fetched. */
typedef struct splitter {
    const uint16_t *from, *end; /* of all of B */
    char *to;
    size_t lines, each; /* left; that are split with each step */
} splitter;

static inline void split_lines(splitter *s, size_t n) {
    const uint16_t *from = s->from;
    char *to = s->to;
    if (n > s->lines) n = s->lines;
    for (size_t i = 0; i < n; i++, from += 2 * VF, to += PIXEL) {
        if (s->end - from > SPLIT * PACKED)
            _mm_prefetch((const char *)(from + SPLIT * PACKED), _MM_HINT_T1);
        store_halves((__m512)vf_load_f16(from), (__m512)vf_load_f16(from + VF), to, to + LINE);
    }
    s->from = from;
    s->to = to;
    s->lines -= n;
}

/* A strip of n steps is split to `to`: now, or within so many steps. */
static inline void split_now(splitter *s, size_t n, char *to) {
    s->to = to;
    s->lines = n * LINES;
    split_lines(s, s->lines);
}
static inline void split_next(splitter *s, size_t n, char *to, size_t within) {
    s->to = to;
    s->lines = n * LINES;
    s->each = (s->lines + within - 1) / within;
}

/* Steps of a strip, where so many are left of the panel; if none are, the first of the next. */
static inline size_t strip_steps(size_t most, size_t left, size_t next) {
    if (!left) left = next;
    return left < most ? left : most;
}

/* Memory that is wanted soon: so many lines of it are fetched with each step. */
typedef struct ahead {
    const char *at;
    size_t lines;
} ahead;
enum { AHEAD = 5 };

/* Steps at work on ROWS rows and COLS columns. */
typedef struct strip {
    const char *a[STRIP]; /* the first 16 rows of A in each step */
    size_t a_next;        /* bytes from there to the other 16 */
    const char *b;        /* [n][STEP], as A */
    size_t n;
    float *sums[2]; /* of 16 columns each: [ROWS][VF] */
    bool more;      /* they are added to */
    ahead ahead[AHEAD];
    splitter split; /* of the strip after this one */
} strip;

/* What is done beside a step. */
static inline void prepare(strip *t, size_t step) {
    split_lines(&t->split, t->split.each);
    for (size_t i = 0; i < AHEAD; i++) {
        const char *at = t->ahead[i].at + step * t->ahead[i].lines * LINE;
        for (size_t l = 0; l < t->ahead[i].lines; l++) _mm_prefetch(at + l * LINE, _MM_HINT_T1);
    }
}

static inline void load_sums(const strip *t) {
    if (t->more) {
        _tile_loadd(0, t->sums[0], LINE);
        _tile_loadd(1, t->sums[1], LINE);
        _tile_loadd(2, t->sums[0] + SIDE * VF, LINE);
        _tile_loadd(3, t->sums[1] + SIDE * VF, LINE);
        return;
    }
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

static inline void store_sums(const strip *t) {
    _tile_stored(0, t->sums[0], LINE);
    _tile_stored(1, t->sums[1], LINE);
    _tile_stored(2, t->sums[0] + SIDE * VF, LINE);
    _tile_stored(3, t->sums[1] + SIDE * VF, LINE);
    onx_amx_fence();
}

/* Lower by upper, upper by upper, upper by lower. A tile is loaded as soon as it was used for the
 * last time, those of the next step at the end of this one. */
static inline void multiply(strip *t) {
    const char *a = t->a[0], *b = t->b;
    onx_amx_fence();
    load_sums(t);
    _tile_loadd(4, a + LINE, PIXEL);
    _tile_loadd(6, b, PIXEL);
    _tile_loadd(7, b + SIDE * PIXEL, PIXEL);
    _tile_loadd(5, a + t->a_next + LINE, PIXEL);
    for (size_t i = 1; i <= t->n; i++) {
        const char *next = t->a[i < t->n ? i : 0], *more = i < t->n ? b + STEP : t->b;
        prepare(t, i - 1);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(4, a, PIXEL);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(5, a + t->a_next, PIXEL);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
        _tile_loadd(6, b + LINE, PIXEL);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(7, b + SIDE * PIXEL + LINE, PIXEL);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
        _tile_loadd(6, more, PIXEL);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(4, next + LINE, PIXEL);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(7, more + SIDE * PIXEL, PIXEL);
        _tile_loadd(5, next + t->a_next + LINE, PIXEL);
        a = next, b = more;
    }
    store_sums(t);
}

#endif
