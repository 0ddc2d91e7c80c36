/* Every kernel with inputs and attributes that are wrong, or at the edge of what is right. The node
 * tests of ONNX and the cases of test/types are the seeds: of each operator a few, whose inputs are
 * then changed one at a time and two at a time: other ranks, sizes of 0 and one more or less,
 * numbers at the ends of their types, NaN, infinities, indices out of range and all the same; and
 * so are attributes. The session must answer with a result or with a sentence, in time, within its
 * memory; the plain kernels must answer alike; and after all of it the seed gives what it gave
 * before.
 *     ONX_SWEEP=softmax test_kernel_sweep   only cases with such names, all of them, each told
 */
#define _DEFAULT_SOURCE
#include "test.h"

#include "case_file.h"
#include "ops/op.h"
#include "type_case.h"

#include <dirent.h>
#include <math.h>
#include <time.h>

enum { INS = 32, OUTS = 64, SEEDS = 3, MOST_RANK = 17, SECONDS = 5 };

/* ─ Seeds ────────────────────────────────────────────────────────────────────────────────────── */

typedef struct seed {
    char name[256];
    onx_model *model; /* of one node; inputs without shapes */
    size_t n_in;
    onx_data *data[INS];
    onx_arg in[INS];
} seed;

/* What results are made from: they count, too. */
static onx_context *bounded(void) {
    static onx_context *ctx;
    onx_context_options options = ONX_INIT(onx_context_options);
    options.memory_limit = (size_t)256 << 20;
    if (!ctx && onx_context_new(&options, &ctx)) abort();
    return ctx;
}

static void seed_free(seed *s) {
    for (size_t i = 0; i < s->n_in; i++) {
        onx_arg_clear(&s->in[i]);
        onx_data_free(s->data[i]);
    }
    onx_model_free(s->model);
}

/* Whatever shape comes may be given: it is the kernel that has to find out. */
static void forget_shapes(onx_graph *graph) {
    for (size_t i = 0; i < onx_graph_input_count(graph); i++) {
        onx_value *value = onx_graph_input(graph, i);
        const onx_type *type = onx_value_type(value);
        char text[64];
        if (!type || onx_type_kind_of(type) != ONX_TYPE_TENSOR) continue;
        (void)snprintf(text, sizeof text, "%s[]", onx_dtype_name(onx_type_dtype(type)));
        (void)onx_value_set_type(value, text, NULL);
    }
}

static bool seed_load(const char *folder, seed *out) {
    char path[1200];
    memset(out, 0, sizeof *out);
    (void)snprintf(out->name, sizeof out->name, "%s", strrchr(folder, '/') + 1);
    (void)snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (onx_model_load(bounded(), path, NULL, &out->model, NULL)) return false;
    onx_graph *graph = onx_model_graph(out->model);
    if (!graph || onx_graph_node_count(graph) != 1 || onx_graph_input_count(graph) > INS)
        return false;
    for (; out->n_in < onx_graph_input_count(graph); out->n_in++) {
        size_t i = out->n_in;
        (void)snprintf(path, sizeof path, "%s/test_data_set_0/input_%zu.pb", folder, i);
        const onx_type *type = onx_value_type(onx_graph_input(graph, i));
        onx_data_kind kind =
            type && onx_type_kind_of(type) == ONX_TYPE_TENSOR ? ONX_DATA_TENSOR : ONX_DATA_NONE;
        if (onx_data_load(NULL, path, kind, &out->data[i], NULL)) return false;
        if (onx_arg_from_data(out->data[i], &out->in[i], NULL)) {
            onx_data_free(out->data[i]);
            return false;
        }
    }
    forget_shapes(graph);
    return true;
}

/* ─ Running ──────────────────────────────────────────────────────────────────────────────────── */

typedef struct answer {
    onx_status status;
    size_t n;
    onx_arg out[OUTS];
    char message[512];
} answer;

static void answer_clear(answer *a) {
    for (size_t i = 0; i < a->n; i++) onx_arg_clear(&a->out[i]);
    a->n = 0;
}

typedef struct sweep {
    seed *seed;
    onx_session *fast, *plain;
    const char *what; /* is being changed */
    size_t cases, right, refused;
} sweep;

static double seconds = SECONDS; /* that a run may take */
static size_t total, total_right, total_refused, n_seeds;

static void complain(const sweep *s, const char *why, const answer *a) {
    char text[1024];
    (void)snprintf(text, sizeof text, "%s, %s: %s (%s %s)", s->seed->name, s->what, why,
                   onx_status_name(a->status), a->message);
    test_check(false, text, __FILE__, __LINE__);
}

static void run(onx_session *session, size_t n_in, const onx_arg *in, answer *out) {
    onx_diag diag = ONX_INIT(onx_diag);
    onx_run_options options = ONX_INIT(onx_run_options);
    options.timeout = seconds;
    memset(out, 0, sizeof *out);
    out->n = onx_session_output_count(session);
    if (out->n > OUTS) out->n = OUTS;
    out->status = onx_session_run(session, n_in, in, out->n, out->out, &options, &diag);
    (void)snprintf(out->message, sizeof out->message, "%.500s", diag.message);
}

/* A result, or a refusal that says something. A loop may be told to go on for ever. */
static bool is_clean(const answer *a) {
    switch (a->status) {
    case ONX_OK: return true;
    case ONX_INVALID:
    case ONX_UNSUPPORTED:
    case ONX_USAGE:
    case ONX_LIMIT:
    case ONX_MALFORMED: return a->message[0] != '\0';
    case ONX_NO_MEMORY: return true;
    case ONX_CANCELLED: return seconds < SECONDS;
    default: return false;
    }
}

static bool same_shape(const onx_arg *a, const onx_arg *b) {
    return a->dtype == b->dtype && a->rank == b->rank && !a->value == !b->value &&
           (!a->rank || !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims));
}

static void say_inputs(const sweep *s, const onx_arg *in) {
    fprintf(stderr, "%s, %s:", s->seed->name, s->what);
    for (size_t i = 0; i < s->seed->n_in; i++) {
        fprintf(stderr, " %s", onx_dtype_name(in[i].dtype));
        for (size_t d = 0; d < in[i].rank; d++)
            fprintf(stderr, "%c%lld", d ? ',' : '[', (long long)in[i].dims[d]);
        if (in[i].rank) fputc(']', stderr);
    }
    fputc('\n', stderr);
}

static void try_inputs(sweep *s, const onx_arg *in) {
    answer a, b;
    if (getenv("ONX_SWEEP")) say_inputs(s, in); /* what the last one was, before a crash */
    run(s->fast, s->seed->n_in, in, &a);
    run(s->plain, s->seed->n_in, in, &b);
    s->cases++;
    if (a.status == ONX_OK)
        s->right++;
    else
        s->refused++;
    if (!is_clean(&a)) complain(s, "not clean", &a);
    if (!is_clean(&b)) complain(s, "the plain kernel is not clean", &b);
    bool memory = a.status == ONX_NO_MEMORY || b.status == ONX_NO_MEMORY;
    bool stopped = a.status == ONX_CANCELLED || b.status == ONX_CANCELLED;
    if (!memory && !stopped && (a.status == ONX_OK) != (b.status == ONX_OK))
        complain(s, "the plain kernel answers otherwise", a.status ? &a : &b);
    for (size_t i = 0; i < a.n && !a.status && !b.status; i++)
        if (!same_shape(&a.out[i], &b.out[i]))
            complain(s, "the plain kernel has another shape", &a);
    answer_clear(&a);
    answer_clear(&b);
}

/* ─ Changes ──────────────────────────────────────────────────────────────────────────────────── */

/* An argument with memory of its own, of another shape: elements are those of `from`, again and
 * again. */
static bool reshaped(const onx_arg *from, size_t rank, const int64_t *dims, onx_arg *out) {
    uint64_t count = 1;
    size_t bytes;
    for (size_t i = 0; i < rank; i++) count *= (uint64_t)dims[i];
    if (count > 1 << 20 || !onx_dtype_bytes(from->dtype, count, &bytes)) return false;
    *out = *from;
    out->owned = NULL;
    out->rank = rank;
    if (rank) memcpy(out->dims, dims, rank * sizeof *dims);
    out->bytes = bytes;
    out->data = calloc(bytes + 1, 1);
    if (!out->data) abort();
    for (size_t i = 0; from->bytes && i < bytes; i++)
        ((char *)out->data)[i] = ((const char *)from->data)[i % from->bytes];
    return true;
}

static const double extremes[] = {0,
                                  1,
                                  -1,
                                  2,
                                  7,
                                  1e9,
                                  -1e9,
                                  0x1p63,
                                  -0x1p63,
                                  1e30,
                                  1e-30,
                                  255,
                                  (double)NAN,
                                  (double)INFINITY,
                                  -(double)INFINITY};

static void put_number(onx_arg *arg, uint64_t at, double x) {
    size_t bits = onx_dtype_bits(arg->dtype);
    double block[8] = {x, x, x, x, x, x, x, x};
    if (bits >= 8)
        (void)onx_dtype_convert(ONX_DTYPE_F64, block, arg->dtype,
                                (char *)arg->data + at * (bits / 8), 1, true);
    else
        (void)onx_dtype_convert(ONX_DTYPE_F64, block, arg->dtype, (char *)arg->data + at / 8 * bits,
                                1, true);
}

static uint64_t count_of(const onx_arg *arg) {
    uint64_t count = 1;
    for (size_t i = 0; i < arg->rank; i++) count *= (uint64_t)arg->dims[i];
    return count;
}

static bool is_dense(const onx_arg *arg) {
    return !arg->value && arg->dtype != ONX_DTYPE_STRING;
}

/* With input `i` changed; the changed argument is freed. */
static void try_changed(sweep *s, const onx_arg *in, size_t i, onx_arg changed) {
    onx_arg all[INS];
    memcpy(all, in, sizeof all);
    all[i] = changed;
    try_inputs(s, all);
    free(changed.data);
}

static void try_shapes(sweep *s, const onx_arg *in, size_t i) {
    const onx_arg *from = &in[i];
    int64_t dims[MOST_RANK];
    onx_arg made;
    s->what = "other shapes";
    for (size_t rank = 0; rank <= from->rank + 1 && rank < ONX_RANK_MAX; rank++) {
        for (size_t d = 0; d < rank; d++) dims[d] = d < from->rank ? from->dims[d] : 1;
        if (rank != from->rank && reshaped(from, rank, dims, &made)) try_changed(s, in, i, made);
        for (size_t d = 0; d < rank; d++) dims[d] = d ? from->dims[d - 1] : 1;
        if (rank == from->rank + 1 && reshaped(from, rank, dims, &made))
            try_changed(s, in, i, made);
    }
    static const int64_t other[] = {0, 1, 2, -1, -2, 17}; /* -1: one less, -2: one more */
    for (size_t d = 0; d < from->rank; d++)
        for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
            memcpy(dims, from->dims, from->rank * sizeof *dims);
            dims[d] = other[k] >= 0 ? other[k] : dims[d] + (other[k] == -1 ? -1 : 1);
            if (dims[d] >= 0 && dims[d] != from->dims[d] && reshaped(from, from->rank, dims, &made))
                try_changed(s, in, i, made);
        }
    for (size_t d = 0; d < ONX_RANK_MAX; d++) dims[d] = 1;
    if (reshaped(from, ONX_RANK_MAX, dims, &made)) try_changed(s, in, i, made);
    for (size_t d = 0; d < from->rank; d++) dims[d] = 0;
    if (from->rank && reshaped(from, from->rank, dims, &made)) try_changed(s, in, i, made);
}

static void try_numbers(sweep *s, const onx_arg *in, size_t i) {
    const onx_arg *from = &in[i];
    uint64_t count = count_of(from);
    onx_arg made;
    if (!count || count > 1 << 16) return;
    s->what = "other numbers";
    for (size_t k = 0; k < sizeof extremes / sizeof *extremes; k++) {
        if (!reshaped(from, from->rank, from->dims, &made)) return;
        for (uint64_t at = 0; at < count; at++) put_number(&made, at, extremes[k]);
        try_changed(s, in, i, made);
        if (!reshaped(from, from->rank, from->dims, &made)) return;
        put_number(&made, count - 1, extremes[k]);
        try_changed(s, in, i, made);
    }
    if (!reshaped(from, from->rank, from->dims, &made)) return;
    memset(made.data, 0xff, made.bytes);
    try_changed(s, in, i, made);
    if (!reshaped(from, from->rank, from->dims, &made)) return;
    memset(made.data, 0x80, made.bytes);
    try_changed(s, in, i, made);
}

/* Two inputs at once, at random. */
static void try_pairs(sweep *s, const onx_arg *in, test_random *r) {
    s->what = "two inputs";
    for (size_t n = 0; n < 40; n++) {
        onx_arg all[INS], made[2];
        bool there[2] = {false, false};
        memcpy(all, in, sizeof all);
        for (size_t k = 0; k < 2; k++) {
            size_t i = test_random_below(r, s->seed->n_in);
            int64_t dims[MOST_RANK];
            size_t rank = all[i].rank;
            if (!is_dense(&in[i]) || (k && there[0] && made[0].name == all[i].name)) continue;
            memcpy(dims, in[i].dims, rank * sizeof *dims);
            if (rank && test_random_below(r, 2))
                dims[test_random_below(r, rank)] = (int64_t)test_random_below(r, 4);
            if (rank && !test_random_below(r, 4)) rank--;
            if (!reshaped(&in[i], rank, dims, &made[k])) continue;
            there[k] = true;
            uint64_t count = count_of(&made[k]);
            if (count && test_random_below(r, 2))
                put_number(&made[k], test_random_below(r, (size_t)count),
                           extremes[test_random_below(r, sizeof extremes / sizeof *extremes)]);
            all[i] = made[k];
        }
        try_inputs(s, all);
        for (size_t k = 0; k < 2; k++)
            if (there[k]) free(made[k].data);
    }
}

/* ─ Attributes ───────────────────────────────────────────────────────────────────────────────── */

static onx_session *prepare(const onx_model *model, bool plain, answer *why) {
    onx_session_options options = ONX_INIT(onx_session_options);
    onx_diag diag = ONX_INIT(onx_diag);
    onx_session *session = NULL;
    options.memory_limit = (size_t)256 << 20;
    options.threads = 1;
    options.cpu = plain ? "ref" : NULL;
    options.level = plain ? ONX_LEVEL_NONE : ONX_LEVEL_ALL;
    memset(why, 0, sizeof *why);
    why->status = onx_session_new(model, &options, &session, &diag);
    (void)snprintf(why->message, sizeof why->message, "%.500s", diag.message);
    return session;
}

/* A changed model with the inputs of the seed. */
static void try_model(sweep *s, const onx_model *model) {
    answer a, b;
    sweep one = {.seed = s->seed, .what = s->what};
    one.fast = prepare(model, false, &a);
    one.plain = prepare(model, true, &b);
    if (one.fast && one.plain) {
        try_inputs(&one, s->seed->in);
    } else {
        one.refused = one.cases = 1;
        if (!is_clean(&a)) complain(s, "not clean", &a);
        if (!is_clean(&b)) complain(s, "the plain kernel is not clean", &b);
        /* What cannot be prepared by one may fail in the run of the other. */
        onx_session *left = one.fast ? one.fast : one.plain;
        if (left) run(left, s->seed->n_in, s->seed->in, &a);
        if (left && a.status == ONX_OK) complain(s, "only one of them answers", &b);
        if (left) answer_clear(&a);
    }
    onx_session_free(one.fast);
    onx_session_free(one.plain);
    s->cases += one.cases, s->right += one.right, s->refused += one.refused;
}

static const int64_t integers[] = {INT64_MIN, -2, -1, 0, 1, 2, 100, INT32_MAX, INT64_MAX};

static void try_ints(sweep *s, const char *name, size_t n, const int64_t *list) {
    int64_t changed[64];
    if (n > 63) return;
    for (size_t k = 0; k < sizeof integers / sizeof *integers; k++)
        for (size_t at = 0; at <= n; at++) { /* at n: one more */
            onx_model *model = NULL;
            if (n) memcpy(changed, list, n * sizeof *list);
            changed[at] = integers[k];
            if (onx_model_clone(s->seed->model, &model, NULL)) return;
            onx_node *node = onx_graph_node_first(onx_model_graph(model));
            if (!onx_node_set_ints(node, name, at < n ? n : n + 1, changed)) try_model(s, model);
            onx_model_free(model);
        }
}

static void try_attr(sweep *s, const onx_attr *attr) {
    static const char *const texts[] = {"", "zzz", "\xff", "a,b->c"};
    const char *name = onx_attr_name(attr);
    onx_attr_type type = onx_attr_type_of(attr);
    bool whole = type == ONX_ATTR_INT, real = type == ONX_ATTR_FLOAT,
         text = type == ONX_ATTR_STRING;
    size_t n = whole  ? sizeof integers / sizeof *integers
               : real ? sizeof extremes / sizeof *extremes
               : text ? sizeof texts / sizeof *texts
                      : 0;
    s->what = name;
    for (size_t k = 0; k < n; k++) {
        onx_model *model = NULL;
        if (onx_model_clone(s->seed->model, &model, NULL)) return;
        onx_node *node = onx_graph_node_first(onx_model_graph(model));
        onx_status status = whole  ? onx_node_set_int(node, name, integers[k])
                            : real ? onx_node_set_float(node, name, (float)extremes[k])
                                   : onx_node_set_string(node, name, texts[k]);
        if (!status) try_model(s, model);
        onx_model_free(model);
    }
    if (type == ONX_ATTR_INTS) {
        size_t count = onx_attr_count(attr);
        int64_t list[64];
        for (size_t i = 0; i < count && i < 64; i++) list[i] = onx_attr_ints(attr)[i];
        try_ints(s, name, count, list);
    }
}

/* ─ The walk ─────────────────────────────────────────────────────────────────────────────────── */

static bool same_bits(const answer *a, const answer *b) {
    bool same = a->status == b->status && a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = same_shape(&a->out[i], &b->out[i]) &&
               (a->out[i].value || !a->out[i].bytes ||
                !memcmp(a->out[i].data, b->out[i].data, a->out[i].bytes));
    return same;
}

static bool is_random(const char *op) {
    return strstr(op, "Random") || !strcmp(op, "Bernoulli") || !strcmp(op, "Multinomial");
}

static void sweep_seed(seed *one) {
    answer before, after, why;
    test_random r = {.state = 1};
    sweep s = {.seed = one, .what = "nothing"};
    const onx_node *node = onx_graph_node_first(onx_model_graph(one->model));
    seconds = strcmp(onx_node_op(node), "Loop") ? SECONDS : 0.05;
    s.fast = prepare(one->model, false, &why);
    if (!s.fast) complain(&s, "no session", &why);
    s.plain = prepare(one->model, true, &why);
    if (s.fast && s.plain) {
        run(s.fast, one->n_in, one->in, &before);
        for (size_t i = 0; i < one->n_in; i++) {
            if (!is_dense(&one->in[i])) continue;
            try_shapes(&s, one->in, i);
            try_numbers(&s, one->in, i);
        }
        if (one->n_in) try_pairs(&s, one->in, &r);
        run(s.fast, one->n_in, one->in, &after);
        s.what = "after all";
        if (!is_random(onx_node_op(node)) && !same_bits(&before, &after))
            complain(&s, "the session is not what it was", &after);
        answer_clear(&before);
        answer_clear(&after);
        for (const onx_attr *attr = onx_node_attr_first(node); attr; attr = onx_attr_next(attr))
            try_attr(&s, attr);
    }
    onx_session_free(s.fast);
    onx_session_free(s.plain);
    total += s.cases, total_right += s.right, total_refused += s.refused;
    n_seeds++;
}

/* A few seeds of each operator and number of inputs. */
typedef struct seen {
    char key[128];
    size_t n;
} seen;
static seen operators[1024];
static size_t n_operators;

static bool wanted(const seed *s) {
    const onx_node *node = onx_graph_node_first(onx_model_graph(s->model));
    char key[128];
    (void)snprintf(key, sizeof key, "%.60s::%.60s", onx_node_domain(node), onx_node_op(node));
    for (size_t i = 0; i < n_operators; i++)
        if (!strcmp(operators[i].key, key)) return operators[i].n++ < SEEDS;
    if (n_operators == sizeof operators / sizeof *operators) return false;
    memcpy(operators[n_operators].key, key, sizeof key);
    operators[n_operators++].n = 1;
    return true;
}

static int is_case(const struct dirent *entry) {
    return strncmp(entry->d_name, "test_", 5) == 0;
}

static void put_total(void) {
    printf("  %zu operators, %zu seeds: %zu cases, %zu computed, %zu refused\n", n_operators,
           n_seeds, total, total_right, total_refused);
}

TEST(every_kernel) {
    const char *data = getenv("ONX_DATA"), *only = getenv("ONX_SWEEP");
    char folder[1024];
    struct dirent **entries;
    if (!data) SKIP("ONX_DATA is not set");
    (void)snprintf(folder, sizeof folder, "%s/node", data);
    int n = scandir(folder, &entries, is_case, alphasort);
    REQUIRE(n > 0);
    for (int i = 0; i < n; i++) {
        seed s;
        (void)snprintf(folder, sizeof folder, "%s/node/%s", data, entries[i]->d_name);
        bool chosen = !only || strstr(entries[i]->d_name, only);
        if (chosen && seed_load(folder, &s)) {
            if (only || wanted(&s)) sweep_seed(&s);
        }
        if (chosen) seed_free(&s);
        free(entries[i]);
    }
    free(entries);
    put_total();
    CHECK(only || total >= 5000);
}

/* ─ Seeds of the table of types: every operator of every domain ──────────────────────────────── */

static bool seed_parse(const char *name, char *text, seed *out) {
    onx_diag diag = ONX_INIT(onx_diag);
    memset(out, 0, sizeof *out);
    (void)case_line(&text);
    if (strncmp(text, "ulps:", 5) == 0) (void)case_line(&text);
    (void)snprintf(out->name, sizeof out->name, "%s", name);
    if (!CHECK(case_parse(bounded(), text, &out->model, &diag) == ONX_OK)) return false;
    onx_graph *graph = onx_model_graph(out->model);
    if (onx_graph_node_count(graph) != 1 || onx_graph_input_count(graph) > INS) return false;
    for (; out->n_in < onx_graph_input_count(graph); out->n_in++) {
        const onx_value *value = onx_graph_input(graph, out->n_in);
        onx_data **data = &out->data[out->n_in];
        *data = type_case_data(graph, onx_value_type(value), onx_value_name(value));
        if (!*data) return false;
        if (onx_arg_from_data(*data, &out->in[out->n_in], NULL)) {
            onx_data_free(*data);
            return false;
        }
    }
    forget_shapes(graph);
    return true;
}

static void sweep_file(const char *name) {
    const char *only = getenv("ONX_SWEEP");
    char path[160];
    case_file file;
    size_t n = 0;
    if (only && !strstr(name, only)) return;
    (void)snprintf(path, sizeof path, "types/%s.txt", name);
    if (case_file_open(&file, path))
        for (char *text; n < SEEDS && (text = case_file_next(&file));) {
            seed s;
            if (seed_parse(name, text, &s)) {
                sweep_seed(&s);
                n++;
            }
            seed_free(&s);
        }
    case_file_close(&file);
    n_operators += n > 0;
}

TEST(every_operator) {
    n_operators = n_seeds = total = total_right = total_refused = 0;
    for (const onx_family *family = onx_op_table; family->name; family++)
        for (const onx_op *op = family->ops; op->name; op++) {
            const char *domain = op->domain ? op->domain : "";
            bool last = !op[1].name || strcmp(op[1].name, op->name);
            char name[128];
            if (!last || !strcmp(domain, "onx.internal")) continue;
            (void)snprintf(name, sizeof name, "%s%s",
                           strcmp(domain, "com.microsoft") ? "" : "com.microsoft.", op->name);
            sweep_file(name);
        }
    put_total();
    CHECK(getenv("ONX_SWEEP") || n_operators >= 220);
    onx_context_free(bounded());
}

TEST_MAIN(E(every_kernel) E(every_operator))
