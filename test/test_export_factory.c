/* test_export_factory.c: tensors from nothing, casts, and questions about tensors. */
#include "export_case.h"
#include "test.h"

#define RUN(...)                                                                                   \
    do {                                                                                           \
        static const char *const lines[] = {__VA_ARGS__};                                          \
        CHECK_EQ(export_cases(sizeof lines / sizeof *lines, lines), 0);                            \
    } while (0)

TEST(filled) {
    RUN("zeros([2, 1]) = f32[2,1]{0,0}",
        "zeros([2], dtype=i64, layout=0, device=\"cpu\", pin_memory=False) = i64[2]{0,0}",
        "ones([2], dtype=bool) = bool[2]{1,1}", "empty([]) = f32[]{0}",
        "zeros([0, 2]) = f32[0,2]{}", "full([2], 3) = i64[2]{3,3}",
        "full([2], 1.5) = f32[2]{1.5,1.5}", "full([1], True) = bool[1]{1}",
        "full([1], 3, dtype=f16) = f16[1]{3}", "new_zeros(i64[1]{5}, [2]) = i64[2]{0,0}",
        "new_ones(f32[1]{5}, [2], dtype=i32) = i32[2]{1,1}",
        "new_full(f32[1]{5}, [2], 7) = f32[2]{7,7}", "new_empty(f32[1]{5}, [1]) = f32[1]{0}",
        "zeros_like(f32[N=2,1]{1,2}) = f32[2,1]{0,0} @ Shape Expand",
        "zeros_like(f32[2]{1,2}) = f32[2]{0,0}", "ones_like(f32[2]{1,2}, dtype=i64) = i64[2]{1,1}",
        "full_like(i64[N=2]{1,2}, 4) = i64[2]{4,4}", "zeros_like(c64[1]{1,2}) = c64[1]{0,0}",
        "empty_like(f32[]{2}) = f32[]{0}", "zeros([1], dtype=c64) = c64[1]{0,0}");
}

TEST(ranges) {
    RUN("arange(4) = i64[4]{0,1,2,3}", "arange(1, 4) = i64[3]{1,2,3}",
        "arange(0, 7, 3) = i64[3]{0,3,6}", "arange(2.5) = f32[3]{0,1,2}",
        "arange(0, 1, 0.25) = f32[4]{0,0.25,0.5,0.75}", "arange(3, dtype=f32) = f32[3]{0,1,2}",
        "arange(3, 0, -1) = i64[3]{3,2,1}", "arange(3, 0, -1.0, dtype=i64) = i64[3]{3,2,1}",
        "arange(0) = i64[0]{}", "arange(0, 4, 0) fails", "range(1, 3) = f32[3]{1,2,3}",
        "linspace(0, 1, 5) = f32[5]{0,0.25,0.5,0.75,1}", "linspace(f32[]{0}, 2, 3) = f32[3]{0,1,2}",
        "linspace(3, 9, 1) = f32[1]{3}", "logspace(0, 2, 3) = f32[3]{1,10,100}",
        "logspace(0, 3, 4, 2.0, dtype=f64) = f64[4]{1,2,4,8}", "eye(2) = f32[2,2]{1,0,0,1}",
        "eye(2, 3, dtype=i64) = i64[2,3]{1,0,0,0,1,0}",
        "tril_indices(2, 3) = i64[2,3]{0,1,1,0,0,1}",
        "triu_indices(2, 3, 1) = i64[2,3]{0,0,1,1,2,2}",
        "tril_indices(3, 2, -1, dtype=i32) = i32[2,3]{1,2,2,0,0,1}");
}

TEST(windows) {
    RUN("hann_window(4) = f32[4]{0,0.5,1,0.5}", "hann_window(3, False) = f32[3]{0,1,0}",
        "hann_window(1) = f32[1]{1}", "hamming_window(2) = f32[2]{0.08,1}",
        "hamming_window(2, True, 0.5, 0.5) = f32[2]{0,1}",
        "blackman_window(4) = f32[4]{0,0.34,1,0.34}",
        "kaiser_window(3, False, 2.0) = f32[3]{0.43868,1,0.43868}",
        "bartlett_window(4) = f32[4]{0,0.5,1,0.5}");
}

TEST(numbers) {
    RUN("tensor(3) = i64[]{3}", "tensor([1, 2.5]) = f32[2]{1,2.5}",
        "tensor([[1, 2], [3, 4]]) = i64[2,2]{1,2,3,4}", "tensor([True]) = bool[1]{1}",
        "tensor([1], dtype=f64) = f64[1]{1}", "tensor([]) = f32[0]{}",
        "as_tensor(f32[1]{2}, dtype=i64) = i64[1]{2}", "as_tensor([1, 2]) = i64[2]{1,2}",
        "scalar_tensor(2) = f32[]{2}", "scalar_tensor(-inf, dtype=f16) = f16[]{-inf}",
        "prim::NumToTensor(2) = i64[]{2}", "prim::NumToTensor(1.5) = f64[]{1.5}");
}

TEST(casts) {
    RUN("to(f32[2]{1.5,-1.5}, i64) = i64[2]{1,-1} @ Cast",
        "to(f32[1]{1.5}, f32) = f32[1]{1.5} @ Identity",
        "to(f32[1]{1.5}, dtype=f16, layout=0, device=\"cpu\") = f16[1]{1.5} @ Cast",
        "to(f32[1]{1.5}, \"cpu\", f64) = f64[1]{1.5}", "to(f32[1]{1.5}, \"cpu\") = f32[1]{1.5}",
        "to(f32[1]{1.5}, i64[1]{0}) = i64[1]{1}", "to(f32[1]{1.5}, False, True) = f32[1]{1.5}",
        "_to_copy(f32[1]{1.5}, dtype=i32) = i32[1]{1}", "type_as(i64[1]{1}, f32[1]{0}) = f32[1]{1}",
        "_cast_Long(f32[1]{1.5}) = i64[1]{1}", "to(f32[1]{2}, c64) = c64[1]{2,0}",
        "to(c64[1]{2,3}, f32) = f32[1]{2}", "item(f32[1]{2.5}) = f32[]{2.5}",
        "item(i64[]{2}) = i64[]{2}", "Int(f32[]{2.5}) = i64[]{2}", "Float(i64[]{2}) = f32[]{2}",
        "Bool(i64[]{2}) = bool[]{1}", "Bool(3) = bool[]{1}",
        "prim::tolist(i64[2]{4,5}) = i64[]{4}, i64[]{5}");
}

TEST(queries) {
    RUN("size(f32[N=2,3]) = i64[]{2}, i64[]{3}", "size(f32[N=2,3], -2) = i64[]{2} @ Shape Squeeze",
        "sym_size(f32[2,3], 1) = i64[]{3}", "numel(f32[N=2,3]) = i64[]{6}",
        "dim(f32[2,3]) = i64[]{2}", "dim(c64[1]{1,2}) = i64[]{1}", "len(f32[4]) = i64[]{4}",
        "stride(f32[2,3], 0) = i64[]{3}", "is_floating_point(f32[1]) = bool[]{1}",
        "is_complex(f32[1]) = bool[]{0}", "is_signed(u8[1]{1}) = bool[]{0}",
        "prim::dtype(i64[1]{1}) = i64[]{4}", "result_type(i64[1]{1}, 1.5) = i64[]{6}",
        "promote_types(i32, f16) = i64[]{5}", "element_size(f16[1]) = i64[]{2}",
        "prim::is_cuda(f32[1]) = bool[]{0}", "_shape_as_tensor(f32[N=2,3]) = i64[2]{2,3} @ Shape",
        "is_same_size(f32[N=2], f32[N=2]) = bool[]{1}", "prim::layout(f32[1]) = i64[]{0}");
}

/* Ranges of what is drawn, for the numbers themselves are any. */
static void check_drawn(const char *call, onx_dtype dtype, size_t count, double low, double high) {
    export_result out[EXPORT_RESULTS];
    size_t n = export_call(call, out);
    CHECK_EQ(n, 1);
    CHECK_EQ(out[0].dtype, dtype);
    CHECK_EQ(out[0].n, count);
    for (size_t i = 0; i < out[0].n; i++) CHECK(out[0].v[i] >= low && out[0].v[i] <= high);
    export_results_free(n, out);
}

TEST(draws) {
    check_drawn("rand([2, 3])", ONX_DTYPE_F32, 6, 0, 1);
    check_drawn("randn([4], dtype=f64)", ONX_DTYPE_F64, 4, -9, 9);
    check_drawn("rand_like(f32[N=3])", ONX_DTYPE_F32, 3, 0, 1);
    check_drawn("randint(5, [20])", ONX_DTYPE_I64, 20, 0, 4);
    check_drawn("randint(3, 5, [20])", ONX_DTYPE_I64, 20, 3, 4);
    check_drawn("randperm(4)", ONX_DTYPE_I64, 4, 0, 3);
    check_drawn("bernoulli(f32[3]{0,0,0})", ONX_DTYPE_F32, 3, 0, 0);
    check_drawn("bernoulli_(f32[3]{0,0,0}, 1.0)", ONX_DTYPE_F32, 3, 1, 1);
    check_drawn("normal_(f32[3]{0,0,0}, 5.0, 0.0)", ONX_DTYPE_F32, 3, 5, 5);
    check_drawn("normal(2.0, 0.0, [3])", ONX_DTYPE_F32, 3, 2, 2);
    check_drawn("multinomial(f32[3]{0.5,0.5,0}, 2)", ONX_DTYPE_I64, 2, 0, 1);
    check_drawn("multinomial(f32[2,3]{0.5,0.5,0,0.5,0.5,0}, 4, True)", ONX_DTYPE_I64, 8, 0, 1);
    check_drawn("uniform(f32[3]{0,0,0}, 2.0, 3.0)", ONX_DTYPE_F32, 3, 2, 3);
}

TEST_MAIN(E(filled) E(ranges) E(windows) E(numbers) E(casts) E(queries) E(draws))
