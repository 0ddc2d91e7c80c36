/* test_infer_backend.c: inference against ONNX's own tests: nothing is declared but the inputs, and
 * what is inferred about outputs never contradicts those that are recorded.
 *
 * With inputs that are known by their types alone; with a name for each of their sizes, so that
 * sizes of outputs are expressions, which have the right values; and with inputs that are
 * constants: then every size of a dense output is known, but for those of a few operators. */
#include "test.h"

#include "infer/infer.h"
#include "support.h"

typedef enum input_mode { PLAIN, SYMBOLIC, CONSTANT, MODES } input_mode;

typedef struct tally {
    size_t models, outputs, typed, ranked, numbers, symbols, unknown, elements;
} tally;

typedef struct names { /* of dimensions, and their sizes in the recorded inputs */
    size_t n;
    onx_size of[256];
    char text[256][16];
} names;

typedef struct check {
    const char *path;
    onx_model *model;
    onx_facts *facts;
    onx_data *inputs[64];
    names names;
    tally *tally;
    input_mode mode;
    bool wrong;
} check;

static onx_data *data_of(const char *model, const char *what, size_t index) {
    char path[700];
    onx_data *data = NULL;
    int folder = (int)(strlen(model) - strlen("model.onnx"));
    (void)snprintf(path, sizeof path, "%.*stest_data_set_0/%s_%zu.pb", folder, model, what, index);
    return onx_data_load(NULL, path, ONX_DATA_NONE, &data, NULL) ? NULL : data;
}

static const onx_tensor *tensor_in(onx_data *data) {
    return data && onx_data_kind_of(data) == ONX_DATA_TENSOR ? onx_data_tensor(data) : NULL;
}

static void complain(void *user, const onx_node *node, const onx_value *value,
                     const onx_diag *diag) {
    check *c = user;
    (void)node;
    (void)value;
    c->wrong = true;
    fprintf(stderr, "    %s: %s: %s\n", c->path, diag->place, diag->message);
}

/* ── The model, with nothing declared but its inputs ─────────────────────────────────────────── */

/* The type of an input, with a name for each of its sizes. */
static void name_sizes(check *c, onx_value *input, const onx_tensor *tensor) {
    char type[512];
    size_t at = (size_t)snprintf(type, sizeof type, "%s", onx_dtype_name(onx_tensor_dtype(tensor)));
    names *all = &c->names;
    for (size_t d = 0; d < onx_tensor_rank(tensor) && all->n < ONX_COUNT(all->of); d++) {
        char *name = all->text[all->n];
        (void)snprintf(name, sizeof all->text[0], "s%zu", all->n);
        all->of[all->n++] = (onx_size){name, onx_tensor_dim(tensor, d)};
        at += (size_t)snprintf(type + at, sizeof type - at, "%s%s", d ? "," : "[", name);
    }
    if (onx_tensor_rank(tensor)) (void)snprintf(type + at, sizeof type - at, "]");
    REQUIRE(!onx_value_set_type(input, type, NULL));
}

static void prepare(check *c) {
    onx_graph *graph = onx_model_graph(c->model);
    for (onx_value *v = onx_graph_value_first(graph); v; v = onx_value_next(v))
        if (onx_value_node(v)) REQUIRE(!onx_value_set_type(v, NULL, NULL));
    if (c->mode == CONSTANT)
        REQUIRE(!onx_model_set_ir_version(c->model, 3)); /* inputs can be constants */
    for (size_t i = 0; i < onx_graph_input_count(graph) && i < ONX_COUNT(c->inputs); i++) {
        onx_value *input = onx_graph_input(graph, i);
        const onx_tensor *tensor = tensor_in(c->inputs[i] = data_of(c->path, "input", i));
        if (!input || !tensor) continue;
        if (c->mode == SYMBOLIC) name_sizes(c, input, tensor);
        if (c->mode == CONSTANT && !onx_value_initializer(input))
            REQUIRE(onx_graph_add_tensor(graph, onx_value_name(input), tensor));
    }
}

/* ── Outputs ─────────────────────────────────────────────────────────────────────────────────── */

static bool size_of_name(void *user, onx_str name, int64_t *value) {
    const names *all = user;
    for (size_t i = 0; i < all->n; i++)
        if (onx_str_is(name, all->of[i].name)) return *value = all->of[i].value, true;
    return false;
}

static void contradiction(check *c, const onx_fact *fact, const char *output) {
    onx_buf text;
    onx_buf_init(&text, onx_context_or_default(NULL));
    onx_fact_print(fact, &text);
    onx_buf_putc(&text, '\0');
    fprintf(stderr, "    %s: output '%s' was inferred as %s\n", c->path, output, text.data);
    onx_buf_fini(&text);
    c->wrong = true;
}

/* Elements that are known are those that were recorded. */
static bool same_elements(check *c, const onx_fact *fact, const onx_tensor *tensor) {
    double values[1024];
    uint64_t count;
    if (!fact->elems || onx_tensor_count(tensor, &count, NULL) || count > ONX_COUNT(values) ||
        onx_tensor_read_as(tensor, ONX_DTYPE_F64, values, (size_t)count * sizeof *values, NULL))
        return true;
    if (fact->n_elems != count) return false;
    for (size_t i = 0; i < count; i++) {
        double known;
        if (!onx_sym_is_real(onx_facts_syms(c->facts), fact->elems[i], &known)) continue;
        c->tally->elements++;
        if (known != values[i]) return false;
    }
    return true;
}

static bool agrees(check *c, const onx_fact *fact, const onx_tensor *tensor, bool *complete) {
    tally *t = c->tally;
    int64_t size;
    t->outputs++;
    t->typed += fact->kind && fact->dtype;
    t->ranked += fact->ranked;
    *complete = fact->kind && fact->dtype && fact->ranked;
    if (!fact->kind) return true;
    if (fact->kind != ONX_TYPE_TENSOR || (fact->dtype && fact->dtype != onx_tensor_dtype(tensor)))
        return false;
    if (!fact->ranked) return true;
    if (fact->rank != onx_tensor_rank(tensor)) return false;
    for (size_t d = 0; d < fact->rank; d++) {
        bool number = onx_sym_is_int(fact->dims[d], &size);
        bool known = onx_sym_eval(fact->dims[d], size_of_name, &c->names, &size);
        t->numbers += number;
        t->symbols += known && !number;
        t->unknown += !known;
        *complete = *complete && known;
        if (known && size != onx_tensor_dim(tensor, d)) return false;
    }
    return same_elements(c, fact, tensor);
}

/* Sizes that depend on data of a kind that is not followed: strings, images, boxes, sequences. */
static bool may_be_open(const onx_model *model) {
    static const char *const ops[] = {
        "Unique",       "NonMaxSuppression",  "StringSplit", "StringNormalizer",
        "ImageDecoder", "ConcatFromSequence", "SequenceAt",
    };
    for (const onx_node *n = onx_graph_node_first(onx_model_graph(model)); n; n = onx_node_next(n))
        for (size_t i = 0; i < ONX_COUNT(ops); i++)
            if (strcmp(onx_node_op(n), ops[i]) == 0) return true;
    return false;
}

static void check_outputs(check *c) {
    onx_graph *graph = onx_model_graph(c->model);
    for (size_t i = 0; i < onx_graph_output_count(graph); i++) {
        onx_value *output = onx_graph_output(graph, i);
        onx_data *data = data_of(c->path, "output", i);
        const onx_fact *fact = onx_facts_of(c->facts, output);
        bool complete = true;
        if (tensor_in(data) && fact->kind != ONX_TYPE_OPTIONAL &&
            !agrees(c, fact, tensor_in(data), &complete))
            contradiction(c, fact, onx_value_name(output));
        if (!complete && c->mode == CONSTANT && !may_be_open(c->model))
            contradiction(c, fact, onx_value_name(output));
        onx_data_free(data);
    }
}

static bool check_model(const char *path, input_mode mode, tally *t) {
    check c = {.path = path, .tally = t, .mode = mode};
    onx_facts_options options = {.report = complain, .user = &c};
    if (onx_model_load(NULL, path, NULL, &c.model, NULL)) return true;
    prepare(&c);
    t->models++;
    if (CHECK(onx_facts_new(c.model, &options, &c.facts, NULL) == ONX_OK)) check_outputs(&c);
    onx_facts_free(c.facts);
    for (size_t i = 0; i < ONX_COUNT(c.inputs); i++) onx_data_free(c.inputs[i]);
    onx_model_free(c.model);
    return !c.wrong;
}

static void check_all(input_mode mode) {
    static const char *const suites[] = {"node", "simple", "pytorch-converted", "pytorch-operator"};
    static const char *const titles[MODES] = {"plain", "symbolic", "constant"};
    tally t = {0};
    size_t wrong = 0;
    for (size_t s = 0; s < ONX_COUNT(suites); s++) {
        char folder[512];
        (void)snprintf(folder, sizeof folder, "%s/%s", test_data(), suites[s]);
        test_files files = test_files_find(folder, "model.onnx");
        for (size_t i = 0; i < files.count; i++) wrong += !check_model(files.paths[i], mode, &t);
        test_files_free(&files);
    }
    printf("%s inputs: %zu models, %zu outputs, %zu of known type, %zu of known rank; sizes: %zu "
           "numbers, %zu symbolic, %zu unknown; %zu elements\n",
           titles[mode], t.models, t.outputs, t.typed, t.ranked, t.numbers, t.symbols, t.unknown,
           t.elements);
    CHECK_EQ(wrong, 0);
    CHECK(t.models > 1500);
    CHECK(t.typed == t.outputs);
    CHECK(t.outputs - t.ranked <= (mode == CONSTANT ? 1 : 80));
    CHECK(t.unknown <= (mode == CONSTANT ? 70 : 1000));
}

TEST(plain) {
    if (!test_data()) SKIP("ONX_DATA is not set");
    check_all(PLAIN);
}

TEST(symbolic) {
    if (!test_data()) SKIP("ONX_DATA is not set");
    check_all(SYMBOLIC);
}

TEST(constant) {
    if (!test_data()) SKIP("ONX_DATA is not set");
    check_all(CONSTANT);
}

TEST_MAIN(E(plain) E(symbolic) E(constant))
