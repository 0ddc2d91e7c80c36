/* steps.c: every boundary between two versions of an operator, and how it is crossed.
 *
 * SAME: what changed are the types that are allowed, attributes that say nothing new unless they
 * are written, or the words; see fit.c. The first version of an operator is listed where nodes that
 * go below it become something else; for all others the body takes their place where they are
 * functions, and nothing does where they are not. */
#include "pass/convert/steps.h"

static const onx_convert_step same = {NULL, NULL, NULL};
#define SAME(since)                                                                                \
    { since, &same }
#define STEP(since, name)                                                                          \
    { since, &onx_step_##name }

static const onx_history ai_onnx[] = {
    {"Abs", {SAME(6), SAME(13)}},
    {"Acos", {SAME(22)}},
    {"Acosh", {STEP(9, acosh), SAME(22)}},
    {"Add", {SAME(6), STEP(7, broadcast), SAME(13), SAME(14)}},
    {"And", {STEP(7, broadcast)}},
    {"ArgMax", {STEP(11, signs), STEP(12, last_index), SAME(13)}},
    {"ArgMin", {STEP(11, signs), STEP(12, last_index), SAME(13)}},
    {"Asin", {SAME(22)}},
    {"Asinh", {STEP(9, asinh), SAME(22)}},
    {"Atan", {SAME(22)}},
    {"Atanh", {STEP(9, atanh), SAME(22)}},
    {"Attention", {SAME(24), SAME(25)}},
    {"AveragePool", {SAME(7), STEP(10, ceil), SAME(11), SAME(19), STEP(22, outside)}},
    {"BatchNormalization",
     {SAME(6), STEP(7, is_test), STEP(9, spatial), STEP(14, training), SAME(15)}},
    {"Bernoulli", {SAME(22)}},
    {"BitShift", {STEP(28, shift)}},
    {"BitwiseAnd", {STEP(18, bit_and)}},
    {"BitwiseNot", {STEP(18, bit_not)}},
    {"BitwiseOr", {STEP(18, bit_or)}},
    {"BitwiseXor", {STEP(18, bit_xor)}},
    {"Cast",
     {STEP(6, cast_names), SAME(9), SAME(13), STEP(19, saturate), SAME(21), SAME(23),
      STEP(24, round_mode), SAME(25), SAME(28)}},
    {"CastLike", {STEP(19, saturate), SAME(21), SAME(23), STEP(24, round_mode), SAME(25)}},
    {"Ceil", {SAME(6), SAME(13)}},
    {"Celu", {SAME(28)}},
    {"Clip", {SAME(6), STEP(11, clip), STEP(12, clip_integer), SAME(13)}},
    {"Col2Im", {STEP(18, col2im)}},
    {"Compress", {STEP(11, signs), SAME(28)}},
    {"Concat", {STEP(4, concat), STEP(11, signs), SAME(13)}},
    {"Constant",
     {SAME(9), SAME(11), STEP(12, forms), SAME(13), SAME(19), SAME(21), SAME(23), SAME(24),
      SAME(25)}},
    {"ConstantOfShape", {STEP(9, fill), SAME(20), SAME(21), SAME(23), SAME(24), SAME(25)}},
    {"Conv", {SAME(11), SAME(22)}},
    {"ConvTranspose", {SAME(11), SAME(22)}},
    {"Cos", {SAME(22)}},
    {"Cosh", {STEP(9, cosh), SAME(22)}},
    {"CumSum", {STEP(11, cumsum), SAME(14)}},
    {"DFT", {STEP(17, dft), STEP(20, dft_axis)}},
    {"DeformConv", {SAME(22)}},
    {"DepthToSpace", {STEP(11, depth), SAME(13), SAME(28)}},
    {"DequantizeLinear",
     {STEP(10, quantize), STEP(13, quant_axis), SAME(19), STEP(21, dequant_16_bit),
      STEP(23, dequant_result), SAME(24), SAME(25), SAME(28)}},
    {"Det", {SAME(22)}},
    {"Div", {SAME(6), STEP(7, broadcast), SAME(13), SAME(14)}},
    {"Dropout",
     {SAME(6), STEP(7, dropout_test), STEP(10, mask), STEP(12, ratio), SAME(13), SAME(22)}},
    {"Einsum", {STEP(12, einsum), SAME(28)}},
    {"Elu", {SAME(6), SAME(22)}},
    {"Equal", {STEP(7, broadcast), STEP(11, equal), SAME(13), SAME(19)}},
    {"Erf", {STEP(9, erf), SAME(13)}},
    {"Exp", {SAME(6), SAME(13)}},
    {"Expand", {STEP(8, expand), SAME(13)}},
    {"EyeLike", {STEP(9, eye), SAME(22)}},
    {"Flatten",
     {STEP(9, flatten), STEP(11, signs), SAME(13), SAME(21), SAME(23), SAME(24), SAME(25)}},
    {"Floor", {SAME(6), SAME(13)}},
    {"GRU", {STEP(3, gru), STEP(7, sequence), STEP(14, layout), SAME(22)}},
    {"Gather", {SAME(11), SAME(13)}},
    {"GatherElements", {STEP(11, gather_elements), SAME(13)}},
    {"GatherND", {STEP(11, gather_nd), STEP(12, gather_nd), SAME(13)}},
    {"Gemm", {SAME(6), STEP(7, gemm_broadcast), SAME(9), STEP(11, gemm_c), SAME(13)}},
    {"GlobalAveragePool", {SAME(22)}},
    {"GlobalLpPool", {STEP(2, p), SAME(22)}},
    {"GlobalMaxPool", {SAME(22)}},
    {"Greater", {STEP(7, broadcast), STEP(9, compare), SAME(13)}},
    {"GreaterOrEqual", {SAME(16)}},
    {"GridSample", {STEP(16, grid), STEP(20, grid_mode), SAME(22)}},
    {"GroupNormalization", {STEP(21, groups)}},
    {"HardSigmoid", {SAME(6), SAME(22)}},
    {"HardSwish", {SAME(22)}},
    {"Hardmax", {STEP(11, signs), STEP(13, softmax)}},
    {"Identity", {SAME(13), SAME(14), SAME(16), SAME(19), SAME(21), SAME(23), SAME(24), SAME(25)}},
    {"If", {SAME(11), SAME(13), SAME(16), SAME(19), SAME(21), SAME(23), SAME(24), SAME(25)}},
    {"InstanceNormalization", {SAME(6), SAME(22)}},
    {"IsInf", {STEP(10, isinf), SAME(20)}},
    {"IsNaN", {STEP(9, isnan), SAME(13), SAME(20)}},
    {"LRN", {SAME(13)}},
    {"LSTM", {STEP(7, sequence), STEP(14, layout), SAME(22)}},
    {"LeakyRelu", {SAME(6), SAME(16)}},
    {"Less", {STEP(7, broadcast), STEP(9, compare), SAME(13)}},
    {"LessOrEqual", {SAME(16)}},
    {"Log", {SAME(6), SAME(13)}},
    {"LogSoftmax", {STEP(11, signs), STEP(13, softmax)}},
    {"Loop", {SAME(11), SAME(13), SAME(16), SAME(19), SAME(21), SAME(23), SAME(24), SAME(25)}},
    {"LpNormalization", {SAME(22)}},
    {"LpPool", {STEP(2, p), SAME(11), STEP(18, ceil), SAME(22)}},
    {"MatMul", {SAME(9), SAME(13)}},
    {"MatMulInteger", {STEP(10, matmul_integer)}},
    {"Max", {SAME(6), STEP(8, shapes), STEP(12, extreme), SAME(13)}},
    {"MaxPool", {SAME(8), STEP(10, ceil), SAME(11), SAME(12), STEP(22, outside)}},
    {"MaxRoiPool", {SAME(22)}},
    {"MaxUnpool", {SAME(11), SAME(22)}},
    {"Mean", {SAME(6), STEP(8, sum), SAME(13)}},
    {"MeanVarianceNormalization", {SAME(13)}},
    {"Min", {SAME(6), STEP(8, shapes), STEP(12, extreme), SAME(13)}},
    {"Mish", {SAME(22)}},
    {"Mod", {STEP(10, mod_integer), SAME(13), STEP(28, mod)}},
    {"Mul", {SAME(6), STEP(7, broadcast), SAME(13), SAME(14)}},
    {"Multinomial", {SAME(22)}},
    {"Neg", {SAME(6), SAME(13)}},
    {"NegativeLogLikelihoodLoss", {SAME(13), SAME(22)}},
    {"NonMaxSuppression", {SAME(11)}},
    {"NonZero", {SAME(13)}},
    {"OneHot", {STEP(9, one_hot), SAME(11), SAME(28)}},
    {"Optional", {SAME(28)}},
    {"OptionalGetElement", {STEP(18, get_element), SAME(28)}},
    {"OptionalHasElement", {STEP(18, has_element), SAME(28)}},
    {"Or", {STEP(7, broadcast)}},
    {"PRelu", {SAME(6), STEP(7, prelu), SAME(9), SAME(16)}},
    {"Pad",
     {STEP(2, paddings), STEP(11, pads), SAME(13), STEP(18, pad_axes), STEP(19, wrap), SAME(21),
      SAME(23), SAME(24), SAME(25)}},
    {"Pow", {STEP(7, broadcast), STEP(12, pow), SAME(13), SAME(15)}},
    {"QLinearMatMul", {SAME(21)}},
    {"QuantizeLinear",
     {STEP(10, quantize), STEP(13, quant_axis), STEP(19, quant_saturate), STEP(21, quant_output),
      SAME(23), SAME(24), SAME(25), SAME(28)}},
    {"RNN", {STEP(7, sequence), STEP(14, layout), SAME(22)}},
    {"RandomNormal", {SAME(22)}},
    {"RandomNormalLike", {SAME(22)}},
    {"RandomUniform", {SAME(22)}},
    {"RandomUniformLike", {SAME(22)}},
    {"Range", {STEP(11, range), SAME(27)}},
    {"Reciprocal", {SAME(6), SAME(13)}},
    {"ReduceL1", {STEP(11, signs), SAME(13), STEP(18, reduce)}},
    {"ReduceL2", {STEP(11, signs), SAME(13), STEP(18, reduce)}},
    {"ReduceLogSum", {STEP(11, signs), SAME(13), STEP(18, reduce), SAME(28)}},
    {"ReduceLogSumExp", {STEP(11, signs), SAME(13), STEP(18, reduce), SAME(28)}},
    {"ReduceMax", {STEP(11, signs), SAME(12), SAME(13), STEP(18, reduce), SAME(20)}},
    {"ReduceMean", {STEP(11, signs), SAME(13), STEP(18, reduce)}},
    {"ReduceMin", {STEP(11, signs), SAME(12), SAME(13), STEP(18, reduce), SAME(20)}},
    {"ReduceProd", {STEP(11, signs), SAME(13), STEP(18, reduce)}},
    {"ReduceSum", {STEP(11, signs), STEP(13, reduce)}},
    {"ReduceSumSquare", {STEP(11, signs), SAME(13), STEP(18, reduce)}},
    {"Relu", {SAME(6), SAME(13), SAME(14)}},
    {"Reshape",
     {STEP(5, shape), SAME(13), STEP(14, allowzero), SAME(19), SAME(21), SAME(23), SAME(24),
      SAME(25)}},
    {"Resize",
     {STEP(10, resize_first), STEP(11, places), STEP(13, missing), STEP(18, resize_axes),
      STEP(19, symmetric)}},
    {"ReverseSequence", {SAME(28)}},
    {"RoiAlign", {STEP(16, roi_align), SAME(22)}},
    {"Round", {STEP(11, round), SAME(22)}},
    {"STFT", {STEP(17, stft)}},
    {"Scan", {STEP(9, scan), SAME(11), SAME(16), SAME(19), SAME(21), SAME(23), SAME(24), SAME(25)}},
    {"Scatter", {STEP(11, scatter)}},
    {"ScatterElements", {STEP(11, scatter), SAME(13), STEP(16, reduction), STEP(18, reduction)}},
    {"ScatterND", {STEP(11, scatter_nd), SAME(13), STEP(16, reduction), STEP(18, reduction)}},
    {"Selu", {STEP(6, selu), SAME(22)}},
    {"Shape", {SAME(13), STEP(15, part), SAME(19), SAME(21), SAME(23), SAME(24), SAME(25)}},
    {"Sigmoid", {SAME(6), SAME(13)}},
    {"Sign", {STEP(9, sign), SAME(13)}},
    {"Sin", {SAME(22)}},
    {"Sinh", {STEP(9, sinh), SAME(22)}},
    {"Size", {SAME(13), SAME(19), SAME(21), SAME(23), SAME(24), SAME(25)}},
    {"Slice", {STEP(10, slice), STEP(11, slice_signs), SAME(13)}},
    {"Softmax", {STEP(11, signs), STEP(13, softmax)}},
    {"SoftmaxCrossEntropyLoss", {SAME(13)}},
    {"Softplus", {SAME(22)}},
    {"Softsign", {SAME(22)}},
    {"SpaceToDepth", {SAME(13), SAME(28)}},
    {"Split", {STEP(2, split_input), STEP(11, signs), STEP(13, split), STEP(18, num_outputs)}},
    {"SplitToSequence", {SAME(24)}},
    {"Sqrt", {SAME(6), SAME(13)}},
    {"Squeeze", {STEP(11, signs), STEP(13, axes), SAME(21), SAME(23), SAME(24), SAME(25)}},
    {"Sub", {SAME(6), STEP(7, broadcast), SAME(13), SAME(14)}},
    {"Sum", {SAME(6), STEP(8, sum), SAME(13)}},
    {"Tan", {SAME(22)}},
    {"Tanh", {SAME(6), SAME(13)}},
    {"ThresholdedRelu", {SAME(22)}},
    {"Tile", {STEP(6, tile), SAME(13)}},
    {"TopK", {STEP(10, k), STEP(11, largest), SAME(24)}},
    {"Transpose", {SAME(13), SAME(21), SAME(23), SAME(24), SAME(25)}},
    {"Trilu", {STEP(14, trilu)}},
    {"Unique", {SAME(28)}},
    {"Unsqueeze", {STEP(11, signs), STEP(13, axes), SAME(21), SAME(23), SAME(24), SAME(25)}},
    {"Upsample", {STEP(7, upsample_hw), STEP(9, scales), STEP(10, upsample)}},
    {"Where", {STEP(9, where), SAME(16)}},
    {"Xor", {STEP(7, broadcast)}},
};

static const onx_history ai_onnx_ml[] = {
    {"LabelEncoder", {STEP(2, classes), STEP(4, label_tensors)}},
    {"TreeEnsemble", {STEP(5, trees)}},
    {"TreeEnsembleClassifier", {SAME(3), STEP(5, trees)}},
    {"TreeEnsembleRegressor", {SAME(3), STEP(5, trees)}},
};

static const struct {
    const char *domain;
    size_t n;
    const onx_history *histories; /* by name */
} domains[] = {
    {"", ONX_COUNT(ai_onnx), ai_onnx},
    {"ai.onnx.ml", ONX_COUNT(ai_onnx_ml), ai_onnx_ml},
};

static int compare(onx_str a, const char *z) {
    size_t n = strlen(z), least = a.size < n ? a.size : n;
    int order = memcmp(a.data, z, least);
    return order ? order : (a.size > n) - (a.size < n);
}

static const onx_history *find(const onx_history *histories, size_t n, onx_str op) {
    for (size_t low = 0, high = n; low < high;) {
        size_t middle = low + (high - low) / 2;
        int order = compare(op, histories[middle].op);
        if (order == 0) return &histories[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const onx_convert_step *onx_step_find(onx_str domain, onx_str op, int64_t since) {
    for (size_t d = 0; d < ONX_COUNT(domains); d++) {
        if (!onx_str_is(domain, domains[d].domain)) continue;
        const onx_history *history = find(domains[d].histories, domains[d].n, op);
        for (size_t i = 0; history && i < ONX_CHANGES && history->changes[i].step; i++)
            if (history->changes[i].since == since) return history->changes[i].step;
    }
    /* Below its first version there is no operator, and the step has nothing to say. */
    return onx_op_find(domain, op, since - 1) ? NULL : &same;
}
