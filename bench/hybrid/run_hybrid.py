# SPDX-License-Identifier: Apache-2.0
"""run_hybrid.py: median step of two hosts with one rank each, in one group that shares the dense layers (hybrid) and
in two (data parallel), in turns, so that whatever else the machine does meets both. Before that `tutti predict` is
asked, on a star of that rate, and the bound of each is what its exchanges carry at that rate and nothing else."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH.parent / "tests/hosts")]
import lab  # noqa: E402
import runs  # noqa: E402
from table import Table  # noqa: E402

UNCOUNTED = 3
MODELS = {  # input, classes, layers that are shared
    "cd-dnn": ("[429]", 9304, [f"fc{i}" for i in range(1, 9)]),
    "fcn5": ("[26752]", 26752, ["fc1", "fc2", "fc3", "fc4"]),
    "alexnet-torch": ("[3, 224, 224]", 1000, ["classifier.1", "classifier.4", "classifier.6"]),
}
JOB = """model: {model}
data: {{set: noise, shape: {shape}, classes: {classes}, train_samples: {samples}, test_samples: 2}}
batch: {batch}
steps: {steps}
log_every: 1
eval_every_epochs: 0
checkpoint: {{every_steps: 1000000}}
optimiser: {{rule: momentum, lr: 0.0001}}
ranks: 2
parallel: {{layers: [{layers}]}}
"""
WAYS = {"hybrid": 1, "data parallel": 2}  # groups


def job_of(a: argparse.Namespace, model: str) -> str:
    shape, classes, layers = MODELS[model]
    steps = UNCOUNTED + a.steps
    return JOB.format(model=model, shape=shape, classes=classes, samples=a.batch * steps, batch=a.batch, steps=steps,
                      layers=", ".join(layers))


def predicted(a: argparse.Namespace, job: pathlib.Path, rate: str, groups: int) -> dict:
    said = subprocess.run([
        f"{a.build}/tutti", "predict", job, "--ranks", "2", "--json", "-", "--topology",
        f"star,bw={rate.replace('bit', 'b').replace('g', 'G').replace('m', 'M')},lat=50us", "--set",
        f"parallel.groups={groups}"
    ],
                          check=True,
                          capture_output=True,
                          text=True).stdout
    return json.loads(said.splitlines()[-1])


def measured_ms(a: argparse.Namespace, hosts: lab.Lab, job: pathlib.Path, groups: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        ranks = hosts.finish(
            hosts.start(1, [
                f"{a.build}/tutti", "train",
                str(job), "--out", folder, "--fresh", "--quiet", "--set", f"parallel.groups={groups}"
            ], {
                "OMP_NUM_THREADS": "1",
                "TUTTI_WIRE": "tcp"
            }), 900)
        for rank in ranks:
            if rank.process.returncode:
                sys.exit(f"rank {rank.rank}: {rank.text}")
        return runs.step_ms(folder, UNCOUNTED)


def measure(a: argparse.Namespace, table: Table, model: str, rate: str, job: pathlib.Path) -> None:
    said = {way: predicted(a, job, rate, groups) for way, groups in WAYS.items()}
    ms: dict[str, list[float]] = {way: [] for way in WAYS}
    with lab.Lab(2, rate) as hosts:
        for _ in range(a.rounds):
            for way, groups in WAYS.items():
                ms[way].append(measured_ms(a, hosts, job, groups))
    median = {way: statistics.median(of) for way, of in ms.items()}
    case = f"{model} b{a.batch} {rate}"
    table.row(f"{case}: predicted", "ms", 1e3 * said["hybrid"]["step_s"], "data parallel", 1e3 * said["data parallel"]["step_s"])
    table.row(f"{case}: measured", "ms", median["hybrid"], "data parallel", median["data parallel"])
    for way, of in ms.items():
        print(f"{case}: {way}: {' '.join(f'{one:.0f}' for one in of)} ms, a round each; predicted "
              f"{1e3 * said[way]['step_s']:.0f}, exchanges alone {1e3 * said[way]['exchange_s']:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--models", default="cd-dnn,alexnet-torch")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=6, help="counted, of each run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rates", default="1gbit")
    parser.add_argument("--json")
    a = parser.parse_args()
    lab.skip_unless_possible()
    table = Table("hybrid", a.json)
    for model in a.models.split(","):
        for rate in a.rates.split(","):
            with tempfile.TemporaryDirectory() as folder:
                job = pathlib.Path(folder, "job.yaml")
                job.write_text(job_of(a, model))
                measure(a, table, model, rate, job)


if __name__ == "__main__":
    main()
