/* test_types.c: every operator in every type that its newest version allows.
 *
 * The cases are in test/types, a file for each operator; tool/type-cases.py has made them with an
 * oracle that is not onx. Which types a case covers is not what it says, but what inference finds
 * at the inputs and outputs of its node. A type without a case is a hole, and a failure; so is a
 * case whose results are not those recorded. */
#include "test.h"

#include "case_file.h"
#include "ops/signature.h"
#include "type_case.h"

#include <ctype.h>

enum { CELLS = 400, NAME = 64 };

typedef struct table {
    size_t n;
    char names[CELLS][NAME]; /* "T=seq(float)" */
    bool covered[CELLS];
    size_t cases, failed;
} table;

static struct { size_t operators, cells, covered, cases; } total;

/* ── What an operator allows ─────────────────────────────────────────────────────────────────── */

/* "seq(float[2,3])" without sizes and spaces. */
static void plain_type(char *type) {
    char *out = type;
    int depth = 0;
    for (const char *p = type; *p; p++) {
        depth += *p == '[';
        if (!depth && *p != ' ') *out++ = *p;
        depth -= *p == ']';
    }
    *out = '\0';
}

/* "seq(all1)" is one cell for each of the types in all1. */
static void add_word(table *t, onx_str variable, onx_str word) {
    size_t from = 0, to = word.size;
    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] == '(' || word.data[i] == ',' || word.data[i] == ' ') from = i + 1;
    while (to > from && word.data[to - 1] == ')') to--;
    uint32_t types = onx_signature_types((onx_str){word.data + from, to - from});
    CHECK(types != 0);
    for (onx_dtype d = 0; d < 32; d++) {
        if (!(types >> d & 1) || t->n == CELLS) continue;
        char *name = t->names[t->n++];
        (void)snprintf(name, NAME, "%.*s=%.*s%s%.*s", (int)variable.size, variable.data, (int)from,
                       word.data, onx_dtype_name(d), (int)(word.size - to), word.data + to);
        plain_type(name);
    }
}

static bool is_used(const onx_signature *s, onx_str variable) {
    bool used = false;
    for (size_t i = 0; i < s->n_inputs; i++) used = used || onx_str_eq(s->inputs[i].type, variable);
    for (size_t i = 0; i < s->n_outputs; i++)
        used = used || onx_str_eq(s->outputs[i].type, variable);
    return used;
}

static void table_init(table *t, const onx_signature *s) {
    *t = (table){0};
    for (size_t i = 0; i < s->n_constraints; i++) {
        onx_str rest = s->constraints[i].types, word;
        if (!is_used(s, s->constraints[i].name)) continue;
        while (onx_signature_cut(&rest, '|', &word)) add_word(t, s->constraints[i].name, word);
    }
    CHECK(t->n < CELLS);
}

/* ── What a case covers ──────────────────────────────────────────────────────────────────────── */

static void cover(table *t, const onx_inference *inference, const onx_param *params, size_t n,
                  size_t index, onx_value *value) {
    char type[256], variable[16], name[NAME];
    const onx_param *p = n ? &params[index < n ? index : n - 1] : NULL;
    if (!p || !value) return;
    (void)onx_inference_type(inference, value, type, sizeof type);
    plain_type(type);
    (void)snprintf(variable, sizeof variable, "%.*s", (int)p->type.size, p->type.data);
    (void)snprintf(name, sizeof name, "%.8s=%.50s", variable, type);
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->names[i], name) == 0) t->covered[i] = true;
}

static void cover_node(table *t, const onx_signature *s, const onx_inference *inference,
                       const onx_node *node) {
    for (size_t i = 0; i < onx_node_input_count(node); i++)
        cover(t, inference, s->inputs, s->n_inputs, i, onx_node_input(node, i));
    for (size_t i = 0; i < onx_node_output_count(node); i++)
        cover(t, inference, s->outputs, s->n_outputs, i, onx_node_output(node, i));
}

/* ── Cases ───────────────────────────────────────────────────────────────────────────────────── */

/* All nodes that have the operator, in the version in question. */
static bool cover_case(table *t, const onx_signature *s, const onx_model *model, const onx_op *op) {
    onx_inference *inference = NULL;
    bool found = false;
    if (!CHECK(onx_inference_new(model, NULL, &inference, NULL) == ONX_OK)) return false;
    const onx_node *node = onx_graph_node_first(onx_model_graph(model));
    for (; node; node = onx_node_next(node))
        if (onx_op_of(node) == op) cover_node(t, s, inference, node), found = true;
    onx_inference_free(inference);
    return found;
}

static void check_case(table *t, const onx_signature *s, const onx_op *op, char *text) {
    static const char *const tiers[] = {NULL, "ref"};
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    char *label = case_line(&text), why[256] = "";
    double ulps = 0;
    if (strncmp(text, "ulps:", 5) == 0) ulps = strtod(case_line(&text) + 5, NULL);
    bool ok = case_parse(NULL, text, &model, &diag) == ONX_OK;
    if (!ok) (void)snprintf(why, sizeof why, "%.50s: %.200s", diag.place, diag.message);
    for (size_t i = 0; i < 2 && ok; i++) ok = type_case_run(model, tiers[i], ulps, why);
    if (ok && !cover_case(t, s, model, op)) {
        (void)snprintf(why, sizeof why, "no node has this operator in this version");
        ok = false;
    }
    if (!ok) fprintf(stderr, "%s %s: %s\n", op->name, label, why);
    t->cases++;
    t->failed += !ok;
    onx_model_free(model);
}

/* Those whose cases do not all pass yet; one that has no failure left does not belong here. */
static const char waiting[] =
    " Adagrad Adam AffineGrid ArrayFeatureExtractor Attention Bernoulli Binarizer BlackmanWindow "
    "CastMap CategoryMapper Col2Im ConvInteger ConvTranspose DFT DeformConv DequantizeLinear "
    "Det DictVectorizer Dropout DynamicQuantizeLinear Einsum FeatureVectorizer Gradient "
    "GridSample HammingWindow HannWindow ImageDecoder Imputer LabelEncoder LinearClassifier "
    "LinearRegressor MatMulInteger MaxRoiPool MaxUnpool MelWeightMatrix Momentum Multinomial "
    "NonMaxSuppression Normalizer OneHotEncoder QLinearConv QLinearMatMul QuantizeLinear "
    "RandomNormal RandomNormalLike RandomUniform RandomUniformLike RegexFullMatch Resize "
    "RoiAlign STFT SVMClassifier SVMRegressor Scaler SimplifiedLayerNormalization "
    "StringNormalizer StringSplit TensorScatter TfIdfVectorizer TreeEnsemble "
    "TreeEnsembleClassifier TreeEnsembleRegressor Unique Upsample ZipMap ";

static bool is_waiting(const onx_op *op) {
    char word[64];
    (void)snprintf(word, sizeof word, " %s ", op->name);
    return strstr(waiting, word) != NULL;
}

static void print_line(const table *t, const onx_op *op) {
    size_t covered = 0;
    for (size_t i = 0; i < t->n; i++) covered += t->covered[i];
    printf("%-28s %3d  %3zu of %3zu types, %3zu cases%s", op->name, (int)op->since, covered, t->n,
           t->cases, covered < t->n ? "; not" : "");
    for (size_t i = 0; i < t->n; i++)
        if (!t->covered[i]) printf(" %s", t->names[i]);
    printf("\n");
    CHECK(is_waiting(op) || (covered == t->n && t->cases && !t->failed));
    total.operators++;
    total.cells += t->n;
    total.covered += covered;
    total.cases += t->cases;
}

static void check_op(const onx_op *op) {
    static table t;
    char path[128];
    case_file file;
    onx_signature s;
    onx_arena arena;
    onx_context *ctx = NULL;
    REQUIRE(onx_context_new(NULL, &ctx) == ONX_OK);
    onx_arena_init(&arena, ctx);
    REQUIRE(onx_signature_parse(op, &arena, &s, NULL) == ONX_OK);
    table_init(&t, &s);
    (void)snprintf(path, sizeof path, "types/%s.txt", op->name);
    if (case_file_open(&file, path))
        for (char *text; (text = case_file_next(&file));) check_case(&t, &s, op, text);
    case_file_close(&file);
    print_line(&t, op);
    onx_arena_fini(&arena);
    onx_context_free(ctx);
}

/* The newest row that may be used. */
static bool is_newest(const onx_op *op) {
    const onx_op *next = op + 1;
    return !op->deprecated &&
           (!next->name || strcmp(next->name, op->name) != 0 || next->deprecated);
}

static bool is_onnx(const onx_op *op) {
    return !op->domain || strncmp(op->domain, "ai.onnx", 7) == 0;
}

TEST(all) {
    for (const onx_family *family = onx_op_table; family->name; family++)
        for (const onx_op *op = family->ops; op->name; op++)
            if (is_onnx(op) && is_newest(op)) check_op(op);
    printf("%zu operators, %zu of %zu types, %zu cases\n", total.operators, total.covered,
           total.cells, total.cases);
}

TEST_MAIN(E(all))
