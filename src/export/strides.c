/* strides.c: the layouts of tensors in their storages, by PyTorch's rules.
 *
 * Views have strides that follow from those of what they show. A new tensor lies in order, but
 * elementwise operators keep the order of their operands (TensorIterator). Sizes may be symbolic:
 * one size is the larger of two when the other divides it, so a dimension of any size is taken to
 * be more than 1. What cannot be told is not known, and is never guessed here. */
#include "export/strides.h"

const onx_xlayout onx_xlayout_unknown = {.offset = NULL};

size_t onx_xt_rank(onx_export *x, const onx_xt *t) {
    size_t rank = onx_x_rank(x, t->value);
    return rank == SIZE_MAX ? rank : rank - onx_dtype_is_complex(t->dtype);
}

static onx_xlayout *new_layout(onx_export *x, size_t rank) {
    onx_xlayout *l = onx_x_alloc(x, sizeof *l + (rank + 1) * sizeof *l->strides);
    if (l) l->offset = onx_sym_int(x->syms, 0);
    return l;
}

static bool is_one(const onx_sym *size) {
    int64_t n;
    return size && onx_sym_is_int(size, &n) && n == 1;
}

/* Strides of dimensions of which the last of `order` lies closest. */
static void fill(onx_export *x, const onx_xt *t, size_t rank, const size_t *order, onx_xlayout *l) {
    const onx_sym *stride = onx_sym_int(x->syms, 1);
    for (size_t i = rank; i-- > 0;) {
        size_t axis = order ? order[i] : i;
        l->strides[axis] = stride;
        stride = onx_sym_mul(x->syms, stride, onx_x_dim(x, t->value, axis));
    }
}

onx_xlayout *onx_xt_layout(onx_export *x, const onx_xt *t, size_t room) {
    size_t rank = onx_xt_rank(x, t);
    if (t->layout == &onx_xlayout_unknown || rank == SIZE_MAX) return NULL;
    onx_xlayout *l = new_layout(x, rank + room);
    if (l && t->layout)
        memcpy(l, t->layout, sizeof *l + rank * sizeof *l->strides);
    else if (l)
        fill(x, t, rank, NULL, l);
    return l;
}

onx_xanswer onx_xt_is_contiguous(onx_export *x, const onx_xt *t) {
    size_t rank = onx_xt_rank(x, t);
    if (!t->layout) return ONX_X_YES;
    if (t->layout == &onx_xlayout_unknown || rank == SIZE_MAX) return ONX_X_UNSURE;
    const onx_sym *stride = onx_sym_int(x->syms, 1);
    for (size_t i = rank; i-- > 0;) {
        const onx_sym *dim = onx_x_dim(x, t->value, i);
        if (is_one(dim)) continue;
        if (!t->layout->strides[i] || !stride) return ONX_X_UNSURE;
        if (t->layout->strides[i] != stride) return ONX_X_NO;
        stride = onx_sym_mul(x->syms, stride, dim);
    }
    return ONX_X_YES;
}

/* ─ Views ────────────────────────────────────────────────────────────────────────────────────── */

static void lay(const onx_xv *out, const onx_xlayout *l) {
    if (out->kind == ONX_X_TENSOR) out->tensor->layout = l ? l : &onx_xlayout_unknown;
}

void onx_lay_permuted(onx_export *x, const onx_xv *self, const int64_t *perm, const onx_xv *out) {
    const onx_xlayout *from = onx_xt_layout(x, self->tensor, 0);
    onx_xlayout *l = onx_xt_layout(x, self->tensor, 0);
    size_t rank = onx_xt_rank(x, self->tensor);
    for (size_t i = 0; from && l && i < rank; i++) l->strides[i] = from->strides[perm[i]];
    lay(out, l);
}

void onx_lay_expanded(onx_export *x, const onx_xv *self, const onx_xv *out) {
    if (out->kind != ONX_X_TENSOR) return;
    const onx_xlayout *from = onx_xt_layout(x, self->tensor, 0);
    size_t old = onx_xt_rank(x, self->tensor), rank = onx_xt_rank(x, out->tensor);
    onx_xlayout *l = from && rank != SIZE_MAX ? new_layout(x, rank) : NULL;
    if (l) l->offset = from->offset;
    for (size_t i = 0; l && i < rank; i++) {
        size_t axis = i + old - rank;
        bool kept = i + old >= rank &&
                    onx_x_dim(x, self->tensor->value, axis) == onx_x_dim(x, out->tensor->value, i);
        l->strides[i] = kept ? from->strides[axis] : onx_sym_int(x->syms, 0);
    }
    lay(out, l);
}

/* Where a slice begins: None at 0, numbers below 0 count from the end and stop at 0. */
static const onx_sym *start_of(onx_export *x, const onx_xt *t, size_t axis, const onx_xv *start) {
    int64_t known;
    if (start->kind == ONX_X_NONE) return onx_sym_int(x->syms, 0);
    if (!onx_xv_known_int(start, &known) || known >= 0) return start->sym;
    const onx_sym *place = onx_sym_add(x->syms, onx_x_dim(x, t->value, axis), start->sym);
    return onx_sym_max(x->syms, place, onx_sym_int(x->syms, 0));
}

void onx_lay_part(onx_export *x, const onx_xv *self, size_t axis, onx_xv start, int64_t step,
                  bool gone, const onx_xv *out) {
    onx_xlayout *l = onx_xt_layout(x, self->tensor, 0);
    size_t rank = onx_xt_rank(x, self->tensor);
    if (l && axis < rank) {
        const onx_sym *first = start_of(x, self->tensor, axis, &start);
        const onx_sym *skipped = onx_sym_mul(x->syms, first, l->strides[axis]);
        l->offset = onx_sym_add(x->syms, l->offset, skipped);
        l->strides[axis] = onx_sym_mul(x->syms, l->strides[axis], onx_sym_int(x->syms, step));
        for (size_t i = axis; gone && i + 1 < rank; i++) l->strides[i] = l->strides[i + 1];
    }
    lay(out, l);
}

/* ─ Other shapes ─────────────────────────────────────────────────────────────────────────────── */

typedef enum order { LESS, EQUAL, MORE, OPEN } order;

static bool divides(onx_export *x, const onx_sym *a, const onx_sym *b) {
    const onx_sym *times = onx_sym_floordiv(x->syms, b, a);
    return times && onx_sym_mul(x->syms, times, a) == b;
}

static order compare(onx_export *x, const onx_sym *a, const onx_sym *b) {
    int64_t m, n;
    if (!a || !b) return OPEN;
    if (a == b) return EQUAL;
    if (onx_sym_is_int(a, &m) && onx_sym_is_int(b, &n)) return m < n ? LESS : MORE;
    if (onx_sym_is_int(a, &m) && !m) return LESS;
    if (onx_sym_is_int(b, &n) && !n) return MORE;
    return divides(x, a, b) ? LESS : divides(x, b, a) ? MORE : OPEN;
}

/* The dimensions of a new shape that cover a run of old ones whose elements lie evenly. */
typedef struct covering {
    size_t left;         /* new dimensions that have no stride yet */
    const onx_sym *base; /* the stride of the last dimension of the run */
    const onx_sym *size; /* of the run, so far */
} covering;

static onx_xanswer cover(onx_export *x, const onx_xt *out, covering *c, onx_xlayout *l) {
    const onx_sym *covered = onx_sym_int(x->syms, 1);
    order is = compare(x, covered, c->size);
    while (c->left) {
        const onx_sym *dim = onx_x_dim(x, out->value, c->left - 1);
        if (is != LESS && !is_one(dim)) break;
        l->strides[--c->left] = onx_sym_mul(x->syms, covered, c->base);
        covered = onx_sym_mul(x->syms, covered, dim);
        is = compare(x, covered, c->size);
    }
    return is == EQUAL ? ONX_X_YES : is == OPEN ? ONX_X_UNSURE : ONX_X_NO;
}

/* Strides with which the elements of `t` have the shape of `out`: are there any? */
static onx_xanswer restride(onx_export *x, const onx_xt *t, const onx_xt *out, onx_xlayout *l) {
    const onx_xlayout *from = onx_xt_layout(x, t, 0);
    size_t rank = onx_xt_rank(x, t);
    const onx_sym *one = onx_sym_int(x->syms, 1);
    covering c = {onx_xt_rank(x, out), rank && from ? from->strides[rank - 1] : one, one};
    if (!from || !l || c.left == SIZE_MAX) return ONX_X_UNSURE;
    l->offset = from->offset;
    for (size_t i = rank; i-- > 0;) {
        c.size = onx_sym_mul(x->syms, c.size, onx_x_dim(x, t->value, i));
        if (i && (is_one(onx_x_dim(x, t->value, i - 1)) ||
                  from->strides[i - 1] == onx_sym_mul(x->syms, c.size, c.base)))
            continue;
        onx_xanswer covered = cover(x, out, &c, l);
        if (covered != ONX_X_YES) return covered;
        if (i) c.base = from->strides[i - 1], c.size = one;
    }
    if (!rank) return cover(x, out, &c, l);
    return c.left ? ONX_X_NO : ONX_X_YES;
}

void onx_lay_shaped(onx_export *x, const onx_xv *self, bool copies, const onx_xv *out) {
    if (out->kind != ONX_X_TENSOR || out->tensor == self->tensor) return;
    size_t rank = onx_xt_rank(x, out->tensor);
    if (rank == SIZE_MAX) return;
    onx_xlayout *l = new_layout(x, rank);
    onx_xanswer view = onx_xt_is_contiguous(x, self->tensor);
    if (view == ONX_X_YES && l) {
        if (self->tensor->layout) l->offset = self->tensor->layout->offset;
        fill(x, out->tensor, rank, NULL, l);
    } else {
        view = restride(x, self->tensor, out->tensor, l);
    }
    if (view != ONX_X_YES && copies) {
        out->tensor->fresh = true;
        out->tensor->storage->unsure = view == ONX_X_UNSURE;
    }
    lay(out, view == ONX_X_YES ? l : NULL);
    if (view == ONX_X_NO && copies) out->tensor->layout = NULL; /* in order */
}

/* ─ New tensors ──────────────────────────────────────────────────────────────────────────────── */

/* The stride of an operand along a dimension of the result; 0: it is the same all along it. */
static const onx_sym *stride_along(onx_export *x, const onx_xt *t, const onx_xlayout *l,
                                   const onx_xt *result, size_t axis) {
    size_t rank = onx_xt_rank(x, t), all = onx_xt_rank(x, result);
    if (axis + rank < all) return onx_sym_int(x->syms, 0);
    const onx_sym *dim = onx_x_dim(x, t->value, axis + rank - all);
    if (is_one(dim) && !is_one(onx_x_dim(x, result->value, axis))) return onx_sym_int(x->syms, 0);
    return l->strides[axis + rank - all];
}

typedef struct operands {
    size_t n;
    const onx_xt **t;
    const onx_xlayout **l;
} operands;

/* Does dimension a of the result lie closer than b? The first operand that can tell does. */
static order closer(onx_export *x, const operands *all, const onx_xt *t, size_t a, size_t b) {
    for (size_t i = 0; i < all->n; i++) {
        const onx_sym *sa = stride_along(x, all->t[i], all->l[i], t, a);
        const onx_sym *sb = stride_along(x, all->t[i], all->l[i], t, b);
        const onx_sym *zero = onx_sym_int(x->syms, 0);
        if (sa == zero || sb == zero) continue;
        order is = compare(x, sa, sb);
        if (is == EQUAL)
            is = compare(x, onx_x_dim(x, t->value, a), onx_x_dim(x, t->value, b)) == MORE ? MORE
                                                                                          : EQUAL;
        if (is != EQUAL) return is;
    }
    return EQUAL;
}

/* The order of the dimensions, that which lies closest last; false: it is not known. */
static bool sort(onx_export *x, const operands *all, const onx_xt *t, size_t rank, size_t *axes) {
    for (size_t i = 0; i < rank; i++) axes[i] = i;
    for (size_t i = rank; i-- > 0;)
        for (size_t moved = i, k = i + 1; k < rank; k++) {
            order is = closer(x, all, t, axes[k], axes[moved]);
            if (is == OPEN) return false;
            if (is == LESS) break;
            if (is == EQUAL) continue;
            size_t axis = axes[k];
            axes[k] = axes[moved], axes[moved] = axis;
            moved = k;
        }
    return true;
}

static bool take_operands(onx_export *x, size_t n, const onx_xv *v, operands *all) {
    all->t = onx_x_array(x, n + 1, sizeof *all->t);
    all->l = onx_x_array(x, n + 1, sizeof *all->l);
    for (size_t i = 0; all->t && all->l && i < n; i++) {
        if (v[i].kind != ONX_X_TENSOR) continue;
        all->t[all->n] = v[i].tensor;
        if (!(all->l[all->n++] = onx_xt_layout(x, v[i].tensor, 0))) return false;
    }
    return onx_x_ok(x);
}

void onx_lay_kept(onx_export *x, size_t n, const onx_xv *v, onx_xt *t) {
    size_t axes[ONX_RANK_MAX], rank = onx_xt_rank(x, t);
    operands all = {0};
    if (rank > ONX_RANK_MAX) return;
    onx_xlayout *l = new_layout(x, rank);
    if (!l) return;
    if (take_operands(x, n, v, &all) && sort(x, &all, t, rank, axes))
        fill(x, t, rank, axes, l);
    else
        l = NULL;
    t->layout = t->storage->layout = l ? l : &onx_xlayout_unknown;
}

enum { CONTIGUOUS, PRESERVE, CHANNELS_LAST, CHANNELS_LAST_3D }; /* as c10 counts */

static int64_t format_of(const onx_xv *format, int64_t otherwise) {
    int64_t number;
    return onx_xv_known_int(format, &number) ? number : otherwise;
}

/* Images with the channels of a point together. */
static onx_xlayout *channels_last(onx_export *x, const onx_xt *t) {
    size_t axes[ONX_RANK_MAX] = {0}, rank = onx_xt_rank(x, t);
    onx_xlayout *l = rank == 4 || rank == 5 ? new_layout(x, rank) : NULL;
    if (!l) return NULL;
    for (size_t i = 1; i + 1 < rank; i++) axes[i] = i + 1;
    axes[rank - 1] = 1;
    fill(x, t, rank, axes, l);
    return l;
}

void onx_lay_formatted(onx_export *x, const onx_xv *self, const onx_xv *format, onx_xt *copy) {
    int64_t number = format_of(format, PRESERVE);
    if (number == PRESERVE && self->tensor->layout)
        onx_lay_kept(x, 1, self, copy);
    else if (number == CHANNELS_LAST || number == CHANNELS_LAST_3D)
        copy->layout = copy->storage->layout = channels_last(x, copy);
}

onx_xanswer onx_lay_has_format(onx_export *x, const onx_xt *t, const onx_xv *format) {
    int64_t number = format_of(format, CONTIGUOUS);
    if (number != CHANNELS_LAST && number != CHANNELS_LAST_3D) return onx_xt_is_contiguous(x, t);
    const onx_xlayout *is = onx_xt_layout(x, t, 0), *wanted = channels_last(x, t);
    if (!is || !wanted) return ONX_X_UNSURE;
    onx_xanswer answer = ONX_X_YES;
    for (size_t i = 0, rank = onx_xt_rank(x, t); i < rank; i++)
        if (is->strides[i] != wanted->strides[i] && !is_one(onx_x_dim(x, t->value, i)))
            answer = ONX_X_NO;
    return answer;
}

/* Do results that lie like this operand lie in order? */
static bool is_plain(onx_export *x, onx_xkeeping keeping, const onx_xt *t) {
    size_t rank = onx_xt_rank(x, t);
    if (onx_xt_is_contiguous(x, t) == ONX_X_YES) return true;
    onx_xv last = onx_xv_int(x, CHANNELS_LAST);
    return keeping == ONX_LAY_FORMAT &&
           ((rank != 4 && rank != 5) || onx_lay_has_format(x, t, &last) == ONX_X_NO);
}

static bool all_plain(onx_export *x, onx_xkeeping keeping, size_t n, const onx_xv *v) {
    bool plain = true;
    for (size_t i = 0; i < n && plain; i++)
        if (v[i].kind == ONX_X_TENSOR)
            plain = is_plain(x, keeping, v[i].tensor);
        else if (onx_xv_is_list(&v[i]))
            for (size_t k = 0; k < v[i].list->n && plain; k++)
                if (v[i].list->v[k].kind == ONX_X_TENSOR)
                    plain = is_plain(x, keeping, v[i].list->v[k].tensor);
    return plain;
}

static bool is_among(size_t n, const onx_xv *v, const onx_xt *t) {
    for (size_t i = 0; i < n; i++)
        if (v[i].kind == ONX_X_TENSOR && v[i].tensor == t) return true;
    return false;
}

void onx_lay_results(onx_export *x, onx_xkeeping keeping, size_t n, const onx_xv *args,
                     size_t n_out, const onx_xv *out) {
    bool plain =
        keeping == ONX_LAY_ANEW || (keeping != ONX_LAY_OWN && all_plain(x, keeping, n, args));
    for (size_t i = 0; i < n_out && onx_x_ok(x); i++) {
        if (out[i].kind != ONX_X_TENSOR || is_among(n, args, out[i].tensor)) continue;
        onx_xt *t = out[i].tensor;
        bool known = plain || onx_xt_rank(x, t) < 2;
        if (!known && keeping == ONX_LAY_KEEP)
            onx_lay_kept(x, n, args, t);
        else
            t->layout = t->storage->layout = known ? NULL : &onx_xlayout_unknown;
    }
}

/* ─ Memory ───────────────────────────────────────────────────────────────────────────────────── */

/* The order in which the dimensions of the whole storage lie in memory without gaps: false where
 * that is not known. */
static bool dense_order(onx_export *x, const onx_xt *whole, size_t rank, int64_t *perm) {
    size_t axes[ONX_RANK_MAX];
    const onx_xlayout *l = onx_xt_layout(x, whole, 0);
    operands all = {1, (const onx_xt *[]){whole}, (const onx_xlayout *[]){l}};
    onx_xlayout *dense = l ? new_layout(x, rank) : NULL;
    if (!dense || !sort(x, &all, whole, rank, axes)) return false;
    fill(x, whole, rank, axes, dense);
    for (size_t i = 0; i < rank; i++) {
        if (!l->strides[i]) return false;
        if (dense->strides[i] != l->strides[i] && !is_one(onx_x_dim(x, whole->value, i)))
            return false;
        perm[i] = (int64_t)axes[i];
    }
    if (onx_dtype_is_complex(whole->dtype)) perm[rank] = (int64_t)rank;
    return true;
}

static bool whole_of(onx_export *x, const onx_xt *t, onx_xt *whole, int64_t *perm, size_t *rank) {
    *whole = (onx_xt){.value = t->storage->value, .dtype = t->dtype, .layout = t->storage->layout};
    if (t->layout == &onx_xlayout_unknown) return false;
    *rank = onx_xt_rank(x, whole);
    return *rank < ONX_RANK_MAX && dense_order(x, whole, *rank, perm);
}

onx_value *onx_xstorage_flat(onx_export *x, const onx_xt *t) {
    onx_xt whole;
    int64_t perm[ONX_RANK_MAX];
    size_t rank;
    bool complex = onx_dtype_is_complex(t->dtype);
    onx_xv shape[] = {onx_xv_int(x, -1), onx_xv_int(x, 2)};
    if (!whole_of(x, t, &whole, perm, &rank)) return NULL;
    return onx_x_reshape(x, onx_x_transpose(x, whole.value, rank + complex, perm), 1 + complex,
                         shape);
}

onx_value *onx_xstorage_of_flat(onx_export *x, const onx_xt *t, onx_value *flat) {
    onx_xt whole;
    int64_t perm[ONX_RANK_MAX], back[ONX_RANK_MAX];
    size_t rank;
    if (!whole_of(x, t, &whole, perm, &rank)) return NULL;
    rank += onx_dtype_is_complex(t->dtype);
    onx_value *like = onx_x_transpose(x, whole.value, rank, perm);
    for (size_t i = 0; i < rank; i++) back[perm[i]] = (int64_t)i;
    return onx_x_transpose(x, onx_x_reshape_like(x, flat, like), rank, back);
}
