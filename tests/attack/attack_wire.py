# SPDX-License-Identifier: Apache-2.0
"""attack_wire.py: strangers at the ports of two ranks that exchange bytes over the wire tcp: what they do must not
show in the result."""
import os
import random
import socket
import struct
import time

MAGIC, VERSION, HELLO, HEAD = 0x31747574, 1, 40, 48


def listening_ports(pids):
    """TCP ports that any of these processes listens on."""
    inodes = set()
    for pid in pids:
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                link = os.readlink(f"/proc/{pid}/fd/{fd}")
                if link.startswith("socket:["):
                    inodes.add(link[8:-1])
        except OSError:
            pass
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            for line in open(table).read().split("\n")[1:]:
                parts = line.split()
                if len(parts) > 9 and parts[3] == "0A" and parts[9] in inodes:
                    ports.add(int(parts[1].split(":")[1], 16))
        except OSError:
            pass
    return ports


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def dial(port):
    s = socket.socket()
    s.settimeout(2)
    s.connect(("127.0.0.1", port))
    return s


def send(port, data, keep=None, reset=False):
    try:
        s = dial(port)
        s.sendall(data)
        if reset:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if keep is not None and not reset:
            keep.append(s)
        else:
            s.close()
    except OSError:
        pass


def hello(token=b"\0" * 16, rank=1, connection=0, nconnections=1, magic=MAGIC, version=VERSION):
    return struct.pack("<II16siIII", magic, version, token, rank, connection, nconnections, 0)


def head(kind=1, address=0, nbytes=0, number=0):
    return struct.pack("<IIIIQQQQ", MAGIC, 0, kind, 0, address, number, 0, nbytes)


def noise(n, seed=1):
    return random.Random(seed).randbytes(n)


def scan(port, _):
    for _ in range(100):
        send(port, b"")


def half_hello(port, keep):
    for n in (1, 4, 8, 39):
        send(port, hello()[:n], keep)


def crowd(port, keep):
    for _ in range(300):
        send(port, b"", keep)


ATTACKS = [
    ("a port scan: 100 connections that close at once", scan),
    ("connections that never speak: 300", crowd),
    ("half a hello, four ways, kept open", half_hello),
    ("HTTP", lambda p, k: send(p, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", k)),
    ("TLS", lambda p, k: send(p, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + noise(512), k)),
    ("SSH", lambda p, k: send(p, b"SSH-2.0-OpenSSH_9.0\r\n", k)),
    ("a hello with a token of zeros", lambda p, k: send(p, hello(), k)),
    ("a hello with a token by chance, 50 times", lambda p, k: [send(p, hello(noise(16, i)), k) for i in range(50)]),
    ("a hello of rank -1", lambda p, k: send(p, hello(rank=-1), k)),
    ("a hello of rank 2^31 - 1", lambda p, k: send(p, hello(rank=2**31 - 1), k)),
    ("a hello of connection 2^32 - 1", lambda p, k: send(p, hello(connection=2**32 - 1, nconnections=2**32 - 1), k)),
    ("a hello of version 2", lambda p, k: send(p, hello(version=2), k)),
    ("a hello in the other byte order", lambda p, k: send(p, struct.pack(">II16siIII", MAGIC, 1, b"", 1, 0, 1, 0), k)),
    ("a put at once, without a hello", lambda p, k: send(p, head(1, 4096, 1 << 40) + noise(4096), k)),
    ("a megabyte of noise", lambda p, k: send(p, noise(1 << 20), k)),
    ("a megabyte of zeros", lambda p, k: send(p, bytes(1 << 20), k)),
    ("a hello, then a reset", lambda p, _: send(p, hello(), reset=True)),
    ("half a hello, then a reset, 50 times", lambda p, _: [send(p, hello()[:20], reset=True) for _ in range(50)]),
    ("a control frame of 4 GiB", lambda p, k: send(p, noise(16) + struct.pack("<I", 2**32 - 1) * 40, k)),
    ("a hello, one byte at a time", lambda p, k: [send(p, hello()[i:i + 1], k) for i in range(HELLO)]),
]


def under_fire(attacker, body):
    """Two ranks over tcp; `body` at rank 0's port before the other one comes, then at all ports until rank 0 ends. The
    ranks, and how
    long they may still take."""
    port, keep, seen = free_port(), [], {}
    words = [attacker.tutti, "coll", "bench", "--algo", "ring", "--bytes", "64KB", "--iters", "20"]
    ranks = [attacker.start_rank(0, 2, port, words, {"TUTTI_WIRE": "tcp"})]
    until = time.time() + 8
    while ranks[0].poll() is None and time.time() < until:
        for p in listening_ports([r.pid for r in ranks]):
            if seen.get(p, 0) < 2:
                seen[p] = seen.get(p, 0) + 1
                body(p, keep)
        if seen and len(ranks) == 1:
            ranks.append(attacker.start_rank(1, 2, port, words, {"TUTTI_WIRE": "tcp"}))
        time.sleep(0.002)
    for s in keep:
        s.close()
    if not seen:
        raise RuntimeError("rank 0 listened on no port")
    return ranks, 10
