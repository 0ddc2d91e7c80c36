/* nbits_fixed_simd.c: MatMulNBits with weights of 4 or 8 bits, by products of 16 bits.
 *
 * A vector of bytes of weights is a step. What it meets of a row of A becomes integers of 16 bits
 * with a scale, in the order in which weights come out: of 4 bits, those of each half of both bytes
 * of 16 bits. Sums of a step are exact: numbers of A are rounded to 2^-15 of the largest of their
 * step, and that is all. Scales are powers of two, so that numbers of few bits are not rounded.
 * Rows with numbers that are not finite are left to the kernels of floats, and so are nodes that
 * ask for them (accuracy_level 1). */
#include "cpu/nbits.h"
#include "cpu/vec_bytes.h"
#include "cpu/vec_pairs.h"
#include "cpu/vec_transpose.h"

#include <math.h>

enum {
    PARTS = 4,  /* of 16 bits, at most */
    HEIGHT = 4, /* rows at once; less than 3 go one by one */
    TASK_COLUMNS = 16,
    FLOAT32 = 1, /* accuracy_level */
};

typedef struct job {
    onx_nbits_state st;
    size_t rows, steps;
    size_t parts;             /* of 16 bits: weights */
    size_t blocks, shift;     /* of a step; or 1 of so many of them, 2^shift */
    size_t bytes, zero_bytes; /* of a column */
    const uint8_t *b, *zeros; /* zeros NULL: all are the middle */
    const float *a, *scales, *bias;
    int16_t *fixed;      /* [rows / height][steps][height][parts][V16] */
    float *fixed_scales; /* [rows / height][steps][height] */
    size_t columns;      /* of a task */
    float *y;
} job;

static size_t step_length(const job *j) {
    return V16 * j->parts;
}
static size_t height_of(size_t rows) {
    return rows < 3 ? 1 : HEIGHT;
}
static size_t rows_up(size_t rows) {
    return (rows + height_of(rows) - 1) / height_of(rows) * height_of(rows);
}

/* A in integers, and scales: of a size as A has it in memory, so that it can be counted. */
static size_t scratch_bytes(const job *j) {
    return rows_up(j->rows) * j->steps * (step_length(j) * sizeof(int16_t) + sizeof(float));
}

/* ── A ───────────────────────────────────────────────────────────────────────────────────────── */

/* A step of n elements; false: they do not fit. */
static bool fix_step(const job *j, const float *a, size_t n, int16_t *to, float *scale) {
    float x[PARTS * V16] = {0}, most = 0;
    int32_t whole[PARTS * V16];
    memcpy(x, a, n * sizeof *x);
    for (size_t i = 0; i < step_length(j); i += VF) {
        float largest = vf_largest(vf_abs(vf_load(x + i)));
        if (!(largest < 0x1p100f)) return false;
        if (largest > most) most = largest;
    }
    int exponent;
    (void)frexpf(most, &exponent);
    float by = most > 0x1p-100f ? ldexpf(1, 15 - exponent) : 0;
    *scale = most > 0x1p-100f ? ldexpf(1, exponent - 15) : 0;
    for (size_t i = 0; i < step_length(j); i += VF) {
        vi v = vf_int(vf_min(vf_load(x + i) * by, vf_set(INT16_MAX)));
        memcpy(whole + i, &v, sizeof v);
    }
    for (size_t part = 0; part < j->parts; part++)
        for (size_t i = 0; i < V16; i++) *to++ = (int16_t)whole[i * j->parts + part];
    return true;
}

/* All rows; those behind the last are zeros. */
static bool fix_rows(const job *j) {
    size_t k = (size_t)j->st.k, length = step_length(j), height = height_of(j->rows);
    memset(j->fixed, 0, scratch_bytes(j));
    for (size_t row = 0; row < j->rows; row++)
        for (size_t step = 0; step * length < k; step++) {
            size_t at = (row / height * j->steps + step) * height + row % height;
            size_t left = k - step * length;
            if (!fix_step(j, j->a + row * k + step * length, left < length ? left : length,
                          j->fixed + at * length, j->fixed_scales + at))
                return false;
        }
    return true;
}

/* ── Columns ─────────────────────────────────────────────────────────────────────────────────── */

/* Which of the blocks of a step each lane belongs to. */
static inline vi lane_blocks(size_t blocks) {
    int32_t lanes[VF];
    vi v;
    for (size_t i = 0; i < VF; i++) lanes[i] = (int32_t)(i * blocks / VF);
    memcpy(&v, lanes, sizeof v);
    return v;
}

/* Zero points of lanes, less the middle and twice in each, from block `first` on. */
static inline v16 zeros_at(const job *j, size_t column, size_t first, vi lanes) {
    const uint8_t *zeros = j->zeros + column * j->zero_bytes;
    int32_t all[VF] = {0};
    vi v;
    for (size_t i = 0; i < j->blocks && first + i < (size_t)j->st.blocks; i++) {
        size_t at = first + i;
        int32_t zero = j->st.bits == 8 ? zeros[at] : zeros[at / 2] >> (at % 2 * 4) & 15;
        all[i] = zero - (1 << (j->st.bits - 1));
    }
    memcpy(&v, all, sizeof v);
    v = vf_bits(vf_permute(vi_bits(v), lanes));
    return (v16)((v & 0xffff) | v << 16);
}

static inline float float_at(const float *x, size_t at) { /* it may be unaligned */
    float value;
    memcpy(&value, x + at, sizeof value);
    return value;
}
/* Scales of lanes, from block `first` on. */
static inline vf scales_at(const float *scales, size_t first, size_t all, size_t blocks, vi lanes) {
    size_t last = first + 1 < all ? first + 1 : first, left = all - first;
    if (blocks == 1) return vf_set(float_at(scales, first));
    if (blocks == 2)
        return vf_select(lanes, vf_set(float_at(scales, last)), vf_set(float_at(scales, first)));
    return vf_permute(vf_load_n(scales + first, left < blocks ? left : blocks), lanes);
}

/* One column with some rows: sums by lane. `known`: blocks of a step, and there are no zero points;
 * or 0. */
static inline __attribute__((always_inline)) void dots(const job *j, size_t row, size_t column,
                                                       size_t rows, unsigned bits, size_t known,
                                                       vf *out) {
    const size_t parts = 16 / bits, length = V16 * parts, blocks = known ? known : j->blocks;
    const bool zeros = !known && j->zeros;
    const uint8_t *b = j->b + column * j->bytes;
    const vo middle = (vo)vi_set((int32_t)(bits == 4 ? 0x88888888 : 0x80808080));
    const float *scales = j->scales + column * (size_t)j->st.blocks;
    const int16_t *a = j->fixed + row * j->steps * length;
    const float *a_scales = j->fixed_scales + row * j->steps;
    const vi lanes = lane_blocks(blocks), in_order = blocks == 2 ? lanes > 0 : lanes;
    vf total[HEIGHT];
    VF_UNROLL
    for (size_t r = 0; r < rows; r++) total[r] = vf_zero();
    for (size_t step = 0; step < j->steps; step++, b += VF_BYTES, a_scales += rows) {
        size_t left = j->bytes - step * VF_BYTES, first = step * blocks >> j->shift;
        vo codes = left < VF_BYTES ? vo_load_n(b, left) : vo_load(b);
        vf scale = scales_at(scales, first, (size_t)j->st.blocks, blocks, in_order);
        v16 w[PARTS];
        codes ^= middle;
        VF_UNROLL
        for (size_t p = 0; p < parts; p++)
            w[p] = ((v16)codes << (int16_t)(16 - (p + 1) * bits)) >> (int16_t)(16 - bits);
        for (size_t p = 0; zeros && p < parts; p++) w[p] -= zeros_at(j, column, first, lanes);
        VF_UNROLL
        for (size_t r = 0; r < rows; r++, a += length) {
            vu sum = v16_pairs(w[0], v16_load(a));
            VF_UNROLL
            for (size_t p = 1; p < parts; p++) sum += v16_pairs(w[p], v16_load(a + p * V16));
            total[r] = vf_fma(vf_float((vi)sum), scale * a_scales[r], total[r]);
        }
    }
    VF_UNROLL
    for (size_t r = 0; r < rows; r++) out[r] = total[r];
}

/* Sums over the lanes of each of VF vectors. */
static inline vf sums_of(vf v[VF]) {
    vf_transpose(v);
    for (size_t n = VF / 2; n > 0; n /= 2)
        for (size_t i = 0; i < n; i++) v[i] += v[i + n];
    return v[0];
}

/* `rows` rows, 1 or HEIGHT, with as many columns as make VF results. */
static inline __attribute__((always_inline)) void square(const job *j, size_t row, size_t column,
                                                         size_t end, size_t rows, unsigned bits) {
    vf all[VF];
    float y[VF];
    size_t n = (size_t)j->st.n;
    for (size_t i = 0; i < VF / rows; i++) {
        size_t c = column + i < end ? column + i : column;
        if (!j->zeros && j->blocks == 1)
            dots(j, row, c, rows, bits, 1, all + i * rows);
        else if (!j->zeros && j->blocks == 2)
            dots(j, row, c, rows, bits, 2, all + i * rows);
        else
            dots(j, row, c, rows, bits, 0, all + i * rows);
    }
    vf_store(y, sums_of(all));
    for (size_t i = 0; i < VF; i++) {
        size_t r = row + i % rows, c = column + i / rows;
        if (r >= j->rows || c >= end) continue;
        float more = 0;
        if (j->bias) memcpy(&more, j->bias + c, sizeof more);
        more += y[i];
        memcpy((char *)j->y + (r * n + c) * sizeof more, &more, sizeof more);
    }
}

static inline __attribute__((always_inline)) void columns(const job *j, size_t first, size_t end,
                                                          size_t rows, unsigned bits) {
    for (size_t row = 0; row < j->rows; row += rows)
        for (size_t c = first; c < end; c += VF / rows) square(j, row, c, end, rows, bits);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    size_t n = (size_t)j->st.n, first = index * j->columns;
    size_t last = n - first < j->columns ? n : first + j->columns;
    bool one = height_of(j->rows) == 1;
    (void)scratch;
    for (size_t end; first < last; first = end) {
        end = last - first < TASK_COLUMNS ? last : first + TASK_COLUMNS;
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        if (j->st.bits == 4)
            one ? columns(j, first, end, 1, 4) : columns(j, first, end, HEIGHT, 4);
        else
            one ? columns(j, first, end, 1, 8) : columns(j, first, end, HEIGHT, 8);
    }
    return ONX_OK;
}

/* ── Kernel ──────────────────────────────────────────────────────────────────────────────────── */

static job job_of(const onx_call *call) {
    const onx_nbits_state *st = call->state;
    job j = {
        .st = *st, .rows = (size_t)(call->in[ONX_NBITS_A]->count / st->k), .parts = 16 / st->bits};
    j.bytes = (size_t)(st->blocks * st->block) / 8 * st->bits;
    j.zero_bytes = ((size_t)st->blocks * st->bits + 7) / 8;
    j.steps = (j.bytes + VF_BYTES - 1) / VF_BYTES;
    j.blocks = step_length(&j) > (size_t)st->block ? step_length(&j) / (size_t)st->block : 1;
    while (step_length(&j) << j.shift < (size_t)st->block) j.shift++;
    return j;
}

onx_status ONX_TIER(onx_nbits_fixed_init)(onx_call *call) {
    ONX_TRY(ONX_TIER(onx_nbits_init)(call));
    return onx_call_int(call, "accuracy_level") == FLOAT32 ? ONX_UNSUPPORTED : ONX_OK;
}

/* Scratch, or what the kernels of floats need, if that is more. */
onx_status ONX_TIER(onx_nbits_fixed_bind)(onx_call *call) {
    ONX_TRY(ONX_TIER(onx_nbits_bind)(call));
    const job j = job_of(call);
    if (call->scratch_bytes < scratch_bytes(&j)) call->scratch_bytes = scratch_bytes(&j);
    return ONX_OK;
}

onx_status ONX_TIER(onx_nbits_fixed_run)(onx_call *call) {
    const onx_operand *zeros = onx_call_in(call, ONX_NBITS_ZEROS),
                      *bias = onx_call_in(call, ONX_NBITS_BIAS);
    job j = job_of(call);
    if (!call->out[0]->count) return ONX_OK;
    j.a = call->in[ONX_NBITS_A]->data;
    j.b = call->in[ONX_NBITS_B]->data;
    j.zeros = zeros ? zeros->data : NULL;
    j.scales = call->in[ONX_NBITS_SCALES]->data;
    j.bias = bias ? bias->data : NULL;
    j.y = call->out[0]->data;
    j.fixed = call->scratch;
    j.fixed_scales = (float *)(void *)(j.fixed + rows_up(j.rows) * j.steps * step_length(&j));
    if (!fix_rows(&j)) return ONX_TIER(onx_nbits_run)(call);
    size_t work = ((size_t)1 << 19) / (j.steps * step_length(&j) * (j.rows + 1)) + 1;
    j.columns = (work + TASK_COLUMNS - 1) / TASK_COLUMNS * TASK_COLUMNS;
    return onx_call_parallel(call, ((size_t)j.st.n - 1) / j.columns + 1, task, &j);
}
