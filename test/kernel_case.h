/* kernel_case.h: a node with its inputs and, where they are recorded, its outputs: from a folder of
 * the backend tests, or from ONNX text whose initializers are the inputs. */
#ifndef ONX_TEST_KERNEL_CASE_H
#define ONX_TEST_KERNEL_CASE_H

#include "rt/eval.h"

enum { KERNEL_INS = 32 };

typedef struct kernel_files { /* tensors that are held */
    onx_data *data[KERNEL_INS];
    onx_operand operand[KERNEL_INS];
    bool copied[KERNEL_INS];
    size_t n;
} kernel_files;

typedef struct kernel_case {
    onx_model *model;
    const onx_node *node;
    size_t n_in;
    onx_operand *in[KERNEL_INS]; /* NULL: absent */
    kernel_files inputs;         /* of the graph, then initializers */
    kernel_files outputs;        /* of the graph */
} kernel_case;

/* False: there is no model of one node over tensors there. */
bool kernel_case_load(const char *folder, kernel_case *out);
bool kernel_case_text(const char *text, kernel_case *out);
void kernel_case_free(kernel_case *c);

#endif
