#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws comments of src and include by a seed, for a reader who says which of them are clear at first reading.

usage: tools/draw_comments.py --seed TEXT [--count N] [--revision COMMIT]
--revision: draws from that commit instead of the files that lie here.
Each comment is printed with its place and with the line of code that it stands at.
"""
import argparse
import hashlib
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/', re.S)


def comments(text):
    """Yields (line number, words, code beside or behind) of each comment in C text but the licence line."""
    for match in TOKEN.finditer(text):
        if not match.group(0).startswith("/*") or "SPDX-License-Identifier" in match.group(0):
            continue
        lines = match.group(0)[2:-2].split("\n")
        words = "\n".join(re.sub(r"^\s*\* ?", "", line).rstrip() for line in lines).strip()
        before = text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
        behind = text[match.end():].lstrip().split("\n")[0].strip()
        yield text.count("\n", 0, match.start()) + 1, words, before or behind


def texts(revision):
    """Yields (path, text) of the C files of src and include, in order."""
    where = ["git", "-C", str(ROOT)]
    listed = [*where, "ls-tree", "-r", "--name-only", revision] if revision else [*where, "ls-files"]
    paths = subprocess.run([*listed, "--", "src", "include"], check=True, capture_output=True, text=True).stdout.split()
    for path in sorted(path for path in paths if path.endswith((".c", ".h"))):
        if revision:
            shown = [*where, "show", f"{revision}:{path}"]
            yield path, subprocess.run(shown, check=True, capture_output=True, text=True).stdout
        else:
            yield path, (ROOT / path).read_text(encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--revision")
    args = parser.parse_args()
    found = [(path, *comment) for path, text in texts(args.revision) for comment in comments(text)]
    found.sort(key=lambda c: hashlib.sha256(f"{args.seed} {c[0]} {c[1]}".encode()).digest())
    for number, (path, line, words, code) in enumerate(found[:args.count], 1):
        print(f"{number}. {path}:{line}\n{words}\n    at: {code[:120]}\n")


if __name__ == "__main__":
    main()
