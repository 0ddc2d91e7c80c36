/* test_export_losses.c: losses of lists of targets, histograms, slopes, volumes sampled at points,
 * pools over regions, segments, and operators that are others by another name. */
#include "export_case.h"
#include "test.h"

#define RUN(...)                                                                                   \
    do {                                                                                           \
        static const char *const lines[] = {__VA_ARGS__};                                          \
        CHECK_EQ(export_cases(sizeof lines / sizeof *lines, lines), 0);                            \
    } while (0)

/* One step, two classes of the same chance: log 2; an impossible target: infinity, or 0. */
TEST(targets) {
    RUN("ctc_loss(f32[1,1,2]{-0.6931472,-0.6931472}, i64[1,1]{1}, [1], [1]) = f32[]{0.6931472}",
        "ctc_loss(f32[2,1,2]{-0.6931472,-0.6931472,-0.6931472,-0.6931472}, i64[1,1]{1}, "
        "i64[1]{2}, i64[1]{1}, 0, 0) = f32[1]{0.2876821}",
        "ctc_loss(f32[1,1,2]{-0.7,-0.7}, i64[1,2]{1,1}, [1], [2], 0, 1, True) = f32[]{0}",
        "ctc_loss(f32[1,1,2]{-0.7,-0.2}, i64[1,1]{1}, [1], [0], 0, 2) = f32[]{0.7}",
        "multilabel_margin_loss(f32[1,4]{0.1,0.2,0.4,0.8}, i64[1,4]{3,0,-1,1}) = f32[]{0.85}",
        "multilabel_margin_loss(f32[2]{1,3}, i64[2]{1,-1}, 2) = f32[]{0}");
}

TEST(spreads) {
    RUN("histogram(f32[4]{1,2,2,3}, f32[3]{1,2,3}) = f32[2]{1,3}, f32[3]{1,2,3}",
        "histogram(f32[3]{0,1,4}, 2, range=[0.0, 4.0], density=True) = f32[2]{0.3333333,0.1666667},"
        " f32[3]{0,2,4}",
        "nanquantile(f32[3]{3,nan,1}, 0.5) = f32[]{2}",
        "nanquantile(f32[2,2]{3,nan,1,2}, f32[2]{0,1}, 1) = f32[2,2]{3,1,3,2}",
        "gradient(f32[4]{1,2,4,8}) = f32[4]{1,1.5,3,4}",
        "gradient(f32[4]{1,2,4,8}, edge_order=2) = f32[4]{0.5,1.5,3,5}",
        "gradient(f32[3]{0,1,9}, spacing=[f32[3]{0,1,3}], dim=[0]) = f32[3]{1,2,4}",
        "cov(f32[2,2]{1,3,2,2}, fweights=i64[2]{1,3}) = f32[2,2]{1,0,0,0}");
}

TEST(places) {
    RUN("grid_sampler(f32[1,1,1,1,2]{1,3}, f32[1,1,1,2,3]{0,0,0,1,0,0}, 0, 0, True) = "
        "f32[1,1,1,1,2]{2,3}",
        "grid_sampler(f32[1,1,1,1,2]{1,3}, f32[1,1,1,1,3]{2,0,0}, 0, 0, True) = "
        "f32[1,1,1,1,1]{1.5}",
        "grid_sampler(f32[1,1,1,1,2]{1,3}, f32[1,1,1,1,3]{5,0,0}, 1, 1, False) = f32[1,1,1,1,1]{3}",
        "adaptive_max_pool1d(f32[1,1,N=5]{1,5,2,4,3}, [2]) = f32[1,1,2]{5,4}, i64[1,1,2]{1,3}",
        "fractional_max_pool2d(f32[1,1,2,4]{1,2,3,4,5,6,7,8}, [2, 2], [1, 2], f32[1,1,2]{0,0}) = "
        "f32[1,1,1,2]{6,8}, i64[1,1,1,2]{5,7}",
        "segment_reduce(f32[4]{1,2,3,4}, \"mean\", lengths=i64[2]{1,3}) = f32[2]{1,3}",
        "fill_diagonal_(f32[3,2]{1,2,3,4,5,6}, 0) = f32[3,2]{0,2,3,0,5,6}",
        "fill_diagonal_(f32[4,2]{1,2,3,4,5,6,7,8}, 0, True) = f32[4,2]{0,2,3,0,5,6,0,8}",
        "as_strided_scatter(f32[4]{1,2,3,4}, f32[2]{8,9}, [2], [2], 1) = f32[4]{1,8,3,9}",
        "embedding_renorm(f32[2,2]{3,4,3,4}, i64[1]{1}, 1.0, 2.0) = f32[2,2]{3,4,0.6,0.8}",
        "torchvision::ps_roi_pool(f32[1,2,2,2]{1,2,3,4,5,6,7,8}, f32[1,5]{0,0,0,2,2}, 1.0, 2, 1) = "
        "f32[1,1,2,1]{1.5,7.5}, i32[0]");
}

TEST(names) {
    RUN("positive(f32[1]{2}) = f32[1]{2}",
        "_add_relu(f32[1]{2}, f32[1]{-3}) = f32[1]{0} @ Add Relu",
        "_is_all_true(bool[2]{1,0}) = bool[]{0}", "_dim_arange(f32[2,3], 1) = i64[3]{0,1,2}",
        "isreal(c64[2]{1,0,1,2}) = bool[2]{1,0}", "signbit(f32[3]{1,-1,-0.0}) = bool[3]{0,1,1}",
        "prims::iota(3, start=1, step=2, dtype=i64, device=None, requires_grad=False) = "
        "i64[3]{1,3,5}",
        "prims::broadcast_in_dim(f32[2]{1,2}, [2, 2], [0]) = f32[2,2]{1,1,2,2}",
        "prims::cbrt(f32[1]{-8}) = f32[1]{-2}",
        "_unsafe_masked_index(f32[2]{5,6}, bool[2]{1,0}, [i64[2]{1,9}], 0) = f32[2]{6,0}",
        "norm_except_dim(f32[1,2]{3,4}, 2, 0) = f32[1,1]{5}");
}

TEST_MAIN(E(targets) E(spreads) E(places) E(names))
