/* argument.c: single arguments of a node as inference functions ask for them: attributes that are a
 * word of a few or an element type, inputs that are one number or have a certain rank; and outputs
 * with the shape of another value. */
#include "infer/infer_internal.h"

#include <stdio.h>

onx_status onx_infer_choice(onx_infer *in, const char *attribute, const char *words) {
    onx_str text = onx_infer_string(in, attribute);
    for (const char *word = words, *end; *word; word = *end ? end + 1 : end) {
        end = strchr(word, ' ');
        if (!end) end = word + strlen(word);
        if (onx_str_eq(text, (onx_str){word, (size_t)(end - word)})) return ONX_OK;
    }
    return onx_infer_fail(in, "attribute %s is '%.*s'; it must be one of: %s", attribute,
                          ONX_FMT(text), words);
}

onx_status onx_infer_elem_type(onx_infer *in, const char *attribute, onx_dtype *out) {
    int64_t value = onx_infer_int(in, attribute);
    if (value <= ONX_DTYPE_NONE || value >= ONX_DTYPE_COUNT)
        return onx_infer_fail(in, "attribute %s is %lld, which is no element type", attribute,
                              (long long)value);
    *out = (onx_dtype)value;
    return ONX_OK;
}

onx_status onx_infer_scalar(onx_infer *in, size_t index, const onx_sym **out) {
    const onx_fact *fact = onx_infer_in(in, index);
    if (fact->ranked && fact->rank)
        return onx_infer_fail(in, "input %zu must be a scalar; it has %zu dimensions", index,
                              fact->rank);
    *out = fact->elems && fact->n_elems == 1 ? fact->elems[0] : NULL;
    return ONX_OK;
}

onx_status onx_infer_check_rank(onx_infer *in, size_t index, size_t least, size_t most) {
    const onx_fact *fact = onx_infer_in(in, index);
    char range[48];
    if (!fact->ranked || (fact->rank >= least && fact->rank <= most)) return ONX_OK;
    if (least == most)
        snprintf(range, sizeof range, "%zu", least);
    else if (most == SIZE_MAX)
        snprintf(range, sizeof range, "at least %zu", least);
    else
        snprintf(range, sizeof range, "from %zu to %zu", least, most);
    return onx_infer_fail(in, "input %zu has %zu dimensions; it needs %s", index, fact->rank,
                          range);
}

onx_status onx_infer_like(onx_infer *in, size_t output, onx_dtype dtype, const onx_fact *shape) {
    return shape->ranked ? onx_infer_tensor(in, output, dtype, shape->rank, shape->dims)
                         : onx_infer_unranked(in, output, dtype);
}
