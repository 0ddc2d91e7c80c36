"""Sound: torchaudio's networks, spectrograms, networks that work on samples."""

import torch, torchaudio
from torch import nn
from torch.nn import functional as F
from torchaudio import models as A
from torch_case import case, image

B = [{0: "batch"}]
BT = [{0: "batch", 1: "samples"}]


@case("ta_conv_tasnet", dynamic=B, cost=4)
def _():
    return (
        A.ConvTasNet(
            num_sources=2,
            enc_kernel_size=8,
            enc_num_feats=16,
            msk_kernel_size=3,
            msk_num_feats=12,
            msk_num_hidden_feats=16,
            msk_num_layers=2,
            msk_num_stacks=2,
        ),
        (image(2, 1, 400),),
        (image(3, 1, 400),),
        (image(1, 1, 400),),
    )


@case("ta_wav2letter", dynamic=B, cost=3)
def _():
    return (
        A.Wav2Letter(num_classes=10, input_type="mfcc", num_features=13),
        (image(2, 13, 60),),
        (image(3, 13, 60),),
        (image(1, 13, 60),),
    )


@case("ta_deepspeech", dynamic=B)
def _():
    return (
        A.DeepSpeech(n_feature=12, n_hidden=16, n_class=8),
        (image(2, 1, 20, 12),),
        (image(3, 1, 20, 12),),
        (image(1, 1, 20, 12),),
    )


@case("ta_conformer", dynamic=[{0: "batch"}, {0: "batch"}], cost=4)
def _():
    m = A.Conformer(input_dim=16, num_heads=2, ffn_dim=24, num_layers=2, depthwise_conv_kernel_size=7)
    return (
        m,
        (image(2, 12, 16), torch.tensor([12, 9])),
        (image(3, 12, 16), torch.tensor([12, 9, 4])),
        (image(1, 12, 16), torch.tensor([12])),
    )


@case("ta_emformer", cost=5)
def _():
    m = A.Emformer(
        input_dim=16,
        num_heads=2,
        ffn_dim=24,
        num_layers=2,
        segment_length=4,
        left_context_length=4,
        right_context_length=2,
    )
    return m, (image(2, 14, 16), torch.tensor([14, 10]))


@case("ta_wav2vec2", dynamic=B, cost=5)
def _():
    m = A.wav2vec2_model(
        "group_norm", [(16, 10, 5), (16, 3, 2)], False, 32, 0.0, 16, 4, 2, 4, 0.0, 48, 0.0, 0.0, False, 0.0, 10
    )
    return m, (image(2, 800),), (image(3, 800),), (image(1, 800),)


@case("ta_wavernn", cost=4)
def _():
    return A.WaveRNN(
        upsample_scales=[2, 2, 3],
        n_classes=16,
        hop_length=12,
        n_res_block=1,
        n_rnn=16,
        n_fc=16,
        kernel_size=5,
        n_freq=10,
        n_hidden=8,
        n_output=8,
    ), (image(1, 1, (9 - 5 + 1) * 12), image(1, 1, 10, 9))


class Spec(nn.Module):
    def __init__(s, n=64, hop=16, power=True):
        super().__init__()
        s.n, s.hop, s.power = n, hop, power
        s.register_buffer("w", torch.hann_window(n))

    def forward(s, x):
        z = torch.stft(x, s.n, s.hop, window=s.w, return_complex=True)
        if s.power:
            return z.abs().pow(2.0)
        return torch.view_as_real(z)


@case("stft_power", dynamic=B, fill=False)
def _():
    return Spec(), (image(2, 256),), (image(3, 256),), (image(1, 256),)


@case("stft_real", dynamic=B, fill=False)
def _():
    return Spec(48, 12, False), (image(2, 200),), (image(3, 200),), (image(1, 200),)


@case("ta_melspectrogram", dynamic=B, fill=False, cost=2)
def _():
    return (
        torchaudio.transforms.MelSpectrogram(8000, n_fft=64, hop_length=32, n_mels=12),
        (image(2, 512),),
        (image(3, 512),),
        (image(1, 512),),
    )


@case("ta_mfcc", dynamic=B, fill=False, cost=2)
def _():
    return (
        torchaudio.transforms.MFCC(8000, n_mfcc=8, melkwargs=dict(n_fft=64, hop_length=32, n_mels=12)),
        (image(2, 512),),
        (image(3, 512),),
        (image(1, 512),),
    )


class LogMel(nn.Module):
    """The front end of a speech recogniser, by convolution."""

    def __init__(s):
        super().__init__()
        s.c = nn.Conv1d(1, 34, 32, 16, bias=False)
        s.m = nn.Parameter(torch.rand(17, 8))

    def forward(s, x):
        y = s.c(x.unsqueeze(1))
        p = y[:, :17] ** 2 + y[:, 17:] ** 2
        l = torch.log10(torch.clamp(p.transpose(1, 2) @ s.m, min=1e-8))
        l = torch.maximum(l, l.amax((1, 2), keepdim=True) - 8.0)
        return (l + 4.0) / 4.0


@case("log_mel", dynamic=BT)
def _():
    return LogMel(), (image(2, 320),), (image(3, 400),), (image(1, 320),)


class Fft(nn.Module):
    def forward(s, x):
        z = torch.fft.rfft(x)
        full = torch.fft.fft(x)
        back = torch.fft.irfft(z * 0.5, n=x.shape[-1])
        two = torch.fft.rfft2(x)
        return torch.view_as_real(z), full.real, full.imag, back, two.abs(), torch.fft.fftshift(x)


@case("fft", dynamic=B)
def _():
    return Fft(), (image(2, 6, 16),), (image(3, 6, 16),), (image(1, 6, 16),)


class Vocos(nn.Module):
    """Spectrum out of features and back to samples."""

    def __init__(s):
        super().__init__()
        s.l = nn.Linear(8, 34)
        s.register_buffer("w", torch.hann_window(32))

    def forward(s, x):
        m, p = s.l(x).transpose(1, 2).chunk(2, 1)
        m = torch.exp(m).clamp(max=100.0)
        z = torch.complex(m * torch.cos(p), m * torch.sin(p))
        return torch.istft(z, 32, 8, 32, s.w, center=True)


@case("istft_vocoder")
def _():
    return Vocos(), (image(2, 10, 8),)


class HifiGan(nn.Module):
    def __init__(s):
        super().__init__()
        from torch.nn.utils.parametrizations import weight_norm

        s.pre = weight_norm(nn.Conv1d(8, 24, 7, padding=3))
        s.up = nn.ModuleList(
            [weight_norm(nn.ConvTranspose1d(24, 12, 8, 4, 2)), weight_norm(nn.ConvTranspose1d(12, 6, 4, 2, 1))]
        )
        s.res = nn.ModuleList(
            [
                weight_norm(nn.Conv1d(12, 12, 3, dilation=3, padding=3)),
                weight_norm(nn.Conv1d(6, 6, 3, dilation=1, padding=1)),
            ]
        )
        s.post = weight_norm(nn.Conv1d(6, 1, 7, padding=3))

    def forward(s, x):
        x = s.pre(x)
        for u, r in zip(s.up, s.res):
            x = u(F.leaky_relu(x, 0.1))
            x = x + r(F.leaky_relu(x, 0.1))
        return torch.tanh(s.post(F.leaky_relu(x)))


@case("hifigan", dynamic=[{0: "batch", 2: "frames"}])
def _():
    return HifiGan(), (image(2, 8, 9),), (image(3, 8, 12),), (image(1, 8, 9),)


class OldNorm(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = nn.utils.weight_norm(nn.Conv1d(4, 8, 3))
        s.b = nn.utils.spectral_norm(nn.Linear(8, 5))

    def forward(s, x):
        return s.b(s.a(x).transpose(1, 2))


@case("weight_norm_old", dynamic=B)
def _():
    return OldNorm(), (image(2, 4, 9),), (image(3, 4, 9),), (image(1, 4, 9),)


class Filters(nn.Module):
    def forward(s, x):
        return torchaudio.functional.lowpass_biquad(x, 16000, 2000.0), torchaudio.functional.deemphasis(x)


@case("ta_filters", dynamic=BT, fill=False, forms=("traced", "export"))
def _():
    return Filters(), (image(2, 60),), (image(3, 80),), (image(1, 60),)


class Deltas(nn.Module):
    def __init__(s):
        super().__init__()
        s.mel = torchaudio.transforms.MelSpectrogram(16000, n_fft=64, n_mels=12)
        s.d = torchaudio.transforms.ComputeDeltas()

    def forward(s, x):
        return s.d(torchaudio.functional.amplitude_to_DB(s.mel(x), 10.0, 1e-10, 0.0, 80.0))


@case("ta_deltas", dynamic=BT, fill=False)
def _():
    return Deltas(), (image(2, 800),), (image(3, 1200),), (image(1, 800),)
