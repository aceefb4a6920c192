# SPDX-License-Identifier: Apache-2.0
"""methods_golden.py: makes tests/golden/methods: for each case of methods_cases.py ten steps of three workers and a
centre in float64, written from the papers' formulas: the losses, the centre, every worker, what the outer rule keeps.
Start weights and order are tutti's (philox.py). Needs numpy, safetensors, xxhash from PyPI (./dev setup --peers)."""
import pathlib

import numpy
from safetensors.numpy import save_file

import methods_cases as cases
import philox

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/methods"
SHAPES = {"fc1.weight": (cases.HIDDEN, cases.SIDE**2), "fc1.bias": (cases.HIDDEN,),
          "fc2.weight": (cases.CLASSES, cases.HIDDEN), "fc2.bias": (cases.CLASSES,)}


def start() -> dict:
    bound = {name: 1 / numpy.sqrt(SHAPES[name.partition(".")[0] + ".weight"][1]) for name in SHAPES}
    return {
        n: philox.start_weights(cases.SEED, n, int(numpy.prod(s)), bound[n]).astype("f8").reshape(s)
        for n, s in SHAPES.items()
    }


def gradient(w: dict, x: numpy.ndarray, y: numpy.ndarray) -> tuple[float, dict]:
    """Mean loss of these samples, and what it gives."""
    h = numpy.tanh(x @ w["fc1.weight"].T + w["fc1.bias"])
    z = h @ w["fc2.weight"].T + w["fc2.bias"]
    z -= z.max(1, keepdims=True)
    p = numpy.exp(z) / numpy.exp(z).sum(1, keepdims=True)
    loss = -numpy.log(p[numpy.arange(len(y)), y]).mean()
    p[numpy.arange(len(y)), y] -= 1
    dz = p / len(y)
    dh = dz @ w["fc2.weight"] * (1 - h * h)
    return loss, {"fc1.weight": dh.T @ x, "fc1.bias": dh.sum(0), "fc2.weight": dz.T @ h, "fc2.bias": dz.sum(0)}


def apply_rule(rule: str, w: dict, g: dict, state: dict, lr: float, t: int) -> None:
    """torch.optim.SGD and AdamW; biases are not decayed."""
    for n in w:
        decay = cases.DECAY if n.endswith("weight") else 0
        if rule == "adamw":
            m, v = state.setdefault(n, [numpy.zeros_like(w[n]), numpy.zeros_like(w[n])])
            w[n] *= 1 - lr * decay
            m += 0.1 * (g[n] - m)
            v += 0.001 * (g[n]**2 - v)
            w[n] -= lr * (m / (1 - 0.9**t)) / (numpy.sqrt(v / (1 - 0.999**t)) + 1e-8)
            continue
        moved = g[n] + decay * w[n]
        if rule == "momentum":
            state[n] = moved = 0.9 * state.get(n, 0) + moved
        w[n] -= lr * moved


def elastic(workers: list, centre: dict, before: list, alpha: float) -> None:
    """You, Buluc and Demmel, (1) and (2): all by what was there before the step."""
    distances = [{n: w[n] - centre[n] for n in w} for w in before]
    for w, d in zip(workers, distances):
        for n in w:
            w[n] -= alpha * d[n]
    for n in centre:
        centre[n] += alpha * sum(d[n] for d in distances)


def elastic_in_turns(workers: list, centre: dict, before: list, alpha: float) -> None:
    """Zhang, Choromanska and LeCun: each worker in its turn, by the centre that the one before it has left."""
    for w, old in zip(workers, before):
        for n in w:
            d = old[n] - centre[n]
            w[n] -= alpha * d
            centre[n] += alpha * d


def outer_step(workers: list, centre: dict, kept: dict, rate: float, momentum: float) -> None:
    """DiLoCo: the gradient is centre - mean; Nesterov as torch.optim.SGD has it."""
    for n in centre:
        d = centre[n] - sum(w[n] for w in workers) / len(workers)
        kept[n] = momentum * kept[n] + d
        centre[n] -= rate * (d + momentum * kept[n])
        for w in workers:
            w[n] = centre[n].copy()


def train(row: str, keys: dict, rule: str, x: numpy.ndarray, y: numpy.ndarray) -> dict:
    centre, share = start(), cases.SAMPLES // cases.RANKS
    workers = [start() for _ in range(cases.RANKS)]
    states, losses = [{} for _ in range(cases.RANKS)], []
    kept = {n: numpy.zeros(s) for n, s in SHAPES.items()}
    for step in range(cases.STEPS):
        lr = cases.lr_of(rule) * (0.5 if step >= cases.FALL else 1)
        order, total = philox.order(cases.SEED, step, cases.SAMPLES), 0
        before = [{n: v.copy() for n, v in w.items()} for w in workers]
        for i, w in enumerate(workers):
            mine = order[i * share:(i + 1) * share]
            loss, g = gradient(w, x[mine], y[mine])
            total += loss / cases.RANKS
            apply_rule(rule, w, g, states[i], lr, step + 1)
        losses.append(total)
        if (step + 1) % keys.get("period", 1):
            continue
        if row in cases.IN_TURNS:
            elastic_in_turns(workers, centre, before, lr * keys["rho"])
        elif "rho" in keys:
            elastic(workers, centre, before, lr * keys["rho"])
        else:
            outer_step(workers, centre, kept, **keys["outer"])
    out = {"losses": numpy.array(losses)}
    out |= {f"weights: {n}": v for n, v in centre.items()}
    if row not in cases.IN_TURNS:
        out |= {f"weights@{i}: {n}": v for i, w in enumerate(workers) for n, v in w.items()}
    out |= {} if "rho" in keys else {f"outer-momentum: {n}": v for n, v in kept.items()}
    return {n: v.astype("f4") for n, v in out.items()}


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    x = numpy.frombuffer(cases.pixels(), "u1").reshape(cases.SAMPLES, -1).astype("f4")
    x = ((x / numpy.float32(255) - numpy.float32(0.5)) / numpy.float32(0.5)).astype("f8")
    y = numpy.frombuffer(cases.labels(), "u1").astype("i8")
    for name, (rows, keys, rule) in cases.CASES.items():
        out = train(rows[0], keys, rule, x, y)
        save_file(out, GOLDEN / f"{name}.safetensors")
        print(f"{name:18} losses {out['losses'][0]:.4f} {out['losses'][1]:.4f} .. {out['losses'][-1]:.4f}")


if __name__ == "__main__":
    main()
