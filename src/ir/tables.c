/* tables.c: fields.def as tables for the codec. */
#include "ir/ir.h"

static const onx_enum_name onx_enum_location[] = {{0, "DEFAULT"}, {1, "EXTERNAL"}, {0, NULL}};
static const onx_enum_name onx_enum_attr_type[] = {
    {0, "UNDEFINED"},       {1, "FLOAT"},       {2, "INT"},          {3, "STRING"},
    {4, "TENSOR"},          {5, "GRAPH"},       {6, "FLOATS"},       {7, "INTS"},
    {8, "STRINGS"},         {9, "TENSORS"},     {10, "GRAPHS"},      {11, "SPARSE_TENSOR"},
    {12, "SPARSE_TENSORS"}, {13, "TYPE_PROTO"}, {14, "TYPE_PROTOS"}, {0, NULL}};

#define STRUCT_OF(message, type, proto) typedef type message##_struct;
ONX_MESSAGES(STRUCT_OF)

#define ROW(message, number, name, member, kind, oneof, child, enums)                              \
    {number, ONX_FIELD_##kind, oneof, offsetof(message##_struct, member), #name, child, enums},
#define BIT(message, number, name, member, kind, oneof, child, enums)                              \
    | ((ONX_FIELD_##kind == ONX_FIELD_MSG || ONX_FIELD_##kind == ONX_FIELD_MSGS)                   \
       << (ONX_ROW_##message##_##name - ONX_ROW_##message##_before - 1))
#define TABLE(message, type, proto)                                                                \
    static const onx_field message##_fields[] = {ONX_FIELDS_##message(ROW)};                       \
    const onx_desc onx_desc_##message = {proto, sizeof(type), ONX_COUNT(message##_fields),         \
                                         message##_fields, 0u ONX_FIELDS_##message(BIT)};
ONX_MESSAGES(TABLE)
