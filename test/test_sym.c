/* test_sym.c: symbolic expressions: normal form, text, values. */
#include "test.h"

#include "ir/sym.h"

static onx_syms *syms;

static const onx_sym *parse(const char *z) {
    return onx_sym_parse(syms, onx_str_of(z));
}

static bool prints(const onx_sym *sym, const char *expected) {
    onx_buf buf;
    onx_buf_init(&buf, onx_context_or_default(NULL));
    onx_sym_print(sym, &buf);
    onx_buf_putc(&buf, '\0');
    bool same = !buf.failed && strcmp(buf.data, expected) == 0;
    if (!same) fprintf(stderr, "    printed \"%s\", expected \"%s\"\n", buf.data, expected);
    onx_buf_fini(&buf);
    return same;
}

/* Pairs that mean the same. */
TEST(equal) {
    static const char *const pairs[][2] = {
        {"a + b", "b + a"},
        {"a + a", "2*a"},
        {"a - a", "0"},
        {"(a + b) * (a + b)", "a**2 + 2*a*b + b**2"},
        {"(a + b)**2 - a**2", "2*a*b + b**2"},
        {"-a**2 + 3*a*a*a*b", "3*a**3*b - a**2"},
        {"a**0 + 2**3 + a**1", "a + 9"},
        {"(a + 1) * (a - 1)", "a**2 - 1"},
        {"2*h/2", "h"},
        {"(4*a + 6) // 2", "2*a + 3"},
        {"(4*a + 7) // 2", "2*a + 3"},
        {"(2*a + b) // 2", "a + b//2"},
        {"floor(h/2 - 1/2) + 1", "floor((h - 1)/2) + 1"},
        {"ceiling(a/2)", "ceil(a / 2)"},
        {"a*b // b", "a"},
        {"a // a", "1"},
        {"7 // 2", "3"},
        {"-7 // 2", "-4"},
        {"ceil(7/2)", "4"},
        {"ceil(-7/2)", "-3"},
        {"7 % 4", "3"},
        {"a % 1", "0"},
        {"min(a, b)", "Min(b, a)"},
        {"max(a, a + 1)", "a + 1"},
        {"min(a, a + 3)", "a"},
        {"max(3, 5, 4)", "5"},
        {"max(a, 0)", "a"},
        {"-(-a)", "a"},
        {"- a * -1", "a"},
        {"a*(b+c) - a*b", "a*c"},
        {"(seq + past) - past", "seq"},
        {"floor(floor(a/2)/2)", "floor(a/4)"},
        {"ceil(ceil(a/2)/2)", "ceil(a/4)"},
        {"ceil(a/2)", "floor((a + 1)/2)"},
        {"ceil(a/2)", "-floor(-a/2)"},
        {"floor((a - 1)/2) + 1", "ceil(a/2)"},
        {"floor((6*a + 4)/4)", "a + floor((a + 2)/2)"},
        {"floor((3*a)/3)", "a"},
        {"floor((2*a)/(2*b))", "floor(a/b)"},
        {"floor((a*b)/(a*c))", "floor(b/c)"},
        {"(a*c + b*c) // (a + b)", "c"},
        {"(a*a - b*b) // (a + b)", "a - b"},
        {"12*64*a // (12*64)", "a"},
        {"floor((5*a)/3)", "a + floor((2*a)/3)"},
        {"min(a + 2, 5)", "min(a, 3) + 2"},
        {"max(0, a - 1) + 1", "max(a, 1)"},
        {"min(a, min(b, c))", "min(min(c, a), b)"},
        {"min(a + b, a + c)", "a + min(b, c)"},
        {"max(a, a//2)", "a"},
        {"max(a - a//2, 0)", "a - a//2"},
        {"min(min(a, 5), 7)", "min(a, 5)"},
        {"max(min(a, 5), 0)", "min(a, 5)"},
        {"min(a, max(a, b))", "a"},
        {"max(a*b - min(a*b, c), 0)", "a*b - min(a*b, c)"},
        {"min(a, 1) // 2", "0"},
        {"(a % 4) // 4", "floor((a - 4*floor(a/4))/4)"},
        {"broadcast(a, 1)", "a"},
        {"broadcast(a, b)", "broadcast(b, a)"},
        {"broadcast(broadcast(a, b), c)", "broadcast(a, broadcast(c, b))"},
        {"broadcast(a, 7)", "7"},
        {"broadcast(min(a, 512), a)", "a"},
        {"broadcast(a, a*b)", "a*b"},
        {"broadcast(a, broadcast(a, b))", "broadcast(b, a)"},
    };
    for (size_t i = 0; i < ONX_COUNT(pairs); i++) {
        bool same = parse(pairs[i][0]) && parse(pairs[i][0]) == parse(pairs[i][1]);
        if (!CHECK(same)) fprintf(stderr, "    %s and %s\n", pairs[i][0], pairs[i][1]);
    }
    CHECK(parse("a + b") != parse("a + c"));
    CHECK(parse("a // 2") != parse("ceil(a/2)"));
}

TEST(text) {
    CHECK(prints(parse("1 + 2*N*H"), "2*N*H + 1"));
    CHECK(prints(parse("-x + 3"), "-x + 3"));
    CHECK(prints(parse("floor((x+1)/(2*y))"), "floor((x + 1)/(2*y))"));
    CHECK(prints(parse("x//2"), "floor(x/2)"));
    CHECK(prints(parse("0*x"), "0"));
    static const char *const round[] = {"a",
                                        "a + 1",
                                        "floor(a/3) + b",
                                        "max(a, b)*2 - c",
                                        "ceil((a - 1)/(b + 1))",
                                        "min(floor(a/2), b*b)",
                                        "-3",
                                        "a*a*a"};
    for (size_t i = 0; i < ONX_COUNT(round); i++) {
        onx_buf buf;
        onx_buf_init(&buf, onx_context_or_default(NULL));
        onx_sym_print(parse(round[i]), &buf);
        CHECK(parse(round[i]) == onx_sym_parse(syms, (onx_str){buf.data, buf.size}));
        onx_buf_fini(&buf);
    }
}

/* What is not an expression is a name, whole. */
TEST(names) {
    static const char *const odd[] = {"batch size",
                                      "unk__12",
                                      "",
                                      "a +",
                                      "(a",
                                      "a)",
                                      "f(x)",
                                      "1x",
                                      "a//0",
                                      "a b",
                                      "floor(a",
                                      "min()",
                                      "min(a,)",
                                      ",",
                                      "N?",
                                      "a..b",
                                      "9223372036854775808",
                                      "a/2",
                                      "((((((((a",
                                      "--",
                                      "floor(a, b)",
                                      "(a, b)"};
    for (size_t i = 0; i < ONX_COUNT(odd); i++)
        if (!CHECK(parse(odd[i]) == onx_sym_name(syms, onx_str_of(odd[i]))))
            fprintf(stderr, "    %s\n", odd[i]);
    char deep[4096];
    memset(deep, '(', sizeof deep);
    CHECK(onx_sym_parse(syms, (onx_str){deep, sizeof deep}) != NULL);
}

static bool lookup(void *user, onx_str name, int64_t *value) {
    const int64_t *values = user;
    if (name.size != 1 || name.data[0] < 'a' || name.data[0] > 'd') return false;
    *value = values[name.data[0] - 'a'];
    return true;
}

TEST(values) {
    int64_t v[] = {7, 2, 100, INT64_MAX}, out;
    CHECK(onx_sym_eval(parse("a*b + c"), lookup, v, &out) && out == 114);
    CHECK(onx_sym_eval(parse("a // b"), lookup, v, &out) && out == 3);
    CHECK(onx_sym_eval(parse("ceil(a / b)"), lookup, v, &out) && out == 4);
    CHECK(onx_sym_eval(parse("max(a, b) - min(a, b)"), lookup, v, &out) && out == 5);
    CHECK(onx_sym_eval(parse("a % b"), lookup, v, &out) && out == 1);
    CHECK(!onx_sym_eval(parse("d + 1"), lookup, v, &out));
    CHECK(!onx_sym_eval(parse("d * b"), lookup, v, &out));
    CHECK(!onx_sym_eval(parse("e"), lookup, v, &out));
    v[1] = 0;
    CHECK(!onx_sym_eval(parse("c // (b + b*a)"), lookup, v, &out));
}

/* Every rewrite keeps the value: random expressions against direct evaluation. */
static uint64_t state = 1;
static uint32_t next(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

typedef struct both {
    const onx_sym *sym;
    bool known;
    int64_t value;
} both;

static both combine(both x, both y, uint32_t op) {
    both r = {NULL, x.known && y.known, 0};
    int64_t a = x.value, b = y.value;
    switch (op) {
    case 0:
        r.sym = onx_sym_add(syms, x.sym, y.sym);
        r.known = r.known && onx_add_i64(a, b, &r.value);
        break;
    case 1:
        r.sym = onx_sym_sub(syms, x.sym, y.sym);
        r.known = r.known && onx_sub_i64(a, b, &r.value);
        break;
    case 2:
        r.sym = onx_sym_mul(syms, x.sym, y.sym);
        r.known = r.known && onx_mul_i64(a, b, &r.value);
        break;
    case 3:
        r.sym = onx_sym_min(syms, x.sym, y.sym);
        r.value = a < b ? a : b;
        break;
    case 4:
        r.sym = onx_sym_max(syms, x.sym, y.sym);
        r.value = a > b ? a : b;
        break;
    case 7:
        r.sym = onx_sym_broadcast(syms, x.sym, y.sym);
        r.known = r.known && (a == b || a == 1 || b == 1);
        r.value = a == 1 ? b : a;
        break;
    default: {
        bool up = op == 6;
        r.sym = up ? onx_sym_ceildiv(syms, x.sym, y.sym) : onx_sym_floordiv(syms, x.sym, y.sym);
        r.known = r.known && b != 0;
        if (!r.known) break;
        int64_t q = a / b;
        while (up ? q * b != a && (b > 0 ? q * b < a : q * b > a) : (b > 0 ? q * b > a : q * b < a))
            q += up ? 1 : -1;
        r.value = q;
        break;
    }
    }
    return r;
}

/* What is printed reads back as the same. */
static bool reads_back(const onx_sym *sym) {
    onx_buf buf;
    onx_buf_init(&buf, onx_context_or_default(NULL));
    onx_sym_print(sym, &buf);
    bool same = onx_sym_parse(syms, (onx_str){buf.data, buf.size}) == sym;
    if (!same) fprintf(stderr, "    %.*s\n", (int)buf.size, buf.data);
    onx_buf_fini(&buf);
    return same;
}

TEST(random_values) {
    size_t compared = 0, proved = 0;
    for (int round = 0; round < 20000; round++) {
        int64_t v[4] = {next(9), 1 + next(9), next(50), 1 + next(5)};
        both pool[10];
        for (uint32_t i = 0; i < 4; i++)
            pool[i] = (both){onx_sym_name(syms, (onx_str){&"abcd"[i], 1}), true, v[i]};
        for (uint32_t i = 4; i < 10; i++) {
            int64_t k = (int64_t)next(9) - 4;
            pool[i] = next(3) ? combine(pool[next(i)], pool[next(i)], next(8))
                              : (both){onx_sym_int(syms, k), true, k};
        }
        for (uint32_t i = 4; i < 10; i++) {
            int64_t out;
            if (!pool[i].known || !pool[i].sym || !onx_sym_eval(pool[i].sym, lookup, v, &out))
                continue;
            compared++;
            if (!CHECK(out == pool[i].value) || !CHECK(reads_back(pool[i].sym))) return;
            both other = pool[next(i)];
            if (!other.known || !onx_sym_at_least(syms, pool[i].sym, other.sym)) continue;
            proved++;
            if (!CHECK(pool[i].value >= other.value)) return;
        }
    }
    CHECK(compared > 60000);
    CHECK(proved > 5000);
}

/* Bounds: growth ends in "not known", and quickly. */
TEST(bounds) {
    const onx_sym *x = parse("a + b + c + d");
    for (int i = 0; i < 10000 && x; i++) x = onx_sym_mul(syms, x, x);
    CHECK(!x);
    x = parse("a");
    for (int i = 0; i < 100 && x; i++)
        x = onx_sym_floordiv(syms, onx_sym_add(syms, x, parse("1")), parse("b"));
    CHECK(!x);
    x = parse("a");
    for (int i = 0; i < 62; i++) x = onx_sym_add(syms, x, x);
    CHECK(x != NULL);
    CHECK(!onx_sym_add(syms, x, x));
    CHECK(!onx_sym_add(syms, NULL, parse("a")));
    CHECK(!onx_sym_floordiv(syms, parse("a"), onx_sym_int(syms, 0)));
}

/* A ratio of ratios is one ratio; with a minimum of ratios in it, it is no fraction. */
TEST(ratios) {
    const onx_sym *half = onx_sym_real(syms, 0.5), *num, *den;
    const onx_sym *r = onx_sym_ratio(syms, half, parse("2*a"));
    CHECK(r == onx_sym_ratio(syms, parse("1"), parse("4*a")));
    CHECK(onx_sym_fraction(syms, r, &num, &den) && num == parse("1") && den == parse("4*a"));
    CHECK(onx_sym_ratio(syms, parse("a"), r) == parse("4*a**2"));
    const onx_sym *least = onx_sym_min(syms, r, onx_sym_ratio(syms, half, parse("b")));
    CHECK(least && !onx_sym_is_whole(least));
    CHECK(!onx_sym_fraction(syms, onx_sym_ratio(syms, least, parse("c")), &num, &den));
}

static int run_all(int argc, char **argv);

int main(int argc, char **argv) {
    syms = onx_syms_new(NULL);
    int result = run_all(argc, argv);
    onx_syms_free(syms);
    return result || onx_context_memory_used(NULL);
}

static int run_all(int argc, char **argv) {
    static const test_case cases[] = {E(equal) E(text) E(names) E(values) E(random_values) E(bounds)
                                          E(ratios){NULL, NULL}};
    return test_main(cases, argc, argv);
}
