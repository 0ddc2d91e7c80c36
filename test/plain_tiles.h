/* plain_tiles.h: the tiles of AMX in plain C, for files *_amx.c that a test includes after this
 * one: their walks and packed forms are tested on processors without AMX, too. */
#ifndef ONX_PLAIN_TILES_H
#define ONX_PLAIN_TILES_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { PLAIN_SIDE = 16, PLAIN_LINE = 64 };
static _Thread_local unsigned char plain_tiles[8][PLAIN_SIDE][PLAIN_LINE];

static inline void plain_zero(int tile) {
    memset(plain_tiles[tile], 0, sizeof plain_tiles[tile]);
}
static inline void plain_begin(const void *config) {
    (void)config;
    memset(plain_tiles, 0, sizeof plain_tiles);
}
static inline void plain_load(int tile, const void *from, size_t stride) {
    for (size_t i = 0; i < PLAIN_SIDE; i++)
        memcpy(plain_tiles[tile][i], (const char *)from + i * stride, PLAIN_LINE);
}
static inline void plain_store(int tile, void *to, size_t stride) {
    for (size_t i = 0; i < PLAIN_SIDE; i++)
        memcpy((char *)to + i * stride, plain_tiles[tile][i], PLAIN_LINE);
}

/* Of two bfloat16 side by side, one as a float. */
static inline float plain_part(const unsigned char *pair, int which) {
    uint32_t bits;
    float v;
    memcpy(&bits, pair, sizeof bits);
    bits = which ? bits & 0xffff0000 : bits << 16;
    memcpy(&v, &bits, sizeof v);
    return v;
}
static inline void plain_dots(int sums, int a, int b) {
    for (size_t i = 0; i < PLAIN_SIDE; i++) {
        float sum[PLAIN_SIDE];
        memcpy(sum, plain_tiles[sums][i], sizeof sum);
        for (size_t k = 0; k < PLAIN_SIDE; k++)
            for (size_t j = 0; j < PLAIN_SIDE; j++)
                for (int which = 0; which < 2; which++)
                    sum[j] += plain_part(plain_tiles[a][i] + 4 * k, which) *
                              plain_part(plain_tiles[b][k] + 4 * j, which);
        memcpy(plain_tiles[sums][i], sum, sizeof sum);
    }
}

#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#define _tile_loadconfig plain_begin
#define _tile_release() ((void)0)
#define _tile_zero plain_zero
#define _tile_loadd plain_load
#define _tile_stored plain_store
#define _tile_dpbf16ps plain_dots

#endif
