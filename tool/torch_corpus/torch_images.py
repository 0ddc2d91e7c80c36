"""Pictures: what stands before and behind networks in the model itself, and layers whose weights are computed."""

import math
from typing import List

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_case import image, one

HW = [{0: "batch", 2: "height", 3: "width"}]
N = [{0: "n"}]


def bytes_of(*shape, seed=0):
    return (image(*shape, seed=seed) * 60 + 128).clamp(0, 255).to(torch.uint8)


def boxes(n, seed=0):
    corner = image(n, 2, seed=seed).abs() * 15
    return torch.cat([corner, corner + image(n, 2, seed=seed + 9).abs() * 10 + 0.1], 1)


# ── Filters of each picture: as many groups as pictures ─────────────────────────────────────────────


class Modulated(nn.Module):
    """Of StyleGAN 2: weights scaled by a style, then normalized; larger by two where `up`."""

    def __init__(s, cin, cout, up):
        super().__init__()
        s.cin, s.cout, s.up = cin, cout, up
        s.weight = nn.Parameter(torch.randn(1, cout, cin, 3, 3))
        s.style = nn.Linear(16, cin)

    def forward(s, x, w):
        b, c, height, width = x.shape
        k = s.weight * s.style(w).view(b, 1, c, 1, 1)
        k = k * torch.rsqrt(k.pow(2).sum([2, 3, 4], keepdim=True) + 1e-8)
        x = x.reshape(1, b * c, height, width)
        if s.up:
            k = k.transpose(1, 2).reshape(b * c, s.cout, 3, 3)
            y = F.conv_transpose2d(x, k, stride=2, groups=b)
        else:
            y = F.conv2d(x, k.view(b * s.cout, c, 3, 3), padding=1, groups=b)
        return y.view(b, s.cout, y.size(2), y.size(3))


class Generator(nn.Module):
    def __init__(s):
        super().__init__()
        s.const = nn.Parameter(torch.randn(1, 8, 4, 4))
        s.a, s.b = Modulated(8, 6, True), Modulated(6, 3, False)

    def forward(s, w):
        x = s.const.repeat(w.shape[0], 1, 1, 1)
        return s.b(F.leaky_relu(s.a(x, w), 0.2), w)


one("modulated_conv", Generator, image(2, 16), alt=(image(3, 16),), single=(image(1, 16),), dynamic=[{0: "batch"}])


class Correlate(nn.Module):
    """Of trackers: the features of one picture are the filters of another."""

    def __init__(s):
        super().__init__()
        s.f = nn.Conv2d(3, 8, 3)

    def forward(s, z, x):
        k, f = s.f(z), s.f(x)
        b, c = k.shape[0], k.shape[1]
        y = F.conv2d(f.view(1, b * c, f.size(2), f.size(3)), k.view(b * c, 1, k.size(2), k.size(3)), groups=b * c)
        return y.view(b, c, y.size(2), y.size(3))


one(
    "correlation",
    Correlate,
    image(2, 3, 6, 6),
    image(2, 3, 12, 12),
    alt=(image(3, 3, 6, 6), image(3, 3, 12, 12)),
    dynamic=[{0: "batch"}] * 2,
)


# ── Before a network ────────────────────────────────────────────────────────────────────────────────


class Letterbox(nn.Module):
    def forward(s, x: Tensor):
        h, w = x.shape[2], x.shape[3]
        r = min(32 / h, 48 / w)
        nh, nw = int(round(h * r)), int(round(w * r))
        x = F.interpolate(x.float(), size=(nh, nw), mode="bilinear", align_corners=False)
        left, top = (48 - nw) // 2, (32 - nh) // 2
        return F.pad(x, (left, 48 - nw - left, top, 32 - nh - top), value=114.0) / 255


one("letterbox", Letterbox, bytes_of(1, 3, 40, 50), alt=(bytes_of(2, 3, 44, 90),), dynamic=HW)


class Posterize(nn.Module):
    def forward(s, x):
        return x & -32, x > -56, 255 - x, (x.float() * 1.2).clamp(0, 255).to(torch.uint8)


one("posterize", Posterize, bytes_of(2, 3, 8, 9), alt=(bytes_of(3, 3, 7, 8),), dynamic=HW)


class Rotate(nn.Module):
    def forward(s, x: Tensor, degrees: float = 30.0):
        a = math.radians(degrees)
        turn = torch.tensor([[math.cos(a), -math.sin(a), 0.0], [math.sin(a), math.cos(a), 0.0]])
        grid = F.affine_grid(turn.unsqueeze(0).expand(x.size(0), 2, 3), x.shape, align_corners=False)
        return F.grid_sample(x, grid, mode="bicubic", padding_mode="border", align_corners=False)


one("rotate", Rotate, image(2, 3, 9, 12), alt=(image(3, 3, 9, 12),), dynamic=[{0: "batch"}])


# ── Behind a network ────────────────────────────────────────────────────────────────────────────────


class PointSample(nn.Module):
    """Of PointRend: the places that are least certain, looked at again."""

    def __init__(s):
        super().__init__()
        s.f, s.c, s.m = nn.Conv2d(3, 8, 4, 4), nn.Conv2d(8, 3, 1), nn.Conv1d(11, 3, 1)

    def forward(s, x):
        f = s.f(x)
        y = F.interpolate(s.c(f), scale_factor=2.0, mode="bilinear", align_corners=False)
        b, c, h, w = y.shape
        best, _ = torch.sort(y, dim=1, descending=True)
        _, at = (best[:, 1] - best[:, 0]).view(b, -1).topk(6, dim=1)
        row = torch.div(at, w, rounding_mode="floor")
        points = torch.stack([0.5 / w + (at % w).float() / w, 0.5 / h + row.float() / h], -1).unsqueeze(2) * 2 - 1
        fine = [F.grid_sample(t, points, align_corners=False).squeeze(3) for t in (y, f)]
        again = s.m(torch.cat(fine, 1))
        return y.reshape(b, c, -1).scatter(2, at.unsqueeze(1).expand(-1, c, -1), again).view(b, c, h, w)


one("point_sample", PointSample, image(2, 3, 16, 24), alt=(image(3, 3, 24, 16),), dynamic=HW)


class Paste(nn.Module):
    """Of Mask R-CNN: masks into a picture whose size is given."""

    def forward(s, masks: Tensor, boxes: Tensor, h: int, w: int):
        pictures = torch.jit.annotate(List[Tensor], [])
        for i in range(masks.size(0)):
            box = boxes[i].to(torch.int64)
            x, y, x2, y2 = int(box[0]), int(box[1]), int(box[2]) + 1, int(box[3]) + 1
            size = [y2 - y, x2 - x]
            mask = F.interpolate(masks[i][None, None], size=size, mode="bilinear", align_corners=False)[0][0]
            picture = torch.zeros((h, w))
            x0, x1, y0, y1 = max(x, 0), min(x2, w), max(y, 0), min(y2, h)
            picture[y0:y1, x0:x1] = mask[(y0 - y) : (y1 - y), (x0 - x) : (x1 - x)]
            pictures.append(picture)
        return torch.stack(pictures, 0) > 0.5


one(
    "paste_masks",
    Paste,
    image(3, 6, 6),
    torch.tensor([[1.0, 2, 9.5, 12], [-3, 3, 20, 18], [0, -2, 5, 6]]),
    20,
    18,
    forms=("scripted",),
    flat=True,
)


class Suppress(nn.Module):
    """Non-maximum suppression as a loop."""

    def forward(s, boxes: Tensor, scores: Tensor):
        left, keep = scores.argsort(descending=True), torch.jit.annotate(List[Tensor], [])
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        while left.numel() > 0:
            i, left = left[0], left[1:]
            keep.append(i)
            b = boxes[left]
            size = (torch.min(b[:, 2:], boxes[i, 2:]) - torch.max(b[:, :2], boxes[i, :2])).clamp(min=0)
            inter = size[:, 0] * size[:, 1]
            left = left[inter / (area[left] + area[i] - inter) <= 0.3]
        return torch.stack(keep)


one(
    "suppress_loop",
    Suppress,
    boxes(12),
    torch.linspace(0.9, 0.1, 12),
    alt=(boxes(17, 1), torch.linspace(0.9, 0.1, 17)),
    dynamic=N * 2,
    forms=("scripted",),
)
