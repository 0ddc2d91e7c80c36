// inspect.cpp: onx from C++17. Loads a model and prints its inputs, its nodes and its outputs.
//
//     inspect model.onnx
#include <onx.h>

#include <iostream>
#include <memory>
#include <string>

namespace {

struct ModelFree {
    void operator()(onx_model *model) const {
        onx_model_free(model);
    }
};
using Model = std::unique_ptr<onx_model, ModelFree>;

Model load(const char *path) {
    onx_model *model = nullptr;
    onx_diag diag = ONX_INIT(onx_diag);
    if (onx_model_load(nullptr, path, nullptr, &model, &diag) != ONX_OK) {
        char text[1024];
        onx_diag_format(&diag, text, sizeof text);
        std::cerr << "inspect: " << text << '\n';
    }
    return Model(model);
}

std::string name_and_type(const onx_value *value) {
    char type[256] = "?";
    if (onx_value_type(value)) onx_type_format(onx_value_type(value), type, sizeof type);
    return std::string(onx_value_name(value)) + ": " + type;
}

// "y = Conv(x, w)"; a missing optional input or output is empty.
std::string call(const onx_node *node) {
    const auto name = [](const onx_value *value) { return value ? onx_value_name(value) : ""; };
    std::string text;
    for (size_t i = 0; i < onx_node_output_count(node); i++)
        text += (i ? ", " : "") + std::string(name(onx_node_output(node, i)));
    text += std::string(" = ") + onx_node_op(node) + "(";
    for (size_t i = 0; i < onx_node_input_count(node); i++)
        text += (i ? ", " : "") + std::string(name(onx_node_input(node, i)));
    return text + ")";
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "usage: inspect MODEL\n";
        return 2;
    }
    const Model model = load(argv[1]);
    if (!model) return 1;
    const onx_graph *graph = onx_model_graph(model.get());
    if (!graph) {
        std::cerr << "inspect: the model has no graph\n";
        return 1;
    }
    for (size_t i = 0; i < onx_graph_input_count(graph); i++)
        std::cout << "input   " << name_and_type(onx_graph_input(graph, i)) << '\n';
    for (const onx_node *n = onx_graph_node_first(graph); n; n = onx_node_next(n))
        std::cout << "node    " << call(n) << '\n';
    for (size_t i = 0; i < onx_graph_output_count(graph); i++)
        std::cout << "output  " << name_and_type(onx_graph_output(graph, i)) << '\n';
    return 0;
}
