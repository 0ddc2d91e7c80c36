/* wide_ref.c: see wide_ref.h. */
#include "ops/eltwise/wide_ref.h"
#include "ops/tile/tile_ref.h"
#include "rt/object.h"

enum { SPAN = 256 }; /* elements that are widened at a time */

typedef union wide {
    double f;
    int64_t s;
    uint64_t u;
} wide;

typedef struct state {
    onx_wide_f64 *f;
    onx_wide_i64 *s;
    onx_wide_u64 *u;
    uint8_t dtype;   /* F64, I64 or U64: what elements are widened to */
    uint8_t arity;   /* operands of the function */
    uint8_t scalars; /* inputs that must have one element */
    bool is_bool;
    bool fold; /* over any number of inputs */
    bool mean;
    int64_t axis; /* opsets before 7: where the shape of input 1 begins in that of input 0; or -1 */
    wide extras[3]; /* operands that are attributes, or absent */
} state;

/* ─ What to compute ──────────────────────────────────────────────────────────────────────────── */

static uint8_t widest(const onx_call *call) {
    uint32_t integers = ONX_T_INTS | ONX_T(BOOL);
    for (size_t i = 0; i < call->n_in; i++)
        if (call->in[i] && !(integers >> call->in[i]->dtype & 1)) return ONX_DTYPE_F64;
    return call->in[0]->dtype == ONX_DTYPE_U64 ? ONX_DTYPE_U64 : ONX_DTYPE_I64;
}

static void set_extra(state *st, size_t index, double value) {
    (void)onx_dtype_convert(ONX_DTYPE_F64, &value, st->dtype, &st->extras[index], 1, true);
}

/* An attribute that is float or int. */
static double attr_value(const onx_call *call, const char *name) {
    return (double)onx_call_float(call, name) + (double)onx_call_int(call, name);
}

static void use_form(const onx_call *call, state *st, const onx_tile_form *form) {
    st->f = onx_tile_function(form->op);
    st->arity = (uint8_t)onx_tile_arity(form->op);
    st->scalars = form->scalars;
    st->fold = strchr(form->types, '*') != NULL;
    st->mean = form->mean;
    for (size_t i = 1; i < 3; i++)
        set_extra(st, i, (double)onx_tile_extra(form, call->op, call->node, i));
}

static void use_rule(const onx_call *call, state *st, const onx_wide_rule *rule) {
    st->f = rule->f;
    st->arity = (uint8_t)call->n_in;
    for (size_t i = 0; i < 2 && rule->attrs[i]; i++) {
        set_extra(st, i + 1, attr_value(call, rule->attrs[i]));
        st->arity = (uint8_t)(i + 2);
    }
}

static const onx_wide_rule *find_rule(const onx_call *call, const onx_wide_rule *rules, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(rules[i].op, call->op->name) == 0 && (!rules[i].when || rules[i].when(call)))
            return &rules[i];
    return NULL;
}

/* Before opset 7, `axis` says where input 1 stands; PRelu's slope belonged to the channels. */
static int64_t old_axis(const onx_call *call) {
    if (call->op->since >= 7 || call->n_in < 2 || !call->in[1]) return -1;
    if (strcmp(call->op->name, "PRelu") == 0) return 1;
    return onx_op_has(call->node, "axis") ? onx_call_int(call, "axis") : -1;
}

onx_status onx_wide_init(onx_call *call, const onx_wide_rule *rules, size_t n) {
    const onx_wide_rule *rule = find_rule(call, rules, n);
    const onx_tile_form *form = onx_tile_form_any(call->op, call->node);
    state *st = onx_call_state(call, sizeof *st);
    if (!st) return onx_fail_nomem(call->diag);
    st->dtype = widest(call);
    st->axis = old_axis(call);
    if (rule && !rule->s) st->dtype = ONX_DTYPE_F64;
    if (!rule || (st->dtype == ONX_DTYPE_F64 && !rule->f && !form))
        return onx_call_fail(call, ONX_UNSUPPORTED, "%s is not computed on these types or modes",
                             call->op->name);
    if (form)
        use_form(call, st, form);
    else
        use_rule(call, st, rule);
    st->s = rule->s;
    st->u = rule->u;
    st->is_bool = rule->is_bool;
    return ONX_OK;
}

/* ─ Shapes ───────────────────────────────────────────────────────────────────────────────────── */

static size_t behind(const onx_call *call, const state *st, size_t index) {
    if (st->axis < 0 || index != 1 || call->in[1]->count == 1) return 0;
    return call->in[0]->rank - (size_t)st->axis - call->in[1]->rank;
}

static onx_status bind_old(onx_call *call, const state *st, onx_dtype dtype) {
    const onx_operand *a = call->in[0], *b = call->in[1];
    bool fits = b->count == 1 || st->axis <= (int64_t)a->rank - (int64_t)b->rank;
    for (size_t i = 0; i < b->rank && b->count != 1 && fits; i++)
        fits = b->dims[i] == a->dims[(size_t)st->axis + i] || b->dims[i] == 1;
    if (!fits)
        return onx_call_fail(call, ONX_INVALID,
                             "the shape of input 1 is not that of input 0 from axis %lld on",
                             (long long)st->axis);
    return onx_call_shape(call, 0, dtype, a->rank, a->dims);
}

onx_status onx_wide_bind(onx_call *call) {
    const state *st = call->state;
    onx_dtype dtype = st->is_bool ? ONX_DTYPE_BOOL : (onx_dtype)call->in[0]->dtype;
    for (size_t i = 0; i < call->n_in; i++)
        if ((st->scalars >> i & 1) && call->in[i] && call->in[i]->count != 1)
            return onx_call_fail(call, ONX_INVALID, "input %zu must have one element, not %lld", i,
                                 (long long)call->in[i]->count);
    if (st->axis >= 0) return bind_old(call, st, dtype);
    return st->scalars ? onx_bind_same(call) : onx_bind_broadcast(call, dtype);
}

/* ─ Elements ─────────────────────────────────────────────────────────────────────────────────── */

size_t onx_wide_size(const onx_operand *operand) {
    if (operand->dtype == ONX_DTYPE_STRING) return sizeof(onx_str);
    return onx_dtype_bits((onx_dtype)operand->dtype) / 8;
}

/* n elements that lie together, or (stride 0) n times the same. */
static void copy_run(char *to, const char *from, int64_t stride, size_t n, size_t size) {
    if (stride)
        memcpy(to, from, n * size);
    else
        for (size_t i = 0; i < n; i++) memcpy(to + i * size, from, size);
}

void onx_wide_gather(const onx_operand *result, const onx_operand *operand, size_t behind_,
                     int64_t at, size_t n, void *to_) {
    size_t rank = result->rank, front = rank - behind_ - operand->rank;
    size_t size = onx_wide_size(operand);
    bool strings = operand->dtype == ONX_DTYPE_STRING;
    const char *from = strings ? (const char *)operand->object->strings : operand->data;
    char *to = to_;
    int64_t index[ONX_RANK_MAX + 1] = {0}, strides[ONX_RANK_MAX + 1] = {0}, offset = 0, stride = 1;
    for (size_t d = rank; d-- > 0; at /= result->dims[d]) {
        bool inside = d >= front && d - front < operand->rank;
        int64_t dim = inside ? operand->dims[d - front] : 1;
        strides[d] = dim == 1 ? 0 : stride;
        stride *= dim;
        index[d] = at % result->dims[d];
        offset += index[d] * strides[d];
    }
    size_t last = rank ? rank - 1 : 0;
    int64_t inner = rank ? result->dims[last] : 1;
    while (n) {
        size_t run = (size_t)(inner - index[last]) < n ? (size_t)(inner - index[last]) : n;
        copy_run(to, from + (size_t)offset * size, strides[last], run, size);
        to += run * size;
        n -= run;
        offset -= index[last] * strides[last];
        index[last] = 0;
        for (size_t d = last; d-- > 0;) {
            offset += strides[d];
            if (++index[d] < result->dims[d]) break;
            offset -= index[d] * strides[d];
            index[d] = 0;
        }
    }
}

static void convert(onx_dtype from, const void *src, onx_dtype to, void *dst, size_t n) {
    if (from == to)
        memcpy(dst, src, n * sizeof(wide));
    else
        (void)onx_dtype_convert(from, src, to, dst, n, false);
}

/* n elements of an input, widened. */
static void fetch(const onx_call *call, const state *st, size_t index, int64_t at, size_t n,
                  wide *to) {
    const onx_operand *in = index < call->n_in ? call->in[index] : NULL;
    char raw[SPAN * sizeof(double)];
    const void *from = raw;
    if (!in || in->count == 1) {
        if (in)
            (void)onx_dtype_convert(in->dtype, in->data, st->dtype, to, 1, false);
        else
            to[0] = st->extras[index];
        for (size_t i = 1; i < n; i++) to[i] = to[0];
        return;
    }
    if (in->count == call->out[0]->count) /* as broadcasting only adds elements: the same shape */
        from = (const char *)in->data + (size_t)at * onx_wide_size(in);
    else
        onx_wide_gather(call->out[0], in, behind(call, st, index), at, n, raw);
    convert(in->dtype, from, st->dtype, to, n);
}

static void apply(const state *st, wide *a, const wide *b, const wide *c, size_t n) {
    switch (st->dtype) {
    case ONX_DTYPE_F64:
        for (size_t i = 0; i < n; i++) a[i].f = st->f(a[i].f, b[i].f, c[i].f);
        break;
    case ONX_DTYPE_I64:
        for (size_t i = 0; i < n; i++) a[i].s = st->s(a[i].s, b[i].s, c[i].s);
        break;
    default:
        for (size_t i = 0; i < n; i++) a[i].u = st->u(a[i].u, b[i].u, c[i].u);
    }
}

static void run_span(const onx_call *call, const state *st, int64_t at, size_t n, wide (*x)[SPAN]) {
    const onx_operand *out = call->out[0];
    fetch(call, st, 0, at, n, x[0]);
    if (st->fold) {
        for (size_t i = 1; i < call->n_in; i++) {
            fetch(call, st, i, at, n, x[1]);
            apply(st, x[0], x[1], x[2], n);
        }
        for (size_t i = 0; st->mean && i < n; i++) x[0][i].f /= (double)call->n_in;
    } else {
        for (size_t i = 1; i < st->arity; i++) fetch(call, st, i, at, n, x[i]);
        apply(st, x[0], x[1], x[2], n);
    }
    char *to = (char *)out->data + (size_t)at * onx_wide_size(out);
    convert(st->dtype, x[0], out->dtype, to, n);
}

static onx_status task(void *user, onx_call *call, size_t index, void *scratch) {
    (void)user, (void)scratch;
    int64_t at = (int64_t)index * ONX_WIDE_TASK, end = at + ONX_WIDE_TASK;
    if (end > call->out[0]->count) end = call->out[0]->count;
    wide x[3][SPAN] = {{{0}}};
    for (; at < end; at += SPAN)
        run_span(call, call->state, at, (size_t)(end - at < SPAN ? end - at : SPAN), x);
    return ONX_OK;
}

onx_status onx_wide_run(onx_call *call) {
    size_t n = ((size_t)call->out[0]->count + ONX_WIDE_TASK - 1) / ONX_WIDE_TASK;
    return onx_call_parallel(call, n, task, NULL);
}
