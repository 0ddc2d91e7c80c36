/* test_export_pointwise.c: functions of one and two tensors, element by element. */
#include "export_case.h"
#include "test.h"

#define RUN(...)                                                                                   \
    do {                                                                                           \
        static const char *const lines[] = {__VA_ARGS__};                                          \
        CHECK_EQ(export_cases(sizeof lines / sizeof *lines, lines), 0);                            \
    } while (0)

TEST(arithmetic) {
    RUN("add(f32[2]{1,2}, f32[2]{3,4}) = f32[2]{4,6} @ Add",
        "add(f32[N=2]{1,2}, f32[]{3}, alpha=2) = f32[2]{7,8} @ Mul Add",
        "add(i64[2]{1,2}, 1.5) = f32[2]{2.5,3.5} @ Cast Add",
        "add(f32[2]{1,2}, i64[2]{1,2}, 2) = f32[2]{3,6}");
}

TEST_MAIN(E(arithmetic))
