/* conv_blocked_simd.c: ConvBlocked: a Conv whose output is in blocks, from an input that is, too,
 * or plain. It has a residual, a clamp and an elementwise program in the same step, and uses
 * Winograd's algorithm, or another in two steps, where that is faster. ToBlocked and FromBlocked
 * change the layout. */
#include "ops/conv/conv_plan_simd.h"

#define WINOGRAD ONX_TIER(onx_conv_winograd)

/* May Winograd's algorithm be faster? Where sizes are not known yet, they are taken to be large for
 * kernels with few channels. */
static bool wants_winograd(const onx_call *call, const onx_conv *c) {
    const onx_operand *x = call->in[0], *w = call->in[1];
    if (!w->constant || !w->data || !x->layout || !WINOGRAD.fits(c) || w->rank != 4) return false;
    if (x->rank == 4 && x->dims[2] >= 0 && x->dims[3] >= 0)
        return (x->dims[2] / 4 + 1) * (x->dims[3] / 4 + 1) >= 8;
    return c->ic * c->oc <= (size_t)1 << 16;
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

onx_status ONX_TIER(onx_conv_blocked_init)(onx_call *call) {
    onx_conv c;
    ONX_TRY(onx_conv_init(call));
    onx_conv_state *s = call->state;
    s->lo = onx_call_float(call, "lo");
    s->hi = onx_call_float(call, "hi");
    s->blocked = call->in[0]->layout;
    if (s->blocked && call->in[0]->layout != VF) return ONX_UNSUPPORTED;
    if (!ONX_TIER(onx_conv_of_weights)(call, &c) || !merge_groups(call, &c)) return ONX_UNSUPPORTED;
    ONX_TRY(ONX_TIER(onx_conv_init_plan)(call));
    if (call->out[0]) call->out[0]->layout = VF;
    if (wants_winograd(call, &c)) s->staged = &WINOGRAD;
    call->pack_format = call->pack_format * 2 + (s->staged != NULL);
    return init_program(call);
}

static void plan_staged(onx_call *call) {
    const onx_conv_staged *staged = ((const onx_conv_state *)call->state)->staged;
    onx_conv_plan *p = call->plan;
    const onx_conv *c = &p->conv;
    p->staged = staged && c->oh && c->ow && c->ih && c->iw && staged->worth(c);
    if (!p->staged) return;
    size_t each = staged->scratch(c);
    call->scratch_bytes = staged->shared(c) * sizeof(float) + staged->in_tasks(c);
    if (call->scratch_each < each) call->scratch_each = each;
}

static onx_status bind_program(onx_call *call) {
    const onx_conv_state *s = call->state;
    onx_conv_plan *p = call->plan;
    if (!s->tile) return ONX_OK;
    p->program_at = (call->scratch_each + ONX_ALIGN - 1) / ONX_ALIGN * ONX_ALIGN;
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
    unsigned char *fit; /* [in_tasks] */
} stage;

static onx_status in_task(void *user, onx_call *call, size_t index, void *scratch) {
    const stage *g = user;
    const onx_conv_plan *p = call->plan;
    g->fit[index] = g->staged->in(&p->conv, g->args->x, g->shared, index);
    (void)scratch;
    return ONX_OK;
}
static onx_status out_task(void *user, onx_call *call, size_t index, void *scratch) {
    const stage *g = user;
    const onx_conv_plan *p = call->plan;
    onx_tile_work work;
    onx_conv_args a = ONX_TIER(onx_conv_task_args)(call, g->args, &work, scratch);
    g->staged->out(&p->conv, &a, g->shared, index, scratch);
    return ONX_OK;
}

/* Image by image; *done: how many were made before one with numbers that do not fit. */
static onx_status run_staged(onx_call *call, onx_conv_args a, size_t *done) {
    const onx_conv_staged *staged = ((const onx_conv_state *)call->state)->staged;
    const onx_conv_plan *p = call->plan;
    const onx_conv *c = &p->conv;
    const float *packed = call->packed;
    size_t n = staged->in_tasks(c), shared = staged->shared(c);
    size_t x_step = blocks_of(c->ic) * VF * c->ih * c->iw;
    size_t y_step = blocks_of(c->oc) * VF * c->oh * c->ow;
    unsigned char *fit = (unsigned char *)((float *)call->scratch + shared);
    stage g = {staged, &a, call->scratch, fit};
    if (staged->weights(c)) a.w += p->algorithm->weights(c);
    for (*done = 0; *done < c->n && *packed == 1; ++*done) {
        ONX_TRY(onx_call_parallel(call, n, in_task, &g));
        for (size_t i = 0; i < n; i++)
            if (!fit[i]) return ONX_OK;
        ONX_TRY(onx_call_parallel(call, staged->out_tasks(c), out_task, &g));
        a.x += x_step;
        a.y += y_step;
        if (a.residual) a.residual += y_step;
    }
    return ONX_OK;
}

onx_status ONX_TIER(onx_conv_blocked_run)(onx_call *call) {
    const onx_conv_plan *p = call->plan;
    if (!p->staged || !call->out[0] || !call->out[0]->count || !call->in[0]->count)
        return ONX_TIER(onx_conv_run)(call);
    onx_conv_args a = ONX_TIER(onx_conv_args_of)(call);
    size_t done, tasks = p->algorithm->tasks(&p->conv);
    ONX_TRY(run_staged(call, a, &done));
    if (done == p->conv.n) return ONX_OK;
    return ONX_TIER(onx_conv_run_tasks)(call, &a, done * (tasks / p->conv.n), tasks);
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
