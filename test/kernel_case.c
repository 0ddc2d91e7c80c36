/* kernel_case.c: see kernel_case.h. */
#include "kernel_case.h"

#include <stdio.h>

static void unload(kernel_files *files) {
    for (size_t i = 0; i < files->n; i++) {
        if (files->copied[i]) onx_eval_clear(onx_context_or_default(NULL), &files->operand[i]);
        onx_data_free(files->data[i]);
    }
    files->n = 0;
}

static bool add(kernel_files *files, const onx_tensor *tensor, onx_data *data) {
    size_t n = files->n;
    if (!tensor || n == KERNEL_INS ||
        onx_operand_of_tensor(onx_context_or_default(NULL), tensor, &files->operand[n],
                              &files->copied[n], NULL) != ONX_OK)
        return false;
    files->operand[n].constant = false;
    files->data[n] = data;
    files->n++;
    return true;
}

/* input_0.pb …; false when one cannot be read as a tensor. */
static bool load_all(const char *folder, const char *what, kernel_files *files) {
    for (;;) {
        char path[1024];
        onx_data *data = NULL;
        (void)snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", folder, what, files->n);
        onx_status status = onx_data_load(NULL, path, ONX_DATA_TENSOR, &data, NULL);
        if (status == ONX_NOT_FOUND) return true;
        if (status != ONX_OK) return false;
        if (add(files, onx_data_tensor(data), data)) continue;
        onx_data_free(data);
        return false;
    }
}

static onx_operand *value_of(kernel_case *c, const onx_value *value) {
    const onx_graph *graph = onx_model_graph(c->model);
    for (size_t g = 0; g < onx_graph_input_count(graph) && g < c->inputs.n; g++)
        if (onx_graph_input(graph, g) == value) return &c->inputs.operand[g];
    const onx_tensor *initializer = onx_value_initializer(value);
    if (!initializer || !add(&c->inputs, initializer, NULL)) return NULL;
    return &c->inputs.operand[c->inputs.n - 1];
}

static bool match_inputs(kernel_case *c) {
    if (onx_graph_node_count(onx_model_graph(c->model)) != 1) return false;
    c->node = onx_graph_node_first(onx_model_graph(c->model));
    c->n_in = onx_node_input_count(c->node);
    if (c->n_in > KERNEL_INS) return false;
    for (size_t i = 0; i < c->n_in; i++) {
        const onx_value *value = onx_node_input(c->node, i);
        c->in[i] = value ? value_of(c, value) : NULL;
        if (value && !c->in[i]) return false;
    }
    return true;
}

bool kernel_case_load(const char *folder, kernel_case *out) {
    char path[1024];
    *out = (kernel_case){0};
    (void)snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (onx_model_load(NULL, path, NULL, &out->model, NULL) == ONX_OK &&
        load_all(folder, "input", &out->inputs) && load_all(folder, "output", &out->outputs) &&
        match_inputs(out))
        return true;
    kernel_case_free(out);
    return false;
}

bool kernel_case_text(const char *text, kernel_case *out) {
    *out = (kernel_case){0};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_TEXT;
    options.copy = true;
    if (onx_model_load_memory(NULL, text, strlen(text), &options, &out->model, &diag) == ONX_OK &&
        match_inputs(out))
        return true;
    fprintf(stderr, "%s\n%s\n", text, diag.message);
    kernel_case_free(out);
    return false;
}

void kernel_case_free(kernel_case *c) {
    unload(&c->inputs);
    unload(&c->outputs);
    onx_model_free(c->model);
    *c = (kernel_case){0};
}
