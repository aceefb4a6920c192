#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kills.py: kills ranks of runs that replace them, and compares each run's weights with those of the undisturbed run.

kills.py PROGRAM [--seed N] [--runs N] [--kills N] [--ranks N] [--model lenet|mlp|resnet20] [--json FILE]

Each run is killed `--kills` times, at random moments, by a kind that the seed draws: one rank, rank 0, two ranks at
once, a rank and then another one while the run recovers, all ranks, or a rank that is stopped and not killed. The
program prints a table: kind, kills, and the seconds from the kill to the end of the next finished step.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

from ranks import children, kill, lines, print_times, weights_in

JOBS = {
    "lenet": """model: lenet
data: {set: digits, train_samples: 4000, test_samples: 200}
batch: 64
steps: %d
reduction: canonical
slots: 8
log_every: 1
eval_every_epochs: 2
checkpoint: {every_steps: 50}
optimiser: {rule: momentum, momentum: 0.9, lr: 0.02}
""",
    "resnet20": """model: resnet20
data: {set: shapes, train_samples: 512, test_samples: 64}
batch: 16
steps: %d
reduction: canonical
slots: 4
log_every: 1
eval_every_epochs: 0
checkpoint: {every_steps: 20}
optimiser: {rule: momentum, momentum: 0.9, lr: 0.02}
""",
}
JOBS["mlp"] = JOBS["lenet"].replace("lenet", "mlp")
KINDS = ("one", "zero", "two", "recovery", "all")


def wait_for_steps(run, path, before, more, limit_s=60):
    """Waits until `more` steps have followed the line number `before` of metrics.jsonl; False if the run has ended."""
    until = time.monotonic() + limit_s
    while run.poll() is None:
        steps = [e for e in lines(path)[before:] if e["ev"] == "step"]
        if len(steps) >= more:
            return True
        if time.monotonic() > until:
            raise RuntimeError(f"no step within {limit_s} s")
        time.sleep(0.005)
    return False


def strike(run, kind, draw):
    """Kills by the kind; returns the number of processes that were killed."""
    ranks = children(run.pid)
    order = sorted(ranks)
    draw.shuffle(order)
    if not order:
        return 0
    if kind == "zero":
        return int(kill(ranks[0])) if 0 in ranks else 0
    if kind == "two":
        return sum(kill(ranks[r]) for r in order[:2])
    if kind == "all":
        return sum(kill(ranks[r]) for r in order)
    n = int(kill(ranks[order[0]]))
    if kind == "recovery":
        time.sleep(draw.uniform(0, 0.3))
        now = children(run.pid)
        if now:
            n += int(kill(now[draw.choice(sorted(now))]))
    return n


def one_run(options, job, folder, draw, times):
    """Plays one run and returns its last line."""
    out = tempfile.mkdtemp(dir=folder)  # a folder of its own: lines of an earlier run would be taken for its restarts
    path = os.path.join(out, "metrics.jsonl")
    command = [options.program, "train", job, "--ranks", str(options.ranks), "--out", out, "--quiet", "--max-restarts",
               "1000"]
    with open(os.path.join(folder, "words"), "w") as words:
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=words, text=True)
        try:
            going = wait_for_steps(run, path, 0, 2)
            for _ in range(options.kills):
                if not going:
                    break
                time.sleep(draw.uniform(0, options.gap))
                kind = draw.choice(KINDS)
                before = len(lines(path))
                ns = time.monotonic_ns()
                killed = strike(run, kind, draw)
                if not killed:
                    continue
                going = wait_for_restart(run, path, before)
                if going:
                    times.append((kind, killed, 1e-9 * (time.monotonic_ns() - ns)))
            text, _ = run.communicate(timeout=300)
        except RuntimeError as stuck:
            raise RuntimeError(f"{stuck}; ranks {children(run.pid)}; the last lines: {lines(path)[-3:]}\n"
                               + open(os.path.join(folder, "words")).read()[-3000:]) from stuck
        finally:
            run.kill()
    if run.returncode:
        raise RuntimeError(f"exit code {run.returncode}: " + open(os.path.join(folder, "words")).read()[-2000:])
    return text.strip().splitlines()[-1]


def wait_for_restart(run, path, before, limit_s=60):
    """Waits for the line of a restart after a kill. metrics.jsonl loses lines of steps that are done again, so the last
    restart line is looked for."""
    known = [e for e in lines(path)[:before] if e["ev"] == "restart"]
    last = known[-1]["epoch"] if known else 1
    until = time.monotonic() + limit_s
    while run.poll() is None:
        if any(e["ev"] == "restart" and e["epoch"] > last for e in lines(path)):
            return True
        if time.monotonic() > until:
            raise RuntimeError(f"no restart within {limit_s} s")
        time.sleep(0.002)
    return False


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("program")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--runs", type=int, default=2)
    p.add_argument("--kills", type=int, default=5)
    p.add_argument("--ranks", type=int, default=4)
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--gap", type=float, default=0.5, help="most seconds between a restart and the next kill")
    p.add_argument("--model", choices=sorted(JOBS), default="lenet")
    p.add_argument("--json", help="file for the seconds of each event")
    options = p.parse_args()
    os.environ["OMP_WAIT_POLICY"] = "passive"
    times = []
    with tempfile.TemporaryDirectory() as folder:
        job = os.path.join(folder, "job.yaml")
        open(job, "w").write(JOBS[options.model] % options.steps)
        plain = subprocess.run([options.program, "train", job, "--ranks", str(options.ranks), "--quiet", "--out",
                                os.path.join(folder, "plain")], stdout=subprocess.PIPE, text=True, check=True)
        want = plain.stdout.strip().splitlines()[-1]
        for n in range(options.runs):
            draw = random.Random(options.seed * 1000003 + n)
            last = one_run(options, job, folder, draw, times)
            same = weights_in(last) == weights_in(want)
            print(f"run {n}: {last}", flush=True)
            if not same:
                sys.exit(f"run {n} of seed {options.seed} ends otherwise than the undisturbed run: {want}")
    print_times(KINDS, [(kind, seconds) for kind, _, seconds in times], [kills for _, kills, _ in times])
    if options.json:
        json.dump([{"kind": k, "kills": n, "seconds": s} for k, n, s in times], open(options.json, "w"))


if __name__ == "__main__":
    main()
