# SPDX-License-Identifier: Apache-2.0
"""make_letters.py FOLDER [TRAIN [TEST]]: draws ten letters, turned, stretched, of any colour, on busy grounds, 3 x 32
x 32, as IDX files that `data: {set: idx, path: FOLDER}` reads: a small set (500 and 2,000 unless said) to fine-tune
on. The same bytes everywhere. Needs nothing but Python."""
import math
import pathlib
import random
import struct
import sys

SIDE, ROWS, COLUMNS = 32, 7, 5
GLYPHS = {
    "A": "01110100011000111111100011000110001",
    "C": "01110100011000010000100001000101110",
    "E": "11111100001000011110100001000011111",
    "H": "10001100011000111111100011000110001",
    "K": "10001100101010011000101001001010001",
    "R": "11110100011000111110101001001010001",
    "S": "01111100001000001110000010000111110",
    "T": "11111001000010000100001000010000100",
    "X": "10001100010101000100010101000110001",
    "Z": "11111000010001000100010001000011111",
}


def colour(draw: random.Random) -> list[int]:
    return [draw.randrange(256) for _ in range(3)]


def ground(draw: random.Random) -> list[list[list[int]]]:
    """Three planes: a colour, rectangles of others, grain."""
    first = colour(draw)
    planes = [[[c] * SIDE for _ in range(SIDE)] for c in first]
    for _ in range(4):
        x, y, other = draw.randrange(SIDE), draw.randrange(SIDE), colour(draw)
        wide, high = draw.randrange(3, 14), draw.randrange(3, 14)
        for c in range(3):
            for row in planes[c][y:y + high]:
                row[x:x + wide] = [other[c]] * len(row[x:x + wide])
    return planes


def letter(draw: random.Random, glyph: str) -> bytes:
    planes, ink = ground(draw), colour(draw)
    while sum(abs(ink[c] - planes[c][SIDE // 2][SIDE // 2]) for c in range(3)) < 180:
        ink = colour(draw)
    turn, cell = draw.uniform(-0.4, 0.4), draw.uniform(2.3, 3.6)
    stretch, at = draw.uniform(0.8, 1.25), (draw.uniform(12, 20), draw.uniform(13, 19))
    for y in range(SIDE):
        for x in range(SIDE):
            dx, dy = x - at[0], y - at[1]
            u = (dx * math.cos(turn) + dy * math.sin(turn)) / (cell * stretch) + COLUMNS / 2
            v = (dy * math.cos(turn) - dx * math.sin(turn)) / cell + ROWS / 2
            if 0 <= u < COLUMNS and 0 <= v < ROWS and glyph[int(v) * COLUMNS + int(u)] == "1":
                for c in range(3):
                    planes[c][y][x] = ink[c]
    return bytes(min(255, max(0, value + draw.randrange(-25, 26))) for plane in planes for row in plane for value in row)


def write(folder: pathlib.Path, split: str, count: int, seed: int) -> None:
    draw, names = random.Random(seed), list(GLYPHS)
    labels = [i % len(names) for i in range(count)]
    pixels = b"".join(letter(draw, GLYPHS[names[label]]) for label in labels)
    (folder / f"{split}-images-idx4-ubyte").write_bytes(bytes([0, 0, 8, 4]) + struct.pack(">4I", count, 3, SIDE, SIDE) + pixels)
    (folder / f"{split}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1]) + struct.pack(">I", count) + bytes(labels))


def main() -> None:
    folder, counts = pathlib.Path(sys.argv[1]), [int(v) for v in sys.argv[2:]]
    folder.mkdir(parents=True, exist_ok=True)
    train, test = (counts + [500, 2000][len(counts):])[:2]
    write(folder, "train", train, 1)
    write(folder, "t10k", test, 2)


if __name__ == "__main__":
    main()
