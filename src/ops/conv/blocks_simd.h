/* blocks_simd.h: tensors between the plain and the blocked layout, as tasks of a kernel: a task for
 * each block of channels of each image. */
#ifndef ONX_BLOCKS_SIMD_H
#define ONX_BLOCKS_SIMD_H

#include "cpu/conv_tile.h"
#include "cpu/pool.h"
#include "rt/kernel.h"

#define BLOCKS_MAX                                                                                 \
    ((size_t)1 << 40) /* floats of a tensor: what is computed from it has no overflow */

typedef struct blocks {
    size_t images, channels, pixels; /* plain: [images][channels][pixels] */
    const float *from;
    float *to;
} blocks;

static inline size_t blocks_of(size_t channels) {
    return channels / VF + (channels % VF != 0);
}
static inline size_t blocks_count(const blocks *b) {
    return b->images * blocks_of(b->channels);
}
static inline size_t blocks_floats(const blocks *b) { /* in the blocked layout */
    return blocks_count(b) * VF * b->pixels;
}
/* Can a blocked tensor of these sizes be counted? Channels: in each of the groups. */
static inline bool blocks_fit(size_t images, size_t groups, size_t channels, size_t pixels) {
    size_t n;
    return channels < BLOCKS_MAX && onx_mul_size(images, groups, &n) &&
           onx_mul_size(n, blocks_of(channels) * VF, &n) && onx_mul_size(n, pixels, &n) &&
           n <= BLOCKS_MAX;
}

/* The plain and the blocked place of block `index`, and how many channels it has. */
static inline size_t blocks_place(const blocks *b, size_t index, size_t *plain, size_t *blocked) {
    size_t each = blocks_of(b->channels), first = index % each * VF;
    *plain = (index / each * b->channels + first) * b->pixels;
    *blocked = index * VF * b->pixels;
    return b->channels - first < VF ? b->channels - first : VF;
}

static inline onx_status blocks_to_task(void *user, onx_call *call, size_t index, void *scratch) {
    const blocks *b = user;
    size_t plain, blocked, channels = blocks_place(b, index, &plain, &blocked);
    ONX_TIER(onx_block).to(b->from + plain, channels, b->pixels, b->to + blocked);
    (void)call, (void)scratch;
    return ONX_OK;
}

static inline onx_status blocks_from_task(void *user, onx_call *call, size_t index, void *scratch) {
    const blocks *b = user;
    size_t plain, blocked, channels = blocks_place(b, index, &plain, &blocked);
    ONX_TIER(onx_block).from(b->from + blocked, channels, b->pixels, b->to + plain);
    (void)call, (void)scratch;
    return ONX_OK;
}

static inline onx_status blocks_to(onx_call *call, blocks b, const float *from, float *to) {
    b.from = from, b.to = to;
    return onx_call_parallel(call, blocks_count(&b), blocks_to_task, &b);
}
static inline onx_status blocks_from(onx_call *call, blocks b, const float *from, float *to) {
    b.from = from, b.to = to;
    return onx_call_parallel(call, blocks_count(&b), blocks_from_task, &b);
}

#endif
