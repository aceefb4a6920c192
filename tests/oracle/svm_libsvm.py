# SPDX-License-Identifier: Apache-2.0
"""svm_libsvm.py PROGRAM [--long]: tutti svm-train and svm-predict beside Debian's svm-train and svm-predict, for each
kernel, weights, precomputed kernels, three classes, probabilities: both programs read both models and predict the
same; both trainings end at the same objective, whatever is eliminated and however many ranks there are, and a model
has the same bytes at any number of ranks. Needs Python and libsvm-tools (./dev setup --test); without them exit code
77, saying so. --long: every combination, and a9a as the short run has the others (every row once, ranks in turn: every
combination of 32,561 samples would take hours)."""
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import svm_sets
import svm_text

SAME = 1e-6           # decisions of one model that differ in sign must be nearer to 0 than this
PROBABILITY = 2e-5    # of what is printed with six digits
RANKS = (1, 2, 4)
OBJECTIVE = {"0.001": 1e-4, "1e-06": 1e-6}  # allowed relative difference at this eps


@dataclasses.dataclass
class Case:
    name: str
    train: str
    test: str
    flags: list[str]
    convex: bool = True  # one optimum: models can be compared

    @property
    def block(self) -> list:
        """Of a small set the working set is made a part, or nobody would be eliminated."""
        return ["--block", "32"] if self.train == "heart_scale" else []


CASES = [
    Case("linear", "heart_scale", "heart_scale", ["-t", "0"]),
    Case("poly", "heart_scale", "heart_scale", ["-t", "1", "-g", "0.1", "-r", "1"]),
    Case("rbf", "heart_scale", "heart_scale", []),
    Case("rbf, C 100", "heart_scale", "heart_scale", ["-c", "100", "-g", "0.1"]),
    Case("sigmoid", "heart_scale", "heart_scale", ["-t", "3", "-g", "0.02", "-r", "-0.5"], convex=False),
    Case("weights", "heart_scale", "heart_scale", ["-w1", "2", "-w-1", "0.5"]),
    Case("precomputed", "heart_kernel", "heart_kernel", ["-t", "4"]),
    Case("three classes", "three", "three", ["-g", "0.5"]),
    Case("three classes, linear, weights", "three", "three", ["-t", "0", "-w7", "3"]),
    Case("probabilities", "heart_scale", "heart_scale", ["-b", "1"], convex=False),  # drawn folds differ
    Case("probabilities, three classes", "three", "three", ["-b", "1"], convex=False),
    Case("agaricus", "agaricus", "agaricus.t", []),
]
LONG_CASES = [Case(f"a9a -c {c} -g {g}", "a9a", "a9a.t", ["-c", c, "-g", g]) for c, g in (("1", "0.05"), ("10", "0.1"))]


def run(*command) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr or done.stdout}"
    return done.stdout


def objectives(words: str) -> list[float]:
    return [float(value) for value in re.findall(r"^obj = ([^,]+),", words, re.M)]


def eliminations(program: str) -> list[str]:
    """The rows that `svm-train --help` lists, from the earliest to the laziest, none last."""
    rows = run(program, "svm-train", "--help").partition("elimination, earliest first:\n")[2].splitlines()
    names = [line.split()[0] for line in rows if line.startswith("  ")]
    assert len(names) > 2 and names[-1] == "none", names
    return names


def eliminating(name: str) -> list[str]:
    kind, _, when = name.partition(",")
    return ["--elimination", kind, *(["--threshold", when] if when else [])]


class Oracle:
    def __init__(self, program: str, folder: pathlib.Path) -> None:
        self.program, self.folder, self.trained = program, folder, {}
        svm_sets.draw_classes(folder / "three", 3, 300, 6)

    def set(self, name: str) -> pathlib.Path:
        path = self.folder / name
        if name in svm_sets.SETS:
            svm_sets.place(name, self.folder)
        elif not path.exists():
            self.write_kernel(path)
        return path

    def write_kernel(self, path: pathlib.Path) -> None:
        """exp(-|u - v|^2 / 13) of heart_scale's samples, for -t 4."""
        data = svm_text.read_data(self.set("heart_scale"))
        rows = [svm_text.entries(row) for row in data.rows]
        rbf = svm_text.Model("rbf", 3, 1 / 13, 0, [], [], [], [], [])
        lower = [[f"{svm_text.kernel(rbf, row, other):.8g}" for other in rows[:n]] for n, row in enumerate(rows, 1)]
        path.write_text("".join(f"{label:g} 0:{n + 1} " + " ".join(f"{m + 1}:{lower[max(n, m)][min(n, m)]}"
                                                                   for m in range(len(rows))) + "\n"
                                for n, label in enumerate(data.labels)))

    def train(self, case: Case, *extra) -> tuple[pathlib.Path, str]:
        path = self.folder / "ours.model"
        return path, run(self.program, "svm-train", *case.flags, *extra, self.set(case.train), path)

    def train_theirs(self, case: Case, eps: str) -> tuple[pathlib.Path, str]:
        """Once; with room for its cache, of which a9a's kernel rows need more than the 100 MB that it takes
        otherwise."""
        path = self.folder / f"theirs {case.name} {eps}"
        if path not in self.trained:
            self.trained[path] = run("svm-train", "-m", "1000", *case.flags, "-e", eps, self.set(case.train), path)
        return path, self.trained[path]

    def predictions(self, tool: list, case: Case, model: pathlib.Path) -> tuple[list[list[float]], str]:
        """Each sample's label, and probabilities behind it, if there are any; and what was said."""
        out = self.folder / "predictions"
        b = ["-b", "1"] if "-b" in case.flags else []
        words = run(*tool, *b, self.set(case.test), model, out)
        lines = out.read_text().splitlines()
        head = lines.pop(0) if b else ""
        return [[float(v) for v in line.split()] for line in lines], words + head

    def agree(self, case: Case, model: svm_text.Model, mine: list, theirs: list, near: float, what: str) -> int:
        """Equal labels, but where a decision of the model is nearer to 0 than `near`. How many those are."""
        rows, differ = svm_text.read_data(self.set(
            case.test)).rows, [n for n, (a, b) in enumerate(zip(mine, theirs)) if a[0] != b[0]]
        assert len(mine) == len(theirs) == len(rows), f"{case.name}: {what}: {len(mine)} and {len(theirs)} predictions"
        for n in differ:
            closest = min(map(abs, svm_text.decisions(model, rows[n])))
            assert closest < near, f"{case.name}: {what}: sample {n + 1}: {mine[n][0]} and {theirs[n][0]}, decision {closest}"
        for n, (a, b) in enumerate(zip(mine, theirs)):
            wrong = [(p, q) for p, q in zip(a[1:], b[1:]) if not abs(p - q) <= PROBABILITY]
            assert not wrong, f"{case.name}: {what}: sample {n + 1}: probabilities {wrong}"
        return len(differ)

    def cross_read(self, case: Case) -> None:
        """Both models, each read by both programs."""
        ours, words = self.train(case)
        theirs, their_words = self.train_theirs(case, "0.001")
        found, heard = {}, {}
        for name, path in (("ours", ours), ("theirs", theirs)):
            mine, said = self.predictions([self.program, "svm-predict"], case, path)
            debians, debian_said = self.predictions(["svm-predict"], case, path)
            differ = self.agree(case, svm_text.read_model(path), mine, debians, SAME, f"the model of {name}, read by "
                                                                                      f"both")
            assert differ or said == debian_said, f"{case.name}: {said!r} instead of {debian_said!r}"
            found[name], heard[name] = debians, said.splitlines()[0]
        differ = "-"
        if case.convex:
            differ = self.agree(case, svm_text.read_model(ours), found["ours"], found["theirs"], 10 * 0.001, "both models")
            self.same_objectives(case, "0.001", words, their_words)
            same = "only samples that lie on the border differ" if heard["ours"] != heard["theirs"] else ""
            assert differ or not same, f"{case.name}: {heard}"
        print(f"{case.name:32} {len(found['ours']):6} predictions, {differ} differ between the models  {heard['ours']}",
              flush=True)

    def same_objectives(self, case: Case, eps: str, words: str, their_words: str) -> float:
        mine, theirs = objectives(words), objectives(their_words)
        assert len(mine) == len(theirs) > 0, f"{case.name}: {words}"
        worst = max(abs(a - b) / abs(b) for a, b in zip(mine, theirs))
        assert worst <= OBJECTIVE[eps], f"{case.name}, eps {eps}: objectives {mine}, LIBSVM's {theirs}: {worst:.1e} relative"
        return worst

    def trainings(self, long: bool) -> list[tuple[str, int]]:
        """What is eliminated, and on how many ranks; each row once, and ranks in turn, unless all are wanted."""
        names = eliminations(self.program)
        if long:
            return [(name, ranks) for name in names for ranks in RANKS]
        return [(name, RANKS[n % len(RANKS)]) for n, name in enumerate(names)] + [(names[0], ranks) for ranks in RANKS]

    def same_optimum(self, case: Case, eps: str, long: bool) -> None:
        _, their_words = self.train_theirs(case, eps)
        worst, bytes_of, trainings = 0.0, {}, self.trainings(long)
        if not long and case not in LONG_CASES:  # every other row at this eps, the rest at the other one; ranks at each
            rows, ranks = trainings[:-len(RANKS)], trainings[-len(RANKS):]
            trainings = rows[list(OBJECTIVE).index(eps)::len(OBJECTIVE)] + ranks
        for name, ranks in trainings:
            path, words = self.train(case, "-e", eps, "--ranks", ranks, "--threads", 1, *case.block, *eliminating(name))
            worst = max(worst, self.same_objectives(case, eps, words, their_words))
            text = path.read_bytes()
            assert bytes_of.setdefault(name, text) == text, f"{case.name}: {name}: {ranks} ranks make another model"
        print(
            f"{case.name:32} eps {eps}: {len(trainings)} trainings, objectives within {worst:.1e} of "
            f"LIBSVM's",
            flush=True)


def main() -> int:
    if not shutil.which("svm-train") or not shutil.which("svm-predict"):
        print("skipped: no LIBSVM (./dev setup --test)")
        return 77
    long = "--long" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        oracle = Oracle(sys.argv[1], pathlib.Path(folder))
        for case in CASES + LONG_CASES * long:
            oracle.cross_read(case)
        for case in CASES + LONG_CASES * long:
            if case.name in ("rbf", "rbf, C 100", "agaricus") or case in LONG_CASES:
                for eps in OBJECTIVE:
                    oracle.same_optimum(case, eps, long and case not in LONG_CASES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
