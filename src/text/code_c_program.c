/* code_c_program.c: programs in C: the helpers at the top, and main, where the model is made. */
#include "text/code_c.h"

/* ── The beginning ───────────────────────────────────────────────────────────────────────────── */

static const char macros[] =
    "#define COUNT(type, ...) (sizeof((type[]){__VA_ARGS__}) / sizeof(type))\n"
    "#define DIMS(...) COUNT(int64_t, __VA_ARGS__), (const int64_t[]){__VA_ARGS__}\n"
    "#define FLOATS(...) COUNT(float, __VA_ARGS__), (const float[]){__VA_ARGS__}\n"
    "#define NAMES(...) COUNT(char *, __VA_ARGS__), (const char *const[]){__VA_ARGS__}\n"
    "#define DATA(type, ...) (const type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__})\n"
    "#define NONE 0, NULL\n\n"
    "static void fail(const char *what, const char *why) {\n"
    "    fprintf(stderr, \"%s: %s\\n\", what, why);\n"
    "    exit(EXIT_FAILURE);\n"
    "}\n\n"
    "static void check(onx_status status) {\n"
    "    if (status != ONX_OK) fail(\"onx\", onx_status_text(status));\n"
    "}\n\n";

static const char weights[] =
    "static const char *weights; /* what the file with the weights holds */\n\n"
    "static const char *load_weights(const char *path, size_t size) {\n"
    "    FILE *file = fopen(path, \"rb\");\n"
    "    char *data = malloc(size + 1);\n"
    "    if (!file || !data || fread(data, 1, size + 1, file) != size)\n"
    "        fail(path, \"the weights cannot be read, or are not those of this program\");\n"
    "    fclose(file);\n"
    "    return data;\n"
    "}\n\n";

static const struct {
    uint32_t use;
    const char *text;
} helpers[] = {
    {ONX_USE_BLANK, "/* A model with an empty graph, and nothing else. */\n"
                    "static onx_model *blank(void) {\n"
                    "    onx_load_options options = ONX_INIT(onx_load_options);\n"
                    "    onx_model *m = NULL;\n"
                    "    options.format = ONX_FORMAT_TEXTPROTO;\n"
                    "    check(onx_model_load_memory(NULL, \"graph {}\", 8, &options, &m, NULL));\n"
                    "    return m;\n"
                    "}\n\n"},
    {ONX_USE_BITS, "static float bits(uint32_t u) {\n"
                   "    float f;\n"
                   "    memcpy(&f, &u, sizeof f);\n"
                   "    return f;\n"
                   "}\n\n"},
    {ONX_USE_NODE,
     "/* A node; its inputs are found by their names, \"\" is one that is left out. */\n"
     "static onx_node *node(onx_graph *g, const char *op, const char *name, size_t n_in,\n"
     "                      const char *const *in, size_t n_out, const char *const *out) {\n"
     "    onx_value **values = calloc(n_in + 1, sizeof *values);\n"
     "    if (!values) fail(op, \"no memory\");\n"
     "    for (size_t i = 0; i < n_in; i++) {\n"
     "        values[i] = *in[i] ? onx_graph_lookup(g, in[i]) : NULL;\n"
     "        if (*in[i] && !values[i]) fail(in[i], \"there is no such value\");\n"
     "    }\n"
     "    onx_node *n = onx_graph_add_node(g, op, n_in, values, n_out, out);\n"
     "    free(values);\n"
     "    if (!n) fail(op, onx_model_error(onx_graph_model(g))->message);\n"
     "    if (name) check(onx_node_set_name(n, name));\n"
     "    return n;\n"
     "}\n\n"},
    {ONX_USE_OUTPUT, "static void output(onx_graph *g, const char *name, const char *type) {\n"
                     "    onx_graph_add_output(g, onx_graph_lookup(g, name), type);\n"
                     "}\n\n"},
    {ONX_USE_TYPES,
     "static void types(onx_graph *g, size_t n, const char *const (*t)[2]) {\n"
     "    for (size_t i = 0; i < n; i++)\n"
     "        check(onx_value_set_type(onx_graph_find(g, t[i][0]), t[i][1], NULL));\n"
     "}\n\n"},
    {ONX_USE_STORED,
     "/* The data of an initializer go to the typed lists of TensorProto. */\n"
     "static void typed(onx_value *value) {\n"
     "    if (value) check(onx_tensor_store_typed(onx_value_initializer(value), NULL));\n"
     "}\n\n"},
    {ONX_USE_TENSOR,
     "static void set_tensor(onx_node *n, const char *attribute, const char *name, onx_dtype "
     "dtype,\n"
     "                       size_t rank, const int64_t *dims, const void *data, size_t size) {\n"
     "    onx_tensor *tensor = NULL;\n"
     "    check(onx_tensor_new(NULL, name, dtype, rank, dims, data, size, &tensor, NULL));\n"
     "    check(onx_node_set_tensor(n, attribute, tensor));\n"
     "    onx_tensor_free(tensor);\n"
     "}\n\n"},
    {ONX_USE_TYPED,
     "static void set_typed(onx_node *n, const char *attribute, const char *name, onx_dtype "
     "dtype,\n"
     "                      size_t rank, const int64_t *dims, const void *data, size_t size) {\n"
     "    onx_tensor *tensor = NULL;\n"
     "    check(onx_tensor_new(NULL, name, dtype, rank, dims, data, size, &tensor, NULL));\n"
     "    check(onx_tensor_store_typed(tensor, NULL));\n"
     "    check(onx_node_set_tensor(n, attribute, tensor));\n"
     "    onx_tensor_free(tensor);\n"
     "}\n\n"},
    {ONX_USE_STRINGS,
     "static void set_strings(onx_node *n, const char *attribute, const char *name, size_t rank,\n"
     "                        const int64_t *dims, const char *const *strings) {\n"
     "    onx_tensor *tensor = NULL;\n"
     "    check(onx_tensor_new_strings(NULL, name, rank, dims, strings, &tensor, NULL));\n"
     "    check(onx_node_set_tensor(n, attribute, tensor));\n"
     "    onx_tensor_free(tensor);\n"
     "}\n\n"},
    {ONX_USE_LOAD,
     "/* A tensor that is stored in a form of its own. */\n"
     "static onx_data *load_tensor(const char *data, size_t size) {\n"
     "    onx_data *tensor = NULL;\n"
     "    check(onx_data_load_memory(NULL, data, size, ONX_DATA_TENSOR, &tensor, NULL));\n"
     "    return tensor;\n"
     "}\n\n"},
    {ONX_USE_ADD, "static void add_tensor(onx_graph *g, onx_data *tensor) {\n"
                  "    onx_graph_add_tensor(g, NULL, onx_data_tensor(tensor));\n"
                  "    onx_data_free(tensor);\n"
                  "}\n\n"},
    {ONX_USE_ATTR, "static void load_attr(onx_node *n, const char *attribute, onx_data *tensor) {\n"
                   "    check(onx_node_set_tensor(n, attribute, onx_data_tensor(tensor)));\n"
                   "    onx_data_free(tensor);\n"
                   "}\n\n"},
};

void onx_code_c_head(onx_code *code) {
    onx_str name = onx_str_of(onx_graph_name(code->model->graph));
    onx_code_puts(code, "/* The program that builds the model");
    if (onx_code_is_plain(name)) onx_code_printf(code, " '%.*s'", ONX_FMT(name));
    onx_code_puts(code, ". Written by onx " ONX_VERSION ".\n *\n"
                        " *     program MODEL");
    onx_code_puts(code, code->offset ? " [WEIGHTS]" : "");
    onx_code_puts(code, "\n */\n#include <onx.h>\n\n#include <stdio.h>\n#include <stdlib.h>\n"
                        "#include <string.h>\n\n");
    onx_code_puts(code, macros);
    if (code->offset) onx_code_puts(code, weights);
    for (size_t i = 0; i < ONX_COUNT(helpers); i++)
        if (code->used & helpers[i].use) onx_code_puts(code, helpers[i].text);
}

/* ── The end ─────────────────────────────────────────────────────────────────────────────────── */

static void put_set(onx_code *code, const char *set, onx_str text) {
    onx_code_printf(code, "    check(%s(m, ", set);
    onx_code_c_str(code, text, &code->model->msg);
    onx_code_puts(code, "));\n");
}

static void put_number(onx_code *code, const char *set, int64_t number) {
    onx_code_printf(code, "    check(%s(m, ", set);
    onx_code_int(code, number, true);
    onx_code_puts(code, "));\n");
}

static void put_optional(onx_code *code, const onx_field *row) {
    if (onx_msg_has(code->model, row))
        onx_code_c_str(code, *(const onx_str *)onx_field_ptr(code->model, row), &code->model->msg);
    else
        onx_code_puts(code, "NULL");
}

static bool is_default(onx_str domain) {
    return !domain.size || onx_str_is(domain, "ai.onnx");
}

/* Opsets of domains that are not written twice can be set; others are merged. */
static bool are_plain(const onx_list *opsets) {
    if (opsets->count > 16) return false;
    ONX_EACH (onx_opset, o, *opsets) {
        if (!onx_msg_has(o, ONX_ROW(opset, version)) || o->version <= 0 || o->msg.unknown)
            return false;
        for (const onx_msg *m = o->msg.next; m; m = m->next) {
            onx_str other = ((const onx_opset *)m)->domain;
            bool same = is_default(other) && is_default(o->domain);
            if (same || onx_str_eq(other, o->domain)) return false;
        }
    }
    return true;
}

/* The import that comes with a new model, if it is the first one of this. */
static const onx_opset *first_opset(const onx_model *model) {
    const onx_opset *o = (const onx_opset *)model->opset_import.first;
    bool fits = o && onx_msg_has(model, ONX_ROW(model, ir_version)) &&
                are_plain(&model->opset_import) && !o->domain.size &&
                onx_msg_has(o, ONX_ROW(opset, domain));
    return fits ? o : NULL;
}

static void put_opsets(onx_code *code) {
    bool plain = are_plain(&code->model->opset_import);
    const onx_opset *first = first_opset(code->model);
    if (!first && onx_msg_has(code->model, ONX_ROW(model, ir_version)))
        onx_code_puts(code, "    check(onx_model_set_opset(m, \"\", 0));\n");
    ONX_EACH (onx_opset, o, code->model->opset_import) {
        if (o == first) continue;
        if (!plain) {
            onx_code_c_merge(code, "onx_model_add_fields(m", &o->msg);
            continue;
        }
        onx_code_puts(code, "    check(onx_model_set_opset(m, ");
        if (onx_msg_has(o, ONX_ROW(opset, domain)))
            onx_code_c_str(code, o->domain, &o->msg);
        else
            onx_code_puts(code, "NULL");
        onx_code_printf(code, ", %lld));\n", (long long)o->version);
    }
}

/* Adding a function imports its domain, and it is for the model to say what it imports. */
static void put_functions(onx_code *code) {
    ONX_EACH (onx_function, f, code->model->functions) {
        if (onx_code_c_is_odd(code, f)) {
            onx_code_c_merge(code, "onx_model_add_fields(m", &f->msg);
            continue;
        }
        onx_code_printf(code, "    %s(onx_function_body(onx_model_add_function(m, ",
                        onx_code_graph_ident(code, &f->body));
        onx_code_c_str(code, f->domain, &f->msg);
        onx_code_puts(code, ", ");
        onx_code_c_str(code, f->name, &f->msg);
        onx_code_puts(code, ")));\n");
        bool kept = first_opset(code->model) && is_default(f->domain);
        if (kept || onx_map_get(&code->names, &code->names, f->domain)) continue;
        if (!onx_map_put(&code->names, &code->names, f->domain, code)) onx_code_no_memory(code);
        onx_code_puts(code, "    check(onx_model_set_opset(m, ");
        onx_code_c_str(code, f->domain, &f->msg);
        onx_code_puts(code, ", 0));\n");
    }
}

static void put_header(onx_code *code) {
    const onx_model *m = code->model;
    bool versioned = onx_msg_has(m, ONX_ROW(model, ir_version));
    if (versioned) {
        onx_code_puts(code, "    onx_model *m = onx_model_new(NULL, ");
        onx_code_c_str(code, m->graph->name, &m->graph->msg);
        onx_code_printf(code, ", %lld);\n",
                        first_opset(m) ? (long long)first_opset(m)->version : 1);
    } else {
        code->used |= ONX_USE_BLANK;
        onx_code_puts(code, "    onx_model *m = blank();\n");
    }
    onx_code_puts(code, "    if (!m) fail(\"onx\", \"no memory\");\n");
    if (versioned) put_number(code, "onx_model_set_ir_version", m->ir_version);
    if (!versioned) {
        onx_code_puts(code, "    check(onx_graph_set_name(onx_model_graph(m), ");
        onx_code_c_str(code, m->graph->name, &m->graph->msg);
        onx_code_puts(code, "));\n");
    }
    onx_code_puts(code, "    check(onx_model_set_producer(m, ");
    put_optional(code, ONX_ROW(model, producer_name));
    onx_code_puts(code, ", ");
    put_optional(code, ONX_ROW(model, producer_version));
    onx_code_puts(code, "));\n");
    if (onx_msg_has(m, ONX_ROW(model, domain))) put_set(code, "onx_model_set_domain", m->domain);
    if (onx_msg_has(m, ONX_ROW(model, model_version)))
        put_number(code, "onx_model_set_version", m->model_version);
    if (onx_msg_has(m, ONX_ROW(model, doc_string)))
        put_set(code, "onx_model_set_doc", m->doc_string);
    ONX_EACH (onx_entry, e, m->metadata_props) onx_code_c_entry(code, 'm', &m->metadata_props, e);
    ONX_EACH (onx_device, d, m->configuration)
        onx_code_c_merge(code, "onx_model_add_fields(m", &d->msg);
    onx_code_c_unknown(code, "onx_model_add_fields(m", &m->msg);
}

void onx_code_c_tail(onx_code *code) {
    onx_code_puts(code, "int main(int argc, char **argv) {\n"
                        "    if (argc < 2) fail(argv[0], \"name the file to write\");\n");
    if (code->offset) {
        onx_code_puts(code, "    weights = load_weights(argc > 2 ? argv[2] : ");
        onx_code_c_str(code, onx_str_of(code->options.weights), NULL);
        onx_code_printf(code, ", %llu);\n", (unsigned long long)code->offset);
    }
    put_header(code);
    put_functions(code);
    put_opsets(code);
    onx_code_printf(code, "    %s(onx_model_graph(m));\n",
                    onx_code_graph_ident(code, code->model->graph));
    ONX_EACH (onx_training, t, code->model->training_info)
        onx_code_c_merge(code, "onx_model_add_fields(m", &t->msg);
    onx_code_puts(code, "    onx_diag diag = ONX_INIT(onx_diag);\n"
                        "    if (onx_model_save(m, argv[1], NULL, &diag) != ONX_OK)"
                        " fail(argv[1], diag.message);\n"
                        "    onx_model_free(m);\n");
    if (code->offset) onx_code_puts(code, "    free((void *)weights);\n");
    onx_code_puts(code, "    return EXIT_SUCCESS;\n}\n");
}
