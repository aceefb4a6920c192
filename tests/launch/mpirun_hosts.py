#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpirun of Open MPI over two hosts (namespaces, tests/hosts/lab.py): the ranks find rank 0 through PMIx, at an
address that the other host can reach, train to the weights of four ranks on one host, and the wire between the hosts
carried the bytes. And a report asked of one rank is made by all.

usage: mpirun_hosts.py TUTTI HOSTS_FOLDER      exit 77: skipped, says why
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TUTTI = sys.argv[1]
sys.path.insert(0, sys.argv[2])
import lab  # noqa: E402

# The ranks of one host and of two have the same bits only if no layer is shared: auto shares between hosts.
JOB = """model: mlp
data: {set: digits, train_samples: 64, test_samples: 32}
batch: 16
steps: 6
parallel: {layers: []}
optimiser: {rule: momentum, lr: 0.02}
"""
# A step moves each rank's gradients and weights, 0.4 MB a vector, and half of the ranks are on the other host.
LEAST_SENT = 6 * 400000


def weights(done):
    lines = [line for line in done.stdout.splitlines() if line.startswith("weights ")]
    if done.returncode or len(lines) != 1:
        sys.exit(f"FAILED: {done.args}: exit {done.returncode}: {done.stdout} {done.stderr}")
    return lines[0]


def write_agent(hosts, path):
    """What ssh is to mpirun: AGENT ADDRESS WORDS... runs the words there."""
    with open(path, "w") as agent:
        agent.write("#!/bin/sh\ncase $1 in\n")
        for k, name in enumerate(hosts.names):
            agent.write(f"10.77.0.{k + 1}) shift; exec ip netns exec {name} unshare --uts sh -c "
                        f"'hostname host{k}; exec sh -c \"$*\"' sh \"$@\" ;;\n")
        agent.write("esac\n")
    os.chmod(path, 0o755)


def one_signal_makes_ranks_of_all_hosts_report(hosts, folder):
    """SIGQUIT to one rank: all four report and go on; then SIGTERM to it ends all in good order."""
    out = f"{folder}/asked"
    ranks = hosts.start(2, [TUTTI, "train", f"{folder}/job.yaml", "--quiet", "--set", "steps=1000000", "--out", out])
    until = time.monotonic() + 30
    while not os.path.exists(f"{out}/metrics.jsonl") and time.monotonic() < until:
        time.sleep(0.05)
    found = subprocess.run(["pgrep", "-f", f"^{TUTTI} train.* {out}$"], capture_output=True, text=True).stdout.split()
    if len(found) != 4:
        sys.exit(f"FAILED: {len(found)} ranks, not 4")
    for which, pause in ((signal.SIGQUIT, 1.5), (signal.SIGTERM, 0)):
        os.kill(int(found[1]), which)
        time.sleep(pause)
    for rank in hosts.finish(ranks, 30):
        if rank.process.returncode != 143 or f"report of rank {rank.rank} " not in rank.text:
            sys.exit(f"FAILED: rank {rank.rank}: exit {rank.process.returncode}: {rank.text}")
    print("ok: one SIGQUIT made four ranks on two hosts report, and they went on")


def main():
    lab.skip_unless_possible()
    if not shutil.which("mpirun.openmpi"):
        print("skipped: no mpirun of Open MPI (./dev setup --test)")
        sys.exit(lab.SKIP)
    with lab.Lab(2, rate="2gbit") as hosts, tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/job.yaml", "w") as file:
            file.write(JOB)
        write_agent(hosts, f"{folder}/agent")
        train = [TUTTI, "train", f"{folder}/job.yaml", "--quiet"]
        one = weights(subprocess.run([*train, "--ranks", "4", "--out", f"{folder}/one"], capture_output=True, text=True,
                                     timeout=60))
        mpirun = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "plm_rsh_agent", f"{folder}/agent",
                  "--mca", "oob_tcp_if_include", "eth0", "-x", "UCX_LOG_LEVEL=fatal", "-H", "10.77.0.1:2,10.77.0.2:2"]
        before = hosts.sent()
        two = weights(subprocess.run(hosts.inside(0, [*mpirun, "-n", "4", *train, "--out", f"{folder}/two"]),
                                     capture_output=True, text=True, timeout=100))
        sent = [after - first for after, first in zip(hosts.sent(), before)]
        if one != two:
            sys.exit(f"FAILED: one host: {one}; two: {two}")
        if min(sent) < LEAST_SENT:
            sys.exit(f"FAILED: the interfaces sent {sent} bytes; at least {LEAST_SENT} each were due")
        print(f"ok: {two} on two hosts, which sent {sent} bytes")
        one_signal_makes_ranks_of_all_hosts_report(hosts, folder)


main()
