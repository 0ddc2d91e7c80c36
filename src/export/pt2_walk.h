/* pt2_walk.h: a walk through a program of torch.export, which makes the calls of its nodes. */
#ifndef ONX_PT2_WALK_H
#define ONX_PT2_WALK_H

#include "export/names.h"
#include "export/pt2.h"

typedef struct onx_pt2_walk {
    onx_export *x;
    onx_pt2 *program;
    const onx_xnames *names; /* NULL: none */
    onx_map values;          /* (graph, name) to onx_xv */
    onx_map symbols;         /* name in the program to onx_sym */
    bool told;               /* that a rank is not what the program notes */
    bool autocast; /* operators are given floats of the type that they are noted to give */
} onx_pt2_walk;

/* pt2_export.c: the program becomes the graph of x->model; what is assumed is noted there. */
onx_status onx_pt2_export(onx_export *x, onx_pt2 *program, const onx_xnames *names) ONX_MUST_CHECK;

/* pt2_io.c: inputs and weights before the walk, outputs after it. False: x failed. */
bool onx_pt2_inputs(onx_pt2_walk *w);
bool onx_pt2_outputs(onx_pt2_walk *w);

/* pt2_symbols.c: what the symbols of the program are called, from the sizes of inputs; and the
 * sizes of one, of that name. */
bool onx_pt2_symbols(onx_pt2_walk *w);
bool onx_pt2_input_sizes(onx_pt2_walk *w, const onx_pt2_tensor *tensor, const char *name,
                         const onx_sym **out);
/* What the user or the program calls user input `i`, which is input `at` of the graph. */
const char *onx_pt2_input_name(onx_pt2_walk *w, size_t i, size_t at);

/* pt2_graph.c: all nodes of a graph; an argument as a value; a result under the name in `arg`. */
bool onx_pt2_run(onx_pt2_walk *w, const onx_pt2_graph *graph);
onx_xv onx_pt2_value(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_arg *arg);
bool onx_pt2_bind(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_arg *arg, onx_xv v);

/* pt2_python.c: functions of Python on numbers; false: there is none of that name. */
bool onx_pt2_python(onx_export *x, onx_str target, size_t n, const onx_xv *args, onx_xv *out);

/* pt2_control.c: torch.ops.higher_order.NAME. False: x failed. */
bool onx_pt2_higher(onx_pt2_walk *w, const onx_pt2_graph *graph, const onx_pt2_node *node,
                    onx_str name);

#endif
