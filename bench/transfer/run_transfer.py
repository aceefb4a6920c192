# SPDX-License-Identifier: Apache-2.0
"""run_transfer.py: time until tensors lie with another process and it has said so; median of rounds, all candidates in
turn.

All tensors lie in huge pages where the system allows them: ours, the streams', and gRPC's (glibc.malloc.hugetlb).

gRPC runs in its four ways (grpc_peer.cc says what each copies): `bytes` is how a tensor is sent by whoever reads the
tutorial, `place` is its best that ends with the tensor where something can be computed with it, `unary` and `stream`
leave it in pieces where they arrived. The bound is a plain TCP stream into the tensor's place, the best of four: who
waits sleeps or looks for 50 us first as our ranks do, TCP's congestion control is the system's or reno. Ours over TCP
are the wire tcp and UCX held to TCP (UCX_TLS=tcp,self), against gRPC and against our own RPC-style transfer on the
same wire, with the bytes that each copies besides; the rows over shared memory show what staying on the host is worth.
What each of ours does: bench_transfer.c."""
import argparse
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from sizes import in_bytes  # noqa: E402
from table import Table  # noqa: E402

GRPC = ["bytes", "unary", "stream", "place"]
STREAMS = [("sleep", "default"), ("sleep", "reno"), ("spin", "default"), ("spin", "reno")]
WIRES = {"tcp": "TCP", "ucx": "UCX on TCP", "ucx-shm": "UCX on shared memory", "shm": "shared memory"}
VARIABLES = {"tcp": {"TUTTI_WIRE": "tcp"}, "ucx": {"TUTTI_WIRE": "ucx", "UCX_TLS": "tcp,self"},
             "ucx-shm": {"TUTTI_WIRE": "ucx", "UCX_TLS": "sm,self"}, "shm": {"TUTTI_WIRE": "shm"}}
HUGE = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}  # what malloc maps is asked for in huge pages (madvise)
OURS = [(wire, mode) for wire in WIRES for mode in ("static", "dynamic", "rpc")]
# One layer of 1024 cells with a dense layer behind it: 35.7 MB, the size that Xue et al. 2019 give for theirs is 35.9
# MB.
LSTM = [4 * 2048 * 4096, 4 * 4096, 4 * 1024 * 512, 4 * 512]


def alexnet(build: pathlib.Path) -> list[int]:
    """The parameters of the zoo's AlexNet, in the order in which their gradients travel, from its own plan."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as job:
        job.write("model: alexnet\ndata: {set: noise, shape: [3, 227, 227], classes: 1000}\nbatch: 2\nsteps: 1\n"
                  "optimiser: {lr: 0.1}\n")
        job.flush()
        plan = subprocess.run([build / "tutti", "plan", job.name, "--ranks", "2"], check=True, capture_output=True,
                              text=True).stdout
    rows = re.findall(r"^ +\d+  ([\w.]+) +\(([\d, ]+)\)", plan, re.M)
    return [4 * math.prod(map(int, shape.split(","))) for _, shape in rows]


def ucx_version() -> str:
    done = subprocess.run(["pkg-config", "--modversion", "ucx"], capture_output=True, text=True)
    return done.stdout.strip() or "not in this build"


def build_peer(build: pathlib.Path) -> pathlib.Path:
    folder, program = build / "bench", build / "bench" / "grpc_peer"
    folder.mkdir(parents=True, exist_ok=True)
    plugin = subprocess.run(["which", "grpc_cpp_plugin"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(["protoc", "-I", HERE, f"--cpp_out={folder}", f"--grpc_out={folder}",
                    f"--plugin=protoc-gen-grpc={plugin}", HERE / "transfer.proto"], check=True)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "grpc++", "protobuf"], check=True, capture_output=True,
                           text=True).stdout.split()
    subprocess.run(["g++", "-O3", "-std=c++17", "-I", folder, "-o", program, HERE / "grpc_peer.cc",
                    folder / "transfer.pb.cc", folder / "transfer.grpc.pb.cc", *flags], check=True)
    return program


def lines_of(command: list, **variables: str) -> list[list[str]]:
    """Words of each line; [] where the command fails: the wire is not there."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300,
                          env=dict(os.environ, UCX_LOG_LEVEL="error", **HUGE, **variables))
    return [] if done.returncode else [line.split() for line in done.stdout.splitlines()]


class Measured:
    """Candidates for one list of messages; each pass asks all of them once."""

    def __init__(self, build: pathlib.Path, peer: pathlib.Path, port: str, sizes: list[int], rounds: int) -> None:
        text = ",".join(map(str, sizes))
        self.commands = {("grpc", v): [peer, "call", port, v, rounds, text] for v in GRPC}
        self.commands |= {("stream", f"{way} {control}"): [build / "bench" / "bench_stream", way, control, rounds, text]
                          for way, control in STREAMS}
        self.ours = {(w, m): [build / "bench" / "bench_transfer", m, text] for w, m in OURS}
        self.times: dict[tuple[str, str], list[float]] = {key: [] for key in [*self.commands, *self.ours]}
        self.copied: dict[tuple[str, str], int] = {}

    def run(self, passes: int) -> None:
        for _ in range(passes):
            for key, command in self.commands.items():
                found = [float(line[-1]) for line in lines_of(command)]
                self.times[key] += found[1:]  # the first opens connections and touches memory
            for key, command in self.ours.items():
                for line in lines_of(command, **VARIABLES[key[0]]):  # bytes, microseconds, bytes copied besides
                    self.times[key].append(float(line[1]))
                    self.copied[key] = int(line[2])

    def us(self, *key: str) -> float | None:
        values = self.times.get(key, [])
        return statistics.median(values) if values else None

    def bound(self) -> float | None:
        return min(filter(None, (us for us in (self.us("stream", f"{w} {c}") for w, c in STREAMS))), default=None)


def print_case(table: Table, name: str, m: Measured) -> None:
    bound = m.bound()
    for wire in ("tcp", "ucx"):
        for variant in GRPC:
            table.row(f"{name}, over {WIRES[wire]}", "us", m.us(wire, "static"), f"gRPC {variant}", m.us("grpc", variant), bound)
    for way, control in STREAMS:
        table.row(f"{name}, over TCP", "us", m.us("tcp", "static"), f"stream, {way}, {control}",
                  m.us("stream", f"{way} {control}"), bound)
    for wire, where in WIRES.items():
        copies = f"{m.copied.get((wire, 'static'), '?')} against {m.copied.get((wire, 'rpc'), '?')} bytes copied"
        table.row(f"{name}, zero-copy over {where}", "us", m.us(wire, "static"), f"ours as RPC, {copies}",
                  m.us(wire, "rpc"), None if "shm" in wire else bound)
        table.row(f"{name}, dynamic over {where}", "us", m.us(wire, "dynamic"), "ours as RPC", m.us(wire, "rpc"),
                  None if "shm" in wire else bound)


def main() -> None:
    arguments = argparse.ArgumentParser(prog="bench transfer", description=__doc__)
    arguments.add_argument("build", type=pathlib.Path)
    arguments.add_argument("--bytes", default="4KB,1MB,100MB")
    arguments.add_argument("--rounds", type=int, default=5, help="passes over all candidates")
    arguments.add_argument("--json")
    options = arguments.parse_args()
    peer = build_peer(options.build)
    cases = [(text, [in_bytes(text)]) for text in options.bytes.split(",")]
    cases += [(f"AlexNet step, {len(s)} tensors, {sum(s) / 1e6:.1f} MB", s) for s in [alexnet(options.build)]]
    cases += [(f"LSTM step, {len(LSTM)} tensors, {sum(LSTM) / 1e6:.1f} MB", LSTM)]
    server = subprocess.Popen([peer, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, **HUGE))
    try:
        port, version = server.stdout.readline().split()
        ours = subprocess.run([options.build / "tutti", "version"], capture_output=True, text=True).stdout.strip()
        print(f"# {ours}; gRPC C++ {version}: frames of 16 MiB, look-ahead 256 MiB, no limit on messages, completion "
              f"queues")
        print(f"# UCX {ucx_version()}, UCX_TLS=tcp,self or sm,self; both sides over TCP loopback unless the row says "
              f"otherwise")
        table = Table("transfer", options.json)
        for name, sizes in cases:
            measured = Measured(options.build, peer, port, sizes, 6 if sum(sizes) > 10**7 else 200)
            measured.run(options.rounds)
            print_case(table, name, measured)
    finally:
        server.stdin.close()
        server.wait(timeout=10)


main()
