/* custom_row.c: kernels of programs as rows of the engine.
 *
 * The functions of a kernel are called through those here, which hold it to its contract: it is
 * given only what its signature allows, every output is said or made, every failure has a
 * sentence. That it writes its outputs, and nothing else, is up to it. */
#include "rt/custom_row.h"

#include "ops/custom.h"
#include "ops/signature.h"
#include "rt/object.h"

/* ─ Calling ──────────────────────────────────────────────────────────────────────────────────── */

static const onx_kernel_def *def_of(const onx_call *call) {
    return call->kernel->def;
}

/* The sentence of a failure: the kernel's own, that of a run that was stopped, or this one. */
static onx_status explain(const onx_call *call, onx_status status, onx_diag *own) {
    if (status == ONX_CANCELLED) ONX_TRY(onx_call_check(call));
    if (!own->message[0])
        onx_fail(own, status, "the kernel '%.100s' failed: %s", def_of(call)->name,
                 onx_status_name(status));
    if (call->diag) *call->diag = *own;
    return status;
}

static onx_status enter(onx_call *call, onx_kernel_fn *fn, uint8_t phase) {
    onx_diag own = ONX_INIT(onx_diag), *diag = call->diag;
    call->diag = &own;
    call->phase = phase;
    onx_status status = fn(call, def_of(call)->user);
    call->phase = ONX_PHASE_NONE;
    call->diag = diag;
    bool declined = phase == ONX_PHASE_INIT && status == ONX_UNSUPPORTED;
    return status == ONX_OK || declined ? status : explain(call, status, &own);
}

/* ─ Inputs ───────────────────────────────────────────────────────────────────────────────────── */

/* What input `index` may be by the signature, as written. */
static onx_str declared(const onx_signature *s, size_t index) {
    if (!s->n_inputs) return (onx_str){"", 0};
    const onx_param *param = &s->inputs[index < s->n_inputs ? index : s->n_inputs - 1];
    for (size_t i = 0; i < s->n_constraints; i++)
        if (onx_str_eq(s->constraints[i].name, param->type)) return s->constraints[i].types;
    return param->type;
}

static bool takes_inputs(const onx_call *call, const onx_signature *s) {
    onx_str types = def_of(call)->types ? onx_str_of(def_of(call)->types) : (onx_str){NULL, 0};
    for (size_t i = 0; i < call->n_in; i++) {
        onx_str mine = {NULL, 0};
        bool listed = onx_signature_cut(&types, ',', &mine);
        const onx_operand *in = call->in[i];
        if (!in) continue;
        const onx_fact fact = {.kind = (onx_type_kind)in->kind, .dtype = (onx_dtype)in->dtype};
        if (in->kind != ONX_TYPE_TENSOR || in->layout || !onx_types_allow(declared(s, i), &fact) ||
            (listed && !onx_types_allow(mine, &fact)))
            return false;
    }
    return true;
}

static onx_status custom_init(onx_call *call) {
    onx_signature signature;
    ONX_TRY(onx_signature_parse(call->op, call->arena, &signature, call->diag));
    if (!takes_inputs(call, &signature)) return ONX_UNSUPPORTED;
    return def_of(call)->init ? enter(call, def_of(call)->init, ONX_PHASE_INIT) : ONX_OK;
}

/* ─ Outputs ──────────────────────────────────────────────────────────────────────────────────── */

static void forget_outputs(onx_call *call) {
    for (size_t i = 0; i < call->n_out; i++)
        if (call->out[i]) call->out[i]->rank = ONX_RANK_UNKNOWN;
}

static onx_status check_outputs(const onx_call *call) {
    for (size_t i = 0; i < call->n_out; i++)
        if (call->out[i] && call->out[i]->rank == ONX_RANK_UNKNOWN)
            return onx_call_fail(call, ONX_INVALID,
                                 "the kernel '%.100s' does not say what output "
                                 "%zu is",
                                 def_of(call)->name, i);
    return ONX_OK;
}

static onx_status same_shape(onx_call *call, void *user) {
    (void)user;
    return call->n_in && call->in[0] ? onx_bind_same(call) : ONX_OK;
}

static onx_status custom_bind(onx_call *call) {
    forget_outputs(call);
    onx_kernel_fn *bind = def_of(call)->bind ? def_of(call)->bind : same_shape;
    ONX_TRY(enter(call, bind, ONX_PHASE_BIND));
    return check_outputs(call);
}

/* Strings have no place of their own ahead of the run. */
static onx_status make_strings(onx_call *call) {
    for (size_t i = 0; i < call->n_out; i++) {
        const onx_operand *out = call->out[i];
        onx_object *object = NULL;
        if (!out || out->dtype != ONX_DTYPE_STRING) continue;
        ONX_TRY(onx_object_tensor(call->ctx, ONX_DTYPE_STRING, out->rank, out->dims, &object,
                                  call->diag));
        ONX_TRY(onx_call_object(call, i, object));
    }
    return ONX_OK;
}

static onx_status custom_run(onx_call *call) {
    bool late = def_of(call)->late;
    if (late)
        forget_outputs(call);
    else
        ONX_TRY(make_strings(call));
    ONX_TRY(enter(call, def_of(call)->run, ONX_PHASE_RUN));
    return late ? check_outputs(call) : ONX_OK;
}

static void custom_fini(const onx_kernel *kernel, void *state) {
    const onx_kernel_def *def = kernel->def;
    def->fini(state, def->user);
}

/* ─ The table ────────────────────────────────────────────────────────────────────────────────── */

static onx_kernel row_of(const onx_custom_op *op, const onx_kernel_def *def) {
    return (onx_kernel){.op = op->row.name,
                        .domain = op->row.domain,
                        .name = def->name,
                        .flags = ONX_KERNEL_OBJECTS | (def->late ? ONX_KERNEL_LATE : 0),
                        .overwrite = def->overwrite,
                        .host = def->host,
                        .init = custom_init,
                        .bind = def->late ? NULL : custom_bind,
                        .run = custom_run,
                        .fini = def->fini ? custom_fini : NULL,
                        .only = &op->row,
                        .def = def};
}

onx_status onx_custom_rows(const onx_context *ctx, onx_arena *arena, const onx_kernel **out,
                           onx_diag *diag) {
    const struct onx_custom_ops *ops = ctx->custom;
    size_t n = 0;
    for (size_t i = 0; ops && i < ops->n; i++) n += ops->rows[i]->n_kernels;
    *out = NULL;
    if (!n) return ONX_OK;
    onx_kernel *rows = onx_arena_array(arena, n + 1, sizeof *rows);
    if (!rows) return onx_fail_nomem(diag);
    *out = rows;
    for (size_t i = 0; i < ops->n; i++)
        for (size_t k = 0; k < ops->rows[i]->n_kernels; k++)
            *rows++ = row_of(ops->rows[i], &ops->rows[i]->kernels[k]);
    return ONX_OK;
}
