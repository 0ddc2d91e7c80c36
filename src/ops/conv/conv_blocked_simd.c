/* conv_blocked_simd.c: ConvBlocked: a Conv whose output is in blocks, from an input that is, too,
 * or plain. It has a residual, a clamp and an elementwise program in the same step, and uses
 * Winograd's algorithm, or another in two steps, where that is faster. ToBlocked and FromBlocked
 * change the layout. */
#include "ops/conv/conv_plan_simd.h"

#define WINOGRAD ONX_TIER(onx_conv_winograd)

/* init: the size of an output image, if those of the input and the window give it. */
static bool find_size(const onx_call *call, onx_conv *c) {
    const onx_operand *x = call->in[0], *w = call->in[1];
    onx_window window = ((const onx_conv_state *)call->state)->window;
    onx_span span[2];
    if (x->rank != 4 || onx_window_fit(&window, 4, NULL) != ONX_OK) return false;
    for (size_t i = 0; i < 2; i++)
        if (x->dims[i + 2] < 0 || onx_window_size(&window, i, w->dims[i + 2], NULL) != ONX_OK ||
            onx_window_span(&window, i, x->dims[i + 2], &span[i], NULL) != ONX_OK)
            return false;
    c->oh = (size_t)span[0].out;
    c->ow = (size_t)span[1].out;
    return true;
}

/* Winograd's algorithm where it is faster, and then its weights alone. Where sizes are not known
 * yet, they are taken to be large for kernels with few channels. */
static void init_staged(onx_call *call, onx_conv *c) {
    const onx_operand *x = call->in[0], *w = call->in[1];
    onx_conv_state *s = call->state;
    if (!w->constant || !w->data || !x->layout || !WINOGRAD.fits(c) || w->rank != 4) return;
    bool known = find_size(call, c);
    if (known ? !WINOGRAD.worth(c) : c->ic * c->oc > (size_t)1 << 16) return;
    s->staged = &WINOGRAD;
    s->alone = known && !s->merged;
}

/* The program, if the node has one. */
static onx_status init_program(onx_call *call) {
    onx_conv_state *s = call->state;
    onx_tile_program program;
    if (!onx_op_has(call->node, "code")) return ONX_OK;
    ONX_TRY(onx_tile_get(call->node, 1, &program, call->diag));
    if (onx_tile_dtype(&program) != ONX_DTYPE_F32) return ONX_UNSUPPORTED;
    return onx_tile_new(call, &program, &s->tile);
}

/* Groups begin with blocks: narrow ones are merged until they do. False: they cannot be. */
static bool merge_groups(const onx_call *call, onx_conv *c) {
    onx_conv_state *s = call->state;
    size_t m = 1;
    if (c->groups == 1 || onx_conv_is_depthwise(c)) return true;
    while (m < VF && (m * c->ic % VF || m * c->oc % VF)) m *= 2;
    if (m * c->ic % VF || m * c->oc % VF || c->groups % m) return false;
    if (m == 1) return true;
    s->merged = m;
    return s->blocked && call->in[1]->constant && call->in[1]->data &&
           ONX_TIER(onx_conv_of_weights)(call, c);
}

/* All but the algorithm. */
static onx_status init_blocked(onx_call *call, onx_conv *c) {
    ONX_TRY(onx_conv_init(call));
    onx_conv_state *s = call->state;
    s->lo = onx_call_float(call, "lo");
    s->hi = onx_call_float(call, "hi");
    s->blocked = call->in[0]->layout;
    if (s->blocked && call->in[0]->layout != VF) return ONX_UNSUPPORTED;
    if (!ONX_TIER(onx_conv_of_weights)(call, c) || !merge_groups(call, c)) return ONX_UNSUPPORTED;
    ONX_TRY(ONX_TIER(onx_conv_init_plan)(call));
    if (call->out[0]) call->out[0]->layout = VF;
    return init_program(call);
}

onx_status ONX_TIER(onx_conv_blocked_init)(onx_call *call) {
    onx_conv c;
    ONX_TRY(init_blocked(call, &c));
    init_staged(call, &c);
    const onx_conv_state *s = call->state;
    call->pack_format = call->pack_format * 3 + (s->staged != NULL) + s->alone;
    return ONX_OK;
}

onx_status ONX_TIER(onx_conv_blocked_init_staged)(onx_call *call, const onx_conv_staged *staged) {
    const onx_operand *x = call->in[0], *w = call->in[1];
    onx_conv c;
    if (!w->constant || !w->data || !x->layout || w->rank != 4) return ONX_UNSUPPORTED;
    ONX_TRY(init_blocked(call, &c));
    onx_conv_state *s = call->state;
    if (s->merged || !staged->fits(&c)) return ONX_UNSUPPORTED;
    s->staged = staged;
    s->alone = true;
    return ONX_OK;
}

/* Floats for the weights of one block of outputs, as they come and packed. */
static size_t block_floats(const onx_conv *c) {
    return 2 * blocks_of(c->ic) * VF * VF * c->kh * c->kw;
}
/* Floats of what the steps share, in which there is room for a block, too. */
static size_t shared_floats(const onx_conv_staged *staged, const onx_conv *c, size_t bands) {
    size_t shared = staged->shared(c, bands), block = block_floats(c);
    return shared < block ? block : shared;
}

static void plan_staged(onx_call *call) {
    const onx_conv_state *s = call->state;
    const onx_conv_staged *staged = s->staged;
    onx_conv_plan *p = call->plan;
    const onx_conv *c = &p->conv;
    p->staged = staged && c->oh && c->ow && c->ih && c->iw && (s->alone || staged->worth(c));
    if (!p->staged) return;
    size_t each = staged->scratch(c), marks = staged->in_tasks(c);
    /* R may lie where the result is written: then no band may be made twice. */
    bool once = onx_call_in(call, 3);
    p->bands = once ? 1 : staged->bands(c);
    p->apart = !once && staged->apart && staged->apart(c);
    if (p->apart) {
        p->shared_at = onx_align_up(each);
        each = p->shared_at + staged->shared(c, p->bands) * sizeof(float);
        marks = p->bands;
    }
    call->scratch_bytes = shared_floats(staged, c, p->bands) * sizeof(float) + marks;
    if (call->scratch_each < each) call->scratch_each = each;
}

static onx_status bind_program(onx_call *call) {
    const onx_conv_state *s = call->state;
    onx_conv_plan *p = call->plan;
    if (!s->tile) return ONX_OK;
    p->program_at = onx_align_up(call->scratch_each);
    if (!onx_add_size(p->program_at, s->tile->scratch, &call->scratch_each))
        return onx_fail_nomem(call->diag);
    return onx_tile_bind(call, s->tile, call->out[0], (onx_operand *[1]){NULL}, &p->program);
}

onx_status ONX_TIER(onx_conv_blocked_bind)(onx_call *call) {
    const onx_operand *r = onx_call_in(call, 3), *y = call->out[0];
    ONX_TRY(ONX_TIER(onx_conv_bind_plan)(call, true));
    plan_staged(call);
    if (!y) return ONX_OK;
    ONX_TRY(onx_call_layout(call, 0, VF));
    if (r && (r->rank != y->rank || r->layout != VF ||
              memcmp(r->dims, y->dims, y->rank * sizeof *y->dims)))
        return onx_call_fail(call, ONX_INVALID, "R and the result must be alike, in blocks");
    return bind_program(call);
}

typedef struct stage {
    const onx_conv_staged *staged;
    const onx_conv_args *args; /* of one image */
    float *shared;
    unsigned char *fit; /* [in_tasks], or [bands] where they are apart */
    onx_conv_band band;
} stage;

static onx_status in_task(void *user, onx_call *call, size_t index, void *scratch) {
    const stage *g = user;
    const onx_conv_plan *p = call->plan;
    g->fit[index] = g->staged->in(&p->conv, g->args->x, g->shared, g->band, index);
    (void)scratch;
    return ONX_OK;
}
static onx_status out_task(void *user, onx_call *call, size_t index, void *scratch) {
    const stage *g = user;
    const onx_conv_plan *p = call->plan;
    onx_tile_work work;
    onx_conv_args a = ONX_TIER(onx_conv_task_args)(call, g->args, &work, scratch);
    g->staged->out(&p->conv, &a, g->shared, g->band, index, scratch);
    return ONX_OK;
}

/* A band, where they are made apart. */
static onx_status band_task(void *user, onx_call *call, size_t index, void *scratch) {
    const stage *all = user;
    const onx_conv_plan *p = call->plan;
    const onx_conv *c = &p->conv;
    stage g = *all;
    bool fits = true;
    g.shared = (float *)((char *)scratch + p->shared_at);
    g.band.index = index;
    for (size_t i = 0, n = g.staged->in_tasks(c); i < n; i++)
        fits &= g.staged->in(c, g.args->x, g.shared, g.band, i);
    for (size_t i = 0, n = g.staged->out_tasks(c, g.band); i < n && fits; i++)
        ONX_TRY(out_task(&g, call, i, scratch));
    all->fit[index] = fits;
    return ONX_OK;
}

static size_t x_floats(const onx_conv *c) {
    return blocks_of(c->ic) * VF * c->ih * c->iw;
}
static size_t y_floats(const onx_conv *c) {
    return blocks_of(c->oc) * VF * c->oh * c->ow;
}
static void skip_images(const onx_conv *c, onx_conv_args *a, size_t n) {
    a->x += n * x_floats(c);
    a->y += n * y_floats(c);
    if (a->residual) a->residual += n * y_floats(c);
}

/* One image; *fits: all its numbers did. */
static onx_status run_bands(onx_call *call, stage *g, bool *fits) {
    const onx_conv_plan *p = call->plan;
    const onx_conv *c = &p->conv;
    size_t n = p->apart ? p->bands : g->staged->in_tasks(c);
    if (p->apart) {
        ONX_TRY(onx_call_parallel(call, n, band_task, g));
        for (size_t i = 0; i < n; i++) *fits &= g->fit[i];
        return ONX_OK;
    }
    for (g->band.index = 0; g->band.index < g->band.count && *fits; g->band.index++) {
        ONX_TRY(onx_call_parallel(call, n, in_task, g));
        for (size_t i = 0; i < n; i++) *fits &= g->fit[i];
        if (*fits) ONX_TRY(onx_call_parallel(call, g->staged->out_tasks(c, g->band), out_task, g));
    }
    return ONX_OK;
}

/* Image by image; *done: how many were made before one with numbers that do not fit. */
static onx_status run_staged(onx_call *call, onx_conv_args a, size_t *done) {
    const onx_conv_state *s = call->state;
    const onx_conv_staged *staged = s->staged;
    const onx_conv_plan *p = call->plan;
    const onx_conv *c = &p->conv;
    bool fits = true;
    stage g = {staged, &a, call->scratch, NULL, {0, p->bands}};
    g.fit = (unsigned char *)(g.shared + shared_floats(staged, c, p->bands));
    if (!s->alone && staged->weights(c)) a.w += p->algorithm->weights(c);
    for (*done = 0; *done < c->n; ++*done) {
        ONX_TRY(run_bands(call, &g, &fits));
        if (!fits) return ONX_OK;
        skip_images(c, &a, 1);
    }
    return ONX_OK;
}

/* Some blocks of the outputs of one image, by direct sums, with weights packed for that. */
typedef struct direct {
    onx_conv conv;
    onx_conv_args args;
    const float *from;
    float *packed;
} direct;

static onx_status pack_task(void *user, onx_call *call, size_t index, void *scratch) {
    const direct *d = user;
    const onx_conv_plan *p = call->plan;
    p->algorithm->pack(&d->conv, d->from, index, d->packed);
    (void)scratch;
    return ONX_OK;
}
static onx_status direct_task(void *user, onx_call *call, size_t index, void *scratch) {
    const direct *d = user;
    const onx_conv_plan *p = call->plan;
    onx_tile_work work;
    onx_conv_args a = ONX_TIER(onx_conv_task_args)(call, &d->args, &work, scratch);
    p->algorithm->run(&d->conv, &a, index, scratch);
    return ONX_OK;
}

/* The outputs from channel `first` on of the image at `a`, as many as there is room for; *next: the
 * first of the rest. */
static onx_status run_blocks(onx_call *call, const onx_conv_args *a, size_t first, size_t *next) {
    const onx_conv_state *s = call->state;
    const onx_conv_plan *p = call->plan;
    const onx_operand *w = call->in[1];
    size_t n = shared_floats(s->staged, &p->conv, p->bands) / block_floats(&p->conv) * VF;
    size_t at = first * p->conv.oh * p->conv.ow, kernel = p->conv.ic * p->conv.kh * p->conv.kw;
    direct d = {.conv = p->conv, .args = *a, .packed = call->scratch};
    d.conv.n = 1;
    d.conv.oc = p->conv.oc - first < n ? p->conv.oc - first : n;
    d.args.w = d.packed;
    d.args.y += at;
    if (a->bias) d.args.bias += first;
    if (a->residual) d.args.residual += at;
    float *wide = d.packed + p->algorithm->weights(&d.conv);
    d.from = w->dtype == ONX_DTYPE_F32 ? (const float *)w->data + first * kernel : wide;
    if (d.from == wide)
        ONX_TRY(onx_dtype_convert((onx_dtype)w->dtype, onx_operand_at(w, first * kernel),
                                  ONX_DTYPE_F32, wide, d.conv.oc * kernel, false));
    ONX_TRY(onx_call_parallel(call, p->algorithm->parts(&d.conv), pack_task, &d));
    *next = first + d.conv.oc;
    return onx_call_parallel(call, p->algorithm->tasks(&d.conv), direct_task, &d);
}

/* Images `first` … by direct sums, when the weights are not packed for them: that takes long, but
 * no memory for what hardly ever happens. */
static onx_status run_unpacked(onx_call *call, onx_conv_args a, size_t first) {
    const onx_conv *c = &((const onx_conv_plan *)call->plan)->conv;
    for (size_t i = first; i < c->n; i++, skip_images(c, &a, 1))
        for (size_t oc = 0; oc < c->oc;) ONX_TRY(run_blocks(call, &a, oc, &oc));
    return ONX_OK;
}

onx_status ONX_TIER(onx_conv_blocked_run)(onx_call *call) {
    const onx_conv_state *s = call->state;
    const onx_conv_plan *p = call->plan;
    if (!p->staged || !call->out[0] || !call->out[0]->count || !call->in[0]->count)
        return ONX_TIER(onx_conv_run)(call);
    onx_conv_args a = ONX_TIER(onx_conv_args_of)(call);
    size_t done = 0, tasks = p->algorithm->tasks(&p->conv);
    bool fit = *(const float *)call->packed == 1;
    if (fit) ONX_TRY(run_staged(call, a, &done));
    if (done == p->conv.n) return ONX_OK;
    if (!fit || !s->alone)
        return ONX_TIER(onx_conv_run_tasks)(call, &a, done * (tasks / p->conv.n), tasks);
    skip_images(&p->conv, &a, done);
    return run_unpacked(call, a, done);
}

/* ── ToBlocked, FromBlocked ── */

static onx_status bind_reorder(onx_call *call, bool to) {
    const onx_operand *x = call->in[0];
    if (x->rank < 2 || x->layout != (to ? ONX_LAYOUT_PLAIN : VF))
        return onx_call_fail(call, ONX_INVALID, "the layout of the input cannot be changed so");
    ONX_TRY(onx_call_shape(call, 0, ONX_DTYPE_F32, x->rank, x->dims));
    return to ? onx_call_layout(call, 0, VF) : ONX_OK;
}
onx_status ONX_TIER(onx_to_blocked_init)(onx_call *call) {
    if (call->out[0]) call->out[0]->layout = VF;
    return ONX_OK;
}
onx_status ONX_TIER(onx_to_blocked_bind)(onx_call *call) {
    return bind_reorder(call, true);
}
onx_status ONX_TIER(onx_from_blocked_bind)(onx_call *call) {
    return bind_reorder(call, false);
}

static blocks blocks_whole(const onx_operand *x) {
    blocks b = {.images = (size_t)x->dims[0], .channels = (size_t)x->dims[1], .pixels = 1};
    for (size_t i = 2; i < x->rank; i++) b.pixels *= (size_t)x->dims[i];
    return b;
}
onx_status ONX_TIER(onx_to_blocked_run)(onx_call *call) {
    const onx_operand *x = call->in[0], *y = call->out[0];
    return y && x->count ? blocks_to(call, blocks_whole(x), x->data, y->data) : ONX_OK;
}
onx_status ONX_TIER(onx_from_blocked_run)(onx_call *call) {
    const onx_operand *x = call->in[0], *y = call->out[0];
    return y && x->count ? blocks_from(call, blocks_whole(x), x->data, y->data) : ONX_OK;
}
