/* Every version of every operator in nodes that are wrong in every way that can be generated from
 * its signature: no inputs, too many, none but missing ones, no outputs; inputs of every rank, with
 * sizes that are small, zero, huge, symbolic or not known; integer attributes and constants at the
 * ends of their range; attributes of other types. Whatever reads models must answer, in time, and
 * give all memory back. What the right answer is other tests say. */
#include "every_tool.h"
#include "ops/op.h"
#include "test.h"

#ifdef ONX_SANITIZED
enum { EVERY = 2 }; /* of the extremes below: with each shape the others in turn */
#else
enum { EVERY = 1 };
#endif

static const int64_t extremes[] = {INT64_MIN, -1, 0, 1, 3, INT64_MAX};

/* How the nodes of one round are made. */
typedef struct shape_way {
    const char *name;
    size_t rank;
    const char *dims[5];
} shape_way;
static const shape_way shapes[] = {
    {"unranked", SIZE_MAX, {0}},
    {"scalar", 0, {0}},
    {"vector", 1, {"3"}},
    {"empty", 2, {"0", "2"}},
    {"symbols", 3, {"N", "\"2*N\"", "\"N + M\""}},
    {"image", 4, {"1", "4", "6", "5"}},
    {"huge", 2, {"4611686018427387904", "9223372036854775807"}},
    {"unknown", 5, {"?", "?", "?", "?", "?"}},
};

typedef struct round_way {
    const onx_op *op;
    const onx_signature *sig;
    const shape_way *shape;
    int64_t number; /* for integer attributes and constants */
    bool attrs, wrong_attrs;
} round_way;

/* A type that the parameter allows, in ONNX text. */
static void type_of(const round_way *r, const onx_param *p, char *out, size_t size) {
    onx_str types = p->type;
    onx_dtype dtype = ONX_DTYPE_NONE;
    for (size_t i = 0; i < r->sig->n_constraints; i++) {
        if (!onx_str_eq(r->sig->constraints[i].name, p->type)) continue;
        types = r->sig->constraints[i].types;
        for (int d = 1; d < ONX_DTYPE_COUNT && !dtype; d++)
            if (onx_constraint_allows(&r->sig->constraints[i], (onx_dtype)d)) dtype = (onx_dtype)d;
    }
    char name[64] = "";
    if (types.size < sizeof name) memcpy(name, types.data, types.size);
    if (!dtype) dtype = onx_dtype_from_name(name);
    const char *element = dtype ? onx_dtype_name(dtype) : "float";
    char dims[160] = "[]";
    if (r->shape->rank != SIZE_MAX) {
        size_t n = 0;
        dims[0] = '\0';
        for (size_t i = 0; i < r->shape->rank; i++)
            n += (size_t)snprintf(dims + n, sizeof dims - n, "%c%s", i ? ',' : '[',
                                  r->shape->dims[i]);
        if (n) snprintf(dims + n, sizeof dims - n, "]");
    }
    if (strncmp(types.data, "map", 3) == 0)
        snprintf(out, size, "map(int64, float)");
    else if (strncmp(types.data, "seq(map", 7) == 0)
        snprintf(out, size, "seq(map(int64, float))");
    else if (strncmp(types.data, "seq", 3) == 0)
        snprintf(out, size, "seq(%s%s)", element, dims);
    else if (strncmp(types.data, "optional", 8) == 0)
        snprintf(out, size, "optional(%s%s)", element, dims);
    else
        snprintf(out, size, "%s%s", element, dims);
}

static void set_attr(const round_way *r, onx_node *node, const onx_attr_decl *decl) {
    char name[128] = "";
    int64_t ints[] = {r->number, 1, r->number, 2};
    float floats[] = {(float)r->number, 0.5f};
    const char *strings[] = {"a", ""};
    onx_attr_type type = decl->type;
    if (decl->name.size < sizeof name) memcpy(name, decl->name.data, decl->name.size);
    if (r->wrong_attrs) type = type == ONX_ATTR_INTS ? ONX_ATTR_STRING : ONX_ATTR_INTS;
    onx_status status = ONX_OK;
    onx_tensor *tensor = NULL;
    switch (type) {
    case ONX_ATTR_INT: status = onx_node_set_int(node, name, r->number); break;
    case ONX_ATTR_FLOAT: status = onx_node_set_float(node, name, floats[0]); break;
    case ONX_ATTR_STRING: status = onx_node_set_string(node, name, "a"); break;
    case ONX_ATTR_INTS: status = onx_node_set_ints(node, name, 4, ints); break;
    case ONX_ATTR_FLOATS: status = onx_node_set_floats(node, name, 2, floats); break;
    case ONX_ATTR_STRINGS: status = onx_node_set_strings(node, name, 2, strings); break;
    case ONX_ATTR_TENSOR:
        CHECK(!onx_tensor_new(NULL, "t", ONX_DTYPE_I64, 1, (int64_t[]){4}, ints, sizeof ints,
                              &tensor, NULL));
        status = onx_node_set_tensor(node, name, tensor);
        onx_tensor_free(tensor);
        break;
    case ONX_ATTR_GRAPH: CHECK(onx_node_add_graph(node, name, "inner") != NULL); break;
    default: break;
    }
    CHECK_EQ(status, ONX_OK);
}

static onx_model *new_model(onx_context *ctx, const onx_op *op) {
    bool plain = !op->domain;
    onx_model *model = onx_model_new(ctx, "g", plain ? op->since : 17);
    if (!plain) CHECK_EQ(onx_model_set_opset(model, op->domain, op->since), ONX_OK);
    return model;
}

static onx_node *add_node(onx_model *model, const onx_op *op, size_t n_in, onx_value *const *in,
                          size_t n_out) {
    char name[128];
    const char *outs[16] = {0};
    snprintf(name, sizeof name, "%s%s%s", op->domain ? op->domain : "", op->domain ? "::" : "",
             op->name);
    onx_node *node = onx_graph_add_node(onx_model_graph(model), name, n_in, in, n_out, outs);
    CHECK(node != NULL);
    for (size_t i = 0; node && i < n_out; i++)
        onx_graph_add_output(onx_model_graph(model), onx_node_output(node, i), NULL);
    return node;
}

/* Each input is an input of the graph or, when it is of integers, now and then a constant. */
static onx_value *add_value(const round_way *r, onx_model *model, size_t i) {
    char type[256], name[32];
    int64_t ints[] = {r->number, 1, r->number, 3};
    onx_graph *graph = onx_model_graph(model);
    snprintf(name, sizeof name, "x%zu", i);
    type_of(r, &r->sig->inputs[i], type, sizeof type);
    if (i && strncmp(type, "int64", 5) == 0)
        return onx_graph_add_initializer(graph, name, ONX_DTYPE_I64, 1, (int64_t[]){4}, ints,
                                         sizeof ints);
    onx_value *value = onx_graph_add_input(graph, name, type);
    if (!CHECK(value != NULL)) fprintf(stderr, "    %s: %s\n", r->op->name, type);
    return value;
}

static size_t try_round(onx_context *ctx, const round_way *r) {
    onx_value *in[16];
    onx_model *model = new_model(ctx, r->op);
    size_t n = r->sig->n_inputs < 16 ? r->sig->n_inputs : 16;
    for (size_t i = 0; i < n; i++) in[i] = add_value(r, model, i);
    size_t n_out = r->sig->n_outputs < 16 ? r->sig->n_outputs : 16;
    onx_node *node = add_node(model, r->op, n, in, n_out);
    for (size_t i = 0; i < r->sig->n_attrs && r->attrs; i++) set_attr(r, node, &r->sig->attrs[i]);
    CHECK(onx_model_error(model) == NULL);
    CHECK(every_tool(model, r->op->name));
    onx_model_free(model);
    return 1;
}

/* Too few, too many, missing. */
static size_t try_counts(onx_context *ctx, const onx_op *op, const onx_signature *sig) {
    size_t counts[] = {0, sig->n_inputs + 1, sig->n_inputs};
    size_t tried = 0;
    for (size_t k = 0; k < ONX_COUNT(counts); k++)
        for (size_t n_out = 0; n_out < 2; n_out++, tried++) {
            onx_value *in[64] = {0};
            onx_model *model = new_model(ctx, op);
            onx_value *x = onx_graph_add_input(onx_model_graph(model), "x", "float[2,3]");
            for (size_t i = 0; i < counts[k] && k < 2; i++) in[i] = x;
            add_node(model, op, counts[k] < 64 ? counts[k] : 64, in,
                     n_out ? sig->n_outputs + 1 : 0);
            CHECK(every_tool(model, op->name));
            onx_model_free(model);
        }
    return tried;
}

static size_t try_op(onx_context *ctx, const onx_op *op) {
    onx_arena arena;
    onx_signature sig;
    onx_diag diag = ONX_INIT(onx_diag);
    size_t tried = 0;
    onx_arena_init(&arena, ctx);
    if (CHECK(onx_signature_parse(op, &arena, &sig, &diag) == ONX_OK)) {
        tried += try_counts(ctx, op, &sig);
        for (size_t s = 0; s < ONX_COUNT(shapes); s++) {
            round_way r = {op, &sig, &shapes[s], 0, false, false};
            tried += try_round(ctx, &r);
            for (size_t e = s % EVERY; e < ONX_COUNT(extremes); e += EVERY) {
                r = (round_way){op, &sig, &shapes[s], extremes[e], true, false};
                tried += try_round(ctx, &r);
            }
            r.wrong_attrs = true;
            tried += try_round(ctx, &r);
        }
    }
    onx_arena_fini(&arena);
    return tried;
}

TEST(every_op) {
    size_t rows = 0, tried = 0;
    for (const onx_family *family = onx_op_table; family->name; family++)
        for (const onx_op *op = family->ops; op->name; op++) {
            if (op->domain && strcmp(op->domain, "onx.internal") == 0) continue;
            test_heap heap = {0};
            onx_context *ctx = test_context(&heap, NULL);
            tried += try_op(ctx, op);
            onx_context_free(ctx);
            CHECK_EQ(heap.bytes, 0);
            rows++;
        }
    printf("    %zu models of %zu rows\n", tried, rows);
    CHECK(rows > 500);
}

TEST_MAIN(E(every_op))
