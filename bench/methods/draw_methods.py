# SPDX-License-Identifier: Apache-2.0
"""draw_methods.py: the picture of bench/methods: seconds to the goal, one dot a seed, a panel a set."""
import statistics
from xml.sax.saxutils import escape

WIDTH, ROW, HEAD, FOOT, LEFT, RIGHT = 760, 30, 44, 52, 190, 60


def panel(title: str, found: dict[str, list[float | None]], top: int) -> tuple[list[str], int]:
    """found: seconds of each seed by method, None where it did not get there. Its elements, and where it ends."""
    reached = [s for seconds in found.values() for s in seconds if s is not None]
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if max(reached) / s <= 8)
    end = step * (int(max(reached) / step) + 1)

    def x_of(seconds: float) -> float:
        return LEFT + seconds / end * (WIDTH - LEFT - RIGHT)

    base = top + HEAD + ROW * len(found)
    out = [f'<text x="{LEFT}" y="{top + 24}" font-size="14" font-weight="bold">{escape(title)}</text>']
    for tick in range(0, end + 1, step):
        out += [f'<line x1="{x_of(tick):.1f}" y1="{top + HEAD - 8}" x2="{x_of(tick):.1f}" y2="{base}" '
                f'stroke="#dddddd"/>',
                f'<text x="{x_of(tick):.1f}" y="{base + 16}" text-anchor="middle">{tick}</text>']
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{base + 36}" text-anchor="middle">seconds of '
               f'training</text>')
    for i, (name, seconds) in enumerate(found.items()):
        y, there = top + HEAD + ROW * i + ROW / 2 - 4, sorted(s for s in seconds if s is not None)
        colour = "#b5481d" if "easgd" in name else "#1f5fa8"
        out.append(f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        out += [
            f'<circle cx="{x_of(s):.1f}" cy="{y + 4 * (k - (len(there) - 1) / 2):.1f}" r="3.2" fill="{colour}" '
            f'fill-opacity="0.8"/>'
            for k, s in enumerate(there)
        ]
        if there:
            mean = x_of(statistics.mean(there))
            out.append(f'<line x1="{mean:.1f}" y1="{y - 11}" x2="{mean:.1f}" y2="{y + 11}" stroke="{colour}" '
                       f'stroke-width="2"/>')
        missed = len(seconds) - len(there)
        if missed:
            out.append(f'<text x="{WIDTH - 8}" y="{y + 4}" text-anchor="end" fill="#555555">{missed} never</text>')
    return out, base + FOOT


def draw(panels: dict[str, dict[str, list[float | None]]]) -> str:
    body, top = [], 0
    for title, found in panels.items():
        more, top = panel(title, found, top)
        body += more
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}" viewBox="0 0 {WIDTH} {top}" '
        'font-family="sans-serif" font-size="12.5" fill="#222222">',
        f'<rect width="{WIDTH}" height="{top}" fill="#ffffff"/>', *body, "</svg>"
    ]) + "\n"
