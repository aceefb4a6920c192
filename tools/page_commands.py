#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that pages show and compares what they print with what the pages say they print.

usage: tools/page_commands.py FOLDER PAGE... [--write]
FOLDER: where the commands run; build/tutti and whatever else they name must be there.
--write: puts what was printed into the pages.

A command stands behind `$ ` in a block ```console; the lines up to the next command are all that it prints. A line
`...` stands for any lines. In a block ```console varies, whose commands measure something, numbers and units of time
may be others.
exit 0: all lines are as printed; 1: some are not
"""
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^```console( varies)?\n(.*?)^```\n", re.M | re.S)
LIMIT_S = 120


def commands_of(block):
    """Pairs: a command (lines that end in a backslash go on) and the lines that it prints."""
    found = []
    for line in block.splitlines():
        if found and not found[-1][1] and found[-1][0].endswith("\\"):
            found[-1][0] += "\n" + line
        elif line.startswith("$ "):
            found.append([line[2:], []])
        else:
            found[-1][1].append(line)
    return found


def run(command, folder):
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        sys.exit(f"FAILED: {command}: ended with {done.returncode}\n{done.stdout[-2000:]}")
    return [line.rstrip() for line in done.stdout.splitlines()]


def shape(line, varies):
    if not varies:
        return line.rstrip()
    line = re.sub(r"\b[0-9a-f]{16}\b", "#", line)  # a hash
    line = re.sub(r"(?<![\w.])-?\d[\d.]*(e[+-]?\d+)?( ?(ns|us|ms|s)\b)?", "#", line)
    return re.sub(r"\s+", " ", line).strip()


def agree(said, printed, varies):
    """Whether the lines of the page are those that were printed; `...` is any number of lines."""
    pattern = "".join("(?:.*\n)*" if line == "..." else re.escape(shape(line, varies)) + "\n" for line in said)
    return re.fullmatch(pattern, "".join(shape(line, varies) + "\n" for line in printed)) is not None


def check_page(path, folder, write):
    """How many commands the page has; what differs goes to the list that comes back, too."""
    text, wrong, count = path.read_text(encoding="utf-8"), [], 0

    def check(found):
        nonlocal count
        made = ""
        for command, said in commands_of(found.group(2)):
            printed, varies, count = run(command, folder), bool(found.group(1)), count + 1
            if not agree(said, printed, varies):
                wrong.append("\n".join((f"{path.name}: $ {command}", "the page:", *said, "printed:", *printed)))
            said = printed if write and "..." not in said else said
            made += f"$ {command}\n" + "".join(line + "\n" for line in said)
        return f"```console{found.group(1) or ''}\n{made}```\n"
    made = BLOCK.sub(check, text)
    if write and made != text:
        path.write_text(made, encoding="utf-8")
        wrong = []
    return count, wrong


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    write, folder, wrong = "--write" in sys.argv, pathlib.Path(arguments[0]).resolve(), []
    for page in arguments[1:]:
        count, differs = check_page(pathlib.Path(page), folder, write)
        wrong += differs
        print(f"{page}: {count} commands")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
