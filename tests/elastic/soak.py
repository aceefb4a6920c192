#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak.py: draws faults by a seed, plays them on small runs, and prints the shortest sequence that spoils a run.

soak.py PROGRAM [--seed N] [--minutes M] [--play SEQUENCE]

A sequence is a shape and faults, such as `agents zero@12:0.40 noise@30:0.71`: a fault happens once the step after the @
is done, and the number after the colon draws its victim, its length or its bytes. The shape `host` is one launcher with
three ranks, `agents` two agents with two ranks each. Each run must end with the weights of the undisturbed run, each
step once in metrics.jsonl, and no process left. When a run does not, faults are dropped one by one as long as what is
left still fails, and the shortest sequence is printed with the command that repeats it.
"""
import argparse
import collections
import contextlib
import glob
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from losses import Failed, check
from ranks import children, kill, lines, lock_of, processes_with, state_of, wait_until, weights_in

STEPS, EVERY = 90, 15
JOB = f"""model: lenet
data: {{set: digits, train_samples: 2000, test_samples: 100}}
batch: 32
steps: {STEPS}
reduction: canonical
slots: 4
threads: 1
log_every: 1
eval_every_epochs: 0
checkpoint: {{every_steps: {EVERY}}}
exchange: {{deadline_s: 20}}
optimiser: {{rule: momentum, momentum: 0.9, lr: 0.02}}
"""
AGENT = ("--ranks", "2:4", "--ranks-per-host", "2")
RESTARTS, DISK_MB, LIMIT_S = "99", 48, 60
SHORTER = 2  # plays of a shorter sequence that must all go well before it counts as one that does not fail
SAVED, FULL = 128 + signal.SIGTERM, "No space left on device"
RENDEZVOUS, TOO_LATE = 5, "the first agent of the run is not reached"  # an agent that came when all others had ended


Fault = collections.namedtuple("Fault", "kind at by")  # what, after which step, and 0 to 1, which draws the rest


class Play:
    """One run with its faults: launchers by host, their words, and the folder that they share."""

    def __init__(self, bench, shape):
        self.bench, self.shape = bench, shape
        self.folder = tempfile.mkdtemp(prefix="run", dir=bench.folder)
        self.disk = tempfile.mkdtemp(prefix="disk", dir=self.folder)
        if bench.mounts:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "none", self.disk], check=True)
        self.out = os.path.join(self.disk, "out")
        self.metrics = os.path.join(self.out, "metrics.jsonl")
        self.said = os.path.join(self.folder, "said")
        self.hosts, self.stale = {}, set()

    # ---- launchers ----

    def launch(self, host, *more):
        command = [self.bench.program, "train", self.bench.job, "--out", self.out, "--quiet", "--max-restarts",
                   RESTARTS, *more]
        with open(self.said, "a", encoding="utf-8") as said:
            self.hosts[host] = subprocess.Popen(command, stdout=said, stderr=said, stdin=subprocess.DEVNULL)

    def leader(self):
        """Returns the process number of the agent that leads and the text by which others join it; 0 and nothing if no
        agent leads."""
        pid, text = lock_of(os.path.join(self.out, "leader"))
        is_ours = pid in [p.pid for p in self.hosts.values()] and "/" in text and text not in self.stale
        return (pid, text) if is_ours else (0, "")

    def start(self):
        self.hosts = {}
        if self.shape == "host":
            self.launch(0, "--ranks", "3")
            return
        self.launch(0, *AGENT, "--listen", "127.0.0.1")
        self.join(1)

    def join(self, host):
        """Starts an agent as soon as another one leads; none if the run ends before."""
        text = self.wait_for(lambda: self.leader()[1], "agent that leads")
        if text:
            self.launch(host, *AGENT, "--join", text)

    def ended(self):
        return all(p.poll() is not None for p in self.hosts.values())

    def words(self):
        return pathlib.Path(self.said).read_text(encoding="utf-8", errors="replace")

    def ranks(self):
        """Returns the process numbers of all ranks, rank 0 first."""
        found = {}
        for p in self.hosts.values():
            found.update(children(p.pid))
        return [found[r] for r in sorted(found)]

    def step(self):
        return max([e["step"] for e in lines(self.metrics) if e["ev"] == "step"], default=0)

    def wait_for(self, holds, what):
        """Waits until holds() returns something true; returns that, or False if the run has ended."""
        value = wait_until(lambda: holds() or self.ended() and "ended", what, LIMIT_S)
        return False if value == "ended" else value

    # ---- ends ----

    def end(self, codes):
        """Waits for all launchers; returns their exit codes, each of which must be one of these."""
        wait_until(self.ended, f"end of the run, which is at step {self.step()},", LIMIT_S)
        got = [p.returncode if p.returncode >= 0 else 128 - p.returncode for p in self.hosts.values()]
        late = set() if TOO_LATE not in self.words() else {RENDEZVOUS}
        check(all(c in codes or c in late for c in got), f"exit codes {got}, not of {codes}")
        return [c for c in got if c in codes]

    def kill_all(self):
        self.stale.add(self.leader()[1])
        for pid in [p.pid for p in self.hosts.values()] + processes_with(self.folder + "/"):
            kill(pid)
        for p in self.hosts.values():
            p.wait()
        wait_until(lambda: not processes_with(self.folder + "/"), "end of killed processes", LIMIT_S)

    def finish(self):
        if not self.end((0,)):  # the agents that are left came when all others were lost
            self.start()
            self.end((0,))
        check(weights_in(self.words()) == self.bench.want, f"the weights are not {self.bench.want}")
        steps = [e["step"] for e in lines(self.metrics) if e["ev"] == "step"]
        check(steps == list(range(1, STEPS + 1)), f"metrics.jsonl has the steps {steps}")
        wait_until(lambda: not processes_with(self.folder + "/"), "end of all processes", 3)

    def close(self):
        self.kill_all()
        if self.bench.mounts:
            subprocess.run(["umount", "-l", self.disk], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- faults ----

    def strike(self, fault):
        """Waits for the step of the fault, and lets it happen; a run that has ended before meets none."""
        if self.wait_for(lambda: self.step() >= fault.at, f"step {fault.at}"):
            KINDS[fault.kind](self, fault.by)
            self.bench.met[fault.kind] += 1

    def kill_ranks(self, by, n=1):
        found = self.wait_for(self.ranks, "rank") or []
        for k in range(min(n, len(found))):
            kill(found[(int(by * len(found)) + k) % len(found)])

    def stop(self, by):
        found = self.wait_for(self.ranks, "rank") or []
        for pid in found[int(by * len(found)):][:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.2 + by)
                os.kill(pid, signal.SIGCONT)

    def lose_agent(self, by):
        """Kills an agent, waits for the end of its ranks, and starts another one in its place."""
        host = sorted(self.hosts)[int(by * len(self.hosts))]
        lost = self.hosts[host]
        leads, text = self.leader()
        if leads == lost.pid:
            self.stale.add(text)
        ranks = children(lost.pid).values()
        if not kill(lost.pid) or lost.wait() == 0:
            return
        del self.hosts[host]
        wait_until(lambda: all(state_of(p) in ("", "Z") for p in ranks), "end of the ranks of an agent", 5)
        self.join(host) if self.hosts else self.start()

    def noise(self, by):
        """Strangers speak to the agent that leads: bytes by chance, a long length, and nothing at all."""
        text = self.wait_for(lambda: self.leader()[1], "agent that leads")
        draw, port = random.Random(by), int(re.search(r":(\d+)/", text).group(1)) if text else 0
        calls = [draw.randbytes(draw.choice((1, 40, 400, 40000))), b"\xff" * 64, b""] if text else []
        with contextlib.ExitStack() as callers:
            for words in calls:
                with contextlib.suppress(OSError):
                    callers.enter_context(socket.create_connection(("127.0.0.1", port), 5)).sendall(words)
            time.sleep(0.3 * by)

    def term(self, _):
        """Asks for an end; the run saves, and the same commands go on with it."""
        for p in self.hosts.values():
            p.send_signal(signal.SIGTERM)
        self.end((0, SAVED))
        self.start()

    def all(self, _):
        self.kill_all()
        self.start()

    def corrupt(self, by):
        """Kills all, spoils the newest checkpoint, and goes on: an older one or the beginning is taken."""
        self.kill_all()
        found = sorted(c for c in glob.glob(f"{self.out}/checkpoints/step_*") if c[-1].isdigit())
        if found:
            path = pathlib.Path(sorted(glob.glob(f"{found[-1]}/*"))[int(by * len(os.listdir(found[-1])))])
            spoiled = bytearray(path.read_bytes())
            spoiled[int(by * len(spoiled))] ^= 1
            path.write_bytes(spoiled)
        before = self.words().count("not whole")
        self.start()
        if found:
            self.wait_for(lambda: self.words().count("not whole") > before, "words about a checkpoint that is not whole")
            check(self.words().count("not whole") > before, f"nothing was said of {found[-1]}, which is spoiled")

    def full(self, _):
        """Fills the disk until the run ends by it, then makes room and goes on."""
        filler = os.path.join(self.disk, "filler")
        with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as f:
            while True:
                f.write(bytes(1 << 16))
        check(not any(self.end((0, 1))) or FULL in self.words(), "the full disk is not named")
        os.unlink(filler)
        self.start()


KINDS = {"one": Play.kill_ranks, "zero": lambda run, _: run.kill_ranks(0), "two": lambda run, by: run.kill_ranks(by, 2),
         "stop": Play.stop, "term": Play.term, "all": Play.all, "corrupt": Play.corrupt, "full": Play.full,
         "agent": Play.lose_agent, "noise": Play.noise}
AGENTS_ALONE = ("agent", "noise")


class Bench:
    """What all runs share: the program, the job, and the weights of the undisturbed run."""

    def __init__(self, program, folder, mounts):
        self.program, self.folder, self.mounts, self.met = program, folder, mounts, collections.Counter()
        self.job = os.path.join(folder, "job.yaml")
        pathlib.Path(self.job).write_text(JOB, encoding="utf-8")
        done = subprocess.run([program, "train", self.job, "--ranks", "2", "--quiet", "--out", f"{folder}/plain"],
                              stdout=subprocess.PIPE, text=True, check=True)
        self.want = weights_in(done.stdout)

    def kinds(self, shape):
        return [k for k in KINDS if (shape == "agents" or k not in AGENTS_ALONE) and (self.mounts or k != "full")]

    def play(self, shape, faults):
        """Returns the words of a run that fails; an empty text if it ends as it should."""
        run = Play(self, shape)
        try:
            run.start()
            for fault in faults:
                run.strike(fault)
            run.finish()
        except (Failed, RuntimeError) as e:
            return f"{e}\n{run.words()[-2500:]}"
        finally:
            run.close()
        return ""

    def shrink(self, shape, faults, words):
        """Drops faults as long as what is left still fails; returns what is left and its words."""
        k = 0
        while k < len(faults):
            shorter = faults[:k] + faults[k + 1:]
            found = next(filter(None, (self.play(shape, shorter) for _ in range(SHORTER))), "")
            print(" without" + text_of("", faults[k:k + 1]), "still fails" if found else "ends as it should", flush=True)
            if found:
                faults, words = shorter, found
            else:
                k += 1
        return faults, words


def text_of(shape, faults):
    return " ".join([shape, *(f"{f.kind}@{f.at}:{f.by:.2f}" for f in faults)])


def read(text):
    """Reads a sequence as text_of writes it."""
    shape, *faults = text.split()
    found = [re.fullmatch(r"(\w+)@(\d+):([01]\.\d+)", f) for f in faults]
    if shape not in ("host", "agents") or not all(f and f[1] in KINDS for f in found):
        sys.exit(f"'{text}' is no sequence; a sequence is such as 'agents zero@12:0.40'; faults: {', '.join(KINDS)}")
    return shape, [Fault(f[1], int(f[2]), float(f[3])) for f in found]


def draw_sequence(bench, seed, k):
    """Returns the sequence number k of a seed."""
    draw = random.Random(seed * 1000003 + k)
    shape = ("host", "agents")[k % 2]
    steps = sorted(draw.randrange(2, STEPS - 10) for _ in range(draw.randint(1, 4)))
    return shape, [Fault(draw.choice(bench.kinds(shape)), at, round(0.99 * draw.random(), 2)) for at in steps]


def soak(bench, options):
    """Plays until the time is over; returns whether all runs ended as they should."""
    until, k = time.monotonic() + 60 * options.minutes, 0
    while not k or time.monotonic() < until and not options.play:
        shape, faults = read(options.play) if options.play else draw_sequence(bench, options.seed, k)
        began = time.monotonic()
        words = bench.play(shape, faults)
        print("FAILED" if words else "ok    ", f"{time.monotonic() - began:5.1f} s  {text_of(shape, faults)}", flush=True)
        if words:
            faults, words = bench.shrink(shape, faults, words)
            print(f"{words}\nthe shortest sequence that fails; this command repeats it:\n"
                  f"  ./dev soak --play '{text_of(shape, faults)}'")
            return False
        k += 1
    print(f"{k} runs ended with the weights {bench.want} of the undisturbed run; faults met:", *sorted(bench.met.items()))
    return True


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("program")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--minutes", type=float, default=5)
    p.add_argument("--play", metavar="SEQUENCE", help="this sequence alone, such as 'agents zero@12:0.40'")
    options = p.parse_args()
    apart = os.geteuid() == 0 and subprocess.call(["unshare", "-m", "true"], stderr=subprocess.DEVNULL) == 0
    if apart and "SOAK_APART" not in os.environ:  # mounts of full disks go with this process
        os.execvpe("unshare", ["unshare", "-m", sys.executable, *sys.argv], {**os.environ, "SOAK_APART": "1"})
    for name in ("RANK", "WORLD_SIZE", "SOAK_APART"):
        os.environ.pop(name, None)
    os.environ.update(OMP_WAIT_POLICY="passive", OMP_NUM_THREADS="1")
    with tempfile.TemporaryDirectory(prefix="soak") as folder:
        if not soak(Bench(os.path.abspath(options.program), folder, apart), options):
            sys.exit(1)


if __name__ == "__main__":
    main()
