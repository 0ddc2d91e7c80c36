/* signature.h: reading one attribute of a signature where it stands; for attrs.c. */
#ifndef ONX_SIGNATURE_H
#define ONX_SIGNATURE_H

#include "ops/op.h"

/* The declaration of attribute `name`, without allocation; false: there is none. */
bool onx_signature_attr(const char *signature, const char *name, onx_attr_decl *out);

#endif
