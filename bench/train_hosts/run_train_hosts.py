# SPDX-License-Identifier: Apache-2.0
"""run_train_hosts.py: median step of two hosts with one rank each, beside the step of one of the hosts alone with the same batch: the
difference is the exchange that computing does not hide. The bound is the longer of computing and of moving: in an allreduce of two hosts
each sends and receives the gradients once, at the payload rate of a plain TCP stream on the same link (see run)."""
import argparse
import json
import pathlib
import statistics
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH / "hosts"), str(BENCH.parent / "tests/hosts")]
import lab  # noqa: E402
import pinned  # noqa: E402
import run_hosts  # noqa: E402
import runs  # noqa: E402
import torch_models  # noqa: E402
from table import Table  # noqa: E402

# What the next step reads first goes first, so that gathers hide behind its forward pass: 4.6 s against 5.1 in the default order.
SETTING = ["--set", "exchange.order=priority", "--set", "exchange.bucket_bytes=4MiB"]


def tutti_ms(hosts: lab.Lab, a: argparse.Namespace, model: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        job, out = pathlib.Path(folder, "job.yaml"), pathlib.Path(folder, "out")
        job.write_text(pinned.job_of(model, a.batch * hosts.nhosts, "f32", a.steps))
        ranks = hosts.run(1, [f"{a.build}/tutti", "train", str(job), "--out", str(out), "--quiet", *SETTING],
                          {"OMP_NUM_THREADS": "1"}, 560)
        if ranks[0].process.returncode:
            sys.exit(f"tutti: {ranks[0].text}")
        return runs.step_ms(out, pinned.WARMUP)


def torch_ms(hosts: lab.Lab, a: argparse.Namespace, model: str) -> float:
    command = [f"{a.build}/peers/bin/python", str(BENCH / "train/torch_train.py"), model, str(a.batch), "f32", "channels_last",
               str(a.steps)]
    ranks = hosts.run(1, command, {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "eth0"}, 560)
    if ranks[0].process.returncode:
        sys.exit(f"PyTorch: {ranks[0].text}")
    return statistics.median(json.loads(ranks[0].text.splitlines()[-1])["ms"])


def measure(a: argparse.Namespace, table: Table, model: str) -> None:
    nbytes = 4 * sum(p.numel() for p in torch_models.load(model).in_place().parameters())
    with lab.Lab(1) as alone:
        single, torch_single = tutti_ms(alone, a, model), torch_ms(alone, a, model)
    with lab.Lab(2, a.rate) as hosts:
        rate = run_hosts.stream_rate(hosts, 40_000_000)
        both, torch_both = tutti_ms(hosts, a, model), torch_ms(hosts, a, model)
    moving = 1e3 * nbytes / rate
    case = f"{model} b{a.batch} a rank"
    table.row(f"{case}, one host", "ms", single, "PyTorch, channels_last", torch_single)
    table.row(f"{case}, two hosts", "ms", both, "DDP over gloo", torch_both, max(single, moving))
    table.row(f"{case}, exposed", "ms", both - single, "DDP over gloo", torch_both - torch_single, max(0.0, moving - single))
    print(f"{model}: {nbytes / 1e6:.1f} MB of gradients take {moving:.0f} ms at {8e-6 * rate:.1f} Mbit/s of payload")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--models", default="resnet50,alexnet-torch")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rate", default="300mbit")
    parser.add_argument("--json")
    a = parser.parse_args()
    lab.skip_unless_possible()
    table = Table("train_hosts", a.json)
    for model in a.models.split(","):
        measure(a, table, model)


if __name__ == "__main__":
    main()
