/* test_lower.c: the rewrites of the engine, by models before and after (test/pass). */
#include "test.h"

#include "pass_case.h"
#include "rt/lower/lower.h"

static onx_status run(onx_pass_ctx *ctx, const char *name) {
    return strcmp(name, "all") == 0 ? onx_lower_run(ctx, ONX_LEVEL_ALL)
                                    : onx_lower_run_one(ctx, name);
}

static void check_file(const char *file, size_t least) {
    size_t count = 0;
    CHECK_EQ(pass_case_file(file, run, &count), 0);
    CHECK(count >= least);
}

TEST(tile) {
    check_file("tile.txt", 10);
}
TEST(affine) {
    check_file("affine.txt", 3);
}
TEST(transposed) {
    check_file("transposed.txt", 5);
}
TEST(epilogue) {
    check_file("epilogue.txt", 6);
}
TEST(blocked) {
    check_file("blocked.txt", 8);
}

TEST(half) {
    check_file("half.txt", 5);
}

TEST(attention) {
    check_file("attention.txt", 6);
}

TEST(rotary) {
    check_file("rotary.txt", 3);
}
TEST(pairs) {
    check_file("pairs.txt", 4);
}
TEST(quantized) {
    check_file("quantized.txt", 2);
}

TEST(unknown_rewrite) {
    onx_model *model = onx_model_new(NULL, "g", 13);
    onx_pass_ctx ctx = {.model = model};
    CHECK_EQ(onx_lower_run_one(&ctx, "nothing"), ONX_NOT_FOUND);
    CHECK_EQ(onx_lower_run(&ctx, ONX_LEVEL_ALL), ONX_OK);
    onx_model_free(model);
}

TEST_MAIN(E(attention) E(rotary) E(pairs) E(quantized) E(transposed) E(affine) E(tile) E(epilogue)
              E(blocked) E(half) E(unknown_rewrite))
