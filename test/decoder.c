/* decoder.c: see decoder.h. */
#include "decoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ── Weights ─────────────────────────────────────────────────────────────────────────────────── */

typedef enum extent { ONE, MODEL, TRIPLE, HIDDEN, VOCAB, POSITIONS } extent;
typedef enum weight {
    EMBED,
    POSITION,
    LAST_GAIN,
    LAST_BIAS,
    HEAD,
    GLOBAL_WEIGHTS, /* from here on: one of each layer */
    ATTN_GAIN = GLOBAL_WEIGHTS,
    ATTN_BIAS,
    QKV,
    QKV_BIAS,
    OUT,
    OUT_BIAS,
    MLP_GAIN,
    MLP_BIAS,
    UP,
    UP_BIAS,
    DOWN,
    DOWN_BIAS,
    WEIGHTS,
} weight;

static const struct {
    const char *name;
    extent rows, cols; /* ONE row: a vector */
    double middle;
} weights[WEIGHTS] = {
    [EMBED] = {"embed", VOCAB, MODEL, 0},       [POSITION] = {"positions", POSITIONS, MODEL, 0},
    [LAST_GAIN] = {"last_gain", ONE, MODEL, 1}, [LAST_BIAS] = {"last_bias", ONE, MODEL, 0},
    [HEAD] = {"head", MODEL, VOCAB, 0},         [ATTN_GAIN] = {"attn_gain", ONE, MODEL, 1},
    [ATTN_BIAS] = {"attn_bias", ONE, MODEL, 0}, [QKV] = {"qkv", MODEL, TRIPLE, 0},
    [QKV_BIAS] = {"qkv_bias", ONE, TRIPLE, 0},  [OUT] = {"out", MODEL, MODEL, 0},
    [OUT_BIAS] = {"out_bias", ONE, MODEL, 0},   [MLP_GAIN] = {"mlp_gain", ONE, MODEL, 1},
    [MLP_BIAS] = {"mlp_bias", ONE, MODEL, 0},   [UP] = {"up", MODEL, HIDDEN, 0},
    [UP_BIAS] = {"up_bias", ONE, HIDDEN, 0},    [DOWN] = {"down", HIDDEN, MODEL, 0},
    [DOWN_BIAS] = {"down_bias", ONE, MODEL, 0},
};

static size_t size_of(const decoder *d, extent e) {
    const size_t sizes[] = {[ONE] = 1,
                            [MODEL] = d->d_model,
                            [TRIPLE] = 3 * d->d_model,
                            [HIDDEN] = 4 * d->d_model,
                            [VOCAB] = d->vocab,
                            [POSITIONS] = d->positions};
    return sizes[e];
}

static size_t count_of(const decoder *d, weight w) {
    return size_of(d, weights[w].rows) * size_of(d, weights[w].cols);
}

static uint64_t splitmix64(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* The elements of a weight, to be freed. Matrices are scaled so that what they make of a vector is
 * about as large as it was. */
static float *make_weight(const decoder *d, weight w, size_t layer) {
    size_t count = count_of(d, w), rows = size_of(d, weights[w].rows);
    uint64_t seed = (uint64_t)(layer * WEIGHTS + w) << 32;
    bool matrix = rows > 1 && weights[w].rows != VOCAB && weights[w].rows != POSITIONS;
    double width = matrix ? sqrt(3 / (double)rows) : weights[w].rows == ONE ? 0.1 : 1;
    float *out = malloc((count + 1) * sizeof *out);
    for (size_t i = 0; out && i < count; i++) {
        double x = (double)(splitmix64(seed + i) >> 40) * 0x1p-23 - 1;
        out[i] = (float)(weights[w].middle + width * x);
    }
    return out;
}

/* ── Models ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct builder {
    const decoder *d;
    onx_graph *outer; /* that has the weights */
    onx_graph *g;     /* that nodes are added to */
    size_t layer;
} builder;

static onx_value *constant(builder *b, const char *name, size_t n, const int64_t *values) {
    int64_t dims[1] = {(int64_t)n};
    onx_value *found = onx_graph_find(b->outer, name);
    return found ? found
                 : onx_graph_add_initializer(b->outer, name, ONX_DTYPE_I64, 1, dims, values,
                                             n * sizeof *values);
}

static onx_value *scalar(builder *b, const char *name, double x) {
    float value = (float)x;
    onx_value *found = onx_graph_find(b->outer, name);
    return found ? found
                 : onx_graph_add_initializer(b->outer, name, ONX_DTYPE_F32, 0, NULL, &value,
                                             sizeof value);
}

static onx_value *add_weight(builder *b, weight w) {
    const decoder *d = b->d;
    bool global = w < GLOBAL_WEIGHTS;
    int64_t dims[2] = {(int64_t)size_of(d, weights[w].rows), (int64_t)size_of(d, weights[w].cols)};
    size_t skip = weights[w].rows == ONE;
    char name[64];
    if (global)
        snprintf(name, sizeof name, "%s", weights[w].name);
    else
        snprintf(name, sizeof name, "%s_%zu", weights[w].name, b->layer);
    float *data = make_weight(d, w, global ? 0 : b->layer + 1);
    if (!data) return NULL;
    onx_value *value = onx_graph_add_initializer(b->outer, name, ONX_DTYPE_F32, 2 - skip,
                                                 dims + skip, data, count_of(d, w) * sizeof *data);
    free(data);
    return value;
}

static onx_value *op(builder *b, const char *name, onx_value *x, onx_value *y) {
    return onx_graph_add_op_array(b->g, name, NULL, y ? 2 : 1, (onx_value *[]){x, y});
}

static onx_value *transpose(builder *b, onx_value *x, const int64_t perm[4]) {
    onx_value *y = op(b, "Transpose", x, NULL);
    onx_node_set_ints(onx_value_node(y), "perm", 4, perm);
    return y;
}

static onx_value *norm(builder *b, onx_value *x, weight gain, weight bias) {
    onx_value *y = onx_graph_add_op(b->g, "LayerNormalization", NULL, x, add_weight(b, gain),
                                    add_weight(b, bias));
    onx_node_set_int(onx_value_node(y), "axis", -1);
    onx_node_set_float(onx_value_node(y), "epsilon", 1e-5f);
    return y;
}

static onx_value *linear(builder *b, onx_value *x, weight matrix, weight bias) {
    return op(b, "Add", op(b, "MatMul", x, add_weight(b, matrix)), add_weight(b, bias));
}

/* [1,1,d_model] to [1,heads,1,d_model/heads]. */
static onx_value *split_heads(builder *b, onx_value *x) {
    const int64_t heads = (int64_t)b->d->heads, model = (int64_t)b->d->d_model;
    const int64_t shape[] = {1, -1, heads, model / heads};
    onx_value *y = op(b, "Reshape", x, constant(b, "split_shape", 4, shape));
    return transpose(b, y, (int64_t[]){0, 2, 1, 3});
}

static onx_value *extend(builder *b, onx_value *past, onx_value *x, char kind) {
    char name[64];
    snprintf(name, sizeof name, "present_%c_%zu", kind, b->layer);
    onx_value *y = onx_graph_add_op(b->g, "Concat", name, past, x);
    onx_node_set_int(onx_value_node(y), "axis", 2);
    return y;
}

/* cache: K and V of the layer, which become those with this token. */
static onx_value *attention(builder *b, onx_value *x, onx_value *cache[2]) {
    const decoder *d = b->d;
    const int64_t shape[] = {1, -1, (int64_t)d->d_model};
    onx_value *qkv = linear(b, x, QKV, QKV_BIAS);
    onx_node *split = onx_graph_add_node(b->g, "Split", 1, &qkv, 3, (const char *[3]){NULL});
    onx_node_set_int(split, "axis", 2);
    onx_node_set_int(split, "num_outputs", 3);
    onx_value *q = split_heads(b, onx_node_output(split, 0));
    cache[0] = extend(b, cache[0], split_heads(b, onx_node_output(split, 1)), 'k');
    cache[1] = extend(b, cache[1], split_heads(b, onx_node_output(split, 2)), 'v');
    onx_value *scores = op(b, "MatMul", q, transpose(b, cache[0], (int64_t[]){0, 1, 3, 2}));
    double scale = 1 / sqrt((double)(d->d_model / d->heads));
    onx_value *part = op(b, "Softmax", op(b, "Mul", scores, scalar(b, "scale", scale)), NULL);
    onx_node_set_int(onx_value_node(part), "axis", -1);
    onx_value *mixed = transpose(b, op(b, "MatMul", part, cache[1]), (int64_t[]){0, 2, 1, 3});
    mixed = op(b, "Reshape", mixed, constant(b, "join_shape", 3, shape));
    return linear(b, mixed, OUT, OUT_BIAS);
}

static onx_value *mlp(builder *b, onx_value *x) {
    onx_value *up = linear(b, x, UP, UP_BIAS);
    onx_value *erf = op(b, "Erf", op(b, "Div", up, scalar(b, "root_two", sqrt(2))), NULL);
    onx_value *gelu = op(b, "Mul", up, op(b, "Add", erf, scalar(b, "one", 1)));
    return linear(b, op(b, "Mul", gelu, scalar(b, "half", 0.5)), DOWN, DOWN_BIAS);
}

/* From a token to the logits of the next one. caches: of the layers, one after the other. */
static onx_value *decode(builder *b, onx_value *token, onx_value *position, onx_value **caches) {
    onx_value *x = op(b, "Add", op(b, "Gather", add_weight(b, EMBED), token),
                      op(b, "Gather", add_weight(b, POSITION), position));
    for (b->layer = 0; b->layer < b->d->layers; b->layer++) {
        onx_value *y = attention(b, norm(b, x, ATTN_GAIN, ATTN_BIAS), &caches[2 * b->layer]);
        x = op(b, "Add", x, y);
        x = op(b, "Add", x, mlp(b, norm(b, x, MLP_GAIN, MLP_BIAS)));
    }
    x = norm(b, x, LAST_GAIN, LAST_BIAS);
    return onx_graph_add_op(b->g, "MatMul", "logits", x, add_weight(b, HEAD));
}

static onx_value *choose(builder *b, onx_value *logits) {
    onx_value *next = onx_graph_add_op(b->g, "ArgMax", "next", logits);
    onx_node_set_int(onx_value_node(next), "axis", -1);
    onx_node_set_int(onx_value_node(next), "keepdims", 0);
    return next;
}

typedef struct text {
    char s[64];
} text;

static text cache_name(const char *prefix, size_t cache) {
    text t;
    snprintf(t.s, sizeof t.s, "%s_%c_%zu", prefix, cache % 2 ? 'v' : 'k', cache / 2);
    return t;
}

static text cache_type(const decoder *d, const char *length) {
    text t;
    snprintf(t.s, sizeof t.s, "float[1,%zu,%s,%zu]", d->heads, length, d->d_model / d->heads);
    return t;
}

static text logits_type(const decoder *d, const char *before) {
    text t;
    snprintf(t.s, sizeof t.s, "float[%s1,1,%zu]", before, d->vocab);
    return t;
}

/* NULL when anything failed. */
static onx_model *finish(onx_model *model, onx_value **caches) {
    free(caches);
    if (model && caches && !onx_model_error(model)) return model;
    onx_model_free(model);
    return NULL;
}

onx_model *decoder_step_model(const decoder *d) {
    onx_model *model = onx_model_new(NULL, "decoder", 18);
    onx_graph *g = onx_model_graph(model);
    builder b = {.d = d, .outer = g, .g = g};
    size_t n = 2 * d->layers;
    onx_value **caches = calloc(n + 1, sizeof(onx_value *));
    if (!model || !caches) return finish(model, caches);
    onx_value *token = onx_graph_add_input(g, "token", "int64[1,1]");
    onx_value *position = onx_graph_add_input(g, "position", "int64[1]");
    for (size_t i = 0; i < n; i++)
        caches[i] = onx_graph_add_input(g, cache_name("past", i).s, cache_type(d, "past").s);
    onx_value *logits = decode(&b, token, position, caches);
    onx_graph_add_output(g, logits, logits_type(d, "").s);
    onx_graph_add_output(g, choose(&b, logits), "int64[1,1]");
    for (size_t i = 0; i < n; i++) onx_graph_add_output(g, caches[i], cache_type(d, "total").s);
    return finish(model, caches);
}

/* The body of the Loop: (i, going, token, position, caches…) to (going, next, position + 1,
 * caches…, picked, logits). */
static void fill_body(builder *b, onx_value **caches) {
    const decoder *d = b->d;
    onx_graph *g = b->g;
    size_t n = 2 * d->layers;
    onx_graph_add_input(g, "i", "int64");
    onx_value *going = onx_graph_add_input(g, "going", "bool");
    onx_value *token = onx_graph_add_input(g, "last", "int64[1,1]");
    onx_value *position = onx_graph_add_input(g, "position", "int64[1]");
    for (size_t i = 0; i < n; i++)
        caches[i] = onx_graph_add_input(g, cache_name("past", i).s, cache_type(d, "past").s);
    onx_value *logits = decode(b, token, position, caches);
    onx_value *next = choose(b, logits);
    onx_value *step = constant(b, "step", 1, (int64_t[]){1});
    onx_graph_add_output(g, op(b, "Identity", going, NULL), "bool");
    onx_graph_add_output(g, next, "int64[1,1]");
    onx_graph_add_output(g, op(b, "Add", position, step), "int64[1]");
    for (size_t i = 0; i < n; i++) onx_graph_add_output(g, caches[i], cache_type(d, "total").s);
    onx_graph_add_output(g, op(b, "Identity", next, NULL), "int64[1,1]");
    onx_graph_add_output(g, logits, logits_type(d, "").s);
}

onx_model *decoder_loop_model(const decoder *d) {
    onx_model *model = onx_model_new(NULL, "decoder_loop", 18);
    onx_graph *g = onx_model_graph(model);
    builder b = {.d = d, .outer = g, .g = g};
    size_t n = 2 * d->layers;
    const int64_t dims[4] = {1, (int64_t)d->heads, 0, (int64_t)(d->d_model / d->heads)};
    onx_value **in = calloc(n + 5, sizeof(onx_value *));
    if (!model || !in) return finish(model, in);
    in[0] = onx_graph_add_input(g, "steps", "int64");
    in[2] = onx_graph_add_input(g, "token", "int64[1,1]");
    in[3] = constant(&b, "start", 1, (int64_t[]){0});
    onx_value *empty = onx_graph_add_initializer(g, "empty", ONX_DTYPE_F32, 4, dims, "", 0);
    for (size_t i = 0; i < n; i++) in[4 + i] = empty;
    onx_node *loop = onx_graph_add_node(g, "Loop", n + 4, in, 0, NULL);
    for (size_t i = 0; i < n + 4; i++) onx_node_add_output(loop, NULL);
    b.g = onx_node_add_graph(loop, "body", "decoder");
    fill_body(&b, in);
    onx_value *tokens = onx_node_output(loop, n + 2), *logits = onx_node_output(loop, n + 3);
    onx_value_rename(tokens, "tokens", NULL);
    onx_value_rename(logits, "all_logits", NULL);
    onx_graph_add_output(g, tokens, "int64[steps,1,1]");
    onx_graph_add_output(g, logits, logits_type(d, "steps,").s);
    return finish(model, in);
}

/* ── Arithmetic ──────────────────────────────────────────────────────────────────────────────── */

typedef struct state {
    const decoder *d;
    float *global[GLOBAL_WEIGHTS];
    float **layers;      /* [layers][WEIGHTS], those of a layer from GLOBAL_WEIGHTS on */
    double *k, *v;       /* [layers][positions][d_model] */
    double *x, *y, *tmp; /* [d_model], [d_model], [4 * d_model] */
    double *scores;      /* [positions] */
} state;

static const float *layer_weight(const state *s, size_t layer, weight w) {
    return s->layers[layer * WEIGHTS + w];
}

static void state_close(state *s) {
    for (size_t w = 0; w < GLOBAL_WEIGHTS; w++) free(s->global[w]);
    for (size_t i = 0; s->layers && i < s->d->layers * WEIGHTS; i++) free(s->layers[i]);
    free(s->layers);
    free(s->k), free(s->v), free(s->x), free(s->y), free(s->tmp), free(s->scores);
}

static double *reals(size_t count) {
    return calloc(count + 1, sizeof(double));
}

static bool state_open(state *s, const decoder *d) {
    size_t cache = d->layers * d->positions * d->d_model;
    *s = (state){.d = d,
                 .layers = calloc(d->layers * WEIGHTS + 1, sizeof(float *)),
                 .k = reals(cache),
                 .v = reals(cache),
                 .x = reals(d->d_model),
                 .y = reals(d->d_model),
                 .tmp = reals(4 * d->d_model),
                 .scores = reals(d->positions)};
    bool ok = s->layers && s->k && s->v && s->x && s->y && s->tmp && s->scores;
    for (weight w = 0; ok && w < GLOBAL_WEIGHTS; w++)
        ok = (s->global[w] = make_weight(d, w, 0)) != NULL;
    for (size_t l = 0; ok && l < d->layers; l++)
        for (weight w = GLOBAL_WEIGHTS; ok && w < WEIGHTS; w++)
            ok = (s->layers[l * WEIGHTS + w] = make_weight(d, w, l + 1)) != NULL;
    return ok;
}

static void normalize(const double *x, const float *gain, const float *bias, size_t n,
                      double *out) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++) mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) variance += (x[i] - mean) * (x[i] - mean) / (double)n;
    double factor = 1 / sqrt(variance + (double)1e-5f);
    for (size_t i = 0; i < n; i++) out[i] = (x[i] - mean) * factor * gain[i] + bias[i];
}

/* out[cols] = x[rows] · matrix[rows][all], columns from `first` on, + bias */
static void multiply(const double *x, size_t rows, const float *matrix, size_t all, size_t first,
                     size_t cols, const float *bias, double *out) {
    for (size_t c = 0; c < cols; c++) {
        out[c] = bias ? bias[first + c] : 0;
        for (size_t r = 0; r < rows; r++) out[c] += x[r] * matrix[r * all + first + c];
    }
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* One head: what q finds in the keys and values of positions 0 … last, into `out`. */
static void attend(state *s, const double *q, const double *k, const double *v, size_t last,
                   size_t size, double *out) {
    size_t stride = s->d->d_model;
    double most = -INFINITY, sum = 0;
    for (size_t t = 0; t <= last; t++) {
        s->scores[t] = dot(q, k + t * stride, size) / sqrt((double)size);
        most = fmax(most, s->scores[t]);
    }
    for (size_t t = 0; t <= last; t++) sum += s->scores[t] = exp(s->scores[t] - most);
    for (size_t i = 0; i < size; i++) {
        out[i] = 0;
        for (size_t t = 0; t <= last; t++) out[i] += s->scores[t] / sum * v[t * stride + i];
    }
}

static void compute_attention(state *s, size_t layer, size_t position) {
    size_t n = s->d->d_model, size = n / s->d->heads;
    const float *qkv = layer_weight(s, layer, QKV), *bias = layer_weight(s, layer, QKV_BIAS);
    double *k = s->k + layer * s->d->positions * n, *v = s->v + layer * s->d->positions * n;
    double *q = s->tmp, *mixed = s->tmp + n;
    normalize(s->x, layer_weight(s, layer, ATTN_GAIN), layer_weight(s, layer, ATTN_BIAS), n, s->y);
    multiply(s->y, n, qkv, 3 * n, 0, n, bias, q);
    multiply(s->y, n, qkv, 3 * n, n, n, bias, k + position * n);
    multiply(s->y, n, qkv, 3 * n, 2 * n, n, bias, v + position * n);
    for (size_t h = 0; h < n; h += size) attend(s, q + h, k + h, v + h, position, size, mixed + h);
    multiply(mixed, n, layer_weight(s, layer, OUT), n, 0, n, layer_weight(s, layer, OUT_BIAS),
             s->y);
    for (size_t i = 0; i < n; i++) s->x[i] += s->y[i];
}

static void compute_mlp(state *s, size_t layer) {
    size_t n = s->d->d_model;
    normalize(s->x, layer_weight(s, layer, MLP_GAIN), layer_weight(s, layer, MLP_BIAS), n, s->y);
    multiply(s->y, n, layer_weight(s, layer, UP), 4 * n, 0, 4 * n, layer_weight(s, layer, UP_BIAS),
             s->tmp);
    for (size_t i = 0; i < 4 * n; i++) s->tmp[i] *= 0.5 * (1 + erf(s->tmp[i] / sqrt(2)));
    multiply(s->tmp, 4 * n, layer_weight(s, layer, DOWN), n, 0, n,
             layer_weight(s, layer, DOWN_BIAS), s->y);
    for (size_t i = 0; i < n; i++) s->x[i] += s->y[i];
}

static int64_t compute_token(state *s, int64_t token, size_t position, double *logits) {
    size_t n = s->d->d_model, best = 0;
    const float *embed = s->global[EMBED] + (size_t)token * n;
    const float *place = s->global[POSITION] + position * n;
    for (size_t i = 0; i < n; i++) s->x[i] = (double)embed[i] + (double)place[i];
    for (size_t l = 0; l < s->d->layers; l++) {
        compute_attention(s, l, position);
        compute_mlp(s, l);
    }
    normalize(s->x, s->global[LAST_GAIN], s->global[LAST_BIAS], n, s->y);
    multiply(s->y, n, s->global[HEAD], s->d->vocab, 0, s->d->vocab, NULL, logits);
    for (size_t i = 1; i < s->d->vocab; i++)
        if (logits[i] > logits[best]) best = i;
    return (int64_t)best;
}

bool decoder_compute(const decoder *d, int64_t token, size_t steps, int64_t *tokens,
                     double *logits) {
    state s;
    bool ok = state_open(&s, d);
    for (size_t t = 0; ok && t < steps; t++)
        tokens[t] = token = compute_token(&s, token, t, logits + t * d->vocab);
    state_close(&s);
    return ok;
}
