/* onnx_forms.c: the tables of onnx_text.h. */
#include "text/onnx_text.h"

#define INDEX(message, field) (ONX_ROW_##message##_##field - ONX_ROW_##message##_before - 1)

static const onx_form i8 = {ONX_FORM_INT, 1, INT8_MIN, INT8_MAX};
static const onx_form i16 = {ONX_FORM_INT, 2, INT16_MIN, INT16_MAX};
static const onx_form i32 = {ONX_FORM_INT, 4, INT32_MIN, INT32_MAX};
static const onx_form i64 = {ONX_FORM_INT, 8, INT64_MIN, INT64_MAX};
static const onx_form u8 = {ONX_FORM_UINT, 1, 0, UINT8_MAX};
static const onx_form u16 = {ONX_FORM_UINT, 2, 0, UINT16_MAX};
static const onx_form u32 = {ONX_FORM_UINT, 4, 0, UINT32_MAX};
static const onx_form u64 = {ONX_FORM_UINT, 8, 0, UINT64_MAX};
static const onx_form f32 = {ONX_FORM_F32, 4, 0, 0};
static const onx_form f64 = {ONX_FORM_F64, 8, 0, 0};
static const onx_form v32 = {ONX_FORM_INT, 0, INT32_MIN, INT32_MAX};
static const onx_form v64 = {ONX_FORM_INT, 0, INT64_MIN, INT64_MAX};
static const onx_form vu64 = {ONX_FORM_UINT, 0, 0, UINT64_MAX};
static const onx_form string = {ONX_FORM_STRING, 0, 0, 0};

/* Halves and smaller floats are written as their bits, and types of less than a byte as the bytes
 * they share: so are they stored in int32_data, and so does the onnx package write them. */
static const onx_payload payloads[ONX_DTYPE_COUNT] = {
    [ONX_DTYPE_F32] = {INDEX(tensor, float_data), &f32, &f32},
    [ONX_DTYPE_C64] = {INDEX(tensor, float_data), &f32, &f32},
    [ONX_DTYPE_F64] = {INDEX(tensor, double_data), &f64, &f64},
    [ONX_DTYPE_C128] = {INDEX(tensor, double_data), &f64, &f64},
    [ONX_DTYPE_I64] = {INDEX(tensor, int64_data), &v64, &i64},
    [ONX_DTYPE_U64] = {INDEX(tensor, uint64_data), &vu64, &u64},
    [ONX_DTYPE_U32] = {INDEX(tensor, uint64_data), &vu64, &u32},
    [ONX_DTYPE_STRING] = {INDEX(tensor, string_data), &string, NULL},
    [ONX_DTYPE_I32] = {INDEX(tensor, int32_data), &v32, &i32},
    [ONX_DTYPE_I16] = {INDEX(tensor, int32_data), &v32, &i16},
    [ONX_DTYPE_I8] = {INDEX(tensor, int32_data), &v32, &i8},
    [ONX_DTYPE_U16] = {INDEX(tensor, int32_data), &v32, &u16},
    [ONX_DTYPE_F16] = {INDEX(tensor, int32_data), &v32, &u16},
    [ONX_DTYPE_BF16] = {INDEX(tensor, int32_data), &v32, &u16},
    [ONX_DTYPE_U8] = {INDEX(tensor, int32_data), &v32, &u8},
    [ONX_DTYPE_BOOL] = {INDEX(tensor, int32_data), &v32, &u8},
    [ONX_DTYPE_F8E4M3FN] = {INDEX(tensor, int32_data), &v32, &u8},
    [ONX_DTYPE_F8E4M3FNUZ] = {INDEX(tensor, int32_data), &v32, &u8},
    [ONX_DTYPE_F8E5M2] = {INDEX(tensor, int32_data), &v32, &u8},
    [ONX_DTYPE_F8E5M2FNUZ] = {INDEX(tensor, int32_data), &v32, &u8},
    [ONX_DTYPE_F8E8M0] = {INDEX(tensor, int32_data), &v32, &u8},
    [ONX_DTYPE_F6E2M3] = {INDEX(tensor, int32_data), &v32, &u8},
    [ONX_DTYPE_F6E3M2] = {INDEX(tensor, int32_data), &v32, &u8},
    [ONX_DTYPE_F4E2M1] = {INDEX(tensor, int32_data), &v32, &u8},
    [ONX_DTYPE_U4] = {INDEX(tensor, int32_data), &v32, &u8},
    [ONX_DTYPE_I4] = {INDEX(tensor, int32_data), &v32, &u8},
    [ONX_DTYPE_U2] = {INDEX(tensor, int32_data), &v32, &u8},
    [ONX_DTYPE_I2] = {INDEX(tensor, int32_data), &v32, &u8},
};

const onx_payload *onx_payload_of(int32_t dtype) {
    return dtype > 0 && dtype < ONX_DTYPE_COUNT ? &payloads[dtype] : NULL;
}

const onx_attr_form onx_attr_forms[ONX_ATTR_FORMS] = {
    [ONX_ATTR_FLOAT] = {"float", INDEX(attr, f), ONX_ATTR_FLOAT},
    [ONX_ATTR_INT] = {"int", INDEX(attr, i), ONX_ATTR_INT},
    [ONX_ATTR_STRING] = {"string", INDEX(attr, s), ONX_ATTR_STRING},
    [ONX_ATTR_TENSOR] = {"tensor", INDEX(attr, t), ONX_ATTR_TENSOR},
    [ONX_ATTR_GRAPH] = {"graph", INDEX(attr, g), ONX_ATTR_GRAPH},
    [ONX_ATTR_FLOATS] = {"floats", INDEX(attr, floats), ONX_ATTR_FLOAT},
    [ONX_ATTR_INTS] = {"ints", INDEX(attr, ints), ONX_ATTR_INT},
    [ONX_ATTR_STRINGS] = {"strings", INDEX(attr, strings), ONX_ATTR_STRING},
    [ONX_ATTR_TENSORS] = {"tensors", INDEX(attr, tensors), ONX_ATTR_TENSOR},
    [ONX_ATTR_GRAPHS] = {"graphs", INDEX(attr, graphs), ONX_ATTR_GRAPH},
    [ONX_ATTR_SPARSE_TENSOR] = {"sparse_tensor", INDEX(attr, sparse_tensor),
                                ONX_ATTR_SPARSE_TENSOR},
    [ONX_ATTR_SPARSE_TENSORS] = {"sparse_tensors", INDEX(attr, sparse_tensors),
                                 ONX_ATTR_SPARSE_TENSOR},
    [ONX_ATTR_TYPE] = {"type_proto", INDEX(attr, tp), ONX_ATTR_TYPE},
    [ONX_ATTR_TYPES] = {"type_protos", INDEX(attr, type_protos), ONX_ATTR_TYPE},
};
