/* safetensors.h: safetensors files, alone or in parts that an index names: named tensors, no graph.
 *
 *     u64 header size │ header: JSON │ the bytes of all tensors, one after the other
 *
 * Read strictly: every byte belongs to one tensor, whose size is that of its type and shape. */
#ifndef ONX_SAFETENSORS_H
#define ONX_SAFETENSORS_H

#include "export/torch_tensor.h"

typedef struct onx_safetensor {
    onx_str name; /* followed by a NUL */
    onx_torch_tensor tensor;
} onx_safetensor;

typedef struct onx_safetensors {
    onx_context *ctx;
    onx_arena arena;
    onx_map names;            /* to tensors */
    onx_safetensor **tensors; /* in the order of the header */
    size_t count, cap;
    onx_archive **files;
    size_t file_count, file_cap;
} onx_safetensors;

/* A file, or an index; the tensors stay until it is closed, and what shares their bytes longer. */
onx_status onx_safetensors_open(onx_context *ctx, const char *path, onx_safetensors **out,
                                onx_diag *diag) ONX_MUST_CHECK;
/* The same for one file in memory, which must stay. */
onx_status onx_safetensors_open_memory(onx_context *ctx, onx_str bytes, onx_safetensors **out,
                                       onx_diag *diag) ONX_MUST_CHECK;
void onx_safetensors_close(onx_safetensors *st); /* may be NULL */
const onx_torch_tensor *onx_safetensors_find(const onx_safetensors *st, onx_str name);

#endif
