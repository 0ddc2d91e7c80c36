/* conv_simd.c: Conv with one or two spatial dimensions, on the algorithms of cpu/conv.h. Input and
 * output are plain and pass through blocked scratch; half precision is computed in float32. */
#include "ops/conv/conv_columns_simd.h"
#include "ops/conv/conv_plan_simd.h"

/* ── Which algorithm ── */

static const onx_conv_algorithm *choose(const onx_call *call, const onx_conv *c) {
    const onx_conv_state *s = call->state;
    bool few = !s->blocked && c->ic < VF && c->dh == 1 && c->dw == 1 && c->kh * c->kw <= 4096;
    if (onx_conv_is_depthwise(c)) return &ONX_TIER(onx_conv_depthwise);
    return few ? &ONX_TIER(onx_conv_plain) : &ONX_TIER(onx_conv_direct);
}

bool ONX_TIER(onx_conv_of_weights)(const onx_call *call, onx_conv *c) {
    const onx_conv_state *s = call->state;
    const onx_operand *w = call->in[1];
    if (w->rank != 3 && w->rank != 4) return false;
    for (size_t i = 0; i < w->rank; i++)
        if (w->dims[i] < 1 || w->dims[i] > INT32_MAX) return false;
    if (w->dims[0] % s->groups || (size_t)w->count > BLOCKS_MAX / (VF * VF)) return false;
    size_t x = (size_t)w->rank - 3; /* the axis of the width; before it, of the height */
    size_t merged = s->merged ? s->merged : 1;
    *c = (onx_conv){.groups = (size_t)s->groups / merged,
                    .ic = (size_t)w->dims[1] * merged,
                    .oc = (size_t)(w->dims[0] / s->groups) * merged,
                    .kh = x ? (size_t)w->dims[2] : 1,
                    .kw = (size_t)w->dims[x + 2],
                    .sh = x ? (size_t)s->window.stride[0] : 1,
                    .sw = (size_t)s->window.stride[x],
                    .dh = x ? (size_t)s->window.dilation[0] : 1,
                    .dw = (size_t)s->window.dilation[x]};
    return true;
}

onx_status ONX_TIER(onx_conv_init_plan)(onx_call *call) {
    onx_conv c;
    onx_conv_state *s = call->state;
    if (!ONX_TIER(onx_conv_of_weights)(call, &c)) return ONX_UNSUPPORTED;
    const onx_conv_algorithm *algorithm = choose(call, &c);
    call->pack_format = (c.groups * (VF + 1) + s->merged) * 4 +
                        (algorithm == &ONX_TIER(onx_conv_plain)) * 2 +
                        (algorithm == &ONX_TIER(onx_conv_depthwise));
    return ONX_OK;
}

/* ── Half precision ── */

enum { WIDEN_TASK = 1 << 16 }; /* elements */

static bool is_half(const onx_operand *operand) {
    return operand && operand->dtype != ONX_DTYPE_F32;
}

typedef struct conversion {
    const onx_operand *half;
    float *wide;
    bool narrow;
} conversion;

static onx_status convert_task(void *user, onx_call *call, size_t index, void *scratch) {
    const conversion *v = user;
    size_t first = index * WIDEN_TASK, rest = (size_t)v->half->count - first, i = 0;
    size_t n = rest < WIDEN_TASK ? rest : WIDEN_TASK;
    uint16_t *half = (uint16_t *)v->half->data + first;
    float *wide = v->wide + first;
    onx_dtype dtype = (onx_dtype)v->half->dtype;
    (void)call, (void)scratch;
    for (; dtype == ONX_DTYPE_F16 && i + VF <= n; i += VF)
        if (v->narrow)
            vf_store_f16(half + i, vf_load(wide + i));
        else
            vf_store(wide + i, vf_load_f16(half + i));
    if (v->narrow) return onx_dtype_convert(ONX_DTYPE_F32, wide + i, dtype, half + i, n - i, false);
    return onx_dtype_convert(dtype, half + i, ONX_DTYPE_F32, wide + i, n - i, false);
}

static onx_status convert(onx_call *call, const onx_operand *half, float *wide, bool narrow) {
    size_t tasks = ((size_t)half->count + WIDEN_TASK - 1) / WIDEN_TASK;
    return onx_call_parallel(call, tasks, convert_task, &(conversion){half, wide, narrow});
}

/* The floats of an operand: its own, or, of half precision, a copy that takes what it needs of
 * *room. */
static onx_status get_floats(onx_call *call, const onx_operand *operand, float **room,
                             const float **out) {
    *out = operand ? operand->data : NULL;
    if (!is_half(operand)) return ONX_OK;
    *out = *room;
    *room += operand->count;
    return convert(call, operand, *room - operand->count, false);
}

/* ── Packing ── */

size_t ONX_TIER(onx_conv_pack_bytes)(const onx_call *call) {
    const onx_conv_state *s = call->state;
    const onx_operand *w = call->in[1];
    onx_conv c;
    if (!w->constant || !w->data || !ONX_TIER(onx_conv_of_weights)(call, &c)) return 0;
    size_t floats = choose(call, &c)->weights(&c);
    if (s->staged) floats = VF + s->staged->weights(&c) + (s->alone ? 0 : floats);
    return floats * sizeof(float);
}

typedef struct packing {
    const onx_conv *conv;
    const onx_conv_algorithm *algorithm;
    const float *from;
    const onx_conv_staged *staged; /* packed for that, too, or NULL */
    float *to, *more;              /* more: for `staged` */
    size_t parts;                  /* of `to`; those of `staged` follow */
    atomic_bool unfit;             /* weights that `staged` cannot use */
} packing;

static onx_status pack_part(void *user, onx_call *call, size_t index, void *scratch) {
    packing *k = user;
    (void)call, (void)scratch;
    if (index < k->parts)
        k->algorithm->pack(k->conv, k->from, index, k->to);
    else if (!k->staged->pack(k->conv, k->from, index - k->parts, k->more))
        atomic_store(&k->unfit, true);
    return ONX_OK;
}

/* For direct sums, and then, or only, for `staged`: whether that can be used stands before all. */
static onx_status pack_floats(onx_call *call, const onx_conv *c, const float *w, float *out) {
    const onx_conv_state *s = call->state;
    const onx_conv_algorithm *algorithm = choose(call, c);
    packing k = {.conv = c, .algorithm = algorithm, .from = w, .staged = s->staged, .to = out};
    size_t parts = algorithm->parts(c);
    k.parts = parts;
    if (!s->staged) return onx_call_parallel(call, parts, pack_part, &k);
    k.to = out + VF;
    k.more = k.to + (s->alone ? 0 : algorithm->weights(c));
    k.parts = s->alone ? 0 : parts;
    ONX_TRY(onx_call_parallel(call, k.parts + s->staged->parts(c), pack_part, &k));
    bool fit = !atomic_load(&k.unfit);
    vf_store(out, vf_set(fit));
    k.parts = parts;
    return fit || !s->alone ? ONX_OK : onx_call_parallel(call, parts, pack_part, &k);
}

/* Groups that are computed as one: their weights, and zeros for channels of different groups. */
static onx_status pack_merged(onx_call *call, const onx_conv *c, const float *w, float *out) {
    const onx_conv_state *s = call->state;
    size_t taps = c->kh * c->kw, ic = c->ic / s->merged, oc = c->oc / s->merged;
    size_t bytes = c->groups * c->oc * c->ic * taps * sizeof(float);
    float *all = onx_mem_alloc(call->ctx, bytes);
    if (!all) return onx_fail_nomem(call->diag);
    memset(all, 0, bytes);
    for (size_t o = 0; o < (size_t)call->in[1]->dims[0]; o++)
        memcpy(all + (o * c->ic + o / oc % s->merged * ic) * taps,
               (const char *)w + o * ic * taps * sizeof *w, ic * taps * sizeof *w);
    onx_status status = pack_floats(call, c, all, out);
    onx_mem_free(call->ctx, all, bytes);
    return status;
}

onx_status ONX_TIER(onx_conv_pack)(onx_call *call, void *out) {
    const onx_conv_state *s = call->state;
    const onx_operand *w = call->in[1];
    size_t bytes = (size_t)w->count * sizeof(float);
    float *wide = NULL;
    onx_conv c;
    if (!ONX_TIER(onx_conv_of_weights)(call, &c)) return ONX_OK;
    if (s->merged) return pack_merged(call, &c, w->data, out);
    if (is_half(w)) {
        wide = onx_mem_alloc(call->ctx, bytes);
        if (!wide) return onx_fail_nomem(call->diag);
        (void)onx_dtype_convert((onx_dtype)w->dtype, w->data, ONX_DTYPE_F32, wide,
                                (uint64_t)w->count, false);
    }
    onx_status status = pack_floats(call, &c, wide ? wide : w->data, out);
    onx_mem_free(call->ctx, wide, wide ? bytes : 0);
    return status;
}

/* ── Sizes ── */

static onx_status bind_conv(onx_call *call, onx_conv_plan *p) {
    onx_images m;
    ONX_TRY(onx_conv_bind(call, &m));
    onx_conv *c = &p->conv;
    if (!ONX_TIER(onx_conv_of_weights)(call, c) ||
        !blocks_fit(m.batch, c->groups, c->ic, m.in_pixels) ||
        !blocks_fit(m.batch, c->groups, c->oc, m.out_pixels))
        return onx_call_fail(call, ONX_LIMIT, "the images are too large for this kernel");
    size_t last = m.window.axes - 1;
    c->n = m.batch;
    c->ih = last ? m.in[0] : 1;
    c->iw = m.in[last];
    c->oh = last ? m.out[0] : 1;
    c->ow = m.out[last];
    c->top = last ? (size_t)m.span[0].before : 0;
    c->left = (size_t)m.span[last].before;
    p->algorithm = choose(call, c);
    return ONX_OK;
}

/* Depthwise, a block holds channels of VF groups; else each group begins one. */
static blocks blocks_in(const onx_conv *c) {
    bool each = onx_conv_is_depthwise(c);
    return (blocks){.images = each ? c->n : c->n * c->groups,
                    .channels = each ? c->groups * c->ic : c->ic,
                    .pixels = c->ih * c->iw};
}
static blocks blocks_out(const onx_conv *c) {
    bool each = onx_conv_is_depthwise(c);
    return (blocks){.images = each ? c->n : c->n * c->groups,
                    .channels = each ? c->groups * c->oc : c->oc,
                    .pixels = c->oh * c->ow};
}

static size_t wide_floats(const onx_call *call, bool constant_weights) {
    size_t n = 0;
    for (size_t i = 0; i < call->n_in; i++)
        if (is_half(call->in[i]) && !(i == 1 && constant_weights)) n += (size_t)call->in[i]->count;
    if (is_half(call->in[0]) && call->out[0]) n += (size_t)call->out[0]->count;
    return n;
}

onx_status ONX_TIER(onx_conv_bind_plan)(onx_call *call, bool y_blocked) {
    onx_conv_plan *p = call->plan;
    ONX_TRY(bind_conv(call, p));
    blocks in = blocks_in(&p->conv), out = blocks_out(&p->conv);
    bool packed = ONX_TIER(onx_conv_pack_bytes)(call);
    bool reads_plain = p->algorithm == &ONX_TIER(onx_conv_plain);
    p->x_floats = !call->in[0]->layout && !reads_plain ? blocks_floats(&in) : 0;
    p->y_floats = y_blocked ? 0 : blocks_floats(&out);
    p->w_floats = packed ? 0 : p->algorithm->weights(&p->conv);
    p->wide_floats = wide_floats(call, packed);
    call->scratch_bytes =
        (p->x_floats + p->y_floats + p->w_floats + p->wide_floats) * sizeof(float);
    call->scratch_each = p->conv.oh && p->conv.ow ? p->algorithm->scratch(&p->conv) : 0;
    return ONX_OK;
}

/* ── Running ── */

static void run_program(void *user, float *y, size_t n) {
    ONX_TIER(onx_tile_span)(user, 0, n, y, y); /* one input: the place does not matter */
}

onx_conv_args ONX_TIER(onx_conv_task_args)(const onx_call *call, const onx_conv_args *a,
                                           onx_tile_work *work, void *scratch) {
    static onx_operand *const inputs[1] = {NULL};
    const onx_conv_state *s = call->state;
    const onx_conv_plan *p = call->plan;
    onx_conv_args own = *a;
    if (!s->tile) return own;
    ONX_TIER(onx_tile_begin)(work, &p->program, inputs, (char *)scratch + p->program_at);
    own.then = run_program;
    own.user = work;
    return own;
}

typedef struct part {
    const onx_conv_args *args;
    size_t first;
} part;

static onx_status part_task(void *user, onx_call *call, size_t index, void *scratch) {
    const part *some = user;
    const onx_conv_plan *p = call->plan;
    onx_tile_work work;
    onx_conv_args a = ONX_TIER(onx_conv_task_args)(call, some->args, &work, scratch);
    p->algorithm->run(&p->conv, &a, some->first + index, scratch);
    return ONX_OK;
}
onx_status ONX_TIER(onx_conv_run_tasks)(onx_call *call, const onx_conv_args *a, size_t first,
                                        size_t last) {
    return onx_call_parallel(call, last - first, part_task, &(part){a, first});
}

/* Without any input there are only bias and residual. */
static onx_status empty_task(void *user, onx_call *call, size_t index, void *scratch) {
    onx_tile_work work;
    onx_conv_args own = ONX_TIER(onx_conv_task_args)(call, user, &work, scratch), *a = &own;
    const onx_operand *y = call->out[0];
    size_t pixels = 1, block = y->layout ? y->layout : 1, channels = (size_t)y->dims[1];
    size_t each = ceil_div(channels, block);
    for (size_t i = 2; i < y->rank; i++) pixels *= (size_t)y->dims[i];
    size_t n = (size_t)y->dims[0] * each * pixels * block;
    for (size_t i = 0; i < n; i++) {
        size_t channel = i / (pixels * block) % each * block + i % block;
        float v = a->residual ? a->residual[i] : 0;
        if (a->bias && channel < channels) v += load_any(a->bias + channel);
        v = v < a->lo ? a->lo : v;
        v = v > a->hi ? a->hi : v;
        memcpy((void *)(a->y + i), &v, sizeof v);
    }
    if (a->then) a->then(a->user, a->y, n);
    (void)index;
    return ONX_OK;
}

onx_conv_args ONX_TIER(onx_conv_args_of)(const onx_call *call) {
    enum { AHEAD = 512 << 10 }; /* for the second-level cache */
    const onx_conv_state *s = call->state;
    onx_conv_args a = {.x = call->in[0]->data, .y = call->out[0]->data, .lo = s->lo, .hi = s->hi};
    if (onx_call_in(call, 2)) a.bias = call->in[2]->data;
    if (onx_call_in(call, 3)) a.residual = call->in[3]->data;
    if (call->packed) a.w = (const float *)call->packed + (s->staged ? VF : 0);
    a.fetches = call->fetches;
    a.ahead = call->ahead;
    a.ahead_bytes = call->ahead_bytes < AHEAD ? call->ahead_bytes : AHEAD;
    return a;
}

/* With floats on all sides: a->x and a->y as the tensors lie, `w` the weights where they are not
 * packed. */
static onx_status run_floats(onx_call *call, onx_conv_args *a, const float *w) {
    const onx_conv_plan *p = call->plan;
    float *x = call->scratch, *y = x, *packed = x, *out = a->y;
    if (x) y += p->x_floats, packed += p->x_floats + p->y_floats;
    if (!call->packed) {
        a->w = packed;
        packing k = {.conv = &p->conv, .algorithm = p->algorithm, .from = w, .to = packed};
        k.parts = p->algorithm->parts(&p->conv);
        ONX_TRY(onx_call_parallel(call, k.parts, pack_part, &k));
    }
    if (p->x_floats) {
        ONX_TRY(blocks_to(call, blocks_in(&p->conv), a->x, x));
        a->x = x;
    }
    if (p->y_floats) a->y = y;
    ONX_TRY(ONX_TIER(onx_conv_run_tasks)(call, a, 0, p->algorithm->tasks(&p->conv)));
    return p->y_floats ? blocks_from(call, blocks_out(&p->conv), y, out) : ONX_OK;
}

onx_status ONX_TIER(onx_conv_run)(onx_call *call) {
    const onx_conv_plan *p = call->plan;
    const onx_operand *x = call->in[0], *y = call->out[0];
    if (!y || !y->count) return ONX_OK;
    onx_conv_args a = ONX_TIER(onx_conv_args_of)(call);
    float *room = call->scratch;
    if (room) room += p->x_floats + p->y_floats + p->w_floats;
    const float *w = NULL;
    ONX_TRY(get_floats(call, x, &room, &a.x));
    ONX_TRY(get_floats(call, onx_call_in(call, 2), &room, &a.bias));
    if (!call->packed) ONX_TRY(get_floats(call, call->in[1], &room, &w));
    if (is_half(y)) a.y = room;
    float *out = a.y;
    if (x->count)
        ONX_TRY(run_floats(call, &a, w));
    else
        ONX_TRY(onx_call_parallel(call, 1, empty_task, &a));
    return is_half(y) ? convert(call, y, out, true) : ONX_OK;
}

static onx_status init_plain(onx_call *call) {
    ONX_TRY(onx_conv_init(call));
    return ONX_TIER(onx_conv_init_plan)(call);
}
static onx_status bind_plain(onx_call *call) {
    return ONX_TIER(onx_conv_bind_plan)(call, false);
}

#define F32 ONX_T(F32)
#define HALF (ONX_T(F16) | ONX_T(BF16))
#define CONV                                                                                       \
    .packs = 1 << 1, .plan_bytes = sizeof(onx_conv_plan),                                          \
    .pack_bytes = ONX_TIER(onx_conv_pack_bytes), .pack = ONX_TIER(onx_conv_pack)
#define PLAIN .init = init_plain, .bind = bind_plain, .run = ONX_TIER(onx_conv_run)

extern onx_kernel_rows ONX_TIER(onx_kernels_conv);
onx_kernel_rows ONX_TIER(onx_kernels_conv) = {
    {.op = "Conv", .first = 1, .types = {F32, F32, F32}, .name = "conv_f32", CONV, PLAIN},
    {.op = "Conv", .first = 1, .types = {HALF, HALF, HALF}, .name = "conv_half", CONV, PLAIN},
    {.op = "Conv",
     .first = 1,
     .types = {F32, F32, F32},
     .name = "conv_columns_f32",
     .packs = 1 << 1,
     .init = ONX_TIER(onx_conv_columns_init),
     .pack_bytes = ONX_TIER(onx_conv_columns_pack_bytes),
     .pack = ONX_TIER(onx_conv_columns_pack),
     .bind = ONX_TIER(onx_conv_columns_bind),
     .run = ONX_TIER(onx_conv_columns_run)},
    {.op = "ConvBlocked",
     .first = 1,
     .types = {F32, F32 | HALF, F32, F32},
     .name = "conv_blocked_f32",
     .overwrite = 1 << 3,
     CONV,
     .domain = "onx.internal",
     .init = ONX_TIER(onx_conv_blocked_init),
     .bind = ONX_TIER(onx_conv_blocked_bind),
     .run = ONX_TIER(onx_conv_blocked_run)},
    {.op = "ToBlocked",
     .first = 1,
     .types = {F32},
     .name = "to_blocked_f32",
     .domain = "onx.internal",
     .init = ONX_TIER(onx_to_blocked_init),
     .bind = ONX_TIER(onx_to_blocked_bind),
     .run = ONX_TIER(onx_to_blocked_run)},
    {.op = "FromBlocked",
     .first = 1,
     .types = {F32},
     .name = "from_blocked_f32",
     .domain = "onx.internal",
     .bind = ONX_TIER(onx_from_blocked_bind),
     .run = ONX_TIER(onx_from_blocked_run)},
    {0},
};
