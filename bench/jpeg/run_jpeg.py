# SPDX-License-Identifier: Apache-2.0
"""run_jpeg.py: pictures a second on one core, ours and Pillow's in turn (see run). Ours are normalised floats in
planes, Pillow's are left as 8-bit pictures. The bound is libjpeg-turbo decoding every pixel and nothing else; ours
decodes only what a crop needs."""
import argparse
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np
import PIL
from PIL import Image, features

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from table import Table  # noqa: E402

COUNT, WIDTH, HEIGHT, QUALITY, SIZE = 200, 500, 375, 90, 224


def draw(folder: pathlib.Path) -> None:
    """Photo-like pictures: smooth noise of several octaves, edges, grain."""
    if len(list(folder.glob("train/all/*.jpg"))) == COUNT and (folder / "test").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "train" / "all").mkdir(parents=True)
    rng = np.random.default_rng(1)
    for n in range(COUNT):
        levels = np.full((HEIGHT, WIDTH, 3), 128, np.float32)
        for cell, high in ((128, 50), (48, 25), (16, 14), (6, 8), (2, 5)):
            nodes = rng.normal(scale=high, size=(HEIGHT // cell + 2, WIDTH // cell + 2, 3)).astype(np.float32)
            levels += np.stack([np.asarray(Image.fromarray(nodes[..., c]).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC))
                                for c in range(3)], -1)
        for _ in range(6):
            x, y = rng.integers(0, WIDTH - 80), rng.integers(0, HEIGHT - 80)
            levels[y:y + rng.integers(10, 80), x:x + rng.integers(10, 80)] += rng.normal(scale=60, size=3)
        levels += rng.normal(scale=3, size=(HEIGHT, WIDTH, 1))
        picture = Image.fromarray(np.clip(levels, 0, 255).astype(np.uint8))
        picture.save(folder / "train" / "all" / f"{n:03}.jpg", quality=QUALITY)
    (folder / "test").symlink_to("train")


def random_box(width: int, height: int) -> tuple[int, int, int, int]:
    for _ in range(10):
        area, ratio = width * height * random.uniform(0.08, 1), math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            x, y = random.randint(0, width - w), random.randint(0, height - h)
            return x, y, x + w, y + h
    return 0, 0, width, height


def pillow(path: pathlib.Path, training: bool, gap: float | None, box_first: bool) -> Image.Image:
    im = Image.open(path)
    width, height = im.size
    if training:
        box = random_box(width, height)
    else:
        side = min(width, height) * SIZE / (SIZE * 256 // 224)
        box = (width - side) / 2, (height - side) / 2, (width + side) / 2, (height + side) / 2
    # the smallest decoding that leaves the box at least as large as what is made of it
    im.draft("RGB", (math.ceil(width * SIZE / (box[2] - box[0])), math.ceil(height * SIZE / (box[3] - box[1]))))
    fx, fy = im.size[0] / width, im.size[1] / height
    box = box[0] * fx, box[1] * fy, box[2] * fx, box[3] * fy
    if box_first:
        im = im.crop(tuple(round(v) for v in box)).resize((SIZE, SIZE), Image.Resampling.BILINEAR, reducing_gap=gap)
    else:
        im = im.resize((SIZE, SIZE), Image.Resampling.BILINEAR, box=box, reducing_gap=gap)
    return im.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if training and random.random() < 0.5 else im


WAYS = {"box": (None, False), "box, reducing": (2.0, False), "crop, then resize": (None, True)}


def pillow_rate(files: list[pathlib.Path], training: bool, way: tuple) -> float:
    random.seed(1)
    start = time.perf_counter()
    for path in files:
        pillow(path, training, *way)
    return len(files) / (time.perf_counter() - start)


def ours_rate(build: pathlib.Path, what: str, folder: pathlib.Path) -> float:
    command = [build / "bench" / "bench_jpeg", what, folder, "3"]
    return float(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    args = parser.parse_args()
    folder = args.build / "bench" / "jpeg-pictures"
    draw(folder)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # ours inherits it
    files = sorted(folder.glob("train/all/*.jpg"))
    kib = sum(f.stat().st_size for f in files) / COUNT / 1024
    print(
        f"Pillow {PIL.__version__} (libjpeg-turbo {features.version('libjpeg_turbo')}), one core, {COUNT} JPEGs of "
        f"{WIDTH} x {HEIGHT}, "
        f"quality {QUALITY}, {kib:.0f} KiB each, medians of {args.rounds} rounds of the best of 3 passes")
    table = Table("jpeg", args.json)
    for what, words in (("test", "short side to 256, middle 224"), ("train", "random crop to 224, mirrored")):
        ours, bound, theirs = [], [], {way: [] for way in WAYS}
        for _ in range(args.rounds):
            ours.append(ours_rate(args.build, what, folder))
            bound.append(ours_rate(args.build, "decode", folder))
            for way, how in WAYS.items():
                theirs[way].append(max(pillow_rate(files, what == "train", how) for _ in range(3)))
        peer, way = max((statistics.median(rates), way) for way, rates in theirs.items())
        table.row(words,
                  "images/s",
                  statistics.median(ours),
                  f"Pillow, {way}",
                  peer,
                  statistics.median(bound),
                  more_is_better=True)


if __name__ == "__main__":
    main()
