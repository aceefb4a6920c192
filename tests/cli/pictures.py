#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command that draws: the picture is well-formed XML without anything from elsewhere, and holds the words and
numbers that it is about.

usage: pictures.py PROGRAM"""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.parsers.expat


def texts_of(path):
    """The words of all <text> elements; fails if the file is no XML."""
    texts, inside = [], [False]
    parser = xml.parsers.expat.ParserCreate()

    def start(name, attributes):
        inside[0] = name == "text"
        if inside[0]:
            texts.append("")
        for value in attributes.values():
            assert not re.search(r"\b(nan|inf)\b", value), f"{path}: {name} {attributes}"
            assert "://" not in value.replace("http://www.w3.org/2000/svg", ""), f"{path}: {value}"

    def data(words):
        if inside[0]:
            texts[-1] += words

    def end(_name):
        inside[0] = False

    parser.StartElementHandler, parser.CharacterDataHandler, parser.EndElementHandler = start, data, end
    with open(path, "rb") as file:
        parser.ParseFile(file)
    return texts


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"tutti {' '.join(arguments)}: {done.returncode}\n{done.stderr}"
    return done.stdout


def holds(path, *wanted):
    texts = texts_of(path)
    for words in wanted:
        assert words in texts, f"{path}: no text '{words}' in {texts}"
    return texts


def curves(program, folder):
    """The chosen are bold, which are those that --ranges names."""
    star = ("--ranks", "8", "--topology", "star,bw=10GbE,lat=5us")
    for ranges in (("--ranges",), ("--bytes", "100MB")):
        path = f"{folder}/curves.svg"
        run(program, "coll", "explain", *ranges, *star, "--svg", path)
        marked = ["100 MB"] if ranges[0] == "--bytes" else []
        texts = holds(path, "allreduce over 8 ranks, star,bw=10GbE,lat=5us", "ring", "halving-doubling", "4 B", "1 GiB",
                      "1 ms", *marked)
        with open(path, encoding="utf-8") as file:
            bold = set(re.findall(r'class="title">([a-z-]+)<', file.read()))
        said = {
            json.loads(line)["algorithm"].split(",")[0]
            for line in run(program, "coll", "explain", "--ranges", "--json", *star).splitlines()
        }
        assert bold <= said and {"one-shot", "ring"} <= bold, f"{bold} where --ranges says {said}"
        assert len(texts) == len(set(texts)), "a curve is named twice"


def report(program, folder):
    lines = []
    for step in range(100, 3100, 100):
        lines.append({
            "ev": "step",
            "step": step,
            "loss": 50 / step + 0.01 * (step % 300 == 0),
            "ips": 1000 + step % 700,
            "step_ms": 10,
            "comm_ms": 3
        })
        if step % 1000 == 0:
            lines.append({"ev": "eval", "step": step, "accuracy": 0.98 + step / 1e6, "loss": 60 / step, "seconds": step / 100})
    path = f"{folder}/metrics.jsonl"

    def write():
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    write()
    said = run(program, "report", folder)
    assert "speed     1300 samples/s (median of 30 lines, 1000 to 1600)" in said, said
    assert "exchange  30.0 % of the time of the steps so far" in said, said
    texts = holds(f"{folder}/report.svg", f"Training in {folder}", "training, mean", "training, a step", "test",
                  "samples a second", "98.3", "0.02")
    assert texts.count("test") == 2 and "accuracy, %" in texts
    lines.append({"ev": "cost", "step": 3000, "ranks": 2, "exchange": 6, "compute": 54, "initialisation": 40})
    write()
    said = run(program, "report", folder)
    assert "exchange  6.0 % of the run's time" in said, said
    assert re.search(r"exchange between ranks +6.000 s +6.0 %", said), said


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        curves(program, folder)
        report(program, folder)
        path = f"{folder}/picture.svg"
        for arguments, wanted in (
            (("topo", "make", "torus,x=4,y=4", "--svg", path), ("torus, rates each way", "12.5 GB/s", "rank 15")),
            (("topo", "make", "cluster,hosts=3,ranks=2", "--svg", path), ("switch", "h2.out", "1.25 GB/s")),
            (("topo", "make", "dgx1v", "--svg", path), ("gpu7", "40 GB/s", "20 GB/s", "12 GB/s")),
            (("coll", "convert", "binomial", "--ranks", "5", "--to", "svg", "--out", path), ("the whole vector",
                                                                                             "rank 4")),
            (("coll", "convert", "ring", "--ranks", "4", "--wire", "mapped", "--to", "svg", "--out", path),
             ("the whole vector", )),
        ):
            if os.path.exists(path):
                os.remove(path)
            run(program, *arguments)
            holds(path, *wanted)
    print("all pictures are well-formed and say what they are about")


if __name__ == "__main__":
    main()
