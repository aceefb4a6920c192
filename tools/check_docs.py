#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the documents: links and paths lead somewhere, "`function` in `file`" is there, the tests of faults are there,
no page is longer than its limit. With the program it also checks that docs/commands.md and docs/keys.md are what --help
says, and that commands in documents exist with their verbs and flags.

usage: tools/check_docs.py [ROOT] [--program FILE [--write]]
--write: makes docs/commands.md and docs/keys.md anew.
exit 0: nothing to say; 1: findings, one a line
"""
import fnmatch
import glob
import json
import os
import re
import subprocess
import sys

HEAD = """# Commands

This page has the `--help` of each command, for readers who have not built the program. A test compares it with
the program; `tools/check_docs.py --program build/tutti --write` makes it anew. [keys.md](keys.md) has the keys of a job.
"""
KEYS_HEAD = """# Keys of a job

This page lists each key of a [job](jobs.md) with its default, as `tutti train --help` does. A test compares it with
the program; `tools/check_docs.py --program build/tutti --write` makes it anew.

"""
# The most words that a page may have, as `wc -w` counts them; the first pattern that fits a name counts. None: a
# generated page, without a limit.
LIMITS = (
    ("README.md", 900),
    ("ARCHITECTURE.md", 2500),
    ("CONTRIBUTING.md", 600),
    ("docs/commands.md", None),
    ("docs/map.md", None),
    ("docs/keys.md", None),
    ("docs/decisions/*.md", 250),
    ("docs/howto/*.md", 400),
    ("docs/lessons/*.md", 900),
    ("docs/*.md", 2000),
)
ALL_DOCS = 40000  # the most words of all pages under docs/ together, without generated ones
# Pages whose blocks of code do not count: tests make and compare them (tools/howto.py, tools/page_commands.py), or this
# tool copies them from files (with_files).
PROSE_ALONE = ("docs/howto/*.md", "docs/lessons/*.md", "docs/slurm.md", "docs/values.md")
DOCUMENTS = ("*.md", "docs/*.md", "docs/*/*.md", "bench/RESULTS.md", "bench/*/NOTES.md", "bench/*/notes/*.md",
             "tests/*/NOTES.md")
FAULTS, NFAULTS = "docs/faults.md", 40  # the page of faults, and the last number
ELSEWHERE = ("src/graph/topo.cc", "bench/lab")  # what documents name that is not here


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def anchors(path):
    """The names that headings get on the web: lower case, blanks to hyphens, no punctuation."""
    headings = re.findall(r"^#+ (.*)", read(path), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def added(root):
    """Files that tests/adding adds to a copy of the project: pages of docs/howto name them."""
    edits = (json.loads(read(path))["new"] for path in glob.glob(os.path.join(root, "tests/adding/*/edits.json")))
    return {f"{place}/{file}" for new in edits for file, place in new.items()}


def check_places(root, name, text, findings):
    known = (*ELSEWHERE, *added(root)) if name.startswith("docs/howto/") else ELSEWHERE
    folder = os.path.dirname(os.path.join(root, name))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:", target):
            continue
        path, _, anchor = target.partition("#")
        place = os.path.join(folder, path) if path else os.path.join(root, name)
        if not os.path.exists(place):
            findings.append(f"{name}: link to {target}: no such file")
        elif anchor and anchor not in anchors(place):
            findings.append(f"{name}: link to {target}: no such heading")
    if name.startswith("docs/howto/"):
        return  # these pages name files that the reader is about to add
    bare = re.sub(r"\]\([^)\s]+\)", "]", text)
    for path in re.findall(
            r"(?<![\w/.-])(?:src|docs|tests|tools|examples|include|bench|papers|cmake)/[\w./*-]+[\w*](?![\w<])", bare):
        if path not in known and not glob.glob(os.path.join(root, path)):
            findings.append(f"{name}: names {path}: no such file")


def check_functions(root, name, text, findings):
    """`function` in `src/...`: the file defines it (clang-format puts the brace of a function into the first column)."""
    for function, path in re.findall(r"`(\w+)` in `((?:src|include|tests|bench)/[\w./-]+)`", text):
        place = os.path.join(root, path)
        if os.path.isfile(place) and not re.search(rf"^[a-z][^;{{}}]*\b{function}\([^;{{}}]*\)\n?{{", read(place), re.M):
            findings.append(f"{name}: '{function}' is not defined in {path}")


def check_faults(root, name, text, findings):
    """Rows of the page of faults: `FILE:TEST` is a test of that file, with the number of its row, and no number is
    missing."""
    paths = {os.path.basename(path): path for path in glob.glob(os.path.join(root, "tests/**/test_*"), recursive=True)}
    paths.update((os.path.basename(path), path) for path in glob.glob(os.path.join(root, "tests/*/*.py")))
    known, run = set(), read(os.path.join(root, "tests/CMakeLists.txt"))
    for row in re.findall(r"^F\d\d .*", text, re.M):
        numbers = re.findall(r"\bF(\d\d)", row.partition("|")[0])
        known.update(map(int, numbers))
        for file, test in re.findall(r"`([\w.]+):(\w+)`", row):
            number = test[len("test_f"):len("test_f00")]
            if test.count("_") < 3 or number not in numbers:
                findings.append(f"{name}: {test} is not a test of F{numbers[0]}")
            elif file not in paths or len(re.findall(rf"\b{test}\b", read(paths[file]))) < 1 + file.endswith(".c"):
                findings.append(f"{name}: {file} has no test {test}")
            elif file.endswith(".py") and file not in run:
                findings.append(f"{name}: tests/CMakeLists.txt does not run {file}")
    findings += [f"{name}: F{number:02} is missing" for number in range(1, NFAULTS + 1) if number not in known]


def help_of(program, words):
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True)
    return done.stdout.partition("\nkeys of a job:")[0].rstrip() + "\n"


def helps(program):
    """The help of the program, of each command and of each verb, by its words."""
    found = {(): help_of(program, [])}
    for command in re.findall(r"^  ([a-z-]+) ", found[()], re.M):
        found[command,] = help_of(program, [command])
        if "VERB" in found[command,].partition("\n")[0]:
            for verb in re.findall(r"^  ([a-z][a-z-]*) ", found[command,], re.M):
                found[command, verb] = help_of(program, [command, verb])
    return found


def keys_document(program):
    done = subprocess.run([program, "train", "--help"], capture_output=True, text=True, check=True)
    return KEYS_HEAD + "```text\n" + done.stdout.partition("\nkeys of a job:\n")[2] + "```\n"


def commands_document(found):
    parts = [f"## {' '.join(('tutti', *words))}\n\n```text\n{text}```\n" for words, text in found.items()]
    return "\n".join([HEAD, *parts])


def shown_commands(text):
    """The words after `tutti` of each command in code, up to a comment or an operator. Messages and the first words of
    files are left out."""
    code = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S) + re.findall(r"^    .*", text, re.M)
    spans = re.findall(r"`((?:build/)?tutti [^`]*)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    lines = "\n".join(code + [span.replace("\n", " ") for span in spans]).splitlines()
    return [
        words.split()
        for line in lines
        for words in re.findall(r"(?:^|[\s/$'])tutti (?!\w+:|packing 1|tuned kernels 1)([a-z][^#|&;']*)", line)
    ]


def check_commands(name, text, found, findings):
    for words in shown_commands(text):
        key = tuple(words[:2]) if tuple(words[:2]) in found else tuple(words[:1])
        if key not in found:
            findings.append(f"{name}: 'tutti {' '.join(words)}': no such command")
            continue
        keys = set(found[key].split()) if key == ("topo", "make") else set()  # keys of kinds are flags, too
        for flag in (word for word in words if re.match(r"-+[a-z]", word)):
            flag = re.match(r"-+[a-z-]*", flag).group(0)
            if not re.search(rf"(?<![\w-]){flag}(?![\w-])", found[key]) and flag[2:] not in keys:
                findings.append(f"{name}: 'tutti {' '.join(words)}': no flag {flag}")


def with_files(root, text):
    """The page with each block of code that stands below a line <!-- PATH --> made equal to that file."""
    return re.sub(r"(?<=^<!-- )([\w./-]+)( -->\n```\w*\n).*?(?=^```$)",
                  lambda m: m[1] + m[2] + read(os.path.join(root, m[1])), text, flags=re.M | re.S)


def count_words(name, text):
    if any(fnmatch.fnmatch(name, pattern) for pattern in PROSE_ALONE):
        text = re.sub(r"^```.*?^```", "", re.sub(r"<!--.*?-->", "", text, flags=re.S), flags=re.M | re.S)
    return len(text.split())


def check_lengths(words_of, findings):
    """Pages over their limit are findings. words_of: name of a page to its words."""
    total = 0
    for name, words in words_of.items():
        limit = next((limit for pattern, limit in LIMITS if fnmatch.fnmatch(name, pattern)), None)
        total += words if name.startswith("docs/") and limit else 0
        if limit and words > limit:
            findings.append(f"{name}: {words} words; at most {limit}")
    if total > ALL_DOCS:
        findings.append(f"docs/: {total} words; at most {ALL_DOCS}")


def main():
    args = sys.argv[1:]
    write = "--write" in args and not args.remove("--write")
    program = args.pop(args.index("--program") + 1) if "--program" in args else None
    root = next((arg for arg in args if not arg.startswith("--")), ".")
    findings, found = [], helps(program) if program else None
    commands, keys = os.path.join(root, "docs/commands.md"), os.path.join(root, "docs/keys.md")
    slurm = os.path.join(root, "docs/slurm.md")
    made = {commands: commands_document(found), keys: keys_document(program)} if found else {}
    if os.path.exists(slurm):
        made[slurm] = with_files(root, read(slurm))
    for path in made if write else ():
        with open(path, "w", encoding="utf-8") as out:
            out.write(made[path])
    documents = [path for pattern in DOCUMENTS for path in sorted(glob.glob(os.path.join(root, pattern)))]
    for path in documents:
        name, text = os.path.relpath(path, root), read(path)
        check_places(root, name, text, findings)
        check_functions(root, name, text, findings)
        if name == FAULTS:
            check_faults(root, name, text, findings)
        if path not in (commands, keys) and found:
            check_commands(name, text, found, findings)
    names = {os.path.relpath(path, root): path for path in documents}
    check_lengths({name: count_words(name, read(path)) for name, path in names.items()}, findings)
    for path, text in made.items():
        if not os.path.exists(path) or read(path) != text:
            findings.append(f"{os.path.relpath(path, root)} is old: tools/check_docs.py --program PROGRAM --write makes it anew")
    print("\n".join(findings) if findings else f"docs: nothing to say about {len(documents)} documents")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
