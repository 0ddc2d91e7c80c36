# Models as programs. What they build is checked in test_code.sh.
$ onx code --lang python linear.onnx
|"""The program that builds the model 'house_price'. Written by onx 0.1.0.
|
|    python PROGRAM MODEL
|"""
|import sys
|
|import numpy as np
|from google.protobuf import text_format
|from onnx import (AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto,
|                  SparseTensorProto, StringStringEntryProto, TensorProto, TypeProto,
|                  ValueInfoProto, helper)
|
|attr = helper.make_attribute
|value = helper.make_tensor_value_info
|
|
|def parse(message, text):
|    return text_format.Parse(text, message)
|
|
|def node(graph, op, inputs, outputs, *attributes, **fields):
|    graph.node.add(op_type=op, input=inputs, output=outputs, attribute=attributes, **fields)
|
|
|def build_house_price(g):
|    g.name = "house_price"
|    g.input.append(value("house", TensorProto.FLOAT, ["N", 3]))
|    g.initializer.append(TensorProto(dims=[3, 1], data_type=TensorProto.FLOAT, name="weights", float_data=[41.5, -0.75, -2.25]))
|    g.initializer.append(TensorProto(dims=[1], data_type=TensorProto.FLOAT, name="bias", float_data=[120.0]))
|    node(g, "MatMul", ["house", "weights"], ["sum"], name="weigh")
|    node(g, "Add", ["sum", "bias"], ["price"], name="shift")  # float[N,1]
|    g.output.append(value("price", TensorProto.FLOAT, ["N", 1]))
|    return g
|
|
|def build_model():
|    m = ModelProto()
|    m.ir_version = 10
|    m.producer_name = "onx"
|    m.doc_string = "Price of a house from its rooms, its age and its distance to the sea."
|    m.opset_import.add(domain="", version=22)
|    m.graph.SetInParent()
|    build_house_price(m.graph)
|    return m
|
|
|if __name__ == "__main__":
|    if len(sys.argv) < 2:
|        sys.exit("name the file to write")
|    with open(sys.argv[1], "wb") as out:
|        out.write(build_model().SerializeToString())
$ onx code linear.onnx | sed -n '/^static void build/,$p'
|static void build_house_price(onx_graph *g) {
|    onx_graph_add_input(g, "house", "float[N,3]");
|    typed(onx_graph_add_initializer(g, "weights", ONX_DTYPE_F32, DIMS(3, 1), DATA(float, 41.5f, -0.75f, -2.25f)));
|    typed(onx_graph_add_initializer(g, "bias", ONX_DTYPE_F32, DIMS(1), DATA(float, 120.0f)));
|    node(g, "MatMul", "weigh", NAMES("house", "weights"), NAMES("sum"));
|    node(g, "Add", "shift", NAMES("sum", "bias"), NAMES("price")); /* float[N,1] */
|    output(g, "price", "float[N,1]");
|}
|
|int main(int argc, char **argv) {
|    if (argc < 2) fail(argv[0], "name the file to write");
|    onx_model *m = onx_model_new(NULL, "house_price", 22);
|    if (!m) fail("onx", "no memory");
|    check(onx_model_set_ir_version(m, 10));
|    check(onx_model_set_producer(m, "onx", NULL));
|    check(onx_model_set_doc(m, "Price of a house from its rooms, its age and its distance to the sea."));
|    build_house_price(onx_model_graph(m));
|    onx_diag diag = ONX_INIT(onx_diag);
|    if (onx_model_save(m, argv[1], NULL, &diag) != ONX_OK) fail(argv[1], diag.message);
|    onx_model_free(m);
|    return EXIT_SUCCESS;
|}
$ onx code linear.onnx -o linear.py; head -1 linear.py; ls linear.py linear.weights
|"""The program that builds the model 'house_price'. Written by onx 0.1.0.
|ls: cannot access 'linear.weights': No such file or directory
|linear.py
[2]
$ onx code big.textproto
|onx code: big.textproto: line 1, column 1 (byte 0): ModelProto has no field 'dims'
[1]
$ onx code linear.onnx --lang rust
|onx code: --lang needs one of c, python, not 'rust'; see 'onx help code'
[2]
$ onx code linear.onnx --inline --weights w
|onx code: only one of --weights and --inline; see 'onx help code'
[2]
$ onx code linear.onnx -o no/such/folder.c
|onx code: no/such/folder.c cannot be written
[1]
$ onx code control.onnxtxt -o c.c --weights w.bin; ls c.c w.bin
|ls: cannot access 'w.bin': No such file or directory
|c.c
[2]
$ onx code nothing.onnx
|onx code: nothing.onnx: cannot open: No such file or directory
[1]
$ onx code
|onx code: too few arguments: onx code [OPTIONS] MODEL; see 'onx help code'
[2]
