# SPDX-License-Identifier: Apache-2.0
"""svm_peers.py: who ./dev bench svm trains with. A peer is one class: who it is, which settings it may run in, and one
training on one core with one thread; what comes back is a model in LIBSVM's format and the seconds of training alone,
without reading and starting."""
import dataclasses
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(ROOT / "tests/oracle")]
import runs  # noqa: E402


@dataclasses.dataclass
class Case:
    train: pathlib.Path
    test: pathlib.Path
    name: str
    cost: str
    gamma: str
    eps: str = "0.001"

    @property
    def flags(self) -> list[str]:
        return ["-c", self.cost, "-g", self.gamma, "-e", self.eps]

    def __str__(self) -> str:
        return f"{self.name} -c {self.cost} -g {self.gamma}"


@dataclasses.dataclass
class Run:
    seconds: float                 # training alone
    process: float | None = None   # the whole program, where it is one
    words: str = ""


def trace_of(model: pathlib.Path) -> pathlib.Path:
    return model.with_suffix(".trace")


def events_of(model: pathlib.Path) -> list[dict]:
    """The rounds of a trace; its first line says only who ran."""
    events = [json.loads(line) for line in trace_of(model).read_text().splitlines()]
    return [event for event in events if event["ev"] in ("round", "solved")]


def alone(core: int, *command, limit: float | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(["taskset", "-c", str(core), *map(str, command)],
                          check=True,
                          capture_output=True,
                          text=True,
                          timeout=limit,
                          env=dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1"))


class Ours:
    name = "tutti"
    settings = {"default": []}

    def __init__(self, build: pathlib.Path) -> None:
        self.program = build / "tutti"

    def train(self, case: Case, setting: str, core: int, model: pathlib.Path, limit: float | None = None) -> Run:
        return self.run(case, self.settings[setting], [core], model)[0]

    def command(self, case: Case, options: list, model: pathlib.Path) -> list:
        return [
            sys.executable, HERE.parent / "peak_memory.py", self.program, "svm-train", *case.flags, *options,
            "--threads", 1, "--trace",
            trace_of(model), case.train, model
        ]

    def run(self, case: Case, options: list, on: list[int], model: pathlib.Path) -> tuple[Run, list[dict], list[float]]:
        """A rank on each of the cores. Also what the trace has, and each rank's largest resident memory in MiB."""
        start = time.perf_counter()
        printed = runs.Ranks(self.command(case, options, model), on).outputs()
        process, events = time.perf_counter() - start, events_of(model)
        return Run(events[-1]["seconds"], process,
                   printed[0]), events, [json.loads(out.splitlines()[-1])["mib"] for out in printed]

    def side_by_side(self, case: Case, on: list[int], folder: pathlib.Path) -> list[float]:
        """Seconds of lone trainings, one a core, at the same time."""
        models = [folder / f"beside_{core}.model" for core in on]
        started = [runs.Ranks(self.command(case, [], model), [core]) for core, model in zip(on, models)]
        for one in started:
            one.outputs()
        return [events_of(model)[-1]["seconds"] for model in models]


class Libsvm:
    """Its whole program less one that reads, does nothing and writes, which is what an eps that any start satisfies
    makes it do."""
    settings = {"-m 100 (default)": ["-m", "100"], "-m 1000": ["-m", "1000"]}
    AT_ONCE = "1000"

    def __init__(self, build: pathlib.Path) -> None:
        version = subprocess.run(["dpkg-query", "-W", "-f=${Version}", "libsvm-tools"], capture_output=True, text=True).stdout
        self.name = f"LIBSVM {version}"
        subprocess.run(["svm-train"], capture_output=True)  # OSError where it is not

    def train(self, case: Case, setting: str, core: int, model: pathlib.Path, limit: float | None = None) -> Run:
        def timed(eps: str) -> tuple[float, str]:
            start = time.perf_counter()
            words = alone(core,
                          "svm-train",
                          "-c",
                          case.cost,
                          "-g",
                          case.gamma,
                          "-e",
                          eps,
                          *self.settings[setting],
                          case.train,
                          model,
                          limit=limit).stdout
            return time.perf_counter() - start, words

        reading, _ = timed(self.AT_ONCE)
        process, words = timed(case.eps)
        return Run(process - reading, process, words)


class ThunderSvm:
    """thundersvm-train of the wheel thundersvm-cpu. Not through the wheel's Python classes: with current SciPy their
    sparse fit passes 64-bit
    indices as 32-bit ones and crashes (given 32-bit ones it reads integer labels as floats: a class a sample), and
    their dense fit takes many times as long."""
    settings = {"-o 1": ["-o", "1"]}

    def __init__(self, build: pathlib.Path) -> None:
        self.library = next(build.glob("peers-svm/lib/python3*/site-packages/thundersvm/libthundersvm.so"))
        info = next(build.glob("peers-svm/lib/python3*/site-packages/thundersvm_cpu-*.dist-info"))
        self.name = "ThunderSVM " + info.name.split("-")[1].removesuffix(".dist")

    def train(self, case: Case, setting: str, core: int, model: pathlib.Path, limit: float | None = None) -> Run:
        done = alone(core,
                     sys.executable,
                     HERE / "thunder_train.py",
                     self.library,
                     *case.flags,
                     *self.settings[setting],
                     case.train,
                     model,
                     limit=limit)
        when = [datetime.datetime.strptime(re.search(rf"^(\S+ \S+) .*{words}", done.stdout + done.stderr, re.M).group(1),
                                           "%Y-%m-%d %H:%M:%S,%f") for words in ("training start", "training finished")]
        return Run((when[1] - when[0]).total_seconds())


class Sklearn:
    who, settings = "plain", {"csr": ["csr", "64"], "dense": ["dense", "64"]}

    def __init__(self, build: pathlib.Path) -> None:
        self.python = build / "peers-svm/bin/python"
        self.name = self.version("scikit-learn")

    def version(self, package: str) -> str:
        words = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))"
        return f"{package} " + subprocess.run(
            [self.python, "-c", words, package], check=True, capture_output=True, text=True).stdout.strip()

    def train(self, case: Case, setting: str, core: int, model: pathlib.Path, limit: float | None = None) -> Run:
        done = alone(core,
                     self.python,
                     HERE / "sklearn_train.py",
                     self.who,
                     *self.settings[setting],
                     case.cost,
                     case.gamma,
                     case.eps,
                     case.train,
                     model,
                     limit=limit)
        return Run(json.loads(done.stdout.splitlines()[-1])["seconds"])


class SklearnIntelex(Sklearn):
    who = "intelex"
    settings = {f"{form} f{bits}": [form, bits] for form in ("dense", "csr") for bits in ("32", "64")}

    def __init__(self, build: pathlib.Path) -> None:
        super().__init__(build)
        self.name = self.version("scikit-learn-intelex")


def found(build: pathlib.Path) -> list:
    """Those that are here; the others are named on stderr."""
    peers = []
    for kind in (Libsvm, ThunderSvm, SklearnIntelex, Sklearn):
        try:
            peers.append(kind(build))
        except (OSError, StopIteration, subprocess.CalledProcessError) as problem:
            print(f"bench svm: without {kind.__name__}: {problem or 'not installed'}", file=sys.stderr)
    return peers
