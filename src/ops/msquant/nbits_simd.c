/* nbits_simd.c: MatMulNBits with weights of 4 or 8 bits and floats of 32: vectors.
 *
 * One row of A is multiplied with weights as they come out of the bytes; of more rows, a few
 * columns become floats first. The elements of A are put in the order in which those of a vector of
 * bytes come out: of 4 bits, all low halves, then all high ones. Sums are made in float:
 * |y - exact| is below (K + 3) * 2^-24 * sum |a||b|. */
#include "cpu/nbits.h"
#include "cpu/vec_bytes.h"

enum {
    GROUP = 2 * VF,                   /* elements that are taken at once */
    ROWS = VF_REGISTERS > 16 ? 4 : 2, /* of a product in registers */
    COLUMNS = 4,
    TASK_COLUMNS = 16,
};

typedef struct job {
    onx_nbits_state st;
    size_t rows, depth; /* of A; depth: K up to whole blocks */
    float *a;           /* rows of depth, in order */
    const uint8_t *b, *zeros;
    const float *scales, *bias;
    size_t zero_bytes; /* of a column */
    size_t columns;    /* of a task */
    float *y;
} job;

/* The two vectors of a group of weights, less their zero point. */
static inline void weights(const uint8_t *b, unsigned bits, int32_t zero, vf out[2]) {
    vi first = vi_load_bytes(b, VF);
    vi second = bits == 4 ? first >> 4 : vi_load_bytes(b + VF, VF);
    if (bits == 4) first &= 15;
    out[0] = vf_float(first - zero);
    out[1] = vf_float(second - zero);
}

static int32_t zero_at(const job *j, size_t column, size_t block) {
    if (!j->zeros) return 1 << (j->st.bits - 1);
    const uint8_t *zeros = j->zeros + column * j->zero_bytes;
    return j->st.bits == 8 ? zeros[block] : zeros[block / 2] >> (block % 2 * 4) & 15;
}
static float scale_at(const job *j, size_t column, size_t block) {
    float scale;
    memcpy(&scale, j->scales + column * (size_t)j->st.blocks + block, sizeof scale);
    return scale;
}
static float bias_at(const job *j, size_t column) {
    float bias = 0;
    if (j->bias) memcpy(&bias, j->bias + column, sizeof bias);
    return bias;
}

/* One row of A with one column. */
static inline float dot(const job *j, size_t column, unsigned bits) {
    size_t block = (size_t)j->st.block, blocks = (size_t)j->st.blocks;
    const uint8_t *b = j->b + column * (j->depth / 8 * bits);
    const float *a = j->a;
    vf total = vf_zero();
    for (size_t i = 0; i < blocks; i++) {
        int32_t zero = zero_at(j, column, i);
        vf sums[2] = {vf_zero(), vf_zero()}, w[2];
        for (size_t k = 0; k < block; k += GROUP, a += GROUP, b += GROUP / 8 * bits) {
            weights(b, bits, zero, w);
            sums[0] = vf_fma(vf_load(a), w[0], sums[0]);
            sums[1] = vf_fma(vf_load(a + VF), w[1], sums[1]);
        }
        total = vf_fma(sums[0] + sums[1], vf_set(scale_at(j, column, i)), total);
    }
    return vf_sum(total) + bias_at(j, column);
}

static void column_floats(const job *j, size_t column, unsigned bits, float *out) {
    const uint8_t *b = j->b + column * (j->depth / 8 * bits);
    for (size_t i = 0; i < (size_t)j->st.blocks; i++) {
        int32_t zero = zero_at(j, column, i);
        float scale = scale_at(j, column, i);
        for (size_t k = 0; k < (size_t)j->st.block; k += GROUP, b += GROUP / 8 * bits) {
            vf w[2];
            weights(b, bits, zero, w);
            vf_store(out, w[0] * scale);
            vf_store(out + VF, w[1] * scale);
            out += GROUP;
        }
    }
}

/* ROWS rows with COLUMNS columns of floats. */
static inline void multiply(const job *j, const float *a, const float *b,
                            float out[ROWS][COLUMNS]) {
    vf sums[ROWS][COLUMNS] = {{{0}}};
    for (size_t k = 0; k < j->depth; k += VF) {
        vf w[COLUMNS];
        VF_UNROLL
        for (size_t c = 0; c < COLUMNS; c++) w[c] = vf_load(b + c * j->depth + k);
        VF_UNROLL
        for (size_t r = 0; r < ROWS; r++) {
            vf x = vf_load(a + r * j->depth + k);
            VF_UNROLL
            for (size_t c = 0; c < COLUMNS; c++) sums[r][c] = vf_fma(x, w[c], sums[r][c]);
        }
    }
    VF_UNROLL
    for (size_t r = 0; r < ROWS; r++) VF_UNROLL
    for (size_t c = 0; c < COLUMNS; c++) out[r][c] = vf_sum(sums[r][c]);
}

static void put(const job *j, size_t at, float value) { /* y may be anywhere */
    memcpy((char *)j->y + at * sizeof value, &value, sizeof value);
}

/* Columns first … end-1 of all rows; b: TASK_COLUMNS columns of floats. */
static void all_rows(const job *j, size_t first, size_t end, float *b) {
    size_t n = (size_t)j->st.n;
    for (size_t c = 0; c < TASK_COLUMNS; c++)
        column_floats(j, first + c < end ? first + c : first, j->st.bits, b + c * j->depth);
    for (size_t row = 0; row < j->rows; row += ROWS)
        for (size_t c = 0; c < TASK_COLUMNS && first + c < end; c += COLUMNS) {
            float out[ROWS][COLUMNS];
            multiply(j, j->a + row * j->depth, b + c * j->depth, out);
            for (size_t r = 0; r < ROWS && row + r < j->rows; r++)
                for (size_t i = 0; i < COLUMNS && first + c + i < end; i++)
                    put(j, (row + r) * n + first + c + i, out[r][i] + bias_at(j, first + c + i));
        }
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    const job *j = user;
    size_t first = index * j->columns, n = (size_t)j->st.n;
    size_t end = n - first < j->columns ? n : first + j->columns;
    if (onx_call_stopped(call)) return ONX_CANCELLED;
    if (j->rows > 1)
        for (; first < end; first += TASK_COLUMNS)
            all_rows(j, first, end - first < TASK_COLUMNS ? end : first + TASK_COLUMNS, scratch);
    for (size_t c = first; j->rows == 1 && c < end; c++)
        put(j, c, j->st.bits == 4 ? dot(j, c, 4) : dot(j, c, 8));
    return ONX_OK;
}

/* Rows of A in the order of the weights, with zeros behind; rows of zeros up to ROWS. */
static void order_rows(const job *j, const float *a, size_t rows) {
    size_t k = (size_t)j->st.k;
    memset(j->a, 0, rows * j->depth * sizeof *a);
    for (size_t r = 0; r < j->rows; r++)
        for (size_t i = 0; i < k; i++) {
            size_t at = i % GROUP, to = j->st.bits == 4 ? at / 2 + at % 2 * VF : at;
            memcpy(j->a + r * j->depth + i - at + to, (const char *)a + (r * k + i) * sizeof *a,
                   sizeof *a);
        }
}

static size_t rows_up(size_t rows) {
    return rows > 1 ? (rows + ROWS - 1) / ROWS * ROWS : rows;
}

onx_status ONX_TIER(onx_nbits_init)(onx_call *call) {
    ONX_TRY(onx_nbits_init(call));
    const onx_nbits_state *st = call->state;
    const onx_operand *zeros = onx_call_in(call, ONX_NBITS_ZEROS);
    bool fits = (st->bits == 4 || st->bits == 8) && st->block >= GROUP &&
                !onx_call_in(call, ONX_NBITS_GROUPS) && (!zeros || zeros->dtype == ONX_DTYPE_U8);
    return fits ? ONX_OK : ONX_UNSUPPORTED;
}

onx_status ONX_TIER(onx_nbits_bind)(onx_call *call) {
    const onx_nbits_state *st = call->state;
    size_t depth, rows = rows_up((size_t)(call->in[ONX_NBITS_A]->count / st->k));
    ONX_TRY(onx_nbits_bind(call));
    if (!onx_mul_size((size_t)st->blocks, (size_t)st->block * sizeof(float), &depth) ||
        !onx_mul_size(rows, depth, &call->scratch_bytes) ||
        !onx_mul_size(depth, TASK_COLUMNS, &call->scratch_each))
        return onx_call_fail(call, ONX_LIMIT, "the scratch memory cannot be counted");
    if (rows < 2) call->scratch_each = 0;
    return ONX_OK;
}

onx_status ONX_TIER(onx_nbits_run)(onx_call *call) {
    const onx_nbits_state *st = call->state;
    const onx_operand *zeros = onx_call_in(call, ONX_NBITS_ZEROS),
                      *bias = onx_call_in(call, ONX_NBITS_BIAS);
    if (!call->out[0]->count) return ONX_OK;
    job j = {.st = *st,
             .rows = (size_t)(call->in[ONX_NBITS_A]->count / st->k),
             .depth = (size_t)(st->blocks * st->block),
             .a = call->scratch,
             .b = call->in[ONX_NBITS_B]->data,
             .zeros = zeros ? zeros->data : NULL,
             .scales = call->in[ONX_NBITS_SCALES]->data,
             .bias = bias ? bias->data : NULL,
             .zero_bytes = ((size_t)st->blocks * st->bits + 7) / 8,
             .y = call->out[0]->data};
    order_rows(&j, call->in[ONX_NBITS_A]->data, rows_up(j.rows));
    size_t work = ((size_t)1 << 18) / (j.depth * (j.rows + 2)) + 1;
    j.columns = (work + TASK_COLUMNS - 1) / TASK_COLUMNS * TASK_COLUMNS;
    return onx_call_parallel(call, ((size_t)st->n - 1) / j.columns + 1, task, &j);
}
