/* bytes_conv_ref.h: a convolution of bytes while it runs: what bytes_conv_ref.c, bytes_rows_ref.c
 * and bytes_depth_ref.c share. */
#ifndef ONX_BYTES_CONV_REF_H
#define ONX_BYTES_CONV_REF_H

#include "ops/quant/bytes_ref.h"

/* What a row is made of. */
typedef enum onx_qform {
    ONX_QFORM_TAPS,  /* pointers to pixels */
    ONX_QFORM_LINES, /* pointers to pixels that follow one another */
    ONX_QFORM_WHOLE, /* a copy of all that the window sees */
} onx_qform;

/* What a task of tiles needs: pointers, copies, sums. */
typedef struct onx_qroom {
    size_t pointers, copies, sums, row_sums; /* bytes, in this order */
} onx_qroom;

typedef struct onx_qconv {
    const onx_qstate *st;
    const onx_images *m;
    const onx_qend *end;
    const uint8_t *x, *pad;
    size_t x_size; /* of an element of x: 2 where tiles have wide rows */
    uint8_t *y;
    size_t y_size;      /* of an element */
    const char *packed; /* behind the sums */
    onx_qweights w;     /* of any group */
    onx_qform form;
    onx_qroom room;
    uint8_t flip;
    bool is_signed;
    bool plain;                 /* rows are the pixels of x */
    const size_t *offsets;      /* of taps, from the first one on */
    size_t inner, outer;        /* outputs of a line whose windows are inside: from, to */
    size_t rows, tiles, blocks; /* all; blocks of TILES tiles */
    size_t panels, all_panels;  /* of a group; of all */
    size_t chunk;               /* panels of a task */
    size_t lines;               /* depthwise: of outputs, in a task */
} onx_qconv;

static inline size_t onx_qconv_start(const onx_qconv *j, size_t tile) {
    return onx_qgemm_start(j->st->tier, tile, j->tiles, j->rows);
}

/* bytes_rows_ref.c: the rows of tiles. */
/* Where taps are, which windows are inside the image, and whether rows are pixels. The weights and
 * the form are known, `offsets` has room for the taps. */
void onx_qrows_measure(onx_qconv *j, size_t *offsets);
/* The rows of a tile, in the memory of its number in the task. */
void onx_qrows_find(const onx_qconv *j, size_t tile, size_t number, size_t group, char *scratch,
                    onx_qtile *t);
int32_t onx_qrows_sum(const onx_qconv *j, const onx_qtile *t, size_t i); /* of row i */

/* bytes_depth_ref.c: one channel to each group. */
bool onx_qdepth_fits(const onx_qins *in, const onx_qdepth *depth); /* can it do these weights? */
/* Sums of the columns by place, and the weights. */
onx_status onx_qdepth_pack(onx_call *call, const onx_qplaces *places, int32_t *sums, void *out)
    ONX_MUST_CHECK;
/* Bytes of a worker; false: they cannot be counted. */
bool onx_qdepth_scratch(const onx_qstate *st, const onx_images *m, size_t *bytes) ONX_MUST_CHECK;
onx_status onx_qdepth_run(onx_call *call, onx_qconv *j) ONX_MUST_CHECK;

/* bytes_winograd_ref.c: windows of 3 x 3. */
/* The one that fits and is worth it; or NULL. */
const onx_qwinograd *onx_qwinograd_for(const onx_qstate *st, const onx_qins *in);
size_t onx_qwinograd_bytes(const onx_qstate *st, const onx_operand *w);
onx_status onx_qwinograd_pack(onx_call *call, int32_t *sums, void *out) ONX_MUST_CHECK;
size_t onx_qwinograd_scratch(const onx_qstate *st, const onx_images *m); /* of a worker */
onx_status onx_qwinograd_run(onx_call *call, onx_qconv *j) ONX_MUST_CHECK;

#endif
