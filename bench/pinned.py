# SPDX-License-Identifier: Apache-2.0
"""pinned.py: what bench/train and bench/scaling share: runs of tutti and of PyTorch, each process with one thread on a core of its
own, and their step times."""
import dataclasses
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/oracle"))
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


def cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@dataclasses.dataclass
class Result:
    ms: float   # median step
    mib: float  # peak memory of a process
    version: str = ""


class Ranks:
    """The same command once a core; with several cores they are ranks of one run."""

    def __init__(self, command: list, on: list[int]) -> None:
        self.processes, port = [], free_port()
        for rank, core in enumerate(on):
            env = dict(os.environ, OMP_NUM_THREADS="1")
            if len(on) > 1:
                env |= {"RANK": str(rank), "WORLD_SIZE": str(len(on)), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(len(on)),
                        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
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
        spec, total, samples = torch_models.spec_of(model), WARMUP + steps, batch * len(on)
        self.folder = tempfile.TemporaryDirectory()
        job, self.out = pathlib.Path(self.folder.name, "job.yaml"), pathlib.Path(self.folder.name, "out")
        job.write_text(JOB.format(model=model, shape=spec["input"], classes=spec["classes"], batch=samples, precision=precision,
                                  steps=total, samples=samples * total))
        self.ranks = Ranks([sys.executable, ROOT / "bench/train/peak_memory.py", f"{build}/tutti", "train", job, "--out", self.out,
                            "--quiet"], on)

    def end(self) -> Result:
        mib = max(json.loads(line)["mib"] for line in self.ranks.last_lines())
        events = [json.loads(line) for line in (self.out / "metrics.jsonl").read_text().splitlines()]
        self.folder.cleanup()
        return Result(statistics.median([e["step_ms"] for e in events if e["ev"] == "step"][WARMUP:]), mib)


class Torch:
    """The same of PyTorch: torch_train.py."""

    def __init__(self, build: str, model: str, batch: int, precision: str, mode: str, steps: int, on: list[int]) -> None:
        self.ranks = Ranks([f"{build}/peers/bin/python", ROOT / "bench/train/torch_train.py", model, batch, precision, mode, steps],
                           on)

    def end(self, timeout: float | None = None) -> Result:
        outs = [json.loads(line) for line in self.ranks.last_lines(timeout)]
        return Result(statistics.median(outs[0]["ms"]), max(out["mib"] for out in outs), outs[0]["torch"])
