/* typed_simd.c: see typed_simd.h. The result is cut into stretches of at most SPAN bytes. Operands
 * are read where they lie when a stretch of them is contiguous, as one vector when they are one
 * number, and through a buffer otherwise; what is less than a vector in the end goes through one,
 * too. */
#include "ops/eltwise/typed_simd.h"
#include "ops/eltwise/typed_ops_simd.h"

enum {
    SPAN = 4096,              /* bytes of a stretch */
    BUFFER = SPAN + VF_BYTES, /* what fills it may write more */
};

typedef struct typed {
    onx_tile tile; /* first: onx_tile_bind_call reads it */
    const rule *rule;
    onx_dtype dtype;                        /* of the operands, but for a condition */
    size_t size;                            /* of an element */
    bool choice;                            /* operand 0 is a condition */
    char bounds[ONX_TILE_INPUTS][VF_BYTES]; /* in the place of absent operands */
} typed;

/* A task at work: operands, and beside their buffers one more. */
typedef struct work {
    const typed *typed;
    const onx_call *call;
    char *buffers;
    arg args[ONX_TILE_INPUTS];
} work;

/* ─ Elements ─────────────────────────────────────────────────────────────────────────────────── */

static size_t size_of(const onx_operand *operand) {
    return onx_dtype_bits((onx_dtype)operand->dtype) / 8;
}

/* The same element n times, and up to a whole vector. */
static void fill(char *to, const char *from, size_t size, size_t n) {
    static const uint64_t spread[] = {
        0, 0x0101010101010101, 0x0001000100010001, 0, 0x0000000100000001, 0, 0, 0, 1};
    uint64_t bits = 0;
    memcpy(&bits, from, size);
    vu64 v = bits * spread[size] - (vu64){0};
    for (size_t i = 0; i < n * size; i += sizeof v) memcpy(to + i, &v, sizeof v);
}

/* Elements at … at+n-1 of the result, of an operand that is spread over it. */
static arg fetch(const onx_tile_plan *plan, const onx_tile_view *view, const onx_operand *operand,
                 int64_t at, size_t n, size_t lanes, char *buffer) {
    int64_t index[ONX_RANK_MAX + 1], offset = 0;
    size_t last = plan->rank - 1, size = size_of(operand);
    const char *data = operand->data;
    for (size_t d = plan->rank; d-- > 0; at /= plan->dims[d]) {
        index[d] = at % plan->dims[d];
        offset += index[d] * view->strides[d];
    }
    if ((int64_t)n <= plan->inner - index[last]) {
        const char *from = data + (size_t)offset * size;
        if (view->strides[last]) return (arg){from, lanes * size};
        fill(buffer, from, size, 1);
        return (arg){buffer, 0};
    }
    for (size_t done = 0; done < n;) {
        size_t run = (size_t)(plan->inner - index[last]);
        const char *from = data + (size_t)offset * size;
        if (run > n - done) run = n - done;
        if (view->strides[last])
            memcpy(buffer + done * size, from, run * size);
        else
            fill(buffer + done * size, from, size, run);
        done += run;
        offset -= index[last] * view->strides[last];
        index[last] = 0;
        for (size_t d = last; d-- > 0;) {
            offset += view->strides[d];
            if (++index[d] < plan->dims[d]) break;
            offset -= index[d] * view->strides[d];
            index[d] = 0;
        }
    }
    return (arg){buffer, lanes * size};
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

/* Operands that are one element for all, or absent. */
static void begin(work *w) {
    const onx_tile_plan *plan = w->call->plan;
    for (size_t i = 0; i < ONX_TILE_INPUTS; i++) {
        const onx_operand *operand = onx_call_in(w->call, i);
        char *buffer = w->buffers + i * BUFFER;
        if (!operand)
            w->args[i] = (arg){w->typed->bounds[i], 0};
        else if (plan->views[i].mode == ONX_TILE_SCALAR) {
            fill(buffer, operand->data, size_of(operand), 1);
            w->args[i] = (arg){buffer, 0};
        }
    }
}

static void fetch_all(work *w, int64_t at, size_t n) {
    const onx_tile_plan *plan = w->call->plan;
    size_t lanes = VF_BYTES / w->typed->size;
    for (size_t i = 0; i < w->call->n_in; i++) {
        const onx_operand *operand = w->call->in[i];
        if (!operand) continue;
        size_t size = size_of(operand);
        if (plan->views[i].mode == ONX_TILE_FULL)
            w->args[i] = (arg){(const char *)operand->data + (size_t)at * size, lanes * size};
        else if (plan->views[i].mode == ONX_TILE_SPREAD)
            w->args[i] =
                fetch(plan, &plan->views[i], operand, at, n, lanes, w->buffers + i * BUFFER);
    }
}

/* n elements of one application of the operator. */
static void apply(const typed *t, char *y, arg a, arg b, arg c, size_t n) {
    size_t lanes = VF_BYTES / t->size, whole = n / lanes, rest = n % lanes;
    bool swap = t->rule->how & SWAPS;
    size_t size = t->rule->how & GIVES_BOOL ? 1 : t->size;
    arg args[] = {swap ? b : a, swap ? a : b, c};
    char ends[3][VF_BYTES] = {{0}}, end[VF_BYTES];
    t->rule->run(t->dtype, y, args[0], args[1], args[2], whole);
    if (!rest) return;
    for (size_t i = 0; i < 3; i++) {
        size_t step = args[i].step;
        memcpy(ends[i], args[i].data + whole * step, step ? rest * (step / lanes) : VF_BYTES);
        args[i] = (arg){ends[i], 0};
    }
    t->rule->run(t->dtype, end, args[0], args[1], args[2], 1);
    memcpy(y + whole * lanes * size, end, rest * size);
}

static void run_stretch(work *w, size_t n, char *out) {
    const typed *t = w->typed;
    size_t n_in = w->call->n_in;
    char *spare = w->buffers + n_in * BUFFER;
    arg a = w->args[0], b = w->args[1], c = w->args[2];
    for (size_t i = 1; (t->rule->how & FOLDS) && i + 1 < n_in; b = w->args[++i]) {
        apply(t, spare, a, b, c, n);
        a = (arg){spare, VF_BYTES};
    }
    apply(t, out, a, b, c, n);
}

/* Where operands are spread over long rows, stretches end with the rows: then none needs a copy. */
static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user;
    const onx_tile_plan *plan = call->plan;
    work w = {.typed = call->state, .call = call, .buffers = scratch};
    int64_t at = (int64_t)index * ONX_TILE_TASK, end = at + ONX_TILE_TASK;
    int64_t most = SPAN / (int64_t)w.typed->size, row = plan->inner >= most / 4 ? plan->inner : 0;
    size_t size = size_of(call->out[0]);
    if (end > plan->count) end = plan->count;
    begin(&w);
    for (int64_t n; at < end; at += n) {
        n = end - at < most ? end - at : most;
        if (row && n > row - at % row) n = row - at % row;
        fetch_all(&w, at, (size_t)n);
        run_stretch(&w, (size_t)n, (char *)call->out[0]->data + (size_t)at * size);
    }
    return ONX_OK;
}

onx_status ONX_TIER(onx_typed_run)(onx_call *call) {
    const onx_tile_plan *plan = call->plan;
    size_t n = ((size_t)plan->count + ONX_TILE_TASK - 1) / ONX_TILE_TASK;
    return onx_call_parallel(call, n, task, NULL);
}

/* ─ What to compute ──────────────────────────────────────────────────────────────────────────── */

static const rule *find(const onx_call *call) {
    for (size_t i = 0; i < ONX_COUNT(rules); i++)
        if (strcmp(rules[i].op, call->op->name) == 0 && (!rules[i].when || rules[i].when(call)))
            return &rules[i];
    return NULL;
}

/* Before opset 7 there was another way to broadcast, and before 11 Clip had attributes. */
static bool fits(const onx_call *call, const rule *r, size_t first) {
    bool clip = r && strcmp(r->op, "Clip") == 0;
    if (!r || call->op->since < (clip ? 11 : call->n_in > 1 ? 7 : 1)) return false;
    if (call->n_in > ONX_TILE_INPUTS || ((r->how & FOLDS) && call->n_in < 2)) return false;
    for (size_t i = first; i < call->n_in; i++)
        if (call->in[i] && call->in[i]->dtype != call->in[first]->dtype) return false;
    return r->types >> call->in[first]->dtype & 1;
}

static void set_bound(typed *t, size_t index, double value) {
    char element[sizeof(double)];
    (void)onx_dtype_convert(ONX_DTYPE_F64, &value, t->dtype, element, 1, true);
    fill(t->bounds[index], element, t->size, 1);
}

onx_status ONX_TIER(onx_typed_init)(onx_call *call) {
    const rule *r = find(call);
    bool choice = strcmp(call->op->name, "Where") == 0;
    if (!fits(call, r, choice))
        return onx_call_fail(call, ONX_UNSUPPORTED, "%s of these types is not on vectors",
                             call->op->name);
    typed *t = onx_call_state(call, sizeof *t);
    if (!t) return onx_fail_nomem(call->diag);
    t->rule = r;
    t->dtype = (onx_dtype)call->in[choice]->dtype;
    t->size = size_of(call->in[choice]);
    t->tile.program.n_in = call->n_in;
    t->tile.types = ~0u;
    t->tile.to = (uint8_t)(r->how & GIVES_BOOL ? ONX_DTYPE_BOOL : t->dtype);
    t->tile.scalars = r->run == clip ? 6 : 0;
    t->tile.scratch = (call->n_in + 1) * BUFFER;
    set_bound(t, 1, -INFINITY);
    set_bound(t, 2, INFINITY);
    return ONX_OK;
}
