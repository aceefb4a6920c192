# SPDX-License-Identifier: Apache-2.0
"""run_allreduce.py: allreduce on this host: tutti over shm, Open MPI, and the memory bound, in turn (see run). A first pass finds
the best setting of Open MPI and the best algorithm of ours for each size; more ranks than cores are shown as oversubscription.
Neither side touches its vectors between iterations (as in the OSU and NCCL benchmarks), which favours who reads peers' memory
in place: lines that nobody rewrites stay in the reader's cache. From 16 MB up no cache holds them and it makes no difference."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from table import Table  # noqa: E402

ALGORITHMS = ["direct", "one-shot"]
UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "": 1}
TUNED = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm"]
SETTINGS = {
    "default": [],
    "bound to cores": ["--bind-to", "core"],
    "pml ucx": ["--mca", "pml", "ucx"],
    "no single copy": ["--mca", "btl_vader_single_copy_mechanism", "none"],
    "recursive doubling": TUNED + ["3"],
    "ring": TUNED + ["4"],
    "Rabenseifner": TUNED + ["6"],
}


def in_bytes(text: str) -> int:
    number = text.rstrip("KMGiB")
    return int(float(number) * UNITS[text[len(number):]]) // 4 * 4


def build_peer(build: pathlib.Path) -> pathlib.Path:
    program = build / "bench" / "mpi_allreduce"
    program.parent.mkdir(parents=True, exist_ok=True)
    source = pathlib.Path(__file__).parent / "mpi_allreduce.c"
    subprocess.run(["mpicc", "-O3", "-o", str(program), str(source)], check=True)
    return program


def peer_us(program: pathlib.Path, ranks: int, sizes: list[int], setting: list[str]) -> dict[int, float]:
    """{} where Open MPI cannot do it with this setting (a component that is not there, more ranks than cores to bind to)."""
    command = ["mpirun", "--oversubscribe", "-n", str(ranks)] + setting + [str(program)] + [str(s) for s in sizes]
    if os.geteuid() == 0:
        command.insert(1, "--allow-run-as-root")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return {}
    lines = [line.split() for line in done.stdout.splitlines()]
    return {int(line[0]): float(line[1]) for line in lines if len(line) == 2} if done.returncode == 0 else {}


def ours_us(build: pathlib.Path, ranks: int, sizes: list[int], algorithm: str) -> dict[int, tuple[float, float]]:
    if not sizes:
        return {}
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as rows:
        command = [build / "tutti", "coll", "bench", "--ranks", ranks, "--bytes", ",".join(map(str, sizes)), "--algo", algorithm,
                   "--json", rows.name]
        subprocess.run(map(str, command), check=True, stdout=subprocess.DEVNULL)
        found = {}
        for line in rows:
            row = json.loads(line)
            half = row["out_of_place"]
            found[row["size"]] = (half["time"], half["bound"])
        return found


def fastest(sizes: list[int], scouts: dict[str, dict[int, float]]) -> dict[int, str]:
    """The quickest setting of those that can serve each size."""
    return {size: min((name for name in scouts if size in scouts[name]), key=lambda name: scouts[name][size]) for size in sizes}


def measure(args: argparse.Namespace, table: Table, program: pathlib.Path, version: str, ranks: int) -> None:
    sizes = [in_bytes(text) for text in args.bytes.split(",")]
    setting = fastest(sizes, {name: peer_us(program, ranks, sizes, options) for name, options in SETTINGS.items()})
    small = [size for size in sizes if size <= 10**5]  # one-shot reads every vector whole: hopeless for long ones
    scouts = {name: ours_us(args.build, ranks, sizes if name == "direct" else small, name) for name in ALGORITHMS}
    algorithm = fastest(sizes, {name: {size: times[size][0] for size in times} for name, times in scouts.items()})
    ours, bound, peer = ({size: [] for size in sizes} for _ in range(3))
    for _ in range(args.rounds):
        for name in sorted(set(algorithm.values())):
            for size, times in ours_us(args.build, ranks, [s for s in sizes if algorithm[s] == name], name).items():
                ours[size].append(times[0])
                bound[size].append(times[1])
        for name in sorted(set(setting.values())):
            for size, time in peer_us(program, ranks, [s for s in sizes if setting[s] == name], SETTINGS[name]).items():
                peer[size].append(time)
    cores = len(os.sched_getaffinity(0))
    for text, size in zip(args.bytes.split(","), sizes):
        case = f"{ranks} ranks, {text}, {algorithm[size]}" + (", oversubscribed" if ranks > cores else "")
        table.row(case, "us", statistics.median(ours[size]), f"{version}, {setting[size]}",
                  statistics.median(peer[size]) if peer[size] else None, statistics.median(bound[size]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--bytes", default="1KB,64KB,1MB,16MB,102MB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    version = version.replace("mpirun (", "").replace(")", "")
    print(f"{version}; {len(os.sched_getaffinity(0))} cores; medians of {args.rounds} runs in turn")
    print("ours: `tutti coll bench`, registered regions, out of place; Open MPI: plain memory")
    program, table = build_peer(args.build), Table("allreduce", args.json)
    for ranks in args.ranks.split(","):
        measure(args, table, program, version, int(ranks))


if __name__ == "__main__":
    main()
