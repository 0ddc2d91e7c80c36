/* tile_simd.c: fused elementwise programs on vectors.
 *
 * The result is cut into stretches of at most ONX_TILE_SPAN elements, and the whole program runs on
 * one before the next begins: what instructions hand on stays in the first cache. Operands are read
 * where they lie when a stretch of them is contiguous, as one vector when they are one number, and
 * through a buffer otherwise. The last instruction writes straight to the result.
 *
 * A lane's result depends on that element alone, so a program gives the same bits as its nodes one
 * by one, however the work is cut. */
#include "ops/tile/tile_simd.h"
#include "ops/tile/tile_vec_simd.h"

/* ─ The instructions ─────────────────────────────────────────────────────────────────────────── */

#define F(name) vf_##name
#define K(x) ((float)(x))
#define B(m) vf_select((m), vf_set(1.0f), vf_set(0.0f))
#define FUNCTION(name, arity, is_bool, expression)                                                 \
    static inline vf eval_##name(vf a, vf b, vf c) {                                               \
        (void)b, (void)c;                                                                          \
        return expression;                                                                         \
    }                                                                                              \
    static void run_##name(float *y, size_t y_row, const onx_tile_arg *x0, const onx_tile_arg *x1, \
                           const onx_tile_arg *x2, size_t rows, size_t n) {                        \
        const float *a = x0->data, *b = x1->data, *c = x2->data;                                   \
        const size_t i = x0->step, j = x1->step, k = x2->step;                                     \
        const size_t a_row = x0->row, b_row = x1->row, c_row = x2->row;                            \
        for (; rows; rows--, y += y_row, a += a_row, b += b_row, c += c_row) {                     \
            const float *p = a, *q = b, *r = c;                                                    \
            for (size_t at = 0; at < n; at += VF, p += i, q += j, r += k)                          \
                vf_store(y + at, eval_##name(vf_load(p), vf_load(q), vf_load(r)));                 \
        }                                                                                          \
    }
ONX_TILE_OPS(FUNCTION)

/* n floats, whole vectors, of each row. */
typedef void function(float *y, size_t y_row, const onx_tile_arg *a, const onx_tile_arg *b,
                      const onx_tile_arg *c, size_t rows, size_t n);
static function *const functions[] = {
#define ENTRY(name, arity, is_bool, expression) run_##name,
    ONX_TILE_OPS(ENTRY)};

/* The last n floats of rows, fewer than a vector: through one. */
static void run_rest(function *f, float *y, size_t y_row, const onx_tile_arg *const x[3],
                     size_t vectors, size_t rows, size_t n) {
    for (size_t r = 0; r < rows; r++, y += y_row) {
        float from[3][VF], to[VF];
        onx_tile_arg one[3];
        for (size_t k = 0; k < 3; k++) {
            const float *data = x[k]->data + r * x[k]->row + vectors * x[k]->step;
            vf_store(from[k], vf_load_n(data, n));
            one[k] = (onx_tile_arg){from[k], 0, 0};
        }
        f(to, 0, &one[0], &one[1], &one[2], 1, VF);
        vf_store_n(y, vf_load(to), n);
    }
}
static void run_step(const onx_tile_step *step, const onx_tile_arg *slots, float *y, size_t y_row,
                     size_t rows, size_t n) {
    const onx_tile_arg *x[3] = {slots + step->from[0], slots + step->from[1],
                                slots + step->from[2]};
    function *f = functions[step->op];
    size_t vectors = n / VF, rest = n % VF;
    if (vectors) f(y, y_row, x[0], x[1], x[2], rows, n - rest);
    if (rest) run_rest(f, y + vectors * VF, y_row, x, vectors, rows, rest);
}

/* ─ Operands ─────────────────────────────────────────────────────────────────────────────────── */

static onx_tile_arg one_number(float *buffer, float value) {
    vf_store(buffer, vf_set(value));
    return (onx_tile_arg){buffer, 0, 0};
}

static float element(const onx_operand *operand, int64_t at) {
    float value = 0;
    if (operand->dtype == ONX_DTYPE_F32) {
        memcpy(&value, (const char *)operand->data + (size_t)at * sizeof value, sizeof value);
        return value;
    }
    size_t size = onx_dtype_bits((onx_dtype)operand->dtype) / 8;
    (void)onx_dtype_convert((onx_dtype)operand->dtype,
                            (const char *)operand->data + (size_t)at * size, ONX_DTYPE_F32, &value,
                            1, false);
    return value;
}

/* Bools to 0 and 1, and back. Loops of a constant length become vectors. */
enum { BOOLS = 64 };
static void from_bools_some(float *restrict to, const uint8_t *restrict from) {
    for (size_t i = 0; i < BOOLS; i++) to[i] = from[i] != 0 ? 1.0f : 0.0f;
}
static void from_bools(float *to, const uint8_t *from, size_t n) {
    for (; n >= BOOLS; n -= BOOLS, from += BOOLS, to += BOOLS) from_bools_some(to, from);
    for (size_t i = 0; i < n; i++) to[i] = from[i] != 0 ? 1.0f : 0.0f;
}
static void to_bools_some(uint8_t *restrict to, const float *restrict from) {
    for (size_t i = 0; i < BOOLS; i++) to[i] = from[i] != 0.0f;
}
static void to_bools(uint8_t *to, const float *from, size_t n) {
    for (; n >= BOOLS; n -= BOOLS, from += BOOLS, to += BOOLS) to_bools_some(to, from);
    for (size_t i = 0; i < n; i++) to[i] = from[i] != 0.0f;
}

/* Half floats to floats, and back. */
static void from_halves(float *to, const char *from, size_t n) {
    size_t i = 0;
    for (; i + VF <= n; i += VF)
        vf_store(to + i, vf_load_f16((const uint16_t *)(const void *)(from + i * 2)));
    (void)onx_dtype_convert(ONX_DTYPE_F16, from + i * 2, ONX_DTYPE_F32, to + i, n - i, false);
}
static void to_halves(char *to, const float *from, size_t n) {
    size_t i = 0;
    for (; i + VF <= n; i += VF) vf_store_f16((uint16_t *)(void *)(to + i * 2), vf_load(from + i));
    (void)onx_dtype_convert(ONX_DTYPE_F32, from + i, ONX_DTYPE_F16, to + i * 2, n - i, false);
}

/* n elements of a type that is not float, to floats; and back. */
static void widen(float *to, onx_dtype dtype, const char *from, size_t n) {
    if (dtype == ONX_DTYPE_BOOL)
        from_bools(to, (const uint8_t *)from, n);
    else if (dtype == ONX_DTYPE_F16)
        from_halves(to, from, n);
    else
        (void)onx_dtype_convert(dtype, from, ONX_DTYPE_F32, to, n, false);
}
static void narrow(char *to, onx_dtype dtype, const float *from, size_t n) {
    if (dtype == ONX_DTYPE_BOOL)
        to_bools((uint8_t *)to, from, n);
    else if (dtype == ONX_DTYPE_F16)
        to_halves(to, from, n);
    else
        (void)onx_dtype_convert(ONX_DTYPE_F32, from, dtype, to, n, false);
}

/* n elements from `at`, which lie together or (step 0) are one. */
static void copy_run(float *to, const onx_operand *operand, int64_t at, int64_t step, size_t n) {
    if (step == 0) {
        vf value = vf_set(element(operand, at));
        for (; n >= VF; n -= VF, to += VF) vf_store(to, value);
        vf_store_n(to, value, n);
    } else if (operand->dtype != ONX_DTYPE_F32) {
        size_t size = onx_dtype_bits((onx_dtype)operand->dtype) / 8;
        widen(to, (onx_dtype)operand->dtype, (const char *)operand->data + (size_t)at * size, n);
    } else {
        const float *from = (const float *)operand->data + at;
        for (; n >= VF; n -= VF, from += VF, to += VF) vf_store(to, vf_load(from));
        vf_store_n(to, vf_load_n(from, n), n);
    }
}

/* Is it one vector, again and again: numbers for the channels of a block, over its pixels? */
static bool repeats(const onx_tile_plan *plan, const onx_tile_view *view) {
    size_t last = plan->rank - 1;
    return plan->inner == VF && last > 0 && view->dtype == ONX_DTYPE_F32 &&
           view->strides[last] == 1 && view->strides[last - 1] == 0;
}

/* Elements at … at+n-1 of the result, of an operand that is spread over it. */
static onx_tile_arg fetch(const onx_tile_plan *plan, const onx_tile_view *view,
                          const onx_operand *operand, int64_t at, size_t n, float *buffer) {
    int64_t index[ONX_RANK_MAX + 1], offset = 0;
    size_t last = plan->rank - 1;
    for (size_t d = plan->rank; d-- > 0; at /= plan->dims[d]) {
        index[d] = at % plan->dims[d];
        offset += index[d] * view->strides[d];
    }
    if ((int64_t)n <= plan->inner - index[last]) {
        if (view->strides[last] == 0) return one_number(buffer, element(operand, offset));
        if (view->dtype == ONX_DTYPE_F32)
            return (onx_tile_arg){(const float *)operand->data + offset, VF, 0};
    }
    if (repeats(plan, view) && index[last] == 0 &&
        (int64_t)n <= (plan->dims[last - 1] - index[last - 1]) * VF)
        return (onx_tile_arg){(const float *)operand->data + offset, 0, 0};
    for (size_t done = 0; done < n;) {
        size_t run = (size_t)(plan->inner - index[last]);
        if (run > n - done) run = n - done;
        copy_run(buffer + done, operand, offset, view->strides[last], run);
        done += run;
        offset = onx_tile_next_row(plan, view, index, offset);
    }
    return (onx_tile_arg){buffer, VF, 0};
}

void ONX_TIER(onx_tile_begin)(onx_tile_work *work, const onx_tile_plan *plan,
                              onx_operand *const *operands, void *scratch) {
    const onx_tile *tile = plan->tile;
    const onx_tile_program *p = &tile->program;
    work->plan = plan;
    work->operands = operands;
    work->buffers = scratch;
    float *registers = work->buffers + p->n_in * ONX_TILE_SPAN;
    float *constants = registers + tile->n_registers * ONX_TILE_SPAN;
    onx_tile_arg *slot = work->slots;
    for (size_t i = 0; i < p->n_in; i++, slot++)
        if (operands[i] && plan->views[i].mode == ONX_TILE_SCALAR)
            *slot = one_number(work->buffers + i * ONX_TILE_SPAN, element(operands[i], 0));
    for (size_t i = 0; i < p->n_consts; i++)
        *slot++ = one_number(constants + i * (ONX_ALIGN / sizeof(float)), p->consts[i]);
    for (size_t i = 0; i < tile->n_registers; i++)
        *slot++ = (onx_tile_arg){registers + i * ONX_TILE_SPAN, VF, 0};
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

/* Those in the mask `same` are there already. */
static void fetch_all(onx_tile_work *work, int64_t at, size_t n, const float *block,
                      uint32_t same) {
    const onx_tile_plan *plan = work->plan;
    for (size_t i = 0; i < plan->tile->program.n_in; i++) {
        const onx_tile_view *view = &plan->views[i];
        const onx_operand *operand = work->operands[i];
        float *buffer = work->buffers + i * ONX_TILE_SPAN;
        if (same >> i & 1) continue;
        if (!operand) {
            work->slots[i] = (onx_tile_arg){block, VF, 0};
        } else if (view->mode == ONX_TILE_SPREAD) {
            work->slots[i] = fetch(plan, view, operand, at, n, buffer);
        } else if (view->mode == ONX_TILE_FULL && view->dtype == ONX_DTYPE_F32) {
            work->slots[i] = (onx_tile_arg){(const float *)operand->data + at, VF, 0};
        } else if (view->mode == ONX_TILE_FULL) {
            copy_run(buffer, operand, at, 1, n);
            work->slots[i] = (onx_tile_arg){buffer, VF, 0};
        }
    }
}

/* A stretch, or several `row` apart, for which only float is written. */
static void run_stretch(onx_tile_work *work, size_t rows, size_t n, void *out, size_t row) {
    const onx_tile *tile = work->plan->tile;
    const onx_tile_program *p = &tile->program;
    float *registers = work->buffers + p->n_in * ONX_TILE_SPAN;
    bool straight = work->plan->dtype == ONX_DTYPE_F32;
    for (size_t i = 0; i < p->n_code; i++) {
        const onx_tile_step *step = &tile->steps[i];
        bool last = i + 1 == p->n_code && straight;
        float *to = last ? out : registers + step->to * ONX_TILE_SPAN;
        run_step(step, work->slots, to, last ? row : n, rows, n);
    }
    if (straight) return;
    const float *result = registers + tile->steps[p->n_code - 1].to * ONX_TILE_SPAN;
    narrow(out, (onx_dtype)work->plan->dtype, result, n);
}

/* Where operands are spread over long rows, stretches end with the rows: then none needs a copy.
 * The pixels of a block are such a row. */
static int64_t row_of(const onx_tile_plan *plan) {
    bool block = plan->inner == VF && plan->rank > 1;
    int64_t row = block ? plan->inner * plan->dims[plan->rank - 2] : plan->inner;
    return row >= ONX_TILE_SPAN / 4 ? row : 0;
}

/* A single instruction over operands that lie like the result needs no cuts: no buffer is used. */
static size_t longest_of(const onx_tile_plan *plan) {
    bool plain = plan->tile->program.n_code == 1 && plan->dtype == ONX_DTYPE_F32;
    for (size_t i = 0; i < plan->tile->program.n_in; i++) {
        const onx_tile_view *view = &plan->views[i];
        if (view->mode == ONX_TILE_FULL) plain = plain && view->dtype == ONX_DTYPE_F32;
        if (view->mode == ONX_TILE_SPREAD) plain = false;
    }
    return plain ? SIZE_MAX : ONX_TILE_SPAN;
}

void ONX_TIER(onx_tile_span)(onx_tile_work *work, int64_t at, size_t n, const float *block,
                             void *out) {
    const onx_tile_plan *plan = work->plan;
    int64_t row = row_of(plan);
    size_t longest = longest_of(plan);
    size_t size = onx_dtype_bits((onx_dtype)plan->dtype) / 8;
    while (n) {
        size_t some = n < longest ? n : longest;
        if (row && longest == ONX_TILE_SPAN && (int64_t)some > row - at % row)
            some = (size_t)(row - at % row);
        fetch_all(work, at, some, block, 0);
        run_stretch(work, 1, some, out, 0);
        at += (int64_t)some;
        n -= some;
        block = block ? block + some : NULL;
        out = (char *)out + some * size;
    }
}

/* Is the operand one row that all rows of the result have in common, as a bias is? */
static bool is_one_row(const onx_tile_plan *plan, const onx_tile_view *view, int64_t width) {
    bool one = view->mode == ONX_TILE_SPREAD && plan->dims[plan->rank - 1] == width;
    for (size_t d = 0; d + 1 < plan->rank; d++) one = one && view->strides[d] == 0;
    return one;
}

/* From row to row of a block, where operands lie; false when not all can be read there. */
static bool set_rows(onx_tile_work *work, size_t stride, int64_t width, size_t n) {
    const onx_tile_plan *plan = work->plan;
    const onx_tile *tile = plan->tile;
    onx_tile_arg *registers = work->slots + tile->program.n_in + tile->program.n_consts;
    for (size_t i = 0; i < tile->program.n_in; i++) {
        const onx_tile_view *view = &plan->views[i];
        bool full = view->mode == ONX_TILE_FULL, operand = work->operands[i];
        work->slots[i].row = !operand ? stride : full ? (size_t)width : 0;
        if (!operand || view->mode == ONX_TILE_SCALAR || view->mode == ONX_TILE_UNUSED) continue;
        if (view->dtype != ONX_DTYPE_F32 || (!full && !is_one_row(plan, view, width))) return false;
    }
    for (size_t i = 0; i < tile->n_registers; i++) registers[i].row = n;
    return true;
}

/* Rows that lie together are one stretch; others of a block are done together if they can be. */
void ONX_TIER(onx_tile_rows)(onx_tile_work *work, float *block, size_t stride, int64_t width,
                             int64_t row0, size_t n_rows, int64_t col0, size_t n_cols) {
    for (; n_cols > ONX_TILE_SPAN; n_cols -= ONX_TILE_SPAN, col0 += ONX_TILE_SPAN) {
        ONX_TIER(onx_tile_rows)(work, block, stride, width, row0, n_rows, col0, ONX_TILE_SPAN);
        block += ONX_TILE_SPAN;
    }
    uint32_t same = 0; /* bit i: operand i is where it was for the row before */
    bool whole = n_cols == stride && (int64_t)n_cols == width;
    for (size_t r = 0, few; n_cols && r < n_rows; r += few, block += few * stride) {
        few = n_rows - r < ONX_TILE_SPAN / n_cols ? n_rows - r : ONX_TILE_SPAN / n_cols;
        size_t n = whole ? few * n_cols : n_cols;
        fetch_all(work, (row0 + (int64_t)r) * width + col0, n, block, same);
        if (!whole && !set_rows(work, stride, width, n_cols)) few = 1;
        run_stretch(work, whole ? 1 : few, n, block, stride);
        for (size_t i = 0; r == 0 && i < work->plan->tile->program.n_in; i++)
            if (work->operands[i] && is_one_row(work->plan, &work->plan->views[i], width))
                same |= 1u << i;
    }
}

void ONX_TIER(onx_tile_finish)(void *user, float *c, size_t row, size_t n_rows, size_t col,
                               size_t n_cols, size_t ldc) {
    onx_tile_end *end = user;
    ONX_TIER(onx_tile_rows)
    (&end->work, c, ldc, (int64_t)end->n, (int64_t)(end->row + row), n_rows, (int64_t)col, n_cols);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user;
    const onx_tile_plan *plan = call->plan;
    int64_t at = (int64_t)index * ONX_TILE_TASK, n = plan->count - at;
    if (n > ONX_TILE_TASK) n = ONX_TILE_TASK;
    size_t size = onx_dtype_bits((onx_dtype)plan->dtype) / 8;
    onx_tile_work work;
    ONX_TIER(onx_tile_begin)(&work, plan, call->in, scratch);
    ONX_TIER(onx_tile_span)
    (&work, at, (size_t)n, NULL, (char *)call->out[0]->data + (size_t)at * size);
    return ONX_OK;
}

onx_status ONX_TIER(onx_tile_run)(onx_call *call) {
    const onx_tile_plan *plan = call->plan;
    size_t n = ((size_t)plan->count + ONX_TILE_TASK - 1) / ONX_TILE_TASK;
    return onx_call_parallel(call, n, task, NULL);
}

#define TYPES (ONX_T(F32) | ONX_T(BOOL))
#define ROW(name_, init_, overwrite_)                                                              \
    {                                                                                              \
        .op = "Tile", .first = 1, .types = {TYPES, TYPES, TYPES, TYPES, TYPES, TYPES},             \
        .name = name_, .flags = ONX_KERNEL_LAYOUTS, .overwrite = overwrite_,                       \
        .plan_bytes = sizeof(onx_tile_plan), .domain = "onx.internal", .init = init_,              \
        .bind = onx_tile_bind_call, .run = ONX_TIER(onx_tile_run)                                  \
    }

extern onx_kernel_rows ONX_TIER(onx_kernels_tile);
onx_kernel_rows ONX_TIER(onx_kernels_tile) = {
    ROW("tile_f32", onx_tile_init_float, 0xff),
    ROW("tile_bool", onx_tile_init, 0),
    {0},
};
