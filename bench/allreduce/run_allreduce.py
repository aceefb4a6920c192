# SPDX-License-Identifier: Apache-2.0
"""run_allreduce.py: allreduce on this host: tutti over shm, its peers, and the memory bound, in turn (see run). A
first pass finds each peer's best setting and our best algorithm for each size; more ranks than cores are shown as
oversubscription. Neither side touches its vectors between iterations (as in the OSU and NCCL benchmarks), which
favours who reads peers' memory in place: lines that nobody rewrites stay in the reader's cache. From 16 MB up no cache
holds them and it makes no difference.

--busy N keeps N processes beside that do nothing but count, at the ranks' priority: what waiting costs where a
stranger wants a core. The first pass runs beside them too, so that each peer's setting is its best one there."""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import typing

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import allreduce_peers  # noqa: E402
from sizes import in_bytes  # noqa: E402
from table import Table  # noqa: E402

ALGORITHMS = ["direct", "one-shot"]
BEHIND = 0.95  # a ratio below this is more than noise


@contextlib.contextmanager
def strangers(count: int) -> typing.Iterator[None]:
    """Busy processes beside, until the end."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def ours_us(build: pathlib.Path, ranks: int, sizes: list[int], algorithm: str) -> dict[int, tuple[float, float]]:
    if not sizes:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder) / "rows.jsonl"
        command = [build / "tutti", "coll", "bench", "--ranks", ranks, "--bytes", ",".join(map(str, sizes)), "--algo", algorithm,
                   "--json", rows]
        subprocess.run(map(str, command), check=True, stdout=subprocess.DEVNULL)
        halves = {row["size"]: row["out_of_place"] for row in map(json.loads, rows.read_text().splitlines())}
    return {size: (half["time"], half["bound"]) for size, half in halves.items()}


def plain_us(build: pathlib.Path, ranks: int, sizes: list[int]) -> dict[int, float]:
    """Through tutti/comm.h in memory of malloc."""
    return allreduce_peers.times_of([build / "bench/bench_comm", "plain", ranks, "auto", *sizes], allreduce_peers.Setting())


def fastest(sizes: list[int], scouts: dict[str, dict[int, float]]) -> dict[int, str]:
    """The quickest of those that can serve each size."""
    return {size: min((name for name in scouts if size in scouts[name]), key=lambda name: scouts[name][size]) for size in sizes
            if any(size in times for times in scouts.values())}


class Regions:
    """Ours in registered regions; `coll bench` times the bound in turn with it."""
    memory = "region"

    def __init__(self, build: pathlib.Path) -> None:
        self.build = build

    def scout(self, ranks: int, sizes: list[int]) -> None:
        small = [size for size in sizes if size <= 10**5]  # one-shot reads every vector whole: hopeless for long ones
        scouts = {name: ours_us(self.build, ranks, small if name == "one-shot" else sizes, name) for name in ALGORITHMS}
        self.best = fastest(sizes, {name: {size: times[size][0] for size in times} for name, times in scouts.items()})
        self.times, self.bound = {size: [] for size in sizes}, {size: [] for size in sizes}

    def round(self, ranks: int) -> None:
        for name in sorted(set(self.best.values())):
            chosen = [size for size in self.best if self.best[size] == name]
            for size, (time, bound) in ours_us(self.build, ranks, chosen, name).items():
                self.times[size].append(time)
                self.bound[size].append(bound)


class Plain:
    """Ours in plain memory, where the library chooses the algorithm; the bound is that of regions."""
    memory = "plain"

    def __init__(self, build: pathlib.Path) -> None:
        self.build = build

    def scout(self, ranks: int, sizes: list[int]) -> None:
        self.best, self.times = {size: "auto" for size in sizes}, {size: [] for size in sizes}

    def round(self, ranks: int) -> None:
        for size, time in plain_us(self.build, ranks, list(self.times)).items():
            self.times[size].append(time)


class Theirs:
    def __init__(self, peer) -> None:
        self.peer = peer

    def scout(self, ranks: int, sizes: list[int]) -> None:
        self.best = fastest(sizes, {name: self.peer.times(ranks, sizes, setting) for name, setting in self.peer.settings.items()})
        self.times = {size: [] for size in sizes}

    def round(self, ranks: int) -> None:
        for name in sorted(set(self.best.values())):
            chosen = [size for size in self.best if self.best[size] == name]
            for size, time in self.peer.times(ranks, chosen, self.peer.settings[name]).items():
                self.times[size].append(time)


def measure(args: argparse.Namespace, table: Table, peers: list, ranks: int) -> list[str]:
    """The cases in which a peer is ahead."""
    sizes = {in_bytes(text) // 4 * 4: text for text in args.bytes.split(",")}
    cores = len(os.sched_getaffinity(0))
    if ranks > cores:
        print(f"--- {ranks} ranks on {cores} cores: oversubscribed ---")
    regions = Regions(args.build)
    ours, theirs = [regions, Plain(args.build)], [Theirs(peer) for peer in peers]
    for side in ours + theirs:
        side.scout(ranks, list(sizes))
    for _ in range(args.rounds):
        for side in ours + theirs:
            side.round(ranks)
    behind = []
    for size, text in sizes.items():
        for mine in ours:
            for other in theirs:
                name = f"{other.peer.name}, {other.best.get(size, 'cannot')}"
                case = f"{ranks} ranks, {text}, {mine.memory}, {mine.best[size]}"
                own, peer = statistics.median(
                    mine.times[size]), statistics.median(other.times[size]) if other.times[size] else None
                table.row(case, "us", own, name, peer, statistics.median(regions.bound[size]))
                if peer and peer / own < BEHIND:
                    behind.append(f"{case} ({peer / own:.2f} of {other.peer.name})")
    return behind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--bytes", default="1KB,64KB,1MB,16MB,102MB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="processes beside that keep a core busy each")
    parser.add_argument("--json")
    args = parser.parse_args()
    peers = allreduce_peers.found(args.build)
    print(f"{', '.join(peer.name for peer in peers)}; {len(os.sched_getaffinity(0))} cores, "
          f"{args.busy} busy processes beside; medians of {args.rounds} runs in turn")
    print(
        "ours: region = `tutti coll bench` (registered), plain = tutti/comm.h; out of place; peers: plain memory, each "
        "at its best setting of "
        f"{', '.join(str(len(peer.settings)) for peer in peers)}")
    table = Table("allreduce", args.json)
    behind = []
    with strangers(args.busy):
        for ranks in args.ranks.split(","):
            behind += measure(args, table, peers, int(ranks))
    print(f"a peer is ahead by more than 5 %: {', '.join(behind) or 'in no row'}")


if __name__ == "__main__":
    main()
