# SPDX-License-Identifier: Apache-2.0
"""draw_selector.py: the picture of bench/selector: each way to C = A B^T and what was selected, against the soonest
way of each size."""
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, GAP = 760, 110, 84, 16, 74, 34
WORST = 2.0  # times the soonest; what takes longer is drawn there
COLOURS = {"nt": "#b5481d", "tnn": "#1f5fa8", "gemm": "#7a4fa3", "selected": "#222222"}


def panel(name: str, points: list[tuple[int, float]], low: float, high: float, top: float) -> list[str]:
    """points: multiplications of a size, time over that of its soonest way."""
    def x_of(products: float) -> float:
        return LEFT + (math.log2(products) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y_of(times: float) -> float:
        return top + HEIGHT * (1 - (min(times, WORST) - 1) / (WORST - 1))

    near = sum(t <= 1.02 for _, t in points) / len(points)
    mean = math.exp(sum(math.log(t) for _, t in points) / len(points))
    out = [
        f'<text x="{LEFT}" y="{top - 8}" font-weight="bold">{escape(name)}</text>',
        f'<text x="{WIDTH - RIGHT}" y="{top - 8}" text-anchor="end" fill="#555555">within 2 % of the soonest: '
        f'{100 * near:.0f} %, '
        f'mean {mean:.3f}</text>'
    ]
    for times in (1.0, 1.25, 1.5, 1.75, 2.0):
        out += [
            f'<line x1="{LEFT}" y1="{y_of(times):.1f}" x2="{WIDTH - RIGHT}" y2="{y_of(times):.1f}" stroke="#dddddd"/>',
            f'<text x="{LEFT - 8}" y="{y_of(times) + 4:.1f}" '
            f'text-anchor="end">{times:g}{" +" if times == WORST else ""}</text>'
        ]
    for power in range(math.ceil(low), int(high) + 1, 2):
        x = x_of(2.0**power)
        out.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + HEIGHT}" stroke="#eeeeee"/>')
    colour = COLOURS.get(name, "#555555")
    dots = "".join(f"M{x_of(p):.0f} {y_of(t):.1f}h0" for p, t in points)
    return out + [f'<path d="{dots}" stroke="{colour}" stroke-width="4" stroke-linecap="round" stroke-opacity="0.6"/>']


def draw(ways: list[str], sizes: list, processor: str) -> str:
    low = math.log2(min(s.products for s in sizes)) - 0.5
    high = math.log2(max(s.products for s in sizes)) + 0.5
    body, top = [], TOP + 0.0
    for name in [*ways, "selected"]:
        points = [(s.products, (s.seconds[s.chosen] if name == "selected" else s.seconds[ways.index(name)]) / s.best)
                  for s in sizes]
        body += panel(name, points, low, high, top)
        top += HEIGHT + GAP
    for power in range(math.ceil(low), int(high) + 1, 2):
        x = LEFT + (power - low) / (high - low) * (WIDTH - LEFT - RIGHT)
        body.append(
            f'<text x="{x:.1f}" y="{top - GAP + 18}" text-anchor="middle">2<tspan dy="-4" '
            f'font-size="9">{power}</tspan></text>'
        )
    body.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{top - GAP + 40}" text-anchor="middle">multiplications, m '
                f'n k</text>')
    height = top - GAP + 52
    middle = TOP + (top - TOP) / 2
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} '
        f'{height:.0f}" '
        'font-family="sans-serif" font-size="12" fill="#222222">',
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="22" font-size="14" font-weight="bold">C = A B^T: time over the soonest way of the '
        f'size</text>',
        f'<text x="{LEFT}" y="40" fill="#555555">{escape(processor)}, one thread, {len(sizes)} sizes</text>',
        f'<text transform="translate(24 {middle:.0f}) rotate(-90)" text-anchor="middle">times the soonest</text>',
        *body, "</svg>"
    ]) + "\n"
