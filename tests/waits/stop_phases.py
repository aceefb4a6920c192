#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stops each rank in each phase of each method, for longer than the deadline and for less (stop_at.c does it, at an
exact place), and both ranks for longer.

usage: tests/waits/stop_phases.py TUTTI STOP_AT_LIBRARY [--long] [--only WORDS] [--at-once N]

Longer: every other rank ends with 4 (5 while the group is forming), names who stands still after about two seconds and
at the end, and ends at the deadline, counted from when it began to wait. Less: all end with 0. Both: they do too,
because time in which a process itself stood still is not the others' silence. Exit code 1 and a line for each case
that does not. A place that a rank does not come to, such as the trace of a method that has none, is counted apart;
each rank must come to those that all have.
"""
import argparse
import concurrent.futures
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

DEADLINE_S, SHORT_S = 3.0, 0.8
MOST_START_S = 60       # to the place, on a busy machine
MOST_LATE_S = 20        # beyond the deadline, on a busy machine; it is said how late they were
AFTER = "exchange bound|workers, before they go on their own"
# phase, place of rank 0, of the others; forming: the group is. Everywhere: each rank of each method comes there.
PHASES = [
    ("join", "listen", "meet", True, True),
    ("join, local sockets", "call=board", "mesh", True, True),
    ("load", "call=data: samples", "call=data: samples", False, True),
    ("init", "call=plan", "call=plan", False, True),
    ("where to start", "in=looks where to start", None, False, False),
    ("compile, proof", "call=proof of a schedule", "call=proof of a schedule", False, False),
    ("step", "look", "look", False, True),
    ("exchange", "ring", "ring", False, False),
    ("test begins", "long=tests", "long=tests", False, True),
    ("test", "in=tests", "in=tests", False, True),
    ("test ends", "call=evaluation", "call=evaluation", False, True),
    ("checkpoint", "long=writes a checkpoint", "long=writes a checkpoint", False, False),
    ("sync of a checkpoint", "sync", "sync", False, False),
    ("trace", "long=writes a trace", "call=trace", False, False),
    ("end", "call=end of the run", "call=end of the run", False, True),
]
QUICK = [("sync-sgd", 0, "sync of a checkpoint", "longer"), ("sync-sgd", 1, "test", "longer"), ("sync-sgd", 1, "test", "less"),
         ("local-sgd", 1, "step", "longer"), ("easgd", 0, "checkpoint", "longer"), ("async-sgd", 1, "test ends", "longer"),
         ("sync-sgd", 1, "trace", "term"), ("sync-sgd", 1, "join, local sockets", "longer"), ("easgd", 1, "step", "both")]
HOSTED = ("sync-sgd", "easgd", "async-sgd", "bounded-sgd")  # over two hosts, too


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return ""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Run:
    """Two ranks, started by hand, so that each one's exit code is seen."""

    def __init__(self, args, method, hosts, place=None, rank=0):
        self.folder = tempfile.TemporaryDirectory(prefix="stop_phases.")
        with open(f"{self.folder.name}/j.yaml", "w") as f:
            f.write(f"""model: lenet
method: {method['name']}
data: {{set: digits, train_samples: 192, test_samples: 1000}}
batch: 16
steps: 24
optimiser: {{rule: {method['rule']}, lr: 0.01}}
eval_every_epochs: 1
""")
        command = [args.tutti, "train", "j.yaml", "--out", "out"] + (["--trace", "4"] if method["traces"] else [])
        env = dict(os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), OMP_NUM_THREADS="1",
                   TUTTI_DEADLINE_S=str(DEADLINE_S), LD_PRELOAD=args.library, STOP_AFTER=AFTER)
        if place:
            env["STOP_AT"] = f"{rank}:{place}:1"
        self.ranks, self.logs = [], []
        for r in range(2):
            log = open(f"{self.folder.name}/{r}.log", "w+b")
            own = dict(env, RANK=str(r), **({"TUTTI_HOST_ID": f"h{r}", "TUTTI_WIRE": hosts} if hosts else {}))
            self.logs.append(log)
            self.ranks.append(subprocess.Popen(command, cwd=self.folder.name, env=own, stdout=log, stderr=log,
                                               stdin=subprocess.DEVNULL))

    def text(self, rank):
        self.logs[rank].seek(0)
        return self.logs[rank].read().decode(errors="replace")

    def wait_stop(self, rank):
        """Whether the rank has stopped itself; False: all have ended."""
        until = time.monotonic() + MOST_START_S
        while time.monotonic() < until:
            if state_of(self.ranks[rank].pid) == "T":
                return True
            if all(p.poll() is not None for p in self.ranks):
                return False
            time.sleep(0.01)
        raise TimeoutError("neither stopped nor ended")

    def wait_end(self, ranks, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until and any(self.ranks[r].poll() is None for r in ranks):
            time.sleep(0.01)
        return [self.ranks[r].poll() for r in ranks]

    def close(self):
        for p in self.ranks:
            if p.poll() is None:
                p.kill()
                p.send_signal(signal.SIGCONT)
            p.wait()
        for log in self.logs:
            log.close()
        self.folder.cleanup()


def check_longer(run, rank, forming):
    """Words about what is wrong, and how late the other was."""
    other = 1 - rank
    stopped = time.monotonic()
    code, = run.wait_end([other], DEADLINE_S + MOST_LATE_S)
    took, text = time.monotonic() - stopped, run.text(other)
    named = re.compile(rf"rank {rank}\b(?!: )")
    wanted = 5 if forming else 4
    if code is None:
        return f"rank {other} still waits after {took:.0f} s; it said: {text[-300:]!r}", took
    if code != wanted:
        return f"rank {other} ended with {code}, not {wanted}; it said: {text[-300:]!r}", took
    if not named.search(text.strip().splitlines()[-1]):
        return f"rank {other} does not name rank {rank}: {text[-300:]!r}", took
    if not forming and not re.search(rf"waits .*rank {rank} ", text.split("report of rank")[0]):
        return f"rank {other} did not name rank {rank} before the deadline: {text[:300]!r}", took
    if took < DEADLINE_S - 1:
        return f"rank {other} ended after {took:.1f} s, before the deadline: {text[-300:]!r}", took
    return "", took


def check_less(run, rank, seconds=SHORT_S):
    time.sleep(seconds)
    run.ranks[rank].send_signal(signal.SIGCONT)
    codes = run.wait_end([0, 1], MOST_START_S)
    return "" if codes == [0, 0] else f"ended with {codes}: {run.text(0)[-300:]!r} {run.text(1)[-300:]!r}"


def check_both(run, rank):
    """The one that waits is stopped in the midst of it, and goes on first."""
    other = run.ranks[1 - rank]
    time.sleep(0.1)
    other.send_signal(signal.SIGSTOP)
    time.sleep(DEADLINE_S + 1.5)
    other.send_signal(signal.SIGCONT)
    return check_less(run, rank, 0.1)


def check_term(run, rank):
    """SIGTERM to the one that waits: it says what that means, and the deadline stands."""
    time.sleep(0.5)
    run.ranks[1 - rank].send_signal(signal.SIGTERM)
    words, took = check_longer(run, rank, False)
    if not words and "signal 15: saves when the step at hand is done" not in run.text(1 - rank):
        words = f"nothing was said of the signal: {run.text(1 - rank)[-300:]!r}"
    return words, took


def check(run, rank, forming, how):
    if how == "term":
        return check_term(run, rank)
    if how == "longer":
        return check_longer(run, rank, forming)
    return (check_less if how == "less" else check_both)(run, rank), 0


def play(args, method, hosts, rank, phase, how):
    _, place0, place1, forming, everywhere = phase
    place = place1 if rank else place0
    if not place:
        return "absent", "", 0
    run = Run(args, method, hosts, place, rank)
    try:
        if not run.wait_stop(rank):
            ended = [p.returncode for p in run.ranks]
            if ended != [0, 0]:
                return "failed", f"ended with {ended} before the place: {run.text(0)[-300:]!r} {run.text(1)[-300:]!r}", 0
            return ("failed", "the rank never came there",
                    0) if everywhere and not (hosts and place == "mesh") else ("absent", "", 0)
        words, took = check(run, rank, forming, how)
        return ("failed" if words else "ok"), words, took
    except TimeoutError as e:
        return "failed", f"{e}: {run.text(0)[-300:]!r} {run.text(1)[-300:]!r}", 0
    finally:
        run.close()


def methods(args):
    """All that are to be played, with a rule that each one takes."""
    found = json.loads(subprocess.run([args.tutti, "methods", "--json"], capture_output=True, check=True).stdout)
    found = [m for m in found if args.long or m["name"] in {q[0] for q in QUICK}]
    with tempfile.TemporaryDirectory() as folder:
        for m in found:
            for rule in ("sgd", "momentum"):
                with open(f"{folder}/j.yaml", "w") as f:
                    f.write(f"model: lenet\nmethod: {m['name']}\ndata: {{set: digits}}\n"
                            f"batch: 16\nsteps: 1\noptimiser: {{rule: {rule}, lr: 0.01}}\n")
                done = subprocess.run([args.tutti, "train", "j.yaml", "--dry-run", "--ranks", "2"],
                                      cwd=folder,
                                      capture_output=True)
                if done.returncode == 0:
                    m["rule"] = rule
                    break
            else:
                sys.exit(f"FAILED: {m['name']}: {done.stderr.decode()}")
            m["traces"] = m["schedule"] == "synchronous"
    return {m["name"]: m for m in found}


def cases(args, known):
    by_name = {p[0]: p for p in PHASES}
    if not args.long:
        return [(known[m], "", rank, by_name[phase], how) for m, rank, phase, how in QUICK]
    every = [(m, hosts, rank, phase, how) for how in ("longer", "less", "both") for m in known.values()
             for hosts in (("", "tcp") if m["name"] in HOSTED else ("",)) for rank in (0, 1) for phase in PHASES]
    return [c for c in every if re.search(args.only, say(*c))]


def say(method, hosts, rank, phase, how):
    words = {"longer": "for longer than the "
                       "deadline", "less": "for less than the deadline", "both": "and then both for longer",
             "term": "for longer, and the other one gets SIGTERM"}
    return f"{method['name']}{', over ' + hosts if hosts else ''}: rank {rank} stopped in '{phase[0]}' {words[how]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tutti", type=os.path.abspath)
    parser.add_argument("library", type=os.path.abspath)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--at-once", type=int, default=0)
    args = parser.parse_args()
    counts, late, failed = {"ok": 0, "absent": 0, "failed": 0}, [], []
    todo = cases(args, methods(args))
    with concurrent.futures.ThreadPoolExecutor(args.at_once or (6 if args.long else len(todo))) as pool:
        running = {pool.submit(play, args, *c): c for c in todo}
        for done in concurrent.futures.as_completed(running):
            verdict, words, took = done.result()
            counts[verdict] += 1
            if verdict == "failed":
                failed.append(done)
                print(f"FAILED: {say(*running[done])}: {words}", flush=True)
            elif took:
                late.append(took - DEADLINE_S)
    late.sort()
    print(f"{counts['ok']} as they should, {counts['failed']} not, {counts['absent']} places that do not exist there")
    if late:
        print(
            f"after a stop the others ended {late[len(late) // 2]:+.1f} s from the deadline in the median, "
            f"{late[0]:+.1f} to {late[-1]:+.1f}"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
