/* test_faults.c: memory that runs out, an operating system that fails, a process that is killed.
 *
 * Every operation is run once to count its calls, then once for each of them with that call
 * failing: alone, and with all that follow. Whatever happens: a clean status, nothing leaked,
 * objects whole and usable, files old or new. */
#define _XOPEN_SOURCE 700
#include "support.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[256];    /* a new one for each test that needs files */
static test_bytes forms[4]; /* the model with everything, in each format */

static const onx_format formats[] = {ONX_FORMAT_PROTOBUF, ONX_FORMAT_TEXT, ONX_FORMAT_JSON,
                                     ONX_FORMAT_TEXTPROTO};

/* Make them with a string of that length in front: the rest lies elsewhere in the arenas. */
static void prepare(size_t padding) {
    char *text = calloc(1, padding + 1);
    onx_model *model = test_model_rich(NULL);
    memset(text, '.', padding);
    CHECK(model && onx_model_set_producer(model, "test", text) == ONX_OK);
    free(text);
    for (size_t i = 0; i < ONX_COUNT(forms); i++) {
        onx_save_options options = ONX_INIT(onx_save_options);
        void *out = NULL;
        size_t size = 0;
        options.format = formats[i];
        CHECK(onx_model_save_memory(model, &options, &out, &size, NULL) == ONX_OK);
        forms[i].size = 0;
        test_put(&forms[i], out, size);
        onx_buffer_free(NULL, out, size);
    }
    onx_model_free(model);
}

static onx_model *rich_model(onx_context *ctx) {
    onx_model *model = NULL;
    CHECK(onx_model_load_memory(ctx, forms[0].data, forms[0].size, NULL, &model, NULL) == ONX_OK);
    return model;
}

/* An operation: what it works on is made without faults, then `run` meets them. */
typedef struct operation {
    const char *name;
    void *(*setup)(onx_context *ctx);
    onx_status (*run)(void *state, onx_diag *diag);
    bool (*check)(void *state, onx_status status); /* afterwards: is all as it should be? */
    void (*teardown)(void *state);
} operation;

typedef struct work { /* what most operations work on */
    onx_context *ctx;
    onx_model *model, *before; /* `before`: a copy, on a context of its own */
    onx_data *data;
    onx_tensor *tensor;
    bool builder; /* errors stick to the model */
} work;

/* ── Running out of memory ── */

static size_t total_failures;

static void report(const operation *op, size_t k, bool persistent, onx_status status,
                   const char *what) {
    fprintf(stderr, "%s: allocation %zu%s: %s (%s)\n", op->name, k,
            persistent ? " and all after it" : "", what, onx_status_name(status));
}

/* How an operation meets the end of memory. */
typedef struct fault {
    size_t fail_at;  /* allocation to fail, from 1; 0: none */
    bool persistent; /* and all after it */
    bool squeeze;    /* the model's arena has `room` bytes left: its small pieces fail too */
    size_t room;
} fault;

static onx_model *model_of(void *state);

/* One run; the number of allocations it made, and whether one of them failed. */
static size_t run_once(const operation *op, fault f, bool *failed) {
    test_heap heap = {0};
    onx_context *ctx = test_context(&heap, NULL);
    void *state = op->setup(ctx);
    onx_diag diag = ONX_INIT(onx_diag);
    if (f.squeeze) {
        onx_arena *arena = &model_of(state)->msg.doc->arena;
        size_t left = (size_t)(arena->end - arena->next);
        arena->end = arena->next + (f.room < left ? f.room : left);
    }
    heap.calls = 0;
    heap.fail_at = f.fail_at;
    heap.fail_count = !f.persistent;
    onx_status status = op->run(state, &diag);
    size_t calls = heap.calls;
    heap.fail_at = 0;
    *failed = heap.failed != 0;
    total_failures += *failed;
    size_t k = f.squeeze ? f.room : f.fail_at;
    if (!CHECK(status == (*failed ? ONX_NO_MEMORY : ONX_OK)))
        report(op, k, f.persistent, status, "the wrong status");
    if (diag.status && !CHECK(diag.status == status))
        report(op, k, f.persistent, diag.status, "the diagnostic differs");
    if (!CHECK(op->check(state, status)))
        report(op, k, f.persistent, status, "the object is not whole");
    op->teardown(state);
    if (status) { /* the context is as good as before */
        state = op->setup(ctx);
        if (!CHECK(op->run(state, &diag) == ONX_OK))
            report(op, k, f.persistent, diag.status, "does not work again");
        CHECK(op->check(state, ONX_OK));
        op->teardown(state);
    }
    onx_context_free(ctx);
    if (!CHECK(heap.bytes == 0 && heap.blocks == 0)) {
        report(op, k, f.persistent, status, "leaks");
        fprintf(stderr, "    %zu bytes in %zu blocks\n", heap.bytes, heap.blocks);
    }
    return calls;
}

static size_t each_allocation_once(const operation *op, size_t *runs) {
    bool failed;
    size_t before = test_failures, n = run_once(op, (fault){0}, &failed);
    for (size_t k = 1; k <= n && test_failures < before + 20; k++, *runs += 2) {
        run_once(op, (fault){.fail_at = k}, &failed);
        run_once(op, (fault){.fail_at = k, .persistent = true}, &failed);
    }
    return n;
}

static void each_allocation(const operation *op) {
    size_t runs = 0, n = each_allocation_once(op, &runs);
    printf("    %-28s %5zu allocations, %6zu runs\n", op->name, n, runs);
}

/* A model lives in an arena, which takes memory in large pieces: have it run out after every few
 * bytes. */
static void each_piece(const operation *op) {
    size_t room = 0, before = test_failures;
    for (bool failed = true; failed && room < 4096 && test_failures < before + 20; room += 4)
        run_once(op, (fault){.fail_at = 1, .persistent = true, .squeeze = true, .room = room},
                 &failed);
    printf("    %-28s up to %5zu bytes of an arena\n", op->name, room);
    each_allocation(op);
}

/* ── Operations on models ── */

static void *work_new(onx_context *ctx) {
    work *w = calloc(1, sizeof *w);
    w->ctx = ctx;
    return w;
}

static void work_free(void *state) {
    work *w = state;
    onx_model_free(w->model);
    onx_model_free(w->before);
    onx_data_free(w->data);
    onx_tensor_free(w->tensor);
    free(w);
}

static void *with_model(onx_context *ctx) {
    work *w = work_new(ctx);
    w->model = rich_model(ctx);
    w->before = rich_model(NULL);
    return w;
}

static onx_model *model_of(void *state) {
    return ((work *)state)->model;
}

/* Loaded and whole, or not there. */
static bool check_loaded(void *state, onx_status status) {
    work *w = state;
    if (status) return w->model == NULL;
    onx_model *expected = rich_model(NULL);
    bool ok = w->model && test_links(w->model) && onx_model_equal(w->model, expected, NULL);
    onx_model_free(expected);
    return ok;
}

/* Only read: the same as before, whatever happened. */
static bool check_unchanged(void *state, onx_status status) {
    work *w = state;
    (void)status;
    return test_links(w->model) && onx_model_equal(w->model, w->before, NULL);
}

/* Edited, or as before; names and links agree either way. */
static bool check_edited(void *state, onx_status status) {
    work *w = state;
    onx_diag diag = ONX_INIT(onx_diag);
    if (!test_links(w->model) || onx_model_verify(w->model, NULL)) return false;
    bool same = onx_model_equal(w->model, w->before, &diag);
    if (status && !same) fprintf(stderr, "    half done: %s: %s\n", diag.place, diag.message);
    return !status || same;
}

/* Builder calls remember the failure in the model; what they added before it may stay. */
static bool check_built(void *state, onx_status status) {
    work *w = state;
    if (!w->model) return status != ONX_OK;
    const onx_diag *error = onx_model_error(w->model);
    return test_links(w->model) && (status == ONX_OK) == (error == NULL);
}

static onx_status built(work *w, const void *object) {
    const onx_diag *error = w->model ? onx_model_error(w->model) : NULL;
    return object && !error ? ONX_OK : error ? error->status : ONX_NO_MEMORY;
}

static onx_status load_as(work *w, const test_bytes *bytes, onx_format format, bool copy,
                          onx_diag *diag) {
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = format;
    options.copy = copy;
    return onx_model_load_memory(w->ctx, bytes->data, bytes->size, &options, &w->model, diag);
}

static onx_status run_load(void *state, onx_diag *diag) {
    return load_as(state, &forms[0], ONX_FORMAT_PROTOBUF, false, diag);
}
static onx_status run_load_copy(void *state, onx_diag *diag) {
    return load_as(state, &forms[0], ONX_FORMAT_PROTOBUF, true, diag);
}
static onx_status run_load_text(void *state, onx_diag *diag) {
    return load_as(state, &forms[1], ONX_FORMAT_TEXT, false, diag);
}
static onx_status run_load_json(void *state, onx_diag *diag) {
    return load_as(state, &forms[2], ONX_FORMAT_JSON, false, diag);
}
static onx_status run_load_textproto(void *state, onx_diag *diag) {
    return load_as(state, &forms[3], ONX_FORMAT_TEXTPROTO, false, diag);
}

static ptrdiff_t rich_read(void *user, void *data, size_t size) {
    size_t *at = user, n = forms[0].size - *at < 1000 ? forms[0].size - *at : 1000;
    if (n > size) n = size;
    if (n) memcpy(data, forms[0].data + *at, n);
    *at += n;
    return (ptrdiff_t)n;
}
static onx_status run_load_stream(void *state, onx_diag *diag) {
    work *w = state;
    size_t at = 0;
    return onx_model_load_stream(w->ctx, &(onx_reader){&at, rich_read}, NULL, &w->model, diag);
}

static onx_status save_as(work *w, onx_format format, bool anew, onx_diag *diag) {
    onx_save_options options = ONX_INIT(onx_save_options);
    void *out = NULL;
    size_t size = 0;
    options.format = format;
    if (anew) onx_model_touch(w->model);
    onx_status status = onx_model_save_memory(w->model, &options, &out, &size, diag);
    CHECK((status == ONX_OK) == (out != NULL));
    onx_buffer_free(w->ctx, out, size);
    return status;
}
static onx_status run_save(void *state, onx_diag *diag) {
    return save_as(state, ONX_FORMAT_PROTOBUF, false, diag);
}
static onx_status run_save_anew(void *state, onx_diag *diag) {
    return save_as(state, ONX_FORMAT_PROTOBUF, true, diag);
}
static onx_status run_save_text(void *state, onx_diag *diag) {
    return save_as(state, ONX_FORMAT_TEXT, false, diag);
}
static onx_status run_save_json(void *state, onx_diag *diag) {
    return save_as(state, ONX_FORMAT_JSON, false, diag);
}
static onx_status run_save_textproto(void *state, onx_diag *diag) {
    return save_as(state, ONX_FORMAT_TEXTPROTO, false, diag);
}
static onx_status run_clone(void *state, onx_diag *diag) {
    work *w = state;
    onx_model *copy = NULL;
    onx_status status = onx_model_clone(w->model, &copy, diag);
    CHECK((status == ONX_OK) == (copy != NULL));
    if (copy) CHECK(onx_model_equal(w->model, copy, NULL));
    onx_model_free(copy);
    return status;
}
static onx_status run_compact(void *state, onx_diag *diag) {
    work *w = state;
    return onx_model_compact(&w->model, diag);
}
static int discard(void *user, const void *data, size_t size) {
    (void)user, (void)data, (void)size;
    return 0;
}
static onx_status run_print(void *state, onx_diag *diag) {
    work *w = state;
    return onx_model_print(w->model, &(onx_writer){NULL, discard}, NULL, diag);
}
static onx_status run_sort(void *state, onx_diag *diag) {
    work *w = state;
    return onx_graph_sort(onx_model_graph(w->model), diag);
}

TEST(memory_load_and_save) {
    static const operation operations[] = {
        {"load", work_new, run_load, check_loaded, work_free},
        {"load a copy", work_new, run_load_copy, check_loaded, work_free},
        {"load a stream", work_new, run_load_stream, check_loaded, work_free},
        {"load ONNX text", work_new, run_load_text, check_loaded, work_free},
        {"load JSON", work_new, run_load_json, check_loaded, work_free},
        {"load protobuf text", work_new, run_load_textproto, check_loaded, work_free},
        {"save", with_model, run_save, check_unchanged, work_free},
        {"save anew", with_model, run_save_anew, check_unchanged, work_free},
        {"save as ONNX text", with_model, run_save_text, check_unchanged, work_free},
        {"save as JSON", with_model, run_save_json, check_unchanged, work_free},
        {"save as protobuf text", with_model, run_save_textproto, check_unchanged, work_free},
        {"clone", with_model, run_clone, check_unchanged, work_free},
        {"compact", with_model, run_compact, check_unchanged, work_free},
        {"print", with_model, run_print, check_unchanged, work_free},
        {"sort", with_model, run_sort, check_unchanged, work_free},
    };
    size_t step = getenv("ONX_FAULTS") ? 16 : 256; /* a piece of an arena has 4096 bytes */
    for (size_t i = 0; i < ONX_COUNT(operations); i++) {
        size_t runs = 0, n = 0;
        for (size_t padding = 0; padding < 4096; padding += step) {
            prepare(padding);
            n += each_allocation_once(&operations[i], &runs);
        }
        printf("    %-28s %6zu allocations, %6zu runs\n", operations[i].name, n, runs);
    }
    prepare(1);
}

/* ── Editing ── */

static onx_value *value(const work *w, const char *name) {
    return onx_graph_find(onx_model_graph(w->model), name);
}
static onx_node *node_of(const work *w, const char *name) {
    return onx_value_node(value(w, name));
}

static onx_status run_rename(void *state, onx_diag *diag) {
    return onx_value_rename(value(state, "a"), "a name that is much longer than the old one was",
                            diag);
}
static onx_status run_replace(void *state, onx_diag *diag) {
    return onx_value_replace(value(state, "a"), value(state, "X"), diag);
}
static onx_status run_replace_output(void *state,
                                     onx_diag *diag) { /* by an input: needs an Identity */
    return onx_value_replace(value(state, "y"), value(state, "X"), diag);
}
static onx_status run_take_output(void *state,
                                  onx_diag *diag) { /* by a node's result: takes the name */
    return onx_value_replace(value(state, "y"), value(state, "r"), diag);
}
static onx_status run_set_input(void *state, onx_diag *diag) {
    return onx_node_set_input(node_of(state, "y"), 1, value(state, "X"), diag);
}
static onx_status run_set_missing_input(void *state, onx_diag *diag) {
    return onx_node_set_input(node_of(state, "c"), 1, value(state, "X"), diag);
}
static onx_status run_set_type(void *state, onx_diag *diag) {
    return onx_value_set_type(value(state, "r"), "map(int64, seq(float[N,3]))", diag);
}
static onx_status run_set_types(void *state, onx_diag *diag) { /* of an input that is declared */
    return onx_value_set_type(value(state, "X"), "double[N,M,4]", diag);
}
static onx_status run_set_int(void *state, onx_diag *diag) {
    (void)diag;
    return onx_node_set_int(node_of(state, "c"), "i", 5);
}
static onx_status run_set_strings(void *state, onx_diag *diag) {
    static const char *const strings[] = {"one", "two", "three", "four", "five"};
    (void)diag;
    return onx_node_set_strings(node_of(state, "c"), "graphs", 5,
                                strings); /* in place of subgraphs */
}
static onx_status run_set_gradient(void *state, onx_diag *diag) {
    static const char *const strings[] = {"X", "W", "a"};
    (void)diag;
    return onx_node_set_strings(node_of(state, "gx"), "xs", 3, strings);
}
static onx_status run_set_attr_type(void *state, onx_diag *diag) {
    return onx_node_set_type(node_of(state, "c"), "i", "seq(float[N])", diag);
}
static onx_status run_set_attr_tensor(void *state, onx_diag *diag) {
    work *w = state;
    (void)diag;
    return onx_node_set_tensor(node_of(w, "c"), "t", onx_value_initializer(value(w, "S")));
}
static onx_status run_set_op(void *state, onx_diag *diag) {
    (void)diag;
    return onx_node_set_op(node_of(state, "c"), "com.example::Other");
}
static onx_status run_header(void *state, onx_diag *diag) {
    work *w = state;
    (void)diag;
    return onx_model_set_doc(w->model, "another description, which is longer than the first");
}
static onx_status run_opset(void *state, onx_diag *diag) {
    (void)diag;
    return onx_model_set_opset(((work *)state)->model, "a.new.domain", 3);
}
static onx_status run_meta(void *state, onx_diag *diag) {
    (void)diag;
    return onx_model_set_meta(((work *)state)->model, "a new key", "and its value");
}
static onx_status run_node_meta(void *state, onx_diag *diag) {
    (void)diag;
    return onx_node_set_meta(node_of(state, "c"), "a new key", "and its value");
}
static onx_status run_tensor_set(void *state, onx_diag *diag) {
    static const double values[] = {1, 2, 3, 4, 5, 6};
    onx_tensor *t = onx_value_initializer(value(state, "W"));
    return onx_tensor_set(t, ONX_DTYPE_F64, 2, (const int64_t[]){2, 3}, values, sizeof values,
                          diag);
}
static onx_status run_store_typed(void *state, onx_diag *diag) {
    return onx_tensor_store_typed(onx_value_initializer(value(state, "Q4")), diag);
}
static onx_status run_store_raw(void *state, onx_diag *diag) {
    return onx_tensor_store_raw(onx_value_initializer(value(state, "I8")), diag);
}
static onx_status run_remove(void *state, onx_diag *diag) {
    work *w = state;
    ONX_TRY(onx_graph_remove_output(onx_model_graph(w->model), value(w, "y"), diag));
    return onx_node_remove(node_of(w, "y"), diag);
}

TEST(memory_edit) {
    static const operation operations[] = {
        {"rename", with_model, run_rename, check_edited, work_free},
        {"replace", with_model, run_replace, check_edited, work_free},
        {"replace an output", with_model, run_replace_output, check_edited, work_free},
        {"take over an output", with_model, run_take_output, check_edited, work_free},
        {"add an input", with_model, run_set_input, check_edited, work_free},
        {"fill a missing input", with_model, run_set_missing_input, check_edited, work_free},
        {"declare a type", with_model, run_set_type, check_edited, work_free},
        {"change a type", with_model, run_set_types, check_edited, work_free},
        {"set an int", with_model, run_set_int, check_edited, work_free},
        {"set strings over graphs", with_model, run_set_strings, check_edited, work_free},
        {"set names of Gradient", with_model, run_set_gradient, check_edited, work_free},
        {"set a type", with_model, run_set_attr_type, check_edited, work_free},
        {"set a tensor", with_model, run_set_attr_tensor, check_edited, work_free},
        {"set an operator", with_model, run_set_op, check_edited, work_free},
        {"set the description", with_model, run_header, check_edited, work_free},
        {"import an opset", with_model, run_opset, check_edited, work_free},
        {"set metadata", with_model, run_meta, check_edited, work_free},
        {"set metadata of a node", with_model, run_node_meta, check_edited, work_free},
        {"set a tensor's data", with_model, run_tensor_set, check_edited, work_free},
        {"store typed", with_model, run_store_typed, check_edited, work_free},
        {"store raw", with_model, run_store_raw, check_edited, work_free},
        {"remove", with_model, run_remove, check_edited, work_free},
    };
    for (size_t i = 0; i < ONX_COUNT(operations); i++) each_piece(&operations[i]);
}

/* ── Building ── */

static onx_status run_build(void *state, onx_diag *diag) {
    static const float numbers[] = {1, 2, 3};
    static const char *const strings[] = {"a", "b"};
    work *w = state;
    (void)diag;
    w->model = onx_model_new(w->ctx, "built", 22);
    if (!w->model) return ONX_NO_MEMORY;
    onx_graph *g = onx_model_graph(w->model);
    onx_value *x = onx_graph_add_input(g, "X", "float[N,3]");
    onx_value *b = onx_graph_add_initializer(g, "B", ONX_DTYPE_F32, 1, (const int64_t[]){3},
                                             numbers, sizeof numbers);
    onx_graph_add_strings(g, "S", 1, (const int64_t[]){2}, strings);
    onx_graph_add_tensor(g, "copy", b ? onx_value_initializer(b) : NULL);
    onx_value *sum = onx_graph_add_op(g, "Add", NULL, x, b);
    onx_value *many[20];
    for (size_t i = 0; i < 20; i++) many[i] = onx_graph_add_op(g, "Relu", NULL, sum);
    onx_value *y = onx_graph_add_op_array(g, "Sum", "Y", 20, many);
    onx_graph_add_output(g, y, "float[N,3]");
    onx_node *iff = onx_graph_add_node(g, "If", 1, &b, 1, NULL);
    onx_graph *inner = iff ? onx_node_add_graph(iff, "then_branch", "then") : NULL;
    onx_graph_add_output(inner, onx_graph_add_op(inner, "Neg", "inner", sum), NULL);
    onx_function *f = onx_model_add_function(w->model, "local", "F");
    onx_graph *body = f ? onx_function_body(f) : NULL;
    onx_value *p = onx_graph_add_input(body, "p", "float");
    onx_graph_add_output(body, onx_graph_add_op(body, "Abs", "q", p), "float");
    return built(w, w->model);
}

static onx_status run_save_built(void *state,
                                 onx_diag *diag) { /* a failed builder call fails the save */
    work *w = state;
    onx_status status = run_build(state, diag);
    void *out = NULL;
    size_t size = 0;
    if (!w->model) return status;
    onx_status saved = onx_model_save_memory(w->model, NULL, &out, &size, diag);
    CHECK(status == ONX_OK || saved == status);
    onx_buffer_free(w->ctx, out, size);
    return saved;
}
static bool check_save_built(void *state, onx_status status) {
    work *w = state;
    return !w->model ? status != ONX_OK : test_links(w->model);
}

TEST(memory_build) {
    static const operation operations[] = {
        {"build a model", work_new, run_build, check_built, work_free},
        {"build and save", work_new, run_save_built, check_save_built, work_free},
    };
    for (size_t i = 0; i < ONX_COUNT(operations); i++) each_allocation(&operations[i]);
}

/* Single builder calls on a model that is there. What fails adds nothing. */

static onx_graph *graph_of(const void *state) {
    return onx_model_graph(((const work *)state)->model);
}
#define ADD(name, call)                                                                            \
    static onx_status run_add_##name(void *state, onx_diag *diag) {                                \
        (void)diag;                                                                                \
        return built(state, call);                                                                 \
    }
#define SET(name, call)                                                                            \
    static onx_status run_set_##name(void *state, onx_diag *diag) {                                \
        (void)diag;                                                                                \
        return call;                                                                               \
    }
ADD(node, onx_graph_add_op(graph_of(state), "Add", NULL, value(state, "X"), value(state, "W")))
ADD(named_node, onx_graph_add_op(graph_of(state), "my.domain::Op", "a new name", value(state, "X")))
ADD(input, onx_graph_add_input(graph_of(state), "a new input", "seq(float[N,3])"))
ADD(output, onx_graph_add_output(graph_of(state), value(state, "r"), "float[N,3]"))
ADD(initializer, onx_graph_add_initializer(graph_of(state), "a new one", ONX_DTYPE_I32, 1,
                                           (const int64_t[]){2}, "12345678", 8))
ADD(strings, onx_graph_add_strings(graph_of(state), "new strings", 1, (const int64_t[]){2},
                                   (const char *const[]){"one", "two"}))
ADD(tensor,
    onx_graph_add_tensor(graph_of(state), "a copy", onx_value_initializer(value(state, "S"))))
ADD(node_output, onx_node_add_output(node_of(state, "y"), "one more"))
ADD(graph, onx_node_add_graph(node_of(state, "y"), "body", "inner"))
ADD(graph_over, onx_node_add_graph(node_of(state, "r"), "then_branch", "inner"))
ADD(graph_to_list, onx_node_append_graph(node_of(state, "c"), "graphs", "inner"))
ADD(function, onx_model_add_function(((work *)state)->model, "other.domain", "Another"))
ADD(training, onx_model_add_training(((work *)state)->model))
ADD(parameter,
    onx_graph_add_input(onx_function_body(onx_model_function_first(((work *)state)->model)), "p2",
                        "float"))
SET(overload, onx_node_set_overload(node_of(state, "y"), "another"))
SET(doc, onx_value_set_doc(value(state, "r"), "what it is"))
SET(value_meta, onx_value_set_meta(value(state, "r"), "key", "value"))
SET(tensor_meta, onx_tensor_set_meta(onx_value_initializer(value(state, "W")), "key", "value"))
SET(types2, onx_node_set_types(node_of(state, "c"), "types", 2,
                               (const char *const[]){"float[N]", "seq(int64)"}, diag))
SET(tensors,
    onx_node_set_tensors(node_of(state, "c"), "tensors", 2,
                         (const onx_tensor *const[]){onx_value_initializer(value(state, "W")),
                                                     onx_value_initializer(value(state, "S"))}))
SET(attr,
    onx_node_set_attr(node_of(state, "y"), onx_node_attr(node_of(state, "c"), "graphs"), diag))
SET(function_opset,
    onx_function_set_opset(onx_model_function_first(((work *)state)->model), "n", 2))
SET(function_attr, onx_function_add_attr(onx_model_function_first(((work *)state)->model), "beta"))

/* The error stays with the model of a builder call, so only the model itself is compared. */
static bool check_added(void *state, onx_status status) {
    work *w = state;
    return check_edited(state, status) && (status == ONX_OK || onx_model_error(w->model));
}

TEST(memory_add) {
    static const operation operations[] = {
        {"add a node", with_model, run_add_node, check_added, work_free},
        {"add a node with a name", with_model, run_add_named_node, check_added, work_free},
        {"add an input", with_model, run_add_input, check_added, work_free},
        {"add an output", with_model, run_add_output, check_added, work_free},
        {"add an initializer", with_model, run_add_initializer, check_added, work_free},
        {"add strings", with_model, run_add_strings, check_added, work_free},
        {"add a tensor", with_model, run_add_tensor, check_added, work_free},
        {"add an output to a node", with_model, run_add_node_output, check_added, work_free},
        {"add a subgraph", with_model, run_add_graph, check_added, work_free},
        {"replace a subgraph", with_model, run_add_graph_over, check_added, work_free},
        {"add a subgraph to a list", with_model, run_add_graph_to_list, check_added, work_free},
        {"add a function", with_model, run_add_function, check_added, work_free},
        {"add training", with_model, run_add_training, check_added, work_free},
        {"add a parameter", with_model, run_add_parameter, check_added, work_free},
        {"set an overload", with_model, run_set_overload, check_edited, work_free},
        {"describe a value", with_model, run_set_doc, check_edited, work_free},
        {"set metadata of a value", with_model, run_set_value_meta, check_edited, work_free},
        {"set metadata of a tensor", with_model, run_set_tensor_meta, check_edited, work_free},
        {"set types", with_model, run_set_types2, check_edited, work_free},
        {"set tensors", with_model, run_set_tensors, check_edited, work_free},
        {"copy an attribute", with_model, run_set_attr, check_edited, work_free},
        {"import into a function", with_model, run_set_function_opset, check_edited, work_free},
        {"add an attribute", with_model, run_set_function_attr, check_edited, work_free},
    };
    for (size_t i = 0; i < ONX_COUNT(operations); i++) each_piece(&operations[i]);
}

/* ── Files ── */

enum {
    WEIGHTS = 6000,
    WEIGHTS_MOST = 80000
}; /* floats; the larger number makes files that are mapped */
static size_t n_weights = WEIGHTS;

/* A model with weights that are all `number`: in the file, or beside it. */
static onx_model *weighty(onx_context *ctx, float number) {
    static float weights[WEIGHTS_MOST];
    const int64_t dims[] = {(int64_t)n_weights};
    for (size_t i = 0; i < n_weights; i++) weights[i] = number;
    onx_model *m = onx_model_new(ctx, "weighty", 22);
    onx_graph *g = onx_model_graph(m);
    char doc[20]; /* what the weights should be: two saves mixed do not pass for one */
    snprintf(doc, sizeof doc, "%g", (double)number);
    CHECK(onx_model_set_doc(m, doc) == ONX_OK);
    onx_value *x = onx_graph_add_input(g, "X", "float[N]");
    onx_value *w =
        onx_graph_add_initializer(g, "W", ONX_DTYPE_F32, 1, dims, weights, n_weights * 4);
    onx_value *v =
        onx_graph_add_initializer(g, "V", ONX_DTYPE_F32, 1, dims, weights, n_weights * 4);
    onx_graph_add_output(g, onx_graph_add_op(g, "Sum", "Y", x, w, v), "float[N]");
    return m;
}

/* The number that all weights of a model are; negative if they are not, or cannot be read. */
static double weights_of(const onx_model *m) {
    static float w[2][WEIGHTS_MOST];
    const char *const names[] = {"W", "V"};
    for (int k = 0; k < 2; k++) {
        onx_value *found = onx_graph_find(onx_model_graph(m), names[k]);
        onx_tensor *t = found ? onx_value_initializer(found) : NULL;
        if (!t || onx_tensor_read(t, w[k], n_weights * 4, NULL)) return -1;
    }
    for (size_t i = 0; i < n_weights; i++)
        if (w[0][i] != w[0][0] || w[1][i] != w[0][0]) return -2;
    return strtod(onx_model_doc(m), NULL) == (double)w[0][0] ? w[0][0] : -4;
}

static double weights_of_file(const char *path) {
    onx_model *m = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    if (onx_model_load(NULL, path, NULL, &m, &diag)) {
        fprintf(stderr, "    %s: %s: %s\n", path, diag.place, diag.message);
        return -3;
    }
    double number = weights_of(m);
    onx_model_free(m);
    return number;
}

static void save_weighty(const char *path, float number, onx_external external) {
    onx_save_options options = ONX_INIT(onx_save_options);
    onx_model *m = weighty(NULL, number);
    options.external = external;
    CHECK(onx_model_save(m, path, &options, NULL) == ONX_OK);
    onx_model_free(m);
}

static onx_external file_external; /* how the file operations save */
static const char *file_name = "m.onnx";

/* A file that is there, and a model to be saved over it. */
static void *with_file(onx_context *ctx) {
    work *w = work_new(ctx);
    test_folder_new(folder);
    save_weighty(test_path(folder, "m.onnx"), 1, file_external);
    w->model = weighty(ctx, 2);
    return w;
}
static void file_free(void *state) {
    work_free(state);
    test_folder_remove(folder);
}
static onx_status run_save_file(void *state, onx_diag *diag) {
    work *w = state;
    onx_save_options options = ONX_INIT(onx_save_options);
    options.external = file_external;
    return onx_model_save(w->model, test_path(folder, file_name), &options, diag);
}
static onx_status run_load_file(void *state, onx_diag *diag) {
    work *w = state;
    onx_model *m = NULL;
    onx_status status = onx_model_load(w->ctx, test_path(folder, "m.onnx"), NULL, &m, diag);
    CHECK((status == ONX_OK) == (m != NULL));
    if (m) CHECK(weights_of(m) == 1);
    onx_model_free(m);
    return status;
}
static onx_status run_load_file_copy(void *state, onx_diag *diag) {
    work *w = state;
    onx_model *m = NULL;
    onx_load_options options = ONX_INIT(onx_load_options);
    options.copy = true;
    onx_status status = onx_model_load(w->ctx, test_path(folder, "m.onnx"), &options, &m, diag);
    if (m) CHECK(weights_of(m) == 1);
    onx_model_free(m);
    return status;
}
static size_t files_of(onx_external external) {
    return external == ONX_EXTERNAL_ONE ? 2 : external == ONX_EXTERNAL_MANY ? 3 : 1;
}
static bool check_file(void *state, onx_status status) {
    (void)state;
    double number = weights_of_file(test_path(folder, "m.onnx"));
    bool whole = status ? number == 1 : number == 2;
    if (!whole) fprintf(stderr, "    the weights are %g\n", number);
    bool tidy = test_folder_count(folder) == files_of(file_external);
    if (!tidy) fprintf(stderr, "    %zu files\n", test_folder_count(folder));
    return whole && tidy;
}
static bool check_old_file(void *state, onx_status status) {
    (void)state, (void)status;
    return weights_of_file(test_path(folder, "m.onnx")) == 1;
}

TEST(memory_files) {
    static const struct {
        onx_external external;
        const char *save, *load, *copy;
    } kinds[] = {
        {ONX_EXTERNAL_KEEP, "save a file", "load a file", "load a file, copied"},
        {ONX_EXTERNAL_ONE, "save, external", "load, external", "load, external, copied"},
        {ONX_EXTERNAL_MANY, "save, many files", "load, many files", "load, many files, copied"}};
    for (size_t i = 0; i < ONX_COUNT(kinds); i++) {
        operation save = {kinds[i].save, with_file, run_save_file, check_file, file_free};
        operation load = {kinds[i].load, with_file, run_load_file, check_old_file, file_free};
        operation copy = {kinds[i].copy, with_file, run_load_file_copy, check_old_file, file_free};
        file_external = kinds[i].external;
        each_allocation(&save);
        each_allocation(&load);
        each_allocation(&copy);
    }
}

/* ── Data files ── */

static const char *data_name;

static void *with_data(onx_context *ctx) {
    static const char *const strings[] = {"one", "", "three"};
    work *w = work_new(ctx);
    onx_tensor *t = NULL;
    test_folder_new(folder);
    CHECK(onx_sequence_new(ctx, &w->data, NULL) == ONX_OK);
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        CHECK(onx_tensor_new(ctx, NULL, ONX_DTYPE_I32, 1, (const int64_t[]){2}, "12345678", 8, &t,
                             NULL) == ONX_OK);
        CHECK(onx_sequence_append(w->data, name, t, NULL) == ONX_OK);
        onx_tensor_free(t);
    }
    CHECK(onx_tensor_new_strings(ctx, NULL, 1, (const int64_t[]){3}, strings, &w->tensor, NULL) ==
          ONX_OK);
    CHECK(onx_sequence_append(w->data, "strings", w->tensor, NULL) == ONX_OK);
    return w;
}
static void data_free(void *state) {
    work_free(state);
    test_folder_remove(folder);
}
static const onx_data *data_to_save(const work *w) {
    return strcmp(data_name, "d.npy") ? w->data : onx_tensor_data(w->tensor);
}
static void *with_data_file(onx_context *ctx) {
    work *w = with_data(ctx);
    CHECK(onx_data_save(data_to_save(w), test_path(folder, data_name), NULL) == ONX_OK);
    return w;
}
static onx_status run_data_save(void *state, onx_diag *diag) {
    return onx_data_save(data_to_save(state), test_path(folder, data_name), diag);
}
static onx_status run_data_load(void *state, onx_diag *diag) {
    work *w = state;
    onx_data *data = NULL;
    onx_status status =
        onx_data_load(w->ctx, test_path(folder, data_name), ONX_DATA_NONE, &data, diag);
    CHECK((status == ONX_OK) == (data != NULL));
    onx_data_free(data);
    return status;
}
static onx_status run_data_memory(void *state, onx_diag *diag) {
    work *w = state;
    void *out = NULL;
    size_t size = 0;
    onx_status status = onx_data_save_memory(w->data, &out, &size, diag);
    onx_buffer_free(w->ctx, out, size);
    return status;
}
static onx_status run_append(void *state, onx_diag *diag) {
    work *w = state;
    return onx_sequence_append(w->data, "another", w->tensor, diag);
}
static bool check_data_saved(void *state, onx_status status) {
    (void)state;
    bool there = test_file_exists(test_path(folder, data_name));
    return there == (status == ONX_OK) && test_folder_count(folder) == there;
}
static bool check_data(void *state, onx_status status) {
    work *w = state;
    (void)status;
    return onx_data_count(w->data) == 6 || onx_data_count(w->data) == 7;
}

TEST(memory_data_files) {
    static const char *const names[] = {"d.pb", "d.json", "d.textproto", "d.npz", "d.npy"};
    for (size_t i = 0; i < ONX_COUNT(names); i++) {
        char save[40], load[40];
        snprintf(save, sizeof save, "save %s", names[i]);
        snprintf(load, sizeof load, "load %s", names[i]);
        data_name = names[i];
        each_allocation(&(operation){save, with_data, run_data_save, check_data_saved, data_free});
        each_allocation(&(operation){load, with_data_file, run_data_load, check_data, data_free});
    }
    each_allocation(
        &(operation){"save data to memory", with_data, run_data_memory, check_data, data_free});
    each_allocation(&(operation){"append", with_data, run_append, check_data, data_free});
    printf("    allocations failed in all tests so far: %zu\n", total_failures);
}

/* ── The limit on memory ── */

TEST(memory_limit) {
    test_heap heap = {0};
    onx_context *ctx = test_context(&heap, NULL);
    work *w = work_new(ctx);
    CHECK(run_load(w, NULL) == ONX_OK);
    CHECK(run_clone(w, NULL) == ONX_OK);
    size_t needed = onx_context_memory_peak(ctx);
    CHECK(needed >= onx_context_memory_used(ctx) && onx_context_memory_used(ctx) > 0);
    work_free(w);
    CHECK_EQ(onx_context_memory_used(ctx), 0);
    onx_context_free(ctx);
    size_t refused = 0;
    for (size_t limit = 1; limit < needed + 1000; limit += 1 + needed / 97) {
        onx_context_options options = ONX_INIT(onx_context_options);
        options.memory_limit = limit;
        heap = (test_heap){0};
        ctx = test_context(&heap, &options);
        size_t own = heap.bytes; /* of the context itself */
        w = work_new(ctx);
        onx_status status = run_load(w, NULL);
        if (!status) status = run_clone(w, NULL);
        CHECK(status == (limit < needed ? ONX_NO_MEMORY : ONX_OK));
        CHECK(heap.peak <= limit + own);
        CHECK(onx_context_memory_peak(ctx) <= limit);
        refused += status != ONX_OK;
        work_free(w);
        onx_context_free(ctx);
        CHECK_EQ(heap.bytes, 0);
    }
    CHECK(refused > 50);
}

/* ── The operating system ── */

static onx_context *faulty_context(test_heap *heap) {
    onx_context *ctx = test_context(heap, NULL);
    ctx->os = &test_os_table;
    return ctx;
}

static void os_report(const operation *op, size_t k, int error, onx_status status,
                      const char *what) {
    fprintf(stderr, "%s: call %zu (%s) fails with %s: %s (%s)\n", op->name, k,
            test_os_name(test_os.first_failed), strerror(error), what, onx_status_name(status));
}

/* What may fail without the operation failing: after it the file is as good as before it. */
static bool may_be_ignored(test_os_call call) {
    if (call == TEST_OS_STAT && test_os.error == ENOENT)
        return true; /* there is no old file, then */
    return call == TEST_OS_CLOSE || call == TEST_OS_UNMAP || call == TEST_OS_LOCK ||
           call == TEST_OS_REAL_PATH || call == TEST_OS_UNLINK || call == TEST_OS_OPEN;
}

static size_t os_once(const operation *op, size_t fail_at, int error, bool persistent) {
    test_heap heap = {0};
    onx_context *ctx = faulty_context(&heap);
    onx_diag diag = ONX_INIT(onx_diag);
    test_os = (test_os_state){0};
    void *state = op->setup(ctx);
    test_os.calls = 0;
    test_os.fail_at = fail_at;
    test_os.error = error;
    test_os.persistent = persistent;
    onx_status status = op->run(state, &diag);
    size_t calls = test_os.calls;
    test_os.fail_at = 0;
    if (!test_os.failed) CHECK_EQ(status, ONX_OK);
    if (test_os.failed && !status && !CHECK(may_be_ignored(test_os.first_failed)))
        os_report(op, fail_at, error, status, "succeeds");
    if (status) {
        if (!CHECK(status == ONX_IO || status == ONX_NOT_FOUND || status == ONX_NO_MEMORY ||
                   status == ONX_DENIED))
            os_report(op, fail_at, error, status, "the wrong status");
        if (!CHECK(diag.file[0] && diag.message[0]))
            os_report(op, fail_at, error, status, "names no file");
        if (!CHECK(strstr(diag.message, strerror(error)) != NULL)) {
            os_report(op, fail_at, error, status, "does not say why");
            fprintf(stderr, "    %s\n", diag.message);
        }
    }
    if (!CHECK(op->check(state, status)))
        os_report(op, fail_at, error, status, "the files are not whole");
    op->teardown(state);
    if (!CHECK(test_os.open_files == 0 && test_os.mappings == 0))
        os_report(op, fail_at, error, status, "leaves files open");
    onx_context_free(ctx);
    if (!CHECK(heap.bytes == 0)) os_report(op, fail_at, error, status, "leaks");
    return calls;
}

static void each_call(const operation *op) {
    static const int errors[] = {EIO, ENOSPC, EACCES, EINTR, EMFILE, ENOENT};
    size_t n = os_once(op, 0, 0, false), before = test_failures;
    for (size_t e = 0; e < ONX_COUNT(errors); e++)
        for (size_t k = 1; k <= n && test_failures < before + 20; k++) {
            os_once(op, k, errors[e], false);
            os_once(op, k, errors[e], true);
        }
    printf("    %-28s %zu calls\n", op->name, n);
}

/* Old or new; the temporary file is gone unless it could not be removed. */
static bool check_replaced(void *state, onx_status status) {
    (void)state;
    double number = weights_of_file(test_path(folder, "m.onnx"));
    bool late =
        test_os.failed && test_os.first_failed == TEST_OS_SYNC; /* of the folder, after renaming */
    bool whole = !status ? number == 2 : number == 1 || (late && number == 2);
    /* Several files cannot be renamed at once: the one way to have some of each. */
    if (test_os.first_failed == TEST_OS_RENAME && test_os.done[TEST_OS_RENAME]) whole = true;
    if (!whole) fprintf(stderr, "    the weights are %g\n", number);
    bool tidy = test_os.persistent || test_os.first_failed == TEST_OS_UNLINK ||
                test_folder_count(folder) == files_of(file_external);
    if (!tidy) fprintf(stderr, "    %zu files\n", test_folder_count(folder));
    return whole && tidy;
}

TEST(system_calls) {
    static const struct {
        onx_external external;
        const char *save, *load;
    } kinds[] = {{ONX_EXTERNAL_KEEP, "save a file", "load a file"},
                 {ONX_EXTERNAL_ONE, "save, external", "load, external"},
                 {ONX_EXTERNAL_MANY, "save, many files", "load, many files"}};
    for (size_t i = 0; i < ONX_COUNT(kinds); i++) {
        operation save = {kinds[i].save, with_file, run_save_file, check_replaced, file_free};
        operation load = {kinds[i].load, with_file, run_load_file, check_old_file, file_free};
        file_external = kinds[i].external;
        each_call(&load);
        each_call(&save);
        n_weights = WEIGHTS_MOST;
        each_call(&load);
        n_weights = WEIGHTS;
    }
    static const char *const names[] = {"d.pb", "d.npz"};
    for (size_t i = 0; i < ONX_COUNT(names); i++) {
        data_name = names[i];
        each_call(&(operation){"load data", with_data_file, run_data_load, check_data, data_free});
    }
}

/* Reads and writes that move one byte at a time are no failure. */
TEST(short_counts) {
    for (onx_external e = ONX_EXTERNAL_KEEP; e <= ONX_EXTERNAL_MANY; e++) {
        test_heap heap = {0};
        onx_context *ctx = faulty_context(&heap);
        file_external = e;
        test_os = (test_os_state){0};
        void *state = with_file(ctx);
        test_os.short_counts = true;
        CHECK(run_load_file(state, NULL) == ONX_OK);
        CHECK(run_save_file(state, NULL) == ONX_OK);
        CHECK(check_file(state, ONX_OK));
        test_os.short_counts = false;
        file_free(state);
        onx_context_free(ctx);
        CHECK_EQ(heap.bytes, 0);
    }
}

/* Against loss of power: what was written is synced before it is renamed, and the folder after. */
static test_os_call order[4096];
static size_t n_order;
static void note_call(test_os_call call, const char *name) {
    (void)name;
    if (n_order < ONX_COUNT(order)) order[n_order++] = call;
}
TEST(synced_before_renamed) {
    for (onx_external e = ONX_EXTERNAL_KEEP; e <= ONX_EXTERNAL_MANY; e++) {
        test_heap heap = {0};
        onx_context *ctx = faulty_context(&heap);
        file_external = e;
        test_os = (test_os_state){0};
        void *state = with_file(ctx);
        n_order = 0;
        test_os.before = note_call;
        CHECK(run_save_file(state, NULL) == ONX_OK);
        test_os.before = NULL;
        size_t unsynced = 0, written = 0, synced = 0, renamed = 0;
        for (size_t i = 0; i < n_order; i++) {
            if (order[i] == TEST_OS_CREATE) unsynced++, written++;
            if (order[i] == TEST_OS_WRITE) CHECK(renamed == 0);
            if (order[i] == TEST_OS_SYNC) synced++;
            if (order[i] == TEST_OS_RENAME) {
                CHECK(synced >=
                      unsynced); /* each file that was made, before the first is renamed */
                renamed++;
            }
        }
        CHECK(renamed == files_of(e) && written == renamed);
        CHECK(synced > written && order[n_order - 1] != TEST_OS_RENAME);
        file_free(state);
        onx_context_free(ctx);
    }
}

/* The mode of a file stays what it was, and its contents are never readable for more people on the
 * way. */
static uint32_t widest_mode;
static void watch_mode(test_os_call call, const char *name) {
    struct stat st;
    (void)call, (void)name;
    if (stat(test_path(folder, ".m.onnx.onx-tmp0"), &st) == 0 && st.st_size > 0)
        widest_mode |= st.st_mode & 0777;
}
TEST(modes_are_kept) {
    struct stat st;
    test_heap heap = {0};
    onx_context *ctx = faulty_context(&heap);
    file_external = ONX_EXTERNAL_KEEP;
    test_os = (test_os_state){0};
    void *state = with_file(ctx);
    CHECK(chmod(test_path(folder, "m.onnx"), 0600) == 0);
    widest_mode = 0;
    test_os.before = watch_mode;
    CHECK(run_save_file(state, NULL) == ONX_OK);
    test_os.before = NULL;
    CHECK(stat(test_path(folder, "m.onnx"), &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK_EQ(widest_mode & 077, 0);
    file_free(state);
    onx_context_free(ctx);
}

/* Another process that saves the same file takes our temporary file for a leftover: between our
 * making and our locking it, it removes it and makes its own. We must not put that one, half
 * written, in the place of the model. */
static void steal_temp(test_os_call call, const char *name) {
    static bool done;
    (void)name;
    if (call != TEST_OS_LOCK || done) return;
    done = true;
    const char *temp = test_path(folder, ".m.onnx.onx-tmp0");
    CHECK(unlink(temp) == 0);
    test_file_write(temp, "half", 4);
}
TEST(temporary_file_is_stolen) {
    test_heap heap = {0};
    onx_context *ctx = faulty_context(&heap);
    file_external = ONX_EXTERNAL_KEEP;
    test_os = (test_os_state){0};
    void *state = with_file(ctx);
    onx_diag diag = ONX_INIT(onx_diag);
    test_os.before = steal_temp;
    onx_status status = run_save_file(state, &diag);
    test_os.before = NULL;
    CHECK_EQ(status, ONX_OK);
    CHECK(weights_of_file(test_path(folder, "m.onnx")) == 2);
    file_free(state);
    onx_context_free(ctx);
}

/* Temporary names that others hold are left alone; when all are taken, saving fails and says so. */
TEST(temporary_names_in_use) {
    static int held[100];
    onx_diag diag = ONX_INIT(onx_diag);
    file_external = ONX_EXTERNAL_KEEP;
    work *w = with_file(NULL);
    for (int i = 0; i < 100; i++) {
        char name[40];
        snprintf(name, sizeof name, ".m.onnx.onx-tmp%d", i);
        held[i] = open(test_path(folder, name), O_CREAT | O_RDWR, 0600);
        CHECK(held[i] >= 0 && onx_os_host.lock(held[i]) == 0);
    }
    CHECK_EQ(run_save_file(w, &diag), ONX_IO);
    CHECK(strstr(diag.message, strerror(EEXIST)) && diag.file[0]);
    CHECK(weights_of_file(test_path(folder, "m.onnx")) == 1);
    close(held[7]); /* a process that died: its file is a leftover */
    CHECK_EQ(run_save_file(w, &diag), ONX_OK);
    CHECK(weights_of_file(test_path(folder, "m.onnx")) == 2);
    CHECK_EQ(test_folder_count(folder), 100);
    for (int i = 0; i < 100; i++)
        if (i != 7) close(held[i]);
    file_free(w);
}

/* A file that becomes shorter while it is read is noticed. */
static void shrink(test_os_call call, const char *name) {
    (void)name;
    if (call == TEST_OS_READ) CHECK(truncate(test_path(folder, "m.onnx"), 100) == 0);
}
TEST(file_shrinks) {
    test_heap heap = {0};
    onx_context *ctx = faulty_context(&heap);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *m = NULL;
    file_external = ONX_EXTERNAL_KEEP;
    test_os = (test_os_state){0};
    work *w = with_file(ctx);
    test_os.before = shrink;
    CHECK_EQ(onx_model_load(ctx, test_path(folder, "m.onnx"), NULL, &m, &diag), ONX_CHANGED);
    test_os.before = NULL;
    CHECK(diag.file[0] && diag.message[0] && m == NULL);
    file_free(w);
    onx_context_free(ctx);
    CHECK_EQ(heap.bytes, 0);
}

/* ── Killed ── */

/* Several files cannot be renamed at once: killed between two renames, there are some of each. */
static size_t torn;

static void check_after_kill(const char *when) {
    const char *path = test_path(folder, "m.onnx");
    double number = weights_of_file(path);
    if (number != 1 && number != 2) {
        torn++;
        if (!CHECK(torn < files_of(file_external)))
            fprintf(stderr, "    killed %s: the weights are %g\n", when, number);
    }
    save_weighty(path, 3, file_external); /* the next save tidies up */
    CHECK(weights_of_file(path) == 3);
    if (!CHECK(test_folder_count(folder) == files_of(file_external)))
        fprintf(stderr, "    killed %s: %zu files are left\n", when, test_folder_count(folder));
}

static size_t kill_at;
static void kill_here(test_os_call call, const char *name) {
    (void)call, (void)name;
    if (test_os.calls + 1 == kill_at) raise(SIGKILL);
}

/* A child saves and is killed just before its k-th system call; true while it does not get
 * through. */
static bool kill_at_call(size_t k) {
    save_weighty(test_path(folder, "m.onnx"), 1, file_external);
    pid_t child = fork();
    if (child == 0) {
        test_heap heap = {0};
        onx_context *ctx = faulty_context(&heap);
        onx_model *m = weighty(ctx, 2);
        onx_save_options options = ONX_INIT(onx_save_options);
        options.external = file_external;
        test_os = (test_os_state){0};
        kill_at = k;
        test_os.before = kill_here;
        _exit(onx_model_save(m, test_path(folder, "m.onnx"), &options, NULL) == ONX_OK ? 0 : 1);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    char when[40];
    snprintf(when, sizeof when, "before call %zu", k);
    check_after_kill(when);
    if (!WIFSIGNALED(status)) CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

TEST(killed_before_every_call) {
    for (onx_external e = ONX_EXTERNAL_KEEP; e <= ONX_EXTERNAL_MANY; e++) {
        size_t k = 1;
        file_external = e;
        torn = 0;
        test_folder_new(folder);
        while (kill_at_call(k)) k++;
        CHECK(k > 8);
        test_folder_remove(folder);
        printf("    killed before each of %zu calls, %zu of them between two renames\n", k - 1,
               torn);
    }
}

static void sleep_ns(long ns) {
    nanosleep(&(struct timespec){0, ns}, NULL);
}

/* A child that saves again and again, killed at some moment. */
static void kill_at_random(test_random *r) {
    save_weighty(test_path(folder, "m.onnx"), 1, file_external);
    pid_t child = fork();
    if (child == 0) {
        onx_model *models[] = {weighty(NULL, 2), weighty(NULL, 1)};
        onx_save_options options = ONX_INIT(onx_save_options);
        options.external = file_external;
        for (size_t i = 0;; i++)
            if (onx_model_save(models[i % 2], test_path(folder, "m.onnx"), &options, NULL))
                _exit(1);
    }
    sleep_ns((long)test_random_below(r, 8000000));
    CHECK(child > 0 && kill(child, SIGKILL) == 0);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    check_after_kill("at random");
}

TEST(killed_at_random) {
    const char *wanted = getenv("ONX_KILLS");
    size_t n = wanted ? strtoul(wanted, NULL, 10) : 50;
    test_random r = {42};
    test_folder_new(folder);
    file_external = ONX_EXTERNAL_KEEP;
    torn = 0;
    for (size_t i = 0; i < n; i++) kill_at_random(&r);
    test_folder_remove(folder);
    printf("    at random, killed %zu times\n", n);
}

/* ── Several at once ── */

static pid_t start_saver(float first, float second) {
    pid_t child = fork();
    if (child) return child;
    onx_model *models[] = {weighty(NULL, first), weighty(NULL, second)};
    for (size_t i = 0; i < 100; i++)
        if (onx_model_save(models[i % 2], test_path(folder, "m.onnx"), NULL, NULL)) _exit(1);
    _exit(0);
}

/* Two processes save the same file again and again: whoever reads it finds one save, whole. */
TEST(two_savers) {
    test_folder_new(folder);
    file_external = ONX_EXTERNAL_KEEP;
    save_weighty(test_path(folder, "m.onnx"), 1, file_external);
    pid_t children[] = {start_saver(2, 3), start_saver(4, 5)};
    size_t loads = 0;
    for (size_t left = 2; left;) {
        double number = weights_of_file(test_path(folder, "m.onnx"));
        if (!CHECK(number >= 1 && number <= 5)) fprintf(stderr, "    the weights are %g\n", number);
        loads++;
        for (size_t i = 0; i < 2; i++) {
            int status = 0;
            if (children[i] <= 0 || waitpid(children[i], &status, WNOHANG) != children[i]) continue;
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            children[i] = 0;
            left--;
        }
    }
    CHECK_EQ(test_folder_count(folder), 1);
    printf("    200 saves by two processes, %zu loads meanwhile\n", loads);
    test_folder_remove(folder);
}

/* ── Unusual files ── */

static void *read_fifo(void *path) {
    test_bytes *out = malloc(sizeof *out);
    *out = test_file_read(path);
    return out;
}
static void *write_fifo(void *path) {
    test_file_write(path, forms[0].data, forms[0].size);
    return NULL;
}

/* A save goes into what is there: through links, into pipes; it never takes the place of a
 * device. */
TEST(unusual_targets) {
    struct stat st;
    pthread_t thread;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *m = rich_model(NULL);
    char fifo[300], name[300];
    test_folder_new(folder);
    CHECK(onx_model_save(m, "/dev/null", NULL, &diag) == ONX_OK);
    CHECK(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
    snprintf(fifo, sizeof fifo, "%s", test_path(folder, "fifo"));
    CHECK(mkfifo(fifo, 0600) == 0);
    REQUIRE(pthread_create(&thread, NULL, read_fifo, fifo) == 0);
    CHECK(onx_model_save(m, fifo, NULL, &diag) == ONX_OK);
    void *got = NULL;
    pthread_join(thread, &got);
    test_bytes *bytes = got;
    CHECK(bytes->size == forms[0].size && !memcmp(bytes->data, forms[0].data, bytes->size));
    test_bytes_free(bytes);
    free(bytes);
    CHECK(unlink(fifo) == 0);
    /* Through a link: the link stays, what it leads to is replaced. */
    CHECK(mkdir(test_path(folder, "real"), 0777) == 0);
    test_file_write(test_path(folder, "real/m.onnx"), "old", 3);
    CHECK(symlink("real/m.onnx", test_path(folder, "link.onnx")) == 0);
    CHECK(onx_model_save(m, test_path(folder, "link.onnx"), NULL, &diag) == ONX_OK);
    CHECK(lstat(test_path(folder, "link.onnx"), &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(test_file_is(test_path(folder, "real/m.onnx"), forms[0].data, forms[0].size));
    CHECK_EQ(test_folder_count(test_path(folder, "real")), 1);
    /* What cannot be. */
    CHECK(onx_model_save(m, folder, NULL, &diag) != ONX_OK && diag.file[0]);
    CHECK(onx_model_save(m, test_path(folder, ""), NULL, &diag) != ONX_OK);
    CHECK(onx_model_save(m, "", NULL, &diag) != ONX_OK);
    CHECK(onx_model_save(m, test_path(folder, "missing/m.onnx"), NULL, &diag) == ONX_NOT_FOUND);
    CHECK(onx_model_save(m, test_path(folder, "real/m.onnx/m.onnx"), NULL, &diag) != ONX_OK);
    memset(name, 'n', sizeof name);
    name[256] = '\0';
    CHECK(onx_model_save(m, test_path(folder, name), NULL, &diag) != ONX_OK);
    name[255] = '\0';
    CHECK(onx_model_save(m, test_path(folder, name), NULL, &diag) == ONX_OK);
    CHECK(test_file_is(test_path(folder, name), forms[0].data, forms[0].size));
    CHECK_EQ(test_folder_count(folder), 3);
    onx_model_free(m);
    test_folder_remove(folder);
}

TEST(unusual_sources) {
    pthread_t thread;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *m = NULL;
    char fifo[300];
    test_folder_new(folder);
    snprintf(fifo, sizeof fifo, "%s", test_path(folder, "fifo"));
    CHECK(mkfifo(fifo, 0600) == 0);
    REQUIRE(pthread_create(&thread, NULL, write_fifo, fifo) == 0);
    CHECK(onx_model_load(NULL, fifo, NULL, &m, &diag) == ONX_OK);
    pthread_join(thread, NULL);
    onx_model *expected = rich_model(NULL);
    CHECK(m && onx_model_equal(m, expected, NULL));
    onx_model_free(m);
    onx_model_free(expected);
    m = NULL;
    CHECK(onx_model_load(NULL, folder, NULL, &m, &diag) != ONX_OK && diag.file[0]);
    CHECK(onx_model_load(NULL, test_path(folder, "missing"), NULL, &m, &diag) == ONX_NOT_FOUND);
    CHECK(onx_model_load(NULL, "", NULL, &m, &diag) != ONX_OK);
    /* What never ends is stopped by the limit on memory. */
    onx_context_options options = ONX_INIT(onx_context_options);
    onx_context *ctx = NULL;
    options.memory_limit = (size_t)10 << 20;
    CHECK(onx_context_new(&options, &ctx) == ONX_OK);
    CHECK(onx_model_load(ctx, "/dev/zero", NULL, &m, &diag) == ONX_NO_MEMORY);
    CHECK_EQ(onx_context_memory_used(ctx), 0);
    onx_context_free(ctx);
    test_folder_remove(folder);
}

/* Whatever pages memory gets, and whichever of them go: what lies in the others stays. */
TEST(pages_come_and_go) {
    enum { PIECES = 4 };
    char *memory = aligned_alloc(ONX_OS_LARGE_PAGE, PIECES * ONX_OS_LARGE_PAGE);
    REQUIRE(memory);
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < PIECES; i++) {
            char *piece = memory + i * ONX_OS_LARGE_PAGE;
            CHECK_EQ(onx_os_host.touch(piece, ONX_OS_LARGE_PAGE, true), 0);
            CHECK_EQ(onx_os_host.touch(piece + 1, ONX_OS_LARGE_PAGE - 2, true), 0);
            CHECK(!round || (piece[0] == 1 && piece[ONX_OS_LARGE_PAGE / 2] == 2));
            CHECK(!round || piece[ONX_OS_LARGE_PAGE - 1] == 3); /* of a page that stayed in part */
            piece[0] = 1, piece[ONX_OS_LARGE_PAGE / 2] = 2, piece[ONX_OS_LARGE_PAGE - 1] = 3;
            size_t used = ONX_OS_LARGE_PAGE / 2 + 1;
            CHECK_EQ(onx_os_host.drop(piece + used, ONX_OS_LARGE_PAGE - used - 1), 0);
        }
    }
    CHECK_EQ(onx_os_host.touch(memory, PIECES * ONX_OS_LARGE_PAGE, false), 0);
    free(memory);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        E(memory_load_and_save) E(memory_edit) E(memory_build) E(memory_add) E(memory_files)
            E(memory_data_files) E(memory_limit) E(system_calls) E(short_counts)
                E(synced_before_renamed) E(modes_are_kept) E(temporary_file_is_stolen)
                    E(temporary_names_in_use) E(file_shrinks) E(killed_before_every_call)
                        E(killed_at_random) E(two_savers) E(unusual_targets) E(unusual_sources)
                            E(pages_come_and_go){NULL, NULL}};
    prepare(1);
    int status = test_main(cases, argc, argv);
    for (size_t i = 0; i < ONX_COUNT(forms); i++) test_bytes_free(&forms[i]);
    return status;
}
