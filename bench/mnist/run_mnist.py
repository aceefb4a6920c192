# SPDX-License-Identifier: Apache-2.0
"""run_mnist.py BUILD [--data DIR] [--rounds N] [--json FILE]: see run."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from runs import events, step_ms  # noqa: E402
from table import Table  # noqa: E402

EPOCHS, BATCH, LR, MOMENTUM, TARGET = 5, 64, 0.02, 0.9, 0.99


def ours(build: str, data: str) -> dict:
    """As the peer: a constant rate, evaluation after each epoch, stop counting at the first that reaches the target."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([f"{build}/tutti", "train", ROOT / "examples/lenet-mnist.yaml", "--ranks", "2", "--out", out, "--quiet",
                        "--set", f"data.path={data}", "--set", "optimiser.schedule=constant"], check=True,
                       stdout=subprocess.DEVNULL)
        evals = [e for e in events(out) if e["ev"] == "eval"]
        middle_ms = step_ms(out)
    reached = [e["seconds"] for e in evals if e["accuracy"] >= TARGET]
    return {"seconds": reached[0] if reached else None, "accuracy": max(e["accuracy"] for e in evals),
            "epochs": len(evals), "step_ms": middle_ms}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--data", default=str(ROOT.parent / "shared/data"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    a = parser.parse_args()
    if not pathlib.Path(a.data).is_dir():
        print(f"skipped: no MNIST in {a.data}; give --data DIR, the folder of its four IDX files")
        return
    mine, peers, version = [], {"contiguous": [], "channels_last": []}, ""
    for _ in range(a.rounds):
        mine.append(ours(a.build, str(pathlib.Path(a.data).resolve())))
        out = subprocess.run([f"{a.build}/peers/bin/python", ROOT / "bench/mnist/ddp_lenet.py", a.data, str(EPOCHS), str(BATCH),
                              str(LR), str(MOMENTUM), str(TARGET)], check=True, capture_output=True, text=True).stdout
        result = json.loads(out.splitlines()[-1])
        version = result.pop("torch")
        for name, run in result.items():
            peers[name].append(run)
    table = Table("mnist", a.json)

    def middle(runs: list, key: str):
        values = [r[key] for r in runs if r[key] is not None]
        return statistics.median(values) if values else None

    for name, runs in peers.items():
        peer = f"PyTorch {version} DDP gloo, {name}"
        table.row(f"LeNet b64, seconds to {TARGET:.0%}", "s", middle(mine, "seconds"), peer, middle(runs, "seconds"))
        table.row("LeNet b64, one step", "ms", middle(mine, "step_ms"), peer, middle(runs, "step_ms"))
    print("best test accuracy of each run: ours", [r["accuracy"] for r in mine], "peer",
          [r["accuracy"] for runs in peers.values() for r in runs])


if __name__ == "__main__":
    main()
