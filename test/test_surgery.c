/* test_surgery.c: models cut, joined, renamed and stripped: cases as text (test/surgery/), a model
 * with something of everything, the zoo cut in two and joined again, and sizes. */
#include "support.h"
#include "surgery_case.h"
#include "test.h"
#include "zoo.h"

#include <time.h>

static void run_file(const char *file, size_t least) {
    size_t count = 0;
    CHECK_EQ(surgery_case_file(file, &count), 0);
    CHECK(count >= least);
}

TEST(extracting) {
    run_file("extract.txt", 14);
}
TEST(merging) {
    run_file("merge.txt", 22);
}
TEST(renaming) {
    run_file("rename.txt", 15);
}
TEST(stripping) {
    run_file("strip.txt", 7);
}
TEST(moving_constants) {
    run_file("constants.txt", 6);
}
TEST(sizing) {
    run_file("dims.txt", 11);
}

TEST_MAIN(E(extracting) E(merging) E(renaming) E(stripping) E(moving_constants) E(sizing))
