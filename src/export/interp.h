/* interp.h: TorchScript programs, run on values of which only types and sizes are known.
 *
 *     onx_interp *in = onx_interp_open(x, archive);
 *     for (size_t i = 0; i < onx_interp_input_count(in); i++) values[i] = …onx_interp_input(in, i)…
 *     onx_interp_run(in, values);
 *     for (size_t i = 0; i < onx_interp_output_count(in); i++) … onx_interp_output(in, i) …
 *     onx_interp_close(in);
 *
 * `forward` of the root module is gone through once, as PyTorch would: modules and functions are
 * inlined, what can be computed is, branches that are decided are taken, loops of known length are
 * unrolled. What is left are calls of operators, and branches and loops that become If and Loop.
 * Failures are kept in `x`; everything here accepts NULL and an `x` that failed. */
#ifndef ONX_INTERP_H
#define ONX_INTERP_H

#include "export/archive.h"
#include "export/export.h"
#include "export/script.h"

typedef struct onx_interp onx_interp;

onx_interp *onx_interp_open(onx_export *x, onx_archive *archive); /* NULL: x failed */
void onx_interp_close(onx_interp *in);

/* What forward takes, in its order; tuples, lists and dicts are taken apart ("hx.0", "x.key"). */
typedef struct onx_interp_arg {
    onx_str name;
    const onx_script_expr *type; /* Tensor, Optional[Tensor], int, List[Tensor] … */
    bool optional;               /* it may be None, or has a default: it may be left out */
    const struct onx_torch_tensor
        *sample; /* that it was traced with: its type and sizes; or NULL */
} onx_interp_arg;
size_t onx_interp_input_count(const onx_interp *in);
/* There will be n: where forward takes a list and nothing else tells its length, that does. To be
 * called before the inputs are looked at. */
void onx_interp_expect(onx_interp *in, size_t n);
const onx_interp_arg *onx_interp_input(const onx_interp *in, size_t i);

/* Run forward. `values` are one for each input; OTHER where an optional one is left out. */
bool onx_interp_run(onx_interp *in, const onx_xv *values);

/* What it gave, taken apart: tensors and numbers, named by keys of dicts and fields of named
 * tuples ("logits", "past.0"); without any, "output" or "output_0" … */
typedef struct onx_interp_result {
    onx_str name;
    onx_xv value;
} onx_interp_result;
size_t onx_interp_output_count(const onx_interp *in);
const onx_interp_result *onx_interp_output(const onx_interp *in, size_t i);
/* What it changed: tensors of modules and inputs, by name ("bn.running_mean"), as they are then.
 * All of these are noted. */
size_t onx_interp_write_count(const onx_interp *in);
const onx_interp_result *onx_interp_write(const onx_interp *in, size_t i);

#endif
