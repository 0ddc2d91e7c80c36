/* contract_plan_ref.c: contractions: labels, sizes, and the order in which operands are
 * multiplied. */
#include "ops/einsum/contract_ref.h"

enum { LOOK = 16 }; /* terms to choose a pair from: the first of those that are left */

onx_status onx_contract_bytes(const onx_call *call, size_t n, size_t *out) {
    if (n == 0 || n > ONX_CONTRACT_MOST)
        return onx_call_fail(call, ONX_LIMIT, "%zu operands; 1 to %d can be multiplied", n,
                             ONX_CONTRACT_MOST);
    *out = sizeof(onx_contract) + (2 * n - 1) * sizeof(onx_term) + (n - 1) * sizeof(onx_pair);
    return ONX_OK;
}

onx_contract *onx_contract_begin(onx_call *call, size_t n) {
    onx_contract *plan = call->plan;
    *plan = (onx_contract){.n = n, .alpha = 1};
    for (size_t l = 0; l < ONX_LABELS; l++) plan->sizes[l] = 1;
    for (size_t i = 0; i < 2 * n - 1; i++) onx_contract_term(plan, i)->n = 0;
    return plan;
}

onx_status onx_contract_size(const onx_call *call, onx_contract *plan, size_t index, size_t dim,
                             uint8_t label) {
    size_t size = (size_t)call->in[index]->dims[dim], *known = &plan->sizes[label];
    if (size == 1) return ONX_OK;
    if (*known != 1 && *known != size)
        return onx_call_fail(call, ONX_INVALID,
                             "dimension %zu of operand %zu is %zu, where %zu was before", dim,
                             index, size, *known);
    *known = size;
    return ONX_OK;
}

static size_t find(const onx_term *term, uint8_t label) {
    size_t i = 0;
    while (i < term->n && term->label[i] != label) i++;
    return i;
}

static void add(onx_term *term, uint8_t label, size_t step) {
    size_t i = find(term, label);
    if (i == term->n) {
        term->label[term->n] = label;
        term->step[term->n++] = 0;
    }
    term->step[i] += step;
}

void onx_contract_dim(const onx_call *call, onx_contract *plan, size_t index, size_t dim,
                      uint8_t label) {
    const onx_operand *x = call->in[index];
    size_t step = 1;
    if (x->dims[dim] == 1) return;
    for (size_t d = dim + 1; d < x->rank; d++) step *= (size_t)x->dims[d];
    add(onx_contract_term(plan, index), label, step);
}

/* ─ Pairs ────────────────────────────────────────────────────────────────────────────────────── */

/* What is still to be multiplied, and how often each label stands there and in the output. */
typedef struct rest {
    onx_contract *plan;
    size_t n, live[ONX_CONTRACT_MOST];
    size_t uses[ONX_LABELS];
    size_t next; /* element of scratch */
    size_t most[2];
} rest;

static double work(const rest *r, const onx_term *a, const onx_term *b) {
    double product = 1;
    for (size_t i = 0; i < a->n; i++) product *= (double)r->plan->sizes[a->label[i]];
    for (size_t i = 0; i < b->n; i++)
        if (find(a, b->label[i]) == a->n) product *= (double)r->plan->sizes[b->label[i]];
    return product;
}

static void choose(const rest *r, size_t *i, size_t *j) {
    size_t n = r->n < LOOK ? r->n : LOOK;
    double least = 0;
    *i = 0, *j = 1;
    for (size_t a = 0; a < n && n > 2; a++)
        for (size_t b = a + 1; b < n; b++) {
            double w = work(r, onx_contract_term(r->plan, r->live[a]),
                            onx_contract_term(r->plan, r->live[b]));
            if ((a || b > 1) && w >= least) continue;
            least = w, *i = a, *j = b;
        }
}

/* Labels that are only here, and not in the output, are summed before. */
static bool is_alone(const rest *r, const onx_term *term, size_t i) {
    return r->uses[term->label[i]] == 1;
}

static onx_pair sort_labels(rest *r, size_t a_index, size_t b_index, onx_term *y) {
    const onx_term *a = onx_contract_term(r->plan, a_index);
    const onx_term *b = onx_contract_term(r->plan, b_index);
    onx_pair p = {.a = a_index, .b = b_index};
    for (size_t i = 0; i < a->n; i++) {
        uint8_t l = a->label[i];
        if (find(b, l) == b->n) continue;
        if (r->uses[l] == 2)
            p.k[p.n_k++] = l;
        else
            add(y, l, 0);
    }
    p.n_batch = y->n;
    for (size_t i = 0; i < a->n; i++)
        if (find(b, a->label[i]) == b->n && !is_alone(r, a, i)) add(y, a->label[i], 0);
    p.n_m = y->n - p.n_batch;
    for (size_t i = 0; i < b->n; i++)
        if (find(a, b->label[i]) == a->n && !is_alone(r, b, i)) add(y, b->label[i], 0);
    p.n_n = y->n - p.n_batch - p.n_m;
    return p;
}

static bool count(const onx_contract *plan, size_t n, const uint8_t *labels, size_t *product) {
    for (size_t i = 0; i < n; i++)
        if (!onx_mul_size(*product, plan->sizes[labels[i]], product)) return false;
    return true;
}

/* Gives the result its place; false: sizes cannot be counted. */
static bool place(rest *r, const onx_pair *p, onx_term *y) {
    const onx_contract *plan = r->plan;
    size_t batch = 1, k = 1, sizes[2], all = 1;
    const uint8_t *m = y->label + p->n_batch, *n = m + p->n_m;
    if (!count(plan, p->n_batch, y->label, &batch) || !count(plan, p->n_k, p->k, &k) ||
        !onx_mul_size(batch, k, &sizes[0]) || !count(plan, y->n, y->label, &all))
        return false;
    sizes[1] = sizes[0];
    if (!count(plan, p->n_m, m, &sizes[0]) || !count(plan, p->n_n, n, &sizes[1])) return false;
    for (size_t i = 0; i < 2; i++)
        if (sizes[i] > r->most[i]) r->most[i] = sizes[i];
    for (size_t i = y->n, step = 1; i-- > 0; step *= plan->sizes[y->label[i]]) y->step[i] = step;
    y->at = r->next;
    return onx_add_size(r->next, all, &r->next);
}

static bool join(rest *r, size_t step) {
    size_t i, j, made = r->plan->n + step;
    onx_term *y = onx_contract_term(r->plan, made);
    choose(r, &i, &j);
    onx_pair p = sort_labels(r, r->live[i], r->live[j], y);
    *onx_contract_pair(r->plan, step) = p;
    for (size_t t = 0; t < 2; t++) {
        const onx_term *old = onx_contract_term(r->plan, t ? p.b : p.a);
        for (size_t l = 0; l < old->n; l++) r->uses[old->label[l]]--;
    }
    for (size_t l = 0; l < y->n; l++) r->uses[y->label[l]]++;
    r->live[i] = made;
    memmove(&r->live[j], &r->live[j + 1], (r->n - j - 1) * sizeof *r->live);
    r->n--;
    return place(r, &p, y);
}

onx_status onx_contract_end(onx_call *call, onx_contract *plan, size_t rank,
                            const uint8_t *labels) {
    rest r = {.plan = plan, .n = plan->n};
    int64_t dims[ONX_RANK_MAX];
    bool fits = true;
    if (rank > ONX_RANK_MAX)
        return onx_call_fail(call, ONX_UNSUPPORTED,
                             "the output has %zu dimensions; %d are possible", rank, ONX_RANK_MAX);
    for (size_t i = 0; i < rank; i++) {
        dims[i] = (int64_t)plan->sizes[labels[i]];
        if (plan->sizes[labels[i]] != 1) plan->out[plan->n_out++] = labels[i];
        r.uses[labels[i]]++;
    }
    for (size_t i = 0; i < plan->n; i++) {
        const onx_term *term = onx_contract_term(plan, i);
        r.live[i] = i;
        for (size_t l = 0; l < term->n; l++) r.uses[term->label[l]]++;
    }
    ONX_TRY(onx_call_shape(call, 0, (onx_dtype)call->in[0]->dtype, rank, dims));
    if (call->n_out && call->out[0] && !call->out[0]->count) return ONX_OK;
    for (size_t step = 0; step + 1 < plan->n && fits; step++) fits = join(&r, step);
    plan->stage[0] = r.next;
    fits = fits && onx_add_size(r.next, r.most[0], &plan->stage[1]) &&
           onx_add_size(plan->stage[1], r.most[1], &r.next) &&
           onx_mul_size(r.next, sizeof(double), &call->scratch_bytes);
    return fits ? ONX_OK : onx_fail_nomem(call->diag);
}
