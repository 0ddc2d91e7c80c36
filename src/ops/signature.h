/* signature.h: reading parts of a signature where they stand. */
#ifndef ONX_SIGNATURE_H
#define ONX_SIGNATURE_H

#include "ops/op.h"

/* The declaration of attribute `name`, without allocation; false: there is none. */
bool onx_signature_attr(const char *signature, const char *name, onx_attr_decl *out);

/* Cut the part before `stop`, without spaces around it, off the front of `rest`, which ends as
 * NULL; false: it has ended. What stands inside brackets or quotes does not stop it. */
bool onx_signature_cut(onx_str *rest, char stop, onx_str *part);
/* The tensors that a word of a signature stands for, as bits 1 << dtype; 0: it is neither a type
 * nor a set. */
uint32_t onx_signature_types(onx_str word);

#endif
