"""Operators that few models have, and others in rarer types and forms; written as in torch_operators.py."""

from torch_operators import register

register(r"""
integers | torch.gcd(x, y), torch.lcm(x, y) | n4%20 n4%20
 | torch.gcd(x, y) | I4x3 I3
 | torch.lcm(x, y) | i4 i4
 | torch.gcd(x, y) | B4 B4
 | torch.bitwise_right_shift(x, y), torch.bitwise_left_shift(x, y) | i6 n6%4
 | x << y, x >> y | I6 I6%4
 | x >> 2, x << 3 | c6
 | x & y, x | y, x ^ y, ~x | B6 B6
 | x & 7, 7 | x | s6
 | x // y, x % y, torch.fmod(x, y) | I6 I6%5+1
 | x // y, x % y | c6 c6%5+1
floats | torch.nextafter(x, y) | f6 f6
 | torch.nextafter(x, y) | d6 d6
 | torch.nextafter(x * 0, y) | f6 f6
 | torch.frexp(x)[0], torch.frexp(x)[1] | f6
 | torch.frexp(x * 0)[0], torch.frexp(x * 1000)[1] | d6
 | torch.ldexp(x, y) | f6 I6
 | torch.ldexp(x, y) | f2x3 f2x3
 | torch.float_power(x, y) | i3 f3
 | torch.float_power(2, x) | f3
 | torch.copysign(x, y) | i4 f4
 | torch.signbit(x), torch.signbit(-x * 0) | f4
 | torch.signbit(x) | i4
 | torch.positive(x), torch.neg(x) | f4
 | torch.hypot(x, y) | d4 d4
 | torch.heaviside(x, y) | i4 i4
 | torch.sinc(x), torch.sinc(x * 0) | d4
 | torch.sinc(x) | i4
 | torch.logaddexp(x, y), torch.logaddexp2(x, y) | h4 h4
 | torch.special.xlogy(x, y), torch.special.xlogy(2.0, y), torch.special.xlogy(x, 3.0) | f4 p4
 | torch.special.xlog1py(x, 2.0), torch.special.xlog1py(2.0, y) | f4 p4
 | torch.special.logit(x, 0.1), torch.special.exp2(x), torch.special.expm1(x), torch.special.log1p(x) | u4
 | torch.special.round(x), torch.special.sinc(x), torch.special.logsumexp(x, 0), torch.special.softmax(x, 0) | f4
 | torch.nan_to_num(x / y) | h2x3 h2x3%2
 | torch.nan_to_num(x) | i4
 | torch.addcmul(x, y, z, value=2) | i4 i4 i4
 | torch.lerp(x, y, 0.7) | h4 h4
 | torch.lerp(x, y, z) | d4 d4 d
 | torch.true_divide(x, 0), torch.div(x, 0.5, rounding_mode="floor") | f4
 | torch.round(x, decimals=2) | d4
 | x.trunc(), x.round(), x.ceil() | i4
 | x.sign(), x.sgn() | b4
 | x.abs() | B4
specials | torch.special.zeta(x, y) | p4 p4
 | torch.special.zeta(x + 1, 1.5), torch.special.zeta(2.5, x) | p4
 | torch.special.gammainc(x, y), torch.special.gammaincc(x, y) | p6 p6
 | torch.igamma(x * 3, y * 9), torch.igammac(x * 5, y) | p6 p6
 | torch.special.bessel_j0(x * 4), torch.special.bessel_j1(x * 4) | f6
 | torch.special.bessel_y0(x * 4), torch.special.bessel_y1(x * 4) | p6
 | torch.special.modified_bessel_i0(x), torch.special.modified_bessel_i1(x) | f6
 | torch.special.modified_bessel_k0(x), torch.special.modified_bessel_k1(x) | p6
 | torch.special.scaled_modified_bessel_k0(x * 3), torch.special.scaled_modified_bessel_k1(x * 3) | p6
 | torch.special.spherical_bessel_j0(x * 3), torch.special.spherical_bessel_j0(x * 0) | f6
 | torch.special.airy_ai(x * 2) | f6
 | torch.special.chebyshev_polynomial_t(x, 5), torch.special.chebyshev_polynomial_u(x, 4) | f6
 | torch.special.chebyshev_polynomial_v(x, 5), torch.special.chebyshev_polynomial_w(x, 4) | u6
 | torch.special.hermite_polynomial_h(x, 4), torch.special.hermite_polynomial_he(x, 5) | f6
 | torch.special.laguerre_polynomial_l(x, 4), torch.special.legendre_polynomial_p(x, 5) | f6
 | torch.special.shifted_chebyshev_polynomial_t(x, 3), torch.special.shifted_chebyshev_polynomial_u(x, 3) | u6
 | torch.special.chebyshev_polynomial_t(x, y), torch.special.legendre_polynomial_p(x, y) | f6 n6%6
 | torch.special.hermite_polynomial_h(x, y), torch.special.laguerre_polynomial_l(x, y) | f6 n6%6
 | torch.special.i0e(x), torch.special.i1(x), torch.special.i1e(x) | f6
 | torch.special.ndtri(x), torch.special.log_ndtr(x * 4) | u6
 | torch.special.erfcx(x * 2), torch.special.entr(x) | f6
 | torch.special.multigammaln(x + 2, 3), torch.special.polygamma(2, x) | p6
 | torch.digamma(x), torch.lgamma(x) | f6
 | torch.special.psi(x), torch.special.gammaln(x) | d6
 | torch.erfinv(x), torch.erfc(x), torch.special.erf(x) | u6
decompose | torch.linalg.cholesky(x @ x.mT + 3 * torch.eye(4)) | f2x4x4
 | torch.linalg.cholesky(x @ x.mT + 3 * torch.eye(4), upper=True) | f4x4
 | torch.cholesky(x @ x.mT + torch.eye(3)) | f3x3
 | torch.linalg.cholesky_ex(x @ x.mT + torch.eye(3))[0] | f3x3
 | torch.cholesky_solve(y, torch.linalg.cholesky(x @ x.mT + torch.eye(3))) | f3x3 f3x2
 | torch.cholesky_inverse(torch.linalg.cholesky(x @ x.mT + torch.eye(3))) | f3x3
 | torch.linalg.qr(x)[0], torch.linalg.qr(x)[1] | f4x3
 | torch.linalg.qr(x, mode="complete")[1] | f2x4x4
 | torch.linalg.qr(x)[1] | f3x5
 | torch.linalg.lu(x)[0], torch.linalg.lu(x)[1], torch.linalg.lu(x)[2] | f4x4
 | torch.linalg.lu_factor(x)[0], torch.linalg.lu_factor(x)[1] | f4x4
 | torch.lu_solve(y, *torch.linalg.lu_factor(x)) | f4x4 f4x2
 | torch.linalg.eigvalsh(x + x.mT) | f4x4
 | torch.linalg.eigh(x + x.mT)[0], torch.linalg.eigh(x + x.mT)[1].abs() | f4x4
 | torch.linalg.svdvals(x) | f4x3
 | torch.linalg.svd(x, full_matrices=False)[1] | f2x3x4
 | torch.linalg.svd(x, full_matrices=False)[0].abs() | f4x3
 | torch.svd(x)[1] | f3x3
 | torch.linalg.pinv(x) | f5x3
 | torch.linalg.pinv(x) | f3x5
 | torch.pinverse(x) | f4x2
 | torch.linalg.matrix_rank(x) | f4x3
 | torch.linalg.matrix_rank(x @ y) | f4x2 f2x4
 | torch.linalg.lstsq(x, y)[0] | f5x3 f5x2
 | torch.linalg.cond(x), torch.linalg.cond(x, 1), torch.linalg.cond(x, "fro") | f3x3
 | torch.linalg.matrix_norm(x, 2), torch.linalg.matrix_norm(x, "nuc"), torch.linalg.matrix_norm(x, -2) | f3x4
 | torch.linalg.norm(x, 2), torch.linalg.norm(x, "nuc"), torch.norm(x, "nuc") | f3x4
 | torch.linalg.householder_product(x, y) | f4x3 f3
 | torch.linalg.ldl_factor(x + x.mT)[0] | f3x3
solving | torch.linalg.solve_triangular(x.tril() + 2 * torch.eye(4), y, upper=False) | f4x4 f4x2
 | torch.linalg.solve_triangular(x.triu() + 2 * torch.eye(4), y, upper=True) | f2x4x4 f2x4x2
 | torch.linalg.solve_triangular(x.triu() + 2 * torch.eye(4), y, upper=True, left=False) | f4x4 f2x4
 | torch.linalg.solve_triangular(x.tril(), y, upper=False, unitriangular=True) | f4x4 f4x2
 | torch.triangular_solve(y, x.triu() + 2 * torch.eye(4))[0] | f4x4 f4x2
 | torch.linalg.solve(x + 6 * torch.eye(20), y) | f20x20 f20x3
 | torch.linalg.solve(x + 6 * torch.eye(4), y) | f2x4x4 f2x4
 | torch.linalg.inv(x + 6 * torch.eye(24)) | f24x24
 | torch.linalg.inv(x + 3 * torch.eye(3)) | d3x3
 | torch.linalg.tensorinv(x.reshape(2, 3, 6) + 3 * torch.eye(6).reshape(2, 3, 6)) | f6x6
 | torch.linalg.tensorsolve(x.reshape(2, 3, 6) + 3 * torch.eye(6).reshape(2, 3, 6), y) | f6x6 f2x3
 | torch.linalg.matrix_power(x, 0), torch.linalg.matrix_power(x, 5) | f3x3
 | torch.linalg.det(x), torch.logdet(x @ x.mT), torch.linalg.slogdet(x)[1] | f2x4x4
 | torch.linalg.det(x) | d5x5
 | torch.linalg.matrix_exp(x) | f2x4x4
 | torch.linalg.vander(x), torch.linalg.vander(x, N=4) | f3
 | torch.linalg.vector_norm(x, 3, dim=(0, 1)), torch.linalg.vector_norm(x, dtype=torch.float64) | f3x4
 | torch.linalg.diagonal(x), torch.linalg.matmul(x, x.mT), torch.linalg.multi_dot((x, x.mT, x)) | f3x4
statistics | torch.nanquantile(x / y, 0.4) | f12 n12%2
 | torch.nanquantile(x / y, 0.5, dim=1) | f3x8 n3x8%3
 | torch.quantile(x, y.abs(), dim=1) | f3x8 u3
 | torch.quantile(x, torch.tensor([0.25, 0.5, 0.75]), dim=0, keepdim=True) | f8x3
 | torch.quantile(x, 0.4, interpolation="lower"), torch.quantile(x, 0.4, interpolation="higher") | f8
 | torch.quantile(x, 0.4, interpolation="nearest"), torch.quantile(x, 0.4, interpolation="midpoint") | f8
 | torch.quantile(x, 0.4) | d8
 | torch.nanmedian(x / y) | f12 n12%3
 | torch.nanmedian(x / y, 1)[0] | f3x8 n3x8%3
 | torch.median(x), torch.median(x, 0)[0] | i5x3
 | torch.mode(x, 0) | n6x3%3
 | torch.mode(x, 1, keepdim=True) | n3x6%3
 | torch.kthvalue(x, 3, 0, keepdim=True) | i5x3
 | torch.msort(x) | i5x3
 | torch.nansum(x / y, 1), torch.nanmean(x / y, 1) | f3x8 n3x8%2
 | torch.histc(x), torch.histc(x, bins=5) | f20
 | torch.histc(x, bins=4, min=-1, max=1) | d20
 | torch.histogram(x, 5, range=(-2.0, 2.0))[0], torch.histogram(x, 5, range=(-2.0, 2.0))[1] | f20
 | torch.histogram(x, y)[0] | f20 a5
 | torch.histogram(x, 4, range=(-2.0, 2.0), density=True)[0] | f20
 | torch.bincount(x, minlength=9) | n8%5
 | torch.bincount(x, y) | n8%5 f8
 | torch.cov(x, correction=0) | f3x6
 | torch.cov(x, fweights=y) | f3x6 n6%3+1
 | torch.corrcoef(x) | d3x6
 | torch.cov(x) | f6
 | torch.std(x, correction=0), torch.var(x, dim=(0, 1), correction=2) | d3x4
 | torch.gradient(x)[0] | f6
 | torch.gradient(x, spacing=2.0, dim=1)[0] | f4x6
 | torch.gradient(x)[0], torch.gradient(x)[1] | f4x6
 | torch.gradient(x, spacing=(y,), dim=0, edge_order=1)[0] | f5 a5
 | torch.gradient(x, edge_order=2)[0] | f6
 | torch.trapezoid(x, y), torch.trapz(x, dx=2.0) | f2x5 a2x5
 | torch.cumulative_trapezoid(x, y, dim=0) | f5x2 a5x2
 | torch.diff(x, prepend=y, append=y) | f2x5 f2x1
 | torch.diff(x) | b6
 | torch.logcumsumexp(x, 0) | d6
 | torch.cummax(x, 0) | i6
 | torch.cumprod(x, 0), torch.cumsum(x, 0) | I6
 | torch.count_nonzero(x, dim=(0, 1)) | b3x4
 | torch.renorm(x, 1, 1, 0.5) | f3x4
 | torch.renorm(x, float("inf"), 0, 0.5) | f3x4
 | torch.aminmax(x)[0], x.amax((0, 1)) | i3x4
 | x.argmax(), x.argmin(1) | I3x4
 | x.sum(), x.prod(), x.sum(0) | c3x2
 | x.sum(dtype=torch.float16), x.mean(dtype=torch.float64) | i3x2
 | x.std(), x.mean(), x.var(0) | h6
 | x.max(), x.min() | b6
 | x.any(0), x.all(1) | B3x4
 | torch.std_mean(x, dim=[0, 1]), torch.var_mean(x) | d3x4
losses | F.multilabel_margin_loss(x, y) | f3x4 n3x4%4
 | F.multilabel_margin_loss(x, torch.tensor([[2, 0, -1, 1], [1, -1, 0, 0], [3, 2, 1, 0]])) | f3x4
 | F.multilabel_margin_loss(x, torch.tensor([2, 0, -1, 1]), reduction="sum") | f4
 | F.multi_margin_loss(x, y), F.multi_margin_loss(x, y, p=2, margin=0.5, weight=z, reduction="none") | f3x4 n3%4 p4
 | F.multilabel_soft_margin_loss(x, y.sigmoid()), F.multilabel_soft_margin_loss(x, y.sigmoid(), z) | f3x4 f3x4 p4
 | F.ctc_loss(F.log_softmax(x, -1), y, torch.tensor([8, 7]), torch.tensor([3, 2])) | f8x2x5 n2x3%4+1
 | F.ctc_loss(F.log_softmax(x, -1), y, (8, 7), (3, 2), reduction="none") | f8x2x5 n2x3%4+1
 | F.ctc_loss(F.log_softmax(x, -1), y, z, w, blank=4, reduction="sum", zero_infinity=True) | f8x2x5 n2x3%4 n2%3+6 n2%2+2
 | F.ctc_loss(F.log_softmax(x, -1), y, (8, 7), (3, 2)) | f8x2x5 n5%4+1
 | F.gaussian_nll_loss(x, y, z, full=True, reduction="none"), F.gaussian_nll_loss(x, y, z) | f2x3 f2x3 p2x1
 | F.poisson_nll_loss(x, y, full=True), F.poisson_nll_loss(x.abs(), y, log_input=False, reduction="none") | f2x3 p2x3
 | F.triplet_margin_loss(x, y, z, p=1.0, swap=True, reduction="none") | f2x3 f2x3 f2x3
 | F.triplet_margin_with_distance_loss(x, y, z, margin=0.5) | f2x3 f2x3 f2x3
 | F.nll_loss(x, y, ignore_index=2, reduction="sum"), F.nll_loss(x, y, weight=z, reduction="none") | f4x3 n4%3 p3
 | F.nll_loss(x, y) | f2x3x4x5 n2x4x5%3
 | F.cross_entropy(x, y.softmax(1)) | f4x3 f4x3
 | F.cross_entropy(x, y.softmax(1), weight=z, label_smoothing=0.1, reduction="sum") | f4x3 f4x3 p3
 | F.cross_entropy(x, y) | f5 n%5
 | F.cross_entropy(x, y, label_smoothing=0.2, ignore_index=1, weight=z) | f4x3 n4%3 p3
 | F.smooth_l1_loss(x, y, beta=0.3, reduction="sum"), F.smooth_l1_loss(x, y, beta=0.0) | d2x3 d2x3
 | F.huber_loss(x, y, reduction="none", delta=2.0), F.l1_loss(x, y, reduction="sum") | f2x3 f2x3
 | F.kl_div(x, y.log_softmax(0), log_target=True, reduction="sum"), F.kl_div(x, y.softmax(0)) | f2x3 f2x3
 | F.margin_ranking_loss(x, y, z.sign(), margin=0.3, reduction="none") | f4 f4 f4
 | F.cosine_embedding_loss(x, y, z.sign(), margin=0.2, reduction="sum") | f3x4 f3x4 f3
 | F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), weight=z, reduction="sum") | f2x3 f2x3 p3
 | F.mse_loss(x, y) | h2x3 h2x3
""")
