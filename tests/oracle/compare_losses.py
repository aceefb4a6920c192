# SPDX-License-Identifier: Apache-2.0
"""compare_losses.py PROGRAM SOURCE [--long] [CASE...]: trains for up to 20 steps what train_golden.py trained with
PyTorch, and holds each step's loss against the golden file (MODEL: SGD with momentum; MODEL.RULE: by that rule; MODEL.clip,
MODEL.local, MODEL.freeze: what its file says): 1e-4 relative in f32, 1e-3 where there is batch norm and the rule is
adamw or products of Winograd may be chosen; in 16 bits what TOLERANCE says. A rule works on gradients, whichever
kernels computed them: without --long, cases of rules train neither with plain loops nor in bf16. Plain loops take half
of the time of this test, so without --long they train the models of BY_PLAIN_LOOPS alone. Needs nothing but Python:
safetensors is eight bytes of length, JSON, data."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import compared
import golden_samples

# Without --long, of a case in f32 on one rank by the chooser's kernels each of 20 steps is compared, of the same with
# other kernels, ranks, types or exchanges, which differ in each step, these. Rounding has grown less by then, and so has
# what a fault does, so they may differ by that much less, but where 16 bits go through a batch norm.
FEW_STEPS, CLOSER = 8, 5
TOLERANCE = {"f32": 1e-4, "f16": 5e-2, "bf16": 5e-2}  # AlexNet with batch norm differs most, others by 2e-3 at most
NORMED = ("convnet-bn", "alexnet-bn")
BY_PLAIN_LOOPS = ("mlp", "lenet", "convnet-bn", "alexnet", "resnet20")  # with pooling, norms of both kinds, additions
ON_DIGITS = ("mlp", "lenet", "convnet-bn")  # shipped models as they are, on digits32; the others are narrow files
JOB = """model: {model}
data: {{set: idx, path: {data}}}
batch: {batch}
steps: {steps}
seed: 7
log_every: 1
eval_every_epochs: 0
kernels: {kernels}
precision: {precision}
ranks: {ranks}
{extra}
{method}
optimiser: {{lr: {lr}, weight_decay: 0.0001, {optimiser}}}
"""


def golden(path: pathlib.Path, ranks: int) -> tuple[list[float], dict]:
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    head = json.loads(raw[8:8 + length])
    begin, end = head[f"losses_{ranks}"]["data_offsets"]
    return [v[0] for v in struct.iter_unpack("<f", raw[8 + length + begin:8 + length + end])], head["__metadata__"]


def run(program: str, folder: pathlib.Path, **values) -> list[float]:
    job = folder / "job.yaml"
    job.write_text(JOB.format(**values))
    out = folder / "out"
    subprocess.run([program, "train", job, "--out", out, "--fresh", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    events = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [e["loss"] for e in events if e["ev"] == "step"]


def cases(model: str, kind: str, long: bool) -> list[tuple[str, int, str, str]]:
    """Engine, ranks, precision, more keys. With canonical sums batch norm sees a slot, and two slots are what
    PyTorch's two
    ranks saw, as two micro-batches are."""
    canonical = "reduction: canonical\nslots: 2"
    more = [("auto", 1, "f32", canonical)] if model in ON_DIGITS and kind != "local" else []
    if kind in ("lars", "lamb"):
        more += [("auto", 1, "f32", "accumulate: 2"), ("auto", 2, "f32", "exchange: {update: replicated}")]
    if kind == "freeze":
        more += [("auto", 1, "f32", "accumulate: 2"), ("auto", 2, "f32", "exchange: {update_when: early}")]
    if model in NORMED and not kind:
        more.append(("onednn", 1, "f32", ""))
    whole = long or not kind
    if long or (not kind and model in BY_PLAIN_LOOPS):
        more.append(("reference", 1, "f32", ""))
    if kind not in ("lars", "lamb"):
        more += [("auto", 1, precision, "") for precision in (("f16", "bf16") if whole else ("f16",))]
    return [("auto", 1, "f32", ""), ("auto", 2, "f32", ""), *more]


def optimiser_of(rule: str, said: dict) -> str:
    """The keys of the rule of a case."""
    if rule == "freeze":
        return "groups: {freeze: {%s}}" % ", ".join(f"{layer}: true" for layer in said["freeze"].split())
    if rule == "lars":
        return f"rule: lars, trust: {said['trust']}"
    if rule in ("adamw", "lamb"):
        return f"rule: {rule}"
    return f"clip_norm: {said.get('clip_norm', 0)}"


def data_of(model: str, folder: pathlib.Path, scratch: pathlib.Path) -> dict:
    """The keys of a job that say what is trained on what."""
    if model in ON_DIGITS:
        return {"model": model, "data": folder / "digits32", "batch": 32}
    file = folder / f"{model}.yaml"
    shape = next(line for line in file.read_text().splitlines() if line.startswith("input: "))
    golden_samples.write(scratch, json.loads(shape.removeprefix("input: ")))
    return {"model": file, "data": scratch, "batch": golden_samples.SAMPLES}


def tolerance(case: str, kernels: str, precision: str, extra: str) -> float:
    """By adamw a weight whose gradient is nothing but rounding moves as far as any other: behind a batch norm that is
    every bias. Winograd's
    sums, which `auto` takes but with canonical ones, round by some 3e-6: behind a batch norm, whose outputs lie around
    zero, that turns a ReLU over, and from there on losses part (convnet-bn on Zen 3: 4e-7 at step 7, 2e-5 at step 9,
    2.6e-4 at step 19; by oneDNN's sums 1.2e-7)."""
    loose = case.split(".")[0] in NORMED and (".adamw" in case or (kernels == "auto" and "canonical" not in extra))
    return 1e-3 if loose and precision == "f32" else TOLERANCE[precision]


def compare(program: str, folder: pathlib.Path, case: str, long: bool) -> list[compared.Found]:
    """Each run of a case, what it may differ by, and its worst relative difference."""
    found = []
    model, _, rule = case.partition(".")
    with tempfile.TemporaryDirectory() as scratch:
        keys = data_of(model, folder, pathlib.Path(scratch))
        for kernels, ranks, precision, extra in cases(model, rule, long):
            theirs, said = golden(folder / f"{case}.safetensors", 2 if extra else ranks)
            allowed = tolerance(case, kernels, precision, extra)
            if not long and (kernels, ranks, precision, extra) != ("auto", 1, "f32", ""):
                theirs = theirs[:FEW_STEPS]
                allowed /= CLOSER if precision == "f32" or model not in NORMED else 1
            ours = run(program,
                       pathlib.Path(scratch),
                       kernels=kernels,
                       ranks=ranks,
                       precision=precision,
                       steps=len(theirs),
                       extra=extra,
                       lr=said["lr"],
                       optimiser=optimiser_of(rule, said),
                       method=f"method: {{name: local-sgd, period: {said['period']}}}" if rule == "local" else "",
                       **keys)
            name = f"{case:16} {kernels:9} {ranks} ranks {extra.partition(':')[0] or 'fast':10} {precision:4}"
            found.append((name, allowed, compared.worst(ours, theirs)))
    return found


def main() -> int:
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve() / "tests/golden/train"
    long = "--long" in sys.argv[3:]
    all_cases = [name for name in sys.argv[3:] if name != "--long"] or sorted(p.stem for p in folder.glob("*.safetensors"))
    return compared.run_all(lambda case: compare(program, folder, case, long), all_cases)


if __name__ == "__main__":
    sys.exit(main())
