/* test_strings.c: StringNormalizer, StringSplit, TfIdfVectorizer, RegexFullMatch: what they mean,
 * and what they refuse. */
#include "test.h"

#include "kernel_text.h"

#define X1 "string[5] x = {\"Monday\", \"tuesday\", \"\", \"MONDAY\", \"\xc3\x84pfel\"}"
#define NORM(attrs) "y = StringNormalizer<" attrs ">(x)"

TEST(normalizer) {
    static const kernel_line lines[] = {
        {10, X1, NORM("locale=\"\""), "[5] Monday|tuesday||MONDAY|\xc3\x84pfel"},
        {10, X1, NORM("case_change_action=\"LOWER\""), "[5] monday|tuesday||monday|\xc3\xa4pfel"},
        {10, X1, NORM("case_change_action=\"UPPER\""), "[5] MONDAY|TUESDAY||MONDAY|\xc3\x84PFEL"},
        {10, X1, NORM("stopwords=[\"monday\"]"), "[3] tuesday||\xc3\x84pfel"},
        {10, X1, NORM("stopwords=[\"monday\"], is_case_sensitive=1"),
         "[5] Monday|tuesday||MONDAY|\xc3\x84pfel"},
        {10, X1,
         NORM("stopwords=[\"Monday\", \"\"], is_case_sensitive=1, "
              "case_change_action=\"LOWER\""),
         "[3] tuesday|monday|\xc3\xa4pfel"},
        {10, X1, NORM("stopwords=[\"\xc3\xa4PFEL\"], case_change_action=\"UPPER\""),
         "[4] MONDAY|TUESDAY||MONDAY"},
        {10, "string[1,2] x = {\"a\", \"A\"}", NORM("stopwords=[\"a\"]"), "[1,1] "},
        {10, "string[2] x = {\"a\", \"A\"}", NORM("stopwords=[\"a\"]"), "[1] "},
        {10, "string[0] x = {}", NORM("stopwords=[\"a\"]"), "[1] "},
        /* one to one: no second letter; not UTF-8: as it is */
        {10,
         "string[2] x = {\"stra\xc3\x9f"
         "e\", \"\xce\xa3\xc4\xb0\"}",
         NORM("case_change_action=\"UPPER\""),
         "[2] STRA\xc3\x9f"
         "E|\xce\xa3\xc4\xb0"},
        {10, "string[1] x = {\"\xce\xa3\xc4\xb0\"}", NORM("case_change_action=\"LOWER\""),
         "[1] \xcf\x83i"},
        {10, "string[1] x = {\"a\"}", NORM("case_change_action=\"lower\""), "!it must be LOWER"},
        {10, "string[2,1] x = {\"a\", \"b\"}", NORM("locale=\"C\""), "![C] or [1,C]"},
        {10, "string x = {\"a\"}", NORM("locale=\"C\""), "![C] or [1,C]"},
    };
    CHECK_EQ(kernel_lines_fail(lines, ONX_COUNT(lines)), 0);
}

#define SPLIT(attrs) "y, n = StringSplit<" attrs ">(x)"

TEST(split) {
    static const kernel_line lines[] = {
        {20, "string[2] x = {\"a.b\", \"c\"}", SPLIT("delimiter=\".\""), "[2,2] a|b|c|; [2] 2 1"},
        {20, "string[2] x = {\"..\", \"\"}", SPLIT("delimiter=\".\""), "[2,3] |||||; [2] 3 1"},
        {20, "string[2] x = {\" a\t b\n\", \"  \"}", "y, n = StringSplit(x)",
         "[2,2] a|b||; [2] 2 0"},
        {20,
         "string[1] x = {\"a\xe3\x80\x80"
         "b\xc2\xa0"
         "c\"}",
         SPLIT("delimiter=\"\""), "[1,3] a|b|c; [1] 3"},
        {20, "string[1] x = {\" a  b  c \"}", SPLIT("maxsplit=1"), "[1,2] a|b  c ; [1] 2"},
        {20, "string[1] x = {\" a b \"}", SPLIT("maxsplit=0"), "[1,1] a b ; [1] 1"},
        {20, "string[1] x = {\"a-b-c\"}", SPLIT("delimiter=\"-\", maxsplit=1"),
         "[1,2] a|b-c; [1] 2"},
        {20, "string[1] x = {\"a-b\"}", SPLIT("delimiter=\"-\", maxsplit=-7"), "[1,2] a|b; [1] 2"},
        {20, "string[1] x = {\"aabaab\"}", SPLIT("delimiter=\"aab\""), "[1,3] ||; [1] 3"},
        {20, "string[1] x = {\"aaab\"}", SPLIT("delimiter=\"aab\""), "[1,2] a|; [1] 2"},
        {20, "string[1] x = {\"xabababc\"}", SPLIT("delimiter=\"ababc\""), "[1,2] xab|; [1] 2"},
        {20, "string x = {\"a b\"}", "y, n = StringSplit(x)", "[2] a|b; [] 2"},
        {20, "string[2,0] x = {}", "y, n = StringSplit(x)", "[2,0,0]; [2,0]"},
        {20, "string[1] x = {\"a\"}", "y = StringSplit(x)", "[1,1] a"},
    };
    CHECK_EQ(kernel_lines_fail(lines, ONX_COUNT(lines)), 0);
}

#define POOL "ngram_counts=[0,4], ngram_indexes=[0,1,2,3,4,5,6], pool_int64s=[2,3,5,4, 5,6,7,8,6,7]"
#define TFIDF(mode, least, most, skips, rest)                                                      \
    "y = TfIdfVectorizer<mode=\"" mode "\", min_gram_length=" least ", max_gram_length=" most      \
    ", max_skip_count=" skips ", " rest ">(x)"
#define ROW12 "int32[12] x = {1,1,3,3,3,7,8,6,7,5,6,8}"

TEST(tf_idf) {
    static const kernel_line lines[] = {
        {9, ROW12, TFIDF("TF", "2", "2", "0", POOL), "[7] 0 0 0 0 1 1 1"},
        {9, ROW12, TFIDF("TF", "2", "2", "5", POOL), "[7] 0 0 0 0 1 3 1"},
        {9, ROW12, TFIDF("TF", "1", "2", "5", POOL), "[7] 0 3 1 0 1 3 1"},
        {9, ROW12, TFIDF("TF", "1", "2", "9223372036854775807", POOL), "[7] 0 3 1 0 1 3 1"},
        {9, ROW12, TFIDF("TF", "1", "1", "5", POOL), "[7] 0 3 1 0 0 0 0"},
        {9, ROW12, TFIDF("IDF", "1", "2", "5", POOL), "[7] 0 1 1 0 1 1 1"},
        {9, ROW12, TFIDF("TFIDF", "1", "2", "5", POOL ", weights=[1.0,2.0,3.0,4.0,5.0,6.0,7.0]"),
         "[7] 0 6 3 0 5 18 7"},
        {9, ROW12, TFIDF("IDF", "1", "2", "5", POOL ", weights=[1.0,2.0,3.0,4.0,5.0,6.0,7.0]"),
         "[7] 0 2 3 0 5 6 7"},
        {9, "int64[2,3] x = {2,3,5, 4,5,6}", TFIDF("TF", "1", "2", "0", POOL),
         "[2,7] 1 1 1 0 0 0 0 0 0 1 1 1 0 0"},
        {9, "int64[0] x = {}", TFIDF("TF", "1", "2", "0", POOL), "[7] 0 0 0 0 0 0 0"},
        {9, "int64[0,3] x = {}", TFIDF("TF", "1", "2", "0", POOL), "[0,7]"},
        {9, "string[4] x = {\"a\", \"b\", \"a\", \"\"}",
         TFIDF("TF", "1", "2", "1",
               "ngram_counts=[0,1], ngram_indexes=[2,0], pool_strings=[\"a\", \"a\", \"a\"]"),
         "[3] 1 0 2"},
        {9, "int64[3] x = {8,9,8}",
         TFIDF("TFIDF", "1", "1", "0",
               "ngram_counts=[0], ngram_indexes=[3,0], pool_int64s=[8,9], weights=[2.0,5.0]"),
         "[4] 5 0 0 4"},
        {9, ROW12, TFIDF("XX", "1", "2", "0", POOL), "!it must be TF"},
        {9, ROW12, TFIDF("TF", "0", "2", "0", POOL), "!make no sense"},
        {9, ROW12, TFIDF("TF", "2", "1", "0", POOL), "!make no sense"},
        {9, ROW12, TFIDF("TF", "1", "2", "-1", POOL), "!make no sense"},
        {9, ROW12, TFIDF("IDF", "1", "2", "0", POOL ", weights=[1.0]"), "!1 weights"},
        {9, "string[1] x = {\"a\"}", TFIDF("TF", "1", "2", "0", POOL), "!the pool is of integers"},
        {9, "int32 x = {1}", TFIDF("TF", "1", "2", "0", POOL), "!it needs 1 or 2"},
        {9, ROW12,
         TFIDF("TF", "1", "2", "0", "ngram_counts=[0,3], ngram_indexes=[0], pool_int64s=[1,2]"),
         "!ngram_counts"},
        {9, ROW12,
         TFIDF("TF", "1", "2", "0", "ngram_counts=[0,1], ngram_indexes=[0,1], pool_int64s=[1,2]"),
         "!ngram_counts"},
        {9, ROW12,
         TFIDF("TF", "1", "2", "0", "ngram_counts=[0], ngram_indexes=[0], pool_int64s=[1,2]"),
         "!more n-grams"},
        {9, ROW12,
         TFIDF("TF", "1", "1", "0", "ngram_counts=[0], ngram_indexes=[-1], pool_int64s=[1]"),
         "!ngram_indexes has -1"},
    };
    CHECK_EQ(kernel_lines_fail(lines, ONX_COUNT(lines)), 0);
}

TEST(regex) {
    static const kernel_line lines[] = {
        {20, "string[2,2] x = {\"ab\", \"a\", \"\", \"b\\n\"}",
         "y = RegexFullMatch<pattern=\"a?b?\">(x)", "[2,2] 1 1 1 0"},
        {20, "string x = {\"\xc3\xa9\"}", "y = RegexFullMatch<pattern=\".\">(x)", "[] 1"},
        {20, "string[0] x = {}", "y = RegexFullMatch<pattern=\".\">(x)", "[0]"},
        {20, "string[1] x = {\"\"}", "y = RegexFullMatch<pattern=\"(\">(x)", "!missing ): ("},
        {20, "string[1] x = {\"\"}", "y = RegexFullMatch(x)", "!there is no pattern"},
    };
    CHECK_EQ(kernel_lines_fail(lines, ONX_COUNT(lines)), 0);
}

TEST(backend) {
    if (!getenv("ONX_DATA")) SKIP("ONX_DATA is not set");
    size_t failed = 0;
    CHECK_EQ(kernel_backend("string_", "", &failed), 11);
    CHECK_EQ(kernel_backend("regex_", "", &failed), 3);
    CHECK_EQ(kernel_backend("strnormalizer_", "", &failed), 6);
    CHECK_EQ(kernel_backend("tfidf", "", &failed), 7);
    CHECK_EQ(failed, 0);
}

TEST_MAIN(E(normalizer) E(split) E(tf_idf) E(regex) E(backend))
