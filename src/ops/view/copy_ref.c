/* copy_ref.c: copies of boxes with strides: the one loop behind most kernels that move elements.
 *
 * How the innermost elements lie decides how they are moved:
 *
 *     rows      together on both sides: memcpy
 *     tiles     together on the output side, and the input side has another dimension that lies
 *               together: blocks of both, which stay in the cache
 *     strided   one by one
 *
 * The box is cut into cells of about GRAIN bytes, by its shape alone. */
#include "ops/view/move_ref.h"

enum { GRAIN = 128 << 10, BLOCK = 32, FEW = 128 }; /* FEW: bytes of a short row */

typedef enum mode { ROWS, TILES, STRIDED } mode;

typedef struct walk { /* a copy made ready to be run by tasks */
    onx_copy box;
    const char *from;
    char *to;
    mode how;
    size_t outer;  /* dimensions that are walked through; those after it are a cell's own */
    int64_t piece; /* of the first dimension of a cell: how much of it one cell has */
    int64_t pieces, cells, per_task;
} walk;

onx_copy onx_copy_begin(size_t size) {
    return (onx_copy){.size = size};
}

void onx_copy_dim(onx_copy *copy, int64_t n, int64_t from, int64_t to) {
    size_t last = copy->rank - 1;
    copy->empty |= n == 0;
    if (n == 1 || copy->empty) return;
    if (copy->rank && copy->from[last] == n * from && copy->to[last] == n * to) {
        copy->dims[last] *= n;
    } else {
        last = copy->rank++;
        copy->dims[last] = n;
    }
    copy->from[last] = from;
    copy->to[last] = to;
}

/* ── Cells ───────────────────────────────────────────────────────────────────────────────────── */

/* n elements, each side with its step in bytes; `size` is a constant where it is called. */
static inline __attribute__((always_inline)) void move_each(size_t size, const char *from,
                                                            int64_t from_step, char *to,
                                                            int64_t to_step, int64_t n) {
    for (; n >= 4; n -= 4, from += 4 * from_step, to += 4 * to_step) {
        memcpy(to, from, size);
        memcpy(to + to_step, from + from_step, size);
        memcpy(to + 2 * to_step, from + 2 * from_step, size);
        memcpy(to + 3 * to_step, from + 3 * from_step, size);
    }
    for (; n > 0; n--, from += from_step, to += to_step) memcpy(to, from, size);
}

static void repeat(char *to, const char *one, size_t size, int64_t n) {
    switch (size) {
    case 1: memset(to, one[0], (size_t)n); break;
    case 2: move_each(2, one, 0, to, 2, n); break;
    case 4: move_each(4, one, 0, to, 4, n); break;
    case 8: move_each(8, one, 0, to, 8, n); break;
    default: move_each(16, one, 0, to, 16, n); break;
    }
}

void onx_move_fill(char *to, const char *one, size_t size, int64_t n) {
    char many[64];
    int64_t each = (int64_t)(sizeof many / size);
    if (n > 2 * each) repeat(many, one, size, each);
    for (; n > 2 * each; n -= each, to += sizeof many) memcpy(to, many, sizeof many);
    repeat(to, one, size, n);
}

static void move_strided(size_t size, const char *from, int64_t from_step, char *to,
                         int64_t to_step, int64_t n) {
    if (!from_step && to_step == (int64_t)size) {
        onx_move_fill(to, from, size, n);
        return;
    }
    switch (size) {
    case 1: move_each(1, from, from_step, to, to_step, n); break;
    case 2: move_each(2, from, from_step, to, to_step, n); break;
    case 4: move_each(4, from, from_step, to, to_step, n); break;
    case 8: move_each(8, from, from_step, to, to_step, n); break;
    default: move_each(16, from, from_step, to, to_step, n); break;
    }
}

static inline __attribute__((always_inline)) void move_lines(int64_t size, const char *from,
                                                             int64_t from_col, char *to,
                                                             int64_t to_row, int64_t rows,
                                                             int64_t cols) {
    const size_t bytes = (size_t)size;
    if (cols == 2) { /* pairs on one side */
        for (int64_t r = 0; r < rows; r++) {
            memcpy(to + r * to_row * size, from + r * size, bytes);
            memcpy(to + (r * to_row + 1) * size, from + (r + from_col) * size, bytes);
        }
    } else if (rows == 2) {
        for (int64_t c = 0; c < cols; c++) {
            memcpy(to + c * size, from + c * from_col * size, bytes);
            memcpy(to + (to_row + c) * size, from + (c * from_col + 1) * size, bytes);
        }
    } else {
        for (int64_t r = 0; r < rows; r++)
            move_each(bytes, from + r * size, from_col * size, to + r * to_row * size, size, cols);
    }
}

static void move_block(size_t size, const char *from, int64_t from_col, char *to, int64_t to_row,
                       int64_t rows, int64_t cols) {
    switch (size) {
    case 1: move_lines(1, from, from_col, to, to_row, rows, cols); break;
    case 2: move_lines(2, from, from_col, to, to_row, rows, cols); break;
    case 4: move_lines(4, from, from_col, to, to_row, rows, cols); break;
    case 8: move_lines(8, from, from_col, to, to_row, rows, cols); break;
    default: move_lines(16, from, from_col, to, to_row, rows, cols); break;
    }
}

/* from: [cols][rows], its columns from_col apart; to: [rows][cols], its rows to_row apart */
static void move_tiles(const onx_copy *box, const char *from, int64_t from_col, char *to,
                       int64_t to_row, int64_t rows, int64_t cols) {
    int64_t size = (int64_t)box->size;
    if (box->tile) {
        box->tile(from, from_col, to, to_row, rows, cols);
        return;
    }
    for (int64_t r = 0; r < rows; r += BLOCK) {
        int64_t height = rows - r < BLOCK ? rows - r : BLOCK;
        for (int64_t c = 0; c < cols; c += BLOCK)
            move_block(box->size, from + (r + c * from_col) * size, from_col,
                       to + (r * to_row + c) * size, to_row, height,
                       cols - c < BLOCK ? cols - c : BLOCK);
    }
}

/* A few bytes, without a call: the last of them may be moved twice. */
static inline void move_few(char *to, const char *from, size_t n) {
    size_t i = 0;
    if (n >= 16) {
        for (; i + 16 <= n; i += 16) memcpy(to + i, from + i, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else {
        for (; i < n; i++) to[i] = from[i];
    }
}

static void move_cell(const walk *w, int64_t from_at, int64_t to_at, int64_t piece) {
    const onx_copy *box = &w->box;
    size_t d = w->outer;
    int64_t size = (int64_t)box->size, first = piece * w->piece;
    int64_t n = box->dims[d] - first < w->piece ? box->dims[d] - first : w->piece;
    const char *from = w->from + (from_at + first * box->from[d]) * size;
    char *to = w->to + (to_at + first * box->to[d]) * size;
    if (w->how == ROWS)
        onx_mem_copy(to, from, (size_t)(n * size));
    else if (w->how == TILES)
        move_tiles(box, from, box->from[d + 1], to, box->to[d], n, box->dims[d + 1]);
    else
        move_strided(box->size, from, box->from[d] * size, to, box->to[d] * size, n);
}

/* Cells along the dimension around them. */
static void move_run(const walk *w, int64_t from_at, int64_t to_at, int64_t cells) {
    const onx_copy *box = &w->box;
    int64_t size = (int64_t)box->size, n = box->dims[w->outer] * size;
    int64_t from_step = box->from[w->outer - 1], to_step = box->to[w->outer - 1];
    if (w->how != ROWS || n > FEW) {
        for (int64_t i = 0; i < cells; i++)
            move_cell(w, from_at + i * from_step, to_at + i * to_step, 0);
        return;
    }
    const char *from = w->from + from_at * size;
    char *to = w->to + to_at * size;
    for (int64_t i = 0; i < cells; i++)
        move_few(to + i * to_step * size, from + i * from_step * size, (size_t)n);
}

/* ── The walk ────────────────────────────────────────────────────────────────────────────────── */

static void swap_i64(int64_t *a, int64_t *b) {
    int64_t t = *a;
    *a = *b;
    *b = t;
}

/* Move dimension `k` inwards to place `at`; the order of the others stays. */
static void move_dim(onx_copy *box, size_t k, size_t at) {
    for (; k < at; k++) {
        swap_i64(&box->dims[k], &box->dims[k + 1]);
        swap_i64(&box->from[k], &box->from[k + 1]);
        swap_i64(&box->to[k], &box->to[k + 1]);
    }
}

static void choose(walk *w) {
    onx_copy *box = &w->box;
    size_t last = box->rank - 1, k = 0;
    w->how = STRIDED;
    w->outer = last;
    if (box->to[last] != 1) return;
    while (k < last && box->from[k] != 1) k++;
    if (box->from[last] == 1) {
        w->how = ROWS;
    } else if (k < last && (box->from[last] || box->dims[last] < BLOCK)) {
        w->how = TILES;
        w->outer = last - 1;
        move_dim(box, k, last - 1);
    }
}

static void cut(walk *w) {
    const onx_copy *box = &w->box;
    int64_t bytes = (int64_t)box->size, n = box->dims[w->outer], outer = 1;
    if (w->how == TILES) bytes *= box->dims[w->outer + 1];
    for (size_t i = 0; i < w->outer; i++) outer *= box->dims[i];
    w->piece = n;
    if (n * bytes > GRAIN) { /* whole blocks */
        w->piece = GRAIN / bytes / BLOCK * BLOCK;
        if (w->piece < BLOCK) w->piece = BLOCK;
    }
    w->pieces = (n + w->piece - 1) / w->piece;
    w->cells = outer * w->pieces;
    int64_t cell = (w->piece < n ? w->piece : n) * bytes;
    w->per_task = cell < GRAIN ? GRAIN / cell : 1;
}

/* Cells first … end-1, with the coordinates of the outer dimensions counted up. */
static void move_cells(const walk *w, int64_t first, int64_t end) {
    const onx_copy *box = &w->box;
    int64_t at[ONX_COPY_RANK], from = box->from_at, to = box->to_at, rest = first / w->pieces;
    int64_t piece = first % w->pieces;
    for (size_t i = w->outer; i-- > 0; rest /= box->dims[i]) {
        at[i] = rest % box->dims[i];
        from += at[i] * box->from[i];
        to += at[i] * box->to[i];
    }
    bool whole = w->outer && w->pieces == 1;
    for (int64_t cell = first; cell < end;) {
        size_t last = w->outer - 1;
        int64_t steps = 1;
        if (whole) {
            steps = box->dims[last] - at[last];
            if (steps > end - cell) steps = end - cell;
            move_run(w, from, to, steps);
            cell += steps;
        } else {
            move_cell(w, from, to, piece);
            cell++;
            if (++piece < w->pieces) continue;
            piece = 0;
        }
        for (size_t i = w->outer; i-- > 0; steps = 1) {
            from += steps * box->from[i];
            to += steps * box->to[i];
            if ((at[i] += steps) < box->dims[i]) break;
            from -= box->from[i] * box->dims[i];
            to -= box->to[i] * box->dims[i];
            at[i] = 0;
        }
    }
}

static onx_status run_task(void *user, onx_call *call, size_t index, void *scratch) {
    const walk *w = user;
    int64_t first = (int64_t)index * w->per_task, end = first + w->per_task;
    (void)call;
    (void)scratch;
    move_cells(w, first, end < w->cells ? end : w->cells);
    return ONX_OK;
}

onx_status onx_copy_run(onx_call *call, const onx_copy *copy, const char *from, char *to) {
    if (copy->empty || !from || !to) return ONX_OK;
    walk w = {.box = *copy, .from = from, .to = to};
    if (!w.box.rank) {
        w.box.rank = 1;
        w.box.dims[0] = w.box.from[0] = w.box.to[0] = 1;
    }
    choose(&w);
    cut(&w);
    size_t tasks = (size_t)((w.cells + w.per_task - 1) / w.per_task);
    if (tasks > 1) return onx_call_parallel(call, tasks, run_task, &w);
    move_cells(&w, 0, w.cells);
    return ONX_OK;
}
