/* backend_case.c: the backend tests of ONNX, one after the other, run through sessions. */
#include "backend_case.h"

bool backend_is_random(const char *folder) {
    static const char *const words[] = {"bernoulli", "random", "multinomial", "dropout"};
    for (size_t i = 0; i < ONX_COUNT(words); i++)
        if (strstr(folder, words[i])) return true;
    return false;
}

void backend_inputs_load(const char *folder, const onx_session *s, backend_inputs *out) {
    static const onx_data_kind kinds[] = {[ONX_TYPE_TENSOR] = ONX_DATA_TENSOR,
                                          [ONX_TYPE_SPARSE_TENSOR] = ONX_DATA_SPARSE_TENSOR,
                                          [ONX_TYPE_SEQUENCE] = ONX_DATA_SEQUENCE,
                                          [ONX_TYPE_MAP] = ONX_DATA_MAP,
                                          [ONX_TYPE_OPTIONAL] = ONX_DATA_OPTIONAL};
    for (out->n = 0; out->n < BACKEND_ARGS && out->n < onx_session_input_count(s); out->n++) {
        char path[1200];
        onx_data **data = &out->data[out->n];
        const onx_type *type = onx_session_input_type(s, out->n);
        onx_type_kind kind = type ? onx_type_kind_of(type) : ONX_TYPE_TENSOR;
        snprintf(path, sizeof path, "%s/test_data_set_0/input_%zu.pb", folder, out->n);
        if ((size_t)kind >= ONX_COUNT(kinds) || onx_data_load(NULL, path, kinds[kind], data, NULL))
            return;
        if (onx_arg_from_data(*data, &out->args[out->n], NULL)) {
            onx_data_free(*data);
            return;
        }
    }
}

void backend_inputs_free(backend_inputs *inputs) {
    for (size_t i = 0; i < inputs->n; i++) {
        onx_arg_clear(&inputs->args[i]);
        onx_data_free(inputs->data[i]);
    }
}

bool backend_same(const onx_arg *a, const onx_arg *b) {
    if (a->dtype != b->dtype || a->rank != b->rank || a->bytes != b->bytes ||
        memcmp(a->dims, b->dims, a->rank * sizeof *a->dims))
        return false;
    if (a->value || b->value)
        return a->value && b->value && onx_data_equal(a->value, b->value, NULL);
    return !a->bytes || memcmp(a->data, b->data, a->bytes) == 0;
}
