/* type_text.h: types as ONNX text.
 *
 *     float              a scalar: rank 0           seq(T)   optional(T)   map(int64, T)
 *     float[]            of any rank                sparse_tensor(float[N])
 *     float[N,3,?,"a b"] a name, a size, unknown    opaque()   opaque(name)   opaque(domain,name)
 *
 * Text has no place for denotations, unknown fields and the like: onx_type_is_plain tells. As in
 * the onnx package, `undefined` stands for no element type, and an empty pair of parentheses for no
 * type at all.
 */
#ifndef ONX_TYPE_TEXT_H
#define ONX_TYPE_TEXT_H

#include "ir/ir.h"
#include "ir/onnx_lex.h"

/* A detached type of the document, from the whole of `text`. */
onx_status onx_type_parse(onx_doc *doc, onx_str text, onx_type **out, onx_diag *diag)
    ONX_MUST_CHECK;
/* The same from a lexer. It is for the caller to see that it does not lie too deep. */
onx_status onx_type_read(onx_lex *lex, onx_type **out) ONX_MUST_CHECK;
/* Messages that are nested inside the type. */
size_t onx_type_height(const onx_type *type);
/* Does a type come next? If it is to be `named`, a word that is not followed by a name is the name
 * itself. */
bool onx_type_is_next(onx_lex *lex, bool named);

void onx_type_print(const onx_type *type, onx_buf *buf);
/* Does what onx_type_print writes read back as this very type? */
bool onx_type_is_plain(const onx_type *type);

/* "float" for 1; "undefined" if there is no such type. */
const char *onx_dtype_word(int32_t dtype);
/* Can this not stand for a name because a type begins with it? */
bool onx_is_type_word(onx_str word);

#endif
