/* surgery_case.h: what is done to whole models, as text: files of models before and after.
 *
 *     == name of the case
 *     do: extract inputs=a,b outputs=c      what is done, by one of the words below
 *     <model in ONNX text>
 *     +++++
 *     <another model>                       for merge
 *     -----
 *     <the model afterwards>                or "error: STATUS words of the message"
 *
 *     extract inputs=a,b outputs=c
 *     merge from:out=to:in by-name share-inputs first-meta convert prefixes=a/,b/ name=g
 *           inputs=a outputs=b
 *     rename what=NODES,DIMS prefix=p/ old=new
 *     strip DOCS UNUSED …
 *     constants INITIALIZERS|NODES|INPUTS|FIXED
 *     dims set:N=4 fix:x:0=4 free:x:0=N warns=1
 *
 * Each case is also run with every allocation failing in turn. A failure leaves the model as it
 * was. */
#ifndef ONX_TEST_SURGERY_CASE_H
#define ONX_TEST_SURGERY_CASE_H

#include "onx.h"

/* One thing done to models: of the first in place, or `*out` is a new one. For other tests, too. */
onx_status surgery_do(const char *what, size_t n, onx_model **models, onx_model **out,
                      onx_diag *diag);

/* All cases of test/surgery/<file>; the number of those that failed, which are printed. `*count`
 * grows by the number of cases. */
size_t surgery_case_file(const char *file, size_t *count);

#endif
