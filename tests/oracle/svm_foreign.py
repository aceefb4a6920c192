# SPDX-License-Identifier: Apache-2.0
"""svm_foreign.py PROGRAM [PYTHON]: files as scikit-learn's dump_svmlight_file writes them, columns from 0 (its
default) and from 1, with and without comments: tutti svm-train and LIBSVM's svm-train end at the same objective, and
each predicts the same labels by both models. LIBSVM takes no comments, so it gets the same file without them. Needs
scikit-learn and libsvm-tools (./dev setup --test); without them exit code 77, saying so."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import interpreter

try:
    import numpy as np
    from sklearn.datasets import dump_svmlight_file
except ImportError as missing:
    interpreter.go_on_elsewhere(missing, 2, "./dev setup --test")


def run(*command) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr or done.stdout}"
    return done.stdout


def objective(words: str) -> float:
    return float(re.search(r"^obj = ([^,]+),", words, re.M).group(1))


def draw(seed: int, rows: int, columns: int):
    r = np.random.default_rng(seed)
    x = np.where(r.random((rows, columns)) < 0.6, r.normal(size=(rows, columns)).round(3), 0)
    return x, np.where(x[:, 0] + x[:, -1] + 0.3 * r.normal(size=rows) > 0, 1, -1)


def main() -> int:
    program = sys.argv[1]
    if not shutil.which("svm-train"):
        print("libsvm-tools is not here: ./dev setup --test brings it")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data, plain = folder / "data", folder / "plain"
        for seed, zero_based, comment, flags in ((1, True, None, []), (2, True, "drawn", ["-t", "0"]),
                                                 (3, False, "drawn", ["-g",
                                                                      "0.5"]), (4, True, None, ["-t", "1", "-r", "1"]),
                                                 (5, True, "two\nlines", ["-t", "3", "-g", "0.05"])):
            x, y = draw(seed, 120, 7)
            dump_svmlight_file(x, y, str(data), zero_based=zero_based, comment=comment)
            plain.write_text("".join(line + "\n" for line in data.read_text().splitlines() if not line.startswith("#")))
            ours = run(program, "svm-train", *flags, "-e", "1e-6", data, folder / "ours")
            theirs = run("svm-train", *flags, "-e", "1e-6", plain, folder / "theirs")
            assert abs(objective(ours) - objective(theirs)) <= 1e-6 * abs(objective(theirs)), f"{flags}: {ours} {theirs}"
            for model in ("ours", "theirs"):
                run(program, "svm-predict", "-q", data, folder / model, folder / "a")
                run("svm-predict", plain, folder / model, folder / "b")
                assert (folder / "a").read_text() == (folder / "b").read_text(), f"{flags}: labels by the model of {model}"
            print(
                f"columns from {0 if zero_based else 1}, comment {comment!r}, {flags}: objective {objective(ours):g}, "
                f"labels alike",
                flush=True)
    return 0


sys.exit(main())
