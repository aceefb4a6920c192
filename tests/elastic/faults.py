#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""faults.py: faults of docs/faults.md that need a library in front of the program (harm.c), a namespace or a control
group. Each function is named by its fault.

faults.py PROGRAM HARM_LIBRARY [--long] [--only WORDS]

A case that this machine does not permit says what is missing and counts as skipped. Exit code 1: a case failed.
"""
import argparse
import contextlib
import glob
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import soak
from losses import Failed, check
from ranks import children, lines, lock_of, state_of, wait_until, weights_in

NET = "name: small\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n  - max-pool: {kernel: 14, stride: 14}\n" \
      "  - dense: {units: 10}\n  - softmax-cross-entropy\n"
JOB = """model: ./net.yaml
data: {set: digits, train_samples: 640, test_samples: 20}
batch: 16
steps: 16
reduction: canonical
slots: 2
log_every: 1
threads: 1
optimiser: {rule: momentum, lr: 0.01}
checkpoint: {every_steps: 4, keep: 2}
"""
NOBODY = 64321      # a user whom nobody else is
CONTROL = "/sys/fs/cgroup"
LIMIT_S = 60


class Skipped(Exception):
    """What this machine does not permit."""


class Bench:
    """The program, the library, and a folder with the job."""

    def __init__(self, options, folder):
        self.program, self.library, self.is_long = options.program, options.library, options.long
        self.folder = pathlib.Path(folder)
        (self.folder / "net.yaml").write_text(NET)
        (self.folder / "job.yaml").write_text(JOB)
        self.want = weights_in(self.run("plain")[1])

    def command(self, out, *more, ranks=2):
        return [self.program, "train", str(self.folder / "job.yaml"), "--out", self.folder / out, "--fresh",
                *(["--ranks", str(ranks)] if ranks else []), *more]

    def start(self, out, *more, ranks=2, before=(), **harm):
        env = dict(os.environ, **{k: str(v) for k, v in harm.items()})
        if any(k.startswith("HARM_") for k in harm):
            env["LD_PRELOAD"] = self.library
        return subprocess.Popen([*before, *self.command(out, *more, ranks=ranks)], env=env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, out, *more, **options):
        """Returns the exit code (128 + n: signal n) and the words of a run."""
        run = self.start(out, *more, **options)
        try:
            said, _ = run.communicate(timeout=LIMIT_S)
        finally:
            run.kill()
        code = run.returncode
        return code if code >= 0 else 128 - code, said.decode(errors="replace")

    def same(self, out, *more, **options):
        """The run must end well with the weights of the undisturbed one."""
        code, said = self.run(out, *more, **options)
        check(code == 0 and weights_in(said) == self.want, f"exit code {code}, not the weights {self.want}: {said[-1500:]}")

    def until_step(self, run, out, step):
        path = self.folder / out / "metrics.jsonl"
        wait_until(lambda: run.poll() is not None or any(e.get("step", 0) >= step for e in lines(path)), f"step {step}")
        check(run.poll() is None, f"the run ended before step {step}")


def need_root(what):
    if os.geteuid() != 0:
        raise Skipped(f"{what} needs root")


def test_f04_ranks_end_with_their_agent_and_the_others_go_on(bench):
    with tempfile.TemporaryDirectory() as folder:
        run = soak.Play(soak.Bench(bench.program, folder, False), "agents")
        try:
            run.start()
            run.wait_for(lambda: run.step() >= 10, "step 10")
            ranks = list(children(run.hosts[1].pid).values())
            check(len(ranks) == 2, f"ranks of the second agent: {ranks}")
            run.hosts[1].kill()
            run.hosts.pop(1).wait()
            wait_until(lambda: all(state_of(pid) in ("", "Z") for pid in ranks), "end of the ranks of the agent", 2)
            run.finish()
            check("the agent of host 127.0.0.1 was lost" in run.words(), f"the agent is not named: {run.words()}")
        except soak.Failed as e:
            raise Failed(f"{e}\n{run.words()}") from e
        finally:
            run.close()
    return "2 ranks ended, the other 2 went on to the same weights"


@contextlib.contextmanager
def control_group(limit):
    """A control group of its own with a limit of memory; skipped where none can be made."""
    need_root("a control group")
    one = os.path.isdir(f"{CONTROL}/memory")
    folder = f"{CONTROL}/{'memory/' if one else ''}tutti{os.getpid()}"
    try:
        os.mkdir(folder)
    except OSError as e:
        raise Skipped(f"mkdir {folder}: {e.strerror}") from e
    try:
        pathlib.Path(folder, "memory.limit_in_bytes" if one else "memory.max").write_text(str(limit))
        yield folder
    except OSError as e:
        raise Skipped(f"{e.filename}: {e.strerror}") from e
    finally:
        with contextlib.suppress(RuntimeError):
            wait_until(lambda: not pathlib.Path(folder, "cgroup.procs").read_text(), "empty control group", 5)
        os.rmdir(folder)


EATER = "import sys\nopen('/proc/self/oom_score_adj', 'w').write('-1000')\nprint(flush=True)\nsys.stdin.readline()\n" \
        "eaten = [bytearray(1 << 22) for _ in range(256)]\n"


def test_f09_a_rank_that_is_killed_for_want_of_memory_is_named_as_such(bench):
    """A neighbour in the control group takes what is left; the kernel then kills the rank that is marked for it."""
    with control_group(400 << 20) as group:
        inside = ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")
        run = bench.start("oom", "--set", "steps=10000000", before=inside)
        eater = subprocess.Popen([*inside, sys.executable, "-c", EATER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            bench.until_step(run, "oom", 5)
            victim = children(run.pid)[1]
            pathlib.Path(f"/proc/{victim}/oom_score_adj").write_text("1000")
            eater.stdout.readline()
            eater.stdin.write(b"\n")
            eater.stdin.flush()
            wait_until(lambda: state_of(victim) in ("", "Z"), "kill by the kernel")
        finally:
            eater.kill()
            eater.wait()
            said = run.communicate(timeout=LIMIT_S)[0].decode()
    check(run.returncode == 137, f"exit code {run.returncode}: {said[-600:]}")
    check(f"rank 1 (pid {victim}) was killed by signal 9 (Killed); memory had run out" in said, said[-600:])
    return "named"


def test_f12_a_folder_that_becomes_read_only_ends_the_run(bench):
    need_root("to run as another user")
    shared = bench.folder / "others"
    shared.mkdir()
    bench.folder.chmod(0o755)
    os.chown(shared, NOBODY, NOBODY)
    user = ("setpriv", "--reuid", str(NOBODY), "--clear-groups")
    run = bench.start("others/out", "--set", "steps=10000000", before=user)
    bench.until_step(run, "others/out", 6)
    wait_until(lambda: glob.glob(f"{shared}/out/checkpoints/step_*[0-9]"), "checkpoint")
    (shared / "out" / "checkpoints").chmod(0o555)
    said = run.communicate(timeout=LIMIT_S)[0].decode()
    check(run.returncode == 1 and "Permission denied" in said and "checkpoints" in said, f"{run.returncode}: {said[-600:]}")
    done = subprocess.run([bench.program, "ckpt", "verify", shared / "out"], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"the older checkpoint is not whole: {done.stdout}{done.stderr}")
    return "named, and the older checkpoint is whole"


def test_f19_a_small_dev_shm_changes_nothing(bench):
    """Ranks share memory files without a name, which are no files of /dev/shm."""
    need_root("a mount")
    before = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=64k none /dev/shm && exec "$@"', "sh")
    if subprocess.call([*before, "true"], stderr=subprocess.DEVNULL):
        raise Skipped("unshare -m and mount are not permitted")
    bench.same("shm", before=before)
    bench.same("shm", "--max-restarts", "2", before=before)
    return "64 KiB suffice"


def test_f20_each_allocation_that_fails_ends_the_run_with_words(bench):
    count, alone = bench.folder / "count", {"ranks": 0, "RANK": 0, "WORLD_SIZE": 1}
    code, said = bench.run("all", "--quiet", **alone, HARM_COUNT=count)
    check(code == 0, said)
    want, total = weights_in(said), int(count.read_text())
    check(total > 500, f"{total} allocations of a run were counted")
    places = range(1, total + 1) if bench.is_long else sorted({int(total ** (k / 24)) for k in range(25)})
    for n in places:
        code, said = bench.run("some", "--quiet", **alone, HARM_ALLOC=n)
        named = code == 1 and "no memory" in said or code == 0 and weights_in(said) == want and n > total * 0.9
        check(named, f"allocation {n} of {total}: exit code {code}: {said[-600:]}")
    return f"{len(places)} of {total} allocations"


def test_f25_one_byte_at_a_time_on_all_sockets_changes_nothing(bench):
    bench.same("bytes", HARM_BYTES=1)
    bench.same("bytes", "--max-restarts", "2", HARM_BYTES=1)
    out, harm = bench.folder / "agents", {"HARM_BYTES": 1, "TUTTI_WIRE": "tcp"}  # which is not measured first
    first = bench.start("agents", "--ranks-per-host", "1", "--listen", "127.0.0.1", **harm)
    try:
        text = wait_until(lambda: lock_of(out / "leader")[1], "agent that leads")
        second = bench.start("agents", "--ranks-per-host", "1", "--join", text, **harm)
        said = [p.communicate(timeout=LIMIT_S)[0].decode() for p in (first, second)]
    finally:
        first.kill()
    check(first.returncode == second.returncode == 0 and weights_in("".join(said)) == bench.want,
          f"exit codes {first.returncode} and {second.returncode}: {said}")
    return "one host, one host with replacements, two agents"


def test_f28_a_port_that_is_taken_is_named(bench):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = bench.run("taken", ranks=0, RANK=0, WORLD_SIZE=2, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    check(code == 5 and f"cannot listen on 127.0.0.1 port {port}: Address already in use" in said, f"{code}: {said}")
    return "exit code 5"


def test_f30_clocks_time_zones_and_names_change_nothing(bench):
    strange = os.fsencode("M\u00fcnchen ") + b"\xff\xfe"
    cases = [("an hour later", {"HARM_CLOCK_S": 3600}, "late"), ("an hour earlier", {"HARM_CLOCK_S": -3600}, "early"),
             ("a time zone", {"TZ": "Asia/Kathmandu"}, "zone"), ("a name that is no UTF-8", {}, os.fsdecode(strange)),
             ("a language", {"LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8"}, "de")]
    for words, harm, out in cases:
        bench.same(out, "--set", "checkpoint.every_minutes=30", "--set", "checkpoint.keep=9", **harm)
        path = bench.folder / out / "metrics.jsonl"
        times = [e["wall_s"] for e in map(json.loads, path.read_text().splitlines()) if "wall_s" in e]
        check(all(0 <= t < LIMIT_S for t in times), f"{words}: times {times}")
        found = sorted(n.name for n in (bench.folder / out / "checkpoints").iterdir())
        check(found == [f"step_0000000{n:02}" for n in (4, 8, 12, 16)], f"{words}: checkpoints {found}")
    return ", ".join(c[0] for c in cases)


def test_f37_a_rank_that_is_slow_is_named_in_the_metrics(bench):
    code, said = bench.run("slow", "--slow", "1=30", "--set", "steps=60")
    cost = next(e for e in lines(bench.folder / "slow" / "metrics.jsonl") if e["ev"] == "cost")
    check(code == 0 and "rank 1 computed for " in said, f"exit code {code}, and rank 1 is not named: {said[-900:]}")
    check(cost["slowest"] == 1 and cost["slowest_compute"] > 1.5 * cost["compute"], f"the line of costs: {cost}")
    return "named"


CASES = [value for name, value in list(globals().items()) if name.startswith("test_f")]


def play(case, bench):
    """Plays a case; returns whether it ended as it should, and a line."""
    began = time.monotonic()
    try:
        verdict, words = "ok", case(bench)
    except Skipped as e:
        verdict, words = "skip", f"not here: {e}"
    except (Failed, RuntimeError, subprocess.TimeoutExpired) as e:
        verdict, words = "FAILED", str(e)
    return verdict != "FAILED", f"{verdict:6} {time.monotonic() - began:5.1f} s  {case.__name__}: {words}"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("program", type=os.path.abspath)
    p.add_argument("library", type=os.path.abspath)
    p.add_argument("--long", action="store_true", help="each allocation fails once")
    p.add_argument("--only", default="", help="cases whose names contain these words")
    options = p.parse_args()
    os.environ["OMP_WAIT_POLICY"] = "passive"
    for name in ("RANK", "WORLD_SIZE", "LD_PRELOAD"):
        os.environ.pop(name, None)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="faults") as folder:
        bench = Bench(options, folder)
        for case in (c for c in CASES if options.only in c.__name__):
            good, line = play(case, bench)
            print(line, flush=True)
            failed += not good
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
