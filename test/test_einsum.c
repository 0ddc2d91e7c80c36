/* test_einsum.c: Einsum: equations of every form against sums over all indices, in every type;
 * equations that are wrong; the order of products. */
#include "test.h"

#include "kernel.h"
#include "support.h"

#include <math.h>

enum { TERMS = 5, LETTERS = 128, ELEMS = 1 << 12 };

/* ─ Sums over all indices ────────────────────────────────────────────────────────────────────── */

/* An equation without "...", whose letters have sizes; a capital X is a dimension of size 1 where
 * another operand has a full one. */
typedef struct example {
    const char *equation; /* as the node has it */
    const char *terms[TERMS + 1], *out;
    const char *dims[TERMS];
} example;

static const example examples[] = {
    {"ij->ji", {"ij"}, "ji", {"3,4"}},
    {"ij", {"ij"}, "ij", {"3,4"}},
    {"ba", {"ba"}, "ab", {"3,4"}},
    {"ii", {"ii"}, "", {"4,4"}},
    {"ii->i", {"ii"}, "i", {"4,4"}},
    {"iij->ji", {"iij"}, "ji", {"3,3,2"}},
    {"iii->", {"iii"}, "", {"3,3,3"}},
    {"ij->", {"ij"}, "", {"3,4"}},
    {" i j , j k -> i k ", {"ij", "jk"}, "ik", {"2,3", "3,4"}},
    {"ij,jk", {"ij", "jk"}, "ik", {"2,3", "3,4"}},
    {"Zb,ba", {"Zb", "ba"}, "Za", {"2,3", "3,4"}},
    {"bij,bjk->bik", {"bij", "bjk"}, "bik", {"2,3,4", "2,4,2"}},
    {"bij,bkj->kbi", {"bij", "bkj"}, "kbi", {"2,3,4", "2,2,4"}},
    {"i,j->ji", {"i", "j"}, "ji", {"3", "4"}},
    {"i,i", {"i", "i"}, "", {"5", "5"}},
    {"i,i->i", {"i", "i"}, "i", {"5", "5"}},
    {",i->i", {"", "i"}, "i", {"", "3"}},
    {",", {"", ""}, "", {"", ""}},
    {"", {""}, "", {""}},
    {"->", {""}, "", {""}},
    {"ij,jk,kl->il", {"ij", "jk", "kl"}, "il", {"2,3", "3,4", "4,2"}},
    {"ij,jk,kl,lm,mi->", {"ij", "jk", "kl", "lm", "mi"}, "", {"2,3", "3,4", "4,2", "2,3", "3,2"}},
    {"ab,cd,ef->fdb", {"ab", "cd", "ef"}, "fdb", {"2,3", "3,2", "2,2"}},
    {"abc,abd,abe->acde", {"abc", "abd", "abe"}, "acde", {"2,3,2", "2,3,2", "2,3,3"}},
    {"ij,kj,ij->ik", {"ij", "kj", "ij"}, "ik", {"2,3", "4,3", "2,3"}},
    {"iij,jk->ik", {"iij", "jk"}, "ik", {"3,3,2", "2,4"}},
    /* sizes of 1 are as good as any */
    {"ij,jk->ik", {"ij", "jk"}, "ik", {"2,1", "3,4"}},
    {"ij,ij->ij", {"ij", "ij"}, "ij", {"2,3", "1,3"}},
    {"ii->i", {"ii"}, "i", {"1,3"}},
    /* without elements: sums of nothing are 0 */
    {"ij,jk->ik", {"ij", "jk"}, "ik", {"2,0", "0,4"}},
    {"ij,jk->ik", {"ij", "jk"}, "ik", {"0,3", "3,4"}},
    {"ij->j", {"ij"}, "j", {"0,3"}},
    /* "...": its dimensions are letters here */
    {"...ij,...jk", {"pqij", "pqjk"}, "pqik", {"2,1,2,3", "1,2,3,2"}},
    {"i...,...->...i", {"ip", "p"}, "pi", {"2,3", "3"}},
    {"...->...", {"pq"}, "pq", {"2,3"}},
    {"...", {""}, "", {""}},
    {"i...->i", {"ipq"}, "i", {"2,3,2"}},
    {"b...i, ...i -> ...b", {"bpi", "pi"}, "pb", {"2,3,2", "3,2"}},
    {"... i i -> ... i", {"pii"}, "pi", {"2,3,3"}},
};

/* Sizes of letters, and where each stands. */
typedef struct space {
    const example *e;
    size_t n; /* letters */
    char letter[16];
    int64_t size[LETTERS], at[LETTERS];
} space;

static void measure(space *s, const onx_operand *in) {
    for (size_t t = 0; s->e->terms[t]; t++)
        for (size_t d = 0; s->e->terms[t][d]; d++) {
            char c = s->e->terms[t][d];
            if (!memchr(s->letter, c, s->n)) {
                s->letter[s->n++] = c;
                s->size[(size_t)c] = 1;
            }
            if (in[t].dims[d] != 1) s->size[(size_t)c] = in[t].dims[d];
        }
}

static double pick(const space *s, size_t t, const onx_operand *in, const double *x) {
    int64_t at = 0;
    for (size_t d = 0; d < in->rank; d++)
        at = at * in->dims[d] + (in->dims[d] == 1 ? 0 : s->at[(size_t)s->e->terms[t][d]]);
    return x[at];
}

/* All indices, the last letter fastest; false: that was the last. */
static bool step(space *s) {
    for (size_t i = s->n; i-- > 0;) {
        if (++s->at[(size_t)s->letter[i]] < s->size[(size_t)s->letter[i]]) return true;
        s->at[(size_t)s->letter[i]] = 0;
    }
    return false;
}

static void expect(space *s, const onx_operand *in, double x[TERMS][ELEMS], double *y) {
    for (size_t i = 0; i < s->n; i++)
        if (s->size[(size_t)s->letter[i]] == 0) return;
    do {
        double product = 1;
        int64_t at = 0;
        for (size_t t = 0; s->e->terms[t]; t++) product *= pick(s, t, &in[t], x[t]);
        for (const char *c = s->e->out; *c; c++) at = at * s->size[(size_t)*c] + s->at[(size_t)*c];
        y[at] += product;
    } while (step(s));
}

static const onx_dtype dtypes[] = {ONX_DTYPE_F32, ONX_DTYPE_F64, ONX_DTYPE_F16, ONX_DTYPE_BF16,
                                   ONX_DTYPE_I8,  ONX_DTYPE_I16, ONX_DTYPE_I32, ONX_DTYPE_I64,
                                   ONX_DTYPE_U8,  ONX_DTYPE_U16, ONX_DTYPE_U32, ONX_DTYPE_U64};

/* Elements are 0, 1 and 2, so that few results are not exact. */
static bool matches(const example *e, onx_dtype dtype) {
    static double x[TERMS][ELEMS], want[ELEMS], got[ELEMS];
    static char memory[TERMS][ELEMS * 8 + 1];
    onx_operand in[TERMS], *all[TERMS];
    size_t n = 0, names = 0;
    char node[256], args[64] = "";
    for (; e->terms[n]; n++) {
        in[n] = kernel_operand(dtype, e->dims[n], memory[n] + 1); /* not aligned */
        all[n] = &in[n];
        for (int64_t i = 0; i < in[n].count; i++) x[n][i] = (double)((i * 7 + (int64_t)n) % 3);
        (void)onx_dtype_convert(ONX_DTYPE_F64, x[n], dtype, memory[n] + 1, (uint64_t)in[n].count,
                                false);
        names += (size_t)snprintf(args + names, sizeof args - names, "%sx%zu", n ? ", " : "", n);
    }
    space s = {.e = e};
    memset(want, 0, sizeof want);
    measure(&s, in);
    expect(&s, in, x, want);
    (void)snprintf(node, sizeof node, "y = Einsum<equation = \"%s\">(%s)", e->equation, args);
    kernel_result r = kernel_run("ref", 28, node, n, all, 0);
    bool good = r.status == ONX_OK && r.out[0].rank == strlen(e->out);
    for (size_t d = 0; good && e->out[d]; d++) good = r.out[0].dims[d] == s.size[(size_t)e->out[d]];
    uint64_t count = good ? (uint64_t)r.out[0].count : 0;
    if (good) (void)onx_dtype_convert(dtype, r.out[0].data, ONX_DTYPE_F64, got, count, false);
    good = good && (!count || memcmp(got, want, count * sizeof *got) == 0);
    if (!good) fprintf(stderr, "    %s of %s: %s\n", node, onx_dtype_name(dtype), r.diag.message);
    kernel_free(&r);
    return good;
}

TEST(all_indices) {
    for (size_t i = 0; i < ONX_COUNT(examples); i++)
        for (size_t t = 0; t < ONX_COUNT(dtypes); t++) CHECK(matches(&examples[i], dtypes[t]));
}

TEST(integers_wrap) {
    int8_t a[] = {100, 100}, b[] = {2, 3};
    onx_operand x = kernel_operand(ONX_DTYPE_I8, "2", a), y = kernel_operand(ONX_DTYPE_I8, "2", b);
    kernel_result r = kernel_run("ref", 12, "z = Einsum<equation = \"i,i\">(x, y)", 2,
                                 (onx_operand *[]){&x, &y}, 0);
    REQUIRE(r.status == ONX_OK);
    CHECK(*(int8_t *)r.out[0].data == (int8_t)(500 - 512));
    kernel_free(&r);
}

/* Each of them over all indices at once would take hours. */
TEST(order) {
    static const char *const equations[] = {"ij,jk,kl,lm->im", "ij,kl,jk,lm->", "ab,cd,ab,cd->"};
    static float data[200 * 200];
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "200,200", data);
    for (size_t i = 0; i < 200 * 200; i++) data[i] = i % 201 == 0; /* the unit matrix */
    for (size_t i = 0; i < ONX_COUNT(equations); i++) {
        char node[128];
        (void)snprintf(node, sizeof node, "y = Einsum<equation = \"%s\">(a, b, c, d)",
                       equations[i]);
        kernel_result r = kernel_run("ref", 12, node, 4, (onx_operand *[]){&x, &x, &x, &x}, 0);
        REQUIRE(r.status == ONX_OK);
        CHECK(((const float *)r.out[0].data)[0] == (i == 0 ? 1 : i == 1 ? 200 : 40000));
        kernel_free(&r);
    }
}

/* ─ Refused ──────────────────────────────────────────────────────────────────────────────────── */

TEST(refused) {
    static const struct {
        const char *equation, *dims[2];
        onx_status status;
        const char *words;
    } cases[] = {
        {"ij->ij", {"2"}, ONX_INVALID, "dimensions"},
        {"ij->ij", {"2,3,4"}, ONX_INVALID, "dimensions"},
        {"i...->i", {""}, ONX_INVALID, "dimensions"},
        {"ij->ik", {"2,3"}, ONX_INVALID, "no operand"},
        {"ij->ii", {"2,3"}, ONX_INVALID, "twice"},
        {"ij->i->j", {"2,3"}, ONX_INVALID, "goes on"},
        {"ij->i,j", {"2,3"}, ONX_INVALID, "goes on"},
        {"i......->i", {"2,3"}, ONX_INVALID, "twice"},
        {"ij->...i...", {"2,3"}, ONX_INVALID, "twice"},
        {"i.j", {"2,3"}, ONX_INVALID, "character"},
        {"i..j", {"2,3"}, ONX_INVALID, "character"},
        {"i-j", {"2,3"}, ONX_INVALID, "character"},
        {"i1", {"2,3"}, ONX_INVALID, "character"},
        {"i\\u00e9", {"2,3"}, ONX_INVALID, ""},
        {"i[", {"2,3"}, ONX_INVALID, "character"},
        {"ij,jk", {"2,3"}, ONX_INVALID, "more"},
        {"ij", {"2,3", "3,2"}, ONX_INVALID, "fewer"},
        {"ii", {"2,3"}, ONX_INVALID, "where 2"},
        {"ij,jk", {"2,3", "4,2"}, ONX_INVALID, "where 3"},
        {"ij,jk", {"2,0", "4,2"}, ONX_INVALID, "where 0"},
        {"...i,...i", {"2,3", "2,2,3"}, ONX_INVALID, "..."},
        {"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", {"2"}, ONX_INVALID, "52"},
        /* the output has 2^62 elements, or more dimensions than there can be */
        {"ab,cd->abcd", {"1048576,1048576", "1048576,1048576"}, ONX_LIMIT, "large"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        static float nothing[16];
        char node[256];
        onx_operand in[2], *all[2];
        size_t n = 0;
        for (; n < 2 && cases[i].dims[n]; n++) {
            in[n] = kernel_operand(ONX_DTYPE_F32, cases[i].dims[n], nothing);
            all[n] = &in[n];
        }
        (void)snprintf(node, sizeof node, "y = Einsum<equation = \"%s\">(a%s)", cases[i].equation,
                       n > 1 ? ", b" : "");
        kernel_result r = kernel_run("ref", 12, node, n, all, 0);
        if (!CHECK(r.status == cases[i].status && strstr(r.diag.message, cases[i].words)))
            fprintf(stderr, "    %s: %s\n", cases[i].equation, r.diag.message);
        kernel_free(&r);
    }
}

/* More dimensions on the way than a tensor can have. */
TEST(many_letters) {
    static float ones[256];
    onx_operand x = kernel_operand(ONX_DTYPE_F32, "2,2,2,2,2,2,2,2", ones);
    for (size_t i = 0; i < ONX_COUNT(ones); i++) ones[i] = 1;
    kernel_result r =
        kernel_run("ref", 12, "y = Einsum<equation = \"abcdefgh,ijklmnop,qrstuvwx->\">(a, b, c)", 3,
                   (onx_operand *[]){&x, &x, &x}, 0);
    REQUIRE(r.status == ONX_OK);
    CHECK(*(float *)r.out[0].data == 256.0f * 256 * 256);
    kernel_free(&r);
    r = kernel_run("ref", 12, "y = Einsum<equation = \"abcdefgh,ijklmnop,qrstuvwx\">(a, b, c)", 3,
                   (onx_operand *[]){&x, &x, &x}, 0);
    CHECK(r.status == ONX_UNSUPPORTED && strstr(r.diag.message, "24 dimensions"));
    kernel_free(&r);
}

TEST(backend) {
    size_t failed = 0, ran = kernel_backend("einsum_", "", &failed);
    if (!ran) SKIP("ONX_DATA is not set");
    CHECK(ran >= 9);
    CHECK_EQ(failed, 0);
}

TEST_MAIN(E(all_indices) E(integers_wrap) E(order) E(refused) E(many_letters) E(backend))
