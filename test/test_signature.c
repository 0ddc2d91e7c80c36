/* test_signature.c: the table of operators: every row can be read, and what reading gives. */
#include "test.h"

#include "base/mem.h"
#include "ops/op.h"

static onx_arena arena;

static onx_status parse(const char *signature, onx_signature *out) {
    onx_op op = {.name = "Test", .since = 1, .signature = signature};
    onx_diag diag = ONX_INIT(onx_diag);
    return onx_signature_parse(&op, &arena, out, &diag);
}

static bool is(onx_str s, const char *z) {
    return onx_str_is(s, z);
}

TEST(parts) {
    onx_signature s;
    REQUIRE(!parse("(X:T, W?:T, more*:V, any?**:int64) -> (Y:T, seq?:seq(float))\n"
                   " {axis:int=-1, to:int, eps:float=1e-05, mode:string=\"a, {b}\", p?:ints,"
                   " axes:ints=[0,2,3], body:graph}"
                   " [T:f|int8, V:seq(all1)|map(int64, float)]",
                   &s));
    REQUIRE(s.n_inputs == 4 && s.n_outputs == 2 && s.n_attrs == 7 && s.n_constraints == 2);
    CHECK(is(s.inputs[0].name, "X") && is(s.inputs[0].type, "T"));
    CHECK(!s.inputs[0].optional && !s.inputs[0].variadic);
    CHECK(s.inputs[1].optional && !s.inputs[1].variadic && is(s.inputs[1].name, "W"));
    CHECK(s.inputs[2].variadic && !s.inputs[2].heterogeneous && !s.inputs[2].optional);
    CHECK(s.inputs[3].variadic && s.inputs[3].heterogeneous && s.inputs[3].optional);
    CHECK(is(s.outputs[1].type, "seq(float)") && s.outputs[1].optional);
    CHECK(is(s.attrs[0].text, "-1") && !s.attrs[0].required && s.attrs[0].type == ONX_ATTR_INT);
    CHECK(s.attrs[1].required && !s.attrs[1].text.data);
    CHECK(is(s.attrs[3].text, "\"a, {b}\"") && s.attrs[3].type == ONX_ATTR_STRING);
    CHECK(!s.attrs[4].required && s.attrs[4].type == ONX_ATTR_INTS && !s.attrs[4].text.data);
    CHECK(is(s.attrs[5].text, "[0,2,3]"));
    CHECK(s.attrs[6].required && s.attrs[6].type == ONX_ATTR_GRAPH);
    CHECK(is(s.constraints[0].types, "f|int8"));
    CHECK(is(s.constraints[1].types, "seq(all1)|map(int64, float)"));
}

TEST(nothing_in_it) {
    onx_signature s;
    REQUIRE(!parse("() -> ()", &s));
    CHECK(!s.n_inputs && !s.n_outputs && !s.n_attrs && !s.n_constraints);
}

TEST(mistakes) {
    static const char *const wrong[] = {
        "",
        "(X:T)",
        "(X:T) -> ",
        "(X:T) (Y:T) [T:f]",
        "(X:T) -> (Y:T)",
        "(X:T) -> (Y:T) [T:nosuch]",
        "(X:T) -> (Y:T) [T:f|]",
        "(X:T,) -> (Y:T) [T:f]",
        "(X:T) -> (Y:T) [T:seq(nosuch)]",
        "(X:T) -> (Y:T) [T:f",
        "(X) -> (Y:T) [T:f]",
        "(X!:T) -> (Y:T) [T:f]",
        "(X***:T) -> (Y:T) [T:f]",
        "(X:T) -> (Y:T) {a:integer} [T:f]",
        "(X:T) -> (Y:T) {a:int=x} [T:f]",
        "(X:T) -> (Y:T) {a:float=} [T:f]",
        "(X:T) -> (Y:T) {a:string=x} [T:f]",
        "(X:T) -> (Y:T) {a*:int} [T:f]",
        "(X:T) -> (Y:T) [T:f] {a:int=1}",
        "(X:T) -> (Y:T) [T:f] more",
    };
    onx_signature s;
    for (size_t i = 0; i < ONX_COUNT(wrong); i++)
        if (!CHECK(parse(wrong[i], &s) == ONX_INVALID)) fprintf(stderr, "    %s\n", wrong[i]);
}

TEST(constraints) {
    static const struct {
        const char *types;
        onx_dtype dtype;
        bool allowed;
    } cases[] = {
        {"f", ONX_DTYPE_BF16, true},           {"f0", ONX_DTYPE_BF16, false},
        {"f0|bfloat16", ONX_DTYPE_BF16, true}, {"int64 | int32", ONX_DTYPE_I32, true},
        {"w", ONX_DTYPE_I16, false},           {"n", ONX_DTYPE_U8, true},
        {"n", ONX_DTYPE_BOOL, false},          {"all1", ONX_DTYPE_STRING, true},
        {"all13", ONX_DTYPE_U4, false},        {"all21", ONX_DTYPE_U4, true},
        {"all25", ONX_DTYPE_I2, true},         {"all28", ONX_DTYPE_F6E2M3, true},
        {"seq(float)", ONX_DTYPE_F32, false},  {"seq(float)|float", ONX_DTYPE_F32, true},
        {"all28", ONX_DTYPE_NONE, false},      {"all28", (onx_dtype)77, false},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        onx_constraint c = {ONX_LIT("T"), onx_str_of(cases[i].types)};
        if (!CHECK(onx_constraint_allows(&c, cases[i].dtype) == cases[i].allowed))
            fprintf(stderr, "    %s, %s\n", cases[i].types, onx_dtype_name(cases[i].dtype));
    }
}

static bool same_operator(const onx_op *a, const onx_op *b) {
    return strcmp(a->name, b->name) == 0 &&
           strcmp(a->domain ? a->domain : "", b->domain ? b->domain : "") == 0;
}

/* Every row of the library: it can be read, its versions rise, and it is found. */
TEST(table) {
    for (const onx_family *family = onx_op_table; family->name; family++) {
        for (const onx_op *op = family->ops; op->name; op++) {
            onx_op row = *op;
            onx_signature s;
            onx_diag diag = ONX_INIT(onx_diag);
            if (!CHECK(!onx_signature_parse(&row, &arena, &s, &diag)))
                fprintf(stderr, "    %s\n", diag.message);
            bool again = op[1].name && same_operator(op, &op[1]);
            if (!CHECK(!again || op->since < op[1].since))
                fprintf(stderr, "    %s %d\n", op->name, (int)op->since);
            onx_str domain = onx_str_of(op->domain ? op->domain : "ai.onnx");
            if (!CHECK(onx_op_find(domain, onx_str_of(op->name), op->since) == op))
                fprintf(stderr, "    %s %d is not found\n", op->name, (int)op->since);
        }
    }
}

/* Attributes with and without a value on the node. */
TEST(attributes) {
    static const char text[] =
        "<ir_version: 8, opset_import: [\"\": 17]>\n"
        "g (float[N] x) => (float[N] y) {\n"
        "  y = Foo <a = 3, b = 2.5, s = \"word\", l = [1, 2], f = [0.5]> (x)\n"
        "}\n";
    onx_op op = {.name = "Foo",
                 .since = 1,
                 .signature =
                     "(x:float) -> (y:float) {a:int=1, b:float=1.0, s:string=\"d\","
                     " A:int=7, aa:int=8, c:float=0.25, z:string=\"dd\", q?:int, l?:ints}"};
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_TEXT;
    onx_model *model = NULL;
    REQUIRE(!onx_model_load_memory(NULL, text, sizeof text - 1, &options, &model, NULL));
    const onx_node *node = onx_graph_node_first(onx_model_graph(model));
    CHECK_EQ(onx_op_int(&op, node, "a"), 3);
    CHECK(onx_op_float(&op, node, "b") == 2.5f);
    CHECK(is(onx_op_string(&op, node, "s"), "word"));
    CHECK_EQ(onx_op_int(&op, node, "A"), 7);
    CHECK_EQ(onx_op_int(&op, node, "aa"), 8);
    CHECK(onx_op_float(&op, node, "c") == 0.25f);
    CHECK(is(onx_op_string(&op, node, "z"), "dd"));
    CHECK_EQ(onx_op_int(&op, node, "q"), 0);
    CHECK_EQ(onx_op_int(&op, node, "nosuch"), 0);
    CHECK_EQ(onx_op_int(&op, node, "b"), 0); /* a float is no int */
    CHECK(onx_op_float(&op, node, "a") == 0.0f);
    CHECK(is(onx_op_string(NULL, node, "z"), ""));
    size_t n;
    const int64_t *ints = onx_op_ints(node, "l", &n);
    CHECK(ints && n == 2 && ints[1] == 2);
    const float *floats = onx_op_floats(node, "f", &n);
    CHECK(floats && n == 1 && floats[0] == 0.5f);
    CHECK(!onx_op_ints(node, "nosuch", &n) && n == 0);
    CHECK(onx_op_has(node, "a") && !onx_op_has(node, "z"));
    onx_model_free(model);
}

/* Inputs as letters: f float, i int64, s a sequence, ? unknown, - absent. */
static bool letter(const void *user, size_t index, onx_type_kind *kind, onx_dtype *dtype) {
    char c = ((const char *)user)[index];
    if (c == '-') return false;
    *kind = c == 's' ? ONX_TYPE_SEQUENCE : ONX_TYPE_TENSOR;
    if (c == 'f' || c == 'i') *dtype = c == 'f' ? ONX_DTYPE_F32 : ONX_DTYPE_I64;
    return true;
}

TEST(inputs) {
    static const struct {
        const char *signature, *inputs, *fails;
    } cases[] = {
        {"(X:T, W:T, B?:T, n?:int64) -> (Y:T) [T:n]", "ff", NULL},
        {"(X:T, W:T, B?:T, n?:int64) -> (Y:T) [T:n]", "ff-i", NULL},
        {"(X:T, W:T, B?:T, n?:int64) -> (Y:T) [T:n]", "f?fi-", NULL},
        {"(X:T, W:T, B?:T, n?:int64) -> (Y:T) [T:n]", "f", "'W', of Test is missing"},
        {"(X:T, W:T, B?:T, n?:int64) -> (Y:T) [T:n]", "-f", "'X', of Test is missing"},
        {"(X:T, W:T, B?:T, n?:int64) -> (Y:T) [T:n]", "fi", "inputs 0 and 1"},
        {"(X:T, W:T, B?:T, n?:int64) -> (Y:T) [T:n]", "ffi", "inputs 0 and 2"},
        {"(X:T, W:T, B?:T, n?:int64) -> (Y:T) [T:n]", "fffif", "no input 4"},
        {"(X:T, W:T, B?:T, n?:int64) -> (Y:T) [T:n]", "sf", "must be a tensor"},
        {"(X:T) -> (Y:T) [T:n|seq(n)]", "s", NULL},
        {"(xs*:T) -> (Y:T) [T:n]", "fff", NULL},
        {"(xs*:T) -> (Y:T) [T:n]", "ffi", "inputs 0 and 2"},
        {"(xs*:T) -> (Y:T) [T:n]", "", "is missing"},
        {"(xs?*:T) -> (Y:T) [T:n]", "", NULL},
        {"(a:T, xs?**:V) -> (Y:T) [T:n, V:n]", "fif", NULL},
        {"() -> (Y:T) [T:n]", "", NULL},
        {"() -> (Y:T) [T:n]", "f", "no input 0"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        onx_op op = {.name = "Test", .since = 1, .signature = cases[i].signature};
        onx_diag diag = ONX_INIT(onx_diag);
        onx_status status =
            onx_op_check(&op, strlen(cases[i].inputs), letter, cases[i].inputs, &diag);
        bool good = cases[i].fails ? status == ONX_INVALID && strstr(diag.message, cases[i].fails)
                                   : status == ONX_OK;
        if (!CHECK(good))
            fprintf(stderr, "    %s with %s: %s\n", cases[i].signature, cases[i].inputs,
                    diag.message);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {E(parts) E(nothing_in_it) E(mistakes) E(constraints) E(table)
                                          E(attributes) E(inputs){NULL, NULL}};
    onx_arena_init(&arena, onx_context_or_default(NULL));
    int status = test_main(cases, argc, argv);
    onx_arena_fini(&arena);
    return status;
}
