/* pickle.h: pickles, read as data: a tree of values, and nothing is ever executed.
 *
 *     onx_pickle pickle;
 *     ONX_TRY(onx_pickle_read(archive, ONX_LIT("data.pkl"), &pickle, diag));
 *     const onx_pk *weight = onx_pk_get(onx_pk_get(pickle.root, ONX_LIT("fc")), ONX_LIT("weight"));
 *     if (weight && weight->kind == ONX_PK_TENSOR) … weight->tensor …
 *     onx_pickle_fini(&pickle);
 *
 * What the pickle shares is shared here: the same object is the same pointer. There are no cycles:
 * a value that has been put into another can no longer change, or the pickle is refused. A value is
 * at most ONX_PK_DEPTH levels deep; and unfolded, shared parts counted each time they occur, it
 * has at most ONX_PK_NODES nodes. So a plain recursive walk is safe and ends soon.
 *
 * Functions and classes that are known are applied (tensors, typed lists, OrderedDict, devices …);
 * all others become objects that keep the class, its arguments and its state as they are. */
#ifndef ONX_PICKLE_H
#define ONX_PICKLE_H

#include "export/torch_tensor.h"

#define ONX_PK_SIZE ((size_t)64 << 20) /* of a pickle */
#define ONX_PK_DEPTH 128
#define ONX_PK_NODES ((size_t)8 << 20)

typedef enum onx_pk_kind {
    ONX_PK_NONE,
    ONX_PK_BOOL,    /* i: 0 or 1 */
    ONX_PK_INT,     /* i */
    ONX_PK_FLOAT,   /* f */
    ONX_PK_COMPLEX, /* complex */
    ONX_PK_STR,     /* s: UTF-8, followed by a NUL */
    ONX_PK_BYTES,   /* s */
    ONX_PK_LIST,    /* items; type */
    ONX_PK_TUPLE,   /* items */
    ONX_PK_DICT,    /* items: key, value, key, value …, in order; type */
    ONX_PK_OBJECT,  /* type: its class; object.args, object.state */
    ONX_PK_TENSOR,  /* tensor */
    ONX_PK_STORAGE, /* storage.at, .dtype: of its class, ONX_TORCH_NONE: untyped */
    ONX_PK_DEVICE,  /* s: "cpu", "cuda:0" */
    ONX_PK_GLOBAL,  /* s: "torch.float32", "torch.per_tensor_affine", a class or function */
} onx_pk_kind;

typedef struct onx_pk onx_pk;
struct onx_pk {
    onx_pk_kind kind;
    uint8_t depth;  /* levels below it, itself included */
    bool sealed;    /* it is part of another value */
    uint32_t nodes; /* unfolded */
    /* Of an object: the qualified name, "__torch__.torch.nn.modules.linear.Linear". Of a list or
     * dict: the type that TorchScript noted, "List[int]"; empty: none. */
    onx_str type;
    union {
        int64_t i;
        double f;
        struct {
            double re, im;
        } complex;
        onx_str s;
        struct {
            const onx_pk **v;
            size_t n, cap;       /* of a dict, n counts keys and values */
            const onx_map *keys; /* of a dict: (dict, string key) to the value */
        } items;
        struct {
            const onx_pk *args;  /* of a class instance (): NULL. An enum's value; a tuple, what an
                                    unknown function was called with */
            const onx_pk *state; /* a dict of attributes, or what __getstate__ gave; NULL: none */
        } object;
        const onx_torch_tensor *tensor;
        struct {
            onx_torch_storage *at;
            onx_torch_dtype dtype;
        } storage;
    };
};

typedef struct onx_pickle {
    onx_arena arena; /* everything but the storages, which are the archive's */
    onx_map *keys;   /* of all dicts */
    const onx_pk *root;
    size_t tensors; /* how many were made */
} onx_pickle;

/* The pickle of a record "x.pkl", whose tensors lie in records "x/0", "x/1", … The archive must
 * stay as long as tensors are used. */
onx_status onx_pickle_read(onx_archive *archive, onx_str record, onx_pickle *out, onx_diag *diag)
    ONX_MUST_CHECK;
/* The pickle at the start of `bytes`, of which `used` are its own; tensors of `archive` (NULL: no
 * storages, their bytes are 0) lie in records that begin with `prefix`. */
onx_status onx_pickle_read_bytes(onx_context *ctx, onx_str bytes, onx_archive *archive,
                                 onx_str prefix, onx_pickle *out, size_t *used, onx_diag *diag)
    ONX_MUST_CHECK;
void onx_pickle_fini(onx_pickle *pickle);

/* The value of a string key in a dict, or of an attribute in an object whose state is a dict. NULL:
 * none, or `value` is NULL or neither of them. Takes constant time. */
const onx_pk *onx_pk_get(const onx_pk *value, onx_str key);
/* "a list", "a tensor", …, for messages. */
const char *onx_pk_kind_name(onx_pk_kind kind);

#endif
