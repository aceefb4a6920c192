# SPDX-License-Identifier: Apache-2.0
"""runs.py: what ranks that a benchmark starts by hand find each other by, and what a run of tutti has written down."""
import json
import pathlib
import socket
import statistics


def environments(nranks: int) -> list[dict[str, str]]:
    """torchrun's variables of each rank on this host. Rank 0 will listen on a port that was free a moment ago."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    return [{"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(nranks), "LOCAL_WORLD_SIZE": str(nranks),
             "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)} for rank in range(nranks)]


def events(out: str | pathlib.Path) -> list[dict]:
    """Of the run whose folder this is."""
    return [json.loads(line) for line in pathlib.Path(out, "metrics.jsonl").read_text().splitlines()]


def step_ms(out: str | pathlib.Path, uncounted: int = 0) -> float:
    """The median, without the first steps."""
    return statistics.median([e["step_ms"] for e in events(out) if e["ev"] == "step"][uncounted:])
