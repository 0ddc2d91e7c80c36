/* attend_view.c: views as attributes, and the inference of onx.internal::Attend. */
#include "ops/attention/attend_view.h"

size_t onx_view_write(const onx_view *view, int64_t out[ONX_VIEW_INTS]) {
    size_t n = 1;
    for (size_t i = 0; i < ONX_VIEW_AXES; i++)
        if (view->start[i]) n = i + 2;
    out[0] = (int64_t)n - 1;
    for (size_t i = 1; i < n; i++) out[i] = view->start[i - 1];
    for (size_t d = 0; d < ONX_VIEW_DIMS; d++) {
        out[n++] = (int64_t)view->n[d];
        for (size_t i = 0; i < view->n[d]; i++) {
            out[n++] = view->walks[d][i].axis;
            out[n++] = view->walks[d][i].step;
            out[n++] = view->walks[d][i].size;
        }
    }
    return n;
}

bool onx_view_read(const onx_node *node, const char *name, onx_view *out) {
    size_t n, at = 1;
    const int64_t *from = onx_op_ints(node, name, &n);
    *out = (onx_view){0};
    if (!n || from[0] < 0 || from[0] > ONX_VIEW_AXES || n <= (size_t)from[0]) return false;
    for (; at <= (size_t)from[0]; at++)
        if ((out->start[at - 1] = from[at]) < 0) return false;
    for (size_t d = 0; d < ONX_VIEW_DIMS; d++) {
        if (at == n || from[at] < 0 || from[at] > ONX_VIEW_WALKS) return false;
        out->n[d] = (size_t)from[at++];
        if (n - at < 3 * out->n[d]) return false;
        for (size_t i = 0; i < out->n[d]; i++, at += 3) {
            onx_view_walk walk = {from[at], from[at + 1], from[at + 2]};
            if (walk.axis < 0 || walk.axis >= ONX_VIEW_AXES || walk.step < 0 || walk.size < -1)
                return false;
            out->walks[d][i] = walk;
        }
    }
    return at == n;
}

static const onx_sym *size_of(onx_infer *in, size_t index, const onx_view *view, size_t d) {
    const onx_fact *fact = onx_infer_in(in, index);
    onx_syms *syms = onx_infer_syms(in);
    const onx_sym *size = onx_sym_int(syms, 1);
    for (size_t i = 0; i < view->n[d]; i++) {
        const onx_view_walk *walk = &view->walks[d][i];
        bool known = fact->ranked && (size_t)walk->axis < fact->rank;
        const onx_sym *some = walk->size >= 0 ? onx_sym_int(syms, walk->size)
                              : known         ? fact->dims[walk->axis]
                                              : NULL;
        size = onx_sym_mul(syms, size, some);
    }
    return size;
}

onx_status onx_infer_attend(onx_infer *in) {
    onx_view q, v;
    size_t rank;
    const int64_t *order = onx_op_ints(onx_infer_node(in), "y", &rank);
    const onx_sym *sizes[ONX_VIEW_DIMS], *dims[ONX_VIEW_DIMS];
    if (!onx_view_read(onx_infer_node(in), "q", &q) ||
        !onx_view_read(onx_infer_node(in), "v", &v) || rank > ONX_VIEW_DIMS)
        return onx_infer_fail(in, "its views are not well formed");
    for (size_t d = 0; d < ONX_VIEW_DIMS; d++)
        sizes[d] = size_of(in, d == ONX_VIEW_COL ? 2 : 0, d == ONX_VIEW_COL ? &v : &q, d);
    for (size_t i = 0; i < rank; i++) {
        if (order[i] < 0 || order[i] >= ONX_VIEW_DIMS)
            return onx_infer_fail(in, "%lld is no dimension", (long long)order[i]);
        dims[i] = sizes[order[i]];
    }
    return onx_infer_tensor(in, 0, ONX_DTYPE_F32, rank, dims);
}
