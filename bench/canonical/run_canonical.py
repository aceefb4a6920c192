# SPDX-License-Identifier: Apache-2.0
"""run_canonical.py BUILD [--json FILE]: see run. The "peer" is our own fast mode; ratio = fast / canonical."""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import runs  # noqa: E402
from table import Table  # noqa: E402


def step_ms(build: str, ranks: int, settings: list[str]) -> float:
    with tempfile.TemporaryDirectory() as out:
        command = [f"{build}/tutti", "train", ROOT / "examples/lenet.yaml", "--ranks", str(ranks), "--out", out, "--quiet"]
        for setting in ["data.train_samples=12800", "data.test_samples=100", "epochs=1", "log_every=1", *settings]:
            command += ["--set", setting]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return runs.step_ms(out)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--json")
    a = parser.parse_args()
    table = Table("canonical", a.json)
    for ranks in (1, 2):
        for algorithm in ("direct", "halving-doubling"):
            fast, canonical = [], []
            for _ in range(3):
                fast.append(step_ms(a.build, ranks, [f"exchange.algorithm={algorithm}"]))
                canonical.append(step_ms(a.build, ranks, [f"exchange.algorithm={algorithm}", "reduction=canonical",
                                                          "slots=8"]))
            table.row(f"LeNet b64, {ranks} ranks, {algorithm}", "ms/step", statistics.median(canonical), "fast mode",
                      statistics.median(fast))


if __name__ == "__main__":
    main()
