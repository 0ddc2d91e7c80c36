/* pool.h: two-dimensional pooling of float32 in the blocked layout (conv.h), and the way between
 * the plain and the blocked layout.
 *
 * The geometry is that of a convolution with `groups` channels and ic = oc = 1. As there, tasks are
 * cut by shape alone, and nothing allocates or fails.
 */
#ifndef ONX_POOL_H
#define ONX_POOL_H

#include "cpu/conv.h"

typedef struct onx_pool_args {
    const float *x;       /* [n][ceil(groups/b)][ih][iw][b] */
    float *y;             /* [n][ceil(groups/b)][oh][ow][b] */
    bool count_padding;   /* an average counts the padding's zeros, of which there are */
    size_t bottom, right; /* so many after the image, and c->top, c->left before it */
} onx_pool_args;

/* Maximum: NaN if any is, -inf of nothing. Average: 0 of nothing. */
typedef struct onx_pool_algorithm {
    size_t block; /* b */
    size_t (*tasks)(const onx_conv *c);
    void (*run)(const onx_conv *c, const onx_pool_args *a, size_t task);
} onx_pool_algorithm;

/* One block of one image: plain [channels][pixels] (1 <= channels <= b) and blocked [pixels][b]. */
typedef struct onx_block_algorithm {
    size_t block;
    void (*to)(const float *plain, size_t channels, size_t pixels, float *blocked);
    void (*from)(const float *blocked, size_t channels, size_t pixels, float *plain);
} onx_block_algorithm;

#define ONX_POOL_TIER(isa)                                                                         \
    extern const onx_pool_algorithm onx_pool_max_##isa, onx_pool_average_##isa;                    \
    extern const onx_block_algorithm onx_block_##isa;
ONX_ISAS(ONX_POOL_TIER)

#endif
