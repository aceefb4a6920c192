#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/golden/image: small pictures and what Pillow decodes and resizes them to. Needs Pillow and numpy (PyPI).

usage: tests/oracle/image_golden.py [OUT]
cases.txt, a line each: name picture lo_x hi_x begin_x end_x out_x lo_y hi_y begin_y end_y out_y; NAME.rgb has the
bytes. crop: the box is cut out, then resized. resize: the whole is resized, then a part is cut out.
"""
import pathlib
import sys

import numpy as np
import PIL
from PIL import Image

out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "golden" / "image")
rng = np.random.default_rng(1)


def picture(width: int, height: int) -> Image.Image:
    """Smooth colours, a few hard edges and grain."""
    x, y = np.meshgrid(np.linspace(0, 1, width), np.linspace(0, 1, height))
    planes = [127 + 100 * np.sin(6 * x + 2 * c) * np.cos(5 * y - c) for c in range(3)]
    levels = np.stack(planes, -1) + rng.normal(scale=8, size=(height, width, 3))
    levels[height // 4:height // 2, width // 5:width // 2] = (230, 30, 60)
    return Image.fromarray(np.clip(levels, 0, 255).astype(np.uint8))


def odd_kinds() -> list[str]:
    """Pictures of kinds that are common enough: made from what Pillow writes, by changing bytes where it cannot write
    them."""
    ink = (out / "ink.jpg").read_bytes()
    at = ink.index(b"Adobe") - 4
    (out / "ink_bare.jpg").write_bytes(ink[:at] + ink[at + 16:])
    ycck = bytearray(ink)
    ycck[at + 15] = 2  # the transform: its four planes are taken for YCCK, whatever they were
    (out / "ink_ycck.jpg").write_bytes(ycck)
    picture(27, 35).convert("CMYK").save(out / "ink_scans.jpg", quality=90, progressive=True)
    scans = (out / "ink_scans.jpg").read_bytes()
    at = scans.index(b"Adobe") - 4
    (out / "ink_scans.jpg").write_bytes(scans[:at] + scans[at + 16:])
    exif = Image.Exif()
    exif[0x0112] = 6
    picture(30, 20).save(out / "turned.jpg", quality=90, exif=exif)
    small = picture(24, 18)
    palette = small.quantize(16)
    palette.save(out / "palette_holes.png", transparency=bytes(range(0, 256, 16)))
    alpha = Image.linear_gradient("L").resize(small.size)
    Image.merge("LA", (small.convert("L"), alpha)).save(out / "grey_alpha.png")
    rgba = small.copy()
    rgba.putalpha(alpha)
    rgba.save(out / "colour_alpha.png")
    small.convert("1").save(out / "bits.png")
    return [
        "ink_bare.jpg", "ink_ycck.jpg", "ink_scans.jpg", "turned.jpg", "palette_holes.png", "grey_alpha.png",
        "colour_alpha.png", "bits.png"
    ]


def main() -> None:
    out.mkdir(parents=True, exist_ok=True)
    picture(83, 61).save(out / "noise.png")
    picture(83, 61).save(out / "photo.jpg", quality=90)
    picture(64, 48).convert("L").save(out / "grey.jpg", quality=85, progressive=True)
    picture(51, 37).convert("CMYK").save(out / "ink.jpg", quality=95)
    lines = []

    def case(name: str, file: str, x: tuple, y: tuple, result: Image.Image) -> None:
        lines.append(" ".join([name, file] + [f"{v:.17g}" for v in (*x, *y)]))
        (out / f"{name}.rgb").write_bytes(np.asarray(result.convert("RGB")).tobytes())

    for file in ["noise.png", "photo.jpg", "grey.jpg", "ink.jpg"] + odd_kinds():
        im = Image.open(out / file)
        im.load()
        w, h = im.size
        case("whole_" + file.split(".")[0], file, (0, w, 0, w, w), (0, h, 0, h, h), im)
    im = Image.open(out / "noise.png").convert("RGB")
    w, h = im.size
    for k, (x, y, cw, ch, size) in enumerate([(0, 0, 83, 61, 24), (7, 11, 40, 30, 24), (30, 5, 17, 23, 32), (60, 40, 23, 21, 20),
                                              (3, 2, 80, 9, 16), (5, 5, 1, 1, 8), (0, 0, 83, 61, 5)]):
        box = im.crop((x, y, x + cw, y + ch)).resize((size, size), Image.Resampling.BILINEAR)
        case(f"crop{k}", "noise.png", (x, x + cw, x, x + cw, size), (y, y + ch, y, y + ch, size), box)
    for k, size in enumerate([16, 28, 56]):
        side = (size * 256 + 112) // 224
        rw, rh = side * w // h, side
        left, top = (rw - size + 1) // 2, (rh - size + 1) // 2
        small = im.resize((rw, rh), Image.Resampling.BILINEAR).crop((left, top, left + size, top + size))
        case(f"resize{k}", "noise.png", (0, w, left * w / rw, (left + size) * w / rw, size),
             (0, h, top * h / rh, (top + size) * h / rh, size), small)
    (out / "cases.txt").write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} cases with Pillow {PIL.__version__}")


main()
