#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names and addresses of rank 0 as clusters have them, and names of interfaces, on two hosts that are namespaces
(lab.py), each with an /etc/hosts of its own: a name that is known later, that has several addresses, that means
another one on rank 0's host; addresses of IP 6 in brackets.

usage: tests/hosts/test_names.py TUTTI      exit 77: skipped, says why
"""
import os
import sys
import tempfile
import threading
import time

import lab

TUTTI = os.path.abspath(sys.argv[1])
BENCH = [TUTTI, "coll", "bench", "--algo", "ring", "--bytes", "64KB", "--iters", "3"]
OWN_HOSTS = 'mount --bind "$HOSTS_FILE" /etc/hosts; exec "$@"'


def expect(right, words):
    if not right:
        sys.exit(f"FAILED: {words}")


def start(hosts, files, env):
    """A rank on each host, whose /etc/hosts is the file of its number."""
    def with_file(host, command):
        return [
            "env", f"HOSTS_FILE={files[host]}",
            *hosts.inside(host, ["unshare", "--mount", "sh", "-c", OWN_HOSTS, "sh", *command])
        ]
    command = ["env", *[f"{key}={value}" for key, value in env.items()], *BENCH]
    return hosts.start(1, command, {"TUTTI_DEADLINE_S": "20"}, with_file)


def write(files, *texts):
    for path, text in zip(files, texts):
        with open(path, "w", encoding="utf-8") as f:  # in place: it is mounted
            f.write("127.0.0.1 localhost\n" + text)


def expect_code(ranks, code, what):
    lab.Lab.finish(ranks, 60)
    for rank in ranks:
        wanted = code if isinstance(code, int) else code[rank.rank]
        expect(rank.process.returncode == wanted, f"{what}: rank {rank.rank} ends with {rank.process.returncode}: "
                                                  f"{rank.text}")


def meets(hosts, files, address, what, env=None):
    began = time.monotonic()
    expect_code(ranks := start(hosts, files, {"MASTER_ADDR": address, "TUTTI_WIRE": "tcp", **(env or {})}), 0, what)
    print(f"ok: {what}, {time.monotonic() - began:.1f} s")
    return ranks


def test_f28_names_of_rank_0(hosts, files):
    for later, what in ((0.5, "after a while"), (1.5, "after more than a second"), (6, "after the first words")):
        write(files, "", "")
        timer = threading.Timer(later, lambda: write(files, "10.77.0.1 zero\n", "10.77.0.1 zero\n"))
        timer.start()
        ranks = meets(hosts, files, "zero", f"a name that is known {what}")
        timer.join()
        if later > 5:
            expect("cannot reach rank 0 at "
                   "zero" in ranks[1].text, f"nobody says that the name is not known: {ranks[1].text}")
    for mine, theirs, what in (("127.0.1.1 zero\n", "10.77.0.1 zero\n", "rank 0 knows itself by 127.0.1.1"),
                               ("127.0.0.1 zero\n", "10.78.0.1 zero\n",
                                "rank 0 knows itself by loopback, another by its second network"),
                               ("", "10.78.0.1 zero\n", "rank 0 does not know its own name"),
                               ("10.78.0.1 zero\n", "10.77.0.1 zero\n", "each knows another address"),
                               ("10.77.0.1 zero\n", "10.77.0.99 zero\n10.78.0.99 zero\n10.77.0.1 zero\n",
                                "the third address answers"), ("10.77.0.1 zero\n", "fd00:77::99 zero\n10.77.0.1 zero\n",
                                                               "the first address is of IP 6, to which no way leads")):
        write(files, mine, theirs)
        meets(hosts, files, "zero", what)
    write(files, "10.77.0.99 zero\n", "10.77.0.99 zero\n")
    began = time.monotonic()
    ranks = start(hosts, files, {"MASTER_ADDR": "zero", "TUTTI_DEADLINE_S": "3"})
    expect_code(ranks, 5, "an address that is nobody's")
    expect("MASTER_ADDR 'zero' is not an address of this host" in ranks[0].text, ranks[0].text)
    print(f"ok: an address that is nobody's is named by rank 0, {time.monotonic() - began:.1f} s")


def link_local(hosts):
    shown = lab.subprocess.run(["ip", "-n", hosts.names[0], "-6", "-o", "addr", "show", "dev", "eth0", "scope", "link"],
                               check=True, capture_output=True, text=True).stdout.split()
    return shown[shown.index("inet6") + 1].split("/")[0] if "inet6" in shown else None


def brackets(hosts, files):
    for k, name in enumerate(hosts.names):
        lab.call("ip", "-n", name, "addr", "add", f"fd00:77::{k + 1}/64", "dev", "eth0", "nodad")
    for address in ("fd00:77::1", "[fd00:77::1]", "[::ffff:10.77.0.1]"):
        meets(hosts, files, address, f"MASTER_ADDR={address}")
    port = hosts.port + 1
    meets(hosts, files, f"[fd00:77::1]:{port}", "a port behind brackets")
    local = link_local(hosts)
    until = time.monotonic() + 5
    while local and time.monotonic() < until and "tentative" in lab.subprocess.run(
            ["ip", "-n", hosts.names[0], "-6", "addr", "show", "dev", "eth0"], check=True, capture_output=True, text=True).stdout:
        time.sleep(0.1)
    if local:
        meets(hosts, files, f"[{local}%eth0]", "an address of one link, in brackets")


def interfaces(hosts, files):
    write(files, "", "")
    for wire in ("auto", "tcp", "ucx"):
        for wrong in ("nosuch0", "eth0,eth9", "ETH1"):
            ranks = start(hosts, files, {"MASTER_ADDR": "10.77.0.1", "TUTTI_WIRE": wire, "TUTTI_NET_IF": wrong})
            expect_code(ranks, 2, f"{wire}, TUTTI_NET_IF={wrong}")
            for rank in ranks:
                expect(f"TUTTI_NET_IF='{wrong}'" in rank.text and "eth0,eth1" in rank.text, f"{wire}: {rank.text}")
    print("ok: wrong names of interfaces are refused on each wire, with those that there are")
    ranks = start(hosts, files, {"MASTER_ADDR": "10.77.0.1", "TUTTI_WIRE": "ucx", "UCX_TLS": "tcp,self"})
    lab.Lab.finish(ranks)
    if "install libucx" in ranks[0].text or "libucx" in ranks[0].text and ranks[0].process.returncode:
        return print(f"not over ucx: {ranks[0].text.strip()}")
    for name, address in (("eth0", "10.77.0.1"), ("eth1", "10.78.0.1")):
        ranks = start(hosts, files, {
            "MASTER_ADDR": "10.77.0.1",
            "TUTTI_WIRE": "ucx",
            "UCX_TLS": "tcp,self",
            "TUTTI_NET_IF": name
        })
        expect_code(ranks, 0, f"ucx over {name}")
        expect(f"ucx ({name} {address}, tcp" in ranks[0].text, ranks[0].text)
    ranks = start(hosts, files, {
        "MASTER_ADDR": "10.77.0.1",
        "TUTTI_WIRE": "ucx",
        "UCX_NET_DEVICES": "eth1",
        "TUTTI_NET_IF": "eth0"
    })
    expect_code(ranks, 0, "UCX's own variable")
    expect("ucx (eth1 10.78.0.1, tcp" in ranks[0].text, ranks[0].text)
    print("ok: over ucx the interface is named, and chosen by TUTTI_NET_IF")
    for broken in ({"UCX_TLS": "nonsense"}, {"UCX_NET_DEVICES": "nosuch0"}, {"UCX_TLS": "sm,self"}):
        ranks = start(hosts, files, {"MASTER_ADDR": "10.77.0.1", "TUTTI_WIRE": "auto", **broken})
        expect_code(ranks, 0, f"auto, {broken}")
        expect(", without ucx: " in ranks[0].text and "wire ucx: " in ranks[0].text, ranks[0].text)
    print("ok: auto says why it goes without ucx")


def main():
    lab.skip_unless_possible()
    with tempfile.TemporaryDirectory() as folder, lab.Lab(2, second=True) as hosts:
        files = [os.path.join(folder, f"hosts{k}") for k in range(2)]
        test_f28_names_of_rank_0(hosts, files)
        brackets(hosts, files)
        interfaces(hosts, files)


if __name__ == "__main__":
    main()
