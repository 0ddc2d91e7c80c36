/* repeat_ref.c: bodies that run again and again: what is carried, what is stacked. */
#include "ops/control/repeat_ref.h"
#include "ir/dtype.h"
#include "rt/object.h"

/* ─ Init ─────────────────────────────────────────────────────────────────────────────────────── */

/* The type that an iteration would give, if none ran: sizes that are not declared are 0. */
static void declared(const onx_type *type, onx_stack_type *out) {
    if (!type || onx_type_kind_of(type) != ONX_TYPE_TENSOR) return;
    out->dtype = (uint8_t)onx_type_dtype(type);
    if (!onx_type_has_shape(type) || onx_type_rank(type) > ONX_RANK_MAX) return;
    out->rank = (uint8_t)onx_type_rank(type);
    for (size_t i = 0; i < out->rank; i++) {
        int64_t size = onx_type_dim(type, i);
        out->dims[i] = size < 0 ? 0 : size;
    }
}

onx_status onx_repeat_init(onx_call *call, onx_repeat_state *state, size_t shift,
                           size_t n_carried) {
    onx_body body;
    if (!onx_body_find(call->node, "body", &body))
        return onx_call_fail(call, ONX_INVALID, "attribute 'body' is missing");
    if (body.n_in < shift + n_carried || body.n_out < n_carried)
        return onx_call_fail(call, ONX_INVALID,
                             "the body has %zu inputs and %zu outputs, too few for %zu that are "
                             "carried",
                             body.n_in, body.n_out, n_carried);
    if (!state) state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    *state = (onx_repeat_state){.which = body.which,
                                .n_in = body.n_in,
                                .n_out = body.n_out,
                                .shift = shift,
                                .n_carried = n_carried};
    for (size_t i = 0; i < 2; i++) state->scalar_rank[i] = onx_body_scalar_rank(&body, i);
    state->types = onx_arena_array(call->arena, body.n_out + 1, sizeof *state->types);
    state->optional = onx_arena_array(call->arena, body.n_in + 1, sizeof *state->optional);
    if (!state->types || !state->optional) return onx_fail_nomem(call->diag);
    call->plan_bytes = body.n_out * (sizeof(onx_stack) + sizeof(onx_operand *)) +
                       body.n_in * (sizeof(onx_operand *) + sizeof(bool));
    for (size_t i = 0; i < body.n_out; i++) declared(onx_body_out_type(&body, i), &state->types[i]);
    for (size_t i = 0; i < body.n_in; i++) {
        const onx_type *type = onx_body_in_type(&body, i);
        state->optional[i] = type && onx_type_kind_of(type) == ONX_TYPE_OPTIONAL;
    }
    return ONX_OK;
}

/* ─ Run ──────────────────────────────────────────────────────────────────────────────────────── */

void onx_repeat_start(onx_repeat *r, onx_call *call, const onx_repeat_state *state) {
    *r = (onx_repeat){.call = call, .state = state};
    memset(call->plan, 0, call->plan_bytes);
    r->stacks = call->plan;
    r->ins = (onx_operand **)(r->stacks + state->n_out);
    r->outs = r->ins + state->n_in;
    r->own = (bool *)(r->outs + state->n_out);
    for (size_t i = 0; i < state->n_out; i++) r->stacks[i].type = state->types[i];
}

void onx_repeat_end(onx_repeat *r) {
    for (size_t i = 0; i < r->state->n_in; i++) onx_repeat_set(r, i, NULL, false);
    for (size_t i = 0; i < r->state->n_out; i++) {
        onx_call_release(r->call, r->stacks[i].data);
        onx_object_release(r->stacks[i].strings);
    }
}

void onx_repeat_set(onx_repeat *r, size_t at, onx_operand *value, bool own) {
    if (r->own[at]) onx_call_release(r->call, r->ins[at]);
    r->ins[at] = value;
    r->own[at] = own;
}

/* The next value of ins[at] must be of the same type; where an optional is carried, what it may
 * hold can take its place. */
static onx_status carry(onx_repeat *r, size_t at, onx_operand *value) {
    const onx_operand *old = r->ins[at];
    bool same = old->kind == ONX_TYPE_OPTIONAL || value->kind == ONX_TYPE_OPTIONAL ||
                (old->kind == value->kind && old->dtype == value->dtype);
    onx_repeat_set(r, at, value, true);
    if (same) return ONX_OK;
    return onx_call_fail(r->call, ONX_INVALID,
                         "the body changes the type of the value it carries in input %zu", at);
}

onx_status onx_repeat_set_object(onx_repeat *r, size_t at, onx_object *object) {
    onx_operand *shown = NULL;
    onx_status status = onx_call_temporary(r->call, ONX_DTYPE_BOOL, 1, (int64_t[]){0}, &shown);
    if (status != ONX_OK) {
        onx_object_release(object);
        return status;
    }
    onx_operand_show(shown, object);
    onx_repeat_set(r, at, shown, true);
    return ONX_OK;
}

/* An optional that holds the value of ins[at], in its place: a body may take an optional and give
 * what it holds. */
static onx_status wrap(onx_repeat *r, size_t at) {
    onx_call *call = r->call;
    onx_object *optional = NULL, *item = NULL;
    ONX_TRY(onx_object_list(call->ctx, ONX_TYPE_OPTIONAL, 1, &optional, call->diag));
    onx_status status = onx_object_of(call->ctx, r->ins[at], &item, call->diag);
    if (status == ONX_OK) status = onx_object_insert(optional, 0, item, call->diag);
    if (status == ONX_OK) return onx_repeat_set_object(r, at, optional);
    onx_object_release(optional);
    return status;
}

onx_status onx_repeat_step(onx_repeat *r) {
    const onx_repeat_state *s = r->state;
    ONX_TRY(onx_call_check(r->call));
    for (size_t i = 0; i < s->n_in; i++)
        if (s->optional[i] && r->ins[i]->kind != ONX_TYPE_OPTIONAL) ONX_TRY(wrap(r, i));
    ONX_TRY(onx_call_graph(r->call, s->which, s->n_in, r->ins, s->n_out, r->outs));
    onx_status status = ONX_OK;
    for (size_t i = 0; i < s->n_in; i++)
        if (i < s->shift || i >= s->shift + s->n_carried) onx_repeat_set(r, i, NULL, false);
    for (size_t i = 0; i < s->n_carried; i++) {
        onx_status carried = carry(r, s->shift + i, r->outs[i]);
        if (status == ONX_OK) status = carried;
    }
    for (size_t i = s->n_carried; i < s->n_out; i++) {
        if (status == ONX_OK) status = onx_repeat_add(r, i, r->outs[i]);
        onx_call_release(r->call, r->outs[i]);
    }
    return status;
}

/* ─ Stacks ───────────────────────────────────────────────────────────────────────────────────── */

/* Are all values of one type and shape? The first says which. */
static onx_status stack_check(onx_repeat *r, size_t at, const onx_operand *value) {
    onx_stack *stack = &r->stacks[at];
    onx_stack_type *type = &stack->type;
    if (value->kind != ONX_TYPE_TENSOR)
        return onx_call_fail(r->call, ONX_INVALID, "output %zu of the body is not a tensor", at);
    if (stack->count == 0) {
        type->dtype = value->dtype;
        type->rank = value->rank;
        memcpy(type->dims, value->dims, sizeof type->dims);
    }
    if (type->dtype == value->dtype && type->rank == value->rank &&
        memcmp(type->dims, value->dims, type->rank * sizeof *type->dims) == 0)
        return ONX_OK;
    return onx_call_fail(r->call, ONX_INVALID,
                         "output %zu of the body changes its type or shape between iterations", at);
}

static onx_status stack_strings(onx_repeat *r, onx_stack *stack, const onx_operand *value) {
    onx_object *item = NULL;
    onx_diag *diag = r->call->diag;
    if (!stack->strings)
        ONX_TRY(onx_object_list(r->call->ctx, ONX_TYPE_SEQUENCE, 0, &stack->strings, diag));
    ONX_TRY(onx_object_of(r->call->ctx, value, &item, diag));
    return onx_object_insert(stack->strings, stack->strings->count, item, diag);
}

/* Room for so many more bytes. */
static onx_status stack_room(onx_repeat *r, onx_stack *stack, size_t bytes) {
    size_t have = stack->data ? stack->data->bytes : 0, wanted = 0;
    if (!onx_add_size(stack->used, bytes, &wanted) || wanted > INT64_MAX / 2)
        return onx_fail_nomem(r->call->diag);
    if (wanted <= have) return ONX_OK;
    if (wanted < 2 * have) wanted = 2 * have;
    onx_operand *larger = NULL;
    ONX_TRY(onx_call_temporary(r->call, ONX_DTYPE_U8, 1, (int64_t[]){(int64_t)wanted}, &larger));
    if (stack->used) memcpy(larger->data, stack->data->data, stack->used);
    onx_call_release(r->call, stack->data);
    stack->data = larger;
    return ONX_OK;
}

onx_status onx_repeat_add(onx_repeat *r, size_t at, const onx_operand *value) {
    onx_stack *stack = &r->stacks[at];
    ONX_TRY(stack_check(r, at, value));
    stack->count++;
    if (value->dtype == ONX_DTYPE_STRING) return stack_strings(r, stack, value);
    ONX_TRY(stack_room(r, stack, value->bytes));
    if (value->bytes) memcpy((char *)stack->data->data + stack->used, value->data, value->bytes);
    stack->used += value->bytes;
    return ONX_OK;
}

/* Where the values of a stack go: to [outer, count, inner], from [count, outer, inner]. Packed ones
 * begin at a whole byte in the stack, but not where they go. */
typedef struct places {
    int64_t count, outer, inner;
    bool reverse;
} places;

static onx_status give_strings(onx_repeat *r, size_t index, const onx_stack *stack, size_t rank,
                               const int64_t *dims, const places *p) {
    onx_object *out = NULL;
    onx_diag *diag = r->call->diag;
    onx_operand to, from;
    ONX_TRY(onx_object_tensor(r->call->ctx, ONX_DTYPE_STRING, rank, dims, &out, diag));
    onx_operand_show(&to, out);
    onx_status status = ONX_OK;
    for (int64_t i = 0; i < p->count && out->count; i++) {
        onx_operand_show(&from, stack->strings->items[p->reverse ? p->count - 1 - i : i]);
        for (int64_t o = 0; o < p->outer && status == ONX_OK; o++)
            status = onx_operand_copy(&to, (o * p->count + i) * p->inner, &from, o * p->inner,
                                      p->inner, diag);
    }
    if (status == ONX_OK) return onx_call_object(r->call, index, out);
    onx_object_release(out);
    return status;
}

static onx_status give_dense(onx_repeat *r, size_t index, const onx_stack *stack, size_t rank,
                             const int64_t *dims, const places *p) {
    onx_dtype dtype = (onx_dtype)stack->type.dtype;
    uint64_t bits = onx_dtype_bits(dtype) * (uint64_t)p->inner;
    ONX_TRY(onx_call_output(r->call, index, dtype, rank, dims));
    onx_operand *out = r->call->out[index];
    if (out->bytes == 0) return ONX_OK;
    if (p->outer == 1 && !p->reverse && bits % 8 == 0) {
        memcpy(out->data, stack->data->data, out->bytes);
        return ONX_OK;
    }
    uint64_t each = (uint64_t)stack->used / (uint64_t)p->count * 8;
    ((uint8_t *)out->data)[out->bytes - 1] = 0;
    for (int64_t i = 0; i < p->count; i++)
        for (int64_t o = 0; o < p->outer; o++) {
            int64_t from = p->reverse ? p->count - 1 - i : i;
            onx_dtype_copy_bits(stack->data->data, (uint64_t)from * each + (uint64_t)o * bits,
                                out->data, (uint64_t)(o * p->count + i) * bits, bits);
        }
    return ONX_OK;
}

onx_status onx_repeat_give(onx_repeat *r, size_t index, size_t at, size_t n_lead,
                           const int64_t *lead, int64_t axis, bool reverse) {
    const onx_stack *stack = &r->stacks[at];
    const onx_stack_type *type = &stack->type;
    size_t rank = type->rank + n_lead, place;
    int64_t dims[ONX_RANK_MAX + 2];
    places p = {stack->count, 1, 1, reverse};
    if (index >= r->call->n_out || !r->call->out[index]) return ONX_OK;
    if (type->dtype == ONX_DTYPE_NONE || rank > ONX_RANK_MAX)
        return onx_call_fail(r->call, ONX_UNSUPPORTED,
                             type->dtype ? "output %zu has too many dimensions"
                                         : "no iteration ran, and the type of output %zu is not "
                                           "declared",
                             index);
    if (!onx_axis(axis, rank, &place))
        return onx_call_fail(r->call, ONX_INVALID, "axis %lld is out of range for rank %zu",
                             (long long)axis, rank);
    memcpy(dims, type->dims, place * sizeof *dims);
    memcpy(dims + place, lead, n_lead * sizeof *dims);
    memcpy(dims + place + n_lead, type->dims + place, (type->rank - place) * sizeof *dims);
    bool empty = stack->count == 0;
    for (size_t i = 0; i < type->rank; i++) empty = empty || type->dims[i] == 0;
    for (size_t i = 0; i < type->rank && !empty; i++)
        *(i < place ? &p.outer : &p.inner) *= type->dims[i];
    return (type->dtype == ONX_DTYPE_STRING ? give_strings : give_dense)(r, index, stack, rank,
                                                                         dims, &p);
}
