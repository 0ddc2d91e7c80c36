/* test_json.c: the JSON reader and writer (base/json.h) and the protobuf JSON mapping
 * (text/json_map.c). */
#define FORMAT_PRINT onx_json_print
#define FORMAT_PARSE onx_json_parse
#include "proto_text.h"

#include "base/json_tree.h"
#include "base/number.h"

/* ── The reader ──────────────────────────────────────────────────────────────────────────────── */

/* The tokens of `text`, one letter each; the status of the first failure. */
static onx_status scan(onx_str text, uint32_t depth, char *out, size_t room, onx_diag *diag) {
    static const char letters[] = ".{}[]ksntf0";
    onx_json_reader r;
    onx_json_reader_init(&r, onx_context_or_default(NULL), text, depth, diag);
    onx_status status;
    size_t n = 0;
    do {
        status = onx_json_next(&r);
        if (!status && n + 1 < room) out[n++] = letters[r.token];
    } while (!status && r.token != ONX_JSON_END);
    out[n] = '\0';
    onx_json_reader_fini(&r);
    return status;
}

TEST(tokens) {
    static const char *const cases[][2] = {
        {"{}", "{}."},
        {" [ ] ", "[]."},
        {"null", "0."},
        {"\"x\"", "s."},
        {"[1,2.5,-0,1e5,-1.5E-3,0.1]", "[nnnnnn]."},
        {"{\"a\":[true,false,null],\"b\":{\"c\":\"d\"}}", "{k[tf0]k{ks}}."},
        {"\t\r\n[[[]],{}]\n", "[[[]]{}]."},
        {"{\"\":\"\"}", "{ks}."},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        char out[64];
        CHECK(scan(onx_str_of(cases[i][0]), 10, out, sizeof out, NULL) == ONX_OK);
        CHECK_STR(out, cases[i][1]);
    }
}

/* Numbers that are not finite, as Python writes them: only where they are asked for. */
TEST(python_numbers) {
    const onx_str text = ONX_LIT("[NaN,Infinity,-Infinity,-1]");
    char out[64];
    CHECK_EQ(scan(text, 10, out, sizeof out, NULL), ONX_MALFORMED);
    onx_json_reader r;
    onx_json_reader_init(&r, onx_context_or_default(NULL), text, 10, NULL);
    r.python = true;
    static const char *const spans[] = {"NaN", "Infinity", "-Infinity", "-1"};
    CHECK(onx_json_next(&r) == ONX_OK);
    for (size_t i = 0; i < ONX_COUNT(spans); i++) {
        CHECK(onx_json_next(&r) == ONX_OK && r.token == ONX_JSON_NUMBER);
        CHECK(onx_str_is(r.span, spans[i]));
    }
    onx_json_reader_fini(&r);
}

TEST(trees) {
    const onx_str text =
        ONX_LIT("{\"a\":[1,\"x\\n\",{\"b\":null}],\"n\":-3,\"f\":\"Infinity\","
                "\"a\":[true,9223372036854775807,{}],\"c\":{\"d\":{\"e\":\"z\"}}}");
    onx_arena arena;
    const onx_json *root = NULL;
    int64_t i;
    double f;
    onx_arena_init(&arena, onx_context_or_default(NULL));
    REQUIRE(onx_json_tree(&arena, text, 10, &root, NULL) == ONX_OK);
    CHECK_EQ(onx_json_count(root), 5);
    const onx_json *a = onx_json_get(root, "a"); /* the last of two */
    CHECK_EQ(onx_json_count(a), 3);
    CHECK(onx_json_true(onx_json_at(a, 0)) && !onx_json_true(onx_json_at(a, 1)));
    CHECK(onx_json_i64(onx_json_at(a, 1), &i) && i == INT64_MAX);
    CHECK(onx_json_is(onx_json_at(a, 2), ONX_JSON_OBJECT) && !onx_json_at(a, 3));
    a = root->first->first; /* the first of them */
    CHECK(onx_str_is(onx_json_str(onx_json_at(a, 1)), "x\n"));
    CHECK(!onx_json_get(onx_json_at(a, 2), "b"));
    CHECK(onx_json_i64(onx_json_get(root, "n"), &i) && i == -3);
    CHECK(onx_json_f64(onx_json_get(root, "f"), &f) && f > 1e308);
    CHECK(!onx_json_i64(onx_json_get(root, "f"), &i));
    const onx_json *c = onx_json_get(root, "c");
    CHECK(onx_str_is(onx_json_str(onx_json_get(onx_json_get(c, "d"), "e")), "z"));
    CHECK(!onx_json_get(onx_json_get(c, "x"), "e") && !onx_json_get(a, "d"));
    size_t n = 0;
    ONX_JSON_EACH(it, root) n += it->text.size;
    CHECK_EQ(n, 5);
    CHECK_EQ(onx_json_tree(&arena, text, 2, &root, NULL), ONX_LIMIT);
    CHECK_EQ(onx_json_tree(&arena, ONX_LIT("[1,"), 3, &root, NULL), ONX_MALFORMED);
    onx_arena_fini(&arena);
}

TEST(syntax_errors) {
    static const struct {
        const char *text;
        int64_t offset;
    } cases[] = {
        {"", 0},
        {" ", 1},
        {"[", 1},
        {"[1", 2},
        {"[1,", 3},
        {"[1,]", 3},
        {"[,1]", 1},
        {"[1 2]", 3},
        {"{", 1},
        {"{\"a\"", 4},
        {"{\"a\":", 5},
        {"{\"a\":1", 6},
        {"{\"a\":1,}", 7},
        {"{a:1}", 1},
        {"{1:2}", 1},
        {"{\"a\" 1}", 5},
        {"{,}", 1},
        {"]", 0},
        {"}", 0},
        {"[}", 1},
        {"{]", 1},
        {"[] []", 3},
        {"1 2", 2},
        {"tru", 0},
        {"True", 0},
        {"nul", 0},
        {"NaN", 0},
        {"Infinity", 0},
        {"01", 0},
        {"-01", 0},
        {"-", 1},
        {"+1", 0},
        {".5", 0},
        {"1.", 2},
        {"1.e5", 2},
        {"1e", 2},
        {"1e+", 3},
        {"1x", 1},
        {"0x10", 1},
        {"'a'", 0},
        {"\"a", 2},
        {"\"\\", 1},
        {"\"\\x41\"", 1},
        {"\"\\u12\"", 1},
        {"\"\\u12G4\"", 1},
        {"\"a\nb\"", 2},
        {"\"a\tb\"", 2},
        {"// c\n1", 0},
        {"/**/1", 0},
        {"\xef\xbb\xbf{}", 0},
        {"\"\x80\"", 1},
        {"\"\xc0\xaf\"", 1},
        {"\"\xed\xa0\x80\"", 1},
        {"\"\xf4\x90\x80\x80\"", 1},
        {"\"\xe2\x82\"", 1},
        {"\"\\ud800\"", 1},
        {"\"\\udc00\"", 1},
        {"\"\\ud800\\u0041\"", 1},
        {"\"\\ud800\\ud800\"", 1},
        {"\"\\ud800x\"", 1},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        char out[64];
        onx_diag diag = ONX_INIT(onx_diag);
        onx_status status = scan(onx_str_of(cases[i].text), 10, out, sizeof out, &diag);
        if (!CHECK(status == ONX_MALFORMED && diag.offset == cases[i].offset && diag.message[0]))
            fprintf(stderr, "    %s: byte %lld: %s\n", cases[i].text, (long long)diag.offset,
                    diag.message);
    }
    char out[64];
    onx_diag diag = ONX_INIT(onx_diag);
    CHECK(scan((onx_str){"[\0]", 3}, 10, out, sizeof out, &diag) == ONX_MALFORMED);
    CHECK(scan((onx_str){NULL, 0}, 10, out, sizeof out, &diag) == ONX_MALFORMED);
    CHECK(scan(ONX_LIT("[\n  \"\xc3\xa9\", x]"), 10, out, sizeof out, &diag) == ONX_MALFORMED);
    CHECK_STR(diag.place, "line 2, column 8");
}

TEST(depth) {
    static char deep[100000];
    char out[8];
    onx_diag diag = ONX_INIT(onx_diag);
    memset(deep, '[', sizeof deep);
    CHECK(scan((onx_str){deep, sizeof deep}, 100, out, sizeof out, &diag) == ONX_LIMIT);
    CHECK_EQ(diag.offset, 100);
    CHECK(diag.hint[0] != '\0');
    CHECK(scan((onx_str){deep, sizeof deep}, UINT32_MAX, out, sizeof out, &diag) == ONX_MALFORMED);
    CHECK_EQ(diag.offset, sizeof deep);
    memcpy(deep, "[[]]", 4);
    CHECK(scan((onx_str){deep, 4}, 2, out, sizeof out, &diag) == ONX_OK);
    CHECK(scan((onx_str){deep, 4}, 1, out, sizeof out, &diag) == ONX_LIMIT);
}

TEST(escapes) {
    static const char *const cases[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"a\\n\\t\\\"\\\\\\/\\b\\f\\rz", "a\n\t\"\\/\b\f\rz"},
        {"\\u0041\\u00e9\\u20AC", "A\xc3\xa9\xe2\x82\xac"},
        {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
        {"\xf0\x9f\x98\x80 as it is", "\xf0\x9f\x98\x80 as it is"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        char out[64];
        onx_str span = onx_str_of(cases[i][0]), expected = onx_str_of(cases[i][1]);
        CHECK_EQ(onx_json_unescape(span, NULL), expected.size);
        size_t n = onx_json_unescape(span, out);
        CHECK(onx_str_eq((onx_str){out, n}, expected));
    }
}

/* ── The writer ──────────────────────────────────────────────────────────────────────────────── */

TEST(writer) {
    onx_buf buf;
    onx_buf_init(&buf, onx_context_or_default(NULL));
    onx_writer writer = onx_buf_writer(&buf);
    onx_json_writer w;
    onx_json_writer_init(&w, &writer, NULL);
    onx_json_object(&w);
    onx_json_key(&w, ONX_LIT("a\"b"));
    onx_json_array(&w);
    onx_json_literal(&w, ONX_LIT("1"));
    onx_json_literal(&w, ONX_LIT("true"));
    onx_json_array(&w);
    onx_json_array_end(&w);
    onx_json_object(&w);
    onx_json_object_end(&w);
    onx_json_array_end(&w);
    onx_json_key(&w, ONX_LIT("s"));
    onx_json_string(&w, (onx_str){"\0\x1f\x7f\n\"\\/\xc3\xa9", 9});
    onx_json_key(&w, ONX_LIT("e"));
    onx_json_string(&w, (onx_str){NULL, 0});
    onx_json_key(&w, ONX_LIT("o"));
    onx_json_object(&w);
    onx_json_key(&w, ONX_LIT("b"));
    onx_json_base64(&w, ONX_LIT("\xff\xfe"));
    onx_json_object_end(&w);
    onx_json_object_end(&w);
    CHECK(onx_json_writer_finish(&w) == ONX_OK);
    onx_buf_putc(&buf, '\0');
    CHECK_STR(buf.data, "{\n  \"a\\\"b\": [1, true, [], {}],\n  \"s\": "
                        "\"\\u0000\\u001f\x7f\\n\\\"\\\\/\xc3\xa9\",\n  \"e\": \"\",\n  \"o\": {\n"
                        "    \"b\": \"//4=\"\n  }\n}\n");
    onx_buf_fini(&buf);
}

static int fail_write(void *user, const void *data, size_t size) {
    (void)data;
    size_t *left = user;
    if (size > *left) return -1;
    *left -= size;
    return 0;
}

TEST(writer_failures) {
    static const char big[20000] = "";
    for (size_t room = 0; room < 30000; room += 999) {
        size_t left = room;
        onx_writer writer = {&left, fail_write};
        onx_diag diag = ONX_INIT(onx_diag);
        onx_json_writer w;
        onx_json_writer_init(&w, &writer, &diag);
        onx_json_base64(&w, (onx_str){big, sizeof big});
        bool fits = room >= 26671; /* 26668 characters, two quotes, a line end */
        CHECK(onx_json_writer_finish(&w) == (fits ? ONX_OK : ONX_IO));
        CHECK(fits || diag.status == ONX_IO);
    }
    onx_buf buf;
    onx_buf_init(&buf, onx_context_or_default(NULL));
    onx_writer writer = onx_buf_writer(&buf);
    onx_json_writer w;
    onx_json_writer_init(&w, &writer, NULL);
    onx_json_string(&w, ONX_LIT("a\xff"));
    CHECK(onx_json_writer_finish(&w) == ONX_INVALID);
    onx_buf_fini(&buf);
}

/* ── The mapping ─────────────────────────────────────────────────────────────────────────────── */

/* Every kind of field once. */
static const char attribute[] =
    "{\n  \"name\": \"a\\u0001\\\"\xc3\xa9\",\n  \"f\": 0.1,\n  \"i\": \"-9223372036854775808\",\n"
    "  \"s\": \"AP8=\",\n  \"t\": {\n    \"dims\": [\"2\", \"3\"],\n    \"dataType\": 1,\n"
    "    \"floatData\": [1.0, -0.0, \"NaN\", \"Infinity\", \"-Infinity\"],\n"
    "    \"int32Data\": [-1, 2147483647],\n    \"stringData\": [\"\", \"Zm9v\"],\n"
    "    \"int64Data\": [\"-1\", \"9223372036854775807\"],\n"
    "    \"doubleData\": [0.1, 1e-310, \"-NaN\"],\n    \"uint64Data\": "
    "[\"18446744073709551615\"],\n"
    "    \"externalData\": [{}, {\n      \"key\": \"\",\n      \"value\": \"v\"\n    }],\n"
    "    \"dataLocation\": \"EXTERNAL\"\n  },\n  \"floats\": [1.5, \"NaN(0x1)\"],\n"
    "  \"ints\": [\"0\"],\n  \"strings\": [\"AA==\"],\n  \"type\": \"TENSOR\"\n}\n";

TEST(every_kind) {
    check_print(&onx_desc_attr, attribute, attribute);
}

TEST(other_spellings) {
    const onx_desc *d = &onx_desc_tensor;
    check_print(d, "{}", "{}\n");
    check_print(d, "{\"data_type\": 7}", "{\n  \"dataType\": 7\n}\n");
    check_print(d, "{\"data\\u0054ype\": \"7\"}", "{\n  \"dataType\": 7\n}\n");
    check_print(d, "{\"dataType\": 7.0}", "{\n  \"dataType\": 7\n}\n");
    check_print(d, "{\"dataType\": 2e1}", "{\n  \"dataType\": 20\n}\n");
    check_print(d, "{\"dataType\": null, \"dims\": null}", "{}\n");
    check_print(d, "{\"dims\": []}", "{}\n");
    check_print(d, "{\"dims\": [1, \"2\", 3e0]}", "{\n  \"dims\": [\"1\", \"2\", \"3\"]\n}\n");
    check_print(d, "{\"dataLocation\": 1}", "{\n  \"dataLocation\": \"EXTERNAL\"\n}\n");
    check_print(d, "{\"dataLocation\": 5}", "{\n  \"dataLocation\": 5\n}\n");
    check_print(d, "{\"dataLocation\": \"1\"}", "{\n  \"dataLocation\": \"EXTERNAL\"\n}\n");
    check_print(d, "{\"rawData\": \"-_-_\"}", "{\n  \"rawData\": \"+/+/\"\n}\n");
    check_print(d, "{\"rawData\": \"\\/w\"}", "{\n  \"rawData\": \"/w==\"\n}\n");
    check_print(d, "{\"rawData\": \"\"}", "{\n  \"rawData\": \"\"\n}\n");
    check_print(d, "{\"floatData\": [\"1.5\", 16777217, \"inf\"]}",
                "{\n  \"floatData\": [1.5, 16777216.0, \"Infinity\"]\n}\n");
    check_print(d, "{\"uint64Data\": [0, 18446744073709551615, 1e3]}",
                "{\n  \"uint64Data\": [\"0\", \"18446744073709551615\", \"1000\"]\n}\n");
    check_print(d, "{\"name\": \"\\ud83d\\ude00\\u0000\"}",
                "{\n  \"name\": \"\xf0\x9f\x98\x80\\u0000\"\n}\n");
    check_print(&onx_desc_dim, "{\"dimValue\": \"1\", \"dimParam\": null}",
                "{\n  \"dimValue\": \"1\"\n}\n");
    /* field 1000, a varint, and field 1001, two bytes: ONNX knows neither */
    check_print(d, "{\"[onx.unknown]\": [\"wD4F\", \"yj4CYWI=\"]}",
                "{\n  \"[onx.unknown]\": [\"wD4F\", \"yj4CYWI=\"]\n}\n");
}

TEST(mapping_errors) {
    const onx_desc *t = &onx_desc_tensor, *m = &onx_desc_model;
    const onx_status bad = ONX_MALFORMED;
    check_error(t, "[]", bad, 0, "line 1, column 1", "an object is expected here, not an array");
    check_error(t, "null", bad, 0, "line 1, column 1", "not null");
    check_error(t, "{} x", bad, 3, "line 1, column 4", "nothing may follow");
    check_error(t, "{\"nope\": 1}", bad, 1, "line 1", "TensorProto has no field 'nope'");
    check_error(t, "{\"dataType_\": 1}", bad, 1, "line 1", "no field");
    check_error(t, "{\"data_Type\": 1}", bad, 1, "line 1", "no field");
    check_error(t, "{\"name\": 1}", bad, 9, "in name", "a string is expected here, not a number");
    check_error(t, "{\"rawData\": 1}", bad, 12, "in raw_data", "base64");
    check_error(t, "{\"rawData\": \"A*==\"}", bad, 14, "in raw_data", "not base64");
    check_error(t, "{\"dims\": 1}", bad, 9, "in dims", "an array is expected here");
    check_error(t, "{\"dims\": [null]}", bad, 10, "in dims", "not null");
    check_error(t, "{\"dims\": [[1]]}", bad, 10, "in dims", "not an array");
    check_error(t, "{\"dims\": [1.5]}", bad, 10, "in dims", "'1.5' is no whole number");
    check_error(t, "{\"dims\": [9223372036854775808]}", bad, 10, "in dims", "range");
    check_error(t, "{\"dims\": [9223372036854775807.0]}", bad, 10, "in dims", "range");
    check_error(t, "{\"dims\": [true]}", bad, 10, "in dims", "not true");
    check_error(t, "{\"dims\": [\"\"]}", bad, 10, "in dims", "'' is no whole number");
    check_error(t, "{\"uint64Data\": [-1]}", bad, 16, "in uint64_data", "range");
    check_error(t, "{\"dataType\": 2147483648}", bad, 13, "in data_type",
                "does not fit in 32 bits");
    check_error(t, "{\"int32Data\": [-2147483649]}", bad, 15, "in int32_data", "32 bits");
    check_error(t, "{\"floatData\": [1e39]}", bad, 15, "in float_data", "too large");
    check_error(t, "{\"doubleData\": [\"-1e999\"]}", bad, 16, "in double_data", "too large");
    check_error(t, "{\"floatData\": [\"x\"]}", bad, 15, "in float_data", "'x' is no number");
    check_error(t, "{\"dataLocation\": \"NOWHERE\"}", bad, 17, "data_location",
                "no value of this enum");
    check_error(t, "{\"segment\": []}", bad, 12, "in segment", "an object is expected");
    check_error(t, "{\"name\": \"a\", \"name\": \"b\"}", bad, 14, "in name", "given twice");
    check_error(t, "{\"data_type\": 1, \"dataType\": 1}", bad, 17, "in data_type", "given twice");
    check_error(t, "{\"dims\": [], \"dims\": null}", bad, 13, "in dims", "given twice");
    check_error(t, "{\"segment\": {}, \"segment\": {}}", bad, 16, "in segment", "given twice");
    check_error(&onx_desc_dim, "{\"dimValue\": 1, \"dimParam\": \"N\"}", bad, 28, "in dim_param",
                "cannot stand beside 'dim_value'");
    check_error(&onx_desc_type, "{\"mapType\": {}, \"tensorType\": {}}", bad, 30, "in tensor_type",
                "cannot stand beside 'map_type'");
    check_error(m, "{\"graph\": {\"node\": [{},\n{\"attribute\": [{\"i\": {}}]}]}}", bad, 45,
                "line 2, column 22, in graph.node[1].attribute[0].i", "not an object");
    check_error(t, "{\"[onx.unknown]\": \"\"}", bad, 18, "line 1", "an array is expected");
    check_error(t, "{\"[onx.unknown]\": [\"wD4=\"]}", bad, 19, "line 1", "cut");
    check_error(t, "{\"[onx.unknown]\": [\"EAE=\"]}", bad, 19, "line 1", "knows by name");
    check_error(t, "{\"[onx.unknown]\": [\"wD4F\"], \"[onx.unknown]\": []}", bad, 28, "line 1",
                "twice");
}

TEST(not_utf8) {
    onx_doc *doc;
    onx_msg *msg;
    onx_diag diag = ONX_INIT(onx_diag);
    REQUIRE(onx_doc_new(NULL, &doc, &diag) == ONX_OK);
    /* graph.node[0].input[0] is a lone 0xff */
    CHECK(!onx_wire_decode(doc, &onx_desc_model, ONX_LIT("\x3a\x05\x0a\x03\x0a\x01\xff"), &msg,
                           &diag));
    onx_buf buf;
    onx_buf_init(&buf, onx_context_or_default(NULL));
    onx_writer writer = onx_buf_writer(&buf);
    CHECK(onx_json_print(msg, &writer, &diag) == ONX_INVALID);
    CHECK_STR(diag.place, "graph.node[0].input");
    CHECK(diag.hint[0] != '\0');
    onx_buf_fini(&buf);
    onx_doc_free(doc);
}

/* Messages as deep as the limit allows, one deeper, and far deeper. */
TEST(message_depth) {
    static char text[3000000];
    for (size_t levels = 100; levels <= 101; levels++) {
        onx_buf buf;
        onx_buf_init(&buf, onx_context_or_default(NULL));
        for (size_t i = 0; i < levels; i++) onx_buf_puts(&buf, "{\"sequenceValues\":[");
        onx_buf_puts(&buf, "{}");
        for (size_t i = 0; i < levels; i++) onx_buf_puts(&buf, "]}");
        onx_diag diag = ONX_INIT(onx_diag);
        onx_doc *doc = NULL;
        onx_msg *msg = parse(&doc, &onx_desc_sequence, (onx_str){buf.data, buf.size}, &diag);
        CHECK((msg != NULL) == (levels == 100));
        CHECK(diag.status == (levels == 100 ? ONX_OK : ONX_LIMIT));
        if (msg) CHECK(survives(msg));
        onx_doc_free(doc);
        onx_buf_fini(&buf);
    }
    onx_str part = ONX_LIT("{\"optionalValue\":");
    size_t n = 0;
    for (; n + part.size < sizeof text; n += part.size) memcpy(text + n, part.data, part.size);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_doc *doc = NULL;
    CHECK(!parse(&doc, &onx_desc_optional, (onx_str){text, n}, &diag));
    CHECK_EQ(diag.status, ONX_LIMIT);
}

TEST(limits) {
    onx_context_options options = ONX_INIT(onx_context_options);
    options.limits.name_bytes = 4;
    options.limits.string_bytes = 8;
    onx_context *ctx;
    onx_doc *doc;
    onx_msg *msg;
    onx_diag diag = ONX_INIT(onx_diag);
    static const struct {
        const char *text;
        onx_status status;
    } cases[] = {{"{\"name\": \"\\u0041BCD\"}", ONX_OK},
                 {"{\"name\": \"ABCDE\"}", ONX_LIMIT},
                 {"{\"docString\": \"ABCDEFGH\"}", ONX_OK},
                 {"{\"docString\": \"ABCDEFGHI\"}", ONX_LIMIT}};
    REQUIRE(onx_context_new(&options, &ctx) == ONX_OK);
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        REQUIRE(onx_doc_new(ctx, &doc, &diag) == ONX_OK);
        CHECK(onx_json_parse(doc, &onx_desc_tensor, onx_str_of(cases[i].text), &msg, &diag) ==
              cases[i].status);
        onx_doc_free(doc);
    }
    onx_context_free(ctx);
}

/* A payload of several megabytes: printed in pieces, read back in one buffer outside the arena. */
TEST(large_payload) {
    enum { SIZE = 5000001 };
    onx_doc *doc;
    onx_diag diag = ONX_INIT(onx_diag);
    REQUIRE(onx_doc_new(NULL, &doc, &diag) == ONX_OK);
    onx_tensor *t = onx_msg_new(doc, &onx_desc_tensor);
    char *bytes = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (char)(i * 2654435761u >> 13);
    t->raw_data = (onx_str){bytes, SIZE};
    onx_msg_set_has(t, ONX_ROW(tensor, raw_data));
    t->float_data = (onx_str){bytes, SIZE / 4 * 4};
    CHECK(survives(&t->msg));
    free(bytes);
    onx_doc_free(doc);
}

TEST(hostile) {
    check_hostile(&onx_desc_attr, attribute);
}

TEST(out_of_memory) {
    check_memory(&onx_desc_attr, attribute);
    check_memory(&onx_desc_tensor, "{\"[onx.unknown]\": [\"wD4F\"], \"rawData\": \"\\/w\"}");
    onx_buf large; /* payloads that get a blob of their own */
    onx_buf_init(&large, onx_context_or_default(NULL));
    onx_buf_puts(&large, "{\"rawData\": \"");
    for (size_t i = 0; i < 30000; i++) onx_buf_puts(&large, "AAAA");
    onx_buf_puts(&large, "\", \"doubleData\": [0");
    for (size_t i = 0; i < 10000; i++) onx_buf_puts(&large, ",1");
    onx_buf_puts(&large, "]}");
    onx_buf_putc(&large, '\0');
    check_memory(&onx_desc_tensor, large.data);
    onx_buf_fini(&large);
}

TEST(data) {
    check_data();
}

TEST_MAIN(E(tokens) E(python_numbers) E(trees) E(syntax_errors) E(depth) E(escapes) E(writer)
              E(writer_failures) E(every_kind) E(other_spellings) E(mapping_errors) E(not_utf8)
                  E(message_depth) E(limits) E(large_payload) E(hostile) E(out_of_memory) E(data))
