/* tensor_scatter_ref.c: TensorScatter: a cache with new entries written at one place of each
 * sequence. Cache [batch][prefix][room][inner], update [batch][prefix][n][inner]. */
#include "ops/gather/tensor_scatter_ref.h"
#include "ops/view/move_ref.h"

typedef struct state {
    int64_t axis;
    bool circular;
} state;

onx_status onx_tensor_scatter_init(onx_call *call) {
    state *st = onx_call_state(call, sizeof *st);
    onx_str mode = onx_call_string(call, "mode");
    if (!st) return onx_fail_nomem(call->diag);
    *st = (state){onx_call_int(call, "axis"), onx_str_is(mode, "circular")};
    if (st->circular || onx_str_is(mode, "linear")) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "mode is '%.*s'; it must be linear or circular",
                         ONX_FMT(mode));
}

onx_status onx_tensor_scatter_bind(onx_call *call) {
    const onx_operand *cache = call->in[0], *update = call->in[1], *at = onx_call_in(call, 2);
    size_t axis = 0;
    ONX_TRY(onx_axis_of(call, ((const state *)call->state)->axis, cache->rank, &axis));
    if (axis == 0)
        return onx_call_fail(call, ONX_INVALID, "axis 0 is the batch; sequences are along another");
    bool fit = update->rank == cache->rank && update->dtype == cache->dtype;
    for (size_t i = 0; i < cache->rank && fit; i++)
        fit = i == axis ? update->dims[i] <= cache->dims[i] : update->dims[i] == cache->dims[i];
    if (!fit)
        return onx_call_fail(call, ONX_INVALID, "the shape of the update does not fit the cache");
    if (at && (at->rank != 1 || at->dims[0] != cache->dims[0]))
        return onx_call_fail(call, ONX_INVALID, "write_indices is not one number for each of %lld",
                             (long long)cache->dims[0]);
    ONX_TRY(onx_bind_same(call));
    return onx_move_bind(call);
}

/* Where each sequence of batch `b` is written. */
static int64_t place_of(const onx_call *call, int64_t b, int64_t room) {
    const onx_operand *indices = onx_call_in(call, 2);
    int64_t at = indices ? onx_operand_int(indices, b) : 0;
    if (!((const state *)call->state)->circular || !room) return at;
    at %= room;
    return at < 0 ? at + room : at;
}

static onx_status check_places(const onx_call *call, int64_t batch, int64_t n, int64_t room) {
    for (int64_t b = 0; b < batch && !((const state *)call->state)->circular; b++) {
        int64_t at = place_of(call, b, room);
        if (at < 0 || at > room - n)
            return onx_call_fail(call, ONX_INVALID, "%lld entries at %lld of a cache of %lld",
                                 (long long)n, (long long)at, (long long)room);
    }
    return ONX_OK;
}

/* One sequence; what goes over the end begins again at the start. */
static void write_sequence(char *to, const char *from, int64_t at, int64_t n, int64_t room,
                           size_t bytes) {
    int64_t first = n < room - at ? n : room - at;
    onx_mem_copy(to + (size_t)at * bytes, from, (size_t)first * bytes);
    onx_mem_copy(to, from + (size_t)first * bytes, (size_t)(n - first) * bytes);
}

onx_status onx_tensor_scatter_run(onx_call *call) {
    const onx_operand *cache = call->in[0], *update = call->in[1];
    size_t axis = 0, size = onx_move_size((onx_dtype)cache->dtype);
    (void)onx_axis(((const state *)call->state)->axis, cache->rank, &axis);
    int64_t room = cache->dims[axis], n = update->dims[axis], batch = cache->dims[0];
    ONX_TRY(check_places(call, batch, n, room));
    onx_mover mover = onx_move_begin(call);
    const char *from = onx_move_in(&mover, 0), *new = onx_move_in(&mover, 1);
    char *to = onx_move_out(&mover, 0);
    onx_copy all = onx_copy_begin(size);
    onx_copy_dim(&all, cache->count, 1, 1);
    if (from != to) ONX_TRY(onx_copy_run(call, &all, from, to));
    int64_t inner = onx_inner_count(cache, axis + 1);
    int64_t sequences = update->count ? update->count / n / inner : 0;
    size_t bytes = (size_t)inner * size;
    for (int64_t i = 0; i < sequences; i++) {
        if (i % 1024 == 0) ONX_TRY(onx_call_check(call));
        write_sequence(to + (size_t)(i * room) * bytes, new + (size_t)(i * n) * bytes,
                       place_of(call, i / (sequences / batch), room), n, room, bytes);
    }
    return onx_move_end(call, 0, to);
}
