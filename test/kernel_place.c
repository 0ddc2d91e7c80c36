/* kernel_place.c: see kernel_place.h. */
#define _POSIX_C_SOURCE 200809L /* posix_memalign: memory ends where it should */

#include "kernel_place.h"
#include "kernel_case.h"

#include "rt/engine.h"

#include <stdio.h>
#include <stdlib.h>

enum { GUARD = ONX_ALIGN, MOST = 1 << 26 };

typedef struct placing {
    const kernel_way *way;
    onx_call call;
    onx_operand in[KERNEL_INS];    /* in full; call.in points to `shown` */
    onx_operand shown[KERNEL_INS]; /* what the kernel is to see now */
    onx_operand *shows[KERNEL_INS];
    void *blocks[KERNEL_INS];   /* that hold inputs */
    void *guarded[KERNEL_OUTS]; /* that hold outputs; NULL: it has none */
    onx_operand *outs[KERNEL_OUTS];
    onx_arena arena;
    void *packed, *plan, *scratch;
    size_t packed_bytes;
} placing;

static char *take(void **memory, size_t bytes, uint8_t pattern) {
    if (posix_memalign(memory, ONX_ALIGN, bytes + !bytes)) abort();
    return memset(*memory, pattern, bytes);
}

static void place_inputs(placing *p, size_t n_in, onx_operand *const *in) {
    for (size_t i = 0; i < n_in; i++) {
        if (!in[i]) continue;
        p->in[i] = *in[i];
        p->in[i].constant = p->way->constant >> (i & 31) & 1;
        p->shows[i] = &p->shown[i];
        if (!in[i]->bytes || in[i]->object) continue;
        char *block = take(&p->blocks[i], p->way->shift + in[i]->bytes, 0);
        p->in[i].data = memcpy(block + p->way->shift, in[i]->data, in[i]->bytes);
    }
}

typedef enum stage { STAGE_INIT, STAGE_BIND, STAGE_RUN } stage;

/* What may be known of the inputs at a stage. */
static void show(placing *p, stage now) {
    for (size_t i = 0; i < p->call.n_in; i++) {
        const onx_operand *in = &p->in[i];
        onx_operand *shown = &p->shown[i];
        *shown = *in;
        if (now == STAGE_RUN || in->constant || in->object) continue;
        if (now == STAGE_BIND) {
            if (!(p->call.kernel->host >> (i & 31) & 1)) shown->data = NULL;
            continue;
        }
        *shown = (onx_operand){.kind = in->kind, .dtype = in->dtype, .layout = in->layout};
        shown->rank = p->way->vague ? ONX_RANK_UNKNOWN : in->rank;
        if (!p->way->vague) memcpy(shown->dims, in->dims, sizeof in->dims);
    }
}

static onx_status prepare(placing *p, const onx_provider *provider) {
    onx_call *call = &p->call;
    const char *tier = NULL;
    show(p, STAGE_INIT);
    call->op = onx_op_of(call->node);
    if (!call->op) return onx_fail(call->diag, ONX_UNSUPPORTED, "no such operator");
    ONX_TRY(onx_kernel_select(provider, call, &tier));
    p->packed_bytes = call->kernel->pack_bytes ? call->kernel->pack_bytes(call) : 0;
    if (p->packed_bytes) {
        call->packed = take(&p->packed, p->packed_bytes, p->way->pattern);
        ONX_TRY(call->kernel->pack(call, p->packed));
    }
    show(p, STAGE_BIND);
    call->plan = take(&p->plan, call->plan_bytes, 0);
    return call->kernel->bind ? call->kernel->bind(call) : ONX_OK;
}

static bool may_overwrite(const placing *p) {
    size_t i = p->way->which;
    return i < p->call.n_in && p->shows[i] && p->call.kernel->overwrite >> i & 1 && p->outs[0] &&
           p->in[i].bytes == p->outs[0]->bytes && !p->in[i].constant && !p->in[i].object;
}

static onx_status place_outputs(placing *p) {
    bool late = p->call.kernel->flags & ONX_KERNEL_LATE;
    for (size_t i = 0; i < p->call.n_out && !late; i++) {
        onx_operand *out = p->outs[i];
        if (!out || onx_operand_is_object(out)) continue;
        if (out->bytes > MOST) return onx_fail(p->call.diag, ONX_LIMIT, "that is much for a test");
        size_t bytes = 2 * GUARD + p->way->shift + out->bytes;
        char *block = take(&p->guarded[i], bytes, p->way->pattern);
        if (out->bytes) out->data = block + GUARD + p->way->shift;
    }
    if (!p->way->over) return ONX_OK;
    if (late || !may_overwrite(p))
        return onx_fail(p->call.diag, ONX_UNSUPPORTED, "the row does not write over this input");
    p->outs[0]->data = p->in[p->way->which].data;
    return ONX_OK;
}

static onx_status run(placing *p) {
    onx_call *call = &p->call;
    size_t threads = p->way->run ? p->way->run->engine->threads : 1;
    call->run = p->way->run;
    call->scratch = take(
        &p->scratch, onx_align_up(call->scratch_bytes) + threads * onx_align_up(call->scratch_each),
        p->way->pattern);
    show(p, STAGE_RUN);
    if (!(call->kernel->flags & ONX_KERNEL_VIEW)) return call->kernel->run(call);
    if (p->outs[0]->bytes) memcpy(p->outs[0]->data, p->in[0].data, p->outs[0]->bytes);
    return ONX_OK;
}

static bool is_filled(const char *from, size_t n, uint8_t pattern) {
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)from[i] != pattern) return false;
    return true;
}

/* Outputs as plain allocations; the guards must be as they were. */
static onx_status keep_outputs(placing *p) {
    onx_status status = ONX_OK;
    for (size_t i = 0; i < p->call.n_out; i++) {
        if (!p->guarded[i]) continue;
        onx_operand *out = p->outs[i];
        const char *begin = (char *)p->guarded[i] + GUARD + p->way->shift;
        if (!is_filled(p->guarded[i], GUARD + p->way->shift, p->way->pattern) ||
            !is_filled(begin + out->bytes, GUARD, p->way->pattern))
            status = onx_fail(p->call.diag, ONX_CHANGED, "wrote outside output %zu", i);
        const void *from = out->data;
        out->data = out->bytes ? onx_mem_alloc(p->call.ctx, out->bytes) : NULL;
        if (out->bytes) memcpy(out->data, from, out->bytes);
    }
    return status;
}

static void finish(placing *p) {
    for (size_t i = 0; i < KERNEL_INS; i++) free(p->blocks[i]);
    for (size_t i = 0; i < KERNEL_OUTS; i++) free(p->guarded[i]);
    free(p->packed);
    free(p->plan);
    free(p->scratch);
    onx_arena_fini(&p->arena);
}

kernel_result kernel_run_way(const onx_provider *provider, const onx_node *node, size_t n_in,
                             onx_operand *const *in, const kernel_way *way) {
    kernel_result r = {.diag = ONX_INIT(onx_diag), .status = ONX_UNSUPPORTED};
    placing p = {.way = way};
    r.n_out = onx_node_output_count(node);
    if (r.n_out > KERNEL_OUTS || n_in > KERNEL_INS) return r;
    onx_arena_init(&p.arena, onx_context_or_default(NULL));
    p.call = (onx_call){.node = node,
                        .ctx = p.arena.ctx,
                        .diag = &r.diag,
                        .arena = &p.arena,
                        .n_in = n_in,
                        .n_out = r.n_out,
                        .in = p.shows,
                        .out = p.outs};
    for (size_t i = 0; i < r.n_out; i++)
        if (onx_node_output(node, i)) p.outs[i] = &r.out[i];
    place_inputs(&p, n_in, in);
    r.status = prepare(&p, provider);
    if (r.status == ONX_OK) r.status = place_outputs(&p);
    if (r.status != ONX_UNSUPPORTED) r.kernel = p.call.kernel;
    if (r.status == ONX_OK) r.status = run(&p);
    if (r.status == ONX_OK) r.status = keep_outputs(&p);
    for (size_t i = 0; i < r.n_out && r.status != ONX_OK; i++) {
        if (p.guarded[i]) r.out[i].data = NULL;
        onx_eval_clear(p.call.ctx, &r.out[i]);
    }
    finish(&p);
    return r;
}

bool kernel_in_place(const char *tier, int opset, const char *node, size_t n_in,
                     onx_operand *const *in, size_t which) {
    char text[2048];
    onx_cpu cpu;
    (void)snprintf(text, sizeof text,
                   "<ir_version: 10, opset_import: [\"\" : %d, \"onx.internal\" : 1]>\n"
                   "g () => () {\n%s\n}\n",
                   opset, node);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_TEXT;
    options.copy = true;
    if (onx_model_load_memory(NULL, text, strlen(text), &options, &model, &diag) != ONX_OK)
        return false;
    kernel_result r = {.status = onx_cpu_init(&cpu, tier, &diag)};
    if (r.status == ONX_OK)
        r = kernel_run_way(&cpu.provider, onx_graph_node_first(onx_model_graph(model)), n_in, in,
                           &(kernel_way){.over = true, .which = which});
    bool ok = r.status == ONX_OK;
    if (ok && r.out[0].bytes) memcpy(in[which]->data, r.out[0].data, r.out[0].bytes);
    kernel_free(&r);
    onx_model_free(model);
    return ok;
}
