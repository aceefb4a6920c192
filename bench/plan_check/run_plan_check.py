# SPDX-License-Identifier: Apache-2.0
"""run_plan_check.py: processor seconds of `tutti plan check`, beside another build's. The batch is 4 samples a rank:
it changes nothing that is proved. The smallest of three runs counts where one takes less than 2 s, else the one."""
import argparse
import os
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from table import Table  # noqa: E402

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
JOBS = [
    ("lenet", "examples/lenet.yaml", []),
    ("lenet, local-sgd", "examples/lenet-local.yaml", []),
    ("lenet, sync-easgd3", "examples/lenet-easgd.yaml", ["method=sync-easgd3"]),
    ("lenet, two ranks share a layer", "examples/lenet-hybrid.yaml", []),
    ("alexnet, groups share fc6 and fc7", "examples/resnet50/job.yaml",
     ["model=alexnet-bn", "data.shape=3,227,227", "parallel.layers=fc6,fc7"]),
    ("resnet50", "examples/resnet50/job.yaml", []),
    ("resnet50, ring", "examples/resnet50/job.yaml", ["exchange.algorithm=ring"]),
    ("resnet50, early updates", "examples/resnet50/job.yaml", ["exchange.update_when=early"]),
    ("resnet50, local-sgd", "examples/resnet50/job.yaml", ["method=local-sgd"]),
]


def once(program: str, job: str, keys: list[str], ranks: int) -> float:
    command = [program, "plan", "check", os.path.join(ROOT, job), "--ranks", str(ranks)]
    for key in [f"batch={4 * ranks}", *keys]:
        command += ["--set", key]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(program: str, job: str, keys: list[str], ranks: int) -> float:
    best = once(program, job, keys, ranks)
    return best if best > 2 else min(best, *(once(program, job, keys, ranks) for _ in range(2)))


parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("--ranks", default="2,4,8,16,32,64")
parser.add_argument("--against")
parser.add_argument("--jobs", default="", help="only those that begin so")
parser.add_argument("--json")
args = parser.parse_args()
table = Table("plan_check", args.json)
for name, job, keys in (row for row in JOBS if row[0].startswith(args.jobs)):
    for ranks in map(int, args.ranks.split(",")):
        try:
            peer = measure(args.against, job, keys, ranks) if args.against else None
        except subprocess.CalledProcessError:
            peer = None  # its words stand above
        table.row(f"{name}, {ranks} ranks", "s", measure(os.path.join(args.build, "tutti"), job, keys, ranks),
                  args.against or "-", peer)
