/* lowering.c: what the lowerings of aten/ share: arguments as values, and nodes of any type. */
#include "export/aten/lowering.h"

#include "export/if_loop.h"

/* ─ Arguments ────────────────────────────────────────────────────────────────────────────────── */

onx_str onx_x_op(const onx_export *x) {
    return (onx_str){x->op, strcspn(x->op, ".(")};
}

onx_dtype onx_xv_type(onx_export *x, const onx_xv *v) {
    return onx_x_promote(x, 1, v);
}

bool onx_xv_is_complex(const onx_xv *v) {
    return v->kind == ONX_X_COMPLEX ||
           (v->kind == ONX_X_TENSOR && onx_dtype_is_complex(v->tensor->dtype));
}

bool onx_xv_true(const onx_xv *v) {
    bool is;
    return onx_xv_known_bool(v, &is) && is;
}

bool onx_xv_is_one(onx_export *x, const onx_xv *v, double number) {
    double f;
    return onx_xv_is_number(v) && onx_xv_known_float(x, v, &f) && f == number;
}

double onx_xv_real(onx_export *x, const onx_xv *v, double otherwise) {
    double f = otherwise;
    if (v->kind != ONX_X_NONE && !onx_xv_known_float(x, v, &f))
        onx_x_fail(x, ONX_UNSUPPORTED, "a number that is known only when the model runs");
    return f;
}

int64_t onx_xv_whole(onx_export *x, const onx_xv *v, int64_t otherwise) {
    int64_t i = otherwise;
    if (v->kind != ONX_X_NONE && !onx_xv_known_int(v, &i))
        onx_x_fail(x, ONX_UNSUPPORTED, "a number that is known only when the model runs");
    return i;
}

size_t onx_xv_rank(onx_export *x, const onx_xv *v) {
    size_t rank = onx_x_rank(x, onx_xv_value(x, v));
    return rank != SIZE_MAX && onx_xv_is_complex(v) ? rank - 1 : rank;
}

size_t onx_x_axes(onx_export *x, const onx_xv *dims, size_t rank, int64_t axes[ONX_RANK_MAX]) {
    const onx_xv *v = onx_xv_is_list(dims) ? dims->list->v : dims;
    size_t n = onx_xv_is_list(dims) ? dims->list->n : dims->kind != ONX_X_NONE;
    if (n > ONX_RANK_MAX) {
        onx_x_fail(x, ONX_INVALID, "a list of %zu dimensions", n);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        size_t axis;
        if (!onx_x_axis(x, onx_xv_whole(x, &v[i], 0), rank, &axis)) return 0;
        axes[i] = (int64_t)axis;
    }
    return rank ? n : 0;
}

onx_xv onx_x_extent(onx_export *x, onx_value *value, size_t n, const int64_t *axes) {
    size_t rank = onx_x_rank(x, value), all = n ? n : rank;
    onx_xv product = onx_xv_int(x, 1);
    for (size_t i = 0; rank != SIZE_MAX && i < all; i++)
        product = onx_x_arith(x, "mul", product, onx_x_size_of(x, value, n ? (size_t)axes[i] : i));
    return product;
}

onx_value *onx_x_floats(onx_export *x, const onx_xv *v, onx_dtype dtype) {
    return dtype == ONX_DTYPE_NONE ? onx_x_floating(x, v) : onx_x_as(x, v, dtype);
}

/* ─ Nodes ────────────────────────────────────────────────────────────────────────────────────── */

int64_t onx_x_built(const onx_export *x) {
    return x->opset > ONX_X_BASE ? x->opset : ONX_X_BASE;
}

/* The types that can stand for one that an operator does not take, best first. */
static const onx_dtype *wider(onx_dtype dtype) {
    static const onx_dtype of_floats[] = {ONX_DTYPE_F32, ONX_DTYPE_F64, ONX_DTYPE_NONE};
    static const onx_dtype of_ints[] = {ONX_DTYPE_I32, ONX_DTYPE_I64, ONX_DTYPE_F32,
                                        ONX_DTYPE_NONE};
    static const onx_dtype of_longs[] = {ONX_DTYPE_I64, ONX_DTYPE_F64, ONX_DTYPE_F32,
                                         ONX_DTYPE_NONE};
    static const onx_dtype of_bools[] = {ONX_DTYPE_U8, ONX_DTYPE_I32, ONX_DTYPE_I64, ONX_DTYPE_F32,
                                         ONX_DTYPE_NONE};
    if (dtype == ONX_DTYPE_BOOL) return of_bools;
    if (onx_dtype_is_float(dtype)) return of_floats;
    return dtype == ONX_DTYPE_I64 || dtype == ONX_DTYPE_U64 || dtype == ONX_DTYPE_U32 ? of_longs
                                                                                      : of_ints;
}

/* What the first input must be cast to: its own type where that is fine, or nothing will do. */
static onx_dtype type_taken(onx_export *x, const char *op, onx_dtype dtype) {
    onx_arena arena;
    onx_signature s;
    onx_dtype found = dtype;
    const onx_op *row = onx_op_find(onx_str_of(""), onx_str_of(op), onx_x_built(x));
    onx_arena_init(&arena, x->ctx);
    if (row && onx_signature_parse(row, &arena, &s, &x->diag) == ONX_OK && s.n_inputs) {
        const onx_constraint *c = s.constraints, *end = c + s.n_constraints;
        while (c < end && !onx_str_eq(c->name, s.inputs[0].type)) c++;
        if (c < end && !onx_constraint_allows(c, dtype)) {
            const onx_dtype *as = wider(dtype);
            while (*as && !onx_constraint_allows(c, *as)) as++;
            if (*as) found = *as;
        }
    }
    onx_arena_fini(&arena);
    return found;
}

bool onx_emit_wide_node(onx_export *x, const char *op, const onx_xattr *attrs, size_t n_in,
                        onx_value *const *in, size_t n_out, onx_value **out) {
    onx_value *wide[ONX_X_OUTS];
    memset(out, 0, n_out * sizeof *out);
    if (!onx_x_ok(x)) return false;
    onx_dtype was = onx_x_dtype(x, in[0]);
    onx_dtype is = was == ONX_DTYPE_F32 || n_in > ONX_COUNT(wide) ? was : type_taken(x, op, was);
    if (is == was) return onx_emit_node(x, op, attrs, n_in, in, n_out, out);
    for (size_t i = 0; i < n_in; i++)
        wide[i] = in[i] && onx_x_dtype(x, in[i]) == was ? onx_x_cast(x, in[i], is) : in[i];
    if (!onx_emit_node(x, op, attrs, n_in, wide, n_out, out)) return false;
    if (onx_x_dtype(x, out[0]) == is) out[0] = onx_x_cast(x, out[0], was);
    return onx_x_ok(x);
}

onx_value *onx_emit_wide_array(onx_export *x, const char *op, const onx_xattr *attrs, size_t n_in,
                               onx_value *const *in) {
    onx_value *out;
    return onx_emit_wide_node(x, op, attrs, n_in, in, 1, &out) ? out : NULL;
}

onx_value *onx_emit_number(onx_export *x, const char *op, onx_value *value, double number) {
    if (!value) return NULL;
    return onx_emit_wide(x, op, value, onx_x_number(x, onx_x_dtype(x, value), number));
}

static bool is_natural(onx_export *x, const onx_value *value) {
    const onx_sym *zero = onx_sym_int(x->syms, 0);
    const onx_fact *fact = onx_x_fact(x, value);
    bool natural = fact->elems && fact->n_elems;
    for (size_t i = 0; natural && i < fact->n_elems; i++)
        natural = fact->elems[i] && onx_sym_at_least(x->syms, fact->elems[i], zero);
    return natural;
}

onx_value *onx_x_floor_div(onx_export *x, onx_value *a, onx_value *b) {
    if (!is_natural(x, a) || !is_natural(x, b))
        a = onx_emit_wide(x, "Sub", a, onx_emit_wide(x, "Mod", a, b));
    return onx_emit_wide(x, "Div", a, b);
}

onx_value *onx_x_trunc(onx_export *x, onx_value *v) {
    if (!v || !onx_dtype_is_float(onx_x_dtype(x, v))) return v;
    return onx_emit(x, "Mul", onx_emit(x, "Sign", v), onx_emit(x, "Floor", onx_emit(x, "Abs", v)));
}

onx_value *onx_x_is_minus(onx_export *x, onx_value *v) {
    onx_value *below = v ? onx_emit_number(x, "Less", v, 0) : NULL;
    if (!below || !onx_dtype_is_float(onx_x_dtype(x, v))) return below;
    return onx_emit(x, "Or", below, onx_emit_number(x, "Less", onx_emit(x, "Reciprocal", v), 0));
}

onx_value *onx_x_pick(onx_export *x, onx_value *value, int64_t axis, int64_t index) {
    return onx_emit_with(x, "Gather", ONX_ATTRS(ONX_AI("axis", axis)), value, onx_x_int(x, index));
}

onx_value *onx_x_count(onx_export *x, const onx_xv *n) {
    return onx_emit(x, "Range", onx_x_int(x, 0), onx_x_scalar(x, n, ONX_DTYPE_I64),
                    onx_x_int(x, 1));
}

onx_value *onx_x_fill(onx_export *x, onx_value *number, size_t n, const onx_xv *sizes) {
    return n ? onx_emit(x, "Expand", number, onx_x_shape(x, n, sizes)) : number;
}

/* ─ Loops ────────────────────────────────────────────────────────────────────────────────────── */

enum { CARRIED = 8 };

struct turns {
    onx_xturn_fn *turn;
    const void *user;
    size_t n;
};

static bool run_turn(onx_export *x, void *user, onx_xv turn, onx_xv *carried, onx_xv *stacked,
                     onx_xv *go) {
    const struct turns *t = user;
    onx_value *v[CARRIED];
    (void)stacked;
    for (size_t i = 0; i < t->n; i++) v[i] = onx_xv_value(x, &carried[i]);
    onx_value *on = t->turn(x, t->user, onx_x_scalar(x, &turn, ONX_DTYPE_I64), v);
    if (on) *go = onx_xv_run(ONX_X_BOOL, on);
    for (size_t i = 0; i < t->n && onx_x_ok(x); i++) carried[i] = onx_xv_tensor(x, v[i]);
    return onx_x_ok(x);
}

bool onx_x_repeat(onx_export *x, onx_xv trips, onx_xturn_fn *turn, const void *user, size_t n,
                  onx_value **v) {
    struct turns turns = {turn, user, n};
    onx_xv carried[CARRIED];
    onx_xloop loop = {
        .trips = &trips, .n = n, .carried = carried, .body = run_turn, .user = &turns};
    for (size_t i = 0; i < n && onx_x_ok(x); i++) carried[i] = onx_xv_tensor(x, v[i]);
    if (!onx_x_ok(x) || !onx_x_loop(x, &loop)) return false;
    for (size_t i = 0; i < n; i++) v[i] = onx_xv_value(x, &carried[i]);
    return onx_x_ok(x);
}
