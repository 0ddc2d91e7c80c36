/* nbits_vnni.c: MatMulNBits with weights of 4 or 8 bits in 16-bit integers (cpu/half_vnni.h).
 *
 * Weights are integers already: panels of 32 columns of them are made in each task, and multiplied
 * with all rows of A, whose numbers are exact but for 2^-16 of the root of the sum of squares of
 * 32. In blocks of 16, two of which are in a step, weights are in small parts of the larger scale.
 * A few rows, and those with numbers that are not finite, are left to the kernels of floats, and so
 * are nodes that ask for them (accuracy_level 1). */
#include "cpu/half_vnni.h"
#include "cpu/nbits.h"
#include "cpu/vec_transpose.h"

enum {
    FEW = 6, /* rows that do not pay for the integers */
    PACK_ROWS = 16,
    FLOAT32 = 1, /* accuracy_level */
};

typedef struct job {
    onx_nbits_state st;
    size_t rows, steps;
    const uint8_t *b, *zeros;
    const float *a, *scales, *bias;
    int16_t *fixed; /* A: [steps][rows][DEPTH] */
    float *fixed_scales;
    unsigned char *odd; /* for each PACK_ROWS rows */
    size_t panels;      /* of a task */
    float *y;
} job;

static bool is_plain(const onx_call *call) {
    return ((const onx_nbits_state *)call->state)->block < DEPTH;
}
static size_t rows_of(const onx_call *call) {
    return (size_t)(call->in[ONX_NBITS_A]->count / ((const onx_nbits_state *)call->state)->k);
}
static size_t steps_of(const onx_nbits_state *st) {
    return ((size_t)(st->blocks * st->block) + DEPTH - 1) / DEPTH;
}

onx_status onx_nbits_init_vnni(onx_call *call) {
    ONX_TRY(onx_nbits_init(call));
    const onx_nbits_state *st = call->state;
    const onx_operand *zeros = onx_call_in(call, ONX_NBITS_ZEROS);
    bool fits = (st->bits == 4 || st->bits == 8) && !onx_call_in(call, ONX_NBITS_GROUPS) &&
                (!zeros || zeros->dtype == ONX_DTYPE_U8) &&
                onx_call_int(call, "accuracy_level") != FLOAT32;
    return fits ? ONX_OK : ONX_UNSUPPORTED;
}

/* Scratch: A in integers, scales, flags, or what the kernels of floats need. */
onx_status onx_nbits_bind_vnni(onx_call *call) {
    const onx_nbits_state *st = call->state;
    size_t rows = rows_of(call), steps = steps_of(st), fixed, panel;
    ONX_TRY(is_plain(call) ? onx_nbits_bind(call) : onx_nbits_bind_avx512(call));
    if (rows < FEW) return ONX_OK;
    if (!onx_mul_size(rows, steps * (LINE + sizeof(float)), &fixed) ||
        !onx_add_size(fixed, rows, &fixed) || !onx_mul_size(steps, STEP, &panel))
        return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
    if (call->scratch_bytes < fixed) call->scratch_bytes = fixed;
    if (call->scratch_each < panel) call->scratch_each = panel;
    return ONX_OK;
}

/* ─ Packing ──────────────────────────────────────────────────────────────────────────────────── */

static onx_status fix_task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    size_t k = (size_t)j->st.k, first = index * PACK_ROWS;
    size_t end = j->rows - first < PACK_ROWS ? j->rows : first + PACK_ROWS;
    bool fits = true;
    (void)call, (void)scratch;
    for (size_t row = first; row < end; row++)
        for (size_t step = 0; step < j->steps; step++) {
            size_t l = step * DEPTH, left = l < k ? k - l : 0, n = left < DEPTH ? left : DEPTH;
            size_t some = n < VF ? n : VF, at = step * j->rows + row;
            const float *from = j->a + row * k + (n ? l : 0);
            fits &= fix(vf_load_n(from, some), vf_load_n(from + some, n - some),
                        j->fixed + at * DEPTH, j->fixed_scales + at);
        }
    j->odd[index] = !fits;
    return ONX_OK;
}

static float scale_at(const job *j, size_t column, size_t block) {
    float scale = 0;
    if (block < (size_t)j->st.blocks)
        memcpy(&scale, j->scales + column * (size_t)j->st.blocks + block, sizeof scale);
    return scale;
}
static int32_t zero_at(const job *j, size_t column, size_t block) {
    size_t bytes = ((size_t)j->st.blocks * j->st.bits + 7) / 8;
    if (!j->zeros || block >= (size_t)j->st.blocks) return 1 << (j->st.bits - 1);
    const uint8_t *zeros = j->zeros + column * bytes;
    return j->st.bits == 8 ? zeros[block] : zeros[block / 2] >> (block % 2 * 4) & 15;
}

/* Scales of 16 columns in a step, as the panel has them. */
static __m512 step_scales(const job *j, size_t first, size_t step) {
    float all[VF] = {0};
    size_t block = step * DEPTH / (size_t)j->st.block;
    const float parts = j->st.bits == 4 ? 512 : 32; /* so that sums fit in 32 bits */
    for (size_t i = 0; i < VF && first + i < (size_t)j->st.n; i++) {
        all[i] = scale_at(j, first + i, block);
        if (j->st.block < DEPTH)
            all[i] = fmaxf(fabsf(all[i]), fabsf(scale_at(j, first + i, block + 1))) / parts;
    }
    return _mm512_loadu_ps(all);
}

/* What 16 columns have in common in a block: zero points, twice, and their scale in units of that
 * of the step. */
typedef struct coding {
    __m512i zeros;
    __m512 by;
} coding;
static coding coding_of(const job *j, size_t first, size_t block, __m512 units) {
    int32_t zeros[VF] = {0};
    float by[VF] = {0};
    for (size_t i = 0; i < VF && first + i < (size_t)j->st.n; i++) {
        zeros[i] = zero_at(j, first + i, block) * 0x10001;
        by[i] = scale_at(j, first + i, block);
    }
    coding c = {_mm512_loadu_si512(zeros), _mm512_setzero_ps()};
    if (j->st.block >= DEPTH) return c;
    __mmask16 some = _mm512_cmp_ps_mask(units, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    c.by = _mm512_maskz_div_ps(some, _mm512_loadu_ps(by), units);
    return c;
}

/* A pair of weights of each column, from the bits `at` on. */
static inline __m512i pair_of(const job *j, __m512i codes, unsigned at, const coding *c) {
    const __m512i mask = _mm512_set1_epi32((1 << j->st.bits) - 1);
    __m512i first = _mm512_and_si512(_mm512_srli_epi32(codes, at), mask);
    __m512i second = _mm512_and_si512(_mm512_srli_epi32(codes, at + j->st.bits), mask);
    __m512i pair = _mm512_or_si512(first, _mm512_slli_epi32(second, 16));
    pair = _mm512_sub_epi16(pair, c->zeros);
    if (j->st.block >= DEPTH) return pair;
    __m512 low = _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(pair, 16), 16));
    __m512 high = _mm512_cvtepi32_ps(_mm512_srai_epi32(pair, 16));
    first = _mm512_and_si512(_mm512_cvtps_epi32(low * c->by), _mm512_set1_epi32(0xffff));
    return _mm512_or_si512(first, _mm512_slli_epi32(_mm512_cvtps_epi32(high * c->by), 16));
}

/* Bytes at … of 16 columns, turned: 32 bits of each column in a vector. */
static void turn(const job *j, size_t first, size_t row, size_t at, vf out[VF]) {
    size_t left = row - at;
    __mmask64 some = left < 64 ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0;
    for (size_t i = 0; i < VF; i++) {
        const uint8_t *from = j->b + (first + i) * row + at;
        out[i] = first + i < (size_t)j->st.n ? (vf)_mm512_maskz_loadu_epi8(some, from) : vf_zero();
    }
    vf_transpose(out);
}

/* 16 columns of a panel: its first ones, or the others. */
static void make_columns(const job *j, size_t first, size_t half, char *panel) {
    const size_t bits = j->st.bits, depth = (size_t)(j->st.blocks * j->st.block);
    const size_t row = depth * bits / 8, each = 32 / bits; /* weights in 32 bits */
    coding c = {_mm512_setzero_si512(), _mm512_setzero_ps()};
    __m512 units = _mm512_setzero_ps();
    for (size_t at = 0; at < row; at += 64) {
        vf turned[VF];
        turn(j, first, row, at, turned);
        for (size_t i = 0; i < VF && at + 4 * i < row; i++) {
            size_t k = (at + 4 * i) * 8 / bits;
            char *to = panel + k / DEPTH * STEP + half * LINE;
            if (k % DEPTH == 0) {
                units = step_scales(j, first, k / DEPTH);
                _mm512_storeu_ps(to + COLS * LINE, units);
            }
            if (k % (size_t)j->st.block == 0)
                c = coding_of(j, first, k / (size_t)j->st.block, units);
            for (size_t p = 0; p < each; p += 2)
                _mm512_storeu_si512(to + (k % DEPTH + p) * LINE,
                                    pair_of(j, (__m512i)turned[i], (unsigned)(p * bits), &c));
        }
    }
    for (size_t k = depth; k % DEPTH; k += 2)
        memset(panel + k / DEPTH * STEP + k % DEPTH * LINE + half * LINE, 0, LINE);
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

static void run_panel(const job *j, size_t first, const char *panel) {
    float sums[2][ROWS * VF];
    size_t n = (size_t)j->st.n;
    tile t = {.a_step = j->rows, .steps = j->steps, .b = panel, .sums = {sums[0], sums[1]}};
    for (size_t row = 0, rows; row < j->rows; row += rows) {
        rows = j->rows - row < ROWS ? j->rows - row : ROWS;
        t.a = j->fixed + row * DEPTH;
        t.scales = j->fixed_scales + row;
        multiply(&t, rows);
        for (size_t i = 0; i < 2 * rows; i++) {
            size_t col = first + i % 2 * VF, left = col < n ? n - col : 0;
            size_t some = left < VF ? left : VF;
            vf y = vf_load(sums[i % 2] + i / 2 * VF);
            if (j->bias && some) y += vf_load_n(j->bias + col, some);
            if (some) vf_store_n(j->y + (row + i / 2) * n + col, y, some);
        }
    }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    size_t first = index * j->panels * COLS, end = first + j->panels * COLS;
    for (; first < end && first < (size_t)j->st.n; first += COLS) {
        if (onx_call_stopped(call)) return ONX_CANCELLED;
        for (size_t half = 0; half < 2; half++) make_columns(j, first + half * VF, half, scratch);
        run_panel(j, first, scratch);
    }
    return ONX_OK;
}

static onx_status run_floats(onx_call *call) {
    return is_plain(call) ? onx_nbits_run(call) : onx_nbits_run_avx512(call);
}

onx_status onx_nbits_run_vnni(onx_call *call) {
    const onx_nbits_state *st = call->state;
    const onx_operand *zeros = onx_call_in(call, ONX_NBITS_ZEROS),
                      *bias = onx_call_in(call, ONX_NBITS_BIAS);
    if (!call->out[0]->count) return ONX_OK;
    job j = {.st = *st, .rows = rows_of(call), .steps = steps_of(st)};
    if (j.rows < FEW) return run_floats(call);
    j.a = call->in[ONX_NBITS_A]->data;
    j.b = call->in[ONX_NBITS_B]->data;
    j.scales = call->in[ONX_NBITS_SCALES]->data;
    j.zeros = zeros ? zeros->data : NULL;
    j.bias = bias ? bias->data : NULL;
    j.y = call->out[0]->data;
    j.fixed = call->scratch;
    j.fixed_scales = (float *)(void *)(j.fixed + j.steps * j.rows * DEPTH);
    j.odd = (unsigned char *)(j.fixed_scales + j.steps * j.rows);
    size_t packs = (j.rows - 1) / PACK_ROWS + 1, columns = (size_t)st->n;
    ONX_TRY(onx_call_parallel(call, packs, fix_task, &j));
    if (memchr(j.odd, 1, packs)) return run_floats(call);
    j.panels = ((size_t)1 << 21) / (j.steps * DEPTH * COLS * (j.rows + FEW)) + 1;
    return onx_call_parallel(call, (columns - 1) / (j.panels * COLS) + 1, task, &j);
}
