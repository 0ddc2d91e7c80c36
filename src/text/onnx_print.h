/* onnx_print.h: the parts of the printer of ONNX text: things in onnx_print.c, nodes in
 * onnx_print_node.c, tensors in onnx_print_tensor.c, notes in onnx_print_note.c. */
#ifndef ONX_ONNX_PRINT_H
#define ONX_ONNX_PRINT_H

#include "base/out.h"
#include "text/onnx_text.h"

/* What a note has to say: fields by their place in the table, as bits. */
typedef struct onx_note {
    uint32_t left; /* set, and not, or not exactly, in the plain text */
    uint32_t gone; /* not set, though the plain text will say so */
    bool raw;
} onx_note;

typedef struct onx_printer {
    onx_out out;
    onx_buf scratch;
    size_t indent;
    onx_note each_node, each_tensor;
} onx_printer;

/* The plain text says the fields `plain`, if they can stand in text, and always those of
 * `always`. */
onx_note onx_note_of(const void *msg, uint32_t plain, uint32_t always);
/* The note before a thing, on lines of its own. If there is nothing to say, `lead` is written
 * instead; NULL where nothing stands on the line yet. */
void onx_note_print(onx_printer *pr, const void *msg, onx_note note, const char *lead);
void onx_note_print_each(onx_printer *pr);
/* Entries that can stand as "key": "value". */
bool onx_entries_are_plain(const onx_list *entries);

void onx_newline(onx_printer *pr);
void onx_print_number(onx_printer *pr, int64_t v);
void onx_print_string(onx_printer *pr, onx_str s);
void onx_print_name(onx_printer *pr, onx_str s); /* bare if it may be, else as a string */
void onx_print_names(onx_printer *pr, const onx_strs *names);
void onx_print_entries(onx_printer *pr, const onx_list *entries);

void onx_print_type(onx_printer *pr, const onx_type *type);

/* A node, around its attributes. */
onx_note onx_node_note(const onx_node *node);
void onx_print_node(onx_printer *pr, const onx_node *node);
void onx_print_node_end(onx_printer *pr, const onx_node *node);

/* An attribute, up to where its graphs stand; they are for the caller, from the first one on. */
void onx_print_attr(onx_printer *pr, const onx_attr *attr);
const onx_msg *onx_attr_first_graph(const onx_attr *attr);
void onx_print_attr_end(onx_printer *pr, const onx_attr *attr);

/* Tensors in attributes have no name that is no identifier, and no '=' before their numbers. */
onx_note onx_tensor_note(const onx_tensor *tensor, bool in_attr);
void onx_print_tensor(onx_printer *pr, const onx_tensor *tensor, bool in_attr, const char *lead);

#endif
