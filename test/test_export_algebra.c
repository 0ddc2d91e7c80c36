/* test_export_algebra.c: matrices as products, eigenvalues and singular values, divisors, functions
 * by series, operators on lists, complex numbers. */
#include "export_case.h"
#include "test.h"

#define RUN(...)                                                                                   \
    do {                                                                                           \
        static const char *const lines[] = {__VA_ARGS__};                                          \
        CHECK_EQ(export_cases(sizeof lines / sizeof *lines, lines), 0);                            \
    } while (0)

TEST(triangles) {
    RUN("linalg_cholesky(f32[2,2]{4,2,2,5}) = f32[2,2]{2,0,1,2}",
        "linalg_cholesky(f32[2,2]{4,2,2,5}, upper=True) = f32[2,2]{2,1,0,2}",
        "linalg_cholesky(f64[B=2,N=2,N=2]{4,2,2,5,1,0,0,9}) = f64[2,2,2]{2,0,1,2,1,0,0,3}",
        "linalg_cholesky(f32[2]{4,2}) fails",
        "cholesky_solve(f32[2,1]{4,2}, f32[2,2]{2,0,1,2}) = f32[2,1]{1,0}",
        "cholesky_inverse(f32[2,2]{1,0,1,1}) = f32[2,2]{2,-1,-1,1}",
        "linalg_solve_triangular(f32[2,2]{2,9,1,4}, f32[2,1]{2,5}, upper=False) = f32[2,1]{1,1}",
        "linalg_solve_triangular(f32[2,2]{2,1,9,4}, f32[1,2]{2,5}, upper=True, left=False) = "
        "f32[1,2]{1,1}",
        "triangular_solve(f32[2,1]{3,4}, f32[2,2]{2,1,0,4}) = f32[2,1]{1,1}, f32[2,2]{2,1,0,4}");
}

TEST(factors) {
    RUN("linalg_lu_factor(f32[2,2]{1,2,2,2}) = f32[2,2]{2,2,0.5,1}, i32[2]{2,2}",
        "linalg_lu(f32[2,2]{1,2,2,2}) = f32[2,2]{0,1,1,0}, f32[2,2]{1,0,0.5,1}, f32[2,2]{2,2,0,1}",
        "linalg_lu_solve(f32[2,2]{2,2,0.5,1}, i32[2]{2,2}, f32[2,1]{3,4}) = f32[2,1]{1,1}",
        "linalg_qr(f32[2,2]{3,1,4,2}) = f32[2,2]{-0.6,-0.8,-0.8,0.6}, f32[2,2]{-5,-2.2,0,0.4}",
        "linalg_qr(f32[N=3,2]{3,1,4,2,0,0}, \"reduced\") = f32[3,2]{-0.6,-0.8,-0.8,0.6,0,0}, "
        "f32[2,2]{-5,-2.2,0,0.4}",
        "linalg_householder_product(f32[2,1]{9,1}, f32[1]{1}) = f32[2,1]{0,-1}");
}

TEST(values) {
    RUN("linalg_eigvalsh(f32[2,2]{2,9,1,2}) = f32[2]{1,3}",
        "linalg_eigvalsh(f32[2,2]{2,1,9,2}, \"U\") = f32[2]{1,3}",
        "linalg_eigh(f32[2,2]{1,0,0,-1}) = f32[2]{-1,1}, f32[2,2]{0,1,1,0}",
        "linalg_svdvals(f32[N=2,M=3]{0,3,0,4,0,0}) = f32[2]{4,3}",
        "linalg_svd(f32[1,2]{0,2}, False) = f32[1,1]{1}, f32[1]{2}, f32[1,2]{0,1}",
        "linalg_pinv(f32[3,1]{0,2,0}) = f32[1,3]{0,0.5,0}",
        "linalg_matrix_rank(f32[2,2]{1,2,2,4}) = i64[]{1}",
        "linalg_lstsq(f32[2,1]{1,1}, f32[2,1]{1,3}) = f32[1,1]{2}, f32[1]{2}, i64[]{1}, f32[0]",
        "linalg_cond(f32[2,2]{4,0,0,2}) = f32[]{2}", "linalg_cond(f32[2,2]{4,0,0,2}, 1) = f32[]{2}",
        "linalg_matrix_norm(f32[2,2]{4,0,0,2}, -2, keepdim=True) = f32[1,1]{2}");
}

TEST(digits) {
    RUN("gcd(i64[3]{12,-18,0}, i64[3]{18,12,5}) = i64[3]{6,6,5}",
        "gcd(i32[2]{0,7}, 0) = i32[2]{0,7}", "lcm(i32[3]{4,0,-6}, i32[3]{6,5,4}) = i32[3]{12,0,12}",
        "frexp(f32[4]{8,-0.75,0,5}) = f32[4]{0.5,-0.75,0,0.625}, i32[4]{4,0,0,3}",
        "nextafter(f32[2]{1,-1}, f32[2]{2,-2}) = f32[2]{1.0000001,-1.0000001}",
        "nextafter(f32[1]{1}, f32[1]{1}) = f32[1]{1}");
}

TEST(series) {
    RUN("special_chebyshev_polynomial_t(f32[1]{0.5}, 3) = f32[1]{-1}",
        "special_legendre_polynomial_p(f32[2]{0.5,0.5}, i64[2]{3,0}) = f32[2]{-0.4375,1}",
        "special_laguerre_polynomial_l(f32[1]{0.5}, 2) = f32[1]{0.125}",
        "special_hermite_polynomial_h(f32[1]{0.5}, 3) = f32[1]{-5}",
        "special_shifted_chebyshev_polynomial_u(f32[1]{1}, 2) = f32[1]{3}",
        "special_zeta(f64[1]{2}, f64[1]{1}) = f64[1]{1.6449340668}",
        "igamma(f32[2]{1,2}, f32[2]{1,0}) = f32[2]{0.6321206,0}",
        "igammac(f32[2]{1,2}, f32[2]{1,5000}) = f32[2]{0.3678794,0}",
        "special_bessel_j0(f32[3]{0,2,40}) = f32[3]{1,0.2238908,0.0073669}",
        "special_bessel_j1(f32[3]{0,2,-40}) = f32[3]{0,0.5767248,-0.1260383}",
        "special_modified_bessel_k0(f32[2]{0.5,8}) = f32[2]{0.9244191,0.0001465}",
        "special_scaled_modified_bessel_k1(f32[1]{100}) = f32[1]{0.1258}");
}

TEST(lists) {
    RUN("_foreach_add([f32[1]{1}, f32[1]{2}], 2) = f32[1]{3}, f32[1]{4}",
        "_foreach_add([f32[1]{1}], [f32[1]{2}], alpha=3) = f32[1]{7}",
        "_foreach_mul([f32[1]{1}, f32[1]{2}], [2, 3]) = f32[1]{2}, f32[1]{6}",
        "_foreach_addcmul([f32[1]{1}], [f32[1]{2}], [f32[1]{3}], 0.5) = f32[1]{4}",
        "_foreach_sqrt([f32[1]{4}]) = f32[1]{2}", "_foreach_norm([f32[2]{3,4}]) = f32[]{5}");
}

TEST(complex_numbers) {
    RUN("matmul(c64[1,2]{1,1,0,2}, c64[2]{1,0,0,1}) = c64[1]{-1,1}",
        "mm(c64[1,1]{1,2}, f32[1,2]{2,3}) = c64[1,2]{2,4,3,6}",
        "roll(c64[2]{1,2,3,4}, 1) = c64[2]{3,4,1,2}",
        "flip(c64[2]{1,2,3,4}, [0]) = c64[2]{3,4,1,2}",
        "cumsum(c64[2]{1,2,3,4}, 0) = c64[2]{1,2,4,6}", "square(c64[1]{1,2}) = c64[1]{-3,4}",
        "linalg_inv(c64[1,1]{0,2}) = c64[1,1]{0,-0.5}",
        "matrix_power(c64[1,1]{0,2}, 3) = c64[1,1]{0,-8}",
        "eq(c64[2]{1,2,3,4}, c64[2]{1,2,3,5}) = bool[2]{1,0}", "isnan(c64[1]{1,2}) = bool[1]{0}",
        "masked_fill(c64[2]{1,2,3,4}, bool[2]{1,0}, 0) = c64[2]{0,0,3,4}",
        "diagonal(c64[1,1]{1,2}) = c64[1]{1,2}",
        "constant_pad_nd(c64[1]{1,2}, [1, 0]) = c64[2]{0,0,1,2}",
        "constant_pad_nd(c64[1]{1,2}, [1, 0], 1) fails", "prod(c64[1]{1,2}) fails",
        "sort(c64[1]{1,2}) fails");
}

TEST_MAIN(E(triangles) E(factors) E(values) E(digits) E(series) E(lists) E(complex_numbers))
