/* test_tokenizer.c: Tokenizer of com.microsoft: tokens as ONNX Runtime 1.30 finds them. */
#include "test.h"

#include "kernel.h"
#include "kernel_case.h"

static const struct {
    const char *x, *options;
    const char *dims;  /* of the result */
    const char *words; /* the tokens, with a bar behind each; or, without dims, of a refusal */
} examples[] = {
    {"string[2] x={\"ab\",\"b\"}", "pad_value=\"#\",mark=0,mincharnum=1,tokenexp=\"a|ab\"", "2,1",
     "ab|#|"},
    {"string[2,2] x={\"the quick\",\"fox\",\"\",\"a b c\"}",
     "pad_value=\"#\",mark=0,mincharnum=1,tokenexp=\"[a-z]+\"", "2,2,3",
     "the|quick|#|fox|#|#|#|#|#|a|b|c|"},
    {"string[2] x={\"the quick\",\"no\"}", "pad_value=\"\",mark=1,mincharnum=4,tokenexp=\"\\\\w+\"",
     "2,3", "\x02|quick|\x03|\x02|\x03||"},
    {"string[1] x={\"\"}", "pad_value=\"\",mark=1,mincharnum=1,tokenexp=\"\\\\w+\"", "1,0", ""},
    {"string[1] x={\"foo barred a\"}",
     "pad_value=\"\",mark=0,mincharnum=1,tokenexp=\"\\\\b\\\\w\\\\w+\\\\b\"", "1,2", "foo|barred|"},
    {"string[1] x={\"foo bar\"}", "pad_value=\"\",mark=0,mincharnum=1,tokenexp=\"^\\\\w+\"", "1,1",
     "foo|"},
    {"string[1] x={\"foo bar\"}", "pad_value=\"\",mark=0,mincharnum=1,tokenexp=\"\\\\w+$\"", "1,1",
     "bar|"},
    {"string[1] x={\"xaay\"}", "pad_value=\"\",mark=0,mincharnum=1,tokenexp=\"a*\"", "1,1", "aa|"},
    {"string[2] x={\"h\xc3\xa9l\",\"x\"}", "pad_value=\"#\",mark=0,mincharnum=1,separators=[\"\"]",
     "2,3", "h|\xc3\xa9|l|x|#|#|"},
    {"string[1] x={\"a,b;;c d,\"}",
     "pad_value=\"#\",mark=0,mincharnum=1,separators=[\",\",\";\",\" \"]", "1,4", "a|b|c|d|"},
    {"string[1] x={\"ab12cd1e\"}", "pad_value=\"#\",mark=1,mincharnum=2,separators=[\"[0-9]\"]",
     "1,4", "\x02|ab|cd|\x03|"},
    {"string[0] x={}", "pad_value=\"#\",mark=1,mincharnum=2,separators=[\"[0-9]\"]", "0,0", ""},
    {"string[1] x={\"a\"}", "pad_value=\"#\",mark=0,mincharnum=0,tokenexp=\"a\"", NULL,
     "mincharnum"},
    {"string[1] x={\"a\"}", "pad_value=\"#\",mark=0,mincharnum=1,tokenexp=\"(\"", NULL, "("},
    {"string[1] x={\"a\"}", "pad_value=\"#\",mark=0,mincharnum=1", NULL, "neither"},
    {"string x={\"a\"}", "pad_value=\"#\",mark=0,mincharnum=1,tokenexp=\"a\"", NULL, "dimensions"},
};

static bool is_wanted(const onx_operand *got, const char *dims, const char *words) {
    char text[512] = "";
    onx_operand want = kernel_operand(ONX_DTYPE_STRING, dims, NULL);
    if (got->dtype != ONX_DTYPE_STRING || got->rank != want.rank ||
        memcmp(got->dims, want.dims, want.rank * sizeof *want.dims) != 0)
        return false;
    for (int64_t i = 0; i < got->count; i++) {
        (void)strncat(text, got->object->strings[i].data, 100);
        (void)strncat(text, "|", 2);
    }
    return strcmp(text, words) == 0;
}

TEST(examples) {
    onx_cpu cpu;
    onx_context *ctx = onx_context_or_default(NULL);
    REQUIRE(onx_cpu_init(&cpu, "ref", NULL) == ONX_OK);
    for (size_t i = 0; i < ONX_COUNT(examples); i++) {
        char text[1024];
        kernel_case c;
        onx_operand y = {0}, *out = &y;
        onx_diag diag = ONX_INIT(onx_diag);
        (void)snprintf(text, sizeof text,
                       "<ir_version: 10, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
                       "g () => () <%s>\n{ y = com.microsoft.Tokenizer<%s>(x) }",
                       examples[i].x, examples[i].options);
        if (!CHECK(kernel_case_text(text, &c))) continue;
        onx_status status =
            onx_eval_node(ctx, &cpu.provider, c.node, c.n_in, c.in, 1, &out, NULL, &diag);
        bool right = examples[i].dims
                         ? status == ONX_OK && is_wanted(&y, examples[i].dims, examples[i].words)
                         : status != ONX_OK && strstr(diag.message, examples[i].words);
        if (!CHECK(right)) fprintf(stderr, "    %s: %s\n", examples[i].options, diag.message);
        onx_eval_clear(ctx, &y);
        kernel_case_free(&c);
    }
}

TEST_MAIN(E(examples))
