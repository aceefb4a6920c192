#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuts.py: cuts hosts of a run apart, or takes a whole host, and checks that at most one side goes on.

cuts.py PROGRAM [--long] [--only WORDS]

The hosts are network namespaces (../hosts/lab.py); they share the folder of the run. The side that goes on must end with
the weights of the undisturbed run. The other side ends with 4 and says so. No number of a group epoch may come twice,
and no two processes may write into the folder at a time.
"""
import argparse
import os
import re
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hosts"))
import hosts
import lab
from losses import check
from ranks import state_of

DEADLINE_S = 2


class Writers:
    """Watches who has files of the run's folder open for writing, until it is stopped."""

    def __init__(self, run):
        self.run, self.stopped, self.most, self.seen = run, threading.Event(), 0, []
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.stopped.wait(0.02):
            now = [pid for a in self.run.agents for pid in a.ranks().values() if self.writes(pid)]
            if len(now) > self.most:
                self.most, self.seen = len(now), now

    def writes(self, pid):
        """True if the process has metrics.jsonl open for writing: rank 0 of a group that trains has."""
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{fd}") == self.run.metrics:
                    with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
                        flags = int(re.search(r"flags:\s*(\d+)", f.read()).group(1), 8)
                    return flags & 3 != 0 and state_of(pid) not in ("", "Z")
        except OSError:
            pass
        return False

    def check(self):
        self.stopped.set()
        self.thread.join()
        check(self.most == 1, f"{self.most} processes wrote into the folder at a time: {self.seen}\n{self.run.words()}")


class Play:
    """A run over namespaces that has done some steps."""

    def __init__(self, bench, folder, net, nhosts, step=10, settings=(), method=None, **how):
        self.net = net
        per_host = 2 if nhosts == 2 else 1
        settings = (*settings, *((f"method.name={method}",) if method else ()))
        self.run = hosts.Run(bench, folder, settings=settings, ranks="1:4", per_host=per_host, nhosts=nhosts,
                             deadline_s=DEADLINE_S, before=net.inside, address="10.77.0.1",
                             sums=() if method else hosts.CANONICAL, **how)
        self.writers = Writers(self.run)
        self.run.wait_for_step(step)

    def cut(self, *which):
        for host in which:
            self.net.cut(host)

    def finish(self, go_on, end, killed=(), same=True):
        """The agents `go_on` end well; those of `end` end with 4 and say so."""
        agents = self.run.agents
        for k in end:
            agents[k].end(4)
        for k in go_on:
            agents[k].end(0)
        for k in killed:
            agents[k].end(137)
        self.writers.check()
        for k in end:
            check(re.search("this side ends|the run ends here", agents[k].words()),
                  f"agent {k} does not say why it ends:\n{self.run.words()}")
        self.run.check_epochs()
        if not same:
            self.run.says(r"weights \w+ step")
            return "one side goes on"
        return self.run.finish(killed=[agents[k] for k in killed], lost=[agents[k] for k in end])


# ---- two hosts: the one whose leader holds the lock goes on ----

def two_hosts_cut_during_a_step(bench, folder, net):
    play = Play(bench, folder, net, 2)
    play.cut(1)
    return play.finish((0,), (1,))


def two_hosts_cut_during_a_checkpoint(bench, folder, net):
    play = Play(bench, folder, net, 2, settings=("checkpoint.every_steps=3",))
    play.run.wait_for(lambda: any(n.endswith(".tmp") for n in play.run.checkpoints()), "checkpoint under way")
    play.cut(1)
    return play.finish((0,), (1,))


def two_hosts_cut_while_ranks_recover(bench, folder, net):
    play = Play(bench, folder, net, 2)
    play.run.lose(3)
    time.sleep(0.02)
    play.cut(1)
    return play.finish((0,), (1,))


def the_cut_of_two_hosts_heals(bench, folder, net):
    """The cable is out for less than the deadline."""
    play = Play(bench, folder, net, 2)
    play.cut(1)
    time.sleep(0.5)
    play.net.mend(1)
    said = play.run.finish(least=0)
    play.writers.check()
    return said


def a_whole_host_killed(bench, folder, net, victim=1):
    play = Play(bench, folder, net, 2)
    agent = play.run.agents[victim]
    agent.kill_host()
    return play.finish((1 - victim,), (), killed=(victim,))


def the_whole_first_host_killed(bench, folder, net):
    return a_whole_host_killed(bench, folder, net, 0)


# ---- three hosts: two of them go on ----

def three_hosts_lose_the_third(bench, folder, net):
    play = Play(bench, folder, net, 3)
    play.cut(2)
    return play.finish((0, 1), (2,))


def three_hosts_lose_the_first(bench, folder, net):
    play = Play(bench, folder, net, 3)
    play.cut(0)
    return play.finish((1, 2), (0,))


def three_hosts_lose_the_first_during_a_checkpoint(bench, folder, net):
    play = Play(bench, folder, net, 3, settings=("checkpoint.every_steps=3",))
    play.run.wait_for(lambda: any(n.endswith(".tmp") for n in play.run.checkpoints()), "checkpoint under way")
    play.cut(0)
    return play.finish((1, 2), (0,))


def three_hosts_all_apart(bench, folder, net):
    play = Play(bench, folder, net, 3)
    play.cut(0, 1, 2)
    for agent in play.run.agents:
        agent.end(4)
    play.run.check_epochs()
    return "nobody goes on"


def three_hosts_cut_during_a_takeover(bench, folder, net):
    """The leader is killed, and the third host is cut off before the second one has taken over."""
    play = Play(bench, folder, net, 3)
    play.run.agents[0].kill_host()
    play.cut(2)
    for agent in play.run.agents[1:]:
        agent.end(4)
    play.run.check_epochs()
    return "nobody goes on"


def four_hosts_cut_in_halves(bench, folder, net):
    play = Play(bench, folder, net, 4)
    play.net.part((0, 1), (2, 3))
    return play.finish((0, 1), (2, 3))


def four_hosts_cut_in_halves_during_a_takeover(bench, folder, net):
    """The leader dies; three of the four hosts are left, and one of them is cut off: half, and it gets the lock."""
    play = Play(bench, folder, net, 4)
    play.run.agents[0].kill_host()
    play.cut(3)
    return play.finish((1, 2), (3,), killed=(0,))


def three_hosts_of_workers_lose_the_first(bench, folder, net):
    """Rank 0 of a method with a centre goes on without others, but not against a majority."""
    play = Play(bench, folder, net, 3, method="easgd")
    play.cut(0)
    return play.finish((1, 2), (0,), same=False)


CASES = [(2, two_hosts_cut_during_a_step), (2, two_hosts_cut_during_a_checkpoint),
         (2, two_hosts_cut_while_ranks_recover), (2, the_cut_of_two_hosts_heals), (2, a_whole_host_killed),
         (2, the_whole_first_host_killed), (3, three_hosts_lose_the_third), (3, three_hosts_lose_the_first),
         (3, three_hosts_lose_the_first_during_a_checkpoint), (3, three_hosts_all_apart),
         (3, three_hosts_cut_during_a_takeover), (3, three_hosts_of_workers_lose_the_first),
         (4, four_hosts_cut_in_halves), (4, four_hosts_cut_in_halves_during_a_takeover)]
SHORT = (three_hosts_lose_the_first, two_hosts_cut_during_a_step)


def in_lab(nhosts, case):
    def played(bench, folder):
        with lab.Lab(nhosts) as net:
            return case(bench, folder, net)
    played.__name__ = case.__name__
    return played


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("program")
    p.add_argument("--long", action="store_true", help="all cases")
    p.add_argument("--only", default="", help="cases whose names contain these words")
    options = p.parse_args()
    lab.skip_unless_possible()
    hosts.prepare()
    cases = [in_lab(n, c) for n, c in CASES if (options.long or options.only or c in SHORT)
             and options.only in c.__name__.replace("_", " ")]
    with tempfile.TemporaryDirectory(prefix="cuts") as folder:
        good = hosts.play_all(hosts.Bench(os.path.abspath(options.program), folder), cases, 1)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
