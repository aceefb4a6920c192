# SPDX-License-Identifier: Apache-2.0
"""run_update.py: GB/s of an update (4 bytes read a gradient and a centre, 8 moved a weight and a state), ours and
PyTorch's in turn (see run). The bound is a loop that moves the same bytes. A pull is in the rule's pass; PyTorch's is
a lerp_ behind its optimiser (of the weights after it: before it would cost it a copy), a move of a centre is a lerp_
too, an outer step is its own optimiser between the two passes that it needs."""
import argparse
import json
import pathlib
import subprocess
import sys
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from table import Table  # noqa: E402

RULES = {"sgd": (torch.optim.SGD, {}), "momentum": (torch.optim.SGD, {"momentum": 0.9}),
         "nesterov": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}), "adamw": (torch.optim.AdamW, {})}
SIZES = {"in the second cache": 1 << 14, "in memory": 32 << 20}
REPEATS = 9


def ours(build: pathlib.Path, rule: str, n: int) -> dict:
    command = [build / "bench" / "bench_update", rule, n, REPEATS * (20 if n < 1 << 20 else 1)]
    return json.loads(subprocess.run(map(str, command), check=True, capture_output=True, text=True).stdout)


def stepper(what: str, n: int):
    """What PyTorch is to do for it."""
    rule, _, pull = what.partition("+")
    p = torch.nn.Parameter(torch.zeros(n))
    p.grad, other = 1e-3 * (torch.arange(n) % 1000 - 500).float(), torch.ones(n)
    if what == "elastic":
        return lambda: p.data.lerp_(other, 0.4)
    optimiser, keys = RULES.get(rule, (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}))
    o = optimiser([p], lr=1e-6, weight_decay=0 if what == "outer" else 1e-4, fused=True, **keys)

    def outer() -> None:
        torch.sub(p.data, other, out=p.grad)
        o.step()
        other.copy_(p.data)

    def pulled() -> None:
        o.step()
        p.data.lerp_(other, 0.1)

    return outer if what == "outer" else pulled if pull else o.step


def theirs(what: str, n: int) -> float:
    step, best = stepper(what, n), float("inf")
    for i in range(3 + REPEATS * (20 if n < 1 << 20 else 1)):
        begin = time.perf_counter()
        step()
        if i >= 3:
            best = min(best, time.perf_counter() - begin)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"PyTorch {torch.__version__}, fused, 1 thread each, the best of {args.rounds} rounds, "
        f"{ours(args.build, 'sgd', 1)['isa']}"
    )
    table = Table("update", args.json)
    for where, n in SIZES.items():
        for rule in (*RULES, "momentum+pull", "adamw+pull", "elastic", "outer"):
            mine, peer = [], []
            for _ in range(args.rounds):
                mine.append(ours(args.build, rule, n))
                peer.append(theirs(rule, n))
            gb = mine[0]["bytes"] * n / 1e9
            table.row(f"{rule}, {n} weights, {where}",
                      "GB/s",
                      gb / min(m["update_s"] for m in mine),
                      "PyTorch fused",
                      gb / min(peer),
                      gb / min(m["move_s"] for m in mine),
                      more_is_better=True)


if __name__ == "__main__":
    main()
