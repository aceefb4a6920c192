# SPDX-License-Identifier: Apache-2.0
"""golden_samples.py: the samples of the narrow golden runs, as IDX files: made where they are needed instead of kept.
Plain Python, so that compare_losses.py needs nothing else."""
import hashlib
import math
import pathlib
import struct

SAMPLES, CLASSES, GRID = 16, 10, 8


def pixels(shape: list[int]) -> bytes:
    """All samples: 8 x 8 coloured squares under noise, so that samples differ at every scale and no two pixels are
    tied."""
    channels, height, width = shape
    planes = SAMPLES * channels
    drawn = hashlib.shake_128(b"tutti").digest(planes * (height * width + GRID * GRID))
    squares, noise, out = drawn[:planes * GRID * GRID], drawn[planes * GRID * GRID:], bytearray(planes * height * width)
    for at in range(len(out)):
        plane, y, x = at // (height * width), at // width % height, at % width
        out[at] = (squares[(plane * GRID + y * GRID // height) * GRID + x * GRID // width] + noise[at]) // 2
    return bytes(out)


def labels() -> bytes:
    return bytes((CLASSES - 1 - 3 * i) % CLASSES for i in range(SAMPLES))  # the largest is there: it says how many classes


def write(folder: pathlib.Path, shape: list[int]) -> None:
    data = pixels(shape)
    assert len(data) == SAMPLES * math.prod(shape)
    for split in ("train", "t10k"):
        dims = [SAMPLES, *shape]
        images = bytes([0, 0, 8, len(dims)]) + struct.pack(f">{len(dims)}I", *dims) + data
        (folder / f"{split}-images-idx{len(dims)}-ubyte").write_bytes(images)
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1]) + struct.pack(">I", SAMPLES) + labels())
