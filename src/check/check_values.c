/* check_values.c: values of attributes that operators know: a table, and what reads it.
 *
 * A row is about an attribute of one operator from a version on, or ("*") of every operator that
 * has it and no row of its own. */
#include "check/checker.h"
#include "ir/edit.h"

#include <limits.h>
#include <stdio.h>

enum { NONE, WORDS, RANGE, DTYPE, PERMUTATION, UNIQUE, SPATIAL, PADS, ELEMENT, GATES };

typedef struct onx_value_rule {
    const char *op, *attr;
    int32_t since;
    uint8_t kind;
    const char *words;   /* WORDS: separated by spaces */
    int64_t least, most; /* GATES: `least` for each direction */
} onx_value_rule;

#define ANY_MORE INT64_MAX
#define WORD(op, since, attr, words)                                                               \
    { op, attr, since, WORDS, words, 0, 0 }
#define INTS(op, since, attr, least, most)                                                         \
    { op, attr, since, RANGE, NULL, least, most }
#define KIND(op, since, attr, kind)                                                                \
    { op, attr, since, kind, NULL, 0, 0 }

static const char auto_pads[] = "NOTSET SAME_UPPER SAME_LOWER VALID";
static const char transforms[] = "NONE SOFTMAX LOGISTIC SOFTMAX_ZERO PROBIT";
static const char kernels[] = "LINEAR POLY RBF SIGMOID";
static const char losses[] = "none sum mean";
static const char branches[] =
    "BRANCH_LEQ BRANCH_LT BRANCH_GTE BRANCH_GT BRANCH_EQ BRANCH_NEQ LEAF";
static const char activations[] = "Relu Tanh Sigmoid Affine LeakyRelu ThresholdedRelu ScaledTanh"
                                  " HardSigmoid Elu Softsign Softplus";
static const char dtypes[] = "FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE"
                             " UINT32 UINT64 COMPLEX64 COMPLEX128";

static const onx_value_rule rules[] = {
    /* convolution and pooling: sizes, and how many of them */
    WORD("*", 1, "auto_pad", auto_pads),
    KIND("*", 1, "kernel_shape", SPATIAL),
    KIND("*", 1, "strides", SPATIAL),
    KIND("*", 1, "dilations", SPATIAL),
    KIND("*", 1, "pads", PADS),
    KIND("Pad", 1, "pads", NONE),
    INTS("*", 1, "group", 1, ANY_MORE),
    INTS("DeformConv", 19, "offset_group", 1, ANY_MORE),
    INTS("ConvTranspose", 1, "output_padding", 0, ANY_MORE),
    INTS("ConvTranspose", 1, "output_shape", 0, ANY_MORE),
    INTS("MaxRoiPool", 1, "pooled_shape", 1, ANY_MORE),
    INTS("MaxPool", 8, "storage_order", 0, 1),
    INTS("LpPool", 2, "p", 1, ANY_MORE),
    INTS("GlobalLpPool", 2, "p", 1, ANY_MORE),
    /* types */
    KIND("*", 1, "to", DTYPE),
    WORD("Cast", 1, "to", dtypes),
    KIND("Cast", 6, "to", DTYPE),
    KIND("*", 1, "dtype", DTYPE),
    KIND("*", 1, "output_datatype", DTYPE),
    KIND("*", 1, "stash_type", DTYPE),
    INTS("*", 1, "output_dtype", 0, ONX_DTYPE_COUNT - 1),
    INTS("QuantizeLinear", 23, "precision", 0, ONX_DTYPE_COUNT - 1),
    INTS("Attention", 23, "softmax_precision", 0, ONX_DTYPE_COUNT - 1),
    WORD("Cast", 24, "round_mode", "up down nearest"),
    WORD("CastLike", 24, "round_mode", "up down nearest"),
    /* shapes */
    KIND("Transpose", 1, "perm", PERMUTATION),
    KIND("*", 1, "axes", UNIQUE),
    INTS("*", 1, "keepdims", 0, 1),
    INTS("*", 1, "ceil_mode", 0, 1),
    KIND("ConstantOfShape", 9, "value", ELEMENT),
    INTS("Split", 1, "split", 0, ANY_MORE),
    INTS("Split", 18, "num_outputs", 1, ANY_MORE),
    INTS("*", 1, "blocksize", 1, ANY_MORE),
    WORD("DepthToSpace", 11, "mode", "DCR CRD"),
    WORD("SpaceToDepth", 28, "mode", "DCR CRD"),
    WORD("Pad", 1, "mode", "constant reflect edge"),
    WORD("Pad", 19, "mode", "constant reflect edge wrap"),
    INTS("GatherND", 12, "batch_dims", 0, ANY_MORE),
    INTS("ReverseSequence", 10, "batch_axis", 0, 1),
    INTS("ReverseSequence", 10, "time_axis", 0, 1),
    WORD("ScatterElements", 16, "reduction", "none add mul"),
    WORD("ScatterElements", 18, "reduction", "none add mul max min"),
    WORD("ScatterND", 16, "reduction", "none add mul"),
    WORD("ScatterND", 18, "reduction", "none add mul max min"),
    WORD("TensorScatter", 24, "mode", "linear circular"),
    INTS("TopK", 1, "k", 0, ANY_MORE),
    INTS("RandomNormal", 1, "shape", 0, ANY_MORE),
    INTS("RandomUniform", 1, "shape", 0, ANY_MORE),
    INTS("Multinomial", 7, "sample_size", 1, ANY_MORE),
    INTS("ConcatFromSequence", 11, "new_axis", 0, 1),
    /* images */
    WORD("Resize", 10, "mode", "nearest linear"),
    WORD("Resize", 11, "mode", "nearest linear cubic"),
    WORD("Resize", 11, "coordinate_transformation_mode",
         "half_pixel pytorch_half_pixel align_corners asymmetric tf_half_pixel_for_nn"
         " tf_crop_and_resize"),
    WORD("Resize", 13, "coordinate_transformation_mode",
         "half_pixel pytorch_half_pixel align_corners asymmetric tf_crop_and_resize"),
    WORD("Resize", 19, "coordinate_transformation_mode",
         "half_pixel half_pixel_symmetric pytorch_half_pixel align_corners asymmetric"
         " tf_crop_and_resize"),
    WORD("Resize", 11, "nearest_mode", "round_prefer_floor round_prefer_ceil floor ceil"),
    WORD("Resize", 18, "keep_aspect_ratio_policy", "stretch not_larger not_smaller"),
    WORD("Upsample", 1, "mode", "nearest bilinear"),
    WORD("Upsample", 7, "mode", "nearest linear"),
    WORD("GridSample", 16, "mode", "bilinear nearest bicubic"),
    WORD("GridSample", 20, "mode", "linear nearest cubic"),
    WORD("GridSample", 16, "padding_mode", "zeros border reflection"),
    WORD("RoiAlign", 10, "mode", "avg max"),
    WORD("RoiAlign", 16, "coordinate_transformation_mode", "half_pixel output_half_pixel"),
    INTS("RoiAlign", 10, "output_height", 1, ANY_MORE),
    INTS("RoiAlign", 10, "output_width", 1, ANY_MORE),
    INTS("RoiAlign", 10, "sampling_ratio", 0, ANY_MORE),
    INTS("NonMaxSuppression", 10, "center_point_box", 0, 1),
    WORD("ImageDecoder", 20, "pixel_format", "RGB BGR Grayscale"),
    /* normalization, recurrence, attention */
    INTS("LRN", 1, "size", 1, ANY_MORE),
    INTS("LpNormalization", 1, "p", 1, 2),
    INTS("GroupNormalization", 18, "num_groups", 1, ANY_MORE),
    WORD("*", 1, "direction", "forward reverse bidirectional"),
    WORD("BitShift", 11, "direction", "LEFT RIGHT"),
    {"RNN", "activations", 1, GATES, activations, 1, 0},
    {"GRU", "activations", 1, GATES, activations, 2, 0},
    {"LSTM", "activations", 1, GATES, activations, 3, 0},
    INTS("*", 1, "hidden_size", 1, ANY_MORE),
    INTS("*", 14, "layout", 0, 1),
    INTS("*", 1, "q_num_heads", 0, ANY_MORE),
    INTS("*", 1, "kv_num_heads", 0, ANY_MORE),
    INTS("Attention", 23, "qk_matmul_output_mode", 0, 3),
    INTS("RotaryEmbedding", 23, "num_heads", 0, ANY_MORE),
    INTS("RotaryEmbedding", 23, "rotary_embedding_dim", 0, ANY_MORE),
    WORD("LinearAttention", 27, "update_rule", "linear gated delta gated_delta"),
    WORD("CausalConvWithState", 27, "activation", "silu swish none"),
    WORD("Gelu", 20, "approximate", "none tanh"),
    INTS("*", 1, "block_size", 0, ANY_MORE),
    /* control flow */
    INTS("Scan", 8, "num_scan_inputs", 1, ANY_MORE),
    INTS("Scan", 8, "directions", 0, 1),
    INTS("Scan", 9, "scan_input_directions", 0, 1),
    INTS("Scan", 9, "scan_output_directions", 0, 1),
    /* losses, training */
    WORD("NegativeLogLikelihoodLoss", 12, "reduction", losses),
    WORD("SoftmaxCrossEntropyLoss", 12, "reduction", losses),
    WORD("Momentum", 1, "mode", "nesterov standard"),
    /* strings, classical machine learning */
    WORD("StringNormalizer", 10, "case_change_action", "LOWER UPPER NONE"),
    WORD("TfIdfVectorizer", 9, "mode", "TF IDF TFIDF"),
    INTS("TfIdfVectorizer", 9, "min_gram_length", 1, ANY_MORE),
    INTS("TfIdfVectorizer", 9, "max_gram_length", 1, ANY_MORE),
    INTS("TfIdfVectorizer", 9, "max_skip_count", 0, ANY_MORE),
    WORD("CastMap", 1, "cast_to", "TO_FLOAT TO_STRING TO_INT64"),
    WORD("CastMap", 1, "map_form", "DENSE SPARSE"),
    WORD("Normalizer", 1, "norm", "MAX L1 L2"),
    WORD("LinearClassifier", 1, "post_transform", transforms),
    WORD("LinearRegressor", 1, "post_transform", transforms),
    WORD("SVMClassifier", 1, "post_transform", transforms),
    WORD("SVMRegressor", 1, "post_transform", transforms),
    WORD("TreeEnsembleClassifier", 1, "post_transform", transforms),
    WORD("TreeEnsembleRegressor", 1, "post_transform", transforms),
    INTS("TreeEnsemble", 5, "post_transform", 0, 4),
    INTS("TreeEnsemble", 5, "aggregate_function", 0, 3),
    WORD("TreeEnsembleRegressor", 1, "aggregate_function", "AVERAGE SUM MIN MAX"),
    WORD("SVMClassifier", 1, "kernel_type", kernels),
    WORD("SVMRegressor", 1, "kernel_type", kernels),
    WORD("TreeEnsembleClassifier", 1, "nodes_modes", branches),
    WORD("TreeEnsembleRegressor", 1, "nodes_modes", branches),
};

/* Attributes that exclude each other: how many of them a node has. */
static const struct choice {
    const char *op;
    int32_t since, until;
    size_t least, most;
    const char *attrs;
} choices[] = {
    {"Constant", 11, 11, 1, 1, "value sparse_value"},
    {"Constant", 12, INT_MAX, 1, 1,
     "value sparse_value value_float value_floats value_int value_ints value_string value_strings"},
    {"LabelEncoder", 2, 2, 1, 1, "keys_floats keys_int64s keys_strings"},
    {"LabelEncoder", 2, 2, 1, 1, "values_floats values_int64s values_strings"},
    {"LabelEncoder", 4, 4, 1, 1, "keys_floats keys_int64s keys_strings keys_tensor"},
    {"LabelEncoder", 4, 4, 1, 1, "values_floats values_int64s values_strings values_tensor"},
    {"CategoryMapper", 1, 1, 2, 2, "cats_int64s cats_strings"},
    {"OneHotEncoder", 1, 1, 1, 1, "cats_int64s cats_strings"},
    {"DictVectorizer", 1, 1, 1, 1, "int64_vocabulary string_vocabulary"},
    {"ZipMap", 1, 1, 1, 1, "classlabels_int64s classlabels_strings"},
    {"TfIdfVectorizer", 9, 9, 1, 1, "pool_int64s pool_strings"},
};

/* ── Finding rows ────────────────────────────────────────────────────────────────────────────── */

static const onx_value_rule *rule_of(const onx_op *op, onx_str attr) {
    const onx_value_rule *any = NULL, *own = NULL;
    for (size_t i = 0; i < ONX_COUNT(rules); i++) {
        const onx_value_rule *r = &rules[i];
        if (r->since > op->since || !onx_str_is(attr, r->attr)) continue;
        if (strcmp(r->op, "*") == 0) any = r;
        if (strcmp(r->op, op->name) == 0) own = r;
    }
    return own ? own : any;
}

const onx_value_rule **onx_value_rules(onx_arena *arena, const onx_op *op, const onx_signature *s) {
    const onx_value_rule **found = onx_arena_array(arena, s->n_attrs + 1, sizeof *found);
    for (size_t i = 0; found && i < s->n_attrs; i++) found[i] = rule_of(op, s->attrs[i].name);
    return found;
}

/* ── Words ───────────────────────────────────────────────────────────────────────────────────── */

/* Cut the first word off a list; false: there is none. */
static bool next_word(onx_str *list, onx_str *word) {
    while (list->size && list->data[0] == ' ') list->data++, list->size--;
    size_t n = 0;
    while (n < list->size && list->data[n] != ' ') n++;
    *word = (onx_str){list->data, n};
    *list = (onx_str){list->data + n, list->size - n};
    return n > 0;
}

/* Are they equal, letter by letter? Capitals do not count in names of activations. */
static bool is_word(onx_str word, onx_str text, bool any_case) {
    if (!any_case || word.size != text.size) return onx_str_eq(word, text);
    for (size_t i = 0; i < word.size; i++)
        if ((word.data[i] | 32) != (text.data[i] | 32)) return false;
    return true;
}

static void check_word(onx_checker *c, const onx_attr *a, const onx_value_rule *rule,
                       onx_str text) {
    onx_str list = onx_str_of(rule->words), word;
    char hint[256];
    while (next_word(&list, &word))
        if (is_word(word, text, rule->kind == GATES)) return;
    snprintf(hint, sizeof hint, "it is one of: %s", rule->words);
    onx_check_tell(c, ONX_RULE_ATTR_VALUE, a, hint, "'%.*s' cannot be '%.*s'", ONX_FMT(a->name),
                   ONX_FMT(text));
}

static void check_words(onx_checker *c, const onx_attr *a, const onx_value_rule *rule) {
    if (onx_attr_type_of(a) == ONX_ATTR_STRING) check_word(c, a, rule, a->s);
    for (size_t i = 0; onx_attr_type_of(a) == ONX_ATTR_STRINGS && i < a->strings.n; i++)
        check_word(c, a, rule, a->strings.v[i]);
}

/* As many names as there are gates, in each direction. */
static void check_gates(onx_checker *c, const onx_attr *a, const onx_value_rule *rule) {
    const onx_attr *direction = onx_node_attr((const onx_node *)a->msg.parent, "direction");
    bool both = direction && onx_str_is(direction->s, "bidirectional");
    size_t wanted = (size_t)rule->least * (both ? 2 : 1);
    check_words(c, a, rule);
    if (a->strings.n && a->strings.n != wanted)
        onx_check_tell(c, ONX_RULE_ATTR_VALUE, a, NULL, "'%.*s' has %zu names; %s needs %zu",
                       ONX_FMT(a->name), a->strings.n, rule->op, wanted);
}

/* ── Numbers ─────────────────────────────────────────────────────────────────────────────────── */

/* The numbers of an attribute, one or many. */
static onx_i64s ints_of(const onx_attr *a) {
    onx_attr *attr = (onx_attr *)(uintptr_t)a;
    if (onx_attr_type_of(a) == ONX_ATTR_INT) return (onx_i64s){&attr->i, 1, 1};
    return onx_attr_type_of(a) == ONX_ATTR_INTS ? a->ints : (onx_i64s){NULL, 0, 0};
}

static void check_range(onx_checker *c, const onx_attr *a, int64_t least, int64_t most) {
    onx_i64s ints = ints_of(a);
    char hint[100];
    for (size_t i = 0; i < ints.n; i++) {
        if (ints.v[i] >= least && ints.v[i] <= most) continue;
        if (most == ANY_MORE)
            snprintf(hint, sizeof hint, "it is %lld or more", (long long)least);
        else
            snprintf(hint, sizeof hint, "it is %lld to %lld", (long long)least, (long long)most);
        onx_check_tell(c, ONX_RULE_ATTR_VALUE, a, hint, "'%.*s' cannot be %lld", ONX_FMT(a->name),
                       (long long)ints.v[i]);
        return;
    }
}

/* Each number once, and, in a permutation, all from 0 on. */
static void check_unique(onx_checker *c, const onx_attr *a, bool permutation) {
    onx_i64s ints = ints_of(a);
    onx_map seen;
    size_t i = 0;
    onx_map_init(&seen, c->ctx);
    for (; i < ints.n; i++) {
        onx_str key = {(const char *)&ints.v[i], sizeof ints.v[i]};
        if (permutation && (ints.v[i] < 0 || ints.v[i] >= (int64_t)ints.n)) break;
        if (!onx_check_once(c, &seen, NULL, key)) break;
    }
    if (i < ints.n)
        onx_check_tell(c, ONX_RULE_ATTR_VALUE, a,
                       permutation ? "it has every axis once" : "it has an axis once",
                       permutation ? "'%.*s' is not a permutation: %lld" : "'%.*s' has %lld twice",
                       ONX_FMT(a->name), (long long)ints.v[i]);
    onx_map_fini(&seen);
}

/* One number for each spatial axis, and two of padding. */
static void check_spatial(onx_checker *c, const onx_attr *a, bool pads, size_t *axes) {
    size_t n = ints_of(a).n;
    check_range(c, a, pads ? 0 : 1, ANY_MORE);
    if ((pads && n % 2) || (*axes != SIZE_MAX && *axes != (pads ? n / 2 : n)))
        onx_check_tell(c, ONX_RULE_ATTR_VALUE, a,
                       "kernel_shape, strides and dilations have a number for each axis, pads two",
                       "'%.*s' has %zu numbers", ONX_FMT(a->name), n);
    else
        *axes = pads ? n / 2 : n;
}

/* A tensor of one element. ONNX's own inference wants it to be a list. */
static void check_element(onx_checker *c, const onx_attr *a) {
    uint64_t count;
    if (!a->t || onx_tensor_count(a->t, &count, NULL)) return;
    if (count != 1 || (c->options.full && onx_tensor_rank(a->t) != 1))
        onx_check_tell(c, ONX_RULE_ATTR_VALUE, a, "it is a list with one element",
                       "'%.*s' has %llu elements in %zu dimensions", ONX_FMT(a->name),
                       (unsigned long long)count, onx_tensor_rank(a->t));
}

/* ── Nodes ───────────────────────────────────────────────────────────────────────────────────── */

static void check_value(onx_checker *c, const onx_attr *a, const onx_value_rule *rule,
                        size_t *axes) {
    switch (rule->kind) {
    case WORDS: check_words(c, a, rule); break;
    case RANGE: check_range(c, a, rule->least, rule->most); break;
    case DTYPE: check_range(c, a, 1, ONX_DTYPE_COUNT - 1); break;
    case PERMUTATION: check_unique(c, a, true); break;
    case UNIQUE: check_unique(c, a, false); break;
    case SPATIAL: check_spatial(c, a, false, axes); break;
    case PADS: check_spatial(c, a, true, axes); break;
    case ELEMENT: check_element(c, a); break;
    case GATES: check_gates(c, a, rule); break;
    default: break;
    }
}

/* An empty list counts as none. */
static bool is_given(const onx_node *node, onx_str name) {
    ONX_EACH (onx_attr, a, node->attribute) {
        if (!onx_str_eq(a->name, name)) continue;
        onx_attr_type type = onx_attr_type_of(a);
        bool list = type == ONX_ATTR_FLOATS || type == ONX_ATTR_INTS || type == ONX_ATTR_STRINGS;
        return !list || onx_attr_count(a) || onx_str_is(node->op_type, "Constant");
    }
    return false;
}

static void check_choice(onx_checker *c, const onx_node *node, const struct choice *choice) {
    onx_str list = onx_str_of(choice->attrs), word;
    size_t n = 0;
    char hint[256];
    while (next_word(&list, &word)) n += is_given(node, word);
    if (n >= choice->least && n <= choice->most) return;
    snprintf(hint, sizeof hint, "the attributes are: %s", choice->attrs);
    onx_check_tell(c, ONX_RULE_ATTR_CHOICE, node, hint,
                   "%s has %zu of its attributes that exclude each other, not %zu", choice->op, n,
                   choice->least);
}

void onx_check_attr_values(onx_checker *c, const onx_node *node, const onx_checked_op *callee) {
    size_t axes = SIZE_MAX;
    ONX_EACH (onx_attr, a, node->attribute) {
        size_t i = 0, n = callee->signature.n_attrs;
        while (i < n && !onx_str_eq(callee->signature.attrs[i].name, a->name)) i++;
        if (i < n && callee->rules[i] && !a->ref_attr_name.size)
            check_value(c, a, callee->rules[i], &axes);
    }
    for (size_t i = 0; i < ONX_COUNT(choices); i++)
        if (strcmp(choices[i].op, callee->op->name) == 0 && callee->op->since >= choices[i].since &&
            callee->op->since <= choices[i].until)
            check_choice(c, node, &choices[i]);
}
