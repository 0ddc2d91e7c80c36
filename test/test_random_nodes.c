/* Random nodes of the families that work element by element, along axes, or on rows: random shapes
 * (empty ones and rank 0 among them), types, axes and addresses. Every tier must say what the plain
 * kernel says: the same failure, or the same shape and nearly the same numbers. */
#include "test.h"

#include "kernel.h"

#include <math.h>

static uint64_t state = 88172645463325252u;

static size_t below(size_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 16) % n;
}

/* %d stands for a random number from -4 to 4. */
static const struct {
    const char *text;
    size_t n_in;
    const char
        *types; /* of inputs: f any float, F float, c float for each channel, b bool, i axes */
} nodes[] = {
    {"y = Add(a, b)", 2, "ff"},
    {"y = Sub(a, b)", 2, "ff"},
    {"y = Mul(a, b)", 2, "ff"},
    {"y = Max(a, b, c)", 3, "fff"},
    {"y = Mean(a, b, c)", 3, "fff"},
    {"y = Less(a, b)", 2, "ff"},
    {"y = And(a, b)", 2, "bb"},
    {"y = Where(a, b, c)", 3, "bff"},
    {"y = PRelu(a, b)", 2, "ff"},
    {"y = Relu(a)", 1, "f"},
    {"y = Tanh(a)", 1, "f"},
    {"y = Clip(a, b, c)", 3, "fff"},
    {"y = LeakyRelu<alpha=0.25>(a)", 1, "f"},
    {"y = onx.internal.Tile<code=[22,0,1,0, 24,128,2,0, 16,129,0,0]>(a, b, c)", 3, "FFb"},
    {"y = onx.internal.Tile<code=[23,0,1,0, 41,128,2,0]>(a, b, c)", 3, "FFF"},
    {"y = Softmax<axis=%d>(a)", 1, "f"},
    {"y = LogSoftmax<axis=%d>(a)", 1, "f"},
    {"y = Hardmax<axis=%d>(a)", 1, "f"},
    {"y = ReduceSum<keepdims=0>(a, b)", 2, "fi"},
    {"y = ReduceMean(a, b)", 2, "fi"},
    {"y = ReduceMax(a, b)", 2, "fi"},
    {"y = ReduceL2<noop_with_empty_axes=1>(a, b)", 2, "fi"},
    {"y = ReduceLogSumExp(a, b)", 2, "fi"},
    {"y = ArgMax<axis=%d>(a)", 1, "f"},
    {"y, m, d = LayerNormalization<axis=%d>(a, b, c)", 3, "FFF"},
    {"y = RMSNormalization<axis=%d>(a, b)", 2, "FF"},
    {"y = InstanceNormalization(a, b, c)", 3, "Fcc"},
    {"y = GroupNormalization<num_groups=%d>(a, b, c)", 3, "Fcc"},
    {"y = BatchNormalization(a, b, b, b, b)", 5, "Fcccc"},
    {"y = LpNormalization<axis=%d>(a)", 1, "f"},
    {"y = Cast<to=%d>(a)", 1, "f"},
};

/* Sizes that often broadcast with `like`, or are those of its last dimensions. */
static void random_shape(onx_operand *o, const onx_operand *like) {
    static const int64_t sizes[] = {0, 1, 1, 2, 3, 4, 6, 17, 40};
    int64_t dims[5];
    size_t rank = below(5);
    for (size_t d = 0; d < rank; d++) dims[d] = sizes[below(ONX_COUNT(sizes))];
    if (like && below(4)) {
        rank = below((size_t)like->rank + 1);
        for (size_t d = 0; d < rank; d++)
            dims[d] = below(5) ? like->dims[like->rank - rank + d] : 1;
    }
    if (!onx_operand_shape(o, (onx_dtype)o->dtype, rank, dims)) abort();
}

static void random_operand(onx_operand *o, char type, onx_dtype dtype, const onx_operand *like,
                           char *memory) {
    *o = (onx_operand){0};
    o->dtype = (uint8_t)(type == 'f' ? dtype : type == 'b' ? ONX_DTYPE_BOOL : ONX_DTYPE_F32);
    if (type == 'i') {
        int64_t axes[2] = {(int64_t)below(9) - 4, (int64_t)below(9) - 4};
        *o = kernel_operand(ONX_DTYPE_I64, (const char *[]){"0", "1", "2"}[below(3)], memory);
        memcpy(memory, axes, sizeof axes);
        return;
    }
    do random_shape(o, like);
    while (o->count > 20000);
    if (type == 'c' && like->rank > 1 && below(8) &&
        !onx_operand_shape(o, ONX_DTYPE_F32, 1, &like->dims[1]))
        abort();
    o->data = memory + below(4);
    static float values[20000];
    kernel_fill(values, (size_t)o->count, below(1000), type == 'c' ? 0.5f : -2, 2);
    for (size_t i = 0; i < 3 && o->count && type != 'b' && type != 'c'; i++)
        if (below(8) == 0)
            values[below((size_t)o->count)] = (float[]){NAN, INFINITY, -INFINITY}[below(3)];
    (void)onx_dtype_convert(ONX_DTYPE_F32, values, (onx_dtype)o->dtype, o->data, (uint64_t)o->count,
                            false);
}

static double tolerance(const onx_operand *out) {
    return out->dtype == ONX_DTYPE_F16 ? 4e-3 : out->dtype == ONX_DTYPE_BF16 ? 3e-2 : 3e-5;
}

static void run_case(size_t which, char (*memory)[20000 * 8 + 8], size_t *good) {
    static const onx_dtype floats[] = {ONX_DTYPE_F32, ONX_DTYPE_F32, ONX_DTYPE_F64, ONX_DTYPE_F16,
                                       ONX_DTYPE_BF16};
    onx_dtype dtype = floats[below(ONX_COUNT(floats))];
    onx_operand o[5], *in[5];
    char text[160];
    (void)snprintf(text, sizeof text, nodes[which].text, (int)below(9) - 4);
    for (size_t i = 0; i < nodes[which].n_in; i++) {
        random_operand(&o[i], nodes[which].types[i], dtype, i ? &o[0] : NULL, memory[i]);
        in[i] = &o[i];
    }
    kernel_result ref = kernel_run("ref", 23, text, nodes[which].n_in, in, 0);
    *good += ref.status == ONX_OK;
    CHECK(ref.status == ONX_OK || ref.diag.message[0]);
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r = kernel_run(*tier, 23, text, nodes[which].n_in, in, 0);
        bool same = r.status == ref.status;
        for (size_t k = 0; same && r.status == ONX_OK && k < r.n_out; k++)
            same = kernel_distance(&r.out[k], &ref.out[k]) <= tolerance(&r.out[k]);
        if (!CHECK(same))
            fprintf(stderr, "    %s of rank %u, %s, on %s: %s %s / %s\n", text, o[0].rank,
                    onx_dtype_name((onx_dtype)o[0].dtype), *tier, onx_status_name(r.status),
                    r.diag.message, onx_status_name(ref.status));
        kernel_free(&r);
    }
    kernel_free(&ref);
}

TEST(random_nodes) {
    static char memory[5][20000 * 8 + 8];
    for (size_t which = 0; which < ONX_COUNT(nodes); which++) {
        size_t good = 0;
        for (size_t i = 0; i < 300; i++) run_case(which, memory, &good);
        if (!CHECK(good >= 5)) fprintf(stderr, "    %s ran %zu times\n", nodes[which].text, good);
    }
}

TEST_MAIN(E(random_nodes))
