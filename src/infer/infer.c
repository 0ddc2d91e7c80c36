/* infer.c: the world of an inference function: what it can ask and say about its node. */
#include "infer/infer_internal.h"

#include <stdio.h>

const onx_node *onx_infer_node(const onx_infer *in) {
    return in->node;
}

const onx_op *onx_infer_op(const onx_infer *in) {
    return in->op;
}

onx_syms *onx_infer_syms(const onx_infer *in) {
    return in->facts->syms;
}

onx_arena *onx_infer_arena(const onx_infer *in) {
    return &in->facts->arena;
}

size_t onx_infer_n_in(const onx_infer *in) {
    return in->n_in;
}

size_t onx_infer_n_out(const onx_infer *in) {
    return in->n_out;
}

const onx_fact *onx_infer_in(const onx_infer *in, size_t index) {
    return index < in->n_in ? in->ins[index] : &onx_fact_none;
}

bool onx_infer_has_in(const onx_infer *in, size_t index) {
    return onx_node_input(in->node, index) != NULL;
}

onx_fact *onx_infer_out(onx_infer *in, size_t index) {
    if (index < in->n_out) return &in->outs[index];
    in->nobody = onx_fact_none;
    return &in->nobody;
}

onx_status onx_infer_unranked(onx_infer *in, size_t index, onx_dtype dtype) {
    *onx_infer_out(in, index) = (onx_fact){.kind = ONX_TYPE_TENSOR, .dtype = dtype};
    return ONX_OK;
}

onx_status onx_infer_tensor(onx_infer *in, size_t index, onx_dtype dtype, size_t rank,
                            const onx_sym *const *dims) {
    const onx_sym **copy = onx_arena_array(&in->facts->arena, rank + 1, sizeof *copy);
    if (!copy) return ONX_NO_MEMORY;
    for (size_t i = 0; i < rank; i++) {
        int64_t size;
        copy[i] = dims[i];
        if (onx_sym_is_int(dims[i], &size) && size < 0)
            return onx_infer_fail(in, "dimension %zu of output %zu would have the size %lld", i,
                                  index, (long long)size);
    }
    *onx_infer_out(in, index) = (onx_fact){
        .kind = ONX_TYPE_TENSOR, .dtype = dtype, .ranked = true, .rank = rank, .dims = copy};
    return ONX_OK;
}

onx_status onx_infer_elems(onx_infer *in, size_t index, size_t n, const onx_sym *const *elems) {
    size_t known = 0;
    for (size_t i = 0; i < n && n <= ONX_INFER_ELEMS; i++) known += elems[i] != NULL;
    if (!known && (n > 0)) return ONX_OK;
    const onx_sym **copy = onx_arena_array(&in->facts->arena, n + 1, sizeof *copy);
    if (!copy) return ONX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) copy[i] = elems[i];
    onx_fact *out = onx_infer_out(in, index);
    out->n_elems = n;
    out->elems = copy;
    return ONX_OK;
}

bool onx_infer_ints(onx_infer *in, size_t index, size_t *n, const int64_t **values) {
    const onx_fact *fact = onx_infer_in(in, index);
    if (fact->constant) return onx_fact_ints(in->facts, fact->constant, n, values);
    if (!fact->elems) return false;
    int64_t *ints = onx_arena_array(&in->facts->arena, fact->n_elems + 1, sizeof *ints);
    for (size_t i = 0; ints && i < fact->n_elems; i++)
        if (!onx_sym_is_int(fact->elems[i], &ints[i])) return false;
    *n = fact->n_elems;
    *values = ints;
    return ints != NULL;
}

const onx_sym *onx_infer_fresh(onx_infer *in) {
    const onx_value *value = onx_node_output(in->node, 0);
    return onx_facts_fresh(in->facts, onx_loss_new(in->facts, in, value, ONX_LOST_SHAPE));
}

int64_t onx_infer_int(const onx_infer *in, const char *attribute) {
    return onx_op_int(in->op, in->node, attribute);
}

float onx_infer_float(const onx_infer *in, const char *attribute) {
    return onx_op_float(in->op, in->node, attribute);
}

onx_str onx_infer_string(const onx_infer *in, const char *attribute) {
    return onx_op_string(in->op, in->node, attribute);
}

onx_status onx_infer_graph(onx_infer *in, const onx_graph *graph, size_t n_in,
                           const onx_fact *const *ins, size_t n_out, onx_fact *outs) {
    ONX_TRY(onx_facts_graph(in->facts, graph, n_in, ins, in->diag));
    for (size_t i = 0; i < n_out; i++)
        outs[i] =
            i < graph->outs.n ? *onx_facts_of(in->facts, graph->outs.v[i]->value) : onx_fact_none;
    return ONX_OK;
}

onx_status onx_infer_unreached(onx_infer *in, const onx_graph *graph) {
    onx_facts_options *options = &in->facts->options, kept = *options;
    options->report = onx_facts_ignore;
    onx_status status = onx_facts_graph(in->facts, graph, 0, NULL, in->diag);
    *options = kept;
    return status;
}

onx_status onx_infer_fail(onx_infer *in, const char *fmt, ...) {
    char sentence[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    return onx_fail(in->diag, ONX_INVALID, "%s", sentence);
}
