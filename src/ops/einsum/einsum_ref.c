/* einsum_ref.c: Einsum: plain kernel, all types: the equation becomes labels of contract_ref.h. */
#include "ops/einsum/contract_ref.h"
#include "ops/einsum/einsum.h"

enum { DOTS = 255, LETTERS = 52 };

/* The labels of all terms, one after the other; DOTS stands for those of "...", which only bind
 * knows: LETTERS, LETTERS + 1 … */
typedef struct state {
    uint8_t *labels;
    size_t *ends; /* of the terms: of operands, then of the output */
    size_t n;     /* operands */
} state;

static uint8_t label_of(char c) {
    return (uint8_t)(c == ONX_EINSUM_DOTS ? DOTS : c >= 'a' ? c - 'a' + 26 : c - 'A');
}

/* One term, up to the sign behind it. */
static onx_status read_term(const onx_call *call, onx_str *rest, uint8_t *labels, size_t *n,
                            char *sign) {
    bool dots = false;
    for (;;) {
        char c = *sign = onx_einsum_take(rest);
        if (!onx_einsum_is_letter(c) && c != ONX_EINSUM_DOTS) break;
        if (c == ONX_EINSUM_DOTS && dots)
            return onx_call_fail(call, ONX_INVALID, "a term of the equation has ... twice");
        dots |= c == ONX_EINSUM_DOTS;
        labels[(*n)++] = label_of(c);
    }
    if (*sign == ONX_EINSUM_BAD)
        return onx_call_fail(call, ONX_INVALID,
                             "the equation has a character that is no letter and no sign of an "
                             "equation");
    return ONX_OK;
}

/* The output that an equation without an arrow means: "...", then what stands once, sorted. */
static void imply_output(state *st, size_t *n) {
    size_t uses[LETTERS] = {0}, end = *n;
    bool dots = false;
    for (size_t i = 0; i < end; i++) {
        if (st->labels[i] == DOTS)
            dots = true;
        else
            uses[st->labels[i]]++;
    }
    if (dots) st->labels[(*n)++] = DOTS;
    for (uint8_t l = 0; l < LETTERS; l++)
        if (uses[l] == 1) st->labels[(*n)++] = l;
}

/* Each label of the output stands there once, and in some operand. */
static onx_status check_output(const onx_call *call, const state *st) {
    bool known[DOTS + 1] = {false};
    for (size_t i = 0; i < st->ends[st->n - 1]; i++) known[st->labels[i]] = true;
    for (size_t i = st->ends[st->n - 1]; i < st->ends[st->n]; i++) {
        uint8_t l = st->labels[i];
        if (!known[l] && l != DOTS)
            return onx_call_fail(call, ONX_INVALID,
                                 "the output of the equation has a letter twice, or one that no "
                                 "operand has");
        known[l] = false;
    }
    return ONX_OK;
}

static onx_status read_equation(const onx_call *call, state *st, onx_str rest) {
    size_t n = 0, terms = 0;
    char sign = ONX_EINSUM_COMMA;
    for (; sign == ONX_EINSUM_COMMA && terms < st->n; terms++) {
        ONX_TRY(read_term(call, &rest, st->labels, &n, &sign));
        st->ends[terms] = n;
    }
    if (sign == ONX_EINSUM_COMMA || terms != st->n)
        return onx_call_fail(call, ONX_INVALID,
                             "the equation has %s operands than the node, which has %zu",
                             sign == ONX_EINSUM_COMMA ? "more" : "fewer", st->n);
    if (sign == ONX_EINSUM_ARROW) {
        ONX_TRY(read_term(call, &rest, st->labels, &n, &sign));
        if (sign != ONX_EINSUM_END)
            return onx_call_fail(call, ONX_INVALID, "the equation goes on after its output");
    } else
        imply_output(st, &n);
    st->ends[st->n] = n;
    return check_output(call, st);
}

static onx_status init(onx_call *call) {
    onx_str equation = onx_call_string(call, "equation");
    state *st = onx_call_state(call, sizeof *st);
    size_t bytes;
    ONX_TRY(onx_contract_bytes(call, call->n_in, &bytes));
    if (!st || !onx_add_size(equation.size, LETTERS + 1, &st->n)) return onx_fail_nomem(call->diag);
    st->labels = onx_call_state(call, st->n);
    st->ends = onx_call_state(call, (call->n_in + 1) * sizeof *st->ends);
    if (!st->labels || !st->ends) return onx_fail_nomem(call->diag);
    st->n = call->n_in;
    call->plan_bytes = bytes;
    return read_equation(call, st, equation);
}

/* ─ Shapes ───────────────────────────────────────────────────────────────────────────────────── */

/* A term of the equation, with "..." written out. */
typedef struct term {
    size_t n;
    uint8_t label[ONX_LABELS];
} term;

static onx_status expand(const onx_call *call, size_t index, size_t dots, term *out) {
    const state *st = call->state;
    out->n = 0;
    for (size_t i = index ? st->ends[index - 1] : 0; i < st->ends[index]; i++) {
        uint8_t l = st->labels[i];
        size_t times = l == DOTS ? dots : 1;
        if (out->n + times > ONX_LABELS)
            return onx_call_fail(call, ONX_INVALID, "a term of the equation has too many letters");
        for (size_t d = 0; d < times; d++)
            out->label[out->n++] = l == DOTS ? (uint8_t)(LETTERS + d) : l;
    }
    return ONX_OK;
}

/* How many dimensions "..." has in an operand; SIZE_MAX: there is none. */
static onx_status measure(const onx_call *call, size_t index, size_t *dots) {
    const state *st = call->state;
    size_t rank = call->in[index]->rank, letters = 0;
    bool dotted = false;
    for (size_t i = index ? st->ends[index - 1] : 0; i < st->ends[index]; i++) {
        dotted |= st->labels[i] == DOTS;
        letters += st->labels[i] != DOTS;
    }
    if (dotted ? letters > rank : letters != rank)
        return onx_call_fail(call, ONX_INVALID,
                             "operand %zu has %zu dimensions; the equation names %zu", index, rank,
                             letters);
    if (!dotted) return ONX_OK;
    if (*dots != SIZE_MAX && *dots != rank - letters)
        return onx_call_fail(call, ONX_INVALID,
                             "... stands for %zu dimensions in operand %zu, for %zu before",
                             rank - letters, index, *dots);
    *dots = rank - letters;
    return ONX_OK;
}

static onx_status bind(onx_call *call) {
    const state *st = call->state;
    size_t dots = SIZE_MAX;
    term t;
    onx_contract *plan = onx_contract_begin(call, st->n);
    for (size_t i = 0; i < st->n; i++) ONX_TRY(measure(call, i, &dots));
    if (dots == SIZE_MAX) dots = 0;
    for (size_t i = 0; i < st->n; i++) {
        ONX_TRY(expand(call, i, dots, &t));
        for (size_t d = 0; d < t.n; d++) ONX_TRY(onx_contract_size(call, plan, i, d, t.label[d]));
    }
    for (size_t i = 0; i < st->n; i++) {
        ONX_TRY(expand(call, i, dots, &t));
        for (size_t d = 0; d < t.n; d++) onx_contract_dim(call, plan, i, d, t.label[d]);
    }
    ONX_TRY(expand(call, st->n, dots, &t));
    return onx_contract_end(call, plan, t.n, t.label);
}

extern onx_kernel_rows onx_kernels_einsum_ref;
onx_kernel_rows onx_kernels_einsum_ref = {
    {.op = "Einsum",
     .first = 12,
     .types = {ONX_T_NUMBERS, ONX_T_NUMBERS, ONX_T_NUMBERS, ONX_T_NUMBERS, ONX_T_NUMBERS,
               ONX_T_NUMBERS},
     .name = "einsum",
     .init = init,
     .bind = bind,
     .run = onx_contract_run},
    {0},
};
