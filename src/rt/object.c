/* object.c: strings, sequences, maps and optionals as reference-counted objects.
 *
 * A tensor is one block of memory: the object, then its elements (of strings: their spans). Lists
 * grow by doubling. Freeing walks a chain of the dead, so nesting costs no stack. Sparse and opaque
 * values are not here. */
#include "rt/object.h"
#include "ir/dtype.h"

/* With one reference; NULL: no memory. */
static onx_object *object_new(onx_context *ctx, onx_type_kind kind, size_t size) {
    onx_object *object = onx_mem_alloc(ctx, size);
    if (!object) return NULL;
    *object = (onx_object){.ctx = ctx, .kind = (uint8_t)kind};
    atomic_init(&object->refs, 1);
    return object;
}

/* The object, room to align, and the elements. */
static bool tensor_size(size_t bytes, size_t *size) {
    return onx_add_size(bytes, sizeof(onx_object) + ONX_ALIGN, size);
}

static onx_status shape_size(onx_dtype dtype, size_t rank, const int64_t *dims, int64_t *count,
                             size_t *bytes, onx_diag *diag) {
    if (rank > ONX_RANK_MAX)
        return onx_fail(diag, ONX_UNSUPPORTED, "a tensor of rank %zu; at most %d is supported",
                        rank, ONX_RANK_MAX);
    for (size_t i = 0; i < rank; i++)
        if (dims[i] < 0 || !onx_mul_i64(*count, dims[i], count))
            return onx_fail(diag, ONX_INVALID,
                            "size %lld of dimension %zu is negative or too large",
                            (long long)dims[i], i);
    size_t width = sizeof(onx_str);
    if (dtype == ONX_DTYPE_STRING ? !onx_mul_size((size_t)*count, width, bytes)
                                  : !onx_dtype_bytes(dtype, (uint64_t)*count, bytes))
        return onx_fail(diag, ONX_INVALID, "%lld elements of type %s are too many for a tensor",
                        (long long)*count, onx_dtype_name(dtype));
    return ONX_OK;
}

onx_status onx_object_tensor(onx_context *ctx, onx_dtype dtype, size_t rank, const int64_t *dims,
                             onx_object **out, onx_diag *diag) {
    int64_t count = 1;
    size_t bytes = 0, size;
    ONX_TRY(shape_size(dtype, rank, dims, &count, &bytes, diag));
    onx_object *object = tensor_size(bytes, &size) ? object_new(ctx, ONX_TYPE_TENSOR, size) : NULL;
    if (!object) return onx_fail_nomem(diag);
    char *end = (char *)(object + 1), *data = end + (-(uintptr_t)end & (ONX_ALIGN - 1));
    object->dtype = (uint8_t)dtype;
    object->rank = (uint8_t)rank;
    if (rank) memcpy(object->dims, dims, rank * sizeof *dims);
    object->count = count;
    if (dtype == ONX_DTYPE_STRING) {
        object->strings = (onx_str *)(void *)data;
        for (int64_t i = 0; i < count; i++) object->strings[i] = (onx_str){"", 0};
    } else {
        object->data = data;
        object->bytes = bytes;
    }
    *out = object;
    return ONX_OK;
}

static bool list_reserve(onx_object *list, size_t room) {
    size_t size;
    if (room <= list->cap) return true;
    if (!onx_mul_size(room, sizeof *list->items, &size)) return false;
    onx_object **items =
        onx_mem_resize(list->ctx, list->items, list->cap * sizeof *list->items, size);
    if (!items) return false;
    list->items = items;
    list->cap = room;
    return true;
}

onx_status onx_object_list(onx_context *ctx, onx_type_kind kind, size_t room, onx_object **out,
                           onx_diag *diag) {
    onx_object *list = object_new(ctx, kind, sizeof *list);
    if (!list || !list_reserve(list, room)) {
        onx_object_release(list);
        return onx_fail_nomem(diag);
    }
    *out = list;
    return ONX_OK;
}

onx_status onx_object_map(onx_object *keys, onx_object *values, onx_object **out, onx_diag *diag) {
    onx_object *map = NULL;
    onx_status status = onx_object_list(keys->ctx, ONX_TYPE_MAP, 2, &map, diag);
    if (status != ONX_OK) {
        onx_object_release(keys);
        onx_object_release(values);
        return status;
    }
    map->dtype = keys->dtype;
    map->items[map->count++] = keys;
    map->items[map->count++] = values;
    *out = map;
    return ONX_OK;
}

onx_status onx_object_insert(onx_object *list, int64_t at, onx_object *item, onx_diag *diag) {
    size_t n = (size_t)list->count;
    if (n == list->cap && !list_reserve(list, n ? 2 * n : 4)) {
        onx_object_release(item);
        return onx_fail_nomem(diag);
    }
    onx_object **slot = list->items + at;
    memmove(slot + 1, slot, (n - (size_t)at) * sizeof *slot);
    *slot = item;
    list->count++;
    return ONX_OK;
}

void onx_object_erase(onx_object *list, int64_t at) {
    onx_object **slot = list->items + at, *item = *slot;
    memmove(slot, slot + 1, (size_t)(--list->count - at) * sizeof *slot);
    onx_object_release(item);
}

static void string_free(onx_context *ctx, onx_str s) {
    if (s.size) onx_mem_free(ctx, (void *)(uintptr_t)s.data, s.size + 1);
}

onx_status onx_object_set_string(onx_object *tensor, int64_t at, onx_str text, onx_diag *diag) {
    onx_str copy = {"", 0};
    if (text.size) {
        char *data = text.size < SIZE_MAX ? onx_mem_alloc(tensor->ctx, text.size + 1) : NULL;
        if (!data) return onx_fail_nomem(diag);
        memcpy(data, text.data, text.size);
        data[text.size] = 0;
        copy = (onx_str){data, text.size};
    }
    string_free(tensor->ctx, tensor->strings[at]);
    tensor->strings[at] = copy;
    return ONX_OK;
}

onx_object *onx_object_retain(onx_object *object) {
    atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
    return object;
}

/* Give one reference back; an object that was the last one's goes to the chain. */
static void drop(onx_object *object, onx_object **dead) {
    if (!object || atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) != 1) return;
    object->dead = *dead;
    *dead = object;
}

static void object_free(onx_object *object) {
    onx_context *ctx = object->ctx;
    size_t bytes = object->bytes, size = sizeof *object;
    if (object->strings) {
        for (int64_t i = 0; i < object->count; i++) string_free(ctx, object->strings[i]);
        bytes = (size_t)object->count * sizeof *object->strings;
    }
    if (object->kind == ONX_TYPE_TENSOR) (void)tensor_size(bytes, &size);
    onx_mem_free(ctx, object->items, object->cap * sizeof *object->items);
    onx_mem_free(ctx, object, size);
}

void onx_object_release(onx_object *object) {
    onx_object *dead = NULL;
    drop(object, &dead);
    while ((object = dead)) {
        dead = object->dead;
        for (int64_t i = 0; object->items && i < object->count; i++) drop(object->items[i], &dead);
        object_free(object);
    }
}

static onx_status tensor_copy(onx_context *ctx, onx_dtype dtype, size_t rank, const int64_t *dims,
                              const void *data, const onx_str *strings, onx_object **out,
                              onx_diag *diag) {
    onx_object *copy;
    onx_status status = onx_object_tensor(ctx, dtype, rank, dims, &copy, diag);
    if (status != ONX_OK) return status;
    if (copy->bytes) onx_mem_copy(copy->data, data, copy->bytes);
    for (int64_t i = 0; strings && i < copy->count && status == ONX_OK; i++)
        status = onx_object_set_string(copy, i, strings[i], diag);
    if (status == ONX_OK)
        *out = copy;
    else
        onx_object_release(copy);
    return status;
}

static onx_status list_copy(const onx_object *object, onx_object **out, onx_diag *diag) {
    onx_object *copy;
    ONX_TRY(onx_object_list(object->ctx, (onx_type_kind)object->kind, (size_t)object->count, &copy,
                            diag));
    for (int64_t i = 0; i < object->count; i++)
        copy->items[i] = onx_object_retain(object->items[i]);
    copy->count = object->count;
    copy->dtype = object->dtype;
    *out = copy;
    return ONX_OK;
}

onx_status onx_object_unshare(onx_object *object, onx_object **out, onx_diag *diag) {
    if (atomic_load_explicit(&object->refs, memory_order_acquire) == 1) {
        *out = object;
        return ONX_OK;
    }
    onx_status status = object->kind == ONX_TYPE_TENSOR
                            ? tensor_copy(object->ctx, (onx_dtype)object->dtype, object->rank,
                                          object->dims, object->data, object->strings, out, diag)
                            : list_copy(object, out, diag);
    onx_object_release(object);
    return status;
}

onx_status onx_object_of(onx_context *ctx, const onx_operand *operand, onx_object **out,
                         onx_diag *diag) {
    if (operand->object) {
        *out = onx_object_retain(operand->object);
        return ONX_OK;
    }
    return tensor_copy(ctx, (onx_dtype)operand->dtype, operand->rank, operand->dims, operand->data,
                       NULL, out, diag);
}

void onx_operand_show(onx_operand *operand, onx_object *object) {
    *operand = (onx_operand){
        .data = object->bytes ? object->data : NULL,
        .object = object,
        .count = object->count,
        .bytes = object->bytes,
        .kind = object->kind,
        .dtype = object->dtype,
        .rank = object->rank,
    };
    memcpy(operand->dims, object->dims, sizeof operand->dims);
}

onx_status onx_operand_copy(const onx_operand *to, int64_t at, const onx_operand *from,
                            int64_t first, int64_t n, onx_diag *diag) {
    unsigned bits = onx_dtype_bits((onx_dtype)to->dtype);
    if (n <= 0) return ONX_OK;
    for (int64_t i = 0; !bits && i < n; i++)
        ONX_TRY(onx_object_set_string(to->object, at + i, from->object->strings[first + i], diag));
    if (!bits) return ONX_OK;
    uint64_t used = (uint64_t)to->count * bits % 8;
    onx_dtype_copy_bits(from->data, (uint64_t)first * bits, to->data, (uint64_t)at * bits,
                        (uint64_t)n * bits);
    if (used && at + n == to->count)
        ((uint8_t *)to->data)[to->bytes - 1] &= (uint8_t)((1u << used) - 1);
    return ONX_OK;
}
