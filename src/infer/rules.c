/* rules.c: rules of inference that many operators share. */
#include "infer/infer_internal.h"

bool onx_axis(int64_t axis, size_t rank, size_t *out) {
    int64_t r = (int64_t)rank;
    if (axis < -r || axis >= r) return false;
    *out = (size_t)(axis < 0 ? axis + r : axis);
    return true;
}

bool onx_infer_list(onx_infer *in, const char *attribute, size_t index, size_t *n,
                    const int64_t **values) {
    *values = onx_op_ints(onx_infer_node(in), attribute, n);
    return *values || (onx_infer_has_in(in, index) && onx_infer_ints(in, index, n, values));
}

const onx_sym *onx_infer_product(const onx_infer *in, size_t n, const onx_sym *const *sizes) {
    onx_syms *syms = onx_infer_syms(in);
    const onx_sym *product = onx_sym_int(syms, 1);
    for (size_t i = 0; i < n; i++) product = onx_sym_mul(syms, product, sizes[i]);
    return product;
}

onx_status onx_infer_same(onx_infer *in) {
    const onx_fact *from = onx_infer_in(in, 0);
    onx_fact *out = onx_infer_out(in, 0);
    *out = *from;
    out->constant = NULL;
    out->elems = NULL;
    out->n_elems = 0;
    return ONX_OK;
}

/* One dimension of two shapes; false: neither is 1, and they differ. */
static bool broadcast_size(onx_syms *syms, const onx_sym *a, const onx_sym *b,
                           const onx_sym **out) {
    int64_t x = -1, y = -1;
    bool a_known = onx_sym_is_int(a, &x), b_known = onx_sym_is_int(b, &y);
    if (a_known && b_known && x != y && x != 1 && y != 1) return false;
    if ((a_known && x != 1) || (b_known && y == 1))
        *out = a;
    else if ((b_known && y != 1) || (a_known && x == 1))
        *out = b;
    else
        *out = onx_sym_broadcast(syms, a, b); /* equal, or one of them is 1 */
    return true;
}

bool onx_infer_broadcast_dims(onx_infer *in, const onx_fact *a, const onx_fact *b, size_t *rank,
                              const onx_sym *const **dims) {
    size_t n = a->rank > b->rank ? a->rank : b->rank;
    const onx_sym *one = onx_sym_int(onx_infer_syms(in), 1);
    const onx_sym **out = onx_arena_array(onx_infer_arena(in), n + 1, sizeof *out);
    bool fit = true;
    for (size_t i = 0; i < n && out && fit; i++) {
        const onx_sym *x = i < n - a->rank ? one : a->dims[i - (n - a->rank)];
        const onx_sym *y = i < n - b->rank ? one : b->dims[i - (n - b->rank)];
        fit = broadcast_size(onx_infer_syms(in), x, y, &out[i]);
    }
    *rank = n;
    *dims = out;
    return fit;
}

static onx_status broadcast_as(onx_infer *in, onx_dtype dtype) {
    onx_fact all = *onx_infer_in(in, 0);
    ONX_TRY(onx_infer_unranked(in, 0, dtype));
    if (!all.ranked) return ONX_OK;
    for (size_t i = 1; i < onx_infer_n_in(in); i++) {
        const onx_fact *next = onx_infer_in(in, i);
        size_t rank;
        const onx_sym *const *dims;
        if (!onx_infer_has_in(in, i)) continue;
        if (!next->ranked) return ONX_OK;
        if (!onx_infer_broadcast_dims(in, &all, next, &rank, &dims))
            return onx_infer_fail(in,
                                  "the shape of input %zu does not broadcast with those before"
                                  " it: sizes must be equal, or one of them 1",
                                  i);
        if (!dims) return ONX_NO_MEMORY;
        all.rank = rank;
        all.dims = dims;
    }
    return onx_infer_tensor(in, 0, dtype, all.rank, all.dims);
}

onx_status onx_infer_broadcast(onx_infer *in) {
    return broadcast_as(in, onx_infer_in(in, 0)->dtype);
}

onx_status onx_infer_compare(onx_infer *in) {
    return broadcast_as(in, ONX_DTYPE_BOOL);
}
