#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""agents.py: takes ranks, agents and hosts from runs of several agents, and checks how the runs end.

agents.py PROGRAM [--long] [--only WORDS] [--at-once N] [--model NAME]

Each agent stands for a host of its own; all run on this machine. The weights of each run that goes on must be those of
the undisturbed run, no number of a group epoch may come twice, and no process may be left behind. cuts.py has hosts
with a network between them.
"""
import argparse
import os
import re
import signal
import socket
import struct
import sys
import tempfile
import time

import hosts
from losses import check
from ranks import kill, weights_in

BUSY = ("checkpoint.every_steps=3",)


def begun(bench, folder, step=10, **how):
    """Returns a run of two agents that has done some steps."""
    run = hosts.Run(bench, folder, **how)
    run.wait_for_step(step)
    return run


# ---- ranks ----

def a_rank_of_the_second_host_lost(bench, folder):
    run = begun(bench, folder)
    pid = run.lose(3)
    said = run.finish()
    run.says(rf"rank 3 \(pid {pid}\) was killed by signal 9")
    run.says("group epoch 2: 4 ranks on 2 hosts; 8 replacements left")
    e = run.restarts()[0]
    check((e["ranks"], e["epoch"]) == (4, 2), f"the line of the restart: {e}")
    return said


def rank_zero_lost(bench, folder):
    run = begun(bench, folder)
    run.lose(0)
    return run.finish()


def a_rank_on_each_host_lost_at_once(bench, folder):
    run = begun(bench, folder)
    pids = run.ranks()
    kill(pids[1]), kill(pids[2])
    return run.finish()


def a_rank_lost_during_recovery(bench, folder):
    run = begun(bench, folder)
    run.lose(3)
    run.wait_for_group(4, 2, after=1)
    run.lose(1)
    return run.finish()


# ---- agents ----

def four_hosts_lose_one_and_get_it_back(bench, folder):
    run = begun(bench, folder, ranks="2:4", per_host=1, nhosts=4)
    run.agents[2].kill()
    epoch = run.wait_for_group(3, 3)
    run.wait_for_plays(epoch)
    run.start()
    run.wait_for_group(4, 4, after=epoch)
    run.says("the run goes on with fewer ranks: 4 before, 3 now")
    run.says("the group grows from 3 to 4 ranks")
    return run.finish(killed=run.agents[2:3])


def the_second_agent_killed(bench, folder):
    run = begun(bench, folder)
    run.agents[1].kill()
    said = run.finish(killed=run.agents[1:])
    run.says("the agent of host 127.0.0.1 was lost")
    run.says("group epoch 2: 2 ranks on 1 host")
    return said


def the_leader_killed(bench, folder):
    run = begun(bench, folder)
    first = run.text()
    run.agents[0].kill()
    run.wait_for_group(2, 1)
    check(run.text() != first, "RUN/leader still names the lost leader")
    said = run.finish(killed=run.agents[:1])
    run.says("the leading agent .* was lost")
    run.says("this agent leads now; others join with --join ")
    return said


def the_leader_killed_and_its_host_comes_back(bench, folder):
    run = begun(bench, folder)
    run.agents[0].kill()
    epoch = run.wait_for_group(2, 1)
    run.start()
    run.wait_for_group(4, 2, after=epoch)
    return run.finish(killed=run.agents[:1])


def the_leader_killed_while_ranks_recover(bench, folder):
    run = begun(bench, folder)
    run.lose(3)
    time.sleep(0.02)
    run.agents[0].kill()
    return run.finish(killed=run.agents[:1])


def the_leader_killed_when_the_next_epoch_was_formed(bench, folder):
    run = begun(bench, folder)
    run.lose(3)
    run.wait_for_group(4, 2, after=1)
    run.agents[0].kill()
    return run.finish(killed=run.agents[:1])


def the_leader_killed_during_a_checkpoint(bench, folder):
    run = begun(bench, folder, settings=BUSY)
    run.wait_for(lambda: any(n.endswith(".tmp") for n in run.checkpoints()), "checkpoint under way")
    run.agents[0].kill_host()
    return run.finish(killed=run.agents[:1])


def two_leaders_lost_after_each_other(bench, folder):
    run = begun(bench, folder, ranks="1:3", per_host=1, nhosts=3)
    run.agents[0].kill()
    run.wait_for_plays(run.wait_for_group(2, 2))
    leader = next(a for a in run.agents if "this agent leads now" in a.words())
    leader.kill()
    return run.finish(least=2, killed=(run.agents[0], leader))


def a_fixed_number_waits_for_a_host(bench, folder):
    run = begun(bench, folder, ranks="4", deadline_s=10)
    run.agents[1].kill()
    run.wait_for(lambda: "was lost" in run.agents[0].words(), "loss of the agent")
    time.sleep(0.5)
    run.start()
    return run.finish(killed=run.agents[1:2])


def a_fixed_number_waits_in_vain(bench, folder):
    run = begun(bench, folder, ranks="3", per_host=1, nhosts=3, deadline_s=2)
    run.agents[2].kill()
    run.end(4, run.agents[2:])
    run.says("hosts for 2 ranks are here, and the job needs 3: no other agent has come within 2 s")
    return "all end with 4"


def the_last_step_is_done_while_a_host_dies(bench, folder, victim=1):
    run = begun(bench, folder)
    run.wait_for_step(bench.nsteps)
    run.agents[victim].kill_host()
    return run.finish(least=0, killed=(run.agents[victim],))


def the_last_step_is_done_while_the_leader_dies(bench, folder):
    return the_last_step_is_done_while_a_host_dies(bench, folder, 0)


def stand_still(run, pids):
    """Stops processes until the others have gone on without them."""
    last = run.epochs()[-1][0]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    epoch = run.wait_for(lambda: [e for e, _, _ in run.epochs() if e > last], "next group epoch")[0]
    run.wait_for_plays(epoch)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def the_second_host_stands_still(bench, folder):
    run = begun(bench, folder, deadline_s=2)
    agent = run.agents[1]
    stand_still(run, [agent.process.pid, *agent.ranks().values()])
    said = run.finish(lost=[agent])
    run.says("is silent: it counts as lost")
    run.says("another agent holds the lock of the run's folder: this side ends|another side of the network has gone on")
    return said


def the_leading_agent_stands_still(bench, folder):
    run = begun(bench, folder, ranks="1:3", per_host=1, nhosts=3, deadline_s=2)
    stand_still(run, [run.agents[0].process.pid])
    said = run.finish(lost=run.agents[:1])
    run.says("1 of the 3 hosts of the last group are on this side, less than half: this side ends")
    return said


def a_spare_host_takes_the_place(bench, folder):
    run = begun(bench, folder, ranks="4", nhosts=3)
    victim = next(a for a in run.agents[1:] if a.ranks())
    victim.kill()
    said = run.finish(killed=[victim])
    run.says("group epoch 2: 4 ranks on 2 hosts")
    return said


def a_spare_host_lost(bench, folder):
    run = begun(bench, folder, ranks="4", nhosts=3)
    spare = next(a for a in run.agents if not a.ranks())
    spare.kill()
    said = run.finish(least=0, killed=[spare])
    check(len(run.epochs()) == 1, f"ranks were restarted:\n{run.words()}")
    return said


def busy_run(bench, folder, **how):
    return begun(bench, folder, step=2, settings=("elastic.leave_out=2.5",), **how)


def test_f37_a_busy_host_leaves_the_run(bench, folder, victim=1):
    run = busy_run(bench, folder)
    agent = run.agents[victim]
    with hosts.Hindered(agent):
        agent.end(4)
    said = run.finish(lost=[agent])
    times = re.search(r"the host of rank \d \(.*\) has computed ([\d.]+) times as long as the others for 40 steps",
                      run.words())
    check(times and float(times[1]) >= 2.5, f"how busy the host is, is not said:\n{run.words()}")
    run.says("host .* computes much longer than the others: it leaves the run")
    run.says("group epoch [23]: 2 ranks on 1 host")  # 3: the leader has left
    return f"{said}; {times[1]} times as long"


def the_busy_host_leads(bench, folder):
    return test_f37_a_busy_host_leaves_the_run(bench, folder, 0)


def a_busy_host_that_is_needed_stays(bench, folder):
    run = busy_run(bench, folder, ranks="4")
    with hosts.Hindered(run.agents[1]):
        run.wait_for(lambda: "it stays, because the run needs it" in run.words(), "busy host that stays")
    said = run.finish(least=0)
    check(len(run.epochs()) == 1, f"ranks were restarted:\n{run.words()}")
    return said


# ---- signals ----

def signal_case(number, host):
    def case(bench, folder):
        run = begun(bench, folder)
        run.agents[host].process.send_signal(number)
        run.end(128 + number)
        stopped = run.steps()
        check(stopped < bench.nsteps, "the run went on to its end")
        again = hosts.Run(bench, folder)
        again.finish(least=0)
        return f"stopped after step {stopped}"
    case.__name__ = f"{signal.Signals(number).name} to the agent of host {host}"
    return case


def a_signal_while_ranks_recover(bench, folder):
    run = begun(bench, folder)
    run.lose(3)
    time.sleep(0.03)
    run.agents[1].process.send_signal(signal.SIGTERM)
    run.end(143)
    return hosts.Run(bench, folder).finish(least=0)


def a_signal_while_the_group_grows(bench, folder, number=signal.SIGTERM):
    run = begun(bench, folder)
    run.agents[1].kill()
    run.wait_for_plays(run.wait_for_group(2, 1))
    run.start()
    run.wait_for(lambda: "the group grows" in run.words(), "growing group")
    run.agents[0].process.send_signal(number)
    run.end(128 + number, killed=run.agents[1:2])
    return hosts.Run(bench, folder).finish(least=0)


def a_second_signal_of_the_group_that_grows(bench, folder):
    return a_signal_while_the_group_grows(bench, folder, signal.SIGUSR1)


def a_signal_while_the_first_agent_waits(bench, folder):
    """Both agents that have come end, because nobody leads any more."""
    run = hosts.Run(bench, folder, ranks="3", per_host=1, deadline_s=60)
    time.sleep(0.5)
    run.agents[0].process.send_signal(signal.SIGTERM)
    for agent in run.agents:
        agent.end(143, 5)
    return "all end with 143"


def a_signal_while_another_agent_waits(bench, folder):
    """That agent alone ends."""
    run = hosts.Run(bench, folder, ranks="3", per_host=1, deadline_s=60)
    time.sleep(0.5)
    run.agents[1].process.send_signal(signal.SIGTERM)
    run.agents[1].end(143, 5)
    run.start()
    run.start()
    for k in (0, 2, 3):
        run.agents[k].end(0)
    check(weights_in(run.words()) == bench.undisturbed(run.settings), f"other weights:\n{run.words()}")
    return "it alone ends"


# ---- agents and connections that do not belong here ----

def write_mnist(folder, count):
    """Writes blank digits under the names of MNIST."""
    os.makedirs(folder)
    for part, n in (("train", count), ("t10k", 8)):
        with open(os.path.join(folder, f"{part}-images-idx3-ubyte"), "wb") as f:
            f.write(struct.pack(">4i", 0x803, n, 28, 28) + bytes(784 * n))
        with open(os.path.join(folder, f"{part}-labels-idx1-ubyte"), "wb") as f:
            f.write(struct.pack(">2i", 0x801, n) + bytes(k % 10 for k in range(n)))


def data_that_one_host_lacks(bench, folder):
    whole, bare = os.path.join(folder, "whole"), os.path.join(folder, "bare")
    write_mnist(os.path.join(whole, "data"), 96)
    os.mkdir(bare)
    run = hosts.Run(bench, folder, start=False, settings=("data.set=mnist", "data.path=/proc/self/cwd/data",
                                                          "data.train_samples=96", "data.test_samples=8"))
    run.start(folder=whole)
    run.start(folder=bare)
    run.end(3)
    run.says("cwd/data")
    return "all end with 3"


def refused(run, code, flags, words, limit_s=20):
    """An agent with these flags ends with the code and says these words."""
    began = time.monotonic()
    agent = run.start(flags=flags)
    agent.end(code, limit_s)
    check(words in agent.words(), f"no words '{words}':\n{agent.words()}")
    run.agents.remove(agent)
    return time.monotonic() - began


def agents_that_do_not_belong_here(bench, folder):
    """None of them disturbs the run."""
    run = begun(bench, folder, step=5)
    where = run.text().split("/")[0]
    refused(run, 2, ["--join", "nonsense"], "is not the text by which an agent joins")
    refused(run, 5, ["--join", where + "/abcdef"], "refuses this agent: it belongs to another run")
    refused(run, 5, ["--join", run.text(), "--set", "seed=7"], "refuses this agent: its job is another one")
    refused(run, 2, ["--listen", "127.0.0.1"],
            f"another agent leads a run in this folder: join it with --join {run.text()}")
    check(not run.ended(), "the run ended before it could be disturbed")
    return run.finish(least=0)


def nobody_listens(bench, folder):
    run = hosts.Run(bench, folder, start=False, deadline_s=2)
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    seconds = refused(run, 5, ["--join", f"127.0.0.1:{port}/abcdef"], "is not reached at 127.0.0.1")
    check(1.9 < seconds < 6, f"it took {seconds:.1f} s")
    return f"exit code 5 after {seconds:.1f} s"


def bytes_that_no_agent_sends(bench, folder):
    run = begun(bench, folder, step=5)
    address, port = run.text().split("/")[0].rsplit(":", 1)
    open_ones = []
    for words in (b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", os.urandom(100000), bytes(4096), b""):
        for _ in range(5):
            s = socket.create_connection((address, int(port)), 5)
            try:
                s.sendall(words)
            except OSError:
                pass  # the agent has hung up
            open_ones.append(s)
    said = run.finish(least=0)
    for s in open_ones:
        s.close()
    return said


# ---- other methods ----

def method_undisturbed(name):
    def case(bench, folder):
        run = begun(bench, folder, settings=(f"method.name={name}",), sums=())
        run.end(0)
        run.says(r"weights \w+ step")
        check(not run.restarts(), f"restarts: {run.restarts()}")
        return "ends well"
    case.__name__ = f"{name} over two agents"
    return case


def method_goes_on(name, lose, restarts, killed=None):
    """Returns a case: a run of two hosts loses something and ends well, after the number of restarts."""
    def case(bench, folder):
        run = begun(bench, folder, settings=(f"method.name={name}",), sums=(), step=15)
        run.wait_for(lambda: any(n.startswith("step_") and n[5:].isdigit() for n in run.checkpoints()), "checkpoint")
        lose(run)
        run.end(0, () if killed is None else (run.agents[killed],))
        check(len(run.restarts()) == restarts, f"restarts {run.restarts()}, not {restarts}:\n{run.words()}")
        run.says(r"weights \w+ step")
        return f"{restarts} restarts"
    what = "rank" if killed is None else f"host {killed}"
    case.__name__ = f"{name} loses a {what}" + (" that is replaced" if restarts else "")
    return case


def method_takes_a_host_back(name):
    """Returns a case: workers at a centre lose a host, go on without a restart, and begin again when it is back."""
    def case(bench, folder):
        run = begun(bench, folder, settings=(f"method.name={name}", "steps=600"), sums=())
        run.agents[1].kill()
        run.wait_for_step(run.steps() + 10)
        check(len(run.epochs()) == 1, f"ranks were restarted:\n{run.words()}")
        run.start()
        run.wait_for_plays(run.wait_for_group(4, 2, after=1))
        run.end(0, run.agents[1:2])
        run.says("the group grows from 2 to 4 ranks: all ranks save the step(.*\n)*weights \\w+ step 600 ")
        return f"back at step {run.restarts()[0]['step']}"
    case.__name__ = f"{name} loses a host and gets it back"
    return case


CENTRES = ("easgd", "async-sgd")
METHODS = [method_undisturbed(n) for n in ("local-sgd", *CENTRES)]
METHODS += [method_goes_on("local-sgd", lambda run: run.lose(3), 1),
            method_goes_on("local-sgd", lambda run: run.agents[1].kill(), 1, 1)]
for centre in CENTRES:
    METHODS += [method_goes_on(centre, lambda run: run.lose(3), 0),
                method_goes_on(centre, lambda run: run.agents[1].kill(), 0, 1),
                method_goes_on(centre, lambda run: run.lose(0), 1),
                method_goes_on(centre, lambda run: run.agents[0].kill(), 1, 0),
                method_takes_a_host_back(centre)]

SIGNALS = [signal_case(n, host) for n in (signal.SIGTERM, signal.SIGUSR1) for host in (0, 1)]
SHORT = [a_rank_of_the_second_host_lost, the_second_agent_killed, the_leader_killed_and_its_host_comes_back,
         SIGNALS[1], agents_that_do_not_belong_here]
LONG = [*(c for c in SHORT if c not in SIGNALS), rank_zero_lost, a_rank_on_each_host_lost_at_once,
        a_rank_lost_during_recovery, four_hosts_lose_one_and_get_it_back, the_leader_killed,
        the_leader_killed_while_ranks_recover, the_leader_killed_when_the_next_epoch_was_formed,
        the_leader_killed_during_a_checkpoint, two_leaders_lost_after_each_other, a_fixed_number_waits_for_a_host,
        a_fixed_number_waits_in_vain, the_second_host_stands_still, the_leading_agent_stands_still,
        the_last_step_is_done_while_a_host_dies, the_last_step_is_done_while_the_leader_dies, *SIGNALS,
        a_signal_while_ranks_recover, a_signal_while_the_group_grows, a_second_signal_of_the_group_that_grows,
        a_signal_while_the_first_agent_waits, a_signal_while_another_agent_waits, a_spare_host_takes_the_place,
        a_spare_host_lost, test_f37_a_busy_host_leaves_the_run, the_busy_host_leads, a_busy_host_that_is_needed_stays,
        data_that_one_host_lacks, nobody_listens, bytes_that_no_agent_sends, *METHODS]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("program")
    p.add_argument("--long", action="store_true", help="all cases")
    p.add_argument("--only", default="", help="cases whose names contain these words")
    p.add_argument("--at-once", type=int, default=2)
    p.add_argument("--model", default="lenet")
    options = p.parse_args()
    hosts.prepare()
    cases = [c for c in (LONG if options.long or options.only else SHORT)
             if options.only in c.__name__.replace("_", " ")]
    with tempfile.TemporaryDirectory(prefix="agents") as folder:
        bench = hosts.Bench(os.path.abspath(options.program), folder, model=options.model)
        good = hosts.play_all(bench, cases, options.at_once)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
