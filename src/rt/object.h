/* object.h: values that are not dense tensors in planned memory: strings, sequences, maps,
 * optionals. Reference-counted; whoever wants to change one makes sure that it is the only one who
 * holds it, or copies it first.
 *
 *     tensor      dense elements in memory of its own, or strings
 *     sequence    items
 *     map         items[0]: the keys, a tensor; items[1]: the values, a tensor too where all are
 *                 scalars of one type, else a sequence
 *     optional    items[0], or nothing
 */
#ifndef ONX_OBJECT_H
#define ONX_OBJECT_H

#include "rt/kernel.h"

#include <stdatomic.h>

struct onx_object {
    atomic_size_t refs;
    onx_context *ctx;
    uint8_t kind;  /* onx_type_kind */
    uint8_t dtype; /* of a tensor; of a map: of its keys */
    uint8_t rank;
    int64_t dims[ONX_RANK_MAX];
    int64_t count; /* elements of a tensor, items of the others */
    size_t bytes;
    void *data;         /* of a dense tensor: `bytes` of it, aligned to ONX_ALIGN */
    onx_str *strings;   /* of a string tensor: `count`, each with memory of its own */
    onx_object **items; /* `count` */
    size_t cap;         /* room for items */
    onx_object *dead;   /* while it is freed: the next one to free */
};

/* New, with one reference. Tensors are uninitialised, strings empty, sequences without items. */
onx_status onx_object_tensor(onx_context *ctx, onx_dtype dtype, size_t rank, const int64_t *dims,
                             onx_object **out, onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_object_list(onx_context *ctx, onx_type_kind kind, size_t room, onx_object **out,
                           onx_diag *diag) ONX_MUST_CHECK;
/* A map of keys, and as many values; both references are taken over, also on failure. */
onx_status onx_object_map(onx_object *keys, onx_object *values, onx_object **out, onx_diag *diag)
    ONX_MUST_CHECK;
/* Add an item at `at` (at most count); the reference is taken over, also on failure. */
onx_status onx_object_insert(onx_object *list, int64_t at, onx_object *item, onx_diag *diag)
    ONX_MUST_CHECK;
void onx_object_erase(onx_object *list, int64_t at);
/* Replace a string by a copy of `text`. */
onx_status onx_object_set_string(onx_object *tensor, int64_t at, onx_str text, onx_diag *diag)
    ONX_MUST_CHECK;
onx_object *onx_object_retain(onx_object *object);
void onx_object_release(onx_object *object); /* NULL is fine */
/* An object that nobody else holds, with the same items: the object itself when it is, else a
 * copy of it (its items are shared); the reference to `object` is taken over, also on failure. */
onx_status onx_object_unshare(onx_object *object, onx_object **out, onx_diag *diag) ONX_MUST_CHECK;

/* The value of an operand as an object (one more reference where it has one, else a copy of its
 * elements), and an operand that shows an object (borrowed): `object`, and `data` if it is
 * dense. */
onx_status onx_object_of(onx_context *ctx, const onx_operand *operand, onx_object **out,
                         onx_diag *diag) ONX_MUST_CHECK;
void onx_operand_show(onx_operand *operand, onx_object *object);
/* Is it something that only an object can be? A dense tensor may be held by an object, too: then
 * its `data` is as good as any. */
static inline bool onx_operand_is_object(const onx_operand *operand) {
    return operand->kind != ONX_TYPE_TENSOR || operand->dtype == ONX_DTYPE_STRING;
}
/* Copy `n` elements between tensors of one type, strings and packed ones too. Bits that are left
 * over behind the last element of all become 0. */
onx_status onx_operand_copy(const onx_operand *to, int64_t at, const onx_operand *from,
                            int64_t first, int64_t n, onx_diag *diag) ONX_MUST_CHECK;

#endif
