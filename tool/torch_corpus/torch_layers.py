"""Layers of networks in all their forms: pools, resizes, convolutions, attention, embeddings; complex numbers; indices
and scatters in rarer types; written as in torch_operators.py."""

from torch_operators import register

register(r"""
pooling | F.adaptive_avg_pool2d(x, (5, 4)) | f2x3x7x6
 | F.adaptive_max_pool2d(x, (5, 4)) | f2x3x7x6
 | F.adaptive_max_pool2d(x, (3, 4), return_indices=True) | f2x3x7x6
 | F.adaptive_max_pool1d(x, 4, return_indices=True) | f2x3x7
 | F.adaptive_max_pool3d(x, (2, 3, 2)) | f1x2x5x4x5
 | F.adaptive_avg_pool3d(x, (2, 3, 2)) | f1x2x5x4x5
 | F.adaptive_avg_pool2d(x, (9, 8)) | f2x3x4x5
 | F.adaptive_avg_pool1d(x, 3) | f3x7
 | F.adaptive_max_pool2d(x, (None, 3)) | f3x7x6
 | F.adaptive_avg_pool2d(x, 2) | d1x2x5x5
 | F.adaptive_avg_pool2d(x, 3) | h1x2x7x7
 | F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, divisor_override=5) | f2x3x6x7
 | F.avg_pool2d(x, (3, 2), (2, 3), (1, 0), ceil_mode=True, count_include_pad=False) | f2x3x6x7
 | F.avg_pool2d(x, 4, 3, 2, ceil_mode=True) | f1x2x7x8
 | F.avg_pool3d(x, 2, 2, 1, ceil_mode=True, count_include_pad=False) | f1x2x4x5x3
 | F.avg_pool3d(x, 3, 2, 1, divisor_override=2) | f1x2x4x5x5
 | F.avg_pool1d(x, 3, 2, 1, ceil_mode=True) | f2x3x8
 | F.avg_pool1d(x, 2) | f3x8
 | F.avg_pool2d(x, 2) | d2x3x6x6
 | F.avg_pool2d(x, 2) | h2x3x6x6
 | F.avg_pool2d(x, 2) | i2x3x6x6
 | F.max_pool2d(x, 2) | i2x3x6x6
 | F.max_pool2d(x, 2) | B2x3x6x6
 | F.max_pool2d(x, 3, 2, 1) | h2x3x6x6
 | F.max_pool2d(x, 3, 2, 1) | d2x3x6x6
 | F.max_pool1d(x, 3, 2, 1, ceil_mode=True, return_indices=True) | f2x3x8
 | F.max_pool3d(x, 2, 1, return_indices=True) | f1x2x3x4x5
 | F.max_pool2d(x, 3, 2, 1, 1, ceil_mode=True, return_indices=True) | f3x6x7
 | F.max_pool2d(x, 2, dilation=(2, 1), return_indices=True) | f1x2x6x7
 | F.lp_pool2d(x, 2.0, 3, 2), F.lp_pool2d(x, 1.0, 2, ceil_mode=True) | f2x3x7x7
 | F.lp_pool1d(x, 2.0, 3), F.lp_pool3d(x.unsqueeze(-1).unsqueeze(-1), 2.0, (2, 1, 1)) | f2x3x7
 | F.max_unpool2d(*F.max_pool2d(x, 3, 2, return_indices=True), 3, 2, output_size=(7, 7)) | f1x2x7x7
 | F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2) | f1x2x8
 | F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2) | f1x2x4x4x4
 | F.fractional_max_pool2d(x, 2, output_size=(3, 3), _random_samples=y.abs()) | f1x2x7x7 u1x2x2
 | F.fractional_max_pool2d_with_indices(x, 2, output_size=(3, 4), _random_samples=y.abs()) | f1x2x7x9 u1x2x2
 | F.fractional_max_pool3d_with_indices(x, 2, output_size=(2, 3, 2), _random_samples=y.abs()) | f1x2x5x6x5 u1x2x3
resizing | F.interpolate(x, size=[5, 9], mode="bilinear", antialias=True) | f1x2x7x6
 | F.interpolate(x, scale_factor=0.6, mode="bilinear", antialias=True, recompute_scale_factor=True) | f1x2x8x9
 | F.interpolate(x, scale_factor=0.6, mode="bicubic", antialias=True) | f1x2x8x9
 | F.interpolate(x, size=[3, 2], mode="bilinear", antialias=True, align_corners=True) | f1x2x7x6
 | F.interpolate(x, scale_factor=1.3, recompute_scale_factor=True) | f1x2x5x6
 | F.interpolate(x, scale_factor=1.3) | f1x2x5x6
 | F.interpolate(x, scale_factor=1.3, mode="nearest-exact", recompute_scale_factor=True) | f1x2x5x6
 | F.interpolate(x, scale_factor=[1.3, 0.7], mode="bicubic") | f1x2x5x6
 | F.interpolate(x, scale_factor=0.7, mode="bicubic", align_corners=True) | f1x2x5x6
 | F.interpolate(x, size=7, mode="linear", align_corners=True) | f1x2x5
 | F.interpolate(x, scale_factor=1.7, mode="linear") | f1x2x5
 | F.interpolate(x, scale_factor=1.7, mode="trilinear", align_corners=True) | f1x2x3x4x3
 | F.interpolate(x, scale_factor=0.5, mode="trilinear") | f1x2x4x6x5
 | F.interpolate(x, size=[5, 3], mode="area") | f1x2x7x6
 | F.interpolate(x, size=4, mode="area") | f1x2x7
 | F.interpolate(x, scale_factor=0.5, mode="area") | f1x2x6x6
 | F.interpolate(x, scale_factor=2.0, mode="nearest-exact") | f1x2x3x3x3
 | F.interpolate(x, size=[6, 6]) | B1x2x3x4
 | F.interpolate(x, size=[6, 6], mode="bilinear") | h1x2x3x4
 | F.interpolate(x, size=[6, 6], mode="bilinear") | d1x2x3x4
 | F.interpolate(x, size=[6, 6], mode="bicubic") | d1x2x3x4
 | F.interpolate(x, size=[y.shape[0], y.shape[1]], mode="bilinear") | f1x2x3x4 f5x6
 | F.interpolate(x, size=x.shape[2:], mode="bilinear") | f1x2x3x4
 | F.interpolate(x, scale_factor=2, mode="bilinear") | g1x2x3x4
convolving | F.conv2d(x, y, padding="same") | f1x3x7x6 f4x3x2x4
 | F.conv3d(x, y, padding="same") | f1x2x4x5x6 f3x2x2x3x2
 | F.conv1d(x, y, z, padding="same", dilation=2, groups=2) | f2x4x9 f4x2x2 f4
 | F.conv1d(x, y, padding="valid", stride=2) | f2x4x9 f4x4x2
 | F.conv_transpose1d(x, y, z, stride=2, padding=1, output_padding=1, groups=2, dilation=2) | f2x4x5 f4x3x3 f6
 | F.conv_transpose2d(x, y) | f3x4x5 f3x2x2x2
 | F.conv_transpose3d(x, y, stride=2, padding=1, output_padding=1) | f1x2x3x3x3 f2x2x3x3x3
 | F.conv2d(x, y) | d1x2x5x5 d3x2x3x3
 | F.conv2d(x, y, z) | h1x2x5x5 h3x2x3x3 h3
 | F.conv2d(x, y) | g1x2x5x5 g3x2x3x3
 | F.conv2d(x, y) | i1x2x5x5 i3x2x3x3
 | F.conv1d(x, y, stride=3, padding=2, dilation=2) | f1x2x11 f3x2x3
 | F.conv_transpose1d(x, y) | i1x2x5 i2x3x2
 | F.unfold(x, 2) | f3x4x5
 | F.unfold(x, 3, padding=(1, 2), stride=(2, 1)) | d2x3x5x6
 | F.fold(x, (5, 6), (2, 3), dilation=2, padding=1, stride=1) | f2x12x20
 | F.fold(x, 4, 2) | f12x9
 | F.pixel_shuffle(x, 3) | i2x9x3x4
 | F.pixel_shuffle(x, 2) | f8x3x4
 | F.pixel_unshuffle(x, 2) | f3x4x6
 | F.channel_shuffle(x, 3) | f2x6x5
 | F.bilinear(x, y, z) | f2x5x3 f2x5x4 f6x3x4
 | F.linear(x, y) | i2x3 i4x3
 | F.linear(x, y, z) | d3 d4x3 d4
 | F.linear(x, y) | f2x3 f3
 | F.grid_sample(x, y, padding_mode="border", align_corners=True) | f1x2x3x4x5 f1x2x2x2x3
 | F.grid_sample(x, y, mode="nearest", align_corners=False) | f1x2x3x4x5 f1x2x2x2x3
 | F.grid_sample(x, y, padding_mode="reflection", align_corners=False) | f1x2x3x4x5 f1x2x2x2x3
 | F.grid_sample(x, y, mode="bicubic", padding_mode="border", align_corners=True) | f2x3x4x5 f2x3x3x2
 | F.grid_sample(x, y, mode="bicubic", padding_mode="reflection", align_corners=False) | f2x3x4x5 f2x3x3x2
 | F.grid_sample(x, y, align_corners=False) | d2x3x4x5 d2x3x3x2
 | F.grid_sample(x, y, mode="nearest", align_corners=True) | f2x3x4x5 f2x3x3x2
embeddings | F.embedding_bag(x, y, z, mode="max") | n6%5 f5x4 m3
 | F.embedding_bag(x, y, z, mode="mean", include_last_offset=True, padding_idx=0) | n6%5 f5x4 m3
 | F.embedding_bag(x, y, z, mode="sum", padding_idx=1) | n7%5 f5x4 m3
 | F.embedding_bag(x, y, z, mode="sum", per_sample_weights=w) | n7%5 f5x4 m3 f7
 | F.embedding_bag(x, y, mode="max") | n2x3%5 f5x4
 | F.embedding_bag(x, y, mode="mean", padding_idx=2) | n2x3%5 f5x4
 | F.embedding_bag(x, y, mode="max", padding_idx=2) | n2x3%5 f5x4
 | F.embedding(x, y, max_norm=1.0) | n2x3%5 f5x4
 | F.embedding(x, y) | I2x3%5 f5x4
 | F.embedding(x, y) | n%5 d5x4
 | F.one_hot(x, 6) | n2x3%5
attending | F.scaled_dot_product_attention(x, y, z, is_causal=True) | f2x3x4x8 f2x3x6x8 f2x3x6x8
 | F.scaled_dot_product_attention(x, y, z, is_causal=True, scale=0.3) | f2x3x6x8 f2x3x4x8 f2x3x4x8
 | F.scaled_dot_product_attention(x, y, z, attn_mask=w, enable_gqa=True) | f2x4x5x8 f2x2x6x8 f2x2x6x8 f5x6
 | F.scaled_dot_product_attention(x, y, z, is_causal=True, enable_gqa=True) | f2x6x5x8 f2x2x5x8 f2x2x5x8
 | F.scaled_dot_product_attention(x, y, z) | f2x2x3x4x8 f2x2x3x5x8 f2x2x3x5x8
 | F.scaled_dot_product_attention(x, y, z, attn_mask=w) | f2x3x4x8 f2x3x5x8 f2x3x5x8 f2x3x1x5
 | F.scaled_dot_product_attention(x, y, z, attn_mask=w) | f2x3x4x8 f2x3x5x8 f2x3x5x8 b2x1x4x5
 | F.scaled_dot_product_attention(x, y, z) | d2x3x4x8 d2x3x5x8 d2x3x5x8
 | F.scaled_dot_product_attention(x, y, z, is_causal=True) | h2x3x4x8 h2x3x4x8 h2x3x4x8
 | F.scaled_dot_product_attention(x, y, z, attn_mask=w) | f3x4x8 f3x5x8 f3x5x8 t4x5
 | F.scaled_dot_product_attention(x, y, z, is_causal=True) | f4x8 f4x8 f4x8
 | F.scaled_dot_product_attention(x, y, z) | f1x3x4x8 f2x3x5x8 f2x3x5x8
normalizing | F.batch_norm(x, y, z.abs()) | d2x3x4 d3 d3
 | F.layer_norm(x, [4], y, z) | h2x3x4 h4 h4
 | F.layer_norm(x, [2, 3, 4]) | d2x3x4
 | F.layer_norm(x, [4], None, y) | f2x3x4 f4
 | F.rms_norm(x, [3, 4], y, 1e-3) | f2x3x4 f3x4
 | F.rms_norm(x, [4], y) | h2x4 h4
 | F.group_norm(x, 3, y) | f2x6x4 f6
 | F.group_norm(x, 1) | d2x6x4x2
 | F.instance_norm(x) | f3x4x5
 | F.instance_norm(x, eps=1e-2) | f1x2x3x4x5
 | F.local_response_norm(x, 3) | f2x5x4x4x2
 | F.normalize(x, p=3.0, dim=(0, 1)) | f2x3
 | F.normalize(x) | d2x3
 | F.softmax(x, 0), F.log_softmax(x, 0) | h5
 | F.softmax(x, 0), F.softmax(x, -1) | f
 | F.softmax(x.float(), -1) | i2x3
 | F.gumbel_softmax(x * 100, hard=True).sum(-1) | d2x3
 | F.gelu(x), F.silu(x), F.mish(x), F.elu(x), F.selu(x) | d4
 | F.relu(x), F.relu6(x), F.leaky_relu(x), F.hardtanh(x) | h4
 | F.threshold(x, 2, 5), F.relu6(x), F.hardtanh(x, -3, 3) | i6
 | F.softplus(x), F.hardswish(x), F.hardsigmoid(x), F.logsigmoid(x) | d4
 | F.rrelu(x), F.celu(x, 2.0), F.prelu(x, y) | f2x3 f1
 | F.glu(x, 0), F.tanhshrink(x), F.softsign(x) | d4
complexes | torch.view_as_real(torch.complex(x, y)), torch.polar(x.abs(), y).imag | f2x3 f2x3
 | torch.view_as_real(torch.view_as_complex(x) @ torch.view_as_complex(y)) | f2x3x2 f3x4x2
 | torch.view_as_real(torch.view_as_complex(x).repeat(2, 1)) | f2x3x2
 | torch.view_as_real(torch.view_as_complex(x) / torch.view_as_complex(y)) | f3x2 f3x2
 | torch.view_as_real(torch.view_as_complex(x).exp()), torch.view_as_real(torch.view_as_complex(x).log()) | f3x2
 | torch.view_as_real(torch.view_as_complex(x).sqrt()), torch.view_as_real(torch.view_as_complex(x) ** 2) | f3x2
 | torch.view_as_real(torch.view_as_complex(x).sum(0)), torch.view_as_real(torch.view_as_complex(x).mean()) | f3x4x2
 | torch.view_as_real(torch.view_as_complex(x).reshape(-1)), torch.view_as_real(torch.view_as_complex(x).t()) | f3x4x2
 | torch.view_as_real(torch.cat([torch.view_as_complex(x), torch.view_as_complex(y)], 1)) | f3x4x2 f3x1x2
 | torch.view_as_real(torch.view_as_complex(x)[1:, :2]), torch.view_as_real(torch.view_as_complex(x)[y]) | f3x4x2 n2%3
 | torch.view_as_real(torch.where(y, torch.view_as_complex(x), 0)) | f3x4x2 b3x4
 | torch.view_as_real(torch.view_as_complex(x) * y), torch.view_as_real(torch.view_as_complex(x) + 2j) | f3x2 f3
 | torch.view_as_real(torch.view_as_complex(x).sin()), torch.view_as_real(torch.view_as_complex(x).tanh()) | f3x2
 | torch.view_as_real(torch.view_as_complex(x).reciprocal()), torch.view_as_complex(x).isnan() | f3x2
 | torch.view_as_real(torch.view_as_complex(x).cumsum(0)), torch.view_as_real(torch.view_as_complex(x).prod()) | f3x2
 | torch.view_as_complex(x) == torch.view_as_complex(y), torch.is_complex(torch.view_as_complex(x)) + x | f3x2 f3x2
 | torch.view_as_real(torch.linalg.inv(torch.view_as_complex(x))) | f3x3x2
 | torch.linalg.vector_norm(torch.view_as_complex(x)), torch.view_as_complex(x).norm() | f3x3x2
 | torch.view_as_real(torch.einsum("ij,jk->ik", torch.view_as_complex(x), torch.view_as_complex(y))) | f2x3x2 f3x4x2
 | torch.view_as_real(torch.view_as_complex(x).conj()), torch.view_as_real(torch.view_as_complex(x).mH) | f2x3x2
 | torch.view_as_real(torch.view_as_complex(x).resolve_conj().sgn()), torch.view_as_complex(x).abs() ** 2 | f3x2
 | torch.view_as_real(torch.view_as_complex(x)) | d3x2
 | torch.angle(x), torch.real(x), torch.conj(x) | f4
 | torch.view_as_real(torch.stack([torch.view_as_complex(x)] * 2)), torch.view_as_real(-torch.view_as_complex(x)) | f3x2
 | torch.view_as_real(x + 1j * y), torch.view_as_real(x.to(torch.complex64)) | f3 f3
 | torch.view_as_real(torch.zeros(2, dtype=torch.complex64) + torch.view_as_complex(x)) | f2x2
 | torch.view_as_real(torch.roll(torch.view_as_complex(x), 1, 0)), torch.view_as_real(torch.view_as_complex(x).flip(0)) | f4x2
 | torch.view_as_real(F.pad(torch.view_as_complex(x), (1, 1))) | f4x2
 | torch.view_as_real(torch.view_as_complex(x).expand(2, 3)), torch.view_as_real(torch.view_as_complex(x).unsqueeze(0)) | f3x2
 | torch.view_as_real(torch.bmm(torch.view_as_complex(x), torch.view_as_complex(x))) | f2x3x3x2
complex_parts | torch.view_as_real(torch.view_as_complex(x).diagonal()), torch.view_as_real(torch.diag(torch.view_as_complex(x))) | f3x3x2
 | torch.view_as_real(torch.diag_embed(torch.view_as_complex(x))), torch.view_as_real(torch.view_as_complex(x).unfold(1, 2, 1)) | f3x3x2
 | torch.view_as_real(torch.view_as_complex(x).as_strided((2, 2), (1, 3))) | f3x3x2
 | torch.view_as_real(torch.zeros_like(torch.view_as_complex(x)) + 1), torch.view_as_real(torch.full_like(torch.view_as_complex(x), 2)) | f3x2
 | torch.view_as_real(torch.view_as_complex(x).masked_fill(y, 0)), torch.view_as_real(torch.view_as_complex(x).to(torch.complex128)) | f3x2 b3
 | torch.view_as_real(torch.view_as_complex(x).chunk(2)[1]), torch.view_as_real(torch.view_as_complex(x).split(1)[0]) | f4x2
 | torch.view_as_real(torch.view_as_complex(x).select(0, 1)), torch.view_as_real(torch.view_as_complex(x).narrow(1, 0, 2)) | f3x4x2
 | torch.view_as_real(torch.view_as_complex(x).mean(1)), torch.view_as_real(torch.view_as_complex(x).sum((0, 1), keepdim=True)) | f3x4x2
 | torch.view_as_real(torch.view_as_complex(x) ** 3), torch.view_as_real(torch.view_as_complex(x) ** 0.5) | f3x2
 | torch.view_as_real(torch.view_as_complex(x).permute(1, 0)), torch.view_as_real(torch.view_as_complex(x).flatten()) | f3x4x2
 | torch.view_as_real(torch.view_as_complex(x).gather(1, y)), torch.view_as_real(torch.view_as_complex(x).index_select(0, y[0])) | f3x4x2 n3x2%3
 | torch.view_as_real(torch.view_as_complex(x).tril()), torch.view_as_real(torch.view_as_complex(x).repeat_interleave(2, 0)) | f3x3x2
 | torch.view_as_real(torch.outer(torch.view_as_complex(x), torch.view_as_complex(x))), torch.view_as_real(torch.kron(torch.view_as_complex(x), y)) | f3x2 f2
 | torch.view_as_real(torch.view_as_complex(x).squeeze(1)), torch.view_as_real(torch.view_as_complex(x).view(-1)) | f3x1x2
 | torch.view_as_real(torch.einsum("ij,jk,k->i", torch.view_as_complex(x), y, torch.view_as_complex(z))) | f2x3x2 f3x4 f4x2
 | torch.view_as_real(torch.view_as_complex(x).std()), torch.view_as_complex(x).abs().max() | f3x2
 | torch.view_as_real(torch.where(y, torch.view_as_complex(x), torch.view_as_complex(z))), torch.view_as_real(torch.view_as_complex(x).index_put((torch.tensor([0]),), torch.view_as_complex(z)[:1])) | f3x2 b3 f3x2
 | torch.view_as_real(torch.fft.fft(x).unbind(0)[1]), torch.view_as_real(torch.fft.fft(x).movedim(0, 1)) | f2x4
 | torch.view_as_real(torch.view_as_complex(x).cos()), torch.view_as_real(torch.view_as_complex(x).sinh()), torch.view_as_real(torch.view_as_complex(x).square()) | f3x2
 | torch.view_as_real(2 / torch.view_as_complex(x)), torch.view_as_real(1 - torch.view_as_complex(x)), torch.view_as_real(torch.view_as_complex(x) - y) | f3x2 f3
 | torch.view_as_real(F.linear(torch.view_as_complex(x), torch.view_as_complex(y))), torch.view_as_real(torch.view_as_complex(x) @ z) | f2x3x2 f4x3x2 f3x2
transforms | torch.fft.hfft(torch.view_as_complex(x)), torch.view_as_real(torch.fft.ihfft(y)) | f2x5x2 f2x8
 | torch.view_as_real(torch.fft.fft(torch.view_as_complex(x), n=3)) | f2x5x2
 | torch.view_as_real(torch.fft.ifft2(torch.view_as_complex(x), norm="ortho")) | f4x5x2
 | torch.view_as_real(torch.fft.rfftn(x, dim=(0, 2))) | f3x4x5
 | torch.fft.irfftn(torch.view_as_complex(x), s=(3, 8)) | f3x5x2
 | torch.fft.irfft(torch.view_as_complex(x), n=7) | f2x5x2
 | torch.fft.hfft2(torch.view_as_complex(x)), torch.fft.hfftn(torch.view_as_complex(x)) | f3x4x2
 | torch.view_as_real(torch.fft.ihfft2(x)), torch.view_as_real(torch.fft.ihfftn(x)) | f3x6
 | torch.view_as_real(torch.fft.rfft(x, dim=0, n=6)) | d8x2
 | torch.view_as_real(torch.fft.ifftn(x, norm="forward")) | f3x4
 | torch.fft.fftshift(x, dim=1), torch.fft.ifftshift(x, dim=(0, 1)) | f4x5
 | torch.view_as_real(torch.fft.fft(x)) | i6
 | torch.istft(torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True), 16, 4, window=torch.hann_window(16)) | f2x64
 | torch.view_as_real(torch.stft(x, 16, center=True, pad_mode="constant", return_complex=True)) | f64
indexing | x.scatter_reduce(1, y, z, reduce="mean", include_self=False) | f3x4 n3x2%4 f3x2
 | x.scatter_reduce(1, y, z, reduce="sum", include_self=False) | f3x4 n3x2%4 f3x2
 | x.scatter_reduce(1, y, z, reduce="prod", include_self=False) | f3x4 n3x2%4 f3x2
 | x.scatter_reduce(0, y, z, reduce="amax", include_self=False) | i3x4 n2x4%3 i2x4
 | x.scatter_reduce(0, y, z, reduce="mean") | i3x4 n2x4%3 i2x4
 | x.scatter_add(0, y, z) | i3x4 n2x4%3 i2x4
 | x.scatter(0, y, z, reduce="multiply"), x.scatter(0, y, 2.0, reduce="add") | f3x4 n2x4%3 f2x4
 | x.scatter(1, y, z) | b3x4 n3x1%4 b3x1
 | x.scatter(0, y, z) | f6 d3%6 f3
 | x.index_reduce(0, y, z, "amax"), x.index_reduce(0, y, z, "amin", include_self=False) | f3x4 n2%3 f2x4
 | x.index_reduce(1, y, z, "mean"), x.index_reduce(1, y, z, "mean", include_self=False) | f3x4 n2%4 f3x2
 | x.index_add(0, y, z) | i3x4 n2%3 i2x4
 | x.index_add(0, y, z) | f4 n3%4 f3
 | x.index_fill(0, y, z) | f3x4 n2%3 f
 | x.index_copy(1, y, z) | i3x4 d2%4 i3x2
 | x.put(y, z), x.put(y, z, accumulate=True) | f3x4 d3%12 f3
 | torch.take(x, y - 3) | i3x4 n2x2%6
 | x.masked_scatter(y, z) | i3x4 b4 i12
 | x.masked_select(y) | f3x4 b4
 | x.masked_fill(y, z) | d3x4 b3x1 d
 | x[y] | b5 n3%5
 | x[y, z] | f4x3x2 b4x3 n1%2
 | x[None, y, ..., z] | f4x3x2 n3%4 n3%2
 | x[y, :, :, z] | f4x3x2x5 n3%4 n3%5
 | x[:, y, None] | f3x4 n2%4
 | x.index_put((y, z), w, accumulate=True) | f4x3 n3%4 n3%3 f3
 | x.index_put((y,), z, accumulate=True) | i4x3 n3%4 i3
 | x.index_put((torch.arange(2)[:, None], y), z) | f2x5x3 d2%5 f2x2x3
 | torch.gather(x, 0, y) | i5 n3%5
 | torch.take_along_dim(x, y) | f3x4 n5%12
 | torch.take_along_dim(x, x.argsort(1), 1) | f3x4
 | torch.index_select(x, 0, y) | b5x2 I3%5
 | torch.select_scatter(x, y, -1, -1), torch.slice_scatter(x, x[:, :1], 1, -1) | f3x4 f3
 | torch.diagonal_scatter(x, y, 1), torch.as_strided_scatter(x, y, (3,), (5,)) | f4x4 f3
 | x.fill_diagonal_(2.0) | f4x3
 | x.fill_diagonal_(3, wrap=True) | i7x3
 | torch.segment_reduce(x, "sum", lengths=torch.tensor([2, 3, 1])), torch.segment_reduce(x, "max", lengths=torch.tensor([2, 3, 1])) | f6x2
 | torch.segment_reduce(x, "mean", lengths=y), torch.segment_reduce(x, "min", lengths=y) | f8 n3%1+2
 | torch.nonzero(x), torch.argwhere(x) | f4
 | torch.where(x)[0] | b4
 | torch.searchsorted(x, y, right=True, out_int32=True), torch.searchsorted(x, 0.5) | a5 f3x2
 | torch.searchsorted(x, y, sorter=x.argsort()) | f5 f3
 | torch.bucketize(0.3, x), torch.bucketize(y, x) | a5 i3
 | torch.isin(x, 3), torch.isin(3, x), torch.isin(x, y, invert=True) | n6%5 n3%5
 | torch.unique(x, sorted=True, return_counts=True), torch.unique(x, dim=1, return_inverse=True) | n4x6%2
 | torch.unique_consecutive(x, return_inverse=True, return_counts=True), torch.unique_consecutive(x, dim=0) | n8%2
 | torch.unique(x) | b5
 | torch.topk(x, 2) | i6
 | torch.topk(x, 2, 0, False, True) | h6x2
 | torch.sort(x, descending=True) | I3x5
 | torch.sort(x) | b5
 | torch.argsort(x, stable=True) | n8%3
arranging | torch.combinations(x, 3), torch.combinations(x, 2, with_replacement=True) | f4
 | torch.cartesian_prod(x, y, x) | f2 f3
 | torch.block_diag(x, y, x) | i2x3 i2
 | torch.kron(x, y) | f2x3x2 f3x2x1
 | torch.kron(x, y) | f3 f2x2
 | torch.vander(x, increasing=True) | i4
 | torch.cross(x, y), torch.linalg.cross(x, y, dim=0) | f3x2 f3x2
 | torch.rot90(x, 2, [0, 1]), torch.rot90(x, 3, [1, 0]), torch.rot90(x, -1, [0, 1]) | f2x3x2
 | torch.tril_indices(3, 4, -1, dtype=torch.int32), torch.triu_indices(4, 3, offset=1) |
 | torch.tril(x), torch.triu(x, 1) | h4x4
 | torch.trace(x), torch.diag(x), torch.diagonal(x, -1) | i4x4
 | torch.diag_embed(x, -1, 0, 2), torch.diagflat(x, 1) | f2x3
 | torch.cdist(x, y, p=float("inf")), torch.cdist(x, y, p=0.0), torch.cdist(x, y, p=3.0) | f3x4 f2x4
 | torch.cdist(x, y, compute_mode="use_mm_for_euclid_dist") | d1x3x4 d5x2x4
 | F.pdist(x, 1.0), F.pdist(x, float("inf")) | f4x3
 | torch.tensor_split(x, 4), torch.tensor_split(x, [2, 4], 1) | f6x5
 | torch.dsplit(x, 2), torch.hsplit(x, [1]), torch.vsplit(x, [1, 1]) | f2x3x4
 | torch.atleast_2d(x, y), torch.atleast_3d([x, y]) | f f3
 | torch.unravel_index(x, (3, 4)) | n5%12
 | torch.meshgrid(x, y, x, indexing="ij") | f2 f3
 | torch.broadcast_tensors(x, y, x) | f2x1 f
 | torch.repeat_interleave(x) | n4%3
 | torch.repeat_interleave(x, 2, dim=-1) | i2x3
 | torch.flip(x, []), torch.roll(x, 5), torch.roll(x, (3, -7), (1, 0)) | f3x4
 | torch.row_stack([x, y]), torch.dstack([x, y]), torch.vstack([x, y]) | f3 f3
 | torch.swapdims(x, -1, 0), x.movedim((2, 0), (0, 1)), x.transpose(-1, 1) | f2x3x4
 | x.unflatten(0, (2, -1)), x.flatten(-2, -1), x.flatten(0, 0) | f4x3x2
 | x.squeeze((0, -1)), x.squeeze(), x.squeeze(1) | f1x3x1x1
 | x.view(torch.int64), x.view(torch.int16) | d2x3
 | x.unfold(-1, 2, 3), x.unfold(0, 3, 1) | i4x8
 | x.as_strided((2, 2, 2), (4, 2, 1)), x.as_strided((3,), (0,), 2) | f8
 | x.narrow(-1, -2, 1), x.narrow_copy(0, 1, 1), x.diagonal(dim1=-1, dim2=-2) | f3x4
 | torch.linspace(x.item(), 3, 4) + y, torch.full((2,), x.item()) | f f4
 | torch.arange(x.numel(), device=x.device) + x.reshape(-1), torch.ones_like(x).nonzero() | f2x3
 | x.new_full(x.shape, 2), x.new_ones(x.size(0), 1), torch.zeros(x.shape, dtype=x.dtype) | i2x3
 | torch.eye(x.size(0)) + x, torch.eye(x.size(0), 2, dtype=torch.int64) | f3x3
 | torch._foreach_add([x, y], 2.0), torch._foreach_mul([x, y], [y, x]) | f3 f3
 | torch._foreach_sqrt([x, y]), torch._foreach_add([x, y], [y, x], alpha=2), torch._foreach_norm([x, y]) | p3 p3
 | torch._foreach_addcmul([x], [y], [x], value=0.5), torch._foreach_lerp([x], [y], 0.3), torch._foreach_max([x]) | p3 p3
types | x + y, x * y, x - y | c3 B3
 | x + y, x / y | h3 g3
 | x + y, x * 2, x - 1.5 | b3 h3
 | x + y | i3 f
 | x * y, x + 1.5 | I3 d
 | x + y, x / 2 | f i3
 | x > y, x == y | i3 d3
 | torch.where(x > 0, x, y) | i3 f3
 | torch.maximum(x, y), torch.minimum(x, y) | c3 I3
 | torch.cat([x, y, z]) | i3 h2 b2
 | torch.stack([x, y]) | i3 f3
 | x.clamp(-1.5, 2), x.clamp(min=1) | I4
 | torch.clamp(x, y, z) | i4 i4 f4
 | torch.clamp(x, max=y), x.clamp_min(y) | d4 f4
 | x ** 2, x ** -1.0, 2 ** x | h3
 | x ** y, x ** 3 | I4 I4%4
 | x @ y | h2x3 h3x2
 | x @ y | g2x3 g3x2
 | x @ y | I2x3 I3x2
 | x @ y | B2x3 B3x2
 | torch.bmm(x, y) | d2x3x4 d2x4x3
 | torch.addmm(x, y, z, beta=2, alpha=3) | i2x2 i2x3 i3x2
 | x.sum(), x.mean(), x.std() | g6
 | x.cumsum(0), x.prod() | B6
 | x.float().mean(), x.to(torch.bool).sum() | c6
 | torch.exp(x), torch.tanh(x), torch.sqrt(x) | I3%5
 | torch.sin(x), torch.floor(x / 2) | c3
 | x.sort(), x.argmax() | h6
 | x.max(0), x.topk(2) | B6
 | F.one_hot(x.long(), 5), x.bool() | B4%5
 | x.logical_not(), x.logical_xor(y) | h3 c3
 | torch.isnan(x), torch.isinf(x), torch.isfinite(x) | i3
 | torch.isclose(x, y), torch.isclose(x, y, equal_nan=True) | i3 i3
 | torch.isreal(x), torch.isneginf(x), torch.isposinf(x) | f3
 | x.all(), x.any(), x.sum(), x.numel() + x.sum() | f0x3
 | x.sum(0), x.mean(0), x.prod(0), torch.cat([x, x]) | f0x3
 | x.max(1), x.softmax(1), x.transpose(0, 1) | f0x3
 | x @ y, x.reshape(-1, 3), x.flatten() | f0x3 f3x2
 | x.sum(), x.mean(), x.max(), x.softmax(0), x.cumsum(0) | f
 | x.reshape(1, 1), x.expand(2, 3), x.unsqueeze(-1), x.squeeze(), x.flatten() | f
 | x.sort(), x.argmax(), x.std(unbiased=False), x.norm() | f
 | torch.index_select(x, 0, torch.tensor([0])), x.gather(0, torch.tensor(0)), x.topk(1) | f
 | x[y], x[None], x[...] | f n1%1
 | x.to(torch.float8_e4m3fn).float(), x.to(torch.float8_e5m2).float() | f6
 | x.to(torch.uint16).to(torch.int32), x.to(torch.uint32).to(torch.int64) | n6%100
 | x.tril() + y, x.flip(0), x.roll(1) | g3x3 g3
""")
