/* torch_tensor.h: PyTorch's tensors as files hold them: a dtype, sizes and strides over a storage.
 *
 * Storages are records of an archive, and interned by it: two tensors share memory exactly when
 * their `storage` is the same pointer, and are the same tensor when all else is equal too
 * (onx_torch_tensor_same): tied weights stay tied. Tensors that a reader made, or that
 * onx_torch_tensor_check accepted, lie within their storage. */
#ifndef ONX_TORCH_TENSOR_H
#define ONX_TORCH_TENSOR_H

#include "export/archive.h"
#include "ir/ir.h"

/* ── Element types ───────────────────────────────────────────────────────────────────────────── */

/* The numbers are c10's, those of dtype=… in TorchScript. */
typedef enum onx_torch_dtype {
#define ONX_TORCH(id, c10, pt2, bytes, name, storage, safetensors, onx) ONX_TORCH_##id = c10,
#include "export/torch_dtype.def"
#undef ONX_TORCH
    ONX_TORCH_NONE = 255
} onx_torch_dtype;

typedef struct onx_torch_dtype_info {
    onx_torch_dtype dtype;
    uint8_t pt2;         /* 0: has none */
    uint8_t bytes;       /* of an element */
    onx_str name;        /* "float32" */
    onx_str storage;     /* "FloatStorage"; empty: has none */
    onx_str safetensors; /* "F32"; empty: has none */
    onx_dtype onx;       /* ONX_DTYPE_NONE: ONNX has no such type */
} onx_torch_dtype_info;

/* NULL: there is none. Of a name, "torch." in front and the other names that PyTorch has (half,
 * float, double, short, int, long, cfloat, …) are known too. */
const onx_torch_dtype_info *onx_torch_dtype_of(int64_t c10);
const onx_torch_dtype_info *onx_torch_dtype_of_pt2(int64_t number);
const onx_torch_dtype_info *onx_torch_dtype_of_name(onx_str name);
const onx_torch_dtype_info *onx_torch_dtype_of_storage(onx_str class_name);
const onx_torch_dtype_info *onx_torch_dtype_of_safetensors(onx_str name);
/* The plain one (never quantized) of an ONNX type. */
const onx_torch_dtype_info *onx_torch_dtype_of_onx(onx_dtype dtype);

/* ── Tensors ─────────────────────────────────────────────────────────────────────────────────── */

typedef struct onx_torch_storage {
    onx_archive *archive;
    onx_str record; /* its name in the archive */
    uint64_t bytes; /* its size. 0 although tensors need more: the file leaves the data out, as
                       traced_inputs.pkl does, and only types and sizes are known */
    onx_str data;   /* NULL until a tensor is loaded */
} onx_torch_storage;

typedef struct onx_torch_tensor onx_torch_tensor;

/* real = (integer - zero_point) * scale, for all, or along `axis`. */
typedef struct onx_torch_quant {
    bool per_channel;
    double scale; /* of the whole tensor */
    int64_t zero_point;
    const onx_torch_tensor *scales, *zero_points; /* per channel; float64 or float32, int64 … */
    int64_t axis;
} onx_torch_quant;

#define ONX_TORCH_RANK 64 /* PyTorch's own limit */

struct onx_torch_tensor {
    onx_torch_storage *storage;
    onx_torch_dtype dtype;
    bool requires_grad, is_parameter;
    size_t rank;
    const int64_t *dims, *strides; /* strides and offset count elements */
    int64_t offset;
    const onx_torch_quant *quant; /* NULL: not quantized */
};

/* The storage of a record; made at the first call, the same pointer ever after. A record that is
 * not there is NOT_FOUND. It lives as long as the archive. */
onx_status onx_torch_storage_of(onx_archive *archive, onx_str record, onx_torch_storage **out,
                                onx_diag *diag) ONX_MUST_CHECK;
/* Do sizes and strides make sense, and all elements lie in the storage? Readers call it; so must
 * whoever fills in the struct from a file. */
onx_status onx_torch_tensor_check(const onx_torch_tensor *tensor, onx_diag *diag) ONX_MUST_CHECK;
bool onx_torch_tensor_same(const onx_torch_tensor *a, const onx_torch_tensor *b);
bool onx_torch_tensor_is_contiguous(const onx_torch_tensor *tensor);
bool onx_torch_tensor_has_data(const onx_torch_tensor *tensor);
/* A complex tensor as a real one with a last dimension of 2 (view_as_real), over the same storage.
 * Others as they are. The new sizes come from `arena`. */
onx_status onx_torch_tensor_real(onx_arena *arena, const onx_torch_tensor *tensor,
                                 onx_torch_tensor *out, onx_diag *diag) ONX_MUST_CHECK;

/* The tensor as ONNX's, a detached message of `doc`. When it is contiguous its payload is not
 * copied, but shared with the mapped file; else its elements are gathered. Of quantized ones these
 * are the integers. UNSUPPORTED: ONNX has no such type; CHANGED: damaged data. */
onx_status onx_torch_tensor_load(onx_doc *doc, const onx_torch_tensor *tensor, onx_tensor **out,
                                 onx_diag *diag) ONX_MUST_CHECK;
/* The same as an initializer. */
onx_status onx_torch_tensor_add(onx_graph *graph, const char *name, const onx_torch_tensor *tensor,
                                onx_value **out, onx_diag *diag) ONX_MUST_CHECK;

#endif
