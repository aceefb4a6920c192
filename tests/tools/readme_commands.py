#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of README.md in an empty folder and compares the lines with those of the page, up to numbers.

usage: tests/tools/readme_commands.py ROOT PROGRAM
The folder has ROOT's examples and tests, and PROGRAM as build/tutti and build/svm-train. "./dev VERB" is not run,
because it installs and builds; the verb must be one that `./dev help` lists.
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def main():
    root, program = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    page = root / "README.md"
    text = page.read_text(encoding="utf-8")
    verbs = subprocess.run([root / "dev", "help"], capture_output=True, text=True, check=True).stdout
    unknown = [verb for verb in re.findall(r"^\$ \./dev (\S+)", text, re.M)
               if not re.search(rf"^  {re.escape(verb)}\b", verbs, re.M)]
    if unknown:
        print(f"README.md: ./dev has no verb {', '.join(unknown)}")
    if "```console" not in text:
        print("README.md shows no commands that can be run")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "build").mkdir()
        for name in ("tutti", "svm-train"):
            (place / "build" / name).symlink_to(program)
        for name in ("examples", "tests"):
            (place / name).symlink_to(root / name)
        done = subprocess.run([sys.executable, root / "tools/page_commands.py", place, page], check=False)
    return 1 if done.returncode or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
