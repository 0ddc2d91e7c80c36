"""Each ATen operator in several forms, one module for each: name | expression of x, y, z, w | their kinds.

A kind is a letter and dimensions. f float32, p positive, u within (-1, 1), a ascending; d double, h half, g bfloat16;
i int64, n int64 in [0, HIGH) (n2x3%4, and n2x3%4+1 from 1 on), I int32, B uint8, c int8, s int16, b bool; d%HIGH are
different integers, t is bool with a True in each row, m the ends 0, 2, 6. A line without a name belongs to the one
above. Each form is there once more as ..._dyn, exported with all dimensions of any size, where torch can.
"""

import importlib.util
import os
import re
import sys
import tempfile
import zlib

import numpy as np
import torch
from torch.nn import functional as F
from torch_case import CASES, Case

LIST = r"""
add | x + y | f2x3 f2x3
 | x + y | f2x3 f3
 | x + 2 | f2x3
 | x + 2.5 | i2x3
 | x + 2 | i2x3
 | torch.add(x, y, alpha=3) | f2x3 f2x3
 | torch.add(x, y, alpha=2) | i2x3 i2x3
 | x + y | i2x3 f2x3
 | x + y | b2x3 b2x3
 | x + y | b2x3 i2x3
 | x + y | f2x3 d
 | x + y | i2x3 f
 | x + y | I2x3 i
 | x + y | h2x3 f
 | x + y | h2x3 f2x3
 | x + y | B2x3 c2x3
 | x + y | s2x3 I2x3
 | x.add_(y) | f2x3 f3
 | x.add_(y, alpha=2.0) | f2x3 f3
 | x + True | i2x3
 | x + 1.0 | h2x3
 | x + 1 | g2x3
sub | x - y | f2x3 f3
 | x - 1 | i2x3
 | 1 - x | f2x3
 | 1.5 - x | i2x3
 | torch.sub(x, y, alpha=0.5) | f2x3 f2x3
 | torch.rsub(x, y) | f2x3 f2x3
 | torch.rsub(x, 2.0, alpha=3) | f2x3
 | x.sub_(1.0) | f2x3
mul | x * y | f2x3 f2x1
 | x * 3 | f2x3
 | x * 0.5 | i2x3
 | x * y | b2x3 f2x3
 | x * y | b2x3 b2x3
 | x * y | f f2x3
 | x.mul_(y) | f2x3 f3
 | x * y | d2x3 f2x3
 | torch.multiply(x, y) | f2x3 f2x3
div | x / y | f2x3 p2x3
 | x / 3 | f2x3
 | x / 2 | i2x3
 | x / y | i2x3 n2x3%5+1
 | torch.div(x, y, rounding_mode="floor") | f2x3 p2x3
 | torch.div(x, y, rounding_mode="trunc") | f2x3 p2x3
 | torch.div(x, 2, rounding_mode="floor") | i2x3
 | torch.div(x, 2, rounding_mode="trunc") | i2x3
 | x // 2 | f2x3
 | x // 3 | i2x3
 | x // y | i2x3 n2x3%4+1
 | 1 / x | p2x3
 | torch.true_divide(x, y) | f2x3 p2x3
 | x.div_(2.0) | f2x3
 | x // -3 | i2x3
 | torch.floor_divide(x, 2) | B2x3
remainder | x % 3 | i2x3
 | x % -3 | i2x3
 | x % 1.5 | f2x3
 | torch.remainder(x, y) | f2x3 p2x3
 | torch.remainder(x, y) | i2x3 n2x3%4+1
 | torch.remainder(7, x) | n2x3%4+1
 | torch.fmod(x, 3) | i2x3
 | torch.fmod(x, 1.5) | f2x3
 | torch.fmod(x, y) | f2x3 p2x3
pow | x ** 2 | f2x3
 | x ** 3 | i2x3
 | x ** 0.5 | p2x3
 | x ** y | p2x3 f2x3
 | 2 ** x | f2x3
 | torch.pow(2.0, x) | i2x3
 | x ** 2.0 | i2x3
 | x ** -1 | p2x3
 | torch.pow(x, y) | i2x3 n2x3%4
 | torch.float_power(x, 2) | f2x3
 | x.pow_(2) | f2x3
abs | x.abs() | f2x3
 | x.abs() | i2x3
 | torch.absolute(x) | d2x3
neg | -x | f2x3
 | -x | i2x3
 | x.neg_() | f2x3
sign | x.sign() | f2x3
 | x.sign() | i2x3
 | torch.sgn(x) | f2x3
 | torch.signbit(x) | f2x3
 | torch.copysign(x, y) | f2x3 f2x3
 | torch.copysign(x, -1.0) | f2x3
exp | x.exp() | f2x3
 | x.exp() | i2x3
 | torch.exp2(x) | f2x3
 | torch.expm1(x) | f2x3
 | x.exp_() | f2x3
 | torch.ldexp(x, y) | f2x3 i2x3
log | x.log() | p2x3
 | x.log2() | p2x3
 | x.log10() | p2x3
 | x.log1p() | p2x3
 | x.log() | n2x3%5+1
 | torch.logaddexp(x, y) | f2x3 f2x3
 | torch.logaddexp2(x, y) | f2x3 f2x3
 | torch.logit(x, eps=1e-6) | u2x3
 | torch.xlogy(x, y) | f2x3 p2x3
 | torch.special.xlog1py(x, y) | f2x3 p2x3
sqrt | x.sqrt() | p2x3
 | x.rsqrt() | p2x3
 | x.square() | f2x3
 | x.reciprocal() | p2x3
 | x.sqrt() | n2x3%9
 | x.reciprocal() | n2x3%5+1
 | x.sqrt_() | p2x3
floor | x.floor() | f2x3
 | x.ceil() | f2x3
 | x.round() | f2x3
 | x.trunc() | f2x3
 | x.frac() | f2x3
 | torch.round(x, decimals=1) | f2x3
 | torch.round(x, decimals=-1) | f2x3
 | torch.fix(x) | f2x3
 | x.floor() | i2x3
trig | x.sin(), x.cos(), x.tan() | f2x3
 | x.asin(), x.acos(), x.atan() | u2x3
 | x.sinh(), x.cosh(), x.tanh() | f2x3
 | x.asinh(), x.atanh() | u2x3
 | torch.acosh(x + 1) | p2x3
 | torch.atan2(x, y) | f2x3 f2x3
 | torch.arctan2(x, y) | f2x3 p3
 | torch.sinc(x) | f2x3
 | torch.deg2rad(x), torch.rad2deg(x) | f2x3
 | torch.hypot(x, y) | f2x3 f2x3
 | x.sin() | i2x3
erf | x.erf(), x.erfc() | f2x3
 | torch.erfinv(x) | u2x3
 | torch.special.expit(x) | f2x3
 | torch.lgamma(x) | p2x3
 | torch.digamma(x) | p2x3
 | torch.special.ndtr(x) | f2x3
 | torch.special.i0(x) | f2x3
sigmoid | x.sigmoid() | f2x3
 | x.sigmoid() | i2x3
 | F.logsigmoid(x) | f2x3
 | x.sigmoid_() | f2x3
 | x.tanh_() | f2x3
relu | F.relu(x) | f2x3
 | F.relu(x) | i2x3
 | F.relu_(x.clone()) | f2x3
 | F.relu6(x) | f2x3
 | F.relu(x, inplace=True) | f2x3
leaky_relu | F.leaky_relu(x) | f2x3
 | F.leaky_relu(x, 0.3) | f2x3
 | F.leaky_relu(x, 0.3, inplace=True) | f2x3
elu | F.elu(x, 0.5) | f2x3
 | F.celu(x, 0.7) | f2x3
 | F.selu(x) | f2x3
 | F.elu(x, 1.5, inplace=True) | f2x3
gelu | F.gelu(x) | f2x3
 | F.gelu(x, approximate="tanh") | f2x3
 | F.gelu(x) | h2x3
silu | F.silu(x), F.mish(x) | f2x3
 | F.silu(x, inplace=True) | f2x3
hard | F.hardswish(x), F.hardsigmoid(x) | f2x3
 | F.hardtanh(x, -0.5, 0.7) | f2x3
 | F.hardshrink(x, 0.3), F.softshrink(x, 0.3), F.tanhshrink(x) | f2x3
 | F.softsign(x), F.softplus(x), F.softplus(x, 2.0, 1.0) | f2x3
 | F.threshold(x, 0.2, 3.0) | f2x3
 | F.hardswish(x, inplace=True) | f2x3
prelu | F.prelu(x, y) | f2x3x4 p3
 | F.prelu(x, y) | f2x3 p1
 | F.rrelu(x, 0.1, 0.3, training=False) | f2x3
glu | F.glu(x) | f2x6
 | F.glu(x, 0) | f4x3
 | F.glu(x, 1) | f2x4x3
softmax | F.softmax(x, -1) | f2x3
 | F.softmax(x, 0) | f2x3x4
 | F.log_softmax(x, 1) | f2x3x4
 | F.softmax(x, 1, dtype=torch.float64) | f2x3
 | F.softmax(x.half(), -1, dtype=torch.float32) | f2x3
 | F.softmin(x, 1) | f2x3
 | torch.special.log_softmax(x, 1) | f2x3
 | torch.softmax(x, 1) | f2x3x4x5
compare | x == y, x != y, x < y, x <= y, x > y, x >= y | n2x3%3 n2x3%3
 | x == 1, x != 1, x < 1, x <= 1, x > 1, x >= 1 | n2x3%3
 | x > 0.5 | i2x3
 | x < y | i2x3 f2x3
 | x == y | b2x3 b2x3
 | x == True | b2x3
 | torch.eq(x, y), torch.ne(x, y) | f2x3 f2x3
 | torch.isclose(x, y) | f2x3 f2x3
 | torch.heaviside(x, y) | f2x3 f3
 | torch.equal(x, x) and True | f2x3
logical | x & y, x | y, x ^ y, ~x | b2x3 b2x3
 | torch.logical_and(x, y), torch.logical_or(x, y), torch.logical_xor(x, y), torch.logical_not(x) | n2x3%2 f2x3
 | torch.logical_not(x) | b2x3
 | torch.bitwise_and(x, y), torch.bitwise_or(x, y), torch.bitwise_xor(x, y) | n2x3%16 n2x3%16
 | torch.bitwise_not(x) | i2x3
 | torch.bitwise_not(x) | b2x3
 | x & 3, x | 4 | n2x3%16
 | x << 2, x >> 1 | n2x3%16
 | torch.bitwise_left_shift(x, y) | n2x3%16 n2x3%4
 | x.logical_and_(y) | b2x3 b2x3
isnan | torch.isnan(x / y), torch.isinf(x / y), torch.isfinite(x / y) | n2x3%2 n2x3%2
 | torch.nan_to_num(x / y) | n2x3%2 n2x3%2
 | torch.nan_to_num(x / y, nan=1.0, posinf=5.0, neginf=-5.0) | i2x3 n2x3%2
 | torch.isposinf(x / y), torch.isneginf(x / y) | i2x3 n2x3%2
any | x.any(), x.all() | b2x3
 | x.any(1), x.all(0) | b2x3
 | x.any(1, keepdim=True), x.all(-1, keepdim=True) | b2x3
 | torch.any(x, dim=(0, 2)) | b2x3x4
 | x.any() | f2x3
 | x.all(1) | n2x3%2
sum | x.sum() | f2x3
 | x.sum(1) | f2x3x4
 | x.sum((0, 2), keepdim=True) | f2x3x4
 | x.sum(-1) | i2x3
 | x.sum() | b2x3
 | x.sum(0) | b2x3
 | x.sum(1, dtype=torch.float64) | f2x3
 | x.sum(1, dtype=torch.float32) | i2x3
 | x.sum([]) | f2x3
 | x.sum() | I2x3
 | torch.nansum(x / y) | i2x3 n2x3%2+1
mean | x.mean() | f2x3
 | x.mean(1) | f2x3x4
 | x.mean((-1, -2), keepdim=True) | f2x3x4x5
 | x.mean(0, dtype=torch.float32) | i2x3
 | torch.nanmean(x) | f2x3
 | x.median() | f2x5
 | torch.median(x, 1) | f2x5
 | torch.mode(x, 1) | n2x5%3
 | torch.quantile(x, 0.3) | f2x5
 | torch.quantile(x, 0.5, dim=1, keepdim=True) | f2x5
prod | x.prod() | f2x3
 | x.prod(1) | f2x3
 | x.prod(1, keepdim=True) | i2x3
 | x.prod(0) | b2x3
max | x.max() | f2x3
 | x.max(1) | f2x3
 | x.max(1, keepdim=True) | f2x3
 | x.min(0) | f2x3x4
 | x.min() | i2x3
 | torch.max(x, y), torch.min(x, y) | f2x3 f3
 | x.max(0)[0] | i2x3
 | torch.maximum(x, y), torch.minimum(x, y) | i2x3 f2x3
 | torch.fmax(x, y), torch.fmin(x, y) | f2x3 f2x3
 | x.max(1).values, x.max(1).indices | n3x5%3
amax | x.amax(), x.amin() | f2x3
 | x.amax(1), x.amin(-1, keepdim=True) | f2x3x4
 | x.amax((0, 2)) | f2x3x4
 | x.aminmax() | f2x3
 | torch.aminmax(x, dim=1, keepdim=True) | f2x3
argmax | x.argmax() | f2x3
 | x.argmax(1) | f2x3
 | x.argmin(0, keepdim=True) | f2x3
 | x.argmin() | i2x3
 | x.argmax(-1) | n3x5%3
var | x.var() | f2x5
 | x.var(1) | f2x5
 | x.var(1, unbiased=False) | f2x5
 | x.var((0, 2), keepdim=True) | f2x3x4
 | x.var(1, correction=0) | f2x5
 | torch.var(x, dim=1, correction=2) | f2x5
 | x.std() | f2x5
 | x.std(1, keepdim=True) | f2x5
 | x.std((0, 1), unbiased=False) | f2x3x4
 | torch.var_mean(x, 1) | f2x5
 | torch.std_mean(x, (0, 1), unbiased=False, keepdim=True) | f2x3x4
norm | torch.norm(x) | f2x3
 | torch.norm(x, 1) | f2x3
 | torch.norm(x, 2, 1) | f2x3
 | torch.norm(x, dim=1, keepdim=True) | f2x3
 | x.norm(p=float("inf"), dim=1) | f2x3
 | torch.norm(x, 3.0, 1) | f2x3
 | torch.norm(x, "fro") | f2x3
 | torch.linalg.vector_norm(x) | f2x3
 | torch.linalg.vector_norm(x, 1, dim=1) | f2x3
 | torch.linalg.vector_norm(x, float("-inf"), dim=(0, 1), keepdim=True) | f2x3
 | torch.linalg.norm(x) | f2x3
 | torch.linalg.matrix_norm(x) | f2x3x4
 | F.normalize(x) | f2x3
 | F.normalize(x, p=1.0, dim=0) | f2x3
 | torch.linalg.vector_norm(x, 0, dim=1) | n2x3%2f
 | torch.renorm(x, 2, 0, 1.0) | f3x4
 | torch.dist(x, y) | f2x3 f2x3
logsumexp | x.logsumexp(1) | f2x3
 | x.logsumexp((0, 1), keepdim=True) | f2x3
 | torch.logcumsumexp(x, 1) | f2x3
cumsum | x.cumsum(1) | f2x3
 | x.cumsum(0) | i2x3
 | x.cumsum(-1) | b2x3
 | x.cumsum(0, dtype=torch.float32) | i2x3
 | x.cumprod(1) | f2x3
 | torch.cummax(x, 1) | f2x5
 | torch.cummin(x, 0) | f4x2
 | torch.diff(x) | f2x5
 | torch.diff(x, n=2, dim=0) | f4x2
 | torch.trapezoid(x, dx=0.5) | f2x5
 | torch.cumulative_trapezoid(x) | f2x5
cosine | F.cosine_similarity(x, y) | f3x4 f3x4
 | F.cosine_similarity(x, y, dim=0) | f3x4 f3x4
 | F.pairwise_distance(x, y) | f3x4 f3x4
 | torch.cdist(x, y) | f3x4 f5x4
 | torch.cdist(x, y, p=1.0) | f2x3x4 f2x5x4
 | F.pdist(x) | f4x3
clamp | x.clamp(-0.5, 0.5) | f2x3
 | x.clamp(min=0) | f2x3
 | x.clamp(max=0.3) | f2x3
 | x.clamp(-2, 2) | i2x3
 | x.clamp(-0.5, 2) | i2x3
 | torch.clamp(x, y, z) | f2x3 u3 p3
 | torch.clamp(x, min=y) | f2x3 u3
 | x.clamp_min(0.1), x.clamp_max(0.1) | f2x3
 | x.clamp_(0, 1) | f2x3
 | torch.clip(x, -1, 1) | f2x3
 | torch.clamp(x, 1.0, -1.0) | f2x3
where | torch.where(x, y, z) | b2x3 f2x3 f2x3
 | torch.where(x > 0, x, 0.0) | f2x3
 | torch.where(x > 0, 1.0, x) | f2x3
 | torch.where(x, y, z) | b2x1 i2x3 f3
 | torch.where(x > 0, 1, 0) | f2x3
 | torch.where(x > 0, 1.5, -1.5) | f2x3
 | torch.where(x, y, -1) | b2x3 f
 | torch.where(x > 0) | f3x4
masked_fill | x.masked_fill(y, 0.5) | f2x3 b2x3
 | x.masked_fill(y, float("-inf")) | f2x3 b3
 | x.masked_fill(y, -1) | i2x3 b2x3
 | x.masked_fill(y, z) | f2x3 b2x3 f
 | x.masked_fill_(y, 2) | f2x3 b2x3
 | x.masked_scatter(y, z) | f2x3 b2x3 f6
 | x.masked_select(y) | f2x3 b2x3
 | x.masked_fill(y == 0, -1e9) | f2x3 n2x3%2
lerp | torch.lerp(x, y, 0.3) | f2x3 f2x3
 | torch.lerp(x, y, z) | f2x3 f2x3 u2x3
 | torch.addcmul(x, y, z, value=0.5) | f2x3 f2x3 f3
 | torch.addcdiv(x, y, z, value=2) | f2x3 f2x3 p2x3
matmul | x @ y | f2x3 f3x4
 | x @ y | f3 f3
 | x @ y | f2x3 f3
 | x @ y | f3 f3x4
 | x @ y | f2x3x4 f4x5
 | x @ y | f2x1x3x4 f5x4x2
 | torch.mm(x, y) | f2x3 f3x4
 | torch.bmm(x, y) | f2x3x4 f2x4x5
 | torch.mv(x, y), torch.dot(y, y) | f2x3 f3
 | torch.matmul(x, y) | i2x3 i3x4
 | torch.matmul(x, y) | f3 f2x3x4
 | torch.linalg.multi_dot([x, y, z]) | f2x3 f3x4 f4x2
 | torch.chain_matmul(x, y) | f2x3 f3x4
 | torch.inner(x, y) | f2x3 f4x3
 | torch.linalg.vecdot(x, y) | f2x3 f2x3
addmm | torch.addmm(x, y, z) | f2x4 f2x3 f3x4
 | torch.addmm(x, y, z, beta=0.5, alpha=2.0) | f4 f2x3 f3x4
 | torch.addmm(x, y, z, beta=0) | f4 f2x3 f3x4
 | torch.baddbmm(x, y, z) | f2x3x5 f2x3x4 f2x4x5
 | torch.baddbmm(x, y, z, beta=0, alpha=0.25) | f2x3x5 f2x3x4 f2x4x5
 | torch.addbmm(x, y, z) | f3x5 f2x3x4 f2x4x5
 | torch.addmv(x, y, z) | f2 f2x3 f3
 | torch.addr(x, y, z) | f2x3 f2 f3
linear | F.linear(x, y, z) | f2x3 f4x3 f4
 | F.linear(x, y) | f2x5x3 f4x3
 | F.linear(x, y, z) | f3 f4x3 f4
 | F.bilinear(x, y, z, w) | f2x3 f2x4 f5x3x4 f5
 | F.linear(x, y, z) | f2x5x6x3 f4x3 f4
outer | torch.outer(x, y) | f3 f4
 | torch.kron(x, y) | f2x3 f3x2
 | torch.cross(x, y, dim=1) | f2x3 f2x3
 | torch.linalg.cross(x, y) | f2x3 f2x3
 | torch.tensordot(x, y, dims=1) | f2x3 f3x4
 | torch.tensordot(x, y, dims=([1, 0], [0, 1])) | f2x3 f3x2
 | torch.cartesian_prod(x, y) | f3 f2
 | torch.combinations(x) | f4
einsum | torch.einsum("ij,jk->ik", x, y) | f2x3 f3x4
 | torch.einsum("bhid,bhjd->bhij", x, y) | f2x2x3x4 f2x2x5x4
 | torch.einsum("ii", x) | f3x3
 | torch.einsum("ij->ji", x) | f2x3
 | torch.einsum("b...d,de->b...e", x, y) | f2x3x4 f4x5
 | torch.einsum("nchw,cd->ndhw", x, y) | f2x3x4x5 f3x6
linalg | torch.det(x) | f3x3
 | torch.linalg.det(x) | f2x3x3
 | torch.trace(x) | f3x3
 | torch.inverse(x + 3 * torch.eye(3)) | f3x3
 | torch.linalg.inv(x + 3 * torch.eye(2)) | f4x2x2
 | torch.linalg.solve(x + 3 * torch.eye(3), y) | f3x3 f3x2
 | torch.linalg.cholesky(x @ x.t() + torch.eye(3)) | f3x3
 | torch.matrix_power(x, 3) | f3x3
 | torch.linalg.matrix_exp(x) | f3x3
 | torch.slogdet(x) | f3x3
reshape | x.view(3, 2) | f2x3
 | x.view(-1) | f2x3
 | x.reshape(2, -1) | f2x3x4
 | x.reshape(x.shape[0], -1, 2) | f2x3x4
 | x.view(2, 1, -1) | f2x3
 | x.reshape(()) | f1
 | x.view_as(y), x.reshape_as(y) | f2x3 f3x2
 | x.flatten() | f2x3x4
 | x.flatten(1) | f2x3x4
 | x.flatten(0, 1) | f2x3x4
 | x.flatten(-2) | f2x3x4x5
 | x.flatten() | f
 | x.unflatten(1, (2, 2)) | f3x4
 | x.unflatten(-1, (-1, 2)) | f3x4
 | torch.ravel(x) | f2x3
 | x.view(torch.int32) | f2x3
 | x.reshape(0, 3) | f0x3
transpose | x.transpose(0, 1) | f2x3
 | x.transpose(-1, -2) | f2x3x4
 | x.permute(2, 0, 1) | f2x3x4
 | x.permute(0, -1, 1) | f2x3x4
 | x.t(), x.T, x.mT | f2x3
 | x.t() | f3
 | x.mT | f2x3x4
 | torch.movedim(x, 0, 2), torch.movedim(x, (0, 1), (1, 2)) | f2x3x4
 | torch.swapaxes(x, 0, 2), torch.swapdims(x, 0, 1), torch.moveaxis(x, 1, 0) | f2x3x4
 | torch.adjoint(x) | f2x3x4
 | torch.rot90(x, 1, [0, 1]) | f2x3
squeeze | x.squeeze() | f1x3x1
 | x.squeeze(0), x.squeeze(1), x.squeeze(-1) | f1x3x1
 | torch.squeeze(x, (0, 2)) | f1x3x1
 | x.unsqueeze(0), x.unsqueeze(-1), x.unsqueeze(1) | f2x3
 | x[None], x[:, None], x[..., None] | f2x3
 | x.unsqueeze_(1) | f2x3
 | torch.atleast_1d(x), torch.atleast_2d(x), torch.atleast_3d(x) | f3
slice | x[1:], x[:-1], x[::2], x[:, 1:3] | f4x5
 | x[-2:], x[:, -3:-1] | f4x5
 | x[..., 1], x[0], x[-1], x[1, 2] | f4x5
 | x[1:100], x[3:2], x[:, ::3] | f4x5
 | x.narrow(1, 1, 2) | f4x5
 | x.select(1, -1), x.select(0, 2) | f4x5
 | torch.narrow(x, 0, 0, 2) | f4x5
 | x[:, None, 1:], x[..., None, :2] | f4x5
 | x[0, ..., 1] | f2x3x4x5
cat | torch.cat([x, y]) | f2x3 f4x3
 | torch.cat([x, y, x], 1) | f2x3 f2x1
 | torch.cat([x, y], -1) | f2x3 i2x3
 | torch.cat([x, y], 1) | f2x3 f0
 | torch.cat([x]) | f2x3
 | torch.stack([x, y]), torch.stack([x, y], 1), torch.stack([x, y], -1) | f2x3 f2x3
 | torch.hstack([x, y]), torch.vstack([x, y]), torch.dstack([x, y]) | f2x3 f2x3
 | torch.hstack([x, y]), torch.column_stack([x, y]) | f3 f3
 | torch.concat([x, y]), torch.concatenate([x, y]) | f2x3 f2x3
 | torch.block_diag(x, y) | f2x3 f1x2
split | torch.split(x, 2) | f5x3
 | torch.split(x, [1, 3, 1]) | f5x3
 | x.split(2, 1) | f2x4
 | x.chunk(3) | f7x2
 | x.chunk(2, -1) | f2x4
 | x.unbind() | f3x2
 | x.unbind(1) | f2x3
 | torch.tensor_split(x, 3) | f7x2
 | torch.tensor_split(x, (1, 4), dim=0) | f7x2
 | torch.hsplit(x, 2), torch.vsplit(x, 2) | f4x4
 | torch.unsafe_chunk(x, 2), torch.unsafe_split(x, 2) | f4x2
 | x.split_with_sizes([2, 3], 1) | f2x5
expand | x.expand(2, 3) | f1x3
 | x.expand(4, -1, 3) | f2x1
 | x.expand_as(y) | f1x3 f2x3
 | torch.broadcast_to(x, (2, 2, 3)) | f2x3
 | torch.broadcast_tensors(x, y) | f2x1 f3
 | x.repeat(2, 3) | f2x3
 | x.repeat(2, 1, 2) | f2x3
 | torch.tile(x, (2,)), torch.tile(x, (2, 1, 2)) | f2x3
 | x.repeat_interleave(2) | f2x3
 | x.repeat_interleave(3, 1) | f2x3
 | torch.repeat_interleave(x, y, 0) | f3x2 n3%3+1
 | x.expand(2, x.size(0), 3) | f4x3
flip | x.flip(0), x.flip(0, 1), x.flip(-1) | f2x3
 | torch.fliplr(x), torch.flipud(x) | f2x3
 | torch.roll(x, 1), torch.roll(x, 2, 1), torch.roll(x, (1, -1), (0, 1)) | f3x4
 | torch.roll(x, -2, 0) | f3x4
tril | x.tril(), x.triu() | f4x5
 | x.tril(1), x.triu(-1), x.triu(2) | f4x5
 | x.tril() | b4x4
 | torch.tril(x, -1) | i2x4x4
 | torch.tril_indices(3, 4), torch.triu_indices(3, 3, 1) |
 | x.diagonal(), x.diagonal(1), torch.diag(x, -1) | f3x4
 | torch.diag(x), torch.diag_embed(x), torch.diagflat(x) | f3
 | x.diagonal(0, 1, 2) | f2x3x4
 | torch.diag_embed(x, 1) | f2x3
 | torch.diagonal_scatter(x, y) | f3x3 f3
 | torch.vander(x, 3) | f4
index | x[y] | f4x3 n2%4
 | x[y] | f4x3 n2x2%4
 | x[:, y] | f4x3 n2%3
 | x[y, z] | f4x3 n2%4 n2%3
 | x[:, y, z] | f2x4x3 n2%4 n2%3
 | x[y, :, z] | f4x2x3 n2%4 n2%3
 | x[y] | f4x3 b4
 | x[y] | f4x3 b4x3
 | x[:, y] | f2x4 b4
 | x[y, 1] | f4x3 n2%4
 | x[y, 1:] | f4x3 n2%4
 | x[y[:, None], z] | f4x3 n2%4 n2%3
 | x[-1 - y] | f4x3 n2%4
 | x[torch.arange(4), y] | f4x3 n4%3
 | x[[0, 2]] | f4x3
 | x[y > 0] | f4x3 f4
 | x[..., y] | f2x4x3 n2%3
 | x[y, z] | f4x3 b4 n1%3
gather | x.gather(1, y) | f3x4 n3x2%4
 | x.gather(0, y) | f3x4 n2x4%3
 | x.gather(-1, y) | f2x3x4 n2x3x1%4
 | torch.take_along_dim(x, y, 1) | f3x4 n3x2%4
 | torch.take(x, y) | f3x4 n5%12
 | x.index_select(1, y) | f3x4 n2%4
 | x.index_select(0, y) | f3x4 n1%3
 | torch.index_select(x, -1, y) | f2x3x4 n3%4
scatter | x.scatter(1, y, z) | f3x4 n3x1%4 f3x1
 | x.scatter(0, y, 2.0) | f3x4 n1x4%3
 | x.scatter_add(1, y, z) | f3x4 n3x2%4 f3x2
 | x.scatter_(1, y, 1.0) | f3x4 n3x1%4
 | x.scatter_reduce(1, y, z, reduce="sum") | f3x4 n3x2%4 f3x2
 | x.scatter_reduce(1, y, z, reduce="amax") | f3x4 n3x2%4 f3x2
 | x.scatter_reduce(1, y, z, reduce="prod") | f3x4 n3x2%4 f3x2
 | x.scatter_reduce(1, y, z, reduce="mean") | f3x4 n3x2%4 f3x2
 | x.scatter_reduce(0, y, z, reduce="amin", include_self=False) | f3x4 n2x4%3 f2x4
 | x.scatter(1, y, z, reduce="add") | f3x4 n3x1%4 f3x1
 | x.index_add(0, y, z) | f3x4 n2%3 f2x4
 | x.index_add(1, y, z, alpha=2) | f3x4 n2%4 f3x2
 | x.index_copy(0, y, z) | f3x4 d1%3 f1x4
 | x.index_fill(1, y, -1.0) | f3x4 n2%4
 | x.index_reduce(0, y, z, "prod") | f3x4 n2%3 f2x4
 | torch.select_scatter(x, y, 0, 1) | f3x4 f4
 | torch.slice_scatter(x, y, 1, 1, 3) | f3x4 f3x2
 | torch.slice_scatter(x, y, 0, 0, 3, 2) | f3x4 f2x4
index_put | x.index_put((y,), z) | f4x3 d2%4 f2x3
 | x.index_put((y,), z, accumulate=True) | f4x3 n3%4 f3x3
 | x.index_put((y, z), w) | f4x3 d2%4 d2%3 f2
 | x.index_put((y,), z) | f4x3 b4x3 f
 | x.index_put_((y,), torch.tensor(0.0)) | f4x3 b4x3
 | torch.index_put(x, (y, z), torch.tensor(1.0), accumulate=True) | f4x3 n3%4 n3%3
sort | x.sort() | f3x5
 | x.sort(0, descending=True) | f3x5
 | torch.sort(x, dim=1, stable=True) | n3x5%3
 | x.argsort(1), x.argsort(0, descending=True) | f3x5
 | x.topk(2) | f3x5
 | x.topk(3, 0, largest=False) | f3x5
 | x.topk(2, sorted=False)[0].sum(-1) | f3x5
 | torch.kthvalue(x, 2, 1) | f3x5
 | torch.msort(x) | f3x5
 | torch.unique(x) | n8%4
 | torch.unique(x, return_inverse=True, return_counts=True) | n8%4
 | torch.unique_consecutive(x) | n8%3
 | torch.unique(x, dim=0) | n5x2%2
 | x.nonzero() | n3x4%2
 | torch.nonzero(x, as_tuple=True) | n3x4%2
 | torch.argwhere(x) | n3x4%2
 | torch.count_nonzero(x), torch.count_nonzero(x, 1) | n3x4%2
 | torch.bincount(x) | n8%5
 | torch.histc(x, 4, -2, 2) | f10
 | torch.bucketize(x, y) | f3x4 a4
 | torch.bucketize(x, y, right=True) | n6%4 a4
 | torch.searchsorted(x, y) | a5 f3
 | torch.searchsorted(x, y, side="right") | a2x5 f2x3
 | torch.isin(x, y) | n6%8 n3%8
 | F.one_hot(x, 5) | n4%5
 | F.one_hot(x) | n4%5
embedding | F.embedding(x, y) | n2x3%5 f5x4
 | F.embedding(x, y, padding_idx=0) | n2x3%5 f5x4
 | F.embedding_bag(x, y, mode="mean") | n2x3%5 f5x4
 | F.embedding_bag(x, y, z, mode="sum", include_last_offset=True) | n6%5 f5x4 m3
 | F.embedding_bag(x, y, mode="sum", per_sample_weights=z) | n2x3%5 f5x4 f2x3
factory | torch.zeros(2, 3), torch.ones(3), torch.full((2,), 7), torch.full((2,), 0.5), torch.eye(3), torch.eye(2, 3) |
 | torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 3), torch.empty_like(x) * 0 | f2x3
 | torch.zeros_like(x, dtype=torch.int64), torch.full_like(x, 2.5, dtype=torch.float64) | f2x3
 | x.new_zeros((2,)), x.new_ones((2, 2)), x.new_full((3,), 5), x.new_empty((2,)) * 0 | f2x3
 | x.new_tensor([1.0, 2.0]) + x | f2
 | torch.arange(5), torch.arange(1, 10, 3), torch.arange(0.0, 1.0, 0.25), torch.arange(5, dtype=torch.float32) |
 | torch.arange(x.shape[0]), torch.arange(5, 0, -2) | f4x3
 | torch.linspace(0, 1, 5), torch.linspace(-1, 1, 4, dtype=torch.float64), torch.logspace(0, 2, 3) |
 | torch.tensor([1, 2]), torch.tensor(2.5), torch.tensor([[True]]), torch.scalar_tensor(3.0) |
 | torch.zeros(x.size(0), x.size(1)) + 1, torch.ones(x.shape) | f2x3
 | torch.meshgrid(x, y, indexing="ij") | f2 f3
 | torch.meshgrid(x, y, indexing="xy") | f2 f3
 | torch.hann_window(8), torch.hamming_window(8), torch.blackman_window(8), torch.bartlett_window(6), torch.kaiser_window(5) |
 | torch.full((2, 2), True), torch.zeros(0, 3), torch.ones(2, dtype=torch.bool) |
 | torch.complex(x, y).abs(), torch.polar(x, y).real | p2x3 f2x3
cast | x.to(torch.int64), x.to(torch.float64), x.to(torch.bool), x.to(torch.float16) | f2x3
 | x.float(), x.int(), x.bool(), x.half(), x.double(), x.long(), x.short(), x.byte() | p2x3
 | x.float(), x.int(), x.long() | b2x3
 | x.type_as(y), x.to(y) | f2x3 i2
 | x.to(torch.float32), x.to(torch.bfloat16).float() | f2x3
 | x.int(), x.long() | f2x3
 | x.clone(), x.contiguous(), x.detach(), x.alias() if False else x + 0 | f2x3
 | x.to(torch.uint8), x.to(torch.int8), x.to(torch.int16) | n2x3%100
shape | torch.tensor(x.shape[0]), torch.tensor(x.numel()), torch.tensor(x.dim()) | f2x3
 | x * x.size(1), x + x.size(0) | f2x3
 | torch.tensor(x.shape) | f2x3
pad | F.pad(x, (1, 2)) | f2x3
 | F.pad(x, (1, 2, 0, 1), value=3.0) | f2x3
 | F.pad(x, (-1, 1)) | f2x3
 | F.pad(x, (1, 2), mode="reflect") | f2x3x4
 | F.pad(x, (1, 2, 2, 1), mode="reflect") | f2x3x4x5
 | F.pad(x, (1, 2), mode="replicate") | f2x3x4
 | F.pad(x, (1, 2, 2, 1), mode="replicate") | f2x3x4x5
 | F.pad(x, (1, 2), mode="circular") | f2x3x4
 | F.pad(x, (1, 2, 1, 0), mode="circular") | f2x3x4x5
 | F.pad(x, (1, 1, 1, 1, 1, 0), mode="replicate") | f2x2x3x4x5
 | F.pad(x, (1, 1), value=2) | i2x3
 | F.pad(x, (1, 1, 0, 0, 1, 0)) | f2x3x4
 | torch.constant_pad_nd(x, [1, 1], 2.0) | f2x3
 | F.pad(x, (1, 1), value=True) | b2x3
conv | F.conv2d(x, y, z) | f2x3x7x6 f4x3x3x3 f4
 | F.conv2d(x, y, stride=2, padding=1) | f2x3x7x6 f4x3x3x3
 | F.conv2d(x, y, padding=(1, 2), dilation=2, groups=3) | f2x3x7x6 f6x1x2x2
 | F.conv2d(x, y, padding="same") | f2x3x7x6 f4x3x3x2
 | F.conv2d(x, y, padding="valid") | f2x3x7x6 f4x3x3x3
 | F.conv2d(x, y, padding="same", dilation=2) | f2x3x7x6 f4x3x4x3
 | F.conv1d(x, y, z, stride=2) | f2x3x8 f4x3x3 f4
 | F.conv1d(x, y, padding="same") | f2x3x8 f4x3x4
 | F.conv3d(x, y) | f1x2x4x5x6 f3x2x2x3x3
 | F.conv2d(x, y) | f3x7x6 f4x3x3x3
 | F.conv1d(x, y) | f3x8 f4x3x3
 | F.conv_transpose2d(x, y, z) | f2x3x4x5 f3x4x3x3 f4
 | F.conv_transpose2d(x, y, stride=2, padding=1, output_padding=1) | f2x3x4x5 f3x4x3x3
 | F.conv_transpose2d(x, y, groups=3, dilation=2) | f2x3x4x5 f3x2x2x2
 | F.conv_transpose1d(x, y, stride=3) | f2x3x5 f3x4x4
 | F.conv_transpose3d(x, y, stride=(1, 2, 1)) | f1x2x3x3x3 f2x2x2x2x2
 | torch.conv_tbc(x, y, z, 1) | f6x2x3 f2x3x4 f4
pool | F.max_pool2d(x, 2) | f2x3x7x6
 | F.max_pool2d(x, 3, 2, 1) | f2x3x7x6
 | F.max_pool2d(x, 3, 2, 1, ceil_mode=True) | f2x3x6x7
 | F.max_pool2d(x, (2, 3), (2, 1), dilation=2) | f2x3x7x8
 | F.max_pool2d(x, 2, return_indices=True) | f2x3x6x6
 | F.max_pool1d(x, 3, 2) | f2x3x9
 | F.max_pool3d(x, 2) | f1x2x4x5x6
 | F.max_pool2d(x, 2) | f3x7x6
 | F.avg_pool2d(x, 2) | f2x3x7x6
 | F.avg_pool2d(x, 3, 2, 1) | f2x3x7x6
 | F.avg_pool2d(x, 3, 2, 1, count_include_pad=False) | f2x3x7x6
 | F.avg_pool2d(x, 3, 2, 1, ceil_mode=True) | f2x3x6x7
 | F.avg_pool2d(x, 2, divisor_override=3) | f2x3x6x6
 | F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False) | f2x3x6x7
 | F.avg_pool1d(x, 3, 2, 1) | f2x3x9
 | F.avg_pool3d(x, 2) | f1x2x4x5x6
 | F.adaptive_avg_pool2d(x, 1) | f2x3x7x6
 | F.adaptive_avg_pool2d(x, (7, 3)) | f2x3x7x6
 | F.adaptive_avg_pool2d(x, (3, 4)) | f2x3x7x6
 | F.adaptive_avg_pool2d(x, (None, 2)) | f2x3x7x6
 | F.adaptive_avg_pool1d(x, 3) | f2x3x7
 | F.adaptive_avg_pool3d(x, 1) | f1x2x4x5x6
 | F.adaptive_avg_pool3d(x, (2, 1, 3)) | f1x2x4x5x6
 | F.adaptive_max_pool2d(x, (2, 3)) | f2x3x7x6
 | F.adaptive_max_pool2d(x, 1, return_indices=True) | f2x3x4x6
 | F.adaptive_max_pool1d(x, 3) | f2x3x7
 | F.lp_pool2d(x, 2.0, 2), F.lp_pool1d(x[0], 3.0, 2) | p2x3x6x6
 | F.max_unpool2d(F.max_pool2d(x, 2), F.max_pool2d(x, 2, return_indices=True)[1], 2) | f1x2x4x4
resize | F.interpolate(x, scale_factor=2.0) | f1x2x3x4
 | F.interpolate(x, size=(5, 7)) | f1x2x3x4
 | F.interpolate(x, size=[6, 3], mode="bilinear") | f1x2x3x4
 | F.interpolate(x, size=[6, 3], mode="bilinear", align_corners=True) | f1x2x3x4
 | F.interpolate(x, scale_factor=1.5, mode="bilinear") | f1x2x4x6
 | F.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True) | f1x2x4x6
 | F.interpolate(x, scale_factor=(2.0, 0.5), mode="bilinear", align_corners=True) | f1x2x4x6
 | F.interpolate(x, size=[7, 5], mode="bicubic") | f1x2x4x4
 | F.interpolate(x, size=[7, 5], mode="bicubic", align_corners=True) | f1x2x4x4
 | F.interpolate(x, scale_factor=2.0, mode="bicubic") | f1x2x4x4
 | F.interpolate(x, size=[3, 2], mode="area") | f1x2x6x4
 | F.interpolate(x, scale_factor=1.5, mode="nearest-exact") | f1x2x4x4
 | F.interpolate(x, size=6, mode="linear") | f1x2x4
 | F.interpolate(x, scale_factor=2.0) | f1x2x4
 | F.interpolate(x, scale_factor=2.0) | f1x2x2x3x4
 | F.interpolate(x, size=(3, 4, 5), mode="trilinear") | f1x2x2x3x4
 | F.interpolate(x, size=[3, 2], mode="bilinear", antialias=True) | f1x2x7x6
 | F.interpolate(x, size=[3, 2], mode="bicubic", antialias=True) | f1x2x7x6
 | F.interpolate(x, scale_factor=0.5) | f1x2x5x7
 | F.interpolate(x, size=(2, 3)) | f1x2x5x7
 | F.interpolate(x, size=(1, 1), mode="bilinear") | f1x2x5x7
 | F.interpolate(x, size=(9, 5), mode="nearest-exact") | f1x2x5x7
 | F.upsample(x, scale_factor=2.0, mode="nearest") | f1x2x3x4
pixel | F.pixel_shuffle(x, 2) | f2x8x3x4
 | F.pixel_unshuffle(x, 2) | f2x3x4x6
 | F.channel_shuffle(x, 2) | f2x4x3x3
 | F.unfold(x, 3) | f2x3x5x6
 | F.unfold(x, (2, 3), dilation=2, padding=1, stride=2) | f2x3x7x8
 | F.fold(x, (4, 5), 2) | f2x12x12
 | F.fold(x, (4, 4), 2, stride=2) | f2x12x4
 | x.unfold(1, 3, 2) | f2x8
 | x.unfold(0, 2, 1) | f5x3
 | x.unfold(2, 4, 4).unfold(3, 2, 2) | f1x2x8x6
 | torch.as_strided(x, (2, 2), (3, 1), 1) | f3x4
 | x.t().exp().as_strided((4, 3), (2, 1)) | f3x4
 | x[:, 1:].as_strided((2, 4), (5, 2)) | f3x5
 | x.unfold(1, 3, 2).contiguous().as_strided((2, 3), (9, 2)) | f2x8
 | x.transpose(0, 1).clone().as_strided((3, 2), (5, 20)).add_(1) | f2x6x8
 | F.grid_sample(x, y.tanh(), align_corners=False) | f2x3x4x5 f2x3x3x2
 | F.grid_sample(x, y, align_corners=True) | f2x3x4x5 f2x3x3x2
 | F.grid_sample(x, y, mode="nearest", padding_mode="border", align_corners=False) | f2x3x4x5 f2x3x3x2
 | F.grid_sample(x, y, padding_mode="reflection", align_corners=True) | f2x3x4x5 f2x3x3x2
 | F.grid_sample(x, y, mode="bicubic", align_corners=False) | f2x3x4x5 u2x3x3x2
 | F.grid_sample(x, y, align_corners=False) | f1x2x3x4x5 u1x2x2x2x3
 | F.affine_grid(x, [2, 3, 4, 5], align_corners=False) | f2x2x3
 | F.affine_grid(x, [2, 3, 4, 5], align_corners=True) | f2x2x3
 | F.affine_grid(x, [1, 2, 2, 3, 4], align_corners=False) | f1x3x4
norms | F.layer_norm(x, [4]) | f2x3x4
 | F.layer_norm(x, [3, 4], y, z, 1e-3) | f2x3x4 f3x4 f3x4
 | F.layer_norm(x, [4], y) | f2x4 f4
 | F.group_norm(x, 2) | f2x4x5
 | F.group_norm(x, 2, y, z) | f2x4x5x3 f4 f4
 | F.group_norm(x, 4, y, z, 1e-3) | f2x4 f4 f4
 | F.instance_norm(x) | f2x3x4x5
 | F.instance_norm(x, weight=y, bias=z) | f2x3x4 f3 f3
 | F.instance_norm(x, y, z, use_input_stats=False) | f2x3x4 f3 p3
 | F.batch_norm(x, y, z) | f2x3x4 f3 p3
 | F.batch_norm(x, y, z, w, y, False, 0.1, 1e-3) | f2x3x4x5 f3 p3 f3
 | F.batch_norm(x, y, z) | f2x3 f3 p3
 | F.rms_norm(x, [4], y) | f2x4 f4
 | F.rms_norm(x, [4]) | f2x3x4
 | F.local_response_norm(x, 3) | f2x5x4x4
 | F.local_response_norm(x, 2, 1e-3, 0.6, 2.0) | f2x5x4
dropout | F.dropout(x, 0.5, training=False), F.dropout2d(x, 0.5, False), F.alpha_dropout(x, 0.5, False), F.feature_alpha_dropout(x, 0.3, False) | f2x3x4x4
 | F.dropout(x, 0.0, training=True) | f2x3
 | torch.native_dropout(x, 0.5, False)[0] | f2x3
loss | F.mse_loss(x, y), F.l1_loss(x, y, reduction="none"), F.smooth_l1_loss(x, y), F.huber_loss(x, y, delta=0.5) | f2x3 f2x3
 | F.cross_entropy(x, y) | f4x3 n4%3
 | F.cross_entropy(x, y, reduction="none", label_smoothing=0.1) | f4x3 n4%3
 | F.cross_entropy(x, y, weight=z, ignore_index=1) | f4x3 n4%3 p3
 | F.cross_entropy(x, y) | f2x3x4 n2x4%3
 | F.nll_loss(F.log_softmax(x, 1), y) | f4x3 n4%3
 | F.binary_cross_entropy(x.sigmoid(), y.sigmoid()) | f2x3 f2x3
 | F.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=z) | f2x3 f2x3 p3
 | F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction="batchmean") | f2x3 f2x3
 | F.hinge_embedding_loss(x, y.sign()), F.soft_margin_loss(x, y.sign()) | f2x3 f2x3
 | F.cosine_embedding_loss(x, y, z.sign()) | f2x3 f2x3 f2
 | F.triplet_margin_loss(x, y, z), F.margin_ranking_loss(x[0], y[0], z[0].sign()) | f2x3 f2x3 f2x3
 | F.poisson_nll_loss(x, y), F.gaussian_nll_loss(x, y, z) | f2x3 f2x3 p2x3
attention | F.scaled_dot_product_attention(x, y, z) | f2x3x4x8 f2x3x5x8 f2x3x5x8
 | F.scaled_dot_product_attention(x, y, z, is_causal=True) | f2x3x4x8 f2x3x4x8 f2x3x4x8
 | F.scaled_dot_product_attention(x, y, z, attn_mask=w) | f2x3x4x8 f2x3x5x8 f2x3x5x6 f4x5
 | F.scaled_dot_product_attention(x, y, z, attn_mask=w) | f2x3x4x8 f2x3x5x8 f2x3x5x8 t2x1x4x5
 | F.scaled_dot_product_attention(x, y, z, scale=0.5) | f3x4x8 f3x5x8 f3x5x8
 | F.scaled_dot_product_attention(x, y, z, enable_gqa=True) | f2x4x5x8 f2x2x5x8 f2x2x5x8
 | F.scaled_dot_product_attention(x, y, z) | f4x8 f5x8 f5x8
fft | torch.fft.fft(x).abs() | f2x8
 | torch.view_as_real(torch.fft.fft(x)) | f2x6
 | torch.view_as_real(torch.fft.rfft(x)) | f2x8
 | torch.fft.irfft(torch.fft.rfft(x)) | f2x8
 | torch.view_as_real(torch.fft.rfft(x, norm="ortho")) | f2x8
 | torch.view_as_real(torch.fft.fft2(x)) | f2x4x6
 | torch.view_as_real(torch.fft.rfft2(x, norm="forward")) | f2x4x6
 | torch.fft.irfft2(torch.fft.rfft2(x), s=(4, 6)) | f2x4x6
 | torch.fft.ifft(torch.fft.fft(x)).real | f2x8
 | torch.view_as_real(torch.fft.fft(x, n=10, dim=0)) | f8x2
 | torch.view_as_real(torch.fft.fftn(x)) | f2x3x4
 | torch.fft.fftshift(x), torch.fft.ifftshift(x) | f2x5
 | torch.fft.fftfreq(6), torch.fft.rfftfreq(6) |
 | torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(y)) | f3x2 f3x2
 | torch.view_as_complex(x).abs(), torch.view_as_complex(x).angle(), torch.view_as_complex(x).real, torch.view_as_complex(x).imag | f3x2
 | torch.view_as_real(torch.view_as_complex(x).conj() + 1) | f3x2
 | torch.view_as_real(torch.stft(x, 16, 4, return_complex=True)) | f2x64
 | torch.view_as_real(torch.stft(x, 16, 4, window=torch.hann_window(16), center=False, return_complex=True)) | f2x64
 | torch.stft(x, 16, 8, window=torch.hann_window(12), win_length=12, normalized=True, onesided=False, return_complex=True).abs() | f2x64
random | torch.rand(2, 3).shape[0] + x, torch.rand_like(x) * 0, torch.randn(2, 3) * 0, torch.randint(0, 5, (2, 3)) * 0 | f2x3
 | torch.bernoulli(x * 0), torch.randn_like(x) * 0, torch.randperm(4).sum() | f2x3
 | torch.multinomial(x, 2).float() * 0, torch.normal(0.0, 1.0, (2,)) * 0 | p2x3
quant | torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127) | f2x3
 | torch.quantize_per_tensor(x, 0.1, 3, torch.qint8).dequantize() | f2x3
 | torch.fake_quantize_per_channel_affine(x, y, z, 1, -128, 127) | f2x3 p3 I3%1
inplace | x.fill_(2.0), x.zero_() | f2x3
 | x.copy_(y) | f2x3 f3
 | x[0].fill_(1.0) is None or x | f2x3
misc | torch.numel(x) + x | f2x3
 | torch.allclose(x, x) + x | f2x3
 | torch.cov(x) | f3x6
 | torch.corrcoef(x) | f3x6
 | torch.gcd(x, y), torch.lcm(x, y) | n4%20+1 n4%20+1
 | torch.nextafter(x, y) | f3 f3
 | torch.polygamma(1, x) | p3
 | torch.bucketize(x, y, out_int32=True) | f3x4 a4
 | torch.sum(x * y, dim=-1).item() + x | f4 f4
 | x.item() + y | f f2
 | float(x) * y | f f2
 | int(x) + y | n%5 f2
 | x.tolist()[0] * y if False else y * 2 | f2 f2
 | torch.special.entr(x), torch.special.erfcx(x) | p2x3
 | torch.nn.functional.softmax(x.masked_fill(y, float("-inf")), -1) | f3x4 t3x4
 | torch.result_type(x, y) == torch.float32 or x | f2 i2
"""


def forms(text):
    name, k = "", 0
    for line in text.strip().splitlines():
        new, rest = line.split("|", 1)
        expression, kinds = rest.rsplit("|", 1)  # the expression itself may hold a bar
        if new.strip():
            name, k = new.strip(), 0
        yield f"{name}_{k}", expression.strip(), kinds.split()
        k += 1


def integers(g, low, high, shape):
    return torch.from_numpy(np.asarray(g.integers(low, high, shape), dtype=np.int64))


FLOATS = {"f": torch.float32, "d": torch.float64, "h": torch.float16, "g": torch.bfloat16}
INTS = {"i": torch.int64, "I": torch.int32, "B": torch.uint8, "c": torch.int8, "s": torch.int16}


def tensor(kind, seed):
    letter, dims, high, low, real = re.fullmatch(r"(\w)((?:\d+(?:x\d+)*)?)(?:%(\d+))?(?:\+(\d+))?(f?)", kind).groups()
    shape = tuple(int(d) for d in dims.split("x")) if dims else ()
    g = np.random.Generator(np.random.PCG64([5, seed, zlib.crc32(kind.encode())]))
    f = np.round(g.standard_normal(shape) * 64) / 64 + 1 / 256
    f = torch.from_numpy(np.asarray(f, dtype=np.float32))
    if letter == "d" and high:
        return torch.from_numpy(g.permutation(int(high))[: f.numel()]).reshape(shape)
    if letter in FLOATS:
        return f.to(FLOATS[letter])
    if letter == "n" or high:
        n = integers(g, 0, int(high), shape) + int(low or 0)
        return n.float() if real else n.to(INTS.get(letter, torch.int64))
    if letter in INTS:
        n = integers(g, -9, 10, shape)
        return (n.abs() if letter == "B" else n).to(INTS[letter])
    if letter == "m":
        return torch.tensor([0, 2, 6])
    if letter == "t":
        f[..., 0] = 1
    return {"p": f.abs() + 0.125, "u": f.tanh(), "a": f.sort(-1)[0], "b": f > 0, "t": f > 0}[letter]


def tensors(kinds):
    return tuple(tensor(kind, i) for i, kind in enumerate(kinds))


def source(name, expression, kinds):
    """The text of a module; pairs with names are written out, since torch.export has no names for them."""
    try:
        value = eval(expression, {"torch": torch, "F": F, **dict(zip("xyzw", tensors(kinds)))})
    except Exception:
        value = None
    named = type(value).__module__ == "torch.return_types"
    lines = [f"r = {expression}", "return r[0], r[1]"] if named else [f"return {expression}"]
    head = f"class {name.capitalize()}(nn.Module):\n    def forward({', '.join(['self', *'xyzw'[: len(kinds)]])}):\n"
    return head + "".join(f"        {line}\n" for line in lines)


def module_of(text):
    """TorchScript compiles what lies in a file."""
    path = os.path.join(tempfile.mkdtemp(), "forms.py")
    with open(path, "w") as f:
        f.write(text)
    spec = importlib.util.spec_from_file_location("forms", path)
    sys.modules["forms"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["forms"])
    return sys.modules["forms"]


def register(text):
    all_forms = list(forms(text))
    head = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n\n\n"
    module = module_of(head + "\n\n".join(source(*f) for f in all_forms))
    for name, expression, kinds in all_forms:
        make = lambda n=name, k=kinds: (getattr(module, n.capitalize())(), tensors(k))
        options = dict(fill=False, flat=True, inf=True, cost=0, note=expression)
        CASES[name] = Case(name, make, **options)
        auto = lambda k=kinds: tuple({i: torch.export.Dim.AUTO for i in range(t.dim())} for t in tensors(k))
        if any(t.dim() for t in tensors(kinds)):
            CASES[name + "_dyn"] = Case(name + "_dyn", make, forms=("export",), shapes=auto, **options)


register(LIST)
