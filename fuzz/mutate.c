/* mutate.c: changes to models that stay models, for libFuzzer.
 *
 * A model is loaded, some of its messages are changed by the rows of `edits` (operators, edges,
 * attributes, constants, shapes, types), and it is written again. What cannot be loaded, and now
 * and then anything, has its bytes changed instead. The first two bytes are the options of the
 * target. */
#include "fuzz.h"

#include <math.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { HEAD = 2, MESSAGES = 4096, MOST_EDITS = 4, MOST_BYTES = 64 };

typedef struct mutation {
    onx_doc *doc;
    onx_msg *msgs[MESSAGES]; /* of the model, in the order of a walk */
    size_t n;
    uint64_t state;
} mutation;

/* ── Choices ── */

static uint32_t any(mutation *m, size_t below) {
    m->state = m->state * 6364136223846793005u + 1442695040888963407u;
    return below ? (uint32_t)((m->state >> 33) % below) : 0;
}

static int64_t any_int(mutation *m) {
    static const int64_t ints[] = {
        0,         1,         2,         3,          -1,        -2,        7,         8,
        16,        17,        255,       256,        -128,      65535,     65536,     1 << 20,
        1 << 30,   INT32_MAX, INT32_MIN, UINT32_MAX, 1LL << 32, 1LL << 40, 1LL << 62, INT64_MAX,
        INT64_MIN, -3,        4,         5,          6,         64};
    return any(m, 3) ? (int64_t)any(m, 9) - 3 : ints[any(m, ONX_COUNT(ints))];
}

static float any_float(mutation *m) {
    static const float floats[] = {0.f,     -0.f,     1.f,   -1.f, 0.5f,   2.f,  1e-40f,
                                   3.4e38f, INFINITY, 1e10f, NAN,  -1e10f, 1e-5f};
    return floats[any(m, ONX_COUNT(floats))];
}

/* The small sizes, mostly: those that can be computed with. */
static int64_t any_dim(mutation *m) {
    return any(m, 6) ? (int64_t)any(m, 6) : any_int(m);
}

static onx_str any_word(mutation *m) {
    static const char *const words[] = {"",
                                        "SAME_UPPER",
                                        "SAME_LOWER",
                                        "VALID",
                                        "NOTSET",
                                        "constant",
                                        "reflect",
                                        "edge",
                                        "wrap",
                                        "forward",
                                        "reverse",
                                        "mul",
                                        "add",
                                        "max",
                                        "min",
                                        "none",
                                        "tanh",
                                        "DCR",
                                        "CRD",
                                        "Relu",
                                        "Tanh",
                                        "Affine",
                                        "HardSigmoid",
                                        "LeakyRelu",
                                        "ij,jk->ik",
                                        "...ii->...i",
                                        "LEFT",
                                        "RIGHT",
                                        "bidirectional",
                                        "linear",
                                        "cubic",
                                        "nearest",
                                        "align_corners",
                                        "half_pixel",
                                        "tf_crop_and_resize",
                                        "asymmetric",
                                        "floor",
                                        "ceil",
                                        "round_prefer_ceil",
                                        "BRANCH_LEQ",
                                        "BRANCH_EQ",
                                        "LEAF",
                                        "SUM",
                                        "AVERAGE",
                                        "LOGISTIC",
                                        "SOFTMAX",
                                        "SOFTMAX_ZERO",
                                        "PROBIT",
                                        "RBF",
                                        "POLY",
                                        "L1",
                                        "L2",
                                        "TO_STRING",
                                        "DENSE",
                                        "a(b|c)*[x-z]+",
                                        "UPPER",
                                        "TFIDF",
                                        "IDF",
                                        "TF",
                                        "RGB",
                                        "mean",
                                        "sum"};
    const char *word = words[any(m, ONX_COUNT(words))];
    return (onx_str){word, strlen(word)};
}

static onx_op_info any_op(mutation *m) {
    onx_op_info op = {0};
    size_t n = 0;
    while (onx_op_info_at(n, &op)) n++;
    onx_op_info_at(any(m, n), &op);
    return op;
}

static onx_msg *any_message(mutation *m, const onx_desc *desc) {
    size_t start = any(m, m->n);
    for (size_t i = 0; i < m->n; i++) {
        onx_msg *msg = m->msgs[(start + i) % m->n];
        if (msg->desc == desc && !msg->dead) return msg;
    }
    return NULL;
}

/* ── Edits: each changes one message, which the caller marks as changed ── */

/* An operator of the tables, or that of another node. */
static void set_op(mutation *m, onx_msg *msg) {
    onx_node *node = (onx_node *)msg, *other = (onx_node *)any_message(m, &onx_desc_node);
    onx_op_info op = any_op(m);
    bool copy = any(m, 4) == 0;
    node->op_type = copy ? other->op_type : (onx_str){op.name, strlen(op.name)};
    node->domain = copy ? other->domain : (onx_str){op.domain, strlen(op.domain)};
    onx_msg_set_has(node, ONX_ROW(node, op_type));
    onx_msg_set_has(node, ONX_ROW(node, domain));
}

/* A name that some node, graph or function writes. */
static onx_str any_name(mutation *m) {
    onx_node *node = (onx_node *)any_message(m, &onx_desc_node);
    onx_value_info *info = (onx_value_info *)any_message(m, &onx_desc_value_info);
    onx_tensor *tensor = (onx_tensor *)any_message(m, &onx_desc_tensor);
    uint32_t which = any(m, 4);
    if (which == 0 && info) return info->name;
    if (which == 1 && tensor && tensor->name.size) return tensor->name;
    if (which == 2 && node && node->output.n) return node->output.v[any(m, node->output.n)];
    if (node && node->input.n) return node->input.v[any(m, node->input.n)];
    return (onx_str){"", 0};
}

static void set_edge(mutation *m, onx_msg *msg) {
    onx_node *node = (onx_node *)msg;
    uint32_t what = any(m, 8);
    onx_strs *names = what == 7 ? &node->output : &node->input;
    onx_str name = what == 0 ? (onx_str){"", 0} : any_name(m);
    if (what == 1 && names->n)
        names->n--;
    else if (what == 2 || !names->n)
        (void)onx_strs_push(m->doc, names, name);
    else
        names->v[any(m, names->n)] = name;
}

static void drop_message(mutation *m, onx_msg *msg) {
    (void)m;
    onx_msg_touch(msg->parent);
    onx_msg_remove(msg);
}

/* The same message once more behind it; a node gets new output names, which others may use. */
static void repeat_node(mutation *m, onx_msg *msg) {
    onx_node *copy = NULL, *node = (onx_node *)msg;
    static const char *const names[] = {"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"};
    if (onx_msg_clone(m->doc, msg, &copy, NULL)) return;
    for (size_t i = 0; i < copy->output.n; i++) {
        const char *name = names[any(m, ONX_COUNT(names))];
        copy->output.v[i] = (onx_str){name, 2};
    }
    if (copy->input.n && node->output.n) copy->input.v[0] = node->output.v[0];
    onx_msg_insert(msg->parent, &msg->parent->desc->fields[msg->field], msg->next, copy);
    onx_msg_touch(copy);
}

static void set_attr_value(mutation *m, onx_msg *msg) {
    onx_attr *attr = (onx_attr *)msg;
    switch (attr->type) {
    case ONX_ATTR_INT:
        attr->i = any_int(m);
        onx_msg_set_has(attr, ONX_ROW(attr, i));
        break;
    case ONX_ATTR_FLOAT:
        attr->f = any_float(m);
        onx_msg_set_has(attr, ONX_ROW(attr, f));
        break;
    case ONX_ATTR_STRING:
        attr->s = any_word(m);
        onx_msg_set_has(attr, ONX_ROW(attr, s));
        break;
    case ONX_ATTR_INTS:
        if (attr->ints.n && any(m, 4) == 0)
            attr->ints.n--;
        else if (!attr->ints.n || any(m, 4) == 0)
            (void)onx_i64s_push(m->doc, &attr->ints, any_int(m));
        else
            attr->ints.v[any(m, attr->ints.n)] = any_int(m);
        break;
    case ONX_ATTR_FLOATS:
        if (attr->floats.n && any(m, 4) == 0)
            attr->floats.n--;
        else if (!attr->floats.n || any(m, 4) == 0)
            (void)onx_f32s_push(m->doc, &attr->floats, any_float(m));
        else
            attr->floats.v[any(m, attr->floats.n)] = any_float(m);
        break;
    case ONX_ATTR_STRINGS:
        if (attr->strings.n && any(m, 4))
            attr->strings.v[any(m, attr->strings.n)] = any_word(m);
        else
            (void)onx_strs_push(m->doc, &attr->strings, any_word(m));
        break;
    default: break;
    }
}

/* The signature of one version of the operator; NULL: not in the tables. */
static const char *signature_of(mutation *m, const onx_node *node) {
    const char *found = NULL;
    onx_op_info op;
    for (size_t i = 0; onx_op_info_at(i, &op); i++)
        if (onx_str_is(node->op_type, op.name) && (!found || any(m, 2))) found = op.signature;
    return found;
}

/* "ints=…" is ints; now and then something else. */
static onx_attr_type attr_type(mutation *m, const char *text) {
    static const onx_attr_type types[] = {ONX_ATTR_INTS, ONX_ATTR_FLOATS, ONX_ATTR_STRINGS,
                                          ONX_ATTR_INT,  ONX_ATTR_FLOAT,  ONX_ATTR_STRING};
    for (size_t t = 0; t < ONX_COUNT(types) && any(m, 16); t++) {
        const char *name = onx_attr_type_name(types[t]);
        if (strncmp(text, name, strlen(name)) == 0) return types[t];
    }
    return types[any(m, ONX_COUNT(types))];
}

/* One of the attributes that the signature names: "{axis:int=-1, pads:ints?}". */
static void add_attr(mutation *m, onx_msg *msg) {
    onx_node *node = (onx_node *)msg;
    const char *signature = signature_of(m, node);
    const char *at = signature ? strchr(signature, '{') : NULL;
    onx_attr *attr = at ? onx_msg_new(m->doc, &onx_desc_attr) : NULL;
    if (!attr) return;
    for (uint32_t skip = any(m, 8); skip && strchr(at, ','); skip--) at = strchr(at, ',') + 1;
    at += strspn(at, "{ ");
    attr->name = (onx_str){at, strcspn(at, ":=?,} ")};
    at += attr->name.size;
    attr->type = attr_type(m, at + (*at == ':'));
    onx_msg_set_has(attr, ONX_ROW(attr, name));
    onx_msg_set_has(attr, ONX_ROW(attr, type));
    for (uint32_t n = 1 + any(m, 3); n; n--) set_attr_value(m, &attr->msg);
    onx_msg_append(node, ONX_ROW(node, attribute), attr);
}

static void set_data(mutation *m, onx_tensor *tensor) {
    uint64_t count = 1;
    size_t bytes = 0;
    float numbers[MOST_BYTES];
    int64_t ints[MOST_BYTES];
    for (size_t i = 0; i < tensor->dims.n; i++) {
        if (tensor->dims.v[i] < 0 || tensor->dims.v[i] > MOST_BYTES) return;
        count *= (uint64_t)tensor->dims.v[i];
        if (count > MOST_BYTES) return;
    }
    if (!onx_dtype_bytes((onx_dtype)tensor->data_type, count, &bytes)) return;
    char *data = onx_arena_alloc(&m->doc->arena, bytes + 1);
    if (!data) return;
    bool integers = any(m, 2);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = any(m, 2) ? (float)any_int(m) : any_float(m);
        ints[i] = any(m, 3) ? (int64_t)any(m, 5) - 1 : any_int(m);
    }
    if (onx_dtype_convert(integers ? ONX_DTYPE_I64 : ONX_DTYPE_F32,
                          integers ? (void *)ints : (void *)numbers, (onx_dtype)tensor->data_type,
                          data, count, true))
        return;
    const onx_field *const lists[] = {ONX_ROW(tensor, float_data), ONX_ROW(tensor, int32_data),
                                      ONX_ROW(tensor, int64_data), ONX_ROW(tensor, double_data),
                                      ONX_ROW(tensor, uint64_data)};
    for (size_t i = 0; i < ONX_COUNT(lists); i++) onx_msg_clear(tensor, lists[i]);
    tensor->raw_data = (onx_str){data, bytes};
    onx_msg_set_has(tensor, ONX_ROW(tensor, raw_data));
}

static onx_dtype any_dtype(mutation *m) {
    return any(m, 3) ? (onx_dtype[]){ONX_DTYPE_F32, ONX_DTYPE_I64, ONX_DTYPE_BOOL,
                                     ONX_DTYPE_I32}[any(m, 4)]
                     : (onx_dtype)any(m, ONX_DTYPE_COUNT);
}

static void set_tensor(mutation *m, onx_msg *msg) {
    onx_tensor *tensor = (onx_tensor *)msg;
    uint32_t what = any(m, 6);
    if (what == 0) {
        tensor->data_type = any_dtype(m);
        onx_msg_set_has(tensor, ONX_ROW(tensor, data_type));
    } else if (what == 1 && tensor->dims.n)
        tensor->dims.v[any(m, tensor->dims.n)] = any_dim(m);
    else if (what == 2 && tensor->dims.n)
        tensor->dims.n--;
    else if (what == 3)
        (void)onx_i64s_push(m->doc, &tensor->dims, any_dim(m));
    if (any(m, 8)) set_data(m, tensor);
}

/* An input becomes a constant: what reads it may then be folded, packed, or read ahead. */
static void fix_input(mutation *m, onx_msg *msg) {
    onx_value_info *info = (onx_value_info *)msg;
    onx_graph *graph = (onx_graph *)msg->parent;
    if (graph->msg.desc != &onx_desc_graph || !info->type || !info->type->tensor_type) return;
    const onx_tensor_type *type = info->type->tensor_type;
    onx_tensor *tensor = onx_msg_new(m->doc, &onx_desc_tensor);
    if (!tensor || !type->shape) return;
    tensor->name = info->name;
    tensor->data_type = type->elem_type;
    onx_msg_set_has(tensor, ONX_ROW(tensor, name));
    onx_msg_set_has(tensor, ONX_ROW(tensor, data_type));
    ONX_EACH (onx_dim, dim, type->shape->dim)
        (void)onx_i64s_push(m->doc, &tensor->dims, dim->dim_value);
    set_data(m, tensor);
    onx_msg_append(graph, ONX_ROW(graph, initializer), tensor);
    if (any(m, 4)) /* else it stays an input, with a default */
        drop_message(m, msg);
}

static void set_type(mutation *m, onx_msg *msg) {
    onx_tensor_type *type = (onx_tensor_type *)msg;
    type->elem_type = any_dtype(m);
    onx_msg_set_has(type, ONX_ROW(tensor_type, elem_type));
}

static void set_dim(mutation *m, onx_msg *msg) {
    static const char *const names[] = {"N", "M", "batch"};
    onx_dim *dim = (onx_dim *)msg;
    if (any(m, 3)) {
        dim->dim_value = any_dim(m);
        onx_msg_set_has(dim, ONX_ROW(dim, dim_value));
    } else {
        const char *name = names[any(m, ONX_COUNT(names))];
        dim->dim_param = (onx_str){name, strlen(name)};
        onx_msg_set_has(dim, ONX_ROW(dim, dim_param));
    }
}

static void set_rank(mutation *m, onx_msg *msg) {
    onx_shape *shape = (onx_shape *)msg;
    onx_dim *dim = onx_msg_new(m->doc, &onx_desc_dim);
    if (!dim) return;
    onx_msg_append(shape, ONX_ROW(shape, dim), dim);
    set_dim(m, &dim->msg);
}

static void set_opset(mutation *m, onx_msg *msg) {
    onx_opset *opset = (onx_opset *)msg;
    opset->version = 1 + any(m, ONX_OPSET_VERSION);
    onx_msg_set_has(opset, ONX_ROW(opset, version));
}

static const struct edit {
    const onx_desc *desc;
    void (*apply)(mutation *m, onx_msg *msg);
} edits[] = {
    {&onx_desc_node, set_op},
    {&onx_desc_node, set_edge},
    {&onx_desc_node, set_edge},
    {&onx_desc_node, add_attr},
    {&onx_desc_node, repeat_node},
    {&onx_desc_attr, set_attr_value},
    {&onx_desc_attr, set_attr_value},
    {&onx_desc_attr, drop_message},
    {&onx_desc_tensor, set_tensor},
    {&onx_desc_tensor, set_tensor},
    {&onx_desc_value_info, fix_input},
    {&onx_desc_tensor_type, set_type},
    {&onx_desc_dim, set_dim},
    {&onx_desc_dim, set_dim},
    {&onx_desc_dim, drop_message},
    {&onx_desc_shape, set_rank},
    {&onx_desc_shape, drop_message},
    {&onx_desc_opset, set_opset},
    {&onx_desc_value_info, drop_message},
};

static void edit_model(mutation *m, onx_model *model) {
    onx_walk walk = onx_walk_begin(model);
    for (onx_msg *msg; m->n < MESSAGES && (msg = onx_walk_next(&walk));) m->msgs[m->n++] = msg;
    for (uint32_t n = 1 + any(m, MOST_EDITS); n; n--) {
        const struct edit *edit = &edits[any(m, ONX_COUNT(edits))];
        onx_msg *msg = any_message(m, edit->desc);
        if (!msg) continue;
        onx_msg_touch(msg);
        edit->apply(m, msg);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    static mutation m;
    onx_model *model = NULL;
    onx_load_options options = ONX_INIT(onx_load_options);
    options.copy = true;
    m = (mutation){.state = seed};
    if (size <= HEAD || any(&m, 16) == 0 ||
        onx_model_load_memory(NULL, data + HEAD, size - HEAD, &options, &model, NULL))
        return LLVMFuzzerMutate(data, size, max_size);
    onx_buf bytes;
    m.doc = model->msg.doc;
    onx_buf_init(&bytes, m.doc->ctx);
    onx_writer writer = onx_buf_writer(&bytes);
    if (any(&m, 8) == 0) data[any(&m, HEAD)] = (uint8_t)any(&m, 256);
    edit_model(&m, model);
    if (onx_wire_encode(model, &writer, NULL) == ONX_OK && bytes.size + HEAD <= max_size) {
        if (bytes.size) memcpy(data + HEAD, bytes.data, bytes.size);
        size = bytes.size + HEAD;
    }
    onx_buf_fini(&bytes);
    onx_model_free(model);
    return size;
}
