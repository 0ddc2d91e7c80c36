"""Text and speech as people write them: loops that fill lists, decoding, padding, filters."""

import math
from typing import List
import torch
from torch import nn, Tensor
from torch.nn import functional as F
from torch_case import ids, image, one

BS = {0: "batch", 1: "seq"}
S = ("scripted",)


class TextCNN(nn.Module):
    """Windows over the words, and the largest of each: over all of an axis whose size is not fixed."""

    def __init__(s):
        super().__init__()
        s.emb = nn.Embedding(80, 16, padding_idx=0)
        s.convs = nn.ModuleList([nn.Conv2d(1, 8, (k, 16)) for k in (2, 3, 4)])
        s.fc = nn.Linear(24, 3)

    def forward(s, x):
        e = s.emb(x).unsqueeze(1)
        h = [F.relu(c(e)).squeeze(3) for c in s.convs]
        return s.fc(torch.cat([F.max_pool1d(i, i.size(2)).squeeze(2) for i in h], 1))


one("text_cnn", TextCNN, ids(2, 12, high=80), alt=(ids(3, 15, high=80),), dynamic=[BS], forms=S)


class PaddedEncoder(nn.Module):
    """nn.TransformerEncoder as it is by default: with padding, through nested tensors."""

    def __init__(s):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True)
        s.emb, s.enc = nn.Embedding(30, 16), nn.TransformerEncoder(layer, 2)

    def forward(s, x):
        return s.enc(s.emb(x), src_key_padding_mask=x == 0)


def padded(b, n):
    x = ids(b, n, high=29) + 1
    x[0, -2:] = 0
    return x


one(
    "encoder_nested",
    PaddedEncoder,
    padded(2, 8),
    alt=(padded(3, 10),),
    dynamic=[BS],
    forms=("traced", "scripted"),
)


class Viterbi(nn.Module):
    """The best path through a chain: a list that one loop fills and another reads, and one that is reversed."""

    def __init__(s, n=5):
        super().__init__()
        s.transitions, s.start = nn.Parameter(torch.randn(n, n)), nn.Parameter(torch.randn(n))

    def forward(s, emissions):
        n = emissions.size(0)
        score = s.start + emissions[0]
        history: List[Tensor] = []
        for i in range(1, n):
            score, idx = (score.unsqueeze(2) + s.transitions + emissions[i].unsqueeze(1)).max(dim=1)
            history.append(idx)
        best, last = score.max(dim=1)
        path = [last]
        for i in range(n - 1):
            last = torch.gather(history[n - 2 - i], 1, last.unsqueeze(1)).squeeze(1)
            path.append(last)
        path.reverse()
        return best, torch.stack(path)


one("viterbi", Viterbi, image(6, 2, 5))
one("viterbi_any_length", Viterbi, image(6, 2, 5), alt=(image(8, 3, 5),), dynamic=[{0: "seq", 1: "batch"}], forms=S)


class OwnLSTM(nn.Module):
    """A tensor taken apart along time, and a list that grows by +=."""

    def __init__(s):
        super().__init__()
        s.wi, s.wh = nn.Parameter(torch.randn(24, 5)), nn.Parameter(torch.randn(24, 6))
        s.b = nn.Parameter(torch.randn(24))

    def forward(s, x, h, c):
        xs = x.unbind(0)
        outs: List[Tensor] = []
        for i in range(len(xs)):
            a, f, z, o = (xs[i] @ s.wi.t() + h @ s.wh.t() + s.b).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(a) * torch.tanh(z)
            h = torch.sigmoid(o) * torch.tanh(c)
            outs += [h]
        return torch.stack(outs), h, c


one(
    "own_lstm_any_length",
    OwnLSTM,
    image(4, 2, 5),
    image(2, 6),
    image(2, 6, seed=1),
    alt=(image(6, 3, 5), image(3, 6), image(3, 6, seed=1)),
    dynamic=[{0: "seq", 1: "batch"}, {0: "batch"}, {0: "batch"}],
    forms=S,
)


class Greedy(nn.Module):
    """What CTC decoding keeps: the first of equal neighbours that is no blank."""

    def forward(s, logits):
        best = logits.argmax(-1)
        keep = torch.ones_like(best, dtype=torch.bool)
        keep[1:] = best[1:] != best[:-1]
        keep &= best != 0
        return best[keep]


one("ctc_greedy", Greedy, image(9, 4), alt=(image(12, 4),), dynamic=[{0: "frames"}])


class Transducer(nn.Module):
    """Greedy decoding: a loop that goes on, or stays and makes a symbol."""

    def __init__(s):
        super().__init__()
        s.emb, s.pred, s.join, s.out = nn.Embedding(8, 6), nn.LSTMCell(6, 6), nn.Linear(12, 6), nn.Linear(6, 8)

    def forward(s, enc):
        h, c = s.pred(s.emb(torch.zeros(1, dtype=torch.long)))
        out, t, n = torch.zeros(0, dtype=torch.long), 0, 0
        while t < enc.size(0):
            k = s.out(torch.tanh(s.join(torch.cat([enc[t].unsqueeze(0), h], 1)))).argmax(-1)
            if bool(k == 0) or n >= 2:
                t, n = t + 1, 0
            else:
                out, n = torch.cat([out, k]), n + 1
                h, c = s.pred(s.emb(k), (h, c))
        return out


one("transducer_greedy", Transducer, image(6, 6), alt=(image(9, 6),), dynamic=[{0: "frames"}], forms=S)


class OverlapAdd(nn.Module):
    """Pieces of a signal laid over each other."""

    def __init__(s):
        super().__init__()
        s.dec = nn.Linear(8, 6)

    def forward(s, x):
        y = s.dec(x)
        step, unit = 2, math.gcd(6, 2)
        n = (x.size(1) - 1) * step + 6
        at = torch.arange(0, n // unit).unfold(0, 6 // unit, step // unit).contiguous().view(-1)
        out = y.new_zeros(x.size(0), n // unit, unit)
        return out.index_add_(1, at, y.view(x.size(0), -1, unit)).view(x.size(0), -1)


one("overlap_add", OverlapAdd, image(2, 5, 8), alt=(image(3, 9, 8),), dynamic=[{0: "batch", 1: "frames"}])
