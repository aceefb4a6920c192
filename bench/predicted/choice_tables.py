#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""choice_tables.py: what `auto` costs against all else that one could say, by predicted steps. Two tables:

  advise    networks x machines x rank counts: the job as it is against the best that `tutti predict --advise` finds by
            keys of `exchange` and `parallel`; beside it the job in which no layer is shared (`parallel.layers: []`),
            and PyTorch DDP's model
  machines  every machine that comes with the program, up to 4,096 ranks: the job as it is against every algorithm that
  one can force, all other
            keys chosen for that one, and against the fixed rule with buckets of 1 MiB, which was the default

    python3 bench/predicted/choice_tables.py build/test/tutti [--table advise|machines] [--ranks 8,64] [--only NAME]

Ends with 1 where something is better than `auto` by more than 2 %."""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOB = str(ROOT / "examples/resnet50/job.yaml")
NETWORKS = {
    "lenet": ["data.shape=1,28,28", "data.classes=10"],
    "resnet20": ["data.shape=3,32,32", "data.classes=10"],
    "resnet50": [],
    "alexnet-bn": ["data.shape=3,227,227"],
    "googlenet": []
}
ADVISED = {"@v100-25gbe": "v100", "@v100-ib": "v100", "@k80-10gbe": "k80", "@p40-100gbe": "p40"}
DEVICES = {"aws": "v100", "e5": "e5-2698v3", "knl": "knl7250", "k80": "k80", "p40": "p40", "manoa": "p100", "eflops": "p40"}
FIXED = [
    "exchange.algorithm=rule", "exchange.buckets=size", "exchange.order=ready", "exchange.update=sharded",
    "exchange.update_when=late"
]
FORCED = [
    "direct", "ring", "halving-doubling", "bruck", "split-rail", "two-level", "hierarchical", "k-nomial,radix=4",
    "binary-blocks", "swing", "torus", "double-tree,chunks=16"
]
MOST = 1.02


def predict(build: str, machine: str, device: str, nranks: int, sets: list[str], *more: str) -> list[dict]:
    command = [
        build, "predict", JOB, "--weak", "--device", device, "--topology", machine, "--ranks",
        str(nranks), "--json", "-", *more
    ]
    for one in sets:
        command += ["--set", one]
    done = subprocess.run(command, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []


def step(rows: list[dict]) -> float:
    return rows[0].get("step_s", float("inf")) if rows else float("inf")


def advise(build: str, counts: list[int], only: str) -> bool:
    met = True
    print(
        f"{'network':12s} {'machine':14s} {'ranks':>5s} {'auto ms':>10s} {'advised':>10s} {'worse':>7s} "
        f"{'not shared':>10s} {'DDP ms':>10s} {'chosen in':>9s}  chosen"
    )
    for network, shape in NETWORKS.items():
        for machine, device in ADVISED.items():
            for nranks in counts:
                if only and only not in (network, machine):
                    continue
                sets = [f"model={network}", *shape]
                rows = predict(build, machine, device, nranks, sets, "--advise")
                together = [r["step_s"] for r in rows if r.get("advice") == "all"]
                keys = [
                    r["step_s"]
                    for r in rows
                    if r.get("advice", "").split(".")[0] in ("exchange", "parallel") and r["can"]
                ]
                auto, best = step(rows), min([*together, *keys])
                apart = step(predict(build, machine, device, nranks, [*sets, "parallel.layers="]))
                ddp = step(predict(build, machine, device, nranks, sets, "--framework", "pytorch-ddp"))
                met &= auto <= best * MOST
                print(
                    f"{network:12s} {machine:14s} {nranks:5d} {auto * 1e3:10.3f} {best * 1e3:10.3f} "
                    f"{(auto / best - 1) * 100:6.2f}% {apart * 1e3:10.3f} {ddp * 1e3:10.3f}"
                    f"{'!' if ddp < auto else ' '} {rows[0].get('choice_s', 0):8.2f}s {rows[0].get('choice', '-')}",
                    flush=True)
    return met


def machine_names(build: str) -> list[str]:
    listed = subprocess.run([build, "topo", "make", "--help"], check=True, capture_output=True, text=True).stdout
    return sorted(set(re.findall(r"@[a-z0-9-]+", listed)))


def machines(build: str, counts: list[int], only: str) -> bool:
    met = True
    print(
        f"{'machine':14s} {'ranks':>5s} {'auto ms':>10s} {'forced':>10s} {'worse':>7s} {'rule ms':>10s} "
        f"{'chosen in':>9s}  chosen | best forced"
    )
    for machine in machine_names(build):
        device = next((d for name, d in DEVICES.items() if machine[1:].startswith(name)), "v100")
        for nranks in counts:
            if only and only != machine:
                continue
            rows = predict(build, machine, device, nranks, [])
            if not rows:
                print(f"{machine:14s} {nranks:5d} cannot be predicted", flush=True)
                continue
            forced = {name: step(predict(build, machine, device, nranks, [f"exchange.algorithm={name}"])) for name in FORCED}
            best = min(forced, key=forced.get)
            auto, rule = step(rows), step(predict(build, machine, device, nranks, FIXED))
            met &= auto <= min(forced[best], rule) * MOST
            print(
                f"{machine:14s} {nranks:5d} {auto * 1e3:10.3f} {forced[best] * 1e3:10.3f} "
                f"{(auto / forced[best] - 1) * 100:6.2f}% {rule * 1e3:10.3f}"
                f" {rows[0].get('choice_s', 0):8.2f}s  {rows[0].get('choice', '-')} | {best}",
                flush=True)
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tutti")
    parser.add_argument("--table", choices=["advise", "machines"])
    parser.add_argument("--ranks", help="counts, with commas")
    parser.add_argument("--only", default="", help="a network or machine")
    args = parser.parse_args()
    counts = [int(n) for n in args.ranks.split(",")] if args.ranks else None
    met = True
    if args.table != "machines":
        met &= advise(args.tutti, counts or [2, 8, 64], args.only)
    if args.table != "advise":
        met &= machines(args.tutti, counts or [8, 64, 512, 1024, 4096], args.only)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
