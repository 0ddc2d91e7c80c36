/* typed_ref.c: see typed_ref.h. The result is cut into stretches of at most SPAN bytes. Operands
 * are read where they lie when a stretch of them is contiguous, as one vector when they are one
 * number, and through a buffer otherwise; what is less than a vector in the end goes through one,
 * too. */
#include "ops/eltwise/typed_ref.h"

#include <math.h>

enum {
    SPAN = 4096,               /* bytes of a stretch */
    BUFFER = SPAN + ONX_ALIGN, /* what fills it may write more */
};

typedef struct typed {
    onx_tile tile; /* first: onx_tile_bind_call reads it */
    const onx_typed_rule *rule;
    onx_dtype dtype;                         /* of the operands, but for a condition */
    size_t size;                             /* of an element, */
    size_t lanes;                            /* so many of which are a vector */
    size_t out_size;                         /* of an element of the result */
    char bounds[ONX_TILE_INPUTS][ONX_ALIGN]; /* in the place of absent operands */
} typed;

/* A task at work: operands, and beside their buffers one more. */
typedef struct work {
    const typed *typed;
    const onx_call *call;
    char *buffers;
    onx_typed_arg args[ONX_TILE_INPUTS];
} work;

/* ─ Elements ─────────────────────────────────────────────────────────────────────────────────── */

static size_t size_of(const onx_operand *operand) {
    return onx_dtype_bits((onx_dtype)operand->dtype) / 8;
}

/* The same element n times, and up to a whole vector. */
static void fill(char *to, const char *from, size_t size, size_t n) {
    static const uint64_t spread[] = {
        0, 0x0101010101010101, 0x0001000100010001, 0, 0x0000000100000001, 0, 0, 0, 1};
    uint64_t bits = 0, vector[ONX_ALIGN / sizeof bits];
    memcpy(&bits, from, size);
    for (size_t i = 0; i < ONX_COUNT(vector); i++) vector[i] = bits * spread[size];
    for (size_t i = 0; i < n * size; i += sizeof vector) memcpy(to + i, vector, sizeof vector);
}

/* Elements at … at+n-1 of the result, of an operand that is spread over it. */
static onx_typed_arg fetch(const onx_tile_plan *plan, const onx_tile_view *view,
                           const onx_operand *operand, int64_t at, size_t n, size_t lanes,
                           char *buffer) {
    int64_t index[ONX_RANK_MAX + 1], offset = 0;
    size_t last = plan->rank - 1, size = size_of(operand);
    const char *data = operand->data;
    for (size_t d = plan->rank; d-- > 0; at /= plan->dims[d]) {
        index[d] = at % plan->dims[d];
        offset += index[d] * view->strides[d];
    }
    if ((int64_t)n <= plan->inner - index[last]) {
        const char *from = data + (size_t)offset * size;
        if (view->strides[last]) return (onx_typed_arg){from, lanes * size};
        fill(buffer, from, size, 1);
        return (onx_typed_arg){buffer, 0};
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
        offset = onx_tile_next_row(plan, view, index, offset);
    }
    return (onx_typed_arg){buffer, lanes * size};
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

/* Operands that are one element for all, or absent. */
static void begin(work *w) {
    const onx_tile_plan *plan = w->call->plan;
    for (size_t i = 0; i < ONX_TILE_INPUTS; i++) {
        const onx_operand *operand = onx_call_in(w->call, i);
        char *buffer = w->buffers + i * BUFFER;
        if (!operand)
            w->args[i] = (onx_typed_arg){w->typed->bounds[i], 0};
        else if (plan->views[i].mode == ONX_TILE_SCALAR) {
            fill(buffer, operand->data, size_of(operand), 1);
            w->args[i] = (onx_typed_arg){buffer, 0};
        }
    }
}

static void fetch_all(work *w, int64_t at, size_t n) {
    const onx_tile_plan *plan = w->call->plan;
    size_t lanes = w->typed->lanes;
    for (size_t i = 0; i < w->call->n_in; i++) {
        const onx_operand *operand = w->call->in[i];
        if (!operand) continue;
        size_t size = size_of(operand);
        if (plan->views[i].mode == ONX_TILE_FULL)
            w->args[i] =
                (onx_typed_arg){(const char *)operand->data + (size_t)at * size, lanes * size};
        else if (plan->views[i].mode == ONX_TILE_SPREAD)
            w->args[i] =
                fetch(plan, &plan->views[i], operand, at, n, lanes, w->buffers + i * BUFFER);
    }
}

/* What is less than a vector in the end goes through one: n elements from vector `at` on. */
static void apply_rest(const typed *t, char *y, const onx_typed_arg *args, size_t at, size_t n) {
    char x[3][ONX_ALIGN] = {{0}}, made[ONX_ALIGN];
    onx_typed_arg ends[3];
    for (size_t i = 0; i < 3; i++) {
        size_t step = args[i].step, bytes = step ? n * (step / t->lanes) : t->lanes * t->size;
        memcpy(x[i], args[i].data + at * step, bytes);
        ends[i] = (onx_typed_arg){x[i], 0};
    }
    t->rule->run(t->dtype, made, ends[0], ends[1], ends[2], 1);
    memcpy(y + at * t->lanes * t->out_size, made, n * t->out_size);
}

/* n elements of one application of the operator. */
static void apply(const typed *t, char *y, onx_typed_arg a, onx_typed_arg b, onx_typed_arg c,
                  size_t n) {
    bool swap = t->rule->how & ONX_TYPED_SWAPS;
    const onx_typed_arg args[] = {swap ? b : a, swap ? a : b, c};
    size_t whole = n / t->lanes;
    t->rule->run(t->dtype, y, args[0], args[1], args[2], whole);
    if (n % t->lanes) apply_rest(t, y, args, whole, n % t->lanes);
}

static void run_stretch(work *w, size_t n, char *out) {
    const typed *t = w->typed;
    size_t n_in = w->call->n_in;
    char *spare = w->buffers + n_in * BUFFER;
    onx_typed_arg a = w->args[0], b = w->args[1], c = w->args[2];
    for (size_t i = 1; (t->rule->how & ONX_TYPED_FOLDS) && i + 1 < n_in; b = w->args[++i]) {
        apply(t, spare, a, b, c, n);
        a = (onx_typed_arg){spare, t->lanes * t->size};
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
    size_t size = w.typed->out_size;
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

onx_status onx_typed_run(onx_call *call) {
    const onx_tile_plan *plan = call->plan;
    size_t n = ((size_t)plan->count + ONX_TILE_TASK - 1) / ONX_TILE_TASK;
    return onx_call_parallel(call, n, task, NULL);
}

/* ─ What to compute ──────────────────────────────────────────────────────────────────────────── */

static const onx_typed_rule *find(const onx_call *call, const onx_typed_rule *rules, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(rules[i].op, call->op->name) == 0 && (!rules[i].when || rules[i].when(call)))
            return &rules[i];
    return NULL;
}

/* Before opset 7 there was another way to broadcast, and before 11 Clip had attributes. */
static bool fits(const onx_call *call, const onx_typed_rule *r) {
    size_t first = r->how & ONX_TYPED_CHOICE ? 1 : 0;
    int since = r->how & ONX_TYPED_BOUNDS ? 11 : call->n_in > 1 ? 7 : 1;
    if (call->op->since < since || call->n_in > ONX_TILE_INPUTS) return false;
    if ((r->how & ONX_TYPED_FOLDS) && call->n_in < 2) return false;
    for (size_t i = first; i < call->n_in; i++)
        if (call->in[i] && call->in[i]->dtype != call->in[first]->dtype) return false;
    return r->types >> call->in[first]->dtype & 1;
}

static void set_bound(typed *t, size_t index, double value) {
    char element[sizeof(double)];
    (void)onx_dtype_convert(ONX_DTYPE_F64, &value, t->dtype, element, 1, true);
    fill(t->bounds[index], element, t->size, 1);
}

onx_status onx_typed_new(onx_call *call, const onx_typed_rule *rules, size_t n, size_t vector) {
    const onx_typed_rule *r = find(call, rules, n);
    if (!r || !fits(call, r))
        return onx_call_fail(call, ONX_UNSUPPORTED, "%s of these types is not on vectors",
                             call->op->name);
    typed *t = onx_call_state(call, sizeof *t);
    if (!t) return onx_fail_nomem(call->diag);
    const onx_operand *in = call->in[r->how & ONX_TYPED_CHOICE ? 1 : 0];
    t->rule = r;
    t->dtype = (onx_dtype)in->dtype;
    t->size = size_of(in);
    t->lanes = vector / t->size;
    t->out_size = r->how & ONX_TYPED_BOOL ? 1 : t->size;
    t->tile.program.n_in = call->n_in;
    t->tile.types = ~0u;
    t->tile.to = (uint8_t)(r->how & ONX_TYPED_BOOL ? ONX_DTYPE_BOOL : t->dtype);
    t->tile.scalars = r->how & ONX_TYPED_BOUNDS ? 6 : 0;
    t->tile.scratch = (call->n_in + 1) * BUFFER;
    set_bound(t, 1, -INFINITY);
    set_bound(t, 2, INFINITY);
    return ONX_OK;
}
