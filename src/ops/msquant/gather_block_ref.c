/* gather_block_ref.c: GatherBlockQuantized: rows of a quantized table, as floats: plain kernel.
 *
 * Data are 4-bit integers, or bytes that hold 8, 4 or 2 bits each along the last axis, which then
 * is the one that has the blocks. An index out of range fails. */
#include "ops/msquant/msquant_ref.h"
#include "ops/view/move_ref.h"

enum { SPAN = 256, TASK = 64 * SPAN };
enum { DATA, INDICES, SCALES, ZEROS };

typedef struct state {
    int64_t gather, quantize, block; /* axes as written; elements with one scale */
    unsigned bits;
    bool bytes; /* data are bytes */
} state;

onx_status onx_gather_blocks_init(onx_call *call) {
    state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    int64_t bits = onx_call_int(call, "bits");
    *st = (state){.gather = onx_call_int(call, "gather_axis"),
                  .quantize = onx_call_int(call, "quantize_axis"),
                  .block = onx_call_int(call, "block_size"),
                  .bits = (unsigned)bits,
                  .bytes = call->in[DATA]->dtype == ONX_DTYPE_U8};
    if (bits != 4 && (!st->bytes || (bits != 2 && bits != 8)))
        return onx_call_fail(call, ONX_INVALID, "bits is %lld; it can be %s", (long long)bits,
                             st->bytes ? "2, 4 or 8" : "4");
    if (st->block < 16 || (st->block & (st->block - 1)))
        return onx_call_fail(call, ONX_INVALID,
                             "block_size is %lld; it must be a power of two, at least 16",
                             (long long)st->block);
    return ONX_OK;
}

/* ── Shapes ──────────────────────────────────────────────────────────────────────────────────── */

/* Elements of data along each dimension. */
static onx_status unpacked_dims(const onx_call *call, int64_t dims[ONX_RANK_MAX]) {
    const state *st = call->state;
    const onx_operand *data = call->in[DATA];
    memcpy(dims, data->dims, sizeof data->dims);
    size_t last = (size_t)data->rank - 1;
    if (st->bytes && !onx_mul_i64(dims[last], 8 / st->bits, &dims[last]))
        return onx_call_fail(call, ONX_INVALID, "data are too large");
    return ONX_OK;
}

static onx_status find_axes(const onx_call *call, size_t *gather, size_t *quantize) {
    const state *st = call->state;
    size_t rank = call->in[DATA]->rank;
    if (rank < 2) return onx_call_fail(call, ONX_INVALID, "data needs at least 2 dimensions");
    ONX_TRY(onx_axis_of(call, st->gather, rank, gather));
    ONX_TRY(onx_axis_of(call, st->quantize, rank, quantize));
    if (!st->bytes || (*gather == 0 && *quantize == rank - 1)) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID,
                         "of bytes, gather_axis must be 0, and quantize_axis the last one");
}

/* A scale for each block; zero points as many, of bytes packed along the axis. */
static onx_status check_params(const onx_call *call, const int64_t *dims, size_t axis) {
    const state *st = call->state;
    const onx_operand *data = call->in[DATA], *scales = call->in[SCALES];
    const onx_operand *zeros = onx_call_in(call, ZEROS);
    int64_t per = st->bytes ? 8 / st->bits : 1;
    bool fits = scales->rank == data->rank;
    bool fits_zeros = !zeros || (zeros->rank == data->rank && zeros->dtype == data->dtype);
    for (size_t i = 0; fits && fits_zeros && i < data->rank; i++) {
        int64_t n = i == axis ? dims[i] / st->block + (dims[i] % st->block != 0) : dims[i];
        fits = scales->dims[i] == n;
        fits_zeros = !zeros || zeros->dims[i] == (i == axis ? n / per + (n % per != 0) : n);
    }
    if (fits && fits_zeros) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "%s must have one for each block of %lld of data",
                         fits ? "zero_points" : "scales", (long long)st->block);
}

onx_status onx_gather_blocks_bind(onx_call *call) {
    const state *st = call->state;
    const onx_operand *data = call->in[DATA], *indices = call->in[INDICES];
    onx_gather_blocks *plan = call->plan;
    int64_t from[ONX_RANK_MAX], dims[2 * ONX_RANK_MAX];
    size_t gather, quantize, n = 0;
    ONX_TRY(find_axes(call, &gather, &quantize));
    ONX_TRY(unpacked_dims(call, from));
    ONX_TRY(check_params(call, from, quantize));
    *plan = (onx_gather_blocks){.size = from[gather], .inner = 1, .bits = st->bits};
    for (size_t i = 0; i < gather; i++) dims[n++] = from[i];
    for (size_t i = 0; i < indices->rank; i++) dims[n++] = indices->dims[i];
    for (size_t i = gather + 1; i < data->rank; i++) dims[n++] = from[i];
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)call->in[SCALES]->dtype, n, dims));
    if (!data->count) return ONX_OK;
    plan->grid = onx_grid_blocks(data->rank, from, quantize, (size_t)st->block);
    for (size_t i = gather + 1; i < data->rank; i++) plan->inner *= from[i];
    if (onx_param_bytes(call->in[SCALES], &call->scratch_bytes) &&
        onx_param_bytes(call->in[SCALES], &call->scratch_bytes))
        return ONX_OK;
    return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
}

/* ── Elements ────────────────────────────────────────────────────────────────────────────────── */

typedef struct job {
    const onx_gather_blocks *plan;
    const double *scales, *zeros;
    const uint8_t *data;
    bool is_signed;
} job;

static double code_at(const job *j, size_t at) {
    unsigned bits = j->plan->bits, per = 8 / bits;
    int code = j->data[at / per] >> at % per * bits & ((1 << bits) - 1);
    return (double)(j->is_signed ? (code ^ 8) - 8 : code);
}

/* Zero points of bytes are packed in rows, one for each row of scales. */
static void unpack_zeros(const onx_call *call, const uint8_t *from, double *out) {
    const state *st = call->state;
    const onx_operand *scales = call->in[SCALES];
    size_t row = (size_t)scales->dims[scales->rank - 1], per = 8 / st->bits;
    size_t bytes = row / per + (row % per != 0), mask = (1u << st->bits) - 1;
    for (size_t i = 0; i < (size_t)scales->count; i++) {
        size_t at = i % row;
        out[i] = (double)(from[i / row * bytes + at / per] >> at % per * st->bits & mask);
    }
}

static const double *read_zeros(const onx_call *call, char *scratch) {
    const state *st = call->state;
    const onx_operand *zeros = onx_call_in(call, ZEROS);
    double *out = (double *)(void *)scratch;
    if (zeros && st->bytes)
        unpack_zeros(call, zeros->data, out);
    else if (zeros)
        (void)onx_param_read(zeros, &scratch);
    else
        for (int64_t i = 0; i < call->in[SCALES]->count; i++)
            out[i] = st->bytes ? (double)(1u << (st->bits - 1)) : 0;
    return out;
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_operand *y = call->out[0], *indices = call->in[INDICES];
    size_t at = index * TASK, all = (size_t)y->count, end = all - at < TASK ? all : at + TASK;
    size_t inner = (size_t)j->plan->inner, n_index = (size_t)indices->count;
    double x[SPAN], scale[SPAN], zero[SPAN];
    (void)scratch;
    while (at < end) {
        size_t row = at / inner, in_row = at % inner, n = inner - in_row;
        int64_t i = onx_operand_int(indices, (int64_t)(row % n_index));
        size_t from =
            row / n_index * (size_t)j->plan->size + (size_t)(i < 0 ? i + j->plan->size : i);
        from = from * inner + in_row;
        if (n > end - at) n = end - at;
        if (n > SPAN) n = SPAN;
        onx_grid_fill(&j->plan->grid, from, n, j->scales, scale);
        onx_grid_fill(&j->plan->grid, from, n, j->zeros, zero);
        for (size_t e = 0; e < n; e++) x[e] = (code_at(j, from + e) - zero[e]) * scale[e];
        onx_operand_put(y, at, n, x);
        at += n;
    }
    return ONX_OK;
}

onx_status onx_gather_blocks_run(onx_call *call) {
    const onx_gather_blocks *plan = call->plan;
    const onx_operand *indices = call->in[INDICES];
    char *scratch = call->scratch;
    for (int64_t i = 0; i < indices->count; i++) {
        int64_t index = onx_operand_int(indices, i);
        if (index < -plan->size || index >= plan->size)
            return onx_call_fail(call, ONX_INVALID,
                                 "index %lld is out of range for a dimension of %lld",
                                 (long long)index, (long long)plan->size);
    }
    size_t all = (size_t)call->out[0]->count;
    if (!all) return ONX_OK;
    job j = {.plan = plan, .data = call->in[DATA]->data};
    j.is_signed = call->in[DATA]->dtype == ONX_DTYPE_I4;
    j.scales = onx_param_read(call->in[SCALES], &scratch);
    j.zeros = read_zeros(call, scratch);
    return onx_call_parallel(call, all / TASK + (all % TASK != 0), task, &j);
}
