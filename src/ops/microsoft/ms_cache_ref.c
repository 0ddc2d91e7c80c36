/* ms_cache_ref.c: keys and values as integers: x / scale, to the nearest, ties to even, and to the
 * ends of the range; a scale of 0 counts as 1. */
#include "ops/microsoft/ms_cache_ref.h"

#include <math.h>

onx_dtype onx_ms_cache_dtype(unsigned bits, const onx_operand *query) {
    return bits == 8 ? ONX_DTYPE_I8 : bits == 4 ? ONX_DTYPE_U8 : (onx_dtype)query->dtype;
}

onx_rows onx_ms_cache_rows(const onx_ms_cache *c, void *to) {
    onx_dtype dtype = onx_ms_cache_dtype(c->bits, NULL);
    onx_rows rows = onx_rows_in(to, dtype, c->heads, c->length, c->stored);
    rows.bits = c->bits;
    rows.scales = c->scales;
    return rows;
}

static double nearest(double x, double scale, double least, double most) {
    float q = rintf((float)x * (scale != 0 ? 1.0f / (float)scale : 1.0f));
    return isnan(q) ? 0 : fmax(least, fmin(most, (double)q));
}

/* One row, in place: what is stored are its first elements then. */
static void pack_row(const onx_ms_cache *c, int64_t head, double *x) {
    onx_rows scales = {.data = c->scales->data, .dtype = (onx_dtype)c->scales->dtype};
    double scale = 1, most = c->bits == 8 ? 127 : 7;
    for (int64_t i = 0; i < c->size; i++) {
        if (c->scales->count > 1 || i == 0)
            onx_rows_get(&scales, c->scales->count > 1 ? (size_t)(head * c->size + i) : 0, 1,
                         &scale);
        double q = nearest(x[i], scale, -most - 1, most);
        if (c->bits == 8)
            x[i] = q;
        else
            x[i / 2] = i % 2 ? x[i / 2] + 16 * (q + 8) : q + 8;
    }
    if (c->bits == 4 && c->size % 2) x[c->size / 2] += 16 * 8;
}

typedef struct job {
    const onx_ms_cache *cache;
    onx_rows to;
} job;

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    const onx_ms_cache *c = j->cache;
    int64_t b = (int64_t)index / c->heads, h = (int64_t)index % c->heads;
    double *x = scratch;
    for (int64_t s = 0; s < c->length; s++) {
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        onx_rows_get(&c->from, onx_rows_at(&c->from, b, h, s), c->size, x);
        pack_row(c, h, x);
        onx_rows_put(&j->to, onx_rows_at(&j->to, b, h, s), c->stored, x);
    }
    return ONX_OK;
}

onx_status onx_ms_cache_pack(onx_call *call, const onx_ms_cache *cache, void *to) {
    job j = {cache, onx_ms_cache_rows(cache, to)};
    return onx_call_parallel(call, (size_t)(cache->batch * cache->heads), task, &j);
}
