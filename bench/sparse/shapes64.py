# SPDX-License-Identifier: Apache-2.0
"""shapes64.py: ten drawn shapes on busy grounds, 64 x 64, as folders of PNG files: a set for `set: images`. The same
bytes in every run."""
import pathlib
import struct
import zlib

import numpy

SIDE, CLASSES = 64, 10


def inside(kind: int, x: numpy.ndarray, y: numpy.ndarray) -> numpy.ndarray:
    """Where shape `kind` is, in coordinates in which it fills about [-1, 1]."""
    r, angle = numpy.hypot(x, y), numpy.arctan2(y, x)
    square = numpy.maximum(abs(x), abs(y))
    return [
        r < 0.9, (r < 0.9) & (r > 0.5), square < 0.8, (square < 0.8) & (square > 0.45),
        abs(x) + abs(y)
        < 1, (y > -0.6) & (abs(x) < (1 - y) * 0.55), (numpy.minimum(abs(x), abs(y)) < 0.25) & (square < 0.9),
        (abs(x) < 0.9) & (abs(y) < 0.3), r < 0.6 + 0.35 * numpy.cos(5 * angle), (r < 0.9) & (x > 0)
    ][kind]


def picture(random: numpy.random.Generator, kind: int) -> numpy.ndarray:
    y, x = numpy.mgrid[0:SIDE, 0:SIDE].astype(float)
    waves = numpy.zeros((SIDE, SIDE, 3))
    for _ in range(3):
        kx, ky, phase = random.uniform(-0.5, 0.5, 3)
        waves += numpy.sin(kx * x + ky * y + 10 * phase)[..., None] * random.uniform(-25, 25, 3)
    ground = random.uniform(60, 190, 3) + waves
    turn, size = random.uniform(0, 2 * numpy.pi), random.uniform(11, 22)
    cx, cy = random.uniform(22, 42, 2)
    u, v = (x - cx) / size, (y - cy) / size
    where = inside(kind, u * numpy.cos(turn) + v * numpy.sin(turn), v * numpy.cos(turn) - u * numpy.sin(turn))
    colour = ground.mean(axis=(0, 1)) + random.choice([-1, 1], 3) * random.uniform(45, 90, 3)
    ground[where] = colour
    return numpy.clip(ground + random.normal(0, 8, ground.shape), 0, 255).astype(numpy.uint8)


def png(pixels: numpy.ndarray) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def make(folder: pathlib.Path, ntrain: int, ntest: int) -> None:
    """folder/train and folder/test, a folder a class each."""
    for seed, (split, n) in enumerate((("train", ntrain), ("test", ntest))):
        random = numpy.random.default_rng(seed)
        for i in range(n):
            to = folder / split / f"shape{i % CLASSES}"
            to.mkdir(parents=True, exist_ok=True)
            (to / f"{i:06}.png").write_bytes(png(picture(random, i % CLASSES)))
