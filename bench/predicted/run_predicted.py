# SPDX-License-Identifier: Apache-2.0
"""run_predicted.py: predictions held against runs: usage in run. Parts:

    links     exchanges over shaped links, by figures fitted to others (links.py)
    incast    what a port loses to which several send (incast.py): measured, and nothing is judged
    steps     training steps of networks on two ranks, from a trace of one (steps.py)
    waits     kernels of the slower of two ranks, from mean and spread of both (waits.py)
    methods   steps of methods on two ranks, and on four with kernels that only wait
    buckets   a bucket a layer, one bucket, and as the prediction or the run merges them
    precision steps with gradients of 16 bits between two hosts
    choice    what auto takes against all that one can force, on machines of several hosts; what is named against what
    runs

The short form of a part takes seconds, --long minutes. Nothing is fitted on what is judged."""
import argparse
import pathlib
import platform
import sys
import tempfile
import time

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH.parent / "tests/hosts")]
import choice  # noqa: E402
import incast  # noqa: E402
import judged as judged_rows  # noqa: E402
import lab  # noqa: E402
import links  # noqa: E402
import steps  # noqa: E402
import waits  # noqa: E402


def processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def with_folder(part):
    """Parts that train: a folder, and this host's figures."""
    def run(judged, build: str, long: bool) -> None:
        with tempfile.TemporaryDirectory(prefix="tutti-predicted-") as name:
            steps.tune(build, pathlib.Path(name))
            part(judged, build, long, pathlib.Path(name))
    return run


PARTS = {
    "links": links.run,
    "incast": incast.run,
    "steps": with_folder(steps.run_steps),
    "waits": with_folder(waits.run),
    "methods": with_folder(steps.run_methods),
    "buckets": with_folder(steps.run_buckets),
    "precision": with_folder(steps.run_precisions),
    "choice": with_folder(choice.run)
}


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--parts", default=",".join(PARTS))
    p.add_argument("--long", action="store_true")
    p.add_argument("--json")
    a = p.parse_args()
    for name in a.parts.split(","):
        if name not in PARTS:
            sys.exit(f"--parts: '{name}': there are {', '.join(PARTS)}")
    lab.skip_unless_possible()
    began = time.monotonic()
    print(f"{processor()}, {len(steps.cores())} cores")
    judged = judged_rows.Judged(a.json)
    for name in a.parts.split(","):
        PARTS[name](judged, a.build, a.long)
    judged.sum_up()
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
