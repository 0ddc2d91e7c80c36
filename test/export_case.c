/* export_case.c: calls of PyTorch's operators as text: lowered, checked, run, compared. */
#include "export_case.h"

#include "base/number.h"
#include "ir/dtype.h"
#include "ir/ir.h"
#include "pass/pass.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_TENSORS = 24, MAX_ELEMENTS = 4096, MAX_DEPTH = 4 };

typedef struct input {
    onx_dtype dtype; /* of the model: of complex numbers, that of their parts */
    size_t rank, n;
    int64_t dims[ONX_RANK_MAX];
    void *data;
    size_t bytes;
} input;

typedef struct run_case {
    const char *at; /* in the text */
    bool failed;
    onx_export x;
    size_t n_inputs, filled;
    input inputs[MAX_TENSORS];
    char ops[512];
} run_case;

static const struct {
    const char *name;
    onx_dtype dtype, part; /* part: what the model has */
    int64_t c10;
} types[] = {
    {"f32", ONX_DTYPE_F32, ONX_DTYPE_F32, 6}, {"f64", ONX_DTYPE_F64, ONX_DTYPE_F64, 7},
    {"f16", ONX_DTYPE_F16, ONX_DTYPE_F16, 5}, {"bf16", ONX_DTYPE_BF16, ONX_DTYPE_BF16, 15},
    {"i64", ONX_DTYPE_I64, ONX_DTYPE_I64, 4}, {"i32", ONX_DTYPE_I32, ONX_DTYPE_I32, 3},
    {"i16", ONX_DTYPE_I16, ONX_DTYPE_I16, 2}, {"i8", ONX_DTYPE_I8, ONX_DTYPE_I8, 1},
    {"u8", ONX_DTYPE_U8, ONX_DTYPE_U8, 0},    {"bool", ONX_DTYPE_BOOL, ONX_DTYPE_BOOL, 11},
    {"c64", ONX_DTYPE_C64, ONX_DTYPE_F32, 9}, {"c128", ONX_DTYPE_C128, ONX_DTYPE_F64, 10},
};

double export_case_at(size_t k) {
    int step = (int)(k * 7 % 20) - 10;
    return 0.25 * (step < 0 ? step : step + 1);
}

/* ─ Text ─────────────────────────────────────────────────────────────────────────────────────── */

static void complain(run_case *c, const char *what) {
    if (!c->failed) fprintf(stderr, "    %s at: %.60s\n", what, c->at);
    c->failed = true;
}

static bool take(run_case *c, const char *text) {
    while (*c->at == ' ' || *c->at == '\n') c->at++;
    size_t n = strlen(text);
    if (strncmp(c->at, text, n) != 0) return false;
    c->at += n;
    return true;
}

static void expect(run_case *c, const char *text) {
    if (!take(c, text)) complain(c, text);
}

static onx_str word(run_case *c) {
    while (*c->at == ' ' || *c->at == '\n') c->at++;
    size_t n = strcspn(c->at, " ,()[]{}=@:");
    onx_str w = {c->at, n};
    c->at += n;
    return w;
}

static int type_at(const run_case *c) {
    for (size_t i = 0; i < ONX_COUNT(types); i++) {
        size_t n = strlen(types[i].name);
        if (strncmp(c->at, types[i].name, n) == 0 && !(c->at[n] >= 'a' && c->at[n] <= 'z') &&
            c->at[n] != '_')
            return (int)i;
    }
    return -1;
}

static double number(run_case *c) {
    onx_str w = word(c);
    double f = 0;
    if (onx_str_is(w, "inf")) return (double)INFINITY;
    if (onx_str_is(w, "-inf")) return -(double)INFINITY;
    if (onx_str_is(w, "nan")) return (double)NAN;
    if (onx_str_is(w, "True")) return 1;
    if (onx_str_is(w, "False")) return 0;
    if (!onx_parse_f64(w, &f)) complain(c, "no number");
    return f;
}

/* "[2,N=3]": sizes, and what they are for the model. */
static size_t shape(run_case *c, int64_t *dims, const onx_sym **syms) {
    size_t rank = 0;
    expect(c, "[");
    while (!c->failed && !take(c, "]") && rank < ONX_RANK_MAX) {
        onx_str w = word(c);
        bool named = take(c, "=");
        const onx_sym *sym = named ? onx_sym_name(c->x.syms, w) : NULL;
        if (named) w = word(c);
        if (!onx_parse_i64(w, &dims[rank])) complain(c, "no size");
        if (syms) syms[rank] = named ? sym : onx_sym_int(c->x.syms, dims[rank]);
        rank++;
        take(c, ",");
    }
    return rank;
}

static size_t elements(run_case *c, size_t n, double *v) {
    size_t i = 0;
    if (!take(c, "{")) {
        for (; i < n; i++) v[i] = export_case_at(c->filled++);
        return n;
    }
    while (!c->failed && !take(c, "}")) {
        double f = number(c);
        if (i < n) v[i] = f;
        i++;
        take(c, ",");
    }
    if (i != n) complain(c, "another number of elements than the shape has");
    return i;
}

static size_t count_of(size_t rank, const int64_t *dims) {
    size_t n = 1;
    for (size_t i = 0; i < rank; i++) n *= (size_t)dims[i];
    return n;
}

static onx_xv tensor(run_case *c, int type) {
    static double v[MAX_ELEMENTS];
    const onx_sym *syms[ONX_RANK_MAX];
    char name[16];
    input *in = &c->inputs[c->n_inputs];
    onx_xv none = {.kind = ONX_X_NONE};
    *in = (input){.dtype = types[type].part};
    in->rank = shape(c, in->dims, syms);
    bool complex = types[type].part != types[type].dtype;
    size_t rank = in->rank;
    if (complex) in->dims[in->rank++] = 2;
    in->n = count_of(in->rank, in->dims);
    if (in->n > MAX_ELEMENTS || c->n_inputs == MAX_TENSORS) complain(c, "too much");
    if (c->failed) return none;
    elements(c, in->n, v);
    if (!onx_dtype_bytes(in->dtype, in->n, &in->bytes)) complain(c, "too large");
    in->data = malloc(in->bytes + 1);
    if (!in->data || onx_dtype_convert(ONX_DTYPE_F64, v, in->dtype, in->data, in->n, false))
        complain(c, "no memory");
    snprintf(name, sizeof name, "x%zu", c->n_inputs++);
    return onx_x_input(&c->x, name, types[type].dtype, rank, syms);
}

static onx_xv value(run_case *c, int depth);

static onx_xv list(run_case *c, int depth) {
    onx_xv l = onx_xv_list(&c->x, ONX_X_LIST, 0, NULL);
    while (!c->failed && !take(c, "]")) {
        if (depth > MAX_DEPTH || !onx_xlist_add(&c->x, l.list, value(c, depth + 1)))
            complain(c, "too deep");
        take(c, ",");
    }
    return l;
}

static onx_xv value(run_case *c, int depth) {
    int64_t i;
    if (take(c, "[")) return list(c, depth);
    if (take(c, "None")) return (onx_xv){.kind = ONX_X_NONE};
    if (take(c, "True")) return onx_xv_bool(&c->x, true);
    if (take(c, "False")) return onx_xv_bool(&c->x, false);
    if (take(c, "\"")) {
        onx_str s = {c->at, strcspn(c->at, "\"")};
        c->at += s.size + 1;
        return onx_xv_str(s);
    }
    take(c, " ");
    int type = type_at(c);
    if (type >= 0) {
        c->at += strlen(types[type].name);
        return *c->at == '[' ? tensor(c, type) : onx_xv_int(&c->x, types[type].c10);
    }
    run_case before = *c;
    if (onx_parse_i64(word(c), &i)) return onx_xv_int(&c->x, i);
    c->at = before.at;
    return onx_xv_float(number(c));
}

/* "name=" in front of an argument; no data: none. */
static onx_str keyword(run_case *c) {
    const char *from = c->at;
    onx_str w = word(c);
    if (w.size && *c->at == '=') {
        c->at++;
        return w;
    }
    c->at = from;
    return (onx_str){NULL, 0};
}

/* ─ Lowering ─────────────────────────────────────────────────────────────────────────────────── */

static void output(run_case *c, const onx_xv *v, size_t *n) {
    char name[16];
    if (v->kind == ONX_X_NONE || !onx_x_ok(&c->x)) return;
    if (onx_xv_is_list(v)) {
        for (size_t i = 0; i < v->list->n; i++) output(c, &v->list->v[i], n);
        return;
    }
    snprintf(name, sizeof name, "y%zu", (*n)++);
    onx_x_output(&c->x, name, onx_xv_value(&c->x, v));
}

static size_t lower(run_case *c) {
    onx_xarg args[32];
    onx_xv out[ONX_X_OUTS];
    size_t n = 0, n_out, outputs = 0;
    while (*c->at == ' ') c->at++;
    size_t length = strcspn(c->at, "(");
    onx_str name = {c->at, length};
    c->at += length;
    expect(c, "(");
    while (!c->failed && !take(c, ")") && n < ONX_COUNT(args)) {
        while (*c->at == ' ') c->at++;
        args[n].name = keyword(c);
        args[n++].v = value(c, 0);
        take(c, ",");
    }
    if (c->failed || !onx_x_ok(&c->x)) return 0;
    if (!onx_aten_has(&c->x, name)) {
        complain(c, "no such operator");
        return 0;
    }
    onx_aten_call(&c->x, name, (onx_str){NULL, 0}, n, args, out, &n_out);
    if (c->x.survey) onx_x_fail(&c->x, ONX_UNSUPPORTED, "no row takes these arguments");
    for (size_t i = 0; i < n_out; i++) output(c, &out[i], &outputs);
    return onx_x_ok(&c->x) ? outputs : 0;
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

static bool told(onx_status status, const onx_diag *diag) {
    if (status) fprintf(stderr, "    %s: %s\n", onx_status_name(status), diag->message);
    return status == ONX_OK;
}

static onx_model *finish(run_case *c) {
    onx_model *model = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_optimize_options options = ONX_INIT(onx_optimize_options);
    options.level = ONX_LEVEL_NONE;
    options.enable = "dce";
    if (!told(onx_model_optimize(c->x.model, &options, &model, NULL, &diag), &diag)) return NULL;
    if (!told(onx_model_infer(model, NULL, &diag), &diag) ||
        !told(onx_model_check(model, NULL, &diag), &diag)) {
        onx_model_free(model);
        return NULL;
    }
    for (onx_node *node = onx_graph_node_first(onx_model_graph(model)); node;
         node = onx_node_next(node)) {
        size_t at = strlen(c->ops);
        snprintf(c->ops + at, sizeof c->ops - at, "%s%s", at ? " " : "", onx_node_op(node));
    }
    return model;
}

static bool read_result(const onx_arg *arg, export_result *out) {
    *out = (export_result){.dtype = arg->dtype, .rank = arg->rank};
    memcpy(out->dims, arg->dims, sizeof out->dims);
    out->n = count_of(arg->rank, arg->dims);
    out->v = malloc((out->n + 1) * sizeof *out->v);
    return out->v &&
           !onx_dtype_convert(arg->dtype, arg->data, ONX_DTYPE_F64, out->v, out->n, false);
}

static bool execute(run_case *c, const onx_model *model, size_t n, export_result *results) {
    onx_session *session = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_arg in[MAX_TENSORS] = {{0}}, out[EXPORT_RESULTS] = {{0}};
    for (size_t i = 0; i < c->n_inputs; i++) {
        const input *k = &c->inputs[i];
        in[i] = (onx_arg){.dtype = k->dtype, .rank = k->rank, .data = k->data, .bytes = k->bytes};
        memcpy(in[i].dims, k->dims, sizeof in[i].dims);
    }
    bool ok = told(onx_session_new(model, NULL, &session, &diag), &diag) &&
              told(onx_session_run(session, c->n_inputs, in, n, out, NULL, &diag), &diag);
    for (size_t i = 0; i < n && ok; i++) ok = read_result(&out[i], &results[i]);
    for (size_t i = 0; i < n; i++) onx_arg_clear(&out[i]);
    onx_session_free(session);
    return ok;
}

static size_t run(run_case *c, export_result *results) {
    onx_diag diag = ONX_INIT(onx_diag);
    int64_t opset = ONX_X_BASE;
    if (take(c, "<")) {
        opset = (int64_t)strtol(c->at, NULL, 10);
        c->at = strchr(c->at, '>') + 1;
    }
    if (!told(onx_export_begin(&c->x, onx_context_or_default(NULL), opset, &diag), &diag)) return 0;
    size_t n = lower(c);
    onx_model *model = n && n <= EXPORT_RESULTS ? finish(c) : NULL;
    if (!model || !execute(c, model, n, results)) n = 0;
    onx_model_free(model);
    return n;
}

static void end(run_case *c) {
    for (size_t i = 0; i < c->n_inputs; i++) free(c->inputs[i].data);
    onx_export_end(&c->x);
}

void export_results_free(size_t n, export_result *out) {
    for (size_t i = 0; i < n; i++) free(out[i].v);
}

size_t export_call(const char *call, export_result out[EXPORT_RESULTS]) {
    run_case c = {.at = call};
    memset(out, 0, EXPORT_RESULTS * sizeof *out);
    size_t n = run(&c, out);
    if (!n) told(c.x.status, &c.x.diag);
    end(&c);
    return n;
}

/* ─ Comparing ────────────────────────────────────────────────────────────────────────────────── */

static bool is_close(onx_dtype dtype, double a, double b) {
    if (a == b || (isnan(a) && isnan(b))) return true;
    double rough = dtype == ONX_DTYPE_F16 ? 1e-2 : dtype == ONX_DTYPE_BF16 ? 3e-2 : 1e-4;
    return onx_dtype_is_float(dtype) && fabs(a - b) <= rough / 10 + rough * fabs(b);
}

static void compare(run_case *c, size_t index, const export_result *r) {
    static double v[MAX_ELEMENTS];
    int64_t dims[ONX_RANK_MAX] = {0};
    while (*c->at == ' ') c->at++;
    int type = type_at(c);
    if (type < 0) {
        complain(c, "no type");
        return;
    }
    c->at += strlen(types[type].name);
    size_t rank = shape(c, dims, NULL);
    if (types[type].part != types[type].dtype) dims[rank++] = 2;
    size_t n = count_of(rank, dims);
    elements(c, n, v);
    if (c->failed) return;
    c->failed = r->dtype != types[type].part || r->rank != rank || r->n != n ||
                memcmp(r->dims, dims, rank * sizeof *dims) != 0;
    for (size_t i = 0; i < n && !c->failed; i++) c->failed = !is_close(r->dtype, r->v[i], v[i]);
    if (!c->failed) return;
    fprintf(stderr, "    result %zu is %s[", index, onx_dtype_name(r->dtype));
    for (size_t i = 0; i < r->rank; i++) fprintf(stderr, "%s%d", i ? "," : "", (int)r->dims[i]);
    fprintf(stderr, "]{");
    for (size_t i = 0; i < r->n; i++) fprintf(stderr, "%s%.8g", i ? "," : "", r->v[i]);
    fprintf(stderr, "}\n");
}

static void check(run_case *c, size_t n, const export_result *results) {
    if (take(c, "fails")) {
        if (n || onx_x_ok(&c->x)) complain(c, "it did not fail");
        return;
    }
    if (!n) {
        if (!told(c->x.status, &c->x.diag)) fprintf(stderr, "    %s\n", c->x.diag.place);
        complain(c, "no result");
        return;
    }
    expect(c, "=");
    for (size_t i = 0; i < n && !c->failed; i++) {
        compare(c, i, &results[i]);
        if (i + 1 < n) expect(c, ",");
    }
    if (take(c, "@")) {
        while (*c->at == ' ') c->at++;
        if (strcmp(c->at, c->ops) != 0) {
            fprintf(stderr, "    operators: %s\n", c->ops);
            complain(c, "others");
        }
    } else if (!c->failed && *c->at) {
        complain(c, "more than there is");
    }
}

bool export_case(const char *line) {
    run_case c = {.at = line};
    export_result results[EXPORT_RESULTS] = {{0}};
    size_t n = run(&c, results);
    if (!c.failed) check(&c, n, results);
    if (c.failed) fprintf(stderr, "%s\n    operators: %s\n", line, c.ops);
    export_results_free(n, results);
    end(&c);
    return !c.failed;
}

size_t export_cases(size_t n, const char *const *lines) {
    size_t failed = 0;
    for (size_t i = 0; i < n; i++) failed += !export_case(lines[i]);
    return failed;
}
