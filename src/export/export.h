/* export.h: PyTorch programs to ONNX: what a program's values are, and how operators become nodes.
 *
 *     archive ─▶ reader (interp*.c: TorchScript, pt2*.c: torch.export) ─▶ calls of ATen operators
 *             ─▶ onx_aten_call ─▶ a row of the table (aten/) ─▶ nodes, each inferred when made
 *
 * A reader walks the program once, in the order in which PyTorch would run it, over values of which
 * as much is known as can be before a run (onx_xv). Numbers, lists and objects are computed on the
 * way; tensors become nodes. So branches on what is known, loops of known length, calls of modules
 * and tuples leave nothing behind.
 *
 * Failures stick: the first is kept in `x` (onx_x_fail), what makes nodes returns NULL from then on
 * and accepts NULL, and whoever called looks at onx_x_ok() once in the end. Everything that is made
 * lives in the arena of `x`, or in the model.
 */
#ifndef ONX_EXPORT_H
#define ONX_EXPORT_H

#include "infer/infer.h"

typedef struct onx_export onx_export;
typedef struct onx_xt onx_xt;
typedef struct onx_xv onx_xv;
typedef struct onx_xlayout onx_xlayout; /* strides.h */

/* ─ Values ───────────────────────────────────────────────────────────────────────────────────── */

typedef enum onx_xkind {
    ONX_X_NONE,
    ONX_X_TENSOR,
    ONX_X_INT,
    ONX_X_FLOAT,
    ONX_X_BOOL,
    ONX_X_COMPLEX,
    ONX_X_STR,
    ONX_X_LIST,   /* of any values; can change */
    ONX_X_TUPLE,  /* a list that does not change */
    ONX_X_DICT,   /* ordered */
    ONX_X_OBJECT, /* of a class: a module, a named tuple … */
    ONX_X_DEVICE,
    ONX_X_OTHER,   /* what only one reader knows: functions, classes … */
    ONX_X_UNKNOWN, /* comes from an operator that is not supported: nothing is known */
} onx_xkind;

typedef struct onx_xlist {
    onx_xv *v;
    size_t n, cap;
} onx_xlist;

typedef struct onx_xdict {
    onx_xlist keys, values; /* of equal length */
} onx_xdict;

/* A number is one of three: known (`sym` a plain integer, or `f`), symbolic (`sym` has names in
 * it; of floats it may be a ratio), or computed by the model (`value`, a tensor of rank 0, of any
 * type). Then the others are NULL. A bool is an integer 0 or 1. */
struct onx_xv {
    onx_xkind kind;
    union {
        onx_xt *tensor;
        struct {
            const onx_sym *sym;
            onx_value *value;
            double f;  /* of a float with neither of these; the real part of a complex */
            double im; /* of a complex */
        };
        onx_str str;
        onx_xlist *list; /* also of tuples */
        onx_xdict *dict;
        struct {
            void *object;
            const void *type;
        };
    };
};

/* Storages are what PyTorch's tensors share: a tensor is a storage seen through views. Writing to a
 * tensor gives its storage another value; tensors that are views of it are computed again from that
 * when they are next asked for. */
typedef struct onx_xstorage {
    onx_value *value;          /* of the whole storage now */
    uint32_t version;          /* how often it was written to */
    const char *buffer;        /* the path of the parameter or buffer that it is; NULL: neither */
    onx_str input;             /* the name of the input that it is; no data: none */
    const onx_xlayout *layout; /* of `value`; NULL: its elements lie in order */
    bool unsure; /* a reshape made it, which is a view in PyTorch if strides allow that */
} onx_xstorage;

typedef struct onx_xview onx_xview; /* one step: a call of a view operator on what is before it */

/* How integers stand for numbers: (integer - zero) * scale, along `axis`, or all alike (-1).
 * Integers of numbers lie in lo … hi. */
typedef struct onx_xquant {
    onx_value *scale, *zero; /* scale: float32; zero: of any type, NULL: 0 */
    int64_t axis, lo, hi;
    onx_dtype dtype; /* of the integers */
} onx_xquant;

struct onx_xt {
    onx_xstorage *storage;
    const onx_xview *view; /* the last step; NULL: all of the storage */
    onx_value *value;      /* as of `version` of the storage; ask onx_xt_value */
    uint32_t version;
    onx_dtype dtype; /* PyTorch's: complex types too, whose values are real with a last axis of 2 */
    bool wrapped;    /* a number in the shape of a tensor: in promotion it counts as a number */
    const onx_xlayout *layout; /* its strides; NULL: contiguous, from the beginning */
    bool fresh;                /* set by the lowering of a view operator that gave a copy instead */
    bool rooted; /* set by one that gave a view of the whole storage, whatever was given to it */
    const onx_xquant *quant; /* of a quantized tensor, whose value are its integers; else NULL */
    onx_value *inside; /* of a nested tensor, which is padded here: bool[batch, time]; else NULL */
};

/* Constructors. */
onx_xv onx_xv_int(onx_export *x, int64_t value);
onx_xv onx_xv_sym(onx_xkind kind, const onx_sym *sym); /* INT, BOOL or FLOAT */
onx_xv onx_xv_float(double value);
onx_xv onx_xv_bool(onx_export *x, bool value);
onx_xv onx_xv_str(onx_str str);
onx_xv onx_xv_run(onx_xkind kind, onx_value *value); /* a number that the model computes */
onx_xv onx_xv_list(onx_export *x, onx_xkind kind, size_t n, const onx_xv *v); /* LIST, TUPLE */
onx_xv onx_xv_dict(onx_export *x);
bool onx_xlist_add(onx_export *x, onx_xlist *list, onx_xv v); /* no memory: false, and x failed */
/* A new tensor of its own storage; NULL value: NONE. */
onx_xv onx_xv_tensor(onx_export *x, onx_value *value);

/* Known numbers: false where they are not known (bools are ints; whole floats are not). */
bool onx_xv_known_int(const onx_xv *v, int64_t *out);
bool onx_xv_known_float(const onx_export *x, const onx_xv *v, double *out); /* ints too */
bool onx_xv_known_bool(const onx_xv *v, bool *out);
static inline bool onx_xv_is(const onx_xv *v, onx_xkind kind) {
    return v->kind == kind;
}
static inline bool onx_xv_is_number(const onx_xv *v) {
    return v->kind == ONX_X_INT || v->kind == ONX_X_FLOAT || v->kind == ONX_X_BOOL;
}
static inline bool onx_xv_is_list(const onx_xv *v) {
    return v->kind == ONX_X_LIST || v->kind == ONX_X_TUPLE;
}
/* The elements of a one-dimensional (or 0-d) integer tensor where inference knows them. */
bool onx_xv_elems(onx_export *x, const onx_xv *v, size_t *n, const onx_sym *const **elems);

/* ─ The export ───────────────────────────────────────────────────────────────────────────────── */

typedef struct onx_xscope onx_xscope;

struct onx_export {
    onx_context *ctx;
    onx_arena arena;
    onx_model *model;
    onx_graph *graph; /* where nodes go now: the main graph, or one inside it */
    onx_facts *facts;
    onx_syms *syms;
    struct onx_cpu *cpu;  /* for small constants */
    uint32_t clock;       /* versions of storages */
    int64_t opset;        /* that is asked for; the model is built at max(opset, ONX_X_BASE) */
    bool no_params;       /* weights are inputs */
    bool functions;       /* modules become functions: their classes are kept */
    bool training;        /* keep dropout and batch statistics */
    const char *method;   /* of a TorchScript module; NULL: forward */
    onx_model *lowerings; /* operators as functions, of the model's opset; NULL: none */
    onx_status (*lower)(void *user, onx_export_call *call, onx_diag *diag); /* NULL: none */
    void *user;                                                             /* of `lower` */
    onx_status status; /* of the first failure */
    onx_diag diag;
    onx_str path;      /* of the module that runs now, "layer1.0.conv1"; "" at the top */
    onx_str where;     /* the line of source, for messages: "model.py:12"; "" where not known */
    const char *op;    /* the ATen operator that is being lowered, for names and messages */
    bool survey;       /* an operator was not supported: nothing is lowered any more */
    size_t parts;      /* tensors of the list that is asked for, where the program says how many */
    onx_xscope *scope; /* innermost; NULL: the main graph */
    onx_map constants; /* small initializers by content, under no owner */
    onx_map names;     /* how often a name was used */
    onx_map params;    /* values that are weights, as owners: they are not computed with */
    onx_map weights; /* by what they are made from: aliases of one parameter are one initializer */
    onx_map owners;  /* name of a size (onx_sym) to the onx_xowner that has it */
    onx_map made;    /* (graph, sym) to the value that holds it */
    onx_map modules; /* path of a module to the onx_str that is its class */
    onx_map packed;  /* packed sequences to what they were with their padding (aten/packed.c) */
    onx_map rows;    /* name of an operator to its parsed rows */
    struct onx_xnote *notes, *missing; /* told.c: assumptions; operators without a row */
    struct onx_xnote *lowered, *fixed; /* operators that were lowered; inputs of fixed sizes */
    void *reader;                      /* of interp or pt2 */
};

enum { ONX_X_BASE = 18, ONX_X_OUTS = 10 };

/* The first failure is kept; always returns NULL. */
void *onx_x_fail(onx_export *x, onx_status status, const char *fmt, ...) ONX_PRINTF(3, 4);
/* Say what to do about the failure that was just kept. */
void onx_x_hint(onx_export *x, const char *fmt, ...) ONX_PRINTF(2, 3);
void *onx_x_nomem(onx_export *x);
static inline bool onx_x_ok(const onx_export *x) {
    return x->status == ONX_OK;
}
/* Something was assumed that the user must hear of: one sentence (told.c). Repeats count. */
void onx_x_note(onx_export *x, const char *fmt, ...) ONX_PRINTF(2, 3);
void onx_x_fix(onx_export *x,
               const char *text);              /* "x is float[2,3]": of what is reported as fixed */
void *onx_x_alloc(onx_export *x, size_t size); /* zeroed; NULL: failed */
void *onx_x_array(onx_export *x, size_t n, size_t elem_size);

/* ─ From beginning to end (export.c) ─────────────────────────────────────────────────────────── */

struct onx_torch_tensor;
typedef struct onx_xweight { /* of a storage */
    const struct onx_xweight *next;
    const struct onx_torch_tensor *tensor;
    onx_value *value;
} onx_xweight;

/* On failure, too, it is ended with onx_export_end. */
onx_status onx_export_begin(onx_export *x, onx_context *ctx, int64_t opset, onx_diag *diag)
    ONX_MUST_CHECK;
void onx_export_end(onx_export *x);
/* An input of the model. Dimensions are sizes: numbers, names, expressions over names. */
onx_xv onx_x_input(onx_export *x, const char *name, onx_dtype dtype, size_t rank,
                   const onx_sym *const *dims);
/* A parameter, buffer or constant of the program as an initializer of that name; the tensor must
 * live as long as the export. What is one tensor there is one initializer. */
onx_xv onx_x_weight(onx_export *x, const char *name, const struct onx_torch_tensor *tensor);
/* The value becomes an output of that name, or one like it. */
void onx_x_output(onx_export *x, const char *name, onx_value *value);

/* ─ Making nodes (emit.c) ────────────────────────────────────────────────────────────────────── */

typedef struct onx_xattr {
    const char *name; /* NULL: the end of the list */
    onx_attr_type type;
    int64_t i;
    float f;
    const char *s;
    size_t n;
    const int64_t *ints;
    const float *floats;
    const char *const *strings;
    const onx_tensor *t;
} onx_xattr;
#define ONX_AI(name_, v) ((onx_xattr){.name = name_, .type = ONX_ATTR_INT, .i = (v)})
#define ONX_AF(name_, v) ((onx_xattr){.name = name_, .type = ONX_ATTR_FLOAT, .f = (float)(v)})
#define ONX_AS(name_, v) ((onx_xattr){.name = name_, .type = ONX_ATTR_STRING, .s = (v)})
#define ONX_AL(name_, n_, v)                                                                       \
    ((onx_xattr){.name = name_, .type = ONX_ATTR_INTS, .n = (n_), .ints = (v)})
#define ONX_ASL(name_, n_, v)                                                                      \
    ((onx_xattr){.name = name_, .type = ONX_ATTR_STRINGS, .n = (n_), .strings = (v)})
#define ONX_ATTRS(...) ((const onx_xattr[]){__VA_ARGS__, {.name = NULL}})

/* A node in the current graph, its outputs inferred: false, and x failed, when the node cannot be
 * right. Inputs may be NULL: missing. A node of small constants is computed at once. */
bool onx_emit_node(onx_export *x, const char *op, const onx_xattr *attrs, size_t n_in,
                   onx_value *const *in, size_t n_out, onx_value **out);
onx_value *onx_emit_array(onx_export *x, const char *op, const onx_xattr *attrs, size_t n_in,
                          onx_value *const *in);
/* onx_emit(x, "Add", a, b); onx_emit_with(x, "Softmax", ONX_ATTRS(ONX_AI("axis", -1)), a) */
#define onx_emit_with(x, op, attrs, ...)                                                           \
    onx_emit_array(x, op, attrs, sizeof((onx_value *[]){__VA_ARGS__}) / sizeof(onx_value *),       \
                   (onx_value *[]){__VA_ARGS__})
#define onx_emit(x, op, ...) onx_emit_with(x, op, NULL, __VA_ARGS__)

/* A node in two steps, for those with graphs inside: first without outputs; then, when its graphs
 * are filled, with n_out of them, and inferred. It is never computed at once. */
onx_node *onx_emit_open(onx_export *x, const char *op, size_t n_in, onx_value *const *in);
bool onx_emit_close(onx_export *x, onx_node *node, size_t n_out, onx_value **out);

/* Nodes that were added to the current graph by other means, from `first` to its end, are inferred
 * as if they had been emitted. */
bool onx_emit_added(onx_export *x, onx_node *first);

/* An initializer that was just added is known from now on; NULL: memory ran out. */
onx_value *onx_x_added(onx_export *x, onx_value *value);
/* Initializers of the main graph; equal ones are made once. */
onx_value *onx_x_ints(onx_export *x, size_t n, const int64_t *v);  /* int64[n] */
onx_value *onx_x_int(onx_export *x, int64_t v);                    /* int64, rank 0 */
onx_value *onx_x_number(onx_export *x, onx_dtype dtype, double v); /* rank 0, of that type */
onx_value *onx_x_constant(onx_export *x, onx_dtype dtype, size_t rank, const int64_t *dims,
                          const void *data, size_t bytes);
/* Cast; the value itself where it has that type already. */
onx_value *onx_x_cast(onx_export *x, onx_value *value, onx_dtype dtype);

/* What is known about a value; never NULL. */
const onx_fact *onx_x_fact(const onx_export *x, const onx_value *value);
onx_dtype onx_x_dtype(const onx_export *x, const onx_value *value);
/* The rank, which the export always knows: SIZE_MAX, and x failed, where it does not. */
size_t onx_x_rank(onx_export *x, const onx_value *value);
const onx_sym *onx_x_dim(onx_export *x, const onx_value *value, size_t axis);
bool onx_x_known_dim(onx_export *x, const onx_value *value, size_t axis, int64_t *out);
/* `dim` counted from 0; false, and x failed, when it is out of range. Rank 0 counts as 1. */
bool onx_x_axis(onx_export *x, int64_t dim, size_t rank, size_t *out);

/* Common shapes of nodes. */
onx_value *onx_x_unsqueeze(onx_export *x, onx_value *value, int64_t axis);
onx_value *onx_x_squeeze(onx_export *x, onx_value *value, int64_t axis);
onx_value *onx_x_transpose(onx_export *x, onx_value *value, size_t n, const int64_t *perm);
onx_value *onx_x_swap(onx_export *x, onx_value *value, int64_t a, int64_t b); /* two axes */
onx_value *onx_x_slice(onx_export *x, onx_value *value, int64_t axis, onx_xv start, onx_xv end,
                       int64_t step); /* numbers as Slice has them; symbolic ones are made */
onx_value *onx_x_concat(onx_export *x, size_t n, onx_value *const *values, int64_t axis);
onx_value *onx_x_reduce(onx_export *x, const char *op, onx_value *value, size_t n,
                        const int64_t *axes, bool keep); /* ReduceSum …; n 0: over all */

/* ─ Sizes (sizes.c) ──────────────────────────────────────────────────────────────────────────── */

/* Dimension `axis` of a value is `sym`: where that is a name, it can be had from there. */
bool onx_x_own(onx_export *x, const onx_sym *sym, onx_value *value, size_t axis);
/* A number as a tensor of rank 0 and that type (NONE: int64, float or bool, as the number is). */
onx_value *onx_x_scalar(onx_export *x, const onx_xv *number, onx_dtype dtype);
/* A size as a tensor int64 of rank 0 made from the shapes of values that have it. */
onx_value *onx_x_size(onx_export *x, const onx_sym *sym);
bool onx_x_has_size(onx_export *x, const onx_sym *sym); /* can it be made in the current graph? */
/* Numbers as int64[n]: for Expand, Slice, ConstantOfShape … */
onx_value *onx_x_shape(onx_export *x, size_t n, const onx_xv *numbers);
onx_value *onx_x_dims(onx_export *x, size_t n, const onx_sym *const *dims); /* the same of sizes */
/* The shape of a value, as int64[rank]. */
onx_value *onx_x_shape_of(onx_export *x, onx_value *value);
/* Reshape with 0 and -1 where they will do; one of the numbers may be -1. Nothing where the shape
 * is that already. */
onx_value *onx_x_reshape(onx_export *x, onx_value *value, size_t n, const onx_xv *numbers);
onx_value *onx_x_reshape_to(onx_export *x, onx_value *value, size_t n, const onx_sym *const *dims);
onx_value *onx_x_reshape_like(onx_export *x, onx_value *value, onx_value *like); /* to its shape */
onx_value *onx_x_expand(onx_export *x, onx_value *value, size_t n, const onx_sym *const *dims);
/* Arithmetic on numbers that may be symbolic or the model's: "add sub mul floordiv mod truediv min
 * max eq ne lt le gt ge and or", as Python has it. `op` is one of these words. */
onx_xv onx_x_arith(onx_export *x, const char *op, onx_xv a, onx_xv b);
onx_xv onx_x_negate(onx_export *x, onx_xv number);
onx_xv onx_x_to_int(onx_export *x, onx_xv number); /* int() */
onx_xv onx_x_to_float(onx_export *x, onx_xv number);
/* The element of a 0-d (or one-element) tensor as a number: int(t), t.item(). */
onx_xv onx_x_item(onx_export *x, onx_xt *t);
/* size(t, axis) as a number. */
onx_xv onx_x_size_of(onx_export *x, onx_value *value, size_t axis);

/* ─ Tensors, storages and views (alias.c) ────────────────────────────────────────────────────── */

/* The value of a tensor now, in the current graph. */
onx_value *onx_xt_value(onx_export *x, onx_xt *t);
onx_value *onx_xv_value(onx_export *x, const onx_xv *v); /* of a TENSOR; a number as a tensor */
/* The tensor is another value from now on, and so is whatever shares its storage. Its type stays:
 * the value is cast. */
void onx_xt_write(onx_export *x, onx_xt *t, onx_value *value);
/* A branch or a loop body: nodes go to `graph`; what was written in it is known in the end, and
 * taken back. */
typedef struct onx_xwrite {
    onx_xstorage *storage;
    onx_value *before, *after; /* after: a value of the graph inside */
    uint32_t version;          /* before */
} onx_xwrite;
struct onx_xscope {
    onx_xscope *outer;
    onx_graph *graph, *around;
    onx_xwrite *writes;
    size_t n, cap;
};
void onx_xscope_begin(onx_export *x, onx_xscope *scope, onx_graph *graph);
void onx_xscope_end(onx_export *x, onx_xscope *scope);

/* ─ Types (promote.c) ────────────────────────────────────────────────────────────────────────── */

/* The type that PyTorch computes in, of these tensors and numbers: dimensioned tensors before 0-d
 * ones before numbers, by category. */
onx_dtype onx_x_promote(onx_export *x, size_t n, const onx_xv *v);
onx_dtype onx_x_promote2(onx_dtype a, onx_dtype b); /* of two tensors of dimensions */
bool onx_dtype_is_float(onx_dtype dtype);
bool onx_dtype_is_complex(onx_dtype dtype);
bool onx_dtype_is_int(onx_dtype dtype);  /* not bool */
onx_dtype onx_dtype_of_c10(int64_t c10); /* dtype=6 in TorchScript; NONE: there is none */
/* A dtype argument: an int of c10's numbering (readers convert theirs); NONE: NONE. */
onx_dtype onx_xv_dtype(onx_export *x, const onx_xv *v);
/* A tensor or number as a value of that type. */
onx_value *onx_x_as(onx_export *x, const onx_xv *v, onx_dtype dtype);
/* Both as values of the promoted type. */
bool onx_x_pair(onx_export *x, const onx_xv *a, const onx_xv *b, onx_value **va, onx_value **vb);
/* Of a float function given integers: float32. */
onx_value *onx_x_floating(onx_export *x, const onx_xv *v);

/* ─ Operators (aten.c) ───────────────────────────────────────────────────────────────────────── */

/* Lower one call: `a` are the arguments in the order of the schema, defaults filled in; `out` gets
 * the results. */
typedef void onx_lower_fn(onx_export *x, const onx_xv *a, onx_xv *out);
/* Of a view operator: `base` as it is when what the call `a` shows of it is `part`. `index`: which
 * of the tensors that the call gives, where it gives a list. */
typedef onx_value *onx_unview_fn(onx_export *x, const onx_xv *a, size_t index, onx_value *base,
                                 onx_value *part);

/* A row. The schema is PyTorch's, but one row may stand for several overloads:
 *
 *     "add(Any self, Any other, *, Scalar alpha=1)"          Any: a tensor or a number
 *     "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"
 *
 * Types: Tensor int float bool str Scalar Any ScalarType Layout Device MemoryFormat Generator
 * number, with ? for None, [] or [2] for a list (a number stands for a list of that length).
 * Without `->` it returns one value. `ns::` in front of the name for other namespaces than aten.
 * An operator `op_` without a row is `op`, written back to its first argument. Rows of one name
 * stand together; the first that fits the arguments is taken. */
typedef struct onx_aten {
    const char *schema;
    onx_lower_fn *lower;
    onx_unview_fn *unview; /* of a view; NULL: the result is a new tensor */
} onx_aten;
typedef struct onx_xarg {
    onx_str name; /* no data: positional */
    onx_xv v;
} onx_xarg;
/* Call "add", "torchvision::nms" … with these arguments; `overload` helps where it is known. The
 * results go to out[0 … *n_out). Where there is no such operator it is listed (onx_x_missing), and
 * the results are UNKNOWN, as they are of calls with such arguments; false: x failed. */
bool onx_aten_call(onx_export *x, onx_str name, onx_str overload, size_t n, const onx_xarg *args,
                   onx_xv out[ONX_X_OUTS], size_t *n_out);
/* For lowerings in terms of others: positional arguments, one result. */
onx_xv onx_aten_do(onx_export *x, const char *name, size_t n, const onx_xv *args);
bool onx_aten_has(onx_export *x, onx_str name);
/* Is it one of these operators? Each stands between spaces. */
bool onx_aten_among(const char *names, onx_str name);

#endif
