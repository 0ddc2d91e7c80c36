/* einsum.c: Einsum: meaning. An equation names the dimensions of each operand and of the output:
 *
 *     "...ij, ...jk -> ...ik"    letters are dimensions, "..." those that broadcast; a letter that
 *                                the output does not have is summed over
 *     "ij, jk"                   without "->" the output has the letters that stand once, sorted,
 *                                after the dimensions of "..."
 *
 * Spaces mean nothing. One letter has one size, where 1 is as good as any. */
#include "ops/einsum/einsum.h"
#include "ops/op.h"

enum {
    DOTS = ONX_EINSUM_DOTS,
    COMMA = ONX_EINSUM_COMMA,
    ARROW = ONX_EINSUM_ARROW,
    END = ONX_EINSUM_END,
    BAD = ONX_EINSUM_BAD,
};

typedef struct letter {
    const onx_sym *size; /* NULL: not known */
    size_t uses;         /* in the operands */
    bool hidden;         /* one of those is of unknown rank */
    bool out;            /* it stands in the output */
} letter;

typedef struct equation {
    onx_str rest; /* not read yet */
    letter letters[128];
    onx_fact dots; /* the dimensions of "..."; not ranked: not known */
    bool dotted;   /* some operand has them */
    bool hidden;   /* one of those is of unknown rank */
} equation;

char onx_einsum_take(onx_str *rest) {
    static const struct sign {
        const char *text;
        char sign;
    } signs[] = {{"...", DOTS}, {"->", ARROW}, {",", COMMA}};
    while (rest->size && rest->data[0] == ' ') rest->data++, rest->size--;
    if (!rest->size) return END;
    for (size_t i = 0; i < ONX_COUNT(signs); i++) {
        size_t n = strlen(signs[i].text);
        if (rest->size < n || memcmp(rest->data, signs[i].text, n) != 0) continue;
        rest->data += n, rest->size -= n;
        return signs[i].sign;
    }
    char c = rest->data[0];
    rest->data++, rest->size--;
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c : BAD;
}

/* The letters of the term in front, and whether it has dots; `*sign` is what it ends with. */
static onx_status measure(onx_infer *in, onx_str rest, size_t *letters, bool *dots, char *sign) {
    *letters = 0;
    *dots = false;
    while (onx_einsum_is_letter(*sign = onx_einsum_take(&rest)) || *sign == DOTS) {
        if (*sign == DOTS && *dots)
            return onx_infer_fail(in, "a term of the equation has ... twice");
        *letters += *sign != DOTS;
        *dots |= *sign == DOTS;
    }
    if (*sign == BAD)
        return onx_infer_fail(in,
                              "the equation has a character that is no letter and no sign of "
                              "an equation: '%.*s'",
                              ONX_FMT(onx_infer_string(in, "equation")));
    return ONX_OK;
}

static onx_status meet(onx_infer *in, char name, letter *label, const onx_sym *size) {
    int64_t a = 1, b = 1;
    bool a_known = onx_sym_is_int(label->size, &a), b_known = onx_sym_is_int(size, &b);
    if (a_known && b_known && a != b && a != 1 && b != 1)
        return onx_infer_fail(in, "the size of '%c' is %lld and %lld: it must be one", name,
                              (long long)a, (long long)b);
    if (!label->size || (size && a_known && a == 1) || (b_known && !a_known && b != 1))
        label->size = size;
    return ONX_OK;
}

/* The dimensions of the dots of one operand broadcast with those before. */
static onx_status meet_dots(onx_infer *in, equation *e, size_t operand, const onx_sym *const *dims,
                            size_t n) {
    onx_fact mine = {.ranked = true, .rank = n, .dims = dims};
    size_t rank;
    if (e->dots.ranked && e->dots.rank != n)
        return onx_infer_fail(in, "... stands for %zu dimensions in operand %zu, for %zu before", n,
                              operand, e->dots.rank);
    if (!e->dots.ranked) return e->dots = mine, ONX_OK;
    if (!onx_infer_broadcast_dims(in, &e->dots, &mine, &rank, &e->dots.dims))
        return onx_infer_fail(in,
                              "the dimensions of ... in operand %zu do not broadcast with those "
                              "before it",
                              operand);
    return e->dots.dims ? ONX_OK : ONX_NO_MEMORY;
}

/* One operand: the term in front against the shape of the input. */
static onx_status read_term(onx_infer *in, equation *e, size_t operand, char *sign) {
    const onx_fact *x = onx_infer_in(in, operand);
    size_t letters = 0, at = 0;
    bool dots = false;
    ONX_TRY(measure(in, e->rest, &letters, &dots, sign));
    if (x->ranked && (dots ? x->rank < letters : x->rank != letters))
        return onx_infer_fail(in, "operand %zu has %zu dimensions; the equation names %zu", operand,
                              x->rank, letters);
    size_t n_dots = x->ranked ? x->rank - letters : 0;
    e->dotted |= dots;
    e->hidden |= dots && !x->ranked;
    for (char c; onx_einsum_is_letter(c = onx_einsum_take(&e->rest)) || c == DOTS;) {
        if (c == DOTS) {
            if (x->ranked) ONX_TRY(meet_dots(in, e, operand, x->dims + at, n_dots));
            at += n_dots;
            continue;
        }
        letter *label = &e->letters[(size_t)c];
        label->uses++;
        label->hidden |= !x->ranked;
        if (x->ranked) ONX_TRY(meet(in, c, label, x->dims[at]));
        at++;
    }
    return ONX_OK;
}

/* ─ The output ───────────────────────────────────────────────────────────────────────────────── */

typedef struct shape {
    const onx_sym **dims;
    size_t rank;
    bool known;
} shape;

/* A size that an operand of unknown rank may stretch: what is not 1 can only be 1 there. */
static const onx_sym *sure(const onx_sym *size, bool hidden) {
    int64_t n;
    return !hidden || (onx_sym_is_int(size, &n) && n != 1) ? size : NULL;
}

static void put_dots(const equation *e, shape *out) {
    out->known &= e->dots.ranked || !e->dotted;
    for (size_t i = 0; e->dots.ranked && i < e->dots.rank; i++)
        out->dims[out->rank++] = sure(e->dots.dims[i], e->hidden);
}

static void put_letter(const letter *label, shape *out) {
    int64_t n;
    bool one = onx_sym_is_int(label->size, &n) && n == 1;
    out->dims[out->rank++] = sure(label->size, label->hidden && one);
}

static onx_status read_output(onx_infer *in, equation *e, shape *out) {
    size_t letters;
    bool dots;
    char sign;
    ONX_TRY(measure(in, e->rest, &letters, &dots, &sign));
    if (sign != END) return onx_infer_fail(in, "the equation goes on after its output");
    for (char c; (c = onx_einsum_take(&e->rest)) != END;) {
        letter *label = &e->letters[(size_t)c];
        if (c == DOTS) {
            put_dots(e, out);
            continue;
        }
        if (!label->uses || label->out)
            return onx_infer_fail(in, "the output of the equation has '%c' %s", c,
                                  label->out ? "twice" : "which no operand has");
        label->out = true;
        put_letter(label, out);
    }
    return ONX_OK;
}

static void imply_output(const equation *e, shape *out) {
    put_dots(e, out);
    for (size_t c = 'A'; c <= 'z'; c++)
        if (e->letters[c].uses == 1) put_letter(&e->letters[c], out);
}

static onx_status infer_einsum(onx_infer *in) {
    equation e = {.rest = onx_infer_string(in, "equation")};
    size_t n = onx_infer_n_in(in), operand = 0;
    char sign = COMMA;
    shape out = {.known = true};
    onx_dtype dtype = ONX_DTYPE_NONE;
    for (; sign == COMMA; operand++) {
        ONX_TRY(read_term(in, &e, operand, &sign));
        if (!dtype) dtype = onx_infer_in(in, operand)->dtype;
    }
    if (operand != n)
        return onx_infer_fail(in, "the equation has %zu operands, the node %zu", operand, n);
    out.dims = onx_arena_array(onx_infer_arena(in), e.dots.rank + 128, sizeof *out.dims);
    if (!out.dims) return ONX_NO_MEMORY;
    if (sign == ARROW)
        ONX_TRY(read_output(in, &e, &out));
    else
        imply_output(&e, &out);
    return out.known ? onx_infer_tensor(in, 0, dtype, out.rank, out.dims)
                     : onx_infer_unranked(in, 0, dtype);
}

#define EINSUM "(Inputs*:T) -> (Output:T) {equation:string} "

extern onx_op_rows onx_ops_einsum;
onx_op_rows onx_ops_einsum = {
    {"Einsum", 12, EINSUM "[T:n0]", .infer = infer_einsum},
    {"Einsum", 28, EINSUM "[T:n]", .infer = infer_einsum},
    {0},
};
