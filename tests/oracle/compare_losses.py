# SPDX-License-Identifier: Apache-2.0
"""compare_losses.py PROGRAM SOURCE: trains the shipped models for 20 steps as train_golden.py did with PyTorch, and holds each
step's loss against the golden file: 1e-4 relative. Needs nothing but Python: safetensors is eight bytes of length, JSON, data."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

TOLERANCE = 1e-4
JOB = """model: {model}
data: {{set: idx, path: {data}}}
batch: 32
steps: 20
seed: 7
log_every: 1
eval_every_epochs: 0
kernels: {kernels}
ranks: {ranks}
{extra}
optimiser: {{rule: momentum, lr: 0.02, momentum: 0.9, weight_decay: 0.0001}}
"""


def golden(path: pathlib.Path) -> list[float]:
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    begin, end = json.loads(raw[8:8 + length])["losses"]["data_offsets"]
    return [v[0] for v in struct.iter_unpack("<f", raw[8 + length + begin:8 + length + end])]


def run(program: str, folder: pathlib.Path, **values) -> list[float]:
    job = folder / "job.yaml"
    job.write_text(JOB.format(**values))
    out = folder / "out"
    subprocess.run([program, "train", job, "--out", out, "--fresh", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    events = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [e["loss"] for e in events if e["ev"] == "step"]


def main() -> int:
    program, source = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    folder = source / "tests/golden/train"
    bad = 0
    cases = [(m, k, 1, "") for m in ("mlp", "lenet", "convnet-bn") for k in ("onednn", "reference")]
    # batch norm sees a rank's share, so only nets without it can be the same at two ranks
    cases += [(m, "onednn", 2, e) for m in ("mlp", "lenet") for e in ("", "reduction: canonical\nslots: 4")]
    for model, kernels, ranks, extra in cases:
        with tempfile.TemporaryDirectory() as scratch:
            ours = run(program, pathlib.Path(scratch), model=model, kernels=kernels, ranks=ranks, extra=extra,
                       data=folder / "digits32")
        theirs = golden(folder / f"{model}.safetensors")
        worst = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs)) if len(ours) == len(theirs) else float("inf")
        verdict = "ok" if worst <= TOLERANCE else "WRONG"
        bad += verdict != "ok"
        name = "canonical" if extra else "fast"
        print(f"{model:10} {kernels:9} {ranks} ranks {name:9} worst relative difference {worst:.1e}  {verdict}")
    print(f"{len(cases) - bad} passed, {bad} failed")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
