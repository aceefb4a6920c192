#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of bench/mapping/NOTES.md: halving and doubling of 100 MB over all hosts of a BiGraph of N switches with M
hosts each: the most messages on a link between switches in a stage, and simulated time / time on one switch that never
blocks, by placement.

usage: bigraph.py BUILD     far first: block, the farthest partner first (ranks in bit-reversed order)
"""
import json
import re
import subprocess
import sys


def tutti(*arguments):
    return subprocess.run([f"{sys.argv[1]}/tutti", *arguments], check=True, capture_output=True, text=True).stdout


def seconds(words):
    number, unit = words.split()
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


def line(switches, hosts):
    ranks = switches * hosts
    figures = dict(p.split("=") for p in tutti("topo", "make", "bigraph").strip().split(",")[1:])
    lat, hop = (seconds(re.sub(r"([\d.]+)", r"\1 ", figures[k])) for k in ("lat", "hop"))
    star = f"star,bw={figures['bw']},lat={(lat + hop) * 1e9:.0f}ns,soft={figures['soft']},add=1TB"
    rows = map(json.loads, tutti("coll", "explain", "--topology", star, "--ranks", str(ranks), "--bytes", "100000000", "--engine",
                                 "closed-form", "--json").splitlines())
    closed = next(r["seconds"] for r in rows if r["algorithm"] == "halving-doubling")
    print(f"{switches:4} {hosts:4} {ranks:5} {-(-2 * hosts // switches):10}", end="")
    far = ".".join(str(int(f"{r:0{ranks.bit_length() - 1}b}"[::-1], 2)) for r in range(ranks))
    for place in ("parity", "block", "round-robin", far):
        text = tutti("topo", "map", f"bigraph,switches={switches},hosts={hosts},add=1TB,place={place}", "--own-start",
                     "--swaps", "1")
        messages, took = re.search(r"^before +\S+ \S+ +\S+ +(\d+) +(\S+ \S+)$", text, re.M).groups()
        print(f" {messages:>6} {seconds(took) / closed:9.3f}", end="")
    print()


if len(sys.argv) != 2:
    sys.exit(__doc__)
print(f"{'N':>4} {'M':>4} ranks ceil(2M/N) {'parity mapping':>16} {'block':>16} {'round-robin':>16} {'far first':>16}")
for n in (4, 8, 16, 32):
    for m in (1, 2, 4, 8, 16):
        line(n, m)
