/* onx.h: ONNX in C. The whole public interface.
 *
 * A model of linear regression, Y = X·A + B, built and saved:
 *
 *     onx_model *m = onx_model_new(NULL, "linear_regression", 22);
 *     onx_graph *g = onx_model_graph(m);
 *     onx_value *X = onx_graph_add_input(g, "X", "float[N,3]");
 *     onx_value *A = onx_graph_add_input(g, "A", "float[3,1]");
 *     onx_value *B = onx_graph_add_input(g, "B", "float[1]");
 *     onx_value *XA = onx_graph_add_op(g, "MatMul", "XA", X, A);
 *     onx_value *Y = onx_graph_add_op(g, "Add", "Y", XA, B);
 *     onx_graph_add_output(g, Y, "float[N,1]");
 *     onx_status status = onx_model_save(m, "linear.onnx", NULL, NULL);
 *     onx_model_free(m);
 *
 * Conventions
 *   Verbs say ownership: new/load … free; retain … release; a bare noun (onx_node_name) borrows.
 *   Functions that can fail return onx_status and fill an onx_diag when given one; on failure their
 *   outputs are untouched and nothing is owed.
 *   Builder functions (those that return the object they add) return NULL on failure, accept NULL
 *   arguments, and remember the first failure in the model: a chain of them needs one check, at its
 *   end: onx_model_error, or the status of onx_model_save.
 *   Options structs begin with their size: set it with ONX_INIT(onx_load_options). NULL means
 *   defaults.
 *   Strings returned as `const char *` are UTF-8, NUL-terminated, owned by the object, and valid
 *   until it is changed or freed; `onx_str` is a span of bytes.
 *   What was removed can still be read until the model is compacted or freed, but no longer edited.
 *   Objects of one model may be read from many threads; to change it, be alone with it.
 *   The library never prints, exits, or changes global state.
 */
#ifndef ONX_H
#define ONX_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#else
#include <stdbool.h>
#define ONX_INIT(type) ((type){.size = sizeof(type)})
#endif

#if defined(ONX_BUILD) && defined(__GNUC__)
#define ONX_API __attribute__((visibility("default")))
#else
#define ONX_API
#endif

#define ONX_VERSION "0.1.0"
#define ONX_IR_VERSION 14    /* the newest IR version this library knows */
#define ONX_OPSET_VERSION 28 /* the newest opset of the default domain */

/* ─ Errors ───────────────────────────────────────────────────────────────────────────────────── */

#define ONX_STATUS_MAP(X)                                                                          \
    X(OK, 0, "no error")                                                                           \
    X(NO_MEMORY, 1, "out of memory, or past the context's memory limit")                           \
    X(IO, 2, "a file could not be read or written")                                                \
    X(NOT_FOUND, 3, "no such file, name or item")                                                  \
    X(MALFORMED, 4, "the bytes or the text cannot be parsed")                                      \
    X(LIMIT, 5, "past a limit (see onx_limits)")                                                   \
    X(INVALID, 6, "the model or data breaks a rule of ONNX")                                       \
    X(USAGE, 7, "a function was called with wrong arguments")                                      \
    X(UNSUPPORTED, 8, "valid, but not supported")                                                  \
    X(CONFLICT, 9, "a name or object is already in use")                                           \
    X(DENIED, 10, "refused: the file lies outside the model's folder or is not a plain file")      \
    X(CHANGED, 11, "the data is not what was declared or expected")                                \
    X(CANCELLED, 12, "the run was cancelled, or its deadline passed")

typedef enum onx_status {
#define ONX_STATUS_ENUM(name, value, text) ONX_##name = value,
    ONX_STATUS_MAP(ONX_STATUS_ENUM)
#undef ONX_STATUS_ENUM
} onx_status;

/* What went wrong. Fixed size, owned by the caller, needs no freeing; start with ONX_INIT or
 * zeros. */
typedef struct onx_diag {
    size_t size;
    onx_status status;
    int64_t offset;    /* byte (or, in text, character) offset in the file; -1: none */
    char file[256];    /* "" if there is none */
    char place[256];   /* "graph.node[3] 'conv1', attribute 'pads'", or "line 3, column 7" */
    char message[512]; /* one sentence: what is wrong, by which rule */
    char hint[256];    /* what to do about it; "" if obvious */
} onx_diag;

ONX_API const char *onx_status_name(onx_status status); /* "MALFORMED" */
ONX_API const char *onx_status_text(onx_status status); /* the sentence above */
/* "file: place (byte 17): message\n  hint" as snprintf does: the length it has or would have. */
ONX_API size_t onx_diag_format(const onx_diag *diag, char *out, size_t size);
ONX_API const char *onx_version(void);
/* Optional libraries built in, such as "zlib 1.2.13"; NULL after the last one. */
ONX_API const char *onx_version_feature(size_t index);

/* ─ Strings, streams ─────────────────────────────────────────────────────────────────────────── */

typedef struct onx_str {
    const char *data;
    size_t size;
} onx_str;

/* read: up to `size` bytes; the number read, 0 at the end, negative on failure.
 * write: all of it and 0, or negative on failure. */
typedef struct onx_reader {
    void *user;
    ptrdiff_t (*read)(void *user, void *data, size_t size);
} onx_reader;
typedef struct onx_writer {
    void *user;
    int (*write)(void *user, const void *data, size_t size);
} onx_writer;

/* ─ Context ──────────────────────────────────────────────────────────────────────────────────── */

/* Memory, limits. Pass NULL as context for the defaults; make one to set them. */
typedef struct onx_context onx_context;

/* realloc-like, also in alignment; the old size is passed back; new_size 0 frees. Called from any
 * thread. */
typedef struct onx_allocator {
    void *user;
    void *(*resize)(void *user, void *ptr, size_t old_size, size_t new_size);
} onx_allocator;

/* What a file may ask for. 0 takes the default, in parentheses. */
typedef struct onx_limits {
    size_t size;
    uint32_t depth;       /* nesting of messages, JSON, text (100) */
    uint32_t rank;        /* dimensions of a tensor or type (1024) */
    uint32_t functions;   /* of one model (10,000) */
    uint32_t opsets;      /* imported by one model or function (1,000) */
    size_t name_bytes;    /* of one name (64 KiB) */
    size_t string_bytes;  /* of one string (1 GiB) */
    size_t memory_factor; /* bytes of structure for each byte of the file, beyond 16 MiB (64) */
} onx_limits;

typedef struct onx_context_options {
    size_t size;
    onx_allocator allocator; /* resize NULL: malloc */
    size_t memory_limit;     /* bytes allocated at once; 0: none */
    onx_limits limits;
} onx_context_options;

ONX_API onx_status onx_context_new(const onx_context_options *options, onx_context **out);
ONX_API void onx_context_free(onx_context *ctx); /* models made from it may live on */
ONX_API size_t onx_context_memory_used(const onx_context *ctx);
ONX_API size_t onx_context_memory_peak(const onx_context *ctx);

/* ─ Element types ────────────────────────────────────────────────────────────────────────────── */

/* X(NAME, number in ONNX, ONNX text name, bits of an element) */
#define ONX_DTYPE_MAP(X)                                                                           \
    X(NONE, 0, "undefined", 0)                                                                     \
    X(F32, 1, "float", 32)                                                                         \
    X(U8, 2, "uint8", 8)                                                                           \
    X(I8, 3, "int8", 8)                                                                            \
    X(U16, 4, "uint16", 16)                                                                        \
    X(I16, 5, "int16", 16)                                                                         \
    X(I32, 6, "int32", 32)                                                                         \
    X(I64, 7, "int64", 64)                                                                         \
    X(STRING, 8, "string", 0)                                                                      \
    X(BOOL, 9, "bool", 8)                                                                          \
    X(F16, 10, "float16", 16)                                                                      \
    X(F64, 11, "double", 64)                                                                       \
    X(U32, 12, "uint32", 32)                                                                       \
    X(U64, 13, "uint64", 64)                                                                       \
    X(C64, 14, "complex64", 64)                                                                    \
    X(C128, 15, "complex128", 128)                                                                 \
    X(BF16, 16, "bfloat16", 16)                                                                    \
    X(F8E4M3FN, 17, "float8e4m3fn", 8)                                                             \
    X(F8E4M3FNUZ, 18, "float8e4m3fnuz", 8)                                                         \
    X(F8E5M2, 19, "float8e5m2", 8)                                                                 \
    X(F8E5M2FNUZ, 20, "float8e5m2fnuz", 8)                                                         \
    X(U4, 21, "uint4", 4)                                                                          \
    X(I4, 22, "int4", 4)                                                                           \
    X(F4E2M1, 23, "float4e2m1", 4)                                                                 \
    X(F8E8M0, 24, "float8e8m0", 8)                                                                 \
    X(U2, 25, "uint2", 2)                                                                          \
    X(I2, 26, "int2", 2)                                                                           \
    X(F6E2M3, 27, "float6e2m3", 6)                                                                 \
    X(F6E3M2, 28, "float6e3m2", 6)

typedef enum onx_dtype {
#define ONX_DTYPE_ENUM(name, value, text, bits) ONX_DTYPE_##name = value,
    ONX_DTYPE_MAP(ONX_DTYPE_ENUM)
#undef ONX_DTYPE_ENUM
        ONX_DTYPE_COUNT
} onx_dtype;

ONX_API const char *onx_dtype_name(onx_dtype dtype);     /* "float"; "?" if unknown */
ONX_API onx_dtype onx_dtype_from_name(const char *name); /* ONX_DTYPE_NONE if unknown */
ONX_API unsigned onx_dtype_bits(onx_dtype dtype);        /* 0 for strings and unknown types */
/* Bytes of `count` densely packed elements; false on overflow, or for a type without a size. */
ONX_API bool onx_dtype_bytes(onx_dtype dtype, uint64_t count, size_t *bytes);
/* Convert dense elements, as ONNX's Cast. Floats round to nearest even; out of range saturates or
 * becomes the type's infinity or NaN (`saturate` as Cast's attribute, for the 8-bit floats); float
 * to integer truncates and saturates, NaN gives 0, but 2- and 4-bit integers keep the low bits;
 * integer to integer keeps the low bits; packed types are packed. Not for strings. */
ONX_API onx_status onx_dtype_convert(onx_dtype from, const void *src, onx_dtype to, void *dst,
                                     uint64_t count, bool saturate);

/* ─ Objects ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct onx_model onx_model;
typedef struct onx_graph onx_graph;
typedef struct onx_node onx_node;
typedef struct onx_value onx_value; /* a name in a graph: input, initializer or node output */
typedef struct onx_attr onx_attr;
typedef struct onx_tensor onx_tensor;
typedef struct onx_type onx_type;
typedef struct onx_function onx_function;
typedef struct onx_training onx_training;
typedef struct onx_opset onx_opset;
typedef struct onx_entry onx_entry;   /* a key and its value */
typedef struct onx_device onx_device; /* a configuration of devices */
typedef struct onx_data onx_data;     /* tensor, sparse tensor, sequence, map or optional */

/* ─ Loading and saving ───────────────────────────────────────────────────────────────────────── */

typedef enum onx_format {
    ONX_FORMAT_AUTO,      /* by extension when there is a path, else by content */
    ONX_FORMAT_PROTOBUF,  /* .onnx .pb */
    ONX_FORMAT_TEXT,      /* .onnxtxt .onnxtext: ONNX's own syntax */
    ONX_FORMAT_JSON,      /* .json .onnxjson */
    ONX_FORMAT_TEXTPROTO, /* .textproto .txtpb .prototxt .pbtxt */
} onx_format;
ONX_API onx_format onx_format_from_path(const char *path); /* ONX_FORMAT_AUTO if unknown */
ONX_API const char *onx_format_name(onx_format format);

typedef struct onx_load_options {
    size_t size;
    onx_format format;
    bool copy;          /* read files into memory instead of mapping them: for files that may change
                          or shrink while the model is in use */
    bool no_external;   /* leave external data where it is; tensors then have no bytes */
    const char *folder; /* where external data lies; NULL: beside the model file */
} onx_load_options;

/* Large files are mapped, and tensor data are read from the mapping: the file must not be
 * overwritten in place while the model lives (replacing it by renaming, as saving does, is fine).
 * Or set `copy`. */
ONX_API onx_status onx_model_load(onx_context *ctx, const char *path,
                                  const onx_load_options *options, onx_model **out, onx_diag *diag);
/* The bytes must stay as they are while the model lives, unless options->copy is set. */
ONX_API onx_status onx_model_load_memory(onx_context *ctx, const void *data, size_t size,
                                         const onx_load_options *options, onx_model **out,
                                         onx_diag *diag);
ONX_API onx_status onx_model_load_stream(onx_context *ctx, const onx_reader *reader,
                                         const onx_load_options *options, onx_model **out,
                                         onx_diag *diag);

typedef enum onx_external {
    ONX_EXTERNAL_KEEP,   /* tensors stay as they are; their files go along to another folder */
    ONX_EXTERNAL_INLINE, /* all data into the model file */
    ONX_EXTERNAL_ONE,    /* data into one file beside it */
    ONX_EXTERNAL_MANY,   /* data into one file per tensor */
} onx_external;

typedef struct onx_save_options {
    size_t size;
    onx_format format;
    onx_external external;
    const char *external_file; /* for ONE; NULL: the model's file name + ".data" */
    uint64_t threshold;        /* only tensors of at least this many bytes go external (1024) */
    uint64_t alignment;        /* of tensors in the data file; a power of two (4096) */
    bool attributes;           /* also move tensors in attributes of nodes */
} onx_save_options;

/* A file is replaced whole (temporary file, sync, rename) or left as it was. A model that was not
 * edited is written as the bytes it was read from; what was edited is encoded anew, the rest keeps
 * its bytes. */
ONX_API onx_status onx_model_save(onx_model *model, const char *path,
                                  const onx_save_options *options, onx_diag *diag);
/* External data can be kept or inlined here, not created. */
ONX_API onx_status onx_model_save_stream(onx_model *model, const onx_writer *writer,
                                         const onx_save_options *options, onx_diag *diag);
/* `*out` is to be freed with onx_buffer_free. */
ONX_API onx_status onx_model_save_memory(onx_model *model, const onx_save_options *options,
                                         void **out, size_t *size, onx_diag *diag);
ONX_API void onx_buffer_free(onx_context *ctx, void *buffer, size_t size);

/* ─ Models ───────────────────────────────────────────────────────────────────────────────────── */

/* A new model with an empty graph `name`, importing `opset` of the default domain, with the lowest
 * IR version that has it. NULL when memory ran out. */
ONX_API onx_model *onx_model_new(onx_context *ctx, const char *name, int64_t opset);
ONX_API void onx_model_free(onx_model *model);
ONX_API onx_status onx_model_clone(const onx_model *model, onx_model **out, onx_diag *diag);
/* Give back the memory of removed objects: the model moves, and all pointers to it and into it
 * end. */
ONX_API onx_status onx_model_compact(onx_model **model, onx_diag *diag);
/* The first failure of a builder call on this model; NULL if there was none. */
ONX_API const onx_diag *onx_model_error(const onx_model *model);
/* Are the two models the same, message by message? `diag` says where they differ first. */
ONX_API bool onx_model_equal(const onx_model *a, const onx_model *b, onx_diag *diag);
/* Write every message anew at the next save, instead of keeping the bytes of the file. */
ONX_API void onx_model_touch(onx_model *model);

ONX_API onx_graph *onx_model_graph(const onx_model *model); /* NULL if the model has none */
ONX_API int64_t onx_model_ir_version(const onx_model *model);
ONX_API onx_status onx_model_set_ir_version(onx_model *model, int64_t version);
ONX_API const char *onx_model_producer(const onx_model *model);
ONX_API const char *onx_model_producer_version(const onx_model *model);
ONX_API const char *onx_model_domain(const onx_model *model);
ONX_API int64_t onx_model_version(const onx_model *model);
ONX_API const char *onx_model_doc(const onx_model *model);
ONX_API onx_status onx_model_set_producer(onx_model *model, const char *name, const char *version);
ONX_API onx_status onx_model_set_domain(onx_model *model, const char *domain);
ONX_API onx_status onx_model_set_version(onx_model *model, int64_t version);
ONX_API onx_status onx_model_set_doc(onx_model *model, const char *doc);
/* Imported opsets. "ai.onnx" and "" are the same domain. */
ONX_API const onx_opset *onx_model_opset_first(const onx_model *model);
ONX_API const onx_opset *onx_opset_next(const onx_opset *opset);
ONX_API const char *onx_opset_domain(const onx_opset *opset);
ONX_API int64_t onx_opset_version(const onx_opset *opset);
ONX_API int64_t onx_model_opset(const onx_model *model, const char *domain); /* 0: not imported */
/* 0 removes it. The default domain may be written as "", "ai.onnx" or, NULL, not at all. */
ONX_API onx_status onx_model_set_opset(onx_model *model, const char *domain, int64_t version);
/* Metadata: pairs of strings. Setting NULL removes. Graphs, values, nodes and tensors have it
 * too. */
ONX_API const onx_entry *onx_model_meta_first(const onx_model *model);
ONX_API const onx_entry *onx_entry_next(const onx_entry *entry);
ONX_API const char *onx_entry_key(const onx_entry *entry);
ONX_API const char *onx_entry_value(const onx_entry *entry);
ONX_API const char *onx_model_meta(const onx_model *model, const char *key); /* NULL: none */
ONX_API onx_status onx_model_set_meta(onx_model *model, const char *key, const char *value);
/* Device configurations of the model ("configuration"). */
ONX_API const onx_device *onx_model_device_first(const onx_model *model);
ONX_API const onx_device *onx_device_next(const onx_device *device);
ONX_API const char *onx_device_name(const onx_device *device);
ONX_API int64_t onx_device_count(const onx_device *device); /* how many devices it has */

ONX_API onx_function *onx_model_function_first(const onx_model *model);
ONX_API onx_function *onx_model_function_find(const onx_model *model, const char *domain,
                                              const char *name, const char *overload);

/* ─ Graphs ───────────────────────────────────────────────────────────────────────────────────── */

/* Name, description and metadata of a function's body are those of the function. */
ONX_API const char *onx_graph_name(const onx_graph *graph);
ONX_API onx_status onx_graph_set_name(onx_graph *graph, const char *name);
ONX_API const char *onx_graph_doc(const onx_graph *graph);
ONX_API onx_status onx_graph_set_doc(onx_graph *graph, const char *doc);
ONX_API const onx_entry *onx_graph_meta_first(const onx_graph *graph);
ONX_API const char *onx_graph_meta(const onx_graph *graph, const char *key);
ONX_API onx_status onx_graph_set_meta(onx_graph *graph, const char *key, const char *value);
ONX_API onx_model *onx_graph_model(const onx_graph *graph);
ONX_API onx_graph *onx_graph_outer(const onx_graph *graph); /* NULL at the top */
ONX_API onx_node *onx_graph_owner(const onx_graph *graph);  /* the node a subgraph belongs to */
ONX_API onx_function *onx_graph_function(const onx_graph *graph); /* of a function's body */
ONX_API size_t onx_graph_node_count(const onx_graph *graph);
ONX_API onx_node *onx_graph_node_first(const onx_graph *graph);
ONX_API onx_node *onx_graph_node_last(const onx_graph *graph);
ONX_API size_t onx_graph_input_count(const onx_graph *graph);
ONX_API onx_value *onx_graph_input(const onx_graph *graph, size_t index);
ONX_API size_t onx_graph_output_count(const onx_graph *graph);
ONX_API onx_value *onx_graph_output(const onx_graph *graph, size_t index);
ONX_API size_t onx_graph_initializer_count(const onx_graph *graph);
ONX_API onx_tensor *onx_graph_initializer_first(const onx_graph *graph);
ONX_API onx_data *onx_graph_sparse_first(const onx_graph *graph); /* of the sparse initializers */
/* The value called `name` in this graph (find) or in it and the graphs around it (lookup). */
ONX_API onx_value *onx_graph_find(const onx_graph *graph, const char *name);
ONX_API onx_value *onx_graph_lookup(const onx_graph *graph, const char *name);
/* Every value of the graph, in no particular order. */
ONX_API onx_value *onx_graph_value_first(const onx_graph *graph);
ONX_API onx_value *onx_value_next(const onx_value *value);
/* Graphs directly inside this one. */
ONX_API onx_graph *onx_graph_sub_first(const onx_graph *graph);
ONX_API onx_graph *onx_graph_sub_next(const onx_graph *graph);

/* Types are written as in ONNX text: "float[N,3]", "float" (a scalar), "float[]" (any rank),
 * "float[?,3]", "seq(float[2])", "map(int64, string)", "optional(float[1])",
 * "sparse_tensor(float[N])". NULL: no type. */
ONX_API onx_value *onx_graph_add_input(onx_graph *graph, const char *name, const char *type);
ONX_API onx_value *onx_graph_add_output(onx_graph *graph, onx_value *value, const char *type);
/* `data` is dense, little-endian, and copied. `bytes` must be what dtype and dims need. */
ONX_API onx_value *onx_graph_add_initializer(onx_graph *graph, const char *name, onx_dtype dtype,
                                             size_t rank, const int64_t *dims, const void *data,
                                             size_t bytes);
ONX_API onx_value *onx_graph_add_strings(onx_graph *graph, const char *name, size_t rank,
                                         const int64_t *dims, const char *const *strings);
/* A copy of `tensor` (of any model, or standalone) as initializer; `name` NULL: its own. */
ONX_API onx_value *onx_graph_add_tensor(onx_graph *graph, const char *name,
                                        const onx_tensor *tensor);
/* The same for a sparse tensor. */
ONX_API onx_value *onx_graph_add_sparse(onx_graph *graph, const char *name, const onx_data *sparse);
/* A node at the end of the graph. `op` is "Relu" or "com.microsoft::Gelu" ("::Relu" writes the
 * default domain out). Values may come from this graph or from one around it; NULL is a missing
 * optional input. Output names that are NULL are generated. */
ONX_API onx_node *onx_graph_add_node(onx_graph *graph, const char *op, size_t n_inputs,
                                     onx_value *const *inputs, size_t n_outputs,
                                     const char *const *outputs);
/* The same for one output. onx_graph_add_op takes the inputs as its remaining arguments:
 *     onx_graph_add_op(g, "Add", "sum", a, b) */
ONX_API onx_value *onx_graph_add_op_array(onx_graph *graph, const char *op, const char *output,
                                          size_t n_inputs, onx_value *const *inputs);
#ifndef __cplusplus
#define onx_graph_add_op(graph, op, output, ...)                                                   \
    onx_graph_add_op_array(graph, op, output,                                                      \
                           sizeof((onx_value *[]){__VA_ARGS__}) / sizeof(onx_value *),             \
                           (onx_value *[]){__VA_ARGS__})
#endif

/* Sort the nodes so that each comes after those it needs, keeping their order where it is free to.
 * INVALID, and nothing moves, when there is a cycle. */
ONX_API onx_status onx_graph_sort(onx_graph *graph, onx_diag *diag);
/* A name no value of this graph, around it or inside it has: `hint`, or `hint_1` … Owned by the
 * model. */
ONX_API const char *onx_graph_new_name(onx_graph *graph, const char *hint);
/* Inputs, outputs and initializers leave with these; the value must not be used any more
 * (CONFLICT). */
ONX_API onx_status onx_graph_remove_input(onx_graph *graph, onx_value *value, onx_diag *diag);
ONX_API onx_status onx_graph_remove_output(onx_graph *graph, onx_value *value, onx_diag *diag);
ONX_API onx_status onx_graph_remove_initializer(onx_graph *graph, onx_value *value, onx_diag *diag);

/* ─ Values ───────────────────────────────────────────────────────────────────────────────────── */

ONX_API const char *onx_value_name(const onx_value *value);
ONX_API onx_graph *onx_value_graph(const onx_value *value);
ONX_API onx_node *onx_value_node(
    const onx_value *value); /* that computes it; NULL: input, initializer, undefined */
ONX_API size_t onx_value_node_index(const onx_value *value); /* which output of that node */
ONX_API bool onx_value_is_input(const onx_value *value);
ONX_API bool onx_value_is_output(const onx_value *value);
/* Its initializer, NULL if it has none. Of a sparse one: the values that are not zero. */
ONX_API onx_tensor *onx_value_initializer(const onx_value *value);
ONX_API onx_data *onx_value_sparse(const onx_value *value); /* NULL: not a sparse initializer */
ONX_API bool onx_value_is_defined(const onx_value *value);
ONX_API const onx_type *onx_value_type(const onx_value *value); /* declared; NULL if not */
ONX_API onx_status onx_value_set_type(onx_value *value, const char *type, onx_diag *diag);
ONX_API const char *onx_value_doc(const onx_value *value);
ONX_API onx_status onx_value_set_doc(onx_value *value, const char *doc);
ONX_API const onx_entry *onx_value_meta_first(const onx_value *value);
ONX_API const char *onx_value_meta(const onx_value *value, const char *key);
ONX_API onx_status onx_value_set_meta(onx_value *value, const char *key, const char *text);
/* Uses as a node's input, in nested graphs too. Graph outputs are not counted. */
typedef struct onx_use {
    onx_node *node;
    size_t index;
    const void *cursor;
} onx_use;
ONX_API size_t onx_value_use_count(const onx_value *value);
/* Start with an all-zero struct; false at the end. Removing the use just returned ends the walk:
 * start anew. */
ONX_API bool onx_value_use_next(const onx_value *value, onx_use *use);
/* Changes the name everywhere it is written. CONFLICT when the name is visible where the value
 * is. */
ONX_API onx_status onx_value_rename(onx_value *value, const char *name, onx_diag *diag);
/* Everything that used `from` uses `to`, also the node that computes `to`: when that is to go on
 * using `from`, set its input again. Where `from` is an output of its graph, the output keeps its
 * name: `to` takes it over, or, where it cannot, an Identity node is added. CONFLICT when the name
 * of `to` means something else where `from` is used, or `from` is both an input and an output. */
ONX_API onx_status onx_value_replace(onx_value *from, onx_value *to, onx_diag *diag);

/* ─ Nodes ────────────────────────────────────────────────────────────────────────────────────── */

ONX_API onx_node *onx_node_next(const onx_node *node);
ONX_API onx_node *onx_node_prev(const onx_node *node);
ONX_API onx_graph *onx_node_graph(const onx_node *node);
ONX_API const char *onx_node_name(const onx_node *node);
ONX_API onx_status onx_node_set_name(onx_node *node, const char *name);
ONX_API const char *onx_node_op(const onx_node *node);
ONX_API const char *onx_node_domain(const onx_node *node); /* "" for the default one */
ONX_API const char *onx_node_overload(const onx_node *node);
ONX_API onx_status onx_node_set_overload(onx_node *node, const char *overload);
ONX_API onx_status onx_node_set_op(onx_node *node,
                                   const char *op); /* "Relu", "com.microsoft::Gelu" */
ONX_API const char *onx_node_doc(const onx_node *node);
ONX_API onx_status onx_node_set_doc(onx_node *node, const char *doc);
ONX_API size_t onx_node_input_count(const onx_node *node);
ONX_API onx_value *onx_node_input(const onx_node *node, size_t index); /* NULL: missing */
ONX_API size_t onx_node_output_count(const onx_node *node);
ONX_API onx_value *onx_node_output(const onx_node *node, size_t index); /* NULL: missing */
/* Set input `index`, which may be one past the last. NULL makes it missing. */
ONX_API onx_status onx_node_set_input(onx_node *node, size_t index, onx_value *value,
                                      onx_diag *diag);
ONX_API onx_status onx_node_remove_input(onx_node *node, size_t index);
ONX_API onx_value *onx_node_add_output(onx_node *node, const char *name);
/* Move before `before` of the same graph; NULL: to the end. */
ONX_API onx_status onx_node_move(onx_node *node, onx_node *before);
/* CONFLICT while a value it computes is used or is an output of the graph. The node stays
 * readable. */
ONX_API onx_status onx_node_remove(onx_node *node, onx_diag *diag);
ONX_API const onx_entry *onx_node_meta_first(const onx_node *node);
ONX_API const char *onx_node_meta(const onx_node *node, const char *key);
ONX_API onx_status onx_node_set_meta(onx_node *node, const char *key, const char *value);

/* ─ Attributes ───────────────────────────────────────────────────────────────────────────────── */

typedef enum onx_attr_type {
    ONX_ATTR_UNDEFINED = 0,
    ONX_ATTR_FLOAT = 1,
    ONX_ATTR_INT = 2,
    ONX_ATTR_STRING = 3,
    ONX_ATTR_TENSOR = 4,
    ONX_ATTR_GRAPH = 5,
    ONX_ATTR_FLOATS = 6,
    ONX_ATTR_INTS = 7,
    ONX_ATTR_STRINGS = 8,
    ONX_ATTR_TENSORS = 9,
    ONX_ATTR_GRAPHS = 10,
    ONX_ATTR_SPARSE_TENSOR = 11,
    ONX_ATTR_SPARSE_TENSORS = 12,
    ONX_ATTR_TYPE = 13,
    ONX_ATTR_TYPES = 14,
} onx_attr_type;

ONX_API const char *onx_attr_type_name(onx_attr_type type); /* "int", "floats", "graph" */
ONX_API size_t onx_node_attr_count(const onx_node *node);
ONX_API onx_attr *onx_node_attr_first(const onx_node *node);
ONX_API onx_attr *onx_attr_next(const onx_attr *attr);
ONX_API onx_attr *onx_node_attr(const onx_node *node, const char *name); /* NULL: none */
ONX_API const char *onx_attr_name(const onx_attr *attr);
ONX_API onx_attr_type onx_attr_type_of(const onx_attr *attr);
ONX_API const char *onx_attr_ref(const onx_attr *attr); /* of a function's parameter; "" if none */
ONX_API const char *onx_attr_doc(const onx_attr *attr);
ONX_API onx_status onx_attr_set_doc(onx_attr *attr, const char *doc);
ONX_API int64_t onx_attr_int(const onx_attr *attr);
ONX_API float onx_attr_float(const onx_attr *attr);
ONX_API onx_str onx_attr_string(const onx_attr *attr);
ONX_API onx_tensor *onx_attr_tensor(const onx_attr *attr);
ONX_API onx_graph *onx_attr_graph(const onx_attr *attr);
ONX_API onx_data *onx_attr_sparse(const onx_attr *attr);
ONX_API const onx_type *onx_attr_type_value(const onx_attr *attr);
/* Lists: how many, and one of them. */
ONX_API size_t onx_attr_count(const onx_attr *attr);
ONX_API const int64_t *onx_attr_ints(const onx_attr *attr);
ONX_API const float *onx_attr_floats(const onx_attr *attr);
ONX_API onx_str onx_attr_string_at(const onx_attr *attr, size_t index);
ONX_API onx_tensor *onx_attr_tensor_at(const onx_attr *attr, size_t index);
ONX_API onx_graph *onx_attr_graph_at(const onx_attr *attr, size_t index);
ONX_API onx_data *onx_attr_sparse_at(const onx_attr *attr, size_t index);
ONX_API const onx_type *onx_attr_type_at(const onx_attr *attr, size_t index);

/* Set an attribute, adding it or replacing what it was. Values are copied. */
ONX_API onx_status onx_node_set_int(onx_node *node, const char *name, int64_t value);
ONX_API onx_status onx_node_set_float(onx_node *node, const char *name, float value);
ONX_API onx_status onx_node_set_string(onx_node *node, const char *name, const char *value);
ONX_API onx_status onx_node_set_bytes(onx_node *node, const char *name, const void *data,
                                      size_t size);
ONX_API onx_status onx_node_set_ints(onx_node *node, const char *name, size_t n,
                                     const int64_t *values);
ONX_API onx_status onx_node_set_floats(onx_node *node, const char *name, size_t n,
                                       const float *values);
ONX_API onx_status onx_node_set_strings(onx_node *node, const char *name, size_t n,
                                        const char *const *values);
ONX_API onx_status onx_node_set_tensor(onx_node *node, const char *name, const onx_tensor *value);
ONX_API onx_status onx_node_set_tensors(onx_node *node, const char *name, size_t n,
                                        const onx_tensor *const *values);
ONX_API onx_status onx_node_set_sparse(onx_node *node, const char *name, const onx_data *value);
ONX_API onx_status onx_node_set_sparses(onx_node *node, const char *name, size_t n,
                                        const onx_data *const *values);
ONX_API onx_status onx_node_set_type(onx_node *node, const char *name, const char *type,
                                     onx_diag *diag);
ONX_API onx_status onx_node_set_types(onx_node *node, const char *name, size_t n,
                                      const char *const *types, onx_diag *diag);
/* In a function: the attribute takes the value of the function's attribute `parameter`. */
ONX_API onx_status onx_node_set_ref(onx_node *node, const char *name, const char *parameter,
                                    onx_attr_type type);
/* A new, empty subgraph as attribute: fill it with the graph's builder functions. */
ONX_API onx_graph *onx_node_add_graph(onx_node *node, const char *attribute,
                                      const char *graph_name);
/* The same, as one more graph of an attribute that is a list of graphs. */
ONX_API onx_graph *onx_node_append_graph(onx_node *node, const char *attribute,
                                         const char *graph_name);
/* A copy of an attribute of any node, function or model, under its own name. What graphs in it take
 * from around them is looked up by name, here. */
ONX_API onx_status onx_node_set_attr(onx_node *node, const onx_attr *attr, onx_diag *diag);
ONX_API onx_status onx_node_remove_attr(onx_node *node, const char *name);

/* ─ Functions ────────────────────────────────────────────────────────────────────────────────── */

ONX_API onx_function *onx_model_add_function(onx_model *model, const char *domain,
                                             const char *name);
ONX_API onx_function *onx_function_next(const onx_function *function);
ONX_API const char *onx_function_name(const onx_function *function);
ONX_API const char *onx_function_domain(const onx_function *function);
ONX_API const char *onx_function_overload(const onx_function *function);
/* Its nodes, inputs and outputs, edited like any graph's (inputs and outputs without types). */
ONX_API onx_graph *onx_function_body(const onx_function *function);
/* Its parameters: those without a default, then those with one. */
ONX_API size_t onx_function_attr_count(const onx_function *function);
ONX_API const char *onx_function_attr(const onx_function *function, size_t index);
ONX_API onx_status onx_function_add_attr(onx_function *function, const char *name);
/* The defaults, as attributes (onx_attr_next goes on); and a copy of one, for that parameter. */
ONX_API onx_attr *onx_function_default_first(const onx_function *function);
ONX_API onx_status onx_function_set_default(onx_function *function, const onx_attr *attr,
                                            onx_diag *diag);
ONX_API const onx_opset *onx_function_opset_first(const onx_function *function);
ONX_API int64_t onx_function_opset(const onx_function *function, const char *domain);
ONX_API onx_status onx_function_set_opset(onx_function *function, const char *domain,
                                          int64_t version);
ONX_API onx_status onx_function_set_overload(onx_function *function, const char *overload);
ONX_API onx_status onx_function_remove(onx_function *function);

/* ─ Fields ───────────────────────────────────────────────────────────────────────────────────── */

/* Add what has no function of its own, as fields in protobuf text: single fields are set, lists go
 * on. onx_graph_add_fields(g, "quantization_annotation { tensor_name: \"x\" ... }", NULL). Nothing
 * is checked, as if it had been read from a file. A failure is also remembered, as builder
 * functions do. Not for the graph of a model, nor for what a node is called and connects: USAGE.
 * The body of a function takes the fields of the function. */
ONX_API onx_status onx_model_add_fields(onx_model *model, const char *fields, onx_diag *diag);
ONX_API onx_status onx_graph_add_fields(onx_graph *graph, const char *fields, onx_diag *diag);
ONX_API onx_status onx_node_add_fields(onx_node *node, const char *fields, onx_diag *diag);

/* ─ Training ─────────────────────────────────────────────────────────────────────────────────── */

/* A training step: a graph that computes the first values of the model's variables, one that
 * computes the next ones, and bindings that say which result belongs to which variable. Variables
 * are initializers. Both graphs see the values of the model's graph. */
ONX_API size_t onx_model_training_count(const onx_model *model);
ONX_API onx_training *onx_model_training_first(const onx_model *model);
ONX_API onx_training *onx_training_next(const onx_training *training);
ONX_API onx_graph *onx_training_initialization(const onx_training *training); /* NULL: none */
ONX_API onx_graph *onx_training_algorithm(const onx_training *training);      /* NULL: none */
/* Bindings: the key is the name of the variable, the value that of the result. */
ONX_API const onx_entry *onx_training_initial_first(const onx_training *training);
ONX_API const onx_entry *onx_training_update_first(const onx_training *training);
ONX_API onx_training *onx_model_add_training(onx_model *model);
ONX_API onx_graph *onx_training_add_initialization(onx_training *training, const char *name);
ONX_API onx_graph *onx_training_add_algorithm(onx_training *training, const char *name);
ONX_API onx_status onx_training_bind_initial(onx_training *training, onx_value *variable,
                                             onx_value *result, onx_diag *diag);
ONX_API onx_status onx_training_bind_update(onx_training *training, onx_value *variable,
                                            onx_value *result, onx_diag *diag);
ONX_API onx_status onx_training_remove(onx_training *training);

/* ─ Types ────────────────────────────────────────────────────────────────────────────────────── */

typedef enum onx_type_kind {
    ONX_TYPE_NONE,
    ONX_TYPE_TENSOR,
    ONX_TYPE_SPARSE_TENSOR,
    ONX_TYPE_SEQUENCE,
    ONX_TYPE_MAP,
    ONX_TYPE_OPTIONAL,
    ONX_TYPE_OPAQUE,
} onx_type_kind;

ONX_API onx_type_kind onx_type_kind_of(const onx_type *type);
ONX_API onx_dtype onx_type_dtype(const onx_type *type); /* of tensors; of maps: the key */
ONX_API const onx_type *onx_type_elem(
    const onx_type *type); /* of sequences, optionals, maps (the value) */
ONX_API const char *onx_type_denotation(const onx_type *type);
ONX_API bool onx_type_has_shape(const onx_type *type);
ONX_API size_t onx_type_rank(const onx_type *type);
/* The size of a dimension, or -1; then its symbolic name, or "" when nothing is known. */
ONX_API int64_t onx_type_dim(const onx_type *type, size_t index);
ONX_API const char *onx_type_dim_param(const onx_type *type, size_t index);
/* "float[N,3]", as snprintf does. */
ONX_API size_t onx_type_format(const onx_type *type, char *out, size_t size);

/* ─ Tensors ──────────────────────────────────────────────────────────────────────────────────── */

/* A tensor is part of a model or data file, or stands alone (new … free). */
ONX_API onx_status onx_tensor_new(onx_context *ctx, const char *name, onx_dtype dtype, size_t rank,
                                  const int64_t *dims, const void *data, size_t bytes,
                                  onx_tensor **out, onx_diag *diag);
ONX_API onx_status onx_tensor_new_strings(onx_context *ctx, const char *name, size_t rank,
                                          const int64_t *dims, const char *const *strings,
                                          onx_tensor **out, onx_diag *diag);
ONX_API void onx_tensor_free(onx_tensor *tensor); /* only of tensors that stand alone */
ONX_API onx_tensor *onx_tensor_next(const onx_tensor *tensor); /* initializer of the same graph */
ONX_API const char *onx_tensor_name(const onx_tensor *tensor);
ONX_API const char *onx_tensor_doc(const onx_tensor *tensor);
ONX_API onx_status onx_tensor_set_doc(onx_tensor *tensor, const char *doc); /* NULL removes it */
ONX_API const onx_entry *onx_tensor_meta_first(const onx_tensor *tensor);
ONX_API const char *onx_tensor_meta(const onx_tensor *tensor, const char *key);
ONX_API onx_status onx_tensor_set_meta(onx_tensor *tensor, const char *key, const char *value);
ONX_API onx_dtype onx_tensor_dtype(const onx_tensor *tensor);
ONX_API size_t onx_tensor_rank(const onx_tensor *tensor);
ONX_API int64_t onx_tensor_dim(const onx_tensor *tensor, size_t index);
ONX_API const int64_t *onx_tensor_dims(const onx_tensor *tensor);
/* Product of the dims; fails when one is negative or the product overflows. */
ONX_API onx_status onx_tensor_count(const onx_tensor *tensor, uint64_t *count, onx_diag *diag);
ONX_API bool onx_tensor_is_external(const onx_tensor *tensor);
/* Where external data lies ("" if not external). */
ONX_API const char *onx_tensor_location(const onx_tensor *tensor);
/* And which bytes of that file. A length that the model does not give is what dtype and dims need.
 * False when the tensor is not external, or what the model says makes no sense. */
ONX_API bool onx_tensor_extent(const onx_tensor *tensor, uint64_t *offset, uint64_t *length);
/* Is the payload what dtype and dims say? */
ONX_API onx_status onx_tensor_check(const onx_tensor *tensor, onx_diag *diag);
/* The dense little-endian bytes, in place, when the tensor is stored that way (raw, external, or a
 * float or double list); data is NULL otherwise. May be unaligned. */
ONX_API onx_str onx_tensor_view(const onx_tensor *tensor);
/* The dense bytes, from any storage form, into `out`, which has room for exactly `bytes`. */
ONX_API onx_status onx_tensor_read(const onx_tensor *tensor, void *out, size_t bytes,
                                   onx_diag *diag);
/* The elements converted to `dtype`, with onx_dtype_convert. */
ONX_API onx_status onx_tensor_read_as(const onx_tensor *tensor, onx_dtype dtype, void *out,
                                      size_t bytes, onx_diag *diag);
ONX_API onx_status onx_tensor_string_at(const onx_tensor *tensor, uint64_t index, onx_str *out,
                                        onx_diag *diag);
/* Replace dtype, shape and payload. The bytes are copied. */
ONX_API onx_status onx_tensor_set(onx_tensor *tensor, onx_dtype dtype, size_t rank,
                                  const int64_t *dims, const void *data, size_t bytes,
                                  onx_diag *diag);
/* The same for a payload that stays the caller's: it must outlive the tensor's model. */
ONX_API onx_status onx_tensor_set_borrowed(onx_tensor *tensor, onx_dtype dtype, size_t rank,
                                           const int64_t *dims, const void *data, size_t bytes,
                                           onx_diag *diag);
/* How the payload is stored: raw bytes or the typed lists of TensorProto. */
ONX_API onx_status onx_tensor_store_raw(onx_tensor *tensor, onx_diag *diag);
ONX_API onx_status onx_tensor_store_typed(onx_tensor *tensor, onx_diag *diag);

/* ─ Data files ───────────────────────────────────────────────────────────────────────────────── */

typedef enum onx_data_kind {
    ONX_DATA_NONE = 0, /* an empty optional */
    ONX_DATA_TENSOR = 1,
    ONX_DATA_SPARSE_TENSOR = 2,
    ONX_DATA_SEQUENCE = 3,
    ONX_DATA_MAP = 4,
    ONX_DATA_OPTIONAL = 5,
} onx_data_kind;

/* .pb (any of the messages: `kind`, or NONE to find out by content), .npy, .npz (a sequence of
 * named tensors); .json and .textproto of the same. */
ONX_API onx_status onx_data_load(onx_context *ctx, const char *path, onx_data_kind kind,
                                 onx_data **out, onx_diag *diag);
ONX_API onx_status onx_data_load_memory(onx_context *ctx, const void *bytes, size_t size,
                                        onx_data_kind kind, onx_data **out, onx_diag *diag);
ONX_API onx_status onx_data_load_stream(onx_context *ctx, const onx_reader *reader,
                                        onx_data_kind kind, onx_data **out, onx_diag *diag);
/* By extension, as loading. */
ONX_API onx_status onx_data_save(const onx_data *data, const char *path, onx_diag *diag);
ONX_API onx_status onx_data_save_stream(const onx_data *data, const onx_writer *writer,
                                        onx_diag *diag);
ONX_API onx_status onx_data_save_memory(const onx_data *data, void **out, size_t *size,
                                        onx_diag *diag);
ONX_API void onx_data_free(onx_data *data);
ONX_API onx_data_kind onx_data_kind_of(const onx_data *data);
ONX_API const char *onx_data_name(const onx_data *data);
ONX_API onx_status onx_data_set_name(onx_data *data, const char *name); /* not of an initializer */
ONX_API bool onx_data_equal(const onx_data *a, const onx_data *b, onx_diag *diag);
ONX_API onx_tensor *onx_data_tensor(
    const onx_data *data); /* of a tensor; of a sparse one: its values */
ONX_API onx_tensor *onx_data_indices(const onx_data *data); /* of a sparse tensor */
ONX_API size_t onx_data_rank(const onx_data *data);         /* of a sparse tensor */
ONX_API int64_t onx_data_dim(const onx_data *data, size_t index);
ONX_API size_t
onx_data_count(const onx_data *data); /* of a sequence or map; of an optional: 0 or 1 */
ONX_API onx_data *onx_data_at(const onx_data *data, size_t index);
ONX_API onx_data *onx_data_next(const onx_data *data); /* the element after this one; NULL: none */
ONX_API onx_dtype onx_data_key_dtype(const onx_data *data); /* of a map */
ONX_API int64_t onx_data_key_int(const onx_data *data, size_t index);
ONX_API onx_str onx_data_key_str(const onx_data *data, size_t index);
/* A tensor as data, and the other way round; no copy. */
ONX_API onx_data *onx_tensor_data(onx_tensor *tensor);
/* Building. What goes in is copied. */
ONX_API onx_status onx_sequence_new(onx_context *ctx, onx_data **out, onx_diag *diag);
ONX_API onx_status onx_sequence_append(onx_data *sequence, const char *name,
                                       const onx_tensor *tensor, onx_diag *diag);
/* The same for data of any kind; all elements of a sequence are of one. */
ONX_API onx_status onx_sequence_append_data(onx_data *sequence, const onx_data *element,
                                            onx_diag *diag);
/* `keys`: a tensor of rank 1, of integers or strings; `values`: a sequence of as many elements. */
ONX_API onx_status onx_map_new(onx_context *ctx, const onx_tensor *keys, const onx_data *values,
                               onx_data **out, onx_diag *diag);
ONX_API onx_status onx_optional_new(onx_context *ctx, const onx_data *content, onx_data **out,
                                    onx_diag *diag); /* `content` NULL: empty */
/* `values`, of rank 1, stand at `indices`: int64, one number each, or one row of numbers each. */
ONX_API onx_status onx_sparse_new(onx_context *ctx, const onx_tensor *values,
                                  const onx_tensor *indices, size_t rank, const int64_t *dims,
                                  onx_data **out, onx_diag *diag);

/* ─ Operators ────────────────────────────────────────────────────────────────────────────────── */

/* Operators that this library knows: every version of each. False after the last one. */
typedef struct onx_op_info {
    const char *domain; /* "" is ai.onnx */
    const char *name;
    int64_t since;
    const char *signature; /* "(X:T) -> (Y:T) [T:f]": inputs, outputs, attributes, types */
    const char *family;    /* NULL: it was added to the context */
} onx_op_info;
ONX_API bool onx_op_info_at(size_t index, onx_op_info *out);
/* The one that a node means, by the opset imports of its model or function. False: not known. */
ONX_API bool onx_node_op_info(const onx_node *node, onx_op_info *out);

/* What one version of an operator asks for. */
typedef struct onx_schema_param {
    const char *name;
    const char *type;   /* a type variable, or "tensor(int64)" */
    bool optional;      /* may be missing */
    bool variadic;      /* stands for any number of values: at least one, unless optional */
    bool heterogeneous; /* which may have different types */
} onx_schema_param;
typedef struct onx_schema_attr {
    const char *name;
    onx_attr_type type;
    bool required;
    const char *value; /* the default in ONNX text: -1, 1e-05, "constant", [0, 2]; NULL: none */
} onx_schema_attr;
typedef struct onx_schema_type { /* a type variable */
    const char *name;
    size_t n;
    const char *const *allowed; /* "tensor(float)", "seq(tensor(float))" */
} onx_schema_type;
typedef struct onx_schema {
    const char *domain; /* "" is ai.onnx */
    const char *name;
    int64_t since;
    bool deprecated;
    bool infers;          /* there is an inference function */
    bool is_function;     /* it can be expressed by other operators */
    const char *function; /* how, in ONNX text; NULL: it is none, or that depends on the node */
    size_t n_inputs, n_outputs, n_attrs, n_types, n_versions;
    const onx_schema_param *inputs, *outputs;
    const onx_schema_attr *attrs;
    const onx_schema_type *types;
    const int64_t *versions; /* all that are known of this operator, rising */
    size_t n_kernels;        /* that came with it, if it was added to the context */
} onx_schema;
/* The schema in force at `version` of its domain, 0: the newest one. NOT_FOUND, with the nearest
 * name in the hint. Operators that were added to `ctx` are found too. */
ONX_API onx_status onx_schema_find(onx_context *ctx, const char *domain, const char *name,
                                   int64_t version, const onx_schema **out, onx_diag *diag);
ONX_API void onx_schema_free(const onx_schema *schema);
/* Has the processor kernels for it? `types` gets the element types of the first input that they
 * take, as bits 1 << dtype; all, if the kernels came with it. */
ONX_API bool onx_schema_runs(const onx_schema *schema, uint32_t *types);

/* Operators of your own. They count as much as those above, for all models of the context: checked,
 * inferred, listed; run by their kernels, or inlined where they have a function body instead.
 *
 *     onx_kernel_def kernel = {.size = sizeof kernel, .types = "float", .run = run_twice};
 *     onx_op_def twice = {.size = sizeof twice, .domain = "my.ops", .name = "Twice", .since = 1,
 *                         .signature = "(X:T) -> (Y:T) {times:int=2} [T:float|double]",
 *                         .infer = infer_twice, .n_kernels = 1, .kernels = &kernel};
 *     onx_context_add_ops(ctx, 1, &twice, &diag);
 *
 * A signature lists inputs, outputs, attributes and type variables. After the name of an input or
 * output: ? optional, * variadic (of one type), ** (of any types), ?* (also none at all). Of an
 * attribute: its type, as onx_attr_type_name; ? after its name: optional; = its default. Types are
 * in ONNX text ("float": a tensor of floats), alternatives separated by |. */
typedef struct onx_infer onx_infer;
typedef onx_status onx_op_infer(onx_infer *infer, void *user);
typedef struct onx_op_def {
    size_t size;
    const char *domain; /* NULL: the default one */
    const char *name;
    int64_t since; /* the version of the domain that brings it, or changes it (1) */
    const char *signature;
    const char *function; /* nodes in ONNX text, over the names of the signature, after the opset of
                             ai.onnx that they mean: "<18> Y = Add (X, X)". NULL: no function */
    onx_op_infer *infer; /* types and shapes of its outputs; NULL: from the function, or types alone
                             from the type variables */
    void *user;          /* for `infer` */
    size_t n_kernels;    /* how it is computed: the first that takes a node runs it */
    const struct onx_kernel_def *kernels;
    bool varies; /* equal inputs may give different outputs: equal nodes are not made one */
} onx_op_def;
/* Add operators, all or none; what they point to is copied, but for `user`. CONFLICT: there is such
 * an operator already. Not while another thread uses the context. `ctx` must not be NULL. */
ONX_API onx_status onx_context_add_ops(onx_context *ctx, size_t n, const onx_op_def *defs,
                                       onx_diag *diag);

/* For inference functions of your own. Not known is a dtype NONE, and a rank or size of -1; so are
 * those of an input that is absent. */
ONX_API const onx_node *onx_infer_node(const onx_infer *infer);
/* "float[N,2*M]", as snprintf does; "?" when nothing is known. */
ONX_API size_t onx_infer_type(onx_infer *infer, size_t input, char *out, size_t size);
ONX_API onx_dtype onx_infer_dtype(const onx_infer *infer, size_t input); /* of a tensor */
ONX_API int64_t onx_infer_rank(const onx_infer *infer, size_t input);
ONX_API int64_t onx_infer_dim(const onx_infer *infer, size_t input, size_t index);
/* "N", "2*M + 1", "3", as snprintf does; "?" when nothing is known. */
ONX_API size_t onx_infer_dim_text(onx_infer *infer, size_t input, size_t index, char *out,
                                  size_t size);
/* The elements of an input of integers, where all are known: of constants and of shapes. Valid
 * during the call. */
ONX_API bool onx_infer_ints(onx_infer *infer, size_t input, size_t *n, const int64_t **values);
/* An attribute of the node, or its default. */
ONX_API int64_t onx_infer_int(const onx_infer *infer, const char *attribute);
ONX_API float onx_infer_float(const onx_infer *infer, const char *attribute);
ONX_API onx_str onx_infer_string(const onx_infer *infer, const char *attribute);
/* The type of an output, written as types of values are, but with any expressions over names,
 * numbers, + - * / and floor, ceil, min, max as sizes: "float[N, 2*M, floor(H/2)]". An output that
 * the node does not have is ignored. */
ONX_API onx_status onx_infer_set_type(onx_infer *infer, size_t output, const char *type);
/* The node cannot be right: return this. */
ONX_API onx_status onx_infer_fail(onx_infer *infer, const char *fmt, ...);

/* A kernel of your own: how an operator is computed, for some types. Its functions are called in
 * this order; each returns ONX_OK, or onx_kernel_fail with what is wrong:
 *
 *     init   once per node: read attributes and constants into the state. UNSUPPORTED: the next
 *            kernel is tried
 *     bind   once per signature of shapes: the shapes of all outputs (onx_kernel_set_shape)
 *     run    once per run, in many threads at once: write every element of all outputs
 *     fini   when the session goes: give back what the state holds
 *
 * A kernel is never given inputs that its signature does not allow, or values that are not tensors.
 * What it may rely on: tensors are dense; inputs of the caller and constants need not be aligned;
 * outputs do not overlap inputs, but where `overwrite` says so. */
typedef struct onx_call onx_call; /* a node that is being made ready, or run */
typedef onx_status onx_kernel_fn(onx_call *call, void *user);
typedef struct onx_kernel_def {
    size_t size;
    const char *name;  /* in plans and profiles; NULL: that of the operator */
    const char *types; /* of the inputs, as in signatures: "float|double, int64"; NULL: all that the
                          signature allows; so it is for inputs beyond the list */
    onx_kernel_fn *init; /* may be NULL */
    onx_kernel_fn *bind; /* NULL: output 0 has type and shape of input 0 */
    onx_kernel_fn *run;
    void (*fini)(void *state, void *user); /* of a state, if init succeeded; may be NULL */
    void *user;                            /* for all four */
    uint32_t overwrite; /* bit i: output 0 may be written over input i: each element is read before
                           its place is written */
    uint32_t host;      /* bit i: bind reads the data of input i */
    bool late; /* output shapes depend on data: there is no bind, run makes all outputs with
                  onx_kernel_make_output */
} onx_kernel_def;

/* init: zeroed memory for what the kernel knows of the node; NULL: no memory, or the second call.
 * Afterwards it is read only: runs share it. */
ONX_API void *onx_kernel_new_state(onx_call *call, size_t bytes);
ONX_API void *onx_kernel_state(const onx_call *call); /* NULL: there is none */
/* Attributes, or their defaults. Lists are NULL where there is none. */
ONX_API int64_t onx_kernel_int(const onx_call *call, const char *attribute);
ONX_API float onx_kernel_float(const onx_call *call, const char *attribute);
ONX_API onx_str onx_kernel_string(const onx_call *call, const char *attribute);
ONX_API const int64_t *onx_kernel_ints(const onx_call *call, const char *attribute, size_t *n);
ONX_API const float *onx_kernel_floats(const onx_call *call, const char *attribute, size_t *n);
ONX_API const onx_node *onx_kernel_node(const onx_call *call);
/* Inputs. One that is absent has dtype NONE. In init a rank or size that is not known is -1. */
ONX_API size_t onx_kernel_input_count(const onx_call *call);
ONX_API onx_dtype onx_kernel_dtype(const onx_call *call, size_t input);
ONX_API int64_t onx_kernel_rank(const onx_call *call, size_t input);
ONX_API const int64_t *onx_kernel_dims(const onx_call *call, size_t input); /* `rank` of them */
ONX_API int64_t onx_kernel_count(const onx_call *call, size_t input);       /* of elements */
/* Its elements: in run; in bind of `host` inputs and constants; in init of constants. Otherwise,
 * and of strings: NULL. */
ONX_API const void *onx_kernel_input(const onx_call *call, size_t input);
ONX_API onx_str onx_kernel_text(const onx_call *call, size_t input, int64_t index); /* a string */
/* Outputs. One that nobody wants has no memory: the functions below then do nothing. */
ONX_API size_t onx_kernel_output_count(const onx_call *call);
ONX_API bool onx_kernel_has_output(const onx_call *call, size_t output);
/* bind: what an output is; INVALID when a size is negative. */
ONX_API onx_status onx_kernel_set_shape(onx_call *call, size_t output, onx_dtype dtype, size_t rank,
                                        const int64_t *dims);
/* run of a late kernel: the same, and its memory in `*data` (which may be NULL). */
ONX_API onx_status onx_kernel_make_output(onx_call *call, size_t output, onx_dtype dtype,
                                          size_t rank, const int64_t *dims, void **data);
/* run: where the elements of an output go; NULL: nobody wants it, or they are strings. */
ONX_API void *onx_kernel_output(const onx_call *call, size_t output);
ONX_API onx_status onx_kernel_set_text(onx_call *call, size_t output, int64_t index, onx_str text);
/* bind: memory for the run: so much of it, and so much for each thread; not initialised. */
ONX_API onx_status onx_kernel_set_scratch(onx_call *call, size_t bytes, size_t each);
ONX_API void *onx_kernel_scratch(const onx_call *call); /* run: the first of the two */
/* run: tasks 0 … count - 1, in any order, on the threads of the session; best of 10 µs to 10 ms
 * each. `scratch` is that of the thread. A task that fails returns a status, not onx_kernel_fail,
 * and makes no tasks of its own. The first failure is returned. */
typedef onx_status onx_kernel_task(void *user, onx_call *call, size_t index, void *scratch);
ONX_API onx_status onx_kernel_parallel(onx_call *call, size_t count, onx_kernel_task *task,
                                       void *user);
/* run: is the run to end? Then return ONX_CANCELLED. Between tasks it is looked at anyway. */
ONX_API bool onx_kernel_stopped(const onx_call *call);
/* The node cannot be run: return this. The sentence may name sizes; node and types are added. */
ONX_API onx_status onx_kernel_fail(onx_call *call, onx_status status, const char *fmt, ...);

/* Operators from a shared library, which stays loaded as long as the context. The library has the
 * line ONX_OPS_LIBRARY, and a function that adds its operators:
 *
 *     ONX_OPS_LIBRARY
 *     onx_status onx_register_ops(onx_context *ctx, onx_diag *diag) {
 *         return onx_context_add_ops(ctx, 1, &twice, diag);
 *     }
 *
 * It calls the functions of onx.h that the program has: a program that is linked with libonx.a must
 * export them (-rdynamic). A library is code that runs with the rights of the program: none is ever
 * loaded because a model asks for it. UNSUPPORTED: made for another version of this interface; if
 * its function fails, none of its operators are added. */
ONX_API onx_status onx_context_load_ops(onx_context *ctx, const char *path, onx_diag *diag);
#define ONX_OPS_VERSION 1
#ifdef __cplusplus
#define ONX_OPS_EXTERN extern "C"
#else
#define ONX_OPS_EXTERN extern
#endif
#define ONX_OPS_LIBRARY                                                                            \
    ONX_OPS_EXTERN ONX_OPS_EXPORT const uint32_t onx_ops_version;                                  \
    const uint32_t onx_ops_version = ONX_OPS_VERSION;                                              \
    ONX_OPS_EXTERN ONX_OPS_EXPORT onx_status onx_register_ops(onx_context *ctx, onx_diag *diag);
#if defined(__GNUC__)
#define ONX_OPS_EXPORT __attribute__((visibility("default")))
#else
#define ONX_OPS_EXPORT
#endif

/* ─ Types and shapes ─────────────────────────────────────────────────────────────────────────── */

/* What can be known about the values of a model before it runs: types, and shapes whose sizes are
 * numbers or expressions over the names that inputs declare:
 *
 *     onx_inference *inference;
 *     onx_inference_new(model, NULL, &inference, &diag);
 *     onx_inference_type(inference, value, type, sizeof type);     "float[batch,2*seq + 1]"
 *     onx_inference_why(inference, value, 1, text, sizeof text);   why a size is not known
 *     onx_inference_free(inference);
 *
 * Declared types of what nodes compute fill in what cannot be inferred; where the two contradict
 * each other, what is inferred stands. A size that is not known has a name of its own, "?7", which
 * is the same wherever that size is meant. The model must outlive the inference and not change. */
typedef struct onx_inference onx_inference;

typedef struct onx_size { /* of a symbolic dimension */
    const char *name;
    int64_t value;
} onx_size;

typedef struct onx_infer_options {
    size_t size;
    size_t n_sizes; /* dimensions that are fixed: "batch" is 4 */
    const onx_size *sizes;
    /* A node that cannot be right, or a declared type that contradicts what is inferred, is a
     * failure: INVALID. Without this, nothing is known about the results of such a node. */
    bool strict;
    /* Hears of each of those. May be NULL. */
    void (*report)(void *user, const onx_diag *diag);
    void *user;
} onx_infer_options;

ONX_API onx_status onx_inference_new(const onx_model *model, const onx_infer_options *options,
                                     onx_inference **out, onx_diag *diag);
ONX_API void onx_inference_free(onx_inference *inference); /* NULL is fine */
/* Of any value of the main graph or of a graph inside it. NONE: not known. */
ONX_API onx_type_kind onx_inference_kind(const onx_inference *inference, const onx_value *value);
ONX_API onx_dtype onx_inference_dtype(const onx_inference *inference, const onx_value *value);
ONX_API bool onx_inference_has_shape(const onx_inference *inference, const onx_value *value);
ONX_API size_t onx_inference_rank(const onx_inference *inference, const onx_value *value);

typedef enum onx_extent_kind {
    ONX_EXTENT_UNKNOWN,  /* or an expression with something unknown in it */
    ONX_EXTENT_SYMBOLIC, /* an expression over declared names */
    ONX_EXTENT_NUMBER,
} onx_extent_kind;
ONX_API onx_extent_kind onx_inference_dim_kind(const onx_inference *inference,
                                               const onx_value *value, size_t index);
/* The size of a dimension if it is a number; else -1. */
ONX_API int64_t onx_inference_dim(const onx_inference *inference, const onx_value *value,
                                  size_t index);
/* Texts, as snprintf does. A size: "3", "2*batch", "?7 + 1". A type: "float[batch,3]". The elements
 * of small integer tensors, as far as they are known: "batch, 3, ?"; "" where none is. */
ONX_API size_t onx_inference_dim_text(const onx_inference *inference, const onx_value *value,
                                      size_t index, char *out, size_t size);
ONX_API size_t onx_inference_type(const onx_inference *inference, const onx_value *value, char *out,
                                  size_t size);
ONX_API size_t onx_inference_elements(const onx_inference *inference, const onx_value *value,
                                      char *out, size_t size);
/* Why a size or, for index SIZE_MAX, the rank or the type is not known: the way from the value back
 * to the operator that lost it, and the reason; a line each. "" where all is known. */
ONX_API size_t onx_inference_why(const onx_inference *inference, const onx_value *value,
                                 size_t index, char *out, size_t size);

/* Write what is inferred into the model: as value_info of what nodes compute, in the main graph and
 * those inside it, and into the declared types of outputs where these leave something open. Names
 * and sizes that are declared stay. What value_info says wrongly is corrected; an output that
 * contradicts what is inferred stays as it is declared. Expressions are written as dim_param,
 * "2*batch"; sizes that are not known have none. Sizes that are fixed by options are written as
 * numbers, also into the inputs. On NO_MEMORY some types may have been written. */
ONX_API onx_status onx_model_infer(onx_model *model, const onx_infer_options *options,
                                   onx_diag *diag);

/* ─ Checking ─────────────────────────────────────────────────────────────────────────────────── */

typedef enum onx_severity {
    ONX_SEVERITY_WARNING, /* valid, but probably not what was meant */
    ONX_SEVERITY_ERROR,   /* the model breaks a rule of ONNX */
} onx_severity;

/* What the checker looks for; NULL after the last one. Ids stay the same from version to
 * version. */
typedef struct onx_rule {
    const char *id;    /* "input-count" */
    const char *title; /* "a node has as many inputs as its operator" */
    onx_severity severity;
} onx_rule;
ONX_API const onx_rule *onx_rule_at(size_t index);

typedef struct onx_problem {
    const onx_rule *rule;
    const char *place;     /* "graph.node[3] 'conv1' (Conv), attribute 'pads'" */
    const char *graph;     /* the graph alone: "graph", "graph.node[3].body", "functions.d::f" */
    const char *node;      /* name of the node; NULL: it is about no node */
    size_t node_index;     /* in that graph */
    const char *attribute; /* NULL: it is about no attribute */
    const char *message;   /* what is wrong */
    const char *hint;      /* what to do about it; "" if obvious */
} onx_problem;

typedef struct onx_check_options {
    size_t size;
    bool full;           /* also what inference finds: shapes that cannot be, axes out of range */
    size_t max_problems; /* problems that are told; the rest is not looked at closely (1000) */
    /* Hears of every problem; it and its strings live until the call returns. NULL: nobody does. */
    void (*report)(void *user, const onx_problem *problem);
    void *user;
} onx_check_options;

/* Does the model follow the rules of ONNX? All problems are reported. INVALID, and `first` says the
 * first one, when any of them is an error. */
ONX_API onx_status onx_model_check(const onx_model *model, const onx_check_options *options,
                                   onx_diag *first);

/* ─ Other opset versions ─────────────────────────────────────────────────────────────────────── */

typedef struct onx_opset_target {
    const char *domain; /* NULL or "": ai.onnx */
    int64_t version;
} onx_opset_target;

typedef struct onx_convert_options {
    size_t size;
    size_t n_targets; /* one for each domain; the others stay as they are */
    const onx_opset_target *targets;
    /* Hears of everything that cannot be kept, before the failure; NULL: nobody does. */
    void (*report)(void *user, const onx_diag *diag);
    void *user;
} onx_convert_options;

/* The model as one that imports other versions of its opsets and means the same: main graph, graphs
 * inside it, training, functions. Newer ones, or older ones down to version 7 of ai.onnx. The IR
 * version is raised where that needs it, never lowered. UNSUPPORTED where some nodes have no
 * counterpart: `diag` has the first, `report` all of them. */
ONX_API onx_status onx_model_convert(const onx_model *model, const onx_convert_options *options,
                                     onx_model **out, onx_diag *diag);

/* ─ Functions inlined ────────────────────────────────────────────────────────────────────────── */

/* Functions are written "domain::name", or "domain::name:overload" for one of several; without a
 * domain, ai.onnx is meant. "*" stands for all of a domain ("com.acme::*"), alone for all there
 * are. */
typedef struct onx_inline_options {
    size_t size;
    /* Functions of the model that are inlined; none: all. Then, those that are not. */
    size_t n_only;
    const char *const *only;
    size_t n_except;
    const char *const *except;
    /* Also operators that are functions themselves, as Celu: these, or, with `all_operators`, every
     * node that there is a body for. */
    size_t n_operators;
    const char *const *operators;
    bool all_operators;
    bool keep; /* functions stay in the model, though nothing calls them any more */
    /* What the copies may take, in bytes (320 MiB, and 16 times the model): past it LIMIT, before
     * anything is copied. */
    size_t max_bytes;
} onx_inline_options;

/* A new model in which calls of functions are replaced by what the functions compute. Names of
 * inner values begin with that of the call. INVALID when a function calls itself; UNSUPPORTED when
 * one means other versions of operators than where it is called, or a node of `operators` has no
 * body; NOT_FOUND when the model has no function of a name. */
ONX_API onx_status onx_model_inline(const onx_model *model, const onx_inline_options *options,
                                    onx_model **out, onx_diag *diag);

/* ─ Models cut and joined ────────────────────────────────────────────────────────────────────── */

/* The part of a model that computes some of its values from others, as a new model. */
typedef struct onx_extract_options {
    size_t size;
    /* Values of the graph (not of subgraphs) that become its inputs. None: those inputs that are
     * needed. An initializer among them stays as default. */
    size_t n_inputs;
    const char *const *inputs;
    /* And its outputs. None: those of the graph. */
    size_t n_outputs;
    const char *const *outputs;
} onx_extract_options;

/* Nodes, initializers, functions, opset imports, declarations and annotations that are not needed
 * stay behind, and so does training information. Types that are not declared are inferred. Payloads
 * are shared, not copied. NOT_FOUND when a value is not there, or the outputs need one that cannot
 * be computed: the diagnostic shows the way to it. */
ONX_API onx_status onx_model_extract(const onx_model *model, const onx_extract_options *options,
                                     onx_model **out, onx_diag *diag);

/* What has a name. Values of subgraphs are VALUES or INITIALIZERS. */
typedef enum onx_names {
    ONX_NAMES_INPUTS = 1,
    ONX_NAMES_OUTPUTS = 2,
    ONX_NAMES_INITIALIZERS = 4,
    ONX_NAMES_VALUES = 8, /* the others */
    ONX_NAMES_ALL_VALUES = 15,
    ONX_NAMES_NODES = 16,
    ONX_NAMES_FUNCTIONS = 32,
    ONX_NAMES_ALL = 63,
    ONX_NAMES_DIMS = 64, /* symbolic dimensions, in expressions too */
    ONX_NAMES_GRAPHS = 128,
} onx_names;

typedef struct onx_name_pair {
    const char *from, *to;
} onx_name_pair;

typedef struct onx_rename_options {
    size_t size;
    unsigned what; /* of onx_names; 0: ALL_VALUES */
    /* New names. A star stands for any text, which stands for the star in the new name:
     * "encoder.*" to "enc.*". A name that is given as it is goes before those with a star. */
    size_t n_pairs;
    const onx_name_pair *pairs;
    const char *prefix; /* of all names that no pair is about; NULL: none */
} onx_rename_options;

/* New names, wherever the old ones are written: all at once, so that two may change places. Values
 * in bodies of functions keep theirs. CONFLICT when a name is taken; NOT_FOUND when a pair is about
 * nothing; nothing has changed then. */
ONX_API onx_status onx_model_rename(onx_model *model, const onx_rename_options *options,
                                    onx_diag *diag);

/* Output `output` of model `from` is input `input` of model `to`, which comes after it. Names as
 * the models have them, without prefixes. */
typedef struct onx_join {
    size_t from;
    const char *output;
    size_t to;
    const char *input;
} onx_join;

typedef struct onx_merge_options {
    size_t size;
    size_t n_joins;
    const onx_join *joins;
    bool by_name;      /* also join outputs with inputs of later models that have their names */
    bool share_inputs; /* inputs of one name and type that are left are one input */
    bool first_meta;   /* metadata that differ are those of the first model; else a CONFLICT */
    bool convert;      /* bring older opsets to the newest of any model, as onx_model_convert */
    /* As many as there are models, each may be NULL: put before the names of values, nodes and
     * functions, as onx_model_rename with ONX_NAMES_ALL. */
    const char *const *prefixes;
    const char *name; /* of the graph; NULL: those of the graphs, joined with "_" */
    /* Only what computes these outputs, from these inputs, as onx_model_extract; with prefixes. */
    size_t n_inputs;
    const char *const *inputs;
    size_t n_outputs;
    const char *const *outputs;
} onx_merge_options;

/* Models as one, which has their inputs but those that were joined, and their outputs but those
 * that went into an input. Functions that are the same are there once. CONFLICT when a name means
 * two things, or two opsets of one domain differ: prefixes and `convert` help. Training information
 * is UNSUPPORTED. Payloads are shared; external data of models that do not lie in one folder come
 * inside. */
ONX_API onx_status onx_model_merge(size_t n_models, const onx_model *const *models,
                                   const onx_merge_options *options, onx_model **out,
                                   onx_diag *diag);

/* What results do not depend on. */
typedef enum onx_strip {
    ONX_STRIP_DOCS = 1,      /* doc strings of everything that has one */
    ONX_STRIP_METADATA = 2,  /* pairs of strings, in the same way */
    ONX_STRIP_NAMES = 4,     /* of nodes */
    ONX_STRIP_TYPES = 8,     /* declared ones, but for inputs and outputs of graphs */
    ONX_STRIP_UNUSED = 16,   /* nodes, initializers, functions and opsets that no output needs */
    ONX_STRIP_PRODUCER = 32, /* who made the model, its domain and its version */
    ONX_STRIP_ALL = 63,
    ONX_STRIP_INPUTS = 64,    /* UNUSED, and inputs of the model that no output needs */
    ONX_STRIP_TRAINING = 128, /* training information */
} onx_strip;

typedef struct onx_stripped { /* how many of each, and the bytes of the model without its files */
    size_t size;
    size_t docs, metadata, names, types, nodes, initializers, inputs, functions, opsets, producer,
        training;
    uint64_t bytes_before, bytes_after;
} onx_stripped;

/* Remove some of onx_strip. `counts` may be NULL. */
ONX_API onx_status onx_model_strip(onx_model *model, unsigned what, onx_stripped *counts,
                                   onx_diag *diag);

/* Where constants stand. */
typedef enum onx_constants {
    ONX_CONSTANTS_INITIALIZERS, /* Constant nodes become initializers */
    ONX_CONSTANTS_NODES,        /* initializers that are no inputs become Constant nodes */
    ONX_CONSTANTS_INPUTS,       /* initializers of the graph become inputs, too: a caller can
                                   replace them */
    ONX_CONSTANTS_FIXED,        /* initializers are no inputs any more */
} onx_constants;

/* Move constants; values keep their names, and payloads are not copied. Subgraphs are gone into,
 * bodies of functions, which cannot have initializers, are not. A Constant that is an output of its
 * graph stays, and so does an initializer that training changes. `*count` (which may be NULL): how
 * many were moved. Before IR version 4 every initializer is an input: as nodes they are none, and
 * where initializers are to be no inputs, the IR version becomes 4. */
ONX_API onx_status onx_model_move_constants(onx_model *model, onx_constants where, size_t *count,
                                            onx_diag *diag);

/* One dimension of an input of the model. */
typedef struct onx_dim_change {
    const char *input;
    size_t axis;
    const char *name; /* a symbolic dimension from now on; "?": not known; NULL: of size `size` */
    int64_t size;
} onx_dim_change;

typedef struct onx_dims_options {
    size_t size;
    size_t n_sizes; /* symbolic dimensions that are fixed, wherever they stand */
    const onx_size *sizes;
    size_t n_changes;
    const onx_dim_change *changes;
    /* Hears of what may no longer be right: a Reshape with a constant that holds an old size. NULL:
     * nobody does. */
    void (*report)(void *user, const onx_diag *diag);
    void *user;
} onx_dims_options;

/* Fix and free dimensions. Expressions over names that are fixed are worked out. What is declared
 * of values that depend on inputs that were changed is inferred anew, or left open where that is
 * not known. To fix a dimension that has a name fixes the name. NOT_FOUND when no dimension has a
 * name; INVALID when inference finds that some node cannot be right with the new sizes: nothing has
 * changed then. */
ONX_API onx_status onx_model_set_dims(onx_model *model, const onx_dims_options *options,
                                      onx_diag *diag);

/* ─ Optimizing ───────────────────────────────────────────────────────────────────────────────── */

/* What may be done to a model so that it runs faster. */
typedef enum onx_level {
    ONX_LEVEL_DEFAULT,  /* all of it */
    ONX_LEVEL_NONE,     /* 0: the graph as it is, node by node */
    ONX_LEVEL_BASIC,    /* 1: what is left computes the same bits: constants, dead nodes */
    ONX_LEVEL_EXTENDED, /* 2: and other arithmetic with the same meaning: scales into weights */
    ONX_LEVEL_ALL,      /* 3: and several nodes as one operator; in a session also what only the
                           engine knows: fusion, layouts, packed weights */
} onx_level;

typedef struct onx_pass_info {
    const char *name, *summary;
    onx_level level; /* that it begins at */
    bool portable;   /* ONNX in and out; else it is for sessions alone */
} onx_pass_info;

/* The passes of the optimizer, in their order; false after the last one. */
ONX_API bool onx_pass_at(size_t index, onx_pass_info *out);

typedef struct onx_optimize_options {
    size_t size;
    onx_level level;
    /* Names of passes, as "fold, cse", that do not run, or run, whatever the level. NULL: none. */
    const char *disable, *enable;
    uint64_t fold_limit; /* a constant computed from smaller ones may have as many bytes (1 MiB) */
    size_t n_keep;       /* values that stay, by name */
    const char *const *keep;
    /* Called before a pass goes through the model; NULL: nobody listens. */
    void (*progress)(void *user, size_t round, const char *pass);
    /* Called in the end for each pass that ran: how many nodes and initializers it changed or
     * removed. NULL: nobody listens. */
    void (*report)(void *user, const onx_pass_info *pass, size_t changed);
    void *user;
} onx_optimize_options;

typedef struct onx_optimized { /* in the main graph and those inside it */
    size_t size;
    size_t nodes_before, nodes_after, initializers_before, initializers_after;
    uint64_t bytes_before, bytes_after; /* of initializers */
} onx_optimized;

/* A model that computes the same with less work, in ONNX that any runtime reads: inputs and outputs
 * stay. Results of level BASIC are the same bits; above it they may differ by rounding. Constants
 * are computed by this library's kernels. A model with training information is only copied.
 * Payloads are shared. `counts` may be NULL. NOT_FOUND: there is no such pass. */
ONX_API onx_status onx_model_optimize(const onx_model *model, const onx_optimize_options *options,
                                      onx_model **out, onx_optimized *counts, onx_diag *diag);

/* ─ PyTorch models ───────────────────────────────────────────────────────────────────────────── */

/* An argument of the program. */
typedef struct onx_export_input {
    const char *name; /* its own, or its new one; NULL: the one at this place */
    const char
        *type; /* "float[batch,3,224,224]": a name is a dynamic dimension; of an argument that
                         is no tensor its value: "3", "0.5", "true", "none". NULL: as the archive
                         has it */
} onx_export_input;

typedef struct onx_export_axis {
    const char *name; /* of an input or output of the model */
    int64_t axis;
    const char *size; /* what the dimension is called: equal names are equal sizes */
} onx_export_axis;

typedef enum onx_export_note {
    ONX_EXPORT_OPERATOR,   /* an operator of PyTorch that was lowered: "conv2d" */
    ONX_EXPORT_MISSING,    /* one that cannot be, with where it stands */
    ONX_EXPORT_DIMENSION,  /* an input with dimensions that are fixed */
    ONX_EXPORT_ASSUMPTION, /* what was taken to be so */
} onx_export_note;

/* An argument of an operator that a program lowers itself. */
typedef struct onx_export_arg {
    const char *name;   /* NULL: only its place is known */
    onx_attr_type type; /* of one that is known: INT (bools too), FLOAT, STRING, or lists of
                                these; else UNDEFINED: tensors, or, of none, None */
    int64_t i;
    double f;
    const char *s;
    size_t n; /* of a list; of tensors */
    const int64_t *ints;
    const float *floats;
    const char *const *strings;
    onx_value *const *values;
} onx_export_arg;

#define ONX_EXPORT_RESULTS 8

/* A call of such an operator: nodes are added at the end of `graph`. */
typedef struct onx_export_call {
    const char *op; /* "my::op" */
    onx_graph *graph;
    size_t n_args;
    const onx_export_arg *args;
    size_t n_results; /* what it gives, to be filled in: values of `graph` */
    onx_value *results[ONX_EXPORT_RESULTS];
} onx_export_call;

typedef struct onx_export_options {
    size_t size;
    int64_t opset;   /* 7 to 28 (18) */
    size_t n_inputs; /* those that the archive knows too little about */
    const onx_export_input *inputs;
    size_t n_input_names, n_output_names; /* in order; NULL, and those beyond: their own */
    const char *const *input_names, *const *output_names;
    size_t n_axes;
    const onx_export_axis *axes;
    bool training;               /* keep dropout and batch statistics */
    bool no_params;              /* weights are inputs, without data */
    bool initializers_as_inputs; /* weights are inputs, too */
    bool no_folding;             /* what is done to weights stays in the model */
    bool functions;              /* modules become functions */
    bool mutations;              /* buffers that the program changes are further outputs */
    size_t n_opsets;             /* of domains of the lowerings */
    const onx_opset_target *opsets;
    /* Operators of the program's own: functions of this model, of the operator's name in the domain
     * that is its namespace ("aten" for PyTorch's). Their inputs and attributes are the arguments,
     * by name where the archive has names; else tensors are inputs, and numbers, strings and lists
     * attributes, in order. NULL: none. */
    const onx_model *lowerings;
    /* The same by a function: NOT_FOUND leaves the operator to onx. NULL: none. */
    onx_status (*lower)(void *user, onx_export_call *call, onx_diag *diag);
    void (*progress)(void *user, size_t done, size_t total, const char *what); /* may be NULL */
    /* Hears of what was done and assumed, and how often; may be NULL. */
    void (*report)(void *user, onx_export_note kind, const char *text, size_t count);
    void *user;
    const char *method; /* of the root module, in the place of forward; NULL: forward */
} onx_export_options;

/* The model of a file of torch.jit.save or torch.export.save; nothing in it is executed. Weights
 * are not copied: the model keeps the file mapped. UNSUPPORTED, with all of them: operators that
 * cannot be exported, or a file that holds no program; then the hint says what to do in Python. */
ONX_API onx_status onx_model_export(onx_context *ctx, const char *path,
                                    const onx_export_options *options, onx_model **out,
                                    onx_diag *diag);
ONX_API onx_status onx_model_export_memory(onx_context *ctx, const void *data, size_t bytes,
                                           const onx_export_options *options, onx_model **out,
                                           onx_diag *diag);

/* ─ Models as programs ───────────────────────────────────────────────────────────────────────── */

typedef enum onx_language {
    ONX_LANGUAGE_C,      /* with this header */
    ONX_LANGUAGE_PYTHON, /* with the onnx package */
} onx_language;

typedef struct onx_code_options {
    size_t size;
    onx_language language;
    const char *weights; /* the file that the program reads weights from (model.weights) */
} onx_code_options;

/* Write the source of a program that builds the model: run with the name of a file, it writes a
 * model there that onx_model_equal calls the same. All but small tensors go to `weights`, which the
 * program reads; NULL: they stand in the program. UNSUPPORTED, with the place: the language cannot
 * say it. */
ONX_API onx_status onx_model_code(const onx_model *model, const onx_code_options *options,
                                  const onx_writer *code, const onx_writer *weights,
                                  onx_diag *diag);

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

/* Run a model, inputs and outputs in the caller's memory:
 *
 *     onx_session *s;
 *     onx_session_new(model, NULL, &s, &diag);
 *     onx_arg in = {.dtype = ONX_DTYPE_F32, .rank = 2, .dims = {1, 3}, .data = x, .bytes = 12};
 *     onx_arg out = {.data = y, .bytes = sizeof y};
 *     onx_session_run(s, 1, &in, 1, &out, NULL, &diag);
 *     onx_session_free(s);
 *
 * A session may be run from many threads at once. It holds what it needs of the model, which may be
 * freed or changed. */
#define ONX_RANK_MAX 16 /* dimensions of a tensor that can be computed with */

typedef struct onx_session onx_session;
typedef struct onx_cancel onx_cancel;
typedef struct onx_profile onx_profile;

/* What may be done to the numbers. FAST: factors of the products of matrices are rounded to
 * bfloat16 (8 bits; what is beyond its range becomes infinite), sums stay in float. That is for
 * MatMul, Gemm, attention and most of Conv in float32, also where they are parts of other
 * operators, on processors with AVX512-BF16 or AMX; all else is as with STRICT. Constant weights
 * take half the memory. Results are the same whatever the number of threads, but not on another
 * processor. STRICT: products with weights of float16 are as precise as float16. */
typedef enum onx_numerics {
    ONX_NUMERICS_STRICT, /* each operator as precise as its types allow */
    ONX_NUMERICS_FAST,   /* less precise types inside of operators are allowed, too */
} onx_numerics;

typedef enum onx_log_level {
    ONX_LOG_DEBUG,   /* about single nodes */
    ONX_LOG_INFO,    /* what was decided: providers, programs, memory */
    ONX_LOG_WARNING, /* it works, but not as it was asked for */
} onx_log_level;
typedef void onx_log_fn(void *user, onx_log_level level, const char *message);

typedef struct onx_session_options {
    size_t size;
    /* In order of preference: "cuda, cpu". "cpu" and "cuda" are known, and the names
     * CPUExecutionProvider and CUDAExecutionProvider. One that is not in this build is passed over
     * when one that is follows, else UNSUPPORTED. NULL: what there is. */
    const char *providers;
    const char *cpu; /* at most this instruction set: "avx2"; NULL: $ONX_CPU, or the best */
    /* Of a run; 0: as many as the process may use. Weights are packed with all of these. */
    size_t threads;
    onx_level level;
    /* Bytes that the session may hold at once: its copy of the model, its programs, packed weights
     * (which sessions without a limit share), memory of runs, outputs that the caller has not given
     * back. More is NO_MEMORY, and the session stays usable. 0: no limit of its own. */
    size_t memory_limit;
    size_t n_sizes; /* dimensions that are fixed ahead */
    const onx_size *sizes;
    /* Initializers that take the place of those of the model with their names, whose own data may
     * be missing; that define what the model leaves open; or that fix an input, which then is none
     * any more. */
    size_t n_initializers;
    const onx_tensor *const *initializers;
    size_t n_pins; /* values that every run can be asked for; see onx_session_run */
    const char *const *pins;
    bool pin_all; /* every value of the graph */
    bool dynamic; /* bind every step when it runs, as if no shape were known before */
    onx_numerics numerics;
    onx_log_fn *log; /* hears what the session decides, on any thread that uses it. NULL: nobody */
    void *log_user;
    /* For tests: fresh memory is filled with this byte; then results that depend on memory which
     * nobody wrote differ. 0: it is not, unless the environment says ONX_POISON=0xA5. */
    uint8_t poison;
    /* Names of passes, as "fold, cse", that do not run, or run, whatever the level: those of
     * onx_pass_at, and of the engine's own. NOT_FOUND: there is none of that name. NULL: none. */
    const char *disable, *enable;
} onx_session_options;

/* One input or output of a run. Start with zeros. */
typedef struct onx_arg {
    const char *name; /* NULL: the one at this position in the graph */
    onx_dtype dtype;
    size_t rank;
    int64_t dims[ONX_RANK_MAX];
    void *data;      /* dense. Output: NULL: onx allocates it */
    size_t bytes;    /* of data */
    onx_data *value; /* what is not a dense tensor: strings, sequences, maps, optionals */
    void *owned;     /* private: of outputs that onx allocated; see onx_arg_clear */
} onx_arg;

typedef struct onx_run_options {
    size_t size;
    onx_cancel *cancel;   /* stops the run when it is set; NULL: nothing does */
    double timeout;       /* seconds, then the run fails with CANCELLED; 0: none */
    onx_profile *profile; /* is told what each step took; NULL: none */
    /* Called before each step of the main graph, in the thread of the run; `node` may be "". */
    void (*progress)(void *user, size_t step, size_t steps, const char *node);
    void *progress_user;
} onx_run_options;

/* The model is checked as far as running it needs. */
ONX_API onx_status onx_session_new(const onx_model *model, const onx_session_options *options,
                                   onx_session **out, onx_diag *diag);
ONX_API void onx_session_free(onx_session *session); /* NULL is fine */
/* Inputs are read in place and must stay as they are during the run. Outputs with `data` are
 * written there, in memory that no input is in: USAGE when they are larger than `bytes`. The others
 * are allocated: free them with onx_arg_clear. On success dtype, rank and dims of outputs are set.
 * An output may be any value of the graph, by name, also one in a subgraph (then it is what that
 * graph computed last, or has dtype NONE when it did not run): the first such run prepares a
 * program that keeps it. */
ONX_API onx_status onx_session_run(onx_session *session, size_t n_in, const onx_arg *in,
                                   size_t n_out, onx_arg *out, const onx_run_options *options,
                                   onx_diag *diag);
ONX_API size_t onx_session_input_count(const onx_session *session);
ONX_API const char *onx_session_input_name(const onx_session *session, size_t index);
ONX_API const onx_type *onx_session_input_type(const onx_session *session, size_t index);
ONX_API bool onx_session_input_optional(const onx_session *session,
                                        size_t index); /* has a default */
ONX_API size_t onx_session_output_count(const onx_session *session);
ONX_API const char *onx_session_output_name(const onx_session *session, size_t index);
ONX_API const onx_type *onx_session_output_type(const onx_session *session, size_t index);
ONX_API size_t onx_session_threads(const onx_session *session);
ONX_API const char *onx_session_cpu(const onx_session *session); /* the instruction set: "avx512" */
/* Measures the machine, in about a fifth of a second: float operations in a second that the threads
 * of the session can do at most, with vectors, and bytes that they read and write when they copy
 * memory. */
ONX_API onx_status onx_session_peak(const onx_session *session, double *flops, double *bytes,
                                    onx_diag *diag);

/* The C source of a table of the families of operators that the session uses. A static program that
 * links it before libonx.a has only these, and is small. */
ONX_API onx_status onx_session_table(const onx_session *session, const onx_writer *writer,
                                     onx_diag *diag);

/* What a data file holds, as an argument: its bytes in place where they lie densely, else a copy;
 * strings and everything but tensors as `value`. `data` must outlive it. Clear it in the end. */
ONX_API onx_status onx_arg_from_data(onx_data *data, onx_arg *out, onx_diag *diag);
/* And back: a copy. */
ONX_API onx_status onx_arg_to_data(onx_context *ctx, const onx_arg *arg, onx_data **out,
                                   onx_diag *diag);
ONX_API void onx_arg_clear(onx_arg *arg); /* frees what onx allocated, and leaves zeros */

/* Stop runs from another thread: they fail with CANCELLED soon after. */
ONX_API onx_status onx_cancel_new(onx_context *ctx, onx_cancel **out);
ONX_API void onx_cancel_set(onx_cancel *cancel, bool cancelled);
ONX_API void onx_cancel_free(onx_cancel *cancel);

/* What each step of a run took. Every run given the profile adds to it. */
typedef struct onx_profile_event {
    const char *node;   /* name of the node, or of its first output */
    const char *op;     /* "Conv"; "onx.internal::Tile" */
    const char *kernel; /* "conv_f32 avx512" */
    const char *shapes; /* "float[1,3,224,224] float[64,3,7,7] -> float[1,64,112,112]" */
    int64_t start_ns, ns;
    int64_t own_ns;  /* of them: without the steps of its subgraphs, which are events themselves */
    size_t bytes;    /* read and written */
    double flops;    /* operations by definition: 2 for each product; 0: they do not matter */
    uint32_t thread; /* of the run: 0 is the first that the profile has seen */
    uint32_t depth;  /* 0 in the main graph */
} onx_profile_event;
ONX_API onx_status onx_profile_new(onx_context *ctx, onx_profile **out);
ONX_API void onx_profile_free(onx_profile *profile);
ONX_API size_t onx_profile_count(const onx_profile *profile);
ONX_API const onx_profile_event *onx_profile_event_at(const onx_profile *profile, size_t index);
typedef enum onx_profile_format {
    ONX_PROFILE_TABLE, /* for people: a line for each node and its shapes, the longest first */
    ONX_PROFILE_TRACE, /* JSON for Chrome's about:tracing, which Perfetto reads, too */
} onx_profile_format;
ONX_API onx_status onx_profile_write(const onx_profile *profile, onx_profile_format format,
                                     const onx_writer *writer, onx_diag *diag);

/* The plan for inputs of the shapes of `in` (data may be NULL): steps, kernels, where values
 * lie. */
typedef struct onx_plan_value {
    const char *name;
    char type[128]; /* "float[1,64,112,112]"; "float[1,?]", "?": some is known only in the run */
    /* "slab"; "share": the place of another value; "input", "output", "constant"; "bind": computed
     * while binding; "run": its size is known only in the run */
    const char *where;
    size_t offset, bytes; /* in the slab */
    size_t first, last;   /* steps between which it lives */
} onx_plan_value;
typedef struct onx_plan_step {
    const char *node, *op, *kernel;
    const char *when; /* "run", "bind" (its result depends on shapes alone), "late" */
    size_t n_in, n_out;
    const uint32_t *in, *out; /* values; UINT32_MAX: absent */
    int32_t overwrites;       /* which input output 0 is written over; -1: none */
    size_t scratch;
    /* Of the graphs inside the node, which belong to this plan. They have slabs of their own; where
     * the sizes that come in are known only in the run, so are theirs. */
    size_t n_children;
    const struct onx_plan *const *children;
} onx_plan_step;
typedef struct onx_plan onx_plan;
ONX_API onx_status onx_plan_new(onx_session *session, size_t n_in, const onx_arg *in,
                                onx_plan **out, onx_diag *diag);
ONX_API void onx_plan_free(onx_plan *plan);
ONX_API const char *onx_plan_name(const onx_plan *plan); /* of a child: "then_branch"; else "" */
ONX_API size_t onx_plan_step_count(const onx_plan *plan);
ONX_API const onx_plan_step *onx_plan_step_at(const onx_plan *plan, size_t index);
ONX_API size_t onx_plan_value_count(const onx_plan *plan);
ONX_API const onx_plan_value *onx_plan_value_at(const onx_plan *plan, size_t index);
ONX_API size_t onx_plan_slab(const onx_plan *plan);   /* bytes of the slab */
ONX_API size_t onx_plan_bound(const onx_plan *plan);  /* no plan can need less at its worst step */
ONX_API size_t onx_plan_packed(const onx_plan *plan); /* bytes of packed weights */

/* ─ Printing ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct onx_print_options {
    size_t size;
    bool colour;         /* ANSI colours */
    size_t max_elements; /* of a constant shown before it is shortened (8) */
    size_t width;        /* of the terminal; 0: do not fold */
    const char *graph;   /* only the graphs and functions of this name; NULL: the whole model */
} onx_print_options;

/* A listing of the model for people (not meant to be parsed; save as .onnxtxt for that). */
ONX_API onx_status onx_model_print(const onx_model *model, const onx_writer *writer,
                                   const onx_print_options *options, onx_diag *diag);

#ifdef __cplusplus
} /* extern "C" */

template <class T> inline T onx_init_options() {
    T options = T();
    options.size = sizeof(T);
    return options;
}
#define ONX_INIT(type) onx_init_options<type>()

template <class... Values>
inline onx_value *onx_graph_add_op(onx_graph *graph, const char *op, const char *output,
                                   Values... inputs) {
    onx_value *all[] = {inputs...};
    return onx_graph_add_op_array(graph, op, output, sizeof...(inputs), all);
}
#endif
#endif
