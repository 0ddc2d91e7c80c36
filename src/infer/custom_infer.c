/* custom_infer.c: inference functions of programs: how they are called, and what they can ask
 * beyond the functions that those of the library use. */
#include "infer/type_fact.h"
#include "ops/custom.h"

#include <stdio.h>

/* A failure always has a sentence, the function's own or this one. */
onx_status onx_infer_custom(onx_infer *in) {
    const onx_custom_op *op = (const onx_custom_op *)in->op;
    ONX_TRY(onx_infer_typed(in));
    if (!op->infer) return ONX_OK;
    onx_diag own = ONX_INIT(onx_diag), *diag = in->diag;
    in->diag = &own;
    onx_status status = op->infer(in, op->user);
    in->diag = diag;
    if (status == ONX_OK || status == ONX_NO_MEMORY) return status;
    if (!own.message[0])
        onx_fail(&own, ONX_INVALID, "the inference of %s refuses the node (%s)", op->row.name,
                 onx_status_name(status));
    if (diag) *diag = own;
    return ONX_INVALID;
}

size_t onx_infer_type(onx_infer *in, size_t input, char *out, size_t size) {
    onx_buf text;
    onx_buf_init(&text, in->facts->ctx);
    onx_fact_print(onx_infer_in(in, input), &text);
    in->facts->failed |= text.failed;
    return onx_buf_give(&text, out, size);
}

onx_dtype onx_infer_dtype(const onx_infer *in, size_t input) {
    const onx_fact *fact = onx_infer_in(in, input);
    return fact->kind == ONX_TYPE_TENSOR ? fact->dtype : ONX_DTYPE_NONE;
}

int64_t onx_infer_rank(const onx_infer *in, size_t input) {
    const onx_fact *fact = onx_infer_in(in, input);
    return fact->ranked ? (int64_t)fact->rank : -1;
}

static const onx_sym *dim_of(const onx_infer *in, size_t input, size_t index) {
    const onx_fact *fact = onx_infer_in(in, input);
    return fact->ranked && index < fact->rank ? fact->dims[index] : NULL;
}

int64_t onx_infer_dim(const onx_infer *in, size_t input, size_t index) {
    int64_t value;
    return onx_sym_is_int(dim_of(in, input, index), &value) ? value : -1;
}

size_t onx_infer_dim_text(onx_infer *in, size_t input, size_t index, char *out, size_t size) {
    onx_buf text;
    onx_buf_init(&text, in->facts->ctx);
    onx_sym_print(dim_of(in, input, index), &text);
    in->facts->failed |= text.failed;
    return onx_buf_give(&text, out, size);
}

onx_status onx_infer_set_type(onx_infer *in, size_t output, const char *type) {
    onx_fact fact;
    bool readable;
    if (!type) return onx_infer_fail(in, "the type of output %zu is NULL", output);
    ONX_TRY(onx_type_fact(in->facts, onx_str_of(type), true, &fact, &readable));
    if (!readable) return onx_infer_fail(in, "'%.200s' is not a type", type);
    for (size_t i = 0; i < fact.rank; i++) {
        int64_t size;
        if (onx_sym_is_int(fact.dims[i], &size) && size < 0)
            return onx_infer_fail(in, "dimension %zu of output %zu would have the size %lld", i,
                                  output, (long long)size);
    }
    *onx_infer_out(in, output) = fact;
    return ONX_OK;
}
