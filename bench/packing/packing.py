#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of bench/packing/NOTES.md and the picture of docs/packing.md.

usage: packing.py subsets BUILD [dgx1v|dgx1p] [broadcast]   what trees carry on each kind of subset of 3 to 8 GPUs that
NVLinks join,
                                                            beside the most rings that share no link; rates in NVLinks
       packing.py draw PACKING OUT.svg                      the trees of a text that `tutti coll pack --out` wrote;
       eight ranks as a cube
"""
import itertools
import math
import re
import subprocess
import sys

# NVLinks between two GPUs, as `nvidia-smi topo -m` prints them.
LINKS = {"dgx1v": {(0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2, (2, 6): 1, (3, 7): 1,
                   (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2},
         "dgx1p": {pair: 1 for pair in [*itertools.combinations(range(4), 2), *itertools.combinations(range(4, 8), 2),
                                        (0, 4), (1, 5), (2, 6), (3, 7)]}}
COLOURS = ["#2457a6", "#c2571a", "#2e7d4f", "#7a3b93", "#b3261e", "#0d8aa0", "#8a6d00", "#d0468f", "#4b5d67", "#6b9e1f"]


def alike(a, b, n, to=()):
    """Whether b is a with its ranks renumbered: continues a renumbering of the first ranks."""
    at = len(to)
    return at == n or any(all(a[u][at] == b[to[u]][v] for u in range(at)) and alike(a, b, n, (*to, v))
                          for v in range(n) if v not in to)


def connected(m):
    seen, todo = {0}, [0]
    while todo:
        u = todo.pop()
        new = {v for v in range(len(m)) if m[u][v]} - seen
        seen |= new
        todo += new
    return len(seen) == len(m)


def kinds(machine):
    """[(GPUs of the first subset, its links, how many are alike)]"""
    found = []
    for size in range(3, 9):
        for gpus in sorted(itertools.combinations(range(8), size), key=lambda s: sum(1 << g for g in s)):
            m = [[LINKS[machine].get((min(u, v), max(u, v)), 0) for v in gpus] for u in gpus]
            same = next((k for k in found if len(k[0]) == size and alike(k[1], m, size)), None) if connected(m) else False
            if same:
                same[2] += 1
            elif same is None:
                found.append([gpus, m, 1])
    return found


def most_rings(m):
    """The most rings through all ranks that share no link."""
    n, left = len(m), [row[:] for row in m]
    rings = [r for r in itertools.permutations(range(1, n)) if r[0] < r[-1]]
    rings = [[(a, b) for a, b in zip((0, *r), (*r, 0))] for r in rings]
    rings = [r for r in rings if all(m[a][b] for a, b in r)]
    goal, best = min(sum(row) for row in m) // 2, 0

    def choose(begin, taken):
        nonlocal best
        best = max(best, taken)
        for i in range(begin, len(rings)):
            if best < goal and all(left[a][b] for a, b in rings[i]):
                for a, b in rings[i]:
                    left[a][b], left[b][a] = left[a][b] - 1, left[b][a] - 1
                choose(i, taken + 1)
                for a, b in rings[i]:
                    left[a][b], left[b][a] = left[a][b] + 1, left[b][a] + 1
    choose(0, 0)
    return best


def packed(build, topology, *flags):
    """(GB/s, trees, bound GB/s) of the last line that coll pack prints."""
    text = subprocess.run([f"{build}/tutti", "coll", "pack", topology, *flags], check=True, capture_output=True, text=True).stdout
    rate, trees, bound = re.findall(r"ranks: (\S+) GB/s on (\d+) trees?, .* the bound (\S+) GB/s", text)[-1]
    return float(rate), int(trees), float(bound)


def subsets(build, machine="dgx1v", use="allreduce"):
    link = float(re.search(r"nvlink=(\S+?)GB", subprocess.run([f"{build}/tutti", "topo", "make", machine], check=True,
                                                               capture_output=True, text=True).stdout)[1])
    found = kinds(machine)
    print(
        f"{machine}, {use}, rates in NVLinks; {sum(k[2] for k in found)} subsets of 3 to 8 GPUs that NVLinks join, "
        f"{len(found)} kinds"
    )
    print(
        f"{'GPUs':<16} {'alike':>5} {'bound':>8} | {'weights':>8} {'trees':>5} | {'exact':>8} {'trees':>5} | "
        f"{'fewest':>8} {'trees':>5} |"
        f" {'rings':>5} {'rate':>6}")
    for gpus, m, count in found:
        name = ".".join(map(str, gpus))
        topology, flags = f"{machine},wires=nvlink,gpus={name}", ("--collective", use)
        rows = [packed(build, topology, *flags, *more) for more in
                (("--by", "weights"), ("--by", "exact"), ("--by", "weights", "--loss", "5"), ("--loss", "5"))]
        few = min(rows[2:], key=lambda r: r[1])
        n, rings = len(gpus), most_rings(m)
        print(f"{name:<16} {count:>5} {rows[0][2] / link:>8.5g} |" +
              "|".join(f" {rate / link:>8.5g} {trees:>5} " for rate, trees, _ in (*rows[:2], few)) +
              f"| {rings:>5} {f'{rings * n / (n - 1):.4g}' if rings else '-':>6}")


def draw(path, out):
    text = open(path).read()
    ranks, unit = int(re.search(r"^ranks (\d+)", text, re.M)[1]), eval_ratio(re.search(r"^unit (\S+)", text, re.M)[1])
    trees = [(int(w), [e.split(">")
                       for e in edges.split()])
             for w, edges in re.findall(r"^tree (\d+) root \d+ (.*)$", text, re.M)]
    cube = [(120, 230), (360, 230), (360, 470), (120, 470)]
    at = [(cube[r % 4][0] + 120 * (r > 3), cube[r % 4][1] - 60 * (r > 3)) if ranks == 8 else
          (290 + 215 * math.sin(2 * math.pi * r / ranks), 300 - 215 * math.cos(2 * math.pi * r / ranks)) for r in range(ranks)]
    lines, beside = [], {}
    for weight, edges in trees:
        for edge in edges:
            pair = (min(int(edge[0]), int(edge[-1])), max(int(edge[0]), int(edge[-1])))
            beside[pair] = beside.get(pair, 0) + weight
    scale, used = 30 / max(beside.values()), dict.fromkeys(beside, 0)
    for i, (weight, edges) in enumerate(trees):
        for edge in edges:
            u, v = pair = (min(int(edge[0]), int(edge[-1])), max(int(edge[0]), int(edge[-1])))
            (x, y), (to_x, to_y) = at[u], at[v]
            aside = (used[pair] + weight / 2 - beside[pair] / 2) * scale / math.hypot(to_x - x, to_y - y)
            used[pair] += weight
            dx, dy = -(to_y - y) * aside, (to_x - x) * aside
            lines.append(f'<line x1="{x + dx:.1f}" y1="{y + dy:.1f}" x2="{to_x + dx:.1f}" y2="{to_y + dy:.1f}" '
                         f'stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="{max(0.8, weight * scale - 1):.2f}"/>')
    for r, (x, y) in enumerate(at):
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="20" fill="#fff" stroke="#222"/>'
                     f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{r}</text>')
    for i, (weight, _) in enumerate(trees[:26]):
        lines.append(f'<rect x="600" y="{56 + 17 * i}" width="18" height="8" fill="{COLOURS[i % len(COLOURS)]}"/>'
                     f'<text x="626" y="{64 + 17 * i}">tree {i}: {weight * unit / 1e9:.4g} GB/s</text>')
    with open(out, "w") as file:
        file.write(
            '<svg xmlns="http://www.w3.org/2000/svg" width="860" height="560" viewBox="0 0 860 560" '
            'font-family="sans-serif" '
            'font-size="12"><rect width="860" height="560" fill="#fff"/>\n' + "\n".join(lines) + "\n</svg>\n")


def eval_ratio(text):
    return int(text.split("/")[0]) / int(text.split("/")[1])


if len(sys.argv) < 3 or sys.argv[1] not in ("subsets", "draw"):
    sys.exit(__doc__)
(subsets if sys.argv[1] == "subsets" else draw)(*sys.argv[2:])
