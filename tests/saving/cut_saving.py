#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills a run at places of a checkpoint that is written beside the training (cut_at.c does it), makes the disk full,
broken or slow, and looks at what is left.

usage: tests/saving/cut_saving.py TUTTI CUT_AT_LIBRARY [--long]

A place is a byte that is written, a sync, a rename or a removal. After a kill at any place the older checkpoint or the
new one is whole, no other whole-looking one is there, and the same command ends with the weights of the undisturbed
run. The short form takes a sample of the places, the long form every place. Exit code 1 and a line for each case that
fails.
"""
import argparse
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import tempfile

STEP, BEFORE, STEPS = 8, 4, 16  # the checkpoint that is cut, the older one, and the end of the run
SLOW_MS = 10                    # a sync takes so much longer, so that steps are played meanwhile
NEAR_ENDS = 12                  # places at the begin and at the end that the short form takes all, by threes
SAMPLE = 12                     # places between them

SMALL = "name: small\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n  - max-pool: {kernel: 14, stride: 14}\n" \
        "  - dense: {units: 10}\n  - softmax-cross-entropy\n"
# Its files are so large that the allocator gives their memory back to the system.
WIDE = "name: wide\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n  - dense: {units: 12000}\n  - dense: {units: 10}\n" \
       "  - softmax-cross-entropy\n"
WIDE_BYTES = 4 * (784 * 12000 + 12000 + 12000 * 10 + 10)


class Runs:
    """Runs of one job in folders of their own."""

    def __init__(self, args, folder, model, steps, every):
        self.args, self.folder = args, folder
        with open(f"{folder}/net.yaml", "w") as f:
            f.write(model)
        with open(f"{folder}/job.yaml", "w") as f:
            f.write(f"model: ./net.yaml\ndata: {{set: digits, train_samples: 640, test_samples: 20}}\nbatch: 16\n"
                    f"steps: {steps}\nlog_every: 1\noptimiser: {{rule: momentum, lr: 0.01}}\n"
                    f"checkpoint: {{every_steps: {every}, keep: 1}}\n")

    def out(self, name):
        return f"{self.folder}/{name}"

    def run(self, name, ranks=1, **cut):
        """Exit code, text, and the largest resident memory in bytes."""
        env = dict(os.environ, OMP_NUM_THREADS="1", **{k: str(v) for k, v in cut.items()})
        command = [self.args.tutti, "train", f"{self.folder}/job.yaml", "--out", self.out(name)]
        if cut:
            env["LD_PRELOAD"] = self.args.library
        if ranks == 1:  # this very process is the rank
            env.update(RANK="0", WORLD_SIZE="1")
        else:
            command += ["--ranks", str(ranks)]
        with tempfile.TemporaryFile() as log:
            child = subprocess.Popen(command, env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            log.seek(0)
            return child.returncode, log.read().decode(errors="replace"), used.ru_maxrss * 1024

    def hash_of(self, name, ranks=1, **cut):
        code, text, _ = self.run(name, ranks, **cut)
        if code or "weights " not in text:
            raise AssertionError(f"{name}: ended with {code}: {text[-400:]}")
        return text.rsplit("weights ", 1)[1][:16]

    def whole(self, name):
        """Steps of the checkpoints, each of which must be whole."""
        folder = f"{self.out(name)}/checkpoints"
        names = sorted(n for n in os.listdir(folder) if not n.endswith(".tmp"))
        for n in names:
            done = subprocess.run([self.args.tutti, "ckpt", "verify", f"{folder}/{n}"], capture_output=True)
            if done.returncode:
                raise AssertionError(f"{name}: {n} is not whole: {done.stdout.decode()}{done.stderr.decode()}")
        return [int(n.split("_")[1]) for n in names]

    def last_step(self, name):
        with open(f"{self.out(name)}/metrics.jsonl") as f:
            lines = [json.loads(line) for line in f if line.endswith("\n")]
        return max([line["step"] for line in lines if line["ev"] == "step"], default=0)


def kill_at(runs, place, ranks, want):
    """Returns the step of the newest whole checkpoint, and the last step that was played."""
    name = f"kill{place}_{ranks}"
    code, text, _ = runs.run(name, ranks, CUT_STEP=STEP, CUT_AT=place, CUT_HOW="kill", CUT_DELAY_MS=SLOW_MS)
    if code != (-signal.SIGKILL if ranks == 1 else 128 + signal.SIGKILL):
        raise AssertionError(f"ended with {code}: {text[-400:]}")
    found, last = runs.whole(name), runs.last_step(name)
    if not found or not set(found) <= {BEFORE, STEP}:
        raise AssertionError(f"holds checkpoints of steps {found}")
    have = runs.hash_of(name, ranks)
    if have != want:
        raise AssertionError(f"went on from step {max(found)} to weights {have}, not {want}")
    return max(found), last


def check_kills(args, folder):
    runs = Runs(args, folder, SMALL, STEPS, BEFORE)
    want = runs.hash_of("whole", CUT_STEP=STEP, CUT_PLACES=f"{folder}/places")
    with open(f"{folder}/places") as f:
        nplaces = int(f.read())
    ends = set(range(1, NEAR_ENDS, 3)) | set(range(nplaces - NEAR_ENDS, nplaces + 1, 3)) | {nplaces}
    places = range(1, nplaces + 1) if args.long else sorted(ends | set(range(1, nplaces, nplaces // SAMPLE)))
    cases = [(p, 1, want) for p in places]
    want2 = runs.hash_of("whole2", 2)
    cases += [(p, 2, want2) for p in places[::len(places) // 4]]
    failed, found, beside = 0, [], 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = {pool.submit(kill_at, runs, *c): c for c in cases}
        for done in concurrent.futures.as_completed(running):
            place, ranks, _ = running[done]
            try:
                newest, last = done.result()
                found.append(newest)
                beside += last > STEP
            except AssertionError as e:
                failed += 1
                print(f"FAILED: SIGKILL at place {place} of {nplaces}, {ranks} rank{'s'[:ranks - 1]}: {e}", flush=True)
    print(f"{len(cases)} kills at {len(places)} of {nplaces} places of the checkpoint of step {STEP}: {failed} failed; the "
          f"newest whole one was {found.count(BEFORE)} times that of step {BEFORE}, {found.count(STEP)} times the new one; "
          f"{beside} times later steps had been played")
    if not beside or not found.count(BEFORE) or not found.count(STEP):
        print("FAILED: each of these must happen")
        failed += 1
    return failed, nplaces


def fails_to_save(runs, name, ranks, error, **cut):
    """The run ends with 1 and the words of the call that failed, and the older checkpoint stays the newest; the same
    command then goes on."""
    code, text, _ = runs.run(name, ranks, CUT_STEP=STEP, CUT_DELAY_MS=SLOW_MS, **cut)
    wanted = f"checkpoint of step {STEP}: "
    if code == 1 and wanted in text and error in text and runs.whole(name) == [BEFORE]:
        return 0
    print(f"FAILED: {name}: exit code {code}, {runs.whole(name)}: {text[-400:]}")
    return 1


def test_f13_a_full_disk_ends_the_run_and_leaves_the_older_checkpoint(args, folder, nplaces):
    runs, places = Runs(args, folder, SMALL, 600, BEFORE), [2, nplaces // 3, nplaces // 2, nplaces - 200]
    return sum(fails_to_save(runs, f"full{k}_{ranks}", ranks, "No space left on device", CUT_AT=k, CUT_HOW="full")
               for k in (range(2, nplaces - 100, 7) if args.long else places) for ranks in (1, 2)[:1 if args.long else 2])


def test_f14_a_failed_call_ends_the_run_and_is_not_tried_again(args, folder):
    """The later calls would succeed, so a call that is tried again is found: it makes a whole checkpoint."""
    runs, failed, n = Runs(args, folder, SMALL, 600, BEFORE), 0, 0
    for call, counts in (("write", (1, 3)), ("fsync", (1, 2, 4)), ("rename", (1, 2)), ("close", (1, 2))):
        for k in counts:
            failed += fails_to_save(runs, f"{call}{k}", 1, "Input/output error", CUT_AT=k, CUT_HOW="eio", CUT_CALL=call)
            n += 1
    print(f"{n} calls of a checkpoint that fail with EIO: {failed} not as they should")
    return failed


def check_memory(args, folder):
    """With a slow disk a checkpoint is due before the one before is written: still there is one copy."""
    want, each = None, []
    for every, name in ((1000, "once"), (1, "often")):
        runs = Runs(args, folder, WIDE, 6, every)
        code, text, most = runs.run(name, CUT_DELAY_MS=100)
        have = text.rsplit("weights ", 1)[-1][:16]
        if code or (want and have != want) or runs.whole(name) != [6]:
            print(f"FAILED: saves {name}: exit code {code}: {text[-400:]}")
            return 1
        want = have
        each.append(most)
    copy, grown = 2 * WIDE_BYTES, each[1] - each[0]
    print(f"largest memory with one checkpoint at the end {each[0] / 1e6:.1f} MB, with one at each of 6 steps "
          f"{each[1] / 1e6:.1f} MB: {grown / 1e6:+.1f} MB; a copy of weights and momentum has {copy / 1e6:.1f} MB")
    if grown > 1.1 * copy + 4e6:
        print("FAILED: that is more than one copy")
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tutti", type=os.path.abspath)
    parser.add_argument("library", type=os.path.abspath)
    parser.add_argument("--long", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cut_saving.") as folder:
        failed, nplaces = check_kills(args, folder)
        failed += test_f13_a_full_disk_ends_the_run_and_leaves_the_older_checkpoint(args, folder, nplaces)
        failed += test_f14_a_failed_call_ends_the_run_and_is_not_tried_again(args, folder)
        failed += check_memory(args, folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
