#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Groups over hosts that are network and UTS namespaces (lab.py): exact sums, counted bytes, deaths, training to the
bit.

usage: tests/hosts/test_hosts.py TUTTI TEST_RANKS_HOSTS SOURCE_DIR      exit 77: skipped, says why

TEST_RANKS_HOSTS is the program of tests/collective, which is also a rank (modes `counted`, `die-summing`, `notice`).
TUTTI_LONG=1: also the notice of 15 s, and a wire that is cut while control lives.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import lab

TUTTI, TESTER, SOURCE = sys.argv[1:4]
ALGORITHMS = ("direct", "ring", "halving-doubling", "split-rail", "double-tree")
# Ethernet, IP and TCP headers are 66 of 1514 bytes, acknowledgements and wire-up come on top.
OVERHEAD, WIRE_UP = 1.12, 200000


def said(rank):
    """(seconds, words) of the lines that a rank of TESTER wrote."""
    found = re.findall(rf"^{rank.rank} ([0-9.]+) (.*)$", rank.text, re.M)
    return [(float(at), words) for at, words in found]


def expect(right, words):
    if not right:
        sys.exit(f"FAILED: {words}")


def sums_are_exact_and_the_wires_carried_them(hosts, ranks_a_host, wire, algorithms):
    """What each host's interface sent is what its ranks' puts are, within protocol overhead."""
    for algorithm in algorithms:
        before = hosts.sent()
        ranks = hosts.run(ranks_a_host, [TESTER, "counted"],
                          {"TEST_PIPE": "1", "TEST_ALGORITHM": algorithm, "TUTTI_WIRE": wire})
        if wire == "ucx" and re.search("install libucx", ranks[0].text):
            return print(f"not over ucx: {ranks[0].text.strip()}")
        sent = [after - first for after, first in zip(hosts.sent(), before)]
        planned = [0] * hosts.nhosts
        for rank in ranks:
            words = said(rank)[-1][1] if said(rank) else rank.text
            match = re.fullmatch(r"fine, (\d+) bytes put, \d+ copied; here \d+", words)
            expect(match and rank.process.returncode == 0, f"{algorithm}: rank {rank.rank}: {words}")
            planned[rank.host] += int(match.group(1))
        for host in range(hosts.nhosts):
            expect(planned[host] <= sent[host] <= planned[host] * OVERHEAD + WIRE_UP,
                   f"{algorithm}: host {host} put {planned[host]} bytes and its interface sent {sent[host]}")
    print(f"ok: sums on {hosts.nhosts} hosts of {ranks_a_host} are exact over {wire}, the interfaces counted their "
          f"bytes")


def who_is_lost_is_named(hosts, ranks_a_host, cut):
    """kill -9 of the last rank, or its host's cable pulled: all others name it within 5 s."""
    victim = hosts.nhosts * ranks_a_host - 1
    mode = "summing" if cut else "die-summing"
    ranks = hosts.start(ranks_a_host, [TESTER, mode], {"TEST_PIPE": "1", "TEST_VICTIM": str(victim)})
    if cut:
        time.sleep(1.5)
        lost_s = time.clock_gettime(time.CLOCK_MONOTONIC)
        hosts.cut(hosts.nhosts - 1)
    ranks = hosts.finish(ranks, 30)
    if not cut:
        lost_s = said(ranks[victim])[-1][0]
    for rank in ranks[: (hosts.nhosts - 1) * ranks_a_host if cut else victim]:
        last = said(rank)[-1] if said(rank) else (0, rank.text)
        named = any(f"rank {r} " in last[1] for r in (range(victim - ranks_a_host + 1, victim + 1) if cut else [victim]))
        expect(named and "died" in last[1], f"rank {rank.rank} does not name rank {victim}: {last[1]}")
        expect(last[0] - lost_s < 5, f"rank {rank.rank} named it after {last[0] - lost_s:.1f} s")
    print("ok: a rank whose host vanishes is named within 5 s" if cut else "ok: a killed rank is named within 5 s")


def test_f22_a_host_that_vanishes_is_named(hosts, ranks_a_host):
    who_is_lost_is_named(hosts, ranks_a_host, True)


def a_frozen_rank_is_named_by_the_notice(hosts, ranks_a_host):
    victim = hosts.nhosts * ranks_a_host - 1
    ranks = hosts.start(ranks_a_host, [TESTER, "notice"], {"TEST_PIPE": "1", "TEST_VICTIM": str(victim)})
    for rank in ranks[:victim]:
        rank.text, _ = rank.process.communicate(timeout=40)
        words = said(rank)[-1][1] if said(rank) else rank.text
        expect("notice" in words and f"rank {victim} " in words.split("not arrived")[-1], f"rank {rank.rank}: {words}")
    ranks[victim].process.kill()
    print("ok: a frozen rank is named by the notice of 15 s")


def training_has_the_bits_of_one_host(hosts, ranks_a_host):
    # several hosts update buckets beside the backward pass, one host after it
    nranks = hosts.nhosts * ranks_a_host
    job = [os.path.join(SOURCE, "examples/lenet.yaml"), "--set", "steps=4", "--set", "reduction=canonical", "--set",
           "slots=8", "--set", "threads=1", "--set", "exchange.bucket_bytes=64KiB", "--fresh", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        one = subprocess.run([TUTTI, "train", *job, "--ranks", str(nranks), "--out", f"{folder}/one"],
                             capture_output=True, text=True)
        ranks = hosts.run(ranks_a_host,
                          [TUTTI, "train", *job, "--set", "exchange.update_when=early", "--out", f"{folder}/several"])
    expect(one.returncode == 0 and all(r.process.returncode == 0 for r in ranks), one.stderr + ranks[0].text)
    found = re.search(r"weights [0-9a-f]+ .*", ranks[0].text)
    expect(found and found.group(0) in one.stdout, f"one host: {one.stdout}; several: {ranks[0].text}")
    print(f"ok: LeNet on {hosts.nhosts} hosts of {ranks_a_host}: {found.group(0)}, as on one host")


def rounded_gradients_halve_what_crosses(hosts, ranks_a_host):
    # hosts' sums are rounded on their way; on one host the same groups are ranks that map each other's memory
    nranks = hosts.nhosts * ranks_a_host
    job = [
        os.path.join(SOURCE, "examples/mlp.yaml"), "--set", "steps=8", "--set", "threads=1", "--set",
        "exchange.update=replicated", "--set", "exchange.bucket_bytes=64KiB", "--fresh", "--quiet"
    ]
    sent, lines = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        one = subprocess.run([
            TUTTI, "train", *job, "--ranks",
            str(nranks), "--out", f"{folder}/one", "--set", "exchange.precision=bf16", "--set",
            f"exchange.algorithm=two-level,group={ranks_a_host}"
        ],
                             capture_output=True,
                             text=True)
        for precision in ("f32", "bf16"):
            before = sum(hosts.sent())
            ranks = hosts.run(
                ranks_a_host,
                [TUTTI, "train", *job, "--out", f"{folder}/{precision}", "--set", f"exchange.precision={precision}"],
                {"TUTTI_WIRE": "tcp"})  # measures none
            sent[precision] = sum(hosts.sent()) - before
            expect(all(r.process.returncode == 0 for r in ranks), ranks[0].text)
            lines[precision] = re.search(r"weights [0-9a-f]+ .*", ranks[0].text).group(0)
    expect(one.returncode == 0 and lines["bf16"] in one.stdout, f"one host: {one.stdout}{one.stderr}; several: "
                                                                f"{lines['bf16']}")
    expect(lines["bf16"] != lines["f32"], "bf16 has the bits of f32")
    saved, half = sent["f32"] - sent["bf16"], 8 * 2 * 101776 * 2  # steps, both ways, elements, bytes
    expect(0.95 * half < saved < 1.15 * half, f"{sent} bytes on the wire, {half} less expected")
    print(f"ok: rounded sums of hosts have the bits of one host, and {saved} of {sent['f32']} bytes did not travel")


def step_bytes(hosts, job, steps):
    """What each host sends in a step of training, and the hash of the weights: two runs, one of twice as many steps."""
    sent, words = [], ""
    for n in (steps, 2 * steps):
        before = hosts.sent()
        with tempfile.TemporaryDirectory() as folder:
            ranks = hosts.run(1, [TUTTI, "train", *job, "--set", f"steps={n}", "--out", folder, "--fresh", "--quiet"],
                              {"TUTTI_WIRE": "tcp"})
        expect(all(r.process.returncode == 0 for r in ranks), ranks[0].text)
        sent.append([after - first for after, first in zip(hosts.sent(), before)])
        words = re.search(r"weights [0-9a-f]+ .*", ranks[0].text).group(0)
    return [(twice - once) / steps for once, twice in zip(*sent)], words


def layers_that_hosts_share_send_what_the_formula_says(hosts):
    """mlp's first layer (784 inputs, 128 outputs), batch 64, two hosts: in one group 32 samples' inputs, and twice
    half of the outputs of
    32; in two groups its parameters' gradients and its parameters, half of each. fc2's 1,296 numbers travel either
    way."""
    job = [os.path.join(SOURCE, "examples/mlp.yaml"), "--set", "threads=1", "--set", "eval_every_epochs=0", "--set",
           "parallel.layers=fc1", "--set", "checkpoint.every_steps=1000"]
    shared = {1: 32 * 784 + 2 * 32 * 64, 2: 128 * 785}
    for groups, numbers in shared.items():
        per_step, words = step_bytes(hosts, [*job, "--set", f"parallel.groups={groups}"], 50)
        want = 4 * (numbers + 1296)
        for host, sent in enumerate(per_step):
            expect(want <= sent <= want * OVERHEAD + 3000,
                   f"{groups} groups: host {host} sent {sent:.0f} bytes a step, {want} by the formula")
        with tempfile.TemporaryDirectory() as folder:
            one = subprocess.run([
                TUTTI, "train", *job, "--set", f"parallel.groups={groups}", "--set", "steps=100", "--ranks", "2",
                "--out", folder, "--fresh", "--quiet"
            ],
                                 capture_output=True,
                                 text=True)
        expect(words in one.stdout, f"{groups} groups: one host: {one.stdout}; two: {words}")
        print(
            f"ok: a layer shared in {groups} group(s) of two hosts sends {per_step[0]:.0f} bytes a step, {want} by the "
            f"formula: {words}"
        )


def visits_have_the_bits_of_one_host(hosts, ranks_a_host, wire):
    """A vector there and one back for each visit of another host's worker; the centre to each of them, for two tests
    at most. A vector is all parameters,
    and what orders of weights fill up, which is the processor's choice."""
    steps, vector = 4, 431080 * 4
    nranks = hosts.nhosts * ranks_a_host
    job = [os.path.join(SOURCE, "examples/lenet-easgd.yaml"), "--set", f"steps={steps}", "--set", "method.name=easgd", "--set",
           "method.period=1", "--set", "threads=1", "--fresh", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        one = subprocess.run([TUTTI, "train", *job, "--ranks", str(nranks), "--out", f"{folder}/one"],
                             capture_output=True, text=True)
        before = hosts.sent()
        ranks = hosts.run(ranks_a_host, [TUTTI, "train", *job, "--out", f"{folder}/several"], {"TUTTI_WIRE": wire})
        sent = [after - first for after, first in zip(hosts.sent(), before)]
    if wire == "ucx" and re.search("install libucx", ranks[0].text):
        return print(f"not over ucx: {ranks[0].text.strip()}")
    expect(one.returncode == 0 and all(r.process.returncode == 0 for r in ranks), one.stderr + ranks[0].text)
    found = re.search(r"weights [0-9a-f]+ ", ranks[0].text)
    expect(found and found.group(0) in one.stdout, f"one host: {one.stdout}; several: {ranks[0].text}")
    visits = steps * ranks_a_host * (hosts.nhosts - 1)
    expect(visits * vector <= sent[0] <= (visits + 2 * ranks_a_host * (hosts.nhosts - 1)) * vector * OVERHEAD + WIRE_UP,
           f"for {visits} visits the host of the centre sent {sent[0]} bytes")
    for host in range(1, hosts.nhosts):
        own = steps * ranks_a_host
        expect(own * vector <= sent[host] <= own * vector * OVERHEAD + WIRE_UP,
               f"for {own} visits host {host} sent {sent[host]} bytes")
    print(f"ok: LeNet by easgd on {hosts.nhosts} hosts of {ranks_a_host} over {wire}: {found.group(0)}as on one host; "
          f"{visits} visits moved what the interfaces counted")


def events(path, kind):
    """Lines of metrics.jsonl of one kind, as far as they are whole."""
    try:
        with open(path) as lines:
            return [json.loads(line) for line in lines if line.endswith("\n") and f'"ev":"{kind}"' in line]
    except FileNotFoundError:
        return []


def wait_for(what, timeout_s, ranks, words):
    until = time.monotonic() + timeout_s
    while not what():
        if time.monotonic() > until or ranks[0].process.poll() is not None:
            for rank in ranks:
                rank.process.kill()
            sys.exit(f"FAILED: {words}: " + "\n".join(rank.text for rank in lab.Lab.finish(ranks, 10)))
        time.sleep(0.02)


def the_others_go_on(hosts, ranks_a_host, wire, method, cut):
    """A worker is killed, or all of a host's vanish: rank 0 says so, goes on with the others, and ends as it is asked
    to."""
    nranks, steps = hosts.nhosts * ranks_a_host, 10**7
    victims = range(nranks - ranks_a_host, nranks) if cut else [nranks - 1]
    job = [
        os.path.join(SOURCE, "examples/mlp.yaml"), "--set", f"method.name={method}", "--set", f"steps={steps}", "--set",
        "log_every=1", "--set", "checkpoint.every_steps=10000000", "--set", "eval_every_epochs=0", "--set", "threads=1",
        "--fresh", "--quiet", "--set", "optimiser.lr=0.001", "--set", "batch=60"
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/out/metrics.jsonl"
        ranks = hosts.start(ranks_a_host, [TUTTI, "train", *job, "--out", f"{folder}/out"], {"TUTTI_WIRE": wire})
        wait_for(lambda: len(events(path, "step")) > 20, 60, ranks, f"{method} over {wire} does not begin")
        lost_s = time.time()
        if cut:
            hosts.cut(hosts.nhosts - 1)
        else:
            ranks[victims[0]].process.kill()
        wait_for(lambda: len(events(path, "lost")) == len(victims), 20, ranks, f"{method} over {wire}: nobody names "
                                                                               f"who is lost")
        named_s = max(line["ts"] for line in events(path, "lost")) - lost_s
        seen = len(events(path, "step"))
        wait_for(lambda: len(events(path, "step")) > seen + 50, 60, ranks, f"{method} over {wire}: the others do not "
                                                                           f"go on")
        ranks[0].process.send_signal(signal.SIGTERM)
        for rank in lab.Lab.finish(ranks, 60):
            if rank.rank not in victims:
                expect(rank.process.returncode == 128 + signal.SIGTERM,
                       f"{method} over {wire}: rank {rank.rank} ends with {rank.process.returncode}: {rank.text}")
        named = sorted(line["rank"] for line in events(path, "lost"))
        expect(named == sorted(victims), f"lost are {list(victims)}, named {named}")
    if not cut:
        expect(named_s < 5, f"named after {named_s:.1f} s")
    print(f"ok: {method} on {hosts.nhosts} hosts of {ranks_a_host} over {wire} goes on without ranks {named}, "
          f"{'cut off' if cut else 'killed'} and named {named_s:.2f} s later")


def who_has_lost_its_wire_is_lost(hosts):
    """Data goes by eth1, control by eth0. The last worker stands still for longer than the deadline, the others wait
    for its turn; its host's eth1 is
    cut, which rank 0 alone looks at: it goes on without that worker, before the deadline."""
    method, steps, lost = "easgd", 10**7, hosts.nhosts - 1
    job = [
        os.path.join(SOURCE, "examples/mlp.yaml"), "--set", f"method.name={method}", "--set", f"steps={steps}", "--set",
        "log_every=1", "--set", "checkpoint.every_steps=10000000", "--set", "eval_every_epochs=0", "--set", "threads=1",
        "--fresh", "--quiet", "--set", "optimiser.lr=0.001", "--set", "batch=60", "--set", "exchange.deadline_s=15"
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/out/metrics.jsonl"
        ranks = hosts.start(1, [TUTTI, "train", *job, "--out", f"{folder}/out", "--stall", f"{lost}=24@1000"],
                            {"TUTTI_WIRE": "tcp", "TUTTI_NET_IF": "eth1"})
        wait_for(lambda: len(events(path, "step")) > 900, 60, ranks, f"{method}: does not begin")
        wait_for(lambda: time.time() - os.path.getmtime(path) > 1, 60, ranks, f"{method}: nobody stands still")
        hosts.cut(lost, second=True)
        cut_s = time.time()
        wait_for(lambda: len(events(path, "lost")) == 1, 30, ranks, f"{method}: nobody names whose wire is cut")
        seen = len(events(path, "step"))
        wait_for(lambda: len(events(path, "step")) > seen + 50, 30, ranks, f"{method}: the others do not go on")
        ranks[0].process.send_signal(signal.SIGTERM)
        for rank in lab.Lab.finish(ranks, 60):
            wanted = 4 if rank.rank == lost else 128 + signal.SIGTERM
            expect(rank.process.returncode == wanted,
                   f"{method}: rank {rank.rank} ends with {rank.process.returncode}: {rank.text}")
        (line,) = events(path, "lost")
        expect(line["rank"] == lost and " is lost: the wire to it: " in line["words"], f"{method}: {line}")
    print(
        f"ok: {method} goes on without rank {lost}, whose wire is cut while its control lives, "
        f"{line['ts'] - cut_s:.1f} s later"
    )


def main():
    lab.skip_unless_possible()
    with lab.Lab(2, rate="2gbit") as hosts:
        sums_are_exact_and_the_wires_carried_them(hosts, 2, "tcp", ALGORITHMS)
        sums_are_exact_and_the_wires_carried_them(hosts, 2, "ucx", ALGORITHMS[-2:])
        who_is_lost_is_named(hosts, 2, False)
        training_has_the_bits_of_one_host(hosts, 2)
        rounded_gradients_halve_what_crosses(hosts, 2)
        layers_that_hosts_share_send_what_the_formula_says(hosts)
        visits_have_the_bits_of_one_host(hosts, 2, "tcp")
        visits_have_the_bits_of_one_host(hosts, 2, "ucx")
        if os.environ.get("TUTTI_LONG"):
            a_frozen_rank_is_named_by_the_notice(hosts, 2)
        test_f22_a_host_that_vanishes_is_named(hosts, 2)
    with lab.Lab(4, rate="2gbit") as hosts:
        sums_are_exact_and_the_wires_carried_them(hosts, 1, "tcp", ALGORITHMS)
        sums_are_exact_and_the_wires_carried_them(hosts, 1, "ucx", ALGORITHMS[:1])
    for wire, method in (("tcp", "easgd"), ("ucx", "async-sgd")):
        with lab.Lab(3) as hosts:
            the_others_go_on(hosts, 2, wire, method, False)
            the_others_go_on(hosts, 2, wire, method, True)
    if os.environ.get("TUTTI_LONG"):
        with lab.Lab(3, second=True) as hosts:
            who_has_lost_its_wire_is_lost(hosts)


if __name__ == "__main__":
    main()
