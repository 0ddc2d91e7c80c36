"""Train the small super-resolution network of this folder, and save it as PyTorch users do.

    pip install torch scikit-image
    python train.py [--pictures DIR] [--seconds N]

It doubles the size of a picture: what bicubic interpolation gives, plus what it learned to add.
Pictures are those that scikit-image carries (all of them free to use: see its data/README.txt);
`astronaut` is kept out of the training, and a part of it is what `make run` enlarges. Writes
super_resolution.pt2 (torch.export) and picture.ppm beside this file. A minute on a GPU is enough.
"""
import argparse
import pathlib
import time

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

NAMES = ("chelsea coffee rocket motorcycle_left hubble_deep_field ihc retina color brick camera "
         "grass gravel coins page text").split()
HELD_OUT = "astronaut"


class SuperResolution(nn.Module):
    def __init__(self, width=48, depth=4):
        super().__init__()
        self.first = nn.Conv2d(3, width, 5, padding=2)
        self.body = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(depth))
        self.last = nn.Conv2d(width, 12, 3, padding=1)

    def forward(self, picture):
        x = F.relu(self.first(picture))
        for conv in self.body:
            x = x + F.relu(conv(x))
        smooth = F.interpolate(picture, scale_factor=2.0, mode="bicubic", align_corners=False)
        return torch.clamp(smooth + F.pixel_shuffle(self.last(x), 2), 0, 1)


def load(folder, name):
    path = next(iter(sorted(folder.glob(name + ".*"))))
    pixels = np.asarray(Image.open(path).convert("RGB"), dtype=np.float32) / 255
    height, width = (n // 2 * 2 for n in pixels.shape[:2])
    return torch.from_numpy(pixels[:height, :width].transpose(2, 0, 1).copy())


def halve(pictures):
    return F.avg_pool2d(pictures, 2)


def patches(pictures, count, size, device):
    out = torch.empty(count, 3, size, size, device=device)
    for i in range(count):
        picture = pictures[int(torch.randint(len(pictures), ()))]
        _, height, width = picture.shape
        y = int(torch.randint(height - size, ())) // 2 * 2
        x = int(torch.randint(width - size, ())) // 2 * 2
        patch = picture[:, y:y + size, x:x + size]
        if torch.rand(()) < 0.5:
            patch = patch.flip(2)
        out[i] = torch.rot90(patch, int(torch.randint(4, ())), (1, 2))
    return out


def psnr(a, b):
    return float(-10 * torch.log10(((a - b) ** 2).mean()))


def train(model, pictures, seconds, device):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    start, step = time.time(), 0
    while (used := (time.time() - start) / seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = 1e-5 + 1e-3 * 0.5 * (1 + np.cos(np.pi * used))
        sharp = patches(pictures, 32, 96, device)
        loss = F.l1_loss(model(halve(sharp)), sharp)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    print(f"{step} steps, last loss {loss.item():.5f}")


def main():
    here = pathlib.Path(__file__).parent
    args = argparse.ArgumentParser()
    args.add_argument("--pictures", type=pathlib.Path)
    args.add_argument("--seconds", type=float, default=60)
    args.add_argument("--out", type=pathlib.Path, default=here)
    args = args.parse_args()
    if not args.pictures:
        import skimage
        args.pictures = pathlib.Path(skimage.__file__).parent / "data"
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pictures = [load(args.pictures, name).to(device) for name in NAMES]
    model = SuperResolution().to(device)
    train(model, pictures, args.seconds, device)

    model = model.cpu().eval()
    held_out = load(args.pictures, HELD_OUT)[:, 0:224, 130:354]
    small = halve(held_out[None])
    with torch.no_grad():
        bicubic = F.interpolate(small, scale_factor=2.0, mode="bicubic").clamp(0, 1)
        print(f"{HELD_OUT}: bicubic {psnr(bicubic[0], held_out):.2f} dB, "
              f"network {psnr(model(small)[0], held_out):.2f} dB")
    pixels = (held_out * 255).round().byte().permute(1, 2, 0).numpy()
    with open(args.out / "picture.ppm", "wb") as f:
        f.write(b"P6\n%d %d\n255\n" % (pixels.shape[1], pixels.shape[0]))
        f.write(pixels.tobytes())
    size = torch.export.Dim.AUTO
    dims = {0: size, 2: size, 3: size}
    sample = torch.rand(2, 3, 32, 40)
    program = torch.export.export(model, (sample,), dynamic_shapes={"picture": dims})
    torch.export.save(program, args.out / "super_resolution.pt2")


if __name__ == "__main__":
    main()
