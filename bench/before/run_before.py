# SPDX-License-Identifier: Apache-2.0
"""run_before.py BUILD REVISION [--models A,B] [--rounds N] [--threads N] [--json FILE]: see run. The earlier revision
is built in BUILD/before, with the same libraries and compiler. Each round plays every case with both programs, one
after the other, the first one changing; what is printed is the median of the rounds' ratios, its interval of 95 %
(where the rounds are at least six), the lowest and the highest, beside the median times. With --threads above 1 one
rank with that many threads takes the place of the other cases."""
import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import pinned  # noqa: E402
from table import Table  # noqa: E402

# model: batch a rank, steps that are timed in a run
ALONE = {"lenet": (64, 150), "alexnet-torch": (16, 6), "googlenet": (8, 6), "resnet50": (8, 4)}
TOGETHER = {"lenet": (32, 200), "alexnet-torch": (16, 8)}
BYTES = "1KB,64KB,1MB,16MB,102MB"


def build_of(build: str, revision: str) -> str:
    """Where the program of that revision lies, built now unless it is there."""
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--verify", revision + "^{commit}"], check=True, text=True,
                            capture_output=True).stdout.strip()
    place = pathlib.Path(build, "before")
    tree, out, done = place / "tree", place / "build", place / "commit"
    if done.exists() and done.read_text() == commit:
        return str(out)
    shutil.rmtree(place, ignore_errors=True)
    tree.mkdir(parents=True)
    archive = subprocess.run(["git", "-C", ROOT, "archive", commit], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", tree], input=archive, check=True)
    out.mkdir()
    deps = pathlib.Path(build, "deps").resolve()
    for command in (["cmake", "-S", tree, "-B", out, "-G", "Ninja", f"-DTUTTI_DEPS={deps}",
                     "-DTUTTI_TESTS=OFF"], ["ninja", "-C", out]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    done.write_text(commit)
    return str(out)


def in_turn(rounds: int, plays: list) -> list[list[float]]:
    """What each of two plays measured, round by round."""
    times: list[list[float]] = [[], []]
    for i in range(rounds):
        for k in (i % 2, 1 - i % 2):
            times[k].append(plays[k]())
    return times


def tell(table: Table, case: str, unit: str, times: list[list[float]]) -> None:
    new, old = times
    ratios = sorted(b / a for a, b in zip(new, old))
    table.row(case, unit, statistics.median(new), "before", statistics.median(old))
    sure = interval(ratios)
    print(f"    by pairs: {statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
          + (f", 95 %: {sure[0]:.3f} to {sure[1]:.3f}" if sure else ""), flush=True)


def interval(ordered: list[float]) -> tuple[float, float] | None:
    """Where the median of such ratios lies with 95 %, whatever their distribution: the k-th from either end, by the
    sign test."""
    n, k, tail = len(ordered), 0, 0.0
    while tail + math.comb(n, k) / 2**n <= 0.025:
        tail += math.comb(n, k) / 2**n
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k else None


def step(build: str, model: str, batch: int, steps: int, on: list[int], threads: int = 1):
    return lambda: pinned.Tutti(build, model, batch, "f32", steps, on, threads).end().ms


def allreduce_s(build: str, nranks: int) -> dict[str, float]:
    """Size -> microseconds of an allreduce by the row that training takes."""
    with tempfile.TemporaryDirectory() as folder:
        rows = f"{folder}/rows.jsonl"
        subprocess.run([
            f"{build}/tutti", "coll", "bench", "--algo", "direct", "--ranks",
            str(nranks), "--bytes", BYTES, "--json", rows
        ],
                       check=True,
                       stdout=subprocess.DEVNULL)
        with open(rows) as file:
            return {str(row["size"]): row["out_of_place"]["time"] for row in map(json.loads, file)}


def bench_allreduce(table: Table, builds: list[str], rounds: int, nranks: int) -> None:
    plays = [lambda b=b: allreduce_s(b, nranks) for b in builds]
    new, old = in_turn(rounds, plays)
    for size in new[0]:
        tell(table, f"allreduce direct, {nranks} ranks, {size} "
                    f"B", "us", [[run[size] for run in side] for side in (new, old)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("revision")
    parser.add_argument("--models", default=",".join(ALONE))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    args = parser.parse_args()
    cores, models = pinned.cores(), args.models.split(",")
    if not 1 <= args.threads <= len(cores):
        sys.exit(f"--threads {args.threads}: this machine has {len(cores)} cores")
    builds = [args.build, build_of(args.build, args.revision)]
    table = Table("before", args.json)
    if args.threads > 1:
        for model in filter(ALONE.get, models):
            batch, steps = ALONE[model]
            plays = [step(b, model, batch, steps, cores[-args.threads:], args.threads) for b in builds]
            tell(table, f"{model} b{batch}, {args.threads} threads", "ms", in_turn(args.rounds, plays))
        return
    for model in filter(ALONE.get, models):
        batch, steps = ALONE[model]
        plays = [step(b, model, batch, steps, cores[-1:]) for b in builds]
        tell(table, f"{model} b{batch}, one core", "ms", in_turn(args.rounds, plays))
    if len(cores) < 2 or not os.access(f"{builds[0]}/tutti", os.X_OK):
        print("one core: nothing of two ranks")
        return
    for model in filter(TOGETHER.get, models):
        batch, steps = TOGETHER[model]
        plays = [step(b, model, batch, steps, cores[-2:]) for b in builds]
        tell(table, f"{model} b{batch} a rank, 2 ranks", "ms", in_turn(args.rounds, plays))
    bench_allreduce(table, builds, args.rounds, 2)


if __name__ == "__main__":
    main()
