/* limits.c: what a file may ask for, beyond what the codec bounds while it reads. */
#include "ir/ir.h"

static onx_status too_many(const onx_msg *msg, const char *what, size_t count, size_t limit,
                           onx_diag *diag) {
    char path[200];
    onx_msg_path(msg, path, sizeof path);
    onx_fail(diag, ONX_LIMIT, "%zu %s are over the limit of %zu", count, what, limit);
    onx_diag_place(diag, "%s", path);
    return ONX_LIMIT;
}

onx_status onx_limits_check(const void *root, onx_diag *diag) {
    const onx_limits *limits = &((const onx_msg *)root)->doc->ctx->limits;
    const onx_msg *m;
    for (onx_walk w = onx_walk_begin(root); (m = onx_walk_next(&w));) {
        size_t rank = m->desc == &onx_desc_tensor   ? ((const onx_tensor *)m)->dims.n
                      : m->desc == &onx_desc_sparse ? ((const onx_sparse *)m)->dims.n
                      : m->desc == &onx_desc_shape  ? ((const onx_shape *)m)->dim.count
                                                    : 0;
        if (rank > limits->rank) return too_many(m, "dimensions", rank, limits->rank, diag);
        size_t opsets = m->desc == &onx_desc_model ? ((const onx_model *)m)->opset_import.count
                        : m->desc == &onx_desc_function
                            ? ((const onx_function *)m)->opset_import.count
                            : 0;
        if (opsets > limits->opsets)
            return too_many(m, "imported opsets", opsets, limits->opsets, diag);
        if (m->desc != &onx_desc_model) continue;
        size_t functions = ((const onx_model *)m)->functions.count;
        if (functions > limits->functions)
            return too_many(m, "functions", functions, limits->functions, diag);
    }
    return ONX_OK;
}
