#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on the command, its wires and its files: each is tried, and must end as it should, soon, with words that
help.

usage: tests/attack/attacks.py BUILD [--list] [-k WORDS] [--sanitized]     BUILD has tutti and tests/attack_ranks; exit
0: all ended as they should Each prints its kind, what was tried, and how it ended: exit code and first words. Never
expected: a signal, a hang, code 0 for what means nothing, or no words. docs/faults.md has the
counts, tests/attack/NOTES.md what was mended.
"""
import collections
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import attack_tables
import attack_wire

LIMIT_S = 20


class Attacker:
    """What an attack needs: the build, a folder of its own, a job in it."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.tutti, self.ranks = os.path.join(build, "tutti"), os.path.join(build, "tests/attack_ranks")
        for name, text in attack_tables.FILES.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(text)

    def environment(self, more):
        mine = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")}
        # who is meant to die of a bad address dies of the signal, sanitized or not
        mine["ASAN_OPTIONS"] = mine.get("ASAN_OPTIONS", "") + ":handle_segv=0"
        return {**mine, "TUTTI_DEADLINE_S": "10", "OMP_WAIT_POLICY": "passive", "T": self.tutti, **more}

    def run(self, command, more=None):
        """Exit code (128 + n: signal n; None: it did not end) and what it said."""
        words = shlex.split(command.replace("tutti ", self.tutti + " ", 1) if command.startswith("tutti ") else command)
        child = subprocess.Popen(words, cwd=self.folder, env=self.environment(more or {}), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            said = child.communicate(timeout=LIMIT_S)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return None, child.communicate()[0].decode(errors="replace")
        return (child.returncode if child.returncode >= 0 else 128 - child.returncode), said

    def start_rank(self, rank, nranks, port, words, more):
        mine = {"RANK": str(rank), "WORLD_SIZE": str(nranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        return subprocess.Popen(words, cwd=self.folder, env=self.environment({**mine, **more}), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def run_pair(self, more):
        """Two ranks of `coll bench`; the cause's code: 4 is what the other one says of it."""
        port = attack_wire.free_port()
        words = [self.tutti, "coll", "bench", "--algo", "ring", "--bytes", "4KB", "--iters", "5"]
        return end_all([self.start_rank(r, 2, port, words, more) for r in range(2)], LIMIT_S)

    def run_case(self, name, nranks=2):
        """A case of attack_ranks (attack_ranks.c) on ranks that are processes."""
        return self.run(f"{self.ranks} {nranks} {name}")


def end_all(ranks, limit_s):
    """Code and words of ranks that end soon."""
    codes, said, until = [], [], time.time() + limit_s
    for r in ranks:
        try:
            said.append(r.communicate(timeout=max(0.1, until - time.time()))[0].decode(errors="replace"))
            codes.append(r.returncode if r.returncode >= 0 else 128 - r.returncode)
        except subprocess.TimeoutExpired:
            os.killpg(r.pid, signal.SIGKILL)
            said.append(r.communicate()[0].decode(errors="replace"))
            codes.append(None)
    causes = [c for c in codes if c not in (0, 4)]
    return (causes or [max(codes)])[0], "".join(said)


Result = collections.namedtuple("Result", "kind tried code said wanted_codes wanted_words")


def is_as_expected(r):
    return r.code in r.wanted_codes and all(w in r.said for w in r.wanted_words) and "Sanitizer" not in r.said


def first_words(said):
    lines = [line for line in said.split("\n") if line.strip()]
    return (lines[-1] if lines else "(nothing)")[:140]


def attacks(attacker):
    """(kind, tried, run, codes, words): rows of the tables, then those that need more than a command."""
    for kind, rows in attack_tables.COMMANDS.items():
        if kind == "mounts" and attacker.run("unshare -rm true")[0] != 0:
            print("skipped: mounts (no namespaces of one's own here)")
            continue
        for command, settings, codes, words in rows:
            shown = " ".join([*(f"{k}={v[:40]}" for k, v in settings.items()), command])
            if command == attack_tables.PAIR:
                yield kind, shown, lambda s=settings: attacker.run_pair(s), codes, words
            else:
                yield kind, shown, lambda c=command, s=settings: attacker.run(c, s), codes, words
    for name, codes, words in attack_tables.CASES:
        yield "comm", name, lambda n=name: attacker.run_case(n), codes, words
    for name, body in attack_wire.ATTACKS:
        yield "wire", name, lambda b=body: end_all(*attack_wire.under_fire(attacker, b)), (0,), ("Out of bounds values "
                                                                                                 ": 0 OK",)


def main():
    arguments = sys.argv[1:]
    only = arguments[arguments.index("-k") + 1] if "-k" in arguments else ""
    folder = tempfile.mkdtemp(prefix="tutti-attack-")
    attacker, results, began = Attacker(os.path.abspath(arguments[0]), folder), [], time.time()
    try:
        for kind, tried, run, codes, words in attacks(attacker):
            if only not in f"{kind}: {tried}" or ("--sanitized" in arguments and "ulimit -v" in tried):
                continue
            if "--list" in arguments:
                print(f"{kind:9} {tried}")
                continue
            code, said = run()
            results.append(Result(kind, tried, code, said, codes, words))
            r = results[-1]
            print(
                f"{'ok ' if is_as_expected(r) else 'NOT'} {kind:9} {tried[:110]}\n       -> "
                f"{code if code is not None else 'hangs'}: "
                f"{first_words(said)}",
                flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    wrong = [r for r in results if not is_as_expected(r)]
    for r in wrong:
        print(f"\n{r.kind}: {r.tried}\n  wanted {r.wanted_codes} and {r.wanted_words}, got {r.code}:\n{r.said[-1500:]}")
    counts = collections.Counter(r.kind for r in results)
    print(
        f"{len(results)} attacks ({', '.join(f'{n} {k}' for k, n in counts.items())}), {len(wrong)} did not end as "
        f"they should, "
        f"{time.time() - began:.0f} s")
    return 1 if wrong else 0


sys.exit(main())
