/* interp_form.h: values of Python that only the model decides on, in a form that nodes can give.
 *
 * The two ways that a branch may go, or two turns of a loop, give values of one form; where they
 * differ, a form is found that both have:
 *
 *     None and a value           two: whether there is one, and which   (onx_py_maybe)
 *     lists of different length  a tensor, elements along a first axis  (interp_stack.c)
 *     nothing yet and a tuple    as many values that nobody looks at
 *
 * Values are put into their form for the node (encode), and what it gives is put back (decode). */
#ifndef ONX_INTERP_FORM_H
#define ONX_INTERP_FORM_H

#include "export/interp_internal.h"

typedef struct onx_py_form onx_py_form;

/* The form that `v` has and that values of `form` (NULL: none yet) can have; `*changed` is set when
 * those must be encoded once more. NULL: x failed. */
const onx_py_form *onx_py_form_join(onx_interp *in, const onx_py_form *form, const onx_xv *v,
                                    bool *changed);
onx_xv onx_py_encode(onx_interp *in, const onx_xv *v, const onx_py_form *form);
onx_xv onx_py_decode(onx_interp *in, const onx_xv *v, const onx_py_form *form);

#endif
