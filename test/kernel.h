/* kernel.h: tests of kernels: one node at a time, on one tier ("ref", "base", "avx2" …).
 *
 *     onx_operand x = kernel_operand(ONX_DTYPE_F32, "2,3", (float[]){1, 2, 3, 4, 5, 6});
 *     kernel_result r = kernel_run("avx2", 18, "y = Softmax<axis=1>(x)", 1, (onx_operand *[]){&x},
 *     0); CHECK(r.status == ONX_OK); … r.out[0] …
 *     kernel_free(&r);
 *
 */
#ifndef ONX_TEST_KERNEL_H
#define ONX_TEST_KERNEL_H

#include "cpu/cpu.h"
#include "rt/eval.h"
#include "rt/object.h"

enum { KERNEL_OUTS = 8 };

typedef struct kernel_result {
    onx_status status;
    onx_diag diag;
    const onx_kernel *kernel; /* that ran */
    size_t n_out;
    onx_operand out[KERNEL_OUTS];
} kernel_result;

/* The tiers this machine has, best first, "ref" last; NULL ends the list. */
const char *const *kernel_tiers(void);
/* The same, and those that have rows for numerics FAST once more: "bf16+fast". */
const char *const *kernel_tiers_fast(void);
static inline bool kernel_is_fast(const char *tier) {
    return strchr(tier, '+') != NULL;
}
/* An operand over the caller's memory: dims as "2,3" ("" is a scalar). */
onx_operand kernel_operand(onx_dtype dtype, const char *dims, void *data);
/* Compute a node given as ONNX text, "y, z = Op<axis=1>(a, b)", at opset `opset` (of ai.onnx;
 * onx.internal, com.microsoft and ai.onnx.preview.training are imported at 1). `in[i]` NULL:
 * absent. Bit i of `constant`: input i is constant. A tier such as "bf16+fast": with the rows of
 * numerics FAST. */
kernel_result kernel_run(const char *tier, int opset, const char *node, size_t n_in,
                         onx_operand *const *in, uint32_t constant);
void kernel_free(kernel_result *result);
/* The largest |a-b| / max(1, |b|) over float32 or float64 operands of equal shape; HUGE_VAL when
 * shapes, types or NaNs differ. */
double kernel_distance(const onx_operand *a, const onx_operand *b);
/* Fill with reproducible numbers in [lo, hi]. */
void kernel_fill(float *out, size_t n, uint64_t seed, float lo, float hi);
void kernel_fill_bytes(uint8_t *out, size_t n, uint64_t seed);

/* Every backend test $ONX_DATA/node/test_<prefix>… that has one node, on every tier, against its
 * recorded outputs. Returns how many ran (0: no data); prints and counts failures in *failed. A
 * test that no row takes counts as failed, unless its name contains one of the `|`-separated words
 * in `except`. */
size_t kernel_backend(const char *prefix, const char *except, size_t *failed);

#endif
