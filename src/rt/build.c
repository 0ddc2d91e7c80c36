/* build.c: from a graph to a program: a slot for every value, a step with a kernel for every node,
 * copies where a value is needed on another device, children for subgraphs.
 *
 * Nodes must stand in an order in which they can be computed. Graphs inside graphs are built by
 * recursion, to a depth of DEPTH_MAX. */
#include "rt/engine.h"

#include "infer/infer.h"
#include "rt/eval.h"

enum { DEPTH_MAX = 64, OPERANDS_MAX = 4096 };

typedef struct copy { /* a slot, on another device */
    uint32_t from, to;
} copy;

typedef struct builder builder;
struct builder {
    const onx_build *build;
    onx_program *program;
    builder *outer;
    onx_map slots; /* value to slot + 1 */
    copy *copies;
    size_t n_copies, copies_cap, slots_cap, steps_cap, captures_cap;
    onx_str no_name;
};

static onx_status no_memory(const builder *b) {
    return onx_fail_nomem(b->build->diag);
}

/* ─ Slots ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status add_slot(builder *b, onx_slot slot, uint32_t *out) {
    onx_program *p = b->program;
    if (!onx_arena_grow(b->build->arena, &p->slots, &b->slots_cap, p->n_slots, sizeof slot))
        return no_memory(b);
    slot.last = ONX_NO_SLOT;
    p->slots[p->n_slots] = slot;
    *out = (uint32_t)p->n_slots++;
    return ONX_OK;
}

/* What inference knows, as far as it is numbers. */
static onx_operand operand_of(const onx_fact *fact) {
    onx_operand made = {.kind = (uint8_t)fact->kind, .dtype = (uint8_t)fact->dtype};
    made.rank = ONX_RANK_UNKNOWN;
    if (!fact->ranked || fact->rank > ONX_RANK_MAX) return made;
    made.rank = (uint8_t)fact->rank;
    for (size_t i = 0; i < fact->rank; i++)
        if (!fact->dims[i] || !onx_sym_is_int(fact->dims[i], &made.dims[i])) made.dims[i] = -1;
    return made;
}

static onx_status map_slot(builder *b, const onx_value *value, uint32_t slot) {
    bool ok = onx_map_put(&b->slots, value, b->no_name, (void *)((uintptr_t)slot + 1));
    return ok ? ONX_OK : no_memory(b);
}

static onx_status add_value(builder *b, const onx_value *value, onx_role role, uint32_t *out) {
    onx_slot slot = {.name = value->name, .role = (uint8_t)role};
    slot.device = (uint8_t)b->build->engine->host;
    slot.constant = operand_of(onx_facts_of(b->build->facts, value));
    ONX_TRY(add_slot(b, slot, out));
    return map_slot(b, value, *out);
}

static onx_status add_constant(builder *b, const onx_value *value, uint32_t *out) {
    onx_slot slot = {.name = value->name, .role = ONX_ROLE_CONSTANT};
    slot.device = (uint8_t)b->build->engine->host;
    ONX_TRY(onx_operand_of_tensor(b->build->engine->ctx, value->init, &slot.constant, &slot.owned,
                                  b->build->diag));
    onx_status status = add_slot(b, slot, out);
    if (status != ONX_OK && slot.owned) onx_eval_clear(b->build->engine->ctx, &slot.constant);
    ONX_TRY(status);
    return map_slot(b, value, *out);
}

static onx_status on_device(builder *b, uint32_t slot, size_t device, uint32_t *out);

/* An initializer that a caller cannot replace. */
static bool is_constant(const onx_value *value) {
    return value->init && !value->def && !value->input;
}

static onx_status capture(builder *b, const onx_value *value, uint32_t outer, uint32_t *out) {
    onx_program *p = b->program;
    ONX_TRY(add_value(b, value, ONX_ROLE_CAPTURE, out));
    if (!onx_arena_grow(b->build->arena, &p->captures, &b->captures_cap, p->n_captures,
                        sizeof *out))
        return no_memory(b);
    p->captures[p->n_captures++] = *out;
    p->slots[*out].outer = outer;
    return ONX_OK;
}

/* The slot of a value in the program of `b`: there, or brought in from the programs around, from
 * the one that has it inwards. */
static onx_status slot_for(builder *b, const onx_value *value, uint32_t *out) {
    builder *chain[DEPTH_MAX + 1];
    size_t n = 0;
    uintptr_t found = 0;
    for (builder *at = b; at; at = at->outer) {
        chain[n++] = at;
        found = (uintptr_t)onx_map_get(&at->slots, value, b->no_name);
        if (found) break;
        if (is_constant(value)) return add_constant(b, value, out);
    }
    if (!found)
        return onx_fail(b->build->diag, ONX_INVALID,
                        "the value '%.*s' is used before it is defined", ONX_FMT(value->name));
    uint32_t slot = (uint32_t)found - 1;
    while (--n) {
        uint32_t outer = slot;
        ONX_TRY(on_device(chain[n], slot, b->build->engine->host, &outer));
        ONX_TRY(capture(chain[n - 1], value, outer, &slot));
    }
    *out = slot;
    return ONX_OK;
}

/* ─ Steps ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status add_step(builder *b, const onx_step *step) {
    onx_program *p = b->program;
    if (p->n_steps >= UINT32_MAX - 1 ||
        !onx_arena_grow(b->build->arena, &p->steps, &b->steps_cap, p->n_steps, sizeof *step))
        return no_memory(b);
    p->steps[p->n_steps++] = *step;
    return ONX_OK;
}

static onx_status run_copy(onx_call *call) {
    const onx_program *p = call->frame->program;
    size_t from = p->slots[call->step->in[0]].device, to = p->slots[call->step->out[0]].device;
    const onx_engine *engine = p->engine;
    const onx_provider *device = engine->providers[from == engine->host ? to : from];
    if (!call->in[0]->bytes) return ONX_OK;
    return device->copy(device->user, call->out[0]->data, call->in[0]->data, call->in[0]->bytes,
                        from == engine->host);
}
static const onx_kernel copy_row = {
    .op = "Copy", .name = "copy", .domain = "onx.internal", .bind = onx_bind_same, .run = run_copy};
static const onx_op copy_op = {.name = "Copy", .since = 1, .domain = "onx.internal"};

/* Constants are copied now. */
static onx_status copy_constant(builder *b, const onx_slot *from, size_t device, uint32_t *out) {
    const onx_engine *engine = b->build->engine;
    const onx_provider *provider = engine->providers[device];
    onx_slot slot = *from;
    slot.device = (uint8_t)device;
    slot.owned = slot.constant.bytes != 0;
    slot.constant.data = NULL;
    if (slot.owned) {
        ONX_TRY(onx_device_alloc(provider, engine->ctx, slot.constant.bytes, &slot.constant.data,
                                 b->build->diag));
        ONX_TRY(provider->copy(provider->user, slot.constant.data, from->constant.data,
                               slot.constant.bytes, true));
    }
    return add_slot(b, slot, out);
}

static onx_status copy_step(builder *b, uint32_t slot, size_t device, uint32_t *out) {
    const onx_engine *engine = b->build->engine;
    onx_slot made = b->program->slots[slot];
    made.role = ONX_ROLE_TEMP;
    made.device = (uint8_t)device;
    made.maker = (uint32_t)b->program->n_steps;
    made.constant.constant = false;
    ONX_TRY(add_slot(b, made, out));
    uint32_t *edges = onx_arena_array(b->build->arena, 2, sizeof *edges);
    if (!edges) return no_memory(b);
    edges[0] = slot;
    edges[1] = *out;
    onx_step step = {.kernel = &copy_row,
                     .tier = "",
                     .provider = engine->providers[engine->host],
                     .op = &copy_op,
                     .device = (uint8_t)device,
                     .n_in = 1,
                     .n_out = 1,
                     .in = &edges[0],
                     .out = &edges[1]};
    return add_step(b, &step);
}

static onx_status on_device(builder *b, uint32_t slot, size_t device, uint32_t *out) {
    const onx_slot *s = &b->program->slots[slot];
    size_t host = b->build->engine->host;
    *out = slot;
    if (s->device == device) return ONX_OK;
    for (size_t i = 0; i < b->n_copies; i++) {
        *out = b->copies[i].to;
        if (b->copies[i].from == slot && b->program->slots[*out].device == device) return ONX_OK;
    }
    uint32_t from = slot;
    if (s->device != host && device != host) ONX_TRY(on_device(b, slot, host, &from));
    if (b->program->slots[from].role == ONX_ROLE_CONSTANT &&
        b->program->slots[from].device == host) {
        onx_slot constant = b->program->slots[from];
        ONX_TRY(copy_constant(b, &constant, device, out));
    } else
        ONX_TRY(copy_step(b, from, device, out));
    if (!onx_arena_grow(b->build->arena, &b->copies, &b->copies_cap, b->n_copies, sizeof(copy)))
        return no_memory(b);
    b->copies[b->n_copies++] = (copy){slot, *out};
    return ONX_OK;
}

/* The first provider that has a row; operands are what is known of them, on the host. */
static onx_status choose(builder *b, onx_step *step, onx_call *call) {
    const onx_engine *engine = b->build->engine;
    onx_status status = ONX_UNSUPPORTED;
    for (size_t d = 0; d < engine->n_providers && status == ONX_UNSUPPORTED; d++) {
        const onx_provider *provider = engine->providers[d];
        if (provider->claims && !provider->claims(provider->user, call->node)) continue;
        status = onx_kernel_select(provider, call, &step->tier);
        if (status == ONX_OK && d != engine->host && call->kernel->flags & ONX_KERNEL_LATE)
            status = ONX_UNSUPPORTED; /* what makes its own outputs makes them on the host */
        step->provider = provider;
        step->device = (uint8_t)d;
    }
    if (status == ONX_OK) step->kernel = call->kernel;
    step->state = status == ONX_OK ? call->state : NULL;
    return status;
}

static onx_status pack(builder *b, onx_step *step, onx_call *call) {
    onx_engine packing = *b->build->engine;
    packing.workers = b->build->workers;
    packing.threads = b->build->threads;
    onx_run run = {.engine = &packing, .diag = b->build->diag};
    call->run = &run;
    ONX_TRY(onx_store_pack(b->build->engine->store, call, step->provider, &step->holds));
    if (step->holds) step->packed = onx_packed_data(step->holds);
    step->plan_bytes = call->plan_bytes;
    return ONX_OK;
}

static onx_status init_step(builder *b, const onx_node *node, onx_step *step) {
    onx_operand *edges[OPERANDS_MAX], operands[64], *room = operands;
    size_t n = (size_t)step->n_in + step->n_out;
    if (n > ONX_COUNT(edges))
        return onx_fail(b->build->diag, ONX_LIMIT, "a node has %zu inputs and outputs", n);
    /* Copies: slots may move while a row is initialised, and rows must not change them. */
    if (n > ONX_COUNT(operands)) room = onx_arena_array(b->build->arena, n, sizeof *room);
    if (!room) return no_memory(b);
    for (size_t i = 0; i < n; i++) {
        uint32_t slot = i < step->n_in ? step->in[i] : step->out[i - step->n_in];
        edges[i] = slot == ONX_NO_SLOT ? NULL : &room[i];
        if (edges[i]) room[i] = b->program->slots[slot].constant;
    }
    onx_call call = {.op = step->op,
                     .node = node,
                     .ctx = b->build->engine->ctx,
                     .diag = b->build->diag,
                     .arena = b->build->arena,
                     .n_in = step->n_in,
                     .n_out = step->n_out,
                     .in = edges,
                     .out = edges + step->n_in};
    ONX_TRY(choose(b, step, &call));
    for (uint32_t o = 0; o < step->n_out; o++)
        if (call.out[o]) b->program->slots[step->out[o]].constant.layout = call.out[o]->layout;
    return pack(b, step, &call);
}

/* ─ Nodes ────────────────────────────────────────────────────────────────────────────────────── */

static onx_status build_graph(const onx_build *build, const onx_graph *graph, builder *outer,
                              onx_program **out);

static onx_status add_children(builder *b, const onx_node *node, onx_step *step) {
    size_t n = 0;
    ONX_EACH (onx_attr, attr, node->attribute) n += attr->type == ONX_ATTR_GRAPH && attr->g;
    if (!n) return ONX_OK;
    step->children = onx_arena_array(b->build->arena, n, sizeof(onx_program *));
    if (!step->children) return no_memory(b);
    ONX_EACH (onx_attr, attr, node->attribute) {
        if (attr->type != ONX_ATTR_GRAPH || !attr->g) continue;
        ONX_TRY(build_graph(b->build, attr->g, b, &step->children[step->n_children]));
        step->n_children++;
    }
    return ONX_OK;
}

static onx_status resolve_inputs(builder *b, const onx_node *node, onx_step *step) {
    for (uint32_t i = 0; i < step->n_in; i++) {
        const onx_value *value = node->ins[i] ? node->ins[i]->value : NULL;
        step->in[i] = ONX_NO_SLOT;
        if (value) ONX_TRY(slot_for(b, value, &step->in[i]));
    }
    return ONX_OK;
}

static onx_status make_outputs(builder *b, const onx_node *node, onx_step *step) {
    for (uint32_t i = 0; i < step->n_out; i++) {
        const onx_value *value = node->outs[i] ? node->outs[i]->value : NULL;
        step->out[i] = ONX_NO_SLOT;
        if (value) ONX_TRY(add_value(b, value, ONX_ROLE_TEMP, &step->out[i]));
    }
    return ONX_OK;
}

/* Once the kernel is chosen: inputs where it wants them, outputs on its device. */
static onx_status settle(builder *b, onx_step *step) {
    size_t host = b->build->engine->host;
    for (uint32_t i = 0; i < step->n_in; i++) {
        if (step->in[i] == ONX_NO_SLOT) continue;
        bool on_host = i < 32 && step->kernel->host >> i & 1;
        bool object = b->program->slots[step->in[i]].constant.kind != ONX_TYPE_TENSOR;
        ONX_TRY(on_device(b, step->in[i], on_host || object ? host : step->device, &step->in[i]));
    }
    for (uint32_t o = 0; o < step->n_out; o++) {
        if (step->out[o] == ONX_NO_SLOT) continue;
        b->program->slots[step->out[o]].device = step->device;
        b->program->slots[step->out[o]].maker = (uint32_t)b->program->n_steps;
    }
    return ONX_OK;
}

static onx_status unknown_operator(const builder *b, const onx_node *node) {
    onx_fail(b->build->diag, ONX_UNSUPPORTED, "the operator %.*s%s%.*s is not known",
             ONX_FMT(node->domain), node->domain.size ? "::" : "", ONX_FMT(node->op_type));
    onx_diag_hint(b->build->diag, "is its opset imported, and of a version that has it?");
    return ONX_UNSUPPORTED;
}

/* Programs of subgraphs are at most DEPTH_MAX deep. */
static void release_step(const onx_engine *engine, onx_step *step) {
    for (uint32_t i = 0; i < step->n_children; i++) onx_program_fini(step->children[i]);
    onx_packed_release(engine->store, step->holds);
    onx_kernel_end(step->kernel, step->state);
}

static onx_status add_node(builder *b, const onx_node *node) {
    onx_step step = {.op = onx_op_of(node), .node = node};
    if (!step.op) return unknown_operator(b, node);
    step.n_in = (uint32_t)node->input.n;
    while (step.n_in && !node->ins[step.n_in - 1]) step.n_in--; /* as if they were not written */
    step.n_out = (uint32_t)node->output.n;
    step.in = onx_arena_array(b->build->arena, step.n_in, sizeof *step.in);
    step.out = onx_arena_array(b->build->arena, step.n_out, sizeof *step.out);
    if (!step.in || !step.out) return no_memory(b);
    ONX_TRY(resolve_inputs(b, node, &step));
    onx_status status = add_children(b, node, &step);
    if (status == ONX_OK) status = make_outputs(b, node, &step);
    if (status == ONX_OK) status = init_step(b, node, &step);
    if (status == ONX_OK) status = settle(b, &step);
    if (status == ONX_OK) status = add_step(b, &step);
    if (status != ONX_OK) release_step(b->build->engine, &step);
    return status;
}

static void blame_node(const builder *b, const onx_node *node) {
    if (!b->build->diag || b->build->diag->place[0]) return;
    onx_str name = node->name;
    if (!name.size && node->output.n) name = node->output.v[0];
    onx_diag_place(b->build->diag, "node '%.*s' (%.*s)", ONX_FMT(name), ONX_FMT(node->op_type));
}

/* ─ Graphs ───────────────────────────────────────────────────────────────────────────────────── */

static onx_status add_inputs(builder *b) {
    const onx_graph *graph = b->program->graph;
    onx_program *p = b->program;
    p->inputs = onx_arena_array(b->build->arena, graph->ins.n, sizeof *p->inputs);
    if (!p->inputs) return no_memory(b);
    for (size_t i = 0; i < graph->ins.n; i++)
        ONX_TRY(add_value(b, graph->ins.v[i]->value, ONX_ROLE_INPUT, &p->inputs[p->n_inputs++]));
    return ONX_OK;
}

static onx_status add_output(builder *b, const onx_value *value, size_t at) {
    onx_program *p = b->program;
    uint32_t slot = 0;
    ONX_TRY(slot_for(b, value, &slot));
    ONX_TRY(on_device(b, slot, b->build->engine->host, &slot));
    p->slots[slot].output = p->slots[slot].role == ONX_ROLE_TEMP;
    p->outputs[at] = slot;
    return ONX_OK;
}

static bool is_pinned(const builder *b, const onx_value *value) {
    return b->build->pinned && value->def && b->build->pinned(b->build->user, value);
}

static onx_status add_outputs(builder *b) {
    const onx_graph *graph = b->program->graph;
    onx_program *p = b->program;
    size_t n = graph->outs.n;
    for (const onx_value *v = graph->values; v; v = v->next) n += is_pinned(b, v);
    p->outputs = onx_arena_array(b->build->arena, n, sizeof *p->outputs);
    if (!p->outputs) return no_memory(b);
    for (size_t i = 0; i < graph->outs.n; i++) {
        ONX_TRY(add_output(b, graph->outs.v[i]->value, i));
        p->n_outputs++;
    }
    for (const onx_value *v = graph->values; v; v = v->next) {
        if (!is_pinned(b, v)) continue;
        ONX_TRY(add_output(b, v, p->n_outputs + p->n_pins));
        p->n_pins++;
    }
    return ONX_OK;
}

static onx_status fill(builder *b) {
    ONX_TRY(add_inputs(b));
    ONX_EACH (onx_node, node, b->program->graph->node) {
        onx_status status = add_node(b, node);
        if (status != ONX_OK) blame_node(b, node);
        ONX_TRY(status);
    }
    ONX_TRY(add_outputs(b));
    return onx_program_analyse(b->program, b->build->arena, b->build->diag);
}

static onx_status build_graph(const onx_build *build, const onx_graph *graph, builder *outer,
                              onx_program **out) {
    builder b = {.build = build, .outer = outer};
    size_t depth = outer ? outer->program->depth + 1 : 0;
    if (depth >= DEPTH_MAX)
        return onx_fail(build->diag, ONX_LIMIT, "graphs are nested more than %d deep", DEPTH_MAX);
    b.program = onx_arena_alloc(build->arena, sizeof *b.program);
    if (!b.program) return onx_fail_nomem(build->diag);
    *b.program = (onx_program){.engine = build->engine,
                               .graph = graph,
                               .outer = outer ? outer->program : NULL,
                               .depth = depth};
    onx_map_init(&b.slots, build->engine->ctx);
    onx_status status = fill(&b);
    onx_map_fini(&b.slots);
    if (status != ONX_OK)
        onx_program_fini(b.program);
    else
        *out = b.program;
    return status;
}

onx_status onx_program_build(const onx_build *build, const onx_graph *graph, onx_program **out) {
    return build_graph(build, graph, NULL, out);
}

void onx_program_fini(onx_program *program) {
    if (!program) return;
    const onx_engine *engine = program->engine;
    for (size_t i = 0; i < program->n_steps; i++) release_step(engine, &program->steps[i]);
    for (size_t i = 0; i < program->n_slots; i++) {
        onx_slot *slot = &program->slots[i];
        if (!slot->owned) continue;
        if (slot->device == engine->host)
            onx_eval_clear(engine->ctx, &slot->constant);
        else
            onx_device_free(engine->providers[slot->device], engine->ctx, slot->constant.data,
                            slot->constant.bytes);
    }
}
