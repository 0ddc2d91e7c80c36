/* rotary_ref.c: RotaryEmbedding: plain loops, all types.
 *
 *     y1 = x1 cos - x2 sin
 *     y2 = x1 sin + x2 cos        for each pair of a head, with the angles of its place */
#include "ops/attention/rotary_ref.h"

enum { TASK_ELEMENTS = 1 << 14 };

onx_status onx_rotary_scratch(onx_call *call, int64_t head) {
    size_t bytes;
    if (!onx_mul_size((size_t)head, 4 * sizeof(double), &bytes)) return onx_fail_nomem(call->diag);
    if (call->scratch_each < bytes) call->scratch_each = bytes;
    return ONX_OK;
}

onx_status onx_rotary_check(const onx_call *call, int64_t head, int64_t turned, int64_t width) {
    if (turned < 0 || turned % 2 || turned > head)
        return onx_call_fail(call, ONX_INVALID,
                             "%lld elements of a head of %lld cannot be turned in pairs",
                             (long long)turned, (long long)head);
    if (width == turned / 2) return ONX_OK;
    return onx_call_fail(call, ONX_INVALID, "the caches have rows of %lld; %lld values need %lld",
                         (long long)width, (long long)turned, (long long)turned / 2);
}

/* One head at one place. */
static void turn(const onx_rotary *r, int64_t b, int64_t h, int64_t s, const double *angles,
                 double *x) {
    int64_t half = r->turned / 2, step = r->alternate ? 2 : 1, apart = r->alternate ? 1 : half;
    const double *cosines = angles, *sines = angles + half;
    onx_rows_get(&r->x, onx_rows_at(&r->x, b, h, s), r->head, x);
    for (int64_t i = 0; i < half; i++) {
        double *p = x + i * step, *q = p + apart, real = *p, imaginary = *q;
        *p = real * cosines[i] - imaginary * sines[i];
        *q = real * sines[i] + imaginary * cosines[i];
    }
    onx_rows_put(&r->y, onx_rows_at(&r->y, b, h, s), r->head, x);
}

/* The same of floats, as such, where those of a pair are a half apart: n bytes of each half. */
static inline __attribute__((always_inline)) void turn_some(const char *x, const char *cosines,
                                                            const char *sines, char *y, size_t half,
                                                            size_t n) {
    typedef float some __attribute__((vector_size(16)));
    some real = {0}, imaginary = {0}, c = {0}, s = {0};
    memcpy(&real, x, n), memcpy(&imaginary, x + half, n);
    memcpy(&c, cosines, n), memcpy(&s, sines, n);
    some low = real * c - imaginary * s, high = real * s + imaginary * c;
    memcpy(y, &low, n), memcpy(y + half, &high, n);
}

static void turn_floats(const onx_rotary *r, int64_t b, int64_t h, int64_t s, const char *cosines,
                        const char *sines) {
    const size_t one = sizeof(float), many = 4 * one, half = (size_t)r->turned / 2 * one;
    const char *x = r->x.data + onx_rows_at(&r->x, b, h, s) * one;
    char *y = r->y.data + onx_rows_at(&r->y, b, h, s) * one;
    size_t at = 0, rest = (size_t)(r->head - r->turned) * one;
    for (; at + many <= half; at += many)
        turn_some(x + at, cosines + at, sines + at, y + at, half, many);
    for (; at < half; at += one) turn_some(x + at, cosines + at, sines + at, y + at, half, one);
    if (rest && x != y) memcpy(y + 2 * half, x + 2 * half, rest);
}

static int64_t grain_of(const onx_rotary *r) {
    int64_t elements = r->heads * r->head;
    return elements < TASK_ELEMENTS ? TASK_ELEMENTS / (elements + 1) + 1 : 1;
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const onx_rotary *r = user;
    int64_t grain = grain_of(r), first = (int64_t)index * grain, end = first + grain;
    double *angles = scratch, *x = angles + r->turned;
    onx_rows caches[2] = {{.data = r->cosines->data, .dtype = (onx_dtype)r->cosines->dtype},
                          {.data = r->sines->data, .dtype = (onx_dtype)r->sines->dtype}};
    bool floats = !r->alternate && r->x.dtype == ONX_DTYPE_F32 && r->y.dtype == ONX_DTYPE_F32 &&
                  caches[0].dtype == ONX_DTYPE_F32 && caches[1].dtype == ONX_DTYPE_F32;
    for (int64_t at = first; at < end && at < r->batch * r->length; at++) {
        int64_t b = at / r->length, s = at % r->length, half = r->turned / 2;
        size_t row = (size_t)(r->place(r, b, s) * half);
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        for (int64_t h = 0; floats && h < r->heads; h++)
            turn_floats(r, b, h, s, caches[0].data + row * sizeof(float),
                        caches[1].data + row * sizeof(float));
        if (floats) continue;
        onx_rows_get(&caches[0], row, half, angles);
        onx_rows_get(&caches[1], row, half, angles + half);
        for (int64_t h = 0; h < r->heads; h++) turn(r, b, h, s, angles, x);
    }
    return ONX_OK;
}

onx_status onx_rotary_run(onx_call *call, const onx_rotary *r) {
    int64_t grain = grain_of(r), places = r->batch * r->length;
    if (!places || !r->heads || !r->head) return ONX_OK;
    for (int64_t at = 0; at < places; at++) {
        int64_t row = r->place(r, at / r->length, at % r->length);
        if (row >= 0 && row < r->rows) continue;
        return onx_call_fail(call, ONX_INVALID, "there is no position %lld: the caches have %lld",
                             (long long)row, (long long)r->rows);
    }
    return onx_call_parallel(call, (size_t)((places - 1) / grain + 1), task, (void *)(uintptr_t)r);
}

/* ─ RotaryEmbedding ──────────────────────────────────────────────────────────────────────────── */

onx_status onx_rotary_init(onx_call *call) {
    onx_rotary_state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->heads = onx_call_int(call, "num_heads");
    st->turned = onx_call_int(call, "rotary_embedding_dim");
    st->alternate = onx_call_int(call, "interleaved") != 0;
    return ONX_OK;
}

static onx_status bind_input(const onx_call *call, onx_rotary_plan *p) {
    const onx_rotary_state *st = call->state;
    const onx_operand *x = call->in[0];
    const int64_t *dims = x->dims;
    if (x->rank != 3 && x->rank != 4)
        return onx_call_fail(call, ONX_INVALID, "X has %u dimensions; it needs 3 or 4",
                             (unsigned)x->rank);
    if (x->rank == 4) {
        *p = (onx_rotary_plan){dims[0], dims[1], dims[2], dims[3], 0, 0};
        return ONX_OK;
    }
    if (st->heads < 1 || dims[2] % st->heads)
        return onx_call_fail(call, ONX_INVALID,
                             "the last size, %lld, is not a multiple of num_heads, %lld",
                             (long long)dims[2], (long long)st->heads);
    *p = (onx_rotary_plan){dims[0], st->heads, dims[1], dims[2] / st->heads, 0, 0};
    return ONX_OK;
}

/* Caches of [rows, width] with places, else of [batch, length, width]. */
static onx_status bind_caches(const onx_call *call, onx_rotary_plan *p) {
    const onx_operand *c = call->in[1], *s = call->in[2], *places = onx_call_in(call, 3);
    size_t rank = places ? 2 : 3;
    bool same = c->rank == rank && s->rank == rank;
    for (size_t i = 0; i < rank && same; i++) same = c->dims[i] == s->dims[i];
    if (!same || (!places && (c->dims[0] != p->batch || c->dims[1] != p->length)))
        return onx_call_fail(call, ONX_INVALID, "cos_cache and sin_cache need the sizes %s",
                             places ? "[positions, angles]" : "[batch, length, angles]");
    if (places &&
        (places->rank != 2 || places->dims[0] != p->batch || places->dims[1] != p->length))
        return onx_call_fail(call, ONX_INVALID,
                             "position_ids needs a number for each place of each batch");
    p->rows = places ? c->dims[0] : p->batch * p->length;
    return onx_rotary_check(call, p->head, p->turned, c->dims[rank - 1]);
}

onx_status onx_rotary_bind(onx_call *call) {
    const onx_rotary_state *st = call->state;
    onx_rotary_plan *p = call->plan;
    ONX_TRY(bind_input(call, p));
    p->turned = st->turned ? st->turned : p->head;
    ONX_TRY(onx_bind_same(call));
    if (call->in[0]->count == 0) p->length = 0;
    if (p->length) ONX_TRY(bind_caches(call, p));
    return p->length ? onx_rotary_scratch(call, p->head) : ONX_OK;
}

/* Places count from the end if they are negative, as indices do. */
static int64_t place(const onx_rotary *r, int64_t b, int64_t s) {
    const onx_operand *places = r->more;
    int64_t at = b * r->length + s;
    if (!places) return at;
    int64_t row = onx_operand_int(places, at);
    return row < 0 && row >= -r->rows ? row + r->rows : row;
}

onx_status onx_rotary_run_plan(onx_call *call, size_t caches, onx_rotary_place *of,
                               const onx_operand *places) {
    const onx_rotary_plan *p = call->plan;
    const onx_rotary_state *st = call->state;
    onx_rotary r = {.cosines = call->in[caches], .sines = call->in[caches + 1], .batch = p->batch};
    r.x = onx_rows_of(call->in[0], p->heads);
    r.y = onx_rows_of(call->out[0], p->heads);
    r.heads = p->heads, r.length = p->length, r.head = p->head;
    r.turned = p->turned;
    r.alternate = st->alternate;
    r.rows = p->rows;
    r.place = of;
    r.more = places;
    return onx_rotary_run(call, &r);
}

onx_status onx_rotary_run_rows(onx_call *call) {
    if (!call->out[0]->count) return ONX_OK;
    return onx_rotary_run_plan(call, 1, place, onx_call_in(call, 3));
}
