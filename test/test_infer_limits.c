/* test_infer_limits.c: the cost of inference: in proportion to the model, whatever it computes with
 * its sizes, and bounded for models that mean harm. */
#include "test.h"

#include "infer/infer.h"
#include "support.h"

#include <time.h>

#define HEAD "<ir_version: 10, opset_import: [\"\" : 18]>\n"

static onx_model *load(onx_context *ctx, const char *text) {
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    options.format = ONX_FORMAT_TEXT;
    if (onx_model_load_memory(ctx, text, strlen(text), &options, &model, &diag))
        fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    return model;
}

/* ── In proportion ───────────────────────────────────────────────────────────────────────────── */

/* The next node of a chain: a line, with the number of the node before it and its own. */
typedef struct chain {
    const char *name, *head, *line;
} chain;

static const chain chains[] = {
    {"add", "g (float[N,3] x) => (float[] y) {\n v0 = Relu (x)\n", " v%zu = Add (v%zu, x)\n"},
    {"reshape", "g (float[N,M,6] x) => (float[] y) <int64[2] t = {-1, 3}> {\n v0 = Relu (x)\n",
     " v%zu = Reshape (v%zu, t)\n"},
    {"square", "g (float[N,M] x) => (float[] y) {\n v0 = Shape (x)\n",
     " v%zu = Mul (v%zu, v%zu)\n"},
    {"sum", "g (int64[2,M] x) => (float[] y) {\n v0 = NonZero (x)\n",
     " v%zu = Concat <axis = 1> (v%zu, v%zu)\n"},
    {"halve", "g (float[N,M] x) => (float[] y) <int64 k = {3}> {\n v0 = Shape (x)\n",
     " v%zu = Div (v%zu, k)\n"},
    {"least", "g (float[N,M] x, float[K] z) => (float[] y) {\n v0 = Shape (x)\n k = Shape (z)\n",
     " v%zu = Min (v%zu, k)\n"},
    {"window", "g (float[N,C,H,W] x) => (float[] y) {\n v0 = Relu (x)\n",
     " v%zu = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (v%zu)\n"},
    {"loop", "g (float[N,M] x, int64 m, bool b) => (float[] y) {\n v0 = Relu (x)\n",
     " v%zu = Loop (m, b, v%zu) <body = l (int64 i, bool c, float[] a) => (bool d, float[] e) {\n"
     "   d = Identity (c)\n   e = Concat <axis = 0> (a, x)\n }>\n"},
};

static onx_model *chain_of(onx_context *ctx, const chain *c, size_t n) {
    onx_buf text;
    onx_buf_init(&text, onx_context_or_default(NULL));
    onx_buf_puts(&text, HEAD);
    onx_buf_puts(&text, c->head);
    for (size_t i = 1; i < n; i++) { /* lines name the node before them once or twice */
        char line[400];
        (void)snprintf(line, sizeof line, c->line, i, i - 1, i - 1);
        onx_buf_puts(&text, line);
    }
    onx_buf_printf(&text, " y = Identity (v%zu)\n}", n - 1);
    onx_buf_putc(&text, '\0');
    onx_model *model = load(ctx, text.data);
    onx_buf_fini(&text);
    return model;
}

/* Processor time and memory of inference, for each node. */
static bool measure(const chain *c, size_t n, double *us, double *bytes) {
    test_heap heap;
    memset(&heap, 0, sizeof heap);
    onx_context *ctx = test_context(&heap, NULL);
    onx_model *model = chain_of(ctx, c, n);
    onx_facts *facts = NULL;
    size_t before = heap.bytes;
    clock_t start = clock();
    bool done = model && onx_facts_new(model, NULL, &facts, NULL) == ONX_OK;
    *us = (double)(clock() - start) * 1e6 / CLOCKS_PER_SEC / (double)n;
    *bytes = (double)(heap.bytes - before) / (double)n;
    onx_facts_free(facts);
    onx_model_free(model);
    onx_context_free(ctx);
    return done;
}

TEST(linear) {
    for (size_t i = 0; i < ONX_COUNT(chains); i++) {
        double few_us, many_us, few_bytes, many_bytes;
        REQUIRE(measure(&chains[i], 1000, &few_us, &few_bytes));
        REQUIRE(measure(&chains[i], 20000, &many_us, &many_bytes));
        printf("%-8s %6.2f us, %6.0f bytes a node; of 20 times as many %6.2f us, %6.0f bytes\n",
               chains[i].name, few_us, few_bytes, many_us, many_bytes);
        CHECK(many_us < 5 * few_us + 20);
        CHECK(many_bytes < 2 * few_bytes + 1000);
    }
}

/* Graphs inside graphs: what one more level costs. */
TEST(nested) {
    static const char *const forms[] = {
        " y%zu = If (b) <then_branch = t%zu () => (float[] p%zu) {\n",
        " y%zu = Loop (m, b, x) <body = l%zu (int64 i%zu, bool c%zu, float[] a%zu) => (bool d%zu, "
        "float[] p%zu) {\n d%zu = Identity (c%zu)\n"};
    for (size_t form = 0; form < 2; form++) {
        double seconds[2];
        for (size_t deep = 0; deep < 2; deep++) {
            size_t depth = deep ? 30 : 15;
            onx_buf text;
            onx_buf_init(&text, onx_context_or_default(NULL));
            onx_buf_puts(&text, HEAD "g (float[N,3] x, bool b, int64 m) => (float[] y) {\n");
            for (size_t d = depth; d > 0; d--)
                onx_buf_printf(&text, forms[form], d, d, d, d, d, d, d, d, d);
            onx_buf_puts(&text, " y0 = Relu (x)\n");
            for (size_t d = 1; d <= depth; d++)
                onx_buf_printf(&text,
                               form ? " p%zu = Concat <axis = 0> (y%zu, x)\n }>\n"
                                    : " p%zu = Relu (y%zu)\n }, else_branch = e%zu () => (float[] "
                                      "q%zu) { q%zu = Neg (x) }>\n",
                               d, d - 1, d, d, d);
            onx_buf_printf(&text, " y = Relu (y%zu)\n}", depth);
            onx_buf_putc(&text, '\0');
            onx_model *model = load(NULL, text.data);
            onx_facts *facts = NULL;
            REQUIRE(model);
            clock_t start = clock();
            CHECK(onx_facts_new(model, NULL, &facts, NULL) == ONX_OK);
            seconds[deep] = (double)(clock() - start) / CLOCKS_PER_SEC;
            onx_facts_free(facts);
            onx_model_free(model);
            onx_buf_fini(&text);
        }
        printf("%s 15 deep %.4f s, 30 deep %.4f s\n", form ? "Loop" : "If", seconds[0], seconds[1]);
        CHECK(seconds[1] < 0.5);
    }
}

/* ── Harm ────────────────────────────────────────────────────────────────────────────────────── */

static void ignore(void *user, const onx_node *node, const onx_value *value, const onx_diag *diag) {
    ++*(size_t *)user;
    (void)node;
    (void)value;
    CHECK(diag->message[0] && diag->place[0]);
}

static const char *const harm[] = {
    /* sizes beyond all bounds, and what is computed from them */
    HEAD "g (float[9223372036854775807,9223372036854775807,3] x) => (float[] y) {\n"
         " s = Size (x)\n f = Flatten (x)\n h = Shape (x)\n p = Mul (h, h)\n"
         " q = ReduceProd <keepdims = 0> (h)\n a = Add (h, h)\n r = Reshape (x, a)\n"
         " t = Tile (x, h)\n e = Expand (x, p)\n c = Concat <axis = 0> (x, x)\n y = Relu (c)\n}",
    /* division by zero, and by what may be zero */
    HEAD "g (float[N,M] x) => (float[] y) <int64[2] o = {0, 0}, int64 z = {0}, int64 l = "
         "{-9223372036854775808}, int64 m = {-1}> {\n"
         " s = Shape (x)\n d = Div (s, o)\n r = Mod (s, o)\n y = Reshape (x, d)\n"
         " e = Div (l, m)\n f = Div (s, s)\n g = Mod (l, m)\n h = Neg (l)\n i = Abs (l)\n"
         " n = Sub (z, l)\n k = Mul (l, l)\n}",
    HEAD "g (float[N] x) => (float[] y) <int64 z = {0}, int64 a = {5}> {\n"
         " y = Range (a, a, z)\n w = Range (z, a, a)\n}",
    HEAD "g (float[N] x) => (float[] y) <float z = {0}, float a = {5}, float[1] b = {0.1}> {\n"
         " d = Div (a, z)\n e = Cast <to = 7> (d)\n f = Reciprocal (z)\n g = Div (z, z)\n"
         " h = Floor (g)\n i = Cast <to = 7> (h)\n y = Range (z, a, z)\n j = Mul (b, b)\n}",
    /* a cycle, and a name that nobody defines */
    HEAD
    "g (float[N] x) => (float[] y) {\n a = Add (b, x)\n b = Add (a, nothing)\n y = Relu (a)\n}",
    /* declared types that are lies, and sizes that cannot be */
    HEAD "g (float[-5,N] x) => (float[-1] y) <int64[7,7] a, seq(float[2]) b, float[3,3,3] c> {\n"
         " a = Relu (x)\n b = Transpose (a)\n c = Concat <axis = 7> (b, b)\n y = Relu (c)\n}",
    /* lists that are too long, wrong ranks, wrong counts */
    HEAD "g (float[N,2] x) => (float[] y) <int64[2,2] w = {1, 2, 3, 4}, int64[3] t = {4, -1, -1}, "
         "int64[1] far = {9}, float[2] scale = {1e30, -1}> {\n"
         " a = Reshape (x, t)\n b = Expand (x, w)\n c = Tile (x, far)\n d = Gather (w, far)\n"
         " e = Slice (x, far, far, far)\n f = Squeeze (x, far)\n h = Unsqueeze (x, far)\n"
         " i = ReduceSum (x, far)\n j = Split <axis = 0> (x, far)\n k = Pad (x, w)\n"
         " l = TopK (x, far)\n y = ConstantOfShape (w)\n m = OneHot (far, far, t)\n"
         " n = Resize (x, , scale)\n o = ConstantOfShape (far)\n p = Range (far, far, far)\n}",
    /* expressions of expressions */
    HEAD "g (float[N,M,K,L] x) => (float[] y) {\n s = Shape (x)\n t = Transpose (x)\n"
         " u = Shape (t)\n a = Div (s, u)\n b = Mul (a, s)\n c = Min (b, u)\n d = Div (c, a)\n"
         " e = Max (d, b)\n f = Mul (e, e)\n h = Mul (f, f)\n i = Div (h, f)\n j = Mod (i, e)\n"
         " k = Min (j, i)\n l = Mul (k, k)\n m = Div (l, k)\n n = Add (m, l)\n o = Mul (n, n)\n"
         " y = Expand (x, o)\n}",
};

TEST(hostile) {
    for (size_t i = 0; i < ONX_COUNT(harm); i++) {
        test_heap heap;
        memset(&heap, 0, sizeof heap);
        onx_context *ctx = test_context(&heap, NULL);
        onx_model *model = load(ctx, harm[i]);
        size_t reports = 0;
        onx_facts_options options = {.report = ignore, .user = &reports};
        onx_facts *facts = NULL;
        if (!CHECK(model)) fprintf(stderr, "    case %zu\n", i);
        clock_t start = clock();
        if (model) CHECK(onx_facts_new(model, &options, &facts, NULL) == ONX_OK);
        CHECK((double)(clock() - start) < 0.5 * CLOCKS_PER_SEC);
        CHECK(heap.peak < (size_t)64 << 20);
        onx_facts_free(facts);
        onx_model_free(model);
        onx_context_free(ctx);
        CHECK_EQ(heap.blocks, 0);
    }
}

TEST_MAIN(E(linear) E(nested) E(hostile))
