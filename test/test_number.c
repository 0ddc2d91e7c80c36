/* test_number.c: numbers as text (base/number.h) and base64. */
#include "test.h"

#include "base/base64.h"
#include "base/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>

static uint64_t state = 88172645463325252u;
static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

TEST(integers) {
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"+7", true, 7},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"--1", false, 0},
        {"1 ", false, 0},
        {" 1", false, 0},
        {"0x1", false, 0},
        {"1.0", false, 0},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        int64_t v = 0;
        CHECK(onx_parse_i64(onx_str_of(cases[i].text), &v) == cases[i].ok);
        CHECK_EQ(v, cases[i].value);
    }
    uint64_t u = 0;
    CHECK(onx_parse_u64(ONX_LIT("18446744073709551615"), &u) && u == UINT64_MAX);
    CHECK(!onx_parse_u64(ONX_LIT("18446744073709551616"), &u));
    CHECK(!onx_parse_u64(ONX_LIT("-1"), &u));
    CHECK(onx_parse_digits(ONX_LIT("fF"), 16, &u) && u == 255);
    CHECK(onx_parse_digits(ONX_LIT("17"), 8, &u) && u == 15);
    CHECK(!onx_parse_digits(ONX_LIT("18"), 8, &u));
    char out[ONX_NUMBER_MAX];
    CHECK_EQ(onx_print_i64(INT64_MIN, out), 20);
    CHECK_STR(out, "-9223372036854775808");
    CHECK_EQ(onx_print_u64(UINT64_MAX, out), 20);
    CHECK_STR(out, "18446744073709551615");
    CHECK_EQ(onx_print_u64(0, out), 1);
    CHECK_STR(out, "0");
}

TEST(float_syntax) {
    static const char *const good[] = {
        "0",       "1",   ".5",  "2.",  "1e5",  "1E+5",     "1.5e-3", "-1",
        "+1",      "nan", "NaN", "inf", "-INF", "Infinity", "-0",     "1e99999999999999999999",
        "nan(0x1)"};
    static const char *const bad[] = {"",         ".",      "-",        "e5",
                                      "1e",       "1e+",    "1.2.3",    "1 ",
                                      " 1",       "0x1p3",  "1f",       "na",
                                      "nan(0x0)", "nan(0x", "inf1",     "1,5",
                                      "--1",      "nan()",  "nan(0xg)", "nan(0x10000000000000)"};
    double d;
    float f;
    for (size_t i = 0; i < ONX_COUNT(good); i++) {
        CHECK(onx_parse_f64(onx_str_of(good[i]), &d));
        CHECK(onx_parse_f32(onx_str_of(good[i]), &f));
    }
    for (size_t i = 0; i < ONX_COUNT(bad); i++) {
        if (!CHECK(!onx_parse_f64(onx_str_of(bad[i]), &d))) fprintf(stderr, "    %s\n", bad[i]);
        if (!CHECK(!onx_parse_f32(onx_str_of(bad[i]), &f))) fprintf(stderr, "    %s\n", bad[i]);
    }
}

/* Text, the float it means, and how it is printed. */
TEST(floats) {
    static const struct {
        const char *text;
        float value;
        const char *printed;
    } cases[] = {
        {"0", 0, "0.0"},
        {"-0.0", -0.0f, "-0.0"},
        {"1", 1, "1.0"},
        {"0.1", 0.1f, "0.1"},
        {"0.00001", 1e-5f, "1e-05"},
        {"0.0001", 1e-4f, "0.0001"},
        {"16777216", 16777216, "16777216.0"},
        {"16777217", 16777216, "16777216.0"}, /* a tie goes to even */
        {"16777217.0000001", 16777218, "16777218.0"},
        {"1e-45", FLT_TRUE_MIN, "1e-45"},
        {"7.0064923216240853e-46", 0, "0.0"},
        {"7.0064923216240854e-46", FLT_TRUE_MIN, "1e-45"},
        {"3.4028235e38", FLT_MAX, "3.4028235e+38"},
        {"3.4028235677973366e38", FLT_MAX, "3.4028235e+38"},
        {"3.4028235677973367e38", INFINITY, "inf"},
        {"1e400", INFINITY, "inf"},
        {"-1e400", -INFINITY, "-inf"},
        {"1e-400", 0, "0.0"},
        {"123456789", 123456792, "123456790.0"},
        {"1e16", 1e16f, "1e+16"},
        {"1.8320374", 0x1.d500680000000p+0f, "1.8320374"}, /* 1.832037449 in more digits */
        {"1.2621775e-29", 0x1p-96f, "1.2621775e-29"},
        {"0.000000000000000000000000000000000000000000000000001e51", 1, "1.0"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        float v = 42;
        char out[ONX_NUMBER_MAX];
        CHECK(onx_parse_f32(onx_str_of(cases[i].text), &v));
        CHECK_EQ(onx_load_u32(&v), onx_load_u32(&cases[i].value));
        CHECK_EQ(onx_print_f32(v, out), strlen(cases[i].printed));
        CHECK_STR(out, cases[i].printed);
    }
}

TEST(doubles) {
    static const struct {
        const char *text;
        double value;
        const char *printed;
    } cases[] = {
        {"0.1", 0.1, "0.1"},
        {"0.30000000000000004", 0.1 + 0.2, "0.30000000000000004"},
        {"5e-324", DBL_TRUE_MIN, "5e-324"},
        {"2.2250738585072014e-308", DBL_MIN, "2.2250738585072014e-308"},
        {"1.7976931348623157e308", DBL_MAX, "1.7976931348623157e+308"},
        {"9007199254740993", 9007199254740992, "9007199254740992.0"},
        {"1e23", 1e23, "1e+23"},
        {"1e22", 1e22, "1e+22"},
        {"123456789012345.67", 123456789012345.67, "123456789012345.67"},
        {"8.558346457164768", 8.558346457164768, "8.558346457164768"},
        {"7.120236347223045e-307", 0x1p-1017, "7.120236347223045e-307"},
    };
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        double v = 42;
        char out[ONX_NUMBER_MAX];
        CHECK(onx_parse_f64(onx_str_of(cases[i].text), &v));
        CHECK(v == cases[i].value);
        CHECK_EQ(onx_print_f64(v, out), strlen(cases[i].printed));
        CHECK_STR(out, cases[i].printed);
    }
}

/* More digits than any double has: only what follows them decides between two neighbours. */
TEST(many_digits) {
    static char text[200000];
    double v;
    /* halfway between 1 and the next double, then zeros, then maybe a one */
    int n = snprintf(text, sizeof text, "1.00000000000000011102230246251565404236316680908203125");
    memset(text + n, '0', sizeof text - (size_t)n);
    CHECK(onx_parse_f64((onx_str){text, sizeof text}, &v) && v == 1);
    text[sizeof text - 1] = '1';
    CHECK(onx_parse_f64((onx_str){text, sizeof text}, &v) && v == 1 + DBL_EPSILON);
    memset(text, '9', sizeof text);
    CHECK(onx_parse_f64((onx_str){text, sizeof text}, &v) && isinf(v));
    memset(text, '0', sizeof text);
    text[1] = '.';
    CHECK(onx_parse_f64((onx_str){text, sizeof text}, &v) && v == 0);
}

TEST(round_trips) {
    char out[ONX_NUMBER_MAX];
    for (size_t i = 0; i < 300000; i++) {
        uint64_t bits = next_random();
        float f, g = 0;
        double d, e = 0;
        memcpy(&f, &bits, sizeof f);
        memcpy(&d, &bits, sizeof d);
        size_t n = onx_print_f32(f, out);
        bool ok = n < ONX_NUMBER_MAX && out[n] == '\0' && onx_parse_f32((onx_str){out, n}, &g) &&
                  memcmp(&f, &g, sizeof f) == 0 && (isnan(f) || strtof(out, NULL) == f);
        if (!CHECK(ok)) fprintf(stderr, "    %s\n", out);
        n = onx_print_f64(d, out);
        ok = n < ONX_NUMBER_MAX && out[n] == '\0' && onx_parse_f64((onx_str){out, n}, &e) &&
             memcmp(&d, &e, sizeof d) == 0 && (isnan(d) || strtod(out, NULL) == d);
        if (!CHECK(ok)) fprintf(stderr, "    %s\n", out);
    }
}

/* Around the midpoint of two floats, where rounding to double first would go wrong. */
TEST(midpoints) {
    for (size_t i = 0; i < 100000; i++) {
        uint32_t bits = (uint32_t)(next_random() % 0x7f000000);
        float low, v = 0;
        memcpy(&low, &bits, sizeof low);
        double middle = ((double)low + (double)nextafterf(low, INFINITY)) / 2;
        char text[300];
        int n = snprintf(text, sizeof text, "%.*e", i % 2 ? 200 : (int)(i % 30), middle);
        if (i % 4 == 1) strchr(text, 'e')[-1] = '1';
        CHECK(onx_parse_f32((onx_str){text, (size_t)n}, &v) && v == strtof(text, NULL));
    }
}

TEST(nan_bits) {
    static const struct {
        uint32_t bits;
        const char *text;
    } cases[] = {{0x7fc00000, "nan"},
                 {0xffc00000, "-nan"},
                 {0x7f800001, "nan(0x1)"},
                 {0xffffffff, "-nan(0x7fffff)"}};
    for (size_t i = 0; i < ONX_COUNT(cases); i++) {
        float v, w;
        char out[ONX_NUMBER_MAX];
        memcpy(&v, &cases[i].bits, sizeof v);
        onx_print_f32(v, out);
        CHECK_STR(out, cases[i].text);
        CHECK(onx_parse_f32(onx_str_of(out), &w) && onx_load_u32(&w) == cases[i].bits);
    }
}

/* Not every machine has a locale with a decimal comma; where there is one, it must not matter. */
TEST(locales) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *found = NULL;
    for (size_t i = 0; !found && i < ONX_COUNT(names); i++) found = setlocale(LC_ALL, names[i]);
    if (!found) SKIP("no locale with a decimal comma is installed");
    char out[ONX_NUMBER_MAX];
    float f = 0;
    onx_print_f32(1.5f, out);
    CHECK_STR(out, "1.5");
    CHECK(onx_parse_f32(ONX_LIT("0.1234567890123456789"), &f) && f == 0.1234567890123456789f);
    CHECK(!onx_parse_f32(ONX_LIT("1,5"), &f));
    setlocale(LC_ALL, "C");
}

TEST(base64) {
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"},
                                           {"\xfb\xff\xbf", "+/+/"}};
    char out[64];
    size_t bad;
    for (size_t i = 0; i < ONX_COUNT(pairs); i++) {
        onx_str plain = onx_str_of(pairs[i][0]), text = onx_str_of(pairs[i][1]);
        CHECK_EQ(onx_base64_size(plain.size), text.size);
        onx_base64_encode(plain.data, plain.size, out);
        CHECK(onx_str_eq((onx_str){out, text.size}, text));
        onx_str bare = {text.data, strcspn(text.data, "=")}; /* the padding may be left out */
        CHECK_EQ(onx_base64_decoded_size(text), plain.size);
        CHECK_EQ(onx_base64_decoded_size(bare), plain.size);
        CHECK(onx_base64_decode(text, out, &bad) && onx_str_eq((onx_str){out, plain.size}, plain));
        CHECK(onx_base64_decode(bare, out, &bad) && onx_str_eq((onx_str){out, plain.size}, plain));
    }
    CHECK(onx_base64_decode(ONX_LIT("-_-_"), out, &bad) && !memcmp(out, "\xfb\xff\xbf", 3));
    static const struct {
        const char *text;
        size_t bad;
    } faults[] = {{"A", 0},        {"AAAAA", 4}, {"A*AA", 1},  {"AA A", 2},
                  {"AAA=AAAA", 3}, {"=AAA", 0},  {"A===", 1},  {"AB==", 1},
                  {"AAB=", 2},     {"AA=", 2},   {"AAA\n", 3}, {"====", 0}};
    for (size_t i = 0; i < ONX_COUNT(faults); i++) {
        bad = 99;
        if (!CHECK(!onx_base64_decode(onx_str_of(faults[i].text), out, &bad) &&
                   bad == faults[i].bad))
            fprintf(stderr, "    %s: %zu\n", faults[i].text, bad);
    }
}

TEST_MAIN(E(integers) E(float_syntax) E(floats) E(doubles) E(many_digits) E(round_trips)
              E(midpoints) E(nan_bits) E(locales) E(base64))
