/* pass_case.h: rewrites as text: files of models before and after.
 *
 *     == name of the case
 *     run: fold dce               the passes or rewrites, in this order; "all"
 *     pins: a b                   values that must stay
 *     block: 8                    channels of a block
 *     limit: 64                   bytes of a constant computed from smaller ones
 *     without: Tile               operators of onx.internal that have no kernel
 *     <model in ONNX text>
 *     -----
 *     <the model afterwards>      or the word "unchanged"
 *
 * Each case is also run with every allocation failing in turn. */
#ifndef ONX_TEST_PASS_CASE_H
#define ONX_TEST_PASS_CASE_H

#include "pass/pass.h"

typedef onx_status pass_case_runner(onx_pass_ctx *ctx, const char *name); /* "all", or of one */

/* All cases of test/pass/<file>; the number of those that failed, which are printed. `*count` grows
 * by the number of cases. */
size_t pass_case_file(const char *file, pass_case_runner *run, size_t *count);

#endif
