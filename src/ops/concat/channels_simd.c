/* channels_simd.c: onx.internal::Channels: channels of blocked tensors in another order: Concat,
 * Split and Slice along the channels, and the shuffle of groups.
 *
 *     Channels(X …) { sizes, from }     sizes[i]: channels of input i; output channel c is channel
 *                                       from[c] of the inputs put together
 *
 * A block of the output is cut into pieces: what comes from one block of an input, by a permutation
 * of lanes. One piece that stays as it is is copied. */
#include "cpu/vec.h"
#include "rt/kernel.h"

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
} state;

typedef struct plan {
    size_t images, pixels;
    size_t each; /* blocks in a task */
} plan;

enum { TASK_PIXELS = 4096 };

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
    bool fine = s->n_in == call->n_in && s->channels > 0 && s->channels < (size_t)1 << 32;
    for (size_t i = 0; i < s->n_in && fine; i++)
        fine = call->in[i] && s->sizes[i] > 0 && onx_add_i64(all, s->sizes[i], &all);
    for (size_t i = 0; i < s->channels && fine; i++) fine = s->from[i] >= 0 && s->from[i] < all;
    return fine ? ONX_OK : onx_call_fail(call, ONX_INVALID, "'sizes' or 'from' is wrong");
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
    return ONX_OK;
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
    for (size_t i = 0; i < call->n_in; i++)
        if (!fits(s, x, call->in[i], i))
            return onx_call_fail(call, ONX_INVALID, "input %zu is not in blocks, or of other sizes",
                                 i);
    int64_t dims[4] = {x->dims[0], (int64_t)s->channels, x->dims[2], x->dims[3]};
    ONX_TRY(onx_call_shape(call, 0, ONX_DTYPE_F32, 4, dims));
    p->images = (size_t)dims[0];
    p->pixels = (size_t)(dims[2] * dims[3]);
    p->each = TASK_PIXELS / (p->pixels + 1) + 1;
    return onx_call_layout(call, 0, VF);
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

static void copy_block(const onx_call *call, size_t image, size_t block) {
    const state *s = call->state;
    const plan *p = call->plan;
    const piece *pieces = s->pieces + s->first[block];
    size_t n = s->first[block + 1] - s->first[block], plane = p->pixels * VF;
    const float *from[VF];
    for (size_t i = 0; i < n; i++) {
        size_t blocks = blocks_of((size_t)s->sizes[pieces[i].input]);
        from[i] = (const float *)call->in[pieces[i].input]->data +
                  (image * blocks + pieces[i].block) * plane;
    }
    float *to = (float *)call->out[0]->data + (image * blocks_of(s->channels) + block) * plane;
    if (n == 1 && is_whole(pieces))
        memcpy(to, from[0], plane * sizeof *to);
    else
        join_pieces(pieces, n, from, p->pixels, to);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const plan *p = call->plan;
    size_t blocks = blocks_of(((const state *)call->state)->channels), all = p->images * blocks;
    size_t first = index * p->each, last = all - first < p->each ? all : first + p->each;
    for (size_t i = first; i < last; i++) copy_block(call, i / blocks, i % blocks);
    (void)user, (void)scratch;
    return ONX_OK;
}

static onx_status run(onx_call *call) {
    const plan *p = call->plan;
    size_t all = p->images * blocks_of(((const state *)call->state)->channels);
    if (!call->out[0] || !call->out[0]->count) return ONX_OK;
    return onx_call_parallel(call, (all + p->each - 1) / p->each, task, NULL);
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
