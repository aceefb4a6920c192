# SPDX-License-Identifier: Apache-2.0
"""run_rounding.py BUILD [--nets mlp,lenet] [--seeds 1,2,..] [--jobs N] [--json FILE]: see run. A line of FILE is a
run; those that are there already are not done again. Prints the table of bench/rounding/NOTES.md, and of each row how far
its seeds are from the same seeds in f32."""
import argparse
import concurrent.futures
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NETS = {
    "mlp": ("examples/mlp.yaml", ["ranks=8", "epochs=4", "data.train_samples=4000"]),
    "lenet": ("examples/lenet.yaml", ["ranks=4", "epochs=2", "data.train_samples=4000"]),
}
WAYS = {
    "f32": ["exchange.algorithm=direct"],
    "once, direct": ["exchange.algorithm=direct"],
    "each, ring": ["exchange.algorithm=ring"],
    "each, halving-doubling": ["exchange.algorithm=halving-doubling"],
    "each, hierarchical": ["exchange.algorithm=hierarchical,group=2"]
}
TYPES = ["bf16", "f16"]


def keys_of(way: str, kind: str) -> list[str]:
    if way == "f32":
        return [*WAYS[way], "exchange.update=replicated"]
    return [*WAYS[way], "exchange.update=replicated", f"exchange.precision={kind}", f"exchange.rounding={way.split(',')[0]}"]


def train(build: str, net: str, way: str, kind: str, seed: int) -> dict:
    job, keys = NETS[net]
    with tempfile.TemporaryDirectory() as out:
        command = [f"{build}/tutti", "train", ROOT / job, "--out", out, "--quiet", "--ranks-as-threads"]
        for key in [*keys, *keys_of(way, kind), f"seed={seed}", "eval_every_epochs=0", "tensorboard=false"]:
            command += ["--set", key]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {"net": net, "way": way, "type": kind, "seed": seed, "accuracy": 100 * float(re.search(r"accuracy (\S+)", said)[1])}


def wanted(nets: list[str], seeds: list[int]) -> list[tuple]:
    return [(net, way, kind, seed)
            for seed in seeds
            for net in nets
            for way in WAYS
            for kind in (["f32"] if way == "f32" else TYPES)]


def run_missing(a: argparse.Namespace, runs: list[tuple], done: list[dict]) -> None:
    have = {(r["net"], r["way"], r["type"], r["seed"]) for r in done}
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        pending = [pool.submit(train, a.build, *run) for run in runs if run not in have]
        for each in concurrent.futures.as_completed(pending):
            done.append(each.result())
            if a.json:
                with open(a.json, "a") as file:
                    file.write(json.dumps(done[-1]) + "\n")


def row_of(found: dict, net: str, way: str, kind: str, seeds: list[int]) -> str:
    own = [found[net, way, kind, s] for s in seeds if (net, way, kind, s) in found]
    pairs = [found[net, way, kind, s] - found[net, "f32", "f32", s] for s in seeds
             if (net, way, kind, s) in found and (net, "f32", "f32", s) in found]
    if len(own) < 2 or len(pairs) < 2:
        return ""
    spread = f"{statistics.mean(pairs):+.2f} ({statistics.stdev(pairs):.2f})" if way != "f32" else ""
    return f"| {net} | {kind} | {way} | {statistics.mean(own):.2f} ({statistics.stdev(own):.2f}) | {spread} | {len(own)} |"


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--nets", default=",".join(NETS))
    p.add_argument("--seeds", default="1,2,3,4,5")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--json")
    a = p.parse_args()
    nets, seeds = a.nets.split(","), [int(s) for s in a.seeds.split(",")]
    file = pathlib.Path(a.json) if a.json else None
    done = [json.loads(line) for line in file.read_text().splitlines()] if file and file.exists() else []
    run_missing(a, wanted(nets, seeds), done)
    found = {(r["net"], r["way"], r["type"], r["seed"]): r["accuracy"] for r in done}
    print(
        "| net | gradients | rounding, algorithm | test accuracy, %: mean (deviation of a seed) | against f32 by the "
        "same seed | seeds |\n|---|---|---|---|---|---|"
    )
    for net in nets:
        for kind in ["f32", *TYPES]:
            for way in WAYS:
                if (way == "f32") == (kind == "f32") and (row := row_of(found, net, way, kind, seeds)):
                    print(row)


if __name__ == "__main__":
    main()
