/* extent.c: sizes that several inputs of a node share, each known by a name: what one input tells
 * holds for all, and where two disagree the node cannot be right. */
#include "infer/infer_internal.h"

/* How much a size says: not known, a name for what is not known, an expression, a number. */
static int knowledge(const onx_infer *in, const onx_sym *size) {
    int64_t ignored;
    if (!size) return 0;
    if (onx_sym_is_int(size, &ignored)) return 3;
    return onx_map_get(&in->facts->unknown, size, (onx_str){NULL, 0}) ? 1 : 2;
}

onx_status onx_infer_meet(onx_infer *in, onx_extent *extent, const onx_sym *size) {
    int64_t a, b;
    if (onx_sym_is_int(extent->size, &a) && onx_sym_is_int(size, &b) && a != b)
        return onx_infer_fail(in, "the %s is %lld and %lld: it must be one", extent->name,
                              (long long)a, (long long)b);
    if (knowledge(in, size) > knowledge(in, extent->size)) extent->size = size;
    return ONX_OK;
}

onx_status onx_infer_unify(onx_infer *in, size_t index, size_t rank, onx_extent *const *extents) {
    const onx_fact *fact = onx_infer_in(in, index);
    if (!fact->ranked) return ONX_OK;
    if (fact->rank != rank)
        return onx_infer_fail(in, "input %zu has %zu dimensions; it needs %zu", index, fact->rank,
                              rank);
    for (size_t i = 0; i < rank; i++)
        if (extents[i]) ONX_TRY(onx_infer_meet(in, extents[i], fact->dims[i]));
    return ONX_OK;
}

onx_status onx_infer_extents(onx_infer *in, size_t index, onx_dtype dtype, size_t rank,
                             onx_extent *const *extents) {
    const onx_sym *dims[ONX_RANK_MAX];
    if (rank > ONX_RANK_MAX) return onx_infer_unranked(in, index, dtype);
    for (size_t i = 0; i < rank; i++) dims[i] = extents[i] ? extents[i]->size : NULL;
    return onx_infer_tensor(in, index, dtype, rank, dims);
}
