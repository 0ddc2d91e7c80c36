/* fuzz_text.c: ONNX text, as a model and, when it is short, as a type.
 *
 * A model that is parsed prints, and that text parses to an equal model; it can be listed, too. */
#include "fuzz.h"

static int discard(void *user, const void *data, size_t size) {
    (void)user, (void)data, (void)size;
    return 0;
}

/* The formatted type is another spelling of it, and its own. */
static void check_type(onx_context *ctx, const char *text) {
    onx_model *model = onx_model_new(ctx, "types", 20);
    FUZZ_CHECK(model != NULL);
    onx_value *value = onx_graph_add_input(onx_model_graph(model), "x", text);
    if (value && onx_value_type(value)) {
        char first[4096], second[4096];
        size_t n = onx_type_format(onx_value_type(value), first, sizeof first);
        if (n < sizeof first) {
            onx_value *again = onx_graph_add_input(onx_model_graph(model), "y", first);
            FUZZ_CHECK(again && onx_value_type(again));
            FUZZ_CHECK(onx_type_format(onx_value_type(again), second, sizeof second) == n);
            FUZZ_CHECK(strcmp(first, second) == 0);
        }
    } else if (!value) {
        FUZZ_CHECK(onx_model_error(model) != NULL);
    }
    onx_model_free(model);
}

static void check_model(onx_context *ctx, onx_str text) {
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_TEXT;
    onx_model *model = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_status status = onx_model_load_memory(ctx, text.data, text.size, &options, &model, &diag);
    if (status) {
        fuzz_refused(status, &diag);
        return;
    }
    FUZZ_CHECK(test_links(model));
    FUZZ_CHECK(fuzz_print_parse(&model->msg, fuzz_text_print, fuzz_text_parse));
    FUZZ_OK(onx_model_print(model, &(onx_writer){NULL, discard}, NULL, &diag), &diag);
    onx_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    onx_context *ctx = fuzz_context();
    char type[200];
    check_model(ctx, (onx_str){size ? (const char *)data : "", size});
    if (size < sizeof type) {
        memcpy(type, data, size);
        type[size] = '\0';
        check_type(ctx, type);
    }
    fuzz_context_free(ctx);
    return 0;
}
