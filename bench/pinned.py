# SPDX-License-Identifier: Apache-2.0
"""pinned.py: what bench/train and bench/scaling share: runs of tutti and of PyTorch, each process with one thread on a core of its
own, and their step times."""
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/oracle"))
import runs  # noqa: E402
import torch_models  # noqa: E402

WARMUP = 3  # steps that are not counted; torch_train.py's too
JOB = """model: {model}
data: {{set: noise, shape: {shape}, classes: {classes}, train_samples: {samples}, test_samples: {batch}}}
batch: {batch}
steps: {steps}
log_every: 1
eval_every_epochs: 0
precision: {precision}
optimiser: {{rule: momentum, lr: 0.001, momentum: 0.9, weight_decay: 0.0001}}
"""


def job_of(model: str, batch: int, precision: str, steps: int) -> str:
    """The text of a job whose ranks share the batch; so many steps after those that are not counted."""
    spec, total = torch_models.spec_of(model), WARMUP + steps
    return JOB.format(model=model, shape=spec["input"], classes=spec["classes"], batch=batch, precision=precision, steps=total,
                      samples=batch * total)


def cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


@dataclasses.dataclass
class Result:
    ms: float   # median step
    mib: float  # peak memory of a process
    version: str = ""


class Ranks:
    """The same command once a core; with several cores they are ranks of one run."""

    def __init__(self, command: list, on: list[int]) -> None:
        self.processes = []
        for core, own in zip(on, runs.environments(len(on))):
            env = dict(os.environ, OMP_NUM_THREADS="1")
            if len(on) > 1:
                env |= own
            self.processes.append(subprocess.Popen(["taskset", "-c", str(core), *map(str, command)], env=env, text=True,
                                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE))

    def last_lines(self, timeout: float | None = None) -> list[str]:
        """Of what each process printed. RuntimeError with a process's words, or TimeoutExpired."""
        lines = []
        try:
            for process in self.processes:
                out, words = process.communicate(timeout=timeout)
                if process.returncode:
                    raise RuntimeError(words.strip()[-2000:] or f"exit code {process.returncode}")
                lines.append(out.splitlines()[-1])
        finally:
            for process in self.processes:
                if process.poll() is None:
                    process.kill()
        return lines


class Tutti:
    """A run of tutti train that is under way: a rank on each of the cores, `batch` samples a rank."""

    def __init__(self, build: str, model: str, batch: int, precision: str, steps: int, on: list[int]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        job, self.out = pathlib.Path(self.folder.name, "job.yaml"), pathlib.Path(self.folder.name, "out")
        job.write_text(job_of(model, batch * len(on), precision, steps))
        self.ranks = Ranks([sys.executable, ROOT / "bench/train/peak_memory.py", f"{build}/tutti", "train", job, "--out", self.out,
                            "--quiet"], on)

    def end(self) -> Result:
        mib = max(json.loads(line)["mib"] for line in self.ranks.last_lines())
        ms = runs.step_ms(self.out, WARMUP)
        self.folder.cleanup()
        return Result(ms, mib)


class Torch:
    """The same of PyTorch: torch_train.py."""

    def __init__(self, build: str, model: str, batch: int, precision: str, mode: str, steps: int, on: list[int]) -> None:
        self.ranks = Ranks([f"{build}/peers/bin/python", ROOT / "bench/train/torch_train.py", model, batch, precision, mode, steps],
                           on)

    def end(self, timeout: float | None = None) -> Result:
        outs = [json.loads(line) for line in self.ranks.last_lines(timeout)]
        return Result(statistics.median(outs[0]["ms"]), max(out["mib"] for out in outs), outs[0]["torch"])
