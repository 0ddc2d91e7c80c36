/* nbits_ref.c: MatMulNBits: plain kernel. Weights of 2 to 8 bits lie in blocks along K, N columns
 * one after the other; tasks make some columns of them floats and multiply them with all of A.
 * Each weight is made once, products are summed in double. Prepacked weights are not read. */
#include "ir/dtype.h"
#include "ops/msquant/msquant_ref.h"
#include "ops/quant/product_ref.h"

typedef onx_nbits_state state;

onx_status onx_nbits_init(onx_call *call) {
    state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    int64_t bits = onx_call_int(call, "bits");
    *st = (state){.k = onx_call_int(call, "K"),
                  .n = onx_call_int(call, "N"),
                  .block = onx_call_int(call, "block_size"),
                  .bits = (unsigned)bits};
    if (st->k < 1 || st->n < 1)
        return onx_call_fail(call, ONX_INVALID, "K is %lld and N %lld; they must be at least 1",
                             (long long)st->k, (long long)st->n);
    if (st->block < 16 || (st->block & (st->block - 1)))
        return onx_call_fail(call, ONX_INVALID,
                             "block_size is %lld; it must be a power of two, at least 16",
                             (long long)st->block);
    if (bits < 2 || bits > 8)
        return onx_call_fail(call, ONX_INVALID, "bits is %lld; it can be 2 to 8", (long long)bits);
    if (onx_call_int(call, "weight_prepacked"))
        return onx_call_fail(call, ONX_UNSUPPORTED,
                             "the weights are prepacked for another runtime");
    st->blocks = st->k / st->block + (st->k % st->block != 0);
    return ONX_OK;
}

/* ── Shapes ──────────────────────────────────────────────────────────────────────────────────── */

/* N rows of `row`, or all of them as a list. */
static onx_status check_rows(const onx_call *call, size_t index, const char *name, int64_t row) {
    const state *st = call->state;
    const onx_operand *x = onx_call_in(call, index);
    int64_t all;
    if (!x) return ONX_OK;
    if (onx_mul_i64(st->n, row, &all) && x->count == all &&
        (x->rank == 1 || (x->rank == 2 && x->dims[0] == st->n)))
        return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "%s must be [%lld,%lld]", name, (long long)st->n,
                         (long long)row);
}

static onx_status check_shapes(onx_call *call, int64_t blob) {
    const state *st = call->state;
    const onx_operand *a = call->in[ONX_NBITS_A], *b = call->in[ONX_NBITS_B],
                      *zeros = onx_call_in(call, ONX_NBITS_ZEROS);
    const onx_operand *groups = onx_call_in(call, ONX_NBITS_GROUPS),
                      *bias = onx_call_in(call, ONX_NBITS_BIAS);
    if (a->rank < 1 || a->dims[a->rank - 1] != st->k)
        return onx_call_fail(call, ONX_INVALID, "A needs rows of %lld, which is K",
                             (long long)st->k);
    if (b->rank != 3 || b->dims[0] != st->n || b->dims[1] != st->blocks || b->dims[2] != blob)
        return onx_call_fail(call, ONX_INVALID, "B must be [%lld,%lld,%lld]", (long long)st->n,
                             (long long)st->blocks, (long long)blob);
    int64_t packed = (st->blocks * st->bits + 7) / 8; /* B has as many bytes, at least */
    bool is_packed = zeros && zeros->dtype == ONX_DTYPE_U8;
    ONX_TRY(check_rows(call, ONX_NBITS_SCALES, "scales", st->blocks));
    ONX_TRY(check_rows(call, ONX_NBITS_ZEROS, "zero_points", is_packed ? packed : st->blocks));
    if (groups && (groups->rank != 1 ||
                   (groups->dims[0] != st->k && groups->dims[0] != st->blocks * st->block)))
        return onx_call_fail(call, ONX_INVALID, "g_idx must be a list of %lld", (long long)st->k);
    if (bias && (bias->rank != 1 || bias->dims[0] != st->n))
        return onx_call_fail(call, ONX_INVALID, "bias must be a list of %lld", (long long)st->n);
    return ONX_OK;
}

/* A as floats, scales and zero points (in packed form: only those of a column) as doubles; for each
 * worker a column of weights, as codes and as floats, and its zero points. */
onx_status onx_nbits_bind(onx_call *call) {
    const state *st = call->state;
    const onx_operand *a = call->in[ONX_NBITS_A];
    int64_t dims[ONX_RANK_MAX], blob;
    size_t floats, each;
    if (!onx_mul_i64(st->block, st->bits, &blob))
        return onx_call_fail(call, ONX_LIMIT, "block_size is too large");
    ONX_TRY(check_shapes(call, blob / 8));
    if (!onx_mul_size((size_t)a->count, sizeof(float), &floats) ||
        !onx_add_size(call->scratch_bytes, floats, &call->scratch_bytes) ||
        !onx_param_bytes(call->in[ONX_NBITS_SCALES], &call->scratch_bytes) ||
        !onx_param_bytes(onx_call_in(call, ONX_NBITS_ZEROS), &call->scratch_bytes) ||
        !onx_mul_size((size_t)(st->blocks * st->block), 1 + sizeof(float), &each) ||
        !onx_add_size(each, (size_t)st->blocks, &call->scratch_each))
        return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
    memcpy(dims, a->dims, sizeof dims);
    dims[a->rank - 1] = st->n;
    return onx_call_shape(call, 0, (onx_dtype)a->dtype, a->rank, dims);
}

/* ── Columns ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct job {
    const state *state;
    const float *a;
    const double *scales, *zeros; /* zeros NULL: packed, or none */
    const uint8_t *packed;        /* zero points; NULL: none, or not packed */
    const char *groups;           /* int32, may be unaligned; NULL: blocks of K */
    size_t rows;                  /* of A */
    size_t columns;               /* of a task */
} job;

static size_t group_of(const job *j, size_t k) {
    int32_t group;
    if (!j->groups) return k / (size_t)j->state->block;
    memcpy(&group, j->groups + k * sizeof group, sizeof group);
    return (size_t)group;
}

/* The weights of a column; `scratch` has room for codes of those and of zero points behind. */
static const float *make_column(const job *j, const uint8_t *b, size_t column, void *scratch) {
    const state *st = j->state;
    size_t all = (size_t)(st->blocks * st->block), blocks = (size_t)st->blocks;
    float *out = scratch;
    uint8_t *codes = (uint8_t *)(out + all), *zeros = codes + all;
    size_t bytes = all / 8 * st->bits, zero_bytes = (blocks * st->bits + 7) / 8;
    onx_dtype_unpack(st->bits, b + column * bytes, codes, all);
    if (j->packed) onx_dtype_unpack(st->bits, j->packed + column * zero_bytes, zeros, blocks);
    for (size_t k = 0; k < (size_t)st->k; k++) {
        size_t group = group_of(j, k), at = column * blocks + group;
        double zero = j->packed  ? (double)zeros[group]
                      : j->zeros ? j->zeros[at]
                                 : (double)(1u << (st->bits - 1));
        out[k] = (float)(((double)codes[k] - zero) * j->scales[at]);
    }
    return out;
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_operand *y = call->out[0], *bias = onx_call_in(call, ONX_NBITS_BIAS);
    size_t n = (size_t)j->state->n, k = (size_t)j->state->k, first = index * j->columns;
    size_t end = n - first < j->columns ? n : first + j->columns;
    for (size_t column = first; column < end; column++) {
        const float *b = make_column(j, call->in[ONX_NBITS_B]->data, column, scratch);
        double more = 0;
        if (bias) onx_operand_get(bias, column, 1, &more);
        for (size_t row = 0; row < j->rows; row++) {
            if (row % 64 == 0 && onx_call_stopped(call)) return ONX_CANCELLED;
            double sum = onx_dot_f32(j->a + row * k, b, k) + more;
            onx_operand_put(y, row * n + column, 1, &sum);
        }
    }
    return ONX_OK;
}

static onx_status check_groups(const onx_call *call, int64_t blocks) {
    const onx_operand *groups = onx_call_in(call, ONX_NBITS_GROUPS);
    for (int64_t i = 0; groups && i < groups->count; i++) {
        int64_t group = onx_operand_int(groups, i);
        if (group < 0 || group >= blocks)
            return onx_call_fail(call, ONX_INVALID, "g_idx has %lld; there are %lld blocks",
                                 (long long)group, (long long)blocks);
    }
    return ONX_OK;
}

static const float *floats_of(const onx_operand *a, char **scratch) {
    float *out = (float *)(void *)*scratch;
    *scratch += (size_t)a->count * sizeof *out;
    if (!a->count) return out;
    if (a->dtype == ONX_DTYPE_F32)
        memcpy(out, a->data, a->bytes);
    else
        (void)onx_dtype_convert((onx_dtype)a->dtype, a->data, ONX_DTYPE_F32, out,
                                (uint64_t)a->count, false);
    return out;
}

onx_status onx_nbits_run(onx_call *call) {
    const state *st = call->state;
    const onx_operand *a = call->in[ONX_NBITS_A], *zeros = onx_call_in(call, ONX_NBITS_ZEROS);
    const onx_operand *groups = onx_call_in(call, ONX_NBITS_GROUPS);
    char *scratch = call->scratch;
    bool packed = zeros && zeros->dtype == ONX_DTYPE_U8;
    ONX_TRY(check_groups(call, st->blocks));
    if (!call->out[0]->count) return ONX_OK;
    job j = {.state = st, .rows = (size_t)(a->count / st->k)};
    j.scales = onx_param_read(call->in[ONX_NBITS_SCALES], &scratch);
    if (packed)
        j.packed = zeros->data;
    else
        j.zeros = onx_param_read(zeros, &scratch);
    j.a = floats_of(a, &scratch);
    j.groups = groups ? groups->data : NULL;
    j.columns = ((size_t)1 << 20) / ((size_t)st->k * (j.rows + 4)) + 1;
    return onx_call_parallel(call, ((size_t)st->n - 1) / j.columns + 1, task, &j);
}
