#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""losses.py: takes ranks from small runs in every way that docs/elastic.md speaks of, and checks how the runs end.

losses.py PROGRAM [--long] [--only WORDS] [--at-once N] [--model NAME]

The weights of each run that goes on must be those of the undisturbed run. The program prints a line for each case and
exits with 1 if a case failed. Each case also fails if a process of its runs is left behind.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from ranks import children, kill, lines, processes_with, state_of, wait_until, weights_in

STEPS = 60
JOB = f"""data: {{set: digits, train_samples: 2000, test_samples: 100}}
batch: 24
steps: {STEPS}
log_every: 1
eval_every_epochs: 0
checkpoint: {{every_steps: 20}}
optimiser: {{rule: momentum, momentum: 0.9, lr: 0.02}}
"""
CANONICAL = ("reduction=canonical", "slots=4")
# Name, settings, steps between two exchanges, whether the short run has it.
METHODS = [
    ("sync-sgd, fast", (), 1, False),
    ("sync-sgd, canonical", CANONICAL, 1, True),
    ("sync-sgd, replicated updates", ("exchange.update=replicated",), 1, False),
    ("sync-sgd, two micro-batches a step", ("accumulate=2",), 1, False),
    ("sync-sgd, adamw", ("optimiser.rule=adamw", "optimiser.lr=0.001"), 1, False),
    ("sync-sgd, f16", ("precision=f16",), 1, False),
    ("local-sgd", ("method.name=local-sgd", "method.period=7"), 7, True),
    ("sync-easgd1", ("method.name=sync-easgd1", "method.period=2"), 2, False),
    ("sync-easgd2", ("method.name=sync-easgd2", "method.period=2"), 2, False),
    ("sync-easgd3", ("method.name=sync-easgd3", "method.period=2"), 2, True),
    ("diloco", ("method.name=diloco", "method.period=8", "optimiser.rule=adamw", "optimiser.lr=0.001"), 8, True),
]
COPY_EVERY = 3
# Rank 0 stands still for a moment at step 30, so the run does not end before a busy machine has killed a rank.
STALL = ("--stall", "0=0.3@30")


class Failed(Exception):
    """The words of a failed case."""


def check(holds, words):
    if not holds:
        raise Failed(words)


class Run:
    """One run: its launcher, its folder and its words."""
    nsteps = STEPS

    def __init__(self, bench, folder, settings=(), nranks=3, restarts=9, fresh=True, environment=None):
        self.out = os.path.join(folder, "out")
        self.metrics = os.path.join(self.out, "metrics.jsonl")
        self.said = os.path.join(folder, "said")
        command = [bench.program, "train", bench.job, "--out", self.out, "--quiet", *STALL]
        command += ["--ranks", str(nranks)] if nranks else []
        command += ["--max-restarts", str(restarts)] if restarts else []
        command += ["--fresh"] if fresh else []
        for setting in settings:
            command += ["--set", setting]
        with open(self.said, "w", encoding="utf-8") as said:
            self.launcher = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT,
                                             stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})

    def words(self):
        with open(self.said, encoding="utf-8") as f:
            return f.read()

    def ended(self):
        return self.launcher.poll() is not None

    def steps(self):
        """Returns the number of the last step in metrics.jsonl; 0 if there is none."""
        return max([e["step"] for e in lines(self.metrics) if e["ev"] == "step"], default=0)

    def wait_for(self, holds, what):
        """Waits until holds() returns something true, and returns that. The run must not end before."""
        value = wait_until(lambda: holds() or (self.ended() and "ended"), what)
        check(value != "ended", f"the run has ended before there was {what}:\n{self.words()}")
        return value

    def wait_for_step(self, n):
        self.wait_for(lambda: self.steps() >= n, f"step {n}")

    def wait_for_rank(self, rank, other_than=0):
        """Returns the process number of a rank, once it is another than `other_than`."""
        def found():
            pid = children(self.launcher.pid).get(rank, 0)
            return pid != other_than and pid
        return self.wait_for(found, f"rank {rank}")

    def lose(self, rank):
        """Kills a rank; returns its process number."""
        pid = self.wait_for_rank(rank)
        kill(pid)
        return pid

    def end(self, code):
        """Waits for the end, which must come with the exit code `code` (128 + n: signal n)."""
        try:
            got = self.launcher.wait(120)
        except subprocess.TimeoutExpired:
            raise Failed(f"the run has not ended after 120 s:\n{self.words()}") from None
        got = got if got >= 0 else 128 - got
        check(got == code, f"exit code {got}, not {code}:\n{self.words()}")

    def checkpoints(self):
        """Returns the names of the run's checkpoints."""
        folder = os.path.join(self.out, "checkpoints")
        return os.listdir(folder) if os.path.isdir(folder) else []

    def restarts(self):
        return [e for e in lines(self.metrics) if e["ev"] == "restart"]

    def check_metrics(self):
        """Each step has one line, and each line of a restart has all that docs/metrics.md names."""
        steps = [e["step"] for e in lines(self.metrics) if e["ev"] == "step"]
        check(steps == list(range(1, self.nsteps + 1)), f"metrics.jsonl has the steps {steps}")
        for e in self.restarts():
            missing = {"step", "lost", "ranks", "epoch", "from", "seconds"} - set(e)
            check(not missing, f"the line of a restart lacks {missing}: {e}")
            # 0: no rank was lost, the group has grown
            check(0 <= e["seconds"] < 60 and (e["seconds"] > 0 or e["lost"] < 0), f"the line of a restart: {e}")


class Bench:
    """What all cases share: the program, the job, and the weights of undisturbed runs."""

    def __init__(self, program, folder, model="lenet"):
        self.program, self.folder, self.model = program, folder, model
        self.job = os.path.join(folder, "job.yaml")
        self.known, self.lock = {}, threading.Lock()
        with open(self.job, "w", encoding="utf-8") as f:
            f.write(f"model: {model}\n{JOB}")

    def undisturbed(self, settings, nranks):
        """Returns the weights of the run that loses no rank."""
        key = (tuple(settings), nranks)
        with self.lock:
            if key not in self.known:
                folder = tempfile.mkdtemp(prefix="plain", dir=self.folder)
                run = Run(self, folder, settings, nranks, restarts=0)
                run.end(0)
                self.known[key] = weights_in(run.words())
        return self.known[key]

    def finish(self, run, settings=(), nranks=3, least=1):
        """The run ends with 0, with the undisturbed weights and whole metrics, after at least `least` restarts."""
        run.end(0)
        got, want = weights_in(run.words()), self.undisturbed(settings, nranks)
        check(got == want, f"weights {got}, not {want}:\n{run.words()}")
        run.check_metrics()
        n = len(run.restarts())
        check(n >= least, f"{n} restarts, not {least} or more:\n{run.words()}")
        return f"{n} restart{'s' if n != 1 else ''}"


# ---- ranks that are replaced ----

def test_f01_one_rank_lost(bench, folder):
    run = Run(bench, folder)
    run.wait_for_step(15)
    run.lose(1)
    said = bench.finish(run)
    e = run.restarts()[0]
    check((e["lost"], e["ranks"], e["epoch"]) == (1, 3, 2), f"the line of the restart: {e}")
    check(re.search(r"rank 1 \(pid \d+\) was killed by signal 9 .* is replaced; 8 replacements left", run.words()),
          f"no words about rank 1:\n{run.words()}")
    return said


def test_f02_rank_zero_lost(bench, folder):
    run = Run(bench, folder)
    run.wait_for_step(15)
    run.lose(0)
    return bench.finish(run)


def all_ranks_lost_at_once(bench, folder):
    run = Run(bench, folder)
    run.wait_for_step(15)
    for pid in children(run.launcher.pid).values():
        kill(pid)
    return bench.finish(run)


def the_same_rank_lost_again_while_it_starts(bench, folder):
    run = Run(bench, folder)
    run.wait_for_step(15)
    pid = run.lose(1)
    for _ in range(2):
        pid = run.wait_for_rank(1, pid)
        kill(pid)
    return bench.finish(run)


def test_f01_a_rank_lost_before_its_first_step(bench, folder):
    run = Run(bench, folder)
    run.lose(2)
    return bench.finish(run, least=0)


def test_f02_rank_zero_lost_before_its_first_step(bench, folder):
    run = Run(bench, folder)
    run.lose(0)
    return bench.finish(run, least=0)


def a_rank_alone_is_replaced(bench, folder):
    run = Run(bench, folder, nranks=1, restarts=3)
    run.wait_for_step(15)
    run.lose(0)
    return bench.finish(run, nranks=1)


def two_losses_after_each_other(bench, folder):
    run = Run(bench, folder)
    run.wait_for_step(10)
    run.lose(2)
    run.wait_for(run.restarts, "restart")
    run.wait_for_step(20)
    run.lose(0)
    return bench.finish(run, least=2)


def test_f07_a_stopped_rank_is_killed_and_replaced(bench, folder):
    settings = ("exchange.deadline_s=3",)  # in which instrumented ranks start on a busy machine
    run = Run(bench, folder, settings)
    run.wait_for_step(15)
    pid = run.wait_for_rank(1)
    os.kill(pid, signal.SIGSTOP)
    said = bench.finish(run, settings)
    check(f"rank 1 (pid {pid}) stands still" in run.words(), f"rank 1 is not named:\n{run.words()}")
    return said


def method_case(name, settings, period, rank):
    """Returns a case: a method loses a rank, and goes on from the copy in memory."""
    settings = (*settings, f"elastic.copy_every={COPY_EVERY}")

    def case(bench, folder):
        run = Run(bench, folder, settings, nranks=2)
        run.wait_for_step(25)
        before = run.steps()
        run.lose(rank)
        said = bench.finish(run, settings, nranks=2)
        e = run.restarts()[0]
        most = COPY_EVERY + period - 1
        check(e["from"] == "memory", f"no copy in memory was taken: {e}")
        check(e["step"] >= before - most, f"after step {before} the run goes on after step {e['step']}: {e}")
        return f"{said}, after step {e['step']} of {before} or more"
    case.__name__ = f"{name}: rank {rank} lost"
    return case


# ---- ranks that are not replaced ----

def workers_lose_rank_zero_and_go_on_from_a_checkpoint(bench, folder):
    run = Run(bench, folder, ("method.name=easgd", "checkpoint.every_steps=10"))
    run.wait_for(lambda: any(re.fullmatch(r"step_\d+", n) for n in run.checkpoints()), "checkpoint")
    run.lose(0)
    run.end(0)
    found = run.restarts()
    check(found and found[0]["from"] == "checkpoint", f"restarts: {found}:\n{run.words()}")
    check(found[0]["step"] in (10, 20, 30, 40, 50), f"a restart from a checkpoint of every ten steps: {found[0]}")
    return f"after step {found[0]['step']}"


def workers_lose_another_rank_and_go_on_without_it(bench, folder):
    run = Run(bench, folder, ("method.name=easgd",))
    run.wait_for_step(10)
    pid = run.lose(1)
    run.end(0)
    check("is replaced" not in run.words() and not run.restarts(), f"rank 1 was replaced:\n{run.words()}")
    check(f"rank 1 (pid {pid})" in run.words(), f"rank 1 is not named:\n{run.words()}")
    return "not replaced"


def no_replacement_is_left(bench, folder):
    run = Run(bench, folder, restarts=1)
    run.wait_for_step(10)
    run.lose(1)
    run.wait_for(run.restarts, "restart")
    run.lose(2)
    run.end(137)
    check("no replacement is left" in run.words(), f"no words about it:\n{run.words()}")
    return "exit code 137"


def ends_by_itself(bench, folder, code, settings, fresh=True):
    run = Run(bench, folder, settings, fresh=fresh)
    run.end(code)
    check("is replaced" not in run.words(), f"a rank was replaced:\n{run.words()}")
    return f"exit code {code}"


def a_loss_that_is_not_finite_ends_the_run_with_1(bench, folder):
    return ends_by_itself(bench, folder, 1, ("optimiser.lr=1e6",))


def another_job_in_the_folder_ends_the_run_with_2(bench, folder):
    Run(bench, folder, ("steps=20",)).end(0)
    return ends_by_itself(bench, folder, 2, ("seed=7",), fresh=False)


def bad_data_end_the_run_with_3(bench, folder):
    bad = os.path.join(folder, "bad.safetensors")
    with open(bad, "wb") as f:
        f.write(b"\xff" * 100)
    return ends_by_itself(bench, folder, 3, (f"init.from={bad}",))


# ---- signals to the launcher ----

def a_signal_while_ranks_recover_saves_and_ends_the_run(bench, folder):
    run = Run(bench, folder)
    run.wait_for_step(15)
    run.lose(1)
    time.sleep(0.03)
    run.launcher.send_signal(signal.SIGTERM)
    run.end(143)
    stopped = run.steps()
    check(stopped < STEPS, "the run went on to its end")
    check(run.checkpoints(), f"no checkpoint was saved:\n{run.words()}")
    again = Run(bench, folder, fresh=False)
    bench.finish(again, least=0)
    return f"stopped after step {stopped}"


def test_f03_ranks_end_with_their_launcher(bench, folder):
    run = Run(bench, folder)
    run.wait_for_step(10)
    ranks = children(run.launcher.pid)
    check(len(ranks) == 3, f"ranks: {ranks}")
    run.launcher.kill()
    run.launcher.wait()
    wait_until(lambda: all(state_of(pid) in ("", "Z") for pid in ranks.values()), "end of the ranks", 2)
    return "no rank is left"


def another_launcher_replaces_its_own_ranks(bench, folder):
    run = Run(bench, folder, nranks=0, restarts=3, environment={"RANK": "0", "WORLD_SIZE": "1"})
    run.end(0)
    found = re.findall(r"^.*max-restarts.*$", run.words(), re.M)
    check(len(found) == 1 and "does nothing here" in found[0], f"words about --max-restarts: {found}")
    return "one line says so"


CASES = [
    test_f01_one_rank_lost, test_f02_rank_zero_lost, all_ranks_lost_at_once, the_same_rank_lost_again_while_it_starts,
    test_f01_a_rank_lost_before_its_first_step, test_f02_rank_zero_lost_before_its_first_step, a_rank_alone_is_replaced,
    two_losses_after_each_other, test_f07_a_stopped_rank_is_killed_and_replaced,
    workers_lose_rank_zero_and_go_on_from_a_checkpoint, workers_lose_another_rank_and_go_on_without_it,
    no_replacement_is_left, a_loss_that_is_not_finite_ends_the_run_with_1,
    another_job_in_the_folder_ends_the_run_with_2, bad_data_end_the_run_with_3,
    a_signal_while_ranks_recover_saves_and_ends_the_run, test_f03_ranks_end_with_their_launcher,
    another_launcher_replaces_its_own_ranks,
]

LONG_ONLY = [test_f02_rank_zero_lost_before_its_first_step, two_losses_after_each_other]


def all_cases(is_long):
    cases = [c for c in CASES if is_long or c not in LONG_ONLY]
    methods = [method_case(*m[:3], rank) for m in METHODS for rank in ((0, 1) if is_long else (1,)) if m[3] or is_long]
    return cases + methods


def play(bench, case):
    """Plays a case; returns whether it ended as it should, and a line."""
    name = case.__name__.replace("_", " ")
    folder = tempfile.mkdtemp(prefix="case", dir=bench.folder)
    began = time.monotonic()
    try:
        words, good = case(bench, folder), True
    except (Failed, RuntimeError) as e:
        words, good = str(e), False
    left = processes_with(folder + "/")
    time_s = time.monotonic() - began
    if left and good:
        time.sleep(2)
        left = processes_with(folder + "/")
        words, good = (f"processes are left: {left}", False) if left else (words, True)
    for pid in left:
        kill(pid)
    if good:
        shutil.rmtree(folder)
    return good, f"{'ok' if good else 'FAILED':6} {time_s:5.1f} s  {name}: {words}"


def is_open(path):
    """True if a living process has a file open or mapped."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/maps", encoding="utf-8", errors="replace") as f:
                if path in f.read():
                    return True
            if any(os.readlink(f"/proc/{name}/fd/{fd}") == path for fd in os.listdir(f"/proc/{name}/fd")):
                return True
        except OSError:
            continue
    return False


def play_all(bench, cases, at_once):
    """Plays cases, some at once, and prints a line for each; returns whether all ended as they should."""
    # Other programs of the host may make files there, which they have open.
    shared, failed = set(os.listdir("/dev/shm")), 0
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for good, line in pool.map(lambda c: play(bench, c), cases):
            print(line, flush=True)
            failed += not good
    left = [n for n in set(os.listdir("/dev/shm")) - shared if not is_open(f"/dev/shm/{n}")]
    if left:
        print(f"FAILED  files are left in /dev/shm: {left}")
    print(f"{len(cases)} cases, {failed} failed")
    return not failed and not left


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("program")
    p.add_argument("--long", action="store_true", help="all cases, and all methods with both ranks")
    p.add_argument("--only", default="", help="cases whose names contain these words")
    p.add_argument("--at-once", type=int, default=3)
    p.add_argument("--model", default="lenet")
    options = p.parse_args()
    os.environ["OMP_WAIT_POLICY"] = "passive"
    for name in ("RANK", "WORLD_SIZE"):
        os.environ.pop(name, None)
    cases = [c for c in all_cases(options.long) if options.only in c.__name__.replace("_", " ")]
    with tempfile.TemporaryDirectory(prefix="losses") as folder:
        good = play_all(Bench(os.path.abspath(options.program), folder, options.model), cases, options.at_once)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
