# SPDX-License-Identifier: Apache-2.0
"""curve.py: draws seconds of a step over workers, both axes by powers of two: a line for what is predicted, dots for
what was measured."""
import html
import math

LEFT, TOP, WIDTH, HEIGHT, RIGHT, BOTTOM = 64, 34, 460, 300, 110, 48
STYLE = """<style>
text { font: 12px sans-serif; fill: #222 } .axis { stroke: #ccc; stroke-width: 0.6 } .page { fill: #fff }
polyline { fill: none; stroke-width: 2 }
.line0 { stroke: #c0392b } .dot0 { fill: #c0392b } .line1 { stroke: #2a6db0 } .dot1 { fill: #2a6db0 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .page { fill: #161616 } .axis { stroke: #444 }
.line0 { stroke: #ff8a73 } .dot0 { fill: #ff8a73 } .line1 { stroke: #7fb3e6 } .dot1 { fill: #7fb3e6 } }
</style>"""


def time_words(seconds: float) -> str:
    return f"{1e3 * seconds:g} ms" if seconds < 1 else f"{seconds:g} s"


def draw(measured: dict[str, list[tuple[int, float]]], predicted: dict[str, list[tuple[int, float]]], words: str) -> str:
    """measured, predicted: name of a way -> (workers, seconds). words: below the horizontal axis."""
    points = [p for found in (measured, predicted) for way in found.values() for p in way]
    low, high = (f(math.log2(n) for n, _ in points) for f in (min, max))
    floor, top = math.floor(min(math.log2(s) for _, s in points)), math.ceil(max(math.log2(s) for _, s in points))

    def x(n: int) -> float:
        return LEFT + WIDTH * (math.log2(n) - low) / (high - low)

    def y(seconds: float) -> float:
        return TOP + HEIGHT * (top - math.log2(seconds)) / (top - floor)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{TOP + HEIGHT + BOTTOM}">', STYLE,
             '<rect class="page" width="100%" height="100%"/>',
             f'<text x="8" y="18">time of a step; lines: predicted, dots: measured</text>']
    for k in range(floor, top + 1):
        parts.append(f'<line class="axis" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y(2.0 ** k):.1f}" y2="{y(2.0 ** k):.1f}"/>'
                     f'<text x="{LEFT - 8}" y="{y(2.0 ** k) + 4:.1f}" text-anchor="end">{time_words(2.0 ** k)}</text>')
    for k in range(math.ceil(low), math.floor(high) + 1):
        parts.append(f'<line class="axis" x1="{x(2 ** k):.1f}" x2="{x(2 ** k):.1f}" y1="{TOP}" y2="{TOP + HEIGHT}"/>'
                     f'<text x="{x(2 ** k):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{2 ** k}</text>')
    parts.append(f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 38}" text-anchor="middle">{html.escape(words)}</text>')
    for i, (name, way) in enumerate(predicted.items()):
        line = " ".join(f"{x(n):.1f},{y(s):.1f}" for n, s in way)
        parts.append(f'<polyline class="line{i}" points="{line}"/>')
        parts.append(f'<text x="{LEFT + WIDTH + 8}" y="{y(way[-1][1]) + 4:.1f}">{html.escape(name)}</text>')
        parts += [f'<circle class="dot{i}" cx="{x(n):.1f}" cy="{y(s):.1f}" r="4"/>' for n, s in measured.get(name, [])]
    return "\n".join([*parts, "</svg>", ""])
