# SPDX-License-Identifier: Apache-2.0
"""bench/hosts: a large allreduce between hosts, against the bound from a plain TCP stream over the same links, gloo
and Open MPI.

Hosts are network namespaces on this machine (tests/hosts/lab.py), every port limited by a token bucket. The bound is
what every host must send and receive, 2(p-1)/p of the vector, at the payload rate that a plain TCP stream reaches
beside (hosts of several ranks: the same with p = hosts, as what crosses can be summed on the host first). usage: run
BUILD [--bytes N] [--rate 300mbit | 10gbit | none] [--wires tcp,ucx] [--iterations N] [--parts N] [--json FILE]; exit
77: no namespaces here
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/hosts"))
import lab  # noqa: E402

STREAM = """
import socket, sys, time
nbytes, host = int(sys.argv[1]), sys.argv[2]
if host == "listen":
    with socket.create_server(("0.0.0.0", 5001)) as s:
        c, _ = s.accept()
        got, begin, buffer = 0, None, bytearray(1 << 20)
        while n := c.recv_into(buffer):
            begin = begin or time.monotonic()
            got += n
        print(got / (time.monotonic() - begin))
else:
    for _ in range(100):
        try:
            c = socket.create_connection((host, 5001))
            break
        except OSError:
            time.sleep(0.05)
    c.sendall(bytes(nbytes))
    c.close()
"""


def stream_rate(hosts, nbytes):
    """Payload bytes a second of one TCP stream from host 0 to host 1."""
    listen = subprocess.Popen(hosts.inside(1, [sys.executable, "-c", STREAM, str(nbytes), "listen"]),
                              stdout=subprocess.PIPE, text=True)
    subprocess.run(hosts.inside(0, [sys.executable, "-c", STREAM, str(nbytes), "10.77.0.2"]), check=True)
    return float(listen.communicate(timeout=120)[0])


def tutti(hosts, build, ranks_a_host, a, algorithms):
    seconds = {}
    for wire in a.wires.split(","):
        ranks = hosts.run(
            ranks_a_host,
            [f"{build}/bench/bench_hosts",
             str(a.bytes), str(a.iterations),
             str(a.parts), *algorithms], {"TUTTI_WIRE": wire}, 600)
        if ranks[0].process.returncode:
            sys.exit(f"tutti: {ranks[0].text}")
        seconds |= {f"tutti {wire} {name}": float(s) for name, s in (line.split() for line in ranks[0].text.splitlines())}
    return seconds


def gloo(hosts, build, ranks_a_host, a):
    python = f"{build}/peers/bin/python"
    if not os.path.exists(python):
        return {}
    ranks = hosts.run(ranks_a_host, [python, str(ROOT / "bench/allreduce/gloo_allreduce.py"), str(a.bytes)],
                      {"GLOO_SOCKET_IFNAME": "eth0"}, 600)
    if ranks[0].process.returncode:
        sys.exit(f"gloo: {ranks[0].text}")
    return {"gloo": 1e-6 * float(ranks[0].text.split()[-1])}


def open_mpi(hosts, folder, ranks_a_host, a):
    """mpirun inside host 0; its remote shell enters the namespaces."""
    if not shutil.which("mpicc.openmpi") or not shutil.which("mpirun.openmpi"):
        return {}
    subprocess.run(["mpicc.openmpi", "-O2", "-o", f"{folder}/mpi_allreduce", str(ROOT / "bench/allreduce/mpi_allreduce.c")],
                   check=True)
    agent = pathlib.Path(folder) / "agent"
    agent.write_text(
        "#!/bin/sh\n# agent HOST COMMAND...: as ssh does, into the namespace of 10.77.0.N\n"
        f'n=${{1##*.}}; shift\nexec ip netns exec {hosts.base}h$((n - 1)) unshare --uts sh -c "hostname host$((n - '
        f'1)); $*"\n'
    )
    agent.chmod(0o755)
    at = ",".join(f"10.77.0.{k + 1}:{ranks_a_host}" for k in range(hosts.nhosts))
    command = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--host", at, "-np",
               str(hosts.nhosts * ranks_a_host), "--mca", "plm_rsh_agent", str(agent), "--mca", "plm_rsh_no_tree_spawn", "1",
               "--mca", "btl", "tcp,self", "--mca", "pml", "ob1", "--mca",
               "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0", f"{folder}/mpi_allreduce", str(a.bytes)]
    done = subprocess.run(["ip", "netns", "exec", hosts.names[0], *command], capture_output=True, text=True, timeout=900)
    if done.returncode:
        sys.exit(f"Open MPI: {done.stderr}")
    return {"open mpi": 1e-6 * float(done.stdout.split()[-1])}


def show(title, nhosts, rate, a, seconds):
    bound = 2 * (nhosts - 1) / nhosts * a.bytes / rate
    print(f"\n{title}: {a.bytes / 1e6:g} MB, stream {8e-6 * rate:.1f} Mbit/s of payload, bound {bound:.3f} s")
    for name, s in sorted(seconds.items(), key=lambda item: item[1]):
        print(f"  {name:34} {s:8.3f} s  {100 * bound / s:5.1f} % of the bound")
    return {"title": title, "stream_bytes_per_s": rate, "bound_s": bound, "seconds": seconds}


def measure(build, a, nhosts, ranks_a_host, algorithms):
    with lab.Lab(nhosts, None if a.rate == "none" else a.rate) as hosts, tempfile.TemporaryDirectory() as folder:
        rates = [stream_rate(hosts, 40_000_000)]
        seconds = tutti(hosts, build, ranks_a_host, a, algorithms)
        rates.append(stream_rate(hosts, 40_000_000))
        if not a.alone:
            seconds |= gloo(hosts, build, ranks_a_host, a) | open_mpi(hosts, folder, ranks_a_host, a)
        rate = "the rate of veth" if a.rate == "none" else a.rate
        return show(f"{nhosts} hosts of {ranks_a_host} at {rate}", nhosts, statistics.mean(rates), a, seconds)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--bytes", type=int, default=64_000_000)
    p.add_argument("--rate", default="300mbit")
    p.add_argument("--wires", default="tcp,ucx")
    p.add_argument("--iterations", type=int, default=3)
    p.add_argument("--parts", type=int, default=4, help="exchanges that the vector is cut into, all in flight")
    p.add_argument("--alone", action="store_true", help="without the peers")
    p.add_argument("--json")
    a = p.parse_args()
    lab.skip_unless_possible()
    results = [measure(a.build, a, 4, 1, ["ring", "direct", "halving-doubling"]),
               measure(a.build, a, 2, 2, ["split-rail,group=2", "hierarchical,group=2", "ring", "direct"])]
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
