/* test_onnx_text.c: ONNX text: types, the plain syntax, notes, errors, hostile input, round
 * trips. */
#define _XOPEN_SOURCE 700
#include "test.h"

#include "ir/type_text.h"
#include "text/text.h"

#include <ftw.h>

/* ── Tools ───────────────────────────────────────────────────────────────────────────────────── */

/* An allocator that fails the call number `fail_at`, and counts what is not given back. */
typedef struct heap {
    size_t calls, fail_at, live;
} heap;

static void *heap_resize(void *user, void *ptr, size_t old_size, size_t new_size) {
    heap *h = user;
    if (new_size > 0 && ++h->calls == h->fail_at) return NULL;
    h->live += new_size - old_size;
    if (new_size > 0) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

static onx_context *heap_context(heap *h, uint32_t depth) {
    onx_context_options options = ONX_INIT(onx_context_options);
    options.allocator = (onx_allocator){h, heap_resize};
    options.limits.depth = depth;
    onx_context *ctx = NULL;
    CHECK(onx_context_new(&options, &ctx) == ONX_OK);
    return ctx;
}

static onx_str text_of(const onx_buf *buf) {
    return (onx_str){buf->data, buf->size};
}

/* A model, or NULL and what is wrong. Free `doc` in both cases. */
static onx_model *parse_in(onx_context *ctx, onx_str text, onx_doc **doc, onx_diag *diag) {
    onx_model *model = NULL;
    *doc = NULL;
    if (onx_doc_new(ctx, doc, diag) || onx_text_parse(*doc, text, &model, diag)) return NULL;
    return model;
}

static onx_model *parse(onx_str text, onx_doc **doc) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = parse_in(NULL, text, doc, &diag);
    if (!model) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    return model;
}

/* The text of a model, with a NUL behind it. */
static bool print(const onx_model *model, onx_buf *out) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf_init(out, onx_context_or_default(NULL));
    onx_writer writer = onx_buf_writer(out);
    bool ok = onx_text_print(model, &writer, &diag) == ONX_OK;
    if (!ok) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    onx_buf_putc(out, '\0');
    out->size--;
    return ok;
}

/* Is parse(print(model)) equal to model? */
static bool comes_back(const onx_model *model) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_doc *doc = NULL;
    onx_buf text;
    bool ok = print(model, &text);
    onx_model *back = ok ? parse(text_of(&text), &doc) : NULL;
    ok = back && onx_msg_equal(model, back, &diag);
    if (back && !ok) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    if (!ok) fprintf(stderr, "%.*s\n", (int)(text.size < 3000 ? text.size : 3000), text.data);
    onx_doc_free(doc);
    onx_buf_fini(&text);
    return ok;
}

/* `in` is read, and written as `out`; and the model comes back from its text. */
static void check_text(const char *in, const char *out) {
    onx_doc *doc = NULL;
    onx_buf text;
    onx_model *model = parse(onx_str_of(in), &doc);
    if (!CHECK(model != NULL)) fprintf(stderr, "    of: %s\n", in);
    if (model && CHECK(print(model, &text))) CHECK_STR(text.data, out);
    if (model) onx_buf_fini(&text);
    if (model) CHECK(comes_back(model));
    onx_doc_free(doc);
}

#define HEADER "<\n   opset_import: []\n>\n"
/* The same for a graph without header. */
#define check_graph(in, out) check_text(in, HEADER out)
/* The same for nodes: one to a line. */
#define check_node(in, out) check_graph("g () => () {" in "}", "g () => ()\n{\n   " out "\n}\n")

/* ── Types ───────────────────────────────────────────────────────────────────────────────────── */

static void check_type(const char *in, const char *out) {
    onx_doc *doc = NULL;
    onx_type *type = NULL, *again = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    char text[200];
    CHECK(onx_doc_new(NULL, &doc, NULL) == ONX_OK);
    bool ok = onx_type_parse(doc, onx_str_of(in), &type, &diag) == ONX_OK;
    if (!CHECK(ok)) fprintf(stderr, "    %s: %s\n", in, diag.message);
    if (ok) {
        CHECK_EQ(onx_type_format(type, text, sizeof text), strlen(out));
        CHECK_STR(text, out);
        CHECK(onx_type_is_plain(type));
        CHECK(onx_type_parse(doc, onx_str_of(text), &again, NULL) == ONX_OK);
        CHECK(again && onx_msg_equal(type, again, NULL));
    }
    onx_doc_free(doc);
}

TEST(types) {
    check_type("float", "float");
    check_type(" float [ ] ", "float[]");
    check_type("int64[1]", "int64[1]");
    check_type("float16[ N , 3,?, _x9 ]", "float16[N,3,?,_x9]");
    check_type("bool[-1]", "bool[-1]");
    check_type("string[\"batch size\",\"a\\\"b\\\\\",\"\"]",
               "string[\"batch size\",\"a\\\"b\\\\\",\"\"]");
    check_type("int8[9223372036854775807]", "int8[9223372036854775807]");
    check_type("seq(float)", "seq(float)");
    check_type("seq ( seq(optional(map(string,int64[]) ) ) )",
               "seq(seq(optional(map(string, int64[]))))");
    check_type("sparse_tensor(float[N])", "sparse_tensor(float[N])");
    check_type("sparse_tensor(double)", "sparse_tensor(double)");
    check_type("sparse_tensor(double[])", "sparse_tensor(double[])");
    check_type("opaque()", "opaque()");
    check_type("opaque(a.b)", "opaque(a.b)");
    check_type("opaque(a.b , c)", "opaque(a.b,c)");
    check_type("opaque(\"my domain\",\"\")", "opaque(\"my domain\",\"\")");
    check_type("undefined", "undefined");
    check_type("seq()", "seq()");
    check_type("map(undefined, )", "map(undefined, )");
    check_type("float # a comment\n[2]", "float[2]");
#define DTYPE(name, value, text, bits) check_type(text "[2]", text "[2]");
    ONX_DTYPE_MAP(DTYPE)
#undef DTYPE
}

TEST(type_accessors) {
    onx_doc *doc = NULL;
    onx_type *type = NULL;
    char text[8];
    REQUIRE(onx_doc_new(NULL, &doc, NULL) == ONX_OK);
    REQUIRE(onx_type_parse(doc, ONX_LIT("map(string, seq(float[N,3,?]))"), &type, NULL) == ONX_OK);
    CHECK_EQ(onx_type_kind_of(type), ONX_TYPE_MAP);
    CHECK_EQ(onx_type_dtype(type), ONX_DTYPE_STRING);
    CHECK(!onx_type_has_shape(type));
    CHECK_EQ(onx_type_format(type, text, sizeof text), 30);
    CHECK_STR(text, "map(str");
    CHECK_EQ(onx_type_format(type, NULL, 0), 30);
    const onx_type *seq = onx_type_elem(type), *tensor = onx_type_elem(seq);
    CHECK_EQ(onx_type_kind_of(seq), ONX_TYPE_SEQUENCE);
    CHECK_EQ(onx_type_dtype(seq), ONX_DTYPE_NONE);
    CHECK_EQ(onx_type_kind_of(tensor), ONX_TYPE_TENSOR);
    CHECK_EQ(onx_type_dtype(tensor), ONX_DTYPE_F32);
    CHECK(onx_type_has_shape(tensor));
    CHECK_EQ(onx_type_rank(tensor), 3);
    CHECK_EQ(onx_type_dim(tensor, 0), -1);
    CHECK_STR(onx_type_dim_param(tensor, 0), "N");
    CHECK_EQ(onx_type_dim(tensor, 1), 3);
    CHECK_STR(onx_type_dim_param(tensor, 1), "");
    CHECK_EQ(onx_type_dim(tensor, 2), -1);
    CHECK_EQ(onx_type_dim(tensor, 3), -1);
    CHECK_STR(onx_type_dim_param(tensor, 3), "");
    CHECK(onx_type_elem(tensor) == NULL);
    CHECK_STR(onx_type_denotation(tensor), "");
    CHECK_EQ(onx_type_kind_of(NULL), ONX_TYPE_NONE);
    CHECK_EQ(onx_type_format(NULL, text, sizeof text), 0);
    CHECK_STR(text, "");
    REQUIRE(onx_type_parse(doc, ONX_LIT("float"), &type, NULL) == ONX_OK);
    CHECK(onx_type_has_shape(type) && onx_type_rank(type) == 0);
    REQUIRE(onx_type_parse(doc, ONX_LIT("float[]"), &type, NULL) == ONX_OK);
    CHECK(!onx_type_has_shape(type));
    onx_doc_free(doc);
}

TEST(type_errors) {
    static const struct {
        const char *text, *place, *message;
    } cases[] = {
        {"", "line 1, column 1",
         "expected a type: float, int64[N], seq(…), map(…), optional(…), found "
         "the end of the text"},
        {"flaot", "line 1, column 1", "found 'flaot'"},
        {"float[", "line 1, column 7",
         "expected a dimension: a number, a name or '?', found the end"},
        {"float[2", "line 1, column 8", "expected ']' at the end of the shape, found the end"},
        {"float[2.5]", "line 1, column 7",
         "expected a dimension: a number, a name or '?', found '2.5'"},
        {"float[99999999999999999999]", "line 1, column 7", "found '99999999999999999999'"},
        {"float[2] x", "line 1, column 10", "expected the end of the type, found 'x'"},
        {"seq float", "line 1, column 5",
         "expected '(' after 'seq', 'map' or 'optional', found 'float'"},
        {"seq(float", "line 1, column 10", "expected ')' at the end of the type"},
        {"map(seq(float), float)", "line 1, column 5",
         "expected the type of the keys, found 'seq'"},
        {"map(int64 float)", "line 1, column 11", "expected ',' after the type of the keys"},
        {"sparse_tensor(seq(float))", "line 1, column 15", "expected an element type, found 'seq'"},
        {"float\n[\n  \"x]", "line 3, column 3", "the string that begins here has no end"},
        {"float[#@ x\n2]", "line 1, column 7", "found a note (#@)"},
        {"float[\"a\\", "line 1, column 7", "has no end"},
    };
    onx_doc *doc = NULL;
    REQUIRE(onx_doc_new(NULL, &doc, NULL) == ONX_OK);
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        onx_diag diag = ONX_INIT(onx_diag);
        onx_type *type = NULL;
        CHECK_EQ(onx_type_parse(doc, onx_str_of(cases[i].text), &type, &diag), ONX_MALFORMED);
        CHECK(type == NULL);
        CHECK_STR(diag.place, cases[i].place);
        if (!CHECK(strstr(diag.message, cases[i].message) != NULL))
            fprintf(stderr, "    %s: %s\n", cases[i].text, diag.message);
        CHECK_EQ(onx_type_parse(doc, onx_str_of(cases[i].text), &type, NULL), ONX_MALFORMED);
    }
    onx_doc_free(doc);
}

TEST(type_depth) {
    heap h = {0};
    onx_context *ctx = heap_context(&h, 9);
    onx_doc *doc = NULL;
    onx_type *type = NULL;
    REQUIRE(onx_doc_new(ctx, &doc, NULL) == ONX_OK);
    /* type, sequence, type, sequence, type, sequence, type, tensor, shape, and the dimension inside
     * these 9 */
    CHECK_EQ(onx_type_parse(doc, ONX_LIT("seq(seq(seq(float[2])))"), &type, NULL), ONX_OK);
    CHECK_EQ(onx_type_parse(doc, ONX_LIT("seq(seq(seq(seq(float[]))))"), &type, NULL), ONX_OK);
    CHECK_EQ(onx_type_parse(doc, ONX_LIT("seq(seq(seq(seq(float))))"), &type, NULL), ONX_LIMIT);
    CHECK_EQ(onx_type_parse(doc, ONX_LIT("seq(seq(seq(seq(seq(float[])))))"), &type, NULL),
             ONX_LIMIT);
    onx_doc_free(doc);
    onx_context_free(ctx);
    CHECK_EQ(h.live, 0);
}

/* ── The plain syntax ────────────────────────────────────────────────────────────────────────── */

TEST(graphs) {
    check_graph("agraph (float[N, 128] X, float[128,10] W, float[10] B) => (float[N] C) "
                "# a comment\n{ T = MatMul(X, W)  S = Add(T, B)  C = Softmax(S) }",
                "agraph (float[N,128] X, float[128,10] W, float[10] B) => (float[N] C)\n{\n"
                "   T = MatMul (X, W)\n   S = Add (T, B)\n   C = Softmax (S)\n}\n");
    check_graph("g => (y) <> {}", "g () => (y)\n{\n}\n");
    check_graph("\"a graph\" (\"0\", float \"x y\", seq(float[]) s) => (\"float\") {}",
                "\"a graph\" (\"0\", float \"x y\", seq(float[]) s) => (\"float\")\n{\n}\n");
    check_graph(
        "g (float[2] x = {1, 2.5}) => () < float[2] x, int64 k = {-3}, int32[0] e = {} > {}",
        "g (float[2] x) => ()\n<\n   float[2] x = {1.0, 2.5},\n   int64 k = {-3},\n"
        "   int32[0] e = {},\n   float[2] x\n>\n{\n}\n");
    check_graph("g (undefined x, undefined, undefined[2] \"y\", float, seq) => (map) <float> {}",
                "g (undefined x, \"undefined\", undefined[2] y, \"float\", \"seq\") => (\"map\")\n"
                "<\n   \"float\"\n>\n{\n}\n");
}

TEST(nodes) {
    check_node("y=Relu(x)", "y = Relu (x)");
    check_node("[n] y = Relu (x) <a = 1>", "[n] y = Relu <a: int = 1> (x)");
    check_node("[] = Sink(x,)", "[\"\"] = Sink (x)");
    check_node("a, \"\", b = Split(, x, \"\", \"b c\")",
               "a, \"\", b = Split (\"\", x, \"\", \"b c\")");
    check_node("y = A(,)", "y = A (\"\")");
    check_node("y = A(x,,z)", "y = A (x, \"\", z)");
    check_node("y = com.microsoft.Gelu (x)", "y = com.microsoft.Gelu (x)");
    check_node("y = com . microsoft.\n# comment\nGelu (x)", "y = com.microsoft.Gelu (x)");
    check_node("y = pkg.torch.2.10.0+cu-1.f:1 (x)", "y = pkg.torch.2.10.0+cu-1.f:1 (x)");
    check_node("y = a.Op : over (x)", "y = a.Op:over (x)");
    check_node("y = aten::add (x) z = org.aten::add:Tensor (x)",
               "y = aten::add (x)\n   z = org.aten::add:Tensor (x)");
    check_node("y = (x)", "y =  (x)");
}

TEST(attributes) {
    check_node("y = A <i = 1, f = 1.5, s = \"a\\\"b\", n = -3> ()",
               "y = A <i: int = 1, f: float = 1.5, s: string = \"a\\\"b\", n: int = -3> ()");
    check_node(
        "y = A <a: float = 1, b: float = -0, c = inf, d = -inf, e = nan, f = -NaN, g = 1e-7> ()",
        "y = A <a: float = 1.0, b: float = -0.0, c: float = inf, d: float = -inf, "
        "e: float = nan, f: float = -nan, g: float = 1e-07> ()");
    check_node(
        "y = A <a = [1, 2], b = [0.5, 1], c = [\"x\", \"\"], d: ints = [], e: strings = []> ()",
        "y = A <a: ints = [1, 2], b: floats = [0.5, 1.0], c: strings = [\"x\", \"\"], "
        "d: ints = [], e: strings = []> ()");
    check_node("y = A <a = @b, c: tensor = @\"d e\"> ()",
               "y = A <a = @b, c: tensor = @\"d e\"> ()");
    check_node("y = A <t = float[2] {1,2}, u = float[2] name {1,2}, v = int64 = {7}, w = string[1] "
               "{\"a\"}> ()",
               "y = A <t: tensor = float[2] {1.0, 2.0}, u: tensor = float[2] name {1.0, 2.0}, "
               "v: tensor = int64 {7}, w: tensor = string[1] {\"a\"}> ()");
    check_node(
        "y = A <t = float[2], u: type_proto = seq(float), v = [float, map(int64, float)]> ()",
        "y = A <t: type_proto = float[2], u: type_proto = seq(float), "
        "v: type_protos = [float, map(int64, float)]> ()");
    check_node("y = A <t = [float[1] {1}, int32 x {2}]> ()",
               "y = A <t: tensors = [float[1] {1.0}, int32 x {2}]> ()");
    check_node("y = A <t: tensor = float[2] [\"location\": \"f\", \"offset\": \"0\"]> ()",
               "y = A <t: tensor = float[2] = [\"location\": \"f\", \"offset\": \"0\"]> ()");
    check_node("y = A <\"odd name\" = 1, a.b = 2> ()",
               "y = A <\"odd name\": int = 1, \"a.b\": int = 2> ()");
}

TEST(subgraphs) {
    check_node(
        "y = If (c) <t = a () => (z) { z = B <k = 1> () }, e: graph = \"b\" () => (z) { z = C () "
        "}>",
        "y = If (c) <t: graph = a () => (z)\n      {\n         z = B <k: int = 1> ()\n      }, "
        "e: graph = b () => (z)\n      {\n         z = C ()\n      }>");
    check_node("y = A <g = [a () => () {}, b () => () {}], i = 1> (x)",
               "y = A (x) <g: graphs = [a () => ()\n      {\n      }, b () => ()\n      {\n      "
               "}], i: int = 1>");
    check_node("y = A <g = nano () => () {}, h: graph = inf2 () => () {}> ()",
               "y = A () <g: graph = nano () => ()\n      {\n      }, h: graph = inf2 () => ()\n   "
               "   {\n      }>");
}

TEST(payloads) {
    check_graph(
        "g () => () <float16[2] a = {15360, 0}, bool[2] b = {1, 0}, uint8[1] c = {255}, "
        "uint64[1] d = {18446744073709551615}, complex64[1] e = {1, -2}, int4[3] f = {33, 1}, "
        "uint32[1] h = {4294967295}, double[2] i = {0.1, -nan}> {}",
        "g () => ()\n<\n   float16[2] a = {15360, 0},\n   bool[2] b = {1, 0},\n"
        "   uint8[1] c = {255},\n   uint64[1] d = {18446744073709551615},\n"
        "   complex64[1] e = {1.0, -2.0},\n   int4[3] f = {33, 1},\n"
        "   uint32[1] h = {4294967295},\n   double[2] i = {0.1, -nan}\n>\n{\n}\n");
    check_graph("g () => () <float[3] a = {nan(0x1), -nan(0x7fffff), 1e-45}> {}",
                "g () => ()\n<\n   float[3] a = {nan(0x1), -nan(0x7fffff), 1e-45}\n>\n{\n}\n");
    check_graph("g () => () <int32[9] a = {1,2,3,4,5,6,7,8,9}> {}",
                "g () => ()\n<\n   int32[9] a = {1, 2, 3, 4, 5, 6, 7, 8,\n      9}\n>\n{\n}\n");
    check_graph("g () => () <float[2] a = [\"location\": \"w.bin\"]> {}",
                "g () => ()\n<\n   float[2] a = [\"location\": \"w.bin\"]\n>\n{\n}\n");
}

TEST(models) {
    check_text(
        "<ir_version: 8, opset_import: [\"\" : 17, \"a.b\" : 1], producer_name: \"p\", "
        "producer_version: \"1\", domain: \"d\", model_version: 3, doc_string: \"two\nlines\", "
        "metadata_props: [\"k\": \"v\", \"\" : \"\"]> g () => () {}",
        "<\n   ir_version: 8,\n   opset_import: [\"\" : 17, \"a.b\" : 1],\n"
        "   producer_name: \"p\",\n   producer_version: \"1\",\n   domain: \"d\",\n"
        "   model_version: 3,\n   doc_string: \"two\nlines\",\n"
        "   metadata_props: [\"k\": \"v\", \"\": \"\"]\n>\ng () => ()\n{\n}\n");
    check_text("g () => () {} <domain: \"d\", opset_import: [\"\" : 1], doc_string: \"s\", "
               "overload: \"o\"> "
               "f <a, \"b c\", k: float = 1.5, t = float {2}> (x, float[2] y, \"float\") => (z) "
               "<int64[N] q> { z = B <k: float = @k> (x) } h () => () {}",
               HEADER
               "g () => ()\n{\n}\n<\n   domain: \"d\",\n   overload: \"o\",\n"
               "   opset_import: [\"\" : 1],\n   doc_string: \"s\"\n>\n"
               "f <a, \"b c\", k: float = 1.5, t: tensor = float {2.0}> (x, y, \"float\") => (z)\n"
               "<\n   float[2] y,\n   int64[N] q\n>\n{\n   z = B <k: float = @k> (x)\n}\n" HEADER
               "h () => ()\n{\n}\n");
}

/* What the printer of the onnx package writes where it has no notation. */
TEST(onnx_leftovers) {
    check_graph("g () => () <int4[4] a = ..., string[0] s = }> {}",
                "g () => ()\n<\n   int4[4] a = {},\n   string[0] s = {}\n>\n{\n}\n");
    check_node(
        "y = A <a: undefined = , b: sparse_tensor = , s: strings = ], c: sparse_tensors = > ()",
        "y = A <\n      #@ !i !type\n      a: int = 0,\n      #@ !i\n      #@ type: SPARSE_TENSOR\n"
        "      b: int = 0, s: strings = [],\n      #@ !i\n      #@ type: SPARSE_TENSORS\n"
        "      c: int = 0> ()");
}

/* ── Notes ───────────────────────────────────────────────────────────────────────────────────── */

TEST(notes_of_values) {
    check_graph(
        "g (#@ doc_string: \"a\\n\\x01é\"\n x, #@ type { denotation: \"IMAGE\" tensor_type { "
        "elem_type: 1 shape { dim { dim_value: 3 denotation: \"C\" } dim { } } } }\n float[3,?] y"
        ") => () < #@ metadata_props { key: \"k\" value: \"v\" } metadata_props { }\n #@ !name\n "
        "z> {}",
        "g (\n#@ doc_string: \"a\\n\\x01é\"\nx,\n#@ type { tensor_type { elem_type: 1 shape { dim "
        "{ "
        "dim_value: 3 denotation: \"C\" } dim { } } } denotation: \"IMAGE\" }\nfloat[3,?] y) => "
        "()\n"
        "<\n   #@ !name\n   #@ metadata_props { key: \"k\" value: \"v\" }\n   #@ metadata_props { "
        "}\n"
        "   \"\"\n>\n{\n}\n");
}

TEST(notes_of_tensors) {
    check_graph(
        "g () => () < #@ raw\n float[2] a = {1, nan}, float[1] b = {3}, float[1] c = {3}> {}",
        "g () => ()\n<\n   #@ raw\n   float[2] a = {1.0, nan},\n   float[1] b = {3.0},\n"
        "   float[1] c = {3.0}\n>\n{\n}\n");
    check_graph(
        "g () => () < #@ raw doc_string: \"d\"\n int8[2] a = {-128, 127}, #@ segment { begin: 1 }\n"
        "#@ int64_data: \"\\x01\" data_location: DEFAULT float_data: \"\\x00\\x00\\x80?\"\n"
        "float[1] b = {3}, #@ raw_data: \"abc\"\nfloat c = {}, float d = {}> {}",
        "g () => ()\n<\n   #@ raw\n   #@ doc_string: \"d\"\n   int8[2] a = {-128, 127},\n"
        "   #@ segment { begin: 1 }\n   #@ int64_data: \"\\x01\"\n   #@ data_location: DEFAULT\n"
        "   float[1] b = {1.0},\n   #@ raw_data: \"abc\"\n   float c = {},\n   float d = "
        "{}\n>\n{\n}\n");
    check_graph("g () => () < #@ data_type: 99 !name raw_data: \"\\xff\"\nundefined[2] a = {}> {}",
                "g () => ()\n<\n   #@ !name\n   #@ data_type: 99\n   #@ raw_data: \"\\xff\"\n"
                "   undefined[2] \"\" = {}\n>\n{\n}\n");
    check_graph("g () => () < #@ int32_data: \"\\xff\\xff\\xff\\xff\\x0f\"\nint32[1] a = {}> {}",
                "g () => ()\n<\n   #@ int32_data: \"\\xff\\xff\\xff\\xff\\x0f\"\n   int32[1] a = "
                "{-1}\n"
                ">\n{\n}\n");
    check_node(
        "y = A <t = #@ raw name: \"a/b\"\n uint2[3] {255}> ()",
        "y = A <t: tensor =\n      #@ raw\n      #@ name: \"a/b\"\n      uint2[3] {255}> ()");
}

TEST(notes_of_nodes) {
    check_node("#@ domain: \"\" doc_string: \"d\"\n y = A ()",
               "#@ doc_string: \"d\"\n   #@ domain: \"\"\n   y = A ()");
    check_node("#@ op_type: \"a b\" domain: \"c.d\" input: [\"\\xff\"]\n y = _ (x)",
               "#@ input: [\"\\xff\"]\n   #@ op_type: \"a b\"\n   y = c.d._ (\"?\")");
    check_node(
        "#@ !op_type unknown: \"\\xc0>\\x05\" name: \"\\x00\"\n y = A ()",
        "#@ !op_type\n   #@ name: \"\\x00\"\n   #@ unknown: \"\\xc0>\\x05\"\n   [\"?\"] y =  ()");
    check_node(
        "#@ device_configurations { configuration_id: \"c\" sharding_spec { device: [0, -1]\n"
        "# a comment between\n\n #@ sharded_dim { axis: 1 simple_sharding { dim_param: \"N\" } } } "
        "}\n"
        "#@ overload: \"\"\n y = A ()",
        "#@ overload: \"\"\n   #@ device_configurations { configuration_id: \"c\" sharding_spec { "
        "device: [0, -1] sharded_dim { axis: 1 simple_sharding { dim_param: \"N\" } } } }\n   y = "
        "A ()");
}

TEST(notes_of_attributes) {
    check_node(
        "y = A <#@ doc_string: \"d\"\n a = 1, #@ !type !i\n b = 1, #@ f: nan(0x1)\n c = 1> ()",
        "y = A <\n      #@ doc_string: \"d\"\n      a: int = 1,\n      #@ !i !type\n      b: int = "
        "0,\n"
        "      #@ f: nan(0x1)\n      c: int = 1> ()");
    check_node("y = A <#@ s: \"\\xc3\" type: STRING !i\n a = 1, #@ type: 77\n b = [1, 2]> ()",
               "y = A <\n      #@ s: \"\\xc3\"\n      a: string = \"?\",\n      #@ type: 77\n      "
               "b: ints = [1, 2]> ()");
    check_node(
        "y = A <#@ !i type: SPARSE_TENSOR sparse_tensor { values { dims: [1] data_type: 1 "
        "float_data: \"\\x00\\x00\\x80?\" } indices { data_type: 7 } dims: [3] }\n a = 0> ()",
        "y = A <\n      #@ !i\n      #@ type: SPARSE_TENSOR\n      #@ sparse_tensor { values { "
        "dims: [1] "
        "data_type: 1 float_data: \"\\x00\\x00\\x80?\" } indices { data_type: 7 } dims: [3] }\n"
        "      a: int = 0> ()");
    check_node(
        "y = A <#@ tp { denotation: \"d\" }\n a: type_proto = float, #@ ints: [4] doc_string: "
        "\"\"\n"
        " b: int = @r> ()",
        "y = A <\n      #@ !i\n      #@ tp { denotation: \"d\" }\n      #@ type: TYPE_PROTO\n"
        "      a: int = 0,\n      #@ ints: [4]\n      #@ doc_string: \"\"\n      b: int = @r> ()");
}

TEST(notes_of_graphs) {
    check_graph("#@ doc_string: \"d\" quantization_annotation { tensor_name: \"x\" "
                "quant_parameter_tensor_names { key: \"SCALE_TENSOR\" value: \"s\" } }\n"
                "#@ sparse_initializer { dims: [2] } !name\n g () => () {}",
                "#@ !name\n#@ doc_string: \"d\"\n#@ quantization_annotation { tensor_name: \"x\" "
                "quant_parameter_tensor_names { key: \"SCALE_TENSOR\" value: \"s\" } }\n"
                "#@ sparse_initializer { dims: [2] }\n\"\" () => ()\n{\n}\n");
    check_node("y = A <g = #@ name: \"a/b\"\n _ () => () {}, h = [#@ !name\n k () => () {}, #@ "
               "name: \"NaN_1\"\n"
               " k () => () {}]> ()",
               "y = A () <g: graph =\n      #@ name: \"a/b\"\n      _ () => ()\n      {\n      }, "
               "h: graphs = [\n"
               "      #@ !name\n      _ () => ()\n      {\n      },\n      #@ name: \"NaN_1\"\n    "
               "  _ () => ()\n"
               "      {\n      }]>");
}

TEST(notes_of_models) {
    check_text("#@ opset_import { version: 3 } metadata_props { key: \"k\" } !graph\n"
               "#@ configuration { name: \"c\" num_devices: 2 device: [\"a\", \"b\"] }\n"
               "#@ training_info { initialization { name: \"i\" node { op_type: \"A\" attribute { "
               "g { } } } } "
               "update_binding { key: \"w\" value: \"n\" } }\n"
               "<opset_import: [\"\" : 3], ir_version: 1> g () => () {}",
               "#@ !graph\n#@ opset_import { version: 3 }\n#@ metadata_props { key: \"k\" }\n"
               "#@ training_info { initialization { node { op_type: \"A\" attribute { g { } } } "
               "name: \"i\" } "
               "update_binding { key: \"w\" value: \"n\" } }\n"
               "#@ configuration { name: \"c\" num_devices: 2 device: [\"a\", \"b\"] }\n"
               "<\n   ir_version: 1,\n   opset_import: [\"\" : 3]\n>\n\"\" () => () {}\n");
    check_text(
        "g () => () {} #@ metadata_props { value: \"v\" } opset_import { domain: \"\" }\n"
        "<opset_import: [\"\" : 0]> #\n \"\" () => () {}",
        HEADER
        "g () => ()\n{\n}\n#@ opset_import { domain: \"\" }\n#@ metadata_props { value: \"v\" }\n"
        "<\n   opset_import: [\"\" : 0]\n>\n\"\" () => ()\n{\n}\n");
}

TEST(notes_for_each) {
    check_text(
        "#@ each node { domain: \"\" } each tensor { raw name: \"\" }\n<ir_version: 1>"
        "g () => () <#@\nfloat a = {1}> { x = A <t = int64 {2}> () #@\ny = B <t = int8 {3}> () z = "
        "C () }",
        "#@ each node { domain: \"\" }\n#@ each tensor { raw name: \"\" }\n<\n   ir_version: 1,\n"
        "   opset_import: []\n>\ng () => ()\n<\n   #@\n   float a = {1.0}\n>\n{\n"
        "   x = A <t: tensor = int64 {2}> ()\n   #@\n   y = B <t: tensor = int8 {3}> ()\n   z = C "
        "()\n}\n");
}

/* ── Errors ──────────────────────────────────────────────────────────────────────────────────── */

static const struct {
    const char *text, *place, *message;
} bad_texts[] = {
    {"", "line 1, column 1", "expected the name of a graph, found the end of the text"},
    {"\n\n  ;", "line 3, column 3", "expected the name of a graph, found ';'"},
    {"<ir_version: x> g () => () {}", "line 1, column 14", "expected an integer, found 'x'"},
    {"<version: 1> g () => () {}", "line 1, column 2", "expected a key such as ir_version"},
    {"<ir_version 1> g", "line 1, column 13", "expected ':' after the key, found '1'"},
    {"<ir_version: 1", "line 1, column 15", "expected '>' or ',' after a value of the header"},
    {"<doc_string: 1> g () => () {}", "line 1, column 14", "expected a string, found '1'"},
    {"<training_info: 1> g () => () {}", "line 1, column 2", "expected a key"},
    {"<opset_import: \"\" : 1> g", "line 1, column 16", "expected '[' before the opsets"},
    {"g () = > () {}", "line 1, column 6", "expected '=>' before the outputs, found '='"},
    {"g () => {}", "line 1, column 9", "expected '(' before the outputs, found '{'"},
    {"g (float[2]) => () {}", "line 1, column 12", "expected the name of a value, found ')'"},
    {"g (seq float x) => () {}", "line 1, column 8",
     "expected ')' at the end of the inputs or outputs"},
    {"g () => () { y Relu(x) }", "line 1, column 16",
     "expected '=' after the node's outputs, found 'Relu'"},
    {"g () => () {\n  y = Relu x }", "line 2, column 12",
     "expected '(' before the node's inputs, found 'x'"},
    {"g () => () { y = A(x y) }", "line 1, column 22",
     "expected ')' after the node's inputs, found 'y'"},
    {"g () => () { y = A(1) }", "line 1, column 20",
     "expected ')' after the node's inputs, found '1'"},
    {"g () => () { ! }", "line 1, column 14", "expected '=' of a node, or '}', found '!'"},
    {"g () => () { y = a. (x) }", "line 1, column 21",
     "expected an operator after the domain, found '('"},
    {"g () => () { y = A <> (x) }", "line 1, column 21",
     "expected the attribute's name, found '>'"},
    {"g () => () { y = A <a> (x) }", "line 1, column 22",
     "expected '=' before the attribute's value"},
    {"g () => () { y = A <a: whole = 1> (x) }", "line 1, column 24",
     "expected the attribute's type"},
    {"g () => () { y = A <a: int = 1.5> (x) }", "line 1, column 30",
     "expected an integer, as the attribute's"},
    {"g () => () { y = A <a: int = [1]> (x) }", "line 1, column 31",
     "type is 'int', but this is a list"},
    {"g () => () { y = A <a: ints = 1> (x) }", "line 1, column 31",
     "expected '[': the attribute's type"},
    {"g () => () { y = A <a = []> (x) }", "line 1, column 27",
     "an empty list does not show its type"},
    {"g () => () { y = A <a = [1, 0.5]> (x) }", "line 1, column 29", "expected an integer"},
    {"g () => () { y = A <a = 99999999999999999999> (x) }", "line 1, column 25",
     "found '99999999999999999999'"},
    {"g () => () { y = A <a = 1e99> (x) }", "line 1, column 25", "expected a number"},
    {"g () => () { y = A <a = ;> (x) }", "line 1, column 25",
     "expected the attribute's value, found ';'"},
    {"g () => () { y = A <a: sparse_tensor = 1> () }", "line 1, column 40",
     "sparse tensors have no syntax"},
    {"g () => () { y = A <t = float[N] {1}> () }", "line 1, column 34",
     "the dimensions of a tensor are numbers"},
    {"g () => () <float[] w = {1}> {}", "line 1, column 24",
     "a tensor needs an element type and a shape"},
    {"g () => () <w = {1}> {}", "line 1, column 16", "'w' needs a type to have a value"},
    {"g () => () <int64 w = {1.5}> {}", "line 1, column 24", "expected an integer from"},
    {"g () => () <float16 w = {1.5}> {}", "line 1, column 26", "found '1.5'"},
    {"g () => () <int32 w = {2147483648}> {}", "line 1, column 24",
     "to 2147483647, found '2147483648'"},
    {"g () => () <float w = {1e99}> {}", "line 1, column 24", "expected a number, found '1e99'"},
    {"g () => () <float w = {1 2}> {}", "line 1, column 26",
     "expected '}' at the end of the tensor's values"},
    {"g () => () <undefined w = {1}> {}", "line 1, column 28",
     "values of this type cannot be written"},
    {"g () => () <string w = {1}> {}", "line 1, column 25", "expected a string, found '1'"},
    {"g () => () {} f", "line 1, column 16", "expected '(' before the function's inputs"},
    {"g () => () {} <ir_version: 1> f () => () {}", "line 1, column 16", "expected a key"},
    {"g () => () {", "line 1, column 13",
     "expected '=' of a node, or '}', found the end of the text"},
    {"g () => () { y = A <b = h () => () {} z> () }", "line 1, column 39",
     "expected '>' or ',' after an attribute"},
    /* notes */
    {"g () => () { y = #@ doc_string: \"d\"\nA () }", "line 1, column 18", "found a note (#@)"},
    {"g () => () { #@ doc_string: \"d\"\n}", "line 2, column 1",
     "expected '=' of a node, or '}', found '}'"},
    {"g () => () { #@ docstring: \"d\"\ny = A () }", "line 1, column 17",
     "NodeProto has no field 'docstring'"},
    {"g () => () { #@ doc_string \"d\"\ny = A () }", "line 1, column 28",
     "expected ':' after the name"},
    {"g () => () { #@ doc_string:\ny = A () }", "line 1, column 28", "found the end of the note"},
    {"g () => () { #@ doc_string: \"d\ny = A () }", "line 1, column 31",
     "a string in a note ends on its line"},
    {"g () => () { #@ doc_string: \"\\y\"\ny = A () }", "line 1, column 30", "its escapes are"},
    {"g () => () { #@ doc_string: \"\" doc_string: \"\"\ny = A () }", "line 1, column 42",
     "given twice"},
    {"g () => () { #@ attribute {\ny = A () }", "line 1, column 28",
     "expected the name of a field, found the end"},
    {"g () => () { #@ }\ny = A () }", "line 1, column 17",
     "expected the name of a field, found '}'"},
    {"g () => () { #@ unknown: \"\\xff\"\ny = A () }", "line 1, column 32",
     "these bytes are no fields"},
    {"g () => () { #@ raw\ny = A () }", "line 1, column 17", "NodeProto has no field 'raw'"},
    {"g () => () <#@ doc_string: \"\" raw\nfloat w = {}> {}", "line 1, column 31",
     "no field 'raw'"},
    {"g () => () <#@ raw\nstring w = {\"\"}> {}", "line 2, column 13", "cannot be written as raw"},
    {"g () => () <#@ raw\nint8 w = {128}> {}", "line 2, column 11",
     "an integer from -128 to 127, found '128'"},
    {"g () => () <#@ float_data: \"abc\"\nfloat w = {}> {}", "line 1, column 33",
     "no packed numbers"},
    {"g () => () <#@ int32_data: \"\\xff\"\nint32 w = {}> {}", "line 1, column 34",
     "no packed numbers"},
    {"g () => () <#@ data_type: 99999999999\nfloat w = {}> {}", "line 1, column 38",
     "does not fit"},
    {"#@ each graph { }\n<ir_version: 1> g () => () {}", "line 1, column 9",
     "expected 'node' or 'tensor'"},
    {"#@ each node { domain: 1 }\n<ir_version: 1> g () => () {}", "line 1, column 24",
     "expected '\"'"},
    {"#@ each node { !name !name !name !name !name !name !name !name !name !name !name !name !name "
     "!name !name !name !name !name !name !name !name !name !name !name !name !name !name !name "
     "!name "
     "!name !name !name !name !name !name !name !name !name !name !name !name !name !name !name "
     "!name "
     "}\n<ir_version: 1> g () => () {}",
     "line 1, column 286", "'each' may take 256 characters"},
    {"g () => () {} f <#@ doc_string: \"\"\na> () => () {}", "line 2, column 2",
     "a name alone has no note"},
};

TEST(errors) {
    for (size_t i = 0; i < ONX_COUNT(bad_texts); i++) {
        onx_diag diag = ONX_INIT(onx_diag);
        onx_doc *doc = NULL;
        CHECK(parse_in(NULL, onx_str_of(bad_texts[i].text), &doc, &diag) == NULL);
        onx_doc_free(doc);
        bool ok =
            !strcmp(diag.place, bad_texts[i].place) && strstr(diag.message, bad_texts[i].message);
        if (!CHECK(ok && diag.status == ONX_MALFORMED))
            fprintf(stderr, "    %s\n    %s: %s\n", bad_texts[i].text, diag.place, diag.message);
        CHECK(diag.offset >= 0 && (size_t)diag.offset <= strlen(bad_texts[i].text));
        CHECK(parse_in(NULL, onx_str_of(bad_texts[i].text), &doc, NULL) == NULL);
        onx_doc_free(doc);
    }
}

/* ── Hostile input ───────────────────────────────────────────────────────────────────────────── */

/* Something of everything. */
static const char rich[] =
    "#@ each node { domain: \"\" }\n#@ each tensor { raw }\n#@ configuration { name: \"c\" device: "
    "[\"a\"] }\n"
    "<ir_version: 10, opset_import: [\"\" : 21], metadata_props: [\"k\": \"v\"], doc_string: "
    "\"a\\\"b\">\n"
    "#@ doc_string: \"g\" metadata_props { key: \"a\" value: \"b\" }\n"
    "g (float[N,3,?] x, #@ doc_string: \"d\"\n seq(map(int64, string[\"a b\"])) \"y/1\") => "
    "(opaque(a.b,c) z)\n"
    "<float[2] w = {1, -2.5e-3}, #@ doc_string: \"d\"\nstring[2] s = {\"a\", \"\\\\\"}, int64 i = "
    "{-1},\n"
    "float[1] e = [\"location\": \"f\"], #@ type { denotation: \"D\" sequence_type { } }\nfloat[3] "
    "v>\n"
    "{ # comment\n"
    "  [n0] a, \"\", b = com.x.Op:o <i = 1, f: float = nan, l = [1, 2], s: strings = [], t = "
    "float[1] n {1},\n"
    "    #@ doc_string: \"d\"\n    r: int = @p, ty = seq(float[]), tt = [#@\nint8 {1}, int8 {2}]> "
    "(x, , w)\n"
    "  #@ unknown: \"\\xc0>\\x05\" !op_type\n"
    "  c = If (b) <then_branch: graph = #@ name: \"a/b\"\n t () => (float q) <int8 k = {1}> { q = "
    "Abs (k) },\n"
    "    else_branch = e () => () { q = If () <g = [h () => () {}, h () => () {}]> }>\n"
    "}\n"
    "<domain: \"d\", overload: \"o\">\nf <p, q: float = 1.5, g = h () => () { a = B () }> (x, "
    "float y) => (z)\n"
    "<int64[M] u> { z = Add <k = @p> (x, y) }\n";

TEST(rich) {
    onx_doc *doc = NULL, *again = NULL;
    onx_msg *decoded = NULL;
    onx_buf bytes;
    onx_model *model = parse(ONX_LIT(rich), &doc);
    REQUIRE(model != NULL);
    CHECK(comes_back(model));
    onx_buf_init(&bytes, doc->ctx);
    onx_writer writer = onx_buf_writer(&bytes);
    CHECK_EQ(onx_wire_encode(model, &writer, NULL), ONX_OK);
    REQUIRE(onx_doc_new(NULL, &again, NULL) == ONX_OK);
    REQUIRE(onx_wire_decode(again, &onx_desc_model, text_of(&bytes), &decoded, NULL) == ONX_OK);
    CHECK(onx_msg_equal(model, decoded, NULL));
    CHECK(comes_back((onx_model *)decoded));
    onx_doc_free(again);
    onx_buf_fini(&bytes);
    onx_doc_free(doc);
}

/* Whatever is read is a model, and comes back; the text lies in a block of its own size, for the
 * sanitizer. */
static void check_hostile(onx_str text, bool round_trip) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_doc *doc = NULL;
    char *copy = malloc(text.size + 1);
    if (text.size) memcpy(copy, text.data, text.size);
    char *tight = realloc(copy, text.size ? text.size : 1);
    onx_model *model = parse_in(NULL, (onx_str){tight, text.size}, &doc, &diag);
    if (!model) CHECK(diag.place[0] && diag.message[0] && diag.offset <= (int64_t)text.size);
    if (model && round_trip) CHECK(comes_back(model));
    onx_doc_free(doc);
    free(tight);
}

TEST(truncated) {
    for (size_t n = 0; n < sizeof rich; n++) check_hostile((onx_str){rich, n}, true);
}

TEST(mutated) {
    static const char bytes[] = "\"#@\n{}[]()<>=:,.!-0a\\ \xff";
    char text[sizeof rich];
    for (size_t i = 0; i < sizeof rich - 1; i++) {
        for (size_t k = 0; k < sizeof bytes; k++) { /* the NUL too */
            memcpy(text, rich, sizeof rich);
            text[i] = bytes[k];
            check_hostile((onx_str){text, sizeof rich - 1}, k % 4 == i % 4);
        }
        memcpy(text, rich, i);
        memcpy(text + i, rich + i + 1, sizeof rich - i - 1);
        check_hostile((onx_str){text, sizeof rich - 2}, true);
    }
}

TEST(memory_runs_out) {
    for (size_t n = 1;; n++) {
        heap h = {.fail_at = 0};
        onx_context *ctx = heap_context(&h, 0);
        onx_diag diag = ONX_INIT(onx_diag);
        onx_doc *doc = NULL;
        onx_buf text;
        size_t before = h.calls;
        h.fail_at = before + n;
        onx_buf_init(&text, ctx);
        onx_model *model = parse_in(ctx, ONX_LIT(rich), &doc, &diag);
        onx_status status = diag.status;
        if (model) {
            onx_writer writer = onx_buf_writer(&text);
            status = onx_text_print(model, &writer, &diag);
        }
        bool failed = h.calls >= h.fail_at;
        if (failed && !CHECK(status == ONX_NO_MEMORY || text.failed))
            fprintf(stderr, "    allocation %zu: %s\n", n, diag.message);
        onx_buf_fini(&text);
        onx_doc_free(doc);
        onx_context_free(ctx);
        CHECK_EQ(h.live, 0);
        if (!failed) {
            CHECK_EQ(status, ONX_OK);
            return;
        }
    }
}

static int refuse(void *user, const void *data, size_t size) {
    (void)data;
    size_t *left = user;
    if (size > *left) return -1;
    *left -= size;
    return 0;
}

TEST(writer_fails) {
    onx_doc *doc = NULL;
    onx_model *model = parse(ONX_LIT(rich), &doc);
    REQUIRE(model != NULL);
    size_t left = 10;
    onx_writer writer = {&left, refuse};
    CHECK_EQ(onx_text_print(model, &writer, NULL), ONX_IO);
    onx_doc_free(doc);
}

static void repeat(onx_buf *text, const char *z, size_t n) {
    while (n--) onx_buf_puts(text, z);
}

/* Nested `n` deep, in the three ways there are; the text is read, or refused for its depth. */
static onx_status parse_nested(onx_context *ctx, const char *head, const char *open, size_t n,
                               const char *inner, const char *close, const char *tail,
                               onx_model **model, onx_doc **doc) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf text;
    onx_buf_init(&text, onx_context_or_default(NULL));
    repeat(&text, head, 1);
    repeat(&text, open, n);
    repeat(&text, inner, 1);
    repeat(&text, close, n);
    repeat(&text, tail, 1);
    *model = parse_in(ctx, text_of(&text), doc, &diag);
    onx_buf_fini(&text);
    return diag.status;
}

TEST(depth) {
    static const struct {
        const char *head, *open, *inner, *close, *tail;
        /* Messages for each level, and around the innermost one without the model. */
        unsigned step, rest;
    } ways[] = {
        {"g () => () {", "=A()<a=g()=>(){", "=B()", "}>", "}", 3, 2},
        {"g () => () {", "=A()<a=g()=>()<float[2] w={1,2}, float[2] v>{", "", "}>", "}", 3, 6},
        {"g () => () {=A<t=", "seq(", "float[2]", ")", ">()}", 2, 7},
        {"g () => () {\n#@ ", "attribute { g { node { ", "", "} } }", "\n=A() }", 3, 2},
    };
    for (size_t w = 0; w < ONX_COUNT(ways); w++) {
        heap h = {0};
        onx_context *ctx = heap_context(&h, 50);
        size_t most = (50 - ways[w].rest) / ways[w].step;
        for (size_t n = most; n <= most + 2000; n += n == most ? 1 : 1999) {
            onx_model *model = NULL;
            onx_doc *doc = NULL, *again = NULL;
            onx_status status = parse_nested(ctx, ways[w].head, ways[w].open, n, ways[w].inner,
                                             ways[w].close, ways[w].tail, &model, &doc);
            if (n == most && CHECK(status == ONX_OK)) {
                onx_buf bytes;
                onx_msg *decoded = NULL;
                onx_buf_init(&bytes, ctx);
                onx_writer writer = onx_buf_writer(&bytes);
                CHECK_EQ(onx_wire_encode(model, &writer, NULL), ONX_OK);
                CHECK_EQ(onx_doc_new(ctx, &again, NULL), ONX_OK);
                CHECK_EQ(onx_wire_decode(again, &onx_desc_model, text_of(&bytes), &decoded, NULL),
                         ONX_OK);
                if (decoded) CHECK(comes_back((onx_model *)decoded));
                onx_doc_free(again);
                onx_buf_fini(&bytes);
            } else {
                CHECK_EQ(status, n == most ? ONX_OK : ONX_LIMIT);
            }
            onx_doc_free(doc);
        }
        onx_context_free(ctx);
        CHECK_EQ(h.live, 0);
    }
}

/* A short text cannot make a large structure. */
TEST(memory_is_bounded) {
    heap h = {0};
    onx_context *ctx = heap_context(&h, 0);
    onx_buf text;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_doc *doc = NULL;
    onx_buf_init(&text, ctx);
    onx_buf_puts(&text, "g () => () {\n#@");
    repeat(&text, " attribute{}", 100000);
    onx_buf_puts(&text, "\n=A() }");
    onx_model *model = parse_in(ctx, text_of(&text), &doc, &diag);
    CHECK(model || diag.status == ONX_LIMIT);
    CHECK(h.live < 64 * text.size + (4u << 20));
    onx_doc_free(doc);
    onx_buf_fini(&text);
    onx_context_free(ctx);
}

/* ── Round trips ─────────────────────────────────────────────────────────────────────────────── */

static uint64_t random_next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static size_t below(uint64_t *r, size_t n) {
    return (size_t)(random_next(r) % n);
}

/* Names and strings that could be taken for something else, or cannot stand in text. */
static onx_str odd_string(uint64_t *r) {
#define S(literal)                                                                                 \
    { literal, sizeof literal - 1 }
    static const onx_str pool[] = {
        S(""),      S("x"),      S("float"),      S("undefined"), S("seq"),     S("a b"),
        S("\"\\"),  S("a\nb\r"), S("\xff\xc3"),   S("a\0b"),      S("é\"日"),   S("nan"),
        S("inf_x"), S("a.b"),    S("aten::add"),  S("_"),         S("a/b#@ c"), S("#@ raw"),
        S("a:b"),   S("::"),     S("."),          S("1"),         S("x_1"),     S("a..b."),
        S("Relu"),  S("a\\nb"),  S("{}<>()[],="), S("é"),         S("a\x7f"),   S("-1"),
    };
#undef S
    return pool[below(r, ONX_COUNT(pool))];
}

static int64_t odd_number(uint64_t *r) {
    static const int64_t pool[] = {0,  1,  -1,        2,         3,         7,        14,
                                   28, 99, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    return pool[below(r, ONX_COUNT(pool))];
}

static float odd_float(uint64_t *r) {
    static const uint32_t pool[] = {0,          0x80000000, 0x3f800000, 0x7f800000,
                                    0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001,
                                    0xffffffff, 1,          0x7f7fffff, 0x3dcccccd};
    uint32_t bits = below(r, 2) ? pool[below(r, ONX_COUNT(pool))] : (uint32_t)random_next(r) * 2u;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static onx_str odd_payload(onx_doc *doc, const onx_field *field, uint64_t *r) {
    char *data = onx_arena_alloc(&doc->arena, 200), *p = data;
    size_t n = below(r, 12);
    for (size_t i = 0; data && i < n; i++) {
        float f = odd_float(r);
        double d = (double)f * 1e-50;
        if (field->kind == ONX_FIELD_PACKED_F32)
            memcpy(p, &f, 4), p += 4;
        else if (field->kind == ONX_FIELD_PACKED_F64)
            memcpy(p, &d, 8), p += 8;
        else if (field->kind == ONX_FIELD_BYTES)
            *p++ = (char)below(r, 256);
        else
            p += onx_varint_put(
                (uint64_t)(below(r, 2) ? (int64_t)below(r, 300) - 150 : odd_number(r)), p);
    }
    return (onx_str){data, (size_t)(p - data)};
}

static void fill(onx_doc *doc, onx_msg *msg, uint64_t *r, unsigned depth);

static void fill_field(onx_doc *doc, onx_msg *msg, const onx_field *field, uint64_t *r,
                       unsigned depth) {
    void *slot = onx_field_ptr(msg, field);
    size_t n = 1 + below(r, 3);
    switch ((onx_field_kind)field->kind) {
    case ONX_FIELD_I32:
        *(int32_t *)slot = (int32_t)(below(r, 3) ? (int64_t)below(r, 30) : odd_number(r));
        break;
    case ONX_FIELD_I64: *(int64_t *)slot = odd_number(r); break;
    case ONX_FIELD_F32: *(float *)slot = odd_float(r); break;
    case ONX_FIELD_STR: *(onx_str *)slot = odd_string(r); break;
    case ONX_FIELD_BYTES:
        *(onx_str *)slot = below(r, 2) ? odd_string(r) : odd_payload(doc, field, r);
        break;
    case ONX_FIELD_I64S:
        while (n--) CHECK(onx_i64s_push(doc, slot, odd_number(r)));
        return;
    case ONX_FIELD_F32S:
        while (n--) CHECK(onx_f32s_push(doc, slot, odd_float(r)));
        return;
    case ONX_FIELD_STRS:
    case ONX_FIELD_BYTESS:
        while (n--) CHECK(onx_strs_push(doc, slot, odd_string(r)));
        return;
    case ONX_FIELD_MSG: n = 1; /* fall through */
    case ONX_FIELD_MSGS:
        for (; depth > 0 && n > 0; n--) {
            onx_msg *child = onx_msg_new(doc, field->child);
            if (!CHECK(child != NULL)) return;
            if (field->oneof) onx_msg_set_has(msg, field);
            onx_msg_link(msg, field, child);
            fill(doc, child, r, depth - 1);
        }
        return;
    default: *(onx_str *)slot = odd_payload(doc, field, r); return;
    }
    onx_msg_set_has(msg, field);
}

/* Most tensors and attributes shall be as they are meant to be. */
static void make_sense(onx_doc *doc, onx_msg *msg, uint64_t *r, unsigned depth) {
    if (msg->desc == &onx_desc_tensor) {
        onx_tensor *t = (onx_tensor *)msg;
        size_t list = ONX_ROW_tensor_float_data + below(r, 9);
        t->data_type = (int32_t)below(r, ONX_DTYPE_COUNT);
        onx_msg_set_has(t, ONX_ROW(tensor, data_type));
        for (size_t i = ONX_ROW_tensor_float_data; i <= ONX_ROW_tensor_uint64_data; i++)
            if (i != ONX_ROW_tensor_name && i != list)
                onx_msg_clear(t, &onx_desc_tensor.fields[i - ONX_ROW_tensor_before - 1]);
        fill_field(doc, msg, &onx_desc_tensor.fields[list - ONX_ROW_tensor_before - 1], r, depth);
    } else if (msg->desc == &onx_desc_attr) {
        static const uint8_t rows[] = {0, 1, 2,  3,  4,  5,  6, 7,
                                       8, 9, 10, 16, 17, 12, 13}; /* by type */
        onx_attr *a = (onx_attr *)msg;
        size_t type = 1 + below(r, 14);
        for (size_t i = 1; i < ONX_COUNT(rows); i++)
            onx_msg_clear(a, &onx_desc_attr.fields[rows[i]]);
        onx_msg_clear(a, ONX_ROW(attr, ref_attr_name));
        a->type = (int32_t)type;
        onx_msg_set_has(a, ONX_ROW(attr, type));
        fill_field(doc, msg, &onx_desc_attr.fields[rows[type]], r, depth);
    }
}

static void fill(onx_doc *doc, onx_msg *msg, uint64_t *r, unsigned depth) {
    static const char extra[] = "\xc0\x3e\x05\xca\x3e\x02\xff\x00"; /* fields 1000 and 1001 */
    for (unsigned i = 0; i < msg->desc->n_fields; i++)
        if (below(r, 5) < 2) fill_field(doc, msg, &msg->desc->fields[i], r, depth);
    if (below(r, 3)) make_sense(doc, msg, r, depth);
    if (below(r, 20) == 0) {
        msg->unknown = onx_arena_alloc(&doc->arena, sizeof *msg->unknown);
        if (CHECK(msg->unknown != NULL))
            msg->unknown->bytes = (onx_str){extra, below(r, 2) ? 3 : 8};
    }
}

TEST(random_models) {
    for (uint64_t seed = 0; seed < 3000; seed++) {
        uint64_t r = seed;
        onx_doc *doc = NULL;
        REQUIRE(onx_doc_new(NULL, &doc, NULL) == ONX_OK);
        onx_model *model = onx_msg_new(doc, &onx_desc_model);
        REQUIRE(model != NULL);
        fill(doc, &model->msg, &r, 2 + (unsigned)(seed % 6));
        if (!CHECK(comes_back(model))) {
            fprintf(stderr, "    seed %d\n", (int)seed);
            onx_doc_free(doc);
            return;
        }
        onx_doc_free(doc);
    }
}

/* Payloads large enough for a block of their own, stored both ways. */
TEST(large_payloads) {
    enum { N = 100000 };
    onx_doc *doc = NULL;
    REQUIRE(onx_doc_new(NULL, &doc, NULL) == ONX_OK);
    onx_model *model = onx_msg_new(doc, &onx_desc_model);
    onx_graph *graph = onx_msg_new(doc, &onx_desc_graph);
    uint32_t *bits = onx_arena_array(&doc->arena, N, sizeof *bits);
    REQUIRE(model && graph && bits);
    onx_msg_link(model, ONX_ROW(model, graph), graph);
    uint64_t r = 1;
    for (size_t i = 0; i < N; i++) bits[i] = (uint32_t)random_next(&r) * 2u;
    onx_str bytes = {(const char *)bits, N * sizeof *bits};
    for (int i = 0; i < 6; i++) {
        onx_tensor *t = onx_msg_new(doc, &onx_desc_tensor);
        REQUIRE(t != NULL);
        t->data_type = i == 1 ? ONX_DTYPE_I64 : i == 2 ? ONX_DTYPE_F16 : ONX_DTYPE_F32;
        onx_msg_set_has(t, ONX_ROW(tensor, data_type));
        if (i < 3)
            t->raw_data = bytes, onx_msg_set_has(t, ONX_ROW(tensor, raw_data));
        else if (i < 5)
            t->float_data = bytes;
        else
            t->double_data = bytes;
        onx_msg_link(graph, ONX_ROW(graph, initializer), t);
    }
    CHECK(comes_back(model));
    onx_doc_free(doc);
}

static size_t files, bad_files;

static int check_file(const char *path, const struct stat *info, int kind, struct FTW *ftw) {
    (void)info, (void)ftw;
    onx_blob *blob = NULL;
    onx_doc *doc = NULL;
    onx_msg *model = NULL;
    if (kind != FTW_F || !onx_str_ends(onx_str_of(path), ONX_LIT(".onnx"))) return 0;
    bool ok = onx_doc_new(NULL, &doc, NULL) == ONX_OK &&
              onx_blob_open(doc->ctx, path, ONX_MAP_THRESHOLD, &blob, NULL) == ONX_OK &&
              onx_wire_decode(doc, &onx_desc_model, blob->bytes, &model, NULL) == ONX_OK &&
              comes_back((onx_model *)model);
    if (!ok) fprintf(stderr, "    %s\n", path);
    files++;
    bad_files += !ok;
    onx_doc_free(doc);
    if (blob) onx_blob_release(blob);
    return 0;
}

TEST(data) {
    const char *folder = getenv("ONX_DATA");
    if (!folder) SKIP("ONX_DATA is not set");
    CHECK_EQ(nftw(folder, check_file, 16, FTW_PHYS), 0);
    CHECK(files > 0);
    CHECK_EQ(bad_files, 0);
}

TEST_MAIN(E(types) E(type_accessors) E(type_errors) E(type_depth) E(graphs) E(nodes) E(attributes)
              E(subgraphs) E(payloads) E(models) E(onnx_leftovers) E(notes_of_values)
                  E(notes_of_tensors) E(notes_of_nodes) E(notes_of_attributes) E(notes_of_graphs)
                      E(notes_of_models) E(notes_for_each) E(errors) E(rich) E(truncated) E(mutated)
                          E(memory_runs_out) E(writer_fails) E(depth) E(memory_is_bounded)
                              E(random_models) E(large_payloads) E(data))
