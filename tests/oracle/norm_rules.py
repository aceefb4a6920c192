# SPDX-License-Identifier: Apache-2.0
"""norm_rules.py: the rules that go by norms of layers, written from their papers in float64 (Python's own floats), and
two nets to train by them: LARS of You, Gitman and Ginsburg 2017 (arXiv 1708.03888), LAMB of You et al. 2019 (arXiv
1904.00962); PyTorch has neither. A tensor is a list of numbers; decayed ones are weights, the others (biases) take
steps of momentum or Adam. norm_golden.py makes golden files of this, compare_norm_rules.py holds tutti against them.
Needs nothing but Python."""
import gzip
import json
import math
import operator
import pathlib
import random
import struct

Tensor = list[float]


def norm(v: Tensor) -> float:
    return math.sqrt(math.fsum(x * x for x in v))


class Lars:
    """local = eta |w| / (|g| + decay |w|); scaled: v = mu v + lr local (g + decay w), w -= v; else the rate stands
    outside v."""

    def __init__(self, decay: float, eta: float = 0.001, mu: float = 0.9, scaled: bool = True) -> None:
        self.decay, self.eta, self.mu, self.scaled, self.v = decay, eta, mu, scaled, {}

    def step(self, name: str, w: Tensor, g: Tensor, lr: float, is_weight: bool) -> Tensor:
        decay, local = (self.decay, 1.0) if is_weight else (0.0, 1.0)
        if is_weight and norm(w) > 0 and norm(g) > 0:
            local = self.eta * norm(w) / (norm(g) + decay * norm(w))
        inside, outside = (lr * local, 1.0) if self.scaled else (local, lr)
        old = self.v.get(name) or [0.0] * len(w)
        self.v[name] = [self.mu * a + inside * (b + decay * c) for a, b, c in zip(old, g, w)]
        return [a - outside * b for a, b in zip(w, self.v[name])]

    def states(self, name: str) -> dict[str, Tensor]:
        return {"momentum": self.v[name]}


class Lamb:
    """u = Adam's step, both averages corrected, + decay w; w -= lr |w| / |u| u."""

    def __init__(self, decay: float, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> None:
        self.decay, self.beta1, self.beta2, self.eps, self.of = decay, beta1, beta2, eps, {}

    def step(self, name: str, w: Tensor, g: Tensor, lr: float, is_weight: bool) -> Tensor:
        m, v, t = self.of.get(name) or ([0.0] * len(w), [0.0] * len(w), 0)
        t += 1
        m = [self.beta1 * a + (1 - self.beta1) * b for a, b in zip(m, g)]
        v = [self.beta2 * a + (1 - self.beta2) * b * b for a, b in zip(v, g)]
        self.of[name] = m, v, t
        c1, c2, decay = 1 - self.beta1 ** t, 1 - self.beta2 ** t, self.decay if is_weight else 0.0
        u = [a / c1 / (math.sqrt(b / c2) + self.eps) + decay * c for a, b, c in zip(m, v, w)]
        ratio = norm(w) / norm(u) if is_weight and norm(w) > 0 and norm(u) > 0 else 1.0
        return [a - lr * ratio * b for a, b in zip(w, u)]

    def states(self, name: str) -> dict[str, Tensor]:
        m, v, _ = self.of[name]
        return {"exp_avg": m, "exp_avg_sq": v}


# ---- two nets of the zoo ----

SAMPLES, STEPS, DECAY, FALL_AT, FALL = 8, 20, 0.01, 12, 0.25  # the rate falls in step 12
SHAPES = {
    "mlp": {"fc1": (128, 784), "fc2": (10, 128)},
    "lenet": {"conv1": (20, 1, 5, 5), "conv2": (50, 20, 5, 5), "fc1": (500, 800), "fc2": (10, 500)},
}
# Model, rule, its keys, the rate.
CASES = {
    "mlp.lars": ("mlp", Lars, {"eta": 0.005, "scaled": True}, 1.0),
    "mlp.lars-unscaled": ("mlp", Lars, {"eta": 0.005, "scaled": False}, 1.0),
    "mlp.lamb": ("mlp", Lamb, {}, 0.01),
    "lenet.lars": ("lenet", Lars, {"eta": 0.005, "scaled": True}, 1.0),
    "lenet.lamb": ("lenet", Lamb, {}, 0.01),
}


def dot(a: Tensor, b: Tensor) -> float:
    return sum(map(operator.mul, a, b))


def as_f32(v: float) -> float:
    return struct.unpack("<f", struct.pack("<f", v))[0]


def start(model: str) -> dict[str, Tensor]:
    """By parameter, PyTorch's names; numbers that are exact in f32, uniform up to one over the root of the fan in."""
    draw, out = random.Random(7), {}
    for layer, shape in SHAPES[model].items():
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        out[f"{layer}.weight"] = [as_f32((2 * draw.random() - 1) * bound) for _ in range(math.prod(shape))]
        out[f"{layer}.bias"] = [as_f32((2 * draw.random() - 1) * bound) for _ in range(shape[0])]
    return out


def samples() -> tuple[list[Tensor], list[int]]:
    folder = pathlib.Path(__file__).resolve().parents[1] / "golden/train/digits32"
    pixels = gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes())[8:]
    return [[(p / 255 - 0.5) / 0.5 for p in pixels[784 * i:784 * (i + 1)]] for i in range(SAMPLES)], list(labels[:SAMPLES])


def rows(v: Tensor, n: int) -> list[Tensor]:
    return [v[i:i + n] for i in range(0, len(v), n)]


class Dense:
    def __init__(self, name: str) -> None:
        self.name = name

    def forward(self, p: dict, x: Tensor) -> Tensor:
        self.x = x
        return [dot(row, x) + b for row, b in zip(rows(p[f"{self.name}.weight"], len(x)), p[f"{self.name}.bias"])]

    def backward(self, p: dict, g: dict, dy: Tensor) -> Tensor:
        n = len(self.x)
        weight, dweight, dbias = p[f"{self.name}.weight"], g[f"{self.name}.weight"], g[f"{self.name}.bias"]
        dx = [0.0] * n
        for o, d in enumerate(dy):
            dbias[o] += d
            if d:
                at = slice(o * n, (o + 1) * n)
                dweight[at] = [a + d * b for a, b in zip(dweight[at], self.x)]
                dx = [a + d * b for a, b in zip(dx, weight[at])]
        return dx


class Relu:
    def forward(self, _: dict, x: Tensor) -> Tensor:
        self.x = x
        return [max(v, 0.0) for v in x]

    def backward(self, _: dict, __: dict, dy: Tensor) -> Tensor:
        return [d if v > 0 else 0.0 for d, v in zip(dy, self.x)]


class Conv:
    """5 x 5, no padding: places of the window, each a row of what lies under it."""

    def __init__(self, name: str, channels: int, size: int) -> None:
        self.name, out = name, size - 4
        self.seen = [[(c * size + y + i) * size + x + j for c in range(channels) for i in range(5) for j in range(5)]
                     for y in range(out) for x in range(out)]

    def forward(self, p: dict, x: Tensor) -> Tensor:
        self.x = x
        under = [[x[i] for i in place] for place in self.seen]
        kernels = rows(p[f"{self.name}.weight"], len(self.seen[0]))
        return [dot(k, place) + b for k, b in zip(kernels, p[f"{self.name}.bias"]) for place in under]

    def backward(self, p: dict, g: dict, dy: Tensor) -> Tensor:
        n, dbias = len(self.seen[0]), g[f"{self.name}.bias"]
        dout = rows(dy, len(self.seen))
        by_tap = [[self.x[i] for i in tap] for tap in zip(*self.seen)]
        dweight = g[f"{self.name}.weight"]
        for o, d in enumerate(dout):
            dbias[o] += sum(d)
            dweight[o * n:(o + 1) * n] = [a + dot(d, tap) for a, tap in zip(dweight[o * n:(o + 1) * n], by_tap)]
        dx, kernels = [0.0] * len(self.x), list(zip(*rows(p[f"{self.name}.weight"], n)))
        for place, d in zip(self.seen, zip(*dout)) if self.name != "conv1" else ():
            for i, kernel in zip(place, kernels):
                dx[i] += dot(kernel, d)
        return dx


class MaxPool:
    """2 x 2; the first of equal ones passes the gradient."""

    def __init__(self, channels: int, size: int) -> None:
        self.seen = [[(c * size + y + i) * size + x + j for i in range(2) for j in range(2)]
                     for c in range(channels) for y in range(0, size, 2) for x in range(0, size, 2)]

    def forward(self, _: dict, x: Tensor) -> Tensor:
        self.size, self.taken = len(x), [max(window, key=lambda i: (x[i], -i)) for window in self.seen]
        return [x[i] for i in self.taken]

    def backward(self, _: dict, __: dict, dy: Tensor) -> Tensor:
        dx = [0.0] * self.size
        for i, d in zip(self.taken, dy):
            dx[i] += d
        return dx


def layers(model: str) -> list:
    if model == "mlp":
        return [Dense("fc1"), Relu(), Dense("fc2")]
    return [Conv("conv1", 1, 28), MaxPool(20, 24), Conv("conv2", 20, 12), MaxPool(50, 8), Dense("fc1"), Relu(), Dense("fc2")]


def losses(case: str) -> Tensor:
    """Of STEPS steps, each over all samples; the mean of the softmax's cross entropy."""
    model, rule, keys, lr = CASES[case]
    p, net, found = start(model), layers(model), []
    optimiser = rule(DECAY, **keys)
    images, labels = samples()
    for step in range(STEPS):
        g, total = {name: [0.0] * len(v) for name, v in p.items()}, 0.0
        for image, label in zip(images, labels):
            x = image
            for layer in net:
                x = layer.forward(p, x)
            top = max(x)
            weights = [math.exp(v - top) for v in x]
            total += (math.log(sum(weights)) + top - x[label]) / SAMPLES
            d = [(v / sum(weights) - (i == label)) / SAMPLES for i, v in enumerate(weights)]
            for layer in reversed(net):
                d = layer.backward(p, g, d)
        rate = lr * (FALL if step >= FALL_AT else 1)
        p = {name: optimiser.step(name, p[name], g[name], rate, name.endswith("weight")) for name in p}
        found.append(total)
    return found


# ---- files ----

def safetensors(tensors: dict[str, tuple[tuple[int, ...], Tensor]], said: dict[str, str]) -> bytes:
    """Of f32: eight bytes of length, JSON, data."""
    head, data = {"__metadata__": said} if said else {}, b""
    for name, (shape, values) in tensors.items():
        raw = struct.pack(f"<{len(values)}f", *values)
        head[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data
