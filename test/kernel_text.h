/* kernel_text.h: kernels tested by text: inputs, a node, and what must come out.
 *
 *     {20, "string[2] x = {\"a b\", \"c\"}", "y, n = StringSplit(x)", "[2,2] a|b|c|; [2] 2 1"}
 *     {20, "string[1] x = {\"a\"}", "y = RegexFullMatch<pattern=\"(\">(x)", "!missing )"}
 *
 * Outputs are written with their shapes, strings between bars, numbers with 6 digits; behind '!'
 * stand words of the sentence of a failure. */
#ifndef ONX_TEST_KERNEL_TEXT_H
#define ONX_TEST_KERNEL_TEXT_H

#include "kernel.h"

typedef struct kernel_line {
    int opset;
    const char *inputs, *node, *want;
} kernel_line;

/* How many of the lines do not hold, on the plain kernels; each is printed. */
size_t kernel_lines_fail(const kernel_line *lines, size_t n);

#endif
