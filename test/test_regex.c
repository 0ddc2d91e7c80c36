/* test_regex.c: regular expressions: syntax, messages, bytes that are no text, time and memory; and
 * the tables of Unicode behind them. */
#include "test.h"

#include "base/regex.h"
#include "base/unicode.h"

#include <stdlib.h>
#include <time.h>

typedef struct engine {
    onx_arena arena;
    const onx_regex *regex;
    void *memory;
    onx_matcher *matcher;
    onx_diag diag;
} engine;

static bool begin(engine *e, const char *pattern, size_t size) {
    *e = (engine){.diag = ONX_INIT(onx_diag)};
    onx_arena_init(&e->arena, onx_context_or_default(NULL));
    if (onx_regex_compile(&e->arena, (onx_str){pattern, size}, &e->regex, &e->diag)) return false;
    e->memory = malloc(onx_matcher_bytes(e->regex));
    e->matcher = onx_matcher_init(e->regex, e->memory);
    return true;
}

static void end(engine *e) {
    free(e->memory);
    onx_arena_fini(&e->arena);
}

static bool matches(engine *e, const char *text, size_t size) {
    onx_matcher_begin(e->matcher);
    (void)onx_matcher_feed(e->matcher, text, size);
    return onx_matcher_end(e->matcher);
}

/* Texts between bars: all of `yes` match, none of `no` does; NULL: no texts. */
static bool check_all(engine *e, const char *pattern, const char *texts, bool want) {
    bool good = true;
    for (const char *t = texts;; t++) {
        size_t n = strcspn(t, "|");
        if (matches(e, t, n) != want) {
            fprintf(stderr, "    %s on '%.*s': %d\n", pattern, (int)n, t, !want);
            good = false;
        }
        t += n;
        if (!*t) return good;
    }
}

TEST(syntax) {
    static const struct {
        const char *pattern, *yes, *no;
    } cases[] = {
        {"", "", "a"},
        {"abc", "abc", "ab|abcd||ABC"},
        {"a|b|", "a|b|", "ab|c"},
        {"a*b+c?", "b|aabbc|bc", "a|ac|abcc"},
        {"(ab)*", "|ab|abab", "a|aba"},
        {"(a|b*)*c", "c|abbac", "abba"},
        {"((a*)*)*", "|aaaa", "b"},
        {"a{2}", "aa", "a|aaa"},
        {"a{2,}", "aa|aaaaa", "a"},
        {"a{1,3}", "a|aaa", "|aaaa"},
        {"(ab){0,2}c", "c|abc|ababc", "abababc"},
        {"x{0}y", "y", "xy"},
        {"a{,2}", "a{,2}", "a|aa"},
        {"a{01}", "a{01}", "a"},
        {"a{", "a{", "a"},
        {"a+?b??c*?", "a|aab|abcc", "b"},
        {".", "a|\xc3\xa9|\xf0\x9f\x98\x80", "|ab|\n"},
        {"(?s).", "\n|a", ""},
        {"(?s:.)(?-s:.)", "\na", "a\n"},
        {"(?i)stra\xc3\x9f"
         "e",
         "STRA\xe1\xba\x9e"
         "E|stra\xc3\x9f"
         "e",
         "STRASSE"},
        {"(?i)k", "k|K|\xe2\x84\xaa", "\xc5\xbf"},
        {"(?i)[^k]", "a", "k|K|\xe2\x84\xaa"},
        {"a(?i)b(?-i)c", "abc|aBc", "Abc|abC"},
        {"(?i:a)b", "Ab|ab", "AB"},
        {"((?i)a)b", "Ab", "AB"},
        {"a(?i)|b", "a|b|B", "A"},
        {"(?U)a*", "|aaa", "b"},
        {"[abc-]", "a|-", "d|ab"},
        {"[]a]", "]|a", "b"},
        {"[^]a]", "b|\n|\xc3\xa9", "]|a"},
        {"[a-\\x63\\d\\pL[:punct:]]", "b|7|\xc3\xa9|!", " |\xe2\x82\xac"},
        {"[^\\d\\s]", "a", "1| "},
        {"[[:^alpha:]]", "1|\xc3\xa9", "a"},
        {"[\\D\\d]", "a|1|\n", "\xff"},
        {"[^\\D\\d]", NULL, "a|1"},
        {"\\d\\D\\s\\S\\w\\W", "1a b_-",
         "1a b__|\xd9\xa1"
         "a b_-"},
        {"\\pL\\PL\\p{Lu}\\p{Greek}\\p{^Greek}\\P{^Nd}",
         "a1A\xce\xb1"
         "a1",
         "11A\xce\xb1"
         "a1"},
        {"\\p{Any}\\pN", "a\xc2\xb2", "aa"},
        {"\\x41\\x{1F600}\\101\\0\\n\\.", NULL, "A"},
        {"\\x41\\x{1f600}\\101\\.",
         "A\xf0\x9f\x98\x80"
         "A.",
         "A"},
        {"\\Qa.b*\\E+", "a.b*|a.b***", "aab*"},
        {"\\Qab", "ab", "a"},
        {"^a$", "a", "a\n"},
        {"\\Aa\\z", "a", "ba"},
        {"(?m)^a$\n^b$", "a\nb", "ab"},
        {"a^b", NULL, "ab|a^b"},
        {"\\ba+\\b", "aaa", ""},
        {"a\\b b\\B\\w", "a bc", "a b "},
        {"\\B", "", "a"},
        {"\\C", "a", "\xc3\xa9"},
        {"\\C\\C", "\xc3\xa9", "a"},
        {"(?P<name>a)(?<other>b)(?:c)", "abc", "ab"},
        {"\xc3\xa9+", "\xc3\xa9\xc3\xa9", "\xc3\xa9\xa9"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        engine e;
        if (CHECK(begin(&e, cases[i].pattern, strlen(cases[i].pattern)))) {
            if (cases[i].yes) CHECK(check_all(&e, cases[i].pattern, cases[i].yes, true));
            if (cases[i].no) CHECK(check_all(&e, cases[i].pattern, cases[i].no, false));
        } else
            fprintf(stderr, "    %s: %s\n", cases[i].pattern, e.diag.message);
        end(&e);
    }
}

TEST(messages) {
    static const char *const cases[][2] = {
        {"(a", "missing ): (a"},
        {"a)", "unexpected ): a)"},
        {"[a", "missing ]: [a"},
        {"[a-", "missing ]: [a-"},
        {"[z-a]", "invalid character class range: z-a"},
        {"[[:foo:]]", "invalid character class range: [:foo:]"},
        {"\\p{Foo}", "invalid character class range: \\p{Foo}"},
        {"\\p{Lu", "invalid character class range: \\p{Lu"},
        {"\\pX", "invalid character class range: \\pX"},
        {"*", "no argument for repetition operator: *"},
        {"a|*", "no argument for repetition operator: *"},
        {"(+)", "no argument for repetition operator: +"},
        {"a**", "bad repetition operator: **"},
        {"a{2}{3}", "bad repetition operator: {2}{3}"},
        {"a{1001}", "invalid repetition size: {1001}"},
        {"a{2,1}", "invalid repetition size: {2,1}"},
        {"(a{100}){11}", "invalid repetition size: {11}"},
        {"(?=a)", "invalid perl operator: (?="},
        {"(?<!a)", "invalid perl operator: (?<!"},
        {"(?x)", "invalid perl operator: (?x"},
        {"(?i-)", "invalid perl operator: (?i-)"},
        {"(?P<a b>c)", "invalid named capture group: (?P<a b>"},
        {"\\8", "invalid escape sequence: \\8"},
        {"\\1", "invalid escape sequence: \\1"},
        {"\\Z", "invalid escape sequence: \\Z"},
        {"\\x{110000}", "invalid escape sequence: \\x{110000"},
        {"\\", "trailing \\"},
        {"a\xff", "invalid UTF-8"},
        {"((\\pL{30}){30}){1000}", "invalid repetition size: {1000}"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        engine e;
        CHECK(!begin(&e, cases[i][0], strlen(cases[i][0])) && e.diag.status == ONX_INVALID);
        CHECK_STR(e.diag.message, cases[i][1]);
        end(&e);
    }
}

/* Bytes that are no UTF-8: only \C has them; but what is nearly UTF-8 is a character to a class
 * that has all of them, as in RE2. */
TEST(bytes) {
    static const struct {
        const char *pattern, *text;
        size_t size;
        bool want;
    } cases[] = {
        {".", "\xff", 1, false},
        {"\\C", "\xff", 1, true},
        {".", "\xc3", 1, false},
        {".", "\xed\xa0\x80", 3, true},
        {"[^a]", "\xed\xa0\x80", 3, true},
        {"[\\x{80}-\\x{ffff}]", "\xe0\x80\x80", 3, false},
        {".", "\xf4\x90\x80\x80", 4, true},
        {"\\pL", "\xe0\x81\xa1", 3, false},
        {".", "\xc0\x80", 2, false},
        {"a\\x00b", "a\0b", 3, true},
        {"a.b", "a\0b", 3, true},
        {"\\C\\b.", "a\xc3\xa9", 3, true},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        engine e;
        REQUIRE(begin(&e, cases[i].pattern, strlen(cases[i].pattern)));
        if (!CHECK(matches(&e, cases[i].text, cases[i].size) == cases[i].want))
            fprintf(stderr, "    %s\n", cases[i].pattern);
        end(&e);
    }
    engine e;
    REQUIRE(begin(&e, "a\0b", 3)); /* in a pattern, too */
    CHECK(matches(&e, "a\0b", 3));
    end(&e);
}

/* Patterns that others take exponential time for; more states than there is memory for. */
TEST(linear) {
    static const struct {
        const char *pattern;
        bool want;
    } cases[] = {
        {"(a*)*b", false},
        {"(a|aa)+", true},
        {"(a?){100}a{100,}", true},
        {"(?:a|b)*a(?:a|b){14}", true},
        {"(.*)(.*)(.*)(.*)(.*)x", false},
        {"((((a{10}){10}){10})|a)*", true},
    };
    enum { SIZE = 1 << 18 };
    char *text = malloc(SIZE);
    REQUIRE(text);
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        engine e;
        uint64_t random = 1;
        bool mixed = strstr(cases[i].pattern, "a|b") != NULL;
        for (size_t k = 0; k < SIZE; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[k] = mixed && random >> 63 ? 'b' : 'a';
        }
        text[SIZE - 15] = 'a';
        clock_t start = clock();
        REQUIRE(begin(&e, cases[i].pattern, strlen(cases[i].pattern)));
        CHECK(matches(&e, text, SIZE) == cases[i].want);
        CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 30);
        end(&e);
    }
    free(text);
}

/* Depth and size that a stack, or memory, would not survive. */
TEST(large_patterns) {
    enum { N = 9000 };
    static char pattern[4 * N + 2];
    engine e;
    for (size_t i = 0; i < N; i++) pattern[i] = '(', pattern[N + 1 + i] = ')';
    pattern[N] = 'a';
    REQUIRE(begin(&e, pattern, 2 * N + 1));
    CHECK(matches(&e, "a", 1) && !matches(&e, "aa", 2));
    end(&e);
    for (size_t i = 0; i < N; i++) memcpy(pattern + N + 1 + 2 * i, ")*", 2);
    REQUIRE(begin(&e, pattern, 3 * N + 1));
    CHECK(matches(&e, "aaaa", 4) && !matches(&e, "b", 1));
    end(&e);
    memset(pattern, '(', sizeof pattern);
    CHECK(!begin(&e, pattern, sizeof pattern));
    end(&e);
    REQUIRE(begin(&e, "\\pL{1000}", 9));
    end(&e);
    enum { MANY = 600000 };
    char *many = malloc(MANY);
    REQUIRE(many);
    memset(many, 'a', MANY);
    CHECK(!begin(&e, many, MANY) && strstr(e.diag.message, "pattern too large"));
    end(&e);
    for (size_t i = 0; i < MANY; i += 5) memcpy(many + i, "[[:x]", 5); /* names without an end */
    clock_t start = clock();
    REQUIRE(begin(&e, many, MANY));
    CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 3);
    end(&e);
    free(many);
}

TEST(unicode) {
    onx_unicode_group group;
    uint32_t lo, hi, n = 0, next = 0;
    CHECK_EQ(onx_unicode_lower(0xc4), 0xe4);
    CHECK_EQ(onx_unicode_upper(0xe4), 0xc4);
    CHECK_EQ(onx_unicode_lower(0x130), 'i');
    CHECK_EQ(onx_unicode_upper(0xdf), 0xdf);
    CHECK_EQ(onx_unicode_upper(0x1f80), 0x1f88);
    CHECK_EQ(onx_unicode_lower(0x10400), 0x10428);
    CHECK_EQ(onx_unicode_fold('K'), 'k');
    CHECK_EQ(onx_unicode_fold('k'), 0x212a);
    CHECK_EQ(onx_unicode_fold(0x212a), 'K');
    CHECK_EQ(onx_unicode_fold('1'), '1');
    for (uint32_t c = 0; onx_unicode_cased(c, &c); c++, n++) {
        uint32_t other = onx_unicode_fold(c);
        for (int i = 0; i < 4 && other != c; i++) other = onx_unicode_fold(other);
        CHECK_EQ(other, c); /* a circle */
    }
    CHECK(n > 2700 && n < 3100);
    REQUIRE(onx_unicode_find(onx_str_of("Greek"), &group));
    for (size_t at = 0; onx_unicode_next(&group, &at, &lo, &hi); next = hi + 1)
        CHECK(lo <= hi && lo >= next);
    CHECK(!onx_unicode_find(onx_str_of("Gree"), &group));
    CHECK(!onx_unicode_find(onx_str_of(""), &group));
    CHECK(onx_unicode_is_space(0x3000) && onx_unicode_is_space('\t') && !onx_unicode_is_space('a'));
}

TEST_MAIN(E(syntax) E(messages) E(bytes) E(linear) E(large_patterns) E(unicode))
