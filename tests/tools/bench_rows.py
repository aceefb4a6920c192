#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a row by bench/table.py as a bench does, and wants tools/results.py to make a section of it with all that the
row says.

usage: tests/tools/bench_rows.py ROOT
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(sys.argv[1])
BENCH = """import sys
sys.path.insert(0, sys.argv[2])
sys.argv[2:3] = []
from table import Table
Table("kernels", sys.argv[sys.argv.index("--json") + 1]).row("a case", "ms", 2.0, "a peer 1.0", 3.0, 1.5)
"""
WANTED = {"bench": "kernels", "case": "a case", "unit": "ms", "ours": 2.0, "peer_name": "a peer 1.0", "peer": 3.0,
          "bound": 1.5, "ratio": 1.5, "command": "./dev bench kernels --products --rounds 1"}


def page_of(tree):
    command = [sys.executable, os.path.join(ROOT, "tools/results.py"), tree]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    with tempfile.TemporaryDirectory() as tree:
        rows = os.path.join(tree, "bench/results/kernels.jsonl")
        script = os.path.join(tree, "bench/kernels/run_products.py")
        for path in (rows, script):
            os.makedirs(os.path.dirname(path))
        with open(script, "w", encoding="utf-8") as out:
            out.write(BENCH)
        options = ["BUILD", os.path.join(ROOT, "bench"), "--rounds", "1", "--json", rows]
        subprocess.run([sys.executable, "-B", script, *options], check=True, stdout=subprocess.DEVNULL)
        with open(rows, encoding="utf-8") as file:
            row = json.loads(file.read())
        assert row.keys() == {*WANTED, "processor", "date", "commit"}, row
        assert {key: row[key] for key in WANTED} == WANTED, row
        page = page_of(tree)
        for words in ("## kernels\n", f"Command: `{row['command']}`", row["processor"],
                      f"Day: {row['date']}. Commit: {row['commit']}.",
                      "| a case | ms | 2 | a peer 1.0 | 3 | 1.5 | 1.50 |\n"):
            assert words in page, (words, page)
        del row["processor"]
        with open(rows, "w", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        page = page_of(tree)
        assert "Processor: not recorded." in page, page


main()
