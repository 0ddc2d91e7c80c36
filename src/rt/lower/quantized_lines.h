/* quantized_lines.h: see quantized_lines.c. */
#ifndef ONX_QUANTIZED_LINES_H
#define ONX_QUANTIZED_LINES_H

#include "rt/lower/lower.h"

onx_status onx_lower_quantized_lines(onx_pass_ctx *ctx, onx_graph *graph) ONX_MUST_CHECK;

#endif
