#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of the page in docs/pictures: a server trains examples/lenet.yaml, and Chromium looks at the job.

usage: tests/serve/page_pictures.py TUTTI_SERVER TUTTI FOLDER
Writes FOLDER/serve.svg, a screen in light colours, and FOLDER/serve-phone.svg, a phone in dark ones. Needs numpy.
"""
import base64
import os
import pathlib
import struct
import sys
import tempfile
import zlib

import numpy

from browser import Browser
from described import ROOT, ask
from interface import Server

NCOLOURS = 40
LOOKS = {"serve.svg": (1280, 900, False), "serve-phone.svg": (400, 900, True)}  # width, height, dark
WORDS = {"serve.svg": "The page of a job on a screen", "serve-phone.svg": "The page of a job on a phone"}


def read_png(data):
    """The pixels of a PNG of 8 bits a channel as Chromium writes it: rows, columns, red green blue."""
    place, packed = 8, b""
    while place < len(data):
        nbytes, kind = struct.unpack(">I4s", data[place:place + 8])
        body = data[place + 8:place + 8 + nbytes]
        if kind == b"IHDR":
            width, height, _, colours = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        place += 12 + nbytes
    nchannels = {2: 3, 6: 4}[colours]
    rows = numpy.frombuffer(zlib.decompress(packed), numpy.uint8).reshape(height, 1 + width * nchannels)
    above, out = numpy.zeros(width * nchannels, numpy.uint8), []
    for row in rows:
        line, filtered = row[1:].copy(), row[0]
        if filtered == 2:
            line += above
        elif filtered:  # each byte depends on the one to its left
            for i in range(len(line)):
                left, corner = (int(line[i - nchannels]), int(above[i - nchannels])) if i >= nchannels else (0, 0)
                up = int(above[i])
                paeth = min((left, up, corner), key=lambda x, p=left + up - corner: abs(p - x))
                line[i] = (int(line[i]) + {1: left, 3: (left + up) // 2, 4: paeth}[int(filtered)]) & 255
        out.append(line)
        above = line
    return numpy.array(out).reshape(height, width, nchannels)[:, :, :3]


def write_png(pixels):
    """A PNG with a palette. A colour is chosen because many pixels have it and because it is far from those chosen before;
    others, at edges of letters, become the nearest of these."""
    found, indices, counts = numpy.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    found, weights = found.astype(int), numpy.sqrt(counts)
    chosen, far = [int(counts.argmax())], numpy.full(len(found), numpy.inf)
    nearest = numpy.zeros(len(found), int)
    for n in range(1, NCOLOURS + 1):
        distance = ((found - found[chosen[-1]])**2).sum(axis=1)
        nearest[distance < far] = n - 1
        far = numpy.minimum(far, distance)
        chosen.append(int((far * weights).argmax()))
    colours = found[chosen[:NCOLOURS]].astype(numpy.uint8)
    indices = nearest[indices].reshape(pixels.shape[:2]).astype(numpy.uint8)
    body = zlib.compress(b"".join(b"\0" + row.tobytes() for row in indices), 9)
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 3, 0, 0, 0)
    parts = [(b"IHDR", header), (b"PLTE", colours.tobytes()), (b"IDAT", body), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts)


def look(server, width, height, dark):
    with Browser(width, height, dark) as b, tempfile.NamedTemporaryFile(suffix=".png") as file:
        b.open(f"{server.base}/#token={server.token}")
        b.wait("document.querySelector('h1')?.textContent === 'Jobs'")
        b.run("location.hash = '#/jobs/1'")
        b.wait("document.querySelectorAll('.chart canvas').length >= 8")  # curves of loss and of accuracy are there
        b.wait("Number(document.querySelector('.facts dd').textContent.split(' ')[0].replace(',', '')) > 1900", 300)
        if not dark:
            b.run("document.querySelector('.chart input').click()")  # the loss by logarithm
        b.run("new Promise((resolve) => setTimeout(resolve, 3000))")
        b.picture(file.name)
        assert not b.complaints, b.complaints
        return write_png(read_png(pathlib.Path(file.name).read_bytes()))


def draw(name, png):
    width, height, _ = LOOKS[name]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
            f'<title>{WORDS[name]}</title>\n<image width="{width}" height="{height}" href="data:image/png;base64,'
            f'{base64.b64encode(png).decode()}"/>\n</svg>\n')


def main():
    job = (ROOT / "examples/lenet.yaml").read_text(encoding="utf-8").replace("log_every: 100", "log_every: 10")
    with Server(sys.argv[1], os.path.abspath(sys.argv[2])) as server:
        body = {"name": "lenet", "kind": "train", "job": job, "ranks": {"min": 2, "max": 2}}
        assert ask(server.base, "/api/v1/jobs", "post", server.token, body)[0] == 201
        for name, look_ in LOOKS.items():
            svg = draw(name, look(server, *look_))
            pathlib.Path(sys.argv[3], name).write_text(svg, encoding="utf-8")
            print(f"{name}: {len(svg)} bytes")


if __name__ == "__main__":
    main()
