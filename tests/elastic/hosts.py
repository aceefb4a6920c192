# SPDX-License-Identifier: Apache-2.0
"""hosts.py: runs of several agents, each of which stands for a host. Shared by agents.py, cuts.py and agent_kills.py."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import losses
from losses import Failed, check
from ranks import children, kill, lines, wait_until, weights_in

JOB = """model: %s
data: {set: digits, train_samples: 2000, test_samples: 100}
batch: 24
steps: %d
log_every: 1
eval_every_epochs: 0
threads: 1
checkpoint: {every_steps: 10}
exchange: {deadline_s: %g}
optimiser: {rule: momentum, momentum: 0.9, lr: 0.005}
"""
STEPS = 120
CANONICAL = ("reduction=canonical", "slots=4")


class Agent:
    """The agent of one host. folder: its working folder; before: a command that starts it, such as one of a
    namespace."""

    def __init__(self, run, number, flags, host=0, folder=None, before=None, environment=None):
        self.said = os.path.join(run.folder, f"said{number}")
        self.run, self.number, self.host = run, number, host
        command = before(run.command + flags) if before else run.command + flags
        variables = {**os.environ, "TMPDIR": run.bench.temporary, **(environment or {})}
        with open(self.said, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                            cwd=folder, env=variables)

    def words(self):
        with open(self.said, encoding="utf-8") as f:
            return f.read()

    def ended(self):
        return self.process.poll() is not None

    def ranks(self):
        return children(self.process.pid)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def kill_host(self):
        """Kills the agent and its ranks at once."""
        victims = [self.process.pid, *self.ranks().values()]
        for pid in victims:
            kill(pid)
        self.process.wait()

    def end(self, code, limit_s=120):
        try:
            got = self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise Failed(f"agent {self.number} has not ended after {limit_s} s:\n{self.run.words()}") from None
        got = got if got >= 0 else 128 - got
        check(got == code, f"agent {self.number}: exit code {got}, not {code}:\n{self.run.words()}")


class Hindered:
    """Lets the ranks of an agent run for a tenth of the time, as a host does that is full of other work. Within `with`."""

    def __init__(self, agent):
        self.agent, self.stopped = agent, threading.Event()
        self.thread = threading.Thread(target=self.hinder, daemon=True)

    def hinder(self):
        while not self.stopped.wait(0.005):
            pids = list(self.agent.ranks().values())
            for number, seconds in ((signal.SIGSTOP, 0.045), (signal.SIGCONT, 0)):
                for pid in pids:
                    try:
                        os.kill(pid, number)
                    except ProcessLookupError:
                        pass
                time.sleep(seconds)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()


class Run(losses.Run):
    """A run of several agents; the first one leads."""

    def __init__(self, bench, folder, settings=(), ranks="2:4", per_host=2, restarts=9, deadline_s=5, nhosts=2,
                 before=None, start=True, address="127.0.0.1", sums=CANONICAL):
        settings = (*sums, *settings)
        self.bench, self.folder, self.settings, self.nsteps = bench, folder, settings, bench.nsteps
        self.out = os.path.join(folder, "out")
        self.metrics = os.path.join(self.out, "metrics.jsonl")
        self.before, self.address, self.agents = before, address, []
        self.command = [bench.program, "train", bench.job, "--out", self.out, "--quiet", "--ranks", ranks,
                        "--ranks-per-host", str(per_host), "--max-restarts", str(restarts), "--set",
                        f"exchange.deadline_s={deadline_s}"]
        for setting in settings:
            self.command += ["--set", setting]
        for k in range(nhosts if start else 0):
            self.start(host=k)

    def start(self, host=0, flags=None, **how):
        """Starts an agent: the first one listens, others join the agent that leads."""
        number = len(self.agents)
        if flags is None:
            flags = ["--join", self.text()] if number else ["--listen", self.address]
        before = self.before and (lambda command: self.before(host, command))
        self.agents.append(Agent(self, number, list(flags), host=host, before=before, **how))
        return self.agents[-1]

    def text(self):
        """Returns the text by which an agent joins."""
        def read():
            try:
                with open(os.path.join(self.out, "leader"), encoding="utf-8") as f:
                    return f.readline().strip()
            except OSError:
                return ""
        return self.wait_for(read, "text of the leading agent")

    def words(self):
        return "".join(f"-- agent {a.number}\n{a.words()}" for a in self.agents)

    def ended(self):
        return bool(self.agents) and all(a.ended() for a in self.agents)

    def lose(self, rank):
        """Kills a rank; returns its number of the process."""
        pid = self.wait_for(lambda: self.ranks().get(rank, 0), f"rank {rank}")
        kill(pid)
        return pid

    def ranks(self):
        """Returns all ranks, as a dictionary from rank to process number."""
        return {rank: pid for a in self.agents for rank, pid in a.ranks().items()}

    def wait_for_group(self, nranks, nhosts, after=0):
        """Waits for a group epoch of this size with a number above `after`; returns the number."""
        def found():
            return [e for e, n, h in self.epochs() if e > after and (n, h) == (nranks, nhosts)]
        return self.wait_for(found, f"group of {nranks} ranks on {nhosts} hosts after epoch {after}")[-1]

    def epochs(self):
        """Returns number, ranks and hosts of each group epoch of which an agent speaks, in the order of numbers."""
        found = re.findall(r"group epoch (\d+): (\d+) ranks? on (\d+) host", self.words())
        return sorted(tuple(map(int, f)) for f in found)

    def wait_for_plays(self, epoch):
        """Waits for a step that was done in the epoch `epoch` or a later one; returns when its line was there."""
        def found():
            seen = epoch == 1
            for e in lines(self.metrics):
                seen |= e["ev"] == "restart" and e["epoch"] >= epoch
                if seen and e["ev"] == "step":
                    return True
            return False
        self.wait_for(found, f"step in epoch {epoch}")
        return time.monotonic()

    def end(self, code, killed=(), lost=()):
        """All agents end with the exit code, those of `killed` with 137, and those of `lost` with 4."""
        for a in self.agents:
            a.end(137 if a in killed else 4 if a in lost else code)

    def check_epochs(self):
        numbers = [e for e, _, _ in self.epochs()]
        check(len(numbers) == len(set(numbers)), f"a number of an epoch comes twice: {numbers}\n{self.words()}")

    def finish(self, least=1, killed=(), lost=()):
        """The run ends well, with the weights of the undisturbed run and after at least `least` restarts."""
        self.end(0, killed, lost)
        want, got = self.bench.undisturbed(self.settings), weights_in(self.words())
        check(got == want, f"weights {got}, not {want}:\n{self.words()}")
        self.check_metrics()
        self.check_epochs()
        # metrics.jsonl has fewer: a restart that goes back behind an earlier one takes its line away.
        n = len(self.epochs()) - 1
        check(n >= least, f"{n} restarts, not {least} or more:\n{self.words()}")
        return f"{n} restart{'s' if n != 1 else ''}"

    def says(self, pattern):
        check(re.search(pattern, self.words()), f"no words '{pattern}':\n{self.words()}")


class Bench(losses.Bench):
    """What all cases share: the program, the job, and the weights of the undisturbed run."""

    def __init__(self, program, folder, nsteps=STEPS, deadline_s=5, model="lenet"):
        super().__init__(program, folder, model)
        self.nsteps = nsteps
        self.temporary = os.path.join(folder, "temporary")  # of all runs
        os.mkdir(self.temporary)
        with open(self.job, "w", encoding="utf-8") as f:
            f.write(JOB % (model, nsteps, deadline_s))

    def undisturbed(self, settings, nranks=4):
        key = tuple(settings)
        with self.lock:
            if key not in self.known:
                out = tempfile.mkdtemp(prefix="plain", dir=self.folder)
                flags = [f for s in settings for f in ("--set", s)]
                done = subprocess.run([self.program, "train", self.job, "--ranks", str(nranks), "--quiet", "--out", out,
                                       *flags], stdout=subprocess.PIPE, text=True, check=True)
                self.known[key] = weights_in(done.stdout)
        return self.known[key]


def play_all(bench, cases, at_once):
    """Like losses.play_all; it fails, too, if a temporary file is left behind."""
    good, left = losses.play_all(bench, cases, at_once), os.listdir(bench.temporary)
    if left:
        print(f"FAILED  temporary files are left: {left}")
    return good and not left


def prepare():
    """Sets the environment of all runs."""
    os.environ["OMP_WAIT_POLICY"] = "passive"
    # UCX makes a file in /dev/shm and unlinks it at once; a rank that is killed in between leaves it there. It is of no
    # use: ranks of one host share other memory.
    os.environ.setdefault("UCX_TLS", "^sm")
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        os.environ.pop(name, None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
