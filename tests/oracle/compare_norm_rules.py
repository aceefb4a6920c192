# SPDX-License-Identifier: Apache-2.0
"""compare_norm_rules.py PROGRAM SOURCE [CASE...]: trains mlp and lenet for 20 steps by the rules that go by norms of
layers, from the start weights of norm_rules.py, with both engines, on one rank and two, and holds each step's loss
against tests/golden/norm_rules (float64, norm_golden.py): 1e-4 relative. Plain loops take two steps behind the fall of
the rate: they take as long as all else together. Needs nothing but Python."""
import json
import pathlib
import subprocess
import sys
import tempfile

import compared
import norm_rules

TOLERANCE = 1e-4
JOB = """model: {model}
data: {{set: idx, path: {data}, train_samples: {samples}}}
batch: {samples}
steps: {steps}
init: {{from: {start}}}
log_every: 1
eval_every_epochs: 0
kernels: {kernels}
ranks: {ranks}
{extra}
optimiser: {{lr: {lr}, weight_decay: {decay}, schedule: step, milestones: [{fall_at}], gamma: {fall}, {rule}}}
"""
RUNS = [("auto", 1, ""), ("auto", 2, ""), ("reference", 1, ""), ("auto", 2, "exchange: {update: replicated}"),
        ("auto", 2, "reduction: canonical\nslots: 4")]


def rule_keys(case: str) -> str:
    _, rule, keys, _ = norm_rules.CASES[case]
    if rule is norm_rules.Lamb:
        return "rule: lamb"
    return f"rule: lars, trust: {keys['eta']}, scaled_momentum: {str(keys['scaled']).lower()}"


def write_start(model: str, path: pathlib.Path) -> None:
    shape = {name: norm_rules.SHAPES[model][name.partition(".")[0]] for name in norm_rules.start(model)}
    path.write_bytes(norm_rules.safetensors({name: (shape[name] if name.endswith("weight") else shape[name][:1], values)
                                             for name, values in norm_rules.start(model).items()}, {}))


def run(program: str, source: pathlib.Path, scratch: pathlib.Path, case: str, kernels: str, ranks: int,
        steps: int, extra: str) -> list[float]:
    model, _, _, lr = norm_rules.CASES[case]
    out, job = scratch / "out", scratch / "job.yaml"
    write_start(model, scratch / "start.safetensors")
    job.write_text(
        JOB.format(model=model,
                   data=source / "tests/golden/train/digits32",
                   samples=norm_rules.SAMPLES,
                   steps=steps,
                   start=scratch / "start.safetensors",
                   kernels=kernels,
                   ranks=ranks,
                   extra=extra,
                   lr=lr,
                   decay=norm_rules.DECAY,
                   fall_at=norm_rules.FALL_AT,
                   fall=norm_rules.FALL,
                   rule=rule_keys(case)))
    subprocess.run([program, "train", job, "--out", out, "--fresh", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    events = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [e["loss"] for e in events if e["ev"] == "step"]


def compare(program: str, source: pathlib.Path, case: str) -> list[compared.Found]:
    """Each run of a case, and its worst relative difference."""
    theirs = json.loads((source / f"tests/golden/norm_rules/{case}.json").read_text())
    found = []
    for kernels, ranks, extra in RUNS:
        steps = norm_rules.FALL_AT + 2 if kernels == "reference" else norm_rules.STEPS
        with tempfile.TemporaryDirectory() as scratch:
            ours = run(program, source, pathlib.Path(scratch), case, kernels, ranks, steps, extra)
        found.append((f"{case:18} {kernels:9} {ranks} ranks {extra.split(chr(10))[0]:29}", TOLERANCE,
                      compared.worst(ours, theirs[:steps])))
    return found


def main() -> int:
    program, source = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    return compared.run_all(lambda case: compare(program, source, case), sys.argv[3:] or norm_rules.CASES)


if __name__ == "__main__":
    sys.exit(main())
