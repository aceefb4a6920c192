#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""agent_kills.py: kills ranks, agents and hosts of runs of two agents at random, and compares the weights.

agent_kills.py PROGRAM [--namespaces] [--seed N] [--runs R] [--kills K] [--steps N] [--json FILE]

Each run has two agents with two ranks each on this machine. The seed draws what is killed: a rank; rank 0; a rank and
another one at once; a rank and then one while the run recovers; an agent; the agent that leads; a host, which is an
agent and its ranks at once. An agent that was killed is started again a second later. The program prints a table: kind,
events, and the seconds from the kill to the end of the next finished step.

With --namespaces each agent has a network namespace of its own (../hosts/lab.py), and two kinds more are drawn: all
processes of a namespace at once, in place of a host; and its link, so that the agent that does not lead must end with 4.
A link that was cut is mended before the agent is started again.
"""
import argparse
import json
import os
import random
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hosts"))
import hosts
import lab
from losses import check
from ranks import kill, print_times

KINDS = ("rank", "rank 0", "two ranks", "recovery", "agent", "leader")
WHOLE = ("host",)  # kinds that take a whole host on this machine
APART = ("namespace", "link")  # and where each host is a namespace
RESTART_S = 1
DEADLINE_S = 2  # of runs over namespaces: a link that is cut is noticed when it is over


def leader_of(run):
    """Returns the agent that leads: the one whose words name the newest epoch."""
    newest = run.epochs()[-1][0]
    return next(a for a in run.agents if f"group epoch {newest}:" in a.words())


def take_whole(run, kind, draw, net):
    """Takes a host, a namespace or a link; returns the agent that ends by that."""
    living = [a for a in run.agents if not a.ended()]
    if kind == "link":
        net.cut(draw.choice(living).host)
        leader = leader_of(run)
        return next(a for a in living if a is not leader)
    victim = draw.choice(living)
    if kind == "host":
        victim.kill_host()
    else:
        net.kill(victim.host)
        victim.process.wait()
    return victim


def strike(run, kind, draw):
    """Kills ranks or an agent by the kind; returns the agent that must be started again, if there is one."""
    ranks = run.ranks()
    order = sorted(ranks)
    draw.shuffle(order)
    living = [a for a in run.agents if not a.ended()]
    if kind in ("agent", "leader"):
        victim = leader_of(run) if kind == "leader" else draw.choice(living)
        victim.kill()
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


def come_back(run, victim, kind, net, began):
    """Starts the agent of a host again, and waits until the run plays with all ranks."""
    if kind == "link":
        victim.end(4)
        for host in range(2):
            net.mend(host)
    time.sleep(max(0, began + RESTART_S - time.monotonic()))
    before = run.epochs()[-1][0]
    run.start(host=victim.host)
    run.wait_for_plays(run.wait_for_group(4, 2, after=before))


def one_event(run, kind, draw, net):
    """Kills, and waits until the run plays again with all ranks. Returns seconds from the kill to the next step."""
    epoch = run.epochs()[-1][0]
    began = time.monotonic()
    victim = strike(run, kind, draw) if kind in KINDS else take_whole(run, kind, draw, net)
    seconds = run.wait_for_plays(epoch + 1) - began
    if victim:
        come_back(run, victim, kind, net, began)
    return seconds


def one_run(bench, folder, draw, options, times, net=None):
    """Plays one run; returns its words. net: the namespaces of its hosts, or None."""
    where = {"before": net.inside, "address": "10.77.0.1", "deadline_s": DEADLINE_S} if net else {}
    kinds = KINDS + (APART if net else WHOLE)
    run = hosts.Run(bench, folder, restarts=1000, **where)
    run.wait_for_step(2)
    killed, cut = 0, 0
    while killed < options.kills and run.steps() < bench.nsteps * 3 // 4:
        time.sleep(draw.uniform(0, options.gap))
        kind = draw.choice(kinds)
        times.append((kind, one_event(run, kind, draw, net)))
        killed += 1
        cut += kind == "link"
    gone, lost = ([a for a in run.agents if a.process.poll() == code] for code in (-9, 4))
    check(len(lost) == cut, f"{len(lost)} agents have ended with 4, not {cut}:\n{run.words()}")
    return f"{killed} events, " + run.finish(least=killed, killed=gone, lost=lost)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("program")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--runs", type=int, default=2)
    p.add_argument("--kills", type=int, default=10)
    p.add_argument("--steps", type=int, default=600)
    p.add_argument("--gap", type=float, default=0.3, help="most seconds between a recovery and the next kill")
    p.add_argument("--json", help="file for the seconds of each event")
    p.add_argument("--namespaces", action="store_true", help="each agent has a network namespace of its own")
    options = p.parse_args()
    if options.namespaces:
        lab.skip_unless_possible()
    hosts.prepare()
    times, good = [], True
    with tempfile.TemporaryDirectory(prefix="agent_kills") as folder:
        bench = hosts.Bench(os.path.abspath(options.program), folder, options.steps)
        bench.undisturbed(hosts.CANONICAL)  # it must end well
        for n in range(options.runs):
            def case(bench, folder, n=n):
                draw = random.Random(options.seed * 1000003 + n)
                if not options.namespaces:
                    return one_run(bench, folder, draw, options, times)
                with lab.Lab(2) as net:
                    return one_run(bench, folder, draw, options, times, net)
            case.__name__ = f"run {n} of seed {options.seed}"
            good &= hosts.play_all(bench, [case], 1)
    print_times(KINDS + (APART if options.namespaces else WHOLE), times)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump([{"kind": k, "seconds": s} for k, s in times], f)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
