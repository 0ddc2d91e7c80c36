/* test_edit.c: building and editing models; after every operation names and links agree. */
#include "test.h"

#include "ir/edit.h"
#include "ir/ir.h"

static bool sound(const onx_model *model) {
    onx_diag diag = {0};
    onx_model *copy = NULL;
    bool ok = onx_model_verify(model, &diag) == ONX_OK &&
              onx_model_clone(model, &copy, &diag) == ONX_OK &&
              onx_model_verify(copy, &diag) == ONX_OK && onx_model_equal(model, copy, &diag);
    if (!ok) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    onx_model_free(copy);
    return ok;
}

/* Encode, decode, compare. */
static bool survives(onx_model *model) {
    void *bytes;
    size_t size;
    onx_diag diag = {0};
    onx_model *again = NULL;
    if (onx_model_save_memory(model, NULL, &bytes, &size, &diag)) return false;
    bool ok = onx_model_load_memory(NULL, bytes, size, NULL, &again, &diag) == ONX_OK &&
              onx_model_equal(model, again, &diag) && onx_model_verify(again, &diag) == ONX_OK;
    if (!ok) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    onx_model_free(again);
    onx_buffer_free(NULL, bytes, size);
    return ok;
}

static onx_model *linear(void) {
    onx_model *m = onx_model_new(NULL, "linear_regression", 22);
    onx_graph *g = onx_model_graph(m);
    onx_value *X = onx_graph_add_input(g, "X", "float[N,3]");
    onx_value *A = onx_graph_add_input(g, "A", "float[3,1]");
    onx_value *B = onx_graph_add_input(g, "B", "float[1]");
    onx_value *XA = onx_graph_add_op(g, "MatMul", "XA", X, A);
    onx_value *Y = onx_graph_add_op(g, "Add", "Y", XA, B);
    onx_graph_add_output(g, Y, "float[N,1]");
    return m;
}

TEST(build) {
    onx_model *m = linear();
    onx_graph *g = onx_model_graph(m);
    CHECK(onx_model_error(m) == NULL);
    CHECK_EQ(onx_model_ir_version(m), 10);
    CHECK_EQ(onx_model_opset(m, "ai.onnx"), 22);
    CHECK_EQ(onx_graph_node_count(g), 2);
    CHECK_STR(onx_node_op(onx_graph_node_first(g)), "MatMul");
    onx_value *xa = onx_graph_find(g, "XA");
    CHECK_EQ(onx_value_use_count(xa), 1);
    CHECK(onx_value_node(xa) == onx_graph_node_first(g));
    char text[64];
    onx_type_format(onx_value_type(onx_graph_input(g, 0)), text, sizeof text);
    CHECK_STR(text, "float[N,3]");
    CHECK(sound(m));
    CHECK(survives(m));
    onx_model_free(m);
}

/* One failure, remembered to the end. */
TEST(build_errors) {
    onx_model *m = linear();
    onx_graph *g = onx_model_graph(m);
    CHECK(!onx_graph_add_input(g, "X", "float[1]"));
    CHECK_EQ(onx_model_error(m)->status, ONX_CONFLICT);
    CHECK(!onx_graph_add_input(g, "bad", "flot[1]"));
    CHECK_EQ(onx_model_error(m)->status, ONX_CONFLICT);
    void *bytes;
    size_t size;
    onx_diag diag = {0};
    CHECK_EQ(onx_model_save_memory(m, NULL, &bytes, &size, &diag), ONX_CONFLICT);
    CHECK(strstr(diag.message, "'X'"));
    onx_model_free(m);

    m = onx_model_new(NULL, "g", 13);
    float data[2] = {1, 2};
    CHECK(!onx_graph_add_initializer(onx_model_graph(m), "w", ONX_DTYPE_F32, 1, (int64_t[]){3},
                                     data, sizeof data));
    CHECK_EQ(onx_model_error(m)->status, ONX_USAGE);
    CHECK(!onx_graph_add_op(NULL, "Relu", NULL, NULL));
    onx_model_free(m);
}

TEST(rename) {
    onx_model *m = linear();
    onx_graph *g = onx_model_graph(m);
    onx_value *xa = onx_graph_find(g, "XA");
    CHECK_EQ(onx_value_set_type(xa, "float[N,1]", NULL), ONX_OK);
    CHECK_EQ(onx_value_rename(xa, "Y", NULL), ONX_CONFLICT);
    CHECK_EQ(onx_value_rename(xa, "", NULL), ONX_USAGE);
    CHECK_EQ(onx_value_rename(xa, "product", NULL), ONX_OK);
    CHECK(!onx_graph_find(g, "XA"));
    CHECK(onx_graph_find(g, "product") == xa);
    onx_node *add = onx_graph_node_last(g);
    CHECK_STR(onx_value_name(onx_node_input(add, 0)), "product");
    CHECK(onx_str_is(add->input.v[0], "product"));
    CHECK(onx_str_is(xa->info->name, "product"));
    CHECK_EQ(onx_value_rename(onx_graph_find(g, "Y"), "out", NULL), ONX_OK);
    CHECK(onx_str_is(((onx_value_info *)g->output.first)->name, "out"));
    CHECK(sound(m));
    CHECK(survives(m));
    onx_model_free(m);
}

TEST(remove_and_replace) {
    onx_model *m = linear();
    onx_graph *g = onx_model_graph(m);
    onx_node *matmul = onx_graph_node_first(g), *add = onx_graph_node_last(g);
    onx_value *xa = onx_graph_find(g, "XA"), *y = onx_graph_find(g, "Y");
    onx_diag diag = {0};
    CHECK_EQ(onx_node_remove(matmul, &diag), ONX_CONFLICT);
    CHECK(strstr(diag.message, "'XA'"));
    /* Y = XA: the output keeps its name, the MatMul now computes it. */
    CHECK_EQ(onx_value_replace(y, xa, NULL), ONX_OK);
    CHECK_STR(onx_value_name(xa), "Y");
    CHECK(onx_value_is_output(xa));
    CHECK(!onx_value_is_output(y));
    CHECK(sound(m));
    CHECK_EQ(onx_node_remove(add, NULL), ONX_OK);
    CHECK(add->msg.dead);
    CHECK_EQ(onx_graph_remove_input(g, onx_graph_find(g, "B"), NULL), ONX_OK);
    CHECK_EQ(onx_graph_remove_input(g, onx_graph_find(g, "A"), NULL), ONX_CONFLICT);
    CHECK_EQ(onx_graph_input_count(g), 2);
    CHECK(sound(m));
    CHECK(survives(m));
    /* Y = X: an input cannot take the name of an output. */
    CHECK_EQ(onx_value_replace(xa, onx_graph_find(g, "X"), NULL), ONX_OK);
    CHECK_EQ(onx_node_remove(matmul, NULL), ONX_OK);
    CHECK_EQ(onx_graph_node_count(g), 1);
    CHECK_STR(onx_node_op(onx_graph_node_first(g)), "Identity");
    CHECK_STR(onx_value_name(onx_graph_output(g, 0)), "Y");
    CHECK(sound(m));
    CHECK(survives(m));
    CHECK_EQ(onx_model_compact(&m, NULL), ONX_OK);
    CHECK(sound(m));
    onx_model_free(m);
}

static onx_model *branches(onx_node **out) {
    onx_model *m = onx_model_new(NULL, "main", 20);
    onx_graph *g = onx_model_graph(m);
    onx_value *c = onx_graph_add_input(g, "cond", "bool");
    onx_value *x = onx_graph_add_input(g, "x", "float[2]");
    onx_value *h = onx_graph_add_op(g, "Relu", "h", x);
    onx_node *branch = onx_graph_add_node(g, "If", 1, &c, 1, (const char *[]){"y"});
    onx_graph *then = onx_node_add_graph(branch, "then_branch", "then");
    onx_graph_add_output(then, onx_graph_add_op(then, "Neg", "z", h), "float[2]");
    onx_graph *other = onx_node_add_graph(branch, "else_branch", "else");
    onx_graph_add_output(other, onx_graph_add_op(other, "Abs", "z2", x), NULL);
    onx_graph_add_output(g, onx_node_output(branch, 0), "float[2]");
    *out = branch;
    return m;
}

TEST(subgraphs) {
    onx_node *branch;
    onx_model *m = branches(&branch);
    onx_graph *g = onx_model_graph(m);
    onx_graph *then = onx_attr_graph(onx_node_attr(branch, "then_branch"));
    CHECK(onx_model_error(m) == NULL);
    CHECK(onx_graph_outer(then) == g);
    CHECK(onx_graph_owner(then) == branch);
    onx_value *h = onx_graph_find(g, "h");
    CHECK_EQ(onx_value_use_count(h), 1);
    CHECK(onx_graph_lookup(then, "h") == h);
    CHECK(!onx_graph_find(then, "h"));
    CHECK_EQ(onx_value_rename(h, "hidden", NULL), ONX_OK);
    CHECK(onx_str_is(onx_graph_node_first(then)->input.v[0], "hidden"));
    CHECK_EQ(onx_value_rename(h, "z", NULL), ONX_CONFLICT); /* would be hidden in the branch */
    CHECK_EQ(onx_value_rename(onx_graph_find(then, "z"), "x", NULL), ONX_CONFLICT);
    CHECK_EQ(onx_value_replace(onx_graph_find(g, "x"), onx_graph_find(then, "z"), NULL), ONX_USAGE);
    CHECK(sound(m));
    CHECK(survives(m));
    /* With the branch goes its use of h, so Relu can go. */
    CHECK_EQ(onx_node_remove(onx_value_node(h), NULL), ONX_CONFLICT);
    CHECK_EQ(onx_graph_remove_output(g, onx_graph_output(g, 0), NULL), ONX_OK);
    CHECK_EQ(onx_node_remove(branch, NULL), ONX_OK);
    CHECK_EQ(onx_node_remove(onx_value_node(h), NULL), ONX_OK);
    CHECK_EQ(onx_graph_node_count(g), 0);
    CHECK(!onx_graph_sub_first(g));
    CHECK(sound(m));
    onx_model_free(m);
}

/* A branch may put out a value from around it. */
TEST(outer_outputs) {
    onx_model *m = onx_model_new(NULL, "main", 20);
    onx_graph *g = onx_model_graph(m);
    onx_value *c = onx_graph_add_input(g, "cond", "bool");
    onx_value *x = onx_graph_add_input(g, "x", "float[2]");
    onx_value *h = onx_graph_add_op(g, "Relu", "h", x);
    onx_node *branch = onx_graph_add_node(g, "If", 1, &c, 1, (const char *[]){"y"});
    onx_graph *then = onx_node_add_graph(branch, "then_branch", "then");
    onx_graph_add_output(then, h, "float[2]");
    onx_graph_add_output(g, onx_node_output(branch, 0), NULL);
    CHECK(onx_model_error(m) == NULL);
    CHECK(!onx_value_is_output(h));
    CHECK(onx_graph_output(then, 0) == h);
    CHECK_EQ(onx_node_remove(onx_value_node(h), NULL), ONX_CONFLICT);
    CHECK(sound(m));
    CHECK(survives(m));
    CHECK_EQ(onx_node_move(branch, onx_graph_node_first(g)), ONX_OK);
    CHECK_EQ(onx_graph_sort(g, NULL), ONX_OK);
    CHECK(onx_graph_node_last(g) == branch);
    CHECK_EQ(onx_value_replace(h, x, NULL), ONX_OK);
    CHECK(onx_graph_output(then, 0) == x);
    CHECK_EQ(onx_node_remove(onx_value_node(h), NULL), ONX_OK);
    CHECK(sound(m));
    CHECK_EQ(onx_graph_remove_input(g, x, NULL), ONX_CONFLICT);
    CHECK_EQ(onx_graph_remove_output(then, x, NULL), ONX_OK);
    CHECK_EQ(onx_graph_remove_input(g, x, NULL), ONX_OK);
    CHECK(sound(m));
    CHECK(survives(m));
    onx_model_free(m);
}

TEST(sorting) {
    onx_node *branch;
    onx_model *m = branches(&branch);
    onx_graph *g = onx_model_graph(m);
    onx_node *relu = onx_graph_node_first(g);
    /* The branch uses h inside: it must not come before Relu. */
    CHECK_EQ(onx_node_move(branch, relu), ONX_OK);
    CHECK(onx_graph_node_first(g) == branch);
    CHECK_EQ(onx_graph_sort(g, NULL), ONX_OK);
    CHECK(onx_graph_node_first(g) == relu);
    CHECK(sound(m));
    onx_model_free(m);

    m = onx_model_new(NULL, "g", 20);
    g = onx_model_graph(m);
    onx_value *a = onx_graph_add_input(g, "a", "float[1]");
    onx_node *first = onx_graph_add_node(g, "Relu", 1, &a, 1, (const char *[]){"p"});
    onx_value *p = onx_node_output(first, 0);
    onx_node *second = onx_graph_add_node(g, "Relu", 1, &p, 1, (const char *[]){"q"});
    CHECK_EQ(onx_graph_sort(g, NULL), ONX_OK);
    CHECK_EQ(onx_node_set_input(first, 0, onx_node_output(second, 0), NULL), ONX_OK);
    onx_diag diag = {0};
    CHECK_EQ(onx_graph_sort(g, &diag), ONX_INVALID);
    CHECK(strstr(diag.message, "cycle"));
    CHECK(onx_graph_node_first(g) == first);
    onx_model_free(m);
}

/* A long chain backwards: no recursion, no quadratic time. */
TEST(sorting_long) {
    onx_model *m = onx_model_new(NULL, "g", 20);
    onx_graph *g = onx_model_graph(m);
    onx_value *v = onx_graph_add_input(g, "a", "float[1]");
    for (int i = 0; i < 100000; i++) {
        v = onx_graph_add_op(g, "Relu", NULL, v);
        onx_node_move(onx_value_node(v), onx_graph_node_first(g));
    }
    CHECK(onx_model_error(m) == NULL);
    CHECK_EQ(onx_graph_sort(g, NULL), ONX_OK);
    CHECK_STR(onx_value_name(onx_node_input(onx_graph_node_first(g), 0)), "a");
    CHECK(onx_node_output(onx_graph_node_last(g), 0) == v);
    onx_model_free(m);
}

TEST(functions) {
    onx_model *m = onx_model_new(NULL, "g", 20);
    onx_function *f = onx_model_add_function(m, "my", "Scale");
    onx_graph *body = onx_function_body(f);
    onx_value *x = onx_graph_add_input(body, "x", NULL), *k = onx_graph_add_input(body, "k", NULL);
    onx_node *constant = onx_graph_add_node(body, "Constant", 0, NULL, 1, (const char *[]){"c"});
    CHECK_EQ(onx_function_add_attr(f, "alpha"), ONX_OK);
    CHECK_EQ(onx_node_set_ref(constant, "value_float", "alpha", ONX_ATTR_FLOAT), ONX_OK);
    onx_value *t = onx_graph_add_op(body, "Mul", NULL, x, k);
    onx_graph_add_output(body, onx_graph_add_op(body, "Mul", "y", t, onx_node_output(constant, 0)),
                         NULL);
    CHECK_EQ(onx_value_set_type(t, "float", NULL), ONX_OK);
    CHECK(!onx_graph_add_initializer(body, "w", ONX_DTYPE_F32, 0, NULL, &(float){1}, 4));
    CHECK_EQ(onx_model_error(m)->status, ONX_USAGE);
    m->msg.doc->error.status = ONX_OK;
    CHECK_EQ(onx_model_opset(m, "my"), 1);
    CHECK_EQ(onx_function_opset(f, ""), 20);
    CHECK_EQ(onx_graph_input_count(body), 2);
    CHECK(sound(m));
    CHECK(survives(m));
    CHECK_EQ(onx_value_rename(k, "factor", NULL), ONX_OK);
    CHECK_EQ(onx_value_rename(onx_graph_output(body, 0), "result", NULL), ONX_OK);
    CHECK(onx_str_is(f->input.v[1], "factor"));
    CHECK(onx_str_is(f->output.v[0], "result"));
    CHECK_EQ(onx_graph_remove_input(body, k, NULL), ONX_CONFLICT);
    CHECK_EQ(onx_value_replace(k, x, NULL), ONX_OK);
    CHECK_EQ(onx_graph_remove_input(body, k, NULL), ONX_OK);
    CHECK_EQ(onx_graph_input_count(body), 1);
    CHECK(sound(m));
    CHECK(survives(m));
    CHECK(onx_model_function_find(m, "my", "Scale", NULL) == f);
    CHECK_EQ(onx_function_remove(f), ONX_OK);
    CHECK(!onx_model_function_first(m));
    onx_model_free(m);
}

/* Names are references in annotations, sharding specs, Gradient and training bindings. */
static const char references[] =
    "ir_version: 11 opset_import { domain: \"\" version: 20 }"
    "graph { name: \"g\""
    "  node { op_type: \"Relu\" input: \"x\" output: \"h\""
    "    device_configurations { configuration_id: \"c\" sharding_spec { tensor_name: \"x\" } } }"
    "  node { op_type: \"Gradient\" domain: \"ai.onnx.preview.training\" input: \"x\" output: "
    "\"dx\""
    "    attribute { name: \"xs\" type: STRINGS strings: \"x\" }"
    "    attribute { name: \"y\" type: STRING s: \"h\" } }"
    "  initializer { name: \"x\" data_type: 1 dims: 1 float_data: 1 }"
    "  initializer { name: \"scale\" data_type: 1 float_data: 1 }"
    "  quantization_annotation { tensor_name: \"h\""
    "    quant_parameter_tensor_names { key: \"SCALE_TENSOR\" value: \"scale\" } }"
    "  output { name: \"dx\" } value_info { name: \"h\" } }"
    "training_info { algorithm { name: \"a\" node { op_type: \"Add\" input: \"x\" input: \"dx\" "
    "output: \"x2\" }"
    "    output { name: \"x2\" } }"
    "  update_binding { key: \"x\" value: \"x2\" } }";

TEST(references_follow) {
    onx_model *m = NULL;
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_diag diag = {0};
    options.format = ONX_FORMAT_TEXTPROTO;
    if (onx_model_load_memory(NULL, references, strlen(references), &options, &m, &diag)) {
        fprintf(stderr, "%s: %s\n", diag.place, diag.message);
        REQUIRE(m != NULL);
    }
    onx_graph *g = onx_model_graph(m);
    CHECK(sound(m));
    CHECK_EQ(onx_value_rename(onx_graph_find(g, "x"), "weights", NULL), ONX_OK);
    CHECK_EQ(onx_value_rename(onx_graph_find(g, "scale"), "s", NULL), ONX_OK);
    CHECK_EQ(onx_value_rename(onx_graph_find(g, "h"), "hidden", NULL), ONX_OK);
    onx_training *t = (onx_training *)m->training_info.first;
    CHECK_EQ(onx_value_rename(onx_graph_find(t->algorithm, "x2"), "new_x", NULL), ONX_OK);
    onx_node *relu = onx_graph_node_first(g), *gradient = onx_graph_node_last(g);
    onx_node_device *device = (onx_node_device *)relu->device_configurations.first;
    CHECK(onx_str_is(((onx_sharding_spec *)device->sharding_spec.first)->tensor_name, "weights"));
    CHECK(onx_str_is(onx_node_attr(gradient, "xs")->strings.v[0], "weights"));
    CHECK(onx_str_is(onx_node_attr(gradient, "y")->s, "hidden"));
    onx_annotation *a = (onx_annotation *)g->quantization_annotation.first;
    CHECK(onx_str_is(a->tensor_name, "hidden"));
    CHECK(onx_str_is(((onx_entry *)a->quant_parameter_tensor_names.first)->value, "s"));
    onx_entry *binding = (onx_entry *)t->update_binding.first;
    CHECK(onx_str_is(binding->key, "weights") && onx_str_is(binding->value, "new_x"));
    CHECK(onx_str_is(((onx_node *)t->algorithm->node.first)->input.v[0], "weights"));
    CHECK(sound(m));
    CHECK(survives(m));
    /* h is needed by Gradient's attribute; once that node is gone, its annotation goes with it. */
    CHECK_EQ(onx_node_remove(relu, NULL), ONX_CONFLICT);
    CHECK_EQ(onx_graph_remove_initializer(g, onx_graph_find(g, "s"), NULL), ONX_CONFLICT);
    onx_value *dx = onx_graph_find(g, "dx");
    CHECK_EQ(onx_value_replace(dx, onx_graph_find(g, "weights"), NULL), ONX_OK);
    CHECK_EQ(onx_node_remove(gradient, NULL), ONX_OK);
    CHECK_EQ(onx_node_remove(relu, NULL), ONX_OK);
    CHECK_EQ(g->quantization_annotation.count, 0);
    CHECK_EQ(g->value_info.count, 0);
    CHECK(sound(m));
    CHECK(survives(m));
    onx_model_free(m);
}

TEST(attributes) {
    onx_model *m = linear();
    onx_node *n = onx_graph_node_first(onx_model_graph(m));
    CHECK_EQ(onx_node_set_int(n, "axis", -1), ONX_OK);
    CHECK_EQ(onx_node_set_float(n, "alpha", 0.5f), ONX_OK);
    CHECK_EQ(onx_node_set_string(n, "mode", "linear"), ONX_OK);
    CHECK_EQ(onx_node_set_ints(n, "pads", 4, (int64_t[]){1, 2, 3, 4}), ONX_OK);
    CHECK_EQ(onx_node_set_floats(n, "scales", 2, (float[]){1, 2}), ONX_OK);
    CHECK_EQ(onx_node_set_strings(n, "names", 2, (const char *[]){"a", "b"}), ONX_OK);
    CHECK_EQ(onx_node_set_type(n, "type", "seq(float[2])", NULL), ONX_OK);
    onx_tensor *t;
    CHECK_EQ(onx_tensor_new(NULL, "t", ONX_DTYPE_I64, 1, (int64_t[]){2}, (int64_t[]){5, 6}, 16, &t,
                            NULL),
             ONX_OK);
    CHECK_EQ(onx_node_set_tensor(n, "value", t), ONX_OK);
    onx_tensor_free(t);
    CHECK_EQ(onx_node_set_ints(n, "axis", 1, (int64_t[]){7}),
             ONX_OK); /* changes type, keeps place */
    CHECK_STR(onx_attr_name(onx_node_attr_first(n)), "axis");
    CHECK_EQ(onx_attr_type_of(onx_node_attr(n, "axis")), ONX_ATTR_INTS);
    CHECK_EQ(onx_attr_count(onx_node_attr(n, "pads")), 4);
    CHECK_EQ(onx_node_attr_count(n), 8);
    int64_t values[2];
    CHECK_EQ(
        onx_tensor_read(onx_attr_tensor(onx_node_attr(n, "value")), values, sizeof values, NULL),
        ONX_OK);
    CHECK_EQ(values[1], 6);
    CHECK_EQ(onx_node_remove_attr(n, "mode"), ONX_OK);
    CHECK_EQ(onx_node_remove_attr(n, "mode"), ONX_NOT_FOUND);
    CHECK_EQ(onx_node_set_int(n, "", 1), ONX_USAGE);
    CHECK(sound(m));
    CHECK(survives(m));
    onx_model_free(m);
}

/* What was not edited keeps its bytes, canonical or not. */
TEST(untouched_bytes) {
    onx_model *m = linear();
    void *bytes, *after;
    size_t size, after_size;
    CHECK_EQ(onx_model_save_memory(m, NULL, &bytes, &size, NULL), ONX_OK);
    onx_model_free(m);
    CHECK_EQ(onx_model_load_memory(NULL, bytes, size, NULL, &m, NULL), ONX_OK);
    onx_graph *g = onx_model_graph(m);
    onx_node *first = onx_graph_node_first(g), *last = onx_graph_node_last(g);
    CHECK_EQ(onx_node_set_doc(first, "edited"), ONX_OK);
    CHECK(first->msg.dirty && g->msg.dirty && m->msg.dirty && !last->msg.dirty);
    CHECK_EQ(onx_model_save_memory(m, NULL, &after, &after_size, NULL), ONX_OK);
    CHECK_EQ(after_size, size + strlen("edited") + 2);
    onx_buffer_free(NULL, after, after_size);
    onx_model_free(m);
    onx_buffer_free(NULL, bytes, size);
}

TEST_MAIN(E(build) E(build_errors) E(rename) E(remove_and_replace) E(subgraphs) E(outer_outputs)
              E(sorting) E(sorting_long) E(functions) E(references_follow) E(attributes)
                  E(untouched_bytes))
