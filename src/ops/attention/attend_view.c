/* attend_view.c: views as attributes, and the inference of what has them. */
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
            out[n++] = view->walks[d][i].first;
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
        if (n - at < 4 * out->n[d]) return false;
        for (size_t i = 0; i < out->n[d]; i++, at += 4) {
            onx_view_walk walk = {from[at], from[at + 1], from[at + 2], from[at + 3]};
            if (walk.first < 0 || walk.first > walk.axis || walk.axis >= ONX_VIEW_AXES ||
                walk.step < 0 || walk.size < -1)
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
        if (walk->size >= 0) size = onx_sym_mul(syms, size, onx_sym_int(syms, walk->size));
        for (int64_t a = walk->first; a <= walk->axis && walk->size < 0; a++)
            size = onx_sym_mul(syms, size,
                               fact->ranked && (size_t)a < fact->rank ? fact->dims[a] : NULL);
    }
    return size;
}

/* Sizes of Q, then what K, V and the biases make of them. */
static void infer_sizes(onx_infer *in, const onx_view views[3],
                        const onx_sym *sizes[ONX_VIEW_DIMS]) {
    onx_syms *syms = onx_infer_syms(in);
    for (size_t d = 0; d < ONX_VIEW_DIMS; d++) sizes[d] = size_of(in, 0, &views[0], d);
    sizes[ONX_VIEW_COL] = size_of(in, 2, &views[2], ONX_VIEW_COL);
    for (size_t i = 1; i < 3; i++)
        for (size_t d = 0; d < ONX_VIEW_ROW; d++)
            sizes[d] = onx_sym_broadcast(syms, sizes[d], size_of(in, i, &views[i], d));
    for (size_t i = 3; i < onx_infer_n_in(in); i++) {
        const onx_fact *bias = onx_infer_in(in, i);
        if (!onx_infer_has_in(in, i)) continue;
        for (size_t d = 0; d <= ONX_VIEW_ROW; d++) {
            bool repeats = bias->rank == 5 && d == ONX_VIEW_BATCH;
            if (!bias->ranked || d + bias->rank < 4 || repeats) continue;
            sizes[d] = onx_sym_broadcast(syms, sizes[d], bias->dims[d + bias->rank - 4]);
        }
    }
}

onx_status onx_infer_attend(onx_infer *in) {
    static const char *const names[] = {"q", "k", "v"};
    onx_view views[3];
    size_t rank;
    const int64_t *order = onx_op_ints(onx_infer_node(in), "y", &rank);
    const onx_sym *sizes[ONX_VIEW_DIMS], *dims[ONX_VIEW_DIMS];
    bool good = rank <= ONX_VIEW_DIMS;
    for (size_t i = 0; i < 3; i++)
        good = good && onx_view_read(onx_infer_node(in), names[i], &views[i]);
    for (size_t i = 0; i < rank && good; i++) good = order[i] >= 0 && order[i] < ONX_VIEW_DIMS;
    if (!good) return onx_infer_fail(in, "its views are not well formed");
    infer_sizes(in, views, sizes);
    for (size_t i = 0; i < rank; i++) dims[i] = sizes[order[i]];
    return onx_infer_tensor(in, 0, ONX_DTYPE_F32, rank, dims);
}

onx_status onx_infer_rotate(onx_infer *in) {
    onx_view view;
    const onx_sym *dims[ONX_VIEW_DIMS];
    if (!onx_view_read(onx_infer_node(in), "x", &view))
        return onx_infer_fail(in, "its view is not well formed");
    for (size_t d = 0; d < ONX_VIEW_DIMS; d++) {
        dims[d] = size_of(in, 0, &view, d);
        for (size_t i = 1; i < 3; i++) {
            const onx_fact *f = onx_infer_in(in, i);
            if (f->ranked && d + f->rank >= ONX_VIEW_DIMS)
                dims[d] = onx_sym_broadcast(onx_infer_syms(in), dims[d],
                                            f->dims[d + f->rank - ONX_VIEW_DIMS]);
        }
    }
    return onx_infer_tensor(in, 0, ONX_DTYPE_F32, ONX_VIEW_DIMS, dims);
}
