/* parts.c: what the families of views, indices and joins share. */
#include "export/aten/parts.h"

size_t onx_lower_rank(onx_export *x, const onx_xv *tensor) {
    size_t rank = onx_xv_rank(x, tensor);
    return rank == SIZE_MAX ? 0 : rank;
}

bool onx_lower_axis(onx_export *x, const onx_xv *dim, size_t rank, size_t *out) {
    int64_t known;
    *out = 0;
    if (!onx_x_ok(x)) return false;
    if (!onx_xv_known_int(dim, &known))
        return onx_x_fail(x, ONX_UNSUPPORTED, "which dimension is meant is only known in a run");
    return onx_x_axis(x, known, rank, out);
}

onx_value *onx_lower_expand_like(onx_export *x, onx_value *value, onx_value *like) {
    const onx_fact *shape = onx_x_fact(x, like), *own = onx_x_fact(x, value);
    bool same = value && shape->ranked && own->ranked && shape->rank == own->rank;
    for (size_t i = 0; same && i < shape->rank; i++) same = shape->dims[i] == own->dims[i];
    if (same || !value || !like) return value;
    return onx_emit(x, "Expand", value, onx_x_shape_of(x, like));
}

bool onx_lower_broadcast(onx_export *x, size_t n, onx_value **values) {
    const onx_sym *dims[ONX_RANK_MAX];
    size_t rank = 0;
    for (size_t i = 0; i < n; i++) {
        size_t own = onx_x_rank(x, values[i]);
        if (own == SIZE_MAX) return false;
        if (own > rank) rank = own;
    }
    for (size_t k = 0; k < rank; k++) dims[k] = onx_sym_int(x->syms, 1);
    for (size_t i = 0; i < n; i++) {
        size_t own = onx_x_rank(x, values[i]);
        for (size_t k = 0; k < own; k++) {
            const onx_sym **dim = &dims[rank - own + k];
            *dim = onx_sym_broadcast(x->syms, *dim, onx_x_dim(x, values[i], k));
            if (!*dim)
                return onx_x_fail(x, ONX_INVALID, "tensors whose shapes do not fit together");
        }
    }
    for (size_t i = 0; i < n; i++) values[i] = onx_x_expand(x, values[i], rank, dims);
    return onx_x_ok(x);
}
