# SPDX-License-Identifier: Apache-2.0
"""run_update.py: GB/s of an update (4 bytes read a gradient, 8 moved a weight and a state), ours and PyTorch's in turn (see run). The bound
is a loop that moves the same bytes."""
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


def theirs(rule: str, n: int) -> float:
    optimiser, keys = RULES[rule]
    p = torch.nn.Parameter(torch.zeros(n))
    p.grad = 1e-3 * (torch.arange(n) % 1000 - 500).float()
    o, best = optimiser([p], lr=1e-6, weight_decay=1e-4, fused=True, **keys), float("inf")
    for i in range(3 + REPEATS * (20 if n < 1 << 20 else 1)):
        begin = time.perf_counter()
        o.step()
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
    print(f"PyTorch {torch.__version__}, fused, 1 thread each, the best of {args.rounds} rounds, {ours(args.build, 'sgd', 1)['isa']}")
    table = Table("update", args.json)
    for where, n in SIZES.items():
        for rule in RULES:
            mine, peer = [], []
            for _ in range(args.rounds):
                mine.append(ours(args.build, rule, n))
                peer.append(theirs(rule, n))
            gb = (12 + 8 * mine[0]["nstates"]) * n / 1e9
            table.row(f"{rule}, {n} weights, {where}", "GB/s", gb / min(m["update_s"] for m in mine), "PyTorch fused", gb / min(peer),
                      gb / min(m["move_s"] for m in mine), more_is_better=True)


if __name__ == "__main__":
    main()
