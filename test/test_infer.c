/* test_infer.c: inference: models as text, and what is known about their values afterwards. */
#include "test.h"

#include "infer/infer.h"
#include "support.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"

static onx_model *load(const char *text) {
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    options.format = ONX_FORMAT_TEXT;
    if (onx_model_load_memory(NULL, text, strlen(text), &options, &model, &diag))
        fprintf(stderr, "    %s: %s\n%s\n", diag.place, diag.message, text);
    return model;
}

/* "float[N,3]", and the elements behind it where some are known: "int64[2] = N 3". */
static void print(const onx_fact *fact, onx_buf *out) {
    onx_fact_print(fact, out);
    if (fact->elems) onx_buf_puts(out, " =");
    for (size_t i = 0; fact->elems && i < fact->n_elems; i++) {
        onx_buf_putc(out, ' ');
        if (fact->elems[i])
            onx_sym_print(fact->elems[i], out);
        else
            onx_buf_putc(out, '?');
    }
    onx_buf_putc(out, '\0');
}

/* Is this known about the value `name` of the graph, or of a graph inside it? */
static bool is(const onx_facts *facts, const onx_graph *graph, const char *name,
               const char *expected) {
    onx_value *value = onx_graph_find(graph, name);
    for (const onx_graph *sub = onx_graph_sub_first(graph); sub && !value;
         sub = onx_graph_sub_next(sub))
        value = onx_graph_find(sub, name);
    onx_buf text;
    onx_buf_init(&text, onx_context_or_default(NULL));
    print(onx_facts_of(facts, value), &text);
    bool same = strcmp(text.data, expected) == 0;
    if (!same) fprintf(stderr, "    %s: %s, expected %s\n", name, text.data, expected);
    onx_buf_fini(&text);
    return same;
}

typedef struct expectation {
    const char *value, *fact;
} expectation;

/* Infer, and compare; pairs of value and fact end with a NULL. */
static bool infers_with(const onx_facts_options *options, const char *text,
                        const expectation *all) {
    onx_model *model = load(text);
    onx_facts *facts = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    bool good = model && onx_facts_new(model, options, &facts, &diag) == ONX_OK;
    if (!good) fprintf(stderr, "    %s: %s (%s)\n", diag.place, diag.message, diag.hint);
    for (; good && all->value; all++)
        good = is(facts, onx_model_graph(model), all->value, all->fact);
    onx_facts_free(facts);
    onx_model_free(model);
    return good;
}

#define INFERS(text, ...) CHECK(infers_with(NULL, text, (expectation[]){__VA_ARGS__, {NULL, NULL}}))

/* The model is refused with a sentence that contains `words`. */
static bool fails(const char *text, const char *words) {
    onx_model *model = load(text);
    onx_facts *facts = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    bool failed = model && onx_facts_new(model, NULL, &facts, &diag) == ONX_INVALID;
    bool good = failed && strstr(diag.message, words) && strstr(diag.place, "node '");
    if (!good) fprintf(stderr, "    %s: \"%s\"\n%s\n", diag.place, diag.message, text);
    if (!failed) onx_facts_free(facts);
    onx_model_free(model);
    return good;
}

TEST(reshape) {
    INFERS(HEAD(21) "g (float[N,3,H] x, float[] u) => (float[] y) {\n"
                    "  s = Constant<value_ints = [0, -1]> ()\n"
                    "  y = Reshape (x, s)\n"
                    "  t = Constant<value = int64[3] {0, 0, 2}> ()\n"
                    "  z = Reshape (x, t)\n"
                    "  v = Reshape (u, s)\n"
                    "  f = Flatten<axis = 2> (x)\n"
                    "}",
           {"s", "int64[2] = 0 -1"}, {"y", "float[N,3*H]"}, {"z", "float[N,3,2]"},
           {"v", "float[?0,?1]"}, {"f", "float[3*N,H]"});
    CHECK(fails(HEAD(21) "g (float[2,3] x) => (float[] y) {\n"
                         "  s = Constant<value_ints = [4, -1]> ()\n"
                         "  y = Reshape (x, s)\n}",
                "6 elements do not fit"));
    CHECK(fails(HEAD(21) "g (float[2,3] x) => (float[] y) {\n"
                         "  s = Constant<value_ints = [-1, -1]> ()\n"
                         "  y = Reshape (x, s)\n}",
                "more than once"));
    CHECK(fails(HEAD(21) "g (float[2,3] x) => (float[] y) {\n"
                         "  s = Constant<value_ints = [1, 2, 0]> ()\n"
                         "  y = Reshape (x, s)\n}",
                "copies size 2"));
    INFERS(HEAD(21) "g (float[0,3] x) => (float[] y) {\n"
                    "  s = Constant<value_ints = [3, 0]> ()\n"
                    "  y = Reshape<allowzero = 1> (x, s)\n}",
           {"y", "float[3,0]"});
}

/* The sizes of a tensor, taken apart and put together again, as exporters write it. */
TEST(shape_arithmetic) {
    INFERS(HEAD(17) "g (float[N,C,H,W] x) => (float[] y) {\n"
                    "  s = Shape (x)\n"
                    "  i0 = Constant<value_int = 0> ()\n"
                    "  i2 = Constant<value = int64[2] {2, -1}> ()\n"
                    "  n = Gather (s, i0)\n"
                    "  hw = Gather (s, i2)\n"
                    "  a0 = Constant<value_ints = [0]> ()\n"
                    "  nn = Unsqueeze (n, a0)\n"
                    "  m = Constant<value_ints = [-1]> ()\n"
                    "  t = Concat<axis = 0> (nn, m, hw)\n"
                    "  y = Reshape (x, t)\n"
                    "  c = Shape<start = 1, end = -2> (x)\n"
                    "  cs = Squeeze (c)\n"
                    "  size = Size (x)\n"
                    "  st = Constant<value_ints = [1]> ()\n"
                    "  en = Constant<value_ints = [9223372036854775807]> ()\n"
                    "  tail = Slice (s, st, en)\n"
                    "  e = Expand (i0, tail)\n"
                    "}",
           {"s", "int64[4] = N C H W"}, {"n", "int64 = N"}, {"nn", "int64[1] = N"},
           {"hw", "int64[2] = H W"}, {"t", "int64[4] = N -1 H W"}, {"y", "float[N,C,H,W]"},
           {"c", "int64[1] = C"}, {"cs", "int64 = C"}, {"size", "int64 = N*C*H*W"},
           {"tail", "int64[3] = C H W"}, {"e", "int64[C,H,W]"});
}

TEST(slices) {
    INFERS(HEAD(13) "g (float[N,10] x) => (float[] y) {\n"
                    "  one = Constant<value_ints = [1]> ()\n"
                    "  zero = Constant<value_ints = [0]> ()\n"
                    "  three = Constant<value_ints = [3]> ()\n"
                    "  big = Constant<value_ints = [9223372036854775807]> ()\n"
                    "  low = Constant<value_ints = [-9223372036854775808]> ()\n"
                    "  last = Constant<value_ints = [-1]> ()\n"
                    "  two = Constant<value_ints = [2]> ()\n"
                    "  a = Slice (x, one, big, one)\n"
                    "  b = Slice (x, last, low, one, last)\n"
                    "  c = Slice (x, zero, big)\n"
                    "  d = Slice (x, one, big)\n"
                    "  e = Slice (x, last, big)\n"
                    "  f = Slice (x, zero, big, one, three)\n"
                    "  h = Slice (x, zero, last, zero, two)\n"
                    "  i = Slice (x, three, one, one)\n"
                    "  s = Shape (x)\n"
                    "  n = Slice (s, zero, one)\n"
                    "  j = Slice (x, zero, n, zero)\n"
                    "}",
           {"a", "float[N,9]"}, {"b", "float[N,10]"}, {"c", "float[N,10]"},
           {"d", "float[max(N, 1) - 1,10]"}, {"e", "float[min(N, 1),10]"}, {"f", "float[N,4]"},
           {"h", "float[floor(max(N, 1)/2),10]"}, {"i", "float[N,0]"}, {"j", "float[N,10]"});
    CHECK(fails(HEAD(13) "g (float[N,10] x) => (float[] y) {\n"
                         "  zero = Constant<value_ints = [0]> ()\n"
                         "  y = Slice (x, zero, zero, zero, zero)\n}",
                "step 0 is 0"));
    CHECK(fails(HEAD(13) "g (float[N,10] x) => (float[] y) {\n"
                         "  a = Constant<value_ints = [0, -2]> ()\n"
                         "  y = Slice (x, a, a, a)\n}",
                "twice"));
}

TEST(others) {
    INFERS(HEAD(18) "g (float[N,4,6] x, int64[K] i, float[2,?,6] w) => (float[] y) {\n"
                    "  t = Transpose<perm = [2, 0, 1]> (x)\n"
                    "  r = Transpose (x)\n"
                    "  c = Concat<axis = 1> (x, w)\n"
                    "  p, q, l = Split<axis = 2, num_outputs = 3> (x)\n"
                    "  g = Gather<axis = 1> (x, i)\n"
                    "  u = NonZero (x)\n"
                    "  pads = Constant<value_ints = [1, 0, 2, 1, 0, -1]> ()\n"
                    "  pd = Pad (x, pads)\n"
                    "  s = Shape (x)\n"
                    "  z = ConstantOfShape<value = int64[1] {7}> (s)\n"
                    "  a = Constant<value_int = 3> ()\n"
                    "  b = Constant<value_int = 10> ()\n"
                    "  d = Constant<value_int = 2> ()\n"
                    "  range = Range (a, b, d)\n"
                    "  reps = Constant<value_ints = [2, 1, 3]> ()\n"
                    "  tile = Tile (x, reps)\n"
                    "  cond = Constant<value = bool[2] {1, 0}> ()\n"
                    "  flat = Compress (x, cond)\n"
                    "}",
           {"t", "float[6,N,4]"}, {"r", "float[6,4,N]"}, {"c", "float[2,?0 + 4,6]"},
           {"q", "float[N,4,2]"}, {"g", "float[N,K,6]"}, {"u", "int64[3,?1]"},
           {"pd", "float[N + 2,4,7]"}, {"z", "int64[N,4,6]"}, {"range", "int64[4] = 3 5 7 9"},
           {"tile", "float[2*N,4,18]"}, {"cond", "bool[2] = 1 0"}, {"flat", "float[1]"});
}

/* Sizes on their way through floats, tables and choices, as exporters write it. */
TEST(elements) {
    INFERS(HEAD(18) "g (float[N,C,H,W] x) => (float[] y)\n"
                    "<float half = {0.5}, float two = {2}, float third = {3}, int64[1] a2 = {2},\n"
                    " int64[2] hw = {2, 3}, int64[1] zero = {0}, int64[2] rows = {-1, 2},\n"
                    " int64[1] big = {9223372036854775807}, int64[1] m1 = {-1}, int64[1] lo = \n"
                    " {-9223372036854775807}, int64[4] none = {0, 0, 0, 0}, int64 minus = {-1}> {\n"
                    "  s = Shape (x)\n"
                    "  i = Gather (s, hw)\n"
                    "  f = Cast<to = 1> (i)\n"
                    "  h = Mul (f, half)\n"
                    "  fl = Floor (h)\n"
                    "  down = Cast<to = 7> (fl)\n"
                    "  up = Mul (f, two)\n"
                    "  more = Cast<to = 7> (up)\n"
                    "  d = Div (f, third)\n"
                    "  c = Ceil (d)\n"
                    "  ceil = Cast<to = 7> (c)\n"
                    "  pads = Concat<axis = 0> (i, none, down)\n"
                    "  table = Reshape (pads, rows)\n"
                    "  turned = Slice (table, m1, lo, zero, m1)\n"
                    "  t = Transpose (turned)\n"
                    "  flat = Reshape (t, m1)\n"
                    "  is = Equal (s, minus)\n"
                    "  w = Where (is, none, s)\n"
                    "  grown = Expand (two, w)\n"
                    "  cmp = Less (i, i)\n"
                    "  set = ScatterElements (s, zero, a2)\n"
                    "  p = ReduceProd<keepdims = 0> (s)\n"
                    "  nz = NonZero (hw)\n"
                    "  y = Relu (x)\n"
                    "}",
           {"f", "float[2] = H W"}, {"down", "int64[2] = floor(H/2) floor(W/2)"},
           {"more", "int64[2] = 2*H 2*W"}, {"ceil", "int64[2] = ceil(H/3) ceil(W/3)"},
           {"table", "int64[4,2] = H W 0 0 0 0 floor(H/2) floor(W/2)"},
           {"turned", "int64[4,2] = floor(H/2) floor(W/2) 0 0 0 0 H W"},
           {"t", "int64[2,4] = floor(H/2) 0 0 H floor(W/2) 0 0 W"},
           {"flat", "int64[8] = floor(H/2) 0 0 H floor(W/2) 0 0 W"}, {"is", "bool[4] = 0 0 0 0"},
           {"grown", "float[N,C,H,W]"}, {"cmp", "bool[2] = 0 0"}, {"set", "int64[4] = 2 C H W"},
           {"p", "int64 = N*C*H*W"}, {"nz", "int64[1,2] = 0 1"});
    /* What is always chosen, and what never runs. */
    INFERS(HEAD(18) "g (float[N,3] x) => (float[] y) <int64 one = {1}> {\n"
                    "  s = Shape (x)\n"
                    "  c = Gather (s, one)\n"
                    "  is = Greater (c, one)\n"
                    "  y = If (is) <then_branch = t () => (float[] p) { p = Transpose (x) },\n"
                    "    else_branch = e () => (float[] q) { q = Transpose<perm = [7]> (x) }>\n}",
           {"is", "bool = 1"}, {"y", "float[3,N]"}, {"q", "float[]"});
}

/* Facts that are not to believe what a file says about itself. */
TEST(sceptical) {
    onx_facts_options options = {.sceptical = true};
    CHECK(infers_with(&options,
                      HEAD(18) "g (float[2,N] x) => (int64[2,5] y) <int64[2,5] z> {\n"
                               "  z = NonZero (x)\n  y = Identity (z)\n}",
                      (expectation[]){{"z", "int64[2,?0]"}, {"y", "int64[2,?0]"}, {NULL, NULL}}));
}

static bool has_type(const onx_model *model, const char *name, const char *expected) {
    char text[200];
    const onx_value *value = onx_graph_find(onx_model_graph(model), name);
    onx_type_format(value ? onx_value_type(value) : NULL, text, sizeof text);
    bool same = strcmp(text, expected) == 0;
    if (!same) fprintf(stderr, "    %s: %s, expected %s\n", name, text, expected);
    return same;
}

/* The functions of onx.h. */
TEST(public) {
    static const char text[] =
        HEAD(18) "g (float[N,M] x, seq(float[3]) l) => (float[] y, float[K,2] z, float[N] w)\n"
                 "<float[7] a> {\n"
                 "  a = Concat<axis = 1> (x, x)\n  y = Transpose (a)\n  b = NonZero (x)\n"
                 "  z = Transpose (x)\n  m = Identity (l)\n  w = Concat<axis = 0> (x, x)\n}";
    onx_model *model = load(text);
    onx_inference *inference = NULL;
    onx_infer_options options = ONX_INIT(onx_infer_options);
    onx_diag diag = ONX_INIT(onx_diag);
    char out[300];
    REQUIRE(model && onx_inference_new(model, &options, &inference, &diag) == ONX_OK);
    const onx_value *y = onx_graph_find(onx_model_graph(model), "y");
    const onx_value *b = onx_graph_find(onx_model_graph(model), "b");
    CHECK(onx_inference_type(inference, y, out, sizeof out) == 12 && !strcmp(out, "float[2*M,N]"));
    CHECK(onx_inference_rank(inference, y) == 2 && onx_inference_dim(inference, y, 0) == -1);
    CHECK(onx_inference_dim_kind(inference, y, 0) == ONX_EXTENT_SYMBOLIC);
    CHECK(onx_inference_dim_kind(inference, b, 1) == ONX_EXTENT_UNKNOWN);
    CHECK(onx_inference_dim(inference, b, 0) == 2);
    CHECK(onx_inference_why(inference, b, 1, out, sizeof out) > 0 && strstr(out, "NonZero"));
    CHECK(onx_inference_why(inference, b, 0, out, sizeof out) == 0);
    CHECK(onx_inference_kind(inference, NULL) == ONX_TYPE_NONE);
    onx_inference_free(inference);
    options.strict = true;
    CHECK(onx_inference_new(model, &options, &inference, &diag) == ONX_INVALID);
    CHECK(strstr(diag.message, "is declared as float[7], but is float[N,2*M]"));
    CHECK(onx_model_infer(model, &options, &diag) == ONX_INVALID &&
          has_type(model, "y", "float[]"));
    options = (onx_infer_options){.size = sizeof options};
    CHECK(onx_model_infer(model, &options, &diag) == ONX_OK);
    CHECK(has_type(model, "a", "float[N,\"2*M\"]") && has_type(model, "y", "float[\"2*M\",N]"));
    CHECK(has_type(model, "b", "int64[2,?]") && has_type(model, "z", "float[K,2]"));
    CHECK(has_type(model, "m", "seq(float[3])") && has_type(model, "w", "float[N]"));
    options.n_sizes = 1;
    options.sizes = (onx_size[]){{"M", 4}};
    CHECK(onx_model_infer(model, &options, &diag) == ONX_OK);
    CHECK(has_type(model, "a", "float[N,8]") && has_type(model, "x", "float[N,4]"));
    CHECK(onx_model_infer(NULL, NULL, &diag) == ONX_USAGE);
    onx_model_free(model);
}

/* Why is dimension `dim` of the value not known? The lines contain these words, in this order. */
static bool tells(const char *text, const char *name, size_t dim, const char *const *words) {
    onx_model *model = load(text);
    onx_facts *facts = NULL;
    onx_buf why;
    onx_buf_init(&why, onx_context_or_default(NULL));
    bool good = model && onx_facts_new(model, NULL, &facts, NULL) == ONX_OK;
    if (good) onx_facts_why(facts, onx_graph_find(onx_model_graph(model), name), dim, &why);
    onx_buf_putc(&why, '\0');
    const char *at = why.data;
    for (size_t i = 0; good && words[i]; i++) good = (at = strstr(at, words[i])) != NULL;
    if (!good) fprintf(stderr, "    %s: %s\n", name, why.data);
    onx_buf_fini(&why);
    onx_facts_free(facts);
    onx_model_free(model);
    return good;
}
#define TELLS(text, name, dim, ...)                                                                \
    CHECK(tells(text, name, dim, (const char *[]){__VA_ARGS__, NULL}))

TEST(why) {
    static const char chain[] = HEAD(18) "g (float[N,4] x, int64[2] k, float u) => (float[] y) {\n"
                                         "  nz = NonZero (x)\n"
                                         "  t = Transpose (nz)\n"
                                         "  c = Concat<axis = 0> (t, t)\n"
                                         "  y = Identity (c)\n"
                                         "  r = Reshape (x, k)\n"
                                         "  q = com.acme.Thing (x)\n"
                                         "  z = Relu (q)\n"
                                         "}";
    TELLS(chain, "y", 0, "?", "'y', from Identity", "'c', from Concat", "'t', from Transpose",
          "'nz', from NonZero", "elements of 'x' that are not 0");
    TELLS(chain, "r", 1, "'r', from Reshape: it depends on what 'k' holds", "'k', an input");
    TELLS(chain, "z", ONX_LOST_SHAPE, "'z', from Relu: the type of 'q' is not known", "'q', from ",
          "nothing is known about the operator");
    TELLS(HEAD(18) "g (bool b, float[2] x, float[3] y) => (float[] z) {\n"
                   "  i = If (b) <then_branch = t () => (float[2] p) { p = Relu (x) },\n"
                   "              else_branch = e () => (float[3] q) { q = Relu (y) }>\n"
                   "  z = Relu (i)\n}",
          "z", 0, "'z', from Relu", "'i', from If: the branches do not give the same");
    TELLS(HEAD(18) "g (float[?] x) => (float[] y) { y = Relu (x) }", "y", 0, "'y', from Relu",
          "'x', an input: it is declared without a size");
}

TEST(windows_and_sequences) {
    INFERS(
        HEAD(28) "g (float[N,C,H,9] x, float[T,B,4] s, int64[B] n, int64 axis) => (float[] y) {\n"
                 "  a = LpPool<kernel_shape = [3, 3], strides = [2, 2], p = 1> (x)\n"
                 "  b = GlobalLpPool (x)\n"
                 "  c = ReverseSequence (s, n)\n"
                 "  d = CumProd (s, axis)\n}",
        {"a", "float[N,C,ceil(H/2) - 1,4]"}, {"b", "float[N,C,1,1]"}, {"c", "float[T,B,4]"},
        {"d", "float[T,B,4]"});
    CHECK(fails(HEAD(22) "g (float[T,3] x, int64[2] n) => (float[] y) {\n"
                         "  y = ReverseSequence (x, n)\n}",
                "2 elements for a batch of 3"));
    CHECK(fails(HEAD(22) "g (float[T,3] x, int64[3] n) => (float[] y) {\n"
                         "  y = ReverseSequence<time_axis = 1> (x, n)\n}",
                "one must be 0, the other 1"));
    CHECK(fails(HEAD(22) "g (float[T] x, int64[3] n) => (float[] y) {\n"
                         "  y = ReverseSequence (x, n)\n}",
                "rank 1"));
    CHECK(fails(HEAD(22) "g (float[T,3] x, int64[3,1] n) => (float[] y) {\n"
                         "  y = ReverseSequence (x, n)\n}",
                "rank 2, not 1"));
    CHECK(fails(HEAD(22) "g (float[N,3] x) => (float[] y) {\n  y = LpPool<kernel_shape=[2]> (x)\n}",
                "batch, channels"));
}

TEST(broadcast) {
    INFERS(HEAD(13) "g (float[3,1] x, float[N,1,4] u, float[K,5] w) => (float[] y) {\n"
                    "  s = Constant<value_ints = [2, 1, 4]> ()\n"
                    "  a = Expand (x, s)\n"
                    "  t = Shape (u)\n"
                    "  b = Expand (x, t)\n"
                    "  one = Constant<value_ints = [7, 1]> ()\n"
                    "  c = Expand (w, one)\n"
                    "}",
           {"a", "float[2,3,4]"}, {"b", "float[N,3,4]"}, {"c", "float[7,5]"});
    CHECK(fails(HEAD(13) "g (float[3,2] x) => (float[] y) {\n"
                         "  s = Constant<value_ints = [3, 3]> ()\n"
                         "  y = Expand (x, s)\n}",
                "does not broadcast"));
}

/* Constants: initializers, unless the caller can replace them. */
TEST(constants) {
    static const char body[] = "g (int64[2] a = {5, 6}, float[N] x) => (float[] y)\n"
                               "<int64[2] b = {3, 4}> {\n"
                               "  c = Identity (b)\n"
                               "  d = Identity (a)\n}";
    char text[400];
    (void)snprintf(text, sizeof text, "<ir_version: 4, opset_import: [\"\" : 9]>\n%s", body);
    INFERS(text, {"b", "int64[2] = 3 4"}, {"c", "int64[2] = 3 4"}, {"d", "int64[2]"});
    (void)snprintf(text, sizeof text, "<ir_version: 3, opset_import: [\"\" : 9]>\n%s", body);
    INFERS(text, {"d", "int64[2] = 5 6"});
}

static size_t n_reports;
static void report(void *user, const onx_node *node, const onx_value *value, const onx_diag *diag) {
    (void)node, (void)value;
    n_reports++;
    (void)snprintf(user, 512, "%.200s: %.200s", diag->place, diag->message);
}

/* Declared types fill in what is open; what was inferred stands; contradictions are reported. */
TEST(declared) {
    char said[512] = "";
    onx_facts_options options = {.report = report, .user = said};
    n_reports = 0;
    CHECK(infers_with(&options,
                      HEAD(13) "g (float[N,3] x) => (float[3,2] y)\n"
                               "<float[K,4] u, float[1,3] stale> {\n"
                               "  u = Unheard (x)\n"
                               "  v = Transpose (u)\n"
                               "  stale = Identity (x)\n"
                               "  y = Transpose (x)\n}",
                      (expectation[]){{"u", "float[K,4]"},
                                      {"v", "float[4,K]"},
                                      {"stale", "float[N,3]"},
                                      {"y", "float[3,N]"},
                                      {NULL, NULL}}));
    CHECK_EQ(n_reports, 0);
    CHECK(infers_with(
        &options,
        HEAD(13) "g (float[N,3] x) => (float[] y)\n<int64[4,N] t> {\n"
                 "  t = Transpose (x)\n"
                 "  y = Transpose<perm = [0, 0]> (x)\n"
                 "  z = Identity (x)\n}",
        (expectation[]){{"t", "float[3,N]"}, {"y", "float[]"}, {"z", "float[N,3]"}, {NULL, NULL}}));
    CHECK_EQ(n_reports, 2);
    CHECK(strstr(said, "node 'y' (Transpose)") && strstr(said, "no permutation"));
}

TEST(sizes) {
    onx_facts_options options = {.n_sizes = 1, .sizes = (onx_size[]){{"N", 8}}};
    CHECK(infers_with(&options,
                      HEAD(13) "g (float[N,\"2*N + 1\",M] x) => (float[] y) {\n"
                               "  y = Transpose (x)\n}",
                      (expectation[]){{"y", "float[M,17,8]"}, {NULL, NULL}}));
}

/* Graphs inside see what is known outside; with no inference of their node, as declared. */
TEST(subgraphs) {
    INFERS(HEAD(13) "g (float[N,3] x, bool b) => (float[] y) {\n"
                    "  y = Unheard<body = inner (float[2,K] i) => (o) {\n"
                    "    o = Transpose (i)\n"
                    "    p = Transpose (x)\n"
                    "  }> (x)\n}",
           {"o", "float[K,2]"}, {"p", "float[3,N]"});
}

/* A function of the model hides an operator of its name. */
TEST(functions) {
    INFERS("<ir_version: 10, opset_import: [\"\" : 13, \"local\" : 1]>\n"
           "g (float[N,3] x) => (float[] y) {\n  y = local.Transpose (x)\n  z = Transpose (x)\n}\n"
           "<domain: \"local\", opset_import: [\"\" : 13]>\n"
           "Transpose (a) => (b) {\n  b = Identity (a)\n}",
           {"y", "float[N,3]"}, {"z", "float[3,N]"});
}

static void complain(void *user, const onx_node *node, const onx_value *value,
                     const onx_diag *diag) {
    (void)node, (void)value;
    ++*(size_t *)user;
    fprintf(stderr, "    %s: %s (%s)\n", diag->place, diag->message, diag->hint);
}

/* In ONNX's own tests, what is inferred never contradicts what is declared. */
TEST(backend) {
    if (!test_data()) SKIP("ONX_DATA is not set");
    char folder[512];
    (void)snprintf(folder, sizeof folder, "%s/node", test_data());
    test_files files = test_files_find(folder, "model.onnx");
    size_t wrong = 0;
    onx_facts_options options = {.report = complain, .user = &wrong};
    for (size_t i = 0; i < files.count; i++) {
        onx_model *model = NULL;
        onx_facts *facts = NULL;
        size_t before = wrong;
        if (onx_model_load(NULL, files.paths[i], NULL, &model, NULL)) continue;
        CHECK(onx_facts_new(model, &options, &facts, NULL) == ONX_OK);
        if (wrong > before) fprintf(stderr, "    %s\n", files.paths[i]);
        onx_facts_free(facts);
        onx_model_free(model);
    }
    CHECK(files.count > 500);
    CHECK_EQ(wrong, 0);
    test_files_free(&files);
}

/* Nothing declared about a model makes inference fail, and all memory can be missing. */
static const char everything[] = HEAD(
    18) "g (float[N,4,6] x, int64[K] i) => (float[] y) {\n"
        "  s = Shape (x)\n  t = Concat<axis = 0> (s, s)\n  y = Reshape (x, s)\n"
        "  m = Constant<value_ints = [1, 2, 3]> ()\n  p, q = Split<axis = 1, num_outputs = 2> (x)\n"
        "  u = Unheard<body = inner (float[2,K] a) => (o) { o = Transpose (a) }> (x)\n}";

TEST(memory) {
    test_heap heap = {0};
    size_t calls = 0;
    for (size_t fail_at = 0; fail_at <= calls; fail_at++) {
        memset(&heap, 0, sizeof heap);
        onx_context *ctx = test_context(&heap, NULL);
        onx_load_options options = ONX_INIT(onx_load_options);
        onx_model *model = NULL;
        onx_facts *facts = NULL;
        options.format = ONX_FORMAT_TEXT;
        REQUIRE(
            !onx_model_load_memory(ctx, everything, strlen(everything), &options, &model, NULL));
        size_t before = heap.calls;
        heap.fail_at = fail_at ? before + fail_at : 0;
        heap.fail_count = 1;
        onx_status status = onx_facts_new(model, NULL, &facts, NULL);
        CHECK(status == ONX_OK || status == ONX_NO_MEMORY);
        CHECK(fail_at || status == ONX_OK);
        if (!fail_at) calls = heap.calls - before;
        if (!status) onx_facts_free(facts);
        onx_model_free(model);
        onx_context_free(ctx);
        CHECK_EQ(heap.blocks, 0);
    }
    CHECK(calls > 5);
}

TEST_MAIN(E(reshape) E(shape_arithmetic) E(slices) E(others) E(windows_and_sequences) E(broadcast)
              E(constants) E(declared) E(sizes) E(subgraphs) E(functions) E(backend) E(memory)
                  E(why) E(elements) E(sceptical) E(public))
