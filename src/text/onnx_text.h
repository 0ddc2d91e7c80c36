/* onnx_text.h: what the printer and the parser of ONNX text share. The syntax is described in
 * doc/text-format.md.
 *
 * Plain text is the syntax of the onnx package. What it cannot say stands in notes, comments that
 * begin with "#@":
 *
 *     #@ raw doc_string: "weights" metadata_props { key: "a" value: "b" }
 *     float[2] w = {1.0, 2.5}
 *
 * A note tells about the thing that follows it: the model, a graph, function, node, attribute,
 * tensor or value. It gives fields of that message, which replace what the plain text says of them.
 * "!name" says that the field is not set. "raw", which comes first, says that the numbers in braces
 * are stored in raw_data. The onnx package skips notes, and reads the rest.
 *
 * A note of the model may hold "each node { … }" and "each tensor { … }": the notes of those that
 * have none.
 */
#ifndef ONX_ONNX_TEXT_H
#define ONX_ONNX_TEXT_H

#include "ir/type_text.h"

/* How one number of a payload is stored. */
typedef struct onx_form {
    enum { ONX_FORM_INT, ONX_FORM_UINT, ONX_FORM_F32, ONX_FORM_F64, ONX_FORM_STRING } kind;
    uint8_t width; /* bytes; 0: varint */
    int64_t least;
    uint64_t most;
} onx_form;

/* What the numbers in braces are for one element type: elements of a list of TensorProto, or of
 * raw_data. */
typedef struct onx_payload {
    uint8_t row; /* of the list, in the table of TensorProto */
    const onx_form *list, *raw;
} onx_payload;

const onx_payload *onx_payload_of(int32_t dtype); /* NULL: no such type */

/* Attributes by onx_attr_type. */
typedef struct onx_attr_form {
    const char *word;
    uint8_t row;  /* where the value is, in the table of AttributeProto */
    uint8_t elem; /* the type of one element; of a single value: its own type */
} onx_attr_form;
enum { ONX_ATTR_FORMS = ONX_ATTR_TYPES + 1 };
extern const onx_attr_form onx_attr_forms[ONX_ATTR_FORMS]; /* none for ONX_ATTR_UNDEFINED */

#endif
