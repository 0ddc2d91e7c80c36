/* fill_slim.c: fills in a slim model, one whose large tensors are recipes instead of data.
 *
 *     fill_slim model.slim.onnx model.onnx
 *
 * A tensor without data whose doc_string is "prng SEED LO HI" gets pseudo-random elements between
 * LO and HI, the same ones everywhere. Shows how to walk all tensors of a model, and how to give
 * them payloads without copying. */
#include <onx.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Payloads stay ours: they must live until the model is saved. */
typedef struct payload {
    struct payload *next;
    double bytes[]; /* aligned for any type */
} payload;

typedef struct recipe {
    uint64_t seed;
    double lo, hi;
    bool is_integer;
} recipe;

static uint64_t splitmix64(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* Elements `at` … of the recipe. The product is stored before the sum: it must be rounded. */
static void make(const recipe *r, uint64_t at, size_t n, double *out) {
    uint64_t x = (r->seed << 32) + at;
    double range = r->is_integer ? r->hi - r->lo + 1 : r->hi - r->lo;
    for (size_t i = 0; i < n; i++) out[i] = range * ((double)(splitmix64(x + i) >> 40) * 0x1p-24);
    if (r->is_integer)
        for (size_t i = 0; i < n; i++) out[i] = floor(out[i]);
    for (size_t i = 0; i < n; i++) out[i] += r->lo;
}

static bool parse(const char *doc, recipe *out) {
    char *end;
    if (strncmp(doc, "prng ", 5) != 0) return false;
    out->seed = strtoull(doc + 5, &end, 10);
    if (*end != ' ') return false;
    out->lo = strtod(end, &end);
    if (*end != ' ') return false;
    out->hi = strtod(end, &end);
    return *end == '\0';
}

static bool is_integer(onx_dtype dtype) {
    static const onx_dtype integers[] = {ONX_DTYPE_U8,  ONX_DTYPE_I8,  ONX_DTYPE_U16,
                                         ONX_DTYPE_I16, ONX_DTYPE_I32, ONX_DTYPE_I64,
                                         ONX_DTYPE_U32, ONX_DTYPE_U64};
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++)
        if (integers[i] == dtype) return true;
    return false;
}

static onx_status fail(onx_diag *diag, const onx_tensor *tensor, const char *message) {
    *diag = ONX_INIT(onx_diag);
    diag->status = ONX_INVALID;
    diag->offset = -1;
    snprintf(diag->place, sizeof diag->place, "tensor '%.200s'", onx_tensor_name(tensor));
    snprintf(diag->message, sizeof diag->message, "%s", message);
    return diag->status;
}

static onx_status fill(onx_tensor *tensor, payload **payloads, onx_diag *diag) {
    enum { BLOCK = 1024 };
    double block[BLOCK];
    onx_dtype dtype = onx_tensor_dtype(tensor);
    recipe r = {.is_integer = is_integer(dtype)};
    uint64_t count;
    size_t bytes;
    if (!parse(onx_tensor_doc(tensor), &r)) return ONX_OK;
    onx_status status = onx_tensor_count(tensor, &count, diag);
    if (status) return status;
    if (!onx_dtype_bytes(dtype, count, &bytes) || bytes > SIZE_MAX / 2)
        return fail(diag, tensor, "its elements have no size");
    payload *p = malloc(sizeof *p + bytes);
    if (!p) return fail(diag, tensor, "there is not enough memory for its elements");
    p->next = *payloads;
    *payloads = p;
    for (uint64_t at = 0; at < count; at += BLOCK) {
        size_t n = count - at < BLOCK ? (size_t)(count - at) : BLOCK;
        make(&r, at, n, block);
        char *out = (char *)p->bytes + at / 8 * onx_dtype_bits(dtype);
        onx_dtype_convert(ONX_DTYPE_F64, block, dtype, out, n, true);
    }
    status = onx_tensor_set_borrowed(tensor, dtype, onx_tensor_rank(tensor),
                                     onx_tensor_dims(tensor), p->bytes, bytes, diag);
    return status ? status : onx_tensor_set_doc(tensor, NULL);
}

/* A tensor and those that follow it in the same place. */
static onx_status fill_list(onx_tensor *tensor, payload **payloads, onx_diag *diag) {
    onx_status status = ONX_OK;
    for (; tensor && !status; tensor = onx_tensor_next(tensor))
        status = fill(tensor, payloads, diag);
    return status;
}

static onx_status fill_graph(onx_graph *graph, payload **payloads, onx_diag *diag) {
    onx_status status = fill_list(onx_graph_initializer_first(graph), payloads, diag);
    for (onx_node *n = onx_graph_node_first(graph); n && !status; n = onx_node_next(n))
        for (onx_attr *a = onx_node_attr_first(n); a && !status; a = onx_attr_next(a)) {
            status = fill_list(onx_attr_tensor(a), payloads, diag);
            if (!status) status = fill_list(onx_attr_tensor_at(a, 0), payloads, diag);
        }
    return status;
}

/* The graph and all inside it: down to the first subgraph, else along, else up. */
static onx_status fill_tree(onx_graph *root, payload **payloads, onx_diag *diag) {
    onx_status status = ONX_OK;
    onx_graph *next;
    for (onx_graph *g = root; g && !status; g = next) {
        status = fill_graph(g, payloads, diag);
        next = onx_graph_sub_first(g);
        for (; !next && g != root; g = onx_graph_outer(g)) next = onx_graph_sub_next(g);
    }
    return status;
}

static onx_status fill_model(onx_model *model, payload **payloads, onx_diag *diag) {
    onx_status status = fill_tree(onx_model_graph(model), payloads, diag);
    for (onx_function *f = onx_model_function_first(model); f && !status; f = onx_function_next(f))
        status = fill_tree(onx_function_body(f), payloads, diag);
    return status;
}

int main(int argc, char **argv) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_model *model = NULL;
    payload *payloads = NULL;
    if (argc != 3) {
        fprintf(stderr, "usage: fill_slim IN OUT\n");
        return 2;
    }
    onx_status status = onx_model_load(NULL, argv[1], NULL, &model, &diag);
    if (!status) status = fill_model(model, &payloads, &diag);
    if (!status) status = onx_model_save(model, argv[2], NULL, &diag);
    onx_model_free(model);
    for (payload *next; payloads; payloads = next) {
        next = payloads->next;
        free(payloads);
    }
    if (!status) return EXIT_SUCCESS;
    char text[1024];
    onx_diag_format(&diag, text, sizeof text);
    fprintf(stderr, "fill_slim: %s\n", text);
    return EXIT_FAILURE;
}
