/* ir.h: the ONNX model in memory.
 *
 * The structs are the protobuf messages (wire/wire.h) with their ONNX field names, and, behind
 * them, the links that make a graph of it:
 *
 *     onx_value one per name and graph: who defines it, who uses it, its declared types, its
 *     initializer
 *     onx_ref one per place where a value's name is written: node inputs and outputs, value infos,
 *                    initializers, annotations, training bindings, sharding specs, Gradient
 *                    attributes
 *
 * Names are the truth in the file, links are the truth in memory; the editing functions keep both
 * equal. Renaming a value is one walk over its refs.
 *
 * Loading accepts graphs that break ONNX's rules (undefined names, names defined twice, bad order),
 * so that a checker can report them: an undefined name gets a value without a definition, and the
 * second definition of a name gets a value of its own that nothing refers to (name.c).
 */
#ifndef ONX_IR_H
#define ONX_IR_H

#include "wire/wire.h"

typedef struct onx_ref onx_ref;
typedef struct onx_refs {
    onx_ref **v;
    size_t n, cap;
} onx_refs;

struct onx_entry { /* StringStringEntryProto */
    onx_msg msg;
    onx_str key, value;
};

typedef struct onx_segment {
    onx_msg msg;
    int64_t begin, end;
} onx_segment;

struct onx_tensor { /* TensorProto */
    onx_msg msg;
    onx_i64s dims;
    int32_t data_type;
    onx_segment *segment;
    onx_str float_data, int32_data; /* packed */
    onx_strs string_data;
    onx_str int64_data; /* packed */
    onx_str name;
    onx_str raw_data;
    onx_str double_data, uint64_data; /* packed */
    onx_str doc_string;
    onx_list external_data; /* onx_entry */
    int32_t data_location;
    onx_list metadata_props;
    /* links */
    onx_str external; /* the bytes of external data, once resolved */
    onx_ref *ref;     /* of an initializer */
};

typedef struct onx_sparse { /* SparseTensorProto */
    onx_msg msg;
    onx_tensor *values, *indices;
    onx_i64s dims;
} onx_sparse;

typedef struct onx_dim { /* TensorShapeProto.Dimension */
    onx_msg msg;
    int64_t dim_value;
    onx_str dim_param;
    onx_str denotation;
} onx_dim;

typedef struct onx_shape { /* TensorShapeProto */
    onx_msg msg;
    onx_list dim; /* onx_dim */
} onx_shape;

/* TypeProto.Tensor and .SparseTensor; .Sequence and .Optional; .Map; .Opaque */
typedef struct onx_tensor_type {
    onx_msg msg;
    int32_t elem_type;
    onx_shape *shape; /* NULL: unknown rank */
} onx_tensor_type;
typedef struct onx_elem_type {
    onx_msg msg;
    onx_type *elem_type;
} onx_elem_type;
typedef struct onx_map_type {
    onx_msg msg;
    int32_t key_type;
    onx_type *value_type;
} onx_map_type;
typedef struct onx_opaque_type {
    onx_msg msg;
    onx_str domain, name;
} onx_opaque_type;

struct onx_type { /* TypeProto: exactly one of the pointers is set, or none */
    onx_msg msg;
    onx_tensor_type *tensor_type;
    onx_elem_type *sequence_type;
    onx_map_type *map_type;
    onx_str denotation;
    onx_opaque_type *opaque_type;
    onx_tensor_type *sparse_tensor_type;
    onx_elem_type *optional_type;
};

typedef struct onx_value_info { /* ValueInfoProto */
    onx_msg msg;
    onx_str name;
    onx_type *type;
    onx_str doc_string;
    onx_list metadata_props;
    /* links */
    onx_ref *ref;
} onx_value_info;

struct onx_attr { /* AttributeProto */
    onx_msg msg;
    onx_str name;
    float f;
    int64_t i;
    onx_str s;
    onx_tensor *t;
    onx_graph *g;
    onx_f32s floats;
    onx_i64s ints;
    onx_strs strings;
    onx_list tensors, graphs;
    onx_str doc_string;
    onx_type *tp;
    onx_list type_protos;
    int32_t type; /* onx_attr_type */
    onx_str ref_attr_name;
    onx_sparse *sparse_tensor;
    onx_list sparse_tensors;
};

struct onx_node { /* NodeProto */
    onx_msg msg;
    onx_strs input, output;
    onx_str name, op_type;
    onx_list attribute;
    onx_str doc_string, domain, overload;
    onx_list metadata_props, device_configurations;
    /* links */
    onx_graph *graph;      /* the graph or function body that holds it */
    onx_ref **ins, **outs; /* beside input and output; NULL for an empty name */
    size_t ins_cap, outs_cap;
    size_t order; /* scratch of onx_graph_sort */
};

typedef struct onx_annotation { /* TensorAnnotation */
    onx_msg msg;
    onx_str tensor_name;
    onx_list quant_parameter_tensor_names; /* onx_entry: value is a tensor name */
} onx_annotation;

struct onx_graph { /* GraphProto; also the body of a function, see onx_function */
    onx_msg msg;
    onx_list node;
    onx_str name;
    onx_list initializer; /* onx_tensor */
    onx_str doc_string;
    onx_list input, output, value_info; /* onx_value_info */
    onx_list quantization_annotation;   /* onx_annotation */
    onx_list sparse_initializer;        /* onx_sparse */
    onx_list metadata_props;
    /* links */
    onx_model *model;
    onx_graph *outer;                /* the graph whose values this one sees; NULL at the top */
    onx_graph *first_sub, *last_sub; /* graphs directly inside this one */
    onx_graph *next_sub, *prev_sub;
    onx_function *function; /* of a function body */
    onx_refs ins, outs;     /* of input and output, or of a function's names, in their order */
    onx_value *values;      /* all values of this graph, newest first */
};

struct onx_opset { /* OperatorSetIdProto */
    onx_msg msg;
    onx_str domain;
    int64_t version;
};

struct onx_function { /* FunctionProto; its nodes and value infos are those of `body` */
    onx_msg msg;
    onx_str name;
    onx_strs input, output, attribute;
    onx_str doc_string;
    onx_list opset_import;
    onx_str domain;
    onx_list attribute_proto;
    onx_str overload;
    onx_list metadata_props;
    onx_graph body;
};

struct onx_training { /* TrainingInfoProto */
    onx_msg msg;
    onx_graph *initialization, *algorithm;
    onx_list initialization_binding, update_binding; /* onx_entry */
};

typedef struct onx_int_list_entry { /* IntIntListEntryProto */
    onx_msg msg;
    int64_t key;
    onx_i64s value;
} onx_int_list_entry;

typedef struct onx_simple_sharding { /* SimpleShardedDimProto */
    onx_msg msg;
    int64_t dim_value;
    onx_str dim_param;
    int64_t num_shards;
} onx_simple_sharding;

typedef struct onx_sharded_dim { /* ShardedDimProto */
    onx_msg msg;
    int64_t axis;
    onx_list simple_sharding;
} onx_sharded_dim;

typedef struct onx_sharding_spec { /* ShardingSpecProto */
    onx_msg msg;
    onx_str tensor_name;
    onx_i64s device;
    onx_list index_to_device_group_map; /* onx_int_list_entry */
    onx_list sharded_dim;
} onx_sharding_spec;

typedef struct onx_node_device { /* NodeDeviceConfigurationProto */
    onx_msg msg;
    onx_str configuration_id;
    onx_list sharding_spec;
    int32_t pipeline_stage;
} onx_node_device;

struct onx_device { /* DeviceConfigurationProto */
    onx_msg msg;
    onx_str name;
    int32_t num_devices;
    onx_strs device;
};

typedef struct onx_shared { /* something that users of a model share, made by the first of them */
    atomic_flag lock;
    void *object;
    void (*release)(void *object); /* with the model */
} onx_shared;

struct onx_model { /* ModelProto */
    onx_msg msg;
    int64_t ir_version;
    onx_str producer_name, producer_version, domain;
    int64_t model_version;
    onx_str doc_string;
    onx_graph *graph;
    onx_list opset_import;   /* onx_opset */
    onx_list metadata_props; /* onx_entry */
    onx_list training_info;  /* onx_training */
    onx_list functions;      /* onx_function */
    onx_list configuration;  /* onx_device */
    /* links */
    onx_map values;     /* (graph, name) to onx_value */
    uint64_t next_name; /* for generated names */
    const char *folder; /* where external data is looked for; NULL: nowhere */
    onx_shared packed;  /* weights in the forms that kernels like: rt/store.c */
};

/* Data files. */
typedef struct onx_sequence { /* SequenceProto */
    onx_msg msg;
    onx_str name;
    int32_t elem_type;
    onx_list tensor_values, sparse_tensor_values, sequence_values, map_values, optional_values;
} onx_sequence;
typedef struct onx_map_data { /* MapProto */
    onx_msg msg;
    onx_str name;
    int32_t key_type;
    onx_i64s keys;
    onx_strs string_keys;
    onx_sequence *values;
} onx_map_data;
typedef struct onx_optional { /* OptionalProto */
    onx_msg msg;
    onx_str name;
    int32_t elem_type;
    onx_tensor *tensor_value;
    onx_sparse *sparse_tensor_value;
    onx_sequence *sequence_value;
    onx_map_data *map_value;
    struct onx_optional *optional_value;
} onx_optional;

/* attr.c: have attributes before this one other names? Those of a node with many are put into a
 * map; *full is set where there is no memory for that. */
bool onx_attr_is_first(const onx_node *node, const onx_attr *attr, onx_map *many, bool *full);
/* Is there one of that name? Of a node with many: among those in the map. */
bool onx_node_has_attr(const onx_node *node, onx_str name, const onx_map *many);

/* The tables (ir/fields.def). ONX_ROW(node, input) is the row of NodeProto.input, a constant
 * expression. */
extern const onx_desc onx_desc_model, onx_desc_graph, onx_desc_node, onx_desc_attr, onx_desc_tensor,
    onx_desc_sparse, onx_desc_value_info, onx_desc_type, onx_desc_tensor_type,
    onx_desc_sparse_tensor_type, onx_desc_sequence_type, onx_desc_optional_type, onx_desc_map_type,
    onx_desc_opaque_type, onx_desc_shape, onx_desc_dim, onx_desc_entry, onx_desc_segment,
    onx_desc_annotation, onx_desc_opset, onx_desc_function, onx_desc_training, onx_desc_device,
    onx_desc_node_device, onx_desc_sharding_spec, onx_desc_sharded_dim, onx_desc_simple_sharding,
    onx_desc_int_list_entry, onx_desc_sequence, onx_desc_map_data, onx_desc_optional;

#include "ir/fields.def"
enum onx_row {
#define ONX_FIELD_ENUM(message, number, name, member, kind, oneof, child, enums)                   \
    ONX_ROW_##message##_##name,
#define ONX_MESSAGE_ENUM(message, type, proto)                                                     \
    ONX_ROW_##message##_before, ONX_FIELDS_##message(ONX_FIELD_ENUM)
    ONX_MESSAGES(ONX_MESSAGE_ENUM)
#undef ONX_MESSAGE_ENUM
#undef ONX_FIELD_ENUM
};
#define ONX_ROW(message, field)                                                                    \
    (&onx_desc_##message.fields[ONX_ROW_##message##_##field - ONX_ROW_##message##_before - 1])
#define ONX_BIT(message, field)                                                                    \
    (1u << (ONX_ROW_##message##_##field - ONX_ROW_##message##_before - 1))

/* Walk a repeated message field: ONX_EACH(onx_node, n, graph->node) { … } */
#define ONX_EACH(type, var, list)                                                                  \
    for (type *var = (type *)(list).first; var; var = (type *)((onx_msg *)var)->next)

/* Names of values, and where they are written. */
typedef enum onx_ref_kind {
    ONX_REF_INPUT,  /* owner: onx_node, index */
    ONX_REF_OUTPUT, /* owner: onx_node, index; the definition */
    ONX_REF_INFO,   /* owner: onx_value_info, in input, output or value_info (msg.field tells) */
    ONX_REF_INIT,   /* owner: onx_tensor, an initializer or the values of a sparse one */
    ONX_REF_FUNCTION_IN,
    ONX_REF_FUNCTION_OUT, /* owner: onx_function, index */
    ONX_REF_OTHER,        /* owner: any message; slot points at the name in it */
} onx_ref_kind;

struct onx_ref {
    onx_value *value;
    onx_ref *prev, *next; /* of the same value */
    onx_msg *owner;
    onx_str *slot; /* where the name is written, for all but INPUT, OUTPUT and FUNCTION_* */
    uint32_t index;
    uint8_t kind;
};

struct onx_value {
    onx_graph *graph;
    onx_str name;
    onx_value *next;            /* of the same graph */
    onx_value *older, *younger; /* a ring of those with the same name: see name.c */
    onx_node *def;              /* NULL: an input, an initializer, or undefined */
    uint32_t def_index;
    bool parameter; /* an input of a function */
    bool dead;
    onx_ref *first, *last; /* all places that write this name */
    onx_tensor *init;      /* initializer, or values of `sparse` */
    onx_sparse *sparse;
    onx_value_info *input, *output, *info; /* declared types, first of each kind */
    size_t n_uses;                         /* refs of kind INPUT */
};

/* link.c: build the links of a freshly decoded or built model. Fails only for lack of memory. */
onx_status onx_model_link(onx_model *model, onx_diag *diag) ONX_MUST_CHECK;
/* model.c: a copy without the messages that `keep` does not want, not linked yet: free it, or add
 * what it lacks and link it. */
onx_status onx_model_clone_some(const onx_model *model, onx_msg_keep *keep, void *user,
                                onx_model **out, onx_diag *diag) ONX_MUST_CHECK;
/* model.c: a copy in another context. */
onx_status onx_model_clone_to(onx_context *ctx, const onx_model *model, onx_model **out,
                              onx_diag *diag) ONX_MUST_CHECK;
/* A copy of `from` that onx_msg_clone_some made gets its external data; no memory: false. */
bool onx_external_share(const void *from, onx_msg_keep *keep, void *user, void *to) ONX_MUST_CHECK;
/* verify.c: INVALID when names and links disagree, which is a mistake of ours. */
onx_status onx_model_verify(const onx_model *model, onx_diag *diag) ONX_MUST_CHECK;
/* name.c: the value that `name` means in `graph`, outer graphs included; NULL if none. */
onx_value *onx_value_lookup(const onx_graph *graph, onx_str name);

/* inline_node.c: put a copy of the nodes of `function`, which may be of another model, in the place
 * of a call of it. `*first` (which may be NULL) becomes the node that now stands where the copy
 * begins; NULL: the graph ends there. Opset imports are the caller's business. */
onx_status onx_node_inline(onx_node *node, const onx_function *function, onx_node **first,
                           onx_diag *diag) ONX_MUST_CHECK;
/* inline_size.c: about the memory that takes, and a copy of any message. */
size_t onx_node_inline_bytes(const onx_node *node, const onx_function *function);
size_t onx_copy_bytes(const void *msg);

/* model.c: the lowest IR version whose models may import that version of ai.onnx. */
int64_t onx_ir_version_for(int64_t opset);

/* tensor.c */
onx_status onx_tensor_set_strings(onx_tensor *tensor, size_t rank, const int64_t *dims,
                                  const char *const *strings, onx_diag *diag) ONX_MUST_CHECK;
/* A detached copy of any message in `doc`; payloads in blobs are shared, external ones come
 * inside. */
onx_status onx_msg_copy(onx_doc *doc, const void *msg, void *out, onx_diag *diag) ONX_MUST_CHECK;
/* Bytes of the payload when dense; fails like onx_tensor_count, and for strings. */
onx_status onx_tensor_bytes(const onx_tensor *tensor, size_t *bytes, onx_diag *diag) ONX_MUST_CHECK;

/* Ranks, numbers of functions and the like, after reading a file. */
onx_status onx_limits_check(const void *root, onx_diag *diag) ONX_MUST_CHECK;

#endif
