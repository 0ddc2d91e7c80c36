/* test_session_stress.c: one session, many threads; and runs that are stopped inside of kernels.
 *
 * ONX_STRESS=N: so many runs of each thread (100); and nodes that take 10 s and more are stopped.
 */
#include "rt/session.h"
#include "support.h"
#include "test.h"

#include "base/thread.h"

#include <poll.h>
#include <stdlib.h>

#define HEADER "<ir_version: 10, opset_import: [\"\" : 18]>\n"

static onx_session *open_session(const char *text, const onx_session_options *options) {
    onx_model *model = NULL;
    onx_session *session = NULL;
    onx_diag diag = ONX_INIT(onx_diag);
    onx_load_options load = ONX_INIT(onx_load_options);
    load.format = ONX_FORMAT_TEXT;
    onx_status status = onx_model_load_memory(NULL, text, strlen(text), &load, &model, &diag);
    if (status == ONX_OK) status = onx_session_new(model, options, &session, &diag);
    if (status != ONX_OK) fprintf(stderr, "%s: %s\n", diag.place, diag.message);
    onx_model_free(model);
    return session;
}

/* ── Many threads ────────────────────────────────────────────────────────────────────────────── */

/* A convolution, a branch, a loop, a recurrence, strings, sequences, shapes known only in the
 * run. */
static const char medley[] = HEADER
    "g (float[N,3,8,8] x, bool c) => (float[N,4] y, string[K] s, float[L] q, int64[1,J] nz) {\n"
    "  shape = Constant<value_ints = [4, 3, 3, 3]>()\n"
    "  w = ConstantOfShape<value: tensor = float[1] {0.125}>(shape)\n"
    "  a = Conv<pads = [1, 1, 1, 1]>(x, w)\n  r = Relu(a)\n  p = GlobalAveragePool(r)\n"
    "  f = Flatten(p)\n"
    "  b = If (c) <then_branch = t () => (float[N,4] t0) { t1 = Neg(f)\n t0 = Exp(t1) },\n"
    "              else_branch = e () => (float[N,4] e0) { e0 = Identity(f) }>\n"
    "  n = Constant<value_int = 4>()\n  yes = Constant<value = bool {1}>()\n"
    "  y = Loop (n, yes, b) <body = l (int64 i, bool k, float[N,4] v) => (bool d, float[N,4] o)\n"
    "    { d = Identity(k)\n m = Mul(v, f)\n o = Add(m, f) }>\n"
    "  all = Constant<value_ints = [-1]>()\n  z = Reshape(y, all)\n"
    "  s = Cast<to = 8>(z)\n  back = Cast<to = 1>(s)\n"
    "  q0 = SequenceConstruct(z, back)\n  q1 = SequenceInsert(q0, z)\n"
    "  q = ConcatFromSequence<axis = 0>(q1)\n"
    "  zero = Constant<value_float = 0.0>()\n  up = Greater(z, zero)\n  nz = NonZero(up)\n}\n";

enum { OUTS = 5, THREADS = 16, BATCHES = 3 };

typedef struct inputs {
    float x[BATCHES * 3 * 8 * 8];
    bool c;
} inputs;

/* Every case has other shapes, and the other branch; some ask for a value by name. */
static onx_status run_case(onx_session *s, inputs *in, size_t which, onx_arg *out, size_t *n) {
    in->c = which % 2;
    int64_t batch = 1 + (int64_t)(which % BATCHES);
    for (size_t i = 0; i < sizeof in->x / sizeof *in->x; i++) in->x[i] = (float)(i * 7 % 19) - 6;
    onx_arg args[2] = {{.dtype = ONX_DTYPE_F32,
                        .rank = 4,
                        .dims = {batch, 3, 8, 8},
                        .data = in->x,
                        .bytes = (size_t)batch * 3 * 64 * 4},
                       {.dtype = ONX_DTYPE_BOOL, .data = &in->c, .bytes = 1}};
    *n = 4 + (which % 4 == 3);
    for (size_t i = 0; i < OUTS; i++) out[i] = (onx_arg){0};
    out[4].name = which % 8 == 3 ? "m" : "f";
    return onx_session_run(s, 2, args, *n, out, NULL, NULL);
}

static bool same_strings(const onx_data *a, const onx_data *b) {
    const onx_tensor *x = onx_data_tensor(a), *y = onx_data_tensor(b);
    uint64_t n = 0;
    if (onx_tensor_count(x, &n, NULL)) return false;
    for (uint64_t i = 0; i < n; i++) {
        onx_str p = {NULL, 0}, q = {NULL, 0};
        if (onx_tensor_string_at(x, i, &p, NULL) || onx_tensor_string_at(y, i, &q, NULL) ||
            !onx_str_eq(p, q))
            return false;
    }
    return true;
}

static bool same(const onx_arg *a, const onx_arg *b) {
    if (a->dtype != b->dtype || a->rank != b->rank || a->bytes != b->bytes) return false;
    if (memcmp(a->dims, b->dims, a->rank * sizeof *a->dims)) return false;
    if (a->value) return b->value && same_strings(a->value, b->value);
    return !a->bytes || memcmp(a->data, b->data, a->bytes) == 0;
}

enum { CASES = 24 };
static onx_arg wanted[CASES][OUTS];

typedef struct runner {
    onx_session *session;
    size_t first, rounds, bad;
} runner;

static void run_many(void *user) {
    runner *r = user;
    inputs in;
    for (size_t i = 0; i < r->rounds; i++) {
        onx_arg out[OUTS];
        size_t n, which = (r->first + i) % CASES;
        if (run_case(r->session, &in, which, out, &n)) r->bad++;
        for (size_t k = 0; k < n; k++) {
            if (!same(&out[k], &wanted[which][k])) r->bad++;
            onx_arg_clear(&out[k]);
        }
    }
}

TEST(many_threads) {
    const char *stress = getenv("ONX_STRESS");
    size_t rounds = stress ? (size_t)strtoul(stress, NULL, 10) : 100, n;
    onx_session_options options = ONX_INIT(onx_session_options);
    options.threads = 2;
    onx_session *alone = open_session(medley, &options), *s = open_session(medley, &options);
    REQUIRE(alone && s);
    inputs in;
    for (size_t i = 0; i < CASES; i++) CHECK_EQ(run_case(alone, &in, i, wanted[i], &n), ONX_OK);
    onx_thread threads[THREADS];
    runner runners[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        runners[i] = (runner){s, i, rounds, 0};
        REQUIRE(onx_thread_start(&threads[i], run_many, &runners[i]));
    }
    for (size_t i = 0; i < THREADS; i++) {
        onx_thread_join(&threads[i]);
        CHECK_EQ(runners[i].bad, 0);
    }
    for (size_t i = 0; i < CASES; i++)
        for (size_t k = 0; k < OUTS; k++) onx_arg_clear(&wanted[i][k]);
    onx_session_free(alone);
    onx_session_free(s);
}

/* ── Stopping ────────────────────────────────────────────────────────────────────────────────── */

/* What a run may take to end. Of a few tries the best counts: machines are noisy. */
#ifdef ONX_SANITIZED
enum { PROMPTLY = 1000000000 };
#else
enum { PROMPTLY = 100000000 };
#endif

typedef struct slow { /* a node that takes seconds; sizes of its inputs */
    const char *body;
    const char *type, *cpu;
    int64_t x[4], y[4];
    int opset;
} slow;

static const slow slows[] = {
    {"MatMul(x, y)", "float", NULL, {4096, 4096}, {4096, 4096}, 18},
    {"MatMul(x, y)", "float", "ref", {1024, 1024}, {1024, 1024}, 18},
    {"MatMul(x, y)", "double", NULL, {1024, 1024}, {1024, 1024}, 18},
    {"MatMul(x, y)", "int32", NULL, {1024, 1024}, {1024, 1024}, 18},
    {"MatMul(x, y)", "float16", NULL, {1024, 1024}, {1024, 1024}, 18},
    {"Gemm(x, y)", "double", NULL, {1024, 1024}, {1024, 1024}, 18},
    {"Conv<pads = [1, 1, 1, 1]>(x, y)", "float", NULL, {1, 256, 256, 256}, {256, 256, 3, 3}, 18},
    {"Conv<pads = [1, 1, 1, 1]>(x, y)", "float", "ref", {1, 64, 128, 128}, {64, 64, 3, 3}, 18},
    {"Conv<pads = [1, 1, 1, 1]>(x, y)", "double", NULL, {1, 64, 128, 128}, {64, 64, 3, 3}, 18},
    {"ConvTranspose(x, y)", "float", "ref", {1, 64, 128, 128}, {64, 64, 3, 3}, 18},
    {"Einsum<equation = \"ij,jk->ik\">(x, y)", "double", "ref", {1024, 1024}, {1024, 1024}, 18},
    {"Einsum<equation = \"ij,kj->ik\">(x, y)", "float", "ref", {1024, 1024}, {1024, 1024}, 18},
    {"Resize<mode = \"cubic\">(x, , , s)", "double", "ref", {1, 1, 64, 64}, {1}, 18},
};

static onx_session *open_slow(const slow *s) {
    char text[1000], x[80] = "", y[80] = "";
    onx_session_options options = ONX_INIT(onx_session_options);
    options.cpu = s->cpu;
    for (int i = 0; i < 4 && s->x[i]; i++)
        snprintf(x + strlen(x), sizeof x - strlen(x), "%s%lld", i ? "," : "", (long long)s->x[i]);
    for (int i = 0; i < 4 && s->y[i]; i++)
        snprintf(y + strlen(y), sizeof y - strlen(y), "%s%lld", i ? "," : "", (long long)s->y[i]);
    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : %d]>\n"
             "g (%s[%s] x, %s[%s] y) => (%s[] z) {\n"
             "  s = Constant<value_ints = [1, 1, 4096, 4096]>()\n"
             "  huge = Constant<value_int = 9223372036854775807>()\n"
             "  yes = Constant<value = bool {1}>()\n  z = %s\n}\n",
             s->opset, s->type, x, s->type, y, s->type, s->body);
    return open_session(text, &options);
}

static onx_arg zeros(const slow *s, const int64_t *dims) {
    onx_arg arg = {.dtype = onx_dtype_from_name(s->type)};
    uint64_t count = 1;
    for (; arg.rank < 4 && dims[arg.rank]; arg.rank++)
        count *= (uint64_t)(arg.dims[arg.rank] = dims[arg.rank]);
    (void)onx_dtype_bytes(arg.dtype, count, &arg.bytes);
    arg.data = calloc(1, arg.bytes);
    return arg;
}

TEST(stopping) {
    for (size_t i = 0; i < ONX_COUNT(slows); i++) {
        onx_session *s = open_slow(&slows[i]);
        onx_run_options limits = ONX_INIT(onx_run_options);
        onx_arg in[2] = {zeros(&slows[i], slows[i].x), zeros(&slows[i], slows[i].y)}, out = {0};
        int64_t best = INT64_MAX;
        limits.timeout = 0.002;
        for (int round = 0; round < 3 && s; round++) {
            int64_t start = onx_clock_ns();
            CHECK_EQ(onx_session_run(s, 2, in, 1, &out, &limits, NULL), ONX_CANCELLED);
            int64_t late = onx_clock_ns() - start - 2000000;
            if (late < best) best = late;
            onx_arg_clear(&out);
        }
        if (!CHECK(s && best < PROMPTLY))
            fprintf(stderr, "    %s %s %s: %lld ms late\n", slows[i].body, slows[i].type,
                    slows[i].cpu ? slows[i].cpu : "", (long long)best / 1000000);
        free(in[0].data);
        free(in[1].data);
        onx_session_free(s);
    }
}

/* ── Stopping what takes 10 s and more, by another thread ────────────────────────────────────── */

static const slow longs[] = {
    {"MatMul(x, y)", "float", NULL, {12288, 12288}, {12288, 12288}, 18},
    {"MatMul(x, y)", "double", "ref", {4096, 4096}, {4096, 4096}, 18},
    {"Conv<pads = [1, 1, 1, 1]>(x, y)", "float", NULL, {1, 512, 768, 768}, {768, 512, 3, 3}, 18},
    {"Conv<pads = [1, 1, 1, 1]>(x, y)", "float", "ref", {1, 128, 256, 256}, {256, 128, 3, 3}, 18},
    {"Loop (huge, yes, x) <body = b (int64 i, bool c, float[N,N] a) => (bool d, float[N,N] e)\n"
     "    { d = Identity(c)\n e = MatMul(a, y) }>",
     "float",
     NULL,
     {1024, 1024},
     {1024, 1024},
     18},
};

typedef struct stopper {
    onx_cancel *cancel;
    int64_t after, at;
} stopper;

static void stop(void *user) {
    stopper *s = user;
    int64_t start = onx_clock_ns();
    while (onx_clock_ns() - start < s->after) (void)poll(NULL, 0, 1);
    s->at = onx_clock_ns();
    onx_cancel_set(s->cancel, true);
}

/* Nanoseconds from the cancel to the end of the run. */
static int64_t stop_once(onx_session *s, onx_arg *in, int64_t after) {
    onx_run_options options = ONX_INIT(onx_run_options);
    onx_arg out = {0};
    stopper by = {.after = after};
    onx_thread thread;
    if (onx_cancel_new(NULL, &by.cancel)) return INT64_MAX;
    options.cancel = by.cancel;
    bool started = onx_thread_start(&thread, stop, &by);
    onx_status status = onx_session_run(s, 2, in, 1, &out, &options, NULL);
    int64_t end = onx_clock_ns();
    if (started) onx_thread_join(&thread);
    onx_arg_clear(&out);
    onx_cancel_free(by.cancel);
    return started && CHECK(status == ONX_CANCELLED) ? end - by.at : INT64_MAX;
}

TEST(stopping_long) {
    static const int64_t after[] = {500000000, 3000000000, 5000000000};
    bool slowed = PROMPTLY > 100000000; /* by a sanitizer, which also needs too much memory */
    if (slowed || !getenv("ONX_STRESS")) SKIP("ONX_STRESS is not set, or a sanitizer is there");
    for (size_t i = 0; i < ONX_COUNT(longs); i++) {
        onx_session *s = open_slow(&longs[i]);
        onx_arg in[2] = {zeros(&longs[i], longs[i].x), zeros(&longs[i], longs[i].y)};
        REQUIRE(s && in[0].data && in[1].data);
        int64_t best = INT64_MAX;
        for (size_t k = 0; k < ONX_COUNT(after); k++) {
            int64_t late = stop_once(s, in, after[k]);
            if (late < best) best = late;
            fprintf(stderr, "  %.4s %s, stopped after %.1f s: it ends %.1f ms later\n",
                    longs[i].body, longs[i].cpu ? longs[i].cpu : "", (double)after[k] / 1e9,
                    (double)late / 1e6);
        }
        CHECK(best < PROMPTLY);
        free(in[0].data);
        free(in[1].data);
        onx_session_free(s);
    }
}

TEST_MAIN(E(many_threads) E(stopping) E(stopping_long))
