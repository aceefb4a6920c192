#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts of published tables print what the pages say: bench/packing and bench/mapping
(NOTES.md of both).

usage: published_tables.py PROGRAM
"""
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT, BUILD = pathlib.Path(__file__).resolve().parents[2], pathlib.Path(sys.argv[1]).resolve().parent
PACKING = ROOT / "bench/packing/packing.py"


def lines(*command):
    return subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True).stdout.splitlines()


def check_subsets(machine, nkinds, rings_of_all):
    head, _, *rows = lines(PACKING, "subsets", BUILD, machine)
    assert head.endswith(f"181 subsets of 3 to 8 GPUs that NVLinks join, {nkinds} kinds"), head
    assert len(rows) == nkinds and sum(int(r.split()[1]) for r in rows) == 181
    for row in rows:
        (_, _, bound), (weights, _), (exact, _), (few, trees), (rings, rate) = (part.split() for part in row.split("|"))
        assert float(weights) >= 0.995 * float(bound) * (1 - 1e-4) and float(exact) == float(bound), row
        assert float(few) >= 0.95 * float(bound) * (1 - 1e-4) and int(trees) <= 9, row
        # Rings are trees with one edge too many: they carry no more than trees can.
        assert rings == "0" or float(rate) <= float(bound) * (1 + 1e-3), row
    assert rows[-1].split("|")[-1].split()[0] == rings_of_all


def check_bigraph():
    _, *rows = lines(ROOT / "bench/mapping/bigraph.py", BUILD)
    assert len(rows) == 20
    for switches, hosts, _, least, messages, ratio, *_ in (r.split() for r in rows):
        assert int(messages) <= int(least)
        assert int(hosts) > int(switches) / 2 or abs(float(ratio) - 1) < 2e-3


def check_picture(folder):
    subprocess.run(
        [sys.argv[1], "coll", "pack", "dgx1v,wires=nvlink", "--loss", "5", "--solver", "none", "--out", folder / "p"],
        check=True,
        capture_output=True)
    lines(PACKING, "draw", folder / "p", folder / "p.svg")
    texts = [t.text for t in xml.etree.ElementTree.parse(folder / "p.svg").iter("{http://www.w3.org/2000/svg}text")]
    assert sum(t.startswith("tree ") for t in texts) == (folder / "p").read_text().count("\ntree "), texts


check_subsets("dgx1v", 46, "3")
check_subsets("dgx1p", 14, "2")
check_bigraph()
with tempfile.TemporaryDirectory() as made:
    check_picture(pathlib.Path(made))
print("the tables are as published")
