/* test.h: a test program is a list of TEST functions and a main made by TEST_MAIN.
 *
 *     TEST(adds) { CHECK(1 + 1 == 2); CHECK_EQ(add(1, 1), 2); }
 *     TEST_MAIN(E(adds))
 *
 * CHECK counts and goes on; REQUIRE also leaves the test. The program ends with "N passed, N
 * failed" and, if a case was left out with SKIP("why"), ", N skipped". Run it with names as
 * arguments to run only those tests. */
#ifndef ONX_TEST_H
#define ONX_TEST_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t test_checks, test_failures, test_skips;
static const char *test_current = "";

static inline bool test_check(bool ok, const char *text, const char *file, int line) {
    test_checks++;
    if (!ok) {
        test_failures++;
        fprintf(stderr, "%s:%d: [%s] failed: %s\n", file, line, test_current, text);
    }
    return ok;
}
static inline void test_skip(const char *why) {
    test_skips++;
    fprintf(stderr, "[%s] skipped: %s\n", test_current, why);
}

#define TEST(name) static void test_##name(void)
#define CHECK(cond) test_check((cond), #cond, __FILE__, __LINE__)
#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (!CHECK(cond)) return;                                                                  \
    } while (0)
#define CHECK_EQ(a, b)                                                                             \
    do {                                                                                           \
        int64_t test_a = (int64_t)(a), test_b = (int64_t)(b);                                      \
        if (!test_check(test_a == test_b, #a " == " #b, __FILE__, __LINE__))                       \
            fprintf(stderr, "    %" PRId64 " != %" PRId64 "\n", test_a, test_b);                   \
    } while (0)
#define CHECK_STR(a, b)                                                                            \
    do {                                                                                           \
        const char *test_a = (a), *test_b = (b);                                                   \
        if (!test_check(test_a && test_b && strcmp(test_a, test_b) == 0, #a " == " #b, __FILE__,   \
                        __LINE__))                                                                 \
            fprintf(stderr, "    \"%s\" != \"%s\"\n", test_a ? test_a : "NULL",                    \
                    test_b ? test_b : "NULL");                                                     \
    } while (0)
#define SKIP(why)                                                                                  \
    do {                                                                                           \
        test_skip(why);                                                                            \
        return;                                                                                    \
    } while (0)

typedef struct test_case {
    const char *name;
    void (*run)(void);
} test_case;

static inline int test_main(const test_case *cases, int argc, char **argv) {
    size_t passed = 0, failed = 0;
    for (const test_case *c = cases; c->name; c++) {
        bool wanted = argc < 2;
        for (int i = 1; i < argc; i++) wanted = wanted || strcmp(argv[i], c->name) == 0;
        if (!wanted) continue;
        size_t before = test_failures, skipped = test_skips;
        test_current = c->name;
        c->run();
        if (test_failures > before)
            failed++;
        else if (test_skips == skipped)
            passed++;
    }
    printf("%zu passed, %zu failed", passed, failed);
    if (test_skips) printf(", %zu skipped", test_skips);
    printf("\n");
    return failed ? 1 : 0;
}

/* TEST_MAIN(E(first) E(second)) */
#define E(name) {#name, test_##name},
#define TEST_MAIN(entries)                                                                         \
    int main(int argc, char **argv) {                                                              \
        static const test_case cases[] = {entries{NULL, NULL}};                                    \
        return test_main(cases, argc, argv);                                                       \
    }

#endif
