/* channels_simd.c: onx.internal::Channels: channels of blocked tensors in another order: Concat,
 * Split and Slice along the channels, and the shuffle of groups.
 *
 *     Channels(X …) { sizes, from }     sizes[i]: channels of input i; output channel c is channel
 *                                       from[c] of the inputs put together
 *     Channels(X …, operands …)         which then goes through a program (ops/tile/tile.h), as its
 *         { sizes, from, code, consts }     input 0
 *
 * A block of the output is cut into pieces: what comes from one block of an input, by a permutation
 * of lanes. One piece that stays as it is is copied. */
#include "cpu/shares.h"
#include "ops/tile/tile_simd.h"

typedef struct piece {
    size_t input, block;
    int32_t lanes[VF]; /* lane i of the output is that lane of the input … */
    int32_t taken[VF]; /* … where this is -1 */
} piece;

typedef struct state {
    size_t channels, n_in;
    int64_t *sizes;
    const int64_t *from; /* in init alone */
    size_t *first;       /* of the pieces of each block, and an end */
    piece *pieces;
    const onx_tile *tile; /* the program, or NULL */
} state;

typedef struct plan {
    size_t images, pixels, width;
    onx_shares shares;
    onx_tile_plan program;
} plan;

enum {
    TASK_PIXELS = 4096, /* of a block */
    SPAN_PIXELS = 128,  /* copied before the program runs on them: few enough for the first cache */
};

static size_t blocks_of(size_t channels) {
    return channels / VF + (channels % VF != 0);
}

/* The input that channel `*at` of all of them is in; it becomes the channel there. */
static size_t input_of(const state *s, int64_t *at) {
    size_t i = 0;
    while (*at >= s->sizes[i]) *at -= s->sizes[i++];
    return i;
}

static piece *piece_for(piece *pieces, size_t *n, size_t input, size_t block) {
    for (size_t i = 0; i < *n; i++)
        if (pieces[i].input == input && pieces[i].block == block) return &pieces[i];
    pieces[*n] = (piece){.input = input, .block = block};
    return &pieces[(*n)++];
}

/* The pieces of a block, at most VF; how many. */
static size_t cut_block(const state *s, size_t block, piece *pieces) {
    size_t n = 0;
    for (size_t lane = 0; lane < VF && block * VF + lane < s->channels; lane++) {
        int64_t at = s->from[block * VF + lane];
        size_t input = input_of(s, &at);
        piece *p = piece_for(pieces, &n, input, (size_t)at / VF);
        p->lanes[lane] = (int32_t)(at % VF);
        p->taken[lane] = -1;
    }
    return n;
}

static onx_status check(const onx_call *call, const state *s) {
    int64_t all = 0;
    bool fine =
        s->n_in > 0 && s->n_in <= call->n_in && s->channels > 0 && s->channels < (size_t)1 << 32;
    for (size_t i = 0; i < s->n_in && fine; i++)
        fine = call->in[i] && s->sizes[i] > 0 && onx_add_i64(all, s->sizes[i], &all);
    for (size_t i = 0; i < s->channels && fine; i++) fine = s->from[i] >= 0 && s->from[i] < all;
    return fine ? ONX_OK : onx_call_fail(call, ONX_INVALID, "'sizes' or 'from' is wrong");
}

/* The inputs of the program: first what was copied, which has no operand. */
static onx_status operands_of(const onx_call *call, onx_operand *operands[ONX_TILE_INPUTS]) {
    const state *s = call->state;
    size_t n = call->n_in - s->n_in;
    if (n >= ONX_TILE_INPUTS) return onx_call_fail(call, ONX_INVALID, "there are %zu operands", n);
    operands[0] = NULL;
    for (size_t i = 0; i < n; i++) operands[i + 1] = call->in[s->n_in + i];
    return ONX_OK;
}

static onx_status init_program(onx_call *call) {
    state *s = call->state;
    onx_tile_program program;
    size_t n = call->n_in - s->n_in + 1;
    if (!onx_op_has(call->node, "code") && n == 1) return ONX_OK;
    ONX_TRY(onx_tile_get(call->node, n, &program, call->diag));
    if (onx_tile_dtype(&program) != ONX_DTYPE_F32) return ONX_UNSUPPORTED;
    return onx_tile_new(call, &program, &s->tile);
}

static onx_status init(onx_call *call) {
    piece some[VF];
    state *s = onx_call_state(call, sizeof *s);
    if (!s) return onx_fail_nomem(call->diag);
    const int64_t *sizes = onx_op_ints(call->node, "sizes", &s->n_in);
    s->from = onx_op_ints(call->node, "from", &s->channels);
    s->sizes = onx_call_state(call, s->n_in * sizeof *sizes + 1);
    if (!s->sizes) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < s->n_in; i++) s->sizes[i] = sizes[i];
    ONX_TRY(check(call, s));
    size_t blocks = blocks_of(s->channels), n = 0;
    s->first = onx_call_state(call, (blocks + 1) * sizeof *s->first);
    if (!s->first) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < blocks; i++) {
        s->first[i] = n;
        n += cut_block(s, i, some);
    }
    s->first[blocks] = n;
    s->pieces = onx_call_state(call, n * sizeof *s->pieces);
    if (!s->pieces) return onx_fail_nomem(call->diag);
    for (size_t i = 0; i < blocks; i++) (void)cut_block(s, i, s->pieces + s->first[i]);
    if (call->out[0]) call->out[0]->layout = VF;
    return init_program(call);
}

static bool fits(const state *s, const onx_operand *first, const onx_operand *in, size_t index) {
    return in->layout == VF && in->rank == 4 && in->dims[0] == first->dims[0] &&
           in->dims[1] == s->sizes[index] && in->dims[2] == first->dims[2] &&
           in->dims[3] == first->dims[3];
}

static onx_status bind(onx_call *call) {
    const state *s = call->state;
    const onx_operand *x = call->in[0];
    plan *p = call->plan;
    onx_operand *operands[ONX_TILE_INPUTS];
    for (size_t i = 0; i < s->n_in; i++)
        if (!fits(s, x, call->in[i], i))
            return onx_call_fail(call, ONX_INVALID, "input %zu is not in blocks, or of other sizes",
                                 i);
    int64_t dims[4] = {x->dims[0], (int64_t)s->channels, x->dims[2], x->dims[3]};
    ONX_TRY(onx_call_shape(call, 0, ONX_DTYPE_F32, 4, dims));
    p->images = (size_t)dims[0];
    p->pixels = (size_t)(dims[2] * dims[3]);
    p->width = (size_t)dims[3];
    size_t blocks = blocks_of(s->channels);
    p->shares = onx_shares_of(p->pixels, (size_t)dims[2], blocks,
                              onx_tasks_worth(p->pixels * blocks, TASK_PIXELS));
    ONX_TRY(onx_call_layout(call, 0, VF));
    if (!s->tile || !call->out[0]) return ONX_OK;
    call->scratch_each = s->tile->scratch;
    ONX_TRY(operands_of(call, operands));
    return onx_tile_bind(call, s->tile, call->out[0], operands, &p->program);
}

static bool is_whole(const piece *p) {
    for (size_t i = 0; i < VF; i++)
        if (p->taken[i] && p->lanes[i] != (int32_t)i) return false;
    return true;
}

static vi ints_at(const int32_t *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Lanes that no piece has may be anything: those of the first. */
static void join_pieces(const piece *pieces, size_t n, const float *const from[VF], size_t pixels,
                        float *to) {
    vi lanes = ints_at(pieces->lanes);
    for (size_t p = 0; p < pixels * VF; p += VF) {
        vf v = vf_permute(vf_load(from[0] + p), lanes);
        for (size_t k = 1; k < n; k++) {
            vf more = vf_permute(vf_load(from[k] + p), ints_at(pieces[k].lanes));
            v = vf_select(ints_at(pieces[k].taken), more, v);
        }
        vf_store(to + p, v);
    }
}

/* Pixels [first, first + count) of a block, to their place, where they then are. */
static float *copy_pixels(const onx_call *call, size_t image, size_t block, size_t first,
                          size_t count) {
    const state *s = call->state;
    const plan *p = call->plan;
    const piece *pieces = s->pieces + s->first[block];
    size_t n = s->first[block + 1] - s->first[block], plane = p->pixels * VF;
    const float *from[VF];
    for (size_t i = 0; i < n; i++) {
        size_t blocks = blocks_of((size_t)s->sizes[pieces[i].input]);
        from[i] = (const float *)call->in[pieces[i].input]->data +
                  (image * blocks + pieces[i].block) * plane + first * VF;
    }
    float *to = (float *)call->out[0]->data + (image * blocks_of(s->channels) + block) * plane;
    to += first * VF;
    if (n == 1 && is_whole(pieces))
        onx_mem_copy(to, from[0], count * VF * sizeof *to);
    else
        join_pieces(pieces, n, from, count, to);
    return to;
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const plan *p = call->plan;
    const state *s = call->state;
    onx_share share = onx_share_of(&p->shares, index);
    size_t end = share.row_end * p->width, image = share.image * p->shares.blocks;
    onx_operand *operands[ONX_TILE_INPUTS];
    onx_tile_work work;
    if (s->tile) {
        ONX_TRY(operands_of(call, operands));
        ONX_TIER(onx_tile_begin)(&work, &p->program, operands, scratch);
    }
    for (size_t i = share.block; i < share.block_end; i++)
        for (size_t k = share.row * p->width, n; k < end; k += n) {
            n = s->tile && end - k > SPAN_PIXELS ? SPAN_PIXELS : end - k;
            float *to = copy_pixels(call, share.image, i, k, n);
            if (s->tile) ONX_TIER(onx_tile_span)
            (&work, (int64_t)(((image + i) * p->pixels + k) * VF), n * VF, to, to);
        }
    (void)user;
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    const plan *p = call->plan;
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    return onx_call_parallel(call, p->images * p->shares.pieces * p->shares.parts, task, NULL);
}

extern onx_kernel_rows ONX_TIER(onx_kernels_concat);
onx_kernel_rows ONX_TIER(onx_kernels_concat) = {
    {.op = "Channels",
     .first = 1,
     .types = {ONX_T(F32)},
     .name = "channels_f32",
     .plan_bytes = sizeof(plan),
     .domain = "onx.internal",
     .init = init,
     .bind = bind,
     .run = run},
    {0},
};
