#!/usr/bin/env python3
"""The network of test/test_gradient.c, trained by PyTorch's autograd: the losses that the test expects.

usage: tool/train-oracle.py        (needs torch)
"""
import torch
import torch.nn.functional as F

MASK = (1 << 64) - 1


def draw(seed, n):
    """n numbers of the test's generator, as float32 has them, and its next state."""
    out = []
    for _ in range(n):
        seed = (seed * 6364136223846793005 + 1442695040888963407) & MASK
        out.append((seed >> 40) / 8388608.0 - 1)
    return torch.tensor(out, dtype=torch.float32), seed


SHAPES = [(6, 4, 3, 3), (6,), (6,), (8, 6, 3, 3), (8,), (2, 8), (2,)]
ROW = 8 * 6 * 3 * 3  # numbers that are drawn for each of the weights


def weights():
    seed, out = 1, []
    for i, shape in enumerate(SHAPES):
        n = torch.Size(shape).numel()
        if i == 1:
            w = torch.ones(n)
        elif i == 2:
            w = torch.zeros(n)
        else:
            w, seed = draw(seed, ROW)
            w = 0.3 * w[:n]
        out.append(w.reshape(shape).double().requires_grad_())
    return out


def images():
    x, _ = draw(3, 8 * 4 * 8 * 8)
    x = x.reshape(8, 4, 8, 8).clone()
    x[1::2, :, :, :4] += 1
    return x.double(), torch.arange(8) % 2


def loss_of(ws, x, label):
    w1, s, b, w2, b2, w3, b3 = ws
    h = F.conv2d(x, w1, padding=1)
    h = F.batch_norm(h, None, None, s, b, training=True, eps=1e-5)
    h = F.max_pool2d(F.relu(h), 2)
    h = F.relu(F.conv2d(h, w2, b2, padding=1)).mean((2, 3))
    return F.cross_entropy(h @ w3.T + b3, label)


def main():
    ws = weights()
    x, label = images()
    vs = [torch.zeros_like(w) for w in ws]
    hs = [torch.zeros_like(w) for w in ws]
    rate, alpha, beta, epsilon = 0.01, 0.9, 0.999, 1e-6
    for step in range(30):
        loss = loss_of(ws, x, label)
        print(step, "%.9g" % loss.item())
        grads = torch.autograd.grad(loss, ws)
        with torch.no_grad():
            r = rate * (1 - beta**step) ** 0.5 / (1 - alpha**step) if step else rate
            for w, g, v, h in zip(ws, grads, vs, hs):
                v.mul_(alpha).add_((1 - alpha) * g)
                h.mul_(beta).add_((1 - beta) * g * g)
                w.sub_(r * v / (h.sqrt() + epsilon))


main()
