/* pt2.h: programs of torch.export as files hold them.
 *
 *     onx_pt2 program;
 *     ONX_TRY(onx_pt2_read(archive, &program, diag));
 *     for (size_t i = 0; i < program.graph->n_nodes; i++) … program.graph->nodes[i].target …
 *     onx_pt2_fini(&program);
 *
 * The forms that files of different versions have become one here: schema 8, any minor version, and
 * schema 1 (torch 2.1); archives of torch 2.8 and later, and the flat ones before. Enumerations
 * (types, layouts, memory formats) have c10's numbers. What is not known is left out; what a graph
 * needs and is not there is MALFORMED, with the place. Graphs are inside each other at most as deep
 * as the JSON text may be, so a walk may recurse. */
#ifndef ONX_PT2_H
#define ONX_PT2_H

#include "base/json_tree.h"
#include "export/export.h"
#include "export/pickle.h"

typedef struct onx_pt2_graph onx_pt2_graph;
typedef struct onx_pt2_arg onx_pt2_arg;

typedef enum onx_pt2_kind {
    ONX_PT2_NONE,
    ONX_PT2_NAME, /* str: a value of the graph: a tensor, a number, an object */
    ONX_PT2_INT,  /* i; also types, layouts, memory formats */
    ONX_PT2_FLOAT,
    ONX_PT2_BOOL,
    ONX_PT2_COMPLEX,
    ONX_PT2_STR,
    ONX_PT2_DEVICE, /* str: "cpu", "cuda" */
    ONX_PT2_LIST,
    ONX_PT2_DICT, /* list: values; keys */
    ONX_PT2_GRAPH,
} onx_pt2_kind;

/* An argument, or what a graph takes or gives. */
struct onx_pt2_arg {
    onx_str name; /* of the parameter; "": by position */
    onx_pt2_kind kind;
    union {
        int64_t i;
        struct {
            double f, im;
        };
        onx_str str;
        struct {
            const onx_pt2_arg *list;
            const onx_str *keys;
            size_t n;
        };
        const onx_pt2_graph *graph;
    };
};

typedef struct onx_pt2_node {
    onx_str target; /* "torch.ops.aten.add.Tensor" */
    size_t n_in, n_out;
    const onx_pt2_arg *in, *out;
    onx_str stack;   /* of source lines; the last one is the innermost */
    onx_str modules; /* "key,path,class;key,path,class …", outermost first */
} onx_pt2_node;

/* A size or a number of the graph. */
typedef struct onx_pt2_size {
    onx_str expr; /* no data: it is `value` */
    int64_t value;
} onx_pt2_size;

/* What is noted about a tensor of a graph. */
typedef struct onx_pt2_tensor {
    const onx_torch_dtype_info *dtype;
    size_t rank;
    const onx_pt2_size *sizes;
} onx_pt2_tensor;

struct onx_pt2_graph {
    size_t n_in, n_out, n_nodes;
    const onx_pt2_arg *in, *out;
    const onx_pt2_node *nodes;
};

/* X(NAME, key in the file, key of what it is bound to) */
#define ONX_PT2_INPUT_MAP(X)                                                                       \
    X(USER, "user_input", NULL)                                                                    \
    X(PARAMETER, "parameter", "parameter_name")                                                    \
    X(BUFFER, "buffer", "buffer_name")                                                             \
    X(CONSTANT, "tensor_constant", "tensor_constant_name")                                         \
    X(VALUE, "constant_input", "name")                                                             \
    X(OBJECT, "custom_obj", "custom_obj_name")                                                     \
    X(TOKEN, "token", NULL)
#define ONX_PT2_OUTPUT_MAP(X)                                                                      \
    X(USER, "user_output", NULL)                                                                   \
    X(BUFFER_MUTATION, "buffer_mutation", "buffer_name")                                           \
    X(PARAMETER_MUTATION, "parameter_mutation", "parameter_name")                                  \
    X(INPUT_MUTATION, "user_input_mutation", "user_input_name")                                    \
    X(LOSS, "loss_output", NULL)                                                                   \
    X(PARAMETER_GRADIENT, "gradient_to_parameter", "parameter_name")                               \
    X(INPUT_GRADIENT, "gradient_to_user_input", "user_input_name")                                 \
    X(TOKEN, "token", NULL)
typedef enum onx_pt2_input {
#define ONX_PT2_ENUM(name, key, target) ONX_PT2_IN_##name,
    ONX_PT2_INPUT_MAP(ONX_PT2_ENUM)
#undef ONX_PT2_ENUM
} onx_pt2_input;
typedef enum onx_pt2_output {
#define ONX_PT2_ENUM(name, key, target) ONX_PT2_OUT_##name,
    ONX_PT2_OUTPUT_MAP(ONX_PT2_ENUM)
#undef ONX_PT2_ENUM
} onx_pt2_output;

/* What an input or output of the graph, in the same order, stands for. */
typedef struct onx_pt2_spec {
    int kind;          /* onx_pt2_input or onx_pt2_output */
    onx_str target;    /* the path of a parameter or buffer, the name of an input */
    onx_pt2_arg value; /* of IN_VALUE */
} onx_pt2_spec;

typedef struct onx_pt2_range {
    onx_str symbol;
    int64_t min, max; /* INT64_MIN, INT64_MAX: none */
} onx_pt2_range;

typedef struct onx_pt2 {
    onx_arena arena;
    onx_archive *archive;
    int64_t major, minor; /* of the schema */
    onx_str torch;        /* the version that wrote it; "": not noted */
    const onx_pt2_graph *graph;
    size_t n_in, n_out; /* of the graph, and of the specs */
    const onx_pt2_spec *in, *out;
    size_t n_ranges;
    const onx_pt2_range *ranges;
    const onx_json *call;       /* the signature of the whole: in_spec, out_spec … ; NULL: none */
    const onx_json *fields;     /* of named tuples, by type */
    onx_map tensors;            /* (graph, name) to onx_pt2_tensor */
    onx_map numbers;            /* (graph, name) to onx_pt2_size */
    onx_map weights;            /* path to onx_torch_tensor */
    struct onx_pt2_file *files; /* nested archives of flat files */
} onx_pt2;

/* All of the program; tensors' data are read when they are asked for. The archive must outlive
 * it. */
onx_status onx_pt2_read(onx_archive *archive, onx_pt2 *out, onx_diag *diag) ONX_MUST_CHECK;
/* Only the graph, from JSON text, which must outlive it: no archive, no weights. */
onx_status onx_pt2_read_text(onx_context *ctx, onx_str text, onx_pt2 *out, onx_diag *diag)
    ONX_MUST_CHECK;
void onx_pt2_fini(onx_pt2 *program);

/* A JSON text of the program's archive as a tree of its arena, which may take only so much. */
onx_status onx_pt2_parse(onx_pt2 *program, onx_str text, const onx_json **out, onx_diag *diag)
    ONX_MUST_CHECK;

/* pt2_args.c */
onx_status onx_pt2_read_arg(onx_pt2 *program, const onx_json *json, onx_pt2_arg *out,
                            onx_diag *diag) ONX_MUST_CHECK;
onx_status onx_pt2_read_graph(onx_pt2 *program, const onx_json *json, const onx_pt2_graph **out,
                              onx_diag *diag) ONX_MUST_CHECK;
/* The type, sizes and place of a tensor in its storage, from what is noted about it. */
onx_status onx_pt2_read_tensor(onx_pt2 *program, const onx_json *meta, onx_pt2_tensor *out,
                               onx_diag *diag) ONX_MUST_CHECK;

/* pt2_weights.c: fills `weights`. */
onx_status onx_pt2_read_weights(onx_pt2 *program, onx_str model, onx_diag *diag) ONX_MUST_CHECK;
void onx_pt2_close_files(onx_pt2 *program);

/* pt2_expr.c: sympy's text, as people and as repr write it, to a size; names are what `name` says
 * of them. NULL: it is not a size that onx_sym can have, or is malformed. */
typedef const onx_sym *onx_pt2_symbol_fn(void *user, onx_str name);
const onx_sym *onx_pt2_expr(onx_syms *syms, onx_str text, onx_pt2_symbol_fn *name, void *user);

/* pt2_names.c: what the leaves of the tree of arguments or results are called, "past.0.key"; a leaf
 * that is the whole has no name. NULL: there is no tree, it has not n leaves, or no memory. */
const onx_str *onx_pt2_leaf_names(onx_pt2 *program, bool results, size_t n);

#endif
