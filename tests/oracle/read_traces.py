# SPDX-License-Identifier: Apache-2.0
"""read_traces.py PROGRAM [PYTHON]: has a small run traced, torn and resumed, and lets the real readers judge what it
wrote: event files by TensorBoard's EventAccumulator, trace.json by a JSON schema and by what a thread of spans must
be, layers.txt by Python's csv. Needs tensorboard and jsonschema (./dev setup --test); PYTHON, if it is there, is an
interpreter that has them. Without them: exit code 77, saying so."""
import csv
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import interpreter

try:
    import jsonschema
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as missing:
    interpreter.go_on_elsewhere(missing, 2, "./dev setup --test")

STEPS, TRACED, WARMUP, RANKS = 12, 3, 2, 2
JOB = f"""model: lenet
data: {{set: digits, train_samples: 256, test_samples: 100}}
batch: 32
steps: {STEPS}
log_every: 1
eval_every_epochs: 0.5
checkpoint: {{every_steps: 4, keep: 9}}
exchange: {{bucket_bytes: 64KiB}}
trace: {{steps: {TRACED}, warmup: {WARMUP}}}
optimiser: {{rule: momentum, lr: 0.02, clip_norm: 100}}
"""
TAGS = {"step": {"loss": "train/loss", "lr": "train/lr", "ips": "speed/images_per_s", "step_ms": "speed/step_ms",
                 "comm_ms": "speed/comm_ms"},
        "eval": {"accuracy": "test/accuracy", "loss": "test/loss"}}


def as_float(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


def train(program: str, folder: pathlib.Path) -> None:
    command = [program, "train", folder / "job.yaml", "--ranks", str(RANKS), "--out", folder / "out", "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def check_events(out: pathlib.Path, when: str) -> None:
    """TensorBoard must know exactly the points of metrics.jsonl: the same steps, once each, the same values."""
    want: dict[str, list] = {}
    for line in (out / "metrics.jsonl").read_text().splitlines():
        event = json.loads(line)
        for key, tag in TAGS.get(event["ev"], {}).items():
            want.setdefault(tag, []).append((event["step"], as_float(event[key])))
        if event["ev"] == "sparsity":
            want.setdefault(f"sparsity/{event['relu']}", []).append((event["step"], as_float(event["sparsity"])))
    reader = EventAccumulator(str(out), size_guidance={"scalars": 0})
    reader.Reload()
    assert sorted(reader.Tags()["scalars"]) == sorted(want), (when, reader.Tags()["scalars"])
    for tag, points in want.items():
        have = [(p.step, p.value) for p in reader.Scalars(tag)]
        assert have == points, f"{when}: {tag}: {have} instead of {points}"
    print(f"{when}: {sum(map(len, want.values()))} points of {len(want)} tags as in metrics.jsonl")


def tear_and_go_back(out: pathlib.Path) -> None:
    """As if killed while a record was written, after step 8 was saved."""
    (events,) = out.glob("events.out.tfevents.*")
    with open(events, "r+b") as file:
        file.truncate(events.stat().st_size - 7)
    shutil.rmtree(out / "checkpoints/step_000000012")


def check_thread(spans: list[dict], where: tuple) -> None:
    """Spans of a thread follow or enclose one another. Times are whole nanoseconds."""
    open_ends: list[int] = []
    for span in sorted(spans, key=lambda s: (s["ts"], -s["dur"])):
        begin, end = round(1000 * span["ts"]), round(1000 * span["ts"]) + round(1000 * span["dur"])
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], f"{where}: {span['name']} overlaps"
        open_ends.append(end)


def check_trace(out: pathlib.Path, first: int) -> None:
    trace = json.loads((out / "trace.json").read_text())
    schema = json.loads((pathlib.Path(__file__).parent / "chrome_trace.schema.json").read_text())
    jsonschema.validate(trace, schema)
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    named = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["name"] == "thread_name"}
    threads: dict[tuple, list] = {}
    for span in spans:
        threads.setdefault((span["pid"], span["tid"]), []).append(span)
    assert set(threads) == named
    for where, on_it in threads.items():
        check_thread(on_it, where)
    steps = [(s["pid"], s["name"]) for s in spans if s["name"].startswith("ProfilerStep#")]
    want = [(r, f"ProfilerStep#{n}") for r in range(RANKS) for n in range(first, first + TRACED)]
    assert sorted(steps) == sorted(want), steps
    exchanges = [s for s in spans if "args" in s]
    each_step = [s for s in exchanges if s["args"]["Collective name"] != "gather"]  # that is for a checkpoint
    assert len(each_step) % (RANKS * TRACED) == 0 and each_step, len(each_step)
    assert {s["args"]["dtype"] for s in each_step} == {"Float", "Long"}, each_step  # gradients, weights; verdict and norm
    for s in exchanges:
        larger, smaller = sorted((s["args"]["In msg nelems"], s["args"]["Out msg nelems"]), reverse=True)
        shares = 1 if s["args"]["Collective name"] == "allreduce" else RANKS
        assert abs(larger - shares * smaller) < shares, s
    print(f"trace.json: {len(spans)} spans on {len(threads)} threads, {len(exchanges)} exchanges")


def check_layers(out: pathlib.Path) -> None:
    with open(out / "layers.txt", newline="") as file:
        lines = file.read().splitlines()
    rows = list(csv.DictReader([line for line in lines if not line.startswith("#")], delimiter="\t"))
    notes = {key: values for key, *values in (line.split()[1:] for line in lines if line.startswith("#"))}
    rates, spread = {key: values[0] for key, values in notes.items()}, [float(value) for value in notes["step_spread"]]
    assert 0 < float(rates["load_s_per_sample"]) < 1, rates
    assert len(spread) == RANKS * TRACED and spread == sorted(spread) and abs(sum(spread) / len(spread) - 1) < 1e-4, spread
    assert [r["Id"] for r in rows] == [str(i) for i in range(len(rows))]
    sizes = {r["Name"]: int(r["Size"]) for r in rows}
    assert sizes["conv1"] == 4 * (20 * 25 + 20) and sizes["fc2"] == 4 * (500 * 10 + 10), sizes
    assert all(float(r["Forward"]) > 0 for r in rows)
    assert all(float(r["Comm"]) == 0 for r in rows if int(r["Size"]) == 0), rows
    assert sum(float(r["Comm"]) for r in rows) > 0, rows
    print(f"layers.txt: {len(rows)} layers, {sum(sizes.values())} bytes")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        out = folder / "out"
        (folder / "job.yaml").write_text(JOB)
        train(sys.argv[1], folder)
        check_events(out, "whole run")
        check_trace(out, WARMUP + 1)
        check_layers(out)
        tear_and_go_back(out)
        train(sys.argv[1], folder)
        assert len(list(out.glob("events.out.tfevents.*"))) == 2
        check_events(out, "torn and resumed")
        check_trace(out, STEPS - TRACED + 1)
    return 0


sys.exit(main())
