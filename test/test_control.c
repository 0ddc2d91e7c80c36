/* test_control.c: If, Loop, Scan, sequences, optionals and strings in whole models: in every way to
 * run them; the recorded tests; failures, of models and of memory. */
#include "infer/infer.h"
#include "kernel.h"
#include "support.h"
#include "test.h"

#include <math.h>

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]>\n"

typedef struct way {
    const char *name;
    onx_level level;
    bool dynamic;
} way;
static const way ways[] = {{"optimized", ONX_LEVEL_ALL, false},
                           {"plain", ONX_LEVEL_NONE, false},
                           {"dynamic", ONX_LEVEL_ALL, true}};

static double timeout = 60; /* seconds of one run */

static onx_arg integer(const int64_t *value) {
    return (onx_arg){.dtype = ONX_DTYPE_I64, .data = (void *)(uintptr_t)value, .bytes = 8};
}
static onx_arg truth(const bool *value) {
    return (onx_arg){.dtype = ONX_DTYPE_BOOL, .data = (void *)(uintptr_t)value, .bytes = 1};
}

/* Run; outputs are to be cleared. */
static onx_status run(const onx_model *model, const way *how, size_t n_in, const onx_arg *in,
                      size_t n_out, onx_arg *out, onx_diag *diag) {
    onx_session *session = NULL;
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_run_options limits = ONX_INIT(onx_run_options);
    options.level = how->level;
    options.dynamic = how->dynamic;
    options.threads = 1;
    limits.timeout = timeout;
    onx_status status = onx_session_new(model, &options, &session, diag);
    if (status == ONX_OK) status = onx_session_run(session, n_in, in, n_out, out, &limits, diag);
    onx_session_free(session);
    return status;
}

/* What an output must be: floats (or int64, compared as numbers) in a shape "2,3". */
typedef struct want {
    const char *dims;
    double values[24];
} want;

static bool is_like(const onx_arg *got, const want *w) {
    onx_operand shape = kernel_operand(ONX_DTYPE_F64, w->dims, NULL);
    double values[24] = {0};
    if (got->rank != shape.rank || shape.count > 24) return false;
    for (size_t i = 0; i < got->rank; i++)
        if (got->dims[i] != shape.dims[i]) return false;
    if (shape.count && onx_dtype_convert(got->dtype, got->data, ONX_DTYPE_F64, values,
                                         (uint64_t)shape.count, false) != ONX_OK)
        return false;
    for (int64_t i = 0; i < shape.count; i++)
        if (fabs(values[i] - w->values[i]) > 1e-6) return false;
    return true;
}

static void expect(const char *text, size_t n_in, const onx_arg *in, size_t n_out, const want *w) {
    onx_model *model = test_parse(NULL, text);
    REQUIRE(model);
    for (size_t i = 0; i < ONX_COUNT(ways); i++) {
        onx_arg out[4] = {{0}};
        onx_diag diag = ONX_INIT(onx_diag);
        onx_status status = run(model, &ways[i], n_in, in, n_out, out, &diag);
        if (!CHECK(status == ONX_OK))
            printf("%s: %s: %s\n", ways[i].name, diag.place, diag.message);
        for (size_t o = 0; o < n_out && status == ONX_OK; o++)
            if (!CHECK(is_like(&out[o], &w[o]))) {
                double values[24] = {0};
                printf("%s: output %zu of rank %zu:", ways[i].name, o, out[o].rank);
                (void)onx_dtype_convert(out[o].dtype, out[o].data, ONX_DTYPE_F64, values,
                                        out[o].bytes / 8 < 24 ? out[o].bytes / 8 : 24, false);
                for (size_t d = 0; d < 8; d++) printf(" %g", values[d]);
                printf("\n");
            }
        for (size_t o = 0; o < n_out; o++) onx_arg_clear(&out[o]);
    }
    onx_model_free(model);
}

static void expect_failure(const char *text, size_t n_in, const onx_arg *in, onx_status status,
                           const char *part) {
    onx_model *model = test_parse(NULL, text);
    REQUIRE(model);
    for (size_t i = 0; i < ONX_COUNT(ways); i++) {
        onx_arg out = {0};
        onx_diag diag = ONX_INIT(onx_diag);
        onx_status got = run(model, &ways[i], n_in, in, 1, &out, &diag);
        if (!CHECK(got == status && strstr(diag.message, part)))
            printf("%s: %s: %s\n", ways[i].name, onx_status_name(got), diag.message);
        onx_arg_clear(&out);
    }
    onx_model_free(model);
}

/* ─ If ───────────────────────────────────────────────────────────────────────────────────────── */

static const float three[] = {1, 2, 3}, ones[] = {1, 1, 1};
static const bool yes = true, no = false;

static const char *if_text =
    HEAD "g (bool c, float[N] x, float[N] y) => (float[M] z, float[K] u) {\n"
         "z, u = If (c) <then_branch = a () => (float[P] t, float[N] t2) {\n"
         "  t = Concat<axis=0>(x, y)\n  t2 = Identity(x)\n"
         "}, else_branch = b () => (float[N] e, float[N] e2) {\n"
         "  e = Sub(x, y)\n  e2 = Add(e, y)\n}>\n}";

TEST(if_with_captures) {
    onx_arg in[] = {truth(&yes), test_floats(3, three), test_floats(3, ones)};
    expect(if_text, 3, in, 2, (want[]){{"6", {1, 2, 3, 1, 1, 1}}, {"3", {1, 2, 3}}});
    in[0] = truth(&no);
    expect(if_text, 3, in, 2, (want[]){{"3", {0, 1, 2}}, {"3", {1, 2, 3}}});
}

TEST(if_condition) {
    static const bool two[] = {true, true};
    onx_arg in[] = {truth(two), test_floats(3, three), test_floats(3, ones)};
    in[0].rank = 1;
    in[0].dims[0] = 1;
    in[0].bytes = 1;
    const char *text = HEAD "g (bool[n] c, float[N] x) => (float[N] z) {\n"
                            "z = If (c) <then_branch = a () => (float[N] t) { t = Neg(x) },"
                            " else_branch = b () => (float[N] e) { e = Identity(x) }>\n}";
    expect(text, 2, in, 1, (want[]){{"3", {-1, -2, -3}}});
    in[0].dims[0] = 2;
    in[0].bytes = 2;
    expect_failure(text, 2, in, ONX_INVALID, "condition");
}

/* ─ Loop ─────────────────────────────────────────────────────────────────────────────────────── */

static const char *sum_text =
    HEAD "g (int64 m, float[3] x) => (float[3] y, float[T,3] all, int64[T] counts) {\n"
         "y, all, counts = Loop (m, \"\", x) <body = b (int64 i, bool c, float[3] a)\n"
         "  => (bool c2, float[3] a2, float[3] s, int64 k) {\n"
         "  c2 = Identity(c)\n  a2 = Add(a, x)\n  s = Mul(a, a2)\n  k = Identity(i)\n}>\n}";

TEST(loop_stacks) {
    static const int64_t trips[] = {2, 0, -5};
    onx_arg in[] = {integer(&trips[0]), test_floats(3, three)};
    expect(sum_text, 2, in, 3,
           (want[]){{"3", {3, 6, 9}}, {"2,3", {2, 8, 18, 6, 24, 54}}, {"2", {0, 1}}});
    for (size_t i = 1; i < 3; i++) {
        in[0] = integer(&trips[i]);
        expect(sum_text, 2, in, 3, (want[]){{"3", {1, 2, 3}}, {"0,3", {0}}, {"0", {0}}});
    }
}

TEST(loop_while) {
    const char *text = HEAD "g (bool go, float[3] x) => (float[3] y, float[T] sums) {\n"
                            "limit = Constant<value = float {20.0}>()\n"
                            "ones = Constant<value = float[3] {1.0, 1.0, 1.0}>()\n"
                            "y, sums = Loop (\"\", go, x) <body = b (int64 i, bool c, float[3] a)\n"
                            "  => (bool c2, float[3] a2, float s) {\n"
                            "  a2 = Add(a, a)\n  s = MatMul(a2, ones)\n"
                            "  c2 = Less(s, limit)\n}>\n}";
    onx_arg in[] = {truth(&yes), test_floats(3, three)};
    expect(text, 2, in, 2, (want[]){{"3", {4, 8, 12}}, {"2", {12, 24}}});
    in[0] = truth(&no);
    expect(text, 2, in, 2, (want[]){{"3", {1, 2, 3}}, {"0", {0}}});
}

/* Values that change places, pass unchanged, and grow; a counter that is carried. */
TEST(loop_carries) {
    const char *text =
        HEAD "g (int64 m, float[N] x, float[N] y) => (float[N] p, float[N] q, float[G] r, int64 n,"
             " float[N] same) {\n"
             "zero = Constant<value = int64 {-1}>()\n"
             "p, q, r, n, same = Loop (m, \"\", x, y, x, zero, y) <body = b (int64 i, bool c,"
             " float[N] a, float[N] b, float[K] g, int64 before, float[N] keep)\n"
             "  => (bool c2, float[N] b2, float[N] a2, float[L] g2, int64 now, float[N] kept) {\n"
             "  c2 = Identity(c)\n  b2 = Identity(b)\n  a2 = Identity(a)\n"
             "  g2 = Concat<axis=0>(g, a)\n  now = Identity(i)\n  kept = Identity(keep)\n}>\n}";
    static const int64_t three_times = 3;
    static const float two[] = {7, 8};
    static const float other[] = {1, 2};
    onx_arg in[] = {integer(&three_times), test_floats(2, two), test_floats(2, other)};
    expect(text, 3, in, 4,
           (want[]){{"2", {1, 2}}, {"2", {7, 8}}, {"8", {7, 8, 7, 8, 1, 2, 7, 8}}, {"", {2}}});
}

/* The body gives on what it was given, without a node in between. */
TEST(loop_passes_through) {
    const char *text =
        HEAD "g (int64 m, float[N] x, float[N] y) => (float[N] p, float[N] q, int64[T] k) {\n"
             "p, q, k = Loop (m, \"\", x, y) <body = b (int64 i, bool c, float[N] a, float[N] b)\n"
             "  => (bool c, float[N] b, float[N] a, int64 i) {\n}>\n}";
    static const int64_t three_times = 3;
    onx_arg in[] = {integer(&three_times), test_floats(3, three), test_floats(3, ones)};
    expect(text, 3, in, 3, (want[]){{"3", {1, 1, 1}}, {"3", {1, 2, 3}}, {"3", {0, 1, 2}}});
}

/* The shape of what grows, carried beside it: known at bind in every iteration, but another one. */
TEST(loop_carries_shapes) {
    const char *text =
        HEAD "g (int64 m, float[N] x) => (float[K] y, int64[1] last, int64[T,1] befores) {\n"
             "start = Constant<value = int64[1] {0}>()\n"
             "y, last, befores = Loop (m, \"\", x, start) <body = b (int64 i, bool c, float[K] a,"
             " int64[1] before)\n"
             "  => (bool c2, float[L] a2, int64[1] now, int64[1] was) {\n"
             "  c2 = Identity(c)\n  a2 = Concat<axis=0>(a, x)\n  now = Shape(a2)\n"
             "  was = Identity(before)\n}>\n}";
    static const int64_t three_times = 3;
    static const float one[] = {5};
    onx_arg in[] = {integer(&three_times), test_floats(1, one)};
    expect(text, 2, in, 3, (want[]){{"4", {5, 5, 5, 5}}, {"1", {4}}, {"3,1", {0, 2, 3}}});
}

static const char *nested_text =
    HEAD "g (int64 m, float[N] x, float[N] y) => (float[N] z, float[T,N] all) {\n"
         "two = Constant<value = int64 {2}>()\n"
         "z, all = Loop (m, \"\", x) <body = outer (int64 i, bool c, float[N] a)\n"
         "  => (bool c2, float[N] a2, float[N] s) {\n"
         "  one = Constant<value = int64 {1}>()\n  rest = Mod(i, two)\n  odd = Equal(rest, one)\n"
         "  c2 = Identity(c)\n"
         "  a2 = If (odd) <then_branch = t () => (float[N] r) {\n"
         "      r = Loop (two, \"\", a) <body = inner (int64 j, bool d, float[N] b)\n"
         "        => (bool d2, float[N] b2) {\n"
         "        d2 = Identity(d)\n        w = Mul(x, y)\n        b2 = Add(b, w)\n      }>\n"
         "    }, else_branch = e () => (float[N] r) {\n      r = Sub(a, y)\n    }>\n"
         "  s = Identity(a2)\n}>\n}";

TEST(nested) {
    char text[4096];
    snprintf(text, sizeof text, "%s", nested_text);
    static const int64_t three_times = 3;
    onx_arg in[] = {integer(&three_times), test_floats(3, three), test_floats(3, ones)};
    onx_model *model = test_parse(NULL, text);
    REQUIRE(model);
    onx_model_free(model);
    /* x - y, then + 2 x y, then - y */
    expect(text, 3, in, 2, (want[]){{"3", {1, 4, 7}}, {"3,3", {0, 1, 2, 2, 5, 8, 1, 4, 7}}});
}

static const char *sequence_text =
    HEAD "g (int64 m, float[N] x) => (float[K] y, int64 n, float[2,N] z) {\n"
         "empty = SequenceEmpty()\n"
         "minus = Constant<value = int64 {-1}>()\n"
         "s = Loop (m, \"\", empty) <body = b (int64 i, bool c, seq(float[N]) a)\n"
         "  => (bool c2, seq(float[N]) a2) {\n"
         "  c2 = Identity(c)\n  f = Cast<to=1>(i)\n  v = Add(x, f)\n"
         "  a2 = SequenceInsert(a, v)\n}>\n"
         "y = ConcatFromSequence<axis=0>(s)\n"
         "n = SequenceLength(s)\n"
         "last = SequenceAt(s, minus)\n"
         "pair = SequenceConstruct(last, x)\n"
         "z = ConcatFromSequence<axis=0, new_axis=1>(pair)\n}";

TEST(loop_over_sequences) {
    static const int64_t three_times = 3;
    static const float two[] = {1, 2};
    onx_arg in[] = {integer(&three_times), test_floats(2, two)};
    expect(sequence_text, 2, in, 3,
           (want[]){{"6", {1, 2, 2, 3, 3, 4}}, {"", {3}}, {"2,2", {3, 4, 1, 2}}});
}

/* A sequence is changed in place where nobody needs the old one; here somebody does. */
TEST(sequences_are_values) {
    const char *text =
        HEAD "g (int64 m, float[N] x) => (int64 a, int64 b, int64 c, int64[T] e) {\n"
             "zero = Constant<value = int64 {0}>()\n"
             "s = SequenceConstruct(x, x)\n  t = SequenceInsert(s, x)\n"
             "u = SequenceErase(t)\n  v = SequenceErase(t, zero)\n  w = SequenceErase(v)\n"
             "a = SequenceLength(s)\n  b = SequenceLength(u)\n"
             "q, p, e = Loop (m, \"\", w, w) <body = b (int64 i, bool d, seq(float[N]) k,"
             " seq(float[N]) before)\n"
             "  => (bool d, seq(float[N]) k2, seq(float[N]) k, int64 n) {\n"
             "  k2 = SequenceInsert(k, x)\n  n = SequenceLength(before)\n}>\n"
             "c = SequenceLength(q)\n}";
    static const int64_t three_times = 3;
    onx_arg in[] = {integer(&three_times), test_floats(3, three)};
    expect(text, 2, in, 4, (want[]){{"", {2}}, {"", {2}}, {"", {4}}, {"3", {1, 1, 2}}});
}

/* Outputs of graphs that no node of theirs makes: values from around, constants. */
TEST(outputs_without_nodes) {
    static const int64_t three_times = 3;
    onx_arg in[] = {integer(&three_times), test_floats(3, three)};
    expect(HEAD "g (int64 m, float[N] x) => (float[N] y, float[2] z, float[T,2] k, float[N] w) {\n"
                "zero = Constant<value = int64 {0}>()\n  c = Greater(m, zero)\n"
                "a = Neg(x)\n  two = Constant<value = float[2] {0.0, 0.0}>()\n"
                "y = If (c) <then_branch = t () => (float[N] a) { },"
                " else_branch = e () => (float[N] x) { }>\n"
                "w = If (c) <then_branch = t2 () => (float[N] x) { },"
                " else_branch = e2 () => (float[N] a) { }>\n"
                "z, k = Loop (m, \"\", two) <body = b (int64 i, bool d, float[2] p)\n"
                "  => (bool d, float[2] q, float[2] p) <float[2] q = {4.0, 5.0}> {\n}>\n}",
           2, in, 4,
           (want[]){
               {"3", {-1, -2, -3}}, {"2", {4, 5}}, {"3,2", {0, 0, 4, 5, 4, 5}}, {"3", {1, 2, 3}}});
}

/* ─ Scan ─────────────────────────────────────────────────────────────────────────────────────── */

TEST(scan_axes) {
    const char *text = HEAD
        "g (float[2] s, float[2,T] x, float[T,2] w) => (float[2] y, float[2,T] all) {\n"
        "y, all = Scan<num_scan_inputs=2, scan_input_axes=[1, 0], scan_input_directions=[0, 1],"
        " scan_output_axes=[1], scan_output_directions=[1],\n"
        "  body = b (float[2] a, float[2] u, float[2] v) => (float[2] a2, float[2] o) {\n"
        "  p = Mul(u, v)\n  a2 = Add(a, p)\n  o = Identity(a2)\n}> (s, x, w)\n}";
    static const float s[] = {10, 20}, x[] = {1, 2, 3, 4, 5, 6}, w[] = {1, 10, 2, 20, 3, 30};
    onx_arg in[] = {test_floats(2, s), test_floats(6, x), test_floats(6, w)};
    in[1].rank = in[2].rank = 2;
    in[1].dims[0] = in[2].dims[1] = 2;
    in[1].dims[1] = in[2].dims[0] = 3;
    /* steps: (1,4)*(3,30), (2,5)*(2,20), (3,6)*(1,10) */
    expect(text, 3, in, 2, (want[]){{"2", {20, 300}}, {"2,3", {20, 17, 13, 300, 240, 140}}});
    in[2].dims[0] = 2;
    expect_failure(text, 3, in, ONX_INVALID, "");
    in[1].dims[1] = in[2].dims[0] = 0;
    expect(text, 3, in, 2, (want[]){{"2", {10, 20}}, {"2,0", {0}}});
}

/* ─ Strings, optionals ───────────────────────────────────────────────────────────────────────── */

TEST(strings_through_loops) {
    const char *text = HEAD "g (int64 m) => (string[N] y, string[T,2] all) {\n"
                            "x = Constant<value = string[2] {\"a\", \"b\"}>()\n"
                            "tail = Constant<value = string {\"-\"}>()\n"
                            "y, all = Loop (m, \"\", x) <body = b (int64 i, bool c, string[2] a)\n"
                            "  => (bool c2, string[2] a2, string[2] s) {\n"
                            "  c2 = Identity(c)\n  a2 = StringConcat(a, tail)\n"
                            "  s = StringConcat(a2, a)\n}>\n}";
    static const char *const wanted[] = {"a-a", "b-b", "a--a-", "b--b-"};
    static const int64_t twice = 2;
    onx_arg in = integer(&twice), out[2] = {{0}};
    onx_model *model = test_parse(NULL, text);
    REQUIRE(model);
    for (size_t i = 0; i < ONX_COUNT(ways); i++) {
        onx_diag diag = ONX_INIT(onx_diag);
        if (!CHECK(run(model, &ways[i], 1, &in, 2, out, &diag) == ONX_OK))
            printf("%s: %s\n", ways[i].name, diag.message);
        const onx_tensor *tensor = out[1].value ? onx_data_tensor(out[1].value) : NULL;
        CHECK(tensor && onx_tensor_rank(tensor) == 2 && onx_tensor_dim(tensor, 0) == 2);
        for (uint64_t k = 0; tensor && k < 4; k++) {
            onx_str s = {NULL, 0};
            CHECK(onx_tensor_string_at(tensor, k, &s, NULL) == ONX_OK);
            CHECK(onx_str_is(s, wanted[k]));
        }
        onx_arg_clear(&out[0]);
        onx_arg_clear(&out[1]);
    }
    onx_model_free(model);
}

/* Parts of x [2,3] along either axis, and put together again; strings in the same way. */
TEST(splits) {
    static const float six[] = {1, 2, 3, 4, 5, 6};
    static const int64_t one = 1;
    onx_arg in[] = {integer(&one), test_floats(6, six)};
    in[1].rank = 2;
    in[1].dims[0] = 2;
    in[1].dims[1] = 3;
    expect(HEAD
           "g (int64 p, float[A,B] x) => (float[A,B] y, float[C] z, float[K,L] w, float[M,E] v) {\n"
           "sizes = Constant<value = int64[3] {2, 0, 1}>()\n"
           "two = Constant<value = int32 {2}>()\n"
           "s = SplitToSequence<axis=-1>(x, sizes)\n  y = ConcatFromSequence<axis=1>(s)\n"
           "t = SplitToSequence<axis=1, keepdims=0>(x)\n  z = SequenceAt(t, p)\n"
           "u = SplitToSequence<axis=1>(x, two)\n  w = SequenceAt(u, p)\n"
           "v = ConcatFromSequence<axis=1, new_axis=1>(t)\n}",
           2, in, 4,
           (want[]){{"2,3", {1, 2, 3, 4, 5, 6}},
                    {"2", {2, 5}},
                    {"2,1", {3, 6}},
                    {"2,3", {1, 2, 3, 4, 5, 6}}});
    static const char *const wrong[][2] = {{"int64[2] {2, 2}", "fit"},
                                           {"int64[2] {2, 0}", "together"},
                                           {"int64[2] {-1, 4}", "out of range"},
                                           {"int64 {0}", "out of range"},
                                           {"int64 {-9223372036854775808}", "out of range"}};
    for (size_t i = 0; i < ONX_COUNT(wrong); i++) {
        char text[600];
        snprintf(text, sizeof text,
                 HEAD "g (int64 p, float[A,B] x) => (float[C,D] y) {\n"
                      "sizes = Constant<value = %s>()\n"
                      "s = SplitToSequence<axis=1>(x, sizes)\n  y = SequenceAt(s, p)\n}",
                 wrong[i][0]);
        expect_failure(text, 2, in, ONX_INVALID, wrong[i][1]);
    }
    expect_failure(HEAD "g (int64 p, float[A,B] x) => (float[C,D] y) {\n"
                        "a = Transpose(x)\n  s = SequenceConstruct(x, a)\n"
                        "y = ConcatFromSequence<axis=1>(s)\n}",
                   2, in, ONX_INVALID, "differs");
    expect_failure(HEAD "g (int64 p, float[A,B] x) => (seq(int64) y) {\n"
                        "s = SequenceConstruct(x, p)\n  y = Identity(s)\n}",
                   2, in, ONX_INVALID, "one type");
}

/* ─ Inference ────────────────────────────────────────────────────────────────────────────────── */

/* The fact as text; sizes that nothing is known about are all "?". */
static void fact_text(const onx_fact *fact, char *out, size_t size) {
    onx_buf text;
    onx_buf_init(&text, onx_context_or_default(NULL));
    onx_fact_print(fact, &text);
    size_t n = 0;
    for (size_t i = 0; i < text.size && n + 1 < size; i++) {
        bool digit = text.data[i] >= '0' && text.data[i] <= '9';
        if (!(digit && n && out[n - 1] == '?')) out[n++] = text.data[i];
    }
    out[n] = 0;
    onx_buf_fini(&text);
}

/* Pairs of a value of the main graph and what is known of it; a NULL ends them. */
static void infers(const char *text, const char *const *pairs) {
    onx_model *model = test_parse(NULL, text);
    onx_facts *facts = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    REQUIRE(model);
    if (!CHECK(onx_facts_new(model, NULL, &facts, &diag) == ONX_OK)) printf("%s\n", diag.message);
    for (; facts && *pairs; pairs += 2) {
        char got[200];
        const onx_value *value = onx_graph_find(onx_model_graph(model), pairs[0]);
        fact_text(onx_facts_of(facts, value), got, sizeof got);
        CHECK_STR(got, pairs[1]);
    }
    onx_facts_free(facts);
    onx_model_free(model);
}

TEST(facts_of_branches) {
    infers(HEAD "g (bool c, float[N,3] x, float[M,3] y) => (z) {\n"
                "z, w, v = If (c) <then_branch = a () => (t, t2, t3) {\n"
                "  t = Neg(x)\n  t2 = Neg(x)\n  t3 = Shape(x)\n"
                "}, else_branch = b () => (e, e2, e3) {\n"
                "  e = Neg(y)\n  e2 = Abs(x)\n  e3 = Shape(y)\n}>\n}",
           (const char *[]){"z", "float[?,3]", "w", "float[N,3]", "v", "int64[2]", NULL});
}

TEST(facts_of_loops) {
    infers(HEAD "g (int64 m, float[N,3] x) => (z) {\n"
                "five = Constant<value = int64 {5}>()\n"
                "go = Constant<value = bool {1}>()\n"
                "z, grown, s = Loop (five, go, x, x) <body = b (int64 i, bool c, p, q)\n"
                "  => (c2, p2, q2, s) {\n"
                "  c2 = Identity(c)\n  p2 = Neg(p)\n  q2 = Concat<axis=0>(q, x)\n"
                "  s = MatMul(q, r)\n  r = Transpose(x)\n}>\n"
                "u = Loop (m, \"\", x) <body = b2 (int64 i, bool c, p) => (c, p2) {\n"
                "  p2 = Abs(p)\n}>\n"
                "k = Loop (m, \"\") <body = b3 (int64 i, bool c) => (c, o) {\n"
                "  o = Neg(x)\n}>\n"
                "e = Loop (m, go) <body = b4 (int64 i, bool c) => (d, o) {\n"
                "  d = Not(c)\n  o = Neg(x)\n}>\n}",
           (const char *[]){"z", "float[N,3]", "grown", "float[?,3]", "s", "float[5,?,N]", "u",
                            "float[N,3]", "k", "float[?,N,3]", "e", "float[?,N,3]", NULL});
}

TEST(facts_of_scans) {
    infers(HEAD "g (float[B] s, float[B,T] x) => (y) {\n"
                "y, all = Scan<num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[-1],\n"
                "  body = b (a, u) => (a2, o) {\n  a2 = Add(a, u)\n  o = Neg(a2)\n}> (s, x)\n}",
           (const char *[]){"y", "float[B]", "all", "float[B,T]", NULL});
    infers("<ir_version: 3, opset_import: [\"\" : 8]>\n"
           "g (float[B,4] s, float[B,T,4] x) => (y) {\n"
           "y, all = Scan<num_scan_inputs=1, body = b (a, u) => (a2, o) {\n"
           "  a2 = Add(a, u)\n  o = Neg(a2)\n}> (\"\", s, x)\n}",
           (const char *[]){"y", "float[B,4]", "all", "float[B,T,4]", NULL});
}

TEST(facts_of_sequences) {
    infers(HEAD
           "g (float[N,3] x, float[M,3] y, int64 p) => (a) {\n"
           "s = SequenceConstruct(x, y)\n  a = SequenceAt(s, p)\n  e = SequenceEmpty()\n"
           "t = SequenceInsert(s, x)\n  n = SequenceLength(t)\n"
           "k = ConcatFromSequence<axis=0>(t)\n  l = ConcatFromSequence<axis=-1, new_axis=1>(t)\n"
           "d = SplitToSequence<axis=1>(x)\n  f = SplitToSequence<axis=0, keepdims=0>(x)\n"
           "o = Optional(s)\n  h = OptionalHasElement(o)\n  g1 = OptionalGetElement(o)\n"
           "g2 = OptionalGetElement(x)\n}",
           (const char *[]){"s",  "seq(float[?,3])",
                            "a",  "float[?,3]",
                            "e",  "seq(float[])",
                            "t",  "seq(float[?,3])",
                            "n",  "int64",
                            "k",  "float[?,3]",
                            "l",  "float[?,3,?]",
                            "d",  "seq(float[N,1])",
                            "f",  "seq(float[3])",
                            "o",  "optional(seq(float[?,3]))",
                            "h",  "bool",
                            "g1", "seq(float[?,3])",
                            "g2", "float[N,3]",
                            NULL});
}

TEST(facts_of_rnn) {
    infers(HEAD "g (float[T,B,I] x, float[2,16,I] w, float[2,16,4] r,\n"
                "float[1,21,I] w1, float[1,21,7] r1) => (y) {\n"
                "y, h, c = LSTM<direction=\"bidirectional\">(x, w, r)\n"
                "y1, h1 = GRU<layout=1, hidden_size=7>(x, w1, r1)\n}",
           (const char *[]){"y", "float[T,2,B,4]", "h", "float[2,B,4]", "c", "float[2,B,4]", "y1",
                            "float[T,B,1,7]", "h1", "float[T,1,7]", NULL});
}

/* Loops in loops: facts are found in a time that does not double with every one of them. */
TEST(facts_of_deep_loops) {
    enum { DEPTH = 30 };
    static char text[DEPTH * 120 + 400];
    size_t n = (size_t)snprintf(text, sizeof text, HEAD "g (int64 m, float[N] x) => (y0) {\n");
    for (int i = 0; i < DEPTH; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "y%d = Loop (m, \"\", %s) <body = b%d (int64 i%d, bool c%d, z%d)"
                              " => (c%d, y%d) {\n",
                              i, "x", i, i, i, i, i, i + 1);
    n += (size_t)snprintf(text + n, sizeof text - n, "y%d = Concat<axis=0>(x, x)\n", DEPTH);
    for (int i = 0; i < DEPTH; i++) n += (size_t)snprintf(text + n, sizeof text - n, "}>\n");
    snprintf(text + n, sizeof text - n, "}\n");
    onx_model *model = test_parse(NULL, text);
    onx_facts *facts = NULL;
    REQUIRE(model);
    CHECK(onx_facts_new(model, NULL, &facts, NULL) == ONX_OK);
    onx_facts_free(facts);
    onx_model_free(model);
}

/* ─ Failures ─────────────────────────────────────────────────────────────────────────────────── */

TEST(broken_loops) {
    static const int64_t twice = 2;
    onx_arg in[] = {integer(&twice), test_floats(3, three)};
    expect_failure(HEAD "g (int64 m, float[N] x) => (float[T,K] y) {\n"
                        "e, y = Loop (m, \"\", x) <body = b (int64 i, bool c, float[K] a)\n"
                        "  => (bool c, float[L] a2, float[K] a) {\n"
                        "  a2 = Concat<axis=0>(a, a)\n}>\n}",
                   2, in, ONX_INVALID, "between iterations");
    expect_failure(HEAD "g (int64 m, float[N] x) => (float[N] y) {\n"
                        "y = Loop (m, \"\", x) <body = b (int64 i, bool c) => (bool c) {\n}>\n}",
                   2, in, ONX_INVALID, "body");
    /* Without an end, it is stopped by the time it may take. */
    timeout = 0.1;
    expect_failure(HEAD "g (int64 m, float[N] x) => (float[N] y) {\n"
                        "y = Loop (\"\", \"\", x) <body = b (int64 i, bool c, float[N] a)\n"
                        "  => (bool c, float[N] a2) {\n  a2 = Neg(a)\n}>\n}",
                   2, in, ONX_CANCELLED, "");
    timeout = 60;
}

/* Graphs that do not fit their nodes: refused when the session is made, or when it runs. */
TEST(broken_nodes) {
    static const int64_t twice = 2;
    onx_arg in[] = {integer(&twice), test_floats(3, three)};
    static const char *const nodes[][2] = {
        {"y = If (c)", "branch"},
        {"y = If (c) <then_branch = a () => (float[N] t) { t = Neg(x) }>", "else_branch"},
        {"y = If (c) <then_branch = a () => (float[N] t) { t = Neg(x) },"
         " else_branch = b () => () { }>",
         "else_branch"},
        {"y = If (c) <then_branch = a () => (float[N] t) { t = Neg(x) },"
         " else_branch = b (float[N] q) => (float[N] e) { e = Neg(q) }>",
         "else_branch"},
        {"y = Loop (m, c, x)", "body"},
        {"y = Loop (m, c, x) <body = b (int64 i, bool d, float[N] a) => (bool d) { }>", "body"},
        {"y = Loop (m, c, x) <body = b (int64 i, bool d, float[N] a) => () { }>", "body"},
        {"y = Loop (m, c, \"\") <body = b (int64 i, bool d, float[N] a) => (bool d, float[N] a) { "
         "}>",
         ""},
        {"y = Scan<num_scan_inputs=0, body = b (float a) => (float e) { e = Neg(a) }>(x)",
         "num_scan_inputs"},
        {"y = Scan<num_scan_inputs=2, body = b (float a) => (float e) { e = Neg(a) }>(x)",
         "num_scan_inputs"},
        {"y = Scan<num_scan_inputs=1, body = b () => (float e) { e = Neg(m) }>(x)", "body"},
        {"y = Scan<num_scan_inputs=1, scan_input_axes=[1], body = b (float a) => (float e)"
         " { e = Neg(a) }>(x)",
         "axis"},
        {"y = Scan<num_scan_inputs=1, scan_input_axes=[0, 0], body = b (float a) => (float e)"
         " { e = Neg(a) }>(x)",
         "scan_input_axes"},
    };
    for (size_t i = 0; i < ONX_COUNT(nodes); i++) {
        char text[800];
        snprintf(text, sizeof text,
                 HEAD "g (int64 m, float[N] x) => (float[K] y) {\n"
                      "zero = Constant<value = int64 {0}>()\n  c = Greater(m, zero)\n%s\n}",
                 nodes[i][0]);
        expect_failure(text, 2, in, ONX_INVALID, nodes[i][1]);
    }
}

TEST(broken_sequences) {
    static const int64_t at = 1;
    onx_arg in[] = {integer(&at), test_floats(3, three)};
    expect_failure(HEAD "g (int64 p, float[N] x) => (float[N] y) {\n"
                        "s = SequenceConstruct(x)\n  y = SequenceAt(s, p)\n}",
                   2, in, ONX_INVALID, "out of range");
    expect_failure(HEAD "g (int64 p, float[N] x) => (float[M] y) {\n"
                        "s = SequenceConstruct(x)\n  t = SequenceErase(s)\n"
                        "y = ConcatFromSequence<axis=0>(t)\n}",
                   2, in, ONX_INVALID, "empty");
    expect_failure(HEAD "g (int64 p, float[N] x) => (float[N] y) {\n"
                        "s = SequenceConstruct(x)\n  t = SequenceErase(s)\n"
                        "u = SequenceErase(t)\n  y = SequenceAt(u, p)\n}",
                   2, in, ONX_INVALID, "empty");
}

static bool try_memory(const char *text, size_t n_in, const onx_arg *in, size_t fail_at) {
    test_heap heap = {0};
    onx_context *ctx = test_context(&heap, NULL);
    onx_model *model = test_parse(ctx, text);
    bool ok = false;
    if (CHECK(model)) {
        onx_arg out[2] = {{0}};
        heap.fail_at = fail_at ? heap.calls + fail_at : 0;
        heap.fail_count = 1;
        onx_status status = run(model, &ways[0], n_in, in, 1, out, NULL);
        ok = status == ONX_OK;
        CHECK(ok || status == ONX_NO_MEMORY);
        CHECK(ok || heap.failed);
        onx_arg_clear(&out[0]);
        ok = ok && !heap.failed;
    }
    heap.fail_at = 0;
    onx_model_free(model);
    onx_context_free(ctx);
    CHECK_EQ(heap.blocks, 0);
    return ok;
}

TEST(failing_memory) {
    static const int64_t three_times = 3;
    onx_arg in[] = {integer(&three_times), test_floats(3, three), test_floats(3, ones)};
    const char *const texts[] = {nested_text, sum_text, sequence_text};
    for (size_t i = 0; i < ONX_COUNT(texts); i++) {
        size_t at = 1;
        while (at < 5000 && !try_memory(texts[i], i ? 2 : 3, in, at)) at++;
        CHECK(at > 50 && at < 5000);
    }
}

/* ─ Recorded tests ───────────────────────────────────────────────────────────────────────────── */

static onx_data *load(const char *folder, const char *what, size_t index, const onx_type *type) {
    static const onx_data_kind kinds[] = {[ONX_TYPE_TENSOR] = ONX_DATA_TENSOR,
                                          [ONX_TYPE_SEQUENCE] = ONX_DATA_SEQUENCE,
                                          [ONX_TYPE_OPTIONAL] = ONX_DATA_OPTIONAL};
    char path[1024];
    onx_data *data = NULL;
    snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", folder, what, index);
    (void)onx_data_load(NULL, path, kinds[onx_type_kind_of(type)], &data, NULL);
    return data;
}

static bool same_tensor(const onx_tensor *a, const onx_tensor *b) {
    double x[512], y[512];
    uint64_t n = 0;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_operand p = {0}, q = {0};
    bool copied[2] = {false, false}, same;
    onx_context *ctx = onx_context_or_default(NULL);
    if (onx_operand_of_tensor(ctx, a, &p, &copied[0], &diag) != ONX_OK ||
        onx_operand_of_tensor(ctx, b, &q, &copied[1], &diag) != ONX_OK)
        return false;
    n = (uint64_t)p.count;
    same = p.dtype == q.dtype && p.rank == q.rank && n <= 512 &&
           memcmp(p.dims, q.dims, p.rank * sizeof *p.dims) == 0;
    if (same && p.dtype == ONX_DTYPE_STRING)
        for (uint64_t i = 0; i < n; i++)
            same = same && onx_str_eq(p.object->strings[i], q.object->strings[i]);
    else if (same && n) {
        (void)onx_dtype_convert((onx_dtype)p.dtype, p.data, ONX_DTYPE_F64, x, n, false);
        (void)onx_dtype_convert((onx_dtype)q.dtype, q.data, ONX_DTYPE_F64, y, n, false);
        for (uint64_t i = 0; i < n; i++) same = same && fabs(x[i] - y[i]) <= 1e-5;
    }
    if (copied[0]) onx_eval_clear(ctx, &p);
    if (copied[1]) onx_eval_clear(ctx, &q);
    return same;
}

/* Tests nest no deeper than an optional of a sequence. */
static bool same_data(const onx_data *a, const onx_data *b) {
    if (onx_data_kind_of(a) != onx_data_kind_of(b)) return false;
    if (onx_data_kind_of(a) == ONX_DATA_TENSOR)
        return same_tensor(onx_data_tensor(a), onx_data_tensor(b));
    if (onx_data_count(a) != onx_data_count(b)) return false;
    for (size_t i = 0; i < onx_data_count(a); i++)
        if (!same_data(onx_data_at(a, i), onx_data_at(b, i))) return false;
    return true;
}

static bool backend_run(const char *name, const onx_model *model, const way *how, size_t n_in,
                        const onx_arg *in, const char *folder) {
    const onx_graph *graph = onx_model_graph(model);
    size_t n_out = onx_graph_output_count(graph);
    onx_arg out[8] = {{0}};
    onx_diag diag = ONX_INIT(onx_diag);
    bool good = run(model, how, n_in, in, n_out, out, &diag) == ONX_OK;
    if (!good) printf("%s, %s: %s: %s\n", name, how->name, diag.place, diag.message);
    for (size_t i = 0; i < n_out && good; i++) {
        onx_data *want_data = load(folder, "output", i, onx_value_type(onx_graph_output(graph, i))),
                 *got = NULL;
        bool same = want_data && onx_arg_to_data(NULL, &out[i], &got, &diag) == ONX_OK &&
                    same_data(got, want_data);
        if (!same) printf("%s, %s: output %zu differs\n", name, how->name, i);
        good = good && same;
        onx_data_free(got);
        onx_data_free(want_data);
    }
    for (size_t i = 0; i < n_out; i++) onx_arg_clear(&out[i]);
    return good;
}

static void backend(const char *name) {
    char folder[600], path[700];
    onx_model *model = NULL;
    onx_data *data[8] = {NULL};
    onx_arg in[8] = {{0}};
    snprintf(folder, sizeof folder, "%s/node/%s", getenv("ONX_DATA"), name);
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    REQUIRE(onx_model_load(NULL, path, NULL, &model, NULL) == ONX_OK);
    const onx_graph *graph = onx_model_graph(model);
    size_t n_in = onx_graph_input_count(graph);
    for (size_t i = 0; i < n_in; i++) {
        data[i] = load(folder, "input", i, onx_value_type(onx_graph_input(graph, i)));
        if (!CHECK(data[i] && onx_arg_from_data(data[i], &in[i], NULL) == ONX_OK))
            printf("%s: input %zu\n", name, i);
    }
    for (size_t i = 0; i < ONX_COUNT(ways); i++)
        CHECK(backend_run(name, model, &ways[i], n_in, in, folder));
    for (size_t i = 0; i < n_in; i++) {
        onx_arg_clear(&in[i]);
        onx_data_free(data[i]);
    }
    onx_model_free(model);
}

TEST(recorded) {
    static const char *const names[] = {
        "test_if",
        "test_if_opt",
        "test_if_seq",
        "test_loop11",
        "test_loop13_seq",
        "test_loop16_seq_none",
        "test_scan9_multi_state",
        "test_scan9_scalar",
        "test_scan9_sum",
        "test_scan_sum",
        "test_identity_sequence",
        "test_optional_get_element_optional_sequence",
        "test_optional_get_element_optional_tensor",
        "test_optional_get_element_sequence",
        "test_optional_get_element_tensor",
        "test_optional_has_element_empty_no_input_name_optional_input",
        "test_optional_has_element_empty_no_input_name_tensor_input",
        "test_optional_has_element_empty_no_input_optional_input",
        "test_optional_has_element_empty_no_input_tensor_input",
        "test_optional_has_element_empty_optional_input",
        "test_optional_has_element_optional_input",
        "test_optional_has_element_tensor_input",
        "test_sequence_insert_at_back",
        "test_sequence_insert_at_front",
        "test_sequence_map_add_1_sequence_1_tensor_expanded",
        "test_sequence_map_add_2_sequences_expanded",
        "test_sequence_map_extract_shapes_expanded",
        "test_sequence_map_identity_1_sequence_1_tensor_expanded",
        "test_sequence_map_identity_1_sequence_expanded",
        "test_sequence_map_identity_2_sequences_expanded",
        "test_split_to_sequence_1",
        "test_split_to_sequence_2",
        "test_split_to_sequence_nokeepdims",
        "test_string_concat",
        "test_string_concat_broadcasting",
        "test_string_concat_empty_string",
        "test_string_concat_utf8",
        "test_string_concat_zero_dimensional",
    };
    if (!getenv("ONX_DATA")) SKIP("ONX_DATA is not set");
    for (size_t i = 0; i < ONX_COUNT(names); i++) backend(names[i]);
}

TEST_MAIN(E(if_with_captures) E(if_condition) E(loop_stacks) E(loop_while) E(loop_carries)
              E(loop_passes_through) E(loop_carries_shapes) E(nested) E(loop_over_sequences)
                  E(sequences_are_values) E(outputs_without_nodes) E(scan_axes)
                      E(strings_through_loops) E(splits) E(facts_of_branches) E(facts_of_loops)
                          E(facts_of_scans) E(facts_of_sequences) E(facts_of_rnn)
                              E(facts_of_deep_loops) E(broken_loops) E(broken_nodes)
                                  E(broken_sequences) E(failing_memory) E(recorded))
