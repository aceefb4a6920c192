# SPDX-License-Identifier: Apache-2.0
"""svm_sklearn.py PROGRAM [PYTHON]: models cross-read with the LIBSVM inside scikit-learn: its decision values from a
model that tutti svm-train wrote, and those of tutti svm-predict from a model that scikit-learn trained, both against
the other's. Needs scikit-learn (./dev setup --test); PYTHON, if it is there, is an interpreter that has it. Without
it: exit code 77, saying so."""
import pathlib
import subprocess
import sys
import tempfile

import interpreter

try:
    import numpy as np
    from sklearn.svm import SVC, _libsvm
except ImportError as missing:
    interpreter.go_on_elsewhere(missing, 2, "./dev setup --test")

import svm_exact
import svm_sets
import svm_text

NEAR = 1e-9  # of decisions, relative to the sum of |alpha|
CASES = [("heart_scale", "rbf", ["-c", "100", "-g", "0.1"]), ("heart_scale", "linear", ["-t", "0"]),
         ("heart_scale", "polynomial", ["-t", "1", "-g", "0.1", "-r", "1"]), ("three", "rbf", ["-g", "0.5"])]


def dense(texts: list[str], width: int) -> np.ndarray:
    return svm_exact.rows_of(texts).dense(np.arange(len(texts)), width)


def theirs_of(model: svm_text.Model, texts: list[str]) -> np.ndarray:
    """Decisions of scikit-learn's library for a model that is not its own."""
    width = max(svm_exact.rows_of(rows).width for rows in (model.rows, texts))
    numbers = np.arange(len(model.rows), dtype=np.int32)
    kernel = {"polynomial": "poly"}.get(model.kernel, model.kernel)
    return _libsvm.decision_function(dense(texts, width), numbers, dense(model.rows, width), np.array(model.counts, np.int32),
                                     np.array(model.coef).T.copy(), -np.array(model.rho), np.empty(0), np.empty(0), svm_type=0,
                                     kernel=kernel, degree=model.degree, gamma=model.gamma, coef0=model.coef0)


def ours_of(program: str, data: pathlib.Path, model: pathlib.Path) -> np.ndarray:
    out = model.with_suffix(".decisions")
    subprocess.run([program, "svm-predict", "--decisions", out, data, model, model.with_suffix(".labels")], check=True,
                   stdout=subprocess.DEVNULL)
    return np.loadtxt(out, ndmin=2)


def exported(svc: SVC, data: svm_text.Data) -> svm_text.Model:
    """scikit-learn turns signs of binary problems for its users; what it hides is LIBSVM's."""
    return svm_text.Model("rbf", 3, svc._gamma, 0.0, [int(label) for label in svc.classes_], (-svc._intercept_).tolist(),
                          svc.n_support_.tolist(), svc._dual_coef_.T.tolist(), [data.rows[n] for n in svc.support_])


def compare(what: str, mine: np.ndarray, theirs: np.ndarray, model: svm_text.Model) -> None:
    assert mine.shape == theirs.shape, f"{what}: {mine.shape} and {theirs.shape}"
    worst = np.abs(mine - theirs).max() / np.abs(model.coef).sum()
    print(f"{what:44} {mine.size} decisions, largest difference {worst:.1e} of the sum of alphas", flush=True)
    assert worst <= NEAR, what


def main() -> int:
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        svm_sets.draw_classes(folder / "three", 3, 300, 6)
        svm_sets.place("heart_scale", folder)
        for set_name, kernel, flags in CASES:
            path = folder / "ours.model"
            subprocess.run([program, "svm-train", "-q", *flags, folder / set_name, path], check=True, stdout=subprocess.DEVNULL)
            model, data = svm_text.read_model(path), svm_text.read_data(folder / set_name)
            assert model.kernel == kernel
            compare(f"ours read by scikit-learn, {set_name}, {kernel}", ours_of(program, folder / set_name, path),
                    theirs_of(model, data.rows), model)
        for set_name, gamma in (("heart_scale", 0.1), ("three", 0.5)):
            path, data = folder / "exported.model", svm_text.read_data(folder / set_name)
            svc = SVC(C=10, gamma=gamma, decision_function_shape="ovo")
            x = dense(data.rows, svm_exact.rows_of(data.rows).width)
            svc.fit(x, np.array(data.labels))
            model = exported(svc, data)
            svm_text.write_model(path, model)
            values = svc.decision_function(x)
            binary = len(svc.classes_) == 2
            compare(f"scikit-learn's read by us, {set_name}", ours_of(program, folder / set_name, path),
                    -values[:, None] if binary else values, model)
    return 0


sys.exit(main())
