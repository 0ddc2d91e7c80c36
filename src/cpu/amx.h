/* amx.h: the matrix tiles of AMX, for files *_amx.c.
 *
 * All eight tiles have 16 rows of 64 bytes. A task that uses them begins with onx_amx_begin, after
 * which they are zeros, and ends with onx_amx_end. The intrinsics take the number of a tile as a
 * literal: _tile_loadd(6, from, stride in bytes). Compilers do not see that tiles are loaded from
 * memory: onx_amx_fence stands between writing it and that. */
#ifndef ONX_AMX_H
#define ONX_AMX_H

#include "base/base.h"

#include <immintrin.h>

static inline void onx_amx_begin(void) {
    static const struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1,
                .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&config);
}
static inline void onx_amx_end(void) {
    _tile_release();
}
static inline void onx_amx_fence(void) {
    __asm__ volatile("" ::: "memory");
}

#endif
