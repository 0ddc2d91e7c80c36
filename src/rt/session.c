/* session.c: making sessions, and running them. */
#include "rt/session.h"

#include "base/options.h"
#include "ir/edit.h"
#include "pass/grad/gradient.h"
#include "pass/inline.h"
#include "rt/custom_row.h"
#include "rt/eval.h"

#include <stdio.h>

/* ─ Making ───────────────────────────────────────────────────────────────────────────────────── */

/* The context that all memory of the session comes from: one of its own when it has a limit. */
static onx_context *choose_context(onx_context *ctx, size_t limit) {
    if (limit) return onx_context_child(ctx, limit);
    onx_context_retain(ctx);
    return ctx;
}

/* Kernels that were added to the context are asked first. */
static onx_status add_custom_rows(onx_session *s, onx_diag *diag) {
    onx_cpu *cpu = &s->cpu;
    const onx_kernel *rows = NULL;
    ONX_TRY(onx_custom_rows(s->ctx, &s->arena, &rows, diag));
    if (!rows) return ONX_OK;
    memmove(&cpu->tables[1], &cpu->tables[0], sizeof cpu->tables - sizeof cpu->tables[0]);
    memmove(&cpu->tiers[1], &cpu->tiers[0], sizeof cpu->tiers - sizeof cpu->tiers[0]);
    cpu->tables[0] = rows;
    cpu->tiers[0] = "custom";
    return ONX_OK;
}

static onx_status choose_providers(onx_session *s, const onx_session_options *options,
                                   const onx_provider *const *providers, size_t n, onx_diag *diag) {
    const char *list = options->providers;
    if (list && strcmp(list, "cpu") != 0 && strcmp(list, "CPUExecutionProvider") != 0) {
        onx_fail(diag, ONX_UNSUPPORTED, "there is no provider '%.100s' in this build", list);
        onx_diag_hint(diag, "use cpu");
        return ONX_UNSUPPORTED;
    }
    if (n + 1 > ONX_DEVICES) return onx_fail(diag, ONX_USAGE, "there are too many providers");
    ONX_TRY(onx_cpu_init(&s->cpu, options->cpu, diag));
    for (size_t i = 0; i < n; i++) s->engine.providers[i] = providers[i];
    s->engine.providers[n] = &s->cpu.provider;
    s->engine.n_providers = n + 1;
    s->engine.host = n;
    return add_custom_rows(s, diag);
}

static onx_status copy_sizes(onx_session *s, const onx_session_options *options, onx_diag *diag) {
    s->sizes = onx_arena_array(&s->arena, options->n_sizes, sizeof *s->sizes);
    if (!s->sizes) return onx_fail_nomem(diag);
    for (size_t i = 0; i < options->n_sizes; i++) {
        onx_str name = {NULL, 0};
        if (!onx_arena_str(&s->arena, onx_str_of(options->sizes[i].name), &name))
            return onx_fail_nomem(diag);
        s->sizes[s->n_sizes++] = (onx_size){name.data, options->sizes[i].value};
    }
    return ONX_OK;
}

/* Nodes of onx.internal come from the engine alone. */
static onx_status refuse_internal(const onx_model *model, onx_diag *diag) {
    const onx_graph *graph = model->graph;
    while (graph) {
        ONX_EACH (onx_node, node, graph->node)
            if (onx_str_is(node->domain, "onx.internal"))
                return onx_fail(
                    diag, ONX_INVALID,
                    "the node '%.*s' is of the domain onx.internal, which files cannot use",
                    ONX_FMT(node->name));
        if (graph->first_sub)
            graph = graph->first_sub;
        else {
            while (graph && !graph->next_sub) graph = graph->outer;
            if (graph) graph = graph->next_sub;
        }
    }
    return ONX_OK;
}

static onx_status replace_initializer(onx_model *model, const onx_tensor *with, onx_diag *diag) {
    onx_value *value = onx_value_find(model->graph, with->name);
    if (!value || !value->init)
        return onx_fail(diag, ONX_NOT_FOUND, "the model has no initializer '%.*s'",
                        ONX_FMT(with->name));
    size_t bytes = 0;
    ONX_TRY(onx_tensor_check(with, diag));
    ONX_TRY(onx_tensor_bytes(with, &bytes, diag));
    onx_str view = onx_tensor_view(with);
    if (bytes && !view.data)
        return onx_fail(diag, ONX_UNSUPPORTED, "'%.*s' must hold its elements densely",
                        ONX_FMT(with->name));
    return onx_tensor_set(value->init, onx_tensor_dtype(with), onx_tensor_rank(with),
                          onx_tensor_dims(with), view.data, bytes, diag);
}

/* Before IR version 4 every initializer had to be an input, too: they are constants all the
 * same. */
static onx_status fix_initializers(onx_graph *graph, onx_diag *diag) {
    for (size_t i = graph->ins.n; i-- > 0;) {
        onx_value *value = graph->ins.v[i]->value;
        if (value->init) ONX_TRY(onx_graph_remove_input(graph, value, diag));
    }
    return ONX_OK;
}

static bool has_row(const onx_kernel *rows, const onx_op *op) {
    for (const onx_kernel *row = rows; row->op; row++)
        if (onx_kernel_is_for(row, op)) return true;
    return false;
}

static bool has_kernel(const onx_engine *engine, const onx_op *op) {
    for (size_t i = 0; i < engine->n_providers; i++)
        for (size_t t = 0; engine->providers[i]->tables[t]; t++)
            if (has_row(engine->providers[i]->tables[t], op)) return true;
    return false;
}

/* Remembers those that are expanded: a small program for the model needs their rows, too. */
static bool has_no_kernel(void *user, const onx_node *node, const onx_op *op) {
    onx_session *s = user;
    (void)node;
    for (size_t i = 0; i < s->n_expanded; i++)
        if (s->expanded[i] == op) return true;
    if (has_kernel(&s->engine, op) ||
        !onx_arena_grow(&s->arena, &s->expanded, &s->cap_expanded, s->n_expanded, sizeof(onx_op *)))
        return false;
    s->expanded[s->n_expanded++] = op;
    return true;
}

/* Functions are inlined, and operators that are functions where there is no kernel for them. */
static onx_status inline_functions(onx_session *s, onx_diag *diag) {
    onx_facts_options infer = {.n_sizes = s->n_sizes, .sizes = s->sizes};
    onx_inline how = {.user = s, .expands = has_no_kernel, .infer = &infer};
    return onx_inline_run(s->source, &how, diag);
}

static onx_status take_model(onx_session *s, const onx_model *model,
                             const onx_session_options *options, onx_diag *diag) {
    if (!model->graph) return onx_fail(diag, ONX_INVALID, "the model has no graph");
    ONX_TRY(onx_model_clone_to(s->ctx, model, &s->source, diag));
    if (s->source->ir_version < 4) ONX_TRY(fix_initializers(s->source->graph, diag));
    ONX_TRY(inline_functions(s, diag));
    ONX_TRY(refuse_internal(s->source, diag));
    ONX_TRY(onx_session_write_out(s->source, diag));
    for (size_t i = 0; i < options->n_initializers; i++)
        ONX_TRY(replace_initializer(s->source, options->initializers[i], diag));
    onx_facts_options infer = {.n_sizes = s->n_sizes, .sizes = s->sizes};
    return onx_gradient_expand(s->source, &infer, diag);
}

/* The packed weights of a model: made by its first session. One that counts its memory has its
 * own. */
static onx_status share_store(onx_session *s, const onx_model *model, onx_diag *diag) {
    if (s->ctx != model->msg.doc->ctx) return onx_store_new(s->ctx, &s->engine.store, diag);
    onx_shared *shared = &((onx_model *)(uintptr_t)model)->packed;
    onx_store *store = NULL, *made = NULL;
    while (atomic_flag_test_and_set(&shared->lock)) onx_thread_yield();
    store = shared->object;
    onx_status status = ONX_OK;
    if (!store) {
        status = onx_store_new(model->msg.doc->ctx, &made, diag);
        if (status == ONX_OK) {
            shared->object = store = made;
            shared->release = onx_store_release;
        }
    }
    if (store) s->engine.store = onx_store_retain(store);
    atomic_flag_clear(&shared->lock);
    return status;
}

static onx_status make(onx_session *s, const onx_model *model, const onx_session_options *options,
                       const onx_provider *const *providers, size_t n, onx_diag *diag) {
    ONX_TRY(choose_providers(s, options, providers, n, diag));
    ONX_TRY(copy_sizes(s, options, diag));
    ONX_TRY(share_store(s, model, diag));
    s->engine.ctx = s->ctx;
    s->engine.dynamic = options->dynamic;
    s->engine.threads = options->threads ? options->threads : onx_thread_available();
    if (s->engine.threads > 1)
        ONX_TRY(onx_workers_retain(s->ctx, s->engine.threads, &s->engine.workers, diag));
    s->level = options->level == ONX_LEVEL_DEFAULT ? ONX_LEVEL_ALL : options->level;
    ONX_TRY(take_model(s, model, options, diag));
    return onx_variant_new(s, options->n_pins, options->pins, options->pin_all, &s->variants, diag);
}

onx_status onx_session_make(const onx_model *model, const onx_session_options *options,
                            const onx_provider *const *providers, size_t n_providers,
                            onx_session **out, onx_diag *diag) {
    onx_session_options given;
    ONX_TRY(ONX_OPTIONS(&given, options, diag));
    if (!model || !out) return onx_fail(diag, ONX_USAGE, "a model and a place for the session");
    onx_context *ctx = choose_context(model->msg.doc->ctx, given.memory_limit);
    onx_session *s = ctx ? onx_mem_alloc(ctx, sizeof *s) : NULL;
    if (!s) {
        onx_context_free(ctx);
        return onx_fail_nomem(diag);
    }
    memset(s, 0, sizeof *s);
    s->ctx = ctx;
    onx_arena_init(&s->arena, s->ctx);
    onx_mutex_init(&s->lock);
    onx_status status = make(s, model, &given, providers, n_providers, diag);
    if (status != ONX_OK)
        onx_session_free(s);
    else
        *out = s;
    return status;
}

onx_status onx_session_new(const onx_model *model, const onx_session_options *options,
                           onx_session **out, onx_diag *diag) {
    return onx_session_make(model, options, NULL, 0, out, diag);
}

void onx_session_free(onx_session *s) {
    if (!s) return;
    while (s->variants) {
        onx_variant *variant = s->variants;
        s->variants = variant->next;
        onx_variant_free(s, variant);
    }
    onx_workers_release(s->engine.workers);
    onx_store_release(s->engine.store);
    onx_model_free(s->source);
    onx_arena_fini(&s->arena);
    onx_mutex_fini(&s->lock);
    onx_context *ctx = s->ctx;
    onx_mem_free(ctx, s, sizeof *s);
    onx_context_free(ctx);
}

/* ─ Looking at it ────────────────────────────────────────────────────────────────────────────── */

size_t onx_session_input_count(const onx_session *s) {
    return onx_graph_input_count(s->source->graph);
}
const char *onx_session_input_name(const onx_session *s, size_t index) {
    const onx_value *value = onx_graph_input(s->source->graph, index);
    return value ? onx_value_name(value) : NULL;
}
const onx_type *onx_session_input_type(const onx_session *s, size_t index) {
    const onx_value *value = onx_graph_input(s->source->graph, index);
    return value ? onx_value_type(value) : NULL;
}
bool onx_session_input_optional(const onx_session *s, size_t index) {
    const onx_value *value = onx_graph_input(s->source->graph, index);
    return value && value->init;
}
size_t onx_session_output_count(const onx_session *s) {
    return onx_graph_output_count(s->source->graph);
}
const char *onx_session_output_name(const onx_session *s, size_t index) {
    const onx_value *value = onx_graph_output(s->source->graph, index);
    return value ? onx_value_name(value) : NULL;
}
const onx_type *onx_session_output_type(const onx_session *s, size_t index) {
    const onx_value *value = onx_graph_output(s->source->graph, index);
    return value ? onx_value_type(value) : NULL;
}
size_t onx_session_threads(const onx_session *s) {
    return s->engine.threads;
}
const char *onx_session_cpu(const onx_session *s) {
    return s->cpu.isa;
}

/* ─ Which program ────────────────────────────────────────────────────────────────────────────── */

static bool is_output(const onx_session *s, const char *name) {
    for (size_t i = 0; i < onx_session_output_count(s); i++)
        if (strcmp(onx_session_output_name(s, i), name) == 0) return true;
    return false;
}

static bool keeps(const onx_session *s, const onx_variant *v, const char *name) {
    if (!name || is_output(s, name)) return true;
    for (size_t i = 0; i < v->n_pins; i++)
        if (onx_str_is(v->pins[i].name, name)) return true;
    const onx_value *value = onx_graph_find(v->model->graph, name);
    return value && !value->def && onx_value_is_defined(value); /* an input or an initializer */
}

static bool keeps_all(const onx_session *s, const onx_variant *v, size_t n, const onx_arg *out) {
    for (size_t i = 0; i < n; i++)
        if (!keeps(s, v, out[i].name)) return false;
    return true;
}

static onx_status pick_variant(onx_session *s, size_t n, const onx_arg *out, onx_variant **picked,
                               onx_diag *diag) {
    enum { NAMES_MAX = 1024 };
    const char *names[NAMES_MAX];
    onx_mutex_lock(&s->lock);
    onx_variant *v = s->variants;
    while (v && !keeps_all(s, v, n, out)) v = v->next;
    onx_mutex_unlock(&s->lock);
    *picked = v;
    if (v) return ONX_OK;
    if (n > NAMES_MAX) return onx_fail(diag, ONX_LIMIT, "%zu outputs are asked for at once", n);
    for (size_t i = 0; i < n; i++) names[i] = out[i].name;
    ONX_TRY(onx_variant_new(s, n, names, false, &v, diag));
    if (!keeps_all(s, v, n, out)) {
        size_t i = 0;
        while (keeps(s, v, out[i].name)) i++;
        onx_variant_free(s, v);
        onx_fail(diag, ONX_NOT_FOUND, "the model has no value '%.200s'", out[i].name);
        return ONX_NOT_FOUND;
    }
    onx_mutex_lock(&s->lock);
    onx_variant **end = &s->variants;
    while (*end) end = &(*end)->next;
    *end = v;
    onx_mutex_unlock(&s->lock);
    *picked = v;
    return ONX_OK;
}

/* ─ Inputs ───────────────────────────────────────────────────────────────────────────────────── */

static onx_status find_input(const onx_session *s, const onx_arg *arg, size_t position, size_t *out,
                             onx_diag *diag) {
    size_t n = onx_session_input_count(s);
    *out = position;
    for (size_t i = 0; arg->name && i <= n; i++) {
        if (i == n) {
            onx_fail(diag, ONX_NOT_FOUND, "the model has no input '%.200s'", arg->name);
            if (n) onx_diag_hint(diag, "its first input is '%.200s'", onx_session_input_name(s, 0));
            return ONX_NOT_FOUND;
        }
        *out = i;
        if (strcmp(onx_session_input_name(s, i), arg->name) == 0) break;
    }
    if (*out < n) return ONX_OK;
    return onx_fail(diag, ONX_USAGE, "the model has %zu inputs, but there are more arguments", n);
}

static onx_status wrong_input(const onx_session *s, size_t index, const onx_operand *got,
                              onx_diag *diag) {
    char expected[160] = "", dims[120] = "";
    size_t at = 0;
    const onx_type *type = onx_session_input_type(s, index);
    if (type) (void)onx_type_format(type, expected, sizeof expected);
    for (size_t i = 0; i < got->rank && at < sizeof dims - 24; i++)
        at += (size_t)snprintf(dims + at, sizeof dims - at, "%s%lld", i ? "," : "",
                               (long long)got->dims[i]);
    return onx_fail(diag, ONX_INVALID, "input '%.100s' is %s, but what was given is %s[%s]",
                    onx_session_input_name(s, index), expected,
                    onx_dtype_name((onx_dtype)got->dtype), dims);
}

/* An argument as an operand: dense memory in place, or an object that the caller releases. */
static onx_status operand_of_arg(onx_session *s, const onx_arg *arg, bool shapes_only,
                                 onx_operand *out, onx_diag *diag) {
    onx_operand made = {0};
    if (arg->value) {
        onx_object *object = NULL;
        ONX_TRY(onx_object_of_data(s->ctx, arg->value, &object, diag));
        onx_operand_show(&made, object);
        *out = made;
        return ONX_OK;
    }
    if (arg->rank > ONX_RANK_MAX || !onx_operand_shape(&made, arg->dtype, arg->rank, arg->dims))
        return onx_fail(diag, ONX_USAGE, "the type or the sizes of an input make no sense");
    if (!shapes_only && (made.bytes > arg->bytes || (made.bytes && !arg->data)))
        return onx_fail(diag, ONX_USAGE, "an input needs %zu bytes, but %zu were given", made.bytes,
                        arg->data ? arg->bytes : 0);
    made.data = arg->data;
    *out = made;
    return ONX_OK;
}

static onx_status default_input(const onx_session *s, const onx_variant *v, size_t index,
                                onx_operand *out, onx_diag *diag) {
    const onx_value *value = onx_graph_input(v->model->graph, index);
    const onx_default *given = &v->defaults[index];
    if (given->there) {
        *out = given->value;
        out->constant = false;
        if (out->object) onx_object_retain(out->object);
        return ONX_OK;
    }
    char type[160] = "";
    if (onx_value_type(value)) (void)onx_type_format(onx_value_type(value), type, sizeof type);
    return onx_fail(diag, ONX_USAGE, "input '%.100s' (%s) was not given",
                    onx_session_input_name(s, index), type);
}

onx_status onx_lane_feed(const onx_session *s, const onx_variant *v, onx_lane *lane, size_t n_in,
                         const onx_arg *in, bool shapes_only, onx_diag *diag) {
    onx_frame *frame = lane->frame;
    const onx_program *program = frame->program;
    for (size_t i = 0; i < program->n_inputs; i++)
        frame->values[program->inputs[i]] = (onx_operand){.kind = ONX_TYPE_NONE};
    for (size_t i = 0; i < n_in; i++) {
        size_t at = 0;
        ONX_TRY(find_input(s, &in[i], i, &at, diag));
        onx_operand *value = &frame->values[program->inputs[at]];
        onx_object_release(value->object);
        value->object = NULL;
        ONX_TRY(operand_of_arg((onx_session *)(uintptr_t)s, &in[i], shapes_only, value, diag));
        if (onx_slot_verify(&program->slots[program->inputs[at]], value, NULL) != ONX_OK)
            return wrong_input(s, at, value, diag);
    }
    for (size_t i = 0; i < program->n_inputs; i++) {
        onx_operand *value = &frame->values[program->inputs[i]];
        if (value->kind != ONX_TYPE_NONE) continue;
        ONX_TRY(default_input(s, v, i, value, diag));
    }
    return ONX_OK;
}

void onx_lane_unfeed(onx_lane *lane) {
    const onx_program *program = lane->frame->program;
    for (size_t i = 0; i < program->n_inputs; i++) {
        onx_operand *value = &lane->frame->values[program->inputs[i]];
        onx_object_release(value->object);
        value->object = NULL;
    }
}

/* ─ Outputs ──────────────────────────────────────────────────────────────────────────────────── */

/* Where the value of an output argument is: a slot of the main program, or something wanted. */
typedef struct source {
    uint32_t slot;      /* ONX_NO_SLOT: wanted */
    onx_wanted *wanted; /* of a subgraph */
} source;

static onx_status find_output(const onx_session *s, const onx_variant *v, const onx_lane *lane,
                              const onx_arg *arg, size_t position, source *out, onx_diag *diag) {
    const onx_program *program = v->program;
    *out = (source){ONX_NO_SLOT, NULL};
    for (size_t i = 0; i < program->n_outputs; i++)
        if (arg->name ? strcmp(onx_session_output_name(s, i), arg->name) == 0 : i == position) {
            out->slot = program->outputs[i];
            return ONX_OK;
        }
    for (size_t i = 0; arg->name && i < v->n_pins; i++) {
        if (!onx_str_is(v->pins[i].name, arg->name)) continue;
        if (v->pins[i].program == program)
            out->slot = v->pins[i].slot;
        else
            out->wanted = &lane->wanted[i];
        return ONX_OK;
    }
    for (uint32_t i = 0; arg->name && i < program->n_slots; i++)
        if (program->slots[i].role != ONX_ROLE_TEMP &&
            onx_str_is(program->slots[i].name, arg->name)) {
            out->slot = i;
            return ONX_OK;
        }
    return onx_fail(diag, ONX_USAGE, "the model has %zu outputs; there is none at position %zu",
                    program->n_outputs, position);
}

static onx_status room_for(onx_session *s, onx_arg *arg, size_t bytes, onx_diag *diag) {
    if (arg->data && arg->bytes >= bytes) return ONX_OK;
    if (arg->data)
        return onx_fail(diag, ONX_USAGE, "output '%.100s' needs %zu bytes, but has room for %zu",
                        arg->name ? arg->name : "", bytes, arg->bytes);
    if (!bytes) return ONX_OK;
    arg->data = onx_mem_alloc(s->ctx, bytes);
    if (!arg->data) return onx_fail_nomem(diag);
    arg->bytes = bytes;
    arg->owned = s->ctx;
    onx_context_retain(s->ctx);
    return ONX_OK;
}

static bool goes_straight(const onx_program *program, uint32_t slot) {
    const onx_slot *s = &program->slots[slot];
    return s->role == ONX_ROLE_TEMP && s->output && !s->late && !s->early;
}

/* Before the run: outputs of known size are written where they are wanted; those nobody asks for go
 * to blocks. */
static onx_status direct_outputs(onx_session *s, onx_variant *v, onx_lane *lane, size_t n_out,
                                 onx_arg *out, onx_diag *diag) {
    onx_frame *frame = lane->frame;
    const onx_program *program = v->program;
    for (size_t i = 0; i < program->n_outputs + program->n_pins; i++)
        if (goes_straight(program, program->outputs[i]))
            frame->values[program->outputs[i]].data = NULL;
    for (size_t i = 0; i < n_out; i++) {
        source from = {ONX_NO_SLOT, NULL};
        ONX_TRY(find_output(s, v, lane, &out[i], i, &from, diag));
        if (from.slot == ONX_NO_SLOT || !goes_straight(program, from.slot)) continue;
        onx_operand *value = &frame->values[from.slot];
        if (value->data) continue; /* asked for twice: copied in the end */
        ONX_TRY(room_for(s, &out[i], value->bytes, diag));
        value->data = out[i].data;
    }
    for (size_t i = 0; i < program->n_outputs + program->n_pins; i++) {
        uint32_t slot = program->outputs[i];
        if (goes_straight(program, slot) && !frame->values[slot].data)
            ONX_TRY(onx_frame_take(frame, slot, diag));
    }
    return ONX_OK;
}

static onx_status deliver(onx_session *s, const onx_operand *value, onx_arg *arg, onx_diag *diag) {
    if (value->object && onx_operand_is_object(value)) {
        onx_data *made = NULL;
        ONX_TRY(onx_data_of_object(s->ctx, value->object, &made, diag));
        arg->value = made;
        arg->owned = s->ctx;
        onx_context_retain(s->ctx);
        arg->dtype = (onx_dtype)value->dtype;
        arg->rank = value->kind == ONX_TYPE_TENSOR ? value->rank : 0;
        memcpy(arg->dims, value->dims, arg->rank * sizeof *arg->dims);
        return ONX_OK;
    }
    if (value->kind == ONX_TYPE_NONE) {
        arg->dtype = ONX_DTYPE_NONE;
        return ONX_OK;
    }
    if (value->data != arg->data || !value->data) {
        ONX_TRY(room_for(s, arg, value->bytes, diag));
        if (value->bytes) memcpy(arg->data, value->data, value->bytes);
    }
    arg->dtype = (onx_dtype)value->dtype;
    arg->rank = value->rank;
    if (value->rank) memcpy(arg->dims, value->dims, value->rank * sizeof *arg->dims);
    return ONX_OK;
}

static onx_status deliver_all(onx_session *s, onx_variant *v, onx_lane *lane, size_t n_out,
                              onx_arg *out, onx_diag *diag) {
    for (size_t i = 0; i < n_out; i++) {
        source from = {ONX_NO_SLOT, NULL};
        ONX_TRY(find_output(s, v, lane, &out[i], i, &from, diag));
        const onx_operand *value =
            from.wanted ? &from.wanted->value : &lane->frame->values[from.slot];
        ONX_TRY(deliver(s, value, &out[i], diag));
    }
    return ONX_OK;
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status run_lane(onx_session *s, onx_variant *v, onx_lane *lane, size_t n_in,
                           const onx_arg *in, size_t n_out, onx_arg *out, onx_run *run) {
    lane->frame->diag = run->diag;
    lane->frame->run = run;
    run->wanted = lane->wanted;
    run->n_wanted = v->n_pins;
    ONX_TRY(onx_lane_feed(s, v, lane, n_in, in, false, run->diag));
    ONX_TRY(onx_frame_bind(lane->frame));
    ONX_TRY(direct_outputs(s, v, lane, n_out, out, run->diag));
    ONX_TRY(onx_frame_run(lane->frame, run));
    return deliver_all(s, v, lane, n_out, out, run->diag);
}

/* On failure outputs are as they were. */
static void take_back(size_t n, onx_arg *out, const onx_arg *before) {
    for (size_t i = 0; i < n; i++) {
        if (out[i].owned && !before[i].owned) onx_arg_clear(&out[i]);
        out[i] = before[i];
    }
}

onx_status onx_session_run(onx_session *s, size_t n_in, const onx_arg *in, size_t n_out,
                           onx_arg *out, const onx_run_options *options, onx_diag *diag) {
    enum { OUT_FEW = 16 };
    onx_run_options given;
    ONX_TRY(ONX_OPTIONS(&given, options, diag));
    if (!s || (n_in && !in) || (n_out && !out))
        return onx_fail(diag, ONX_USAGE, "a session, inputs and outputs are needed");
    onx_arg few[OUT_FEW], *before = few;
    if (n_out > OUT_FEW) before = onx_mem_alloc(s->ctx, n_out * sizeof *before);
    if (!before) return onx_fail_nomem(diag);
    if (n_out) memcpy(before, out, n_out * sizeof *before);
    onx_run run = {.engine = &s->engine,
                   .profile = given.profile,
                   .progress = given.progress,
                   .progress_user = given.progress_user,
                   .diag = diag};
    run.cancel = given.cancel ? onx_cancel_flag(given.cancel) : NULL;
    if (given.timeout > 0 && given.timeout < 1e9) /* longer than that is for ever */
        run.deadline = onx_clock_ns() + (int64_t)(given.timeout * 1e9);
    onx_variant *variant = NULL;
    onx_lane *lane = NULL;
    onx_status status = pick_variant(s, n_out, out, &variant, diag);
    if (status == ONX_OK) status = onx_lane_take(s, variant, n_in, in, &lane, diag);
    if (status == ONX_OK) {
        status = run_lane(s, variant, lane, n_in, in, n_out, out, &run);
        onx_lane_unfeed(lane);
        onx_lane_give(s, variant, lane);
    }
    if (status != ONX_OK) take_back(n_out, out, before);
    if (before != few) onx_mem_free(s->ctx, before, n_out * sizeof *before);
    return status;
}
