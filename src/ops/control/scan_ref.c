/* scan_ref.c: Scan: a body over the slices of its inputs along an axis. */
#include "ops/control/scan_ref.h"
#include "rt/object.h"

/* Body: (states…, slices…) -> (states…, stacked…). */
typedef struct scan_state {
    onx_repeat_state repeat;
    int64_t *in_axes; /* of the inputs that are sliced; zeros but for attributes */
    int64_t *in_back; /* 1: from the last slice to the first */
    int64_t *out_axes, *out_back;
} scan_state;

/* A list of integers, one for each of `n`; 0 where there is no attribute. */
static onx_status read_list(onx_call *call, const char *name, size_t n, int64_t **out) {
    size_t given;
    const int64_t *list = onx_op_ints(call->node, name, &given);
    *out = onx_call_state(call, (n + 1) * sizeof **out);
    if (!*out) return onx_fail_nomem(call->diag);
    if (list && given != n)
        return onx_call_fail(call, ONX_INVALID, "%s has %zu elements; it must have %zu", name,
                             given, n);
    if (list && n) memcpy(*out, list, n * sizeof **out);
    return ONX_OK;
}

/* `first`: the input of the node that is the body's first. */
static onx_status init(onx_call *call, size_t first, const char *const names[4]) {
    int64_t n_scan = onx_call_int(call, "num_scan_inputs");
    size_t n_all = call->n_in > first ? call->n_in - first : 0;
    if (n_scan < 1 || (uint64_t)n_scan > n_all)
        return onx_call_fail(call, ONX_INVALID, "num_scan_inputs is %lld, with %zu inputs",
                             (long long)n_scan, n_all);
    scan_state *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    size_t n_states = n_all - (size_t)n_scan;
    ONX_TRY(onx_repeat_init(call, &state->repeat, 0, n_states));
    if (state->repeat.n_in != n_all || state->repeat.n_out < call->n_out)
        return onx_call_fail(call, ONX_INVALID,
                             "the body has %zu inputs and %zu outputs; it must have %zu and at "
                             "least %zu",
                             state->repeat.n_in, state->repeat.n_out, n_all, call->n_out);
    size_t n_stacked = state->repeat.n_out - n_states;
    ONX_TRY(read_list(call, names[0], (size_t)n_scan, &state->in_axes));
    ONX_TRY(read_list(call, names[1], (size_t)n_scan, &state->in_back));
    ONX_TRY(read_list(call, names[2], n_stacked, &state->out_axes));
    return read_list(call, names[3], n_stacked, &state->out_back);
}

onx_status onx_scan_init(onx_call *call) {
    static const char *const names[4] = {"scan_input_axes", "scan_input_directions",
                                         "scan_output_axes", "scan_output_directions"};
    return init(call, 0, names);
}

onx_status onx_scan8_init(onx_call *call) {
    static const char *const names[4] = {"", "directions", "", ""};
    return init(call, 1, names);
}

/* ─ Slices ───────────────────────────────────────────────────────────────────────────────────── */

/* x: [outer, size, inner] with outer and inner of any rank; the slice x[:, at, :], of the dims that
 * are left, becomes ins[index]. */
typedef struct cut {
    size_t first, n; /* axes first … first + n - 1 are the one that is cut */
    int64_t size, at;
} cut;

/* A tensor to be filled as ins[index]. */
static onx_status fresh(onx_repeat *r, size_t index, onx_dtype dtype, size_t rank,
                        const int64_t *dims) {
    onx_object *strings = NULL;
    onx_operand *dense = NULL;
    if (dtype == ONX_DTYPE_STRING) {
        ONX_TRY(onx_object_tensor(r->call->ctx, dtype, rank, dims, &strings, r->call->diag));
        return onx_repeat_set_object(r, index, strings);
    }
    ONX_TRY(onx_call_temporary(r->call, dtype, rank, dims, &dense));
    onx_repeat_set(r, index, dense, true);
    return ONX_OK;
}

static onx_status slice(onx_repeat *r, size_t index, const onx_operand *x, const cut *c) {
    int64_t dims[ONX_RANK_MAX], outer = 1;
    size_t rank = x->rank - c->n, after = c->first + c->n;
    if (x->kind != ONX_TYPE_TENSOR)
        return onx_call_fail(r->call, ONX_INVALID, "input %zu of the body is not a tensor", index);
    memcpy(dims, x->dims, c->first * sizeof *dims);
    memcpy(dims + c->first, x->dims + after, (x->rank - after) * sizeof *dims);
    ONX_TRY(fresh(r, index, (onx_dtype)x->dtype, rank, dims));
    const onx_operand *to = r->ins[index];
    if (to->count == 0) return ONX_OK;
    for (size_t i = 0; i < c->first; i++) outer *= dims[i];
    int64_t inner = to->count / outer;
    for (int64_t o = 0; o < outer; o++)
        ONX_TRY(onx_operand_copy(to, o * inner, x, (o * c->size + c->at) * inner, inner,
                                 r->call->diag));
    return ONX_OK;
}

/* The size that all sliced inputs have along their axes. */
static onx_status common_size(const onx_call *call, size_t from, const int64_t *axes,
                              int64_t *size) {
    *size = -1;
    for (size_t i = from; i < call->n_in; i++) {
        const onx_operand *x = call->in[i];
        size_t axis = 0;
        bool ranked = x && onx_axis(axes[i - from], x->rank, &axis);
        if (!ranked || (*size >= 0 && x->dims[axis] != *size))
            return onx_call_fail(call, ONX_INVALID,
                                 "scan input %zu has no axis %lld, or not the size of the others "
                                 "there",
                                 i, (long long)axes[i - from]);
        *size = x->dims[axis];
    }
    return ONX_OK;
}

/* ─ Scan 9 ───────────────────────────────────────────────────────────────────────────────────── */

static onx_status scan_all(onx_repeat *r) {
    onx_call *call = r->call;
    const scan_state *state = call->state;
    size_t n_states = state->repeat.n_carried;
    int64_t length = 0;
    ONX_TRY(common_size(call, n_states, state->in_axes, &length));
    for (size_t i = 0; i < n_states; i++) {
        if (!call->in[i]) return onx_call_fail(call, ONX_INVALID, "state %zu is missing", i);
        onx_repeat_set(r, i, call->in[i], false);
    }
    for (int64_t t = 0; t < length; t++) {
        for (size_t i = n_states; i < call->n_in; i++) {
            size_t axis = 0, k = i - n_states;
            (void)onx_axis(state->in_axes[k], call->in[i]->rank, &axis);
            cut c = {axis, 1, length, state->in_back[k] ? length - 1 - t : t};
            ONX_TRY(slice(r, i, call->in[i], &c));
        }
        ONX_TRY(onx_repeat_step(r));
    }
    for (size_t i = 0; i < call->n_out; i++) {
        size_t k = i - n_states;
        if (!call->out[i]) continue;
        if (i < n_states)
            ONX_TRY(onx_call_give(call, i, r->ins[i]));
        else
            ONX_TRY(
                onx_repeat_give(r, i, i, 1, &length, state->out_axes[k], state->out_back[k] != 0));
    }
    return ONX_OK;
}

/* ─ Scan 8 ───────────────────────────────────────────────────────────────────────────────────── */

/* Zeros where a sequence is shorter than the longest. */
static onx_status pad(onx_repeat *r, size_t stack) {
    const onx_stack_type *type = &r->stacks[stack].type;
    onx_object *zeros = NULL;
    onx_operand shown;
    ONX_TRY(onx_object_tensor(r->call->ctx, (onx_dtype)type->dtype, type->rank, type->dims, &zeros,
                              r->call->diag));
    if (zeros->bytes) memset(zeros->data, 0, zeros->bytes);
    onx_operand_show(&shown, zeros);
    onx_status status = onx_repeat_add(r, stack, &shown);
    onx_object_release(zeros);
    return status;
}

/* How long sequence `b` of the batch is. */
static onx_status length_of(const onx_call *call, int64_t b, int64_t batch, int64_t most,
                            int64_t *out) {
    const onx_operand *lengths = call->in[0];
    *out = most;
    if (!lengths) return ONX_OK;
    if (lengths->count != batch)
        return onx_call_fail(call, ONX_INVALID, "sequence_lens has %lld elements, not %lld",
                             (long long)lengths->count, (long long)batch);
    *out = onx_operand_int(lengths, b);
    if (*out >= 0 && *out <= most) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "sequence %lld is %lld long; 0 to %lld is allowed",
                         (long long)b, (long long)*out, (long long)most);
}

/* One sequence of the batch: states [batch, …], scan inputs [batch, most, …]. */
static onx_status scan8_one(onx_repeat *r, int64_t b, int64_t batch, int64_t most) {
    onx_call *call = r->call;
    const scan_state *state = call->state;
    size_t n_states = state->repeat.n_carried;
    int64_t length = 0;
    ONX_TRY(length_of(call, b, batch, most, &length));
    for (size_t i = 0; i < n_states; i++)
        ONX_TRY(slice(r, i, call->in[1 + i], &(cut){0, 1, batch, b}));
    for (int64_t t = 0; t < length; t++) {
        for (size_t i = n_states; i < state->repeat.n_in; i++) {
            int64_t at = state->in_back[i - n_states] ? length - 1 - t : t;
            ONX_TRY(slice(r, i, call->in[1 + i], &(cut){0, 2, batch * most, b * most + at}));
        }
        ONX_TRY(onx_repeat_step(r));
    }
    for (size_t i = 0; i < n_states; i++) ONX_TRY(onx_repeat_add(r, i, r->ins[i]));
    for (int64_t t = length; t < most; t++)
        for (size_t i = n_states; i < state->repeat.n_out; i++) ONX_TRY(pad(r, i));
    return ONX_OK;
}

/* Batch and length, which all inputs agree on; `n_states` of them have no length. */
static onx_status scan8_sizes(const onx_call *call, size_t n_states, int64_t lead[2]) {
    const onx_operand *first = call->in[1 + n_states];
    bool good = first && first->rank >= 2;
    for (size_t i = 1; good && i < call->n_in; i++) {
        const onx_operand *x = call->in[i];
        size_t n = i <= n_states ? 1 : 2;
        good = x && x->rank >= n && memcmp(x->dims, first->dims, n * sizeof *x->dims) == 0;
    }
    if (!good)
        return onx_call_fail(call, ONX_INVALID,
                             "states must be [batch, …] and scan inputs [batch, length, …], with "
                             "the same sizes");
    memcpy(lead, first->dims, 2 * sizeof *lead);
    return ONX_OK;
}

static onx_status scan8_all(onx_repeat *r) {
    onx_call *call = r->call;
    size_t n_states = r->state->n_carried;
    int64_t lead[2] = {0, 0};
    ONX_TRY(scan8_sizes(call, n_states, lead));
    for (int64_t b = 0; b < lead[0]; b++) ONX_TRY(scan8_one(r, b, lead[0], lead[1]));
    for (size_t i = 0; i < call->n_out; i++)
        ONX_TRY(onx_repeat_give(r, i, i, i < n_states ? 1 : 2, lead, 0, false));
    return ONX_OK;
}

static onx_status run(onx_call *call, onx_status (*all)(onx_repeat *repeat)) {
    const scan_state *state = call->state;
    onx_repeat repeat;
    onx_repeat_start(&repeat, call, &state->repeat);
    onx_status status = all(&repeat);
    onx_repeat_end(&repeat);
    return status;
}

onx_status onx_scan_run(onx_call *call) {
    return run(call, scan_all);
}

onx_status onx_scan8_run(onx_call *call) {
    return run(call, scan8_all);
}
