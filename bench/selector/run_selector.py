# SPDX-License-Identifier: Apache-2.0
"""run_selector.py: ways to a product, the tree's choice, and steps of fully connected networks with and without it
(see run)."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(pathlib.Path(__file__).parent)]
import draw_selector  # noqa: E402
from table import Table  # noqa: E402

NEAR = 1.02
STEPS = (("fcn5", 64), ("fcn8", 64))
ROUNDS = 3


class Size:
    def __init__(self, kind: str, sides: list[str], seconds: list[str], chosen: int) -> None:
        self.kind, self.sides, self.seconds, self.chosen = kind, tuple(map(int, sides)), list(map(float, seconds)), chosen

    @property
    def products(self) -> int:
        return self.sides[0] * self.sides[1] * self.sides[2]

    @property
    def best(self) -> float:
        return min(self.seconds)


def measure(build: pathlib.Path, most: float, tune_file: str) -> tuple[list[str], list[Size], dict[str, str]]:
    """Names of the ways, all sizes, and what else is told."""
    command = [str(build / "bench" / "bench_selector"), str(most), tune_file]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    ways, sizes, told = [], [], {}
    for line in text.splitlines():
        word, *rest = line.split()
        if word == "way":
            ways = rest
        elif word in ("grid", "between", "held"):
            sizes.append(Size(word, rest[:3], rest[3:-1], ways.index(rest[-1])))
        else:
            told[word] = " ".join(rest)
    return ways, sizes, told


def report(table: Table, ways: list[str], sizes: list[Size], agree: float) -> None:
    """Each way for all sizes, and the tree's choice, in times of the soonest ways' time."""
    for kind, what in (("grid", "powers of two, learned from"), ("between", "between, learned from"),
                       ("held", "between, not seen")):
        own = [s for s in sizes if s.kind == kind]
        best = sum(s.best for s in own)
        for w, way in enumerate(ways):
            table.row(f"{what}: always {way}", "s", sum(s.seconds[w] for s in own), "the soonest of each", best, best)
        chosen = [s.seconds[s.chosen] for s in own]
        near = sum(t <= NEAR * s.best for t, s in zip(chosen, own))
        table.row(f"{what}: selected", "s", sum(chosen), "the soonest of each", best, best)
        table.row(f"{what}: within 2 % of the soonest", "%", 100 * near / len(own), "all", 100, more_is_better=True)
    table.row("between, not seen: two sweeps agree within 2 %", "%", 100 * agree, "all", 100, more_is_better=True)
    if "nt" in ways:
        nt = ways.index("nt")
        gain = max(s.seconds[nt] / s.seconds[s.chosen] for s in sizes)
        table.row("largest nt / selected", "x", gain, "arXiv 1702.03192, cuBLAS on a GTX "
                                                      "1080", 4.7, more_is_better=True)


def steps(build: pathlib.Path, table: Table, tune_file: str) -> None:
    for model, batch in STEPS:
        command = [str(build / "bench" / "bench_dense_steps"), model, str(batch), tune_file, str(ROUNDS)]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        ms = {name: (float(forward), float(whole), by) for name, forward, whole, *by in map(str.split, lines)}
        for name in ("rule", "tuned"):
            table.row(f"{model}, batch {batch}: forward, "
                      f"{name}", "ms", ms[name][0], "oneDNN's inner product", ms["onednn"][0])
            table.row(f"{model}, batch {batch}: step's kernels, {name}", "ms", ms[name][1], "oneDNN's inner product",
                      ms["onednn"][1])
        print("  " + " ".join(ms["tuned"][2]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--most", type=float, default=2.0**33, help="multiplications of the largest product")
    parser.add_argument("--svg", type=pathlib.Path)
    parser.add_argument("--no-steps", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    table = Table("selector", args.json)
    with tempfile.TemporaryDirectory() as folder:
        tune_file = f"{folder}/here.tune"
        ways, sizes, told = measure(args.build, args.most, tune_file)
        print(f"{told['processor']}, one thread; a choice takes {told['choice']} ns")
        report(table, ways, sizes, float(told["agree"]))
        if args.svg:
            args.svg.write_text(draw_selector.draw(ways, sizes, told["processor"]))
        if not args.no_steps:
            steps(args.build, table, tune_file)


if __name__ == "__main__":
    main()
