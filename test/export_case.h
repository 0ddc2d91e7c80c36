/* export_case.h: calls of PyTorch's operators as text: lowered, checked, run, compared.
 *
 *     add(f32[2]{1,2}, f32[]{3}, alpha=2) = f32[2]{7,8}
 *     sum(f32[N=2,3]{1,2,3,4,5,6}, [1]) = f32[2]{6,15} @ ReduceSum
 *     <20> gelu(f32[1]{0}) = f32[1]{0} @ Gelu
 *     max(f32[2,2]{1,4,3,2}, 1) = f32[2]{4,3}, i64[2]{1,0}
 *     div(i64[2]{1,2}, 2, rounding_mode="mode") fails
 *
 * A tensor is an input of the model; `N=2` is a dimension of any size that is 2 in this run. One
 * without braces has the elements export_case_at(k), k counting all elements of all such tensors of
 * the line. Complex tensors have two numbers for an element. Other arguments: numbers, True, False,
 * None, "text", lists in brackets, and types: a bare `f32` is the number that PyTorch has for it.
 *
 * Results are compared by type, shape and elements (1e-5 + 1e-4·|expected|; integers exactly);
 * numbers are compared as tensors of rank 0, lists as one result after another. Behind @ are the
 * operators of the model, in order, without those that nothing needs. */
#ifndef ONX_TEST_EXPORT_CASE_H
#define ONX_TEST_EXPORT_CASE_H

#include "export/export.h"

/* Is it as the line says? What is not is printed. */
bool export_case(const char *line);
size_t export_cases(size_t n, const char *const *lines); /* how many are not */

/* The same call, for results that are computed in C. */
typedef struct export_result {
    onx_dtype dtype;
    size_t rank, n;
    int64_t dims[ONX_RANK_MAX];
    double *v; /* n numbers; free them */
} export_result;
enum { EXPORT_RESULTS = 16 };
/* `call` ends behind its parenthesis. How many results; 0: it failed, and why is printed. */
size_t export_call(const char *call, export_result out[EXPORT_RESULTS]);
void export_results_free(size_t n, export_result *out);
double export_case_at(size_t k); /* of 0.25 steps between -2.5 and 2.5, none 0 */

#endif
