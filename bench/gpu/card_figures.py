# SPDX-License-Identifier: Apache-2.0
"""card_figures.py VERB ...: makes figures of runs for on_card.sh: a line of JSON on standard output. It needs nothing
but Python.

  card                          (no JSON) says why there is no card to measure; says nothing where there is one
  machine                       the machine and its card
  words EV NAME TEXT            a figure that could not be had, and why
  lines EV FILE                 the lines of a file of JSON lines, as figures of a part
  losses NAME CARD CPU          the losses of two runs' folders, step by step
  step NAME FOLDER              the step times of a run's folder
  ipc FILE DEVICE               the figure of a file of tutti coll bench: two ranks on one card
  table FIGURES                 (no JSON) the lines of a file as a table for people; exit code 1: something of ours
  failed or is beyond its bounds"""
import ctypes
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys

UNCOUNTED = 2  # the first figures of a run are no step times: kernels are compiled and a graph is recorded then
# How far losses may be apart. At the first step, where weights are the same, the distance counts by the loss. At any
# step it counts by how far the loss moves in the run, because a loss near that of guessing hardly changes whatever is
# wrong. bench/gpu/NOTES.md says where the numbers come from.
FIRST_BOUNDS = {"f32": 1e-5, "bf16": 2e-3}
BOUNDS = {"mlp": 1e-3, "lenet": 1e-3, "resnet20": 2e-2, "alexnet": 3e-3, "resnet50": 2e-2}


def read_lines(path: str | pathlib.Path) -> list[dict]:
    """The objects of a file of JSON lines. A file that is not there has none: whoever should have written it says so.
    A torn line is left out."""
    found = []
    try:
        text = pathlib.Path(path).read_text()
    except OSError:
        return []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            pass
    return found


def events(folder: str) -> list[dict]:
    """The lines that the run whose folder this is has written about itself."""
    return read_lines(pathlib.Path(folder, "metrics.jsonl"))


def job_of(folder: str) -> dict:
    """The keys that name a case, from the resolved job of a run's folder, which has one a line."""
    try:
        text = pathlib.Path(folder, "job.yaml").read_text()
    except OSError:
        return {}
    found = dict(re.findall(r'^(model|batch|precision|device): "?([^"\n]*)"?$', text, re.M))
    return found | {"batch": int(found.get("batch", 0)), "model": pathlib.Path(found.get("model", "")).stem}


def no_card() -> str:
    """Why the driver has no card, in words; empty where it has one. The driver is asked, as whoever computes asks
    it."""
    count = ctypes.c_int()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as failure:
        return str(failure)
    for call, code in (("cuInit", lambda: driver.cuInit(0)), ("cuDeviceGetCount",
                                                              lambda: driver.cuDeviceGetCount(ctypes.byref(count)))):
        result = code()
        if result:
            return f"{call}: error {result} of the driver"
    return "" if count.value else "the driver has none"


def ask_cards(query: str) -> list[str]:
    """The answer of nvidia-smi, a line a card. OSError, subprocess.TimeoutExpired: the program is not there, or it
    hangs."""
    done = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"],
                          capture_output=True,
                          text=True,
                          timeout=20)
    return done.stdout.strip().splitlines()


def machine() -> dict:
    try:
        card = ask_cards("name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit")
    except (OSError, subprocess.TimeoutExpired) as failure:
        card = [f"nvidia-smi: {failure}"]
    models = re.findall(r"^model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return {
        "ev": "machine",
        "cards": card,
        "cpu": models[:1],
        "cores": len(os.sched_getaffinity(0)),
        "libc": " ".join(platform.libc_ver()),
        "kernel": platform.release()
    }


def lines(ev: str, path: str) -> None:
    for words in read_lines(path):
        print(json.dumps({**words, "ev": ev}))


def losses(name: str, card: str, cpu: str) -> dict:
    both = [{e["step"]: e["loss"] for e in events(folder) if e["ev"] == "step"} for folder in (card, cpu)]
    steps = sorted(both[0].keys() & both[1].keys())
    job = job_of(cpu)
    shown = {"ev": "train", "name": name, "model": job.get("model"), "precision": job.get("precision"), "steps": len(steps)}
    if not steps:
        return shown | {"failed": f"steps in {len(both[0])} lines of one run, {len(both[1])} of the other, none in "
                                  f"both"}
    pairs = [(both[0][s], both[1][s]) for s in steps]
    if any(a is None or b is None for a, b in pairs):
        return shown | {"failed": "a loss is not a number", "card": [a for a, _ in pairs], "cpu": [b for _, b in pairs]}
    moved = max(b for _, b in pairs) - min(b for _, b in pairs)
    apart = [abs(a - b) for a, b in pairs]
    first, most = apart[0] / pairs[0][1], max(apart) / max(moved, 1e-12)
    first_bound, most_bound = FIRST_BOUNDS[job["precision"]], BOUNDS[job["model"]]
    return shown | {
        "first_apart": first,
        "most_apart_of_moved": most,
        "moved": moved,
        "most_apart": max(a / b for a, (_, b) in zip(apart, pairs)),
        "bounds": [first_bound, most_bound],
        "within": first <= first_bound and most <= most_bound,
        "card": [a for a, _ in pairs],
        "cpu": [b for _, b in pairs]
    }


def spread(ms: list[float]) -> dict:
    """Median, quartiles and extremes, as all figures of times have them."""
    low, middle, high = statistics.quantiles(ms, n=4)
    return {"ms": middle, "low_ms": low, "high_ms": high, "least_ms": min(ms), "most_ms": max(ms)}


def step(name: str, folder: str) -> dict:
    found, job = events(folder), job_of(folder)
    lines = [e for e in found if e["ev"] == "step"]
    ms = [e["step_ms"] for e in lines[UNCOUNTED:]]
    shown = {"ev": "ours", "name": name, "model": job.get("model"), "batch": job.get("batch"), "precision": job.get("precision"),
             "device": job.get("device")}
    if len(ms) < 3:
        return shown | {"failed": f"{len(ms)} figures; at least 3 are wanted"}
    times = spread(ms)
    cost = next((e for e in found if e["ev"] == "cost"), {})
    return shown | {
        **times, "figures": len(ms),
        "steps": lines[-1]["step"],
        "images_s": 1e3 * job["batch"] / times["ms"],
        "loss_last": lines[-1]["loss"],
        **{
            f"{key}_s": cost.get(key)
            for key in ("initialisation", "data_io", "batch_copy")
        }
    }


def ipc(path: str, device: str) -> dict:
    line = json.loads(pathlib.Path(path).read_text().splitlines()[-1])
    best = min((line["in_place"], line["out_of_place"]), key=lambda w: w["time"])
    return {
        "ev": "ipc",
        "device": device,
        "ranks": line["ranks"],
        "bytes": line["size"],
        "us": best["time"],
        "algorithm": best["algorithm"],
        "wrong": line["in_place"]["nwrong"] + line["out_of_place"]["nwrong"]
    }


def shown_case(w: dict) -> str:
    return f"{w['model']} b{w['batch']} {w['precision']}"


def train_rows(found: list[dict]) -> list[str]:
    rows = [
        "losses, card against CPU row: distance at the first step by the loss, at most by how far it moves, at most by "
        "the loss"
    ]
    for w in found:
        if "failed" in w:
            rows.append(f"  {w.get('name', '-'):30} failed: {w['failed']}")
        else:
            verdict = "within" if w["within"] else "BEYOND"
            rows.append(
                f"  {w['name'] + ' ' + w['precision']:30} {w['steps']:3} steps {w['first_apart']:9.1e} "
                f"{w['most_apart_of_moved']:9.1e} {w['most_apart']:9.1e}  {verdict} "
                f"{w['bounds'][0]:.0e}, {w['bounds'][1]:.0e}")
    return rows


def time_rows(ours: list[dict], best: list[dict]) -> list[str]:
    rows = [f"{'ms a step':30} {'ours':>9} {'quartiles':>17} {'peer':>9} {'ratio':>6}  images/s, peer's variant"]
    cases = {shown_case(w): [None, w] for w in best}
    for w in ours:
        if "failed" in w or "ms" not in w:
            rows.append(f"  {w.get('name', '-'):28} failed: {w.get('failed')}")
        else:
            cases.setdefault(shown_case(w), [None, None])[0] = w
    for case, (mine, peer) in cases.items():
        own, quartiles, images = (f"{mine['ms']:.4g}", f"{mine['low_ms']:.4g} to {mine['high_ms']:.4g}",
                                  f"{mine['images_s']:.0f}") if mine else "---"
        theirs, variant = (f"{peer['ms']:.4g}", peer["variant"]) if peer else "--"
        ratio = f"{peer['ms'] / mine['ms']:.2f}" if mine and peer else "-"
        rows.append(f"  {case:28} {own:>9} {quartiles:>17} {theirs:>9} {ratio:>6}  {images}, {variant}")
    return rows


def ipc_rows(found: list[dict], ceilings: list[dict]) -> list[str]:
    copy = next((w for w in ceilings if w.get("name", "").startswith("device copy of 100 MB")), None)
    rows = []
    for w in found:
        if "failed" in w:
            rows.append(f"ipc: {w['failed']}")
            continue
        # the two ranks' vectors are read once and written once
        bound = 4 * w["bytes"] / (copy["value"] * 1e3) if copy and w["device"] == "cuda" else None
        beside = f"; a copy of as many bytes {bound:.0f} us, {w['us'] / bound:.2f} times" if bound else ""
        rows.append(
            f"ipc: allreduce of {w['bytes'] / 1e6:g} MB, {w['ranks']} ranks on {w['device']}, {w['algorithm']}: "
            f"{w['us']:.0f} us, {w['wrong']} wrong{beside}"
        )
    return rows


def table(path: str) -> bool:
    """Prints the table; returns whether all figures of ours are there and within their bounds."""
    found = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line.startswith("{")]
    of = {}
    for w in found:
        of.setdefault(w.get("ev"), []).append(w)
    for w in of.get("machine", []):
        print(f"{'; '.join(w['cards'])}\n{'; '.join(w['cpu'])}, {w['cores']} cores, {w['libc']}, Linux {w['kernel']}")
    for w in of.get("versions", []):
        print(f"PyTorch {w['torch']}, CUDA {w['cuda']}, cuDNN {w['cudnn']}, driver {w['driver']}")
    for w in of.get("part", []):
        print(f"{w['name']}: {w['failed']}")
    ceilings = [w for w in of.get("ceiling", []) if "value" in w]
    for w in ceilings:
        print(f"  {w['name']:50} {w['value']:9.4g} {w['unit']}")
    print("\n".join([*train_rows(of.get("train", [])), *time_rows(of.get("ours", []), of.get("peer-best", [])),
                     *ipc_rows(of.get("ipc", []), ceilings)]))
    lost = [w for w in of.get("peer", []) + of.get("ceiling", []) if "failed" in w or "left_out" in w]
    for w in lost:
        print(f"  peer: {w.get('variant', '')} {w.get('model', '')}: {w.get('failed') or w['left_out']}")
    ours = [w for ev in ("part", "train", "ours", "ipc") for w in of.get(ev, [])]
    return not any("failed" in w or w.get("wrong") or not w.get("within", True) for w in ours)


def main() -> None:
    verb, *words = sys.argv[1:]
    if verb == "table":
        sys.exit(0 if table(*words) else 1)
    elif verb == "lines":
        lines(*words)
    elif verb == "card":
        print(no_card())
    elif verb == "words":
        print(json.dumps({"ev": words[0], "name": words[1], "failed": words[2]}))
    else:
        print(json.dumps({"machine": machine, "losses": losses, "step": step, "ipc": ipc}[verb](*words)))


if __name__ == "__main__":
    main()
