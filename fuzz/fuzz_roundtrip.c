/* fuzz_roundtrip.c: models: all forms, and editing.
 *
 *     n, n bytes of program, the model
 *
 * A model that loads is the same after a trip through each text form. Each byte pair of the
 * program is an edit; after every one names and links agree, and at the end the model saves and
 * loads as itself, names leading where they led. */
#include "fuzz.h"

enum { MANY = 400 }; /* values and nodes to choose from; editing larger models shows nothing new */

typedef struct editor {
    onx_model *model;
    onx_graph *graphs[MANY];
    onx_value *values[MANY];
    onx_node *nodes[MANY];
    size_t n_graphs, n_values, n_nodes;
    const uint8_t *program;
    size_t left;
    onx_diag diag;
} editor;

static uint8_t next(editor *e) {
    return (uint8_t)(e->left ? (e->left--, *e->program++) : 0);
}

static void collect_graph(editor *e, onx_graph *g) {
    if (e->n_graphs < MANY) e->graphs[e->n_graphs++] = g;
    for (onx_value *v = onx_graph_value_first(g); v; v = onx_value_next(v))
        if (e->n_values < MANY) e->values[e->n_values++] = v;
    for (onx_node *n = onx_graph_node_first(g); n; n = onx_node_next(n))
        if (e->n_nodes < MANY) e->nodes[e->n_nodes++] = n;
}

static void collect(editor *e) {
    const onx_msg *m;
    e->n_graphs = e->n_values = e->n_nodes = 0;
    for (onx_walk w = onx_walk_begin(e->model); (m = onx_walk_next(&w));) {
        if (m->desc == &onx_desc_graph) collect_graph(e, (onx_graph *)(uintptr_t)m);
        if (m->desc == &onx_desc_function)
            collect_graph(e, onx_function_body((const onx_function *)m));
    }
}

static onx_graph *a_graph(editor *e) {
    size_t i = next(e);
    return e->n_graphs ? e->graphs[i % e->n_graphs] : NULL;
}
static onx_value *a_value(editor *e) {
    size_t i = next(e);
    return e->n_values ? e->values[i % e->n_values] : NULL;
}
static onx_node *a_node(editor *e) {
    size_t i = next(e);
    return e->n_nodes ? e->nodes[i % e->n_nodes] : NULL;
}
/* A name that is likely to be there already, or not. */
static const char *a_name(editor *e) {
    static const char *const names[] = {
        "x", "y", "X", "W", "a", "new", "v0", "v1", "a much longer name", "out"};
    size_t i = next(e);
    onx_value *v = i % 3 == 0 ? a_value(e) : NULL;
    return v ? onx_value_name(v) : names[i % ONX_COUNT(names)];
}

static onx_status set_tensor(editor *e, onx_node *n, const char *name) {
    static const int64_t ints[] = {1, -2, 3};
    onx_tensor *tensor = NULL;
    FUZZ_OK(onx_tensor_new(e->model->msg.doc->ctx, "t", ONX_DTYPE_I64, 1, (int64_t[]){3}, ints,
                           sizeof ints, &tensor, &e->diag),
            &e->diag);
    onx_status status = onx_node_set_tensor(n, name, tensor);
    onx_tensor_free(tensor);
    return status;
}

/* An attribute of any node, copied here: with its graphs, if it has some. */
static onx_status copy_attr(editor *e, onx_node *n) {
    onx_node *from = a_node(e);
    const onx_attr *attr = from ? onx_node_attr_first(from) : NULL;
    return attr ? onx_node_set_attr(n, attr, &e->diag) : ONX_OK;
}

static void edit_attribute(editor *e, onx_node *n) {
    static const int64_t ints[] = {1, -2, 3};
    static const char *const strings[] = {"x", "W"}, *const types[] = {"float[N]", "seq(int64)"};
    const char *name = next(e) % 4 ? a_name(e) : "xs"; /* which names values, in Gradient */
    onx_status status = ONX_OK;
    switch (next(e) % 12) {
    case 0: status = onx_node_set_int(n, name, 7); break;
    case 1: status = onx_node_set_ints(n, name, 3, ints); break;
    case 2: status = onx_node_set_strings(n, name, 2, strings); break;
    case 3: status = onx_node_set_string(n, name, "text"); break;
    case 4: status = onx_node_remove_attr(n, name); break;
    case 5: onx_node_add_graph(n, name, "inner"); break;
    case 6: status = onx_node_set_type(n, name, "seq(float[N,2])", &e->diag); break;
    case 7: status = onx_node_set_types(n, name, 2, types, &e->diag); break;
    case 8: onx_node_append_graph(n, name, "one more"); break;
    case 9: status = copy_attr(e, n); break;
    case 10:
        status = onx_node_set_op(n, next(e) % 2 ? "ai.onnx.preview.training::Gradient" : "Add");
        break;
    default: status = set_tensor(e, n, name); break;
    }
    FUZZ_CHECK(status != ONX_NO_MEMORY);
}

static void edit_tensor(editor *e, onx_value *v) {
    onx_tensor *t = onx_value_initializer(v);
    if (!t || onx_tensor_check(t, NULL)) return;
    onx_status status =
        next(e) % 2 ? onx_tensor_store_raw(t, &e->diag) : onx_tensor_store_typed(t, &e->diag);
    if (!status) FUZZ_OK(onx_tensor_check(t, &e->diag), &e->diag);
}

static void edit_model(editor *e) {
    onx_function *f = onx_model_function_first(e->model);
    onx_training *t = onx_model_training_first(e->model);
    switch (next(e) % 11) {
    case 0:
        if (onx_model_compact(&e->model, &e->diag))
            fuzz_fail("compact", __FILE__, __LINE__, &e->diag);
        break;
    case 1: onx_model_add_function(e->model, "local", a_name(e)); break;
    case 2: FUZZ_CHECK(!f || onx_function_remove(f) == ONX_OK); break;
    case 3: FUZZ_OK(onx_model_set_opset(e->model, "new", 3), NULL); break;
    case 5: onx_model_add_training(e->model); break;
    case 6: onx_training_add_initialization(t, "initialization"); break;
    case 7: onx_training_add_algorithm(t, "algorithm"); break;
    case 8: (void)!onx_training_bind_update(t, a_value(e), a_value(e), &e->diag); break;
    case 9: (void)!onx_training_bind_initial(t, a_value(e), a_value(e), &e->diag); break;
    case 10: FUZZ_CHECK(!t || onx_training_remove(t) == ONX_OK); break;
    case 4: FUZZ_OK(onx_model_set_meta(e->model, "k", next(e) % 2 ? "v" : NULL), NULL); break;
    default: onx_model_touch(e->model); break;
    }
}

static void edit_graph(editor *e, onx_graph *g) {
    static const float one = 1;
    onx_value *ins[2];
    switch (next(e) % 7) {
    case 0: onx_graph_add_input(g, a_name(e), "float[N]"); break;
    case 1: onx_graph_add_output(g, a_value(e), "float[N]"); break;
    case 2: onx_graph_add_initializer(g, a_name(e), ONX_DTYPE_F32, 0, NULL, &one, 4); break;
    case 3:
        ins[0] = a_value(e), ins[1] = a_value(e);
        onx_graph_add_op_array(g, "Add", next(e) % 2 ? a_name(e) : NULL, 2, ins);
        break;
    case 4: (void)!onx_graph_remove_input(g, a_value(e), &e->diag); break;
    case 5: (void)!onx_graph_remove_output(g, a_value(e), &e->diag); break;
    default: (void)!onx_graph_remove_initializer(g, a_value(e), &e->diag); break;
    }
}

static void edit(editor *e) {
    onx_node *n = NULL;
    onx_value *v = NULL;
    collect(e);
    switch (next(e) % 13) {
    case 0: (void)!onx_value_rename(a_value(e), a_name(e), &e->diag); break;
    case 1: (void)!onx_value_replace(a_value(e), a_value(e), &e->diag); break;
    case 2: (void)!onx_node_remove(a_node(e), &e->diag); break;
    case 3:
        if ((n = a_node(e)))
            (void)!onx_node_set_input(n, next(e) % 4, next(e) % 4 ? a_value(e) : NULL, &e->diag);
        break;
    case 4:
        if ((n = a_node(e))) (void)!onx_node_remove_input(n, next(e) % 4);
        break;
    case 5:
        if ((n = a_node(e))) onx_node_add_output(n, next(e) % 2 ? a_name(e) : NULL);
        break;
    case 6: (void)!onx_graph_sort(a_graph(e), &e->diag); break;
    case 7:
        if ((n = a_node(e))) (void)!onx_node_move(n, next(e) % 3 ? a_node(e) : NULL);
        break;
    case 8:
        if ((n = a_node(e))) edit_attribute(e, n);
        break;
    case 9:
        if (e->n_graphs) edit_graph(e, a_graph(e));
        break;
    case 10:
        if ((v = a_value(e)))
            (void)!onx_value_set_type(v, next(e) % 3 ? "int64[2,N]" : NULL, &e->diag);
        break;
    case 11:
        if ((v = a_value(e))) edit_tensor(e, v);
        break;
    default: edit_model(e); break;
    }
}

/* Told what it is: any bytes can look like text. */
static onx_status load(onx_context *ctx, const void *bytes, size_t size, onx_model **out,
                       onx_diag *diag) {
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_PROTOBUF;
    return onx_model_load_memory(ctx, bytes, size, &options, out, diag);
}

static onx_model *reload(onx_context *ctx, const onx_model *model, onx_buf *bytes) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_writer writer = onx_buf_writer(bytes);
    onx_model *back = NULL;
    FUZZ_OK(onx_wire_encode(model, &writer, &diag), &diag);
    FUZZ_OK(load(ctx, bytes->data, bytes->size, &back, &diag), &diag);
    if (!onx_model_equal(model, back, &diag))
        fuzz_fail("saved equals loaded", __FILE__, __LINE__, &diag);
    return back;
}

static void check_saved(onx_context *ctx, const onx_model *model) {
    onx_buf bytes;
    onx_buf_init(&bytes, ctx);
    onx_model *back = reload(ctx, model, &bytes);
    FUZZ_CHECK(test_is_plain(back) || !test_is_plain(model));
    if (test_is_plain(model)) {
        test_bytes a = {NULL, 0, 0}, b = {NULL, 0, 0};
        test_links_print(model, &a);
        test_links_print(back, &b);
        FUZZ_CHECK(a.size == b.size && !memcmp(a.data, b.data, a.size));
        test_bytes_free(&a);
        test_bytes_free(&b);
    }
    onx_model_free(back);
    onx_buf_fini(&bytes);
}

static void check_edits(onx_context *ctx, editor *e) {
    bool plain = test_is_plain(e->model);
    while (e->left) {
        edit(e);
        FUZZ_CHECK(test_links(e->model));
        FUZZ_CHECK(!plain || test_is_plain(e->model));
    }
    check_saved(ctx, e->model);
}

static void check_forms(const onx_model *model) {
    fuzz_print_parse(&model->msg, onx_json_print,
                     onx_json_parse); /* may refuse: text that is not UTF-8 */
    FUZZ_CHECK(fuzz_print_parse(&model->msg, onx_textproto_print, onx_textproto_parse));
    FUZZ_CHECK(fuzz_print_parse(&model->msg, fuzz_text_print, fuzz_text_parse));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size - 1 < data[0]) return 0;
    size_t steps = data[0];
    onx_context *ctx = fuzz_context();
    onx_model *model = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = load(ctx, data + 1 + steps, size - 1 - steps, &model, &diag);
    if (status) {
        fuzz_refused(status, &diag);
    } else {
        editor *e = calloc(1, sizeof *e);
        FUZZ_CHECK(e && test_links(model));
        check_forms(model);
        e->model = model;
        e->program = data + 1;
        e->left = steps;
        check_edits(ctx, e);
        onx_model_free(e->model);
        free(e);
    }
    fuzz_context_free(ctx);
    return 0;
}
