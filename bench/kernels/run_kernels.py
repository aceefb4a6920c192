# SPDX-License-Identifier: Apache-2.0
"""run_kernels.py: forward + backward time of the shipped models, ours and PyTorch's in turn (see run). The bound is
the time of the same multiplications at the speed of this machine's best matrix product (PyTorch's, 2048 x 2048, one
thread)."""
import argparse
import pathlib
import statistics
import subprocess
import sys
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/oracle")]
import torch_models  # noqa: E402
from table import Table  # noqa: E402

MODELS = ("mlp", "lenet", "convnet-bn")
CLASSES = 10
# Multiplications and additions a sample: forward, and backward without the first layer's input gradient.
FLOPS = {"mlp": 784 * 128 * 4 + 1280 * 6, "lenet": 576 * 500 * 4 + 64 * 25000 * 6 + 400000 * 6 + 5000 * 6,
         "convnet-bn": 784 * 144 * 4 + 196 * 4608 * 6 + 100352 * 6 + 640 * 6}


def torch_us(name: str, batch: int, memory_format: torch.memory_format, repeats: int) -> float:
    model = torch_models.load(name).in_place().to(memory_format=memory_format)
    x = torch.randn(batch, 1, 28, 28).to(memory_format=memory_format)
    labels, times = torch.arange(batch) % CLASSES, []
    for i in range(repeats + 5):
        model.zero_grad()
        start = time.perf_counter()
        model.loss(model(x), labels).backward()
        if i >= 5:
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def matrix_flops() -> float:
    a, b, best = torch.randn(2048, 2048), torch.randn(2048, 2048), float("inf")
    for _ in range(5):
        start = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - start)
    return 2 * 2048**3 / best


def ours_us(build: pathlib.Path, name: str, batch: int, repeats: int) -> float:
    command = [build / "bench" / "bench_kernels", name, batch, 1, "auto", repeats]
    return float(subprocess.run(map(str, command), check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--json")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}, batch {args.batch}, 1 thread each, medians of {args.rounds} x {args.repeats}")
    table, peak = Table("kernels", args.json), matrix_flops()
    for name in MODELS:
        ours, theirs = [], {torch.contiguous_format: [], torch.channels_last: []}
        for _ in range(args.rounds):
            ours.append(ours_us(args.build, name, args.batch, args.repeats))
            for memory_format, times in theirs.items():
                times.append(torch_us(name, args.batch, memory_format, args.repeats))
        peer = min((statistics.median(times), str(f).removeprefix("torch.")) for f, times in theirs.items())
        table.row(f"{name} forward + backward", "us", statistics.median(ours), f"PyTorch eager, {peer[1]}", peer[0],
                  FLOPS[name] * args.batch / peak * 1e6)


if __name__ == "__main__":
    main()
