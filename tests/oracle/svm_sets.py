# SPDX-License-Identifier: Apache-2.0
"""svm_sets.py: the sets that the oracle tests and ./dev bench svm train on: those of $TUTTI_DATA or of shared/data
beside the checkout, unpacked; where one is absent a drawn set of its shape stands in, and that is said. Also sets that
are always drawn. Needs Python only."""
import dataclasses
import gzip
import os
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Shape:
    """One column of each group is 1 (or, with one column a group, has any value); a rule over pairs of columns makes
    the label."""
    files: tuple[str, ...]  # where it may lie
    rows: int
    groups: int
    columns: int            # of a group
    flipped: float          # share of the labels that contradict the rule
    seed: int = 1           # train and test sets have one rule


SETS = {
    "heart_scale": Shape(("heart_scale",), 270, 13, 1, 0.12),
    "agaricus": Shape(("agaricus.txt.train.gz", "agaricus"), 6513, 22, 6, 0),
    "agaricus.t": Shape(("agaricus.txt.test.gz", "agaricus.t"), 1611, 22, 6, 0, 2),
    "a9a": Shape(("a9a.gz", "a9a"), 32561, 14, 9, 0.14),
    "a9a.t": Shape(("a9a.t.gz", "a9a.t"), 16281, 14, 9, 0.14, 2),
}


def draw(shape: Shape) -> str:
    rule, rng = random.Random(shape.groups), random.Random(shape.seed)
    columns = shape.groups * shape.columns
    weight = [rule.gauss(0, 1) for _ in range(columns)]
    crossed = [(rule.randrange(columns), rule.randrange(columns), rule.gauss(0, 2)) for _ in range(columns)]
    lines = []
    for _ in range(shape.rows):
        if shape.columns == 1:
            row = {index: round(rng.uniform(-1, 1), 6) for index in range(columns)}
        else:
            row = {group * shape.columns + min(int(rng.expovariate(0.6)), shape.columns - 1): 1 for group in range(shape.groups)}
        score = sum(weight[n] * v for n, v in row.items()) + sum(w * row.get(a, 0) * row.get(b, 0) for a, b, w in crossed)
        label = 1 if (score > 0) != (rng.random() < shape.flipped) else -1
        lines.append(f"{label:+d} " + " ".join(f"{n + 1}:{v:g}" for n, v in row.items()) + "\n")
    return "".join(lines)


def place(name: str, scratch: pathlib.Path) -> pathlib.Path:
    """The file, in the folder scratch."""
    path = scratch / name
    if path.exists():
        return path
    folder = pathlib.Path(os.environ.get("TUTTI_DATA", ROOT.parent / "shared/data"))
    source = next((folder / file for file in SETS[name].files if (folder / file).exists()), None)
    if source is None:
        print(f"no {SETS[name].files[0]} in {folder}: a drawn set of its shape stands in", file=sys.stderr)
        path.write_text(draw(SETS[name]))
    else:
        path.write_bytes(gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes())
    return path


def draw_classes(path: pathlib.Path, classes: int, rows: int, width: int) -> pathlib.Path:
    """Clouds that overlap, classes in no order, some entries absent."""
    rng = random.Random(classes)
    centres = [[rng.uniform(-1, 1) for _ in range(width)] for _ in range(classes)]
    lines = []
    for _ in range(rows):
        k = rng.randrange(classes)
        row = [(n + 1, rng.gauss(c, 0.6)) for n, c in enumerate(centres[k]) if rng.random() < 0.9]
        lines.append(f"{[3, -2, 7, 1, 5][k]} " + " ".join(f"{n}:{v:.6g}" for n, v in row) + "\n")
    path.write_text("".join(lines))
    return path
