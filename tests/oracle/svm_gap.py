# SPDX-License-Identifier: Apache-2.0
"""svm_gap.py PROGRAM [PYTHON] [--long]: how good the models are that tutti svm-train writes, judged by the written
text alone: svm_exact.py recomputes objective and violation over the whole training set by brute force. The violation
must be below eps, the objective that of LIBSVM's model, recomputed by the same code. Needs libsvm-tools and numpy
(./dev setup --test); PYTHON, if it is there, is an interpreter that has numpy. Without them: exit code 77, saying so.
--long: a9a too."""
import pathlib
import shutil
import sys
import tempfile

import interpreter

try:
    import numpy  # noqa: F401
except ImportError as missing:
    interpreter.go_on_elsewhere(missing, 2, "./dev setup --test")

import svm_exact
import svm_libsvm
import svm_text

CLASSES = {"weights": {1: 2, -1: 0.5}, "three classes, linear, weights": {7: 3}}
ROUNDING = 1.05  # how far above eps the violation may be: kernel values of the trainer are rounded


def cost_of(case: svm_libsvm.Case) -> float:
    return float(dict(zip(case.flags[::2], case.flags[1::2])).get("-c", 1))


def worths(oracle: svm_libsvm.Oracle, case: svm_libsvm.Case, path: pathlib.Path) -> list[svm_exact.Worth]:
    return svm_exact.worth(svm_text.read_model(path), svm_text.read_data(oracle.set(case.train)), cost_of(case),
                           CLASSES.get(case.name))


def check(oracle: svm_libsvm.Oracle, case: svm_libsvm.Case, eps: str, name: str, libsvms: list[svm_exact.Worth]) -> None:
    path, words = oracle.train(case, "-e", eps, *case.block, *svm_libsvm.eliminating(name))
    for n, (mine, theirs) in enumerate(zip(worths(oracle, case, path), libsvms, strict=True)):
        where, limit = f"{case.name}, eps {eps}, {name}, problem {n + 1}", svm_libsvm.OBJECTIVE[eps]
        print(f"{where}: gap {mine.gap:.3e} (LIBSVM {theirs.gap:.3e}) objective {mine.objective:.9g} "
              f"({theirs.objective:.9g}) "
              f"nSV {mine.nsv} ({theirs.nsv}) nBSV {mine.bounded} ({theirs.bounded})", flush=True)
        assert mine.gap <= float(eps) * ROUNDING, f"{where}: gap {mine.gap}"
        assert abs(mine.objective - theirs.objective) <= limit * abs(theirs.objective), where
        said = svm_libsvm.objectives(words)[n]
        assert abs(mine.objective - said) <= limit * abs(said), f"{where}: it said {said}"


def main() -> int:
    if not shutil.which("svm-train"):
        print("skipped: no LIBSVM (./dev setup --test)")
        return 77
    long = "--long" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        oracle = svm_libsvm.Oracle(sys.argv[1], pathlib.Path(folder))
        names = svm_libsvm.eliminations(sys.argv[1])
        for case in [case for case in svm_libsvm.CASES if case.convex] + svm_libsvm.LONG_CASES * long:
            for n, eps in enumerate(svm_libsvm.OBJECTIVE):
                libsvms = worths(oracle, case, oracle.train_theirs(case, eps)[0])
                few = (names[0], "none")
                if case.name == "agaricus":  # its brute force takes seconds: one row at each eps
                    few = few[n:n + 1]
                for name in names if case.name in ("rbf, C 100", "agaricus") and long else few:
                    check(oracle, case, eps, name, libsvms)
    return 0


sys.exit(main())
