# SPDX-License-Identifier: Apache-2.0
"""runs.py: ranks that a benchmark starts by hand, what they find each other by, and what a run of tutti has written
down."""
import json
import os
import pathlib
import socket
import statistics
import subprocess


def environments(nranks: int) -> list[dict[str, str]]:
    """torchrun's variables of each rank on this host. Rank 0 will listen on a port that was free a moment ago."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    return [{"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(nranks), "LOCAL_WORLD_SIZE": str(nranks),
             "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)} for rank in range(nranks)]


class Ranks:
    """The same command once for each `threads` cores; several are ranks of one run."""

    def __init__(self, command: list, on: list[int], threads: int = 1) -> None:
        self.processes = []
        seats = [on[i:i + threads] for i in range(0, len(on), threads)]
        for seat, own in zip(seats, environments(len(seats))):
            env = dict(os.environ, OMP_NUM_THREADS=str(threads))
            if len(seats) > 1:
                env |= own
            self.processes.append(
                subprocess.Popen(["taskset", "-c", ",".join(map(str, seat)), *map(str, command)],
                                 env=env,
                                 text=True,
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE))

    def outputs(self, timeout: float | None = None) -> list[str]:
        """What each process printed. RuntimeError with a process's words, or TimeoutExpired."""
        printed = []
        try:
            for process in self.processes:
                out, words = process.communicate(timeout=timeout)
                if process.returncode:
                    raise RuntimeError(words.strip()[-2000:] or f"exit code {process.returncode}")
                printed.append(out)
        finally:
            for process in self.processes:
                if process.poll() is None:
                    process.kill()
        return printed

    def last_lines(self, timeout: float | None = None) -> list[str]:
        return [out.splitlines()[-1] for out in self.outputs(timeout)]


def events(out: str | pathlib.Path) -> list[dict]:
    """Of the run whose folder this is."""
    return [json.loads(line) for line in pathlib.Path(out, "metrics.jsonl").read_text().splitlines()]


def step_ms(out: str | pathlib.Path, uncounted: int = 0) -> float:
    """The median, without the first steps."""
    return statistics.median([e["step_ms"] for e in events(out) if e["ev"] == "step"][uncounted:])
