/* info_json.c: see info_json.h; doc/cli.md describes the document. */
#include "info_json.h"

#include "json.h"

#include <stdlib.h>

static void put_dim(json *j, const onx_type *type, size_t index) {
    int64_t size = onx_type_dim(type, index);
    const char *name = onx_type_dim_param(type, index);
    if (size >= 0)
        json_number(j, NULL, size);
    else if (*name)
        json_string(j, NULL, name);
    else
        json_null(j, NULL);
}

static void put_type(json *j, const onx_type *type) {
    onx_type_kind kind = onx_type_kind_of(type);
    bool dense = kind == ONX_TYPE_TENSOR || kind == ONX_TYPE_SPARSE_TENSOR;
    char *text = cli_type(type);
    json_string(j, "type", text ? text : "");
    free(text);
    if (dense)
        json_string(j, "dtype", onx_dtype_name(onx_type_dtype(type)));
    else
        json_null(j, "dtype");
    if (!dense || !onx_type_has_shape(type)) {
        json_null(j, "shape");
        return;
    }
    json_open(j, "shape", '[');
    for (size_t i = 0; i < onx_type_rank(type); i++) put_dim(j, type, i);
    json_close(j);
}

static void put_value(json *j, const onx_value *v, bool is_input) {
    json_open(j, NULL, '{');
    json_string(j, "name", v ? onx_value_name(v) : "");
    put_type(j, v ? onx_value_type(v) : NULL);
    if (is_input) json_bool(j, "overridable", v && onx_value_initializer(v));
    json_close(j);
}

static void put_graph(json *j, const survey *s) {
    const onx_graph *g = onx_model_graph(s->model);
    size_t n_in = g ? onx_graph_input_count(g) : 0, n_out = g ? onx_graph_output_count(g) : 0;
    json_open(j, "graph", '{');
    json_string(j, "name", g ? onx_graph_name(g) : "");
    json_string(j, "doc", g ? onx_graph_doc(g) : "");
    json_open(j, "inputs", '[');
    for (size_t i = 0; i < n_in; i++) put_value(j, onx_graph_input(g, i), true);
    json_close(j);
    json_open(j, "outputs", '[');
    for (size_t i = 0; i < n_out; i++) put_value(j, onx_graph_output(g, i), false);
    json_close(j);
    json_size(j, "nodes", s->graph_nodes);
    json_size(j, "subgraphs", s->subgraphs);
    json_size(j, "subgraph_nodes", s->sub_nodes);
    json_close(j);
}

static void put_head(json *j, const survey *s) {
    const onx_model *m = s->model;
    json_string(j, "file", s->path);
    if (s->format == ONX_FORMAT_AUTO)
        json_null(j, "format");
    else
        json_string(j, "format", onx_format_name(s->format));
    json_size(j, "size", s->size);
    json_number(j, "ir_version", onx_model_ir_version(m));
    json_open(j, "opsets", '[');
    for (const onx_opset *o = onx_model_opset_first(m); o; o = onx_opset_next(o)) {
        json_open(j, NULL, '{');
        json_string(j, "domain", onx_opset_domain(o));
        json_number(j, "version", onx_opset_version(o));
        json_close(j);
    }
    json_close(j);
    json_string(j, "producer", onx_model_producer(m));
    json_string(j, "producer_version", onx_model_producer_version(m));
    json_string(j, "domain", onx_model_domain(m));
    json_number(j, "model_version", onx_model_version(m));
    json_string(j, "doc", onx_model_doc(m));
    json_open(j, "metadata", '[');
    for (const onx_entry *e = onx_model_meta_first(m); e; e = onx_entry_next(e)) {
        json_open(j, NULL, '{');
        json_string(j, "key", onx_entry_key(e));
        json_string(j, "value", onx_entry_value(e));
        json_close(j);
    }
    json_close(j);
}

static void put_ops(json *j, const survey *s) {
    json_open(j, "operators", '[');
    for (size_t i = 0; i < s->n_ops; i++) {
        json_open(j, NULL, '{');
        json_string(j, "domain", s->ops[i].domain);
        json_string(j, "op", s->ops[i].op);
        json_string(j, "overload", s->ops[i].overload);
        json_size(j, "count", s->ops[i].count);
        json_bool(j, "function", s->ops[i].is_function);
        json_close(j);
    }
    json_close(j);
}

static void put_total(json *j, const char *key, const char *dtype, const survey_total *t) {
    json_open(j, key, '{');
    if (dtype) json_string(j, "dtype", dtype);
    json_size(j, "tensors", t->tensors);
    json_size(j, "elements", t->elements);
    json_size(j, "bytes", t->bytes);
    json_close(j);
}

static void put_data(json *j, const survey *s) {
    json_open(j, "initializers", '{');
    json_open(j, "types", '[');
    for (int i = 0; i < ONX_DTYPE_COUNT; i++)
        if (s->types[i].tensors) put_total(j, NULL, onx_dtype_name((onx_dtype)i), &s->types[i]);
    json_close(j);
    put_total(j, "inline", NULL, &s->inside);
    put_total(j, "external", NULL, &s->external);
    json_size(j, "sparse", s->sparse);
    json_close(j);
    put_total(j, "constants", NULL, &s->constants);
    json_open(j, "external_files", '[');
    for (size_t i = 0; i < s->n_files; i++) {
        const survey_file *f = &s->files[i];
        json_open(j, NULL, '{');
        json_string(j, "location", f->location);
        json_string(j, "state", survey_state_name(f->state));
        json_size(j, "size", f->size);
        json_size(j, "needed", f->needed);
        json_size(j, "tensors", f->tensors);
        json_size(j, "bytes", f->bytes);
        json_close(j);
    }
    json_close(j);
    json_string(j, "external_error", s->external_error.status ? s->external_error.message : "");
    json_size(j, "bad_tensors", s->bad_tensors);
}

static void put_rest(json *j, const survey *s) {
    json_open(j, "functions", '[');
    for (const onx_function *f = onx_model_function_first(s->model); f; f = onx_function_next(f)) {
        json_open(j, NULL, '{');
        json_string(j, "domain", onx_function_domain(f));
        json_string(j, "name", onx_function_name(f));
        json_string(j, "overload", onx_function_overload(f));
        json_size(j, "nodes", onx_graph_node_count(onx_function_body(f)));
        json_close(j);
    }
    json_close(j);
    json_size(j, "training_steps", onx_model_training_count(s->model));
    json_open(j, "devices", '[');
    for (const onx_device *d = onx_model_device_first(s->model); d; d = onx_device_next(d)) {
        json_open(j, NULL, '{');
        json_string(j, "name", onx_device_name(d));
        json_number(j, "devices", onx_device_count(d));
        json_close(j);
    }
    json_close(j);
}

void info_json(const survey *s) {
    json j;
    json_begin(&j, stdout);
    json_open(&j, NULL, '{');
    put_head(&j, s);
    put_graph(&j, s);
    put_ops(&j, s);
    put_data(&j, s);
    put_rest(&j, s);
    json_close(&j);
}
