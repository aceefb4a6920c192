# SPDX-License-Identifier: Apache-2.0
"""sklearn_train.py plain|intelex dense|csr 32|64 C GAMMA EPS DATA MODEL: scikit-learn's SVC, patched by
scikit-learn-intelex or not, writes LIBSVM's model; the last line is one JSON object: the seconds of fit alone."""
import json
import pathlib
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/oracle"))
import svm_text  # noqa: E402

who, form, bits, cost, gamma, eps, data_path, model_path = sys.argv[1:]
if who == "intelex":
    import sklearnex
    sklearnex.patch_sklearn()
from sklearn.datasets import load_svmlight_file  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

x, y = load_svmlight_file(data_path, dtype=np.float32 if bits == "32" else np.float64)
if form == "dense":
    x = x.toarray()
else:
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)  # wider ones are refused
svc = SVC(C=float(cost), gamma=float(gamma), tol=float(eps), cache_size=1000)
start = time.perf_counter()
svc.fit(x, y)
seconds = time.perf_counter() - start
assert (who == "intelex") == hasattr(svc, "_onedal_estimator"), "patched, but the plain one ran"
coef = svc.dual_coef_.toarray() if hasattr(svc.dual_coef_, "toarray") else svc.dual_coef_
assert coef.shape[0] == 1, "two classes"
# it turns the signs of binary problems: class 1 is the positive one
order = np.argsort(-np.sign(coef[0]), kind="stable")
rows = svm_text.read_data(data_path).rows
model = svm_text.Model("rbf", 3, float(gamma), 0.0, [int(svc.classes_[1]), int(svc.classes_[0])], [-float(svc.intercept_[0])],
                       [int((coef > 0).sum()), int((coef < 0).sum())], [[float(c)] for c in coef[0][order]],
                       [rows[n] for n in svc.support_[order]])
svm_text.write_model(model_path, model)
print(json.dumps({"seconds": seconds}))
