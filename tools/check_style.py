#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what clang-format cannot: sizes of files, functions and folders, names, first lines, #if inside functions,
functions that are not used here.

usage: tools/check_style.py [ROOT] [--library FILE.a] [--since COMMIT]
--library: also looks at the sections of a built library for mutable data outside functions' reach (needs objdump).
--since: looks at the subjects of the commits behind this one.
exit 0: nothing to say; 1: findings, one a line
"""
import os
import re
import subprocess
import sys

from draw_comments import comments

MAX_FILE, MAX_FUNCTION, MAX_FOLDER, MIN_PURPOSE = 500, 60, 30, 5
# Functions of src with more than MAX_PARAMETERS parameters: there may be so many, and the number only goes down.
MAX_PARAMETERS, MAX_WIDE = 6, 35
# Columns; code in C is cut at 120 by clang-format, and comments are, too.
MAX_WIDTH = {".c": 120, ".h": 120, ".py": 130}
# Comments of src and include that open with such a word lack the noun that they are about; parts in a thousand of all.
HEADLESS = re.compile(r"(Of|Who|Whose|Whom|What|It|So (many|much|long|often|far)|How (many|much|long|often))\b")
MAX_HEADLESS = 20
# Subjects of commits since this one begin with an imperative verb of tools/verbs.txt.
SINCE = "de5be657"
TOPS = ("src", "include", "tests", "tools", "bench", "python", "examples")
# Unbounded copies, conversions without an error, hidden state.
BANNED = re.compile(r"(?<![\w.>])(strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|atof|strtok|rand|srand|tmpnam|mktemp)\s*\(")
# The library never prints and never exits. arena.c says why it aborts; a forked child that cannot exec has nobody to
# return to.
PRINTS = re.compile(r"(?<![\w.>])(printf|puts|putchar|perror|exit|_exit)\s*\(|(?<!\w)fprintf\s*\(\s*(stderr|stdout)")
MAY_PRINT = ("src/cli/", "src/collective/simulate/simgrid/", "src/base/arena.c", "src/base/process.c",
             "src/collective/launch/launch.c", "src/serve/server_main.c")
# What a method exchanges and a rule keeps is the business of their rows: who goes through a plan does not know it by
# name. Not meant: the control plane's call, a key's default in the table of jobs, commands and predictions about
# collectives themselves.
METHODS_OWN = re.compile(r"reduce[-_]scatter|(?<!tutti_group_)all[-_]gather|momentum|\bgate[ds]?\b", re.I)
KNOWS_NO_METHOD = ("src/training/graph/", "src/training/plan/", "src/training/run/", "src/job/", "src/predict/", "src/cli/")
MAY_KNOW = ("src/training/plan/action/action_", "src/job/job_table.c", "src/job/job_presets.c",
            "src/predict/svm_scaling.", "src/cli/coll/")
# A status is called `st`; a second one in a function by what it is the status of.
STATUS = re.compile(r"\btutti_status (status|s|ret|rc|res|result|code) = ")
# Data that is written once with a value that never changes: not state.
KEPT_ANSWERS = {("isa.c.o", "picked"): "the instruction set that this processor can run"}


DEFINED = re.compile(
    r"^(?!typedef|struct|enum|union)\w[^;{}()=#]*?\b(\w+)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)\s*\n\{", re.M)


def count_parameters(parameters):
    depth, n = 0, 1
    for c in parameters:
        depth += (c == "(") - (c == ")")
        n += c == "," and depth == 0
    return n


def find_wide(shown, code):
    """Functions with many parameters."""
    return [
        f"{shown}: {m.group(1)} has {n}" for m in DEFINED.finditer(code)
        if (n := count_parameters(m.group(2))) > MAX_PARAMETERS
    ]


def strip(text):
    """The text with comments, strings and characters blanked, lines kept."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    return pattern.sub(blank, text)


def check_braces(shown, lines, findings):
    """Functions and what stands in them. A function opens with '{' in the first column (clang-format sees to that)."""
    begin = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            begin = number
        elif line.startswith("}") and begin:
            if number - begin - 1 > MAX_FUNCTION:
                findings.append(f"{shown}:{begin}: a function of {number - begin - 1} lines; at most {MAX_FUNCTION}")
            begin = None
        elif begin and re.match(r"\s*#\s*(if|ifdef|ifndef|else|elif)\b", line):
            findings.append(f"{shown}:{number}: #if inside a function; optional parts switch whole files")


def check_c(shown, text, code, findings):
    name = os.path.basename(shown)
    head = text.split("\n", 2)
    purpose = "/* " if shown.startswith("tests/") else f"/* {name}: "
    if "SPDX-License-Identifier: Apache-2.0" not in head[0] or not (len(head) > 1 and head[1].startswith(purpose)):
        findings.append(f"{shown}:1: must begin with the SPDX line and '{purpose}what it is for'")
    purpose = re.match(r"[^\n]*\n/\* \S+: (.*?)\*/", text, re.S)
    if purpose and shown.startswith(("src/", "include/")) and len(purpose.group(1).split()) < MIN_PURPOSE:
        findings.append(f"{shown}:2: says what it is for in {len(purpose.group(1).split())} words; at least "
                        f"{MIN_PURPOSE}")
    lines = code.split("\n")
    check_braces(shown, lines, findings)
    library = shown.startswith("src/") and not shown.startswith(MAY_PRINT)
    for number, line in enumerate(lines, 1):
        match = None if shown.startswith("tests/") else BANNED.search(line)
        if match:
            findings.append(f"{shown}:{number}: {match.group(1)} is not used here")
        match = PRINTS.search(line) if library else None
        if match:
            findings.append(f"{shown}:{number}: the library never prints and never exits: {match.group(0)}")
        match = STATUS.search(line) if shown.startswith("src/") else None
        if match:
            findings.append(f"{shown}:{number}: a status is called st, not {match.group(1)}")
    if not shown.startswith(KNOWS_NO_METHOD) or shown.startswith(MAY_KNOW):
        return
    for number, line in enumerate(text.split("\n"), 1):
        match = METHODS_OWN.search(line)
        if match:
            findings.append(f"{shown}:{number}: '{match.group(0)}' is known to methods and rules alone")


# A type that is defined, not only announced; the names of all that a file calls or defines.
TYPE = re.compile(r"^typedef\b(?:[^;{}]|\{(?:[^{}]|\{[^{}]*\})*\})*?(?:\b(tutti_\w+)|\(\*(tutti_\w+)\)\([^;]*\))\s*;", re.M)
ANNOUNCED = re.compile(r"^typedef (?:struct|union) (tutti_\w+) \1;$")
CALLED = re.compile(r"\b(tutti_\w+)\(")


class Meanings:
    """No name of ours is two types, or a type and a function: whoever includes both headers could not compile."""

    def __init__(self):
        self.types, self.calls = {}, {}

    def read(self, shown, code, findings):
        for match in TYPE.finditer(code):
            name = match.group(1) or match.group(2)
            if ANNOUNCED.match(match.group(0)):
                continue
            if name in self.types:
                findings.append(f"{shown}: the type {name} is another one in {self.types[name]}")
            self.types[name] = shown
        for name in CALLED.findall(code):
            self.calls.setdefault(name, shown)

    def compare(self, findings):
        for name in sorted(set(self.types) & set(self.calls)):
            findings.append(f"{self.calls[name]}: the function {name} has the name of a type in {self.types[name]}")


class Openings:
    """How comments open: few of them without the noun that they are about."""

    def __init__(self):
        self.ncomments, self.headless = 0, []

    def read(self, shown, text):
        for line, words, _ in comments(text):
            self.ncomments += 1
            if HEADLESS.match(re.sub(r"^\S+\.[ch]: ", "", words)):
                self.headless.append(f"{shown}:{line}")

    def tell(self, findings):
        share = 1000 * len(self.headless) / max(1, self.ncomments)
        if share > MAX_HEADLESS:
            findings.append(f"{len(self.headless)} of {self.ncomments} comments open without the noun that they are about (Of, "
                            f"Who, What, It, So many ...), at most {MAX_HEADLESS / 10:g} %: {' '.join(self.headless[:20])}")


def check_subjects(root, since, findings):
    """Looks at the commits behind `since`; at none where the history is not here."""
    log = ["git", "-C", root, "log", "--no-merges", "--format=%h %s", f"{since}..HEAD"]
    shown = subprocess.run(log, capture_output=True, text=True)
    with open(os.path.join(os.path.dirname(__file__), "verbs.txt"), encoding="utf-8") as file:
        verbs = set(file.read().split())
    for line in shown.stdout.splitlines() if shown.returncode == 0 else ():
        commit, _, subject = line.partition(" ")
        verb = re.match(r"[^:]+: (\w+)", subject)
        if not verb or verb.group(1) not in verbs:
            findings.append(f"commit {commit}: '{subject}' is not 'module: verb ...' with a verb of tools/verbs.txt")
        if len(subject) > 60:
            findings.append(f"commit {commit}: a subject of {len(subject)} characters; at most 60")


def check_tree(root, findings):
    where, meanings, wide, openings = {}, Meanings(), [], Openings()
    for top in TOPS:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = [f for f in folders if f not in ("__pycache__", "node_modules")]
            if top == "src" and len(names) > MAX_FOLDER:
                findings.append(f"{os.path.relpath(folder, root)}: {len(names)} files in one folder; at most "
                                f"{MAX_FOLDER}")
            for name in sorted(names):
                if not name.endswith((".c", ".h", ".py")):
                    continue
                shown = os.path.relpath(os.path.join(folder, name), root)
                if name in where and name != "__init__.py" and top != "examples":
                    findings.append(f"{shown}: {where[name]} has the same name")
                where.setdefault(name, shown)
                text = open(os.path.join(root, shown), encoding="utf-8").read()
                nlines = text.count("\n")
                if nlines > MAX_FILE:
                    findings.append(f"{shown}: {nlines} lines; at most {MAX_FILE}")
                limit = MAX_WIDTH[os.path.splitext(name)[1]]
                findings += [
                    f"{shown}:{number}: {len(line)} columns; at most {limit}" for number, line in enumerate(text.split("\n"), 1)
                    if len(line) > limit
                ]
                if name.endswith(".py"):
                    continue
                code = strip(text)
                check_c(shown, text, code, findings)
                if top in ("src", "include"):
                    meanings.read(shown, code, findings)
                    openings.read(shown, text)
                    wide += find_wide(shown, code)
    meanings.compare(findings)
    openings.tell(findings)
    if len(wide) > MAX_WIDE:
        findings += wide + [
            f"{len(wide)} functions of src have more than {MAX_PARAMETERS} parameters; at most {MAX_WIDE}: pass a "
            f"struct"
        ]
    return len(where)


def check_library(path, findings):
    """State hangs off a handle: a library of ours has no writable data (constants that hold pointers are relocated
    once and then read-only: .data.rel.ro)."""
    member = ""
    for line in subprocess.run(["objdump", "-t", path], check=True, capture_output=True, text=True).stdout.split("\n"):
        if ":     file format" in line:
            member = line.split(":")[0]
        match = re.search(r"\sO (\.data|\.bss|\.tdata|\.tbss|\*COM\*)(?:\.(?!rel\.ro)\S+)?\s+\S+\s+(\S+)$", line)
        if match and (member, match.group(2).split(".")[0]) not in KEPT_ANSWERS:
            findings.append(f"{member}: {match.group(2)} is mutable and belongs to no handle ({match.group(1)})")


def main():
    arguments = sys.argv[1:]
    options = {"--library": None, "--since": SINCE}
    for name in options:
        if name in arguments:
            at = arguments.index(name)
            options[name] = arguments[at + 1]
            del arguments[at:at + 2]
    library, since = options["--library"], options["--since"]
    root = os.path.abspath(arguments[0] if arguments else os.path.join(os.path.dirname(__file__), ".."))
    findings = []
    nfiles = check_tree(root, findings)
    check_subjects(root, since, findings)
    if library:
        check_library(library, findings)
    print("\n".join(findings) if findings else f"style: nothing to say about {nfiles} files")
    return 1 if findings else 0


sys.exit(main())
