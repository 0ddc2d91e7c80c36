/* test_export_quantized.c: TorchScript files of quantized models: packed weights in all the forms
 * that PyTorch writes, quantized tensors on their way, and what is refused. */
#include "test.h"
#include "torch_files.h"

#include <math.h>

/* ── Archives ── */

/* A float or int64 tensor of n elements, a record `key` of data/; one of n * 2 that is quantized,
 * by two scales ("2", "3"), or by one. */
#define STORAGE(type, key, n)                                                                      \
    "(X\7\0\0\0storagectorch\n" type "\nX\1\0\0\0" key "X\3\0\0\0cpuK" n "tQ"
#define VECTOR(type, key, n)                                                                       \
    "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE(type, key, n) "K\0(K" n "t(K\1t\x89}tR"
#define CODED(sizes, strides, how)                                                                 \
    "ctorch._utils\n_rebuild_qtensor\n(" STORAGE("QInt8Storage", "0", "\10") "K\0(" sizes          \
                                                                             "t(" strides "t(" how \
                                                                             "t\x89}tR"
#define CHANNELS                                                                                   \
    "ctorch\nper_channel_affine\n" VECTOR("DoubleStorage", "2", "\2")                              \
        VECTOR("LongStorage", "3", "\2") "K\0"
#define WHOLE "ctorch\nper_tensor_affine\nG\x3f\xe0\0\0\0\0\0\0K\0" /* 0.5 */
#define BIAS VECTOR("FloatStorage", "1", "\2")
#define MATRIX(how) CODED("K\2K\4", "K\4K\1", how)
#define KERNEL CODED("K\2K\1K\2K\2", "K\4K\4K\2K\1", WHOLE)
#define NUMBERS VECTOR("ShortStorage", "4", "\13")
#define NUMBER(at)                                                                                 \
    "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE("ShortStorage", "4", "\13") "K" at              \
                                                                               "(K\1t(K\1t\x89}tR"
#define OBJECT(name, state) "c__torch__.torch.classes.quantized\n" name "\n)\x81" state "b"
#define ROOT(state)                                                                                \
    "\x80\x02"                                                                                     \
    "c__torch__\nM\n)\x81}(X\1\0\0\0p" state "ub."
#define TEXT(s) ((onx_str){s, sizeof(s) - 1})

static const char weight[] = {1, 2, 3, 4, -1, -2, -3, -4};
static const float bias[] = {0.5F, -1};
static const double scales[] = {0.5, 0.25};
static const int64_t zeros[] = {0, 0};
static const int16_t numbers[] = {2, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0};

static onx_str make(const char *type, onx_str state, const char *code, onx_buf *out) {
    onx_buf source;
    onx_buf_init(&source, onx_context_or_default(NULL));
    onx_buf_printf(&source,
                   "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
                   "  p : __torch__.torch.classes.quantized.%s\n"
                   "  def forward(self: __torch__.M,\n      x: Tensor) -> Tensor:\n    p = self.p\n"
                   "    q = torch.quantize_per_tensor(x, 0.5, 10, 13)\n    return %s\n",
                   type, code);
    torch_record records[] = {{"m/data.pkl", state},
                              {"m/constants.pkl", {"\x80\x02).", 4}},
                              {"m/version", {"3", 1}},
                              {"m/code/__torch__.py", {source.data, source.size}},
                              {"m/data/0", {weight, sizeof weight}},
                              {"m/data/1", {(const char *)bias, sizeof bias}},
                              {"m/data/2", {(const char *)scales, sizeof scales}},
                              {"m/data/3", {(const char *)zeros, sizeof zeros}},
                              {"m/data/4", {(const char *)numbers, sizeof numbers}},
                              {NULL, {NULL, 0}}};
    torch_zip(source.ctx, records, out);
    onx_buf_fini(&source);
    return (onx_str){out->data, out->size};
}

/* ── What becomes of them ── */

typedef struct kind {
    const char *type;
    onx_str state;
    const char *input; /* its type */
} kind;

static onx_status export(onx_context *ctx, const kind *k, const char *code, onx_buf *bytes,
                         onx_model **model, onx_diag *diag) {
    onx_export_options how = ONX_INIT(onx_export_options);
    const onx_export_input input = {"x", k->input};
    onx_str archive = make(k->type, k->state, code, bytes);
    how.n_inputs = 1;
    how.inputs = &input;
    return onx_model_export_memory(ctx, archive.data, archive.size, &how, model, diag);
}

/* The nodes of the model, and what it gives for x = 1, -0.5, 0.3, 2 …: as `expected` within
 * `apart`. */
static bool gives(const kind *k, const char *code, const char *nodes, size_t n,
                  const float *expected, float apart) {
    float x[] = {1, -0.5F, 0.3F, 2, 4, 0, -3, 1}, y[16] = {0};
    onx_arg in = {.dtype = ONX_DTYPE_F32, .data = x};
    onx_arg out = {.data = y, .bytes = sizeof y};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    onx_session *session = NULL;
    onx_buf bytes;
    char ops[300] = "";
    in.rank = k->input[6] == '1' && k->input[7] == ',' && k->input[8] == '1' ? 4 : 2;
    memcpy(in.dims, in.rank == 4 ? (int64_t[4]){1, 1, 2, 4} : (int64_t[4]){1, 4}, 32);
    in.bytes = in.rank == 4 ? sizeof x : sizeof x / 2;
    bool ok = !export(NULL, k, code, &bytes, &model, &diag) &&
              !onx_model_check(model, NULL, &diag) &&
              !onx_session_new(model, NULL, &session, &diag) &&
              !onx_session_run(session, 1, &in, 1, &out, NULL, &diag);
    for (const onx_node *m = ok ? onx_graph_node_first(onx_model_graph(model)) : NULL; m;
         m = onx_node_next(m)) {
        strcat(ops, onx_node_op(m));
        strcat(ops, " ");
    }
    int64_t count = 1;
    for (size_t i = 0; i < out.rank; i++) count *= out.dims[i];
    bool same = ok && count == (int64_t)n && !strcmp(ops, nodes);
    for (size_t i = 0; i < n; i++) same = same && fabsf(y[i] - expected[i]) <= apart;
    if (!same) fprintf(stderr, "    %s: %s, %s %g %g\n", code, diag.message, ops, y[0], y[1]);
    onx_session_free(session);
    onx_model_free(model);
    onx_buf_fini(&bytes);
    return same;
}

static bool refuses(const kind *k, const char *code, onx_status status, const char *words) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    onx_buf bytes;
    bool same = export(NULL, k, code, &bytes, &model, &diag) == status && !model &&
                strstr(diag.message, words);
    if (!same) fprintf(stderr, "    %s: %d %s\n", code, diag.status, diag.message);
    onx_model_free(model);
    onx_buf_fini(&bytes);
    return same;
}

/* ── Linear layers ── */

#define LINEAR "LinearPackedParamsBase"
static const kind channels = {LINEAR,
                              {ROOT(OBJECT(LINEAR, "(" MATRIX(CHANNELS) BIAS "t")),
                               sizeof(ROOT(OBJECT(LINEAR, "(" MATRIX(CHANNELS) BIAS "t"))) - 1},
                              "float[1,4]"};
static const kind whole = {LINEAR,
                           {ROOT(OBJECT(LINEAR, "(" MATRIX(WHOLE) "Nt")),
                            sizeof(ROOT(OBJECT(LINEAR, "(" MATRIX(WHOLE) "Nt"))) - 1},
                           "float[1,4]"};
#define LAYER "QuantizeLinear DequantizeLinear DequantizeLinear Gemm "
#define END "QuantizeLinear DequantizeLinear "

TEST(linear) {
    CHECK(gives(&channels, "torch.dequantize(ops.quantized.linear(q, p, 0.125, 40))", LAYER END, 2,
                (float[]){5.25F, -3.375F}, 0));
    CHECK(gives(&channels, "torch.dequantize(ops.quantized.linear_relu(q, p, 0.125, 40))",
                LAYER "Relu " END, 2, (float[]){5.25F, 0}, 0));
    CHECK(gives(&channels, "torch.dequantize(ops.quantized.linear_relu(q, p, 0.125, 0))", LAYER END,
                2, (float[]){5.25F, 0}, 0)); /* what Relu takes, uint8 has not */
    CHECK(gives(&whole, "torch.dequantize(ops.quantized.linear(q, p, 0.125, 50))", LAYER END, 2,
                (float[]){4.75F, -4.75F}, 0));
}

TEST(linear_by_what_comes) {
    CHECK(gives(&whole, "ops.quantized.linear_dynamic(x, p, True)",
                "ReduceMin ReduceMax Min Max Sub Mul Max Div Round Sub Clip Cast QuantizeLinear "
                "MatMulInteger Cast Mul Mul ",
                2, (float[]){4.45F, -4.45F}, 0.05F));
}

/* ── Quantized tensors on their way ── */

TEST(ways) {
    static const float moved[] = {-0.5F, 0.5F, 2};
    CHECK(gives(&whole, "torch.dequantize(torch.slice(torch.view(q, [4]), 0, 1))",
                "QuantizeLinear Reshape Slice DequantizeLinear ", 3, moved, 0));
    CHECK(gives(&whole, "torch.dequantize(ops.quantized.mul_scalar(q, 2.))",
                "QuantizeLinear DequantizeLinear ", 4, (float[]){2, -1, 1, 4}, 0));
    CHECK(gives(&whole, "torch.dequantize(ops.quantized.add_scalar(q, 1.))",
                "QuantizeLinear DequantizeLinear ", 4, (float[]){2, 0.5F, 1.5F, 3}, 0));
    CHECK(gives(&whole, "torch.dequantize(ops.quantized.add(q, q, 0.25, 7))",
                "QuantizeLinear DequantizeLinear Add QuantizeLinear DequantizeLinear ", 4,
                (float[]){2, -1, 1, 4}, 0));
    CHECK(gives(&whole, "torch.dequantize(torch.sigmoid(q))",
                "QuantizeLinear DequantizeLinear Sigmoid QuantizeLinear DequantizeLinear ", 4,
                (float[]){0.73046875F, 0.37890625F, 0.62109375F, 0.87890625F}, 0.004F));
    CHECK(refuses(&whole, "torch.exp(q)", ONX_UNSUPPORTED, "'exp' of a quantized tensor"));
    CHECK(refuses(&whole, "ops.quantized.linear(x, p, 1., 0)", ONX_INVALID, "not quantized"));
}

/* ── Convolutions ── */

#define CONV "Conv2dPackedParamsBase"
#define SECOND                                                                                     \
    "(X\1\0\0\0"                                                                                   \
    "2](" NUMBERS KERNEL "e](" BIAS "et"
#define THIRD "(K\3](K\2K\1K\1K\0K\0K\1K\1K\0K\0K\1K\0e](N" KERNEL BIAS "et"
#define FIRST                                                                                      \
    "(" KERNEL BIAS "](" NUMBER("\1") NUMBER("\2") "e](" NUMBER("\3")                              \
        NUMBER("\4") "e](" NUMBER("\5") NUMBER("\6") "e" NUMBER("\11") "t"
#define SHORT                                                                                      \
    "(X\1\0\0\0"                                                                                   \
    "2](" VECTOR("ShortStorage", "4", "\7") KERNEL "e](" BIAS "et"

TEST(convolution) {
    static const float y[] = {6.5F, -5.25F, 0.25F, -7, 4.75F, -0.75F};
    static const char code[] = "torch.dequantize(ops.quantized.conv2d(q, p, 0.125, 100))";
    const onx_str states[] = {TEXT(ROOT(OBJECT(CONV, FIRST))), TEXT(ROOT(OBJECT(CONV, SECOND))),
                              TEXT(ROOT(OBJECT(CONV, THIRD)))};
    for (size_t i = 0; i < ONX_COUNT(states); i++) {
        kind k = {CONV, states[i], "float[1,1,2,4]"};
        CHECK(
            gives(&k, code, "QuantizeLinear DequantizeLinear DequantizeLinear Conv " END, 6, y, 0));
    }
    kind bad = {CONV, TEXT(ROOT(OBJECT(CONV, SHORT))), "float[1,1,2,4]"};
    CHECK(refuses(&bad, code, ONX_MALFORMED, "is not as PyTorch writes it"));
    kind none = {CONV, TEXT(ROOT(OBJECT(CONV, ")"))), "float[1,1,2,4]"};
    CHECK(refuses(&none, code, ONX_MALFORMED, "is not as PyTorch writes it"));
    kind other = {CONV, TEXT(ROOT(OBJECT("Secret", ")"))), "float[1,1,2,4]"};
    CHECK(refuses(&other, code, ONX_UNSUPPORTED, "which has no code"));
}

/* One allocation fails, whichever: NO_MEMORY, or it did not matter; nothing is left behind. */
TEST(memory) {
    for (size_t at = 1;; at++) {
        test_heap heap = {0};
        onx_context *ctx = test_context(&heap, NULL);
        onx_diag diag = ONX_INIT(onx_diag);
        onx_model *model = NULL;
        onx_buf bytes;
        heap.fail_at = heap.calls + at;
        heap.fail_count = 1;
        onx_status status =
            export(ctx, &channels, "torch.dequantize(ops.quantized.linear(q, p, 0.125, 40))",
                   &bytes, &model, &diag);
        bool over = heap.failed == 0;
        CHECK(!status == !!model && (!status || status == ONX_NO_MEMORY) && (!over || !status));
        if (status && status != ONX_NO_MEMORY) fprintf(stderr, "    %zu: %s\n", at, diag.message);
        onx_model_free(model);
        onx_context_free(ctx);
        onx_buf_fini(&bytes);
        CHECK(heap.blocks == 0);
        if (over) break;
    }
}

TEST_MAIN(E(linear) E(linear_by_what_comes) E(ways) E(convolution) E(memory))
