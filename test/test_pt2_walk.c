/* test_pt2_walk.c: programs of torch.export become models, and these compute what they should:
 * numbers of Python, sizes, branches, loops, what is written to tensors. */
#include "test.h"

#include "export/pt2_walk.h"
#include "export/told.h"
#include "pt2_text.h"
#include "support.h"

enum { ROOM = 64 };

typedef struct tensor {
    onx_dtype dtype;
    size_t rank, n;
    int64_t dims[4];
    double v[ROOM];
} tensor;

static size_t count(size_t rank, const int64_t *dims) {
    size_t n = 1;
    for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
    return n;
}

/* Run the model on these, and read what it gives. */
static bool execute(const onx_model *model, size_t n_in, const tensor *in, size_t n_out,
                    tensor *out, onx_diag *diag) {
    onx_session *session = NULL;
    onx_arg args[4] = {{0}}, results[8] = {{0}};
    double data[4][ROOM];
    for (size_t i = 0; i < n_in; i++) {
        size_t bytes, n = count(in[i].rank, in[i].dims);
        if (onx_dtype_convert(ONX_DTYPE_F64, in[i].v, in[i].dtype, data[i], n, false)) return false;
        if (!onx_dtype_bytes(in[i].dtype, n, &bytes)) return false;
        args[i] =
            (onx_arg){.dtype = in[i].dtype, .rank = in[i].rank, .data = data[i], .bytes = bytes};
        memcpy(args[i].dims, in[i].dims, sizeof in[i].dims);
    }
    bool ok = !onx_session_new(model, NULL, &session, diag) &&
              !onx_session_run(session, n_in, args, n_out, results, NULL, diag);
    for (size_t i = 0; i < n_out && ok; i++) {
        out[i] = (tensor){.dtype = results[i].dtype, .rank = results[i].rank};
        memcpy(out[i].dims, results[i].dims, sizeof out[i].dims);
        out[i].n = count(results[i].rank, results[i].dims);
        ok = out[i].n <= ROOM && !onx_dtype_convert(results[i].dtype, results[i].data,
                                                    ONX_DTYPE_F64, out[i].v, out[i].n, false);
    }
    for (size_t i = 0; i < n_out; i++) onx_arg_clear(&results[i]);
    onx_session_free(session);
    return ok;
}

typedef struct program {
    onx_buf json;
    onx_pt2 pt2;
    onx_export x;
    onx_model *model;
    onx_diag diag;
} program;

static bool make_with(program *p, const char *text, const onx_xnames *names) {
    onx_context *ctx = onx_context_or_default(NULL);
    *p = (program){.diag = ONX_INIT(onx_diag)};
    onx_buf_init(&p->json, ctx);
    pt2_program_text(text, &p->json);
    onx_str json = {p->json.data, p->json.size - 1};
    if (onx_pt2_read_text(ctx, json, &p->pt2, &p->diag)) return false;
    if (onx_export_begin(&p->x, ctx, ONX_X_BASE, &p->diag)) return false;
    onx_status status = onx_pt2_export(&p->x, &p->pt2, names);
    if (status) p->diag = p->x.diag;
    onx_optimize_options options = ONX_INIT(onx_optimize_options);
    options.level = ONX_LEVEL_NONE;
    options.enable = "dce";
    return !status && !onx_model_optimize(p->x.model, &options, &p->model, NULL, &p->diag) &&
           !onx_model_infer(p->model, NULL, &p->diag) && !onx_model_check(p->model, NULL, &p->diag);
}

static bool make(program *p, const char *text) {
    bool ok = make_with(p, text, NULL);
    if (!ok) fprintf(stderr, "    %s: %s\n", p->diag.place, p->diag.message);
    return ok;
}

static void end(program *p) {
    onx_model_free(p->model);
    onx_export_end(&p->x);
    onx_pt2_fini(&p->pt2);
    onx_buf_fini(&p->json);
}

static bool noted(const program *p, const char *words) {
    for (const onx_xnote *n = p->x.notes; n; n = n->next)
        if (strstr(n->text.data, words)) return true;
    return false;
}

#define F32(n_, ...)                                                                               \
    {                                                                                              \
        .dtype = ONX_DTYPE_F32, .rank = 1, .n = n_, .dims = {n_}, .v = { __VA_ARGS__ }             \
    }
#define SCALAR(type, x_)                                                                           \
    {                                                                                              \
        .dtype = ONX_DTYPE_##type, .n = 1, .v = { x_ }                                             \
    }

/* The program gives `want` for `in`. */
static void expect(program *p, size_t n_in, const tensor *in, size_t n_out, const tensor *want) {
    tensor got[8] = {{0}};
    onx_diag diag = ONX_INIT(onx_diag);
    if (!CHECK(execute(p->model, n_in, in, n_out, got, &diag))) {
        fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
        return;
    }
    for (size_t i = 0; i < n_out; i++) {
        CHECK_EQ(got[i].dtype, want[i].dtype);
        CHECK_EQ(got[i].rank, want[i].rank);
        for (size_t k = 0; k < want[i].rank; k++) CHECK_EQ(got[i].dims[k], want[i].dims[k]);
        for (size_t k = 0; k < want[i].n && k < got[i].n; k++)
            if (!CHECK(got[i].v[k] == want[i].v[k]))
                fprintf(stderr, "    output %zu, element %zu: %g, not %g\n", i, k, got[i].v[k],
                        want[i].v[k]);
    }
}

static size_t count_op(const program *p, const char *op) {
    size_t n = 0;
    for (onx_node *node = onx_graph_node_first(onx_model_graph(p->model)); node;
         node = onx_node_next(node))
        n += strcmp(onx_node_op(node), op) == 0;
    return n;
}

TEST(straight) {
    program p;
    if (CHECK(make(&p, "x: f32[s0]; y: f32[s0]; a = aten.add.Tensor(self=x, other=y, alpha=2);"
                       "b = aten.relu.default(self=a); return b, x"))) {
        tensor in[] = {F32(3, 1, -5, 3), F32(3, 2, 1, -1)};
        tensor out[] = {F32(3, 5, 0, 1), F32(3, 1, -5, 3)};
        expect(&p, 2, in, 2, out);
        char type[64];
        onx_type_format(onx_value_type(onx_graph_output(onx_model_graph(p.model), 0)), type,
                        sizeof type);
        CHECK_STR(type, "float[x_dim_0]");
        CHECK_STR(onx_value_name(onx_graph_output(onx_model_graph(p.model), 0)), "output_0");
    }
    end(&p);
}

TEST(names_of_the_user) {
    program p;
    static const char *const ins[] = {"image"}, *const outs[] = {"scores"};
    static const onx_xaxis axes[] = {{"image", 0, "batch"}, {"image", 1, "width"}};
    onx_xnames names = {
        .n_inputs = 1, .n_outputs = 1, .n_axes = 2, .inputs = ins, .outputs = outs, .axes = axes};
    CHECK(make_with(&p, "x: f32[s0,3]; a = aten.relu.default(self=x); return a", &names));
    onx_graph *graph = onx_model_graph(p.model);
    char type[64];
    onx_type_format(onx_value_type(onx_graph_output(graph, 0)), type, sizeof type);
    CHECK_STR(type, "float[batch,3]");
    CHECK_STR(onx_value_name(onx_graph_output(graph, 0)), "scores");
    CHECK_STR(onx_value_name(onx_graph_input(graph, 0)), "image");
    CHECK(noted(&p, "'width'"));
    end(&p);
}

/* 2*s0 + 1 is the only dimension that s0 is in. */
TEST(sizes_are_solved) {
    program p;
    if (CHECK(make(&p, "x: f32[2*s0 + 1]; y: f32[s0]; n_0 = aten.sym_size.int(self=y, dim=0);"
                       "a = aten.slice.Tensor(self=x, dim=0, start=n_0); return a"))) {
        tensor in[] = {F32(5, 1, 2, 3, 4, 5), F32(2, 0, 0)}, out[] = {F32(3, 3, 4, 5)};
        expect(&p, 2, in, 1, out);
    }
    end(&p);
    if (CHECK(make(&p, "x: f32[2*s0 + 1]; n_0 = aten.sym_size.int(self=x, dim=0);"
                       "n_1 = _operator.sub(n_0, 1); n_2 = _operator.floordiv(n_1, 2);"
                       "a = aten.slice.Tensor(self=x, dim=0, start=0, end=n_2); return a"))) {
        tensor in[] = {F32(5, 1, 2, 3, 4, 5)}, out[] = {F32(2, 1, 2)};
        expect(&p, 1, in, 1, out);
        CHECK(noted(&p, "dimension 0 of 'x'"));
    }
    end(&p);
}

TEST(python_numbers) {
    program p;
    if (CHECK(make(&p, "x: f32[s0]; n_0 = aten.sym_size.int(self=x, dim=0);"
                       "n_1 = _operator.mul(n_0, 3); n_2 = _operator.mod(n_1, 4);"
                       "n_3 = torch.sym_max(n_2, 1); n_4 = _operator.pow(n_3, 2);"
                       "n_5 = _operator.truediv(n_0, 2); n_6 = math.ceil(n_5);"
                       "n_7 = _operator.neg(n_6); n_8 = _operator.add(n_4, n_7);"
                       "a = aten.mul.Tensor(self=x, other=n_8); return a"))) {
        /* 5: 15 % 4 = 3, 9 - ceil(2.5) = 6 */
        tensor in[] = {F32(5, 1, 2, 3, 4, 5)}, out[] = {F32(5, 6, 12, 18, 24, 30)};
        expect(&p, 1, in, 1, out);
    }
    end(&p);
}

static const char cond_text[] =
    "x: f32[s0]; p: bool; r = higher_order.cond(p, "
    "{a: f32[s0]; r = aten.mul.Tensor(self=a, other=2.0); return r}, "
    "{a: f32[s0]; r = aten.neg.default(self=a); q = aten.add.Tensor(self=r, other=1.0); return q}, "
    "[x]); y = aten.add.Tensor(self=r, other=x); return y";

TEST(branches) {
    program p;
    if (CHECK(make(&p, cond_text))) {
        CHECK_EQ(count_op(&p, "If"), 1);
        tensor yes[] = {F32(2, 1, 2), SCALAR(BOOL, 1)}, no[] = {F32(2, 1, 2), SCALAR(BOOL, 0)};
        tensor twice[] = {F32(2, 3, 6)}, one[] = {F32(2, 1, 1)};
        expect(&p, 2, yes, 1, twice);
        expect(&p, 2, no, 1, one);
        char type[64];
        onx_type_format(onx_value_type(onx_graph_output(onx_model_graph(p.model), 0)), type,
                        sizeof type);
        CHECK_STR(type, "float[x_dim_0]");
    }
    end(&p);
    if (CHECK(make(&p, "x: f32[s0]; r = higher_order.cond(True, "
                       "{a: f32[s0]; r = aten.neg.default(self=a); return r}, "
                       "{a: f32[s0]; return a}, [x]); return r"))) {
        CHECK_EQ(count_op(&p, "If"), 0);
        tensor in[] = {F32(2, 1, 2)}, out[] = {F32(2, -1, -2)};
        expect(&p, 1, in, 1, out);
    }
    end(&p);
}

/* A side gives what it was given, a constant, and two results of one value. */
TEST(branches_of_nothing) {
    program p;
    if (CHECK(make(&p, "x: f32[s0]; p: bool; a, b, c = higher_order.cond(p, "
                       "{a: f32[s0]; return a, a, a}, "
                       "{a: f32[s0]; r = aten.relu.default(self=a); return r, r, a}, [x]);"
                       "return a, b, c"))) {
        tensor no[] = {F32(2, -1, 2), SCALAR(BOOL, 0)}, yes[] = {F32(2, -1, 2), SCALAR(BOOL, 1)};
        tensor out[] = {F32(2, 0, 2), F32(2, 0, 2), F32(2, -1, 2)};
        tensor same[] = {F32(2, -1, 2), F32(2, -1, 2), F32(2, -1, 2)};
        expect(&p, 2, no, 3, out);
        expect(&p, 2, yes, 3, same);
    }
    end(&p);
}

TEST(branches_that_write) {
    program p;
    if (CHECK(make(&p, "x: f32[s0]; p: bool; y = aten.clone.default(self=x);"
                       "r = higher_order.cond(p, "
                       "{a: f32[s0]; q = aten.add_.Tensor(self=a, other=1.0);"
                       " r = aten.neg.default(self=a); return r}, "
                       "{a: f32[s0]; r = aten.relu.default(self=a); return r}, [y]);"
                       "z = aten.mul.Tensor(self=y, other=10.0); return r, z"))) {
        tensor yes[] = {F32(2, -1, 2), SCALAR(BOOL, 1)}, no[] = {F32(2, -1, 2), SCALAR(BOOL, 0)};
        tensor wrote[] = {F32(2, 0, -3), F32(2, 0, 30)}, kept[] = {F32(2, 0, 2), F32(2, -10, 20)};
        expect(&p, 2, yes, 2, wrote);
        expect(&p, 2, no, 2, kept);
    }
    end(&p);
}

TEST(branches_that_differ) {
    program p;
    CHECK(!make_with(&p,
                     "x: f32[s0]; p: bool; r = higher_order.cond(p, {a: f32[s0]; return a}, "
                     "{a: f32[s0]; r = aten.unsqueeze.default(self=a, dim=0); return r}, [x]);"
                     "return r",
                     NULL));
    CHECK_EQ(p.diag.status, ONX_UNSUPPORTED);
    CHECK(strstr(p.diag.message, "rank 1") && strstr(p.diag.message, "rank 2"));
    end(&p);
}

TEST(while_loops) {
    program p;
    /* while i < n: x, i = x*2, i + 1 */
    if (CHECK(make(&p,
                   "x: f32[s0]; n: i64; i = aten.sub.Tensor(self=n, other=n);"
                   "r, k = higher_order.while_loop("
                   "{a: f32[s0]; i: i64; n: i64; c = aten.lt.Tensor(self=i, other=n); return c},"
                   "{a: f32[s0]; i: i64; n: i64; b = aten.mul.Tensor(self=a, other=2.0);"
                   " j = aten.add.Tensor(self=i, other=1); return b, j}, [x, i], [n]);"
                   "return r, k"))) {
        CHECK_EQ(count_op(&p, "Loop"), 1);
        tensor in[] = {F32(2, 1, 3), SCALAR(I64, 3)}, out[] = {F32(2, 8, 24), SCALAR(I64, 3)};
        tensor none[] = {F32(2, 1, 3), SCALAR(I64, 0)}, same[] = {F32(2, 1, 3), SCALAR(I64, 0)};
        expect(&p, 2, in, 2, out);
        expect(&p, 2, none, 2, same);
        char type[64];
        onx_type_format(onx_value_type(onx_graph_output(onx_model_graph(p.model), 0)), type,
                        sizeof type);
        CHECK_STR(type, "float[x_dim_0]");
    }
    end(&p);
}

/* What it carries grows, and it writes to a tensor from outside. */
TEST(loops_change_sizes) {
    program p;
    if (CHECK(make(&p, "x: f32[2]; n: i64; y = aten.clone.default(self=x);"
                       "i = aten.sub.Tensor(self=n, other=n); r, k = higher_order.while_loop("
                       "{a: f32[s1]; i: i64; n: i64; y: f32[2];"
                       " c = aten.lt.Tensor(self=i, other=n); return c},"
                       "{a: f32[s1]; i: i64; n: i64; y: f32[2];"
                       " w = aten.add_.Tensor(self=y, other=1.0);"
                       " b = aten.cat.default(tensors=[a, y]);"
                       " j = aten.add.Tensor(self=i, other=1); return b, j}, [x, i], [n, y]);"
                       "return r, y"))) {
        tensor in[] = {F32(2, 1, 3), SCALAR(I64, 2)};
        tensor out[] = {F32(6, 1, 3, 2, 4, 3, 5), F32(2, 3, 5)};
        expect(&p, 2, in, 2, out);
    }
    end(&p);
}

TEST(scans) {
    program p;
    if (CHECK(make(&p, "x: f32[s0,2]; h: f32[2]; c, ys = higher_order.scan("
                       "{h: f32[2]; x: f32[2]; g = aten.add.Tensor(self=h, other=x);"
                       " y = aten.mul.Tensor(self=g, other=10.0); return g, y}, [h], [x], []);"
                       "return c, ys"))) {
        tensor in[] = {{.dtype = ONX_DTYPE_F32, .rank = 2, .dims = {3, 2}, .v = {1, 2, 3, 4, 5, 6}},
                       F32(2, 1, 1)};
        tensor out[] = {F32(2, 10, 13),
                        {.dtype = ONX_DTYPE_F32,
                         .rank = 2,
                         .n = 6,
                         .dims = {3, 2},
                         .v = {20, 30, 50, 70, 100, 130}}};
        expect(&p, 2, in, 2, out);
    }
    end(&p);
    if (CHECK(make(&p, "x: f32[s0,2]; b: f32[2]; y = higher_order.map_impl("
                       "{x: f32[2]; b: f32[2]; y = aten.add.Tensor(self=x, other=b); return y},"
                       "[x], [b]); return y"))) {
        tensor in[] = {{.dtype = ONX_DTYPE_F32, .rank = 2, .dims = {2, 2}, .v = {1, 2, 3, 4}},
                       F32(2, 10, 20)};
        tensor out[] = {
            {.dtype = ONX_DTYPE_F32, .rank = 2, .n = 4, .dims = {2, 2}, .v = {11, 22, 13, 24}}};
        expect(&p, 2, in, 1, out);
    }
    end(&p);
}

TEST(graphs_are_inlined) {
    program p;
    if (CHECK(make(&p,
                   "x: f32[s0]; r = higher_order.wrap_with_set_grad_enabled(False, "
                   "{a: f32[s0]; r = aten.neg.default(self=a); return r}, x);"
                   "q = higher_order.invoke_subgraph({a: f32[s0]; r = aten.relu.default(self=a);"
                   " return r}, \"sub_0\", r); return q"))) {
        tensor in[] = {F32(2, -1, 2)}, out[] = {F32(2, 1, 0)};
        expect(&p, 1, in, 1, out);
        CHECK_EQ(onx_graph_node_count(onx_model_graph(p.model)), 2);
    }
    end(&p);
}

/* Operators compute in the type that they are noted to give. */
TEST(autocast) {
    program p;
    if (CHECK(make(&p, "x: f32[2]; r = higher_order.wrap_with_autocast(\"cpu\", 5, True, None, "
                       "{a: f32[2]; r = aten.mul.Tensor(self=a, other=a) -> f16[2]; return r}, x);"
                       "return r"))) {
        tensor in[] = {F32(2, 3, 2.0009765625)};
        tensor out[] = {{.dtype = ONX_DTYPE_F16, .rank = 1, .n = 2, .dims = {2}, .v = {9, 4}}};
        expect(&p, 1, in, 1, out);
    }
    end(&p);
}

/* What a lowering gives is of the type that PyTorch noted, or it is refused. */
TEST(types_are_compared) {
    program p;
    CHECK(!make_with(&p, "x: f32[2]; a = aten.neg.default(self=x) -> i64[2]; return a", NULL));
    CHECK_EQ(p.diag.status, ONX_CHANGED);
    end(&p);
    CHECK(make(&p, "x: f32[2]; a = aten.neg.default(self=x) -> f32[2,1]; return a"));
    CHECK(noted(&p, "rank"));
    end(&p);
}

TEST(inputs_that_change) {
    program p;
    static const onx_xnames names = {.mutations = true};
    const char *text = "x: f32[s0]; y = aten.add_.Tensor(self=x, other=1.0); return y";
    CHECK(make(&p, text));
    CHECK(noted(&p, "inputs ('x')"));
    CHECK_EQ(onx_graph_output_count(onx_model_graph(p.model)), 1);
    end(&p);
    CHECK(make_with(&p, text, &names));
    tensor in[] = {F32(2, 1, 2)}, out[] = {F32(2, 2, 3), F32(2, 2, 3)};
    expect(&p, 1, in, 2, out);
    end(&p);
}

TEST(assertions_are_left_out) {
    program p;
    if (CHECK(make(&p, "x: f32[s0]; n_0 = aten.sym_size.int(self=x, dim=0);"
                       "n_1 = _operator.ge(n_0, 2);"
                       "t = aten._assert_scalar.default(self=n_1, assert_msg=\"no\");"
                       "y = aten.neg.default(self=x); return y")))
        CHECK_EQ(onx_graph_node_count(onx_model_graph(p.model)), 1);
    end(&p);
}

TEST(missing_operators) {
    program p;
    CHECK(
        !make_with(&p,
                   "x: f32[s0]; a = aten.no_such.default(self=x); b = mine.other.default(x);"
                   "c = aten.neg.default(self=a); d = higher_order.flex({x: f32[s0]; return x}, x);"
                   "return c",
                   NULL));
    CHECK_EQ(p.diag.status, ONX_UNSUPPORTED);
    CHECK(strstr(p.diag.message, "no_such") && strstr(p.diag.message, "mine::other") &&
          strstr(p.diag.message, "3 operators"));
    end(&p);
}

TEST(unknown_names) {
    program p;
    CHECK(!make_with(&p, "x: f32[s0]; a = aten.neg.default(self=z); return a", NULL));
    CHECK_EQ(p.diag.status, ONX_MALFORMED);
    end(&p);
}

TEST_MAIN(E(straight) E(names_of_the_user) E(sizes_are_solved) E(python_numbers) E(branches)
              E(branches_of_nothing) E(branches_that_write) E(branches_that_differ) E(while_loops)
                  E(loops_change_sizes) E(scans) E(graphs_are_inlined) E(autocast)
                      E(types_are_compared) E(inputs_that_change) E(assertions_are_left_out)
                          E(missing_operators) E(unknown_names))
