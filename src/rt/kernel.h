/* kernel.h: what a kernel is, what it is given, and what it may rely on.
 *
 * A kernel is a row: operator, versions, types, and up to four functions, called in this order:
 *
 *     init   once per node: read attributes and constants into `state`; ONX_UNSUPPORTED: "not
 *            mine", the next row is tried
 *     pack   once per weight: constant inputs in the form that `run` likes (shared by sessions)
 *     bind   once per signature of shapes: sizes of inputs to sizes of outputs, scratch, `plan`
 *     run    once per run
 *
 * All get the same onx_call; a comment on each member says who may use it.
 *
 * The operand contract
 *   1. Operands are contiguous in their layout. Pointers are aligned to ONX_ALIGN, but for inputs,
 *      outputs and constants that are the caller's or lie in a file: those may be unaligned.
 *   2. The inputs that the signature requires are there, and so is output 0 if it is required. An
 *      absent input or output is a NULL pointer in `in` or `out`, or beyond n_in or n_out; the last
 *      input is never absent.
 *   3. Outputs never overlap inputs, but where the row says so: `overwrite` bit i: output 0 may be
 *      the memory of input i (when their sizes in bytes are equal). Inputs of a run, constants,
 *      captures and values with another use to come are never handed over for that.
 *   4. `run` writes every byte of every output.
 *   5. Inputs in the mask `host` are read by the host, at bind where they are known: `bind` may
 *      look at their data (in[i]->data is set). Where they are not known ahead of the run, binding
 *      of the step is put off until they are.
 *   6. A row with ONX_KERNEL_VIEW has output 0 with the same bytes as input 0 in another shape, and
 *      no `run`: the engine shares or copies them.
 *   7. A row with ONX_KERNEL_SHAPE reads only the shapes of its inputs.
 *   8. A row with ONX_KERNEL_LATE cannot tell its outputs' shapes from the inputs' shapes: it may
 *      have no `bind`, and makes its outputs in `run` with onx_call_output or onx_call_object.
 *   9. Work is cut by shape, never by the number of threads, so that results do not depend on it.
 *  10. Layouts are settled before binding: `init` sees those of the inputs and sets out[i]->layout
 *      where it is not plain. Rows of ai.onnx get plain operands only, but where they have
 *      ONX_KERNEL_LAYOUTS.
 *  11. What `init` knows of types and sizes is checked against the operands of every run before
 *      `run`: rows may rely on it.
 *  12. No allocation in `run`, except through the functions below, and in LATE rows.
 */
#ifndef ONX_KERNEL_H
#define ONX_KERNEL_H

#include "base/mem.h"
#include "ops/op.h"

enum { ONX_ALIGN = 64, ONX_RANK_UNKNOWN = 255 };
static inline size_t onx_align_up(size_t bytes) {
    return (bytes + ONX_ALIGN - 1) & ~(size_t)(ONX_ALIGN - 1);
}

typedef struct onx_kernel onx_kernel;
typedef struct onx_object onx_object; /* rt/object.h */
typedef struct onx_run onx_run;

/* How the elements of a tensor lie in memory. Cb: [N][C/b][H][W][b], C/b rounded up; the sizes in
 * `dims` stay N, C, H, W. Lanes past the last channel are memory of the tensor: they are written,
 * with anything, and no other lane may depend on them. */
typedef enum onx_layout {
    ONX_LAYOUT_PLAIN = 0,
    ONX_LAYOUT_C4 = 4,
    ONX_LAYOUT_C8 = 8,
    ONX_LAYOUT_C16 = 16,
} onx_layout;

typedef struct onx_operand {
    void *data;         /* in run never NULL; before: NULL when it is empty or not known */
    onx_object *object; /* of strings, sequences, maps, optionals; also what holds `data` */
    int64_t count;      /* product of dims */
    size_t bytes;       /* in its layout: with lanes past the last channel */
    uint8_t kind;       /* onx_type_kind; a tensor but for objects */
    uint8_t dtype;      /* onx_dtype */
    uint8_t layout;     /* onx_layout */
    uint8_t rank;       /* ONX_RANK_UNKNOWN: only in init */
    bool constant;      /* has this value always: `data` may be read in init, pack and bind */
    bool handed;        /* an input of a subgraph that who runs it has no more use for */
    int64_t dims[ONX_RANK_MAX]; /* -1: not known; only in init */
} onx_operand;

struct onx_call {
    const onx_kernel *kernel;
    const onx_op *op;
    const onx_node *node; /* for attributes, in init */
    onx_context *ctx;
    onx_diag *diag;
    size_t n_in, n_out;
    onx_operand **in, **out;
    void *state;          /* init: made with onx_call_state; then read only */
    uint64_t pack_format; /* init: tells apart forms that this kernel packs the same tensor into */
    bool fetches;         /* run: the second-level cache has room for what is needed later, */
    const void *ahead;    /* as weights that a step soon to come has packed; NULL: none */
    size_t ahead_bytes;
    const void *packed; /* run: what `pack` made; NULL: inputs are not constant */
    bool pack_late;     /* bind may set: what pack_bytes left as it was is wanted packed now */
    void *plan;         /* bind finds zeros and writes, run reads: `plan_bytes` of it */
    size_t plan_bytes;  /* init may set it, if the row's number is not enough */
    bool back; /* run may set: tasks go from the last to the first: what the loop before used last
                  is in the cache */
    size_t scratch_bytes;        /* bind sets: memory for this step, shared by its tasks */
    size_t scratch_each;         /* bind sets: memory for each worker */
    void *scratch;               /* run: aligned to ONX_ALIGN; not initialised */
    onx_run *run;                /* run */
    onx_arena *arena;            /* init: what onx_call_state takes memory from */
    const struct onx_step *step; /* the engine's; NULL outside a program */
    struct onx_frame *frame;
    uint8_t phase; /* of rows that a program added: which of its functions runs (custom_row.c) */
};

/* Input `index`; NULL: it is absent. */
static inline onx_operand *onx_call_in(const onx_call *call, size_t index) {
    return index < call->n_in ? call->in[index] : NULL;
}

typedef enum onx_kernel_flags {
    ONX_KERNEL_VIEW = 1,
    ONX_KERNEL_SHAPE = 2,
    ONX_KERNEL_LATE = 4,
    ONX_KERNEL_OBJECTS = 8, /* understands operands that are objects (else it is never given any) */
    ONX_KERNEL_LAYOUTS =
        16,               /* element by element: any layout, and output 0 has that of the inputs */
    ONX_KERNEL_FAST = 32, /* less precise than its types: only where numerics are FAST */
} onx_kernel_flags;

#define ONX_T(dtype) (1u << ONX_DTYPE_##dtype)
#define ONX_T_FLOATS (ONX_T(F32) | ONX_T(F64) | ONX_T(F16) | ONX_T(BF16))
#define ONX_T_SIGNED (ONX_T(I8) | ONX_T(I16) | ONX_T(I32) | ONX_T(I64))
#define ONX_T_UNSIGNED (ONX_T(U8) | ONX_T(U16) | ONX_T(U32) | ONX_T(U64))
#define ONX_T_INTS (ONX_T_SIGNED | ONX_T_UNSIGNED)
#define ONX_T_NUMBERS (ONX_T_FLOATS | ONX_T_INTS)
/* Elements of whole bytes, each at an address of its own. */
#define ONX_T_WHOLE                                                                                \
    (~(ONX_T(STRING) | ONX_T(U4) | ONX_T(I4) | ONX_T(F4E2M1) | ONX_T(U2) | ONX_T(I2) |             \
       ONX_T(F6E2M3) | ONX_T(F6E3M2)))
#define ONX_T_INDEX (ONX_T(I32) | ONX_T(I64))

struct onx_kernel {
    const char *op;      /* NULL ends a table */
    int16_t first, last; /* closed range of since-versions; last 0: no end */
    uint32_t types[6];   /* ONX_T masks of inputs 0…5 (0: any); inputs beyond: the last one */
    const char *name;    /* "softmax_f32": in profiles; the tier is added */
    uint32_t flags;      /* onx_kernel_flags */
    uint32_t overwrite;  /* bit i: output 0 may be written over input i */
    uint32_t host;       /* bit i: input i is read by the host, at bind */
    uint32_t packs;      /* bit i: input i is packed when constant */
    uint32_t plan_bytes;
    const char *domain; /* NULL: ai.onnx */
    onx_status (*init)(onx_call *call);
    /* Bytes of the packed form; 0: nothing to pack (then `packed` stays NULL). */
    size_t (*pack_bytes)(const onx_call *call);
    onx_status (*pack)(onx_call *call, void *out);
    onx_status (*bind)(onx_call *call);
    onx_status (*run)(onx_call *call);
    /* Of rows that a program added: the operator they are for, which counts instead of name and
     * versions; their definition; and what a state that `init` made ends with, or NULL. */
    const onx_op *only;
    const void *def;
    void (*fini)(const onx_kernel *kernel, void *state);
};

/* The rows of a family in one tier; ends with a row without an operator. */
typedef const onx_kernel onx_kernel_rows[];

/* ─ For kernels ──────────────────────────────────────────────────────────────────────────────── */

/* init: zeroed memory that lives as long as the program; NULL: no memory. Sets call->state if that
 * is NULL. */
void *onx_call_state(onx_call *call, size_t bytes) ONX_MUST_CHECK;
/* init: attributes, with the signature's defaults. */
int64_t onx_call_int(const onx_call *call, const char *name);
float onx_call_float(const onx_call *call, const char *name);
onx_str onx_call_string(const onx_call *call, const char *name);
/* init: an attribute that is one of "these, words": which, from 0 on. INVALID, naming them. */
onx_status onx_call_choice(const onx_call *call, const char *name, const char *words, int *out)
    ONX_MUST_CHECK;

/* For who calls `run`: before and after it. Empty operands point at something in between, so that
 * rows can compute with pointers as if there were elements. */
void onx_call_point(onx_call *call);
void onx_call_unpoint(onx_call *call);

/* A failure, with its sentence; the engine adds node, types and shapes. */
onx_status onx_call_fail(const onx_call *call, onx_status status, const char *fmt, ...)
    ONX_PRINTF(3, 4);

/* bind: the shape of output `index` (nothing happens when nobody wants it). INVALID when a size is
 * negative or the product overflows. Layout is plain, unless onx_call_layout follows. */
onx_status onx_call_shape(onx_call *call, size_t index, onx_dtype dtype, size_t rank,
                          const int64_t *dims) ONX_MUST_CHECK;
/* The same for an operand; false when a size is negative or the product overflows. */
bool onx_operand_shape(onx_operand *operand, onx_dtype dtype, size_t rank, const int64_t *dims)
    ONX_MUST_CHECK;
/* bind: output `index`, which has its shape, is in this layout; LIMIT when it gets too large. */
onx_status onx_call_layout(onx_call *call, size_t index, unsigned layout) ONX_MUST_CHECK;
/* The same for an operand; false when it gets too large, or has no channels. */
bool onx_operand_layout(onx_operand *operand, unsigned layout) ONX_MUST_CHECK;
/* bind: output 0 has type and shape (and layout) of input 0. */
onx_status onx_bind_same(onx_call *call) ONX_MUST_CHECK;
/* bind: output 0 has the shape that all inputs broadcast to, and this type. */
onx_status onx_bind_broadcast(onx_call *call, onx_dtype dtype) ONX_MUST_CHECK;
/* The elements of an integer tensor (int32 or int64) as int64: `at` must be below count. */
static inline int64_t onx_operand_int(const onx_operand *operand, int64_t at) {
    int64_t wide;
    int32_t narrow;
    const char *data = (const char *)operand->data;
    if (operand->dtype == ONX_DTYPE_I64)
        return memcpy(&wide, data + (size_t)at * sizeof wide, sizeof wide), wide;
    return memcpy(&narrow, data + (size_t)at * sizeof narrow, sizeof narrow), narrow;
}
/* run: where an element is; of packed types, the first. */
static inline void *onx_operand_at(const onx_operand *operand, size_t at) {
    char *data = operand->data;
    return at ? data + at * (onx_dtype_bits((onx_dtype)operand->dtype) / 8) : data;
}
/* run: elements at … at+n-1 (of packed types: 0 … n-1) as doubles, and doubles as such elements,
 * rounded once; 8-bit floats do not saturate. */
void onx_operand_get(const onx_operand *operand, size_t at, size_t n, double *to);
void onx_operand_put(const onx_operand *operand, size_t at, size_t n, const double *from);

/* run and pack: task 0 … count-1, in any order, on any worker; each sees its own scratch_each
 * bytes. Returns the first failure; CANCELLED when the run was cancelled, which is looked at
 * between tasks. Tasks should take 10 µs to 10 ms. A task that fails returns a status and does not
 * call onx_call_fail: the kernel does, after the loop. No loops within tasks. */
typedef onx_status onx_task(void *user, onx_call *call, size_t index, void *scratch);
onx_status onx_call_parallel(onx_call *call, size_t count, onx_task *task, void *user)
    ONX_MUST_CHECK;
/* pack: these bytes of a constant input have been read for the last time: large ones need not be
 * there twice at once. */
void onx_call_spent(const onx_call *call, const void *data, size_t bytes);
/* run: has the run been cancelled, or its deadline passed? For kernels that loop long without
 * tasks. */
onx_status onx_call_check(const onx_call *call) ONX_MUST_CHECK;
/* The same within a task, which then returns ONX_CANCELLED. For tasks that may take long. */
bool onx_call_stopped(const onx_call *call);

/* run, LATE rows: make output `index`. Its data is uninitialised memory of the run. */
onx_status onx_call_output(onx_call *call, size_t index, onx_dtype dtype, size_t rank,
                           const int64_t *dims) ONX_MUST_CHECK;
/* run: output `index` is this object (the reference is taken over, also on failure). */
onx_status onx_call_object(onx_call *call, size_t index, onx_object *object) ONX_MUST_CHECK;
/* run: may the object of input `index` be changed, because nobody but this step needs it? Then it
 * can be an output, too. */
bool onx_call_owns(const onx_call *call, size_t index);
/* run, LATE rows: output `index` is the operand `value` (a result of onx_call_graph, or an input):
 * shared where that is possible, copied where not. */
onx_status onx_call_give(onx_call *call, size_t index, onx_operand *value) ONX_MUST_CHECK;

/* run: the subgraph in attribute `which`-th (in the order of the node's graph attributes). Its
 * inputs are the operands `ins`; on success outs[i] is its i-th output, which stays valid until
 * onx_call_release of it; a result may be given on as input or output. Results and temporaries that
 * are inputs may be changed by the graph: all that can be done with them then is to release
 * them. */
onx_status onx_call_graph(onx_call *call, size_t which, size_t n_in, onx_operand *const *ins,
                          size_t n_out, onx_operand **outs) ONX_MUST_CHECK;
void onx_call_release(onx_call *call, onx_operand *value);
/* run: a temporary operand of the run, as for onx_call_graph's inputs; release it in the end. */
onx_status onx_call_temporary(onx_call *call, onx_dtype dtype, size_t rank, const int64_t *dims,
                              onx_operand **out) ONX_MUST_CHECK;

#endif
