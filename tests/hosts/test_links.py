#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links between two hosts that are namespaces (lab.py): one that becomes slow for a while, and one that loses what goes
one way. The faults' numbers are those of docs/faults.md.

usage: tests/hosts/test_links.py TUTTI      exit 77: skipped, says why
"""
import os
import re
import subprocess
import sys
import tempfile
import time

import lab

TUTTI = os.path.abspath(sys.argv[1])
JOB = """model: ./net.yaml
data: {set: digits, train_samples: 640, test_samples: 20}
batch: 16
steps: %d
reduction: canonical
slots: 2
log_every: 1
threads: 1
optimiser: {rule: momentum, lr: 0.01}
exchange: {deadline_s: 15}
"""
NET = "name: small\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n  - max-pool: {kernel: 2, stride: 2}\n" \
      "  - dense: {units: 10}\n  - softmax-cross-entropy\n"
SLOW = "1mbit"


def expect(right, words):
    if not right:
        sys.exit(f"FAILED: {words}")


def shape(hosts, host, *bucket):
    """Puts a token bucket on what a host sends; without one all goes as before."""
    words = ["tc", "-n", hosts.names[host], "qdisc", "replace" if bucket else "del", "dev", "eth0", "root"]
    subprocess.run([*words, *(("tbf",) + bucket if bucket else ())], check=True, capture_output=True)


def write(folder, steps):
    for name, text in (("net.yaml", NET), ("job.yaml", JOB % steps)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)


def start(hosts, folder):
    command = [TUTTI, "train", f"{folder}/job.yaml", "--out", f"{folder}/out", "--quiet", "--fresh"]
    return hosts.start(1, command, {"TUTTI_WIRE": "tcp"})


def until_step(folder, ranks, step):
    path, until = f"{folder}/out/metrics.jsonl", time.monotonic() + 60
    while not os.path.exists(path) or open(path, encoding="utf-8").read().count('"ev":"step"') < step:
        expect(time.monotonic() < until and ranks[0].process.poll() is None, f"no step {step}")
        time.sleep(0.01)


def test_f23_a_link_that_is_slow_for_a_while_changes_no_weight(hosts, folder):
    write(folder, 400)
    alone = subprocess.run([TUTTI, "train", f"{folder}/job.yaml", "--ranks", "2", "--quiet", "--out", f"{folder}/one"],
                           capture_output=True, text=True, check=True)
    ranks = start(hosts, folder)
    until_step(folder, ranks, 20)
    for host in range(2):
        shape(hosts, host, "rate", SLOW, "burst", "16kb", "latency", "1s")
    time.sleep(3)
    before = open(f"{folder}/out/metrics.jsonl", encoding="utf-8").read().count('"ev":"step"')
    for host in range(2):
        shape(hosts, host)
    lab.Lab.finish(ranks, 60)
    expect(all(r.process.returncode == 0 for r in ranks), ranks[0].text + ranks[1].text)
    found = re.search(r"weights \w+", ranks[0].text)
    expect(found and found.group(0) in alone.stdout, f"one host: {alone.stdout}; two: {ranks[0].text}")
    expect(before < 400, f"{before} steps at {SLOW}: the link was not slow")
    print(f"ok: 3 s at {SLOW}, {before} of 400 steps done then: {found.group(0)}, as on one host")


def test_f24_a_link_that_loses_one_way_ends_both_sides(hosts, folder):
    """Nothing that host 1 sends arrives; what host 0 sends does. A bucket that holds no packet throws all away."""
    write(folder, 10**7)
    ranks = start(hosts, folder)
    until_step(folder, ranks, 20)
    shape(hosts, 1, "rate", "8bit", "burst", "10", "latency", "1ms")
    began = time.monotonic()
    lab.Lab.finish(ranks, 60)
    took = time.monotonic() - began
    for rank in ranks:
        expect(rank.process.returncode == 4, f"rank {rank.rank} ends with {rank.process.returncode}: {rank.text}")
        expect(f"rank {1 - rank.rank} " in rank.text, f"rank {rank.rank} does not name the other: {rank.text}")
    expect(took < 30, f"they ended after {took:.0f} s")
    print(f"ok: with one way lost both sides end with 4 and name each other, {took:.1f} s later")


def main():
    lab.skip_unless_possible()
    for case in (test_f23_a_link_that_is_slow_for_a_while_changes_no_weight,
                 test_f24_a_link_that_loses_one_way_ends_both_sides):
        with tempfile.TemporaryDirectory() as folder, lab.Lab(2) as hosts:
            case(hosts, folder)


if __name__ == "__main__":
    main()
