#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""agent_kills.py: kills ranks, agents and hosts of runs of two agents at random, and compares the weights.

agent_kills.py PROGRAM [--seed N] [--runs R] [--kills K] [--steps N] [--json FILE]

Each run has two agents with two ranks each on this machine. The seed draws what is killed: a rank; rank 0; a rank and
another one at once; a rank and then one while the run recovers; an agent; the agent that leads; a host, which is an
agent and its ranks at once. An agent that was killed is started again a second later. The program prints a table: kind,
events, and the seconds from the kill to the end of the next finished step.
"""
import argparse
import json
import os
import random
import sys
import tempfile
import time

import hosts
from ranks import kill, print_times

KINDS = ("rank", "rank 0", "two ranks", "recovery", "agent", "leader", "host")
RESTART_S = 1


def leader_of(run):
    """Returns the agent that leads: the one whose words name the newest epoch."""
    newest = run.epochs()[-1][0]
    return next(a for a in run.agents if f"group epoch {newest}:" in a.words())


def strike(run, kind, draw):
    """Kills by the kind; returns the agent that must be started again, if there is one."""
    ranks = run.ranks()
    order = sorted(ranks)
    draw.shuffle(order)
    living = [a for a in run.agents if not a.ended()]
    if kind in ("agent", "leader"):
        victim = leader_of(run) if kind == "leader" else draw.choice(living)
        victim.kill()
        return victim
    if kind == "host":
        victim = draw.choice(living)
        victim.kill_host()
        return victim
    if kind == "rank 0":
        kill(ranks[0])
    elif kind == "two ranks":
        kill(ranks[order[0]]), kill(ranks[order[1]])
    else:
        kill(ranks[order[0]])
    if kind == "recovery":
        time.sleep(draw.uniform(0, 0.3))
        now = run.ranks()
        if now:
            kill(now[draw.choice(sorted(now))])
    return None


def one_event(run, kind, draw):
    """Kills, and waits until the run plays again with all ranks. Returns seconds from the kill to the next step."""
    epoch = run.epochs()[-1][0]
    began = time.monotonic()
    victim = strike(run, kind, draw)
    seconds = run.wait_for_plays(epoch + 1) - began
    if victim:
        time.sleep(max(0, began + RESTART_S - time.monotonic()))
        before = run.epochs()[-1][0]
        run.start()
        run.wait_for_plays(run.wait_for_group(4, 2, after=before))
    return seconds


def one_run(bench, folder, draw, kills, gap, times):
    """Plays one run; returns its words."""
    run = hosts.Run(bench, folder, restarts=1000)
    run.wait_for_step(2)
    killed = 0
    while killed < kills and run.steps() < bench.nsteps * 3 // 4:
        time.sleep(draw.uniform(0, gap))
        kind = draw.choice(KINDS)
        times.append((kind, one_event(run, kind, draw)))
        killed += 1
    gone = [a for a in run.agents if a.process.poll() == -9]
    return f"{killed} events, " + run.finish(least=killed, killed=gone)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("program")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--runs", type=int, default=2)
    p.add_argument("--kills", type=int, default=10)
    p.add_argument("--steps", type=int, default=600)
    p.add_argument("--gap", type=float, default=0.3, help="most seconds between a recovery and the next kill")
    p.add_argument("--json", help="file for the seconds of each event")
    options = p.parse_args()
    hosts.prepare()
    times, good = [], True
    with tempfile.TemporaryDirectory(prefix="agent_kills") as folder:
        bench = hosts.Bench(os.path.abspath(options.program), folder, options.steps)
        bench.undisturbed(hosts.CANONICAL)  # it must end well
        for n in range(options.runs):
            def case(bench, folder, n=n):
                draw = random.Random(options.seed * 1000003 + n)
                return one_run(bench, folder, draw, options.kills, options.gap, times)
            case.__name__ = f"run {n} of seed {options.seed}"
            good &= hosts.play_all(bench, [case], 1)
    print_times(KINDS, times)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump([{"kind": k, "seconds": s} for k, s in times], f)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
