# SPDX-License-Identifier: Apache-2.0
"""draw_sparse.py: the picture of bench/sparse: how many times as fast as its peers the row `sparse` is, over sparsity,
a line a model (the median over its layers and passes), a panel a peer."""
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, HEAD, FOOT = 760, 250, 56, 130, 40, 56
LEVELS = (0.25, 0.5, 1, 2, 4, 8)
LOW, HIGH = 0.25, 10
COLOURS = ("#1f5fa8", "#b5481d", "#2e7d4f", "#7a4fa3", "#8a6d1f", "#555555")


def draw(panels: dict[str, dict[str, dict[float, float]]]) -> str:
    """panels: title -> model -> sparsity -> ratio."""
    import math

    body, top = [], 0
    for title, models in panels.items():
        ticks = sorted({s for ratios in models.values() for s in ratios})

        def x_of(s: float) -> float:
            return LEFT + ticks.index(s) / (len(ticks) - 1) * (WIDTH - LEFT - RIGHT)

        def y_of(ratio: float, top: int = top) -> float:
            part = math.log(min(max(ratio, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
            return top + HEAD + (1 - part) * HEIGHT

        base = top + HEAD + HEIGHT
        body.append(f'<text x="{LEFT}" y="{top + 22}" font-size="14" font-weight="bold">{escape(title)}</text>')
        for level in LEVELS:
            strong = 'stroke="#222222"' if level == 1 else 'stroke="#dddddd"'
            body += [f'<line x1="{LEFT}" y1="{y_of(level):.1f}" x2="{WIDTH - RIGHT}" y2="{y_of(level):.1f}" {strong}/>',
                     f'<text x="{LEFT - 8}" y="{y_of(level) + 4:.1f}" text-anchor="end">{level:g}x</text>']
        body += [f'<text x="{x_of(s):.1f}" y="{base + 18}" text-anchor="middle">{s:g}</text>' for s in ticks]
        body.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{base + 38}" text-anchor="middle">'
                    'part of what is listed that is zero (not to scale)</text>')
        for i, (model, ratios) in enumerate(models.items()):
            points = " ".join(f"{x_of(s):.1f},{y_of(ratio):.1f}" for s, ratio in sorted(ratios.items()))
            colour, y = COLOURS[i % len(COLOURS)], top + HEAD + 20 * i + 12
            body += [
                f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>',
                f'<line x1="{WIDTH - RIGHT + 14}" y1="{y}" x2="{WIDTH - RIGHT + 34}" y2="{y}" stroke="{colour}" '
                f'stroke-width="2"/>',
                f'<text x="{WIDTH - RIGHT + 40}" y="{y + 4}">{escape(model)}</text>'
            ]
        top = base + FOOT
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}" viewBox="0 0 {WIDTH} {top}" '
        'font-family="sans-serif" font-size="12.5" fill="#222222">',
        f'<rect width="{WIDTH}" height="{top}" fill="#ffffff"/>', *body, "</svg>"
    ]) + "\n"
