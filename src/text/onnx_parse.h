/* onnx_parse.h: the parts of the parser of ONNX text: things in onnx_parse.c, nodes in
 * onnx_parse_node.c, tensors in onnx_parse_tensor.c, notes in onnx_parse_note.c.
 *
 * The message that is being read is the one the builder has open (b.at); functions say which one
 * they expect. */
#ifndef ONX_ONNX_PARSE_H
#define ONX_ONNX_PARSE_H

#include "text/onnx_text.h"
#include "text/tree.h"

typedef struct onx_parser {
    onx_builder b;
    onx_lex lex;
    onx_buf scratch;                     /* a payload, or a path */
    onx_buf frames;                      /* of onx_frame: lists that are open */
    const char *each_node, *each_tensor; /* the notes of those that have none */
} onx_parser;

/* An open list, and what is to be done when it is complete. */
typedef struct onx_frame {
    enum { ONX_IN_NODES, ONX_IN_ATTRS, ONX_IN_VALUES } list; /* { … }, < … >, [ … ] */
    bool started;          /* an element was read: a comma or the end follows */
    bool open;             /* of attributes: the last one is still to be finished */
    bool is_after;         /* of attributes: they stand behind the inputs */
    uint8_t type;          /* of values: what the elements are; 0: not known yet */
    const char *note;      /* of the holder of the list */
    const char *attr_note; /* of the attribute that is open */
} onx_frame;

onx_status onx_frame_push(onx_parser *p, onx_frame frame) ONX_MUST_CHECK;
onx_frame *onx_frame_top(onx_parser *p);
onx_frame onx_frame_pop(onx_parser *p);

/* Make a type that was read a child of the open message. */
onx_status onx_parser_add_type(onx_parser *p, const onx_field *field, onx_type *type)
    ONX_MUST_CHECK;
/* Read a name or a string into a field of the open message. */
onx_status onx_parse_name(onx_parser *p, const onx_field *field, const char *what) ONX_MUST_CHECK;
onx_status onx_parse_string(onx_parser *p, const onx_field *field, const char *what) ONX_MUST_CHECK;
/* "key": "value", … up to the closing bracket, into a field of the open message. */
onx_status onx_parse_entries(onx_parser *p, const onx_field *field) ONX_MUST_CHECK;

/* The open graph, up to the brace before its nodes. */
onx_status onx_parse_graph(onx_parser *p, const char *note) ONX_MUST_CHECK;

/* A node of the open graph or function; it ends here, or with a list of attributes that is now
 * open. */
onx_status onx_parse_node(onx_parser *p, const char *note) ONX_MUST_CHECK;
/* What follows the attributes of the open node: the inputs, or, where these came first, nothing. */
onx_status onx_parse_inputs(onx_parser *p, const char *note) ONX_MUST_CHECK;
onx_status onx_parse_node_end(onx_parser *p, const char *note) ONX_MUST_CHECK;

/* The next attribute of the open node or function. */
onx_status onx_parse_attr(onx_parser *p) ONX_MUST_CHECK;
/* One value of the open attribute: the next one of a list, or, if not `in_list`, the only one. */
onx_status onx_parse_value(onx_parser *p, unsigned type, bool in_list) ONX_MUST_CHECK;

/* The bits of a number of that form. Only what is written as infinity is infinite. */
bool onx_parse_number(onx_str text, const onx_form *form, uint64_t *bits);
/* The open tensor: what follows its type and name. */
onx_status onx_parse_tensor(onx_parser *p, const onx_type *type, const char *note) ONX_MUST_CHECK;

/* What a note says of the open message. NULL says nothing. Adds to *gone, if given, the fields that
 * are not set. */
onx_status onx_parse_note(onx_parser *p, const char *note, uint32_t *gone) ONX_MUST_CHECK;
bool onx_note_is_raw(const onx_parser *p, const char *note);

#endif
