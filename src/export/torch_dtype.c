/* torch_dtype.c: the element types of torch_dtype.def, found by each of their names. */
#include "export/torch_tensor.h"

static const onx_torch_dtype_info table[] = {
#define TEXT(literal)                                                                              \
    { literal, sizeof(literal) - 1 }
#define ONX_TORCH(id, c10, pt2, bytes, name, storage, safetensors, onx)                            \
    {ONX_TORCH_##id, pt2, bytes, TEXT(name), TEXT(storage), TEXT(safetensors), ONX_DTYPE_##onx},
#include "export/torch_dtype.def"
#undef ONX_TORCH
};

/* Other names in PyTorch. */
static const struct {
    onx_str alias, name;
} aliases[] = {
    {TEXT("half"), TEXT("float16")},       {TEXT("float"), TEXT("float32")},
    {TEXT("double"), TEXT("float64")},     {TEXT("short"), TEXT("int16")},
    {TEXT("int"), TEXT("int32")},          {TEXT("long"), TEXT("int64")},
    {TEXT("chalf"), TEXT("complex32")},    {TEXT("cfloat"), TEXT("complex64")},
    {TEXT("cdouble"), TEXT("complex128")},
};

#define FIND(condition)                                                                            \
    for (const onx_torch_dtype_info *info = table; info < table + ONX_COUNT(table); info++)        \
        if (condition) return info;                                                                \
    return NULL

const onx_torch_dtype_info *onx_torch_dtype_of(int64_t c10) {
    FIND((int64_t)info->dtype == c10);
}

const onx_torch_dtype_info *onx_torch_dtype_of_pt2(int64_t number) {
    FIND(number && info->pt2 == number);
}

const onx_torch_dtype_info *onx_torch_dtype_of_name(onx_str name) {
    static const onx_str torch = TEXT("torch.");
    if (name.size > torch.size && memcmp(name.data, torch.data, torch.size) == 0)
        name = (onx_str){name.data + torch.size, name.size - torch.size};
    for (size_t i = 0; i < ONX_COUNT(aliases); i++)
        if (onx_str_eq(aliases[i].alias, name)) name = aliases[i].name;
    FIND(onx_str_eq(info->name, name));
}

const onx_torch_dtype_info *onx_torch_dtype_of_storage(onx_str class_name) {
    FIND(class_name.size && onx_str_eq(info->storage, class_name));
}

const onx_torch_dtype_info *onx_torch_dtype_of_safetensors(onx_str name) {
    FIND(name.size && onx_str_eq(info->safetensors, name));
}

/* Quantized types come after the plain ones that hold their integers. */
const onx_torch_dtype_info *onx_torch_dtype_of_onx(onx_dtype dtype) {
    FIND(dtype != ONX_DTYPE_NONE && info->onx == dtype);
}
