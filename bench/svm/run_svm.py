# SPDX-License-Identifier: Apache-2.0
"""run_svm.py: training of support vector machines, ours and others', runs in turn, each process on one core with one
thread (see run). Times are of training alone, without reading and starting, except where a row says `process`. Equal
eps need not make models equally good, so objective and violation are recomputed from each model by the same code
(tests/oracle/svm_exact.py)."""
import argparse
import functools
import os
import pathlib
import re
import statistics
import subprocess
import sys

import generate

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "tests/oracle")]
import svm_exact  # noqa: E402
import svm_libsvm  # noqa: E402
import svm_peers  # noqa: E402
import svm_sets  # noqa: E402
import svm_text  # noqa: E402
from table import Table  # noqa: E402

ROUNDING = 1e-6  # an alpha this close to a bound lies there: some of the peers compute in f32
GENERATED = ("1", "0.05")  # C and gamma: the rule is learnt, and LIBSVM is done in minutes


def median(values: list) -> float | None:
    return statistics.median(values) if values else None


def show_worth(who: str, case: svm_peers.Case, model: pathlib.Path) -> None:
    read = svm_text.read_model(model)
    (worth,) = svm_exact.worth(read, svm_text.read_data(case.train), float(case.cost), rounding=ROUNDING)
    accuracy = svm_exact.accuracy(read, svm_text.read_data(case.test))
    print(f"  {case}: objective {worth.objective:.9g}, gap {worth.gap:.6f}, nSV {worth.nsv}, nBSV {worth.bounded}, "
          f"{100 * accuracy:.4f} % of {case.test.name}: {who}", flush=True)


class Bench:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.folder = args, args.build / "bench/svm"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ours, self.cores = svm_peers.Ours(args.build), sorted(os.sched_getaffinity(0))
        self.table = Table("svm", args.json)

    @functools.cache
    def a9a(self) -> list[svm_peers.Case]:
        for name in ("a9a", "a9a.t"):
            (self.folder / name).unlink(missing_ok=True)
        train, test = (svm_sets.place(name, self.folder) for name in ("a9a", "a9a.t"))
        return [svm_peers.Case(train, test, "a9a", c, g) for c, g in (("1", "0.05"), ("10", "0.1"))]

    def generated(self) -> svm_peers.Case:
        path, test = self.folder / "generated", self.folder / "generated.t"
        generate.generate(str(path), str(test))
        return svm_peers.Case(path, test, "200,000 x 500", *GENERATED)

    # ---- parts ----

    def peers(self) -> None:
        """A first pass finds each peer's best setting and counts as a round; LIBSVM's caches are all shown."""
        core, sides = self.cores[-1], [self.ours, *svm_peers.found(self.args.build)]
        for case in self.a9a():
            runs: dict[tuple, list] = {}
            for number in range(self.args.rounds):
                for side in sides:
                    for setting in self.settings_of(side, runs, first=number == 0):
                        run = self.one(side, case, setting, core)
                        if run:
                            runs.setdefault((side, setting), []).append(run)
            self.peer_rows(case, runs)

    def settings_of(self, side, runs: dict, first: bool) -> list[str]:
        """All in the first round, then the best."""
        tried = [setting for setting in side.settings if (side, setting) in runs]
        if first or isinstance(side, svm_peers.Libsvm):
            return list(side.settings) if first else tried
        return sorted(tried, key=lambda setting: runs[side, setting][0].seconds)[:1]

    def model_of(self, side, case: svm_peers.Case, setting: str) -> pathlib.Path:
        return self.folder / re.sub(r"\W+", "_", f"{case} {side.name} {setting} model")

    def one(self, side, case: svm_peers.Case, setting: str, core: int):
        try:
            return side.train(case, setting, core, self.model_of(side, case, setting), self.args.limit)
        except subprocess.TimeoutExpired:
            print(f"  {case}: {side.name}, {setting}: cut off after {self.args.limit:g} s", flush=True)
        except subprocess.CalledProcessError as problem:
            print(f"  {case}: {side.name}, {setting}: {problem}: {(problem.stderr or '').strip()[-300:]}", flush=True)
        return None

    def peer_rows(self, case: svm_peers.Case, runs: dict) -> None:
        mine = runs[self.ours, "default"]
        for (side, setting), theirs in runs.items():
            if side is self.ours or (len(theirs) < self.args.rounds and not isinstance(side, svm_peers.Libsvm)):
                continue  # a setting that was tried once
            who = f"{side.name}, {setting}"
            self.table.row(f"{case}, training", "s", median([r.seconds for r in mine]), who, median([r.seconds for r in theirs]))
            if theirs[0].process:
                self.table.row(f"{case}, process", "s", median([r.process for r in mine]), who,
                               median([r.process for r in theirs]))
        for (side, setting), theirs in runs.items():
            if len(theirs) == self.args.rounds:
                show_worth(f"{side.name}, {setting}", case, self.model_of(side, case, setting))

    def ranks(self) -> None:
        """The bound: two lone trainings side by side, which is what the machine gives two processes, halved."""
        if len(self.cores) < 2:
            print("ranks: skipped, one core")
            return
        for case in self.a9a():
            one, two, beside = [], [], []
            for _ in range(self.args.rounds):
                one.append(self.ours.run(case, [], self.cores[-1:], self.folder / "one.model")[0])
                two.append(self.ours.run(case, [], self.cores[-2:], self.folder / "two.model")[0])
                beside += self.ours.side_by_side(case, self.cores[-2:], self.folder)
            same = (self.folder / "one.model").read_bytes() == (self.folder / "two.model").read_bytes()
            self.table.row(f"{case}, 2 ranks, training", "s", median([r.seconds for r in two]), "tutti, 1 rank",
                           median([r.seconds for r in one]),
                           median(beside) / 2)
            self.table.row(f"{case}, 2 ranks, process", "s", median([r.process for r in two]), "tutti, 1 rank",
                           median([r.process for r in one]))
            print(f"  {case}: the models of 1 and 2 ranks are "
                  f"{'the same, byte by byte' if same else 'NOT THE SAME'}", flush=True)

    def elimination(self) -> None:
        names = svm_libsvm.eliminations(str(self.ours.program))
        for case in self.a9a():
            found: dict[str, list] = {name: [] for name in names}
            for _ in range(self.args.rounds):
                for name in names:
                    found[name].append(
                        self.ours.run(case, svm_libsvm.eliminating(name), self.cores[-1:],
                                      self.folder / "eliminated.model"))
            none = median([run.seconds for run, _, _ in found["none"]])
            for name, runs in found.items():
                self.table.row(f"{case}, {name}", "s", median([run.seconds for run, _, _ in runs]), "none", none)
            for name, runs in found.items():
                run, events, _ = runs[-1]
                print(f"  {case}, {name}: {elimination_words(run, events)}", flush=True)

    def generated_rows(self) -> None:
        case, found = self.generated(), {}
        print(f"  generated: {case}", flush=True)
        for ranks in (1, 2, 4):
            on = [self.cores[n % len(self.cores)] for n in range(ranks)]
            runs = [self.ours.run(case, [], on, self.folder / "generated.model") for _ in range(self.args.rounds)]
            found[ranks] = median([run.seconds for run, _, _ in runs]), max(runs[-1][2])
            shown = f"{case.name}, {ranks} rank{'s' * (ranks > 1)}{', oversubscribed' * (ranks > len(self.cores))}"
            self.table.row(shown, "s", found[ranks][0], "tutti, 1 rank", found[1][0])
            self.table.row(shown, "MiB", found[ranks][1], "tutti, 1 rank", found[1][1])
            print(f"  each rank's largest resident memory: {', '.join(f'{mib:.0f}' for mib in runs[-1][2])} "
                  f"MiB", flush=True)
        shared = 2 * (found[1][1] - found[2][1])
        fixed = found[1][1] - shared
        print(
            f"  memory of 1 and 2 ranks is {fixed:.0f} + {shared:.0f} / ranks MiB: 4 ranks would have "
            f"{fixed + shared / 4:.0f}, and have "
            f"{found[4][1]:.0f}")
        show_worth("tutti", case, self.folder / "generated.model")
        libsvm = next((peer for peer in svm_peers.found(self.args.build) if isinstance(peer, svm_peers.Libsvm)), None)
        run = libsvm and self.one(libsvm, case, "-m 1000", self.cores[-1])
        if run:
            for ranks, (seconds, _) in found.items():
                self.table.row(f"{case.name}, {ranks} rank{'s' * (ranks > 1)}", "s", seconds, f"{libsvm.name}, -m 1000",
                               run.seconds)
            show_worth(f"{libsvm.name}, -m 1000", case, self.model_of(libsvm, case, "-m 1000"))


def elimination_words(run: svm_peers.Run, events: list[dict]) -> str:
    """Kernel values are rows computed, each over the samples that were active then."""
    values = rows = 0
    for event in events:
        values += max(event["kernel_rows"] - rows, 0) * event["active"]
        rows = event["kernel_rows"]
    end = events[-1]
    return (
        f"objective {svm_libsvm.objectives(run.words)[0]:.9g}, {end['iterations']} pairs, {rows} kernel rows = "
        f"{values / 1e6:.0f} M values, "
        f"{end['cached_rows']} rows from the cache, {end['eliminated']} eliminated, {end['reconstructed']} "
        f"reconstructed"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--parts", default="peers,ranks,elimination,generated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=3600, help="seconds after which a peer's training is cut off")
    parser.add_argument("--data", help="the folder of a9a.gz and a9a.t.gz (default: shared/data beside the checkout)")
    parser.add_argument("--json")
    args = parser.parse_args()
    if args.data:
        os.environ["TUTTI_DATA"] = args.data
    bench = Bench(args)
    parts = {"peers": bench.peers, "ranks": bench.ranks, "elimination": bench.elimination, "generated": bench.generated_rows}
    unknown = set(args.parts.split(",")) - set(parts)
    if unknown:
        parser.error(f"--parts: no {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    print(
        f"eps 0.001, a thread a process, {len(bench.cores)} cores; medians of {args.rounds} runs in turn; "
        f"scikit-learn's cache 1000 MB",
        flush=True)
    for name in args.parts.split(","):
        parts[name]()


if __name__ == "__main__":
    main()
