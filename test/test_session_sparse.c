/* test_session_sparse.c: sparse initializers and constants, in runs: what they mean, in all types,
 * in the main graph and inside it; and sparse tensors that are wrong. */
#include "ir/dtype.h"
#include "rt/session.h"
#include "support.h"
#include "test.h"

typedef struct spec { /* a sparse tensor, in plain arrays */
    onx_dtype dtype;
    size_t n, rank, n_dims;
    const void *values;
    const int64_t *indices; /* `rank` 1: n; 2: n * n_dims */
    int64_t dims[4];
} spec;

static onx_tensor *tensor_of(onx_context *ctx, onx_dtype dtype, size_t rank, const int64_t *dims,
                             const void *data, const char *name) {
    onx_tensor *made = NULL;
    size_t bytes = 0;
    uint64_t count = 1;
    for (size_t i = 0; i < rank; i++) count *= (uint64_t)dims[i];
    if (dtype == ONX_DTYPE_STRING) {
        CHECK_EQ(onx_tensor_new_strings(ctx, name, rank, dims, data, &made, NULL), ONX_OK);
        return made;
    }
    (void)onx_dtype_bytes(dtype, count, &bytes);
    (void)onx_tensor_new(ctx, name, dtype, rank, dims, data, bytes, &made, NULL);
    return made;
}

static onx_data *sparse_of(onx_context *ctx, const spec *s) {
    int64_t dims[2] = {(int64_t)s->n, (int64_t)s->n_dims}, zero = 0;
    onx_data *made = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_tensor *values = tensor_of(ctx, s->dtype, 1, s->n ? dims : &zero, s->values, "s");
    onx_tensor *indices = tensor_of(ctx, ONX_DTYPE_I64, s->rank, dims, s->indices, "");
    if (onx_sparse_new(ctx, values, indices, s->n_dims, s->dims, &made, &diag))
        fprintf(stderr, "%s\n", diag.message);
    onx_tensor_free(values);
    onx_tensor_free(indices);
    return made;
}

/* y = Identity(s), where s is an initializer, or the value of a Constant; inside a branch, too. */
static onx_model *model_of(onx_context *ctx, const spec *s, int way) {
    onx_data *sparse = sparse_of(ctx, s);
    onx_model *model = onx_model_new(ctx, "m", 18);
    onx_graph *g = onx_model_graph(model);
    onx_value *from = NULL;
    if (way == 0) {
        from = onx_graph_add_sparse(g, "s", sparse);
    } else {
        from = onx_graph_add_op_array(g, "Constant", "s", 0, NULL);
        (void)onx_node_set_sparse(onx_value_node(from), "sparse_value", sparse);
    }
    onx_graph_add_output(g, onx_graph_add_op(g, "Identity", "y", from), NULL);
    onx_data_free(sparse);
    return model;
}

static onx_status run_spec(const spec *s, int way, onx_arg *out, onx_diag *diag) {
    onx_model *model = model_of(NULL, s, way);
    onx_session *session = NULL;
    onx_status status = onx_session_new(model, NULL, &session, diag);
    if (!status) status = onx_session_run(session, 0, NULL, 1, out, NULL, diag);
    onx_session_free(session);
    onx_model_free(model);
    return status;
}

TEST(types) { /* [[0, a, 0], [b, 0, c]] */
    const int64_t flat[] = {1, 3, 5}, rows[] = {0, 1, 1, 0, 1, 2};
    for (int t = 1; t < ONX_DTYPE_COUNT; t++) {
        unsigned char bytes[48];
        size_t dense = 0;
        if (t == ONX_DTYPE_STRING || !onx_dtype_bytes((onx_dtype)t, 6, &dense)) continue;
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 7 + 1);
        if (t == ONX_DTYPE_BOOL) memset(bytes, 1, sizeof bytes);
        unsigned bits = onx_dtype_bits((onx_dtype)t);
        uint8_t want[96] = {0}, values[3], places[6] = {0};
        if (bits % 8) {
            onx_dtype_unpack(bits, bytes, values, 3);
            for (int i = 0; i < 3; i++) places[flat[i]] = values[i];
            onx_dtype_pack(bits, places, want, 6);
        } else {
            for (int i = 0; i < 3; i++)
                memcpy(want + (size_t)flat[i] * (bits / 8), bytes + (size_t)i * (bits / 8),
                       bits / 8);
        }
        for (int way = 0; way < 4; way++) {
            spec s = {(onx_dtype)t,          3,     1 + (size_t)way / 2, 2, bytes,
                      way / 2 ? rows : flat, {2, 3}};
            onx_arg out = {0};
            onx_diag diag = ONX_INIT(onx_diag);
            if (!CHECK(run_spec(&s, way % 2, &out, &diag) == ONX_OK))
                fprintf(stderr, "    %s: %s\n", onx_dtype_name(s.dtype), diag.message);
            CHECK(out.rank == 2 && out.dims[0] == 2 && out.dims[1] == 3 && out.dtype == s.dtype);
            if (!CHECK(out.data && memcmp(out.data, want, dense) == 0))
                fprintf(stderr, "    %s\n", onx_dtype_name(s.dtype));
            onx_arg_clear(&out);
        }
    }
}

TEST(strings_and_empty) {
    const int64_t at[] = {2};
    for (int way = 0; way < 2; way++) {
        spec s = {ONX_DTYPE_STRING, 1, 1, 1, (const char *[]){"word"}, at, {4}};
        onx_arg out = {0};
        onx_str text = {NULL, 0};
        CHECK_EQ(run_spec(&s, way, &out, NULL), ONX_OK);
        REQUIRE(out.value);
        CHECK_EQ(onx_tensor_string_at(onx_data_tensor(out.value), 2, &text, NULL), ONX_OK);
        CHECK(onx_str_is(text, "word"));
        CHECK_EQ(onx_tensor_string_at(onx_data_tensor(out.value), 3, &text, NULL), ONX_OK);
        CHECK(text.size == 0);
        onx_arg_clear(&out);
        float none = 0;
        spec empty = {ONX_DTYPE_F32, 0, 1, 2, &none, at, {2, 2}};
        CHECK_EQ(run_spec(&empty, way, &out, NULL), ONX_OK);
        CHECK(out.bytes == 16 && memcmp(out.data, (float[4]){0}, 16) == 0);
        onx_arg_clear(&out);
        spec hollow = {ONX_DTYPE_F32, 0, 1, 3, &none, at, {7, 9, 0}};
        CHECK_EQ(run_spec(&hollow, way, &out, NULL), ONX_OK);
        CHECK(out.rank == 3 && out.dims[2] == 0 && !out.data);
        onx_arg_clear(&out);
    }
}

TEST(wrong) {
    static const float v[3] = {1, 2, 3};
    static const struct {
        int64_t indices[6];
        size_t n, rank, n_dims;
        int64_t dims[3];
        onx_status status;
        const char *words;
    } cases[] = {
        {{-1}, 1, 1, 1, {4}, ONX_INVALID, "out of range"},
        {{4}, 1, 1, 1, {4}, ONX_INVALID, "out of range"},
        {{INT64_MAX}, 1, 1, 1, {4}, ONX_INVALID, "out of range"},
        {{INT64_MIN}, 1, 1, 1, {4}, ONX_INVALID, "out of range"},
        {{2, 1}, 2, 1, 1, {4}, ONX_INVALID, "do not rise"},
        {{1, 1}, 2, 1, 1, {4}, ONX_INVALID, "do not rise"},
        {{0, 3}, 1, 2, 2, {4, 3}, ONX_INVALID, "out of range"},
        {{0, -1}, 1, 2, 2, {4, 3}, ONX_INVALID, "out of range"},
        {{0}, 1, 1, 1, {0}, ONX_INVALID, "out of range"},
        {{0}, 1, 1, 1, {-4}, ONX_INVALID, "make no sense"},
        {{0}, 1, 1, 2, {INT64_MAX, 2}, ONX_INVALID, "make no sense"},
        {{0}, 1, 1, 1, {(int64_t)1 << 40}, ONX_LIMIT, "too many"},
        {{0}, 1, 1, 2, {1 << 30, 1 << 30}, ONX_LIMIT, "too many"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++)
        for (int way = 0; way < 2; way++) {
            spec s = {ONX_DTYPE_F32,
                      cases[i].n,
                      cases[i].rank,
                      cases[i].n_dims,
                      v,
                      cases[i].indices,
                      {cases[i].dims[0], cases[i].dims[1], cases[i].dims[2]}};
            onx_arg out = {0};
            onx_diag diag = ONX_INIT(onx_diag);
            onx_status status = run_spec(&s, way, &out, &diag);
            if (!CHECK(status == cases[i].status && strstr(diag.message, cases[i].words)))
                fprintf(stderr, "    case %zu: %s\n", i, diag.message);
        }
}

/* Also in a subgraph; what is inferred is what comes out; the memory limit holds. */
TEST(inside) {
    const float v[2] = {5, 6};
    const int64_t at[2] = {0, 4};
    spec s = {ONX_DTYPE_F32, 2, 1, 2, v, at, {2, 3}};
    onx_model *model = model_of(NULL, &s, 0);
    onx_graph *g = onx_model_graph(model);
    onx_value *c = onx_graph_add_input(g, "c", "bool");
    onx_value *z = onx_graph_add_op(g, "If", "z", c);
    onx_data *sparse = sparse_of(NULL, &s);
    static const char *const names[] = {"then_branch", "else_branch"};
    for (int i = 0; i < 2; i++) {
        char name[8];
        onx_graph *branch = onx_node_add_graph(onx_value_node(z), names[i], names[i]);
        REQUIRE(branch);
        snprintf(name, sizeof name, "b%d", i);
        onx_value *from = NULL;
        if (i)
            from = onx_graph_add_sparse(branch, "inner", sparse);
        else
            from = onx_graph_add_op_array(branch, "Constant", "inner0", 0, NULL);
        if (!i) (void)onx_node_set_sparse(onx_value_node(from), "sparse_value", sparse);
        onx_graph_add_output(branch, onx_graph_add_op(branch, "Neg", name, from), NULL);
    }
    onx_data_free(sparse);
    onx_graph_add_output(g, z, "float[2,3]");
    CHECK_EQ(onx_model_infer(model, NULL, NULL), ONX_OK);
    onx_diag diag = ONX_INIT(onx_diag);
    if (!CHECK(onx_model_check(model, NULL, &diag) == ONX_OK))
        fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    onx_inference *inference = NULL;
    char type[64] = "";
    CHECK_EQ(onx_inference_new(model, NULL, &inference, NULL), ONX_OK);
    onx_inference_type(inference, z, type, sizeof type);
    CHECK_EQ(strcmp(type, "float[2,3]"), 0);
    onx_inference_free(inference);
    onx_session *session = NULL;
    if (!CHECK(onx_session_new(model, NULL, &session, &diag) == ONX_OK))
        fprintf(stderr, "%s %s\n", diag.place, diag.message);
    for (int i = 0; i < 2 && session; i++) {
        bool yes = i;
        onx_arg in = {.dtype = ONX_DTYPE_BOOL, .data = &yes, .bytes = 1}, out[2] = {{0}};
        CHECK_EQ(onx_session_run(session, 1, &in, 2, out, NULL, NULL), ONX_OK);
        CHECK(out[1].data && ((float *)out[1].data)[4] == -6 && ((float *)out[1].data)[1] == 0);
        for (int k = 0; k < 2; k++) onx_arg_clear(&out[k]);
    }
    onx_session_free(session);
    onx_model_free(model);
    spec large = {ONX_DTYPE_F32, 2, 1, 1, v, at, {1 << 24}};
    model = model_of(NULL, &large, 0);
    onx_session_options options = ONX_INIT(onx_session_options);
    options.memory_limit = 1 << 20;
    session = NULL;
    CHECK_EQ(onx_session_new(model, &options, &session, &diag), ONX_NO_MEMORY);
    onx_model_free(model);
}

TEST_MAIN(E(types) E(strings_and_empty) E(wrong) E(inside))
