/* code_c.h: what the files code_c*.c share. */
#ifndef ONX_CODE_C_H
#define ONX_CODE_C_H

#include "text/code.h"

/* Helpers that stand at the top of the program if it uses them. */
enum {
    ONX_USE_NODE = 1,
    ONX_USE_OUTPUT = 2,
    ONX_USE_TYPES = 4,
    ONX_USE_TENSOR = 8,  /* set_tensor */
    ONX_USE_TYPED = 16,  /* set_typed */
    ONX_USE_STORED = 32, /* typed, for initializers */
    ONX_USE_LOAD = 64,   /* load_tensor */
    ONX_USE_BITS = 128,
    ONX_USE_STRINGS = 256, /* set_strings */
    ONX_USE_BLANK = 512,
    ONX_USE_ADD = 1024,  /* add_tensor */
    ONX_USE_ATTR = 2048, /* load_attr */
};

bool onx_code_c_plan(onx_code *code);
bool onx_code_c_is_odd(const onx_code *code, const void *msg);
/* A string literal; what C strings cannot hold fails. */
void onx_code_c_str(onx_code *code, onx_str text, const onx_msg *where);
/* The statement that merges a message into graph `g`, node `n` or model `m`. */
void onx_code_c_merge(onx_code *code, const char *call, const onx_msg *msg);

void onx_code_c_unknown(onx_code *code, const char *call, const onx_msg *msg);
/* Metadata of the model `m`, graph `g` or node `n`; and can they be set one by one? */
void onx_code_c_entry(onx_code *code, char kind, const onx_list *all, const onx_entry *entry);
bool onx_code_c_plain_entries(const onx_list *entries);

/* code_c_data.c */
void onx_code_c_tensor(onx_code *code, const onx_tensor *tensor); /* an initializer */
void onx_code_c_attr(onx_code *code, const onx_attr *attr);
void onx_code_c_head(onx_code *code);
void onx_code_c_tail(onx_code *code);

#endif
