/* test_session_packing.c: the large weights of a fully connected layer stay where they lie while
 * there are few rows, and are packed once for all when there are more. */
#include "support.h"
#include "test.h"

enum { K = 1100, N = 1024, ROWS = 20 };
static float w[N * K], x[ROWS * K], y[ROWS * N];

static onx_model *make(onx_context *ctx) {
    onx_model *model = onx_model_new(ctx, "m", 18);
    onx_graph *g = onx_model_graph(model);
    const int64_t dims[2] = {N, K};
    for (size_t i = 0; i < N * K; i++) w[i] = (float)((int)(i * 7 % 31) - 15) / 16;
    for (size_t i = 0; i < ROWS * K; i++) x[i] = (float)((int)(i * 5 % 23) - 11) / 8;
    onx_value *in = onx_graph_add_input(g, "x", "float[M,1100]");
    onx_value *v = onx_graph_add_initializer(g, "w", ONX_DTYPE_F32, 2, dims, w, sizeof w);
    onx_value *out = onx_graph_add_op(g, "Gemm", "y", in, v);
    CHECK(!onx_node_set_int(onx_value_node(out), "transB", 1));
    onx_graph_add_output(g, out, "float[M,1024]");
    return model;
}

/* All of these sums are exact. */
static bool runs(onx_session *s, size_t rows) {
    onx_arg in = {.dtype = ONX_DTYPE_F32, .rank = 2, .dims = {(int64_t)rows, K}, .data = x};
    onx_arg out = {.dtype = ONX_DTYPE_F32, .rank = 2, .dims = {(int64_t)rows, N}, .data = y};
    in.bytes = rows * K * sizeof *x;
    out.bytes = rows * N * sizeof *y;
    memset(y, 0xff, sizeof y);
    if (onx_session_run(s, 1, &in, 1, &out, NULL, NULL)) return false;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < N; j++) {
            double sum = 0;
            for (size_t k = 0; k < K; k++) sum += (double)x[i * K + k] * (double)w[j * K + k];
            if ((double)y[i * N + j] != sum) return false;
        }
    return true;
}

TEST(packed_when_needed) {
    test_heap heap = {0};
    onx_context *ctx = test_context(&heap, NULL);
    onx_model *model = make(ctx);
    onx_session *one = NULL, *two = NULL;
    size_t before = heap.bytes;
    REQUIRE(!onx_session_new(model, NULL, &one, NULL) && !onx_session_new(model, NULL, &two, NULL));
    CHECK(runs(one, 1) && runs(one, 3) && runs(one, 8));
    CHECK(heap.bytes - before < sizeof w);
    CHECK(runs(one, 9) && runs(one, 1) && runs(one, ROWS));
    size_t packed = heap.bytes;
    CHECK(packed - before > sizeof w);
    CHECK(runs(two, ROWS) && runs(two, 2));
    CHECK(heap.bytes - packed < sizeof w); /* shared */
    onx_session_free(one);
    CHECK(runs(two, 12));
    onx_session_free(two);
    onx_model_free(model);
    onx_context_free(ctx);
    CHECK_EQ(heap.bytes, 0);
}

TEST_MAIN(E(packed_when_needed))
