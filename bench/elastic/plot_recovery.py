#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plot_recovery.py: draws how long runs take to go on after a loss: one dot for each event, one row for each kind.

plot_recovery.py OUT.svg NAME=FILE.json...
FILE: what tests/elastic/kills.py or agent_kills.py writes with --json; NAME: the heading of its rows. A bar marks the
median of a row. The words beside a row give events, median and worst.
"""
import html
import json
import statistics
import sys

LEFT, WIDTH, RIGHT, ROW = 110, 560, 215, 26
STYLE = """<style>
text { font: 12px sans-serif; fill: #222 } .head { font-weight: bold } .axis { stroke: #999 } .dot { fill: #2a6db0 }
.median { stroke: #c0392b; stroke-width: 2.5 } .page { fill: #fff }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .dot { fill: #7fb3e6 } .page { fill: #161616 } .axis { stroke: #666 }
.median { stroke: #ff8a73 } }
</style>"""


def rows_of(files):
    """Yields (heading, None) for each file, then (kind, seconds in ascending order) for each of its kinds."""
    for name, events in files:
        yield name, None
        for kind in dict.fromkeys(e["kind"] for e in events):
            yield kind, sorted(e["seconds"] for e in events if e["kind"] == kind)


def draw_row(kind, seconds, y, scale):
    """One kind of loss. Dots are spread over the height of the row by their order, so that equal times stay apart."""
    parts = [f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{html.escape(kind)}</text>']
    for i, s in enumerate(seconds):
        parts.append(f'<circle class="dot" opacity="0.55" r="2.4" cx="{LEFT + s * scale:.1f}" '
                     f'cy="{y + (i * 7 % 15 - 7):.0f}"/>')
    at = LEFT + statistics.median(seconds) * scale
    parts.append(f'<line class="median" x1="{at:.1f}" x2="{at:.1f}" y1="{y - 11}" y2="{y + 11}"/>')
    words = f"{len(seconds)} events, {statistics.median(seconds):.2f} s, worst {seconds[-1]:.2f} s"
    parts.append(f'<text x="{LEFT + WIDTH + 12}" y="{y + 4}">{words}</text>')
    return parts


def draw(files):
    rows = list(rows_of(files))
    longest = max(s[-1] for _, s in rows if s)
    end = 0.1 * (int(longest / 0.1) + 1)
    scale, height = WIDTH / end, ROW * len(rows) + 60
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}">', STYLE,
             '<rect class="page" width="100%" height="100%"/>']
    for k in range(int(round(end / 0.1)) + 1):
        x = LEFT + 0.1 * k * scale
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="14" y2="{height - 40}" stroke-width="0.4"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 24}" text-anchor="middle">{0.1 * k:.1f}</text>')
    parts.append(f'<text x="{LEFT + WIDTH / 2}" y="{height - 7}" text-anchor="middle">seconds from the kill to the end of '
                 'the next finished step</text>')
    for i, (name, seconds) in enumerate(rows):
        y = 26 + ROW * i
        if seconds is None:
            parts.append(f'<text class="head" x="8" y="{y + 4}">{html.escape(name)}</text>')
        else:
            parts += draw_row(name, seconds, y, scale)
    return "\n".join([*parts, "</svg>", ""])


def main():
    if len(sys.argv) < 3 or not all("=" in a for a in sys.argv[2:]):
        sys.exit(__doc__)
    files = []
    for name, path in (a.split("=", 1) for a in sys.argv[2:]):
        with open(path, encoding="utf-8") as file:
            files.append((name, json.load(file)))
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write(draw(files))


if __name__ == "__main__":
    main()
