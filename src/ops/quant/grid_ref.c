/* grid_ref.c: see grid_ref.h. */
#include "ops/quant/grid_ref.h"

#include <math.h>

bool onx_param_single(const onx_operand *operand) {
    return operand->count == 1 && operand->rank < 2;
}

onx_grid onx_grid_blocks(size_t rank, const int64_t *dims, size_t axis, size_t block) {
    onx_grid g = {.outer = 1, .n = (size_t)dims[axis], .inner = 1, .block = block};
    for (size_t i = 0; i < axis; i++) g.outer *= (size_t)dims[i];
    for (size_t i = axis + 1; i < rank; i++) g.inner *= (size_t)dims[i];
    g.inner_step = 1;
    g.axis_step = g.inner;
    g.outer_step = g.inner * (g.n / block + (g.n % block != 0));
    return g;
}

/* Of the rank of x, as large as it, and along the axis a scale for each block. */
static onx_status check_blocks(const onx_call *call, const onx_operand *x, const onx_operand *scale,
                               size_t axis, int64_t block) {
    for (size_t i = 0; i < x->rank; i++) {
        int64_t wanted = x->dims[i];
        if (i == axis) wanted = wanted / block + (wanted % block != 0);
        if (scale->dims[i] != wanted)
            return onx_call_fail(call, ONX_INVALID,
                                 "dimension %zu of the scale is %lld; for blocks of %lld it must "
                                 "be %lld",
                                 i, (long long)scale->dims[i], (long long)block, (long long)wanted);
    }
    return ONX_OK;
}

/* Products of an empty tensor's sizes are not needed, and might overflow. */
onx_status onx_grid_bind(const onx_call *call, const onx_operand *x, const onx_operand *scale,
                         int64_t axis, int64_t block, onx_grid *out) {
    size_t at;
    *out = (onx_grid){1, 1, 1, 1, 0, 0, 0};
    if (block < 0) return onx_call_fail(call, ONX_INVALID, "block_size is %lld", (long long)block);
    out->inner = (size_t)x->count;
    if (onx_param_single(scale)) return ONX_OK;
    if (call->op->since < 13 && !call->op->domain)
        return onx_call_fail(call, ONX_INVALID, "the scale must be a scalar before opset 13");
    if (!onx_axis(axis, x->rank, &at))
        return onx_call_fail(call, ONX_INVALID, "axis %lld is not a dimension of rank %u",
                             (long long)axis, (unsigned)x->rank);
    if (block && scale->rank == x->rank) {
        ONX_TRY(check_blocks(call, x, scale, at, block));
        if (x->count) *out = onx_grid_blocks(x->rank, x->dims, at, (size_t)block);
        return ONX_OK;
    }
    if (scale->rank != 1 || scale->dims[0] != x->dims[at])
        return onx_call_fail(call, ONX_INVALID,
                             "the scale must be a scalar, or a list of %lld, one for each index of "
                             "axis %zu",
                             (long long)x->dims[at], at);
    if (!x->count) return ONX_OK;
    *out = onx_grid_blocks(x->rank, x->dims, at, 1);
    out->outer_step = out->inner_step = 0;
    out->axis_step = 1;
    if (out->inner == 1) /* the last axis: scales lie as the elements do */
        *out = (onx_grid){out->outer, 1, out->n, 1, 0, 0, 1};
    return ONX_OK;
}

size_t onx_grid_run(const onx_grid *g, size_t at, size_t n, size_t *param, size_t *each) {
    size_t j = at % g->inner, i = at / g->inner % g->n, o = at / g->inner / g->n, rows = 1;
    *each = g->inner > 1 && g->inner_step;
    if (!*each) rows = g->block - i % g->block < g->n - i ? g->block - i % g->block : g->n - i;
    *param = o * g->outer_step + i / g->block * g->axis_step + j * g->inner_step;
    size_t run = rows * g->inner - j;
    return run < n ? run : n;
}

void onx_grid_fill(const onx_grid *g, size_t at, size_t n, const double *params, double *out) {
    while (n) {
        size_t param, each, run = onx_grid_run(g, at, n, &param, &each);
        for (size_t k = 0; k < run; k++) out[k] = params[param + k * each];
        at += run;
        out += run;
        n -= run;
    }
}

/* ── Parameters ──────────────────────────────────────────────────────────────────────────────── */

onx_status onx_param_match(const onx_call *call, const onx_operand *scale,
                           const onx_operand *zero) {
    if (!zero || (onx_param_single(scale) && onx_param_single(zero))) return ONX_OK;
    bool fits = scale->rank == zero->rank;
    for (size_t i = 0; fits && i < scale->rank; i++) fits = scale->dims[i] == zero->dims[i];
    if (fits) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "scale and zero point must have the same shape");
}

bool onx_param_bytes(const onx_operand *operand, size_t *bytes) {
    size_t more;
    if (!operand) return true;
    return onx_mul_size((size_t)operand->count, sizeof(double), &more) &&
           onx_add_size(*bytes, more, bytes);
}

double *onx_param_read(const onx_operand *operand, char **scratch) {
    double *out = (double *)(void *)*scratch;
    if (!operand) return NULL;
    onx_operand_get(operand, 0, (size_t)operand->count, out);
    *scratch += (size_t)operand->count * sizeof(double);
    return out;
}

double onx_param_one(const onx_operand *operand, double absent) {
    if (!operand) return absent;
    onx_operand_get(operand, 0, 1, &absent);
    return absent;
}

/* ── Rounding ────────────────────────────────────────────────────────────────────────────────── */

onx_range onx_range_of(onx_dtype dtype) {
    static const onx_range ranges[ONX_DTYPE_COUNT] = {
        [ONX_DTYPE_I2] = {-2, 1, false},          [ONX_DTYPE_U2] = {0, 3, false},
        [ONX_DTYPE_I4] = {-8, 7, false},          [ONX_DTYPE_U4] = {0, 15, false},
        [ONX_DTYPE_I8] = {-128, 127, false},      [ONX_DTYPE_U8] = {0, 255, false},
        [ONX_DTYPE_I16] = {-32768, 32767, false}, [ONX_DTYPE_U16] = {0, 65535, false},
    };
    if (ranges[dtype].hi > 0) return ranges[dtype];
    return (onx_range){-INFINITY, INFINITY, true};
}
