/* test_export_assemble.c: tensors put together from others. */
#include "export_case.h"
#include "test.h"

#define RUN(...)                                                                                   \
    do {                                                                                           \
        static const char *const lines[] = {__VA_ARGS__};                                          \
        CHECK_EQ(export_cases(sizeof lines / sizeof *lines, lines), 0);                            \
    } while (0)

TEST(names) {
    RUN("hsplit(f32[1,4]{1,2,3,4}, 2) = f32[1,2]{1,2}, f32[1,2]{3,4}",
        "hsplit(f32[3]{1,2,3}, [1]) = f32[1]{1}, f32[2]{2,3}",
        "vsplit(f32[2,1]{1,2}, 2) = f32[1,1]{1}, f32[1,1]{2}",
        "tensor_split(f32[N=5]{1,2,3,4,5}, 2) = f32[3]{1,2,3}, f32[2]{4,5}",
        "adjoint(f32[2,2]{1,2,3,4}) = f32[2,2]{1,3,2,4}",
        "mH(c64[1,2]{1,2,3,4}) = c64[2,1]{1,-2,3,-4}",
        "ravel(f32[2,N=2]{1,2,3,4}) = f32[4]{1,2,3,4}",
        "diagflat(f32[2]{1,2}, 1) = f32[3,3]{0,1,0,0,0,2,0,0,0}",
        "linalg_diagonal(f32[2,2]{1,2,3,4}) = f32[2]{1,4}",
        "diagonal_scatter(f32[2,3]{1,2,3,4,5,6}, f32[2]{8,9}, 1) = f32[2,3]{1,8,3,4,5,9}",
        "diagonal_scatter(f32[1,2,2]{1,2,3,4}, f32[1,2]{8,9}, 0, 1, 2) = f32[1,2,2]{8,2,3,9}",
        "<26> view(f32[1]{1}, i32) = i32[1]{1065353216} @ BitCast", "view(f32[1]{1}, i32) fails");
}

TEST(blocks) {
    RUN("cat([f32[0,2], f32[N=1,2]{3,4}]) = f32[1,2]{3,4}",
        "block_diag([f32[1,2]{1,2}, f32[N=1,1]{3}]) = f32[2,3]{1,2,0,0,0,3}",
        "block_diag([f32[]{1}, i64[2]{3,4}]) = f32[2,3]{1,0,0,0,3,4}",
        "cartesian_prod([i64[2]{1,2}, i64[2]{3,4}]) = i64[4,2]{1,3,1,4,2,3,2,4}",
        "combinations(i64[3]{5,6,7}) = i64[3,2]{5,6,5,7,6,7}",
        "combinations(i64[2]{5,6}, 2, True) = i64[3,2]{5,5,5,6,6,6}",
        "combinations(i64[N=3]{5,6,7}, 3) = i64[1,3]{5,6,7}",
        "pad_sequence([f32[2]{1,2}, f32[1]{3}], True) = f32[2,2]{1,2,3,0}",
        "pad_sequence([f32[2]{1,2}, f32[1]{3}], False, 9.0, \"left\") = f32[2,2]{1,9,2,3}");
}

TEST(places) {
    RUN("nonzero_static(f32[3]{0,5,6}, size=3) = i64[3,1]{1,2,-1}",
        "nonzero_static(f32[3]{4,5,6}, size=2) = i64[2,1]{0,1}",
        "sum_to_size(f32[2,2]{1,2,3,4}, [1, 2]) = f32[1,2]{4,6}",
        "sum_to_size(f32[2,2]{1,2,3,4}, [2]) = f32[2]{4,6}",
        "put(f32[2,2]{1,2,3,4}, i64[2]{0,3}, f32[2]{8,9}) = f32[2,2]{8,2,3,9}",
        "put(f32[2]{1,2}, i64[2]{0,0}, f32[2]{8,9}, True) = f32[2]{18,2}",
        "index_reduce(f32[2,2]{1,2,3,4}, 0, i64[1]{1}, f32[1,2]{5,1}, \"amax\") = "
        "f32[2,2]{1,2,5,4}",
        "index_reduce(f32[2]{1,2}, 0, i64[2]{0,0}, f32[2]{4,7}, \"prod\", include_self=False) = "
        "f32[2]{28,2}");
}

TEST_MAIN(E(names) E(blocks) E(places))
