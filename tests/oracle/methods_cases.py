# SPDX-License-Identifier: Apache-2.0
"""methods_cases.py: what methods_golden.py trains with numpy and compare_methods.py with tutti: a small net without
kinks, samples, jobs. Plain Python."""
import hashlib
import pathlib
import struct

RANKS, STEPS, SAMPLES, CLASSES, SIDE, HIDDEN, SEED = 3, 10, 24, 10, 6, 8, 7
LR, DECAY, FALL = 0.4, 0.01, 5  # the rate halves at that step: alpha is by the rate of the step
MODEL = f"""name: small
input: [1, {SIDE}, {SIDE}]
classes: {CLASSES}
layers:
  - flatten
  - dense: {{name: fc1, units: {HIDDEN}}}
  - tanh
  - dense: {{name: fc2, units: {CLASSES}}}
  - softmax-cross-entropy
"""
# By the name of a golden file: the rows of tutti that it is for, their keys, the rule of the workers.
CASES = {
    "elastic": (("sync-easgd1", "sync-easgd2", "sync-easgd3"), {"rho": 0.75}, "sgd"),
    "elastic-momentum": (("sync-easgd1", "sync-easgd2", "sync-easgd3"), {"rho": 0.75, "period": 3}, "momentum"),
    "elastic-adamw": (("sync-easgd1", "sync-easgd2", "sync-easgd3"), {"rho": 20, "period": 2}, "adamw"),
    "round-robin": (("easgd",), {"rho": 0.75}, "sgd"),
    "round-robin-momentum": (("easgd",), {"rho": 0.75, "period": 3}, "momentum"),
    "diloco": (("diloco",), {"period": 4, "outer": {"rate": 0.7, "momentum": 0.9}}, "adamw"),
    "diloco-sgd": (("diloco",), {"period": 1, "outer": {"rate": 0.5, "momentum": 0.25}}, "sgd"),
}
IN_TURNS = (
    "easgd",
)  # rows whose workers meet the centre one after the other; they begin anew where a run is resumed, and are not saved


def lr_of(rule: str) -> float:
    return LR / 20 if rule == "adamw" else LR


def pixels() -> bytes:
    return hashlib.shake_128(b"tutti methods").digest(SAMPLES * SIDE * SIDE)


def labels() -> bytes:
    return bytes((CLASSES - 1 - 3 * i) % CLASSES for i in range(SAMPLES))  # the largest is there: it says how many classes


def write(folder: pathlib.Path) -> None:
    (folder / "small.yaml").write_text(MODEL)
    for split in ("train", "t10k"):
        dims = [SAMPLES, 1, SIDE, SIDE]
        images = bytes([0, 0, 8, len(dims)]) + struct.pack(f">{len(dims)}I", *dims) + pixels()
        (folder / f"{split}-images-idx4-ubyte").write_bytes(images)
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1]) + struct.pack(">I", SAMPLES) + labels())
