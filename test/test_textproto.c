/* test_textproto.c: the protobuf text format (text/textproto_print.c, text/textproto_parse.c). */
#define FORMAT_PRINT onx_textproto_print
#define FORMAT_PARSE onx_textproto_parse
#include "proto_text.h"

/* Every kind of field once. */
static const char attribute[] = "name: \"a\\001\\\"\\'\\n\xc3\xa9\"\n"
                                "f: 0.1\n"
                                "i: -9223372036854775808\n"
                                "s: \"\\000\\377\\303\\251\"\n"
                                "t {\n"
                                "  dims: [2, 3]\n"
                                "  data_type: 1\n"
                                "  float_data: [1.0, -0.0, nan, inf, -inf]\n"
                                "  int32_data: [-1, 2147483647]\n"
                                "  string_data: \"\"\n"
                                "  string_data: \"foo\"\n"
                                "  int64_data: [-1, 9223372036854775807]\n"
                                "  double_data: [0.1, 1e-310, -nan]\n"
                                "  uint64_data: [18446744073709551615]\n"
                                "  external_data {\n"
                                "  }\n"
                                "  external_data {\n"
                                "    key: \"\"\n"
                                "    value: \"v\"\n"
                                "  }\n"
                                "  data_location: EXTERNAL\n"
                                "}\n"
                                "floats: [1.5, nan(0x1), -nan(0x7fffff)]\n"
                                "ints: [0]\n"
                                "strings: \"\\000\"\n"
                                "type: TENSOR\n";

TEST(every_kind) {
    check_print(&onx_desc_attr, attribute, attribute);
}

TEST(other_spellings) {
    const onx_desc *d = &onx_desc_tensor;
    check_print(d, "", "");
    check_print(d, " # nothing but a comment", "");
    check_print(d, "dims:1 dims:2,dims:3;dims : [ 4 , 5 ]", "dims: [1, 2, 3, 4, 5]\n");
    check_print(d, "dims: [] dims: 0x1F dims: 017 dims: -0x10 dims: - 5 dims: -010 dims: 0",
                "dims: [31, 15, -16, -5, -8, 0]\n");
    check_print(d, "uint64_data: 0xffffffffffffffff uint64_data: -0",
                "uint64_data: [18446744073709551615, 0]\n");
    check_print(d, "data_location: 1", "data_location: EXTERNAL\n");
    check_print(d, "data_location: 5", "data_location: 5\n");
    check_print(d, "data_location: -1", "data_location: -1\n");
    check_print(d, "segment: { begin: 1 }", "segment {\n  begin: 1\n}\n");
    check_print(d, "segment < begin: 1, end: 2 >;", "segment {\n  begin: 1\n  end: 2\n}\n");
    check_print(d, "external_data: [{key: 'a'}, <key: 'b'>], external_data []",
                "external_data {\n  key: \"a\"\n}\nexternal_data {\n  key: \"b\"\n}\n");
    check_print(d, "name: 'a' \"b\" # and\n 'c'", "name: \"abc\"\n");
    check_print(d, "name: '\"' \"'\"", "name: \"\\\"\\'\"\n");
    check_print(d, "name: 'it\\'s'", "name: \"it\\'s\"\n");
    check_print(d, "raw_data: '\\a\\b\\f\\n\\r\\t\\v\\?\\'\\\"\\\\'",
                "raw_data: \"\\007\\010\\014\\n\\r\\t\\013?\\'\\\"\\\\\"\n");
    check_print(d, "raw_data: '\\0\\18\\377\\x4\\x41B\\XfF'",
                "raw_data: \"\\000\\0018\\377\\004AB\\377\"\n");
    check_print(d, "name: '\\u00e9\\U0001F600\\ud83d\\ude00'",
                "name: \"\xc3\xa9\xf0\x9f\x98\x80\xf0\x9f\x98\x80\"\n");
    check_print(d, "name: '\\377\xc3(\xe2\x82'",
                "name: \"\\377\\303(\\342\\202\"\n"); /* not UTF-8 */
    check_print(
        d, "float_data: [1, 1.5f, 2F, .5, 3., 1e3, 1E-3f, inf, -INF, Infinity, inff, nan, nanf]",
        "float_data: [1.0, 1.5, 2.0, 0.5, 3.0, 1000.0, 0.001, inf, -inf, inf, inf, nan, nan]\n");
    check_print(d, "float_data: - 1.5 float_data: 1e39 float_data: 16777217",
                "float_data: [-1.5, inf, 16777216.0]\n");
    /* fields of two payloads in turn */
    check_print(d, "float_data:1 int32_data:2 float_data:3 int32_data:4",
                "float_data: [1.0, 3.0]\nint32_data: [2, 4]\n");
    /* field 1000, a varint, and field 1001, two bytes: ONNX knows neither */
    check_print(d, "[onx.unknown]: '\\300>\\005' name: 'x' [onx.unknown]: '\\312>' '\\002ab';",
                "name: \"x\"\n[onx.unknown]: \"\\300>\\005\"\n[onx.unknown]: \"\\312>\\002ab\"\n");
}

TEST(errors) {
    const onx_desc *t = &onx_desc_tensor, *m = &onx_desc_model;
    const onx_status bad = ONX_MALFORMED;
    check_error(t, "nope: 1", bad, 0, "line 1, column 1", "TensorProto has no field 'nope'");
    check_error(t, "Name: 'x'", bad, 0, "line 1", "no field");
    check_error(t, "8: 'x'", bad, 0, "line 1", "the name of a field is expected here");
    check_error(t, "}", bad, 0, "line 1", "the name of a field");
    check_error(t, "[a.b]: 1", bad, 0, "line 1", "no extensions");
    check_error(t, "[type.googleapis.com/x] {}", bad, 0, "line 1", "no extensions");
    check_error(t, "name 'x'", bad, 5, "in name", "':' is expected here");
    check_error(t, "name:", bad, 5, "in name",
                "the text ends where a string in quotes is expected");
    check_error(t, "name: x", bad, 6, "in name", "a string in quotes");
    check_error(t, "name: ['x']", bad, 6, "in name", "a string in quotes");
    check_error(t, "name: 'x", bad, 6, "in name", "no closing quote");
    check_error(t, "name: 'x\n'", bad, 6, "in name", "no closing quote");
    check_error(t, "name: 'x\\", bad, 8, "in name", "escape");
    check_error(t, "name: 'x\\q'", bad, 8, "in name", "escape");
    check_error(t, "name: '\\400'", bad, 7, "in name", "escape");
    check_error(t, "name: '\\x'", bad, 7, "in name", "escape");
    check_error(t, "name: '\\u12'", bad, 7, "in name", "escape");
    check_error(t, "name: '\\ud800'", bad, 7, "in name", "escape");
    check_error(t, "name: '\\ud800\\u0041'", bad, 7, "in name", "escape");
    check_error(t, "name: '\\udc00'", bad, 7, "in name", "escape");
    check_error(t, "name: '\\U00110000'", bad, 7, "in name", "escape");
    check_error(t, "name: 'a' name: 'b'", bad, 10, "in name", "given twice");
    check_error(t, "segment {} segment {}", bad, 11, "in segment", "given twice");
    check_error(t, "segment", bad, 7, "in segment", "'{' is expected");
    check_error(t, "segment [{}]", bad, 8, "in segment", "'{' is expected here");
    check_error(t, "segment {", bad, 9, "in segment", "before '}' closes");
    check_error(t, "segment <}", bad, 9, "in segment", "the name of a field");
    check_error(t, "segment { begin: 1 >", bad, 19, "in segment", "the name of a field");
    check_error(t, "external_data [{},]", bad, 18, "in external_data", "'{' is expected here");
    check_error(t, "external_data [{}{}]", bad, 17, "in external_data",
                "',' or ']' is expected here");
    check_error(t, "external_data [", bad, 15, "in external_data", "the text ends where '{'");
    check_error(t, "dims: [1 2]", bad, 9, "in dims", "',' or ']' is expected here");
    check_error(t, "dims: [1,]", bad, 9, "in dims", "a whole number is expected here");
    check_error(t, "dims: [1", bad, 8, "in dims", "the text ends where ',' or ']'");
    check_error(t, "dims: 1.5", bad, 6, "in dims", "'1.5' is no whole number");
    check_error(t, "dims: 1a", bad, 6, "in dims", "'1a' is no whole number");
    check_error(t, "dims: 08", bad, 6, "in dims", "'08' is no whole number");
    check_error(t, "dims: 0x", bad, 6, "in dims", "'0x' is no whole number");
    check_error(t, "dims: 'x'", bad, 6, "in dims", "a whole number is expected here");
    check_error(t, "dims: --1", bad, 6, "in dims", "a whole number is expected here");
    check_error(t, "dims: +1", bad, 6, "in dims", "a whole number is expected here");
    check_error(t, "dims: 9223372036854775808", bad, 6, "in dims", "range");
    check_error(t, "dims: -9223372036854775809", bad, 6, "in dims", "range");
    check_error(t, "uint64_data: -1", bad, 13, "in uint64_data", "'-1' is no whole number");
    check_error(t, "data_type: 2147483648", bad, 11, "in data_type", "does not fit in 32 bits");
    check_error(t, "data_type: true", bad, 11, "in data_type", "'true' is no whole number");
    check_error(t, "data_location: NOWHERE", bad, 15, "data_location", "no value of this enum");
    check_error(t, "data_location: -EXTERNAL", bad, 15, "data_location", "no value of this enum");
    check_error(t, "float_data: x", bad, 12, "in float_data", "'x' is no number");
    check_error(t, "float_data: 0x10", bad, 12, "in float_data", "'0x10' is no number");
    check_error(t, "float_data: 010", bad, 12, "in float_data", "'010' is no number");
    check_error(t, "float_data: 1.2.3", bad, 12, "in float_data", "no number");
    check_error(t, "float_data: nan(", bad, 12, "in float_data", "no number");
    check_error(t, "float_data: '1'", bad, 12, "in float_data", "a number is expected here");
    check_error(&onx_desc_dim, "dim_value: 1 dim_param: 'N'", bad, 13, "in dim_param",
                "cannot stand beside 'dim_value'");
    check_error(m, "graph {\n  node {} node {\n    attribute { i: {} }\n  }\n}", bad, 44,
                "line 3, column 20, in graph.node[1].attribute[0].i", "a whole number");
    check_error(t, "[onx.unknown] '\\300>\\005'", bad, 14, "line 1", "':' is expected");
    check_error(t, "[onx.unknown]: '\\300>'", bad, 15, "line 1", "cut");
    check_error(t, "[onx.unknown]: '\\020\\001'", bad, 15, "line 1", "knows by name");
    onx_doc *doc = NULL;
    CHECK(!parse(&doc, t, (onx_str){"name: 'x'\0", 10}, NULL));
}

TEST(message_depth) {
    static char text[3000000];
    for (size_t levels = 100; levels <= 101; levels++) {
        onx_buf buf;
        onx_buf_init(&buf, onx_context_or_default(NULL));
        for (size_t i = 0; i < levels; i++) onx_buf_puts(&buf, "sequence_values [<");
        for (size_t i = 0; i < levels; i++) onx_buf_puts(&buf, ">]");
        onx_diag diag = ONX_INIT(onx_diag);
        onx_doc *doc = NULL;
        onx_msg *msg = parse(&doc, &onx_desc_sequence, (onx_str){buf.data, buf.size}, &diag);
        CHECK((msg != NULL) == (levels == 100));
        CHECK(diag.status == (levels == 100 ? ONX_OK : ONX_LIMIT));
        if (msg) CHECK(survives(msg));
        onx_doc_free(doc);
        onx_buf_fini(&buf);
    }
    onx_str part = ONX_LIT("optional_value{");
    size_t n = 0;
    for (; n + part.size < sizeof text; n += part.size) memcpy(text + n, part.data, part.size);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_doc *doc = NULL;
    CHECK(!parse(&doc, &onx_desc_optional, (onx_str){text, n}, &diag));
    CHECK_EQ(diag.status, ONX_LIMIT);
    CHECK(diag.hint[0] != '\0');
}

/* A small text must not make a large structure. */
TEST(memory_factor) {
    onx_context_options options = ONX_INIT(onx_context_options);
    options.limits.memory_factor = 1;
    onx_context *ctx;
    onx_doc *doc;
    onx_msg *msg;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf buf;
    REQUIRE(onx_context_new(&options, &ctx) == ONX_OK);
    REQUIRE(onx_doc_new(ctx, &doc, &diag) == ONX_OK);
    onx_buf_init(&buf, ctx);
    for (size_t i = 0; i < 200000; i++) onx_buf_puts(&buf, "node{}");
    CHECK(onx_textproto_parse(doc, &onx_desc_graph, (onx_str){buf.data, buf.size}, &msg, &diag) ==
          ONX_LIMIT);
    CHECK(strstr(diag.hint, "memory_factor") != NULL);
    onx_buf_fini(&buf);
    onx_doc_free(doc);
    onx_context_free(ctx);
}

/* Payloads that take turns are gathered in buffers of their own: time grows with the text, not its
 * square. */
TEST(large_payload) {
    onx_buf buf;
    onx_doc *doc = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf_init(&buf, onx_context_or_default(NULL));
    for (size_t i = 0; i < 300000; i++) onx_buf_puts(&buf, "float_data:1 int32_data:-1 ");
    onx_msg *msg = parse(&doc, &onx_desc_tensor, (onx_str){buf.data, buf.size}, &diag);
    onx_buf_fini(&buf);
    REQUIRE(msg);
    const onx_tensor *t = (const onx_tensor *)msg;
    CHECK_EQ(t->float_data.size, 300000 * 4);
    CHECK_EQ(onx_packed_count(ONX_FIELD_PACKED_I32, t->int32_data), 300000);
    CHECK(survives(msg));
    onx_doc_free(doc);
}

TEST(hostile) {
    check_hostile(&onx_desc_attr, attribute);
}

TEST(out_of_memory) {
    check_memory(&onx_desc_attr, attribute);
    check_memory(&onx_desc_tensor, "[onx.unknown]: '\\300>\\005'");
}

TEST(data) {
    check_data();
}

TEST_MAIN(E(every_kind) E(other_spellings) E(errors) E(message_depth) E(memory_factor)
              E(large_payload) E(hostile) E(out_of_memory) E(data))
