# SPDX-License-Identifier: Apache-2.0
"""reaches_accuracy.py PROGRAM JOB.yaml ACCURACY: trains the job as it stands; exit 0 if its last test reached the accuracy."""
import json
import pathlib
import subprocess
import sys
import tempfile


def main() -> int:
    program, job, wanted = sys.argv[1], sys.argv[2], float(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "train", job, "--out", folder, "--fresh", "--quiet"], check=True)
        events = [json.loads(line) for line in (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines()]
    accuracies = [e["accuracy"] for e in events if e["ev"] == "eval"]
    print(f"{job}: test accuracies {accuracies}, wanted {wanted}")
    return not accuracies or accuracies[-1] < wanted


if __name__ == "__main__":
    sys.exit(main())
