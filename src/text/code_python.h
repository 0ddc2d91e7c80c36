/* code_python.h: what the files code_python*.c share. */
#ifndef ONX_CODE_PYTHON_H
#define ONX_CODE_PYTHON_H

#include "text/code.h"

bool onx_code_py_is_odd(const onx_code *code, const void *msg);
bool onx_code_is_utf8(onx_str text);
/* Is protobuf text enough for the message? Not for unknown fields, NaN, and text that is none. */
bool onx_code_py_is_textual(const onx_msg *msg);
/* A string literal; what is not UTF-8 fails. */
void onx_code_py_str(onx_code *code, onx_str text, const onx_msg *where);
/* ["a", "b"] */
void onx_code_py_strs(onx_code *code, const onx_strs *names, const onx_msg *where);
/* An expression for any message: "parse(NodeProto(), ...)"; or, with `into`, a statement that fills
 * what that gives: "parse(g.node.add(), ...)". */
void onx_code_py_message(onx_code *code, const char *into, const onx_msg *msg);

/* code_python_data.c: expressions. */
void onx_code_py_tensor(onx_code *code, const onx_tensor *tensor);
void onx_code_py_attr(onx_code *code, const onx_attr *attr);
void onx_code_py_dtype(onx_code *code, int32_t data_type);

/* code_python_program.c */
void onx_code_py_tail(onx_code *code);
void onx_code_py_head(onx_code *code);
/* The statement that adds a message to a list of `holder`: "g.metadata_props.add(...)". */
void onx_code_py_add(onx_code *code, const char *holder, const onx_msg *msg);
/* The single fields of a message that are set: "g.name = ..." */
void onx_code_py_fields(onx_code *code, const char *name, const onx_msg *msg);

#endif
