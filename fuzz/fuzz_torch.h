/* fuzz_torch.h: what must hold for every pickle that was read. */
#ifndef ONX_FUZZ_TORCH_H
#define ONX_FUZZ_TORCH_H

#include "export/pickle.h"
#include "fuzz.h"

/* A tensor loads, or says why not; what is loaded is a sound tensor of ONNX. */
static inline void fuzz_load(const onx_torch_tensor *t) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_tensor *tensor = NULL;
    if (!t->storage->archive) return;
    onx_status status =
        onx_torch_tensor_load(onx_archive_doc(t->storage->archive), t, &tensor, &diag);
    if (status)
        fuzz_refused(status, &diag);
    else
        FUZZ_OK(onx_tensor_check(tensor, &diag), &diag);
}

/* Nodes, counted as often as they occur: as many as the value says, and not too deep. */
static inline size_t fuzz_walk(const onx_pk *v, size_t depth) {
    size_t nodes = 1;
    FUZZ_CHECK(depth <= ONX_PK_DEPTH && v->depth + depth <= ONX_PK_DEPTH + 1);
    if (v->kind == ONX_PK_TENSOR) fuzz_load(v->tensor);
    if (v->kind == ONX_PK_OBJECT) {
        if (v->object.args) nodes += fuzz_walk(v->object.args, depth + 1);
        if (v->object.state) nodes += fuzz_walk(v->object.state, depth + 1);
    }
    if (v->kind == ONX_PK_LIST || v->kind == ONX_PK_TUPLE || v->kind == ONX_PK_DICT)
        for (size_t i = 0; i < v->items.n; i++) nodes += fuzz_walk(v->items.v[i], depth + 1);
    if (v->kind == ONX_PK_DICT)
        for (size_t i = 0; i < v->items.n; i += 2)
            if (v->items.v[i]->kind == ONX_PK_STR)
                FUZZ_CHECK(onx_pk_get(v, v->items.v[i]->s) == v->items.v[i + 1]);
    FUZZ_CHECK(nodes == v->nodes);
    return nodes;
}

static inline void fuzz_pickle(const onx_pickle *pickle) {
    FUZZ_CHECK(pickle->root->nodes <= ONX_PK_NODES);
    if (pickle->root->nodes < 100000) fuzz_walk(pickle->root, 1);
}

#endif
