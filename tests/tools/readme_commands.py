#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of README.md as they are printed, and wants the lines that README shows below each of them.

usage: tests/tools/readme_commands.py ROOT PROGRAM
A command is a line of a code block that begins with "$ ". The lines up to the next command must come out in this order;
others may stand between them. Lines are compared up to their numbers. Commands run one after the other in a new folder
that has ROOT's examples and tests, and PROGRAM as build/tutti and build/svm-train. "./dev VERB" is not run, because it
installs and builds: the verb must be one of `./dev help`, and its lines must look like lines of some other command.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

SECONDS = 60  # that a command may take


def commands(text):
    """Each command in code blocks with its lines; a backslash at the end of a line joins the next one to it."""
    found = []
    for block in re.findall(r"^```\n(.*?)^```", text, re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                found.append((re.sub(r"\s+", " ", line[2:]), []))
            elif found:
                found[-1][1].append(line)
    return found


def form(line):
    """A line without its numbers, hashes and widths."""
    return " ".join(re.sub(r"\b[0-9a-f]{16}\b|[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?", "#", line).split())


def missing(lines, said):
    """Those of the lines that are not in what was said, behind the line before."""
    forms, at, gone = [form(line) for line in said], 0, []
    for line in lines:
        if form(line) in forms[at:]:
            at = forms.index(form(line), at) + 1
        else:
            gone.append(line)
    return gone


def prepare(folder, root, program):
    os.mkdir(os.path.join(folder, "build"))
    for name in ("tutti", "svm-train", "svm-predict"):
        os.symlink(program, os.path.join(folder, "build", name))
    for name in ("examples", "tests"):
        os.symlink(os.path.join(root, name), os.path.join(folder, name))


def main():
    root, program = (os.path.abspath(path) for path in sys.argv[1:])
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        shown = commands(file.read())
    verbs = subprocess.run([os.path.join(root, "dev"), "help"], capture_output=True, text=True, check=True).stdout
    built = [(command, lines) for command, lines in shown if command.startswith("./dev ")]
    findings, all_said = [], []
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder, root, program)
        for command, lines in shown:
            if command.startswith("./dev "):
                continue
            begin = time.monotonic()
            done = subprocess.run(command, shell=True, cwd=folder, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=SECONDS)
            said = done.stdout.splitlines()
            all_said += said
            print(f"{time.monotonic() - begin:6.2f} s  {command}")
            if done.returncode:
                findings.append(f"'{command}' ended with {done.returncode}: {done.stdout}")
            findings += [f"'{command}' does not say: {line}" for line in missing(lines, said)]
    for command, lines in built:
        if not re.search(rf"^  {re.escape(command.split()[1])}\b", verbs, re.M):
            findings.append(f"'{command}': ./dev has no such verb")
        findings += [f"'{command}': no command says a line like: {line}" for line in lines if missing([line], all_said)]
    if not shown:
        findings.append("README.md shows no commands")
    print("\n".join(findings) if findings else f"README.md: {len(shown)} commands, nothing to say")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
