/* shares.h: how work on images in blocks is shared out, by shape alone.
 *
 * Threads take neighbouring tasks. What one thread wrote is slow to read for another: so all who
 * work on large images give tasks in the order of pixels, and each thread goes on with the part of
 * the image that it made in the layer before. Small images, of which there are many channels, are
 * shared out by blocks. */
#ifndef ONX_SHARES_H
#define ONX_SHARES_H

#include "base/base.h"

/* How many tasks so much work is cut into, each of at least `worth` of it: a power of two, since
 * most machines have a power of two of processors, or nearly so. */
static inline size_t onx_tasks_worth(size_t work, size_t worth) {
    enum { MOST = 64 };
    size_t n = 1;
    while (n < MOST && work / (2 * n) >= worth) n *= 2;
    return n;
}

/* The first of part i, where `count` are cut into n parts: any half of these is about half. */
static inline size_t onx_share_at(size_t count, size_t n, size_t i) {
    return count / n * i + count % n * i / n;
}

/* Tasks of an image: pieces of the rows of each of its blocks, or parts of its blocks. */
typedef struct onx_shares {
    size_t rows, blocks;
    size_t pieces, parts; /* of which one is 1 */
} onx_shares;

/* Images of `rows` rows that are made from `pixels` pixels. */
static inline onx_shares onx_shares_of(size_t pixels, size_t rows, size_t blocks, size_t tasks) {
    enum { LARGE = 14 * 14 };
    onx_shares s = {rows, blocks, 1, 1};
    if (pixels >= LARGE)
        s.pieces = tasks < rows ? tasks : rows;
    else
        s.parts = tasks < blocks ? tasks : blocks;
    return s;
}

/* What a task makes: rows [row, row_end) of blocks [block, block_end) of an image. */
typedef struct onx_share {
    size_t image, row, row_end, block, block_end;
} onx_share;
static inline onx_share onx_share_of(const onx_shares *s, size_t task) {
    size_t piece = task % s->pieces, part = task / s->pieces % s->parts;
    return (onx_share){.image = task / s->pieces / s->parts,
                       .row = onx_share_at(s->rows, s->pieces, piece),
                       .row_end = onx_share_at(s->rows, s->pieces, piece + 1),
                       .block = onx_share_at(s->blocks, s->parts, part),
                       .block_end = onx_share_at(s->blocks, s->parts, part + 1)};
}

#endif
