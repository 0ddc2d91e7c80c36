/* test_infer_ops.c: inference of single operators: nodes as text and what is known about their
 * outputs, or why they cannot be; bodies of those that are functions; and all node models of the
 * backend tests against their recorded outputs. */
#include "test.h"

#include "infer/infer.h"
#include "support.h"

/* Nodes of one opset over inputs a, b, c …; outputs are y, y1, y2 …, whose types are separated by
 * "; ". "!words" stands for a refusal with these words. */
typedef struct op_case {
    int opset;
    const char *inputs, *nodes, *outputs;
} op_case;

static onx_model *load(const op_case *c) {
    onx_load_options options = ONX_INIT(onx_load_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    char text[2048];
    options.format = ONX_FORMAT_TEXT;
    options.copy = true;
    int n = snprintf(text, sizeof text,
                     "<ir_version: 10, opset_import: [\"\": %d]>\ng (%s) => (y) {\n%s\n}\n",
                     c->opset, c->inputs, c->nodes);
    if (onx_model_load_memory(NULL, text, (size_t)n, &options, &model, &diag))
        fprintf(stderr, "    %s: %s\n%s\n", diag.place, diag.message, text);
    return model;
}

/* "float[N,3]; int64[?0]": of y, y1 …, as many as there are. */
static void print_outputs(const onx_facts *facts, const onx_graph *graph, onx_buf *out) {
    static const char *const names[] = {"y", "y1", "y2", "y3"};
    for (size_t i = 0; i < ONX_COUNT(names); i++) {
        const onx_value *value = onx_graph_find(graph, names[i]);
        if (!value) continue;
        if (i) onx_buf_puts(out, "; ");
        onx_fact_print(onx_facts_of(facts, value), out);
    }
    onx_buf_putc(out, '\0');
}

static bool holds(const op_case *c) {
    onx_model *model = load(c);
    onx_facts *facts = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_buf text;
    bool good = false, refused = false;
    onx_buf_init(&text, onx_context_or_default(NULL));
    if (model) refused = onx_facts_new(model, NULL, &facts, &diag) != ONX_OK;
    if (refused) {
        good = c->outputs[0] == '!' && strstr(diag.message, c->outputs + 1) && diag.place[0];
        onx_buf_printf(&text, "!%s", diag.message);
    } else if (facts) {
        print_outputs(facts, onx_model_graph(model), &text);
        good = strcmp(text.data, c->outputs) == 0;
    }
    if (!good)
        fprintf(stderr, "    opset %d: %s: %s\n    gives %.*s\n    not   %s\n", c->opset, c->inputs,
                c->nodes, (int)text.size, text.data ? text.data : "", c->outputs);
    onx_buf_fini(&text);
    onx_facts_free(facts);
    onx_model_free(model);
    return good;
}

#define ALL_HOLD(cases)                                                                            \
    for (size_t i_ = 0; i_ < ONX_COUNT(cases); i_++) CHECK(holds(&(cases)[i_]))

/* ── Quantization ────────────────────────────────────────────────────────────────────────────── */

TEST(quantize) {
    static const op_case cases[] = {
        {10, "float[N,3] a, float s", "y = QuantizeLinear (a, s)", "uint8[N,3]"},
        {10, "float[N,3] a, float s, int8 z", "y = QuantizeLinear (a, s, z)", "int8[N,3]"},
        {10, "float[N,3] a, float[3] s", "y = QuantizeLinear (a, s)", "!before opset 13"},
        {13, "float[N,3] a, float[3] s, int8[3] z", "y = QuantizeLinear (a, s, z)", "int8[N,3]"},
        {13, "float[N,3] a, float[4] s", "y = QuantizeLinear (a, s)", "!is 3 and 4"},
        {13, "float[N,3] a, float[1] s, int8 z", "y = QuantizeLinear (a, s, z)", "int8[N,3]"},
        {13, "float[N,3] a, float[3] s, int8 z", "y = QuantizeLinear (a, s, z)",
         "!the zero point 0"},
        {13, "float[N,3] a, float[3] s", "y = QuantizeLinear <axis = 2> (a, s)",
         "!axis 2 is out of range for rank 2"},
        {13, "float[N,3] a, float s", "y = QuantizeLinear <axis = 2> (a, s)", "uint8[N,3]"},
        {19, "float16[N] a, float16 s, float8e5m2 z", "y = QuantizeLinear (a, s, z)",
         "float8e5m2[N]"},
        {21, "float[N,3] a, float s", "y = QuantizeLinear <output_dtype = 22> (a, s)", "int4[N,3]"},
        {21, "float[N] a, float s, int8 z", "y = QuantizeLinear <output_dtype = 22> (a, s, z)",
         "!output_dtype says int4, the zero point is int8"},
        {21, "float[4,7] a, float[4,3] s", "y = QuantizeLinear <block_size = 3> (a, s)",
         "uint8[4,7]"},
        {21, "float[4,7] a, float[4,2] s", "y = QuantizeLinear <block_size = 3> (a, s)",
         "!the number of blocks is 3 and 2"},
        {21, "float[4,7] a, float[5,3] s", "y = QuantizeLinear <block_size = 3> (a, s)",
         "!is 4 and 5"},
        {21, "float[4,7] a, float[4,3] s", "y = QuantizeLinear (a, s)",
         "!the scale has 2 dimensions"},
        {21, "float[4] a, float s", "y = QuantizeLinear <block_size = -1> (a, s)",
         "!block_size is -1"},
        {25, "float[N] a, float8e8m0 s", "y = QuantizeLinear <output_dtype = 26> (a, s)",
         "int2[N]"},
        {28, "float[N] a, float s", "y = QuantizeLinear <output_dtype = 99> (a, s)",
         "!is 99, which is no element type"},
        {11, "float[N,M] a", "y, y1, y2 = DynamicQuantizeLinear (a)", "uint8[N,M]; float; uint8"},
    };
    ALL_HOLD(cases);
}

TEST(dequantize) {
    static const op_case cases[] = {
        {10, "uint8[N,3] a, float s", "y = DequantizeLinear (a, s)", "float[N,3]"},
        {13, "int32[N,3] a, float[3] s", "y = DequantizeLinear (a, s)", "float[N,3]"},
        {19, "int8[N] a, float16 s, int8 z", "y = DequantizeLinear (a, s, z)", "float16[N]"},
        {21, "int4[8,6] a, bfloat16[2,6] s",
         "y = DequantizeLinear <axis = 0, block_size = 4> (a, s)", "bfloat16[8,6]"},
        {21, "int4[8,6] a, bfloat16[3,6] s",
         "y = DequantizeLinear <axis = 0, block_size = 4> (a, s)",
         "!the number of blocks is 2 and 3"},
        {23, "int8[N] a, float s", "y = DequantizeLinear <output_dtype = 10> (a, s)", "float16[N]"},
        {24, "int8[N] a, float8e8m0 s", "y = DequantizeLinear (a, s)", "!output_dtype must say"},
        {24, "int8[N] a, float8e8m0 s", "y = DequantizeLinear <output_dtype = 1> (a, s)",
         "float[N]"},
        {13, "int8[N] a, float s, uint8 z", "y = DequantizeLinear (a, s, z)",
         "!must have one type: int8, uint8"},
    };
    ALL_HOLD(cases);
}

TEST(integer_products) {
#define SCALED(a, b)                                                                               \
    "uint8[" a "] a, float s, uint8 z, int8[" b "] b, float t, int8 u, float v, uint8 w"
    static const op_case cases[] = {
        {10, "uint8[N,K] a, int8[K,M] b", "y = MatMulInteger (a, b)", "int32[N,M]"},
        {10, "uint8[2,3] a, int8[4,5] b", "y = MatMulInteger (a, b)", "!as many columns"},
        {10, "uint8[2,3] a, int8[3,5] b, int8 z", "y = MatMulInteger (a, b, z)",
         "!inputs 0 and 2 must have one type"},
        {10, SCALED("B,2,K", "K,5"), "y = QLinearMatMul (a, s, z, b, t, u, v, w)", "uint8[B,2,5]"},
        {21, SCALED("2,3", "3,5"), "y = QLinearMatMul (a, s, z, b, t, u, v, w)", "uint8[2,5]"},
        {10, "uint8[N,3,H,9] a, int8[8,3,3,3] b", "y = ConvInteger (a, b)", "int32[N,8,H - 2,7]"},
        {10, "uint8[N,3,H,9] a, int8[8,4,3,3] b", "y = ConvInteger (a, b)", "!has 3 channels"},
        {10, SCALED("N,3,H,9", "8,3,3,3"),
         "y = QLinearConv <pads = [1, 1, 1, 1], strides = [2, 2]> (a, s, z, b, t, u, v, w)",
         "uint8[N,8,ceil(H/2),5]"},
        {10,
         "uint8[N,3,9,9] a, float s, uint8 z, int8[8,3,3,3] b, float[8] t, int8[8] u, float v, "
         "int8 w, int32[8] B",
         "y = QLinearConv (a, s, z, b, t, u, v, w, B)", "int8[N,8,7,7]"},
        {10,
         "uint8[N,3,9,9] a, float s, uint8 z, int8[8,3,3,3] b, float[4] t, int8 u, float v, int8 w",
         "y = QLinearConv (a, s, z, b, t, u, v, w)", "!output channels is 8 and 4"},
        {10,
         "uint8[N,3,9,9] a, float[3] s, uint8 z, int8[8,3,3,3] b, float t, int8 u, float v, int8 w",
         "y = QLinearConv (a, s, z, b, t, u, v, w)", "!input 1 must be a scalar"},
    };
#undef SCALED
    ALL_HOLD(cases);
}

/* ── Windows over images ─────────────────────────────────────────────────────────────────────── */

TEST(conv_transpose) {
#define IN "float[N,4,H,5] a, float[4,3,3,2] b"
    static const op_case cases[] = {
        {1, IN, "y = ConvTranspose (a, b)", "float[N,3,H + 2,6]"},
        {11, IN, "y = ConvTranspose <strides = [2, 3]> (a, b)", "float[N,3,2*H + 1,14]"},
        {22, IN, "y = ConvTranspose <strides = [2, 3], pads = [1, 0, 1, 1]> (a, b)",
         "float[N,3,2*H - 1,13]"},
        {22, IN, "y = ConvTranspose <strides = [2, 3], output_padding = [1, 2]> (a, b)",
         "float[N,3,2*H + 2,16]"},
        {22, IN, "y = ConvTranspose <dilations = [2, 3]> (a, b)", "float[N,3,H + 4,8]"},
        {22, IN, "y = ConvTranspose <group = 2> (a, b)", "float[N,6,H + 2,6]"},
        {22, IN, "y = ConvTranspose <output_shape = [12, 14]> (a, b)", "float[N,3,12,14]"},
        {22, IN, "y = ConvTranspose <auto_pad = \"SAME_UPPER\", strides = [2, 2]> (a, b)",
         "float[N,3,2*H,10]"},
        {22, IN, "y = ConvTranspose <auto_pad = \"SAME_LOWER\", strides = [2, 3]> (a, b)",
         "float[N,3,2*H,14]"},
        {22, IN, "y = ConvTranspose <auto_pad = \"VALID\", strides = [2, 3]> (a, b)",
         "float[N,3,2*H + 1,14]"},
        {22, "float[N,4,H,5] a, float[] b", "y = ConvTranspose <kernel_shape = [3, 2]> (a, b)",
         "float[N,?0,H + 2,6]"},
        {22, "float[] a, float[4,3,3,2] b", "y = ConvTranspose (a, b)", "float[?0,3,?1,?2]"},
        {22, IN, "y = ConvTranspose <auto_pad = \"VALID\", pads = [0, 0, 0, 0]> (a, b)",
         "!pads and auto_pad"},
        {22, IN, "y = ConvTranspose <group = 3> (a, b)", "!4 channels, which are not 3"},
        {22, IN, "y = ConvTranspose <group = 0> (a, b)", "!group is 0"},
        {22, "float[N,5,H,5] a, float[4,3,3,2] b", "y = ConvTranspose (a, b)", "!is 5 and 4"},
        {22, "float[N,4,5] a, float[4,3,3,2] b", "y = ConvTranspose (a, b)",
         "!the weights have 4 dimensions, the input 3"},
        {22, IN, "y = ConvTranspose <output_padding = [1]> (a, b)", "!has 1 elements for 2"},
        {22, IN, "y = ConvTranspose <output_shape = [1, -2]> (a, b)", "!the element -2"},
        {22, IN, "y = ConvTranspose <pads = [0, 4, 0, 4]> (a, b)", "!would have the size -2"},
        {22, IN ", float[2] c", "y = ConvTranspose (a, b, c)", "!output channels is 3 and 2"},
    };
#undef IN
    ALL_HOLD(cases);
}

TEST(deform_conv) {
    static const op_case cases[] = {
        {19, "float[N,4,8,8] a, float[6,4,3,3] b, float[N,18,6,6] c", "y = DeformConv (a, b, c)",
         "float[N,6,6,6]"},
        {22, "float[N,4,H,W] a, float[6,4,3,3] b, float[2,18,6,6] c", "y = DeformConv (a, b, c)",
         "float[2,6,6,6]"},
        {22, "float[N,4,8,8] a, float[6,4,3,3] b, float[N,36,6,6] c, float[N,18,6,6] d",
         "y = DeformConv <offset_group = 2> (a, b, c, , d)", "float[N,6,6,6]"},
        {22, "float[N,4,8,8] a, float[6,4,3,3] b, float[N,9,6,6] c", "y = DeformConv (a, b, c)",
         "!channels of offset is 18 and 9"},
        {22, "float[N,4,8,8] a, float[6,4,3,3] b, float[N,18,6,6] c, float[N,8,6,6] d",
         "y = DeformConv (a, b, c, , d)", "!channels of mask is 9 and 8"},
        {22, "float[N,4,8,8] a, float[6,4,3,3] b, float[N,18,5,6] c", "y = DeformConv (a, b, c)",
         "!is 6 and 5"},
    };
    ALL_HOLD(cases);
}

TEST(col2im) {
#define TAKES(image, block)                                                                        \
    "i = Constant <value_ints = [" image "]> () b = Constant <value_ints = [" block "]> () "
    static const op_case cases[] = {
        {18, "float[N,12,L] a", TAKES("5, 6", "2, 3") "y = Col2Im (a, i, b)", "float[N,2,5,6]"},
        {18, "float[1,C,16] a", TAKES("5, 6", "2, 3") "y = Col2Im (a, i, b)",
         "float[1,floor(C/6),5,6]"},
        {18, "float[1,12,16] a", TAKES("5, 6", "2, 3") "y = Col2Im (a, i, b)", "float[1,2,5,6]"},
        {18, "float[1,12,15] a", TAKES("5, 6", "2, 3") "y = Col2Im (a, i, b)",
         "!number of blocks is 15 and 16"},
        {18, "float[1,12,4] a", TAKES("5, 6", "2, 3") "y = Col2Im <strides = [3, 3]> (a, i, b)",
         "float[1,2,5,6]"},
        {18, "float[1,13,16] a", TAKES("5, 6", "2, 3") "y = Col2Im (a, i, b)",
         "!13, does not divide into blocks of 6"},
        {18, "float[1,12] a", TAKES("5, 6", "2, 3") "y = Col2Im (a, i, b)", "!it needs 3"},
        {18, "float[1,12,16] a", TAKES("5, 6, 7", "2, 3") "y = Col2Im (a, i, b)", "!is 3 and 2"},
        {18, "float[1,12,16] a", TAKES("5, 6", "0, 3") "y = Col2Im (a, i, b)", "!not positive"},
        {18, "float[1,12,L] a, int64[2] i, int64[2] b", "y = Col2Im (a, i, b)",
         "float[1,?0,?1,?2]"},
    };
#undef TAKES
    ALL_HOLD(cases);
}

TEST(pools) {
    static const op_case cases[] = {
        {9, "float[N,C,H,6] a, int64[N,C,H,6] b",
         "y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (a, b)", "float[N,C,2*H,12]"},
        {11, "float[1,1,3] a, int64[1,1,3] b",
         "y = MaxUnpool <kernel_shape = [3], strides = [2], pads = [1, 0]> (a, b)", "float[1,1,6]"},
        {22, "float[N,C,2,2] a, int64[N,C,2,2] b",
         "s = Constant <value_ints = [1, 2, 5, 5]> () "
         "y = MaxUnpool <kernel_shape = [2, 2]> (a, b, s)",
         "float[1,2,5,5]"},
        {22, "float[N,C,2,2] a, int64[N,C,2,2] b, int64[4] s",
         "y = MaxUnpool <kernel_shape = [2, 2]> (a, b, s)", "float[?0,?1,?2,?3]"},
        {22, "float[N,C,2,2] a, int64[N,C,2,2] b, int64[3] s",
         "y = MaxUnpool <kernel_shape = [2, 2]> (a, b, s)", "!is 4 and 3"},
        {22, "float[N,C,2,2] a, int64[N,C,2,3] b", "y = MaxUnpool <kernel_shape = [2, 2]> (a, b)",
         "!is 2 and 3"},
        {22, "float[N,C,2,2] a, int64[N,C,2,2] b", "y = MaxUnpool <kernel_shape = [2]> (a, b)",
         "!for 1 spatial dimensions"},
        {22, "float[N,C,2,2] a, int64[N,C,2,2] b", "y = MaxUnpool (a, b)", "!kernel_shape is miss"},
        {1, "float[N,C,H,W] a, float[R,5] b", "y = MaxRoiPool <pooled_shape = [3, 4]> (a, b)",
         "float[R,C,3,4]"},
        {22, "float[N,C,H,W] a, float[R,4] b", "y = MaxRoiPool <pooled_shape = [3, 4]> (a, b)",
         "!elements of a roi is 5 and 4"},
        {22, "float[N,C,H,W] a, float[R,5] b", "y = MaxRoiPool <pooled_shape = [3]> (a, b)",
         "!two positive sizes"},
        {22, "float[N,C,H,W] a, float[R,5] b", "y = MaxRoiPool <pooled_shape = [3, 0]> (a, b)",
         "!two positive sizes"},
    };
    ALL_HOLD(cases);
}

/* ── Images of another size ──────────────────────────────────────────────────────────────────── */

TEST(resize_scales) {
#define BY(scales) "s = Constant <value_floats = [" scales "]> () "
    static const op_case cases[] = {
        {10, "float[N,3,H,5] a", BY("1.0, 1.0, 2.0, 1.5") "y = Resize (a, s)", "float[N,3,2*H,7]"},
        {11, "float[N,3,H,5] a, float[] r", BY("1.0, 1.0, 0.5, 0.6") "y = Resize (a, r, s)",
         "float[N,3,floor(H/2),3]"},
        {13, "float[N,3,H,W] a", BY("1.0, 1.0, 1.5, 0.25") "y = Resize (a, , s)",
         "float[N,3,H + floor(H/2),floor(W/4)]"},
        {13, "float[N,3,H,10] a", BY("1.0, 1.0, 0.3, 0.7") "y = Resize (a, , s)",
         "float[N,3,?0,6]"},
        {18, "float[N,3,H,W] a", BY("2.0, 3.0") "y = Resize <axes = [-1, 2]> (a, , s)",
         "float[N,3,3*H,2*W]"},
        {19, "float[N,3,H,10] a",
         BY("1.0, 1.0") "t = Constant <value_floats = [2.0, 0.7]> () "
                        "u = Concat <axis = 0> (s, t) y = Resize (a, , u)",
         "float[N,3,2*H,6]"},
        {19, "float[N,3,H,W] a, float[4] s", "y = Resize (a, , s)", "float[?0,?1,?2,?3]"},
        {19, "float[N,3,H,W] a, float[2] s", "y = Resize <axes = [2, 3]> (a, , s)",
         "float[N,3,?0,?1]"},
        {19, "float[] a, float[2] s", "y = Resize <axes = [2, 3]> (a, , s)", "float[]"},
        {19, "float[N,3,H,W] a", BY("1.0, 2.0") "y = Resize (a, , s)", "!is 4 and 2"},
        {19, "float[N,3,H,W] a", BY("1.0, -2.0") "y = Resize <axes = [2, 3]> (a, , s)",
         "!scale 1 is -2"},
        {19, "float[N,3,H,W] a", BY("1.0, 2.0") "y = Resize <axes = [2, 4]> (a, , s)",
         "!axis 4 is out of range for rank 4"},
        {19, "float[N,3,H,W] a", BY("1.0, 2.0") "y = Resize <axes = [2, -2]> (a, , s)",
         "!names dimension 2 twice"},
        {19, "float[N,3,H,W] a", "y = Resize (a)", "!neither scales nor sizes"},
        {19, "float[N,H] a, float[2] s, int64[2] t", "y = Resize (a, , s, t)", "!scales and sizes"},
        {19, "float[N,H] a, float[2] s",
         "y = Resize <keep_aspect_ratio_policy = \"not_larger\"> (a, , s)", "!is for sizes"},
        {19, "float[N,H] a, float[2] s", "y = Resize <mode = \"bilinear\"> (a, , s)",
         "!must be one of: nearest linear cubic"},
        {1, "float[N,3,H,5] a", "y = Upsample <height_scale = 2.0, width_scale = 1.5> (a)",
         "float[N,3,2*H,7]"},
        {7, "float[N,3,H,5] a", "y = Upsample <scales = [1.0, 1.0, 2.0, 3.0]> (a)",
         "float[N,3,2*H,15]"},
        {7, "float[N,3,H,5] a", "y = Upsample <scales = [1.0, 2.0]> (a)",
         "!for 2 dimensions; X has 4"},
        {9, "float[N,3,H,5] a", BY("1.0, 1.0, 2.0, 3.0") "y = Upsample (a, s)",
         "float[N,3,2*H,15]"},
        {10, "float[N,3,H,5] a", BY("1.0, 1.0, 2.0, 3.0") "y = Upsample (a, s)",
         "float[N,3,2*H,15]"},
    };
#undef BY
    ALL_HOLD(cases);
}

TEST(resize_sizes) {
#define TO(sizes) "s = Constant <value_ints = [" sizes "]> () "
    static const op_case cases[] = {
        {11, "float[N,3,H,5] a, float[] r, float[0] e", TO("1, 3, 8, 9") "y = Resize (a, r, e, s)",
         "float[1,3,8,9]"},
        {13, "float[N,3,H,5] a", TO("1, 3, 8, 9") "y = Resize (a, , , s)", "float[1,3,8,9]"},
        {18, "float[N,3,H,5] a", TO("8, 9") "y = Resize <axes = [2, 3]> (a, , , s)",
         "float[N,3,8,9]"},
        {19, "float[N,3,8,6] a",
         TO("5, 5") "y = Resize <axes = [2, 3], keep_aspect_ratio_policy = \"not_larger\"> (a, , , "
                    "s)",
         "float[N,3,5,4]"},
        {19, "float[N,3,8,6] a",
         TO("5, 5") "y = Resize <axes = [2, 3], keep_aspect_ratio_policy = \"not_smaller\"> (a, , "
                    ", s)",
         "float[N,3,7,5]"},
        {19, "float[N,3,H,6] a",
         TO("5, 5") "y = Resize <axes = [2, 3], keep_aspect_ratio_policy = \"not_smaller\"> (a, , "
                    ", s)",
         "float[N,3,?0,?1]"},
        {19, "float[N,3,H,6] a, float[N,1,P,Q] b",
         "s = Shape <start = 2> (b) y = Resize <axes = [2, 3]> (a, , , s)", "float[N,3,P,Q]"},
        {19, "float[N,3,H,6] a", TO("5, 5, 5") "y = Resize <axes = [2, 3]> (a, , , s)",
         "!is 2 and 3"},
    };
#undef TO
    ALL_HOLD(cases);
}

TEST(grids) {
#define TO(sizes) "s = Constant <value_ints = [" sizes "]> () "
    static const op_case cases[] = {
        {16, "float[N,C,H,W] a, float[N,P,Q,2] b", "y = GridSample (a, b)", "float[N,C,P,Q]"},
        {20, "float[N,C,D,H,W] a, float[3,O,P,Q,3] b", "y = GridSample (a, b)", "float[3,C,O,P,Q]"},
        {22, "float[] a, float[3,O,P,Q,3] b", "y = GridSample (a, b)", "float[3,?0,O,P,Q]"},
        {22, "float[N,C,H,W] a, float[N,P,Q,3] b", "y = GridSample (a, b)", "!is 2 and 3"},
        {22, "float[N,C,H,W] a, float[N,P,2] b", "y = GridSample (a, b)",
         "!X has 4 dimensions, the grid 3"},
        {22, "float[2,C,H,W] a, float[3,P,Q,2] b", "y = GridSample (a, b)",
         "!batch size is 3 and 2"},
        {22, "float[N,C,H,W] a, float[N,P,Q,2] b", "y = GridSample <mode = \"bilinear\"> (a, b)",
         "!one of: linear nearest cubic"},
        {16, "float[N,C,H] a, float[N,P,1] b", "y = GridSample (a, b)", "!two more"},
        {20, "float[N,2,3] a", TO("2, 3, 5, 6") "y = AffineGrid (a, s)", "float[2,5,6,2]"},
        {20, "float[N,3,4] a", TO("2, 3, 4, 5, 6") "y = AffineGrid (a, s)", "float[2,4,5,6,3]"},
        {20, "float[N,2,3] a, int64[K] s", "y = AffineGrid (a, s)", "float[N,?0,?1,2]"},
        {20, "float[] a, int64[5] s", "y = AffineGrid (a, s)", "float[?0,?1,?2,?3,3]"},
        {20, "float[N,2,3] a", TO("2, 3, 5") "y = AffineGrid (a, s)", "!size has 3 elements"},
        {20, "float[N,2,4] a", TO("2, 3, 5, 6") "y = AffineGrid (a, s)", "!must be [N,2,3]"},
        {20, "float[N,3,4] a", TO("2, 3, 5, 6") "y = AffineGrid (a, s)", "!is 2 and 3"},
        {18, "float[N,H,3] a", TO("8, 9, 3") "y = CenterCropPad (a, s)", "float[8,9,3]"},
        {18, "float[N,H,3] a", TO("8") "y = CenterCropPad <axes = [-2]> (a, s)", "float[N,8,3]"},
        {18, "float[N,H,3] a, float[P,Q] b",
         "s = Shape (b) y = CenterCropPad <axes = [2, 0]> (a, s)", "float[Q,H,P]"},
        {18, "float[N,H,3] a, int32[2] s", "y = CenterCropPad <axes = [0, 1]> (a, s)",
         "float[?0,?1,3]"},
        {18, "float[N,H,3] a", TO("8") "y = CenterCropPad <axes = [3]> (a, s)", "!out of range"},
        {18, "float[N,H,3] a", TO("8, 9") "y = CenterCropPad <axes = [1, 1]> (a, s)", "!twice"},
        {18, "float[N,H,3] a", TO("8") "y = CenterCropPad (a, s)", "!is 3 and 1"},
    };
#undef TO
    ALL_HOLD(cases);
}

TEST(detection) {
    static const op_case cases[] = {
        {10, "float[N,B,4] a, float[N,C,B] b", "y = NonMaxSuppression (a, b)", "int64[?0,3]"},
        {11, "float[] a, float[] b", "y = NonMaxSuppression (a, b)", "int64[?0,3]"},
        {11, "float[1,6,5] a, float[1,C,6] b", "y = NonMaxSuppression (a, b)", "!is 4 and 5"},
        {11, "float[1,6,4] a, float[1,C,7] b", "y = NonMaxSuppression (a, b)",
         "!number of boxes is 6 and 7"},
        {10, "float[N,C,H,W] a, float[R,4] b, int64[R] c",
         "y = RoiAlign <output_height = 7, output_width = 6> (a, b, c)", "float[R,C,7,6]"},
        {16, "float[N,C,H,W] a, float[R,4] b, int64[3] c", "y = RoiAlign (a, b, c)",
         "float[3,C,1,1]"},
        {22, "float[N,C,H] a, float[R,4] b, int64[R] c", "y = RoiAlign (a, b, c)", "!it needs 4"},
        {22, "float[N,C,H,W] a, float[5,4] b, int64[3] c", "y = RoiAlign (a, b, c)",
         "!number of rois is 5 and 3"},
        {22, "float[N,C,H,W] a, float[R,4] b, int64[R] c",
         "y = RoiAlign <mode = \"sum\"> (a, b, c)", "!one of: avg max"},
        {20, "uint8[L] a", "y = ImageDecoder (a)", "uint8[?0,?1,3]"},
        {20, "uint8[L] a", "y = ImageDecoder <pixel_format = \"Grayscale\"> (a)", "uint8[?0,?1,1]"},
        {20, "uint8[L] a", "y = ImageDecoder <pixel_format = \"CMYK\"> (a)", "!one of: RGB BGR"},
        {20, "uint8[L,2] a", "y = ImageDecoder (a)", "!it needs 1"},
    };
    ALL_HOLD(cases);
}

/* ── Signals ─────────────────────────────────────────────────────────────────────────────────── */

TEST(dft) {
#define LENGTH(n) "n = Constant <value_int = " n "> () "
    static const op_case cases[] = {
        {17, "float[N,L,1] a", "y = DFT (a)", "float[N,L,2]"},
        {17, "float[N,L,1] a", "y = DFT <onesided = 1> (a)", "float[N,floor(L/2) + 1,2]"},
        {17, "float[N,L,2] a", "y = DFT <onesided = 1, inverse = 1> (a)", "float[N,2*L - 2,1]"},
        {17, "float[N,L,M,2] a", LENGTH("16") "y = DFT <axis = -2> (a, n)", "float[N,L,16,2]"},
        {17, "float[N,L,1] a", LENGTH("15") "y = DFT <onesided = 1> (a, n)", "float[N,8,2]"},
        {20, "float[N,L,M,1] a", "y = DFT (a)", "float[N,L,M,2]"},
        {20, "float[N,L,M,1] a", "x = Constant <value_int = 1> () y = DFT <onesided = 1> (a, , x)",
         "float[N,floor(L/2) + 1,M,2]"},
        {20, "float[N,L,1] a, int64 x", "y = DFT <onesided = 1> (a, , x)", "float[?0,?1,2]"},
        {20, "float[N,L,1] a, int64 x", "y = DFT (a, , x)", "float[N,L,2]"},
        {20, "float[N,L,1] a, int64 n", "y = DFT (a, n)", "float[N,?0,2]"},
        {20, "float[N,L,1] a", LENGTH("0") "y = DFT (a, n)", "!dft_length is 0"},
        {17, "float[N,L,1] a", "y = DFT <axis = 2> (a)", "!before the last dimension"},
        {17, "float[N,L,1] a", "y = DFT <axis = -4> (a)", "!axis -4 is out of range"},
        {20, "float[N,L,2] a", "y = DFT <onesided = 1> (a)", "!must be 1, of real numbers"},
        {20, "float[N,L,1] a", "y = DFT <onesided = 1, inverse = 1> (a)", "!must be 2, of complex"},
        {20, "float[N,L,3] a", "y = DFT (a)", "!the last dimension is 3"},
        {20, "float[1] a", "y = DFT (a)", "!has 1 dimensions"},
        {20, "float[N,L,1] a, int64[1] n", "y = DFT (a, n)", "!input 1 must be a scalar"},
    };
#undef LENGTH
    ALL_HOLD(cases);
}

TEST(frames) {
#define STEP "s = Constant <value_int = 8> () f = Constant <value_int = 16> () "
    static const op_case cases[] = {
        {17, "float[N,128,1] a", STEP "y = STFT (a, s, , f)", "float[N,15,9,2]"},
        {17, "float[N,L,1] a, float[16] w", STEP "y = STFT <onesided = 0> (a, s, w)",
         "float[N,floor(L/8) - 1,16,2]"},
        {17, "float[N,L,1] a, float[W] w", STEP "y = STFT (a, s, w, f)",
         "float[N,floor(L/8) - 1,9,2]"},
        {17, "float[N,L,1] a, int64 s, float[16] w", "y = STFT (a, s, w)", "float[N,?0,9,2]"},
        {17, "float[N,L,1] a, float[12] w", STEP "y = STFT (a, s, w, f)", "!is 16 and 12"},
        {17, "float[N,L,1] a, float[12] w", "s = Constant <value_int = 0> () y = STFT (a, s, w)",
         "!frame_step is 0"},
        {17, "float[N,128,1] a", STEP "y = STFT (a, s)", "float[N,1,65,2]"},
        {17, "float[L] a", STEP "y = STFT (a, s, , f)", "!it needs 3"},
        {17, "int64 n", "y = HannWindow (n)", "float[?0]"},
        {17, "float[L] a", "n = Size (a) y = HammingWindow (n)", "float[L]"},
        {17, "", "n = Constant <value_int = 10> () y = BlackmanWindow <output_datatype = 11> (n)",
         "double[10]"},
        {17, "", "n = Constant <value_int = 0> () y = BlackmanWindow (n)", "!size is 0"},
        {17, "int64[1] n", "y = HannWindow (n)", "!must be a scalar"},
        {17, "int64 r, float l, float u",
         "m = Constant <value_int = 8> () n = Constant <value_int = 17> () "
         "y = MelWeightMatrix (m, n, r, l, u)",
         "float[9,8]"},
        {17, "int64 m, int64 n, int64 r, float[1] l, float u",
         "y = MelWeightMatrix (m, n, r, l, u)", "!input 3 must be a scalar"},
    };
#undef STEP
    ALL_HOLD(cases);
}

/* ── Chance and losses ───────────────────────────────────────────────────────────────────────── */

TEST(chance) {
    static const op_case cases[] = {
        {1, "", "y = RandomNormal <shape = [2, 3]> ()", "float[2,3]"},
        {22, "", "y = RandomUniform <shape = [2, 3], dtype = 16> ()", "bfloat16[2,3]"},
        {22, "", "y = RandomUniform <shape = [2, -3]> ()", "!the size -3"},
        {22, "", "y = RandomUniform ()", "!shape is missing"},
        {1, "float16[N,3] a", "y = RandomNormalLike (a)", "float16[N,3]"},
        {22, "int32[N,3] a", "y = RandomUniformLike <dtype = 11> (a)", "double[N,3]"},
        {22, "int32[N,3] a", "y = RandomUniformLike <dtype = 77> (a)", "!77, which is no element"},
        {15, "float[N,3] a", "y = Bernoulli (a)", "float[N,3]"},
        {22, "float[N,3] a", "y = Bernoulli <dtype = 9> (a)", "bool[N,3]"},
        {7, "float[N,3] a", "y = Multinomial (a)", "int32[N,1]"},
        {22, "float[N,3] a", "y = Multinomial <sample_size = 5, dtype = 7> (a)", "int64[N,5]"},
        {22, "float[N,3] a", "y = Multinomial <dtype = 1> (a)", "!must be int32 or int64"},
        {22, "float[N] a", "y = Multinomial (a)", "!it needs 2"},
        {1, "float[N,3] a", "y, y1 = Dropout (a)", "float[N,3]; float[N,3]"},
        {7, "float[N,3] a", "y, y1 = Dropout (a)", "float[N,3]; float[N,3]"},
        {10, "float[N,3] a", "y, y1 = Dropout (a)", "float[N,3]; bool[N,3]"},
        {22, "float[N,3] a, float r, bool t", "y, y1 = Dropout (a, r, t)", "float[N,3]; bool[N,3]"},
        {13, "float[N,3] a, float[1] r", "y = Dropout (a, r)", "!input 1 must be a scalar"},
    };
    ALL_HOLD(cases);
}

TEST(losses) {
#define NONE "<reduction = \"none\"> "
    static const op_case cases[] = {
        {12, "float[N,C] a, int64[N] b", "y = NegativeLogLikelihoodLoss (a, b)", "float"},
        {13, "float[N,C,H,5] a, int64[4,H,W] b", "y = NegativeLogLikelihoodLoss " NONE "(a, b)",
         "float[4,H,5]"},
        {22, "float[] a, int32[N,H] b", "y = NegativeLogLikelihoodLoss " NONE "(a, b)",
         "float[N,H]"},
        {22, "float[N,3] a, int64[N] b, float[4] c", "y = NegativeLogLikelihoodLoss (a, b, c)",
         "!number of classes is 3 and 4"},
        {22, "float[N,3] a, int64[N,2] b", "y = NegativeLogLikelihoodLoss (a, b)",
         "!the target has 2 dimensions"},
        {22, "float[5,3] a, int64[4] b", "y = NegativeLogLikelihoodLoss (a, b)", "!is 5 and 4"},
        {22, "float[N] a, int64 b", "y = NegativeLogLikelihoodLoss (a, b)", "!batch and classes"},
        {22, "float a, int64 b", "y = NegativeLogLikelihoodLoss (a, b)", "!batch and classes"},
        {22, "float[N,3] a, int64[N] b",
         "y = NegativeLogLikelihoodLoss <reduction = \"max\"> (a, b)", "!one of: none mean sum"},
        {12, "float[N,C,H] a, int64[N,H] b", "y, y1 = SoftmaxCrossEntropyLoss (a, b)",
         "float; float[N,C,H]"},
        {13, "double[N,C,H] a, int64[N,H] b", "y, y1 = SoftmaxCrossEntropyLoss " NONE "(a, b)",
         "double[N,H]; double[N,C,H]"},
    };
#undef NONE
    ALL_HOLD(cases);
}

/* ── The rest ────────────────────────────────────────────────────────────────────────────────── */

TEST(einsum) {
#define EQ(text, args) "y = Einsum <equation = \"" text "\"> (" args ")"
    static const op_case cases[] = {
        {12, "float[N,K] a, float[K,M] b", EQ("ij,jk->ik", "a, b"), "float[N,M]"},
        {12, "float[N,K] a, float[K,M] b", EQ("ij, jk", "a, b"), "float[N,M]"},
        {12, "float[N,K] a, float[K,M] b", EQ("bA,Ac", "a, b"), "float[N,M]"},
        {12, "float[N,K] a, float[K,M] b", EQ(" k i , i B ", "a, b"), "float[M,N]"},
        {12, "float[N,N] a", EQ("ii", "a"), "float"},
        {12, "float[N,N] a", EQ("ii->i", "a"), "float[N]"},
        {12, "float[A,B,C] a", EQ("...->...", "a"), "float[A,B,C]"},
        {12, "float[A,B,C] a", EQ("i...->...i", "a"), "float[B,C,A]"},
        {12, "float[A,B,C] a", EQ("...i->i", "a"), "float[C]"},
        {12, "float[A,B,2,K] a, float[A,1,K,4] b", EQ("...ij,...jk->...ik", "a, b"),
         "float[A,B,2,4]"},
        {12, "float[A,B,2,K] a, float[A,1,K,4] b", EQ("...ij,...jk", "a, b"), "float[A,B,2,4]"},
        {12, "float[A,2] a, float[2,B] b, float[B] c", EQ("ij,jk,k->i", "a, b, c"), "float[A]"},
        {12, "float[1,3] a, float[2,3] b", EQ("ij,ij->ij", "a, b"), "float[2,3]"},
        {12, "float[N,3] a, float[2,3] b", EQ("ij,ij->ij", "a, b"), "float[2,3]"},
        {12, "float[N,3] a, float[] b", EQ("ij,jk->ki", "a, b"), "float[?0,N]"},
        {12, "float[1,3] a, float[] b", EQ("ij,ij->ji", "a, b"), "float[3,?0]"},
        {12, "float[1,3] a, float[] b", EQ("...j,...j->...", "a, b"), "float[?0]"},
        {12, "float[] a, float[] b", EQ("...j,...j->...", "a, b"), "float[]"},
        {28, "float[N] a", EQ("i->", "a"), "float"},
        {28, "float a", EQ("->", "a"), "float"},
        {28, "float[N] a", EQ("i->...i", "a"), "float[N]"},
        {12, "float[N] a", EQ("ij->i", "a"), "!has 1 dimensions; the equation names 2"},
        {12, "float[N,M] a", EQ("i->i", "a"), "!has 2 dimensions; the equation names 1"},
        {12, "float[N] a", EQ("...ij->i", "a"), "!the equation names 2"},
        {12, "float[2,3] a, float[4,5] b", EQ("ij,jk", "a, b"), "!size of 'j' is 3 and 4"},
        {12, "float[N] a", EQ("i,i->i", "a"), "!has 2 operands, the node 1"},
        {12, "float[N] a, float[N] b", EQ("i->i", "a, b"), "!has 1 operands, the node 2"},
        {12, "float[N] a", EQ("i->j", "a"), "!'j' which no operand has"},
        {12, "float[N] a", EQ("i->ii", "a"), "!'i' twice"},
        {12, "float[N] a", EQ("i1->i", "a"), "!no letter"},
        {12, "float[N] a", EQ("i->i->i", "a"), "!goes on after its output"},
        {12, "float[N] a", EQ("i->i,i", "a"), "!goes on after its output"},
        {12, "float[N] a", EQ("i..->i", "a"), "!no letter"},
        {12, "float[N] a", EQ("...i...->i", "a"), "!has ... twice"},
        {12, "float[A,B,2] a, float[A,2] b", EQ("...i,...i", "a, b"), "!for 1 dimensions"},
        {12, "float[3,2] a, float[4,2] b", EQ("...i,...i", "a, b"), "!do not broadcast"},
    };
#undef EQ
    ALL_HOLD(cases);
}

TEST(others) {
    static const op_case cases[] = {
        {11, "float[N,M,3,3] a", "y = Det (a)", "float[N,M]"},
        {22, "float[K,K] a", "y = Det (a)", "float"},
        {22, "float[N,3,4] a", "y = Det (a)", "!is 3 and 4"},
        {22, "float[3] a", "y = Det (a)", "!has 1 dimensions"},
        {24, "float[B,H,S,D] a, float[B,H,L,D] b", "y = TensorScatter (a, b)", "float[B,H,S,D]"},
        {24, "float[B,H,S,D] a, float[B,H,S,L] b, int64[B] c",
         "y = TensorScatter <axis = -1, mode = \"circular\"> (a, b, c)", "float[B,H,S,D]"},
        {24, "float[2,4,8] a, float[2,3,8] b", "y = TensorScatter <axis = 2> (a, b)",
         "!is 4 and 3"},
        {24, "float[2,4,8] a, float[2,5,8] b", "y = TensorScatter (a, b)", "!5 long, the cache"},
        {24, "float[2,4,8] a, float[4,8] b", "y = TensorScatter (a, b)", "!3 dimensions, the upd"},
        {24, "float[2,8] a, float[2,8] b", "y = TensorScatter (a, b)", "!axis 0 is the batch"},
        {24, "float[2,4,8] a, float[2,4,8] b, int64[3] c", "y = TensorScatter (a, b, c)",
         "!batch size is 2 and 3"},
        {11, "float[N,3] a", "y, y1, y2, y3 = Unique (a)",
         "float[?0]; int64[?0]; int64[3*N]; int64[?0]"},
        {28, "float[N,3] a", "y, y1, y2, y3 = Unique <axis = -2> (a)",
         "float[?0,3]; int64[?0]; int64[N]; int64[?0]"},
        {11, "float[] a", "y, y1 = Unique <axis = 0> (a)", "float[]; int64[?0]"},
        {11, "float[N,3] a", "y = Unique <axis = 2> (a)", "!axis 2 is out of range for rank 2"},
        {17, "seq(float[N,3]) a, float[3] b",
         "y = SequenceMap (a, b) <body = g (float[] p, float[] q) => (float[] r) {"
         " r = Add (p, q) }>",
         "seq(float[N,3])"},
        {17, "seq(float[N,3]) a",
         "y, y1 = SequenceMap (a) <body = g (float[] p) => (r, s) {"
         " r = Shape (p) s = Transpose (p) }>",
         "seq(int64[2]); seq(float[3,N])"},
        {17, "seq(float[N,3]) a",
         "y = SequenceMap (a) <body = g (float[] p, float[] q) => (r) { r = Add (p, q) }>",
         "!the body has 2 inputs"},
        {17, "float[N,3] a", "y = SequenceMap (a) <body = g (float[] p) => (r) { r = Neg (p) }>",
         "!must be a sequence"},
    };
    ALL_HOLD(cases);
}

/* What other operators refuse: ranks of lists and shapes, indices, sizes that differ. */
TEST(refused) {
#define LIST(name, list) name " = Constant <value_ints = [" list "]> () "
    static const op_case cases[] = {
        {9, "int64[2,2] s", "y = ConstantOfShape (s)", "!input 0 has 2 dimensions; it needs 1"},
        {9, "int64[3] s", "y = ConstantOfShape (s)", "float[?0,?1,?2]"},
        {9, "float[3] a", "y = EyeLike (a)", "!it needs 2"},
        {14, "float[3] a", "y = Trilu (a)", "!it needs at least 2"},
        {8, "float[2,1,N] a, int64[3] s", "y = Expand (a, s)", "float[2,?0,?1]"},
        {8, "float[2,3] a, int64[1] s", "y = Expand (a, s)", "float[2,3]"},
        {8, "float[2,3] a, int64[1,3] s", "y = Expand (a, s)", "!it needs 1"},
        {13, "float[2,3] a, int64[1,2] s", "y = Reshape (a, s)", "!it needs 1"},
        {14, "float[0,3] a", LIST("s", "0, -1") "y = Reshape <allowzero = 1> (a, s)",
         "!-1 can be any size"},
        {9, "float[2,3] a", "y = Flatten <axis = -1> (a)", "!axis -1 is out of range"},
        {13, "float[2,3] a", "y = Flatten <axis = -1> (a)", "float[2,3]"},
        {13, "float[2,3] a, int64[2,1] s", "y = Tile (a, s)", "!it needs 1"},
        {11, "float[3] a", "y = Softmax (a)", "!axis 1 is not a dimension"},
        {1, "float[3] a", "y = Softmax (a)", "float[3]"},
        {13, "float a", "y = LogSoftmax (a)", "!it needs at least 1"},
        {26, "int64[N] a", "y = BitCast <to = 1> (a)", "!int64 has 64 bits, float has 32"},
        {26, "int32[N] a", "y = BitCast <to = 1> (a)", "float[N]"},
        {28, "float[N,3] a, float[M,3] b", "y = SwiGLU (a, b)", "float[N,3]"},
        {28, "float[N,3] a, float[N,1] b", "y = SwiGLU (a, b)", "!is 3 and 1"},
        {28, "float[N,3] a, float[3] b", "y = SwiGLU (a, b)", "!it needs 2"},
        {6, "float[N,3] a, float[2,M] b, float[] c", "y = Sum (a, b, c)", "float[2,3]"},
        {6, "float[2,3] a, float[2,1] b", "y = Max (a, b)", "!is 3 and 1"},
        {8, "float[2,3] a, float[2,1] b", "y = Max (a, b)", "float[2,3]"},
        {13, "float[?,3] a, float[N,3] b", "y = Concat <axis = 1> (a, b)", "float[N,6]"},
        {15, "float[N,3,H] a, float[4] s, float[3] b, float[3] m, float[3] v",
         "y = BatchNormalization (a, s, b, m, v)", "!number of channels is 3 and 4"},
        {15, "float[N,3,H] a, float[3] s, float[3] b, float[3] m, float[3,1] v",
         "y = BatchNormalization (a, s, b, m, v)", "!input 4 has 2 dimensions"},
        {13, "float[3] a", "i = Constant <value_int = 3> () y = Gather (a, i)",
         "!index 3 is out of range for 3 elements"},
        {13, "int64[N] a, int64[2] d, float[2] v", "y = OneHot (a, d, v)", "!depths is 1 and 2"},
        {13, "int64[N] a, int64 d, float[3] v", "y = OneHot (a, d, v)", "!off and on is 2 and 3"},
        {11, "float a, bool[N] c", "y = Compress (a, c)", "!it needs at least 1"},
        {11, "float[N] a, bool[N,2] c", "y = Compress (a, c)", "!input 1 has 2 dimensions"},
        {11, "float[2,4] a", LIST("k", "5") "y, y1 = TopK (a, k)", "!the 5 greatest of 4"},
        {11, "float[2,4] a, int64 k", "y, y1 = TopK (a, k)", "!it needs 1"},
        {1, "float[2,4] a", "y, y1 = TopK <k = 0> (a)", "!k is 0"},
        {18, "float[4] a", "y, y1 = Split (a)", "!needs either the input split or"},
        {18, "float[4] a", "y, y1 = Split <num_outputs = 3> (a)", "!the node has 2 outputs"},
        {18, "float[4] a, int64[2] s", "y, y1 = Split <num_outputs = 2> (a, s)",
         "!needs either the input split or"},
        {11, "float[4,M] a", LIST("s", "1, 2") "y = SplitToSequence (a, s)", "!add up to 3"},
        {11, "float[4,M] a", "s = Constant <value_int = 0> () y = SplitToSequence (a, s)",
         "!the size 0"},
        {18, "float[N,3] a, int64[2] p", LIST("x", "2") "y = Pad (a, p, , x)", "!axis 2 is out"},
        {18, "float[N,3] a, int64[2] p", LIST("x", "1") "y = Pad (a, p, , x)", "float[N,?0]"},
        {13, "float[N,3] a, int64[1] s, int64[1] e", LIST("x", "0") "y = Slice (a, s, e, x)",
         "float[?0,3]"},
        {13, "float[N,3] a, int64[1] s, int64[2] e", "y = Slice (a, s, e)", "!is 1 and 2"},
        {13, "float a", "y = ArgMax <axis = 0> (a)", "!axis 0 is not a dimension"},
        {13, "float a", "y = ArgMax (a)", "int64"},
        {22, "float a, float[3,2,1] b", "y = Conv (a, b)", "!the input has 0 dimensions"},
    };
#undef LIST
    ALL_HOLD(cases);
}

/* ── Bodies ──────────────────────────────────────────────────────────────────────────────────── */

/* The body of the last node, as ONNX text without its head; NULL: there is none. */
static char *body_of(const op_case *c, onx_buf *out) {
    onx_model *model = load(c), *body = NULL;
    onx_facts *facts = NULL;
    const onx_fact *ins[8];
    onx_diag diag = ONX_INIT(onx_diag);
    void *bytes = NULL;
    size_t size = 0;
    onx_save_options options = ONX_INIT(onx_save_options);
    options.format = ONX_FORMAT_TEXT;
    if (!model || onx_facts_new(model, NULL, &facts, &diag)) {
        onx_model_free(model);
        return NULL;
    }
    const onx_node *node = onx_graph_node_first(onx_model_graph(model));
    while (onx_node_next(node)) node = onx_node_next(node);
    for (size_t i = 0; i < node->input.n; i++)
        ins[i] = onx_facts_of(facts, onx_node_input(node, i));
    onx_status status = onx_op_body(onx_op_of(node), node, node->input.n, ins, NULL, &body, &diag);
    if (!status) status = onx_model_save_memory(body, &options, &bytes, &size, &diag);
    if (status && status != ONX_NOT_FOUND)
        fprintf(stderr, "    %s: %s\n", diag.place, diag.message);
    onx_buf_put(out, bytes, size);
    onx_buf_putc(out, '\0');
    onx_buffer_free(NULL, bytes, size);
    onx_model_free(body);
    onx_facts_free(facts);
    onx_model_free(model);
    return status ? NULL : out->data;
}

/* What a body has, words separated by '|', or "!": there is none. */
static bool body_has(const op_case *c) {
    onx_buf text;
    char words[512];
    onx_buf_init(&text, onx_context_or_default(NULL));
    const char *body = body_of(c, &text);
    bool none = c->outputs[0] == '!', good = none == !body;
    snprintf(words, sizeof words, "%s", c->outputs);
    for (char *word = strtok(words, "|"); good && !none && word; word = strtok(NULL, "|"))
        good = strstr(body, word) != NULL;
    if (!good)
        fprintf(stderr, "    %s\n    has not %s\n%s\n", c->nodes, c->outputs, body ? body : "");
    onx_buf_fini(&text);
    return good;
}

TEST(bodies) {
#define LOSS "y = NegativeLogLikelihoodLoss "
#define ENTROPY "y = SoftmaxCrossEntropyLoss "
    static const op_case cases[] = {
        {11, "float[N] a", "y = DynamicQuantizeLinear (a)", "Round|QuantizeLinear"},
        {17, "int64 n", "y = HannWindow (n)", "float {0.5}|@periodic|@output_datatype"},
        {17, "int64 n", "y = HammingWindow (n)", "float {0.54347825}"},
        {17, "int64 n", "y = BlackmanWindow (n)", "float {0.08}"},
        {20, "float[N,2,3] a, int64[4] s", "y = AffineGrid (a, s)", "@align_corners|MatMul|If ("},
        {18, "float[N,H] a, int64[2] s", "y = CenterCropPad (a, s)",
         "Identity (shape)|Pad (input_data, Pads)|Slice (Padded, Start, End)"},
        {18, "float[N,H] a, int32[1] s", "y = CenterCropPad <axes = [1]> (a, s)",
         "= 7> (shape)|@axes|Slice (Padded, Start, End, Axes)"},
        {15, "float16[N] a", "y = Bernoulli (a)", "dtype: int = 10|to: int = 10"},
        {22, "float[N] a", "y = Bernoulli <dtype = 9> (a)", "dtype: int = 1|to: int = 9"},
        {22, "a", "y = Bernoulli (a)", "!"},
        {12, "float[N,C] a, int64[N] b", LOSS "(a, b)", "axes: ints = [1]> (target)|ReduceMean"},
        {13, "float[N,C] a, int64[N] b", LOSS "<reduction = \"sum\"> (a, b)",
         "Unsqueeze (target, One)|ReduceSum"},
        {22, "float[N,C] a, int64[N] b, float[C] c", LOSS "(a, b, c)",
         "\"\" : 18|Gather (weight, target)|Div (Sum, Weights)"},
        {22, "float[N,C] a, int64[N] b", LOSS "<ignore_index = 3, reduction = \"none\"> (a, b)",
         "= [3]|Where (Mask1, Zero, OneT)|loss = Identity (L)"},
        {22, "float[N,C] a, int64[N] b, float[C] c", LOSS "<ignore_index = 3> (a, b, c)",
         "Where (Mask, Zero, AnyWeight)"},
        {13, "float[N,C] a, int64[N] b, float[C] c", ENTROPY "(a, b, c)",
         "LogSoftmax|(Log, labels, weights)"},
        {13, "float[N,C] a, int64[N] b", "y, y1 = SoftmaxCrossEntropyLoss (a, b)",
         "log_prob = Identity (Log)|(Log, labels)"},
        {20, "seq(float[N]) a, float b",
         "y = SequenceMap (a, b) <body = g (float[] \"p.1\", float q) => (float[] r)"
         " <float w = {2}> { t = Mul (\"p.1\", w) r = Add (t, q) }>",
         "\"\" : 20|SequenceAt (input_sequence|Identity (additional_inputs0)|w = {2|"
         "Mul (\"p.1\", w)|SequenceInsert (SequenceMap_in0, r)"},
        {20, "seq(float[N]) a, float b",
         "y = SequenceMap (a) <body = g (float[] p) => (float[] r) { r = Add (p, b) }>", "!"},
        {20, "seq(float[N]) a, float b",
         "y = SequenceMap (a) <body = g (float[] out_sequence0) => (float[] r) {"
         " r = Neg (out_sequence0) }>",
         "!"},
    };
#undef LOSS
#undef ENTROPY
    for (size_t i = 0; i < ONX_COUNT(cases); i++) CHECK(body_has(&cases[i]));
}

/* ── Recorded outputs ────────────────────────────────────────────────────────────────────────── */

typedef struct tally {
    size_t models, outputs, dims, known;
} tally;

/* Is it what was inferred? Sizes that are names or not known may be anything. */
static bool tensor_agrees(const onx_fact *fact, const onx_tensor *tensor, tally *t) {
    size_t rank = onx_tensor_rank(tensor);
    if (fact->kind != ONX_TYPE_TENSOR) return fact->kind == ONX_TYPE_NONE;
    bool good = (!fact->dtype || fact->dtype == onx_tensor_dtype(tensor)) &&
                (!fact->ranked || fact->rank == rank);
    for (size_t i = 0; good && i < rank; i++) {
        int64_t size;
        bool known = fact->ranked && onx_sym_is_int(fact->dims[i], &size);
        t->dims++;
        t->known += known;
        good = !known || size == onx_tensor_dim(tensor, i);
    }
    return good;
}

static bool data_agrees(const onx_fact *fact, const onx_data *data, tally *t) {
    onx_data_kind kind = onx_data_kind_of(data);
    if (kind == ONX_DATA_TENSOR) return tensor_agrees(fact, onx_data_tensor(data), t);
    if (kind != ONX_DATA_SEQUENCE || !fact->elem) return true;
    for (const onx_data *d = onx_data_at(data, 0); d; d = onx_data_next(d))
        if (onx_data_kind_of(d) == ONX_DATA_TENSOR &&
            !tensor_agrees(fact->elem, onx_data_tensor(d), t))
            return false;
    return true;
}

static bool output_agrees(const onx_facts *facts, const onx_value *value, const char *path,
                          onx_data_kind kind, tally *t) {
    onx_data *data = NULL;
    if (onx_data_load(NULL, path, kind, &data, NULL)) return true; /* of another kind */
    const onx_fact *fact = onx_facts_of(facts, value);
    bool good = data_agrees(fact, data, t);
    onx_buf text;
    onx_buf_init(&text, onx_context_or_default(NULL));
    onx_fact_print(fact, &text);
    if (!good) fprintf(stderr, "    %s is not %.*s\n", path, (int)text.size, text.data);
    onx_buf_fini(&text);
    onx_data_free(data);
    t->outputs++;
    return good;
}

/* What is declared about outputs is taken away first. */
static bool model_agrees(const char *path, tally *t) {
    static const onx_data_kind kinds[] = {[ONX_TYPE_TENSOR] = ONX_DATA_TENSOR,
                                          [ONX_TYPE_SEQUENCE] = ONX_DATA_SEQUENCE,
                                          [ONX_TYPE_MAP] = ONX_DATA_MAP,
                                          [ONX_TYPE_OPTIONAL] = ONX_DATA_OPTIONAL};
    onx_model *model = NULL;
    onx_facts *facts = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_data_kind kind[32] = {0};
    if (onx_model_load(NULL, path, NULL, &model, NULL)) return true;
    const onx_graph *graph = onx_model_graph(model);
    for (size_t i = 0; i < graph->outs.n && i < ONX_COUNT(kind); i++) {
        onx_value *value = graph->outs.v[i]->value;
        onx_type_kind type = onx_type_kind_of(onx_value_type(value));
        kind[i] = type < ONX_COUNT(kinds) ? kinds[type] : ONX_DATA_NONE;
        if (!value->input) CHECK(onx_value_set_type(value, NULL, NULL) == ONX_OK);
    }
    bool good = onx_facts_new(model, NULL, &facts, &diag) == ONX_OK;
    if (!good) fprintf(stderr, "    %s: %s: %s\n", path, diag.place, diag.message);
    size_t folder = strlen(path) - strlen("model.onnx");
    for (size_t i = 0; good && i < graph->outs.n && i < ONX_COUNT(kind); i++) {
        char file[512];
        snprintf(file, sizeof file, "%.*stest_data_set_0/output_%zu.pb", (int)folder, path, i);
        if (kind[i]) good &= output_agrees(facts, graph->outs.v[i]->value, file, kind[i], t);
    }
    onx_facts_free(facts);
    onx_model_free(model);
    t->models++;
    return good;
}

TEST(recorded) {
    tally t = {0};
    char folder[256];
    if (!test_data()) SKIP("$ONX_DATA is not set");
    snprintf(folder, sizeof folder, "%s/node", test_data());
    test_files files = test_files_find(folder, "/model.onnx");
    for (size_t i = 0; i < files.count; i++) CHECK(model_agrees(files.paths[i], &t));
    printf("%zu models, %zu outputs, %zu of %zu sizes known\n", t.models, t.outputs, t.known,
           t.dims);
    CHECK(t.models > 1000 && t.known * 10 > t.dims * 8);
    test_files_free(&files);
}

TEST_MAIN(E(quantize) E(dequantize) E(integer_products) E(conv_transpose) E(deform_conv) E(col2im)
              E(pools) E(resize_scales) E(resize_sizes) E(grids) E(detection) E(dft) E(frames)
                  E(chance) E(losses) E(einsum) E(others) E(refused) E(bodies) E(recorded))
