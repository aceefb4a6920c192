# SPDX-License-Identifier: Apache-2.0
"""pinned.py: what bench/train and bench/scaling share: runs of tutti and of PyTorch, each process with one thread on a
core of its own, and their step times."""
import dataclasses
import json
import os
import pathlib
import statistics
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


class Tutti:
    """A run of tutti train that is under way: a rank on each `threads` of the cores, `batch` samples a rank."""

    def __init__(self, build: str, model: str, batch: int, precision: str, steps: int, on: list[int], threads: int = 1) -> None:
        self.folder = tempfile.TemporaryDirectory()
        job, self.out = pathlib.Path(self.folder.name, "job.yaml"), pathlib.Path(self.folder.name, "out")
        job.write_text(job_of(model, batch * (len(on) // threads), precision, steps) + f"threads: {threads}\n")
        self.ranks = runs.Ranks([sys.executable, ROOT / "bench/peak_memory.py", f"{build}/tutti", "train", job, "--out", self.out,
                                 "--quiet"], on, threads)

    def end(self) -> Result:
        mib = max(json.loads(line)["mib"] for line in self.ranks.last_lines())
        ms = runs.step_ms(self.out, WARMUP)
        self.folder.cleanup()
        return Result(ms, mib)


class Torch:
    """The same of PyTorch: torch_train.py."""

    def __init__(self, build: str, model: str, batch: int, precision: str, mode: str, steps: int, on: list[int]) -> None:
        self.ranks = runs.Ranks([f"{build}/peers/bin/python", ROOT / "bench/train/torch_train.py", model, batch, precision, mode,
                                 steps], on)

    def end(self, timeout: float | None = None) -> Result:
        outs = [json.loads(line) for line in self.ranks.last_lines(timeout)]
        return Result(statistics.median(outs[0]["ms"]), max(out["mib"] for out in outs), outs[0]["torch"])
