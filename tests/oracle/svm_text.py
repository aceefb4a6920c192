# SPDX-License-Identifier: Apache-2.0
"""svm_text.py: LIBSVM's data and models as text, read with nothing but Python, for the oracle tests and ./dev bench
svm: written from the format's description, so that it shares nothing with src/svm. Models are c_svc's."""
import dataclasses
import functools
import math
import pathlib
import re


@dataclasses.dataclass
class Data:
    labels: list[float]
    rows: list[str]  # what stands behind the label


@dataclasses.dataclass
class Model:
    kernel: str
    degree: int
    gamma: float
    coef0: float
    labels: list[int]
    rho: list[float]
    counts: list[int]         # support vectors of each class
    coef: list[list[float]]   # of each support vector, one less than there are classes
    rows: list[str]

    def pairs(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(len(self.labels)) for j in range(i + 1, len(self.labels))]

    def of_pair(self, i: int, j: int) -> tuple[list[int], list[float]]:
        """The support vectors of classes i and j, and their y alpha in the problem of i against j."""
        begin = [sum(self.counts[:k]) for k in range(len(self.counts) + 1)]
        ours, theirs = range(begin[i], begin[i + 1]), range(begin[j], begin[j + 1])
        return [*ours, *theirs], [self.coef[n][j - 1] for n in ours] + [self.coef[n][i] for n in theirs]


def read_data(path: pathlib.Path) -> Data:
    lines = [line.partition(" ") for line in pathlib.Path(path).read_text().splitlines()]
    return Data([float(label) for label, _, _ in lines], [row for _, _, row in lines])


def read_model(path: pathlib.Path) -> Model:
    head, body = re.split(r"^SV *\n", pathlib.Path(path).read_text(), maxsplit=1, flags=re.M)
    found = {key: values.split() for key, _, values in (line.partition(" ") for line in head.splitlines())}
    assert found["svm_type"] == ["c_svc"], found["svm_type"]
    width = int(found["nr_class"][0]) - 1
    parts = [line.split(None, width) for line in body.splitlines()]
    assert len(parts) == int(found["total_sv"][0]), f"{path}: {len(parts)} support vectors, not {found['total_sv'][0]}"
    return Model(found["kernel_type"][0], int(found.get("degree", ["3"])[0]), float(found.get("gamma", ["0"])[0]),
                 float(found.get("coef0", ["0"])[0]), [int(v) for v in found["label"]], [float(v) for v in found["rho"]],
                 [int(v) for v in found["nr_sv"]], [[float(v) for v in part[:width]] for part in parts],
                 [part[width] if len(part) > width else "" for part in parts])


def write_model(path: pathlib.Path, model: Model) -> None:
    """Binary problems and more; rbf and what needs no more words than it."""
    head = [("svm_type", "c_svc"), ("kernel_type", model.kernel), ("gamma", repr(model.gamma)),
            ("nr_class", str(len(model.labels))), ("total_sv", str(len(model.rows))),
            ("rho", " ".join(map(repr, model.rho))), ("label", " ".join(map(str, model.labels))),
            ("nr_sv", " ".join(map(str, model.counts)))]
    lines = [f"{key} {value}" for key, value in head] + ["SV"]
    lines += [" ".join(map(repr, coef)) + " " + row.strip() + " " for coef, row in zip(model.coef, model.rows)]
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def entries(row: str) -> dict[int, float]:
    return {int(index): float(value) for index, value in (entry.split(":") for entry in row.split())}


def kernel(model: Model, x: dict[int, float], v: dict[int, float]) -> float:
    if model.kernel == "precomputed":
        return x[int(v[0])]
    dot = math.fsum(value * v[index] for index, value in x.items() if index in v)
    if model.kernel == "linear":
        return dot
    if model.kernel == "polynomial":
        return (model.gamma * dot + model.coef0) ** model.degree
    if model.kernel == "sigmoid":
        return math.tanh(model.gamma * dot + model.coef0)
    squares = math.fsum(value * value for one in (x, v) for value in one.values())
    return math.exp(-model.gamma * (squares - 2 * dot))


def decisions(model: Model, row: str) -> list[float]:
    """Of one row, a value a pair of classes."""
    x = entries(row)
    values = [kernel(model, x, entries(v)) for v in model.rows]
    return [math.fsum(c * values[n] for n, c in zip(*model.of_pair(i, j))) - rho for (i, j), rho in zip(model.pairs(), model.rho)]


@functools.lru_cache(maxsize=1 << 16)
def key(row: str) -> tuple:
    """The same for a row of a data file and for a model's copy of it, where numbers are rounded and zeros may be
    absent, and of rows for a
    precomputed kernel there is only the number."""
    if row.startswith("0:"):
        return (row.split()[0],)
    return tuple((index, f"{value:.6g}") for index, value in entries(row).items() if value)


def places(model: Model, data: Data) -> list[int]:
    """The row of the training set that each support vector is. Equal rows of a class are taken in the file's order:
    they have the same
    gradient, so that it does not matter which is which."""
    rows: dict[tuple, list[int]] = {}
    for n in reversed(range(len(data.rows))):
        rows.setdefault((int(data.labels[n]), key(data.rows[n])), []).append(n)
    classes = [label for label, count in zip(model.labels, model.counts) for _ in range(count)]
    return [rows[label, key(row)].pop() for label, row in zip(classes, model.rows)]
