# SPDX-License-Identifier: Apache-2.0
"""run_scaling.py BUILD [--models A,B] [--rounds N] [--json FILE]: see run. Printed: the step of two ranks over the
step of two lone runs side by side, so 1 is free and less is better; both ms stand below it."""
import argparse
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import pinned  # noqa: E402
from table import Table  # noqa: E402

CASES = {"alexnet-torch": (16, 8), "lenet": (32, 200)}  # model: batch a rank, steps that are timed in a run
MODES = ("eager", "channels_last")


def alone(start, on: list[int]) -> float:
    """Two runs at once: the mean of their steps."""
    runs = [start([core]) for core in on]
    return statistics.mean(run.end().ms for run in runs)


def measure(starts: dict, rounds: int, on: list[int]) -> dict[str, tuple[float, float]]:
    """Name -> ms alone, ms together: medians of rounds in which all take turns."""
    times = {name: ([], []) for name in starts}
    for _ in range(rounds):
        for name, start in starts.items():
            times[name][0].append(alone(start, on))
            times[name][1].append(start(on).end().ms)
    return {name: (statistics.median(a), statistics.median(t)) for name, (a, t) in times.items()}


def bench(args: argparse.Namespace, table: Table, model: str, on: list[int]) -> None:
    batch, steps = CASES[model]
    case = [args.build, model, batch, "f32"]
    starts = {"tutti": lambda cores: pinned.Tutti(*case, steps, cores)}
    starts |= {mode: lambda cores, mode=mode: pinned.Torch(*case, mode, steps, cores) for mode in MODES}
    ms = measure(starts, args.rounds, on)
    best = min(MODES, key=lambda mode: ms[mode][1])
    ratio = {name: together / lone for name, (lone, together) in ms.items()}
    table.row(f"{model} b{batch} a rank, 2 ranks / 2 lone "
              f"runs", "x", ratio["tutti"], f"PyTorch DDP gloo {best}", ratio[best], 1)
    print("    ms alone -> together: " + "; ".join(f"{n} {a:.4g} -> {t:.4g} "
                                                   f"({ratio[n]:.3f}x)" for n, (a, t) in ms.items()),
          flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--models", default=",".join(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    args = parser.parse_args()
    on = pinned.cores()[-2:]
    if len(on) < 2:
        print("skipped: needs two cores")
        return
    table = Table("scaling", args.json)
    for model in args.models.split(","):
        bench(args, table, model, on)


if __name__ == "__main__":
    main()
