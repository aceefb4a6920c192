#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the lines `worker` and `centre` of metrics.jsonl with what numpy makes of the checkpoints of the same steps:
distances of workers from the centre, and their points in the plane of the picture. Then looks that `tutti report` draws
the picture, and that methods without a centre write no such lines.

usage: tests/oracle/worker_distances.py PROGRAM SOURCE_DIR PYTHON   (PYTHON has numpy)
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

STREAM_PICTURE = 9
RANKS, STEPS = 3, 6
TENSORS = ("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias")
METHODS = {"diloco": 4, "sync-easgd1": 2, "sync-easgd2": 2, "sync-easgd3": 2}  # and their periods


def tutti(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        sys.exit(f"FAILED: {' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


def train(program, source, out, method, *settings):
    keys = ("model=mlp", "epochs=0", f"steps={STEPS}", "batch=48", "data.train_samples=480", "data.test_samples=48",
            "log_every=1", "checkpoint.every_steps=1", f"checkpoint.keep={STEPS + 2}", "kernels.name=reference",
            f"method.name={method}", *settings)
    words = [word for key in keys for word in ("--set", key)]
    return tutti(program, "train", source / "examples/mlp.yaml", "--ranks", RANKS, "--out", out, *words)


def vector(path):
    """All tensors of a safetensors file behind one another, in the order of the model."""
    import numpy
    bytes_ = path.read_bytes()
    length = int.from_bytes(bytes_[:8], "little")
    header = json.loads(bytes_[8:8 + length])
    data, places = bytes_[8 + length:], [header[name]["data_offsets"] for name in TENSORS]
    return numpy.concatenate([numpy.frombuffer(data[begin:end], "<f4") for begin, end in places]).astype("f8")


def axes(count):
    """The two directions, made by the other implementation of our random numbers."""
    import numpy
    import philox
    words = philox.words(0, STREAM_PICTURE, numpy.arange((count + 63) // 64), 0)
    bits = (words[:, :, None] >> numpy.arange(32, dtype="u4")) & 1  # block, word, bit
    signs = 2.0 * bits.reshape(-1, 2, 64).transpose(1, 0, 2).reshape(2, -1)[:, :count] - 1
    return signs / 2**0.5


def compare(out):
    """How many lines agree; numpy knows nothing of them but the checkpoints."""
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    workers = {(line["step"], line["rank"]): line for line in lines if line["ev"] == "worker"}
    centres = {line["step"]: line for line in lines if line["ev"] == "centre"}
    assert len(workers) == RANKS * STEPS and len(centres) == STEPS, (len(workers), len(centres))
    for step in range(1, STEPS + 1):
        place = out / f"checkpoints/step_{step:09d}"
        centre = vector(place / "weights.safetensors")
        plane = axes(len(centre))
        near(plane @ centre, (centres[step]["x"], centres[step]["y"]), f"step {step}, centre")
        for rank in range(RANKS):
            weights = vector(place / f"weights@{rank}.safetensors")
            line = workers[step, rank]
            distance = ((weights - centre) ** 2).sum() ** 0.5
            near((distance, *(plane @ weights)), (line["distance"], line["x"], line["y"]), f"step {step}, rank {rank}")
    return len(workers) + len(centres)


def near(want, have, what):
    for w, h in zip(want, have):
        assert abs(w - h) <= 1e-9 * max(1, abs(w)), f"{what}: {h}, numpy has {w}"


def check_picture(program, out):
    said = tutti(program, "report", out)
    assert "\nworkers   at most " in said, said
    tree = xml.etree.ElementTree.parse(out / "workers.svg")
    moving = [e for e in tree.iter() if e.tag.endswith("circle") and e.get("class").startswith("moves")]
    assert len(moving) == RANKS + 1, len(moving)


def main():
    program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    python = sys.argv[3]
    if "--inside" not in sys.argv:
        if not os.path.exists(python):
            print("skipped: no numpy (./dev setup --test)")
            sys.exit(77)
        sys.exit(subprocess.run([python, __file__, *sys.argv[1:], "--inside"], check=False).returncode)
    sys.path.insert(0, str(source / "tests/oracle"))
    with tempfile.TemporaryDirectory() as folder:
        for method, period in METHODS.items():
            out = pathlib.Path(folder) / method
            train(program, source, out, method, f"method.period={period}")
            print(f"{method}: {compare(out)} lines are what numpy has")
            check_picture(program, out)
        for method in ("sync-sgd", "local-sgd", "easgd"):
            out = pathlib.Path(folder) / method
            train(program, source, out, method)
            text = (out / "metrics.jsonl").read_text(encoding="utf-8")
            assert '"ev":"worker"' not in text and '"ev":"centre"' not in text, method
            assert "\nworkers " not in tutti(program, "report", out) and not (out / "workers.svg").exists(), method
    print("methods without a centre, or with one that workers visit, have no such lines and no such picture")


if __name__ == "__main__":
    main()
