/* data.c: values as files hold them: tensors, sparse tensors, sequences, maps, optionals.
 * An onx_data is one of these messages; which one, its table tells. */
#include "ir/data.h"

#include "ir/edit.h"

static const onx_desc *const tables[] = {NULL,
                                         &onx_desc_tensor,
                                         &onx_desc_sparse,
                                         &onx_desc_sequence,
                                         &onx_desc_map_data,
                                         &onx_desc_optional};

const onx_desc *onx_data_table(onx_data_kind kind) {
    return (size_t)kind < ONX_COUNT(tables) ? tables[kind] : NULL;
}

static const onx_msg *msg_of(const onx_data *data) {
    return (const onx_msg *)data;
}

onx_data_kind onx_data_kind_of(const onx_data *data) {
    for (size_t i = 1; data && i < ONX_COUNT(tables); i++)
        if (msg_of(data)->desc == tables[i]) return (onx_data_kind)i;
    return ONX_DATA_NONE;
}

/* Names sit in different structs at different places: one row each. */
const char *onx_data_name(const onx_data *data) {
    switch (onx_data_kind_of(data)) {
    case ONX_DATA_TENSOR: return onx_tensor_name((const onx_tensor *)data);
    case ONX_DATA_SPARSE_TENSOR: {
        const onx_sparse *sparse = (const onx_sparse *)data;
        return sparse->values ? onx_tensor_name(sparse->values) : "";
    }
    case ONX_DATA_SEQUENCE: return onx_str_z(((const onx_sequence *)data)->name);
    case ONX_DATA_MAP: return onx_str_z(((const onx_map_data *)data)->name);
    case ONX_DATA_OPTIONAL: return onx_str_z(((const onx_optional *)data)->name);
    default: return "";
    }
}

onx_tensor *onx_data_tensor(const onx_data *data) {
    onx_data_kind kind = onx_data_kind_of(data);
    if (kind == ONX_DATA_TENSOR) return (onx_tensor *)(uintptr_t)data;
    return kind == ONX_DATA_SPARSE_TENSOR ? ((const onx_sparse *)data)->values : NULL;
}

onx_tensor *onx_data_indices(const onx_data *data) {
    bool sparse = onx_data_kind_of(data) == ONX_DATA_SPARSE_TENSOR;
    return sparse ? ((const onx_sparse *)data)->indices : NULL;
}

size_t onx_data_rank(const onx_data *data) {
    bool sparse = onx_data_kind_of(data) == ONX_DATA_SPARSE_TENSOR;
    return sparse ? ((const onx_sparse *)data)->dims.n : 0;
}

int64_t onx_data_dim(const onx_data *data, size_t index) {
    return index < onx_data_rank(data) ? ((const onx_sparse *)data)->dims.v[index] : -1;
}

/* In both tables the fields of the kinds follow each other, in the order of the kinds. */
static bool is_kind(int32_t kind) {
    return kind >= ONX_DATA_TENSOR && kind <= ONX_DATA_OPTIONAL;
}

const onx_field *onx_sequence_row(int32_t kind) {
    return is_kind(kind) ? ONX_ROW(sequence, tensor_values) + (kind - ONX_DATA_TENSOR) : NULL;
}

const onx_field *onx_optional_row(int32_t kind) {
    return is_kind(kind) ? ONX_ROW(optional, tensor_value) + (kind - ONX_DATA_TENSOR) : NULL;
}

static const onx_list *elements(const onx_sequence *s) {
    const onx_field *row = onx_sequence_row(s->elem_type);
    return row ? onx_field_ptr(s, row) : NULL;
}

static onx_msg *content(const onx_optional *o) {
    const onx_field *row = onx_optional_row(o->elem_type);
    return row ? *(onx_msg **)onx_field_ptr(o, row) : NULL;
}

static const onx_sequence *sequence_of(const onx_data *data) {
    onx_data_kind kind = onx_data_kind_of(data);
    if (kind == ONX_DATA_SEQUENCE) return (const onx_sequence *)data;
    return kind == ONX_DATA_MAP ? ((const onx_map_data *)data)->values : NULL;
}

size_t onx_data_count(const onx_data *data) {
    if (onx_data_kind_of(data) == ONX_DATA_OPTIONAL)
        return content((const onx_optional *)data) != NULL;
    const onx_sequence *sequence = sequence_of(data);
    const onx_list *list = sequence ? elements(sequence) : NULL;
    return list ? list->count : 0;
}

onx_data *onx_data_at(const onx_data *data, size_t index) {
    if (onx_data_kind_of(data) == ONX_DATA_OPTIONAL)
        return index == 0 ? (onx_data *)content((const onx_optional *)data) : NULL;
    const onx_sequence *sequence = sequence_of(data);
    const onx_list *list = sequence ? elements(sequence) : NULL;
    return list ? onx_list_at(list, index) : NULL;
}

onx_data *onx_data_next(const onx_data *data) {
    return (onx_data *)msg_of(data)->next;
}

static const onx_map_data *map_of(const onx_data *data) {
    return onx_data_kind_of(data) == ONX_DATA_MAP ? (const onx_map_data *)data : NULL;
}

onx_dtype onx_data_key_dtype(const onx_data *data) {
    const onx_map_data *map = map_of(data);
    bool known = map && map->key_type > 0 && map->key_type < ONX_DTYPE_COUNT;
    return known ? (onx_dtype)map->key_type : ONX_DTYPE_NONE;
}

int64_t onx_data_key_int(const onx_data *data, size_t index) {
    const onx_map_data *map = map_of(data);
    return map && index < map->keys.n ? map->keys.v[index] : 0;
}

onx_str onx_data_key_str(const onx_data *data, size_t index) {
    const onx_map_data *map = map_of(data);
    return map && index < map->string_keys.n ? map->string_keys.v[index] : (onx_str){NULL, 0};
}

bool onx_data_equal(const onx_data *a, const onx_data *b, onx_diag *diag) {
    return onx_msg_equal(a, b, diag);
}

onx_data *onx_tensor_data(onx_tensor *tensor) {
    return (onx_data *)tensor;
}

void onx_data_free(onx_data *data) {
    onx_msg *msg = (onx_msg *)data;
    if (msg && msg->doc->root == msg) onx_doc_free(msg->doc);
}

/* How well a decoded message makes sense as its kind. A file does not say which message it holds,
 * and the bytes of one often decode as another; the right one has nothing unknown in it and agrees
 * with itself. */

static bool plausible(const onx_msg *m) {
    if (m->unknown) return false;
    if (m->desc == &onx_desc_tensor) return onx_tensor_check((const onx_tensor *)m, NULL) == ONX_OK;
    if (m->desc == &onx_desc_sequence) {
        const onx_sequence *s = (const onx_sequence *)m;
        size_t all = s->tensor_values.count + s->sparse_tensor_values.count +
                     s->sequence_values.count + s->map_values.count + s->optional_values.count;
        const onx_list *list = elements(s);
        return list && list->count == all; /* without a kind of elements: an empty optional */
    }
    if (m->desc == &onx_desc_optional) {
        const onx_optional *o = (const onx_optional *)m;
        return o->elem_type == 0 || is_kind(o->elem_type);
    }
    if (m->desc == &onx_desc_map_data) {
        const onx_map_data *map = (const onx_map_data *)m;
        size_t keys = map->keys.n + map->string_keys.n;
        return map->values && keys == onx_data_count((const onx_data *)map);
    }
    if (m->desc == &onx_desc_sparse) return ((const onx_sparse *)m)->values != NULL;
    return true;
}

bool onx_data_plausible(const onx_msg *root) {
    const onx_msg *m;
    for (onx_walk w = onx_walk_begin(root); (m = onx_walk_next(&w));)
        if (!plausible(m)) return false;
    return true;
}
