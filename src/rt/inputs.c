/* inputs.c: the inputs of a run: arguments as operands, in place, checked against what the model
 * declares. Whatever is wrong is said with what was expected and what was given. */
#include "rt/session.h"

#include "rt/profile.h"

#include <stdio.h>

/* ─ Sentences ────────────────────────────────────────────────────────────────────────────────── */

void onx_names_hint(onx_diag *diag, const char *what, const char *typed, size_t n,
                    const char *(*name_at)(const onx_session *, size_t), const onx_session *s) {
    char list[200] = "";
    const char *near = NULL;
    size_t at = 0, least = 2 + strlen(typed) / 4;
    for (size_t i = 0; i < n; i++) {
        const char *name = name_at(s, i);
        size_t far = onx_str_distance(onx_str_of(name), onx_str_of(typed), least);
        if (far < least) least = far, near = name;
        if (at < sizeof list)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s'%.60s'", i ? ", " : "", name);
    }
    if (at >= sizeof list) memcpy(list + sizeof list - 4, "...", 4);
    if (near)
        onx_diag_hint(diag, "did you mean '%.60s'? It has the %s %s", near, what, list);
    else
        onx_diag_hint(diag, n ? "it has the %s %s" : "it has no %s", what, list);
}

/* What an input must be: as it is declared, with the sizes that options fix. */
static void put_expected(const onx_session *s, size_t index, const onx_slot *slot, char *out,
                         size_t size) {
    const onx_type *type = onx_session_input_type(s, index);
    const onx_operand *known = &slot->constant;
    size_t rank = type ? onx_type_rank(type) : 0, at = 0;
    if (type) (void)onx_type_format(type, out, size);
    if (known->kind != ONX_TYPE_TENSOR || !rank || known->rank != rank) return;
    at = (size_t)snprintf(out, size, "%s", onx_dtype_name((onx_dtype)known->dtype));
    for (size_t i = 0; i < rank && at < size; i++) {
        const char *name = onx_type_dim_param(type, i);
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)known->dims[i]);
        at += (size_t)snprintf(out + at, size - at, "%s%.40s", i ? "," : "[",
                               known->dims[i] >= 0 ? number
                               : name && *name     ? name
                                                   : "?");
    }
    if (at < size) (void)snprintf(out + at, size - at, "]");
}

static onx_status wrong_input(const onx_session *s, size_t index, const onx_slot *slot,
                              const onx_operand *got, onx_diag *diag) {
    char expected[160] = "", given[160] = "";
    put_expected(s, index, slot, expected, sizeof expected);
    onx_operand_text(got, given, sizeof given);
    return onx_fail(diag, ONX_INVALID, "input '%.100s' is %s, but what was given is %s",
                    onx_session_input_name(s, index), expected, given);
}

static onx_status missing_input(const onx_session *s, size_t index, const onx_slot *slot,
                                onx_diag *diag) {
    char expected[160] = "";
    put_expected(s, index, slot, expected, sizeof expected);
    return onx_fail(diag, ONX_USAGE, "input '%.100s' (%s) was not given",
                    onx_session_input_name(s, index), expected);
}

/* ─ Arguments ────────────────────────────────────────────────────────────────────────────────── */

static onx_status find_input(const onx_session *s, const onx_arg *arg, size_t position, size_t n_in,
                             size_t *out, onx_diag *diag) {
    size_t n = onx_session_input_count(s);
    for (*out = 0; arg->name && *out < n; ++*out)
        if (strcmp(onx_session_input_name(s, *out), arg->name) == 0) return ONX_OK;
    if (arg->name) {
        onx_fail(diag, ONX_NOT_FOUND, "the model has no input '%.200s'", arg->name);
        onx_names_hint(diag, "inputs", arg->name, n, onx_session_input_name, s);
        return ONX_NOT_FOUND;
    }
    *out = position;
    if (position < n) return ONX_OK;
    return onx_fail(diag, ONX_USAGE, "the model has %zu input%s, but %zu were given", n,
                    n == 1 ? "" : "s", n_in);
}

static onx_status dense_operand(const char *name, const onx_arg *arg, bool shapes_only,
                                onx_operand *out, onx_diag *diag) {
    onx_operand made = {0};
    char text[160] = "";
    if (arg->rank > ONX_RANK_MAX)
        return onx_fail(diag, ONX_USAGE, "input '%.100s' has %zu dimensions; %d are possible", name,
                        arg->rank, ONX_RANK_MAX);
    if (!onx_operand_shape(&made, arg->dtype, arg->rank, arg->dims)) {
        made = (onx_operand){.kind = ONX_TYPE_TENSOR, .dtype = (uint8_t)arg->dtype};
        made.rank = (uint8_t)arg->rank;
        memcpy(made.dims, arg->dims, sizeof made.dims);
        onx_operand_text(&made, text, sizeof text);
        return onx_fail(diag, ONX_USAGE, "input '%.100s' is given as %s, which cannot be", name,
                        text);
    }
    if (made.dtype == ONX_DTYPE_STRING)
        return onx_fail(diag, ONX_USAGE, "input '%.100s' is of strings: give it as `value`", name);
    if (!shapes_only && (made.bytes > arg->bytes || (made.bytes && !arg->data))) {
        onx_operand_text(&made, text, sizeof text);
        return onx_fail(diag, ONX_USAGE, "input '%.100s' is %s and needs %zu bytes, but has %zu",
                        name, text, made.bytes, arg->data ? arg->bytes : 0);
    }
    made.data = arg->data;
    *out = made;
    return ONX_OK;
}

/* An argument as an operand: dense memory in place, or an object that the caller releases. */
static onx_status operand_of_arg(const onx_session *s, size_t index, const onx_arg *arg,
                                 bool shapes_only, onx_operand *out, onx_diag *diag) {
    onx_object *object = NULL;
    if (!arg->value)
        return dense_operand(onx_session_input_name(s, index), arg, shapes_only, out, diag);
    ONX_TRY(onx_object_of_data(s->ctx, arg->value, &object, diag));
    onx_operand_show(out, object);
    return ONX_OK;
}

/* ─ Feeding ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status feed_arg(const onx_session *s, onx_frame *frame, size_t position, size_t n_in,
                           const onx_arg *arg, bool shapes_only, onx_diag *diag) {
    const onx_program *program = frame->program;
    size_t at = 0;
    ONX_TRY(find_input(s, arg, position, n_in, &at, diag));
    onx_operand *value = &frame->values[program->inputs[at]];
    const onx_slot *slot = &program->slots[program->inputs[at]];
    if (value->kind != ONX_TYPE_NONE)
        return onx_fail(diag, ONX_USAGE, "input '%.100s' was given twice",
                        onx_session_input_name(s, at));
    ONX_TRY(operand_of_arg(s, at, arg, shapes_only, value, diag));
    if (onx_slot_verify(slot, value, NULL) == ONX_OK) return ONX_OK;
    return wrong_input(s, at, slot, value, diag);
}

static void take_default(const onx_default *given, onx_operand *value) {
    *value = given->value;
    value->constant = false;
    if (value->object) onx_object_retain(value->object);
}

onx_status onx_lane_feed(const onx_session *s, const onx_variant *v, onx_lane *lane, size_t n_in,
                         const onx_arg *in, bool shapes_only, onx_diag *diag) {
    onx_frame *frame = lane->frame;
    const onx_program *program = frame->program;
    for (size_t i = 0; i < program->n_inputs; i++)
        frame->values[program->inputs[i]] = (onx_operand){.kind = ONX_TYPE_NONE};
    for (size_t i = 0; i < n_in; i++)
        ONX_TRY(feed_arg(s, frame, i, n_in, &in[i], shapes_only, diag));
    for (size_t i = 0; i < program->n_inputs; i++) {
        onx_operand *value = &frame->values[program->inputs[i]];
        if (value->kind != ONX_TYPE_NONE) continue;
        if (!v->defaults[i].there)
            return missing_input(s, i, &program->slots[program->inputs[i]], diag);
        take_default(&v->defaults[i], value);
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
