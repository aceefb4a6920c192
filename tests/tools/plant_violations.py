#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants one violation at a time into a small tree and wants tools/check_*.py to find exactly it.

usage: tests/tools/plant_violations.py ROOT
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(sys.argv[1])
HEAD = "/* SPDX-License-Identifier: Apache-2.0 */\n/* %s: what the test plants here. */\n"
GOOD = {
    "src/base/arena.h": "",
    "src/kernel/kernel.h": '#include <oneapi/dnnl/dnnl.h>\n#include "../base/arena.h"\n',
    "src/kernel/value.h": "typedef struct tutti_value {\n    int n[2];\n} tutti_value;\ntypedef struct tutti_other "
                          "tutti_other;\n",
    "src/kernel/other.h": "typedef struct tutti_other tutti_other;\n",
    "src/collective/wire/wire_impl.h": "",
    "src/collective/group/group.h": '#include "../wire/wire_impl.h"\n#include "../wire/wire.h"\n',
    "src/collective/wire/wire.h": "",
    "src/collective/wire/row.h": "",
    "src/data/picture/jpeg.h": "",
    "src/data/picture/jpeg.c": '#include "../sets/set.h"\n',
    "src/data/sets/set.h": "",
    "src/collective/comm/comm.h": "",
    "docs/jobs.md": "",
    "tools/check_docs.py": "",
    "tests/CMakeLists.txt": "",
    "tests/data/idx.py": "test_f02_it_is_so\n",
    "src/data/sets/idx.c": '#include <stdio.h>\nint f(void)\n{\n    return 0; /* strcpy(a, b) */\n}\n',
}
# Just what GOOD uses, so that one permission more is one too many.
LAYERS = """base:
kernel: base
data:
collective/wire:
collective/group: collective/wire
collective/comm:
collective/wire/wire_impl.h: collective/group
<oneapi/dnnl/*>: kernel
circles collective/group: 4
room data/sets:
room data/picture: data/sets
doors collective/wire: collective/wire/wire.h collective/wire/wire_impl.h
"""
# (line of layers.txt, what takes its place, words of the finding)
OPENED = [
    ("data:", "data: base", "data may include base, and does not"),
    ("<oneapi/dnnl/*>: kernel", "<oneapi/dnnl/*>: data kernel", "<oneapi/dnnl/*> is also for data, which does not"),
    ("wire_impl.h: collective/group", "wire_impl.h: collective/group collective/comm",
     "wire_impl.h is also for collective/comm"),
    ("room data/sets:", "room data/lists:\nroom data/sets: data/lists",
     "data/sets may include data/lists, and does not"),
    ("wire/wire.h collective/wire/wire_impl.h", "wire/wire.h collective/wire/wire_impl.h collective/wire/row.h",
     "row.h is a door of collective/wire that nobody uses"),
    ("<oneapi/dnnl/*>: kernel", "<oneapi/dnnl/*>: kernel\n<omp.h>: kernel",
     "<omp.h> is also for kernel, which does not"),
]
FAULTS = "".join(f"F{n:02} a||b\n" for n in range(1, 41))  # a page of faults without tests
# (checker, file, its text, words of the finding)
PLANTED = [
    ("check_layers.py", "src/base/up.c", '#include "../kernel/kernel.h"\n', "base may not include kernel"),
    ("check_layers.py", "src/data/math.c", '#include <oneapi/dnnl/dnnl.h>\n', "is for kernel only"),
    ("check_layers.py", "src/data/x.c", '#include <gmp-x86.h>\n', "is no system header"),
    ("check_layers.py", "src/data/gone.c", '#include "../base/gone.h"\n', "is not there"),
    ("check_layers.py", "src/collective/group/second.c", '#include "../wire/row.h"\n',
     "row.h is no door of collective/wire"),
    ("check_layers.py", "src/collective/comm/peek.c", '#include "../wire/wire_impl.h"\n',
     "is private to collective/wire"),
    ("check_layers.py", "src/data/sets/peek.c", '#include "../picture/jpeg.h"\n',
     "the room data/sets may not include data/picture"),
    ("check_layers.py", "src/collective/group/peek.c", '#include "../wire/row.h"\n', "is no door of collective/wire"),
    ("check_layers.py", "src/attic/old.c", "", "belongs to no module"),
    ("check_layers.py", "include/tutti/new.h", "", "belongs to no module"),
    ("check_style.py", "src/data/long.c", "int x;\n" * 500, "502 lines; at most 500"),
    ("check_style.py", "src/data/big.c", "int f(void)\n{\n" + "    f();\n" * 61 + "}\n", "a function of 61 lines"),
    ("check_style.py", "src/data/terse.c", "/* SPDX-License-Identifier: Apache-2.0 */\n/* terse.c: short. */\n",
     "says what it is for in 1 words; at least 5"),
    ("check_style.py", "src/data/fork.c", "int f(void)\n{\n#ifdef X\n#endif\n}\n", "#if inside a function"),
    ("check_style.py", "src/data/copy.c", "void f(void)\n{\n    strcpy(a, b);\n}\n", "strcpy is not used here"),
    ("check_style.py", "src/data/say.c", 'void f(void)\n{\n    fprintf(stderr, "x");\n}\n', "never prints"),
    ("check_style.py", "src/data/word.c", "void f(void)\n{\n    const tutti_status rc = g();\n}\n",
     "a status is called st, not rc"),
    ("check_style.py", "src/training/run/step/step.c", "/* after the all-gather */\n",
     "known to methods and rules alone"),
    ("check_style.py", "src/data/wide.h", f"/* {'word ' * 25}*/\n", "src/data/wide.h:3: 130 columns; at most 120"),
    ("check_style.py", "src/data/open.h", "/* Of which there are two. */\n", "comments open without the noun"),
    ("check_style.py", "tests/idx.c", "", "has the same name"),
    ("check_style.py", "src/data/same.h", "typedef struct {\n    int n;\n} tutti_value;\n",
     "the type tutti_value is another one in src/"),
    ("check_style.py", "src/data/call.h", "int tutti_value(int n);\n",
     "the function tutti_value has the name of a type in src/"),
    ("check_docs.py", "README.md", "[there](docs/gone.md)\n", "link to docs/gone.md: no such file"),
    ("check_docs.py", "README.md", "[there](docs/commands.md#gone)\n", "no such heading"),
    ("check_docs.py", "README.md", "as `src/data/gone.c` says\n", "names src/data/gone.c: no such file"),
    ("check_docs.py", "README.md", "`gone` in `src/data/sets/idx.c`\n", "'gone' is not defined in src/data/sets/idx.c"),
    ("check_docs.py", "README.md", "`tutti rain` it\n", "no such command"),
    ("check_docs.py", "README.md", "```\nbuild/tutti train JOB --rank 2 # so\n```\n", "no flag --rank"),
    ("check_docs.py", "README.md", "word " * 900, "words; at most 900"),
    ("check_docs.py", "docs/idx.md", "word " * 2000, "words; at most 2000"),
    ("check_docs.py", "docs/commands.md", "", "docs/commands.md is old"),
    ("check_docs.py", "docs/keys.md", "", "docs/keys.md is old"),
    ("check_docs.py", "bench/idx/NOTES.md", "[there](gone.md)\n", "link to gone.md: no such file"),
    ("check_docs.py", "docs/faults.md", FAULTS + "F02 b|`test_idx.c:test_f02_it_is_so`|\n", "no test test_f02_it_is_so"),
    ("check_docs.py", "docs/faults.md", FAULTS + "F02 b|`test_idx.c:test_f01_it_is_so`|\n", "is not a test of F02"),
    ("check_docs.py", "docs/faults.md", FAULTS + "F02 b|`idx.py:test_f02_it_is_so`|\n", "does not run idx.py"),
    ("check_docs.py", "docs/faults.md", FAULTS.replace("F07", "F08"), "F07 is missing"),
]
# A program for check_docs.py, and what it takes from it.
PROGRAM = """#!/bin/sh
[ "$1" = train ] && echo "usage: tutti train, --ranks N" || echo "  train   a job"
"""


def write(tree, path, text):
    head = HEAD % os.path.basename(path)
    path = os.path.join(tree, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(("" if text.startswith("/* SPDX") else head) + text)


def plant_crowd(tree, nfiles):
    """A folder of this many files."""
    names = [f"src/kernel/crowd/crowd{i}.c" for i in range(nfiles)]
    for name in names:
        write(tree, name, "")
    found = check(tree, "check_style.py")
    shutil.rmtree(os.path.join(tree, "src/kernel/crowd"))
    return found


def plant_wide(tree, nfunctions):
    """This many functions of seven parameters; and one whose parameter has seven."""
    path = "src/data/wide.c"
    write(tree, path, "".join(f"int f{i}(int a, int b, int c, int d, int e, int g, int "
                              f"h)\n{{\n}}\n" for i in range(nfunctions)) +
          "int g(int (*f)(int a, int b, int c, int d, int e, int g, int h))\n{\n}\n")
    found = check(tree, "check_style.py")
    os.remove(os.path.join(tree, path))
    return found


def plant_circle(tree, nfiles):
    """A library of files of a room of which each calls the next one, the last the first."""
    folder, objects = os.path.join(tree, "src/collective/group"), []
    for i in range(nfiles):
        path = os.path.join(folder, f"circle{i}.c")
        write(tree, path, f"void f{(i + 1) % nfiles}(void);\nvoid f{i}(void)\n{{\n    f{(i + 1) % nfiles}();\n}}\n")
        objects.append(os.path.join(tree, f"circle{i}.c.o"))
        subprocess.run(["cc", "-c", path, "-o", objects[-1]], check=True)
    library = os.path.join(tree, f"lib{nfiles}.a")
    subprocess.run(["ar", "rcs", library, *objects], check=True)
    found = check(tree, "check_layers.py", "--library", library)
    for i in range(nfiles):
        os.remove(os.path.join(folder, f"circle{i}.c"))
    return found


def plant_map(tree):
    """A map that is made, and then files, folders and words that it does not have; how many are not found."""
    failures, folders = 0, os.path.join(tree, "docs/folders.txt")
    held = {os.path.relpath(folder, tree) for folder, _, names in os.walk(os.path.join(tree, "src")) if names}
    purposes = "".join(f"{folder}: what the test plants.\n" for folder in sorted(held))

    def judge(what, wanted):
        rc, words = check(tree, "map.py")
        if rc != (wanted is not None) or (wanted or "is as the files say") not in words:
            print(f"map.py, {what}: wanted '{wanted}', got {rc}: {words}")
            return 1
        return 0

    with open(folders, "w", encoding="utf-8") as out:
        out.write(purposes)
    check(tree, "map.py", "--write")
    failures += judge("a map just made", None)
    write(tree, "src/data/later.c", "")
    failures += judge("a file more", "tools/map.py --write makes it anew")
    write(tree, "src/data/later.c", "/* SPDX-License-Identifier: Apache-2.0 */\nint f;\n")
    failures += judge("a file without a purpose", "src/data/later.c: has no purpose comment")
    os.remove(os.path.join(tree, "src/data/later.c"))
    with open(folders, "w", encoding="utf-8") as out:
        out.write(purposes.replace("src/base: ", "src/attic: "))
    failures += judge("a folder without a purpose", "src/base: has no purpose in docs/folders.txt")
    failures += judge("a purpose without a folder", "docs/folders.txt: src/attic holds no file")
    return failures


def commit(tree, subject):
    """Makes an empty commit with this subject; returns its number."""
    who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    subprocess.run(["git", "-C", tree, *who, "commit", "-q", "--allow-empty", "-m", subject], check=True)
    done = subprocess.run(["git", "-C", tree, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def plant_subjects(tree):
    """Subjects of commits, one at a time; how many are not judged as they should be."""
    failures = 0
    subprocess.run(["git", "init", "-q", tree], check=True)
    last = commit(tree, "the first of them")
    verbless = "is not 'module: verb ...'"
    for subject, wanted in (("base: wait for the end of a child", None), ("base: waiting stands once", verbless),
                            ("Wait for it", verbless), (f"base: add {'a' * 60}", "at most 60")):
        new = commit(tree, subject)
        rc, words = check(tree, "check_style.py", "--since", last)
        if (rc != 0) if wanted is None else (rc != 1 or wanted not in words or words.count("\n") != 1):
            failures += 1
            print(f"subject '{subject}': wanted '{wanted}', got {rc}: {words}")
        last = new
    return failures


def write_layers(tree, text):
    with open(os.path.join(tree, "docs/layers.txt"), "w", encoding="utf-8") as out:
        out.write(text)


def open_doors(tree):
    """Permissions that nobody uses, one at a time; how many are not found."""
    failures = 0
    for line, wider, wanted in OPENED:
        write_layers(tree, LAYERS.replace(line + "\n", wider + "\n"))
        rc, words = check(tree, "check_layers.py")
        if rc != 1 or wanted not in words or words.count("\n") != 1:
            failures += 1
            print(f"docs/layers.txt, {wider}: wanted '{wanted}' alone, got {rc}: {words}")
    write_layers(tree, LAYERS)
    return failures


def check(tree, checker, *more):
    if checker == "check_docs.py":
        more += ("--program", os.path.join(tree, "program"))
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", checker), tree, *more], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as tree:
        os.makedirs(os.path.join(tree, "docs"))
        write_layers(tree, LAYERS)
        for path, text in GOOD.items():
            write(tree, path, text)
        with open(os.path.join(tree, "program"), "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o755)) as out:
            out.write(PROGRAM)
        check(tree, "check_docs.py", "--write")
        for checker in ("check_layers.py", "check_style.py", "check_docs.py"):
            rc, words = check(tree, checker)
            if rc != 0:
                failures += 1
                print(f"{checker} refuses a good tree: {words}")
        failures += open_doors(tree)
        for checker, path, text, wanted in PLANTED:
            write(tree, path, text)
            rc, words = check(tree, checker)
            if rc != 1 or wanted not in words or words.count("\n") != 1:
                failures += 1
                print(f"{checker}, {path}: wanted '{wanted}' alone, got {rc}: {words}")
            os.remove(os.path.join(tree, path))
            check(tree, "check_docs.py", "--write")
        for nfiles, wanted in ((4, (0, "layers: ")), (5, (1, "5 files are a circle, at most 4: circle0.c circle1.c"))):
            rc, words = plant_circle(tree, nfiles)
            if rc != wanted[0] or wanted[1] not in words:
                failures += 1
                print(f"a circle of {nfiles} files: wanted {wanted}, got {rc}: {words}")
        for nfiles, wanted in ((30, (0, "style: ")), (31, (1, "src/kernel/crowd: 31 files in one folder; at most "
                                                              "30\n"))):
            rc, words = plant_crowd(tree, nfiles)
            if rc != wanted[0] or not words.startswith(wanted[1]):
                failures += 1
                print(f"a folder of {nfiles} files: wanted {wanted}, got {rc}: {words}")
        for nfunctions, wanted in ((35, (0, "style: ")), (36, (1, "src/data/wide.c: f0 has 7\n"))):
            rc, words = plant_wide(tree, nfunctions)
            if rc != wanted[0] or not words.startswith(wanted[1]) or words.count("has 7\n") != wanted[0] * nfunctions:
                failures += 1
                print(f"{nfunctions} functions of seven parameters: wanted {wanted}, got {rc}: {words}")
        failures += plant_map(tree)
        failures += plant_subjects(tree)
    print(f"{len(PLANTED) + len(OPENED) + 10} violations planted, {failures} not found as they should be")
    return 1 if failures else 0


sys.exit(main())
