/* test_interp.c: TorchScript programs run on types and sizes: what Python computes is known, what
 * depends on data is in the model, what cannot be is refused with its reason. */
#include "export/interp.h"
#include "export/told.h"
#include "test.h"
#include "torch_files.h"

/* ── Archives made of text ── */

/* A module M: `training` is True, `k` is 3, `names` are two; `code` is the rest of its file. */
static onx_buf make_archive(const char *code) {
    static const char head[] = "class M(Module):\n"
                               "  __parameters__ = []\n"
                               "  __buffers__ = []\n"
                               "  training : bool\n"
                               "  k : int\n"
                               "  names : List[str]\n"
                               "  half : Final[float] = 0.5\n";
    static const char data[] = "\x80\x02"
                               "c__torch__\nM\n"
                               ")\x81"
                               "}(X\x08\0\0\0training\x88"
                               "X\x01\0\0\0kK\x03"
                               "X\x05\0\0\0names](X\x01\0\0\0aX\x01\0\0\0beu"
                               "b.";
    onx_buf bytes, source;
    onx_buf_init(&source, onx_context_or_default(NULL));
    onx_buf_printf(&source, "%s%s", head, code);
    torch_record records[] = {{"m/data.pkl", {data, sizeof data - 1}},
                              {"m/constants.pkl", {"\x80\x02).", 4}},
                              {"m/version", {"10", 2}},
                              {"m/code/__torch__.py", {source.data, source.size}},
                              {NULL, {NULL, 0}}};
    torch_zip(source.ctx, records, &bytes);
    onx_buf_fini(&source);
    return bytes;
}

/* ── Running ── */

static void put_output(onx_export *x, const onx_interp_result *r, onx_buf *out) {
    int64_t i;
    double f;
    onx_buf_printf(out, "%s%.*s=", out->size ? " " : "", ONX_FMT(r->name));
    if (r->value.kind == ONX_X_TENSOR)
        onx_fact_print(onx_x_fact(x, onx_xt_value(x, r->value.tensor)), out);
    else if (r->value.kind == ONX_X_BOOL && onx_xv_known_int(&r->value, &i))
        onx_buf_puts(out, i ? "True" : "False");
    else if (onx_xv_known_int(&r->value, &i))
        onx_buf_printf(out, "%" PRId64, i);
    else if (onx_xv_known_float(x, &r->value, &f))
        onx_buf_printf(out, "%g", f);
    else if (onx_xv_is_number(&r->value) && r->value.sym)
        onx_sym_print(r->value.sym, out);
    else
        onx_buf_puts(out, "?");
}

static void show(onx_export *x, const onx_interp *in, onx_buf *out) {
    for (size_t i = 0; i < onx_interp_output_count(in); i++)
        put_output(x, onx_interp_output(in, i), out);
    for (size_t i = 0; i < onx_interp_write_count(in); i++)
        onx_buf_printf(out, " ~%.*s", ONX_FMT(onx_interp_write(in, i)->name));
}

/* Run forward(x: float[b,4]); `out` may be NULL. */
static onx_status export(onx_context *ctx, const onx_buf *bytes, onx_buf *out) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_archive *archive = NULL;
    onx_export x;
    onx_status status =
        onx_archive_open_memory(ctx, (onx_str){bytes->data, bytes->size}, &archive, &diag);
    if (status) return status;
    status = onx_export_begin(&x, ctx, ONX_X_BASE, &diag);
    onx_interp *in = status ? NULL : onx_interp_open(&x, archive);
    const onx_sym *dims[2] = {NULL};
    if (!status) dims[0] = onx_sym_name(x.syms, ONX_LIT("b")), dims[1] = onx_sym_int(x.syms, 4);
    onx_xv args[8];
    for (size_t i = 0; i < onx_interp_input_count(in) && i < 8; i++)
        args[i] = i ? (onx_xv){.kind = ONX_X_OTHER} : onx_x_input(&x, "x", ONX_DTYPE_F32, 2, dims);
    if (in) onx_interp_run(in, args);
    if (!status) status = x.status;
    if (!status && out) show(&x, in, out);
    if (status && out) onx_buf_printf(out, "! %s", x.diag.message);
    for (const onx_node *n = out ? onx_graph_node_first(onx_model_graph(x.model)) : NULL; n;
         n = onx_node_next(n))
        onx_buf_printf(out, " @%s", onx_node_op(n));
    onx_interp_close(in);
    onx_export_end(&x);
    onx_archive_close(archive);
    return status;
}

/* The same as text: what it gives, then ~ what it changed, then @ the nodes; "! message" where it
 * fails. */
static void run(const char *code, onx_buf *out) {
    onx_buf bytes = make_archive(code);
    (void)export(onx_context_or_default(NULL), &bytes, out);
    onx_buf_putc(out, '\0');
    onx_buf_fini(&bytes);
}

static bool code_gives(const char *code, const char *expected) {
    onx_buf out;
    onx_buf_init(&out, onx_context_or_default(NULL));
    run(code, &out);
    size_t n = strlen(expected); /* nodes, and the rest of a message, may be left out */
    bool same = strncmp(out.data, expected, n) == 0 &&
                (expected[0] == '!' || out.data[n] == '\0' || out.data[n] == ' ');
    if (!same) fprintf(stderr, "%s\n    gives %s\n    not   %s\n", code, out.data, expected);
    onx_buf_fini(&out);
    return same;
}

/* The lines of a method forward(self, x). */
static bool gives(const char *lines, const char *expected) {
    char code[4096] = "  def forward(self: __torch__.M,\n    x: Tensor) -> int:\n    ";
    size_t n = strlen(code);
    for (const char *c = lines; *c && n < sizeof code - 8; c++) {
        code[n++] = *c;
        if (*c == '\n' && c[1]) memset(code + n, ' ', 4), n += 4;
    }
    code[n] = '\0';
    return code_gives(code, expected);
}

TEST(numbers) {
    CHECK(gives("return torch.add(torch.mul(2, 3), 1)\n", "output=7"));
    CHECK(gives("return torch.div(1, 2)\n", "output=0.5"));
    CHECK(gives("return torch.floordiv(-7, 2)\n", "output=-4"));
    CHECK(gives("return torch.remainder(-7, 4)\n", "output=1"));
    CHECK(gives("return torch.pow(2, 3)\n", "output=8"));
    CHECK(gives("return (int(2.7), float(2), bool(0))\n", "output_0=2 output_1=2 output_2=False"));
    CHECK(gives("return torch.sqrt(2.25)\n", "output=1.5"));
    CHECK(gives("return (torch.radians(180), torch.log(8, 2))\n", "output_0=3.14159 output_1=3"));
    CHECK(gives("return (torch.atan2(0, 1), torch.fmod(-7, 4))\n", "output_0=0 output_1=-3"));
    CHECK(gives("return (torch.floor(-1.5), torch.ceil(-1.5))\n", "output_0=-2 output_1=-1"));
    CHECK(gives("return torch.neg(3)\n", "output=-3"));
    CHECK(gives("return ops.prim.max(3, 5)\n", "output=5"));
    CHECK(gives("return ops.prim.min([3, 2, 5])\n", "output=2"));
    CHECK(gives("return torch.__and__(True, False)\n", "output=False"));
    CHECK(gives("return torch.__and__(6, 3)\n", "output=2"));
    CHECK(gives("return torch.__not__(False)\n", "output=True"));
    CHECK(gives("return torch.__range_length(1, 10, 3)\n", "output=3"));
    CHECK(gives("return torch.__range_length(10, 1, -4)\n", "output=3"));
    CHECK(gives("return torch.__derive_index(2, 1, 3)\n", "output=7"));
    CHECK(gives("return torch.mul(torch.len(x), 2)\n", "output=2*b"));
    CHECK(gives("return torch.eq(torch.len(x), torch.len(x))\n", "output=True"));
    CHECK(gives("h = torch.len(x)\n"
                "r = ops.prim.min(torch.div(32, h), torch.div(48, torch.add(h, 1)))\n"
                "return torch.round(torch.mul(h, r))\n",
                "output=?"));
    CHECK(gives("return torch.floordiv(1, 0)\n", "! division by zero"));
    CHECK(gives("return torch.gcd(-12, 18)\n", "output=6"));
    CHECK(gives("return torch.divmod(-7, 2)\n", "output_0=-4 output_1=1"));
    CHECK(gives("return int(torch.degrees(torch.atan2(1., 1.)))\n", "output=45"));
    CHECK(gives("return torch.gcd(torch.len(x), 2)\n", "! gcd of an int that is not known"));
}

TEST(lists) {
    CHECK(gives("l = [1, 2]\n_0 = torch.append(l, 3)\nreturn l\n",
                "output_0=1 output_1=2 output_2=3"));
    CHECK(gives("l = [1, 2]\nm = l\n_0 = torch.append(m, 3)\nreturn torch.len(l)\n", "output=3"));
    CHECK(gives("l = torch.mul([1], 3)\nreturn torch.len(torch.add(l, l))\n", "output=6"));
    CHECK(gives("l = [3, 1, 2]\ntorch.sort(l)\nreturn l\n", "output_0=1 output_1=2 output_2=3"));
    CHECK(gives("return torch.slice([0, 1, 2, 3, 4], 1, 9223372036854775807, 2)\n",
                "output_0=1 output_1=3"));
    CHECK(gives("return torch.slice([0, 1, 2], None, None, -1)\n",
                "output_0=2 output_1=1 output_2=0"));
    CHECK(gives("return torch.slice([0, 1, 2], -1, -9, -2)\n", "output_0=2 output_1=0"));
    CHECK(gives("return ops.prim.rangelist(3)\n", "output_0=0 output_1=1 output_2=2"));
    CHECK(gives("return torch.list_with_default([None, 7], [1, 2, 3])\n", "output_0=2 output_1=7"));
    CHECK(gives("return sorted([2, 1])\n", "output_0=1 output_1=2"));
    CHECK(gives("l = [1, 2]\ntorch.insert(l, 0, 5)\nreturn (torch.pop(l), l[0])\n",
                "output_0=2 output_1=5"));
    CHECK(gives("return torch.__contains__([1, 2], 2)\n", "output=True"));
    CHECK(gives("return torch.eq([1, 2], [1, 3])\n", "output=False"));
    CHECK(gives("return torch.index([4, 5], 5)\n", "output=1"));
    CHECK(gives("return [1, 2][-1]\n", "output=2"));
    CHECK(gives("return [1, 2][2]\n", "! an element that the list does not have"));
    CHECK(gives("a, b, = [1, 2]\nreturn torch.sub(a, b)\n", "output=-1"));
    CHECK(gives("a, b = 1, 2\na, b = b, a\nreturn (a, b)\n", "output_0=2 output_1=1"));
    CHECK(gives("a, b, = [1]\nreturn a\n", "! a list of 1 values is taken apart into 2"));
    CHECK(gives("return ((1, 2, 3))[1:3]\n", "output_0=2 output_1=3"));
}

TEST(dicts) {
    CHECK(gives("d = {\"a\": 1}\ntorch._set_item(d, \"b\", 2)\nreturn d\n", "a=1 b=2"));
    CHECK(gives("d = {\"a\": 1}\nreturn (torch.get(d, \"c\", 7), d[\"a\"])\n",
                "output_0=7 output_1=1"));
    CHECK(gives("d = {\"a\": {\"b\": x}}\nreturn d\n", "a.b=float[b,4]"));
    CHECK(gives("return torch.len(torch.keys({1: 2, 3: 4}))\n", "output=2"));
    CHECK(gives("return {\"a\": 1}[\"b\"]\n", "! a key that the dict does not have"));
}

TEST(strings) {
    CHECK(gives("return torch.eq(torch.format(\"{}-{}\", 1, \"a\"), \"1-a\")\n", "output=True"));
    CHECK(gives("return torch.eq(torch.add(\"a\", \"b\"), \"ab\")\n", "output=True"));
    CHECK(gives("return torch.startswith(\"relu\", \"re\")\n", "output=True"));
    CHECK(gives("return torch.endswith(\"relu\", \"re\")\n", "output=False"));
    CHECK(gives("return torch.__contains__(\"relu\", \"el\")\n", "output=True"));
    CHECK(gives("return torch.len(torch.upper(\"abc\"))\n", "output=3"));
    CHECK(gives("return torch.eq(torch.join(\"-\", [\"a\", \"b\"]), \"a-b\")\n", "output=True"));
    CHECK(gives("return torch.eq(str(3), \"3\")\n", "output=True"));
    CHECK(gives("return torch.eq(torch.percentFormat(\"%d%% of %.2f\", 1, \"a\"), \"1% of a\")\n",
                "output=True"));
    CHECK(gives("return torch.eq(torch.split(\"a,b,,\", \",\"), [\"a\", \"b\", \"\", \"\"])\n",
                "output=True"));
    CHECK(gives("return torch.eq(torch.strip(\" a \"), \"a\")\n", "output=True"));
    CHECK(gives("return torch.len(torch.rstrip(\" a \"))\n", "output=2"));
}

TEST(attributes) {
    CHECK(gives("return self.training\n", "output=False"));
    CHECK(gives("return torch.mul(self.half, self.k)\n", "output=1.5"));
    CHECK(gives("return torch.eq((self.names)[1], \"b\")\n", "output=True"));
    CHECK(gives("self.k = 4\nreturn self.k\n", "output=4"));
    CHECK(
        gives("_0 = torch.append(self.names, \"c\")\nreturn torch.len(self.names)\n", "output=3"));
    CHECK(gives("return getattr(self, \"k\")\n", "output=3"));
    CHECK(gives("return self.nothing\n", "! '__torch__.M' has no attribute 'nothing'"));
}

TEST(types) {
    CHECK(gives("return isinstance(1, int)\n", "output=True"));
    CHECK(gives("return isinstance([x], List[Tensor])\n", "output=True"));
    CHECK(gives("return isinstance([x], List[int])\n", "output=False"));
    CHECK(gives("return isinstance(None, Optional[int])\n", "output=True"));
    CHECK(gives("return isinstance((1, x), Tuple[int, Tensor])\n", "output=True"));
    CHECK(gives("return isinstance({\"a\": 1}, Dict[str, int])\n", "output=True"));
    CHECK(gives("return isinstance(x, (int, Tensor))\n", "output=True"));
    CHECK(gives("return isinstance(self, __torch__.M)\n", "output=True"));
    CHECK(gives("return torch.__is__(None, None)\n", "output=True"));
    CHECK(gives("return torch.__isnot__(x, None)\n", "output=True"));
    CHECK(gives("return unchecked_cast(int, 3)\n", "output=3"));
    CHECK(gives("return annotate(Optional[int], 3)\n", "output=3"));
    CHECK(gives("return ops.prim.dtype(x)\n", "output=6"));
}

TEST(flow) {
    CHECK(gives("s = 0\nfor i in range(4):\n  s = torch.add(s, i)\nreturn s\n", "output=6"));
    CHECK(gives("s = 1\nc = True\nwhile c:\n  s = torch.mul(s, 2)\n  c = torch.lt(s, 100)\n"
                "return s\n",
                "output=128"));
    CHECK(gives("if torch.gt(self.k, 2):\n  y = 1\nelse:\n  y = 2\nreturn y\n", "output=1"));
    CHECK(gives("if self.training:\n  ops.prim.RaiseException(\"no\")\n  y = uninitialized(int)\n"
                "else:\n  y = 2\nreturn y\n",
                "output=2"));
    CHECK(gives("ops.prim.RaiseException(\"no\")\nreturn 1\n",
                "! with these inputs the model raises: no"));
    CHECK(gives("while True:\n  pass\nreturn 1\n", "! the program takes more than"));
    CHECK(gives("def __forked_function():\n  return torch.add(self.k, 1)\n"
                "f = fork(__forked_function)\nreturn torch.wait(f)\n",
                "output=4"));
    CHECK(gives("y = z\nreturn y\n", "! 'z' has no value"));
}

TEST(functions_and_classes) {
    CHECK(code_gives("  def forward(self: __torch__.M, x: Tensor) -> int:\n"
                     "    _0 = __torch__.twice\n"
                     "    return torch.add(_0(3, ), (self).more(b=1))\n"
                     "  def more(self: __torch__.M, a: int=10, b: int=20) -> int:\n"
                     "    return torch.add(a, b)\n"
                     "def twice(n: int) -> int:\n  return torch.mul(n, 2)\n",
                     "output=17"));
    CHECK(code_gives("  def forward(self: __torch__.M, x: Tensor) -> int:\n"
                     "    c = __torch__.C.__new__(__torch__.C)\n"
                     "    _0 = (c).__init__(5, )\n"
                     "    return ((c).get(), c.n)\n"
                     "class C:\n  n : int\n"
                     "  def __init__(self: __torch__.C, n: int) -> NoneType:\n    self.n = n\n"
                     "    return None\n"
                     "  def get(self: __torch__.C) -> int:\n    return torch.add(self.n, 1)\n",
                     "output_0=6 output_1=5"));
    CHECK(code_gives("  def forward(self: __torch__.M, x: Tensor) -> __torch__.P:\n"
                     "    p = __torch__.P(1, x)\n    a, b, = p\n"
                     "    return __torch__.P(torch.add(a, (p)[0]), b)\n"
                     "class P(NamedTuple):\n  n : int\n  t : Tensor\n",
                     "n=2 t=float[b,4]"));
    CHECK(code_gives(
        "  def forward(self: __torch__.M, x: Tensor) -> int:\n"
        "    e = __torch__.E.G\n"
        "    return (torch.eq(e, __torch__.E.G), torch.eq(e, __torch__.E.R), (e).value)\n"
        "class E(Enum):\n  R = 1\n  G = 5\n",
        "output_0=True output_1=False output_2=5"));
    CHECK(code_gives("  def forward(self: __torch__.M, x: Tensor) -> int:\n"
                     "    return __torch__.f(1)\n"
                     "def f(n: int) -> int:\n  return __torch__.f(n)\n",
                     "! more than 100 calls within calls"));
    CHECK(code_gives("  def forward(self: __torch__.M, x: Tensor, y: Optional[Tensor]=None,"
                     " n: int=2) -> int:\n    return (torch.__is__(y, None), n)\n",
                     "output_0=True output_1=2"));
    CHECK(code_gives("  def forward(self: __torch__.M, x: Tensor) -> int:\n"
                     "    return __torch__.missing(1)\n",
                     "! the archive has no code for '__torch__.missing'"));
}

/* A number of the model's: is the first element positive? */
#define DATA "c = bool(torch.gt(torch.sum(x), 0))\n"

TEST(branches_of_the_model) {
    CHECK(gives(DATA "if c:\n  y = torch.neg(x)\nelse:\n  y = x\nreturn y\n",
                "output=float[b,4] @ReduceSum @Greater @If"));
    CHECK(gives(DATA "if c:\n  y = 1\nelse:\n  y = 2\nreturn y\n", "output=?"));
    CHECK(gives(DATA "if c:\n  y = True\nelse:\n  y = False\nreturn y\n",
                "output=? @ReduceSum @Greater"));
    CHECK(gives(DATA "if c:\n  y = torch.lt(torch.len(x), 9)\nelse:\n  y = False\nif y:\n"
                     "  z = x\nelse:\n  z = torch.neg(x)\nreturn z\n",
                "output=float[b,4]"));
    CHECK(gives(DATA "if c:\n  ops.prim.RaiseException(\"no\")\nelse:\n  pass\nreturn x\n",
                "output=float[b,4]"));
    CHECK(gives(DATA "l = [x]\nif c:\n  _0 = torch.append(l, x)\nelse:\n  pass\nreturn l\n",
                "! forward gives a list whose length depends on data"));
    CHECK(gives(DATA "l = annotate(List[Tensor], [])\nif c:\n  _0 = torch.append(l, x)\nelse:\n"
                     "  pass\n_1 = torch.append(l, x)\nreturn (torch.len(l), l[0])\n",
                "output_0=? output_1=float[b,4]"));
    CHECK(gives(DATA "d = annotate(Dict[str, Tensor], {})\nif c:\n"
                     "  torch._set_item(d, \"a\", x)\nelse:\n"
                     "  torch._set_item(d, \"b\", x)\nreturn d\n",
                "! the keys of a dict depend on data"));
    CHECK(gives(DATA "if c:\n  y = (x, None)\nelse:\n  y = (torch.neg(x), x)\n"
                     "a, b, = y\nif torch.__isnot__(b, None):\n"
                     "  z = torch.add(a, unchecked_cast(Tensor, b))\nelse:\n  z = a\nreturn z\n",
                "output=float[b,4]"));
    CHECK(gives(DATA "if c:\n  y = x\nelse:\n  y = None\nreturn y\n",
                "! forward gives None or a value, which depends on data"));
    CHECK(gives(DATA "if c:\n  y = uninitialized(Tuple[Tensor, int])\nelse:\n  y = (x, 3)\n"
                     "a, n, = y\nreturn torch.size(a, 1)\n",
                "output=4"));
    CHECK(gives(DATA "l = [x]\nif c:\n  _0 = torch.append(l, x)\nelse:\n"
                     "  _0 = torch.append(l, torch.neg(x))\nreturn (l[1], torch.len(l))\n",
                "output_0=float[b,4] output_1=2 @ReduceSum @Greater @If"));
    CHECK(gives(DATA "if c:\n  l = [x]\n  _0 = torch.append(l, x)\n  y = torch.len(l)\nelse:\n"
                     "  y = 2\nreturn y\n",
                "output=2"));
    CHECK(gives(DATA "if c:\n  self.k = 1\nelse:\n  pass\nreturn x\n",
                "output=float[b,4] @ReduceSum @Greater @If"));
    CHECK(gives(DATA "if c:\n  self.k = 1\nelse:\n  self.k = 1\nreturn self.k\n", "output=1"));
    CHECK(gives(DATA "if c:\n  _0 = torch.append((self).get(), \"c\")\nelse:\n  pass\nreturn x\n",
                "! "));
    CHECK(gives(DATA "if c:\n  y = x\nelse:\n  y = 1\nreturn y\n", "! "));
}

TEST(loops_of_the_model) {
    CHECK(gives("d = {\"a\": x, \"n\": torch.neg(x)}\nfor i in range(torch.len(x)):\n"
                "  torch._set_item(d, \"a\", torch.neg(d[\"a\"]))\nreturn d\n",
                "a=float[b,4] n=float[b,4]"));
    CHECK(gives("for i in range(torch.len(x)):\n  self.k = torch.add(self.k, i)\n"
                "return self.k\n",
                "output=?"));
    CHECK(gives("y = x\nfor i in range(torch.len(x)):\n  y = torch.neg(y)\nreturn y\n",
                "output=float[b,4]"));
    CHECK(gives("l = [x]\nfor i in range(torch.len(x)):\n  _0 = torch.append(l, torch.neg(x))\n"
                "return (torch.len(l), torch.stack(l, 1), torch.cat(l, -1), l[0])\n",
                "output_0=b + 1 output_1=float[b,b + 1,4] output_2=float[b,4*b + 4] "
                "output_3=float[b,4]"));
    CHECK(gives("l = [1, 2]\nfor i in range(torch.len(x)):\n  _0 = torch.append(l, i)\n"
                "return (torch.tensor(l), l[1])\n",
                "output_0=int64[b + 2] output_1=?"));
    CHECK(gives("l = [x]\nfor i in range(torch.len(x)):\n"
                "  _0 = torch.append(l, torch.neg(l[-1]))\nreturn l[-1]\n",
                "output=float[b,4]"));
    CHECK(gives("l = [x]\nfor i in range(torch.len(x)):\n"
                "  if bool(torch.gt(torch.sum(x), i)):\n    _0 = torch.append(l, x)\n"
                "  else:\n    pass\nreturn torch.select(torch.stack(l), 0, 0)\n",
                "output=float[b,4]"));
    CHECK(gives("p = None\nfor i in range(torch.len(x)):\n  if torch.__is__(p, None):\n"
                "    q = x\n  else:\n    q = torch.neg(unchecked_cast(Tensor, p))\n  p = q\n"
                "return torch.size(unchecked_cast(Tensor, p), 1)\n",
                "output=4"));
    CHECK(gives("l = [x]\nfor i in range(torch.len(x)):\n  _0 = torch.append(l, x)\nreturn l\n",
                "! forward gives a list whose length depends on data"));
    CHECK(gives(DATA "y = x\nk = 0\nwhile c:\n  y = torch.neg(y)\n  k = torch.add(k, 1)\n"
                     "  c = torch.lt(k, 3)\nreturn (y, k)\n",
                "output_0=float[b,4] output_1=?"));
}

/* Lists that the model fills: what programs do with them. */
TEST(lists_of_the_model) {
#define FILL "l = [x]\nfor i in range(torch.len(x)):\n  _0 = torch.append(l, torch.neg(x))\n"
    CHECK(gives(FILL "torch.reverse(l)\nreturn torch.stack(l)\n", "output=float[b + 1,b,4]"));
    CHECK(gives(FILL "_1 = torch.append(l, x)\n_2 = torch.extend(l, [x, x])\n"
                     "return torch.stack(torch.add(l, l))\n",
                "output=float[2*b + 8,b,4]"));
    CHECK(gives(FILL "y = torch.pop(l)\nreturn (y, torch.len(l))\n",
                "output_0=float[b,4] output_1=b"));
    CHECK(gives(FILL "return torch.len(torch.slice(l, 1))\n", "output=b"));
    CHECK(gives(FILL "m = torch.list(l)\n_1 = torch.append(m, x)\nreturn torch.len(l)\n",
                "output=b + 1"));
    CHECK(
        gives(FILL "return torch.index(l, x)\n", "! index of a list whose length depends on data"));
    CHECK(gives("l = [x]\nm = l\nfor i in range(torch.len(x)):\n  l = torch.add(l, [x])\n"
                "return (torch.len(l), torch.len(m))\n",
                "output_0=b + 1 output_1=1"));
    CHECK(gives("l = [x]\nm = l\nfor i in range(torch.len(x)):\n  l = torch.add_(l, [x])\n"
                "return (torch.len(l), torch.len(m))\n",
                "output_0=b + 1 output_1=b + 1"));
    CHECK(gives("l = torch.unbind(x)\ny = torch.zeros([4])\nfor i in range(torch.len(l)):\n"
                "  y = torch.add(y, l[i])\nreturn y\n",
                "output=float[4]"));
    CHECK(gives("l = torch.split(x, 1)\nreturn (torch.len(l), l[0], torch.cat(l))\n",
                "output_0=b output_1=float[1,4] output_2=float[b,4]"));
}

TEST(nested_tensors) {
#define NEST "n = torch._nested_tensor_from_mask(x, torch.gt(x, 0.))\n"
    CHECK(gives(NEST "return torch.to_padded_tensor(n, 0., [torch.size(x, 0), 4])\n",
                "output=float[b,4] @Greater @Where"));
    CHECK(gives(NEST "return ops.prim.is_nested(n)\n", "output=True"));
    CHECK(gives(NEST "return torch.neg(n)\n", "! a nested tensor"));
    CHECK(gives(NEST "return torch.to_padded_tensor(n, 0.)\n",
                "! a nested tensor padded to another size than it had"));
}

/* Which element of a list only the model knows. */
TEST(elements_by_data) {
    CHECK(gives("i = int(torch.sum(x))\nreturn [x, torch.neg(x)][i]\n", "output=float[b,4]"));
    CHECK(gives("i = int(torch.sum(x))\nreturn [5, 6][i]\n", "output=?"));
    CHECK(gives("i = int(torch.sum(x))\nreturn [5, \"a\"][i]\n", "! which element of a list"));
    CHECK(gives("i = int(torch.sum(x))\nl = [x, x]\n_0 = torch._set_item(l, i, torch.neg(x))\n"
                "return l[0]\n",
                "output=float[b,4]"));
    CHECK(gives("i = int(torch.sum(x))\nl = [x, x]\n_0 = torch._set_item(l, i, torch.t(x))\n"
                "return l[0]\n",
                "! an index into a list depends on data"));
}

/* Sizes are taken not to be 0 where a program asks. */
TEST(sizes_are_not_zero) {
    CHECK(gives("if torch.gt(torch.len(x), 0):\n  y = 1\nelse:\n  y = 2\nreturn y\n", "output=1"));
    CHECK(gives("if torch.eq(torch.len(x), 0):\n  y = 1\nelse:\n  y = 2\nreturn y\n", "output=2"));
    CHECK(gives("if torch.lt(0, torch.len(x)):\n  y = 1\nelse:\n  y = 2\nreturn y\n", "output=1"));
    CHECK(gives("if torch.__not__(torch.gt(torch.len(x), 0)):\n  y = 1\nelse:\n  y = 2\n"
                "return y\n",
                "output=2"));
    CHECK(gives("if torch.gt(torch.len(x), 1):\n  y = 1\nelse:\n  y = 2\nreturn y\n", "output=?"));
}

TEST(writes) {
    CHECK(gives("_0 = torch.neg_(x)\nreturn x\n", "output=float[b,4] ~x @Neg"));
    CHECK(gives("y = torch.neg(x)\n_0 = torch.neg_(y)\nreturn x\n", "output=float[b,4] @Neg"));
    CHECK(gives("self.k = 4\nreturn x\n", "output=float[b,4]"));
}

/* What PyTorch knows of memory: views and elementwise results have strides, reshape copies where it
 * must, and what cannot be told is refused. */
TEST(strides) {
    CHECK(gives("return torch.stride(x)\n", "output_0=4 output_1=1"));
    CHECK(gives("y = torch.transpose(x, 0, 1)\nreturn torch.stride(y)\n", "output_0=1 output_1=4"));
    CHECK(gives("y = torch.exp(torch.transpose(x, 0, 1))\nreturn torch.stride(y)\n",
                "output_0=1 output_1=4"));
    CHECK(gives("y = torch.contiguous(torch.transpose(x, 0, 1))\nreturn torch.stride(y)\n",
                "output_0=b output_1=1"));
    CHECK(gives("y = torch.slice(x, 1, -3, None, 2)\n"
                "return (torch.stride(y, 1), torch.storage_offset(y))\n",
                "output_0=2 output_1=1"));
    CHECK(gives("y = torch.expand(torch.unsqueeze(x, 1), [-1, 3, -1])\nreturn torch.stride(y)\n",
                "output_0=4 output_1=0 output_2=1"));
    CHECK(gives("y = torch.unfold(x, 1, 2, 1)\nreturn torch.stride(y)\n",
                "output_0=4 output_1=1 output_2=1"));
    CHECK(gives("y = torch.diagonal(torch.unsqueeze(x, 0), 1, 1, 2)\n"
                "return (torch.stride(y, 1), torch.storage_offset(y))\n",
                "output_0=5 output_1=1"));
    CHECK(gives("return torch.is_contiguous(torch.neg(torch.t(x)))\n", "output=False"));
    CHECK(gives("y = torch.reshape(torch.t(x), [2, 2, -1])\n_0 = torch.neg_(y)\nreturn x\n",
                "output=float[b,4] ~x"));
    CHECK(gives("y = torch.reshape(torch.t(x), [-1])\n_0 = torch.neg_(y)\nreturn x\n",
                "output=float[b,4]"));
    CHECK(gives("y = torch.t(torch.slice(x, 0, 1))\nreturn torch.as_strided(y, [2, 3], [1, 2])\n",
                "output=float[2,3]"));
    CHECK(gives("y = torch.as_strided(x, [2, 2], [4, 1], 1)\n_0 = torch.neg_(y)\nreturn x\n",
                "output=float[b,4] ~x"));
    CHECK(gives("y = torch.as_strided(x, [2, 2], [1, 1])\n_0 = torch.neg_(y)\nreturn x\n",
                "! a write to a view by windows or strides"));
    CHECK(gives("y = torch.nonzero(x)\nreturn torch.stride(y)\n",
                "! the stride of this tensor is only known in a run"));
    CHECK(gives("y = torch.nonzero(x)\nreturn torch.as_strided(y, [2], [1])\n",
                "! as_strided of a tensor of which it is not known how it lies in memory"));
}

TEST(unsupported) {
    CHECK(gives("y = torch.frobnicate(x, 1)\nreturn torch.foo(y)\n",
                "! 2 operators cannot be exported: frobnicate(Tensor, int)"));
    CHECK(gives("y = torch.frobnicate(x, 1)\nif bool(y):\n  z = torch.foo(y)\nelse:\n"
                "  z = torch.bar(y)\nreturn z\n",
                "! 3 operators cannot be exported"));
}

TEST(no_memory) {
    onx_buf bytes =
        make_archive("  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                     "    l = [x]\n    d = {\"a\": self.k}\n"
                     "    for i in range(torch.len(x)):\n      _0 = torch.append(l, torch.neg(x))\n"
                     "    if bool(torch.gt(torch.sum(x), 0)):\n      y = torch.cat(l, 1)\n"
                     "    else:\n      y = torch.neg(torch.cat(l, 1))\n"
                     "    return (y, torch.format(\"{}\", d[\"a\"]), self.names)\n");
    for (size_t at = 1; at < 100000; at += 1 + at / 16) {
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        heap.fail_at = heap.calls + at;
        onx_status status = export(ctx, &bytes, NULL);
        onx_context_free(ctx);
        CHECK_EQ(heap.bytes, 0);
        CHECK_EQ(status, heap.failed ? ONX_NO_MEMORY : ONX_OK);
        if (!heap.failed) break;
    }
    onx_buf_fini(&bytes);
}

TEST_MAIN(E(numbers) E(lists) E(dicts) E(strings) E(attributes) E(types) E(flow)
              E(functions_and_classes) E(branches_of_the_model) E(loops_of_the_model)
                  E(lists_of_the_model) E(nested_tensors) E(elements_by_data) E(sizes_are_not_zero)
                      E(writes) E(strides) E(unsupported) E(no_memory))
