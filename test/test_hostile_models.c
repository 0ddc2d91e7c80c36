/* Models that are well-formed files and bad models: cycles, recursion, functions that double at
 * every level, deep nesting, long chains, wrong and huge sizes, lies about types. Every tool ends
 * within a second of processor time, in 256 MiB of memory and on a stack of 256 KiB. */
#include "every_tool.h"
#include "test.h"

#include <pthread.h>
#include <stdarg.h>

#ifdef ONX_SANITIZED /* frames are larger there */
enum { STACK = 2 << 20, MEMORY = 256 << 20 };
#else
enum { STACK = 256 << 10, MEMORY = 256 << 20 };
#endif

typedef struct text {
    test_bytes bytes;
} text;

static void put(text *t, const char *fmt, ...) {
    char line[1024];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    test_put(&t->bytes, line, (size_t)n);
}

static void head(text *t) {
    put(t, "<ir_version: 10, opset_import: [\"\" : 21, \"f\" : 1]>\n"
           "g (float[N,4] x, bool c, int64[4] s) => (float[] y) {\n");
}

/* ── Cycles ── */

static void ring(text *t, size_t n) {
    head(t);
    put(t, "v0 = Add (x, v%zu)\n", n - 1);
    for (size_t i = 1; i < n; i++) put(t, "v%zu = Relu (v%zu)\n", i, i - 1);
    put(t, "y = Relu (v%zu)\n}\n", n - 1);
}
static void self_edge(text *t) {
    ring(t, 1);
}
static void two_ring(text *t) {
    ring(t, 2);
}
static void long_ring(text *t) {
    ring(t, 50000);
}
static void captured_ring(text *t) {
    head(t);
    put(t, "a = If (c) <then_branch = t () => (float p) { p = Relu (b) },"
           " else_branch = e () => (float q) { q = Relu (x) }>\nb = Neg (a)\ny = Relu (b)\n}\n");
}
static void same_name_twice(text *t) {
    head(t);
    put(t, "a = Relu (x)\na = Neg (x)\nx = Relu (a)\ny = Add (a, x)\n}\n");
}
static void undefined_names(text *t) {
    head(t);
    put(t, "a = Add (nowhere, x)\ny, z = Split (a, nothing)\n}\n");
}

/* ── Functions ── */

static void function(text *t, size_t i, const char *body, ...) {
    char nodes[512];
    va_list args;
    va_start(args, body);
    vsnprintf(nodes, sizeof nodes, body, args);
    va_end(args);
    put(t, "<domain: \"f\", opset_import: [\"\" : 21, \"f\" : 1]>\nF%zu (a) => (b) {\n%s}\n", i,
        nodes);
}
static void call(text *t) {
    head(t);
    put(t, "y = f.F0 (x)\n}\n");
}
static void self_call(text *t) {
    call(t);
    function(t, 0, "b = f.F0 (a)\n");
}
static void ring_of_calls(text *t) {
    call(t);
    for (size_t i = 0; i < 1000; i++) function(t, i, "b = f.F%zu (a)\n", (i + 1) % 1000);
}
static void call_in_branch(text *t) {
    call(t);
    function(t, 0,
             "k = Constant <value_int = 1> ()\nd = Cast <to = 9> (k)\n"
             "b = If (d) <then_branch = t () => (p) { p = f.F1 (a) },"
             " else_branch = e () => (q) { q = Relu (a) }>\n");
    function(t, 1, "b = f.F0 (a)\n");
}
static void doubling_to(text *t, size_t n) {
    call(t);
    for (size_t i = 0; i + 1 < n; i++)
        function(t, i, "p = f.F%zu (a)\nb = f.F%zu (p)\n", i + 1, i + 1);
    function(t, n - 1, "b = Relu (a)\n");
}
static void doubling(text *t) {
    doubling_to(t, 100);
}
static void doubling_more(text *t) {
    doubling_to(t, 1000);
}
/* Each call makes the shape another one, so that no two calls are alike. */
static void doubling_growth(text *t) {
    call(t);
    for (size_t i = 0; i < 40; i++)
        function(t, i,
                 "p = Concat <axis = 0> (a, a)\nq = f.F%zu (a)\nr = f.F%zu (p)\n"
                 "b = Concat <axis = 0> (q, r)\n",
                 i + 1, i + 1);
    function(t, 40, "b = Relu (a)\n");
}
static void wrong_calls(text *t) {
    head(t);
    put(t, "p, q = f.F0 (x, x, x)\nr = f.F0 ()\ns2 = f.F0 <unknown = 1> (x)\n"
           "y = f.Missing (p, q, r, s2)\n}\n");
    function(t, 0, "b = Softmax <axis : int = @nothing> (a, undefined)\n");
}

/* ── Nesting ── */

static void nested(text *t, const char *open, const char *inner, const char *close, size_t n) {
    head(t);
    for (size_t i = 0; i < n; i++) put(t, open, i, i, i, i);
    put(t, inner, n);
    for (size_t i = n; i-- > 0;) put(t, close, i, i, i, i);
    put(t, "y = Identity (o0)\n}\n");
}
static void nested_ifs(text *t) {
    nested(t,
           "o%zu = If (c) <else_branch = e%zu () => (float[] f%zu) { f%zu = Relu (x) },"
           " then_branch = g () => (float[] t) {\n",
           "o%zu = Relu (x)\n", "t = Identity (x) }>\n", 30);
}
static void nested_loops(text *t) {
    nested(t,
           "m%zu = Constant <value_int = 3> ()\no%zu = Loop (m%zu, , x)"
           " <body = b (int64 i, bool k, float[] v) => (bool l, float[] w) {\n",
           "u%zu = Relu (x)\n", "l = Identity (k)\nw = Concat <axis = 0> (v, x) }>\n", 30);
}

/* ── Sizes ── */

static void symbols_doubled(text *t) {
    head(t);
    put(t, "v0 = Relu (x)\n");
    for (size_t i = 1; i < 10000; i++)
        put(t, "v%zu = Concat <axis = 0> (v%zu, v%zu)\n", i, i - 1, i - 1);
    put(t, "y = Relu (v9999)\n}\n");
}
static void products_doubled(text *t) {
    head(t);
    put(t, "n0 = Shape (x)\n");
    for (size_t i = 1; i < 5000; i++) {
        put(t, "m%zu = Add (n%zu, n%zu)\n", i, i - 1, i - 1);
        put(t, "n%zu = Mul (m%zu, m%zu)\n", i, i, i);
    }
    put(t, "y = Expand (x, n4999)\n}\n");
}
static void many_symbols(text *t) {
    put(t, "<ir_version: 10, opset_import: [\"\" : 21]>\ng (float[N0] x0");
    for (size_t i = 1; i < 3000; i++) put(t, ", float[N%zu] x%zu", i, i);
    put(t, ") => (float[] y) {\ny0 = Identity (x0)\n");
    for (size_t i = 1; i < 3000; i++)
        put(t, "y%zu = Concat <axis = 0> (y%zu, x%zu)\n", i, i - 1, i);
    put(t, "y = Relu (y2999)\n}\n");
}
static void division_by_zero(text *t) {
    static const char *const ops[] = {"Div", "Mod"};
    static const char *const values[] = {"0", "-1", "-9223372036854775808", "9223372036854775807"};
    head(t);
    put(t, "n = Shape (x)\n");
    for (size_t o = 0; o < 2; o++)
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < 4; j++)
                put(t,
                    "a%zu%zu%zu = Constant <value_int = %s> ()\n"
                    "b%zu%zu%zu = Constant <value_int = %s> ()\n"
                    "r%zu%zu%zu = %s (a%zu%zu%zu, b%zu%zu%zu)\nq%zu%zu%zu = %s (n, b%zu%zu%zu)\n"
                    "z%zu%zu%zu = Expand (x, q%zu%zu%zu)\n",
                    o, i, j, values[i], o, i, j, values[j], o, i, j, ops[o], o, i, j, o, i, j, o, i,
                    j, ops[o], o, i, j, o, i, j, o, i, j);
    put(t, "y = Relu (x)\n}\n");
}
static void shape_of_any_length(text *t) {
    put(t, "<ir_version: 10, opset_import: [\"\" : 21]>\n"
           "g (float[2] x, int64[1099511627776] s, float[1099511627776] f) => (float[] y) {\n"
           "a = Expand (x, s)\nb = Reshape (x, s)\nc = ConstantOfShape (s)\nd = Tile (x, s)\n"
           "e = Pad (x, s)\nk = Resize (x, , f, )\nl = Slice (x, s, s)\n"
           "m = ReduceSum (x, s)\ny = Unsqueeze (x, s)\n}\n");
}
static void huge_results(text *t) {
    static const char *const nodes[] = {
        "a = ConstantOfShape (h)\n",
        "b = Expand (x, h)\n",
        "d = Tile (x, h2)\n",
        "e = Range (zero, big, one)\n",
        "k = OneHot (i, big, ab)\n",
        "l = Pad (x, p)\n",
        "m = Resize (x, , , h2)\n",
        "o, o2 = TopK (x, big1)\n",
        "q = HannWindow (big)\n",
        "r = RandomNormal <shape = [4611686018427387904, 4611686018427387904]> ()\n",
    };
    put(t, "<ir_version: 10, opset_import: [\"\" : 21]>\n"
           "g (float[N,4] x) => (float[] y)\n"
           "<int64[3] h = {4611686018427387904, 3, 9223372036854775807},"
           " int64[2] h2 = {4611686018427387904, 9223372036854775807},"
           " int64 zero = {0}, int64 one = {1}, int64 big = {9223372036854775807},"
           " int64[1] big1 = {9223372036854775807}, int64[2] i = {1, 2}, float[2] ab = {0, 1},"
           " int64[4] p = {9223372036854775807, 9223372036854775807, 1, 1}> {\n");
    for (size_t i = 0; i < ONX_COUNT(nodes); i++) put(t, "%s", nodes[i]);
    put(t, "y = Relu (x)\n}\n");
}
static void lies(text *t) {
    put(t, "<ir_version: 10, opset_import: [\"\" : 21]>\n"
           "g (float[N,4] x, int64[2] s) => (int32[7,7,7] y)\n"
           "<string[3] a, seq(float) b, float[-5] c, float[9223372036854775807,2] d,"
           " optional(int64[2]) e, float[2] n> {\n"
           "a = Relu (x)\nb = Add (a, x)\nc = Transpose <perm = [1,0]> (b)\nd = MatMul (c, b)\n"
           "e = Softmax <axis = 5> (d)\nn = Shape (e)\ny = Reshape (e, n)\n}\n");
}
static void many_dims(text *t) {
    put(t, "<ir_version: 10, opset_import: [\"\" : 21]>\ng (float[1");
    for (size_t i = 0; i < 1000; i++) put(t, ",1");
    put(t, "] x) => (float[] y) {\na = Transpose (x)\nb = Add (a, x)\nd = Shape (b)\n"
           "e = Reshape (b, d)\nf = Squeeze (e)\ny = MatMul (b, e)\n}\n");
}

/* ── Large ── */

static void chain(text *t) {
    head(t);
    put(t, "v0 = Relu (x)\n");
    for (size_t i = 1; i < 50000; i++) put(t, "v%zu = Relu (v%zu)\n", i, i - 1);
    put(t, "y = Relu (v49999)\n}\n");
}
static void backward_chain(text *t) {
    head(t);
    put(t, "y = Relu (v0)\n");
    for (size_t i = 0; i < 50000; i++) put(t, "v%zu = Relu (v%zu)\n", i, i + 1);
    put(t, "v50000 = Relu (x)\n}\n");
}
static void star(text *t) {
    head(t);
    for (size_t i = 0; i < 50000; i++) put(t, "v%zu = Relu (x)\n", i);
    put(t, "y = Sum (v0");
    for (size_t i = 1; i < 50000; i++) put(t, ", v%zu", i);
    put(t, ")\n}\n");
}
static void many_outputs(text *t) {
    head(t);
    put(t, "o0");
    for (size_t i = 1; i < 50000; i++) put(t, ", o%zu", i);
    put(t, " = Split <num_outputs = 50000> (x)\ny = Relu (o7)\n}\n");
}
static void many_opsets(text *t) {
    put(t, "<ir_version: 10, opset_import: [\"\" : 21, \"\" : 7, \"ai.onnx\" : -3, \"a\" : 0,"
           " \"b\" : 9223372036854775807");
    for (size_t i = 0; i < 900; i++) put(t, ", \"d%zu\" : 1", i);
    put(t, "]>\ng (float x) => (float y) { a = b.Op (x)\nz = a.Op (x)\ny = Relu (x) }\n");
}

static const struct {
    const char *name;
    void (*make)(text *t);
} families[] = {
#define F(name) {#name, name},
    F(self_edge) F(two_ring) F(long_ring) F(captured_ring) F(same_name_twice) F(undefined_names)
        F(self_call) F(ring_of_calls) F(call_in_branch) F(doubling) F(doubling_more)
            F(doubling_growth) F(wrong_calls) F(nested_ifs) F(nested_loops) F(symbols_doubled)
                F(products_doubled) F(many_symbols) F(division_by_zero) F(shape_of_any_length)
                    F(huge_results) F(lies) F(many_dims) F(chain) F(backward_chain) F(star)
                        F(many_outputs) F(many_opsets)
#undef F
};

static size_t bad;
static const char *only; /* NULL: all */

static void *run_families(void *unused) {
    (void)unused;
    for (size_t i = 0; i < ONX_COUNT(families); i++) {
        if (only && strcmp(only, families[i].name) != 0) continue;
        text t = {{NULL, 0, 0}};
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        onx_model *model = NULL;
        onx_diag diag = ONX_INIT(onx_diag);
        onx_load_options options = ONX_INIT(onx_load_options);
        options.format = ONX_FORMAT_TEXT;
        families[i].make(&t);
        onx_status status =
            onx_model_load_memory(ctx, t.bytes.data, t.bytes.size, &options, &model, &diag);
        size_t loaded = heap.bytes; /* what edits a model gets a copy of it */
        bool ok = status == ONX_OK && every_tool(model, families[i].name);
        onx_model_free(model);
        onx_context_free(ctx);
        if (!ok || heap.bytes || heap.peak > MEMORY + loaded) {
            fprintf(stderr, "    %s: %s %s, %zu bytes at most, %zu left\n", families[i].name,
                    diag.place, diag.message, heap.peak, heap.bytes);
            bad++;
        }
        test_bytes_free(&t.bytes);
    }
    return NULL;
}

TEST(hostile_models) {
    pthread_attr_t attr;
    pthread_t thread;
    only = getenv("ONLY");
    pthread_attr_init(&attr);
    CHECK_EQ(pthread_attr_setstacksize(&attr, STACK), 0);
    REQUIRE(pthread_create(&thread, &attr, run_families, NULL) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    CHECK_EQ(bad, 0);
}

TEST_MAIN(E(hostile_models))
