# SPDX-License-Identifier: Apache-2.0
"""steps.py: training steps, measured and predicted from a layer trace of one rank that was taken before.

Ranks are held to a core each, with one thread. The hosts are namespaces of one machine, which share its memory and
caches: so each trace is of one of two one-rank runs that go on at once, neither of which knows of the other. Where
more ranks run than there are cores, or where links are to bind, kernels wait for the times of the trace (`tutti train
--pretend`): all else is what it is."""
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import lab
import links
import runs

HERE = pathlib.Path(__file__).resolve().parent
JOB = """model: {model}
data: {{{data}, train_samples: {samples}, test_samples: 8}}
batch: {batch}
steps: {steps}
threads: 1
log_every: 1
eval_every_epochs: 0
checkpoint: {{every_steps: 100000000}}
trace: {{warmup: {warmup}}}
optimiser: {{rule: momentum, lr: 0.0001, momentum: 0.9}}
"""


@dataclasses.dataclass
class Model:
    name: str
    data: str
    batch: int          # of a rank
    traced: int         # steps
    counted: int        # steps of a measured run
    warm: int = 3       # steps before

    def job(self, folder: pathlib.Path, nranks: int, counted: int, warm: int | None = None) -> str:
        path, warm = folder / f"{self.name.split('/')[-1]}-{nranks}.yaml", self.warm if warm is None else warm
        steps, batch = warm + counted, self.batch * nranks
        path.write_text(
            JOB.format(model=self.name,
                       data=self.data,
                       samples=max(batch, min(batch * steps, 20000)),
                       batch=batch,
                       steps=steps,
                       warmup=warm))
        return str(path)


NOISE = "set: noise, shape: [3, 224, 224], classes: 1000"
LENET = Model("lenet", "set: digits", 64, 60, 120, 20)
MLP = Model("mlp", "set: digits", 64, 60, 120, 20)
RESNET20 = Model("resnet20", "set: noise, shape: [3, 32, 32], classes: 10", 32, 24, 24, 4)
ALEXNET = Model("alexnet-torch", NOISE, 16, 6, 5, 3)
RESNET50 = Model("resnet50", NOISE, 8, 5, 6, 3)
DENSE = Model(str(HERE / "dense.yaml"), "set: digits", 256, 12, 16, 4)


# A step of some hundred ms where links bind, for runs of kernels that wait for these times.
BOUND = dataclasses.replace(DENSE, batch=16, counted=5, warm=1)
BOUND_TRACE = """Id Name Forward Backward Comm Size
0 fc1 20000 40000 0 0
1 fc2 10000 20000 0 0
2 fc3 1000 2000 0 0
3 softmax-cross-entropy1 0 1000 0 0
"""


def cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def trace(build: str, model: Model, folder: pathlib.Path) -> pathlib.Path:
    """layers.txt of the first of two runs of one rank each, at once."""
    job, begun = model.job(folder, 1, model.traced), []
    for k, core in enumerate(cores()[:2]):
        begun.append(
            subprocess.Popen([
                "taskset", "-c",
                str(core), f"{build}/tutti", "train", job, "--ranks", "1", "--trace",
                str(model.traced), "--out",
                str(folder / f"trace{k}"), "--fresh", "--quiet"
            ],
                             stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT,
                             text=True))
    for process in begun:
        words, _ = process.communicate(timeout=600)
        if process.returncode:
            raise RuntimeError(words)
    kept = folder / f"{pathlib.Path(model.name).stem}-layers.txt"
    kept.write_text((folder / "trace0/layers.txt").read_text())
    return kept


def scaled(layers: pathlib.Path, factor: float, to: pathlib.Path) -> pathlib.Path:
    """The same trace on a machine that computes so many times as long, each step as long as the others: kernels that
    wait do."""
    lines = [line.split("\t") for line in layers.read_text().splitlines() if not line.startswith("# step_spread")]
    for line in lines[1:]:
        line[2:4] = [f"{factor * float(us):.3f}" for us in line[2:4]]
    to.write_text("".join("\t".join(line) + "\n" for line in lines))
    return to


def sets(settings: list[str]) -> list[str]:
    return [word for s in settings for word in ("--set", s)]


def prediction(build: str, job: str, layers: pathlib.Path, nranks: int, topology: str, settings: list[str]) -> dict:
    """What tutti predict says of so many ranks. RuntimeError: it says no."""
    command = [
        f"{build}/tutti", "predict", job, "--trace",
        str(layers), "--ranks",
        str(nranks), "--topology", topology, *sets(settings), "--json", "-"
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    row = next((row for row in map(json.loads, done.stdout.splitlines()) if row["ranks"] == nranks), None)
    if done.returncode or "refused" in (row or {"refused": ""}):
        raise RuntimeError(done.stderr or row["refused"])
    return row


def predicted_s(build: str, job: str, layers: pathlib.Path, nranks: int, topology: str, settings: list[str]) -> float:
    """job: of one rank; the trace makes it weak scaling."""
    return prediction(build, job, layers, nranks, topology, settings)["step_s"]


def step_s(out: pathlib.Path, warm: int, visits: bool, period: int = 1) -> float:
    """The median step of a run, or period of steps; where workers take steps of their own the mean, without the last
    ones, in which who is done
    waits."""
    steps = [e for e in runs.events(out) if e["ev"] == "step" and e["step"] > warm]
    if not visits:
        parts = [steps[i:i + period] for i in range(0, len(steps) - period + 1, period)]
        return 1e-3 * statistics.median(statistics.mean(e["step_ms"] for e in part) for part in parts)
    steps = [e for e in steps if e["step"] <= steps[-1]["step"] - 2] or steps
    first = max((e["step"] for e in runs.events(out) if e["ev"] == "step" and e["step"] <= warm), default=0)
    before, total = first, 0.0
    for e in steps:
        total += e["step_ms"] * (e["step"] - before)
        before = e["step"]
    return 1e-3 * total / (before - first)


def held(k: int, command: list[str]) -> list[str]:
    return ["taskset", "-c", str(cores()[k]), *command]


def measured_s(build: str,
               model: Model,
               job: str,
               folder: pathlib.Path,
               hosts: lab.Lab | None,
               more: list[str],
               visits: bool,
               pretends: bool = False,
               period: int = 1) -> float:
    """A rank on each host; without hosts two ranks on shared memory. Each on a core of its own, where there are as
    many."""
    out = folder / ("waited" if pretends else "computed")  # one of the two keeps checkpoints
    command = [f"{build}/tutti", "train", job, "--out", str(out), "--fresh", "--quiet", *more]
    env = {"TUTTI_WIRE": "tcp"}
    if hosts is None:
        runs.Ranks(command, cores()[:2]).outputs(600)
    else:
        ranks = hosts.finish(hosts.start(1, command, env, on=None if pretends or hosts.nhosts > len(cores()) else held), 900)
        if ranks[0].process.returncode:
            raise RuntimeError("\n".join(rank.text for rank in ranks)[-2000:])
    return step_s(out, model.warm, visits, period)


@dataclasses.dataclass
class Place:
    """Where ranks run, and how that is described."""
    name: str
    topology: str
    nranks: int
    rate: str | None = None  # None: shared memory


def tune(build: str, folder: pathlib.Path) -> None:
    """This host's figures, for shared memory: into a file that predictions read."""
    os.environ["TUTTI_TOPOLOGY"] = str(folder / "host.topology")
    subprocess.run([f"{build}/tutti", "coll", "tune"], check=True, capture_output=True, text=True)


def places(build: str, counts: list[int], rate: str, seconds: float) -> list[Place]:
    """Shared memory with two ranks, and so many hosts."""
    found = [Place("shared memory", "host", 2)]
    for n in counts:
        figures = links.fit(build, rate, n, seconds)
        print(f"{rate}, {n} hosts: {figures.words()}", flush=True)
        found.append(Place(f"{n} hosts at {rate}", figures.star(), n, rate))
    return found


def judge(judged,
          group: str,
          build: str,
          model: Model,
          layers: pathlib.Path,
          where: Place,
          settings: list[str],
          folder: pathlib.Path,
          case: str,
          rounds: int,
          visits: bool = False,
          pretends: bool = False) -> None:
    one = model.job(folder, 1, model.counted)
    predicted = predicted_s(build, one, layers, where.nranks, where.topology, settings)
    job = model.job(folder, where.nranks, model.counted)
    more = [*sets(settings), *(["--pretend", str(layers)] if pretends else [])]
    took, period = [], next((int(s.split("=")[1]) for s in settings if s.startswith("method.period=")), 1)
    for _ in range(rounds):
        if where.rate is None:
            took.append(measured_s(build, model, job, folder, None, more, visits, False, period))
        else:
            with links.Hosts(where.nranks, where.rate) as hosts:
                took.append(measured_s(build, model, job, folder, hosts, more, visits, pretends, period))
    judged.row(group,
               f"{pathlib.Path(model.name).stem} {case} on {where.name}",
               statistics.median(took),
               predicted,
               topology=where.topology,
               settings=settings,
               rounds=took)


def run_steps(judged, build: str, long: bool, folder: pathlib.Path) -> None:
    group = "steps of networks"
    judged.aim(group, 0.05, 0.10)
    for model in (LENET, RESNET20, RESNET50, ALEXNET) if long else (LENET,):
        layers = trace(build, model, folder)
        for where in places(build, [2], "300mbit", 0.5):
            judge(judged, group, build, model, layers, where, [], folder, f"b{model.batch}", 3 if long else 1)


METHODS = ["sync-sgd", "local-sgd", "easgd", "sync-easgd1", "sync-easgd3", "async-sgd", "async-easgd", "bounded-sgd"]
VISITS = {"easgd", "async-sgd", "async-easgd", "bounded-sgd"}
APART = dataclasses.replace(
    DENSE, warm=20,
    counted=40)  # workers that begin in step move apart for some 15 steps; a prediction is of what follows


def run_methods(judged, build: str, long: bool, folder: pathlib.Path) -> None:
    group, pretended = "methods", "methods at 4 ranks, timed kernels"
    judged.aim(group, 0.10)
    judged.aim(pretended, 0.10)
    layers = trace(build, DENSE, folder)
    methods = METHODS if long else ["sync-easgd3", "async-easgd", "easgd"]
    slow = scaled(layers, 4, folder / "slow.txt")
    all_places = places(build, [2, 4], "300mbit", 0.3)
    for name in methods:
        for where in all_places:
            pretends = where.nranks > 2
            settings = [f"method.name={name}", *(["method.period=4"] if name == "local-sgd" else [])]
            model = APART if pretends and name in VISITS else DENSE
            judge(judged, pretended if pretends else group, build, model, slow if pretends else layers, where, settings,
                  folder, name, 3 if long and where.rate is None else 1, name in VISITS, pretends)


def run_buckets(judged, build: str, long: bool, folder: pathlib.Path) -> None:
    group = "buckets"
    judged.aim(group, 0.10)
    for model in (RESNET20, LENET) if long else (LENET,):
        layers = trace(build, model, folder)
        for where in places(build, [2], "300mbit", 0.3):
            for rule in ("layer", "one", "auto"):
                judge(judged, group, build, model, layers, where, [f"exchange.buckets={rule}"], folder,
                      f"buckets {rule}", 3 if long else 1)


PRECISIONS = [[], ["exchange.precision=bf16"], ["exchange.precision=f16"],
              ["exchange.precision=bf16", "exchange.update=replicated"]]


def run_precisions(judged, build: str, long: bool, folder: pathlib.Path) -> None:
    """What gradients of 16 bits save between two hosts."""
    group = "16-bit exchange"
    judged.aim(group, 0.10)
    where = places(build, [2], "300mbit", 0.3)[1]
    for model in (LENET, MLP) if long else (MLP,):
        layers = trace(build, model, folder)
        for settings in PRECISIONS:
            judge(judged, group, build, model, layers, where, settings, folder, " ".join(settings) or "f32", 3 if long else 1)
