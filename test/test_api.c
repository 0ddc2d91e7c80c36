/* test_api.c: building and inspecting every kind of object, and editing graphs that do not want to
 * be edited: shadowed names, names defined twice, outputs listed twice, what was removed.
 *
 * `wild` edits at random, with memory that runs out: after every call names and links agree, a call
 * that failed for lack of memory changed nothing, and the file leads to the same links. */
#include "support.h"
#include "test.h"

#include "ir/edit.h"

#include <time.h>

static onx_model *parse(const char *text) {
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_model *m = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    options.format = ONX_FORMAT_TEXTPROTO;
    if (onx_model_load_memory(NULL, text, strlen(text), &options, &m, &diag))
        fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    return m;
}

static bool links_are(const onx_model *a, const onx_model *b) {
    test_bytes x = {NULL, 0, 0}, y = {NULL, 0, 0};
    test_links_print(a, &x);
    test_links_print(b, &y);
    bool same = x.size == y.size && !memcmp(x.data, y.data, x.size);
    test_bytes_free(&x);
    test_bytes_free(&y);
    return same;
}

/* Names and links agree, here, in a copy, and in what is read back from a file. */
static bool sound(onx_model *m) {
    onx_model *copy = NULL, *again = NULL;
    void *bytes = NULL;
    size_t size = 0;
    onx_diag diag = ONX_INIT(onx_diag);
    bool ok = m && test_links(m) && !onx_model_verify(m, &diag) &&
              !onx_model_clone(m, &copy, &diag) && !onx_model_verify(copy, &diag) &&
              onx_model_equal(m, copy, &diag) && links_are(m, copy) &&
              !onx_model_save_memory(m, NULL, &bytes, &size, &diag) &&
              !onx_model_load_memory(NULL, bytes, size, NULL, &again, &diag) &&
              !onx_model_verify(again, &diag) && onx_model_equal(m, again, &diag);
    if (!ok) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    onx_model_free(copy);
    onx_model_free(again);
    if (bytes) onx_buffer_free(m->msg.doc->ctx, bytes, size);
    return ok;
}

/* The model as it comes back from its own bytes, which end with it. */
static onx_model *reload(onx_model *m) {
    void *bytes = NULL;
    size_t size = 0;
    onx_model *again = NULL;
    onx_load_options options = ONX_INIT(onx_load_options);
    options.copy = true;
    if (!CHECK(!onx_model_save_memory(m, NULL, &bytes, &size, NULL))) return m;
    CHECK(!onx_model_load_memory(NULL, bytes, size, &options, &again, NULL));
    onx_buffer_free(NULL, bytes, size);
    onx_model_free(m);
    return again;
}

/* ── Building ────────────────────────────────────────────────────────────────────────────────── */

static onx_data *sparse_floats(onx_context *ctx) {
    onx_tensor *values = NULL, *indices = NULL;
    onx_data *sparse = NULL;
    CHECK(!onx_tensor_new(ctx, "values", ONX_DTYPE_F32, 1, (int64_t[]){2}, (float[]){1, 2}, 8,
                          &values, NULL));
    CHECK(!onx_tensor_new(ctx, NULL, ONX_DTYPE_I64, 2, (int64_t[]){2, 2}, (int64_t[]){0, 1, 2, 3},
                          32, &indices, NULL));
    CHECK(!onx_sparse_new(ctx, values, indices, 2, (int64_t[]){3, 4}, &sparse, NULL));
    onx_tensor_free(values);
    onx_tensor_free(indices);
    return sparse;
}

TEST(sparse_initializers) {
    onx_data *sparse = sparse_floats(NULL);
    onx_model *m = onx_model_new(NULL, "g", 22);
    onx_graph *g = onx_model_graph(m);
    onx_value *s = onx_graph_add_sparse(g, "S", sparse);
    onx_value *y = onx_graph_add_op(g, "Identity", "y", s);
    onx_graph_add_output(g, y, "float[3,4]");
    onx_data_free(sparse);
    CHECK(onx_model_error(m) == NULL);
    CHECK_EQ(onx_graph_initializer_count(g), 0);
    CHECK(onx_graph_sparse_first(g) == onx_value_sparse(s));
    CHECK(onx_data_next(onx_graph_sparse_first(g)) == NULL);
    CHECK_STR(onx_data_name(onx_value_sparse(s)), "S");
    CHECK_EQ(onx_data_dim(onx_value_sparse(s), 1), 4);
    CHECK(onx_value_initializer(s) == onx_data_tensor(onx_value_sparse(s)));
    CHECK(sound(m));
    CHECK_EQ(onx_value_rename(s, "T", NULL), ONX_OK);
    m = reload(m);
    g = onx_model_graph(m);
    s = onx_graph_find(g, "T");
    CHECK(s && onx_value_sparse(s) == onx_graph_sparse_first(g));
    CHECK_EQ(onx_data_set_name(onx_value_sparse(s), "U"), ONX_USAGE); /* a value's name */
    CHECK_EQ(onx_graph_remove_initializer(g, s, NULL), ONX_CONFLICT);
    CHECK_EQ(onx_node_set_input(onx_graph_node_first(g), 0, NULL, NULL), ONX_OK);
    CHECK_EQ(onx_graph_remove_initializer(g, s, NULL), ONX_OK);
    CHECK(onx_graph_sparse_first(g) == NULL);
    CHECK(sound(m));
    CHECK(!onx_graph_add_sparse(g, "V", NULL));
    CHECK_EQ(onx_model_error(m)->status, ONX_USAGE);
    onx_model_free(m);
}

TEST(sparse_rules) {
    onx_tensor *v = NULL, *i = NULL;
    onx_data *out = NULL;
    CHECK(
        !onx_tensor_new(NULL, "v", ONX_DTYPE_F32, 1, (int64_t[]){2}, (float[]){1, 2}, 8, &v, NULL));
    CHECK(
        !onx_tensor_new(NULL, "i", ONX_DTYPE_I64, 1, (int64_t[]){1}, (int64_t[]){1}, 8, &i, NULL));
    CHECK_EQ(onx_sparse_new(NULL, v, i, 1, (int64_t[]){9}, &out, NULL), ONX_USAGE);
    CHECK_EQ(onx_sparse_new(NULL, v, v, 1, (int64_t[]){9}, &out, NULL), ONX_USAGE);
    CHECK_EQ(onx_sparse_new(NULL, v, NULL, 1, (int64_t[]){9}, &out, NULL), ONX_USAGE);
    CHECK(out == NULL);
    onx_tensor_free(v);
    onx_tensor_free(i);
}

TEST(attributes_of_every_kind) {
    onx_model *m = onx_model_new(NULL, "g", 22);
    onx_graph *g = onx_model_graph(m);
    onx_value *x = onx_graph_add_input(g, "x", "float[2]");
    onx_node *n = onx_graph_add_node(g, "my::Op", 1, &x, 1, (const char *[]){"y"});
    onx_tensor *t = NULL;
    onx_data *sparse = sparse_floats(NULL);
    CHECK(!onx_tensor_new(NULL, "t", ONX_DTYPE_I64, 1, (int64_t[]){2}, (int64_t[]){5, 6}, 16, &t,
                          NULL));
    const onx_tensor *tensors[] = {t, t};
    const onx_data *sparses[] = {sparse};
    const char *types[] = {"float[N]", "seq(int64)"};
    CHECK_EQ(onx_node_set_tensors(n, "tensors", 2, tensors), ONX_OK);
    CHECK_EQ(onx_node_set_sparse(n, "sparse", sparse), ONX_OK);
    CHECK_EQ(onx_node_set_sparses(n, "sparses", 1, sparses), ONX_OK);
    CHECK_EQ(onx_node_set_sparse(n, "sparse2", (const onx_data *)t), ONX_USAGE);
    CHECK_EQ(onx_node_set_types(n, "types", 2, types, NULL), ONX_OK);
    CHECK_EQ(onx_node_set_types(n, "bad", 1, (const char *[]){"flot"}, NULL), ONX_MALFORMED);
    onx_graph *first = onx_node_append_graph(n, "graphs", "first");
    onx_graph *second = onx_node_append_graph(n, "graphs", "second");
    onx_graph_add_output(first, onx_graph_add_op(first, "Neg", "a", x), NULL);
    onx_graph_add_output(second, onx_graph_add_op(second, "Abs", "b", x), NULL);
    CHECK_EQ(onx_attr_set_doc(onx_node_attr(n, "graphs"), "two of them"), ONX_OK);
    CHECK_EQ(onx_node_set_overload(n, "fast"), ONX_OK);
    onx_tensor_free(t);
    onx_data_free(sparse);
    CHECK(onx_model_error(m) == NULL);
    CHECK(sound(m));
    m = reload(m);
    n = onx_graph_node_first(onx_model_graph(m));
    CHECK_STR(onx_node_overload(n), "fast");
    CHECK_EQ(onx_attr_count(onx_node_attr(n, "tensors")), 2);
    CHECK_STR(onx_tensor_name(onx_attr_tensor_at(onx_node_attr(n, "tensors"), 1)), "t");
    CHECK_EQ(onx_data_rank(onx_attr_sparse(onx_node_attr(n, "sparse"))), 2);
    CHECK_EQ(onx_data_dim(onx_attr_sparse_at(onx_node_attr(n, "sparses"), 0), 0), 3);
    CHECK(onx_attr_sparse_at(onx_node_attr(n, "sparses"), 1) == NULL);
    CHECK_EQ(onx_type_kind_of(onx_attr_type_at(onx_node_attr(n, "types"), 1)), ONX_TYPE_SEQUENCE);
    CHECK_EQ(onx_attr_count(onx_node_attr(n, "graphs")), 2);
    CHECK_STR(onx_graph_name(onx_attr_graph_at(onx_node_attr(n, "graphs"), 1)), "second");
    CHECK_STR(onx_attr_doc(onx_node_attr(n, "graphs")), "two of them");
    CHECK(onx_graph_outer(onx_attr_graph_at(onx_node_attr(n, "graphs"), 1)) == onx_model_graph(m));
    onx_model_free(m);
}

/* An attribute moves to another node, graph or model; its graphs look around there. */
TEST(copied_attributes) {
    onx_model *m = parse(
        "graph { input { name: \"x\" } node { op_type: \"If\" output: \"y\""
        "  attribute { name: \"b\" type: GRAPH g { name: \"b\" node { op_type: \"Neg\" input: \"x\""
        "    output: \"z\" } node { op_type: \"If\" output: \"w\" attribute { name: \"c\" type: "
        "GRAPH"
        "    g { name: \"c\" node { op_type: \"Add\" input: \"x\" input: \"z\" output: \"v\" } } } "
        "}"
        "    output { name: \"w\" } } } } }");
    onx_graph *g = onx_model_graph(m);
    onx_attr *attr = onx_node_attr(onx_graph_node_first(g), "b");
    onx_node *other = onx_graph_add_node(g, "If", 0, NULL, 1, NULL);
    onx_value *x = onx_graph_find(g, "x");
    CHECK_EQ(onx_value_use_count(x), 2);
    CHECK_EQ(onx_node_set_attr(other, attr, NULL), ONX_OK);
    CHECK_EQ(onx_value_use_count(x), 4);
    CHECK(sound(m));
    CHECK_EQ(onx_node_set_attr(other, onx_node_attr(other, "b"), NULL), ONX_OK); /* itself */
    CHECK_EQ(onx_value_use_count(x), 4);
    CHECK(sound(m));
    CHECK_EQ(onx_value_rename(x, "in", NULL), ONX_OK);
    CHECK(sound(m));
    /* In a model that has no x it names nothing; in one that has a z it would hide it. */
    onx_model *m2 = onx_model_new(NULL, "other", 22);
    onx_graph *g2 = onx_model_graph(m2);
    onx_node *n2 = onx_graph_add_node(g2, "If", 0, NULL, 1, NULL);
    CHECK_EQ(onx_node_set_attr(n2, onx_node_attr(other, "b"), NULL), ONX_OK);
    CHECK(sound(m2));
    CHECK_EQ(onx_node_remove_attr(n2, "b"), ONX_OK);
    onx_graph_add_input(g2, "z", NULL);
    onx_diag diag = ONX_INIT(onx_diag);
    CHECK_EQ(onx_node_set_attr(n2, onx_node_attr(other, "b"), &diag), ONX_CONFLICT);
    CHECK(strstr(diag.message, "'z'"));
    CHECK_EQ(onx_node_attr_count(n2), 0);
    CHECK(!onx_graph_sub_first(g2));
    CHECK(sound(m2));
    onx_model_free(m2);
    CHECK_EQ(onx_node_remove(other, NULL), ONX_OK);
    CHECK_EQ(onx_value_use_count(x), 2);
    CHECK(sound(m));
    onx_model_free(m);
}

TEST(what_is_said_about_things) {
    onx_model *m = onx_model_new(NULL, "g", 22);
    onx_graph *g = onx_model_graph(m);
    onx_value *x = onx_graph_add_input(g, "x", "float");
    onx_value *y = onx_graph_add_op(g, "Neg", "y", x);
    onx_value *w =
        onx_graph_add_initializer(g, "w", ONX_DTYPE_F32, 0, NULL, &(float){1}, sizeof(float));
    onx_tensor *t = onx_value_initializer(w);
    CHECK_STR(onx_value_doc(y), "");
    CHECK(onx_value_meta_first(y) == NULL && onx_value_meta(y, "k") == NULL);
    CHECK_EQ(onx_value_set_doc(y, NULL), ONX_OK);
    CHECK_EQ(g->value_info.count, 0);
    CHECK_EQ(onx_value_set_doc(y, "minus x"), ONX_OK);
    CHECK_EQ(onx_value_set_meta(x, "k", "v"), ONX_OK);
    CHECK_EQ(onx_value_set_meta(x, NULL, "v"), ONX_USAGE);
    CHECK_EQ(onx_graph_set_meta(g, "k", "graph"), ONX_OK);
    CHECK_EQ(onx_tensor_set_meta(t, "k", "tensor"), ONX_OK);
    CHECK_EQ(onx_node_set_meta(onx_value_node(y), "k", "node"), ONX_OK);
    CHECK_EQ(onx_model_set_opset(m, "gone", 3), ONX_OK);
    CHECK_EQ(onx_model_set_opset(m, "gone", 0), ONX_OK);
    CHECK(sound(m));
    m = reload(m);
    g = onx_model_graph(m);
    CHECK_EQ(onx_model_opset(m, "gone"), 0);
    CHECK(onx_opset_next(onx_model_opset_first(m)) == NULL);
    CHECK_STR(onx_value_doc(onx_graph_find(g, "y")), "minus x");
    CHECK(onx_value_type(onx_graph_find(g, "y")) == NULL);
    const onx_entry *entry = onx_value_meta_first(onx_graph_input(g, 0));
    CHECK_STR(onx_entry_key(entry), "k");
    CHECK_STR(onx_entry_value(entry), "v");
    CHECK(onx_entry_next(entry) == NULL);
    CHECK_STR(onx_graph_meta(g, "k"), "graph");
    CHECK_STR(onx_tensor_meta(onx_graph_initializer_first(g), "k"), "tensor");
    CHECK_STR(onx_entry_value(onx_node_meta_first(onx_graph_node_first(g))), "node");
    CHECK_EQ(onx_graph_set_meta(g, "k", NULL), ONX_OK);
    CHECK(onx_graph_meta_first(g) == NULL);
    onx_model_free(m);
}

TEST(functions) {
    onx_model *m = onx_model_new(NULL, "g", 22);
    onx_function *f = onx_model_add_function(m, "my", "Scale");
    onx_graph *body = onx_function_body(f);
    onx_value *x = onx_graph_add_input(body, "x", "float");
    onx_node *c = onx_graph_add_node(body, "Constant", 0, NULL, 1, (const char *[]){"c"});
    CHECK_EQ(onx_node_set_ref(c, "value_float", "alpha", ONX_ATTR_FLOAT), ONX_OK);
    onx_value *y = onx_graph_add_op(body, "Mul", "y", x, onx_node_output(c, 0));
    onx_graph_add_output(body, y, "float");
    onx_value *in = onx_graph_add_input(onx_model_graph(m), "in", "float");
    onx_node *call = onx_graph_add_node(onx_model_graph(m), "my::Scale", 1, &in, 1, NULL);
    CHECK_EQ(onx_node_set_float(call, "alpha", 2), ONX_OK);
    CHECK_EQ(onx_function_add_attr(f, "alpha"), ONX_OK);
    CHECK_EQ(onx_function_add_attr(f, "beta"), ONX_OK);
    CHECK_EQ(onx_function_add_attr(f, "alpha"), ONX_CONFLICT);
    CHECK_EQ(onx_function_set_default(f, onx_node_attr(call, "alpha"), NULL), ONX_OK);
    CHECK_EQ(onx_function_attr_count(f), 2); /* alpha has a default now */
    CHECK_STR(onx_function_attr(f, 0), "beta");
    CHECK_STR(onx_function_attr(f, 1), "alpha");
    CHECK_EQ(onx_node_set_float(call, "alpha", 3), ONX_OK);
    CHECK_EQ(onx_function_set_default(f, onx_node_attr(call, "alpha"), NULL), ONX_OK);
    CHECK(onx_attr_float(onx_function_default_first(f)) == 3);
    CHECK(onx_attr_next(onx_function_default_first(f)) == NULL);
    CHECK_EQ(onx_function_set_opset(f, "other", 4), ONX_OK);
    CHECK_EQ(onx_graph_set_meta(body, "k", "function"), ONX_OK);
    CHECK_EQ(onx_graph_set_doc(body, "scales"), ONX_OK);
    CHECK_EQ(onx_value_set_doc(onx_node_output(c, 0), "factor"), ONX_OK);
    CHECK(onx_model_error(m) == NULL);
    CHECK(sound(m));
    m = reload(m);
    f = onx_model_function_first(m);
    const onx_opset *opset = onx_function_opset_first(f);
    CHECK_STR(onx_opset_domain(opset), "");
    CHECK_STR(onx_opset_domain(onx_opset_next(opset)), "other");
    CHECK_STR(onx_graph_meta(onx_function_body(f), "k"), "function");
    CHECK_EQ(f->metadata_props.count, 1);
    CHECK_STR(onx_value_doc(onx_graph_find(onx_function_body(f), "c")), "factor");
    CHECK_EQ(onx_function_remove(f), ONX_OK);
    CHECK_EQ(onx_function_remove(f), ONX_USAGE);
    CHECK(sound(m));
    onx_model_free(m);
}

TEST(training) {
    onx_model *m = onx_model_new(NULL, "g", 22);
    onx_graph *g = onx_model_graph(m);
    onx_value *w =
        onx_graph_add_initializer(g, "w", ONX_DTYPE_F32, 0, NULL, &(float){1}, sizeof(float));
    onx_value *y = onx_graph_add_op(g, "Neg", "y", w);
    onx_graph_add_output(g, y, "float");
    onx_training *t = onx_model_add_training(m);
    onx_graph *init = onx_training_add_initialization(t, "init");
    onx_graph *step = onx_training_add_algorithm(t, "step");
    onx_value *w0 = onx_graph_add_op(init, "RandomNormal", "w0", NULL);
    onx_graph_add_output(init, w0, "float");
    onx_value *w1 = onx_graph_add_op(step, "Add", "w1", w, y);
    onx_graph_add_output(step, w1, "float");
    CHECK(onx_graph_outer(step) == g);
    CHECK_EQ(onx_training_bind_initial(t, w, w0, NULL), ONX_OK);
    CHECK_EQ(onx_training_bind_update(t, w, w1, NULL), ONX_OK);
    CHECK_EQ(onx_training_bind_update(t, w, w0, NULL), ONX_USAGE); /* of the other graph */
    CHECK_EQ(onx_training_bind_initial(t, NULL, w0, NULL), ONX_USAGE);
    CHECK(onx_model_error(m) == NULL);
    CHECK(sound(m));
    CHECK_EQ(onx_value_rename(w, "weights", NULL), ONX_OK);
    CHECK_EQ(onx_value_rename(w0, "first", NULL), ONX_OK);
    CHECK_STR(onx_entry_key(onx_training_initial_first(t)), "weights");
    CHECK_STR(onx_entry_value(onx_training_initial_first(t)), "first");
    CHECK_STR(onx_entry_value(onx_training_update_first(t)), "w1");
    CHECK_EQ(onx_node_remove(onx_value_node(y), NULL), ONX_CONFLICT); /* an output */
    CHECK(!onx_training_add_algorithm(t, "another"));
    CHECK_EQ(onx_model_error(m)->status, ONX_CONFLICT);
    m->msg.doc->error.status = ONX_OK;
    m = reload(m);
    g = onx_model_graph(m);
    t = onx_model_training_first(m);
    CHECK(onx_training_next(t) == NULL);
    CHECK_STR(onx_graph_name(onx_training_initialization(t)), "init");
    /* With the step go its uses: nothing but the binding needed the result. */
    onx_graph *algorithm = onx_training_algorithm(t);
    CHECK_EQ(onx_value_use_count(onx_graph_find(g, "weights")), 2);
    CHECK_EQ(onx_training_remove(t), ONX_OK);
    CHECK_EQ(onx_training_remove(t), ONX_USAGE);
    CHECK_EQ(onx_value_use_count(onx_graph_find(g, "weights")), 1);
    CHECK(!onx_graph_sub_first(g) && !onx_graph_outer(algorithm));
    CHECK(!onx_training_add_algorithm(t, "late"));
    m->msg.doc->error.status = ONX_OK;
    CHECK(sound(m));
    onx_model_free(m);
}

TEST(data_of_every_kind) {
    onx_tensor *keys = NULL, *names = NULL;
    onx_data *seq = NULL, *seqs = NULL, *map = NULL, *map2 = NULL, *some = NULL, *none = NULL;
    CHECK(!onx_tensor_new(NULL, "k", ONX_DTYPE_I32, 1, (int64_t[]){2}, (int32_t[]){-7, 8}, 8, &keys,
                          NULL));
    CHECK(!onx_tensor_new_strings(NULL, "n", 1, (int64_t[]){2}, (const char *[]){"a", "bc"}, &names,
                                  NULL));
    CHECK(!onx_sequence_new(NULL, &seq, NULL));
    CHECK(!onx_sequence_append(seq, "one", keys, NULL));
    CHECK_EQ(onx_map_new(NULL, keys, seq, &map, NULL), ONX_USAGE); /* two keys, one value */
    CHECK(!onx_sequence_append(seq, NULL, names, NULL));
    CHECK_EQ(onx_sequence_append_data(seq, seq, NULL), ONX_USAGE); /* tensors only */
    CHECK_EQ(onx_sequence_append(NULL, NULL, names, NULL), ONX_USAGE);
    CHECK(!onx_map_new(NULL, keys, seq, &map, NULL));
    CHECK(!onx_map_new(NULL, names, seq, &map2, NULL));
    CHECK(!onx_sequence_new(NULL, &seqs, NULL));
    CHECK(!onx_sequence_append_data(seqs, map, NULL));
    CHECK(!onx_sequence_append_data(seqs, map2, NULL));
    CHECK(!onx_optional_new(NULL, seqs, &some, NULL));
    CHECK(!onx_optional_new(NULL, NULL, &none, NULL));
    CHECK_EQ(onx_data_set_name(some, "maybe"), ONX_OK);
    onx_tensor_free(keys);
    onx_tensor_free(names);
    onx_data_free(seq);
    onx_data_free(map);
    onx_data_free(map2);
    onx_data_free(seqs);
    void *bytes = NULL;
    size_t size = 0;
    onx_data *back = NULL;
    CHECK(!onx_data_save_memory(some, &bytes, &size, NULL));
    CHECK(!onx_data_load_memory(NULL, bytes, size, ONX_DATA_OPTIONAL, &back, NULL));
    CHECK(onx_data_equal(some, back, NULL));
    CHECK_STR(onx_data_name(back), "maybe");
    const onx_data *list = onx_data_at(back, 0), *first = list ? onx_data_at(list, 0) : NULL;
    REQUIRE(first != NULL && onx_data_next(first) != NULL);
    CHECK_EQ(onx_data_kind_of(first), ONX_DATA_MAP);
    CHECK_EQ(onx_data_key_dtype(first), ONX_DTYPE_I32);
    CHECK_EQ(onx_data_key_int(first, 0), -7);
    CHECK_EQ(onx_data_key_str(onx_data_next(first), 1).size, 2);
    CHECK_STR(onx_data_name(onx_data_at(first, 0)), "one");
    CHECK_EQ(onx_data_count(none), 0);
    onx_data_free(back);
    onx_buffer_free(NULL, bytes, size);
    onx_data_free(some);
    onx_data_free(none);
}

/* Everything there is to build, as far as memory goes. */
static onx_status build_data(onx_context *ctx) {
    onx_tensor *keys = NULL, *numbers = NULL;
    onx_data *seq = NULL, *map = NULL, *map2 = NULL, *some = NULL, *sparse = NULL;
    onx_status s = onx_tensor_new_strings(ctx, "k", 1, (int64_t[]){2}, (const char *[]){"a", "b"},
                                          &keys, NULL);
    if (!s)
        s = onx_tensor_new(ctx, "n", ONX_DTYPE_I64, 1, (int64_t[]){2}, (int64_t[]){1, 2}, 16,
                           &numbers, NULL);
    if (!s) s = onx_sequence_new(ctx, &seq, NULL);
    for (int i = 0; i < 2 && !s; i++) s = onx_sequence_append(seq, "name", keys, NULL);
    if (!s) s = onx_map_new(ctx, keys, seq, &map, NULL);
    if (!s) s = onx_map_new(ctx, numbers, seq, &map2, NULL);
    if (!s) s = onx_optional_new(ctx, map, &some, NULL);
    if (!s) s = onx_data_set_name(some, "a name that is longer than the little that is left");
    if (!s) s = onx_sparse_new(ctx, numbers, numbers, 1, (int64_t[]){9}, &sparse, NULL);
    CHECK((s == ONX_OK) == (sparse != NULL));
    onx_tensor_free(keys);
    onx_tensor_free(numbers);
    onx_data *all[] = {seq, map, map2, some, sparse};
    for (size_t i = 0; i < ONX_COUNT(all); i++) onx_data_free(all[i]);
    return s;
}

TEST(data_without_memory) {
    onx_status status = ONX_NO_MEMORY;
    size_t k = 1;
    for (; status && k < 1000; k++) {
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        heap.fail_at = heap.calls + k;
        status = build_data(ctx);
        CHECK(status == (heap.failed ? ONX_NO_MEMORY : ONX_OK));
        onx_context_free(ctx);
        CHECK_EQ(heap.blocks, 0);
    }
    CHECK(k > 10 && k < 1000);
}

/* ── Life ────────────────────────────────────────────────────────────────────────────────────── */

/* A payload is shared between models; the context it came from may end before it does. */
TEST(payload_outlives_its_context) {
    test_heap heaps[2] = {{0}, {0}};
    onx_context *from = test_context(&heaps[0], NULL), *to = test_context(&heaps[1], NULL);
    onx_tensor *t = NULL;
    float out = 0;
    CHECK(!onx_tensor_new(from, "t", ONX_DTYPE_F32, 0, NULL, &(float){5}, 4, &t, NULL));
    onx_model *m = onx_model_new(to, "g", 22);
    onx_value *v = onx_graph_add_tensor(onx_model_graph(m), NULL, t);
    onx_tensor_free(t);
    onx_context_free(from);
    CHECK(heaps[0].blocks > 0);
    CHECK(!onx_tensor_read(onx_value_initializer(v), &out, 4, NULL) && out == 5);
    onx_model_free(m);
    onx_context_free(to);
    CHECK_EQ(heaps[0].blocks, 0);
    CHECK_EQ(heaps[1].blocks, 0);
}

/* A copy under another name is written under that name, though its other bytes are those of a
 * file. */
TEST(copy_keeps_its_new_name) {
    onx_model *m = parse("graph { initializer { name: \"w\" data_type: 1 float_data: 1 } }");
    m = reload(m);
    onx_graph *g = onx_model_graph(m);
    CHECK(onx_graph_add_tensor(g, "copy", onx_graph_initializer_first(g)));
    m = reload(m);
    CHECK(onx_graph_find(onx_model_graph(m), "copy") && onx_graph_find(onx_model_graph(m), "w"));
    CHECK(sound(m));
    onx_model_free(m);
}

/* Compacting gives back payloads that nothing holds any more, and forgets no error. */
TEST(compact) {
    test_heap heap = {0};
    onx_context *ctx = test_context(&heap, NULL);
    onx_model *m = onx_model_new(ctx, "g", 22);
    onx_graph *g = onx_model_graph(m);
    enum { BYTES = 1 << 16 };
    static char zeros[BYTES];
    onx_value *w =
        onx_graph_add_initializer(g, "w", ONX_DTYPE_U8, 1, (int64_t[]){BYTES}, zeros, BYTES);
    for (int i = 0; i < 20; i++)
        CHECK(!onx_tensor_set(onx_value_initializer(w), ONX_DTYPE_U8, 1, (int64_t[]){BYTES}, zeros,
                              BYTES, NULL));
    CHECK(heap.bytes > 20 * BYTES);
    CHECK_EQ(onx_model_compact(&m, NULL), ONX_OK);
    CHECK(heap.bytes < 2 * BYTES);
    CHECK(sound(m));
    CHECK(!onx_graph_add_input(onx_model_graph(m), "", NULL));
    CHECK_EQ(onx_model_compact(&m, NULL), ONX_OK);
    CHECK(onx_model_error(m) && onx_model_error(m)->status == ONX_USAGE);
    onx_model_free(m);
    onx_context_free(ctx);
    CHECK_EQ(heap.blocks, 0);
}

/* Payloads of the caller stay the caller's, also in copies. */
TEST(borrowed) {
    static const float numbers[4] = {1, 2, 3, 4};
    onx_model *m = onx_model_new(NULL, "g", 22), *copy = NULL;
    onx_value *w =
        onx_graph_add_initializer(onx_model_graph(m), "w", ONX_DTYPE_F32, 0, NULL, numbers, 4);
    onx_tensor *t = onx_value_initializer(w);
    CHECK(!onx_tensor_set_borrowed(t, ONX_DTYPE_F32, 1, (int64_t[]){4}, numbers, sizeof numbers,
                                   NULL));
    CHECK(onx_tensor_view(t).data == (const char *)numbers);
    CHECK(!onx_model_clone(m, &copy, NULL));
    onx_model_free(m);
    t = onx_graph_initializer_first(onx_model_graph(copy));
    CHECK(onx_tensor_view(t).data == (const char *)numbers);
    CHECK(sound(copy));
    onx_model_free(copy);
}

/* Many payloads: finding the one that a span lies in takes few steps, whatever their order. */
TEST(many_payloads) {
    enum { N = 20000 };
    onx_model *m = onx_model_new(NULL, "g", 22), *other = onx_model_new(NULL, "h", 22);
    onx_graph *g = onx_model_graph(m), *h = onx_model_graph(other);
    for (int i = 0; i < N; i++)
        onx_graph_add_initializer(g, onx_graph_new_name(g, "w"), ONX_DTYPE_I32, 0, NULL, &i, 4);
    for (onx_tensor *t = onx_graph_initializer_first(g); t; t = onx_tensor_next(t))
        onx_graph_add_tensor(h, NULL, t);
    CHECK(!onx_model_error(m) && !onx_model_error(other));
    onx_model_free(m);
    CHECK_EQ(onx_model_compact(&other, NULL), ONX_OK);
    h = onx_model_graph(other);
    int32_t expected = 0, got;
    for (onx_tensor *t = onx_graph_initializer_first(h); t; t = onx_tensor_next(t), expected++)
        if (!CHECK(!onx_tensor_read(t, &got, 4, NULL) && got == expected)) break;
    CHECK_EQ(expected, N);
    onx_model_free(other);
}

/* ── Graphs that do not want to be edited ────────────────────────────────────────────────────── */

/* A graph may declare the type of a value from around it. */
TEST(declared_inside) {
    onx_model *m = parse("graph { input { name: \"x\" } node { op_type: \"If\" output: \"y\""
                         "  attribute { name: \"b\" type: GRAPH g { node { op_type: \"Neg\" input: "
                         "\"x\" output: \"z\" } output { name: \"z\" } value_info { name: \"x\" } "
                         "} } } }");
    onx_graph *g = onx_model_graph(m), *b = onx_graph_sub_first(g);
    CHECK(!onx_graph_find(b, "x"));
    CHECK(sound(m));
    CHECK_EQ(onx_value_rename(onx_graph_find(g, "x"), "in", NULL), ONX_OK);
    CHECK(onx_str_is(((onx_value_info *)b->value_info.first)->name, "in"));
    CHECK(sound(m));
    CHECK_EQ(onx_node_remove(onx_graph_node_first(g), NULL), ONX_OK);
    CHECK(sound(m));
    CHECK_EQ(onx_graph_remove_input(g, onx_graph_find(g, "in"), NULL), ONX_OK);
    CHECK(sound(m));
    onx_model_free(m);
}

/* A type is set where the value is declared, also inside, and at least in its own graph. */
TEST(types_everywhere) {
    onx_model *m = parse("graph { node { op_type: \"Neg\" output: \"h\" } node { op_type: \"If\" "
                         "attribute { name: \"b\" type: GRAPH g { output { name: \"h\" } "
                         "value_info { name: \"h\" } } } } }");
    onx_graph *g = onx_model_graph(m), *b = onx_graph_sub_first(g);
    onx_value *h = onx_graph_find(g, "h");
    CHECK_EQ(onx_value_set_type(h, "flot", NULL), ONX_MALFORMED);
    CHECK_EQ(g->value_info.count, 0);
    CHECK_EQ(onx_value_set_type(h, "float[2]", NULL), ONX_OK);
    CHECK_EQ(onx_type_dtype(onx_value_type(h)), ONX_DTYPE_F32);
    CHECK_EQ(onx_type_rank(((onx_value_info *)b->output.first)->type), 1);
    CHECK_EQ(onx_type_rank(((onx_value_info *)b->value_info.first)->type), 1);
    CHECK(sound(m));
    CHECK_EQ(onx_value_set_type(h, NULL, NULL), ONX_OK);
    CHECK(!onx_value_type(h) && !((onx_value_info *)b->output.first)->type);
    CHECK(sound(m));
    onx_model_free(m);
}

/* To declare a value is not to use it: a node may declare its own result inside. */
TEST(sorted_by_uses) {
    onx_model *m =
        parse("graph { node { op_type: \"If\" output: \"y\" attribute { name: \"b\" type: "
              "GRAPH g { value_info { name: \"y\" } output { name: \"x\" } } } }"
              "  node { op_type: \"Gradient\" domain: \"ai.onnx.preview.training\""
              "    attribute { name: \"y\" type: STRING s: \"x\" } }"
              "  node { op_type: \"Neg\" output: \"x\" } }");
    onx_graph *g = onx_model_graph(m);
    CHECK_EQ(onx_graph_sort(g, NULL), ONX_OK);
    CHECK_STR(onx_node_op(onx_graph_node_first(g)), "Neg");
    CHECK_STR(onx_node_op(onx_graph_node_last(g)), "Gradient");
    CHECK(sound(m));
    onx_model_free(m);
}

/* Inside, x is another one: nothing may be named so that it would be mistaken for it. */
TEST(shadows) {
    onx_model *m = parse(
        "graph { input { name: \"x\" } input { name: \"z\" }"
        "  node { op_type: \"Abs\" input: \"z\" output: \"out\" }"
        "  node { op_type: \"Sqrt\" input: \"x\" output: \"r\" }"
        "  node { op_type: \"If\" output: \"y\" attribute { name: \"b\" type: GRAPH g {"
        "    node { op_type: \"Neg\" input: \"z\" output: \"x\" }"
        "    node { op_type: \"Exp\" input: \"r\" output: \"out\" } output { name: \"x\" } } } }"
        "  output { name: \"out\" } }");
    onx_graph *g = onx_model_graph(m), *b = onx_graph_sub_first(g);
    onx_value *x = onx_graph_find(g, "x"), *z = onx_graph_find(g, "z");
    onx_diag diag = ONX_INIT(onx_diag);
    CHECK(sound(m));
    CHECK_EQ(onx_node_set_input(onx_graph_node_first(b), 0, x, &diag), ONX_CONFLICT);
    CHECK(strstr(diag.message, "means another value"));
    CHECK_EQ(onx_value_replace(z, x, NULL), ONX_CONFLICT);
    CHECK(!onx_graph_add_output(b, x, NULL));
    m->msg.doc->error.status = ONX_OK;
    CHECK_EQ(onx_node_set_input(onx_graph_node_first(g), 0, x, NULL), ONX_OK); /* not inside */
    CHECK(sound(m));
    /* r is used inside, where its new name would mean another value: an Identity takes it. */
    CHECK_EQ(onx_value_replace(onx_graph_find(g, "out"), onx_graph_find(g, "r"), NULL), ONX_OK);
    CHECK_STR(onx_node_op(onx_graph_node_last(g)), "Identity");
    CHECK_STR(onx_value_name(onx_graph_output(g, 0)), "out");
    CHECK(sound(m));
    CHECK_EQ(onx_value_rename(onx_graph_find(b, "x"), "inner", NULL), ONX_OK);
    CHECK_EQ(onx_value_replace(z, x, NULL), ONX_OK);
    CHECK(sound(m));
    onx_model_free(m);
}

/* The second definition of a name gets it when the first one goes. */
TEST(defined_twice) {
    onx_model *m = parse("graph { node { op_type: \"A\" output: \"x\" }"
                         "  node { op_type: \"B\" output: \"x\" } node { op_type: \"C\" output: "
                         "\"x\" } initializer { name: \"x\" data_type: 1 "
                         "float_data: 1 } node { op_type: \"D\" output: \"d\" } }");
    onx_graph *g = onx_model_graph(m);
    onx_node *a = onx_graph_node_first(g), *b = onx_node_next(a), *c = onx_node_next(b),
             *d = onx_node_next(c);
    CHECK(onx_graph_find(g, "x") == onx_node_output(a, 0));
    CHECK(sound(m));
    CHECK_EQ(onx_node_set_input(d, 0, onx_node_output(b, 0), NULL), ONX_CONFLICT);
    CHECK_EQ(onx_node_remove(a, NULL), ONX_OK);
    CHECK(onx_graph_find(g, "x") == onx_node_output(b, 0));
    CHECK_EQ(onx_node_set_input(d, 0, onx_node_output(b, 0), NULL), ONX_OK);
    CHECK(sound(m));
    CHECK_EQ(onx_value_rename(onx_node_output(c, 0), "c", NULL), ONX_OK);
    CHECK_EQ(onx_value_rename(onx_node_output(b, 0), "b", NULL), ONX_OK);
    onx_value *x = onx_graph_find(g, "x");
    CHECK(x && onx_value_initializer(x));
    CHECK(sound(m));
    CHECK(!onx_graph_add_op(g, "E", "x", NULL)); /* still taken */
    m->msg.doc->error.status = ONX_OK;
    CHECK_EQ(onx_graph_remove_initializer(g, x, NULL), ONX_OK);
    CHECK(!onx_graph_find(g, "x"));
    CHECK(sound(m));
    onx_model_free(m);
}

/* An output takes the place of a value that shares its name with others. */
TEST(defined_twice_and_replaced) {
    onx_model *m = parse("graph { node { op_type: \"A\" output: \"x\" }"
                         "  node { op_type: \"B\" output: \"x\" } node { op_type: \"C\" output: "
                         "\"c\" } output { name: \"x\" } output { name: \"x\" } }");
    onx_graph *g = onx_model_graph(m);
    onx_value *x = onx_graph_find(g, "x"), *c = onx_graph_find(g, "c");
    CHECK_EQ(onx_value_replace(x, c, NULL), ONX_OK);
    CHECK(onx_graph_output(g, 0) == c && onx_graph_output(g, 1) == c);
    CHECK_STR(onx_value_name(c), "x");
    CHECK(!onx_model_verify(m, NULL) && test_links(m));
    CHECK_EQ(onx_graph_remove_output(g, c, NULL), ONX_OK);
    CHECK(onx_value_is_output(c));
    CHECK_EQ(onx_graph_remove_output(g, c, NULL), ONX_OK);
    CHECK(!onx_value_is_output(c));
    CHECK_EQ(onx_graph_remove_output(g, c, NULL), ONX_USAGE);
    CHECK_EQ(onx_node_remove(onx_value_node(c), NULL), ONX_OK);
    CHECK(onx_graph_find(g, "x") == onx_node_output(onx_node_next(onx_graph_node_first(g)), 0));
    CHECK(sound(m));
    onx_model_free(m);
}

/* An annotation goes with its value, and needs its scale no more; also one inside a graph that
 * goes. */
TEST(annotations_go) {
    static const char annotation[] =
        "quantization_annotation { tensor_name: \"y\" quant_parameter_tensor_names {"
        "  key: \"SCALE_TENSOR\" value: \"s\" } quant_parameter_tensor_names { key: \"SELF\" value:"
        "  \"y\" } }";
    static const char scale[] = "initializer { name: \"s\" data_type: 1 float_data: 1 }";
    static const char neg[] = "node { op_type: \"Neg\" output: \"y\" }";
    char text[1000];
    for (int inside = 0; inside < 2; inside++) {
        if (inside)
            snprintf(text, sizeof text,
                     "graph { %s node { op_type: \"If\" attribute { name: \"b\" type: GRAPH g { %s "
                     "%s } } } }",
                     scale, neg, annotation);
        else
            snprintf(text, sizeof text, "graph { %s %s %s }", scale, neg, annotation);
        onx_model *m = parse(text);
        onx_graph *g = onx_model_graph(m);
        onx_value *s = onx_graph_find(g, "s");
        CHECK_EQ(onx_graph_remove_initializer(g, s, NULL), ONX_CONFLICT);
        if (!inside) { /* y is needed, by its own annotation: that can be told another value */
            CHECK_EQ(onx_node_remove(onx_graph_node_first(g), NULL), ONX_CONFLICT);
            CHECK_EQ(onx_value_replace(onx_graph_find(g, "y"), s, NULL), ONX_OK);
        }
        CHECK_EQ(onx_node_remove(onx_graph_node_first(g), NULL), ONX_OK);
        CHECK_EQ(g->quantization_annotation.count, 0);
        CHECK(sound(m));
        CHECK_EQ(onx_graph_remove_initializer(g, s, NULL), ONX_OK);
        CHECK(sound(m));
        onx_model_free(m);
    }
}

/* What names a value is told of the new one: then the old one can go. */
TEST(replaced_in_notes) {
    onx_model *m = parse(
        "graph { node { op_type: \"Neg\" output: \"h\" } node { op_type: \"Abs\" output: \"k\" }"
        "  node { op_type: \"Gradient\" domain: \"ai.onnx.preview.training\" output: \"dx\""
        "    attribute { name: \"xs\" type: STRINGS strings: \"h\" strings: \"h\" }"
        "    attribute { name: \"y\" type: STRING s: \"h\" } }"
        "  initializer { name: \"w\" data_type: 1 float_data: 1 } output { name: \"dx\" }"
        "  quantization_annotation { tensor_name: \"k\" quant_parameter_tensor_names {"
        "    key: \"S\" value: \"h\" } } }"
        "training_info { algorithm { node { op_type: \"Add\" input: \"h\" output: \"n\" }"
        "  output { name: \"n\" } } update_binding { key: \"w\" value: \"h\" }"
        "  initialization_binding { key: \"h\" value: \"nothing\" } }");
    onx_graph *g = onx_model_graph(m);
    onx_value *h = onx_graph_find(g, "h"), *k = onx_graph_find(g, "k");
    CHECK(sound(m));
    CHECK_EQ(onx_node_remove(onx_value_node(h), NULL), ONX_CONFLICT);
    CHECK_EQ(onx_value_replace(h, k, NULL), ONX_OK);
    CHECK(sound(m));
    CHECK_EQ(onx_node_remove(onx_value_node(h), NULL), ONX_OK);
    onx_training *t = onx_model_training_first(m);
    CHECK_STR(onx_entry_value(onx_training_update_first(t)), "k");
    CHECK_STR(onx_entry_key(onx_training_initial_first(t)), "k");
    CHECK(onx_str_is(onx_attr_string_at(onx_node_attr(onx_graph_node_last(g), "xs"), 1), "k"));
    CHECK(sound(m));
    onx_model_free(m);
}

/* Only while it is a Gradient do its attributes name values. */
TEST(gradient_or_not) {
    onx_model *m = onx_model_new(NULL, "g", 20);
    onx_graph *g = onx_model_graph(m);
    onx_value *x = onx_graph_add_input(g, "x", NULL);
    onx_node *n = onx_graph_add_node(g, "Other", 0, NULL, 1, (const char *[]){"dx"});
    CHECK_EQ(onx_node_set_strings(n, "xs", 1, (const char *[]){"x"}), ONX_OK);
    CHECK_EQ(onx_value_rename(x, "a", NULL), ONX_OK);
    CHECK(onx_str_is(onx_attr_string_at(onx_node_attr(n, "xs"), 0), "x"));
    CHECK_EQ(onx_value_rename(x, "x", NULL), ONX_OK);
    CHECK_EQ(onx_node_set_op(n, "ai.onnx.preview.training::Gradient"), ONX_OK);
    CHECK_EQ(onx_value_rename(x, "b", NULL), ONX_OK);
    CHECK(onx_str_is(onx_attr_string_at(onx_node_attr(n, "xs"), 0), "b"));
    CHECK_EQ(onx_graph_remove_input(g, x, NULL), ONX_CONFLICT);
    CHECK(sound(m));
    CHECK_EQ(onx_node_set_op(n, "Other"), ONX_OK);
    CHECK_EQ(onx_graph_remove_input(g, x, NULL), ONX_OK);
    CHECK(sound(m));
    onx_model_free(m);
}

/* What was removed can be read, but not edited, nor used. */
TEST(removed) {
    onx_model *m = onx_model_new(NULL, "g", 20);
    onx_graph *g = onx_model_graph(m);
    onx_value *x = onx_graph_add_input(g, "x", NULL);
    onx_node *first = onx_value_node(onx_graph_add_op(g, "First", "a", x));
    onx_value *b = onx_graph_add_op(g, "Gone", "b", x);
    onx_node *gone = onx_value_node(b), *last = onx_value_node(onx_graph_add_op(g, "Last", "c", x));
    onx_graph *inner = onx_node_add_graph(gone, "body", "inner");
    onx_node *nested = onx_value_node(onx_graph_add_op(inner, "Nested", "d", x));
    CHECK_EQ(onx_node_remove(gone, NULL), ONX_OK);
    CHECK_STR(onx_node_op(gone), "Gone");
    CHECK_STR(onx_value_name(b), "b");
    CHECK_EQ(onx_node_move(last, gone), ONX_USAGE);
    CHECK_EQ(onx_node_move(gone, last), ONX_USAGE);
    CHECK_EQ(onx_node_remove(gone, NULL), ONX_USAGE);
    CHECK_EQ(onx_node_set_input(gone, 0, x, NULL), ONX_USAGE);
    CHECK_EQ(onx_node_set_input(nested, 0, x, NULL), ONX_USAGE);
    CHECK_EQ(onx_node_set_input(first, 0, b, NULL), ONX_USAGE);
    CHECK_EQ(onx_node_set_op(gone, "Other"), ONX_USAGE);
    CHECK_EQ(onx_node_set_int(gone, "i", 1), ONX_USAGE);
    CHECK_EQ(onx_value_rename(b, "bb", NULL), ONX_USAGE);
    CHECK_EQ(onx_value_set_type(b, "float", NULL), ONX_USAGE);
    CHECK_EQ(onx_value_set_doc(b, "?"), ONX_USAGE);
    CHECK_EQ(onx_value_replace(x, b, NULL), ONX_USAGE);
    CHECK_EQ(onx_value_replace(b, x, NULL), ONX_USAGE);
    CHECK(!onx_node_add_output(gone, "o"));
    CHECK(!onx_node_add_graph(gone, "body", "again"));
    CHECK(!onx_graph_add_output(g, b, NULL));
    CHECK(!onx_graph_add_output(inner, x, NULL));
    m->msg.doc->error.status = ONX_OK;
    CHECK_EQ(onx_graph_node_count(g), 2);
    CHECK(onx_graph_node_first(g) == first && onx_graph_node_last(g) == last);
    CHECK_EQ(onx_value_use_count(x), 2);
    CHECK(sound(m));
    onx_model_free(m);
}

/* An input that is an output keeps its name as both: nothing can take its place as output. */
TEST(passed_through) {
    onx_model *m = onx_model_new(NULL, "g", 20);
    onx_graph *g = onx_model_graph(m);
    onx_value *x = onx_graph_add_input(g, "x", "float");
    onx_graph_add_output(g, x, "float");
    onx_value *a = onx_graph_add_op(g, "Neg", "a", x);
    CHECK_EQ(onx_value_replace(x, a, NULL), ONX_CONFLICT);
    CHECK_EQ(onx_graph_remove_input(g, x, NULL), ONX_CONFLICT);
    CHECK_EQ(onx_value_set_type(x, "double[N]", NULL), ONX_OK); /* in both places */
    CHECK_EQ(onx_type_dtype(x->input->type), ONX_DTYPE_F64);
    CHECK_EQ(onx_type_dtype(x->output->type), ONX_DTYPE_F64);
    CHECK(sound(m));
    CHECK_EQ(onx_value_set_type(x, NULL, NULL), ONX_OK);
    CHECK(!x->input->type && !x->output->type);
    CHECK_EQ(onx_graph_remove_output(g, x, NULL), ONX_OK);
    CHECK_EQ(onx_value_replace(x, a, NULL), ONX_OK); /* now a computes itself: as asked */
    CHECK_EQ(onx_graph_sort(g, NULL), ONX_INVALID);
    CHECK_EQ(onx_node_set_input(onx_value_node(a), 0, x, NULL), ONX_OK);
    CHECK_EQ(onx_graph_sort(g, NULL), ONX_OK);
    CHECK(sound(m));
    onx_model_free(m);
}

/* An input with a default is made of an initializer or of an input, and unmade either way. */
TEST(overridable) {
    onx_model *m = onx_model_new(NULL, "g", 20);
    onx_graph *g = onx_model_graph(m);
    onx_value *a = onx_graph_add_input(g, "a", "float");
    onx_value *b = onx_graph_add_initializer(g, "b", ONX_DTYPE_F32, 0, NULL, &(float){1}, 4);
    CHECK(onx_graph_add_initializer(g, "a", ONX_DTYPE_F32, 0, NULL, &(float){1}, 4) == a);
    CHECK(onx_graph_add_input(g, "b", "float") == b);
    CHECK(!onx_model_error(m));
    CHECK(!onx_graph_add_input(g, "b", "float"));
    CHECK(!onx_graph_add_initializer(g, "a", ONX_DTYPE_F32, 0, NULL, &(float){1}, 4));
    m->msg.doc->error.status = ONX_OK;
    onx_graph_add_output(g, onx_graph_add_op(g, "Add", "y", a, b), NULL);
    CHECK(sound(m));
    CHECK_EQ(onx_graph_remove_input(g, a, NULL), ONX_OK);
    CHECK_EQ(onx_graph_remove_initializer(g, b, NULL), ONX_OK);
    CHECK(onx_value_initializer(a) && !onx_value_is_input(a));
    CHECK(!onx_value_initializer(b) && onx_value_is_input(b));
    CHECK_EQ(onx_graph_remove_initializer(g, a, NULL), ONX_CONFLICT);
    CHECK_EQ(onx_graph_remove_input(g, b, NULL), ONX_CONFLICT);
    CHECK(sound(m));
    onx_model_free(m);
}

/* A builder call that fails leaves no trace but its error. */
TEST(failed_builders) {
    onx_model *m = parse("graph { input { name: \"x\" } output { name: \"t\" }"
                         "  value_info { name: \"u\" } }");
    onx_graph *g = onx_model_graph(m);
    onx_model *before = NULL;
    CHECK(!onx_model_clone(m, &before, NULL));
    CHECK(!onx_graph_add_node(g, "A", 0, NULL, 4, (const char *[]){"u", "t", "new", "x"}));
    CHECK(!onx_graph_add_input(g, "fresh", "flot"));
    CHECK(!onx_graph_add_output(g, NULL, NULL));
    CHECK(!onx_graph_add_tensor(g, "w", NULL));
    CHECK(onx_model_equal(m, before, NULL));
    CHECK(!onx_graph_find(g, "new") && !onx_graph_find(g, "fresh") && !onx_graph_find(g, "w"));
    CHECK(onx_graph_find(g, "t") && !onx_value_is_defined(onx_graph_find(g, "t")));
    CHECK_EQ(onx_model_error(m)->status, ONX_CONFLICT);
    m->msg.doc->error.status = ONX_OK;
    CHECK(onx_graph_add_node(g, "A", 3, NULL, 2, (const char *[]){"u", "t"})); /* three missing */
    CHECK(sound(m));
    onx_model_free(before);
    onx_model_free(m);
}

TEST(long_hints) {
    onx_model *m = onx_model_new(NULL, "g", 20);
    onx_graph *g = onx_model_graph(m);
    char hint[400];
    memset(hint, 'a', 199);
    strcpy(hint + 199, "\xe2\x82\xac\xe2\x82\xac"); /* 200 bytes end within a character */
    const char *name = onx_graph_new_name(g, hint);
    CHECK_EQ(strlen(name), 199);
    CHECK(onx_graph_add_input(g, name, NULL) != NULL);
    CHECK_STR(onx_graph_new_name(g, hint) + 199, "_1");
    onx_model_free(m);
}

/* ── Hostile sizes: time grows with the file, not with its square ────────────────────────────── */

/* A message in a hundred thousand parts, each with a field that nobody knows. */
TEST(many_parts) {
    test_bytes b = {NULL, 0, 0};
    for (int i = 0; i < 100000; i++) {
        test_bytes graph = {NULL, 0, 0};
        test_put_int(&graph, 103, 1);
        test_put_message(&b, 7, &graph);
    }
    onx_model *m = NULL;
    CHECK(!onx_model_load_memory(NULL, b.data, b.size, NULL, &m, NULL));
    CHECK(sound(m));
    onx_model_free(m);
    test_bytes_free(&b);
}

/* Each of them is wrong, and nobody wants to know where it is. */
TEST(many_bad_tensors) {
    test_bytes b = {NULL, 0, 0}, graph = {NULL, 0, 0};
    for (int i = 0; i < 40000; i++) {
        test_bytes tensor = {NULL, 0, 0};
        test_put_int(&tensor, 2, 99);
        test_put_message(&graph, 5, &tensor);
    }
    test_put_message(&b, 7, &graph);
    onx_model *m = NULL;
    size_t bad = 0;
    CHECK(!onx_model_load_memory(NULL, b.data, b.size, NULL, &m, NULL));
    onx_tensor *t = onx_graph_initializer_first(onx_model_graph(m));
    for (; t; t = onx_tensor_next(t)) bad += onx_tensor_check(t, NULL) == ONX_INVALID;
    CHECK_EQ(bad, 40000);
    onx_model_free(m);
    test_bytes_free(&b);
}

/* Many definitions of one name, removed one by one. */
TEST(many_twins) {
    test_bytes b = {NULL, 0, 0}, graph = {NULL, 0, 0};
    for (int i = 0; i < 40000; i++) {
        test_bytes node = {NULL, 0, 0};
        test_put_str(&node, 2, "x");
        test_put_message(&graph, 1, &node);
    }
    test_put_message(&b, 7, &graph);
    onx_model *m = NULL;
    CHECK(!onx_model_load_memory(NULL, b.data, b.size, NULL, &m, NULL));
    onx_graph *g = onx_model_graph(m);
    for (onx_node *n; (n = onx_graph_node_first(g));)
        if (!CHECK(onx_graph_find(g, "x") == onx_node_output(n, 0) && !onx_node_remove(n, NULL)))
            break;
    CHECK(!onx_graph_find(g, "x"));
    CHECK(!onx_model_verify(m, NULL));
    onx_model_free(m);
    test_bytes_free(&b);
}

/* Names are taken and given without a look into every graph: seconds for `n` branches. */
static double branch_out(int n) {
    onx_model *m = onx_model_new(NULL, "g", 20);
    onx_graph *g = onx_model_graph(m);
    onx_value *x = onx_graph_add_input(g, "x", "float");
    clock_t start = clock();
    for (int i = 0; i < n; i++) {
        onx_graph *b = onx_node_add_graph(onx_graph_add_node(g, "If", 1, &x, 1, NULL), "b", "b");
        onx_graph_add_output(b, onx_graph_add_op(b, "Neg", "inner", x), NULL);
    }
    for (onx_value *v = onx_graph_value_first(g); v; v = onx_value_next(v))
        if (!CHECK(!onx_value_rename(v, onx_graph_new_name(g, "renamed"), NULL))) break;
    CHECK(!onx_model_error(m));
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    onx_model_free(m);
    return seconds;
}

TEST(many_branches) {
    double small = branch_out(1000), large = branch_out(16000);
    CHECK(large < 64 * small + 0.2);
}

/* ── Wild editing ────────────────────────────────────────────────────────────────────────────── */

typedef struct wild {
    test_random random;
    onx_model *model;
    onx_graph *graphs[200];
    onx_node *nodes[1000];
    onx_value *values[2000];
    size_t n_graphs, n_nodes, n_values;
    bool built; /* the last call was a builder call: it may leave things behind */
} wild;

static void collect_graph(wild *w, onx_graph *g) {
    if (w->n_graphs < ONX_COUNT(w->graphs)) w->graphs[w->n_graphs++] = g;
    for (onx_node *n = onx_graph_node_first(g); n; n = onx_node_next(n))
        if (w->n_nodes < ONX_COUNT(w->nodes)) w->nodes[w->n_nodes++] = n;
    for (onx_value *v = onx_graph_value_first(g); v; v = onx_value_next(v))
        if (w->n_values < ONX_COUNT(w->values)) w->values[w->n_values++] = v;
}

static void collect(wild *w) {
    onx_msg *m;
    w->n_graphs = w->n_nodes = w->n_values = 0;
    for (onx_walk k = onx_walk_begin(w->model); (m = onx_walk_next(&k));) {
        if (m->desc == &onx_desc_graph) collect_graph(w, (onx_graph *)m);
        if (m->desc == &onx_desc_function) collect_graph(w, &((onx_function *)m)->body);
    }
}

static size_t pick(wild *w, size_t n) {
    return test_random_below(&w->random, n ? n : 1);
}
static onx_value *a_value(wild *w) {
    return w->n_values ? w->values[pick(w, w->n_values)] : NULL;
}
static onx_node *a_node(wild *w) {
    return w->n_nodes ? w->nodes[pick(w, w->n_nodes)] : NULL;
}
static onx_graph *a_graph(wild *w) {
    return w->graphs[pick(w, w->n_graphs)];
}
static const char *a_name(wild *w) {
    static const char *const names[] = {"x", "y", "z", "X", "W", "a", "b", "out", "fresh", "new"};
    onx_value *v = pick(w, 3) ? NULL : a_value(w);
    return v ? onx_value_name(v) : names[pick(w, ONX_COUNT(names))];
}

static onx_status on_value(wild *w, onx_value *v) {
    switch (pick(w, 6)) {
    case 0:
    case 1: return onx_value_rename(v, a_name(w), NULL);
    case 2:
    case 3: return onx_value_replace(v, a_value(w), NULL);
    case 4: return onx_value_set_type(v, pick(w, 2) ? "float[N,3]" : NULL, NULL);
    default:
        return pick(w, 2) ? onx_value_set_doc(v, pick(w, 2) ? "said" : NULL)
                          : onx_value_set_meta(v, "k", pick(w, 2) ? "said" : NULL);
    }
}

static onx_status on_attr(wild *w, onx_node *n) {
    const char *const strings[] = {a_name(w), a_name(w)};
    const onx_node *other = a_node(w);
    switch (pick(w, 6)) {
    case 0: return onx_node_set_strings(n, pick(w, 2) ? "xs" : "s", 2, strings);
    case 1: return onx_node_set_string(n, "y", strings[0]);
    case 2:
    case 3:
        return onx_node_attr_first(other) ? onx_node_set_attr(n, onx_node_attr_first(other), NULL)
                                          : ONX_OK;
    case 4:
        return onx_node_attr_first(n)
                   ? onx_node_remove_attr(n, onx_attr_name(onx_node_attr_first(n)))
                   : ONX_OK;
    default:
        w->built = true;
        return pick(w, 2) ? (onx_node_add_graph(n, "body", "b"), ONX_OK)
                          : (onx_node_append_graph(n, "bodies", "b"), ONX_OK);
    }
}

static onx_status on_node(wild *w, onx_node *n) {
    switch (pick(w, 8)) {
    case 0:
    case 1: return onx_node_set_input(n, pick(w, 4), pick(w, 5) ? a_value(w) : NULL, NULL);
    case 2: return onx_node_remove_input(n, pick(w, 3));
    case 3: return onx_node_remove(n, NULL);
    case 4: return onx_node_move(n, pick(w, 2) ? a_node(w) : NULL);
    case 5: return onx_node_set_op(n, pick(w, 2) ? "ai.onnx.preview.training::Gradient" : "my::Op");
    case 6:
        w->built = true;
        onx_node_add_output(n, pick(w, 2) ? a_name(w) : NULL);
        return ONX_OK;
    default: return on_attr(w, n);
    }
}

static onx_status on_graph(wild *w, onx_graph *g) {
    onx_value *ins[2] = {a_value(w), a_value(w)};
    const char *outs[2] = {a_name(w), pick(w, 2) ? a_name(w) : NULL};
    switch (pick(w, 10)) {
    case 0: return onx_graph_remove_input(g, onx_graph_input(g, pick(w, 3)), NULL);
    case 1: return onx_graph_remove_output(g, onx_graph_output(g, pick(w, 3)), NULL);
    case 2: return onx_graph_remove_initializer(g, a_value(w), NULL);
    case 3: return onx_graph_sort(g, NULL) == ONX_NO_MEMORY ? ONX_NO_MEMORY : ONX_OK;
    case 4: return onx_graph_set_meta(g, "k", pick(w, 2) ? "v" : NULL);
    default: break;
    }
    w->built = true;
    switch (pick(w, 5)) {
    case 0: onx_graph_add_input(g, a_name(w), "float"); break;
    case 1: onx_graph_add_output(g, a_value(w), pick(w, 2) ? "float" : NULL); break;
    case 2: onx_graph_add_initializer(g, a_name(w), ONX_DTYPE_I8, 0, NULL, "", 1); break;
    case 3: onx_graph_add_tensor(g, a_name(w), onx_graph_initializer_first(a_graph(w))); break;
    default: onx_graph_add_node(g, "my::New", pick(w, 3), ins, pick(w, 3), outs); break;
    }
    return ONX_OK;
}

static onx_status on_training(wild *w) {
    onx_training *t = onx_model_training_first(w->model);
    switch (pick(w, 5)) {
    case 0: return t && !pick(w, 8) ? onx_training_remove(t) : ONX_OK;
    case 1: return onx_training_bind_update(t, a_value(w), a_value(w), NULL);
    case 2: return onx_training_bind_initial(t, a_value(w), a_value(w), NULL);
    default: break;
    }
    w->built = true;
    if (!t) t = onx_model_add_training(w->model);
    onx_training_add_algorithm(t, "step");
    return ONX_OK;
}

static onx_status on_model(wild *w) {
    onx_function *f = onx_model_function_first(w->model);
    switch (pick(w, 5)) {
    case 0: return onx_model_compact(&w->model, NULL);
    case 1: return f && !pick(w, 8) ? onx_function_remove(f) : ONX_OK;
    case 2: return onx_model_set_opset(w->model, "d", (int64_t)pick(w, 3));
    case 3: return on_training(w);
    default:
        w->built = true;
        onx_model_add_function(w->model, "my", "F");
        return ONX_OK;
    }
}

static onx_status edit(wild *w) {
    collect(w);
    w->built = false;
    size_t what = pick(w, 20);
    if (what < 8 && w->n_values) return on_value(w, a_value(w));
    if (what < 14 && w->n_nodes) return on_node(w, a_node(w));
    return what < 19 ? on_graph(w, a_graph(w)) : on_model(w);
}

/* Where names mean one thing, the file must lead to the same links as those in memory. */
static bool whole(wild *w) {
    onx_model *again = NULL;
    void *bytes = NULL;
    size_t size = 0;
    onx_diag diag = ONX_INIT(onx_diag);
    bool ok = test_links(w->model) && !onx_model_verify(w->model, &diag);
    w->model->msg.doc->error.status = ONX_OK;
    if (ok && pick(w, 10) == 0) {
        ok = !onx_model_save_memory(w->model, NULL, &bytes, &size, &diag) &&
             !onx_model_load_memory(NULL, bytes, size, NULL, &again, &diag) &&
             onx_model_equal(w->model, again, &diag) && !onx_model_verify(again, &diag) &&
             (!test_is_plain(w->model) || links_are(w->model, again));
        onx_model_free(again);
        if (bytes) onx_buffer_free(w->model->msg.doc->ctx, bytes, size);
    }
    if (!ok) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    return ok;
}

static const char broken_model[] =
    "graph { input { name: \"x\" } input { name: \"x\" } input { name: \"i\" } input { name: \"\" }"
    "  initializer { name: \"i\" data_type: 1 float_data: 1 }"
    "  initializer { name: \"W\" data_type: 1 float_data: 1 }"
    "  initializer { name: \"W\" data_type: 1 float_data: 2 }"
    "  sparse_initializer { values { name: \"sp\" data_type: 1 dims: 1 float_data: 1 }"
    "    indices { data_type: 7 dims: 1 int64_data: 0 } dims: 2 }"
    "  node { op_type: \"A\" input: \"x\" input: \"x\" input: \"nowhere\" output: \"a\" output: "
    "\"a\" }"
    "  node { op_type: \"B\" input: \"later\" output: \"a\" output: \"\" output: \"b\" }"
    "  node { op_type: \"If\" input: \"b\" output: \"later\""
    "    attribute { name: \"t\" type: GRAPH g { name: \"t\""
    "      input { name: \"x\" } node { op_type: \"C\" input: \"x\" input: \"a\" output: \"b\" }"
    "      node { op_type: \"Loop\" input: \"nowhere\" output: \"o\" attribute { name: \"body\""
    "        type: GRAPH g { name: \"body\" node { op_type: \"D\" input: \"x\" input: \"W\" input:"
    "        \"o\" output: \"W\" } output { name: \"W\" } output { name: \"a\" } value_info { name:"
    "        \"sp\" } } } } output { name: \"b\" } output { name: \"b\" } output { name: \"a\" }"
    "      value_info { name: \"x\" } value_info { name: \"i\" }"
    "      quantization_annotation { tensor_name: \"b\" quant_parameter_tensor_names {"
    "        key: \"S\" value: \"W\" } } } }"
    "    attribute { name: \"e\" type: GRAPH g { name: \"e\" output { name: \"later\" } } } }"
    "  node { op_type: \"Gradient\" domain: \"ai.onnx.preview.training\" output: \"dx\""
    "    attribute { name: \"xs\" type: STRINGS strings: \"x\" strings: \"nowhere\" strings: \"q\" "
    "}"
    "    attribute { name: \"y\" type: STRING s: \"a\" } device_configurations {"
    "      sharding_spec { tensor_name: \"a\" } sharding_spec { tensor_name: \"dx\" } } }"
    "  output { name: \"a\" } output { name: \"a\" } output { name: \"x\" } output { name: "
    "\"gone\" }"
    "  output { name: \"\" } value_info { name: \"b\" } value_info { name: \"b\" }"
    "  quantization_annotation { tensor_name: \"a\" quant_parameter_tensor_names { key: \"S\""
    "    value: \"W\" } quant_parameter_tensor_names { key: \"T\" value: \"a\" } } }"
    "training_info { initialization { node { op_type: \"R\" output: \"r\" } output { name: \"r\" } "
    "}"
    "  algorithm { node { op_type: \"U\" input: \"x\" input: \"W\" output: \"x\" } output { name:"
    "    \"x\" } } initialization_binding { key: \"W\" value: \"r\" } update_binding { key: \"x\""
    "    value: \"x\" } }"
    "functions { name: \"F\" domain: \"my\" input: \"p\" input: \"p\" input: \"q\" output: \"p\""
    "  output: \"n\" output: \"n\" node { op_type: \"N\" input: \"p\" output: \"n\" }"
    "  node { op_type: \"N\" input: \"n\" output: \"p\" } value_info { name: \"n\" } }";

static onx_model *on_context(onx_context *ctx, const char *text) {
    if (!text) return test_model_rich(ctx);
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_model *m = NULL;
    options.format = ONX_FORMAT_TEXTPROTO;
    CHECK(!onx_model_load_memory(ctx, text, strlen(text), &options, &m, NULL));
    return m;
}

static size_t ended; /* calls that met the end of memory */

static void wander(const char *text, uint64_t seed, int steps, bool faults) {
    test_heap heap = {0};
    onx_context *ctx = test_context(&heap, NULL);
    static wild w;
    w = (wild){.random = {seed}, .model = on_context(ctx, text)};
    for (int i = 0; i < steps && w.model; i++) {
        onx_model *before = NULL;
        if (faults) CHECK(!onx_model_clone(w.model, &before, NULL));
        heap.failed = 0;
        if (faults) { /* the arena is full, so that small pieces need memory, too */
            onx_arena *arena = &w.model->msg.doc->arena;
            size_t left = (size_t)(arena->end - arena->next), room = pick(&w, 2048);
            arena->end = arena->next + (room < left ? room : left);
            heap.fail_at = heap.calls + 1 + pick(&w, 3);
        }
        onx_status status = edit(&w);
        heap.fail_at = 0;
        ended += heap.failed > 0;
        onx_diag diag = ONX_INIT(onx_diag);
        bool may_differ = !before || status != ONX_NO_MEMORY || w.built;
        bool same = may_differ || onx_model_equal(w.model, before, &diag);
        if (!same) fprintf(stderr, "    half done: %s: %s\n", diag.place, diag.message);
        if (!CHECK(same) || !CHECK(whole(&w))) {
            fprintf(stderr, "    seed %llu, step %d\n", (unsigned long long)seed, i);
            steps = 0;
        }
        onx_model_free(before);
    }
    onx_model_free(w.model);
    onx_context_free(ctx);
    CHECK_EQ(heap.blocks, 0);
}

TEST(wild) {
    const char *more = getenv("ONX_WILD"); /* seeds, for longer runs */
    uint64_t seeds = more ? strtoull(more, NULL, 10) : 12;
    ended = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        wander(NULL, seed, 200, false);
        wander(broken_model, seed, 200, false);
        wander(NULL, seed, 60, true);
        wander(broken_model, seed, 100, true);
    }
    CHECK(ended > seeds);
}

TEST_MAIN(E(sparse_initializers) E(sparse_rules) E(attributes_of_every_kind) E(copied_attributes)
              E(what_is_said_about_things) E(functions) E(training) E(data_of_every_kind)
                  E(data_without_memory) E(payload_outlives_its_context) E(copy_keeps_its_new_name)
                      E(compact) E(borrowed) E(many_payloads) E(declared_inside) E(types_everywhere)
                          E(sorted_by_uses) E(shadows) E(defined_twice)
                              E(defined_twice_and_replaced) E(annotations_go) E(replaced_in_notes)
                                  E(gradient_or_not) E(removed) E(passed_through) E(overridable)
                                      E(failed_builders) E(long_hints) E(many_parts)
                                          E(many_bad_tensors) E(many_twins) E(many_branches)
                                              E(wild))
