/* step_einsum.c: Einsum below version 12, as products of matrices and sums.
 *
 * Operands are taken one after the other; what they have in common with the result so far is
 *
 *     batch     dimensions that are needed later: they stand in front of both
 *     inner     dimensions that are not: the last of them is what MatMul sums over, others are
 *               summed afterwards
 *     outer     dimensions of one alone: all but the last stand in front, of size 1 in the other
 *
 * so that no size must be known. A dimension that may be of size 1 in one operand alone is never
 * that of MatMul. Dimensions of "..." have labels as letters have, counted from the last. */
#include "ops/einsum/einsum.h"
#include "pass/convert/steps.h"

#include <stdio.h>

enum { LABELS = 128, MOST = ONX_RANK_MAX };

typedef struct term { /* a tensor in the text */
    size_t n;
    unsigned char labels[2 * MOST + 2];
    size_t id; /* it is called v<id> */
} term;

typedef struct product {
    onx_convert *c;
    onx_buf text;
    onx_dtype dtype;
    size_t n_values; /* so far */
    size_t n;        /* operands */
    term *operands, out;
    bool uneven[LABELS]; /* of size 1 in some operand, perhaps */
} product;

/* ─ Reading the equation ─────────────────────────────────────────────────────────────────────── */

static bool has(const term *t, unsigned char label) {
    return t->n && memchr(t->labels, label, t->n);
}

/* One term, with `dots` dimensions for "..."; false: it has too many. `*sign` is what follows. */
static bool read_term(onx_str *rest, size_t dots, term *t, char *sign) {
    t->n = 0;
    while (onx_einsum_is_letter(*sign = onx_einsum_take(rest)) || *sign == ONX_EINSUM_DOTS) {
        if (t->n + dots + 1 > MOST) return false;
        if (*sign != ONX_EINSUM_DOTS) t->labels[t->n++] = (unsigned char)*sign;
        for (size_t i = dots; *sign == ONX_EINSUM_DOTS && i-- > 0;)
            t->labels[t->n++] = (unsigned char)(i + 1);
    }
    return true;
}

/* How many dimensions "..." has in the term in front; 0 without. */
static bool count_dots(onx_str rest, size_t rank, size_t *dots) {
    size_t letters = 0;
    bool any = false;
    for (char sign; onx_einsum_is_letter(sign = onx_einsum_take(&rest)) || sign == ONX_EINSUM_DOTS;)
        sign == ONX_EINSUM_DOTS ? (void)(any = true) : (void)letters++;
    *dots = any && rank >= letters ? rank - letters : 0;
    return any ? rank >= letters && *dots < 30 : rank == letters;
}

/* Without "->": dimensions of "...", then letters that stand once. */
static void imply_output(product *p, size_t dots) {
    size_t uses[LABELS] = {0};
    for (size_t k = 0; k < p->n; k++)
        for (size_t i = 0; i < p->operands[k].n; i++) uses[p->operands[k].labels[i]]++;
    p->out.n = 0;
    for (size_t i = dots; i-- > 0;) p->out.labels[p->out.n++] = (unsigned char)(i + 1);
    for (unsigned char l = 'A'; l <= 'z'; l++)
        if (uses[l] == 1 && p->out.n < MOST) p->out.labels[p->out.n++] = l;
}

/* Which labels may be broadcast: of size 1 here, and another there. */
static void note_sizes(product *p, const onx_node *node) {
    const onx_sym *sizes[LABELS] = {NULL};
    bool seen[LABELS] = {false};
    for (size_t k = 0; k < p->n; k++) {
        const onx_fact *fact = onx_convert_in(p->c, node, k);
        for (size_t i = 0; i < p->operands[k].n; i++) {
            unsigned char l = p->operands[k].labels[i];
            int64_t one = 0, other = 0;
            bool a = onx_sym_is_int(sizes[l], &one), b = onx_sym_is_int(fact->dims[i], &other);
            if (seen[l] && one != other && ((a && one == 1) || (b && other == 1)))
                p->uneven[l] = true;
            seen[l] = true;
            sizes[l] = fact->dims[i];
        }
    }
}

static onx_status read_equation(product *p, const onx_node *node) {
    onx_str rest = onx_convert_string(p->c, node, "equation");
    size_t most = 0, rank, dots;
    char sign = ONX_EINSUM_COMMA;
    for (size_t k = 0; k < p->n; k++) {
        if (!onx_convert_rank(p->c, node, k, &rank))
            return onx_convert_refuse(p->c, "how many dimensions its inputs have is not known");
        if (sign != ONX_EINSUM_COMMA || !count_dots(rest, rank, &dots) ||
            !read_term(&rest, dots, &p->operands[k], &sign))
            return onx_convert_refuse(p->c, "its equation does not fit its inputs");
        if (dots > most) most = dots;
    }
    if (sign == ONX_EINSUM_END)
        imply_output(p, most);
    else if (sign != ONX_EINSUM_ARROW || !read_term(&rest, most, &p->out, &sign) ||
             sign != ONX_EINSUM_END)
        return onx_convert_refuse(p->c, "its equation does not fit its inputs");
    note_sizes(p, node);
    return ONX_OK;
}

/* ─ Writing ──────────────────────────────────────────────────────────────────────────────────── */

/* A list with a number in its name. */
static size_t put_list(product *p, const char *name, size_t n, const int64_t *values) {
    char numbered[48];
    size_t id = ++p->n_values;
    (void)snprintf(numbered, sizeof numbered, "%.20s%zu", name, id);
    onx_convert_put_list(&p->text, numbered, n, values);
    return id;
}

/* `op` with a list of axes, in place of t. */
static void put_axes(product *p, term *t, const char *op, size_t n, const int64_t *axes) {
    if (!n) return;
    size_t id = put_list(p, "axes", n, axes);
    onx_buf_printf(&p->text, "v%zu = %s (v%zu, axes%zu)\n", id, op, t->id, id);
    t->id = id;
}

/* Does the output, the other operand or one from `later` on have the label? */
static bool is_needed(const product *p, unsigned char label, const term *other, size_t later) {
    if (has(&p->out, label) || (other && has(other, label))) return true;
    for (size_t k = later; k < p->n; k++)
        if (has(&p->operands[k], label)) return true;
    return false;
}

/* Sum over the dimensions that are not needed. */
static void put_sum(product *p, term *t, const term *other, size_t later) {
    int64_t axes[2 * MOST];
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (is_needed(p, t->labels[i], other, later))
            t->labels[kept++] = t->labels[i];
        else
            axes[n++] = (int64_t)i;
    }
    t->n = kept;
    put_axes(p, t, "ReduceSum <keepdims = 0>", n, axes);
}

/* The dimensions in that order; a label that t has not is a dimension of size 1, and so is 0. */
static void put_order(product *p, term *t, size_t n, const unsigned char *labels) {
    int64_t perm[2 * MOST], axes[2 * MOST + 2];
    size_t n_perm = 0, n_axes = 0;
    bool turned = false;
    for (size_t i = 0; i < n; i++) {
        const unsigned char *at = t->n && labels[i] ? memchr(t->labels, labels[i], t->n) : NULL;
        if (at) {
            turned |= at - t->labels != (ptrdiff_t)n_perm;
            perm[n_perm++] = at - t->labels;
        } else {
            axes[n_axes++] = (int64_t)i;
        }
    }
    if (turned) {
        size_t id = ++p->n_values;
        onx_buf_printf(&p->text, "v%zu = Transpose <perm = [", id);
        for (size_t i = 0; i < n_perm; i++)
            onx_buf_printf(&p->text, "%s%lld", i ? ", " : "", (long long)perm[i]);
        onx_buf_printf(&p->text, "]> (v%zu)\n", t->id);
        t->id = id;
    }
    put_axes(p, t, "Unsqueeze", n_axes, axes);
    memcpy(t->labels, labels, n);
    t->n = n;
}

/* A label that stands twice: only what lies on the diagonal is kept, and summed. */
static void put_diagonals(product *p, term *t) {
    for (size_t j = t->n; j-- > 1;) {
        const unsigned char *first = memchr(t->labels, t->labels[j], j);
        if (!first) continue;
        size_t i = (size_t)(first - t->labels), id = ++p->n_values;
        int64_t axes[2][MOST];
        size_t at[2] = {i, j};
        onx_buf_printf(&p->text, "shape%zu = Shape (v%zu)\n", id, t->id);
        for (size_t k = 0; k < 2; k++) {
            for (size_t d = 0; d + 1 + at[k] < t->n; d++) axes[k][d] = (int64_t)d + 1;
            size_t list = put_list(p, "behind", t->n - 1 - at[k], axes[k]);
            onx_buf_printf(&p->text,
                           "axis%zu = Constant <value = int64 {%zu}> ()\n"
                           "size%zu = Gather (shape%zu, axis%zu)\n"
                           "counted%zu = Range (zero, size%zu, one)\n"
                           "at%zu_%zu = Unsqueeze (counted%zu, behind%zu)\n",
                           list, at[k], list, id, list, list, list, id, k, list, list);
        }
        onx_buf_printf(&p->text,
                       "same%zu = Equal (at%zu_0, at%zu_1)\n"
                       "v%zu = Where (same%zu, v%zu, nothing)\n",
                       id, id, id, id, id, t->id);
        t->id = id;
        put_axes(p, t, "ReduceSum <keepdims = 0>", 1, &(int64_t){(int64_t)j});
        memmove(t->labels + j, t->labels + j + 1, --t->n - j);
    }
}

/* ─ Products ─────────────────────────────────────────────────────────────────────────────────── */

static void add(term *t, unsigned char label) {
    t->labels[t->n++] = label;
}

/* The labels of `a` that `b` has, or has not, and that are needed later, or are not. */
static term pick(const product *p, const term *a, const term *b, bool shared, bool kept,
                 size_t later) {
    term out = {0};
    for (size_t i = 0; i < a->n; i++)
        if (has(b, a->labels[i]) == shared && is_needed(p, a->labels[i], NULL, later) == kept)
            add(&out, a->labels[i]);
    return out;
}

static void join(term *to, const term *from) {
    for (size_t i = 0; i < from->n; i++) add(to, from->labels[i]);
}

static void put_pair(product *p, const char *op, term *a, const term *b) {
    size_t id = ++p->n_values;
    onx_buf_printf(&p->text, "v%zu = %s (v%zu, v%zu)\n", id, op, a->id, b->id);
    a->id = id;
}

/* a becomes the product of both; what is not needed from operand `later` on is summed over. */
static void put_product(product *p, term *a, term *b, size_t later) {
    term front = pick(p, a, b, true, true, later), inner = pick(p, a, b, true, false, later);
    term rows = pick(p, a, b, false, true, later), columns = pick(p, b, a, false, true, later);
    unsigned char sum = 0;
    if (inner.n && !p->uneven[inner.labels[inner.n - 1]]) sum = inner.labels[--inner.n];
    unsigned char row = sum && rows.n ? rows.labels[--rows.n] : 0;
    unsigned char column = sum && columns.n ? columns.labels[--columns.n] : 0;
    join(&front, &inner);
    join(&front, &rows);
    join(&front, &columns);
    term left = front, right = front;
    if (sum) add(&left, row), add(&left, sum), add(&right, sum), add(&right, column);
    put_order(p, a, left.n, left.labels);
    put_order(p, b, right.n, right.labels);
    put_pair(p, sum ? "MatMul" : "Mul", a, b);
    if (!sum) return;
    int64_t gone[2];
    size_t n = 0;
    if (!row) gone[n++] = -2;
    if (!column) gone[n++] = -1;
    put_axes(p, a, "Squeeze", n, gone);
    a->n = front.n;
    if (row) add(a, row);
    if (column) add(a, column);
}

static onx_status put_all(product *p) {
    term so_far = p->operands[0];
    onx_buf_puts(&p->text, "<18>\n"
                           "zero = Constant <value = int64 {0}> ()\n"
                           "one = Constant <value = int64 {1}> ()\n");
    onx_convert_put_number(&p->text, "nothing", "0", p->dtype);
    for (size_t k = 0; k < p->n; k++) {
        term *t = &p->operands[k];
        t->id = ++p->n_values;
        onx_buf_printf(&p->text, "v%zu = Identity (Inputs%zu)\n", t->id, k);
        put_diagonals(p, t);
        if (k == 0) so_far = *t;
        if (k == 0) continue;
        put_sum(p, t, &so_far, k + 1);
        put_sum(p, &so_far, t, k + 1);
        put_product(p, &so_far, t, k + 1);
    }
    put_sum(p, &so_far, NULL, p->n);
    if (so_far.n > p->out.n) return onx_convert_refuse(p->c, "its equation repeats a letter");
    for (size_t i = 0; i < p->out.n; i++)
        if (!has(&so_far, p->out.labels[i]))
            return onx_convert_refuse(p->c, "its output has a letter that no input has");
    put_order(p, &so_far, p->out.n, p->out.labels);
    onx_buf_printf(&p->text, "Output = Identity (v%zu)\n", so_far.id);
    return ONX_OK;
}

static onx_status einsum_down(onx_convert *c, onx_node *node) {
    ONX_TRY(onx_convert_plain(c, node, "equation"));
    product p = {.c = c, .n = node->input.n, .dtype = onx_convert_in(c, node, 0)->dtype};
    if (!p.n || !p.dtype) return onx_convert_refuse(c, "the type of its inputs is not known");
    p.operands = onx_arena_array(&c->arena, p.n, sizeof *p.operands);
    if (!p.operands) return onx_fail_nomem(&c->diag);
    ONX_TRY(read_equation(&p, node));
    p.text = onx_convert_text(c);
    onx_status status = put_all(&p);
    if (!status) return onx_convert_expand_buf(c, node, &p.text);
    onx_buf_fini(&p.text);
    return status;
}

const onx_convert_step onx_step_einsum = {NULL, einsum_down, NULL};
