/* kernel.c: see kernel.h. */
#include "kernel.h"
#include "kernel_case.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const *kernel_tiers(void) {
    static const char *tiers[10];
    static const char *const all[] = {
#define TIER_TEXT(isa) #isa,
        ONX_EXTRAS(TIER_TEXT) ONX_ISAS(TIER_TEXT) "ref",
    };
    size_t n = 0;
    bool on = false;
    for (size_t i = 0; i < ONX_COUNT(all); i++) {
        on |= strcmp(all[i], onx_cpu_best()) == 0;
        if (on) tiers[n++] = all[i];
    }
    tiers[n] = NULL;
    return tiers;
}

const char *const *kernel_tiers_fast(void) {
    static const char *all[16];
    static const char *const fast[][2] = {{"bf16", "bf16+fast"}, {"amx", "amx+fast"}};
    size_t n = 0;
    for (const char *const *t = kernel_tiers(); *t; t++) {
        all[n++] = *t;
        for (size_t i = 0; i < ONX_COUNT(fast); i++)
            if (strcmp(*t, fast[i][0]) == 0) all[n++] = fast[i][1];
    }
    all[n] = NULL;
    return all;
}

onx_operand kernel_operand(onx_dtype dtype, const char *dims, void *data) {
    int64_t sizes[ONX_RANK_MAX];
    size_t rank = 0;
    for (const char *p = dims; *p;) {
        char *end = NULL;
        sizes[rank++] = strtoll(p, &end, 10);
        p = *end == ',' ? end + 1 : end;
    }
    onx_operand made = {0};
    if (!onx_operand_shape(&made, dtype, rank, sizes)) abort();
    made.data = data;
    return made;
}

static onx_model *model_of(int opset, const char *node, onx_diag *diag) {
    char text[4096];
    onx_model *model = NULL;
    (void)snprintf(
        text, sizeof text,
        "<ir_version: 10, opset_import: [\"\" : %d, \"onx.internal\" : 1, "
        "\"com.microsoft\" : 1, \"ai.onnx.preview.training\" : 1]>\ng () => () {\n%s\n}\n",
        opset, node);
    onx_load_options options = ONX_INIT(onx_load_options);
    options.format = ONX_FORMAT_TEXT;
    options.copy = true;
    (void)onx_model_load_memory(NULL, text, strlen(text), &options, &model, diag);
    return model;
}

static void evaluate(const char *tier, const onx_node *node, size_t n_in, onx_operand *const *in,
                     kernel_result *r) {
    onx_cpu cpu;
    onx_operand *out[KERNEL_OUTS] = {NULL};
    r->n_out = onx_node_output_count(node);
    for (size_t i = 0; i < r->n_out && i < KERNEL_OUTS; i++)
        if (onx_node_output(node, i)) out[i] = &r->out[i];
    char isa[16] = "";
    size_t n = strcspn(tier, "+");
    memcpy(isa, tier, n < sizeof isa ? n : 0);
    r->status = onx_cpu_init(&cpu, isa, &r->diag);
    cpu.provider.fast = strcmp(tier + n, "+fast") == 0;
    if (r->status == ONX_OK)
        r->status = onx_eval_node(onx_context_or_default(NULL), &cpu.provider, node, n_in, in,
                                  r->n_out, out, &r->kernel, &r->diag);
}

kernel_result kernel_run(const char *tier, int opset, const char *node, size_t n_in,
                         onx_operand *const *in, uint32_t constant) {
    kernel_result r = {.diag = ONX_INIT(onx_diag)};
    onx_operand copies[32], *pointers[32];
    onx_model *model = model_of(opset, node, &r.diag);
    r.status = r.diag.status;
    if (!model) return r;
    for (size_t i = 0; i < n_in && i < 32; i++) {
        pointers[i] = in[i] ? &copies[i] : NULL;
        if (in[i]) copies[i] = *in[i];
        if (in[i]) copies[i].constant = constant >> i & 1;
    }
    evaluate(tier, onx_graph_node_first(onx_model_graph(model)), n_in, pointers, &r);
    onx_model_free(model);
    return r;
}

void kernel_free(kernel_result *r) {
    for (size_t i = 0; i < KERNEL_OUTS; i++)
        onx_eval_clear(onx_context_or_default(NULL), &r->out[i]);
}

static bool as_doubles(const onx_operand *a, double *out) {
    return onx_dtype_convert((onx_dtype)a->dtype, a->data, ONX_DTYPE_F64, out, (uint64_t)a->count,
                             false) == ONX_OK;
}

static bool same_shape(const onx_operand *a, const onx_operand *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           (!a->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

/* The largest |a-b| - rtol*|b|, or, without rtol, |a-b| / max(1, |b|); NaNs must agree. */
static double worst_of(const onx_operand *a, const onx_operand *b, double rtol, double start) {
    if (!same_shape(a, b)) return HUGE_VAL;
    size_t n = (size_t)a->count;
    double *x = malloc((n + 1) * sizeof *x), *y = malloc((n + 1) * sizeof *y), worst = start;
    if (!x || !y || (n && (!as_doubles(a, x) || !as_doubles(b, y)))) worst = HUGE_VAL;
    for (size_t i = 0; i < n && worst < HUGE_VAL; i++) {
        if (isnan(x[i]) && isnan(y[i])) continue;
        double d = x[i] == y[i] ? 0 : fabs(x[i] - y[i]);
        if (d != 0) d = rtol > 0 ? d - rtol * fabs(y[i]) : d / fmax(1, fabs(y[i]));
        if (isnan(d)) d = HUGE_VAL;
        worst = d > worst ? d : worst;
    }
    free(x);
    free(y);
    return worst;
}

double kernel_distance(const onx_operand *a, const onx_operand *b) {
    return worst_of(a, b, 0, 0);
}

void kernel_fill(float *out, size_t n, uint64_t seed, float lo, float hi) {
    for (size_t i = 0; i < n; i++) {
        uint64_t z = (seed << 32) + i + 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        z ^= z >> 31;
        out[i] = lo + (hi - lo) * (float)(z >> 40) / 16777216.0f;
    }
}

void kernel_fill_bytes(uint8_t *out, size_t n, uint64_t seed) {
    for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        out[i] = (uint8_t)(seed >> 56);
    }
}

/* ─ Backend tests ────────────────────────────────────────────────────────────────────────────── */

static size_t compare_outputs(const char *name, const char *tier, const kernel_case *c,
                              const kernel_result *r) {
    size_t failed = 0;
    for (size_t o = 0; o < c->outputs.n; o++) {
        const onx_operand *want = &c->outputs.operand[o];
        const onx_value *value = onx_graph_output(onx_model_graph(c->model), o);
        for (size_t i = 0; i < r->n_out; i++) {
            if (onx_node_output(c->node, i) != value) continue;
            double d =
                want->dtype == ONX_DTYPE_STRING ? 0 : worst_of(&r->out[i], want, 1e-3, -HUGE_VAL);
            if (d <= 1e-4) continue;
            printf("%s [%s]: output %zu differs by %g\n", name, tier, o, d);
            failed++;
        }
    }
    return failed;
}

static bool excepted(const char *name, const char *except) {
    char word[128];
    while (except && *except) {
        size_t n = strcspn(except, "|");
        if (n && n < sizeof word) {
            memcpy(word, except, n);
            word[n] = 0;
            if (strstr(name, word)) return true;
        }
        except += n + (except[n] == '|');
    }
    return false;
}

static size_t backend_case(const char *folder, const char *name, size_t *failed) {
    kernel_case c;
    if (!kernel_case_load(folder, &c)) return 0;
    for (const char *const *tier = kernel_tiers(); *tier; tier++) {
        kernel_result r = {.diag = ONX_INIT(onx_diag)};
        evaluate(*tier, c.node, c.n_in, c.in, &r);
        if (r.status == ONX_OK) {
            *failed += compare_outputs(name, *tier, &c, &r);
            kernel_free(&r);
        } else {
            printf("%s [%s]: %s\n", name, *tier, r.diag.message);
            ++*failed;
        }
    }
    kernel_case_free(&c);
    return 1;
}

size_t kernel_backend(const char *prefix, const char *except, size_t *failed) {
    const char *data = getenv("ONX_DATA");
    char folder[512], start[128];
    size_t ran = 0;
    if (!data) return 0;
    (void)snprintf(folder, sizeof folder, "%s/node", data);
    (void)snprintf(start, sizeof start, "test_%s", prefix);
    DIR *dir = opendir(folder);
    if (!dir) return 0;
    for (struct dirent *e; (e = readdir(dir));) {
        if (strncmp(e->d_name, start, strlen(start)) != 0 || excepted(e->d_name, except)) continue;
        char path[800];
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        ran += backend_case(path, e->d_name, failed);
    }
    (void)closedir(dir);
    return ran;
}
