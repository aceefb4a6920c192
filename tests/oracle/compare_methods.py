# SPDX-License-Identifier: Apache-2.0
"""compare_methods.py PROGRAM SOURCE: trains each case of methods_cases.py by every row that it is for, three ranks,
ten steps, and holds the loss of each step, the centre, the weights of every worker and what the outer rule keeps
against what methods_golden.py made of the papers' formulas in float64: 1e-5 relative in losses, 1e-5 of the largest
weight in weights (3e-7 was seen). Needs nothing but Python."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import methods_cases as cases

LOSS = WEIGHT = 1e-5
JOB = """model: {folder}/small.yaml
data: {{set: idx, path: {folder}}}
batch: {batch}
steps: {steps}
seed: {seed}
log_every: 1
eval_every_epochs: 0
ranks: {ranks}
checkpoint: {{every_steps: {save}}}
method: {method}
optimiser: {{rule: {rule}, lr: {lr}, weight_decay: {decay}, schedule: step, milestones: [{fall}], gamma: 0.5}}
"""


def tensors(path: pathlib.Path) -> dict[str, list[float]]:
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    head = json.loads(raw[8:8 + length])
    spans = {name: t["data_offsets"] for name, t in head.items() if name != "__metadata__"}
    return {name: [v for v, in struct.iter_unpack("<f", raw[8 + length + a:8 + length + b])] for name, (a, b) in spans.items()}


def run(program: str, folder: pathlib.Path, row: str, keys: dict, rule: str) -> dict[str, list[float]]:
    """What it has at the end, under the golden file's names. Workers that take steps of their own meet where something
    is saved: here in each
    step, so that its line has the losses of that step and no other."""
    out = folder / "out"
    (folder / "job.yaml").write_text(
        JOB.format(folder=folder,
                   batch=cases.SAMPLES,
                   steps=cases.STEPS,
                   seed=cases.SEED,
                   ranks=cases.RANKS,
                   method=json.dumps({
                       "name": row,
                       **keys
                   }).replace('"', ""),
                   rule=rule,
                   lr=cases.lr_of(rule),
                   decay=cases.DECAY,
                   fall=cases.FALL,
                   save=1 if row in cases.IN_TURNS else 1000))
    subprocess.run([program, "train", folder / "job.yaml", "--out", out, "--fresh", "--quiet"],
                   check=True,
                   stdout=subprocess.DEVNULL)
    events = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    found = {"losses": [e["loss"] for e in events if e["ev"] == "step"]}
    for file in (out / f"checkpoints/step_{cases.STEPS:09d}").glob("*.safetensors"):
        found |= {f"{file.stem}: {name}": values for name, values in tensors(file).items()}
    return found


def worst(have: dict, want: dict) -> tuple[float, float]:
    """Of losses and of weights."""
    if any(name not in have or len(have[name]) != len(want[name]) for name in want):
        return float("inf"), float("inf")
    loss = max(abs(a - b) / abs(b) for a, b in zip(have["losses"], want["losses"]))
    largest = max(abs(v) for name, values in want.items() if name.startswith("weights:") for v in values)
    weight = max(abs(a - b) for name in want if name != "losses" for a, b in zip(have[name], want[name]))
    return loss, weight / largest


def main() -> int:
    program, golden = sys.argv[1], pathlib.Path(sys.argv[2]).resolve() / "tests/golden/methods"
    wrong = ran = 0
    with tempfile.TemporaryDirectory() as scratch:
        cases.write(pathlib.Path(scratch))
        for name, (rows, keys, rule) in cases.CASES.items():
            want = tensors(golden / f"{name}.safetensors")
            for row in rows:
                loss, weight = worst(run(program, pathlib.Path(scratch), row, keys, rule), want)
                is_wrong = not (loss <= LOSS and weight <= WEIGHT)
                wrong, ran = wrong + is_wrong, ran + 1
                print(
                    f"{name:18} {row:12} {rule:9} worst of losses {loss:.1e}, of weights {weight:.1e}  "
                    f"{'WRONG' if is_wrong else 'ok'}",
                    flush=True)
    print(f"{ran - wrong} passed, {wrong} failed")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
