/* compress_ref.c: elements chosen by their values or by a mask: Compress, NonZero. How many there
 * are is known only when the data are. */
#include "ops/gather/compress_ref.h"
#include "ops/view/move_ref.h"
#include "rt/object.h"

/* ── Compress ────────────────────────────────────────────────────────────────────────────────── */

typedef struct compress {
    bool has_axis;
    int64_t axis;
} compress;

onx_status onx_compress_init(onx_call *call) {
    compress *state = onx_call_state(call, sizeof *state);
    if (!state) return onx_fail_nomem(call->diag);
    *state = (compress){onx_op_has(call->node, "axis"), onx_call_int(call, "axis")};
    return ONX_OK;
}

/* An output of any type, strings too. */
static onx_status make_output(onx_call *call, onx_dtype dtype, size_t rank, const int64_t *dims) {
    onx_object *object = NULL;
    if (dtype != ONX_DTYPE_STRING) return onx_call_output(call, 0, dtype, rank, dims);
    ONX_TRY(onx_object_tensor(call->ctx, dtype, rank, dims, &object, call->diag));
    return onx_call_object(call, 0, object);
}

/* Slices along the axis, or elements, whose condition is true; a short condition ends in false. */
onx_status onx_compress_run(onx_call *call) {
    const onx_operand *in = call->in[0], *condition = call->in[1];
    const compress *state = call->state;
    const uint8_t *wanted = condition->data;
    size_t axis = 0, rank = state->has_axis ? in->rank : 1;
    int64_t dims[ONX_RANK_MAX], kept = 0, to_row = 0;
    if (state->has_axis) ONX_TRY(onx_axis_of(call, state->axis, in->rank, &axis));
    for (size_t i = 0; i < in->rank; i++) dims[i] = in->dims[i];
    int64_t size = state->has_axis ? in->dims[axis] : in->count;
    int64_t n = condition->count < size ? condition->count : size;
    int64_t inner = state->has_axis ? onx_inner_count(in, axis + 1) : 1;
    for (int64_t i = 0; i < n; i++) kept += wanted[i] != 0;
    dims[axis] = kept;
    ONX_TRY(make_output(call, (onx_dtype)in->dtype, rank, dims));
    if (!in->count || !kept) return ONX_OK;
    for (int64_t row = 0; row < in->count / (size * inner); row++)
        for (int64_t i = 0; i < n; i++)
            if (wanted[i])
                ONX_TRY(onx_operand_copy(call->out[0], inner * to_row++, in,
                                         (row * size + i) * inner, inner, call->diag));
    return ONX_OK;
}

/* ── NonZero ─────────────────────────────────────────────────────────────────────────────────── */

enum { CHUNK = 1024 };

/* Which elements from `at` on are not 0 (-0 is, and the empty string), as bytes; returns how many
 * were looked at. */
static int64_t look(const onx_operand *in, int64_t at, uint8_t flags[CHUNK]) {
    onx_dtype dtype = (onx_dtype)in->dtype;
    int64_t n = in->count - at < CHUNK ? in->count - at : CHUNK;
    if (dtype == ONX_DTYPE_STRING) {
        for (int64_t i = 0; i < n; i++) flags[i] = in->object->strings[at + i].size > 0;
        return n;
    }
    const char *data = (const char *)in->data + (size_t)at * (onx_dtype_bits(dtype) / 8);
    if (onx_dtype_convert(dtype, data, ONX_DTYPE_BOOL, flags, (uint64_t)n, true))
        memset(flags, 0, CHUNK);
    return n;
}

/* out: [rank][count]; of a scalar: [0][count] */
onx_status onx_nonzero_run(onx_call *call) {
    const onx_operand *in = call->in[0];
    int64_t dims[2] = {in->rank, 0}, to = 0, n;
    uint8_t flags[CHUNK];
    for (int64_t at = 0; at < in->count; at += n) {
        n = look(in, at, flags);
        for (int64_t i = 0; i < n; i++) dims[1] += flags[i];
    }
    ONX_TRY(onx_call_output(call, 0, ONX_DTYPE_I64, 2, dims));
    char *out = call->out[0]->data;
    for (int64_t at = 0; at < in->count && in->rank && dims[1]; at += n) {
        ONX_TRY(onx_call_check(call));
        n = look(in, at, flags);
        for (int64_t i = 0; i < n; i++) {
            int64_t rest = at + i;
            for (size_t d = in->rank; flags[i] && d-- > 0; rest /= in->dims[d]) {
                int64_t index = rest % in->dims[d], place = (int64_t)d * dims[1] + to;
                memcpy(out + (size_t)place * sizeof index, &index, sizeof index);
            }
            to += flags[i];
        }
    }
    return ONX_OK;
}
