# SPDX-License-Identifier: Apache-2.0
"""choice.py: on machines of several hosts, the predicted step of `exchange.algorithm: auto` against all algorithms
that one can force there; and over namespaces, whether what `tutti predict` names is what `tutti train` ran, as its
trace names it."""
import json
import pathlib
import re
import subprocess

import links
import steps

ROOT = pathlib.Path(__file__).resolve().parents[2]
MACHINES = {"cluster,hosts=2,ranks=4,nic=10Gb": 8, "cluster,hosts=4,ranks=2,nic=1Gb": 8, "cluster,hosts=8,ranks=1,nic=25Gb": 8,
            "cluster,hosts=4,ranks=4,nics=2,nic=10Gb": 16, "cluster,hosts=3,ranks=2,nic=10Gb": 6}
NAMED = {
    (2, 1): "cluster,hosts=2,ranks=1,nic=300Mb",
    (2, 2): "cluster,hosts=2,ranks=2,nic=300Mb",
    (4, 1): "cluster,hosts=4,ranks=1,nic=300Mb",
    (3, 2): "cluster,hosts=3,ranks=2,nic=300Mb"
}


def algorithms(build: str, topology: str, nranks: int) -> list[str]:
    """All that an allreduce can be made of there, with the variants that one would try."""
    done = subprocess.run([
        f"{build}/tutti", "coll", "explain", "--bytes", "25MiB", "--ranks",
        str(nranks), "--topology", topology, "--all", "--json"
    ],
                          check=True,
                          capture_output=True,
                          text=True)
    return [row["algorithm"] for row in map(json.loads, done.stdout.splitlines()) if row["can"]]


def judge_machine(judged, build: str, topology: str, nranks: int) -> None:
    job, layers = str(ROOT / "examples/resnet50/job.yaml"), ROOT / "examples/resnet50/layers.txt"
    auto = steps.prediction(build, job, layers, nranks, topology, [])
    forced = {}
    for name in algorithms(build, topology, nranks):
        try:
            forced[name] = steps.prediction(build, job, layers, nranks, topology, [f"exchange.algorithm={name}"])["step_s"]
        except RuntimeError:
            continue  # cannot scatter sums
    best = min(forced, key=forced.get)
    judged.row("auto against the best that one can force",
               f"{topology}: {auto['algorithm']} against {best}",
               forced[best],
               auto["step_s"],
               forced=forced)


def judge_name(judged, build: str, nhosts: int, ranks: int, topology: str, layers: pathlib.Path, folder: pathlib.Path) -> None:
    """Runs four steps of LeNet; the trace says by what its gradients went."""
    nranks = nhosts * ranks
    named = steps.prediction(build, steps.LENET.job(folder, 1, 4, 0), layers, nranks, topology, [])["algorithm"]
    job, out = steps.LENET.job(folder, nranks, 4, 0), folder / "named"
    with links.Hosts(nhosts, "300mbit") as hosts:
        done = hosts.run(ranks, [
            f"{build}/tutti", "train", job, "--out",
            str(out), "--fresh", "--quiet", "--trace", "2", "--pretend",
            str(layers)
        ], {"TUTTI_WIRE": "tcp"})
    if done[0].process.returncode:
        raise RuntimeError("\n".join(rank.text for rank in done)[-2000:])
    spans = json.loads((out / "trace.json").read_text())["traceEvents"]
    ran = {s["args"]["Algorithm"] for s in spans if re.match("gradients of", s["name"]) and "Algorithm" in s.get("args", {})}
    same = ran == {named}
    print(
        f"{nhosts} hosts of {ranks}: predict names {named}, train ran "
        f"{', '.join(sorted(ran))}{'' if same else ': NOT THE SAME'}",
        flush=True)
    judged.put({"group": "names", "case": topology, "predicted": named, "ran": sorted(ran), "same": same})
    judged.others_met &= same


def run(judged, build: str, long: bool, folder: pathlib.Path) -> None:
    judged.aim("auto against the best that one can force", 0.01, 0.01)
    for topology, nranks in MACHINES.items() if long else list(MACHINES.items())[:1]:
        judge_machine(judged, build, topology, nranks)
    layers = steps.trace(build, steps.LENET, folder)
    for (nhosts, ranks), topology in NAMED.items() if long else list(NAMED.items())[:2]:
        judge_name(judged, build, nhosts, ranks, topology, layers, folder)
