/* test_pt2.c: programs of torch.export: sizes in both dialects, versions and forms of the JSON
 * text, archives of both layouts, and the programs of the test data. */
#include "test.h"

#include "export/pt2_walk.h"
#include "torch_files.h"

#include <dirent.h>

/* ── Sizes ───────────────────────────────────────────────────────────────────────────────────── */

static const onx_sym *plain_name(void *user, onx_str name) {
    return onx_sym_name(user, name);
}

/* The expression in the words of ir/sym.h, or "?". */
static const char *expr(const char *text) {
    static char out[256];
    onx_syms *syms = onx_syms_new(onx_context_or_default(NULL));
    onx_buf buf;
    onx_buf_init(&buf, onx_context_or_default(NULL));
    const onx_sym *sym = onx_pt2_expr(syms, onx_str_of(text), plain_name, syms);
    if (sym) onx_sym_print(sym, &buf);
    snprintf(out, sizeof out, "%.*s", sym ? (int)buf.size : 1, sym ? buf.data : "?");
    onx_buf_fini(&buf);
    onx_syms_free(syms);
    return out;
}

TEST(sizes) {
    static const char *const cases[][2] = {
        {"s0", "s0"},
        {"2*s0 + 1", "2*s0 + 1"},
        {" 2 * (s0 - 3) ", "2*s0 - 6"},
        {"s0//2", "floor(s0/2)"},
        {"(s0//2)*2", "2*floor(s0/2)"},
        {"s0**2", "s0**2"},
        {"-s0 + 2*s0", "s0"},
        {"s0 % 4", "s0 - 4*floor(s0/4)"},
        {"Max(1, u0)", "max(1, u0)"},
        {"Min(s0, 5, 3)", "min(s0, 3)"},
        {"Symbol('s77', positive=True, integer=True)", "s77"},
        {"Add(Mul(Integer(2), Symbol('s77', integer=True)), Integer(-1))", "2*s77 - 1"},
        {"FloorDiv(Symbol('s1', integer=True), Integer(2))", "floor(s1/2)"},
        {"CeilToInt(IntTrueDiv(Symbol('s1'), Integer(2)))", "ceil(s1/2)"},
        {"Mul(Rational(1, 2), Mul(Integer(2), Symbol('s1')))", "s1"},
        {"Pow(Symbol('s1'), Integer(2))", "s1**2"},
        {"PythonMod(Symbol('s1'), Integer(8))", "s1 - 8*floor(s1/8)"},
        {"Add(Symbol('a'), Integer(1), evaluate=False)", "a + 1"},
        {"Where(a, b, c)", "?"},
        {"s0 +", "?"},
        {"s0 s1", "?"},
        {"Symbol('s0", "?"},
        {"Symbol(s0)", "?"},
        {"Add(s0", "?"},
        {"1.5*s0", "?"},
        {"99999999999999999999", "?"},
        {"", "?"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) CHECK_STR(expr(cases[i][0]), cases[i][1]);
}

TEST(deep_sizes) {
    static char text[200001];
    memset(text, '(', 200000);
    CHECK_STR(expr(text), "?");
    for (size_t i = 0; i < 200000; i++) text[i] = '-';
    CHECK_STR(expr(text), "?");
}

/* ── Texts ───────────────────────────────────────────────────────────────────────────────────── */

#define T(name) "{\"as_tensor\":{\"name\":\"" name "\"}}"
#define IN(arg_name, arg) "{\"name\":\"" arg_name "\",\"arg\":" arg ",\"kind\":1}"
#define NODE(target, ins, outs)                                                                    \
    "{\"target\":\"" target "\",\"inputs\":[" ins "],\"outputs\":[" outs "],\"metadata\":{}}"
#define META(name, dtype, sizes)                                                                   \
    "\"" name "\":{\"dtype\":" dtype ",\"sizes\":[" sizes "],\"strides\":[],\"layout\":7}"
#define N(n) "{\"as_int\":" n "}"
#define S(text) "{\"as_expr\":{\"expr_str\":\"" text "\",\"hint\":{\"as_int\":4}}}"
#define GRAPH(ins, outs, nodes, values)                                                            \
    "{\"inputs\":[" ins "],\"outputs\":[" outs "],\"nodes\":[" nodes                               \
    "],\"tensor_values\":{" values "},\"sym_int_values\":{}}"
#define USER_IN(name) "{\"user_input\":{\"arg\":" T(name) "}}"
#define USER_OUT(name) "{\"user_output\":{\"arg\":" T(name) "}}"
#define PROGRAM(version, graph, ins, outs, call)                                                   \
    "{\"graph_module\":{\"graph\":" graph ",\"signature\":{\"input_specs\":[" ins                  \
    "],\"output_specs\":[" outs "]},\"module_call_graph\":[{\"fqn\":\"\",\"signature\":" call      \
    "}]},\"schema_version\":" version ",\"range_constraints\":{\"s0\":{\"min_val\":2,"             \
    "\"max_val\":64}}}"
#define V8 "{\"major\":8,\"minor\":17}"

static onx_status read(const char *text, onx_pt2 *out, onx_diag *diag) {
    *diag = ONX_INIT(onx_diag);
    return onx_pt2_read_text(NULL, onx_str_of(text), out, diag);
}

TEST(versions) {
    onx_pt2 program;
    onx_diag diag;
    const char *good[] = {
        PROGRAM(V8, GRAPH("", "", "", ""), "", "", "null"),
        PROGRAM("{\"major\":8,\"minor\":99}", GRAPH("", "", "", ""), "", "", "null"),
        PROGRAM("1", GRAPH("", "", "", ""), "", "", "null")};
    for (size_t i = 0; i < ONX_COUNT(good); i++) {
        REQUIRE(read(good[i], &program, &diag) == ONX_OK);
        CHECK_EQ(program.graph->n_nodes, 0);
        onx_pt2_fini(&program);
    }
    CHECK_EQ(read(PROGRAM("{\"major\":9,\"minor\":0}", GRAPH("", "", "", ""), "", "", "null"),
                  &program, &diag),
             ONX_UNSUPPORTED);
    CHECK(strstr(diag.message, "9.0") && diag.hint[0]);
    CHECK_EQ(read("{}", &program, &diag), ONX_MALFORMED);
    CHECK_EQ(read("[", &program, &diag), ONX_MALFORMED);
    CHECK_EQ(read(PROGRAM(V8, "null", "", "", "null"), &program, &diag), ONX_MALFORMED);
    CHECK_EQ(read(PROGRAM(V8, GRAPH(T("x"), "", "", ""), "", "", "null"), &program, &diag),
             ONX_MALFORMED);
}

TEST(arguments) {
#define ARG(tag, value) "{\"name\":\"\",\"arg\":{\"" tag "\":" value "}}"
    static const char ins[] = ARG("as_int", "9223372036854775807") "," ARG("as_float", "-Infinity");
    static const char more[] = ARG("as_float", "\"NaN\"") "," ARG("as_scalar_type", "7") "," //
        ARG("as_layout", "7") "," ARG("as_memory_format", "4") ","                           //
        ARG("as_sym_ints", "[{\"as_name\":\"s\"},{\"as_int\":-1}]") ","                      //
        ARG("as_optional_tensors", "[" T("t") ",{\"as_none\":true}]") "," ARG("as_none", "[]");
    char text[2000];
    onx_pt2 program;
    onx_diag diag;
    snprintf(text, sizeof text,
             PROGRAM(V8, GRAPH("", "", NODE("torch.ops.aten.f.default", "%s,%s", ""), ""), "", "",
                     "null"),
             ins, more);
    REQUIRE(read(text, &program, &diag) == ONX_OK);
    const onx_pt2_arg *in = program.graph->nodes[0].in;
    CHECK(in[0].kind == ONX_PT2_INT && in[0].i == INT64_MAX);
    CHECK(in[1].kind == ONX_PT2_FLOAT && in[1].f < -1e308);
    CHECK(in[2].kind == ONX_PT2_FLOAT && in[2].f != in[2].f);
    CHECK(in[3].kind == ONX_PT2_INT && in[3].i == ONX_TORCH_F32);
    CHECK(in[4].kind == ONX_PT2_INT && in[4].i == 0);
    CHECK(in[5].kind == ONX_PT2_INT && in[5].i == 1);
    REQUIRE(in[6].kind == ONX_PT2_LIST && in[6].n == 2);
    CHECK(in[6].list[0].kind == ONX_PT2_NAME && in[6].list[1].i == -1);
    REQUIRE(in[7].kind == ONX_PT2_LIST && in[7].n == 2);
    CHECK(in[7].list[0].kind == ONX_PT2_NAME && in[7].list[1].kind == ONX_PT2_NONE);
    CHECK(in[8].kind == ONX_PT2_NONE);
    onx_pt2_fini(&program);
    CHECK_EQ(
        read(PROGRAM(V8, GRAPH("{\"as_moon\":1}", "", "", ""), "", "", "null"), &program, &diag),
        ONX_UNSUPPORTED);
    CHECK(strstr(diag.message, "as_moon") != NULL);
}

/* The forms of torch 2.1. */
TEST(schema_1) {
    static const char text[] = "{\"graph_module\":{\"graph\":{\"inputs\":[" T("arg0_1") "," T(
        "arg1_1") "],\"outputs\":[" T("add") "],\"nodes\":[" NODE("torch.ops.aten.add.Tensor",
                                                                  IN("self", T("arg1_1")) "," IN(
                                                                      "other",
                                                                      "{\"as_optional_tensors\":[{"
                                                                      "\"as_tensor\":"
                                                                      "\"arg0_1\"}]}"),
                                                                  T("add")) "],\"tensor_values\":{"
                                                                            "\"arg1_1\":{\"meta\":"
                                                                            "{\"dtype\":7,"
                                                                            "\"sizes\":[{\"as_"
                                                                            "expr\":{\"expr_str\":"
                                                                            "\"s0\",\"hint\":3}},{"
                                                                            "\"as_int\":2}]}}}},"
                                                                            "\"signature\":{"
                                                                            "\"inputs_to_"
                                                                            "parameters\":{\"arg0_"
                                                                            "1\":\"fc.bias\"},"
                                                                            "\"inputs_to_buffers\":"
                                                                            "{},"
                                                                            "\"user_inputs\":["
                                                                            "\"arg1_1\"],\"user_"
                                                                            "outputs\":[\"add\"],"
                                                                            "\"buffers_to_mutate\":"
                                                                            "{}}},"
                                                                            "\"schema_version\":1}";
    onx_pt2 program;
    onx_diag diag;
    REQUIRE(read(text, &program, &diag) == ONX_OK);
    CHECK_EQ(program.in[0].kind, ONX_PT2_IN_PARAMETER);
    CHECK(onx_str_is(program.in[0].target, "fc.bias"));
    CHECK_EQ(program.in[1].kind, ONX_PT2_IN_USER);
    CHECK_EQ(program.out[0].kind, ONX_PT2_OUT_USER);
    const onx_pt2_tensor *x = onx_map_get(&program.tensors, program.graph, ONX_LIT("arg1_1"));
    REQUIRE(x && x->rank == 2);
    CHECK(onx_str_is(x->sizes[0].expr, "s0") && x->sizes[0].value == 3);
    CHECK(!x->sizes[1].expr.data && x->sizes[1].value == 2);
    onx_pt2_fini(&program);
}

TEST(names) {
#define LEAF "{\\\"type\\\":null,\\\"context\\\":null,\\\"children_spec\\\":[]}"
#define TREE(type, context, children)                                                              \
    "{\\\"type\\\":\\\"" type "\\\",\\\"context\\\":" context ",\\\"children_spec\\\":[" children  \
    "]}"
    static const char call[] = "{\"in_spec\":\"[1," TREE(
        "builtins.tuple", "\\\"null\\\"",
        TREE("builtins.tuple", "\\\"null\\\"",
             LEAF "," TREE(
                 "builtins.list", "\\\"null\\\"",
                 LEAF
                 "," LEAF)) "," TREE("builtins.dict", "\\\"[\\\\\\\"mask\\\\\\\"]\\\"",
                                     LEAF)) "]\",\"out_spec\":\"[1," TREE("builtins.dict",
                                                                          "\\\"["
                                                                          "\\\\\\\"logits\\\\\\\", "
                                                                          "\\\\\\\"past\\\\\\\"]"
                                                                          "\\\"",
                                                                          LEAF "," TREE(
                                                                              "builtins.tuple",
                                                                              "\\\"null\\\"",
                                                                              LEAF
                                                                              "," LEAF)) "]\","
                                                                                         "\"forward"
                                                                                         "_arg_"
                                                                                         "names\":["
                                                                                         "\"x\","
                                                                                         "\"state\""
                                                                                         "]}";
    char text[4000];
    snprintf(text, sizeof text, PROGRAM(V8, GRAPH("", "", "", ""), "", "", "%s"), call);
    static const char *const ins[] = {"x", "state.0", "state.1", "mask"};
    static const char *const outs[] = {"logits", "past.0", "past.1"};
    onx_pt2 program;
    onx_diag diag;
    REQUIRE(read(text, &program, &diag) == ONX_OK);
    const onx_str *leaves = onx_pt2_leaf_names(&program, false, 4);
    for (size_t i = 0; CHECK(leaves) && i < 4; i++) CHECK(onx_str_is(leaves[i], ins[i]));
    leaves = onx_pt2_leaf_names(&program, true, 3);
    for (size_t i = 0; CHECK(leaves) && i < 3; i++) CHECK(onx_str_is(leaves[i], outs[i]));
    CHECK(!onx_pt2_leaf_names(&program, true, 2));
    CHECK(!onx_pt2_leaf_names(&program, true, 4));
    onx_pt2_fini(&program);
}

TEST(floods) {
    static char text[400001];
    onx_pt2 program;
    onx_diag diag;
    memset(text, '[', 400000);
    CHECK_EQ(read(text, &program, &diag), ONX_LIMIT);
    for (size_t i = 1; i < 400000; i += 2) text[i] = i == 399999 ? ']' : ',', text[i - 1] = '0';
    text[0] = '[';
    CHECK(read(text, &program, &diag) != ONX_OK);
}

/* Every text of a good program, cut anywhere, is refused. */
TEST(truncated) {
    static const char text[] = PROGRAM(
        V8,
        GRAPH(T("x"), T("y"), NODE("torch.ops.aten.relu.default", IN("self", T("x")), T("y")),
              META("x", "7", S("s0")) "," META("y", "7", S("s0"))),
        USER_IN("x"), USER_OUT("y"), "null");
    onx_pt2 program;
    onx_diag diag;
    REQUIRE(read(text, &program, &diag) == ONX_OK);
    onx_pt2_fini(&program);
    for (size_t i = 0; i < sizeof text - 1; i++) {
        diag = ONX_INIT(onx_diag);
        CHECK(onx_pt2_read_text(NULL, (onx_str){text, i}, &program, &diag) != ONX_OK);
        CHECK(diag.message[0]);
    }
}

/* ── Archives ────────────────────────────────────────────────────────────────────────────────── */

static const char weighed[] = "{\"graph_module\":{\"graph\":" GRAPH(
    T("p_w") "," T("p_v") "," T("x"), T("y"), "", META("x", "7", N("2"))) //
    ",\"signature\":{\"input_specs\":["
    "{\"parameter\":{\"arg\":{\"name\":\"p_w\"},\"parameter_name\":\"fc.w\"}},"
    "{\"buffer\":{\"arg\":{\"name\":\"p_v\"},\"buffer_name\":\"v\",\"persistent\":false}}," USER_IN(
        "x") "],\"output_specs\":[" USER_OUT("y") "]},\"module_call_graph\":[]},"
                                                  "\"schema_version\":" V8 "}";

/* Both layouts have the same two tensors: [1, 2] and, of the same storage or another, [2]. */
static void check_weights(const torch_record *records, onx_archive_kind kind, bool shared) {
    onx_context *ctx = onx_context_or_default(NULL);
    onx_archive *archive = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf zip;
    onx_pt2 program;
    onx_str bytes = torch_zip(ctx, records, &zip);
    if (CHECK(!onx_archive_open_memory(ctx, bytes, &archive, &diag)) &&
        CHECK(onx_archive_kind_of(archive) == kind) &&
        CHECK(!onx_pt2_read(archive, &program, &diag))) {
        const onx_torch_tensor *w = onx_map_get(&program.weights, NULL, ONX_LIT("fc.w"));
        const onx_torch_tensor *v = onx_map_get(&program.weights, NULL, ONX_LIT("v"));
        if (CHECK(w && v)) {
            CHECK(w->rank == 1 && w->dims[0] == 2 && w->offset == 0);
            CHECK(v->rank == 1 && v->dims[0] == 1 && v->offset == 1);
            CHECK_EQ(w->storage == v->storage, shared);
        }
        onx_pt2_fini(&program);
    } else {
        fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    }
    onx_archive_close(archive);
    onx_buf_fini(&zip);
}

#define PAYLOAD(size, offset)                                                                      \
    "{\"path_name\":\"weight_0\",\"is_param\":true,\"use_pickle\":false,\"tensor_meta\":"          \
    "{\"dtype\":7,\"sizes\":[" N(size) "],\"strides\":[" N("1") "],\"storage_offset\":" N(         \
        offset) "}}"

TEST(archives) {
    const torch_record records[] = {
        {"m/archive_format", ONX_LIT("pt2")},
        {"m/archive_version", ONX_LIT("0")},
        {"m/models/model.json", onx_str_of(weighed)},
        {"m/data/weights/weight_0", {"\0\0\x80\x3f\0\0\0\x40", 8}},
        {"m/data/weights/model_weights_config.json",
         ONX_LIT("{\"config\":{\"fc.w\":" PAYLOAD("2", "0") ",\"v\":" PAYLOAD("1", "1") "}}")},
        {NULL, {NULL, 0}}};
    check_weights(records, ONX_ARCHIVE_PT2, true);
}

#define TENSOR(size, offset)                                                                       \
    "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n"                  \
    "X\1\0\0\0"                                                                                    \
    "0X\3\0\0\0cpuK\2tQK" offset "K" size "\x85K\1\x85\x89}tR"

/* torch 2.1 to 2.7: state dict and constants are files of torch.save within the file. */
TEST(flat_archives) {
    onx_context *ctx = onx_context_or_default(NULL);
    static const char state[] = "\x80\2}X\4\0\0\0fc.w" TENSOR("\2", "\0") "s.";
    static const char constants[] = "\x80\2}X\1\0\0\0v" TENSOR("\1", "\1") "s.";
    const onx_str data = {"\0\0\x80\x3f\0\0\0\x40", 8};
    torch_record inner[] = {{"archive/data.pkl", {state, sizeof state - 1}},
                            {"archive/data/0", data},
                            {"archive/version", ONX_LIT("3")},
                            {NULL, {NULL, 0}}};
    onx_buf first, second;
    onx_str state_zip = torch_zip(ctx, inner, &first);
    inner[0].content = (onx_str){constants, sizeof constants - 1};
    onx_str constants_zip = torch_zip(ctx, inner, &second);
    const torch_record records[] = {{"serialized_exported_program.json", onx_str_of(weighed)},
                                    {"serialized_state_dict.pt", state_zip},
                                    {"serialized_constants.pt", constants_zip},
                                    {"serialized_example_inputs.pt", ONX_LIT("")},
                                    {"version", ONX_LIT("8.7")},
                                    {NULL, {NULL, 0}}};
    check_weights(records, ONX_ARCHIVE_PT2_FLAT, false);
    onx_buf_fini(&first);
    onx_buf_fini(&second);
}

/* ── The test data ───────────────────────────────────────────────────────────────────────────── */

TEST(corpus) {
    const char *data = torch_folder();
    char path[4400];
    size_t seen = 0;
    DIR *folder = data ? opendir(data) : NULL;
    if (!folder) SKIP("set ONX_DATA or ONX_TORCH to a folder with PyTorch's files");
    for (struct dirent *entry; (entry = readdir(folder));) {
        snprintf(path, sizeof path, "%.4000s/%.200s/export.pt2", data, entry->d_name);
        FILE *file = fopen(path, "rb");
        if (!file) continue;
        fclose(file);
        onx_archive *archive = NULL;
        onx_pt2 program;
        onx_diag diag = ONX_INIT(onx_diag);
        if (!CHECK(onx_archive_open(onx_context_or_default(NULL), path, &archive, &diag) == ONX_OK))
            continue;
        if (CHECK(onx_pt2_read(archive, &program, &diag) == ONX_OK)) {
            for (size_t i = 0; i < program.n_in; i++) {
                int kind = program.in[i].kind;
                if (kind == ONX_PT2_IN_PARAMETER || kind == ONX_PT2_IN_BUFFER ||
                    kind == ONX_PT2_IN_CONSTANT)
                    CHECK(onx_map_get(&program.weights, NULL, program.in[i].target));
            }
            CHECK(program.graph->n_nodes > 0);
            onx_pt2_fini(&program);
            seen++;
        } else {
            fprintf(stderr, "    %s: %s: %s\n", entry->d_name, diag.place, diag.message);
        }
        onx_archive_close(archive);
    }
    closedir(folder);
    CHECK(seen > 0);
}

TEST_MAIN(E(sizes) E(deep_sizes) E(versions) E(arguments) E(schema_1) E(names) E(floods)
              E(truncated) E(archives) E(flat_archives) E(corpus))
