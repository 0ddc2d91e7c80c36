/* test_microsoft.c: the operators of com.microsoft: what ONNX Runtime gives for nodes with all
 * sorts of options (test/kernels/microsoft.txt); what must be refused; what has no elements; and
 * vectors beside the plain kernel. */
#include "test.h"

#include "case_file.h"
#include "kernel.h"

#include <math.h>

/* ─ Recorded ─────────────────────────────────────────────────────────────────────────────────── */

enum { OUTS = 4, ELEMS = 4096 };

static double tolerance(onx_dtype dtype) {
    return dtype == ONX_DTYPE_F16 ? 4e-3 : dtype == ONX_DTYPE_F32 ? 3e-5 : 0;
}

static bool same(const onx_arg *got, const onx_tensor *want) {
    static double x[ELEMS], y[ELEMS];
    uint64_t n = 0;
    if (!want || got->dtype != onx_tensor_dtype(want) || got->rank != onx_tensor_rank(want))
        return false;
    for (size_t i = 0; i < got->rank; i++)
        if (got->dims[i] != onx_tensor_dim(want, i)) return false;
    if (onx_tensor_count(want, &n, NULL) || n > ELEMS ||
        onx_tensor_read_as(want, ONX_DTYPE_F64, y, n * sizeof *y, NULL) ||
        onx_dtype_convert(got->dtype, got->data, ONX_DTYPE_F64, x, n, false))
        return false;
    double most = tolerance(got->dtype);
    for (uint64_t i = 0; i < n; i++)
        if (!(fabs(x[i] - y[i]) <= most * (1 + fabs(y[i])))) return false;
    return true;
}

static bool gives_what_it_should(const onx_model *model, onx_level level, onx_diag *diag) {
    const onx_graph *graph = onx_model_graph(model);
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_arg out[OUTS] = {{0}};
    onx_session *session = NULL;
    size_t n = onx_graph_output_count(graph);
    options.level = level;
    bool good = n <= OUTS && !onx_session_new(model, &options, &session, diag) &&
                !onx_session_run(session, 0, NULL, n, out, NULL, diag);
    for (size_t i = 0; i < n && good; i++) {
        char name[16];
        const char *number = onx_value_name(onx_graph_output(graph, i)) + 1;
        (void)snprintf(name, sizeof name, "want%s", number);
        good = same(&out[i], onx_value_initializer(onx_graph_find(graph, name)));
        if (!good) (void)onx_fail(diag, ONX_INVALID, "output %s differs", number);
    }
    for (size_t i = 0; i < n && i < OUTS; i++) onx_arg_clear(&out[i]);
    onx_session_free(session);
    return good;
}

TEST(recorded) {
    static const onx_level levels[] = {ONX_LEVEL_NONE, ONX_LEVEL_ALL};
    case_file file;
    size_t n = 0;
    REQUIRE(case_file_open(&file, "kernels/microsoft.txt"));
    for (char *text; (text = case_file_next(&file));) {
        const char *name = case_line(&text);
        onx_model *model = NULL;
        onx_diag diag = ONX_INIT(onx_diag);
        if (!CHECK(case_parse(NULL, text, &model, &diag) == ONX_OK))
            fprintf(stderr, "    %s: %s\n", name, diag.message);
        for (size_t l = 0; model && l < ONX_COUNT(levels); l++)
            if (!CHECK(gives_what_it_should(model, levels[l], &diag)))
                fprintf(stderr, "    %s: %s\n", name, diag.message);
        onx_model_free(model);
        n++;
    }
    CHECK(n >= 60);
    case_file_close(&file);
}

/* ─ Refused ──────────────────────────────────────────────────────────────────────────────────── */

enum { INS = 16 };

/* Inputs are "f1,2,8" (floats 0), "i2=1,-3" (int32), "l…" (int64), "c…" (int8), "u…" (uint8), ""
 * (absent). */
static onx_operand *make(const char *text, onx_operand *out, char *memory) {
    static const struct {
        char letter;
        onx_dtype dtype;
    } kinds[] = {{'f', ONX_DTYPE_F32}, {'h', ONX_DTYPE_F16}, {'i', ONX_DTYPE_I32},
                 {'l', ONX_DTYPE_I64}, {'c', ONX_DTYPE_I8},  {'u', ONX_DTYPE_U8}};
    char dims[64];
    size_t k = 0, n = strcspn(text, "=");
    if (!*text) return NULL;
    while (kinds[k].letter != *text) k++;
    (void)snprintf(dims, sizeof dims, "%.*s", (int)n - 1, text + 1);
    memset(memory, 0, ELEMS);
    *out = kernel_operand(kinds[k].dtype, dims, memory);
    const char *p = text + n;
    for (size_t i = 0; *p; i++) {
        char *end;
        long long value = strtoll(p + 1, &end, 10);
        size_t size = onx_dtype_bits(kinds[k].dtype) / 8;
        memcpy(memory + i * size, &value, size); /* little-endian */
        p = end;
    }
    return out;
}

typedef struct refusal {
    const char *node;
    const char *in[INS];
    onx_status status;
    const char *words;
} refusal;

static kernel_result run(const refusal *r) {
    static char memory[INS][ELEMS];
    onx_operand operand[INS], *in[INS];
    char node[512];
    size_t n = 0;
    for (size_t i = 0; i < INS && r->in[i]; i++) {
        in[i] = make(r->in[i], &operand[i], memory[i]);
        if (in[i]) n = i + 1;
    }
    int at = snprintf(node, sizeof node, "%s(", r->node);
    for (size_t i = 0; i < n; i++)
        at += snprintf(node + at, sizeof node - (size_t)at, "%s%s", i ? ", " : "",
                       in[i] ? (char[]){(char)('a' + i), 0} : "");
    (void)snprintf(node + at, sizeof node - (size_t)at, ")");
    return kernel_run("ref", 21, node, n, in, 0);
}

#define GQA "y, k, v = com.microsoft.GroupQueryAttention<num_heads=2, kv_num_heads=1"
#define MHA "y = com.microsoft.MultiHeadAttention<num_heads=2"
#define ATT "y, p = com.microsoft.Attention<num_heads=2"
#define ADD "y = com.microsoft.SkipLayerNormalization"
#define EMBED "y = com.microsoft.EmbedLayerNormalization"
#define TURN "y = com.microsoft.RotaryEmbedding"

static const refusal refusals[] = {
    /* heads */
    {"y = com.microsoft.MultiHeadAttention<num_heads=0>",
     {"f1,2,4", "f1,2,4", "f1,2,4"},
     ONX_INVALID,
     "num_heads"},
    {MHA ">", {"f1,2,3", "f1,2,3", "f1,2,3"}, ONX_INVALID, "multiple"},
    {MHA ">", {"f1,2,4", "f1,2,4", "f2,2,4"}, ONX_INVALID, "fit"},
    {MHA ">", {"f1,2,4", "f1,2,4", "f1,3,4"}, ONX_INVALID, "fit"},
    {MHA ">", {"f1,2,4", "f1,2,6", "f1,2,4"}, ONX_INVALID, "fit"},
    {MHA ">", {"f1,2,4", "", "f1,2,4"}, ONX_INVALID, "in one"},
    {MHA ">", {"f1,2,3,3,2"}, ONX_INVALID, "in one"},
    {MHA ">", {"f1,2,4", "f1,2,4", "f1,2,4", "f11"}, ONX_INVALID, "bias"},
    {MHA ">", {"f1,2,4", "f1,2,4", "f1,2,4", "", "i3"}, ONX_INVALID, "mask"},
    {MHA ">", {"f1,2,4", "f1,2,4", "f1,2,4", "", "i1,3"}, ONX_INVALID, "mask"},
    {MHA ">", {"f1,2,4", "f1,2,4", "f1,2,4", "", "", "f1,2,2,3"}, ONX_INVALID, "attention_bias"},
    {MHA ">", {"f1,2,4", "f1,2,4", "f1,2,4", "", "", "f1,3,2,2"}, ONX_INVALID, "attention_bias"},
    {MHA ">", {"f1,2,4", "f1,2,4", "f1,2,4", "", "", "", "f1,2,3,2"}, ONX_INVALID, "go together"},
    {MHA ">",
     {"f1,2,4", "f1,2,4", "f1,2,4", "", "", "", "f1,2,3,2", "f1,2,4,2"},
     ONX_INVALID,
     "past"},
    {MHA ">",
     {"f1,2,4", "f1,2,4", "f1,2,4", "", "", "", "f1,2,3,2", "f1,2,3,2", "i1=2"},
     ONX_INVALID,
     "do not fit"},
    {MHA ">",
     {"f1,2,4", "f1,2,4", "f1,2,4", "", "", "", "f1,2,3,2", "f1,2,3,2", "i1=-1"},
     ONX_INVALID,
     "do not fit"},
    {MHA ">",
     {"f1,2,4", "f1,2,4", "f1,2,4", "", "", "", "f1,2,0,2", "f1,2,0,2", "i1=0"},
     ONX_INVALID,
     "do not fit"},
    {MHA ">",
     {"f2,1,4", "f2,1,4", "f2,1,4", "", "", "", "f2,2,3,2", "f2,2,3,2", "i1=1", "i1,3,3"},
     ONX_INVALID,
     "cache_indirection"},
    {MHA ">",
     {"f2,1,4", "f2,1,4", "f2,1,4", "", "", "", "f2,2,3,2", "f2,2,3,2", "i1=1", "i1,2,3=2"},
     ONX_INVALID,
     "beam 2"},
    {MHA ">",
     {"f2,1,4", "f2,1,4", "f2,1,4", "", "", "", "f2,2,3,2", "f2,2,3,2", "i1=1", "i1,2,3=-1"},
     ONX_INVALID,
     "beam -1"},
    /* Attention */
    {ATT ">", {"f1,2,3", "f3,12", "f11"}, ONX_INVALID, "bias"},
    {ATT ">", {"f1,2,3", "f4,12", "f12"}, ONX_INVALID, "weights"},
    {ATT ">", {"f1,2,3", "f3,10", "f10"}, ONX_INVALID, "columns"},
    {ATT ", qkv_hidden_sizes=[4,4]>", {"f1,2,3", "f3,12", "f12"}, ONX_INVALID, "needs 3"},
    {ATT ", qkv_hidden_sizes=[4,4,-4]>", {"f1,2,3", "f3,12", "f12"}, ONX_INVALID, "shared"},
    {ATT ", qkv_hidden_sizes=[4,4,9223372036854775806]>",
     {"f1,2,3", "f3,12", "f12"},
     ONX_INVALID,
     "columns"},
    {ATT ">", {"f1,2,3", "f3,12", "f12", "i1", "f2,1,2,1,3"}, ONX_INVALID, "past"},
    {ATT ", past_present_share_buffer=1>",
     {"f1,2,3", "f3,12", "f12", "", "f2,1,2,3,2"},
     ONX_INVALID,
     "past_sequence_length"},
    {ATT ", past_present_share_buffer=1>",
     {"f1,2,3", "f3,12", "f12", "", "f2,1,2,3,2", "", "i1=9"},
     ONX_INVALID,
     "do not fit"},
    /* GroupQueryAttention: lengths, positions, caches */
    {GQA ">",
     {"f1,1,4", "f1,1,2", "f1,1,2", "f1,1,2,2", "f1,1,2,2", "i1=3", "i1=3"},
     ONX_INVALID,
     "seqlens_k"},
    {GQA ">",
     {"f1,1,4", "f1,1,2", "f1,1,2", "f1,1,2,2", "f1,1,2,2", "i1=-1", "i1=3"},
     ONX_INVALID,
     "seqlens_k"},
    {GQA ">",
     {"f1,1,4", "f1,1,2", "f1,1,2", "f1,1,2,2", "f1,1,2,2", "i1=2147483647", "i1=3"},
     ONX_INVALID,
     "seqlens_k"},
    {GQA ">",
     {"f1,1,4", "f1,1,2", "f1,1,2", "f1,1,0,2", "f1,1,0,2", "i1=4", "i1=5"},
     ONX_INVALID,
     "seqlens_k"},
    {GQA ">",
     {"f1,1,4", "f1,1,2", "f1,1,2", "f1,1,2,2", "f1,1,2,2", "i1=2", "i1=0"},
     ONX_INVALID,
     "total_sequence_length"},
    {GQA ">",
     {"f1,1,4", "f1,1,2", "f1,1,2", "f1,1,2,2", "f1,1,2,2", "i2=1,1", "i1=2"},
     ONX_INVALID,
     "seqlens_k"},
    {GQA ">",
     {"f1,1,4", "f1,1,2", "f1,1,2", "f1,1,2,2", "f1,1,3,2", "i1=2", "i1=3"},
     ONX_INVALID,
     "past"},
    {GQA ">", {"f1,1,4", "f1,1,2", "", "", "", "i1=0", "i1=1"}, ONX_INVALID, "go together"},
    {GQA ">", {"f1,2,4", "f1,1,2", "f1,1,2", "", "", "i1=1", "i1=2"}, ONX_INVALID, "as many"},
    {GQA ">",
     {"f2,2,4", "f2,2,2", "f2,2,2", "f2,1,2,2", "f2,1,2,2", "i2=3,3", "i1=4"},
     ONX_INVALID,
     "several"},
    {GQA ", do_rotary=1>",
     {"f1,1,4", "f1,1,2", "f1,1,2", "", "", "i1=0", "i1=1"},
     ONX_INVALID,
     "cos_cache"},
    {GQA ", do_rotary=1>",
     {"f1,1,4", "f1,1,2", "f1,1,2", "f1,1,2,2", "f1,1,2,2", "i1=2", "i1=3", "f2,1", "f2,1"},
     ONX_INVALID,
     "position"},
    {GQA ", do_rotary=1>",
     {"f1,1,4", "f1,1,2", "f1,1,2", "f1,1,2,2", "f1,1,2,2", "i1=2", "i1=3", "f9,1", "f9,1",
      "l1,1=9"},
     ONX_INVALID,
     "position"},
    {GQA ", do_rotary=1>",
     {"f1,1,4", "f1,1,2", "f1,1,2", "", "", "i1=0", "i1=1", "f0,4611686018427387904",
      "f0,4611686018427387904"},
     ONX_INVALID,
     "9223372036854775807 elements"},
    {GQA ", do_rotary=1>",
     {"f1,1,4", "f1,1,2", "f1,1,2", "", "", "i1=0", "i1=1", "f9,2", "f9,2"},
     ONX_INVALID,
     "in pairs"},
    {GQA ", local_window_size=2, causal=0>",
     {"f1,1,4", "f1,1,2", "f1,1,2", "", "", "i1=0", "i1=1"},
     ONX_INVALID,
     "window"},
    {GQA ", sliding_window_cache=1>",
     {"f1,1,4", "f1,1,2", "f1,1,2", "f1,1,2,2", "f1,1,2,2", "i1=2", "i1=3"},
     ONX_INVALID,
     "sliding_window_cache"},
    {GQA ", qk_output=3>",
     {"f1,1,4", "f1,1,2", "f1,1,2", "", "", "i1=0", "i1=1"},
     ONX_INVALID,
     "qk_output"},
    {GQA ", kv_cache_bit_width=8>",
     {"f1,1,4", "f1,1,2", "f1,1,2", "", "", "i1=0", "i1=1"},
     ONX_INVALID,
     "kv_cache_bit_width"},
    {GQA ", kv_cache_bit_width=8, k_quant_type=\"PER_TENSOR\", v_quant_type=\"PER_TENSOR\">",
     {"f1,1,4", "f1,1,2", "f1,1,2", "", "", "i1=0", "i1=1"},
     ONX_INVALID,
     "k_scale"},
    {GQA ", kv_cache_bit_width=8, k_quant_type=\"PER_CHANNEL\", v_quant_type=\"PER_CHANNEL\">",
     {"f1,1,4", "f1,1,2", "f1,1,2", "", "", "i1=0", "i1=1", "", "", "", "", "", "f3", "f2"},
     ONX_INVALID,
     "needs one element"},
    {"y = com.microsoft.GroupQueryAttention<num_heads=3, kv_num_heads=2>",
     {"f1,1,6", "f1,1,4", "f1,1,4", "", "", "i1=0", "i1=1"},
     ONX_INVALID,
     "evenly"},
    /* norms */
    {ADD, {"f2,3", "f3,2", "f3"}, ONX_INVALID, "skip"},
    {ADD, {"f2,2,3", "f2,1,3", "f3"}, ONX_INVALID, "skip"},
    {ADD, {"f2,3", "f2,3", "f2"}, ONX_INVALID, "input 2"},
    {ADD, {"f", "f", "f1"}, ONX_INVALID, "scalar"},
    {EMBED, {"i1,2=5,0", "", "f3,2", "f3,2", "", "f2", "f2"}, ONX_INVALID, "row 5"},
    {EMBED, {"i1,2=-1,0", "", "f3,2", "f3,2", "", "f2", "f2"}, ONX_INVALID, "row -1"},
    {EMBED, {"i1,4", "", "f3,2", "f3,2", "", "f2", "f2"}, ONX_INVALID, "row 3"},
    {EMBED, {"i1,2", "i1,2=0,7", "f3,2", "f3,2", "f2,2", "f2", "f2"}, ONX_INVALID, "row 7"},
    {EMBED, {"i1,2", "i1,2", "f3,2", "f3,2", "", "f2", "f2"}, ONX_INVALID, "segment"},
    {EMBED, {"i1,2", "", "f3,2", "f3,3", "", "f2", "f2"}, ONX_INVALID, "wide"},
    /* positions */
    {TURN, {"f1,2,4", "l1=2", "f3,2", "f3,2"}, ONX_INVALID, "position 3"},
    {TURN, {"f1,2,4", "l1=-1", "f3,2", "f3,2"}, ONX_INVALID, "position -1"},
    {TURN, {"f1,2,4", "l1=9223372036854775807", "f3,2", "f3,2"}, ONX_INVALID, "position"},
    {TURN, {"f1,2,4", "l1,2=0,3", "f3,2", "f3,2"}, ONX_INVALID, "position 3"},
    {TURN, {"f1,2,4", "l3", "f3,2", "f3,2"}, ONX_INVALID, "position_ids"},
    {TURN, {"f1,2,4", "l1", "f3,3", "f3,3"}, ONX_INVALID, "width"},
    {TURN, {"f1,2,4", "l1", "f3,0", "f3,0"}, ONX_INVALID, "width"},
    {TURN "<rotary_embedding_dim=2>", {"f1,2,4", "l1", "f3,1", "f3,1"}, ONX_INVALID, "num_heads"},
    {TURN "<rotary_embedding_dim=3, num_heads=1>",
     {"f1,2,4", "l1", "f3,1", "f3,1"},
     ONX_INVALID,
     "in pairs"},
    /* products */
    {"y = com.microsoft.FusedMatMul", {"f2,3", "f2,3"}, ONX_INVALID, ""},
    {"y = com.microsoft.FusedMatMul", {"f2,1", "f3,2"}, ONX_INVALID, "columns"},
    {"y = com.microsoft.FusedMatMul", {"f", "f3,2"}, ONX_INVALID, "at least one"},
    {"y = com.microsoft.FusedMatMul<transBatchA=1>", {"f2,3", "f3,2"}, ONX_INVALID, "transBatch"},
    {"y = com.microsoft.FusedGemm<activation=\"Nothing\">",
     {"f2,3", "f3,2"},
     ONX_INVALID,
     "activation"},
};

TEST(refused) {
    for (size_t i = 0; i < ONX_COUNT(refusals); i++) {
        kernel_result r = run(&refusals[i]);
        if (!CHECK(r.status == refusals[i].status && strstr(r.diag.message, refusals[i].words)))
            fprintf(stderr, "    %zu: %s: %s\n", i, refusals[i].node, r.diag.message);
        kernel_free(&r);
    }
}

/* ─ Nothing ──────────────────────────────────────────────────────────────────────────────────── */

/* Without elements, and with sizes that cannot be multiplied: no failure, or a sentence. */
TEST(nothing) {
    static const refusal cases[] = {
        {MHA ">", {"f0,2,4", "f0,2,4", "f0,2,4"}, ONX_OK, ""},
        {MHA ">", {"f1,0,4", "f1,2,4", "f1,2,4"}, ONX_OK, ""},
        {MHA ">", {"f1,2,4", "f1,0,4", "f1,0,4"}, ONX_OK, ""},
        {MHA ", scale=1.0>", {"f1,2,0", "f1,2,0", "f1,2,4"}, ONX_OK, ""},
        {MHA ">", {"f1,2,4", "f1,2,4", "f1,2,0", "f8"}, ONX_OK, ""},
        {ATT ">", {"f0,2,3", "f3,12", "f12"}, ONX_OK, ""},
        {ATT ">", {"f1,0,3", "f3,12", "f12"}, ONX_OK, ""},
        {ATT ">", {"f1,2,0", "f0,12", "f12"}, ONX_OK, ""},
        {ATT ">", {"f1,2,3", "f3,0", "f0"}, ONX_OK, ""},
        {GQA ">", {"f0,1,4", "f0,1,2", "f0,1,2", "", "", "i0", "i1=1"}, ONX_OK, ""},
        {GQA ">", {"f1,1,0", "f1,1,0", "f1,1,0", "", "", "i1=0", "i1=1"}, ONX_OK, ""},
        {GQA ">",
         {"f1,0,4", "f1,0,2", "f1,0,2", "f1,1,2,2", "f1,1,2,2", "i1=1", "i1=2"},
         ONX_OK,
         ""},
        {ADD, {"f2,0", "f2,0", "f0"}, ONX_OK, ""},
        {ADD, {"f0,3", "f0,3", "f3"}, ONX_OK, ""},
        {EMBED, {"i0,2", "", "f3,2", "f3,2", "", "f2", "f2"}, ONX_OK, ""},
        {EMBED, {"i1,2", "", "f3,0", "f3,0", "", "f0", "f0"}, ONX_OK, ""},
        {TURN, {"f0,2,4", "l1", "f3,2", "f3,2"}, ONX_OK, ""},
        {"y = com.microsoft.FusedMatMul", {"f2,0", "f0,3"}, ONX_OK, ""},
        {"y = com.microsoft.FusedGemm<activation=\"Relu\">", {"f2,0", "f0,3"}, ONX_OK, ""},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        kernel_result r = run(&cases[i]);
        if (!CHECK(r.status == cases[i].status))
            fprintf(stderr, "    %zu: %s: %s\n", i, cases[i].node, r.diag.message);
        for (size_t o = 0; r.status == ONX_OK && o < r.n_out; o++)
            for (int64_t e = 0; e < r.out[o].count && r.out[o].dtype == ONX_DTYPE_F32; e++)
                CHECK(((const float *)r.out[o].data)[e] == 0); /* of zeros, or of no keys at all */
        kernel_free(&r);
    }
    static const char *const huge[] = {"f0,4611686018427387904,4611686018427387904",
                                       "f4611686018427387904,0,4611686018427387904",
                                       "f4611686018427387904,4611686018427387904,0"};
    for (size_t i = 0; i < ONX_COUNT(huge); i++) {
        const char *h = huge[i];
        const refusal all[] = {
            {MHA ">", {h, h, h}, ONX_OK, ""},
            {MHA ", unidirectional=1>", {h, h, h, "f12", "i1"}, ONX_OK, ""},
            {ATT ">", {h, "f0,12", "f12"}, ONX_OK, ""},
            {ATT ">", {h, "f4611686018427387904,0", "f0"}, ONX_OK, ""},
            {GQA ">", {h, h, h, "", "", "i0", "i1=1"}, ONX_OK, ""},
            {GQA ">", {h, "", "", "", "", "i0", "i1=1"}, ONX_OK, ""},
            {ADD, {h, h, "f0"}, ONX_OK, ""},
            {TURN, {h, "l1", "f3,2", "f3,2"}, ONX_OK, ""},
        };
        for (size_t k = 0; k < ONX_COUNT(all); k++) {
            kernel_result r = run(&all[k]);
            CHECK(r.status == ONX_OK || r.diag.message[0]);
            kernel_free(&r);
        }
    }
}

/* Past and present of one size: new rows go behind those that count; the rest stays. */
TEST(shared_buffer) {
    float past[2 * 3] = {1, 2, 9, 3, 4, 9}, query[2] = {0};
    int32_t length = 1;
    onx_operand q = kernel_operand(ONX_DTYPE_F32, "1,1,2", query);
    onx_operand k = kernel_operand(ONX_DTYPE_F32, "1,1,2", (float[]){5, 7});
    onx_operand p = kernel_operand(ONX_DTYPE_F32, "1,2,3,1", past);
    onx_operand n = kernel_operand(ONX_DTYPE_I32, "1", &length);
    kernel_result r = kernel_run(
        "ref", 21,
        "y, a, b = com.microsoft.MultiHeadAttention<num_heads=2>(q, k, k, , , , p, p, n)", 9,
        (onx_operand *[]){&q, &k, &k, NULL, NULL, NULL, &p, &p, &n}, 0);
    REQUIRE(r.status == ONX_OK);
    CHECK(memcmp(r.out[1].data, (float[]){1, 5, 9, 3, 7, 9}, sizeof past) == 0);
    CHECK(memcmp(r.out[0].data, (float[]){3, 5}, sizeof query) == 0); /* means of two keys each */
    kernel_free(&r);
}

/* ─ On vectors ───────────────────────────────────────────────────────────────────────────────── */

enum { HEADS = 4, SHARED = 2, MOST = 1 << 17 };

static bool is_near(const kernel_result *a, const kernel_result *b) {
    if (a->status != ONX_OK || b->status != ONX_OK || a->n_out != b->n_out) return false;
    for (size_t o = 0; o < a->n_out; o++) {
        const float *x = a->out[o].data, *y = b->out[o].data;
        if (a->out[o].bytes != b->out[o].bytes) return false;
        for (int64_t i = 0; i < a->out[o].count; i++)
            if (x[i] != y[i] && !(fabsf(x[i] - y[i]) <= 2e-6f + 2e-6f * fabsf(y[i]))) return false;
    }
    return true;
}

/* `new` queries and keys after a past of `past`, as each tier and the plain kernel have it. The
 * last value is infinite: only the last row sees it. */
static void try_group(const char *more, int64_t new, int64_t past, int64_t size) {
    static float q[MOST], k[MOST], v[MOST], old_k[MOST], old_v[MOST];
    int32_t last = (int32_t)(past + new - 1), total = last + 1;
    char dims[3][64], node[200];
    (void)snprintf(dims[0], sizeof dims[0], "1,%lld,%lld", (long long)new,
                   (long long)(HEADS * size));
    (void)snprintf(dims[1], sizeof dims[1], "1,%lld,%lld", (long long)new,
                   (long long)(SHARED * size));
    (void)snprintf(dims[2], sizeof dims[2], "1,%d,%lld,%lld", SHARED, (long long)past,
                   (long long)size);
    (void)snprintf(node, sizeof node,
                   "y, a, b = com.microsoft.GroupQueryAttention<num_heads=%d, kv_num_heads=%d%s>"
                   "(q, k, v, p, o, l, t)",
                   HEADS, SHARED, more);
    REQUIRE(HEADS * size * (new > past ? new : past) <= MOST);
    float *all[] = {q, k, v, old_k, old_v};
    for (size_t i = 0; i < ONX_COUNT(all); i++) kernel_fill(all[i], MOST, i + 1, -1, 1);
    for (int64_t i = 0; i < SHARED * size; i++) v[(new - 1) * SHARED * size + i] = INFINITY;
    onx_operand operand[] = {kernel_operand(ONX_DTYPE_F32, dims[0], q),
                             kernel_operand(ONX_DTYPE_F32, dims[1], k),
                             kernel_operand(ONX_DTYPE_F32, dims[1], v),
                             kernel_operand(ONX_DTYPE_F32, dims[2], old_k),
                             kernel_operand(ONX_DTYPE_F32, dims[2], old_v),
                             kernel_operand(ONX_DTYPE_I32, "1", &last),
                             kernel_operand(ONX_DTYPE_I32, "1", &total)};
    onx_operand *in[ONX_COUNT(operand)];
    for (size_t i = 0; i < ONX_COUNT(in); i++) in[i] = &operand[i];
    kernel_result want = kernel_run("ref", 21, node, ONX_COUNT(in), in, 0);
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result got = kernel_run(*tier, 21, node, ONX_COUNT(in), in, 0);
        if (!CHECK(is_near(&got, &want)))
            fprintf(stderr, "    %s, %lld after %lld, size %lld: %s %s\n", *tier, (long long)new,
                    (long long)past, (long long)size, got.diag.message, want.diag.message);
        kernel_free(&got);
    }
    kernel_free(&want);
}

TEST(vectors) {
    static const char *const more[] = {"", ", softcap=2.0", ", local_window_size=9",
                                       ", smooth_softmax=1"};
    static const int64_t sizes[] = {1, 8, 16, 19, 40, 100}, pasts[] = {1, 7, 16, 33, 300};
    static const int64_t news[] = {1, 6, 31, 70};
    for (size_t m = 0; m < ONX_COUNT(more); m++)
        for (size_t s = 0; s < ONX_COUNT(sizes); s++)
            for (size_t p = 0; p < ONX_COUNT(pasts); p++)
                for (size_t n = 0; n < ONX_COUNT(news); n++)
                    try_group(more[m], news[n], pasts[p], sizes[s]);
}

TEST_MAIN(E(recorded) E(vectors) E(refused) E(nothing) E(shared_buffer))
