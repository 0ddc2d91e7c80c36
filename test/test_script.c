/* test_script.c: TorchScript's source as a tree: what every form becomes, what is refused and
 * where, names found in the files they belong to. */
#include "export/script.h"
#include "test.h"
#include "torch_files.h"

typedef struct parsed {
    onx_arena arena;
    onx_script_module module;
    onx_diag diag;
    onx_status status;
} parsed;

static void parse(parsed *p, const char *text) {
    memset(p, 0, sizeof *p);
    p->diag = ONX_INIT(onx_diag);
    onx_arena_init(&p->arena, onx_context_or_default(NULL));
    p->status = onx_script_parse(&p->arena, ONX_LIT("code/a.py"), ONX_LIT("__torch__.a"),
                                 onx_str_of(text), &p->module, &p->diag);
    if (p->status) fprintf(stderr, "%s: %s\n", p->diag.place, p->diag.message);
}

/* The tree as text again, brackets around everything: what the parser understood. */
static void show(onx_buf *out, const onx_script_expr *e);

static void show_items(onx_buf *out, const onx_script_expr *e, size_t from, const char *around) {
    onx_buf_putc(out, around[0]);
    for (size_t i = from; i < e->n; i++) {
        if (i > from) onx_buf_puts(out, e->kind == ONX_EXPR_SLICE ? ":" : " ");
        if (e->items[i] && e->items[i]->keyword.size)
            onx_buf_printf(out, "%.*s=", ONX_FMT(e->items[i]->keyword));
        if (e->items[i]) show(out, e->items[i]);
    }
    onx_buf_putc(out, around[1]);
}

static void show(onx_buf *out, const onx_script_expr *e) {
    switch (e->kind) {
    case ONX_EXPR_NAME:
        onx_buf_printf(out, "%.*s", ONX_FMT(e->text));
        if (e->slot >= 0) onx_buf_printf(out, "@%d", (int)e->slot);
        break;
    case ONX_EXPR_NONE: onx_buf_puts(out, "None"); break;
    case ONX_EXPR_BOOL: onx_buf_puts(out, e->i ? "True" : "False"); break;
    case ONX_EXPR_INT: onx_buf_printf(out, "%" PRId64, e->i); break;
    case ONX_EXPR_FLOAT: onx_buf_printf(out, "%.17g!", e->f); break;
    case ONX_EXPR_COMPLEX: onx_buf_printf(out, "%g+%gj", e->f, e->imag); break;
    case ONX_EXPR_STR: onx_buf_printf(out, "'%.*s'", ONX_FMT(e->text)); break;
    case ONX_EXPR_ATTR:
        show(out, e->items[0]);
        onx_buf_printf(out, ".%.*s", ONX_FMT(e->text));
        break;
    case ONX_EXPR_CALL:
        show(out, e->items[0]);
        show_items(out, e, 1, "()");
        break;
    case ONX_EXPR_INDEX:
    case ONX_EXPR_SLICE:
        show(out, e->items[0]);
        show_items(out, e, 1, "[]");
        break;
    case ONX_EXPR_LIST: show_items(out, e, 0, "[]"); break;
    case ONX_EXPR_TUPLE: show_items(out, e, 0, "<>"); break;
    case ONX_EXPR_DICT: show_items(out, e, 0, "{}"); break;
    }
}

static bool reads_as(const char *expr, const char *expected) {
    char text[4096];
    parsed p;
    snprintf(text, sizeof text, "def f(x: Tensor, y: int) -> int:\n  return %s\n", expr);
    parse(&p, text);
    onx_buf out;
    onx_buf_init(&out, p.arena.ctx);
    if (!p.status) show(&out, p.module.funcs[0].body.stmts[0]->values[0]);
    onx_buf_putc(&out, 0);
    bool same = !p.status && strcmp(out.data, expected) == 0;
    if (!same) fprintf(stderr, "    %s: %s, not %s\n", expr, out.data, expected);
    onx_buf_fini(&out);
    onx_arena_fini(&p.arena);
    return same;
}

TEST(expressions) {
    CHECK(reads_as("x", "x@0"));
    CHECK(reads_as("torch.add(x, y, alpha=2)", "torch.add(x@0 y@1 alpha=2)"));
    CHECK(reads_as("(x).forward(y, )", "x@0.forward(y@1)"));
    CHECK(reads_as("(x)[0]", "x@0[0]"));
    CHECK(reads_as("(x)[1:3]", "x@0[1:3]"));
    CHECK(reads_as("(x)[1:]", "x@0[1:]"));
    CHECK(reads_as("annotate(Dict[str, List[int]], {})", "annotate(Dict[<str List[int]>] {})"));
    CHECK(reads_as("{\"a\": x, \"b\": 1}", "{'a' x@0 'b' 1}"));
    CHECK(reads_as("(x, y)", "<x@0 y@1>"));
    CHECK(reads_as("(x,)", "<x@0>"));
    CHECK(reads_as("()", "<>"));
    CHECK(reads_as("[]", "[]"));
    CHECK(reads_as("[x, [y, ], ]", "[x@0 [y@1]]"));
    CHECK(reads_as("CONSTANTS.c10", "CONSTANTS.c10"));
    CHECK(reads_as("__torch__.a.E.RED", "__torch__.a.E.RED"));
    CHECK(reads_as("getattr(x, \"0\")", "getattr(x@0 '0')"));
}

TEST(constants) {
    CHECK(reads_as("10.", "10!"));
    CHECK(reads_as("-0.", "-0!"));
    CHECK(reads_as("1.0000000000000001e-05", "1.0000000000000001e-05!"));
    CHECK(reads_as("9223372036854775807", "9223372036854775807"));
    CHECK(reads_as("-9223372036854775808", "-9223372036854775808"));
    CHECK(reads_as("100000000000000000000", "1e+20!"));
    CHECK(reads_as("[-1, -inf, inf]", "[-1 -inf! inf!]"));
    CHECK(reads_as("1.+2.j", "1+2j"));
    CHECK(reads_as("1.-2.j", "1+-2j"));
    CHECK(reads_as("[True, False, None]", "[True False None]"));
    CHECK(reads_as("\"a\\n\\\"b\\\\\\001\\303\\244\"", "'a\n\"b\\\1\303\244'"));
}

TEST(statements) {
    parsed p;
    parse(&p, "def f(x: Tensor,\n    n: int=3) -> Tuple[Tensor, int]:\n"
              "  a, b = x, n\n"
              "  c, d, = a\n"
              "  _0 : Optional[int] = None\n"
              "  if torch.gt(n, 0):\n    e = 1\n  else:\n    e = 2\n"
              "  for i in range(n):\n    while True:\n      a = b\n"
              "  with torch.no_grad() as g:\n    pass\n"
              "  def __forked_function():\n    return (c, e)\n"
              "  x.attr = a\n"
              "  print(a)\n"
              "  return\n");
    REQUIRE(p.status == ONX_OK && p.module.func_count == 1);
    const onx_script_func *f = &p.module.funcs[0];
    static const onx_script_stmt_kind kinds[] = {
        ONX_STMT_ASSIGN, ONX_STMT_ASSIGN, ONX_STMT_ASSIGN,  ONX_STMT_IF,   ONX_STMT_FOR,
        ONX_STMT_WITH,   ONX_STMT_DEF,    ONX_STMT_SETATTR, ONX_STMT_EXPR, ONX_STMT_RETURN};
    REQUIRE(f->body.n == ONX_COUNT(kinds));
    onx_script_stmt **s = f->body.stmts;
    for (size_t i = 0; i < f->body.n; i++) CHECK_EQ(s[i]->kind, kinds[i]);
    CHECK_EQ(s[0]->target_count, 2);
    CHECK_EQ(s[0]->value_count, 2);
    CHECK(!s[0]->unpack && s[1]->unpack);
    CHECK(s[2]->type && onx_script_type_of(s[2]->type).kind == ONX_PY_OPTIONAL);
    CHECK_EQ(s[3]->body.n, 1);
    CHECK_EQ(s[3]->otherwise.n, 1);
    CHECK_EQ(s[3]->body.stmts[0]->targets[0].slot, s[3]->otherwise.stmts[0]->targets[0].slot);
    CHECK(onx_str_is(s[4]->targets[0].name, "i"));
    CHECK_EQ(s[4]->body.stmts[0]->kind, ONX_STMT_WHILE);
    CHECK_EQ(s[4]->body.stmts[0]->body.stmts[0]->targets[0].slot, s[0]->targets[0].slot);
    CHECK(onx_str_is(s[5]->targets[0].name, "g"));
    CHECK_EQ(s[6]->body.n, 1);
    CHECK_EQ(s[9]->value_count, 0);
    CHECK_EQ(f->arg_count, 2);
    CHECK_EQ(f->args[1].value->i, 3);
    CHECK_EQ(f->local_count, 11);
    CHECK(onx_str_is(f->locals[2].name, "a"));
    CHECK_EQ(onx_script_line(f->file, f->locals[2].last_use), 18);
    CHECK_EQ(onx_script_line(f->file, s[3]->end), 10);
    CHECK_EQ(onx_script_line(f->file, s[3]->at), 6);
    onx_arena_fini(&p.arena);
}

TEST(classes) {
    parsed p;
    parse(&p, "op_version_set = 1\nimport __torch__.b\n"
              "class M(Module):\n  __parameters__ = [\"w\", \"b\", ]\n  __buffers__ = []\n"
              "  __annotations__ = []\n  __annotations__[\"0\"] = __torch__.a.N\n"
              "  training : bool\n  k : Final[int] = 3\n"
              "  def forward(self: __torch__.a.M) -> int:\n    return 1\n"
              "class N(NamedTuple):\n  a : Tensor\n  b : int\n"
              "class E(Enum):\n  R = 1\n  G = \"g\"\n"
              "class I(Interface):\n  def f(self, x: int) -> int:\n    pass\n"
              "class P:\n  pass\n");
    REQUIRE(p.status == ONX_OK && p.module.class_count == 5);
    const onx_script_class *c = p.module.classes;
    CHECK(onx_str_is(c[0].name, "__torch__.a.M"));
    static const onx_script_class_kind kinds[] = {ONX_CLASS_MODULE, ONX_CLASS_NAMED_TUPLE,
                                                  ONX_CLASS_ENUM, ONX_CLASS_INTERFACE,
                                                  ONX_CLASS_PLAIN};
    for (size_t i = 0; i < 5; i++) CHECK_EQ(c[i].kind, kinds[i]);
    CHECK_EQ(c[0].parameter_count, 2);
    CHECK(onx_str_is(c[0].parameters[1], "b"));
    CHECK_EQ(c[0].attr_count, 3);
    const onx_script_attr *attr = onx_script_attribute(&c[0], ONX_LIT("0"));
    REQUIRE(attr && attr->type);
    CHECK(onx_str_is(onx_script_type_of(attr->type).name, "__torch__.a.N"));
    attr = onx_script_attribute(&c[0], ONX_LIT("k"));
    REQUIRE(attr && attr->value);
    CHECK_EQ(onx_script_type_of(attr->type).kind, ONX_PY_FINAL);
    CHECK_EQ(attr->value->i, 3);
    CHECK(onx_script_method(&c[0], ONX_LIT("forward")));
    CHECK(!onx_script_method(&c[0], ONX_LIT("backward")));
    CHECK(onx_str_is(c[1].attrs[1].name, "b"));
    CHECK(onx_str_is(c[2].attrs[1].value->text, "g"));
    onx_arena_fini(&p.arena);
}

/* Refused, at that line. */
static bool refused(const char *text, onx_status status, const char *place) {
    parsed p;
    parse(&p, text);
    bool right = p.status == status && strcmp(p.diag.place, place) == 0 && p.diag.message[0];
    onx_arena_fini(&p.arena);
    return right;
}

TEST(refusals) {
    static const char *const wrong[] = {
        "def f() -> int:\n  return (1\n",
        "def f() -> int:\n  return 1)\n",
        "def f() -> int:\n  return \"a\n",
        "def f() -> int:\n  a, b, c = 1, 2\n",
        "def f() -> int:\n  1 = 2\n",
        "def f() -> int:\n  return a + b\n",
        "def f() -> int:\n  f(a=1) = 2\n",
        "def f() -> int:\n  return [\n",
        "def f() -> int:\n  x = -y\n",
        "def f() -> int:\n  x = \"\\q\"\n",
        "class A:\n  __buffers__ = [][:]\n",
        "class A:\n  x\n",
        "class A:\n  \x01\n",
        "def f() -> int:\n  a[] = 1\n",
        "def f() -> int:\n  1.2.3\n",
    };
    for (size_t i = 0; i < ONX_COUNT(wrong); i++)
        if (!CHECK(refused(wrong[i], ONX_MALFORMED, "code/a.py, line 2") ||
                   refused(wrong[i], ONX_MALFORMED, "code/a.py, line 3")))
            fprintf(stderr, "    %s", wrong[i]);
    CHECK(refused("def f() -> int:\n  if a:\n      pass\n    pass\n", ONX_MALFORMED,
                  "code/a.py, line 4"));
    CHECK(refused("class A(B):\n  pass\n", ONX_UNSUPPORTED, "code/a.py, line 1"));
    CHECK(refused("x = 1\n", ONX_MALFORMED, "code/a.py, line 1"));
}

static onx_status parse_repeated(const char *head, const char *unit, size_t n) {
    onx_buf text;
    parsed p;
    onx_buf_init(&text, onx_context_or_default(NULL));
    onx_buf_puts(&text, head);
    for (size_t i = 0; i < n; i++) onx_buf_puts(&text, unit);
    onx_buf_putc(&text, 0);
    parse(&p, text.data);
    onx_arena_fini(&p.arena);
    onx_buf_fini(&text);
    return p.status;
}

TEST(depth) {
    const char *head = "def f() -> int:\n  return ";
    CHECK_EQ(parse_repeated(head, "(", 1000000), ONX_LIMIT);
    CHECK_EQ(parse_repeated(head, "[a,", 1000000), ONX_LIMIT);
    CHECK_EQ(parse_repeated("def f() -> int:\n  return a", ".a", 1000000), ONX_LIMIT);
    CHECK_EQ(parse_repeated("def f() -> int:\n  return a", ".a", 60), ONX_OK);
    CHECK_EQ(parse_repeated("def f() -> int:\n  return a", "[0]", 1000000), ONX_LIMIT);
    onx_buf text;
    parsed p;
    onx_buf_init(&text, onx_context_or_default(NULL));
    onx_buf_puts(&text, "def f() -> int:\n");
    for (int i = 1; i < 1000; i++) onx_buf_printf(&text, "%*sif a:\n", i, "");
    onx_buf_putc(&text, 0);
    parse(&p, text.data);
    CHECK_EQ(p.status, ONX_LIMIT);
    onx_arena_fini(&p.arena);
    onx_buf_fini(&text);
}

static onx_status read_text(void *user, onx_str path, onx_str *text, bool *found, onx_diag *diag) {
    static const struct {
        const char *path, *text;
    } files[] = {
        {"code/__torch__.py", "class Root(Module):\n  x : int\n"},
        {"code/__torch__/a/b.py", "class C:\n  x : int\ndef f(x: int) -> int:\n  return x\n"},
        {"code/__torch__/bad.py", "class C\n"},
    };
    size_t *reads = user;
    (void)diag;
    ++*reads;
    for (size_t i = 0; i < ONX_COUNT(files); i++)
        if (onx_str_is(path, files[i].path)) {
            *text = onx_str_of(files[i].text);
            *found = true;
        }
    return ONX_OK;
}

TEST(registry) {
    onx_script *script;
    onx_script_symbol found;
    size_t reads = 0;
    onx_diag diag = ONX_INIT(onx_diag);
    REQUIRE(!onx_script_new(onx_context_or_default(NULL), read_text, &reads, &script, &diag));
    CHECK_EQ(onx_script_find(script, ONX_LIT("__torch__.Root"), &found, &diag), ONX_OK);
    CHECK(found.cls && onx_str_is(found.cls->name, "__torch__.Root"));
    CHECK_EQ(onx_script_find(script, ONX_LIT("__torch__.a.b.f"), &found, &diag), ONX_OK);
    CHECK(found.func && found.func->arg_count == 1);
    CHECK_EQ(onx_script_find(script, ONX_LIT("__torch__.a.b.C"), &found, &diag), ONX_OK);
    CHECK(found.cls && !found.func);
    CHECK_EQ(reads, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(onx_script_find(script, ONX_LIT("__torch__.no.f"), &found, &diag), ONX_OK);
        CHECK(!found.cls && !found.func);
    }
    CHECK_EQ(reads, 3);
    CHECK_EQ(onx_script_find(script, ONX_LIT("torch"), &found, &diag), ONX_OK);
    CHECK_EQ(onx_script_find(script, ONX_LIT("__torch__.bad.C"), &found, &diag), ONX_MALFORMED);
    CHECK_STR(diag.place, "code/__torch__/bad.py, line 1");
    onx_script_free(script);
}

static size_t parse_records(onx_archive *archive) {
    size_t n = 0;
    for (size_t i = 0; i < onx_archive_record_count(archive); i++) {
        onx_str name = onx_archive_record_name(archive, i), text;
        onx_diag diag = ONX_INIT(onx_diag);
        onx_script_module module;
        onx_arena arena;
        if (!onx_str_ends(name, ONX_LIT(".py"))) continue;
        onx_arena_init(&arena, onx_context_or_default(NULL));
        onx_status status = onx_archive_read(archive, name, &text, &diag);
        if (!status)
            status = onx_script_parse(&arena, name, ONX_LIT("__torch__"), text, &module, &diag);
        if (!CHECK(status == ONX_OK)) fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
        onx_arena_fini(&arena);
        n++;
    }
    return n;
}

/* The code that PyTorch wrote. */
TEST(archives) {
    if (!torch_folder()) SKIP("neither ONX_TORCH nor ONX_DATA has PyTorch's files");
    test_files files = test_files_find(torch_folder(), ".pt");
    size_t n = 0;
    for (size_t i = 0; i < files.count; i++) {
        onx_archive *archive = NULL;
        onx_diag diag = ONX_INIT(onx_diag);
        if (!CHECK(onx_archive_open(NULL, files.paths[i], &archive, &diag) == ONX_OK))
            fprintf(stderr, "    %s: %s\n", files.paths[i], diag.message);
        else
            n += parse_records(archive);
        onx_archive_close(archive);
    }
    test_files_free(&files);
    CHECK(n > 1000);
}

TEST(no_memory) {
    for (size_t at = 1;; at++) {
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        heap.fail_at = heap.calls + at;
        onx_script *script = NULL;
        onx_script_symbol found;
        size_t reads = 0;
        onx_status status = onx_script_new(ctx, read_text, &reads, &script, NULL);
        if (!status) status = onx_script_find(script, ONX_LIT("__torch__.a.b.f"), &found, NULL);
        onx_script_free(script);
        onx_context_free(ctx);
        CHECK_EQ(heap.bytes, 0);
        if (!heap.failed) {
            CHECK_EQ(status, ONX_OK);
            break;
        }
        CHECK_EQ(status, ONX_NO_MEMORY);
    }
}

TEST_MAIN(E(expressions) E(constants) E(statements) E(classes) E(refusals) E(depth) E(registry)
              E(archives) E(no_memory))
