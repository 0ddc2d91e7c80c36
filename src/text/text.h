/* text.h: models as text. Three forms; parse(print(m)) equals m for each.
 *
 *   ONNX text onnx_print.c, onnx_parse.c the syntax of the onnx package's parser and printer
 *   JSON           json_map.c                    the protobuf JSON mapping
 *   protobuf text  textproto_*.c                 the protobuf text format
 *
 * Parsers build the message tree in `doc`, make it the root, and leave linking to the caller. They
 * copy what they keep.
 */
#ifndef ONX_TEXT_H
#define ONX_TEXT_H

#include "ir/ir.h"

onx_status onx_text_print(const onx_model *model, const onx_writer *writer, onx_diag *diag)
    ONX_MUST_CHECK;
/* Parts, for text around them: the initializers and inner types of a graph, "<float[1] w = {1}>"
 * or nothing; its nodes; a name. */
onx_status onx_text_print_values(const onx_graph *graph, const onx_writer *writer, onx_diag *diag)
    ONX_MUST_CHECK;
onx_status onx_text_print_nodes(const onx_graph *graph, const onx_writer *writer, onx_diag *diag)
    ONX_MUST_CHECK;
onx_status onx_text_print_name(onx_context *ctx, onx_str name, const onx_writer *writer,
                               onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_text_parse(onx_doc *doc, onx_str text, onx_model **out, onx_diag *diag)
    ONX_MUST_CHECK;

/* Any message of the tables. */
onx_status onx_json_print(const void *msg, const onx_writer *writer, onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_json_parse(onx_doc *doc, const onx_desc *desc, onx_str text, onx_msg **out,
                          onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_textproto_print(const void *msg, const onx_writer *writer, onx_diag *diag)
    ONX_MUST_CHECK;
onx_status onx_textproto_parse(onx_doc *doc, const onx_desc *desc, onx_str text, onx_msg **out,
                               onx_diag *diag) ONX_MUST_CHECK;

#endif
