/* code_python_program.c: programs in Python: imports and helpers, and the end, where the model is
 * made. */
#include "text/code_python.h"

#include <stdio.h>

static const char imports[] =
    "import sys\n\n"
    "import numpy as np\n"
    "from google.protobuf import text_format\n"
    "from onnx import (AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto,\n"
    "                  SparseTensorProto, StringStringEntryProto, TensorProto, TypeProto,\n"
    "                  ValueInfoProto, helper)\n\n"
    "attr = helper.make_attribute\n"
    "value = helper.make_tensor_value_info\n";

static const char weights[] = "with open(sys.argv[2] if len(sys.argv) > 2 else ";

static const char elements[] = "\n\ndef elements(dtype, offset, count):\n"
                               "    return np.frombuffer(weights, dtype, count, offset).tolist()\n";

static const char helpers[] =
    "\n\ndef parse(message, text):\n"
    "    return text_format.Parse(text, message)\n\n\n"
    "def node(graph, op, inputs, outputs, *attributes, **fields):\n"
    "    graph.node.add(op_type=op, input=inputs, output=outputs, attribute=attributes, **fields)\n"
    "\n\n";

void onx_code_py_head(onx_code *code) {
    onx_str name = onx_str_of(onx_graph_name(code->model->graph));
    onx_code_puts(code, "\"\"\"The program that builds the model");
    if (onx_code_is_plain(name)) onx_code_printf(code, " '%.*s'", ONX_FMT(name));
    onx_code_puts(code, ". Written by onx " ONX_VERSION ".\n\n    python PROGRAM MODEL");
    onx_code_puts(code, code->offset ? " [WEIGHTS]\n\"\"\"\n" : "\n\"\"\"\n");
    onx_code_puts(code, imports);
    if (code->offset) {
        onx_code_puts(code, "\n");
        onx_code_puts(code, weights);
        onx_code_py_str(code, onx_str_of(code->options.weights), NULL);
        onx_code_puts(code, ", \"rb\") as file:\n    weights = file.read()\n");
        onx_code_printf(code,
                        "if len(weights) != %llu:\n"
                        "    sys.exit(\"the weights are not those of this program\")\n",
                        (unsigned long long)code->offset);
        onx_code_puts(code, elements);
    }
    onx_code_puts(code, helpers);
}

static bool is_single(const onx_field *field) {
    return field->kind == ONX_FIELD_STR || field->kind == ONX_FIELD_I64 ||
           field->kind == ONX_FIELD_I32;
}

/* Text may take several lines, which only parentheses hold together. */
static void put_value(onx_code *code, const onx_msg *msg, const onx_field *field) {
    const void *slot = onx_field_ptr(msg, field);
    if (field->kind == ONX_FIELD_STR) {
        onx_str text = *(const onx_str *)slot;
        bool lines = text.size > 80 || (text.size && memchr(text.data, '\n', text.size));
        onx_code_puts(code, lines ? "(" : "");
        onx_code_py_str(code, text, msg);
        onx_code_puts(code, lines ? ")" : "");
    } else if (field->kind == ONX_FIELD_I64) {
        onx_code_printf(code, "%lld", (long long)*(const int64_t *)slot);
    } else {
        onx_code_printf(code, "%d", (int)*(const int32_t *)slot);
    }
}

static void put_merge(onx_code *code, const char *name, onx_str bytes) {
    onx_code_printf(code, "    %s.MergeFromString(", name);
    onx_code_quote_str(code, bytes, ONX_QUOTE_BYTES);
    onx_code_puts(code, ")\n");
}

/* Text that is none for Python, as it stands in a file. */
static void put_encoded(onx_code *code, const char *name, const onx_field *field, onx_str text) {
    char varint[10];
    onx_buf *bytes = &code->scratch;
    bytes->size = 0;
    onx_buf_put(bytes, varint, onx_varint_put((uint64_t)field->number << 3 | 2, varint));
    onx_buf_put(bytes, varint, onx_varint_put(text.size, varint));
    onx_buf_put(bytes, text.data, text.size);
    put_merge(code, name, (onx_str){bytes->data, bytes->size});
}

void onx_code_py_fields(onx_code *code, const char *name, const onx_msg *msg) {
    for (unsigned i = 0; i < msg->desc->n_fields; i++) {
        const onx_field *field = &msg->desc->fields[i];
        if (!is_single(field) || !onx_msg_has(msg, field)) continue;
        const onx_str *text = onx_field_ptr(msg, field);
        if (field->kind == ONX_FIELD_STR && !onx_code_is_utf8(*text)) {
            put_encoded(code, name, field, *text);
            continue;
        }
        onx_code_printf(code, "    %s.%s = ", name, field->name);
        put_value(code, msg, field);
        onx_code_puts(code, "\n");
    }
    for (const onx_unknown *u = msg->unknown; u; u = u->next) put_merge(code, name, u->bytes);
}

/* Has it single fields alone, that Python can say? */
static bool is_flat(const onx_msg *msg) {
    bool flat = !msg->unknown;
    for (unsigned i = 0; i < msg->desc->n_fields && flat; i++) {
        const onx_field *field = &msg->desc->fields[i];
        flat = is_single(field);
        if (flat && field->kind == ONX_FIELD_STR)
            flat = onx_code_is_utf8(*(const onx_str *)onx_field_ptr(msg, field));
    }
    return flat;
}

void onx_code_py_add(onx_code *code, const char *holder, const onx_msg *msg) {
    char into[64];
    const char *list = msg->parent->desc->fields[msg->field].name, *before = "";
    if (!is_flat(msg)) {
        snprintf(into, sizeof into, "%s.%s.add()", holder, list);
        onx_code_py_message(code, into, msg);
        return;
    }
    onx_code_printf(code, "    %s.%s.add(", holder, list);
    for (unsigned i = 0; i < msg->desc->n_fields; i++) {
        const onx_field *field = &msg->desc->fields[i];
        if (!onx_msg_has(msg, field)) continue;
        onx_code_printf(code, "%s%s=", before, field->name);
        put_value(code, msg, field);
        before = ", ";
    }
    onx_code_puts(code, ")\n");
}

static void put_list(onx_code *code, const onx_list *list) {
    ONX_EACH (onx_msg, m, *list) onx_code_py_add(code, "m", m);
}

void onx_code_py_tail(onx_code *code) {
    const onx_model *m = code->model;
    onx_code_puts(code, "def build_model():\n    m = ModelProto()\n");
    onx_code_py_fields(code, "m", &m->msg);
    put_list(code, &m->opset_import);
    put_list(code, &m->metadata_props);
    put_list(code, &m->configuration);
    ONX_EACH (onx_function, f, m->functions)
        onx_code_printf(code, "    %s(m.functions.add())\n", onx_code_graph_ident(code, &f->body));
    onx_code_printf(code, "    m.graph.SetInParent()\n    %s(m.graph)\n",
                    onx_code_graph_ident(code, m->graph));
    put_list(code, &m->training_info);
    onx_code_puts(code, "    return m\n\n\n"
                        "if __name__ == \"__main__\":\n"
                        "    if len(sys.argv) < 2:\n"
                        "        sys.exit(\"name the file to write\")\n"
                        "    with open(sys.argv[1], \"wb\") as out:\n"
                        "        out.write(build_model().SerializeToString())\n");
}
