/* test_threads.c: one model read by many threads, one context used by many: the same results as
 * alone. Run under ThreadSanitizer (the preset tsan) it also shows that there are no races. */
#include "support.h"
#include "test.h"

#include <pthread.h>

enum { THREADS = 8, ROUNDS = 20 };

static onx_model *shared;
static onx_context *context;
static test_bytes rich;

static int append(void *user, const void *data, size_t size) {
    test_put(user, data, size);
    return 0;
}

/* A copy is one's own to change. */
static bool change_copy(test_bytes *out) {
    onx_model *copy = NULL;
    void *bytes = NULL;
    size_t size = 0;
    if (onx_model_clone(shared, &copy, NULL)) return false;
    onx_graph *g = onx_model_graph(copy);
    bool ok = onx_model_equal(shared, copy, NULL) &&
              !onx_value_rename(onx_graph_find(g, "a"), "renamed", NULL) &&
              onx_graph_add_op(g, "Relu", NULL, onx_graph_find(g, "X"));
    onx_model_touch(copy);
    ok = ok && !onx_model_save_memory(copy, NULL, &bytes, &size, NULL);
    if (ok) test_put(out, bytes, size);
    onx_buffer_free(context, bytes, size);
    onx_model_free(copy);
    return ok;
}

/* Everything that reads: results are put down, to be compared with those of the others. */
static bool read_all(test_bytes *out) {
    const onx_writer writer = {out, append};
    const onx_graph *g = onx_model_graph(shared);
    for (onx_format f = ONX_FORMAT_PROTOBUF; f <= ONX_FORMAT_TEXTPROTO; f++) {
        onx_save_options options = ONX_INIT(onx_save_options);
        options.format = f;
        if (onx_model_save_stream(shared, &writer, &options, NULL)) return false;
    }
    for (onx_tensor *t = onx_graph_initializer_first(g); t; t = onx_tensor_next(t)) {
        onx_str view = onx_tensor_view(t);
        if (view.size) test_put(out, view.data, view.size);
        test_put_byte(out, onx_tensor_check(t, NULL));
    }
    return !onx_model_print(shared, &writer, NULL, NULL) &&
           onx_graph_lookup(g, "a") == onx_node_output(onx_graph_node_first(g), 0) &&
           change_copy(out);
}

static void *reader(void *argument) {
    const test_bytes *expected = argument;
    for (int i = 0; i < ROUNDS; i++) {
        test_bytes out = {NULL, 0, 0};
        bool same = read_all(&out) && out.size == expected->size &&
                    memcmp(out.data, expected->data, out.size) == 0;
        test_bytes_free(&out);
        if (!same) return "differs";
    }
    return NULL;
}

static void *loader(void *unused) {
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        onx_model *model = NULL;
        onx_diag diag = ONX_INIT(onx_diag);
        if (onx_model_load_memory(context, rich.data, rich.size, NULL, &model, &diag))
            return "load";
        bool same = onx_model_equal(model, shared, NULL);
        onx_model_free(model);
        if (!same) return "differs";
        if (onx_model_load_memory(NULL, rich.data, rich.size - 1, NULL, &model, &diag) !=
            ONX_MALFORMED)
            return "accepts what is cut";
    }
    return NULL;
}

static void in_threads(void *(*run)(void *), void *argument) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, run, argument) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        if (!CHECK(wrong == NULL)) fprintf(stderr, "    %s\n", (const char *)wrong);
    }
}

static void with_shared(void *(*run)(void *)) {
    test_bytes expected = {NULL, 0, 0};
    CHECK(onx_context_new(NULL, &context) == ONX_OK);
    rich = test_model_rich_bytes();
    shared = test_model_rich(context);
    CHECK(read_all(&expected));
    in_threads(run, &expected);
    test_bytes_free(&expected);
    onx_model_free(shared);
    test_bytes_free(&rich);
    CHECK_EQ(onx_context_memory_used(context), 0);
    onx_context_free(context);
}

TEST(one_model_many_readers) {
    with_shared(reader);
}
TEST(one_context_many_loaders) {
    with_shared(loader);
}

/* The last of many to let go of a shared payload frees it, whoever that is. */
static void *cloner(void *unused) {
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        onx_model *a = NULL, *b = NULL;
        if (onx_model_clone(shared, &a, NULL) || onx_model_clone(a, &b, NULL)) return "clone";
        onx_model_free(a);
        bool same = onx_model_equal(b, shared, NULL);
        onx_model_free(b);
        if (!same) return "differs";
    }
    return NULL;
}
TEST(shared_payloads) {
    with_shared(cloner);
}

TEST_MAIN(E(one_model_many_readers) E(one_context_many_loaders) E(shared_payloads))
