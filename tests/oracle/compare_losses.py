# SPDX-License-Identifier: Apache-2.0
"""compare_losses.py PROGRAM SOURCE [MODEL...]: trains for 20 steps what train_golden.py trained with PyTorch, and holds each step's
loss against the golden file: 1e-4 relative in f32; in 16 bits what TOLERANCE says. Needs nothing but Python: safetensors is eight bytes of length, JSON, data."""
import concurrent.futures
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import golden_samples

TOLERANCE = {"f32": 1e-4, "f16": 5e-2, "bf16": 5e-2}  # AlexNet with batch norm differs most, others by 2e-3 at most
ON_DIGITS = ("mlp", "lenet", "convnet-bn")  # shipped models as they are, on digits32; the others are narrow files
JOB = """model: {model}
data: {{set: idx, path: {data}}}
batch: {batch}
steps: 20
seed: 7
log_every: 1
eval_every_epochs: 0
kernels: {kernels}
precision: {precision}
ranks: {ranks}
{extra}
optimiser: {{rule: momentum, lr: {lr}, momentum: 0.9, weight_decay: 0.0001}}
"""


def golden(path: pathlib.Path, ranks: int) -> tuple[list[float], str]:
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    head = json.loads(raw[8:8 + length])
    begin, end = head[f"losses_{ranks}"]["data_offsets"]
    return [v[0] for v in struct.iter_unpack("<f", raw[8 + length + begin:8 + length + end])], head["__metadata__"]["lr"]


def run(program: str, folder: pathlib.Path, **values) -> list[float]:
    job = folder / "job.yaml"
    job.write_text(JOB.format(**values))
    out = folder / "out"
    subprocess.run([program, "train", job, "--out", out, "--fresh", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    events = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [e["loss"] for e in events if e["ev"] == "step"]


def cases(model: str) -> list[tuple[str, int, str, str]]:
    """Engine, ranks, precision, more keys. With canonical sums batch norm sees a slot, and two slots are what PyTorch's two ranks saw."""
    canonical = "reduction: canonical\nslots: 2"
    more = [("onednn", 1, "f32", canonical)] if model in ON_DIGITS else []
    half = [("onednn", 1, precision, "") for precision in ("f16", "bf16")]
    return [("onednn", 1, "f32", ""), ("onednn", 2, "f32", ""), ("reference", 1, "f32", ""), *more, *half]


def data_of(model: str, folder: pathlib.Path, scratch: pathlib.Path) -> dict:
    """The keys of a job that say what is trained on what."""
    if model in ON_DIGITS:
        return {"model": model, "data": folder / "digits32", "batch": 32}
    file = folder / f"{model}.yaml"
    shape = next(line for line in file.read_text().splitlines() if line.startswith("input: "))
    golden_samples.write(scratch, json.loads(shape.removeprefix("input: ")))
    return {"model": file, "data": scratch, "batch": golden_samples.SAMPLES}


def compare(program: str, folder: pathlib.Path, model: str) -> list[tuple[str, str, float]]:
    """Each case, its precision, and its worst relative difference."""
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        keys = data_of(model, folder, pathlib.Path(scratch))
        for kernels, ranks, precision, extra in cases(model):
            theirs, lr = golden(folder / f"{model}.safetensors", 2 if extra else ranks)
            ours = run(program, pathlib.Path(scratch), kernels=kernels, ranks=ranks, precision=precision, extra=extra, lr=lr, **keys)
            worst = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs)) if len(ours) == len(theirs) else float("inf")
            name = f"{model:16} {kernels:9} {ranks} ranks {'canonical' if extra else 'fast':9} {precision:4}"
            found.append((name, precision, worst))
    return found


def main() -> int:
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve() / "tests/golden/train"
    models = sys.argv[3:] or sorted(p.stem for p in folder.glob("*.safetensors"))
    wrong = ran = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda model: compare(program, folder, model), models):
            for case, precision, worst in found:
                is_wrong = not worst <= TOLERANCE[precision]
                wrong, ran = wrong + is_wrong, ran + 1
                print(f"{case} worst relative difference {worst:.1e}  {'WRONG' if is_wrong else 'ok'}", flush=True)
    print(f"{ran - wrong} passed, {wrong} failed")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
