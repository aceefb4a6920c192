# SPDX-License-Identifier: Apache-2.0
"""svm_exact.py: what a written model is worth: dual objective, violation of the optimality conditions over the whole
training set, and decisions, by brute force in float64 with numpy, in blocks of rows. Nothing of src/svm and nothing
that a trainer says is used."""
import dataclasses
import functools

import numpy as np
import svm_text

BLOCK = 1024  # rows


@dataclasses.dataclass
class Rows:
    """Compressed rows."""
    start: np.ndarray
    index: np.ndarray
    value: np.ndarray
    width: int

    def dense(self, numbers: np.ndarray, width: int) -> np.ndarray:
        out = np.zeros((len(numbers), width))
        for at, n in enumerate(numbers):
            here = slice(self.start[n], self.start[n + 1])
            out[at, self.index[here]] = self.value[here]
        return out


@functools.lru_cache(maxsize=8)
def parsed(texts: tuple[str, ...]) -> Rows:
    counts = np.array([text.count(":") for text in texts], np.int64)
    flat = np.array(" ".join(texts).replace(":", " ").split(), np.float64)
    index = flat[::2].astype(np.int64)
    return Rows(np.concatenate(([0], np.cumsum(counts))), index, flat[1::2], int(index.max(initial=0)) + 1)


def rows_of(texts: list[str]) -> Rows:
    """A training set is read once for all of its models."""
    return parsed(tuple(texts))


def kernel_values(model: svm_text.Model, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    if model.kernel == "precomputed":
        return x[:, v[:, 0].astype(np.int64)]
    k = x @ v.T
    if model.kernel == "linear":
        return k
    if model.kernel == "polynomial":
        return (model.gamma * k + model.coef0) ** model.degree
    if model.kernel == "sigmoid":
        return np.tanh(model.gamma * k + model.coef0)
    k *= -2
    k += (x * x).sum(1)[:, None]
    k += (v * v).sum(1)[None, :]
    k *= -model.gamma
    return np.exp(k, out=k)


def sums(model: svm_text.Model, texts: list[str], numbers: np.ndarray, i: int, j: int) -> np.ndarray:
    """Of rows: sum of y alpha K over the support vectors of classes i and j."""
    which, coef = model.of_pair(i, j)
    x, v = rows_of(texts), rows_of([model.rows[n] for n in which])
    width = max(x.width, v.width)
    vectors, out = v.dense(np.arange(len(which)), width), np.empty(len(numbers))
    for begin in range(0, len(numbers), BLOCK):
        some = x.dense(numbers[begin:begin + BLOCK], width)
        out[begin:begin + BLOCK] = kernel_values(model, some, vectors) @ np.array(coef)
    return out


def decisions(model: svm_text.Model, texts: list[str]) -> np.ndarray:
    """A row a sample, a column a pair of classes."""
    numbers = np.arange(len(texts))
    return np.stack([sums(model, texts, numbers, i, j) - rho for (i, j), rho in zip(model.pairs(), model.rho)], 1)


def accuracy(model: svm_text.Model, data: svm_text.Data) -> float:
    """Votes of the pairs; the first of those who have most."""
    votes = np.zeros((len(data.rows), len(model.labels)), int)
    for (i, j), column in zip(model.pairs(), decisions(model, data.rows).T):
        votes[np.arange(len(votes)), np.where(column > 0, i, j)] += 1
    return float(np.mean(np.array(model.labels)[votes.argmax(1)] == np.array(data.labels)))


@dataclasses.dataclass
class Worth:
    objective: float
    gap: float
    nsv: int
    bounded: int


def worth(model: svm_text.Model, data: svm_text.Data, cost: float, weights: dict[int, float] | None = None,
          rounding: float = 1e-12) -> list[Worth]:
    """A value a pair of classes. rounding: how close to 0 or its cost, relative to that, an alpha counts as there."""
    labels, place = np.array(data.labels).astype(int), np.array(svm_text.places(model, data))
    found = []
    for i, j in model.pairs():
        numbers = np.flatnonzero((labels == model.labels[i]) | (labels == model.labels[j]))
        y = np.where(labels[numbers] == model.labels[i], 1.0, -1.0)
        most = np.array([cost * (weights or {}).get(label, 1) for label in labels[numbers]])
        which, coef = model.of_pair(i, j)
        signed = np.zeros(len(labels))
        signed[place[which]] = coef
        alpha = y * signed[numbers]
        assert (alpha >= -rounding * most).all() and (alpha <= (1 + rounding) * most).all(), "an alpha is out of bounds"
        assert abs(signed[numbers].sum()) <= max(rounding, 1e-12) * most.max() * len(which), "the alphas of both classes differ"
        at_zero, at_most = alpha <= rounding * most, alpha >= (1 - rounding) * most
        gamma = sums(model, data.rows, numbers, i, j) - y
        up, low = np.where(y > 0, ~at_most, ~at_zero), np.where(y > 0, ~at_zero, ~at_most)
        gap = gamma[low].max(initial=-np.inf) - gamma[up].min(initial=np.inf)
        objective = float((alpha * (y * gamma - 1)).sum() / 2)
        found.append(Worth(objective, float(gap), int((~at_zero).sum()), int((at_most & ~at_zero).sum())))
    return found
