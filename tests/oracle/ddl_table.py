#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges papers/ddl-table/ddl_table.py: on made-up rows a cell is its formula, constants that made rows are found
again, rows that do not go together are named, and what is no table is refused with its line; on the published rows,
where they are ($TUTTI_DATA, or shared/data beside the source tree), errors are those of papers/ddl-table/NOTES.md and
--fit prints the committed constants.

usage: ddl_table.py PYTHON (with numpy)
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "papers/ddl-table/ddl_table.py"
HEAD = "| DNN | BS | CONNECTION | METHOD | 1 GPU | 4 GPUs | 8 GPUs |\n|---|---|---|---|---|---|---|\n"
LAYERS = ("Id Name Forward Backward Comm Size\n0 a 100 200 0 1000000\n1 b 0 0 0 4000\n"
          "2 c 300 600 0 40000000\n3 d 100 200 0 9000000\n")


def run(*arguments, rc=0):
    done = subprocess.run([sys.argv[1], SCRIPT, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == rc, (arguments, done.returncode, done.stderr)
    return done.stdout if rc == 0 else done.stderr


def near(a, b, by):
    assert abs(a / b - 1) <= by, (a, b)


def cells(folder, rows):
    (folder / "rows.md").write_text("words above\n\n" + HEAD + rows)
    text = run("--rows", folder / "rows.md", "--layers", f"A={folder / 'a.txt'}", "--json", folder / "cells")
    return text, [json.loads(line) for line in (folder / "cells").read_text().splitlines()]


def check_cells(folder):
    c = json.loads((ROOT / "papers/ddl-table/constants.json").read_text())
    ring, inside, size = c["networks"]["10GbE with TCP/IP"], c["inside"], 50004000
    rate, hop = ring["line"] * ring["efficiency"], ring["hop_us"] * 1e-6
    text, got = cells(folder, "".join(f"| A | 15 | 10GbE with TCP/IP | {m} | 100 | - | 300 +- 1.5 |\n"
                                      for m in ("BSP-A2A", "BSP-PS", "WFBP-A2A", "MG-WFBP", "ByteScheduler-A2A")))
    servers = 1 / (inside["line"] * inside["server_efficiency"]) + 1 / (ring["line"] * ring["server_efficiency"])
    # 150 ms of computing: forward 10, 0, 30, 10 ms, gradients of d, c, b, a 20, 80, 80, 100 ms behind the beginning of
    # the backward pass
    queue = max(0.02 + 4 * 14 * hop + 1.75 * size / rate, 0.08 + 3 * 14 * hop + 1.75 * (size - 9e6) / rate)
    for cell, step in zip(got, (0.15 + 14 * hop + 1.75 * size / rate, 0.15 + size * servers, 0.05 + queue)):
        near(cell["predicted"], 15 * 8 / step, 1e-9)
    assert got[3]["predicted"] > got[2]["predicted"] and got[4]["predicted"] >= got[2]["predicted"] * (1 - 1e-12)
    assert "over 2 cells (BSP-A2A, WFBP-A2A)" in text.splitlines()[-1]


def check_fit(folder):
    """Rows as a machine would have them, half of them by Adam, beside a model whose figures are nonsense."""
    name = "10GbE"
    made = {"inside": (5e9, 4e9, 1e-6), name: (1e9, 0.75e9, 20e-6)}
    size = [100000 * (1 + i % 5) for i in range(60)]
    for model, rule in (("ResNet-50", "sgd"), ("BERT-Base", "adamw")):
        (folder / model).write_text(f"Id Name Forward Backward Comm Size\n# rule {rule}\n" +
                                    "".join(f"{i} l{i} 10 20 0 {n}\n" for i, n in enumerate(size)))
    rows = ""
    for model, adam in (("ResNet-50", 0), ("BERT-Base", 60 * 250e-6)):
        for method in ("BSP-A2A", "BSP-PS"):
            rows += f"| {model} | 15 | {name} | {method} | 100"
            for gpus in (4, 8):
                rate, servers, hop = made[name if gpus > 4 else "inside"]
                step = 0.15 + adam + 2 * (gpus - 1) * hop + 2 * (gpus - 1) / gpus * sum(size) / rate
                if method == "BSP-PS":
                    step = 0.15 + sum(size) / made["inside"][1] + (sum(size) / servers if gpus > 4 else 0)
                rows += f" | {15 * gpus / step:.9g}"
            rows += " |\n"
    (folder / "fit.md").write_text(HEAD + rows + f"| Z | 15 | {name} | BSP-A2A | 100 | 1 | 1 |\n")
    layers = [x for m in ("ResNet-50", "BERT-Base") for x in ("--layers", f"{m}={folder / m}")]
    c = json.loads(run("--fit", folder / "fit.md", *layers))
    near(c["adam_us"], 250, 0.03)
    near(c["inside"]["line"] * c["inside"]["server_efficiency"], 4e9, 1e-3)
    near(c["networks"][name]["line"] * c["networks"][name]["server_efficiency"], 0.75e9, 1e-3)
    assert "no figure of" in run("--fit", folder / "none.md", *layers, rc=1)


def check_suspects(folder):
    for rows, words in (
        ("| A | 10 | 10GbE with TCP/IP | BSP-A2A | 100 | 350 | 500 |\n| A | 10 | 100GbE with TCP/IP | BSP-A2A | 100 | "
         "200 | 650 |\n",
         "100GbE with TCP/IP, BSP-A2A: one node, two speeds: 4 GPUs 200, over 10GbE with TCP/IP 350"),
        ("| A | 10 | 10GbE with TCP/IP | WFBP-PS | 100 | 402.4 | 500 |\n",
         "faster than linear: 100.60 % of 4 times one GPU"),
        ("| A | 10 | 10GbE with TCP/IP | BSP-A2A | 100 | 200 | 500 |\n| A | 10 | 10GbE with TCP/IP | WFBP-A2A | 100 | "
         "230 | 510 |\n",
         "overlap too small: on 4 GPUs it hides 26 ms of 67 ms"),
        ("| A | 10 | 10GbE with TCP/IP | WFBP-A2A | 100 | 350 | 500 |\n| A | 10 | 10GbE with TCP/IP | MG-WFBP | 100 | "
         "350 | 480 |\n",
         "merging that loses: 8 GPUs 480, a message a layer 500")):
        assert words in cells(folder, rows)[0], words


def check_refusals(folder):
    for rows, words in (("", "no row of measured figures"), ("| A | 6.5 | N | M | 1 | 2 | 3 |\n", "line 3: no row"),
                        ("| A | 64 | N | M | 1 | fast | 3 |\n", "line 3: 'fast' is not a figure"),
                        ("| A | 64 | N | M | - | 2 | 3 |\n", "line 3: no figure of 1 GPU"),
                        ("| A | 64 | N | M | 1 | 2 | 3 | 4 |\n", "line 3: no row"),
                        ("| A | 64 | 1GbE | BSP-A2A | 1 | 2 | 3 |\n", "line 3: no constants for the connection '1GbE'"),
                        ("| B | 64 | 1GbE | BSP-A2A | 1 | 2 | 3 |\n", "no layers of B")):
        (folder / "no.md").write_text(HEAD + rows)
        given = ["--layers", f"A={folder / 'a.txt'}"] if "| A |" in rows else []
        assert words in run("--rows", folder / "no.md", *given, rc=1), (rows, words)


def check_published(path):
    judged = run("--rows", path)
    assert judged.splitlines()[-1] == "median 0.5 % p95 7.5 % over 48 cells (BSP-A2A, WFBP-A2A)"
    assert json.loads(run("--fit", path)) == json.loads((ROOT / "papers/ddl-table/constants.json").read_text())
    medians = [float(m) for m in re.findall(r"all methods +([\d.]+) %", run("--left-out", path))]
    assert len(medians) == 2 and medians[0] <= 10 and medians[1] <= 15, medians


with tempfile.TemporaryDirectory() as made:
    if subprocess.run([sys.argv[1], "-c", "import numpy"], capture_output=True).returncode:
        print("skipped: no numpy (./dev setup --test)")
        sys.exit(77)
    here = pathlib.Path(made)
    (here / "a.txt").write_text(LAYERS)
    (here / "none.md").write_text(
        HEAD +
        "| ResNet-50 | 8 | 10GbE | WFBP-PS | 100 | 300 | 400 |\n| BERT-Base | 8 | 10GbE | WFBP-PS | 1 | 3 | 4 |\n")
    check_cells(here), check_fit(here), check_suspects(here), check_refusals(here)
    published = pathlib.Path(os.environ.get("TUTTI_DATA", ROOT.parent / "shared/data")) / "ddl-benchmarks-2020-05-29.md"
    if published.exists():
        check_published(published)
    print("the table's script does as papers/ddl-table/NOTES.md says" +
          ("" if published.exists() else f"; {published} is not there"))
