# SPDX-License-Identifier: Apache-2.0
"""Several hosts on one machine: network and UTS namespaces, joined by veth pairs to a bridge in a namespace of its own.

    with lab.Lab(4, rate="300mbit") as hosts:
        done = hosts.run(2, ["tutti", "coll", "bench", ...])      # 2 ranks on each host
        print(hosts.sent())                                        # bytes that each host has put on its wire

The rate is a token bucket (tbf) on both ends of every link, so a port sends and receives at most that much; it holds
what passes in a millisecond, at least 128 KiB: packets that a sender leaves to its card to cut are up to 64 KiB and
their headers, and a bucket that cannot hold one makes the hosts' own cores cut it, forty packets for one, which no
real card does. Without a rate the link is as fast as the machine. Everything is removed when the block is left, also
by an exception or a signal; names carry the process id.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

SKIP = 77


def refuse():
    """Why hosts cannot be made here, or None."""
    if os.geteuid() != 0:
        return "namespaces need root (run as root)"
    for tool in ("ip", "tc", "unshare"):
        if not shutil.which(tool):
            return f"{tool} is not there (./dev setup --test)"
    name = f"tutti{os.getpid()}try"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if tried.returncode:
        return f"no network namespaces: {tried.stderr.strip()} (a container that may make them, or none)"
    shaped = subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1gbit", "burst",
                             "64kb", "latency", "10ms"], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", name], check=False)
    return f"no token bucket: {shaped.stderr.strip()} (a kernel with sch_tbf)" if shaped.returncode else None


def skip_unless_possible():
    why = refuse()
    if why:
        print(f"skipped: {why}")
        sys.exit(SKIP)


def call(*words):
    subprocess.run(words, check=True, capture_output=True, text=True)


def burst_of(rate):
    """Bytes that a bucket of "300mbit" or "10gbit" holds."""
    number, unit = re.fullmatch(r"([\d.]+)([kmg])bit", rate).groups()
    return max(1 << 17, int(float(number) * {"k": 1e3, "m": 1e6, "g": 1e9}[unit] / 8 / 1000))


class Rank:
    """A process of one rank; its output in .text once it has ended."""

    def __init__(self, host, rank, process):
        self.host, self.rank, self.process, self.text = host, rank, process, ""


class Lab:
    def __init__(self, nhosts, rate=None, name="", congestion=None, second=False):
        """name: tells labs of one process apart that are there at once. congestion: of TCP on all hosts; None: the
        machine's own, which may pace
        what it sends. second: a network more, eth1 and 10.78.0.x, with a switch of its own."""
        self.second = second
        self.nhosts, self.rate, self.congestion = nhosts, rate, congestion
        self.base = f"tutti{os.getpid()}{name}"
        self.switch = f"{self.base}sw"
        self.names = [f"{self.base}h{k}" for k in range(nhosts)]
        self.port = 29500

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():  # others may set no handler
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            call("ip", "netns", "add", self.switch)
            call("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge")
            call("ip", "-n", self.switch, "link", "set", "br0", "up")
            for k, name in enumerate(self.names):
                self.add_host(k, name)
            if self.second:
                self.add_second()
        except BaseException:
            self.__exit__()
            raise
        return self

    def add_host(self, k, name):
        call("ip", "netns", "add", name)
        call("ip", "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", f"p{k}", "netns", self.switch)
        call("ip", "-n", self.switch, "link", "set", f"p{k}", "master", "br0", "up")
        call("ip", "-n", name, "addr", "add", f"10.77.0.{k + 1}/24", "dev", "eth0")
        call("ip", "-n", name, "link", "set", "eth0", "up")
        call("ip", "-n", name, "link", "set", "lo", "up")
        if self.congestion:
            call("ip", "netns", "exec", name, "sysctl", "-qw", f"net.ipv4.tcp_congestion_control={self.congestion}")
        if self.rate:
            for where, device in ((name, "eth0"), (self.switch, f"p{k}")):
                call("tc", "-n", where, "qdisc", "add", "dev", device, "root", "tbf", "rate", self.rate, "burst",
                     str(burst_of(self.rate)), "latency", "10ms")

    def add_second(self):
        call("ip", "-n", self.switch, "link", "add", "br1", "type", "bridge")
        call("ip", "-n", self.switch, "link", "set", "br1", "up")
        for k, name in enumerate(self.names):
            call("ip", "-n", name, "link", "add", "eth1", "type", "veth", "peer", "name", f"q{k}", "netns", self.switch)
            call("ip", "-n", self.switch, "link", "set", f"q{k}", "master", "br1", "up")
            call("ip", "-n", name, "addr", "add", f"10.78.0.{k + 1}/24", "dev", "eth1")
            call("ip", "-n", name, "link", "set", "eth1", "up")

    def __exit__(self, *_):
        for name in [*self.names, self.switch]:
            self.kill_all(name)
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    @staticmethod
    def kill_all(name):
        """Kills the processes of a namespace."""
        found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True)
        for pid in found.stdout.split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def kill(self, host):
        """Kills all that runs on a host."""
        self.kill_all(self.names[host])

    def inside(self, host, command):
        """The command on a host, with a host name of its own."""
        return ["ip", "netns", "exec", self.names[host], "unshare", "--uts", "sh", "-c",
                f'hostname host{host}; exec "$@"', "sh", *command]

    def start(self, ranks_a_host, command, env=None, on=None):
        """Starts rank r on host r // ranks_a_host, torchrun's variables set. on(host, command): what is started on
        that host."""
        self.port += 1
        ranks = []
        for r in range(self.nhosts * ranks_a_host):
            host = r // ranks_a_host
            own = dict(os.environ, RANK=str(r), WORLD_SIZE=str(self.nhosts * ranks_a_host),
                       LOCAL_RANK=str(r % ranks_a_host), MASTER_ADDR="10.77.0.1", MASTER_PORT=str(self.port),
                       UCX_LOG_LEVEL="fatal", OMP_WAIT_POLICY="passive", **(env or {}))
            process = subprocess.Popen(self.inside(host, on(host, command) if on else command), env=own, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
            ranks.append(Rank(host, r, process))
        return ranks

    @staticmethod
    def finish(ranks, timeout_s=120):
        """Waits for all; whoever is still there at the deadline is killed and has no exit code of its own."""
        until = time.monotonic() + timeout_s
        for rank in ranks:
            try:
                rank.text, _ = rank.process.communicate(timeout=max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                rank.process.kill()
                rank.text, _ = rank.process.communicate()
        return ranks

    def run(self, ranks_a_host, command, env=None, timeout_s=120):
        return self.finish(self.start(ranks_a_host, command, env), timeout_s)

    def sent(self):
        """Bytes that each host has sent so far, as its interface counts them."""
        counts = []
        for name in self.names:
            shown = subprocess.run(["ip", "-n", name, "-s", "-j", "link", "show", "eth0"], check=True,
                                   capture_output=True, text=True)
            counts.append(json.loads(shown.stdout)[0]["stats64"]["tx"]["bytes"])
        return counts

    def cut(self, host, second=False):
        """The cable of a host is pulled, that of the second network or of the first one."""
        call("ip", "-n", self.switch, "link", "set", f"{'q' if second else 'p'}{host}", "down")

    def mend(self, host):
        """The cable that was pulled is put back."""
        call("ip", "-n", self.switch, "link", "set", f"p{host}", "up")

    def part(self, *sides):
        """Gives each side of the first network a switch of its own."""
        for k, side in enumerate(sides):
            call("ip", "-n", self.switch, "link", "add", f"side{k}", "type", "bridge")
            call("ip", "-n", self.switch, "link", "set", f"side{k}", "up")
            for host in side:
                call("ip", "-n", self.switch, "link", "set", f"p{host}", "master", f"side{k}")
