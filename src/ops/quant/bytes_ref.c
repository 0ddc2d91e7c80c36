/* bytes_ref.c: see bytes_ref.h: packing of weights, and parameters. */
#include "ops/quant/bytes_ref.h"

/* ── Weights ─────────────────────────────────────────────────────────────────────────────────── */

size_t onx_qweights_panel(const onx_qweights *w, const onx_qgemm *gemm) {
    return onx_qweights_k(w) * onx_qweights_taps(w) * gemm->columns;
}

/* Byte k of a column whose taps all follow one another. */
static uint8_t joined_at(const onx_qweights *w, const uint8_t *column, size_t k) {
    return (uint8_t)(column[k / w->k * w->tap + k % w->k * w->step] ^ w->flip);
}

static void pack_joined(const onx_qweights *w, size_t columns, const uint8_t *from, size_t n,
                        int8_t *panel) {
    size_t all = w->joined * w->k, step = onx_qweights_k(w);
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < w->taps * w->k; k++) {
            size_t at = k / all * step + k % all;
            panel[(at / 4 * columns + j) * 4 + at % 4] =
                (int8_t)joined_at(w, from + j * w->column, k);
        }
}

static inline uint32_t four_at(const uint8_t *p, size_t step, uint32_t flip) {
    return ((uint32_t)p[0] | (uint32_t)p[step] << 8 | (uint32_t)p[2 * step] << 16 |
            (uint32_t)p[3 * step] << 24) ^
           flip;
}

/* Column by column, as weights of a convolution lie. */
static void pack_columns(const onx_qweights *w, size_t columns, const uint8_t *from, size_t n,
                         uint32_t *panel) {
    size_t fours = w->k / 4;
    uint32_t flip = w->flip * 0x01010101u;
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < fours; k++)
            for (size_t t = 0; t < w->taps; t++)
                panel[(t * fours + k) * columns + j] =
                    four_at(from + j * w->column + t * w->tap + 4 * k * w->step, w->step, flip);
}

/* Row by row, as those of a product lie. */
static void pack_rows(const onx_qweights *w, size_t columns, const uint8_t *restrict from, size_t n,
                      uint32_t *restrict panel) {
    const uint32_t flip = w->flip * 0x01010101u;
    const size_t step = w->step, rest = w->k % 4;
    for (size_t k = 0; k < w->k / 4; k++, panel += columns, from += 4 * step)
        for (size_t j = 0; j < n; j++) panel[j] = four_at(from + j, step, flip);
    for (size_t i = 0; i < rest; i++)
        for (size_t j = 0; j < n; j++)
            panel[j] |= (uint32_t)(from[i * step + j] ^ w->flip) << 8 * i;
}

/* The sums are products with rows of ones. */
static void sum_columns(const onx_qweights *w, const onx_qgemm *gemm, const int8_t *panel, size_t n,
                        int32_t *sums) {
    enum { PART = 1 << 10 };
    static const uint8_t ones[PART] = {
#define ONE4 1, 1, 1, 1
#define ONE32 ONE4, ONE4, ONE4, ONE4, ONE4, ONE4, ONE4, ONE4
#define ONE256 ONE32, ONE32, ONE32, ONE32, ONE32, ONE32, ONE32, ONE32
        ONE256, ONE256, ONE256, ONE256};
    uint16_t wide[PART];
    const uint8_t *row = gemm->widen ? (const uint8_t *)wide : ones;
    size_t all = onx_qweights_k(w) * onx_qweights_taps(w);
    int32_t part[ONX_QROWS * ONX_QCOLUMNS];
    onx_qtile tile = {.rows = &row, .m = 1, .taps = 1, .n = n, .sums = part};
    memset(sums, 0, gemm->columns * sizeof *sums);
    if (gemm->widen) gemm->widen(ones, PART, 0, wide);
    for (size_t at = 0; at < all; at += PART) {
        tile.k = all - at < PART ? all - at : PART;
        tile.panel = panel + at * gemm->columns;
        gemm->tile(&tile);
        for (size_t j = 0; j < n; j++) sums[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)part[j]);
    }
}

void onx_qweights_pack(const onx_qweights *w, const onx_qgemm *gemm, size_t col, int8_t *panel,
                       int32_t *sums) {
    size_t n = w->n - col < gemm->columns ? w->n - col : gemm->columns;
    const uint8_t *from = w->data + col * w->column;
    void *to = panel;
    size_t used = onx_qweights_taps(w) * onx_qweights_k(w);
    if (n < gemm->columns || used != w->taps * w->k) memset(panel, 0, onx_qweights_panel(w, gemm));
    if (w->column == 1 && w->taps == 1)
        pack_rows(w, gemm->columns, from, n, to);
    else if (w->k % 4)
        pack_joined(w, gemm->columns, from, n, panel);
    else
        pack_columns(w, gemm->columns, from, n, to);
    if (gemm->arrange) gemm->arrange(panel, onx_qweights_panel(w, gemm));
    onx_qgemm_enter(gemm);
    sum_columns(w, gemm, panel, n, sums);
    onx_qgemm_leave(gemm);
}

/* Eight at a time: pairs of them are added in 16 bits, 1024 bytes fit. */
static uint32_t sum_some(const uint8_t *bytes, size_t n, uint64_t flip) {
    const uint64_t even = 0x00ff00ff00ff00ff;
    uint64_t sums = 0, eight;
    for (size_t i = 0; i < n; i += 8) {
        memcpy(&eight, bytes + i, sizeof eight);
        eight ^= flip;
        sums += (eight & even) + (eight >> 8 & even);
    }
    sums = (sums & 0x0000ffff0000ffff) + (sums >> 16 & 0x0000ffff0000ffff);
    return (uint32_t)(sums + (sums >> 32));
}

uint32_t onx_bytes_sum(const uint8_t *bytes, size_t n, uint8_t flip, bool is_signed, size_t size) {
    enum { MOST = 1024 };
    n *= size; /* the upper halves of wide ones add nothing */
    const uint8_t turned = is_signed ? 128 : flip;
    uint32_t sum = is_signed ? 0u - 128u * (uint32_t)n : 0;
    size_t i = 0;
    for (size_t some; n - i >= 8; i += some) {
        some = n - i < MOST ? (n - i) / 8 * 8 : MOST;
        sum += sum_some(bytes + i, some, turned * UINT64_C(0x0101010101010101));
    }
    for (; i < n; i++) sum += (uint8_t)(bytes[i] ^ turned);
    return sum;
}

/* ── Parameters ──────────────────────────────────────────────────────────────────────────────── */

static bool is_single(const onx_operand *x) {
    return !x || x->rank == 0 || (x->rank == 1 && x->dims[0] == 1);
}
static bool is_list(const onx_operand *x, int64_t n) {
    return is_single(x) || (x->rank == 1 && n > 0 && x->dims[0] == n);
}
static bool is_byte(const onx_operand *x) {
    return x->dtype == ONX_DTYPE_U8 || x->dtype == ONX_DTYPE_I8;
}
static bool is_float(const onx_operand *x) {
    return !x || x->dtype == ONX_DTYPE_F32;
}

static bool is_steady(const onx_operand *x) {
    return !x || x->constant;
}

onx_status onx_bytes_fit(onx_call *call, int64_t n) {
    onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    bool types = (st->dynamic ? is_float(in.a) : is_byte(in.a)) && is_byte(in.b) &&
                 is_float(in.a_scale) && is_float(in.b_scale) && is_float(in.y_scale) &&
                 (!in.y_zero || is_byte(in.y_zero));
    bool sizes = is_single(in.a_scale) && is_single(in.a_zero) && is_single(in.y_scale) &&
                 is_single(in.y_zero) && is_list(in.b_scale, n) && is_list(in.b_zero, n) &&
                 is_list(in.bias, n);
    bool bias =
        !in.bias || in.bias->dtype == (in.y_zero || st->is_gemm ? ONX_DTYPE_I32 : ONX_DTYPE_F32);
    st->steady = !st->dynamic && is_steady(in.a_scale) && is_steady(in.a_zero) &&
                 is_steady(in.b_scale) && is_steady(in.b_zero) && is_steady(in.y_scale) &&
                 is_steady(in.y_zero) && is_steady(in.bias);
    return types && sizes && bias ? ONX_OK : ONX_UNSUPPORTED;
}

int32_t onx_byte_zero(const onx_operand *zero, size_t at) {
    if (!zero) return 0;
    uint8_t byte = ((const uint8_t *)zero->data)[zero->count > 1 ? at : 0];
    return zero->dtype == ONX_DTYPE_I8 ? (byte ^ 128) - 128 : byte;
}

static float float_at(const onx_operand *x, size_t at, float absent) {
    if (x) memcpy(&absent, (const char *)x->data + (x->count > 1 ? at : 0) * 4, sizeof absent);
    return absent;
}
static uint32_t int_at(const onx_operand *x, size_t at) {
    uint32_t value = 0;
    if (x) memcpy(&value, (const char *)x->data + (x->count > 1 ? at : 0) * 4, sizeof value);
    return value;
}

enum { LISTS = 4 }; /* offsets, zeros, factors, bias */

static size_t places_of(const onx_qplaces *p) {
    return p->groups * p->places;
}

bool onx_qend_bytes(const onx_qplaces *places, size_t *bytes) {
    size_t all;
    return onx_mul_size(places->groups, places->places, &all) &&
           onx_mul_size(all, LISTS * sizeof(int32_t), &all) && onx_add_size(*bytes, all, bytes);
}

/* Which column stands there; false: none. */
static bool column_at(const onx_qplaces *p, size_t place, size_t *column) {
    size_t group = p->repeats ? 0 : place / p->places;
    *column = p->at ? p->at(place) : group * p->n + place % p->places;
    return p->at ? *column < p->n : place % p->places < p->n;
}

static void fill(const onx_call *call, const onx_qplaces *places, const onx_qsums *s,
                 int32_t *offsets, int32_t *zeros, float *factors, float *bias) {
    const onx_qstate *st = call->state;
    const onx_qins in = onx_qins_of(call);
    bool is_signed = !st->dynamic && in.a->dtype == ONX_DTYPE_I8;
    int32_t b_flip = in.b->dtype == ONX_DTYPE_U8 ? 128 : 0;
    uint32_t a_zero = (uint32_t)(s->a ? s->a->zero : onx_byte_zero(in.a_zero, 0));
    if (is_signed && (!st->tier->native || !s->depth)) a_zero += 128; /* depthwise never is */
    float scale = (s->a ? s->a->scale : float_at(in.a_scale, 0, 1)) * st->gemm.alpha;
    float y_scale = float_at(in.y_scale, 0, 1);
    bool counts = in.bias && in.bias->dtype == ONX_DTYPE_I32;
    for (size_t i = 0, j; i < places_of(places); i++) {
        bool there = column_at(places, i, &j);
        zeros[i] = there && s->depth ? onx_byte_zero(in.b_zero, j) - b_flip : 0;
        offsets[i] = (int32_t)((there && counts ? int_at(in.bias, j) : 0) -
                               a_zero * (there ? (uint32_t)s->b_sums[i] : 0) +
                               (uint32_t)s->depth * a_zero * (uint32_t)zeros[i]);
        factors[i] = there ? scale * float_at(in.b_scale, j, 1) / y_scale : 0;
        bias[i] = there && in.bias && !counts ? float_at(in.bias, j, 0) : 0;
    }
}

static bool any(const int32_t *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (x[i]) return true;
    return false;
}

void onx_qend_make(const onx_call *call, const onx_qplaces *places, const onx_qsums *sums,
                   char **memory, onx_qend *out) {
    const onx_qins in = onx_qins_of(call);
    size_t n = places_of(places);
    int32_t *offsets = (int32_t *)(void *)*memory, *zeros = offsets + n;
    float *factors = (float *)(void *)(zeros + n), *bias = factors + n;
    onx_dtype dtype = (onx_dtype)call->out[0]->dtype;
    onx_range range = onx_range_of(dtype);
    fill(call, places, sums, offsets, zeros, factors, bias);
    *memory += LISTS * n * sizeof(int32_t);
    *out = (onx_qend){.offsets = offsets, .dtype = dtype, .zero = onx_byte_zero(in.y_zero, 0)};
    if (any(zeros, n)) out->zeros = zeros;
    if (in.b_scale) out->factors = factors;
    if (in.bias && in.bias->dtype == ONX_DTYPE_F32) out->bias = bias;
    out->lo = (float)range.lo - (float)out->zero;
    out->hi = (float)range.hi - (float)out->zero;
}
