# SPDX-License-Identifier: Apache-2.0
"""run_train_hosts.py: median step of two hosts with one rank each, every host held to cores of its own, updates after
the backward pass (late) and beside it (early) in turns with PyTorch's DistributedDataParallel over gloo.

The bound is the longer of computing and of moving. Computing: the step of one host alone, on the same cores. Moving:
in an allreduce of two hosts each sends and receives the gradients once, at the payload rate of a plain TCP stream on
the same link. Two hosts that are namespaces share one memory: what that costs, without any exchange, is shown beside
(both at once), and is part of what is exposed (see run)."""
import argparse
import concurrent.futures
import contextlib
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

# What the next step reads first goes first, so that gathers hide behind its forward pass.
SETTING = ["exchange.order=priority", "exchange.bucket_bytes=4MiB"]
WAYS = {"late": [*SETTING, "exchange.update_when=late"], "early": [*SETTING, "exchange.update_when=early"]}
PEER = "DDP over gloo, channels_last"


def held(a: argparse.Namespace, host: int, command: list[str]) -> list[str]:
    """On the cores of that host: as many as a rank has threads."""
    own = pinned.cores()[host * a.threads:(host + 1) * a.threads]
    return ["taskset", "-c", ",".join(map(str, own)), *command]


def run_all(hosts: lab.Lab, a: argparse.Namespace, command: list[str], first: int = 0) -> list[lab.Rank]:
    """A rank on each host; first: of the shares of cores, the first host's."""
    env = {"OMP_NUM_THREADS": str(a.threads), "GLOO_SOCKET_IFNAME": "eth0"}
    ranks = hosts.finish(hosts.start(1, command, env, on=lambda host, words: held(a, first + host, words)), 900)
    for rank in ranks:
        if rank.process.returncode:
            sys.exit(f"rank {rank.rank}: {rank.text}")
    return ranks


def tutti_ms(hosts: lab.Lab, a: argparse.Namespace, model: str, settings: list[str], first: int = 0) -> float:
    with tempfile.TemporaryDirectory() as folder:
        job, out = pathlib.Path(folder, "job.yaml"), pathlib.Path(folder, "out")
        job.write_text(pinned.job_of(model, a.batch * hosts.nhosts, "f32", a.steps))
        chosen = [word for s in [f"threads={a.threads}", *settings] for word in ("--set", s)]
        run_all(hosts, a, [f"{a.build}/tutti", "train", str(job), "--out", str(out), "--quiet", *chosen],
                first)
        return runs.step_ms(out, pinned.WARMUP)


def torch_ms(hosts: lab.Lab, a: argparse.Namespace, model: str) -> float:
    command = [f"{a.build}/peers/bin/python", str(BENCH / "train/torch_train.py"), model, str(a.batch), "f32", "channels_last",
               str(a.steps), str(a.threads)]
    return statistics.median(json.loads(run_all(hosts, a, command)[0].text.splitlines()[-1])["ms"])


def both_at_once_ms(a: argparse.Namespace, model: str) -> float:
    """Two hosts that train alone, each on its cores: neither knows of the other."""
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(2) as pool:
        alone = [stack.enter_context(lab.Lab(1, name=str(host))) for host in range(2)]
        return statistics.mean(pool.map(lambda host: tutti_ms(alone[host], a, model, [], first=host), range(2)))


def measure(a: argparse.Namespace, table: Table, model: str) -> None:
    nbytes = 4 * sum(p.numel() for p in torch_models.load(model).in_place().parameters())
    with lab.Lab(1) as alone:
        single, torch_single = tutti_ms(alone, a, model, []), torch_ms(alone, a, model)
    at_once = both_at_once_ms(a, model)
    ms: dict[str, list[float]] = {way: [] for way in [*WAYS, PEER]}
    with lab.Lab(2, a.rate) as hosts:
        moving = 1e3 * nbytes / run_hosts.stream_rate(hosts, 40_000_000)
        for _ in range(a.rounds):
            for way, settings in WAYS.items():
                ms[way].append(tutti_ms(hosts, a, model, settings))
            ms[PEER].append(torch_ms(hosts, a, model))
    case, bound = f"{model} b{a.batch} a host", max(single, moving)
    median = {way: statistics.median(of) for way, of in ms.items()}
    table.row(f"{case}: computing, one alone", "ms", single, "PyTorch, channels_last", torch_single)
    table.row(f"{case}: computing, both at once", "ms", at_once, "-", None)
    table.row(f"{case}: the link alone", "ms", moving, "-", None)
    for way in WAYS:
        table.row(f"{case}: {way} updates", "ms", median[way], PEER, median[PEER], bound)
        table.row(f"{case}: {way}, "
                  f"exposed", "ms", median[way] - single, PEER, median[PEER] - torch_single, bound - single)
        print(f"{case}: {way} updates take {median[way] / bound:.3f} of the bound, "
              f"{median[way] / max(at_once, moving):.3f} of the longer of the link and of both computing at once")
    for way, of in ms.items():
        print(f"{case}: {way}: {' '.join(f'{one:.0f}' for one in of)} ms, a round each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--models", default="resnet50,alexnet-torch")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=4, help="counted, of each run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of a host, on as many cores of its own")
    parser.add_argument("--rate", default="300mbit")
    parser.add_argument("--json")
    a = parser.parse_args()
    if len(pinned.cores()) < 2 * a.threads:
        sys.exit(f"two hosts of {a.threads} threads want {2 * a.threads} cores, here are {len(pinned.cores())}")
    lab.skip_unless_possible()
    table = Table("train_hosts", a.json)
    for model in a.models.split(","):
        measure(a, table, model)


if __name__ == "__main__":
    main()
