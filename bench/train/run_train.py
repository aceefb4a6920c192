# SPDX-License-Identifier: Apache-2.0
"""run_train.py BUILD [--models A,B] [--precisions f32,bf16] [--rounds N] [--compile-limit S] [--json FILE]: see run.

The first round asks PyTorch's three modes, later rounds the best of them. Peak memory is the largest of a case's runs;
ours has the test at the end and the checkpoint in it."""
import argparse
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import pinned  # noqa: E402
import runs  # noqa: E402
from table import Table  # noqa: E402

# model: batch, steps that are timed in a run, repeats of a primitive
CASES = {"resnet50": (16, 3, 3), "alexnet-torch": (64, 3, 3), "vgg-a": (16, 3, 3), "googlenet": (16, 4, 3), "lenet": (64, 60, 30)}
MODES = ("eager", "channels_last", "compile")


def has_bf16() -> bool:
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return "avx512_bf16" in flags or "amx_bf16" in flags


class Peer:
    """PyTorch on one case, at its best mode once that is known."""

    def __init__(self, case: list, steps: int, core: int, limit: float) -> None:
        self.case, self.steps, self.core, self.limit = case, steps, core, limit
        self.modes, self.results, self.failed, self.version = list(MODES), {}, {}, ""

    def run(self) -> None:
        for mode in self.modes:
            try:
                result = pinned.Torch(*self.case, mode, self.steps, [self.core]).end(self.limit if mode == "compile" else None)
            except subprocess.TimeoutExpired:
                self.failed[mode] = f"over {self.limit:.0f} s"
                continue
            except RuntimeError as failure:
                self.failed[mode] = str(failure).splitlines()[-1]
                continue
            self.version = result.version
            self.results.setdefault(mode, []).append(result)
        self.modes = [min(self.results, key=self.ms)]

    def ms(self, mode: str) -> float:
        return statistics.median(r.ms for r in self.results[mode])

    def said(self) -> str:
        tried = [f"{m} {self.ms(m):.4g} ms" for m in self.results] + [f"{m}: {why}" for m, why in self.failed.items()]
        return "; ".join(tried)


def bench(args: argparse.Namespace, table: Table, model: str, precision: str) -> None:
    batch, steps, repeats = CASES[model]
    core, case = pinned.cores()[-1], [args.build, model, batch, precision]
    peer, ours, bounds = Peer(case, steps, core, args.compile_limit), [], []
    alone = [f"{args.build}/bench/bench_primitives", model, batch, precision, repeats]
    for _ in range(args.rounds):
        ours.append(pinned.Tutti(*case, steps, [core]).end())
        peer.run()
        bounds.append(float(runs.Ranks(alone, [core]).last_lines()[0]))
    best, step, bound = peer.modes[0], statistics.median(r.ms for r in ours), statistics.median(bounds)
    name, shown = f"PyTorch {peer.version} {best}", f"{model} b{batch} {precision}"
    table.row(f"{shown}, step", "ms", step, name, peer.ms(best), bound)
    table.row(f"{shown}, peak memory", "MiB", max(r.mib for r in ours), name, max(r.mib for r in peer.results[best]))
    print(f"    step / primitives {step / bound:.3f}; PyTorch: {peer.said()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--models", default=",".join(CASES))
    parser.add_argument("--precisions", help="default: f32, and bf16 where the processor computes in it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compile-limit", type=float, default=420, help="seconds that a run with torch.compile may "
                                                                         "take")
    parser.add_argument("--json")
    args = parser.parse_args()
    unknown = [m for m in args.models.split(",") if m not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]}; there are {', '.join(CASES)}")
    precisions = (args.precisions or "f32").split(",")
    if not args.precisions and has_bf16():
        precisions.append("bf16")
    elif not args.precisions:
        print(
            "no bf16: this processor has neither AVX512-BF16 nor AMX, where both sides only emulate it; --precisions "
            "bf16 insists"
        )
    table = Table("train", args.json)
    for model in args.models.split(","):
        for precision in precisions:
            bench(args, table, model, precision)


if __name__ == "__main__":
    main()
