# SPDX-License-Identifier: Apache-2.0
"""waits.py: what kernels of the slower of two ranks take in a step, held against what a layer trace says of both: mean
and spread.

Of one run, whose own layers.txt is read: so this is of the formula alone (src/predict/play/slowest_rank.h) and of
draws being independent, not of what another run takes, nor of exchanges. A busy machine has more spread, so it may run
on one."""
import json
import pathlib
import statistics

import runs
import steps

KERNELS = {"forward", "backward-params", "backward-data", "sum"}


def kernels_s(trace: pathlib.Path, rank: int) -> list[float]:
    """Of each traced step of a rank. A step's kernels begin within it, in order."""
    spans = sorted((e["ts"], e["name"].split()[0], e["dur"])
                   for e in json.loads(trace.read_text())["traceEvents"]
                   if e["ph"] == "X" and e["pid"] == rank)
    took: list[float] = []
    for _, name, us in spans:
        if name.startswith("ProfilerStep"):
            took.append(0.0)
        elif name in KERNELS:
            took[-1] += 1e-6 * us
    return took


def judge(judged, build: str, model: steps.Model, folder: pathlib.Path, nsteps: int) -> None:
    job, out = model.job(folder, 2, nsteps), folder / "waits"
    runs.Ranks([f"{build}/tutti", "train", job, "--trace",
                str(nsteps), "--out",
                str(out), "--fresh", "--quiet"],
               steps.cores()[:2]).outputs(600)
    mine, others = (kernels_s(out / "trace.json", rank) for rank in range(2))
    slower_s = statistics.median(map(max, mine, others))
    rows = [line.split("\t") for line in (out / "layers.txt").read_text().splitlines()[1:] if not line.startswith("#")]
    mean_s = 1e-6 * sum(float(row[2]) + float(row[3]) for row in rows)
    spread = steps.prediction(build, model.job(folder, 1, nsteps), out / "layers.txt", 2, "host", [])["spread"]
    case = f"{model.name} b{model.batch}, kernels of the slower of two ranks"
    judged.row("slower ranks by the mean", f"{case}, mean", slower_s, mean_s, steps=nsteps)
    judged.row("slower ranks by the spread", f"{case}, spread", slower_s, mean_s * spread, steps=nsteps, spread=spread)


def run(judged, build: str, long: bool, folder: pathlib.Path) -> None:
    judged.aim("slower ranks by the spread", 0.02)
    for model, nsteps in (steps.LENET, 200), (steps.RESNET20, 100):
        for _ in range(4 if long else 1):
            judge(judged, build, model, folder, nsteps)
