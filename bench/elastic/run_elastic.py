# SPDX-License-Identifier: Apache-2.0
"""run_elastic.py: time of a step with copies of the state in memory, over the time without them. Runs take turns, and
the median of the pairs counts, with the 95 % interval of that median."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from table import Table  # noqa: E402

JOBS = {  # keys of the job, and steps of a run
    "lenet": ("model: lenet\ndata: {set: digits, train_samples: 6400, test_samples: 100}\nbatch: 64\n", 400),
    "resnet50": ("model: resnet50\ndata: {set: noise, shape: [3, 224, 224], classes: 1000, train_samples: 64, "
                 "test_samples: 8}\nbatch: 8\n", 6),
    "alexnet": ("model: alexnet\ndata: {set: noise, shape: [3, 227, 227], classes: 1000, train_samples: 128, "
                "test_samples: 8}\nbatch: 32\n", 8),
}
COMMON = "steps: {steps}\nlog_every: 1\neval_every_epochs: 0\nparallel: {{layers: []}}\n" \
         "optimiser: {{rule: momentum, momentum: 0.9, lr: 0.001}}\n"


def step_ms(program: str, job: str, ranks: int, folder: str, options: list[str]) -> float:
    """Mean time of the steps after the first quarter, which makes and first touches memory."""
    out = tempfile.mkdtemp(dir=folder)
    subprocess.run([program, "train", job, "--ranks", str(ranks), "--out", out, "--quiet", *options], check=True,
                   stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
    with open(os.path.join(out, "metrics.jsonl"), encoding="utf-8") as file:
        times = [e["step_ms"] for e in map(json.loads, file) if e["ev"] == "step"]
    subprocess.run(["rm", "-r", out], check=True)
    return statistics.fmean(times[len(times) // 4:])


def interval(values: list[float]) -> tuple[float, float]:
    """The order statistics that hold the median with at least 95 % probability."""
    values = sorted(values)
    k = max(0, int(len(values) / 2 - 0.98 * len(values) ** 0.5))
    return values[k], values[len(values) - 1 - k]


def main() -> None:
    p = argparse.ArgumentParser(prog="./dev bench elastic", description=__doc__)
    p.add_argument("build")
    p.add_argument("--models", default="lenet,resnet50,alexnet")
    p.add_argument("--pairs", type=int, default=20)
    p.add_argument("--ranks", type=int, default=2)
    p.add_argument("--every", type=int, default=0)
    p.add_argument("--json")
    a = p.parse_args()
    program = os.path.join(a.build, "tutti")
    table = Table("elastic", a.json)
    copies = ["--max-restarts", "1", "--set", f"elastic.copy_every={a.every}"]
    with tempfile.TemporaryDirectory() as folder:
        for model in a.models.split(","):
            text, steps = JOBS[model]
            job = os.path.join(folder, f"{model}.yaml")
            with open(job, "w", encoding="utf-8") as file:
                file.write(text + COMMON.format(steps=steps))
            ratios, with_copies, without = [], [], []
            for pair in range(a.pairs):
                sides = [(with_copies, copies), (without, [])]
                for values, options in sides if pair % 2 else reversed(sides):
                    values.append(step_ms(program, job, a.ranks, folder, options))
                ratios.append(with_copies[-1] / without[-1])
            low, high = interval(ratios)
            print(f"{model}: {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f}, {a.pairs} pairs)", flush=True)
            table.row(f"step, {model}, {a.ranks} ranks", "ms", statistics.median(with_copies), "without copies",
                      statistics.median(without))


if __name__ == "__main__":
    main()
