# SPDX-License-Identifier: Apache-2.0
"""run_simulate.py: time and memory of engines (see run). Rounds: the bound is a budget, 1, 5 and 20 ms. SimGrid: the
peer is a program by hand, CPU time of whole processes (helpers included), in turn; both must say the same time."""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from table import Table  # noqa: E402

BYTES = 100 << 20
STAR = "star,bw=10Gb,lat=5us,soft=0s,add=10GB"  # hand_actors.cc has these figures
BUDGETS = {1024: 1e-3, 4096: 5e-3, 16384: 20e-3}
# as many hosts as ranks, no path is shared in a stage of halving-doubling
TREES = {1024: "fat-tree,leaves=32,hosts=32,spines=32", 4096: "fat-tree,leaves=64,hosts=64,spines=64",
         16384: "fat-tree,leaves=128,hosts=128,spines=128"}
MOST_MIB = 500


def cpu_s() -> float:
    """Of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def engine(build: pathlib.Path, name: str, ranks: int, topology: str, repeats: int) -> dict:
    command = [build / "bench/bench_simulate", name, "halving-doubling", ranks, topology, BYTES, repeats]
    env = dict(os.environ, TUTTI_SIMGRID=str(build / "tutti-simgrid"))
    begin = cpu_s()
    said = json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, env=env).stdout)
    return said | {"cpu_s": cpu_s() - begin}


def by_hand(build: pathlib.Path, ranks: int) -> tuple[float, float]:
    begin = cpu_s()
    said = subprocess.run([build / "bench/hand_actors", str(ranks), str(BYTES)],
                          check=True,
                          capture_output=True,
                          text=True).stdout
    return cpu_s() - begin, float(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    args.build = args.build.resolve()
    table = Table("simulate", args.json)
    for ranks, budget in BUDGETS.items():
        for topology in (STAR, TREES[ranks]):
            said = engine(args.build, "rounds", ranks, topology, 10 * args.rounds)
            table.row(f"rounds, {ranks} ranks, "
                      f"{topology.split(',')[0]}", "ms", 1e3 * said["best_s"], "-", None, 1e3 * budget)
            table.row("  peak memory", "MiB", said["mib"], "-", None, MOST_MIB)
    if not (args.build / "bench/hand_actors").exists():
        print("no SimGrid here: ./dev setup --test brings it")
        return
    for ranks in (256, 1024, 4096):
        ours, peer = [], []
        for _ in range(args.rounds):
            ours.append(engine(args.build, "simgrid", ranks, STAR, 1))
            peer.append(by_hand(args.build, ranks))
        if abs(ours[0]["seconds"] / peer[0][1] - 1) > 1e-6:
            sys.exit(f"FAILED: {ranks} ranks: tutti-simgrid says {ours[0]['seconds']} s, the program by hand "
                     f"{peer[0][1]} s")
        best = min(one[0] for one in peer)
        table.row(f"simgrid, {ranks} ranks, "
                  f"star", "CPU s", min(one["cpu_s"] for one in ours), "by hand", best, 2 * best)
        table.row("  peak memory, tutti and its helper", "MiB", max(one["mib"] + one["helper_mib"] for one in ours),
                  "-", None, MOST_MIB)


if __name__ == "__main__":
    main()
